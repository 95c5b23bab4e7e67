//! Krishnapuram et al. 2005, section 4: bounds on the error of SMLR, against an independent
//! reference, theory and simulation.

mod support;

use fewer::basis::{Gamma, RowFunctions};
use fewer::bound::{
    Bound, BoundOptions, GibbsError, RiskBound, bernoulli_inverse, best_rate, exact_error,
    laplacian_divergence, pac_bayes, rademacher, smallest_laplacian_divergence,
};
use fewer::data::{Dataset, DenseView, SparseMatrix, Target};
use fewer::method::{BasisKind, ClassWeight, Intercept, Lasso, ProbitClassifier, SMLR};
use fewer::model::Model;
use serde_json::Value;
use support::{Problem, Random, fixture, numbers};

fn near(found: f64, expected: &Value, tolerance: f64) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() < tolerance, "{found} {expected}");
}

/// SMLR as in the paper: no intercept, columns as they are.
fn paper(lam: f64) -> SMLR {
    SMLR::new().lam(lam).standardize(false).fit_intercept(Intercept::None)
}

#[test]
fn agrees_with_the_reference() {
    let case: Value = serde_json::from_str(&fixture("bounds.json")).unwrap();
    let (x, rows) = numbers(case["X"].as_str().unwrap());
    let (labels, _) = numbers(case["labels"].as_str().unwrap());
    let view = DenseView::by_rows(&x, rows, x.len() / rows).unwrap();
    let target = Target::labels(labels.iter().map(|&l| l as i64));
    let lam = case["lam"].as_f64().unwrap();
    let delta = case["delta"].as_f64().unwrap();
    let data = Dataset::new(view, target.clone()).unwrap();
    let model = paper(lam).tol(1e-13).fit(&data).unwrap();
    for (j, w) in case["w"].as_array().unwrap().iter().enumerate() {
        // The reference has the function of the first class, the model that of the second.
        near(-model.coefficients()[j], w, 1e-6);
        near(best_rate(w.as_f64().unwrap(), lam), &case["eta_star"][j], 1e-12);
    }
    let weights = || case["w"].as_array().unwrap().iter().map(|w| w.as_f64().unwrap());
    let sum = |of: &dyn Fn(f64) -> f64| weights().map(of).sum::<f64>();
    near(sum(&|w| smallest_laplacian_divergence(w, lam)), &case["kl_min"], 1e-12);
    near(sum(&|w| laplacian_divergence(w, lam, lam)), &case["kl_at_eta_eq_lam"], 1e-12);
    let of = |gibbs| {
        let options = BoundOptions {
            gibbs,
            draws: 40_000,
            margin: case["s"].as_f64().unwrap(),
            level: case["g"].as_f64().unwrap(),
            ratio: case["r"].as_f64().unwrap(),
            ..BoundOptions::default()
        };
        model.risk_bound(view, &target, delta, &options).unwrap()
    };
    for (found, name) in [(of(GibbsError::Exact), "exact"), (of(GibbsError::Gaussian), "gaussian")]
    {
        let expected = &case[name];
        near(found.kl, &case["kl_min"], 1e-6);
        near(found.gibbs_error, &expected["gibbs_empirical"], 1e-6);
        near(found.rademacher.margin_loss, &expected["sbvc_margin_loss"], 1e-6);
        near(found.pac_bayes_gibbs.value, &expected["pac_bayes_gibbs"], 1e-6);
        near(found.pac_bayes_point.value.min(1.0), &expected["pac_bayes_point_2x"], 1e-6);
        near(found.rademacher_point.value, &expected["rademacher"], 1e-6);
        near(found.rademacher.complexity, &expected["rademacher_terms"][1], 1e-6);
        near(found.rademacher.confidence, &expected["rademacher_terms"][2], 1e-6);
        assert!(found.pac_bayes_point.vacuous && found.rademacher_point.vacuous);
        assert!(!found.pac_bayes_gibbs.vacuous);
        assert!(found.notes.iter().any(|n| n.contains("below 1")), "{:?}", found.notes);
    }
    let drawn = of(GibbsError::MonteCarlo);
    near(drawn.gibbs_error, &case["monte_carlo_check_gibbs"], 5e-3);
    assert!((drawn.gibbs_error - of(GibbsError::Exact).gibbs_error).abs() < 5e-3);
    assert_eq!(drawn, of(GibbsError::MonteCarlo));
    // What is not known of the error makes the bounds larger.
    assert!(
        drawn.pac_bayes_gibbs.value
            > pac_bayes(drawn.gibbs_error, drawn.kl, drawn.rows, drawn.delta)
    );
    for row in case["bern_kl_inverse_table"].as_array().unwrap() {
        let [p, c] = [0, 1].map(|k| row[k].as_f64().unwrap());
        near(bernoulli_inverse(p, c), &row[2], 1e-9);
    }
}

#[test]
fn the_bounds_move_the_right_way() {
    let base = pac_bayes(0.1, 5.0, 1000, 0.05);
    assert!(pac_bayes(0.2, 5.0, 1000, 0.05) > base);
    assert!(pac_bayes(0.1, 6.0, 1000, 0.05) > base);
    assert!(pac_bayes(0.1, 5.0, 1000, 0.01) > base);
    assert!(pac_bayes(0.1, 5.0, 2000, 0.05) < base);
    assert!(pac_bayes(0.1, 1e9, 10, 0.05) <= 1.0);
    let of = |kl, n, delta| rademacher(0.1, kl, n, delta, (0.5, 1.0, 2.0)).value();
    assert!(of(6.0, 1000, 0.05) > of(5.0, 1000, 0.05));
    assert!(of(5.0, 2000, 0.05) < of(5.0, 1000, 0.05));
    assert!(of(5.0, 1000, 0.01) > of(5.0, 1000, 0.05));
    // Below the level g the divergence makes no difference.
    assert_eq!(of(0.1, 1000, 0.05), of(0.9, 1000, 0.05));
    assert!(of(0.0, 10, 0.99).is_finite());
}

/// Rows whose class follows a logistic model of the first columns.
fn draw(random: &mut Random, rows: usize, columns: usize) -> (Vec<f64>, Vec<bool>) {
    let x = random.normals(rows * columns);
    let class = |row: &[f64]| {
        let eta = 3.0 * row[0] - 2.0 * row[1];
        random.uniform() < 1.0 / (1.0 + (-eta).exp())
    };
    let labels = x.chunks(columns).map(class).collect();
    (x, labels)
}

fn fitted(x: &[f64], labels: &[bool], method: &SMLR) -> (Model, RiskBound) {
    let view = DenseView::by_rows(x, labels.len(), x.len() / labels.len()).unwrap();
    let target = Target::labels(labels.iter().copied());
    let model = method.fit(&Dataset::new(view, target.clone()).unwrap()).unwrap();
    let bound = model.risk_bound(view, &target, 0.1, &BoundOptions::default()).unwrap();
    (model, bound)
}

#[test]
fn true_errors_are_below_the_bounds_as_often_as_promised() {
    let (columns, runs) = (5, 60);
    let mut random = Random::new(3);
    let (new, truth) = draw(&mut random, 20_000, columns);
    let view = DenseView::by_rows(&new, truth.len(), columns).unwrap();
    let mut failed = [0; 3];
    let mut useful = 0;
    for _ in 0..runs {
        let (x, labels) = draw(&mut random, 300, columns);
        let lam = 1.0;
        let (model, bound) = fitted(&x, &labels, &paper(lam));
        let codes = model.predict_codes(view).unwrap();
        let wrong = codes.iter().zip(&truth).filter(|(c, t)| (**c == 1) != **t).count();
        let error = wrong as f64 / truth.len() as f64;
        let weights = model.coefficients();
        let some = 2000;
        let gibbs: f64 = new
            .chunks(columns)
            .zip(&truth)
            .take(some)
            .map(|(row, t)| {
                let sign = if *t { 1.0 } else { -1.0 };
                let margin: f64 = row.iter().zip(&weights).map(|(x, w)| x * w).sum();
                let spreads: Vec<f64> =
                    row.iter().zip(&weights).map(|(x, w)| x.abs() / best_rate(*w, lam)).collect();
                exact_error(sign * margin, &spreads)
            })
            .sum::<f64>()
            / some as f64;
        failed[0] += usize::from(gibbs > bound.pac_bayes_gibbs.value);
        failed[1] += usize::from(error > bound.pac_bayes_point.value);
        failed[2] += usize::from(error > bound.rademacher_point.value);
        useful += usize::from(!bound.pac_bayes_point.vacuous);
    }
    assert!(failed.iter().all(|f| *f as f64 <= 0.1 * runs as f64), "{failed:?}");
    assert_eq!(useful, runs);
}

#[test]
fn bounds_come_down_with_more_rows() {
    let mut random = Random::new(5);
    let mut last = f64::INFINITY;
    for rows in [100, 400, 1600, 6400] {
        let (x, labels) = draw(&mut random, rows, 3);
        let (_, bound) = fitted(&x, &labels, &paper(1.0));
        assert!(bound.pac_bayes_point.value < last);
        last = bound.pac_bayes_point.value;
    }
    assert!(last < 0.6, "{last}");
}

#[test]
fn zero_weights_spread_too() {
    // A thousand columns of noise that the fit leaves out make the Gibbs classifier worse.
    let mut random = Random::new(9);
    let (x, labels) = draw(&mut random, 200, 2);
    let wide: Vec<f64> =
        x.chunks(2).flat_map(|r| [r.to_vec(), random.normals(200)].concat()).collect();
    let (model, few) = fitted(&x, &labels, &paper(20.0));
    let (other, many) = fitted(&wide, &labels, &paper(20.0));
    assert_eq!((model.n_terms(), other.n_terms()), (2, 2));
    assert!((few.kl - many.kl).abs() < 1e-6);
    assert!(many.gibbs_error > few.gibbs_error + 0.05, "{} {}", many.gibbs_error, few.gibbs_error);
}

#[test]
fn every_fixed_basis_has_bounds() {
    let mut random = Random::new(4);
    let (x, labels) = draw(&mut random, 120, 3);
    let target = Target::labels(labels.iter().copied());
    let centres: Vec<Vec<f64>> =
        x.chunks(3).take(7).map(|r| r.iter().map(|v| v.round()).collect()).collect();
    let functions = RowFunctions::new("mine").with("a", |x| x[0]).with("b", |x| x[1] * x[2]);
    for method in [
        paper(1.0).basis(BasisKind::Polynomial).degree(3),
        paper(1.0).fit_intercept(Intercept::Penalised),
        paper(0.3).basis(BasisKind::Rbf).gamma(Gamma::Number(0.2)).centres(centres.clone()),
        paper(0.3).basis(BasisKind::LinearKernel).centres(centres),
        paper(1.0).functions(functions),
        paper(1.0).penalty_factors(vec![1.0, 2.0, 0.5]),
        paper(1e9),
    ] {
        let (model, bound) = fitted(&x, &labels, &method);
        assert!(bound.kl >= 0.0 && (0.0..=1.0).contains(&bound.gibbs_error));
        // Errors of the Gibbs classifier are at least half those of the point classifier.
        assert!(2.0 * bound.gibbs_error >= bound.point_error - 1e-12);
        assert!(bound.pac_bayes_gibbs.value >= bound.gibbs_error);
        let view = DenseView::by_rows(&x, 120, 3).unwrap();
        for gibbs in [GibbsError::Gaussian, GibbsError::MonteCarlo] {
            let options = BoundOptions { gibbs, ..BoundOptions::default() };
            let other = model.risk_bound(view, &target, 0.1, &options).unwrap();
            assert!((other.gibbs_error - bound.gibbs_error).abs() < 0.03, "{method:?}");
            assert!(!other.notes.is_empty());
        }
    }
    // A sparse matrix is what it stands for.
    let (_, dense) = fitted(&x, &labels, &paper(1.0));
    let p = Problem { x: x.clone(), y: vec![0.0; 120], rows: 120, columns: 3, weights: vec![] };
    let starts = (0..=3).map(|j| j * 120).collect();
    let indices = (0..3).flat_map(|_| 0..120).collect();
    let matrix = SparseMatrix::new(120, 3, starts, indices, p.by_columns()).unwrap();
    let model = paper(1.0).fit(&Dataset::new(matrix.view(), target.clone()).unwrap()).unwrap();
    let sparse = model.risk_bound(matrix.view(), &target, 0.1, &BoundOptions::default()).unwrap();
    assert!((sparse.pac_bayes_gibbs.value - dense.pac_bayes_gibbs.value).abs() < 1e-6);
}

#[test]
fn what_the_theorems_do_not_cover_is_refused_with_the_reason() {
    let mut random = Random::new(2);
    let (x, labels) = draw(&mut random, 80, 3);
    let view = DenseView::by_rows(&x, 80, 3).unwrap();
    let target = Target::labels(labels.iter().copied());
    let data = Dataset::new(view, target.clone()).unwrap();
    let options = BoundOptions::default();
    let refused = |model: &Model, part: &str| {
        let error = model.risk_bound(view, &target, 0.05, &options).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("a risk bound"), "{part}: {error}");
    };
    let plain = SMLR::new().lam(1.0);
    refused(&plain.fit(&data).unwrap(), "free intercept");
    refused(
        &plain.clone().fit_intercept(Intercept::None).fit(&data).unwrap(),
        "standardize = false",
    );
    let rbf = paper(1.0).basis(BasisKind::Rbf).gamma(Gamma::Number(1.0));
    refused(&rbf.fit(&data).unwrap(), "centred on training rows");
    let given = paper(1.0).basis(BasisKind::Rbf).centres(vec![vec![0.0; 3], vec![1.0; 3]]);
    refused(&given.fit(&data).unwrap(), "gamma");
    let ratio = SMLR::new().lam_ratio(0.1).standardize(false).fit_intercept(Intercept::None);
    refused(&ratio.fit(&data).unwrap(), "chosen on the data");
    refused(&paper(0.0).fit(&data).unwrap(), "no prior");
    refused(&paper(1.0).l1_ratio(0.0).fit(&data).unwrap(), "ridge");
    refused(&paper(1.0).penalty_factors(vec![0.0, 1.0, 1.0]).fit(&data).unwrap(), "penalty factor");
    refused(&ProbitClassifier::new().fit(&data).unwrap(), "ProbitClassifier");
    let numbers: Vec<f64> = x.chunks(3).map(|r| r[0]).collect();
    let lasso = Lasso::new().fit(&Dataset::new(view, &numbers).unwrap()).unwrap();
    refused(&lasso, "Lasso");
    let three = Target::labels((0..80).map(|i| i % 3));
    refused(&paper(1.0).fit(&Dataset::new(view, three).unwrap()).unwrap(), "each class against");
    let settings = r#"{"lam": "cv", "standardize": false, "fit_intercept": false}"#;
    let chosen = fewer::method::fit("smlr", settings, None, &data, &fewer::engine::Silent).unwrap();
    refused(&chosen, "chosen on the data");
    // A prior that was fixed beforehand makes that harmless.
    let fixed = BoundOptions { lam: Some(1.0), ..BoundOptions::default() };
    assert!(chosen.risk_bound(view, &target, 0.05, &fixed).is_ok());

    let model = paper(1.0).fit(&data).unwrap();
    for delta in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(model.risk_bound(view, &target, delta, &options).is_err());
    }
    for bad in [
        BoundOptions { margin: 0.0, ..BoundOptions::default() },
        BoundOptions { ratio: 1.0, ..BoundOptions::default() },
        BoundOptions { level: f64::NAN, ..BoundOptions::default() },
        BoundOptions { draws: 0, ..BoundOptions::default() },
        BoundOptions { lam: Some(0.0), ..BoundOptions::default() },
    ] {
        assert!(model.risk_bound(view, &target, 0.05, &bad).is_err());
    }
    let error = model.risk_bound(view, &Target::labels(vec!["?"; 80]), 0.05, &options);
    assert!(error.unwrap_err().to_string().contains("'?'"));
    let short = Target::labels(vec![true; 79]);
    assert!(model.risk_bound(view, &short, 0.05, &options).is_err());
}

#[test]
fn bounds_read_well() {
    let mut random = Random::new(2);
    let (x, labels) = draw(&mut random, 400, 3);
    let (_, bound) = fitted(&x, &labels, &paper(1.0));
    let text = bound.to_string();
    assert!(text.contains("90 % confidence (400 rows)") && text.contains("PAC-Bayes"), "{text}");
    assert_eq!(
        bound.rademacher_point,
        Bound { value: bound.rademacher.value(), ..bound.rademacher_point }
    );
    let json = serde_json::to_value(&bound).unwrap();
    assert_eq!(json["pac_bayes_point"]["vacuous"], false);
    assert_eq!(json["gibbs"], "exact");
}

/// Rows of three classes, each with a column that tells it from the rest but for noise.
fn three_classes(random: &mut Random, rows: usize) -> (Vec<f64>, Vec<i64>) {
    let labels: Vec<i64> = (0..rows).map(|_| (3.0 * random.uniform()) as i64).collect();
    let of_class = |label: &i64| {
        let noise = random.normals(3);
        [0, 1, 2].map(|j| if j == *label { 1.0 } else { -1.0 } + 0.3 * noise[j as usize])
    };
    let x = labels.iter().flat_map(of_class).collect();
    (x, labels)
}

#[test]
fn more_classes_are_bounded_by_the_sum_of_each_against_the_rest() {
    let mut random = Random::new(6);
    let delta = 0.06;
    for (rows, vacuous) in [(40, true), (8000, false)] {
        let (x, labels) = three_classes(&mut random, rows);
        let view = DenseView::by_rows(&x, rows, 3).unwrap();
        let target = Target::labels(labels.iter().copied());
        let data = Dataset::new(view, target.clone()).unwrap();
        let method = paper(0.5).class_weight(ClassWeight::Given(vec![1.0, 2.0, 1.0]));
        let model = method.fit(&data).unwrap();
        let found =
            model.one_vs_rest_bound(view, &target, delta, &BoundOptions::default()).unwrap();
        let (mut sums, mut outputs) = ([0.0; 2], Vec::new());
        let weights: Vec<f64> = labels.iter().map(|l| if *l == 1 { 2.0 } else { 1.0 }).collect();
        for class in 0..3 {
            let own = Target::labels(labels.iter().map(|l| *l == class as i64));
            let data = Dataset::new(view, own.clone()).unwrap().with_weights(&weights[..]).unwrap();
            let member = paper(0.5).fit(&data).unwrap();
            let bound =
                member.risk_bound(view, &own, delta / 3.0, &BoundOptions::default()).unwrap();
            assert_eq!(found.each[class].bound, bound);
            sums[0] += bound.pac_bayes_point.value;
            sums[1] += bound.rademacher_point.value;
            outputs.push(member.coefficients());
        }
        assert_eq!([found.pac_bayes_point.value, found.rademacher_point.value], sums);
        let output = |row: &[f64], class: usize| -> f64 {
            row.iter().zip(&outputs[class]).map(|(x, w)| x * w).sum()
        };
        let wins = |row: &[f64]| {
            (0..3).max_by(|&a, &b| output(row, a).total_cmp(&output(row, b))).unwrap() as i64
        };
        let wrong = x.chunks(3).zip(&labels).filter(|(row, label)| wins(row) != **label).count();
        assert_eq!(found.point_error, wrong as f64 / rows as f64);
        // What the sum rests on: the ensemble is wrong only where one of its members is.
        let members: f64 = found.each.iter().map(|e| e.bound.point_error).sum();
        assert!(found.point_error <= members + 1e-12);
        assert_eq!(found.pac_bayes_point.vacuous, vacuous, "{found}");
        assert_eq!(found.pac_bayes_point.vacuous, sums[0] >= 1.0);
        let text = found.to_string();
        assert!(text.contains("against the rest") && text.contains("94 % confidence"), "{text}");
        assert_eq!(found.notes.iter().any(|n| n.contains("below 1")), vacuous, "{text}");
    }
}

#[test]
fn two_classes_are_bounded_once() {
    let mut random = Random::new(6);
    let (x, labels) = three_classes(&mut random, 500);
    let view = DenseView::by_rows(&x, 500, 3).unwrap();
    let target = Target::labels(labels.iter().map(|l| *l == 1));
    let model = paper(0.5).fit(&Dataset::new(view, target.clone()).unwrap()).unwrap();
    let options = BoundOptions::default();
    let plain = model.risk_bound(view, &target, 0.05, &options).unwrap();
    let found = model.one_vs_rest_bound(view, &target, 0.05, &options).unwrap();
    assert_eq!(found.pac_bayes_point, plain.pac_bayes_point);
    assert_eq!(found.rademacher_point, plain.rademacher_point);
    assert_eq!(found.point_error, plain.point_error);
    assert!(found.each.len() == 2 && found.each.iter().all(|e| e.bound == plain));
}

#[test]
fn more_classes_are_refused_for_the_reasons_of_two() {
    let mut random = Random::new(6);
    let (x, labels) = three_classes(&mut random, 60);
    let view = DenseView::by_rows(&x, 60, 3).unwrap();
    let target = Target::labels(labels);
    let data = Dataset::new(view, target.clone()).unwrap();
    let refused = |model: &Model, part: &str| {
        let options = BoundOptions::default();
        let error = model.one_vs_rest_bound(view, &target, 0.05, &options).unwrap_err();
        assert!(error.to_string().contains(part), "{part}: {error}");
    };
    refused(&SMLR::new().lam(1.0).fit(&data).unwrap(), "free intercept");
    let ratio = SMLR::new().lam_ratio(0.1).standardize(false).fit_intercept(Intercept::None);
    refused(&ratio.fit(&data).unwrap(), "chosen on the data");
    let functions = RowFunctions::new("mine").with("a", |x| x[0]).with("b", |x| x[1] * x[2]);
    refused(&paper(1.0).functions(functions).fit(&data).unwrap(), "your functions");
    let chosen = BoundOptions { lam: Some(1.0), ..BoundOptions::default() };
    let model = ratio.fit(&data).unwrap();
    assert!(model.one_vs_rest_bound(view, &target, 0.05, &chosen).is_ok());
}

#[test]
fn near_certainty_is_not_said_to_be_certain() {
    let mut random = Random::new(2);
    let (x, labels) = draw(&mut random, 400, 3);
    let view = DenseView::by_rows(&x, 400, 3).unwrap();
    let target = Target::labels(labels);
    let model = paper(1.0).fit(&Dataset::new(view, target.clone()).unwrap()).unwrap();
    for (delta, words) in [(1e-300, "1 - 1e-300 confidence"), (0.001, "99.9 % confidence")] {
        let bound = model.risk_bound(view, &target, delta, &BoundOptions::default()).unwrap();
        assert!(bound.to_string().contains(words), "{bound}");
    }
}
