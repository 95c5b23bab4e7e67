//! `fewer predict`

use clap::Args;
use serde_json::json;
use std::fmt::Write;
use std::path::PathBuf;

use crate::failure::Outcome;
use crate::input::{self, DataArgs, speaker};
use crate::output;

/// Predict the target for each row of new data
///
/// Columns are found by name; others are ignored. The prediction of a row dropped for
/// its missing values is NA, so that rows stay aligned.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fewer predict model.json new.csv > predictions.csv
  fewer predict model.json new.csv --missing drop --out predictions.csv")]
pub struct Predict {
    /// The model file
    model: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    /// Write the predictions here instead of the standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
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
        let predicted = self.data.predict(&model, &speaker(self.quiet))?;
        let text = if self.json {
            format!("{}\n", json!({"target": model.target_name(), "prediction": predicted}))
        } else {
            let mut text = String::from("prediction\n");
            for value in predicted {
                // Writing to a string cannot fail. An empty line would be no row at all.
                let _ = match value {
                    Some(value) => writeln!(text, "{value}"),
                    None => writeln!(text, "NA"),
                };
            }
            text
        };
        match out {
            Some(path) => output::write(&path, &text),
            None => output::print(&text),
        }
    }
}
