//! How many fits may run at the same time.

use crate::data::Dataset;
use serde_json::{Map, Value};

/// Bytes that `memory_limit` is by default.
const MEMORY_LIMIT: f64 = 4e9;

/// Fits that fit the memory limit together, at least 1; it changes no result, only when each is
/// computed.
pub(crate) fn fits_at_once(settings: &Map<String, Value>, data: &Dataset<'_>) -> usize {
    let number = |name: &str| settings.get(name).and_then(Value::as_f64);
    let (rows, features) = (data.rows() as f64, data.features().columns() as f64);
    let basis = settings.get("basis").and_then(Value::as_str).unwrap_or("linear");
    let kernel = !matches!(basis, "linear" | "polynomial" | "precomputed" | "functions");
    let columns = if kernel {
        number("candidates").unwrap_or(rows)
    } else if basis == "polynomial" {
        let degree = number("degree").unwrap_or(2.0);
        (1..=degree as usize).fold(1.0, |c, k| c * (features + k as f64) / k as f64)
    } else {
        features
    };
    let order = rows.min(columns);
    let held = if kernel { rows * columns } else { 0.0 };
    // The equations, their factor and a copy.
    let needed = 8.0 * (held + 3.0 * order * order);
    let limit = number("memory_limit").unwrap_or(MEMORY_LIMIT);
    (limit / needed.max(1.0)).max(1.0) as usize
}
