//! The columns that descent works on, and their products.

use super::gram::Gram;
use crate::design::Design;
use crate::engine::{Interrupted, Observer};
use crate::linalg::cross_products;

/// Working columns: packed one after the other, with their products, unless they are sparse.
pub(super) struct WorkingSet {
    /// Columns of the design, in the order they came.
    columns: Vec<usize>,
    inside: Vec<bool>,
    rows: usize,
    packed: Option<Vec<f64>>,
    gram: Option<Gram>,
}

impl WorkingSet {
    pub fn new(columns: usize, design: &Design<'_>) -> Self {
        let dense = design.raw().as_sparse().is_none();
        Self {
            columns: Vec::new(),
            inside: vec![false; columns],
            rows: design.rows(),
            packed: dense.then(Vec::new),
            gram: dense.then(Gram::default),
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

    pub fn gram(&self) -> Option<&Gram> {
        self.gram.as_ref()
    }

    pub fn has_products(&self) -> bool {
        self.gram.is_some()
    }

    pub fn is_packed(&self) -> bool {
        self.packed.is_some()
    }

    /// The columns, centred and scaled, one after the other.
    pub fn packed(&self) -> &[f64] {
        self.packed.as_deref().unwrap_or(&[])
    }

    /// Adds columns that are not there yet.
    pub fn add(
        &mut self,
        design: &Design<'_>,
        chosen: &[usize],
        observer: &dyn Observer,
    ) -> Result<(), Interrupted> {
        chosen.iter().for_each(|&j| self.inside[j] = true);
        let before = self.columns.len();
        self.columns.extend_from_slice(chosen);
        let (Some(packed), false) = (&mut self.packed, chosen.is_empty()) else { return Ok(()) };
        observer.check()?;
        let fresh = design.copy(chosen);
        packed.extend_from_slice(fresh.as_slice());
        let Some(gram) = &mut self.gram else { return Ok(()) };
        let weighted = design.weights().map(|w| {
            let mut weighted = fresh.clone();
            for k in 0..chosen.len() {
                weighted.column_mut(k).iter_mut().zip(w).for_each(|(v, w)| *v *= w);
            }
            weighted
        });
        let right = weighted.as_ref().unwrap_or(&fresh);
        observer.check()?;
        let products = cross_products(self.rows, packed, right.as_slice());
        gram.grow(self.columns.len());
        for k in 0..chosen.len() {
            for (i, &value) in products.column(k).iter().enumerate().take(before + k + 1) {
                gram.set(i, before + k, value);
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
        if let Some(gram) = &mut self.gram {
            gram.keep(&kept);
        }
        if let Some(packed) = &mut self.packed {
            for (new, &old) in kept.iter().enumerate() {
                packed.copy_within(old * self.rows..(old + 1) * self.rows, new * self.rows);
            }
            packed.truncate(kept.len() * self.rows);
        }
    }
}
