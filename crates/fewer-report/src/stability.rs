//! How often terms are kept in fits to halves of the rows.

use crate::chart::{Anchor, Chart, Scale, shortened, text_width};
use crate::number;
use fewer::select::Stability;

const WIDTH: f64 = 720.0;
const ROW: f64 = 28.0;
const TOP: f64 = 66.0;
const MOST_BARS: usize = 30;
const WIDEST_NAME: f64 = 240.0;

/// The part of the fits that each term was in, the most frequent first and 30 at most; stable
/// terms stand out, and a line marks the threshold.
pub fn stability_svg(found: &Stability) -> String {
    let stable = found.stable().count();
    let shown = &found.terms[..found.terms.len().min(MOST_BARS.max(stable))];
    let hidden = found.terms.len() - shown.len();
    let rows = shown.len().max(1) + usize::from(hidden > 0);
    let mut chart = Chart::new(WIDTH, TOP + ROW * rows as f64 + 12.0);
    let heading = format!(
        "Part of {} fits to halves of the rows that keep a term: {stable} of {} stable, at most {} \
         by chance",
        found.subsamples,
        found.candidates,
        number(found.expected_false, 2)
    );
    chart.text(16.0, 26.0, "fw-muted", Anchor::Start, &shortened(&heading, WIDTH - 32.0));
    if shown.is_empty() {
        chart.text(16.0, TOP + 18.0, "fw-ink", Anchor::Start, "No term is kept in any fit.");
        return chart.finish("No term is kept in any fit");
    }
    let names: Vec<String> = shown.iter().map(|t| shortened(&t.name, WIDEST_NAME)).collect();
    let name_width = names.iter().map(|n| text_width(n)).fold(40.0, f64::max);
    let left = 16.0 + name_width + 16.0;
    let scale = Scale::covering([0.0, 1.0].into_iter(), 0.0, left, WIDTH - 64.0);
    for (k, term) in shown.iter().enumerate() {
        let y = TOP + ROW * k as f64;
        let middle = y + ROW / 2.0 + 4.5;
        let class = if term.stable { "fw-plus" } else { "fw-dot" };
        let label = number(term.frequency, 3);
        let end = scale.at(term.frequency);
        chart.text(16.0 + name_width, middle, "fw-ink", Anchor::End, &names[k]);
        let title = format!("{}: {label}", term.name);
        chart.bar(class, left, y + 4.0, (end - left).max(1.0), ROW - 8.0, &title);
        chart.text(end + 6.0, middle, "fw-muted", Anchor::Start, &label);
    }
    let bottom = TOP + ROW * shown.len() as f64;
    chart.line("fw-axis", (left, TOP), (left, bottom));
    let threshold = scale.at(found.threshold);
    chart.line("fw-guide", (threshold, TOP - 8.0), (threshold, bottom));
    let label = format!("threshold {}", number(found.threshold, 3));
    chart.text(threshold, TOP - 14.0, "fw-ink", Anchor::Middle, &label);
    if hidden > 0 {
        let more = format!("and {hidden} terms that are kept more seldom");
        chart.text(16.0, bottom + 20.0, "fw-muted", Anchor::Start, &more);
    }
    chart.finish("How often terms are kept")
}
