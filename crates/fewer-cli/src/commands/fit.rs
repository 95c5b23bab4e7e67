//! `fewer fit`

use clap::Args;
use fewer_report::Comparison;
use serde_json::json;
use std::path::PathBuf;

use crate::failure::Outcome;
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
  fewer fit houses.csv --target price --drop id,date --missing mean --json
  fewer fit patients.csv --target sick --basis rbf --out model.json
  fewer fit houses.csv --target price --method lasso --lam cv --rule one-se

A target of words makes a classification, one of numbers a regression; --task \
classification takes whole numbers as classes.")]
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
        let out = self.out.as_deref().map(|out| output::check_result(out, path)).transpose()?;
        let wanted = self.settings.task()?;
        let training = self.data.training(&self.roles, wanted, &speaker(self.quiet))?;
        let view = training.inputs.view()?;
        let failure = |e| training.failure(path, e);
        let data = training.dataset(path)?;
        let method = self.settings.method(training.task());
        let search = self.settings.search(method, training.groups.as_deref())?;
        let watch = Watch::new(self.quiet, self.verbose);
        let model = until_safe(|| {
            let model = match search.is_empty() {
                true => {
                    let settings = self.settings.to_method_json();
                    fewer::method::fit(method, &settings, None, &data, &watch)
                }
                false => search.fit(&data, &watch),
            };
            model.map_err(failure)
        })?;
        drop(watch);
        let score = Comparison::with_offset(&model, view, &training.target, data.offset())
            .map_err(failure)?
            .score(training.weights.as_deref());

        // The model first: whoever reads the text may close the pipe early.
        let saved = out.as_deref().map_or(Ok(()), |out| output::save(&model, out));
        if self.json {
            let mut value = output::model_json(&model);
            output::add_score(&mut value, &score);
            value["model"] = json!(out.filter(|_| saved.is_ok()));
            output::print_json(&value)?;
        } else if !self.quiet {
            let mut text = output::terms(&model, true);
            text.push('\n');
            text.push_str(&output::summary(&model, Some(&score)));
            if let (Some(out), Ok(())) = (&self.out, &saved) {
                text.push_str(&format!("{:<12} {}\n", "model", out.display()));
            }
            output::print(&text)?;
        }
        saved
    }
}
