//! `fewer fit`

use clap::Args;
use fewer::data::Dataset;
use fewer_report::Accuracy;
use serde_json::json;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};
use crate::input::{DataArgs, Roles, speaker};
use crate::output;
use crate::settings::Settings;
use crate::watch::{Watch, until_safe};

/// Fit a model to data and print its terms
#[derive(Args)]
#[command(after_help = "\
Examples:
  fewer fit houses.csv --target price --out model.json
  fewer fit houses.csv --target price --basis polynomial --max-terms 8
  fewer fit houses.csv --target price --drop id,date --missing mean --json")]
pub struct Fit {
    #[command(flatten)]
    roles: Roles,
    #[command(flatten)]
    data: DataArgs,
    /// Write the model file here
    #[arg(long, short, value_name = "MODEL.json")]
    out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print nothing but errors (and what --json asks for)
    #[arg(long, short)]
    quiet: bool,
    /// Say how the fit goes, line by line
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    settings: Settings,
}

impl Fit {
    pub fn run(self) -> Outcome {
        let path = &self.data.data;
        let out = self.out.as_deref().map(output::check_path).transpose()?;
        if let Some(out) = out.as_deref().filter(|out| same_file(out, path)) {
            return Err(Failure::in_file(
                out,
                "the model would replace the data; choose another name",
            ));
        }
        let training = self.data.training(&self.roles, &speaker(self.quiet))?;
        let view = training.inputs.view()?;
        let failure = |e| training.failure(path, e);
        let mut data = Dataset::new(view, &training.target).map_err(failure)?;
        if let Some(weights) = &training.weights {
            data = data.with_weights(weights).map_err(failure)?;
        }
        if let Some(encoder) = &training.encoder {
            data = data.with_encoder(encoder.clone()).map_err(failure)?;
        }
        let settings = self.settings.to_json();
        let watch = Watch::new(self.quiet, self.verbose);
        let model = until_safe(|| {
            fewer::method::fit(&self.settings.method, &settings, None, &data, &watch)
                .map_err(failure)
        })?;
        drop(watch);
        let model = model.with_target_name(&training.target_name);
        let predicted = model.predict(view).map_err(failure)?;
        let accuracy = Accuracy::of(&training.target, &predicted, training.weights.as_deref());

        // The model first: whoever reads the text may close the pipe early.
        let saved = out.as_deref().map_or(Ok(()), |out| output::save(&model, out));
        if self.json {
            let mut value = output::model_json(&model);
            output::add_accuracy(&mut value, &accuracy);
            value["model"] = json!(out.filter(|_| saved.is_ok()));
            output::print_json(&value)?;
        } else if !self.quiet {
            let mut text = output::terms(&model, true);
            text.push('\n');
            text.push_str(&output::summary(&model, Some(&accuracy)));
            if let (Some(out), Ok(())) = (&self.out, &saved) {
                text.push_str(&format!("{:<12} {}\n", "model", out.display()));
            }
            output::print(&text)?;
        }
        saved
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
