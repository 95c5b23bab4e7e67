//! One coefficient at a time, by a bound of constant curvature (Krishnapuram 2005, sec. 3.5).
//!
//! Nothing is solved exactly and nothing is kept but the scores of the rows, so that a step costs
//! as much as its column has rows. Steps come in rounds: one visit to every coefficient, then
//! visits mostly to those that are not zero; between rounds all pulls are looked at, which gives
//! the duality gap and leaves no coefficient at a wrong zero.

use super::penalty::Penalty;
use super::working_set::WorkingSet;
use super::{Coordinate, Options, SMALLEST_GAP};
use crate::design::Design;
use crate::engine::{Outcome, Termination};
use crate::error::Result;
use crate::likelihood::Smooth;
use crate::linalg::{Matrix, dot};
use crate::random::uniform;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use std::time::Instant;

/// The order in which single coefficients are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// In their order; those at zero with a probability that halves from pass to pass.
    #[default]
    Geometric,
    /// Those first that promise the largest decrease of the objective.
    Gain,
}

/// p(1 − p) ≤ ¼: the curvature of −log p in one output of a row. It is at most Böhning's
/// ½(1 − 1/m), which holds for all outputs together.
const CURVATURE: f64 = 0.25;
/// Krishnapuram 2005: coefficients at zero are visited with probability ρᵗ in pass t.
const RHO: f64 = 0.5;
/// A round ends when a pass gains less than this part of its first …
const WORTH: f64 = 1e-2;
/// … or has made so many times as many visits as there are coefficients.
const VISITS: usize = 4;
/// Sums of exponentials that leave this range since they were made anew have lost digits.
const RANGE: (f64, f64) = (1e-2, 1e2);
/// exp of more than this may leave the range of floating point unseen.
const LARGEST_CHANGE: f64 = 30.0;

/// Visits after which the user is asked whether to go on.
const CHECK_EVERY: usize = 64;

/// How single coefficients are visited, and their columns.
pub(super) struct Components {
    schedule: Schedule,
    seed: u64,
    /// Columns that are visited, rising.
    columns: Vec<usize>,
    /// (p,) Where each begins in `packed`.
    starts: Vec<usize>,
    fits_memory: bool,
    /// The columns, centred and scaled, one after the other, once they are visited.
    packed: OnceLock<Vec<f64>>,
}

impl Components {
    /// For the given columns, which rise.
    fn new(
        schedule: Schedule,
        seed: u64,
        design: &Design<'_>,
        columns: &[usize],
        memory_limit: usize,
    ) -> Self {
        let bytes = design.rows().saturating_mul(columns.len()).saturating_mul(8);
        let mut starts = vec![0; design.raw().columns()];
        columns.iter().enumerate().for_each(|(k, &j)| starts[j] = k * design.rows());
        Self {
            schedule,
            seed,
            columns: columns.to_vec(),
            starts,
            fits_memory: bytes <= memory_limit / 2,
            packed: OnceLock::new(),
        }
    }

    /// Shows column `j` to `work`.
    fn with_column<T>(
        &self,
        design: &Design<'_>,
        j: usize,
        work: impl FnOnce(Column<'_>) -> T,
    ) -> T {
        if let Some(x) = design.raw().as_sparse() {
            let (rows, values) = x.column_slices(j);
            let (centre, scale) = design.units(j);
            return work(Column::Sparse { rows, values, centre: centre / scale, scale });
        }
        if self.fits_memory {
            let packed = self.packed.get_or_init(|| {
                let mut packed = Vec::new();
                design.append(&self.columns, &mut packed);
                packed
            });
            return work(Column::Dense(&packed[self.starts[j]..][..design.rows()]));
        }
        work(Column::Dense(design.copy(&[j]).column(0)))
    }
}

/// A column, centred and scaled.
#[derive(Clone, Copy)]
enum Column<'a> {
    Dense(&'a [f64]),
    /// Values/scale − centre, where there are values, and −centre elsewhere.
    Sparse {
        rows: &'a [u32],
        values: &'a [f64],
        centre: f64,
        scale: f64,
    },
}

/// exp(η) of every output and row, up to a factor for each row, and their sums, which follow when
/// one output changes.
struct Scores<'a> {
    weights: Option<&'a [f64]>,
    /// (n, outputs) 1 in the output of a row's class.
    target: Matrix,
    /// (n, outputs) E
    exponentials: Matrix,
    /// (n,) Z: the sum of E over the outputs, with that of a reference class.
    sums: Vec<f64>,
    /// Whether there is a class without an output.
    has_reference: bool,
    /// The output whose residual is at hand.
    output: usize,
    /// (n,) w(y − E/Z) of that output …
    residual: Vec<f64>,
    /// … and its sum.
    total: f64,
}

impl<'a> Scores<'a> {
    /// At the probabilities of the likelihood; nothing where it has none.
    fn new(likelihood: &dyn Smooth, weights: Option<&'a [f64]>) -> Option<Self> {
        let (p, residual) = (likelihood.probabilities()?, likelihood.residual());
        let mut target = residual.clone();
        target.as_mut_slice().iter_mut().zip(p.as_slice()).for_each(|(y, p)| *y = (*y + p).round());
        let mut scores = Self {
            weights,
            exponentials: target.clone(),
            target,
            sums: Vec::new(),
            has_reference: !likelihood.is_symmetric(),
            output: 0,
            residual: vec![0.0; p.rows()],
            total: 0.0,
        };
        scores.renew(likelihood);
        Some(scores)
    }

    /// Begins anew from the likelihood, at which E are the probabilities and Z is 1.
    fn renew(&mut self, likelihood: &dyn Smooth) {
        let Some(p) = likelihood.probabilities() else { return };
        let values = self.exponentials.as_mut_slice();
        values.copy_from_slice(&p.as_slice()[..values.len()]);
        self.sums = vec![1.0; p.rows()];
        self.show(self.output);
    }

    /// w(y − E/Z)
    fn residual_of(&self, i: usize, c: usize) -> f64 {
        let residual = self.target[(i, c)] - self.exponentials[(i, c)] / self.sums[i];
        self.weights.map_or(residual, |w| w[i] * residual)
    }

    /// Has the residual of an output at hand.
    fn show(&mut self, output: usize) {
        self.output = output;
        for i in 0..self.residual.len() {
            self.residual[i] = self.residual_of(i, output);
        }
        self.total = self.residual.iter().sum();
    }

    /// Σ w x (y − p) in an output.
    fn pull(&mut self, column: Column<'_>, output: usize) -> f64 {
        let needed = !matches!(column, Column::Sparse { centre: 0.0, .. });
        if needed && output != self.output {
            self.show(output);
        }
        match column {
            Column::Dense(x) => dot(x, &self.residual),
            Column::Sparse { rows, values, centre, scale } => {
                let own =
                    rows.iter().zip(values).map(|(&i, v)| v * self.residual_of(i as usize, output));
                own.sum::<f64>() / scale - if needed { centre * self.total } else { 0.0 }
            }
        }
    }

    /// Moves an output by a multiple of a column.
    fn shift(&mut self, column: Column<'_>, output: usize, step: f64, eta: &mut Matrix) {
        match column {
            Column::Dense(x) => {
                for (i, x) in x.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                    self.shift_row((i, output), step * x, (step * x).exp(), eta);
                }
            }
            Column::Sparse { rows, values, centre, scale } => {
                if centre != 0.0 {
                    let (change, factor) = (-step * centre, (-step * centre).exp());
                    let all = 0..self.sums.len();
                    all.for_each(|i| self.shift_row((i, output), change, factor, eta));
                }
                for (&i, v) in rows.iter().zip(values) {
                    let change = step * v / scale;
                    self.shift_row((i as usize, output), change, change.exp(), eta);
                }
            }
        }
    }

    /// Krishnapuram 2005, sec. 3.5: E and Z after a change of one score, in constant time.
    fn shift_row(&mut self, at: (usize, usize), change: f64, factor: f64, eta: &mut Matrix) {
        let i = at.0;
        eta[at] += change;
        let before = self.exponentials[at];
        self.exponentials[at] = before * factor;
        self.sums[i] += self.exponentials[at] - before;
        if !(RANGE.0..=RANGE.1).contains(&self.sums[i]) || change.abs() > LARGEST_CHANGE {
            self.renew_row(i, eta);
        }
        let residual = self.residual_of(i, self.output);
        self.total += residual - self.residual[i];
        self.residual[i] = residual;
    }

    fn renew_row(&mut self, i: usize, eta: &Matrix) {
        // A reference class has η = 0.
        let lowest = if self.has_reference { 0.0 } else { f64::NEG_INFINITY };
        let largest = (0..eta.columns()).fold(lowest, |a, c| a.max(eta[(i, c)]));
        let value = |c: usize| (eta[(i, c)] - largest).exp();
        let reference = (lowest - largest).exp();
        let sum = (0..eta.columns()).map(value).sum::<f64>() + reference;
        (0..eta.columns()).for_each(|c| self.exponentials[(i, c)] = value(c) / sum);
        self.sums[i] = 1.0;
    }
}

impl<'a> Coordinate<'a> {
    /// Visits single coefficients instead of solving for many at once.
    pub fn by_components(mut self, schedule: Schedule, seed: u64) -> Self {
        // The columns of the first output are those of all.
        let columns = &self.usable[..self.usable.len() / self.likelihood.outputs().max(1)];
        let limit = self.memory_limit;
        self.components = Some(Components::new(schedule, seed, self.design, columns, limit));
        self.working = WorkingSet::new(self.beta.len(), self.design);
        self
    }

    pub(super) fn run_by_components(
        &mut self,
        components: &Components,
        penalty: &Penalty,
        options: &Options,
    ) -> Result<Outcome> {
        let target = options.tol.max(SMALLEST_GAP) * self.null;
        let all = self.usable.clone();
        let mut next = uniform(components.seed);
        let mut trace = Vec::new();
        let mut best_dual = f64::NEG_INFINITY;
        let mut iterations = 0;
        let over = |iterations: usize| {
            if iterations >= options.max_iter {
                return Some(Termination::IterationLimit);
            }
            options.deadline.filter(|d| Instant::now() >= *d).map(|_| Termination::TimeLimit)
        };
        let Some(mut scores) = Scores::new(&*self.likelihood, self.design.weights()) else {
            return self.run_on_working_sets(penalty, options);
        };
        let (termination, gap) = loop {
            self.look(&all, |_| 0.0)?;
            best_dual = best_dual.max(self.dual_point(penalty, &all).value);
            let gap = self.gap(penalty, best_dual);
            self.report(penalty, iterations, gap, &mut trace);
            if gap <= target {
                break (Termination::Converged, gap);
            }
            if let Some(limit) = over(iterations) {
                break (limit, gap);
            }
            let (mut visits, mut first) = (0, 0.0);
            for pass in 0.. {
                let order: Vec<usize> = match components.schedule {
                    Schedule::Gain if pass == 0 => self.by_gain(penalty),
                    Schedule::Gain => self.nonzero().collect(),
                    Schedule::Geometric => {
                        let chance = RHO.powi(pass);
                        let wanted = |v: &usize| self.beta[*v] != 0.0 || next() < chance;
                        all.iter().copied().filter(wanted).collect()
                    }
                };
                let gained = self.visit(components, &mut scores, &order, penalty)?;
                self.likelihood.update(&self.eta);
                self.arrive()?;
                scores.renew(&*self.likelihood);
                iterations += 1;
                visits += order.len();
                if pass == 0 {
                    first = gained;
                }
                if gained <= WORTH * first
                    || visits >= VISITS * all.len()
                    || over(iterations).is_some()
                {
                    break;
                }
                self.report(penalty, iterations, gap, &mut trace);
            }
            // Sums of many steps carry their rounding.
            self.move_to_beta()?;
            scores.renew(&*self.likelihood);
            if first == 0.0 {
                break (self.end_of(gap, target), gap);
            }
        };
        Ok(self.outcome(penalty, gap, iterations, termination, trace))
    }

    /// Coefficients by the decrease of the objective that their steps promise; those that promise
    /// none are left out.
    fn by_gain(&self, penalty: &Penalty) -> Vec<usize> {
        let gain = |v: usize| {
            let (_, decrease) = self.component_step(v, self.gradient[v], self.square(v), penalty);
            (decrease, v)
        };
        let mut order: Vec<(f64, usize)> =
            self.usable.iter().map(|&v| gain(v)).filter(|g| g.0 > 0.0).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        order.into_iter().map(|g| g.1).collect()
    }

    /// Where the bound puts a coefficient, and by how much the objective falls at least.
    fn component_step(&self, v: usize, pull: f64, square: f64, penalty: &Penalty) -> (f64, f64) {
        let curvature = CURVATURE * square;
        if curvature <= 0.0 {
            return (self.beta[v], 0.0);
        }
        // Krishnapuram 2005, eqs 15 and 16
        let new = penalty.minimiser(v, pull + curvature * self.beta[v], curvature);
        (new, 0.5 * (curvature + penalty.l2[v]) * (new - self.beta[v]).powi(2))
    }

    /// Takes the step of each coefficient in turn; by how much the objective has fallen at least.
    fn visit(
        &mut self,
        components: &Components,
        scores: &mut Scores<'_>,
        order: &[usize],
        penalty: &Penalty,
    ) -> Result<f64> {
        let columns = self.squares.len();
        let rows = self.design.rows() as f64;
        let total_weight = self.design.weights().map_or(rows, |w| w.iter().sum());
        let mut gained = 0.0;
        for (k, &v) in order.iter().enumerate() {
            if k % CHECK_EVERY == 0 {
                self.observer.check()?;
            }
            let output = v / columns;
            components.with_column(self.design, v % columns, |mut column| {
                let mut moved_intercept = 0.0;
                let mut square = self.square(v);
                if let (Column::Sparse { centre, .. }, Some(_)) = (&mut column, &self.intercepts) {
                    // The intercept may take what centring would, and most rows stay as they are.
                    moved_intercept = std::mem::take(centre);
                    square += total_weight * moved_intercept * moved_intercept;
                }
                let pull = scores.pull(column, output);
                let (new, decrease) = self.component_step(v, pull, square, penalty);
                let step = new - self.beta[v];
                if step != 0.0 {
                    scores.shift(column, output, step, &mut self.eta);
                    if let Some(intercepts) = &mut self.intercepts {
                        intercepts[output] += step * moved_intercept;
                    }
                    self.beta[v] = new;
                    gained += decrease;
                }
            });
        }
        Ok(gained)
    }
}
