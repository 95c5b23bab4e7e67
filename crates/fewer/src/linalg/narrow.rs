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
        sums.map(|sum| f64::from(simd.reduce_sum_f32s(sum))).iter().sum()
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
        sums.map(|sum| f64::from(simd.reduce_sum_f32s(sum))).iter().sum()
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
}
