//! Predictions beside what was measured.

use crate::chart::{Anchor, Chart, Scale};
use crate::number;

const WIDTH: f64 = 496.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 72.0;
const TOP: f64 = 20.0;
const RIGHT: f64 = LEFT + SIDE;
const BOTTOM: f64 = TOP + SIDE;
const SIDE: f64 = 404.0;
const MOST_DOTS: usize = 2000;

/// Predicted against actual values, with the line on which they are equal; of more than 2000
/// pairs, every so many are drawn.
pub fn fit_svg(actual: &[f64], predicted: &[f64]) -> String {
    let mut chart = Chart::new(WIDTH, HEIGHT);
    let values = actual.iter().chain(predicted).copied();
    let across = Scale::covering(values, 0.04, LEFT, RIGHT);
    let up = Scale { from: BOTTOM, to: TOP, ..across };
    for tick in across.ticks(8) {
        let (x, y, label) = (across.at(tick), up.at(tick), number(tick, 5));
        chart.line("fw-grid", (x, TOP), (x, BOTTOM));
        chart.line("fw-grid", (LEFT, y), (RIGHT, y));
        chart.text(x, BOTTOM + 18.0, "fw-muted", Anchor::Middle, &label);
        chart.text(LEFT - 8.0, y + 4.5, "fw-muted", Anchor::End, &label);
    }
    let pairs = actual.len().min(predicted.len());
    for i in (0..pairs).step_by(pairs.div_ceil(MOST_DOTS).max(1)) {
        if actual[i].is_finite() && predicted[i].is_finite() {
            chart.dot(across.at(actual[i]), up.at(predicted[i]));
        }
    }
    chart.line("fw-guide", (LEFT, BOTTOM), (RIGHT, TOP));
    chart.text((LEFT + RIGHT) / 2.0, HEIGHT - 12.0, "fw-muted", Anchor::Middle, "actual");
    chart.upward_text(18.0, (TOP + BOTTOM) / 2.0, "predicted");
    chart.finish("Predicted against actual values")
}
