//! How a fit went and ended.

use crate::engine::{Step, Termination};
use crate::select::{Selection, Tried};
use serde::{Deserialize, Serialize};

/// What a certificate measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CertificateKind {
    /// No model has an objective lower by more than this part of ‖y‖²/2σ² (y about its mean where
    /// the intercept is free), the empty model's.
    DualityGap,
    /// Largest relative violation of the conditions of a stationary point on the support; no
    /// claim of global optimality is made.
    Stationarity,
    /// The largest gain of log evidence (less what the prior asks for) that adding one more column
    /// would bring; no claim of global optimality is made.
    Evidence,
    /// The largest split-R̂ of all numbers that were sampled, less 1: chains that agree have one
    /// near 0. The scope tells the smallest effective number of draws.
    Sampling,
}

/// Evidence that a fit is what it claims to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// What is measured.
    pub kind: CertificateKind,
    /// The smaller the better; at most `tol` for a converged fit that is not the `paper` variant.
    pub value: f64,
    /// What it covers: `all` columns, the `kept terms` (with `max_terms`), or the `support`.
    pub scope: String,
}

/// A column that took no part in the fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DroppedColumn {
    /// Its name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// A row of the training data that is far from the model for its noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SuspectedRow {
    /// The row, from 0.
    pub row: usize,
    /// The precision of its noise, relative to that of an ordinary row.
    pub weight: f64,
}

/// How a fit went and ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub termination: Termination,
    /// Iterations done.
    pub iterations: usize,
    /// The objective that was minimised, in the units of the data.
    pub objective: f64,
    /// Evidence that it is what it claims to be.
    pub certificate: Certificate,
    /// λ in force, where the prior has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lam: Option<f64>,
    /// Log evidence, where the method computes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_evidence: Option<f64>,
    /// How settings were chosen, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The methods that were tried, where the method itself was chosen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// Rows it was fitted on.
    pub rows: usize,
    /// Whether these had [offsets](crate::data::Dataset::with_offset), which new rows need, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub offset: bool,
    /// Whether the classes are told apart without error and nothing holds the weights, which then
    /// grow without end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub separable: bool,
    /// By how much the fit changes with each feature alone, where the method says so: the root of
    /// half the mean square difference when a row takes the feature of another row. Of a linear
    /// function it is the slope times the deviation of the feature.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relevances: Vec<f64>,
    /// Columns that took no part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedColumn>,
    /// With noise of heavy tails: rows that are more than four deviations off, those of the
    /// Gaussian with its quartiles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspected: Vec<SuspectedRow>,
    /// With noise of heavy tails: the expected precision of each row, relative to 1. It is not in
    /// model files.
    #[serde(skip)]
    pub row_weights: Vec<f64>,
    /// What the user should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The objective after each iteration; of a long fit about 1000 of them, and none where
    /// classes are fitted one by one. A search for a better maximum begins by leaving the one that
    /// was found, so that it is not monotone there.
    #[serde(default)]
    pub trace: Vec<Step>,
}
