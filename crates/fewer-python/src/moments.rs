//! Sums over rows that come in chunks.

use crate::error::to_python;
use crate::input::{Held, Input, slice};
use crate::model::PyModel;
use crate::run::detached;
use fewer::Error;
use fewer::data::{Features, MomentsBuilder};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// What a Gaussian method with a linear basis needs to know of the data.
#[pyclass(name = "Moments", module = "fewer._core")]
pub struct PyMoments(MomentsBuilder);

#[pymethods]
impl PyMoments {
    #[new]
    fn new(names: Vec<String>) -> Self {
        Self(MomentsBuilder::new(names))
    }

    /// Adds a chunk of rows.
    #[pyo3(signature = (x, y, weights = None))]
    fn push<'py>(
        &mut self,
        py: Python<'py>,
        x: Input<'py>,
        y: PyReadonlyArray1<'py, f64>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<()> {
        let held = x.hold()?;
        let y = slice(&y).map_err(to_python)?;
        let weights = weights.as_ref().map(slice).transpose().map_err(to_python)?;
        detached(py, None, || match &held {
            Held::Borrowed(Features::Dense(view)) => self.0.push(*view, y, weights),
            _ => Err(Error::Unavailable {
                what: "moments of sparse rows or of text".into(),
                hint: "give arrays or data frames of numbers".into(),
            }),
        })
    }

    /// Fits a method chosen by name, with settings as a JSON object.
    fn fit(&self, py: Python<'_>, method: &str, settings: &str) -> PyResult<PyModel> {
        let model = detached(py, None, || {
            fewer::method::fit_moments(method, settings, self.0.clone().finish()?)
        })?;
        Ok(PyModel::new(model, None))
    }
}
