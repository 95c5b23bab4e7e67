//! Products of vectors, tiles and matrices.

use super::{Layout, Matrix, Tile, clear_vector_registers};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Vectors shorter than this are not worth asking what the machine can do.
const SHORT: usize = 32;

/// a·b, summed in 32 lanes in an order fixed by the length.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() < SHORT { dot_in_lanes(a, b) } else { pulp::Arch::new().dispatch(Dot(a, b)) }
}

// A closure may be left out of line, where the compiler knows of no vector instructions; these
// are always inlined where it does.
struct Dot<'a>(&'a [f64], &'a [f64]);

impl pulp::NullaryFnOnce for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn call(self) -> f64 {
        dot_in_lanes(self.0, self.1)
    }
}

struct Dots<'a>([&'a [f64]; TOGETHER], &'a [f64]);

impl pulp::NullaryFnOnce for Dots<'_> {
    type Output = [f64; TOGETHER];

    #[inline(always)]
    fn call(self) -> [f64; TOGETHER] {
        dots_in_lanes(self.0, self.1)
    }
}

struct AddMultiple<'a>(f64, &'a [f64], &'a mut [f64]);

impl pulp::NullaryFnOnce for AddMultiple<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        add_multiple(self.0, self.1, self.2)
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
pub const TOGETHER: usize = 4;

/// Products of four columns with one vector; each is summed in an order fixed by the length.
pub fn dots(columns: [&[f64]; TOGETHER], v: &[f64]) -> [f64; TOGETHER] {
    pulp::Arch::new().dispatch(Dots(columns, v))
}

#[inline(always)]
fn dots_in_lanes(columns: [&[f64]; TOGETHER], v: &[f64]) -> [f64; TOGETHER] {
    const LANES: usize = 8;
    let (v_blocks, v_rest) = v.as_chunks::<LANES>();
    let [a, b, c, d] = columns.map(|x| x[..v.len()].as_chunks::<LANES>());
    let mut lanes = [[0.0f64; LANES]; TOGETHER];
    for (i, v) in v_blocks.iter().enumerate() {
        let (a, b, c, d) = (&a.0[i], &b.0[i], &c.0[i], &d.0[i]);
        for l in 0..LANES {
            lanes[0][l] += a[l] * v[l];
            lanes[1][l] += b[l] * v[l];
            lanes[2][l] += c[l] * v[l];
            lanes[3][l] += d[l] * v[l];
        }
    }
    let rest = [a.1, b.1, c.1, d.1];
    std::array::from_fn(|k| {
        let tail: f64 = rest[k].iter().zip(v_rest).map(|(x, v)| x * v).sum();
        lanes[k].iter().sum::<f64>() + tail
    })
}

/// y += s·x.
pub fn axpy(s: f64, x: &[f64], y: &mut [f64]) {
    if x.len() < SHORT {
        add_multiple(s, x, y)
    } else {
        pulp::Arch::new().dispatch(AddMultiple(s, x, y))
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
