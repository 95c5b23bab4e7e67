//! Regression by evidence with noise of heavy tails: a variational bound is maximised in turn over
//! the precisions of the rows and, by the evidence engine, over all else.

use super::common::{Rows, Shared};
use super::evidence::{Evidence, NoiseOfRows, Run, Solved, State, numbers};
use super::settings::{Intercept, check_number};
use super::training::on_threads;
use crate::basis::FixedBasis;
use crate::data::Dataset;
use crate::engine::{Observer, Progress, Step, StopOnly, Termination};
use crate::error::{Error, Result};
use crate::likelihood::StudentT;
use crate::linalg::{axpy, multiply};
use crate::model::{Model, SuspectedRow};
use crate::prior::EvidencePrior;
use crate::special::{normal_quantile, student_t_quantile};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Degrees of freedom of Student's t.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number or \"estimate\" is expected")]
pub enum Nu {
    /// ν itself.
    Number(f64),
    /// By a rule.
    Rule(NuRule),
}

/// Rules for ν.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NuRule {
    /// Where the bound is largest, between 1 and 1000; gross errors are told apart from tails, and
    /// set aside.
    Estimate,
}

impl Default for Nu {
    fn default() -> Self {
        Nu::Rule(NuRule::Estimate)
    }
}

/// How targets scatter about the mean: `None` is Gaussian noise of estimated deviation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number or \"student_t\" is expected")]
pub enum NoiseModel {
    /// Gaussian, of this standard deviation in the units of the target.
    Known(f64),
    /// Of another family.
    Family(NoiseFamily),
}

/// Families of noise beside the Gaussian.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoiseFamily {
    /// Student's t of estimated scale: gross errors hardly move the fit.
    StudentT,
}

impl From<f64> for NoiseModel {
    fn from(deviation: f64) -> Self {
        NoiseModel::Known(deviation)
    }
}

impl From<NoiseFamily> for NoiseModel {
    fn from(family: NoiseFamily) -> Self {
        NoiseModel::Family(family)
    }
}

/// The known deviation, and ν where the tails are heavy.
pub(crate) fn checked_noise(
    noise: Option<NoiseModel>,
    nu: Nu,
) -> Result<(Option<f64>, Option<Nu>)> {
    if let Nu::Number(nu) = nu {
        check_number("nu", Some(nu), false)?;
    }
    match (noise, nu) {
        (Some(NoiseModel::Family(NoiseFamily::StudentT)), nu) => Ok((None, Some(nu))),
        (_, Nu::Number(nu)) => {
            Err(Error::setting("nu", nu, "it is of noise = student_t: set that too"))
        }
        (Some(NoiseModel::Known(noise)), _) => {
            check_number("noise", Some(noise), false)?;
            Ok((Some(noise), None))
        }
        (None, _) => Ok((None, None)),
    }
}

/// ν where it is to be estimated, before anything is known.
const FIRST: f64 = 4.0;
/// Gains of the bound below this are left, whatever `tol` is: each costs a look at all columns.
const LEAST: f64 = 1e-4;
/// The same while it is not known yet which rows are gross errors.
const COARSE: f64 = 0.1;
/// Fresh starts at most.
const RESTARTS: usize = 4;
/// Steps among the terms kept between two looks at all columns.
const STEPS: usize = 200;
/// The same while it is not known yet which rows are gross errors.
const FEW_STEPS: usize = 10;
/// A row so many deviations off is suspected, those of the Gaussian with the quartiles of the noise.
const SUSPECT: f64 = 4.0;

/// What is known of the precisions of the rows.
#[derive(Clone)]
struct Tails<'d> {
    noise: StudentT,
    /// (n,) β E(y − η)² of which the distributions of the precisions were made.
    z: Vec<f64>,
    /// (n,) Precisions as the user gave them.
    given: Option<&'d [f64]>,
    weights: Option<&'d [f64]>,
    /// Where some rows are set aside.
    gross: Option<Gross>,
}

/// Rows that are set aside: with probability ε a row is a gross error, which may be anywhere in the
/// range of the target. That a row is one is either taken for certain or ruled out, so that the
/// bound stays a bound.
#[derive(Clone)]
struct Gross {
    aside: Vec<bool>,
    /// (n,) The weights of all rows, without those set aside.
    weights: Vec<f64>,
    /// What this adds to the bound.
    excess: f64,
}

impl Tails<'_> {
    /// Weights of the rows that are not set aside.
    fn weights(&self) -> Option<&[f64]> {
        self.gross.as_ref().map(|g| &g.weights[..]).or(self.weights)
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights().map_or(1.0, |w| w[i])
    }

    fn is_aside(&self, i: usize) -> bool {
        self.gross.as_ref().is_some_and(|g| g.aside[i])
    }

    /// E λ of a row, 0 of one that is set aside.
    fn row_weight(&self, i: usize) -> f64 {
        if self.is_aside(i) { 0.0 } else { self.noise.weight(self.z[i]) }
    }

    fn own_precision(&self, i: usize) -> f64 {
        self.given.map_or(1.0, |p| p[i])
    }

    /// (n,) Precisions of the rows.
    fn precisions(&self) -> Vec<f64> {
        let of = |i: usize| self.own_precision(i) * self.noise.weight(self.z[i]);
        (0..self.z.len()).map(of).collect()
    }

    /// What the rows add to the bound beside the evidence.
    fn excess(&self) -> f64 {
        let counted = (0..self.z.len()).filter(|&i| self.weight(i) > 0.0);
        let rows: f64 = counted.map(|i| self.weight(i) * self.noise.excess(self.z[i])).sum();
        rows + self.gross.as_ref().map_or(0.0, |g| g.excess)
    }

    /// The best distributions of the precisions, and ν where it is free.
    fn update(&mut self, z: Vec<f64>, nu: Nu) {
        self.z = z;
        if nu == Nu::Rule(NuRule::Estimate) {
            self.noise = StudentT::best(&self.z, self.weights(), self.noise);
        }
    }

    /// All rows alike but those that are suspected; none where there are none of these.
    fn trimmed(&self) -> Option<Self> {
        let limit = self.far();
        let z = self.z.iter().map(|z| if *z > limit { *z } else { 1.0 }).collect();
        (!self.suspected().is_empty()).then_some(Self { z, ..self.clone() })
    }

    /// All rows alike but those that are more likely gross errors than noise of this deviation,
    /// which are set aside; none where these are the ones that are so already.
    fn without_gross(&self, y: &[f64], deviation: f64) -> Option<Self> {
        let own = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        let counted: Vec<usize> = (0..y.len()).filter(|&i| own(i) > 0.0).collect();
        let total: f64 = counted.iter().map(|&i| own(i)).sum();
        let extreme = |pick: fn(f64, f64) -> f64| counted.iter().map(|&i| y[i]).reduce(pick);
        let range = extreme(f64::max)? - extreme(f64::min)?;
        let share =
            counted.iter().filter(|i| self.is_aside(**i)).map(|&i| own(i)).sum::<f64>() / total;
        let odds = share.ln() - (-share).ln_1p() - range.ln();
        let limit = self.far();
        let is_gross = |i: usize| match self.gross {
            // What is far off at first is doubted: without it the terms will tell.
            None => own(i) > 0.0 && self.z[i] > limit,
            Some(_) => {
                let scale = deviation.ln() - 0.5 * self.own_precision(i).ln();
                own(i) > 0.0 && odds > self.noise.log_density(self.z[i]) - scale
            }
        };
        let aside: Vec<bool> = (0..y.len()).map(is_gross).collect();
        let unchanged = (0..y.len()).all(|i| aside[i] == self.is_aside(i));
        let out: f64 = (0..y.len()).filter(|&i| aside[i]).map(own).sum();
        if unchanged || !(0.0 < out && out < 0.5 * total) {
            return None;
        }
        let share = out / total;
        let excess = out * (share.ln() - range.ln()) + (total - out) * (-share).ln_1p();
        let weights = (0..y.len()).map(|i| if aside[i] { 0.0 } else { own(i) }).collect();
        let gross = Some(Gross { aside, weights, excess });
        Some(Self { noise: StudentT { nu: FIRST }, z: vec![1.0; y.len()], gross, ..*self })
    }

    /// z from which on a row is suspected.
    fn far(&self) -> f64 {
        (SUSPECT * student_t_quantile(0.75, self.noise.nu) / normal_quantile(0.75)).powi(2)
    }

    fn suspected(&self) -> Vec<SuspectedRow> {
        let limit = self.far();
        let far = |i: &usize| self.is_aside(*i) || self.weight(*i) > 0.0 && self.z[*i] > limit;
        let of = |i: usize| SuspectedRow { row: i, weight: self.row_weight(i) };
        (0..self.z.len()).filter(far).map(of).collect()
    }
}

/// Squared deviations from the median, in units of their own median's.
fn about_median(y: &[f64], weights: Option<&[f64]>) -> Vec<f64> {
    let counts = |i: &usize| weights.is_none_or(|w| w[*i] > 0.0);
    let middle = |values: &dyn Fn(usize) -> f64| {
        // By weight: a row of weight 2 is two rows.
        let mut order: Vec<usize> = (0..y.len()).filter(counts).collect();
        order.sort_unstable_by(|&a, &b| values(a).total_cmp(&values(b)));
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let mut left = 0.5 * order.iter().map(|&i| weight(i)).sum::<f64>();
        let at = order.iter().find(|i| {
            left -= weight(**i);
            left <= 0.0
        });
        at.map_or(0.0, |&i| values(i))
    };
    let median = middle(&|i| y[i]);
    let deviation = middle(&|i| (y[i] - median).abs()) / normal_quantile(0.75);
    let of = |i: usize| {
        let z = ((y[i] - median) / deviation).powi(2);
        if counts(&i) && z.is_finite() { z } else { 1.0 }
    };
    (0..y.len()).map(of).collect()
}

/// One ascent with the precisions held.
struct Round {
    model: Model,
    /// None where there was nothing to fit.
    reached: Option<Reached>,
    mean_variance: f64,
}

struct Reached {
    state: State,
    /// (n,) β E(y − η)².
    z: Vec<f64>,
    /// The bound, less what the prior asks for.
    value: f64,
}

/// Where the bound is at a maximum, or where the ascent to it was cut short.
struct Climbed<'d> {
    current: Round,
    tails: Tails<'d>,
    trace: Vec<Step>,
    iterations: usize,
    termination: Termination,
}

/// Where an ascent of the bound starts, and where it may end.
struct Start {
    from: Option<State>,
    /// Iterations before.
    before: usize,
    /// Gains below this are left.
    tol: f64,
    /// Whether to search on from the first maximum.
    search: bool,
}

/// A prior for columns in these units.
pub(crate) trait MakePrior:
    Fn(&Shared<'_>) -> Result<Box<dyn EvidencePrior>> + Sync
{
}
impl<T: Fn(&Shared<'_>) -> Result<Box<dyn EvidencePrior>> + Sync> MakePrior for T {}

/// Fits a part of the basis, from a state where there is one.
type Rounds<'r> = dyn Fn(&FixedBasis, &Tails<'_>, Option<&State>) -> Result<Round> + 'r;

impl Evidence<'_> {
    pub(super) fn fit_student_t(
        &self,
        nu: Nu,
        data: &Dataset<'_>,
        observer: &dyn Observer,
        prior: impl MakePrior,
    ) -> Result<Model> {
        let y = numbers(self.method, data)?;
        data.check()?;
        let given = data.noise_precision();
        let data = &data.with_equal_noise();
        data.without_offset("this method")?;
        let weights = data.weights();
        let deadline = self.common.deadline();
        let first = match nu {
            Nu::Number(nu) => nu,
            Nu::Rule(NuRule::Estimate) => FIRST,
        };
        // Far from the median counts against a row before there is a fit.
        let noise = StudentT { nu: first };
        let tails = Tails { noise, z: about_median(y, weights), given, weights, gross: None };
        on_threads(self.common.n_jobs, || {
            let fixed = self.common.resolve(data, weights)?;
            let rows = Rows { data, target: y, weights, deadline };
            // The first start is soon left behind; a fresh one, and the last, are searched on.
            let climb = |tails, from, before, tol| {
                let start = Start { from, before, tol, search: before > 0 };
                self.climb(&fixed, tails, &rows, nu, start, observer, &prior)
            };
            let fine = self.common.tol.max(LEAST);
            let free = nu == Nu::Rule(NuRule::Estimate);
            let mut best = climb(tails, None, 0, if free { fine.max(COARSE) } else { fine })?;
            let value = |end: &Climbed<'_>| end.current.reached.as_ref().map(|r| r.value);
            let mut restarted = false;
            for _ in 0..RESTARTS {
                let (Some(at), Termination::Converged) = (&best.current.reached, best.termination)
                else {
                    break;
                };
                // What few terms leave unexplained passes for tails, and ν for what gross errors
                // ask for: once more, with all rows alike but those that are far off.
                let next = match free {
                    true => best.tails.without_gross(y, at.state.noise),
                    false => best.tails.trimmed(),
                };
                let Some(next) = next else { break };
                let next = climb(next, None, best.iterations, fine)?;
                if value(&next) <= value(&best).map(|v| v + LEAST) {
                    break;
                }
                (best, restarted) = (next, true);
            }
            if let (false, Some(at), Termination::Converged) =
                (restarted, &best.current.reached, best.termination)
            {
                let (tails, state) = (best.tails.clone(), at.state.clone());
                best = climb(tails, Some(state), best.iterations, fine)?;
            }
            let Climbed { mut current, tails, trace, iterations, termination } = best;
            if let (Some(at), Termination::Converged) = (&current.reached, termination) {
                let run = Run { from: Some(&at.state), search: false, tol: self.common.tol };
                current = self.round(&fixed, &tails, &rows, run, &StopOnly(observer), &prior)?;
            }
            let Round { mut model, reached, mean_variance } = current;
            model.noise_nu = Some(tails.noise.nu);
            if reached.is_some() {
                model.report.termination = termination;
                model.report.iterations = iterations;
                model.report.trace = trace;
                let limit = match termination {
                    Termination::IterationLimit => Some("max_iter"),
                    Termination::TimeLimit => Some("max_time"),
                    _ => None,
                };
                model.report.notes.extend(limit.map(|limit| {
                    format!("{limit} was reached while the bound still rose; raise {limit} or tol")
                }));
                model.report.suspected = tails.suspected();
                model.report.row_weights = (0..y.len()).map(|i| tails.row_weight(i)).collect();
            }
            let precisions = tails.precisions();
            let wanted = self.wanted(data.features().columns());
            if self.variance != super::Variance::Posterior {
                model = self.common.with_part(&fixed, &rows, wanted, observer, |shared| {
                    self.augmented(model, mean_variance, &shared, data, Some(&precisions))
                })?;
            }
            Ok(Model { encoder: data.encoder().cloned(), named: data.is_named(), ..model })
        })
    }

    /// Raises the bound as far as it goes, from the precisions of rows.
    #[allow(clippy::too_many_arguments)]
    fn climb<'d>(
        &self,
        fixed: &FixedBasis,
        mut tails: Tails<'d>,
        rows: &Rows<'_, '_>,
        nu: Nu,
        start: Start,
        observer: &dyn Observer,
        prior: &impl MakePrior,
    ) -> Result<Climbed<'d>> {
        let Start { from, before, tol, search } = start;
        let watch = StopOnly(observer);
        let least = tol.min(COARSE);
        let round = |fixed: &FixedBasis, tails: &Tails<'_>, from: Option<&State>| {
            let run = Run { from, search: false, tol: least };
            self.round(fixed, tails, rows, run, &watch, prior)
        };
        let late = || rows.deadline.is_some_and(|d| Instant::now() >= d);
        let first = Run { from: from.as_ref(), search, tol: least };
        let mut current = self.round(fixed, &tails, rows, first, &watch, prior)?;
        let mut trace: Vec<Step> = Vec::new();
        let mut termination = Termination::Converged;
        let mut iterations = before + 1;
        let mut before_step: Option<(Round, Tails<'d>)> = None;
        while let Some(at) = &current.reached {
            observer.check()?;
            let objective = -at.value;
            let gained = trace.last().map_or(f64::INFINITY, |s| s.objective - objective);
            // Rounding, where the noise vanishes, or a price of parameters, which is no part of
            // the bound: what was there before is better.
            if let (Some((previous, precisions)), true) = (before_step.take(), gained < 0.0) {
                (current, tails) = (previous, precisions);
                break;
            }
            let terms = current.model.n_terms();
            trace.push(Step { objective, terms });
            let residual = gained.abs().min(f64::MAX);
            observer.progress(Progress { iteration: iterations, terms, objective, residual });
            if gained <= tol {
                break;
            }
            if late() || iterations >= self.common.max_iter {
                termination =
                    if late() { Termination::TimeLimit } else { Termination::IterationLimit };
                break;
            }
            iterations += 1;
            let (state, precisions) = (at.state.clone(), tails.clone());
            tails.update(at.z.clone(), nu);
            let state = self.settle_terms(fixed, &mut tails, state, nu, tol, &round)?;
            let next = round(fixed, &tails, Some(&state))?;
            before_step = Some((std::mem::replace(&mut current, next), precisions));
        }
        Ok(Climbed { current, tails, trace, iterations, termination })
    }

    /// Brings the bound to its maximum with no columns but those of a state.
    fn settle_terms(
        &self,
        fixed: &FixedBasis,
        tails: &mut Tails<'_>,
        mut state: State,
        nu: Nu,
        tol: f64,
        round: &Rounds<'_>,
    ) -> Result<State> {
        let mut value = f64::NEG_INFINITY;
        for _ in 0..if tol < COARSE { STEPS } else { FEW_STEPS } {
            let mut kept: Vec<usize> =
                state.columns.iter().map(|c| c.0).filter(|&j| j < fixed.len()).collect();
            kept.sort_unstable();
            if kept.is_empty() {
                break;
            }
            let found = round(&fixed.keep(&kept), tails, Some(&state.inside(&kept)))?;
            let Some(at) = found.reached else { break };
            state = at.state.outside(&kept, fixed.len());
            tails.update(at.z, nu);
            if at.value <= value + 0.1 * tol {
                break;
            }
            value = at.value;
        }
        Ok(state)
    }

    /// Maximises the evidence with the precisions of the rows held.
    fn round(
        &self,
        fixed: &FixedBasis,
        tails: &Tails<'_>,
        rows: &Rows<'_, '_>,
        run: Run<'_>,
        observer: &dyn Observer,
        prior: &impl MakePrior,
    ) -> Result<Round> {
        let noise = NoiseOfRows::new(&tails.precisions(), tails.weights());
        let rows = Rows { weights: noise.weights(tails.weights()), ..*rows };
        let wanted = self.wanted(rows.data.features().columns());
        self.common.with_part(fixed, &rows, wanted, observer, |shared| {
            let mut prior = prior(&shared)?;
            let Some(solved) = self.ascend(&shared, &mut *prior, &noise, run)? else {
                let model = self.empty(&shared, &*prior, &noise)?;
                return Ok(Round { model, reached: None, mean_variance: 0.0 });
            };
            let state = solved.state(&shared, &noise);
            let mean_variance = solved.mean_variance(&shared);
            let mut z = self.squares(&shared, &solved, &noise, tails, rows.target);
            let Solved { found, inverse_lengths, noise: known, .. } = solved;
            let mut model = self.model(&shared, found, &*prior, &inverse_lengths, known)?;
            noise.undo(&mut model, None);
            // The columns are not known at rows that are set aside.
            let aside: Vec<usize> = (0..z.len()).filter(|&i| tails.is_aside(i)).collect();
            if !aside.is_empty() {
                let means = model.predict(rows.data.features().select_rows(&aside)?.view())?;
                for (&i, mean) in aside.iter().zip(means) {
                    let square = ((rows.target[i] - mean) / state.noise).powi(2);
                    z[i] = (tails.own_precision(i) * square).min(f64::MAX);
                }
            }
            let excess = tails.excess();
            model.report.objective -= excess;
            model.report.log_evidence = model.report.log_evidence.map(|e| e + excess);
            let value = -model.report.objective;
            Ok(Round { model, reached: Some(Reached { state, z, value }), mean_variance })
        })
    }

    /// β E(y − η)² of each row: squared residuals and the variance of η.
    fn squares(
        &self,
        shared: &Shared<'_>,
        solved: &Solved,
        noise: &NoiseOfRows,
        tails: &Tails<'_>,
        y: &[f64],
    ) -> Vec<f64> {
        let found = &solved.found;
        let (n, unit) = (y.len(), shared.units.target_unit());
        let mut residual: Vec<f64> =
            y.iter().map(|y| (y - shared.units.target_mean) / unit).collect();
        let free = self.common.fit_intercept == Intercept::Free;
        let intercept = if free { found.noise / shared.weight } else { 0.0 };
        let mut variance = vec![intercept; n];
        if let Some(design) = shared.design.filter(|_| !found.active.is_empty()) {
            let columns: Vec<usize> = found.active.iter().map(|&k| shared.usable[k]).collect();
            let mut f = design.copy(&columns);
            for (c, &k) in found.active.iter().enumerate() {
                let length = solved.inverse_lengths[k];
                f.column_mut(c).iter_mut().for_each(|v| *v *= length);
                axpy(-found.mean[c], f.column(c), &mut residual);
            }
            let spread = multiply(n, f.as_slice(), &found.covariance);
            for c in 0..columns.len() {
                let products = variance.iter_mut().zip(f.column(c)).zip(spread.column(c));
                products.for_each(|((v, f), s)| *v += f * s);
            }
        }
        let beta = 1.0 / noise.of_one(found.noise);
        let of = |i: usize| {
            let square = residual[i] * residual[i] + variance[i].max(0.0);
            let z = beta * tails.own_precision(i) * square;
            // A row of weight 0 may hold anything.
            if z.is_finite() || tails.weight(i) > 0.0 { z.min(f64::MAX) } else { 1.0 }
        };
        (0..n).map(of).collect()
    }
}
