//! The user's own functions of x.

use crate::data::{DenseView, Features};
use crate::design::{Columns, DenseColumns};
use crate::error::{Error, Result};
use crate::linalg::{Layout, Matrix, Tile};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Rows handed to a function at a time.
pub(super) const ROWS: usize = 4096;

/// Functions of a block of rows. For functions of one row see [`RowFunctions`].
pub trait BlockFunction: Send + Sync + std::fmt::Debug {
    /// The name under which a model file remembers the functions.
    fn name(&self) -> String;

    /// Names of the functions' values, or their number, learnt from a first block.
    fn term_names(&self, columns: usize) -> Result<Vec<String>>;

    /// The values: as many rows as `x` has, a column for each function.
    fn evaluate(&self, x: DenseView<'_>) -> Result<Matrix>;
}

type RowFunction = Arc<dyn Fn(&[f64]) -> f64 + Send + Sync>;

/// A list of named functions of one row.
///
/// ```
/// use fewer::basis::RowFunctions;
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::SparseRegressor;
///
/// let waves = RowFunctions::new("waves")
///     .with("sin x", |x| x[0].sin())
///     .with("cos x", |x| x[0].cos())
///     .with("x", |x| x[0]);
/// let x: Vec<f64> = (0..100).map(|i| 0.1 * i as f64).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.0 * x.sin() + 1.0).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 1)?, &y)?;
/// let model = SparseRegressor::new().functions(waves).fit(&data)?;
/// assert_eq!(model.formula(), "1 + 2 sin x");
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Clone)]
pub struct RowFunctions {
    name: String,
    functions: Vec<(String, RowFunction)>,
}

impl RowFunctions {
    /// An empty list; the name is what a model file remembers.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), functions: Vec::new() }
    }

    /// Adds a function.
    pub fn with(
        mut self,
        name: impl Into<String>,
        function: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.functions.push((name.into(), Arc::new(function)));
        self
    }
}

impl std::fmt::Debug for RowFunctions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.functions.iter().map(|f| f.0.as_str()).collect();
        f.debug_struct("RowFunctions").field("name", &self.name).field("terms", &names).finish()
    }
}

impl BlockFunction for RowFunctions {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn term_names(&self, _columns: usize) -> Result<Vec<String>> {
        Ok(self.functions.iter().map(|f| f.0.clone()).collect())
    }

    fn evaluate(&self, x: DenseView<'_>) -> Result<Matrix> {
        let mut out = Matrix::zeros(x.rows(), self.functions.len());
        let mut row = vec![0.0; x.columns()];
        for i in 0..x.rows() {
            row.iter_mut().enumerate().for_each(|(j, v)| *v = x.get(i, j));
            for (k, (_, function)) in self.functions.iter().enumerate() {
                out[(i, k)] = function(&row);
            }
        }
        Ok(out)
    }
}

/// The user's functions, some of which a model keeps.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Functions {
    name: String,
    terms: Vec<String>,
    kept: Vec<usize>,
    inputs: usize,
    #[serde(skip)]
    function: Option<Arc<dyn BlockFunction>>,
}

impl Functions {
    pub(super) fn new(function: Arc<dyn BlockFunction>, inputs: usize) -> Result<Self> {
        let terms = function.term_names(inputs)?;
        let kept = (0..terms.len()).collect();
        Ok(Self { name: function.name(), terms, kept, inputs, function: Some(function) })
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    pub(super) fn name(&self, k: usize) -> String {
        self.terms[self.kept[k]].clone()
    }

    pub(super) fn user_name(&self) -> &str {
        &self.name
    }

    pub(super) fn keep(&self, chosen: &[usize]) -> Self {
        Self { kept: chosen.iter().map(|&k| self.kept[k]).collect(), ..self.clone() }
    }

    pub(super) fn all(&self) -> Self {
        Self { kept: (0..self.terms.len()).collect(), ..self.clone() }
    }

    pub(super) fn fits(&self, features: usize) -> bool {
        self.inputs == features && self.kept.iter().all(|&k| k < self.terms.len())
    }

    pub(super) fn missing(&self) -> Option<&str> {
        self.function.is_none().then_some(self.name.as_str())
    }

    pub(super) fn supply(&mut self, function: Arc<dyn BlockFunction>) -> Result<()> {
        let found = function.term_names(self.inputs)?;
        if function.name() != self.name || found.len() != self.terms.len() {
            return Err(Error::Function {
                name: function.name(),
                problem: format!(
                    "the model was fitted with '{}', which has {} values, and this one has {}",
                    self.name,
                    self.terms.len(),
                    found.len()
                ),
            });
        }
        self.function = Some(function);
        Ok(())
    }

    pub(super) fn columns<'a>(&'a self, x: Features<'a>) -> Result<Box<dyn Columns + 'a>> {
        let failed = |problem: String| Error::Function { name: self.name.clone(), problem };
        let Some(function) = &self.function else {
            return Err(failed("supply it before the model is used".into()));
        };
        let inner = super::linear::whole(x);
        let all: Vec<usize> = (0..x.columns()).collect();
        let mut out = Matrix::zeros(x.rows(), self.kept.len());
        let mut tile = Tile::default();
        for start in (0..x.rows()).step_by(ROWS) {
            let rows = start..(start + ROWS).min(x.rows());
            inner.fill(rows.clone(), &all, &mut tile);
            let block = match tile.layout() {
                Layout::Rows => DenseView::by_rows(tile.values(), tile.rows(), tile.columns())?,
                Layout::Columns => {
                    DenseView::by_columns(tile.values(), tile.rows(), tile.columns())?
                }
            };
            let values = function.evaluate(block)?;
            let (expected, found) =
                ((rows.len(), self.terms.len()), (values.rows(), values.columns()));
            if expected != found {
                return Err(failed(format!(
                    "expected {}×{} values, found {}×{}",
                    expected.0, expected.1, found.0, found.1
                )));
            }
            for (k, &term) in self.kept.iter().enumerate() {
                if let Some(i) = values.column(term).iter().position(|v| !v.is_finite()) {
                    return Err(failed(format!(
                        "'{}' is {} at row {}; a finite number is expected",
                        self.terms[term],
                        values[(i, term)],
                        start + i + 1
                    )));
                }
                out.column_mut(k)[rows.clone()].copy_from_slice(values.column(term));
            }
        }
        Ok(Box::new(DenseColumns::Owned(out)))
    }
}
