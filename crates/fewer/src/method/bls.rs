//! The Bayesian lasso of type II (Helgøy & Li 2022).

use super::common::{BasisKind, Common, Shared};
use super::evidence::{Evidence, EvidenceSolver, LamRule, Variance, check, rate};
use super::laplacian::{Settings, laplacian_builder};
use super::settings::{Intercept, Variant, merge_settings, parse_settings};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::{Dataset, Moments};
use crate::engine::Observer;
use crate::error::Result;
use crate::model::Model;
use crate::prior::{self, EvidencePrior};
use serde::{Deserialize, Serialize};

/// Sparse linear regression with a Laplace prior whose variances are found by maximising the
/// evidence: the Bayesian lasso of type II.
///
/// Every weight has a variance of its own in units of the noise, w_i ~ N(0, τ_iσ²), and
/// τ_i ~ Exp(λ/2), so that weights are Laplacian given the noise; the weights are integrated out,
/// and log p(y | τ, σ²) − (λ/2)Στ − log σ² is maximised. Most τ_i become zero. Rescaling y rescales
/// the answer and nothing else.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `lam` | by `lam_rule` | λ; 0 is automatic relevance determination |
/// | `lam_rule` | `active` | λ = 2(k − 1)/Στ over the k terms kept, or under a `hyperprior` |
/// | `noise` | estimated | standard deviation of the noise, in the units of y |
/// | `variant` | `exact` | `paper`: λ by the steps of the published algorithm, one action each |
/// | `variance` | `posterior` | `augmented`: deviations of predictions grow away from the data |
/// | `basis`, `degree`, `gamma`, `coef0` | `linear`, 2, `scale`, 1 | see [`BasisKind`] |
/// | `candidates`, `landmarks`, `centres` | – | centres of kernels |
/// | `standardize` | true | λ applies to columns of unit variance (kernels: inputs) |
/// | `fit_intercept` | true | `true` (integrated out), `false` or `"penalised"` |
/// | `max_terms` | – | keep at most so many terms |
/// | `tol` | 1e-8 | gains of the objective below it are left |
/// | `max_iter`, `max_time` | 10 000, – | limits (looks at all candidates, seconds) |
/// | `memory_limit`, `random_state`, `n_jobs` | 4e9, 0, all | see the other methods |
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::BLS;
///
/// let x: Vec<f64> = (0..500).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let noise = |i: usize| 0.1 * ((i * i * i) as f64 * 0.3).sin();
/// let y: Vec<f64> =
///     x.chunks(5).enumerate().map(|(i, x)| 1.0 + 3.0 * x[0] - 2.0 * x[3] + noise(i)).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 5)?, &y)?;
///
/// let model = BLS::new().fit(&data)?;
/// assert!(model.terms().iter().any(|t| t.name == "x1"));
/// assert!(model.report().log_evidence.is_some());
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BLS(Settings);

laplacian_builder!(BLS);

impl BLS {
    fn prior(&self, _shared: &Shared<'_>) -> Result<Box<dyn EvidencePrior>> {
        Ok(Box::new(prior::Bls { rate: rate(self.0.lam, self.0.lam_rule, 1.0) }))
    }
}
