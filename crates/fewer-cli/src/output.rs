//! What goes to the standard output, to the standard error and to files.

use fewer::model::{CertificateKind, Model, suspected_rows};
use fewer::select::Tried;
use fewer_report::{Accuracy, Score, formulas, number};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};
use crate::selection::{choice, table};
use crate::watch::until_safe;

/// Prints a message on the standard error, if anyone listens.
pub fn message(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints results on the standard output.
pub fn print(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| if text.ends_with('\n') { Ok(()) } else { out.write_all(b"\n") });
    written.and_then(|()| out.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::Input(format!("the standard output cannot be written: {error}")),
    })
}

/// Prints one object for other programs.
pub fn print_json(value: &Value) -> Outcome {
    print(&format!("{value:#}"))
}

/// Checks, before any work is done, that a file can be put at `path`; follows links.
pub fn check_path(path: &Path) -> Outcome<PathBuf> {
    let refuse = |problem: &str| Err(Failure::in_file(path, problem));
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => refuse("this is a directory; give the name of a file"),
        Ok(found) if !found.is_file() => refuse("this is not a regular file"),
        Ok(_) => Ok(path.canonicalize().unwrap_or_else(|_| path.into())),
        Err(_) => match path.parent() {
            _ if path.as_os_str().is_empty() => refuse("the name of a file is expected"),
            Some(folder) if !folder.as_os_str().is_empty() && !folder.is_dir() => {
                refuse(&format!("there is no folder '{}'", folder.display()))
            }
            _ => Ok(path.into()),
        },
    }
}

/// The same for what is made of data, which it must not replace.
pub fn check_result(path: &Path, data: &Path) -> Outcome<PathBuf> {
    let out = check_path(path)?;
    match (out.canonicalize(), data.canonicalize()) {
        (Ok(a), Ok(b)) if a == b => {
            Err(Failure::in_file(path, "this would replace the data; choose another name"))
        }
        _ => Ok(out),
    }
}

/// Writes a file; an earlier file of that name stays whole until the new one is.
pub fn write(path: &Path, text: &str) -> Outcome {
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // Temporary files are private; this one has the rights of any other new file.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|e| e.error)?;
        Ok(())
    };
    until_safe(|| write().map_err(|e| Failure::in_file(path, format!("cannot be written: {e}"))))
}

/// Writes a model file.
pub fn save(model: &Model, path: &Path) -> Outcome {
    until_safe(|| Ok(model.save(path)?))
}

/// The model for other programs; names are those of the Python attributes.
pub fn model_json(model: &Model) -> Value {
    let report = model.report();
    let explanation = model.explain();
    // One number, or one for each class where there are more than two.
    let per_output = |values: &[f64]| match values {
        [value] => json!(value),
        values => json!(values),
    };
    let mut coef: Vec<Value> = explanation
        .terms
        .iter()
        .map(|t| json!({"term": t.name, "weight": per_output(&t.weights), "effect": t.effect()}))
        .collect();
    for (row, errors) in coef.iter_mut().zip(explanation.standard_errors.iter().flatten()) {
        row["std"] = if errors.len() == 1 { json!(errors[0]) } else { json!(errors) };
    }
    for (row, learnt) in coef.iter_mut().zip(&explanation.learnt) {
        row["family"] = json!(learnt.family);
        if let Some(feature) = learnt.feature {
            row["feature"] = json!(model.feature_names()[feature]);
        } else {
            row["centre"] = json!(learnt.centre);
            row["width"] = json!(learnt.width);
        }
    }
    let mut value = json!({
        "method": model.method(),
        "settings": model.settings(),
        "target": model.target_name(),
        "feature_names_in": model.feature_names(),
        "formula": formula(model),
        "coef": coef,
        "intercept": per_output(&explanation.intercepts),
        "n_terms": model.n_terms(),
        "basis_size": model.basis_size(),
        "noise_std": model.noise_std(),
        "lam": report.lam,
        "objective": report.objective,
        "certificate": report.certificate,
        "n_iter": report.iterations,
        "termination": report.termination,
        "converged": report.termination.is_converged(),
        "n_rows": report.rows,
        "notes": report.notes,
        "dropped": report.dropped,
    });
    if let Some(classes) = model.classes() {
        value["classes"] = json!(classes);
    }
    if let Some(nu) = model.noise_nu() {
        value["nu"] = json!(nu);
        value["outliers"] = json!(report.suspected);
    }
    if !report.relevances.is_empty() {
        value["feature_relevances"] = json!(report.relevances);
    }
    if let Some(selection) = &report.selection {
        value["selection"] = json!(selection);
    }
    value
}

/// The right side of the formula, or one for each class where there are more than two.
fn formula(model: &Model) -> Value {
    match model.outputs() {
        1 => json!(model.formula()),
        n => (0..n).map(|k| model.formula_of(k)).collect(),
    }
}

/// Adds how near the predictions come.
pub fn add_score(value: &mut Value, score: &Score) {
    if let Value::Object(parts) = json!(score) {
        parts.into_iter().for_each(|(name, part)| value[name] = part);
    }
}

/// One line for each measure of a score.
pub fn score_lines(score: &Score, rows: usize) -> Vec<(&'static str, String)> {
    match score {
        Score::Numbers(score) => {
            vec![("R²", r2(score)), ("RMSE", number(score.rmse, 5)), ("MAE", number(score.mae, 5))]
        }
        Score::Classes(score) => vec![
            ("accuracy", format!("{:.4}", score.accuracy)),
            ("errors", format!("{} of {rows}", score.errors)),
            ("balanced error", format!("{:.4}", score.balanced_error)),
            ("log loss", score.log_loss.map_or("not defined".into(), |loss| number(loss, 4))),
        ],
    }
}

/// Names and values below each other.
pub fn aligned(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|l| l.0.chars().count()).max().unwrap_or(0) + 2;
    lines.iter().map(|(name, value)| format!("{name:<width$}{value}\n")).collect()
}

/// The formulas of a model, one to a line.
pub fn formula_lines(model: &Model) -> String {
    formulas(model).join("\n")
}

/// The most terms that are listed after a fit.
const MOST_TERMS: usize = 40;
/// The most columns left out that are listed.
const MOST_DROPPED: usize = 6;

/// The terms as a table; with `cut`, only the strongest of very many.
pub fn terms(model: &Model, cut: bool) -> String {
    let mut explanation = model.explain();
    let hidden = explanation.terms.len().saturating_sub(MOST_TERMS);
    if !cut || hidden == 0 {
        return explanation.to_string();
    }
    let whole = explanation.to_string();
    explanation.terms.truncate(MOST_TERMS);
    let table = explanation.to_string();
    let heading = whole.lines().next().unwrap_or_default();
    let rest = table.split_once('\n').map_or("", |(_, rest)| rest);
    format!("{heading}\n{rest}… and {hidden} weaker terms\n")
}

/// One line for each thing to know about a fit.
pub fn summary(model: &Model, score: Option<&Score>) -> String {
    let report = model.report();
    let mut lines = vec![("rows", report.rows.to_string())];
    if let Some(classes) = model.classes() {
        let shown: Vec<String> = classes.iter().take(8).map(ToString::to_string).collect();
        let more = if classes.len() > 8 { ", ..." } else { "" };
        lines.push(("classes", format!("{}: {}{more}", classes.len(), shown.join(", "))));
    }
    for (name, text) in score.iter().flat_map(|s| score_lines(s, report.rows)) {
        if matches!(name, "R²" | "RMSE" | "accuracy" | "errors") {
            lines.push((name, format!("{text} on the training data")));
        }
    }
    if let Some(noise) = model.noise_std() {
        let noise = number(noise, 5);
        lines.push((
            "noise",
            match model.noise_nu() {
                None => format!("{noise} (standard deviation)"),
                Some(nu) => format!("{noise} (scale of Student's t, ν = {})", number(nu, 3)),
            },
        ));
    }
    if !report.suspected.is_empty() {
        let shown = suspected_rows(&report.suspected);
        lines.push(("outliers", format!("{shown} (more than 4 deviations off)")));
    }
    match (&report.selection, report.lam) {
        (Some(selection), _) => lines.push(("chosen", choice(selection))),
        (None, Some(lam)) => lines.push(("λ", number(lam, 5))),
        (None, None) => {}
    }
    let certificate = &report.certificate;
    let kind = match certificate.kind {
        CertificateKind::DualityGap => "duality gap",
        CertificateKind::Stationarity => "stationarity residual",
        CertificateKind::Evidence => "largest gain left",
        CertificateKind::Sampling => "worst R̂ − 1,",
        _ => "value",
    };
    let value = number(certificate.value, 2);
    lines.push(("certificate", format!("{kind} {value} (scope: {})", certificate.scope)));
    let ended = report.termination.to_string().replace('_', " ");
    let plural = if report.iterations == 1 { "" } else { "s" };
    lines.push(("ended", format!("{ended} after {} iteration{plural}", report.iterations)));
    for dropped in report.dropped.iter().take(MOST_DROPPED) {
        lines.push(("left out", format!("{}: {}", dropped.name, dropped.reason)));
    }
    if report.dropped.len() > MOST_DROPPED {
        let more = report.dropped.len() - MOST_DROPPED;
        lines.push(("", format!("and {more} columns more")));
    }
    for note in &report.notes {
        lines.push(("note", note.clone()));
    }
    let lines = lines.iter().map(|(name, value)| format!("{name:<12} {value}\n"));
    lines.collect::<String>() + &tried_table(&report.tried)
}

/// What was tried where the method was chosen.
fn tried_table(tried: &[Tried]) -> String {
    let Some(first) = tried.first() else { return String::new() };
    let width = tried.iter().map(|t| t.name.chars().count()).max().unwrap_or(0);
    let header = ["tried", "method", &first.score, "s.e.", "terms", "seconds", ""];
    let mut header: Vec<String> = header.map(String::from).to_vec();
    header[0] = format!("{:<width$}", header[0]);
    let shown = |value: Option<f64>, digits| value.map_or("–".into(), |v| number(v, digits));
    let row = |t: &Tried| {
        let mark = if t.chosen { "chosen" } else { t.note.as_deref().unwrap_or("") };
        vec![
            format!("{:<width$}", t.name),
            t.method.clone(),
            shown(t.mean, 4),
            shown(t.standard_error, 2),
            shown(t.terms, 3),
            number(t.seconds, 2),
            mark.to_string(),
        ]
    };
    format!("\n{}", table(&header, &tried.iter().map(row).collect::<Vec<_>>()))
}

/// R², or why there is none.
pub fn r2(accuracy: &Accuracy) -> String {
    accuracy.r2.map_or("not defined (constant target)".into(), |r2| format!("{r2:.4}"))
}

/// A text as a cell of CSV.
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let plain = !text.contains([',', '"', '\n', '\r']) && text.trim() == text;
    if plain { text.into() } else { format!("\"{}\"", text.replace('"', "\"\"")).into() }
}
