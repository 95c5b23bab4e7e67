//! How settings were chosen.

use crate::chart::{Anchor, Chart, Scale, shortened, text_width};
use crate::log_axis::LogAxis;
use crate::number;
use fewer::select::{Point, Rule, Selection};
use serde_json::Value;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 24.0;
const TERMS: f64 = 56.0;
const TOP: f64 = 66.0;
/// Between these and the top the chosen points are named.
const CURVE_TOP: f64 = 116.0;
const BOTTOM: f64 = 356.0;
const HEIGHT: f64 = 410.0;

/// The mean score by λ (or γ) with its standard error and the number of terms; the best point and
/// the simplest within one standard error of it are marked. Where several settings were chosen, the
/// others are at their chosen values. None where fewer than two points can be drawn.
pub fn selection_svg(selection: &Selection) -> Option<String> {
    let chosen = selection.points.get(selection.chosen)?;
    let name = axis_of(chosen)?;
    let at = |p: &Point| p.settings.get(&name).and_then(Value::as_f64);
    let is_other = |(key, _): &(&String, &Value)| **key != name;
    let others = |p: &Point| {
        let others = p.settings.iter().filter(is_other);
        others.map(|(k, v)| (k.clone(), v.clone())).collect::<Vec<_>>()
    };
    let fixed = others(chosen);
    let mut curve: Vec<(f64, usize)> = (0..selection.points.len())
        .filter(|&k| others(&selection.points[k]) == fixed && selection.points[k].mean.is_finite())
        .filter_map(|k| Some((at(&selection.points[k]).filter(|v| *v > 0.0)?, k)))
        .collect();
    let falling = name == "lam";
    let order = |a: &f64, b: &f64| if falling { b.total_cmp(a) } else { a.total_cmp(b) };
    curve.sort_by(|a, b| order(&a.0, &b.0));
    let across = LogAxis::covering(curve.iter().map(|c| c.0), falling, LEFT, RIGHT)?;
    let error = |p: &Point| p.standard_error.filter(|e| e.is_finite()).unwrap_or(0.0);
    let points = || curve.iter().map(|&(value, k)| (value, &selection.points[k]));

    let values = points().flat_map(|(_, p)| [p.mean - error(p), p.mean + error(p)]);
    let up = Scale::covering(values, 0.03, BOTTOM, CURVE_TOP);
    let mut chart = Chart::new(WIDTH, HEIGHT);
    let heading = shortened(&heading(selection, &fixed), WIDTH - 32.0);
    chart.text(16.0, 26.0, "fw-muted", Anchor::Start, &heading);
    for tick in up.ticks(6) {
        let y = up.at(tick);
        chart.line("fw-grid", (LEFT, y), (RIGHT, y));
        chart.text(LEFT - 8.0, y + 4.5, "fw-muted", Anchor::End, &number(tick, 5));
    }
    let symbol = symbol(&name);
    let title = match falling {
        true => format!("{symbol}, the penalty weaker to the right"),
        false => symbol.to_string(),
    };
    across.draw(&mut chart, TOP, BOTTOM, &title);
    let terms: Vec<(f64, f64)> = points().map(|(value, p)| (value, p.terms)).collect();
    across.draw_terms(&mut chart, TERMS, &terms);

    for (value, p) in points().filter(|(_, p)| error(p) > 0.0) {
        let (x, error) = (across.at(value), error(p));
        chart.line("fw-axis", (x, up.at(p.mean - error)), (x, up.at(p.mean + error)));
    }
    let line: Vec<(f64, f64)> = points().map(|(v, p)| (across.at(v), up.at(p.mean))).collect();
    chart.polyline("fw-line", &line);
    line.iter().for_each(|&(x, y)| chart.dot(x, y));

    for (row, (k, label)) in marks(selection).into_iter().enumerate() {
        let Some(value) = curve.iter().find(|c| c.1 == k).map(|c| c.0) else { continue };
        let x = across.at(value);
        let label = format!("{label}: {}", number(value, 3));
        let y = TOP + 18.0 + 18.0 * row as f64;
        chart.line("fw-guide", (x, TOP), (x, BOTTOM));
        // Beside the line, on the side where there is room.
        match x + 8.0 + text_width(&label) > RIGHT {
            true => chart.text(x - 8.0, y, "fw-ink", Anchor::End, &label),
            false => chart.text(x + 8.0, y, "fw-ink", Anchor::Start, &label),
        }
    }
    Some(chart.finish(&format!("{} by {symbol}", selection.score)))
}

/// The setting to draw across: λ where it was chosen.
fn axis_of(point: &Point) -> Option<String> {
    let numeric = point.settings.iter().filter(|(_, v)| v.is_number()).map(|(name, _)| name);
    let names: Vec<&String> = numeric.collect();
    let known = ["lam", "gamma"].into_iter().find(|n| names.iter().any(|name| name == n));
    known.map(String::from).or_else(|| names.first().map(|n| n.to_string()))
}

fn symbol(name: &str) -> &str {
    match name {
        "lam" => "λ",
        "gamma" => "γ",
        name => name,
    }
}

fn heading(selection: &Selection, fixed: &[(String, Value)]) -> String {
    let by = match selection.folds {
        0 => format!("{} (smaller is better)", selection.score),
        folds => {
            let better = if selection.larger_is_better { "larger" } else { "smaller" };
            let repeats = match selection.repeats {
                0 | 1 => String::new(),
                n => format!(", {n} times"),
            };
            let score = &selection.score;
            format!(
                "Mean {score} in {folds} folds{repeats} and its standard error ({better} is better)"
            )
        }
    };
    let fixed: String = fixed
        .iter()
        .map(|(name, value)| {
            let value = value.as_f64().map_or_else(|| value.to_string(), |v| number(v, 3));
            format!(", {} = {value}", symbol(name))
        })
        .collect();
    by + &fixed
}

/// The points to name, each once.
fn marks(selection: &Selection) -> Vec<(usize, &'static str)> {
    let best = selection.best;
    let simplest = selection.by_rule(Rule::OneSe);
    match selection.folds {
        0 => vec![(best, "best")],
        _ if simplest == best => vec![(best, "best, and simplest within one s.e.")],
        _ => vec![(simplest, "simplest within one s.e."), (best, "best")],
    }
}
