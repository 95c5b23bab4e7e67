//! Checks settings before any data are looked at, and says which one is wrong.

use crate::error::to_python;
use fewer::Error;
use fewer::data::{Dataset, DenseView};
use fewer::engine::Silent;
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;
use serde_json::{Map, Value};

/// Raises a `ValueError` that names the setting.
pub fn check(method: &str, settings: &str) -> PyResult<()> {
    match problem(method, settings) {
        None => Ok(()),
        Some(error @ Error::Setting { name: "settings", .. }) => {
            let given = serde_json::from_str::<Map<String, Value>>(settings).unwrap_or_default();
            for (name, value) in given {
                let shown = value.to_string();
                let alone = Value::Object(Map::from_iter([(name.clone(), value)])).to_string();
                if let Some(Error::Setting { name: "settings", expected, .. }) =
                    problem(method, &alone)
                {
                    let message = format!("{name} = {shown}: {}", readable(&expected));
                    return Err(PyValueError::new_err(message));
                }
            }
            Err(to_python(error))
        }
        Some(error) => Err(to_python(error)),
    }
}

/// What the core says about the settings; it reads them before it finds that there are no data.
fn problem(method: &str, settings: &str) -> Option<Error> {
    let none = Dataset::new(DenseView::by_rows::<f64>(&[], 0, 1).ok()?, &[]).ok()?;
    let error = fewer::method::fit(method, settings, None, &none, &Silent).err()?;
    matches!(error, Error::Setting { .. }).then_some(error)
}

/// The message of the JSON reader in the words of the other messages.
fn readable(message: &str) -> String {
    let message = message.strip_prefix("cannot be understood: ").unwrap_or(message);
    let message = message.split(" at line ").next().unwrap_or(message);
    if message.contains("untagged enum") {
        return "this value is not understood".into();
    }
    let Some((_, expected)) = message.split_once("expected ") else { return message.into() };
    let expected = match expected {
        "f64" => "a number",
        "usize" => "a whole number of at least 0",
        other => other,
    };
    format!("expected {}", expected.replace('`', "\""))
}
