//! P(y = 1) = Φ(η), through a latent z = η + e with e ~ N(0, 1) (Figueiredo & Jain 2001, sec. 2).

use super::QuadraticBound;
use crate::data::{Moments, Units};
use crate::engine::LeastSquares;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::special::{inverse_mills, tail_terms};

/// Beyond so many terms, second derivatives cost more than the steps they save.
const NEWTON_TERMS: usize = 400;

/// Two classes, ±1.
#[derive(Debug)]
pub(crate) struct Probit<'a> {
    signs: &'a [f64], // (n,) ±1
    weights: Option<&'a [f64]>,
    free_intercept: bool,
    intercept: f64,
    eta: Vec<f64>,      // (n,)
    target: Vec<f64>,   // (n,) E[z | y, η]
    products: Vec<f64>, // (k,) Σ w x E[z], active
    residual: Vec<f64>, // (k,) Σ w x (E[z] − η), active
    value: f64,         // −Σ w log Φ(±η)
}

impl<'a> Probit<'a> {
    pub fn new(signs: &'a [f64], weights: Option<&'a [f64]>, free_intercept: bool) -> Self {
        Self {
            signs,
            weights,
            free_intercept,
            intercept: 0.0,
            eta: vec![0.0; signs.len()],
            target: signs.to_vec(),
            products: Vec::new(),
            residual: Vec::new(),
            value: 0.0,
        }
    }

    pub fn intercept(&self) -> f64 {
        self.intercept
    }

    fn w(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    /// The intercept that is best for the other terms: Newton's method with bisection.
    fn best_intercept(&self, fitted: &[f64]) -> f64 {
        let slope = |b: f64| {
            let (mut first, mut second) = (0.0, 0.0);
            for (i, (&f, &s)) in fitted.iter().zip(self.signs).enumerate() {
                if self.w(i) == 0.0 {
                    continue;
                }
                let t = s * (f + b);
                let ratio = inverse_mills(t);
                // Where it cancels, the term is far too small to matter for a step.
                let excess = t + ratio;
                first += self.w(i) * s * ratio;
                second += self.w(i) * ratio * excess;
            }
            (first, second)
        };
        let counted = fitted.iter().enumerate().filter(|(i, _)| self.w(*i) > 0.0);
        let reach = 10.0 + counted.fold(0.0, |a: f64, (_, f)| a.max(f.abs()));
        let (mut low, mut high) = (-reach, reach);
        let mut b = self.intercept.clamp(low, high);
        for _ in 0..100 {
            let (first, second) = slope(b);
            if first > 0.0 {
                low = b;
            } else {
                high = b;
            }
            let newton = b + first / second;
            let inside = newton > low && newton < high;
            let next = if inside { newton } else { 0.5 * (low + high) };
            // Newton's error is then about the square of this.
            if (next - b).abs() <= 1e-8 * (1.0 + b.abs()) {
                return next;
            }
            b = next;
        }
        b
    }
}

impl QuadraticBound for Probit<'_> {
    fn update(
        &mut self,
        data: &mut LeastSquares<'_>,
        active: &[usize],
        beta: &[f64],
    ) -> Result<()> {
        data.prepare(active)?;
        let design = data.rows_needed()?;
        let fitted = data.apply(design, active, beta);
        if self.free_intercept {
            self.intercept = self.best_intercept(&fitted);
        }
        let mut pull = vec![0.0; fitted.len()];
        self.value = 0.0;
        for i in 0..fitted.len() {
            let (s, eta) = (self.signs[i], fitted[i] + self.intercept);
            if self.w(i) == 0.0 {
                (self.eta[i], self.target[i]) = (0.0, 0.0);
                continue;
            }
            // Figueiredo & Jain 2001, the E-step: E[z | y] = s·μ(sη), μ(t) = t + φ(t)/Φ(t)
            let (ratio, excess, log) = tail_terms(s * eta);
            self.eta[i] = eta;
            self.target[i] = s * excess;
            pull[i] = s * ratio;
            self.value -= self.w(i) * log;
        }
        self.residual = data.apply_transpose(design, active, &pull);
        self.products = match data.gram_product(active, active, beta) {
            Some(product) => product.iter().zip(&self.residual).map(|(g, r)| g + r).collect(),
            None => data.apply_transpose(design, active, &self.target),
        };
        Ok(())
    }

    fn value(&self) -> f64 {
        self.value
    }

    fn precision(&self) -> f64 {
        1.0
    }

    fn residual_products(&self) -> &[f64] {
        &self.residual
    }

    fn target_products(&self) -> &[f64] {
        &self.products
    }

    fn target(&self) -> &[f64] {
        &self.target
    }

    fn residual_products_of(
        &self,
        data: &LeastSquares<'_>,
        wanted: &[usize],
        _active: &[usize],
        _beta: &[f64],
    ) -> Vec<f64> {
        let pull: Vec<f64> = self.target.iter().zip(&self.eta).map(|(t, e)| t - e).collect();
        data.design().map_or(Vec::new(), |d| d.apply_transpose(wanted, &pull))
    }

    /// Σ w r(t)μ(t) x xᵀ; with a free intercept about the mean in these weights, which is what is
    /// left when the intercept follows.
    fn hessian(&self, data: &LeastSquares<'_>, active: &[usize]) -> Result<Option<Matrix>> {
        let design = data.rows_needed()?;
        if active.len() > NEWTON_TERMS.min(self.signs.len()) {
            return Ok(None);
        }
        let curvature: Vec<f64> = (0..self.signs.len())
            .map(|i| {
                if self.w(i) == 0.0 {
                    return 0.0;
                }
                let (ratio, excess, _) = tail_terms(self.signs[i] * self.eta[i]);
                self.w(i) * ratio * excess
            })
            .collect();
        let zeros = vec![0.0; curvature.len()];
        let moments =
            Moments::of(design.raw(), active, &zeros, Some(&curvature), true, data.observer())?;
        let (mut mean, deviation): (Vec<f64>, Vec<f64>) =
            active.iter().map(|&j| design.units(j)).unzip();
        if self.free_intercept {
            mean = moments.units(true, false).mean;
        }
        let units = Units { mean, deviation, target_mean: 0.0, target_deviation: 1.0 };
        Ok(Some(moments.in_units(&units).gram))
    }

    fn hold_noise(&mut self, _hold: bool) -> bool {
        false
    }

    fn noise_variance(&self) -> Option<f64> {
        None
    }

    fn known_noise_residual(&self) -> Option<f64> {
        None
    }
}
