//! The columns of a design for several outputs at once.

use super::{Columns, Design};
use crate::linalg::{Layout, Tile};
use std::ops::Range;

/// Column (c, j), at c·p + j, has M_ca x_ij in row (a, i), at a·n + i: the design M ⊗ X, whose
/// products are M²⊗ XᵀX, for a matrix M with one value on its diagonal and one off it.
pub(crate) struct Stacked<'a> {
    pub design: &'a Design<'a>,
    pub outputs: usize,
    pub on_diagonal: f64,
    pub off_diagonal: f64,
}

impl Columns for Stacked<'_> {
    fn rows(&self) -> usize {
        self.outputs * self.design.rows()
    }

    fn columns(&self) -> usize {
        self.outputs * self.design.raw().columns()
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        let (n, p, height) = (self.design.rows(), self.design.raw().columns(), rows.len());
        tile.reset(height, columns.len(), Layout::Columns);
        let mut source = Tile::default();
        let mut first = 0;
        for of_output in columns.chunk_by(|a, b| a / p == b / p) {
            let chosen: Vec<usize> = of_output.iter().map(|v| v % p).collect();
            let mut start = rows.start;
            while start < rows.end {
                let output = start / n;
                let end = ((output + 1) * n).min(rows.end);
                self.design.fill(start - output * n..end - output * n, &chosen, &mut source);
                let same = output == of_output[0] / p;
                let factor = if same { self.on_diagonal } else { self.off_diagonal };
                for k in 0..chosen.len() {
                    let out = &mut tile.values_mut()[(first + k) * height + start - rows.start..];
                    let out = out[..end - start].iter_mut().enumerate();
                    out.for_each(|(i, o)| *o = factor * source.get(i, k));
                }
                start = end;
            }
            first += of_output.len();
        }
    }
}
