//! Columns that are learnt: kernels with centres and widths of their own (Tzikas, Likas &
//! Galatsanos 2009, sec. III).
//!
//! Candidates start where the error is large and climb ρ = (q² − 2cz)/s, of which the gain of a
//! column at its best variance is a rising function, all starts at once as products of matrices.
//! The best joins, then the parameters of all kernels climb the objective together; precisions and
//! noise settle as those of any columns do.

use super::objective::Objective;
use super::posterior::{Active, Posterior};
use super::{Ascent, Found, FromGram, IN_SPAN, Options, Problem};
use crate::basis::{Family, Shape};
use crate::engine::{Minimum, Observer, Progress, Step, Termination};
use crate::error::{Error, Result};
use crate::likelihood::Noise;
use crate::linalg::{Matrix, axpy, cross_products, dot, multiply};
use crate::prior::{Ard, EvidencePrior, Factors, exponential_variance};
use crate::random::uniform;
use rayon::prelude::*;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// Sample of inputs with the target.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// (n, d) Inputs.
    pub x: Arc<Matrix>,
    /// (n,) √w·t, t about its mean where the intercept is free.
    pub target: Vec<f64>,
    /// (n,) √w; empty where every row weighs 1.
    pub root: Vec<f64>,
    /// Σw.
    pub weight: f64,
    /// Rows that there are, by weight.
    pub count: f64,
    /// (n,) What errors are multiplied by where candidates start from large ones; empty for 1.
    pub blame: Vec<f64>,
}

/// What is learnt, and how.
#[derive(Debug)]
pub(crate) struct Learning {
    pub rows: Sample,
    pub free_intercept: bool,
    /// Whether there is a column of ones that is no term.
    pub bias: bool,
    pub families: Vec<Family>,
    /// Whether kernels have a width for each input.
    pub anisotropic: bool,
    /// Candidates of each search.
    pub starts: usize,
    pub seed: u64,
    /// Noise by the published equation, its units put right.
    pub noise_as_published: bool,
    /// What a kernel's place or a width costs, as a part of ½ log β.
    pub parameter_price: f64,
    /// κ of the density exp(−κγ/2) of variances of weights, in units of the target's.
    pub variance_price: f64,
}

/// A prior under which learnt parameters are paid for: by Laplace's approximation an integral over
/// them is as narrow as the noise allows, ½ log β for each. Without any price enough kernels can
/// explain anything, and the evidence grows without bound as the noise vanishes.
///
/// Variances of weights have an exponential prior, which is felt by kernels that are nearly equal
/// and have huge weights of opposite signs: their difference fits a slope where there are rows, and
/// beyond them it may be anything.
#[derive(Debug, Clone, Copy)]
struct Paid {
    ard: Ard,
    /// Parameters of the kernels there are, times the price of one.
    parameters: f64,
    /// κ of the density exp(−κγ/2) of variances, in units of the target's.
    kappa: f64,
}

impl EvidencePrior for Paid {
    fn best_variance(&self, of: Factors, unit: f64, noise: f64) -> f64 {
        if self.kappa * unit == 0.0 {
            return self.ard.best_variance(of, unit, noise);
        }
        let square = of.q * of.q - 2.0 * self.ard.price * of.z;
        exponential_variance(Factors { q: square.max(0.0).sqrt(), ..of }, self.kappa * unit)
    }

    fn penalty(&self, variance: f64, unit: f64, _noise: f64) -> f64 {
        0.5 * self.kappa * unit * variance
    }

    fn price(&self) -> f64 {
        self.ard.price()
    }

    fn is_exact(&self) -> bool {
        self.ard.is_exact()
    }

    fn noise_power(&self) -> f64 {
        -0.5 * self.parameters
    }

    fn gain(&self, of: Factors, variance: f64, unit: f64, noise: f64) -> f64 {
        self.ard.gain(of, variance, unit, noise) - self.penalty(variance, unit, noise)
    }
}

/// Searches without a gain after which the fit ends, as published.
const IDLE: usize = 10;
/// Steps of the objective below which nothing is gained.
const LITTLE: f64 = 1e-6;
/// Evaluations in which a candidate climbs.
const CLIMB: usize = 14;
/// Candidates that are weighed on all rows.
const WEIGHED: usize = 8;
/// A candidate joins together with the first if it still gains such a part of it, and at most one
/// for every so many kernels.
const PART: f64 = 0.3;
const FOR_EACH: usize = 8;
/// Evaluations in which all kernels climb together, after an addition and at last, and the work
/// that they may take where there are many rows.
const TOGETHER: usize = 40;
const AT_LAST: usize = 400;
const WORK: f64 = 1e8;
/// Sample on which candidates climb where there are more, and rows for each learnt parameter of
/// one on which all kernels climb.
const SEARCH_ROWS: usize = 2000;
const CLIMB_ROWS: usize = 10;
/// Learnt parameters up to which their second derivatives are taken, rows for each of them, and
/// the part of the diagonal that is added to it.
const CURVED: usize = 1500;
const CURVED_ROWS: usize = 4;
const DAMPING: f64 = 1e-3;
/// What a step must gain for each row where there are more.
const LITTLE_OF_ROW: f64 = 1e-5;
/// Functions that are weighed at once.
const BLOCK: usize = 64;
/// Sample among which distances to the nearest are taken.
const SPACING_ROWS: usize = 500;
/// A kernel whose largest value on any row is below e to minus this sits in empty space.
const REACH: f64 = 0.3;
/// Kernels whose columns have a correlation of 1 less this are one.
const TWINS: f64 = 1e-7;
/// There is at most one kernel for every so many rows, and at most one learnt parameter: where
/// there were as many as rows they could interpolate. Where those of one kernel were more than a
/// part of the rows its centre stays on a row, and where its widths were it has only one.
const ROWS_FOR_EACH: f64 = 4.0;
const ROWS_FOR_PARAMETER: f64 = 1.5;
const PART_OF_ROWS: f64 = 0.25;
/// Bounds of log precisions about where they are.
const FAR: f64 = 30.0;
/// No step changes a log width, or a centre in widths, by more.
const STRIDE: f64 = 2.0;

/// Where centres and widths may be.
#[derive(Debug, Clone)]
struct Bounds {
    low: Vec<f64>,
    high: Vec<f64>,
    /// Distance of a row to the nearest, and of the farthest rows.
    spacing: f64,
    span: f64,
    /// Inputs that are not constant.
    varying: usize,
    /// Widths of a kernel.
    widths: usize,
    /// Whether centres stay on rows.
    held: bool,
}

impl Bounds {
    fn new(learning: &Learning) -> Self {
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
        let most = PART_OF_ROWS * learning.rows.count;
        let own = learning.anisotropic && varying as f64 <= most;
        let widths = if own { d } else { 1 };
        let held = (varying + if own { varying } else { 1 }) as f64 > most;
        Self { low, high, spacing: spacing.min(span), span, varying, widths, held }
    }

    /// The square of the range of a function, which the prior of its variance is relative to. An
    /// intercept may be anywhere.
    fn unit(&self, shape: &Option<Shape>) -> f64 {
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
    fn around(&self, parameters: &[f64], units: &[f64]) -> (Vec<f64>, Vec<f64>) {
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
struct Variables {
    family: Family,
    /// The parameters at the start.
    origin: Vec<f64>,
    /// (d,) Widths at the start.
    units: Vec<f64>,
}

impl Variables {
    fn new(shape: &Shape) -> Self {
        let (centre, width) = shape.kernel().unwrap_or_default();
        let units = (0..centre.len()).map(|j| width[j.min(width.len() - 1)]).collect();
        Self { family: shape.family(), origin: shape.parameters(), units }
    }

    fn start(&self) -> Vec<f64> {
        let d = self.units.len();
        (0..self.origin.len()).map(|k| if k < d { 0.0 } else { self.origin[k] }).collect()
    }

    fn shape(&self, variables: &[f64]) -> Shape {
        let d = self.units.len();
        let place = |(k, v): (usize, &f64)| {
            if k < d { self.origin[k] + self.units[k] * v } else { *v }
        };
        let parameters: Vec<f64> = variables.iter().enumerate().map(place).collect();
        Shape::of(self.family, &parameters, d)
    }

    /// A gradient in parameters as one in variables.
    fn gradient(&self, mut of: Vec<f64>) -> Vec<f64> {
        of.iter_mut().zip(&self.units).for_each(|(g, u)| *g *= u);
        of
    }
}

impl Sample {
    fn len(&self) -> usize {
        self.target.len()
    }

    /// The values of a function on all rows, and its column: centred where the intercept is free,
    /// times √w.
    fn column(&self, shape: Option<&Shape>, centred: bool, raw: &mut [f64], column: &mut [f64]) {
        match shape {
            Some(shape) => shape.write(self.x.as_slice(), raw),
            None => raw.fill(1.0),
        }
        column.copy_from_slice(raw);
        self.weight_column(centred, column);
    }

    /// Values times √w, centred where the intercept is free.
    fn weight_column(&self, centred: bool, column: &mut [f64]) {
        if !self.root.is_empty() {
            column.iter_mut().zip(&self.root).for_each(|(c, r)| *c *= r);
        }
        if centred {
            if self.root.is_empty() {
                let mean = column.iter().sum::<f64>() / self.weight;
                column.iter_mut().for_each(|c| *c -= mean);
            } else {
                let mean = dot(column, &self.root) / self.weight;
                axpy(-mean, &self.root, column);
            }
        }
    }

    /// The derivatives of kernels in their variables, as columns.
    fn slopes(
        &self,
        shapes: &[Option<Shape>],
        kernels: &[Option<Variables>],
        raw: &Matrix,
        centred: bool,
    ) -> Matrix {
        let n = self.len();
        let sizes = kernels.iter().map(|v| v.as_ref().map_or(0, |v| v.origin.len()));
        let mut out = Matrix::zeros(n, sizes.clone().sum());
        let mut rest = out.as_mut_slice();
        let mut parts = Vec::with_capacity(shapes.len());
        for size in sizes {
            let (part, others) = rest.split_at_mut(size * n);
            parts.push(part);
            rest = others;
        }
        parts.into_par_iter().enumerate().for_each(|(k, part)| {
            if let (Some(shape), Some(v)) = (&shapes[k], &kernels[k]) {
                shape.slopes(self.x.as_slice(), raw.column(k), part);
                for (p, column) in part.chunks_mut(n.max(1)).enumerate() {
                    let unit = v.units.get(p).copied().unwrap_or(1.0);
                    column.iter_mut().for_each(|c| *c *= unit);
                    self.weight_column(centred, column);
                }
            }
        });
        out
    }

    fn columns(&self, shapes: &[Option<Shape>], centred: bool) -> (Matrix, Matrix) {
        let n = self.len();
        let mut raw = Matrix::zeros(n, shapes.len());
        let mut columns = Matrix::zeros(n, shapes.len());
        let pairs = raw.as_mut_slice().par_chunks_mut(n.max(1));
        let pairs = pairs.zip(columns.as_mut_slice().par_chunks_mut(n.max(1)));
        pairs.zip(shapes).for_each(|((raw, column), shape)| {
            self.column(shape.as_ref(), centred, raw, column);
        });
        (raw, columns)
    }

    /// Takes the mean of values, by weight, off them.
    fn centre(&self, values: &mut [f64]) {
        let of_row = |i: usize| self.root.get(i).map_or(1.0, |r| r * r);
        let sum: f64 = values.iter().enumerate().map(|(i, v)| of_row(i) * v).sum();
        let mean = sum / self.weight;
        values.iter_mut().for_each(|v| *v -= mean);
    }

    /// Some of the rows, which stand for all.
    fn part(&self, chosen: &[usize], centred: bool) -> Self {
        let share = (self.len() as f64 / chosen.len() as f64).sqrt();
        let mut x = Matrix::zeros(chosen.len(), self.x.columns());
        for j in 0..self.x.columns() {
            let from = self.x.column(j);
            x.column_mut(j).iter_mut().zip(chosen).for_each(|(v, &i)| *v = from[i]);
        }
        let root = |i: &usize| share * self.root.get(*i).copied().unwrap_or(1.0);
        let root: Vec<f64> = chosen.iter().map(root).collect();
        let weight = dot(&root, &root);
        let mut target: Vec<f64> = chosen.iter().map(|&i| share * self.target[i]).collect();
        if centred {
            let mean = dot(&target, &root) / weight;
            axpy(-mean, &root, &mut target);
        }
        Self { x: Arc::new(x), target, root, weight, count: self.count, blame: Vec::new() }
    }

    /// How far the nearest row is from a kernel, as minus the log of its largest value; and that
    /// row.
    fn distance(raw: &[f64]) -> (f64, usize) {
        let first = (f64::NEG_INFINITY, 0);
        let best =
            raw.iter().enumerate().fold(first, |a, (i, v)| if *v > a.0 { (*v, i) } else { a });
        (-best.0.ln(), best.1)
    }

    /// The derivative of that distance in the parameters.
    fn distance_gradient(&self, shape: &Shape, raw: &[f64], row: usize) -> Vec<f64> {
        let at: Vec<f64> = (0..self.x.columns()).map(|j| self.x[(row, j)]).collect();
        shape.contract(&at, &[raw[row]], &[-1.0 / raw[row]])
    }
}

/// A posterior on some rows, and what candidates need of it.
struct Scene<'a> {
    rows: &'a Sample,
    centred: bool,
    columns: Matrix,
    posterior: Posterior,
    /// t − Fμ.
    error: Vec<f64>,
    /// (k, k) βΣ and βΣAΣ.
    spread: Matrix,
    shrunk: Matrix,
    prior: &'a dyn EvidencePrior,
}

/// What a candidate is worth.
struct Worth {
    factors: Factors,
    /// −ρ, less where the kernel sits in empty space: what candidates minimise.
    height: f64,
    gradient: Vec<f64>,
    distance: f64,
}

impl<'a> Scene<'a> {
    fn new(
        rows: &'a Sample,
        columns: Matrix,
        posterior: Posterior,
        centred: bool,
        prior: &'a dyn EvidencePrior,
    ) -> Self {
        let beta = posterior.beta;
        let mut error = rows.target.clone();
        posterior
            .mean
            .iter()
            .enumerate()
            .for_each(|(k, m)| axpy(-m, columns.column(k), &mut error));
        let scaled = |mut of: Matrix| {
            of.as_mut_slice().iter_mut().for_each(|v| *v *= beta);
            of
        };
        let (spread, shrunk) = (scaled(posterior.sigma.clone()), scaled(posterior.shrunk()));
        Self { rows, centred, columns, posterior, error, spread, shrunk, prior }
    }

    /// With one more function, of which the products join those that are known.
    fn with(
        self,
        shape: Option<Shape>,
        alpha: f64,
        data: &mut Active,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let (n, k) = (self.rows.len(), self.columns.columns());
        let column = self.rows.columns(&[shape], self.centred).1;
        let products = cross_products(n, self.columns.as_slice(), column.as_slice());
        let mut gram = Matrix::zeros(k + 1, k + 1);
        for b in 0..k {
            gram.column_mut(b)[..k].copy_from_slice(data.gram.column(b));
            gram[(k, b)] = products[(b, 0)];
            gram[(b, k)] = products[(b, 0)];
        }
        gram[(k, k)] = dot(column.as_slice(), column.as_slice());
        data.gram = gram;
        data.cross.push(dot(column.as_slice(), &self.rows.target));
        let alpha: Vec<f64> = self.posterior.alpha.iter().copied().chain([alpha]).collect();
        let posterior = Posterior::new(data, &alpha, self.posterior.beta, observer)?;
        let columns = [self.columns.as_slice(), column.as_slice()].concat();
        let columns = Matrix::from_columns(n, k + 1, columns);
        Ok(Self::new(self.rows, columns, posterior, self.centred, self.prior))
    }

    /// What functions are worth, many of them at once (Tzikas et al. 2009, eq. 51-59 corrected).
    fn weigh(&self, shapes: &[Option<Shape>], with_gradient: bool) -> Vec<Worth> {
        shapes.chunks(BLOCK).flat_map(|some| self.weigh_block(some, with_gradient)).collect()
    }

    fn weigh_block(&self, shapes: &[Option<Shape>], with_gradient: bool) -> Vec<Worth> {
        let n = self.rows.len();
        let beta = self.posterior.beta;
        let (raw, columns) = self.rows.columns(shapes, self.centred);
        let inner = cross_products(n, self.columns.as_slice(), columns.as_slice());
        // r = Mφ with C⁻¹ = βM, and Mr.
        let k = self.posterior.alpha.len();
        let mut first = columns.clone();
        let mut second = Matrix::default();
        if k > 0 {
            let explained = multiply(k, self.spread.as_slice(), &inner);
            let explained = multiply(n, self.columns.as_slice(), &explained);
            axpy(-1.0, explained.as_slice(), first.as_mut_slice());
        }
        let price = self.prior.price();
        let exact = self.prior.is_exact();
        if with_gradient && price > 0.0 && exact {
            second = first.clone();
            if k > 0 {
                let again = multiply(k, self.shrunk.as_slice(), &inner);
                let again = multiply(n, self.columns.as_slice(), &again);
                axpy(-1.0, again.as_slice(), second.as_mut_slice());
            }
        }
        (0..shapes.len())
            .into_par_iter()
            .map(|c| {
                let (column, r) = (columns.column(c), first.column(c));
                let (s, q) = (beta * dot(column, r), beta * dot(column, &self.error));
                let factors = Factors { s, q, z: if price > 0.0 { beta * dot(r, r) } else { 0.0 } };
                let kernel = shapes[c].as_ref().filter(|f| f.kernel().is_some());
                let (distance, nearest) =
                    kernel.map_or((0.0, 0), |_| Sample::distance(raw.column(c)));
                let size = dot(column, column);
                let nothing =
                    Worth { factors, height: 0.0, gradient: Vec::new(), distance: f64::INFINITY };
                let spanned = s.is_nan() || s <= IN_SPAN * beta * size;
                if spanned || size < f64::MIN_POSITIVE || distance > 30.0 {
                    return nothing;
                }
                // The published rule takes s for z.
                let paid = 2.0 * price * if exact { factors.z } else { s };
                let rho = (q * q - paid) / s;
                let beyond = (distance - REACH).max(0.0);
                let share = 1.0 / (1.0 + beyond * beyond);
                let mut gradient = Vec::new();
                if let (true, Some(shape)) = (with_gradient, kernel) {
                    let (of_error, mut of_r) = (2.0 * q * beta / s, -2.0 * beta * q * q / (s * s));
                    if exact {
                        of_r = -2.0 * beta * rho / s;
                    }
                    let mut g: Vec<f64> =
                        self.error.iter().zip(r).map(|(e, r)| of_error * e + of_r * r).collect();
                    if second.rows() > 0 {
                        axpy(-4.0 * price * beta / s, second.column(c), &mut g);
                    }
                    if !self.rows.root.is_empty() {
                        g.iter_mut().zip(&self.rows.root).for_each(|(g, r)| *g *= r);
                    }
                    gradient = shape.contract(self.rows.x.as_slice(), raw.column(c), &g);
                    gradient.iter_mut().for_each(|g| *g *= -share);
                    if beyond > 0.0 {
                        let slope = self.rows.distance_gradient(shape, raw.column(c), nearest);
                        axpy(2.0 * rho * beyond * share * share, &slope, &mut gradient);
                    }
                }
                Worth { factors, height: -rho * share, gradient, distance: beyond }
            })
            .collect()
    }

    /// The variance at which a function gains most, and the gain.
    fn gain(&self, worth: &Worth, unit: f64) -> (f64, f64) {
        if worth.height == 0.0 || worth.distance > 2.0 * REACH {
            return (0.0, 0.0);
        }
        let noise = 1.0 / self.posterior.beta;
        let variance = self.prior.best_variance(worth.factors, unit, noise);
        match variance > 0.0 {
            true => (variance, self.prior.gain(worth.factors, variance, unit, noise)),
            false => (0.0, 0.0),
        }
    }
}

/// Sample on which second derivatives in so many parameters are taken.
fn curved_rows(learnt: usize) -> usize {
    (CURVED_ROWS * learnt).max(SEARCH_ROWS)
}

fn active(rows: &Sample, columns: &Matrix) -> Active {
    let (n, all) = (rows.len(), columns.as_slice());
    Active {
        gram: cross_products(n, all, all),
        cross: (0..columns.columns()).map(|k| dot(columns.column(k), &rows.target)).collect(),
        square: dot(&rows.target, &rows.target),
    }
}

/// The state of the ascent.
struct Learner<'a> {
    learning: &'a Learning,
    options: &'a Options,
    prior: Paid,
    observer: &'a dyn Observer,
    bounds: Bounds,
    /// None stands for the column of ones.
    shapes: Vec<Option<Shape>>,
    alpha: Vec<f64>,
    beta: f64,
    /// Functions of which the products are known.
    known: RefCell<(Vec<Option<Shape>>, Active)>,
}

/// The objective where all kernels are, and its derivatives.
struct Height {
    value: f64,
    /// By kernel, in parameters.
    shapes: Vec<Vec<f64>>,
    /// In log α, and in log β.
    alpha: Vec<f64>,
    beta: f64,
}

/// Learns kernels from the empty model.
pub(crate) fn learn(
    learning: &Learning,
    prior: Ard,
    options: &Options,
    observer: &dyn Observer,
) -> Result<(Vec<Shape>, Found)> {
    let square = dot(&learning.rows.target, &learning.rows.target);
    let beta = match options.noise {
        Noise::Known(variance) => 1.0 / variance,
        Noise::Estimated => (learning.rows.weight / square).min(options.largest_precision),
    };
    let mut learner = Learner {
        learning,
        options,
        prior: Paid { ard: prior, parameters: 0.0, kappa: learning.variance_price },
        observer,
        bounds: Bounds::new(learning),
        shapes: Vec::new(),
        alpha: Vec::new(),
        beta,
        known: RefCell::default(),
    };
    learner.run()
}

impl Learner<'_> {
    fn run(&mut self) -> Result<(Vec<Shape>, Found)> {
        let options = self.options;
        if self.learning.bias {
            self.shapes.push(None);
            self.alpha.push(1.0 / self.beta.max(1.0));
            self.settle(LITTLE)?;
        }
        let mut trace = Vec::new();
        let (mut iterations, mut idle, mut small, mut gain) = (0, 0, 0, 0.0f64);
        let mut termination = Termination::IterationLimit;
        let mut value = self.value()?;
        // Rules as published do not climb the objective: only a new height is a gain.
        let mut highest = value;
        let little = self.little();
        while iterations < options.max_iter {
            self.observer.check()?;
            iterations += 1;
            let before = self.shapes.len();
            let found = self.add_some(iterations)?;
            gain = if idle == 0 { found } else { gain.max(found) };
            let added = self.shapes.len() > before;
            if added {
                self.climb(iterations, found)?;
            } else if idle == 0 && !self.shapes.is_empty() {
                self.together(&self.learning.rows, AT_LAST, 0.01 * little)?;
                self.settle(0.1 * LITTLE)?;
            }
            let mut next = value;
            if added || idle == 0 {
                self.merge()?;
                self.remove_unpaid()?;
                next = self.value()?;
            }
            // What joins for very little, or in vain, may go and come for ever.
            small += usize::from(added && (found < little || next <= highest + little));
            let gained = next > highest + little || added && small < IDLE;
            idle = if gained { 0 } else { idle + 1 };
            value = next;
            highest = highest.max(value);
            let (terms, objective) = (self.counted(), -value);
            trace.push(Step { objective, terms });
            let residual = found;
            self.observer.progress(Progress { iteration: iterations, terms, objective, residual });
            if idle >= IDLE {
                termination = Termination::Converged;
                break;
            }
            if self.is_late() {
                termination = Termination::TimeLimit;
                break;
            }
        }
        self.found(gain, iterations, termination, trace)
    }

    /// What a step must gain: no less than rows can tell where there are many.
    fn little(&self) -> f64 {
        let n = self.learning.rows.len() as f64;
        if self.has_many_rows() { LITTLE_OF_ROW * n } else { LITTLE }
    }

    fn has_many_rows(&self) -> bool {
        self.learning.rows.len() > 2 * SEARCH_ROWS
    }

    fn is_late(&self) -> bool {
        self.options.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Learnt parameters that a function counts for: none along inputs that do not vary.
    fn parameters(&self, shape: &Shape) -> f64 {
        let Some((_, width)) = shape.kernel() else { return 0.0 };
        let vary = self.bounds.varying;
        let widths = if width.len() > 1 { vary } else { 1 };
        (widths + if self.bounds.held { 0 } else { vary }) as f64
    }

    /// Parameters that a function pays for: a kernel's widths, and its place as one. Were each
    /// coordinate paid for, there would be hardly any kernels where there are many inputs.
    fn priced(&self, shape: &Shape) -> f64 {
        let Some((_, width)) = shape.kernel() else { return 0.0 };
        let widths = if width.len() > 1 { self.bounds.varying } else { 1 };
        ((1 + widths) as f64).min(PART_OF_ROWS * self.learning.rows.count)
    }

    fn all_parameters(&self) -> f64 {
        self.shapes.iter().flatten().map(|s| self.parameters(s)).sum()
    }

    /// What a function must gain for its parameters.
    fn price(&self, shape: &Shape) -> f64 {
        let log = self.beta.ln().max(0.0);
        0.5 * self.learning.parameter_price * self.priced(shape) * log
    }

    /// Counts the parameters that are paid for.
    fn count(&mut self) {
        let priced: f64 = self.shapes.iter().flatten().map(|s| self.priced(s)).sum();
        self.prior.parameters = self.learning.parameter_price * priced;
    }

    fn units(&self, shapes: &[Option<Shape>]) -> Vec<f64> {
        shapes.iter().map(|s| self.bounds.unit(s)).collect()
    }

    fn counted(&self) -> usize {
        self.shapes.iter().flatten().count()
    }

    fn columns(&self) -> Matrix {
        self.learning.rows.columns(&self.shapes, self.learning.free_intercept).1
    }

    fn objective(&self) -> Objective<'_> {
        Objective {
            weight: self.learning.rows.weight,
            free_intercept: self.learning.free_intercept,
            prior: &self.prior,
        }
    }

    /// Products of the functions there are; those that stay are known from before.
    fn data(&self) -> Active {
        let places = |known: &[Option<Shape>]| -> Option<Vec<usize>> {
            self.shapes.iter().map(|s| known.iter().position(|k| k == s)).collect()
        };
        let (known, data) = &mut *self.known.borrow_mut();
        if !known.is_empty()
            && let Some(places) = places(known)
        {
            let k = places.len();
            let mut gram = Matrix::zeros(k, k);
            for (b, &j) in places.iter().enumerate() {
                let (to, from) = (gram.column_mut(b), data.gram.column(j));
                to.iter_mut().zip(&places).for_each(|(v, &i)| *v = from[i]);
            }
            let cross = places.iter().map(|&j| data.cross[j]).collect();
            return Active { gram, cross, square: data.square };
        }
        known.clone_from(&self.shapes);
        *data = active(&self.learning.rows, &self.columns());
        data.clone()
    }

    fn posterior(&self) -> Result<Posterior> {
        Posterior::new(&self.data(), &self.alpha, self.beta, self.observer)
    }

    fn value(&self) -> Result<f64> {
        Ok(self.objective().value(&self.posterior()?, &self.units(&self.shapes)))
    }

    /// Some of the rows on which all kernels climb, where there are many.
    fn climbing_rows(&self, seed: u64) -> Option<Sample> {
        let most = (self.learning.rows.len() / 3).max(SEARCH_ROWS);
        let count = CLIMB_ROWS * self.all_parameters() as usize;
        self.some_rows(count.clamp(SEARCH_ROWS, most), seed ^ 0x2545_f491)
    }

    /// So many of the rows, where there are many.
    fn some_rows(&self, count: usize, seed: u64) -> Option<Sample> {
        let n = self.learning.rows.len();
        if !self.has_many_rows() {
            return None;
        }
        // One of each stretch.
        let mut next = uniform(seed);
        let stretch = n as f64 / count as f64;
        let place = |k: usize, part: f64| (((k as f64 + part) * stretch) as usize).min(n - 1);
        let mut chosen: Vec<usize> = (0..count).map(|k| place(k, next())).collect();
        chosen.dedup();
        Some(self.learning.rows.part(&chosen, self.learning.free_intercept))
    }

    fn seed(&self, iteration: usize) -> u64 {
        self.learning.seed.wrapping_mul(0x9e37_79b9).wrapping_add(iteration as u64)
    }

    /// All kernels climb after an addition that gained so much, no closer than there is to gain by
    /// the next. Where there are many rows some of them show the way; it is gone if all agree.
    fn climb(&mut self, iteration: usize, gained: f64) -> Result<()> {
        let tol = (0.01 * gained).max(1e-3);
        let Some(part) = self.climbing_rows(self.seed(iteration)) else {
            self.together(&self.learning.rows, TOGETHER, tol)?;
            return self.settle(0.1 * LITTLE);
        };
        self.settle(0.1 * LITTLE)?;
        let before = (self.shapes.clone(), self.alpha.clone(), self.beta);
        let value = self.value()?;
        self.together(&part, TOGETHER, tol)?;
        self.settle(0.1 * LITTLE)?;
        if self.value()? < value {
            (self.shapes, self.alpha, self.beta) = before;
            self.count();
        }
        Ok(())
    }

    /// Kernels at rows of large error, of any width.
    fn starts(&self, error: &[f64], seed: u64) -> Vec<Shape> {
        let rows = &self.learning.rows;
        let mut next = uniform(seed);
        let mut sums = Vec::with_capacity(error.len());
        let mut total = 0.0;
        for (i, e) in error.iter().enumerate() {
            total += (e * rows.blame.get(i).copied().unwrap_or(1.0)).powi(2);
            sums.push(total);
        }
        let kernels: Vec<Family> =
            self.learning.families.iter().copied().filter(|f| *f != Family::Linear).collect();
        if kernels.is_empty() || total.is_nan() || total <= 0.0 {
            return Vec::new();
        }
        let d = rows.x.columns();
        let widths = self.bounds.widths;
        let (low, high) = (self.bounds.spacing.ln(), self.bounds.span.ln());
        let one = |k: usize| {
            let target = next() * total;
            let row = sums.partition_point(|s| *s < target).min(sums.len() - 1);
            let log = low + next() * (high - low);
            // Laplacian kernels have no derivative at their centres.
            let off = if self.bounds.held { 0.0 } else { 0.1 * (next() - 0.5) * log.exp() };
            let centre = (0..d).map(|j| rows.x[(row, j)] + off);
            let parameters: Vec<f64> = centre.chain(std::iter::repeat_n(log, widths)).collect();
            Shape::of(kernels[k % kernels.len()], &parameters, d)
        };
        (0..self.learning.starts * kernels.len()).map(one).collect()
    }

    /// Candidates that have climbed, the best first.
    fn candidates(&self, full: &Scene<'_>, seed: u64, most: usize) -> Result<Vec<Shape>> {
        let starts = self.starts(&full.error, seed);
        let part = self.some_rows(SEARCH_ROWS, seed ^ 0x5bd1_e995);
        let centred = self.learning.free_intercept;
        let scene = match &part {
            None => None,
            Some(rows) => {
                let columns = rows.columns(&self.shapes, centred).1;
                let data = active(rows, &columns);
                let posterior = Posterior::new(&data, &self.alpha, self.beta, self.observer)?;
                Some(Scene::new(rows, columns, posterior, centred, full.prior))
            }
        };
        let scene = scene.as_ref().unwrap_or(full);
        let variables: Vec<Variables> = starts.iter().map(Variables::new).collect();
        let mut searches: Vec<Minimum> = variables
            .iter()
            .map(|v| {
                let (low, high) = self.bounds.around(&v.origin, &v.units);
                Minimum::new(v.start(), low, high, STRIDE)
            })
            .collect();
        for _ in 0..CLIMB {
            self.observer.check()?;
            if self.is_late() {
                break;
            }
            let open: Vec<usize> =
                (0..searches.len()).filter(|&k| !searches[k].has_ended()).collect();
            let shapes: Vec<Option<Shape>> =
                open.iter().map(|&k| Some(variables[k].shape(searches[k].asks()))).collect();
            for (k, worth) in open.into_iter().zip(scene.weigh(&shapes, true)) {
                // Where there is nothing to see there is no way on.
                let height = if worth.gradient.is_empty() { f64::INFINITY } else { worth.height };
                searches[k].tell(height, variables[k].gradient(worth.gradient));
            }
        }
        let mut order: Vec<usize> =
            (0..searches.len()).filter(|&k| searches[k].best().1 < 0.0).collect();
        order.sort_by(|&a, &b| {
            searches[a].best().1.total_cmp(&searches[b].best().1).then(a.cmp(&b))
        });
        let mut best: Vec<Shape> = Vec::new();
        let mut heights: Vec<f64> = Vec::new();
        for k in order {
            let (x, height) = searches[k].best();
            // Many climb to the same place.
            if heights.iter().any(|h| (h / height - 1.0).abs() < 1e-3) {
                continue;
            }
            heights.push(height);
            best.push(variables[k].shape(x));
            if best.len() == most {
                break;
            }
        }
        Ok(best)
    }

    /// Functions that are no kernels and not in use: features, and the column of ones.
    fn plain(&self) -> Vec<Option<Shape>> {
        let mut open = Vec::new();
        if self.learning.families.contains(&Family::Linear) {
            let varies = |j: &usize| self.bounds.high[*j] > self.bounds.low[*j];
            let features = (0..self.bounds.low.len()).filter(varies);
            open.extend(features.map(|feature| Some(Shape::Linear { feature })));
        }
        if self.learning.bias {
            open.push(None);
        }
        open.retain(|shape| !self.shapes.contains(shape));
        open
    }

    /// Refuses what would need more memory than there may be.
    fn check_memory(&self, open: usize) -> Result<()> {
        let rows = &self.learning.rows;
        let k = self.shapes.len() + 1;
        let of_block = |rows: usize, functions: usize| 6 * rows * functions.min(BLOCK);
        let searched = rows.len().min(2 * SEARCH_ROWS);
        let starts = self.learning.starts.saturating_mul(self.learning.families.len());
        let d = rows.x.columns();
        let learnt = (k * (d + self.bounds.widths)).min(CURVED);
        let curved = match self.bounds.held {
            true => 0,
            false => learnt * (3 * learnt + rows.len().min(2 * curved_rows(learnt))),
        };
        let numbers = rows.len() * (4 * k + 2 * d)
            + of_block(rows.len(), open).max(of_block(searched, starts)).max(curved);
        if 8 * numbers > self.options.memory_limit {
            return Err(Error::memory(
                format!("a model of {k} kernels"),
                8.0 * numbers as f64,
                self.options.memory_limit as f64,
                "raise memory_limit or set max_terms",
            ));
        }
        Ok(())
    }

    /// How many functions, and how many kernels, may join.
    fn room(&self) -> (usize, usize) {
        let most = self.options.max_terms.unwrap_or(usize::MAX);
        let count = self.learning.rows.count;
        let bearable = (count / ROWS_FOR_EACH).ceil().max(1.0) as usize;
        let room = most.min(bearable).saturating_sub(self.counted());
        let d = self.bounds.low.len();
        let one = Shape::of(Family::Rbf, &vec![0.0; d + self.bounds.widths], d);
        let left = count / ROWS_FOR_PARAMETER - self.all_parameters();
        (room, (left / self.parameters(&one).max(1.0)).max(0.0) as usize)
    }

    fn scene(&self) -> Result<Scene<'_>> {
        let centred = self.learning.free_intercept;
        let (columns, posterior) = (self.columns(), self.posterior()?);
        Ok(Scene::new(&self.learning.rows, columns, posterior, centred, &self.prior))
    }

    /// Functions that might join: plain ones and so many kernels that have climbed.
    fn open(&self, full: &Scene<'_>, iteration: usize, most: usize) -> Result<Vec<Option<Shape>>> {
        let mut open = self.plain();
        let (room, kernels) = self.room();
        if (room == 0 || kernels == 0 && open.is_empty()) && !open.contains(&None) {
            return Ok(Vec::new());
        }
        self.check_memory(most + open.len())?;
        if room > 0 && kernels > 0 {
            let found = self.candidates(full, self.seed(iteration), most)?;
            open.extend(found.into_iter().map(Some));
        }
        open.retain(|s| room > 0 || s.is_none());
        Ok(open)
    }

    /// The variance at which a function gains most, and the gain less what it costs.
    fn paid(&self, full: &Scene<'_>, worth: &Worth, shape: &Option<Shape>) -> (f64, f64) {
        let (variance, gain) = full.gain(worth, self.bounds.unit(shape));
        (variance, gain - shape.as_ref().map_or(0.0, |s| self.price(s)))
    }

    /// Functions that gain something alone, with the variance at which they do.
    fn offers(&self, iteration: usize, most: usize) -> Result<Vec<(Option<Shape>, f64)>> {
        let full = self.scene()?;
        let open = self.open(&full, iteration, most)?;
        let worths = full.weigh(&open, false);
        let paid = worths.iter().zip(&open).map(|(w, shape)| self.paid(&full, w, shape));
        let paid: Vec<(f64, f64)> = paid.collect();
        let offers = open.into_iter().zip(paid).filter(|(_, paid)| paid.1 > self.options.tol);
        Ok(offers.map(|(shape, paid)| (shape, paid.0)).collect())
    }

    /// Adds the functions that gain most; the largest gain there is.
    fn add_some(&mut self, iteration: usize) -> Result<f64> {
        let (mut room, mut kernels) = self.room();
        let many = self.has_many_rows();
        let least = if many { self.little() } else { self.options.tol };
        let mut first = 0.0;
        let (mut shapes, mut alpha) = (self.shapes.clone(), self.alpha.clone());
        let mut data = self.data();
        {
            let mut full = self.scene()?;
            let mut open = self.open(&full, iteration, WEIGHED)?;
            let for_each = if many { FOR_EACH / 2 } else { FOR_EACH };
            let most = shapes.len() + 1 + shapes.len() / for_each;
            loop {
                let is_kernel = |s: &Shape| s.kernel().is_some();
                open.retain(|s| {
                    s.as_ref().is_none_or(|s| room > 0 && (kernels > 0 || !is_kernel(s)))
                });
                if shapes.len() == most || open.is_empty() {
                    break;
                }
                let worths = full.weigh(&open, false);
                let gains = worths.iter().zip(&open).map(|(w, shape)| self.paid(&full, w, shape));
                let gains: Vec<(f64, f64)> = gains.collect();
                let best =
                    (0..open.len()).fold(0, |a, b| if gains[b].1 > gains[a].1 { b } else { a });
                let (variance, gain) = gains[best];
                if gain <= least || gain < PART * first {
                    first = f64::max(first, gain);
                    break;
                }
                first = f64::max(first, gain);
                let shape = open.swap_remove(best);
                room -= usize::from(shape.is_some());
                kernels -= usize::from(shape.as_ref().is_some_and(is_kernel));
                shapes.push(shape.clone());
                alpha.push(1.0 / variance);
                full = full.with(shape, 1.0 / variance, &mut data, self.observer)?;
            }
        }
        if shapes.len() == self.shapes.len() {
            return Ok(first);
        }
        self.known.replace((shapes.clone(), data));
        (self.shapes, self.alpha) = (shapes, alpha);
        self.count();
        Ok(first)
    }

    /// The objective less what kernels in empty space cost, with derivatives (Tzikas et al. 2009,
    /// eq. 62 corrected).
    fn height(
        &self,
        rows: &Sample,
        shapes: &[Option<Shape>],
        alpha: &[f64],
        beta: f64,
    ) -> Result<Height> {
        let n = rows.len();
        let (raw, columns) = rows.columns(shapes, self.learning.free_intercept);
        let data = active(rows, &columns);
        let p = Posterior::new(&data, alpha, beta, self.observer)?;
        let objective = self.objective();
        let price = self.prior.price();
        let k = alpha.len();
        let units = self.units(shapes);
        let mut value = objective.value(&p, &units);
        // D = β[(t − Fμ)μᵀ − FΣ] − 2cβFΣAΣ
        let mut mixed = p.sigma.clone();
        let shrunk = if price > 0.0 { p.shrunk() } else { Matrix::zeros(k, k) };
        axpy(2.0 * price, shrunk.as_slice(), mixed.as_mut_slice());
        let mut d = multiply(n, columns.as_slice(), &mixed);
        let mut error = rows.target.clone();
        p.mean.iter().enumerate().for_each(|(j, m)| axpy(-m, columns.column(j), &mut error));
        let cost = 10.0 + 0.1 * rows.count;
        let parts: Vec<(f64, Vec<f64>)> = d
            .as_mut_slice()
            .par_chunks_mut(n.max(1))
            .enumerate()
            .map(|(j, d)| {
                let Some(shape) = shapes[j].as_ref().filter(|s| s.kernel().is_some()) else {
                    return (0.0, Vec::new());
                };
                d.iter_mut().zip(&error).for_each(|(d, e)| *d = beta * (e * p.mean[j] - *d));
                if !rows.root.is_empty() {
                    d.iter_mut().zip(&rows.root).for_each(|(d, r)| *d *= r);
                }
                let raw = raw.column(j);
                let mut gradient = shape.contract(rows.x.as_slice(), raw, d);
                let (distance, nearest) = Sample::distance(raw);
                let beyond = (distance - REACH).max(0.0);
                if beyond > 0.0 && distance.is_finite() {
                    let slope = rows.distance_gradient(shape, raw, nearest);
                    axpy(-2.0 * cost * beyond, &slope, &mut gradient);
                }
                (cost * beyond * beyond, gradient)
            })
            .collect();
        value -= parts.iter().map(|p| p.0).sum::<f64>();
        let left = |i: usize| p.sigma[(i, i)] - shrunk[(i, i)];
        let of_alpha: Vec<f64> = (0..k)
            .map(|i| {
                let a = p.alpha[i];
                let fit = 0.5 * (1.0 - a * p.sigma[(i, i)] - a * p.mean[i] * p.mean[i]);
                let spread = self.prior.penalty(1.0 / a, units[i], 1.0 / beta);
                fit + spread + if price > 0.0 { price * a * left(i) } else { 0.0 }
            })
            .collect();
        let trace: f64 = match price > 0.0 {
            true => (0..k).map(|i| p.alpha[i] * left(i)).sum(),
            false => 0.0,
        };
        let fit = beta * p.residual_square;
        let of_beta =
            0.5 * (objective.rows() - fit - p.freedom()) - price * trace + self.prior.noise_power();
        let shapes = parts.into_iter().map(|p| p.1).collect();
        Ok(Height { value, shapes, alpha: of_alpha, beta: of_beta })
    }

    /// About minus the second derivatives of the objective in the variables of `together`: of
    /// kernels β(μμᵀ + Σ)∘DᵀMD with C⁻¹ = βM, from their first derivatives D alone.
    fn curvature(
        &self,
        rows: &Sample,
        kernels: &[Option<Variables>],
        exact: bool,
        noisy: bool,
    ) -> Result<Option<Matrix>> {
        let owner: Vec<usize> = (kernels.iter().enumerate())
            .flat_map(|(k, v)| std::iter::repeat_n(k, v.as_ref().map_or(0, |v| v.origin.len())))
            .collect();
        let learnt = owner.len();
        if learnt == 0 || learnt > CURVED || self.bounds.held {
            return Ok(None);
        }
        let centred = self.learning.free_intercept;
        let count = curved_rows(learnt);
        let stretch = rows.len() as f64 / count as f64;
        let part = (stretch > 1.5).then(|| {
            let place = |k: usize| ((k as f64 + 0.5) * stretch) as usize;
            rows.part(&(0..count).map(place).collect::<Vec<_>>(), centred)
        });
        let rows = part.as_ref().unwrap_or(rows);
        let n = rows.len();
        let (raw, columns) = rows.columns(&self.shapes, centred);
        let p = Posterior::new(&active(rows, &columns), &self.alpha, self.beta, self.observer)?;
        let slopes = rows.slopes(&self.shapes, kernels, &raw, centred);
        let mut left = cross_products(n, slopes.as_slice(), slopes.as_slice());
        let inner = cross_products(n, columns.as_slice(), slopes.as_slice());
        let k = self.shapes.len();
        let spread = multiply(k, p.sigma.as_slice(), &inner);
        let explained = cross_products(k, inner.as_slice(), spread.as_slice());
        axpy(-self.beta, explained.as_slice(), left.as_mut_slice());
        let size = learnt + if exact { k } else { 0 } + usize::from(noisy);
        let mut out = Matrix::zeros(size, size);
        for b in 0..learnt {
            let (to, from) = (out.column_mut(b), left.column(b));
            for a in 0..learnt {
                let (i, j) = (owner[a], owner[b]);
                to[a] = self.beta * (p.mean[i] * p.mean[j] + p.sigma[(i, j)]) * from[a];
            }
            to[b] += DAMPING * to[b] + 1.0;
        }
        // Those of precisions and noise, each alone.
        (learnt..size).for_each(|a| out[(a, a)] = 0.5);
        if noisy {
            out[(size - 1, size - 1)] = 0.5 * self.objective().rows();
        }
        Ok(Some(out))
    }

    /// All kernels climb together, with the precisions and the noise unless rules are as
    /// published; until a step brings less than `tol`.
    fn together(&mut self, rows: &Sample, evaluations: usize, tol: f64) -> Result<()> {
        let kernels: Vec<Option<Variables>> = self
            .shapes
            .iter()
            .map(|s| s.as_ref().filter(|s| s.kernel().is_some()).map(Variables::new))
            .collect();
        let exact = self.prior.is_exact() && !self.learning.noise_as_published;
        let noisy = exact && self.options.noise == Noise::Estimated;
        let (mut start, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
        for v in kernels.iter().flatten() {
            let (l, h) = self.bounds.around(&v.origin, &v.units);
            start.extend(v.start());
            low.extend(l);
            high.extend(h);
        }
        if exact {
            let logs: Vec<f64> = self.alpha.iter().map(|a| a.ln()).collect();
            low.extend(logs.iter().map(|l| l - FAR));
            high.extend(logs.iter().map(|l| l + FAR));
            start.extend(logs);
        }
        if noisy {
            start.push(self.beta.ln());
            low.push(self.beta.ln() - FAR);
            high.push(self.options.largest_precision.ln());
        }
        if start.is_empty() {
            return Ok(());
        }
        let read = |x: &[f64]| {
            let mut at = 0;
            let mut take = |count: usize| {
                at += count;
                &x[at - count..at]
            };
            let shapes: Vec<Option<Shape>> = (self.shapes.iter().zip(&kernels))
                .map(|(s, v)| match v {
                    Some(v) => Some(v.shape(take(v.origin.len()))),
                    None => s.clone(),
                })
                .collect();
            let alpha = match exact {
                true => take(shapes.len()).iter().map(|l| l.exp()).collect(),
                false => self.alpha.clone(),
            };
            let beta = if noisy { take(1)[0].exp() } else { self.beta };
            (shapes, alpha, beta)
        };
        let mut search = Minimum::new(start, low, high, STRIDE);
        // Short climbs by small steps end higher where rows are few, if later.
        if (evaluations == AT_LAST || self.has_many_rows())
            && let Some(curvature) = self.curvature(rows, &kernels, exact, noisy)?
        {
            search = search.curved(curvature);
        }
        let mut little = 0;
        let k = self.shapes.len();
        let work = (rows.len() * k * (k + 10 + self.bounds.low.len())) as f64;
        let bearable = (evaluations as f64 * WORK / (TOGETHER as f64 * work)) as usize;
        for _ in 0..evaluations.min(bearable.max(TOGETHER / 2)) {
            self.observer.check()?;
            if search.has_ended() || little >= 3 || self.is_late() {
                break;
            }
            let (shapes, alpha, beta): (Vec<Option<Shape>>, Vec<f64>, f64) = read(search.asks());
            let height = self.height(rows, &shapes, &alpha, beta)?;
            let mut gradient = Vec::new();
            for (of, v) in height.shapes.into_iter().zip(&kernels) {
                gradient.extend(v.iter().flat_map(|v| v.gradient(of.clone())));
            }
            if exact {
                gradient.extend(&height.alpha);
            }
            if noisy {
                gradient.push(height.beta);
            }
            gradient.iter_mut().for_each(|g| *g = -*g);
            let before = search.best().1;
            search.tell(-height.value, gradient);
            let after = search.best().1;
            little = if before.is_finite() && after < before {
                if before - after < tol { little + 1 } else { 0 }
            } else {
                little
            };
        }
        let (shapes, alpha, beta) = read(search.best().0);
        (self.shapes, self.alpha, self.beta) = (shapes, alpha, beta);
        Ok(())
    }

    /// Takes kernels out that gain less than their parameters cost.
    fn remove_unpaid(&mut self) -> Result<()> {
        loop {
            let p = self.posterior()?;
            let noise = 1.0 / self.beta;
            let factors = self.objective().factors(&p);
            let left = |(k, shape): (usize, &Option<Shape>)| {
                let shape = shape.as_ref()?;
                let unit = self.bounds.unit(&self.shapes[k]);
                let gain = self.prior.gain(factors[k], 1.0 / self.alpha[k], unit, noise);
                Some((k, gain - self.price(shape)))
            };
            let worst = self.shapes.iter().enumerate().filter_map(left);
            let worst = worst.min_by(|a, b| a.1.total_cmp(&b.1));
            match worst {
                Some((k, left)) if left < 0.0 => {
                    self.shapes.remove(k);
                    self.alpha.remove(k);
                    self.settle(0.1 * LITTLE)?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Precisions and noise at a maximum, columns that are worth nothing taken out.
    fn settle(&mut self, tol: f64) -> Result<()> {
        loop {
            self.count();
            let before = self.shapes.len();
            self.settle_once(tol)?;
            if self.shapes.len() == before {
                return Ok(());
            }
        }
    }

    /// The engine's own steps, with the columns there are for a dictionary.
    fn settle_once(&mut self, tol: f64) -> Result<()> {
        let data = self.data();
        let k = self.shapes.len();
        let all: Vec<usize> = (0..k).collect();
        let dictionary =
            FromGram { gram: Arc::new(data.gram), usable: &all, inverse_lengths: vec![1.0; k] };
        let problem = Problem {
            dictionary: &dictionary,
            cross: data.cross,
            square: data.square,
            units: self.units(&self.shapes),
            weight: self.learning.rows.weight,
            free_intercept: self.learning.free_intercept,
            uncounted: self.shapes.iter().position(Option::is_none),
        };
        let mut ascent = Ascent::new(&problem, &mut self.prior, self.options, self.observer)?;
        ascent.posterior.beta = self.beta;
        let chosen: Vec<(usize, f64)> = all.iter().copied().zip(self.alpha.clone()).collect();
        ascent.activate(&chosen)?;
        if self.learning.noise_as_published && self.options.noise == Noise::Estimated {
            ascent.hold_noise = true;
            for _ in 0..IDLE {
                ascent.settle(tol)?;
                let beta = ascent.posterior.beta;
                ascent.noise_as_published()?;
                if (ascent.posterior.beta / beta).ln().abs() < 1e-6 {
                    break;
                }
            }
        }
        ascent.settle(tol)?;
        let (active, posterior) = (ascent.active.clone(), ascent.posterior.clone());
        self.shapes = active.iter().map(|&i| self.shapes[i].clone()).collect();
        (self.alpha, self.beta) = (posterior.alpha, posterior.beta);
        Ok(())
    }

    /// Makes one of kernels that have become equal: the evidence knows only the sum of their
    /// variances. Those that stay apart are a difference of kernels, which is a slope.
    fn merge(&mut self) -> Result<()> {
        let gram = self.data().gram;
        let limit = 1.0 - TWINS;
        let apart = (self.shapes.clone(), self.alpha.clone(), self.beta);
        let value = self.value()?;
        let mut k = 0;
        let mut merged = false;
        let mut places: Vec<usize> = (0..self.shapes.len()).collect();
        while k < self.shapes.len() {
            let twin = (0..k).find(|&a| {
                let (i, j) = (places[a], places[k]);
                gram[(i, j)] >= limit * (gram[(i, i)] * gram[(j, j)]).sqrt()
            });
            match twin {
                Some(a) if self.shapes[a].is_some() && self.shapes[k].is_some() => {
                    let (i, j) = (places[a], places[k]);
                    let ratio = gram[(j, j)] / gram[(i, i)];
                    self.alpha[a] = 1.0 / (1.0 / self.alpha[a] + ratio / self.alpha[k]);
                    self.shapes.remove(k);
                    self.alpha.remove(k);
                    places.remove(k);
                    merged = true;
                }
                _ => k += 1,
            }
        }
        if merged {
            self.settle(0.1 * LITTLE)?;
            if self.value()? < value - LITTLE {
                (self.shapes, self.alpha, self.beta) = apart;
                self.count();
            }
        }
        Ok(())
    }

    fn found(
        &mut self,
        gain: f64,
        iterations: usize,
        termination: Termination,
        trace: Vec<Step>,
    ) -> Result<(Vec<Shape>, Found)> {
        // The column of ones comes last.
        if let Some(k) = self.shapes.iter().position(Option::is_none) {
            let (shape, alpha) = (self.shapes.remove(k), self.alpha.remove(k));
            self.shapes.push(shape);
            self.alpha.push(alpha);
        }
        let posterior = self.posterior()?;
        let objective = self.objective();
        let units = self.units(&self.shapes);
        let shapes: Vec<Shape> = self.shapes.iter().flatten().cloned().collect();
        let found = Found {
            active: (0..self.alpha.len()).collect(),
            log_evidence: objective.log_evidence(&posterior),
            objective: objective.value(&posterior, &units),
            mean: posterior.mean,
            covariance: posterior.sigma,
            alpha: posterior.alpha,
            noise: 1.0 / posterior.beta,
            gain,
            lam: None,
            cycled: false,
            aligned: 0,
            iterations,
            termination,
            trace,
        };
        Ok((shapes, found))
    }
}

impl Ascent<'_> {
    /// The noise at which N − β|e|² − (1 + 2c)Σγ = 0: Tzikas et al. 2009, eq. 41, its units put
    /// right. It leaves at least 2cΣγ rows to the noise, so that it cannot vanish.
    fn noise_as_published(&mut self) -> Result<()> {
        let (rows, price) = (self.objective().rows(), self.prior.price());
        let alpha = self.posterior.alpha.clone();
        let left = |beta: f64| -> Result<(f64, Posterior)> {
            let p = Posterior::new(&self.data, &alpha, beta, self.observer)?;
            Ok((rows - beta * p.residual_square - (1.0 + 2.0 * price) * p.freedom(), p))
        };
        let (mut low, mut high) = (1e-6f64, self.options.largest_precision);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if left(middle)?.0 > 0.0 { low = middle } else { high = middle }
        }
        self.posterior = left(low)?.1;
        Ok(())
    }
}

mod labels;
#[cfg(test)]
mod tests;

pub(crate) use labels::learn_labels;
