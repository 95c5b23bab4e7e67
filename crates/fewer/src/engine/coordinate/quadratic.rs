//! Coordinate descent on a quadratic whose matrix is in memory, finished by exact solves.
//!
//! Minimises −cᵀβ + ½βᵀHβ + penalty(β). Sweeps find the support and the signs; with these the
//! problem is linear, and a Cholesky factorisation ends what sweeps approach slowly.

use super::gram::Gram;
use super::penalty::Penalty;
use crate::engine::{Interrupted, Observer};
use crate::linalg::{Cholesky, Matrix, axpy};

/// Rounds of sweeps and a solve before giving up on a stubborn problem.
const MAX_ROUNDS: usize = 200;
/// Sweeps over the support before a solve, where a solve is cheap.
const SWEEPS: usize = 3;

/// And while the support shrinks, up to so many, in up to so many rounds.
const UNSETTLED: usize = 20;
const PATIENCE: usize = 10;

/// The problem; `penalty` is that of its own coefficients, in their order.
pub(crate) struct Quadratic<'a> {
    pub gram: &'a Gram,
    pub penalty: &'a Penalty,
    pub observer: &'a dyn Observer,
    /// The factor made last.
    pub factored: Option<Factored>,
}

/// A factor of the part of the matrix that belongs to a support.
pub(crate) struct Factored {
    support: Vec<usize>,
    /// The L2 penalties in it.
    l2: Vec<f64>,
    factor: Cholesky,
}

impl<'a> Quadratic<'a> {
    pub fn new(gram: &'a Gram, penalty: &'a Penalty, observer: &'a dyn Observer) -> Self {
        Self { gram, penalty, observer, factored: None }
    }
    /// Moves β, and with it q = c − Hβ, until `done(β, q)`.
    pub fn solve(
        &mut self,
        beta: &mut [f64],
        q: &mut [f64],
        done: &dyn Fn(&[f64], &[f64]) -> bool,
    ) -> Result<(), Interrupted> {
        let all: Vec<usize> = (0..beta.len()).collect();
        let mut stuck = 0;
        for round in 0..MAX_ROUNDS {
            self.observer.check()?;
            let mut moved = self.sweep(&all, beta, q);
            if done(beta, q) || moved == 0.0 {
                return Ok(());
            }
            let support: Vec<usize> = all.iter().copied().filter(|&k| beta[k] != 0.0).collect();
            // A solve pays once the support has settled.
            let least = self.sweeps_for_a_solve(support.len());
            let (mut size, mut settled) = (support.len(), false);
            for sweeps in 1..=UNSETTLED {
                let before = moved;
                moved = self.sweep(&support, beta, q);
                if done(beta, q) {
                    break;
                }
                let now = support.iter().filter(|&&k| beta[k] != 0.0).count();
                settled = moved <= 1e-3 * before || sweeps >= least && now == size;
                if settled {
                    break;
                }
                size = now;
            }
            if !settled && round < PATIENCE {
                continue;
            }
            if !self.solve_on_support(beta, q)? {
                stuck += 1;
                // Without a factor only sweeps are left; they converge, slowly.
                let limit = if stuck > 2 { 100 } else { 10 };
                for _ in 0..limit {
                    self.observer.check()?;
                    if self.sweep(&support, beta, q) == 0.0 {
                        break;
                    }
                }
            }
            if done(beta, q) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// A solve costs about k³/3 fast operations, a sweep k² slow ones.
    fn sweeps_for_a_solve(&self, support: usize) -> usize {
        (support / 100).clamp(SWEEPS, 10)
    }

    /// One pass over the given coefficients; the decrease of the objective it made.
    fn sweep(&self, order: &[usize], beta: &mut [f64], q: &mut [f64]) -> f64 {
        let mut decrease = 0.0;
        for &k in order {
            let h = self.gram.diagonal(k);
            if h <= 0.0 {
                continue;
            }
            let old = beta[k];
            let new = self.penalty.minimiser(k, q[k] + h * old, h);
            let step = new - old;
            if step != 0.0 {
                beta[k] = new;
                axpy(-step, self.gram.column(k), q);
                decrease += 0.5 * (h + self.penalty.l2[k]) * step * step;
            }
        }
        decrease
    }

    /// Goes to the minimum for the present support and signs; where signs forbid it, as far as they
    /// allow, and on from there without the coefficients that became zero. False if there is no way.
    pub fn solve_on_support(
        &mut self,
        beta: &mut [f64],
        q: &mut [f64],
    ) -> Result<bool, Interrupted> {
        let mut found = false;
        loop {
            self.observer.check()?;
            let support: Vec<usize> = (0..beta.len()).filter(|&k| beta[k] != 0.0).collect();
            let Some(mut step) = self.newton_step(&support, beta, q)? else { return Ok(found) };
            // A coefficient may not cross zero, unless it is free of L1.
            let crosses = |a: usize| {
                let k = support[a];
                (self.penalty.l1[k] > 0.0 || self.penalty.positive)
                    && (beta[k] + step[a]) * beta[k] <= 0.0
            };
            let crossing: Vec<usize> = (0..support.len()).filter(|&a| crosses(a)).collect();
            if crossing.is_empty() {
                return Ok(self.try_step(&support, &step, beta, q) || found);
            }
            let mut clipped = step.clone();
            crossing.iter().for_each(|&a| clipped[a] = -beta[support[a]]);
            if !self.try_step(&support, &clipped, beta, q) {
                // Up to the first crossing the objective falls for certain.
                let part = |a: usize| -beta[support[a]] / step[a];
                let first = crossing.into_iter().min_by(|&a, &b| part(a).total_cmp(&part(b)));
                if let Some(first) = first {
                    let part = part(first);
                    step.iter_mut().for_each(|s| *s *= part);
                    step[first] = -beta[support[first]];
                }
                if !self.try_step(&support, &step, beta, q) {
                    return Ok(found);
                }
            }
            found = true;
        }
    }

    /// The step to the minimum for the present support and signs; a short one in the directions
    /// that the columns do not tell from none.
    fn newton_step(
        &mut self,
        support: &[usize],
        beta: &[f64],
        q: &[f64],
    ) -> Result<Option<Vec<f64>>, Interrupted> {
        let slope = |&k: &usize| {
            q[k] - self.penalty.l2[k] * beta[k] - self.penalty.l1[k] * beta[k].signum()
        };
        let slopes: Vec<f64> = support.iter().map(slope).collect();
        let l2: Vec<f64> = support.iter().map(|&k| self.penalty.l2[k]).collect();
        let finite = |step: &[f64]| step.iter().all(|s| s.is_finite());
        if let Some(known) = self.factored.as_ref().filter(|f| f.support == support && f.l2 == l2) {
            let mut step = slopes;
            known.factor.solve(&mut step);
            return Ok(finite(&step).then_some(step));
        }
        let order = support.len();
        for damping in [1e-14, 1e-11, 1e-8] {
            let mut matrix = Matrix::zeros(order, order);
            for (b, &k) in support.iter().enumerate() {
                let column = self.gram.column(k);
                support[b..].iter().zip(b..).for_each(|(&i, a)| matrix[(a, b)] = column[i]);
                matrix[(b, b)] += l2[b] + damping * self.gram.diagonal(k);
            }
            let Ok(factor) = Cholesky::new(matrix, self.observer)? else { continue };
            let mut step = slopes.clone();
            factor.solve(&mut step);
            if finite(&step) {
                self.factored = Some(Factored { support: support.to_vec(), l2, factor });
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// Takes a step if it lowers the objective.
    fn try_step(&self, support: &[usize], step: &[f64], beta: &mut [f64], q: &mut [f64]) -> bool {
        let mut moved = q.to_vec();
        for (&k, &s) in support.iter().zip(step) {
            if s != 0.0 {
                axpy(-s, self.gram.column(k), &mut moved);
            }
        }
        // −cᵀΔ + ½Δᵀ(Hβ + H(β+Δ)) = −½Δᵀ(q + q′)
        let mut change = 0.0;
        let mut size = 0.0;
        for (&k, &s) in support.iter().zip(step) {
            let smooth = -0.5 * s * (q[k] + moved[k]);
            let penalty = self.penalty.value(k, beta[k] + s) - self.penalty.value(k, beta[k]);
            change += smooth + penalty;
            size += smooth.abs() + penalty.abs();
        }
        if change > 1e-14 * size {
            return false;
        }
        for (&k, &s) in support.iter().zip(step) {
            // What was set to zero is zero, not a rounding of it.
            beta[k] = if s == -beta[k] { 0.0 } else { beta[k] + s };
        }
        q.copy_from_slice(&moved);
        true
    }
}
