//! Columns of a sparse matrix.

use super::Columns;
use crate::data::{SparseMatrix, SparseView};
use crate::linalg::{Layout, Tile};
use std::ops::Range;

/// Sparse columns: the caller's arrays, or a matrix that a basis computed.
#[derive(Debug)]
pub enum SparseColumns<'a> {
    /// The caller's arrays.
    Borrowed(SparseView<'a>),
    /// A matrix of our own.
    Owned(SparseMatrix),
}

impl SparseColumns<'_> {
    fn view(&self) -> SparseView<'_> {
        match self {
            SparseColumns::Borrowed(x) => *x,
            SparseColumns::Owned(m) => m.view(),
        }
    }
}

impl Columns for SparseColumns<'_> {
    fn rows(&self) -> usize {
        self.view().rows()
    }

    fn columns(&self) -> usize {
        self.view().columns()
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        tile.reset(rows.len(), columns.len(), Layout::Columns);
        let view = self.view();
        let target = tile.values_mut().chunks_exact_mut(rows.len().max(1));
        for (&j, out) in columns.iter().zip(target) {
            out.fill(0.0);
            let (indices, values) = view.column_slices(j);
            let first = indices.partition_point(|&i| (i as usize) < rows.start);
            for (&i, &v) in indices[first..].iter().zip(&values[first..]) {
                let i = i as usize;
                if i >= rows.end {
                    break;
                }
                out[i - rows.start] = v;
            }
        }
    }

    fn as_sparse(&self) -> Option<SparseView<'_>> {
        Some(self.view())
    }
}
