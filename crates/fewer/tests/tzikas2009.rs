//! Adaptive kernels and wavelets (Tzikas, Likas & Galatsanos 2009).

mod support;

use fewer::data::{Dataset, DenseView};
use fewer::method::{Intercept, Padding, Sparsity, SparsityRule, WaveletRVR};
use fewer::model::Model;
use serde_json::Value;
use support::{Random, fixture};

fn reference(case: &str) -> Value {
    serde_json::from_str::<Value>(&fixture("tzikas2009.json")).unwrap()[case].clone()
}

/// x, the function and the target of the reference.
fn reference_doppler() -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let text = fixture("doppler_n128.csv");
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
    let column = |k: usize| rows.iter().map(|r| r[k]).collect::<Vec<f64>>();
    (column(0), column(1), column(2))
}

/// Doppler of Donoho & Johnstone with noise: x, the function and the target.
fn doppler(rows: usize, noise: f64, seed: u64) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..rows).map(|i| (i as f64 + 0.5) / rows as f64).collect();
    let wave = |x: &f64| (x * (1.0 - x)).sqrt() * (std::f64::consts::TAU * 1.05 / (x + 0.05)).sin();
    let clean: Vec<f64> = x.iter().map(wave).collect();
    let mut random = Random::new(seed);
    let y = clean.iter().map(|g| g + noise * random.normal()).collect();
    (x, clean, y)
}

fn mean_square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / a.len() as f64
}

fn fit(method: &WaveletRVR, x: &[f64], y: &[f64]) -> Model {
    method.fit(&Dataset::new(DenseView::by_rows(x, x.len(), 1).unwrap(), y).unwrap()).unwrap()
}

#[test]
fn wavelets_of_the_reference() {
    let (x, clean, y) = reference_doppler();
    let n = 128f64;
    let expected = reference("srvm_doppler_sym8_beta100");
    for (c, case) in [(1.0, "1"), (0.5 * n.ln(), "logN/2"), (n.ln(), "logN")] {
        let of = |name: &str| expected[case][name].as_f64().unwrap();
        let (terms, objective, error) = (of("n") as usize, of("objective"), of("mse"));
        let method = WaveletRVR::new()
            .sparsity(Sparsity::Number(c))
            .noise(0.1)
            .fit_intercept(Intercept::None);
        let model = fit(&method, &x, &y);
        assert_eq!(model.n_terms(), terms, "{c}");
        assert!((model.report().objective + objective).abs() < 1e-8, "{c}");
        let fitted = model.predict(DenseView::by_rows(&x, 128, 1).unwrap()).unwrap();
        assert!((mean_square(&fitted, &clean) / error - 1.0).abs() < 1e-9, "{c}");
    }
    // The maxima over the noise, read off the profile on a fine grid.
    for (c, objective, noise) in [(1.0, 62.3, 0.066), (0.5 * n.ln(), 33.8, 0.119)] {
        let method = WaveletRVR::new().sparsity(Sparsity::Number(c)).fit_intercept(Intercept::None);
        let model = fit(&method, &x, &y);
        assert!((model.report().objective + objective).abs() < 0.06, "{:?}", model.report());
        assert!((model.noise_std().unwrap() - noise).abs() < 0.001, "{:?}", model.noise_std());
    }
}

/// The objective as a function of the noise, by way of fits with the noise given: its maximum is
/// where the search ends.
#[test]
fn wavelet_noise_is_at_a_maximum() {
    let (x, _, y) = doppler(256, 0.1, 3);
    for intercept in [Intercept::Free, Intercept::None, Intercept::Penalised] {
        let method = || WaveletRVR::new().fit_intercept(intercept);
        let best = fit(&method(), &x, &y);
        let at = |factor: f64| {
            let noise = factor * best.noise_std().unwrap();
            fit(&method().noise(noise), &x, &y).report().objective
        };
        let objective = best.report().objective;
        assert!((at(1.0) - objective).abs() < 1e-9);
        for factor in [0.98, 0.999, 1.001, 1.02] {
            assert!(at(factor) > objective, "{intercept:?}, {factor}");
        }
    }
}

#[test]
fn wavelet_rows_may_come_in_any_order_and_units() {
    let (x, clean, y) = doppler(128, 0.1, 4);
    let reference = fit(&WaveletRVR::new(), &x, &y);
    let view = DenseView::by_rows(&x, 128, 1).unwrap();
    let before = reference.predict(view).unwrap();
    assert!(mean_square(&before, &clean) < 0.015);
    let order: Vec<usize> = (0..128).map(|i| i * 37 % 128).collect();
    let moved: Vec<f64> = order.iter().map(|&i| 1e5 * x[i] + 7.0).collect();
    let target: Vec<f64> = order.iter().map(|&i| 1e-6 * y[i]).collect();
    let other = fit(&WaveletRVR::new(), &moved, &target);
    let after = other.predict(DenseView::by_rows(&moved, 128, 1).unwrap()).unwrap();
    for (k, &i) in order.iter().enumerate() {
        assert!((after[k] - 1e-6 * before[i]).abs() < 1e-12);
    }
    assert_eq!(reference.n_terms(), other.n_terms());
    let copy = Model::from_json(&reference.to_json().unwrap()).unwrap();
    assert_eq!(copy.predict(view).unwrap(), before);
    assert_eq!(copy.predict_std(view).unwrap(), reference.predict_std(view).unwrap());
    assert!(reference.explain().terms[0].name.starts_with("sym8(x1 near "));
}

#[test]
fn wavelet_predictions_cover_new_observations() {
    let (x, clean, y) = doppler(1024, 0.1, 5);
    let model = fit(&WaveletRVR::new(), &x, &y);
    let mut random = Random::new(6);
    let between: Vec<f64> = x.iter().map(|x| x + 0.0003).collect();
    let view = DenseView::by_rows(&between, 1024, 1).unwrap();
    let intervals = model.predict_interval(view, 0.95).unwrap();
    let inside = (0..1024)
        .filter(|&i| {
            let new = clean[i] + 0.1 * random.normal();
            (intervals[(i, 0)]..=intervals[(i, 1)]).contains(&new)
        })
        .count();
    assert!((0.92..0.98).contains(&(inside as f64 / 1024.0)), "{inside}");
}

#[test]
fn wavelets_refuse_what_does_not_suit_them() {
    let error = |method: &WaveletRVR, x: &[f64], columns: usize, weights: Option<Vec<f64>>| {
        let rows = x.len() / columns;
        let y: Vec<f64> = (0..rows).map(|i| i as f64).collect();
        let mut data = Dataset::new(DenseView::by_rows(x, rows, columns).unwrap(), &y).unwrap();
        if let Some(weights) = weights {
            data = data.with_weights(weights).unwrap();
        }
        method.fit(&data).unwrap_err().to_string()
    };
    let method = WaveletRVR::new();
    let even: Vec<f64> = (0..16).map(f64::from).collect();
    assert!(error(&method, &even, 2, None).contains("one feature"));
    let message = error(&method, &even[..12], 1, None);
    assert!(message.contains("give 8 or 16 rows"), "{message}");
    let mut uneven = even.clone();
    uneven[5] = 5.3;
    let message = error(&method, &uneven, 1, None);
    assert!(message.contains("row 6, column 'x1'") && message.contains("steps of 1"), "{message}");
    assert!(error(&method, &[1.0; 8], 1, None).contains("equally spaced"));
    let mut weights = vec![1.0; 16];
    weights[3] = 2.0;
    assert!(error(&method, &even, 1, Some(weights)).contains("row 4"));
    assert!(error(&method.clone().wavelet("db77"), &even, 1, None).contains("sym8"));
    let settings = r#"{"gamma": 2.0}"#;
    assert!(WaveletRVR::from_json(settings).unwrap_err().to_string().contains("wavelet"));
}

#[test]
fn wavelets_of_padded_rows() {
    let (x, clean, y) = doppler(200, 0.05, 7);
    for padding in [Padding::Symmetric, Padding::Periodic] {
        let model = fit(&WaveletRVR::new().padding(padding), &x, &y);
        let fitted = model.predict(DenseView::by_rows(&x, 200, 1).unwrap()).unwrap();
        assert!(mean_square(&fitted, &clean) < 0.006, "{padding:?}");
        assert!(model.report().notes[0].contains("padded to 256"));
    }
}

#[test]
fn wavelets_of_degenerate_targets() {
    let x: Vec<f64> = (0..64).map(f64::from).collect();
    let model = fit(&WaveletRVR::new(), &x, &[3.0; 64]);
    assert_eq!((model.n_terms(), model.intercept()), (0, 3.0));
    let model = fit(&WaveletRVR::new(), &x[..1], &[2.0]);
    assert_eq!((model.n_terms(), model.intercept()), (0, 2.0));
    let noise = Random::new(8).normals(64);
    assert!(
        fit(&WaveletRVR::new().sparsity(Sparsity::Rule(SparsityRule::Ric)), &x, &noise).n_terms()
            < 3
    );
    // No noise at all.
    let step: Vec<f64> = (0..64).map(|i| f64::from(i / 32)).collect();
    let model = fit(&WaveletRVR::new().wavelet("haar"), &x, &step);
    assert_eq!(model.n_terms(), 1);
    assert!(
        mean_square(&model.predict(DenseView::by_rows(&x, 64, 1).unwrap()).unwrap(), &step) < 1e-6
    );
    let few = fit(&WaveletRVR::new().max_terms(2), &x, &noise);
    assert!(few.n_terms() <= 2);
}
