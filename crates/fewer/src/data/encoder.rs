//! How a table of numbers and words becomes columns of numbers, at fitting and ever after.

use super::{Column, Table};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to do with missing values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Refuse them, saying where they are.
    #[default]
    Error,
    /// Fill numbers with the mean of the training data, words with the most frequent one.
    Mean,
}

/// Remembers the columns of the training table: numbers pass through, each category becomes a
/// column of zeros and ones named `column=category` (one column only where there are two).
///
/// ```
/// use fewer::data::{Column, Encoder, Missing, Table};
/// let mut table = Table::new();
/// table.push("dose", Column::Number(vec![1.0, 2.0]))?;
/// table.push("city", Column::Text(vec![Some("Oslo".into()), Some("Bergen".into())]))?;
/// let (encoder, _) = Encoder::fit(&table, Missing::Error)?;
/// assert_eq!(encoder.column_names(), ["dose", "city=Oslo"]);
/// assert_eq!(encoder.encode(&table)?.column(1), [1.0, 0.0]);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Encoder {
    columns: Vec<Encoding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Encoding {
    name: String,
    #[serde(flatten)]
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Kind {
    Number { fill: Option<f64> },
    Category { levels: Vec<String>, fill: Option<String> },
}

impl Encoding {
    /// The categories that have a column of their own.
    fn shown(levels: &[String]) -> &[String] {
        if levels.len() == 2 { &levels[1..] } else { levels }
    }
}

impl Encoder {
    /// Learns the columns of the training table; returns also how many values were filled in.
    pub fn fit(table: &Table, missing: Missing) -> Result<(Self, usize)> {
        let mut columns = Vec::new();
        let mut filled = 0;
        for (name, column) in table.iter() {
            let gaps = (0..column.len()).filter(|&i| column.is_missing(i)).count();
            if missing == Missing::Mean {
                if gaps == column.len() {
                    return Err(Error::Empty {
                        what: format!("column '{name}'"),
                        expected: "it has no value to take the mean of; leave it out".into(),
                    });
                }
                filled += gaps;
            }
            let fill = missing == Missing::Mean;
            let kind = match column {
                Column::Number(values) => Kind::Number { fill: fill.then(|| mean(values)) },
                Column::Text(values) => {
                    let mut counts = BTreeMap::new();
                    for word in values.iter().flatten() {
                        *counts.entry(word).or_insert(0usize) += 1;
                    }
                    check_level_count(name, counts.len(), values.len())?;
                    let most = counts.iter().max_by_key(|(_, count)| **count);
                    Kind::Category {
                        fill: most.filter(|_| fill).map(|(word, _)| word.to_string()),
                        levels: counts.keys().map(|w| w.to_string()).collect(),
                    }
                }
            };
            columns.push(Encoding { name: name.into(), kind });
        }
        Ok((Self { columns }, filled))
    }

    /// Names of the columns of the table.
    pub fn table_names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|c| c.name.as_str())
    }

    /// Names of the columns of numbers.
    pub fn column_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for column in &self.columns {
            match &column.kind {
                Kind::Number { .. } => names.push(column.name.clone()),
                Kind::Category { levels, .. } => names
                    .extend(Encoding::shown(levels).iter().map(|l| format!("{}={l}", column.name))),
            }
        }
        names
    }

    /// Names of the columns of the table that are categories.
    pub fn categories(&self) -> impl Iterator<Item = &str> {
        let is_category = |c: &&Encoding| matches!(c.kind, Kind::Category { .. });
        self.columns.iter().filter(is_category).map(|c| c.name.as_str())
    }

    /// Whether missing values are filled in.
    pub fn fills(&self) -> bool {
        self.columns.iter().any(|c| match &c.kind {
            Kind::Number { fill } => fill.is_some(),
            Kind::Category { fill, .. } => fill.is_some(),
        })
    }

    /// Whether each column of the table stands for itself.
    pub fn is_identity(&self) -> bool {
        self.columns.iter().all(|c| matches!(c.kind, Kind::Number { fill: None }))
    }

    /// Turns a table into numbers; columns are found by name, in any order, and others ignored.
    ///
    /// A missing number that may not be filled stays NaN, for the data set to refuse.
    pub fn encode(&self, table: &Table) -> Result<Matrix> {
        let absent: Vec<&str> =
            self.table_names().filter(|name| table.column(name).is_none()).collect();
        if !absent.is_empty() {
            return Err(Error::Columns {
                details: format!(
                    "missing {}; the table has {}",
                    quoted(&absent),
                    quoted(&table.names().iter().map(String::as_str).collect::<Vec<_>>())
                ),
            });
        }
        let rows = table.rows();
        let mut data = Vec::new();
        for encoding in &self.columns {
            let name = &encoding.name;
            match (&encoding.kind, table.column(name)) {
                (Kind::Number { fill }, Some(Column::Number(values))) => {
                    let fill = fill.unwrap_or(f64::NAN);
                    data.extend(values.iter().map(|&v| if v.is_nan() { fill } else { v }));
                }
                (Kind::Number { fill }, Some(Column::Text(words))) => {
                    for (i, word) in words.iter().enumerate() {
                        data.push(match word {
                            Some(word) => word.trim().parse().map_err(|_| Error::Value {
                                row: i + 1,
                                column: name.clone(),
                                value: format!("the value is '{word}'"),
                                expected: "a number is expected, as in the training data".into(),
                            })?,
                            None => fill.unwrap_or(f64::NAN),
                        });
                    }
                }
                (Kind::Category { levels, fill }, Some(column)) => {
                    let codes = (0..rows)
                        .map(|i| level_of(column, i, name, levels, fill.as_deref()))
                        .collect::<Result<Vec<usize>>>()?;
                    let hidden = levels.len() - Encoding::shown(levels).len();
                    for level in hidden..levels.len() {
                        data.extend(codes.iter().map(|&code| f64::from(code == level)));
                    }
                }
                (_, None) => {}
            }
        }
        let columns = data.len().checked_div(rows).unwrap_or(0);
        Ok(Matrix::from_columns(rows, columns, data))
    }
}

fn level_of(
    column: &Column,
    row: usize,
    name: &str,
    levels: &[String],
    fill: Option<&str>,
) -> Result<usize> {
    let number;
    let word = match column {
        Column::Text(words) => words[row].as_deref().or(fill),
        Column::Number(values) if values[row].is_nan() => fill,
        Column::Number(values) => {
            number = values[row].to_string();
            Some(number.as_str())
        }
    };
    let Some(word) = word else {
        return Err(Error::Value {
            row: row + 1,
            column: name.into(),
            value: "the category is missing".into(),
            expected: "drop such rows, or fill in their values".into(),
        });
    };
    levels.binary_search_by(|l| l.as_str().cmp(word)).map_err(|_| Error::Category {
        row: row + 1,
        column: name.into(),
        value: word.into(),
        known: {
            let shown: Vec<&str> = levels.iter().take(8).map(String::as_str).collect();
            let more = if levels.len() > 8 { ", …" } else { "" };
            format!("known: {}{more}", quoted(&shown))
        },
    })
}

fn check_level_count(name: &str, levels: usize, rows: usize) -> Result<()> {
    if levels > 50 && levels > rows / 2 {
        return Err(Error::Columns {
            details: format!(
                "column '{name}' has {levels} different words in {rows} rows; it looks like an \
                 identifier, not a category: leave it out"
            ),
        });
    }
    Ok(())
}

fn mean(values: &[f64]) -> f64 {
    let known: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let n = known.len().max(1) as f64;
    known.iter().map(|v| v / n).sum()
}

/// `'a', 'b'`.
pub(crate) fn quoted(names: &[&str]) -> String {
    names.iter().map(|n| format!("'{n}'")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(city: &[Option<&str>], dose: &[f64]) -> Table {
        let mut t = Table::new();
        t.push("city", Column::Text(city.iter().map(|c| c.map(String::from)).collect())).unwrap();
        t.push("dose", Column::Number(dose.to_vec())).unwrap();
        t
    }

    #[test]
    fn three_categories_have_three_columns() {
        let t = table(&[Some("b"), Some("a"), Some("c")], &[1.0, 2.0, 3.0]);
        let (encoder, _) = Encoder::fit(&t, Missing::Error).unwrap();
        assert_eq!(encoder.column_names(), ["city=a", "city=b", "city=c", "dose"]);
        let m = encoder.encode(&t).unwrap();
        assert_eq!(m.as_slice(), [0., 1., 0., 1., 0., 0., 0., 0., 1., 1., 2., 3.]);
    }

    #[test]
    fn gaps_are_filled_with_what_training_had() {
        let t = table(&[Some("b"), None, Some("b")], &[1.0, f64::NAN, 3.0]);
        let (encoder, filled) = Encoder::fit(&t, Missing::Mean).unwrap();
        assert_eq!(filled, 2);
        let new = table(&[None], &[f64::NAN]);
        assert_eq!(encoder.encode(&new).unwrap().as_slice(), [1.0, 2.0]);
    }

    #[test]
    fn unknown_categories_and_missing_columns_are_named() {
        let t = table(&[Some("b"), Some("a")], &[1.0, 2.0]);
        let (encoder, _) = Encoder::fit(&t, Missing::Error).unwrap();
        let new = table(&[Some("b"), Some("z")], &[1.0, 2.0]);
        let message = encoder.encode(&new).unwrap_err().to_string();
        assert!(message.contains("row 2, column 'city': the category 'z'"), "{message}");
        let mut short = t.clone();
        short.take("dose");
        let message = encoder.encode(&short).unwrap_err().to_string();
        assert!(message.contains("missing 'dose'; the table has 'city'"), "{message}");
    }

    #[test]
    fn an_identifier_is_not_a_category() {
        let words: Vec<Option<String>> = (0..100).map(|i| Some(format!("id{i}"))).collect();
        let mut t = Table::new();
        t.push("id", Column::Text(words)).unwrap();
        assert!(Encoder::fit(&t, Missing::Error).unwrap_err().to_string().contains("identifier"));
    }
}
