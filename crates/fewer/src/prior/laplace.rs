//! p(β) = (λ/2) exp(−λ|β|): the Lasso's prior.

use super::ScaleMixture;

/// The Laplace prior with rate λ (√γ in Figueiredo 2003, sec. 3).
#[derive(Debug, Clone, Copy)]
pub struct Laplace {
    /// λ ≥ 0.
    pub lam: f64,
}

impl ScaleMixture for Laplace {
    fn weight(&self, beta: f64) -> f64 {
        self.lam / beta.abs()
    }

    fn penalty(&self, beta: f64) -> f64 {
        self.lam * beta.abs()
    }

    fn curvature(&self, _beta: f64) -> f64 {
        0.0
    }

    fn pull_at_zero(&self) -> Option<f64> {
        Some(self.lam)
    }

    fn conjugate(&self, _z: f64) -> Option<f64> {
        (self.lam > 0.0).then_some(0.0)
    }
}
