//! How targets scatter about the model: values, gradients and bounds.

mod gaussian;
mod multinomial;
mod probit;
mod squared_error;
mod student_t;

pub(crate) use gaussian::{Gaussian, Noise};
pub(crate) use multinomial::Multinomial;
pub(crate) use probit::Probit;
pub(crate) use squared_error::SquaredError;
pub(crate) use student_t::StudentT;

use crate::engine::LeastSquares;
use crate::error::Result;
use crate::linalg::Matrix;
use std::ops::Range;

/// A likelihood that a quadratic of constant curvature bounds from above (as −log p):
/// −log p(y | η) ≤ const + (precision/2) Σ w (t − η)², touching at the current η.
///
/// For Gaussian noise t is y itself; for a probit it is E[z | y, η].
pub(crate) trait QuadraticBound {
    /// Moves to new weights on the active columns: everything below is then at these.
    fn update(&mut self, data: &mut LeastSquares<'_>, active: &[usize], beta: &[f64])
    -> Result<()>;

    /// −log p at the current weights.
    fn value(&self) -> f64;

    /// Curvature of the bound.
    fn precision(&self) -> f64;

    /// (k,) Σ w x (t − η) for the active columns.
    fn residual_products(&self) -> &[f64];

    /// (k,) Σ w x t for the active columns.
    fn target_products(&self) -> &[f64];

    /// (n,) t, where there are rows.
    fn target(&self) -> &[f64];

    /// Σ w x (t − η) for any columns.
    fn residual_products_of(
        &self,
        data: &LeastSquares<'_>,
        wanted: &[usize],
        active: &[usize],
        beta: &[f64],
    ) -> Vec<f64>;

    /// Second derivatives of −log p in the active weights, or nothing where they cost too much.
    fn hessian(&self, data: &LeastSquares<'_>, active: &[usize]) -> Result<Option<Matrix>>;

    /// Lets the noise variance follow the residuals, or holds it; true if it was just released.
    fn hold_noise(&mut self, hold: bool) -> bool;

    /// The noise variance, where there is one.
    fn noise_variance(&self) -> Option<f64>;

    /// Σ w (t − η)², where the likelihood is Gaussian with known noise: then −log p is convex and
    /// this gives its dual.
    fn known_noise_residual(&self) -> Option<f64>;

    /// The duality gap relative to the objective of the empty model, where the likelihood is one
    /// that knows it.
    fn gap(&mut self) -> Result<Option<f64>> {
        Ok(None)
    }
}

/// A convex −log p with two derivatives in the linear predictors η, of which each row has
/// `outputs`; sums are over weighted rows.
pub(crate) trait Smooth: Sync {
    /// Linear predictors of a row.
    fn outputs(&self) -> usize;

    /// (n, ≥ outputs) s such that ∂²(−log p)/∂η_a ∂η_b = s_a (δ_ab − s_b), without the rows'
    /// weights; nothing where −log p is a quadratic of unit curvature.
    fn shares(&self) -> Option<&Matrix>;

    /// Moves to new linear predictors, a column for each output.
    fn update(&mut self, eta: &Matrix);

    /// −log p of some of the rows at their η, which become −∂(−log p)/∂η, without the rows'
    /// weights.
    fn of_rows(&self, rows: Range<usize>, eta: &mut Matrix) -> f64;

    /// −log p.
    fn value(&self) -> f64;

    /// (n, outputs) −∂(−log p)/∂η, without the rows' weights: what the model leaves unexplained.
    fn residual(&self) -> &Matrix;

    /// Whether −log p is a quadratic of unit curvature.
    fn is_quadratic(&self) -> bool {
        self.shares().is_none()
    }

    /// (n,) ∂²(−log p)/∂η_a ∂η_b, without the rows' weights.
    fn curvature(&self, a: usize, b: usize) -> Vec<f64> {
        let Some(shares) = self.shares() else { return vec![1.0; self.residual().rows()] };
        let same = f64::from(u8::from(a == b));
        let pairs = shares.column(a).iter().zip(shares.column(b));
        pairs.map(|(p, q)| p * (same - q)).collect()
    }

    /// The dual objective at κ times the residual, without the penalty's part.
    fn dual(&self, kappa: f64) -> f64;

    /// The largest κ looked at, beyond which the dual does not rise or is not known.
    fn best_kappa(&self) -> f64;

    /// The dual objective falls by at least half this times the (weighted) square of the distance
    /// from its maximum.
    fn concavity(&self) -> f64;

    /// Whether −log p stays the same when all outputs of a row change by as much.
    fn is_symmetric(&self) -> bool {
        false
    }

    /// (n, classes) The probabilities of classes, where η are their logarithms up to a constant.
    fn probabilities(&self) -> Option<&Matrix> {
        None
    }
}
