//! p(β) = N(β | 0, 1/λ): ridge regression's prior, which keeps every term.

use super::ScaleMixture;

/// The Gaussian prior with precision λ.
#[derive(Debug, Clone, Copy)]
pub struct Gaussian {
    /// λ ≥ 0.
    pub lam: f64,
}

impl ScaleMixture for Gaussian {
    fn weight(&self, _beta: f64) -> f64 {
        self.lam
    }

    fn penalty(&self, beta: f64) -> f64 {
        0.5 * self.lam * beta * beta
    }

    fn curvature(&self, _beta: f64) -> f64 {
        self.lam
    }

    fn pull_at_zero(&self) -> Option<f64> {
        None
    }

    fn conjugate(&self, z: f64) -> Option<f64> {
        if self.lam > 0.0 { Some(z * z / (2.0 * self.lam)) } else { None }
    }
}
