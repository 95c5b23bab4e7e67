//! `fewer predict`

use clap::Args;
use fewer::linalg::Matrix;
use fewer::model::Model;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::input::{self, DataArgs, speaker};
use crate::output;

/// Predict the target for each row of new data: a number, or a class
///
/// Columns are found by name; others are ignored. The prediction of a row dropped for
/// its missing values is NA, so that rows stay aligned.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fewer predict model.json new.csv > predictions.csv
  fewer predict model.json new.csv --proba
  fewer predict model.json new.csv --std --draws 100
  fewer predict model.json new.csv --missing drop --out predictions.csv")]
pub struct Predict {
    /// The model file
    model: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    /// The columns with the offsets of these rows, for a model fitted with them
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',',
        conflicts_with_all = ["moderated", "plug_in"])]
    offset: Vec<String>,
    /// Write the predictions here instead of the standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Add the probability of each class, in columns named `probability_<class>`
    #[arg(long)]
    proba: bool,
    /// The same averaged over the posterior of the weights, for a model fitted with --uncertainty
    #[arg(long, conflicts_with = "proba")]
    moderated: bool,
    /// The same for the fitted weights, where --proba averages: for rvc
    #[arg(long, conflicts_with_all = ["proba", "moderated"])]
    plug_in: bool,
    /// Add the standard deviation of a new observation, for a model that has a posterior, in a
    /// column named `std`
    #[arg(long)]
    std: bool,
    /// Add the interval that holds a new observation with so much probability, such as 0.95, in
    /// columns named `lower` and `upper`
    #[arg(long, value_name = "COVERAGE", allow_negative_numbers = true)]
    interval: Option<f64>,
    /// Column of how precise each row is beside those of the fit, for --std and --interval: the
    /// variance of its noise is divided by it [default: 1 for all]
    #[arg(long, value_name = "COLUMN", conflicts_with_all = ["draws", "proba", "moderated"])]
    noise_precision: Option<String>,
    /// Add so many draws of a new observation from the posterior, in columns named `draw_1`, ...
    #[arg(long, value_name = "N")]
    draws: Option<usize>,
    /// Seed of the draws [default: 0]
    #[arg(long, value_name = "N", requires = "draws")]
    seed: Option<u64>,
    /// Write one JSON object instead of CSV
    #[arg(long)]
    json: bool,
    /// Print no messages but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Predict {
    pub fn run(self) -> Outcome {
        let out = self.out.as_deref().map(output::check_path).transpose()?;
        let model = input::load(&self.model)?;
        let proba = self.proba || self.moderated || self.plug_in;
        if proba && model.classes().is_none() {
            let flag = match (self.proba, self.moderated) {
                (true, _) => "--proba",
                (_, true) => "--moderated",
                _ => "--plug-in",
            };
            let problem = "the model predicts numbers, which have no probabilities; leave";
            return Err(Failure::in_file(&self.model, format!("{problem} {flag} out")));
        }
        if !self.offset.is_empty() && model.classes().is_none() {
            let problem = "the model predicts numbers, which have no offset; leave --offset out";
            return Err(Failure::in_file(&self.model, problem));
        }
        let (beside, say) = (self.noise_precision.as_deref(), speaker(self.quiet));
        input::remind_of_offset(&model, &self.offset, &say);
        let cases = self.data.cases(&model, &self.offset, beside, &say)?;
        let precision = cases.precision.as_deref();
        let mut columns = vec![("prediction".to_string(), Vec::new())];
        let failure = |e| cases.failure(&self.data.data, e);
        let classes = model.classes().unwrap_or_default();
        let shifted = match &cases.offset {
            Some(offset) if !cases.is_empty() => {
                Some(model.classes_with_offset(cases.inputs.view()?, offset).map_err(failure)?)
            }
            _ => None,
        };
        if let Some((_, codes)) = &shifted {
            columns[0].1 = codes.iter().map(|&code| json!(classes[code])).collect();
        } else if cases.is_empty() {
            // Nothing to ask the model.
        } else if model.classes().is_none() {
            let found = model.predict(cases.inputs.view()?).map_err(failure)?;
            columns[0].1 = found.into_iter().map(|value| json!(value)).collect();
        } else {
            let found = model.predict_labels(cases.inputs.view()?).map_err(failure)?;
            columns[0].1 = found.into_iter().map(|label| json!(label)).collect();
        }
        let numbers = |values: &[f64]| values.iter().map(|value| json!(value)).collect();
        if self.std {
            let found = match cases.is_empty() {
                true => Vec::new(),
                false => model.predict_std_at(cases.inputs.view()?, precision).map_err(failure)?,
            };
            columns.push(("std".into(), numbers(&found)));
        }
        if let Some(coverage) = self.interval {
            let found = match cases.is_empty() {
                true => Matrix::zeros(0, 2),
                false => {
                    let view = cases.inputs.view()?;
                    model.predict_interval_at(view, coverage, precision).map_err(failure)?
                }
            };
            columns.push(("lower".into(), numbers(found.column(0))));
            columns.push(("upper".into(), numbers(found.column(1))));
        }
        if let Some(draws) = self.draws {
            let seed = self.seed.unwrap_or(0);
            let found = match cases.is_empty() {
                true => Matrix::zeros(0, draws),
                false => {
                    model.sample_y(cases.inputs.view()?, draws, seed, true).map_err(failure)?
                }
            };
            for k in 0..draws {
                columns.push((format!("draw_{}", k + 1), numbers(found.column(k))));
            }
        }
        if proba {
            let found = match shifted {
                Some((probabilities, _)) => probabilities,
                None if cases.is_empty() => Matrix::zeros(0, classes.len()),
                None if self.moderated => {
                    model.moderated_probabilities(cases.inputs.view()?).map_err(failure)?
                }
                None if self.plug_in => {
                    model.plug_in_probabilities(cases.inputs.view()?).map_err(failure)?
                }
                None => model.predict_probabilities(cases.inputs.view()?).map_err(failure)?,
            };
            for (k, class) in classes.iter().enumerate() {
                columns.push((format!("probability_{class}"), numbers(found.column(k))));
            }
        }
        let columns: Vec<Column> =
            columns.into_iter().map(|(name, found)| (name, cases.spread(found))).collect();
        let text = if self.json { as_json(&model, &columns) } else { as_csv(&columns) };
        match out {
            Some(path) => output::write(&path, &text),
            None => output::print(&text),
        }
    }
}

/// A column of the output: a value for each row that was not dropped.
type Column = (String, Vec<Option<Value>>);

fn as_json(model: &Model, columns: &[Column]) -> String {
    let mut value = json!({"target": model.target_name()});
    if let Some(classes) = model.classes() {
        value["classes"] = json!(classes);
    }
    columns.iter().for_each(|(name, values)| value[name] = json!(values));
    format!("{value}\n")
}

fn as_csv(columns: &[Column]) -> String {
    let line = |cells: Vec<Cow<'_, str>>| cells.join(",") + "\n";
    let mut text = line(columns.iter().map(|c| output::csv_cell(&c.0)).collect());
    for row in 0..columns[0].1.len() {
        let cell = |column: &'_ Column| match &column.1[row] {
            Some(Value::String(word)) => output::csv_cell(word).into_owned(),
            Some(value) => value.to_string(),
            // An empty line would be no row at all.
            None => "NA".into(),
        };
        text.push_str(&line(columns.iter().map(|c| cell(c).into()).collect()));
    }
    text
}
