//! Where centres and widths may be, and the variables in which they climb.

use super::Learning;
use crate::basis::{Family, Shape};
use rayon::prelude::*;
use std::collections::HashSet;

/// Sample among which distances to the nearest are taken.
const SPACING_ROWS: usize = 500;
/// A kernel whose largest value on any row is below e to minus this sits in empty space.
pub(super) const REACH: f64 = 0.3;
/// Where the parameters of one kernel were more than a part of the rows its centre stays on a row,
/// and where its widths were it has only one.
pub(super) const PART_OF_ROWS: f64 = 0.25;

/// Where centres and widths may be.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    /// Distance of a row to the nearest, and of the farthest rows.
    pub(super) spacing: f64,
    pub(super) span: f64,
    /// Inputs that are not constant.
    pub(super) varying: usize,
    /// Widths of a kernel.
    pub(super) widths: usize,
    /// Whether centres stay on rows.
    pub(super) held: bool,
}

impl Bounds {
    pub(super) fn new(learning: &Learning) -> Self {
        let x = &*learning.rows.x;
        let (n, d) = (x.rows(), x.columns());
        let of = |j: usize, pick: fn(f64, f64) -> f64| {
            x.column(j).iter().copied().reduce(pick).unwrap_or(0.0)
        };
        let low: Vec<f64> = (0..d).map(|j| of(j, f64::min)).collect();
        let high: Vec<f64> = (0..d).map(|j| of(j, f64::max)).collect();
        let span = low.iter().zip(&high).map(|(l, h)| (h - l).powi(2)).sum::<f64>().sqrt();
        // Copies of rows say nothing of the distances.
        let mut seen = HashSet::new();
        let key = |i: usize| (0..d).map(|j| (x[(i, j)] + 0.0).to_bits()).collect::<Vec<u64>>();
        let distinct: Vec<usize> = (0..n).filter(|&i| seen.insert(key(i))).collect();
        let step = distinct.len().div_ceil(SPACING_ROWS).max(1);
        let asked: Vec<usize> = distinct.iter().copied().step_by(step).collect();
        let mut nearest: Vec<f64> = asked
            .par_iter()
            .map(|&a| {
                let mut squares = vec![0.0; n];
                for j in 0..d {
                    let at = x[(a, j)];
                    squares.iter_mut().zip(x.column(j)).for_each(|(s, v)| *s += (v - at).powi(2));
                }
                squares.into_iter().filter(|s| *s > 0.0).fold(f64::INFINITY, f64::min).sqrt()
            })
            .filter(|s| s.is_finite())
            .collect();
        let middle = nearest.len() / 2;
        let spacing = match nearest.is_empty() {
            true => span,
            false => *nearest.select_nth_unstable_by(middle, f64::total_cmp).1,
        };
        let varying = low.iter().zip(&high).filter(|(l, h)| h > l).count();
        let most = PART_OF_ROWS * learning.rows.different();
        let own = learning.anisotropic && varying as f64 <= most;
        let widths = if own { d } else { 1 };
        let held = (varying + if own { varying } else { 1 }) as f64 > most;
        Self { low, high, spacing: spacing.min(span), span, varying, widths, held }
    }

    pub(super) fn varies(&self, input: usize) -> bool {
        self.high[input] > self.low[input]
    }

    /// The square of the range of a function, which the prior of its variance is relative to. An
    /// intercept may be anywhere.
    pub(super) fn unit(&self, shape: &Option<Shape>) -> f64 {
        match shape {
            Some(Shape::Linear { feature: j }) => (0.25 * (self.high[*j] - self.low[*j])).powi(2),
            Some(_) => 1.0,
            None => 0.0,
        }
    }

    /// Smallest and largest log width.
    fn of_widths(&self) -> (f64, f64) {
        ((0.5 * self.spacing).ln(), (2.0 * self.span).ln())
    }

    /// Lower and upper bounds of (m − at)/h, log h for a kernel at these parameters.
    pub(super) fn around(&self, parameters: &[f64], units: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let d = self.low.len();
        let (narrow, wide) = self.of_widths();
        let room = if self.held { 0.0 } else { 1.0 };
        let side = |end: &[f64], width: f64| {
            let centre = (0..d).map(|j| room * (end[j] - parameters[j]) / units[j]);
            centre.chain((d..parameters.len()).map(|_| width)).collect::<Vec<f64>>()
        };
        (side(&self.low, narrow), side(&self.high, wide))
    }
}

/// Parameters in variables that have one scale: centres in widths from where they were.
#[derive(Debug, Clone)]
pub(super) struct Variables {
    family: Family,
    /// The parameters at the start.
    pub(super) origin: Vec<f64>,
    /// (d,) Widths at the start.
    pub(super) units: Vec<f64>,
}

impl Variables {
    pub(super) fn new(shape: &Shape) -> Self {
        let (centre, width) = shape.kernel().unwrap_or_default();
        let units = (0..centre.len()).map(|j| width[j.min(width.len() - 1)]).collect();
        Self { family: shape.family(), origin: shape.parameters(), units }
    }

    pub(super) fn start(&self) -> Vec<f64> {
        let d = self.units.len();
        (0..self.origin.len()).map(|k| if k < d { 0.0 } else { self.origin[k] }).collect()
    }

    pub(super) fn shape(&self, variables: &[f64]) -> Shape {
        let d = self.units.len();
        let place = |(k, v): (usize, &f64)| {
            if k < d { self.origin[k] + self.units[k] * v } else { *v }
        };
        let parameters: Vec<f64> = variables.iter().enumerate().map(place).collect();
        Shape::of(self.family, &parameters, d)
    }

    /// A gradient in parameters as one in variables.
    pub(super) fn gradient(&self, mut of: Vec<f64>) -> Vec<f64> {
        of.iter_mut().zip(&self.units).for_each(|(g, u)| *g *= u);
        of
    }
}
