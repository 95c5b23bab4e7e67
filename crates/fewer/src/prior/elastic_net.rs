//! p(β) ∝ exp(−λ₁|β| − λ₂β²/2): the elastic net's prior, with Laplace and Gauss for its ends.

use super::ScaleMixture;

/// The product of a Laplace and a Gaussian prior.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ElasticNet {
    /// λ₁ ≥ 0.
    pub l1: f64,
    /// λ₂ ≥ 0.
    pub l2: f64,
}

impl ScaleMixture for ElasticNet {
    fn weight(&self, beta: f64) -> f64 {
        self.scaled_weight(1.0, beta)
    }

    fn penalty(&self, beta: f64) -> f64 {
        self.l1 * beta.abs() + 0.5 * self.l2 * beta * beta
    }

    fn curvature(&self, _beta: f64) -> f64 {
        self.l2
    }

    fn pull_at_zero(&self) -> Option<f64> {
        (self.l1 > 0.0).then_some(self.l1)
    }

    fn scaled_weight(&self, f: f64, beta: f64) -> f64 {
        // A weight without a penalty has f = 0.
        let absolute = if f * self.l1 > 0.0 { f * self.l1 / beta.abs() } else { 0.0 };
        absolute + f * f * self.l2
    }
}
