//! Owned matrices.

use std::ops::{Index, IndexMut};

/// A dense matrix by columns, owned.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }

    /// A matrix from its columns laid end to end.
    ///
    /// # Panics
    /// If `data` does not hold `rows * columns` values.
    pub fn from_columns(rows: usize, columns: usize, data: Vec<f64>) -> Self {
        assert_eq!(data.len(), rows * columns, "a {rows}×{columns} matrix");
        Self { rows, columns, data }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Column `j`.
    pub fn column(&self, j: usize) -> &[f64] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// Column `j`, to write to.
    pub fn column_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }

    /// All values, column after column.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// All values, column after column, to write to.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The matrix with rows and columns exchanged.
    pub fn transpose(&self) -> Self {
        const BLOCK: usize = 16;
        let mut out = Self::zeros(self.columns, self.rows);
        // Blocks stay in the cache while they are written across.
        for first in (0..self.columns).step_by(BLOCK) {
            let columns = first..(first + BLOCK).min(self.columns);
            for row in (0..self.rows).step_by(BLOCK) {
                let rows = row..(row + BLOCK).min(self.rows);
                for j in columns.clone() {
                    let values = rows.clone().zip(&self.column(j)[rows.clone()]);
                    values.for_each(|(i, &v)| out.data[j + i * self.columns] = v);
                }
            }
        }
        out
    }

    /// These rows of these columns.
    pub(crate) fn part(
        &self,
        rows: &[usize],
        columns: impl ExactSizeIterator<Item = usize>,
    ) -> Self {
        let count = columns.len();
        let data = columns.flat_map(|j| rows.iter().map(move |&i| self[(i, j)])).collect();
        Self { rows: rows.len(), columns: count, data }
    }

    /// Gives the matrix another size and fills it with zeros; keeps its allocation.
    pub fn reset(&mut self, rows: usize, columns: usize) {
        self.data.clear();
        self.data.resize(rows * columns, 0.0);
        (self.rows, self.columns) = (rows, columns);
    }
}

impl From<Matrix> for std::borrow::Cow<'_, Matrix> {
    fn from(matrix: Matrix) -> Self {
        Self::Owned(matrix)
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (i, j): (usize, usize)) -> &f64 {
        &self.data[i + j * self.rows]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
        &mut self.data[i + j * self.rows]
    }
}

/// The order of the values of a [`Tile`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// Row after row.
    Rows,
    /// Column after column.
    #[default]
    Columns,
}

/// A small dense block of a design, in the order its source is cheapest to read.
#[derive(Debug, Clone, Default)]
pub struct Tile {
    rows: usize,
    columns: usize,
    layout: Layout,
    data: Vec<f64>,
}

impl Tile {
    /// Gives the tile a size and order; its values are unspecified until written.
    pub fn reset(&mut self, rows: usize, columns: usize, layout: Layout) {
        if self.data.len() != rows * columns {
            self.data.clear();
            self.data.resize(rows * columns, 0.0);
        }
        (self.rows, self.columns, self.layout) = (rows, columns, layout);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The order of the values.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// All values in the tile's order.
    pub fn values(&self) -> &[f64] {
        &self.data
    }

    /// All values in the tile's order, to write to.
    pub fn values_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The same values row after row.
    pub fn by_rows(self) -> Self {
        if self.layout == Layout::Rows {
            return self;
        }
        let mut out = Self::default();
        out.reset(self.rows, self.columns, Layout::Rows);
        for (j, column) in self.data.chunks_exact(self.rows.max(1)).enumerate() {
            for (i, &v) in column.iter().enumerate() {
                out.data[i * self.columns + j] = v;
            }
        }
        out
    }

    /// The value at (`i`, `j`).
    pub fn get(&self, i: usize, j: usize) -> f64 {
        match self.layout {
            Layout::Rows => self.data[i * self.columns + j],
            Layout::Columns => self.data[i + j * self.rows],
        }
    }

    /// Replaces every value: `f(i, j, value)`.
    pub fn update(&mut self, f: impl Fn(usize, usize, f64) -> f64) {
        match self.layout {
            Layout::Rows => {
                let columns = self.columns.max(1);
                for (i, row) in self.data.chunks_exact_mut(columns).enumerate() {
                    for (j, value) in row.iter_mut().enumerate() {
                        *value = f(i, j, *value);
                    }
                }
            }
            Layout::Columns => {
                let rows = self.rows.max(1);
                for (j, column) in self.data.chunks_exact_mut(rows).enumerate() {
                    for (i, value) in column.iter_mut().enumerate() {
                        *value = f(i, j, *value);
                    }
                }
            }
        }
    }

    /// Adds `scale[i] * value` of every row `i` to `out[j]` of every column `j`: tileᵀ·scale.
    pub fn add_transpose_product(&self, scale: &[f64], out: &mut [f64]) {
        match self.layout {
            Layout::Rows => {
                for (row, &s) in self.data.chunks_exact(self.columns.max(1)).zip(scale) {
                    super::axpy(s, row, out);
                }
            }
            Layout::Columns => {
                for (column, o) in self.data.chunks_exact(self.rows.max(1)).zip(out) {
                    *o += super::dot(column, scale);
                }
            }
        }
    }

    /// Adds `scale[j] * value` of every column `j` to `out[i]` of every row `i`: tile·scale.
    pub fn add_product(&self, scale: &[f64], out: &mut [f64]) {
        match self.layout {
            Layout::Rows => {
                for (row, o) in self.data.chunks_exact(self.columns.max(1)).zip(out) {
                    *o += super::dot(row, scale);
                }
            }
            Layout::Columns => {
                for (column, &s) in self.data.chunks_exact(self.rows.max(1)).zip(scale) {
                    super::axpy(s, column, out);
                }
            }
        }
    }
}
