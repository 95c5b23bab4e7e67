//! The evidence of classes against finite differences, brute force and an independent reference.

use super::laplace::Laplace;
use super::mode::{Rows, find_mode};
use super::{FoundMode, Options, maximise_laplace};
use crate::data::DenseView;
use crate::design::{DenseColumns, Design};
use crate::engine::Silent;
use crate::likelihood::{Multinomial, Smooth};
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

#[test]
fn slopes_are_those_of_finite_differences() {
    for (seed, (classes, free, price)) in CASES.into_iter().enumerate() {
        let data = Data::new(seed as u64, classes);
        data.with(free, |rows| {
            let mut prior = Ard { price, as_published: false };
            let options = Options::default();
            let mut state =
                Laplace::new(rows, data.likelihood(), &mut prior, &options, &Silent).unwrap();
            let places: Vec<(usize, f64)> = (0..(classes - 1) * COLUMNS)
                .step_by(3)
                .map(|v| (v, 0.02 * (1.0 + v as f64 % 5.0)))
                .collect();
            let terms = state.with(&places);
            (state.at, state.value) = state.trial(terms.clone()).unwrap();
            let (gradient, _) = state.derivatives();
            for i in 0..places.len() {
                let h = 1e-4;
                let at = |state: &mut Laplace<'_>, shift: f64| {
                    let mut moved = terms.clone();
                    moved.alpha[i] *= shift.exp();
                    state.trial(moved).unwrap().1
                };
                let slope = (at(&mut state, h) - at(&mut state, -h)) / (2.0 * h);
                let error = (slope - gradient[i]).abs();
                assert!(error < 1e-6, "{classes} {free} {price}: {slope} {}", gradient[i]);
            }
        });
    }
}

/// A candidate is said to gain where, and only where, a small variance of its weight does.
#[test]
fn gains_have_the_right_sign() {
    let (mut rising, mut falling) = (0, 0);
    for (seed, (classes, free, price)) in CASES.into_iter().enumerate() {
        let data = Data::new(10 + seed as u64, classes);
        data.with(free, |rows| {
            let mut prior = Ard { price, as_published: false };
            let options = Options::default();
            let mut state =
                Laplace::new(rows, data.likelihood(), &mut prior, &options, &Silent).unwrap();
            let terms = state.with(&[(0, 0.01), ((classes - 2) * COLUMNS + 2, 0.03)]);
            (state.at, state.value) = state.trial(terms).unwrap();
            let all: Vec<usize> = (0..COLUMNS).collect();
            for v in 0..(classes - 1) * COLUMNS {
                if state.at.terms.places.contains(&v) {
                    continue;
                }
                let others = (0..(classes - 1) * COLUMNS).filter(|&u| u != v);
                state.closed = others.collect();
                let gain = state.look(&all, 0.0).unwrap().gain;
                let small = 1e-4;
                let terms = state.with(&[(v, 1.0 / small)]);
                let slope = (state.trial(terms).unwrap().1 - state.value) / small;
                if slope.abs() > 1e-3 {
                    assert_eq!(gain > 0.0, slope > 0.0, "{classes} {v}: {gain} {slope}");
                    if slope > 0.0 { rising += 1 } else { falling += 1 }
                }
            }
        });
    }
    assert!(rising > 3 && falling > 20, "{rising} {falling}");
}

#[test]
fn every_step_raises_the_objective_and_the_last_is_a_maximum() {
    for (seed, (classes, free, price)) in CASES.into_iter().enumerate() {
        let data = Data::new(20 + seed as u64, classes);
        data.with(free, |rows| {
            let mut prior = Ard { price, as_published: false };
            let options = Options::default();
            let FoundMode { found, .. } =
                maximise_laplace(rows, data.likelihood(), &mut prior, &options, &Silent).unwrap();
            assert!(found.termination.is_converged());
            for pair in found.trace.windows(2) {
                assert!(pair[1].objective <= pair[0].objective + 1e-9);
            }
            // No other variance of any weight does better.
            let mut prior = Ard { price, as_published: false };
            let mut state =
                Laplace::new(rows, data.likelihood(), &mut prior, &options, &Silent).unwrap();
            let kept: Vec<(usize, f64)> =
                found.active.iter().copied().zip(found.alpha.iter().copied()).collect();
            let terms = state.with(&kept);
            (state.at, state.value) = state.trial(terms).unwrap();
            assert!((state.value - found.objective).abs() < 1e-8);
            for v in 0..(classes - 1) * COLUMNS {
                let place = state.at.terms.places.binary_search(&v);
                for factor in [0.0, 0.7, 0.97, 1.03, 1.4] {
                    let terms = match (place, factor) {
                        (Ok(i), 0.0) => {
                            let mut terms = state.at.terms.clone();
                            terms.remove(i);
                            terms
                        }
                        (Ok(i), factor) => {
                            let mut terms = state.at.terms.clone();
                            terms.alpha[i] = (terms.alpha[i] * factor).max(state.lowest());
                            terms
                        }
                        (Err(_), 0.0) => continue,
                        (Err(_), factor) => state.with(&[(v, 100.0 * factor)]),
                    };
                    let value = state.trial(terms).unwrap().1;
                    assert!(value <= state.value + 1e-7, "{v} {factor}: {value} {}", state.value);
                }
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
