//! How a fit went.

use crate::chart::{Anchor, Chart, Scale};
use crate::number;
use fewer::model::Model;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = WIDTH - 20.0;
/// Top and bottom of the two panels.
const OBJECTIVE: (f64, f64) = (34.0, 174.0);
const TERMS: (f64, f64) = (216.0, 306.0);
const HEIGHT: f64 = 352.0;
const MOST_POINTS: usize = 600;
/// From this many iterations on, the axis is logarithmic: most happens in the first few.
const LOGARITHMIC: usize = 20;

/// The objective and the number of terms by iteration; none where the model has no trace.
pub fn trace_svg(model: &Model) -> Option<String> {
    let trace = &model.report().trace;
    let last = trace.len().saturating_sub(1);
    if last == 0 {
        return None;
    }
    let logarithmic = last >= LOGARITHMIC;
    let position = |i: usize| if logarithmic { (1.0 + i as f64).log10() } else { i as f64 };
    let across = Scale { low: position(0), high: position(last), from: LEFT, to: RIGHT };
    let points = picked(last, logarithmic);

    let mut chart = Chart::new(WIDTH, HEIGHT);
    let objective = trace.iter().map(|s| s.objective);
    let up = Scale::covering(objective, 0.04, OBJECTIVE.1, OBJECTIVE.0);
    let terms = trace.iter().map(|s| s.terms as f64).chain([0.0]);
    let count = Scale::covering(terms, 0.0, TERMS.1, TERMS.0);
    for (heading, scale, ticks) in [
        ("objective", up, up.ticks(4)),
        ("terms", count, count.ticks(3).into_iter().filter(|t| t.fract() == 0.0).collect()),
    ] {
        chart.text(LEFT, scale.to - 12.0, "fw-muted", Anchor::Start, heading);
        for tick in ticks {
            let y = scale.at(tick);
            chart.line("fw-grid", (LEFT, y), (RIGHT, y));
            chart.text(LEFT - 8.0, y + 4.5, "fw-muted", Anchor::End, &number(tick, 6));
        }
    }
    for tick in iteration_ticks(last, logarithmic) {
        let (x, label) = (across.at(position(tick)), tick.to_string());
        chart.line("fw-axis", (x, TERMS.1), (x, TERMS.1 + 4.0));
        chart.text(x, TERMS.1 + 18.0, "fw-muted", Anchor::Middle, &label);
    }
    chart.line("fw-axis", (LEFT, TERMS.1), (RIGHT, TERMS.1));
    chart.text((LEFT + RIGHT) / 2.0, HEIGHT - 8.0, "fw-muted", Anchor::Middle, "iteration");

    let finite = |&&i: &&usize| trace[i].objective.is_finite();
    let curve: Vec<(f64, f64)> = points
        .iter()
        .filter(finite)
        .map(|&i| (across.at(position(i)), up.at(trace[i].objective)))
        .collect();
    chart.polyline("fw-line", &curve);
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for &i in &points {
        let (x, y) = (across.at(position(i)), count.at(trace[i].terms as f64));
        if let Some(&(_, before)) = steps.last() {
            steps.push((x, before));
        }
        steps.push((x, y));
    }
    chart.polyline("fw-line", &steps);
    Some(chart.finish("Objective and number of terms by iteration"))
}

/// The iterations to draw, the start (0) and the last among them.
fn picked(last: usize, logarithmic: bool) -> Vec<usize> {
    let mut points: Vec<usize> = (0..=MOST_POINTS)
        .map(|k| {
            let part = k as f64 / MOST_POINTS as f64;
            let i = match logarithmic {
                true => (1.0 + last as f64).powf(part) - 1.0,
                false => part * last as f64,
            };
            (i.round() as usize).min(last)
        })
        .collect();
    points.dedup();
    points
}

fn iteration_ticks(last: usize, logarithmic: bool) -> Vec<usize> {
    if !logarithmic {
        return (0..=last).step_by(last.div_ceil(10)).collect();
    }
    let powers = std::iter::successors(Some(1usize), |p| p.checked_mul(10));
    let round = powers.flat_map(|p| [p, 2 * p, 5 * p]).take_while(|&i| i <= last);
    std::iter::once(0).chain(round).collect()
}
