//! What every method promises, whatever its prior, likelihood or basis.
//!
//! A new method joins by a line in [`methods`].

mod support;

use fewer::basis::{RowKernel, UserFunction};
use fewer::data::{Dataset, DenseView, Features, SparseMatrix, Target};
use fewer::engine::Silent;
use fewer::method::{METHODS, Task};
use fewer::model::{Model, Report};
use std::sync::Arc;
use support::{Problem, Random, distance};

/// (name of the method, settings).
fn methods() -> Vec<(&'static str, &'static str)> {
    vec![
        ("sparse", r#"{}"#),
        ("sparse", r#"{"prior": "laplace"}"#),
        ("sparse", r#"{"prior": "laplace", "lam_ratio": 0.02, "max_terms": 4}"#),
        ("sparse", r#"{"prior": "gaussian"}"#),
        ("sparse", r#"{"fit_intercept": false}"#),
        ("sparse", r#"{"fit_intercept": "penalised"}"#),
        ("sparse", r#"{"basis": "polynomial", "degree": 2}"#),
        ("sparse", r#"{"variant": "paper"}"#),
        ("sparse", r#"{"basis": "rbf"}"#),
        ("sparse", r#"{"basis": "laplacian", "prior": "laplace", "gamma": "median"}"#),
        ("sparse", r#"{"basis": "matern32", "candidates": 10}"#),
        ("sparse", r#"{"basis": "polynomial-kernel", "prior": "gaussian"}"#),
        ("sparse", r#"{"basis": "kernel-function"}"#),
        ("sparse", r#"{"basis": "kernel-function", "prior": "laplace", "candidates": 10}"#),
        ("lasso", r#"{}"#),
        ("lasso", r#"{"lam_ratio": 0.01}"#),
        ("lasso", r#"{"l1_ratio": 0.5}"#),
        ("lasso", r#"{"fit_intercept": false, "standardize": true}"#),
        ("lasso", r#"{"fit_intercept": "penalised"}"#),
        ("lasso", r#"{"positive": true}"#),
        ("lasso", r#"{"adaptive": 1}"#),
        ("lasso", r#"{"relaxed": true}"#),
        ("lasso", r#"{"lam_ratio": 0.02, "max_terms": 4}"#),
        ("lasso", r#"{"basis": "polynomial"}"#),
        ("lasso", r#"{"basis": "rbf"}"#),
        ("rvm", r#"{"basis": "linear"}"#),
        ("rvm", r#"{"basis": "linear", "sparsity": "bic"}"#),
        ("rvm", r#"{"basis": "linear", "fit_intercept": false}"#),
        ("rvm", r#"{"basis": "linear", "fit_intercept": "penalised", "max_terms": 4}"#),
        ("rvm", r#"{"basis": "rbf"}"#),
        ("rvm", r#"{"basis": "matern32", "candidates": 10, "sparsity": "aic"}"#),
        ("rvm", r#"{"basis": "linear", "sparsity": "bic", "variant": "paper"}"#),
        ("rvm", r#"{"basis": "rbf", "variance": "augmented"}"#),
        ("rvm", r#"{"basis": "linear", "solver": "block"}"#),
        ("rvm", r#"{"basis": "rbf", "solver": "block"}"#),
        ("rvm", r#"{"basis": "rbf", "solver": "block", "max_terms": 4, "sparsity": "aic"}"#),
        ("rvm", r#"{"basis": "rbf", "candidates": 10, "landmarks": "redrawn"}"#),
        ("rvm", r#"{"basis": "linear", "noise": "student_t"}"#),
        ("rvm", r#"{"basis": "rbf", "noise": "student_t", "nu": 4}"#),
        ("bls", r#"{}"#),
        ("bls", r#"{"lam": 0.5}"#),
        ("bls", r#"{"basis": "rbf", "lam": 0.5}"#),
        ("bls", r#"{"basis": "rbf"}"#),
        ("bls", r#"{"lam_rule": "hyperprior"}"#),
        ("bls", r#"{"variant": "paper"}"#),
        ("flap", r#"{}"#),
        ("flap", r#"{"basis": "rbf"}"#),
        ("flap", r#"{"lam": 0.5}"#),
        ("flap", r#"{"lam_rule": "hyperprior"}"#),
        ("flap", r#"{"variant": "paper"}"#),
        ("arvm", r#"{"families": ["rbf"]}"#),
        ("arvm", r#"{"families": ["rbf", "linear"], "anisotropic": true, "starts": 10}"#),
        ("arvm", r#"{"families": ["laplacian"], "fit_intercept": false, "starts": 10}"#),
        ("arvm", r#"{"families": ["rbf"], "variant": "paper", "starts": 10}"#),
        // srvm takes one equally spaced feature, which the data here are not: see `on_a_grid`.
        ("blasso", r#"{}"#),
        ("blasso", r#"{"lam": 3, "fit_intercept": false, "chains": 2}"#),
        ("blasso", r#"{"fit_intercept": "penalised", "max_terms": 4, "draws": 100}"#),
        // Weights of kernels that overlap trade with each other: their medians are no fit.
        (
            "blasso",
            r#"{"basis": "rbf", "estimate": "mean", "draws": 30, "warmup": 20, "chains": 2}"#,
        ),
        ("smlr", r#"{}"#),
        ("smlr", r#"{"lam_ratio": 0.01}"#),
        ("smlr", r#"{"l1_ratio": 0}"#),
        ("smlr", r#"{"fit_intercept": false}"#),
        ("smlr", r#"{"fit_intercept": "penalised", "l1_ratio": 0.5}"#),
        ("smlr", r#"{"basis": "rbf"}"#),
        ("smlr", r#"{"basis": "polynomial"}"#),
        ("smlr", r#"{"parameterization": "symmetric"}"#),
        ("smlr", r#"{"lam_ratio": 0.02, "max_terms": 4}"#),
        ("smlr", r#"{"solver": "bound"}"#),
        ("smlr", r#"{"solver": "bound", "basis": "rbf", "fit_intercept": false}"#),
        ("smlr", r#"{"solver": "componentwise"}"#),
        ("smlr", r#"{"solver": "componentwise", "schedule": "gain", "basis": "rbf"}"#),
        ("rmlr", r#"{}"#),
        ("rmlr", r#"{"basis": "rbf", "parameterization": "symmetric"}"#),
        ("rmlr", r#"{"solver": "bound"}"#),
        ("rvc", r#"{"basis": "linear"}"#),
        ("rvc", r#"{"basis": "linear", "sparsity": "bic", "fit_intercept": false}"#),
        ("rvc", r#"{"basis": "linear", "fit_intercept": "penalised", "max_terms": 4}"#),
        ("rvc", r#"{"basis": "rbf"}"#),
        ("rvc", r#"{"basis": "matern32", "candidates": 10, "sparsity": "aic"}"#),
        ("rvc", r#"{"basis": "rbf", "multiclass": "multinomial"}"#),
        ("arvc", r#"{"families": ["rbf"]}"#),
        ("arvc", r#"{"families": ["rbf", "linear"], "anisotropic": true, "starts": 10}"#),
        ("arvc", r#"{"families": ["rbf"], "variant": "paper", "starts": 10}"#),
        ("probit", r#"{}"#),
        ("probit", r#"{"prior": "laplace"}"#),
        ("probit", r#"{"prior": "gaussian", "fit_intercept": false}"#),
        ("probit", r#"{"fit_intercept": "penalised"}"#),
        ("probit", r#"{"basis": "rbf"}"#),
        ("probit", r#"{"basis": "matern52", "prior": "laplace"}"#),
        ("probit", r#"{"basis": "linear-kernel", "prior": "gaussian"}"#),
        ("probit", r#"{"basis": "kernel-function", "prior": "laplace"}"#),
    ]
}

fn classifies(method: (&str, &str)) -> bool {
    METHODS.iter().any(|m| m.short == method.0 && m.task == Task::Classification)
}

/// Whether a setting has units of the target: λ of Fast Laplace, those of 1/y².
fn has_units(method: (&str, &str)) -> bool {
    method.0 == "flap" && method.1.contains("\"lam\"")
}

fn has_kernels(method: (&str, &str)) -> bool {
    ["rbf", "laplacian", "matern", "kernel"].iter().any(|k| method.1.contains(k))
}

/// Whether weights are smaller than those of least squares, so that a good fit is not exact.
fn shrinks(method: (&str, &str)) -> bool {
    method.1.contains("prior") || ["lasso", "blasso"].contains(&method.0)
}

/// The target as the method wants it: numbers, or whether they are above 2.
fn target_for<'a>(method: (&str, &str), y: &'a [f64]) -> Target<'a> {
    if classifies(method) { Target::labels(y.iter().map(|y| *y > 2.0)) } else { y.into() }
}

fn dataset<'a>(
    method: (&str, &str),
    features: impl Into<Features<'a>>,
    y: &'a [f64],
) -> Dataset<'a> {
    Dataset::new(features, target_for(method, y)).unwrap()
}

/// All outputs for all rows: predictions, or what classes are told apart by.
fn outputs<'a>(model: &Model, features: impl Into<Features<'a>>) -> Vec<f64> {
    model.decision(features).unwrap().as_slice().to_vec()
}

/// A rational quadratic kernel, for the settings that want the user's own.
fn own_kernel() -> RowKernel {
    RowKernel::new("rational", |x, c| {
        let distance: f64 = x.iter().zip(c).map(|(x, c)| (x - c).powi(2)).sum();
        1.0 / (1.0 + distance / x.len() as f64)
    })
}

fn try_fit(method: (&str, &str), data: &Dataset<'_>) -> fewer::Result<Model> {
    let own = || UserFunction::Kernel(Arc::new(own_kernel()));
    let function = method.1.contains("kernel-function").then(own);
    fewer::method::fit(method.0, method.1, function, data, &Silent)
}

fn fit(method: (&str, &str), data: &Dataset<'_>) -> Model {
    try_fit(method, data).unwrap_or_else(|e| panic!("{method:?}: {e}"))
}

/// Written as a file and read again.
fn copy_of(model: &Model) -> Model {
    let mut copy = Model::from_json(&model.to_json().unwrap()).unwrap();
    if copy.needs_function().is_some() {
        copy.supply_kernel(own_kernel()).unwrap();
    }
    copy
}

/// Runs a check for every method, on tall and on wide data.
fn for_each(check: impl Fn((&'static str, &'static str), &Problem)) {
    for method in methods() {
        for (rows, columns) in [(60, 6), (20, 8)] {
            check(method, &Problem::linear(11, rows, columns, 3, 0.3));
        }
    }
}

fn same(a: &Model, b: &Model, tol: f64, what: &str) {
    let (a, b) = (a.coefficients(), b.coefficients());
    let size = a.iter().fold(1e-300, |m: f64, v| m.max(v.abs()));
    assert!(distance(&a, &b) <= tol * size, "{what}");
}

#[test]
fn integer_weights_equal_repeated_rows() {
    for_each(|method, p| {
        let mut random = Random::new(5);
        let counts: Vec<usize> = (0..p.rows).map(|_| (4.0 * random.uniform()) as usize).collect();
        let weights: Vec<f64> = counts.iter().map(|&c| c as f64).collect();
        let (mut x, mut y) = (Vec::<f64>::new(), Vec::new());
        for i in 0..p.rows {
            for _ in 0..counts[i] {
                x.extend(&p.x[i * p.columns..(i + 1) * p.columns]);
                y.push(p.y[i]);
            }
        }
        let repeated = dataset(method, DenseView::by_rows(&x, y.len(), p.columns).unwrap(), &y);
        let weighted = dataset(method, p.view(), &p.y).with_weights(weights).unwrap();
        let (a, b) = (fit(method, &weighted), fit(method, &repeated));
        let (f, g) = (outputs(&a, p.view()), outputs(&b, p.view()));
        let size = f.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        assert!(distance(&f, &g) <= 1e-5 * size, "{method:?}");
        assert_eq!(a.n_terms(), b.n_terms(), "{method:?}");
        if let (Some(a), Some(b)) = (a.noise_std(), b.noise_std()) {
            assert!((a / b - 1.0).abs() < 1e-6, "{method:?}");
        }
    });
}

#[test]
fn dense_equals_sparse_in_every_order_and_precision() {
    for_each(|method, p| {
        // Some zeros, and values that f32 holds exactly.
        let x: Vec<f64> = p
            .x
            .iter()
            .map(|&v| if v.abs() < 0.4 { 0.0 } else { f64::from((v as f32 * 64.0).round() / 64.0) })
            .collect();
        let (n, d) = (p.rows, p.columns);
        let by_columns: Vec<f64> = (0..n * d).map(|k| x[k % n * d + k / n]).collect();
        let single: Vec<f32> = x.iter().map(|&v| v as f32).collect();
        let strided: Vec<f64> = x.iter().flat_map(|&v| [v, f64::NAN]).collect();
        let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in x.chunks(d) {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j);
                values.push(v);
            }
            starts.push(indices.len());
        }
        let sparse = SparseMatrix::from_rows(n, d, &starts, &indices, &values).unwrap();
        let reference = fit(method, &dataset(method, DenseView::by_rows(&x, n, d).unwrap(), &p.y));
        let others: [Features<'_>; 4] = [
            DenseView::by_columns(&by_columns, n, d).unwrap().into(),
            DenseView::by_rows(&single, n, d).unwrap().into(),
            DenseView::strided(&strided, n, d, 2 * d, 2).unwrap().into(),
            sparse.view().into(),
        ];
        for (k, other) in others.into_iter().enumerate() {
            let model = fit(method, &dataset(method, other, &p.y));
            // Newton's steps go other ways for sparse columns, each to a gap of 1e-8.
            let newton = ["smlr", "rmlr"].contains(&method.0);
            let tol = if newton { 1e-4 } else { 1e-5 };
            same(&reference, &model, tol, &format!("{method:?}, form {k}"));
            let dense = outputs(&reference, DenseView::by_rows(&x, n, d).unwrap());
            let size = dense.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
            let predicted = outputs(&model, sparse.view());
            assert!(distance(&dense, &predicted) < tol * size, "{method:?}, form {k}");
        }
    });
}

#[test]
fn rescaling_rescales_the_answer_and_nothing_else() {
    for_each(|method, p| {
        let reference = fit(method, &dataset(method, p.view(), &p.y));
        let before = outputs(&reference, p.view());
        let size = before.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        for factor in [1e-6, 1e6] {
            if !classifies(method) && !has_units(method) {
                let y: Vec<f64> = p.y.iter().map(|y| y * factor).collect();
                let scaled = fit(method, &dataset(method, p.view(), &y));
                let expected: Vec<f64> = before.iter().map(|v| v * factor).collect();
                let worst = distance(&outputs(&scaled, p.view()), &expected);
                assert!(worst <= 1e-5 * factor * size, "{method:?}, y × {factor}: {worst:e}");
                assert_eq!(reference.n_terms(), scaled.n_terms(), "{method:?}, y × {factor}");
            }
            for j in 0..p.columns {
                let mut x = p.x.clone();
                x.iter_mut().skip(j).step_by(p.columns).for_each(|v| *v *= factor);
                let view = DenseView::by_rows(&x, p.rows, p.columns).unwrap();
                let scaled = fit(method, &dataset(method, view, &p.y));
                let worst = distance(&before, &outputs(&scaled, view));
                assert!(worst <= 1e-5 * size, "{method:?}, x{} × {factor}: {worst:e}", j + 1);
                assert_eq!(reference.n_terms(), scaled.n_terms(), "{method:?}, x{}", j + 1);
            }
        }
    });
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    let big = Problem::linear(2, 9000, 12, 4, 0.5);
    let small = Problem::linear(2, 400, 4, 2, 0.5);
    let wide = Problem::linear(3, 60, 300, 4, 0.5);
    for (name, settings) in methods().into_iter().filter(|m| !m.1.contains("polynomial")) {
        let few = settings.contains("candidates") && !settings.contains("redrawn");
        let kernel = has_kernels((name, settings)) && !few;
        for p in [if kernel { &small } else { &big }, &wide] {
            let fitted = [1, 2].map(|threads| {
                let settings = if settings == "{}" {
                    format!(r#"{{"n_jobs": {threads}}}"#)
                } else {
                    settings.replacen('{', &format!(r#"{{"n_jobs": {threads}, "#), 1)
                };
                fit((name, &settings), &dataset((name, &settings), p.view(), &p.y))
            });
            let bits = |m: &Model| -> Vec<u64> {
                let mut all = m.coefficients();
                all.extend([m.intercept(), m.report().objective, m.noise_std().unwrap_or(0.0)]);
                all.iter().map(|v| v.to_bits()).collect()
            };
            assert_eq!(bits(&fitted[0]), bits(&fitted[1]), "{name} {settings}");
        }
    }
}

#[test]
fn saved_and_loaded_models_predict_the_same_bits() {
    for_each(|method, p| {
        let model = fit(method, &dataset(method, p.view(), &p.y));
        let copy = copy_of(&model);
        assert_eq!(outputs(&model, p.view()), outputs(&copy, p.view()));
        // Weights of rows are not in model files.
        let report = Report { row_weights: Vec::new(), ..model.report().clone() };
        assert_eq!(&report, copy.report());
        assert_eq!(model.to_json().unwrap(), copy.to_json().unwrap());
    });
}

/// What holds for all methods as far as wavelets, which need a grid, can be held to it.
#[test]
fn on_a_grid() {
    let settings = [
        r#"{}"#,
        r#"{"wavelet": "haar", "sparsity": "aic"}"#,
        r#"{"fit_intercept": false, "noise": 0.1}"#,
        r#"{"fit_intercept": "penalised", "max_terms": 4}"#,
        r#"{"padding": "symmetric"}"#,
    ];
    for settings in settings {
        let method = ("srvm", settings);
        let n = if settings.contains("padding") { 50 } else { 64 };
        let mut random = Random::new(8);
        let x: Vec<f64> = (0..n).map(|i| 3.0 + 0.25 * i as f64).collect();
        let y: Vec<f64> =
            x.iter().map(|x| 2.0 + (0.1 * x * x).sin() + 0.1 * random.normal()).collect();
        let of = |x: &[f64], y: &[f64]| {
            fit(method, &dataset(method, DenseView::by_rows(x, x.len(), 1).unwrap(), y))
        };
        let model = of(&x, &y);
        let view = DenseView::by_rows(&x, n, 1).unwrap();
        let before = outputs(&model, view);
        assert!(model.n_terms() > 0 && model.report().termination.is_converged());
        assert!(model.report().certificate.value <= 1e-8);
        // Files, weights of one, and any order of the rows.
        let copy = copy_of(&model);
        assert_eq!(before, outputs(&copy, view));
        assert_eq!(model.to_json().unwrap(), copy.to_json().unwrap());
        let weighted = dataset(method, view, &y).with_weights(vec![1.0; n]).unwrap();
        assert_eq!(outputs(&fit(method, &weighted), view), before);
        let turned = |v: &[f64]| v.iter().rev().copied().collect::<Vec<f64>>();
        assert_eq!(outputs(&of(&turned(&x), &turned(&y)), view), before);
        // In pieces and as single precision.
        for (i, x) in x.iter().enumerate() {
            let one = outputs(&model, DenseView::by_rows(&[*x], 1, 1).unwrap());
            assert_eq!(one, [before[i]]);
        }
        let single: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        assert_eq!(outputs(&model, DenseView::by_rows(&single, n, 1).unwrap()), before);
        // Rescaling; noise that is given has the units of the target.
        let close = |a: &[f64], b: &[f64], scale: f64| assert!(distance(a, b) <= 1e-9 * scale);
        let scaled: Vec<f64> = x.iter().map(|x| 1e6 * (x + 5.0)).collect();
        let other = of(&scaled, &y);
        close(&outputs(&other, DenseView::by_rows(&scaled, n, 1).unwrap()), &before, 1.0);
        if !settings.contains("noise") {
            let y: Vec<f64> = y.iter().map(|y| 1e6 * y).collect();
            let expected: Vec<f64> = before.iter().map(|v| 1e6 * v).collect();
            close(&outputs(&of(&x, &y), view), &expected, 1e6);
        }
        // What no grid is, and rows that are left out.
        let mut bent = x.clone();
        bent[7] += 0.1;
        let bent = DenseView::by_rows(&bent, n, 1).unwrap();
        let error = try_fit(method, &dataset(method, bent, &y)).unwrap_err().to_string();
        assert!(error.contains("equally spaced"), "{error}");
        let mut weights = vec![1.0; n];
        weights[3] = 0.0;
        let without = dataset(method, view, &y).with_weights(weights).unwrap();
        let error = try_fit(method, &without).unwrap_err().to_string();
        assert!(error.contains("row 4") && error.contains("folds"), "{error}");
    }
}

#[test]
fn certificates_hold_where_fits_converge() {
    for_each(|method, p| {
        if method.1.contains("paper") {
            return;
        }
        let sampled = method.0 == "blasso";
        if sampled && method.1.contains("draws") {
            return; // they are few
        }
        let model = fit(method, &dataset(method, p.view(), &p.y));
        assert!(model.report().termination.is_converged(), "{method:?}");
        let limit = if sampled { 0.01 } else { 1e-8 };
        assert!(model.report().certificate.value <= limit, "{method:?}");
    });
}

fn simple(x: &[f64], columns: usize, y: &[f64], method: (&str, &str)) -> Model {
    let view = DenseView::by_rows(x, y.len(), columns).unwrap();
    let model = fit(method, &dataset(method, view, y));
    assert!(outputs(&model, view).iter().all(|v| v.is_finite()), "{method:?}");
    assert!(model.report().objective.is_finite(), "{method:?}: {:?}", model.report());
    assert!(model.noise_std().unwrap_or(0.0).is_finite(), "{method:?}");
    model
}

#[test]
fn one_row() {
    for method in methods().into_iter().filter(|m| !classifies(*m)) {
        let model = simple(&[1.0, 2.0], 2, &[3.0], method);
        if method.1 == "{}" {
            assert_eq!(model.n_terms(), 0);
            assert_eq!(model.intercept(), 3.0);
            assert!(model.report().notes[0].contains("constant"));
        }
    }
}

#[test]
fn one_column() {
    for method in methods() {
        let mut random = Random::new(1);
        let x = random.normals(50);
        let y: Vec<f64> = x.iter().map(|x| 2.0 + 3.0 * x + 0.1 * random.normal()).collect();
        let model = simple(&x, 1, &y, method);
        let view = DenseView::by_rows(&x, 50, 1).unwrap();
        if classifies(method) {
            let codes = model.predict_codes(view).unwrap();
            let wrong = codes.iter().zip(&y).filter(|(c, y)| (**c == 1) != (**y > 2.0)).count();
            assert!(wrong <= 5, "{method:?}: {wrong}");
        } else if !method.1.contains(r#""fit_intercept": false"#) {
            let fitted = model.predict(view).unwrap();
            let rss: f64 = fitted.iter().zip(&y).map(|(f, y)| (f - y).powi(2)).sum();
            let limit = if shrinks(method) { 2.0 } else { 0.3 };
            assert!((rss / 50.0).sqrt() < limit, "{method:?}: {}", (rss / 50.0).sqrt());
        }
    }
}

#[test]
fn constant_target() {
    for method in methods().into_iter().filter(|m| !classifies(*m)) {
        let x = Random::new(2).normals(60);
        for constant in [0.0, 7.5, -1e9] {
            let model = simple(&x, 2, &[constant; 30], method);
            if !method.1.contains("fit_intercept") {
                assert_eq!(model.n_terms(), 0, "{method:?}");
                assert_eq!(model.intercept(), constant, "{method:?}");
            }
        }
    }
}

#[test]
fn duplicated_and_constant_columns() {
    for method in methods() {
        let mut random = Random::new(3);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            let a = random.normal();
            x.extend([a, a, -2.0 * a, 5.0, 0.0, random.normal()]);
            y.push(1.0 + 2.0 * a + 0.1 * random.normal());
        }
        let model = simple(&x, 6, &y, method);
        let dropped: Vec<&str> = model.report().dropped.iter().map(|d| d.name.as_str()).collect();
        assert!(has_kernels(method) || dropped.contains(&"x5"), "{method:?}: {dropped:?}");
        if matches!(method, ("lasso" | "smlr", "{}")) {
            let kept: Vec<&str> = model.terms().iter().map(|t| t.name.as_str()).collect();
            assert!(kept.iter().all(|k| ["x1", "x2", "x3"].contains(k)), "{kept:?}");
        } else if method == ("rmlr", "{}") {
            assert_eq!(dropped, ["x4", "x5"], "a ridge shares the weight among copies");
        } else if method.1 == "{}" {
            assert_eq!(dropped, ["x4", "x5", "x2", "x3"]);
            assert_eq!(model.report().dropped[2].reason, "a copy of 'x1'");
            assert_eq!(model.terms()[0].name, "x1");
        }
    }
}

#[test]
fn only_constant_columns() {
    for method in methods() {
        let y: Vec<f64> = Random::new(4).normals(10).iter().map(|y| y + 2.0).collect();
        let model = simple(&[2.0; 20], 2, &y, method);
        if method.1 == "{}" {
            assert_eq!(model.n_terms(), 0);
            assert!(model.report().notes[0].contains("no column varies"));
        }
    }
}

#[test]
fn more_columns_than_rows() {
    for method in methods() {
        let p = Problem::linear(5, 10, 40, 2, 0.1);
        simple(&p.x, 40, &p.y, method);
    }
}

#[test]
fn noise_free_targets() {
    for method in methods() {
        let p = Problem::linear(6, 80, 6, 2, 0.0);
        let model = simple(&p.x, 6, &p.y, method);
        if method == ("sparse", "{}") {
            assert!(distance(&model.coefficients(), &p.weights) < 1e-6);
            assert_eq!(model.n_terms(), 2);
            assert!(model.report().notes[0].contains("exactly"));
            assert!(model.report().termination.is_converged());
        }
    }
}

#[test]
fn huge_and_tiny_values() {
    for method in methods().into_iter().filter(|m| !m.1.contains("polynomial")) {
        let p = Problem::linear(7, 60, 4, 2, 0.2);
        let reference = simple(&p.x, 4, &p.y, method);
        for factor in [1e-150, 1e150] {
            let x: Vec<f64> = p.x.iter().map(|v| v * factor).collect();
            let y: Vec<f64> = p.y.iter().map(|v| v * factor).collect();
            let mut cases = vec![(&x, &p.y, 1.0)];
            if !classifies(method) && !has_units(method) {
                cases.extend([(&x, &y, factor), (&p.x, &y, factor)]);
            }
            for (x, y, expected) in cases {
                let view = DenseView::by_rows(x, 60, 4).unwrap();
                let fitted = outputs(&simple(x, 4, y, method), view);
                let before = outputs(&reference, p.view());
                let size = before.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                let after: Vec<f64> = fitted.iter().map(|v| v / expected).collect();
                assert!(distance(&before, &after) <= 1e-6 * size, "{method:?}, {factor}");
            }
        }
    }
}

#[test]
fn large_offsets() {
    let free = |m: &(&str, &str)| !m.1.contains("fit_intercept") && !classifies(*m);
    for method in methods().into_iter().filter(free) {
        let mut random = Random::new(8);
        let mut x = Vec::new();
        let mut y = Vec::new();
        for i in 0..200 {
            let (year, second) = (1900.0 + f64::from(i), 1.7e9 + 60.0 * f64::from(i * i % 199));
            x.extend([year, second]);
            y.push(5e6 + 0.3 * (year - 1900.0) + 0.001 * (second - 1.7e9) + 0.1 * random.normal());
        }
        let model = simple(&x, 2, &y, method);
        let fitted = model.predict(DenseView::by_rows(&x, 200, 2).unwrap()).unwrap();
        let rmse =
            (fitted.iter().zip(&y).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 200.0).sqrt();
        let limit = match (shrinks(method), has_kernels(method)) {
            (true, _) => 8.0,
            (false, true) => 5.0,
            (false, false) => 0.12,
        };
        assert!(rmse < limit, "{method:?}: {rmse}");
    }
}

#[test]
fn bad_values_are_named() {
    for method in methods() {
        let run = |x: &[f64], y: &[f64], weights: Option<Vec<f64>>| {
            let view = DenseView::by_rows(x, y.len(), 2).unwrap();
            let mut data = dataset(method, view, y).with_names(["age", "dose"]).unwrap();
            if let Some(w) = weights {
                data = data.with_weights(w).unwrap();
            }
            try_fit(method, &data).unwrap_err().to_string()
        };
        let message = run(&[1.0, 2.0, 3.0, f64::NAN], &[1.0, 2.0], None);
        assert!(message.contains("row 2, column 'dose': the value is missing"), "{message}");
        let message = run(&[1.0, 2.0, f64::INFINITY, 1.0], &[1.0, 2.0], None);
        assert!(message.contains("row 2, column 'age': the value is infinite (inf)"), "{message}");
        if !classifies(method) {
            let message = run(&[1.0, 2.0, 3.0, 4.0], &[1.0, f64::NAN], None);
            assert!(message.contains("row 2, column 'y'"), "{message}");
        }
        let message = run(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0], Some(vec![1.0, -1.0]));
        assert!(message.contains("the weight is -1"), "{message}");
        let message = run(&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0], Some(vec![0.0, 0.0]));
        assert!(message.contains("all sample weights are 0"), "{message}");
        let message = run(&[], &[], None);
        assert!(message.contains("at least 1 row"), "{message}");
    }
}

#[test]
fn other_columns_at_predicting_are_refused() {
    for method in methods() {
        let p = Problem::linear(9, 30, 3, 2, 0.1);
        let model = simple(&p.x, 3, &p.y, method);
        let message =
            model.decision(DenseView::by_rows(&[1.0, 2.0], 1, 2).unwrap()).unwrap_err().to_string();
        assert!(message.contains("expected 3 columns, found 2"), "{message}");
        let bad = [1.0, f64::NAN, 2.0];
        let message =
            model.decision(DenseView::by_rows(&bad, 1, 3).unwrap()).unwrap_err().to_string();
        assert!(message.contains("row 1, column 'x2'"), "{message}");
    }
}

#[test]
fn bad_settings_are_named() {
    let p = Problem::linear(1, 20, 2, 1, 0.1);
    for method in ["sparse", "probit"] {
        for (settings, name, hint) in [
            (
                r#"{"prior": "cauchy"}"#,
                "prior",
                r#"one of "jeffreys", "laplace", "gaussian" is expected"#,
            ),
            (r#"{"prior": 1}"#, "prior", r#"one of "jeffreys", "laplace", "gaussian" is expected"#),
            (r#"{"max_terms": -1}"#, "max_terms", "a whole number of at least 1 is expected"),
            (r#"{"tol": "small"}"#, "tol", "a number is expected"),
            (r#"{"standardize": 2}"#, "standardize", "true or false is expected"),
            (r#"{"variant": "fast"}"#, "variant", r#""exact" or "paper" is expected"#),
            (r#"{"max_terms": 0}"#, "max_terms", "at least 1"),
            (r#"{"tol": 0}"#, "tol", "above 0"),
            (r#"{"fit_intercept": 3}"#, "fit_intercept", "penalised"),
            (r#"{"gamma": "wide"}"#, "gamma", r#""median" or, to choose it, "cv""#),
            (r#"{"random_state": -1}"#, "random_state", "a whole number of at least 0"),
            (r#"{"lam": 1}"#, "lam", "Jeffreys prior has no λ"),
            (r#"{"lam_ratio": 0.5}"#, "lam_ratio", "Jeffreys prior has no λ"),
            (r#"{"prior": "laplace", "lam_ratio": 2}"#, "lam_ratio", "(0, 1]"),
            (r#"{"lambda": 1}"#, "lambda", "no such setting"),
        ] {
            let data = dataset((method, ""), p.view(), &p.y);
            let error = fewer::method::fit(method, settings, None, &data, &Silent).unwrap_err();
            let message = error.to_string();
            assert!(message.starts_with(&format!("{name} = ")), "{settings}: {message}");
            assert!(message.contains(hint), "{settings}: {message}");
        }
    }
}

#[test]
fn rows_of_weight_zero_may_hold_anything() {
    for_each(|method, p| {
        let reference = outputs(&fit(method, &dataset(method, p.view(), &p.y)), p.view());
        let size = reference.iter().fold(1.0, |m: f64, v| m.max(v.abs()));
        let mut x = p.x.clone();
        x.extend((0..p.columns).map(|j| if j % 2 == 0 { 1e12 } else { -1e200 }));
        let mut y = p.y.clone();
        y.push(if classifies(method) { 3.0 } else { 1e18 });
        let mut weights = vec![1.0; p.rows];
        weights.push(0.0);
        let view = DenseView::by_rows(&x, p.rows + 1, p.columns).unwrap();
        let data = dataset(method, view, &y).with_weights(weights).unwrap();
        let Ok(model) = try_fit(method, &data) else {
            // Products of such values overflow, which is said.
            assert!(method.1.contains("polynomial"), "{method:?}");
            return;
        };
        let worst = distance(&outputs(&model, p.view()), &reference);
        assert!(worst <= 1e-5 * size, "{method:?}: {worst:e}");
    });
}

/// Stationarity recomputed from predictions alone.
#[test]
fn certificates_are_true() {
    for seed in 0..6 {
        let p = Problem::linear(seed, 60, 8, 3, 0.4);
        for method in methods() {
            let linear = !has_kernels(method) && !method.1.contains("polynomial");
            let other = ["paper", "penalised", "adaptive", "relaxed", "max_terms"];
            let posterior = ["rvm", "bls", "flap", "rvc", "blasso"].contains(&method.0);
            if !linear || posterior || other.iter().any(|o| method.1.contains(o)) {
                continue;
            }
            let model = fit(method, &dataset(method, p.view(), &p.y));
            let eta = outputs(&model, p.view());
            let lasso = method.0 == "lasso";
            let logit = matches!(method.0, "smlr" | "rmlr");
            let mean = p.y.iter().sum::<f64>() / p.rows as f64;
            let centre = if method.1.contains("fit_intercept") { 0.0 } else { mean };
            let square: f64 = p.y.iter().map(|y| (y - centre).powi(2)).sum();
            let target_deviation = (square / p.rows as f64).sqrt();
            let precision = model.noise_std().filter(|_| !lasso).map_or(1.0, |s| s.powi(-2));
            let pull: Vec<f64> = (0..p.rows)
                .map(|i| {
                    if logit {
                        f64::from(u8::from(p.y[i] > 2.0)) - 1.0 / (1.0 + (-eta[i]).exp())
                    } else if classifies(method) {
                        let s = if p.y[i] > 2.0 { 1.0 } else { -1.0 };
                        s * fewer::special::inverse_mills(s * eta[i])
                    } else {
                        precision * (p.y[i] - eta[i])
                    }
                })
                .collect();
            for term in model.terms() {
                // Weights of columns of unit variance, which the prior is on.
                let (w, sd) = (term.weight() * term.deviation, term.deviation);
                let data: f64 = (0..p.rows)
                    .map(|i| pull[i] * (p.x[i * p.columns + term.index] - term.centre) / sd)
                    .sum();
                let lam = model.report().lam.unwrap_or(0.0);
                let prior = match model.settings()["prior"].as_str() {
                    None if logit => {
                        let ratio = model.settings()["l1_ratio"].as_f64().unwrap();
                        lam * (ratio * w.signum() + (1.0 - ratio) * w)
                    }
                    None if lasso => {
                        let ratio = model.settings()["l1_ratio"].as_f64().unwrap();
                        lam * (ratio * w.signum() + (1.0 - ratio) * w / target_deviation)
                    }
                    Some("laplace") => lam * w.signum(),
                    Some("gaussian") => lam * w,
                    _ => 1.0 / w,
                };
                let scale = prior.abs().max(precision * p.rows as f64 * w.abs());
                // A ridge's gap is of the second order in this.
                let ridge = method.0 == "rmlr" || method.1.contains(r#""l1_ratio": 0"#);
                let limit = if ridge { 1e-2 } else { 1e-6 };
                assert!((data - prior).abs() < limit * scale, "{method:?}: {data} {prior}");
            }
        }
    }
}

#[test]
fn copies_share_a_ridge_weight() {
    let mut random = Random::new(12);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..50 {
        let a = random.normal();
        x.extend([a, a]);
        y.push(a + 0.1 * random.normal());
    }
    let model = simple(&x, 2, &y, ("sparse", r#"{"prior": "gaussian", "lam": 50, "noise": 1}"#));
    let w = model.coefficients();
    assert!(w[0] > 0.1 && (w[0] - w[1]).abs() < 1e-12, "{w:?}");
}

#[test]
fn limits_never_leave_a_broken_model() {
    for_each(|method, p| {
        for limit in [r#""max_time": 1e-9"#, r#""max_time": 1e300"#, r#""max_iter": 1"#] {
            let settings = match method.1 {
                "{}" => format!("{{{limit}}}"),
                other => other.replacen('{', &format!("{{{limit}, "), 1),
            };
            let model = fit((method.0, &settings), &dataset(method, p.view(), &p.y));
            assert!(model.report().objective.is_finite(), "{method:?}, {limit}");
            let copy = copy_of(&model);
            assert_eq!(outputs(&model, p.view()), outputs(&copy, p.view()));
        }
    });
}

#[test]
fn the_ends_of_floating_point() {
    let p = Problem::linear(7, 60, 4, 2, 0.2);
    let reference = simple(&p.x, 4, &p.y, ("sparse", "{}"));
    for factor in [1e-200, 1e-155, 1e155, 1e200] {
        let y: Vec<f64> = p.y.iter().map(|v| v * factor).collect();
        let model = simple(&p.x, 4, &y, ("sparse", "{}"));
        for (a, b) in reference.coefficients().iter().zip(model.coefficients()) {
            assert!((a - b / factor).abs() < 1e-6, "{factor}");
        }
    }
    let data = p.data();
    for settings in [r#"{"noise": 1e-160}"#, r#"{"noise": 1e-300}"#, r#"{"noise": 1e300}"#] {
        let error = fewer::method::fit("sparse", settings, None, &data, &Silent).unwrap_err();
        assert!(error.to_string().contains("times the deviation"), "{error}");
    }
    let x: Vec<f64> = p.x.iter().map(|v| v * 1e150).collect();
    let data = Dataset::new(DenseView::by_rows(&x, 60, 4).unwrap(), &p.y).unwrap();
    let settings = r#"{"basis": "polynomial", "degree": 3}"#;
    let error = fewer::method::fit("sparse", settings, None, &data, &Silent).unwrap_err();
    assert!(error.to_string().contains("too large"), "{error}");
    for weight in [1e308, 1e160, 1e-160] {
        let data = p.data().with_weights(vec![weight; 60]).unwrap();
        let error = fewer::method::fit("sparse", "{}", None, &data, &Silent).unwrap_err();
        assert!(error.to_string().contains("divide all weights"), "{error}");
    }
    let target = Target::Labels { classes: vec!["a".into(), "b".into()], codes: vec![7; 60] };
    let data = Dataset::new(p.view(), target).unwrap();
    assert!(fewer::method::fit("probit", "{}", None, &data, &Silent).is_err());
}

#[test]
fn many_classes_with_any_number_of_threads() {
    let p = Problem::linear(13, 150, 4, 3, 0.5);
    let labels = || Target::labels(p.y.iter().map(|y| (*y / 2.0).floor() as i64));
    for basis in ["linear", "rbf"] {
        let fitted = [1, 2].map(|threads| {
            let settings =
                format!(r#"{{"basis": "{basis}", "n_jobs": {threads}, "max_terms": 3}}"#);
            fit(("probit", &settings), &Dataset::new(p.view(), labels()).unwrap())
        });
        assert!(fitted[0].outputs() > 2);
        assert_eq!(outputs(&fitted[0], p.view()), outputs(&fitted[1], p.view()));
        for k in 0..fitted[0].outputs() {
            let kept = fitted[0].coefficients_of(k).iter().filter(|w| **w != 0.0).count();
            assert!(kept <= 3, "max_terms holds for each class");
        }
    }
}

#[test]
fn the_bias_is_no_term() {
    let p = Problem::linear(14, 60, 3, 1, 0.1);
    let y: Vec<f64> = p.y.iter().map(|y| y + 100.0).collect();
    let settings = r#"{"fit_intercept": "penalised", "max_terms": 1}"#;
    let model = simple(&p.x, 3, &y, ("sparse", settings));
    assert_eq!(model.n_terms(), 1);
    assert!((model.intercept() - 102.0).abs() < 0.2, "{}", model.intercept());
}
