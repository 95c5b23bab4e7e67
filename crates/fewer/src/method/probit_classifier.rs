//! Sparse probit classification by expectation-maximisation (Figueiredo & Jain 2001).

use super::classes::{ClassWeight, check_classes, row_weights};
use super::common::{BasisKind, Output, Shared};
use super::em::{Em, Start, em_builder, empty_outcome};
use super::settings::{Intercept, PriorKind, Variant};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::{Dataset, Label, Target};
use crate::engine::{Observer, Right, check_memory};
use crate::error::{Error, Result};
use crate::likelihood::{Probit, QuadraticBound};
use crate::model::{Link, Model};
use crate::prior::ScaleMixture;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Classification that keeps few terms, by expectation-maximisation.
///
/// Minimises −Σ log Φ(±η) + penalty(w), η = Xw, with the penalties and settings of
/// [`SparseRegressor`](super::SparseRegressor); there is no `noise`, and
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `lam_ratio` | 0.005 | λ as a part of λ_max, used when `lam` is not given |
/// | `class_weight` | – | `"balanced"`, or a weight for each class |
///
/// More than two classes are fitted one against the rest, on shared columns and with the same λ;
/// `max_terms` is a limit for each of them, the model holds the union of their terms,
/// probabilities are Φ(η) scaled to sum to 1, and the class of the largest
/// η is predicted.
///
/// EM starts from least squares on ±1 (0/1 with `variant` `paper`) with a tiny ridge. The
/// objective has many local minima with the Jeffreys prior: the answer is the one that EM reaches
/// from there.
///
/// ```
/// use fewer::data::{Dataset, DenseView, Target};
/// use fewer::method::ProbitClassifier;
///
/// let x: Vec<f64> = (0..400).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let labels = x.chunks(4).map(|x| if x[1] + x[3] > 0.0 { "yes" } else { "no" });
/// let target = Target::labels(labels);
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 4)?, target)?;
///
/// let model = ProbitClassifier::new().fit(&data)?;
/// let kept: Vec<&str> = model.terms().iter().map(|t| t.name.as_str()).collect();
/// assert_eq!(kept, ["x2", "x4"]);
/// let new = DenseView::by_rows(&[0.0, 0.9, 0.0, 0.0], 1, 4)?;
/// assert_eq!(model.predict_labels(new)?[0].to_string(), "yes");
/// assert!(model.predict_probabilities(new)?[(0, 1)] > 0.9);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProbitClassifier(Em);

em_builder!(ProbitClassifier);

/// The best on average over the data of `benchmarks/lam_ratio.py`.
const LAM_RATIO: f64 = 0.005;

impl ProbitClassifier {
    /// Weights of the classes, on top of the rows' own.
    pub fn class_weight(mut self, weight: ClassWeight) -> Self {
        self.0.class_weight = Some(weight);
        self
    }

    /// Fits a model while an observer watches.
    pub fn fit_observed(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        self.0.check()?;
        if let Some(noise) = self.0.noise {
            return Err(Error::setting("noise", noise, "a probit has no noise to set"));
        }
        data.check()?;
        let Target::Labels { classes, codes } = data.target() else {
            return Err(Error::Unavailable {
                what: "classification of numbers".into(),
                hint: "ProbitClassifier needs a label for each row; SparseRegressor takes numbers"
                    .into(),
            });
        };
        check_classes(classes, codes, data.weights())?;
        let weights = row_weights(self.0.class_weight.as_ref(), classes, codes, data.weights())?;
        let weights = weights.as_deref().or(data.weights());
        let zeros = vec![0.0; codes.len()];
        self.0.with_rows(data, &zeros, weights, observer, |shared| {
            let positives: Vec<usize> =
                if classes.len() == 2 { vec![1] } else { (0..classes.len()).collect() };
            let outputs: Vec<Vec<f64>> = positives
                .iter()
                .map(|&class| codes.iter().map(|&c| if c == class { 1.0 } else { -1.0 }).collect())
                .collect();
            // One λ for all classes: that of the class with the strongest column.
            let pulls: Vec<Vec<f64>> = outputs
                .iter()
                .map(|signs| self.pull_at_zero(&shared, signs, weights))
                .collect::<Result<_>>()?;
            let strongest: Vec<f64> = (0..shared.scale.len())
                .map(|j| pulls.iter().fold(0.0, |a: f64, p| a.max(p[j].abs())))
                .collect();
            let (lam, prior) = self.0.resolve_prior(&shared, &strongest, 1.0, LAM_RATIO);
            let one = |k: usize| {
                let label = &classes[positives[k]];
                self.one_against_rest(&shared, &outputs[k], weights, &*prior, &pulls[k], label)
            };
            // Each class has equations of its own: at once only where they fit.
            let order = shared.usable.len().min(data.rows());
            let limit = self.0.common.memory_limit as usize / positives.len();
            let at_once = check_memory(order, data.rows(), limit);
            let fitted: Vec<(Output, Vec<String>)> = if at_once.is_ok() {
                (0..positives.len()).into_par_iter().map(one).collect::<Result<_>>()?
            } else {
                (0..positives.len()).map(one).collect::<Result<_>>()?
            };
            let notes = fitted.iter().flat_map(|f| f.1.clone()).collect();
            let fitted: Vec<Output> = fitted.into_iter().map(|f| f.0).collect();
            let model = self.0.model("ProbitClassifier", &shared, fitted, lam, notes)?;
            Ok(Model {
                encoder: data.encoder().cloned(),
                named: data.is_named(),
                classes: Some(classes.clone()),
                link: Link::Probit,
                ..model
            })
        })
    }

    /// The data's pull on every weight where all are zero.
    fn pull_at_zero(
        &self,
        shared: &Shared<'_>,
        signs: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<Vec<f64>> {
        let free = self.0.common.fit_intercept == Intercept::Free;
        let mut likelihood = Probit::new(signs, weights, free);
        let mut data = self.0.least_squares(shared);
        likelihood.update(&mut data, &[], &[])?;
        let products = likelihood.residual_products_of(&data, &shared.usable, &[], &[]);
        let mut pull = vec![0.0; shared.scale.len()];
        shared.usable.iter().zip(&products).for_each(|(&j, &p)| pull[j] = p);
        Ok(pull)
    }

    /// Whether the strongest column alone raises the likelihood by more than the strongest of as
    /// many columns of noise would (score test, with the bound's curvature at zero, 2/π).
    fn has_signal(&self, shared: &Shared<'_>, pull: &[f64]) -> bool {
        let gain = |j: usize| pull[j] * pull[j] / (4.0 / std::f64::consts::PI * shared.squares[j]);
        let limit = (shared.usable.len() as f64).ln() + 2.0;
        shared.strongest(pull).is_some_and(|j| gain(j) > limit)
    }

    fn one_against_rest(
        &self,
        shared: &Shared<'_>,
        signs: &[f64],
        weights: Option<&[f64]>,
        prior: &dyn ScaleMixture,
        pull: &[f64],
        label: &Label,
    ) -> Result<(Output, Vec<String>)> {
        let free = self.0.common.fit_intercept == Intercept::Free;
        let mut likelihood = Probit::new(signs, weights, free);
        let mut data = self.0.least_squares(shared);
        let mut notes = Vec::new();
        if shared.usable.is_empty() {
            likelihood.update(&mut data, &[], &[])?;
            notes.push("no column varies: the model is a constant".to_string());
            let outcome = empty_outcome(likelihood.value());
            return Ok((Output { outcome, intercept: likelihood.intercept() }, notes));
        }
        // Figueiredo & Jain 2001 start from labels 0/1; ±1 does better.
        let labels: Vec<f64> = match self.0.variant {
            Variant::Exact => signs.to_vec(),
            Variant::Paper => signs.iter().map(|s| 0.5 * (s + 1.0)).collect(),
        };
        let design = data.rows_needed()?;
        let products = design.apply_transpose(&shared.usable, &labels);
        let right = Right { products: &products, target: &labels };
        let start = self.0.least_squares_start(&mut data, shared, &shared.usable, right)?;
        let mut outcome = self.0.run(shared, &mut data, &mut likelihood, prior, start)?;
        if outcome.active.is_empty() && self.has_signal(shared, pull) {
            // Least squares spread the weight over columns that say the same, until each had too
            // little to live; the Lasso's terms do not.
            let lasso = Em { prior: PriorKind::Laplace, ..self.0.clone() };
            let (_, laplace) = lasso.resolve_prior(shared, pull, 1.0, LAM_RATIO);
            let start = self.0.least_squares_start(&mut data, shared, &shared.usable, right)?;
            let sparse = lasso.run(shared, &mut data, &mut likelihood, &*laplace, start)?;
            let start = Start { active: sparse.active, beta: sparse.beta, hold_noise_above: None };
            outcome = self.0.run(shared, &mut data, &mut likelihood, prior, start)?;
        }
        self.0.common.note_limits(&outcome, &mut notes);
        if outcome.active.is_empty()
            && notes.is_empty()
            && let Some(j) = shared.strongest(pull)
        {
            notes.push(format!(
                "no term is kept for class '{label}': not even the strongest column, '{}', tells \
                 it apart from the rest under this prior",
                shared.name(j)
            ));
        }
        Ok((Output { outcome, intercept: likelihood.intercept() }, notes))
    }
}
