//! A design in single precision, by blocks of rows: half the memory to read, and a block is still
//! at hand when its η have become something else.

use super::Design;
use crate::linalg::{
    Matrix, Tile, add_block_product, add_block_transpose_product, axpy, expect_to_fill, narrow_into,
};
use rayon::prelude::*;
use std::ops::Range;

/// Values of a block of rows: as many as stay at hand.
const BLOCK: usize = 1 << 18;
/// Rows of a block: at least so many, of which the number is a multiple, and at most.
const ROWS: (usize, usize) = (64, 1024);
/// The number of columns is a multiple of this; those beyond the last are zero.
const COLUMNS: usize = 4;
/// Sums over the rows are made in at most so many parts, which threads share.
const PARTS: usize = 16;

/// Columns of a design, each divided by a unit of its own.
pub(crate) struct NarrowRows {
    rows: usize,
    /// Rows of a block; those beyond the last are zero.
    block: usize,
    /// (columns,)
    units: Vec<f64>,
    /// Block after block, in which column after column.
    values: Vec<f32>,
}

impl NarrowRows {
    /// Bytes that so many values take.
    pub fn bytes(rows: usize, columns: usize) -> usize {
        rows.saturating_add(ROWS.1).saturating_mul(columns + COLUMNS).saturating_mul(4)
    }

    /// The chosen columns of a design, centred, scaled, and in units, which are positive.
    pub fn new(design: &Design<'_>, chosen: &[usize], units: Vec<f64>) -> Self {
        let rows = design.rows();
        let block = (BLOCK / chosen.len().max(1)).min(rows).clamp(ROWS.0, ROWS.1);
        let block = block / ROWS.0 * ROWS.0;
        let size = block * chosen.len().next_multiple_of(COLUMNS);
        let mut values = vec![0.0; rows.div_ceil(block) * size];
        expect_to_fill(&values);
        let dense = design.raw().as_dense().filter(|_| design.reads_in_place());
        values.par_chunks_mut(size.max(1)).enumerate().for_each(|(b, out)| {
            let own = b * block..((b + 1) * block).min(rows);
            let mut tile = Tile::default();
            if dense.is_none() {
                design.fill(own.clone(), chosen, &mut tile);
            }
            for (k, out) in out.chunks_exact_mut(block).take(chosen.len()).enumerate() {
                let (centre, scale) = design.units(chosen[k]);
                match dense.and_then(|x| x.column_slice(chosen[k])) {
                    Some(column) => {
                        narrow_into(&column[own.clone()], centre, 1.0 / (scale * units[k]), out);
                    }
                    None => {
                        let column = out[..own.len()].iter_mut().enumerate();
                        column.for_each(|(i, o)| *o = (tile.get(i, k) / units[k]) as f32);
                    }
                }
            }
        });
        Self { rows, block, units, values }
    }

    /// Σ_i w_i φ_j(x_i) v_i for each column, v being what `of_rows` makes, in place, of
    /// η = Σ_j β_j φ_j of some rows; for several β at once, a column each. With them, what
    /// `of_rows` says of the rows, in their order.
    pub fn round_trip<T: Send>(
        &self,
        weights: Option<&[f64]>,
        betas: &Matrix,
        of_rows: impl Fn(Range<usize>, &mut Matrix) -> T + Sync,
    ) -> (Matrix, Vec<T>) {
        let (columns, outputs) = (betas.rows(), betas.columns());
        let padded = columns.next_multiple_of(COLUMNS);
        let mut narrow = vec![0.0; padded * outputs];
        for (c, out) in narrow.chunks_exact_mut(padded.max(1)).enumerate() {
            let each = out.iter_mut().zip(betas.column(c).iter().zip(&self.units));
            each.for_each(|(o, (b, u))| *o = (b * u) as f32);
        }
        let size = self.block * padded;
        let blocks = self.rows.div_ceil(self.block);
        let part = blocks.div_ceil(PARTS).max(1);
        let of_part = |(p, values): (usize, &[f32])| {
            let mut sums = Matrix::zeros(padded, outputs);
            let mut said = Vec::with_capacity(part);
            let mut ends = vec![0.0; self.block * outputs];
            for (b, values) in values.chunks_exact(size).enumerate() {
                let start = (p * part + b) * self.block;
                let rows = start..(start + self.block).min(self.rows);
                let mut eta = vec![0.0; self.block * outputs];
                add_block_product(values, self.block, &narrow, &mut eta);
                let kept = eta.chunks_exact(self.block).flat_map(|e| &e[..rows.len()]).copied();
                let mut eta = Matrix::from_columns(rows.len(), outputs, kept.collect());
                said.push(of_rows(rows.clone(), &mut eta));
                for (c, ends) in ends.chunks_exact_mut(self.block).enumerate() {
                    ends.fill(0.0);
                    for (i, (e, v)) in ends.iter_mut().zip(eta.column(c)).enumerate() {
                        *e = (weights.map_or(1.0, |w| w[rows.start + i]) * v) as f32;
                    }
                }
                add_block_transpose_product(values, self.block, &ends, sums.as_mut_slice());
            }
            (sums, said)
        };
        let parts: Vec<(Matrix, Vec<T>)> =
            self.values.par_chunks((part * size).max(1)).enumerate().map(of_part).collect();
        let mut all = Matrix::zeros(padded, outputs);
        let mut said = Vec::with_capacity(blocks);
        for (sums, of_part) in parts {
            axpy(1.0, sums.as_slice(), all.as_mut_slice());
            said.extend(of_part);
        }
        let mut sums = Matrix::zeros(columns, outputs);
        for c in 0..outputs {
            let each = sums.column_mut(c).iter_mut().zip(all.column(c).iter().zip(&self.units));
            each.for_each(|(o, (s, u))| *o = s * u);
        }
        (sums, said)
    }
}
