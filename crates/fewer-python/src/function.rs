//! The user's own functions of x, written in Python.

use crate::run::{Call, Message};
use fewer::basis::BlockFunction;
use fewer::data::DenseView;
use fewer::linalg::Matrix;
use fewer::{Error, Result};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A handle on a callable that takes an (n, d) array and returns an (n, k) one.
#[derive(Debug, Clone)]
pub struct Function(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    callable: Py<PyAny>,
    name: String,
    terms: Vec<String>,
    /// What the callable raised, to be raised again where the core returns.
    raised: Mutex<Option<PyErr>>,
    /// While a fit is running: to the thread that called it, which is where calls are made.
    caller: Mutex<Option<Sender<Message>>>,
}

impl Function {
    pub fn new(callable: Py<PyAny>, name: String, terms: Vec<String>) -> Self {
        let (raised, caller) = (Mutex::new(None), Mutex::new(None));
        Self(Arc::new(Inner { callable, name, terms, raised, caller }))
    }

    pub fn callable(&self) -> &Py<PyAny> {
        &self.0.callable
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn set_caller(&self, caller: Option<Sender<Message>>) {
        *lock(&self.0.caller) = caller;
    }

    pub fn take_raised(&self) -> Option<PyErr> {
        lock(&self.0.raised).take()
    }

    fn failed(&self, problem: String) -> Error {
        Error::Function { name: self.0.name.clone(), problem }
    }

    /// Calls the callable with rows laid end to end.
    pub fn call(&self, py: Python<'_>, values: Vec<f64>, rows: usize) -> Result<Matrix> {
        let columns = values.len().checked_div(rows).unwrap_or(0);
        let called = || -> PyResult<PyReadonlyArrayDyn<'_, f64>> {
            let block = PyArray1::from_vec(py, values).reshape([rows, columns])?;
            let result = self.0.callable.call1(py, (block,))?;
            let result = py.import("numpy")?.call_method1("asarray", (result, "float64"))?;
            result.extract()
        };
        let result = match called() {
            Ok(result) => result,
            Err(raised) => {
                let problem = raised.to_string();
                *lock(&self.0.raised) = Some(raised);
                return Err(self.failed(problem));
            }
        };
        let width = match result.shape() {
            [n] if *n == rows => 1,
            [n, width] if *n == rows => *width,
            shape => {
                return Err(self.failed(format!(
                    "expected an array of {rows} rows and {} columns for {rows} rows, found the \
                     shape {shape:?}",
                    self.0.terms.len()
                )));
            }
        };
        // Column after column, whatever the order of the result.
        let data: Vec<f64> = result.as_array().t().iter().copied().collect();
        Ok(Matrix::from_columns(rows, width, data))
    }
}

impl BlockFunction for Function {
    fn name(&self) -> String {
        self.0.name.clone()
    }

    fn term_names(&self, _columns: usize) -> Result<Vec<String>> {
        Ok(self.0.terms.clone())
    }

    fn evaluate(&self, x: DenseView<'_>) -> Result<Matrix> {
        let (rows, columns) = (x.rows(), x.columns());
        let values: Vec<f64> =
            (0..rows).flat_map(|i| (0..columns).map(move |j| x.get(i, j))).collect();
        let caller = lock(&self.0.caller).clone();
        let Some(caller) = caller else {
            return Python::attach(|py| self.call(py, values, rows));
        };
        let (reply, answer) = channel();
        let call = Call { function: self.clone(), values, rows, reply };
        caller.send(Message::Call(call)).map_err(|_| Error::Interrupted)?;
        answer.recv().map_err(|_| Error::Interrupted)?
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
