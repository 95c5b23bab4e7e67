//! Bounds on the error that a classifier will make (Krishnapuram et al. 2005, section 4).
//!
//! The weights are spread about those fitted, each by a Laplacian of rate η, and the Kullback-Leibler
//! divergence of this posterior from the prior says how much was learnt from the data. Two theorems
//! turn it and the errors on the training rows into bounds that hold with probability 1 − δ for new
//! rows of the same source; [`Model::risk_bound`](crate::model::Model::risk_bound) applies them
//! to two classes, and [`Model::one_vs_rest_bound`](crate::model::Model::one_vs_rest_bound) to each
//! of more against the rest.
//!
//! ```
//! use fewer::bound::{best_rate, laplacian_divergence, pac_bayes};
//! let (weights, lam) = ([2.0, -1.0], 1.5);
//! let kl: f64 =
//!     weights.iter().map(|&w| laplacian_divergence(w, best_rate(w, lam), lam)).sum();
//! let bound = pac_bayes(0.1, kl, 500, 0.05);
//! assert!(bound > 0.1 && bound < 0.2);
//! ```

mod divergence;
mod gibbs;
mod model;
mod one_vs_rest;
mod theorems;

pub use divergence::{
    bernoulli_divergence, bernoulli_inverse, best_rate, laplacian_divergence,
    smallest_laplacian_divergence,
};
pub use gibbs::{GibbsError, exact_error, gaussian_error};
pub use model::{Bound, BoundOptions, RiskBound};
pub use one_vs_rest::{ClassBound, OneVsRestBound};
pub use theorems::{Rademacher, margin_loss, pac_bayes, rademacher};
