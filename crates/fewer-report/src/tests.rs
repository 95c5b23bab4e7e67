use crate::chart::{Scale, shortened};
use crate::*;
use fewer::data::{Dataset, DenseView};
use fewer::method::SparseRegressor;
use fewer::model::Model;

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
    let all = model(60, &SparseRegressor::new().prior(fewer::method::PriorKind::Gaussian));
    let svg = terms_svg(&all);
    assert_sound_svg(&svg);
    assert!(svg.contains("and 30 weaker terms"));
    assert_eq!(svg.matches("<title>").count(), 30);

    let x = [1.0, 2.0, 3.0, 4.0];
    let constant = Dataset::new(DenseView::by_rows(&x, 4, 1).unwrap(), &[7.0; 4]).unwrap();
    let none = SparseRegressor::new().fit(&constant).unwrap();
    assert_sound_svg(&terms_svg(&none));
    assert_eq!(trace_svg(&none), None);
    let html = report_html(&ReportInput::new(&none).with_data("d", &[7.0; 4], &[7.0; 4]));
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
    let predicted = model.predict(DenseView::by_rows(&x, 100, 4).unwrap()).unwrap();
    let html = report_html(&ReportInput::new(&model).with_data(NASTY, &y, &predicted));
    assert_balanced(&html, &["meta"]);
    assert!(!html.contains("<script"));
    assert_eq!(html.matches("<svg ").count(), 3);
    for outside in ["src=", "href=", "@import", "url("] {
        assert!(!html.contains(outside), "{outside}");
    }
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
fn numbers_are_short() {
    for (x, expected) in [
        (0.0, "0"),
        (-0.5, "-0.5"),
        (9.9996, "10"),
        (123456.0, "123456"),
        (1e-7, "1e-7"),
        (-1.25e20, "-1.25e20"),
        (f64::INFINITY, "inf"),
    ] {
        assert_eq!(number(x, 4), expected);
    }
}
