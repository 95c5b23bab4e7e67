//! Classes in the plane.

use crate::chart::{Anchor, Chart, Scale, shortened};
use crate::number;
use fewer::basis::Learnt;
use fewer::data::DenseView;
use fewer::linalg::Matrix;
use fewer::model::Model;
use std::collections::BTreeMap;

const SIDE: f64 = 440.0;
const LEFT: f64 = 64.0;
const TOP: f64 = 20.0;
const RIGHT: f64 = LEFT + SIDE;
const BOTTOM: f64 = TOP + SIDE;
const LEGEND: f64 = RIGHT + 24.0;
const WIDTH: f64 = LEGEND + 168.0;
const HEIGHT: f64 = BOTTOM + 52.0;
const LINE: f64 = 24.0;
/// Cells of the map along each side.
const CELLS: usize = 220;
/// Shades of each class in the map.
const SHADES: usize = 8;
const DARKEST: f64 = 0.42;
const MOST_DOTS: usize = 2000;
const MOST_LEGEND: usize = 12;

/// A map of the most probable class in the plane of the two features, the deeper the surer; with
/// the data (n×2, and the class of each row), and rings around the centres of kernels kept.
///
/// None for a model without classes or of other than two features. Of more than 2000 rows, every
/// so many are drawn.
///
/// ```
/// use fewer::data::{Dataset, DenseView, Target};
/// use fewer::method::ProbitClassifier;
/// let x: Vec<f64> = (0..200).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let codes: Vec<usize> = x.chunks(2).map(|x| usize::from(x[0] > 0.2)).collect();
/// let view = DenseView::by_rows(&x, 100, 2)?;
/// let target = Target::labels(codes.iter().map(|c| *c as i64));
/// let model = ProbitClassifier::new().fit(&Dataset::new(view, target)?)?;
/// assert!(fewer_report::boundary_svg(&model, view, &codes).unwrap().starts_with("<svg"));
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn boundary_svg(model: &Model, x: DenseView<'_>, codes: &[usize]) -> Option<String> {
    let classes = model.classes()?;
    let [name_across, name_up] = model.feature_names() else { return None };
    if x.columns() != 2 {
        return None;
    }
    let centres = centres(model);
    let values = |j: usize| (0..x.rows()).map(move |i| x.get(i, j));
    let with_centres = |j: usize| values(j).chain(centres.iter().map(move |c| c[j]));
    let across = Scale::covering(with_centres(0), 0.06, LEFT, RIGHT);
    let up = Scale::covering(with_centres(1), 0.06, BOTTOM, TOP);

    let mut chart = Chart::new(WIDTH, HEIGHT);
    let map = Map::of(model, across, up)?;
    map.draw_shades(&mut chart, classes.len());
    map.draw_boundaries(&mut chart);
    for tick in across.ticks(6) {
        let at = across.at(tick);
        chart.line("fw-axis", (at, BOTTOM), (at, BOTTOM + 5.0));
        chart.text(at, BOTTOM + 20.0, "fw-muted", Anchor::Middle, &number(tick, 5));
    }
    for tick in up.ticks(6) {
        let at = up.at(tick);
        chart.line("fw-axis", (LEFT - 5.0, at), (LEFT, at));
        chart.text(LEFT - 9.0, at + 4.5, "fw-muted", Anchor::End, &number(tick, 4));
    }
    for (from, to) in [
        ((LEFT, TOP), (RIGHT, TOP)),
        ((LEFT, BOTTOM), (RIGHT, BOTTOM)),
        ((LEFT, TOP), (LEFT, BOTTOM)),
        ((RIGHT, TOP), (RIGHT, BOTTOM)),
    ] {
        chart.line("fw-axis", from, to);
    }
    let middle = (LEFT + RIGHT) / 2.0;
    chart.text(middle, HEIGHT - 8.0, "fw-muted", Anchor::Middle, &shortened(name_across, SIDE));
    chart.upward_text(16.0, (TOP + BOTTOM) / 2.0, &shortened(name_up, SIDE));

    let rows = x.rows().min(codes.len());
    for i in (0..rows).step_by(rows.div_ceil(MOST_DOTS).max(1)) {
        let (a, b) = (x.get(i, 0), x.get(i, 1));
        if a.is_finite() && b.is_finite() {
            marker(&mut chart, codes[i], classes.len(), across.at(a), up.at(b));
        }
    }
    for centre in &centres {
        ring(&mut chart, across.at(centre[0]), up.at(centre[1]));
    }

    let mut y = TOP + 12.0;
    let mut entry = |chart: &mut Chart, text: &str| {
        let text = shortened(text, WIDTH - LEGEND - 28.0);
        chart.text(LEGEND + 20.0, y + 4.5, "fw-ink", Anchor::Start, &text);
        y += LINE;
        y - LINE
    };
    for (k, class) in classes.iter().take(MOST_LEGEND).enumerate() {
        let at = entry(&mut chart, &class.to_string());
        marker(&mut chart, k, classes.len(), LEGEND + 6.0, at);
    }
    if classes.len() > MOST_LEGEND {
        entry(&mut chart, &format!("and {} more", classes.len() - MOST_LEGEND));
    }
    if codes.iter().any(|&code| code >= classes.len()) {
        let at = entry(&mut chart, "unknown class");
        marker(&mut chart, classes.len(), classes.len(), LEGEND + 6.0, at);
    }
    if !centres.is_empty() {
        let plural = if centres.len() == 1 { "" } else { "s" };
        let at = entry(&mut chart, &format!("{} kernel{plural} kept", centres.len()));
        ring(&mut chart, LEGEND + 6.0, at);
    }
    let at = entry(&mut chart, "equally probable");
    chart.line("fw-border", (LEGEND - 3.0, at), (LEGEND + 15.0, at));
    Some(chart.finish(&format!(
        "The most probable {} by {name_across} and {name_up}",
        model.target_name()
    )))
}

/// Where the kernels of a model are; none where it has other terms as well.
pub fn centres(model: &Model) -> Vec<Vec<f64>> {
    if let Some(kernel) = model.kernel() {
        return (0..kernel.rows().len()).map(|k| kernel.centre(k)).collect();
    }
    let of = |learnt: &Learnt| (0..model.n_terms()).map(|k| learnt.centre(k)).collect();
    model.learnt().and_then(of).unwrap_or_default()
}

/// What the model says on a grid of points.
struct Map {
    eta: Matrix,
    probabilities: Matrix,
}

impl Map {
    fn of(model: &Model, across: Scale, up: Scale) -> Option<Self> {
        let value =
            |scale: Scale, k: usize| scale.low + (scale.high - scale.low) * k as f64 / CELLS as f64;
        let points: Vec<f64> = (0..=CELLS)
            .flat_map(|i| (0..=CELLS).flat_map(move |j| [value(across, j), value(up, i)]))
            .collect();
        let view = DenseView::by_rows(&points, points.len() / 2, 2).ok()?;
        let eta = model.decision(view).ok()?;
        let probabilities = model.predict_probabilities(view).ok()?;
        Some(Self { eta, probabilities })
    }

    /// Pixels of a point of the grid; parts of cells may be given.
    fn at(i: f64, j: f64) -> (f64, f64) {
        let cell = SIDE / CELLS as f64;
        (LEFT + j * cell, BOTTOM - i * cell)
    }

    /// One shape for each class and shade, made of runs of cells.
    fn draw_shades(&self, chart: &mut Chart, classes: usize) {
        let mut shapes: BTreeMap<(usize, usize), String> = BTreeMap::new();
        let cell = SIDE / CELLS as f64;
        for i in 0..CELLS {
            let mut start = 0;
            let mut shade = self.shade(i, 0, classes);
            for j in 1..=CELLS {
                let next = (j < CELLS).then(|| self.shade(i, j, classes));
                if next != Some(shade) {
                    let (x, y) = Self::at(i as f64 + 1.0, start as f64);
                    let width = (j - start) as f64 * cell;
                    let shape = shapes.entry(shade).or_default();
                    shape.push_str(&format!("M{x:.0} {y:.0}h{width:.0}v{cell:.0}H{x:.0}z"));
                    start = j;
                }
                shade = next.unwrap_or(shade);
            }
        }
        for ((class, shade), path) in shapes {
            let opacity = DARKEST * (shade as f64 + 0.5) / SHADES as f64;
            chart.path(&colour(class, classes), Some(opacity), &path);
        }
    }

    /// The most probable class in a cell, and how sure that is.
    fn shade(&self, i: usize, j: usize, classes: usize) -> (usize, usize) {
        let corner = |a: usize, b: usize| (i + a) * (CELLS + 1) + j + b;
        let corners = [corner(0, 0), corner(0, 1), corner(1, 0), corner(1, 1)];
        let mean =
            |k: usize| corners.iter().map(|&c| self.probabilities[(c, k)]).sum::<f64>() / 4.0;
        let best = (1..classes).fold(0, |best, k| if mean(k) > mean(best) { k } else { best });
        let least = 1.0 / classes as f64;
        let sure = (mean(best) - least) / (1.0 - least);
        (best, ((sure * SHADES as f64) as usize).min(SHADES - 1))
    }

    /// Lines along which the two most probable classes are equally so, by marching squares.
    fn draw_boundaries(&self, chart: &mut Chart) {
        let outputs = self.eta.columns();
        // Every line borders a class other than the last.
        let mut path = String::new();
        for k in 0..(outputs - 1).max(1) {
            let margin: Vec<f64> = (0..self.eta.rows()).map(|c| self.margin(c, k)).collect();
            for i in 0..CELLS {
                for j in 0..CELLS {
                    for [a, b] in crossings(&margin, i, j) {
                        let (a, b) = (Self::at(a.0, a.1), Self::at(b.0, b.1));
                        path.push_str(&format!("M{:.1} {:.1}L{:.1} {:.1}", a.0, a.1, b.0, b.1));
                    }
                }
            }
        }
        if !path.is_empty() {
            chart.path("fw-border", None, &path);
        }
    }

    /// By how much output `k` is above all others.
    fn margin(&self, c: usize, k: usize) -> f64 {
        let outputs = self.eta.columns();
        let others = (0..outputs).filter(|&j| j != k).map(|j| self.eta[(c, j)]);
        match outputs {
            1 => self.eta[(c, 0)],
            _ => self.eta[(c, k)] - others.fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Where the zero line crosses a cell: pieces from edge to edge, in (row, column).
fn crossings(values: &[f64], i: usize, j: usize) -> Vec<[(f64, f64); 2]> {
    let value = |a: usize, b: usize| values[(i + a) * (CELLS + 1) + j + b];
    let corners = [(0, 0), (0, 1), (1, 1), (1, 0)];
    let mut points = Vec::new();
    for e in 0..4 {
        let (from, to) = (corners[e], corners[(e + 1) % 4]);
        let (u, v) = (value(from.0, from.1), value(to.0, to.1));
        if (u > 0.0) != (v > 0.0) {
            let t = u / (u - v);
            let mix = |p: usize, q: usize| p as f64 + t * (q as f64 - p as f64);
            points.push((i as f64 + mix(from.0, to.0), j as f64 + mix(from.1, to.1)));
        }
    }
    match points[..] {
        [a, b] => vec![[a, b]],
        [a, b, c, d] => vec![[a, b], [c, d]],
        _ => Vec::new(),
    }
}

/// The style of a class; unknown ones are grey.
fn colour(class: usize, classes: usize) -> String {
    if class < classes { format!("fw-class{}", class % 6) } else { "fw-muted".into() }
}

/// A dot, square, triangle or diamond: classes can be told apart without colours.
fn marker(chart: &mut Chart, class: usize, classes: usize, x: f64, y: f64) {
    let style = format!("{} fw-mark", colour(class, classes));
    let shape = match class % 4 {
        0 => format!("M{:.1} {y:.1}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", x - 3.5),
        1 => format!("M{:.1} {:.1}h6.4v6.4h-6.4z", x - 3.2, y - 3.2),
        2 => format!("M{x:.1} {:.1}l4.2 7.2h-8.4z", y - 4.6),
        _ => format!("M{x:.1} {:.1}l4.5 4.5l-4.5 4.5l-4.5 -4.5z", y - 4.5),
    };
    chart.path(&style, None, &shape);
}

fn ring(chart: &mut Chart, x: f64, y: f64) {
    let path = format!("M{:.1} {y:.1}a8 8 0 1 0 16 0a8 8 0 1 0 -16 0z", x - 8.0);
    chart.path("fw-halo", None, &path);
    chart.path("fw-ring", None, &path);
}
