//! `fewer stability`

use clap::Args;
use fewer::select::{Stability, StabilityOptions, stability};
use fewer_report::{number, stability_svg};
use serde_json::{Map, Value, json};
use std::path::PathBuf;

use crate::failure::Outcome;
use crate::input::{DataArgs, Roles, speaker};
use crate::output;
use crate::selection::table;
use crate::settings::Settings;
use crate::watch::{Watch, until_safe};

/// The most terms that are listed.
const MOST_TERMS: usize = 40;

/// Takes the λ out of the settings that each half is fitted for, where none is chosen among them.
fn lams_of(settings: &mut Map<String, Value>) -> Vec<f64> {
    if settings.get("lam").is_some_and(Value::is_string) {
        return Vec::new();
    }
    let lams = settings.get("lams").and_then(Value::as_array);
    let lams = lams.map(|lams| lams.iter().filter_map(Value::as_f64).collect::<Vec<f64>>());
    if lams.is_some() {
        settings.remove("lams");
    }
    lams.unwrap_or_default()
}

/// See which terms a method keeps whatever half of the rows it sees
///
/// Fits the method to many halves of the rows and counts how often each term is kept. A term is
/// stable if it is in most fits. If the terms that mean nothing are as likely as each other to be
/// kept, at most q²/((2π − 1)p) stable ones are expected to be there by chance: π is the
/// threshold, q the mean number of terms of a fit, p that of all functions (Meinshausen & Bühlmann
/// 2010). --max-terms holds q down. With --lams and without --lam cv each half is fitted for all
/// these λ, and a term counts that is kept for any of them.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fewer stability houses.csv --target price --method lasso --lam-ratio 0.1 --max-terms 5
  fewer stability genes.csv --target sick --method smlr --max-false 1 --svg stable.svg")]
pub struct StabilityCommand {
    #[command(flatten)]
    roles: Roles,
    #[command(flatten)]
    data: DataArgs,
    /// Fits, each to half of the rows
    #[arg(long, value_name = "N", default_value_t = 100)]
    subsamples: usize,
    /// Part of the fits that a stable term is in, above 0.5
    #[arg(long, value_name = "NUMBER", default_value_t = 0.75)]
    threshold: f64,
    /// Set the threshold so that at most so many terms are expected to be stable by chance
    #[arg(long, value_name = "NUMBER", conflicts_with = "threshold")]
    max_false: Option<f64>,
    /// Draw how often terms are kept here
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Write the whole table here
    #[arg(long, short, value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print nothing but errors (and what --json asks for)
    #[arg(long, short)]
    quiet: bool,
    /// Say how it goes, line by line
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    settings: Settings,
}

impl StabilityCommand {
    pub fn run(self) -> Outcome {
        let path = &self.data.data;
        let [svg, out] = [&self.svg, &self.out]
            .map(|file| file.as_deref().map(|file| output::check_result(file, path)).transpose());
        let (svg, out) = (svg?, out?);
        let wanted = self.settings.task()?;
        let training = self.data.training(&self.roles, wanted, &speaker(self.quiet))?;
        let method = self.settings.method(training.task());
        let data = training.dataset(path)?;
        let mut settings = self.settings.to_nested();
        let options = StabilityOptions {
            subsamples: self.subsamples,
            threshold: self.threshold,
            max_false: self.max_false,
            lams: lams_of(&mut settings),
            seed: self.settings.seed(),
        };
        let settings = Value::Object(settings).to_string();
        let watch = Watch::new(self.quiet, self.verbose);
        let found = until_safe(|| {
            stability(method, &settings, None, &data, &options, &watch)
                .map_err(|e| training.failure(path, e))
        })?;
        drop(watch);
        if let Some(file) = svg {
            output::write(&file, &stability_svg(&found))?;
        }
        if let Some(file) = out {
            output::write(&file, &csv(&found))?;
        }
        if self.json {
            let mut value = json!(found);
            value["method"] = json!(method);
            value["target"] = json!(training.target_name);
            value["n_rows"] = json!(data.rows());
            return output::print_json(&value);
        }
        if self.quiet {
            return Ok(());
        }
        output::print(&self.text(&found))
    }

    fn text(&self, found: &Stability) -> String {
        let shown = found.terms.len().min(MOST_TERMS.max(found.stable().count()));
        let width = found.terms[..shown].iter().map(|t| t.name.chars().count()).max();
        let width = width.unwrap_or(0).max(4);
        let header = [format!("{:<width$}", "term"), "frequency".into(), String::new()];
        let rows: Vec<Vec<String>> = found.terms[..shown]
            .iter()
            .map(|t| {
                let mark = if t.stable { "stable" } else { "" };
                vec![format!("{:<width$}", t.name), format!("{:.3}", t.frequency), mark.into()]
            })
            .collect();
        let mut text = table(&header, &rows);
        if shown < found.terms.len() {
            text.push_str(&format!("… and {} more\n", found.terms.len() - shown));
        }
        let mut lines = vec![
            ("fits", format!("{} to halves of the rows", found.subsamples)),
            ("threshold", number(found.threshold, 3)),
            (
                "stable",
                format!(
                    "{} of {} terms; at most {} expected by chance",
                    found.stable().count(),
                    found.candidates,
                    number(found.expected_false, 3)
                ),
            ),
            ("terms", format!("{} in a fit on average", number(found.mean_terms, 3))),
        ];
        lines.extend(found.notes.iter().map(|note| ("note", note.clone())));
        let files = [("picture", &self.svg), ("table", &self.out)];
        lines.extend(
            files.iter().filter_map(|(name, f)| Some((*name, f.as_ref()?.display().to_string()))),
        );
        format!("{text}\n{}", output::aligned(&lines))
    }
}

fn csv(found: &Stability) -> String {
    let mut out = String::from("term,frequency,stable");
    found.lams.iter().for_each(|lam| out.push_str(&format!(",lam={lam}")));
    out.push('\n');
    for term in &found.terms {
        let name = output::csv_cell(&term.name);
        out.push_str(&format!("{name},{},{}", term.frequency, term.stable));
        term.by_lam.iter().for_each(|f| out.push_str(&format!(",{f}")));
        out.push('\n');
    }
    out
}
