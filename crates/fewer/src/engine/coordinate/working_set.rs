//! The columns that descent works on, and their products.

use super::gram::Gram;
use crate::design::Design;
use crate::engine::{Interrupted, Observer};

/// Working coefficients, and their columns, packed one after the other unless they are sparse.
pub(super) struct WorkingSet {
    /// Coefficients, in the order they came; with one output they are columns of the design.
    columns: Vec<usize>,
    inside: Vec<bool>,
    rows: usize,
    packed: Option<Vec<f64>>,
    /// Products of the first columns; made only once they pay.
    gram: Gram,
}

impl WorkingSet {
    pub fn new(coefficients: usize, pack: bool, design: &Design<'_>) -> Self {
        Self {
            columns: Vec::new(),
            inside: vec![false; coefficients],
            rows: design.rows(),
            packed: pack.then(Vec::new),
            gram: Gram::default(),
        }
    }

    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub fn len(&self) -> usize {
        self.columns.len()
    }

    pub fn contains(&self, j: usize) -> bool {
        self.inside[j]
    }

    pub fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// The columns, centred and scaled, one after the other.
    pub fn packed(&self) -> &[f64] {
        self.packed.as_deref().unwrap_or(&[])
    }

    /// How many of the columns have their products made.
    pub fn with_products(&self) -> usize {
        self.gram.order()
    }

    /// The products of all columns, those that are missing made now.
    pub fn products(&mut self, weights: Option<&[f64]>) -> &Gram {
        self.gram.extend(self.rows, self.packed.as_deref().unwrap_or(&[]), weights);
        &self.gram
    }

    /// Adds columns that are not there yet.
    pub fn add(
        &mut self,
        design: &Design<'_>,
        chosen: &[usize],
        observer: &dyn Observer,
    ) -> Result<(), Interrupted> {
        observer.check()?;
        chosen.iter().for_each(|&j| self.inside[j] = true);
        self.columns.extend_from_slice(chosen);
        if let Some(packed) = &mut self.packed {
            let columns = design.raw().columns();
            for of_output in chosen.chunk_by(|a, b| a / columns == b / columns) {
                let of_output: Vec<usize> = of_output.iter().map(|v| v % columns).collect();
                design.append(&of_output, packed);
            }
        }
        Ok(())
    }

    /// Keeps some of the columns.
    pub fn keep(&mut self, wanted: impl Fn(usize) -> bool) {
        let kept: Vec<usize> =
            (0..self.columns.len()).filter(|&k| wanted(self.columns[k])).collect();
        if kept.len() == self.columns.len() {
            return;
        }
        self.columns.iter().for_each(|&j| self.inside[j] = false);
        self.columns = kept.iter().map(|&k| self.columns[k]).collect();
        self.columns.iter().for_each(|&j| self.inside[j] = true);
        let order = self.gram.order();
        self.gram.keep(&kept[..kept.partition_point(|&k| k < order)]);
        if let Some(packed) = &mut self.packed {
            for (new, &old) in kept.iter().enumerate() {
                packed.copy_within(old * self.rows..(old + 1) * self.rows, new * self.rows);
            }
            packed.truncate(kept.len() * self.rows);
        }
    }
}
