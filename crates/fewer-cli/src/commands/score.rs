//! `fewer score`

use clap::Args;
use serde_json::json;
use std::path::PathBuf;

use crate::failure::Outcome;
use crate::input::{self, DataArgs, speaker};
use crate::output;

/// Say how near a model comes on data with known targets
///
/// For classes: the part told rightly, the rows told wrongly, the part told wrongly averaged over
/// the classes, and the mean of −log of the probability given to the right class. For numbers: R²,
/// root mean square error and mean absolute error.
#[derive(Args)]
pub struct Score {
    /// The model file
    model: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    /// The column with the targets [default: the one the model was fitted on]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// The columns with the offsets of these rows, for a model fitted with them
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    offset: Vec<String>,
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
        input::remind_of_offset(&model, &self.offset, &say);
        let target = self.target.as_deref();
        let (comparison, _) = self.data.compare(&model, target, &self.offset, &say)?;
        let (rows, score) = (comparison.rows(), comparison.score(None));
        if self.json {
            let mut value = json!({"n_rows": rows, "n_terms": model.n_terms()});
            output::add_score(&mut value, &score);
            return output::print_json(&value);
        }
        let mut lines = vec![("rows", rows.to_string()), ("terms", model.n_terms().to_string())];
        lines.extend(output::score_lines(&score, rows));
        output::print(&output::aligned(&lines))
    }
}
