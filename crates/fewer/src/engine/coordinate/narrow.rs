//! Columns in single precision, for sweeps that wait for memory: what descent changes is
//! followed, not where it is, so that rounding is a part of the change, and the next round, which
//! begins with exact pulls, corrects it.

use super::columns::{Residuals, WorkingColumns};
use super::gram::Gram;
use crate::likelihood::Smooth;
use crate::linalg::{
    add_multiple_of_product_narrow, axpy_narrow, dot_narrow, weighted_square_narrow,
};

/// Intercepts, then working columns, packed one after the other. Rows have no weights.
pub(super) struct NarrowWorking<'a> {
    rows: usize,
    values: &'a [f32],
    /// The output of each coefficient, the first ones being intercepts.
    outputs: Vec<usize>,
    free: usize,
    /// The pulls where descent begins.
    pulls: &'a [f64],
    /// The curvature of the likelihood, where it is not one.
    curvature: Option<Curvature>,
}

/// s of each output: the curvature of outputs (a, b) is s_a (δ_ab − s_b).
struct Curvature {
    shares: Vec<Vec<f32>>,
    own: Vec<Vec<f32>>,
}

impl<'a> NarrowWorking<'a> {
    /// Least squares, with these pulls.
    pub fn new(rows: usize, values: &'a [f32], pulls: &'a [f64]) -> Self {
        let outputs = vec![0; pulls.len()];
        Self { rows, values, outputs, free: 0, pulls, curvature: None }
    }

    /// The quadratic that touches a likelihood where it is now, with these pulls; outputs are those
    /// of the coefficients, the first of which are intercepts.
    pub fn curved(
        rows: usize,
        values: &'a [f32],
        pulls: &'a [f64],
        (outputs, free): (Vec<usize>, usize),
        likelihood: &dyn Smooth,
    ) -> Self {
        let narrow = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        let all = 0..likelihood.outputs();
        let own = all.clone().map(|a| narrow(&likelihood.curvature(a, a))).collect();
        let shares = match likelihood.shares() {
            Some(shares) if likelihood.outputs() > 1 => {
                all.map(|a| narrow(shares.column(a))).collect()
            }
            _ => Vec::new(),
        };
        Self { rows, values, outputs, free, pulls, curvature: Some(Curvature { shares, own }) }
    }

    /// Where descent begins: nothing has changed.
    pub fn start(&self) -> Residuals {
        let outputs = self.curvature.as_ref().map_or(1, |c| c.own.len());
        Residuals { narrow: vec![0.0; outputs * self.rows], ..Residuals::default() }
    }

    /// Second derivatives in each coefficient.
    pub fn squares(&self) -> Vec<f64> {
        let square = |k: usize| match (&self.curvature, self.column(k)) {
            (Some(c), Some(x)) => weighted_square_narrow(x, &c.own[self.outputs[k]]),
            (Some(c), None) => c.own[self.outputs[k]].iter().map(|v| f64::from(*v)).sum(),
            (None, Some(x)) => dot_narrow(x, x),
            (None, None) => self.rows as f64,
        };
        (0..self.outputs.len()).map(square).collect()
    }

    /// The column of coefficient `k`, or none for an intercept's ones.
    fn column(&self, k: usize) -> Option<&[f32]> {
        let k = k.checked_sub(self.free)?;
        Some(&self.values[k * self.rows..][..self.rows])
    }

    /// Adds a multiple of the column of `k`, times a factor of each row, to a change of residuals.
    fn add(&self, k: usize, step: f64, factors: Option<&[f32]>, to: &mut [f32]) {
        match (self.column(k), factors) {
            (Some(x), Some(f)) => add_multiple_of_product_narrow(step, x, f, to),
            (Some(x), None) | (None, Some(x)) => axpy_narrow(step, x, to),
            (None, None) => to.iter_mut().for_each(|v| *v += step as f32),
        }
    }
}

impl WorkingColumns for NarrowWorking<'_> {
    fn pull(&self, k: usize, residuals: &Residuals) -> f64 {
        let change = &residuals.narrow[self.outputs[k] * self.rows..][..self.rows];
        let change = match self.column(k) {
            Some(x) => dot_narrow(x, change),
            None => change.iter().map(|v| f64::from(*v)).sum(),
        };
        self.pulls[k] - change
    }

    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals) {
        let output = self.outputs[k];
        let own = &mut residuals.narrow[output * self.rows..][..self.rows];
        let Some(Curvature { shares, own: curvature }) = &self.curvature else {
            return self.add(k, step, None, own);
        };
        self.add(k, step, Some(&curvature[output]), own);
        if shares.is_empty() {
            return;
        }
        let mut shared = vec![0.0; self.rows];
        self.add(k, 1.0, Some(&shares[output]), &mut shared);
        let others = residuals.narrow.chunks_exact_mut(self.rows).enumerate();
        for (a, residual) in others.filter(|(a, _)| *a != output) {
            add_multiple_of_product_narrow(-step, &shared, &shares[a], residual);
        }
    }

    fn products(&self, chosen: &[usize]) -> Option<Gram> {
        let mut gram = Gram::default();
        gram.grow(chosen.len());
        for (b, &k) in chosen.iter().enumerate() {
            let mut there = self.start();
            self.shift(k, 1.0, &mut there);
            for (a, &l) in chosen[..=b].iter().enumerate() {
                gram.set(a, b, self.pulls[l] - self.pull(l, &there));
            }
        }
        Some(gram)
    }
}
