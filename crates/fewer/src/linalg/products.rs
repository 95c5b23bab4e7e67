//! Products of vectors, tiles and matrices.

use super::{Layout, Matrix, Tile, clear_vector_registers};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Vectors shorter than this are not worth asking what the machine can do.
const SHORT: usize = 32;

/// a·b, summed in an order fixed by the length.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < SHORT {
        return a.iter().zip(b).map(|(a, b)| a * b).sum();
    }
    pulp::Arch::new().dispatch(Dots { columns: [a], v: b })[0]
}

/// Columns that are multiplied by a vector at a time, which is then read once for all of them.
const TOGETHER: usize = 4;

/// Products of columns with one vector; each is summed in an order fixed by the length.
// Vectors are written out: the compiler finds ones across the columns, half as fast.
pub(super) struct Dots<'a, const COLUMNS: usize> {
    pub columns: [&'a [f64]; COLUMNS],
    pub v: &'a [f64],
}

impl<const COLUMNS: usize> pulp::WithSimd for Dots<'_, COLUMNS> {
    type Output = [f64; COLUMNS];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> [f64; COLUMNS] {
        let n = self.v.len();
        let (v, v_rest) = S::as_simd_f64s(self.v);
        let columns = self.columns.map(|x| S::as_simd_f64s(&x[..n]));
        let zero = simd.splat_f64s(0.0);
        let mut sums = [[zero; 2]; COLUMNS];
        let (v, v_last) = v.as_chunks::<2>();
        let halves = columns.map(|x| x.0.as_chunks::<2>());
        for (i, v) in v.iter().enumerate() {
            for k in 0..COLUMNS {
                let x = &halves[k].0[i];
                sums[k][0] = simd.mul_add_e_f64s(x[0], v[0], sums[k][0]);
                sums[k][1] = simd.mul_add_e_f64s(x[1], v[1], sums[k][1]);
            }
        }
        let rest = simd.partial_load_f64s(v_rest);
        let mut out = [0.0; COLUMNS];
        for k in 0..COLUMNS {
            let [mut first, second] = sums[k];
            for (x, v) in halves[k].1.iter().zip(v_last) {
                first = simd.mul_add_e_f64s(*x, *v, first);
            }
            let second = simd.mul_add_e_f64s(simd.partial_load_f64s(columns[k].1), rest, second);
            out[k] = simd.reduce_sum_f64s(simd.add_f64s(first, second));
        }
        out
    }
}

/// Products of many columns with one vector; threads share the columns.
pub fn products_with(columns: &[&[f64]], v: &[f64]) -> Vec<f64> {
    products_of(columns.len(), |k| columns[k], v)
}

/// Dot products of columns with two vectors, each column being read once for both.
struct DotsOfTwo<'a, const COLUMNS: usize> {
    columns: [&'a [f64]; COLUMNS],
    vectors: [&'a [f64]; 2],
}

impl<const COLUMNS: usize> pulp::WithSimd for DotsOfTwo<'_, COLUMNS> {
    type Output = [[f64; COLUMNS]; 2];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> [[f64; COLUMNS]; 2] {
        let n = self.vectors[0].len();
        let vectors = self.vectors.map(|v| S::as_simd_f64s(&v[..n]));
        let columns = self.columns.map(|x| S::as_simd_f64s(&x[..n]));
        let mut sums = [[simd.splat_f64s(0.0); COLUMNS]; 2];
        let [first, second] = vectors.map(|v| v.0);
        for (i, (first, second)) in first.iter().zip(second).enumerate() {
            for k in 0..COLUMNS {
                let x = columns[k].0[i];
                sums[0][k] = simd.mul_add_e_f64s(x, *first, sums[0][k]);
                sums[1][k] = simd.mul_add_e_f64s(x, *second, sums[1][k]);
            }
        }
        let rest = vectors.map(|v| simd.partial_load_f64s(v.1));
        let mut out = [[0.0; COLUMNS]; 2];
        for k in 0..COLUMNS {
            let x = simd.partial_load_f64s(columns[k].1);
            for l in 0..2 {
                out[l][k] = simd.reduce_sum_f64s(simd.mul_add_e_f64s(x, rest[l], sums[l][k]));
            }
        }
        out
    }
}

/// The same of so many columns that are looked up one by one.
pub fn products_of<'a>(
    count: usize,
    column: impl Fn(usize) -> &'a [f64] + Sync,
    v: &[f64],
) -> Vec<f64> {
    let mut products = vec![0.0; count];
    products.par_chunks_mut(TOGETHER).enumerate().for_each(|(group, products)| {
        let first = group * TOGETHER;
        if products.len() == TOGETHER {
            let columns = [first, first + 1, first + 2, first + 3].map(&column);
            products.copy_from_slice(&pulp::Arch::new().dispatch(Dots { columns, v }));
        } else {
            products.iter_mut().zip(first..).for_each(|(p, k)| *p = dot(column(k), v));
        }
    });
    products
}

/// Products of many columns with each of several vectors, which follow each other for a column: the
/// columns are read from memory once; threads share them.
pub fn products_with_each(columns: &[&[f64]], vectors: &[&[f64]]) -> Vec<f64> {
    const ROWS: usize = 1024;
    let (many, rows) = (vectors.len(), vectors.first().map_or(0, |v| v.len()));
    let mut products = vec![0.0; many * columns.len()];
    let groups = products.par_chunks_mut((many * TOGETHER).max(1));
    groups.zip(columns.par_chunks(TOGETHER)).for_each(|(products, columns)| {
        for start in (0..rows).step_by(ROWS) {
            let block = start..(start + ROWS).min(rows);
            match *columns {
                [a, b, c, d] => {
                    let columns = [a, b, c, d].map(|x| &x[block.clone()]);
                    for (p, pair) in vectors.chunks(2).enumerate() {
                        let mut add = |k: usize, sums: [f64; TOGETHER]| {
                            let each = sums.iter().enumerate();
                            each.for_each(|(j, sum)| products[many * j + 2 * p + k] += sum);
                        };
                        let arch = pulp::Arch::new();
                        if let [v, u] = pair {
                            let vectors = [&v[block.clone()], &u[block.clone()]];
                            let [first, second] = arch.dispatch(DotsOfTwo { columns, vectors });
                            add(0, first);
                            add(1, second);
                        } else {
                            add(0, arch.dispatch(Dots { columns, v: &pair[0][block.clone()] }));
                        }
                    }
                }
                _ => {
                    for (k, v) in vectors.iter().enumerate() {
                        let each = columns.iter().enumerate();
                        each.for_each(|(j, x)| {
                            products[many * j + k] += dot(&x[block.clone()], &v[block.clone()])
                        });
                    }
                }
            }
        }
    });
    products
}

/// y += Σ s·x over columns x with their factors s; threads share the rows.
pub fn add_combination(columns: &[(f64, &[f64])], y: &mut [f64]) {
    const ROWS: usize = 1024;
    y.par_chunks_mut(ROWS).enumerate().for_each(|(c, y)| {
        let rows = c * ROWS..c * ROWS + y.len();
        let columns: Vec<(f64, &[f64])> =
            columns.iter().map(|(s, x)| (*s, &x[rows.clone()])).collect();
        pulp::Arch::new().dispatch(AddCombination { columns: &columns, y })
    });
}

struct AddCombination<'a> {
    columns: &'a [(f64, &'a [f64])],
    y: &'a mut [f64],
}

impl pulp::WithSimd for AddCombination<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let n = self.y.len();
        let (groups, rest) = self.columns.as_chunks::<TOGETHER>();
        for group in groups {
            let factors = group.map(|(s, _)| s);
            let mut wide = [simd.splat_f64s(0.0); TOGETHER];
            wide.iter_mut().zip(factors).for_each(|(w, s)| *w = simd.splat_f64s(s));
            let columns = group.map(|(_, x)| S::as_simd_f64s(&x[..n]));
            let (y, y_rest) = S::as_mut_simd_f64s(self.y);
            for (i, y) in y.iter_mut().enumerate() {
                let mut sum = *y;
                for k in 0..TOGETHER {
                    sum = simd.add_f64s(sum, simd.mul_f64s(wide[k], columns[k].0[i]));
                }
                *y = sum;
            }
            for (i, y) in y_rest.iter_mut().enumerate() {
                for k in 0..TOGETHER {
                    *y += factors[k] * columns[k].1[i];
                }
            }
        }
        for (s, x) in rest {
            add_multiple(*s, x, self.y);
        }
    }
}

/// y += s·x·w, value by value.
pub fn add_multiple_of_product(s: f64, x: &[f64], w: &[f64], y: &mut [f64]) {
    pulp::Arch::new().dispatch(AddMultipleOfProduct { s, x, w, y })
}

// A closure of this size would be called, not inlined, and keep to the narrowest vectors.
struct AddMultipleOfProduct<'a> {
    s: f64,
    x: &'a [f64],
    w: &'a [f64],
    y: &'a mut [f64],
}

impl pulp::WithSimd for AddMultipleOfProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for ((y, x), w) in self.y.iter_mut().zip(self.x).zip(self.w) {
            *y += self.s * x * w;
        }
    }
}

/// Σ w x².
pub fn weighted_square(x: &[f64], w: &[f64]) -> f64 {
    pulp::Arch::new().dispatch(WeightedSquare { x, w })
}

struct WeightedSquare<'a> {
    x: &'a [f64],
    w: &'a [f64],
}

impl pulp::WithSimd for WeightedSquare<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> f64 {
        let (x, x_rest) = S::as_simd_f64s(self.x);
        let (w, w_rest) = S::as_simd_f64s(&self.w[..self.x.len()]);
        let mut sums = [simd.splat_f64s(0.0); 2];
        for (i, (x, w)) in x.iter().zip(w).enumerate() {
            sums[i % 2] = simd.mul_add_e_f64s(simd.mul_f64s(*x, *w), *x, sums[i % 2]);
        }
        let (x, w) = (simd.partial_load_f64s(x_rest), simd.partial_load_f64s(w_rest));
        sums[0] = simd.mul_add_e_f64s(simd.mul_f64s(x, w), x, sums[0]);
        simd.reduce_sum_f64s(simd.add_f64s(sums[0], sums[1]))
    }
}

/// y += s·x.
pub fn axpy(s: f64, x: &[f64], y: &mut [f64]) {
    if x.len() < SHORT {
        add_multiple(s, x, y)
    } else {
        pulp::Arch::new().dispatch(AddMultiple { s, x, y })
    }
}

struct AddMultiple<'a> {
    s: f64,
    x: &'a [f64],
    y: &'a mut [f64],
}

impl pulp::WithSimd for AddMultiple<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        add_multiple(self.s, self.x, self.y)
    }
}

#[inline(always)]
fn add_multiple(s: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += s * x;
    }
}

fn tile_ref(tile: &Tile) -> MatRef<'_, f64> {
    match tile.layout() {
        Layout::Rows => MatRef::from_row_major_slice(tile.values(), tile.rows(), tile.columns()),
        Layout::Columns => {
            MatRef::from_column_major_slice(tile.values(), tile.rows(), tile.columns())
        }
    }
}

fn add_lower(out: &mut Matrix, left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    let (rows, columns) = (out.rows(), out.columns());
    matmul(
        MatMut::from_column_major_slice_mut(out.as_mut_slice(), rows, columns),
        BlockStructure::TriangularLower,
        Accum::Add,
        left,
        BlockStructure::Rectangular,
        right,
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
    clear_vector_registers();
}

/// Adds tileᵀ·tile to the lower triangle of `out`.
pub fn add_gram(out: &mut Matrix, tile: &Tile) {
    let t = tile_ref(tile);
    add_lower(out, t.transpose(), t);
}

/// Adds tile·tileᵀ to the lower triangle of `out`; threads share panels of its columns.
pub fn add_outer(out: &mut Matrix, tile: &Tile) {
    const PANEL: usize = 256;
    let n = out.rows();
    let t = tile_ref(tile);
    out.as_mut_slice().par_chunks_mut((n * PANEL).max(1)).enumerate().for_each(|(c, panel)| {
        let (start, width) = (c * PANEL, panel.len() / n);
        let panel = MatMut::from_column_major_slice_mut(panel, n, width);
        let (_, below) = panel.split_at_row_mut(start);
        faer::linalg::matmul::matmul(
            below,
            Accum::Add,
            t.subrows(start, n - start),
            t.subrows(start, width).transpose(),
            1.0,
            Par::Seq,
        );
        clear_vector_registers();
    });
}

/// A number that faer multiplies, and that becomes a double when it is added up.
pub trait Factor: faer::traits::ComplexField + Copy + Into<f64> + Send + Sync {}
impl Factor for f32 {}
impl Factor for f64 {}

/// Adds scale·leftᵀ·right to `out`, or to its lower triangle only, for columns of so many rows, the
/// left ones being so far apart; threads share panels of `out`.
pub fn add_products<T: Factor>(
    out: &mut Matrix,
    scale: f64,
    rows: usize,
    (left, apart): (&[T], usize),
    right: &[T],
    lower: bool,
) {
    const PANEL: usize = 128;
    let (order, columns) = (out.rows(), out.columns());
    let left = MatRef::from_column_major_slice_with_stride(left, rows, order, apart);
    let right = MatRef::from_column_major_slice(right, rows, columns);
    out.as_mut_slice().par_chunks_mut((order * PANEL).max(1)).enumerate().for_each(|(c, panel)| {
        let (start, width) = (c * PANEL, panel.len() / order);
        let first = if lower { start } else { 0 };
        let below = order - first;
        let mut products = vec![T::zero_impl(); below * width];
        faer::linalg::matmul::matmul(
            MatMut::from_column_major_slice_mut(&mut products, below, width),
            Accum::Replace,
            left.subcols(first, below).transpose(),
            right.subcols(start, width),
            T::one_impl(),
            Par::Seq,
        );
        clear_vector_registers();
        for (out, products) in panel.chunks_exact_mut(order).zip(products.chunks_exact(below)) {
            out[first..].iter_mut().zip(products).for_each(|(o, p)| *o += scale * (*p).into());
        }
    });
}

/// Σ value·v over stored entries.
#[inline]
pub fn sparse_dot(rows: &[u32], values: &[f64], v: &[f64]) -> f64 {
    sparse_sum(rows, values, |i, value| value * v[i])
}

/// Σ (unit·value)²·w over stored entries.
#[inline]
pub fn sparse_weighted_square(rows: &[u32], values: &[f64], unit: f64, w: &[f64]) -> f64 {
    sparse_sum(rows, values, |i, value| (unit * value).powi(2) * w[i])
}

/// Sums what stored entries give, in lanes whose order is fixed by their number.
#[inline]
fn sparse_sum(rows: &[u32], values: &[f64], of: impl Fn(usize, f64) -> f64) -> f64 {
    const LANES: usize = 4;
    let (row_blocks, rest_rows) = rows.as_chunks::<LANES>();
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (rows, values) in row_blocks.iter().zip(blocks) {
        for l in 0..LANES {
            lanes[l] += of(rows[l] as usize, values[l]);
        }
    }
    let sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    rest_rows.iter().zip(rest).fold(sum, |sum, (&i, &value)| sum + of(i as usize, value))
}

/// Products of all rows of `a` with all rows of `b`, each of length `d`, row after row.
pub fn product_of_rows(a: &[f64], b: &[f64], d: usize, out: &mut [f64]) {
    let (rows, columns) = (a.len() / d.max(1), b.len() / d.max(1));
    // Row after row is the transpose column after column.
    faer::linalg::matmul::matmul(
        MatMut::from_column_major_slice_mut(out, columns, rows),
        Accum::Replace,
        MatRef::from_row_major_slice(b, columns, d),
        MatRef::from_column_major_slice(a, d, rows),
        1.0,
        Par::Seq,
    );
    clear_vector_registers();
}

/// Products of all columns of `a` with all columns of `b`, each of so many rows: aᵀ·b.
///
/// Threads share panels of the result.
pub fn cross_products(rows: usize, a: &[f64], b: &[f64]) -> Matrix {
    const PANEL: usize = 64;
    let (order, columns) = (a.len() / rows.max(1), b.len() / rows.max(1));
    let mut out = Matrix::zeros(order, columns);
    let left = MatRef::from_column_major_slice(a, rows, order).transpose();
    let panels = out.as_mut_slice().par_chunks_mut((order * PANEL).max(1));
    panels.zip(b.par_chunks((rows * PANEL).max(1))).for_each(|(panel, b)| {
        let width = panel.len() / order;
        faer::linalg::matmul::matmul(
            MatMut::from_column_major_slice_mut(panel, order, width),
            Accum::Replace,
            left,
            MatRef::from_column_major_slice(b, rows, width),
            1.0,
            Par::Seq,
        );
        clear_vector_registers();
    });
    out
}

/// Adds vectorsᵀ·tile, for the tile's rows of the vectors, to `out`, column after column.
pub fn add_transpose_products(
    vectors: &Matrix,
    rows: std::ops::Range<usize>,
    tile: &Tile,
    out: &mut [f64],
) {
    let all =
        MatRef::from_column_major_slice(vectors.as_slice(), vectors.rows(), vectors.columns());
    faer::linalg::matmul::matmul(
        MatMut::from_column_major_slice_mut(out, vectors.columns(), tile.columns()),
        Accum::Add,
        all.subrows(rows.start, rows.len()).transpose(),
        tile_ref(tile),
        1.0,
        Par::Seq,
    );
    clear_vector_registers();
}

/// a·b for `a` of so many rows, column after column.
///
/// Threads share panels of the result.
pub fn multiply(rows: usize, a: &[f64], b: &Matrix) -> Matrix {
    const PANEL: usize = 64;
    let (inner, columns) = (b.rows(), b.columns());
    let mut out = Matrix::zeros(rows, columns);
    if out.as_slice().is_empty() || inner == 0 {
        return out;
    }
    let left = MatRef::from_column_major_slice(&a[..rows * inner], rows, inner);
    let panels = out.as_mut_slice().par_chunks_mut(rows * PANEL);
    panels.zip(b.as_slice().par_chunks(inner * PANEL)).for_each(|(panel, b)| {
        let width = panel.len() / rows;
        faer::linalg::matmul::matmul(
            MatMut::from_column_major_slice_mut(panel, rows, width),
            Accum::Replace,
            left,
            MatRef::from_column_major_slice(b, inner, width),
            1.0,
            Par::Seq,
        );
        clear_vector_registers();
    });
    out
}

/// a·b for `a` of so many rows, column after column, and an upper triangular `b`.
pub fn multiply_upper(rows: usize, a: &[f64], b: &Matrix) -> Matrix {
    const PANEL: usize = 64;
    let order = b.columns();
    let mut out = Matrix::zeros(rows, order);
    if out.as_slice().is_empty() {
        return out;
    }
    let panels = out.as_mut_slice().par_chunks_mut(rows * PANEL);
    panels.zip(b.as_slice().par_chunks(order * PANEL)).enumerate().for_each(|(p, (panel, b))| {
        let width = panel.len() / rows;
        // Below its diagonal a panel is zero.
        let inner = p * PANEL + width;
        faer::linalg::matmul::matmul(
            MatMut::from_column_major_slice_mut(panel, rows, width),
            Accum::Replace,
            MatRef::from_column_major_slice(&a[..rows * inner], rows, inner),
            MatRef::from_column_major_slice(b, order, width).subrows(0, inner),
            1.0,
            Par::Seq,
        );
        clear_vector_registers();
    });
    out
}

/// u·uᵀ for an upper triangular `u`.
pub(super) fn square_of_upper(u: &Matrix) -> Matrix {
    const PANEL: usize = 64;
    let order = u.rows();
    let mut out = Matrix::zeros(order, order);
    let whole = MatRef::from_column_major_slice(u.as_slice(), order, order);
    let panels = out.as_mut_slice().par_chunks_mut((order * PANEL).max(1));
    panels.enumerate().for_each(|(p, panel)| {
        let (start, width) = (p * PANEL, panel.len() / order);
        // On and below the diagonal; columns of u before a row are zero in it.
        for row in (start..order).step_by(PANEL) {
            let rows = PANEL.min(order - row);
            let beyond = whole.subcols(row, order - row);
            faer::linalg::matmul::matmul(
                MatMut::from_column_major_slice_mut(panel, order, width).subrows_mut(row, rows),
                Accum::Replace,
                beyond.subrows(row, rows),
                beyond.subrows(start, width).transpose(),
                1.0,
                Par::Seq,
            );
        }
        clear_vector_registers();
    });
    symmetrise(&mut out);
    out
}

/// Copies the lower triangle onto the upper one.
pub fn symmetrise(matrix: &mut Matrix) {
    const BLOCK: usize = 64;
    let n = matrix.rows();
    for j0 in (0..n).step_by(BLOCK) {
        for i0 in (j0..n).step_by(BLOCK) {
            for j in j0..(j0 + BLOCK).min(n) {
                for i in i0.max(j + 1)..(i0 + BLOCK).min(n) {
                    matrix[(j, i)] = matrix[(i, j)];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gram_and_outer_agree_with_sums_in_both_layouts() {
        for layout in [Layout::Rows, Layout::Columns] {
            let mut tile = Tile::default();
            tile.reset(5, 3, layout);
            tile.update(|i, j, _| (i as f64 + 1.0) * (j as f64 - 0.7));
            let (mut gram, mut outer) = (Matrix::zeros(3, 3), Matrix::zeros(5, 5));
            add_gram(&mut gram, &tile);
            add_outer(&mut outer, &tile);
            symmetrise(&mut gram);
            symmetrise(&mut outer);
            for a in 0..3 {
                for b in 0..3 {
                    let sum: f64 = (0..5).map(|i| tile.get(i, a) * tile.get(i, b)).sum();
                    assert!((gram[(a, b)] - sum).abs() < 1e-12);
                }
            }
            for a in 0..5 {
                for b in 0..5 {
                    let sum: f64 = (0..3).map(|j| tile.get(a, j) * tile.get(b, j)).sum();
                    assert!((outer[(a, b)] - sum).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn several_vectors_have_the_products_of_each() {
        for (rows, count) in [(1, 1), (37, 6), (4101, 9)] {
            let wave = |k: usize| (0..rows).map(|i| ((i * k + i) as f64 * 0.3).sin()).collect();
            let columns: Vec<Vec<f64>> = (0..count).map(wave).collect();
            let vectors: Vec<Vec<f64>> = (20..23).map(wave).collect();
            let products = products_with_each(
                &columns.iter().map(|x| &x[..]).collect::<Vec<_>>(),
                &vectors.iter().map(|v| &v[..]).collect::<Vec<_>>(),
            );
            for (j, x) in columns.iter().enumerate() {
                for (k, v) in vectors.iter().enumerate() {
                    let product: f64 = x.iter().zip(v).map(|(x, v)| x * v).sum();
                    assert!((products[3 * j + k] - product).abs() < 1e-10);
                }
            }
        }
    }

    #[test]
    fn dot_handles_every_length() {
        for n in 0..20 {
            let a: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let expected: f64 = a.iter().map(|x| x * x).sum();
            assert_eq!(dot(&a, &a), expected);
        }
    }
}
