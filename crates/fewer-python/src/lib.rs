//! `fewer._core`: the library for Python. Conversions only; the mathematics is in the crate
//! `fewer`.

mod error;
mod function;
mod input;
mod model;
mod run;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use super::*;
    use crate::function::Function;
    use crate::input::{Input, Targets, slice};
    use fewer::Error;
    use fewer::basis::{Basis, Centres, FixedBasis, Gamma, KernelForm, KernelSettings};
    use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
    use pyo3::types::PyDict;

    #[pymodule_export]
    use super::model::PyModel;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        run::settle();
        Ok(())
    }

    /// Fits a method chosen by name, with settings as a JSON object.
    ///
    /// `y` are numbers, or (position of each row's class, classes).
    /// `function` is (callable, its name, names of its values or, for a kernel, nothing); `progress` is called with
    /// (iteration, terms, objective, residual) after each iteration.
    #[pyfunction]
    #[pyo3(signature = (method, settings, x, y, *, sample_weight = None, feature_names = None,
                        target_name = None, function = None, progress = None))]
    fn fit<'py>(
        py: Python<'py>,
        method: &str,
        settings: &str,
        x: Input<'py>,
        y: Targets<'py>,
        sample_weight: Option<PyReadonlyArray1<'py, f64>>,
        feature_names: Option<Vec<String>>,
        target_name: Option<String>,
        function: Option<(Py<PyAny>, String, Option<Vec<String>>)>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<PyModel> {
        let held = x.hold()?;
        let target = y.hold().map_err(error::to_python)?;
        let weights = sample_weight.as_ref().map(slice).transpose().map_err(error::to_python)?;
        let function = function.map(|(f, name, terms)| Function::new(f, name, terms));
        let model = run::watched(py, progress, function.as_ref(), |observer| {
            let encoded = held.encode()?;
            let mut data = held.dataset(encoded.as_ref(), target, feature_names)?;
            if let Some(weights) = weights {
                data = data.with_weights(weights)?;
            }
            if let Some(name) = target_name {
                data = data.with_target_name(name);
            }
            let shared = function.as_ref().map(Function::shared);
            fewer::method::fit(method, settings, shared, &data, observer)
        })?;
        Ok(PyModel::new(model, function))
    }

    /// The kernel matrix of rows `x` with the rows of `centres`; `kernel` is its name in settings.
    #[pyfunction]
    fn kernel_matrix<'py>(
        py: Python<'py>,
        x: Input<'py>,
        centres: PyReadonlyArray2<'py, f64>,
        kernel: &str,
        gamma: f64,
        degree: u32,
        coef0: f64,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let form: KernelForm = serde_json::from_value(kernel.into())
            .map_err(|e| error::to_python(Error::setting("kernel", kernel, e.to_string())))?;
        let held = x.hold()?;
        let points: Vec<Vec<f64>> =
            centres.as_array().rows().into_iter().map(|row| row.to_vec()).collect();
        let settings = KernelSettings {
            form,
            gamma: Gamma::Number(gamma),
            degree,
            coef0,
            centres: Centres::Given(points),
            standardize: false,
        };
        let (values, columns) = run::watched(py, None, None, |observer| {
            let data = held.dataset(None, vec![0.0; held.rows()].into(), None)?;
            data.check()?;
            match Basis::Kernel(settings).resolve(&data)? {
                FixedBasis::Kernel(kernel) => {
                    Ok((kernel.matrix(*data.features(), observer)?, kernel.rows().len()))
                }
                _ => Err(Error::setting("kernel", "?", "a kernel is expected")),
            }
        })?;
        let rows = values.len() / columns.max(1);
        PyArray1::from_vec(py, values).reshape([rows, columns])
    }

    /// The inverse of pickling a model.
    #[pyfunction]
    fn _restore(
        py: Python<'_>,
        text: &str,
        functions: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let model = py.get_type::<PyModel>().call_method1("from_json", (text, functions))?;
        Ok(model.unbind())
    }

    /// Panics, to test that no panic gets through.
    #[pyfunction]
    fn _panic(py: Python<'_>) -> PyResult<()> {
        run::detached(py, None, || panic!("on purpose"))
    }
}
