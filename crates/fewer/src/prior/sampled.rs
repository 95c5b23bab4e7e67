//! Priors of the Gibbs engine: on the variances of the weights, in units of the noise.

use crate::random::Stream;

/// A prior w_j ~ N(0, σ²τ_j) with a law of the variances τ_j that can be drawn from.
pub(crate) trait SampledPrior: Send {
    /// Draws all τ, and λ where it is free, given the weights w/σ.
    fn draw(&mut self, relative: &[f64], variances: &mut [f64], stream: &mut Stream);

    /// Whether weights or variances, and λ with them, may be multiplied by one number.
    fn can_be_rescaled(&self) -> bool {
        false
    }

    /// log of the density of w·eᵗ, λ·e⁻ᵗ (or of w·eᵗ where λ is held), up to a constant and with
    /// the factor that the change of variables brings; `sum` is Σ|w|/σ of so many columns.
    fn log_weights_rescaled(&self, _t: f64, _columns: usize, _sum: f64) -> f64 {
        0.0
    }

    /// The same of τ·e²ᵗ, λ·e⁻ᵗ.
    fn log_variances_rescaled(&self, _t: f64, _variances: &[f64]) -> f64 {
        0.0
    }

    /// Takes λ·e⁻ᵗ for λ where it is free.
    fn rescale(&mut self, _t: f64) {}

    /// λ, where there is one.
    fn lam(&self) -> Option<f64> {
        None
    }
}
