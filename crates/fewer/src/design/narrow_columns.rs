//! A design in single precision, by columns: half the memory to read, for a first look at all of
//! them.

use super::Design;
use crate::linalg::{dot_narrow, expect_to_fill, narrow_into};
use rayon::prelude::*;

/// Rows whose products are added up in single precision.
const ROWS: usize = 512;

/// Columns, each divided by its norm.
pub(crate) struct NarrowColumns {
    rows: usize,
    values: Vec<f32>,
}

impl NarrowColumns {
    /// How far products are from those in double precision at most, both norms being one: factors
    /// and sums are rounded, the latter no more often than a quarter of the rows taken together.
    pub const ROUNDING: f64 = 1e-5;

    /// Bytes that so many values take.
    pub fn bytes(rows: usize, columns: usize) -> usize {
        rows.saturating_mul(columns).saturating_mul(4)
    }

    /// All columns of a design that is read in place, centred, scaled, and divided by their norms.
    pub fn new(design: &Design<'_>, norm: impl Fn(usize) -> f64 + Sync) -> Option<Self> {
        let x = design.raw().as_dense().filter(|_| design.reads_in_place())?;
        let rows = design.rows();
        let mut values = vec![0.0; rows * x.columns()];
        expect_to_fill(&values);
        values.par_chunks_mut(rows).enumerate().for_each(|(j, out)| {
            let (centre, scale) = design.units(j);
            narrow_into(x.column_slice(j).unwrap_or(&[]), centre, 1.0 / (scale * norm(j)), out);
        });
        Some(Self { rows, values })
    }

    /// Products of the chosen columns with a vector of norm one.
    pub fn products(&self, chosen: &[usize], v: &[f32]) -> Vec<f64> {
        let product = |&j: &usize| {
            let column = self.values[j * self.rows..][..self.rows].chunks(ROWS);
            column.zip(v.chunks(ROWS)).map(|(x, v)| dot_narrow(x, v)).sum()
        };
        chosen.par_iter().with_min_len(64).map(product).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DenseView;
    use crate::design::DenseColumns;

    #[test]
    fn products_are_within_rounding_of_exact_ones() {
        let (rows, columns) = (2000, 7);
        let wave = |i: usize| ((i * i) as f64 * 0.7).sin();
        let x: Vec<f64> = (0..rows * columns).map(|i| 10f64.powi(i as i32 % 9) * wave(i)).collect();
        let view = DenseView::by_columns(&x, rows, columns).unwrap();
        let held = DenseColumns::Borrowed(view);
        let design = Design::new(&held, None, vec![0.0; columns], vec![1.0; columns]);
        let norm = |j: usize| x[j * rows..][..rows].iter().map(|v| v * v).sum::<f64>().sqrt();
        let narrow = NarrowColumns::new(&design, norm).unwrap();
        let v: Vec<f64> = (0..rows).map(|i| wave(i + 5)).collect();
        let size = v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let unit: Vec<f32> = v.iter().map(|v| (v / size) as f32).collect();
        let chosen = [0, 3, 6];
        for (&j, product) in chosen.iter().zip(narrow.products(&chosen, &unit)) {
            let exact: f64 = x[j * rows..][..rows].iter().zip(&v).map(|(x, v)| x * v).sum();
            let error = (product - exact / (norm(j) * size)).abs();
            assert!(error <= NarrowColumns::ROUNDING && error > 0.0);
        }
    }
}
