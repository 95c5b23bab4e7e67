//! How many fits may run at the same time.

use crate::data::Dataset;
use crate::method::uses_kernels;
use serde_json::{Map, Value};

/// Bytes that `memory_limit` is by default.
const MEMORY_LIMIT: f64 = 4e9;

/// The settings with the basis that the method has unless they say otherwise.
pub(crate) fn with_usual_basis(method: &str, settings: &Map<String, Value>) -> Map<String, Value> {
    let mut settings = settings.clone();
    if uses_kernels(method) {
        settings.entry("basis").or_insert_with(|| "rbf".into());
    }
    settings
}

/// Fits that fit the memory limit together, at least 1; it changes no result, only when each is
/// computed.
pub(crate) fn fits_at_once(settings: &Map<String, Value>, data: &Dataset<'_>) -> usize {
    let number = |name: &str| settings.get(name).and_then(Value::as_f64);
    let (rows, features) = (data.rows() as f64, data.features().columns() as f64);
    let (basis, kernel) = basis_of(settings);
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
    (limit(settings) / needed.max(1.0)).max(1.0) as usize
}

/// From so many features on, distances cost more than the rest of a kernel.
const WORTH_SHARING: usize = 20;

/// Whether so many matrices of the distances between all rows take a small part of the memory, and
/// are worth it.
pub(crate) fn cache_fits(settings: &Map<String, Value>, data: &Dataset<'_>, count: usize) -> bool {
    let rows = data.rows() as f64;
    basis_of(settings).1
        && data.features().columns() >= WORTH_SHARING
        && 8.0 * rows * rows * count as f64 <= limit(settings) / 4.0
}

fn limit(settings: &Map<String, Value>) -> f64 {
    settings.get("memory_limit").and_then(Value::as_f64).unwrap_or(MEMORY_LIMIT)
}

/// The basis, and whether it has kernels.
fn basis_of(settings: &Map<String, Value>) -> (&str, bool) {
    let basis = settings.get("basis").and_then(Value::as_str).unwrap_or("linear");
    (basis, !matches!(basis, "linear" | "polynomial" | "precomputed" | "functions"))
}
