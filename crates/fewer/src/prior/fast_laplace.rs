//! p(γ) ∝ exp(−λγ/2) for the variance γ of each weight (Babacan, Molina & Katsaggelos 2010).

use super::exponential::{Rate, best_variance};
use super::{EvidencePrior, Factors};

/// The prior of Fast Laplace: λ has the units of 1/y².
#[derive(Debug, Clone, Copy)]
pub struct FastLaplace {
    /// λ ≥ 0.
    pub rate: Rate,
}

impl EvidencePrior for FastLaplace {
    fn best_variance(&self, of: Factors, unit: f64, _noise: f64) -> f64 {
        best_variance(of, self.rate.value() * unit)
    }

    fn penalty(&self, variance: f64, unit: f64, _noise: f64) -> f64 {
        0.5 * self.rate.value() * unit * variance
    }

    fn lam(&self) -> Option<f64> {
        Some(self.rate.value())
    }

    fn has_free_hyper(&self) -> bool {
        !self.rate.is_fixed()
    }

    fn set_hyper(&mut self, lam: f64) {
        self.rate.set(lam);
    }

    fn update_hyper(&mut self, variances: &[f64], columns: usize, _noise: f64) -> f64 {
        self.rate.update(variances, columns)
    }
}
