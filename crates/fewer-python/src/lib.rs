//! `fewer._core`: the library for Python. Conversions only; the mathematics is in the crate
//! `fewer`.

mod error;
mod function;
mod input;
mod model;
mod moments;
mod problem;
mod run;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use super::*;
    use crate::input::{Input, slice};
    use crate::problem::{Folds, Problem};
    use fewer::Error;
    use fewer::basis::{Basis, Centres, FixedBasis, Gamma, KernelForm, KernelSettings};
    use fewer::select::{self, Score, Search, StabilityOptions};
    use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
    use pyo3::types::PyDict;

    #[pymodule_export]
    use super::model::PyModel;
    #[pymodule_export]
    use super::moments::PyMoments;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        run::settle();
        Ok(())
    }

    /// Fits a method chosen by name, with settings as a JSON object; `folds` are those that choose
    /// settings.
    #[pyfunction]
    #[pyo3(signature = (method, settings, problem, folds = None))]
    fn fit<'py>(
        py: Python<'py>,
        method: &str,
        settings: &str,
        problem: Problem<'py>,
        folds: Option<Folds<'py>>,
    ) -> PyResult<PyModel> {
        let folds = folds.map(|f| f.hold()).transpose().map_err(error::to_python)?;
        let (model, function) = problem.run(py, |data, functions, observer| match folds {
            None => fewer::method::fit(method, settings, functions, data, observer),
            Some(folds) => {
                let search = Search::new(method, settings)?.functions(functions);
                search.folds(folds).fit(data, observer)
            }
        })?;
        Ok(PyModel::new(model, function))
    }

    /// The λ's of a path.
    #[pyfunction]
    fn path_lams<'py>(
        py: Python<'py>,
        method: &str,
        settings: &str,
        problem: Problem<'py>,
        count: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (lams, _) = problem.run(py, |data, functions, observer| {
            fewer::method::path_lams(method, settings, functions, data, count, observer)
        })?;
        Ok(PyArray1::from_vec(py, lams))
    }

    /// Fits a method for each λ.
    #[pyfunction]
    fn fit_path<'py>(
        py: Python<'py>,
        method: &str,
        settings: &str,
        problem: Problem<'py>,
        lams: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let lams = slice(&lams).map_err(error::to_python)?;
        let (models, _) = problem.run(py, |data, functions, observer| {
            fewer::method::fit_path(method, settings, functions, data, lams, observer)
        })?;
        model::path_to_dict(py, &models)
    }

    /// Judges a method in the folds, by the scores named or by all: what was found as JSON, then
    /// mean predictions, probabilities of classes, and positions of the classes predicted.
    #[pyfunction]
    fn evaluate<'py>(
        py: Python<'py>,
        method: &str,
        settings: &str,
        problem: Problem<'py>,
        folds: Folds<'py>,
        scores: Vec<String>,
    ) -> PyResult<model::Evaluated<'py>> {
        let folds = folds.hold().map_err(error::to_python)?;
        let scores = scores.iter().map(|s| s.parse()).collect::<fewer::Result<Vec<Score>>>();
        let scores = scores.map_err(error::to_python)?;
        let (evaluation, _) = problem.run(py, |data, functions, observer| {
            select::evaluate(method, settings, functions, data, &folds, &scores, observer)
        })?;
        model::evaluation_to_python(py, evaluation)
    }

    /// Counts how often a method keeps each term in fits to halves of the rows: JSON.
    #[pyfunction]
    #[pyo3(signature = (method, settings, problem, subsamples, threshold, max_false, lams, seed))]
    fn stability<'py>(
        py: Python<'py>,
        method: &str,
        settings: &str,
        problem: Problem<'py>,
        subsamples: usize,
        threshold: f64,
        max_false: Option<f64>,
        lams: Vec<f64>,
        seed: u64,
    ) -> PyResult<String> {
        let options = StabilityOptions { subsamples, threshold, max_false, lams, seed };
        let (found, _) = problem.run(py, |data, functions, observer| {
            select::stability(method, settings, functions, data, &options, observer)
        })?;
        Ok(serde_json::to_string(&found).unwrap_or_default())
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
