//! Relevance vector classification with kernels that are learnt (Tzikas, Likas & Galatsanos 2009).

use super::adaptive::{Inputs, check_learning, note_ends, shared};
use super::classes::{ClassWeight, check_classes, row_weights};
use super::common::{Common, Shared, limits_builder};
use super::evidence::NO_INPUT_VARIES;
use super::rvc::{Part, Parts};
use super::rvr::{Sparsity, SparsityRule};
use super::settings::{Intercept, Variant, check_number, parse_without_basis, without_basis};
use super::training::on_threads;
use crate::basis::{Family, FixedBasis, UserFunction};
use crate::data::{Dataset, Label, Target};
use crate::engine::evidence::{FoundMode, Learning, LearntShapes, Options, learn_labels};
use crate::engine::{Observer, StopOnly};
use crate::error::{Error, Result};
use crate::model::{Link, Model, number};
use crate::prior::Ard;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Relevance vector classification in which each kernel learns its own centre and width.
///
/// Classes have the logistic probabilities of a sum of kernels whose weights are integrated out by
/// Laplace's approximation; kernels are added where they raise log p(y | γ) − c·(effective
/// parameters) most, their centres and widths climb the same objective together, and those that
/// become worthless go. Steps that lower the objective are undone. More than two classes are fitted
/// one against the rest, each with kernels of its own.
///
/// Probabilities are averaged over the posterior of the weights
/// ([`Model::moderated_probabilities`]).
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `sparsity` | `bic` | c: a number, `none`, `aic` (1), `bic` (log(n)/2) or `ric` (log n) |
/// | `families` | `["rbf"]` | kernels to add from: `rbf` exp(−Σ(x−m)²/h²), `laplacian` exp(−Σ\|x−m\|/h), `linear` (the features themselves) |
/// | `anisotropic` | false | a width of its own along each feature |
/// | `starts` | 50 | candidates of each family in each search |
/// | `variance_price` | 0.1 | κ of the prior density exp(−κγ/2) of variances γ of weights |
/// | `variant` | `exact` | `paper`: the update of variances as published, and no price of variances |
/// | `class_weight` | – | `"balanced"`, or a weight for each class |
/// | `standardize` | true | kernels take inputs of unit variance |
/// | `fit_intercept` | true | `true` (integrated out), `false` or `"penalised"` |
/// | `max_terms` | a quarter of the rows | keep at most so many terms for each class |
/// | `tol` | 1e-8 | gains of log evidence below it are left |
/// | `max_iter`, `max_time` | 10 000, – | limits (searches for candidates, seconds) |
/// | `memory_limit`, `random_state`, `n_jobs` | 4e9, 0, all | see the other methods |
///
/// ```
/// use fewer::data::{Dataset, DenseView, Target};
/// use fewer::method::AdaptiveRVC;
///
/// let x: Vec<f64> = (0..400).map(|i| 3.0 * ((i * i) as f64 * 0.7).sin()).collect();
/// let wave = |i: usize| ((i * i) as f64 * 0.3).cos();
/// let inside = |(i, x): (usize, &[f64])| x[0] * x[0] + x[1] * x[1] + wave(i) < 6.0;
/// let labels: Vec<bool> = x.chunks(2).enumerate().map(inside).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 200, 2)?, Target::labels(labels))?;
///
/// let model = AdaptiveRVC::new().fit(&data)?;
/// assert!(model.n_terms() < 10);
/// let points = [0.0, 0.0, 3.0, 3.0];
/// let points = DenseView::by_rows(&points, 2, 2)?;
/// let probabilities = model.predict_probabilities(points)?;
/// assert!(probabilities[(0, 1)] > 0.9 && probabilities[(1, 1)] < 0.1);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AdaptiveRVC(Settings);

limits_builder!(AdaptiveRVC);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    sparsity: Sparsity,
    families: Vec<Family>,
    anisotropic: bool,
    starts: usize,
    variance_price: f64,
    variant: Variant,
    #[serde(skip_serializing_if = "Option::is_none")]
    class_weight: Option<ClassWeight>,
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
            variance_price: 0.1,
            variant: Variant::Exact,
            class_weight: None,
            common: Common::default(),
        }
    }
}

impl AdaptiveRVC {
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

    /// κ of the prior density exp(−κγ/2) of variances γ of weights.
    pub fn variance_price(mut self, price: f64) -> Self {
        self.0.variance_price = price;
        self
    }

    /// Whether the update of variances is used as published.
    pub fn variant(mut self, variant: Variant) -> Self {
        self.0.variant = variant;
        self
    }

    /// Weights of the classes, on top of the rows' own.
    pub fn class_weight(mut self, weight: ClassWeight) -> Self {
        self.0.class_weight = Some(weight);
        self
    }

    /// Whether kernels take inputs of unit variance.
    pub fn standardize(mut self, standardize: bool) -> Self {
        self.0.common.standardize = standardize;
        self
    }

    /// Fits a model while an observer watches.
    pub fn fit_observed(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        self.0.common.check_without_basis("AdaptiveRVC")?;
        check_number("variance_price", Some(self.0.variance_price), true)?;
        check_learning(&self.0.families, self.0.starts)?;
        self.0.sparsity.check()?;
        data.without_offset("AdaptiveRVC")?;
        data.without_noise_precision("AdaptiveRVC")?;
        data.check()?;
        let Target::Labels { classes, codes } = data.target() else {
            return Err(Error::Unavailable {
                what: "classification of numbers".into(),
                hint: "AdaptiveRVC needs a label for each row; AdaptiveRVR takes numbers".into(),
            });
        };
        check_classes(classes, codes, data.weights())?;
        let class_weight = self.0.class_weight.as_ref();
        let weights = row_weights(class_weight, classes, codes, data.weights())?;
        let weights = weights.as_deref().or(data.weights());
        on_threads(self.0.common.n_jobs, || {
            let model = self.solve(data, (classes, codes), weights, observer)?;
            Ok(Model {
                encoder: data.encoder().cloned(),
                named: data.is_named(),
                classes: Some(classes.clone()),
                link: if classes.len() == 2 { Link::Logit } else { Link::LogitOfEach },
                moderates: true,
                ..model
            })
        })
    }

    fn solve(
        &self,
        data: &Dataset<'_>,
        (classes, codes): (&[Label], &[usize]),
        weights: Option<&[f64]>,
        observer: &dyn Observer,
    ) -> Result<Model> {
        let common = &self.0.common;
        let deadline = common.deadline();
        let free = common.fit_intercept == Intercept::Free;
        let zeros = vec![0.0; codes.len()];
        let linear = self.0.families.contains(&Family::Linear);
        let (inputs, _) = Inputs::new(common, linear, data, &zeros, weights, observer)?;
        let d = data.features().columns();
        let keys: Vec<f64> = codes.iter().map(|&c| c as f64).collect();
        let chosen = inputs.distinct(&keys, weights);
        let rows = inputs.sample(&chosen, &zeros);
        let (weight, constant) = (rows.weight, inputs.are_constant());
        let learning = Learning {
            rows,
            free_intercept: free,
            bias: common.fit_intercept == Intercept::Penalised,
            families: if constant { Vec::new() } else { self.0.families.clone() },
            anisotropic: self.0.anisotropic && d > 1,
            starts: self.0.starts,
            seed: common.random_state,
            noise_as_published: false,
            parameter_price: 0.0,
            place_price: 0.0,
            variance_price: match self.0.variant {
                Variant::Exact => self.0.variance_price,
                Variant::Paper => 0.0,
            },
        };
        let options = Options {
            tol: common.tol,
            max_iter: common.max_iter,
            max_terms: common.max_terms,
            deadline,
            worthless: 0.1 * common.tol,
            memory_limit: common.memory_limit as usize,
            ..Options::default()
        };
        let prior = Ard {
            price: self.0.sparsity.price(weight),
            as_published: self.0.variant == Variant::Paper,
        };
        // Of two classes the second against the first.
        let positives: Vec<usize> =
            if classes.len() == 2 { vec![1] } else { (0..classes.len()).collect() };
        let quiet = StopOnly(observer);
        let watched: &dyn Observer = if classes.len() == 2 { observer } else { &quiet };
        let one = |&class: &usize| {
            let own: Vec<usize> = chosen.iter().map(|c| usize::from(codes[c.0] != class)).collect();
            learn_labels(&learning, &own, prior, &options, watched)
        };
        let fits: Vec<(LearntShapes, FoundMode)> =
            positives.par_iter().map(one).collect::<Result<_>>()?;
        let termination = fits[0].1.found.termination;
        let total: usize = fits.iter().map(|f| f.0.shapes.len()).sum();
        let beyond = fits.iter().filter_map(|f| f.0.beyond).reduce(f64::max);
        let mut shapes = Vec::with_capacity(total);
        let mut parts = Vec::new();
        for (k, (LearntShapes { shapes: own, .. }, mut fit)) in fits.into_iter().enumerate() {
            let (first, count) = (shapes.len(), own.len());
            // The column of ones comes after the kernels of all classes.
            let place = |j: usize| if j < count { first + j } else { total };
            fit.found.active.iter_mut().for_each(|j| *j = place(*j));
            shapes.extend(own);
            parts.push(Part { fit, outputs: vec![k] });
        }
        let learnt = inputs.learnt(shapes);
        let fixed = FixedBasis::Learnt(learnt.clone());
        let columns = fixed.columns(*data.features(), 0, observer)?;
        let shared =
            shared(common, data, (&zeros, weights, (0.0, 0.0)), &fixed, &*columns, observer)?;
        let shared = Shared { weight, dropped: inputs.dropped.clone(), ..shared };
        let mut inverse_lengths: Vec<f64> = (0..total).map(|k| learnt.factor(k)).collect();
        inverse_lengths.resize(shared.usable.len(), 1.0);
        let parts = Parts {
            method: "AdaptiveRVC",
            settings: without_basis(common, &self.0, &[]),
            parts,
            outputs: positives.len(),
            classes,
            inverse_lengths,
        };
        let mut model = parts.model(common, &shared)?;
        note_ends(&mut model, beyond, learning.rows.different(), self.0.variant);
        if constant {
            model.report.notes = vec![NO_INPUT_VARIES.into()];
        } else if total == 0 {
            model.report.termination = termination;
            model.report.notes = vec![format!(
                "no term is kept: no kernel tells enough of the classes to raise the evidence with \
                 {} rows",
                number(weight)
            )];
        }
        // By the class in which a feature matters most.
        let mut relevances = vec![0.0; d];
        for output in 0..positives.len() {
            let weights: Vec<f64> = model.terms.iter().map(|t| t.weights[output]).collect();
            let own = inputs.relevances(&learnt, &weights, &learning.rows);
            relevances.iter_mut().zip(own).for_each(|(r, o)| *r = f64::max(*r, o));
        }
        model.report.relevances = relevances;
        Ok(model)
    }
}
