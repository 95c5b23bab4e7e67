//! The sparse text format of svmlight and libsvm.

use fewer::data::SparseMatrix;

use crate::ReadOptions;
use crate::error::{Problem, shown};

/// Keeps a mistyped index from asking for more memory than there is.
const MOST_COLUMNS: usize = 100_000_000;

/// Parses the text into features, labels and whether indices count from 0.
pub fn read(text: &str, options: &ReadOptions) -> Result<(SparseMatrix, Vec<f64>, bool), Problem> {
    if let Some(name) = options.text_columns.first() {
        let known = "numbered, and all of them are numbers".into();
        return Err(Problem::UnknownColumn { name: name.clone(), known });
    }
    let least = options.columns.unwrap_or(0);
    if least > MOST_COLUMNS {
        return Err(Problem::Columns { columns: least, most: MOST_COLUMNS });
    }
    let mut target = Vec::new();
    let mut starts = vec![0];
    let mut indices: Vec<usize> = Vec::new();
    let mut values: Vec<f64> = Vec::new();
    let mut sorted: Vec<usize> = Vec::new();
    for (k, line) in text.lines().enumerate() {
        let number = k + 1;
        let content = line.split('#').next().unwrap_or_default();
        let mut tokens = content.split_ascii_whitespace();
        let Some(label) = tokens.next() else { continue };
        target.push(label.parse().map_err(|_| Problem::Value {
            line: number,
            what: "the label".into(),
            value: shown(label),
            expected: "a number",
        })?);
        let row = indices.len();
        for token in tokens {
            let (index, value) = entry(token, number)?;
            if index == 0 && options.zero_based == Some(false) {
                return Err(Problem::ZeroIndex { line: number });
            }
            indices.push(index);
            values.push(value);
        }
        if !indices[row..].is_sorted_by(|a, b| a < b) {
            sorted.clear();
            sorted.extend(&indices[row..]);
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Problem::RepeatedIndex { line: number, index: pair[0] });
            }
        }
        starts.push(indices.len());
    }
    if target.is_empty() {
        return Err(if text.trim().is_empty() { Problem::Empty } else { Problem::NoRows });
    }
    let zero_based = options.zero_based.unwrap_or_else(|| indices.contains(&0));
    if !zero_based {
        indices.iter_mut().for_each(|index| *index -= 1);
    }
    let columns = indices.iter().max().map_or(0, |&last| last + 1).max(least);
    let features = SparseMatrix::from_rows(target.len(), columns, &starts, &indices, &values)?;
    Ok((features, target, zero_based))
}

fn entry(token: &str, line: usize) -> Result<(usize, f64), Problem> {
    let problem = |what: &str, value: &str, expected| Problem::Value {
        line,
        what: what.into(),
        value: shown(value),
        expected,
    };
    let Some((index, value)) = token.split_once(':') else {
        return Err(problem("an entry", token, "index:value"));
    };
    if index == "qid" {
        return Err(Problem::Query { line, value: shown(token) });
    }
    let number = index
        .parse()
        .ok()
        .filter(|&number| number <= MOST_COLUMNS)
        .ok_or_else(|| problem("an index", index, "a whole number up to 100000000"))?;
    let value = value
        .parse()
        .map_err(|_| problem(&format!("the value of index {index}"), value, "a number"))?;
    Ok((number, value))
}
