//! The report: one HTML file.

use crate::{Accuracy, fit_svg, number, terms_svg, trace_svg};
use fewer::model::{CertificateKind, Model};
use minijinja::{Environment, context};

/// What a report is about.
#[derive(Debug, Clone, Copy)]
pub struct ReportInput<'a> {
    /// The model.
    pub model: &'a Model,
    /// Name of the data, what was measured and what the model says; both as long.
    pub data: Option<(&'a str, &'a [f64], &'a [f64])>,
}

impl<'a> ReportInput<'a> {
    /// A report on the model alone.
    pub fn new(model: &'a Model) -> Self {
        Self { model, data: None }
    }

    /// Adds how near the predictions come on some data.
    pub fn with_data(self, name: &'a str, actual: &'a [f64], predicted: &'a [f64]) -> Self {
        Self { data: Some((name, actual, predicted)), ..self }
    }
}

/// The report as one HTML file without outside parts.
pub fn report_html(input: &ReportInput<'_>) -> String {
    let model = input.model;
    let report = model.report();
    let explanation = model.explain();
    let accuracy = input.data.map(|(_, actual, predicted)| Accuracy::of(actual, predicted, None));

    let mut figures = vec![
        ("terms kept", format!("{} of {}", model.n_terms(), model.basis_size())),
        ("rows", report.rows.to_string()),
    ];
    if let Some(accuracy) = accuracy {
        figures.push(("R²", accuracy.r2.map_or("–".into(), |r2| number(r2, 3))));
        figures.push(("RMSE", number(accuracy.rmse, 4)));
        figures.push(("MAE", number(accuracy.mae, 4)));
    }
    if let Some(noise) = model.noise_std() {
        figures.push(("noise (s.d.)", number(noise, 4)));
    }
    let terms: Vec<(String, String, String)> = explanation
        .terms
        .iter()
        .map(|(name, weight, effect)| (name.clone(), number(*weight, 6), number(*effect, 4)))
        .collect();
    let kind = match report.certificate.kind {
        CertificateKind::DualityGap => "duality gap",
        CertificateKind::Stationarity => "stationarity residual",
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
        ("objective", number(report.objective, 8)),
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
                formula => model.formula(),
                figures, terms, details, settings, dropped,
                notes => report.notes,
                intercept => number(explanation.intercept, 6),
                data => input.data.map(|d| d.0),
                terms_svg => terms_svg(model),
                fit_svg => input.data.map(|(_, actual, predicted)| fit_svg(actual, predicted)),
                trace_svg => trace_svg(model),
            })
        })
        .expect("the template and its values are fixed and tested")
}
