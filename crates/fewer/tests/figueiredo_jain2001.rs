//! Figueiredo & Jain 2001: sparse probit classification by EM, against an independent reference
//! and theory.

mod support;

use fewer::basis::{Gamma, GammaRule, Landmarks};
use fewer::data::{Dataset, DenseView, SparseMatrix, Target};
use fewer::method::{
    BalancedRule, BasisKind, ClassWeight, Intercept, PriorKind, ProbitClassifier, SparseRegressor,
    Variant,
};
use fewer::model::Model;
use fewer::special::{inverse_mills, log_normal_cdf, mills_excess};
use serde_json::Value;
use support::{Problem, Random, distance, fixture, numbers};

fn list(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn reference_data() -> (Vec<f64>, usize, Vec<f64>) {
    let (h, rows) = numbers("probit_H.csv");
    let (y, _) = numbers("probit_y.csv");
    (h, rows, y)
}

fn fit_reference_data(method: ProbitClassifier) -> Model {
    let (h, rows, y) = reference_data();
    let x = DenseView::by_rows(&h, rows, h.len() / rows).unwrap();
    let target = Target::labels(y.iter().map(|&y| y as i64));
    method
        .standardize(false)
        .fit_intercept(Intercept::None)
        .fit(&Dataset::new(x, target).unwrap())
        .unwrap()
}

#[test]
fn agrees_with_the_reference() {
    let cases: Value = serde_json::from_str(&fixture("em_probit.json")).unwrap();
    let methods = [
        ("jeffreys_probit", ProbitClassifier::new()),
        ("probit_laplace_c4", ProbitClassifier::new().prior(PriorKind::Laplace).lam(4.0)),
        ("probit_gaussian_c2", ProbitClassifier::new().prior(PriorKind::Gaussian).lam(2.0)),
    ];
    for (case, method) in methods {
        let model = fit_reference_data(method.tol(1e-11));
        let worst = distance(&model.coefficients(), &list(&cases[case]["beta"]));
        assert!(worst < 1e-7, "{case}: {worst:e}");
        let objective = cases[case]["objective"].as_f64().unwrap();
        assert!((model.report().objective / objective - 1.0).abs() < 1e-9, "{case}");
        assert!(model.report().certificate.value <= 1e-11, "{case}");
    }
}

/// Two overlapping classes of points in the plane, and the labels.
fn clouds(seed: u64, rows: usize, gap: f64) -> (Vec<f64>, Vec<i64>) {
    let mut random = Random::new(seed);
    let labels: Vec<i64> = (0..rows as i64).map(|i| i % 2).collect();
    let x = labels
        .iter()
        .flat_map(|&l| {
            let bend = random.normal();
            [gap * l as f64 + 0.6 * random.normal(), bend * bend * 0.3 + 0.5 * random.normal()]
        })
        .collect();
    (x, labels)
}

fn kernel_fit(method: ProbitClassifier, x: &[f64], labels: &[i64]) -> Model {
    let view = DenseView::by_rows(x, labels.len(), 2).unwrap();
    method.fit(&Dataset::new(view, Target::labels(labels.iter().copied())).unwrap()).unwrap()
}

/// Columns of the kept terms at the training rows.
fn kept_columns(model: &Model, x: &[f64]) -> Vec<Vec<f64>> {
    let kernel = model.kernel().unwrap();
    (0..model.n_terms())
        .map(|k| {
            let c = kernel.centre(k);
            x.chunks(2)
                .map(|p| {
                    let d = (p[0] - c[0]).powi(2) + (p[1] - c[1]).powi(2);
                    (-kernel.gamma().unwrap() * d).exp()
                })
                .collect()
        })
        .collect()
}

#[test]
fn kernel_fits_end_at_local_minima() {
    for seed in 0..10 {
        let (x, labels) = clouds(seed, 120, 1.5);
        let method = ProbitClassifier::new()
            .basis(BasisKind::Rbf)
            .gamma(Gamma::Number(0.8))
            .standardize(false)
            .tol(1e-9);
        let model = kernel_fit(method, &x, &labels);
        assert!(model.report().termination.is_converged(), "{:?}", model.report().notes);
        assert!((1..30).contains(&model.n_terms()), "{} terms", model.n_terms());
        let columns = kept_columns(&model, &x);
        let weights: Vec<f64> = model.terms().iter().map(|t| t.weight()).collect();
        let base = model.intercept();
        let sign = |l: i64| if l == 1 { 1.0 } else { -1.0 };
        let eta = |w: &[f64], b: f64| -> Vec<f64> {
            (0..labels.len())
                .map(|i| b + columns.iter().zip(w).map(|(c, w)| c[i] * w).sum::<f64>())
                .collect()
        };
        let objective = |w: &[f64], b: f64| {
            let likelihood: f64 =
                eta(w, b).iter().zip(&labels).map(|(e, &l)| -log_normal_cdf(sign(l) * e)).sum();
            likelihood + w.iter().map(|w| w.abs().ln()).sum::<f64>()
        };
        let value = objective(&weights, base);
        assert!((value - model.report().objective).abs() < 1e-8 * value.abs().max(1.0));
        // Stationary: Hⱼᵀ(u − v) + 1/βⱼ = 0, by finite differences as well.
        let h = 1e-6;
        for k in 0..weights.len() {
            let (mut up, mut down) = (weights.clone(), weights.clone());
            up[k] += h * weights[k].abs();
            down[k] -= h * weights[k].abs();
            let slope = (objective(&up, base) - objective(&down, base)) / (2.0 * h);
            assert!(slope.abs() < 1e-5, "seed {seed}, term {k}: {slope:e}");
        }
        // Minimal: the second derivative along every pair of directions is positive definite.
        let e = eta(&weights, base);
        let curvature: Vec<f64> = e
            .iter()
            .zip(&labels)
            .map(|(e, &l)| inverse_mills(sign(l) * e) * mills_excess(sign(l) * e))
            .collect();
        let mut all = columns.clone();
        all.push(vec![1.0; labels.len()]);
        let k = all.len();
        let mut m = vec![vec![0.0; k]; k];
        for a in 0..k {
            for b in 0..k {
                m[a][b] = (0..labels.len()).map(|i| curvature[i] * all[a][i] * all[b][i]).sum();
            }
            if a < k - 1 {
                m[a][a] -= weights[a].powi(-2);
            }
        }
        // Gaussian elimination: positive pivots.
        for p in 0..k {
            assert!(m[p][p] > 0.0, "seed {seed}: not a minimum");
            for a in p + 1..k {
                let f = m[a][p] / m[p][p];
                for b in p..k {
                    m[a][b] -= f * m[p][b];
                }
            }
        }
    }
}

#[test]
fn the_objective_falls_between_prunings() {
    for seed in 0..6 {
        for prior in [PriorKind::Jeffreys, PriorKind::Laplace, PriorKind::Gaussian] {
            let (x, labels) = clouds(seed, 80, 1.5);
            let model =
                kernel_fit(ProbitClassifier::new().basis(BasisKind::Rbf).prior(prior), &x, &labels);
            for pair in model.report().trace.windows(2) {
                let rise = pair[1].objective - pair[0].objective;
                assert!(
                    pair[1].terms != pair[0].terms || rise <= 1e-9 * pair[0].objective.abs(),
                    "seed {seed}, {prior:?}: {pair:?}"
                );
            }
        }
    }
}

#[test]
fn acceleration_ends_where_em_does() {
    let (mut compared, mut equal) = (0, 0);
    for seed in 0..20 {
        let (x, labels) = clouds(seed, 100, 1.2);
        let method = ProbitClassifier::new().basis(BasisKind::Rbf).tol(1e-7).max_iter(100_000);
        let quick = kernel_fit(method.clone(), &x, &labels);
        let slow = kernel_fit(method.without_acceleration(), &x, &labels);
        if slow.report().termination.is_converged() {
            compared += 1;
            let size = slow.coefficients().iter().fold(0.0, |a: f64, w| a.max(w.abs()));
            equal +=
                usize::from(distance(&quick.coefficients(), &slow.coefficients()) < 1e-3 * size);
        }
    }
    assert!(compared >= 18 && equal == compared, "{equal} of {compared}");
}

#[test]
fn every_kernel_is_what_its_formula_says() {
    let x: [f64; 6] = [0.3, -1.0, 2.0, 0.5, -0.7, 1.1];
    let gamma = 0.4;
    let distance2 =
        |a: usize, b: usize| -> f64 { (0..2).map(|j| (x[2 * a + j] - x[2 * b + j]).powi(2)).sum() };
    let distance1 =
        |a: usize, b: usize| -> f64 { (0..2).map(|j| (x[2 * a + j] - x[2 * b + j]).abs()).sum() };
    let product = |a: usize, b: usize| x[2 * a] * x[2 * b] + x[2 * a + 1] * x[2 * b + 1];
    let value = |kind: BasisKind, a: usize, b: usize| {
        let r = (2.0 * gamma * distance2(a, b)).sqrt();
        match kind {
            BasisKind::Rbf => (-gamma * distance2(a, b)).exp(),
            BasisKind::Laplacian => (-gamma * distance1(a, b)).exp(),
            BasisKind::Matern32 => (1.0 + 3f64.sqrt() * r) * (-3f64.sqrt() * r).exp(),
            BasisKind::Matern52 => {
                (1.0 + 5f64.sqrt() * r + 5.0 / 3.0 * r * r) * (-5f64.sqrt() * r).exp()
            }
            BasisKind::PolynomialKernel => (gamma * product(a, b) + 0.5).powi(3),
            _ => product(a, b),
        }
    };
    let y = [1.0, -2.0, 0.5];
    let sparse = SparseMatrix::from_rows(3, 2, &[0, 2, 4, 6], &[0, 1, 0, 1, 0, 1], &x).unwrap();
    for kind in [
        BasisKind::Rbf,
        BasisKind::Laplacian,
        BasisKind::Matern32,
        BasisKind::Matern52,
        BasisKind::PolynomialKernel,
        BasisKind::LinearKernel,
    ] {
        // Gaussian prior: all terms stay, so the prediction shows every kernel value.
        let method = SparseRegressor::new()
            .basis(kind)
            .gamma(Gamma::Number(gamma))
            .coef0(0.5)
            .degree(3)
            .standardize(false)
            .fit_intercept(Intercept::None)
            .prior(PriorKind::Gaussian)
            .lam(0.3)
            .noise(1.0);
        let view = DenseView::by_rows(&x, 3, 2).unwrap();
        for model in [
            method.fit(&Dataset::new(view, &y).unwrap()).unwrap(),
            method.fit(&Dataset::new(sparse.view(), &y).unwrap()).unwrap(),
        ] {
            let w = model.coefficients();
            let expected: Vec<f64> =
                (0..3).map(|a| (0..3).map(|b| w[b] * value(kind, a, b)).sum()).collect();
            assert!(distance(&model.predict(view).unwrap(), &expected) < 1e-10, "{kind:?}");
            assert!(distance(&model.predict(sparse.view()).unwrap(), &expected) < 1e-10);
            // And the weights solve the ridge problem (KᵀK + λI)w = Kᵀy.
            for j in 0..3 {
                let mut gradient = 0.3 * w[j];
                for i in 0..3 {
                    gradient -= value(kind, i, j) * (y[i] - expected[i]);
                }
                assert!(gradient.abs() < 1e-8, "{kind:?}: {gradient:e}");
            }
        }
    }
}

#[test]
fn kernels_on_demand_equal_kernels_in_memory() {
    let p = Problem::linear(4, 150, 9, 3, 0.3);
    for kind in [BasisKind::Rbf, BasisKind::Laplacian] {
        let method = SparseRegressor::new().basis(kind).candidates(40, Landmarks::Kmeans).tol(1e-9);
        let held = method.fit(&p.data()).unwrap();
        // Room for the equations, not for the kernel matrix.
        let on_demand = method.clone().memory_limit(1.6e5).fit(&p.data()).unwrap();
        assert_eq!(held.coefficients(), on_demand.coefficients());
    }
    let error = SparseRegressor::new()
        .basis(BasisKind::Rbf)
        .memory_limit(1e5)
        .fit(&p.data())
        .unwrap_err()
        .to_string();
    assert!(error.contains("candidates"), "{error}");
}

#[test]
fn landmarks_given_centres_and_duplicates() {
    let (mut x, mut labels) = clouds(1, 60, 1.5);
    x.extend_from_within(..20);
    labels.extend_from_within(..10);
    let method = ProbitClassifier::new().basis(BasisKind::Rbf);
    let all = kernel_fit(method.clone(), &x, &labels);
    assert_eq!(all.basis_size(), 60, "centres are the distinct rows");
    for how in [Landmarks::Kmeans, Landmarks::Random] {
        let some = kernel_fit(method.clone().candidates(12, how), &x, &labels);
        assert_eq!(some.basis_size(), 12);
        let again = kernel_fit(method.clone().candidates(12, how), &x, &labels);
        assert_eq!(some.coefficients(), again.coefficients());
        let other = kernel_fit(method.clone().candidates(12, how).random_state(7), &x, &labels);
        assert_eq!(other.basis_size(), 12);
    }
    let given = vec![vec![0.0, 0.0], vec![1.5, 0.5]];
    let few = kernel_fit(method.clone().centres(given.clone()), &x, &labels);
    assert_eq!(few.basis_size(), 2);
    assert!((0..few.n_terms()).all(|k| given.contains(&few.kernel().unwrap().centre(k))));
    let median = kernel_fit(method.gamma(Gamma::Rule(GammaRule::Median)), &x, &labels);
    assert!(median.kernel().unwrap().gamma().unwrap() > 0.0);
}

#[test]
fn precomputed_kernels_equal_computed_ones() {
    let (x, labels) = clouds(2, 50, 1.5);
    let gamma = 0.7;
    let k: Vec<f64> = (0..2500)
        .map(|e| {
            let (a, b) = (e / 50, e % 50);
            let d = (x[2 * a] - x[2 * b]).powi(2) + (x[2 * a + 1] - x[2 * b + 1]).powi(2);
            (-gamma * d).exp()
        })
        .collect();
    let method = ProbitClassifier::new().gamma(Gamma::Number(gamma)).standardize(false);
    let computed = kernel_fit(method.clone().basis(BasisKind::Rbf), &x, &labels);
    let data = Dataset::new(
        DenseView::by_rows(&k, 50, 50).unwrap(),
        Target::labels(labels.iter().copied()),
    );
    let given = method.basis(BasisKind::Precomputed).fit(&data.unwrap()).unwrap();
    let size = computed.coefficients().iter().fold(0.0, |a: f64, w| a.max(w.abs()));
    assert!(distance(&computed.coefficients(), &given.coefficients()) < 1e-6 * size);
}

#[test]
fn degenerate_classes() {
    let p = Problem::linear(1, 40, 3, 2, 0.2);
    let fit = |labels: Vec<i64>, method: ProbitClassifier| {
        method.fit(&Dataset::new(p.view(), Target::labels(labels)).unwrap())
    };
    let message = fit(vec![4; 40], ProbitClassifier::new()).unwrap_err().to_string();
    assert!(message.contains("'4'; at least 2 classes are needed"), "{message}");
    for basis in [BasisKind::Linear, BasisKind::Rbf] {
        let method = ProbitClassifier::new().basis(basis);
        // A class with one row.
        let mut one = vec![0; 40];
        one[7] = 1;
        let model = fit(one, method.clone()).unwrap();
        let probability = model.predict_probabilities(p.view()).unwrap();
        assert!(probability.as_slice().iter().all(|p| (0.0..=1.0).contains(p)));
        // Separable classes.
        let split = (0..40).map(|i| i64::from(p.x[3 * i] > 0.0)).collect::<Vec<_>>();
        let model = fit(split.clone(), method.clone()).unwrap();
        let wrong = model
            .predict_codes(p.view())
            .unwrap()
            .iter()
            .zip(&split)
            .filter(|(a, b)| **a != **b as usize)
            .count();
        assert!(wrong <= 3, "{basis:?}: {wrong}");
        // Every row a class of its own.
        let model = fit((0..40).collect(), method.clone()).unwrap();
        assert_eq!(model.outputs(), 40);
        let probability = model.predict_probabilities(p.view()).unwrap();
        for i in 0..40 {
            let total: f64 = (0..40).map(|k| probability[(i, k)]).sum();
            assert!((total - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn a_hundred_classes() {
    let mut random = Random::new(3);
    let labels: Vec<i64> = (0..400).map(|i| i % 100).collect();
    let x: Vec<f64> = labels
        .iter()
        .flat_map(|&l| {
            [(l / 10) as f64 + 0.1 * random.normal(), (l % 10) as f64 + 0.1 * random.normal()]
        })
        .collect();
    let model = kernel_fit(
        ProbitClassifier::new().basis(BasisKind::Rbf).gamma(Gamma::Number(20.0)),
        &x,
        &labels,
    );
    let codes = model.predict_codes(DenseView::by_rows(&x, 400, 2).unwrap()).unwrap();
    let wrong = codes.iter().zip(&labels).filter(|(a, b)| **a != **b as usize).count();
    assert!(wrong < 20, "{wrong} of 400");
}

#[test]
fn widths_at_both_ends() {
    let (x, labels) = clouds(5, 50, 2.0);
    for gamma in [1e-12, 1e-6, 1e6, 1e12] {
        for prior in [PriorKind::Jeffreys, PriorKind::Laplace, PriorKind::Gaussian] {
            let method = ProbitClassifier::new().basis(BasisKind::Rbf).prior(prior);
            let model = kernel_fit(method.gamma(Gamma::Number(gamma)), &x, &labels);
            let p = model.predict_probabilities(DenseView::by_rows(&x, 50, 2).unwrap()).unwrap();
            assert!(p.as_slice().iter().all(|p| (0.0..=1.0).contains(p)), "γ = {gamma}");
            if model.n_terms() == 0 {
                assert!(!model.report().notes.is_empty());
            }
        }
    }
}

#[test]
fn class_weights_are_row_weights() {
    let (x, labels) = clouds(6, 80, 1.0);
    let labels: Vec<i64> = labels
        .iter()
        .enumerate()
        .map(|(i, &l)| if i % 4 == 1 { 1 } else { l * (i % 3 == 0) as i64 })
        .collect();
    let ones = labels.iter().sum::<i64>() as f64;
    let weights = [80.0 / (2.0 * (80.0 - ones)), 80.0 / (2.0 * ones)];
    let balanced = kernel_fit(
        ProbitClassifier::new().class_weight(ClassWeight::Rule(BalancedRule::Balanced)),
        &x,
        &labels,
    );
    let given = kernel_fit(
        ProbitClassifier::new().class_weight(ClassWeight::Given(weights.to_vec())),
        &x,
        &labels,
    );
    let view = DenseView::by_rows(&x, 80, 2).unwrap();
    let rows: Vec<f64> = labels.iter().map(|&l| weights[l as usize]).collect();
    let data = Dataset::new(view, Target::labels(labels.iter().copied())).unwrap();
    let by_rows = ProbitClassifier::new().fit(&data.with_weights(rows).unwrap()).unwrap();
    assert!(distance(&balanced.coefficients(), &given.coefficients()) < 1e-12);
    assert!(distance(&balanced.coefficients(), &by_rows.coefficients()) < 1e-12);
}

#[test]
fn the_paper_variant_starts_and_stops_as_published() {
    let model = fit_reference_data(ProbitClassifier::new().variant(Variant::Paper));
    let exact = fit_reference_data(ProbitClassifier::new());
    assert!(model.report().iterations < 100);
    assert!(distance(&model.coefficients(), &exact.coefficients()) < 0.05);
}
