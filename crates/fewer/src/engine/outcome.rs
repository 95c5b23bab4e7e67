//! What a loop ends with.

use super::Termination;
use serde::{Deserialize, Serialize};

/// The objective and the number of terms after an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The objective, in the user's units.
    pub objective: f64,
    /// Terms in the model.
    pub terms: usize,
}

/// Where the loop ended.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    /// Terms of the model, as columns of the design, rising.
    pub active: Vec<usize>,
    /// Their weights.
    pub beta: Vec<f64>,
    pub objective: f64,
    /// Largest relative violation of stationarity on the support.
    pub residual: f64,
    /// Duality gap relative to the objective of the empty model, where the problem is convex.
    pub gap: Option<f64>,
    pub iterations: usize,
    pub termination: Termination,
    pub trace: Vec<Step>,
}
