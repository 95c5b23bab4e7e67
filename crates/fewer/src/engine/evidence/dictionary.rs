//! Where the engine takes its columns from: rows of a design, or products that are known already.
//!
//! Inside, every column has unit length: the evidence of weights that each have a variance of
//! their own does not depend on it, and precisions of well-scaled columns are comparable.

use crate::design::Design;
use crate::error::Result;
use crate::linalg::{Matrix, cross_products};
use std::sync::Arc;

/// Columns of unit length to choose from.
pub(crate) trait Dictionary: Sync {
    /// Number of columns.
    fn len(&self) -> usize;

    /// (len, chosen) Products of all columns with some.
    fn products(&self, chosen: &[usize]) -> Result<Matrix>;

    /// (chosen, chosen) Products among some columns.
    fn gram(&self, chosen: &[usize]) -> Matrix;
}

/// Columns of a design.
pub(crate) struct FromRows<'a> {
    pub design: &'a Design<'a>,
    /// Columns of the design that take part.
    pub usable: &'a [usize],
    /// (usable,) One over their lengths.
    pub inverse_lengths: Vec<f64>,
}

impl FromRows<'_> {
    fn columns(&self, chosen: &[usize]) -> Matrix {
        let columns: Vec<usize> = chosen.iter().map(|&k| self.usable[k]).collect();
        let mut out = self.design.copy(&columns);
        for (c, &k) in chosen.iter().enumerate() {
            out.column_mut(c).iter_mut().for_each(|v| *v *= self.inverse_lengths[k]);
        }
        out
    }
}

impl Dictionary for FromRows<'_> {
    fn len(&self) -> usize {
        self.usable.len()
    }

    fn products(&self, chosen: &[usize]) -> Result<Matrix> {
        let mut out = self.design.apply_transpose_each(self.usable, &self.columns(chosen));
        for c in 0..chosen.len() {
            let column = out.column_mut(c).iter_mut().zip(&self.inverse_lengths);
            column.for_each(|(v, f)| *v *= f);
        }
        Ok(out)
    }

    fn gram(&self, chosen: &[usize]) -> Matrix {
        let mut columns = self.columns(chosen);
        if let Some(w) = self.design.weights() {
            for c in 0..chosen.len() {
                columns.column_mut(c).iter_mut().zip(w).for_each(|(v, w)| *v *= w.sqrt());
            }
        }
        cross_products(columns.rows(), columns.as_slice(), columns.as_slice())
    }
}

/// Columns of which only the products are known.
pub(crate) struct FromGram<'a> {
    pub gram: Arc<Matrix>,
    /// Columns that take part.
    pub usable: &'a [usize],
    /// (usable,) One over their lengths.
    pub inverse_lengths: Vec<f64>,
}

impl FromGram<'_> {
    fn product(&self, a: usize, b: usize) -> f64 {
        let scale = self.inverse_lengths[a] * self.inverse_lengths[b];
        self.gram[(self.usable[a], self.usable[b])] * scale
    }

    fn block(&self, rows: &[usize], columns: &[usize]) -> Matrix {
        let values = columns.iter().flat_map(|&b| rows.iter().map(move |&a| self.product(a, b)));
        Matrix::from_columns(rows.len(), columns.len(), values.collect())
    }
}

impl Dictionary for FromGram<'_> {
    fn len(&self) -> usize {
        self.usable.len()
    }

    fn products(&self, chosen: &[usize]) -> Result<Matrix> {
        let all: Vec<usize> = (0..self.len()).collect();
        Ok(self.block(&all, chosen))
    }

    fn gram(&self, chosen: &[usize]) -> Matrix {
        self.block(chosen, chosen)
    }
}
