//! p(τ) ∝ exp(−λτ/2) for the variance τσ² of each weight, σ² being that of the noise (Helgøy & Li
//! 2022): the answer follows the units of y.

use super::exponential::{Rate, best_variance};
use super::{EvidencePrior, Factors};

/// The prior of the Bayesian lasso of type II, with p(σ²) ∝ 1/σ².
#[derive(Debug, Clone, Copy)]
pub struct Bls {
    /// λ ≥ 0.
    pub rate: Rate,
}

impl EvidencePrior for Bls {
    fn best_variance(&self, of: Factors, unit: f64, noise: f64) -> f64 {
        best_variance(of, self.rate.value() * unit / noise)
    }

    fn penalty(&self, variance: f64, unit: f64, noise: f64) -> f64 {
        0.5 * self.rate.value() * unit * variance / noise
    }

    fn is_relative_to_noise(&self) -> bool {
        true
    }

    fn noise_power(&self) -> f64 {
        1.0
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

    fn update_hyper(&mut self, variances: &[f64], columns: usize, noise: f64) -> f64 {
        let relative: Vec<f64> = variances.iter().map(|v| v / noise).collect();
        self.rate.update(&relative, columns)
    }
}
