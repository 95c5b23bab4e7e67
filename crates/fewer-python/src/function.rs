//! The user's own functions of x and kernels, written in Python.

use crate::run::{Call, Message};
use fewer::basis::{BlockFunction, KernelFunction, UserFunction};
use fewer::data::DenseView;
use fewer::linalg::Matrix;
use fewer::{Error, Result};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A handle on a callable that takes an (n, d) array and returns an (n, k) one or, as a kernel,
/// takes another (m, d) array and returns an (n, m) one.
#[derive(Debug, Clone)]
pub struct Function(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    callable: Py<PyAny>,
    name: String,
    /// Names of the functions' values; a kernel has none.
    terms: Option<Vec<String>>,
    /// What the callable raised, to be raised again where the core returns.
    raised: Mutex<Option<PyErr>>,
    /// While a fit is running: to the thread that called it, which is where calls are made.
    caller: Mutex<Option<Sender<Message>>>,
}

/// Rows laid end to end.
pub struct Block {
    values: Vec<f64>,
    rows: usize,
}

impl Block {
    fn of(x: DenseView<'_>) -> Self {
        let (rows, columns) = (x.rows(), x.columns());
        let values = (0..rows).flat_map(|i| (0..columns).map(move |j| x.get(i, j))).collect();
        Self { values, rows }
    }

    fn into_array(self, py: Python<'_>) -> PyResult<Bound<'_, PyArray2<f64>>> {
        let columns = self.values.len().checked_div(self.rows).unwrap_or(0);
        PyArray1::from_vec(py, self.values).reshape([self.rows, columns])
    }
}

impl Function {
    pub fn new(callable: Py<PyAny>, name: String, terms: Option<Vec<String>>) -> Self {
        let (raised, caller) = (Mutex::new(None), Mutex::new(None));
        Self(Arc::new(Inner { callable, name, terms, raised, caller }))
    }

    pub fn callable(&self) -> &Py<PyAny> {
        &self.0.callable
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn shared(&self) -> UserFunction {
        match &self.0.terms {
            Some(_) => UserFunction::Functions(Arc::new(self.clone())),
            None => UserFunction::Kernel(Arc::new(self.clone())),
        }
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

    /// Calls the callable with rows and, where it is a kernel, with centres.
    pub fn call(&self, py: Python<'_>, x: Block, centres: Option<Block>) -> Result<Matrix> {
        let rows = x.rows;
        let kernel = centres.as_ref().map(|c| c.rows);
        let called = || -> PyResult<PyReadonlyArrayDyn<'_, f64>> {
            let x = x.into_array(py)?;
            let result = match centres {
                Some(centres) => self.0.callable.call1(py, (x, centres.into_array(py)?))?,
                None => self.0.callable.call1(py, (x,))?,
            };
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
        let width = match (result.shape(), kernel) {
            ([n], None | Some(1)) if *n == rows => 1,
            ([n, width], _) if *n == rows && kernel.is_none_or(|m| m == *width) => *width,
            (shape, Some(m)) => {
                return Err(self.failed(format!(
                    "expected an array of the shape [{rows}, {m}] for {rows} rows and {m} \
                     centres, found the shape {shape:?}"
                )));
            }
            (shape, None) => {
                return Err(self.failed(format!(
                    "expected an array of {rows} rows and {} columns for {rows} rows, found the \
                     shape {shape:?}",
                    self.terms().len()
                )));
            }
        };
        // Column after column, whatever the order of the result.
        let data: Vec<f64> = result.as_array().t().iter().copied().collect();
        Ok(Matrix::from_columns(rows, width, data))
    }

    /// Has the callable called where that is to be done.
    fn request(&self, x: DenseView<'_>, centres: Option<DenseView<'_>>) -> Result<Matrix> {
        let (x, centres) = (Block::of(x), centres.map(Block::of));
        let caller = lock(&self.0.caller).clone();
        let Some(caller) = caller else {
            return Python::attach(|py| self.call(py, x, centres));
        };
        let (reply, answer) = channel();
        let call = Call { function: self.clone(), x, centres, reply };
        caller.send(Message::Call(call)).map_err(|_| Error::Interrupted)?;
        answer.recv().map_err(|_| Error::Interrupted)?
    }

    fn terms(&self) -> &[String] {
        self.0.terms.as_deref().unwrap_or_default()
    }
}

impl BlockFunction for Function {
    fn name(&self) -> String {
        self.0.name.clone()
    }

    fn term_names(&self, _columns: usize) -> Result<Vec<String>> {
        Ok(self.terms().to_vec())
    }

    fn evaluate(&self, x: DenseView<'_>) -> Result<Matrix> {
        self.request(x, None)
    }
}

impl KernelFunction for Function {
    fn name(&self) -> String {
        self.0.name.clone()
    }

    fn evaluate(&self, x: DenseView<'_>, centres: DenseView<'_>) -> Result<Matrix> {
        self.request(x, Some(centres))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
