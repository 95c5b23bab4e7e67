//! Factors and inverses of matrices so small that blocks of a library cost more than the
//! arithmetic in them.

use super::Matrix;
use super::products::Dots;
use pulp::{Simd, WithSimd};

/// Largest order for which this is faster.
pub(super) const SMALL: usize = 128;

/// Columns that are worked on together, and vectors of each of them.
const COLUMNS: usize = 4;
const VECTORS: usize = 2;

/// Columns padded with zeros to whole vectors, and whole groups of columns.
struct Padded {
    order: usize,
    /// Distance of two columns.
    apart: usize,
    values: Vec<f64>,
}

impl Padded {
    fn zeros<S: Simd>(order: usize) -> Self {
        let apart = order.next_multiple_of(VECTORS * S::F64_LANES);
        Self { order, apart, values: vec![0.0; apart * order.next_multiple_of(COLUMNS)] }
    }

    /// The lower triangle of a matrix.
    fn lower_of<S: Simd>(order: usize, matrix: &[f64]) -> Self {
        let apart = order.next_multiple_of(VECTORS * S::F64_LANES);
        let size = apart * order.next_multiple_of(COLUMNS);
        let mut values = Vec::with_capacity(size);
        for j in 0..order {
            values.resize(j * apart + j, 0.0);
            values.extend_from_slice(&matrix[j * order..][j..order]);
        }
        values.resize(size, 0.0);
        Self { order, apart, values }
    }

    fn columns(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.order).map(|j| &self.values[j * self.apart..][..self.order])
    }

    fn into_matrix(self) -> Matrix {
        let mut values = Vec::with_capacity(self.order * self.order);
        self.columns().for_each(|column| values.extend_from_slice(column));
        Matrix::from_columns(self.order, self.order, values)
    }
}

/// Adds to a group of columns, the first of which is `first`, multiples of the columns of `of`,
/// sign·by[first + q, p] times column p to column first + q: in the rows `rows`, which begin with a
/// vector, and for p from `from` of the row that a pair of vectors begins with.
#[inline(always)]
fn add_combinations<S: Simd>(
    simd: S,
    group: &mut [f64],
    first: usize,
    apart: usize,
    rows: std::ops::Range<usize>,
    of: &[f64],
    by: &[f64],
    sign: f64,
    from: impl Fn(usize) -> usize,
    to: usize,
) {
    let pair = VECTORS * S::F64_LANES;
    for start in (rows.start / pair * pair..rows.end).step_by(pair) {
        let mut sums = [[simd.splat_f64s(0.0); VECTORS]; COLUMNS];
        for (q, sums) in sums.iter_mut().enumerate() {
            let (column, _) = S::as_simd_f64s(&group[q * apart + start..][..pair]);
            *sums = [column[0], column[1]];
        }
        for p in from(start)..to {
            let (column, _) = S::as_simd_f64s(&of[p * apart + start..][..pair]);
            let factors = &by[p * apart + first..][..COLUMNS];
            for q in 0..COLUMNS {
                let factor = simd.splat_f64s(sign * factors[q]);
                for v in 0..VECTORS {
                    sums[q][v] = simd.mul_add_e_f64s(factor, column[v], sums[q][v]);
                }
            }
        }
        for (q, sums) in sums.iter().enumerate() {
            let (column, _) = S::as_mut_simd_f64s(&mut group[q * apart + start..][..pair]);
            column.copy_from_slice(sums);
        }
    }
}

/// y −= f·x.
#[inline(always)]
fn subtract(f: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y -= f * x);
}

/// Replaces a matrix, of which the lower triangle counts, by its lower factor; whether there is one.
pub(super) fn factorise(order: usize, matrix: &mut [f64]) -> bool {
    pulp::Arch::new().dispatch(Factorise { order, matrix })
}

struct Factorise<'a> {
    order: usize,
    matrix: &'a mut [f64],
}

impl WithSimd for Factorise<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let order = self.order;
        let mut padded = Padded::lower_of::<S>(order, self.matrix);
        let apart = padded.apart;
        for first in (0..order).step_by(COLUMNS) {
            let (done, rest) = padded.values.split_at_mut(first * apart);
            let group = &mut rest[..COLUMNS * apart];
            add_combinations(
                simd,
                group,
                first,
                apart,
                first..order,
                done,
                done,
                -1.0,
                |_| 0,
                first,
            );
            for j in first..(first + COLUMNS).min(order) {
                let (column, others) = group[(j - first) * apart..].split_at_mut(apart);
                let pivot = column[j];
                if !(pivot > 0.0 && pivot.is_finite()) {
                    return false;
                }
                column[..j].fill(0.0);
                let unit = 1.0 / pivot.sqrt();
                column[j..].iter_mut().for_each(|v| *v *= unit);
                for (q, other) in others.chunks_exact_mut(apart).enumerate() {
                    let row = j + 1 + q;
                    if row < order {
                        subtract(column[row], &column[row..], &mut other[row..]);
                    }
                }
            }
        }
        let columns = self.matrix.chunks_exact_mut(order.max(1)).zip(padded.columns());
        columns.for_each(|(out, column)| out.copy_from_slice(column));
        true
    }
}

/// L⁻ᵀ of a lower factor, upper triangular with zeros below, and L⁻ᵀL⁻¹.
pub(super) fn invert(order: usize, factor: &[f64]) -> (Matrix, Matrix) {
    pulp::Arch::new().dispatch(Invert { order, factor })
}

struct Invert<'a> {
    order: usize,
    factor: &'a [f64],
}

impl WithSimd for Invert<'_> {
    type Output = (Matrix, Matrix);

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> (Matrix, Matrix) {
        let order = self.order;
        let lower = Padded::lower_of::<S>(order, self.factor);
        let apart = lower.apart;
        // Column r of L⁻ᵀ is that of 1 less those before it, as often as row r of L says.
        let mut root = Padded::zeros::<S>(order);
        for first in (0..order).step_by(COLUMNS) {
            let (done, rest) = root.values.split_at_mut(first * apart);
            let group = &mut rest[..COLUMNS * apart];
            let by = &lower.values;
            add_combinations(simd, group, first, apart, 0..first, done, by, -1.0, |row| row, first);
            for r in first..(first + COLUMNS).min(order) {
                let (column, others) = group[(r - first) * apart..].split_at_mut(apart);
                column[r] += 1.0;
                let unit = 1.0 / lower.values[r * apart + r];
                column[..=r].iter_mut().for_each(|v| *v *= unit);
                for (q, other) in others.chunks_exact_mut(apart).enumerate() {
                    let row = r + 1 + q;
                    if row < order {
                        let f = lower.values[r * apart + row];
                        subtract(f, &column[..=r], &mut other[..=r]);
                    }
                }
            }
        }
        let mut inverse = Padded::zeros::<S>(order);
        for first in (0..order).step_by(COLUMNS) {
            let group = &mut inverse.values[first * apart..][..COLUMNS * apart];
            let (of, by) = (&root.values, &root.values);
            let from = |row: usize| row.max(first);
            add_combinations(simd, group, first, apart, 0..order, of, by, 1.0, from, order);
        }
        (root.into_matrix(), inverse.into_matrix())
    }
}

/// Solves L·Lᵀ·x = `right` in place.
pub(super) fn solve(order: usize, factor: &[f64], right: &mut [f64]) {
    pulp::Arch::new().dispatch(Solve { order, factor, right })
}

struct Solve<'a> {
    order: usize,
    factor: &'a [f64],
    right: &'a mut [f64],
}

impl WithSimd for Solve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { order, factor, right } = self;
        for j in 0..order {
            let column = &factor[j * order..][j..order];
            let (x, below) = right[j..].split_at_mut(1);
            x[0] /= column[0];
            subtract(x[0], &column[1..], below);
        }
        for j in (0..order).rev() {
            let column = &factor[j * order..][j..order];
            let (x, below) = right[j..].split_at_mut(1);
            let known = Dots { columns: [&column[1..]], v: below }.with_simd(simd)[0];
            x[0] = (x[0] - known) / column[0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A matrix of the largest elements on the diagonal, and none of it zero.
    fn positive_definite(order: usize) -> Vec<f64> {
        let entry = |i: usize, j: usize| (-((i as f64 - j as f64) / 5.0).abs()).exp();
        let of = |k: usize| {
            let (i, j) = (k % order, k / order);
            entry(i, j) + if i == j { 0.1 } else { 0.0 }
        };
        (0..order * order).map(of).collect()
    }

    #[test]
    fn factors_inverses_and_solutions_belong_to_the_matrix() {
        for order in (0..=40).chain([63, 64, 65, SMALL]) {
            let matrix = positive_definite(order);
            let mut factor = matrix.clone();
            // What stands above the diagonal does not count.
            (0..order).for_each(|j| factor[j * order..][..j].fill(f64::NAN));
            assert!(factorise(order, &mut factor));
            let (root, inverse) = invert(order, &factor);
            let (root, inverse) = (root.as_slice(), inverse.as_slice());
            let product = |a: &dyn Fn(usize, usize) -> f64, b: &dyn Fn(usize, usize) -> f64| {
                let entry = |k: usize| {
                    let (i, j) = (k % order, k / order);
                    (0..order).map(|p| a(i, p) * b(p, j)).sum::<f64>()
                };
                (0..order * order).map(entry).collect::<Vec<f64>>()
            };
            let at = |m: &[f64], i: usize, j: usize| m[j * order + i];
            let lower = |i: usize, j: usize| at(&factor, i, j);
            let is = |found: &[f64], wanted: &dyn Fn(usize, usize) -> f64| {
                let errors =
                    (0..order * order).map(|k| (found[k] - wanted(k % order, k / order)).abs());
                assert!(errors.fold(0.0, f64::max) < 1e-12, "order {order}");
            };
            is(&product(&lower, &|i, j| lower(j, i)), &|i, j| at(&matrix, i, j));
            is(&product(&|i, j| at(root, i, j), &|i, j| at(root, j, i)), &|i, j| at(inverse, i, j));
            let one = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
            is(&product(&|i, j| at(inverse, i, j), &|i, j| at(&matrix, i, j)), &one);
            for j in 0..order {
                assert!((j + 1..order).all(|i| at(root, i, j) == 0.0));
                assert!((0..order).all(|i| at(inverse, i, j) == at(inverse, j, i)));
            }
            let wanted: Vec<f64> = (0..order).map(|i| (i as f64).cos()).collect();
            let mut right: Vec<f64> = (0..order)
                .map(|i| (0..order).map(|j| at(&matrix, i, j) * wanted[j]).sum())
                .collect();
            solve(order, &factor, &mut right);
            assert!(right.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn what_has_no_factor_is_told() {
        for pivot in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
            let mut matrix = positive_definite(20);
            matrix[17 * 20 + 17] = pivot;
            assert!(!factorise(20, &mut matrix), "{pivot}");
        }
    }
}
