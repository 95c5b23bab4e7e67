//! Columns under the curvature of a likelihood: the quadratic that touches −log p, by its rows.

use super::columns::{Residuals, WorkingColumns};
use super::gram::Gram;
use super::hessian::weighted_curvature;
use crate::data::SparseView;
use crate::likelihood::Smooth;
use crate::linalg::{Matrix, add_multiple_of_product, axpy, dot, sparse_dot, weighted_square};

/// Intercepts, then working coefficients, of the quadratic that touches −log p where it is now.
pub(super) trait Curved: WorkingColumns {
    /// The residuals of the likelihood, times the row weights.
    fn residuals(&self, likelihood: &dyn Smooth) -> Residuals;

    /// Second derivatives in each coefficient.
    fn squares(&self) -> Vec<f64>;
}

/// Sparse columns, never made dense.
///
/// Residuals are held row after row, an entry for each output. Columns are scaled but not
/// centred: the intercepts make up for it.
pub(super) struct CurvedSparse<'a> {
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

impl<'a> CurvedSparse<'a> {
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
                rows.iter().zip(values).for_each(|(&i, v)| f(i as usize, v / scale));
            }
            (None, ..) => (0..self.x.rows()).for_each(|i| f(i, 1.0)),
        }
    }
}

impl WorkingColumns for CurvedSparse<'_> {
    fn pull(&self, k: usize, residuals: &Residuals) -> f64 {
        if let ((Some(j), _, scale), 1) = (self.members[k], self.outputs) {
            let (rows, values) = self.x.column_slices(j);
            return sparse_dot(rows, values, &residuals.values) / scale;
        }
        let output = self.members[k].1;
        let mut sum = 0.0;
        self.for_each(k, |i, v| sum += v * residuals.values[i * self.outputs + output]);
        sum
    }

    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals) {
        if let ((Some(j), _, scale), 1) = (self.members[k], self.outputs) {
            let step = step / scale;
            let (rows, values) = self.x.column_slices(j);
            for (&i, v) in rows.iter().zip(values) {
                residuals.values[i as usize] -= step * v * self.alone[i as usize];
            }
            return;
        }
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

impl Curved for CurvedSparse<'_> {
    fn residuals(&self, likelihood: &dyn Smooth) -> Residuals {
        let residual = likelihood.residual();
        let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        let of_row = |i: usize| (0..self.outputs).map(move |c| weight(i) * residual[(i, c)]);
        Residuals { values: (0..self.x.rows()).flat_map(of_row).collect(), ..Residuals::default() }
    }

    fn squares(&self) -> Vec<f64> {
        let square = |k: usize| {
            if let ((Some(j), _, scale), 1) = (self.members[k], self.outputs) {
                let (rows, values) = self.x.column_slices(j);
                let unit = 1.0 / scale;
                let square = |(&i, v): (&u32, &f64)| (v * unit).powi(2) * self.alone[i as usize];
                return rows.iter().zip(values).map(square).sum();
            }
            let mut square = 0.0;
            let output = self.members[k].1;
            self.for_each(k, |i, v| square += v * v * self.curvature(i, output, output));
            square
        };
        (0..self.members.len()).map(square).collect()
    }
}

/// Dense columns, packed one after the other; residuals are held output after output.
pub(super) struct CurvedPacked<'a> {
    rows: usize,
    values: &'a [f64],
    /// The output of each coefficient, the first ones being intercepts.
    outputs: Vec<usize>,
    free: usize,
    /// (n, ≥ outputs) s: row weights apart, the curvature of outputs (a, b) is s_a (δ_ab − s_b).
    shares: Option<&'a Matrix>,
    /// Row weights times the curvature of each output with itself.
    own: Vec<Vec<f64>>,
    weights: Option<&'a [f64]>,
}

impl<'a> CurvedPacked<'a> {
    pub fn new(
        rows: usize,
        values: &'a [f64],
        outputs: Vec<usize>,
        free: usize,
        likelihood: &'a dyn Smooth,
        weights: Option<&'a [f64]>,
    ) -> Self {
        let own = |a: usize| weighted_curvature(likelihood, weights, a, a);
        let own = (0..likelihood.outputs()).map(own).collect();
        Self { rows, values, outputs, free, shares: likelihood.shares(), own, weights }
    }

    /// The column of coefficient `k`, or none for an intercept's ones.
    fn column(&self, k: usize) -> Option<&[f64]> {
        let k = k.checked_sub(self.free)?;
        Some(&self.values[k * self.rows..][..self.rows])
    }

    /// The column of a coefficient, times the curvature of its output and another.
    fn curved(&self, k: usize, other: usize) -> Vec<f64> {
        let output = self.outputs[k];
        let mut curved = self.own[output].clone();
        if let (true, Some(shares)) = (output != other, self.shares) {
            self.weighted_share(output, &mut curved);
            curved.iter_mut().zip(shares.column(other)).for_each(|(c, s)| *c *= -s);
        }
        if let Some(x) = self.column(k) {
            curved.iter_mut().zip(x).for_each(|(c, x)| *c *= x);
        }
        curved
    }

    /// w s of an output.
    fn weighted_share(&self, output: usize, out: &mut Vec<f64>) {
        let Some(shares) = self.shares else { return };
        out.clear();
        match self.weights {
            Some(w) => out.extend(shares.column(output).iter().zip(w).map(|(s, w)| s * w)),
            None => out.extend_from_slice(shares.column(output)),
        }
    }
}

impl WorkingColumns for CurvedPacked<'_> {
    fn pull(&self, k: usize, residuals: &Residuals) -> f64 {
        let residual = &residuals.values[self.outputs[k] * self.rows..][..self.rows];
        self.column(k).map_or_else(|| residual.iter().sum(), |x| dot(x, residual))
    }

    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals) {
        let output = self.outputs[k];
        let own = &mut residuals.values[output * self.rows..][..self.rows];
        match self.column(k) {
            Some(x) => add_multiple_of_product(-step, x, &self.own[output], own),
            None => axpy(-step, &self.own[output], own),
        }
        let Some(shares) = self.shares.filter(|_| self.own.len() > 1) else { return };
        let mut shared = Vec::with_capacity(self.rows);
        self.weighted_share(output, &mut shared);
        if let Some(x) = self.column(k) {
            shared.iter_mut().zip(x).for_each(|(v, x)| *v *= x);
        }
        let others = residuals.values.chunks_exact_mut(self.rows).enumerate();
        for (a, residual) in others.filter(|(a, _)| *a != output) {
            add_multiple_of_product(step, &shared, shares.column(a), residual);
        }
    }

    fn products(&self, chosen: &[usize]) -> Gram {
        let mut gram = Gram::default();
        gram.grow(chosen.len());
        for (b, &k) in chosen.iter().enumerate() {
            for (a, &l) in chosen[..=b].iter().enumerate() {
                let curved = self.curved(k, self.outputs[l]);
                let product =
                    self.column(l).map_or_else(|| curved.iter().sum(), |x| dot(x, &curved));
                gram.set(a, b, product);
            }
        }
        gram
    }
}

impl Curved for CurvedPacked<'_> {
    fn residuals(&self, likelihood: &dyn Smooth) -> Residuals {
        let mut values = likelihood.residual().as_slice().to_vec();
        if let Some(w) = self.weights {
            for of_output in values.chunks_exact_mut(self.rows) {
                of_output.iter_mut().zip(w).for_each(|(r, w)| *r *= w);
            }
        }
        Residuals { values, ..Residuals::default() }
    }

    fn squares(&self) -> Vec<f64> {
        let square = |k: usize| {
            let curvature = &self.own[self.outputs[k]];
            self.column(k).map_or_else(|| curvature.iter().sum(), |x| weighted_square(x, curvature))
        };
        (0..self.outputs.len()).map(square).collect()
    }
}
