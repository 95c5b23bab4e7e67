//! The data of predictions and scores.

use fewer::Error;
use fewer::data::{Column, Label, SparseMatrix, Table, Target};
use fewer::linalg::Matrix;
use fewer::model::Model;
use fewer_files::{Format, Problem, ReadOptions, Records};
use fewer_report::Comparison;
use std::path::Path;

use super::labels::{label_of, label_of_number};
use super::rows::{Rows, values};
use super::training::Inputs;
use super::{DataArgs, MissingArg};
use crate::failure::{Failure, Outcome};

/// Rows as a model takes them.
pub struct Cases {
    pub inputs: Inputs,
    /// Rows of the file, those dropped among them.
    pub total: usize,
    /// What is known of the outputs, where it was asked for.
    pub offset: Option<Matrix>,
    /// How precise each row is, where it was asked for.
    pub precision: Option<Vec<f64>>,
    rows: Rows,
}

impl Cases {
    /// For each row what was found for it; none where it was dropped.
    pub fn spread<T: Clone>(&self, found: Vec<T>) -> Vec<Option<T>> {
        let mut out = vec![None; self.total];
        for (k, value) in found.into_iter().enumerate() {
            out[self.rows.in_file(k + 1) - 1] = Some(value);
        }
        out
    }

    /// Whether every row was dropped.
    pub fn is_empty(&self) -> bool {
        self.total == 0 || self.rows.0.as_ref().is_some_and(Vec::is_empty)
    }

    /// An error of the library, with the rows of the file.
    pub fn failure(&self, path: &Path, error: Error) -> Failure {
        Failure::with_data(path, self.rows.correct(error))
    }
}

impl DataArgs {
    /// The rows to predict, with the columns of their offsets and of the precisions of their noise.
    pub fn cases(
        &self,
        model: &Model,
        offset: &[String],
        precision: Option<&str>,
        say: &dyn Fn(&str),
    ) -> Outcome<Cases> {
        match self.read_for(model, None)? {
            Records::Table(table) => {
                let mut columns = self.offset_columns(&table, offset)?;
                if let Some(name) = precision {
                    self.require(&table, name, "--noise-precision")?;
                    self.numeric(&table, name, "precisions must be numbers")?;
                    columns.extend(table.column(name).cloned());
                }
                let (mut cases, mut columns) = self.table_cases(model, &table, columns, say)?;
                if precision.is_some()
                    && let Some(Column::Number(values)) = columns.pop()
                {
                    cases.precision = Some(values);
                }
                cases.offset = self.offset_of(offset, columns)?;
                Ok(cases)
            }
            Records::Sparse { .. } if !offset.is_empty() => self.fail(NO_OFFSET),
            Records::Sparse { .. } if precision.is_some() => {
                self.fail("an svmlight file has no named columns; leave --noise-precision out")
            }
            Records::Sparse { features, target, .. } => {
                // Labels of rows to predict are often made up.
                let zeros = vec![0.0; target.len()];
                self.sparse_cases(model, features, zeros, say).map(|found| found.0)
            }
        }
    }

    /// The rows that have a target, and their targets.
    pub fn pairs(
        &self,
        model: &Model,
        target: Option<&str>,
        offset: &[String],
        say: &dyn Fn(&str),
    ) -> Outcome<(Cases, Target<'static>)> {
        let name = target.unwrap_or(model.target_name());
        let (cases, actual) = match self.read_for(model, Some(name))? {
            Records::Table(table) => self.table_pairs(model, table, name, offset, say)?,
            Records::Sparse { .. } if !offset.is_empty() => return self.fail(NO_OFFSET),
            Records::Sparse { features, target: labels, .. } => {
                if target.is_some() {
                    return self.fail(
                        "the target of an svmlight file comes first in each line; leave --target \
                         out",
                    );
                }
                let (cases, labels) = self.sparse_cases(model, features, labels, say)?;
                let target = match model.classes() {
                    None => labels.into(),
                    Some(classes) => {
                        Target::labels(labels.into_iter().map(|y| label_of_number(y, classes)))
                    }
                };
                (cases, target)
            }
        };
        if cases.is_empty() {
            return self.fail("no row without missing values is left");
        }
        Ok((cases, actual))
    }

    /// What was measured beside what the model says, for the rows that have both; and their
    /// inputs.
    pub fn compare(
        &self,
        model: &Model,
        target: Option<&str>,
        offset: &[String],
        say: &dyn Fn(&str),
    ) -> Outcome<(Comparison, Inputs)> {
        let (cases, actual) = self.pairs(model, target, offset, say)?;
        let view = cases.inputs.view()?;
        let comparison = Comparison::with_offset(model, view, &actual, cases.offset.as_ref())
            .map_err(|e| cases.failure(&self.data, e))?;
        let (unknown, rows) = comparison.unknown();
        if rows > 0 {
            let names: Vec<String> = unknown.iter().take(5).map(|l| format!("'{l}'")).collect();
            let more = if unknown.len() > 5 { ", ..." } else { "" };
            let have = if rows == 1 { "row has a class" } else { "rows have classes" };
            say(&format!(
                "{rows} {have} that the training data did not have ({}{more}): counted as errors, \
                 left out of the log loss",
                names.join(", ")
            ));
        }
        Ok((comparison, cases.inputs))
    }

    fn read_for(&self, model: &Model, target: Option<&str>) -> Outcome<Records> {
        let format = self.how.format.as_deref().and_then(Format::from_name);
        let sparse = format.or_else(|| Format::from_path(&self.data)) == Some(Format::Svmlight);
        // Words even if they look like numbers: `01` is not `1`.
        let mut text_columns: Vec<String> =
            model.encoder().into_iter().flat_map(|e| e.categories()).map(String::from).collect();
        let words = model.classes().is_some_and(|c| c.iter().all(|l| matches!(l, Label::Text(_))));
        text_columns.extend(target.filter(|_| words).map(String::from));
        let first = model.feature_names().first();
        let zero_based = self.how.zero_based.or(match first.map(String::as_str) {
            Some("x0") => Some(true),
            Some("x1") => Some(false),
            _ => None,
        });
        let options = ReadOptions {
            format,
            text_columns: if sparse { Vec::new() } else { text_columns },
            columns: Some(model.feature_names().len()),
            zero_based,
            ..ReadOptions::default()
        };
        fewer_files::read(&self.data, &options).map_err(|error| match &error.problem {
            Problem::UnknownColumn { name, known } if Some(name.as_str()) == target => {
                let problem = format!("there is no column '{name}' (--target); the columns are");
                Failure::in_file(&self.data, format!("{problem} {known}"))
            }
            Problem::UnknownColumn { name, known } => Failure::in_file(
                &self.data,
                format!(
                    "the columns differ from those the model was fitted on: missing '{name}'; the \
                     file has {known}"
                ),
            ),
            Problem::ZeroIndex { line } if self.how.zero_based.is_none() => Failure::in_file(
                &self.data,
                format!(
                    "line {line}: found index 0, but in the data of the model indices count from \
                     1; --zero-based true takes index 0 for its 'x1'"
                ),
            ),
            _ => error.into(),
        })
    }

    /// The rows of a table that have a target, and their targets.
    fn table_pairs(
        &self,
        model: &Model,
        mut table: Table,
        name: &str,
        offset: &[String],
        say: &dyn Fn(&str),
    ) -> Outcome<(Cases, Target<'static>)> {
        self.require(&table, name, "--target")?;
        if model.classes().is_none() {
            self.numeric(&table, name, "the model predicts numbers")?;
            self.refuse_infinite_column(&table, name)?;
        }
        let Some(column) = table.take(name) else {
            return self.fail(format!("there is no column '{name}' (--target)"));
        };
        if self.how.missing != Some(MissingArg::Drop)
            && let Some(i) = (0..column.len()).find(|&i| column.is_missing(i))
        {
            return self.fail(format!(
                "row {}, column '{name}': the target is missing; --missing drop leaves such rows \
                 out",
                i + 1
            ));
        }
        let mut columns = self.offset_columns(&table, offset)?;
        columns.push(column);
        let (mut cases, mut columns) = self.table_cases(model, &table, columns, say)?;
        let column = columns.pop();
        cases.offset = self.offset_of(offset, columns)?;
        let target = match (column, model.classes()) {
            (Some(column), Some(classes)) => {
                Target::labels((0..column.len()).filter_map(|i| label_of(&column, i, classes)))
            }
            (Some(Column::Number(actual)), None) => actual.into(),
            _ => return self.fail(format!("column '{name}': numbers are expected")),
        };
        Ok((cases, target))
    }

    fn offset_columns(&self, table: &Table, names: &[String]) -> Outcome<Vec<Column>> {
        let mut columns = Vec::new();
        for name in names {
            self.require(table, name, "--offset")?;
            self.numeric(table, name, "the offset must be numbers")?;
            self.refuse_infinite_column(table, name)?;
            columns.extend(table.column(name).cloned());
        }
        Ok(columns)
    }

    fn offset_of(&self, names: &[String], columns: Vec<Column>) -> Outcome<Option<Matrix>> {
        let mut table = Table::new();
        for (name, column) in names.iter().zip(columns) {
            table.push(name, column)?;
        }
        self.take_offset(&mut table, names)
    }

    /// The rows of a table, and of the columns beside them those rows that are not dropped.
    fn table_cases(
        &self,
        model: &Model,
        table: &Table,
        beside: Vec<Column>,
        say: &dyn Fn(&str),
    ) -> Outcome<(Cases, Vec<Column>)> {
        let failure = |e| Failure::with_data(&self.data, e);
        let mut needed = Table::new();
        for name in model.encoder().into_iter().flat_map(|e| e.table_names()) {
            match table.column(name) {
                Some(column) => needed.push(name, column.clone())?,
                // The encoder says it best.
                None => return Err(model.encode(table).map_or_else(failure, |_| absent(name))),
            }
        }
        // With the inputs while rows are dropped, under names that no column has.
        let own: Vec<String> = (0..beside.len()).map(|k| format!("\0{k}")).collect();
        for (name, column) in own.iter().zip(beside) {
            needed.push(name, column)?;
        }
        let gaps: usize =
            needed.iter().map(|(_, c)| (0..c.len()).filter(|&i| c.is_missing(i)).count()).sum();
        let fills = model.encoder().is_some_and(|e| e.fills());
        let rows = match self.how.missing {
            Some(MissingArg::Drop) => Rows(Some(needed.drop_missing())),
            Some(MissingArg::Error) => {
                self.refuse_missing(&needed, "--missing drop leaves such rows out")?;
                Rows(None)
            }
            None | Some(MissingArg::Mean) => {
                if !fills {
                    self.refuse_missing(
                        &needed,
                        "--missing drop leaves such rows out (to fill in means, the model must \
                         be fitted with --missing mean)",
                    )?;
                }
                Rows(None)
            }
        };
        let total = table.rows();
        let dropped = rows.0.as_ref().map_or(0, |kept| total - kept.len());
        if dropped > 0 {
            say(&format!("{dropped} of {total} rows have missing values"));
        }
        if gaps > 0 && rows.0.is_none() {
            say(&format!("{} filled in with the mean of the training data", values(gaps)));
        }
        let beside = own.iter().filter_map(|name| needed.take(name)).collect();
        let inputs = model.encode(&needed).map_err(|e| failure(rows.correct(e)))?;
        Ok((
            Cases { inputs: Inputs::Dense(inputs), total, offset: None, precision: None, rows },
            beside,
        ))
    }

    /// The rows of an svmlight file, with the labels of those that are not dropped.
    fn sparse_cases(
        &self,
        model: &Model,
        features: SparseMatrix,
        labels: Vec<f64>,
        say: &dyn Fn(&str),
    ) -> Outcome<(Cases, Vec<f64>)> {
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
        let total = labels.len();
        let (features, labels, rows) = self.sparse_rows(features, labels, missing)?;
        if labels.len() < total {
            say(&format!("{} of {total} rows have missing values", total - labels.len()));
        }
        Ok((
            Cases { inputs: Inputs::Sparse(features), total, offset: None, precision: None, rows },
            labels,
        ))
    }
}

const NO_OFFSET: &str = "an svmlight file has no named columns; leave --offset out";

fn absent(name: &str) -> Failure {
    Failure::Input(format!("there is no column '{name}'"))
}
