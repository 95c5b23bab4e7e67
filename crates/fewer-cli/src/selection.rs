//! What a search found, in words and tables.

use fewer::select::{Point, Rule, Selection};
use fewer_report::number;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The most points that are listed.
const MOST_POINTS: usize = 30;
/// Points on either side of a chosen one that are listed in any case.
const BESIDE: usize = 3;

/// A setting as it is written in tables.
pub fn symbol(name: &str) -> &str {
    match name {
        "lam" => "λ",
        "gamma" => "γ",
        name => name,
    }
}

/// The value of a setting.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(word) => word.clone(),
        value => value.as_f64().map_or_else(|| value.to_string(), |v| number(v, 5)),
    }
}

/// Settings such as `λ = 0.31, γ = 2`.
pub fn settings_text(settings: &Map<String, Value>) -> String {
    let one =
        |(name, value): (&String, &Value)| format!("{} = {}", symbol(name), value_text(value));
    settings.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A mean with its standard error.
pub fn with_error(mean: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{} ± {}", number(mean, 4), number(error, 2)),
        None => number(mean, 6),
    }
}

/// In how many folds.
pub fn folds_text(folds: usize, repeats: usize) -> String {
    match repeats {
        0 | 1 => format!("{folds} folds"),
        n => format!("{folds} folds, {n} times"),
    }
}

/// What was chosen and why, in one line.
pub fn choice(selection: &Selection) -> String {
    let Selection { score, folds, repeats, points, rule, .. } = selection;
    let chosen = selection.chosen_point();
    let settings = settings_text(&chosen.settings);
    let result = with_error(chosen.mean, chosen.standard_error);
    let count = points.len();
    let by = match (folds, rule) {
        (0, _) => format!("the best {score} of {count} points"),
        (_, Rule::Best) => {
            let folds = folds_text(*folds, *repeats);
            format!("the best {score} of {count} points in {folds}")
        }
        (_, Rule::OneSe) => {
            let folds = folds_text(*folds, *repeats);
            format!("the simplest of {count} points within one s.e. of the best {score} in {folds}")
        }
    };
    format!("{settings}: {by}, {result}")
}

/// Lines of cells below each other; numbers to the right, the last column to the left.
pub fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let all = || std::iter::once(header).chain(rows.iter().map(Vec::as_slice));
    let columns = header.len();
    let width = |j: usize| all().filter_map(|r| r.get(j)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|j| width(j).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in all() {
        let cells = row.iter().enumerate().map(|(j, cell)| {
            let w = widths[j];
            if j + 1 == columns { cell.clone() } else { format!("{cell:>w$}") }
        });
        out.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// The points of a search as a table, those far from the chosen ones thinned.
pub fn points_table(selection: &Selection) -> String {
    let shown = shown(selection);
    let names: Vec<&String> = selection.chosen_point().settings.keys().collect();
    let folds = selection.folds > 0;
    let mut header: Vec<String> = names.iter().map(|n| symbol(n).to_string()).collect();
    header.push(if folds { format!("mean {}", selection.score) } else { selection.score.clone() });
    if folds {
        header.push("s.e.".into());
    }
    header.extend(["terms".into(), String::new()]);
    let simplest = selection.by_rule(Rule::OneSe);
    let row = |&k: &usize| {
        let point = &selection.points[k];
        let of = |name: &&String| point.settings.get(*name).map(value_text).unwrap_or_default();
        let mut cells: Vec<String> = names.iter().map(of).collect();
        cells.push(number(point.mean, 5));
        if folds {
            cells.push(point.standard_error.map_or("–".into(), |e| number(e, 3)));
        }
        cells.push(number(point.terms, 3));
        let marks = [(k == selection.best, "best"), (folds && k == simplest, "one-se")];
        cells.push(marks.iter().filter(|m| m.0).map(|m| m.1).collect::<Vec<_>>().join(", "));
        cells
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    let mut text = table(&header, &rows);
    if shown.len() < selection.points.len() {
        let (shown, all) = (shown.len(), selection.points.len());
        text.push_str(&format!("{shown} of {all} points; --out writes all\n"));
    }
    text
}

/// Positions of the points to list, in order.
fn shown(selection: &Selection) -> Vec<usize> {
    let points = &selection.points;
    if points.len() <= MOST_POINTS {
        return (0..points.len()).collect();
    }
    let marked = [selection.best, selection.chosen, selection.by_rule(Rule::OneSe)];
    let several = points[0].settings.len() > 1 && points[0].settings.contains_key("lam");
    // With other settings besides, the best λ of each of their values.
    let candidates =
        if several { best_lams(selection) } else { (0..points.len()).collect::<Vec<_>>() };
    let mut keep: BTreeSet<usize> = marked.into_iter().collect();
    if !several {
        for k in marked {
            keep.extend(k.saturating_sub(BESIDE)..(k + BESIDE + 1).min(points.len()));
        }
    }
    let room = MOST_POINTS.saturating_sub(keep.len()).max(2);
    let last = candidates.len().saturating_sub(1);
    keep.extend((0..room).map(|i| candidates[(i * last + (room - 1) / 2) / (room - 1)]));
    keep.into_iter().collect()
}

fn best_lams(selection: &Selection) -> Vec<usize> {
    let without_lam = |p: &Point| {
        let mut settings = p.settings.clone();
        settings.remove("lam");
        settings
    };
    let loss = |k: usize| {
        let mean = selection.points[k].mean;
        if selection.larger_is_better { -mean } else { mean }
    };
    let mut best: Vec<(Map<String, Value>, usize)> = Vec::new();
    for (k, point) in selection.points.iter().enumerate() {
        let settings = without_lam(point);
        match best.iter_mut().find(|b| b.0 == settings) {
            Some(b) if loss(k) < loss(b.1) => b.1 = k,
            Some(_) => {}
            None => best.push((settings, k)),
        }
    }
    best.into_iter().map(|b| b.1).collect()
}

/// All points as CSV.
pub fn points_csv(selection: &Selection) -> String {
    let names: Vec<&String> = selection.chosen_point().settings.keys().collect();
    let folds = selection.points.iter().map(|p| p.scores.len()).max().unwrap_or(0);
    let mut header: Vec<String> = names.iter().map(|n| n.to_string()).collect();
    header.push(selection.score.clone());
    header.extend(["standard_error".into(), "terms".into()]);
    header.extend((1..=folds).map(|f| format!("fold_{f}")));
    let mut out = header.join(",") + "\n";
    for point in &selection.points {
        let of = |name: &&String| point.settings.get(*name).map(|v| v.to_string());
        let mut cells: Vec<String> = names.iter().map(|n| of(n).unwrap_or_default()).collect();
        cells.push(point.mean.to_string());
        cells.push(point.standard_error.map_or(String::new(), |e| e.to_string()));
        cells.push(point.terms.to_string());
        cells.extend(point.scores.iter().map(f64::to_string));
        out.push_str(&(cells.join(",") + "\n"));
    }
    out
}
