//! Settings that methods share, spelt the same in Rust, Python, the command line and model files.

use crate::error::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The prior on the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorKind {
    /// p(β) ∝ 1/|β|: sparse, with nothing to tune.
    #[default]
    Jeffreys,
    /// p(β) ∝ exp(−λ|β|): the Lasso's.
    Laplace,
    /// p(β) ∝ exp(−λβ²/2): ridge regression's, which keeps every term.
    Gaussian,
}

/// Whether formulas are used as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// The best start, run to a certified stationary point.
    #[default]
    Exact,
    /// The paper's start and stop.
    Paper,
}

/// What is done about the intercept; `true`, `false` or `"penalised"` in Python and files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intercept {
    /// Fitted without penalty.
    #[default]
    Free,
    /// None.
    None,
    /// A column of ones that the prior shrinks like any other: the papers' bias.
    Penalised,
}

impl Serialize for Intercept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Intercept::Free => serializer.serialize_bool(true),
            Intercept::None => serializer.serialize_bool(false),
            Intercept::Penalised => serializer.serialize_str("penalised"),
        }
    }
}

impl<'de> Deserialize<'de> for Intercept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(true) => Ok(Intercept::Free),
            Value::Bool(false) => Ok(Intercept::None),
            Value::String(word) if word == "penalised" => Ok(Intercept::Penalised),
            _ => Err(serde::de::Error::custom("true, false or \"penalised\" is expected")),
        }
    }
}

/// Checks that a number, where it is given, is finite and above zero (or at least zero).
pub(crate) fn check_number(name: &'static str, value: Option<f64>, zero: bool) -> Result<()> {
    match value {
        Some(v) if !(v.is_finite() && (v > 0.0 || zero && v == 0.0)) => Err(Error::setting(
            name,
            v,
            if zero {
                "a number of at least 0 is expected"
            } else {
                "a number above 0 is expected"
            },
        )),
        _ => Ok(()),
    }
}

/// Checks that a count is at least 1.
pub(crate) fn check_count(name: &'static str, value: Option<usize>) -> Result<()> {
    match value {
        Some(0) => Err(Error::setting(name, 0, "a whole number of at least 1 is expected")),
        _ => Ok(()),
    }
}
