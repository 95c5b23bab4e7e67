//! What there is to fit, and the folds to judge by.

use crate::error::to_python;
use crate::function::Function;
use crate::input::{Input, Targets, slice};
use crate::run;
use fewer::Result;
use fewer::basis::UserFunction;
use fewer::data::Dataset;
use fewer::engine::Observer;
use fewer::linalg::Matrix;
use fewer::select::CrossValidation;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// Data and what comes with them, as `python/fewer/_base.py` prepares it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Problem<'py> {
    x: Input<'py>,
    y: Targets<'py>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    noise_precision: Option<PyReadonlyArray1<'py, f64>>,
    /// Offsets column after column, and the number of columns.
    offset: Option<(PyReadonlyArray1<'py, f64>, usize)>,
    feature_names: Option<Vec<String>>,
    target_name: Option<String>,
    /// The callable, its name, and names of its values or, for a kernel, nothing.
    function: Option<(Py<PyAny>, String, Option<Vec<String>>)>,
    /// Is called with (iteration, terms, objective, residual) after each iteration, and its
    /// method `selection` with (done, all, best, seconds left) after each fit of many.
    progress: Option<Py<PyAny>>,
}

impl Problem<'_> {
    /// Runs `work` on the data set, with the user's function, which is returned too.
    pub fn run<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce(&Dataset<'_>, Option<UserFunction>, &dyn Observer) -> Result<T> + Send,
    ) -> PyResult<(T, Option<Function>)> {
        let Self { x, y, sample_weight, noise_precision, offset, feature_names, .. } = self;
        let (target_name, function, progress) = (self.target_name, self.function, self.progress);
        let held = x.hold()?;
        let target = y.hold().map_err(to_python)?;
        let weights = sample_weight.as_ref().map(slice).transpose().map_err(to_python)?;
        let precision = noise_precision.as_ref().map(slice).transpose().map_err(to_python)?;
        let offset = offset
            .map(|(values, columns)| {
                let values = slice(&values)?.to_vec();
                Ok(Matrix::from_columns(values.len() / columns.max(1), columns, values))
            })
            .transpose()
            .map_err(to_python)?;
        let function = function.map(|(f, name, terms)| Function::new(f, name, terms));
        let done = run::watched(py, progress, function.as_ref(), |observer| {
            let encoded = held.encode()?;
            let mut data = held.dataset(encoded.as_ref(), target, feature_names)?;
            if let Some(weights) = weights {
                data = data.with_weights(weights)?;
            }
            if let Some(precision) = precision {
                data = data.with_noise_precision(precision)?;
            }
            if let Some(offset) = offset {
                data = data.with_offset(offset)?;
            }
            if let Some(name) = target_name {
                data = data.with_target_name(name);
            }
            work(&data, function.as_ref().map(Function::shared), observer)
        })?;
        Ok((done, function))
    }
}

/// A number of folds, `"loo"`, or (train, test) pairs of rows.
#[derive(FromPyObject)]
pub enum Folds<'py> {
    Count(usize),
    Word(String),
    Pairs(Vec<(PyReadonlyArray1<'py, usize>, PyReadonlyArray1<'py, usize>)>),
}

impl Folds<'_> {
    pub fn hold(&self) -> Result<CrossValidation> {
        Ok(match self {
            Folds::Count(folds) => CrossValidation::new(*folds),
            Folds::Word(word) if word == "loo" => CrossValidation::leave_one_out(),
            Folds::Word(word) => {
                let expected = "a number of folds of at least 2, or \"loo\", is expected";
                return Err(fewer::Error::setting("cv", word, expected));
            }
            Folds::Pairs(pairs) => {
                let rows =
                    |(train, test): &(_, _)| Ok((slice(train)?.to_vec(), slice(test)?.to_vec()));
                CrossValidation::given(pairs.iter().map(rows).collect::<Result<_>>()?)
            }
        })
    }
}
