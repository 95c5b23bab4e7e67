//! A symmetric matrix that grows by rows and columns.

use crate::linalg::{Matrix, cross_products};

/// Columns whose products are made at a time.
const BLOCK: usize = 256;

/// Products of working columns with each other, in storage with room to grow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gram {
    order: usize,
    stride: usize,
    values: Vec<f64>,
}

impl Gram {
    pub fn order(&self) -> usize {
        self.order
    }

    /// Column `k`.
    pub fn column(&self, k: usize) -> &[f64] {
        &self.values[k * self.stride..][..self.order]
    }

    pub fn diagonal(&self, k: usize) -> f64 {
        self.values[k * self.stride + k]
    }

    /// All of it.
    pub fn to_matrix(&self) -> Matrix {
        let values = (0..self.order).flat_map(|k| self.column(k)).copied().collect();
        Matrix::from_columns(self.order, self.order, values)
    }

    /// Grows to a new order; the new entries are zero.
    pub fn grow(&mut self, order: usize) {
        if order > self.stride {
            let stride = order.max(self.stride + self.stride / 2);
            let mut values = vec![0.0; stride * stride];
            for k in 0..self.order {
                values[k * stride..][..self.order].copy_from_slice(self.column(k));
            }
            (self.stride, self.values) = (stride, values);
        } else {
            for k in 0..order {
                let first = if k < self.order { self.order } else { 0 };
                self.values[k * self.stride..][first..order].fill(0.0);
            }
        }
        self.order = order;
    }

    /// Grows by the products of columns with each other: of all of `packed`, each of so many
    /// rows, of which the first ones are there already.
    pub fn extend(&mut self, rows: usize, packed: &[f64], weights: Option<&[f64]>) {
        let before = self.order;
        let order = packed.len() / rows.max(1);
        self.grow(order);
        for first in (before..order).step_by(BLOCK) {
            let last = (first + BLOCK).min(order);
            let fresh = &packed[first * rows..last * rows];
            let weighted: Option<Vec<f64>> = weights.map(|w| {
                fresh.chunks_exact(rows).flat_map(|c| c.iter().zip(w).map(|(v, w)| v * w)).collect()
            });
            let right = weighted.as_deref().unwrap_or(fresh);
            let products = cross_products(rows, &packed[..last * rows], right);
            for k in first..last {
                let column = &products.column(k - first)[..=k];
                self.values[k * self.stride..][..=k].copy_from_slice(column);
            }
            // The mirror image, row by row of it, so that what is written lies side by side.
            for i in 0..last {
                let k = first.max(i + 1);
                for k in k..last {
                    self.values[i * self.stride + k] = products.column(k - first)[i];
                }
            }
        }
    }

    /// Sets entries (i, k) and (k, i).
    pub fn set(&mut self, i: usize, k: usize, value: f64) {
        self.values[k * self.stride + i] = value;
        self.values[i * self.stride + k] = value;
    }

    /// Keeps the given rows and columns only, which rise.
    pub fn keep(&mut self, kept: &[usize]) {
        for (new_k, &k) in kept.iter().enumerate() {
            for (new_i, &i) in kept.iter().enumerate() {
                self.values[new_k * self.stride + new_i] = self.values[k * self.stride + i];
            }
        }
        self.order = kept.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growing_and_keeping_preserve_entries() {
        let mut gram = Gram::default();
        for order in 1..20 {
            gram.grow(order);
            for i in 0..order {
                gram.set(i, order - 1, (i * 100 + order - 1) as f64);
            }
        }
        let entry = |i: usize, k: usize| (i.min(k) * 100 + i.max(k)) as f64;
        assert!((0..19).all(|k| (0..19).all(|i| gram.column(k)[i] == entry(i, k))));
        let kept = [0, 3, 4, 11, 18];
        gram.keep(&kept);
        gram.grow(6);
        for k in 0..5 {
            assert!((0..5).all(|i| gram.column(k)[i] == entry(kept[i], kept[k])));
            assert_eq!(gram.column(k)[5], 0.0);
        }
        assert!(gram.column(5).iter().all(|v| *v == 0.0));
    }
}
