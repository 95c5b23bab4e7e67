//! Rows, and functions on them.

use super::bounds::Variables;
use crate::basis::Shape;
use crate::engine::evidence::posterior::Active;
use crate::linalg::{Matrix, axpy, cross_products, dot};
use rayon::prelude::*;
use std::sync::Arc;

/// Sample of inputs with the target.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// (n, d) Inputs.
    pub x: Arc<Matrix>,
    /// (n,) √w·t, t about its mean where the intercept is free.
    pub target: Vec<f64>,
    /// (n,) √w; empty where every row weighs 1.
    pub root: Vec<f64>,
    /// Σw.
    pub weight: f64,
    /// Rows that there are, by weight.
    pub count: f64,
    /// (n,) What errors are multiplied by where candidates start from large ones; empty for 1.
    pub blame: Vec<f64>,
}

impl Sample {
    pub(super) fn len(&self) -> usize {
        self.target.len()
    }

    /// Rows that parameters can be held against: copies of one make it no harder to interpolate.
    pub(crate) fn different(&self) -> f64 {
        self.count.min(self.len() as f64)
    }

    /// Rows that a kernel covers: the sum of its values, and one at least.
    pub(super) fn covered(&self, shape: &Shape) -> f64 {
        let mut values = vec![0.0; self.len()];
        shape.write(self.x.as_slice(), &mut values);
        let counted = |(i, v): (usize, &f64)| v * self.root.get(i).map_or(1.0, |r| r * r);
        values.iter().enumerate().map(counted).sum::<f64>().max(1.0)
    }

    /// The values of a function on all rows, and its column: centred where the intercept is free,
    /// times √w.
    fn column(&self, shape: Option<&Shape>, centred: bool, raw: &mut [f64], column: &mut [f64]) {
        match shape {
            Some(shape) => shape.write(self.x.as_slice(), raw),
            None => raw.fill(1.0),
        }
        column.copy_from_slice(raw);
        self.weight_column(centred, column);
    }

    /// Values times √w, centred where the intercept is free.
    fn weight_column(&self, centred: bool, column: &mut [f64]) {
        if !self.root.is_empty() {
            column.iter_mut().zip(&self.root).for_each(|(c, r)| *c *= r);
        }
        if centred {
            if self.root.is_empty() {
                let mean = column.iter().sum::<f64>() / self.weight;
                column.iter_mut().for_each(|c| *c -= mean);
            } else {
                let mean = dot(column, &self.root) / self.weight;
                axpy(-mean, &self.root, column);
            }
        }
    }

    /// The derivatives of kernels in their variables, as columns.
    pub(super) fn slopes(
        &self,
        shapes: &[Option<Shape>],
        kernels: &[Option<Variables>],
        raw: &Matrix,
        centred: bool,
    ) -> Matrix {
        let n = self.len();
        let sizes = kernels.iter().map(|v| v.as_ref().map_or(0, |v| v.origin.len()));
        let mut out = Matrix::zeros(n, sizes.clone().sum());
        let mut rest = out.as_mut_slice();
        let mut parts = Vec::with_capacity(shapes.len());
        for size in sizes {
            let (part, others) = rest.split_at_mut(size * n);
            parts.push(part);
            rest = others;
        }
        parts.into_par_iter().enumerate().for_each(|(k, part)| {
            if let (Some(shape), Some(v)) = (&shapes[k], &kernels[k]) {
                shape.slopes(self.x.as_slice(), raw.column(k), part);
                for (p, column) in part.chunks_mut(n.max(1)).enumerate() {
                    let unit = v.units.get(p).copied().unwrap_or(1.0);
                    column.iter_mut().for_each(|c| *c *= unit);
                    self.weight_column(centred, column);
                }
            }
        });
        out
    }

    pub(super) fn columns(&self, shapes: &[Option<Shape>], centred: bool) -> (Matrix, Matrix) {
        let n = self.len();
        let mut raw = Matrix::zeros(n, shapes.len());
        let mut columns = Matrix::zeros(n, shapes.len());
        let pairs = raw.as_mut_slice().par_chunks_mut(n.max(1));
        let pairs = pairs.zip(columns.as_mut_slice().par_chunks_mut(n.max(1)));
        pairs.zip(shapes).for_each(|((raw, column), shape)| {
            self.column(shape.as_ref(), centred, raw, column);
        });
        (raw, columns)
    }

    /// t − Fμ.
    pub(super) fn error(&self, columns: &Matrix, mean: &[f64]) -> Vec<f64> {
        let mut error = self.target.clone();
        mean.iter().enumerate().for_each(|(k, m)| axpy(-m, columns.column(k), &mut error));
        error
    }

    /// Takes the mean of values, by weight, off them.
    pub(super) fn centre(&self, values: &mut [f64]) {
        let of_row = |i: usize| self.root.get(i).map_or(1.0, |r| r * r);
        let sum: f64 = values.iter().enumerate().map(|(i, v)| of_row(i) * v).sum();
        let mean = sum / self.weight;
        values.iter_mut().for_each(|v| *v -= mean);
    }

    /// Some of the rows, which stand for all.
    pub(super) fn part(&self, chosen: &[usize], centred: bool) -> Self {
        let share = (self.len() as f64 / chosen.len() as f64).sqrt();
        let x = self.x.part(chosen, 0..self.x.columns());
        let root = |i: &usize| share * self.root.get(*i).copied().unwrap_or(1.0);
        let root: Vec<f64> = chosen.iter().map(root).collect();
        let weight = dot(&root, &root);
        let mut target: Vec<f64> = chosen.iter().map(|&i| share * self.target[i]).collect();
        if centred {
            let mean = dot(&target, &root) / weight;
            axpy(-mean, &root, &mut target);
        }
        Self { x: Arc::new(x), target, root, weight, count: self.count, blame: Vec::new() }
    }

    /// How far the nearest row is from a kernel, as minus the log of its largest value; and that
    /// row.
    pub(super) fn distance(raw: &[f64]) -> (f64, usize) {
        let first = (f64::NEG_INFINITY, 0);
        let best =
            raw.iter().enumerate().fold(first, |a, (i, v)| if *v > a.0 { (*v, i) } else { a });
        (-best.0.ln(), best.1)
    }

    /// The derivative of that distance in the parameters.
    pub(super) fn distance_gradient(&self, shape: &Shape, raw: &[f64], row: usize) -> Vec<f64> {
        let at: Vec<f64> = (0..self.x.columns()).map(|j| self.x[(row, j)]).collect();
        shape.contract(&at, &[raw[row]], &[-1.0 / raw[row]])
    }
}

/// What a posterior needs of columns.
pub(super) fn active(rows: &Sample, columns: &Matrix) -> Active {
    let (n, all) = (rows.len(), columns.as_slice());
    Active {
        gram: cross_products(n, all, all),
        cross: (0..columns.columns()).map(|k| dot(columns.column(k), &rows.target)).collect(),
        square: dot(&rows.target, &rows.target),
    }
}
