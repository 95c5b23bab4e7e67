//! A fitted model as a Python object.

use crate::error::to_python;
use crate::function::Function;
use crate::input::{Class, Held, Input, Targets, slice};
use crate::run::{detached, watched};
use fewer::Result;
use fewer::basis::Family;
use fewer::bound::BoundOptions;
use fewer::data::{DenseView, Features};
use fewer::linalg::Matrix;
use fewer::model::Model;
use fewer::select::{Evaluation, Predicted};
use numpy::npyffi::NPY_ORDER;
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
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

/// Name, weights, effects.
type ExplainedTerm = (String, Vec<f64>, Vec<f64>);

/// Family, centre and width of a term, or the name of a feature.
type ExplainedKernel = (&'static str, Option<Vec<f64>>, Option<Vec<f64>>, Option<String>);

/// γ where there is one, rows of the centres, centres.
type KernelParts<'py> = (Option<f64>, Bound<'py, PyArray1<usize>>, Bound<'py, PyArray2<f64>>);

/// Families, centres, widths.
type LearntParts<'py> = (Vec<&'static str>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>);

/// Of weights and of intercepts.
type StandardErrors<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

fn family_name(family: Family) -> &'static str {
    match family {
        Family::Rbf => "rbf",
        Family::Laplacian => "laplacian",
        Family::Linear => "linear",
    }
}

impl PyModel {
    pub fn new(model: Model, function: Option<Function>) -> Self {
        Self { model, function }
    }

    /// Gives a model that was read its user's function back.
    fn restore(mut model: Model, functions: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let Some(name) = model.needs_function().map(String::from) else {
            return Ok(Self::new(model, None));
        };
        let given = match functions {
            Some(functions) => functions.get_item(&name)?,
            None => None,
        };
        let Some(callable) = given else {
            return Err(PyValueError::new_err(format!(
                "the model uses your function '{name}', which the file does not hold: load it \
                 with functions={{'{name}': ...}}"
            )));
        };
        // Only the number of its values matters from here on.
        let terms = model.kernel().is_none().then(|| vec![String::new(); model.basis_size()]);
        let function = Function::new(callable.unbind(), name, terms);
        model.supply(function.shared()).map_err(to_python)?;
        Ok(Self::new(model, Some(function)))
    }

    /// Gives `work` the features that the inputs are, or are encoded to.
    fn apply<T: Send>(
        &self,
        py: Python<'_>,
        x: &Input<'_>,
        work: impl FnOnce(Features<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let held = x.hold()?;
        detached(py, self.function.as_ref(), || self.with_features(&held, work))
    }

    fn with_features<T>(
        &self,
        held: &Held<'_>,
        work: impl FnOnce(Features<'_>) -> Result<T>,
    ) -> Result<T> {
        match held {
            Held::Borrowed(features) => work(*features),
            Held::Sparse(matrix) => work(matrix.view().into()),
            Held::Table(table) => {
                let matrix = self.model.encode(table)?;
                let (rows, columns) = (matrix.rows(), matrix.columns());
                work(DenseView::by_columns(matrix.as_slice(), rows, columns)?.into())
            }
        }
    }
}

/// Models of a path: weights of all functions of the basis for each model and output in one array,
/// of which the zeros are never written.
pub fn path_to_dict<'py>(py: Python<'py>, models: &[Model]) -> PyResult<Bound<'py, PyDict>> {
    let columns = models.first().map_or(0, Model::basis_size);
    let outputs = models.first().map_or(0, Model::outputs);
    let coefs = PyArray3::zeros(py, [models.len(), outputs, columns], false);
    let mut names: BTreeMap<usize, &str> = BTreeMap::new();
    {
        let mut rows = coefs.readwrite();
        let values = rows.as_slice_mut()?;
        for (row, model) in models.iter().enumerate() {
            for term in model.terms() {
                for (k, weight) in term.weights.iter().enumerate() {
                    values[(row * outputs + k) * columns + term.index] = *weight;
                }
                names.entry(term.index).or_insert(&term.name);
            }
        }
    }
    let array = |of: fn(&Model) -> f64| PyArray1::from_iter(py, models.iter().map(of));
    let path = PyDict::new(py);
    path.set_item("coefs", coefs)?;
    path.set_item("lams", array(|m| m.report().lam.unwrap_or(f64::NAN)))?;
    let intercepts = models.iter().flat_map(|m| (0..outputs).map(|k| m.intercept_of(k)));
    let intercepts = PyArray1::from_vec(py, intercepts.collect());
    path.set_item("intercepts", intercepts.reshape([models.len(), outputs])?)?;
    path.set_item("gaps", array(|m| m.report().certificate.value))?;
    let n_terms: Vec<usize> = models.iter().map(Model::n_terms).collect();
    path.set_item("n_terms", PyArray1::from_vec(py, n_terms))?;
    let converged: Vec<bool> =
        models.iter().map(|m| m.report().termination.is_converged()).collect();
    path.set_item("converged", PyArray1::from_vec(py, converged))?;
    let separable: Vec<bool> = models.iter().map(|m| m.report().separable).collect();
    path.set_item("separable", PyArray1::from_vec(py, separable))?;
    let first = models.iter().find(|m| m.report().separable);
    path.set_item("separable_notes", first.map(|m| m.report().notes.join("; ")))?;
    path.set_item("names", names)?;
    Ok(path)
}

/// An evaluation as JSON, mean predictions, probabilities of classes, and classes predicted.
pub type Evaluated<'py> = (
    String,
    Option<Bound<'py, PyArray1<f64>>>,
    Option<Bound<'py, PyArray2<f64>>>,
    Option<Bound<'py, PyArray1<usize>>>,
);

pub fn evaluation_to_python(py: Python<'_>, evaluation: Evaluation) -> PyResult<Evaluated<'_>> {
    let text = serde_json::to_string(&evaluation).unwrap_or_default();
    Ok(match evaluation.predicted {
        Predicted::Numbers { mean, .. } => (text, Some(PyArray1::from_vec(py, mean)), None, None),
        Predicted::Classes { probabilities, codes } => {
            let probabilities = to_array(py, &probabilities)?;
            (text, None, Some(probabilities), Some(PyArray1::from_vec(py, codes)))
        }
    })
}

fn to_array<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shape = [matrix.rows(), matrix.columns()];
    let values = PyArray1::from_slice(py, matrix.as_slice());
    values.reshape_with_order(shape, NPY_ORDER::NPY_FORTRANORDER)
}

#[pymethods]
impl PyModel {
    /// The mean prediction for each row.
    fn predict<'py>(&self, py: Python<'py>, x: Input<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let values = self.apply(py, &x, |features| self.model.predict(features))?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// The outputs for each row.
    fn decision<'py>(&self, py: Python<'py>, x: Input<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = self.apply(py, &x, |features| self.model.decision(features))?;
        to_array(py, &values)
    }

    /// The position of the most probable class for each row.
    fn predict_codes<'py>(
        &self,
        py: Python<'py>,
        x: Input<'py>,
    ) -> PyResult<Bound<'py, PyArray1<usize>>> {
        let codes = self.apply(py, &x, |features| self.model.predict_codes(features))?;
        Ok(PyArray1::from_vec(py, codes))
    }

    /// The probability of each class for each row.
    fn predict_probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Input<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = self.apply(py, &x, |features| self.model.predict_probabilities(features))?;
        to_array(py, &values)
    }

    /// The same for the fitted weights, as if there were no doubt about them.
    fn plug_in_probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Input<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = self.apply(py, &x, |features| self.model.plug_in_probabilities(features))?;
        to_array(py, &values)
    }

    /// The same, averaged over the posterior of the weights.
    fn moderated_probabilities<'py>(
        &self,
        py: Python<'py>,
        x: Input<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = self.apply(py, &x, |features| self.model.moderated_probabilities(features))?;
        to_array(py, &values)
    }

    /// The standard deviation of a new observation for each row, whose noise may have a precision.
    #[pyo3(signature = (x, precision = None))]
    fn predict_std<'py>(
        &self,
        py: Python<'py>,
        x: Input<'py>,
        precision: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let precision = precision.as_ref().map(slice).transpose().map_err(to_python)?;
        let values =
            self.apply(py, &x, |features| self.model.predict_std_at(features, precision))?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// The interval of a new observation for each row: lower and upper ends.
    #[pyo3(signature = (x, coverage, precision = None))]
    fn predict_interval<'py>(
        &self,
        py: Python<'py>,
        x: Input<'py>,
        coverage: f64,
        precision: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let precision = precision.as_ref().map(slice).transpose().map_err(to_python)?;
        let values = self.apply(py, &x, |features| {
            self.model.predict_interval_at(features, coverage, precision)
        })?;
        to_array(py, &values)
    }

    /// Draws from the posterior: weights of the terms (a row for each draw and output, draw after
    /// draw), then intercepts (a row for each draw).
    fn sample_posterior<'py>(
        &self,
        py: Python<'py>,
        draws: usize,
        seed: u64,
    ) -> PyResult<[Bound<'py, PyArray2<f64>>; 2]> {
        let found = self.model.sample_posterior(draws, seed).map_err(to_python)?;
        let (outputs, terms) = (self.model.outputs(), self.model.n_terms());
        let mut weights = Matrix::zeros(draws * outputs, terms);
        let mut intercepts = Matrix::zeros(draws, outputs);
        for (d, draw) in found.iter().enumerate() {
            for o in 0..outputs {
                intercepts[(d, o)] = draw.intercepts[o];
                (0..terms).for_each(|t| weights[(d * outputs + o, t)] = draw.weights[t][o]);
            }
        }
        Ok([to_array(py, &weights)?, to_array(py, &intercepts)?])
    }

    /// Draws of a new observation, or of its mean, for each row: a column for each draw.
    fn sample_y<'py>(
        &self,
        py: Python<'py>,
        x: Input<'py>,
        draws: usize,
        seed: u64,
        noise: bool,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values =
            self.apply(py, &x, |features| self.model.sample_y(features, draws, seed, noise))?;
        to_array(py, &values)
    }

    /// Intervals of the weights of the terms: lower ends, then upper ends, NaN for weights that are
    /// zero; a row for each output.
    fn credible_intervals<'py>(
        &self,
        py: Python<'py>,
        coverage: f64,
    ) -> PyResult<[Bound<'py, PyArray2<f64>>; 2]> {
        let found = self.model.credible_intervals(coverage).map_err(to_python)?;
        let side = |of: fn((f64, f64)) -> f64| {
            let all = found.iter().flatten().map(|w| w.map_or(f64::NAN, of)).collect();
            to_array(py, &Matrix::from_columns(self.model.outputs(), found.len(), all))
        };
        Ok([side(|w| w.0)?, side(|w| w.1)?])
    }

    /// Bounds on the error of new rows, as JSON and in words, then in words those of each class
    /// against the rest; `options` are by name, those left out have their defaults.
    fn risk_bound<'py>(
        &self,
        py: Python<'py>,
        x: Input<'py>,
        y: Targets<'py>,
        delta: f64,
        options: &Bound<'py, PyDict>,
        one_vs_rest: bool,
    ) -> PyResult<(String, Vec<String>)> {
        let mut chosen = BoundOptions::default();
        for (name, value) in options {
            match name.extract::<String>()?.as_str() {
                "gibbs" => {
                    chosen.gibbs = value.extract::<String>()?.parse().map_err(to_python)?;
                }
                "draws" => chosen.draws = value.extract()?,
                "seed" => chosen.seed = value.extract()?,
                "margin" => chosen.margin = value.extract()?,
                "level" => chosen.level = value.extract()?,
                "ratio" => chosen.ratio = value.extract()?,
                "lam" => chosen.lam = Some(value.extract()?),
                other => {
                    return Err(PyValueError::new_err(format!("there is no option '{other}'")));
                }
            }
        }
        let target = y.hold().map_err(to_python)?;
        let held = x.hold()?;
        let found = watched(py, None, self.function.as_ref(), |observer| {
            let model = &self.model;
            let bound = |features: Features<'_>| {
                if one_vs_rest {
                    let found = model
                        .one_vs_rest_bound_watched(features, &target, delta, &chosen, observer)?;
                    let mut texts = vec![found.to_string()];
                    texts.extend(found.each.iter().map(|e| e.bound.to_string()));
                    return Ok((serde_json::to_string(&found), texts));
                }
                let found =
                    model.risk_bound_watched(features, &target, delta, &chosen, observer)?;
                Ok((serde_json::to_string(&found), vec![found.to_string()]))
            };
            self.with_features(&held, bound)
        })?;
        Ok((found.0.map_err(|e| PyValueError::new_err(e.to_string()))?, found.1))
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
        let (kept, offered) = (self.model.n_terms(), self.model.basis_size());
        format!("<{} model: {kept} of {offered} terms>", self.model.method())
    }

    /// An output as one line.
    fn formula(&self, output: usize) -> PyResult<String> {
        if output >= self.model.outputs() {
            return Err(PyValueError::new_err(format!("there is no output {output}")));
        }
        Ok(self.model.formula_of(output))
    }

    /// A table for reading; what each output stands for; and the rows of the table: name, weight
    /// in each output, effect of one standard deviation on each output. Where kernels are learnt
    /// also family, centre and width of each, in the same order.
    fn explain(&self) -> (String, Vec<String>, Vec<ExplainedTerm>, Vec<ExplainedKernel>) {
        let explanation = self.model.explain();
        let text = explanation.to_string();
        let rows = explanation.terms.into_iter().map(|t| {
            let effects = t.weights.iter().map(|w| w * t.deviation).collect();
            (t.name, t.weights, effects)
        });
        let name = |j: usize| self.model.feature_names()[j].clone();
        let learnt = explanation.learnt.into_iter();
        let learnt =
            learnt.map(|f| (family_name(f.family), f.centre, f.width, f.feature.map(name)));
        (text, explanation.outputs, rows.collect(), learnt.collect())
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

    /// Whether the user named them.
    #[getter]
    fn is_named(&self) -> bool {
        self.model.is_named()
    }

    /// Names of the columns of the table it was fitted on, where that had words in it.
    #[getter]
    fn table_names(&self) -> Option<Vec<String>> {
        self.model.encoder().map(|e| e.table_names().map(String::from).collect())
    }

    /// Whether rows must come as a table: some of its columns have words, or gaps to fill.
    #[getter]
    fn needs_table(&self) -> bool {
        self.model.encoder().is_some_and(|e| !e.is_identity())
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

    /// The position of each term among the functions of the basis.
    #[getter]
    fn positions<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<usize>> {
        PyArray1::from_iter(py, self.model.terms().iter().map(|t| t.index))
    }

    /// Weights of the terms: a row for each output.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let terms = self.model.terms();
        let all = terms.iter().flat_map(|t| t.weights.iter().copied()).collect();
        to_array(py, &Matrix::from_columns(self.model.outputs(), terms.len(), all))
    }

    /// The intercept of each output.
    #[getter]
    fn intercepts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let all = (0..self.model.outputs()).map(|k| self.model.intercept_of(k));
        PyArray1::from_vec(py, all.collect())
    }

    /// The classes.
    #[getter]
    fn classes(&self) -> Option<Vec<Class>> {
        self.model.classes().map(|classes| classes.iter().map(Class::of_label).collect())
    }

    /// Where kernels are learnt: family, centre and width of each term; NaN where it has none.
    #[getter]
    fn learnt<'py>(&self, py: Python<'py>) -> PyResult<Option<LearntParts<'py>>> {
        let Some(learnt) = self.model.learnt() else { return Ok(None) };
        let (terms, features) = (self.model.n_terms(), self.model.feature_names().len());
        let family = |k| family_name(learnt.family(k));
        let table = |of: &dyn Fn(usize) -> Option<Vec<f64>>| {
            let rows: Vec<Vec<f64>> =
                (0..terms).map(|k| of(k).unwrap_or_else(|| vec![f64::NAN; features])).collect();
            let all = (0..features).flat_map(|j| rows.iter().map(move |r| r[j])).collect();
            to_array(py, &Matrix::from_columns(terms, features, all))
        };
        let families = (0..terms).map(family).collect();
        Ok(Some((families, table(&|k| learnt.centre(k))?, table(&|k| learnt.width(k))?)))
    }

    /// By how much the fit changes with each feature, where the method says so.
    #[getter]
    fn relevances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.model.report().relevances)
    }

    /// Where the terms are kernels: γ, training rows of the centres, the centres.
    #[getter]
    fn kernel<'py>(&self, py: Python<'py>) -> PyResult<Option<KernelParts<'py>>> {
        let Some(kernel) = self.model.kernel() else { return Ok(None) };
        let rows = kernel.rows();
        let centres = (0..rows.len()).flat_map(|k| kernel.centre(k)).collect();
        let shape = [rows.len(), self.model.feature_names().len()];
        let centres = PyArray1::from_vec(py, centres).reshape(shape)?;
        Ok(Some((kernel.gamma(), PyArray1::from_slice(py, rows), centres)))
    }

    /// Standard deviation of the noise.
    #[getter]
    fn noise_std(&self) -> Option<f64> {
        self.model.noise_std()
    }

    /// Degrees of freedom of the noise, where it is of Student's t.
    #[getter]
    fn noise_nu(&self) -> Option<f64> {
        self.model.noise_nu()
    }

    /// With noise of Student's t: rows (from 0) that are far off for it.
    #[getter]
    fn suspected<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<usize>> {
        PyArray1::from_iter(py, self.model.report().suspected.iter().map(|s| s.row))
    }

    /// With noise of Student's t: the expected precision of each row; empty for a model that was
    /// read from a file.
    #[getter]
    fn row_weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.model.report().row_weights)
    }

    /// The covariance of intercepts and weights, output after output.
    #[getter]
    fn covariance<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.model.covariance().map(|covariance| to_array(py, &covariance)).transpose()
    }

    /// Standard errors of weights (a row for each output) and intercepts, NaN where they are fixed.
    #[getter]
    fn standard_errors<'py>(&self, py: Python<'py>) -> PyResult<Option<StandardErrors<'py>>> {
        if self.model.posterior().is_none() {
            return Ok(None);
        }
        let of_terms = self.model.standard_errors().map_err(to_python)?;
        let all = of_terms.iter().flatten().map(|e| e.unwrap_or(f64::NAN)).collect();
        let weights = Matrix::from_columns(self.model.outputs(), of_terms.len(), all);
        let intercepts = self.model.intercept_errors().map_err(to_python)?.into_iter();
        let intercepts = PyArray1::from_iter(py, intercepts.map(|e| e.unwrap_or(f64::NAN)));
        Ok(Some((to_array(py, &weights)?, intercepts)))
    }

    /// Where the model was sampled: draws of weights (chains, draws, terms), and of intercept, noise
    /// and λ (chains, draws), the last only where it is free.
    #[getter]
    fn draws<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(draws) = self.model.draws() else { return Ok(None) };
        let (chains, length, terms) = (draws.chains(), draws.length(), self.model.n_terms());
        let mut weights = vec![0.0; chains * length * terms];
        for k in 0..terms {
            let own = weights.iter_mut().skip(k).step_by(terms.max(1));
            own.zip(draws.weights(k)).for_each(|(out, w)| *out = *w);
        }
        let found = PyDict::new(py);
        found
            .set_item("coef", PyArray1::from_vec(py, weights).reshape([chains, length, terms])?)?;
        let set = |name: &str, values: Vec<f64>| {
            found.set_item(name, PyArray1::from_vec(py, values).reshape([chains, length])?)
        };
        set("intercept", draws.intercepts(self.model.terms()))?;
        set("noise_std", draws.noise_std().to_vec())?;
        if !draws.lam().is_empty() {
            set("lam", draws.lam().to_vec())?;
        }
        Ok(Some(found))
    }

    /// Where the model was sampled: R̂ and effective draws of bulk and tail, a row for each, of the
    /// weights of the terms, then of the noise, then of λ where it is free.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let Some(draws) = self.model.draws() else { return Ok(None) };
        let mut all: Vec<_> = (0..self.model.n_terms()).map(|k| draws.diagnostic(k)).collect();
        all.push(draws.noise_diagnostic());
        all.extend(draws.lam_diagnostic());
        let values: Vec<f64> = all.iter().flat_map(|d| [d.r_hat, d.bulk, d.tail]).collect();
        to_array(py, &Matrix::from_columns(3, all.len(), values)).map(Some)
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

    /// log p(y) with the weights integrated out, where the method maximises it.
    #[getter]
    fn log_evidence(&self) -> Option<f64> {
        self.model.report().log_evidence
    }

    /// λ in force.
    #[getter]
    fn lam(&self) -> Option<f64> {
        self.model.report().lam
    }

    /// How settings were chosen, as JSON, where they were.
    #[getter]
    fn selection(&self) -> Option<String> {
        let selection = self.model.report().selection.as_ref()?;
        serde_json::to_string(selection).ok()
    }

    /// The methods that were tried, as JSON, where the method was chosen.
    #[getter]
    fn tried(&self) -> Option<String> {
        let tried = &self.model.report().tried;
        if tried.is_empty() { None } else { serde_json::to_string(tried).ok() }
    }

    /// Columns that took no part, with the reasons.
    #[getter]
    fn dropped(&self) -> Vec<(String, String)> {
        let dropped = &self.model.report().dropped;
        dropped.iter().map(|d| (d.name.clone(), d.reason.clone())).collect()
    }

    /// Whether the rows had offsets, which new rows need, too.
    #[getter]
    fn has_offset(&self) -> bool {
        self.model.report().offset
    }

    /// Whether the classes are told apart without error and nothing holds the weights.
    #[getter]
    fn is_separable(&self) -> bool {
        self.model.report().separable
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
