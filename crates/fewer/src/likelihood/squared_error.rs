//! ½Σ w (y − η)²: Gaussian noise of unit variance.

use super::Smooth;
use crate::linalg::Matrix;
use std::ops::Range;

/// Half the weighted sum of squared errors.
pub(crate) struct SquaredError<'a> {
    target: &'a [f64],
    weights: Option<&'a [f64]>,
    residual: Matrix,
    square: f64,
    /// Σ w y (y − η).
    product: f64,
}

impl<'a> SquaredError<'a> {
    /// With η = 0 for every row.
    pub fn new(target: &'a [f64], weights: Option<&'a [f64]>) -> Self {
        let residual = Matrix::from_columns(target.len(), 1, target.to_vec());
        let mut error = Self { target, weights, residual, square: 0.0, product: 0.0 };
        error.sums();
        error
    }

    fn sums(&mut self) {
        let r = self.residual.as_slice();
        let w = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        (self.square, self.product) = r
            .iter()
            .zip(self.target)
            .enumerate()
            .fold((0.0, 0.0), |(square, product), (i, (r, y))| {
                (square + w(i) * r * r, product + w(i) * y * r)
            });
    }
}

impl Smooth for SquaredError<'_> {
    fn outputs(&self) -> usize {
        1
    }

    fn shares(&self) -> Option<&Matrix> {
        None
    }

    fn update(&mut self, eta: &Matrix) {
        let residual = self.residual.as_mut_slice().iter_mut();
        residual.zip(self.target.iter().zip(eta.as_slice())).for_each(|(r, (y, e))| *r = y - e);
        self.sums();
    }

    fn of_rows(&self, rows: Range<usize>, eta: &mut Matrix) -> f64 {
        let w = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        let mut square = 0.0;
        for (i, e) in rows.zip(eta.as_mut_slice()) {
            *e = self.target[i] - *e;
            square += w(i) * *e * *e;
        }
        0.5 * square
    }

    fn value(&self) -> f64 {
        0.5 * self.square
    }

    fn residual(&self) -> &Matrix {
        &self.residual
    }

    fn dual(&self, kappa: f64) -> f64 {
        kappa * self.product - 0.5 * kappa * kappa * self.square
    }

    fn best_kappa(&self) -> f64 {
        if self.square > 0.0 { self.product / self.square } else { 1.0 }
    }

    fn concavity(&self) -> f64 {
        1.0
    }
}
