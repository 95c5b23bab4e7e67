//! Adaptive kernels and wavelets (Tzikas, Likas & Galatsanos 2009).

mod support;

use fewer::basis::Family;
use fewer::data::{Dataset, DenseView, Target};
use fewer::method::{
    AdaptiveRVC, AdaptiveRVR, Intercept, Padding, Sparsity, SparsityRule, Variant, WaveletRVR,
};
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

/// Weights are independent: time and memory are those of the rows, not of pairs of terms.
#[test]
fn wavelets_of_many_rows_keep_all_terms() {
    let n = 1 << 16;
    let x: Vec<f64> = (0..n).map(|i| i as f64 / n as f64).collect();
    let mut random = Random::new(41);
    let y: Vec<f64> = x.iter().map(|x| (20.0 * x).sin() + 0.1 * random.normal()).collect();
    let method = WaveletRVR::new().sparsity(Sparsity::Rule(SparsityRule::None)).noise(0.02);
    let model = fit(&method, &x, &y);
    assert!(model.n_terms() > n / 2, "{}", model.n_terms());
    let view = DenseView::by_rows(&x, n, 1).unwrap();
    let fitted = model.predict(view).unwrap();
    assert!(mean_square(&fitted, &y) < 0.02 * 0.02);
    let std = model.predict_std(view).unwrap();
    assert!(std.iter().all(|s| (0.02..0.03).contains(s)));
    assert!(model.to_json().unwrap().len() < 400 * n);
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

fn learn(method: &AdaptiveRVR, x: &[f64], columns: usize, y: &[f64]) -> Model {
    let view = DenseView::by_rows(x, y.len(), columns).unwrap();
    method.fit(&Dataset::new(view, y).unwrap()).unwrap()
}

/// No seed ends below the lowest of the reference, or with a larger error or more terms than its
/// largest.
#[test]
fn kernels_of_the_reference() {
    let (x, clean, y) = reference_doppler();
    let view = DenseView::by_rows(&x, 128, 1).unwrap();
    let expected = reference("arvm_doppler");
    let cases = [
        ("paper_eq44_eq41rep_c_logN_2", Variant::Paper, None),
        ("exact_c_logN_2", Variant::Exact, None),
        ("exact_c_logN", Variant::Exact, None),
        ("exact_beta_fixed_100_c_logN_2", Variant::Exact, Some(0.1)),
    ];
    for (case, variant, noise) in cases {
        let list = |name: &str| -> Vec<f64> {
            let values = expected[case][name].as_array().unwrap();
            values.iter().map(|v| v.as_f64().unwrap()).collect()
        };
        let largest = |name: &str| list(name).into_iter().fold(0.0, f64::max);
        let lowest = list("objective").into_iter().fold(f64::INFINITY, f64::min);
        let (error, terms) = (largest("mse"), largest("n_rv"));
        let c = expected[case]["c"].as_f64().unwrap();
        for seed in 0..10 {
            let mut method = AdaptiveRVR::new()
                .sparsity(Sparsity::Number(c))
                .variant(variant)
                .parameter_price(0.0)
                .variance_price(0.0)
                .starts(100)
                .fit_intercept(Intercept::None)
                .standardize(false)
                .random_state(seed);
            if let Some(noise) = noise {
                method = method.noise(noise);
            }
            let model = learn(&method, &x, 1, &y);
            let objective = -model.report().objective;
            let own = mean_square(&model.predict(view).unwrap(), &clean);
            assert!(model.report().termination.is_converged());
            assert!(objective > lowest - 1e-3, "{case}, {seed}: {objective}");
            assert!(own <= error, "{case}, {seed}: {own}");
            assert!(model.n_terms() as f64 <= terms, "{case}, {seed}: {}", model.n_terms());
        }
    }
}

#[test]
fn widths_of_their_own_tell_features_apart() {
    let mut random = Random::new(11);
    let x: Vec<f64> = (0..900).map(|_| 4.0 * random.uniform() - 2.0).collect();
    let y: Vec<f64> =
        x.chunks(3).map(|x| (-x[1] * x[1] / 0.3).exp() + 0.05 * random.normal()).collect();
    let model = learn(&AdaptiveRVR::new().anisotropic(true), &x, 3, &y);
    let relevances = &model.report().relevances;
    assert!(relevances[1] > 10.0 * relevances[0].max(relevances[2]), "{relevances:?}");
    let size = |k: &usize| model.terms()[*k].effect().abs();
    let k = (0..model.n_terms()).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap();
    // Seven parameters can follow the noise of a few rows; which of these small kernels join is a
    // matter of the last bits, that they are small is not.
    let others: f64 = (0..model.n_terms()).filter(|j| *j != k).map(|j| size(&j)).sum();
    assert!(model.n_terms() <= 3 && others < 0.1 * size(&k), "{}", model.explain());
    let learnt = model.learnt().unwrap();
    let (centre, width) = (learnt.centre(k).unwrap(), learnt.width(k).unwrap());
    assert!(centre[1].abs() < 0.1 && (width[1] / 0.3f64.sqrt() - 1.0).abs() < 0.2, "{width:?}");
    assert!(width[0] > 3.0 && width[2] > 3.0, "{width:?}");
}

/// A penalised intercept that is worth nothing, and units whose squares are no numbers.
#[test]
fn kernels_at_the_edge() {
    let mut random = Random::new(15);
    let (x, noise) = (random.normals(60), random.normals(30));
    let mean = noise.iter().sum::<f64>() / 30.0;
    let y: Vec<f64> = noise.iter().map(|v| v - mean).collect();
    let model = learn(&AdaptiveRVR::new().fit_intercept(Intercept::Penalised), &x, 2, &y);
    assert!(model.report().objective.is_finite() && model.report().relevances.len() == 2);
    for factor in [1e-170, 1e153] {
        let x: Vec<f64> = x.iter().map(|x| factor * x).collect();
        let data = Dataset::new(DenseView::by_rows(&x, 30, 2).unwrap(), &y).unwrap();
        let error = AdaptiveRVR::new().standardize(false).fit(&data).unwrap_err().to_string();
        assert!(error.contains("'x1'"), "{error}");
    }
}

#[test]
fn the_best_family_wins() {
    let mut random = Random::new(12);
    let x: Vec<f64> = (0..200).map(|i| 0.05 * f64::from(i)).collect();
    let families = [Family::Rbf, Family::Laplacian, Family::Linear];
    let truth = |x: f64| 0.8 * x + 2.0 * (-(x - 3.0).abs() / 0.3).exp();
    let y: Vec<f64> = x.iter().map(|x| truth(*x) + 0.05 * random.normal()).collect();
    let model = learn(&AdaptiveRVR::new().families(families), &x, 1, &y);
    let learnt = model.learnt().unwrap();
    let kinds: Vec<Family> = (0..model.n_terms()).map(|k| learnt.family(k)).collect();
    assert_eq!(model.n_terms(), 2, "{}", model.explain());
    assert!(kinds.contains(&Family::Linear) && kinds.contains(&Family::Laplacian), "{kinds:?}");
    let trend = model.terms().iter().find(|t| t.name == "x1").unwrap();
    assert!((trend.weight() - 0.8).abs() < 0.05, "{}", trend.weight());
}

#[test]
fn learnt_kernels_predict_with_their_uncertainty() {
    let (x, clean, y) = doppler(500, 0.1, 13);
    let model = learn(&AdaptiveRVR::new(), &x, 1, &y);
    let view = DenseView::by_rows(&x, 500, 1).unwrap();
    let error = mean_square(&model.predict(view).unwrap(), &clean);
    assert!(error < 0.004, "{error}");
    assert!((model.noise_std().unwrap() / 0.1 - 1.0).abs() < 0.15);
    let mut random = Random::new(14);
    let intervals = model.predict_interval(view, 0.9).unwrap();
    let inside = (0..500)
        .filter(|&i| {
            let new = clean[i] + 0.1 * random.normal();
            (intervals[(i, 0)]..=intervals[(i, 1)]).contains(&new)
        })
        .count();
    assert!((0.85..0.95).contains(&(inside as f64 / 500.0)), "{inside}");
    let copy = Model::from_json(&model.to_json().unwrap()).unwrap();
    assert_eq!(copy.predict(view).unwrap(), model.predict(view).unwrap());
    assert_eq!(copy.learnt(), model.learnt());
}

/// What a kernel pays does not grow with the inputs, and none has a weight that others have to take
/// back.
#[test]
fn kernels_of_many_inputs() {
    let mut random = Random::new(23);
    let x: Vec<f64> = (0..3000).map(|_| random.uniform()).collect();
    let wave = |x: &[f64]| 10.0 * (std::f64::consts::PI * x[0] * x[1]).sin() + 10.0 * x[3];
    let clean: Vec<f64> =
        x.chunks(10).map(|x| wave(x) + 20.0 * (x[2] - 0.5).powi(2) + 5.0 * x[4]).collect();
    let y: Vec<f64> = clean.iter().map(|g| g + random.normal()).collect();
    let model = learn(&AdaptiveRVR::new(), &x, 10, &y);
    let error =
        mean_square(&model.predict(DenseView::by_rows(&x, 300, 10).unwrap()).unwrap(), &clean);
    let deviation = (mean_square(&y, &vec![y.iter().sum::<f64>() / 300.0; 300])).sqrt();
    let largest = model.terms().iter().map(|t| t.weight().abs()).fold(0.0, f64::max);
    assert!(error < 1.5 && largest < 20.0 * deviation, "{error}, {}", model.explain());
}

/// With its place paid for, no kernel sits on the row that is farthest off.
#[test]
fn no_kernel_sits_on_single_rows_of_noise() {
    for (seed, n) in [(0, 100), (1, 100), (2, 300), (3, 300), (4, 500), (5, 500)] {
        let mut random = Random::new(100 + seed);
        let x: Vec<f64> = (0..n).map(|i| 10.0 * i as f64 / n as f64).collect();
        let clean: Vec<f64> = x.iter().map(|x| 0.5 * x.sin()).collect();
        let y: Vec<f64> = clean.iter().map(|g| g + 0.1 * random.normal()).collect();
        let model = learn(&AdaptiveRVR::new().place_price(1.0), &x, 1, &y);
        let values = model.term_values(DenseView::by_rows(&x, n, 1).unwrap()).unwrap();
        for k in 0..model.n_terms() {
            let covered = values.column(k).iter().filter(|v| **v > 0.3).count();
            assert!(covered > 3, "{seed}: {}", model.explain());
        }
        let fitted = model.predict(DenseView::by_rows(&x, n, 1).unwrap()).unwrap();
        assert!(mean_square(&fitted, &clean) < 0.25 / n as f64, "{seed}");
    }
}

/// A fit says where it ended for want of rows, or by rules that do not climb.
#[test]
fn searches_that_end_early_say_so() {
    let mut random = Random::new(37);
    let (n, d) = (120, 10);
    let x: Vec<f64> = (0..n * d).map(|_| random.normal()).collect();
    let y: Vec<f64> = x.chunks(d).map(|x| (3.0 * x[0]).sin() + x[1] * x[2] + x[3]).collect();
    let model = learn(&AdaptiveRVR::new().noise(0.05), &x, d, &y);
    let report = model.report();
    assert!(report.notes.iter().any(|n| n.contains("bear no more kernels")), "{report:?}");
    assert_eq!(report.certificate.scope, "kept terms");
    let model = learn(&AdaptiveRVR::new().noise(0.05).max_terms(2), &x, d, &y);
    assert!(!model.report().notes.iter().any(|n| n.contains("bear no more")));
    let (x, _, y) = doppler(128, 0.1, 5);
    let model = learn(&AdaptiveRVR::new(), &x, 1, &y);
    assert!(model.report().notes.is_empty() && model.report().certificate.scope == "sampled");
    let paper = |seed| AdaptiveRVR::new().variant(Variant::Paper).random_state(seed);
    let fits = (0..6).map(|seed| learn(&paper(seed), &x, 1, &y));
    for model in fits {
        let gain = model.report().certificate.value;
        let said = model.report().notes.iter().any(|n| n.contains("do not climb"));
        assert_eq!(said, gain > 1e-6 && model.report().termination.is_converged(), "{gain}");
    }
}

/// Without a price all wavelets are kept, and the fit says that nothing is left.
#[test]
fn wavelets_that_interpolate_say_so() {
    let (x, _, y) = doppler(128, 0.1, 3);
    let method = WaveletRVR::new().sparsity(Sparsity::Rule(SparsityRule::None));
    let model = fit(&method, &x, &y);
    assert_eq!(model.n_terms(), 127);
    assert!(model.report().notes.iter().any(|n| n.contains("exactly")), "{:?}", model.report());
    assert!(fit(&WaveletRVR::new(), &x, &y).report().notes.is_empty());
}

/// A name lists some features; what is read by programs has all, in the units of the data.
#[test]
fn explanations_hold_whole_kernels() {
    let mut random = Random::new(31);
    let (n, d) = (120, 8);
    let spread = |j: usize| 10f64.powi(j as i32 - 3);
    let x: Vec<f64> = (0..n * d).map(|k| spread(k % d) * random.normal()).collect();
    let y: Vec<f64> = x
        .chunks(d)
        .map(|x| {
            (-x.iter().enumerate().map(|(j, v)| (v / spread(j)).powi(2)).sum::<f64>() / 9.0).exp()
        })
        .map(|g| g + 0.01 * random.normal())
        .collect();
    let model = learn(&AdaptiveRVR::new(), &x, d, &y);
    let explanation = model.explain();
    assert_eq!(explanation.learnt.len(), explanation.terms.len());
    assert!(!explanation.terms.is_empty());
    assert!(explanation.to_string().contains("to_dict()"), "{explanation}");
    for (function, term) in explanation.learnt.iter().zip(&explanation.terms) {
        let (centre, width) = (function.centre.as_ref().unwrap(), function.width.as_ref().unwrap());
        assert_eq!((function.family, centre.len(), width.len()), (Family::Rbf, d, d));
        let mut value = model.intercept();
        for (k, other) in model.terms().iter().enumerate() {
            let (m, h) = (model.learnt().unwrap().centre(k), model.learnt().unwrap().width(k));
            let (m, h) = (m.unwrap(), h.unwrap());
            let distance: f64 = (0..d).map(|j| ((centre[j] - m[j]) / h[j]).powi(2)).sum();
            value += other.weight() * (-distance).exp();
        }
        let view = DenseView::by_rows(centre, 1, d).unwrap();
        assert!((model.predict(view).unwrap()[0] - value).abs() < 1e-9);
        // One width inside is one for each feature outside, which the name says, too.
        let ratio = width[1] / width[0];
        assert!((5.0..20.0).contains(&ratio), "{ratio}");
        assert!(!term.name.contains("width") && term.name.contains(" ± "), "{}", term.name);
    }
}

/// Copies of rows, or weights that stand for them, make it no harder to interpolate: parameters are
/// held against the rows that differ.
#[test]
fn copies_of_rows_do_not_let_kernels_interpolate() {
    let mut random = Random::new(24);
    let mut draw =
        |rows: usize| -> Vec<f64> { (0..2 * rows).map(|_| 4.0 * random.uniform() - 2.0).collect() };
    let (x, new) = (draw(120), draw(500));
    let wave = |x: &[f64]| (2.0 * x[0]).sin();
    let y: Vec<f64> = x.chunks(2).map(|x| wave(x) + 0.1 * random.normal()).collect();
    let clean: Vec<f64> = new.chunks(2).map(wave).collect();
    let view = DenseView::by_rows(&new, 500, 2).unwrap();
    let error = |model: &Model| mean_square(&model.predict(view).unwrap(), &clean).sqrt();
    for copies in [2, 4] {
        let model = learn(&AdaptiveRVR::new(), &x.repeat(copies), 2, &y.repeat(copies));
        assert!(model.noise_std().unwrap() > 0.01, "{copies}: {:?}", model.noise_std());
        // 120 rows bear 80 parameters, 3 for each kernel.
        assert!(model.n_terms() <= 26, "{copies}: {}", model.n_terms());
        assert!(error(&model) < 0.3, "{copies}: {}", error(&model));
        let data = Dataset::new(DenseView::by_rows(&x, 120, 2).unwrap(), &y).unwrap();
        let data = data.with_weights(vec![copies as f64; 120]).unwrap();
        let weighted = AdaptiveRVR::new().fit(&data).unwrap();
        let apart =
            mean_square(&weighted.predict(view).unwrap(), &model.predict(view).unwrap()).sqrt();
        assert!(apart < 1e-6, "{copies}: {apart}");
    }
}

/// Noise alone has no kernel, and neither do settings that make no sense.
#[test]
fn learning_in_vain() {
    let mut random = Random::new(15);
    let (x, y) = (random.normals(400), random.normals(200));
    let model = learn(&AdaptiveRVR::new().sparsity(Sparsity::Rule(SparsityRule::Ric)), &x, 2, &y);
    assert_eq!(model.n_terms(), 0, "{}", model.explain());
    assert!(model.report().notes[0].contains("no term is kept"));
    for (settings, part) in [
        (r#"{"gamma": 1.0}"#, "gamma"),
        (r#"{"families": ["cosine"]}"#, "families"),
        (r#"{"families": []}"#, "at least one"),
        (r#"{"starts": 0}"#, "starts"),
        (r#"{"sparsity": "mdl"}"#, "a number, \"none\", \"aic\", \"bic\" or \"ric\""),
        (r#"{"parameter_price": -1}"#, "parameter_price"),
        (r#"{"place_price": -1}"#, "place_price"),
        (r#"{"families": [3]}"#, "a list of any of \"rbf\", \"laplacian\", \"linear\""),
        (r#"{"families": 3}"#, "a list of any of \"rbf\", \"laplacian\", \"linear\""),
        (r#"{"variance_price": -1}"#, "variance_price"),
    ] {
        let data = Dataset::new(DenseView::by_rows(&x, 200, 2).unwrap(), &y).unwrap();
        let error = fewer::method::fit("arvm", settings, None, &data, &fewer::engine::Silent);
        assert!(error.unwrap_err().to_string().contains(part), "{settings}");
    }
    // Settings that are listed are those there are.
    let error = AdaptiveRVR::from_json(r#"{"wavelet": "haar"}"#).unwrap_err().to_string();
    assert!(error.contains("families") && !error.contains("landmarks"), "{error}");
}

/// Constants are sure of themselves as the mean of so many rows is, whatever made them.
#[test]
fn models_without_kernels_know_their_uncertainty() {
    let mut random = Random::new(27);
    let (same, noise) = (vec![3.0; 40], random.normals(40));
    let y: Vec<f64> = noise.iter().map(|v| 100.0 + v).collect();
    let view = DenseView::by_rows(&same, 40, 1).unwrap();
    for intercept in [Intercept::Free, Intercept::Penalised] {
        let model = learn(&AdaptiveRVR::new().fit_intercept(intercept), &same, 1, &y);
        assert!(model.n_terms() == 0 && model.report().notes[0].contains("no column varies"));
        let mean = model.predict(view).unwrap()[0];
        assert!((mean - 100.0).abs() < 0.6, "{intercept:?}: {mean}");
        let std = model.predict_std(view).unwrap()[0];
        let expected = model.noise_std().unwrap() * (1.0f64 + 1.0 / 40.0).sqrt();
        assert!((std / expected - 1.0).abs() < 1e-3, "{intercept:?}: {std} {expected}");
    }
    // Noise alone: that of the mean has one degree of freedom.
    let x = random.normals(40);
    let model = learn(&AdaptiveRVR::new().sparsity(Sparsity::Number(20.0)), &x, 1, &y);
    assert_eq!(model.n_terms(), 0, "{}", model.explain());
    let mean = y.iter().sum::<f64>() / 40.0;
    let expected = (y.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 39.0).sqrt();
    assert!((model.noise_std().unwrap() / expected - 1.0).abs() < 1e-9);
}

/// Centres at an end of the data are off by rounding errors, which are not shown.
#[test]
fn names_round_centres_at_zero() {
    let mut random = Random::new(28);
    let x: Vec<f64> = (0..128).map(|i| f64::from(i) / 128.0).collect();
    let hill = |x: f64| (-(x + 0.3).powi(2) / 0.2).exp();
    let y: Vec<f64> = x.iter().map(|x| hill(*x) + 0.02 * random.normal()).collect();
    let model = learn(&AdaptiveRVR::new(), &x, 1, &y);
    let learnt = model.learnt().unwrap();
    let at_the_end = |k: &usize| learnt.centre(*k).unwrap()[0].abs() < 1e-9;
    let k = (0..model.n_terms()).find(at_the_end).expect("a kernel beyond the data");
    assert!(model.terms()[k].name.starts_with("rbf(x1 = 0 ± "), "{}", model.terms()[k].name);
}

#[test]
fn features_stand_for_themselves_without_a_free_intercept() {
    let mut random = Random::new(16);
    let x: Vec<f64> = (0..80).map(|_| 5.0 + random.normal()).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * x + 0.01 * random.normal()).collect();
    for intercept in [Intercept::None, Intercept::Penalised, Intercept::Free] {
        let method = AdaptiveRVR::new().families([Family::Linear]).fit_intercept(intercept);
        let model = learn(&method, &x, 1, &y);
        let fitted = model.predict(DenseView::by_rows(&x, 80, 1).unwrap()).unwrap();
        assert!(mean_square(&fitted, &y) < 2e-4, "{intercept:?}: {}", model.explain());
        assert!((model.terms()[0].weight() - 2.0).abs() < 0.01, "{intercept:?}");
    }
}

/// Inputs that do not vary cost nothing.
#[test]
fn constant_inputs_change_nothing() {
    let (x, _, y) = doppler(100, 0.1, 17);
    let wide: Vec<f64> = x.iter().flat_map(|x| [3.0, *x, -1.0]).collect();
    for anisotropic in [false, true] {
        let one = learn(&AdaptiveRVR::new(), &x, 1, &y);
        let three = learn(&AdaptiveRVR::new().anisotropic(anisotropic), &wide, 3, &y);
        let fitted = |model: &Model, x: &[f64], columns| {
            model.predict(DenseView::by_rows(x, 100, columns).unwrap()).unwrap()
        };
        assert_eq!(fitted(&one, &x, 1), fitted(&three, &wide, 3), "{anisotropic}");
        assert_eq!(one.report().objective, three.report().objective);
    }
}

fn learn_classes(method: &AdaptiveRVC, x: &[f64], columns: usize, labels: &[usize]) -> Model {
    let view = DenseView::by_rows(x, labels.len(), columns).unwrap();
    let labels = Target::labels(labels.iter().map(|&l| l as i64));
    method.fit(&Dataset::new(view, labels).unwrap()).unwrap()
}

/// Three clusters, of which one is a ring about another.
fn ring(rows: usize, seed: u64) -> (Vec<f64>, Vec<usize>) {
    let mut random = Random::new(seed);
    let mut x = Vec::new();
    let labels: Vec<usize> = (0..rows).map(|i| i % 3).collect();
    for label in &labels {
        let angle = std::f64::consts::TAU * random.uniform();
        let (radius, centre) = [(0.5, 0.0), (2.5, 0.0), (0.5, 6.0)][*label];
        let radius = radius + 0.3 * random.normal();
        x.extend([centre + radius * angle.cos(), radius * angle.sin()]);
    }
    (x, labels)
}

#[test]
fn kernels_of_labels() {
    let (x, labels) = ring(240, 18);
    let (new, truth) = ring(900, 19);
    for classes in [2, 3] {
        let codes: Vec<usize> = labels.iter().map(|l| l % classes).collect();
        let model = learn_classes(&AdaptiveRVC::new(), &x, 2, &codes);
        assert!(model.report().termination.is_converged());
        assert!(model.n_terms() <= 4 * classes, "{}", model.explain());
        let probabilities =
            model.predict_probabilities(DenseView::by_rows(&new, 900, 2).unwrap()).unwrap();
        let wrong = (0..900)
            .filter(|&i| {
                let own = probabilities[(i, truth[i] % classes)];
                (0..classes).any(|c| probabilities[(i, c)] > own)
            })
            .count();
        assert!(wrong < 30, "{classes}: {wrong}");
        let trace = &model.report().trace;
        assert!(classes == 3 || trace.len() > 2);
        assert!(trace.windows(2).all(|w| w[1].objective <= w[0].objective + 1e-9));
        assert!(model.report().relevances.iter().all(|r| *r > 0.0));
        let copy = Model::from_json(&model.to_json().unwrap()).unwrap();
        let again = copy.predict_probabilities(DenseView::by_rows(&new, 900, 2).unwrap()).unwrap();
        assert_eq!(again.as_slice(), probabilities.as_slice());
    }
}

/// The update of variances as published: steps that lower the objective are undone all the same.
#[test]
fn kernels_of_labels_by_published_rules() {
    let (x, labels) = ring(240, 18);
    let (new, truth) = ring(900, 19);
    let codes: Vec<usize> = labels.iter().map(|l| l % 2).collect();
    let view = DenseView::by_rows(&new, 900, 2).unwrap();
    let method = AdaptiveRVC::new().variance_price(0.0);
    let exact = learn_classes(&method, &x, 2, &codes);
    let paper = learn_classes(&method.variant(Variant::Paper), &x, 2, &codes);
    assert!(paper.report().termination.is_converged());
    let trace = &paper.report().trace;
    assert!(trace.windows(2).all(|w| w[1].objective <= w[0].objective + 1e-9));
    assert!((paper.report().objective - exact.report().objective).abs() > 1e-3, "no other rule");
    assert!(paper.n_terms() <= 8, "{}", paper.explain());
    let probabilities = paper.predict_probabilities(view).unwrap();
    let wrong = (0..900).filter(|&i| probabilities[(i, truth[i] % 2)] < 0.5).count();
    assert!(wrong < 30, "{wrong}");
}

/// Kernels on a few rows whose labels are wrong promise much where the likelihood is taken to be
/// Gaussian and keep little of it; a fit ends where nothing is left that keeps its promise.
#[test]
fn wrong_labels_do_not_end_the_search() {
    let mut random = Random::new(22);
    let (x, labels) = ring(400, 21);
    let wrong = |l: &usize| (l % 2) ^ usize::from(random.uniform() < 0.1);
    let codes: Vec<usize> = labels.iter().map(wrong).collect();
    let model = learn_classes(&AdaptiveRVC::new(), &x, 2, &codes);
    assert!(model.report().termination.is_converged());
    assert!(model.report().certificate.value < 1e-6, "{:?}", model.report().certificate);
    let (new, truth) = ring(900, 19);
    let probabilities =
        model.predict_probabilities(DenseView::by_rows(&new, 900, 2).unwrap()).unwrap();
    let wrong = (0..900).filter(|&i| probabilities[(i, truth[i] % 2)] < 0.5).count();
    assert!(wrong < 30 && model.n_terms() <= 6, "{wrong}, {}", model.explain());
}

/// Weights of rows are copies of them, whatever the intercept.
#[test]
fn weights_of_labelled_rows_are_copies() {
    let (x, labels) = ring(90, 20);
    let codes: Vec<usize> = labels.iter().map(|l| l % 2).collect();
    let counts: Vec<usize> = (0..90).map(|i| 1 + i % 3).collect();
    let many = |of: &dyn Fn(usize) -> Vec<f64>| -> Vec<f64> {
        (0..90).flat_map(|i| (0..counts[i]).flat_map(|_| of(i)).collect::<Vec<f64>>()).collect()
    };
    let copies = many(&|i| x[2 * i..2 * i + 2].to_vec());
    let copied: Vec<usize> = many(&|i| vec![codes[i] as f64]).iter().map(|&c| c as usize).collect();
    for intercept in [Intercept::Free, Intercept::None, Intercept::Penalised] {
        let method = AdaptiveRVC::new().fit_intercept(intercept);
        let repeated = learn_classes(&method, &copies, 2, &copied);
        let view = DenseView::by_rows(&x, 90, 2).unwrap();
        let target = Target::labels(codes.iter().map(|&c| c as i64));
        let weights: Vec<f64> = counts.iter().map(|&c| c as f64).collect();
        let data = Dataset::new(view, target).unwrap().with_weights(weights).unwrap();
        let weighted = method.fit(&data).unwrap();
        let (a, b) = (weighted.decision(view).unwrap(), repeated.decision(view).unwrap());
        let worst = a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs());
        let worst = worst.fold(0.0, f64::max);
        assert!(worst < 1e-6, "{intercept:?}: {worst}");
    }
}

/// With default settings noise alone has hardly a kernel, whatever the widths, and the ways out of a
/// maximum end: kernels that join may leave again.
#[test]
fn noise_alone_has_no_kernels() {
    for (columns, anisotropic) in [(1, false), (5, false), (5, true), (13, false)] {
        let method = AdaptiveRVR::new().anisotropic(anisotropic);
        let mut terms = 0;
        for seed in 0..8 {
            let mut random = Random::new(40 + seed);
            let (x, y) = (random.normals(200 * columns), random.normals(200));
            for price in [0.25, 0.0] {
                let model = learn(&method.clone().parameter_price(price), &x, columns, &y);
                let report = model.report();
                assert!(report.termination.is_converged() && report.iterations < 400);
                terms += if price > 0.0 { model.n_terms() } else { 0 };
            }
        }
        // A kernel of many inputs pays for its place as for one parameter: some have one.
        let most = if columns > 5 { 8 } else { 2 };
        assert!(terms <= most, "{columns}, {anisotropic}: {terms}");
    }
}

/// Where a limit ends a round that is then given up, the trace is that of the model.
#[test]
fn the_trace_ends_at_what_is_kept() {
    let (x, _, y) = doppler(150, 0.1, 3);
    for limit in (20..60).step_by(3) {
        let model = learn(&AdaptiveRVR::new().max_iter(limit), &x, 1, &y);
        let report = model.report();
        let last = report.trace.last().unwrap();
        let shift = report.trace[0].objective - last.objective;
        assert!(shift > 0.0 && last.terms == model.n_terms(), "{limit}");
        let (low, high) = (report.objective - 1e-6, report.objective + 1e-6);
        assert!((low..high).contains(&last.objective), "{limit}: {} {low}", last.objective);
    }
}
