//! Coordinate descent that keeps the residual of every row: for sparse columns, and for working
//! sets whose products would take more room than they have rows.

use super::gram::Gram;
use super::is_past;
use super::penalty::Penalty;
use super::quadratic::Quadratic;
use crate::data::SparseView;
use crate::engine::{Interrupted, Observer};
use crate::linalg::{Cholesky, Matrix, axpy, dot, sparse_dot};
use std::time::Instant;

/// Sweeps after which their steps are extrapolated (Bertrand & Massias 2021).
const EXTRAPOLATE: usize = 5;
/// Unless sweeps gain less and less, down to this part, by themselves.
const FAST: f64 = 0.01;
/// Sweeps get on fast if each gains no more than this part of what the one before it did.
const QUICK: f64 = 0.1;
/// Sweeps after which descent gives up.
pub(super) const MAX_SWEEPS: usize = 20_000;
/// Largest support that is solved for exactly.
const MAX_SOLVE: usize = 4000;

/// Residuals of the rows, times their weights; the true residual is `values − offset·weights`.
#[derive(Debug, Clone, Default)]
pub(super) struct Residuals {
    pub values: Vec<f64>,
    pub offset: f64,
    /// What has been taken from them, where that is all that is followed.
    pub narrow: Vec<f32>,
}

/// Working columns as they are read by descent.
pub(super) trait WorkingColumns: Sync {
    /// Σ x·residual for working column `k`.
    fn pull(&self, k: usize, residuals: &Residuals) -> f64;

    /// The residuals when coefficient `k` grows by `step`.
    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals);

    /// Products of some of the columns with each other; nothing where these are made elsewhere.
    fn products(&self, _chosen: &[usize]) -> Option<Gram> {
        None
    }

    /// Takes the mean out of residuals that should have none, but for rounding.
    fn recentre(&self, _residuals: &mut Residuals) {}

    /// ½ Σ w·residual², where that is what descent lowers: it shows rounding that pulls hide.
    fn value(&self, _residuals: &Residuals) -> Option<f64> {
        None
    }
}

/// Columns whose coefficients are drawn to where they began, by pulls beside those of the residuals.
pub(super) struct Damped<'a> {
    pub columns: &'a dyn WorkingColumns,
    pub pulls: Vec<f64>,
}

impl WorkingColumns for Damped<'_> {
    fn pull(&self, k: usize, residuals: &Residuals) -> f64 {
        self.columns.pull(k, residuals) + self.pulls[k]
    }

    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals) {
        self.columns.shift(k, step, residuals);
    }

    fn products(&self, chosen: &[usize]) -> Option<Gram> {
        self.columns.products(chosen)
    }

    fn recentre(&self, residuals: &mut Residuals) {
        self.columns.recentre(residuals);
    }
}

/// ½ Σ w·residual² of residuals that are held times their weights.
fn half_square(residuals: &Residuals, weights: Option<&[f64]>) -> f64 {
    let Residuals { values, offset, .. } = residuals;
    let square = match weights {
        Some(w) => {
            let counted = values.iter().zip(w).filter(|(_, w)| **w > 0.0);
            counted.map(|(v, w)| (v - offset * w).powi(2) / w).sum::<f64>()
        }
        None => values.iter().map(|v| (v - offset).powi(2)).sum::<f64>(),
    };
    0.5 * square
}

/// Columns of a sparse matrix, copied side by side where they are a small part of it: sweeps
/// would wait for each of them else.
pub(super) struct Gathered<'a> {
    x: SparseView<'a>,
    columns: Vec<usize>,
    /// Starts, rows and values.
    copied: Option<(Vec<usize>, Vec<u32>, Vec<f64>)>,
}

impl<'a> Gathered<'a> {
    pub fn new(x: SparseView<'a>, columns: Vec<usize>) -> Self {
        let stored: usize = columns.iter().map(|&j| x.column_slices(j).0.len()).sum();
        let copied = (stored < x.stored() / 2).then(|| {
            let mut starts = Vec::with_capacity(columns.len() + 1);
            let (mut rows, mut values) = (Vec::with_capacity(stored), Vec::with_capacity(stored));
            starts.push(0);
            for &j in &columns {
                let column = x.column_slices(j);
                rows.extend_from_slice(column.0);
                values.extend_from_slice(column.1);
                starts.push(rows.len());
            }
            (starts, rows, values)
        });
        Self { x, columns, copied }
    }

    pub fn rows(&self) -> usize {
        self.x.rows()
    }

    /// Rows and values of column `k`.
    #[inline]
    pub fn column(&self, k: usize) -> (&[u32], &[f64]) {
        match &self.copied {
            Some((starts, rows, values)) => {
                let range = starts[k]..starts[k + 1];
                (&rows[range.clone()], &values[range])
            }
            None => self.x.column_slices(self.columns[k]),
        }
    }
}

/// Columns (x − centre) / scale of a sparse matrix, never made dense.
pub(super) struct SparseWorking<'a> {
    pub stored: Gathered<'a>,
    pub centre: Vec<f64>,
    pub scale: Vec<f64>,
    /// Weight of each row, times its curvature.
    pub weights: Option<Vec<f64>>,
    pub total_weight: f64,
}

impl WorkingColumns for SparseWorking<'_> {
    fn pull(&self, k: usize, residuals: &Residuals) -> f64 {
        let (rows, values) = self.stored.column(k);
        let sum = sparse_dot(rows, values, &residuals.values);
        // Σ w·residual is zero where columns are centred, for so is the target.
        (sum - residuals.offset * self.centre[k] * self.total_weight) / self.scale[k]
    }

    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals) {
        let step = step / self.scale[k];
        let (rows, values) = self.stored.column(k);
        match &self.weights {
            Some(w) => {
                let shift = |(&i, v): (&u32, &f64)| {
                    residuals.values[i as usize] -= step * v * w[i as usize];
                };
                rows.iter().zip(values).for_each(shift)
            }
            None => {
                rows.iter().zip(values).for_each(|(&i, v)| residuals.values[i as usize] -= step * v)
            }
        }
        residuals.offset -= step * self.centre[k];
    }

    fn products(&self, chosen: &[usize]) -> Option<Gram> {
        let mut gram = Gram::default();
        gram.grow(chosen.len());
        let mut dense = vec![0.0; self.stored.rows()];
        for (b, &k) in chosen.iter().enumerate() {
            let (rows, values) = self.stored.column(k);
            for (&i, v) in rows.iter().zip(values) {
                dense[i as usize] = v * self.weights.as_ref().map_or(1.0, |w| w[i as usize]);
            }
            for (a, &l) in chosen[..=b].iter().enumerate() {
                let (rows, values) = self.stored.column(l);
                let sum = sparse_dot(rows, values, &dense);
                let centred = sum - self.total_weight * self.centre[k] * self.centre[l];
                gram.set(a, b, centred / (self.scale[k] * self.scale[l]));
            }
            rows.iter().for_each(|&i| dense[i as usize] = 0.0);
            // What cancels leaves rounding behind, which must not make the matrix indefinite.
            let cancelled = self.total_weight * (self.centre[k] / self.scale[k]).powi(2);
            gram.set(b, b, gram.diagonal(b) + 1e-15 * cancelled);
        }
        Some(gram)
    }

    fn recentre(&self, residuals: &mut Residuals) {
        if self.centre.iter().all(|c| *c == 0.0) {
            return;
        }
        // Small values have small rounding, which large centres would bring back.
        let Residuals { values, offset, .. } = residuals;
        match &self.weights {
            Some(w) => axpy(-*offset, w, values),
            None => values.iter_mut().for_each(|v| *v -= *offset),
        }
        *offset = values.iter().sum::<f64>() / self.total_weight;
    }

    fn value(&self, residuals: &Residuals) -> Option<f64> {
        Some(half_square(residuals, self.weights.as_deref()))
    }
}

/// Dense columns, centred and scaled, one after the other.
pub(super) struct PackedWorking<'a> {
    pub rows: usize,
    pub values: &'a [f64],
    pub weights: Option<&'a [f64]>,
}

impl PackedWorking<'_> {
    fn column(&self, k: usize) -> &[f64] {
        &self.values[k * self.rows..][..self.rows]
    }
}

impl WorkingColumns for PackedWorking<'_> {
    fn pull(&self, k: usize, residuals: &Residuals) -> f64 {
        dot(self.column(k), &residuals.values)
    }

    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals) {
        match self.weights {
            Some(w) => {
                let rows = residuals.values.iter_mut().zip(self.column(k)).zip(w);
                rows.for_each(|((r, x), w)| *r -= step * x * w);
            }
            None => axpy(-step, self.column(k), &mut residuals.values),
        }
    }

    fn products(&self, chosen: &[usize]) -> Option<Gram> {
        let packed: Vec<f64> = chosen.iter().flat_map(|&k| self.column(k)).copied().collect();
        let mut gram = Gram::default();
        gram.extend(self.rows, &packed, self.weights);
        Some(gram)
    }

    fn value(&self, residuals: &Residuals) -> Option<f64> {
        Some(half_square(residuals, self.weights))
    }
}

/// The problem; `penalty` and `squares` are in the order of the working columns.
pub(super) struct ColumnDescent<'a> {
    pub columns: &'a dyn WorkingColumns,
    pub squares: &'a [f64],
    pub penalty: &'a Penalty,
    /// A support of so many costs so little to solve for that the end is always exact.
    pub small: usize,
    /// Less than this of the objective is rounding.
    pub rounding: f64,
    /// Whether what fast sweeps seem to leave is taken for what they do leave: the problem is not
    /// the last one.
    pub rough: bool,
    /// When to leave.
    pub deadline: Option<Instant>,
    pub observer: &'a dyn Observer,
}

impl ColumnDescent<'_> {
    /// Moves β and the residuals until `done(β, pulls)`, or for so many sweeps; how many there
    /// were, and whether it is done.
    pub fn solve(
        &self,
        beta: &mut [f64],
        residuals: &mut Residuals,
        tolerance: f64,
        budget: usize,
        done: &dyn Fn(&[f64], &[f64]) -> bool,
    ) -> Result<(usize, bool), Interrupted> {
        let all: Vec<usize> = (0..beta.len()).collect();
        let mut sweeps = 0;
        // A sweep that gains little may be a slow one: the gap has the last word.
        let mut little = tolerance;
        // The gap is of the first order in the steps, the gain of the second.
        let smallest = 1e-18 * tolerance;
        // Whether the last sweeps over the support got on fast.
        let mut quick = false;
        while sweeps < budget && !is_past(self.deadline) {
            self.observer.check()?;
            sweeps += 1;
            self.columns.recentre(residuals);
            let decrease = self.sweep(&all, beta, residuals);
            if quick && decrease <= QUICK * tolerance {
                return Ok((sweeps, true));
            }
            if decrease <= little {
                self.columns.recentre(residuals);
                let pulls: Vec<f64> =
                    all.iter().map(|&k| self.columns.pull(k, residuals)).collect();
                sweeps += 1;
                if done(beta, &pulls) || decrease <= smallest {
                    let support: Vec<usize> =
                        all.iter().copied().filter(|&k| beta[k] != 0.0).collect();
                    if support.len() <= self.small {
                        self.solve_exactly(&support, beta, residuals)?;
                    }
                    return Ok((sweeps, true));
                }
                little = 0.1 * decrease.min(little);
            }
            let support: Vec<usize> = all.iter().copied().filter(|&k| beta[k] != 0.0).collect();
            let left = budget.saturating_sub(sweeps);
            let more;
            (more, quick) =
                self.settle(&support, beta, residuals, 0.3 * little, tolerance, left)?;
            sweeps += more;
        }
        Ok((sweeps, false))
    }

    /// Whether a sweep that gained so much, after one over the same columns that gained `before`,
    /// leaves far less than the tolerance, if the next ones get on as fast.
    fn is_nearly_done(&self, before: f64, decrease: f64, tolerance: f64) -> bool {
        let rate = decrease / before;
        self.rough && rate <= QUICK && rate * decrease <= QUICK * tolerance
    }

    /// Sweeps over the support until one gains at most `little`, or an exact solve does better; how
    /// many, and whether they got on so fast that nearly nothing of the tolerance is left.
    fn settle(
        &self,
        support: &[usize],
        beta: &mut [f64],
        residuals: &mut Residuals,
        little: f64,
        tolerance: f64,
        budget: usize,
    ) -> Result<(usize, bool), Interrupted> {
        // Their products cost about as much as this many sweeps.
        let worth = if support.len() <= MAX_SOLVE { 10 + support.len() / 4 } else { usize::MAX };
        let mut history = vec![at(beta, support)];
        let (mut first, mut before) = (f64::INFINITY, 0.0);
        for sweep in 1..=budget {
            self.observer.check()?;
            let decrease = self.sweep(support, beta, residuals);
            if self.is_nearly_done(before, decrease, tolerance) {
                return Ok((sweep, true));
            }
            if decrease <= little || is_past(self.deadline) {
                return Ok((sweep, false));
            }
            before = decrease;
            if history.len() == 1 {
                first = decrease;
            }
            if sweep >= worth && support.iter().all(|&k| beta[k] != 0.0) {
                self.solve_exactly(support, beta, residuals)?;
                return Ok((sweep, false));
            }
            history.push(at(beta, support));
            if history.len() > EXTRAPOLATE {
                // What converges fast is not worth the cost.
                if decrease > FAST * first {
                    self.extrapolate(support, &history, beta, residuals);
                    before = 0.0;
                }
                history = vec![at(beta, support)];
            }
        }
        Ok((budget, false))
    }

    /// Goes to the minimum for the present support and signs, as far as the signs allow.
    fn solve_exactly(
        &self,
        support: &[usize],
        beta: &mut [f64],
        residuals: &mut Residuals,
    ) -> Result<(), Interrupted> {
        let own = self.penalty.of(support);
        let Some(gram) = self.columns.products(support) else { return Ok(()) };
        let mut quadratic = Quadratic::new(&gram, &own, self.observer);
        let mut moved = at(beta, support);
        let before: Vec<f64> = support.iter().map(|&k| self.columns.pull(k, residuals)).collect();
        quadratic.solve_on_support(&mut moved, &mut before.clone())?;
        self.go_if_better(support, &moved, &before, beta, residuals);
        Ok(())
    }

    /// Goes to other coefficients of the support, where the objective is lower; `pulls` are those
    /// on the support at β.
    fn go_if_better(
        &self,
        support: &[usize],
        moved: &[f64],
        pulls: &[f64],
        beta: &mut [f64],
        residuals: &mut Residuals,
    ) {
        let mut there = residuals.clone();
        for (&k, b) in support.iter().zip(moved) {
            if *b != beta[k] {
                self.columns.shift(k, b - beta[k], &mut there);
            }
        }
        self.columns.recentre(&mut there);
        // Products of sparse columns far from zero cancel: the rows have the last word.
        if self.change(support, beta, moved, pulls, residuals, &there) <= 0.0 {
            support.iter().zip(moved).for_each(|(&k, b)| beta[k] = *b);
            *residuals = there;
        }
    }

    /// How the objective changes from β, where the pulls on the support are `pulls`, to other
    /// coefficients of the support: not at all well where the rows say otherwise, for pulls of
    /// coefficients that nearly cancel are rounding.
    fn change(
        &self,
        support: &[usize],
        beta: &[f64],
        moved: &[f64],
        pulls: &[f64],
        residuals: &Residuals,
        there: &Residuals,
    ) -> f64 {
        let (mut smooth, mut penalty, mut cost) = (0.0, 0.0, 0.0);
        for ((&k, &b), pull) in support.iter().zip(moved).zip(pulls) {
            smooth -= 0.5 * (b - beta[k]) * (pull + self.columns.pull(k, there));
            penalty += self.penalty.value(k, b) - self.penalty.value(k, beta[k]);
            cost += self.penalty.value(k, beta[k]);
        }
        match (self.columns.value(residuals), self.columns.value(there)) {
            (Some(before), Some(after))
                if after - before + penalty > 1e-10 * (before + cost) + self.rounding =>
            {
                f64::INFINITY
            }
            _ => smooth + penalty,
        }
    }

    fn sweep(&self, order: &[usize], beta: &mut [f64], residuals: &mut Residuals) -> f64 {
        let mut decrease = 0.0;
        for &k in order {
            let h = self.squares[k];
            if h + self.penalty.l2[k] <= 0.0 {
                continue;
            }
            let old = beta[k];
            let pull = self.columns.pull(k, residuals);
            let new = self.penalty.minimiser(k, pull + h * old, h);
            let step = new - old;
            if step != 0.0 {
                beta[k] = new;
                self.columns.shift(k, step, residuals);
                decrease += 0.5 * (h + self.penalty.l2[k]) * step * step;
            }
        }
        decrease
    }

    /// Where the last steps, weighted so that they nearly cancel, point to; taken if it is better.
    fn extrapolate(
        &self,
        support: &[usize],
        history: &[Vec<f64>],
        beta: &mut [f64],
        residuals: &mut Residuals,
    ) {
        let count = history.len() - 1;
        let difference =
            |a: usize| history[a + 1].iter().zip(&history[a]).map(|(x, y)| x - y).collect();
        let steps: Vec<Vec<f64>> = (0..count).map(difference).collect();
        let mut products = Matrix::zeros(count, count);
        for a in 0..count {
            for b in a..count {
                products[(b, a)] = dot(&steps[a], &steps[b]);
            }
        }
        let trace: f64 = (0..count).map(|a| products[(a, a)]).sum();
        (0..count).for_each(|a| products[(a, a)] += 1e-12 * trace);
        let Ok(Ok(factor)) = Cholesky::new(products, self.observer) else { return };
        let mut share = vec![1.0; count];
        factor.solve(&mut share);
        let total: f64 = share.iter().sum();
        if !total.is_normal() {
            return;
        }
        share.iter_mut().for_each(|s| *s /= total);
        let mut candidate = vec![0.0; support.len()];
        share.iter().zip(&history[1..]).for_each(|(s, b)| axpy(*s, b, &mut candidate));
        if self.penalty.positive && candidate.iter().any(|b| *b < 0.0) {
            return;
        }
        let pulls: Vec<f64> = support.iter().map(|&k| self.columns.pull(k, residuals)).collect();
        self.go_if_better(support, &candidate, &pulls, beta, residuals);
    }
}

fn at(beta: &[f64], support: &[usize]) -> Vec<f64> {
    support.iter().map(|&k| beta[k]).collect()
}
