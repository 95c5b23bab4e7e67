//! Laplace's approximation: the posterior near its mode, as a Gaussian.

use super::common::{Shared, Uncertainty};
use crate::design::Design;
use crate::engine::{Observer, check_memory};
use crate::error::Result;
use crate::likelihood::Smooth;
use crate::linalg::{Cholesky, Matrix, Tile, axpy, cross_products};
use rayon::prelude::*;

/// Rows that second derivatives are summed over at a time.
const ROWS: usize = 1024;
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
    let mut parameters: Vec<(usize, Option<usize>)> = Vec::new();
    let mut curvature = Vec::new();
    let mut eta = Matrix::zeros(design.rows(), likelihood.outputs());
    for output in 0..likelihood.outputs() {
        let own: Vec<usize> =
            (0..mode.active.len()).filter(|&k| mode.active[k] / columns == output).collect();
        let chosen: Vec<usize> = own.iter().map(|&k| mode.active[k] % columns).collect();
        let beta: Vec<f64> = own.iter().map(|&k| mode.beta[k]).collect();
        let values = eta.column_mut(output);
        values.copy_from_slice(&design.apply(&chosen, &beta));
        if let Some(offset) = &mode.offset {
            axpy(1.0, offset.column(output), values);
        }
        if let Some(intercepts) = mode.intercepts {
            values.iter_mut().for_each(|v| *v += intercepts[output]);
            parameters.push((output, None));
            curvature.push(0.0);
        }
        parameters.extend(chosen.iter().map(|&j| (output, Some(j))));
        curvature.extend(own.iter().map(|&k| mode.curvature[k]));
    }
    check_memory(parameters.len(), design.rows(), memory_limit)?;
    likelihood.update(&eta);
    let mut hessian = second_derivatives(design, likelihood, &parameters, shared.observer)?;
    curvature.iter().enumerate().for_each(|(k, c)| hessian[(k, k)] += c);
    if likelihood.is_symmetric() {
        hold_mean_of_intercepts(&mut hessian, &parameters);
    }
    let covariance = inverse(hessian, shared.observer)?;
    Ok(covariance.map(|covariance| Uncertainty { parameters, covariance }))
}

/// Curvature where symmetric intercepts have none, all of them changing by as much: of their
/// differences it changes nothing.
fn hold_mean_of_intercepts(hessian: &mut Matrix, parameters: &[(usize, Option<usize>)]) {
    let intercepts: Vec<usize> =
        (0..parameters.len()).filter(|&k| parameters[k].1.is_none()).collect();
    let count = intercepts.len() as f64;
    let mean = intercepts.iter().map(|&k| hessian[(k, k)]).sum::<f64>() / count;
    for (i, &b) in intercepts.iter().enumerate() {
        intercepts[i..].iter().for_each(|&a| hessian[(a, b)] += mean / count);
    }
}

/// Σ w ∂²(−log p)/∂η_a ∂η_b x_a x_b for all pairs of parameters: the lower triangle by blocks.
fn second_derivatives(
    design: &Design<'_>,
    likelihood: &dyn Smooth,
    parameters: &[(usize, Option<usize>)],
    observer: &dyn Observer,
) -> Result<Matrix> {
    let (n, k, outputs) = (design.rows(), parameters.len(), likelihood.outputs());
    let start = |output: usize| parameters.partition_point(|p| p.0 < output);
    let of_output = |output: usize| &parameters[start(output)..start(output + 1)];
    let mut hessian = Matrix::zeros(k, k);
    let mut tile = Tile::default();
    for first in (0..n).step_by(ROWS) {
        observer.check()?;
        let rows = first..(first + ROWS).min(n);
        let values: Vec<Vec<f64>> = (0..outputs)
            .map(|output| {
                let own = of_output(output);
                let chosen: Vec<usize> = own.iter().filter_map(|p| p.1).collect();
                let mut values = vec![1.0; rows.len() * (own.len() - chosen.len())];
                design.fill(rows.clone(), &chosen, &mut tile);
                let cells = (0..chosen.len()).flat_map(|j| (0..rows.len()).map(move |i| (i, j)));
                values.extend(cells.map(|(i, j)| tile.get(i, j)));
                values
            })
            .collect();
        for a in 0..outputs {
            for b in 0..=a {
                let curvature = |i: usize| {
                    let same = f64::from(u8::from(a == b));
                    likelihood.shares().map_or(1.0, |s| s[(i, a)] * (same - s[(i, b)]))
                };
                let weight = |i: usize| design.weights().map_or(1.0, |w| w[i]);
                let factors: Vec<f64> = rows.clone().map(|i| weight(i) * curvature(i)).collect();
                let mut left = values[a].clone();
                left.chunks_mut(rows.len())
                    .for_each(|c| c.iter_mut().zip(&factors).for_each(|(v, f)| *v *= f));
                let products = cross_products(rows.len(), &left, &values[b]);
                for j in 0..products.columns() {
                    let column = &mut hessian.column_mut(start(b) + j)[start(a)..];
                    column.iter_mut().zip(products.column(j)).for_each(|(h, p)| *h += p);
                }
            }
        }
    }
    Ok(hessian)
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
    let mut out = Matrix::zeros(n, n);
    out.as_mut_slice().par_chunks_mut(n.max(1)).enumerate().for_each(|(j, column)| {
        column[j] = 1.0;
        factor.solve(column);
        column.iter_mut().zip(&scale).for_each(|(v, s)| *v /= s * scale[j]);
    });
    Ok(Some(out))
}
