//! The two theorems, of numbers alone.

use super::bernoulli_inverse;
use serde::Serialize;

/// The PAC-Bayes bound on the error of the Gibbs classifier, which draws its weights anew for each
/// row: it holds with probability 1 − δ over samples of n rows (Krishnapuram 2005, theorem 2).
///
/// The divergence of coins is that of the error on the sample from the true one; in print its
/// arguments are the other way round, which no proof gives.
pub fn pac_bayes(gibbs_error: f64, kl: f64, n: usize, delta: f64) -> f64 {
    let n = n as f64;
    bernoulli_inverse(gibbs_error, (kl + ((n + 1.0) / delta).ln()) / n)
}

/// The loss of a margin: 1 for a wrong sign, falling to 0 at `s`.
pub fn margin_loss(margin: f64, s: f64) -> f64 {
    (1.0 - margin / s).clamp(0.0, 1.0)
}

/// The parts that the Rademacher bound is the sum of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rademacher {
    /// Mean loss of the margins.
    pub margin_loss: f64,
    /// What the freedom of the weights costs.
    pub complexity: f64,
    /// What the confidence costs.
    pub confidence: f64,
}

impl Rademacher {
    /// The bound.
    pub fn value(&self) -> f64 {
        self.margin_loss + self.complexity + self.confidence
    }
}

/// The Rademacher bound on the error of the classifier that averages over the posterior, which has
/// the signs of the point classifier (Krishnapuram 2005, theorem 1).
///
/// `margin_loss` is the mean over n rows of [`margin_loss`]`(·, s)`. The last part was derived
/// again, over levels rⁱg of the divergence with δ/(i(i + 1)) for each; it was not checked against
/// Meir and Zhang (2003), from whom the theorem comes. s, g and r > 1 are to be fixed beforehand.
pub fn rademacher(
    margin_loss: f64,
    kl: f64,
    n: usize,
    delta: f64,
    (s, g, r): (f64, f64, f64),
) -> Rademacher {
    let n = n as f64;
    let level = r * kl.max(g);
    Rademacher {
        margin_loss,
        complexity: 2.0 / s * (2.0 * level / n).sqrt(),
        confidence: (((r * level / g).ln() / r.ln()).ln() + 0.5 * (1.0 / delta).ln()).sqrt()
            / n.sqrt(),
    }
}
