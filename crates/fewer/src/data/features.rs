//! The inputs x, borrowed from the caller in whatever order they have.

use super::{SparseMatrix, SparseRows, SparseView};
use crate::error::{Error, Result};
use crate::linalg::{Layout, Matrix, Tile};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

/// A dense matrix borrowed from the caller: `f64` or `f32`, by rows, by columns, or strided.
///
/// ```
/// use fewer::data::DenseView;
/// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let by_rows = DenseView::by_rows(&x, 3, 2)?;
/// let by_columns = DenseView::by_columns(&x, 3, 2)?;
/// assert_eq!(by_rows.get(1, 0), 3.0);
/// assert_eq!(by_columns.get(1, 0), 2.0);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct DenseView<'a> {
    values: Values<'a>,
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
}

/// A type of number that a [`DenseView`] can borrow: `f64` or `f32`.
pub trait Float: Copy + Into<f64> + sealed::Sealed {}

mod sealed {
    pub trait Sealed: Sized {
        fn wrap(values: &[Self]) -> super::Values<'_>;
    }
    impl Sealed for f64 {
        fn wrap(values: &[f64]) -> super::Values<'_> {
            super::Values::F64(values)
        }
    }
    impl Sealed for f32 {
        fn wrap(values: &[f32]) -> super::Values<'_> {
            super::Values::F32(values)
        }
    }
}

impl Float for f64 {}
impl Float for f32 {}

impl<'a> DenseView<'a> {
    /// Values row after row (C order).
    pub fn by_rows<T: Float>(values: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        Self::strided(values, rows, columns, columns, 1)
    }

    /// Values row after row that are known to be as many as they should.
    pub(crate) fn of_rows(values: &'a [f64], rows: usize, columns: usize) -> Self {
        debug_assert_eq!(values.len(), rows * columns);
        let values = Values::F64(values);
        Self { values, rows, columns, row_stride: columns, column_stride: 1 }
    }

    /// Values column after column that are known to be as many as they should.
    pub(crate) fn of_columns(values: &'a [f64], rows: usize, columns: usize) -> Self {
        debug_assert_eq!(values.len(), rows * columns);
        let values = Values::F64(values);
        Self { values, rows, columns, row_stride: 1, column_stride: rows }
    }

    /// Values column after column (Fortran order).
    pub fn by_columns<T: Float>(values: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        Self::strided(values, rows, columns, 1, rows)
    }

    /// Value (i, j) at `i * row_stride + j * column_stride`.
    pub fn strided<T: Float>(
        values: &'a [T],
        rows: usize,
        columns: usize,
        row_stride: usize,
        column_stride: usize,
    ) -> Result<Self> {
        let needed = if rows == 0 || columns == 0 {
            0
        } else {
            (rows - 1) * row_stride + (columns - 1) * column_stride + 1
        };
        if values.len() < needed {
            return Err(Error::shape(
                format!("values of a {rows}×{columns} matrix"),
                format!("at least {needed}"),
                values.len(),
            ));
        }
        Ok(Self { values: T::wrap(values), rows, columns, row_stride, column_stride })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The value at (`i`, `j`).
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let k = i * self.row_stride + j * self.column_stride;
        match self.values {
            Values::F64(values) => values[k],
            Values::F32(values) => values[k].into(),
        }
    }

    pub(crate) fn layout(&self) -> Layout {
        if self.column_stride == 1 && self.columns > 1 { Layout::Rows } else { Layout::Columns }
    }

    /// Column `j`, where its values lie side by side as `f64`.
    pub(crate) fn column_slice(&self, j: usize) -> Option<&'a [f64]> {
        match self.values {
            Values::F64(values) if self.row_stride == 1 || self.rows == 1 => {
                Some(&values[j * self.column_stride..][..self.rows])
            }
            _ => None,
        }
    }

    /// All values column after column, where they lie like that as `f64`.
    pub(crate) fn whole_columns(&self) -> Option<&'a [f64]> {
        match self.values {
            Values::F64(values) if self.row_stride == 1 && self.column_stride == self.rows => {
                Some(&values[..self.rows * self.columns])
            }
            _ => None,
        }
    }

    /// Row `i`, where its values lie side by side as `f64`.
    pub(crate) fn row_slice(&self, i: usize) -> Option<&'a [f64]> {
        match self.values {
            Values::F64(values) if self.column_stride == 1 || self.columns == 1 => {
                Some(&values[i * self.row_stride..][..self.columns])
            }
            _ => None,
        }
    }

    /// Copies the given rows of the given columns into a tile.
    pub(crate) fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        match self.values {
            Values::F64(values) => self.fill_from(values, rows, columns, tile),
            Values::F32(values) => self.fill_from(values, rows, columns, tile),
        }
    }

    fn fill_from<T: Float>(
        &self,
        values: &[T],
        rows: Range<usize>,
        columns: &[usize],
        tile: &mut Tile,
    ) {
        let layout = self.layout();
        tile.reset(rows.len(), columns.len(), layout);
        match layout {
            Layout::Rows => {
                let whole = columns.len() == self.columns;
                let target = tile.values_mut().chunks_exact_mut(columns.len().max(1));
                for (i, out) in rows.zip(target) {
                    let row = &values[i * self.row_stride..][..self.columns];
                    if whole {
                        copy(row, out);
                    } else {
                        for (o, &j) in out.iter_mut().zip(columns) {
                            *o = row[j].into();
                        }
                    }
                }
            }
            Layout::Columns => {
                let target = tile.values_mut().chunks_exact_mut(rows.len().max(1));
                for (&j, out) in columns.iter().zip(target) {
                    let start = j * self.column_stride + rows.start * self.row_stride;
                    if self.row_stride == 1 {
                        copy(&values[start..], out);
                    } else {
                        for (i, o) in out.iter_mut().enumerate() {
                            *o = values[start + i * self.row_stride].into();
                        }
                    }
                }
            }
        }
    }
}

fn copy<T: Float>(from: &[T], to: &mut [f64]) {
    for (o, &v) in to.iter_mut().zip(from) {
        *o = v.into();
    }
}

/// The inputs of a data set: dense or sparse, always borrowed.
#[derive(Debug, Clone, Copy)]
pub enum Features<'a> {
    /// Every value is stored.
    Dense(DenseView<'a>),
    /// Only values other than zero are stored.
    Sparse(SparseView<'a>),
}

impl<'a> Features<'a> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Features::Dense(x) => x.rows(),
            Features::Sparse(x) => x.rows(),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        match self {
            Features::Dense(x) => x.columns(),
            Features::Sparse(x) => x.columns(),
        }
    }

    /// A copy of the given rows (from 0), in the given order.
    ///
    /// ```
    /// use fewer::data::{DenseView, Features};
    /// let x = Features::from(DenseView::by_rows(&[1.0, 2.0, 3.0, 4.0], 2, 2)?);
    /// let rows = x.select_rows(&[1])?;
    /// let Features::Dense(copy) = rows.view() else { unreachable!() };
    /// assert_eq!((copy.rows(), copy.get(0, 1)), (1, 4.0));
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn select_rows(&self, rows: &[usize]) -> Result<FeatureRows> {
        if let Some(bad) = rows.iter().find(|&&i| i >= self.rows()) {
            return Err(Error::shape("rows to select", format!("below {}", self.rows()), bad));
        }
        Ok(FeatureRows(match self {
            Features::Dense(x) => Held::Dense {
                values: rows
                    .iter()
                    .flat_map(|&i| (0..x.columns()).map(move |j| x.get(i, j)))
                    .collect(),
                rows: rows.len(),
                columns: x.columns(),
            },
            Features::Sparse(x) => Held::Sparse(SparseMatrix::of_rows(*x, rows)),
        }))
    }

    /// Number of different rows among those of positive weight, or `enough` if there are more.
    pub(crate) fn distinct_rows(&self, weights: Option<&[f64]>, enough: usize) -> usize {
        let by_row = match self {
            Features::Dense(_) => None,
            Features::Sparse(x) => Some(SparseRows::new(*x)),
        };
        // Hashes of 64 bits: a collision would only make the count a little too small.
        let hash = |i: usize| {
            let mut hasher = DefaultHasher::new();
            match (self, &by_row) {
                (Features::Sparse(_), Some(rows)) => {
                    for (j, v) in rows.row(i).filter(|(_, v)| *v != 0.0) {
                        hasher.write_usize(j);
                        hasher.write_u64(v.to_bits());
                    }
                }
                (Features::Dense(x), _) => {
                    // −0 and 0 are one value.
                    (0..x.columns()).for_each(|j| hasher.write_u64((x.get(i, j) + 0.0).to_bits()));
                }
                _ => {}
            }
            hasher.finish()
        };
        let mut seen = HashSet::new();
        for i in (0..self.rows()).filter(|&i| weights.is_none_or(|w| w[i] > 0.0)) {
            seen.insert(hash(i));
            if seen.len() >= enough {
                return enough;
            }
        }
        seen.len()
    }

    /// A dense copy.
    pub(crate) fn to_matrix(self) -> Matrix {
        let mut out = Matrix::zeros(self.rows(), self.columns());
        for j in 0..self.columns() {
            let column = out.column_mut(j);
            match self {
                Features::Dense(x) => {
                    column.iter_mut().enumerate().for_each(|(i, v)| *v = x.get(i, j));
                }
                Features::Sparse(x) => x.column(j).for_each(|(i, v)| column[i] = v),
            }
        }
        out
    }

    /// The first value (by row) that is not a finite number, with its place.
    pub(crate) fn find_non_finite(&self) -> Option<(usize, usize, f64)> {
        match self {
            Features::Dense(x) => {
                const ROWS: usize = 256;
                use rayon::prelude::*;
                let columns: Vec<usize> = (0..x.columns()).collect();
                let lines = if x.column_slice(0).is_some() { x.columns() } else { x.rows() };
                let line = |k: usize| x.column_slice(k).or_else(|| x.row_slice(k));
                if (0..lines).into_par_iter().all(|k| line(k).is_some_and(all_finite)) {
                    return None;
                }
                (0..x.rows().div_ceil(ROWS)).into_par_iter().find_map_first(|block| {
                    let start = block * ROWS;
                    let mut tile = Tile::default();
                    x.fill(start..(start + ROWS).min(x.rows()), &columns, &mut tile);
                    if all_finite(tile.values()) {
                        return None;
                    }
                    (0..tile.rows()).find_map(|i| {
                        (0..tile.columns())
                            .find(|&j| !tile.get(i, j).is_finite())
                            .map(|j| (start + i, j, tile.get(i, j)))
                    })
                })
            }
            Features::Sparse(x) => (0..x.columns())
                .flat_map(|j| x.column(j).map(move |(i, v)| (i, j, v)))
                .filter(|(_, _, v)| !v.is_finite())
                .min_by_key(|&(i, j, _)| (i, j)),
        }
    }
}

/// A copy of some rows of the inputs.
#[derive(Debug, Clone)]
pub struct FeatureRows(Held);

#[derive(Debug, Clone)]
enum Held {
    Dense { values: Vec<f64>, rows: usize, columns: usize },
    Sparse(SparseMatrix),
}

impl FeatureRows {
    /// Borrows the copy.
    pub fn view(&self) -> Features<'_> {
        match &self.0 {
            Held::Dense { values, rows, columns } => {
                Features::Dense(DenseView::of_rows(values, *rows, *columns))
            }
            Held::Sparse(x) => Features::Sparse(x.view()),
        }
    }
}

/// Whether all values are finite; written so that the compiler uses vector instructions.
pub(crate) fn all_finite(values: &[f64]) -> bool {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    let scan = || {
        let mut bad = 0u64;
        for v in values {
            bad |= u64::from(v.to_bits() & EXPONENT == EXPONENT);
        }
        bad == 0
    };
    pulp::Arch::new().dispatch(scan)
}

impl<'a> From<DenseView<'a>> for Features<'a> {
    fn from(x: DenseView<'a>) -> Self {
        Features::Dense(x)
    }
}

impl<'a> From<SparseView<'a>> for Features<'a> {
    fn from(x: SparseView<'a>) -> Self {
        Features::Sparse(x)
    }
}
