//! Where the engine takes its columns from: rows of a design, or products that are known already.
//!
//! Inside, every column has unit length: the evidence of weights that each have a variance of
//! their own does not depend on it, and precisions of well-scaled columns are comparable.

use crate::design::Design;
use crate::linalg::{Matrix, add_products, symmetrise};
use std::sync::Arc;

/// Columns of unit length to choose from.
pub(crate) trait Dictionary: Sync {
    /// Number of columns.
    fn len(&self) -> usize;

    /// (of, with) Products of some columns with others.
    fn products(&self, of: &[usize], with: &[usize]) -> Matrix;

    /// (chosen, chosen) Products among some columns.
    fn gram(&self, chosen: &[usize]) -> Matrix;

    /// What `gram` takes of memory, beside the products, for so many columns.
    fn bytes_for_gram(&self, _columns: usize) -> usize {
        0
    }
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

    fn products(&self, of: &[usize], with: &[usize]) -> Matrix {
        let columns: Vec<usize> = of.iter().map(|&k| self.usable[k]).collect();
        let mut out = self.design.apply_transpose_each(&columns, &self.columns(with));
        for c in 0..with.len() {
            let column = out.column_mut(c).iter_mut().zip(of);
            column.for_each(|(v, &k)| *v *= self.inverse_lengths[k]);
        }
        out
    }

    fn gram(&self, chosen: &[usize]) -> Matrix {
        let mut columns = self.columns(chosen);
        if let Some(w) = self.design.weights() {
            for c in 0..chosen.len() {
                columns.column_mut(c).iter_mut().zip(w).for_each(|(v, w)| *v *= w.sqrt());
            }
        }
        let mut out = Matrix::zeros(chosen.len(), chosen.len());
        let values = columns.as_slice();
        add_products(&mut out, 1.0, columns.rows(), (values, columns.rows()), values, true);
        symmetrise(&mut out);
        out
    }

    fn bytes_for_gram(&self, columns: usize) -> usize {
        8 * self.design.rows() * columns
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
}

impl Dictionary for FromGram<'_> {
    fn len(&self) -> usize {
        self.usable.len()
    }

    fn products(&self, of: &[usize], with: &[usize]) -> Matrix {
        let mut values = Vec::with_capacity(of.len() * with.len());
        with.iter().for_each(|&b| values.extend(of.iter().map(|&a| self.product(a, b))));
        Matrix::from_columns(of.len(), with.len(), values)
    }

    fn gram(&self, chosen: &[usize]) -> Matrix {
        self.products(chosen, chosen)
    }
}

/// Columns of unit length whose products are all at hand.
pub(super) struct Table(pub Matrix);

impl Dictionary for Table {
    fn len(&self) -> usize {
        self.0.rows()
    }

    fn products(&self, of: &[usize], with: &[usize]) -> Matrix {
        let mut values = Vec::with_capacity(of.len() * with.len());
        with.iter().for_each(|&b| values.extend(of.iter().map(|&a| self.0.column(b)[a])));
        Matrix::from_columns(of.len(), with.len(), values)
    }

    fn gram(&self, chosen: &[usize]) -> Matrix {
        self.products(chosen, chosen)
    }
}

/// Some of the columns of another dictionary.
pub(super) struct Part<'a> {
    pub whole: &'a dyn Dictionary,
    pub chosen: &'a [usize],
}

impl Part<'_> {
    fn of_whole(&self, columns: &[usize]) -> Vec<usize> {
        columns.iter().map(|&k| self.chosen[k]).collect()
    }
}

impl Dictionary for Part<'_> {
    fn len(&self) -> usize {
        self.chosen.len()
    }

    fn products(&self, of: &[usize], with: &[usize]) -> Matrix {
        self.whole.products(&self.of_whole(of), &self.of_whole(with))
    }

    fn gram(&self, chosen: &[usize]) -> Matrix {
        self.whole.gram(&self.of_whole(chosen))
    }

    fn bytes_for_gram(&self, columns: usize) -> usize {
        self.whole.bytes_for_gram(columns)
    }
}
