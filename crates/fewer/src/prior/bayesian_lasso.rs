//! The Laplace prior given the noise, p(w_j | σ) = λ/(2σ) exp(−λ|w_j|/σ), as a mixture of
//! Gaussians of variance σ²τ_j with τ_j ~ Exp(λ²/2) (Park & Casella 2008, eq. 4 and 5).

use super::SampledPrior;
use crate::random::Stream;

/// λ² ~ Gamma(shape, rate).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GammaOfSquare {
    pub shape: f64,
    pub rate: f64,
}

/// The Laplace prior given the noise.
#[derive(Debug, Clone)]
pub(crate) struct BayesianLasso {
    pub lam: f64,
    /// The prior of λ²; without one λ is held.
    pub hyperprior: Option<GammaOfSquare>,
}

impl SampledPrior for BayesianLasso {
    fn draw(&mut self, relative: &[f64], variances: &mut [f64], stream: &mut Stream) {
        if let Some(prior) = self.hyperprior {
            // Of λ itself with τ integrated out: λ^(p + 2r − 1) exp(−λΣ|w|/σ − δλ²).
            let sum: f64 = relative.iter().map(|w| w.abs()).sum();
            let shape = relative.len() as f64 + 2.0 * prior.shape;
            self.lam = stream.tilted_gamma(shape, sum, prior.rate);
        }
        // 1/τ is inverse Gaussian of mean λσ/|w| and shape λ² (Park & Casella 2008, sec. 2.1).
        for (variance, w) in variances.iter_mut().zip(relative) {
            *variance = stream.inverse_of_inverse_gaussian(w.abs() / self.lam, self.lam);
        }
    }

    fn can_be_rescaled(&self) -> bool {
        true
    }

    fn log_weights_rescaled(&self, t: f64, columns: usize, sum: f64) -> f64 {
        match self.hyperprior {
            // λ|w| stays as it is, and so does λᵖ dw.
            Some(prior) => self.log_lam_rescaled(prior, t),
            None => columns as f64 * t - self.lam * sum * t.exp(),
        }
    }

    fn log_variances_rescaled(&self, t: f64, variances: &[f64]) -> f64 {
        match self.hyperprior {
            // λ²τ stays as it is, and so does λ²ᵖ dτ.
            Some(prior) => self.log_lam_rescaled(prior, t),
            None => {
                let sum: f64 = variances.iter().sum();
                2.0 * variances.len() as f64 * t - 0.5 * self.lam.powi(2) * sum * (2.0 * t).exp()
            }
        }
    }

    fn rescale(&mut self, t: f64) {
        if self.hyperprior.is_some() {
            self.lam *= (-t).exp();
        }
    }

    fn lam(&self) -> Option<f64> {
        Some(self.lam)
    }
}

impl BayesianLasso {
    /// What is left of the law of λ² at λ²e⁻²ᵗ, with dλ/λ for t.
    fn log_lam_rescaled(&self, prior: GammaOfSquare, t: f64) -> f64 {
        -2.0 * prior.shape * t - prior.rate * self.lam * self.lam * (-2.0 * t).exp()
    }
}
