//! Sparse multinomial logistic regression (Krishnapuram et al. 2005).

use super::classes::ClassWeight;
use super::common::{BasisKind, Common};
use super::multinomial::{Parameterization, Settings, Solver, Start, multinomial_builder};
use super::penalised::Lams;
use super::settings::{Intercept, merge_settings, parse_settings};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::Dataset;
use crate::engine::coordinate::Schedule;
use crate::engine::{Observer, Silent};
use crate::error::{Error, Result};
use crate::model::Model;
use serde_json::Value;

/// Sparse multinomial logistic regression: classes by few terms, certified.
///
/// Minimises −Σ log p(y) + λ‖W‖₁, in which p is the softmax of one linear function for each class
/// but the last, the reference (Krishnapuram 2005, eqs 1 and 12); sums over rows are weighted
/// sums. Every fit ends with a duality gap relative to the empty model's objective.
/// [`RMLR`](super::RMLR) is the same with the square of W for a penalty.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `lam` | – | λ |
/// | `lam_ratio` | 0.05 | λ as a part of λ_max, the smallest λ with an empty model |
/// | `l1_ratio` | 1 | ρ of the elastic net, λ(ρ‖W‖₁ + (1 − ρ)‖W‖²/2) |
/// | `penalty_factors` | 1 | a factor on λ for each column; 0: no penalty |
/// | `parameterization` | `reference` | `symmetric`: every class has weights, as in glmnet |
/// | `solver` | `auto` | `bound` or `componentwise`: the paper's ways to the same optimum |
/// | `schedule` | `geometric` | `gain`: the component-wise solver's best steps first |
/// | `uncertainty` | false | standard errors, intervals and moderated probabilities |
/// | `class_weight` | – | `"balanced"`, or a weight for each class |
/// | `basis`, `degree`, `gamma`, `coef0` | `linear`, 2, `scale`, 1 | see [`BasisKind`] |
/// | `candidates`, `landmarks`, `centres` | – | centres of kernels |
/// | `standardize` | true | the penalty applies to columns of unit variance |
/// | `fit_intercept` | true | `true` (free), `false` or `"penalised"` |
/// | `max_terms` | – | keep at most so many terms, columns that have a weight in any class |
/// | `tol` | 1e-8 | bound on the relative duality gap |
/// | `max_iter`, `max_time` | 10 000, – | limits (passes over the columns, seconds) |
/// | `memory_limit`, `random_state`, `n_jobs` | 4e9, 0, all | see the other methods |
///
/// With `max_terms` the terms with the least Σβ²Σwx² go, a fifth at a time, and the others are
/// fitted again. Where it is at most 10 the last five to go are those without which the objective
/// is lowest, and then terms are exchanged for the columns that gain most in their place, as long
/// as the objective falls. The same is done from terms taken in one by one, and the better is
/// kept: mostly the best so many, but with no proof.
///
/// With `uncertainty` the model has a [`Posterior`](crate::model::Posterior): Laplace's
/// approximation, a Gaussian about the fit whose covariance is the inverse of the second
/// derivatives of the objective in the weights kept and the free intercepts. The L1 penalty is
/// linear as long as no sign changes, so it shifts the weights but has no part in these; what was
/// left out is taken to be zero. It is the uncertainty given the terms and their signs, and says
/// nothing of that of choosing them. Models of a path have none.
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
#[derive(Debug, Clone, Default)]
pub struct SMLR(Settings);

const LAM_RATIO: f64 = 0.05;

multinomial_builder!(SMLR, LAM_RATIO);

impl SMLR {
    /// The method with the settings of a model and its λ, but for weights of its classes that are
    /// given one by one.
    pub(crate) fn of(model: &Model) -> Result<Self> {
        let known = merge_settings(&Common::default(), &Settings::default());
        let mut settings = model.settings().as_object().cloned().unwrap_or_default();
        let balanced = settings.get("class_weight").is_some_and(Value::is_string);
        settings.retain(|name, _| {
            let chosen = name.starts_with("lam");
            !chosen && (known.get(name).is_some() || balanced && name == "class_weight")
        });
        let method = Self::from_json(&Value::Object(settings).to_string())?;
        Ok(match model.report().lam {
            Some(lam) => method.lam(lam),
            None => method,
        })
    }
}
