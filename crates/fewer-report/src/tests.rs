use crate::chart::{Scale, shortened, shortened_inside};
use crate::*;
use fewer::basis::Family;
use fewer::data::{Dataset, DenseView, Label, Target};
use fewer::engine::Silent;
use fewer::linalg::Matrix;
use fewer::method::{
    AdaptiveRVC, AdaptiveRVR, BasisKind, Lasso, ProbitClassifier, SparseRegressor,
};
use fewer::model::{Model, Term};
use fewer::select::{Lams, Point, Search};

const NASTY: &str = "<script>alert(\"a&b\")</script>'\u{1}";

fn data(columns: usize) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = (0..100 * columns).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
    let noise = |i: usize| 0.1 * ((i * i * i) as f64 * 0.3).sin();
    let y = x.chunks(columns).enumerate().map(|(i, x)| 2.0 * x[0] - x[2] + noise(i)).collect();
    (x, y)
}

fn model(columns: usize, settings: &SparseRegressor) -> Model {
    let (x, y) = data(columns);
    let names = (0..columns).map(|j| if j == 0 { NASTY.into() } else { format!("b{j}") });
    let view = DenseView::by_rows(&x, 100, columns).unwrap();
    let data = Dataset::new(view, &y).unwrap().with_names(names).unwrap();
    settings.fit(&data).unwrap().with_target_name(NASTY)
}

/// Every tag is closed in its turn; `void` tags have no end.
#[track_caller]
fn assert_balanced(text: &str, void: &[&str]) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag is not closed");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let word = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('!') || tag.ends_with('/') || void.contains(&word) {
            continue;
        }
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(word), "before {rest:.60}");
        } else {
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            open.push(word);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[track_caller]
fn assert_sound_svg(svg: &str) {
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
    assert_balanced(svg, &[]);
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    assert!(!svg.contains("<script") && !svg.contains('\u{1}'));
    for (k, _) in svg.match_indices('&') {
        let entity = svg[k..].split_inclusive(';').next().unwrap();
        assert!(["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"].contains(&entity), "{entity}");
    }
}

#[test]
fn pictures_are_sound_and_names_escaped() {
    let model = model(4, &SparseRegressor::new());
    let terms = terms_svg(&model);
    assert_sound_svg(&terms);
    assert!(terms.contains("&lt;script&gt;"), "{terms}");
    assert_sound_svg(&trace_svg(&model).unwrap());
}

#[test]
fn many_terms_are_cut_and_no_terms_said() {
    let all = model(45, &SparseRegressor::new().prior(fewer::method::PriorKind::Gaussian));
    let svg = terms_svg(&all);
    assert_sound_svg(&svg);
    assert!(svg.contains("and 15 weaker terms"));
    assert_eq!(svg.matches("<title>").count(), 30);

    let x = [1.0, 2.0, 3.0, 4.0];
    let constant = Dataset::new(DenseView::by_rows(&x, 4, 1).unwrap(), &[7.0; 4]).unwrap();
    let none = SparseRegressor::new().fit(&constant).unwrap();
    assert_sound_svg(&terms_svg(&none));
    assert_eq!(trace_svg(&none), None);
    let same = Comparison::Numbers { actual: vec![7.0; 4], predicted: vec![7.0; 4] };
    let html = report_html(&ReportInput::new(&none).with_data("d", &same));
    assert!(html.contains("No term is kept."), "{html}");
}

#[test]
fn odd_pairs_are_drawn() {
    assert_sound_svg(&fit_svg(&[], &[]));
    assert_sound_svg(&fit_svg(&[3.0], &[3.0]));
    assert_sound_svg(&fit_svg(&[f64::NAN, 1.0], &[1.0, f64::INFINITY]));
    assert_sound_svg(&fit_svg(&[1e300, -1e308], &[1e308, -1e300]));
    let many: Vec<f64> = (0..10_001).map(f64::from).collect();
    let dots = fit_svg(&many, &many).matches("<circle").count();
    assert!((1000..=2000).contains(&dots), "{dots}");
}

#[test]
fn the_report_is_one_sound_file() {
    let model = model(4, &SparseRegressor::new());
    let (x, y) = data(4);
    let view = DenseView::by_rows(&x, 100, 4).unwrap();
    let comparison = Comparison::of(&model, view, &y.into()).unwrap();
    let html = report_html(&ReportInput::new(&model).with_data(NASTY, &comparison));
    assert_balanced(&html, &["meta"]);
    assert!(!html.contains("<script"));
    assert_eq!(html.matches("<svg ").count(), 3);
    for outside in ["src=", "href=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
}

/// Points in the plane in so many classes, each a disc of its own.
fn discs(classes: usize) -> (Vec<f64>, Vec<usize>) {
    let codes: Vec<usize> = (0..120).map(|i| i % classes).collect();
    let wave = |i: usize, k: f64| 0.6 * ((i * i + 1) as f64 * k).sin();
    let middle = |c: usize| (c as f64 * std::f64::consts::TAU / classes as f64).sin_cos();
    let points = codes
        .iter()
        .enumerate()
        .flat_map(|(i, &c)| [middle(c).0 + wave(i, 0.37), 100.0 * (middle(c).1 + wave(i, 0.71))]);
    (points.collect(), codes)
}

fn classifier(x: &[f64], codes: &[usize], basis: BasisKind) -> (Model, Target<'static>) {
    let names: Vec<Label> =
        (0..9).map(|c| Label::Text(if c == 0 { NASTY.into() } else { format!("c{c}") })).collect();
    let target = Target::labels(codes.iter().map(|&c| names[c].clone()));
    let columns = x.len() / codes.len();
    let view = DenseView::by_rows(x, codes.len(), columns).unwrap();
    let data = Dataset::new(view, target.clone()).unwrap().with_target_name(NASTY);
    (ProbitClassifier::new().basis(basis).max_iter(100).fit(&data).unwrap(), target)
}

#[test]
fn boundaries_are_drawn_for_two_features_and_classes() {
    for classes in [2, 3, 9] {
        for basis in [BasisKind::Linear, BasisKind::Rbf] {
            let (x, codes) = discs(classes);
            let (model, _) = classifier(&x, &codes, basis);
            let view = DenseView::by_rows(&x, 120, 2).unwrap();
            let svg = boundary_svg(&model, view, &codes).unwrap();
            assert_sound_svg(&svg);
            assert!(svg.len() < 400_000, "{}", svg.len());
            assert!(svg.contains("&lt;script&gt;"));
            let rings = svg.matches("class=\"fw-ring\"").count();
            let kernels = if basis == BasisKind::Rbf { model.n_terms() + 1 } else { 0 };
            assert_eq!(rings, kernels);
            // Each point, and the legend.
            let marks = svg.matches(" fw-mark\"").count();
            assert_eq!(marks, 120 + classes);
            assert!(svg.contains("class=\"fw-border\" d=\"M"), "no boundary in the picture");
        }
    }
}

#[test]
fn other_models_have_no_boundary() {
    let (x, codes) = discs(2);
    let numbers: Vec<f64> = codes.iter().map(|&c| c as f64).collect();
    let view = DenseView::by_rows(&x, 120, 2).unwrap();
    let regression = SparseRegressor::new().fit(&Dataset::new(view, &numbers).unwrap()).unwrap();
    assert_eq!(boundary_svg(&regression, view, &codes), None);
    let (four, _) = classifier(&x, &codes[..60], BasisKind::Linear);
    assert_eq!(boundary_svg(&four, view, &codes), None);
    let (model, _) = classifier(&x, &codes, BasisKind::Linear);
    assert_eq!(boundary_svg(&model, DenseView::by_rows(&x, 60, 4).unwrap(), &codes), None);
    // Data that say little: no rows, one point many times, classes the model does not know.
    let empty = DenseView::by_rows(&[0.0; 0], 0, 2).unwrap();
    assert_sound_svg(&boundary_svg(&model, empty, &[]).unwrap());
    let point = DenseView::by_rows(&[1.0; 20], 10, 2).unwrap();
    let svg = boundary_svg(&model, point, &[2; 10]).unwrap();
    assert_sound_svg(&svg);
    assert!(svg.contains("unknown class"));
}

#[test]
fn learnt_centres_are_ringed() {
    let (x, codes) = discs(2);
    let view = DenseView::by_rows(&x, 120, 2).unwrap();
    let target = Target::labels(codes.iter().map(|&c| c as i64));
    let model = AdaptiveRVC::new().fit(&Dataset::new(view, target).unwrap()).unwrap();
    let svg = boundary_svg(&model, view, &codes).unwrap();
    assert_sound_svg(&svg);
    assert_eq!(svg.matches("class=\"fw-ring\"").count(), model.n_terms() + 1);
    let explanation = model.explain().to_string();
    assert!(explanation.contains(&format!("{} term", model.n_terms())), "{explanation}");
    assert!(explanation.contains("learnt\n"), "{explanation}");
    assert!(explanation.contains("features by relevance: x"), "{explanation}");
}

/// A hill, a spike and a trend: their curves, and none for other models.
#[test]
fn learnt_kernels_are_drawn_under_the_fit() {
    let x: Vec<f64> = (0..150).map(|i| 0.1 * f64::from(i)).collect();
    let noise = |i: usize| 0.05 * ((i * i * i) as f64 * 0.3).sin();
    let spike = |x: f64| (-(x - 9.0).powi(2) / 0.05).exp();
    let wave = |x: f64| (-(x - 4.0).powi(2)).exp() + spike(x) + 0.1 * x;
    let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| wave(*x) + noise(i)).collect();
    let view = DenseView::by_rows(&x, 150, 1).unwrap();
    let data = Dataset::new(view, &y).unwrap().with_names([NASTY]).unwrap();
    let data = data.with_target_name(NASTY);
    let method = AdaptiveRVR::new().families([Family::Rbf, Family::Linear]);
    let model = method.fit(&data).unwrap();
    let svg = kernels_svg(&model, view, &y).unwrap();
    assert_sound_svg(&svg);
    assert_eq!(svg.matches("class=\"fw-path fw-path1\"").count(), model.n_terms());
    assert_eq!(svg.matches("<circle").count(), 150);
    // The terms, times their weights, and the intercept add up to the prediction.
    let values = model.term_values(view).unwrap();
    for (i, predicted) in model.predict(view).unwrap().iter().enumerate() {
        let part = |(k, term): (usize, &Term)| term.weight() * values[(i, k)];
        let sum = model.intercept() + model.terms().iter().enumerate().map(part).sum::<f64>();
        assert!((sum - predicted).abs() < 1e-9, "{sum} {predicted}");
    }
    let comparison = Comparison::of(&model, view, &(&y).into()).unwrap();
    let input = ReportInput::new(&model).with_data(NASTY, &comparison).with_inputs(view);
    let html = report_html(&input);
    assert_balanced(&html, &["meta"]);
    assert!(html.contains("Kernels under the fit") && html.contains("terms learnt"));
    // Data that say little.
    assert_sound_svg(&kernels_svg(&model, view, &[]).unwrap());
    let flat = [1.0; 10];
    let point = DenseView::by_rows(&flat, 10, 1).unwrap();
    assert_sound_svg(&kernels_svg(&model, point, &flat).unwrap());
    let constant = AdaptiveRVR::new().fit(&Dataset::new(view, &[2.0; 150]).unwrap()).unwrap();
    assert_sound_svg(&kernels_svg(&constant, view, &[2.0; 150]).unwrap());
    let linear = SparseRegressor::new().fit(&Dataset::new(view, &y).unwrap()).unwrap();
    assert_eq!(kernels_svg(&linear, view, &y), None);
    let two = DenseView::by_rows(&x, 75, 2).unwrap();
    assert_eq!(kernels_svg(&model, two, &y[..75]), None);
    let plane = AdaptiveRVR::new().fit(&Dataset::new(two, &y[..75]).unwrap()).unwrap();
    assert_eq!(kernels_svg(&plane, two, &y[..75]), None);
}

#[test]
fn reports_of_classes_are_sound() {
    for (classes, basis) in [(2, BasisKind::Rbf), (3, BasisKind::Linear)] {
        let (x, codes) = discs(classes);
        let (model, target) = classifier(&x, &codes, basis);
        let view = DenseView::by_rows(&x, 120, 2).unwrap();
        let comparison = Comparison::of(&model, view, &target).unwrap();
        assert_sound_svg(&terms_svg(&model));
        let html =
            report_html(&ReportInput::new(&model).with_data(NASTY, &comparison).with_inputs(view));
        assert_balanced(&html, &["meta"]);
        assert!(!html.contains("<script"));
        for part in ["Actual and predicted classes", "Classes in the plane", "log loss", "Φ("] {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("Predicted and actual values"));
        assert_eq!(html.matches(" right\">").count(), classes);
        assert_eq!(formulas(&model).len(), if classes == 2 { 1 } else { classes });
    }
}

#[test]
fn classes_are_scored() {
    let probabilities = Matrix::from_columns(4, 2, vec![0.9, 0.4, 0.2, 0.5, 0.1, 0.6, 0.8, 0.5]);
    let score = ClassAccuracy::of(&[0, 0, 1, 2], &[0, 1, 1, 0], &probabilities, None);
    assert_eq!((score.accuracy, score.errors), (0.5, 2));
    // Half of class 0, none of class 1, all of the unknown class 2.
    assert!((score.balanced_error - 0.5).abs() < 1e-15);
    let expected = -(0.9f64.ln() + 0.4f64.ln() + 0.8f64.ln()) / 3.0;
    assert!((score.log_loss.unwrap() - expected).abs() < 1e-15);
    let weights = [3.0, 0.0, 1.0, 0.0];
    let score = ClassAccuracy::of(&[0, 0, 1, 2], &[0, 1, 1, 0], &probabilities, Some(&weights));
    assert_eq!((score.accuracy, score.errors, score.balanced_error), (1.0, 0, 0.0));
    let sure = Matrix::from_columns(1, 2, vec![1.0, 0.0]);
    assert!(ClassAccuracy::of(&[1], &[0], &sure, None).log_loss.unwrap().is_finite());
    assert_eq!(ClassAccuracy::of(&[2], &[0], &sure, None).log_loss, None);
}

#[test]
fn labels_that_the_model_does_not_know_come_last() {
    let (x, codes) = discs(2);
    let (model, _) = classifier(&x, &codes, BasisKind::Linear);
    let view = DenseView::by_rows(&x[..6], 3, 2).unwrap();
    let target = Target::labels(["c1", "another", NASTY]);
    let comparison = Comparison::of(&model, view, &target).unwrap();
    let Comparison::Classes { labels, known, actual, .. } = &comparison else { unreachable!() };
    assert_eq!((labels.len(), *known), (3, 2));
    assert_eq!(labels[actual[1]], Label::from("another"));
    assert_eq!(comparison.unknown(), (&[Label::from("another")][..], 1));
    assert!(Comparison::of(&model, view, &vec![0.0; 3].into()).is_err());
}

#[test]
fn selections_are_drawn() {
    let (x, y) = data(4);
    let set = Dataset::new(DenseView::by_rows(&x, 100, 4).unwrap(), &y).unwrap();
    let lams = Lams::Spaced { count: 20, min_ratio: None };
    let search = Search::new("lasso", "{}").unwrap().lams(lams);
    let model = search.fit(&set, &Silent).unwrap();
    let selection = model.report().selection.clone().unwrap();
    let svg = selection_svg(&selection).unwrap();
    assert_sound_svg(&svg);
    assert!(svg.contains(">λ, the penalty weaker to the right</text>"), "{svg}");
    assert!(svg.matches("class=\"fw-guide\"").count() <= 2);
    let html = report_html(&ReportInput::new(&model));
    assert!(html.contains("How settings were chosen"));
    assert_balanced(&html, &["meta"]);
    let plain = report_html(&ReportInput::new(&Lasso::new().fit(&set).unwrap()));
    assert!(!plain.contains("How settings were chosen"));

    // Points that say little, or much too much.
    let with = |points: Vec<Point>| fewer::select::Selection {
        points,
        best: 0,
        chosen: 0,
        ..selection.clone()
    };
    let points = &selection.points;
    assert_eq!(selection_svg(&with(Vec::new())), None);
    assert_eq!(selection_svg(&with(points[..1].to_vec())), None);
    let mut odd = points[..4].to_vec();
    (odd[1].mean, odd[2].mean, odd[3].mean) = (1e308, f64::NAN, -1e300);
    assert_sound_svg(&selection_svg(&with(odd.clone())).unwrap());
    odd.iter_mut().for_each(|p| p.standard_error = None);
    assert_sound_svg(&selection_svg(&with(odd)).unwrap());
    let named = |p: &Point| {
        let settings = [(NASTY.to_string(), p.settings["lam"].clone())].into_iter().collect();
        Point { settings, ..p.clone() }
    };
    assert_sound_svg(&selection_svg(&with(points.iter().map(named).collect())).unwrap());
}

#[test]
fn paths_are_drawn() {
    let (x, y) = data(45);
    let names = (0..45).map(|j| if j == 0 { NASTY.into() } else { format!("b{j}") });
    let view = DenseView::by_rows(&x, 100, 45).unwrap();
    let set = Dataset::new(view, &y).unwrap().with_names(names).unwrap();
    let path = Lasso::new().path(&set, None).unwrap();
    let svg = path_svg(&path, Some((path[30].report().lam.unwrap(), "BIC"))).unwrap();
    assert_sound_svg(&svg);
    assert!(svg.contains(">BIC: ") && svg.contains("&lt;script&gt;"), "{svg}");
    assert!(svg.matches("<polyline").count() <= 45);
    assert_eq!(path_svg(&[], None), None);
    assert_eq!(path_svg(&path[..1], None), None);
    assert_sound_svg(&path_svg(&path[..2], Some((f64::NAN, "x"))).unwrap());
    assert_sound_svg(&path_svg(&path, Some((1e300, "x"))).unwrap());
    let zeros = Lasso::new().path(&set, Some(&[0.0, 0.0])).unwrap();
    assert_eq!(path_svg(&zeros, None), None);
}

#[test]
fn scales_have_round_ticks() {
    let scale = Scale::covering([3.0, 47.0].into_iter(), 0.0, 0.0, 100.0);
    assert_eq!(scale.ticks(5), [10.0, 20.0, 30.0, 40.0]);
    assert_eq!((scale.at(3.0), scale.at(47.0)), (0.0, 100.0));
}

#[test]
fn long_names_are_cut() {
    assert_eq!(shortened("short", 100.0), "short");
    let cut = shortened(&"long".repeat(30), 100.0);
    assert!(cut.ends_with('…') && cut.chars().count() < 20, "{cut}");
}

#[test]
fn names_keep_both_ends() {
    assert_eq!(shortened_inside("short", 100.0), "short");
    let cut = shortened_inside("a_rather_long_column_name_123", 100.0);
    assert!(cut.starts_with("a_r") && cut.ends_with("123") && cut.contains('…'), "{cut}");
}

#[test]
fn numbers_are_short() {
    for (x, expected) in [
        (0.0, "0"),
        (-0.5, "-0.5"),
        (9.9996, "10"),
        (123456.0, "123456"),
        (1234.56, "1235"),
        (1e-7, "1e-7"),
        (-1.25e20, "-1.25e20"),
        (f64::INFINITY, "inf"),
    ] {
        assert_eq!(number(x, 4), expected);
    }
}
