//! A fitted model as a Python object.

use crate::error::to_python;
use crate::function::Function;
use crate::input::{Held, Input};
use crate::run::detached;
use fewer::model::Model;
use numpy::PyArray1;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io::Read;
use std::path::PathBuf;

/// A fitted model.
#[pyclass(frozen, name = "Model", module = "fewer._core")]
pub struct PyModel {
    model: Model,
    function: Option<Function>,
}

/// How to restore a model, and from what: the text of its file and the user's function.
type Reduced<'py> = (Bound<'py, PyAny>, (String, Option<Bound<'py, PyDict>>));

impl PyModel {
    pub fn new(model: Model, function: Option<Function>) -> Self {
        Self { model, function }
    }

    /// Gives a model that was read its user's function back.
    fn restore(mut model: Model, functions: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let basis = serde_json::from_str::<serde_json::Value>(&model.to_json().map_err(to_python)?)
            .ok()
            .and_then(|mut file| file.pointer_mut("/model/basis").map(serde_json::Value::take))
            .unwrap_or_default();
        if basis["kind"] != "functions" {
            return Ok(Self::new(model, None));
        }
        let name = basis["name"].as_str().unwrap_or_default();
        let terms = serde_json::from_value(basis["terms"].clone()).unwrap_or_default();
        let given = match functions {
            Some(functions) => functions.get_item(name)?,
            None => None,
        };
        let Some(callable) = given else {
            return Err(PyValueError::new_err(format!(
                "the model uses your function '{name}', which the file does not hold: load it \
                 with functions={{'{name}': ...}}"
            )));
        };
        let function = Function::new(callable.unbind(), name.into(), terms);
        model.supply_function(function.clone()).map_err(to_python)?;
        Ok(Self::new(model, Some(function)))
    }
}

#[pymethods]
impl PyModel {
    /// The mean prediction for each row.
    fn predict<'py>(&self, py: Python<'py>, x: Input<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let held = x.hold()?;
        let values = detached(py, self.function.as_ref(), || match &held {
            Held::Borrowed(features) => self.model.predict(*features),
            Held::Sparse(matrix) => self.model.predict(matrix.view()),
            Held::Table(table) => self.model.predict_table(table),
        })?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// The text of a model file.
    fn to_json(&self) -> PyResult<String> {
        self.model.to_json().map_err(to_python)
    }

    /// Writes a model file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
            std::fs::metadata(folder)
                .map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", folder.display())))?;
        }
        py.detach(|| self.model.save(path)).map_err(|e| PyOSError::new_err(e.to_string()))
    }

    /// Reads a model file.
    #[staticmethod]
    #[pyo3(signature = (path, functions = None))]
    fn load(
        py: Python<'_>,
        path: PathBuf,
        functions: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        std::fs::File::open(&path)
            .and_then(|mut file| file.read(&mut [0]))
            .map_err(|e| std::io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
        Self::restore(detached(py, None, || Model::load(path))?, functions)
    }

    /// Reads the text of a model file.
    #[staticmethod]
    #[pyo3(signature = (text, functions = None))]
    fn from_json(text: &str, functions: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Self::restore(Model::from_json(text).map_err(to_python)?, functions)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let functions = match &self.function {
            Some(function) => {
                let functions = PyDict::new(py);
                functions.set_item(function.name(), function.callable())?;
                Some(functions)
            }
            None => None,
        };
        let restore = py.import("fewer._core")?.getattr("_restore")?;
        Ok((restore, (self.to_json()?, functions)))
    }

    fn __repr__(&self) -> String {
        format!("<{} model: {}>", self.model.method(), self.model.formula())
    }

    /// The model as one line.
    fn formula(&self) -> String {
        self.model.formula()
    }

    /// A table for reading, and its rows: name, weight, effect of one standard deviation.
    fn explain(&self) -> (String, Vec<(String, f64, f64)>) {
        let explanation = self.model.explain();
        let rows = explanation.terms.iter().map(|t| (t.name.clone(), t.weight(), t.effect()));
        (explanation.to_string(), rows.collect())
    }

    /// Name of the method that made the model.
    #[getter]
    fn method(&self) -> &str {
        self.model.method()
    }

    /// The settings it was made with, as JSON.
    #[getter]
    fn settings(&self) -> String {
        self.model.settings().to_string()
    }

    /// Names of the features.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        self.model.feature_names().to_vec()
    }

    /// Names of the columns of the table it was fitted on, where that had words in it.
    #[getter]
    fn table_names(&self) -> Option<Vec<String>> {
        self.model.encoder().map(|e| e.table_names().map(String::from).collect())
    }

    /// Name of the target.
    #[getter]
    fn target_name(&self) -> &str {
        self.model.target_name()
    }

    /// The user's function.
    #[getter]
    fn function<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.function.as_ref().map(|f| f.callable().bind(py).clone())
    }

    /// Names of the terms kept.
    #[getter]
    fn terms(&self) -> Vec<String> {
        self.model.terms().iter().map(|t| t.name.clone()).collect()
    }

    /// Number of functions that the basis offered.
    #[getter]
    fn basis_size(&self) -> usize {
        self.model.basis_size()
    }

    /// Weights of all functions of the basis.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_vec(py, self.model.coefficients())
    }

    /// The intercept.
    #[getter]
    fn intercept(&self) -> f64 {
        self.model.intercept()
    }

    /// Standard deviation of the noise.
    #[getter]
    fn noise_std(&self) -> Option<f64> {
        self.model.noise_std()
    }

    /// How the fit ended.
    #[getter]
    fn termination(&self) -> String {
        self.model.report().termination.to_string()
    }

    /// Whether it ended as it should.
    #[getter]
    fn converged(&self) -> bool {
        self.model.report().termination.is_converged()
    }

    /// Iterations done.
    #[getter]
    fn iterations(&self) -> usize {
        self.model.report().iterations
    }

    /// The objective in the units of the data.
    #[getter]
    fn objective(&self) -> f64 {
        self.model.report().objective
    }

    /// Kind, value and scope.
    #[getter]
    fn certificate(&self) -> (String, f64, String) {
        let certificate = &self.model.report().certificate;
        let kind = serde_json::to_value(certificate.kind).unwrap_or_default();
        (kind.as_str().unwrap_or_default().into(), certificate.value, certificate.scope.clone())
    }

    /// λ in force.
    #[getter]
    fn lam(&self) -> Option<f64> {
        self.model.report().lam
    }

    /// Columns that took no part, with the reasons.
    #[getter]
    fn dropped(&self) -> Vec<(String, String)> {
        let dropped = &self.model.report().dropped;
        dropped.iter().map(|d| (d.name.clone(), d.reason.clone())).collect()
    }

    /// What the user should know.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.model.report().notes.clone()
    }

    /// The objective after each iteration.
    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.model.report().trace.iter().map(|s| s.objective))
    }
}
