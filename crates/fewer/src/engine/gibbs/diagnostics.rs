//! Whether chains agree, and how many independent draws theirs are worth (Vehtari, Gelman, Simpson,
//! Carpenter & Bürkner 2021).

use crate::random::normal_scores;
use serde::{Deserialize, Serialize};

/// How well one number was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The larger of split-R̂ of ranks and of folded ranks: near 1 where chains agree.
    pub r_hat: f64,
    /// Effective draws for the centre of the distribution.
    pub bulk: f64,
    /// Effective draws for its 5 % and 95 % quantiles.
    pub tail: f64,
}

/// A quantile of so many values, of which `at` gives the sorted ones, between two of them by a
/// straight line.
pub(crate) fn quantile(n: usize, at: impl Fn(usize) -> f64, p: f64) -> f64 {
    let place = p * (n - 1) as f64;
    let k = place as usize;
    at(k) + place.fract() * (at((k + 1).min(n - 1)) - at(k))
}

/// Normal scores of all ranks, for so many chains of so many draws.
pub(crate) struct Ranks {
    chains: usize,
    /// Draws of half a chain; an odd one in the middle is left out.
    half: usize,
    scores: Vec<f64>,
}

impl Ranks {
    pub fn new(chains: usize, draws: usize) -> Self {
        let half = draws / 2;
        Self { chains, half, scores: normal_scores(2 * half * chains) }
    }

    /// Diagnoses a number from its draws, chain after chain.
    pub fn diagnose(&self, draws: &[f64]) -> Diagnostic {
        let length = draws.len() / self.chains.max(1);
        if self.half < 2 {
            return Diagnostic { r_hat: f64::MAX, bulk: 0.0, tail: 0.0 };
        }
        let mut values = Vec::with_capacity(2 * self.half * self.chains);
        for chain in draws.chunks_exact(length) {
            values.extend_from_slice(&chain[..self.half]);
            values.extend_from_slice(&chain[length - self.half..]);
        }
        let n = values.len();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
        let at = |k: usize| values[order[k] as usize];
        if at(0) == at(n - 1) {
            // A number that is held.
            return Diagnostic { r_hat: 1.0, bulk: n as f64, tail: n as f64 };
        }
        let bulk_scores = self.scores_in_order(&order, |a, b| values[a] == values[b]);
        let median = 0.5 * (at((n - 1) / 2) + at(n / 2));
        let folded_order = folded(&order, |k| (values[k] - median).abs());
        let folded_scores = self.scores_in_order(&folded_order, |a, b| {
            (values[a] - median).abs() == (values[b] - median).abs()
        });
        let tail = [0.05, 0.95].map(|p| {
            let edge = quantile(n, at, p);
            let below: Vec<f64> = values.iter().map(|v| f64::from(u8::from(*v <= edge))).collect();
            self.effective(&below)
        });
        Diagnostic {
            r_hat: self.r_hat(&bulk_scores).max(self.r_hat(&folded_scores)),
            bulk: self.effective(&bulk_scores),
            tail: tail[0].min(tail[1]),
        }
    }

    /// The normal scores of the ranks; equal values share theirs.
    fn scores_in_order(&self, order: &[u32], equal: impl Fn(usize, usize) -> bool) -> Vec<f64> {
        let mut out = vec![0.0; order.len()];
        let mut start = 0;
        while start < order.len() {
            let mut end = start + 1;
            while end < order.len() && equal(order[start] as usize, order[end] as usize) {
                end += 1;
            }
            let score = self.scores[start..end].iter().sum::<f64>() / (end - start) as f64;
            order[start..end].iter().for_each(|&k| out[k as usize] = score);
            start = end;
        }
        out
    }

    /// Means of the halves, the mean of their variances, and the variance of all.
    fn variances(&self, values: &[f64]) -> (Vec<f64>, f64, f64) {
        let n = self.half as f64;
        let mean = |half: &[f64]| half.iter().sum::<f64>() / n;
        let means: Vec<f64> = values.chunks_exact(self.half).map(mean).collect();
        let within = values.chunks_exact(self.half).zip(&means);
        let within = within.map(|(half, m)| half.iter().map(|v| (v - m).powi(2)).sum::<f64>());
        let count = means.len() as f64;
        let within = within.sum::<f64>() / (count * (n - 1.0));
        let all = means.iter().sum::<f64>() / count;
        let between = means.iter().map(|m| (m - all).powi(2)).sum::<f64>() / (count - 1.0);
        let total = within * (n - 1.0) / n + between;
        (means, within, total)
    }

    fn r_hat(&self, values: &[f64]) -> f64 {
        let (_, within, total) = self.variances(values);
        if within > 0.0 { (total / within).sqrt() } else { f64::MAX }
    }

    /// The number of draws over their autocorrelation time: Geyer's initial monotone sequence over
    /// the halves together.
    fn effective(&self, values: &[f64]) -> f64 {
        let (means, within, total) = self.variances(values);
        let (n, all) = (self.half, values.len() as f64);
        if total == 0.0 {
            return all;
        }
        let autocovariance = |lag: usize| {
            let halves = values.chunks_exact(n).zip(&means);
            let sum = halves.map(|(half, m)| {
                half[lag..].iter().zip(half).map(|(a, b)| (a - m) * (b - m)).sum::<f64>()
            });
            sum.sum::<f64>() / (means.len() * n) as f64
        };
        let correlation = |lag: usize| 1.0 - (within - autocovariance(lag)) / total;
        let mut pair = 1.0 + correlation(1);
        let (mut sum, mut last) = (pair, 0.0);
        let mut lag = 2;
        while lag + 2 < n && pair > 0.0 {
            let even = correlation(lag);
            let next = even + correlation(lag + 1);
            if next < 0.0 {
                last = even.max(0.0);
                break;
            }
            pair = pair.min(next);
            sum += pair;
            lag += 2;
        }
        let time = (2.0 * sum - 1.0 + last).max(1.0 / all.log10());
        all / time
    }
}

/// The order of what is folded, from the order of what is not: both sides of the fold rise away
/// from it.
fn folded(order: &[u32], distance: impl Fn(usize) -> f64) -> Vec<u32> {
    let n = order.len();
    let (mut left, mut right) = (n / 2, n / 2);
    let mut out = Vec::with_capacity(n);
    while left > 0 || right < n {
        let below = left > 0
            && (right == n
                || distance(order[left - 1] as usize) <= distance(order[right] as usize));
        if below {
            left -= 1;
            out.push(order[left]);
        } else {
            out.push(order[right]);
            right += 1;
        }
    }
    out
}

/// Diagnoses a number from its draws, chain after chain.
#[cfg(test)]
pub(crate) fn diagnose(chains: usize, draws: &[f64]) -> Diagnostic {
    Ranks::new(chains, draws.len() / chains.max(1)).diagnose(draws)
}
