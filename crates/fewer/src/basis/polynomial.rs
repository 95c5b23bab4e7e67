//! All products of features up to a degree.

use crate::data::{Features, SparseMatrix, SparseView};
use crate::design::{Columns, SparseColumns};
use crate::error::{Error, Result};
use crate::linalg::{Layout, Tile};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// More functions than this are refused: no engine would end.
const LIMIT: u128 = 10_000_000;

/// A product of features: positions with powers, positions rising.
pub type Monomial = Vec<(usize, u32)>;

/// Products of features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Polynomial {
    monomials: Vec<Monomial>,
}

impl Polynomial {
    pub(super) fn up_to(columns: usize, degree: usize) -> Result<Self> {
        if degree == 0 {
            return Err(Error::setting("degree", degree, "a whole number of at least 1 is needed"));
        }
        let mut count: u128 = 1;
        for k in 1..=degree as u128 {
            count = count.saturating_mul(columns as u128 + k) / k;
            if count > LIMIT {
                return Err(Error::setting(
                    "degree",
                    degree,
                    format!(
                        "{columns} columns have over {LIMIT} products of that degree; lower it"
                    ),
                ));
            }
        }
        let mut monomials = Vec::with_capacity(count as usize - 1);
        for d in 1..=degree {
            extend(&mut monomials, &mut Vec::new(), 0, columns, d);
        }
        Ok(Self { monomials })
    }

    pub(super) fn len(&self) -> usize {
        self.monomials.len()
    }

    pub(super) fn largest(&self) -> usize {
        self.monomials.iter().flatten().map(|f| f.0).max().unwrap_or(0)
    }

    /// The products.
    pub fn monomials(&self) -> &[Monomial] {
        &self.monomials
    }

    pub(super) fn name(&self, k: usize, feature: &dyn Fn(usize) -> String) -> String {
        let factors: Vec<String> = self.monomials[k]
            .iter()
            .map(|&(j, power)| format!("{}{}", feature(j), superscript(power)))
            .collect();
        factors.join("·")
    }

    pub(super) fn keep(&self, chosen: &[usize]) -> Self {
        Self { monomials: chosen.iter().map(|&k| self.monomials[k].clone()).collect() }
    }

    pub(super) fn columns<'a>(&'a self, x: Features<'a>) -> Box<dyn Columns + 'a> {
        match x {
            Features::Dense(_) => {
                Box::new(Products { inner: super::linear::whole(x), monomials: &self.monomials })
            }
            Features::Sparse(x) => Box::new(SparseColumns::Owned(sparse(x, &self.monomials))),
        }
    }
}

/// All monomials of exactly `degree` in features from `first` on, in lexicographic order.
fn extend(
    out: &mut Vec<Monomial>,
    prefix: &mut Monomial,
    first: usize,
    columns: usize,
    degree: usize,
) {
    if degree == 0 {
        out.push(prefix.clone());
        return;
    }
    for j in first..columns {
        for power in (1..=degree).rev() {
            prefix.push((j, power as u32));
            extend(out, prefix, j + 1, columns, degree - power);
            prefix.pop();
        }
    }
}

fn superscript(power: u32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    if power == 1 {
        return String::new();
    }
    power.to_string().bytes().map(|b| DIGITS[usize::from(b - b'0')]).collect()
}

/// Dense products, computed tile by tile and never held as a whole.
struct Products<'a> {
    inner: Box<dyn Columns + 'a>,
    monomials: &'a [Monomial],
}

impl Columns for Products<'_> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.monomials.len()
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        let mut needed: Vec<usize> =
            columns.iter().flat_map(|&k| self.monomials[k].iter().map(|f| f.0)).collect();
        needed.sort_unstable();
        needed.dedup();
        let mut source = Tile::default();
        self.inner.fill(rows.clone(), &needed, &mut source);
        tile.reset(rows.len(), columns.len(), Layout::Columns);
        let target = tile.values_mut().chunks_exact_mut(rows.len().max(1));
        for (&k, out) in columns.iter().zip(target) {
            out.fill(1.0);
            for &(j, power) in &self.monomials[k] {
                let column = needed.partition_point(|&n| n < j);
                for (i, o) in out.iter_mut().enumerate() {
                    *o *= source.get(i, column).powi(power as i32);
                }
            }
        }
    }
}

/// Sparse products: an entry stands only where every factor has one.
fn sparse(x: SparseView<'_>, monomials: &[Monomial]) -> SparseMatrix {
    let mut starts = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for monomial in monomials {
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for (f, &(j, power)) in monomial.iter().enumerate() {
            let mut column = x.column(j).map(|(i, v)| (i, v.powi(power as i32))).peekable();
            if f == 0 {
                entries = column.collect();
                continue;
            }
            entries.retain_mut(|(i, v)| {
                while column.next_if(|(k, _)| k < i).is_some() {}
                match column.next_if(|(k, _)| k == i) {
                    Some((_, u)) => {
                        *v *= u;
                        true
                    }
                    None => false,
                }
            });
        }
        indices.extend(entries.iter().map(|e| e.0));
        values.extend(entries.iter().map(|e| e.1));
        starts.push(indices.len());
    }
    SparseMatrix::new(x.rows(), monomials.len(), starts, indices, values)
        .expect("rows rise in each column, as they do in x")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DenseView;

    #[test]
    fn names_and_order_are_readable() {
        let p = Polynomial::up_to(2, 3).unwrap();
        let features = ["a".to_string(), "b".to_string()];
        let names: Vec<String> =
            (0..p.len()).map(|k| p.name(k, &|j| features[j].clone())).collect();
        assert_eq!(names, ["a", "b", "a²", "a·b", "b²", "a³", "a²·b", "a·b²", "b³"]);
    }

    #[test]
    fn dense_and_sparse_products_agree() {
        let values = [1.0, 0.0, 3.0, 0.0, 2.0, -1.0, 4.0, 0.5, 0.0];
        let dense = DenseView::by_columns(&values, 3, 3).unwrap();
        let sparse = SparseMatrix::new(
            3,
            3,
            vec![0, 2, 4, 6],
            vec![0, 2, 1, 2, 0, 1],
            vec![1.0, 3.0, 2.0, -1.0, 4.0, 0.5],
        )
        .unwrap();
        let p = Polynomial::up_to(3, 3).unwrap();
        let all: Vec<usize> = (0..p.len()).collect();
        let (mut a, mut b) = (Tile::default(), Tile::default());
        p.columns(dense.into()).fill(0..3, &all, &mut a);
        p.columns(sparse.view().into()).fill(0..3, &all, &mut b);
        assert_eq!(a.values(), b.values());
        assert_eq!(p.len(), 19);
    }

    #[test]
    fn too_many_products_are_refused() {
        let message = Polynomial::up_to(10_000, 3).unwrap_err().to_string();
        assert!(message.contains("lower it"), "{message}");
        assert!(Polynomial::up_to(3, 0).is_err());
    }
}
