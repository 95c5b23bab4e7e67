//! Kullback-Leibler divergences: of Laplacians from one another, and of coins.

/// KL of a Laplacian of rate η about `weight` from one of rate λ about 0
/// (Krishnapuram 2005, eq. 23).
pub fn laplacian_divergence(weight: f64, rate: f64, lam: f64) -> f64 {
    let size = weight.abs();
    (rate / lam).ln() - 1.0 + lam / rate * (-rate * size).exp() + lam * size
}

/// The rate η at which [`laplacian_divergence`] is smallest: at most λ, and λ for a weight of 0.
pub fn best_rate(weight: f64, lam: f64) -> f64 {
    let a = lam * weight.abs();
    if a > 0.0 { lam * (best_spread(a) / a) } else { lam }
}

/// The smallest [`laplacian_divergence`] over the rate.
pub fn smallest_laplacian_divergence(weight: f64, lam: f64) -> f64 {
    let a = lam * weight.abs();
    if a == 0.0 {
        return 0.0;
    }
    let u = best_spread(a);
    (a - u + u.ln_1p() - u / (1.0 + u)).max(0.0)
}

/// The u = η|w| with u eᵘ/(1 + u) = a, at which the derivative of eq. 23 in η is zero.
fn best_spread(a: f64) -> f64 {
    // log of the left side is concave, and log(1 + a) is below the answer: Newton's steps rise to
    // it.
    let log = a.ln();
    let mut u = a.ln_1p();
    for _ in 0..100 {
        let step = (log - u - (u / (1.0 + u)).ln()) / (1.0 + 1.0 / (u * (1.0 + u)));
        // Not a number where 1/u is beyond floating point: then u is a to all digits.
        if step.is_nan() || step <= 1e-16 * u {
            break;
        }
        u += step;
    }
    u
}

/// KL of a coin that shows an error with probability p from one with probability q.
pub fn bernoulli_divergence(p: f64, q: f64) -> f64 {
    let part = |p: f64, q: f64| if p == 0.0 { 0.0 } else { p * (p / q).ln() };
    part(p, q) + part(1.0 - p, 1.0 - q)
}

/// The largest q of at least p with [`bernoulli_divergence`]`(p, q)` ≤ `divergence`.
///
/// ```
/// use fewer::bound::{bernoulli_divergence, bernoulli_inverse};
/// let q = bernoulli_inverse(0.2, 0.1);
/// assert!((bernoulli_divergence(0.2, q) - 0.1).abs() < 1e-12);
/// assert_eq!(bernoulli_inverse(0.0, 2f64.ln()), 0.5);
/// ```
pub fn bernoulli_inverse(p: f64, divergence: f64) -> f64 {
    if p <= 0.0 {
        return -(-divergence).exp_m1();
    }
    let (mut low, mut high) = (p.min(1.0), 1.0);
    while low < high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if bernoulli_divergence(p, middle) <= divergence {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// KL of two densities by quadrature, on both sides of the kinks at 0 and w.
    fn by_quadrature(w: f64, eta: f64, lam: f64) -> f64 {
        let log_q = |x: f64| (eta / 2.0).ln() - eta * (x - w).abs();
        let log_p = |x: f64| (lam / 2.0).ln() - lam * x.abs();
        let f = |x: f64| log_q(x).exp() * (log_q(x) - log_p(x));
        let kinks = [w.min(0.0) - 60.0 / eta, w.min(0.0), w.max(0.0), w.max(0.0) + 60.0 / eta];
        let simpson = |a: f64, b: f64| {
            let n = 20_000;
            let h = (b - a) / n as f64;
            let inner: f64 =
                (1..n).map(|i| f(a + i as f64 * h) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
            (f(a) + f(b) + inner) * h / 3.0
        };
        kinks.windows(2).map(|k| simpson(k[0], k[1])).sum()
    }

    #[test]
    fn divergences_of_laplacians_are_those_of_quadrature() {
        for (w, eta, lam) in [(0.0, 2.0, 2.0), (0.7, 1.0, 2.0), (-3.0, 0.4, 1.5), (0.1, 5.0, 0.3)] {
            let (found, expected) = (laplacian_divergence(w, eta, lam), by_quadrature(w, eta, lam));
            assert!((found - expected).abs() < 1e-9, "{w} {eta} {lam}: {found} {expected}");
        }
    }

    #[test]
    fn no_other_rate_gives_less() {
        for lam in [1e-8, 0.5, 2.0, 1e6] {
            for w in [0.0, 1e-300, 1e-12, 1e-3, 0.4, -2.0, 50.0, 1e8] {
                let rate = best_rate(w, lam);
                assert!(rate > 0.0 && rate <= lam * (1.0 + 1e-15), "{w} {lam}: {rate}");
                let least = smallest_laplacian_divergence(w, lam);
                let at = laplacian_divergence(w, rate, lam);
                let size = 1.0 + lam * w.abs();
                assert!((least - at).abs() < 1e-12 * size, "{w} {lam}: {least} {at}");
                for factor in [0.5, 0.9, 0.999, 1.001, 1.1, 2.0] {
                    let other = laplacian_divergence(w, rate * factor, lam);
                    assert!(other >= least - 1e-14 * size, "{w} {lam} {factor}");
                }
            }
        }
    }

    #[test]
    fn coins_are_inverted_at_the_ends_too() {
        assert_eq!(bernoulli_inverse(1.0, 0.3), 1.0);
        assert_eq!(bernoulli_inverse(0.3, f64::INFINITY), 1.0);
        assert_eq!(bernoulli_inverse(0.0, 0.0), 0.0);
        // The divergence is flat at p: half the digits.
        assert!((bernoulli_inverse(0.3, 0.0) - 0.3).abs() < 1e-7);
        for p in [1e-9, 0.01, 0.5, 0.999] {
            for c in [1e-6, 0.1, 3.0] {
                let q = bernoulli_inverse(p, c);
                assert!(q >= p && q <= 1.0);
                if q < 1.0 - 1e-9 {
                    assert!((bernoulli_divergence(p, q) - c).abs() < 1e-6 * c, "{p} {c}");
                }
            }
        }
    }
}
