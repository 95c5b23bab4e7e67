//! The report: one HTML file.

use crate::boundary::centres;
use crate::{
    Comparison, Score, boundary_svg, fit_svg, formulas, kernels_svg, number, selection_svg,
    terms_svg, trace_svg,
};
use fewer::data::DenseView;
use fewer::model::{CertificateKind, Model};
use minijinja::{Environment, context};

/// What a report is about.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The model.
    pub model: &'a Model,
    /// Name of the data, and what was measured beside what the model says.
    pub data: Option<(&'a str, &'a Comparison)>,
    /// The inputs of these data, to draw classes in the plane or learnt kernels under a fit.
    pub inputs: Option<DenseView<'a>>,
}

impl<'a> ReportInput<'a> {
    /// A report on the model alone.
    pub fn new(model: &'a Model) -> Self {
        Self { model, data: None, inputs: None }
    }

    /// Adds how near the predictions come on some data.
    pub fn with_data(self, name: &'a str, comparison: &'a Comparison) -> Self {
        Self { data: Some((name, comparison)), ..self }
    }

    /// Adds the inputs of these data: two features and classes make a picture, and so does one
    /// feature with learnt kernels.
    pub fn with_inputs(self, inputs: DenseView<'a>) -> Self {
        Self { inputs: Some(inputs), ..self }
    }
}

/// The report as one HTML file without outside parts.
pub fn report_html(input: &ReportInput<'_>) -> String {
    let model = input.model;
    let report = model.report();
    let explanation = model.explain();
    let comparison = input.data.map(|(_, comparison)| comparison);

    let mut figures = vec![
        match model.learnt() {
            Some(_) => ("terms learnt", model.n_terms().to_string()),
            None => ("terms kept", format!("{} of {}", model.n_terms(), model.basis_size())),
        },
        ("rows", report.rows.to_string()),
    ];
    match comparison.map(|c| (c.rows(), c.score(None))) {
        Some((_, Score::Numbers(score))) => {
            figures.push(("R²", score.r2.map_or("–".into(), |r2| number(r2, 3))));
            figures.push(("RMSE", number(score.rmse, 4)));
            figures.push(("MAE", number(score.mae, 4)));
        }
        Some((rows, Score::Classes(score))) => {
            figures.push(("accuracy", format!("{:.1} %", 100.0 * score.accuracy)));
            figures.push(("errors", format!("{} of {rows}", score.errors)));
            figures.push(("balanced error", format!("{:.1} %", 100.0 * score.balanced_error)));
            figures.push(("log loss", score.log_loss.map_or("–".into(), |loss| number(loss, 3))));
        }
        None => {}
    }
    if let Some(noise) = model.noise_std() {
        let kind = if model.noise_nu().is_some() { "noise (scale)" } else { "noise (s.d.)" };
        figures.push((kind, number(noise, 4)));
    }
    let texts = |weights: &[f64]| weights.iter().map(|w| number(*w, 6)).collect::<Vec<_>>();
    let terms: Vec<(&str, Vec<String>, String)> = explanation
        .terms
        .iter()
        .map(|t| (t.name.as_str(), texts(&t.weights), number(t.effect(), 4)))
        .collect();
    let weight_names = match (model.classes(), explanation.outputs.len()) {
        (Some(_), 1) => vec![format!("weight ({})", explanation.outputs[0])],
        (None, _) => vec!["weight".into()],
        _ => explanation.outputs.clone(),
    };
    let confusion = comparison.and_then(confusion);
    let kind = match report.certificate.kind {
        CertificateKind::DualityGap => "duality gap",
        CertificateKind::Stationarity => "stationarity residual",
        CertificateKind::Evidence => "largest gain left",
        CertificateKind::Sampling => "worst R̂ − 1,",
        _ => "certificate",
    };
    let mut details = vec![
        ("method", model.method().to_string()),
        (
            "ended",
            format!(
                "{} after {} iteration{}",
                report.termination.to_string().replace('_', " "),
                report.iterations,
                if report.iterations == 1 { "" } else { "s" }
            ),
        ),
        ("objective", number(report.objective, 6)),
        (
            "certificate",
            format!(
                "{kind} {} ({})",
                number(report.certificate.value, 2),
                report.certificate.scope
            ),
        ),
    ];
    if let Some(lam) = report.lam {
        details.push(("λ", number(lam, 6)));
    }
    let settings: Vec<(String, String)> = model
        .settings()
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            (name.clone(), text)
        })
        .collect();
    let dropped: Vec<(&str, &str)> =
        report.dropped.iter().map(|d| (d.name.as_str(), d.reason.as_str())).collect();

    let mut environment = Environment::new();
    environment
        .add_template("report.html", include_str!("report.html"))
        .and_then(|()| environment.get_template("report.html"))
        .and_then(|template| {
            template.render(context! {
                target => model.target_name(),
                formulas => formulas(model),
                figures, confusion, weight_names, terms, details, settings, dropped,
                notes => report.notes,
                intercepts => texts(&explanation.intercepts),
                data => input.data.map(|d| d.0),
                terms_svg => terms_svg(model),
                fit_svg => match comparison {
                    Some(Comparison::Numbers { actual, predicted }) => {
                        Some(fit_svg(actual, predicted))
                    }
                    _ => None,
                },
                boundary_svg => match (input.inputs, comparison) {
                    (Some(x), Some(Comparison::Classes { actual, .. })) => {
                        boundary_svg(model, x, actual)
                    }
                    _ => None,
                },
                kernels_svg => match (input.inputs, comparison) {
                    (Some(x), Some(Comparison::Numbers { actual, .. })) => {
                        kernels_svg(model, x, actual)
                    }
                    _ => None,
                },
                kernel => !centres(model).is_empty(),
                relevances => relevances(model),
                selection_svg => report.selection.as_ref().and_then(selection_svg),
                trace_svg => trace_svg(model),
            })
        })
        .expect("the template and its values are fixed and tested")
}

/// Features with what they matter for the fit, the most relevant first, where the model says so.
fn relevances(model: &Model) -> Vec<(String, String)> {
    let relevances = model.explain().relevances;
    relevances.into_iter().map(|(name, value)| (name, number(value, 4))).collect()
}

/// More classes than this would not fit the page.
const MOST_CLASSES: usize = 30;

/// The classes predicted, and for each class measured how often; with the position of the cell of
/// those told rightly.
type Confusion = (Vec<String>, Vec<(String, Vec<usize>, usize)>);

fn confusion(comparison: &Comparison) -> Option<Confusion> {
    let Comparison::Classes { labels, known, .. } = comparison else { return None };
    if labels.len() > MOST_CLASSES {
        return None;
    }
    let names: Vec<String> = labels.iter().map(ToString::to_string).collect();
    let rows = names.iter().zip(comparison.confusion()).enumerate();
    let rows = rows.map(|(k, (name, counts))| (name.clone(), counts, k)).collect();
    Some((names[..*known].to_vec(), rows))
}
