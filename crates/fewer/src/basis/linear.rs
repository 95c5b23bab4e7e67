//! The features themselves.

use crate::data::Features;
use crate::design::{Columns, DenseColumns, SparseColumns};
use crate::linalg::Tile;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The features with the given positions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Linear {
    features: Vec<usize>,
}

impl Linear {
    pub(super) fn all(columns: usize) -> Self {
        Self { features: (0..columns).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.features.len()
    }

    pub(super) fn largest(&self) -> usize {
        self.features.iter().copied().max().unwrap_or(0)
    }

    pub(super) fn name(&self, k: usize, feature: &dyn Fn(usize) -> String) -> String {
        feature(self.features[k])
    }

    pub(super) fn keep(&self, chosen: &[usize]) -> Self {
        Self { features: chosen.iter().map(|&k| self.features[k]).collect() }
    }

    pub(super) fn columns<'a>(&'a self, x: Features<'a>) -> Box<dyn Columns + 'a> {
        if self.features.len() == x.columns() {
            whole(x)
        } else {
            Box::new(Selected { inner: whole(x), features: &self.features })
        }
    }
}

/// All columns of x.
pub(super) fn whole<'a>(x: Features<'a>) -> Box<dyn Columns + 'a> {
    match x {
        Features::Dense(x) => Box::new(DenseColumns::Borrowed(x)),
        Features::Sparse(x) => Box::new(SparseColumns::Borrowed(x)),
    }
}

struct Selected<'a> {
    inner: Box<dyn Columns + 'a>,
    features: &'a [usize],
}

impl Columns for Selected<'_> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.features.len()
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        let features: Vec<usize> = columns.iter().map(|&k| self.features[k]).collect();
        self.inner.fill(rows, &features, tile);
    }
}
