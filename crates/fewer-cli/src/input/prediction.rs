//! The data of predictions and scores.

use fewer::Error;
use fewer::data::{Column, Encoder, SparseMatrix, Table};
use fewer::model::Model;
use fewer_files::{Format, Problem, ReadOptions, Records};

use super::rows::{Rows, values};
use super::{DataArgs, MissingArg};
use crate::failure::{Failure, Outcome};

impl DataArgs {
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
}

/// The columns of a table that hold categories, which must be read as words: `01` is not `1`.
fn category_columns(encoder: &Encoder) -> Vec<String> {
    let columns = serde_json::to_value(encoder).unwrap_or_default();
    let is_category = |c: &&serde_json::Value| c["kind"] == "category";
    let name = |c: &serde_json::Value| c["name"].as_str().map(str::to_string);
    columns.as_array().into_iter().flatten().filter(is_category).filter_map(name).collect()
}
