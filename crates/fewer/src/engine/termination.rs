//! How a fit ended.

use serde::{Deserialize, Serialize};

/// How a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Termination {
    /// The certificate is within the tolerance.
    Converged,
    /// `max_iter` was reached first.
    IterationLimit,
    /// `max_time` was reached first.
    TimeLimit,
    /// Rounding allowed nothing better.
    Stalled,
    /// There was nothing to iterate on: no varying column, or a constant target.
    Degenerate,
}

impl Termination {
    /// Whether a limit on its steps or time ended the fit.
    pub fn is_cut_short(self) -> bool {
        matches!(self, Termination::IterationLimit | Termination::TimeLimit)
    }

    /// Whether the fit ended as it should.
    pub fn is_converged(self) -> bool {
        matches!(self, Termination::Converged | Termination::Degenerate)
    }
}

impl std::fmt::Display for Termination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Termination::Converged => "converged",
            Termination::IterationLimit => "iteration_limit",
            Termination::TimeLimit => "time_limit",
            Termination::Stalled => "stalled",
            Termination::Degenerate => "degenerate",
        })
    }
}
