//! `fewer bound`

use clap::Args;
use fewer::bound::BoundOptions;
use serde_json::json;
use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::input::{self, DataArgs, speaker};
use crate::output;

/// Bound the error of new rows from those that a model of smlr was fitted on
///
/// A bound holds with probability 1 − delta over data sets of this size. The theorems need a prior
/// that was fixed before the data was seen; a model for which they do not hold is refused, with
/// the reason.
#[derive(Args)]
#[command(after_help = "\
Example:
  fewer fit data.csv --target y --method smlr --lam 1 --standardize false \\
      --fit-intercept false --out model.json
  fewer bound model.json data.csv --delta 0.05
  fewer bound three-classes.json data.csv --multiclass ovr")]
pub struct Bound {
    /// The model file
    model: PathBuf,
    #[command(flatten)]
    data: DataArgs,
    /// The column with the targets [default: the one the model was fitted on]
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// How often a bound may fail
    #[arg(long, value_name = "NUMBER", default_value_t = 0.05, allow_negative_numbers = true)]
    delta: f64,
    /// How the error of the Gibbs classifier is computed
    #[arg(long, default_value = "exact", value_parser = ["exact", "gaussian", "monte-carlo"])]
    gibbs: String,
    /// λ of the prior, fixed beforehand, where it is not that of the fit
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    lam: Option<f64>,
    /// Margin below which a row counts as an error in the Rademacher bound, in (0, 1]
    #[arg(long, value_name = "NUMBER", default_value_t = 0.5, allow_negative_numbers = true)]
    margin: f64,
    /// Lowest level g of the divergence in the Rademacher bound, fixed beforehand
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, allow_negative_numbers = true)]
    level: f64,
    /// Ratio r above 1 of the levels above it
    #[arg(long, value_name = "NUMBER", default_value_t = 2.0, allow_negative_numbers = true)]
    ratio: f64,
    /// Draws of monte-carlo
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    draws: usize,
    /// Their seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// For more than two classes: bound models of each class against the rest, which are fitted on
    /// these rows with the settings of the model, and the largest output of which wins
    #[arg(long, value_parser = ["ovr"])]
    multiclass: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print no messages but errors
    #[arg(long, short)]
    quiet: bool,
}

impl Bound {
    pub fn run(self) -> Outcome {
        let model = input::load(&self.model)?;
        if model.classes().is_none() {
            let problem = "the model predicts numbers; bounds are for two classes, by smlr";
            return Err(Failure::in_file(&self.model, problem));
        }
        let (cases, target) =
            self.data.pairs(&model, self.target.as_deref(), &[], &speaker(self.quiet))?;
        let options = BoundOptions {
            gibbs: self.gibbs.parse()?,
            draws: self.draws,
            seed: self.seed,
            lam: self.lam,
            margin: self.margin,
            level: self.level,
            ratio: self.ratio,
        };
        let (features, delta) = (cases.inputs.view()?, self.delta);
        let failure = |e| cases.failure(&self.data.data, e);
        let (found, text) = if self.multiclass.is_some() {
            let bound = model.one_vs_rest_bound(features, &target, delta, &options);
            let bound = bound.map_err(failure)?;
            (json!(bound), bound.to_string())
        } else {
            let bound = model.risk_bound(features, &target, delta, &options).map_err(failure)?;
            (json!(bound), bound.to_string())
        };
        if self.json { output::print_json(&found) } else { output::print(&text) }
    }
}
