//! Relevance vector classification (Tipping 2001, sec. 3; Tzikas et al. 2009) against an
//! independent reference and theory.

mod support;

use fewer::basis::Gamma;
use fewer::data::{Dataset, DenseView, Label, Target};
use fewer::method::{BasisKind, Intercept, Multiclass, RVC, Sparsity, SparsityRule};
use fewer::model::{CertificateKind, Model};
use serde_json::Value;
use support::{Random, distance, fixture};

fn reference(case: &str) -> Value {
    serde_json::from_str::<Value>(&fixture("classification.json")).unwrap()[case].clone()
}

/// Two classes in the plane: (x by rows, whether it is the second).
fn mixture() -> (Vec<f64>, Vec<bool>) {
    let (mut x, mut classes) = (Vec::new(), Vec::new());
    for line in fixture("gmm2_n100.csv").lines().skip(1) {
        let values: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
        x.extend(&values[..2]);
        classes.push(values[2] > 0.5);
    }
    (x, classes)
}

/// The kernel of the reference, without a bias.
fn fit_mixture(method: RVC) -> Model {
    let (x, classes) = mixture();
    let view = DenseView::by_rows(&x, classes.len(), 2).unwrap();
    method
        .gamma(Gamma::Number(1.0 / 0.64))
        .standardize(false)
        .fit_intercept(Intercept::None)
        .fit(&Dataset::new(view, Target::labels(classes)).unwrap())
        .unwrap()
}

#[test]
fn the_reference_is_reached() {
    for (case, rule) in [
        ("rvm_classification_gmm2", SparsityRule::None),
        ("rvm_classification_gmm2_c_logN_2_exact", SparsityRule::Bic),
    ] {
        let expected = reference(case);
        let model = fit_mixture(RVC::new().sparsity(Sparsity::Rule(rule)));
        let found = -model.report().objective;
        let objective = expected["objective"].as_f64().unwrap();
        assert!(found > objective - 1e-3, "{case}: {found} {objective}");
        assert!(model.report().termination.is_converged());
        assert_eq!(model.report().certificate.kind, CertificateKind::Evidence);
        assert!(model.report().certificate.value <= 1e-8);
        let terms = expected["n_rv"].as_u64().unwrap() as i64;
        assert!((model.n_terms() as i64 - terms).abs() <= 2, "{case}: {}", model.n_terms());
    }
}

fn labels(model: &Model, view: DenseView<'_>) -> Vec<Label> {
    model.predict_labels(view).unwrap()
}

fn log_loss(probabilities: &fewer::linalg::Matrix, codes: &[usize]) -> f64 {
    let logs = codes.iter().enumerate().map(|(i, &c)| -probabilities[(i, c)].ln());
    logs.sum::<f64>() / codes.len() as f64
}

/// Three clouds in the plane.
fn clouds(seed: u64, rows: usize) -> (Vec<f64>, Vec<usize>) {
    let mut random = Random::new(seed);
    let centres = [(0.0, 1.5), (1.3, -0.75), (-1.3, -0.75)];
    let codes: Vec<usize> = (0..rows).map(|i| i % 3).collect();
    let point =
        |&c: &usize| [centres[c].0 + 0.8 * random.normal(), centres[c].1 + 0.8 * random.normal()];
    (codes.iter().flat_map(point).collect(), codes)
}

#[test]
fn several_classes_jointly_and_one_against_the_rest() {
    let (x, codes) = clouds(1, 150);
    let (new, truth) = clouds(2, 1500);
    let view = DenseView::by_rows(&x, 150, 2).unwrap();
    let new = DenseView::by_rows(&new, 1500, 2).unwrap();
    let names = ["a", "b", "c"];
    let target = Target::labels(codes.iter().map(|&c| names[c]));
    let data = Dataset::new(view, target).unwrap();
    let mut losses = Vec::new();
    for multiclass in [Multiclass::Ovr, Multiclass::Multinomial] {
        let model = RVC::new().multiclass(multiclass).fit(&data).unwrap();
        let found = labels(&model, new);
        let wrong = found.iter().zip(&truth).filter(|(f, t)| f.to_string() != names[**t]).count();
        assert!(wrong < 200, "{multiclass:?}: {wrong}");
        let moderated = model.predict_probabilities(new).unwrap();
        let plug_in = model.plug_in_probabilities(new).unwrap();
        for p in [&moderated, &plug_in] {
            for i in 0..1500 {
                assert!(((0..3).map(|c| p[(i, c)]).sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }
        assert_eq!(model.moderated_probabilities(new).unwrap(), moderated);
        losses.push((log_loss(&moderated, &truth), log_loss(&plug_in, &truth)));
        let copy = Model::from_json(&model.to_json().unwrap()).unwrap();
        assert_eq!(copy.predict_probabilities(new).unwrap(), moderated);
    }
    // Bayes' rule has 0.27.
    assert!(losses.iter().all(|(m, p)| *m < 0.34 && *p < 0.34), "{losses:?}");
}

#[test]
fn two_classes_are_the_same_however_they_are_put() {
    let (x, classes) = mixture();
    let view = DenseView::by_rows(&x, 100, 2).unwrap();
    let data = Dataset::new(view, Target::labels(classes.clone())).unwrap();
    let swapped = Dataset::new(view, Target::labels(classes.iter().map(|c| !c))).unwrap();
    let model = RVC::new().fit(&data).unwrap();
    let joint = RVC::new().multiclass(Multiclass::Multinomial).fit(&data).unwrap();
    assert_eq!(model.coefficients(), joint.coefficients());
    let other = RVC::new().fit(&swapped).unwrap();
    let turned: Vec<f64> = other.coefficients().iter().map(|w| -w).collect();
    assert!(distance(&model.coefficients(), &turned) < 1e-4, "{}", model.n_terms());
    let (a, b) = (model.report().log_evidence.unwrap(), other.report().log_evidence.unwrap());
    assert!((a - b).abs() < 1e-6);
}

/// Far from the data weights say nothing of kernels, and much of straight lines.
#[test]
fn doubt_grows_away_from_the_data() {
    let (x, classes) = mixture();
    let data =
        Dataset::new(DenseView::by_rows(&x, 100, 2).unwrap(), Target::labels(classes)).unwrap();
    let model = RVC::new().basis(BasisKind::Linear).fit(&data).unwrap();
    assert!(model.n_terms() > 0);
    let far: Vec<f64> = (1..=4).flat_map(|k| [10f64.powi(k), -10f64.powi(k)]).collect();
    let far = DenseView::by_rows(&far, 4, 2).unwrap();
    let (moderated, plug_in) =
        (model.predict_probabilities(far).unwrap(), model.plug_in_probabilities(far).unwrap());
    assert!(plug_in.column(0)[3].min(plug_in.column(1)[3]) < 1e-12);
    assert!(moderated.column(0)[3].min(moderated.column(1)[3]) > 1e-6);
}

#[test]
fn separable_lonely_and_many_classes() {
    // One row of each of two classes.
    let x = [0.0, 1.0];
    let view = DenseView::by_rows(&x, 2, 1).unwrap();
    for basis in [BasisKind::Rbf, BasisKind::Linear] {
        let data = Dataset::new(view, Target::labels([false, true])).unwrap();
        let model = RVC::new().basis(basis).fit(&data).unwrap();
        let p = model.predict_probabilities(view).unwrap();
        assert!(p[(1, 1)] >= 0.5 && p[(0, 0)] >= 0.5 && p[(1, 1)] < 1.0);
    }
    // Separable.
    let mut random = Random::new(3);
    let x = random.normals(400);
    let view = DenseView::by_rows(&x, 200, 2).unwrap();
    let side: Vec<bool> = x.chunks(2).map(|x| x[0] + 2.0 * x[1] > 0.0).collect();
    for basis in [BasisKind::Rbf, BasisKind::Linear, BasisKind::Polynomial] {
        for intercept in [Intercept::Free, Intercept::None, Intercept::Penalised] {
            let data = Dataset::new(view, Target::labels(side.clone())).unwrap();
            let model = RVC::new().basis(basis).fit_intercept(intercept).fit(&data).unwrap();
            assert!(model.report().termination.is_converged(), "{basis:?} {intercept:?}");
            let codes = model.predict_codes(view).unwrap();
            let wrong = codes.iter().zip(&side).filter(|(c, s)| (**c == 1) != **s).count();
            assert!(wrong <= 6, "{basis:?} {intercept:?}: {wrong}");
        }
    }
    // A hundred classes, two rows each, and then one.
    for (rows, classes, multiclass) in [
        (200, 100, Multiclass::Ovr),
        (30, 30, Multiclass::Ovr),
        (20, 10, Multiclass::Multinomial),
        (12, 12, Multiclass::Multinomial),
    ] {
        let view = DenseView::by_rows(&x[..2 * rows], rows, 2).unwrap();
        let target = Target::labels((0..rows).map(|i| (i % classes) as i64));
        let data = Dataset::new(view, target).unwrap();
        let model = RVC::new().multiclass(multiclass).fit(&data).unwrap();
        let p = model.predict_probabilities(view).unwrap();
        assert!(p.as_slice().iter().all(|p| p.is_finite() && *p >= 0.0));
    }
    // A hundred classes jointly, as far as a second takes it.
    let view = DenseView::by_rows(&x, 200, 2).unwrap();
    let data = Dataset::new(view, Target::labels((0..200).map(|i| i64::from(i % 100)))).unwrap();
    let joint = RVC::new().multiclass(Multiclass::Multinomial).max_time(1.0).fit(&data).unwrap();
    let p = joint.predict_probabilities(view).unwrap();
    assert!(p.as_slice().iter().all(|p| p.is_finite() && *p >= 0.0));
}

#[test]
fn prices_and_limits_cost_terms() {
    let (x, codes) = clouds(5, 200);
    let view = DenseView::by_rows(&x, 200, 2).unwrap();
    let data = Dataset::new(view, Target::labels(codes.iter().map(|c| *c == 0))).unwrap();
    let fit = |c: f64| {
        let sparsity = Sparsity::Number(c);
        RVC::new().gamma(Gamma::Number(2.0)).sparsity(sparsity).fit(&data).unwrap()
    };
    let terms: Vec<usize> = [0.0, 1.0, 4.0, 100.0].map(|c| fit(c).n_terms()).to_vec();
    assert!(terms.windows(2).all(|w| w[1] <= w[0]) && terms[0] > 0, "{terms:?}");
    assert_eq!(terms[3], 0);
    assert!(fit(100.0).report().notes[0].contains("no term is kept"));
    let limited = RVC::new().max_terms(2).gamma(Gamma::Number(2.0)).fit(&data).unwrap();
    assert!(limited.n_terms() <= 2);
    let three = Dataset::new(view, Target::labels(codes.iter().map(|&c| c as i64))).unwrap();
    let joint = RVC::new().multiclass(Multiclass::Multinomial).max_terms(3);
    assert!(joint.fit(&three).unwrap().n_terms() <= 3);
    // The trace of the model is that of the fit: it only ever falls.
    let trace = &fit(0.0).report().trace.clone();
    assert!(trace.len() > 2 && trace.windows(2).all(|w| w[1].objective <= w[0].objective + 1e-9));
    for settings in [r#"{"sparsity": -1}"#, r#"{"multiclass": "all"}"#, r#"{"noise": 1}"#] {
        let error = fewer::method::fit("rvc", settings, None, &data, &fewer::engine::Silent);
        let message = error.unwrap_err().to_string();
        let name = settings.split('"').nth(1).unwrap();
        assert!(message.starts_with(name), "{message}");
    }
}

/// At the mode the slope of the likelihood is αw, and Σ(FᵀBF + A) = I.
#[test]
fn the_posterior_is_that_of_the_mode() {
    let (x, classes) = mixture();
    let model = fit_mixture(RVC::new());
    let centres: Vec<usize> = model.terms().iter().map(|t| t.index).collect();
    let w: Vec<f64> = model.terms().iter().map(|t| t.weight()).collect();
    let k = w.len();
    let f = |i: usize, j: usize| {
        let (a, b) = (&x[2 * i..][..2], &x[2 * centres[j]..][..2]);
        (-((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)) / 0.64).exp()
    };
    let eta = |i: usize| (0..k).map(|j| w[j] * f(i, j)).sum::<f64>();
    let y: Vec<f64> = (0..100).map(|i| 1.0 / (1.0 + (-eta(i)).exp())).collect();
    let slope = |j: usize| -> f64 {
        (0..100).map(|i| (f64::from(u8::from(classes[i])) - y[i]) * f(i, j)).sum()
    };
    let alpha: Vec<f64> = (0..k).map(|j| slope(j) / w[j]).collect();
    assert!(alpha.iter().all(|a| *a > 0.0), "{alpha:?}");
    let hessian = |a: usize, b: usize| {
        let own = if a == b { alpha[a] } else { 0.0 };
        own + (0..100).map(|i| y[i] * (1.0 - y[i]) * f(i, a) * f(i, b)).sum::<f64>()
    };
    let covariance = model.covariance().unwrap();
    for a in 0..k {
        for b in 0..k {
            let product: f64 = (0..k).map(|c| covariance[(a, c)] * hessian(c, b)).sum();
            assert!((product - f64::from(u8::from(a == b))).abs() < 1e-6, "{a} {b}: {product}");
        }
    }
}

#[test]
fn what_tells_classes_apart_only_together_is_found() {
    // Features that are nearly the same; which of the first two is larger makes the class.
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let (rows, columns) = (80, 4);
        let mut x = Vec::new();
        for _ in 0..rows {
            let shared = random.normal();
            x.extend((0..columns).map(|_| shared + 0.1 * random.normal()));
        }
        let larger: Vec<bool> = x.chunks(columns).map(|row| row[0] > row[1]).collect();
        let view = DenseView::by_rows(&x, rows, columns).unwrap();
        let data = Dataset::new(view, Target::labels(larger.clone())).unwrap();
        let linear = RVC::new().basis(BasisKind::Linear).fit(&data).unwrap();
        assert!((2..=3).contains(&linear.n_terms()), "seed {seed}");
        let kernels = RVC::new().gamma(Gamma::Number(1.0 / 32.0)).fit(&data).unwrap();
        for model in [linear, kernels] {
            let odds = model.decision(view).unwrap();
            let right = odds.column(0).iter().zip(&larger).filter(|(o, l)| (**o > 0.0) == **l);
            assert!(right.count() >= 76, "seed {seed}");
        }
    }
}
