//! What the methods with a Laplace prior of type II share: λ, the noise, the way to a fit.

use super::common::Common;
use super::evidence::{LamRule, Variance};
use super::settings::Variant;
use serde::{Deserialize, Serialize};

/// The settings of BLS and Fast Laplace.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub lam: Option<f64>,
    pub lam_rule: LamRule,
    pub noise: Option<f64>,
    pub variant: Variant,
    pub variance: Variance,
    #[serde(skip)]
    pub common: Common,
}

/// The builder methods; a method is a tuple of [`Settings`] with a function `prior` of its own.
macro_rules! laplacian_builder {
    ($method:ident) => {
        crate::method::common::common_builder!($method);

        impl $method {
            /// Settings from a JSON object with the names of the table above.
            pub fn from_json(settings: &str) -> Result<Self> {
                let (common, own): (Common, Settings) =
                    parse_settings(settings, &Settings::default())?;
                Ok(Self(Settings { common, ..own }))
            }

            /// λ, in the units of the objective.
            pub fn lam(mut self, lam: f64) -> Self {
                self.0.lam = Some(lam);
                self
            }

            /// How λ is found where it is not given.
            pub fn lam_rule(mut self, rule: LamRule) -> Self {
                self.0.lam_rule = rule;
                self
            }

            /// Standard deviation of the noise; estimated where it is not given.
            pub fn noise(mut self, noise: f64) -> Self {
                self.0.noise = Some(noise);
                self
            }

            /// Whether λ, where it is not given, takes the steps of the published algorithm.
            pub fn variant(mut self, variant: Variant) -> Self {
                self.0.variant = variant;
                self
            }

            /// What the standard deviation of a prediction is made of.
            pub fn variance(mut self, variance: Variance) -> Self {
                self.0.variance = variance;
                self
            }

            /// Fits a model while an observer watches.
            pub fn fit_observed(
                &self,
                data: &Dataset<'_>,
                observer: &dyn Observer,
            ) -> Result<Model> {
                check(&self.0.common, self.0.noise, self.0.lam)?;
                self.evidence().fit(data, observer, |shared: &Shared<'_>| self.prior(shared))
            }

            /// Fits a model with a linear basis from moments alone.
            pub fn fit_moments(&self, moments: Moments) -> Result<Model> {
                check(&self.0.common, self.0.noise, self.0.lam)?;
                self.evidence().fit_moments(moments, |shared| self.prior(shared))
            }

            fn evidence(&self) -> Evidence<'_> {
                Evidence {
                    method: stringify!($method),
                    common: &self.0.common,
                    settings: merge_settings(&self.0.common, &self.0),
                    noise: self.0.noise,
                    nu: None,
                    solver: EvidenceSolver::Fast,
                    variance: self.0.variance,
                    rounds: false,
                    as_published: self.0.variant == Variant::Paper,
                }
            }
        }
    };
}
pub(crate) use laplacian_builder;
