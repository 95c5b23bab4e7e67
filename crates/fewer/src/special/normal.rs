//! The standard normal distribution function Φ, its logarithm, and φ/Φ.
//!
//! log(Φ) and φ/Φ lose every digit in the tails when they are computed from Φ; here the lower
//! tail comes from the continued fraction of Mills' ratio.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Below this the continued fraction takes over.
const TAIL: f64 = -3.0;

/// Φ(t).
pub fn normal_cdf(t: f64) -> f64 {
    0.5 * libm::erfc(-t * FRAC_1_SQRT_2)
}

/// The t with Φ(t) = p, for p in [0, 1].
///
/// ```
/// use fewer::special::normal_quantile;
/// assert!((normal_quantile(0.975) - 1.959963984540054).abs() < 1e-14);
/// ```
pub fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p.is_nan() || p <= 0.0 {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    // Φ(t) ≤ exp(−t²/2)/2: below the answer, from where Newton's steps on the concave log Φ rise
    // to it.
    let log = p.ln();
    let mut t = -(-2.0 * log).sqrt();
    for _ in 0..100 {
        let step = (log - log_normal_cdf(t)) / inverse_mills(t);
        t += step;
        if step <= 1e-16 * t.abs() {
            break;
        }
    }
    t
}

/// log Φ(t), to full relative accuracy.
///
/// ```
/// use fewer::special::log_normal_cdf;
/// assert!((log_normal_cdf(-100.0) / -5005.5242086942050886 - 1.0).abs() < 1e-14);
/// ```
pub fn log_normal_cdf(t: f64) -> f64 {
    if t > -TAIL {
        (-density(t) / inverse_mills(-t)).ln_1p()
    } else if t > 0.0 {
        (-0.5 * libm::erfc(t * FRAC_1_SQRT_2)).ln_1p()
    } else if t > TAIL {
        normal_cdf(t).ln()
    } else {
        // Φ = φ / (φ/Φ)
        -0.5 * t * t - 0.5 * (2.0 * PI).ln() - inverse_mills(t).ln()
    }
}

/// φ(t) / Φ(t), the inverse Mills ratio of −t.
pub fn inverse_mills(t: f64) -> f64 {
    if t > TAIL { density(t) / normal_cdf(t) } else { mills_excess(t) - t }
}

/// t + φ(t)/Φ(t) > 0: the mean of a normal variable of mean t, given that it is positive.
pub fn mills_excess(t: f64) -> f64 {
    if t > TAIL {
        return t + density(t) / normal_cdf(t);
    }
    // φ/Φ(−a) = a + 1/(a + 2/(a + 3/(a + …))), from the tail of the fraction; the number of levels
    // grows as the fraction converges more slowly.
    let a = -t;
    let levels = (12.0 + 700.0 / (a * a)) as usize;
    let mut fraction = a;
    for k in (2..=levels).rev() {
        fraction = a + k as f64 / fraction;
    }
    1.0 / fraction
}

/// φ(t)/Φ(t), t + φ(t)/Φ(t) and log Φ(t) at the price of one of them.
pub(crate) fn tail_terms(t: f64) -> (f64, f64, f64) {
    if t <= TAIL || t > -TAIL {
        return (inverse_mills(t), mills_excess(t), log_normal_cdf(t));
    }
    let other = 0.5 * libm::erfc(t.abs() * FRAC_1_SQRT_2);
    let (cdf, log) = if t > 0.0 { (1.0 - other, (-other).ln_1p()) } else { (other, other.ln()) };
    let ratio = density(t) / cdf;
    (ratio, t + ratio, log)
}

fn density(t: f64) -> f64 {
    (-0.5 * t * t).exp() / (2.0 * PI).sqrt()
}
