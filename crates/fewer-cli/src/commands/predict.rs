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
  fewer predict model.json new.csv --missing drop --out predictions.csv")]
pub struct Predict {
    /// The model file
    model: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    /// Write the predictions here instead of the standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Add the probability of each class, in columns named `probability_<class>`
    #[arg(long)]
    proba: bool,
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
        if self.proba && model.classes().is_none() {
            let problem = "the model predicts numbers, which have no probabilities; leave --proba";
            return Err(Failure::in_file(&self.model, format!("{problem} out")));
        }
        let cases = self.data.cases(&model, &speaker(self.quiet))?;
        let mut columns = vec![("prediction".to_string(), Vec::new())];
        let failure = |e| cases.failure(&self.data.data, e);
        let classes = model.classes().unwrap_or_default();
        if cases.is_empty() {
            // Nothing to ask the model.
        } else if model.classes().is_none() {
            let found = model.predict(cases.inputs.view()?).map_err(failure)?;
            columns[0].1 = found.into_iter().map(|value| json!(value)).collect();
        } else {
            let found = model.predict_labels(cases.inputs.view()?).map_err(failure)?;
            columns[0].1 = found.into_iter().map(|label| json!(label)).collect();
        }
        if self.proba {
            let found = match cases.is_empty() {
                true => Matrix::zeros(0, classes.len()),
                false => model.predict_probabilities(cases.inputs.view()?).map_err(failure)?,
            };
            for (k, class) in classes.iter().enumerate() {
                let values = found.column(k).iter().map(|value| json!(value)).collect();
                columns.push((format!("probability_{class}"), values));
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
