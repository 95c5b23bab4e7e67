//! Laplace's approximation: the posterior near its mode, as a Gaussian.

use super::common::{Shared, Uncertainty};
use crate::design::Design;
use crate::engine::coordinate::{Hessian, Values, Working};
use crate::engine::{Observer, check_memory};
use crate::error::Result;
use crate::likelihood::Smooth;
use crate::linalg::{Cholesky, Matrix, axpy, cross_products};
use crate::model::take_out_mean;
use std::collections::BTreeMap;

/// A pivot of the correlations of the second derivatives counts as zero below this.
const SINGULAR: f64 = 1e-12;

/// Where a fit has ended, in inner units: coefficient c·p + j is that of column j in output c.
pub(crate) struct Mode<'a> {
    pub active: &'a [usize],
    pub beta: &'a [f64],
    pub intercepts: Option<&'a [f64]>,
    /// (n, outputs) What is added to the outputs.
    pub offset: Option<Matrix>,
    /// Second derivative of the penalty in each of the active coefficients.
    pub curvature: Vec<f64>,
}

/// (n, outputs) What weights and intercepts say of the rows.
pub(crate) fn outputs_at(
    design: &Design<'_>,
    (active, beta): (&[usize], &[f64]),
    intercepts: Option<&[f64]>,
    outputs: usize,
    columns: usize,
) -> Matrix {
    let mut eta = Matrix::zeros(design.rows(), outputs);
    for output in 0..outputs {
        let own = active.iter().zip(beta).filter(|(v, _)| **v / columns == output);
        let (chosen, beta): (Vec<usize>, Vec<f64>) = own.map(|(v, b)| (v % columns, *b)).unzip();
        let values = eta.column_mut(output);
        values.copy_from_slice(&design.apply(&chosen, &beta));
        if let Some(intercepts) = intercepts {
            values.iter_mut().for_each(|v| *v += intercepts[output]);
        }
    }
    eta
}

/// The inverse of the second derivatives of the objective at its minimum, or nothing where they
/// are singular.
///
/// An L1 penalty is linear while signs are held: it has no part in them.
pub(crate) fn laplace(
    shared: &Shared<'_>,
    design: &Design<'_>,
    likelihood: &mut dyn Smooth,
    mode: &Mode<'_>,
    memory_limit: usize,
) -> Result<Option<Uncertainty>> {
    let columns = shared.scale.len();
    let outputs = likelihood.outputs();
    let mut eta = outputs_at(design, (mode.active, mode.beta), mode.intercepts, outputs, columns);
    if let Some(offset) = &mode.offset {
        axpy(1.0, offset.as_slice(), eta.as_mut_slice());
    }
    let free = mode.intercepts.map_or(0, |_| outputs);
    let weights = mode.active.iter().map(|v| (v / columns, Some(v % columns)));
    let parameters: Vec<_> = (0..free).map(|output| (output, None)).chain(weights).collect();
    check_memory(parameters.len(), design.rows(), memory_limit)?;
    likelihood.update(&eta);
    let mut hessian = Hessian::new(None, likelihood, design.weights(), free, true);
    let variables = mode.active;
    let values = Values::Of(design);
    let working = Working { rows: design.rows(), columns, variables, values };
    let mut hessian = hessian.of(&working, shared.observer)?.to_matrix();
    mode.curvature.iter().enumerate().for_each(|(k, c)| hessian[(free + k, free + k)] += c);
    // Symmetric parameters that may all change by as much at no cost.
    let mut together: Vec<Vec<usize>> = Vec::new();
    if likelihood.is_symmetric() {
        let mut of_columns: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (k, v) in mode.active.iter().enumerate().filter(|(k, _)| mode.curvature[*k] == 0.0) {
            of_columns.entry(v % columns).or_default().push(free + k);
        }
        // With a penalty one of the outputs has no weight.
        together.extend(of_columns.into_values().filter(|own| own.len() == outputs));
        if free > 0 {
            together.push((0..free).collect());
        }
    }
    together.iter().for_each(|own| hold_mean(&mut hessian, own));
    let Some(mut covariance) = inverse(hessian, shared.observer)? else { return Ok(None) };
    // What was added is in the covariance as a variance of the mean, which is fixed.
    together.iter().for_each(|own| take_out_mean(&mut covariance, own));
    Ok(Some(Uncertainty { parameters, covariance }))
}

/// Curvature where symmetric parameters, which rise, have none, all of them changing by as much: of
/// their differences it changes nothing.
fn hold_mean(hessian: &mut Matrix, of: &[usize]) {
    let count = of.len() as f64;
    let mean = of.iter().map(|&k| hessian[(k, k)]).sum::<f64>() / count;
    for (i, &b) in of.iter().enumerate() {
        of[i..].iter().for_each(|&a| hessian[(a, b)] += mean / count);
    }
}

/// The inverse of a symmetric matrix of which the lower triangle is given, or nothing where it is
/// not positive definite.
fn inverse(mut matrix: Matrix, observer: &dyn Observer) -> Result<Option<Matrix>> {
    let n = matrix.rows();
    let scale: Vec<f64> = (0..n).map(|k| matrix[(k, k)].sqrt()).collect();
    if scale.iter().any(|s| !(s.is_finite() && *s > 0.0)) {
        return Ok(None);
    }
    for j in 0..n {
        let column = matrix.column_mut(j).iter_mut().zip(&scale);
        column.for_each(|(v, s)| *v /= s * scale[j]);
    }
    let Ok(factor) = Cholesky::new(matrix, observer)? else { return Ok(None) };
    if factor.smallest_pivot() < SINGULAR {
        return Ok(None);
    }
    let half = factor.inverse_factor();
    let mut out = cross_products(n, half.as_slice(), half.as_slice());
    for j in 0..n {
        let column = out.column_mut(j).iter_mut().zip(&scale);
        column.for_each(|(v, s)| *v /= s * scale[j]);
    }
    Ok(Some(out))
}
