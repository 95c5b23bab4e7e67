//! Kernel columns, computed when they are asked for.

use super::Columns;
use crate::basis::{Kernel, KernelForm};
use crate::data::{SparseRows, SparseView};
use crate::linalg::{Layout, Tile, dot, product_of_rows};
use std::ops::Range;

/// Up to so many features, distances are sums of squared differences; beyond, products of
/// matrices, which are faster and, for standardised inputs, as good.
const DIRECT: usize = 6;

/// Columns that are cheapest to compute row after row.
pub(crate) trait RowWriter: Columns {
    /// Writes the given rows of the given columns, row after row.
    fn write(&self, rows: Range<usize>, columns: &[usize], out: &mut [f64]);

    /// Writes what they are functions of: squared or absolute distances, or products.
    fn write_distances(&self, rows: Range<usize>, columns: &[usize], out: &mut [f64]);
}

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

    /// (m, d) by rows: centres in inner units.
    pub fn centres(&self) -> &[f64] {
        &self.centres
    }

    /// The given rows of x in inner units, row after row.
    pub fn inner_rows(&self, rows: Range<usize>) -> Tile {
        let (shift, scale) = self.kernel.input_units();
        let features: Vec<usize> = (0..shift.len()).collect();
        let mut source = Tile::default();
        self.inputs.fill(rows, &features, &mut source);
        source.update(|_, j, v| (v - shift[j]) * scale[j]);
        source.by_rows()
    }
}

impl RowWriter for DenseKernel<'_> {
    fn write(&self, rows: Range<usize>, columns: &[usize], out: &mut [f64]) {
        self.write_with(rows, columns, out, |row| self.kernel.transform(row));
    }

    fn write_distances(&self, rows: Range<usize>, columns: &[usize], out: &mut [f64]) {
        self.write_with(rows, columns, out, |_| {});
    }
}

impl DenseKernel<'_> {
    /// Writes the distances, and finishes each row while it is at hand.
    fn write_with(
        &self,
        rows: Range<usize>,
        columns: &[usize],
        out: &mut [f64],
        finish: impl Fn(&mut [f64]),
    ) {
        let (kernel, m) = (self.kernel, columns.len());
        let d = kernel.input_units().0.len();
        if m == 0 {
            return;
        }
        let inputs = self.inner_rows(rows);
        let stationary = kernel.form().is_stationary();
        let absolute = matches!(kernel.form(), KernelForm::Laplacian);
        if absolute || stationary && d <= DIRECT {
            // (d, m) so that the inner loop runs over centres.
            let by_feature: Vec<f64> = (0..d)
                .flat_map(|j| columns.iter().map(move |&k| self.centres[k * d + j]))
                .collect();
            for (i, out) in out.chunks_exact_mut(m).enumerate() {
                let mut features = by_feature.chunks_exact(m).enumerate();
                match features.next() {
                    // Written, not added to zeros: these would be another pass over the memory.
                    Some((j, centres)) => write_distances(inputs.get(i, j), centres, absolute, out),
                    None => out.fill(0.0),
                }
                for (j, centres) in features {
                    add_distances(inputs.get(i, j), centres, absolute, out);
                }
                finish(out);
            }
            return;
        }
        if m == self.squares.len() {
            product_of_rows(inputs.values(), &self.centres, d, out);
        } else {
            let chosen: Vec<f64> = columns
                .iter()
                .flat_map(|&k| self.centres[k * d..(k + 1) * d].iter().copied())
                .collect();
            product_of_rows(inputs.values(), &chosen, d, out);
        }
        let squares: Vec<f64> = columns.iter().map(|&k| self.squares[k]).collect();
        let input_rows = inputs.values().chunks_exact(d.max(1));
        for (x, out) in input_rows.zip(out.chunks_exact_mut(m)) {
            if stationary {
                distances_from_products(dot(x, x), &squares, out);
            }
            finish(out);
        }
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
        tile.reset(rows.len(), columns.len(), Layout::Rows);
        self.write(rows, columns, tile.values_mut());
    }
}

/// out = |x − c| or (x − c)².
fn write_distances(x: f64, centres: &[f64], absolute: bool, out: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        if absolute {
            out.iter_mut().zip(centres).for_each(|(o, c)| *o = (x - c).abs());
        } else {
            out.iter_mut().zip(centres).for_each(|(o, c)| *o = (x - c) * (x - c));
        }
    });
}

/// out += |x − c| or (x − c)².
fn add_distances(x: f64, centres: &[f64], absolute: bool, out: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        if absolute {
            out.iter_mut().zip(centres).for_each(|(o, c)| *o += (x - c).abs());
        } else {
            out.iter_mut().zip(centres).for_each(|(o, c)| *o += (x - c) * (x - c));
        }
    });
}

/// ‖x − c‖² = ‖x‖² + ‖c‖² − 2 x·c.
fn distances_from_products(length: f64, squares: &[f64], out: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        for (o, square) in out.iter_mut().zip(squares) {
            let distance = length + square - 2.0 * *o;
            *o = if distance > 0.0 { distance } else { 0.0 };
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
        self.fill_distances(rows, columns, tile);
        self.kernel.transform(tile.values_mut());
    }
}

impl SparseKernel<'_> {
    fn fill_distances(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
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
    }
}

impl RowWriter for SparseKernel<'_> {
    fn write(&self, rows: Range<usize>, columns: &[usize], out: &mut [f64]) {
        let mut tile = Tile::default();
        self.fill(rows, columns, &mut tile);
        out.copy_from_slice(tile.by_rows().values());
    }

    fn write_distances(&self, rows: Range<usize>, columns: &[usize], out: &mut [f64]) {
        let mut tile = Tile::default();
        self.fill_distances(rows, columns, &mut tile);
        out.copy_from_slice(tile.by_rows().values());
    }
}
