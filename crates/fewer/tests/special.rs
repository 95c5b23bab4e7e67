//! Special functions against values of mpmath with 300 digits.

mod support;

use fewer::special::{inverse_mills, log_normal_cdf, mills_excess};

#[test]
fn normal_tails_agree_to_1e_12() {
    for line in support::fixture("normal_tails.csv").lines().skip(1) {
        let v: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        let computed = [log_normal_cdf(v[0]), inverse_mills(v[0]), mills_excess(v[0])];
        for (k, got) in computed.iter().enumerate() {
            let expected = v[k + 1];
            // Beyond about 38 the density is below the smallest double.
            let error = if expected == 0.0 { got.abs() } else { (got / expected - 1.0).abs() };
            assert!(error < 1e-12, "column {k} at {}: {got:e} {expected:e} {error:e}", v[0]);
        }
    }
}
