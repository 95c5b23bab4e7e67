//! The Lasso and its relatives: against a plain coordinate descent, and against their own claims.

mod support;

use fewer::basis::Gamma;
use fewer::data::{Dataset, DenseView, Features, MomentsBuilder, SparseMatrix};
use fewer::engine::{Interrupted, Observer, Termination};
use fewer::method::{BasisKind, Intercept, Lasso, PriorKind, SparseRegressor};
use fewer::model::{CertificateKind, Model};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::{Problem, Random, distance};

/// A problem with everything that the objective depends on but λ.
#[derive(Debug, Clone)]
struct Case {
    x: Vec<f64>,
    y: Vec<f64>,
    columns: usize,
    weights: Option<Vec<f64>>,
    standardize: bool,
    intercept: bool,
    positive: bool,
    l1_ratio: f64,
    factors: Option<Vec<f64>>,
}

/// The same in the units in which the penalty is on the weights themselves.
struct Plain {
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    weights: Vec<f64>,
    scale: Vec<f64>,
    deviation: f64,
    factors: Vec<f64>,
}

impl Case {
    fn new(p: &Problem) -> Self {
        Self {
            x: p.x.clone(),
            y: p.y.clone(),
            columns: p.columns,
            weights: None,
            standardize: true,
            intercept: true,
            positive: false,
            l1_ratio: 1.0,
            factors: None,
        }
    }

    fn view(&self) -> DenseView<'_> {
        DenseView::by_rows(&self.x, self.y.len(), self.columns).unwrap()
    }

    fn data(&self) -> Dataset<'_> {
        self.data_of(self.view())
    }

    fn data_of<'a>(&'a self, features: impl Into<Features<'a>>) -> Dataset<'a> {
        let data = Dataset::new(features, &self.y).unwrap();
        match &self.weights {
            Some(w) => data.with_weights(w.clone()).unwrap(),
            None => data,
        }
    }

    fn method(&self) -> Lasso {
        let method = Lasso::new()
            .standardize(self.standardize)
            .fit_intercept(if self.intercept { Intercept::Free } else { Intercept::None })
            .positive(self.positive)
            .l1_ratio(self.l1_ratio);
        match &self.factors {
            Some(f) => method.penalty_factors(f.clone()),
            None => method,
        }
    }

    fn plain(&self) -> Plain {
        let n = self.y.len();
        let weights = self.weights.clone().unwrap_or_else(|| vec![1.0; n]);
        let total: f64 = weights.iter().sum();
        let mean = |v: &[f64]| {
            let sum: f64 = v.iter().zip(&weights).map(|(v, w)| v * w).sum();
            if self.intercept { sum / total } else { 0.0 }
        };
        let centred = |v: Vec<f64>| {
            let mean = mean(&v);
            v.into_iter().map(|v| v - mean).collect::<Vec<f64>>()
        };
        let deviation = |v: &[f64]| {
            let square: f64 = v.iter().zip(&weights).map(|(v, w)| w * v * v).sum();
            (square / total).sqrt()
        };
        let mut scale = Vec::new();
        let column = |j: usize| {
            let column = centred(self.x.iter().skip(j).step_by(self.columns).copied().collect());
            let sd = deviation(&column);
            let size =
                self.x.iter().skip(j).step_by(self.columns).fold(0.0, |m: f64, v| m.max(v.abs()));
            let constant = sd <= 1e-13 * size;
            let sd = if self.standardize { sd } else { 1.0 };
            scale.push(if constant { 1.0 } else { sd });
            column.into_iter().map(|v| if constant { 0.0 } else { v / sd }).collect()
        };
        let x = (0..self.columns).map(column).collect();
        let y = centred(self.y.clone());
        Plain {
            x,
            deviation: deviation(&y),
            y,
            weights,
            scale,
            factors: self.factors.clone().unwrap_or_else(|| vec![1.0; self.columns]),
        }
    }
}

impl Plain {
    fn penalties(&self, case: &Case, lam: f64, j: usize) -> (f64, f64) {
        let l2 = lam * (1.0 - case.l1_ratio) * self.factors[j] / self.deviation;
        (lam * case.l1_ratio * self.factors[j], l2)
    }

    fn null(&self) -> f64 {
        0.5 * self.y.iter().zip(&self.weights).map(|(y, w)| w * y * y).sum::<f64>()
    }

    fn pull(&self, j: usize, r: &[f64]) -> f64 {
        self.x[j].iter().zip(r).zip(&self.weights).map(|((x, r), w)| w * x * r).sum()
    }

    /// Largest |pull| over its factor; right where every column is penalised.
    fn lam_max(&self, case: &Case) -> f64 {
        let part = |j: usize| {
            let pull = self.pull(j, &self.y);
            let pull = if case.positive { pull.max(0.0) } else { pull.abs() };
            pull / (case.l1_ratio.max(1e-3) * self.factors[j])
        };
        (0..self.x.len()).filter(|&j| self.factors[j] > 0.0).map(part).fold(0.0, f64::max)
    }

    /// The objective at weights of the columns as given.
    fn objective(&self, case: &Case, lam: f64, coefficients: &[f64]) -> f64 {
        let mut r = self.y.clone();
        let mut penalty = 0.0;
        for (j, &c) in coefficients.iter().enumerate() {
            let b = c * self.scale[j];
            r.iter_mut().zip(&self.x[j]).for_each(|(r, x)| *r -= b * x);
            let (l1, l2) = self.penalties(case, lam, j);
            penalty += l1 * b.abs() + 0.5 * l2 * b * b;
        }
        0.5 * r.iter().zip(&self.weights).map(|(r, w)| w * r * r).sum::<f64>() + penalty
    }

    /// Cyclic coordinate descent on products of columns, as plain as can be.
    fn solve(&self, case: &Case, lam: f64) -> Vec<f64> {
        let p = self.x.len();
        let gram: Vec<Vec<f64>> =
            (0..p).map(|j| (0..p).map(|k| self.pull(j, &self.x[k])).collect()).collect();
        let mut q: Vec<f64> = (0..p).map(|j| self.pull(j, &self.y)).collect();
        let mut b = vec![0.0; p];
        for _ in 0..50_000 {
            let mut moved: f64 = 0.0;
            for j in 0..p {
                let (l1, l2) = self.penalties(case, lam, j);
                let h = gram[j][j];
                if h == 0.0 {
                    continue;
                }
                let z = q[j] + h * b[j];
                let size = (z.abs() - l1).max(0.0) / (h + l2);
                let new = if case.positive && z < 0.0 { 0.0 } else { z.signum() * size };
                let step = new - b[j];
                if step != 0.0 {
                    q.iter_mut().zip(&gram[j]).for_each(|(q, g)| *q -= step * g);
                    b[j] = new;
                    moved = moved.max(h.sqrt() * step.abs());
                }
            }
            if moved <= 1e-16 * self.null().sqrt() {
                break;
            }
        }
        b.iter().zip(&self.scale).map(|(b, s)| b / s).collect()
    }
}

fn size(values: &[f64]) -> f64 {
    values.iter().fold(1e-300, |m: f64, v| m.max(v.abs()))
}

/// Weights and objective as the plain descent finds them, and as reported.
fn agrees(case: &Case, model: &Model, what: &str) {
    let plain = case.plain();
    let lam = model.report().lam.unwrap();
    let expected = plain.solve(case, lam);
    let worst = distance(&expected, &model.coefficients());
    // A solve ends on the terms of an L1 penalty; what L2 shrinks comes as near as √gap.
    let near = if case.l1_ratio < 1.0 { 1e-6 } else { 1e-8 };
    assert!(worst <= near * size(&expected).max(1.0), "{what}: {worst:e}");
    let best = plain.objective(case, lam, &expected);
    let reported = model.report().objective;
    assert!((reported - best).abs() <= 1e-8 * plain.null(), "{what}: {reported} {best}");
    assert!(model.report().termination.is_converged(), "{what}");
    assert_eq!(model.report().certificate.kind, CertificateKind::DualityGap);
    assert!(model.report().certificate.value <= 1e-8, "{what}");
}

/// Every setting that changes the objective, on tall and on wide data.
fn cases() -> Vec<(String, Case)> {
    let mut all = Vec::new();
    for (rows, columns) in [(60, 12), (15, 25)] {
        let base = Case::new(&Problem::linear(1, rows, columns, 4, 0.5));
        let mut random = Random::new(9);
        let weights = (0..rows).map(|i| if i % 7 == 0 { 0.0 } else { 3.0 * random.uniform() });
        let weights: Option<Vec<f64>> = Some(weights.collect());
        let factors: Vec<f64> = (0..columns).map(|_| 0.2 + 2.0 * random.uniform()).collect();
        let mut free = factors.clone();
        (free[1], free[4]) = (0.0, 0.0);
        for intercept in [true, false] {
            for standardize in [true, false] {
                let base = Case { intercept, standardize, ..base.clone() };
                for (name, case) in [
                    ("plain", base.clone()),
                    ("weights", Case { weights: weights.clone(), ..base.clone() }),
                    ("factors", Case { factors: Some(factors.clone()), ..base.clone() }),
                    ("free", Case { factors: Some(free.clone()), ..base.clone() }),
                    ("positive", Case { positive: true, ..base.clone() }),
                    ("elastic", Case { l1_ratio: 0.4, ..base.clone() }),
                    ("ridge", Case { l1_ratio: 0.0, ..base.clone() }),
                    (
                        "all",
                        Case {
                            weights: weights.clone(),
                            factors: Some(free.clone()),
                            positive: true,
                            l1_ratio: 0.7,
                            ..base.clone()
                        },
                    ),
                ] {
                    let settings = format!("intercept {intercept}, standardize {standardize}");
                    all.push((format!("{name}, {rows}×{columns}, {settings}"), case));
                }
            }
        }
    }
    all
}

#[test]
fn equals_a_plain_coordinate_descent() {
    for (name, case) in cases() {
        for ratio in [0.5, 0.1, 0.01] {
            let model = case.method().lam_ratio(ratio).tol(1e-14).fit(&case.data()).unwrap();
            agrees(&case, &model, &format!("{name}, {ratio}"));
            // A ridge has no λ_max of its own.
            if case.factors.is_none() && case.l1_ratio > 0.0 {
                let lam = ratio * case.plain().lam_max(&case);
                assert!((model.report().lam.unwrap() / lam - 1.0).abs() < 1e-9, "{name}");
            }
        }
    }
}

fn sparse_of(x: &[f64], rows: usize, columns: usize) -> SparseMatrix {
    let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in x.chunks(columns) {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            indices.push(j);
            values.push(v);
        }
        starts.push(indices.len());
    }
    SparseMatrix::from_rows(rows, columns, &starts, &indices, &values).unwrap()
}

#[test]
fn every_form_of_the_data_gives_the_same() {
    for (name, mut case) in cases() {
        // Values that f32 holds exactly, and zeros.
        case.x.iter_mut().for_each(|v| {
            *v = if v.abs() < 0.5 { 0.0 } else { f64::from((*v as f32 * 64.0).round() / 64.0) }
        });
        let (n, d) = (case.y.len(), case.columns);
        let by_columns: Vec<f64> = (0..n * d).map(|k| case.x[k % n * d + k / n]).collect();
        let single: Vec<f32> = case.x.iter().map(|&v| v as f32).collect();
        let sparse = sparse_of(&case.x, n, d);
        let forms: [Features<'_>; 4] = [
            case.view().into(),
            DenseView::by_columns(&by_columns, n, d).unwrap().into(),
            DenseView::by_rows(&single, n, d).unwrap().into(),
            sparse.view().into(),
        ];
        for (k, features) in forms.into_iter().enumerate() {
            let method = case.method().lam_ratio(0.05).tol(1e-14);
            let model = method.fit(&case.data_of(features)).unwrap();
            agrees(&case, &model, &format!("{name}, form {k}"));
        }
    }
}

#[test]
fn moments_give_the_same() {
    for (name, case) in cases() {
        let names = (0..case.columns).map(|j| format!("x{}", j + 1));
        let mut builder = MomentsBuilder::new(names);
        let half = case.y.len() / 2;
        for rows in [0..half, half..case.y.len()] {
            let x = &case.x[rows.start * case.columns..rows.end * case.columns];
            let view = DenseView::by_rows(x, rows.len(), case.columns).unwrap();
            let weights = case.weights.as_ref().map(|w| &w[rows.clone()]);
            builder.push(view, &case.y[rows], weights).unwrap();
        }
        let method = case.method().lam_ratio(0.05).tol(1e-13);
        let model = method.fit_moments(builder.finish().unwrap()).unwrap();
        let rows = method.fit(&case.data()).unwrap();
        let (a, b) = (model.coefficients(), rows.coefficients());
        let near = if case.l1_ratio < 1.0 { 1e-6 } else { 1e-8 };
        assert!(distance(&a, &b) < near * size(&b).max(1.0), "{name}: {:e}", distance(&a, &b));
        let (a, b) = (model.report().lam.unwrap(), rows.report().lam.unwrap());
        assert!((a / b - 1.0).abs() < 1e-9, "{name}: {a} {b}");
        let (a, b) = (model.noise_std().unwrap(), rows.noise_std().unwrap());
        assert!((a / b - 1.0).abs() < 1e-6, "{name}: {a} {b}");
    }
}

#[test]
fn equals_em_with_the_laplace_prior() {
    for (rows, columns) in [(80, 25), (30, 60)] {
        let p = Problem::linear(4, rows, columns, 4, 1.0);
        for standardize in [true, false] {
            for ratio in [0.3, 0.05] {
                let lasso = Lasso::new().standardize(standardize).lam_ratio(ratio).tol(1e-14);
                let lasso = lasso.fit(&p.data()).unwrap();
                let noise: f64 = 0.7;
                let em = SparseRegressor::new()
                    .prior(PriorKind::Laplace)
                    .lam(lasso.report().lam.unwrap() / (noise * noise))
                    .noise(noise)
                    .standardize(standardize)
                    .tol(1e-13)
                    .fit(&p.data())
                    .unwrap();
                let worst = distance(&lasso.coefficients(), &em.coefficients());
                assert!(worst < 1e-8, "{rows}×{columns}, {standardize}, {ratio}: {worst:e}");
            }
        }
    }
}

#[test]
fn a_path_is_its_fits_in_the_order_given() {
    for (name, case) in cases() {
        let largest = case.method().lam_ratio(1.0).fit(&case.data()).unwrap();
        let largest = largest.report().lam.unwrap();
        let lams: Vec<f64> = [0.1, 0.9, 0.01, 1.5, 0.1, 0.003].map(|r| r * largest).to_vec();
        let method = case.method().tol(1e-14);
        let path = method.path(&case.data(), Some(&lams)).unwrap();
        assert_eq!(path.len(), lams.len());
        for (model, lam) in path.iter().zip(&lams) {
            assert_eq!(model.report().lam, Some(*lam));
            let alone = method.clone().lam(*lam).fit(&case.data()).unwrap();
            let (a, b) = (model.coefficients(), alone.coefficients());
            let worst = distance(&a, &b);
            let near = if case.l1_ratio < 1.0 { 1e-6 } else { 1e-8 };
            assert!(worst < near * size(&b).max(1.0), "{name}, λ = {lam}: {worst:e}");
        }
    }
    assert!(Lasso::new().path(&cases()[0].1.data(), Some(&[])).unwrap().is_empty());
}

#[test]
fn the_usual_path_goes_from_empty_to_nearly_all() {
    for (rows, columns, end) in [(80, 10, 1e-3), (20, 50, 1e-2)] {
        let p = Problem::linear(2, rows, columns, 4, 0.5);
        let path = Lasso::new().path(&p.data(), None).unwrap();
        let lams: Vec<f64> = path.iter().map(|m| m.report().lam.unwrap()).collect();
        assert_eq!((lams.len(), path[0].n_terms()), (100, 0));
        assert!(path[1].n_terms() > 0);
        assert!((lams[99] / lams[0] / end - 1.0).abs() < 1e-12);
        for k in 1..99 {
            assert!((lams[k + 1] / lams[k] / (lams[1] / lams[0]) - 1.0).abs() < 1e-9);
            assert!(path[k].report().certificate.value <= 1e-8);
            assert!(path[k].report().termination.is_converged());
        }
    }
}

#[test]
fn from_lam_max_on_nothing_is_kept_and_that_is_said() {
    for (name, case) in cases() {
        if case.l1_ratio == 0.0 {
            continue;
        }
        let free = case.factors.iter().flatten().filter(|f| **f == 0.0).count();
        let largest = case.method().lam_ratio(1.0).tol(1e-14).fit(&case.data()).unwrap();
        let lam = largest.report().lam.unwrap();
        let above = case.method().lam(1.001 * lam).tol(1e-14).fit(&case.data()).unwrap();
        let below = case.method().lam(0.99 * lam).tol(1e-14).fit(&case.data()).unwrap();
        assert!(largest.n_terms() <= free && above.n_terms() <= free, "{name}");
        assert!(below.n_terms() > above.n_terms(), "{name}");
        if free == 0 {
            assert!(largest.report().notes[0].starts_with("no term is kept: λ"), "{name}");
            assert!(above.report().notes[0].contains("is not below λ_max"), "{name}");
            assert!(above.report().certificate.value <= 1e-12, "{name}");
        }
        assert!(below.report().notes.is_empty(), "{name}: {:?}", below.report().notes);
    }
}

#[test]
fn an_empty_model_below_lam_max_is_blamed_on_the_tolerance() {
    let p = Problem::linear(1, 60, 12, 4, 0.5);
    let model = Lasso::new().lam_ratio(0.95).tol(0.5).fit(&p.data()).unwrap();
    assert_eq!(model.n_terms(), 0);
    let notes = &model.report().notes;
    assert!(notes[0].starts_with("no term is kept") && notes[0].contains("tol"), "{notes:?}");
}

#[test]
fn without_a_penalty_it_is_least_squares() {
    for intercept in [true, false] {
        let case = Case { intercept, ..Case::new(&Problem::linear(3, 80, 10, 4, 0.5)) };
        let model = case.method().lam(0.0).tol(1e-14).fit(&case.data()).unwrap();
        let (plain, lam) = (case.plain(), 0.0);
        let expected = plain.solve(&case, lam);
        assert!(distance(&expected, &model.coefficients()) < 1e-8);
        assert!(model.report().termination.is_converged());
        assert!(model.report().certificate.value <= 1e-8);
    }
}

#[test]
fn a_tiny_penalty_on_wide_data_follows_the_target() {
    let p = Problem::linear(3, 20, 60, 4, 0.5);
    for (lam, left) in [(1e-7, 1e-4), (0.0, 1e-4)] {
        let method = if lam > 0.0 { Lasso::new().lam_ratio(lam) } else { Lasso::new().lam(lam) };
        let model = method.tol(1e-12).fit(&p.data()).unwrap();
        assert!(model.report().termination.is_converged(), "{lam}: {:?}", model.report());
        let fitted = model.predict(p.view()).unwrap();
        assert!(distance(&fitted, &p.y) < left, "{lam}: {:e}", distance(&fitted, &p.y));
    }
}

/// A small random problem with what makes problems hard: copies, near-copies, constants, scales
/// far apart, rows of no weight, more columns than rows.
fn hard(seed: u64) -> Case {
    let mut random = Random::new(seed);
    let rows = 3 + (28.0 * random.uniform()) as usize;
    let columns = 1 + (14.0 * random.uniform()) as usize;
    let likely = |random: &mut Random, p: f64| random.uniform() < p;
    let closeness = [0.0, 0.5, 0.95, 0.999][(4.0 * random.uniform()) as usize];
    let sparse = likely(&mut random, 0.3);
    let mut by_columns: Vec<Vec<f64>> = Vec::new();
    for j in 0..columns {
        let mut column = random.normals(rows);
        if j > 0 {
            let other = &by_columns[j - 1];
            let own = (1.0f64 - closeness * closeness).sqrt();
            column.iter_mut().zip(other).for_each(|(v, o)| *v = closeness * o + own * *v);
        }
        if sparse {
            column.iter_mut().for_each(|v| *v = if random.uniform() < 0.6 { 0.0 } else { *v });
        }
        if j > 0 && likely(&mut random, 0.1) {
            column.clone_from(&by_columns[(random.uniform() * j as f64) as usize]);
        }
        if likely(&mut random, 0.05) {
            column.fill(2.5);
        }
        by_columns.push(column);
    }
    let spread = if likely(&mut random, 0.3) { 5.0 } else { 0.5 };
    let shift = if likely(&mut random, 0.3) { 30.0 } else { 0.3 };
    let mut y: Vec<f64> = random.normals(rows).iter().map(|v| 0.5 * v + shift).collect();
    for column in &mut by_columns {
        if likely(&mut random, 0.3) {
            let b = 2.0 * random.normal();
            y.iter_mut().zip(&*column).for_each(|(y, v)| *y += b * v);
        }
        let (factor, offset) =
            (10f64.powf(spread * random.normal() / 2.0), shift * random.normal());
        let offset = if sparse { 0.0 } else { offset };
        column.iter_mut().for_each(|v| *v = factor * (*v + offset));
    }
    let x = (0..rows * columns).map(|k| by_columns[k % columns][k / columns]).collect();
    let weights = likely(&mut random, 0.4).then(|| {
        let part = |random: &mut Random| 10f64.powf(2.0 * random.normal());
        let weight = |i: usize| if i % 5 == 4 { 0.0 } else { part(&mut random) };
        (0..rows).map(weight).collect()
    });
    let factors = likely(&mut random, 0.3).then(|| {
        let factor = |_| if random.uniform() < 0.15 { 0.0 } else { 3.0 * random.uniform() };
        (0..columns).map(factor).collect()
    });
    Case {
        x,
        y,
        columns,
        weights,
        standardize: likely(&mut random, 0.6),
        intercept: likely(&mut random, 0.7),
        positive: likely(&mut random, 0.2),
        l1_ratio: [1.0, 1.0, 1.0, 0.5, 0.01, 0.0][(6.0 * random.uniform()) as usize],
        factors,
    }
}

#[test]
fn the_certificate_bounds_the_distance_to_the_optimum() {
    let count = if std::env::var_os("FEWER_STRESS").is_some() { 5000 } else { 250 };
    // The last one has free columns that say the same, under weights far apart.
    for seed in (0..count).chain([972]) {
        let case = hard(seed);
        let plain = case.plain();
        let sparse = sparse_of(&case.x, case.y.len(), case.columns);
        for ratio in [0.7, 0.1, 1e-3] {
            let fits =
                [(1e-1, 1000), (1e-2, 1000), (1e-4, 1000), (1e-8, 1000), (1e-8, 1), (1e-8, 2)];
            let mut best: Option<f64> = None;
            for (tol, limit) in fits {
                for features in [Features::from(case.view()), sparse.view().into()] {
                    let method = case.method().tol(tol).max_iter(limit).lam_ratio(ratio);
                    let model = method.fit(&case.data_of(features)).unwrap();
                    let report = model.report();
                    let lam = report.lam.unwrap();
                    if report.notes.iter().any(|n| n.contains("constant")) {
                        continue;
                    }
                    let what = format!("seed {seed}, ratio {ratio}, tol {tol}, max_iter {limit}");
                    let at = plain.objective(&case, lam, &model.coefficients());
                    // λ_max hangs on the tolerance where some columns are free.
                    let free = case.factors.iter().flatten().any(|f| *f == 0.0);
                    let other = match best {
                        Some(best) if !free => best,
                        _ => plain.objective(&case, lam, &plain.solve(&case, lam)),
                    };
                    best = Some(other);
                    let left = (at - other) / plain.null();
                    let claim = report.certificate.value;
                    assert!(left <= claim + 1e-11, "{what}: {left:e} {claim:e} {case:?}");
                    let off = (report.objective - at).abs() / plain.null();
                    assert!(off <= 1e-9, "{what}: objective off by {off:e} {case:?}");
                    if report.termination.is_converged() {
                        assert!(claim <= tol, "{what}: {claim:e}");
                    } else {
                        assert!(limit <= 2, "{what}: {report:?} {case:?}");
                        assert_eq!(report.termination, Termination::IterationLimit);
                    }
                }
            }
        }
    }
}

/// w of the ridge regression that the adaptive Lasso starts from is not shown; its effect is:
/// with the factors of a fit, the plain Lasso gives that fit.
#[test]
fn the_adaptive_lasso_divides_by_ridge_weights() {
    // Columns that are orthogonal, so that every ridge shrinks all weights alike.
    let n = 16;
    let bit = |i: usize, k: usize| if i >> k & 1 == 0 { 1.0 } else { -1.0 };
    let x: Vec<f64> = (0..n).flat_map(|i| (0..4).map(move |k| bit(i, k))).collect();
    let mut random = Random::new(3);
    let y: Vec<f64> =
        x.chunks(4).map(|x| 3.0 * x[0] - x[1] + 0.2 * x[2] + 0.1 * random.normal()).collect();
    let data = Dataset::new(DenseView::by_rows(&x, n, 4).unwrap(), &y).unwrap();
    let b: Vec<f64> =
        (0..4).map(|k| (0..n).map(|i| bit(i, k) * y[i]).sum::<f64>().abs() / n as f64).collect();
    for exponent in [0.5, 1.0, 2.0] {
        let factors = b.iter().map(|v| (v / b[0]).powf(-exponent)).collect();
        let method = Lasso::new().lam_ratio(0.05).tol(1e-14);
        let adaptive = method.clone().adaptive(exponent).fit(&data).unwrap();
        let factored = method.penalty_factors(factors).fit(&data).unwrap();
        assert!(distance(&adaptive.coefficients(), &factored.coefficients()) < 1e-9);
        let (a, f) = (adaptive.report().lam.unwrap(), factored.report().lam.unwrap());
        assert!((a / f - 1.0).abs() < 1e-9, "{a} {f}");
    }
}

#[test]
fn large_exponents_leave_a_sound_model() {
    let p = Problem::linear(2, 60, 12, 3, 0.5);
    let methods = [Lasso::new(), Lasso::new().lam(0.0), Lasso::new().l1_ratio(0.0)];
    for (exponent, method) in
        [5.0, 30.0, 300.0].iter().flat_map(|e| methods.iter().map(move |m| (*e, m)))
    {
        let model = method.clone().adaptive(exponent).fit(&p.data()).unwrap();
        assert!(model.report().objective.is_finite(), "{exponent}: {:?}", model.report());
        assert!(model.report().termination.is_converged(), "{exponent}");
        assert!(model.n_terms() > 0);
    }
}

#[test]
fn the_relaxed_lasso_is_least_squares_on_its_terms() {
    for standardize in [true, false] {
        let p = Problem::linear(5, 60, 20, 4, 1.0);
        let method = Lasso::new().lam_ratio(0.2).standardize(standardize);
        let kept = method.fit(&p.data()).unwrap();
        let relaxed = method.clone().relaxed(true).fit(&p.data()).unwrap();
        let terms: Vec<usize> = kept.terms().iter().map(|t| t.index).collect();
        assert_eq!(terms, relaxed.terms().iter().map(|t| t.index).collect::<Vec<usize>>());
        let chosen: Vec<f64> =
            p.x.chunks(20).flat_map(|row| terms.iter().map(|&j| row[j])).collect();
        let small = Case { x: chosen, columns: terms.len(), ..Case::new(&p) };
        let expected = small.plain().solve(&small, 0.0);
        let got: Vec<f64> = relaxed.terms().iter().map(|t| t.weight()).collect();
        assert!(distance(&expected, &got) < 1e-6, "{:e}", distance(&expected, &got));
        // What is certified is the fit that chose the terms.
        assert_eq!(relaxed.report().certificate, kept.report().certificate);
    }
}

#[test]
fn at_most_so_many_terms() {
    for (rows, columns) in [(60, 12), (15, 40)] {
        let p = Problem::linear(6, rows, columns, 3, 0.3);
        for most in [1, 3, 5] {
            let method = Lasso::new().lam_ratio(0.01).max_terms(most).tol(1e-12);
            let model = method.fit(&p.data()).unwrap();
            assert!(model.n_terms() <= most && model.n_terms() > 0);
            assert!(model.report().certificate.value <= 1e-8);
            let relaxed = method.relaxed(true).fit(&p.data()).unwrap();
            assert!(relaxed.n_terms() <= most);
        }
    }
}

#[test]
fn polynomials_and_kernels_are_columns_like_others() {
    let p = Problem::linear(7, 50, 3, 2, 0.3);
    let squares = |x: &[f64]| {
        let (a, b, c) = (x[0], x[1], x[2]);
        [a, b, c, a * a, a * b, a * c, b * b, b * c, c * c]
    };
    let x: Vec<f64> = p.x.chunks(3).flat_map(squares).collect();
    let case = Case { x, columns: 9, ..Case::new(&p) };
    let method = Lasso::new().lam_ratio(0.05).tol(1e-14);
    let model = method.clone().basis(BasisKind::Polynomial).degree(2).fit(&p.data()).unwrap();
    let linear = method.fit(&case.data()).unwrap();
    let (f, g) = (model.predict(p.view()).unwrap(), linear.predict(case.view()).unwrap());
    assert!(distance(&f, &g) < 1e-8, "{:e}", distance(&f, &g));
    assert_eq!(model.n_terms(), linear.n_terms());

    // Kernel columns are centred, never scaled.
    let gamma = 0.3;
    let rows: Vec<&[f64]> = p.x.chunks(3).collect();
    let kernel = |a: &[f64], b: &[f64]| {
        (-gamma * a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>()).exp()
    };
    let x = rows.iter().flat_map(|a| rows.iter().map(move |b| kernel(a, b))).collect();
    let case = Case { x, columns: 50, standardize: false, ..Case::new(&p) };
    let rbf = Lasso::new()
        .lam_ratio(0.05)
        .standardize(false)
        .basis(BasisKind::Rbf)
        .gamma(Gamma::Number(gamma));
    let model = rbf.tol(1e-12).fit(&p.data()).unwrap();
    let plain = case.method().lam_ratio(0.05).tol(1e-12).fit(&case.data()).unwrap();
    let (f, g) = (model.predict(p.view()).unwrap(), plain.predict(case.view()).unwrap());
    assert!(distance(&f, &g) < 1e-6, "{:e}", distance(&f, &g));
    assert!(model.n_terms() < 50);
}

#[test]
fn a_penalised_intercept_is_a_column_of_ones() {
    let p = Problem::linear(8, 40, 5, 2, 0.3);
    let x: Vec<f64> = p.x.chunks(5).flat_map(|r| r.iter().copied().chain([1.0])).collect();
    let ones = Case { x, columns: 6, standardize: false, intercept: false, ..Case::new(&p) };
    let with = ones.method().lam(20.0).tol(1e-14).fit(&ones.data()).unwrap();
    let method = Lasso::new().standardize(false).fit_intercept(Intercept::Penalised);
    let model = method.lam(20.0).tol(1e-14).fit(&p.data()).unwrap();
    assert!(distance(&with.coefficients()[..5], &model.coefficients()) < 1e-9);
    assert!((with.coefficients()[5] - model.intercept()).abs() < 1e-9);
}

#[test]
fn threads_change_no_bit() {
    let tall = Problem::linear(2, 9000, 40, 6, 0.5);
    let wide = Problem::linear(3, 100, 3000, 6, 0.5);
    for p in [&tall, &wide] {
        let thin: Vec<f64> = p.x.iter().map(|v| if v.abs() < 1.0 { 0.0 } else { *v }).collect();
        let sparse = sparse_of(&thin, p.rows, p.columns);
        for sparse_form in [false, true] {
            let bits = [1, 2].map(|threads| {
                let data = match sparse_form {
                    true => Dataset::new(sparse.view(), &p.y).unwrap(),
                    false => p.data(),
                };
                let method = Lasso::new().n_jobs(threads);
                let models = method.path(&data, Some(&[300.0, 30.0, 10.0])).unwrap();
                let of = |m: &Model| {
                    let mut all = m.coefficients();
                    all.extend([m.intercept(), m.report().objective, m.report().certificate.value]);
                    all.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
                };
                models.iter().map(of).collect::<Vec<_>>()
            });
            assert_eq!(bits[0], bits[1]);
        }
    }
}

#[test]
fn rescaling_rescales_the_answer_and_nothing_else() {
    for (name, case) in cases().into_iter().filter(|(_, c)| c.standardize) {
        let reference = case.method().lam_ratio(0.1).fit(&case.data()).unwrap();
        for (of_y, of_x) in [(1e-150, 1.0), (1e150, 1.0), (1.0, 1e-150), (1.0, 1e150), (1e-9, 1e9)]
        {
            let mut scaled = case.clone();
            scaled.y.iter_mut().for_each(|y| *y *= of_y);
            scaled.x.iter_mut().for_each(|x| *x *= of_x);
            let model = scaled.method().lam_ratio(0.1).fit(&scaled.data()).unwrap();
            let back: Vec<f64> = model.coefficients().iter().map(|c| c / of_y * of_x).collect();
            let worst = distance(&reference.coefficients(), &back);
            assert!(worst < 1e-6 * size(&back), "{name}, {of_y}, {of_x}: {worst:e}");
            assert!(model.report().termination.is_converged(), "{name}");
        }
    }
}

#[test]
fn degenerate_data() {
    let fit = |x: &[f64], columns: usize, y: &[f64]| {
        let view = DenseView::by_rows(x, y.len(), columns).unwrap();
        let model = Lasso::new().fit(&Dataset::new(view, y).unwrap()).unwrap();
        assert!(model.report().termination.is_converged());
        assert!(model.report().objective.is_finite());
        assert!(model.noise_std().unwrap().is_finite());
        model
    };
    let one = fit(&[1.0, 2.0], 2, &[3.0]);
    assert_eq!((one.n_terms(), one.intercept()), (0, 3.0));
    let constant = fit(&Random::new(1).normals(40), 2, &[4.0; 20]);
    assert_eq!((constant.n_terms(), constant.intercept()), (0, 4.0));
    assert!(constant.report().notes[0].contains("the target is constant"));
    let y = Random::new(2).normals(20);
    let flat = fit(&[5.0; 40], 2, &y);
    assert!(flat.report().notes[0].contains("no column varies"));
    assert_eq!(flat.report().dropped.len(), 2);
    let x = Random::new(3).normals(20);
    let exact: Vec<f64> = x.iter().map(|x| 1.0 + 2.0 * x).collect();
    // A single column is shrunk by λ/Σx², which is a tenth of its weight.
    assert!((fit(&x, 1, &exact).coefficients()[0] - 1.8).abs() < 1e-9);
    // Orthogonal to every column: λ_max is nothing, and so is the model.
    let model = fit(&[1.0, -1.0, 1.0, -1.0], 1, &[1.0, 1.0, -1.0, -1.0]);
    assert_eq!(model.n_terms(), 0);
}

#[test]
fn paths_of_degenerate_data_have_every_model() {
    let x = Random::new(1).normals(40);
    let data = Dataset::new(DenseView::by_rows(&x, 20, 2).unwrap(), &[4.0; 20]).unwrap();
    assert_eq!(Lasso::new().path(&data, Some(&[1.0, 2.0])).unwrap().len(), 2);
    assert_eq!(Lasso::new().path(&data, None).unwrap().len(), 100);
}

#[test]
fn bad_settings_are_named() {
    let p = Problem::linear(1, 20, 3, 1, 0.1);
    let refused = |method: Lasso, parts: &[&str]| {
        let message = method.fit(&p.data()).unwrap_err().to_string();
        parts.iter().for_each(|part| assert!(message.contains(part), "{message}"));
    };
    for ratio in [-0.1, 1.1, f64::NAN] {
        refused(Lasso::new().l1_ratio(ratio), &["l1_ratio = ", "[0, 1]"]);
    }
    refused(Lasso::new().lam(-1.0), &["lam = -1"]);
    refused(Lasso::new().lam(f64::NAN), &["lam = NaN"]);
    refused(Lasso::new().lam_ratio(0.0), &["lam_ratio = 0", "(0, 1]"]);
    refused(Lasso::new().lam(1.0).lam_ratio(0.5), &["either lam or lam_ratio"]);
    for exponent in [0.0, -1.0, f64::INFINITY] {
        refused(Lasso::new().adaptive(exponent), &["adaptive = ", "above 0"]);
    }
    refused(Lasso::new().penalty_factors(vec![1.0; 2]), &["penalty_factors = 2 numbers", "3"]);
    refused(Lasso::new().penalty_factors(vec![1.0, -1.0, 1.0]), &["penalty_factors = -1"]);
    refused(Lasso::new().penalty_factors(vec![1.0, f64::NAN, 1.0]), &["penalty_factors = NaN"]);
    let message = Lasso::new().path(&p.data(), Some(&[1.0, -2.0])).unwrap_err().to_string();
    assert!(message.contains("lams = -2"), "{message}");
    let message = Lasso::from_json(r#"{"prior": "laplace"}"#).unwrap_err().to_string();
    assert!(message.contains("no such setting"), "{message}");
    let labels = fewer::data::Target::labels(p.y.iter().map(|y| *y > 2.0));
    let data = Dataset::new(p.view(), labels).unwrap();
    assert!(Lasso::new().fit(&data).unwrap_err().to_string().contains("ProbitClassifier"));
}

/// Asks to stop at the n-th question.
struct Stop {
    after: usize,
    asked: AtomicUsize,
}

impl Observer for Stop {
    fn check(&self) -> Result<(), Interrupted> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        if asked >= self.after { Err(Interrupted) } else { Ok(()) }
    }
}

#[test]
fn an_observer_can_stop_it_anywhere() {
    let p = Problem::linear(1, 60, 200, 5, 0.5);
    let watch = |after: usize| {
        let stop = Stop { after, asked: AtomicUsize::new(0) };
        let fitted = Lasso::new().lam_ratio(0.01).fit_observed(&p.data(), &stop);
        (fitted, stop.asked.into_inner())
    };
    let (fitted, questions) = watch(usize::MAX);
    assert!(fitted.is_ok() && questions > 5);
    for after in (0..questions).step_by(1 + questions / 20) {
        let (fitted, _) = watch(after);
        assert!(matches!(fitted, Err(fewer::Error::Interrupted)), "{after} of {questions}");
    }
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
        let y: Vec<f64> =
            x.chunks(columns).map(|r| r[0] + r[1] + 0.5 * random.normals(1)[0]).collect();
        let method = Lasso::new().lam(0.5).standardize(false);
        let fit = |chosen: &[usize], method: &Lasso, by_moments: bool| {
            let part: Vec<f64> =
                x.chunks(columns).flat_map(|row| chosen.iter().map(|&j| row[j])).collect();
            let view = DenseView::by_rows(&part, rows, chosen.len()).unwrap();
            let data = Dataset::new(view, &y).unwrap();
            let model = match by_moments {
                true => {
                    let mut builder = MomentsBuilder::new(chosen.iter().map(|j| format!("c{j}")));
                    builder.push(view, &y, None).unwrap();
                    method.fit_moments(builder.finish().unwrap())
                }
                false => method.fit(&data),
            };
            model.unwrap().report().objective
        };
        let all: Vec<usize> = (0..columns).collect();
        let one = all.iter().map(|&j| fit(&[j], &method, false)).fold(f64::INFINITY, f64::min);
        let pairs = all.iter().flat_map(|&j| (0..j).map(move |i| [i, j]));
        let two = pairs.map(|pair| fit(&pair, &method, false)).fold(f64::INFINITY, f64::min);
        for (most, best) in [(1, one), (2, two)] {
            for by_moments in [false, true] {
                let found = fit(&all, &method.clone().max_terms(most), by_moments);
                assert!(found <= best * (1.0 + 1e-3), "{seed}, {most}: {found} {best}");
            }
        }
    }
}
