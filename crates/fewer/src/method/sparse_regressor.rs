//! Sparse regression by expectation-maximisation (Figueiredo 2003).

use super::settings::{Intercept, PriorKind, Variant, check_count, check_number};
use super::training::{Training, columns_of, moments_of, on_threads, resolve};
use crate::basis::{Basis, BlockFunction, FixedBasis};
use crate::data::{Dataset, Moments, Target, Units};
use crate::design::Design;
use crate::engine::reweighted::{Options, Outcome, Reweighted, Stop};
use crate::engine::{LeastSquares, Observer, RidgeOfHighestEvidence, Right, Silent, Termination};
use crate::error::{Error, Result};
use crate::likelihood::{Gaussian, Noise, QuadraticBound};
use crate::model::{Certificate, CertificateKind, Model, Report, Term};
use crate::prior::{self, ScaleMixture};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Regression that keeps few terms, by expectation-maximisation.
///
/// Minimises (n/2) log σ² + ‖y − Xw‖²/2σ² + penalty(w), in which the penalty is Σ log|w_i| over
/// the terms kept (Jeffreys), λ‖w‖₁ (Laplace) or (λ/2)‖w‖² (Gaussian). Sums over rows are
/// weighted sums. With the Jeffreys prior there is nothing to tune, and rescaling y or any column
/// rescales the answer and nothing else.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `prior` | `jeffreys` | `jeffreys`, `laplace` or `gaussian` |
/// | `lam` | – | λ of the Laplace or Gaussian prior, in the units of y |
/// | `lam_ratio` | 0.1 | λ as a part of λ_max, used when `lam` is not given |
/// | `noise` | estimated | standard deviation of the noise, in the units of y |
/// | `basis`, `degree` | `linear`, 2 | the functions of x to choose from |
/// | `standardize` | true | priors apply to columns of unit variance |
/// | `fit_intercept` | true | `true` (free), `false` or `"penalised"` (the paper's) |
/// | `variant` | `exact` | `paper`: the start and stop of the paper |
/// | `max_terms` | – | keep at most so many terms |
/// | `tol` | 1e-8 | bound on the certificate |
/// | `max_iter`, `max_time` | 10 000, – | limits (iterations, seconds) |
/// | `memory_limit` | 4e9 | bytes that matrices may take |
/// | `n_jobs` | all | threads; the answer does not depend on it |
///
/// λ_max is the smallest λ of the Laplace prior for which no term is kept; for the Gaussian
/// prior it is n/σ², at which a lone weight is halved. σ is then the given noise, or the
/// deviation of y.
///
/// EM starts from least squares with a tiny ridge, which with more columns than half the rows
/// would follow the noise. There it starts from the ridge regression of highest evidence, and the
/// noise stays at that fit's estimate until half as many terms as rows are left; if that fit
/// follows the noise too (independent columns, p ≥ n), from the terms of the Lasso at the
/// universal threshold σ√(2n log p), refitted.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::SparseRegressor;
///
/// // y depends on two of five columns.
/// let x: Vec<f64> = (0..500).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let noise = |i: usize| 0.01 * ((i * i * i) as f64 * 0.3).sin();
/// let y: Vec<f64> =
///     x.chunks(5).enumerate().map(|(i, x)| 1.0 + 3.0 * x[0] - 2.0 * x[3] + noise(i)).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 5)?, &y)?;
///
/// let model = SparseRegressor::new().fit(&data)?;
/// let kept: Vec<&str> = model.terms().iter().map(|t| t.name.as_str()).collect();
/// assert_eq!(kept, ["x1", "x4"]);
/// assert!(model.report().certificate.value < 1e-8);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SparseRegressor {
    prior: PriorKind,
    lam: Option<f64>,
    lam_ratio: Option<f64>,
    noise: Option<f64>,
    basis: BasisKind,
    degree: usize,
    standardize: bool,
    fit_intercept: Intercept,
    variant: Variant,
    max_terms: Option<usize>,
    tol: f64,
    max_iter: usize,
    max_time: Option<f64>,
    memory_limit: f64,
    n_jobs: Option<usize>,
    #[serde(skip)]
    functions: Option<Arc<dyn BlockFunction>>,
    #[serde(skip)]
    route: Route,
}

/// Other ways to the same answer, for comparing them.
#[derive(Debug, Clone, Copy, Default)]
struct Route {
    least_squares_start: bool,
    rows: bool,
    em_only: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BasisKind {
    #[default]
    Linear,
    Polynomial,
    Functions,
}

/// Chosen by measurement: see papers/.
const DEFAULT_LAM_RATIO: f64 = 0.1;
/// The papers' start: a ridge this small against the mean square of a column.
const START_RIDGE: f64 = 1e-6;
/// A ridge regression whose log evidence is this much above the empty model's has found a signal.
const CLEAR_GAIN: f64 = 5.0;
/// The papers' stop.
const PAPER_CHANGE: f64 = 1e-3;

impl Default for SparseRegressor {
    fn default() -> Self {
        Self {
            prior: PriorKind::default(),
            lam: None,
            lam_ratio: None,
            noise: None,
            basis: BasisKind::default(),
            degree: 2,
            standardize: true,
            fit_intercept: Intercept::default(),
            variant: Variant::default(),
            max_terms: None,
            tol: 1e-8,
            max_iter: 10_000,
            max_time: None,
            memory_limit: 4e9,
            n_jobs: None,
            functions: None,
            route: Route::default(),
        }
    }
}

impl SparseRegressor {
    /// The default settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// The prior on the weights.
    pub fn prior(mut self, prior: PriorKind) -> Self {
        self.prior = prior;
        self
    }

    /// λ of the Laplace or Gaussian prior.
    pub fn lam(mut self, lam: f64) -> Self {
        self.lam = Some(lam);
        self
    }

    /// λ as a part of λ_max, in (0, 1].
    pub fn lam_ratio(mut self, ratio: f64) -> Self {
        self.lam_ratio = Some(ratio);
        self
    }

    /// Standard deviation of the noise; estimated where it is not given.
    pub fn noise(mut self, noise: f64) -> Self {
        self.noise = Some(noise);
        self
    }

    /// All products of features up to a degree instead of the features themselves.
    pub fn polynomial(mut self, degree: usize) -> Self {
        (self.basis, self.degree) = (BasisKind::Polynomial, degree);
        self
    }

    /// The user's own functions instead of the features themselves.
    pub fn functions(self, functions: impl BlockFunction + 'static) -> Self {
        self.with_functions(Some(Arc::new(functions)))
    }

    /// Takes the user's own functions where there are any.
    pub(crate) fn with_functions(mut self, functions: Option<Arc<dyn BlockFunction>>) -> Self {
        if functions.is_some() {
            (self.basis, self.functions) = (BasisKind::Functions, functions);
        }
        self
    }

    /// Whether priors apply to columns of unit variance.
    pub fn standardize(mut self, standardize: bool) -> Self {
        self.standardize = standardize;
        self
    }

    /// What is done about the intercept.
    pub fn fit_intercept(mut self, intercept: Intercept) -> Self {
        self.fit_intercept = intercept;
        self
    }

    /// The exact method, or the paper's start and stop.
    pub fn variant(mut self, variant: Variant) -> Self {
        self.variant = variant;
        self
    }

    /// Keeps at most so many terms.
    pub fn max_terms(mut self, terms: usize) -> Self {
        self.max_terms = Some(terms);
        self
    }

    /// Bound on the certificate.
    pub fn tol(mut self, tol: f64) -> Self {
        self.tol = tol;
        self
    }

    /// Iterations after which the fit ends in any case.
    pub fn max_iter(mut self, iterations: usize) -> Self {
        self.max_iter = iterations;
        self
    }

    /// Seconds after which the fit ends in any case.
    pub fn max_time(mut self, seconds: f64) -> Self {
        self.max_time = Some(seconds);
        self
    }

    /// Bytes that matrices may take.
    pub fn memory_limit(mut self, bytes: f64) -> Self {
        self.memory_limit = bytes;
        self
    }

    /// Threads.
    pub fn n_jobs(mut self, threads: usize) -> Self {
        self.n_jobs = Some(threads);
        self
    }

    /// Starts from least squares with a tiny ridge even where there are few rows.
    #[doc(hidden)]
    pub fn start_from_least_squares(mut self) -> Self {
        self.route.least_squares_start = true;
        self
    }

    /// Uses the n×n form throughout.
    #[doc(hidden)]
    pub fn force_rows(mut self) -> Self {
        self.route.rows = true;
        self
    }

    /// Leaves everything to EM steps.
    #[doc(hidden)]
    pub fn without_newton_finish(mut self) -> Self {
        self.route.em_only = true;
        self
    }

    /// Settings from a JSON object with the names of the table above.
    pub fn from_json(settings: &str) -> Result<Self> {
        serde_json::from_str(settings)
            .map_err(|e| Error::setting("settings", settings, format!("cannot be understood: {e}")))
    }

    /// Fits a model.
    pub fn fit(&self, data: &Dataset<'_>) -> Result<Model> {
        self.fit_observed(data, &Silent)
    }

    /// Fits a model while an observer watches.
    pub fn fit_observed(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        self.check()?;
        on_threads(self.n_jobs, || self.fit_rows(data, observer))
    }

    /// Fits a model with a linear basis from moments alone.
    ///
    /// See [`MomentsBuilder`](crate::data::MomentsBuilder) for an example.
    pub fn fit_moments(&self, moments: Moments) -> Result<Model> {
        self.check()?;
        if self.basis != BasisKind::Linear || self.fit_intercept == Intercept::Penalised {
            return Err(Error::Unavailable {
                what: "this fit from moments".into(),
                hint: "moments know the features only: use the linear basis and a free \
                       intercept or none"
                    .into(),
            });
        }
        let features = moments.names().to_vec();
        let rows = moments.rows();
        let fixed = resolve(&Basis::Linear, features.len())?;
        on_threads(self.n_jobs, || {
            let name = |j: usize| features[j].clone();
            let training = Training::new(moments, self.fit_intercept, self.standardize, &name)?;
            self.solve(training, None, &[], rows, fixed, &features, &Silent)
        })
    }

    fn check(&self) -> Result<()> {
        check_number("lam", self.lam, true)?;
        check_number("noise", self.noise, false)?;
        check_number("tol", Some(self.tol), false)?;
        check_number("max_time", self.max_time, false)?;
        check_number("memory_limit", Some(self.memory_limit), false)?;
        check_count("max_terms", self.max_terms)?;
        check_count("max_iter", Some(self.max_iter))?;
        check_count("n_jobs", self.n_jobs)?;
        if let Some(ratio) = self.lam_ratio
            && !(ratio > 0.0 && ratio <= 1.0)
        {
            return Err(Error::setting("lam_ratio", ratio, "a number in (0, 1] is expected"));
        }
        if let (Some(lam), Some(_)) = (self.lam, self.lam_ratio) {
            return Err(Error::setting("lam", lam, "give either lam or lam_ratio, not both"));
        }
        if self.prior == PriorKind::Jeffreys
            && let Some(lam) = self.lam.or(self.lam_ratio)
        {
            return Err(Error::setting(
                "lam",
                lam,
                "the Jeffreys prior has no λ; leave it out, or choose the laplace or gaussian prior",
            ));
        }
        Ok(())
    }

    fn basis(&self) -> Result<Basis> {
        match (self.basis, &self.functions) {
            (BasisKind::Linear, _) => Ok(Basis::Linear),
            (BasisKind::Polynomial, _) => Ok(Basis::Polynomial { degree: self.degree }),
            (BasisKind::Functions, Some(f)) => Ok(Basis::Functions(f.clone())),
            (BasisKind::Functions, None) => {
                Err(Error::setting("basis", "functions", "the functions must be given as well"))
            }
        }
    }

    fn fit_rows(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        data.check()?;
        let Target::Numbers(y) = data.target() else {
            return Err(Error::Unavailable {
                what: "regression on labels".into(),
                hint: "SparseRegressor needs a number for each row".into(),
            });
        };
        let fixed = resolve(&self.basis()?, data.features().columns())?;
        let columns = columns_of(&fixed, *data.features(), self.fit_intercept)?;
        self.check_memory(columns.columns().min(columns.rows()))?;
        let gram = columns.columns() <= columns.rows() && !self.route.rows;
        let moments = moments_of(&*columns, y, data.weights(), gram, observer)?;
        let name = |j: usize| self.column_name(&fixed, j, data.names());
        let training = Training::new(moments, self.fit_intercept, self.standardize, &name)?;
        let units = &training.units;
        let target: Vec<f64> = if units.target_deviation > 0.0 {
            y.iter().map(|y| (y - units.target_mean) / units.target_deviation).collect()
        } else {
            vec![0.0; y.len()]
        };
        let scale = units.deviation.iter().map(|&d| if d > 0.0 { d } else { 1.0 }).collect();
        let design = Design::new(&*columns, data.weights(), units.mean.clone(), scale);
        let model = self.solve(
            training,
            Some(&design),
            &target,
            data.rows(),
            fixed.clone(),
            data.names(),
            observer,
        )?;
        Ok(Model { encoder: data.encoder().cloned(), ..model })
    }

    fn check_memory(&self, order: usize) -> Result<()> {
        let needed = 24.0 * (order as f64).powi(2);
        if needed > self.memory_limit {
            return Err(Error::Memory {
                what: format!("a system of {order} equations"),
                needed: format!("{:.1} GB", needed / 1e9),
                limit: format!("{:.1} GB", self.memory_limit / 1e9),
                hint: "raise memory_limit, or give fewer columns".into(),
            });
        }
        Ok(())
    }

    fn column_name(&self, fixed: &FixedBasis, j: usize, features: &[String]) -> String {
        if j < fixed.len() { fixed.name(j, features) } else { "(intercept)".into() }
    }

    fn solve(
        &self,
        mut training: Training,
        design: Option<&Design<'_>>,
        target: &[f64],
        rows: usize,
        fixed: FixedBasis,
        features: &[String],
        observer: &dyn Observer,
    ) -> Result<Model> {
        let name = |j: usize| self.column_name(&fixed, j, features);
        training.drop_duplicates(design, &name);
        let Training { units, moments, usable, dropped } = training;
        let weight = moments.weight;
        let p = units.deviation.len();
        // The prior is on weights in the user's units: f·β.
        let target_unit = if units.target_deviation > 0.0 { units.target_deviation } else { 1.0 };
        let scale: Vec<f64> = (0..p)
            .map(|j| {
                let column = if self.standardize { 1.0 } else { units.deviation[j] };
                if column > 0.0 { target_unit / column } else { 1.0 }
            })
            .collect();
        let noise = match self.noise {
            Some(noise) => Noise::Known((noise / target_unit).powi(2)),
            None => Noise::Estimated,
        };
        let mut notes = Vec::new();
        let (lam, prior) = self.resolve_prior(&moments.cross, &usable, &scale, weight, noise);

        let square = if units.target_deviation > 0.0 { weight } else { 0.0 };
        let cross = moments.cross;
        let mut likelihood = Gaussian::new(noise, weight, target, &cross, square);
        let limit = self.memory_limit as usize;
        let mut data = match design {
            Some(design) => {
                let data = LeastSquares::from_rows(design, limit, observer);
                let data = if self.route.rows { data.only_rows() } else { data };
                if moments.gram.rows() > 0 { data.with_gram(moments.gram) } else { data }
            }
            None => LeastSquares::from_gram(moments.gram, limit, observer),
        };

        let outcome = if usable.is_empty() || square == 0.0 {
            notes.push(if square == 0.0 {
                "the target is constant: the model is that constant".to_string()
            } else {
                "no column varies: the model is a constant".to_string()
            });
            empty_outcome(&likelihood)
        } else {
            let start = self.start(&mut data, &mut likelihood, &usable, &units)?;
            let mut allowed = vec![false; p];
            usable.iter().for_each(|&j| allowed[j] = true);
            let outcome = Reweighted {
                data: &mut data,
                likelihood: &mut likelihood,
                prior: &*prior,
                scale: &scale,
                active: start.active,
                beta: start.beta,
                allowed,
            }
            .run(&self.options(start.hold_noise_above))?;
            self.explain_outcome(&outcome, &likelihood, &usable, &cross, weight, &name, &mut notes);
            outcome
        };

        let noise_variance = likelihood.noise_variance().unwrap_or(0.0);
        let constant = square == 0.0;
        let log_unit = if constant { 0.0 } else { weight * target_unit.ln() };
        let mut terms = Vec::new();
        let mut base = units.target_mean;
        for (&j, &beta) in outcome.active.iter().zip(&outcome.beta) {
            let w = beta * (target_unit / units.deviation[j]);
            if !w.is_finite() {
                return Err(Error::Unavailable {
                    what: format!("the weight of '{}'", name(j)),
                    hint: "it is too large for floating point; rescale the column".into(),
                });
            }
            if j >= fixed.len() {
                base += w;
                continue;
            }
            terms.push(Term {
                name: name(j),
                index: j,
                weight: w,
                centre: units.mean[j],
                deviation: units.deviation[j],
            });
        }
        let kept: Vec<usize> = terms.iter().map(|t| t.index).collect();
        let certificate = match outcome.gap {
            Some(gap) => Certificate {
                kind: CertificateKind::DualityGap,
                value: gap.max(0.0),
                scope: if self.max_terms.is_some() { "kept terms" } else { "all" }.into(),
            },
            None => Certificate {
                kind: CertificateKind::Stationarity,
                value: outcome.residual,
                scope: "support".into(),
            },
        };
        let trace = outcome
            .trace
            .iter()
            .map(|s| crate::engine::Step { objective: s.objective + log_unit, ..*s })
            .collect();
        Ok(Model {
            method: "SparseRegressor".into(),
            settings: serde_json::to_value(self).unwrap_or_default(),
            target: "y".into(),
            features: features.to_vec(),
            encoder: None,
            basis: fixed.keep(&kept),
            basis_size: fixed.len(),
            terms,
            base,
            noise_std: Some(if constant && self.noise.is_none() {
                0.0
            } else {
                noise_variance.sqrt() * target_unit
            }),
            report: Report {
                termination: outcome.termination,
                iterations: outcome.iterations,
                objective: outcome.objective + log_unit,
                certificate,
                lam,
                rows,
                dropped,
                notes,
                trace,
            },
        })
    }

    /// λ in the user's units, and the prior with it.
    fn resolve_prior(
        &self,
        cross: &[f64],
        usable: &[usize],
        scale: &[f64],
        weight: f64,
        noise: Noise,
    ) -> (Option<f64>, Box<dyn ScaleMixture>) {
        let precision = match noise {
            Noise::Known(variance) => 1.0 / variance,
            Noise::Estimated => 1.0,
        };
        let largest = |of: &dyn Fn(usize) -> f64| {
            usable.iter().map(|&j| precision * of(j)).fold(0.0, f64::max)
        };
        let ratio = self.lam_ratio.unwrap_or(DEFAULT_LAM_RATIO);
        match self.prior {
            PriorKind::Jeffreys => (None, Box::new(prior::Jeffreys)),
            PriorKind::Laplace => {
                let lam =
                    self.lam.unwrap_or_else(|| ratio * largest(&|j| cross[j].abs() / scale[j]));
                (Some(lam), Box::new(prior::Laplace { lam }))
            }
            PriorKind::Gaussian => {
                let lam = self
                    .lam
                    .unwrap_or_else(|| ratio * largest(&|j| weight / (scale[j] * scale[j])));
                (Some(lam), Box::new(prior::Gaussian { lam }))
            }
        }
    }

    /// Where EM begins.
    ///
    /// With few rows, least squares would follow the noise. Then the ridge regression of highest
    /// evidence is tried, and, if that follows the noise as well, the Lasso at the universal
    /// threshold, λ = σ√(2n log p) with σ from its own residuals, gives the terms to begin with.
    fn start(
        &self,
        data: &mut LeastSquares<'_>,
        likelihood: &mut Gaussian<'_>,
        usable: &[usize],
        units: &Units,
    ) -> Result<Start> {
        let weight = likelihood.weight();
        let half = 0.5 * weight;
        let evidence = self.variant == Variant::Exact && !self.route.least_squares_start;
        if evidence && usable.len() as f64 > half {
            likelihood.update(data, usable, &vec![0.0; usable.len()])?;
            let right =
                Right { products: likelihood.target_products(), target: likelihood.target() };
            let ridge = data.ridge_of_highest_evidence(usable, weight, weight, right)?;
            if let Some(RidgeOfHighestEvidence { beta, variance, gain }) = ridge {
                likelihood.hold_noise(true);
                likelihood.update(data, usable, &beta)?;
                let follows_noise = likelihood.residual_square() < 0.5 * weight * variance;
                likelihood.hold_noise(false);
                likelihood.start_at(variance);
                if !follows_noise {
                    return Ok(Start {
                        active: usable.to_vec(),
                        beta,
                        hold_noise_above: Some(half as usize),
                    });
                }
                let chosen =
                    self.lasso_terms(data, likelihood, usable, beta, gain > CLEAR_GAIN, units)?;
                return self.least_squares_start(data, likelihood, &chosen, units);
            }
        }
        self.least_squares_start(data, likelihood, usable, units)
    }

    /// The terms of the scaled Lasso at the universal threshold; at least the strongest one where
    /// there is certainly a signal.
    fn lasso_terms(
        &self,
        data: &mut LeastSquares<'_>,
        likelihood: &mut Gaussian<'_>,
        usable: &[usize],
        beta: Vec<f64>,
        signal: bool,
        units: &Units,
    ) -> Result<Vec<usize>> {
        let weight = likelihood.weight();
        let ones = vec![1.0; usable.iter().max().map_or(0, |j| j + 1)];
        let mut allowed = vec![false; ones.len()];
        usable.iter().for_each(|&j| allowed[j] = true);
        let (mut active, mut beta) = (usable.to_vec(), beta);
        let mut variance = 1.0f64;
        let threshold = (2.0 * weight * (usable.len() as f64).ln()).sqrt();
        let options = Options { stop: Stop::Residual(1e-4), ..self.options(None) };
        for _ in 0..10 {
            let mut known = likelihood.with_noise(Noise::Known(variance));
            let prior = prior::Laplace { lam: threshold / variance.sqrt() };
            let mut engine = Reweighted {
                data,
                likelihood: &mut known,
                prior: &prior,
                scale: &ones,
                active,
                beta,
                allowed: allowed.clone(),
            };
            let outcome = engine.run(&Options { max_terms: None, ..options.clone() })?;
            (active, beta) = (outcome.active, outcome.beta);
            if active.is_empty() && signal {
                active.extend(strongest(likelihood.cross(), usable));
                beta = vec![1e-3];
            }
            // Residuals of the Lasso are too large, for its weights are too small: refit them.
            let refit = self.least_squares_start(data, &mut known, &active, units)?;
            known.update(data, &active, &refit.beta)?;
            let left = (weight - active.len() as f64).max(0.1 * weight);
            let next = known.residual_square() / left;
            if (next / variance - 1.0).abs() < 0.02 {
                break;
            }
            variance = next;
        }
        Ok(active)
    }

    /// Least squares with a tiny ridge.
    fn least_squares_start(
        &self,
        data: &mut LeastSquares<'_>,
        likelihood: &mut Gaussian<'_>,
        chosen: &[usize],
        units: &Units,
    ) -> Result<Start> {
        let weight = likelihood.weight();
        let start = |beta| Start { active: chosen.to_vec(), beta, hold_noise_above: None };
        likelihood.update(data, chosen, &vec![0.0; chosen.len()])?;
        let right = Right { products: likelihood.target_products(), target: likelihood.target() };
        let u: Vec<f64> = chosen
            .iter()
            .map(|&j| match (self.variant, self.standardize) {
                // The paper's ridge is on the columns as given, with an absolute 1e-6.
                (Variant::Paper, true) => weight.sqrt(),
                (Variant::Paper, false) => weight.sqrt() * units.deviation[j],
                (Variant::Exact, _) => 1.0,
            })
            .collect();
        let mut ridge = START_RIDGE * weight;
        for _ in 0..12 {
            if let Some(solution) = data.ridge(chosen, &u, ridge, right)? {
                return Ok(start(solution.beta));
            }
            ridge *= 10.0;
        }
        // One step of the steepest descent is a start too.
        let step = weight * chosen.len() as f64;
        Ok(start(right.products.iter().map(|b| b / step).collect()))
    }

    fn options(&self, hold_noise_above: Option<usize>) -> Options {
        Options {
            stop: match self.variant {
                Variant::Exact => Stop::Residual(self.tol),
                Variant::Paper => Stop::Change(PAPER_CHANGE),
            },
            max_iter: self.max_iter,
            deadline: self.max_time.map(|s| Instant::now() + Duration::from_secs_f64(s)),
            max_terms: self.max_terms,
            hold_noise_above,
            newton_finish: !self.route.em_only,
        }
    }

    /// Says what the user should know about how the fit ended.
    fn explain_outcome(
        &self,
        outcome: &Outcome,
        likelihood: &Gaussian<'_>,
        usable: &[usize],
        cross: &[f64],
        weight: f64,
        name: &dyn Fn(usize) -> String,
        notes: &mut Vec<String>,
    ) {
        match outcome.termination {
            Termination::IterationLimit => notes.push(format!(
                "max_iter = {} was reached with a residual of {:.1e}; raise max_iter or tol",
                self.max_iter, outcome.residual
            )),
            Termination::TimeLimit => notes.push(format!(
                "max_time was reached with a residual of {:.1e}; raise max_time or tol",
                outcome.residual
            )),
            Termination::Converged | Termination::Degenerate => {}
        }
        if outcome.active.is_empty()
            && let Some(&j) =
                usable.iter().max_by(|&&a, &&b| cross[a].abs().total_cmp(&cross[b].abs()))
        {
            let share = (cross[j] / weight).powi(2);
            notes.push(format!(
                "no term is kept: the strongest column, '{}', explains {:.1} % of the target's \
                 variance by itself, too little to tell from noise in {weight} rows under this prior",
                name(j),
                100.0 * share
            ));
        }
        if likelihood.is_noise_free() {
            notes.push(
                "the terms kept explain the target exactly (noise below 1e-7 of its deviation)"
                    .to_string(),
            );
        }
    }
}

/// Where EM begins.
struct Start {
    active: Vec<usize>,
    beta: Vec<f64>,
    hold_noise_above: Option<usize>,
}

/// The column with the largest product with the target.
fn strongest(cross: &[f64], usable: &[usize]) -> Option<usize> {
    usable.iter().copied().max_by(|&a, &b| cross[a].abs().total_cmp(&cross[b].abs()))
}

fn empty_outcome(likelihood: &Gaussian<'_>) -> Outcome {
    Outcome {
        active: Vec::new(),
        beta: Vec::new(),
        objective: likelihood.value(),
        residual: 0.0,
        gap: None,
        iterations: 0,
        termination: Termination::Degenerate,
        trace: Vec::new(),
    }
}
