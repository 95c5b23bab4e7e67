//! From files to what the library fits and predicts.

mod checks;
mod labels;
mod prediction;
mod rows;
mod training;

pub use training::{Roles, Training};

use clap::{Args, ValueEnum};
use fewer::model::Model;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};
use crate::output;

/// The data of a command.
#[derive(Args)]
pub struct DataArgs {
    /// The data: CSV, TSV, svmlight or Parquet, maybe with .gz; `-` reads CSV from the standard
    /// input
    pub data: PathBuf,
    #[command(flatten)]
    pub how: ReadArgs,
}

/// How to read the data of a command.
#[derive(Args, Default)]
pub struct ReadArgs {
    /// The format, instead of the one the file name stands for
    #[arg(long, value_parser = ["csv", "tsv", "svmlight", "parquet"])]
    format: Option<String>,
    /// Missing values: refuse them, drop their rows, or fill in the mean (for words the most
    /// frequent) of the training data
    #[arg(long, value_name = "HOW")]
    pub missing: Option<MissingArg>,
    /// Whether the indices of an svmlight file count from 0 [default: as in the model, or read
    /// off the file]
    #[arg(long, value_name = "BOOL")]
    zero_based: Option<bool>,
}

/// What to do with missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MissingArg {
    Error,
    Drop,
    Mean,
}

impl DataArgs {
    fn fail<T>(&self, problem: impl std::fmt::Display) -> Outcome<T> {
        Err(Failure::in_file(&self.data, problem))
    }
}

/// Reads a model file.
pub fn load(path: &Path) -> Outcome<Model> {
    Ok(Model::load(path)?)
}

/// Says that predictions lack a part, if they do.
pub fn remind_of_offset(model: &Model, given: &[String], say: &dyn Fn(&str)) {
    if model.report().offset && given.is_empty() {
        say("the model was fitted with offsets, which these rows are taken not to have: --offset \
             names their columns");
    }
}

/// Says messages unless they are unwanted.
pub fn speaker(quiet: bool) -> impl Fn(&str) {
    move |text: &str| {
        if !quiet {
            output::message(text);
        }
    }
}
