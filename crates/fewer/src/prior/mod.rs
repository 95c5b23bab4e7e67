//! Priors on a weight: one small file each.
//!
//! A prior that is a scale mixture of Gaussians, p(β) = ∫ N(β | 0, τ) p(τ) dτ, acts on the
//! reweighted engine through one number, E[1/τ | β] = −p′(β) / (β p(β)): the precision that a
//! ridge penalty would need to pull at β just as hard (Figueiredo 2003, sec. 3). The evidence
//! engine integrates the weights out and asks for the best variance of each: [`EvidencePrior`]. The
//! Gibbs engine draws the variances: `SampledPrior`.

mod ard;
mod bayesian_lasso;
mod bls;
mod elastic_net;
mod evidence;
mod exponential;
mod fast_laplace;
mod gaussian;
mod jeffreys;
mod laplace;
mod sampled;

pub use ard::Ard;
pub(crate) use bayesian_lasso::{BayesianLasso, GammaOfSquare};
pub use bls::Bls;
pub(crate) use elastic_net::ElasticNet;
pub use evidence::{EvidencePrior, Factors};
pub use exponential::Rate;
pub(crate) use exponential::best_variance as exponential_variance;
pub use fast_laplace::FastLaplace;
pub use gaussian::Gaussian;
pub use jeffreys::Jeffreys;
pub use laplace::Laplace;
pub(crate) use sampled::SampledPrior;

/// A prior that is a scale mixture of Gaussians; everything is even in β, so β ≥ 0 suffices.
pub trait ScaleMixture: Sync + std::fmt::Debug {
    /// E[1/τ | β], for β ≠ 0.
    fn weight(&self, beta: f64) -> f64;

    /// −log p(β), up to a constant.
    fn penalty(&self, beta: f64) -> f64;

    /// Second derivative of the penalty.
    fn curvature(&self, beta: f64) -> f64;

    /// The pull at zero, lim p′ as β → 0⁺: a weight whose pull by the data is below it stays at
    /// zero. `None`: the prior never sets a weight to zero.
    fn pull_at_zero(&self) -> Option<f64>;

    /// What the prior on f·β asks of β: E[1/τ].
    fn scaled_weight(&self, f: f64, beta: f64) -> f64 {
        f * f * self.weight(f * beta)
    }

    /// −log p(f·β).
    fn scaled_penalty(&self, f: f64, beta: f64) -> f64 {
        self.penalty(f * beta)
    }

    /// Second derivative of −log p(f·β) in β.
    fn scaled_curvature(&self, f: f64, beta: f64) -> f64 {
        f * f * self.curvature(f * beta)
    }

    /// The convex conjugate sup_β zβ − penalty(β) where it is finite; `None`: not convex.
    fn conjugate(&self, _z: f64) -> Option<f64> {
        None
    }
}
