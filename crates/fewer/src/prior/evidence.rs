//! Priors of the evidence engine: on the variance of a weight, of which there is one for each.

/// What the data says of the variance γ of one column's weight, all other columns being as they
/// are: the evidence gains ½[q²γ/(1 + γs) − log(1 + γs)], and effective parameters grow by
/// zγ/(1 + γs) (Tipping & Faul 2003, eq. 18).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Factors {
    /// φᵀC⁻¹φ, the sparsity factor.
    pub s: f64,
    /// φᵀC⁻¹t, the quality factor.
    pub q: f64,
    /// φᵀC⁻¹B⁻¹C⁻¹φ, with B the precisions of the noise.
    pub z: f64,
}

impl Factors {
    /// What the evidence gains by a variance.
    pub fn gain(&self, variance: f64) -> f64 {
        let shrink = variance * self.s;
        0.5 * (self.q * self.q * variance / (1.0 + shrink) - shrink.ln_1p())
    }
}

/// A prior on the variance of a weight.
///
/// The engine maximises log evidence − Σ penalty(γ_i) − c·(effective parameters).
pub trait EvidencePrior: Sync + std::fmt::Debug {
    /// The variance γ ≥ 0 at which `gain` is largest. The prior is on `unit`·γ; `noise` is the
    /// variance of the noise.
    fn best_variance(&self, of: Factors, unit: f64, noise: f64) -> f64;

    /// −log p(unit·γ) up to a constant: proportional to γ.
    fn penalty(&self, _variance: f64, _unit: f64, _noise: f64) -> f64 {
        0.0
    }

    /// Whether the penalty is proportional to the precision of the noise as well.
    fn is_relative_to_noise(&self) -> bool {
        false
    }

    /// c, the price of an effective parameter.
    fn price(&self) -> f64 {
        0.0
    }

    /// Whether `gain` is what the objective changes by; not so for formulas as published.
    fn is_exact(&self) -> bool {
        true
    }

    /// The prior of the noise variance is its (−k)-th power, k being this.
    fn noise_power(&self) -> f64 {
        0.0
    }

    /// The prior of the noise variance σ² has a factor exp(−kσ⁶), k being this: nothing to small
    /// noise, and much to that which leaves all unexplained.
    fn noise_rate(&self) -> f64 {
        0.0
    }

    /// What the objective gains by a variance in place of 0.
    fn gain(&self, of: Factors, variance: f64, unit: f64, noise: f64) -> f64 {
        let freedom = variance * of.z / (1.0 + variance * of.s);
        of.gain(variance) - self.penalty(variance, unit, noise) - self.price() * freedom
    }

    /// λ, where there is one.
    fn lam(&self) -> Option<f64> {
        None
    }

    /// Whether λ follows the variances.
    fn has_free_hyper(&self) -> bool {
        false
    }

    /// Gives λ a value from which it goes on.
    fn set_hyper(&mut self, _lam: f64) {}

    /// Lets λ follow the active `unit`·γ of so many columns; by how much it changed, relatively.
    fn update_hyper(&mut self, _variances: &[f64], _columns: usize, _noise: f64) -> f64 {
        0.0
    }
}
