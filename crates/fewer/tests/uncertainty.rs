//! How sure classifiers are of their weights: Laplace's approximation, against second derivatives
//! by differences, theory and simulation.

mod support;

use fewer::data::{Dataset, DenseView, SparseMatrix, Target};
use fewer::method::{BasisKind, Intercept, Parameterization, SMLR};
use fewer::model::Model;
use support::{Problem, Random, distance};

fn labels(p: &Problem, classes: usize) -> Vec<i64> {
    let mut random = Random::new(77);
    p.y.iter()
        .map(|y| (((y + random.normal()) * 0.5).floor() as i64).rem_euclid(classes as i64))
        .collect()
}

/// The inverse of a symmetric positive-definite matrix, row after row.
fn inverse(mut m: Vec<f64>, n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    (0..n).for_each(|k| out[k * n + k] = 1.0);
    for k in 0..n {
        let pivot = m[k * n + k];
        for j in 0..n {
            m[k * n + j] /= pivot;
            out[k * n + j] /= pivot;
        }
        for i in (0..n).filter(|i| *i != k) {
            let factor = m[i * n + k];
            for j in 0..n {
                m[i * n + j] -= factor * m[k * n + j];
                out[i * n + j] -= factor * out[k * n + j];
            }
        }
    }
    out
}

/// The smooth part of the objective at (intercept, weights) of each free class.
struct Objective<'a> {
    p: &'a Problem,
    codes: Vec<usize>,
    weights: &'a [f64],
    /// For each parameter: its class (of those with a function), its column or the intercept, and
    /// its ridge.
    parameters: Vec<(usize, Option<usize>, f64)>,
    classes: usize,
}

impl Objective<'_> {
    fn gradient(&self, theta: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = self.parameters.iter().zip(theta).map(|(p, t)| p.2 * t).collect();
        for (i, row) in self.p.x.chunks(self.p.columns).enumerate() {
            let value = |p: &(usize, Option<usize>, f64)| p.1.map_or(1.0, |j| row[j]);
            let mut eta = vec![0.0; self.classes];
            self.parameters.iter().zip(theta).for_each(|(p, t)| eta[p.0] += t * value(p));
            let total: f64 = eta.iter().map(|e| e.exp()).sum();
            for (o, p) in out.iter_mut().zip(&self.parameters) {
                let hit = f64::from(u8::from(self.codes[i] == p.0));
                *o += self.weights[i] * (eta[p.0].exp() / total - hit) * value(p);
            }
        }
        out
    }

    fn covariance(&self, theta: &[f64]) -> Vec<f64> {
        inverse(self.hessian(theta), theta.len())
    }

    fn hessian(&self, theta: &[f64]) -> Vec<f64> {
        let k = theta.len();
        let mut hessian = vec![0.0; k * k];
        for a in 0..k {
            let step = 1e-5 * theta[a].abs().max(0.1);
            let at = |sign: f64| {
                let mut moved = theta.to_vec();
                moved[a] += sign * step;
                self.gradient(&moved)
            };
            let (up, down) = (at(1.0), at(-1.0));
            (0..k).for_each(|b| hessian[a * k + b] = (up[b] - down[b]) / (2.0 * step));
        }
        hessian
    }

    /// The covariance of parameters of which those of an intercept, or of a column without a
    /// ridge, sum to what they sum to: that of the others, from which each last one follows.
    fn covariance_of_fixed_sums(&self, theta: &[f64]) -> Vec<f64> {
        let k = theta.len();
        let of = |column| (0..k).filter(move |&a| self.parameters[a].1 == column);
        let last = |a: usize| {
            let (_, column, ridge) = self.parameters[a];
            let shared = of(column).count() == self.classes && ridge == 0.0;
            of(column).next_back().filter(|_| shared)
        };
        let free: Vec<usize> = (0..k).filter(|&a| last(a) != Some(a)).collect();
        // Each parameter by the free ones.
        let part = |a: usize, f: usize| match () {
            _ if a == f => 1.0,
            _ if last(f) == Some(a) => -1.0,
            _ => 0.0,
        };
        let (hessian, m) = (self.hessian(theta), free.len());
        let mut reduced = vec![0.0; m * m];
        for (i, &f) in free.iter().enumerate() {
            for (j, &g) in free.iter().enumerate() {
                for a in 0..k {
                    for b in 0..k {
                        reduced[i * m + j] += part(a, f) * hessian[a * k + b] * part(b, g);
                    }
                }
            }
        }
        let inner = inverse(reduced, m);
        let mut out = vec![0.0; k * k];
        for a in 0..k {
            for b in 0..k {
                for (i, &f) in free.iter().enumerate() {
                    for (j, &g) in free.iter().enumerate() {
                        out[a * k + b] += part(a, f) * inner[i * m + j] * part(b, g);
                    }
                }
            }
        }
        out
    }
}

#[test]
fn covariances_are_those_of_differences() {
    for classes in [2, 3] {
        for (l1_ratio, lam, standardize, intercept) in [
            (1.0, 2.0, false, Intercept::Free),
            (1.0, 2.0, true, Intercept::Free),
            (0.3, 3.0, false, Intercept::Free),
            (0.0, 1.0, false, Intercept::None),
            (0.0, 5.0, true, Intercept::Free),
            (1.0, 0.0, false, Intercept::Free),
        ] {
            let p = Problem::linear(5, 160, 6, 3, 1.0);
            let given = labels(&p, classes);
            let mut random = Random::new(3);
            let weights: Vec<f64> = (0..p.rows).map(|_| (3.0 * random.uniform()).floor()).collect();
            let data = Dataset::new(p.view(), Target::labels(given.clone())).unwrap();
            let data = data.with_weights(&weights).unwrap();
            let model = SMLR::new()
                .lam(lam)
                .l1_ratio(l1_ratio)
                .standardize(standardize)
                .fit_intercept(intercept)
                .uncertainty(true)
                .tol(1e-13)
                .fit(&data)
                .unwrap();
            let posterior = model.posterior().unwrap();
            // Two classes are told by the function of the second: its class comes first here.
            let codes: Vec<usize> = given
                .iter()
                .map(|&c| if classes == 2 { 1 - c as usize } else { c as usize })
                .collect();
            let total: f64 = weights.iter().sum();
            let variance = |j: usize| {
                let values = || p.x.iter().skip(j).step_by(p.columns).zip(&weights);
                let mean = values().map(|(x, w)| w * x).sum::<f64>() / total;
                values().map(|(x, w)| w * (x - mean).powi(2)).sum::<f64>() / total
            };
            let ridge =
                |j: usize| lam * (1.0 - l1_ratio) * if standardize { variance(j) } else { 1.0 };
            let parameter = |q: &fewer::model::Parameter| match q.term {
                None => (q.output, None, 0.0),
                Some(t) => {
                    let j = model.terms()[t].index;
                    (q.output, Some(j), ridge(j))
                }
            };
            let parameters: Vec<_> = posterior.parameters().iter().map(parameter).collect();
            let theta: Vec<f64> = posterior
                .parameters()
                .iter()
                .map(|q| match q.term {
                    None => model.intercept_of(q.output),
                    Some(t) => model.terms()[t].weights[q.output],
                })
                .collect();
            assert!(theta.iter().all(|t| *t != 0.0));
            let objective = Objective { p: &p, codes, weights: &weights, parameters, classes };
            let expected = objective.covariance(&theta);
            let found = model.covariance().unwrap();
            let largest = expected.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
            let off = distance(found.as_slice(), &expected);
            assert!(
                off < 1e-7 * largest,
                "{classes} {l1_ratio} {standardize}: {off:e} {largest:e}"
            );
        }
    }
}

#[test]
fn sparse_kernel_and_penalised_models_have_them() {
    let p = Problem::linear(8, 120, 5, 3, 1.0);
    let given = labels(&p, 3);
    let dense = Dataset::new(p.view(), Target::labels(given.clone())).unwrap();
    let method = SMLR::new().lam(1.0).uncertainty(true).tol(1e-12);
    let model = method.fit(&dense).unwrap();
    let starts: Vec<usize> = (0..=p.columns).map(|j| j * p.rows).collect();
    let indices = (0..p.columns).flat_map(|_| 0..p.rows).collect();
    let matrix = SparseMatrix::new(p.rows, p.columns, starts, indices, p.by_columns()).unwrap();
    let sparse = Dataset::new(matrix.view(), Target::labels(given)).unwrap();
    let other = method.fit(&sparse).unwrap();
    let (a, b) = (model.covariance().unwrap(), other.covariance().unwrap());
    assert!(distance(a.as_slice(), b.as_slice()) < 1e-6);
    for method in [
        method.clone().basis(BasisKind::Rbf),
        method.clone().basis(BasisKind::Polynomial),
        method.clone().fit_intercept(Intercept::Penalised),
        method.clone().lam(1e6),
    ] {
        let model = method.fit(&dense).unwrap();
        assert!(model.posterior().is_some());
        for probabilities in [
            model.moderated_probabilities(p.view()).unwrap(),
            model.predict_probabilities(p.view()).unwrap(),
        ] {
            assert!(probabilities.as_slice().iter().all(|p| (0.0..=1.0).contains(p)));
        }
        let again = Model::from_json(&model.to_json().unwrap()).unwrap();
        assert_eq!(again.posterior(), model.posterior());
    }
}

#[test]
fn rescaling_columns_rescales_standard_errors() {
    let p = Problem::linear(2, 150, 5, 3, 1.0);
    let given = labels(&p, 3);
    let factors = [1e-6, 1.0, 1e5, -3.0, 0.1];
    let x: Vec<f64> =
        p.x.iter().enumerate().map(|(k, v)| v * factors[k % 5] + factors[k % 5]).collect();
    let scaled = DenseView::by_rows(&x, p.rows, p.columns).unwrap();
    let fit = |view: DenseView<'_>| {
        let data = Dataset::new(view, Target::labels(given.clone())).unwrap();
        SMLR::new().lam_ratio(0.1).uncertainty(true).tol(1e-13).fit(&data).unwrap()
    };
    let (a, b) = (fit(p.view()), fit(scaled));
    let (errors, others) = (a.standard_errors().unwrap(), b.standard_errors().unwrap());
    for (t, term) in a.terms().iter().enumerate() {
        for k in 0..3 {
            match (errors[t][k], others[t][k]) {
                (Some(e), Some(o)) => {
                    assert!((o * factors[term.index].abs() / e - 1.0).abs() < 1e-5, "{t} {k}")
                }
                (e, o) => assert!(e.is_none() && o.is_none()),
            }
        }
    }
    let (v, w) = (a.output_variance(p.view()).unwrap(), b.output_variance(scaled).unwrap());
    let largest = v.as_slice().iter().fold(0.0, |a: f64, v| a.max(*v));
    assert!(distance(v.as_slice(), w.as_slice()) < 1e-5 * largest);
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let truth = [0.8, -0.5, 0.0, 0.3];
    let (rows, runs) = (400, 300);
    let mut held = 0;
    for run in 0..runs {
        let mut random = Random::new(1000 + run);
        let x = random.normals(rows * 4);
        let label = |row: &[f64]| {
            let eta: f64 = 0.2 + row.iter().zip(&truth).map(|(x, w)| x * w).sum::<f64>();
            i64::from(random.uniform() < 1.0 / (1.0 + (-eta).exp()))
        };
        let given: Vec<i64> = x.chunks(4).map(label).collect();
        let view = DenseView::by_rows(&x, rows, 4).unwrap();
        let data = Dataset::new(view, Target::labels(given)).unwrap();
        let model = SMLR::new().lam(0.0).uncertainty(true).fit(&data).unwrap();
        let intervals = model.credible_intervals(0.9).unwrap();
        for (term, interval) in model.terms().iter().zip(&intervals) {
            let (low, high) = interval[0].unwrap();
            held += usize::from((low..=high).contains(&truth[term.index]));
        }
    }
    // 1200 intervals, of which those of one run hardly correlate.
    let part = held as f64 / (4 * runs) as f64;
    assert!((part - 0.9).abs() < 0.03, "{part}");
}

#[test]
fn moderated_probabilities_are_less_extreme_and_better_with_few_rows() {
    let (mut plain, mut moderated) = (0.0, 0.0);
    for run in 0..40 {
        let mut random = Random::new(run);
        let draw = |random: &mut Random, rows: usize| {
            let x = random.normals(rows * 4);
            let codes: Vec<usize> = x
                .chunks(4)
                .map(|x| {
                    let eta = 1.5 * x[0] - x[1];
                    usize::from(random.uniform() < 1.0 / (1.0 + (-eta).exp()))
                })
                .collect();
            (x, codes)
        };
        let (x, codes) = draw(&mut random, 30);
        let view = DenseView::by_rows(&x, 30, 4).unwrap();
        let data = Dataset::new(view, Target::labels(codes.iter().map(|&c| c as i64))).unwrap();
        let model = SMLR::new().lam(0.3).uncertainty(true).fit(&data).unwrap();
        let (new, codes) = draw(&mut random, 500);
        let new = DenseView::by_rows(&new, 500, 4).unwrap();
        let (a, b) = (
            model.predict_probabilities(new).unwrap(),
            model.moderated_probabilities(new).unwrap(),
        );
        for (i, &c) in codes.iter().enumerate() {
            assert!((b[(i, 1)] - 0.5).abs() <= (a[(i, 1)] - 0.5).abs() + 1e-12);
            plain -= a[(i, c)].ln();
            moderated -= b[(i, c)].ln();
        }
    }
    assert!(moderated < 0.95 * plain, "{moderated} {plain}");
}

#[test]
fn what_cannot_be_told_is_said() {
    // Two columns that say the same, without a penalty.
    let p = Problem::linear(4, 80, 2, 2, 1.0);
    let x: Vec<f64> = p.x.chunks(2).flat_map(|r| [r[0], r[1], r[0] + r[1]]).collect();
    let view = DenseView::by_rows(&x, 80, 3).unwrap();
    let given = labels(&p, 2);
    let data = Dataset::new(view, Target::labels(given)).unwrap();
    let model = SMLR::new().lam(0.0).l1_ratio(0.0).uncertainty(true).fit(&data).unwrap();
    if model.n_terms() == 3 {
        assert!(model.posterior().is_none());
        assert!(model.report().notes.iter().any(|n| n.contains("no standard errors")));
    }
    let plain = SMLR::new().lam(1.0).fit(&data).unwrap();
    let error = plain.moderated_probabilities(view).unwrap_err().to_string();
    assert!(error.contains("uncertainty = true"), "{error}");
    let error = plain.predict_std(view).unwrap_err().to_string();
    assert!(error.contains("classes"), "{error}");
    let path = SMLR::new().uncertainty(true).path(&data, Some(&[2.0, 1.0])).unwrap();
    assert!(path.iter().all(|m| m.posterior().is_none()));
    // Classes told apart without error: whatever comes is finite.
    let easy: Vec<i64> = x.chunks(3).map(|r| i64::from(r[0] > 0.0)).collect();
    let data = Dataset::new(view, Target::labels(easy)).unwrap();
    let model = SMLR::new().lam(0.0).max_iter(50).uncertainty(true).fit(&data).unwrap();
    if let Some(covariance) = model.covariance() {
        assert!(covariance.as_slice().iter().all(|v| v.is_finite()));
    }
    let small = SMLR::new().lam(0.0).memory_limit(100.0).uncertainty(true).fit(&data);
    assert!(small.unwrap_err().to_string().contains("memory_limit"));
}

#[test]
fn shifts_of_all_classes_have_no_variance() {
    for (l1_ratio, lam) in [(0.0, 2.0), (0.0, 0.0), (0.5, 2.0), (1.0, 4.0)] {
        let mut p = Problem::linear(5, 160, 4, 3, 1.0);
        p.x.iter_mut().for_each(|v| *v += 1.5);
        let given = labels(&p, 3);
        let data = Dataset::new(p.view(), Target::labels(given.clone())).unwrap();
        let method = SMLR::new().lam(lam).l1_ratio(l1_ratio).standardize(false).uncertainty(true);
        let fit = |which| method.clone().parameterization(which).tol(1e-13).fit(&data).unwrap();
        let model = fit(Parameterization::Symmetric);
        let parameters = model.posterior().unwrap().parameters();
        let theta = parameters.iter().map(|q| match q.term {
            None => model.intercept_of(q.output),
            Some(t) => model.terms()[t].weights[q.output],
        });
        let theta: Vec<f64> = theta.collect();
        let parameter = |q: &fewer::model::Parameter| match q.term {
            None => (q.output, None, 0.0),
            Some(t) => (q.output, Some(model.terms()[t].index), lam * (1.0 - l1_ratio)),
        };
        let objective = Objective {
            p: &p,
            codes: given.iter().map(|&c| c as usize).collect(),
            weights: &vec![1.0; p.rows],
            parameters: parameters.iter().map(parameter).collect(),
            classes: 3,
        };
        let expected = objective.covariance_of_fixed_sums(&theta);
        let found = model.covariance().unwrap();
        let largest = expected.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
        let off = distance(found.as_slice(), &expected);
        assert!(off < 1e-6 * largest, "{l1_ratio} {lam}: {off:e} {largest:e}");
        let errors = model.intercept_errors().unwrap();
        for (a, q) in parameters.iter().enumerate().filter(|(_, q)| q.term.is_none()) {
            let error = expected[a * (theta.len() + 1)].sqrt();
            assert!((errors[q.output].unwrap() / error - 1.0).abs() < 1e-5);
        }
        if lam == 0.0 {
            let moderated = |model: &Model| model.moderated_probabilities(p.view()).unwrap();
            let (a, b) = (moderated(&model), moderated(&fit(Parameterization::Reference)));
            assert!(distance(a.as_slice(), b.as_slice()) < 1e-7);
        }
    }
}

/// With hardly any ridge both are the same problem, but for what all classes have in common.
#[test]
fn differences_between_classes_are_as_sure_in_either_parameterization() {
    let p = Problem::linear(31, 300, 2, 2, 1.0);
    let data = Dataset::new(p.view(), Target::labels(labels(&p, 3))).unwrap();
    let fit = |which| {
        let method = SMLR::new().lam(1e-5).l1_ratio(0.0).uncertainty(true).tol(1e-13);
        method.parameterization(which).fit(&data).unwrap()
    };
    let (reference, symmetric) =
        (fit(Parameterization::Reference), fit(Parameterization::Symmetric));
    let variance = |model: &Model, term: Option<usize>| {
        let posterior = model.posterior().unwrap();
        let of = |output: usize| {
            let found = posterior.parameters().iter();
            found.clone().position(|p| p.output == output && p.term == term)
        };
        let pairs = [(0, 0, 1.0), (1, 1, 1.0), (0, 1, -2.0)];
        let part = |(a, b, sign): (usize, usize, f64)| {
            sign * posterior.covariance(of(a).unwrap(), of(b).unwrap())
        };
        pairs.map(part).iter().sum::<f64>()
    };
    for term in [None, Some(0), Some(1)] {
        let (expected, found) = (variance(&reference, term), variance(&symmetric, term));
        assert!((found / expected - 1.0).abs() < 1e-4, "{term:?}: {found} {expected}");
    }
}
