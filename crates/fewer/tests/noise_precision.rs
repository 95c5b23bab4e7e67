//! Rows whose noise has known relative precisions.

use fewer::basis::Gamma;
use fewer::data::{Dataset, DenseView};
use fewer::method::{BLS, BasisKind, FastLaplace, Intercept, Lasso, RVR};
use fewer::model::Model;
use std::f64::consts::TAU;

const ROWS: usize = 90;
const NOISE: f64 = 0.2;

fn sine() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..ROWS).map(|i| 0.1 * i as f64).collect();
    let precision: Vec<f64> = (0..ROWS).map(|i| 1.0 + (i % 4) as f64).collect();
    let scatter = |i: usize| NOISE * ((i * i * i) as f64 * 0.7).sin() / precision[i].sqrt();
    let y = x.iter().enumerate().map(|(i, x)| (1.3 * x).sin() + scatter(i)).collect();
    (x, y, precision)
}

/// With known noise, a row of precision r has the likelihood of r rows but for their densities.
#[test]
fn precisions_are_repetitions_where_the_noise_is_known() {
    let (x, y, precision) = sine();
    let data = Dataset::new(DenseView::by_rows(&x, ROWS, 1).unwrap(), &y).unwrap();
    let repeated = data.clone().with_weights(&precision[..]).unwrap();
    let precise = data.with_noise_precision(&precision[..]).unwrap();
    for intercept in [Intercept::Free, Intercept::None] {
        // A width of its own: the usual one follows the weighted variance of x.
        let width = Gamma::Number(0.3);
        let method =
            RVR::new().noise(NOISE).gamma(width).standardize(false).fit_intercept(intercept);
        let (a, b) = (method.fit(&repeated).unwrap(), method.fit(&precise).unwrap());
        assert_eq!(b.noise_std(), Some(NOISE));
        let evidence = |m: &Model| m.report().log_evidence.unwrap();
        let rows: f64 = precision.iter().sum();
        let logs: f64 = precision.iter().map(|r| r.ln()).sum();
        let expected = 0.5 * logs + 0.5 * (ROWS as f64 - rows) * -(NOISE * NOISE * TAU).ln();
        let found = evidence(&b) - evidence(&a);
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        let view = DenseView::by_rows(&x, ROWS, 1).unwrap();
        let (a, b) = (a.predict(view).unwrap(), b.predict(view).unwrap());
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6));
    }
}

#[test]
fn the_unit_of_precisions_is_that_of_the_noise() {
    let (x, y, precision) = sine();
    let data = Dataset::new(DenseView::by_rows(&x, ROWS, 1).unwrap(), &y).unwrap();
    let scaled = |factor: f64| {
        let precision: Vec<f64> = precision.iter().map(|r| factor * r).collect();
        data.clone().with_noise_precision(precision).unwrap()
    };
    macro_rules! check {
        ($method:expr) => {
            let (a, b) = ($method.fit(&scaled(1.0)).unwrap(), $method.fit(&scaled(16.0)).unwrap());
            assert_eq!(a.terms().len(), b.terms().len());
            for (a, b) in a.terms().iter().zip(b.terms()) {
                assert!((a.weight() - b.weight()).abs() <= 1e-9 * a.weight().abs());
            }
            let ratio = b.noise_std().unwrap() / a.noise_std().unwrap();
            assert!((ratio - 4.0).abs() < 1e-9, "{ratio}");
            let (a, b) = (a.report(), b.report());
            assert!((a.log_evidence.unwrap() - b.log_evidence.unwrap()).abs() < 1e-7);
        };
    }
    check!(RVR::new());
    check!(BLS::new().basis(BasisKind::Rbf).lam(0.1));
    check!(FastLaplace::new().basis(BasisKind::Rbf));
}

#[test]
fn only_good_precisions_are_taken_and_only_where_they_mean_something() {
    let (x, y, precision) = sine();
    let data = Dataset::new(DenseView::by_rows(&x, ROWS, 1).unwrap(), &y).unwrap();
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut wrong = precision.clone();
        wrong[4] = bad;
        let wrong = data.clone().with_noise_precision(wrong).unwrap();
        let error = RVR::new().fit(&wrong).unwrap_err().to_string();
        assert!(error.starts_with("row 5, column 'noise_precision'"), "{error}");
    }
    assert!(data.clone().with_noise_precision(vec![1.0; 3]).is_err());
    let precise = data.with_noise_precision(precision).unwrap();
    let error = Lasso::new().fit(&precise).unwrap_err().to_string();
    assert!(error.contains("RVR, BLS and FastLaplace"), "{error}");
}
