//! Columns that are held in memory, or borrowed, as a dense matrix.

use super::Columns;
use crate::data::DenseView;
use crate::linalg::{Layout, Matrix, Tile};
use std::ops::Range;

/// Dense columns: the caller's array, or a matrix that a basis computed.
#[derive(Debug)]
pub enum DenseColumns<'a> {
    /// The caller's array.
    Borrowed(DenseView<'a>),
    /// A matrix of our own.
    Owned(Matrix),
    /// A matrix of our own, row after row.
    ByRows {
        /// Number of rows.
        rows: usize,
        /// Number of columns.
        columns: usize,
        /// The values.
        values: Vec<f64>,
    },
}

impl Columns for DenseColumns<'_> {
    fn rows(&self) -> usize {
        match self {
            DenseColumns::Borrowed(x) => x.rows(),
            DenseColumns::Owned(m) => m.rows(),
            DenseColumns::ByRows { rows, .. } => *rows,
        }
    }

    fn columns(&self) -> usize {
        match self {
            DenseColumns::Borrowed(x) => x.columns(),
            DenseColumns::Owned(m) => m.columns(),
            DenseColumns::ByRows { columns, .. } => *columns,
        }
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        match self {
            DenseColumns::ByRows { rows: n, columns: m, values } => {
                DenseView::of_rows(values, *n, *m).fill(rows, columns, tile)
            }
            DenseColumns::Borrowed(x) => x.fill(rows, columns, tile),
            DenseColumns::Owned(m) => {
                tile.reset(rows.len(), columns.len(), Layout::Columns);
                let target = tile.values_mut().chunks_exact_mut(rows.len().max(1));
                for (&j, out) in columns.iter().zip(target) {
                    out.copy_from_slice(&m.column(j)[rows.clone()]);
                }
            }
        }
    }

    fn as_dense(&self) -> Option<DenseView<'_>> {
        Some(match self {
            DenseColumns::Borrowed(x) => *x,
            DenseColumns::Owned(m) => DenseView::of_columns(m.as_slice(), m.rows(), m.columns()),
            DenseColumns::ByRows { rows, columns, values } => {
                DenseView::of_rows(values, *rows, *columns)
            }
        })
    }
}
