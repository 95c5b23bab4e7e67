//! How settings were chosen.

use crate::chart::{Anchor, Chart, Scale, shortened, text_width};
use crate::log_axis::{LogAxis, short};
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
/// Standard errors of the best point from its mean that are drawn.
const FARTHEST: f64 = 20.0;

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

    // Far from the best, where the curve may rise without end, it leaves the picture.
    let best = selection.best_point();
    let far = if error(best) > 0.0 { FARTHEST * error(best) } else { f64::INFINITY };
    let (low, high) = (best.mean - far, best.mean + far);
    let values = points().flat_map(|(_, p)| [p.mean - error(p), p.mean + error(p)]);
    let values = values.map(|v| v.clamp(low, high));
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
        let (x, from, to) = (across.at(value), p.mean - error(p), p.mean + error(p));
        if from < high && to > low {
            chart.line("fw-axis", (x, up.at(from.max(low))), (x, up.at(to.min(high))));
        }
    }
    let line: Vec<(f64, f64)> = points().map(|(v, p)| (across.at(v), p.mean)).collect();
    for part in parts_within(&line, low, high) {
        let part: Vec<(f64, f64)> = part.iter().map(|&(x, mean)| (x, up.at(mean))).collect();
        chart.polyline("fw-line", &part);
    }
    for &(x, mean) in line.iter().filter(|p| (low..=high).contains(&p.1)) {
        chart.dot(x, up.at(mean));
    }

    let marks: Vec<(f64, String)> = marks(selection)
        .into_iter()
        .filter_map(|(k, label)| Some((curve.iter().find(|c| c.1 == k)?.0, label)))
        .map(|(value, label)| (across.at(value), format!("{label}: {}", short(value))))
        .collect();
    for (row, (x, label)) in marks.iter().enumerate() {
        let y = TOP + 18.0 + 18.0 * row as f64;
        chart.line("fw-guide", (*x, TOP), (*x, BOTTOM));
        // Away from the other line, if there is room.
        let (fits_left, fits_right) =
            (x - 8.0 - text_width(label) > LEFT, x + 8.0 + text_width(label) < RIGHT);
        let other_right = marks.iter().any(|other| other.0 > *x);
        match fits_left && (other_right || !fits_right) {
            true => chart.text(x - 8.0, y, "fw-ink", Anchor::End, label),
            false => chart.text(x + 8.0, y, "fw-ink", Anchor::Start, label),
        }
    }
    Some(chart.finish(&format!("{} by {symbol}", selection.score)))
}

/// The parts of a line between two heights, cut where they cross.
fn parts_within(line: &[(f64, f64)], low: f64, high: f64) -> Vec<Vec<(f64, f64)>> {
    let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
    for ends in line.windows(2) {
        let (mut a, mut b) = (ends[0], ends[1]);
        if a.1.max(b.1) < low || a.1.min(b.1) > high {
            continue;
        }
        let crossing = |height: f64| {
            let part = (height - ends[0].1) / (ends[1].1 - ends[0].1);
            (ends[0].0 + part * (ends[1].0 - ends[0].0), height)
        };
        for end in [&mut a, &mut b] {
            if end.1 < low {
                *end = crossing(low);
            } else if end.1 > high {
                *end = crossing(high);
            }
        }
        match parts.last_mut() {
            Some(part) if part.last() == Some(&a) => part.push(b),
            _ => parts.push(vec![a, b]),
        }
    }
    parts
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
