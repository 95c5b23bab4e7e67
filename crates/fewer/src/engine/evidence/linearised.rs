//! The Gaussian problem that a likelihood is near its mode: columns with B between them.

use super::dictionary::Dictionary;
use super::mode::Rows;
use crate::likelihood::Smooth;
use crate::linalg::{Matrix, cross_products};
use std::sync::Arc;

/// Candidates of unit length in the metric of B, free intercepts projected out: candidate
/// a·|chosen| + i is column chosen[i] in output a.
pub(super) struct Linearised<'a> {
    pub rows: &'a Rows<'a>,
    pub likelihood: &'a dyn Smooth,
    pub chosen: &'a [usize],
    /// (candidates,) One over their lengths in that metric; 0 where there is none to speak of.
    pub inverse_lengths: Vec<f64>,
    /// (outputs, candidates) 1ᵀBφ; no rows without free intercepts.
    pub crossed: Matrix,
    /// M⁻¹ of the intercepts.
    pub inverse: &'a Matrix,
}

impl Dictionary for Linearised<'_> {
    fn len(&self) -> usize {
        self.inverse_lengths.len()
    }

    fn products(&self, of: &[usize], with: &[usize]) -> Matrix {
        let m = self.chosen.len();
        let take = |candidates: &[usize]| -> Vec<Arc<[f64]>> {
            self.rows.columns(&candidates.iter().map(|&v| self.chosen[v % m]).collect::<Vec<_>>())
        };
        let (left, right) = (take(of), take(with));
        let n = self.rows.design.rows();
        let outputs = self.likelihood.outputs();
        let mut out = Matrix::zeros(of.len(), with.len());
        if let Some(shares) = self.likelihood.shares().filter(|_| outputs > 1) {
            let scaled = |columns: &[Arc<[f64]>], places: &[usize], w: Option<&[f64]>| {
                let column = |(c, &v): (&Arc<[f64]>, &usize)| {
                    let p = shares.column(v / m);
                    (0..n).map(|i| c[i] * p[i] * w.map_or(1.0, |w| w[i])).collect::<Vec<f64>>()
                };
                columns.iter().zip(places).flat_map(column).collect::<Vec<f64>>()
            };
            let heavy = scaled(&left, of, self.rows.design.weights());
            out = cross_products(n, &heavy, &scaled(&right, with, None));
            out.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
        }
        for a in 0..outputs {
            let others: Vec<usize> = (0..with.len()).filter(|&j| with[j] / m == a).collect();
            let own: Vec<usize> = (0..of.len()).filter(|&i| of[i] / m == a).collect();
            if own.is_empty() || others.is_empty() {
                continue;
            }
            let right: Vec<f64> = others.iter().flat_map(|&j| right[j].iter().copied()).collect();
            let both = self.rows.weighted(self.likelihood.curvature(a, a));
            let scaled = own.iter().flat_map(|&i| left[i].iter().zip(&both).map(|(x, f)| x * f));
            let block = cross_products(n, &scaled.collect::<Vec<f64>>(), &right);
            for (q, &j) in others.iter().enumerate() {
                own.iter().enumerate().for_each(|(p, &i)| out[(i, j)] = block[(p, q)]);
            }
        }
        let free = self.inverse.rows();
        for (j, &w) in with.iter().enumerate() {
            let shift: Vec<f64> = (0..free)
                .map(|c| {
                    let column = self.inverse.column(c).iter();
                    column.zip(self.crossed.column(w)).map(|(i, x)| i * x).sum()
                })
                .collect();
            for (i, &v) in of.iter().enumerate() {
                let both: f64 = self.crossed.column(v).iter().zip(&shift).map(|(x, s)| x * s).sum();
                out[(i, j)] =
                    (out[(i, j)] - both) * self.inverse_lengths[v] * self.inverse_lengths[w];
            }
        }
        out
    }

    fn gram(&self, chosen: &[usize]) -> Matrix {
        self.products(chosen, chosen)
    }
}
