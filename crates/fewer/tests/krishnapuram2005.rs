//! Krishnapuram et al. 2005: sparse multinomial logistic regression, against an independent
//! reference and theory.

mod support;

use fewer::data::{Dataset, DenseView, Features, SparseMatrix, Target};
use fewer::engine::Termination;
use fewer::linalg::Matrix;
use fewer::method::{BasisKind, Intercept, Parameterization, RMLR, SMLR, Schedule, Solver};
use fewer::model::{CertificateKind, Model};
use serde_json::Value;
use std::time::Instant;
use support::{Problem, Random, distance, fixture, numbers};

#[test]
fn agrees_with_the_reference() {
    let cases: Value = serde_json::from_str(&fixture("smlr.json")).unwrap();
    for (name, case) in cases.as_object().unwrap() {
        let (x, rows) = numbers(case["X"].as_str().unwrap());
        let (labels, _) = numbers(case["labels"].as_str().unwrap());
        let view = DenseView::by_rows(&x, rows, x.len() / rows).unwrap();
        let target = Target::labels(labels.iter().map(|&l| l as i64));
        let data = Dataset::new(view, target).unwrap();
        let model = SMLR::new()
            .lam(case["lam"].as_f64().unwrap())
            .l1_ratio(if name.starts_with("rmlr") { 0.0 } else { 1.0 })
            .parameterization(if name.contains("symmetric") {
                Parameterization::Symmetric
            } else {
                Parameterization::Reference
            })
            .standardize(false)
            .fit_intercept(Intercept::None)
            .tol(1e-13)
            .fit(&data)
            .unwrap();
        let expected = case["objective"].as_f64().unwrap();
        let off = model.report().objective / expected - 1.0;
        assert!(off.abs() < 1e-12, "{name}: {off:e} {:?}", model.report().certificate);
        for (j, row) in case["W"].as_array().unwrap().iter().enumerate() {
            for (c, w) in row.as_array().unwrap().iter().enumerate() {
                // Two classes are told by the weights of the second, the reference's first is.
                let sign = if model.outputs() == 1 { -1.0 } else { 1.0 };
                let found = sign * model.coefficients_of(c)[j];
                assert!((found - w.as_f64().unwrap()).abs() < 1e-6, "{name}: {j} {c}");
            }
        }
        if model.outputs() > 1 && !name.contains("symmetric") {
            assert!(model.coefficients_of(model.outputs() - 1).iter().all(|w| *w == 0.0));
        }
    }
}

fn three_classes(seed: u64, rows: usize, columns: usize) -> (Problem, Vec<&'static str>) {
    let p = Problem::linear(seed, rows, columns, 3, 1.0);
    let class = |y: &f64| ["a", "b", "c"][usize::from(*y > 1.0) + usize::from(*y > 3.0)];
    let labels = p.y.iter().map(class).collect();
    (p, labels)
}

/// −Σ log p + λ‖W‖₁ from predictions alone, for columns as given.
fn objective(model: &Model, p: &Problem, labels: &[&str], lam: f64) -> f64 {
    let classes: Vec<String> = model.classes().unwrap().iter().map(ToString::to_string).collect();
    let found = model.predict_probabilities(p.view()).unwrap();
    let code = |label: &str| classes.iter().position(|c| c == label).unwrap();
    let fit: f64 = labels.iter().enumerate().map(|(i, l)| -found[(i, code(l))].ln()).sum();
    let size = |c: usize| model.coefficients_of(c).iter().map(|w| w.abs()).sum::<f64>();
    fit + lam * (0..model.outputs()).map(size).sum::<f64>()
}

#[test]
fn the_gap_bounds_what_is_left_however_early_the_fit_ends() {
    for seed in 0..20 {
        for columns in [4, 30] {
            let (p, labels) = three_classes(seed, 40, columns);
            let data = Dataset::new(p.view(), Target::labels(labels.clone())).unwrap();
            for ratio in [0.5, 0.1, 0.02] {
                let method = SMLR::new().lam_ratio(ratio).standardize(false);
                let best = method.clone().tol(1e-13).fit(&data).unwrap();
                let lam = best.report().lam.unwrap();
                let least = objective(&best, &p, &labels, lam);
                let empty = SMLR::new().lam_ratio(1.0).fit(&data).unwrap();
                let empty = objective(&empty, &p, &labels, 0.0);
                for (solver, schedule) in solvers() {
                    let method = method.clone().solver(solver).schedule(schedule);
                    for (tol, steps) in [(1e-2, 100), (1e-4, 100), (1e-13, 1), (1e-13, 2)] {
                        let model = method.clone().tol(tol).max_iter(steps).fit(&data).unwrap();
                        let found = objective(&model, &p, &labels, lam);
                        let left = found - least;
                        let gap = model.report().certificate.value;
                        let what = format!("{seed} {ratio} {tol} {solver:?} {schedule:?}");
                        assert!(left <= gap * empty + 1e-9 * empty, "{what}: {left} {gap}");
                        assert!((model.report().objective - found).abs() < 1e-8 * empty, "{what}");
                    }
                }
            }
        }
    }
}

/// Columns one after the other are looked at so often that single precision sees them first.
#[test]
fn the_gap_bounds_what_is_left_all_along_a_path() {
    let (rows, columns) = (80, 200);
    let p = Problem::linear(5, rows, columns, 6, 1.0);
    let labels: Vec<&str> = p.y.iter().map(|y| if *y > 1.0 { "b" } else { "a" }).collect();
    let x: Vec<f64> = (0..rows * columns).map(|k| p.x[k % rows * columns + k / rows]).collect();
    let view = DenseView::by_columns(&x, rows, columns).unwrap();
    let data = Dataset::new(view, Target::labels(labels.clone())).unwrap();
    let method = SMLR::new().standardize(false);
    let empty = method.clone().lam_ratio(1.0).fit(&data).unwrap();
    let (largest, empty) = (empty.report().lam.unwrap(), objective(&empty, &p, &labels, 0.0));
    let lams: Vec<f64> = (1..60).map(|k| largest * 0.93f64.powi(k)).collect();
    let best: Vec<f64> = lams
        .iter()
        .map(|&lam| {
            let best = method.clone().tol(1e-13).lam(lam).fit(&data).unwrap();
            objective(&best, &p, &labels, lam)
        })
        .collect();
    for tol in [1e-2, 1e-4, 1e-8] {
        let path = method.clone().tol(tol).path(&data, Some(&lams)).unwrap();
        for ((model, lam), least) in path.iter().zip(&lams).zip(&best) {
            let left = objective(model, &p, &labels, *lam) - least;
            let gap = model.report().certificate.value;
            assert!(gap <= tol && model.report().termination.is_converged(), "{lam} {tol}: {gap}");
            assert!(left <= gap * empty + 1e-12 * empty, "{lam} {tol}: {left} {gap}");
        }
    }
}

#[test]
fn sparse_rows_and_paths_give_the_same_weights() {
    let mut random = Random::new(4);
    let (mut p, labels) = three_classes(3, 60, 12);
    p.x.iter_mut().for_each(|v| *v = if random.uniform() < 0.6 { 0.0 } else { *v });
    let target = || Target::labels(labels.clone());
    let data = Dataset::new(p.view(), target()).unwrap();
    let sparse = sparse_copy(&p);
    let sparse = Dataset::new(sparse.view(), target()).unwrap();
    let method = SMLR::new().tol(1e-13);
    let path = method.path(&data, Some(&[0.5, 4.0, 2.0])).unwrap();
    for (model, lam) in path.iter().zip([0.5, 4.0, 2.0]) {
        assert_eq!(model.report().lam, Some(lam));
        for other in [&data, &sparse] {
            let alone = method.clone().lam(lam).fit(other).unwrap();
            for c in 0..3 {
                let worst = distance(&alone.coefficients_of(c), &model.coefficients_of(c));
                assert!(
                    worst < 1e-6,
                    "{lam} {c}: {worst:e} {:?} {:?}",
                    alone.report(),
                    model.report()
                );
            }
        }
    }
}

#[test]
fn separable_classes_and_large_penalties() {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) - 19.5).collect();
    let view = DenseView::by_rows(&x, 40, 1).unwrap();
    let data = Dataset::new(view, Target::labels(x.iter().map(|x| *x > 0.0))).unwrap();
    let model = SMLR::new().lam_ratio(1e-4).fit(&data).unwrap();
    assert!(model.report().termination.is_converged());
    assert_eq!(model.predict_codes(view).unwrap()[0], 0);
    assert_eq!(model.predict_codes(view).unwrap()[39], 1);
    let empty = SMLR::new().lam_ratio(1.0).fit(&data).unwrap();
    assert_eq!(empty.n_terms(), 0);
    assert!(empty.report().notes[0].contains("λ_max"), "{:?}", empty.report().notes);
    assert!((empty.predict_probabilities(view).unwrap()[(0, 0)] - 0.5).abs() < 1e-12);
}

/// Every way to the optimum.
fn solvers() -> [(Solver, Schedule); 4] {
    [
        (Solver::Auto, Schedule::Geometric),
        (Solver::Bound, Schedule::Geometric),
        (Solver::Componentwise, Schedule::Geometric),
        (Solver::Componentwise, Schedule::Gain),
    ]
}

/// The largest violation of the conditions of an optimum by the weights of a linear model without
/// free columns, as a part of λ: λ(ρ sign(w) + (1 − ρ)w) is the pull of Σ w x (y − p) on each
/// weight, in units in which columns are penalised, and at zero no pull exceeds λρ.
fn violation(model: &Model, data: &Dataset<'_>) -> f64 {
    let settings = model.settings();
    let plain = settings["basis"] == "linear" && settings["max_terms"].is_null();
    let Target::Labels { codes, .. } = data.target() else { return 0.0 };
    if !plain || !settings["penalty_factors"].is_null() {
        return 0.0;
    }
    let rows = codes.len();
    let weight = |i: usize| data.weights().map_or(1.0, |w| w[i]);
    let total: f64 = (0..rows).map(weight).sum();
    let column = |j: usize| -> Vec<f64> {
        let mut x = vec![0.0; rows];
        match data.features() {
            Features::Dense(dense) => (0..rows).for_each(|i| x[i] = dense.get(i, j)),
            Features::Sparse(sparse) => sparse.column(j).for_each(|(i, v)| x[i] = v),
        }
        x
    };
    let found = model.predict_probabilities(*data.features()).unwrap();
    let (lam, ratio) = (model.report().lam.unwrap(), settings["l1_ratio"].as_f64().unwrap());
    let symmetric = settings["parameterization"] == "symmetric";
    let (intercept, standardized) = (&settings["fit_intercept"], settings["standardize"] == true);
    let centred = intercept == true || standardized && intercept != false;
    let classes = found.columns();
    let mut worst = 0.0_f64;
    // Two classes are told by the weights of the second.
    for (c, output) in match classes {
        2 => vec![(1, 0)],
        _ => (0..classes - usize::from(!symmetric)).map(|c| (c, c)).collect(),
    } {
        let residual: Vec<f64> = (0..rows)
            .map(|i| weight(i) * (f64::from(u8::from(codes[i] == c)) - found[(i, c)]))
            .collect();
        for (j, w) in model.coefficients_of(output).iter().enumerate() {
            let x = column(j);
            let mean = (0..rows).map(|i| weight(i) * x[i]).sum::<f64>() / total;
            // Without an intercept columns have their mean square for a unit.
            let mean = if centred { mean } else { 0.0 };
            let square = (0..rows).map(|i| weight(i) * (x[i] - mean).powi(2)).sum::<f64>() / total;
            let unit = if standardized { square.sqrt() } else { 1.0 };
            let pull: f64 = residual.iter().zip(&x).map(|(r, x)| r * (x - mean)).sum();
            // Half of the ridge is left of ±w/2 for two classes.
            let half = if symmetric && classes == 2 { 0.5 } else { 1.0 };
            let (pull, w) = (pull / unit, w * unit);
            let ridge = lam * (1.0 - ratio) * half * w;
            let off = match w == 0.0 {
                true => (pull.abs() - lam * ratio).max(0.0),
                false => (pull - ridge - lam * ratio * w.signum()).abs(),
            };
            worst = worst.max(off / lam);
        }
    }
    worst
}

/// Fits by all solvers, which must agree, go down, and end with a certificate.
fn agree(method: &SMLR, data: &Dataset<'_>, what: &str) {
    let mut objectives = Vec::new();
    for (solver, schedule) in solvers() {
        let method = method.clone().solver(solver).schedule(schedule).tol(1e-8).max_iter(200_000);
        let model = method.fit(data).unwrap();
        let report = model.report();
        assert!(report.termination.is_converged(), "{what}, {solver:?}: {:?}", report.notes);
        assert!(report.certificate.value <= 1e-8, "{what}, {solver:?}: {:?}", report.certificate);
        objectives.push(report.objective);
        let off = violation(&model, data);
        assert!(off < 1e-3, "{what}, {solver:?}, {schedule:?}: {off:e}");
        for pair in report.trace.windows(2) {
            let rise = pair[1].objective / pair[0].objective - 1.0;
            assert!(rise < 1e-10, "{what}, {solver:?}, {schedule:?}: {rise:e}");
        }
    }
    let best = objectives.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(objectives.iter().all(|o| o / best - 1.0 < 1e-7), "{what}: {objectives:?}");
}

fn sparse_copy(p: &Problem) -> SparseMatrix {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for j in 0..p.columns {
        for i in (0..p.rows).filter(|i| p.x[i * p.columns + j] != 0.0) {
            indices.push(i);
            values.push(p.x[i * p.columns + j]);
        }
        starts.push(indices.len());
    }
    SparseMatrix::new(p.rows, p.columns, starts, indices, values).unwrap()
}

#[test]
fn the_solvers_agree() {
    let (mut p, labels) = three_classes(3, 80, 15);
    let mut random = Random::new(4);
    p.x.iter_mut().for_each(|v| *v = if random.uniform() < 0.6 { 0.0 } else { *v });
    let sparse = sparse_copy(&p);
    let two: Vec<bool> = labels.iter().map(|l| *l == "a").collect();
    let weights: Vec<f64> = (0..80).map(|i| [1.0, 0.0, 2.5][i % 3]).collect();
    let method = |intercept| SMLR::new().lam_ratio(0.1).fit_intercept(intercept);
    for intercept in [Intercept::Free, Intercept::None, Intercept::Penalised] {
        for (kind, features) in
            [("dense", Features::from(p.view())), ("sparse", sparse.view().into())]
        {
            for target in [Target::labels(labels.clone()), Target::labels(two.clone())] {
                let data = Dataset::new(features, target).unwrap();
                let what = format!("{kind}, {intercept:?}");
                agree(&method(intercept), &data, &what);
                for which in [Parameterization::Symmetric, Parameterization::Reference] {
                    let ridge = method(intercept).l1_ratio(0.0);
                    agree(&ridge.parameterization(which), &data, &format!("{what}, ridge"));
                    let net = method(intercept).l1_ratio(0.5).parameterization(which);
                    agree(&net, &data, &format!("{what}, elastic net"));
                }
                let data = data.with_weights(&weights[..]).unwrap();
                agree(&method(intercept), &data, &format!("{what}, weights"));
            }
        }
    }
}

#[test]
fn the_solvers_agree_on_kernels_and_wide_data() {
    let (p, labels) = three_classes(5, 60, 3);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    for intercept in [Intercept::Free, Intercept::None] {
        let kernel = SMLR::new().basis(BasisKind::Rbf).lam_ratio(0.1).fit_intercept(intercept);
        agree(&kernel, &data, "rbf");
    }
    let (p, labels) = three_classes(6, 40, 120);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    agree(&SMLR::new().lam_ratio(0.2), &data, "wide");
    agree(&SMLR::new().lam_ratio(0.2).max_terms(4), &data, "few");
    agree(&SMLR::new().l1_ratio(0.0).lam(5.0), &data, "wide ridge");
}

#[test]
fn the_solvers_agree_on_a_hundred_classes() {
    let (rows, columns) = (300, 5);
    let mut random = Random::new(2);
    let x = random.normals(rows * columns);
    let class = |(i, row): (usize, &[f64])| {
        let near = (10.0 * (row[0] + 0.3 * row[1] + 3.0)).clamp(0.0, 99.0) as i64;
        if i < 100 { i as i64 } else { near }
    };
    let labels: Vec<i64> = x.chunks(columns).enumerate().map(class).collect();
    let view = DenseView::by_rows(&x, rows, columns).unwrap();
    let data = Dataset::new(view, Target::labels(labels)).unwrap();
    agree(&SMLR::new().lam_ratio(0.3), &data, "a hundred classes");
}

#[test]
fn stationarity_holds_by_every_solver() {
    let (p, labels) = three_classes(8, 90, 7);
    let data = Dataset::new(p.view(), Target::labels(labels.clone())).unwrap();
    let lam = 2.0;
    for (solver, schedule) in solvers() {
        for which in [Parameterization::Reference, Parameterization::Symmetric] {
            let method = SMLR::new().lam(lam).standardize(false).tol(1e-13).max_iter(100_000);
            let method = method.solver(solver).schedule(schedule).parameterization(which);
            let model = method.fit(&data).unwrap();
            let found = model.predict_probabilities(p.view()).unwrap();
            for (c, class) in ["a", "b", "c"].iter().enumerate() {
                let weights = model.coefficients_of(c);
                let residual: Vec<f64> = (0..p.rows)
                    .map(|i| f64::from(u8::from(labels[i] == *class)) - found[(i, c)])
                    .collect();
                assert!(residual.iter().sum::<f64>().abs() < 1e-6, "{solver:?}");
                if which == Parameterization::Reference && c == 2 {
                    assert!(weights.iter().all(|w| *w == 0.0));
                    continue;
                }
                for (j, w) in weights.iter().enumerate() {
                    let pull: f64 = (0..p.rows).map(|i| p.x[i * p.columns + j] * residual[i]).sum();
                    let off = if *w == 0.0 {
                        (pull.abs() - lam).max(0.0)
                    } else {
                        (pull - lam * w.signum()).abs()
                    };
                    assert!(off < 1e-5 * lam, "{solver:?}, {which:?}, {c}, {j}: {off:e}");
                }
            }
        }
    }
}

#[test]
fn a_ridge_keeps_every_term() {
    let (p, labels) = three_classes(9, 60, 8);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    let ridge = RMLR::new().fit(&data).unwrap();
    assert_eq!((ridge.method(), ridge.n_terms()), ("RMLR", 8));
    assert!((ridge.report().lam.unwrap() - 0.6).abs() < 1e-9);
    let same = SMLR::new().l1_ratio(0.0).lam(ridge.report().lam.unwrap()).fit(&data).unwrap();
    assert!((same.report().objective / ridge.report().objective - 1.0).abs() < 1e-12);
    let read = RMLR::from_json("{}").unwrap().fit(&data).unwrap();
    assert_eq!(read.report().objective, ridge.report().objective);
    assert_eq!(read.settings()["l1_ratio"], 0.0);
}

/// With fewer rows than columns a ridge is solved by its rows: what holds at the optimum, and for
/// one λ after another, must hold for the weights of the columns.
#[test]
fn a_wide_ridge_of_few_terms_is_the_ridge_on_their_columns() {
    let (rows, columns, most) = (20, 80, 50);
    let (p, labels) = three_classes(7, rows, columns);
    let method = RMLR::new().lam(0.5).standardize(false).tol(1e-11);
    let data = Dataset::new(p.view(), Target::labels(labels.clone())).unwrap();
    let model = method.clone().max_terms(most).fit(&data).unwrap();
    assert!(model.report().termination.is_converged(), "{:?}", model.report());
    let kept: Vec<usize> = model.terms().iter().map(|t| t.index).collect();
    assert_eq!(kept.len(), most);
    let x = p.x.chunks(columns).flat_map(|row| kept.iter().map(|&j| row[j]));
    let x: Vec<f64> = x.collect();
    let view = DenseView::by_rows(&x, rows, most).unwrap();
    let alone = method.fit(&Dataset::new(view, Target::labels(labels)).unwrap()).unwrap();
    assert!((model.report().objective / alone.report().objective - 1.0).abs() < 1e-9);
    for c in 0..model.outputs() {
        let all = model.coefficients_of(c);
        let found: Vec<f64> = kept.iter().map(|&j| all[j]).collect();
        assert!(distance(&found, &alone.coefficients_of(c)) < 1e-4, "{c}");
    }
}

#[test]
fn a_wide_ridge_is_stationary_in_its_columns() {
    ridge_is_stationary(24, 90, 1e-5);
}

/// With more rows than columns L-BFGS goes to the optimum.
#[test]
fn a_tall_ridge_is_stationary_in_its_columns() {
    ridge_is_stationary(300, 130, 1e-4);
}

fn ridge_is_stationary(rows: usize, columns: usize, tolerance: f64) {
    let (mut p, labels) = three_classes(5, rows, columns);
    let mut random = Random::new(6);
    p.x.iter_mut().for_each(|v| *v = if random.uniform() < 0.5 { 0.0 } else { *v });
    // A row twice, and one that says nothing.
    p.x.copy_within(0..columns, columns);
    p.x[2 * columns..3 * columns].fill(0.0);
    let weights: Vec<f64> =
        (0..rows).map(|i| if i % 7 == 6 { 0.0 } else { 0.1 + 3.0 * random.uniform() }).collect();
    let factors: Vec<f64> = (0..columns).map(|_| 0.2 + 2.0 * random.uniform()).collect();
    let sparse = sparse_copy(&p);
    for (k, intercept) in [true, false, true, true].into_iter().enumerate() {
        let two = k == 2;
        let symmetric = k == 3;
        let named = |l: &&'static str| if two && *l == "c" { "b" } else { *l };
        let labels: Vec<&str> = labels.iter().map(named).collect();
        let method = RMLR::new()
            .standardize(false)
            .penalty_factors(factors.clone())
            .parameterization(if symmetric {
                Parameterization::Symmetric
            } else {
                Parameterization::Reference
            })
            .fit_intercept(if intercept { Intercept::Free } else { Intercept::None })
            .tol(1e-12);
        for features in [Features::from(p.view()), sparse.view().into()] {
            let target = Target::labels(labels.clone());
            let data = Dataset::new(features, target).unwrap().with_weights(&weights).unwrap();
            let lams = [3.0, 0.01, 30.0];
            for (model, lam) in method.path(&data, Some(&lams)).unwrap().iter().zip(lams) {
                assert!(model.report().termination.is_converged(), "{:?}", model.report());
                assert_eq!(model.n_terms(), columns);
                let found = model.predict_probabilities(features).unwrap();
                let names: Vec<String> =
                    model.classes().unwrap().iter().map(ToString::to_string).collect();
                for c in 0..model.outputs() {
                    let class = if two { 1 } else { c };
                    let left = |i: usize| {
                        let own = f64::from(u8::from(labels[i] == names[class]));
                        weights[i] * (own - found[(i, class)])
                    };
                    // The reference class has no weights.
                    if !symmetric && !two && c == 2 {
                        continue;
                    }
                    for (j, w) in model.coefficients_of(c).iter().enumerate() {
                        let pull: f64 = (0..rows).map(|i| p.x[i * columns + j] * left(i)).sum();
                        let expected = lam * factors[j] * w;
                        let left = (pull - expected).abs();
                        assert!(left < tolerance, "{k} {lam}: {pull} {expected}");
                    }
                    let sum: f64 = (0..rows).map(left).sum();
                    assert!(!intercept || sum.abs() < 1e-9, "{k} {lam}: {sum:e}");
                }
            }
        }
    }
}

/// What the gap claims of a tall ridge holds however early the fit ends, with free columns,
/// weights and offsets too, and in both orders of the values.
#[test]
fn the_gap_bounds_what_is_left_of_a_tall_ridge() {
    let (rows, columns) = (300, 130);
    for seed in 0..6 {
        let (p, labels) = three_classes(50 + seed, rows, columns);
        let by_columns: Vec<f64> =
            (0..rows * columns).map(|k| p.x[k % rows * columns + k / rows]).collect();
        let view = match seed % 2 {
            0 => p.view(),
            _ => DenseView::by_columns(&by_columns, rows, columns).unwrap(),
        };
        let mut data = Dataset::new(view, Target::labels(labels)).unwrap();
        let weights: Vec<f64> = (0..rows).map(|i| [1.0, 0.0, 2.5][i % 3]).collect();
        if seed >= 4 {
            data = data.with_weights(&weights).unwrap();
        }
        if seed >= 2 {
            let shift = |i: usize| (i as f64).sin();
            data = data
                .with_offset(Matrix::from_columns(rows, 3, (0..3 * rows).map(shift).collect()))
                .unwrap();
        }
        let mut factors = vec![1.0; columns];
        if seed % 3 == 0 {
            factors[1] = 0.0;
        }
        for lam in [10.0, 0.1] {
            let method = RMLR::new().lam(lam).penalty_factors(factors.clone());
            let way = SMLR::new().l1_ratio(0.0).lam(lam).penalty_factors(factors.clone());
            let other = way.solver(Solver::Componentwise).tol(1e-7).max_iter(100_000);
            let best = method.clone().tol(1e-13).fit(&data).unwrap();
            assert!(best.report().termination.is_converged(), "{:?}", best.report());
            let best = best.report().objective;
            if lam == 10.0 {
                let other = other.fit(&data).unwrap().report().objective;
                assert!((other / best - 1.0).abs() < 1e-6, "{seed} {lam}: {other} {best}");
            }
            let empty = RMLR::new().lam(1e12).fit(&data).unwrap().report().objective;
            for (tol, steps) in [(1e-2, 100), (1e-5, 100), (1e-8, 100), (1e-8, 1), (1e-8, 3)] {
                let model = method.clone().tol(tol).max_iter(steps).fit(&data).unwrap();
                let (left, report) = (model.report().objective - best, model.report());
                let claim = report.certificate.value;
                assert!(report.iterations <= steps);
                assert_eq!(report.termination.is_converged(), claim <= tol, "{report:?}");
                assert!(left <= claim * empty + 1e-12 * empty, "{seed} {lam} {tol}: {left:e}");
            }
        }
    }
}

/// With weights in most of many columns L-BFGS goes through the signs: to the same optimum, with a
/// gap that is true, for elastic nets, weights, intercepts and both orders of the values.
#[test]
fn many_terms_have_the_same_optimum() {
    let (rows, columns) = (500, 130);
    let (p, labels) = three_classes(70, rows, columns);
    let by_columns: Vec<f64> =
        (0..rows * columns).map(|k| p.x[k % rows * columns + k / rows]).collect();
    let by_columns = DenseView::by_columns(&by_columns, rows, columns).unwrap();
    let weights: Vec<f64> = (0..rows).map(|i| [1.0, 0.0, 2.5, 1.0][i % 4]).collect();
    for k in 0..4 {
        let view = if k % 2 == 0 { p.view() } else { by_columns };
        let mut data = Dataset::new(view, Target::labels(labels.clone())).unwrap();
        if k == 3 {
            data = data.with_weights(&weights).unwrap();
        }
        let which = [Parameterization::Reference, Parameterization::Symmetric][k / 2];
        let method = SMLR::new()
            .lam_ratio(0.005)
            .l1_ratio(if k == 1 { 0.5 } else { 1.0 })
            .fit_intercept(if k == 2 { Intercept::None } else { Intercept::Free })
            .parameterization(which);
        let other = method.clone().solver(Solver::Componentwise).tol(1e-5).max_iter(100_000);
        let other = other.fit(&data).unwrap();
        assert!(other.report().termination.is_converged(), "{k}");
        let best = method.clone().tol(1e-12).n_jobs(1).fit(&data).unwrap();
        assert!(best.n_terms() > 100, "{k}: {}", best.n_terms());
        let least = best.report().objective;
        let empty = SMLR::new().lam(1e12).fit(&data).unwrap().report().objective;
        let above = (other.report().objective - least) / empty;
        assert!((-1e-9..1e-5).contains(&above), "{k}: {above:e}");
        let same = method.clone().tol(1e-12).n_jobs(3).fit(&data).unwrap();
        assert_eq!(same.report().objective, least);
        assert_eq!(same.coefficients_of(0), best.coefficients_of(0));
        for (tol, steps) in [(0.1, 100), (1e-2, 100), (1e-4, 100), (1e-8, 100), (1e-8, 3)] {
            let model = method.clone().tol(tol).max_iter(steps).fit(&data).unwrap();
            let (left, report) = (model.report().objective - least, model.report());
            let claim = report.certificate.value;
            assert!(steps == 3 || claim <= tol, "{k} {tol}: {claim:e}");
            assert!(left <= claim * empty + 1e-12 * empty, "{k} {tol}: {left:e} {claim:e}");
        }
    }
}

#[test]
fn a_tall_ridge_has_the_same_bits_for_any_number_of_threads() {
    let (p, labels) = three_classes(60, 2500, 130);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    let fit = |threads| RMLR::new().lam(5.0).n_jobs(threads).fit(&data).unwrap();
    let one = fit(1);
    assert!(one.report().termination.is_converged());
    for threads in [2, 3] {
        let many = fit(threads);
        assert_eq!(one.report().objective, many.report().objective);
        for c in 0..2 {
            assert_eq!(one.coefficients_of(c), many.coefficients_of(c));
        }
    }
}

/// Kernels, and columns that all but say the same, curve by very different amounts.
#[test]
fn a_tall_ridge_of_bad_condition_converges() {
    let (mut p, labels) = three_classes(61, 150, 4);
    let data = Dataset::new(p.view(), Target::labels(labels.clone())).unwrap();
    for lam in [1.0, 1e-4] {
        let kernels = RMLR::new().basis(BasisKind::Rbf).lam(lam).fit(&data).unwrap();
        assert!(kernels.report().termination.is_converged(), "{lam}: {:?}", kernels.report());
        assert!(kernels.report().certificate.value <= 1e-8);
    }
    let mut random = Random::new(62);
    let wide = |row: &[f64]| {
        let near = |k: usize| row[k % 4] * 10f64.powi(k as i32 / 32);
        (0..130).map(near).collect::<Vec<f64>>()
    };
    p.x = p.x.chunks(4).flat_map(wide).collect();
    p.x.iter_mut().for_each(|v| *v *= 1.0 + 1e-5 * random.uniform());
    p.columns = 130;
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    for standardize in [true, false] {
        let model = RMLR::new().lam(1e-3).standardize(standardize).fit(&data).unwrap();
        assert!(model.report().termination.is_converged(), "{:?}", model.report());
        assert!(model.report().certificate.value <= 1e-8);
    }
}

#[test]
fn the_order_of_classes_matters_to_the_reference_only() {
    let (p, labels) = three_classes(10, 80, 6);
    let turned: Vec<&str> = labels.iter().map(|l| if *l == "a" { "z" } else { *l }).collect();
    let objective = |labels: &[&str], which| {
        let data = Dataset::new(p.view(), Target::labels(labels.to_vec())).unwrap();
        let method = SMLR::new().lam(2.0).tol(1e-12).parameterization(which);
        method.fit(&data).unwrap().report().objective
    };
    let symmetric = |labels: &[&str]| objective(labels, Parameterization::Symmetric);
    assert!((symmetric(&labels) / symmetric(&turned) - 1.0).abs() < 1e-10);
    let reference = |labels: &[&str]| objective(labels, Parameterization::Reference);
    assert!((reference(&labels) / reference(&turned) - 1.0).abs() > 1e-4);
}

#[test]
fn no_penalty_on_separable_classes_ends() {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) - 19.5).collect();
    let view = DenseView::by_rows(&x, 40, 1).unwrap();
    for classes in [2, 3] {
        let labels = || (0..40).map(|i| i * classes / 40);
        let data = Dataset::new(view, Target::labels(labels())).unwrap();
        for (solver, schedule) in solvers() {
            for which in [Parameterization::Reference, Parameterization::Symmetric] {
                let method = SMLR::new().lam(0.0).parameterization(which).max_iter(200);
                let model = method.solver(solver).schedule(schedule).fit(&data).unwrap();
                assert!(model.report().objective < 20.0, "{solver:?}");
                assert!(
                    (0..model.outputs())
                        .all(|c| model.coefficients_of(c).iter().all(|w| w.is_finite()))
                );
                let notes = model.report().notes.join("; ");
                let converged = model.report().termination.is_converged();
                assert!(converged || !notes.is_empty(), "{solver:?}");
                let eta = model.decision(view).unwrap();
                let said = |i: usize| match eta.columns() {
                    1 => i64::from(eta[(i, 0)] > 0.0),
                    _ => {
                        (0..3).max_by(|&a, &b| eta[(i, a)].total_cmp(&eta[(i, b)])).unwrap() as i64
                    }
                };
                let apart = labels().enumerate().all(|(i, label)| said(i) == label);
                assert_eq!(notes.contains("told apart without error"), apart, "{notes}");
                assert_eq!(model.report().separable, apart);
                // More steps would lead nowhere.
                assert!(!apart || !notes.contains("raise max_iter"), "{notes}");
                assert!(converged || !apart || notes.contains("max_iter = 200 ended"), "{notes}");
                assert!(apart || solver != Solver::Auto, "{notes}");
            }
        }
    }
}

#[test]
fn a_start_saves_steps_and_changes_nothing() {
    let (p, labels) = three_classes(11, 80, 30);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    for (solver, schedule) in solvers() {
        let method = SMLR::new().lam(3.0).solver(solver).schedule(schedule).tol(1e-9);
        let cold = method.fit(&data).unwrap();
        let warm = method.clone().start(&cold).fit(&data).unwrap();
        assert!(warm.report().iterations <= cold.report().iterations, "{solver:?}");
        assert!((warm.report().objective / cold.report().objective - 1.0).abs() < 1e-8);
        let other = SMLR::new().lam(0.5).fit(&data).unwrap();
        let far = method.start(&other).fit(&data).unwrap();
        assert!((far.report().objective / cold.report().objective - 1.0).abs() < 1e-8);
    }
}

#[test]
fn factors_on_the_penalty_hold_by_every_solver() {
    let (p, labels) = three_classes(12, 80, 6);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    let factors = vec![0.0, 1.0, 2.0, 0.5, 1.0, 1.0];
    agree(&SMLR::new().lam(3.0).penalty_factors(factors.clone()), &data, "factors");
    agree(&SMLR::new().lam(3.0).l1_ratio(0.0).penalty_factors(factors.clone()), &data, "ridge");
    for standardize in [true, false] {
        let net = SMLR::new().lam(3.0).l1_ratio(0.5).penalty_factors(factors.clone());
        agree(&net.standardize(standardize), &data, "elastic net");
    }
}

#[test]
fn columns_on_demand_give_the_same() {
    let (p, labels) = three_classes(13, 60, 3);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    let method = SMLR::new().basis(BasisKind::Rbf).solver(Solver::Componentwise).tol(1e-6);
    let packed = method.fit(&data).unwrap();
    // Too little for a copy of the 60 columns.
    let fetched = method.memory_limit(50_000.0).fit(&data).unwrap();
    assert!((fetched.report().objective / packed.report().objective - 1.0).abs() < 1e-9);
}

fn shifted<'d>(data: &Dataset<'d>, offset: Vec<f64>) -> Dataset<'d> {
    let rows = offset.len();
    data.clone().with_offset(Matrix::from_columns(rows, 1, offset)).unwrap()
}

#[test]
fn intercepts_make_up_for_any_offset() {
    let p = Problem::linear(21, 200, 5, 3, 1.0);
    let labels: Vec<&str> = p.y.iter().map(|y| if *y > 2.0 { "b" } else { "a" }).collect();
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    let method = SMLR::new().lam(5.0).standardize(false).tol(1e-10);
    let plain = method.fit(&data).unwrap().report().objective;
    for size in [250.0, -1e4, 1e8] {
        let model = method.fit(&shifted(&data, vec![size; 200])).unwrap();
        assert!((model.report().objective / plain - 1.0).abs() < 1e-6, "{size}");
        // Offsets that no intercept makes up for.
        let of_row = |i: usize| size * (0.5 + (i % 7) as f64);
        let hard = shifted(&data, (0..200).map(of_row).collect());
        let (loose, tight) = (method.clone().fit(&hard).unwrap(), method.clone().tol(1e-13));
        let tight = tight.fit(&hard).unwrap();
        let (loose, best) = (loose.report(), tight.report().objective);
        let empty = method.clone().lam(1e12).fit(&hard).unwrap().report().objective;
        let claim = loose.certificate.value;
        assert!(loose.objective - best <= claim * empty + 1e-9 * best, "{size}: {claim:e}");
    }
}

#[test]
fn offsets_that_say_it_all_leave_nothing_to_do() {
    let p = Problem::linear(22, 100, 4, 2, 1.0);
    let is_b = |y: &f64| *y > 2.0;
    let labels: Vec<&str> = p.y.iter().map(|y| if is_b(y) { "b" } else { "a" }).collect();
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    let offset = p.y.iter().map(|y| if is_b(y) { 1e4 } else { -1e4 }).collect();
    let model = SMLR::new().lam(1.0).fit(&shifted(&data, offset)).unwrap();
    let report = model.report();
    assert_eq!((report.objective, report.certificate.value, model.n_terms()), (0.0, 0.0, 0));
    assert!(report.termination.is_converged());
}

#[test]
fn the_gap_bounds_what_is_left_with_free_columns() {
    for seed in 0..30 {
        // The last two columns are copies, nearly; few rows are separable by the free ones.
        let (mut p, labels) = three_classes(100 + seed, if seed % 3 == 0 { 12 } else { 60 }, 8);
        let near = if seed % 2 == 0 { 1e-3 } else { 1e-6 };
        p.x.chunks_mut(8).for_each(|row| row[7] = row[6] + near * row[7]);
        let data = Dataset::new(p.view(), Target::labels(labels.clone())).unwrap();
        let mut factors = vec![1.0; 8];
        [0, 6, 7].iter().for_each(|&j: &usize| factors[j] = 0.0);
        for lam in [3.0, 0.3] {
            let method = SMLR::new().lam(lam).penalty_factors(factors.clone()).standardize(false);
            let best = method.clone().tol(1e-14).fit(&data).unwrap().report().objective;
            let empty = SMLR::new().lam(1e9).fit(&data).unwrap().report().objective;
            for (tol, steps) in [(1e-2, 100), (1e-5, 100), (1e-8, 100), (1e-8, 1), (1e-8, 3)] {
                let model = method.clone().tol(tol).max_iter(steps).fit(&data).unwrap();
                let (left, report) = (model.report().objective - best, model.report());
                let claim = report.certificate.value;
                assert!(
                    left <= claim * empty + 1e-12 * empty,
                    "{seed} {lam} {tol}: {left:e} {claim:e}"
                );
            }
        }
    }
}

#[test]
fn without_a_penalty_there_is_stationarity_and_no_gap() {
    let x: Vec<f64> = (0..40).map(|i| f64::from(i) - 19.5).collect();
    let view = DenseView::by_rows(&x, 40, 1).unwrap();
    let separable = Dataset::new(view, Target::labels((0..40).map(|i| i / 20))).unwrap();
    let (p, labels) = three_classes(23, 100, 3);
    let usual = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    for data in [&separable, &usual] {
        for (solver, schedule) in solvers() {
            let method = SMLR::new().lam(0.0).solver(solver).schedule(schedule);
            let certificate = method.fit(data).unwrap().report().certificate.clone();
            assert_eq!(certificate.kind, CertificateKind::Stationarity, "{solver:?}");
            assert!(certificate.value > 0.0);
        }
    }
}

#[test]
fn a_start_far_out_is_dropped() {
    let (p, labels) = three_classes(24, 80, 6);
    let data = Dataset::new(p.view(), Target::labels(labels.clone())).unwrap();
    let huge: Vec<f64> = p.x.iter().map(|x| 1e-9 * x).collect();
    let huge = DenseView::by_rows(&huge, 80, 6).unwrap();
    let huge = Dataset::new(huge, Target::labels(labels)).unwrap();
    let start = SMLR::new().lam(1e-9).standardize(false).fit(&huge).unwrap();
    for (solver, schedule) in solvers() {
        let method = SMLR::new().lam(3.0).solver(solver).schedule(schedule).tol(1e-9);
        let cold = method.fit(&data).unwrap();
        let warm = method.start(&start).fit(&data).unwrap();
        assert!(warm.report().termination.is_converged(), "{solver:?}");
        assert!((warm.report().objective / cold.report().objective - 1.0).abs() < 1e-8);
    }
}

/// Of an even number of classes half may have weights above zero and half below: a column's weights
/// then shift together at no cost, in a direction in which nothing curves.
#[test]
fn an_even_number_of_classes_takes_no_longer() {
    let (rows, columns) = (400, 200);
    let mut random = Random::new(24);
    let x = random.normals(rows * columns);
    let view = DenseView::by_rows(&x, rows, columns).unwrap();
    let mut time = |classes: u64| {
        let labels: Vec<i64> = (0..rows).map(|_| (random.next_u64() % classes) as i64).collect();
        let data = Dataset::new(view, Target::labels(labels)).unwrap();
        let method = SMLR::new().lam_ratio(0.02).parameterization(Parameterization::Symmetric);
        let began = Instant::now();
        let model = method.n_jobs(1).fit(&data).unwrap();
        assert!(model.report().certificate.value <= 1e-8, "{:?}", model.report().certificate);
        began.elapsed()
    };
    let odd = time(5);
    for classes in [4, 6] {
        let even = time(classes);
        assert!(even < 15 * odd, "{classes}: {even:?}, {odd:?}");
    }
}

#[test]
fn no_solver_keeps_a_term_at_the_largest_penalty() {
    let (p, labels) = three_classes(21, 60, 12);
    let two: Vec<bool> = labels.iter().map(|l| *l == "a").collect();
    for target in [Target::labels(labels.clone()), Target::labels(two.clone())] {
        let data = Dataset::new(p.view(), target).unwrap();
        for (solver, schedule) in solvers() {
            for which in [Parameterization::Reference, Parameterization::Symmetric] {
                let method = SMLR::new().solver(solver).schedule(schedule).parameterization(which);
                let largest = method.clone().lam_ratio(1.0).fit(&data).unwrap().report().lam;
                for times in [1.0, 1.5] {
                    let lam = times * largest.unwrap();
                    let model = method.clone().lam(lam).fit(&data).unwrap();
                    assert_eq!(model.n_terms(), 0, "{solver:?} {which:?} {times}");
                    let note = &model.report().notes[0];
                    assert!(note.contains("is not below λ_max"), "{note}");
                    assert!(model.report().termination.is_converged());
                }
                assert!(method.clone().lam_ratio(0.9).fit(&data).unwrap().n_terms() > 0);
            }
        }
    }
}

/// The columns of a ridge that are far from centred all but say the same.
#[test]
fn a_ridge_on_full_rows_in_a_sparse_format_takes_little_longer() {
    let (rows, columns) = (800, 60);
    let mut p = Problem::linear(25, rows, columns, 3, 1.0);
    let labels: Vec<i64> = p.y.iter().map(|y| (1.5 * y).clamp(0.0, 7.0) as i64).collect();
    for row in p.x.chunks_mut(columns) {
        row.iter_mut().enumerate().for_each(|(j, v)| *v += 10.0 * (3.0 * j as f64).sin());
    }
    let sparse = sparse_copy(&p);
    let fit = |features: Features<'_>| {
        let data = Dataset::new(features, Target::labels(labels.clone())).unwrap();
        let method = RMLR::new().lam(100.0).standardize(false).fit_intercept(Intercept::None);
        let began = Instant::now();
        let model = method.n_jobs(1).fit(&data).unwrap();
        assert!(model.report().certificate.value <= 1e-8, "{:?}", model.report().certificate);
        (model.report().objective, began.elapsed())
    };
    let ((ours, slow), (theirs, fast)) = (fit(sparse.view().into()), fit(p.view().into()));
    assert!((ours / theirs - 1.0).abs() < 1e-7, "{ours} {theirs}");
    assert!(slow < 20 * fast, "{slow:?}, {fast:?}");
}

#[test]
fn columns_without_a_penalty_that_tell_classes_apart_are_said() {
    let mut random = Random::new(23);
    let x: Vec<f64> =
        (0..40).flat_map(|i| [f64::from(i) / 20.0 - 0.975, random.normal()]).collect();
    let view = DenseView::by_rows(&x, 40, 2).unwrap();
    let data = Dataset::new(view, Target::labels((0..40).map(|i| i < 20))).unwrap();
    let fit = |factors: [f64; 2]| {
        let method = SMLR::new().lam(1e-3).penalty_factors(factors.to_vec()).uncertainty(true);
        let report = method.fit(&data).unwrap().report().clone();
        (report.separable, report.notes.join("; "))
    };
    let (separable, notes) = fit([0.0, 1.0]);
    assert!(separable && notes.contains("penalty factors above 0"), "{notes}");
    assert!(notes.contains("no standard errors"), "{notes}");
    // A penalty on the column that tells them apart is enough.
    for factors in [[1.0, 0.0], [1.0, 1.0]] {
        let (separable, notes) = fit(factors);
        assert!(!separable && !notes.contains("penalty factors"), "{notes}");
    }
}

#[test]
fn what_is_left_is_one_number() {
    let (p, labels) = three_classes(22, 60, 12);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    for (solver, schedule) in solvers() {
        let method = SMLR::new().lam_ratio(0.01).solver(solver).schedule(schedule);
        let model = method.max_iter(2).tol(1e-13).fit(&data).unwrap();
        let left = format!("a duality gap of {:.1e};", model.report().certificate.value);
        assert!(model.report().notes[0].contains(&left), "{solver:?}: {:?}", model.report().notes);
    }
}

/// The start of bound optimisation alone may take longer than the time there is.
#[test]
fn bound_optimisation_ends_in_time_and_never_behind_the_empty_model() {
    let (p, labels) = three_classes(7, 300, 8000);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    let method = SMLR::new().lam_ratio(0.5).solver(Solver::Bound);
    let began = Instant::now();
    let stepped = method.clone().max_iter(1).fit(&data).unwrap();
    let step = began.elapsed();
    assert!(stepped.report().certificate.value <= 1.0 + 1e-9);
    let shortest = (0..3)
        .map(|_| {
            let began = Instant::now();
            let cut = method.clone().max_time(step.as_secs_f64() / 50.0).fit(&data).unwrap();
            let (took, report) = (began.elapsed(), cut.report());
            assert_eq!(report.termination, Termination::TimeLimit);
            assert!(report.certificate.value <= 1.0 + 1e-9, "{:?}", report.certificate);
            took
        })
        .min();
    assert!(shortest.unwrap() < step / 2, "{shortest:?} of {step:?}");
    // Not even where the fit starts far below.
    let start = SMLR::new().lam_ratio(0.6).fit(&data).unwrap();
    let warm = method.start(&start).max_iter(1).fit(&data).unwrap();
    let (now, then) = (warm.report().objective, start.report().objective);
    assert!(now <= then, "{now} {then}");
}

/// A column that says what two others say together is in the way of choosing by weights.
#[test]
fn few_terms_are_nearly_the_best_few() {
    let (rows, columns) = (80, 6);
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let mut x = random.normals(rows * columns);
        for row in x.chunks_mut(columns) {
            row[3] = row[0] + row[1] + 0.3 * row[3];
        }
        let labels: Vec<bool> =
            x.chunks(columns).map(|r| r[0] + r[1] + random.normals(1)[0] > 0.0).collect();
        let method = SMLR::new().lam(0.5).standardize(false);
        let fit = |chosen: &[usize], method: &SMLR| {
            let part: Vec<f64> =
                x.chunks(columns).flat_map(|row| chosen.iter().map(|&j| row[j])).collect();
            let view = DenseView::by_rows(&part, rows, chosen.len()).unwrap();
            let data = Dataset::new(view, Target::labels(labels.clone())).unwrap();
            method.fit(&data).unwrap().report().objective
        };
        let all: Vec<usize> = (0..columns).collect();
        let one = all.iter().map(|&j| fit(&[j], &method)).fold(f64::INFINITY, f64::min);
        let pairs = all.iter().flat_map(|&j| (0..j).map(move |i| [i, j]));
        let two = pairs.map(|pair| fit(&pair, &method)).fold(f64::INFINITY, f64::min);
        for (most, best) in [(1, one), (2, two)] {
            let found = fit(&all, &method.clone().max_terms(most));
            assert!(found <= best * (1.0 + 1e-3), "{seed}, {most}: {found} {best}");
        }
    }
}
