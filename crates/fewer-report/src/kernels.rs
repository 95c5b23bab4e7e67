//! Kernels that were learnt, under the fit.

use crate::chart::{Anchor, Chart, Scale, shortened};
use crate::number;
use fewer::data::DenseView;
use fewer::model::Model;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 20.0;
/// Top and bottom of the two panels.
const FIT: (f64, f64) = (34.0, 254.0);
const KERNELS: (f64, f64) = (298.0, 418.0);
const HEIGHT: f64 = 466.0;
const MOST_DOTS: usize = 2000;
/// Points of a curve, the centres of kernels aside.
const POINTS: usize = 600;
/// Pixels from the axis below which a curve is taken to be on it.
const FLAT: f64 = 0.3;
/// Half of the band, in standard deviations of a new observation.
const BAND: f64 = 2.0;

/// The fit of a model of learnt kernels of one feature, with the data (n×1, and the target of each
/// row) and a band of two standard deviations; below it each kernel times its weight.
///
/// None for other models. Of more than 2000 rows, every so many are drawn.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::AdaptiveRVR;
/// let x: Vec<f64> = (0..80).map(|i| 0.1 * f64::from(i)).collect();
/// let noise = |i: usize| 0.05 * ((i * i * i) as f64 * 0.3).sin();
/// let hill = |x: f64| (-(x - 3.0).powi(2)).exp();
/// let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| hill(*x) + noise(i)).collect();
/// let view = DenseView::by_rows(&x, 80, 1)?;
/// let model = AdaptiveRVR::new().fit(&Dataset::new(view, &y)?)?;
/// assert!(fewer_report::kernels_svg(&model, view, &y).unwrap().starts_with("<svg"));
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn kernels_svg(model: &Model, x: DenseView<'_>, y: &[f64]) -> Option<String> {
    let learnt = model.learnt()?;
    let [feature] = model.feature_names() else { return None };
    if model.classes().is_some() || x.columns() != 1 {
        return None;
    }
    let rows = x.rows().min(y.len());
    let across = Scale::covering((0..rows).map(|i| x.get(i, 0)), 0.02, LEFT, RIGHT);
    let step = (across.high - across.low) / POINTS as f64;
    let centres = (0..model.n_terms()).filter_map(|k| learnt.centre(k)).map(|c| c[0]);
    let mut points: Vec<f64> = (0..=POINTS)
        .map(|k| across.low + step * k as f64)
        .chain(centres.filter(|c| (across.low..=across.high).contains(c)))
        .collect();
    points.sort_by(f64::total_cmp);
    let view = DenseView::by_rows(&points, points.len(), 1).ok()?;
    let mean = model.predict(view).ok()?;
    let half: Vec<f64> = match model.predict_std(view) {
        Ok(std) => std.iter().map(|s| BAND * s).collect(),
        Err(_) => vec![0.0; mean.len()],
    };
    let mut parts = model.term_values(view).ok()?;
    for (k, term) in model.terms().iter().enumerate() {
        parts.column_mut(k).iter_mut().for_each(|v| *v *= term.weight());
    }

    let edge = |sign: f64| mean.iter().zip(&half).map(move |(m, h)| m + sign * h);
    let drawn = y[..rows].iter().copied().chain(edge(1.0)).chain(edge(-1.0));
    let up = Scale::covering(drawn, 0.04, FIT.1, FIT.0);
    let of_parts = parts.as_slice().iter().copied().chain([0.0]);
    let below = Scale::covering(of_parts, 0.06, KERNELS.1, KERNELS.0);
    let mut chart = Chart::new(WIDTH, HEIGHT);
    let target = model.target_name();
    for (heading, scale, count) in [
        (format!("fit of {target}, ± {BAND} standard deviations"), up, 6),
        ("kernels, times their weights".into(), below, 5),
    ] {
        let heading = shortened(&heading, RIGHT - LEFT);
        chart.text(LEFT, scale.to - 12.0, "fw-muted", Anchor::Start, &heading);
        for tick in scale.ticks(count) {
            let at = scale.at(tick);
            chart.line("fw-grid", (LEFT, at), (RIGHT, at));
            chart.text(LEFT - 8.0, at + 4.5, "fw-muted", Anchor::End, &number(tick, 5));
        }
    }
    for tick in across.ticks(8) {
        let at = across.at(tick);
        chart.line("fw-axis", (at, KERNELS.1), (at, KERNELS.1 + 4.0));
        chart.text(at, KERNELS.1 + 18.0, "fw-muted", Anchor::Middle, &number(tick, 5));
    }
    let middle = (LEFT + RIGHT) / 2.0;
    let name = shortened(feature, RIGHT - LEFT);
    chart.text(middle, HEIGHT - 8.0, "fw-muted", Anchor::Middle, &name);

    let curve = |scale: Scale, values: &mut dyn Iterator<Item = f64>| -> Vec<(f64, f64)> {
        points.iter().zip(values).map(|(x, v)| (across.at(*x), scale.at(v))).collect()
    };
    let mut border = curve(up, &mut edge(1.0));
    border.extend(curve(up, &mut edge(-1.0)).into_iter().rev());
    let border: Vec<String> = border.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    chart.path("fw-plus", Some(0.15), &format!("M{}z", border.join("L")));
    for i in (0..rows).step_by(rows.div_ceil(MOST_DOTS).max(1)) {
        if x.get(i, 0).is_finite() && y[i].is_finite() {
            chart.dot(across.at(x.get(i, 0)), up.at(y[i]));
        }
    }
    chart.polyline("fw-line", &curve(up, &mut mean.iter().copied()));
    chart.line("fw-axis", (LEFT, below.at(0.0)), (RIGHT, below.at(0.0)));
    for k in 0..model.n_terms() {
        let values = curve(below, &mut parts.column(k).iter().copied());
        // Not along the axis, where most of a narrow kernel is.
        let shows = |p: &(f64, f64)| (p.1 - below.at(0.0)).abs() > FLAT;
        let first = values.iter().position(shows).unwrap_or(0).saturating_sub(1);
        let last = values.iter().rposition(shows).map_or(0, |k| k + 2).min(values.len());
        chart.polyline("fw-path fw-path1", &values[first..last.max(first)]);
    }
    Some(chart.finish(&format!("The fit of {target} by {feature} and its kernels")))
}
