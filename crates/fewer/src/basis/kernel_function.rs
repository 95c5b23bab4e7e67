//! The user's own kernel k(x, c).

use crate::data::DenseView;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A kernel k(x, c) of a block of rows and a block of centres. For one of two rows see
/// [`RowKernel`].
///
/// It is centred like the kernels that are built in: on the distinct training rows of positive
/// weight, on landmarks among them, or on given centres. Where a method standardises, rows and
/// centres come standardised: the training mean taken off, divided by the standard deviation, an
/// input that is constant in training 0. Rows of a sparse matrix come dense, a block at a time.
pub trait KernelFunction: Send + Sync + std::fmt::Debug {
    /// The name under which a model file remembers the kernel, and which its terms carry.
    fn name(&self) -> String;

    /// The values: a row for each row of `x`, a column for each row of `centres`. Each may depend
    /// on its row and its centre only.
    fn evaluate(&self, x: DenseView<'_>, centres: DenseView<'_>) -> Result<Matrix>;
}

type TwoRows = Arc<dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync>;

/// A kernel given as a function of one row and one centre.
///
/// ```
/// use fewer::basis::RowKernel;
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::SparseRegressor;
///
/// // Bumps of width 1/2 about every training row.
/// let bump = RowKernel::new("bump", |x, c| {
///     let distance = x.iter().zip(c).map(|(x, c)| (x - c).abs()).sum::<f64>();
///     (1.0 - 2.0 * distance).max(0.0)
/// });
/// let x: Vec<f64> = (0..100).map(|i| 0.1 * i as f64).collect();
/// let y: Vec<f64> = x.iter().map(|x| 3.0 * (1.0 - 2.0 * (x - 2.0).abs()).max(0.0)).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 1)?, &y)?;
/// let model = SparseRegressor::new().kernel_function(bump).standardize(false).fit(&data)?;
/// assert_eq!(model.terms()[0].name, "bump(x, row 21)");
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Clone)]
pub struct RowKernel {
    name: String,
    function: TwoRows,
}

impl RowKernel {
    /// A kernel with the name that a model file remembers.
    pub fn new(
        name: impl Into<String>,
        function: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), function: Arc::new(function) }
    }
}

impl std::fmt::Debug for RowKernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowKernel").field("name", &self.name).finish_non_exhaustive()
    }
}

impl KernelFunction for RowKernel {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn evaluate(&self, x: DenseView<'_>, centres: DenseView<'_>) -> Result<Matrix> {
        let rows = |of: DenseView<'_>| -> Vec<Vec<f64>> {
            let row = |i| (0..of.columns()).map(|j| of.get(i, j)).collect();
            (0..of.rows()).map(row).collect()
        };
        let (x, centres) = (rows(x), rows(centres));
        let mut out = Matrix::zeros(x.len(), centres.len());
        out.as_mut_slice().par_chunks_mut(x.len().max(1)).zip(&centres).for_each(|(out, c)| {
            out.iter_mut().zip(&x).for_each(|(o, x)| *o = (self.function)(x, c));
        });
        Ok(out)
    }
}

/// The user's kernel as a model holds it: its name, and the function unless it was loaded and
/// not yet supplied.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct UserKernel {
    name: String,
    function: Option<Arc<dyn KernelFunction>>,
}

impl From<Arc<dyn KernelFunction>> for UserKernel {
    fn from(function: Arc<dyn KernelFunction>) -> Self {
        Self { name: function.name(), function: Some(function) }
    }
}

impl From<String> for UserKernel {
    fn from(name: String) -> Self {
        Self { name, function: None }
    }
}

impl From<UserKernel> for String {
    fn from(kernel: UserKernel) -> Self {
        kernel.name
    }
}

impl UserKernel {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn missing(&self) -> Option<&str> {
        self.function.is_none().then_some(self.name.as_str())
    }

    pub(super) fn supply(&mut self, function: Arc<dyn KernelFunction>) -> Result<()> {
        if function.name() != self.name {
            return Err(Error::Function {
                name: function.name(),
                problem: format!("the model was fitted with the kernel '{}'", self.name),
            });
        }
        self.function = Some(function);
        Ok(())
    }

    pub(super) fn failed(&self, problem: String) -> Error {
        Error::Function { name: self.name.clone(), problem }
    }

    pub(super) fn evaluate(&self, x: DenseView<'_>, centres: DenseView<'_>) -> Result<Matrix> {
        let Some(function) = &self.function else {
            return Err(self.failed("supply it before the model is used".into()));
        };
        let values = function.evaluate(x, centres)?;
        if (values.rows(), values.columns()) != (x.rows(), centres.rows()) {
            return Err(self.failed(format!(
                "expected {}×{} values for {} rows and {} centres, found {}×{}",
                x.rows(),
                centres.rows(),
                x.rows(),
                centres.rows(),
                values.rows(),
                values.columns()
            )));
        }
        Ok(values)
    }
}
