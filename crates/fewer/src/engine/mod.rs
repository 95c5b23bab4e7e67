//! The loops that fit a problem: each serves every pair of likelihood and prior it can.

pub(crate) mod bohning;
pub(crate) mod coordinate;
pub(crate) mod evidence;
pub(crate) mod gibbs;
mod least_squares;
mod observer;
mod outcome;
mod quasi_newton;
pub(crate) mod reweighted;
mod termination;

pub(crate) use least_squares::{LeastSquares, RidgeOfHighestEvidence, Right, check_memory};
pub(crate) use outcome::Outcome;
pub(crate) use quasi_newton::Minimum;

pub use observer::{Interrupted, Observer, Progress, SelectionProgress, Silent};
pub(crate) use observer::{StopOnly, Until};
pub use outcome::Step;
pub use termination::Termination;
