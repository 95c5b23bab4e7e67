//! Choosing settings, and judging methods, against direct formulas and fits made by hand.

mod support;

use fewer::data::{Dataset, DenseView, Features, SparseMatrix, Target};
use fewer::engine::{Interrupted, Observer, SelectionProgress, Silent};
use fewer::linalg::Matrix;
use fewer::method::{fit, fit_path};
use fewer::model::Model;
use fewer::select::{
    Criterion, CrossValidation, Gammas, Lams, Predicted, Rule, Score, Search, Split, evaluate,
    golden_section, log_spaced,
};
use fewer::{Error, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use support::{Problem, Random, distance};

const LAPLACE: &str = r#"{"prior": "laplace", "lam": "cv", "lams": 8}"#;

fn labels(seed: u64, rows: usize, classes: i64) -> Target<'static> {
    let mut random = Random::new(seed);
    Target::labels((0..rows).map(|_| (classes as f64 * random.uniform()) as i64))
}

fn codes(target: &Target<'_>) -> Vec<usize> {
    match target {
        Target::Labels { codes, .. } => codes.clone(),
        Target::Numbers(_) => panic!("numbers"),
    }
}

/// Data without inputs that matter.
fn rows_only<'a>(x: &'a [f64], target: impl Into<Target<'a>>) -> Dataset<'a> {
    Dataset::new(DenseView::by_rows(x, x.len(), 1).unwrap(), target).unwrap()
}

fn tests_of(split: &Split) -> Vec<Vec<usize>> {
    (0..split.len()).map(|f| split.test(f).to_vec()).collect()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

fn fitted(method: &str, settings: &str, data: &Dataset<'_>) -> Result<Model> {
    fit(method, settings, None, data, &Silent)
}

#[test]
fn folds_partition_the_rows_of_positive_weight() {
    let x: Vec<f64> = (0..47).map(f64::from).collect();
    let weights: Vec<f64> = (0..47).map(|i| if i % 7 == 3 { 0.0 } else { 1.5 }).collect();
    let counted: Vec<usize> = (0..47).filter(|i| i % 7 != 3).collect();
    let groups: Vec<usize> = (0..47).map(|i| i * i % 11).collect();
    let target = labels(1, 47, 3);
    let data = rows_only(&x, target.clone()).with_weights(weights).unwrap();
    for folds in [
        CrossValidation::k_fold(5),
        CrossValidation::k_fold(5).shuffled(3),
        CrossValidation::stratified(4),
        CrossValidation::stratified(4).shuffled(9),
        CrossValidation::grouped(3, groups.clone()),
        CrossValidation::grouped(3, groups.clone()).shuffled(1),
        CrossValidation::leave_one_out(),
    ] {
        let split = folds.split(&data).unwrap();
        let mut all: Vec<usize> = tests_of(&split).concat();
        all.sort_unstable();
        assert_eq!(all, counted, "{folds:?}");
        for f in 0..split.len() {
            let mut both = [split.test(f), &split.train(f)].concat();
            both.sort_unstable();
            assert_eq!(both, counted, "{folds:?}");
        }
    }
}

#[test]
fn plain_folds_are_scikit_learns() {
    let x: Vec<f64> = (0..7).map(f64::from).collect();
    let split = CrossValidation::k_fold(3).split(&rows_only(&x, &x)).unwrap();
    assert_eq!(tests_of(&split), [vec![0, 1, 2], vec![3, 4], vec![5, 6]]);
    // StratifiedKFold(2) for these labels.
    let target = Target::labels(["b", "a", "a", "b", "a", "c", "c"]);
    let split = CrossValidation::stratified(2).split(&rows_only(&x, target)).unwrap();
    assert_eq!(tests_of(&split), [vec![0, 1, 2, 5], vec![3, 4, 6]]);
}

#[test]
fn stratified_folds_keep_the_shares_of_the_classes() {
    let x: Vec<f64> = (0..203).map(f64::from).collect();
    let target = labels(4, 203, 4);
    let codes = codes(&target);
    for folds in [CrossValidation::new(5), CrossValidation::stratified(5).shuffled(2)] {
        let split = folds.split(&rows_only(&x, target.clone())).unwrap();
        for class in 0..4 {
            let all = codes.iter().filter(|c| **c == class).count();
            for test in tests_of(&split) {
                let here = test.iter().filter(|&&i| codes[i] == class).count();
                assert!(here.abs_diff(all / 5) <= 1, "{here} of {all}");
            }
        }
        let sizes: Vec<usize> = tests_of(&split).iter().map(Vec::len).collect();
        assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
    }
}

#[test]
fn groups_stay_together_in_folds_of_similar_size() {
    let x: Vec<f64> = (0..90).map(f64::from).collect();
    let groups: Vec<String> = (0..90).map(|i| format!("patient {}", i % 13 % 9)).collect();
    for folds in
        [CrossValidation::grouped(3, &groups), CrossValidation::grouped(3, &groups).repeated(2, 5)]
    {
        let split = folds.split(&rows_only(&x, &x)).unwrap();
        for test in tests_of(&split) {
            assert!(test.len().abs_diff(30) <= 7);
            let inside = |i: &usize| test.iter().any(|&j| groups[j] == groups[*i]);
            assert!((0..90).all(|i| inside(&i) == test.contains(&i)));
        }
    }
}

#[test]
fn repeats_differ_and_depend_on_the_seed_only() {
    let x: Vec<f64> = (0..30).map(f64::from).collect();
    let data = rows_only(&x, &x);
    let folds =
        |seed| tests_of(&CrossValidation::k_fold(3).repeated(2, seed).split(&data).unwrap());
    assert_eq!(folds(1), folds(1));
    assert_ne!(folds(1), folds(2));
    assert_eq!(folds(1).len(), 6);
    assert_ne!(folds(1)[..3], folds(1)[3..]);
}

#[test]
fn bad_folds_are_refused_clearly() {
    let x: Vec<f64> = (0..6).map(f64::from).collect();
    let data = rows_only(&x, &x);
    let of = |folds: CrossValidation| message(folds.split(&data));
    assert_eq!(
        of(CrossValidation::k_fold(7)),
        "cv = 7: at most 6, the number of rows of positive weight, is expected"
    );
    assert_eq!(of(CrossValidation::k_fold(1)), "cv = 1: at least 2 folds are expected");
    assert!(of(CrossValidation::stratified(2)).contains("the target holds numbers"));
    assert!(of(CrossValidation::leave_one_out().repeated(2, 0)).starts_with("cv = loo: "));
    assert_eq!(
        of(CrossValidation::grouped(3, [1, 1, 1, 2, 2, 2])),
        "cv = 3: at most 2, the number of groups, is expected"
    );
    assert!(of(CrossValidation::grouped(2, [1, 2])).contains("expected 6, one for each row"));
    assert!(of(CrossValidation::given(vec![])).contains("at least one (train, test) pair"));
    assert!(of(CrossValidation::given(vec![(vec![0, 9], vec![1])])).contains("below 6"));
    assert!(
        of(CrossValidation::given(vec![(vec![], vec![1])])).contains("training part of fold 1")
    );
    let rare = Target::labels([0i64, 1, 1, 1, 1, 1]);
    let split = CrossValidation::new(3).split(&rows_only(&x, rare)).unwrap();
    assert!(split.notes()[0].starts_with("class '0' has 1 row, fewer than the 3 folds"));
}

#[test]
fn scores_of_numbers_equal_their_formulas() {
    let mut random = Random::new(2);
    let (y, mean) = (random.normals(20), random.normals(20));
    let w: Vec<f64> = (0..20).map(|_| random.uniform()).collect();
    let s = 0.7;
    let total: f64 = w.iter().sum();
    let average = |f: &dyn Fn(usize) -> f64| (0..20).map(|i| w[i] * f(i)).sum::<f64>() / total;
    let mse = average(&|i| (y[i] - mean[i]).powi(2));
    let centre = average(&|i| y[i]);
    let density = |i: usize| {
        (-0.5 * ((y[i] - mean[i]) / s).powi(2)).exp() / (s * (2.0 * std::f64::consts::PI).sqrt())
    };
    let expected = [
        (Score::Mse, mse),
        (Score::Rmse, mse.sqrt()),
        (Score::Mae, average(&|i| (y[i] - mean[i]).abs())),
        (Score::R2, 1.0 - mse / average(&|i| (y[i] - centre).powi(2))),
        (Score::Deviance, average(&|i| -2.0 * density(i).ln())),
        (Score::Nlpd, average(&|i| -density(i).ln())),
        (Score::Coverage, average(&|i| f64::from((y[i] - mean[i]).abs() < 1.96 * s))),
    ];
    let predicted = Predicted::Numbers { mean: mean.clone(), std: Some(vec![s; 20]) };
    for (score, value) in expected {
        let found = score.of(&Target::from(&y), &predicted, Some(&w)).unwrap();
        assert!((found - value).abs() < 1e-13, "{score}: {found} {value}");
    }
    let without = Predicted::Numbers { mean, std: None };
    let unknown = message(Score::Deviance.of(&Target::from(&y), &without, None));
    assert!(unknown.contains("does not say how far observations scatter"), "{unknown}");
    let wrong = message(Score::Auc.of(&Target::from(&y), &without, None));
    assert!(wrong.starts_with("scoring = auc: the target holds numbers"), "{wrong}");
    let unknown = |name: &str| name.parse::<Score>().unwrap_err().to_string();
    assert!(unknown("accurate").contains("balanced_error"));
    assert!(unknown("accuracy").contains("take error"));
}

#[test]
fn scores_of_classes_equal_their_formulas() {
    for classes in [2usize, 3] {
        let mut random = Random::new(3);
        let n = 40;
        let target = labels(5, n, classes as i64);
        let codes = codes(&target);
        let w: Vec<f64> = (0..n).map(|i| if i == 7 { 0.0 } else { random.uniform() }).collect();
        let mut p = Matrix::zeros(n, classes);
        for i in 0..n {
            // Few values, so that there are ties.
            let raw: Vec<f64> =
                (0..classes).map(|_| (1.0 + 3.0 * random.uniform()).floor()).collect();
            (0..classes).for_each(|c| p[(i, c)] = raw[c] / raw.iter().sum::<f64>());
        }
        let said: Vec<usize> = (0..n)
            .map(|i| (0..classes).rev().max_by(|&a, &b| p[(i, a)].total_cmp(&p[(i, b)])).unwrap())
            .collect();
        let total: f64 = w.iter().sum();
        let share = |f: &dyn Fn(usize) -> bool| (0..n).filter(|&i| f(i)).map(|i| w[i]).sum::<f64>();
        let balanced = (0..classes)
            .map(|c| share(&|i| codes[i] == c && said[i] != c) / share(&|i| codes[i] == c))
            .sum::<f64>()
            / classes as f64;
        let area = |c: usize| {
            let (mut right, mut pairs) = (0.0, 0.0);
            for a in (0..n).filter(|&a| codes[a] == c) {
                for b in (0..n).filter(|&b| codes[b] != c) {
                    let won = match p[(a, c)].partial_cmp(&p[(b, c)]).unwrap() {
                        std::cmp::Ordering::Greater => 1.0,
                        std::cmp::Ordering::Equal => 0.5,
                        std::cmp::Ordering::Less => 0.0,
                    };
                    right += w[a] * w[b] * won;
                    pairs += w[a] * w[b];
                }
            }
            right / pairs
        };
        let auc = if classes == 2 { area(1) } else { (0..3).map(area).sum::<f64>() / 3.0 };
        let nlpd = (0..n).map(|i| -w[i] * p[(i, codes[i])].ln()).sum::<f64>() / total;
        let predicted = Predicted::Classes { probabilities: p.clone(), codes: said.clone() };
        for (score, value) in [
            (Score::Error, share(&|i| said[i] != codes[i]) / total),
            (Score::BalancedError, balanced),
            (Score::Auc, auc),
            (Score::Nlpd, nlpd),
            (Score::Deviance, 2.0 * nlpd),
        ] {
            let found = score.of(&target, &predicted, Some(&w)).unwrap();
            assert!((found - value).abs() < 1e-13, "{score}: {found} {value}");
        }
    }
}

#[test]
fn criteria_equal_their_formulas() {
    let p = Problem::linear(6, 50, 8, 3, 0.5);
    let w: Vec<f64> = (0..50).map(|i| (i % 3) as f64).collect();
    let data = p.data().with_weights(w.clone()).unwrap();
    let model = fitted("sparse", "{}", &data).unwrap();
    let f = model.predict(p.view()).unwrap();
    let n: f64 = w.iter().sum();
    let rss: f64 = (0..50).map(|i| w[i] * (p.y[i] - f[i]).powi(2)).sum();
    let (k, misfit) = (model.n_terms() as f64 + 1.0, n * (rss / n).ln());
    let close = |criterion: Criterion, value: f64| {
        let found = criterion.of(&model, &data).unwrap();
        assert!((found - value).abs() < 1e-9 * value.abs(), "{criterion:?} {found} {value}");
    };
    close(Criterion::Aic, misfit + 2.0 * k);
    close(Criterion::Bic, misfit + k * n.ln());
    let choices: f64 = (0..model.n_terms()).map(|i| (8 - i) as f64 / (i + 1) as f64).product();
    close(Criterion::Ebic(0.5), misfit + k * n.ln() + choices.ln());
    assert!(message(Criterion::Evidence.of(&model, &data)).contains("does not compute it"));

    let classes = Target::labels(p.y.iter().map(|y| *y > 2.0));
    let data = Dataset::new(p.view(), classes).unwrap();
    let model = fitted("probit", r#"{"fit_intercept": false}"#, &data).unwrap();
    let probabilities = model.predict_probabilities(p.view()).unwrap();
    let deviance: f64 = codes(data.target())
        .iter()
        .enumerate()
        .map(|(i, &c)| -2.0 * probabilities[(i, c)].max(f64::EPSILON).ln())
        .sum();
    let bic = Criterion::Bic.of(&model, &data).unwrap();
    assert!((bic - deviance - model.n_terms() as f64 * 50f64.ln()).abs() < 1e-9);
}

#[test]
fn the_golden_section_finds_the_minimum_of_a_known_function() {
    let mut evaluations = 0;
    let (x, value) = golden_section(1e-3, 1e3, 35, |x: f64| {
        evaluations += 1;
        Ok((x.ln() - 2.0).powi(2) + 3.0)
    })
    .unwrap()
    .unwrap();
    assert_eq!(evaluations, 35);
    assert!((x.ln() - 2.0).abs() < 1e-5 && (value - 3.0).abs() < 1e-9);
    // Few evaluations stay within the golden bound.
    let (x, _) = golden_section(1.0, 100.0, 6, |x: f64| Ok((x.ln() - 1.0).abs())).unwrap().unwrap();
    assert!((x.ln() - 1.0).abs() < 100f64.ln() * 0.618f64.powi(5));
}

/// Rows of x and y, copied.
fn subset(p: &Problem, rows: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let x = rows.iter().flat_map(|&i| p.x[i * p.columns..(i + 1) * p.columns].iter().copied());
    (x.collect(), rows.iter().map(|&i| p.y[i]).collect())
}

#[test]
fn a_fold_equals_a_fit_made_by_hand() {
    let p = Problem::linear(8, 40, 5, 2, 1.0);
    for basis in ["linear", "rbf"] {
        let base = format!(r#"{{"prior": "laplace", "tol": 1e-12, "basis": "{basis}"}}"#);
        let search = Search::new("sparse", &base)
            .unwrap()
            .lams(Lams::Values(vec![0.5, 4.0, 1.0]))
            .folds(CrossValidation::k_fold(4).shuffled(1));
        let selection = search.run(&p.data(), &Silent).unwrap();
        let lams: Vec<f64> =
            selection.points.iter().map(|p| p.settings["lam"].as_f64().unwrap()).collect();
        assert_eq!(lams, [4.0, 1.0, 0.5]);
        let split = CrossValidation::k_fold(4).shuffled(1).split(&p.data()).unwrap();
        for f in 0..4 {
            let (x, y) = subset(&p, &split.train(f));
            let (new_x, new_y) = subset(&p, split.test(f));
            let data = Dataset::new(DenseView::by_rows(&x, y.len(), 5).unwrap(), &y).unwrap();
            // λ shrinks with the rows it stands against.
            let fold_lams: Vec<f64> = lams.iter().map(|lam| 0.75 * lam).collect();
            let models = fit_path("sparse", &base, None, &data, &fold_lams, &Silent).unwrap();
            for (point, model) in selection.points.iter().zip(&models) {
                let new = DenseView::by_rows(&new_x, new_y.len(), 5).unwrap();
                let found = model.predict(new).unwrap();
                let mse = found.iter().zip(&new_y).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
                    / new_y.len() as f64;
                assert!((point.scores[f] / mse - 1.0).abs() < 1e-8, "{basis}");
            }
        }
        let point = selection.best_point();
        let mean = point.scores.iter().sum::<f64>() / 4.0;
        let square = point.scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 3.0;
        assert!((point.mean - mean).abs() < 1e-14);
        assert!((point.standard_error.unwrap() - (square / 4.0).sqrt()).abs() < 1e-14);
        assert!(selection.points.iter().all(|p| p.mean >= point.mean));
    }
}

#[test]
fn sparse_inputs_and_given_folds_give_the_same_selection() {
    let p = Problem::linear(9, 40, 4, 2, 0.5);
    let x: Vec<f64> = p.x.iter().map(|v| if v.abs() < 0.5 { 0.0 } else { *v }).collect();
    let starts: Vec<usize> = (0..=40).map(|i| 4 * i).collect();
    let indices: Vec<usize> = (0..160).map(|k| k % 4).collect();
    let sparse = SparseMatrix::from_rows(40, 4, &starts, &indices, &x).unwrap();
    let dense = Dataset::new(DenseView::by_rows(&x, 40, 4).unwrap(), &p.y).unwrap();
    let rows = Features::from(sparse.view()).select_rows(&[5, 3]).unwrap();
    let Features::Sparse(copy) = rows.view() else { panic!("dense") };
    for j in 0..4 {
        let column: Vec<f64> =
            (0..2).map(|i| copy.column(j).find(|e| e.0 == i).map_or(0.0, |e| e.1)).collect();
        assert_eq!(column, [x[20 + j], x[12 + j]]);
    }
    let split = CrossValidation::k_fold(4).split(&dense).unwrap();
    let pairs = (0..4).map(|f| (split.train(f), split.test(f).to_vec())).collect();
    let search =
        Search::new("sparse", r#"{"prior": "laplace", "lam": "cv", "lams": [0.1, 1, 9]}"#).unwrap();
    let plain = search.clone().folds(CrossValidation::k_fold(4)).run(&dense, &Silent).unwrap();
    let data = Dataset::new(sparse.view(), &p.y).unwrap();
    let given = search.folds(CrossValidation::given(pairs)).run(&data, &Silent).unwrap();
    for (a, b) in plain.points.iter().zip(&given.points) {
        assert!(distance(&a.scores, &b.scores) < 1e-6 * a.mean);
    }
    assert_eq!((plain.folds, given.folds), (4, 4));
}

#[test]
fn words_in_the_settings_choose_and_refit() {
    let p = Problem::linear(10, 60, 6, 2, 1.0);
    let data = p.data();
    let settings = r#"{"prior": "laplace", "lam": "cv", "lams": 12, "cv": 4, "scoring": "mae"}"#;
    let model = fitted("sparse", settings, &data).unwrap();
    let selection = model.report().selection.clone().unwrap();
    assert_eq!((selection.score.as_str(), selection.folds, selection.points.len()), ("mae", 4, 12));
    let chosen = selection.chosen_point().settings["lam"].as_f64();
    assert_eq!(model.report().lam, chosen);
    assert_eq!(model.settings()["lam"], "cv");
    assert_eq!(model.settings()["lams"], 12);
    // λ goes from λ_max of all data to a thousandth of it.
    let largest = fitted("sparse", r#"{"prior": "laplace", "lam_ratio": 1}"#, &data).unwrap();
    let lams: Vec<f64> =
        selection.points.iter().map(|p| p.settings["lam"].as_f64().unwrap()).collect();
    let top = largest.report().lam.unwrap();
    assert_eq!(lams, log_spaced(top, top * 1e-3, 12));
    // The same by hand.
    let by_hand = format!(r#"{{"prior": "laplace", "lam": {}}}"#, chosen.unwrap());
    let by_hand = fitted("sparse", &by_hand, &data).unwrap();
    assert_eq!(by_hand.coefficients(), model.coefficients());
    let read = Model::from_json(&model.to_json().unwrap()).unwrap();
    assert_eq!(read.report().selection, Some(selection));
    // Criteria.
    for word in ["bic", "ebic", "aic"] {
        let settings = format!(r#"{{"prior": "laplace", "lam": "{word}", "lams": 20}}"#);
        let model = fitted("sparse", &settings, &data).unwrap();
        let selection = model.report().selection.as_ref().unwrap();
        assert_eq!((selection.score.as_str(), selection.folds), (word, 0));
        let value = Criterion::named(word).unwrap().of(&model, &data).unwrap();
        assert!((value - selection.best_point().mean).abs() < 1e-9);
    }
}

#[test]
fn the_one_standard_error_rule_takes_the_largest_lam_within_it() {
    let p = Problem::linear(12, 60, 10, 2, 3.0);
    let search =
        Search::new("sparse", LAPLACE).unwrap().lams(Lams::Spaced { count: 30, min_ratio: None });
    let best = search.run(&p.data(), &Silent).unwrap();
    let one_se = search.rule(Rule::OneSe).run(&p.data(), &Silent).unwrap();
    assert_eq!(best.points, one_se.points);
    assert_eq!((best.best, best.chosen), (one_se.best, best.best));
    let limit = best.best_point().mean + best.best_point().standard_error.unwrap();
    // From large to small: the first within the limit.
    let expected = best.points.iter().position(|p| p.mean <= limit).unwrap();
    assert_eq!(one_se.chosen, expected);
    assert!(one_se.chosen < one_se.best);
}

#[test]
fn the_width_of_a_kernel_is_searched_and_refined() {
    let mut random = Random::new(13);
    let x: Vec<f64> = (0..60).map(|i| f64::from(i) / 10.0).collect();
    let y: Vec<f64> = x.iter().map(|x| (2.0 * x).sin() + 0.05 * random.normal()).collect();
    let data = rows_only(&x, &y);
    let settings = r#"{"basis": "rbf", "gamma": "cv", "cv_shuffle": true}"#;
    let model = fitted("sparse", settings, &data).unwrap();
    let selection = model.report().selection.as_ref().unwrap();
    assert_eq!(selection.points.len(), 9 + 6);
    let gammas: Vec<f64> =
        selection.points.iter().map(|p| p.settings["gamma"].as_f64().unwrap()).collect();
    assert!((gammas[4] - 1.0).abs() < 1e-12 && (gammas[0] * 256.0 - 1.0).abs() < 1e-12);
    let first = (0..9)
        .min_by(|&a, &b| selection.points[a].mean.total_cmp(&selection.points[b].mean))
        .unwrap();
    let (low, high) = (gammas[first.saturating_sub(1)], gammas[(first + 1).min(8)]);
    assert!(gammas[9..].iter().all(|g| (low..=high).contains(g)));
    assert!(selection.best_point().mean <= selection.points[first].mean);
    assert_eq!(model.kernel().unwrap().gamma(), Some(gammas[selection.chosen]));
    let both = r#"{"basis": "rbf", "prior": "laplace", "gamma": "cv", "lam": "cv", "gammas": [0.5, 2],
        "lams": 3, "cv": 3, "cv_shuffle": true}"#;
    let model = fitted("sparse", both, &data).unwrap();
    let selection = model.report().selection.as_ref().unwrap();
    assert_eq!(selection.points.len(), 6);
    assert_eq!(model.settings()["gamma"], "cv");
    // Any other setting, too.
    let search = Search::new("sparse", r#"{"basis": "polynomial"}"#)
        .unwrap()
        .values("degree", vec![1.into(), 5.into()])
        .folds(CrossValidation::k_fold(5).shuffled(0));
    assert_eq!(search.run(&data, &Silent).unwrap().chosen_point().settings["degree"], 5);
    let spaced = Search::new("sparse", r#"{"basis": "rbf"}"#)
        .unwrap()
        .gammas(Gammas::Around { count: 3, refine: 0 });
    assert_eq!(spaced.run(&data, &Silent).unwrap().points.len(), 3);
}

#[test]
fn shared_distances_change_no_score() {
    let p = Problem::linear(20, 50, 25, 3, 0.5);
    let folds = CrossValidation::k_fold(3).shuffled(2);
    for base in [
        r#""prior": "gaussian", "basis": "rbf""#,
        r#""prior": "gaussian", "basis": "rbf", "standardize": false"#,
        r#""prior": "gaussian", "basis": "laplacian""#,
        r#""prior": "gaussian", "basis": "polynomial-kernel", "candidates": 10"#,
    ] {
        let search = Search::new("sparse", &format!("{{{base}}}"))
            .unwrap()
            .gammas(Gammas::Values(vec![0.003, 0.02]))
            .folds(folds.clone());
        let selection = search.run(&p.data(), &Silent).unwrap();
        for point in &selection.points {
            let settings = format!(r#"{{{base}, "gamma": {}}}"#, point.settings["gamma"]);
            let alone =
                evaluate("sparse", &settings, None, &p.data(), &folds, &[Score::Mse], &Silent);
            let alone = &alone.unwrap().scores[0].folds;
            assert!(distance(alone, &point.scores) < 1e-7 * point.mean, "{base}");
        }
    }
}

#[test]
fn a_kernel_much_narrower_than_the_rows_are_apart_can_be_tried() {
    let x: Vec<f64> = (0..1200).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| (0.01 * x).sin()).collect();
    // By a criterion all rows are fitted at once: more than are looked at to choose units.
    let settings = r#"{"basis": "rbf", "gamma": "bic", "gammas": [1e-4, 500], "candidates": 20,
        "standardize": false}"#;
    let model = fitted("sparse", settings, &rows_only(&x, &y)).unwrap();
    assert_eq!(model.kernel().unwrap().gamma(), Some(1e-4));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let p = Problem::linear(14, 60, 6, 2, 1.0);
    let classes = Target::labels(p.y.iter().map(|y| *y > 2.0));
    let labelled = Dataset::new(p.view(), classes).unwrap();
    let numbers = p.data();
    for (method, data, settings) in [
        ("sparse", &numbers, r#""prior": "laplace", "lam": "cv", "lams": 12, "cv_repeats": 2"#),
        ("sparse", &numbers, r#""basis": "rbf", "gamma": "cv", "gammas": 3"#),
        ("probit", &labelled, r#""prior": "laplace", "lam": "cv", "lams": 6, "cv": 3"#),
    ] {
        let run = |threads: usize| {
            let settings = format!(r#"{{{settings}, "n_jobs": {threads}}}"#);
            let model = fitted(method, &settings, data).unwrap();
            (model.report().selection.clone().unwrap(), model.coefficients())
        };
        let one = run(1);
        assert!((0..3).all(|_| run(2) == one), "{method}");
        let judged = |threads: usize| {
            let settings = format!(r#"{{{settings}, "n_jobs": {threads}}}"#);
            let folds = CrossValidation::new(3).shuffled(4);
            evaluate(method, &settings, None, data, &folds, &[], &Silent).unwrap().scores
        };
        assert_eq!(judged(1), judged(2));
    }
}

/// Asks to stop after so many fits.
struct StopAfter {
    fits: usize,
    done: AtomicUsize,
    last: Mutex<Option<SelectionProgress>>,
}

impl StopAfter {
    fn new(fits: usize) -> Self {
        Self { fits, done: AtomicUsize::new(0), last: Mutex::new(None) }
    }
}

impl Observer for StopAfter {
    fn selection(&self, progress: SelectionProgress) {
        self.done.store(progress.done, SeqCst);
        *self.last.lock().unwrap() = Some(progress);
    }

    fn check(&self) -> std::result::Result<(), Interrupted> {
        if self.done.load(SeqCst) >= self.fits { Err(Interrupted) } else { Ok(()) }
    }
}

#[test]
fn an_interruption_leaves_the_finished_part() {
    let p = Problem::linear(15, 50, 5, 2, 1.0);
    for threads in [1, 2] {
        let settings = format!(r#"{{"prior": "laplace", "n_jobs": {threads}}}"#);
        let search = Search::new("sparse", &settings)
            .unwrap()
            .lams(Lams::Spaced { count: 40, min_ratio: None });
        let whole = search.run(&p.data(), &Silent).unwrap();
        assert!(whole.complete);
        let finished = AtomicUsize::new(0);
        let observer = StopAfter::new(110);
        let part = search
            .run_with(&p.data(), &observer, &|fit| {
                assert!(fit.score.unwrap() > 0.0 && fit.fold.unwrap() < 5);
                finished.fetch_add(1, SeqCst);
            })
            .unwrap();
        assert!(!part.complete);
        assert!((8..40).contains(&part.points.len()), "{}", part.points.len());
        assert!(part.points.iter().all(|p| whole.points.contains(p)));
        if threads == 1 {
            assert_eq!(part.points[..], whole.points[..16]);
        }
        assert!(part.notes[0].starts_with("the search was interrupted"));
        assert!(finished.load(SeqCst) >= 110);
        let last = observer.last.lock().unwrap().unwrap();
        assert_eq!((last.all, last.done), (200, finished.load(SeqCst)));
        assert!(last.best.is_some() && last.seconds_left.unwrap() >= 0.0);
        let none = search.run(&p.data(), &StopAfter::new(0));
        assert_eq!(none.unwrap_err(), Error::Interrupted);
        assert_eq!(search.fit(&p.data(), &StopAfter::new(110)).unwrap_err(), Error::Interrupted);
    }
}

#[test]
fn an_interrupted_path_leaves_the_finished_folds() {
    let p = Problem::linear(15, 50, 5, 2, 1.0);
    let labels = Target::labels(p.y.iter().map(|y| *y > 0.0));
    let classes = Dataset::new(p.view(), labels).unwrap();
    for (method, data) in [("lasso", &p.data()), ("smlr", &classes)] {
        let search = Search::new(method, r#"{"n_jobs": 1}"#)
            .unwrap()
            .lams(Lams::Spaced { count: 20, min_ratio: None });
        let whole = search.run(data, &Silent).unwrap();
        let part = search.run(data, &StopAfter::new(40)).unwrap();
        assert!(!part.complete);
        assert_eq!((part.points.len(), part.folds, part.repeats), (20, 2, 1));
        for (part, whole) in part.points.iter().zip(&whole.points) {
            assert_eq!(part.scores[..], whole.scores[..2]);
            assert!((part.mean - 0.5 * (part.scores[0] + part.scores[1])).abs() < 1e-12);
        }
        let note = "20 of 20 points are complete in 2 of 5 folds, which judge them";
        assert!(part.notes[0].contains(note), "{:?}", part.notes);
        assert_eq!(search.run(data, &StopAfter::new(0)).unwrap_err(), Error::Interrupted);
    }
}

#[test]
fn an_interrupted_evaluation_leaves_the_finished_folds() {
    let p = Problem::linear(15, 50, 5, 2, 1.0);
    let folds = CrossValidation::new(5).repeated(2, 3);
    let run = |observer: &dyn Observer| {
        let settings = r#"{"lam": "cv", "lams": 5, "n_jobs": 1}"#;
        evaluate("lasso", settings, None, &p.data(), &folds, &[Score::Mse], observer)
    };
    let whole = run(&Silent).unwrap();
    let part = run(&StopAfter::new(3)).unwrap();
    assert!(whole.complete && !part.complete);
    assert_eq!((part.folds, part.repeats, part.rows.len()), (3, 1, 30));
    assert_eq!(part.scores[0].folds[..], whole.scores[0].folds[..3]);
    assert_eq!(part.notes, ["interrupted: 3 of 10 folds are complete"]);
    assert_eq!(run(&StopAfter::new(0)).unwrap_err(), Error::Interrupted);
}

#[test]
fn nested_cross_validation_of_noise_covers_chance() {
    let (n, d) = (80, 10);
    let settings = r#"{"lam": "cv", "lams": 8, "cv": 4}"#;
    for balanced in [false, true] {
        let covered = (0..40).filter(|seed| {
            let mut random = Random::new(100 + seed);
            let x = random.normals(n * d);
            let chance: Vec<bool> = (0..n).map(|_| random.uniform() < 0.5).collect();
            let labels = (0..n).map(|i| if balanced { i % 2 == 0 } else { chance[i] });
            let view = DenseView::by_rows(&x, n, d).unwrap();
            let data = Dataset::new(view, Target::labels(labels)).unwrap();
            let folds = CrossValidation::new(5).shuffled(*seed);
            let found =
                evaluate("smlr", settings, None, &data, &folds, &[Score::Error], &Silent).unwrap();
            let error = &found.scores[0];
            (error.mean - 0.5).abs() < 2.0 * error.standard_error.unwrap()
        });
        let covered = covered.count();
        assert!(covered >= 34, "balanced: {balanced}: {covered} of 40");
    }
}

#[test]
fn the_error_over_rows_is_that_of_a_mean() {
    let p = Problem::linear(21, 150, 3, 2, 1.0);
    let folds = CrossValidation::leave_one_out();
    let scores = [Score::Mse, Score::Rmse, Score::Mae];
    let found = evaluate("sparse", "{}", None, &p.data(), &folds, &scores, &Silent).unwrap();
    let Predicted::Numbers { mean, .. } = &found.predicted else { panic!("classes") };
    let errors: Vec<f64> = (0..150).map(|i| (mean[i] - p.y[i]).powi(2)).collect();
    let centre = errors.iter().sum::<f64>() / 150.0;
    let square: f64 = errors.iter().map(|e| (e - centre).powi(2)).sum();
    let exact = (square / 149.0 / 150.0).sqrt();
    assert!((found.scores[0].standard_error.unwrap() / exact - 1.0).abs() < 1e-9);
    // The delta method, to first order.
    let root = exact / (2.0 * centre.sqrt());
    assert!((found.scores[1].standard_error.unwrap() / root - 1.0).abs() < 0.02);
}

#[test]
fn criteria_that_count_terms_refuse_those_that_keep_all() {
    let p = Problem::linear(22, 40, 4, 2, 1.0);
    for (method, settings) in [
        ("lasso", r#"{"lam": "bic", "l1_ratio": 0.0}"#),
        ("sparse", r#"{"lam": "ebic", "prior": "gaussian"}"#),
    ] {
        let failed = fewer::method::fit(method, settings, None, &p.data(), &Silent);
        assert!(failed.unwrap_err().to_string().contains("choose by \"cv\""));
    }
    for (settings, said) in [
        (r#"{"lam": "cv"}"#, "say which to try in lams"),
        (r#"{"lam": "evidence", "lams": [0.1, 1]}"#, "the smallest λ always wins"),
    ] {
        let failed = fewer::method::fit("bls", settings, None, &p.data(), &Silent);
        let message = failed.unwrap_err().to_string();
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn the_price_of_a_parameter_is_chosen_too() {
    let p = Problem::linear(23, 60, 6, 2, 1.0);
    let settings = r#"{"basis": "linear", "sparsity": "cv"}"#;
    let model = fewer::method::fit("rvm", settings, None, &p.data(), &Silent).unwrap();
    let selection = model.report().selection.as_ref().unwrap();
    let tried: Vec<&str> =
        selection.points.iter().filter_map(|p| p.settings["sparsity"].as_str()).collect();
    assert_eq!(tried, ["none", "aic", "bic", "ric"]);
    let scores = |k: usize| selection.points[k].scores.clone();
    assert_ne!(scores(0), scores(3));
    assert_eq!(model.settings()["sparsity"], "cv");
}

#[test]
fn nested_cross_validation_of_noise_reports_chance() {
    let mut random = Random::new(16);
    let (n, d) = (60, 5);
    let x = random.normals(n * d);
    let target = Target::labels((0..n).map(|i| i % 2 == 0));
    let data = Dataset::new(DenseView::by_rows(&x, n, d).unwrap(), target).unwrap();
    let settings = r#"{"prior": "laplace", "lam": "cv", "lams": 8, "scoring": "error"}"#;
    let folds = CrossValidation::new(5).repeated(4, 1);
    let scores = [Score::Error, Score::Auc, Score::Deviance];
    let found = evaluate("probit", settings, None, &data, &folds, &scores, &Silent).unwrap();
    let error = &found.scores[0];
    assert!((error.mean - 0.5).abs() < 2.0 * error.standard_error.unwrap(), "{error:?}");
    assert!(error.standard_error.unwrap() > 0.03, "{error:?}");
    let deviance = &found.scores[2];
    assert!(deviance.mean > 2.0 * 2f64.ln() - 0.05, "{deviance:?}");
    assert_eq!((found.chosen.len(), found.folds, found.repeats), (20, 5, 4));
    assert_eq!(found.rows, (0..n).collect::<Vec<_>>());
}

#[test]
fn an_evaluation_equals_fits_made_by_hand() {
    let p = Problem::linear(17, 30, 4, 2, 0.5);
    let folds = CrossValidation::leave_one_out();
    let found =
        evaluate("sparse", "{}", None, &p.data(), &folds, &[Score::R2, Score::Mse], &Silent)
            .unwrap();
    let mut errors = Vec::new();
    for i in 0..30 {
        let rows: Vec<usize> = (0..30).filter(|&k| k != i).collect();
        let (x, y) = subset(&p, &rows);
        let data = Dataset::new(DenseView::by_rows(&x, 29, 4).unwrap(), &y).unwrap();
        let model = fitted("sparse", "{}", &data).unwrap();
        let (x, y) = subset(&p, &[i]);
        errors.push(
            (model.predict(DenseView::by_rows(&x, 1, 4).unwrap()).unwrap()[0] - y[0]).powi(2),
        );
    }
    assert!(distance(&found.scores[1].folds, &errors) < 1e-8);
    let mean = p.y.iter().sum::<f64>() / 30.0;
    let total: f64 = p.y.iter().map(|y| (y - mean).powi(2)).sum();
    let r2 = 1.0 - errors.iter().sum::<f64>() / total;
    // One row has no R²: the pooled one stands for all.
    assert!((found.scores[0].mean - r2).abs() < 1e-8 && found.scores[0].folds.is_empty());
    assert!((found.scores[1].mean - found.scores[1].pooled).abs() < 1e-12);
    let Predicted::Numbers { mean, .. } = &found.predicted else { panic!("classes") };
    assert!((0..30).all(|i| ((mean[i] - p.y[i]).powi(2) - errors[i]).abs() < 1e-8));
    let all = evaluate("sparse", "{}", None, &p.data(), &CrossValidation::new(3), &[], &Silent);
    assert_eq!(all.unwrap().scores.len(), 7);
}

#[test]
fn a_class_that_a_training_part_lacks_costs_much_but_not_everything() {
    let mut random = Random::new(18);
    let x = random.normals(60);
    let target = Target::labels((0..30).map(|i| if i < 3 { 2 } else { i64::from(x[2 * i] > 0.0) }));
    let data = Dataset::new(DenseView::by_rows(&x, 30, 2).unwrap(), target).unwrap();
    // Class 2 is in the first fold only.
    let folds = CrossValidation::k_fold(5);
    let settings = r#"{"class_weight": [1, 2, 3]}"#;
    let found = evaluate("probit", settings, None, &data, &folds, &[], &Silent).unwrap();
    let score = |s: Score| found.scores.iter().find(|e| e.score == s).unwrap();
    assert!(score(Score::Error).folds[0] >= 0.5);
    let deviance = score(Score::Deviance).folds[0];
    assert!(deviance > 0.49 * -2.0 * f64::EPSILON.ln() && deviance.is_finite());
    assert!(score(Score::Auc).mean.is_finite());
    let one = Target::labels((0..30).map(|i| i < 6));
    let data = Dataset::new(DenseView::by_rows(&x, 30, 2).unwrap(), one).unwrap();
    let failed = evaluate("probit", "{}", None, &data, &folds, &[], &Silent);
    assert!(message(failed).contains("the training rows of fold 1 are all of class 'false'"));
}

#[test]
fn settings_that_make_no_sense_are_refused_clearly() {
    let p = Problem::linear(19, 20, 3, 1, 0.5);
    let refused = |settings: &str| message(fitted("sparse", settings, &p.data()));
    for (settings, expected) in [
        (r#"{"lam": "cv"}"#, "lam = cv: the Jeffreys prior has no λ"),
        (r#"{"lam": "best"}"#, "lam = \"best\": a number, \"cv\""),
        (r#"{"cv": 5}"#, "cv = 5: there is nothing to choose: set lam or gamma to \"cv\""),
        (r#"{"gamma": "cv"}"#, "gamma = cv: the basis has no gamma"),
        (r#"{"basis": "linear-kernel", "gamma": "cv"}"#, "gamma = cv: the basis has no gamma"),
        (r#"{"basis": "rbf", "gamma": "evidence"}"#, "the evidence of SparseRegressor is not"),
        (r#"{"prior": "laplace", "lam": "cv", "gammas": 3}"#, "gammas = 3: it belongs to a search"),
        (r#"{"prior": "laplace", "lam": "cv", "cv": 1}"#, "cv = 1: at least 2 folds"),
        (r#"{"prior": "laplace", "lam": "cv", "cv": "ten"}"#, "cv = \"ten\": a number of folds"),
        (r#"{"prior": "laplace", "lam": "cv", "cv": 21}"#, "cv = 21: at most 20"),
        (
            r#"{"prior": "laplace", "lam": "cv", "rule": "x"}"#,
            "rule = \"x\": \"best\" or \"one_se\"",
        ),
        (
            r#"{"prior": "laplace", "lam": "cv", "scoring": "auc"}"#,
            "scoring = auc: the target holds",
        ),
        (
            r#"{"prior": "laplace", "lam": "cv", "scoring": "coverage"}"#,
            "scoring = coverage: it tells",
        ),
        (r#"{"prior": "laplace", "lam": "cv", "scoring": "x"}"#, "scoring = x: one of rmse"),
        (
            r#"{"prior": "laplace", "lam": "cv", "lam_ratio": 0.1}"#,
            "lam_ratio = 0.1: lam is searched",
        ),
        (r#"{"prior": "laplace", "lam": "cv", "lams": []}"#, "lams = 0: a list of numbers"),
        (r#"{"prior": "laplace", "lam": "cv", "lams": [-1]}"#, "lams = -1: numbers of at least 0"),
        (r#"{"prior": "laplace", "lam": "cv", "lam_min_ratio": 2}"#, "lam_min_ratio = 2: a number"),
        (
            r#"{"prior": "laplace", "lam": "bic", "scoring": "mse"}"#,
            "scoring = \"mse\": it belongs",
        ),
        (
            r#"{"prior": "laplace", "lam": "bic", "rule": "one_se"}"#,
            "rule = \"one_se\": it belongs",
        ),
        (
            r#"{"prior": "laplace", "lam": "bic", "gamma": "cv"}"#,
            "lam = bic: gamma is chosen by cv",
        ),
        (
            r#"{"prior": "laplace", "lam": "cv", "cv_repeats": 2, "cv_shuffle": false}"#,
            "cv_repeats = 2",
        ),
        (
            r#"{"prior": "laplace", "lam": "cv", "cv": "loo", "cv_shuffle": true}"#,
            "cv = loo: these",
        ),
        (
            r#"{"prior": "laplace", "lam": "cv", "unknown": 1}"#,
            "unknown = 1: there is no such setting",
        ),
        (r#"{"prior": "laplace", "lam": "cv", "n_jobs": 0}"#, "n_jobs = 0: a whole number"),
    ] {
        let found = refused(settings);
        assert!(found.starts_with(expected), "{settings}: {found}");
    }
    assert!(
        message(Search::new("sparse", "{}").unwrap().run(&p.data(), &Silent)).contains("name a")
    );
    // Nothing of Python is nothing.
    assert!(fitted("sparse", r#"{"cv": null, "lams": null, "scoring": null}"#, &p.data()).is_ok());
    let constant = vec![1.0; 20];
    let data = Dataset::new(p.view(), &constant).unwrap();
    assert_eq!(fitted("sparse", LAPLACE, &data).unwrap().n_terms(), 0);
}

#[test]
fn leave_one_out_has_the_rmse_of_all_rows_together() {
    let p = Problem::linear(3, 30, 4, 2, 0.5);
    let folds = CrossValidation::leave_one_out();
    let scores = [Score::Rmse, Score::Mse];
    let found = evaluate("lasso", "{}", None, &p.data(), &folds, &scores, &Silent).unwrap();
    let (rmse, mse) = (&found.scores[0], &found.scores[1]);
    assert!((rmse.mean.powi(2) / mse.mean - 1.0).abs() < 1e-12);
    assert!(rmse.standard_error.is_some_and(|e| e > 0.0));
}
