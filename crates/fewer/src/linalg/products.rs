//! Products of vectors, tiles and matrices.

use super::{Layout, Matrix, Tile, clear_vector_registers};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Vectors shorter than this are not worth asking what the machine can do.
const SHORT: usize = 32;

/// a·b, summed in 32 lanes in an order fixed by the length.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < SHORT { dot_in_lanes(a, b) } else { pulp::Arch::new().dispatch(Dot { a, b }) }
}

// A closure of this size would be called, not inlined, and keep to the narrowest vectors.
struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl pulp::WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> f64 {
        dot_in_lanes(self.a, self.b)
    }
}

#[inline(always)]
fn dot_in_lanes(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0f64; 32];
    let (a_blocks, a_rest) = a.as_chunks::<32>();
    let (b_blocks, b_rest) = b.as_chunks::<32>();
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for l in 0..32 {
            lanes[l] += x[l] * y[l];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    let mut width = 16;
    while width > 0 {
        for l in 0..width {
            lanes[l] += lanes[l + width];
        }
        width /= 2;
    }
    lanes[0] + rest
}

/// Columns that are multiplied by a vector at a time, which is then read once for all of them.
const TOGETHER: usize = 4;

/// Products of four columns with one vector; each is summed in an order fixed by the length.
fn dots(columns: [&[f64]; TOGETHER], v: &[f64]) -> [f64; TOGETHER] {
    pulp::Arch::new().dispatch(Dots { columns, v })
}

struct Dots<'a> {
    columns: [&'a [f64]; TOGETHER],
    v: &'a [f64],
}

impl pulp::WithSimd for Dots<'_> {
    type Output = [f64; TOGETHER];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> [f64; TOGETHER] {
        const LANES: usize = 8;
        let Self { columns, v } = self;
        let (v_blocks, v_rest) = v.as_chunks::<LANES>();
        let [a, b, c, d] = columns.map(|x| x[..v.len()].as_chunks::<LANES>());
        let mut lanes = [[0.0f64; LANES]; TOGETHER];
        let blocks = a.0.iter().zip(b.0).zip(c.0).zip(d.0).zip(v_blocks);
        for ((((a, b), c), d), v) in blocks {
            for l in 0..LANES {
                lanes[0][l] += a[l] * v[l];
                lanes[1][l] += b[l] * v[l];
                lanes[2][l] += c[l] * v[l];
                lanes[3][l] += d[l] * v[l];
            }
        }
        let mut sums = [0.0; TOGETHER];
        for (k, rest) in [a.1, b.1, c.1, d.1].into_iter().enumerate() {
            let tail: f64 = rest.iter().zip(v_rest).map(|(x, v)| x * v).sum();
            sums[k] = lanes[k].iter().sum::<f64>() + tail;
        }
        sums
    }
}

/// Products of many columns with one vector; threads share the columns.
pub fn products_with(columns: &[&[f64]], v: &[f64]) -> Vec<f64> {
    let mut products = vec![0.0; columns.len()];
    let groups = products.par_chunks_mut(TOGETHER).zip(columns.par_chunks(TOGETHER));
    groups.for_each(|(products, columns)| match *columns {
        [a, b, c, d] => products.copy_from_slice(&dots([a, b, c, d], v)),
        _ => products.iter_mut().zip(columns).for_each(|(p, x)| *p = dot(x, v)),
    });
    products
}

/// y += Σ s·x over columns x with their factors s; threads share the rows.
pub fn add_combination(columns: &[(f64, &[f64])], y: &mut [f64]) {
    const ROWS: usize = 1024;
    y.par_chunks_mut(ROWS).enumerate().for_each(|(c, y)| {
        let rows = c * ROWS..c * ROWS + y.len();
        columns.iter().for_each(|(s, x)| axpy(*s, &x[rows.clone()], y));
    });
}

/// y += s·x·w, value by value.
pub fn add_multiple_of_product(s: f64, x: &[f64], w: &[f64], y: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        for ((y, x), w) in y.iter_mut().zip(x).zip(w) {
            *y += s * x * w;
        }
    });
}

/// Σ w x².
pub fn weighted_square(x: &[f64], w: &[f64]) -> f64 {
    const LANES: usize = 16;
    let mut lanes = [0.0f64; LANES];
    let ((x, x_rest), (w, w_rest)) = (x.as_chunks::<LANES>(), w.as_chunks::<LANES>());
    pulp::Arch::new().dispatch(|| {
        for (x, w) in x.iter().zip(w) {
            for l in 0..LANES {
                lanes[l] += w[l] * x[l] * x[l];
            }
        }
    });
    lanes.iter().sum::<f64>() + x_rest.iter().zip(w_rest).map(|(x, w)| w * x * x).sum::<f64>()
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

/// Adds scale·leftᵀ·right to `out`, or to its lower triangle only, for columns of so many rows;
/// threads share panels of `out`.
pub fn add_products<T: Factor>(
    out: &mut Matrix,
    scale: f64,
    rows: usize,
    left: &[T],
    right: &[T],
    lower: bool,
) {
    const PANEL: usize = 128;
    let (order, columns) = (out.rows(), out.columns());
    let left = MatRef::from_column_major_slice(left, rows, order);
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

/// Σ value·v over stored entries, in lanes whose order is fixed by their number.
#[inline]
pub fn sparse_dot(rows: &[usize], values: &[f64], v: &[f64]) -> f64 {
    const LANES: usize = 4;
    let (row_blocks, rest_rows) = rows.as_chunks::<LANES>();
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (rows, values) in row_blocks.iter().zip(blocks) {
        for l in 0..LANES {
            lanes[l] += values[l] * v[rows[l]];
        }
    }
    let sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    rest_rows.iter().zip(rest).fold(sum, |sum, (&i, value)| sum + value * v[i])
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

/// wᵀ·w for a lower triangular `w`.
pub fn square_of_lower(w: &Matrix) -> Matrix {
    const PANEL: usize = 64;
    let order = w.rows();
    let mut out = Matrix::zeros(order, order);
    let whole = MatRef::from_column_major_slice(w.as_slice(), order, order);
    let panels = out.as_mut_slice().par_chunks_mut((order * PANEL).max(1));
    panels.enumerate().for_each(|(p, panel)| {
        let (start, width) = (p * PANEL, panel.len() / order);
        // On and above the diagonal; rows of w before the panel are zero in its columns.
        let below = whole.subrows(start, order - start);
        faer::linalg::matmul::matmul(
            MatMut::from_column_major_slice_mut(panel, order, width).subrows_mut(0, start + width),
            Accum::Replace,
            below.subcols(0, start + width).transpose(),
            below.subcols(start, width),
            1.0,
            Par::Seq,
        );
        clear_vector_registers();
    });
    for b in 0..order {
        for a in 0..b {
            out[(b, a)] = out[(a, b)];
        }
    }
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
    fn dot_handles_every_length() {
        for n in 0..20 {
            let a: Vec<f64> = (0..n).map(|i| i as f64).collect();
            let expected: f64 = a.iter().map(|x| x * x).sum();
            assert_eq!(dot(&a, &a), expected);
        }
    }
}
