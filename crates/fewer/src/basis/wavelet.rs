//! Orthonormal wavelets on an equally spaced grid, periodic beyond its ends.

use super::linear::whole;
use super::wavelet_filters::FILTERS;
use crate::data::Features;
use crate::design::Columns;
use crate::error::{Error, Result};
use crate::linalg::{Layout, Tile};
use crate::model::number;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Wavelets on the points `start + i·step` of one feature, some of which a model keeps.
///
/// Function 0 is constant; functions 2ˡ to 2ˡ⁺¹ − 1 are the wavelets of level l, which are wide for
/// small l, from left to right. On the grid they are orthonormal; between its points they are
/// interpolated, and beyond the ends of the data they stay as they are there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wavelets {
    wavelet: String,
    start: f64,
    step: f64,
    /// Points of the grid, a power of two.
    size: usize,
    /// Points that are data; those after it were added.
    points: usize,
    kept: Vec<usize>,
}

/// The names of wavelets there are.
fn wavelet_names() -> Vec<&'static str> {
    FILTERS.iter().map(|f| f.0).collect()
}

/// The filter of a wavelet.
fn filter(name: &str) -> Option<&'static [f64]> {
    FILTERS.iter().find(|f| f.0 == name).map(|f| f.1)
}

/// The highpass filter that goes with a lowpass one.
fn mirrored(low: &[f64]) -> Vec<f64> {
    let signed = |(k, h): (usize, &f64)| if k % 2 == 0 { *h } else { -h };
    low.iter().rev().enumerate().map(signed).collect()
}

/// Where a filter of so many taps begins, relative to twice its index: about its middle.
fn offset(taps: usize) -> isize {
    1 - (taps / 2) as isize
}

impl Wavelets {
    /// All wavelets of a name on a grid of `size` points, a power of two, of which `points` are
    /// data.
    pub(crate) fn new(
        wavelet: &str,
        start: f64,
        step: f64,
        size: usize,
        points: usize,
    ) -> Result<Self> {
        if filter(wavelet).is_none() {
            let known = wavelet_names().join(", ");
            return Err(Error::setting("wavelet", wavelet, format!("known wavelets: {known}")));
        }
        let kept = (0..size).collect();
        Ok(Self { wavelet: wavelet.into(), start, step, size, points, kept })
    }

    fn low(&self) -> &'static [f64] {
        filter(&self.wavelet).unwrap_or(FILTERS[0].1)
    }

    /// The products of all wavelets with values on the grid, in time proportional to their number.
    pub(crate) fn analyse(&self, values: &[f64]) -> Vec<f64> {
        let low = self.low();
        let (high, first) = (mirrored(low), offset(low.len()));
        let mut out = vec![0.0; self.size];
        let mut smooth = values.to_vec();
        while smooth.len() > 1 {
            let n = smooth.len();
            let half = n / 2;
            let mut next = vec![0.0; half];
            for i in 0..half {
                let mut at = (2 * i as isize + first).rem_euclid(n as isize) as usize;
                let (mut sum, mut difference) = (0.0, 0.0);
                for (h, g) in low.iter().zip(&high) {
                    sum += h * smooth[at];
                    difference += g * smooth[at];
                    at = if at + 1 == n { 0 } else { at + 1 };
                }
                next[i] = sum;
                out[half + i] = difference;
            }
            smooth = next;
        }
        out[0] = smooth[0];
        out
    }

    /// Σ w ψ of the functions kept on the grid, in time proportional to its points.
    fn synthesise(&self, weights: &[f64]) -> Vec<f64> {
        let low = self.low();
        let (high, first) = (mirrored(low), offset(low.len()));
        let mut all = vec![0.0; self.size];
        self.kept.iter().zip(weights).for_each(|(&k, w)| all[k] += w);
        let mut smooth = vec![all[0]];
        while smooth.len() < self.size {
            let half = smooth.len();
            let n = 2 * half;
            let mut next = vec![0.0; n];
            for i in 0..half {
                let (sum, difference) = (smooth[i], all[half + i]);
                let mut at = (2 * i as isize + first).rem_euclid(n as isize) as usize;
                for (h, g) in low.iter().zip(&high) {
                    next[at] += h * sum + g * difference;
                    at = if at + 1 == n { 0 } else { at + 1 };
                }
            }
            smooth = next;
        }
        smooth
    }

    /// Σ v ψ² at each point of the grid, and Σ v ψψ′ with ψ′ the value at the next point. Wavelets
    /// of a level are one that is shifted, and few are not zero at a point.
    fn squares(&self, variances: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.size;
        let (mut own, mut next) = (vec![0.0; n], vec![0.0; n]);
        let mut of_level = (usize::MAX, 0, Vec::new());
        for (&k, v) in self.kept.iter().zip(variances) {
            let level = if k == 0 { 0 } else { 1usize << k.ilog2() };
            if of_level.0 != level {
                let (start, values) = self.values(level);
                of_level = (level, start, values);
            }
            let (_, start, values) = &of_level;
            let shift = if level == 0 { 0 } else { (k - level) * (n / level) };
            let count = values.len();
            let after = |p: usize| match p + 1 < count {
                true => values[p + 1],
                false if count == n => values[0],
                false => 0.0,
            };
            let mut at = (*start + shift) % n;
            for (p, value) in values.iter().enumerate() {
                own[at] += v * value * value;
                next[at] += v * value * after(p);
                at = if at + 1 == n { 0 } else { at + 1 };
            }
        }
        (own, next)
    }

    /// Σ w φ of the functions kept at each value of x.
    pub(crate) fn sums(&self, x: &[f64], weights: &[f64]) -> Vec<f64> {
        let grid = self.synthesise(weights);
        let one = |x: &f64| match self.place(*x) {
            (at, part) if part > 0.0 => grid[at] + part * (grid[at + 1] - grid[at]),
            (at, _) => grid[at],
        };
        x.iter().map(one).collect()
    }

    /// Σ v φ² of the functions kept at each value of x.
    pub(crate) fn variances(&self, x: &[f64], variances: &[f64]) -> Vec<f64> {
        let (own, next) = self.squares(variances);
        let one = |x: &f64| match self.place(*x) {
            (at, part) if part > 0.0 => {
                let rest = 1.0 - part;
                let ends = rest * rest * own[at] + part * part * own[at + 1];
                (ends + 2.0 * part * rest * next[at]).max(0.0)
            }
            (at, _) => own[at],
        };
        x.iter().map(one).collect()
    }

    /// The values of function `k` on the grid: where they begin, and those that are not zero.
    fn values(&self, k: usize) -> (usize, Vec<f64>) {
        if k == 0 {
            return (0, vec![(self.size as f64).powf(-0.5); self.size]);
        }
        let low = self.low();
        let first = offset(low.len());
        let level = 1usize << k.ilog2();
        let mut values = mirrored(low);
        let mut start = 2 * (k - level) as isize + first;
        let mut n = 2 * level;
        while n < self.size {
            let mut finer = vec![0.0; 2 * (values.len() - 1) + low.len()];
            for (p, v) in values.iter().enumerate() {
                finer[2 * p..].iter_mut().zip(low).for_each(|(f, h)| *f += h * v);
            }
            (start, values, n) = (2 * start + first, finer, 2 * n);
        }
        let start = start.rem_euclid(self.size as isize) as usize;
        if values.len() <= self.size {
            return (start, values);
        }
        // It goes round more than once.
        let mut folded = vec![0.0; self.size];
        values.iter().enumerate().for_each(|(p, v)| folded[(start + p) % self.size] += v);
        (0, folded)
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn name(&self, k: usize, feature: &dyn Fn(usize) -> String) -> String {
        let feature = feature(0);
        let function = self.kept[k];
        if function == 0 {
            return format!("{}(constant)", self.wavelet);
        }
        let level = 1usize << function.ilog2();
        let width = self.step * (self.size / level) as f64;
        let middle = self.start + width * ((function - level) as f64 + 0.5);
        let [middle, width] = [middle, width].map(|v| number(super::rounded(v)));
        format!("{}({feature} near {middle}, width {width})", self.wavelet)
    }

    pub(super) fn keep(&self, chosen: &[usize]) -> Self {
        Self { kept: chosen.iter().map(|&k| self.kept[k]).collect(), ..self.clone() }
    }

    pub(super) fn fits(&self, features: usize) -> bool {
        features == 1
            && self.size.is_power_of_two()
            && (1..=self.size).contains(&self.points)
            && self.start.is_finite()
            && self.step > 0.0
            && self.kept.iter().all(|&k| k < self.size)
            && filter(&self.wavelet).is_some()
    }

    pub(super) fn columns<'a>(&'a self, x: Features<'a>) -> Box<dyn Columns + 'a> {
        let functions = self.kept.iter().map(|&k| self.values(k)).collect();
        Box::new(Interpolated { grid: self, functions, inner: whole(x) })
    }

    /// The point of the grid at or before a value, and the part of a step beyond it.
    fn place(&self, x: f64) -> (usize, f64) {
        let at = ((x - self.start) / self.step).clamp(0.0, (self.points - 1) as f64);
        let before = (at.floor() as usize).min(self.points.saturating_sub(2));
        (before, at - before as f64)
    }
}

/// Wavelets between the points of their grid.
struct Interpolated<'a> {
    grid: &'a Wavelets,
    /// Where each function begins, and its values from there.
    functions: Vec<(usize, Vec<f64>)>,
    inner: Box<dyn Columns + 'a>,
}

impl Columns for Interpolated<'_> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.functions.len()
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        let mut x = Tile::default();
        self.inner.fill(rows.clone(), &[0], &mut x);
        let places: Vec<(usize, f64)> = x.values().iter().map(|&x| self.grid.place(x)).collect();
        let n = self.grid.size;
        tile.reset(rows.len(), columns.len(), Layout::Columns);
        let target = tile.values_mut().chunks_exact_mut(rows.len().max(1));
        for (&j, out) in columns.iter().zip(target) {
            let (start, values) = &self.functions[j];
            let at = |i: usize| values.get((i + n - start) % n).copied().unwrap_or(0.0);
            for (o, &(before, part)) in out.iter_mut().zip(&places) {
                let low = at(before);
                *o = if part > 0.0 { low + part * (at(before + 1) - low) } else { low };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DenseView;
    use crate::linalg::dot;

    #[test]
    fn filters_are_orthonormal_and_have_their_moments() {
        for (name, h) in FILTERS {
            for shift in (0..h.len()).step_by(2) {
                let product: f64 = h.iter().zip(&h[shift..]).map(|(a, b)| a * b).sum();
                let expected = if shift == 0 { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 1e-15, "{name}, {shift}: {product:e}");
            }
            assert!((h.iter().sum::<f64>() - std::f64::consts::SQRT_2).abs() < 1e-15, "{name}");
            let middle = 0.5 * (h.len() - 1) as f64;
            for power in 0..h.len() / 2 {
                let term =
                    |(k, g): (usize, &f64)| g * ((k as f64 - middle) / middle).powi(power as i32);
                let moment: f64 = mirrored(h).iter().enumerate().map(term).sum();
                assert!(moment.abs() < 1e-15, "{name}, moment {power}: {moment:e}");
            }
        }
    }

    /// The columns on the grid itself.
    fn matrix(wavelets: &Wavelets) -> Vec<Vec<f64>> {
        let n = wavelets.size;
        let x: Vec<f64> = (0..n).map(|i| wavelets.start + wavelets.step * i as f64).collect();
        let view = DenseView::by_rows(&x, n, 1).unwrap();
        let columns = wavelets.columns(view.into());
        let mut tile = Tile::default();
        columns.fill(0..n, &(0..n).collect::<Vec<_>>(), &mut tile);
        tile.values().chunks(n).map(<[f64]>::to_vec).collect()
    }

    #[test]
    fn columns_are_orthonormal_and_analysis_takes_products_with_them() {
        for name in wavelet_names() {
            for size in [1, 2, 4, 32] {
                let wavelets = Wavelets::new(name, -1.0, 0.25, size, size).unwrap();
                let columns = matrix(&wavelets);
                for (a, left) in columns.iter().enumerate() {
                    for (b, right) in columns.iter().enumerate() {
                        let expected = f64::from(u8::from(a == b));
                        assert!((dot(left, right) - expected).abs() < 1e-13, "{name}: {a}, {b}");
                    }
                }
                let values: Vec<f64> = (0..size).map(|i| ((i * i) as f64 * 0.3).sin()).collect();
                for (found, column) in wavelets.analyse(&values).iter().zip(&columns) {
                    assert!((found - dot(column, &values)).abs() < 1e-13, "{name}");
                }
            }
        }
    }

    /// PyWavelets 1.8.0, wavedec(sin(0.3 i²), wavelet, "periodization").
    #[test]
    fn coefficients_are_those_of_pywavelets() {
        let values: Vec<f64> = (0..16).map(|i| ((i * i) as f64 * 0.3).sin()).collect();
        let cases: [(&str, [f64; 16]); 2] = [
            (
                "sym8",
                [
                    -0.3534830455223977,
                    0.40943808880153204,
                    -0.3668311047649042,
                    1.1722753857064787,
                    -0.6177772082280145,
                    0.6189251443106172,
                    0.21997859961037194,
                    -1.5349928492788385,
                    -0.33605599452844975,
                    -0.29145796086542736,
                    1.1970653534884617,
                    1.476116027475871,
                    -0.2795432728068493,
                    -0.10417010279348171,
                    0.37732094054349663,
                    -0.7516514133189381,
                ],
            ),
            (
                "db3",
                [
                    -0.3534830455235558,
                    -1.1801279034398697,
                    0.5453675775140447,
                    -0.04357753017245814,
                    -0.03797150019541963,
                    0.8821047252857428,
                    -1.2629059106080136,
                    -0.8697336881783986,
                    0.4159960906013904,
                    -1.4129700522351327,
                    -1.3003879052678133,
                    0.31167044053853676,
                    -0.13789140046350185,
                    -0.17343386683742543,
                    0.7420747929598681,
                    0.26731832351088436,
                ],
            ),
        ];
        for (name, expected) in cases {
            let found = Wavelets::new(name, 0.0, 1.0, 16, 16).unwrap().analyse(&values);
            for (a, b) in found.iter().zip(expected) {
                assert!((a.abs() - b.abs()).abs() < 1e-11, "{name}: {a} {b}");
            }
        }
    }

    #[test]
    fn sums_are_those_of_the_columns() {
        for name in wavelet_names() {
            for (size, points) in [(1, 1), (2, 2), (16, 12), (128, 128)] {
                let all = Wavelets::new(name, -1.0, 0.25, size, points).unwrap();
                for step in [1, 3] {
                    let wavelets = all.keep(&(0..size).step_by(step).collect::<Vec<_>>());
                    let weights: Vec<f64> =
                        (0..wavelets.len()).map(|k| ((k * k) as f64 + 0.2).sin()).collect();
                    let variances: Vec<f64> = weights.iter().map(|w| w * w).collect();
                    let end = 0.25 * size as f64;
                    let x: Vec<f64> =
                        (0..50).map(|i| -1.5 + (end + 1.0) * i as f64 / 49.0).collect();
                    let columns = wavelets.columns(DenseView::by_rows(&x, 50, 1).unwrap().into());
                    let mut tile = Tile::default();
                    columns.fill(0..50, &(0..wavelets.len()).collect::<Vec<_>>(), &mut tile);
                    let sums = wavelets.sums(&x, &weights);
                    let squares = wavelets.variances(&x, &variances);
                    for i in 0..50 {
                        let values = (0..wavelets.len()).map(|k| weights[k] * tile.get(i, k));
                        let (sum, square) = values.fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
                        assert!((sums[i] - sum).abs() < 1e-12, "{name} {size} {i}");
                        assert!((squares[i] - square).abs() < 1e-12, "{name} {size} {i}");
                    }
                }
            }
        }
    }

    #[test]
    fn values_between_points_are_interpolated_and_hold_beyond_the_ends() {
        let wavelets = Wavelets::new("sym8", 0.0, 1.0, 16, 12).unwrap();
        let x = [3.0, 4.0, 3.25, -5.0, 0.0, 11.0, 11.4];
        let columns = wavelets.columns(DenseView::by_rows(&x, 7, 1).unwrap().into());
        let mut tile = Tile::default();
        columns.fill(0..7, &(0..16).collect::<Vec<_>>(), &mut tile);
        for c in tile.values().chunks(7) {
            assert!((c[2] - (0.75 * c[0] + 0.25 * c[1])).abs() < 1e-15);
            assert_eq!((c[3], c[6]), (c[4], c[5]));
        }
    }
}
