//! Predictive variance that grows away from the data (Rasmussen & Quiñonero-Candela 2005).
//!
//! Far from its centres a sum of kernels is zero for any weights, so that the posterior has no
//! doubt where there are no data. For each new row a kernel centred on it is thought of as one more
//! candidate that the fit would have left out: what its weight may still be, given all training
//! rows, is added to the variance. The mean stays as it is.

use super::Model;
use crate::basis::FixedBasis;
use crate::data::{DenseView, Features};
use crate::design::Design;
use crate::engine::Silent;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Tile, cross_products};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Kernel values that a block of new rows may take.
const VALUES: usize = 1 << 20;

/// The training rows, and the prior of a weight at a new one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Augmentation {
    /// The kernel at the training rows.
    rows: FixedBasis,
    /// Weight times relative noise precision of each; none: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<Vec<f64>>,
    /// Prior variance of the weight.
    variance: f64,
}

impl Augmentation {
    /// Of the kernel of a model; none where it does not fall with distance.
    pub fn new(
        basis: &FixedBasis,
        x: Features<'_>,
        weights: Option<&[f64]>,
        variance: f64,
    ) -> Option<Self> {
        let counted: Vec<usize> =
            (0..x.rows()).filter(|&i| weights.is_none_or(|w| w[i] > 0.0)).collect();
        let rows = basis.at_rows(x, &counted)?;
        let weights = weights.map(|w| counted.iter().map(|&i| w[i]).collect());
        Some(Self { rows, weights, variance })
    }

    /// Whether it makes sense in a model of so many features.
    pub fn fits(&self, features: usize) -> bool {
        let good = |w: &f64| w.is_finite() && *w > 0.0;
        self.rows.fits(features)
            && self.variance.is_finite()
            && self.variance >= 0.0
            && (self.weights.as_ref())
                .is_none_or(|w| w.len() == self.rows.len() && w.iter().all(good))
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| w[i])
    }
}

impl Model {
    /// (rows, parameters) What each number of the model is multiplied by at rows of x.
    fn factors_of_parameters(&self, x: Features<'_>) -> Result<Matrix> {
        let posterior = self.posterior_needed("the variance of a prediction")?;
        let columns = self.basis.columns(x, 0, &Silent)?;
        let chosen: Vec<usize> = (0..self.terms.len()).collect();
        let centre = self.terms.iter().map(|t| t.centre).collect();
        let values = Design::new(&*columns, None, centre, vec![1.0; chosen.len()]).copy(&chosen);
        let mut out = Matrix::zeros(x.rows(), posterior.parameters().len());
        for (a, p) in posterior.parameters().iter().enumerate() {
            match p.term {
                None => out.column_mut(a).fill(1.0),
                Some(t) => out.column_mut(a).copy_from_slice(values.column(t)),
            }
        }
        Ok(out)
    }

    /// What a kernel centred on each row adds to the variance of the prediction there.
    ///
    /// With e = k(x, x) − βf(x)ᵀΣFᵀφ, φ the values of that kernel at the training rows and s its
    /// sparsity factor, the weight has the variance 1/(α + s) left, and e of it reaches x.
    pub(super) fn augmented_variance(&self, x: Features<'_>) -> Result<Option<Vec<f64>>> {
        let (Some(augmentation), Some(posterior), Some(noise)) =
            (&self.augmentation, &self.posterior, self.noise_std)
        else {
            return Ok(None);
        };
        let FixedBasis::Kernel(kernel) = &augmentation.rows else { return Ok(None) };
        let (n, k) = (kernel.len(), posterior.parameters().len());
        let variance = noise * noise;
        if augmentation.variance == 0.0 || n == 0 || !variance.is_normal() {
            return Ok(None);
        }
        // In units in which the noise has variance 1, so that no squares of it overflow.
        let alpha = variance / augmentation.variance;
        let points: Vec<f64> = (0..n).flat_map(|i| kernel.centre(i)).collect();
        let trained = DenseView::by_rows(&points, n, self.features.len())?;
        let mut weighted = self.factors_of_parameters(trained.into())?;
        for a in 0..k {
            let column = weighted.column_mut(a).iter_mut().enumerate();
            column.for_each(|(i, v)| *v *= augmentation.weight(i));
        }
        let mut sigma = Matrix::zeros(k, k);
        for b in 0..k {
            let column = sigma.column_mut(b).iter_mut().enumerate();
            column.for_each(|(a, v)| *v = posterior.covariance(a, b) / variance);
        }
        let here = self.factors_of_parameters(x)?;
        let columns = augmentation.rows.columns(x, 0, &Silent)?;
        let all: Vec<usize> = (0..n).collect();
        let step = (VALUES / n).clamp(1, 256);
        let one = |block: usize| {
            let rows = block * step..((block + 1) * step).min(x.rows());
            let mut tile = Tile::default();
            columns.fill(rows.clone(), &all, &mut tile);
            let values = tile.by_rows();
            // (k, rows) Fᵀφ, and Σ times it.
            let products = cross_products(n, weighted.as_slice(), values.values());
            let spread = cross_products(k, sigma.as_slice(), products.as_slice());
            let of_row = |(r, i): (usize, usize)| {
                let phi = &values.values()[r * n..][..n];
                let square: f64 =
                    phi.iter().enumerate().map(|(i, v)| augmentation.weight(i) * v * v).sum();
                let own = products.column(r).iter().zip(spread.column(r));
                let explained: f64 = own.map(|(p, s)| p * s).sum();
                let sparsity = (square - explained).max(0.0);
                let reached: f64 = (0..k).map(|a| here[(i, a)] * spread[(a, r)]).sum();
                variance * (1.0 - reached).powi(2) / (alpha + sparsity)
            };
            rows.enumerate().map(of_row).collect::<Vec<f64>>()
        };
        let added: Vec<Vec<f64>> = (0..x.rows().div_ceil(step)).into_par_iter().map(one).collect();
        let added = added.concat();
        match added.iter().position(|v| !v.is_finite()) {
            None => Ok(Some(added)),
            Some(i) => Err(Error::Value {
                row: i + 1,
                column: self.target.clone(),
                value: format!("the variance of the prediction is {}", added[i]),
                expected: "the inputs are too far outside the range of the training data".into(),
            }),
        }
    }
}
