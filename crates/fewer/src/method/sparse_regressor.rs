//! Sparse regression by expectation-maximisation (Figueiredo 2003).

use super::common::{BasisKind, Output, Shared};
use super::em::{Em, Start, em_builder, empty_outcome};
use super::settings::{Intercept, PriorKind, Variant};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::{Dataset, Moments, Target};
use crate::engine::reweighted::{Options, Reweighted, Stop};
use crate::engine::{LeastSquares, Observer, RidgeOfHighestEvidence, Right, Silent};
use crate::error::{Error, Result};
use crate::likelihood::{Gaussian, Noise, QuadraticBound};
use crate::model::Model;
use crate::prior;
use serde::{Deserialize, Serialize};

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
/// | `lam_ratio` | 0.2 | λ as a part of λ_max, used when `lam` is not given |
/// | `noise` | estimated | standard deviation of the noise, in the units of y |
/// | `basis`, `degree` | `linear`, 2 | the functions of x to choose from: see [`BasisKind`] |
/// | `gamma`, `coef0` | `scale`, 1 | of a kernel; γ is a number, `scale` or `median` |
/// | `candidates`, `landmarks` | –, `kmeans` | at most so many centres of a kernel, and how chosen |
/// | `centres` | training rows | points on which kernels are centred |
/// | `standardize` | true | priors apply to columns of unit variance (kernels: inputs) |
/// | `fit_intercept` | true | `true` (free), `false` or `"penalised"` (the paper's) |
/// | `variant` | `exact` | `paper`: the start and stop of the paper |
/// | `max_terms` | – | keep at most so many terms |
/// | `tol` | 1e-8 | bound on the certificate |
/// | `max_iter`, `max_time` | 10 000, – | limits (iterations, seconds) |
/// | `memory_limit` | 4e9 | bytes that matrices may take |
/// | `random_state` | 0 | seed of the choice of landmarks |
/// | `n_jobs` | all | threads; the answer does not depend on it |
///
/// λ_max is the smallest λ of the Laplace prior at which the empty model is stationary (with known
/// noise: optimal); for the Gaussian prior it is n/σ², at which a lone weight is halved. σ is then
/// the given noise, or the deviation of y.
///
/// EM starts from least squares with a tiny ridge. With more columns than half the rows, and the
/// noise to be estimated, that may follow the noise: then it starts from the ridge regression of
/// highest evidence, and the noise stays at that fit's estimate until half as many terms as rows
/// are left; if that fit follows the noise too (independent columns, p ≥ n), from the terms of
/// the Lasso at the universal threshold σ√(2n log p), refitted.
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
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SparseRegressor(Em);

em_builder!(SparseRegressor);

/// The best on average over the data of `benchmarks/lam_ratio.py`.
const LAM_RATIO: f64 = 0.2;
/// A ridge regression whose log evidence is this much above the empty model's has found a signal.
const CLEAR_GAIN: f64 = 5.0;

impl SparseRegressor {
    /// Standard deviation of the noise; estimated where it is not given.
    pub fn noise(mut self, noise: f64) -> Self {
        self.0.noise = Some(noise);
        self
    }

    /// Fits a model while an observer watches.
    pub fn fit_observed(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        self.check()?;
        let Target::Numbers(y) = data.target() else {
            return Err(Error::Unavailable {
                what: "regression on labels".into(),
                hint: "SparseRegressor needs a number for each row; ProbitClassifier takes labels"
                    .into(),
            });
        };
        self.0.with_rows(data, y, data.weights(), observer, |shared| {
            let target: Vec<f64> = y
                .iter()
                .map(|y| (y - shared.units.target_mean) / shared.units.target_unit())
                .collect();
            let model = self.solve(&shared, &target)?;
            Ok(Model { encoder: data.encoder().cloned(), named: data.is_named(), ..model })
        })
    }

    /// Fits a model with a linear basis from moments alone.
    ///
    /// See [`MomentsBuilder`](crate::data::MomentsBuilder) for an example.
    pub fn fit_moments(&self, moments: Moments) -> Result<Model> {
        self.check()?;
        self.0
            .common
            .with_moments(moments, self.0.wanted(), &Silent, |shared| self.solve(&shared, &[]))
    }

    fn check(&self) -> Result<()> {
        self.0.check()?;
        if self.0.class_weight.is_some() {
            return Err(Error::setting("class_weight", "given", "regression has no classes"));
        }
        Ok(())
    }

    fn solve(&self, shared: &Shared<'_>, target: &[f64]) -> Result<Model> {
        let target_unit = shared.units.target_unit();
        let noise = match self.0.noise {
            Some(noise) => {
                let variance = (noise / target_unit).powi(2);
                if variance < 1e-28 || !variance.is_finite() {
                    return Err(Error::setting(
                        "noise",
                        noise,
                        format!(
                            "between 1e-14 and 1e150 times the deviation of the target, \
                             {target_unit:.3e}, is expected"
                        ),
                    ));
                }
                Noise::Known(variance)
            }
            None => Noise::Estimated,
        };
        let constant = shared.units.target_deviation == 0.0;
        let square = if constant { 0.0 } else { shared.weight };
        let mut likelihood = Gaussian::new(noise, shared.weight, target, &shared.cross, square);
        let (lam, prior) =
            self.0.resolve_prior(shared, &shared.cross, likelihood.precision(), LAM_RATIO);
        let mut notes = Vec::new();
        let outcome = if constant || shared.usable.is_empty() {
            notes.push(if constant {
                "the target is constant: the model is that constant".to_string()
            } else {
                "no column varies: the model is a constant".to_string()
            });
            empty_outcome(likelihood.value())
        } else {
            let mut data = self.0.least_squares(shared);
            let start = self.start(shared, &mut data, &mut likelihood)?;
            let outcome = self.0.run(shared, &mut data, &mut likelihood, &*prior, start)?;
            self.0.common.note_limits(&outcome, &mut notes);
            outcome
        };
        if outcome.active.is_empty()
            && notes.is_empty()
            && let Some(j) = shared.strongest(&shared.cross)
        {
            let share = shared.cross[j].powi(2) / (shared.squares[j] * shared.weight);
            notes.push(format!(
                "no term is kept: the strongest column, '{}', explains {:.1} % of the target's \
                 variance by itself, too little to tell from noise in {} rows under this prior",
                shared.name(j),
                100.0 * share,
                shared.weight
            ));
        }
        if likelihood.is_held() {
            notes.push(format!(
                "the noise is that of the start, {:.3e}: with so many terms for {} rows the data \
                 cannot tell it",
                target_unit * likelihood.noise_variance().unwrap_or(0.0).sqrt(),
                shared.weight
            ));
        }
        if likelihood.is_noise_free() {
            notes.push(
                "the terms kept explain the target exactly (noise below 1e-7 of its deviation)"
                    .to_string(),
            );
        }
        let variance = likelihood.noise_variance().unwrap_or(0.0);
        let noise_std = match (constant, self.0.noise) {
            (true, None) => 0.0,
            _ => variance.sqrt() * target_unit,
        };
        let output = Output { outcome, intercept: 0.0 };
        let model = self.0.model("SparseRegressor", shared, vec![output], lam, notes)?;
        Ok(Model { noise_std: Some(noise_std), ..model })
    }

    /// Where EM begins.
    ///
    /// Least squares, unless it follows the noise: where its residuals are far below the noise of
    /// the ridge regression of highest evidence, that is the start; and if even that follows the
    /// noise, the Lasso at the universal threshold, λ = σ√(2n log p) with σ from its own
    /// residuals, gives the terms to begin with.
    fn start(
        &self,
        shared: &Shared<'_>,
        data: &mut LeastSquares<'_>,
        likelihood: &mut Gaussian<'_>,
    ) -> Result<Start> {
        let (usable, weight) = (&shared.usable, shared.weight);
        // Repeated rows tell no more about how many terms the data can bear.
        let half = 0.5 * weight.min(shared.distinct as f64);
        let start = self.least_squares_start(shared, data, likelihood, usable)?;
        let trusted = self.0.variant == Variant::Paper
            || self.0.route.least_squares_start
            || self.0.noise.is_some();
        if trusted || usable.len() as f64 <= half {
            return Ok(start);
        }
        likelihood.update(data, usable, &vec![0.0; usable.len()])?;
        let ridge = data.ridge_of_highest_evidence(
            usable,
            weight,
            weight,
            &shared.squares,
            right(likelihood),
        )?;
        let Some(RidgeOfHighestEvidence { beta, variance, gain }) = ridge else {
            return Ok(start);
        };
        let mut follows_noise = |likelihood: &mut Gaussian<'_>, beta: &[f64]| -> Result<bool> {
            likelihood.update(data, usable, beta)?;
            Ok(likelihood.residual_square() < 0.5 * weight * variance)
        };
        if shared.kernel && !follows_noise(likelihood, &start.beta)? {
            return Ok(start);
        }
        let hold_noise_above = Some(half as usize);
        // Jeffreys' prior stays near its start; the others find their way from anywhere.
        if self.0.prior != PriorKind::Jeffreys || !follows_noise(likelihood, &beta)? {
            likelihood.start_at(variance);
            return Ok(Start { active: usable.clone(), beta, hold_noise_above });
        }
        let chosen = self.lasso_terms(shared, data, likelihood, beta, gain > CLEAR_GAIN)?;
        likelihood.start_at(variance);
        let start = self.least_squares_start(shared, data, likelihood, &chosen)?;
        Ok(Start { hold_noise_above, ..start })
    }

    fn least_squares_start(
        &self,
        shared: &Shared<'_>,
        data: &mut LeastSquares<'_>,
        likelihood: &mut Gaussian<'_>,
        chosen: &[usize],
    ) -> Result<Start> {
        likelihood.update(data, chosen, &vec![0.0; chosen.len()])?;
        self.0.least_squares_start(data, shared, chosen, right(likelihood))
    }

    /// The terms of the scaled Lasso at the universal threshold; at least the strongest one where
    /// there is certainly a signal.
    fn lasso_terms(
        &self,
        shared: &Shared<'_>,
        data: &mut LeastSquares<'_>,
        likelihood: &Gaussian<'_>,
        beta: Vec<f64>,
        signal: bool,
    ) -> Result<Vec<usize>> {
        let (usable, weight) = (&shared.usable, shared.weight);
        // The threshold is for columns of mean square 1.
        let scale: Vec<f64> =
            shared.squares.iter().map(|s| (s / weight).sqrt().max(f64::MIN_POSITIVE)).collect();
        let mut allowed = vec![false; scale.len()];
        usable.iter().for_each(|&j| allowed[j] = true);
        let (mut active, mut beta) = (usable.clone(), beta);
        let mut variance = 1.0f64;
        let threshold = (2.0 * weight * (usable.len() as f64).ln()).sqrt();
        let options =
            Options { stop: Stop::Residual(1e-4), max_terms: None, ..self.0.options(shared, None) };
        for _ in 0..10 {
            let mut known = likelihood.with_noise(Noise::Known(variance));
            let prior = prior::Laplace { lam: threshold / variance.sqrt() };
            let outcome = Reweighted {
                data,
                likelihood: &mut known,
                prior: &prior,
                scale: &scale,
                ridge: None,
                squares: &shared.squares,
                active,
                beta,
                uncounted: None,
                allowed: allowed.clone(),
            }
            .run(&options)?;
            (active, beta) = (outcome.active, outcome.beta);
            if active.is_empty() && signal {
                active.extend(shared.strongest(&shared.cross));
                beta = vec![1e-3; active.len()];
            }
            // Residuals of the Lasso are too large, for its weights are too small: refit them.
            let refit = self.least_squares_start(shared, data, &mut known, &active)?;
            known.update(data, &active, &refit.beta)?;
            let left = 1.0 - active.len() as f64 / weight.min(shared.distinct as f64);
            let next = known.residual_square() / (weight * left.max(0.1));
            if (next / variance - 1.0).abs() < 0.02 {
                break;
            }
            variance = next;
        }
        Ok(active)
    }
}

fn right<'a>(likelihood: &'a Gaussian<'_>) -> Right<'a> {
    Right { products: likelihood.target_products(), target: likelihood.target() }
}
