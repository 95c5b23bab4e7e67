//! The points on which kernels are centred.

use crate::data::{Dataset, Features, SparseRows};
use crate::random::uniform;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// How landmarks are chosen among the training rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Landmarks {
    /// Far from each other: k-means++ seeding.
    #[default]
    Kmeans,
    /// At random.
    Random,
    /// At random, and others again and again as the fit proceeds.
    Redrawn,
}

/// Which centres a kernel basis offers.
#[derive(Debug, Clone, Default)]
pub enum Centres {
    /// The distinct training rows of positive weight.
    #[default]
    Rows,
    /// So many of them.
    Landmarks(usize, Landmarks, u64),
    /// These points, in the units of the data.
    Given(Vec<Vec<f64>>),
}

/// A point: every coordinate, or (position, value) where it is not zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Centre {
    Dense(Vec<f64>),
    Sparse { at: Vec<(usize, f64)> },
}

impl Centre {
    pub fn dense(&self, columns: usize) -> Vec<f64> {
        match self {
            Centre::Dense(values) => values.clone(),
            Centre::Sparse { at } => {
                let mut out = vec![0.0; columns];
                at.iter().for_each(|&(j, v)| out[j] = v);
                out
            }
        }
    }
}

/// Every row as a point.
pub(super) fn all_rows(x: Features<'_>) -> Vec<Centre> {
    match x {
        Features::Dense(x) => (0..x.rows())
            .map(|i| Centre::Dense((0..x.columns()).map(|j| x.get(i, j)).collect()))
            .collect(),
        Features::Sparse(x) => {
            let by_row = SparseRows::new(x);
            let row = |i| Centre::Sparse { at: by_row.row(i).filter(|e| e.1 != 0.0).collect() };
            (0..x.rows()).map(row).collect()
        }
    }
}

pub(super) fn distinct_rows(data: &Dataset<'_>) -> (Vec<usize>, Vec<Centre>) {
    let counts = |i: usize| data.weights().is_none_or(|w| w[i] > 0.0);
    let mut seen: HashSet<Vec<u64>> = HashSet::new();
    let (mut rows, mut centres) = (Vec::new(), Vec::new());
    let mut take = |i: usize, centre: Centre| {
        let key = match &centre {
            // −0 and 0 are one value.
            Centre::Dense(v) => v.iter().map(|v| (v + 0.0).to_bits()).collect(),
            Centre::Sparse { at } => {
                at.iter().flat_map(|&(j, v)| [j as u64, v.to_bits()]).collect()
            }
        };
        if seen.insert(key) {
            rows.push(i);
            centres.push(centre);
        }
    };
    for (i, centre) in all_rows(*data.features()).into_iter().enumerate() {
        if counts(i) {
            take(i, centre);
        }
    }
    (rows, centres)
}

pub(super) fn random_subset(n: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut next = uniform(seed);
    let mut order: Vec<usize> = (0..n).collect();
    for k in 0..count.min(n) {
        let other = k + (next() * (n - k) as f64) as usize;
        order.swap(k, other.min(n - 1));
    }
    order.truncate(count);
    order.sort_unstable();
    order
}

/// k-means++ seeding: each next point with a probability proportional to its squared distance
/// from those chosen (Arthur & Vassilvitskii 2007).
pub(super) fn spread_subset(
    points: &[Centre],
    scale: &[f64],
    count: usize,
    seed: u64,
) -> Vec<usize> {
    let mut next = uniform(seed);
    let n = points.len();
    let scaled = |k: usize| {
        let mut p = points[k].dense(scale.len());
        p.iter_mut().zip(scale).for_each(|(v, s)| *v *= s);
        p
    };
    let mut chosen = Vec::new();
    let mut nearest = vec![f64::INFINITY; n];
    let mut current = ((next() * n as f64) as usize).min(n.saturating_sub(1));
    while chosen.len() < count.min(n) {
        chosen.push(current);
        let point = scaled(current);
        nearest.par_iter_mut().enumerate().for_each(|(k, best)| {
            let other = scaled(k);
            let distance: f64 = point.iter().zip(&other).map(|(a, b)| (a - b) * (a - b)).sum();
            *best = best.min(distance);
        });
        nearest[current] = 0.0;
        let total: f64 = nearest.iter().sum();
        let mut left = next() * total;
        let Some(k) = nearest.iter().position(|d| {
            left -= d;
            *d > 0.0 && left <= 0.0
        }) else {
            break;
        };
        current = k;
    }
    chosen.sort_unstable();
    chosen
}
