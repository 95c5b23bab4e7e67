//! Seeded random numbers: a small generator for choices that need no more, and streams of draws
//! from the distributions that samplers need.
//!
//! They are the library's own, so that a seed means the same numbers in every version.

use crate::special::normal_quantile;
use std::sync::OnceLock;

/// Numbers in [0, 1) that depend on the seed only: SplitMix64.
pub(crate) fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut next = words(seed);
    move || (next() >> 11) as f64 / (1u64 << 53) as f64
}

fn words(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A stream of random numbers: xoshiro256++ (Blackman & Vigna 2021).
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    state: [u64; 4],
}

/// The polynomial that advances the generator by 2¹²⁸ steps.
const JUMP: [u64; 4] =
    [0x180e_c6d3_3cfd_0aba, 0xd5a6_1266_f0c9_392c, 0xa958_2618_e03f_c9aa, 0x39ab_dc45_29b1_661c];

impl Stream {
    /// The first stream of a seed.
    pub fn new(seed: u64) -> Self {
        let mut next = words(seed);
        Self { state: [next(), next(), next(), next()] }
    }

    /// So many streams of a seed that do not overlap in 2¹²⁸ steps.
    pub fn several(seed: u64, count: usize) -> Vec<Self> {
        let mut stream = Self::new(seed);
        let mut next = || {
            let current = stream.clone();
            stream.jump();
            current
        };
        (0..count).map(|_| next()).collect()
    }

    fn jump(&mut self) {
        let mut state = [0; 4];
        for word in JUMP {
            for bit in 0..64 {
                if word >> bit & 1 == 1 {
                    state.iter_mut().zip(&self.state).for_each(|(s, own)| *s ^= own);
                }
                self.word();
            }
        }
        self.state = state;
    }

    #[inline]
    fn word(&mut self) -> u64 {
        let s = &mut self.state;
        let word = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        word
    }

    /// In (0, 1), never at its ends.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        ((self.word() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Standard normal, by the ziggurat (Marsaglia & Tsang 2000).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let layers = layers();
        loop {
            let word = self.word();
            let layer = (word & 255) as usize;
            // 55 bits in (−1, 1).
            let u = ((word as i64) >> 9) as f64 / (1u64 << 54) as f64;
            let x = u * layers.edge[layer];
            if x.abs() < layers.edge[layer + 1] {
                return x;
            }
            if let Some(x) = self.normal_at_edge(layers, layer, x) {
                return x;
            }
        }
    }

    #[cold]
    fn normal_at_edge(&mut self, layers: &Layers, layer: usize, x: f64) -> Option<f64> {
        if layer == 0 {
            // The tail beyond the last edge (Marsaglia 1964).
            loop {
                let beyond = -self.uniform().ln() / TAIL;
                if -2.0 * self.uniform().ln() > beyond * beyond {
                    return Some((TAIL + beyond).copysign(x));
                }
            }
        }
        let (low, high) = (layers.height[layer], layers.height[layer + 1]);
        (low + self.uniform() * (high - low) < (-0.5 * x * x).exp()).then_some(x)
    }

    /// Gamma of this shape and scale 1 (Marsaglia & Tsang 2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            return self.gamma(shape + 1.0) * self.uniform().powf(1.0 / shape);
        }
        let d = shape - 1.0 / 3.0;
        let c = (9.0 * d).powf(-0.5);
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v <= 0.0 {
                continue;
            }
            let u = self.uniform();
            if u < 1.0 - 0.0331 * x.powi(4) || u.ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
                return d * v;
            }
        }
    }

    /// 1/v for v inverse Gaussian of mean 1/m and shape λ², m ≥ 0 (Michael, Schucany & Haas 1976).
    ///
    /// Written for the inverse, its roots neither cancel nor overflow, and m = 0, where the mean
    /// is infinite, is a case like any other.
    #[inline]
    pub fn inverse_of_inverse_gaussian(&mut self, m: f64, lam: f64) -> f64 {
        let z = self.normal() / lam;
        let half = 0.5 * z * z;
        let larger = m + half + (half * (half + 2.0 * m)).sqrt();
        if self.uniform() * (m + larger) <= larger { larger } else { m * (m / larger) }
    }

    /// Density ∝ x^(shape − 1) exp(−s x − d x²), for shape ≥ 1, d > 0 and s ≥ 0.
    ///
    /// x² ≥ 2mx − m² makes a Gamma of it that is above the density everywhere; about the mode
    /// more than two draws of three are kept, for any shape.
    pub fn tilted_gamma(&mut self, shape: f64, s: f64, d: f64) -> f64 {
        // m = shape/(s + 2dm), the root without cancellation.
        let m = 2.0 * shape / (s + (s * s + 8.0 * d * shape).sqrt());
        let rate = s + 2.0 * d * m;
        loop {
            let x = self.gamma(shape) / rate;
            if -self.uniform().ln() >= d * (x - m).powi(2) {
                return x;
            }
        }
    }
}

/// Where the tail of the ziggurat of 256 layers begins.
const TAIL: f64 = 3.654_152_885_361_009;

struct Layers {
    /// Right ends of the layers; that of the lowest is where its area would end without a tail.
    edge: [f64; 257],
    /// The density exp(−x²/2) there.
    height: [f64; 257],
}

fn layers() -> &'static Layers {
    static LAYERS: OnceLock<Layers> = OnceLock::new();
    LAYERS.get_or_init(|| {
        let density = |x: f64| (-0.5 * x * x).exp();
        let tail = (2.0 * std::f64::consts::PI).sqrt() * crate::special::normal_cdf(-TAIL);
        let area = TAIL * density(TAIL) + tail;
        let mut edge = [0.0; 257];
        (edge[0], edge[1]) = (area / density(TAIL), TAIL);
        for k in 2..256 {
            let height = area / edge[k - 1] + density(edge[k - 1]);
            edge[k] = (-2.0 * height.ln()).sqrt();
        }
        Layers { edge, height: edge.map(density) }
    })
}

/// Normal quantiles of the ranks 1 to n, (rank − 3/8)/(n + 1/4) (Blom 1958).
pub(crate) fn normal_scores(n: usize) -> Vec<f64> {
    let mut scores = vec![0.0; n];
    for k in 0..n / 2 {
        let score = normal_quantile((k as f64 + 0.625) / (n as f64 + 0.25));
        (scores[k], scores[n - 1 - k]) = (score, -score);
    }
    scores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_cdf;

    const DRAWS: usize = 200_000;

    /// √n times the largest distance of the distribution of draws from the one given: above 2.2
    /// in one of ten thousand.
    fn kolmogorov(mut draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
        draws.sort_by(f64::total_cmp);
        let n = draws.len() as f64;
        let distance = |(k, x): (usize, &f64)| {
            let p = cdf(*x);
            (p - k as f64 / n).abs().max(((k + 1) as f64 / n - p).abs())
        };
        n.sqrt() * draws.iter().enumerate().map(distance).fold(0.0, f64::max)
    }

    /// A distribution function by the trapezoidal rule on a fine grid of log x.
    fn by_sums(log_density: impl Fn(f64) -> f64) -> impl Fn(f64) -> f64 {
        const STEP: f64 = 2e-4;
        let (low, count) = (-40.0, 260_000);
        let at = |k: usize| low + STEP * k as f64;
        let logs: Vec<f64> = (0..count).map(|k| log_density(at(k).exp()) + at(k)).collect();
        let top = logs.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let mut sums = vec![0.0; count];
        for k in 1..count {
            sums[k] = sums[k - 1] + (logs[k] - top).exp() + (logs[k - 1] - top).exp();
        }
        move |x: f64| {
            let place = ((x.ln() - low) / STEP).clamp(0.0, (count - 2) as f64);
            let (k, part) = (place as usize, place.fract());
            (sums[k] + part * (sums[k + 1] - sums[k])) / sums[count - 1]
        }
    }

    #[test]
    fn normals_follow_their_distribution_to_the_tail() {
        let mut stream = Stream::new(1);
        let draws: Vec<f64> = (0..2_000_000).map(|_| stream.normal()).collect();
        let beyond = draws.iter().filter(|x| x.abs() > TAIL).count() as f64;
        let expected = 2.0 * 2e6 * normal_cdf(-TAIL);
        assert!((beyond - expected).abs() < 4.5 * expected.sqrt(), "{beyond} {expected}");
        let worst = kolmogorov(draws, normal_cdf);
        assert!(worst < 2.2, "{worst}");
    }

    #[test]
    fn gammas_follow_their_distribution() {
        for (seed, shape) in [(2, 0.3), (3, 1.0), (4, 2.5), (5, 220.5)] {
            let mut stream = Stream::new(seed);
            let draws = (0..DRAWS).map(|_| stream.gamma(shape)).collect();
            let worst = kolmogorov(draws, by_sums(|x| (shape - 1.0) * x.ln() - x));
            assert!(worst < 2.2, "{shape}: {worst}");
        }
    }

    #[test]
    fn inverse_gaussians_follow_their_distribution_for_any_mean() {
        for (seed, m, lam) in [(6, 1.0, 1.0), (7, 0.02, 3.0), (8, 30.0, 0.5), (9, 1e-9, 2.0)] {
            let mut stream = Stream::new(seed);
            let draws = (0..DRAWS).map(|_| stream.inverse_of_inverse_gaussian(m, lam)).collect();
            // v = 1/x has density ∝ v^(−3/2) exp(−λ²(v − 1/m)²m²/2v), and dv = dx/x².
            let log = |x: f64| -0.5 * x.ln() - 0.5 * lam * lam * (1.0 - x / m).powi(2) * m * m / x;
            let worst = kolmogorov(draws, by_sums(log));
            assert!(worst < 2.2, "{m} {lam}: {worst}");
        }
        // At m = 0 it is a χ² of one degree of freedom, divided by λ².
        let mut stream = Stream::new(10);
        let draws = (0..DRAWS).map(|_| stream.inverse_of_inverse_gaussian(0.0, 2.0)).collect();
        let worst = kolmogorov(draws, |x| 1.0 - 2.0 * normal_cdf(-2.0 * x.sqrt()));
        assert!(worst < 2.2, "{worst}");
        for m in [0.0, 5e-324, 1e-300, 1e300] {
            let x = stream.inverse_of_inverse_gaussian(m, 1.0);
            assert!(x.is_finite() && x >= 0.0, "{m}: {x}");
        }
    }

    #[test]
    fn tilted_gammas_follow_their_distribution() {
        for (seed, shape, s, d) in [
            (11, 12.0, 30.0, 1.78),
            (12, 1.0, 0.0, 1.0),
            (13, 400.0, 2.0, 50.0),
            (14, 3.0, 1e3, 0.1),
        ] {
            let mut stream = Stream::new(seed);
            let draws = (0..DRAWS).map(|_| stream.tilted_gamma(shape, s, d)).collect();
            let log = |x: f64| (shape - 1.0) * x.ln() - s * x - d * x * x;
            let worst = kolmogorov(draws, by_sums(log));
            assert!(worst < 2.2, "{shape} {s} {d}: {worst}");
        }
    }

    #[test]
    fn streams_of_a_seed_differ_and_repeat() {
        let first = |mut s: Stream| -> Vec<u64> { (0..4).map(|_| s.word()).collect() };
        let streams =
            |seed| -> Vec<Vec<u64>> { Stream::several(seed, 3).into_iter().map(first).collect() };
        assert_eq!(streams(7), streams(7));
        let all = [streams(7), streams(8)].concat();
        for a in 0..all.len() {
            assert!(all[..a].iter().all(|b| *b != all[a]));
        }
        // The first word of the published generator from the state 1, 2, 3, 4.
        let mut known = Stream { state: [1, 2, 3, 4] };
        assert_eq!([known.word(), known.word()], [41_943_041, 58_720_359]);
    }
}
