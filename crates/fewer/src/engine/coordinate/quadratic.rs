//! Coordinate descent on a quadratic whose matrix is in memory, finished by exact solves.
//!
//! Minimises −cᵀβ + ½βᵀHβ + penalty(β). Sweeps find the support and the signs; with these the
//! problem is linear, and a Cholesky factorisation ends what sweeps approach slowly.

use super::gram::Gram;
use super::penalty::Penalty;
use crate::engine::{Interrupted, Observer};
use crate::linalg::{Cholesky, Matrix, axpy, dot};

/// Rounds of sweeps and a solve before giving up on a stubborn problem.
const MAX_ROUNDS: usize = 200;
/// Sweeps over the support before a solve, where a solve is cheap.
const SWEEPS: usize = 3;

/// And while the support shrinks, up to so many, in up to so many rounds.
const UNSETTLED: usize = 20;
const PATIENCE: usize = 10;

/// Rounds in which a known factor is used at once.
const AT_ONCE: usize = 3;
/// A factor is made anew when more than one of so many coefficients has come or gone.
const SUPPORT_PER_CHANGE: usize = 40;
/// Part of its diagonal that a matrix is factorised with.
const LEAST_DAMPING: f64 = 1e-14;

/// The problem; `penalty` is that of its own coefficients, in their order.
pub(crate) struct Quadratic<'a> {
    pub gram: &'a Gram,
    pub penalty: &'a Penalty,
    pub observer: &'a dyn Observer,
    /// The factor made last.
    pub factored: Option<Factored>,
    /// What a coefficient may gain without being moved by a sweep.
    pub negligible: f64,
}

/// A factor of the part of the matrix that belongs to a support.
pub(crate) struct Factored {
    support: Vec<usize>,
    /// The L2 penalties in it.
    l2: Vec<f64>,
    factor: Cholesky,
}

impl Factored {
    /// Where coefficients of its support were lost, and where those of another were gained; nothing
    /// if these are too many for the factor to serve.
    fn changes(&self, support: &[usize]) -> Option<(Vec<usize>, Vec<usize>)> {
        let most = support.len() / SUPPORT_PER_CHANGE;
        let missing = |of: &[usize], from: &[usize]| -> Vec<usize> {
            let missing = (0..of.len()).filter(|&a| from.binary_search(&of[a]).is_err());
            missing.take(most + 1).collect()
        };
        let (lost, gained) = (missing(&self.support, support), missing(support, &self.support));
        (lost.len() + gained.len() <= most).then_some((lost, gained))
    }
}

impl<'a> Quadratic<'a> {
    pub fn new(gram: &'a Gram, penalty: &'a Penalty, observer: &'a dyn Observer) -> Self {
        Self { gram, penalty, observer, factored: None, negligible: 0.0 }
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
        if self.has_factor_for(&support_of(beta)) {
            self.solve_on_support(beta, q)?;
            if done(beta, q) {
                return Ok(());
            }
        }
        for round in 0..MAX_ROUNDS {
            self.observer.check()?;
            let mut moved = self.sweep(&all, beta, q);
            if done(beta, q) || moved == 0.0 {
                return Ok(());
            }
            let support = support_of(beta);
            // A solve pays once the support has settled, or if it costs no more than a sweep.
            let least = sweeps_for_a_solve(support.len());
            let (mut size, mut settled) = (support.len(), false);
            let at_once = round < AT_ONCE && self.has_factor_for(&support);
            for sweeps in 1..=if at_once { 0 } else { UNSETTLED } {
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
            if !settled && !at_once && round < PATIENCE {
                continue;
            }
            if !self.solve_on_support(beta, q)? {
                stuck += 1;
                // Without a factor only sweeps are left; they converge, slowly.
                let limit = if stuck > 2 { 100 } else { 10 };
                for _ in 0..limit {
                    self.observer.check()?;
                    if self.sweep(&support, beta, q) == 0.0 || done(beta, q) {
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

    /// Whether the factor made last serves a support.
    fn has_factor_for(&self, support: &[usize]) -> bool {
        self.factored.as_ref().is_some_and(|f| f.changes(support).is_some())
    }

    /// One pass over the given coefficients; the decrease of the objective it made.
    fn sweep(&self, order: &[usize], beta: &mut [f64], q: &mut [f64]) -> f64 {
        let mut decrease = 0.0;
        for &k in order {
            let h = self.gram.diagonal(k);
            if h + self.penalty.l2[k] <= 0.0 {
                continue;
            }
            let old = beta[k];
            let new = self.penalty.minimiser(k, q[k] + h * old, h);
            let step = new - old;
            let gain = 0.5 * (h + self.penalty.l2[k]) * step * step;
            if gain > self.negligible || new == 0.0 && old != 0.0 {
                beta[k] = new;
                axpy(-step, self.gram.column(k), q);
                decrease += gain;
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
            let support = support_of(beta);
            let Some(mut step) = self.newton_step(&support, beta, q)? else { return Ok(found) };
            // A coefficient may not cross zero, unless it is free of L1.
            let crosses = |a: usize| {
                let k = support[a];
                (self.penalty.l1[k] > 0.0 || self.penalty.positive)
                    && (beta[k] + step[a]) * beta[k] <= 0.0
            };
            let crossing: Vec<usize> = (0..support.len()).filter(|&a| crosses(a)).collect();
            if crossing.is_empty() {
                if self.try_step(&support, &step, beta, q) {
                    return Ok(true);
                }
                if self.forget_other_factor(&support) {
                    continue;
                }
                return Ok(found);
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
                    if self.forget_other_factor(&support) {
                        continue;
                    }
                    return Ok(found);
                }
            }
            found = true;
        }
    }

    /// Drops a factor that is not that of this support; whether there was one, so that a step that
    /// led nowhere is worth another try.
    fn forget_other_factor(&mut self, support: &[usize]) -> bool {
        let other = self.factored.as_ref().is_some_and(|f| f.support != support);
        if other {
            self.factored = None;
        }
        other
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
        if let Some(step) = self.step_by_known_factor(support, &slopes, &l2)
            && finite(&step)
        {
            return Ok(Some(step));
        }
        let order = support.len();
        for damping in [LEAST_DAMPING, 1e-11, 1e-8] {
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

    /// The same by the factor made last, where the support has lost or gained only a few since: what
    /// is gained borders the matrix, and what is lost is held at zero by a multiplier.
    fn step_by_known_factor(
        &self,
        support: &[usize],
        slopes: &[f64],
        l2: &[f64],
    ) -> Option<Vec<f64>> {
        let known = self.factored.as_ref()?;
        let (lost, gained) = known.changes(support)?;
        let changes = gained.len() + lost.len();
        let order = known.support.len();
        // The sides of the matrix, and the slopes after them.
        let mut sides = Matrix::zeros(order, changes + 1);
        for (c, &a) in gained.iter().enumerate() {
            let column = self.gram.column(support[a]);
            let side = sides.column_mut(c).iter_mut().zip(&known.support);
            side.for_each(|(s, &k)| *s = column[k]);
        }
        for (c, &a) in lost.iter().enumerate() {
            sides[(a, gained.len() + c)] = 1.0;
        }
        for (a, &k) in known.support.iter().enumerate() {
            if let Ok(b) = support.binary_search(&k) {
                if known.l2[a] != l2[b] {
                    return None;
                }
                sides[(a, changes)] = slopes[b];
            }
        }
        let mut solved = sides.clone();
        known.factor.solve_each(&mut solved);
        let mut corner = Matrix::zeros(changes, changes);
        let mut right = vec![0.0; changes];
        for c in 0..changes {
            for d in 0..changes {
                corner[(c, d)] = -dot(sides.column(c), solved.column(d));
            }
            right[c] = -dot(sides.column(c), solved.column(changes));
        }
        for (c, &a) in gained.iter().enumerate() {
            let column = self.gram.column(support[a]);
            for (d, &b) in gained.iter().enumerate() {
                corner[(c, d)] += column[support[b]];
            }
            corner[(c, c)] += l2[a] + LEAST_DAMPING * self.gram.diagonal(support[a]);
            right[c] += slopes[a];
        }
        let ends = solve_small(corner, right)?;
        let mut inner = solved.column(changes).to_vec();
        for (c, end) in ends.iter().enumerate() {
            axpy(-end, solved.column(c), &mut inner);
        }
        let step = |(a, k): (usize, &usize)| match known.support.binary_search(k) {
            Ok(b) => inner[b],
            Err(_) => gained.binary_search(&a).map_or(0.0, |c| ends[c]),
        };
        Some(support.iter().enumerate().map(step).collect())
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

/// Coefficients that are not zero.
fn support_of(beta: &[f64]) -> Vec<usize> {
    (0..beta.len()).filter(|&k| beta[k] != 0.0).collect()
}

/// A solve costs about k³/3 fast operations, a sweep k² slow ones.
fn sweeps_for_a_solve(support: usize) -> usize {
    (support / 100).clamp(SWEEPS, 10)
}

/// Solves a few equations by elimination; nothing where they have no solution.
fn solve_small(mut matrix: Matrix, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let n = right.len();
    for k in 0..n {
        let pivot =
            (k..n).max_by(|&a, &b| matrix[(a, k)].abs().total_cmp(&matrix[(b, k)].abs()))?;
        if !matrix[(pivot, k)].is_normal() {
            return None;
        }
        for c in k..n {
            let (a, b) = (matrix[(k, c)], matrix[(pivot, c)]);
            (matrix[(k, c)], matrix[(pivot, c)]) = (b, a);
        }
        right.swap(k, pivot);
        for i in k + 1..n {
            let part = matrix[(i, k)] / matrix[(k, k)];
            for c in k..n {
                matrix[(i, c)] -= part * matrix[(k, c)];
            }
            right[i] -= part * right[k];
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|c| matrix[(k, c)] * right[c]).sum();
        right[k] = (right[k] - known) / matrix[(k, k)];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Silent;

    /// A problem with a matrix of full rank.
    fn gram(order: usize) -> Gram {
        let wave =
            |k: usize| (0..3 * order).map(move |i| ((i * i + 3 * k + i * k) as f64 * 0.7).sin());
        let columns: Vec<Vec<f64>> = (0..order).map(|k| wave(k).collect()).collect();
        let mut gram = Gram::default();
        gram.grow(order);
        for b in 0..order {
            (0..=b).for_each(|a| gram.set(a, b, dot(&columns[a], &columns[b])));
        }
        gram
    }

    #[test]
    fn a_known_factor_serves_a_support_that_has_lost_and_gained() {
        let order = 200;
        let gram = gram(order);
        let penalty = Penalty { l1: vec![0.1; order], l2: vec![0.3; order], positive: false };
        let support: Vec<usize> = (0..order).filter(|k| k % 10 != 4).collect();
        let other: Vec<usize> =
            (0..order).filter(|k| (k % 10 != 4 || *k == 54) && *k != 7 && *k != 120).collect();
        let beta: Vec<f64> = (0..order).map(|k| 1.0 + (k as f64).cos()).collect();
        let q: Vec<f64> = (0..order).map(|k| 5.0 * (k as f64 * 0.3).sin()).collect();
        let mut quadratic = Quadratic::new(&gram, &penalty, &Silent);
        quadratic.newton_step(&support, &beta, &q).unwrap().unwrap();
        let before = quadratic.factored.as_ref().unwrap().support.clone();
        let step = quadratic.newton_step(&other, &beta, &q).unwrap().unwrap();
        assert_eq!(quadratic.factored.as_ref().unwrap().support, before);
        let fresh = Quadratic::new(&gram, &penalty, &Silent)
            .newton_step(&other, &beta, &q)
            .unwrap()
            .unwrap();
        let size = fresh.iter().fold(0.0, |a: f64, s| a.max(s.abs()));
        assert!(step.iter().zip(&fresh).all(|(a, b)| (a - b).abs() <= 1e-9 * size));
    }

    #[test]
    fn a_known_factor_leads_to_the_same_minimum() {
        let order = 200;
        let gram = gram(order);
        let cross: Vec<f64> = (0..order).map(|k| 60.0 * (k as f64 * 0.9).sin()).collect();
        let solve = |l1: f64, factored: Option<Factored>, from: &[f64]| {
            let penalty = Penalty { l1: vec![l1; order], l2: vec![0.0; order], positive: false };
            let mut q = cross.clone();
            from.iter().enumerate().for_each(|(k, b)| axpy(-b, gram.column(k), &mut q));
            let gain = |penalty: &Penalty, beta: &[f64], q: &[f64]| -> f64 {
                let best = |k: usize| {
                    let h = gram.diagonal(k);
                    0.5 * h * (penalty.minimiser(k, q[k] + h * beta[k], h) - beta[k]).powi(2)
                };
                (0..order).map(best).sum()
            };
            let enough = 1e-18 * gain(&penalty, &vec![0.0; order], &cross);
            let mut beta = from.to_vec();
            let mut quadratic = Quadratic::new(&gram, &penalty, &Silent);
            quadratic.factored = factored;
            quadratic.negligible = 0.1 * enough / order as f64;
            quadratic.solve(&mut beta, &mut q, &|b, q| gain(&penalty, b, q) <= enough).unwrap();
            assert!(gain(&penalty, &beta, &q) <= enough);
            (beta, quadratic.factored)
        };
        let zeros = vec![0.0; order];
        let (first, factored) = solve(5.0, None, &zeros);
        assert!(factored.is_some() && first.contains(&0.0));
        let (plain, _) = solve(4.9, None, &zeros);
        let (known, _) = solve(4.9, factored, &first);
        let size = plain.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        assert!(plain.iter().zip(&known).all(|(a, b)| (a - b).abs() <= 1e-7 * size));
    }
}
