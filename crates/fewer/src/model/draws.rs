//! Draws from the posterior of a model: sets of weights that the data allow, and what they predict.

use super::Model;
use crate::data::Features;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy};
use crate::random::Stream;

/// One set of weights out of the posterior.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    /// The intercept of each output.
    pub intercepts: Vec<f64>,
    /// By term its weight in each output, in the units of the data.
    pub weights: Vec<Vec<f64>>,
}

/// Of one output the value where every term is at its centre, and the weight of each term.
type Drawn = (f64, Vec<f64>);

/// Draws of all outputs, and the deviation of the noise that goes with each.
type WithNoise = (Vec<Vec<Drawn>>, Vec<f64>);

/// Tells the draws of weights of kernels on new rows from the others of a seed.
const BESIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Pivots of a correlation matrix below this are rounding.
const ROUNDING: f64 = 1e-14;

/// A lower triangle L with LLᵀ the matrix, which may be singular.
fn root(matrix: &Matrix) -> Matrix {
    let k = matrix.rows();
    let scale: Vec<f64> = (0..k).map(|a| matrix[(a, a)].max(0.0).sqrt()).collect();
    let mut out = Matrix::zeros(k, k);
    for j in 0..k {
        if scale[j] == 0.0 {
            continue;
        }
        let mut column: Vec<f64> = (0..k)
            .map(|i| if scale[i] > 0.0 { matrix[(i, j)] / (scale[i] * scale[j]) } else { 0.0 })
            .collect();
        for b in 0..j {
            let factor = out[(j, b)];
            axpy(-factor, out.column(b), &mut column);
        }
        if column[j] > ROUNDING {
            let pivot = column[j].sqrt();
            let below = out.column_mut(j)[j..].iter_mut().zip(&column[j..]);
            below.for_each(|(o, c)| *o = c / pivot);
        }
    }
    for j in 0..k {
        out.column_mut(j).iter_mut().zip(&scale).for_each(|(o, s)| *o *= s);
    }
    out
}

impl Model {
    /// So many draws, of each output.
    fn drawn(&self, draws: usize, seed: u64) -> Result<WithNoise> {
        let mut stream = Stream::new(seed);
        if let Some(sampled) = &self.draws {
            // They are draws already; weights and noise of one belong together.
            let count = sampled.base().len();
            let one = |_| {
                let k = ((stream.uniform() * count as f64) as usize).min(count - 1);
                let weights = (0..self.terms.len()).map(|t| sampled.weights(t)[k]).collect();
                (vec![(sampled.base()[k], weights)], sampled.noise_std()[k])
            };
            return Ok((0..draws).map(one).unzip());
        }
        let posterior = self.posterior_needed("draws from the posterior")?;
        let parameters = posterior.parameters();
        let k = parameters.len();
        let mut root = Matrix::default();
        if !posterior.are_independent() {
            let mut covariance = Matrix::zeros(k, k);
            for b in 0..k {
                let column = covariance.column_mut(b).iter_mut().enumerate();
                column.for_each(|(a, v)| *v = posterior.covariance(a, b));
            }
            root = self::root(&covariance);
        }
        let mean: Vec<Drawn> = (0..self.outputs())
            .map(|o| (self.base[o], self.terms.iter().map(|t| t.weights[o]).collect()))
            .collect();
        let noise = vec![self.noise_std.unwrap_or(0.0); draws];
        let found = (0..draws)
            .map(|_| {
                let mut moved = vec![0.0; k];
                for b in 0..k {
                    match posterior.are_independent() {
                        true => moved[b] = stream.normal() * posterior.covariance(b, b).sqrt(),
                        false => axpy(stream.normal(), root.column(b), &mut moved),
                    }
                }
                let mut draw = mean.clone();
                for (p, by) in parameters.iter().zip(moved) {
                    let (base, weights) = &mut draw[p.output];
                    *p.term.map_or(base, |t| &mut weights[t]) += by;
                }
                draw
            })
            .collect();
        Ok((found, noise))
    }

    /// So many sets of intercepts and weights out of the posterior; the same for the same seed.
    ///
    /// ```
    /// use fewer::data::{Dataset, DenseView};
    /// use fewer::method::BLS;
    /// let x: Vec<f64> = (0..500).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
    /// let y: Vec<f64> = x.chunks(5).map(|x| 1.0 + 3.0 * x[0] + 0.2 * x[1]).collect();
    /// let data = Dataset::new(DenseView::by_rows(&x, 100, 5)?, &y)?;
    /// let model = BLS::new().max_terms(1).fit(&data)?;
    /// let draws = model.sample_posterior(1000, 0)?;
    /// let mean = draws.iter().map(|d| d.weights[0][0]).sum::<f64>() / 1000.0;
    /// let error = model.standard_errors()?[0][0].unwrap();
    /// assert!((mean - model.terms()[0].weight()).abs() < 0.15 * error);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn sample_posterior(&self, draws: usize, seed: u64) -> Result<Vec<Draw>> {
        let centres: Vec<f64> = self.terms.iter().map(|t| t.centre).collect();
        let intercept = |(base, weights): &(f64, Vec<f64>)| {
            base - weights.iter().zip(&centres).map(|(w, c)| w * c).sum::<f64>()
        };
        let turned = |draw: Vec<(f64, Vec<f64>)>| Draw {
            intercepts: draw.iter().map(intercept).collect(),
            weights: (0..centres.len()).map(|t| draw.iter().map(|o| o.1[t]).collect()).collect(),
        };
        Ok(self.drawn(draws, seed)?.0.into_iter().map(turned).collect())
    }

    /// What so many sets of weights out of the posterior predict: a row for each row, a column for
    /// each draw. With `noise` they are new observations, whose deviation is
    /// [`predict_std`](Self::predict_std); without, values of the function itself.
    ///
    /// Under `variance = augmented` every row has a kernel of its own, whose weight is drawn by
    /// itself: such draws have the deviations of the function and not its smoothness.
    pub fn sample_y<'a>(
        &self,
        features: impl Into<Features<'a>>,
        draws: usize,
        seed: u64,
        noise: bool,
    ) -> Result<Matrix> {
        if self.classes.is_some() {
            return Err(Error::Unavailable {
                what: "draws of a number".into(),
                hint: "the model tells classes apart; sample_posterior draws its weights".into(),
            });
        }
        let (drawn, deviations) = self.drawn(draws, seed)?;
        let features = features.into();
        let added = self.augmented_variance(features)?;
        let (bases, weights): (Vec<f64>, Vec<Vec<f64>>) =
            drawn.into_iter().filter_map(|d| d.into_iter().next()).unzip();
        let mut out = self.sums(features, &weights)?;
        // The weights of a seed are the same with noise and without.
        let mut stream = Stream::new(!seed);
        let mut beside = Stream::new(seed.rotate_left(32) ^ BESIDE);
        for (k, (base, deviation)) in bases.iter().zip(deviations).enumerate() {
            for (i, y) in out.column_mut(k).iter_mut().enumerate() {
                *y += base;
                if let Some(added) = &added {
                    *y += added[i].sqrt() * beside.normal();
                }
                if noise && deviation > 0.0 {
                    // Student's t: a Gaussian whose precision is drawn first.
                    let precision = self.noise_nu.map_or(1.0, |nu| {
                        (stream.gamma(0.5 * nu) / (0.5 * nu)).max(f64::MIN_POSITIVE)
                    });
                    *y += deviation * stream.normal() / precision.sqrt();
                }
            }
        }
        match out.as_slice().iter().position(|y| !y.is_finite()) {
            None => Ok(out),
            Some(at) => Err(Error::Value {
                row: at % out.rows() + 1,
                column: self.target.clone(),
                value: format!("the prediction is {}", out.as_slice()[at]),
                expected: "the inputs are too far outside the range of the training data".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_of_a_singular_matrix_is_one() {
        let (k, mut stream) = (6, Stream::new(1));
        let factor =
            Matrix::from_columns(k, 3, (0..3 * k).map(|_| stream.uniform() - 0.5).collect());
        let mut matrix = Matrix::zeros(k, k);
        for a in 0..k - 1 {
            for b in 0..k - 1 {
                let scale = 10f64.powi(2 * (a + b) as i32);
                let product = |c: usize| factor[(a, c)] * factor[(b, c)];
                matrix[(a, b)] = scale * (0..3).map(product).sum::<f64>();
            }
        }
        let root = root(&matrix);
        for a in 0..k {
            for b in 0..k {
                let product: f64 = (0..k).map(|c| root[(a, c)] * root[(b, c)]).sum();
                let size = (matrix[(a, a)] * matrix[(b, b)]).sqrt();
                assert!((product - matrix[(a, b)]).abs() <= 1e-7 * size, "{a} {b}");
            }
        }
    }
}
