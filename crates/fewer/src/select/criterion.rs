//! Criteria that judge a model by the data it was fitted on.

use super::{Predicted, Score};
use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::model::Model;
use serde_json::Value;

/// A criterion that needs no folds: the smaller the better.
///
/// With n the sum of the weights and k the number of weights that are not zero, intercepts
/// included, numbers have n log(rss/n) and classes −2 Σ log p, to which are added
///
/// | name | penalty |
/// |---|---|
/// | `aic` | 2k |
/// | `bic` | k log n |
/// | `ebic` | k log n + 2γ log C(p, k), here without intercepts: for many columns p |
///
/// `evidence` is −log evidence, without what a prior asks for (its normaliser would depend on the
/// basis): it chooses widths of kernels for the methods that maximise it, and no λ, for without its
/// prior the smallest always wins. Counting terms suits priors that make weights zero: with others
/// ([`keeps_every_term`]) it is refused.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Criterion {
    /// Akaike's.
    Aic,
    /// Schwarz's.
    Bic,
    /// The extended BIC of Chen & Chen (2008) with this γ; 1 by name.
    Ebic(f64),
    /// The negative log evidence.
    Evidence,
}

impl Criterion {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Criterion::Aic => "aic",
            Criterion::Bic => "bic",
            Criterion::Ebic(_) => "ebic",
            Criterion::Evidence => "evidence",
        }
    }

    /// The criterion of this name, if it is one.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "aic" => Some(Criterion::Aic),
            "bic" => Some(Criterion::Bic),
            "ebic" => Some(Criterion::Ebic(1.0)),
            "evidence" => Some(Criterion::Evidence),
            _ => None,
        }
    }

    /// The value for a model and the data it was fitted on.
    ///
    /// ```
    /// use fewer::data::{Dataset, DenseView};
    /// use fewer::method::SparseRegressor;
    /// use fewer::select::Criterion;
    /// let x: Vec<f64> = (0..40).map(f64::from).collect();
    /// let y: Vec<f64> = x.iter().map(|x| 3.0 * x + (7.0 * x).sin()).collect();
    /// let data = Dataset::new(DenseView::by_rows(&x, 40, 1)?, &y)?;
    /// let model = SparseRegressor::new().fit(&data)?;
    /// let (aic, bic) =
    ///     (Criterion::Aic.of(&model, &data)?, Criterion::Bic.of(&model, &data)?);
    /// // Two weights: the slope and the intercept.
    /// assert!((bic - aic - 2.0 * (40f64.ln() - 2.0)).abs() < 1e-9);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn of(self, model: &Model, data: &Dataset<'_>) -> Result<f64> {
        if self == Criterion::Evidence {
            let settings = model.settings();
            let free = settings.get("lam").is_some_and(|lam| lam.is_null());
            if free && settings.get("lam_rule") == Some(&"active".into()) {
                return Err(Error::Unavailable {
                    what: format!("choosing by the evidence of {}", model.method()),
                    hint: "the λ of lam_rule = active maximises no objective, so that evidences \
                           do not compare; choose by \"cv\", give lam, or set lam_rule to \
                           hyperprior"
                        .into(),
                });
            }
            return model.report().log_evidence.map(|e| -e).ok_or_else(|| Error::Unavailable {
                what: format!("the evidence of {}", model.method()),
                hint: "the method does not compute it; choose by \"cv\" or \"bic\" instead".into(),
            });
        }
        if keeps_every_term(model.method(), model.settings()) {
            return Err(Error::Unavailable {
                what: format!("choosing by {}", self.name()),
                hint: "it counts terms, and these settings keep all of them whatever λ is: choose \
                       by \"cv\""
                    .into(),
            });
        }
        let predicted =
            Predicted::with_offset(model, *data.features(), data.target(), data.offset())?;
        let n = data.weights().map_or(data.rows() as f64, |w| w.iter().sum());
        let misfit = match data.target() {
            Target::Numbers(y) => {
                let mse = Score::Mse.of(data.target(), &predicted, data.weights())?;
                // An exact fit would be infinitely good.
                let size = y.iter().fold(0.0, |a: f64, y| a.max(y.abs()));
                let floor = (f64::EPSILON * size).powi(2).max(f64::MIN_POSITIVE);
                n * mse.max(floor).ln()
            }
            Target::Labels { .. } => {
                n * Score::Deviance.of(data.target(), &predicted, data.weights())?
            }
        };
        let kept: usize =
            model.terms().iter().map(|t| t.weights.iter().filter(|w| **w != 0.0).count()).sum();
        let outputs = model.outputs();
        let without_intercept = model.settings().get("fit_intercept") == Some(&false.into());
        let k = (kept + if without_intercept { 0 } else { outputs }) as f64;
        Ok(misfit
            + match self {
                Criterion::Aic => 2.0 * k,
                Criterion::Ebic(gamma) => {
                    k * n.ln() + 2.0 * gamma * log_choices(model.basis_size() * outputs, kept)
                }
                _ => k * n.ln(),
            })
    }
}

/// Whether these settings of a method make no weight zero, whatever λ is.
///
/// ```
/// use fewer::select::keeps_every_term;
/// use serde_json::json;
/// assert!(keeps_every_term("lasso", &json!({"l1_ratio": 0.0})));
/// assert!(!keeps_every_term("lasso", &json!({})));
/// ```
pub fn keeps_every_term(method: &str, settings: &Value) -> bool {
    matches!(method, "RMLR" | "rmlr")
        || settings.get("l1_ratio").and_then(Value::as_f64) == Some(0.0)
        || settings.get("prior").and_then(Value::as_str) == Some("gaussian")
}

/// log of the number of ways to choose k of p.
fn log_choices(p: usize, k: usize) -> f64 {
    let log_factorial = |m: usize| libm::lgamma(m as f64 + 1.0);
    log_factorial(p) - log_factorial(k) - log_factorial(p.saturating_sub(k))
}
