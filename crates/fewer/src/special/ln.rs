//! ln over a slice, in vector instructions where the machine has them.

use std::f64::consts::{LN_2, SQRT_2};

/// Replaces every value v by ln v; zeros count as the smallest normal number.
///
/// Values are not negative and finite. The error is below 1e-15 of the larger of 1e-308 and |ln v|.
///
/// ```
/// let mut values = [1.0, 2.0, 1e-300];
/// fewer::special::ln_of(&mut values);
/// assert_eq!(values[0], 0.0);
/// assert!((values[1] - 2f64.ln()).abs() < 1e-15);
/// ```
pub fn ln_of(values: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        for value in values.iter_mut() {
            *value = ln(*value);
        }
    });
}

#[inline(always)]
fn ln(x: f64) -> f64 {
    let bits = x.max(f64::MIN_POSITIVE).to_bits();
    // x = m·2^k with m in [√½, √2): the exponent moves where m passes √2.
    let mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    let high = mantissa > SQRT_2;
    let m = if high { 0.5 * mantissa } else { mantissa };
    // The exponent as a float without an integer conversion, which older machines do one by one.
    let exponent = f64::from_bits((bits >> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let k = exponent - if high { 1022.0 } else { 1023.0 };
    // ln m = 2 artanh((m − 1)/(m + 1)), with |(m − 1)/(m + 1)| ≤ 0.172.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p: f64 = 1.0 / 21.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        p = p.mul_add(z, 1.0 / odd);
    }
    let twice = 2.0 * s;
    k.mul_add(LN_2, (p * z).mul_add(twice, twice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard_library() {
        let mut points: Vec<f64> = (1..100_000).map(|i| i as f64 * 2.3e-5).collect();
        points.extend((0..10_000).map(|i| (0.1 * (i as f64 - 7000.0)).exp()));
        let mut values = points.clone();
        ln_of(&mut values);
        for (x, v) in points.iter().zip(&values) {
            assert!((v - x.ln()).abs() <= 1e-15 * x.ln().abs(), "{x}: {v:e} {:e}", x.ln());
        }
    }
}
