//! Coordinate descent for L1- and L2-penalised likelihoods: working sets, safe screening,
//! warm starts, a duality gap.
//!
//! Each round takes one pass over all columns, which gives their pulls, the gap, the columns that
//! can be left out for good (Ndiaye et al. 2017) and those that should come into the working set.
//! On the working set the problem is small, and solved to the end.

mod columns;
mod componentwise;
mod curved;
mod gram;
mod hessian;
mod intercepts;
mod narrow;
mod newton;
mod orthants;
mod penalty;
mod quadratic;
mod row_space;
mod smooth;
mod working_set;

pub use componentwise::Schedule;
pub(crate) use hessian::{Hessian, Values, Working};
pub(crate) use penalty::Penalty;
pub(crate) use row_space::RowSpace;

use super::{Observer, Outcome, Progress, Step, Termination, check_memory};
use crate::design::{Design, NarrowColumns, NarrowRows};
use crate::error::Result;
use crate::likelihood::Smooth;
use crate::linalg::{Matrix, add_combination, axpy, dot};
use columns::{ColumnDescent, Gathered, MAX_SWEEPS, PackedWorking, Residuals, SparseWorking};
use componentwise::Components;
use gram::Gram;
use narrow::NarrowWorking;
use penalty::{DualPoint, best_dual_point};
use quadratic::{Factored, Quadratic};
use smooth::NARROW_PART;
use std::time::Instant;
use working_set::WorkingSet;

/// No gap is asked to be smaller than this part of the empty model's objective: rounding.
const SMALLEST_GAP: f64 = 1e-14;
/// Where nothing moves any more, a gap of this part of it is rounding.
const ROUNDING: f64 = 1e-11;
/// Products of columns cost this much less than reading the columns from memory.
const PRODUCT_SPEED: f64 = 14.0;

/// With so many rows, products cost as much as all else that is done with them.
const FEW_ROWS: f64 = 500.0;

/// A sweep over a column, by its rows, costs as much as this many products with other columns.
const PRODUCTS_PER_SWEEP: f64 = 50.0;

/// All columns in single precision pay once so many passes over them were made.
const PASSES: usize = 4;

/// Part of the gap of all columns to which Newton's steps close that of the working set, which
/// is not the last one yet; the larger one for large working sets.
const ENOUGH: (f64, f64) = (0.1, 0.3);

/// Pulls on coefficients without a penalty allow a dual point below this part of the largest
/// there could be; what they could still gain is added to the gap.
const FREE_PULL: f64 = 1e-9;
/// Coefficients without a penalty are taken to end within twice what they are, and so many times
/// what would explain the target alone. Directions in which they go further are so flat that
/// less is to be gained there.
const FREE_REACH: f64 = 10.0;

/// When to stop.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Largest duality gap, relative to the objective of the empty model.
    pub tol: f64,
    pub max_iter: usize,
    pub deadline: Option<Instant>,
}

/// A problem with its present state, from which the next one, of another penalty, starts.
pub(crate) struct Coordinate<'a> {
    design: &'a Design<'a>,
    likelihood: Box<dyn Smooth + 'a>,
    /// (p,) Σ w x².
    squares: &'a [f64],
    /// Coefficients that take part, rising: that of column j in output c is c·p + j.
    usable: Vec<usize>,
    memory_limit: usize,
    observer: &'a dyn Observer,
    beta: Vec<f64>,
    /// The intercept of each output, where they are not dealt with by centring.
    intercepts: Option<Vec<f64>>,
    eta: Matrix,
    /// (n, outputs) What is added to η beside the columns.
    offset: Option<Matrix>,
    /// Σ w x·residual for each coefficient, at the residual where it was last looked at.
    gradient: Vec<f64>,
    /// How far the residual has gone, and how far it had when a pull was last looked at: a pull
    /// changes by at most the column's norm times the difference.
    travelled: f64,
    seen_at: Vec<f64>,
    /// The residual up to which its way was measured.
    residual: Matrix,
    working: WorkingSet,
    /// Second derivatives made earlier, for likelihoods that are not quadratic, and a factor.
    hessian: Option<Hessian>,
    factored: Option<Factored>,
    /// Whether single precision did not do, for second derivatives or for sweeps.
    precise: bool,
    /// Part of what single coefficients could gain that the next step may leave.
    inexact: f64,
    /// Part of the largest curvature there can be that is added in Newton's steps.
    damping: f64,
    /// Whether the last step went all the way.
    took_whole_step: bool,
    /// The rows in single precision, for penalties that are all L2.
    narrow_rows: Option<NarrowRows>,
    /// All columns in single precision, and how many were looked at so far.
    narrow_columns: Option<NarrowColumns>,
    looked: usize,
    /// Whether L-BFGS has not got there with this penalty.
    strayed: bool,
    /// Where single coefficients are visited instead of working sets solved.
    components: Option<Components>,
    /// The objective of the empty model.
    null: f64,
    /// Columns swept over without their products, since these were last made.
    spent: f64,
    /// The L1 penalties of the problem solved last: what the strong rule looks at.
    solved: Option<Vec<f64>>,
    /// Whether the present problem follows another.
    on_path: bool,
    /// When the present problem is to be left.
    deadline: Option<Instant>,
}

impl<'a> Coordinate<'a> {
    /// Begins at zero; `cross` are Σ w x·residual there, where they are known.
    pub fn new(
        design: &'a Design<'a>,
        likelihood: Box<dyn Smooth + 'a>,
        squares: &'a [f64],
        cross: Option<&[f64]>,
        usable: &[usize],
        memory_limit: usize,
        observer: &'a dyn Observer,
    ) -> Self {
        let null = likelihood.value();
        let (columns, outputs) = (squares.len(), likelihood.outputs());
        let mut all = Vec::with_capacity(outputs * usable.len());
        (0..outputs).for_each(|c| all.extend(usable.iter().map(|j| c * columns + j)));
        Self {
            eta: Matrix::zeros(design.rows(), outputs),
            residual: likelihood.residual().clone(),
            likelihood,
            squares,
            usable: all,
            memory_limit,
            observer,
            beta: vec![0.0; outputs * columns],
            intercepts: None,
            offset: None,
            gradient: cross.map_or(vec![0.0; outputs * columns], <[f64]>::to_vec),
            travelled: 0.0,
            seen_at: vec![if cross.is_some() { 0.0 } else { f64::NEG_INFINITY }; outputs * columns],
            working: WorkingSet::new(outputs * columns, design),
            hessian: None,
            factored: None,
            precise: false,
            inexact: 0.0,
            damping: 0.0,
            took_whole_step: true,
            narrow_rows: None,
            narrow_columns: None,
            looked: 0,
            strayed: false,
            components: None,
            null,
            spent: 0.0,
            solved: None,
            on_path: false,
            deadline: None,
            design,
        }
    }

    /// Begins with something added to η.
    pub fn with_offset(mut self, offset: Matrix) -> Self {
        self.eta.clone_from(&offset);
        self.likelihood.update(&self.eta);
        self.residual.clone_from(self.likelihood.residual());
        self.null = self.likelihood.value();
        self.offset = Some(offset);
        self
    }

    /// Begins with a free intercept for each output, the best for the empty model.
    pub fn with_intercepts(mut self) -> Result<Self> {
        let weights = self.design.weights();
        let rows = self.design.rows();
        let total: f64 = weights.map_or(rows as f64, |w| w.iter().sum());
        // They make up for what the rows are offset by on the whole.
        let start = |c: usize| {
            let Some(offset) = &self.offset else { return 0.0 };
            let weighted = |(i, o): (usize, &f64)| weights.map_or(1.0, |w| w[i]) * o;
            -offset.column(c).iter().enumerate().map(weighted).sum::<f64>() / total
        };
        self.intercepts = Some((0..self.likelihood.outputs()).map(start).collect());
        // What is the same for all rows does not pull at columns that are centred.
        let known = self.offset.is_none() && self.seen_at.iter().all(|at| *at == self.travelled);
        self.move_to_beta()?;
        if known {
            self.seen_at.fill(self.travelled);
        }
        self.null = self.likelihood.value();
        self.pulls()?;
        Ok(self)
    }

    pub fn design(&self) -> &'a Design<'a> {
        self.design
    }

    pub fn observer(&self) -> &'a dyn Observer {
        self.observer
    }

    pub fn outputs(&self) -> usize {
        self.likelihood.outputs()
    }

    pub fn is_symmetric(&self) -> bool {
        self.likelihood.is_symmetric()
    }

    /// Coefficients that take part, rising.
    pub fn usable(&self) -> &[usize] {
        &self.usable
    }

    /// Coefficients that are not zero, rising, and their values.
    pub fn weights(&self) -> (Vec<usize>, Vec<f64>) {
        let nonzero: Vec<usize> = self.nonzero().collect();
        let values = self.values(&nonzero);
        (nonzero, values)
    }

    /// The values of coefficients.
    pub fn values(&self, of: &[usize]) -> Vec<f64> {
        of.iter().map(|&v| self.beta[v]).collect()
    }

    /// Goes to other coefficients, which rise, and to the best intercepts there.
    pub fn move_to(&mut self, active: &[usize], beta: &[f64]) -> Result<()> {
        self.beta.fill(0.0);
        active.iter().zip(beta).for_each(|(&v, b)| self.beta[v] = *b);
        if self.components.is_none() {
            let missing: Vec<usize> =
                active.iter().copied().filter(|&v| !self.working.contains(v)).collect();
            self.add_to_working(&missing)?;
        }
        self.move_to_beta()
    }

    /// Goes to other coefficients, which rise, unless the objective is higher there: from far out,
    /// where likelihoods are flat, there may be no way back.
    pub fn move_if_better(
        &mut self,
        active: &[usize],
        beta: &[f64],
        penalty: &Penalty,
    ) -> Result<()> {
        let before = self.objective(penalty);
        let (old, weights) = self.weights();
        let (intercepts, travelled) = (self.intercepts.clone(), self.travelled);
        let residual = self.residual.clone();
        self.move_to(active, beta)?;
        if self.objective(penalty) <= before {
            return Ok(());
        }
        (self.intercepts, self.travelled, self.residual) = (intercepts, travelled, residual);
        self.move_to(&old, &weights)
    }

    /// Ends at coefficients, which rise, that another way has found.
    pub fn end_at(
        &mut self,
        active: &[usize],
        beta: &[f64],
        penalty: &Penalty,
        options: &Options,
        found: Outcome,
    ) -> Result<Outcome> {
        self.beta.fill(0.0);
        active.iter().zip(beta).for_each(|(&v, b)| self.beta[v] = *b);
        self.move_to_beta()?;
        self.look_at_all()?;
        let gap = self.gap(penalty, self.dual_point(penalty, &self.usable).value);
        let termination = match found.termination {
            Termination::Converged | Termination::Stalled => {
                self.end_of(gap, options.tol.max(SMALLEST_GAP) * self.null)
            }
            limit => limit,
        };
        // All columns come in at once.
        let terms =
            |step: Step| Step { terms: if step.terms > 0 { self.terms() } else { 0 }, ..step };
        let trace = found.trace.into_iter().map(terms).collect();
        Ok(self.outcome(penalty, gap, found.iterations, termination, trace))
    }

    /// Ends where the engine is, with this gap relative to the objective of the empty model.
    pub fn stay(&self, penalty: &Penalty, gap: f64) -> Outcome {
        let trace = vec![Step { objective: self.objective(penalty), terms: self.terms() }];
        self.outcome(penalty, gap * self.null, 0, Termination::Converged, trace)
    }

    /// (n, outputs) The part of η that the columns make.
    pub fn fitted(&self) -> Matrix {
        let mut fitted = self.eta.clone();
        if let Some(offset) = &self.offset {
            axpy(-1.0, offset.as_slice(), fitted.as_mut_slice());
        }
        for (c, b) in self.intercepts.iter().flatten().enumerate() {
            fitted.column_mut(c).iter_mut().for_each(|f| *f -= b);
        }
        fitted
    }

    /// (n, outputs) What the model leaves unexplained.
    pub fn residual(&self) -> &Matrix {
        self.likelihood.residual()
    }

    /// Σ w x·values for coefficients, which rise, `values` having a column for each output.
    pub fn products(&self, wanted: &[usize], values: &Matrix) -> Vec<f64> {
        let columns = self.squares.len();
        if wanted.last().is_none_or(|&last| last < columns) {
            return self.design.apply_transpose(wanted, values.column(0));
        }
        if self.design.reads_in_place() {
            // Most columns are wanted in most outputs, or in none.
            let mut place = vec![usize::MAX; columns];
            wanted.iter().for_each(|v| place[v % columns] = 0);
            let chosen: Vec<usize> = (0..columns).filter(|&j| place[j] == 0).collect();
            if 2 * wanted.len() > chosen.len() * values.columns() {
                chosen.iter().enumerate().for_each(|(k, &j)| place[j] = k);
                let all = self.design.apply_transpose_each(&chosen, values);
                return wanted.iter().map(|v| all[(place[v % columns], v / columns)]).collect();
            }
        }
        let of_output = |of_output: &[usize]| {
            let chosen: Vec<usize> = of_output.iter().map(|v| v % columns).collect();
            self.design.apply_transpose(&chosen, values.column(of_output[0] / columns))
        };
        wanted.chunk_by(|a, b| a / columns == b / columns).flat_map(of_output).collect()
    }

    /// The duality gap relative to the objective of the empty model; none without a penalty.
    pub fn relative_gap(&mut self, penalty: &Penalty) -> Result<Option<f64>> {
        if penalty.is_none(&self.usable) {
            return Ok(None);
        }
        self.look_at_all()?;
        let dual = self.dual_point(penalty, &self.usable).value;
        Ok(Some(relative(self.gap(penalty, dual), self.null)))
    }

    /// Forgets the problem solved last, whose penalties are no guide to the next one's.
    pub fn forget_penalty(&mut self) {
        self.solved = None;
    }

    pub fn intercepts(&self) -> Option<&[f64]> {
        self.intercepts.as_deref()
    }

    /// Σ w x² of the column of a coefficient.
    pub fn square(&self, v: usize) -> f64 {
        // Divisions cost more than the rest.
        self.squares[if v < self.squares.len() { v } else { v % self.squares.len() }]
    }

    /// The pulls on all usable columns, in the order of all columns.
    pub fn pulls(&mut self) -> Result<&[f64]> {
        self.look_at_all()?;
        Ok(&self.gradient)
    }

    /// −log p at the present coefficients.
    pub fn value(&self) -> f64 {
        self.likelihood.value()
    }

    /// Σ w (y − η)², for a quadratic likelihood.
    pub fn residual_square(&self) -> f64 {
        2.0 * self.likelihood.value()
    }

    /// Solves the problem with a penalty.
    pub fn run(&mut self, penalty: &Penalty, options: &Options) -> Result<Outcome> {
        self.deadline = options.deadline;
        let Some(components) = self.components.take() else {
            return match self.is_smooth(penalty) {
                true => self.run_by_gradients(penalty, options),
                false => self.run_on_working_sets(penalty, options),
            };
        };
        let outcome = self.run_by_components(&components, penalty, options);
        self.components = Some(components);
        outcome
    }

    fn run_on_working_sets(&mut self, penalty: &Penalty, options: &Options) -> Result<Outcome> {
        let target = options.tol.max(SMALLEST_GAP) * self.null;
        let mut alive: Vec<usize> = self.usable.clone();
        self.strayed = false;
        let strong = self.solved.take();
        self.on_path = strong.is_some();
        let reach = self.reach(penalty)?;
        // Tibshirani et al. 2012: pulls change no faster than λ does, mostly.
        let bar = |j: usize| match &strong {
            Some(previous) => (2.0 * penalty.l1[j] - previous[j]).min(penalty.l1[j]),
            None => penalty.l1[j],
        };
        self.look_around(&alive, |j| bar(j).min(reach * penalty.l1[j]))?;
        let mut trace = Vec::new();
        let mut best_dual = f64::NEG_INFINITY;
        let mut tightness = 0.1;
        let mut last_gap = f64::INFINITY;
        let mut iterations = 0;
        let (termination, gap) = loop {
            self.observer.check()?;
            let dual = self.dual_point(penalty, &alive);
            best_dual = best_dual.max(dual.value);
            let gap = self.gap(penalty, best_dual);
            self.report(penalty, iterations, gap, &mut trace);
            if gap <= target {
                break (Termination::Converged, gap);
            }
            if iterations >= options.max_iter {
                break (Termination::IterationLimit, gap);
            }
            if is_past(self.deadline) {
                break (Termination::TimeLimit, gap);
            }
            iterations += 1;
            if strong.is_none() {
                self.screen(penalty, dual, self.gap(penalty, dual.value), &mut alive);
            }
            let before = self.working.len();
            let strong_rule = strong.is_some() && iterations == 1;
            let threshold = |j: usize| if strong_rule { bar(j) } else { penalty.l1[j] };
            self.grow(penalty, &alive, &threshold)?;
            let grown = self.working.len() > before;
            // Without a dual point the gap does not tell how near the end is.
            let known = if dual.kappa > 0.0 { gap } else { 0.0 };
            let quadratic = self.likelihood.is_quadratic();
            let from = quadratic.then(|| (self.weights(), self.objective(penalty)));
            let mut moved = self.descend(penalty, tightness * target, known)?;
            match &from {
                Some(((active, weights), before)) => {
                    self.move_to_beta()?;
                    if self.objective(penalty) > before + ROUNDING * self.null {
                        // Coefficients of columns that say the same have run away.
                        self.move_to(active, weights)?;
                        moved = false;
                    }
                }
                // Newton's steps bring η along.
                None => self.arrive()?,
            }
            let reach = self.reach(penalty)?;
            self.look_around(&alive, |j| reach * penalty.l1[j])?;
            let ends = (!moved && !grown || tightness < 1e-4) && !is_past(self.deadline);
            if self.may_be_more_precise() && (ends || !grown && gap > 0.5 * last_gap) {
                // What single precision has no digits for.
                (self.precise, last_gap) = (true, gap);
                continue;
            }
            if ends {
                let dual = self.dual_point(penalty, &alive);
                let gap = self.gap(penalty, best_dual.max(dual.value));
                break (self.end_of(gap, target), gap);
            }
            if !grown && gap > 0.5 * last_gap {
                tightness *= 0.1;
            }
            last_gap = gap;
        };
        self.solved = Some(penalty.l1.clone());
        Ok(self.outcome(penalty, gap, iterations, termination, trace))
    }

    fn outcome(
        &self,
        penalty: &Penalty,
        gap: f64,
        iterations: usize,
        termination: Termination,
        trace: Vec<Step>,
    ) -> Outcome {
        let (active, beta) = self.weights();
        Outcome {
            active,
            beta,
            objective: self.objective(penalty),
            residual: relative(gap, self.null),
            gap: (!penalty.is_none(&self.usable)).then_some(relative(gap, self.null)),
            iterations,
            termination,
            trace,
        }
    }

    /// Says how far the fit is.
    fn report(&self, penalty: &Penalty, iteration: usize, gap: f64, trace: &mut Vec<Step>) {
        let (objective, terms) = (self.objective(penalty), self.terms());
        trace.push(Step { objective, terms });
        let residual = relative(gap, self.null);
        self.observer.progress(Progress { iteration, terms, objective, residual });
    }

    /// How a fit ends in which nothing moves any more: rounding may keep the gap open.
    fn end_of(&self, gap: f64, target: f64) -> Termination {
        if gap <= target.max(ROUNDING * self.null) {
            Termination::Converged
        } else {
            Termination::Stalled
        }
    }

    /// Coefficients that are not zero, rising.
    fn nonzero(&self) -> impl Iterator<Item = usize> {
        // Most are zero: some are looked at together.
        const BLOCK: usize = 16;
        let blocks = self.beta.chunks(BLOCK).enumerate();
        let some = blocks.filter(|(_, b)| b.iter().fold(false, |any, b| any | (*b != 0.0)));
        some.flat_map(|(k, block)| {
            let places = (k * BLOCK..).zip(block);
            places.filter(|(_, b)| **b != 0.0).map(|(v, _)| v)
        })
    }

    fn terms(&self) -> usize {
        self.nonzero().count()
    }

    fn objective(&self, penalty: &Penalty) -> f64 {
        self.likelihood.value()
            + self.nonzero().map(|j| penalty.value(j, self.beta[j])).sum::<f64>()
    }

    /// The duality gap; without any penalty the pulls, which are all that is known.
    fn gap(&self, penalty: &Penalty, dual: f64) -> f64 {
        if penalty.is_none(&self.usable) {
            let each =
                self.usable.iter().map(|&j| (self.beta[j], self.gradient[j], self.square(j)));
            return gap_by_pulls(penalty, self.null, each);
        }
        // Below zero is as wrong as above it.
        at_least_zero((self.objective(penalty) - dual).abs())
    }

    fn dual_point(&self, penalty: &Penalty, alive: &[usize]) -> DualPoint {
        let pulls = alive.iter().map(|&j| (j, self.gradient[j]));
        let likelihood = self.dual_of_likelihood();
        let Some(left) = self.intercept_slack() else {
            // Only zero is for certain without a pull on them.
            return DualPoint { kappa: 0.0, value: likelihood(0.0) };
        };
        let slack = |j: usize, pull: f64| self.free_slack(j, pull);
        let likelihood = |kappa: f64| likelihood(kappa) - kappa * left;
        best_dual_point(pulls, penalty, &slack, &likelihood, self.likelihood.best_kappa())
    }

    /// The likelihood's part of the dual objective at κ times the residual; an offset, being no
    /// column, adds its product with the residual.
    fn dual_of_likelihood(&self) -> impl Fn(f64) -> f64 {
        let rows = self.design.rows();
        let weight = |i: usize| self.design.weights().map_or(1.0, |w| w[i % rows]);
        let residual = self.likelihood.residual().as_slice().iter();
        let offset = self.offset.iter().flat_map(Matrix::as_slice);
        let product: f64 =
            residual.zip(offset).enumerate().map(|(i, (r, o))| weight(i) * r * o).sum();
        move |kappa| self.likelihood.dual(kappa) - kappa * product
    }

    fn free_slack(&self, j: usize, pull: f64) -> Option<f64> {
        free_slack(pull, self.beta[j], self.square(j), 2.0 * self.null)
    }

    /// Leaves out the columns that are zero at the optimum for certain: the best dual point is
    /// within √(2·gap/concavity) of this one.
    fn screen(&self, penalty: &Penalty, dual: DualPoint, gap: f64, alive: &mut Vec<usize>) {
        let radius = (2.0 * gap / self.likelihood.concavity()).sqrt();
        let safety = 1.0 - 1e-10;
        alive.retain(|&j| {
            let pull = penalty.pull(dual.kappa * self.gradient[j]);
            let distance = radius + dual.kappa * (self.travelled - self.seen_at[j]);
            self.beta[j] != 0.0
                || self.working.contains(j)
                || pull + self.square(j).sqrt() * distance >= safety * penalty.l1[j]
        });
    }

    /// Brings the columns with the strongest pulls into the working set.
    fn grow(
        &mut self,
        penalty: &Penalty,
        alive: &[usize],
        threshold: &dyn Fn(usize) -> f64,
    ) -> Result<()> {
        let mut wanted: Vec<(f64, usize)> = alive
            .iter()
            .filter(|&&j| !self.working.contains(j))
            .map(|&j| (penalty.pull(self.gradient[j]), j))
            .filter(|&(pull, j)| pull >= threshold(j))
            .map(|(pull, j)| {
                (if penalty.l1[j] > 0.0 { pull / penalty.l1[j] } else { f64::INFINITY }, j)
            })
            .collect();
        let forced = wanted.iter().filter(|w| w.0.is_infinite()).count();
        // About as much work as reading all columns once more, or as many as there are terms; with
        // few rows, products cost less than what is done with them.
        let rows = self.design.rows() as f64;
        let speed = PRODUCT_SPEED * rows / (rows + FEW_ROWS);
        let cheap = (speed * self.squares.len() as f64).sqrt() as usize;
        // Sweeps do not mind a few too many.
        let swept = !self.working.is_dense() || self.likelihood.is_quadratic();
        let often = if swept { 4 } else { 2 };
        let terms = self.terms();
        let most = forced.max(cheap.max(often * terms).max(64));
        if most < wanted.len() {
            wanted.select_nth_unstable_by(most, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            wanted.truncate(most);
        }
        let mut chosen: Vec<usize> = wanted.into_iter().map(|w| w.1).collect();
        chosen.sort_unstable();
        if self.working.len() > 3 * (terms + cheap) {
            let (beta, gradient) = (&self.beta, &self.gradient);
            let pulled = |j: usize| penalty.pull(gradient[j]) >= penalty.l1[j];
            self.working.keep(self.design, |j| beta[j] != 0.0 || pulled(j));
            self.factored = None;
        }
        self.add_to_working(&chosen)
    }

    fn add_to_working(&mut self, chosen: &[usize]) -> Result<()> {
        let order = self.working.len() + chosen.len();
        if self.working.is_dense() {
            check_memory(order, self.design.rows(), self.memory_limit)?;
        }
        Ok(self.working.add(self.design, chosen, self.observer)?)
    }

    /// Solves the problem on the working set; whether anything moved.
    fn descend(&mut self, penalty: &Penalty, tolerance: f64, gap: f64) -> Result<bool> {
        if !self.likelihood.is_quadratic() {
            // A step costs more than the pass over all columns that would show what is missing.
            let large = match self.design.raw().as_sparse() {
                Some(x) => {
                    let outputs = self.eta.columns();
                    let costs = self.working.sparse_costs(outputs);
                    costs.products() > (x.stored() * outputs) as f64
                }
                None => self.working.len().pow(2) as f64 > PRODUCT_SPEED * self.beta.len() as f64,
            };
            let enough = if large { ENOUGH.1 } else { ENOUGH.0 };
            let (least, tolerance) = (tolerance, tolerance.max(enough * gap));
            return match self.descend_by_gradients(penalty, 5.0 * least)? {
                Some(moved) => Ok(moved),
                None => self.descend_by_newton(penalty, tolerance),
            };
        }
        let columns = self.working.columns().to_vec();
        let own = penalty.of(&columns);
        self.look(&columns, |_| 0.0)?;
        let start: Vec<f64> = columns.iter().map(|&j| self.beta[j]).collect();
        let mut beta = start.clone();
        // Far from the end the working set is not the last one: no need to be exact, unless that
        // costs little.
        let budget = if self.working.is_dense() { self.sweeps_worth() } else { MAX_SWEEPS };
        let enough = match (self.working.is_dense(), budget) {
            (true, 0) => 1e-3,
            (true, _) => ENOUGH.0,
            (false, _) => ENOUGH.1,
        };
        let tolerance = tolerance.max(enough * gap);
        let pulls: Vec<f64> = columns.iter().map(|&j| self.gradient[j]).collect();
        let from = LeastSquaresAt {
            beta: &start,
            pulls: &pulls,
            residual_square: 2.0 * self.likelihood.value(),
            squares: columns.iter().map(|&j| self.squares[j]).collect(),
            target_square: 2.0 * self.null,
        };
        let deadline = self.deadline;
        let done =
            |beta: &[f64], q: &[f64]| is_past(deadline) || from.gap(beta, q, &own).0 <= tolerance;
        let mut finished = false;
        if budget > 0 {
            let sweeps;
            (sweeps, finished) = self.descend_by_columns(
                &columns,
                &own,
                (&mut beta, &pulls),
                0.1 * tolerance,
                budget,
                &done,
            )?;
            self.spent += sweeps as f64 * columns.len() as f64;
        }
        if !finished && self.working.is_dense() {
            self.spent = 0.0;
            let gram = self.working.products(self.design);
            // Pulls at the coefficients that descent has reached, by products.
            let mut q = pulls.clone();
            for (k, (b, s)) in beta.iter().zip(&start).enumerate() {
                if b != s {
                    axpy(s - b, gram.column(k), &mut q);
                }
            }
            Quadratic::new(gram, &own, self.observer).solve(&mut beta, &mut q, &done)?;
        }
        let moved = beta != start;
        columns.iter().zip(beta).for_each(|(&j, b)| self.beta[j] = b);
        Ok(moved)
    }

    /// How many more sweeps over the rows cost as much as the products that are missing: with
    /// few columns the products are cheap, with many they must be earned first.
    fn sweeps_worth(&self) -> usize {
        let (all, made) = (self.working.len() as f64, self.working.with_products() as f64);
        let cost = (all * all - made * made) / self.products_per_sweep();
        let worth = ((cost - self.spent) / all.max(1.0)) as usize;
        if worth < 5 { 0 } else { worth }
    }

    /// A sweep over a column costs as much as this many products.
    fn products_per_sweep(&self) -> f64 {
        PRODUCTS_PER_SWEEP * if self.is_narrow() { 0.5 } else { 1.0 }
    }

    /// Whether something is done in single precision that need not be.
    fn may_be_more_precise(&self) -> bool {
        let sparse_products = !self.working.is_dense() && !self.likelihood.is_quadratic();
        self.is_narrow() || sparse_products && !self.precise
    }

    /// Whether sweeps take columns in single precision.
    fn is_narrow(&self) -> bool {
        self.working.may_be_narrow() && !self.precise
    }

    /// Packs working columns in single precision, where sweeps are to take them so.
    fn pack_narrow(&mut self) -> bool {
        self.is_narrow() && self.working.pack_narrow(self.design)
    }

    /// Sweeps from coefficients with their pulls.
    fn descend_by_columns(
        &mut self,
        columns: &[usize],
        penalty: &Penalty,
        (beta, pulls): (&mut [f64], &[f64]),
        tolerance: f64,
        budget: usize,
        done: &dyn Fn(&[f64], &[f64]) -> bool,
    ) -> Result<(usize, bool)> {
        let narrow = self.pack_narrow();
        if self.working.is_dense() && !narrow {
            self.working.pack(self.design);
        }
        let squares: Vec<f64> = columns.iter().map(|&j| self.squares[j]).collect();
        let residual = self.likelihood.residual().column(0);
        let weights = self.design.weights();
        let descent = |columns, residuals: &mut Residuals, beta: &mut [f64]| {
            let small = (self.squares.len() as f64).sqrt().max(64.0) as usize;
            let (rounding, observer) = (ROUNDING * self.null, self.observer);
            let (squares, deadline) = (&squares[..], self.deadline);
            let rough = false;
            ColumnDescent { columns, squares, penalty, small, rounding, rough, deadline, observer }
                .solve(beta, residuals, tolerance, budget, done)
        };
        let values: Vec<f64> = match weights {
            Some(w) => residual.iter().zip(w).map(|(r, w)| r * w).collect(),
            None => residual.to_vec(),
        };
        let rows = self.design.rows();
        if narrow {
            let working = NarrowWorking::new(rows, self.working.narrow(), pulls);
            return Ok(descent(&working, &mut working.start(), beta)?);
        }
        let total_weight = weights.map_or(rows as f64, |w| w.iter().sum());
        let mut residuals = Residuals { values, ..Residuals::default() };
        Ok(match self.design.raw().as_sparse() {
            Some(x) => {
                let units = columns.iter().map(|&j| self.design.units(j));
                let (centre, scale) = units.unzip();
                let weights = weights.map(<[f64]>::to_vec);
                let stored = Gathered::new(x, columns.to_vec());
                let working = SparseWorking { stored, centre, scale, weights, total_weight };
                descent(&working, &mut residuals, beta)?
            }
            None => {
                let working = PackedWorking { rows, values: self.working.packed(), weights };
                descent(&working, &mut residuals, beta)?
            }
        })
    }

    /// Brings η and the likelihood to the present coefficients, and the intercepts to their best.
    fn move_to_beta(&mut self) -> Result<()> {
        let (rows, columns) = (self.design.rows(), self.squares.len());
        let packed = self.working.is_packed() && self.nonzero().all(|v| self.working.contains(v));
        for output in 0..self.eta.columns() {
            let intercept = self.intercepts.as_ref().map_or(0.0, |b| b[output]);
            let eta = self.eta.column_mut(output);
            eta.fill(intercept);
            if let Some(offset) = &self.offset {
                axpy(1.0, offset.column(output), eta);
            }
            if packed {
                let used = self.working.columns().iter().copied().enumerate();
                let used = used.filter(|&(_, v)| v / columns == output && self.beta[v] != 0.0);
                let packed = |k: usize| &self.working.packed()[k * rows..][..rows];
                let used: Vec<_> = used.map(|(k, v)| (self.beta[v], packed(k))).collect();
                add_combination(&used, eta);
            } else {
                let own: Vec<usize> = self.nonzero().filter(|v| v / columns == output).collect();
                let chosen: Vec<usize> = own.iter().map(|v| v % columns).collect();
                let beta: Vec<f64> = own.iter().map(|&v| self.beta[v]).collect();
                let fitted = self.design.apply(&chosen, &beta);
                axpy(1.0, &fitted, self.eta.column_mut(output));
            }
        }
        self.likelihood.update(&self.eta);
        self.arrive()
    }

    /// Brings the intercepts to what is best where the likelihood is now.
    fn arrive(&mut self) -> Result<()> {
        self.settle_intercepts()?;
        self.travel();
        Ok(())
    }

    /// Measures how far the residual has gone since the last time.
    fn travel(&mut self) {
        let rows = self.design.rows();
        let now = self.likelihood.residual();
        let weight = |i: usize| self.design.weights().map_or(1.0, |w| w[i % rows]);
        let moved = self.residual.as_slice().iter().zip(now.as_slice()).enumerate();
        let square: f64 = moved.map(|(i, (a, b))| weight(i) * (a - b) * (a - b)).sum();
        self.travelled += square.sqrt();
        self.residual.clone_from(now);
    }

    /// Whether the residual is where it was measured last.
    fn is_still(&self) -> bool {
        self.residual.as_slice() == self.likelihood.residual().as_slice()
    }

    /// Pulls below this part of the penalty cannot matter to the dual point, in which they are
    /// multiplied by κ: its best value, or what the working columns allow.
    fn reach(&mut self, penalty: &Penalty) -> Result<f64> {
        let working = self.working.columns().to_vec();
        self.look(&working, |_| 0.0)?;
        let hard = working.iter().filter(|&&j| penalty.l1[j] > 0.0 && penalty.l2[j] == 0.0);
        let allowed = hard
            .map(|&j| penalty.l1[j] / penalty.pull(self.gradient[j]))
            .fold(self.likelihood.best_kappa(), f64::min);
        Ok(1.0 / allowed.max(1.0))
    }

    /// Looks again at all columns.
    fn look_at_all(&mut self) -> Result<()> {
        let all = std::mem::take(&mut self.usable);
        let looked = self.look(&all, |_| 0.0);
        self.usable = all;
        looked
    }

    /// Looks again at the columns whose pulls may have come to exceed a threshold.
    fn look(&mut self, columns: &[usize], threshold: impl Fn(usize) -> f64) -> Result<()> {
        let stale = self.stale(columns, &threshold);
        self.look_at(&stale)
    }

    /// The same where most pulls will not exceed it, which single precision can tell.
    fn look_around(&mut self, columns: &[usize], threshold: impl Fn(usize) -> f64) -> Result<()> {
        let mut stale = self.stale(columns, &threshold);
        self.looked += stale.len();
        if self.narrow_columns.is_none() && self.looked >= PASSES * self.beta.len() {
            self.narrow_columns = self.new_narrow_columns();
            self.looked = 0;
        }
        if let Some(narrow) = &self.narrow_columns {
            let residual = self.likelihood.residual().column(0);
            let norm = dot(residual, residual).sqrt();
            let unit = if norm > 0.0 { norm } else { 1.0 };
            let residual: Vec<f32> = residual.iter().map(|r| (r / unit) as f32).collect();
            // As if a pull had been seen so long ago that rounding may have changed it.
            let seen_at = self.travelled - NarrowColumns::ROUNDING * norm;
            for (&j, product) in stale.iter().zip(narrow.products(&stale, &residual)) {
                self.gradient[j] = product * norm * self.square(j).sqrt();
                self.seen_at[j] = seen_at;
            }
            stale = self.stale(&stale, &threshold);
        }
        self.look_at(&stale)
    }

    /// Looks at columns, in the order of the design.
    fn look_at(&mut self, columns: &[usize]) -> Result<()> {
        self.observer.check()?;
        let pulls = self.products(columns, self.likelihood.residual());
        for (&v, g) in columns.iter().zip(pulls) {
            (self.gradient[v], self.seen_at[v]) = (g, self.travelled);
        }
        Ok(())
    }

    /// Columns whose pulls may have come to exceed a threshold, in the order of the design.
    fn stale(&self, columns: &[usize], threshold: &impl Fn(usize) -> f64) -> Vec<usize> {
        let margin = 1.0 - 1e-9;
        let may_exceed = |j: usize| {
            let distance = self.travelled - self.seen_at[j];
            let change = self.square(j).sqrt() * distance;
            distance > 0.0 && self.gradient[j].abs() + change >= margin * threshold(j)
        };
        let mut stale = Vec::with_capacity(columns.len());
        stale.extend(columns.iter().copied().filter(|&j| may_exceed(j)));
        stale.sort_unstable();
        stale
    }

    /// All columns in single precision, for one output, if there is room for them.
    fn new_narrow_columns(&self) -> Option<NarrowColumns> {
        let size = NarrowColumns::bytes(self.design.rows(), self.beta.len());
        let norm = |j: usize| if self.squares[j] > 0.0 { self.squares[j].sqrt() } else { 1.0 };
        (self.eta.columns() == 1 && size <= self.memory_limit / NARROW_PART)
            .then(|| NarrowColumns::new(self.design, norm))?
    }
}

/// A least-squares problem at some coefficients, from which others are looked at by products
/// alone.
struct LeastSquaresAt<'a> {
    beta: &'a [f64],
    /// XᵀW·residual.
    pulls: &'a [f64],
    residual_square: f64,
    squares: Vec<f64>,
    target_square: f64,
}

impl LeastSquaresAt<'_> {
    /// The duality gap and the objective at `beta`, where the pulls are `q`; without any penalty
    /// the largest pull stands for the gap.
    fn gap(&self, beta: &[f64], q: &[f64], penalty: &Penalty) -> (f64, f64) {
        let (mut square, mut product, mut value) = (self.residual_square, 0.0, 0.0);
        let mut penalised = false;
        for k in 0..beta.len() {
            square -= (self.pulls[k] + q[k]) * (beta[k] - self.beta[k]);
            product += beta[k] * q[k];
            value += penalty.value(k, beta[k]);
            penalised |= !penalty.is_free(k);
        }
        let square = square.max(0.0);
        let objective = 0.5 * square + value;
        if !penalised {
            let each = (0..beta.len()).map(|k| (beta[k], q[k], self.squares[k]));
            return (gap_by_pulls(penalty, 0.5 * self.target_square, each), objective);
        }
        // Σ w y r = Σ w r² + Σ β q, for y = r + Xβ.
        product += square;
        let likelihood = |kappa: f64| kappa * (product - 0.5 * kappa * square);
        let best = if square > 0.0 { product / square } else { 1.0 };
        let slack =
            |k: usize, pull: f64| free_slack(pull, beta[k], self.squares[k], self.target_square);
        let pulls = q.iter().copied().enumerate();
        let dual = best_dual_point(pulls, penalty, &slack, &likelihood, best);
        (at_least_zero(objective - dual.value), objective)
    }
}

/// Whether the time is up.
fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|d| Instant::now() >= d)
}

/// What is no number is no bound.
fn at_least_zero(gap: f64) -> f64 {
    if gap.is_nan() { f64::INFINITY } else { gap.max(0.0) }
}

/// A part of something, where nothing is no part of nothing.
fn relative(value: f64, whole: f64) -> f64 {
    value / whole.max(f64::MIN_POSITIVE)
}

/// What stands for the gap without any penalty: the strongest pull, as a part of the strongest
/// there could be, times the objective of the empty model. `each` are coefficients, the pulls on
/// them, and Σ w x².
fn gap_by_pulls(penalty: &Penalty, null: f64, each: impl Iterator<Item = (f64, f64, f64)>) -> f64 {
    let strength = |(beta, pull, square): (f64, f64, f64)| {
        relative(penalty.violation(beta, pull), (square * 2.0 * null).sqrt())
    };
    null * each.map(strength).fold(0.0, |a, v| at_least_zero(v).max(a))
}

/// What a pull could still gain on a coefficient without a penalty, or nothing where it is too
/// strong to tell; `target_square` is what the column, with this Σ w x², could explain.
fn free_slack(pull: f64, beta: f64, square: f64, target_square: f64) -> Option<f64> {
    let alone = if square > 0.0 { (target_square / square).sqrt() } else { 0.0 };
    let small = pull <= FREE_PULL * (square * target_square).sqrt();
    small.then_some(pull * (2.0 * beta.abs() + FREE_REACH * alone))
}

/// Solves a least-squares problem of which only XᵀX, Xᵀy and yᵀy are known.
pub(crate) fn from_products(
    gram: &Matrix,
    cross: &[f64],
    target_square: f64,
    usable: &[usize],
    penalty: &Penalty,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Outcome> {
    let mut own = Gram::default();
    own.grow(usable.len());
    for (b, &j) in usable.iter().enumerate() {
        let column = gram.column(j);
        usable[..=b].iter().enumerate().for_each(|(a, &i)| own.set(a, b, column[i]));
    }
    let own_penalty = penalty.of(usable);
    let pulls: Vec<f64> = usable.iter().map(|&j| cross[j]).collect();
    let zeros = vec![0.0; usable.len()];
    let from = LeastSquaresAt {
        beta: &zeros,
        pulls: &pulls,
        residual_square: target_square,
        squares: (0..usable.len()).map(|k| own.diagonal(k)).collect(),
        target_square,
    };
    let null = 0.5 * target_square;
    let target = options.tol.max(SMALLEST_GAP) * null;
    let (mut beta, mut q) = (zeros.clone(), pulls.clone());
    let mut quadratic = Quadratic::new(&own, &own_penalty, observer);
    let done = |beta: &[f64], q: &[f64]| from.gap(beta, q, &own_penalty).0 <= target;
    quadratic.solve(&mut beta, &mut q, &done)?;
    let (gap, objective) = from.gap(&beta, &q, &own_penalty);
    let active = (0..beta.len()).filter(|&k| beta[k] != 0.0);
    Ok(Outcome {
        active: active.clone().map(|k| usable[k]).collect(),
        beta: active.map(|k| beta[k]).collect(),
        objective,
        residual: relative(gap, null),
        gap: (!penalty.is_none(usable)).then_some(relative(gap, null)),
        iterations: 1,
        termination: if gap <= target.max(ROUNDING * null) {
            Termination::Converged
        } else {
            Termination::Stalled
        },
        trace: Vec::new(),
    })
}
