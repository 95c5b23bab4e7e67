//! What the methods by expectation-maximisation share: settings, priors and starts.

use super::classes::ClassWeight;
use super::common::{Common, Fitted, Output, Shared, Wanted};
use super::settings::{
    PriorKind, Variant, check_lam, check_number, merge_settings, parse_settings,
};
use crate::data::Dataset;
use crate::engine::reweighted::{Options, Reweighted, Stop};
use crate::engine::{LeastSquares, Observer, Outcome, Right, Termination};
use crate::error::{Error, Result};
use crate::likelihood::QuadraticBound;
use crate::model::Model;
use crate::prior::{self, ScaleMixture};
use serde::{Deserialize, Serialize};

/// The papers' start: a ridge this small against the mean square of a column.
const START_RIDGE: f64 = 1e-6;
/// The papers' stop.
const PAPER_CHANGE: f64 = 1e-3;

/// The settings of the methods by expectation-maximisation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Em {
    pub prior: PriorKind,
    pub lam: Option<f64>,
    pub lam_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weight: Option<ClassWeight>,
    pub variant: Variant,
    #[serde(skip)]
    pub common: Common,
    #[serde(skip)]
    pub route: Route,
}

/// Other ways to the same answer, for comparing them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Route {
    pub least_squares_start: bool,
    pub rows: bool,
    pub em_only: bool,
}

/// Where EM begins.
pub(crate) struct Start {
    pub active: Vec<usize>,
    pub beta: Vec<f64>,
    pub hold_noise_above: Option<usize>,
}

impl Em {
    pub fn from_json(settings: &str) -> Result<Self> {
        let (common, em): (Common, Self) = parse_settings(settings, &Self::default())?;
        Ok(Self { common, ..em })
    }

    pub fn check(&self) -> Result<()> {
        self.common.check()?;
        check_number("noise", self.noise, false)?;
        check_lam(self.lam, self.lam_ratio)?;
        let given = [("lam", self.lam), ("lam_ratio", self.lam_ratio)];
        if self.prior == PriorKind::Jeffreys
            && let Some((name, Some(value))) = given.into_iter().find(|g| g.1.is_some())
        {
            return Err(Error::setting(
                name,
                value,
                "the Jeffreys prior has no λ; leave it out, or choose the laplace or gaussian prior",
            ));
        }
        Ok(())
    }

    /// Makes the columns and hands them on.
    pub fn with_rows<T: Send>(
        &self,
        data: &Dataset<'_>,
        target: &[f64],
        weights: Option<&[f64]>,
        observer: &dyn Observer,
        work: impl FnOnce(Shared<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        self.common.with_rows(data, target, weights, self.wanted(), observer, work)
    }

    pub fn wanted(&self) -> Wanted {
        Wanted {
            equations: true,
            gram: !self.route.rows,
            // Ridge regression shares a weight among copies; the other priors would not care.
            without_copies: self.prior != PriorKind::Gaussian,
            distinct: true,
            offset: false,
            on_demand: false,
            plain_target: false,
        }
    }

    /// Makes the model of the fitted outputs.
    pub fn model(
        &self,
        method: &str,
        shared: &Shared<'_>,
        outputs: Vec<Output>,
        lam: Option<f64>,
        notes: Vec<String>,
    ) -> Result<Model> {
        let settings = merge_settings(&self.common, self);
        // The normalising term of the noise carries the unit of y.
        let shift = shared.weight * shared.units.target_unit().ln();
        let (factor, uncertainty) = (1.0, None);
        let fitted = Fitted { method, settings, outputs, lam, notes, factor, shift, uncertainty };
        self.common.model(shared, fitted)
    }

    pub fn least_squares<'s>(&self, shared: &Shared<'s>) -> LeastSquares<'s> {
        let limit = self.common.memory_limit as usize;
        let rows = shared.design.map(|design| {
            let data = LeastSquares::from_rows(design, limit, shared.observer);
            if self.route.rows { data.only_rows() } else { data }
        });
        match (rows, &shared.gram) {
            (Some(data), Some(gram)) => data.with_gram(gram.clone()),
            (Some(data), None) => data,
            (None, gram) => {
                LeastSquares::from_gram(gram.clone().unwrap_or_default(), limit, shared.observer)
            }
        }
    }

    /// λ in the user's units, and the prior with it; `pull` is that of the data at zero weights,
    /// `precision` the curvature of the bound there.
    pub fn resolve_prior(
        &self,
        shared: &Shared<'_>,
        pull: &[f64],
        precision: f64,
        default_ratio: f64,
    ) -> (Option<f64>, Box<dyn ScaleMixture>) {
        let ratio = self.lam_ratio.unwrap_or(default_ratio);
        let largest = |of: &dyn Fn(usize) -> f64| {
            shared.usable.iter().map(|&j| precision * of(j)).fold(0.0, f64::max)
        };
        match self.prior {
            PriorKind::Jeffreys => (None, Box::new(prior::Jeffreys)),
            PriorKind::Laplace => {
                let lam = self
                    .lam
                    .unwrap_or_else(|| ratio * largest(&|j| pull[j].abs() / shared.scale[j]));
                (Some(lam), Box::new(prior::Laplace { lam }))
            }
            PriorKind::Gaussian => {
                let lam = self.lam.unwrap_or_else(|| {
                    ratio * largest(&|j| shared.squares[j] / shared.scale[j].powi(2))
                });
                (Some(lam), Box::new(prior::Gaussian { lam }))
            }
        }
    }

    /// Least squares with a tiny ridge.
    pub fn least_squares_start(
        &self,
        data: &mut LeastSquares<'_>,
        shared: &Shared<'_>,
        chosen: &[usize],
        right: Right<'_>,
    ) -> Result<Start> {
        let start = |beta| Start { active: chosen.to_vec(), beta, hold_noise_above: None };
        let mean_square =
            chosen.iter().map(|&j| shared.squares[j]).sum::<f64>() / chosen.len().max(1) as f64;
        let u: Vec<f64> = chosen
            .iter()
            .map(|&j| match (self.variant, self.common.standardize) {
                // The paper's ridge is on the columns as given, with an absolute 1e-6.
                (Variant::Paper, true) => mean_square.sqrt(),
                (Variant::Paper, false) => mean_square.sqrt() * shared.units.deviation[j],
                (Variant::Exact, _) => 1.0,
            })
            .collect();
        let mut ridge = START_RIDGE * mean_square;
        for _ in 0..12 {
            if let Some(solution) = data.ridge(chosen, &u, ridge, right)? {
                return Ok(start(solution.beta));
            }
            ridge *= 10.0;
        }
        // One step of the steepest descent is a start too.
        let step = mean_square * chosen.len() as f64;
        Ok(start(right.products.iter().map(|b| b / step).collect()))
    }

    pub fn options(&self, shared: &Shared<'_>, hold_noise_above: Option<usize>) -> Options {
        Options {
            stop: match self.variant {
                Variant::Exact => Stop::Residual(self.common.tol),
                Variant::Paper => Stop::Change(PAPER_CHANGE),
            },
            max_iter: self.common.max_iter,
            deadline: shared.deadline,
            max_terms: self.common.max_terms,
            hold_noise_above,
            accelerate: self.variant == Variant::Exact && !self.route.em_only,
        }
    }

    /// Runs EM from a start.
    pub fn run(
        &self,
        shared: &Shared<'_>,
        data: &mut LeastSquares<'_>,
        likelihood: &mut dyn QuadraticBound,
        prior: &dyn ScaleMixture,
        start: Start,
    ) -> Result<Outcome> {
        let mut allowed = vec![false; shared.scale.len()];
        shared.usable.iter().for_each(|&j| allowed[j] = true);
        Reweighted {
            data,
            likelihood,
            prior,
            scale: &shared.scale,
            ridge: None,
            squares: &shared.squares,
            active: start.active,
            beta: start.beta,
            uncounted: shared.bias(),
            allowed,
        }
        .run(&self.options(shared, start.hold_noise_above))
    }
}

/// A fit in which there is nothing to iterate on.
pub(crate) fn empty_outcome(value: f64) -> Outcome {
    Outcome {
        active: Vec::new(),
        beta: Vec::new(),
        objective: value,
        residual: 0.0,
        gap: None,
        iterations: 0,
        termination: Termination::Degenerate,
        trace: Vec::new(),
    }
}

/// The builder methods that the methods by expectation-maximisation share.
macro_rules! em_builder {
    ($method:ident) => {
        crate::method::common::common_builder!($method);

        impl $method {
            /// Settings from a JSON object with the names of the table above.
            pub fn from_json(settings: &str) -> Result<Self> {
                Ok(Self(Em::from_json(settings)?))
            }

            /// The prior on the weights.
            pub fn prior(mut self, prior: PriorKind) -> Self {
                self.0.prior = prior;
                self
            }

            /// λ of the Laplace or Gaussian prior.
            pub fn lam(mut self, lam: f64) -> Self {
                self.0.lam = Some(lam);
                self
            }

            /// λ as a part of λ_max, in (0, 1].
            pub fn lam_ratio(mut self, ratio: f64) -> Self {
                self.0.lam_ratio = Some(ratio);
                self
            }

            /// The exact method, or the paper's start and stop.
            pub fn variant(mut self, variant: Variant) -> Self {
                self.0.variant = variant;
                self
            }

            /// Starts from least squares with a tiny ridge even where there are few rows.
            #[doc(hidden)]
            pub fn start_from_least_squares(mut self) -> Self {
                self.0.route.least_squares_start = true;
                self
            }

            /// Uses the n×n form throughout.
            #[doc(hidden)]
            pub fn force_rows(mut self) -> Self {
                self.0.route.rows = true;
                self
            }

            /// Leaves everything to EM steps.
            #[doc(hidden)]
            pub fn without_acceleration(mut self) -> Self {
                self.0.route.em_only = true;
                self
            }
        }
    };
}
pub(crate) use em_builder;
