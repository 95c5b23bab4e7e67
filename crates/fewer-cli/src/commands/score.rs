//! `fewer score`

use clap::Args;
use fewer_report::{Accuracy, number};
use serde_json::json;
use std::path::PathBuf;

use crate::failure::Outcome;
use crate::input::{self, DataArgs, speaker};
use crate::output;

/// Say how near a model comes on data with known targets
#[derive(Args)]
pub struct Score {
    /// The model file
    model: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    /// The column with the targets [default: the one the model was fitted on]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print no messages but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Score {
    pub fn run(self) -> Outcome {
        let model = input::load(&self.model)?;
        let say = speaker(self.quiet);
        let (actual, predicted) = self.data.compare(&model, self.target.as_deref(), &say)?;
        let accuracy = Accuracy::of(&actual, &predicted, None);
        if self.json {
            let mut value = json!({"n_rows": actual.len(), "n_terms": model.n_terms()});
            output::add_accuracy(&mut value, &accuracy);
            return output::print_json(&value);
        }
        output::print(&format!(
            "rows   {}\nterms  {}\nR²     {}\nRMSE   {}\nMAE    {}\n",
            actual.len(),
            model.n_terms(),
            output::r2(&accuracy),
            number(accuracy.rmse, 5),
            number(accuracy.mae, 5)
        ))
    }
}
