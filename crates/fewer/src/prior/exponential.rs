//! An exponential prior on each variance, which makes weights Laplacian: what Fast Laplace and
//! the Bayesian lasso of type II share.

use super::Factors;

/// λ of p(γ) ∝ exp(−λγ/2), and how it is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// As given.
    Fixed(f64),
    /// 2(k − 1)/Σγ over the k active columns, starting from the value here: the rule of the
    /// published code. It is not the gradient of any one objective.
    ActiveCount(f64),
    /// At its best under λ ~ Gamma(1, scale of the variances), starting from the value here: the
    /// mean of all variances, those of the columns left out included, is not below `scale`.
    Hyperprior {
        /// The current λ.
        lam: f64,
        /// What the mean variance is expected to be.
        scale: f64,
    },
}

impl Rate {
    pub(super) fn value(self) -> f64 {
        match self {
            Rate::Fixed(lam) | Rate::ActiveCount(lam) | Rate::Hyperprior { lam, .. } => lam,
        }
    }

    /// Another λ, found by the same rule from here on.
    pub(super) fn set(&mut self, next: f64) {
        match self {
            Rate::Fixed(lam) | Rate::ActiveCount(lam) | Rate::Hyperprior { lam, .. } => *lam = next,
        }
    }

    pub(super) fn is_fixed(self) -> bool {
        matches!(self, Rate::Fixed(_))
    }

    /// Follows the active variances; the relative change.
    pub(super) fn update(&mut self, variances: &[f64], columns: usize) -> f64 {
        let total: f64 = variances.iter().sum();
        let next = match *self {
            Rate::Fixed(lam) => lam,
            Rate::ActiveCount(_) if variances.len() < 2 => 0.0,
            Rate::ActiveCount(_) => 2.0 * (variances.len() - 1) as f64 / total,
            Rate::Hyperprior { scale, .. } => {
                2.0 * columns as f64 / (total + 2.0 * columns as f64 * scale)
            }
        };
        let before = self.value();
        if !next.is_finite() {
            return 0.0;
        }
        self.set(next);
        if before == next { 0.0 } else { (next - before).abs() / next.max(before) }
    }
}

/// Where ½[q²γ/(1 + γs) − log(1 + γs) − κγ] is largest.
///
/// Helgøy & Li 2022, eq. 16 (with q² under the root), as the root that does not cancel for small κ
/// and is the one of relevance vector machines at κ = 0.
pub(crate) fn best_variance(of: Factors, kappa: f64) -> f64 {
    let Factors { s, q, .. } = of;
    let excess = q * q - s - kappa;
    if !(excess > 0.0 && s > 0.0) {
        return 0.0;
    }
    let root = (s * s + 4.0 * kappa * q * q).sqrt();
    2.0 * excess / (s * (s + 2.0 * kappa + root))
}
