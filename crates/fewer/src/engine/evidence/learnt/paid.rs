//! What learnt parameters cost.

use crate::prior::{Ard, EvidencePrior, Factors, exponential_variance};

/// What 1/β³ counts for in the price of a parameter beside log β. Where β is near 1, the precision of
/// a model without kernels, kernels would be free otherwise, and would follow the noise: of noise
/// alone there are hardly any now. With 1/β instead of 1/β³ weak signals were missed.
const NOISY: f64 = 8.0;

/// A prior under which learnt parameters are paid for: by Laplace's approximation an integral over
/// them is as narrow as the noise allows, ½ log β for each. Without any price enough kernels can
/// explain anything, and the evidence grows without bound as the noise vanishes.
///
/// Variances of weights have an exponential prior, which is felt by kernels that are nearly equal
/// and have huge weights of opposite signs: their difference fits a slope where there are rows, and
/// beyond them it may be anything.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paid {
    pub(super) ard: Ard,
    /// Parameters of the kernels there are, times the price of one.
    pub(super) parameters: f64,
    /// κ of the density exp(−κγ/2) of variances, in units of the target's.
    pub(super) kappa: f64,
}

impl Paid {
    /// What so many parameters cost, each times its price.
    pub(super) fn cost(parameters: f64, beta: f64) -> f64 {
        0.5 * parameters * (beta.ln() + NOISY / beta.powi(3))
    }
}

impl EvidencePrior for Paid {
    fn best_variance(&self, of: Factors, unit: f64, noise: f64) -> f64 {
        if self.kappa * unit == 0.0 {
            return self.ard.best_variance(of, unit, noise);
        }
        let square = of.q * of.q - 2.0 * self.ard.price * of.z;
        exponential_variance(Factors { q: square.max(0.0).sqrt(), ..of }, self.kappa * unit)
    }

    fn penalty(&self, variance: f64, unit: f64, _noise: f64) -> f64 {
        0.5 * self.kappa * unit * variance
    }

    fn price(&self) -> f64 {
        self.ard.price()
    }

    fn is_exact(&self) -> bool {
        self.ard.is_exact()
    }

    fn noise_power(&self) -> f64 {
        -0.5 * self.parameters
    }

    fn noise_rate(&self) -> f64 {
        0.5 * NOISY * self.parameters
    }

    fn gain(&self, of: Factors, variance: f64, unit: f64, noise: f64) -> f64 {
        self.ard.gain(of, variance, unit, noise) - self.penalty(variance, unit, noise)
    }
}
