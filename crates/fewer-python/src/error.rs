//! Errors of the core as Python exceptions.

use fewer::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use std::any::Any;

/// What the user did wrong is a `ValueError`, what the machine cannot do a `MemoryError`.
pub fn to_python(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Memory { .. } => PyMemoryError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::Empty { .. }
        | Error::Value { .. }
        | Error::Shape { .. }
        | Error::Setting { .. }
        | Error::Columns { .. }
        | Error::Category { .. }
        | Error::ModelFile { .. }
        | Error::Function { .. }
        | Error::Unavailable { .. } => PyValueError::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}

/// A panic is a defect of the library, and is said to be one.
pub fn from_panic(payload: &(dyn Any + Send)) -> PyErr {
    let said = payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into());
    PyRuntimeError::new_err(format!(
        "a defect in fewer {}: {said}. Please report it, with the data and settings if you can",
        env!("CARGO_PKG_VERSION")
    ))
}
