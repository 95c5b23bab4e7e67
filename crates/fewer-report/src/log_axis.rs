//! A logarithmic axis across a picture, with the number of terms above it.

use crate::chart::{Anchor, Chart, Scale, text_width};
use crate::number;

/// About three digits of a value that is named in a picture.
pub fn short(value: f64) -> String {
    if value.abs() >= 1e3 { number(value.round(), 3) } else { number(value, 3) }
}

/// A gap between labels.
const GAP: f64 = 14.0;

/// Positive values across a picture.
pub struct LogAxis {
    scale: Scale,
}

impl LogAxis {
    /// Covers the values; none where fewer than two of them differ.
    pub fn covering(
        values: impl Iterator<Item = f64>,
        falling: bool,
        left: f64,
        right: f64,
    ) -> Option<Self> {
        let logs = values.filter(|v| v.is_finite() && *v > 0.0).map(f64::log10);
        let range = logs.fold(None, |range: Option<(f64, f64)>, v| {
            Some(range.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
        });
        let (low, high) = range.filter(|(low, high)| high - low > 1e-9)?;
        let (low, high) = if falling { (high, low) } else { (low, high) };
        Some(Self { scale: Scale { low, high, from: left, to: right } })
    }

    pub fn at(&self, value: f64) -> f64 {
        self.scale.at(value.log10())
    }

    /// Round values whose labels have room.
    fn ticks(&self) -> Vec<f64> {
        let (a, b) = (self.scale.low, self.scale.high);
        let (low, high) = (a.min(b), a.max(b));
        let within = |v: &f64| (low - 1e-9..=high + 1e-9).contains(&v.log10());
        let choices: [(&[f64], usize); 6] = [
            (&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0], 1),
            (&[1.0, 2.0, 5.0], 1),
            (&[1.0], 1),
            (&[1.0], 2),
            (&[1.0], 5),
            (&[1.0], 50),
        ];
        for (mantissas, step) in choices {
            let powers = (low.floor() as i32..=high.ceil() as i32)
                .filter(|p| p.rem_euclid(step as i32) == 0)
                .map(|p| format!("1e{p}").parse().unwrap_or(0.0));
            let ticks: Vec<f64> = powers
                .flat_map(|p: f64| mantissas.iter().map(move |m| m * p))
                .filter(within)
                .collect();
            let crowded = ticks.windows(2).any(|t| {
                let room = (self.at(t[1]) - self.at(t[0])).abs();
                room < GAP + (text_width(&number(t[0], 3)) + text_width(&number(t[1], 3))) / 2.0
            });
            if !crowded {
                return ticks;
            }
        }
        Vec::new()
    }

    /// Draws the axis at `bottom`, its grid up to `top`, and what it shows.
    pub fn draw(&self, chart: &mut Chart, top: f64, bottom: f64, title: &str) {
        let (left, right) = (self.scale.from, self.scale.to);
        for tick in self.ticks() {
            let x = self.at(tick);
            chart.line("fw-grid", (x, top), (x, bottom));
            chart.line("fw-axis", (x, bottom), (x, bottom + 4.0));
            chart.text(x, bottom + 18.0, "fw-muted", Anchor::Middle, &number(tick, 3));
        }
        chart.line("fw-axis", (left, bottom), (right, bottom));
        chart.text((left + right) / 2.0, bottom + 40.0, "fw-muted", Anchor::Middle, title);
    }

    /// Draws the number of terms of the (value, terms) pairs, which go across in order.
    pub fn draw_terms(&self, chart: &mut Chart, y: f64, points: &[(f64, f64)]) {
        chart.text(self.scale.from - 24.0, y, "fw-muted", Anchor::End, "terms");
        let mut free = f64::NEG_INFINITY;
        for &(value, terms) in points {
            let (x, label) = (self.at(value), number(terms, 2));
            let half = text_width(&label) / 2.0;
            if x - half >= free {
                chart.text(x, y, "fw-muted", Anchor::Middle, &label);
                // Numbers a little apart are read more easily than a row of them.
                free = x + half + 3.0 * GAP;
            }
        }
    }
}
