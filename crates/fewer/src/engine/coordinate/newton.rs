//! Newton's method on the working set, for likelihoods that are not quadratic.
//!
//! Each step minimises the second-order model of the likelihood plus the penalty itself, and goes
//! as far as the objective falls.

use super::columns::{ColumnDescent, Damped, MAX_SWEEPS, Residuals, WorkingColumns};
use super::curved::{Curved, CurvedPacked, CurvedSparse};
use super::hessian::{Change, Hessian, Values, Working, sparse_members};
use super::narrow::NarrowWorking;
use super::penalty::{Penalty, best_dual_point};
use super::quadratic::Quadratic;
use super::smooth::NARROW_PART;
use super::{Coordinate, gap_by_pulls, is_past};
use crate::data::SparseView;
use crate::error::Result;
use crate::linalg::{Matrix, add_combination, axpy, dot, products_of};

/// Steps on one working set.
const MAX_STEPS: usize = 50;
/// Halvings of a step.
const MAX_HALVINGS: usize = 40;
/// Part of the predicted decrease that a step must keep.
const ARMIJO: f64 = 1e-4;
/// Halvings after which a step is damped instead, by this part of the largest curvature at least,
/// and less by this part after two in a row that went all the way.
const FEW_HALVINGS: usize = 4;
const LEAST_DAMPING: f64 = 1e-3;
const LESS_DAMPING: f64 = 0.1;
/// Part of the empty model's objective that no step can close where there is no curvature.
const FLAT: f64 = 1e-6;
/// Second derivatives are used again while the curvature has changed by no more than this part
/// but for a factor, and if there are more columns than so few.
const STALE: f64 = 0.1;
const FEW: usize = 50;
/// With more columns than so many second derivatives cost far more than a step: where they hold,
/// others would not do better, and a step leaves so much less.
const MANY: usize = 1000;
const EXACT: f64 = 1e-4;
/// Pulls below this part of the penalty are not expected to move a coefficient away from zero.
const IDLE: f64 = 0.9;
/// Part of a working set that such coefficients may be.
const FEW_IDLE: f64 = 0.1;
/// Part of what single coefficients could gain that a step may leave, and the gap, as a part of the
/// empty model's objective, from which on steps are more exact.
const INEXACT: f64 = 1e-2;
const NEAR: f64 = 3e-3;
/// Sweeps over sparse columns cost no more than what is done between them, and may leave so many
/// times more.
const SWEPT: f64 = 10.0;
/// Roundings that a pull is taken to have gone through.
const ROUNDINGS: f64 = 10.0;

/// What single coefficients could still gain.
fn left_to_gain(penalty: &Penalty, squares: &[f64], beta: &[f64], pulls: &[f64]) -> f64 {
    let gain = |(k, &h): (usize, &f64)| {
        let best = penalty.minimiser(k, pulls[k] + h * beta[k], h);
        0.5 * (h + penalty.l2[k]) * (best - beta[k]).powi(2)
    };
    let curved = |(k, h): &(usize, &f64)| **h + penalty.l2[*k] > 0.0;
    squares.iter().enumerate().filter(curved).map(gain).sum()
}

/// What single coefficients seem to gain where nothing is left but rounding.
fn rounding_of_gains(penalty: &Penalty, squares: &[f64], beta: &[f64], pulls: &[f64]) -> f64 {
    let size = |(k, &h): (usize, &f64)| {
        (pulls[k].powi(2) + (h * beta[k]).powi(2)) / (h + penalty.l2[k]).max(f64::MIN_POSITIVE)
    };
    let sizes: f64 = squares.iter().enumerate().filter(|(_, h)| **h > 0.0).map(size).sum();
    (ROUNDINGS * f64::EPSILON).powi(2) * sizes
}

/// Part of their curvature by which symmetric outputs are held where they are, with second
/// derivatives in single precision, of those with an L2 penalty, and in double: the weights of a
/// column may shift together, along which nothing curves but that penalty, or by rounding less than
/// nothing.
const HOLD: f64 = 1e-5;
const HOLD_RIDGE: f64 = 1e-6;
const HOLD_PRECISE: f64 = 1e-10;

/// A factor of order k takes k³ over this, in the time that a sparse value takes.
const FACTOR_SPEED: f64 = 60.0;
/// Sweeps over products in which a support settles, as seen with thousands of words.
const SETTLING: f64 = 300.0;

fn has_l1(penalty: &Penalty) -> bool {
    penalty.l1.iter().any(|l1| *l1 > 0.0)
}

/// The step taken last.
struct Taken {
    /// The gap before it, unless it was the first.
    gap: f64,
    /// Whether the fall of the objective was lost in rounding.
    invisible: bool,
    /// Whether the second derivatives were made for it.
    fresh: bool,
    /// Whether the step before it had closed nothing, for which single precision is to blame if
    /// it happens again.
    idle: bool,
}

impl Coordinate<'_> {
    /// Solves the problem on the working set until its gap is at most `tolerance`; whether
    /// anything moved.
    pub(super) fn descend_by_newton(&mut self, penalty: &Penalty, tolerance: f64) -> Result<bool> {
        let mut variables = self.working.columns().to_vec();
        let mut own = self.own_penalty(&variables, penalty);
        let mut moved = false;
        let mut last = Taken { gap: f64::INFINITY, invisible: false, fresh: false, idle: false };
        for _ in 0..MAX_STEPS {
            self.observer.check()?;
            if is_past(self.deadline) {
                break;
            }
            let mut pulls = self.working_pulls(&variables);
            let gap = self.working_gap(&variables, &own, &pulls);
            let slow = gap > 0.3 * last.gap;
            let swept = self.hessian.is_none() && last.fresh && self.working.is_dense();
            // A step that the curvature cannot be blamed for; far from the end the gap may rise.
            let idle = gap > 0.8 * last.gap
                && (swept
                    || last.fresh
                        && self
                            .hessian
                            .as_ref()
                            .is_some_and(|h| self.change_of(h).part <= 0.1 * STALE));
            self.precise |= idle && (last.idle || self.working.is_dense());
            // Steps too small to be seen in the objective are taken while the gap closes.
            let still = last.invisible && last.fresh && self.damping == 0.0;
            if gap <= tolerance || still && gap > 0.5 * last.gap {
                self.travel();
                let free = self.intercept_count();
                for (&v, &pull) in variables.iter().zip(&pulls[free..]) {
                    (self.gradient[v], self.seen_at[v]) = (pull, self.travelled);
                }
                break;
            }
            // Nearer the end steps are more exact, and the last one leaves almost nothing.
            self.inexact = INEXACT * (gap / (NEAR * self.null)).powi(2).clamp(1e-10, 1.0);
            let held = self.hessian.as_ref().and_then(|h| self.still_holds(h, &variables, slow));
            if self.leave_idle(&own, &mut pulls) {
                variables = self.working.columns().to_vec();
                own = self.own_penalty(&variables, penalty);
            }
            let (step, fresh) = self.step(&variables, &own, &pulls, held)?;
            let damping = self.damping;
            match self.search_along(&variables, &own, &pulls, &step, fresh) {
                Some(invisible) => {
                    // Where a new penalty begins all pulls exceed it alike: the gap is small, and
                    // says nothing of the first step.
                    if invisible && gap > FLAT * self.null && self.damps(&own) {
                        self.damping = 1.0;
                    }
                    let gap = if moved { gap } else { f64::INFINITY };
                    moved |= step.iter().any(|s| *s != 0.0);
                    last = Taken { gap, invisible, fresh, idle };
                }
                None if self.damping > damping => {}
                None if fresh && self.precise => break,
                None => (self.hessian, self.precise) = (None, self.precise || fresh),
            }
        }
        Ok(moved)
    }

    /// Takes coefficients that are zero, and that nothing pulls away from there, out of a working
    /// set where they are more than a few: their second derivatives would not be used. Whether it
    /// did; `pulls` lose theirs.
    fn leave_idle(&mut self, own: &Penalty, pulls: &mut Vec<f64>) -> bool {
        let variables = self.working.columns();
        if variables.len() <= FEW {
            return false;
        }
        let free = self.intercept_count();
        let busy = |k: usize| {
            self.beta[variables[k]] != 0.0 || own.pull(pulls[free + k]) >= IDLE * own.l1[free + k]
        };
        let kept: Vec<usize> = (0..variables.len()).filter(|&k| busy(k)).collect();
        if kept.len() as f64 > (1.0 - FEW_IDLE) * variables.len() as f64
            || self.may_sweep(variables)
        {
            return false;
        }
        let left = kept.iter().map(|&k| pulls[free + k]);
        *pulls = pulls[..free].iter().copied().chain(left).collect();
        let mut wanted = vec![false; self.beta.len()];
        kept.iter().for_each(|&k| wanted[variables[k]] = true);
        self.working.keep(self.design, |v| wanted[v]);
        self.factored = None;
        true
    }

    /// The step of the second-order model, and whether its curvature is that of the present point;
    /// `held` is the factor for that of an earlier one, if it will do.
    fn step(
        &mut self,
        variables: &[usize],
        own: &Penalty,
        pulls: &[f64],
        held: Option<f64>,
    ) -> Result<(Vec<f64>, bool)> {
        let kept = self.hessian.take();
        let kept = match (kept, held) {
            (Some(kept), Some(factor)) => {
                return Ok((self.newton_step(kept, factor, variables, own, pulls)?, false));
            }
            (kept, _) => kept,
        };
        // To the end of ridges get sweeps that may take as long as they need, or second derivatives
        // in double precision.
        let swept = !self.working.is_dense() && !has_l1(own);
        let budget = match self.newton_sweeps_worth(variables) {
            1.. if swept => MAX_SWEEPS,
            worth => worth,
        };
        if budget == 0 {
            self.spent = 0.0;
            self.precise |= swept;
            let hessian = self.new_hessian(kept);
            return Ok((self.newton_step(hessian, 1.0, variables, own, pulls)?, true));
        }
        self.hessian = kept;
        if let Some(x) = self.design.raw().as_sparse() {
            let (step, sweeps) = self.sparse_newton_step(x, variables, own, pulls, budget)?;
            // Sweeps that came to their end earn nothing for a later curvature.
            if sweeps >= budget {
                self.spent += sweeps as f64 * self.working.sparse_costs(self.eta.columns()).sweep;
            }
            return Ok((step, true));
        }
        let (free, columns) = (self.intercept_count(), self.squares.len());
        let outputs = (0..free).chain(variables.iter().map(|v| v / columns)).collect();
        let (rows, weights) = (self.design.rows(), self.design.weights());
        let (step, sweeps) = if self.pack_narrow() {
            let (narrow, outputs) = (self.working.narrow(), (outputs, free));
            let curved = NarrowWorking::curved(rows, narrow, pulls, outputs, &*self.likelihood);
            let from = (curved.start(), &curved.squares()[..]);
            self.step_by_columns(&curved, from, variables, own, pulls, budget)?
        } else {
            self.working.pack(self.design);
            let packed = self.working.packed();
            let curved = CurvedPacked::new(rows, packed, outputs, free, &*self.likelihood, weights);
            let from = (curved.residuals(&*self.likelihood), &curved.squares()[..]);
            self.step_by_columns(&curved, from, variables, own, pulls, budget)?
        };
        let visit = 0.4 + 0.6 * self.eta.columns() as f64;
        self.spent += visit * (sweeps * variables.len()) as f64;
        Ok((step, true))
    }

    pub(super) fn intercept_count(&self) -> usize {
        self.intercepts.as_ref().map_or(0, Vec::len)
    }

    fn new_hessian(&mut self, other: Option<Hessian>) -> Hessian {
        self.factored = None;
        let weights = self.design.weights();
        Hessian::new(other, &*self.likelihood, weights, self.intercept_count(), self.precise)
    }

    fn change_of(&self, hessian: &Hessian) -> Change {
        hessian.change(&*self.likelihood, self.design.weights())
    }

    /// What second derivatives made earlier are to be multiplied by, if they are still good for a
    /// step, given that for few columns, or where many are missing, new ones cost little more, and
    /// that they may be why steps are slow.
    fn still_holds(&self, hessian: &Hessian, variables: &[usize], slow: bool) -> Option<f64> {
        let Change { factor, part } = self.change_of(hessian);
        let missing = hessian.missing(variables) as f64 / variables.len() as f64;
        let stale = match variables.len() {
            ..=FEW => return None,
            ..=MANY if slow => return None,
            // What is missing may cost more than it brings: sweeps do without.
            _ if missing > 0.2 && !self.working.is_dense() && self.may_sweep(variables) => {
                return None;
            }
            _ if missing > 0.2 || slow => 0.1 * STALE,
            _ => STALE,
        };
        (part <= stale).then_some(factor)
    }

    /// No penalty on the intercepts, then that of the working coefficients.
    pub(super) fn own_penalty(&self, variables: &[usize], penalty: &Penalty) -> Penalty {
        let mut own = penalty.of(variables);
        let free = vec![0.0; self.intercept_count()];
        own.l1.splice(..0, free.iter().copied());
        own.l2.splice(..0, free);
        own
    }

    pub(super) fn weighted_residual(&self, output: usize) -> Vec<f64> {
        let residual = self.likelihood.residual().column(output);
        match self.design.weights() {
            Some(w) => residual.iter().zip(w).map(|(r, w)| r * w).collect(),
            None => residual.to_vec(),
        }
    }

    /// Pulls on the intercepts, then on the working coefficients.
    fn working_pulls(&self, variables: &[usize]) -> Vec<f64> {
        let (rows, columns) = (self.design.rows(), self.squares.len());
        let free = self.intercept_count();
        let mut pulls = vec![0.0; free + variables.len()];
        for output in 0..free {
            pulls[output] = self.weighted_residual(output).iter().sum();
        }
        if !self.precise
            && self.is_still()
            && variables.iter().all(|&v| self.seen_at[v] == self.travelled)
        {
            let known = pulls[free..].iter_mut().zip(variables);
            known.for_each(|(q, &v)| *q = self.gradient[v]);
            return pulls;
        }
        for output in 0..self.eta.columns() {
            let residual = self.weighted_residual(output);
            let own: Vec<usize> =
                (0..variables.len()).filter(|&k| variables[k] / columns == output).collect();
            let found = if self.working.is_packed() {
                let packed = |k: usize| &self.working.packed()[own[k] * rows..][..rows];
                products_of(own.len(), packed, &residual)
            } else {
                let chosen: Vec<usize> = own.iter().map(|&k| variables[k] % columns).collect();
                let residual = self.likelihood.residual().column(output);
                self.design.apply_transpose(&chosen, residual)
            };
            own.iter().zip(found).for_each(|(k, q)| pulls[free + k] = q);
        }
        pulls
    }

    pub(super) fn working_gap(&self, variables: &[usize], own: &Penalty, pulls: &[f64]) -> f64 {
        let free = self.intercept_count();
        if (free..own.l1.len()).all(|k| own.is_free(k)) {
            let each = variables.iter().zip(&pulls[free..]);
            let each = each.map(|(&v, &q)| (self.beta[v], q, self.square(v)));
            return gap_by_pulls(own, self.null, each);
        }
        let value = |(k, &v): (usize, &usize)| own.value(free + k, self.beta[v]);
        let value: f64 = variables.iter().enumerate().map(value).sum();
        let slack = |k: usize, pull: f64| self.free_slack(variables[k - free], pull);
        let likelihood = self.dual_of_likelihood();
        let pulls = pulls.iter().copied().enumerate().skip(free);
        let best = self.likelihood.best_kappa();
        let dual = best_dual_point(pulls, own, &slack, &likelihood, best);
        self.likelihood.value() + value - dual.value
    }

    /// Intercepts, then working coefficients.
    fn working_values(&self, variables: &[usize]) -> Vec<f64> {
        let intercepts = self.intercepts.iter().flatten().copied();
        intercepts.chain(variables.iter().map(|&v| self.beta[v])).collect()
    }

    /// The minimum of the second-order model with a multiple of these second derivatives.
    fn newton_step(
        &mut self,
        mut hessian: Hessian,
        factor: f64,
        variables: &[usize],
        own: &Penalty,
        pulls: &[f64],
    ) -> Result<Vec<f64>> {
        let sparse = self.design.raw().as_sparse();
        let narrow = sparse.is_none() && self.pack_narrow();
        if sparse.is_none() && !narrow {
            self.working.pack(self.design);
        }
        let values = match sparse {
            Some(x) => Values::Sparse(x, self.design),
            None if narrow => Values::Narrow(self.working.narrow()),
            None => Values::Packed(self.working.packed()),
        };
        let (rows, columns) = (self.design.rows(), self.squares.len());
        let gram = hessian.of(&Working { rows, columns, variables, values }, self.observer)?;
        let start = self.working_values(variables);
        let mut pulls = pulls.to_vec();
        if sparse.is_some() {
            self.uncentre(variables, &mut pulls);
        }
        let own = &self.damped(own, variables, &start, &mut pulls);
        // A factor of a matrix with squares on its diagonal serves again if these stay.
        let near = (factor - 1.0).abs() <= STALE && own.l2.iter().any(|l2| *l2 > 0.0);
        let factor = if near { 1.0 } else { factor };
        // All else divided by the factor has the same minimum.
        let mut own = own.divided(factor);
        let (mut beta, mut q) =
            (start.clone(), pulls.iter().map(|q| q / factor).collect::<Vec<f64>>());
        if self.likelihood.is_symmetric() {
            for k in 0..gram.order() {
                let part = match own.l2[k] {
                    _ if self.precise => HOLD_PRECISE,
                    0.0 => HOLD,
                    _ => HOLD_RIDGE,
                };
                let price = part * gram.diagonal(k);
                own.l2[k] += price;
                q[k] += price * start[k];
            }
        }
        let own = &own;
        let squares: Vec<f64> = (0..gram.order()).map(|k| gram.diagonal(k)).collect();
        // What second derivatives cost is to be made the most of.
        let exact = if variables.len() > MANY { EXACT } else { 1.0 };
        let enough = exact * self.inexact * left_to_gain(own, &squares, &beta, &q);
        let enough = enough.max(rounding_of_gains(own, &squares, &beta, &q));
        let deadline = self.deadline;
        let done = |beta: &[f64], q: &[f64]| {
            is_past(deadline) || left_to_gain(own, &squares, beta, q) <= enough
        };
        let mut quadratic = Quadratic::new(gram, own, self.observer);
        quadratic.factored = self.factored.take();
        quadratic.negligible = 0.1 * enough / start.len() as f64;
        quadratic.solve(&mut beta, &mut q, &done)?;
        self.factored = quadratic.factored;
        self.hessian = Some(hessian);
        let mut step: Vec<f64> = beta.iter().zip(&start).map(|(b, s)| b - s).collect();
        if sparse.is_some() {
            self.centre(variables, &mut step);
        }
        Ok(step)
    }

    /// Whether steps that fail are damped.
    fn damps(&self, own: &Penalty) -> bool {
        !self.working.is_dense() && has_l1(own)
    }

    /// The penalty with that of going away from `start`, a part of the largest curvature there can
    /// be, and pulls to match: where probabilities are near 0 or 1 the likelihood is flat, and its
    /// second-order model has its minimum where nothing is known of it.
    fn damped(
        &self,
        own: &Penalty,
        variables: &[usize],
        start: &[f64],
        pulls: &mut [f64],
    ) -> Penalty {
        let mut own = own.clone();
        if self.damping == 0.0 {
            return own;
        }
        let rows = self.design.rows() as f64;
        let total = self.design.weights().map_or(rows, |w| w.iter().sum());
        let squares = variables.iter().map(|&v| self.square(v));
        let squares = std::iter::repeat_n(total, self.intercept_count()).chain(squares);
        // Böhning 1992: ½ bounds the curvature of each row.
        for (k, square) in squares.enumerate() {
            let price = 0.5 * self.damping * square;
            own.l2[k] += price;
            pulls[k] += price * start[k];
        }
        own
    }

    /// The minimum of the second-order model, found by descent over the rows from these pulls in
    /// so many sweeps at most; how many there were.
    fn step_by_columns(
        &self,
        curved: &dyn WorkingColumns,
        (mut residuals, squares): (Residuals, &[f64]),
        variables: &[usize],
        own: &Penalty,
        pulls: &[f64],
        budget: usize,
    ) -> Result<(Vec<f64>, usize)> {
        let start = self.working_values(variables);
        let mut beta = start.clone();
        let rough = !self.working.is_dense();
        let part = if rough { SWEPT * self.inexact } else { self.inexact };
        let enough = part * left_to_gain(own, squares, &beta, pulls);
        let done = |beta: &[f64], q: &[f64]| {
            is_past(self.deadline) || left_to_gain(own, squares, beta, q) <= enough
        };
        let descent = ColumnDescent {
            columns: curved,
            squares,
            penalty: own,
            small: 0,
            rounding: 0.0,
            rough,
            deadline: self.deadline,
            observer: self.observer,
        };
        let (sweeps, _) = descent.solve(&mut beta, &mut residuals, enough, budget, &done)?;
        Ok((beta.iter().zip(&start).map(|(b, s)| b - s).collect(), sweeps))
    }

    /// The same for sparse columns.
    fn sparse_newton_step(
        &self,
        x: SparseView<'_>,
        variables: &[usize],
        own: &Penalty,
        pulls: &[f64],
        budget: usize,
    ) -> Result<(Vec<f64>, usize)> {
        let members = sparse_members(self.design, self.intercept_count(), variables);
        let curved = CurvedSparse::at(x, members, &*self.likelihood, self.design.weights());
        let from = (curved.residuals(&*self.likelihood), &curved.squares()[..]);
        let start = self.working_values(variables);
        let mut damping = vec![0.0; start.len()];
        let own = &self.damped(own, variables, &start, &mut damping);
        let mut pulls = pulls.to_vec();
        self.uncentre(variables, &mut pulls);
        axpy(1.0, &damping, &mut pulls);
        let damped = Damped { columns: &curved, pulls: damping };
        let columns: &dyn WorkingColumns = if self.damping > 0.0 { &damped } else { &curved };
        let (mut step, sweeps) =
            self.step_by_columns(columns, from, variables, own, &pulls, budget)?;
        self.centre(variables, &mut step);
        Ok((step, sweeps))
    }

    /// Turns pulls on coefficients of centred columns into those of sparse ones, not centred.
    fn uncentre(&self, variables: &[usize], pulls: &mut [f64]) {
        let (free, pulls) = pulls.split_at_mut(self.intercept_count());
        if free.is_empty() {
            return;
        }
        for (pull, v) in pulls.iter_mut().zip(variables) {
            let (centre, scale) = self.design.units(v % self.squares.len());
            *pull += free[v / self.squares.len()] * centre / scale;
        }
    }

    /// The design's columns are centred: what that takes away the intercepts give back.
    fn centre(&self, variables: &[usize], step: &mut [f64]) {
        let (free, step) = step.split_at_mut(self.intercept_count());
        if free.is_empty() {
            return;
        }
        for (step, v) in step.iter().zip(variables) {
            let (centre, scale) = self.design.units(v % self.squares.len());
            free[v / self.squares.len()] += step * centre / scale;
        }
    }

    /// Whether sweeps are tried before second derivatives are made.
    fn may_sweep(&self, variables: &[usize]) -> bool {
        self.newton_sweeps_worth(variables) > 0
    }

    /// How many sweeps over the rows cost as much as the second derivatives that are missing.
    fn newton_sweeps_worth(&self, variables: &[usize]) -> usize {
        let (cost, sweep) = match self.design.raw().as_sparse() {
            Some(_) => {
                if 8 * variables.len().pow(2) > self.memory_limit / NARROW_PART {
                    return MAX_SWEEPS;
                }
                let costs = self.working.sparse_costs(self.eta.columns());
                let kept = variables.iter().filter(|&&v| self.beta[v] != 0.0).count() as f64;
                // Where a sweep over the products takes longer than one over the rows, they serve
                // to solve for the support alone, once it has settled.
                let own_sweep = kept * variables.len() as f64;
                let settling = SETTLING * (own_sweep - costs.sweep).max(0.0);
                (costs.products() + kept.powi(3) / FACTOR_SPEED + settling, costs.sweep)
            }
            None => {
                let all = variables.len() as f64;
                let visit = 0.4 + 0.6 * self.eta.columns() as f64;
                (all * all / self.products_per_sweep(), visit * all)
            }
        };
        // Sweeps that follow several outputs get on slowly.
        let sparse = self.design.raw().as_sparse().is_some();
        let few = if sparse && self.eta.columns() > 1 { 50 } else { 5 };
        let worth = ((cost - self.spent) / sweep) as usize;
        if worth < few { 0 } else { worth }
    }

    /// Goes along a step as far as the objective falls; nothing if it does not soon, else whether
    /// the fall is lost in rounding. A step with fresh second derivatives that fails is damped next
    /// time.
    fn search_along(
        &mut self,
        variables: &[usize],
        own: &Penalty,
        pulls: &[f64],
        step: &[f64],
        fresh: bool,
    ) -> Option<bool> {
        let (rows, columns) = (self.design.rows(), self.squares.len());
        let mut direction = Matrix::zeros(rows, self.eta.columns());
        let (free_step, step) = step.split_at(self.intercept_count());
        let (free_pulls, pulls) = pulls.split_at(free_step.len());
        for output in 0..self.eta.columns() {
            let own = (0..variables.len())
                .filter(|&k| variables[k] / columns == output && step[k] != 0.0);
            let direction = direction.column_mut(output);
            if self.working.is_packed() {
                let own = own.map(|k| (step[k], &self.working.packed()[k * rows..][..rows]));
                add_combination(&own.collect::<Vec<_>>(), direction);
            } else {
                let own = own.map(|k| (variables[k] % columns, step[k]));
                let (chosen, steps): (Vec<usize>, Vec<f64>) = own.unzip();
                direction.copy_from_slice(&self.design.apply(&chosen, &steps));
            }
            if let Some(step) = free_step.get(output) {
                direction.iter_mut().for_each(|d| *d += step);
            }
        }
        let own_value = |k: usize, beta: f64| own.value(free_step.len() + k, beta);
        let penalty_at = |t: f64| {
            let of = |(k, &v): (usize, &usize)| own_value(k, self.beta[v] + t * step[k]);
            variables.iter().enumerate().map(of).sum::<f64>()
        };
        let (value, penalty) = (self.likelihood.value(), penalty_at(0.0));
        let linear = dot(pulls, step) + dot(free_pulls, free_step);
        let predicted = penalty_at(1.0) - penalty - linear;
        let noise = 1e-15 * (value.abs() + penalty);
        let from = self.eta.clone();
        let mut t = 1.0;
        // A shorter way in the same direction is worse than one that the flat parts do not lead.
        let damps = self.damps(own) && !(fresh && self.damping == 1.0);
        let halvings = if damps { FEW_HALVINGS } else { MAX_HALVINGS };
        for _ in 0..halvings {
            let moved = from.as_slice().iter().zip(direction.as_slice());
            self.eta.as_mut_slice().iter_mut().zip(moved).for_each(|(e, (f, d))| *e = f + t * d);
            self.likelihood.update(&self.eta);
            let change = self.likelihood.value() - value + penalty_at(t) - penalty;
            if change <= ARMIJO * t * predicted.min(0.0) + noise {
                // The first step after one that failed would fail again with less.
                if t == 1.0 && self.took_whole_step {
                    self.damping *= LESS_DAMPING;
                }
                self.took_whole_step = t == 1.0;
                if self.damping < LEAST_DAMPING {
                    (self.damping, self.took_whole_step) = (0.0, true);
                }
                for (k, &v) in variables.iter().enumerate() {
                    let gone = t == 1.0 && self.beta[v] == -step[k];
                    self.beta[v] = if gone { 0.0 } else { self.beta[v] + t * step[k] };
                }
                for (b, s) in self.intercepts.iter_mut().flatten().zip(free_step) {
                    *b += t * s;
                }
                return Some(predicted > -noise);
            }
            t *= 0.5;
        }
        self.took_whole_step = false;
        if fresh && damps {
            self.damping = (self.damping / LESS_DAMPING).clamp(LEAST_DAMPING, 1.0);
        }
        self.eta = from;
        self.likelihood.update(&self.eta);
        None
    }
}
