//! Helgøy & Li 2022: BLS and Fast Laplace against an independent reference.

mod support;

use fewer::basis::Gamma;
use fewer::data::{Dataset, DenseView};
use fewer::engine::Silent;
use fewer::method::{BLS, BasisKind, FastLaplace, Intercept, LamRule, Variant};
use fewer::model::Model;
use serde_json::Value;
use support::{Problem, Random, distance, fixture};

fn reference(case: &str) -> Value {
    serde_json::from_str::<Value>(&fixture("evidence.json")).unwrap()[case].clone()
}

fn number(case: &Value, name: &str) -> f64 {
    case[name].as_f64().unwrap()
}

fn table(name: &str) -> Vec<Vec<f64>> {
    let row = |line: &str| line.split(',').map(|v| v.parse().unwrap()).collect();
    fixture(name).lines().skip(1).map(row).collect()
}

macro_rules! fit_sinc {
    ($method:expr) => {{
        let rows = table("sinc_n100.csv");
        let (x, y): (Vec<f64>, Vec<f64>) = rows.iter().map(|r| (r[0], r[1])).unzip();
        let view = DenseView::by_rows(&x, 100, 1).unwrap();
        let model = $method
            .basis(BasisKind::Rbf)
            .gamma(Gamma::Number(1.0 / 9.0))
            .standardize(false)
            .fit_intercept(Intercept::None)
            .fit(&Dataset::new(view, &y).unwrap())
            .unwrap();
        let predicted = model.predict(view).unwrap();
        let truth = |x: f64| if x == 0.0 { 1.0 } else { x.sin() / x };
        let square: f64 = predicted.iter().zip(&x).map(|(p, x)| (p - truth(*x)).powi(2)).sum();
        (model, (square / 100.0).sqrt())
    }};
}

/// With a fixed λ there is an objective: at least the reference's.
#[test]
fn fixed_lam_reaches_the_reference() {
    let expected = reference("sinc_bls_lambda_fixed_2");
    let (model, _) = fit_sinc!(BLS::new().lam(2.0));
    check_objective(&model, &expected);
    let expected = reference("sinc_flap_fixed_noise_lambda_fixed_2");
    let (model, _) = fit_sinc!(FastLaplace::new().lam(2.0).noise(0.1));
    check_objective(&model, &expected);
}

fn check_objective(model: &Model, expected: &Value) {
    let found = -model.report().objective;
    // The reference has a flat prior of log λ beside, −log λ.
    let objective = number(expected, "objective") + number(expected, "lam").ln();
    assert!(found > objective - 1e-3, "{found} {objective}");
    let ratio = model.noise_std().unwrap() / number(expected, "sigma");
    assert!((ratio - 1.0).abs() < 0.03, "{ratio}");
    assert!(model.report().certificate.value <= 1e-8);
    assert_eq!(model.report().lam, Some(2.0));
}

/// With the λ of the published code there is none, and the fit may go round in circles.
#[test]
fn active_count_lam_is_near_the_reference() {
    let check = |(model, rmse): (Model, f64), case: &str| {
        let expected = reference(case);
        let noise = model.noise_std().unwrap() / number(&expected, "sigma");
        assert!((noise - 1.0).abs() < 0.02, "{case}: {noise}");
        let ratio = rmse / number(&expected, "rmse_vs_true_on_train");
        assert!((ratio - 1.0).abs() < 0.05, "{case}: {ratio}");
        let terms = number(&expected, "n");
        assert!((model.n_terms() as f64 - terms).abs() <= 2.0, "{case}: {}", model.n_terms());
        assert!(model.report().termination.is_converged());
    };
    let paper = Variant::Paper;
    check(fit_sinc!(BLS::new().variant(paper)), "sinc_bls_active");
    check(fit_sinc!(FastLaplace::new().variant(paper)), "sinc_flap_sigma_active");
    let sigma = number(&reference("sinc_flap_fixed_0.01var"), "sigma");
    for variant in [Variant::Exact, paper] {
        let method = FastLaplace::new().noise(sigma).variant(variant);
        check(fit_sinc!(method), "sinc_flap_fixed_0.01var");
    }
    check(fit_sinc!(FastLaplace::new()), "sinc_flap_sigma_active");
    // At the λ of either state of the reference's circle: a quarter of what the rule for sigma
    // allows.
    let last = reference("sinc_bls_active");
    for (name, expected) in [("12 000 steps", &last), ("4000 steps", &last["after_4000_steps"])] {
        let (model, rmse) = fit_sinc!(BLS::new().lam(number(expected, "lam")));
        let noise = model.noise_std().unwrap() / number(expected, "sigma");
        assert!((noise - 1.0).abs() < 0.005, "{name}: {noise}");
        let ratio = rmse / number(&last, "rmse_vs_true_on_train");
        assert!((ratio - 1.0).abs() < 0.05, "{name}: {ratio}");
        assert!((model.n_terms() as f64 - number(&last, "n")).abs() <= 2.0, "{name}");
    }
}

/// The reference's circle has λ from 0.53786 to 0.70724 (after its first 500 steps).
#[test]
fn the_published_steps_end_in_the_reference_s_circle() {
    let (model, _) = fit_sinc!(BLS::new().variant(Variant::Paper));
    let lam = model.report().lam.unwrap();
    assert!((0.537..0.708).contains(&lam), "{lam}");
    assert!(model.report().notes.iter().any(|n| n.contains("circle")));
}

/// A circle is no reason to give up: λ may rest where columns wait until it does.
#[test]
fn lam_stands_still_where_it_can() {
    let (model, _) = fit_sinc!(BLS::new());
    assert!(model.report().notes.is_empty(), "{:?}", model.report().notes);
    // The slope in τ is zero: λσ²τ² + σ²τ = Σ_ii + μ_i².
    let (lam, noise) = (model.report().lam.unwrap(), model.noise_std().unwrap().powi(2));
    let errors = model.standard_errors().unwrap();
    let variance = |(term, error): (&fewer::model::Term, &Vec<Option<f64>>)| {
        let square = error[0].unwrap().powi(2) + term.weights[0].powi(2);
        ((1.0 + 4.0 * lam * square / noise).sqrt() - 1.0) / (2.0 * lam)
    };
    let total: f64 = model.terms().iter().zip(&errors).map(variance).sum();
    let rule = 2.0 * (model.n_terms() - 1) as f64 / total;
    assert!((rule / lam - 1.0).abs() < 1e-4, "{rule} {lam}");
}

/// Few wide kernels take signal for noise, and their λ keeps others out: another start lets them in.
#[test]
fn wide_kernels_find_the_signal() {
    let mut random = Random::new(11);
    let x: Vec<f64> = (0..150).map(|i| f64::from(i) / 7.5 - 9.9).collect();
    let truth: Vec<f64> = x.iter().map(|x| x.sin() / x).collect();
    let y: Vec<f64> = truth.iter().zip(random.normals(150)).map(|(t, e)| t + 0.1 * e).collect();
    let view = DenseView::by_rows(&x, 150, 1).unwrap();
    let data = Dataset::new(view, &y).unwrap();
    let models = [
        BLS::new().basis(BasisKind::Rbf).fit(&data).unwrap(),
        FastLaplace::new().basis(BasisKind::Rbf).fit(&data).unwrap(),
    ];
    for model in models {
        let noise = model.noise_std().unwrap();
        assert!((0.08..0.14).contains(&noise), "{}: {noise}", model.method());
        let fitted = model.predict(view).unwrap();
        let square: f64 = fitted.iter().zip(&truth).map(|(f, t)| (f - t).powi(2)).sum();
        let error = (square / 150.0).sqrt();
        assert!(error < 0.08, "{}: {error}", model.method());
        assert!(model.report().termination.is_converged());
    }
}

#[test]
fn diabetes_coefficients_are_the_reference_s() {
    let rows = table("diabetes_unitnorm.csv");
    let names = ["age", "sex", "bmi", "map", "tc", "ldl", "hdl", "tch", "ltg", "glu"];
    let x: Vec<f64> = rows.iter().flat_map(|r| r[..10].iter().copied()).collect();
    let y: Vec<f64> = rows.iter().map(|r| r[10]).collect();
    let data = Dataset::new(DenseView::by_rows(&x, y.len(), 10).unwrap(), &y).unwrap();
    let expected = reference("bls_linear_diabetes");
    let all = "lambda_2(P-1)/sum_tau";
    for (case, method) in [
        ("lambda_2(K-1)/sum_tau", BLS::new()),
        // λ of all P columns, which no rule gives: at the reference's value.
        (all, BLS::new().lam(number(&expected[all], "lam"))),
        ("lambda_fixed_0", BLS::new().lam(0.0)),
        ("lambda_fixed_0.025", BLS::new().lam(0.025)),
    ] {
        let method = method.standardize(false).fit_intercept(Intercept::None);
        let model = method.fit(&data).unwrap();
        let expected = &expected[case];
        let coefficients = model.coefficients();
        let errors = model.standard_errors().unwrap();
        for (j, name) in names.iter().enumerate() {
            let value = expected["coef"][name].as_f64().unwrap();
            assert!((coefficients[j] - value).abs() < 0.1, "{case} {name}: {}", coefficients[j]);
            let sd = expected["sd"][name].as_f64().unwrap();
            if let Some(t) = model.terms().iter().position(|t| t.index == j) {
                assert!((errors[t][0].unwrap() / sd - 1.0).abs() < 2e-3, "{case} {name}");
            } else {
                assert_eq!(sd, 0.0, "{case} {name}");
            }
        }
        let sigma = number(expected, "sigma");
        assert!((model.noise_std().unwrap() / sigma - 1.0).abs() < 1e-3, "{case}");
    }
}

/// λ = 0 is automatic relevance determination, but for the prior of the noise.
#[test]
fn without_lam_the_priors_are_one() {
    let p = Problem::linear(4, 100, 8, 3, 0.5);
    let flat = FastLaplace::new().lam(0.0).fit(&p.data()).unwrap();
    let settings = r#"{"basis": "linear"}"#;
    let ard = fewer::method::fit("rvm", settings, None, &p.data(), &Silent).unwrap();
    assert!(distance(&flat.coefficients(), &ard.coefficients()) < 1e-6);
    let known = BLS::new().lam(0.0).noise(0.5).fit(&p.data()).unwrap();
    let settings = r#"{"basis": "linear", "noise": 0.5}"#;
    let ard = fewer::method::fit("rvm", settings, None, &p.data(), &Silent).unwrap();
    assert!(distance(&known.coefficients(), &ard.coefficients()) < 1e-6);
}

#[test]
fn fixed_lam_follows_the_units() {
    let p = Problem::linear(5, 100, 8, 3, 0.5);
    let y: Vec<f64> = p.y.iter().map(|y| 1e6 * y).collect();
    let data = Dataset::new(p.view(), &y).unwrap();
    let (a, b) =
        (BLS::new().lam(0.3).fit(&p.data()).unwrap(), BLS::new().lam(0.3).fit(&data).unwrap());
    let scaled: Vec<f64> = b.coefficients().iter().map(|w| 1e-6 * w).collect();
    assert!(distance(&a.coefficients(), &scaled) < 1e-8);
    // λ of Fast Laplace has the units of 1/y².
    let (a, b) = (
        FastLaplace::new().lam(0.3).fit(&p.data()).unwrap(),
        FastLaplace::new().lam(0.3e-12).fit(&data).unwrap(),
    );
    let scaled: Vec<f64> = b.coefficients().iter().map(|w| 1e-6 * w).collect();
    assert!(distance(&a.coefficients(), &scaled) < 1e-8);
    assert!((b.report().lam.unwrap() / 0.3e-12 - 1.0).abs() < 1e-9);
}

/// There is no λ to begin a search with, whatever else is searched.
#[test]
fn lams_to_try_must_be_given() {
    let p = Problem::linear(7, 60, 3, 2, 0.5);
    for searched in [r#""lam": "cv""#, r#""lam": "cv", "gamma": "cv""#] {
        let settings = |more: &str| format!(r#"{{"basis": "rbf", {searched}{more}}}"#);
        for method in ["bls", "flap"] {
            let fit = |more| fewer::method::fit(method, &settings(more), None, &p.data(), &Silent);
            let message = fit("").unwrap_err().to_string();
            assert!(message.starts_with("lam = cv: no λ is so large"), "{message}");
            assert!(message.contains("say which to try in lams"), "{message}");
        }
    }
    let settings = r#"{"lam": "cv", "lams": [0.1, 1, 10]}"#;
    assert!(fewer::method::fit("bls", settings, None, &p.data(), &Silent).is_ok());
}

#[test]
fn hyperpriors_keep_the_signal() {
    let p = Problem::linear(6, 100, 8, 3, 0.5);
    for rule in [LamRule::Active, LamRule::Hyperprior] {
        let model = BLS::new().lam_rule(rule).fit(&p.data()).unwrap();
        for (w, truth) in model.coefficients().iter().zip(&p.weights) {
            assert!((w - truth).abs() < 0.4, "{rule:?}: {w} {truth}");
        }
        assert!(model.report().lam.is_some());
    }
    let mut random = Random::new(3);
    let x = random.normals(800);
    let y = random.normals(100);
    let data = Dataset::new(DenseView::by_rows(&x, 100, 8).unwrap(), &y).unwrap();
    let model = BLS::new().fit(&data).unwrap();
    let fitted = model.predict(DenseView::by_rows(&x, 100, 8).unwrap()).unwrap();
    let mean = fitted.iter().sum::<f64>() / 100.0;
    let spread = fitted.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / 100.0;
    assert!(spread < 0.2, "{spread}");
}
