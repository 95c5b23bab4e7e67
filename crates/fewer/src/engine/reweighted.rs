//! Iteratively reweighted ridge: one loop for every scale-mixture prior with every likelihood
//! that has a quadratic bound (expectation-maximisation in Figueiredo 2003).
//!
//! Each step replaces the prior by the Gaussian that pulls as hard at the current weights, and
//! the likelihood by its bound, and solves the ridge problem that results, on the terms that are
//! still in the model. The objective never rises between two prunings.

use super::{LeastSquares, Observer, Outcome, Progress, Right, Step, Termination};
use crate::error::Result;
use crate::likelihood::QuadraticBound;
use crate::linalg::Cholesky;
use crate::prior::ScaleMixture;
use std::time::Instant;

/// When and how to stop.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub stop: Stop,
    pub max_iter: usize,
    pub deadline: Option<Instant>,
    pub max_terms: Option<usize>,
    /// The noise variance stays where it is while more terms than this are in the model.
    pub hold_noise_above: Option<usize>,
    /// Whether steps may be stretched, and Newton's method finish what EM has begun.
    pub accelerate: bool,
}

/// The rule that ends the loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stop {
    /// The stationarity residual falls to this.
    Residual(f64),
    /// The weights change, relative to their norm, by less than this: the papers' rule, which
    /// fires while some weights are still on their way to zero.
    Change(f64),
}

/// A weight this small against the noise is zero: from there Jeffreys' rule squares it at every
/// step.
const JEFFREYS_ZERO: f64 = 1e-9;
/// A weight this small against the largest is zero, if the data do not pull it away from there.
const LAPLACE_ZERO: f64 = 1e-4;
/// Pulls below this part of the data's own are lost in rounding, with room for the tolerance.
const RESOLUTION: f64 = 1e-6;
/// The Newton finish may shrink a weight by no more than this part of it.
const NEWTON_REACH: f64 = 0.1;
const NEWTON_STEPS: usize = 30;
/// A relative gap that rounding may leave.
const ROUNDING: f64 = 1e-11;
/// Steps are stretched after the support has stayed the same for so long …
const RELAX_AFTER: usize = 10;
/// … and then change a weight by at most this part of it.
const RELAX_REACH: f64 = 0.05;

/// Iterations after which a likelihood that knows the duality gap is asked for it.
const GAP_EVERY: usize = 10;

/// The state of the loop.
pub(crate) struct Reweighted<'a, 'd> {
    pub data: &'a mut LeastSquares<'d>,
    pub likelihood: &'a mut dyn QuadraticBound,
    pub prior: &'a dyn ScaleMixture,
    /// (p,) The prior is on `scale[j] * beta[j]`.
    pub scale: &'a [f64],
    /// (p,) λ of an L2 penalty, λβ²/2, beside the prior.
    pub ridge: Option<&'a [f64]>,
    /// (p,) Σ w x² of each column.
    pub squares: &'a [f64],
    pub active: Vec<usize>,
    pub beta: Vec<f64>,
    /// A column that does not count as a term: the papers' bias.
    pub uncounted: Option<usize>,
    /// (p,) Columns that may come back from zero.
    pub allowed: Vec<bool>,
}

impl Reweighted<'_, '_> {
    /// Iterates to the end.
    pub fn run(&mut self, options: &Options) -> Result<Outcome> {
        let observer: &dyn Observer = self.data.observer();
        let mut trace = Vec::new();
        let mut termination = Termination::IterationLimit;
        let (mut next_finish, mut patience, mut unchanged) = (0, 4, 0);
        let mut tol = match options.stop {
            Stop::Residual(tol) => tol,
            Stop::Change(_) => f64::INFINITY,
        };
        self.hold_noise(options);
        self.update()?;
        let mut residual = self.residual();
        let mut relaxation = 1.0;
        let mut gap = None;
        let mut iteration = 0;
        while iteration < options.max_iter {
            iteration += 1;
            observer.check()?;
            if options.deadline.is_some_and(|d| Instant::now() > d) {
                termination = Termination::TimeLimit;
                break;
            }
            let before = (self.active.clone(), self.beta.clone());
            let height = self.objective();
            if !self.step()? {
                termination = Termination::TimeLimit;
                break;
            }
            self.update()?;
            if options.accelerate && unchanged >= RELAX_AFTER {
                relaxation = self.relax(&before.1, height, relaxation)?;
            } else {
                relaxation = 1.0;
            }
            let pruned = self.prune();
            unchanged = if pruned { 0 } else { unchanged + 1 };
            let released = self.hold_noise(options);
            if pruned || released {
                self.update()?;
            }
            residual = self.residual();
            trace.push(Step { objective: self.objective(), terms: self.active.len() });
            observer.progress(Progress {
                iteration,
                terms: self.active.len(),
                objective: self.objective(),
                residual,
            });

            if iteration % GAP_EVERY == 0
                && let (Some(found), Stop::Residual(wanted)) =
                    (self.likelihood.gap()?, options.stop)
                && found <= wanted
            {
                (gap, termination) = (Some(found), Termination::Converged);
                break;
            }
            if let Stop::Change(limit) = options.stop {
                if change(&before, &self.active, &self.beta) >= limit {
                    continue;
                }
                if self.drop_weakest(options.max_terms) {
                    self.update()?;
                    continue;
                }
                termination = Termination::Converged;
                break;
            }
            let try_newton = residual <= tol || unchanged >= 2 && iteration >= next_finish;
            if options.accelerate && !released && try_newton {
                if self.newton_finish(tol)? {
                    residual = self.residual();
                    trace.pop();
                    trace.push(Step { objective: self.objective(), terms: self.active.len() });
                } else if residual > tol {
                    next_finish = iteration + patience;
                    patience = (2 * patience).min(200);
                }
            }
            if residual > tol || self.readmit()? || self.drop_weakest(options.max_terms) {
                if residual <= tol {
                    self.hold_noise(options);
                    self.update()?;
                    (unchanged, next_finish) = (0, iteration);
                }
                continue;
            }
            gap = self.gap()?;
            if let (Some(gap), Stop::Residual(wanted)) = (gap, options.stop)
                && gap > wanted
            {
                if tol > 1e-15 {
                    tol *= 0.1;
                    continue;
                }
                if gap > ROUNDING {
                    termination = Termination::Stalled;
                    break;
                }
            }
            termination = Termination::Converged;
            break;
        }
        if termination != Termination::Converged {
            // A fit cut short keeps its promise about max_terms all the same.
            while self.drop_weakest(options.max_terms) {
                self.update()?;
                self.step()?;
            }
            self.update()?;
            residual = self.residual();
            gap = self.gap()?;
        }
        Ok(Outcome {
            objective: self.objective(),
            residual,
            gap,
            iterations: iteration,
            termination,
            trace,
            active: std::mem::take(&mut self.active),
            beta: std::mem::take(&mut self.beta),
        })
    }

    /// Holds or releases the noise; true if it has just been released.
    fn hold_noise(&mut self, options: &Options) -> bool {
        let hold = options.hold_noise_above.is_some_and(|limit| self.active.len() > limit);
        self.likelihood.hold_noise(hold)
    }

    fn update(&mut self) -> Result<()> {
        self.likelihood.update(self.data, &self.active, &self.beta)
    }

    /// The prior's slope at each weight.
    fn pull(&self, k: usize) -> f64 {
        let (j, b) = (self.active[k], self.beta[k]);
        if b == 0.0 { 0.0 } else { self.weight(j, b) * b }
    }

    fn ridge(&self, j: usize) -> f64 {
        self.ridge.map_or(0.0, |ridge| ridge[j])
    }

    /// E[1/τ] of a weight, and its ridge.
    fn weight(&self, j: usize, beta: f64) -> f64 {
        self.prior.scaled_weight(self.scale[j], beta) + self.ridge(j)
    }

    /// −log p of all weights.
    fn penalty(&self) -> f64 {
        let each = self.active.iter().zip(&self.beta).map(|(&j, &b)| {
            self.prior.scaled_penalty(self.scale[j], b) + 0.5 * self.ridge(j) * b * b
        });
        each.sum()
    }

    fn objective(&self) -> f64 {
        self.likelihood.value() + self.penalty()
    }

    /// One EM step: E[1/τ] from the prior, then the ridge problem; false if there was no time for
    /// it.
    fn step(&mut self) -> Result<bool> {
        if self.active.is_empty() {
            return Ok(true);
        }
        let precision = self.likelihood.precision();
        let u: Vec<f64> = self
            .active
            .iter()
            .zip(&self.beta)
            .map(|(&j, &b)| {
                // Far below what the data say of the weight: λ = 0 is then least squares.
                let least = 1e-14 * precision * self.squares[j];
                self.weight(j, b).max(least).sqrt().recip()
            })
            .collect();
        let right =
            Right { products: self.likelihood.target_products(), target: self.likelihood.target() };
        let found = self.data.ridge_in_time(&self.active, &u, precision.recip(), right)?;
        let Some(found) = found else { return Ok(false) };
        // Singular to working precision: stay, and let the residual say so.
        if let Some(ridge) = found {
            self.beta = ridge.beta;
        }
        Ok(true)
    }

    /// Goes on in the direction of the last step, as far as the objective falls and no weight
    /// changes by more than a little: EM's path, walked faster. Returns how much to stretch next.
    fn relax(&mut self, before: &[f64], height: f64, stretch: f64) -> Result<f64> {
        let fastest = self
            .beta
            .iter()
            .zip(before)
            .map(|(b, old)| (b / old - 1.0).abs())
            .fold(f64::MIN_POSITIVE, f64::max);
        let stretch = stretch.min(RELAX_REACH / fastest);
        if stretch <= 1.0 || self.beta.len() != before.len() {
            return Ok(2.0);
        }
        let em = self.beta.clone();
        let reached = self.objective();
        for (b, old) in self.beta.iter_mut().zip(before) {
            *b = old + stretch * (*b - old);
        }
        self.update()?;
        if self.objective() <= reached.min(height) {
            return Ok(1.5 * stretch);
        }
        self.beta = em;
        self.update()?;
        Ok(1.0)
    }

    /// Removes the weights that are zero; true if any was.
    fn prune(&mut self) -> bool {
        let Some(pull) = self.prior.pull_at_zero() else { return false };
        let precision = self.likelihood.precision();
        let keep: Vec<bool> = if pull.is_infinite() {
            let least = |j: usize| JEFFREYS_ZERO / (precision * self.squares[j]).sqrt();
            self.active.iter().zip(&self.beta).map(|(&j, b)| b.abs() > least(j)).collect()
        } else {
            let (residual, products) =
                (self.likelihood.residual_products(), self.likelihood.target_products());
            // The size of weights that would explain the target alone.
            let alone = |k: usize| products[k].abs() / self.squares[self.active[k]];
            let largest = (0..self.beta.len()).map(alone).fold(0.0, f64::max);
            (0..self.beta.len())
                .map(|k| {
                    // Where coordinate descent would put this weight: exactly zero?
                    let j = self.active[k];
                    let alone = precision * (residual[k] + self.squares[j] * self.beta[k]);
                    let zero = alone.abs() <= self.scale[j] * pull;
                    self.beta[k] != 0.0 && !(zero && self.beta[k].abs() < LAPLACE_ZERO * largest)
                })
                .collect()
        };
        self.retain(&keep)
    }

    fn retain(&mut self, keep: &[bool]) -> bool {
        let before = self.active.len();
        let mut k = keep.iter();
        self.active.retain(|_| *k.next().unwrap_or(&true));
        let mut k = keep.iter();
        self.beta.retain(|_| *k.next().unwrap_or(&true));
        self.active.len() < before
    }

    /// max_j |data's pull − prior's pull|, relative to the prior's pull, which the two have in
    /// common at the end (a smooth prior: to the largest of them); but to no less than the part of
    /// the data's pull on the weight alone that arithmetic can tell.
    fn residual(&self) -> f64 {
        let precision = self.likelihood.precision();
        let residual = self.likelihood.residual_products();
        let pulls: Vec<f64> = (0..self.active.len()).map(|k| self.pull(k).abs()).collect();
        let largest = pulls.iter().copied().fold(0.0, f64::max);
        let mut worst: f64 = 0.0;
        for k in 0..self.active.len() {
            let violation = (precision * residual[k] - self.pull(k)).abs();
            if violation == 0.0 {
                continue;
            }
            let own = residual[k] + self.squares[self.active[k]] * self.beta[k];
            let pull = if self.prior.pull_at_zero().is_some() { pulls[k] } else { largest };
            // Without a prior there is nothing but the data's pull to compare with.
            let resolution = if self.scale[self.active[k]] == 0.0 { 1.0 } else { RESOLUTION };
            let part = violation / pull.max(resolution * precision * own.abs());
            if part.is_nan() {
                return f64::INFINITY;
            }
            worst = worst.max(part);
        }
        worst
    }

    /// Finishes by Newton's method on the support, which EM approaches but slowly.
    ///
    /// All or nothing: it must descend to a local minimum within the tolerance, with no weight
    /// shrunk by more than a little (zero attracts them), so that it ends where EM would;
    /// otherwise nothing changes.
    fn newton_finish(&mut self, tol: f64) -> Result<bool> {
        let start = self.beta.clone();
        let bounded = self.prior.pull_at_zero().is_some();
        let near = |beta: &[f64]| {
            !bounded || beta.iter().zip(&start).all(|(b, s)| b / s >= 1.0 - NEWTON_REACH)
        };
        let mut last = self.residual();
        for _ in 0..NEWTON_STEPS {
            let Some(mut hessian) = self.likelihood.hessian(self.data, &self.active)? else {
                break;
            };
            let precision = self.likelihood.precision();
            let residual = self.likelihood.residual_products();
            let mut direction: Vec<f64> =
                (0..self.active.len()).map(|k| precision * residual[k] - self.pull(k)).collect();
            for (k, &j) in self.active.iter().enumerate() {
                hessian[(k, k)] +=
                    self.prior.scaled_curvature(self.scale[j], self.beta[k]) + self.ridge(j);
            }
            let Ok(factor) = Cholesky::new(hessian, self.data.observer())? else { break };
            factor.solve(&mut direction);
            let (before, height) = (self.beta.clone(), self.objective());
            // Rounding hides the last descents.
            let slack = 1e-12 * (1.0 + height.abs());
            let mut length = 1.0;
            let moved = loop {
                self.beta = before.iter().zip(&direction).map(|(b, d)| b + length * d).collect();
                if near(&self.beta) {
                    self.update()?;
                    if self.objective() <= height + slack {
                        break true;
                    }
                }
                length *= 0.5;
                if length < 1e-3 {
                    break false;
                }
            };
            if !moved {
                break;
            }
            let now = self.residual();
            if last <= tol && now >= last {
                self.beta = before;
                self.update()?;
                return Ok(true);
            }
            // Once there, each further step doubles the digits: it is almost free.
            if now <= 1e-3 * tol {
                return Ok(true);
            }
            last = now;
        }
        if self.residual() <= tol {
            return Ok(true);
        }
        self.beta = start;
        self.update()?;
        Ok(false)
    }

    /// Lets weights back in that are zero and should not be; true if there was one.
    fn readmit(&mut self) -> Result<bool> {
        let Some(pull) = self.prior.pull_at_zero().filter(|p| p.is_finite()) else {
            return Ok(false);
        };
        let outside: Vec<usize> = (0..self.allowed.len())
            .filter(|j| self.allowed[*j] && self.active.binary_search(j).is_err())
            .collect();
        let residual =
            self.likelihood.residual_products_of(self.data, &outside, &self.active, &self.beta);
        let precision = self.likelihood.precision();
        let height = self.objective();
        let mut wrong = Vec::new();
        for (&j, &g) in outside.iter().zip(&residual) {
            let excess = precision * g.abs() - self.scale[j] * pull;
            if excess > 1e-9 * self.scale[j] * pull.max(f64::MIN_POSITIVE) {
                let at = self.active.partition_point(|&a| a < j);
                self.active.insert(at, j);
                // A coordinate step from zero.
                self.beta.insert(at, g.signum() * excess / (precision * self.squares[j]));
                wrong.push(j);
            }
        }
        if wrong.is_empty() {
            return Ok(false);
        }
        self.update()?;
        if self.objective() > height {
            // Each step alone goes down; all at once may not, but their mean does.
            let together = wrong.len() as f64;
            for (j, b) in self.active.iter().zip(&mut self.beta) {
                if wrong.binary_search(j).is_ok() {
                    *b /= together;
                }
            }
            self.update()?;
        }
        Ok(true)
    }

    /// Removes half of the terms that are too many, the weakest; true if there were any.
    fn drop_weakest(&mut self, max_terms: Option<usize>) -> bool {
        let mut order: Vec<usize> =
            (0..self.active.len()).filter(|&k| Some(self.active[k]) != self.uncounted).collect();
        let excess = max_terms.map_or(0, |m| order.len().saturating_sub(m));
        if excess == 0 {
            return false;
        }
        let effect = |k: usize| self.beta[k].abs() * self.squares[self.active[k]].sqrt();
        order.sort_by(|&a, &b| effect(a).total_cmp(&effect(b)));
        let mut keep = vec![true; self.active.len()];
        for &k in &order[..excess.div_ceil(2)] {
            keep[k] = false;
            self.allowed[self.active[k]] = false;
        }
        self.retain(&keep)
    }

    /// The duality gap relative to ‖y‖²/2σ², where both are convex.
    ///
    /// With r = y − Xβ the dual point is κr/σ², κ ≤ 1 chosen so that it is feasible.
    fn gap(&mut self) -> Result<Option<f64>> {
        Ok(self.likelihood.gap()?.or_else(|| self.gap_of_least_squares()))
    }

    fn gap_of_least_squares(&self) -> Option<f64> {
        let residual_square = self.likelihood.known_noise_residual()?;
        self.prior.conjugate(0.0).filter(|_| self.ridge.is_none())?;
        let allowed: Vec<usize> = (0..self.allowed.len()).filter(|&j| self.allowed[j]).collect();
        let products =
            self.likelihood.residual_products_of(self.data, &allowed, &self.active, &self.beta);
        let precision = self.likelihood.precision();
        let ratio = |j: usize, g: f64| precision * g.abs() / self.scale[j];
        let pull = self.prior.pull_at_zero().unwrap_or(f64::INFINITY);
        let strongest =
            allowed.iter().zip(&products).fold(0.0, |a: f64, (&j, &g)| a.max(ratio(j, g)));
        let kappa = if strongest > pull { pull / strongest } else { 1.0 };
        let explained = crate::linalg::dot(&self.beta, self.likelihood.target_products());
        let fitted_residual = crate::linalg::dot(&self.beta, self.likelihood.residual_products());
        // yᵀr = ‖r‖² + βᵀXᵀr and yᵀy = ‖r‖² + βᵀXᵀr + βᵀXᵀy
        let target_residual = residual_square + fitted_residual;
        let square = target_residual + explained;
        let penalty = self.penalty();
        let conjugate: f64 = allowed
            .iter()
            .zip(&products)
            .map(|(&j, &g)| {
                let z = (kappa * ratio(j, g)).min(pull);
                self.prior.conjugate(z).unwrap_or(0.0)
            })
            .sum();
        let primal = 0.5 * precision * residual_square + penalty;
        let dual =
            0.5 * precision * (2.0 * kappa * target_residual - kappa * kappa * residual_square)
                - conjugate;
        let gap = (primal - dual) / (0.5 * precision * square).max(f64::MIN_POSITIVE);
        Some(if gap.is_nan() { f64::INFINITY } else { gap.max(0.0) })
    }
}

/// ‖β − β′‖ / ‖β′‖ over all columns.
fn change(before: &(Vec<usize>, Vec<f64>), active: &[usize], beta: &[f64]) -> f64 {
    let mut old = before.0.iter().zip(&before.1).peekable();
    let (mut difference, mut norm) = (0.0, 0.0);
    for (&j, &b) in active.iter().zip(beta) {
        while let Some((_, &o)) = old.next_if(|(i, _)| **i < j) {
            difference += o * o;
            norm += o * o;
        }
        let o = old.next_if(|(i, _)| **i == j).map_or(0.0, |(_, &o)| o);
        difference += (b - o) * (b - o);
        norm += o * o;
    }
    for (_, &o) in old {
        difference += o * o;
        norm += o * o;
    }
    if norm > 0.0 { (difference / norm).sqrt() } else { 0.0 }
}
