//! Relevance vector classification (Tipping 2001), with the sparsity prior of Tzikas et al. 2009.

use super::classes::{ClassWeight, check_classes, row_weights};
use super::common::{
    BasisKind, Common, Fitted, Output, Shared, Uncertainty, Wanted, common_builder,
};
use super::evidence::{certified, with_kernels};
use super::rvr::{Sparsity, SparsityRule};
use super::settings::{Intercept, merge_settings, parse_settings};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::{Dataset, Label, Target};
use crate::engine::evidence::{FoundMode, Options, Rows, maximise_laplace};
use crate::engine::{Observer, Outcome, StopOnly, Termination};
use crate::error::{Error, Result};
use crate::likelihood::Multinomial;
use crate::linalg::Matrix;
use crate::model::{Link, Model};
use crate::prior::Ard;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Relevance vector classification: few kernels, and probabilities that know what they do not know.
///
/// Every weight has a prior variance of its own, w_i ~ N(0, γ_i), and classes have the logistic (or
/// softmax) probabilities of the weighted kernels; the weights are integrated out by Laplace's
/// approximation, and log p(y | γ) − c·(effective parameters) is maximised. Most γ_i become zero.
/// Nothing is to tune but the kernel's width. A column that does not raise the objective is
/// not added; there are many maxima, and each fit ends at one, with the largest gain that adding any one column would
/// still bring for a certificate.
///
/// Probabilities are averaged over the posterior of the weights
/// ([`Model::moderated_probabilities`]): far from the data they tend to what is known of the
/// classes without x. [`Model::plug_in_probabilities`] has those of the fitted weights.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `multiclass` | `ovr` | more than two classes one against the rest; `multinomial`: jointly |
/// | `sparsity` | `none` | c: a number, `none`, `aic` (1), `bic` (log(n)/2) or `ric` (log n) |
/// | `class_weight` | – | `"balanced"`, or a weight for each class |
/// | `basis`, `degree`, `gamma`, `coef0` | `rbf`, 2, `scale`, 1 | see [`BasisKind`] |
/// | `candidates`, `landmarks`, `centres` | – | centres of kernels |
/// | `standardize` | true | kernels take inputs of unit variance |
/// | `fit_intercept` | true | `true` (integrated out), `false` or `"penalised"` |
/// | `max_terms` | – | keep at most so many terms (one against the rest: for each class) |
/// | `tol` | 1e-8 | gains of log evidence below it are left |
/// | `max_iter`, `max_time` | 10 000, – | limits (looks at all candidates, seconds) |
/// | `memory_limit`, `random_state`, `n_jobs` | 4e9, 0, all | see the other methods |
///
/// ```
/// use fewer::data::{Dataset, DenseView, Target};
/// use fewer::method::RVC;
///
/// let x: Vec<f64> = (0..400).map(|i| 3.0 * ((i * i) as f64 * 0.7).sin()).collect();
/// let wave = |i: usize| ((i * i) as f64 * 0.3).cos();
/// let inside = |(i, x): (usize, &[f64])| x[0] * x[0] + x[1] * x[1] + wave(i) < 6.0;
/// let labels: Vec<bool> = x.chunks(2).enumerate().map(inside).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 200, 2)?, Target::labels(labels))?;
///
/// let model = RVC::new().fit(&data)?;
/// assert!(model.n_terms() < 20);
/// let points = [0.0, 0.0, 300.0, 300.0];
/// let points = DenseView::by_rows(&points, 2, 2)?;
/// assert!(model.predict_probabilities(points)?[(0, 1)] > 0.9);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RVC(Settings);

common_builder!(RVC);

/// What is done about more than two classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Multiclass {
    /// Each class against the rest: as many models of two classes.
    #[default]
    Ovr,
    /// One model of all classes, the last being the reference.
    Multinomial,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    sparsity: Sparsity,
    multiclass: Multiclass,
    #[serde(skip_serializing_if = "Option::is_none")]
    class_weight: Option<ClassWeight>,
    #[serde(skip)]
    common: Common,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sparsity: Sparsity::Rule(SparsityRule::None),
            multiclass: Multiclass::default(),
            class_weight: None,
            common: Common { basis: BasisKind::Rbf, ..Common::default() },
        }
    }
}

/// One fit, and the outputs of the model that its own are.
pub(super) struct Part {
    pub fit: FoundMode,
    pub outputs: Vec<usize>,
}

/// Fits that make one model.
pub(super) struct Parts<'a> {
    pub method: &'static str,
    pub settings: Value,
    pub parts: Vec<Part>,
    pub outputs: usize,
    pub classes: &'a [Label],
    /// (usable,) What weights are multiplied by for columns as they are.
    pub inverse_lengths: Vec<f64>,
}

impl RVC {
    /// Settings from a JSON object with the names of the table above.
    pub fn from_json(settings: &str) -> Result<Self> {
        let (common, own): (Common, Settings) =
            parse_settings(&with_kernels(settings)?, &Settings::default())?;
        Ok(Self(Settings { common, ..own }))
    }

    /// c, the price of an effective parameter.
    pub fn sparsity(mut self, sparsity: Sparsity) -> Self {
        self.0.sparsity = sparsity;
        self
    }

    /// What is done about more than two classes.
    pub fn multiclass(mut self, multiclass: Multiclass) -> Self {
        self.0.multiclass = multiclass;
        self
    }

    /// Weights of the classes, on top of the rows' own.
    pub fn class_weight(mut self, weight: ClassWeight) -> Self {
        self.0.class_weight = Some(weight);
        self
    }

    /// Fits a model while an observer watches.
    pub fn fit_observed(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        self.0.common.check()?;
        self.0.sparsity.check()?;
        data.check()?;
        let Target::Labels { classes, codes } = data.target() else {
            return Err(Error::Unavailable {
                what: "classification of numbers".into(),
                hint: "RVC needs a label for each row; RVR takes numbers".into(),
            });
        };
        check_classes(classes, codes, data.weights())?;
        let class_weight = self.0.class_weight.as_ref();
        let weights = row_weights(class_weight, classes, codes, data.weights())?;
        let weights = weights.as_deref().or(data.weights());
        let zeros = vec![0.0; codes.len()];
        let basis = self.0.common.basis;
        let wanted = Wanted {
            equations: false,
            gram: false,
            without_copies: matches!(basis, BasisKind::Linear | BasisKind::Polynomial),
            distinct: false,
            offset: false,
            on_demand: false,
            plain_target: false,
        };
        self.0.common.with_rows(data, &zeros, weights, wanted, observer, |shared| {
            let joint = self.0.multiclass == Multiclass::Multinomial && classes.len() > 2;
            let parts = if joint {
                let last = classes.len() - 1;
                let likelihood = Multinomial::new(codes, classes.len(), last, weights);
                // On a thread of the pool, from which small products need not be handed over.
                let fit = rayon::scope(|_| self.maximise(&shared, likelihood, shared.observer))?;
                vec![Part { fit, outputs: (0..last).collect() }]
            } else {
                self.against_rest(&shared, codes, classes.len(), weights)?
            };
            let outputs = if classes.len() == 2 { 1 } else { classes.len() };
            let parts = Parts {
                method: "RVC",
                settings: merge_settings(&self.0.common, &self.0),
                parts,
                outputs,
                classes,
                inverse_lengths: inverse_lengths(&shared),
            };
            let model = parts.model(&self.0.common, &shared)?;
            Ok(Model {
                encoder: data.encoder().cloned(),
                named: data.is_named(),
                classes: Some(classes.clone()),
                link: if joint || outputs == 1 { Link::Logit } else { Link::LogitOfEach },
                moderates: true,
                ..model
            })
        })
    }

    /// Each class against the rest; of two classes the second against the first.
    fn against_rest(
        &self,
        shared: &Shared<'_>,
        codes: &[usize],
        classes: usize,
        weights: Option<&[f64]>,
    ) -> Result<Vec<Part>> {
        let positives: Vec<usize> = if classes == 2 { vec![1] } else { (0..classes).collect() };
        let quiet = StopOnly(shared.observer);
        let observer = if classes == 2 { shared.observer } else { &quiet };
        let one = |(k, &class): (usize, &usize)| {
            let own: Vec<usize> = codes.iter().map(|&c| usize::from(c != class)).collect();
            let likelihood = Multinomial::new(&own, 2, 1, weights);
            let fit = self.maximise(shared, likelihood, observer)?;
            Ok(Part { fit, outputs: vec![k] })
        };
        positives.par_iter().enumerate().map(one).collect()
    }

    fn maximise(
        &self,
        shared: &Shared<'_>,
        likelihood: Multinomial<'_>,
        observer: &dyn Observer,
    ) -> Result<FoundMode> {
        let common = &self.0.common;
        let design = shared.design.ok_or_else(|| Error::Unavailable {
            what: "this fit from moments".into(),
            hint: "only Gaussian noise can do without the rows".into(),
        })?;
        let inverse_lengths = inverse_lengths(shared);
        let units = (shared.usable.iter().zip(&inverse_lengths))
            .map(|(&j, f)| (shared.scale[j] * f).powi(2))
            .collect();
        let rows = Rows {
            design,
            usable: &shared.usable,
            inverse_lengths,
            units,
            weight: shared.weight,
            free_intercept: common.fit_intercept == Intercept::Free,
            uncounted: shared.bias().and_then(|b| shared.usable.binary_search(&b).ok()),
        };
        let options = Options {
            tol: common.tol,
            max_iter: common.max_iter,
            max_terms: common.max_terms,
            deadline: shared.deadline,
            worthless: 0.1 * common.tol,
            memory_limit: common.memory_limit as usize,
            ..Options::default()
        };
        let mut prior = Ard { price: self.0.sparsity.price(shared.weight), as_published: false };
        maximise_laplace(&rows, Box::new(likelihood), &mut prior, &options, observer)
    }
}

fn inverse_lengths(shared: &Shared<'_>) -> Vec<f64> {
    shared.usable.iter().map(|&j| shared.squares[j].powf(-0.5)).collect()
}

impl Parts<'_> {
    pub fn model(self, common: &Common, shared: &Shared<'_>) -> Result<Model> {
        let Self { method, settings, parts, outputs, classes, inverse_lengths } = self;
        let m = shared.usable.len();
        let free = common.fit_intercept == Intercept::Free;
        let mut made: Vec<Output> = Vec::new();
        let mut parameters = Vec::new();
        let mut notes = Vec::new();
        let order: usize = parts.iter().map(|p| p.fit.found.covariance.rows()).sum();
        let mut covariance = Matrix::zeros(order, order);
        for Part { fit: FoundMode { found, intercepts }, outputs } in &parts {
            let mut factors: Vec<f64> =
                found.active.iter().map(|&v| inverse_lengths[v % m.max(1)]).collect();
            let start = parameters.len();
            for (local, &output) in outputs.iter().enumerate() {
                let own = || (0..found.active.len()).filter(|&i| found.active[i] / m == local);
                let first = local == 0;
                let outcome = Outcome {
                    active: own().map(|i| shared.usable[found.active[i] % m]).collect(),
                    beta: own().map(|i| found.mean[i] * factors[i]).collect(),
                    // Outputs of one fit share one objective, and one way to it.
                    objective: if first { -found.objective } else { 0.0 },
                    residual: found.gain,
                    gap: None,
                    iterations: found.iterations,
                    termination: found.termination,
                    trace: if first { found.trace.clone() } else { Vec::new() },
                };
                if first {
                    common.note_limits(&outcome, &mut notes);
                }
                if outcome.active.is_empty() && m > 0 && found.termination.is_converged() {
                    let class = if made.is_empty() && parts.len() == 1 && outputs.len() == 1 {
                        String::new()
                    } else {
                        format!(" for class '{}'", classes[output])
                    };
                    notes.push(format!(
                        "no term is kept{class}: no column raises the evidence with {} rows",
                        shared.weight
                    ));
                }
                parameters.extend(outcome.active.iter().map(|&j| (output, Some(j))));
                made.push(Output { outcome, intercept: intercepts[local] });
            }
            if free {
                parameters.extend(outputs.iter().map(|&output| (output, None)));
                factors.extend(vec![1.0; outputs.len()]);
            }
            for b in 0..factors.len() {
                for a in 0..factors.len() {
                    covariance[(start + a, start + b)] =
                        found.covariance[(a, b)] * factors[a] * factors[b];
                }
            }
        }
        if m == 0 {
            notes.push("no column varies: the model is a constant".to_string());
        }
        // The reference class of a joint model.
        while made.len() < outputs {
            let outcome = Outcome {
                active: Vec::new(),
                beta: Vec::new(),
                objective: 0.0,
                trace: Vec::new(),
                ..made[0].outcome.clone()
            };
            made.push(Output { outcome, intercept: 0.0 });
        }
        let fitted = Fitted {
            method,
            settings,
            outputs: made,
            lam: None,
            notes,
            factor: 1.0,
            shift: 0.0,
            uncertainty: Some(Uncertainty { parameters, covariance }),
        };
        let model = common.model(shared, fitted)?;
        let gain = parts.iter().fold(0.0, |a: f64, p| a.max(p.fit.found.gain));
        let aligned = parts.iter().map(|p| p.fit.found.aligned).max().unwrap_or(0);
        let mut model = certified(model, gain, aligned);
        let evidence = parts.iter().map(|p| p.fit.found.log_evidence).sum();
        model.report.log_evidence = Some(evidence);
        if m == 0 {
            model.report.termination = Termination::Degenerate;
        }
        Ok(model)
    }
}
