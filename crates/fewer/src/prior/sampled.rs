//! Priors of the Gibbs engine: on the variances of the weights, in units of the noise.

use crate::random::Stream;

/// A prior w_j ~ N(0, σ²τ_j) with a law of the variances τ_j that can be drawn from.
pub(crate) trait SampledPrior: Send {
    /// Draws all τ, and λ where it is free, given the weights w/σ.
    fn draw(&mut self, relative: &[f64], variances: &mut [f64], stream: &mut Stream);

    /// log of the density of w·eᵗ, λ·e⁻ᵗ (or of w·eᵗ where λ is held) relative to that of w, λ,
    /// with the factor that changes of variables bring; `sum` is Σ|w|/σ. `None`: no such move.
    fn log_rescaled(&self, _t: f64, _columns: usize, _sum: f64) -> Option<f64> {
        None
    }

    /// Takes λ·e⁻ᵗ for λ where it is free.
    fn rescale(&mut self, _t: f64) {}

    /// λ, where there is one.
    fn lam(&self) -> Option<f64> {
        None
    }
}
