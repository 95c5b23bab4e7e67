//! Tipping 2001, Tipping & Faul 2003 and the sparsity prior of Tzikas et al. 2009: relevance vector
//! regression against an independent reference and theory.

mod support;

use fewer::basis::Gamma;
use fewer::data::{Dataset, DenseView, MomentsBuilder};
use fewer::method::{
    BLS, BasisKind, EvidenceSolver, FastLaplace, Intercept, RVR, Sparsity, SparsityRule, Variant,
};
use fewer::model::{CertificateKind, Model};
use serde_json::Value;
use support::{Problem, Random, distance, fixture};

fn reference(case: &str) -> Value {
    serde_json::from_str::<Value>(&fixture("evidence.json")).unwrap()[case].clone()
}

fn number(case: &Value, name: &str) -> f64 {
    case[name].as_f64().unwrap()
}

/// (x, y) of the reference.
fn sinc() -> (Vec<f64>, Vec<f64>) {
    let text = fixture("sinc_n100.csv");
    let row = |line: &str| {
        let (x, y) = line.split_once(',').unwrap();
        (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
    };
    text.lines().skip(1).map(row).unzip()
}

fn fit_sinc(method: RVR, width: f64) -> Model {
    let (x, y) = sinc();
    let data = Dataset::new(DenseView::by_rows(&x, x.len(), 1).unwrap(), &y).unwrap();
    method
        .gamma(Gamma::Number(1.0 / (width * width)))
        .standardize(false)
        .fit_intercept(Intercept::None)
        .fit(&data)
        .unwrap()
}

/// At least the reference's objective (another maximum may be higher), and nearly its noise.
fn at_least(model: &Model, objective: f64, noise: Option<f64>, case: &str) {
    let found = -model.report().objective;
    assert!(found > objective - 1e-3, "{case}: {found} {objective}");
    if let Some(noise) = noise {
        let ratio = model.noise_std().unwrap() / noise;
        assert!((ratio - 1.0).abs() < 0.03, "{case}: {ratio}");
    }
    assert!(model.report().termination.is_converged(), "{case}");
    assert_eq!(model.report().certificate.kind, CertificateKind::Evidence);
}

#[test]
fn fast_and_block_reach_the_reference() {
    for (case, solver) in [
        ("rvm_regression_sinc", EvidenceSolver::Fast),
        ("rvm_regression_sinc_block_from_all", EvidenceSolver::Block),
    ] {
        let expected = reference(case);
        let model = fit_sinc(RVR::new().solver(solver), 3.0);
        at_least(&model, number(&expected, "logml"), Some(number(&expected, "noise_sd")), case);
        assert_eq!(model.report().log_evidence.unwrap(), -model.report().objective);
        assert!((5..=8).contains(&model.n_terms()), "{case}: {}", model.n_terms());
    }
}

#[test]
fn the_sparsity_prior_reaches_the_reference() {
    let bic = Sparsity::Rule(SparsityRule::Bic);
    for (case, variant) in [
        ("sparsity_prior_sinc_c_logN_2_exact", Variant::Exact),
        ("sparsity_prior_sinc_c_logN_2_paper", Variant::Paper),
    ] {
        let expected = reference(case);
        let model = fit_sinc(RVR::new().sparsity(bic).variant(variant), 3.0);
        let noise = number(&expected, "noise_sd");
        at_least(&model, number(&expected, "objective"), Some(noise), case);
    }
    let path = reference("sparsity_prior_sinc_h1_exact_path");
    let mut terms = usize::MAX;
    for (name, rule) in [
        ("0", SparsityRule::None),
        ("1", SparsityRule::Aic),
        ("logN/2", SparsityRule::Bic),
        ("logN", SparsityRule::Ric),
    ] {
        let model = fit_sinc(RVR::new().sparsity(Sparsity::Rule(rule)), 1.0);
        at_least(&model, number(&path[name], "objective"), None, name);
        assert!(model.n_terms() <= terms, "{name}");
        terms = model.n_terms();
    }
}

/// With little noise many kernels explain a little each, given the others.
#[test]
fn fast_is_not_below_block_with_little_noise() {
    let x: Vec<f64> = (0..100).map(|i| -10.0 + 20.0 * f64::from(i) / 99.0).collect();
    for (noise, seed) in [(1e-3, 0), (1e-3, 1), (1e-3, 2), (1e-4, 0), (1e-4, 1), (0.0, 0)] {
        let mut random = Random::new(seed);
        let y: Vec<f64> = x.iter().map(|x| x.sin() / x + noise * random.normal()).collect();
        let data = Dataset::new(DenseView::by_rows(&x, 100, 1).unwrap(), &y).unwrap();
        let fit = |solver| RVR::new().solver(solver).fit(&data).unwrap();
        let (fast, block) = (fit(EvidenceSolver::Fast), fit(EvidenceSolver::Block));
        let evidence = |m: &Model| m.report().log_evidence.unwrap();
        assert!(evidence(&fast) > evidence(&block) - 0.5, "{noise} {seed}");
        assert!(block.report().termination.is_converged(), "{noise} {seed}");
        assert!(fast.report().termination.is_converged(), "{noise} {seed}");
    }
}

/// Of columns that hardly overlap there is one mode for given noise, and both solvers find it.
#[test]
fn fast_and_block_agree_where_the_mode_is_shared() {
    for seed in 0..4 {
        let p = Problem::linear(seed, 200, 10, 4, 0.5);
        for c in [0.0, 1.0, 3.0] {
            let fit = |solver: EvidenceSolver| {
                let method = RVR::new().basis(BasisKind::Linear).sparsity(Sparsity::Number(c));
                method.solver(solver).max_iter(100_000).fit(&p.data()).unwrap()
            };
            agree(&fit(EvidenceSolver::Fast), &fit(EvidenceSolver::Block), &format!("{seed} {c}"));
        }
    }
}

/// Kernels of which none is near another.
#[test]
fn fast_and_block_agree_where_kernels_are_apart() {
    let mut random = Random::new(8);
    let x: Vec<f64> = (0..40).map(f64::from).collect();
    let y: Vec<f64> =
        (0..40).map(|i| if i % 5 == 0 { 3.0 } else { 0.0 } + 0.4 * random.normal()).collect();
    let data = Dataset::new(DenseView::by_rows(&x, 40, 1).unwrap(), &y).unwrap();
    // The values of neighbours at each other's places are 1e-2.
    let fit = |solver: EvidenceSolver| {
        let method = RVR::new().gamma(Gamma::Number(4.6)).standardize(false).noise(0.4);
        method.solver(solver).max_iter(100_000).fit(&data).unwrap()
    };
    let fast = fit(EvidenceSolver::Fast);
    assert!((8..20).contains(&fast.n_terms()), "{}", fast.n_terms());
    agree(&fast, &fit(EvidenceSolver::Block), "kernels");
}

fn agree(fast: &Model, block: &Model, what: &str) {
    let (a, b) = (fast.report().objective, block.report().objective);
    assert!((a - b).abs() < 1e-6 * a.abs(), "{what}: {a} {b}");
    assert!(block.report().termination.is_converged(), "{what}");
    assert!(block.report().certificate.value <= 1e-8, "{what}");
    let names = |m: &Model| m.terms().iter().map(|t| t.index).collect::<Vec<usize>>();
    assert_eq!(names(fast), names(block), "{what}");
    let (a, b) = (fast.coefficients(), block.coefficients());
    let size = a.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    assert!(distance(&a, &b) < 1e-5 * size, "{what}: {a:?} {b:?}");
}

#[test]
fn blocks_keep_few_terms_where_few_are_asked_for() {
    let (x, y) = sinc();
    let data = Dataset::new(DenseView::by_rows(&x, 100, 1).unwrap(), &y).unwrap();
    let fit = |most: usize| {
        let method = RVR::new().gamma(Gamma::Number(1.0 / 9.0)).standardize(false);
        method.solver(EvidenceSolver::Block).max_terms(most).fit(&data).unwrap()
    };
    let mut last = f64::NEG_INFINITY;
    for most in [1, 3, 5] {
        let model = fit(most);
        assert_eq!(model.n_terms(), most);
        assert!(model.report().termination.is_converged());
        let evidence = model.report().log_evidence.unwrap();
        assert!(evidence > last, "{most}: {evidence} {last}");
        last = evidence;
    }
}

/// How often intervals of 90 % hold the weights that the data was made with.
#[test]
fn credible_intervals_of_weights_cover() {
    let (mut held, mut all) = ([0, 0, 0], 0);
    for seed in 0..150 {
        let p = Problem::linear(1000 + seed, 200, 8, 3, 0.5);
        let linear = RVR::new().basis(BasisKind::Linear);
        let models = [
            linear.fit(&p.data()).unwrap(),
            BLS::new().fit(&p.data()).unwrap(),
            FastLaplace::new().fit(&p.data()).unwrap(),
        ];
        let true_terms: Vec<usize> = (0..8).filter(|&j| p.weights[j].abs() > 0.0).collect();
        all += true_terms.len();
        for (model, held) in models.iter().zip(&mut held) {
            let intervals = model.credible_intervals(0.9).unwrap();
            for (term, interval) in model.terms().iter().zip(&intervals) {
                let (low, high) = interval[0].unwrap();
                let truth = p.weights[term.index];
                *held += usize::from(truth != 0.0 && low < truth && truth < high);
            }
        }
    }
    // The noise and the choice of terms are taken for known, which costs a point here (and six of
    // 60 rows); one standard deviation of the count is 1.4 %.
    for held in held {
        let share = held as f64 / all as f64;
        assert!((0.85..0.94).contains(&share), "{share} of {all}");
    }
}

#[test]
fn moments_tell_all() {
    let p = Problem::linear(3, 300, 12, 4, 0.5);
    let linear = || RVR::new().basis(BasisKind::Linear);
    let rows = linear().fit(&p.data()).unwrap();
    let names: Vec<String> = (1..=12).map(|j| format!("x{j}")).collect();
    let mut builder = MomentsBuilder::new(names);
    for (x, y) in p.x.chunks(100 * 12).zip(p.y.chunks(100)) {
        builder.push(DenseView::by_rows(x, 100, 12).unwrap(), y, None).unwrap();
    }
    let moments = linear().fit_moments(builder.finish().unwrap()).unwrap();
    assert!(distance(&rows.coefficients(), &moments.coefficients()) < 1e-6);
    let (a, b) = (rows.report().log_evidence.unwrap(), moments.report().log_evidence.unwrap());
    assert!((a - b).abs() < 1e-6 * a.abs());
}

#[test]
fn evidence_follows_the_units() {
    let (x, y) = sinc();
    let fit = |y: &[f64]| {
        let data = Dataset::new(DenseView::by_rows(&x, 100, 1).unwrap(), y).unwrap();
        RVR::new().fit(&data).unwrap()
    };
    let reference = fit(&y);
    let scaled = fit(&y.iter().map(|y| 1e6 * y).collect::<Vec<f64>>());
    assert_eq!(reference.n_terms(), scaled.n_terms());
    let change = scaled.report().log_evidence.unwrap() - reference.report().log_evidence.unwrap();
    // The flat intercept has the units of y as well.
    assert!((change + 99.0 * 1e6f64.ln()).abs() < 1e-6, "{change}");
    let ratio = scaled.noise_std().unwrap() / reference.noise_std().unwrap();
    assert!((ratio / 1e6 - 1.0).abs() < 1e-9);
}

#[test]
fn intervals_cover() {
    let mut random = Random::new(5);
    let x: Vec<f64> = (0..400).map(|_| 20.0 * random.uniform() - 10.0).collect();
    let y: Vec<f64> = x.iter().map(|x| x.sin() / x + 0.1 * random.normal()).collect();
    let train = Dataset::new(DenseView::by_rows(&x[..200], 200, 1).unwrap(), &y[..200]).unwrap();
    let model = RVR::new().fit(&train).unwrap();
    let new = DenseView::by_rows(&x[200..], 200, 1).unwrap();
    let interval = model.predict_interval(new, 0.95).unwrap();
    let inside =
        (0..200).filter(|&i| interval[(i, 0)] < y[200 + i] && y[200 + i] < interval[(i, 1)]);
    let covered = inside.count();
    assert!((180..=198).contains(&covered), "{covered}");
    let std = model.predict_std(new).unwrap();
    assert!(std.iter().all(|s| *s > model.noise_std().unwrap()));
    assert_eq!(model.credible_intervals(0.9).unwrap().len(), model.n_terms());
}

#[test]
fn what_there_is_to_say_is_said() {
    let mut random = Random::new(1);
    let x = random.normals(200);
    let view = DenseView::by_rows(&x, 50, 4).unwrap();
    let linear = || RVR::new().basis(BasisKind::Linear);
    // A pure combination of columns.
    let y: Vec<f64> = x.chunks(4).map(|x| 1.0 + x[0] - 2.0 * x[3]).collect();
    let model = linear().fit(&Dataset::new(view, &y).unwrap()).unwrap();
    assert!(distance(&model.coefficients(), &[1.0, 0.0, 0.0, -2.0]) < 1e-5);
    assert!(model.report().notes.iter().any(|n| n.contains("exactly")));
    // Nothing to find.
    let y = random.normals(50);
    let none = linear().sparsity(Sparsity::Number(20.0)).fit(&Dataset::new(view, &y).unwrap());
    let none = none.unwrap();
    assert_eq!(none.n_terms(), 0);
    assert!(none.report().notes[0].contains("no term is kept"), "{:?}", none.report().notes);
    assert!((none.noise_std().unwrap() - 1.0).abs() < 0.3);
    // A limit.
    let few = RVR::new().max_terms(2).fit(&Dataset::new(view, &y).unwrap()).unwrap();
    assert!(few.n_terms() <= 2);
    // Known noise.
    let known = linear().noise(0.7).fit(&Dataset::new(view, &y).unwrap()).unwrap();
    assert_eq!(known.noise_std(), Some(0.7));
    for settings in [r#"{"sparsity": -1}"#, r#"{"sparsity": "much"}"#, r#"{"noise": 0}"#] {
        let data = Dataset::new(view, &y).unwrap();
        let error = fewer::method::fit("rvm", settings, None, &data, &fewer::engine::Silent);
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("sparsity") || message.starts_with("noise"), "{message}");
    }
}

#[test]
fn kernels_computed_on_demand_give_the_same_fit() {
    let mut random = Random::new(9);
    let x: Vec<f64> = (0..1500).map(|_| 20.0 * random.uniform() - 10.0).collect();
    let y: Vec<f64> = x.iter().map(|x| x.sin() / x + 0.1 * random.normal()).collect();
    let data = Dataset::new(DenseView::by_rows(&x, 1500, 1).unwrap(), &y).unwrap();
    let held = RVR::new().fit(&data).unwrap();
    // 18 MB of kernel values are more than a quarter of this.
    let on_demand = RVR::new().memory_limit(4e7).fit(&data).unwrap();
    let (a, b) = (held.report().log_evidence.unwrap(), on_demand.report().log_evidence.unwrap());
    // Rounding may lead to another of maxima that are nearly as high.
    assert!((a - b).abs() < 0.5, "{a} {b}");
}

/// A fit that has not converged says why, and what to do.
#[test]
fn a_stalled_block_says_so() {
    let x: Vec<f64> = (0..300).map(|i| 2.0 * f64::from(i) / 299.0 - 1.0).collect();
    let y: Vec<f64> = x.iter().map(|x| x.exp()).collect();
    let data = Dataset::new(DenseView::by_rows(&x, 300, 1).unwrap(), &y).unwrap();
    let model = RVR::new().solver(EvidenceSolver::Block).fit(&data).unwrap();
    let report = model.report();
    let said = report.notes.iter().any(|n| n.contains("use solver = fast"));
    assert!(said || report.termination.is_converged(), "{:?}", report.notes);
    // Nothing as bad as no fit at all.
    assert!(report.log_evidence.unwrap() > 1000.0);
}

/// A penalised intercept is no term, and no limit is passed where another ends the fit.
#[test]
fn max_terms_is_kept() {
    let penalised = || {
        let kernels = RVR::new().gamma(Gamma::Number(0.3)).standardize(false);
        kernels.fit_intercept(Intercept::Penalised).max_terms(1)
    };
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let x: Vec<f64> = (0..40).map(|_| 6.0 * random.uniform() - 3.0).collect();
        let y: Vec<f64> = x.iter().map(|x| (2.0 * x).sin() + 0.1 * random.normal()).collect();
        let data = Dataset::new(DenseView::by_rows(&x, 40, 1).unwrap(), &y).unwrap();
        assert!(penalised().fit(&data).unwrap().n_terms() <= 1, "seed {seed}");
        let block = penalised().solver(EvidenceSolver::Block).max_iter(2);
        assert!(block.fit(&data).unwrap().n_terms() <= 1, "block, seed {seed}");
    }
}

/// Columns that the active ones span to nine digits have gains that are rounding.
#[test]
fn smooth_targets_without_noise_converge() {
    for (rows, noise) in [(100u32, 1e-6), (100, 1e-4), (200, 1e-6)] {
        let mut random = Random::new(7);
        let x: Vec<f64> =
            (0..rows).map(|i| 2.0 * f64::from(i) / f64::from(rows - 1) - 1.0).collect();
        let y: Vec<f64> = x.iter().map(|x| x.exp() + noise * random.normal()).collect();
        let view = DenseView::by_rows(&x, x.len(), 1).unwrap();
        let model = RVR::new().fit(&Dataset::new(view, &y).unwrap()).unwrap();
        let report = model.report();
        assert!(report.termination.is_converged() && report.certificate.value <= 1e-8);
        assert!(report.iterations < 1000, "{rows} rows: {}", report.iterations);
        assert!(distance(&model.predict(view).unwrap(), &y) < 1e-3);
    }
}

/// With more columns than rows the evidence is highest where the target is interpolated.
#[test]
fn interpolation_is_noted_with_what_to_do() {
    let mut random = Random::new(2);
    let (x, y) = (random.normals(40 * 150), random.normals(40));
    let data = Dataset::new(DenseView::by_rows(&x, 40, 150).unwrap(), &y).unwrap();
    let linear = || RVR::new().basis(BasisKind::Linear);
    let model = linear().fit(&data).unwrap();
    let notes = &model.report().notes;
    assert!(
        model.n_terms() > 30 && notes.iter().any(|n| n.contains("sparsity = bic")),
        "{notes:?}"
    );
    let ric = linear().sparsity(Sparsity::Rule(SparsityRule::Ric)).fit(&data).unwrap();
    assert!(ric.n_terms() < 10, "{}", ric.n_terms());
}
