//! The data of a fit.

use clap::Args;
use fewer::Error;
use fewer::data::{DenseView, Encoder, Features, Missing, SparseMatrix, Table};
use fewer::linalg::Matrix;
use fewer_files::{Format, ReadOptions, Records};
use std::path::Path;

use super::rows::{Rows, values};
use super::{DataArgs, MissingArg};
use crate::failure::{Failure, Outcome};

/// Which columns of a table play which part.
#[derive(Args, Default)]
pub struct Roles {
    /// The column to predict [default: the last one]
    #[arg(long, value_name = "COLUMN")]
    pub target: Option<String>,
    /// A column with the weight of each row
    #[arg(long, value_name = "COLUMN")]
    weights: Option<String>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    drop: Vec<String>,
    /// Columns to take as categories even if they hold numbers
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    pub(super) categories: Vec<String>,
}

/// Inputs as numbers.
pub enum Inputs {
    Dense(Matrix),
    Sparse(SparseMatrix),
}

impl Inputs {
    pub fn view(&self) -> Outcome<Features<'_>> {
        Ok(match self {
            Inputs::Dense(x) => DenseView::by_columns(x.as_slice(), x.rows(), x.columns())?.into(),
            Inputs::Sparse(x) => x.view().into(),
        })
    }
}

/// What a fit begins with.
pub struct Training {
    pub inputs: Inputs,
    pub target: Vec<f64>,
    pub target_name: String,
    pub weights: Option<Vec<f64>>,
    pub encoder: Option<Encoder>,
    rows: Rows,
}

impl Training {
    /// An error of the library, with the rows of the file.
    pub fn failure(&self, path: &Path, error: Error) -> Failure {
        Failure::with_data(path, self.rows.correct(error))
    }
}

impl DataArgs {
    fn read(&self, text_columns: &[String]) -> Outcome<Records> {
        let format = self.how.format.as_deref().and_then(Format::from_name);
        let text_columns = text_columns.to_vec();
        let options = ReadOptions { format, text_columns, ..ReadOptions::default() };
        Ok(fewer_files::read(&self.data, &options)?)
    }

    /// Reads the data of a fit; `say` hears what was decided on the way.
    pub fn training(&self, roles: &Roles, say: &dyn Fn(&str)) -> Outcome<Training> {
        match self.read(&roles.categories)? {
            Records::Table(table) => self.training_table(table, roles, say),
            Records::Sparse { features, target } => {
                let given = [
                    ("--target", roles.target.is_some()),
                    ("--weights", roles.weights.is_some()),
                    ("--drop", !roles.drop.is_empty()),
                ];
                if let Some((flag, _)) = given.iter().find(|g| g.1) {
                    return self.fail(format!(
                        "an svmlight file has no named columns, and its target comes first in \
                         each line; leave {flag} out"
                    ));
                }
                self.training_sparse(features, target, say)
            }
        }
    }

    fn training_table(
        &self,
        mut table: Table,
        roles: &Roles,
        say: &dyn Fn(&str),
    ) -> Outcome<Training> {
        for name in &roles.drop {
            self.require(&table, name, "--drop")?;
            table.take(name);
        }
        let target_name = match (&roles.target, table.names().last()) {
            (Some(name), _) => name.clone(),
            (None, Some(last)) => {
                say(&format!("target: '{last}', the last column (--target names another)"));
                last.clone()
            }
            (None, None) => return self.fail("no column is left"),
        };
        self.require(&table, &target_name, "--target")?;
        if let Some(name) = &roles.weights {
            self.require(&table, name, "--weights")?;
            if *name == target_name {
                return self.fail(format!("column '{name}' cannot be both target and weights"));
            }
            self.numeric(&table, name, "the weights")?;
        }
        self.numeric(&table, &target_name, "the target")?;
        self.refuse_infinite(&table)?;

        let missing = self.how.missing.unwrap_or(MissingArg::Error);
        let rows = match missing {
            MissingArg::Drop => self.drop_rows(&mut table, say)?,
            MissingArg::Error => {
                self.refuse_missing(
                    &table,
                    "--missing drop leaves such rows out, --missing mean fills in the mean",
                )?;
                Rows(None)
            }
            MissingArg::Mean => Rows(None),
        };
        let target = self.take_numbers(&mut table, &target_name, "the target")?;
        let weights = match &roles.weights {
            Some(name) => Some(self.take_numbers(&mut table, name, "the weights")?),
            None => None,
        };
        if table.names().is_empty() {
            return self.fail(format!("no column is left to predict '{target_name}' from"));
        }
        for (name, column) in table.iter() {
            self.warn_of_stray_words(name, column, roles, &rows, say);
        }
        let policy = if missing == MissingArg::Mean { Missing::Mean } else { Missing::Error };
        let (encoder, filled) = Encoder::fit(&table, policy)
            .map_err(|e| Failure::with_data(&self.data, rows.correct(e)))?;
        if filled > 0 {
            say(&format!("{} filled in with the mean", values(filled)));
        }
        let inputs =
            encoder.encode(&table).map_err(|e| Failure::with_data(&self.data, rows.correct(e)))?;
        Ok(Training {
            inputs: Inputs::Dense(inputs),
            target,
            target_name,
            weights,
            encoder: Some(encoder),
            rows,
        })
    }

    fn training_sparse(
        &self,
        features: SparseMatrix,
        target: Vec<f64>,
        say: &dyn Fn(&str),
    ) -> Outcome<Training> {
        let missing = self.how.missing.unwrap_or(MissingArg::Error);
        let before = target.len();
        let (features, target, rows) = self.sparse_rows(features, target, missing)?;
        if target.len() < before {
            let dropped = before - target.len();
            say(&format!("{dropped} of {before} rows have missing values and are dropped"));
        }
        Ok(Training {
            inputs: Inputs::Sparse(features),
            target,
            target_name: "label".into(),
            weights: None,
            encoder: None,
            rows,
        })
    }
}
