//! Student's t distribution, and the digamma function.

use super::normal_quantile;

/// Degrees of freedom from which on the distribution is as good as normal.
const NORMAL: f64 = 1e7;

/// ψ(x) = d log Γ(x)/dx for x > 0.
///
/// ```
/// use fewer::special::digamma;
/// assert!((digamma(1.0) + 0.5772156649015329).abs() < 1e-14);
/// ```
pub fn digamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    // ψ(x) = ψ(x + 1) − 1/x, up to where the asymptotic series serves.
    while x < 10.0 {
        below -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    const TERMS: [f64; 7] = [
        1.0 / 12.0,
        -1.0 / 120.0,
        1.0 / 252.0,
        -1.0 / 240.0,
        1.0 / 132.0,
        -691.0 / 32760.0,
        1.0 / 12.0,
    ];
    let series = TERMS.iter().rev().fold(0.0, |sum, term| (sum + term) * square);
    below + x.ln() - 0.5 / x - series
}

/// P(T ≤ t) for `nu` degrees of freedom.
///
/// ```
/// use fewer::special::student_t_cdf;
/// // ν = 1 is Cauchy's distribution.
/// assert!((student_t_cdf(1.0, 1.0) - 0.75).abs() < 1e-14);
/// ```
pub fn student_t_cdf(t: f64, nu: f64) -> f64 {
    if nu >= NORMAL {
        return super::normal_cdf(t);
    }
    // Near 0 the small part is t², else ν.
    let square = t * t;
    let tail = if square <= nu {
        0.5 - 0.5 * incomplete_beta(0.5, 0.5 * nu, square / (nu + square))
    } else {
        0.5 * incomplete_beta(0.5 * nu, 0.5, nu / (nu + square))
    };
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The t with P(T ≤ t) = p for `nu` degrees of freedom, p in (0, 1).
///
/// ```
/// use fewer::special::student_t_quantile;
/// assert!((student_t_quantile(0.975, 4.0) - 2.7764451051977987).abs() < 1e-12);
/// ```
pub fn student_t_quantile(p: f64, nu: f64) -> f64 {
    if p > 0.5 {
        return -student_t_quantile(1.0 - p, nu);
    }
    if nu >= NORMAL || p.is_nan() || p <= 0.0 {
        return normal_quantile(p);
    }
    // Tails are heavier than normal: the answer lies below, and doubling soon passes it.
    let mut upper = normal_quantile(p);
    let mut lower = upper.min(-1e-300);
    while student_t_cdf(lower, nu) > p && lower > -1e300 {
        (upper, lower) = (lower, 2.0 * lower);
    }
    // Halves, of ratios where the ends are far from each other.
    for _ in 0..200 {
        let middle = if lower < 2.0 * upper && upper < 0.0 {
            -(lower * upper).sqrt()
        } else {
            0.5 * (lower + upper)
        };
        if middle <= lower || middle >= upper {
            break;
        }
        if student_t_cdf(middle, nu) > p { upper = middle } else { lower = middle }
    }
    0.5 * (lower + upper)
}

/// I_x(a, b), by Lentz's evaluation of the continued fraction.
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction is quick below the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let log_front =
        libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b) + a * x.ln() + b * (-x).ln_1p();
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let (mut c, mut fraction) = (1.0, d);
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let step = d * c;
        fraction *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (log_front.exp() * fraction / a).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digamma_is_the_slope_of_log_gamma() {
        for x in [0.05, 0.5, 1.0, 2.5, 9.9, 10.1, 50.0, 1e4] {
            let h = 1e-5 * x;
            let slope = (libm::lgamma(x + h) - libm::lgamma(x - h)) / (2.0 * h);
            assert!((digamma(x) - slope).abs() < 1e-7 * (1.0 + slope.abs()), "{x}");
            assert!((digamma(x + 1.0) - digamma(x) - 1.0 / x).abs() < 1e-12 / x.min(1.0), "{x}");
        }
    }

    #[test]
    fn known_distributions() {
        for t in [-50.0, -3.0, -0.2, 0.0, 1e-3, 0.7, 2.0, 40.0] {
            let cauchy = 0.5 + f64::atan(t) / std::f64::consts::PI;
            assert!((student_t_cdf(t, 1.0) - cauchy).abs() < 1e-13, "{t}");
            // ν = 2 has a closed form.
            let two = 0.5 + t / (2.0 * (2.0 + t * t).sqrt());
            assert!((student_t_cdf(t, 2.0) - two).abs() < 1e-13, "{t}");
            assert!((student_t_cdf(t, 1e6) - crate::special::normal_cdf(t)).abs() < 1e-5, "{t}");
        }
    }

    #[test]
    fn quantiles_invert_the_distribution() {
        for nu in [0.3, 1.0, 2.5, 30.0, 1e3, 1e6] {
            for p in [1e-6, 0.025, 0.31, 0.5, 0.84, 0.999] {
                let t = student_t_quantile(p, nu);
                let back = student_t_cdf(t, nu);
                assert!((back - p).abs() < 1e-10 * p.max(1e-3), "{nu} {p} {t} {back}");
            }
        }
    }
}
