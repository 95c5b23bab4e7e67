//! y = η + e with e of Student's t: Gaussian noise whose precision βλ is another in every row, with
//! λ ~ Gamma(ν/2, ν/2).
//!
//! Given q(λ), what is left of log p(y) is Gaussian evidence with precisions βE[λ], so that it is
//! bounded from below by that evidence and a sum over rows of
//!
//! ½(E log λ − log E λ) − KL(q(λ) ‖ p(λ)).
//!
//! All is a function of z = β E(y − η)², of which q(λ) = Gamma((ν + 1)/2, (ν + z)/2) is the best.

use crate::special::digamma;
use libm::lgamma;
use std::f64::consts::PI;

/// Degrees of freedom that are considered where they are estimated: heavier tails than Cauchy's
/// fit any few rows exactly, lighter ones than those of 1000 are Gaussian.
const SMALLEST: f64 = 1.0;
const LARGEST: f64 = 1000.0;

/// Noise with ν degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StudentT {
    pub nu: f64,
}

impl StudentT {
    /// E λ.
    pub fn weight(self, z: f64) -> f64 {
        (self.nu + 1.0) / (self.nu + z)
    }

    /// log of the density of a residual √z, in units of the scale.
    pub fn log_density(self, z: f64) -> f64 {
        let half = 0.5 * self.nu;
        let constant = lgamma(half + 0.5) - lgamma(half) - 0.5 * (PI * self.nu).ln();
        constant - (half + 0.5) * (z / self.nu).ln_1p()
    }

    /// What a row adds to the bound beside the Gaussian evidence with precision βE[λ].
    pub fn excess(self, z: f64) -> f64 {
        let half = 0.5 * self.nu;
        let (shape, rate) = (half + 0.5, half + 0.5 * z);
        let mean_log = digamma(shape) - rate.ln();
        let mean = shape / rate;
        let prior = half * half.ln() - lgamma(half) + (half - 1.0) * mean_log - half * mean;
        let entropy = shape - rate.ln() + lgamma(shape) + (1.0 - shape) * digamma(shape);
        0.5 * (mean_log - mean.ln()) + prior + entropy
    }

    /// ν at which the bound is largest together with q(λ), z being what it is; never a worse one
    /// than at present.
    pub fn best(z: &[f64], weights: Option<&[f64]>, present: Self) -> Self {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let total: f64 = (0..z.len()).map(weight).sum();
        // log ∫ √λ exp(−λz/2) p(λ) dλ, the mean over rows.
        let value = |log_nu: f64| {
            let half = 0.5 * log_nu.exp();
            let rows: f64 = (z.iter().enumerate())
                .filter(|(i, _)| weight(*i) > 0.0)
                .map(|(i, z)| weight(i) * (half + 0.5 * z).ln())
                .sum();
            lgamma(half + 0.5) - lgamma(half) + half * half.ln() - (half + 0.5) * rows / total
        };
        let found = highest(value, SMALLEST.ln(), LARGEST.ln());
        if value(found) > value(present.nu.ln()) { Self { nu: found.exp() } } else { present }
    }
}

/// Where a function of one hump is highest: golden section.
fn highest(value: impl Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (from, to);
    let (mut a, mut b) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_a, mut at_b) = (value(a), value(b));
    while high - low > 1e-7 {
        if at_a < at_b {
            (low, a, at_a) = (a, b, at_b);
            b = low + GOLDEN * (high - low);
            at_b = value(b);
        } else {
            (high, b, at_b) = (b, a, at_a);
            a = high - GOLDEN * (high - low);
            at_a = value(a);
        }
    }
    // The ends themselves, where it rises or falls throughout.
    let middle = 0.5 * (low + high);
    [from, middle, to]
        .into_iter()
        .fold(middle, |best, x| if value(x) > value(best) { x } else { best })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// ½ log β − ½βE(y − η)²·λ … of one row: what depends on λ's distribution.
    fn row_bound(noise: StudentT, of: f64, z: f64) -> f64 {
        // q(λ) is the best for `of`; the Gaussian part has precision βE[λ].
        let mean = noise.weight(of);
        0.5 * mean.ln() - 0.5 * mean * z + noise.excess(of)
    }

    #[test]
    fn the_best_q_touches_the_density() {
        for nu in [0.7, 2.0, 9.0, 300.0] {
            let noise = StudentT { nu };
            for z in [0.0, 0.3, 4.0, 200.0] {
                // log t_ν(√z) with the normal density's constant left out.
                let exact = lgamma(0.5 * (nu + 1.0))
                    - lgamma(0.5 * nu)
                    - 0.5 * (0.5 * nu).ln()
                    - 0.5 * (nu + 1.0) * (z / nu).ln_1p();
                assert!((row_bound(noise, z, z) - exact).abs() < 1e-10, "{nu} {z}");
                for other in [0.9 * z, 1.1 * z + 0.1].into_iter().filter(|o| *o != z) {
                    assert!(row_bound(noise, other, z) < exact, "{nu} {z} {other}");
                }
            }
        }
    }

    #[test]
    fn the_best_nu_is_stationary_and_finds_what_made_the_rows() {
        let mut random = Stream::new(3);
        for nu in [2.0, 8.0] {
            let mut draw = || {
                let lam = random.gamma(0.5 * nu) / (0.5 * nu);
                random.normal().powi(2) / lam
            };
            let z: Vec<f64> = (0..20_000).map(|_| draw()).collect();
            let best = StudentT::best(&z, None, StudentT { nu: 4.0 });
            assert!((best.nu / nu).ln().abs() < 0.15, "{nu} {best:?}");
            let total =
                |noise: StudentT| -> f64 { z.iter().map(|z| row_bound(noise, *z, *z)).sum() };
            for step in [0.98, 1.02] {
                assert!(total(StudentT { nu: step * best.nu }) < total(best));
            }
        }
    }
}
