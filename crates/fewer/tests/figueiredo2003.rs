//! Figueiredo 2003: sparse regression by EM, against an independent reference and theory.

mod support;

use fewer::data::{Dataset, DenseView, MomentsBuilder};
use fewer::method::{Intercept, PriorKind, SparseRegressor, Variant};
use fewer::model::{CertificateKind, Model};
use serde_json::Value;
use support::{Problem, Random, distance, fixture, numbers};

fn reference(case: &str) -> Value {
    serde_json::from_str::<Value>(&fixture("em_regression.json")).unwrap()[case].clone()
}

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn fit_reference_data(method: SparseRegressor) -> Model {
    let (h, rows) = numbers("reg_H.csv");
    let (y, _) = numbers("reg_y.csv");
    let x = DenseView::by_rows(&h, rows, h.len() / rows).unwrap();
    method
        .standardize(false)
        .fit_intercept(Intercept::None)
        .fit(&Dataset::new(x, &y).unwrap())
        .unwrap()
}

#[test]
fn jeffreys_agrees_with_the_reference() {
    for (case, method) in [
        ("jeffreys_regression_sigma2_estimated", SparseRegressor::new()),
        ("jeffreys_regression_sigma2_fixed_1", SparseRegressor::new().noise(1.0)),
    ] {
        let expected = reference(case);
        let model = fit_reference_data(method.tol(1e-12));
        assert!(distance(&model.coefficients(), &list(&expected["beta"])) < 1e-5, "{case}");
        let objective = expected["objective"].as_f64().unwrap();
        assert!((model.report().objective / objective - 1.0).abs() < 1e-6, "{case}");
        let variance = expected["sigma2"].as_f64().unwrap();
        assert!((model.noise_std().unwrap().powi(2) / variance - 1.0).abs() < 1e-6, "{case}");
        assert!(model.report().certificate.value < 1e-12, "{case}");
    }
}

#[test]
fn laplace_with_known_noise_agrees_with_the_reference_lasso() {
    for (case, lam) in [("lasso_em_lam5", 5.0), ("lasso_em_lam25", 25.0)] {
        let expected = reference(case);
        let method = SparseRegressor::new().prior(PriorKind::Laplace).lam(lam).noise(1.0);
        let model = fit_reference_data(method.tol(1e-12));
        assert!(distance(&model.coefficients(), &list(&expected["beta"])) < 1e-8, "{case}");
        let objective = expected["objective"].as_f64().unwrap();
        assert!((model.report().objective / objective - 1.0).abs() < 1e-9, "{case}");
        assert_eq!(model.report().certificate.kind, CertificateKind::DualityGap);
        assert!(model.report().certificate.value < 1e-12, "{case}");
    }
}

#[test]
fn orthogonal_designs_follow_the_closed_rule() {
    let expected = reference("jeffreys_orthogonal_rule");
    let (b, beta) = (list(&expected["b"]), list(&expected["beta"]));
    let sigma = expected["sigma"].as_f64().unwrap();
    let n = b.len();
    let identity: Vec<f64> = (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect();
    let data = Dataset::new(DenseView::by_rows(&identity, n, n).unwrap(), &b).unwrap();
    // The paper's start; with as many columns as rows the other start shrinks.
    let model = SparseRegressor::new()
        .noise(sigma)
        .standardize(false)
        .fit_intercept(Intercept::None)
        .start_from_least_squares()
        .tol(1e-12)
        .fit(&data)
        .unwrap();
    let got = model.coefficients();
    for i in 0..n {
        // At the threshold itself EM converges sublinearly to σ.
        let at_threshold = (b[i].abs() - 2.0 * sigma).abs() < 1e-12;
        if !at_threshold {
            assert!((got[i] - beta[i]).abs() < 1e-8, "b = {}: {} {}", b[i], got[i], beta[i]);
        }
    }
}

/// Coordinate descent on ½‖y − Xw‖² + λ‖w‖₁ with centred columns, written independently.
fn lasso(x: &[Vec<f64>], y: &[f64], lam: f64) -> Vec<f64> {
    let mut w = vec![0.0; x.len()];
    let mut r = y.to_vec();
    for _ in 0..100_000 {
        let mut moved: f64 = 0.0;
        for (j, column) in x.iter().enumerate() {
            let square: f64 = column.iter().map(|v| v * v).sum();
            let rho: f64 = column.iter().zip(&r).map(|(v, r)| v * r).sum::<f64>() + square * w[j];
            let new = rho.signum() * (rho.abs() - lam).max(0.0) / square;
            let step = new - w[j];
            r.iter_mut().zip(column).for_each(|(r, v)| *r -= step * v);
            w[j] = new;
            moved = moved.max(step.abs());
        }
        if moved < 1e-14 {
            break;
        }
    }
    w
}

#[test]
fn laplace_with_known_noise_is_the_lasso() {
    for seed in 0..8 {
        let (rows, columns) = if seed % 2 == 0 { (80, 25) } else { (30, 60) };
        let p = Problem::linear(seed, rows, columns, 4, 1.0);
        let flat = p.by_columns();
        let centred = |v: &[f64]| {
            let mean = v.iter().sum::<f64>() / v.len() as f64;
            v.iter().map(|v| v - mean).collect::<Vec<f64>>()
        };
        let x: Vec<Vec<f64>> = flat.chunks(rows).map(centred).collect();
        let y = centred(&p.y);
        let strongest = x
            .iter()
            .map(|c| c.iter().zip(&y).map(|(a, b)| a * b).sum::<f64>().abs())
            .fold(0.0, f64::max);
        for ratio in [0.5, 0.1, 0.02] {
            let (noise, lam) = (0.7, ratio * strongest);
            let model = SparseRegressor::new()
                .prior(PriorKind::Laplace)
                .lam(lam / (noise * noise))
                .noise(noise)
                .standardize(false)
                .tol(1e-13)
                .fit(&p.data())
                .unwrap();
            let worst = distance(&model.coefficients(), &lasso(&x, &y, lam));
            assert!(
                worst < 1e-8,
                "seed {seed}, ratio {ratio}: {worst:e}, {:?}",
                model.report().certificate
            );
        }
    }
}

#[test]
fn the_gap_bounds_the_suboptimality() {
    let p = Problem::linear(3, 60, 20, 4, 1.0);
    let method = SparseRegressor::new().prior(PriorKind::Laplace).lam_ratio(0.1).noise(1.0);
    let best = method.clone().tol(1e-14).fit(&p.data()).unwrap().report().objective;
    let null = method.clone().lam_ratio(1.0).fit(&p.data()).unwrap().report().objective;
    for iterations in [1, 2, 5, 10] {
        let report = method.clone().max_iter(iterations).fit(&p.data()).unwrap().report().clone();
        assert_eq!(report.certificate.kind, CertificateKind::DualityGap);
        let suboptimality = (report.objective - best) / null;
        assert!(
            report.certificate.value >= suboptimality - 1e-12,
            "after {iterations}: gap {} < {suboptimality}",
            report.certificate.value
        );
    }
}

#[test]
fn the_objective_falls_between_prunings() {
    for seed in 0..10 {
        for prior in [PriorKind::Jeffreys, PriorKind::Laplace, PriorKind::Gaussian] {
            for (rows, columns) in [(100, 30), (40, 80)] {
                let p = Problem::linear(seed, rows, columns, 5, 1.0);
                let model = SparseRegressor::new().prior(prior).fit(&p.data()).unwrap();
                for pair in model.report().trace.windows(2) {
                    let rise = pair[1].objective - pair[0].objective;
                    let held = pair[1].terms > rows / 2 || pair[0].terms > rows / 2;
                    assert!(
                        pair[1].terms != pair[0].terms
                            || held
                            || rise <= 1e-9 * pair[0].objective.abs(),
                        "seed {seed}, {prior:?}, {rows}×{columns}: {pair:?}"
                    );
                }
                assert!(model.report().termination.is_converged(), "{:?}", model.report().notes);
            }
        }
    }
}

#[test]
fn forms_by_rows_by_gram_and_by_moments_agree() {
    for seed in 0..5 {
        for prior in [PriorKind::Jeffreys, PriorKind::Laplace, PriorKind::Gaussian] {
            let p = Problem::linear(seed, 120, 20, 5, 0.5);
            let method = SparseRegressor::new().prior(prior).tol(1e-11);
            let by_gram = method.fit(&p.data()).unwrap();
            let mut builder = MomentsBuilder::new(p.data().names());
            for (x, y) in p.x.chunks(35 * 20).zip(p.y.chunks(35)) {
                builder.push(DenseView::by_rows(x, y.len(), 20).unwrap(), y, None).unwrap();
            }
            let by_moments = method.fit_moments(builder.finish().unwrap()).unwrap();
            let by_rows = method.clone().force_rows().fit(&p.data()).unwrap();
            for other in [by_moments, by_rows] {
                let worst = distance(&other.coefficients(), &by_gram.coefficients());
                assert!(worst < 1e-9, "seed {seed}, {prior:?}: {worst:e}");
                assert!((other.intercept() - by_gram.intercept()).abs() < 1e-9);
            }
        }
    }
}

#[test]
fn acceleration_ends_where_em_does() {
    let mut compared = 0;
    for seed in 0..40 {
        let p = Problem::linear(seed, 60, 25, 6, 1.5);
        let method = SparseRegressor::new().tol(1e-7).max_iter(200_000);
        let quick = method.fit(&p.data()).unwrap();
        let slow = method.clone().without_acceleration().fit(&p.data()).unwrap();
        if slow.report().termination.is_converged() {
            compared += 1;
            let worst = distance(&quick.coefficients(), &slow.coefficients());
            assert!(worst < 1e-4, "seed {seed}: {worst:e}");
        }
    }
    assert!(compared >= 38, "{compared} of 40");
}

#[test]
fn true_terms_are_found() {
    let mut wrong = 0;
    for seed in 0..20 {
        let p = Problem::linear(seed, 200, 40, 6, 0.5);
        let model = SparseRegressor::new().fit(&p.data()).unwrap();
        let found: Vec<usize> = model.terms().iter().map(|t| t.index).collect();
        for j in 0..40 {
            if p.weights[j] != 0.0 {
                assert!(found.contains(&j), "seed {seed}: x{} was missed", j + 1);
            } else {
                wrong += usize::from(found.contains(&j));
            }
        }
    }
    assert!(wrong <= 40, "{wrong} false terms in 20 fits");
}

#[test]
fn wide_data_are_not_interpolated() {
    for seed in 0..10 {
        let p = Problem::linear(seed, 100, 400, 5, 0.5);
        let model = SparseRegressor::new().fit(&p.data()).unwrap();
        let found: Vec<usize> = model.terms().iter().map(|t| t.index).collect();
        let truth: Vec<usize> = (0..400).filter(|&j| p.weights[j] != 0.0).collect();
        assert!(truth.iter().all(|j| found.contains(j)), "seed {seed}: {found:?}");
        assert!(found.len() <= 25, "seed {seed}: {} terms", found.len());
        let noise = model.noise_std().unwrap();
        assert!((0.25..0.7).contains(&noise), "seed {seed}: noise {noise}");
    }
}

#[test]
fn the_paper_variant_stops_early_and_keeps_more() {
    let mut extra = 0;
    for seed in 0..10 {
        let p = Problem::linear(seed, 50, 20, 5, 1.0);
        let exact = SparseRegressor::new().fit(&p.data()).unwrap();
        let paper = SparseRegressor::new().variant(Variant::Paper).fit(&p.data()).unwrap();
        assert!(paper.n_terms() >= exact.n_terms());
        extra += paper.n_terms() - exact.n_terms();
    }
    assert!(extra > 0, "the paper's stop leaves weights on their way to zero");
}

#[test]
fn max_terms_is_kept() {
    let p = Problem::linear(1, 100, 30, 8, 0.5);
    for prior in [PriorKind::Jeffreys, PriorKind::Laplace, PriorKind::Gaussian] {
        for terms in [1, 3, 8] {
            let model =
                SparseRegressor::new().prior(prior).max_terms(terms).fit(&p.data()).unwrap();
            assert!(model.n_terms() <= terms, "{prior:?}: {}", model.n_terms());
            assert!(model.report().termination.is_converged());
        }
    }
    let mut limited = SparseRegressor::new().max_terms(2).max_iter(1).fit(&p.data()).unwrap();
    assert!(limited.n_terms() <= 2);
    limited = SparseRegressor::new().max_iter(1).fit(&p.data()).unwrap();
    assert!(limited.report().notes[0].contains("raise max_iter"), "{:?}", limited.report().notes);
}

#[test]
fn gradients_agree_with_finite_differences() {
    // At the fitted point the objective, evaluated from its definition, is stationary.
    for (prior, lam) in
        [(PriorKind::Jeffreys, 0.0), (PriorKind::Laplace, 3.0), (PriorKind::Gaussian, 3.0)]
    {
        let p = Problem::linear(7, 60, 10, 4, 1.0);
        let mut method = SparseRegressor::new().prior(prior).standardize(false).tol(1e-12);
        if prior != PriorKind::Jeffreys {
            method = method.lam(lam);
        }
        let model = method.fit(&p.data()).unwrap();
        let support: Vec<usize> = model.terms().iter().map(|t| t.index).collect();
        let variance = model.noise_std().unwrap().powi(2);
        let objective = |w: &[f64], b: f64, s2: f64| {
            let n = p.rows as f64;
            let rss: f64 = p
                .x
                .chunks(p.columns)
                .zip(&p.y)
                .map(|(x, y)| (y - b - x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>()).powi(2))
                .sum();
            let penalty: f64 = support
                .iter()
                .map(|&j| match prior {
                    PriorKind::Jeffreys => w[j].abs().ln(),
                    PriorKind::Laplace => lam * w[j].abs(),
                    PriorKind::Gaussian => 0.5 * lam * w[j] * w[j],
                })
                .sum();
            0.5 * n * s2.ln() + rss / (2.0 * s2) + penalty
        };
        let (w, b) = (model.coefficients(), model.intercept());
        let value = objective(&w, b, variance);
        assert!((value / model.report().objective - 1.0).abs() < 1e-10, "{prior:?}");
        let h = 1e-6;
        for &j in &support {
            let (mut up, mut down) = (w.clone(), w.clone());
            up[j] += h;
            down[j] -= h;
            let slope = (objective(&up, b, variance) - objective(&down, b, variance)) / (2.0 * h);
            assert!(slope.abs() < 1e-5, "{prior:?}, w{j}: {slope:e}");
        }
        let slope = (objective(&w, b + h, variance) - objective(&w, b - h, variance)) / (2.0 * h);
        assert!(slope.abs() < 1e-5, "{prior:?}, intercept: {slope:e}");
        let slope = (objective(&w, b, variance + h) - objective(&w, b, variance - h)) / (2.0 * h);
        assert!(slope.abs() < 1e-5, "{prior:?}, noise: {slope:e}");
    }
}

#[test]
fn pure_noise_gives_an_empty_model_that_explains_itself() {
    let mut empty = 0;
    for seed in 0..20 {
        let mut random = Random::new(1000 + seed);
        let (x, y) = (random.normals(60 * 3), random.normals(60));
        let data = Dataset::new(DenseView::by_rows(&x, 60, 3).unwrap(), &y).unwrap();
        let model = SparseRegressor::new().fit(&data).unwrap();
        if model.n_terms() == 0 {
            empty += 1;
            assert!(model.report().notes[0].contains("no term is kept"));
            assert!(model.report().termination.is_converged());
        }
    }
    assert!(empty >= 10, "{empty} of 20");
}
