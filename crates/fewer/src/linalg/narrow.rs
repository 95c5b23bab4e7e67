//! Kernels in single precision: half the memory to read, for what is corrected afterwards.

/// a·b, summed in an order fixed by the length.
pub fn dot_narrow(a: &[f32], b: &[f32]) -> f64 {
    pulp::Arch::new().dispatch(Dot { a, b })
}

struct Dot<'a> {
    a: &'a [f32],
    b: &'a [f32],
}

impl pulp::WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> f64 {
        let (a, a_rest) = S::as_simd_f32s(self.a);
        let (b, b_rest) = S::as_simd_f32s(&self.b[..self.a.len()]);
        let mut sums = [simd.splat_f32s(0.0); 4];
        let ((a, a_last), (b, b_last)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
        for (a, b) in a.iter().zip(b) {
            for l in 0..4 {
                sums[l] = simd.mul_add_e_f32s(a[l], b[l], sums[l]);
            }
        }
        for (a, b) in a_last.iter().zip(b_last) {
            sums[0] = simd.mul_add_e_f32s(*a, *b, sums[0]);
        }
        let (a, b) = (simd.partial_load_f32s(a_rest), simd.partial_load_f32s(b_rest));
        sums[1] = simd.mul_add_e_f32s(a, b, sums[1]);
        let mut total = 0.0;
        for sum in sums {
            total += f64::from(simd.reduce_sum_f32s(sum));
        }
        total
    }
}

/// Σ w x².
pub fn weighted_square_narrow(x: &[f32], w: &[f32]) -> f64 {
    pulp::Arch::new().dispatch(WeightedSquare { x, w })
}

struct WeightedSquare<'a> {
    x: &'a [f32],
    w: &'a [f32],
}

impl pulp::WithSimd for WeightedSquare<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> f64 {
        let (x, x_rest) = S::as_simd_f32s(self.x);
        let (w, w_rest) = S::as_simd_f32s(&self.w[..self.x.len()]);
        let mut sums = [simd.splat_f32s(0.0); 2];
        let ((x, x_last), (w, w_last)) = (x.as_chunks::<2>(), w.as_chunks::<2>());
        for (x, w) in x.iter().zip(w) {
            for l in 0..2 {
                sums[l] = simd.mul_add_e_f32s(simd.mul_f32s(x[l], w[l]), x[l], sums[l]);
            }
        }
        for (x, w) in x_last.iter().zip(w_last) {
            sums[0] = simd.mul_add_e_f32s(simd.mul_f32s(*x, *w), *x, sums[0]);
        }
        let (x, w) = (simd.partial_load_f32s(x_rest), simd.partial_load_f32s(w_rest));
        sums[1] = simd.mul_add_e_f32s(simd.mul_f32s(x, w), x, sums[1]);
        let mut total = 0.0;
        for sum in sums {
            total += f64::from(simd.reduce_sum_f32s(sum));
        }
        total
    }
}

/// y += s·x.
pub fn axpy_narrow(s: f64, x: &[f32], y: &mut [f32]) {
    pulp::Arch::new().dispatch(AddMultiple { s: s as f32, x, y })
}

struct AddMultiple<'a> {
    s: f32,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl pulp::WithSimd for AddMultiple<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for (y, x) in self.y.iter_mut().zip(self.x) {
            *y += self.s * x;
        }
    }
}

/// y += s·x·w, value by value.
pub fn add_multiple_of_product_narrow(s: f64, x: &[f32], w: &[f32], y: &mut [f32]) {
    pulp::Arch::new().dispatch(AddMultipleOfProduct { s: s as f32, x, w, y })
}

struct AddMultipleOfProduct<'a> {
    s: f32,
    x: &'a [f32],
    w: &'a [f32],
    y: &'a mut [f32],
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

/// y ·= x, value by value.
pub fn multiply_narrow(x: &[f32], y: &mut [f32]) {
    pulp::Arch::new().dispatch(MultiplyNarrow { x, y })
}

struct MultiplyNarrow<'a> {
    x: &'a [f32],
    y: &'a mut [f32],
}

impl pulp::WithSimd for MultiplyNarrow<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        self.y.iter_mut().zip(self.x).for_each(|(y, x)| *y *= x);
    }
}

/// (x − centre)·factor in single precision.
pub fn narrow_into(x: &[f64], centre: f64, factor: f64, out: &mut [f32]) {
    pulp::Arch::new().dispatch(NarrowInto { x, centre, factor, out })
}

struct NarrowInto<'a> {
    x: &'a [f64],
    centre: f64,
    factor: f64,
    out: &'a mut [f32],
}

impl pulp::WithSimd for NarrowInto<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        for (o, v) in self.out.iter_mut().zip(self.x) {
            *o = ((v - self.centre) * self.factor) as f32;
        }
    }
}

/// Asks for large pages for values that are yet to be written, if they are many: the first touch of
/// a page costs more than all that is written there.
pub fn expect_to_fill<T>(values: &Vec<T>) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        const MANY: usize = 1 << 21;
        let bytes = size_of::<T>() * values.capacity();
        if bytes >= MANY {
            let start = values.as_ptr() as usize;
            let (first, end) = (start.next_multiple_of(PAGE), start + bytes);
            let whole = (end - first) / PAGE * PAGE;
            #[allow(unsafe_code)] // the pages are the vector's own, and advice changes no value
            unsafe {
                libc::madvise(first as *mut libc::c_void, whole, libc::MADV_HUGEPAGE)
            };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = values;
}

/// Columns that are taken together.
const TOGETHER: usize = 4;
/// Groups of columns whose products are added up in single precision.
const GROUPS: usize = 16;

/// η += X·β for a block of columns of so many rows, of which there is a multiple of 4, and several
/// β and η, one after the other; rows are a multiple of 64.
pub fn add_block_product(x: &[f32], rows: usize, betas: &[f32], eta: &mut [f64]) {
    pulp::Arch::new().dispatch(AddBlockProduct { x, rows, betas, eta })
}

struct AddBlockProduct<'a> {
    x: &'a [f32],
    rows: usize,
    betas: &'a [f32],
    eta: &'a mut [f64],
}

impl pulp::WithSimd for AddBlockProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Self { x, rows, betas, eta } = self;
        let columns = x.len() / rows;
        let mut part = vec![0.0; eta.len()];
        for (b, block) in x.chunks(GROUPS * TOGETHER * rows).enumerate() {
            part.fill(0.0);
            let (first, width) = (b * GROUPS * TOGETHER, block.len() / rows);
            let betas = || betas.chunks_exact(columns).map(|b| &b[first..][..width]);
            let column = |k: usize| &block[k * rows..][..rows];
            let used = betas().flatten().filter(|b| **b != 0.0).count();
            if 2 * used > width * (eta.len() / rows) {
                // While a group of columns is at hand all outputs take it.
                for group in (0..width).step_by(TOGETHER) {
                    for (part, beta) in part.chunks_exact_mut(rows).zip(betas()) {
                        let each = std::array::from_fn(|k| (beta[group + k], column(group + k)));
                        add_columns(simd, each, part);
                    }
                }
            } else {
                for (part, beta) in part.chunks_exact_mut(rows).zip(betas()) {
                    let mut used = (0..width).filter(|&k| beta[k] != 0.0);
                    while let Some(k) = used.next() {
                        let mut each = [(beta[k], column(k)); TOGETHER];
                        for slot in &mut each[1..] {
                            *slot = used.next().map_or((0.0, slot.1), |k| (beta[k], column(k)));
                        }
                        add_columns(simd, each, part);
                    }
                }
            }
            eta.iter_mut().zip(&part).for_each(|(e, p)| *e += f64::from(*p));
        }
    }
}

/// y += Σ s·x over a few columns.
#[inline(always)]
fn add_columns<S: pulp::Simd>(simd: S, each: [(f32, &[f32]); TOGETHER], y: &mut [f32]) {
    let y = S::as_mut_simd_f32s(y).0;
    let columns = each.map(|(_, x)| &S::as_simd_f32s(x).0[..y.len()]);
    let mut wide = [simd.splat_f32s(0.0); TOGETHER];
    wide.iter_mut().zip(each).for_each(|(w, (s, _))| *w = simd.splat_f32s(s));
    for (i, out) in y.iter_mut().enumerate() {
        let mut sum = *out;
        for k in 0..TOGETHER {
            sum = simd.mul_add_e_f32s(wide[k], columns[k][i], sum);
        }
        *out = sum;
    }
}

/// sums += Xᵀ·v for such a block and several v.
pub fn add_block_transpose_product(x: &[f32], rows: usize, v: &[f32], sums: &mut [f64]) {
    pulp::Arch::new().dispatch(AddBlockTransposeProduct { x, rows, v, sums })
}

struct AddBlockTransposeProduct<'a> {
    x: &'a [f32],
    rows: usize,
    v: &'a [f32],
    sums: &'a mut [f64],
}

impl pulp::WithSimd for AddBlockTransposeProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) {
        let Self { x, rows, v, sums } = self;
        let columns = x.len() / rows;
        for (g, group) in x.chunks_exact(TOGETHER * rows).enumerate() {
            let columns_of: [&[f32]; TOGETHER] =
                std::array::from_fn(|k| &group[k * rows..][..rows]);
            let (pairs, last) = (v.chunks_exact(2 * rows), v.chunks_exact(2 * rows).remainder());
            let mut sums =
                sums.chunks_exact_mut(columns).map(|s| &mut s[g * TOGETHER..][..TOGETHER]);
            for pair in pairs {
                let totals = transpose_products(simd, columns_of, [&pair[..rows], &pair[rows..]]);
                for (totals, sums) in totals.into_iter().zip(sums.by_ref()) {
                    sums.iter_mut().zip(totals).for_each(|(s, t)| *s += f64::from(t));
                }
            }
            if let (false, Some(sums)) = (last.is_empty(), sums.next()) {
                let totals = transpose_product(simd, columns_of, last);
                sums.iter_mut().zip(totals).for_each(|(s, t)| *s += f64::from(t));
            }
        }
    }
}

/// Products of a few columns with each of some vectors.
#[inline(always)]
fn transpose_products<S: pulp::Simd, const VECTORS: usize>(
    simd: S,
    columns: [&[f32]; TOGETHER],
    vectors: [&[f32]; VECTORS],
) -> [[f32; TOGETHER]; VECTORS] {
    let vectors = vectors.map(|v| S::as_simd_f32s(v).0);
    let columns = columns.map(|x| &S::as_simd_f32s(x).0[..vectors[0].len()]);
    let mut totals = [[simd.splat_f32s(0.0); TOGETHER]; VECTORS];
    for i in 0..columns[0].len() {
        for (v, totals) in vectors.iter().zip(&mut totals) {
            for k in 0..TOGETHER {
                totals[k] = simd.mul_add_e_f32s(columns[k][i], v[i], totals[k]);
            }
        }
    }
    // Closures handed to `map` would be called, not inlined.
    let mut out = [[0.0; TOGETHER]; VECTORS];
    for (out, totals) in out.iter_mut().zip(totals) {
        for (out, total) in out.iter_mut().zip(totals) {
            *out = simd.reduce_sum_f32s(total);
        }
    }
    out
}

/// The same with one vector: two sums for each column, so that as many are under way.
#[inline(always)]
fn transpose_product<S: pulp::Simd>(
    simd: S,
    columns: [&[f32]; TOGETHER],
    v: &[f32],
) -> [f32; TOGETHER] {
    let v = S::as_simd_f32s(v).0.as_chunks::<2>().0;
    let columns = columns.map(|x| &S::as_simd_f32s(x).0.as_chunks::<2>().0[..v.len()]);
    let mut totals = [[simd.splat_f32s(0.0); 2]; TOGETHER];
    for (i, v) in v.iter().enumerate() {
        for k in 0..TOGETHER {
            let x = &columns[k][i];
            totals[k][0] = simd.mul_add_e_f32s(x[0], v[0], totals[k][0]);
            totals[k][1] = simd.mul_add_e_f32s(x[1], v[1], totals[k][1]);
        }
    }
    let mut out = [0.0; TOGETHER];
    for (out, [first, second]) in out.iter_mut().zip(totals) {
        *out = simd.reduce_sum_f32s(simd.add_f32s(first, second));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_agree_with_plain_ones_for_every_length() {
        for n in 0..70 {
            let x: Vec<f32> = (0..n).map(|i| i as f32 - 20.0).collect();
            let w: Vec<f32> = (0..n).map(|i| (i % 3) as f32).collect();
            let wide = |v: &[f32]| v.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
            let each = wide(&x).into_iter().zip(wide(&w));
            assert_eq!(dot_narrow(&x, &w), each.clone().map(|(x, w)| x * w).sum::<f64>());
            assert_eq!(weighted_square_narrow(&x, &w), each.map(|(x, w)| w * x * x).sum::<f64>());
            let mut y = w.clone();
            axpy_narrow(2.0, &x, &mut y);
            add_multiple_of_product_narrow(-1.0, &x, &w, &mut y);
            assert!((0..n).all(|i| y[i] == w[i] + 2.0 * x[i] - x[i] * w[i]));
        }
    }

    #[test]
    fn blocks_agree_with_plain_sums() {
        for (rows, columns, outputs) in [(64, 4, 1), (128, 72, 3)] {
            let value = |i: usize| ((i * 7 % 11) as f32 - 5.0) / 4.0;
            let x: Vec<f32> = (0..rows * columns).map(value).collect();
            let betas: Vec<f32> = (0..columns * outputs).map(|i| value(i + 3)).collect();
            let v: Vec<f32> = (0..rows * outputs).map(|i| value(i + 5)).collect();
            let (mut eta, mut sums) = (vec![1.0; rows * outputs], vec![1.0; columns * outputs]);
            add_block_product(&x, rows, &betas, &mut eta);
            add_block_transpose_product(&x, rows, &v, &mut sums);
            for c in 0..outputs {
                for i in 0..rows {
                    let each = (0..columns).map(|j| x[j * rows + i] * betas[c * columns + j]);
                    assert_eq!(eta[c * rows + i], 1.0 + f64::from(each.sum::<f32>()));
                }
                for j in 0..columns {
                    let each = (0..rows).map(|i| x[j * rows + i] * v[c * rows + i]);
                    assert_eq!(sums[c * columns + j], 1.0 + f64::from(each.sum::<f32>()));
                }
            }
        }
    }
}
