//! The evidence of classes against dense algebra and an independent reference.

use super::laplace::Laplace;
use super::mode::{Rows, find_mode};
use super::{FoundMode, Options, maximise_laplace};
use crate::data::DenseView;
use crate::design::{DenseColumns, Design};
use crate::engine::Silent;
use crate::likelihood::{Multinomial, Smooth};
use crate::linalg::{Cholesky, Matrix, dot};
use crate::prior::Ard;
use crate::random::uniform;

const ROWS: usize = 60;
const COLUMNS: usize = 8;

/// Columns of unit length after another, classes and weights.
struct Data {
    x: Vec<f64>,
    codes: Vec<usize>,
    weights: Vec<f64>,
    classes: usize,
}

impl Data {
    fn new(seed: u64, classes: usize) -> Self {
        let mut next = uniform(seed);
        let mut x: Vec<f64> = (0..ROWS * COLUMNS).map(|_| next() - 0.5).collect();
        let weights: Vec<f64> = (0..ROWS).map(|_| (3.0 * next()).floor()).collect();
        let score = |x: &[f64], i: usize| 4.0 * x[i] - 3.0 * x[ROWS + i] + 2.0 * x[2 * ROWS + i];
        let codes: Vec<usize> = (0..ROWS)
            .map(|i| {
                let level = score(&x, i) + 5.0 * (next() - 0.5) + 1.5;
                (level.max(0.0) * classes as f64 / 3.0).min(classes as f64 - 1.0) as usize
            })
            .collect();
        for column in x.chunks_mut(ROWS) {
            let length = column.iter().zip(&weights).map(|(x, w)| w * x * x).sum::<f64>().sqrt();
            column.iter_mut().for_each(|v| *v /= length);
        }
        Self { x, codes, weights, classes }
    }

    /// Gives `work` the rows.
    fn with<T>(&self, free_intercept: bool, work: impl FnOnce(&Rows<'_>) -> T) -> T {
        let view = DenseView::by_columns(&self.x, ROWS, COLUMNS).unwrap();
        let columns = DenseColumns::Borrowed(view);
        let units = (vec![0.0; COLUMNS], vec![1.0; COLUMNS]);
        let design = Design::new(&columns, Some(&self.weights), units.0, units.1);
        let usable: Vec<usize> = (0..COLUMNS).collect();
        work(&Rows {
            design: &design,
            usable: &usable,
            inverse_lengths: vec![1.0; COLUMNS],
            units: vec![1.0; COLUMNS],
            weight: self.weights.iter().sum(),
            free_intercept,
            uncounted: None,
        })
    }

    fn likelihood(&self) -> Box<dyn Smooth + '_> {
        let outputs = self.classes - 1;
        Box::new(Multinomial::new(&self.codes, self.classes, outputs, Some(&self.weights)))
    }
}

/// (classes, free intercept, price)
const CASES: [(usize, bool, f64); 5] =
    [(2, true, 0.0), (2, false, 0.7), (3, true, 0.0), (3, true, 1.3), (4, false, 0.0)];

/// The inverse of a positive definite matrix.
fn inverse(matrix: &Matrix) -> Matrix {
    let n = matrix.rows();
    let factor = Cholesky::new(matrix.clone(), &Silent).unwrap().unwrap();
    let mut out = Matrix::zeros(n, n);
    for j in 0..n {
        out[(j, j)] = 1.0;
        factor.solve(out.column_mut(j));
    }
    out
}

/// The gain of each candidate from S, Q and Z of dense matrices over rows and outputs.
fn dense_gains(data: &Data, state: &Laplace<'_>, free: bool, price: f64) -> Vec<f64> {
    let outputs = data.classes - 1;
    let all = ROWS * outputs;
    let column = |v: usize| {
        let mut out = vec![0.0; all];
        let x = &data.x[v % COLUMNS * ROWS..][..ROWS];
        out[v / COLUMNS * ROWS..][..ROWS].copy_from_slice(x);
        out
    };
    let mut likelihood = data.likelihood();
    likelihood.update(&state.at.eta);
    let b = |i: usize, j: usize| {
        let same = i % ROWS == j % ROWS;
        let of = |a, b| data.weights[i % ROWS] * likelihood.curvature(a, b)[i % ROWS];
        if same { of(i / ROWS, j / ROWS) } else { 0.0 }
    };
    let times = |v: &[f64]| -> Vec<f64> {
        (0..all)
            .map(|i| (0..outputs).map(|a| a * ROWS + i % ROWS).map(|j| b(i, j) * v[j]).sum())
            .collect()
    };
    let mut active: Vec<Vec<f64>> = state.at.terms.places.iter().map(|&v| column(v)).collect();
    let mut alpha = state.at.terms.alpha.clone();
    for a in (0..outputs).filter(|_| free) {
        let ones = (0..all).map(|i| f64::from(u8::from(i / ROWS == a)));
        active.push(ones.collect());
        alpha.push(0.0);
    }
    let k = active.len();
    let mut hessian = Matrix::zeros(k, k);
    for j in 0..k {
        let product = times(&active[j]);
        (0..k).for_each(|i| hessian[(i, j)] = dot(&active[i], &product));
        hessian[(j, j)] += alpha[j];
    }
    let sigma = inverse(&hessian);
    (0..outputs * COLUMNS)
        .map(|v| {
            let phi = column(v);
            let product = times(&phi);
            let p: Vec<f64> = active.iter().map(|f| dot(f, &product)).collect();
            let moved: Vec<f64> = (0..k).map(|i| dot(sigma.column(i), &p)).collect();
            let s = dot(&phi, &product) - dot(&p, &moved);
            let z = s - (0..k).map(|i| alpha[i] * moved[i] * moved[i]).sum::<f64>();
            let residual = likelihood.residual();
            let q: f64 = (0..all)
                .map(|i| data.weights[i % ROWS] * residual[(i % ROWS, i / ROWS)] * phi[i])
                .sum();
            let ratio = (q * q - 2.0 * price * z) / s;
            if ratio > 1.0 { 0.5 * (ratio - 1.0 - ratio.ln()) } else { 0.0 }
        })
        .collect()
}

#[test]
fn gains_are_those_of_dense_matrices() {
    let mut some = 0;
    for (seed, (classes, free, price)) in CASES.into_iter().enumerate() {
        let data = Data::new(10 + seed as u64, classes);
        data.with(free, |rows| {
            let mut prior = Ard { price, as_published: false };
            let options = Options::default();
            let mut state =
                Laplace::new(rows, data.likelihood(), &mut prior, &options, &Silent).unwrap();
            let terms = state.with(&[(0, 0.01), ((classes - 2) * COLUMNS + 2, 0.03)]);
            (state.at, state.value) = state.trial(terms).unwrap();
            let expected = dense_gains(&data, &state, free, price);
            let all: Vec<usize> = (0..COLUMNS).collect();
            let active = state.at.terms.places.clone();
            for v in (0..expected.len()).filter(|v| !active.contains(v)) {
                state.closed = (0..expected.len()).filter(|&u| u != v).collect();
                let gain = state.look(&all, 0.0).unwrap().gain;
                assert!((gain - expected[v]).abs() < 1e-9, "{v}: {gain} {}", expected[v]);
                some += usize::from(gain > 0.0);
            }
        });
    }
    assert!(some > 5, "{some}");
}

#[test]
fn the_evidence_only_grows_and_nothing_is_left_to_gain() {
    for (seed, (classes, free, price)) in CASES.into_iter().enumerate() {
        let data = Data::new(20 + seed as u64, classes);
        data.with(free, |rows| {
            let mut prior = Ard { price, as_published: false };
            let options = Options::default();
            let FoundMode { found, .. } =
                maximise_laplace(rows, data.likelihood(), &mut prior, &options, &Silent).unwrap();
            assert!(found.termination.is_converged());
            for pair in found.trace.windows(2) {
                assert!(pair[1].objective < pair[0].objective);
            }
            assert!(found.gain <= options.tol);
            // At the fixed point α = γ/(w² − 2c(Σ − ΣAΣ)).
            for (i, &alpha) in found.alpha.iter().enumerate().filter(|_| price == 0.0) {
                let gamma = 1.0 - alpha * found.covariance[(i, i)];
                let ratio = alpha * found.mean[i].powi(2) / gamma;
                assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
            }
        });
    }
}

#[test]
fn modes_of_separable_data_are_found() {
    let x: Vec<f64> = (0..ROWS).map(|i| i as f64 - 29.5).collect();
    let view = DenseView::by_columns(&x, ROWS, 1).unwrap();
    let columns = DenseColumns::Borrowed(view);
    let design = Design::new(&columns, None, vec![0.0], vec![1.0]);
    let codes: Vec<usize> = (0..ROWS).map(|i| usize::from(i < 30)).collect();
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let rows = Rows {
        design: &design,
        usable: &[0],
        inverse_lengths: vec![1.0 / length],
        units: vec![1.0],
        weight: ROWS as f64,
        free_intercept: true,
        uncounted: None,
    };
    for alpha in [1e-12, 1e-6, 1.0, 1e6] {
        let mut prior = Ard::default();
        let options = Options::default();
        let likelihood = Box::new(Multinomial::new(&codes, 2, 1, None));
        let mut state = Laplace::new(&rows, likelihood, &mut prior, &options, &Silent).unwrap();
        let mut terms = state.with(&[(0, alpha)]);
        terms.alpha[0] = alpha;
        // From far away as well.
        for start in [0.0, 1e3, -1e6] {
            terms.weights[0] = start;
            let mut likelihood = Multinomial::new(&codes, 2, 1, None);
            let mode =
                find_mode(&rows, &mut likelihood, terms.clone(), vec![0.0], &Silent).unwrap();
            let w = mode.terms.weights[0];
            let slope: f64 =
                (0..ROWS).map(|i| likelihood.residual()[(i, 0)] * x[i] / length).sum::<f64>()
                    - alpha * w;
            assert!(w.is_finite() && slope.abs() < 1e-8 * (1.0 + alpha * w), "{alpha} {start}");
        }
    }
}

/// The mode for given precisions, its covariance and the evidence there.
#[test]
fn the_mode_of_the_reference_is_found() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&read("classification.json")).unwrap();
    let expected = &expected["laplace_mode_check_gmm2"];
    let list = |name: &str| -> Vec<f64> {
        expected[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let text = read("gmm2_n100.csv");
    let rows: Vec<Vec<f64>> = (text.lines().skip(1))
        .map(|line| line.split(',').map(|v| v.parse().unwrap()).collect())
        .collect();
    // The first class has the output.
    let codes: Vec<usize> = rows.iter().map(|r| usize::from(r[2] < 0.5)).collect();
    let centres = list("indices0");
    let column = |&j: &f64| {
        let c = &rows[j as usize];
        let square = |r: &Vec<f64>| (r[0] - c[0]).powi(2) + (r[1] - c[1]).powi(2);
        rows.iter().map(move |r| (-square(r) / 0.64).exp()).collect::<Vec<f64>>()
    };
    let x: Vec<f64> = centres.iter().flat_map(column).collect();
    let columns = DenseColumns::Borrowed(DenseView::by_columns(&x, 100, 3).unwrap());
    let design = Design::new(&columns, None, vec![0.0; 3], vec![1.0; 3]);
    let rows = Rows {
        design: &design,
        usable: &[0, 1, 2],
        inverse_lengths: vec![1.0; 3],
        units: vec![1.0; 3],
        weight: 100.0,
        free_intercept: false,
        uncounted: None,
    };
    let (mut prior, options) = (Ard::default(), Options::default());
    let likelihood = Box::new(Multinomial::new(&codes, 2, 1, None));
    let mut state = Laplace::new(&rows, likelihood, &mut prior, &options, &Silent).unwrap();
    let kept: Vec<(usize, f64)> = list("alpha").into_iter().enumerate().collect();
    let terms = state.with(&kept);
    let (mode, value) = state.trial(terms).unwrap();
    for (i, (w, variance)) in list("w").iter().zip(list("Sigma_diag")).enumerate() {
        assert!((mode.terms.weights[i] / w - 1.0).abs() < 1e-7, "{i}");
        assert!((mode.posterior.sigma[(i, i)] / variance - 1.0).abs() < 1e-7, "{i}");
    }
    let evidence = expected["logml_laplace"].as_f64().unwrap();
    assert!((value / evidence - 1.0).abs() < 1e-9, "{value} {evidence}");
}
