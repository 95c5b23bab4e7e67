//! The error of the Gibbs classifier on a row: the probability that Σ w x has the wrong sign when
//! each weight is a Laplacian.

use crate::error::{Error, Result};
use crate::random::uniform;
use crate::special::normal_cdf;
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, PI, SQRT_2};

/// How the error of the Gibbs classifier is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GibbsError {
    /// From the characteristic function, to rounding.
    #[default]
    Exact,
    /// As if the sum were Gaussian: fast, and near for many weights of one size.
    Gaussian,
    /// From seeded draws of the weights.
    MonteCarlo,
}

impl std::str::FromStr for GibbsError {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self> {
        serde_json::from_value(word.into()).map_err(|_| {
            Error::setting("gibbs", word, "exact, gaussian or monte-carlo is expected")
        })
    }
}

/// The contour crosses the real axis at most this part of the way to the nearest pole.
const CROSSING: f64 = 0.8;
/// Steps of the contour in its distance from the nearest singularity: exp(−2π·6) is rounding.
const STEPS: f64 = 6.0;
/// Terms below this are rounding; so is a probability whose logarithm is bounded by its own.
const NEGLIGIBLE: f64 = 1e-18;

/// P(margin + Σ spread_j ε_j < 0) for standard Laplacians ε: the error on a row whose margin is
/// y Σ w x and whose spreads are |x_j|/η_j; ½ where both are zero.
///
/// By symmetry it is P(Z > m), Z the sum, and so (1/2πi) ∫ M(s) e^(−sm) ds/s upwards to the right
/// of 0 (Gil-Pelaez), M(s) = Π 1/(1 − spread² s²). All poles of M are real, beyond ±a = ±1/spread
/// of the largest: s = a sin(θ + ix) is a contour that bends away to where e^(−sm) vanishes, on
/// which sums over equal steps of x converge exponentially. θ is where the integrand is smallest
/// on the real axis, so that nothing cancels however many the weights.
pub fn exact_error(margin: f64, spreads: &[f64]) -> f64 {
    let largest = spreads.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    if margin < 0.0 {
        return 1.0 - exact_error(-margin, spreads);
    }
    if largest == 0.0 {
        return if margin > 0.0 { 0.0 } else { 0.5 };
    }
    // In units of the largest spread, the nearest pole is at 1.
    let squares: Vec<f64> =
        spreads.iter().map(|b| (b / largest).powi(2)).filter(|b| *b > 0.0).collect();
    let m = margin / largest;
    if m == 0.0 {
        return 0.5;
    }
    let c = crossing(m, &squares);
    let log_bound = -squares.iter().map(|b| (-b * c * c).ln_1p()).sum::<f64>() - m * c;
    if log_bound < NEGLIGIBLE.ln() {
        return 0.0;
    }
    let theta = c.asin();
    let step = theta.min(FRAC_PI_2 - theta) / STEPS;
    let (sin, cos) = theta.sin_cos();
    let mut sum = 0.0;
    for k in 0..100_000 {
        let x = k as f64 * step;
        let (sinh, cosh) = (x.sinh(), x.cosh());
        // s = sin(θ + ix); cot(θ + ix) = cos/sin.
        let s = (sin * cosh, cos * sinh);
        let log = log_of_product(s, &squares);
        let angle = -m * s.1 - log.1;
        let size = (-m * s.0 - log.0).exp();
        let norm = s.0 * s.0 + s.1 * s.1;
        let cot = (sin * cos / norm, -sinh * cosh / norm);
        let term = size * (cot.0 * angle.cos() - cot.1 * angle.sin());
        sum += if k == 0 { 0.5 * term } else { term };
        if size * (cot.0.abs() + cot.1.abs()) < NEGLIGIBLE {
            break;
        }
    }
    (sum * step / PI).clamp(0.0, 0.5)
}

/// Where M(s) e^(−sm)/s is smallest on (0, 1), or near: the accuracy does not depend on it.
fn crossing(m: f64, squares: &[f64]) -> f64 {
    let variance: f64 = 2.0 * squares.iter().sum::<f64>();
    // The answer of a Gaussian is above it.
    let mut high = (0.5 * (m + (m * m + 4.0 * variance).sqrt()) / variance).min(CROSSING);
    let mut low = 0.0;
    for _ in 0..12 {
        let s = 0.5 * (low + high);
        let slope: f64 = squares.iter().map(|b| 2.0 * b * s / (1.0 - b * s * s)).sum();
        if slope - m - 1.0 / s > 0.0 {
            high = s;
        } else {
            low = s;
        }
    }
    high
}

/// Logarithm of the size, and the angle, of Π (1 − b s²).
fn log_of_product(s: (f64, f64), squares: &[f64]) -> (f64, f64) {
    let square = (s.0 * s.0 - s.1 * s.1, 2.0 * s.0 * s.1);
    let (mut log, mut product) = (0.0, (1.0, 0.0));
    for b in squares {
        let factor = (1.0 - b * square.0, -b * square.1);
        product = (
            product.0 * factor.0 - product.1 * factor.1,
            product.0 * factor.1 + product.1 * factor.0,
        );
        let norm = product.0.abs() + product.1.abs();
        if !(1e-100..1e100).contains(&norm) {
            log += norm.ln();
            product = (product.0 / norm, product.1 / norm);
        }
    }
    (log + product.0.hypot(product.1).ln(), product.1.atan2(product.0))
}

/// [`exact_error`] as if the sum were Gaussian (Krishnapuram 2005, section 4.6).
pub fn gaussian_error(margin: f64, spreads: &[f64]) -> f64 {
    let deviation = SQRT_2 * spreads.iter().map(|b| b * b).sum::<f64>().sqrt();
    match (deviation > 0.0, margin) {
        (true, _) => normal_cdf(-margin / deviation),
        (false, 0.0) => 0.5,
        (false, m) => f64::from(u8::from(m < 0.0)),
    }
}

/// Seeded draws of standard Laplacians.
pub(super) fn laplacians(seed: u64) -> impl FnMut() -> f64 {
    let mut next = uniform(seed);
    move || {
        let u = 2.0 * next() - 1.0;
        // 1 − |u| > 0, since u < 1 and a draw of exactly 0 gives the largest there is.
        let size = -(1.0 - u.abs()).max(f64::EPSILON / 4.0).ln();
        size.copysign(u)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(margin: f64, spreads: &[f64], draws: usize) -> f64 {
        let mut next = laplacians(7);
        let wrong = (0..draws)
            .filter(|_| margin + spreads.iter().map(|b| b * next()).sum::<f64>() < 0.0)
            .count();
        wrong as f64 / draws as f64
    }

    #[test]
    fn one_weight_has_a_closed_form() {
        for spread in [1e-200, 1e-3, 1.0, 1e150] {
            for m in [0.0f64, 1e-12, 1e-3, 0.3, 1.0, 5.0, 20.0, 39.0] {
                let found = exact_error(m * spread, &[spread]);
                assert!((found - 0.5 * (-m).exp()).abs() < 1e-14, "{m} {spread}: {found}");
                let other = exact_error(-m * spread, &[spread]);
                assert!((found + other - 1.0).abs() < 1e-15);
            }
        }
        assert_eq!(exact_error(1e9, &[1.0]), 0.0);
        assert_eq!(exact_error(0.0, &[0.0]), 0.5);
        assert_eq!(exact_error(1.0, &[]), 0.0);
        assert_eq!(exact_error(-1.0, &[0.0]), 1.0);
    }

    #[test]
    fn equal_weights_have_the_distribution_of_gamma_differences() {
        // Of two: P(Z > m) = e^(−m) (2 + m) / 4; of three: e^(−m) (8 + 5m + m²) / 16.
        for m in [1e-6f64, 0.2, 1.0, 4.0, 15.0, 30.0] {
            let two = 0.25 * (-m).exp() * (2.0 + m);
            let three = (8.0 + 5.0 * m + m * m) / 16.0 * (-m).exp();
            assert!((exact_error(m, &[1.0, 1.0]) - two).abs() < 1e-14, "{m}");
            assert!((exact_error(m, &[1.0, 1.0, 1.0]) - three).abs() < 1e-14, "{m}");
        }
    }

    #[test]
    fn different_weights_have_the_partial_fractions() {
        // Σ_j ½ e^(−m/b_j) Π_{i≠j} 1/(1 − b_i²/b_j²), stable while rates lie apart.
        let spreads = [1.0f64, 0.5, 0.2, 0.05];
        for m in [0.0f64, 0.01, 0.3, 1.0, 3.0, 12.0] {
            let part = |j: usize| {
                let others = (0..4).filter(|i| *i != j);
                let product: f64 =
                    others.map(|i| 1.0 - (spreads[i] / spreads[j]).powi(2)).product();
                0.5 * (-m / spreads[j]).exp() / product
            };
            let expected: f64 = (0..4).map(part).sum();
            let found = exact_error(m, &spreads);
            assert!((found - expected).abs() < 1e-13, "{m}: {found} {expected}");
        }
    }

    #[test]
    fn many_weights_agree_with_draws_and_tend_to_the_gaussian() {
        for (k, draws) in [(2, 400_000), (10, 200_000), (100, 20_000)] {
            let spreads: Vec<f64> = (0..k).map(|j| 1.0 / (1.0 + 0.3 * j as f64)).collect();
            let deviation = (2.0 * spreads.iter().map(|b| b * b).sum::<f64>()).sqrt();
            for t in [-1.0, 0.1, 0.8, 2.0] {
                let (found, seen) =
                    (exact_error(t * deviation, &spreads), drawn(t * deviation, &spreads, draws));
                let error = (found * (1.0 - found) / draws as f64).sqrt();
                assert!((found - seen).abs() < 4.5 * error, "{k} {t}: {found} {seen}");
            }
        }
        let spreads = vec![0.3; 5000];
        for (t, part) in [(0.0, 1e-12), (0.5, 2e-4), (2.0, 2e-4), (6.0, 0.05)] {
            let margin = t * 0.3 * 10_000f64.sqrt();
            let (found, near) = (exact_error(margin, &spreads), gaussian_error(margin, &spreads));
            assert!((found - near).abs() <= part * near, "{t}: {found} {near}");
        }
    }

    #[test]
    fn one_large_weight_among_thousands_is_no_trouble() {
        let mut spreads = vec![1e-4; 3000];
        spreads.push(1.0);
        for m in [0.01f64, 0.5, 3.0] {
            let variance = 2.0 * 3000.0 * 1e-8;
            // A Laplacian plus a narrow Gaussian: e^(−m) E[e^N] / 2 while m is beyond its reach.
            let expected = 0.5 * (0.5 * variance - m).exp();
            if m > 0.1 {
                assert!((exact_error(m, &spreads) - expected).abs() < 1e-9, "{m}");
            }
            let mut last = 0.5;
            for t in 1..50 {
                let now = exact_error(m * f64::from(t) / 50.0, &spreads);
                assert!(now < last);
                last = now;
            }
        }
    }
}
