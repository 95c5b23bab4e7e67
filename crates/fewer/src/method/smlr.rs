//! Sparse multinomial logistic regression (Krishnapuram et al. 2005).

use super::classes::{ClassWeight, check_classes, row_weights};
use super::common::{BasisKind, Common, Fitted, Output, Shared, common_builder};
use super::em::empty_outcome;
use super::penalised::{
    Laid, Lams, WANTED, check_penalty, for_each_lam, penalised_builder, penalty_factors,
};
use super::settings::{Intercept, merge_settings, parse_settings};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::{Dataset, Target};
use crate::engine::coordinate::{Coordinate, Options};
use crate::engine::{Observer, Outcome, Silent};
use crate::error::{Error, Result};
use crate::likelihood::{Multinomial, Smooth};
use crate::model::{Link, Model};
use serde::{Deserialize, Serialize};

/// Sparse multinomial logistic regression: classes by few terms, certified.
///
/// Minimises −Σ log p(y) + λ‖W‖₁, in which p is the softmax of one linear function for each class
/// but the last, the reference (Krishnapuram 2005, eqs 1 and 12); sums over rows are weighted
/// sums. `l1_ratio` 0 gives ridge multinomial logistic regression (RMLR),
/// −Σ log p(y) + (λ/2)‖W‖². Every fit ends with a duality gap relative to the empty model's
/// objective.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `lam` | – | λ |
/// | `lam_ratio` | 0.05 | λ as a part of λ_max, the smallest λ with an empty model |
/// | `l1_ratio` | 1 | ρ of the elastic net, λ(ρ‖W‖₁ + (1 − ρ)‖W‖²/2) |
/// | `penalty_factors` | 1 | a factor on λ for each column; 0: no penalty |
/// | `class_weight` | – | `"balanced"`, or a weight for each class |
/// | `basis`, `degree`, `gamma`, `coef0` | `linear`, 2, `scale`, 1 | see [`BasisKind`] |
/// | `candidates`, `landmarks`, `centres` | – | centres of kernels |
/// | `standardize` | true | the penalty applies to columns of unit variance |
/// | `fit_intercept` | true | `true` (free), `false` or `"penalised"` |
/// | `tol` | 1e-8 | bound on the relative duality gap |
/// | `max_iter`, `max_time` | 10 000, – | limits (passes over the columns, seconds) |
/// | `memory_limit`, `random_state`, `n_jobs` | 4e9, 0, all | see the other methods |
///
/// ```
/// use fewer::data::{Dataset, DenseView, Target};
/// use fewer::method::SMLR;
///
/// let x: Vec<f64> = (0..600).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let class = |x: &[f64]| if x[0] + 0.3 * x[2] > 0.4 { "high" } else { "low" };
/// let labels: Vec<&str> = x.chunks(6).map(class).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 6)?, Target::labels(labels))?;
/// let model = SMLR::new().lam_ratio(0.3).fit(&data)?;
/// assert_eq!(model.terms()[0].name, "x1");
/// assert!(model.report().certificate.value < 1e-8);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SMLR(Settings);

common_builder!(SMLR);
penalised_builder!(SMLR, LAM_RATIO);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    lam: Option<f64>,
    lam_ratio: Option<f64>,
    l1_ratio: f64,
    penalty_factors: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class_weight: Option<ClassWeight>,
    #[serde(skip)]
    common: Common,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lam: None,
            lam_ratio: None,
            l1_ratio: 1.0,
            penalty_factors: None,
            class_weight: None,
            common: Common::default(),
        }
    }
}

const LAM_RATIO: f64 = 0.05;

impl SMLR {
    /// Weights of the classes, on top of the rows' own.
    pub fn class_weight(mut self, weight: ClassWeight) -> Self {
        self.0.class_weight = Some(weight);
        self
    }

    fn fit_each(
        &self,
        data: &Dataset<'_>,
        lams: Lams,
        observer: &dyn Observer,
    ) -> Result<Vec<Model>> {
        self.0.common.check()?;
        let factors = self.0.penalty_factors.as_deref();
        check_penalty(self.0.lam, self.0.lam_ratio, self.0.l1_ratio, factors)?;
        lams.check()?;
        if let Some(terms) = self.0.common.max_terms {
            return Err(Error::setting("max_terms", terms, "SMLR has λ for that: raise it"));
        }
        data.check()?;
        let Target::Labels { classes, codes } = data.target() else {
            return Err(Error::Unavailable {
                what: "classification of numbers".into(),
                hint: "SMLR needs a label for each row; Lasso takes numbers".into(),
            });
        };
        check_classes(classes, codes, data.weights())?;
        let weights = row_weights(self.0.class_weight.as_ref(), classes, codes, data.weights())?;
        let weights = weights.as_deref().or(data.weights());
        let zeros = vec![0.0; codes.len()];
        self.0.common.with_rows(data, &zeros, weights, WANTED, observer, |shared| {
            let likelihood = Multinomial::new(codes, classes.len(), weights);
            let models = self.solve(&shared, likelihood, lams)?;
            let finish = |model| Model {
                encoder: data.encoder().cloned(),
                named: data.is_named(),
                classes: Some(classes.clone()),
                link: Link::Logit,
                ..model
            };
            Ok(models.into_iter().map(finish).collect())
        })
    }

    fn solve(
        &self,
        shared: &Shared<'_>,
        likelihood: Multinomial<'_>,
        lams: Lams,
    ) -> Result<Vec<Model>> {
        let design = shared.design.ok_or_else(|| Error::Unavailable {
            what: "this fit from moments".into(),
            hint: "only Gaussian noise can do without the rows".into(),
        })?;
        let outputs = likelihood.outputs();
        let mut engine = Coordinate::new(
            design,
            Box::new(likelihood),
            &shared.squares,
            None,
            &shared.usable,
            self.0.common.memory_limit as usize,
            shared.observer,
        );
        if self.0.common.fit_intercept == Intercept::Free {
            engine = engine.with_intercepts()?;
        }
        let factors = penalty_factors(self.0.penalty_factors.as_deref(), shared)?;
        let laid = Laid::new(&factors, self.0.l1_ratio, false, shared);
        let options = Options {
            tol: self.0.common.tol,
            max_iter: self.0.common.max_iter,
            deadline: shared.deadline,
        };
        if laid.has_free(&shared.usable) {
            engine.run(&laid.wall(outputs), &options)?;
        }
        let largest = laid.lam_max(engine.pulls()?, &shared.squares, &shared.usable);
        let lams = lams.values(largest, shared);
        for_each_lam(&lams, |lam| {
            let outcome = if shared.usable.is_empty() {
                empty_outcome(engine.value())
            } else {
                engine.run(&laid.at(lam, outputs), &options)?
            };
            let mut notes = Vec::new();
            self.0.common.note_limits(&outcome, &mut notes);
            if shared.usable.is_empty() {
                notes.push("no column varies: the model is a constant".to_string());
            } else if outcome.active.is_empty() && notes.is_empty() {
                notes.push(format!(
                    "no term is kept: λ = {lam:.4e} is not below λ_max = {largest:.4e}"
                ));
            }
            let intercepts = engine.intercepts().map_or(vec![0.0; outputs], <[f64]>::to_vec);
            let fitted = Fitted {
                method: "SMLR",
                settings: merge_settings(&self.0.common, &self.0),
                outputs: by_class(&outcome, &intercepts, shared.scale.len()),
                lam: Some(lam),
                notes,
                factor: 1.0,
                shift: 0.0,
                uncertainty: None,
            };
            self.0.common.model(shared, fitted)
        })
    }
}

/// The outcome of each class; of two classes that of the second, as the other classifiers do.
fn by_class(outcome: &Outcome, intercepts: &[f64], columns: usize) -> Vec<Output> {
    let two = intercepts.len() == 1;
    // Two classes have one function, that of the first against the second: turn it round.
    let sign = if two { -1.0 } else { 1.0 };
    let of_class = |c: usize| {
        let own = || outcome.active.iter().zip(&outcome.beta).filter(|(v, _)| **v / columns == c);
        Output {
            outcome: Outcome {
                active: own().map(|(v, _)| v % columns).collect(),
                beta: own().map(|(_, b)| sign * b).collect(),
                // The classes share one objective.
                objective: if c == 0 { outcome.objective } else { 0.0 },
                ..outcome.clone()
            },
            intercept: sign * intercepts.get(c).copied().unwrap_or(0.0),
        }
    };
    (0..if two { 1 } else { intercepts.len() + 1 }).map(of_class).collect()
}
