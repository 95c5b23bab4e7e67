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
}

impl Columns for DenseColumns<'_> {
    fn rows(&self) -> usize {
        match self {
            DenseColumns::Borrowed(x) => x.rows(),
            DenseColumns::Owned(m) => m.rows(),
        }
    }

    fn columns(&self) -> usize {
        match self {
            DenseColumns::Borrowed(x) => x.columns(),
            DenseColumns::Owned(m) => m.columns(),
        }
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        match self {
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
}
