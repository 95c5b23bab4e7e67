//! The one error type of the library.

use std::path::PathBuf;

/// What went wrong, where, and what was expected instead.
///
/// Rows are counted from 1, as a reader of the data would count them (the header of a file is not
/// a row). Not converging is not an error: see [`Termination`](crate::engine::Termination).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to fit.
    #[error("{what} is empty: {expected}")]
    Empty {
        /// What is empty, for instance `the data`.
        what: String,
        /// What would do.
        expected: String,
    },

    /// One value cannot be used.
    #[error("row {row}, column '{column}': {value}; {expected}")]
    Value {
        /// Row of the data, from 1.
        row: usize,
        /// Name of the column.
        column: String,
        /// The value, as the user would write it.
        value: String,
        /// What would do.
        expected: String,
    },

    /// Sizes that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What has the wrong size.
        what: String,
        /// The size it should have.
        expected: String,
        /// The size it has.
        found: String,
    },

    /// A setting is outside its range, or does not go with another one.
    #[error("{name} = {value}: {expected}")]
    Setting {
        /// Name of the setting, the same in Rust, Python and on the command line.
        name: String,
        /// The value given.
        value: String,
        /// What would do.
        expected: String,
    },

    /// The columns of the new data are not those the model was fitted on.
    #[error("the columns differ from those the model was fitted on: {details}")]
    Columns {
        /// Which are missing or too many.
        details: String,
    },

    /// A category that was not in the training data.
    #[error(
        "row {row}, column '{column}': the category '{value}' was not in the training data ({known})"
    )]
    Category {
        /// Row of the data, from 1.
        row: usize,
        /// Name of the column.
        column: String,
        /// The category.
        value: String,
        /// The categories that were there.
        known: String,
    },

    /// A model file cannot be read or written.
    #[error("{path}: {problem}")]
    ModelFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },

    /// The work does not fit the memory limit.
    #[error("{what} needs {needed} of memory, more than memory_limit = {limit}: {hint}")]
    Memory {
        /// What is too large.
        what: String,
        /// How much it would take.
        needed: String,
        /// How much there is.
        limit: String,
        /// What to do.
        hint: String,
    },

    /// A user's own basis function failed.
    #[error("basis function '{name}': {problem}")]
    Function {
        /// Name of the function.
        name: String,
        /// What it did.
        problem: String,
    },

    /// The user asked to stop (Ctrl-C) before there was a model to return.
    #[error("interrupted")]
    Interrupted,

    /// The model has no such thing.
    #[error("{what} is not available: {hint}")]
    Unavailable {
        /// What was asked for.
        what: String,
        /// What to do instead.
        hint: String,
    },
}

/// `Result` with the library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A setting outside its range.
    pub fn setting(
        name: impl Into<String>,
        value: impl std::fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Error::Setting { name: name.into(), value: value.to_string(), expected: expected.into() }
    }

    /// Something that does not fit the memory limit (both in bytes).
    pub(crate) fn memory(what: String, needed: f64, limit: f64, hint: &str) -> Self {
        let size = |bytes: f64| match bytes {
            b if b >= 1e9 => format!("{:.1} GB", b / 1e9),
            b if b >= 1e6 => format!("{:.1} MB", b / 1e6),
            b => format!("{:.0} kB", (b / 1e3).ceil()),
        };
        Error::Memory { what, needed: size(needed), limit: size(limit), hint: hint.into() }
    }

    /// Sizes that do not agree.
    pub fn shape(
        what: impl Into<String>,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Self {
        Error::Shape { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }
}
