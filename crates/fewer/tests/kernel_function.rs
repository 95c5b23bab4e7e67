//! The user's own kernel, against the same kernel built in.

mod support;

use fewer::basis::{Gamma, KernelFunction, Landmarks, RowFunctions, RowKernel};
use fewer::data::{Dataset, DenseView, SparseMatrix, Target};
use fewer::linalg::Matrix;
use fewer::method::{BasisKind, ProbitClassifier, SparseRegressor};
use fewer::model::Model;
use std::sync::Mutex;
use support::{Problem, distance};

const GAMMA: f64 = 0.05;

fn gaussian() -> RowKernel {
    RowKernel::new("gaussian", |x, c| {
        let squares: f64 = x.iter().zip(c).map(|(x, c)| (x - c).powi(2)).sum();
        (-GAMMA * squares).exp()
    })
}

fn problem() -> Problem {
    let mut p = Problem::linear(31, 60, 3, 2, 0.3);
    // Far from zero mean and unit variance, and with repeated rows.
    p.x.iter_mut().enumerate().for_each(|(k, v)| *v = 0.5 + (1.0 + (k % 3) as f64) * *v);
    p.x.copy_within(0..15, 30);
    p.y.copy_within(0..5, 10);
    p
}

fn same(own: &Model, built_in: &Model, x: DenseView<'_>) {
    let (a, b) = (own.decision(x).unwrap(), built_in.decision(x).unwrap());
    assert!(distance(a.as_slice(), b.as_slice()) < 1e-10);
    assert!(own.n_terms() > 0);
    let (own, built_in) = (own.kernel().unwrap(), built_in.kernel().unwrap());
    assert_eq!(own.rows(), built_in.rows());
    assert_eq!(own.centre(0), built_in.centre(0));
    assert_eq!((own.gamma(), built_in.gamma()), (None, Some(GAMMA)));
}

#[test]
fn a_closure_equals_the_kernel_it_writes_out() {
    let p = problem();
    let labels = Target::labels(p.y.iter().map(|y| *y > 2.0));
    let classes = Dataset::new(p.view(), labels).unwrap();
    let points: Vec<Vec<f64>> = p.x.chunks(3).step_by(3).map(|c| vec![c[0], 0.0, c[2]]).collect();
    for standardize in [true, false] {
        for given in ["rows", "centres", "kmeans", "random"] {
            macro_rules! pair {
                ($method:ident, $data:expr) => {{
                    let base = $method::new().standardize(standardize).random_state(3);
                    let base = match given {
                        "centres" => base.centres(points.clone()),
                        "kmeans" => base.candidates(12, Landmarks::Kmeans),
                        "random" => base.candidates(12, Landmarks::Random),
                        _ => base,
                    };
                    let built_in = base.clone().basis(BasisKind::Rbf).gamma(Gamma::Number(GAMMA));
                    let own = base.kernel_function(gaussian()).fit($data).unwrap();
                    same(&own, &built_in.fit($data).unwrap(), p.view());
                    assert!(own.terms()[0].name.starts_with("gaussian(x, row "));
                }};
            }
            pair!(SparseRegressor, &p.data());
            pair!(ProbitClassifier, &classes);
        }
    }
}

#[test]
fn sparse_rows_are_seen_whole() {
    let p = problem();
    let x: Vec<f64> = p.x.iter().map(|v| if v.abs() < 1.0 { 0.0 } else { *v }).collect();
    let by_rows = DenseView::by_rows(&x, 60, 3).unwrap();
    let (starts, indices): (Vec<usize>, Vec<usize>) =
        ((0..=60).map(|i| 3 * i).collect(), (0..180).map(|k| k % 3).collect());
    let sparse = SparseMatrix::from_rows(60, 3, &starts, &indices, &x).unwrap();
    for standardize in [true, false] {
        let method = SparseRegressor::new().kernel_function(gaussian()).standardize(standardize);
        let dense = method.fit(&Dataset::new(by_rows, &p.y).unwrap()).unwrap();
        let other = method.fit(&Dataset::new(sparse.view(), &p.y).unwrap()).unwrap();
        let fitted = [dense.predict(by_rows).unwrap(), other.predict(sparse.view()).unwrap()];
        assert!(distance(&fitted[0], &fitted[1]) < 1e-9);
    }
}

#[test]
fn weights_equal_repeated_rows() {
    let p = problem();
    let counts: Vec<usize> = (0..60).map(|i| i * i % 4).collect();
    let (mut x, mut y) = (Vec::<f64>::new(), Vec::new());
    for (i, &count) in counts.iter().enumerate() {
        for _ in 0..count {
            x.extend(&p.x[3 * i..3 * i + 3]);
            y.push(p.y[i]);
        }
    }
    let repeated = Dataset::new(DenseView::by_rows(&x, y.len(), 3).unwrap(), &y).unwrap();
    let weights: Vec<f64> = counts.iter().map(|&c| c as f64).collect();
    let weighted = p.data().with_weights(weights).unwrap();
    let method = SparseRegressor::new().kernel_function(gaussian());
    let [a, b] = [&weighted, &repeated].map(|d| method.fit(d).unwrap().predict(p.view()).unwrap());
    assert!(distance(&a, &b) < 1e-6);
}

#[test]
fn a_file_holds_its_name_and_the_kept_centres() {
    let p = problem();
    let model = SparseRegressor::new().kernel_function(gaussian()).fit(&p.data()).unwrap();
    let text = model.to_json().unwrap();
    assert!(text.contains(r#""form":{"function":"gaussian"}"#), "{text}");
    let mut copy = Model::from_json(&text).unwrap();
    assert_eq!(copy.needs_function(), Some("gaussian"));
    assert_eq!(copy.kernel().unwrap().rows().len(), model.n_terms());
    let message = copy.predict(p.view()).unwrap_err().to_string();
    assert!(message.contains("'gaussian': supply it"), "{message}");
    let other = RowKernel::new("other", |_, _| 1.0);
    let message = copy.supply_kernel(other.clone()).unwrap_err().to_string();
    assert!(message.contains("'other': the model was fitted with the kernel 'gaussian'"));
    let message = copy.supply_function(RowFunctions::new("gaussian")).unwrap_err().to_string();
    assert!(message.contains("no functions of x"), "{message}");
    copy.supply_kernel(gaussian()).unwrap();
    assert_eq!(copy.needs_function(), None);
    assert_eq!(copy.predict(p.view()).unwrap(), model.predict(p.view()).unwrap());

    let mut built_in = SparseRegressor::new().basis(BasisKind::Rbf).fit(&p.data()).unwrap();
    assert!(built_in.supply_kernel(other.clone()).is_err());
    let mut linear = SparseRegressor::new().fit(&p.data()).unwrap();
    assert!(linear.supply_kernel(other).is_err());
}

/// Returns what its fields say, and remembers how many centres it was asked for.
#[derive(Debug)]
struct Odd {
    extra_rows: usize,
    extra_columns: usize,
    value: fn(usize, usize) -> f64,
    asked: std::sync::Arc<Mutex<Vec<usize>>>,
}

impl Odd {
    fn new(extra_rows: usize, extra_columns: usize, value: fn(usize, usize) -> f64) -> Self {
        Self { extra_rows, extra_columns, value, asked: std::sync::Arc::default() }
    }
}

impl KernelFunction for Odd {
    fn name(&self) -> String {
        "odd".into()
    }

    fn evaluate(&self, x: DenseView<'_>, centres: DenseView<'_>) -> fewer::Result<Matrix> {
        self.asked.lock().unwrap().push(centres.rows());
        let mut out =
            Matrix::zeros(x.rows() + self.extra_rows, centres.rows() + self.extra_columns);
        for j in 0..out.columns() {
            for i in 0..out.rows() {
                out[(i, j)] = (self.value)(i, j);
            }
        }
        Ok(out)
    }
}

#[test]
fn bad_values_are_named() {
    let p = Problem::linear(32, 20, 2, 1, 0.1);
    let message = |odd: Odd| {
        SparseRegressor::new().kernel_function(odd).fit(&p.data()).unwrap_err().to_string()
    };
    let found = message(Odd::new(1, 0, |_, _| 1.0));
    assert!(found.contains("expected 20×20 values for 20 rows and 20 centres, found 21×20"));
    assert!(message(Odd::new(0, 2, |_, _| 1.0)).contains("found 20×22"));
    let found = message(Odd::new(0, 0, |i, j| if (i, j) == (3, 8) { f64::NAN } else { 1.0 }));
    assert!(found.contains("'odd(x, row 9)' is NaN at row 4; a finite number"), "{found}");
}

#[test]
fn predicting_asks_for_the_kept_centres_only() {
    let p = Problem::linear(33, 40, 2, 1, 0.1);
    let odd = Odd::new(0, 0, |i, j| if i == j { 1.0 } else { 0.0 });
    let asked = odd.asked.clone();
    let model = SparseRegressor::new().kernel_function(odd).max_terms(3).fit(&p.data()).unwrap();
    asked.lock().unwrap().clear();
    model.predict(p.view()).unwrap();
    let kept = model.n_terms();
    let expected = if kept == 0 { vec![] } else { vec![kept] };
    assert!(kept <= 3);
    assert_eq!(*asked.lock().unwrap(), expected);
}

#[test]
fn many_values_come_in_blocks() {
    let p = Problem::linear(34, 9000, 2, 1, 0.1);
    let method = SparseRegressor::new().candidates(300, Landmarks::Random);
    let own = method.clone().kernel_function(gaussian()).fit(&p.data()).unwrap();
    let built_in = method.basis(BasisKind::Rbf).gamma(Gamma::Number(GAMMA)).fit(&p.data()).unwrap();
    let (a, b) = (own.predict(p.view()).unwrap(), built_in.predict(p.view()).unwrap());
    assert!(distance(&a, &b) < 1e-5);
}

#[test]
fn settings_that_do_not_fit_are_named() {
    let p = Problem::linear(35, 200, 2, 1, 0.1);
    let message = |method: SparseRegressor| method.fit(&p.data()).unwrap_err().to_string();
    let found = message(SparseRegressor::new().basis(BasisKind::KernelFunction));
    assert!(found.contains("basis = kernel-function: the kernel must be given"), "{found}");
    let found =
        message(SparseRegressor::new().kernel_function(gaussian()).basis(BasisKind::Functions));
    assert!(found.contains("basis = functions: the functions must be given"), "{found}");
    let large = SparseRegressor::new().kernel_function(gaussian()).memory_limit(1e5);
    let found = message(large);
    assert!(found.contains("200×200 values of 'gaussian' needs 320 kB"), "{found}");
    assert!(found.contains("set candidates"), "{found}");
    let functions = RowFunctions::new("waves").with("sin", |x| x[0].sin());
    let found = message(SparseRegressor::new().functions(functions).memory_limit(1e3));
    assert!(found.contains("200×1 values of 'waves'"), "{found}");
}
