//! What can be wrong with a file.

use std::path::PathBuf;

/// A file that cannot be read, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct ReadError {
    /// The file, or `standard input`.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a file. Lines and columns count from 1, and the header is line 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is no such file.
    #[error("no such file")]
    NotFound,

    /// A directory was given.
    #[error("this is a directory; give a file")]
    Directory,

    /// The operating system refuses.
    #[error("cannot be read: {0}")]
    Io(std::io::Error),

    /// The name does not tell the format.
    #[error(
        "cannot tell the format from the name; expected .csv, .tsv, .txt, .svm, .svmlight or \
         .libsvm (each also with .gz) or .parquet, or else name the format"
    )]
    UnknownFormat,

    /// This build leaves Parquet out.
    #[error("this build cannot read Parquet; convert the file to CSV")]
    NoParquet,

    /// Parquet must be read from a file.
    #[error("Parquet cannot be read from the standard input; give a file")]
    ParquetStdin,

    /// The gzip data is damaged, or there is none.
    #[error("not readable as gzip: {details}; compress the file again, or drop .gz from its name")]
    Gzip {
        /// What the decoder found.
        details: String,
    },

    /// The gzip data ends too early.
    #[error("the gzip data ends too early: the file is truncated; copy or download it again")]
    TruncatedGzip,

    /// Some bytes are not UTF-8.
    #[error("line {line}: the bytes at offset {offset} are not UTF-8; save the file as UTF-8")]
    NotUtf8 {
        /// Line of the bytes.
        line: usize,
        /// Offset from the start of the (uncompressed) file, from 0.
        offset: usize,
    },

    /// The file is empty.
    #[error("the file is empty; expected a header and rows of data")]
    Empty,

    /// The file has no data.
    #[error("the file has no rows of data")]
    NoRows,

    /// A row is longer or shorter than the header.
    #[error("line {line}: expected {expected} fields as in the header, found {found}")]
    Fields {
        /// Line on which the row starts.
        line: usize,
        /// Number of fields in the header.
        expected: usize,
        /// Number of fields in the row.
        found: usize,
    },

    /// A quoted cell never ends.
    #[error("line {line}, column {column}: the quote that starts here is never closed")]
    UnclosedQuote {
        /// Line of the opening quote.
        line: usize,
        /// Position of the column.
        column: usize,
    },

    /// A quoted cell goes on after its closing quote.
    #[error(
        "line {line}, column {column}: found '{found}' after the closing quote, expected the end \
         of the cell; a quote within quotes is written twice"
    )]
    AfterQuote {
        /// Line of the closing quote.
        line: usize,
        /// Position of the column.
        column: usize,
        /// What follows the quote.
        found: String,
    },

    /// Two columns have the same name.
    #[error("columns {first} and {second} are both named '{name}'; expected different names")]
    DuplicateColumn {
        /// The name.
        name: String,
        /// Position of the first.
        first: usize,
        /// Position of the second.
        second: usize,
    },

    /// A column to read as text is not in the file.
    #[error("there is no column '{name}' to read as text; the columns are {known}")]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// Names of the columns, the first 20 at most.
        known: String,
    },

    /// The delimiter cannot work.
    #[error("delimiter '{}': expected an ASCII character other than a quote or a line end",
        delimiter.escape_ascii())]
    Delimiter {
        /// The delimiter asked for.
        delimiter: u8,
    },

    /// One value of a line cannot be used.
    #[error("line {line}, {what}: found '{value}', expected {expected}")]
    Value {
        /// The line.
        line: usize,
        /// Which part of the line, for instance `the label`.
        what: String,
        /// The value, as written.
        value: String,
        /// What would do.
        expected: &'static str,
    },

    /// An svmlight line belongs to a ranking query.
    #[error("line {line}: found '{value}', but ranking queries are not supported; remove the qid")]
    Query {
        /// The line.
        line: usize,
        /// The query, as written.
        value: String,
    },

    /// A line of an svmlight file has the same index twice.
    #[error("line {line}: index {index} occurs twice, expected each index once")]
    RepeatedIndex {
        /// The line.
        line: usize,
        /// The index, as written.
        index: usize,
    },

    /// An svmlight file that should count from 1 has the index 0.
    #[error("line {line}: found index 0, but indices should count from 1 here")]
    ZeroIndex {
        /// The line.
        line: usize,
    },

    /// More svmlight columns asked for than there can be.
    #[error("columns = {columns}: expected at most {most}")]
    Columns {
        /// The number asked for.
        columns: usize,
        /// The largest number.
        most: usize,
    },

    /// A Parquet column is of a type that is neither number nor text.
    #[error(
        "column '{column}' is of type {found}; expected a flat column of booleans, numbers, \
         decimals, dates, timestamps or UTF-8 text: convert or drop it"
    )]
    ColumnType {
        /// Name of the column.
        column: String,
        /// Its type.
        found: String,
    },

    /// A Parquet column is compressed by a codec that this build lacks.
    #[error("column '{column}' is compressed with {codec}; save the file with {supported}")]
    Codec {
        /// Name of the column.
        column: String,
        /// The codec.
        codec: String,
        /// The codecs that can be read.
        supported: &'static str,
    },

    /// A Parquet text is not UTF-8.
    #[error("row {row}, column '{column}': the bytes are not UTF-8 text")]
    ParquetText {
        /// Row of the data, from 1.
        row: usize,
        /// Name of the column.
        column: String,
    },

    /// The Parquet file is damaged, or is none.
    #[error("not readable as Parquet: {details}")]
    Parquet {
        /// What the decoder found.
        details: String,
    },

    /// The data types refuse what was read.
    #[error(transparent)]
    Data(#[from] fewer::Error),
}

/// A value as shown in a message: one line, not too long.
pub(crate) fn shown(value: &str) -> String {
    let mut text: String = value.chars().take(40).flat_map(char::escape_debug).collect();
    if value.chars().nth(40).is_some() {
        text.push_str("...");
    }
    text
}
