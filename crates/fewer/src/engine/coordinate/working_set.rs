//! The columns that descent works on, and their products.

use super::gram::Gram;
use super::hessian::{Meetings, SparseCosts};
use crate::design::Design;
use crate::engine::{Interrupted, Observer};

/// How working columns are held.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Held {
    /// Not at all: sparse columns stay where they are.
    Sparse,
    /// Packed one after the other.
    Packed,
    /// Where they are; packed only as what needs them so asks for it.
    InPlace,
}

/// Working coefficients, and their columns, packed one after the other unless they are sparse.
pub(super) struct WorkingSet {
    /// Coefficients, in the order they came; with one output they are columns of the design.
    columns: Vec<usize>,
    inside: Vec<bool>,
    rows: usize,
    held: Held,
    /// The first columns.
    doubles: Vec<f64>,
    /// The first columns in single precision.
    singles: Vec<f32>,
    /// Products of the first columns; made only once they pay.
    gram: Gram,
    /// Of sparse columns.
    meetings: Meetings,
}

impl WorkingSet {
    pub fn new(coefficients: usize, design: &Design<'_>) -> Self {
        let held = if design.raw().as_sparse().is_some() {
            Held::Sparse
        } else if design.reads_in_place() {
            Held::InPlace
        } else {
            Held::Packed
        };
        Self {
            columns: Vec::new(),
            inside: vec![false; coefficients],
            rows: design.rows(),
            held,
            doubles: Vec::new(),
            singles: Vec::new(),
            gram: Gram::default(),
            meetings: Meetings::default(),
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

    pub fn is_dense(&self) -> bool {
        self.held != Held::Sparse
    }

    /// Whether the columns are packed in double precision as they come.
    pub fn is_packed(&self) -> bool {
        self.held == Held::Packed
    }

    /// Whether descent may take columns in single precision: the design has the others at hand.
    pub fn may_be_narrow(&self) -> bool {
        self.held == Held::InPlace
    }

    /// The columns that were packed, centred and scaled, one after the other.
    pub fn packed(&self) -> &[f64] {
        &self.doubles
    }

    /// Those in single precision.
    pub fn narrow(&self) -> &[f32] {
        &self.singles
    }

    /// How many of the columns have their products made.
    pub fn with_products(&self) -> usize {
        self.gram.order()
    }

    /// The products of all columns, those that are missing made now.
    pub fn products(&mut self, design: &Design<'_>) -> &Gram {
        self.pack(design);
        self.gram.extend(self.rows, &self.doubles, design.weights());
        &self.gram
    }

    /// Packs all columns.
    pub fn pack(&mut self, design: &Design<'_>) {
        let done = self.doubles.len() / self.rows.max(1);
        append(design, &self.columns[done..], &mut self.doubles);
    }

    /// Packs all columns in single precision; false where that has no room for their values.
    pub fn pack_narrow(&mut self, design: &Design<'_>) -> bool {
        let before = self.singles.len();
        let columns = design.raw().columns();
        let fresh = self.columns[before / self.rows.max(1)..].iter().map(|v| v % columns);
        design.append_narrow(&fresh.collect::<Vec<usize>>(), &mut self.singles);
        if !self.singles[before..].iter().fold(true, |finite, v| finite & v.is_finite()) {
            self.held = Held::Packed;
            self.singles = Vec::new();
            self.pack(design);
            return false;
        }
        true
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
        count(design, chosen, &mut self.meetings);
        if self.held == Held::Packed {
            self.pack(design);
        }
        Ok(())
    }

    /// What is done with sparse columns costs.
    pub fn sparse_costs(&self, outputs: usize) -> SparseCosts {
        SparseCosts::at(&self.meetings, outputs)
    }

    /// Keeps some of the columns.
    pub fn keep(&mut self, design: &Design<'_>, wanted: impl Fn(usize) -> bool) {
        let kept: Vec<usize> =
            (0..self.columns.len()).filter(|&k| wanted(self.columns[k])).collect();
        if kept.len() == self.columns.len() {
            return;
        }
        self.columns.iter().for_each(|&j| self.inside[j] = false);
        self.columns = kept.iter().map(|&k| self.columns[k]).collect();
        self.columns.iter().for_each(|&j| self.inside[j] = true);
        self.meetings = Meetings::default();
        count(design, &self.columns, &mut self.meetings);
        let order = self.gram.order();
        self.gram.keep(&kept[..kept.partition_point(|&k| k < order)]);
        keep_columns(self.rows, &kept, &mut self.doubles);
        keep_columns(self.rows, &kept, &mut self.singles);
    }
}

/// Counts where sparse columns of coefficients meet.
fn count(design: &Design<'_>, chosen: &[usize], meetings: &mut Meetings) {
    if let Some(x) = design.raw().as_sparse() {
        chosen.iter().for_each(|v| meetings.add(x, v % x.columns()));
    }
}

/// Appends the columns of coefficients.
fn append(design: &Design<'_>, chosen: &[usize], out: &mut Vec<f64>) {
    let columns = design.raw().columns();
    for of_output in chosen.chunk_by(|a, b| a / columns == b / columns) {
        let of_output: Vec<usize> = of_output.iter().map(|v| v % columns).collect();
        design.append(&of_output, out);
    }
}

/// Keeps those of the columns, which are the first, that are among the kept ones, which rise.
fn keep_columns<T: Copy>(rows: usize, kept: &[usize], packed: &mut Vec<T>) {
    let columns = packed.len() / rows.max(1);
    let kept = &kept[..kept.partition_point(|&k| k < columns)];
    for (new, &old) in kept.iter().enumerate() {
        packed.copy_within(old * rows..(old + 1) * rows, new * rows);
    }
    packed.truncate(kept.len() * rows);
}
