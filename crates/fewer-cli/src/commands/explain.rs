//! `fewer explain`

use clap::Args;
use std::path::PathBuf;

use crate::failure::Outcome;
use crate::{input, output};

/// Print the terms of a model and how it was fitted
#[derive(Args)]
pub struct Explain {
    /// The model file
    model: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print the formula only
    #[arg(long, conflicts_with = "json")]
    formula: bool,
}

impl Explain {
    pub fn run(self) -> Outcome {
        let model = input::load(&self.model)?;
        if self.json {
            return output::print_json(&output::model_json(&model));
        }
        if self.formula {
            return output::print(&output::formula_lines(&model));
        }
        output::print(&format!(
            "{}\n{}",
            output::terms(&model, false),
            output::summary(&model, None)
        ))
    }
}
