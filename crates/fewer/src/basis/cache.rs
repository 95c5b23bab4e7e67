//! Distances between all rows, computed once for kernels of any width.

use super::centres::all_rows;
use super::kernel::{Kernel, KernelForm};
use super::linear::whole;
use crate::data::{Dataset, Features, Moments};
use crate::engine::{Observer, Silent};
use crate::error::{Error, Result};
use std::sync::{Arc, Mutex, PoisonError};

/// What a kernel is a function of, beside its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metric {
    Squared,
    Absolute,
    Product,
}

/// Distances (or products) between all rows of a data set, for the kernels of several fits.
///
/// They depend on the metric and the units of the inputs only, so that fits which differ in the
/// width, or in the weights of rows (with inputs as given), share them.
#[derive(Debug)]
pub(crate) struct KernelCache {
    /// (d,) Distances do not feel a shift; one for all fits gives all of them the same bits.
    mean: Vec<f64>,
    held: Mutex<Vec<Arc<Distances>>>,
}

#[derive(Debug)]
pub(crate) struct Distances {
    metric: Metric,
    shift: Vec<f64>,
    scale: Vec<f64>,
    /// Rows that are the centres; none: all of them.
    centres: Option<Vec<usize>>,
    /// (n, centres) by rows.
    values: Vec<f64>,
}

impl KernelCache {
    pub fn new(data: &Dataset<'_>) -> Result<Self> {
        let x = data.features();
        let all: Vec<usize> = (0..x.columns()).collect();
        let zeros = vec![0.0; x.rows()];
        let moments = Moments::of(&*whole(*x), &all, &zeros, data.weights(), false, &Silent)?;
        Ok(Self { mean: moments.units(true, false).mean, held: Mutex::new(Vec::new()) })
    }

    /// The distances that a kernel on rows of `x` needs.
    pub fn distances(
        &self,
        kernel: &Kernel,
        x: Features<'_>,
        observer: &dyn Observer,
    ) -> Result<Arc<Distances>> {
        let metric = match kernel.form() {
            KernelForm::Laplacian => Metric::Absolute,
            KernelForm::PolynomialKernel | KernelForm::LinearKernel => Metric::Product,
            KernelForm::Rbf | KernelForm::Matern32 | KernelForm::Matern52 => Metric::Squared,
            KernelForm::Function(_) => {
                return Err(Error::Unavailable {
                    what: "distances for the user's own kernel".into(),
                    hint: "it is a function of rows".into(),
                });
            }
        };
        let (shift, scale) = kernel.input_units();
        let shift = if metric == Metric::Product { shift } else { &self.mean };
        // Few centres have distances of their own; else those of all rows serve any.
        let few = 2 * kernel.len() < x.rows();
        let centres = few.then(|| kernel.rows().to_vec());
        let found = |held: &[Arc<Distances>]| {
            let same = |d: &&Arc<Distances>| {
                let units = d.scale == scale && d.shift == shift;
                d.metric == metric && units && d.centres == centres
            };
            held.iter().find(same).cloned()
        };
        let held = || self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(distances) = found(&held()) {
            return Ok(distances);
        }
        // Not under the lock: a thread that waits within may come back here.
        let points = if few { kernel.points().to_vec() } else { all_rows(x) };
        let values = kernel.with_centres(points, shift).distances(x, observer)?;
        let (shift, scale) = (shift.to_vec(), scale.to_vec());
        let distances =
            Arc::new(Distances { metric, shift, scale, centres: centres.clone(), values });
        let mut held = held();
        Ok(found(&held).unwrap_or_else(|| {
            held.push(distances.clone());
            distances
        }))
    }
}

impl Distances {
    /// Those of row `i` from the centres of a kernel, which are the given ones of so many rows.
    pub fn gather(&self, i: usize, centres: &[usize], rows: usize, out: &mut [f64]) {
        let m = self.values.len() / rows.max(1);
        let row = &self.values[i * m..(i + 1) * m];
        match self.centres {
            Some(_) => out.copy_from_slice(row),
            None => out.iter_mut().zip(centres).for_each(|(o, &k)| *o = row[k]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::{Basis, Centres, Gamma, KernelSettings, Landmarks};
    use crate::data::{DenseView, SparseMatrix};
    use crate::linalg::Tile;
    use crate::random::uniform;

    #[test]
    fn columns_from_shared_distances_are_the_same() {
        let (n, mut next) = (40, uniform(1));
        for d in [3, 12] {
            let x: Vec<f64> = (0..n * d).map(|_| (4.0 * next()).floor() * next()).collect();
            let weights: Vec<f64> = (0..n).map(|i| f64::from(i as u8 % 3)).collect();
            let starts: Vec<usize> = (0..=n).map(|i| i * d).collect();
            let indices: Vec<usize> = (0..n * d).map(|k| k % d).collect();
            let sparse = SparseMatrix::from_rows(n, d, &starts, &indices, &x).unwrap();
            let y = vec![0.0; n];
            let dense = Features::from(DenseView::by_rows(&x, n, d).unwrap());
            for features in [dense, sparse.view().into()] {
                let data = Dataset::new(features, &y).unwrap();
                let cache = Arc::new(KernelCache::new(&data).unwrap());
                let data = data.with_weights(weights.clone()).unwrap();
                let sharing = data.clone().with_kernel_cache(Some(cache.clone()));
                for (form, standardize) in [
                    (KernelForm::Rbf, true),
                    (KernelForm::Rbf, false),
                    (KernelForm::Laplacian, true),
                    (KernelForm::Matern32, false),
                    (KernelForm::Matern52, true),
                    (KernelForm::PolynomialKernel, true),
                    (KernelForm::PolynomialKernel, false),
                ] {
                    for gamma in [0.3, 0.01] {
                        for centres in [Centres::Rows, Centres::Landmarks(5, Landmarks::Kmeans, 1)]
                        {
                            let settings = KernelSettings {
                                form: form.clone(),
                                gamma: Gamma::Number(gamma),
                                degree: 2,
                                coef0: 1.0,
                                centres: centres.clone(),
                                standardize,
                            };
                            let fixed = Basis::Kernel(settings).resolve(&data).unwrap();
                            let tile = |data: &Dataset<'_>| {
                                let columns =
                                    fixed.training_columns(data, 1 << 30, &Silent).unwrap();
                                let all: Vec<usize> = (0..columns.columns()).collect();
                                let mut tile = Tile::default();
                                columns.fill(0..n, &all, &mut tile);
                                tile.by_rows().values().to_vec()
                            };
                            for (a, b) in tile(&data).iter().zip(tile(&sharing)) {
                                assert!(
                                    (a - b).abs() <= 1e-12 * a.abs().max(1.0),
                                    "{form:?} {a} {b}"
                                );
                            }
                        }
                    }
                }
                // Widths share: squared, absolute and product, each with two units at most, for all
                // rows and for few.
                assert_eq!(cache.held.lock().unwrap().len(), 10);
            }
        }
    }
}
