//! The terms of a model as bars.

use crate::chart::{Anchor, Chart, Scale, shortened, text_width};
use crate::number;
use fewer::model::{Model, Term};

const WIDTH: f64 = 720.0;
const ROW: f64 = 28.0;
const TOP: f64 = 48.0;
const MOST_BARS: usize = 30;
const WIDEST_NAME: f64 = 240.0;
const WIDEST_CLASS: f64 = 100.0;

/// Each term's effect of one standard deviation, the strongest first; 30 terms at most.
pub fn terms_svg(model: &Model) -> String {
    let explanation = model.explain();
    let shown = &explanation.terms[..explanation.terms.len().min(MOST_BARS)];
    let hidden = explanation.terms.len() - shown.len();
    let rows = shown.len().max(1) + usize::from(hidden > 0);
    let mut chart = Chart::new(WIDTH, TOP + ROW * rows as f64 + 12.0);
    let target = model.target_name();
    let moves = "when a term moves by one standard deviation";
    let heading = match (model.classes(), &explanation.outputs[..]) {
        (None, _) => format!("Change of {target} {moves}"),
        (_, [class]) => format!("Change of the score of {class} {moves}"),
        _ => format!("Largest change of the score of a class {moves}"),
    };
    chart.text(16.0, 26.0, "fw-muted", Anchor::Start, &shortened(&heading, WIDTH - 32.0));
    if shown.is_empty() {
        chart.text(16.0, TOP + 18.0, "fw-ink", Anchor::Start, "No term is kept.");
        return chart.finish("No term is kept");
    }

    let names: Vec<String> = shown.iter().map(|t| shortened(&t.name, WIDEST_NAME)).collect();
    let name_width = names.iter().map(|n| text_width(n)).fold(40.0, f64::max);
    let several = explanation.outputs.len() > 1;
    let label = |t: &Term| match strongest(t).filter(|_| several) {
        Some(k) => {
            let class = shortened(&explanation.outputs[k], WIDEST_CLASS);
            format!("{} ({class})", signed(t.effect()))
        }
        None => signed(t.effect()),
    };
    let labels: Vec<String> = shown.iter().map(label).collect();
    let room = |negative: bool| {
        let of_sign = labels.iter().filter(|l| l.starts_with('−') == negative);
        of_sign.map(|l| text_width(l) + 8.0).fold(0.0, f64::max)
    };
    let left = 16.0 + name_width + 16.0;
    let effects = shown.iter().map(Term::effect).chain([0.0]);
    let scale = Scale::covering(effects, 0.0, left + room(true), WIDTH - 16.0 - room(false));
    let zero = scale.at(0.0);
    for (k, term) in shown.iter().enumerate() {
        let effect = term.effect();
        let y = TOP + ROW * k as f64;
        let middle = y + ROW / 2.0 + 4.5;
        let end = scale.at(effect);
        let (class, anchor, label_x) = if effect < 0.0 {
            ("fw-minus", Anchor::End, end - 6.0)
        } else {
            ("fw-plus", Anchor::Start, end + 6.0)
        };
        let title = format!("{}: weight {}", term.name, weights(term));
        chart.text(16.0 + name_width, middle, "fw-ink", Anchor::End, &names[k]);
        let width = (end - zero).abs().max(1.0);
        chart.bar(class, zero.min(end), y + 4.0, width, ROW - 8.0, &title);
        chart.text(label_x, middle, "fw-muted", anchor, &labels[k]);
    }
    let bottom = TOP + ROW * shown.len() as f64;
    chart.line("fw-axis", (zero, TOP), (zero, bottom));
    if hidden > 0 {
        let more = format!("and {hidden} weaker terms");
        chart.text(16.0, bottom + 20.0, "fw-muted", Anchor::Start, &more);
    }
    chart.finish(&format!("The terms of the model of {}", target))
}

/// The output in which the term weighs most.
fn strongest(term: &Term) -> Option<usize> {
    let size = |k: &usize| term.weights[*k].abs();
    (0..term.weights.len()).rev().max_by(|a, b| size(a).total_cmp(&size(b)))
}

fn weights(term: &Term) -> String {
    term.weights.iter().map(|w| number(*w, 6)).collect::<Vec<_>>().join(", ")
}

/// With a sign, a true minus.
fn signed(x: f64) -> String {
    let size = number(x.abs(), 3);
    if x < 0.0 { format!("−{size}") } else { format!("+{size}") }
}
