//! What is refused, or warned of, before the library sees it: here the columns have their names.

use fewer::data::{Column, Table};
use fewer::linalg::Matrix;

use super::DataArgs;
use super::rows::Rows;
use super::training::Roles;
use crate::failure::Outcome;

impl DataArgs {
    pub(super) fn require(&self, table: &Table, name: &str, flag: &str) -> Outcome {
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

    /// Refuses a column of words where numbers are needed; `why` says so.
    pub(super) fn numeric(&self, table: &Table, name: &str, why: &str) -> Outcome {
        let Some(Column::Text(words)) = table.column(name) else { return Ok(()) };
        let first = first_word(words).map(|(row, word)| format!("row {row}: '{word}'"));
        let first = first.unwrap_or_default();
        let hint = first_word(words).map_or("", |(_, word)| point_hint(word));
        self.fail(format!("column '{name}' holds words ({first}{hint}); {why}"))
    }

    /// Refuses a target of numbers that a typing error has turned into words.
    pub(super) fn refuse_stray_label(&self, name: &str, words: &[Option<String>]) -> Outcome {
        match first_word(words).filter(|_| mostly_numbers(words)) {
            None => Ok(()),
            Some((row, word)) => self.fail(format!(
                "the target column '{name}' holds numbers, but row {row} has '{word}'{}; put that                  right, or take all values as classes with --task classification",
                point_hint(word)
            )),
        }
    }

    pub(super) fn take_numbers(
        &self,
        table: &mut Table,
        name: &str,
        what: &str,
    ) -> Outcome<Vec<f64>> {
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

    /// Takes out the columns of an offset, if there are any.
    pub(super) fn take_offset(
        &self,
        table: &mut Table,
        names: &[String],
    ) -> Outcome<Option<Matrix>> {
        let (rows, mut values) = (table.rows(), Vec::new());
        for name in names {
            values.extend(self.take_numbers(table, name, "the offset")?);
        }
        Ok((!names.is_empty()).then(|| Matrix::from_columns(rows, names.len(), values)))
    }

    /// Takes out the column that says which rows belong together.
    pub(super) fn take_groups(&self, table: &mut Table, name: &str) -> Outcome<Vec<String>> {
        let Some(column) = table.take(name) else {
            return self.fail(format!("there is no column '{name}'"));
        };
        let words: Vec<Option<String>> = match column {
            Column::Number(numbers) => {
                numbers.iter().map(|x| (!x.is_nan()).then(|| (x + 0.0).to_string())).collect()
            }
            Column::Text(words) => words,
        };
        match words.iter().position(Option::is_none) {
            None => Ok(words.into_iter().flatten().collect()),
            Some(i) => self.fail(format!(
                "row {}, column '{name}': the group cannot be filled in; --missing drop leaves \
                 such rows out",
                i + 1
            )),
        }
    }

    pub(super) fn refuse_infinite(&self, table: &Table) -> Outcome {
        table.names().iter().try_for_each(|name| self.refuse_infinite_column(table, name))
    }

    pub(super) fn refuse_infinite_column(&self, table: &Table, name: &str) -> Outcome {
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

    pub(super) fn refuse_missing(&self, table: &Table, hint: &str) -> Outcome {
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

    /// A single typing error would turn a column of numbers into categories.
    pub(super) fn warn_of_stray_words(
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
        if let Some((row, word)) = first_word(words).filter(|_| mostly_numbers(words)) {
            say(&format!(
                "warning: column '{name}' is taken as categories, for row {} holds '{word}'{}",
                rows.in_file(row),
                point_hint(word)
            ));
        }
    }
}

/// The first word that is no number, with its row.
fn first_word(words: &[Option<String>]) -> Option<(usize, &str)> {
    let mut rows = words.iter().enumerate();
    rows.find_map(|(i, word)| Some((i + 1, word.as_deref().filter(|word| !is_number(word))?)))
}

/// Whether most words are numbers, or would be with a decimal point.
fn mostly_numbers(words: &[Option<String>]) -> bool {
    let meant = words.iter().flatten().filter(|w| is_number(w) || has_comma(w)).count();
    2 * meant > words.iter().flatten().count()
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
