//! Relevance vector regression with orthonormal wavelets (Schmolck & Everson 2007, in Tzikas et al.
//! 2009).

use super::common::{Common, Shared, limits_builder};
use super::evidence::{
    Evidence, EvidenceSolver, NoiseOfRows, SATURATED, SMALLEST_NOISE, Variance, is_saturated,
    numbers,
};
use super::rvr::{Sparsity, SparsityRule};
use super::settings::{Intercept, check_number, parse_without_basis, without_basis};
use super::training::on_threads;
use crate::basis::{FixedBasis, UserFunction, Wavelets};
use crate::data::{Dataset, Moments, Units};
use crate::design::DenseColumns;
use crate::engine::Observer;
use crate::engine::evidence::{Options, Orthonormal, orthonormal};
use crate::error::{Error, Result};
use crate::likelihood::Noise;
use crate::linalg::Matrix;
use crate::model::{Model, number};
use crate::prior::Ard;
use serde::{Deserialize, Serialize};

/// Relevance vector regression with orthonormal wavelets, for values at equally spaced points.
///
/// The wavelets are orthonormal, so that every weight has its best variance in closed form given
/// the noise, and the noise is found by a search from the median of the finest details. A fit takes
/// time proportional to the number of rows. Wavelets are periodic: a function whose ends do not
/// meet has a jump there. Between the points of the grid predictions are interpolated; beyond its
/// ends they stay as they are there.
///
/// There must be one feature with equally spaced values, in any order, and as many rows as a power
/// of two, unless `padding` is given.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `wavelet` | `sym8` | `haar`, `db2` to `db10` (Daubechies), `sym4` to `sym10` (symlets) |
/// | `padding` | `none` | up to a power of two: `none` refuses, `periodic` repeats the first rows, `symmetric` reflects the last |
/// | `sparsity` | `bic` | c: a number, `none`, `aic` (1), `bic` (log(n)/2) or `ric` (log n) |
/// | `noise` | estimated | standard deviation of the noise, in the units of y |
/// | `fit_intercept` | true | `false`: the constant is a term like any other; `"penalised"`: it is no term |
/// | `max_terms` | – | keep at most so many terms |
/// | `standardize`, `tol`, `max_iter`, `max_time`, `memory_limit`, `random_state`, `n_jobs` | – | without effect |
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::{Sparsity, SparsityRule, WaveletRVR};
///
/// // A step in noise.
/// let x: Vec<f64> = (0..256).map(|i| i as f64 / 256.0).collect();
/// let noise = |i: usize| 0.1 * ((i * i * i) as f64 * 0.3).sin();
/// let y: Vec<f64> =
///     x.iter().enumerate().map(|(i, x)| f64::from(u8::from(*x >= 0.5)) + noise(i)).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 256, 1)?, &y)?;
/// let method = WaveletRVR::new().wavelet("haar").sparsity(Sparsity::Rule(SparsityRule::Ric));
/// let model = method.fit(&data)?;
/// assert_eq!(model.n_terms(), 1);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WaveletRVR(Settings);

limits_builder!(WaveletRVR);

/// What is done where the number of rows is no power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Padding {
    /// They are refused.
    #[default]
    None,
    /// The first rows are repeated after the last.
    Periodic,
    /// The last rows are reflected.
    Symmetric,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    wavelet: String,
    padding: Padding,
    sparsity: Sparsity,
    noise: Option<f64>,
    #[serde(skip)]
    common: Common,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            wavelet: "sym8".into(),
            padding: Padding::None,
            sparsity: Sparsity::Rule(SparsityRule::Bic),
            noise: None,
            common: Common::default(),
        }
    }
}

/// The median of the absolute value of a standard normal variable.
const MEDIAN_OF_NORMAL: f64 = 0.6745;
/// Points may be off the grid by this part of a step.
const OFF_GRID: f64 = 1e-3;

/// Values on a grid.
struct Signal {
    start: f64,
    step: f64,
    /// A power of two of them.
    values: Vec<f64>,
    /// How many of them are data.
    points: usize,
}

impl WaveletRVR {
    /// Settings from a JSON object with the names of the table above.
    pub fn from_json(settings: &str) -> Result<Self> {
        let (common, own): (Common, Settings) =
            parse_without_basis(settings, &Settings::default(), &["standardize"])?;
        Ok(Self(Settings { common, ..own }))
    }

    /// The wavelet by name.
    pub fn wavelet(mut self, name: impl Into<String>) -> Self {
        self.0.wavelet = name.into();
        self
    }

    /// What is done where the number of rows is no power of two.
    pub fn padding(mut self, padding: Padding) -> Self {
        self.0.padding = padding;
        self
    }

    /// c, the price of an effective parameter.
    pub fn sparsity(mut self, sparsity: Sparsity) -> Self {
        self.0.sparsity = sparsity;
        self
    }

    /// Standard deviation of the noise; estimated where it is not given.
    pub fn noise(mut self, noise: f64) -> Self {
        self.0.noise = Some(noise);
        self
    }

    /// Fits a model while an observer watches.
    pub fn fit_observed(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        self.0.common.check_without_basis("WaveletRVR")?;
        check_number("noise", self.0.noise, false)?;
        self.0.sparsity.check()?;
        let y = numbers("WaveletRVR", data)?;
        data.without_offset("WaveletRVR")?;
        if data.noise_precision().is_some() {
            return Err(Error::Unavailable {
                what: "noise of known relative precision".into(),
                hint: "RVR takes it; leave noise_precision out".into(),
            });
        }
        data.check()?;
        let signal = self.signal(data, y)?;
        on_threads(self.0.common.n_jobs, || {
            let model = self.solve(data, &signal, observer)?;
            Ok(Model { encoder: data.encoder().cloned(), named: data.is_named(), ..model })
        })
    }

    /// The target by rising x, and padded.
    fn signal(&self, data: &Dataset<'_>, y: &[f64]) -> Result<Signal> {
        let refused = |what: String, hint: String| Err(Error::Unavailable { what, hint });
        let features = data.features();
        if features.columns() != 1 {
            return refused(
                format!("a wavelet of {} features", features.columns()),
                "WaveletRVR takes one feature with equally spaced values; AdaptiveRVR and RVR \
                 take any"
                    .into(),
            );
        }
        if let Some(i) = data.weights().and_then(|w| w.iter().position(|w| *w == 0.0)) {
            return refused(
                format!("a fit without row {}", i + 1),
                "WaveletRVR needs all rows of an equally spaced grid, so that it cannot be judged or \
                 tuned in folds, which leave rows out; AdaptiveRVR and RVR can"
                    .into(),
            );
        }
        if let Some(i) = data.weights().and_then(|w| w.iter().position(|w| *w != 1.0)) {
            return refused(
                format!("a weight other than 1, as that of row {},", i + 1),
                "WaveletRVR needs rows of equal weight, which keep wavelets orthogonal; leave \
                 sample weights out, or take AdaptiveRVR or RVR"
                    .into(),
            );
        }
        let x = features.to_matrix().as_slice().to_vec();
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
        let (first, last) = (x[order[0]], x[order[x.len() - 1]]);
        let step = if x.len() > 1 { (last - first) / (x.len() - 1) as f64 } else { 1.0 };
        let tolerance = OFF_GRID * step + 4.0 * f64::EPSILON * first.abs().max(last.abs());
        let name = &data.names()[0];
        if !step.is_finite() {
            return refused(format!("the span of '{name}'"), "rescale the column".into());
        }
        for (k, &i) in order.iter().enumerate() {
            let expected = first + step * k as f64;
            if (x[i] - expected).abs() > tolerance || step == 0.0 {
                return Err(Error::Value {
                    row: i + 1,
                    column: name.clone(),
                    value: format!("the value is {}", x[i]),
                    expected: format!(
                        "equally spaced values are expected, here {} (in steps of {} from {}); \
                         AdaptiveRVR and RVR take any",
                        number(expected),
                        number(step),
                        number(first)
                    ),
                });
            }
        }
        let points = x.len();
        let size = points.next_power_of_two();
        if size != points && self.0.padding == Padding::None {
            return refused(
                format!("a wavelet transform of {points} rows"),
                format!(
                    "a power of two is needed: give {} or {size} rows, or set padding to \
                     'symmetric' or 'periodic'",
                    size / 2
                ),
            );
        }
        let source = |k: usize| match self.0.padding {
            _ if k < points => k,
            Padding::Symmetric => 2 * points - 1 - k,
            Padding::None | Padding::Periodic => k - points,
        };
        let values = (0..size).map(|k| y[order[source(k)]]).collect();
        Ok(Signal { start: first, step, values, points })
    }

    fn solve(&self, data: &Dataset<'_>, signal: &Signal, observer: &dyn Observer) -> Result<Model> {
        let common = &self.0.common;
        let size = signal.values.len();
        let wavelets =
            Wavelets::new(&self.0.wavelet, signal.start, signal.step, size, signal.points)?;
        let free = common.fit_intercept == Intercept::Free;
        let column = DenseColumns::Owned(Matrix::zeros(size, 1));
        let moments = Moments::of(&column, &[0], &signal.values, None, false, observer)?;
        let Units { target_mean, target_deviation, .. } = moments.units(true, free);
        if !target_deviation.is_finite() {
            return Err(Error::Unavailable {
                what: "the variance of the target".into(),
                hint: "its values are too large for floating point; rescale it".into(),
            });
        }
        let bias = common.fit_intercept == Intercept::Penalised;
        let columns = size + usize::from(bias);
        let units = Units {
            mean: vec![0.0; columns],
            deviation: vec![1.0; columns],
            target_mean,
            target_deviation,
        };
        let unit = units.target_unit();
        let inner: Vec<f64> = signal.values.iter().map(|y| (y - target_mean) / unit).collect();
        let mut products = wavelets.analyse(&inner);
        let first_precision = first_precision(&products[size / 2..]);
        let mut lengths = vec![1.0; columns];
        let constant = products[0];
        if free || bias {
            products[0] = 0.0;
        }
        if bias {
            products.push(constant);
            lengths[size] = (size as f64).powf(-0.5);
        }
        let fixed = FixedBasis::Wavelets(wavelets);
        let squares = (0..columns).map(|j| if j < size { 1.0 } else { size as f64 }).collect();
        let shared = Shared {
            design: None,
            gram: None,
            units,
            squares,
            cross: products.clone(),
            scale: vec![unit; columns],
            usable: (0..columns).collect(),
            dropped: Vec::new(),
            weight: size as f64,
            rows: signal.points,
            fixed: &fixed,
            features: data.shared_names(),
            target: data.target_name(),
            kernel: true,
            distinct: usize::MAX,
            deadline: None,
            observer,
        };
        let evidence = Evidence {
            method: "WaveletRVR",
            common,
            settings: without_basis(common, &self.0, &["standardize"]),
            noise: self.0.noise,
            nu: None,
            solver: EvidenceSolver::Fast,
            variance: Variance::Posterior,
            rounds: false,
            as_published: false,
        };
        let prior = Ard { price: self.0.sparsity.price(size as f64), as_published: false };
        if target_deviation == 0.0 && self.0.noise.is_none() || free && size == 1 {
            return evidence.empty(&shared, &prior, &NoiseOfRows::default());
        }
        let noise = evidence.inner_noise(unit, &NoiseOfRows::default())?;
        let options = Options {
            max_terms: common.max_terms,
            noise,
            largest_precision: 1.0 / SMALLEST_NOISE,
            first_precision,
            ..Options::default()
        };
        let problem = Orthonormal {
            square: inner.iter().map(|t| t * t).sum(),
            products,
            weight: size as f64,
            free_intercept: free,
            uncounted: bias.then_some(size),
        };
        let found = orthonormal(&problem, &prior, &options, observer)?;
        let mut model = evidence.model(&shared, found, &prior, &lengths, noise)?;
        // Without a price there may be no maximum but the one at which nothing is left.
        let many = size > 1 && model.terms.len() + 1 >= size;
        if noise == Noise::Estimated && !is_saturated(&model) && many {
            model.report.notes.push(SATURATED.into());
        }
        if size > signal.points {
            model.report.notes.push(format!(
                "{} rows were padded to {size}; the evidence is that of all of them",
                signal.points
            ));
        }
        Ok(model)
    }
}

/// The precision of the noise judged by the finest details, of which most are noise alone.
fn first_precision(finest: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = finest.iter().map(|d| d.abs()).filter(|d| *d > 0.0).collect();
    if sizes.is_empty() {
        return Options::default().first_precision;
    }
    let middle = sizes.len() / 2;
    let deviation = *sizes.select_nth_unstable_by(middle, f64::total_cmp).1 / MEDIAN_OF_NORMAL;
    deviation.powi(-2)
}
