//! Relevance vector regression with kernels that are learnt (Tzikas, Likas & Galatsanos 2009).

use super::adaptive::{Inputs, check_learning, grain, note_ends, shared};
use super::common::{Common, Shared, limits_builder};
use super::evidence::{
    Evidence, EvidenceSolver, NO_INPUT_VARIES, NoiseOfRows, SMALLEST_NOISE, Variance, numbers,
};
use super::rvr::{Sparsity, SparsityRule};
use super::settings::{Intercept, Variant, check_number, parse_without_basis, without_basis};
use super::training::on_threads;
use crate::basis::{Family, FixedBasis, UserFunction};
use crate::data::Dataset;
use crate::engine::Observer;
use crate::engine::evidence::{Learning, LearntShapes, Options, learn};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::prior::Ard;
use serde::{Deserialize, Serialize};

/// Relevance vector regression in which each kernel learns its own centre and width.
///
/// Kernels are added one after the other where they raise log p(y | γ, σ²) − c·(effective
/// parameters) most, their centres and widths climb the same objective together, and those that
/// become worthless go: no kernel parameter is left to choose, and a function may be smooth here
/// and rough there. The objective has many maxima. With up to 1000 rows and 100 learnt parameters the
/// fit looks for a better one than the first; which one it ends at depends on the seed.
///
/// Widths stay between half the distance of neighbouring rows and twice the span of the data,
/// centres within its range, and a kernel that touches no row pays for it.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `sparsity` | `bic` | c: a number, `none`, `aic` (1), `bic` (log(n)/2) or `ric` (log n) |
/// | `families` | `["rbf"]` | kernels to add from: `rbf` exp(−Σ(x−m)²/h²), `laplacian` exp(−Σ\|x−m\|/h), `linear` (the features themselves) |
/// | `anisotropic` | false | a width of its own along each feature |
/// | `starts` | 50 | candidates of each family in each search |
/// | `parameter_price` | 0.25 | what a kernel's place or a width costs, as a part π of ½ log β + 4/β³, β = var y/σ²: the leading term of an integral over it, and what keeps kernels from noise |
/// | `place_price` | 0 | what the place of a kernel costs at the end, as a part of log((r − m + 1)/m): it is one of r = n/(rows it covers) places, of which m are taken; 1 leaves no kernels on single rows of noise, and none on faint detail |
/// | `variance_price` | 1 | κ of the prior density exp(−κγ/2) of variances γ of weights, γ in units of var y |
/// | `noise` | estimated | standard deviation of the noise, in the units of y |
/// | `variant` | `exact` | `paper`: the updates of variances and noise as published, their units put right |
/// | `standardize` | true | kernels take inputs of unit variance |
/// | `fit_intercept` | true | `true` (integrated out), `false` or `"penalised"` |
/// | `max_terms` | a quarter of the rows | keep at most so many terms |
/// | `tol` | 1e-8 | gains of log evidence below it are left |
/// | `max_iter`, `max_time` | 10 000, – | limits (searches for candidates, seconds) |
/// | `memory_limit`, `random_state`, `n_jobs` | 4e9, 0, all | see the other methods |
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::AdaptiveRVR;
///
/// // A broad hill with a narrow spike on it.
/// let hill = |x: f64| (-(x - 4.0).powi(2) / 4.0).exp() + (-(x - 7.0).powi(2) / 0.02).exp();
/// let noise = |i: usize| 0.02 * ((i * i * i) as f64 * 0.3).sin();
/// let x: Vec<f64> = (0..200).map(|i| 0.05 * i as f64).collect();
/// let y: Vec<f64> = x.iter().enumerate().map(|(i, &x)| hill(x) + noise(i)).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 200, 1)?, &y)?;
///
/// let model = AdaptiveRVR::new().fit(&data)?;
/// let kernels = model.learnt().unwrap();
/// let large = (0..model.n_terms()).filter(|&k| model.terms()[k].weight() > 0.5);
/// let mut centres: Vec<f64> = large.map(|k| kernels.centre(k).unwrap()[0]).collect();
/// centres.sort_by(f64::total_cmp);
/// assert_eq!(centres.len(), 2);
/// assert!((centres[0] - 4.0).abs() < 0.1 && (centres[1] - 7.0).abs() < 0.05);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AdaptiveRVR(Settings);

limits_builder!(AdaptiveRVR);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    sparsity: Sparsity,
    families: Vec<Family>,
    anisotropic: bool,
    starts: usize,
    parameter_price: f64,
    place_price: f64,
    variance_price: f64,
    noise: Option<f64>,
    variant: Variant,
    #[serde(skip)]
    common: Common,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sparsity: Sparsity::Rule(SparsityRule::Bic),
            families: vec![Family::Rbf],
            anisotropic: false,
            starts: 50,
            parameter_price: 0.25,
            place_price: 0.0,
            variance_price: 1.0,
            noise: None,
            variant: Variant::Exact,
            common: Common::default(),
        }
    }
}

impl AdaptiveRVR {
    /// Settings from a JSON object with the names of the table above.
    pub fn from_json(settings: &str) -> Result<Self> {
        let (common, own): (Common, Settings) =
            parse_without_basis(settings, &Settings::default(), &[])?;
        Ok(Self(Settings { common, ..own }))
    }

    /// c, the price of an effective parameter.
    pub fn sparsity(mut self, sparsity: Sparsity) -> Self {
        self.0.sparsity = sparsity;
        self
    }

    /// Kernels to add from; the best addition of all wins.
    pub fn families(mut self, families: impl Into<Vec<Family>>) -> Self {
        self.0.families = families.into();
        self
    }

    /// Whether kernels have a width of their own along each feature.
    pub fn anisotropic(mut self, anisotropic: bool) -> Self {
        self.0.anisotropic = anisotropic;
        self
    }

    /// Candidates of each family in each search.
    pub fn starts(mut self, starts: usize) -> Self {
        self.0.starts = starts;
        self
    }

    /// What a kernel's place or a width costs, as a part of ½ log β + 4/β³ with β = var y/σ².
    pub fn parameter_price(mut self, price: f64) -> Self {
        self.0.parameter_price = price;
        self
    }

    /// What the place of a kernel costs at the end, as a part of log((r − m + 1)/m) where it is one of
    /// r = n/(rows it covers) places, of which m are taken.
    pub fn place_price(mut self, price: f64) -> Self {
        self.0.place_price = price;
        self
    }

    /// κ of the prior density exp(−κγ/2) of variances γ of weights, γ in units of var y.
    pub fn variance_price(mut self, price: f64) -> Self {
        self.0.variance_price = price;
        self
    }

    /// Standard deviation of the noise; estimated where it is not given.
    pub fn noise(mut self, noise: f64) -> Self {
        self.0.noise = Some(noise);
        self
    }

    /// Whether the updates of variances and noise are used as published.
    pub fn variant(mut self, variant: Variant) -> Self {
        self.0.variant = variant;
        self
    }

    /// Whether kernels take inputs of unit variance.
    pub fn standardize(mut self, standardize: bool) -> Self {
        self.0.common.standardize = standardize;
        self
    }

    /// Fits a model while an observer watches.
    pub fn fit_observed(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        self.0.common.check_without_basis("AdaptiveRVR")?;
        check_number("noise", self.0.noise, false)?;
        check_number("parameter_price", Some(self.0.parameter_price), true)?;
        check_number("place_price", Some(self.0.place_price), true)?;
        check_number("variance_price", Some(self.0.variance_price), true)?;
        if self.0.parameter_price > 1.0 {
            return Err(Error::setting(
                "parameter_price",
                self.0.parameter_price,
                "a number from 0 to 1 is expected",
            ));
        }
        check_learning(&self.0.families, self.0.starts)?;
        self.0.sparsity.check()?;
        let y = numbers("AdaptiveRVR", data)?;
        data.without_offset("AdaptiveRVR")?;
        if data.noise_precision().is_some() {
            return Err(Error::Unavailable {
                what: "noise of known relative precision".into(),
                hint: "RVR takes it; leave noise_precision out".into(),
            });
        }
        data.check()?;
        on_threads(self.0.common.n_jobs, || {
            let model = self.solve(data, y, observer)?;
            Ok(Model { encoder: data.encoder().cloned(), named: data.is_named(), ..model })
        })
    }

    fn evidence(&self) -> Evidence<'_> {
        Evidence {
            method: "AdaptiveRVR",
            common: &self.0.common,
            settings: without_basis(&self.0.common, &self.0, &[]),
            noise: self.0.noise,
            nu: None,
            rounds: false,
            as_published: false,
            solver: EvidenceSolver::Fast,
            variance: Variance::Posterior,
        }
    }

    fn solve(&self, data: &Dataset<'_>, y: &[f64], observer: &dyn Observer) -> Result<Model> {
        let common = &self.0.common;
        let free = common.fit_intercept == Intercept::Free;
        let bias = common.fit_intercept == Intercept::Penalised;
        let deadline = common.deadline();
        let linear = self.0.families.contains(&Family::Linear);
        let (inputs, units) = Inputs::new(common, linear, data, y, data.weights(), observer)?;
        let d = data.features().columns();
        let (unit, fine) = (units.target_unit(), grain(1.0));
        let mean = if free { units.target_mean } else { 0.0 };
        let target: Vec<f64> =
            y.iter().map(|y| ((y - mean) / unit / fine).round() * fine + 0.0).collect();
        let rows = inputs.sample(&inputs.distinct(&target, data.weights()), &target);
        let weight = rows.weight;
        let prior = Ard {
            price: self.0.sparsity.price(weight),
            as_published: self.0.variant == Variant::Paper,
        };
        let of_rows = (y, data.weights(), (units.target_mean, units.target_deviation));
        let constant = inputs.are_constant();
        let without_target = units.target_deviation == 0.0;
        if without_target && self.0.noise.is_none() || weight - f64::from(u8::from(free)) <= 0.0 {
            let fixed = FixedBasis::Learnt(inputs.learnt(Vec::new()));
            let columns = fixed.columns(*data.features(), 0, observer)?;
            let shared = shared(common, data, of_rows, &fixed, &*columns, observer)?;
            let shared = Shared { weight, dropped: inputs.dropped, ..shared };
            let mut model = self.evidence().empty(&shared, &prior, &NoiseOfRows::default())?;
            model.report.relevances = vec![0.0; d];
            return Ok(model);
        }
        let noise = self.evidence().inner_noise(unit, &NoiseOfRows::default())?;
        let options = Options {
            tol: common.tol,
            max_iter: common.max_iter,
            max_terms: common.max_terms,
            deadline,
            noise,
            largest_precision: 1.0 / SMALLEST_NOISE,
            worthless: 0.1 * common.tol,
            memory_limit: common.memory_limit as usize,
            ..Options::default()
        };
        let learning = Learning {
            rows,
            free_intercept: free,
            bias,
            families: if constant { Vec::new() } else { self.0.families.clone() },
            anisotropic: self.0.anisotropic && d > 1,
            starts: self.0.starts,
            seed: common.random_state,
            noise_as_published: self.0.variant == Variant::Paper,
            parameter_price: match self.0.variant {
                Variant::Exact => self.0.parameter_price,
                Variant::Paper => 0.0,
            },
            place_price: match self.0.variant {
                Variant::Exact => self.0.place_price,
                Variant::Paper => 0.0,
            },
            variance_price: match self.0.variant {
                Variant::Exact => self.0.variance_price,
                Variant::Paper => 0.0,
            },
        };
        let (LearntShapes { shapes, beyond }, found) = learn(&learning, prior, &options, observer)?;
        let learnt = inputs.learnt(shapes);
        let fixed = FixedBasis::Learnt(learnt.clone());
        let columns = fixed.columns(*data.features(), 0, observer)?;
        let shared = shared(common, data, of_rows, &fixed, &*columns, observer)?;
        let shared = Shared { weight, dropped: inputs.dropped.clone(), ..shared };
        let mut lengths: Vec<f64> = (0..fixed.len()).map(|k| learnt.factor(k)).collect();
        lengths.resize(found.active.len(), 1.0);
        let mut model = self.evidence().model(&shared, found, &prior, &lengths, noise)?;
        note_ends(&mut model, beyond, learning.rows.different(), self.0.variant);
        if constant && !without_target {
            model.report.notes = vec![NO_INPUT_VARIES.into()];
        }
        let weights: Vec<f64> = model.terms.iter().map(|t| t.weight()).collect();
        model.report.relevances = inputs.relevances(&learnt, &weights, &learning.rows);
        Ok(model)
    }
}
