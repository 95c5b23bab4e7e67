//! Ridge multinomial logistic regression (Krishnapuram et al. 2005).

use super::classes::ClassWeight;
use super::common::{BasisKind, Common};
use super::multinomial::{Parameterization, Settings, Solver, Start, multinomial_builder};
use super::penalised::Lams;
use super::settings::{Intercept, parse_settings};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::Dataset;
use crate::engine::coordinate::Schedule;
use crate::engine::{Observer, Silent};
use crate::error::{Error, Result};
use crate::model::Model;

/// Ridge multinomial logistic regression: all terms, shrunk, certified.
///
/// Minimises −Σ log p(y) + (λ/2)‖W‖² (Krishnapuram 2005, eq. 9): [`SMLR`](super::SMLR), with its
/// settings, but for
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `l1_ratio` | 0 | ρ of the elastic net, λ(ρ‖W‖₁ + (1 − ρ)‖W‖²/2) |
/// | `lam_ratio` | 0.01 | λ as a part of the largest Σx² of a column, which stands for λ_max |
///
/// ```
/// use fewer::data::{Dataset, DenseView, Target};
/// use fewer::method::RMLR;
///
/// let x: Vec<f64> = (0..600).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let class = |x: &[f64]| if x[0] + 0.3 * x[2] > 0.4 { "high" } else { "low" };
/// let labels: Vec<&str> = x.chunks(6).map(class).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 6)?, Target::labels(labels))?;
/// let model = RMLR::new().fit(&data)?;
/// assert_eq!(model.n_terms(), 6);
/// assert!(model.report().certificate.value < 1e-8);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RMLR(Settings);

const LAM_RATIO: f64 = 0.01;

impl Default for RMLR {
    fn default() -> Self {
        Self(Settings { l1_ratio: 0.0, ..Settings::default() })
    }
}

multinomial_builder!(RMLR, LAM_RATIO);
