//! A table of named columns, as read from a file or a data frame, before it becomes numbers.

use crate::error::{Error, Result};

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers; a missing value is NaN.
    Number(Vec<f64>),
    /// Words; a missing value is `None`.
    Text(Vec<Option<String>>),
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Number(values) => values.len(),
            Column::Text(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the value of `row` (from 0) is missing.
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Column::Number(values) => values[row].is_nan(),
            Column::Text(values) => values[row].is_none(),
        }
    }

    fn select(&self, keep: &[bool]) -> Column {
        fn pick<T: Clone>(values: &[T], keep: &[bool]) -> Vec<T> {
            values.iter().zip(keep).filter(|(_, k)| **k).map(|(v, _)| v.clone()).collect()
        }
        match self {
            Column::Number(values) => Column::Number(pick(values, keep)),
            Column::Text(values) => Column::Text(pick(values, keep)),
        }
    }
}

/// Named columns of equal length.
///
/// ```
/// use fewer::data::{Column, Table};
/// let mut table = Table::new();
/// table.push("age", Column::Number(vec![31.0, 52.0]))?;
/// table.push("city", Column::Text(vec![Some("Oslo".into()), None]))?;
/// assert_eq!(table.rows(), 2);
/// assert!(table.take("age").is_some());
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    names: Vec<String>,
    columns: Vec<Column>,
}

impl Table {
    /// A table without columns.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a column; its name must be new and its length that of the others.
    pub fn push(&mut self, name: impl Into<String>, column: Column) -> Result<()> {
        let name = name.into();
        if self.names.contains(&name) {
            return Err(Error::Columns { details: format!("column '{name}' occurs twice") });
        }
        if let Some(first) = self.columns.first().filter(|c| c.len() != column.len()) {
            return Err(Error::shape(
                format!("rows of column '{name}'"),
                first.len(),
                column.len(),
            ));
        }
        self.names.push(name);
        self.columns.push(column);
        Ok(())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The columns with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.names.iter().map(String::as_str).zip(&self.columns)
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.names.iter().position(|n| n == name).map(|k| &self.columns[k])
    }

    /// Removes and returns the column of that name: the target, or the sample weights.
    pub fn take(&mut self, name: &str) -> Option<Column> {
        let k = self.names.iter().position(|n| n == name)?;
        self.names.remove(k);
        Some(self.columns.remove(k))
    }

    /// Removes the rows with a missing value; returns the row numbers (from 0) that stayed.
    pub fn drop_missing(&mut self) -> Vec<usize> {
        let keep: Vec<bool> =
            (0..self.rows()).map(|i| !self.columns.iter().any(|c| c.is_missing(i))).collect();
        if keep.contains(&false) {
            self.columns = self.columns.iter().map(|c| c.select(&keep)).collect();
        }
        (0..keep.len()).filter(|&i| keep[i]).collect()
    }
}
