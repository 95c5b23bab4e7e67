//! y = η + e with e ~ N(0, σ²).

use super::QuadraticBound;
use crate::engine::LeastSquares;
use crate::error::Result;
use crate::linalg::{Matrix, dot};

/// Noise below 1e-7 of the target's deviation is taken for none: sums of squares carry no more.
const FLOOR: f64 = 1e-14;

/// The noise variance, in units in which the target has variance 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    Known(f64),
    Estimated,
}

/// Gaussian noise with known or estimated variance.
#[derive(Debug)]
pub(crate) struct Gaussian<'a> {
    noise: Noise,
    hold: bool,
    variance: f64,
    weight: f64,          // Σ w
    target: &'a [f64],    // (n,) y, centred and scaled; empty when only moments are known
    cross: &'a [f64],     // (p,) Σ w x y
    square: f64,          // Σ w y²
    products: Vec<f64>,   // (k,) Σ w x y, active
    residual: Vec<f64>,   // (k,) Σ w x (y − η), active
    residual_square: f64, // Σ w (y − η)²
    rows: Vec<f64>,       // (n,) y − η where the rows were needed, else empty
}

impl<'a> Gaussian<'a> {
    pub fn new(
        noise: Noise,
        weight: f64,
        target: &'a [f64],
        cross: &'a [f64],
        square: f64,
    ) -> Self {
        let variance = match noise {
            Noise::Known(variance) => variance,
            Noise::Estimated => 1.0,
        };
        Self {
            noise,
            hold: false,
            variance,
            weight,
            target,
            cross,
            square,
            products: Vec::new(),
            residual: Vec::new(),
            residual_square: square,
            rows: Vec::new(),
        }
    }

    /// The same target with another kind of noise.
    pub fn with_noise(&self, noise: Noise) -> Self {
        Self::new(noise, self.weight, self.target, self.cross, self.square)
    }

    /// Σ w (y − η)².
    pub fn residual_square(&self) -> f64 {
        self.residual_square
    }

    /// Sets the variance to begin with, where it is to be estimated.
    pub fn start_at(&mut self, variance: f64) {
        if self.noise == Noise::Estimated {
            self.variance = variance.max(FLOOR);
        }
    }

    /// Whether the variance has sunk to the least that the arithmetic can tell from zero.
    pub fn is_noise_free(&self) -> bool {
        self.noise == Noise::Estimated && self.variance <= FLOOR
    }

    /// Whether the variance could not be estimated to the end.
    pub fn is_held(&self) -> bool {
        self.noise == Noise::Estimated && self.hold
    }

    fn is_free(&self) -> bool {
        self.noise == Noise::Estimated && !self.hold && self.variance > FLOOR
    }
}

impl QuadraticBound for Gaussian<'_> {
    fn update(
        &mut self,
        data: &mut LeastSquares<'_>,
        active: &[usize],
        beta: &[f64],
    ) -> Result<()> {
        data.prepare(active)?;
        self.products = active.iter().map(|&j| self.cross[j]).collect();
        self.rows.clear();
        if let Some(fitted) = data.gram_product(active, active, beta) {
            self.residual = self.products.iter().zip(&fitted).map(|(b, f)| b - f).collect();
            let explained = dot(beta, &self.products);
            self.residual_square = (self.square - explained - dot(beta, &self.residual)).max(0.0);
        }
        // Sums of squares cancel when little is left to explain: then the rows are asked.
        let by_rows = self.residual.len() != active.len()
            || !data.has_gram_for(active)
            || self.residual_square < 1e-6 * self.square;
        if by_rows && let Some(design) = data.design() {
            let fitted = data.apply(design, active, beta);
            self.rows = self.target.iter().zip(&fitted).map(|(y, f)| y - f).collect();
            self.residual = data.apply_transpose(design, active, &self.rows);
            self.residual_square = match design.weights() {
                Some(w) => self.rows.iter().zip(w).map(|(r, w)| w * r * r).sum(),
                None => dot(&self.rows, &self.rows),
            };
        }
        if self.noise == Noise::Estimated && !self.hold {
            self.variance = (self.residual_square / self.weight).max(FLOOR);
        }
        Ok(())
    }

    fn value(&self) -> f64 {
        0.5 * self.weight * self.variance.ln() + 0.5 * self.residual_square / self.variance
    }

    fn precision(&self) -> f64 {
        1.0 / self.variance
    }

    fn residual_products(&self) -> &[f64] {
        &self.residual
    }

    fn target_products(&self) -> &[f64] {
        &self.products
    }

    fn target(&self) -> &[f64] {
        self.target
    }

    fn residual_products_of(
        &self,
        data: &LeastSquares<'_>,
        wanted: &[usize],
        active: &[usize],
        beta: &[f64],
    ) -> Vec<f64> {
        if self.rows.is_empty()
            && let Some(fitted) = data.gram_product(wanted, active, beta)
        {
            return wanted.iter().zip(&fitted).map(|(&j, f)| self.cross[j] - f).collect();
        }
        let design = data.design().expect("without rows, XᵀX of every column is known");
        if self.rows.is_empty() {
            let fitted = design.apply(active, beta);
            let rows: Vec<f64> = self.target.iter().zip(&fitted).map(|(y, f)| y - f).collect();
            return design.apply_transpose(wanted, &rows);
        }
        design.apply_transpose(wanted, &self.rows)
    }

    fn hessian(&self, data: &LeastSquares<'_>, active: &[usize]) -> Result<Option<Matrix>> {
        let Some(mut matrix) = data.gram_of(active) else { return Ok(None) };
        let precision = self.precision();
        // With σ² at its best for each β, −log p = (n/2) log RSS, which curves less.
        let profile = if self.is_free() { 2.0 * precision * precision / self.weight } else { 0.0 };
        for b in 0..active.len() {
            let column = matrix.column_mut(b);
            for a in 0..column.len() {
                column[a] = precision * column[a] - profile * self.residual[a] * self.residual[b];
            }
        }
        Ok(Some(matrix))
    }

    fn hold_noise(&mut self, hold: bool) -> bool {
        std::mem::replace(&mut self.hold, hold) && !hold
    }

    fn noise_variance(&self) -> Option<f64> {
        Some(self.variance)
    }

    fn known_noise_residual(&self) -> Option<f64> {
        matches!(self.noise, Noise::Known(_)).then_some(self.residual_square)
    }
}
