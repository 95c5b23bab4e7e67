//! exp over a slice, in vector instructions where the machine has them.

use std::f64::consts::LOG2_E;

/// ln 2 in two parts, the first with zeros at its end, so that k·LN2_HIGH is exact.
const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding it rounds to a whole number, which is then in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Replaces every value v by exp(factor·v), for products of at most 0.
///
/// The relative error of exp is below 4e-16; below −708 it is 0.
///
/// ```
/// let mut values = [0.0, 1.0, 50.0, 1e300];
/// fewer::special::exp_of_multiples(-1.0, &mut values);
/// assert!((values[1] - (-1.0f64).exp()).abs() < 1e-16);
/// assert_eq!((values[0], values[3]), (1.0, 0.0));
/// ```
pub fn exp_of_multiples(factor: f64, values: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        for value in values.iter_mut() {
            *value = exp(factor * *value);
        }
    });
}

#[inline(always)]
fn exp(x: f64) -> f64 {
    let clamped = if x > -708.0 { x } else { -708.0 };
    let shifted = clamped.mul_add(LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = k.mul_add(-LN2_LOW, k.mul_add(-LN2_HIGH, clamped));
    // Taylor's polynomial on |r| ≤ ½ ln 2, in pairs (Estrin's scheme) to shorten the chain.
    let pair = |low: f64, high: f64| high.mul_add(r, low);
    let r2 = r * r;
    let r4 = r2 * r2;
    let p0 = pair(1.0, 1.0);
    let p1 = pair(0.5, 1.0 / 6.0);
    let p2 = pair(1.0 / 24.0, 1.0 / 120.0);
    let p3 = pair(1.0 / 720.0, 1.0 / 5_040.0);
    let p4 = pair(1.0 / 40_320.0, 1.0 / 362_880.0);
    let p5 = pair(1.0 / 3_628_800.0, 1.0 / 39_916_800.0);
    let p6: f64 = 1.0 / 479_001_600.0;
    let q0 = p1.mul_add(r2, p0);
    let q1 = p3.mul_add(r2, p2);
    let q2 = p5.mul_add(r2, p4);
    let p = p6.mul_add(r4, q2).mul_add(r4, q1).mul_add(r4, q0);
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    if x > -708.0 { p * power } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        let points: Vec<f64> = (0..100_000).map(|i| -708.0 * i as f64 / 100_000.0).collect();
        let mut values = points.clone();
        exp_of_multiples(1.0, &mut values);
        for (x, v) in points.iter().zip(&values) {
            assert!((v / x.exp() - 1.0).abs() < 1e-15, "{x}: {v:e}");
        }
    }
}
