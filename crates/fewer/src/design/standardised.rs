//! The design as engines see it: centred, scaled, weighted by rows.

use super::Columns;
use crate::data::{DenseView, SparseView};
use crate::engine::{Interrupted, Observer};
use crate::linalg::{
    Matrix, Tile, add_combination, add_outer, add_transpose_products, axpy, cross_products, dot,
    expect_to_fill, narrow_into, products_of, products_with_each, sparse_dot, weighted_square,
};
use rayon::prelude::*;

/// Rows of a tile when a product runs over rows.
const ROWS: usize = 1024;
/// Columns of a tile.
const COLUMNS: usize = 256;

/// Columns (φ_j − centre_j) / scale_j with row weights, as an operator.
pub struct Design<'a> {
    columns: &'a dyn Columns,
    weights: Option<&'a [f64]>,
    centre: Vec<f64>,
    scale: Vec<f64>,
    /// Whether sums of raw values may be centred afterwards without losing digits.
    centre_last: bool,
}

/// Vectors that stay in cache while columns are multiplied by all of them.
const FEW: usize = 10;

/// Centres up to so many scales away cost at most three digits of a sum.
const NEAR: f64 = 1e3;
/// And up to so many, two digits of a product.
const NEARER: f64 = 10.0;

impl<'a> Design<'a> {
    /// Centres and scales the columns; scales are positive for every column that is used.
    pub fn new(
        columns: &'a dyn Columns,
        weights: Option<&'a [f64]>,
        centre: Vec<f64>,
        scale: Vec<f64>,
    ) -> Self {
        let centre_last = centre.iter().zip(&scale).all(|(c, s)| c.abs() <= NEAR * s);
        Self { columns, weights, centre, scale, centre_last }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.rows()
    }

    /// What holds the raw values.
    pub fn raw(&self) -> &dyn Columns {
        self.columns
    }

    /// What is subtracted from column `j`, and what it is then divided by.
    pub fn units(&self, j: usize) -> (f64, f64) {
        (self.centre[j], self.scale[j])
    }

    /// The row weights, if any.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights
    }

    /// Whether sums over rows are taken where the values are, column after column.
    pub(crate) fn reads_in_place(&self) -> bool {
        let dense = self.columns.as_dense().filter(|x| x.columns() > 0 && x.rows() > 0);
        // A row of weight 0 may hold anything.
        self.weights.is_none()
            && self.centre_last
            && dense.is_some_and(|x| x.column_slice(0).is_some())
    }

    /// The given rows of the chosen columns, centred and scaled.
    pub(crate) fn fill(&self, rows: std::ops::Range<usize>, chosen: &[usize], tile: &mut Tile) {
        self.columns.fill(rows.clone(), chosen, tile);
        let standard = |k: usize, v: f64| (v - self.centre[chosen[k]]) / self.scale[chosen[k]];
        match self.weights.map(|w| &w[rows]) {
            // A row of weight 0 may hold anything.
            Some(w) => tile.update(|i, k, v| if w[i] > 0.0 { standard(k, v) } else { 0.0 }),
            None => tile.update(|_, k, v| standard(k, v)),
        }
    }

    /// The chosen columns, centred and scaled, as a matrix.
    pub fn copy(&self, chosen: &[usize]) -> Matrix {
        let mut out = Vec::new();
        self.append(chosen, &mut out);
        Matrix::from_columns(self.rows(), chosen.len(), out)
    }

    /// Appends the chosen columns, centred and scaled, one after the other.
    pub fn append(&self, chosen: &[usize], packed: &mut Vec<f64>) {
        let n = self.rows();
        let before = packed.len();
        packed.resize(before + n * chosen.len(), 0.0);
        let out = &mut packed[before..];
        let counts = |i: usize| self.weights.is_none_or(|w| w[i] > 0.0);
        let dense = self.columns.as_dense();
        if let Some(x) = dense.filter(|x| x.columns() > 0 && x.column_slice(0).is_some()) {
            let columns = out.par_chunks_mut(n.max(1)).zip(chosen);
            columns.for_each(|(out, &j)| {
                let (centre, scale) = (self.centre[j], self.scale[j]);
                let values = x.column_slice(j).unwrap_or(&[]);
                for (i, (o, v)) in out.iter_mut().zip(values).enumerate() {
                    *o = if counts(i) { (v - centre) / scale } else { 0.0 };
                }
            });
            return;
        }
        let mut tile = Tile::default();
        for start in (0..n).step_by(ROWS) {
            let rows = start..(start + ROWS).min(n);
            self.fill(rows.clone(), chosen, &mut tile);
            for k in 0..chosen.len() {
                let column = &mut out[k * n..][rows.clone()];
                column.iter_mut().enumerate().for_each(|(i, v)| *v = tile.get(i, k));
            }
        }
    }

    /// [`append`](Self::append) in single precision, for columns that are read in place.
    pub(crate) fn append_narrow(&self, chosen: &[usize], packed: &mut Vec<f32>) {
        let (n, before) = (self.rows(), packed.len());
        packed.reserve(n * chosen.len());
        expect_to_fill(packed);
        packed.resize(before + n * chosen.len(), 0.0);
        let Some(x) = self.columns.as_dense() else { return };
        packed[before..].par_chunks_mut(n.max(1)).zip(chosen).for_each(|(out, &j)| {
            let column = x.column_slice(j).unwrap_or(&[]);
            narrow_into(column, self.centre[j], 1.0 / self.scale[j], out);
        });
    }

    /// Σ_j β_j φ_j over the chosen columns, for every row.
    pub fn apply(&self, chosen: &[usize], beta: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows()];
        if let Some(x) = self.columns.as_sparse() {
            let mut offset = 0.0;
            for (&j, &b) in chosen.iter().zip(beta) {
                let b = b / self.scale[j];
                offset += b * self.centre[j];
                x.column(j).for_each(|(i, v)| out[i] += b * v);
            }
            out.iter_mut().for_each(|o| *o -= offset);
            return out;
        }
        if let Some(x) = self.columns.as_dense().filter(|_| self.reads_in_place()) {
            let scaled = |(&j, b): (&usize, &f64)| (b / self.scale[j], x.column_slice(j));
            let columns: Vec<(f64, &[f64])> =
                chosen.iter().zip(beta).map(scaled).map(|(b, x)| (b, x.unwrap_or(&[]))).collect();
            add_combination(&columns, &mut out);
            let offset: f64 = columns.iter().zip(chosen).map(|(c, &j)| c.0 * self.centre[j]).sum();
            if offset != 0.0 {
                out.iter_mut().for_each(|o| *o -= offset);
            }
            return out;
        }
        out.par_chunks_mut(ROWS).enumerate().for_each(|(c, out)| {
            let mut tile = Tile::default();
            let rows = c * ROWS..c * ROWS + out.len();
            for (chosen, beta) in chosen.chunks(COLUMNS).zip(beta.chunks(COLUMNS)) {
                self.fill(rows.clone(), chosen, &mut tile);
                tile.add_product(beta, out);
            }
        });
        out
    }

    /// [`apply`](Self::apply) for several sets of weights, the columns being computed once.
    pub fn apply_each(&self, chosen: &[usize], betas: &[Vec<f64>]) -> Matrix {
        let n = self.rows();
        if self.columns.as_sparse().is_some() || betas.len() == 1 {
            let columns = betas.iter().flat_map(|beta| self.apply(chosen, beta)).collect();
            return Matrix::from_columns(n, betas.len(), columns);
        }
        let blocks: Vec<Vec<Vec<f64>>> = (0..n.div_ceil(ROWS))
            .into_par_iter()
            .map(|c| {
                let rows = c * ROWS..((c + 1) * ROWS).min(n);
                let mut out = vec![vec![0.0; rows.len()]; betas.len()];
                let mut tile = Tile::default();
                for (b, chosen) in chosen.chunks(COLUMNS).enumerate() {
                    self.fill(rows.clone(), chosen, &mut tile);
                    for (beta, out) in betas.iter().zip(&mut out) {
                        tile.add_product(&beta[b * COLUMNS..][..chosen.len()], out);
                    }
                }
                out
            })
            .collect();
        let mut out = Matrix::zeros(n, betas.len());
        for (c, block) in blocks.iter().enumerate() {
            for (k, values) in block.iter().enumerate() {
                out.column_mut(k)[c * ROWS..][..values.len()].copy_from_slice(values);
            }
        }
        out
    }

    /// Σ_i w_i φ_j(x_i) v_i for each of the chosen columns.
    pub fn apply_transpose(&self, chosen: &[usize], v: &[f64]) -> Vec<f64> {
        let weighted: Vec<f64> = match self.weights {
            Some(w) => v.iter().zip(w).map(|(v, w)| v * w).collect(),
            None => v.to_vec(),
        };
        if let Some(x) = self.columns.as_sparse() {
            let total: f64 = weighted.iter().sum();
            return chosen
                .par_iter()
                .map(|&j| {
                    let (rows, values) = x.column_slices(j);
                    let dot = sparse_dot(rows, values, &weighted);
                    (dot - self.centre[j] * total) / self.scale[j]
                })
                .collect();
        }
        let dense = self.columns.as_dense();
        if let Some(sums) = dense.and_then(|x| self.sums_in_place(x, chosen, &weighted)) {
            return sums;
        }
        let parts: Vec<Vec<f64>> = weighted
            .par_chunks(ROWS)
            .enumerate()
            .map(|(c, v)| {
                let mut part = vec![0.0; chosen.len()];
                let mut tile = Tile::default();
                let rows = c * ROWS..c * ROWS + v.len();
                for (chosen, part) in chosen.chunks(COLUMNS).zip(part.chunks_mut(COLUMNS)) {
                    self.fill(rows.clone(), chosen, &mut tile);
                    tile.add_transpose_product(v, part);
                }
                part
            })
            .collect();
        let mut total = vec![0.0; chosen.len()];
        for part in parts {
            total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
        }
        total
    }

    /// [`apply_transpose`](Self::apply_transpose) for several vectors, the columns being read once:
    /// a row for each of the chosen columns.
    pub fn apply_transpose_each(&self, chosen: &[usize], vectors: &Matrix) -> Matrix {
        let (n, many) = (self.rows(), vectors.columns());
        if self.columns.as_sparse().is_some() || many <= 1 {
            let each = (0..many).flat_map(|k| self.apply_transpose(chosen, vectors.column(k)));
            return Matrix::from_columns(chosen.len(), many, each.collect());
        }
        let dense = self.columns.as_dense().filter(|x| x.rows() > 0 && x.columns() > 0);
        if let Some(x) = dense.filter(|_| many <= FEW && self.reads_in_place()) {
            let columns: Vec<&[f64]> =
                chosen.iter().map(|&j| x.column_slice(j).unwrap_or(&[])).collect();
            let each: Vec<&[f64]> = (0..many).map(|k| vectors.column(k)).collect();
            let totals: Vec<f64> = each.iter().map(|v| v.iter().sum()).collect();
            let products = products_with_each(&columns, &each);
            let mut sums = Matrix::zeros(chosen.len(), many);
            for (c, (&j, products)) in chosen.iter().zip(products.chunks_exact(many)).enumerate() {
                let (centre, scale) = self.units(j);
                for (k, (p, total)) in products.iter().zip(&totals).enumerate() {
                    sums[(c, k)] = (p - centre * total) / scale;
                }
            }
            return sums;
        }
        let mut weighted = vectors.clone();
        if let Some(w) = self.weights {
            for k in 0..many {
                weighted.column_mut(k).iter_mut().zip(w).for_each(|(v, w)| *v *= w);
            }
        }
        // (many, chosen)
        let mut sums = Matrix::zeros(many, chosen.len());
        let whole = dense.and_then(|x| x.whole_columns()).filter(|_| self.centre_last);
        if let Some(values) = whole.filter(|_| 2 * chosen.len() >= self.columns.columns()) {
            let products = cross_products(n, weighted.as_slice(), values);
            let totals: Vec<f64> = (0..many).map(|k| weighted.column(k).iter().sum()).collect();
            for (c, &j) in chosen.iter().enumerate() {
                let (centre, scale) = self.units(j);
                let source = products.column(j).iter().zip(&totals);
                let out = sums.column_mut(c).iter_mut().zip(source);
                out.for_each(|(o, (p, total))| *o = (p - centre * total) / scale);
            }
        } else {
            let blocks = sums.as_mut_slice().par_chunks_mut((many * COLUMNS).max(1));
            blocks.zip(chosen.par_chunks(COLUMNS)).for_each(|(out, chosen)| {
                let mut tile = Tile::default();
                for start in (0..n).step_by(ROWS) {
                    let rows = start..(start + ROWS).min(n);
                    self.fill(rows.clone(), chosen, &mut tile);
                    add_transpose_products(&weighted, rows, &tile, out);
                }
            });
        }
        sums.transpose()
    }

    /// Σ_i w_i φ_j(x_i)² v_i for each of the chosen columns and several vectors: a row for each
    /// column.
    pub fn squares_with_each(&self, chosen: &[usize], vectors: &Matrix) -> Matrix {
        let (n, many) = (self.rows(), vectors.columns());
        let mut weighted = vectors.clone();
        if let Some(w) = self.weights {
            for k in 0..many {
                weighted.column_mut(k).iter_mut().zip(w).for_each(|(v, w)| *v *= w);
            }
        }
        // (many, chosen)
        let mut sums = Matrix::zeros(many, chosen.len());
        let in_place = self.weights.is_none() && self.centre_last;
        let dense = self.columns.as_dense().filter(|x| in_place && x.rows() > 0 && x.columns() > 0);
        if let Some(x) = dense.filter(|x| x.column_slice(0).is_some()) {
            let totals: Vec<f64> = (0..many).map(|k| vectors.column(k).iter().sum()).collect();
            let outs = sums.as_mut_slice().par_chunks_mut(many.max(1)).zip(chosen);
            outs.for_each(|(out, &j)| {
                let ((centre, scale), values) = (self.units(j), x.column_slice(j).unwrap_or(&[]));
                for (k, o) in out.iter_mut().enumerate() {
                    let v = vectors.column(k);
                    let shift = centre * (2.0 * dot(values, v) - centre * totals[k]);
                    *o = (weighted_square(values, v) - shift) / (scale * scale);
                }
            });
            return sums.transpose();
        }
        let blocks = sums.as_mut_slice().par_chunks_mut((many * COLUMNS).max(1));
        blocks.zip(chosen.par_chunks(COLUMNS)).for_each(|(out, chosen)| {
            let mut tile = Tile::default();
            for start in (0..n).step_by(ROWS) {
                let rows = start..(start + ROWS).min(n);
                self.fill(rows.clone(), chosen, &mut tile);
                tile.values_mut().iter_mut().for_each(|v| *v *= *v);
                add_transpose_products(&weighted, rows, &tile, out);
            }
        });
        sums.transpose()
    }

    /// Σ_i φ_j(x_i) v_i from values that are read where they are, and centred afterwards.
    fn sums_in_place(&self, x: DenseView<'_>, chosen: &[usize], v: &[f64]) -> Option<Vec<f64>> {
        if !self.centre_last || x.columns() == 0 || x.rows() == 0 {
            return None;
        }
        let total: f64 = v.iter().sum();
        let centred = |j: usize, sum: f64| (sum - self.centre[j] * total) / self.scale[j];
        if x.column_slice(0).is_some() {
            let column = |k: usize| x.column_slice(chosen[k]).unwrap_or(&[]);
            let mut sums = products_of(chosen.len(), column, v);
            sums.iter_mut().zip(chosen).for_each(|(s, &j)| *s = centred(j, *s));
            return Some(sums);
        }
        x.row_slice(0)?;
        let parts: Vec<Vec<f64>> = v
            .par_chunks(ROWS)
            .enumerate()
            .map(|(c, v)| {
                let mut part = vec![0.0; chosen.len()];
                let rows = v.iter().enumerate().filter(|(_, v)| **v != 0.0);
                for (i, &v) in rows {
                    let row = x.row_slice(c * ROWS + i).unwrap_or(&[]);
                    if chosen.len() == row.len() {
                        axpy(v, row, &mut part);
                    } else {
                        part.iter_mut().zip(chosen).for_each(|(p, &j)| *p += v * row[j]);
                    }
                }
                part
            })
            .collect();
        let mut sums = vec![0.0; chosen.len()];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
        }
        sums.iter_mut().zip(chosen).for_each(|(s, &j)| *s = centred(j, *s));
        Some(sums)
    }

    /// Whether columns `a` and `b` are equal, or opposite, to rounding.
    pub fn are_same(&self, a: usize, b: usize) -> bool {
        let mut tile = Tile::default();
        self.fill(0..self.rows(), &[a, b], &mut tile);
        let counts = |i: usize| self.weights.is_none_or(|w| w[i] > 0.0);
        [1.0, -1.0].iter().any(|sign| {
            (0..self.rows()).all(|i| {
                let (x, y) = (tile.get(i, 0), sign * tile.get(i, 1));
                !counts(i) || (x - y).abs() <= 1e-12 * (1.0 + x.abs())
            })
        })
    }

    /// A·Aᵀ for A = √w φ_j u_j: the lower triangle of an n×n matrix.
    pub fn outer(
        &self,
        chosen: &[usize],
        u: &[f64],
        observer: &dyn Observer,
    ) -> Result<Matrix, Interrupted> {
        let n = self.rows();
        if let Some(x) = self.columns.as_sparse()
            && chosen.iter().all(|&j| self.centre[j].abs() <= NEARER * self.scale[j])
        {
            return self.outer_of_sparse(x, chosen, u, observer);
        }
        let mut out = Matrix::zeros(n, n);
        let mut tile = Tile::default();
        for (chosen, u) in chosen.chunks(COLUMNS).zip(u.chunks(COLUMNS)) {
            observer.check()?;
            self.fill(0..n, chosen, &mut tile);
            tile.update(|i, k, v| v * u[k] * self.weights.map_or(1.0, |w| w[i].sqrt()));
            add_outer(&mut out, &tile);
        }
        Ok(out)
    }

    /// The same from the stored entries alone: Σ f x xᵀ − a1ᵀ − 1aᵀ + Σ f c², f being (u/scale)²
    /// and a = Σ f c x.
    fn outer_of_sparse(
        &self,
        x: SparseView<'_>,
        chosen: &[usize],
        u: &[f64],
        observer: &dyn Observer,
    ) -> Result<Matrix, Interrupted> {
        let n = self.rows();
        let mut out = Matrix::zeros(n, n);
        let mut with_centre = vec![0.0; n];
        let mut centres = 0.0;
        for (chosen, u) in chosen.chunks(COLUMNS).zip(u.chunks(COLUMNS)) {
            observer.check()?;
            for (&j, u) in chosen.iter().zip(u) {
                let factor = (u / self.scale[j]).powi(2);
                let (rows, values) = x.column_slices(j);
                centres += factor * self.centre[j].powi(2);
                for (k, (&b, right)) in rows.iter().zip(values).enumerate() {
                    let b = b as usize;
                    with_centre[b] += factor * self.centre[j] * right;
                    let column = out.column_mut(b);
                    let below = rows[k..].iter().zip(&values[k..]);
                    below.for_each(|(&a, left)| column[a as usize] += factor * left * right);
                }
            }
        }
        let root = |i: usize| self.weights.map_or(1.0, |w| w[i].sqrt());
        for b in 0..n {
            let column = out.column_mut(b).iter_mut().enumerate().skip(b);
            column.for_each(|(a, v)| {
                let roots = root(a) * root(b);
                let centred = *v - with_centre[a] - with_centre[b] + centres;
                *v = if roots > 0.0 { centred * roots } else { 0.0 };
            });
        }
        Ok(out)
    }
}
