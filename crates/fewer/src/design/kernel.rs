//! Kernel columns, computed when they are asked for.

use super::Columns;
use crate::basis::{Kernel, KernelForm};
use crate::data::{SparseRows, SparseView};
use crate::linalg::{Layout, Tile, dot, tile_product};
use std::ops::Range;

/// Up to so many features, distances are sums of squared differences; beyond, products of
/// matrices, which are faster and, for standardised inputs, as good.
const DIRECT: usize = 6;

/// Kernel columns of dense rows, a tile at a time.
pub(crate) struct DenseKernel<'a> {
    kernel: &'a Kernel,
    inputs: Box<dyn Columns + 'a>,
    /// (m, d) by rows: centres in inner units.
    centres: Vec<f64>,
    /// (m,) their squared lengths.
    squares: Vec<f64>,
}

impl<'a> DenseKernel<'a> {
    pub fn new(kernel: &'a Kernel, inputs: Box<dyn Columns + 'a>) -> Self {
        let (shift, scale) = kernel.input_units();
        let d = shift.len();
        let mut centres = Vec::with_capacity(kernel.len() * d);
        for k in 0..kernel.len() {
            let point = kernel.centre(k);
            centres.extend((0..d).map(|j| (point[j] - shift[j]) * scale[j]));
        }
        let squares = centres.chunks(d.max(1)).map(|c| dot(c, c)).collect();
        Self { kernel, inputs, centres, squares }
    }
}

impl Columns for DenseKernel<'_> {
    fn rows(&self) -> usize {
        self.inputs.rows()
    }

    fn columns(&self) -> usize {
        self.kernel.len()
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        let kernel = self.kernel;
        let (shift, scale) = kernel.input_units();
        let d = shift.len();
        let n = rows.len();
        let features: Vec<usize> = (0..d).collect();
        let mut inputs = Tile::default();
        self.inputs.fill(rows, &features, &mut inputs);
        inputs.update(|_, j, v| (v - shift[j]) * scale[j]);
        let centre = |k: usize| &self.centres[columns[k] * d..(columns[k] + 1) * d];
        let laplacian = kernel.form() == KernelForm::Laplacian;
        tile.reset(n, columns.len(), Layout::Columns);
        if laplacian || kernel.form().is_stationary() && d <= DIRECT {
            let by_column: Vec<Vec<f64>> =
                (0..d).map(|j| (0..n).map(|i| inputs.get(i, j)).collect()).collect();
            let out = tile.values_mut().chunks_exact_mut(n.max(1));
            for (k, out) in out.enumerate() {
                out.fill(0.0);
                for (column, &c) in by_column.iter().zip(centre(k)) {
                    add_distances(column, c, laplacian, out);
                }
            }
        } else {
            let mut chosen = Tile::default();
            chosen.reset(columns.len(), d, Layout::Rows);
            let target = chosen.values_mut().chunks_exact_mut(d.max(1));
            target.enumerate().for_each(|(k, out)| out.copy_from_slice(centre(k)));
            tile_product(&inputs, &chosen, tile);
            if kernel.form().is_stationary() {
                let lengths: Vec<f64> =
                    (0..n).map(|i| (0..d).map(|j| inputs.get(i, j).powi(2)).sum()).collect();
                let out = tile.values_mut().chunks_exact_mut(n.max(1));
                for (k, out) in out.enumerate() {
                    let square = self.squares[columns[k]];
                    for (v, length) in out.iter_mut().zip(&lengths) {
                        *v = (length + square - 2.0 * *v).max(0.0);
                    }
                }
            }
        }
        kernel.transform(tile.values_mut());
    }
}

/// out += |x − c| or (x − c)².
fn add_distances(x: &[f64], c: f64, absolute: bool, out: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        if absolute {
            out.iter_mut().zip(x).for_each(|(o, x)| *o += (x - c).abs());
        } else {
            out.iter_mut().zip(x).for_each(|(o, x)| *o += (x - c) * (x - c));
        }
    });
}

/// Kernel columns of sparse rows: each centre meets only the stored entries.
pub(crate) struct SparseKernel<'a> {
    kernel: &'a Kernel,
    x: SparseView<'a>,
    by_row: SparseRows,
    /// (n,) Squared lengths of the rows.
    lengths: Vec<f64>,
}

impl<'a> SparseKernel<'a> {
    pub fn new(kernel: &'a Kernel, x: SparseView<'a>) -> Self {
        let by_row = SparseRows::new(x);
        let (_, scale) = kernel.input_units();
        let lengths = (0..x.rows())
            .map(|i| by_row.row(i).map(|(j, v)| (scale[j] * v).powi(2)).sum())
            .collect();
        Self { kernel, x, by_row, lengths }
    }
}

impl Columns for SparseKernel<'_> {
    fn rows(&self) -> usize {
        self.x.rows()
    }

    fn columns(&self) -> usize {
        self.kernel.len()
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        let kernel = self.kernel;
        let (shift, scale) = kernel.input_units();
        let d = shift.len();
        tile.reset(rows.len(), columns.len(), Layout::Columns);
        let out = tile.values_mut().chunks_exact_mut(rows.len().max(1));
        for (&k, out) in columns.iter().zip(out) {
            let centre = kernel.centre(k);
            match kernel.form() {
                KernelForm::Laplacian => {
                    let far: f64 = (0..d).map(|j| (centre[j] * scale[j]).abs()).sum();
                    for (o, i) in out.iter_mut().zip(rows.clone()) {
                        let near: f64 = self
                            .by_row
                            .row(i)
                            .map(|(j, v)| scale[j] * ((v - centre[j]).abs() - centre[j].abs()))
                            .sum();
                        *o = (far + near).max(0.0);
                    }
                }
                _ => {
                    let stationary = kernel.form().is_stationary();
                    // Inner products of (x − s) and (c − s) from those of x, c and s.
                    let weighted: Vec<f64> = (0..d)
                        .map(|j| {
                            let shift = if stationary { 0.0 } else { shift[j] };
                            scale[j] * scale[j] * (centre[j] - shift)
                        })
                        .collect();
                    let other = if stationary { &centre[..] } else { shift };
                    let constant = dot(&weighted, other);
                    for (o, i) in out.iter_mut().zip(rows.clone()) {
                        let product: f64 = self.by_row.row(i).map(|(j, v)| v * weighted[j]).sum();
                        *o = if stationary {
                            (self.lengths[i] + constant - 2.0 * product).max(0.0)
                        } else {
                            product - constant
                        };
                    }
                }
            }
        }
        kernel.transform(tile.values_mut());
    }
}
