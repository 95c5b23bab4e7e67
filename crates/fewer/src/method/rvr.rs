//! Relevance vector regression (Tipping 2001), with the sparsity prior of Tzikas et al. 2009.

use super::common::{BasisKind, Common, Shared, common_builder};
use super::evidence::{Evidence, EvidenceSolver, Variance, with_kernels};
use super::settings::{Intercept, Variant, check_number, merge_settings, parse_settings};
use super::student_t::{NoiseModel, Nu, checked_noise};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::{Dataset, Moments};
use crate::engine::Observer;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::prior::{Ard, EvidencePrior};
use serde::{Deserialize, Serialize};

/// Relevance vector regression: few kernels, found by maximising the evidence.
///
/// Every weight has a prior variance of its own, w_i ~ N(0, γ_i), and the noise is Gaussian; the
/// weights are integrated out, and log p(y | γ, σ²) − c·(effective parameters) is maximised. Most
/// γ_i become zero. There is nothing to tune but the kernel's width, and rescaling y rescales the
/// answer and nothing else. The objective has many maxima; each fit ends at one, with the largest
/// gain that adding any one column would still bring for a certificate.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `sparsity` | `none` | c: a number, `none`, `aic` (1), `bic` (log(n)/2) or `ric` (log n) |
/// | `noise` | estimated | standard deviation of the noise, in the units of y; or `student_t` |
/// | `nu` | `estimate` | degrees of freedom of `student_t` noise |
/// | `solver` | `fast` | `block`: from all columns at once (Tipping 2001), for comparison |
/// | `variant` | `exact` | `paper`: the sparsity prior's updates as published |
/// | `variance` | `posterior` | `augmented`: deviations of predictions grow away from the data |
/// | `basis`, `degree`, `gamma`, `coef0` | `rbf`, 2, `scale`, 1 | see [`BasisKind`]; γ also by `evidence` |
/// | `candidates`, `landmarks`, `centres` | – | centres of kernels |
/// | `standardize` | true | kernels take inputs of unit variance |
/// | `fit_intercept` | true | `true` (integrated out), `false` or `"penalised"` |
/// | `max_terms` | – | keep at most so many terms |
/// | `tol` | 1e-8 | gains of log evidence below it are left |
/// | `max_iter`, `max_time` | 10 000, – | limits (looks at all candidates, seconds) |
/// | `memory_limit`, `random_state`, `n_jobs` | 4e9, 0, all | see the other methods |
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::RVR;
///
/// let x: Vec<f64> = (0..100).map(|i| -10.0 + 0.2 * i as f64).collect();
/// let noise = |i: usize| 0.01 * ((i * i * i) as f64 * 0.3).sin();
/// let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| x.sin() / x + noise(i)).collect();
/// # let y: Vec<f64> = y.iter().map(|v| if v.is_nan() { 1.0 } else { *v }).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 1)?, &y)?;
///
/// let model = RVR::new().fit(&data)?;
/// assert!(model.n_terms() < 20);
/// assert!(model.report().certificate.value <= 1e-8);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RVR(Settings);

common_builder!(RVR);

/// c, the price of an effective parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number, \"none\", \"aic\", \"bic\" or \"ric\" is expected")]
pub enum Sparsity {
    /// c itself.
    Number(f64),
    /// By a rule.
    Rule(SparsityRule),
}

/// Rules for c.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SparsityRule {
    /// 0.
    None,
    /// 1, Akaike's criterion.
    Aic,
    /// log(n)/2, Schwarz's criterion.
    Bic,
    /// log n, the risk inflation criterion.
    Ric,
}

impl Sparsity {
    pub(super) fn check(self) -> Result<()> {
        match self {
            Sparsity::Number(c) => check_number("sparsity", Some(c), true),
            Sparsity::Rule(_) => Ok(()),
        }
    }

    pub(super) fn price(self, weight: f64) -> f64 {
        let log = weight.max(1.0).ln();
        match self {
            Sparsity::Number(c) => c,
            Sparsity::Rule(SparsityRule::None) => 0.0,
            Sparsity::Rule(SparsityRule::Aic) => 1.0,
            Sparsity::Rule(SparsityRule::Bic) => 0.5 * log,
            Sparsity::Rule(SparsityRule::Ric) => log,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    sparsity: Sparsity,
    noise: Option<NoiseModel>,
    nu: Nu,
    solver: EvidenceSolver,
    variant: Variant,
    variance: Variance,
    #[serde(skip)]
    common: Common,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sparsity: Sparsity::Rule(SparsityRule::None),
            noise: None,
            nu: Nu::default(),
            solver: EvidenceSolver::Fast,
            variant: Variant::Exact,
            variance: Variance::Posterior,
            common: Common::default(),
        }
    }
}

impl Default for RVR {
    fn default() -> Self {
        let common = Common { basis: BasisKind::Rbf, ..Common::default() };
        Self(Settings { common, ..Settings::default() })
    }
}

impl RVR {
    /// Settings from a JSON object with the names of the table above.
    pub fn from_json(settings: &str) -> Result<Self> {
        let (common, own): (Common, Settings) =
            parse_settings(&with_kernels(settings)?, &Settings::default())?;
        Ok(Self(Settings { common, ..own }))
    }

    /// c, the price of an effective parameter.
    pub fn sparsity(mut self, sparsity: Sparsity) -> Self {
        self.0.sparsity = sparsity;
        self
    }

    /// Standard deviation of the noise, or its family; Gaussian of estimated deviation where it is
    /// not given.
    ///
    /// With [`NoiseFamily::StudentT`](super::NoiseFamily) a variational bound of the evidence is
    /// maximised, which each step raises, and rows that are far off for it are reported.
    ///
    /// ```
    /// use fewer::data::{Dataset, DenseView};
    /// use fewer::method::{NoiseFamily, RVR};
    ///
    /// let x: Vec<f64> = (0..80).map(|i| 0.1 * f64::from(i)).collect();
    /// let noise = |i: usize| 0.1 * ((i * i * i) as f64).sin();
    /// let mut y: Vec<f64> = x.iter().enumerate().map(|(i, x)| x.sin() + noise(i)).collect();
    /// y[7] = 30.0;
    /// let data = Dataset::new(DenseView::by_rows(&x, 80, 1)?, &y)?;
    ///
    /// let model = RVR::new().noise(NoiseFamily::StudentT).fit(&data)?;
    /// assert_eq!(model.report().suspected[0].row, 7);
    /// assert!((model.predict(DenseView::by_rows(&[0.7], 1, 1)?)?[0] - 0.7f64.sin()).abs() < 0.1);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn noise(mut self, noise: impl Into<NoiseModel>) -> Self {
        self.0.noise = Some(noise.into());
        self
    }

    /// Degrees of freedom of noise of Student's t.
    pub fn nu(mut self, nu: Nu) -> Self {
        self.0.nu = nu;
        self
    }

    /// How the evidence is maximised.
    pub fn solver(mut self, solver: EvidenceSolver) -> Self {
        self.0.solver = solver;
        self
    }

    /// Whether the sparsity prior's formulas are used as published.
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
    pub fn fit_observed(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        let evidence = self.checked()?;
        evidence.fit(data, observer, |shared: &Shared<'_>| self.prior(shared))
    }

    /// Fits a model with a linear basis from moments alone.
    pub fn fit_moments(&self, moments: Moments) -> Result<Model> {
        self.checked()?.fit_moments(moments, |shared| self.prior(shared))
    }

    fn checked(&self) -> Result<Evidence<'_>> {
        self.0.common.check()?;
        self.0.sparsity.check()?;
        let (noise, nu) = checked_noise(self.0.noise, self.0.nu)?;
        if nu.is_some() && self.0.variant == Variant::Paper {
            let expected = "formulas as published are for Gaussian noise: leave variant out";
            return Err(Error::setting("noise", "student_t", expected));
        }
        Ok(Evidence {
            method: "RVR",
            common: &self.0.common,
            settings: merge_settings(&self.0.common, &self.0),
            noise,
            nu,
            solver: self.0.solver,
            variance: self.0.variance,
            rounds: self.0.variant == Variant::Exact,
            as_published: false,
        })
    }

    fn prior(&self, shared: &Shared<'_>) -> Result<Box<dyn EvidencePrior>> {
        Ok(Box::new(Ard {
            price: self.0.sparsity.price(shared.weight),
            as_published: self.0.variant == Variant::Paper,
        }))
    }
}
