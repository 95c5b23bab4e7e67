//! From files to what the library fits and predicts.

use clap::{Args, ValueEnum};
use fewer::Error;
use fewer::data::{Column, DenseView, Encoder, Features, Missing, SparseMatrix, Table};
use fewer::linalg::Matrix;
use fewer::model::Model;
use fewer_files::{Format, Problem, ReadOptions, Records};
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
}

/// What to do with missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MissingArg {
    Error,
    Drop,
    Mean,
}

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
    categories: Vec<String>,
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

/// The rows that were kept, so that messages count rows as the file does.
struct Rows(Option<Vec<usize>>);

impl Rows {
    fn in_file(&self, row: usize) -> usize {
        self.0.as_ref().and_then(|kept| kept.get(row - 1)).map_or(row, |k| k + 1)
    }

    fn correct(&self, error: Error) -> Error {
        match error {
            Error::Value { row, column, value, expected } => {
                Error::Value { row: self.in_file(row), column, value, expected }
            }
            Error::Category { row, column, value, known } => {
                Error::Category { row: self.in_file(row), column, value, known }
            }
            other => other,
        }
    }
}

impl Training {
    /// An error of the library, with the rows of the file.
    pub fn failure(&self, path: &Path, error: Error) -> Failure {
        Failure::with_data(path, self.rows.correct(error))
    }
}

impl DataArgs {
    fn fail<T>(&self, problem: impl std::fmt::Display) -> Outcome<T> {
        Err(Failure::in_file(&self.data, problem))
    }

    fn read(&self, text_columns: &[String], columns: Option<usize>) -> Outcome<Records> {
        let format = self.how.format.as_deref().and_then(Format::from_name);
        let text_columns = text_columns.to_vec();
        let options = ReadOptions { format, text_columns, columns, ..ReadOptions::default() };
        Ok(fewer_files::read(&self.data, &options)?)
    }

    /// Reads the data of a fit; `say` hears what was decided on the way.
    pub fn training(&self, roles: &Roles, say: &dyn Fn(&str)) -> Outcome<Training> {
        match self.read(&roles.categories, None)? {
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

    /// Drops rows with missing values from an svmlight file, if that is wanted.
    fn sparse_rows(
        &self,
        features: SparseMatrix,
        target: Vec<f64>,
        missing: MissingArg,
    ) -> Outcome<(SparseMatrix, Vec<f64>, Rows)> {
        if let Some(i) = target.iter().position(|y| y.is_infinite()) {
            return self.fail(format!("row {}: the label is infinite ({})", i + 1, target[i]));
        }
        let mut keep: Vec<bool> = target.iter().map(|y| !y.is_nan()).collect();
        let view = features.view();
        for j in 0..view.columns() {
            for (i, value) in view.column(j) {
                if value.is_nan() {
                    keep[i] = false;
                }
            }
        }
        let Some(first) = keep.iter().position(|k| !k) else {
            return Ok((features, target, Rows(None)));
        };
        match missing {
            MissingArg::Drop if keep.contains(&true) => {
                let kept: Vec<usize> = (0..keep.len()).filter(|&i| keep[i]).collect();
                let target = kept.iter().map(|&i| target[i]).collect();
                Ok((features.select_rows(&keep), target, Rows(Some(kept))))
            }
            MissingArg::Drop => self.fail("every row has a missing value"),
            _ => self.fail(format!(
                "row {}: a value is missing (NaN); --missing drop leaves such rows out",
                first + 1
            )),
        }
    }

    /// What the model says of each row; none where the row was dropped.
    pub fn predict(&self, model: &Model, say: &dyn Fn(&str)) -> Outcome<Vec<Option<f64>>> {
        match self.read_for(model)? {
            Records::Table(table) => self.predict_table(model, &table, say),
            Records::Sparse { features, target } => {
                // Labels of rows to predict are often made up.
                let zeros = vec![0.0; target.len()];
                self.predict_sparse(model, features, zeros, say).map(|found| found.0)
            }
        }
    }

    /// What was measured and what the model says, for the rows that have both.
    pub fn compare(
        &self,
        model: &Model,
        target: Option<&str>,
        say: &dyn Fn(&str),
    ) -> Outcome<(Vec<f64>, Vec<f64>)> {
        let (actual, predicted) = match self.read_for(model)? {
            Records::Table(mut table) => {
                let name = target.unwrap_or(model.target_name());
                self.require(&table, name, "--target")?;
                self.numeric(&table, name, "the target")?;
                self.refuse_infinite_column(&table, name)?;
                let Some(Column::Number(mut actual)) = table.take(name) else {
                    return self.fail(format!("column '{name}': numbers are expected"));
                };
                if self.how.missing != Some(MissingArg::Drop)
                    && let Some(i) = actual.iter().position(|y| y.is_nan())
                {
                    return self.fail(format!(
                        "row {}, column '{name}': the target is missing; --missing drop leaves \
                         such rows out",
                        i + 1
                    ));
                }
                let mut predicted = self.predict_table(model, &table, say)?;
                let has_both: Vec<bool> = actual
                    .iter()
                    .zip(&predicted)
                    .map(|(y, p)| !y.is_nan() && p.is_some())
                    .collect();
                let mut k = has_both.iter();
                actual.retain(|_| *k.next().unwrap_or(&false));
                let mut k = has_both.iter();
                predicted.retain(|_| *k.next().unwrap_or(&false));
                (actual, predicted)
            }
            Records::Sparse { features, target: labels } => {
                if target.is_some() {
                    return self.fail("the target of an svmlight file comes first in each line; leave --target out");
                }
                let (mut predicted, actual) = self.predict_sparse(model, features, labels, say)?;
                predicted.retain(Option::is_some);
                (actual, predicted)
            }
        };
        if actual.is_empty() {
            return self.fail("no row without missing values is left");
        }
        Ok((actual, predicted.into_iter().flatten().collect()))
    }

    fn read_for(&self, model: &Model) -> Outcome<Records> {
        let categories = model.encoder().map(category_columns).unwrap_or_default();
        let format = self.how.format.as_deref().and_then(Format::from_name);
        let sparse = format.or_else(|| Format::from_path(&self.data)) == Some(Format::Svmlight);
        let text_columns = if sparse { Vec::new() } else { categories };
        let options = ReadOptions {
            format,
            text_columns,
            columns: Some(model.feature_names().len()),
            ..ReadOptions::default()
        };
        fewer_files::read(&self.data, &options).map_err(|error| match &error.problem {
            Problem::UnknownColumn { name, known } => Failure::in_file(
                &self.data,
                format!(
                    "the columns differ from those the model was fitted on: missing '{name}'; the \
                     file has {known}"
                ),
            ),
            _ => error.into(),
        })
    }

    fn predict_table(
        &self,
        model: &Model,
        table: &Table,
        say: &dyn Fn(&str),
    ) -> Outcome<Vec<Option<f64>>> {
        let Some(encoder) = model.encoder() else {
            return model
                .predict_table(table)
                .map(|p| p.into_iter().map(Some).collect())
                .map_err(|e| Failure::with_data(&self.data, e));
        };
        let mut needed = Table::new();
        for name in encoder.table_names() {
            match table.column(name) {
                Some(column) => needed.push(name, column.clone())?,
                // The encoder says it best.
                None => {
                    return encoder
                        .encode(table)
                        .map(|_| Vec::new())
                        .map_err(|e| Failure::with_data(&self.data, e));
                }
            }
        }
        let gaps: usize =
            needed.iter().map(|(_, c)| (0..c.len()).filter(|&i| c.is_missing(i)).count()).sum();
        let rows = match self.how.missing {
            Some(MissingArg::Error) => {
                self.refuse_missing(&needed, "--missing drop leaves such rows out")?;
                Rows(None)
            }
            Some(MissingArg::Drop) => Rows(Some(needed.drop_missing())),
            None | Some(MissingArg::Mean) => Rows(None),
        };
        let mut out = vec![None; table.rows()];
        let kept = rows.0.clone().unwrap_or_else(|| (0..table.rows()).collect());
        if kept.len() < out.len() {
            say(&format!("{} of {} rows have missing values", out.len() - kept.len(), out.len()));
        }
        if kept.is_empty() {
            return Ok(out);
        }
        let predicted = model.predict_table(&needed).map_err(|error| {
            if let Error::Value { row, column, .. } = &error
                && needed.column(column).is_some_and(|c| c.is_missing(row - 1))
            {
                return Failure::in_file(
                    &self.data,
                    format!(
                        "row {row}, column '{column}': the value is missing; --missing drop \
                         leaves such rows out (to fill in means, the model must be fitted with \
                         --missing mean)"
                    ),
                );
            }
            Failure::with_data(&self.data, rows.correct(error))
        })?;
        if gaps > 0 && rows.0.is_none() {
            say(&format!("{} filled in with the mean of the training data", values(gaps)));
        }
        for (i, value) in kept.into_iter().zip(predicted) {
            out[i] = Some(value);
        }
        Ok(out)
    }

    /// The predictions, and the labels of the rows that have one.
    fn predict_sparse(
        &self,
        model: &Model,
        features: SparseMatrix,
        labels: Vec<f64>,
        say: &dyn Fn(&str),
    ) -> Outcome<(Vec<Option<f64>>, Vec<f64>)> {
        if model.encoder().is_some_and(|encoder| !encoder.is_identity()) {
            return self.fail(
                "the model was fitted on a table with words or filled values; give it a table",
            );
        }
        let columns = model.feature_names().len();
        let extra = features.view().columns() - columns.min(features.view().columns());
        let features = if extra > 0 {
            say(&format!("{extra} columns beyond the {columns} of the model are ignored"));
            features.with_columns(columns)
        } else {
            features
        };
        let missing = self.how.missing.unwrap_or(MissingArg::Error);
        let mut out = vec![None; labels.len()];
        let (features, labels, rows) = self.sparse_rows(features, labels, missing)?;
        let predicted = model
            .predict(features.view())
            .map_err(|e| Failure::with_data(&self.data, rows.correct(e)))?;
        let kept = rows.0.unwrap_or_else(|| (0..out.len()).collect());
        if kept.len() < out.len() {
            say(&format!("{} of {} rows have missing values", out.len() - kept.len(), out.len()));
        }
        for (i, value) in kept.into_iter().zip(predicted) {
            out[i] = Some(value);
        }
        Ok((out, labels))
    }

    fn require(&self, table: &Table, name: &str, flag: &str) -> Outcome {
        if table.column(name).is_some() {
            return Ok(());
        }
        let names = table.names();
        let near = near_names(name, names);
        let guess = match near.is_empty() {
            true => String::new(),
            false => format!("; did you mean {}?", quoted(&near, " or ")),
        };
        let shown: Vec<&str> = names.iter().take(20).map(String::as_str).collect();
        let more = if names.len() > 20 { ", ..." } else { "" };
        self.fail(format!(
            "there is no column '{name}' ({flag}); the columns are {}{more}{guess}",
            quoted(&shown, ", ")
        ))
    }

    /// Refuses a column of words where numbers are needed.
    fn numeric(&self, table: &Table, name: &str, what: &str) -> Outcome {
        let Some(Column::Text(words)) = table.column(name) else { return Ok(()) };
        let first = words.iter().enumerate().find_map(|(i, word)| {
            let word = word.as_ref().filter(|w| !is_number(w))?;
            Some(format!(" (row {}: '{word}'{})", i + 1, point_hint(word)))
        });
        let first = first.unwrap_or_default();
        if what != "the target" {
            return self
                .fail(format!("column '{name}' holds words{first}; {what} must be numbers"));
        }
        let methods: Vec<&str> = fewer::method::METHODS.iter().map(|m| m.1).collect();
        self.fail(format!(
            "the target column '{name}' holds words{first}; it must be numeric: the methods \
             there are ({}) do regression, and classification is not available yet",
            methods.join(", ")
        ))
    }

    fn take_numbers(&self, table: &mut Table, name: &str, what: &str) -> Outcome<Vec<f64>> {
        let Some(Column::Number(numbers)) = table.take(name) else {
            return self.fail(format!("column '{name}': {what} must be numbers"));
        };
        match numbers.iter().position(|y| y.is_nan()) {
            None => Ok(numbers),
            Some(i) => self.fail(format!(
                "row {}, column '{name}': {what} cannot be filled in; --missing drop leaves such \
                 rows out",
                i + 1
            )),
        }
    }

    fn refuse_infinite(&self, table: &Table) -> Outcome {
        table.names().iter().try_for_each(|name| self.refuse_infinite_column(table, name))
    }

    fn refuse_infinite_column(&self, table: &Table, name: &str) -> Outcome {
        let Some(Column::Number(values)) = table.column(name) else { return Ok(()) };
        match values.iter().position(|v| v.is_infinite()) {
            None => Ok(()),
            Some(i) => self.fail(format!(
                "row {}, column '{name}': the value is infinite ({}); a finite number is expected",
                i + 1,
                values[i]
            )),
        }
    }

    fn refuse_missing(&self, table: &Table, hint: &str) -> Outcome {
        let first_gap = |column: &Column| (0..column.len()).find(|&i| column.is_missing(i));
        let gaps = table.iter().filter_map(|(name, column)| Some((first_gap(column)?, name)));
        match gaps.min_by_key(|gap| gap.0) {
            None => Ok(()),
            Some((i, name)) => self.fail(format!(
                "row {}, column '{name}': the value is missing (empty, NA, NaN, ...); {hint}",
                i + 1
            )),
        }
    }

    fn drop_rows(&self, table: &mut Table, say: &dyn Fn(&str)) -> Outcome<Rows> {
        let before = table.rows();
        let gaps = |column: &Column| (0..before).filter(|&i| column.is_missing(i)).count();
        let worst = table.iter().map(|(name, c)| (gaps(c), name.to_string())).max();
        let kept = table.drop_missing();
        match worst {
            Some((gaps, name)) if kept.is_empty() => self.fail(format!(
                "every row has a missing value; column '{name}' has {gaps}: leave it out with \
                 --drop, or use --missing mean"
            )),
            _ => {
                if kept.len() < before {
                    let dropped = before - kept.len();
                    say(&format!("{dropped} of {before} rows have missing values and are dropped"));
                }
                Ok(Rows(Some(kept)))
            }
        }
    }

    /// A single typing error would turn a column of numbers into categories.
    fn warn_of_stray_words(
        &self,
        name: &str,
        column: &Column,
        roles: &Roles,
        rows: &Rows,
        say: &dyn Fn(&str),
    ) {
        let Column::Text(words) = column else { return };
        if roles.categories.iter().any(|c| c == name) {
            return;
        }
        let present = words.iter().flatten().count();
        let meant = words.iter().flatten().filter(|w| is_number(w) || has_comma(w)).count();
        let stray = words.iter().enumerate().find_map(|(i, word)| {
            word.as_deref().filter(|word| !is_number(word)).map(|word| (i + 1, word))
        });
        if let Some((row, word)) = stray.filter(|_| 2 * meant > present) {
            say(&format!(
                "warning: column '{name}' is taken as categories, for row {} holds '{word}'{}",
                rows.in_file(row),
                point_hint(word)
            ));
        }
    }
}

fn is_number(word: &str) -> bool {
    word.trim().parse::<f64>().is_ok()
}

/// Whether the word would be a number if its comma were a point.
fn has_comma(word: &str) -> bool {
    word.contains(',') && is_number(&word.replacen(',', ".", 1))
}

fn point_hint(word: &str) -> &'static str {
    if has_comma(word) { "; decimals are written with a point" } else { "" }
}

fn values(count: usize) -> String {
    if count == 1 { "1 missing value".into() } else { format!("{count} missing values") }
}

fn quoted(names: &[&str], separator: &str) -> String {
    names.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(separator)
}

/// Names that the user may have meant, the nearest first.
fn near_names<'a>(name: &str, names: &'a [String]) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let mut near: Vec<(f64, &str)> = names
        .iter()
        .map(|n| (strsim::jaro_winkler(&wanted, &n.to_lowercase()), n.as_str()))
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(3).map(|n| n.1).collect()
}

/// The columns of a table that hold categories, which must be read as words: `01` is not `1`.
fn category_columns(encoder: &Encoder) -> Vec<String> {
    let columns = serde_json::to_value(encoder).unwrap_or_default();
    let is_category = |c: &&serde_json::Value| c["kind"] == "category";
    let name = |c: &serde_json::Value| c["name"].as_str().map(str::to_string);
    columns.as_array().into_iter().flatten().filter(is_category).filter_map(name).collect()
}

/// Reads a model file.
pub fn load(path: &Path) -> Outcome<Model> {
    Ok(Model::load(path)?)
}

/// Says messages unless they are unwanted.
pub fn speaker(quiet: bool) -> impl Fn(&str) {
    move |text: &str| {
        if !quiet {
            output::message(text);
        }
    }
}
