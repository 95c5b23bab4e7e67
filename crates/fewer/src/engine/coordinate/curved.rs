//! Sparse columns under the curvature of a likelihood, never made dense.

use super::columns::{Residuals, WorkingColumns};
use super::gram::Gram;
use super::hessian::weighted_curvature;
use crate::data::SparseView;
use crate::likelihood::Smooth;

/// Intercepts, then working coefficients, of the quadratic that touches −log p where it is now.
///
/// Residuals are held row after row, an entry for each output. Columns are scaled but not
/// centred: the intercepts make up for it.
pub(super) struct CurvedColumns<'a> {
    x: SparseView<'a>,
    outputs: usize,
    /// (column of the matrix, or none for an intercept; its output; its scale)
    members: Vec<(Option<usize>, usize, f64)>,
    /// (n, outputs) s by rows: row weights apart, the curvature of outputs (a, b) is
    /// s_a (δ_ab − s_b).
    shares: Vec<f64>,
    weights: Option<&'a [f64]>,
    /// (n,) All of the curvature, for one output.
    alone: Vec<f64>,
}

impl<'a> CurvedColumns<'a> {
    pub fn new(
        x: SparseView<'a>,
        members: Vec<(Option<usize>, usize, f64)>,
        likelihood: &dyn Smooth,
        weights: Option<&'a [f64]>,
    ) -> Self {
        let outputs = likelihood.outputs();
        let (mut alone, mut shares) = (Vec::new(), Vec::new());
        if outputs == 1 {
            alone = weighted_curvature(likelihood, weights, 0, 0);
        } else if let Some(s) = likelihood.shares() {
            shares.extend((0..x.rows()).flat_map(|i| (0..outputs).map(move |c| s[(i, c)])));
        }
        Self { x, outputs, members, shares, weights, alone }
    }

    /// The residuals of the likelihood, times the row weights.
    pub fn residuals(&self, likelihood: &dyn Smooth) -> Residuals {
        let residual = likelihood.residual();
        let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        let of_row = |i: usize| (0..self.outputs).map(move |c| weight(i) * residual[(i, c)]);
        Residuals { values: (0..self.x.rows()).flat_map(of_row).collect(), offset: 0.0 }
    }

    /// Second derivatives in each coefficient.
    pub fn squares(&self) -> Vec<f64> {
        (0..self.members.len())
            .map(|k| {
                let mut square = 0.0;
                let output = self.members[k].1;
                self.for_each(k, |i, v| square += v * v * self.curvature(i, output, output));
                square
            })
            .collect()
    }

    fn curvature(&self, i: usize, a: usize, b: usize) -> f64 {
        if self.outputs == 1 {
            return self.alone[i];
        }
        let shares = &self.shares[i * self.outputs..][..self.outputs];
        let own = if a == b { 1.0 - shares[b] } else { -shares[b] };
        self.weights.map_or(1.0, |w| w[i]) * shares[a] * own
    }

    /// The rows where a column is not zero, with its values there.
    #[inline]
    fn for_each(&self, k: usize, mut f: impl FnMut(usize, f64)) {
        match self.members[k] {
            (Some(j), _, scale) => {
                let (rows, values) = self.x.column_slices(j);
                rows.iter().zip(values).for_each(|(&i, v)| f(i, v / scale));
            }
            (None, ..) => (0..self.x.rows()).for_each(|i| f(i, 1.0)),
        }
    }
}

impl WorkingColumns for CurvedColumns<'_> {
    fn pull(&self, k: usize, residuals: &Residuals) -> f64 {
        let output = self.members[k].1;
        let mut sum = 0.0;
        self.for_each(k, |i, v| sum += v * residuals.values[i * self.outputs + output]);
        sum
    }

    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals) {
        if self.outputs == 1 {
            self.for_each(k, |i, v| residuals.values[i] -= step * v * self.alone[i]);
            return;
        }
        let output = self.members[k].1;
        self.for_each(k, |i, v| {
            let shares = &self.shares[i * self.outputs..][..self.outputs];
            let own = &mut residuals.values[i * self.outputs..][..self.outputs];
            let change = step * v * shares[output] * self.weights.map_or(1.0, |w| w[i]);
            own.iter_mut().zip(shares).for_each(|(r, s)| *r += change * s);
            own[output] -= change;
        });
    }

    fn products(&self, chosen: &[usize]) -> Gram {
        let mut gram = Gram::default();
        gram.grow(chosen.len());
        let mut dense = vec![0.0; self.x.rows()];
        for (b, &k) in chosen.iter().enumerate() {
            self.for_each(k, |i, v| dense[i] = v);
            for (a, &l) in chosen[..=b].iter().enumerate() {
                let (left, right) = (self.members[l].1, self.members[k].1);
                let mut sum = 0.0;
                self.for_each(l, |i, v| {
                    if dense[i] != 0.0 {
                        sum += v * dense[i] * self.curvature(i, left, right);
                    }
                });
                gram.set(a, b, sum);
            }
            self.for_each(k, |i, _| dense[i] = 0.0);
        }
        gram
    }
}
