//! Rows with missing values, dropped or counted.

use fewer::Error;
use fewer::data::{Column, SparseMatrix, Table};

use super::{DataArgs, MissingArg};
use crate::failure::Outcome;

/// The rows that were kept, so that messages count rows as the file does.
pub struct Rows(pub Option<Vec<usize>>);

impl Rows {
    pub fn in_file(&self, row: usize) -> usize {
        self.0.as_ref().and_then(|kept| kept.get(row - 1)).map_or(row, |k| k + 1)
    }

    pub fn correct(&self, error: Error) -> Error {
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

impl DataArgs {
    /// Drops rows with missing values from an svmlight file, if that is wanted.
    pub(super) fn sparse_rows(
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

    pub(super) fn drop_rows(&self, table: &mut Table, say: &dyn Fn(&str)) -> Outcome<Rows> {
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
}

/// So many missing values, in words.
pub fn values(count: usize) -> String {
    if count == 1 { "1 missing value".into() } else { format!("{count} missing values") }
}
