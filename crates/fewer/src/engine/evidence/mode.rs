//! The mode of the weights where the target is not Gaussian, and the curvature there.

use super::posterior::{Active, Posterior, too_large};
use crate::design::Design;
use crate::engine::Observer;
use crate::error::Result;
use crate::likelihood::Smooth;
use crate::linalg::{
    Cholesky, Matrix, add_combination, cross_products, dot, multiply, products_with,
};
use rayon::prelude::*;
use std::sync::Arc;

/// Newton steps to a mode; warm starts need a few.
const STEPS: usize = 200;
/// Steps whose promise is below this part of the objective are too small for it to judge.
const FLAT: f64 = 1e-11;
/// The mode is found when a step promises less than this part.
const EXACT: f64 = 1e-22;

/// What the engine is given of data whose likelihood is not Gaussian.
pub(crate) struct Rows<'a> {
    pub design: &'a Design<'a>,
    /// Columns of the design that take part.
    pub usable: &'a [usize],
    /// (usable,) One over their lengths.
    pub inverse_lengths: Vec<f64>,
    /// (usable,) The prior is on `units[j]` times the variance of weight j.
    pub units: Vec<f64>,
    /// Rows, by weight.
    pub weight: f64,
    /// Whether intercepts under a flat prior are integrated out.
    pub free_intercept: bool,
    /// A column that does not count as a term.
    pub uncounted: Option<usize>,
}

impl Rows<'_> {
    /// Columns of unit length.
    pub fn columns(&self, chosen: &[usize]) -> Vec<Arc<[f64]>> {
        let places: Vec<usize> = chosen.iter().map(|&k| self.usable[k]).collect();
        let copy = self.design.copy(&places);
        let column = |(c, &k): (usize, &usize)| {
            copy.column(c).iter().map(|v| v * self.inverse_lengths[k]).collect()
        };
        chosen.iter().enumerate().map(column).collect()
    }

    /// v times the rows' weights.
    pub fn weighted(&self, mut v: Vec<f64>) -> Vec<f64> {
        if let Some(w) = self.design.weights() {
            v.iter_mut().zip(w).for_each(|(v, w)| *v *= w);
        }
        v
    }
}

/// Active terms: each is a column in one output, by output.
#[derive(Clone, Default)]
pub(super) struct Terms {
    /// output · columns + column, rising.
    pub places: Vec<usize>,
    /// Of unit length.
    pub columns: Vec<Arc<[f64]>>,
    pub alpha: Vec<f64>,
    pub weights: Vec<f64>,
}

impl Terms {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The terms of an output, where there are so many columns.
    pub fn of_output(&self, output: usize, columns: usize) -> std::ops::Range<usize> {
        let start = |o: usize| self.places.partition_point(|&v| v < o * columns);
        start(output)..start(output + 1)
    }

    pub fn remove(&mut self, i: usize) {
        self.places.remove(i);
        self.columns.remove(i);
        self.alpha.remove(i);
        self.weights.remove(i);
    }

    pub fn insert(&mut self, place: usize, column: Arc<[f64]>, alpha: f64) {
        let i = self.places.partition_point(|&v| v < place);
        self.places.insert(i, place);
        self.columns.insert(i, column);
        self.alpha.insert(i, alpha);
        self.weights.insert(i, 0.0);
    }
}

/// Second derivatives of −log p at some η, the intercepts projected out.
#[derive(Clone, Default)]
pub(super) struct Curved {
    /// (k, k) FᵀBF − CM⁻¹Cᵀ, with C = FᵀB1 and M = 1ᵀB1.
    pub gram: Matrix,
    /// (k, outputs) CM⁻¹; no columns without free intercepts.
    pub crossing: Matrix,
    /// (outputs, outputs) M⁻¹.
    pub inverse: Matrix,
    /// log |M|.
    pub log_determinant: f64,
}

/// The mode of the weights for given precisions.
#[derive(Clone)]
pub(super) struct Mode {
    pub terms: Terms,
    pub intercepts: Vec<f64>,
    /// (n, outputs)
    pub eta: Matrix,
    pub curved: Curved,
    /// Of the terms' weights, at β = 1.
    pub posterior: Posterior,
    /// log p(y | w) − ½wᵀAw.
    pub joint: f64,
}

/// Columns one after the other, times factors of the rows.
fn packed(columns: &[Arc<[f64]>], factors: Option<&[f64]>) -> Vec<f64> {
    let n = columns.first().map_or(0, |c| c.len());
    let mut out = vec![0.0; n * columns.len()];
    out.par_chunks_mut(n.max(1)).zip(columns).for_each(|(out, column)| match factors {
        Some(f) => out.iter_mut().zip(&**column).zip(f).for_each(|((o, c), f)| *o = c * f),
        None => out.copy_from_slice(column),
    });
    out
}

fn slices(columns: &[Arc<[f64]>]) -> Vec<&[f64]> {
    columns.iter().map(|c| &**c).collect()
}

/// The inverse of a positive definite matrix and the logarithm of its determinant; a ridge helps
/// where rounding has made it singular.
fn inverse(matrix: &Matrix, observer: &dyn Observer) -> Result<(Matrix, f64)> {
    let order = matrix.rows();
    let mean = (0..order).map(|i| matrix[(i, i)]).sum::<f64>() / order.max(1) as f64;
    let mut ridge = 0.0;
    let factor = loop {
        observer.check()?;
        if !f64::is_finite(ridge + mean) {
            return Err(too_large());
        }
        let mut trial = matrix.clone();
        (0..order).for_each(|i| trial[(i, i)] += ridge);
        match Cholesky::new(trial, observer)? {
            Ok(factor) if factor.smallest_pivot() > 0.0 => break factor,
            _ => ridge = (10.0 * ridge).max(1e-14 * mean).max(f64::MIN_POSITIVE),
        }
    };
    let log_determinant = factor.log_determinant();
    let mut out = Matrix::zeros(order, order);
    for b in 0..order {
        let column = out.column_mut(b);
        column[b] = 1.0;
        factor.solve(column);
    }
    Ok((out, log_determinant))
}

/// Everything about second derivatives where the likelihood is.
///
/// Those of two outputs are −p_a p_b: one product of matrices for all pairs. Those of one output,
/// p(1 − p), would cancel that way.
fn curved(
    rows: &Rows<'_>,
    likelihood: &dyn Smooth,
    terms: &Terms,
    observer: &dyn Observer,
) -> Result<Curved> {
    let (k, outputs, m) = (terms.len(), likelihood.outputs(), rows.usable.len());
    let n = likelihood.residual().rows();
    let free = if rows.free_intercept { outputs } else { 0 };
    let mut gram = Matrix::zeros(k, k);
    let mut crossed = Matrix::zeros(k, free);
    let mut between = Matrix::zeros(free, free);
    if let Some(shares) = likelihood.shares().filter(|_| outputs > 1) {
        let of_outputs = &shares.as_slice()[..n * outputs];
        let mut weighted = of_outputs.to_vec();
        if let Some(w) = rows.design.weights() {
            let columns = weighted.chunks_mut(n.max(1));
            columns.for_each(|c| c.iter_mut().zip(w).for_each(|(p, w)| *p *= w));
        }
        let shared = |a: usize| &terms.columns[terms.of_output(a, m)];
        let scaled: Vec<f64> =
            (0..outputs).flat_map(|a| packed(shared(a), Some(shares.column(a)))).collect();
        let heavy: Vec<f64> = weighted
            .chunks(n.max(1))
            .enumerate()
            .flat_map(|(a, p)| packed(shared(a), Some(p)))
            .collect();
        gram = negative(cross_products(n, &heavy, &scaled));
        if free > 0 {
            crossed = negative(cross_products(n, &heavy, of_outputs));
            between = negative(cross_products(n, &weighted, of_outputs));
        }
    }
    for a in 0..outputs {
        let own = terms.of_output(a, m);
        let both = rows.weighted(likelihood.curvature(a, a));
        if free > 0 {
            between[(a, a)] = both.iter().sum();
            let products = products_with(&slices(&terms.columns[own.clone()]), &both);
            crossed.column_mut(a)[own.clone()].copy_from_slice(&products);
        }
        if own.is_empty() {
            continue;
        }
        let roots: Vec<f64> = both.iter().map(|v| v.max(0.0).sqrt()).collect();
        let scaled = packed(&terms.columns[own.clone()], Some(&roots));
        let block = cross_products(n, &scaled, &scaled);
        for (q, j) in own.clone().enumerate() {
            gram.column_mut(j)[own.clone()].copy_from_slice(block.column(q));
        }
    }
    if free == 0 {
        return Ok(Curved { gram, crossing: crossed, inverse: between, log_determinant: 0.0 });
    }
    let (inverse, log_determinant) = inverse(&between, observer)?;
    let crossing = multiply(k, crossed.as_slice(), &inverse);
    let explained = multiply(k, crossing.as_slice(), &crossed.transpose());
    let values = gram.as_mut_slice().iter_mut().zip(explained.as_slice());
    values.for_each(|(g, e)| *g -= e);
    Ok(Curved { gram, crossing, inverse, log_determinant })
}

fn negative(mut matrix: Matrix) -> Matrix {
    matrix.as_mut_slice().iter_mut().for_each(|v| *v = -*v);
    matrix
}

/// The linear predictors of these weights.
fn predictors(rows: &Rows<'_>, terms: &Terms, intercepts: &[f64]) -> Matrix {
    let (n, m) = (rows.design.rows(), rows.usable.len());
    let mut eta = Matrix::zeros(n, intercepts.len());
    for (a, intercept) in intercepts.iter().enumerate() {
        let own = terms.of_output(a, m);
        let weights = terms.weights[own.clone()].iter().copied();
        let parts: Vec<(f64, &[f64])> = weights.zip(slices(&terms.columns[own])).collect();
        let values = eta.column_mut(a);
        values.iter_mut().for_each(|v| *v += intercept);
        add_combination(&parts, values);
    }
    eta
}

/// Σ w φ v_output for each term, and Σ w v for each output.
fn sums(rows: &Rows<'_>, terms: &Terms, v: &Matrix) -> (Vec<f64>, Vec<f64>) {
    let (mut of_terms, mut totals) = (Vec::with_capacity(terms.len()), Vec::new());
    for a in 0..v.columns() {
        let weighted = rows.weighted(v.column(a).to_vec());
        let own = terms.of_output(a, rows.usable.len());
        of_terms.extend(products_with(&slices(&terms.columns[own]), &weighted));
        totals.push(weighted.iter().sum());
    }
    (of_terms, totals)
}

/// Finds the mode from where the terms' weights and the intercepts are: Newton steps, halved until
/// log p(y | w) − ½wᵀAw rises enough. It is strictly concave but for the intercepts, which are
/// finite as long as every class has a row, so that this ends on separable data too.
pub(super) fn find_mode(
    rows: &Rows<'_>,
    likelihood: &mut dyn Smooth,
    mut terms: Terms,
    mut intercepts: Vec<f64>,
    observer: &dyn Observer,
) -> Result<Mode> {
    let (k, outputs, m) = (terms.len(), likelihood.outputs(), rows.usable.len());
    let prior = |terms: &Terms| {
        0.5 * terms.alpha.iter().zip(&terms.weights).map(|(a, w)| a * w * w).sum::<f64>()
    };
    let mut eta = predictors(rows, &terms, &intercepts);
    likelihood.update(&eta);
    let mut joint = -likelihood.value() - prior(&terms);
    // Far out, where all probabilities are 0 or 1, there is no curvature to go by: equal ones are a
    // better start.
    if joint.is_nan() || joint < -rows.weight * ((outputs + 1) as f64).ln() {
        terms.weights.fill(0.0);
        intercepts.fill(0.0);
        eta = predictors(rows, &terms, &intercepts);
        likelihood.update(&eta);
        joint = -likelihood.value();
    }
    let mut last = f64::INFINITY;
    for _ in 0..STEPS {
        observer.check()?;
        let curved = curved(rows, likelihood, &terms, observer)?;
        let data = Active { cross: vec![0.0; k], square: 0.0, gram: curved.gram.clone() };
        let mut posterior = Posterior::new(&data, &terms.alpha, 1.0, observer)?;
        posterior.mean.clone_from(&terms.weights);
        let (mut slope, totals) = sums(rows, &terms, likelihood.residual());
        (0..k).for_each(|i| slope[i] -= terms.alpha[i] * terms.weights[i]);
        let free = curved.inverse.rows();
        let projected: Vec<f64> = (0..k)
            .map(|i| slope[i] - (0..free).map(|c| curved.crossing[(i, c)] * totals[c]).sum::<f64>())
            .collect();
        let step: Vec<f64> = (0..k).map(|i| dot(posterior.sigma.column(i), &projected)).collect();
        let shift: Vec<f64> = (0..free)
            .map(|c| dot(curved.inverse.column(c), &totals) - dot(curved.crossing.column(c), &step))
            .collect();
        let promise =
            dot(&step, &slope) + shift.iter().zip(&totals).map(|(s, t)| s * t).sum::<f64>();
        let size = 1.0 + joint.abs();
        let flat = promise < FLAT * size;
        let exact = promise.is_nan() || promise <= EXACT * size;
        let done = exact || flat && promise > 0.25 * last;
        let arrived = |eta: Matrix, terms: Terms, intercepts: Vec<f64>| Mode {
            terms,
            intercepts,
            eta,
            posterior: posterior.clone(),
            curved: curved.clone(),
            joint,
        };
        if done {
            return Ok(arrived(eta, terms, intercepts));
        }
        last = promise;
        let moving = Terms { weights: step.clone(), ..terms.clone() };
        let mut direction = Matrix::zeros(eta.rows(), outputs);
        for a in 0..outputs {
            let own = moving.of_output(a, m);
            let weights = moving.weights[own.clone()].iter().copied();
            let parts: Vec<(f64, &[f64])> = weights.zip(slices(&moving.columns[own])).collect();
            let values = direction.column_mut(a);
            values.fill(shift.get(a).copied().unwrap_or(0.0));
            add_combination(&parts, values);
        }
        let before = terms.weights.clone();
        let mut length = 1.0;
        loop {
            let mut trial = eta.clone();
            let values = trial.as_mut_slice().iter_mut().zip(direction.as_slice());
            values.for_each(|(t, d)| *t += length * d);
            likelihood.update(&trial);
            (0..k).for_each(|i| terms.weights[i] = before[i] + length * step[i]);
            let value = -likelihood.value() - prior(&terms);
            if flat || value >= joint + 1e-4 * length * promise {
                (eta, joint) = (trial, value);
                shift.iter().zip(&mut intercepts).for_each(|(s, b)| *b += length * s);
                break;
            }
            length *= 0.5;
            if length < 1e-12 {
                // Rounding allows nothing better.
                terms.weights = before;
                likelihood.update(&eta);
                return Ok(arrived(eta, terms, intercepts));
            }
        }
    }
    // The last step was taken after its curvature; they are one to the digits that matter.
    let curved = curved(rows, likelihood, &terms, observer)?;
    let data = Active { cross: vec![0.0; k], square: 0.0, gram: curved.gram.clone() };
    let mut posterior = Posterior::new(&data, &terms.alpha, 1.0, observer)?;
    posterior.mean.clone_from(&terms.weights);
    Ok(Mode { terms, intercepts, eta, curved, posterior, joint })
}
