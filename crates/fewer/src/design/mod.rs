//! The design: the columns φ_j(x) that a fit weighs, as an operator with few verbs.
//!
//! Engines see a [`Design`], in which every column is centred and scaled and every row carries
//! its weight, whatever holds the values behind it: a [`Columns`].

mod dense;
mod kernel;
mod narrow_columns;
mod narrow_rows;
mod sparse;
mod stacked;
mod standardised;

pub use dense::DenseColumns;
pub(crate) use kernel::{DenseKernel, RowWriter, SparseKernel};
pub(crate) use narrow_columns::NarrowColumns;
pub(crate) use narrow_rows::NarrowRows;
pub use sparse::SparseColumns;
pub(crate) use stacked::Stacked;
pub use standardised::Design;

use crate::data::{DenseView, SparseView};
use crate::linalg::Tile;
use std::ops::Range;

/// Something that can show any of its columns, a tile at a time.
///
/// A new kind of column needs only the first three verbs.
pub trait Columns: Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// Number of columns.
    fn columns(&self) -> usize;

    /// Writes the given rows of the given columns into the tile.
    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile);

    /// The columns as a dense matrix, where they are one.
    fn as_dense(&self) -> Option<DenseView<'_>> {
        None
    }

    /// The columns as a sparse matrix, where they are one.
    fn as_sparse(&self) -> Option<SparseView<'_>> {
        None
    }
}
