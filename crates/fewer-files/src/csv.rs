//! Delimited text with a header.

use std::borrow::Cow;

use fewer::data::{Column, Table};

use crate::error::{Problem, shown};
use crate::{ReadOptions, check_names};

/// Words for a missing value, in any case.
const MISSING: [&str; 9] = ["", "na", "n/a", "nan", "-nan", "null", "none", "?", "<na>"];

fn is_missing(content: &str) -> bool {
    MISSING.iter().any(|word| content.eq_ignore_ascii_case(word))
}

/// Parses the text; `usual` is the delimiter if neither the options nor the header ask for another.
pub fn read(text: &str, usual: u8, options: &ReadOptions) -> Result<Table, Problem> {
    let delimiter = match options.delimiter {
        Some(delimiter) if !delimiter.is_ascii() || b"\"\r\n".contains(&delimiter) => {
            return Err(Problem::Delimiter { delimiter });
        }
        Some(delimiter) => delimiter,
        None => find_delimiter(text, usual),
    };
    let mut rows = Rows::new(text, delimiter);
    let mut row = Vec::new();
    if !rows.next_into(&mut row)? {
        return Err(Problem::Empty);
    }
    let names: Vec<String> = (1..)
        .zip(&row)
        .map(|(position, cell)| match cell.text() {
            name if name.is_empty() => format!("column{position}"),
            name => name.into_owned(),
        })
        .collect();
    check_names(&names, &options.text_columns)?;
    let first_row = rows.clone();

    let mut builders: Vec<Builder> = names
        .iter()
        .map(|name| match options.text_columns.contains(name) {
            true => Builder::Text { from: 0, values: Vec::new() },
            false => Builder::Number(Vec::new()),
        })
        .collect();
    let mut count = 0;
    while rows.next_into(&mut row)? {
        for (builder, cell) in builders.iter_mut().zip(&row) {
            builder.push(cell, count);
        }
        count += 1;
    }
    if count == 0 {
        return Err(Problem::NoRows);
    }

    let mut early = early_text(first_row, &builders)?.into_iter();
    let mut table = Table::new();
    for (name, builder) in names.into_iter().zip(builders) {
        let column = match builder {
            Builder::Number(values) => Column::Number(values),
            Builder::Text { values, .. } => {
                let mut all = early.next().unwrap_or_default();
                all.extend(values);
                Column::Text(all)
            }
        };
        table.push(name, column)?;
    }
    Ok(table)
}

/// The cells that were taken for numbers before their columns turned out to be text.
fn early_text(mut rows: Rows, builders: &[Builder]) -> Result<Vec<Vec<Option<String>>>, Problem> {
    let wanted: Vec<(usize, usize)> = builders
        .iter()
        .enumerate()
        .filter_map(|(j, builder)| match builder {
            Builder::Text { from, .. } => Some((j, *from)),
            Builder::Number(_) => None,
        })
        .collect();
    let mut early: Vec<Vec<Option<String>>> = vec![Vec::new(); wanted.len()];
    let end = wanted.iter().map(|&(_, from)| from).max().unwrap_or(0);
    let mut row = Vec::new();
    for i in 0..end {
        if !rows.next_into(&mut row)? {
            break;
        }
        for (&(j, from), column) in wanted.iter().zip(&mut early) {
            if i < from {
                column.push(row[j].value());
            }
        }
    }
    Ok(early)
}

/// A column while it is read.
enum Builder {
    Number(Vec<f64>),
    Text {
        /// The row of the first value; those before are read again.
        from: usize,
        values: Vec<Option<String>>,
    },
}

impl Builder {
    fn push(&mut self, cell: &Cell, row: usize) {
        match self {
            Builder::Text { values, .. } => values.push(cell.value()),
            Builder::Number(numbers) => {
                let content = cell.raw.trim_ascii();
                match content.parse() {
                    Ok(number) => numbers.push(number),
                    Err(_) if is_missing(content) => numbers.push(f64::NAN),
                    Err(_) => *self = Builder::Text { from: row, values: vec![cell.value()] },
                }
            }
        }
    }
}

/// One cell, as it stands in the file.
#[derive(Clone, Copy)]
struct Cell<'a> {
    /// Without the enclosing quotes, but with the quotes within doubled.
    raw: &'a str,
    quoted: bool,
}

impl<'a> Cell<'a> {
    fn text(&self) -> Cow<'a, str> {
        match self.quoted {
            false => self.raw.trim_ascii().into(),
            true if self.raw.contains('"') => self.raw.replace("\"\"", "\"").into(),
            true => self.raw.into(),
        }
    }

    fn value(&self) -> Option<String> {
        let content = self.raw.trim_ascii();
        if is_missing(content) {
            return None;
        }
        // True, TRUE and true are one category, the one that Parquet files have.
        let boolean = ["true", "false"].iter().find(|word| content.eq_ignore_ascii_case(word));
        Some(boolean.map_or_else(|| self.text().into_owned(), |word| word.to_string()))
    }
}

/// The rows of a file, one after the other.
#[derive(Clone)]
struct Rows<'a> {
    text: &'a str,
    delimiter: u8,
    at: usize,
    line: usize,
    done: bool,
    /// Number of cells of the header, once read.
    width: Option<usize>,
}

impl<'a> Rows<'a> {
    fn new(text: &'a str, delimiter: u8) -> Self {
        // Without its trailing blank lines, so that they are no rows of a single column.
        let blank = |c: char| matches!(c, '\r' | '\n' | ' ') && c != char::from(delimiter);
        let text = text.trim_end_matches(blank);
        Rows { text, delimiter, at: 0, line: 1, done: text.is_empty(), width: None }
    }

    /// Puts the cells of the next row into `row`; false at the end of the file.
    fn next_into(&mut self, row: &mut Vec<Cell<'a>>) -> Result<bool, Problem> {
        while !self.done {
            let line = self.line;
            row.clear();
            while self.push_cell(row)? {}
            let blank =
                matches!(row[..], [cell] if !cell.quoted && cell.raw.trim_ascii().is_empty());
            match self.width {
                Some(1) if blank => {}
                _ if blank => continue,
                None => self.width = Some(row.len()),
                Some(width) if width != row.len() => {
                    return Err(Problem::Fields { line, expected: width, found: row.len() });
                }
                Some(_) => {}
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// Reads one cell and what ends it; false at the end of the row.
    fn push_cell(&mut self, row: &mut Vec<Cell<'a>>) -> Result<bool, Problem> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        if bytes.get(start) == Some(&b'"') {
            let raw = self.quoted(row.len() + 1)?;
            row.push(Cell { raw, quoted: true });
        } else {
            while let Some(&byte) = bytes.get(self.at) {
                if byte == self.delimiter || byte == b'\n' || byte == b'\r' {
                    break;
                }
                self.at += 1;
            }
            row.push(Cell { raw: &self.text[start..self.at], quoted: false });
        }
        match bytes.get(self.at) {
            None => {
                self.done = true;
                Ok(false)
            }
            Some(&byte) if byte == self.delimiter => {
                self.at += 1;
                Ok(true)
            }
            Some(_) => {
                self.at += if bytes[self.at..].starts_with(b"\r\n") { 2 } else { 1 };
                self.line += 1;
                Ok(false)
            }
        }
    }

    /// Reads a quoted cell up to the delimiter or line end that follows.
    fn quoted(&mut self, column: usize) -> Result<&'a str, Problem> {
        let bytes = self.text.as_bytes();
        let opening_line = self.line;
        let start = self.at + 1;
        let mut at = start;
        let end = loop {
            match bytes.get(at) {
                None => return Err(Problem::UnclosedQuote { line: opening_line, column }),
                Some(b'"') if bytes.get(at + 1) == Some(&b'"') => at += 1,
                Some(b'"') => break at,
                Some(b'\n') => self.line += 1,
                Some(b'\r') if bytes.get(at + 1) != Some(&b'\n') => self.line += 1,
                Some(_) => {}
            }
            at += 1;
        };
        at += 1;
        while bytes.get(at) == Some(&b' ') && self.delimiter != b' ' {
            at += 1;
        }
        let rest = &self.text[at..];
        if !rest.is_empty() && !rest.starts_with([char::from(self.delimiter), '\r', '\n']) {
            let found = rest.split(['\r', '\n']).next().unwrap_or_default();
            return Err(Problem::AfterQuote { line: self.line, column, found: shown(found) });
        }
        self.at = at;
        Ok(&self.text[start..end])
    }
}

/// The usual delimiter unless the header lacks it and has another.
fn find_delimiter(text: &str, usual: u8) -> u8 {
    let header = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let outside_quotes = || header.split('"').step_by(2);
    let count = |delimiter: u8| -> usize {
        outside_quotes().map(|part| part.bytes().filter(|&b| b == delimiter).count()).sum()
    };
    if count(usual) > 0 {
        return usual;
    }
    let best = [b'|', b'\t', b',', b';'].into_iter().max_by_key(|&other| count(other));
    best.filter(|&other| count(other) > 0).unwrap_or(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_short_text_panics_and_columns_stay_even() {
        let alphabet = [',', '"', '\n', '\r', ' ', '1', 'é'];
        let mut texts = vec![String::new()];
        for _ in 0..6 {
            let longer = |text: &String| alphabet.map(|c| format!("{text}{c}"));
            texts = texts.iter().flat_map(longer).collect();
            for text in &texts {
                if let Ok(table) = read(text, b',', &ReadOptions::default()) {
                    assert!(table.iter().all(|(_, column)| column.len() == table.rows()));
                    assert!(table.rows() > 0);
                }
            }
        }
    }
}
