//! The data of a fit.

use clap::Args;
use fewer::Error;
use fewer::data::{
    Column, Dataset, DenseView, Encoder, Features, Missing, SparseMatrix, Table, Target,
};
use fewer::linalg::Matrix;
use fewer::method::Task;
use fewer_files::{Format, ReadOptions, Records};
use std::borrow::Cow;
use std::path::Path;

use super::labels::note_two_values;
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
    /// A column with the precision of each row's noise relative to the others: 1/variance of its
    /// error, up to a factor (rvm, bls, flap); it is no weight, and is not predicted from
    #[arg(long, value_name = "COLUMN")]
    noise_precision: Option<String>,
    /// Columns with a known part of the outputs, which is added to what is fitted and is not
    /// predicted from (smlr, rmlr): one for each class in their order, or of two classes one, for
    /// the second; give it to predict, too
    #[arg(long, value_name = "COLUMN,...", value_delimiter = ',')]
    offset: Vec<String>,
    /// A column that says which rows stay together in the folds of a cross-validation, such as
    /// the patient; it is not predicted from
    #[arg(long, value_name = "COLUMN")]
    group: Option<String>,
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

    /// Every value stored, column after column; only for few columns.
    pub fn to_dense(&self) -> Matrix {
        let x = match self {
            Inputs::Dense(x) => return x.clone(),
            Inputs::Sparse(x) => x,
        };
        let mut out = Matrix::zeros(x.view().rows(), x.view().columns());
        for j in 0..out.columns() {
            x.view().column(j).for_each(|(i, value)| out[(i, j)] = value);
        }
        out
    }
}

/// What a fit begins with.
pub struct Training {
    pub inputs: Inputs,
    pub target: Target<'static>,
    pub target_name: String,
    /// Names of the features where no encoder has them.
    pub names: Option<Vec<String>>,
    pub weights: Option<Vec<f64>>,
    noise_precision: Option<Vec<f64>>,
    offset: Option<Matrix>,
    /// Which rows stay together in folds.
    pub groups: Option<Vec<String>>,
    pub encoder: Option<Encoder>,
    rows: Rows,
}

impl Training {
    pub fn task(&self) -> Task {
        match self.target {
            Target::Numbers(_) => Task::Regression,
            Target::Labels { .. } => Task::Classification,
        }
    }

    /// The data as the library takes them; they were read from `path`.
    pub fn dataset(&self, path: &Path) -> Outcome<Dataset<'_>> {
        let failure = |e| self.failure(path, e);
        let mut data = Dataset::new(self.inputs.view()?, self.target.clone())
            .map_err(failure)?
            .with_target_name(&self.target_name);
        if let Some(names) = &self.names {
            data = data.with_names(names).map_err(failure)?;
        }
        if let Some(weights) = &self.weights {
            data = data.with_weights(weights).map_err(failure)?;
        }
        if let Some(precision) = &self.noise_precision {
            data = data.with_noise_precision(precision).map_err(failure)?;
        }
        if let Some(offset) = &self.offset {
            data = data.with_offset(Cow::Borrowed(offset)).map_err(failure)?;
        }
        if let Some(encoder) = &self.encoder {
            data = data.with_encoder(encoder.clone()).map_err(failure)?;
        }
        Ok(data)
    }

    /// An error of the library, with the rows of the file.
    pub fn failure(&self, path: &Path, error: Error) -> Failure {
        Failure::with_data(path, self.rows.correct(error))
    }
}

impl DataArgs {
    fn read(&self, text_columns: &[String]) -> Outcome<Records> {
        let format = self.how.format.as_deref().and_then(Format::from_name);
        let text_columns = text_columns.to_vec();
        let zero_based = self.how.zero_based;
        let options = ReadOptions { format, text_columns, zero_based, ..ReadOptions::default() };
        Ok(fewer_files::read(&self.data, &options)?)
    }

    /// Reads the data of a fit for the task wanted, if one is; `say` hears what was decided on the
    /// way.
    pub fn training(
        &self,
        roles: &Roles,
        wanted: Option<Task>,
        say: &dyn Fn(&str),
    ) -> Outcome<Training> {
        match self.read(&roles.categories)? {
            Records::Table(table) => self.training_table(table, roles, wanted, say),
            Records::Sparse { features, target, zero_based } => {
                let given = [
                    ("--target", roles.target.is_some()),
                    ("--weights", roles.weights.is_some()),
                    ("--noise-precision", roles.noise_precision.is_some()),
                    ("--offset", !roles.offset.is_empty()),
                    ("--group", roles.group.is_some()),
                    ("--drop", !roles.drop.is_empty()),
                ];
                if let Some((flag, _)) = given.iter().find(|g| g.1) {
                    return self.fail(format!(
                        "an svmlight file has no named columns, and its target comes first in \
                         each line; leave {flag} out"
                    ));
                }
                self.training_sparse(features, target, zero_based, wanted, say)
            }
        }
    }

    fn training_table(
        &self,
        mut table: Table,
        roles: &Roles,
        wanted: Option<Task>,
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
        self.check_roles(&table, roles, &target_name)?;
        let task = self.task(&table, &target_name, roles, wanted, say)?;
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
        let target = match task {
            Task::Regression => self.take_numbers(&mut table, &target_name, "the target")?.into(),
            Task::Classification => {
                Target::labels(self.take_labels(&mut table, &target_name, &rows)?)
            }
        };
        let weights = match &roles.weights {
            Some(name) => Some(self.take_numbers(&mut table, name, "the weights")?),
            None => None,
        };
        let noise_precision = match &roles.noise_precision {
            Some(name) => Some(self.take_numbers(&mut table, name, "the precisions")?),
            None => None,
        };
        let offset = self.take_offset(&mut table, &roles.offset)?;
        let groups = match &roles.group {
            Some(name) => Some(self.take_groups(&mut table, name)?),
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
            names: None,
            weights,
            noise_precision,
            offset,
            groups,
            encoder: Some(encoder),
            rows,
        })
    }

    /// Refuses a column that is not there, or has two parts to play.
    fn check_roles(&self, table: &Table, roles: &Roles, target: &str) -> Outcome {
        let mut parts = vec![
            ("--weights", "weights", roles.weights.as_deref()),
            ("--noise-precision", "noise precision", roles.noise_precision.as_deref()),
            ("--group", "group", roles.group.as_deref()),
        ];
        parts.extend(roles.offset.iter().map(|name| ("--offset", "offset", Some(name.as_str()))));
        let mut taken = vec![("target", target)];
        for (flag, part, name) in parts {
            let Some(name) = name else { continue };
            self.require(table, name, flag)?;
            if let Some((other, _)) = taken.iter().find(|t| t.1 == name) {
                return self.fail(format!("column '{name}' cannot be both {other} and {part}"));
            }
            if flag != "--group" {
                self.numeric(table, name, &format!("the {part} must be numbers"))?;
            }
            taken.push((part, name));
        }
        Ok(())
    }

    /// The task that goes with the target.
    fn task(
        &self,
        table: &Table,
        target: &str,
        roles: &Roles,
        wanted: Option<Task>,
        say: &dyn Fn(&str),
    ) -> Outcome<Task> {
        match (table.column(target), wanted) {
            (_, Some(Task::Regression)) => {
                let why = "regression needs numbers; --task classification predicts classes";
                self.numeric(table, target, why)?;
                Ok(Task::Regression)
            }
            (_, Some(Task::Classification)) => Ok(Task::Classification),
            (Some(Column::Text(words)), None) => {
                if !roles.categories.iter().any(|c| c == target) {
                    self.refuse_stray_label(target, words)?;
                }
                Ok(Task::Classification)
            }
            (Some(Column::Number(values)), None) => {
                note_two_values(&format!("'{target}'"), values, say);
                Ok(Task::Regression)
            }
            (None, None) => Ok(Task::Regression),
        }
    }

    fn training_sparse(
        &self,
        features: SparseMatrix,
        target: Vec<f64>,
        zero_based: bool,
        wanted: Option<Task>,
        say: &dyn Fn(&str),
    ) -> Outcome<Training> {
        let missing = self.how.missing.unwrap_or(MissingArg::Error);
        let before = target.len();
        let (features, target, rows) = self.sparse_rows(features, target, missing)?;
        if target.len() < before {
            let dropped = before - target.len();
            say(&format!("{dropped} of {before} rows have missing values and are dropped"));
        }
        let target = match wanted {
            Some(Task::Classification) => {
                Target::labels(self.integer_labels(&target, "the label", &rows)?)
            }
            _ => {
                if wanted.is_none() {
                    note_two_values("the label", &target, say);
                }
                target.into()
            }
        };
        let first = usize::from(!zero_based);
        let columns = features.view().columns();
        Ok(Training {
            inputs: Inputs::Sparse(features),
            target,
            target_name: "label".into(),
            names: Some((first..first + columns).map(|j| format!("x{j}")).collect()),
            weights: None,
            noise_precision: None,
            offset: None,
            groups: None,
            encoder: None,
            rows,
        })
    }
}
