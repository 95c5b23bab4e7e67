//! Class labels, from words and numbers.

use fewer::data::{Column, Label, Table};
use std::collections::BTreeSet;

use super::DataArgs;
use super::rows::Rows;
use crate::failure::Outcome;

/// Whole numbers beyond this are not exact.
const LARGEST: f64 = 9_007_199_254_740_992.0;
/// With more classes than this, and more than half as many as rows, a target is no target.
const MANY_CLASSES: usize = 20;

impl DataArgs {
    /// Takes the target of a classification out of the table.
    pub(super) fn take_labels(
        &self,
        table: &mut Table,
        name: &str,
        rows: &Rows,
    ) -> Outcome<Vec<Label>> {
        let Some(column) = table.take(name) else {
            return self.fail(format!("there is no column '{name}'"));
        };
        if let Some(i) = (0..column.len()).find(|&i| column.is_missing(i)) {
            return self.fail(format!(
                "row {}, column '{name}': the target cannot be filled in; --missing drop leaves \
                 such rows out",
                rows.in_file(i + 1)
            ));
        }
        let labels = match column {
            Column::Number(numbers) => {
                self.integer_labels(&numbers, &format!("column '{name}'"), rows)?
            }
            Column::Text(words) => word_labels(words.into_iter().flatten().collect()),
        };
        let classes = labels.iter().collect::<BTreeSet<_>>().len();
        if classes > MANY_CLASSES && 2 * classes > labels.len() {
            return self.fail(format!(
                "the target column '{name}' has {classes} classes in {} rows; is it the right one?",
                labels.len()
            ));
        }
        Ok(labels)
    }

    /// Whole numbers as labels; `place` is where they stand.
    pub(super) fn integer_labels(
        &self,
        numbers: &[f64],
        place: &str,
        rows: &Rows,
    ) -> Outcome<Vec<Label>> {
        let is_label = |y: &f64| y.fract() == 0.0 && y.abs() <= LARGEST;
        match numbers.iter().position(|y| !is_label(y)) {
            None => Ok(numbers.iter().map(|&y| Label::Integer(y as i64)).collect()),
            Some(i) => self.fail(format!(
                "row {}, {place}: {} is no class; classes are words or whole numbers",
                rows.in_file(i + 1),
                numbers[i]
            )),
        }
    }
}

/// Words as labels; `true` and `false` are booleans where there is nothing else.
fn word_labels(words: Vec<String>) -> Vec<Label> {
    let booleans: Option<Vec<Label>> =
        words.iter().map(|word| word.parse().ok().map(Label::Boolean)).collect();
    booleans.unwrap_or_else(|| words.into_iter().map(Label::Text).collect())
}

/// The label that a model has for a cell, or the cell as a new label; none where it is missing.
pub fn label_of(column: &Column, row: usize, classes: &[Label]) -> Option<Label> {
    let text = match column {
        _ if column.is_missing(row) => return None,
        Column::Number(numbers) => number_text(numbers[row]),
        Column::Text(words) => words[row].clone()?,
    };
    Some(known_label(text, classes))
}

/// The same for a number.
pub fn label_of_number(number: f64, classes: &[Label]) -> Label {
    known_label(number_text(number), classes)
}

fn number_text(number: f64) -> String {
    // Without the sign of a negative zero.
    (number + 0.0).to_string()
}

fn known_label(text: String, classes: &[Label]) -> Label {
    let known = classes.iter().find(|class| class.to_string() == text);
    known.cloned().unwrap_or(Label::Text(text))
}

/// Two whole numbers are often meant as classes.
pub fn note_two_values(what: &str, values: &[f64], say: &dyn Fn(&str)) {
    let mut seen: Vec<f64> = Vec::new();
    for &value in values.iter().filter(|v| !v.is_nan()) {
        if value.fract() != 0.0 || seen.len() > 2 {
            return;
        }
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    if let [a, b] = seen[..] {
        let (a, b) = (a.min(b), a.max(b));
        say(&format!(
            "{what} has only the values {a} and {b}, taken as numbers; --task classification \
             takes them as classes"
        ));
    }
}
