//! p(τ) ∝ 1/τ, so p(β) ∝ 1/|β|: nothing to tune, and the same in any units.

use super::ScaleMixture;

/// The Jeffreys hyperprior (Figueiredo 2003, sec. 4).
#[derive(Debug, Clone, Copy, Default)]
pub struct Jeffreys;

impl ScaleMixture for Jeffreys {
    fn weight(&self, beta: f64) -> f64 {
        1.0 / (beta * beta)
    }

    fn penalty(&self, beta: f64) -> f64 {
        beta.abs().ln()
    }

    fn curvature(&self, beta: f64) -> f64 {
        -1.0 / (beta * beta)
    }

    fn scaled_weight(&self, _f: f64, beta: f64) -> f64 {
        self.weight(beta)
    }

    fn scaled_penalty(&self, f: f64, beta: f64) -> f64 {
        f.ln() + self.penalty(beta)
    }

    fn scaled_curvature(&self, _f: f64, beta: f64) -> f64 {
        self.curvature(beta)
    }

    fn pull_at_zero(&self) -> Option<f64> {
        Some(f64::INFINITY)
    }
}
