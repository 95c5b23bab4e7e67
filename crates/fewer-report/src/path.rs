//! The terms of a model as its penalty weakens.

use crate::chart::{Anchor, Chart, Scale, shortened, shortened_inside, text_width};
use crate::log_axis::{LogAxis, short};
use crate::number;
use fewer::model::{Model, Term};
use std::collections::BTreeMap;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 84.0;
const TERMS: f64 = 56.0;
const TOP: f64 = 66.0;
const BOTTOM: f64 = 396.0;
const HEIGHT: f64 = 450.0;
const WIDEST_NAME: f64 = 160.0;
const NAME_HEIGHT: f64 = 16.0;
/// Terms that have a colour and a name, and all that are drawn.
const NAMED: usize = 12;
const MOST_LINES: usize = 300;
const COLOURS: usize = 6;

/// The effect of each term by λ, with the number of terms above and the names of the strongest
/// terms beside; `mark` is a λ to mark and what to call it. None where fewer than two models have a
/// λ above 0.
pub fn path_svg(path: &[Model], mark: Option<(f64, &str)>) -> Option<String> {
    let mut models: Vec<(f64, &Model)> = path
        .iter()
        .filter_map(|m| Some((m.report().lam.filter(|l| l.is_finite() && *l > 0.0)?, m)))
        .collect();
    models.sort_by(|a, b| b.0.total_cmp(&a.0));
    let lines = lines(&models);
    let named = lines.iter().take(NAMED).filter(|line| line.last() != 0.0);
    let names: Vec<String> = named.clone().map(|l| shortened_inside(l.name, WIDEST_NAME)).collect();
    let names_width = names.iter().map(|n| text_width(n)).fold(0.0, f64::max);
    let right = WIDTH - 36.0 - names_width;

    let across = LogAxis::covering(models.iter().map(|m| m.0), true, LEFT, right)?;
    let effects = lines.iter().flat_map(|l| l.effects.iter().copied()).chain([0.0]);
    let up = Scale::covering(effects, 0.04, BOTTOM, TOP + 24.0);
    let first = models.first()?.1;
    let mut chart = Chart::new(WIDTH, HEIGHT);
    chart.text(16.0, 26.0, "fw-muted", Anchor::Start, &shortened(&heading(first), WIDTH - 32.0));
    for tick in up.ticks(7) {
        let y = up.at(tick);
        chart.line("fw-grid", (LEFT, y), (right, y));
        chart.text(LEFT - 8.0, y + 4.5, "fw-muted", Anchor::End, &number(tick, 5));
    }
    across.draw(&mut chart, TOP, BOTTOM, "λ, the penalty weaker to the right");
    let counts: Vec<(f64, f64)> = models.iter().map(|m| (m.0, m.1.n_terms() as f64)).collect();
    across.draw_terms(&mut chart, TERMS, &counts);
    chart.line("fw-axis", (LEFT, up.at(0.0)), (right, up.at(0.0)));

    // The weakest first, so that the named ones lie above them.
    for (k, line) in lines.iter().enumerate().take(MOST_LINES).rev() {
        let points: Vec<(f64, f64)> =
            line.drawn().map(|i| (across.at(models[i].0), up.at(line.effects[i]))).collect();
        let class = match k < NAMED {
            // The colours come twice, the second time dashed.
            true if k < COLOURS => format!("fw-path fw-path{k}"),
            true => format!("fw-path fw-dash fw-path{}", k % COLOURS),
            false => "fw-path fw-faint".into(),
        };
        chart.polyline(&class, &points);
    }
    let ends: Vec<f64> = named.clone().map(|line| up.at(line.last())).collect();
    let colours = (0..lines.len().min(NAMED)).filter(|&k| lines[k].last() != 0.0);
    for (((k, name), end), y) in colours.zip(&names).zip(&ends).zip(apart(&ends)) {
        let colour = k % COLOURS;
        chart.line(&format!("fw-path{colour}"), (right + 2.0, *end), (right + 14.0, y));
        let class = format!("fw-class{colour}");
        chart.text(right + 18.0, y + 4.5, &class, Anchor::Start, name);
    }
    if let Some((lam, name)) = mark.filter(|m| m.0.is_finite() && m.0 > 0.0) {
        let x = across.at(lam).clamp(LEFT, right);
        let label = format!("{name}: {}", short(lam));
        chart.line("fw-guide", (x, TOP), (x, BOTTOM));
        match x + 8.0 + text_width(&label) > right {
            true => chart.text(x - 8.0, TOP + 16.0, "fw-ink", Anchor::End, &label),
            false => chart.text(x + 8.0, TOP + 16.0, "fw-ink", Anchor::Start, &label),
        }
    }
    Some(chart.finish(&format!("The terms of the model of {} by λ", first.target_name())))
}

fn heading(model: &Model) -> String {
    let moves = "when a term moves by one standard deviation";
    match (model.classes(), model.outputs()) {
        (None, _) => format!("Change of {} {moves}", model.target_name()),
        (Some(classes), 1) => {
            let class = classes.last().map(ToString::to_string).unwrap_or_default();
            format!("Change of the score of {class} {moves}")
        }
        _ => format!("Largest change of the score of a class {moves}"),
    }
}

/// The effect of a term in each model.
struct Line<'m> {
    name: &'m str,
    effects: Vec<f64>,
}

impl Line<'_> {
    fn last(&self) -> f64 {
        self.effects.last().copied().unwrap_or(0.0)
    }

    fn largest(&self) -> f64 {
        self.effects.iter().fold(0.0, |a: f64, e| a.max(e.abs()))
    }

    /// The models in which it has an effect, and those beside them.
    fn drawn(&self) -> std::ops::Range<usize> {
        let kept = |e: &f64| *e != 0.0;
        let first = self.effects.iter().position(kept).unwrap_or(0);
        let last = self.effects.iter().rposition(kept).unwrap_or(0);
        first.saturating_sub(1)..(last + 2).min(self.effects.len())
    }
}

/// The terms of all models, those with the largest effect at the end first.
fn lines<'m>(models: &[(f64, &'m Model)]) -> Vec<Line<'m>> {
    let mut by_term: BTreeMap<usize, Line<'m>> = BTreeMap::new();
    for (k, (_, model)) in models.iter().enumerate() {
        for term in model.terms() {
            let line = by_term
                .entry(term.index)
                .or_insert_with(|| Line { name: &term.name, effects: vec![0.0; models.len()] });
            line.effects[k] = finite(term);
        }
    }
    let mut lines: Vec<Line<'m>> = by_term.into_values().collect();
    let sizes = |l: &Line<'_>| (l.last().abs(), l.largest());
    lines.sort_by(|a, b| {
        let (a, b) = (sizes(a), sizes(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    lines
}

fn finite(term: &Term) -> f64 {
    let effect = term.effect();
    if effect.is_finite() { effect } else { 0.0 }
}

/// Heights for labels that would like to be at `wanted`, so that none covers another.
fn apart(wanted: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut out = wanted.to_vec();
    let mut free = TOP;
    for &k in &order {
        out[k] = out[k].max(free);
        free = out[k] + NAME_HEIGHT;
    }
    let mut limit = BOTTOM;
    for &k in order.iter().rev() {
        out[k] = out[k].min(limit);
        limit = out[k] - NAME_HEIGHT;
    }
    out
}
