//! Reads CSV, TSV, svmlight and Parquet files into the data types of [`fewer`].
//!
//! [`read`] is the only entry point. Text files may be compressed with gzip.

mod csv;
mod error;
#[cfg(feature = "parquet")]
mod parquet;
mod source;
mod svmlight;

use std::path::Path;

use fewer::data::{SparseMatrix, Table};

pub use error::{Problem, ReadError};

/// A file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A header and comma-separated values; semicolons, tabs and bars are recognised when the
    /// header has no comma.
    Csv,
    /// A header and tab-separated values.
    Tsv,
    /// `label index:value ...`, the format of svmlight and libsvm.
    Svmlight,
    /// Apache Parquet with flat columns.
    Parquet,
}

impl Format {
    /// The format that a file name stands for: `.csv`, `.tsv`, `.txt`, `.svm`, `.svmlight` and
    /// `.libsvm`, each also with `.gz`, and `.parquet`. The case does not matter.
    ///
    /// ```
    /// use fewer_files::Format;
    /// assert_eq!(Format::from_path("train.csv.gz".as_ref()), Some(Format::Csv));
    /// assert_eq!(Format::from_path("train.xlsx".as_ref()), None);
    /// ```
    pub fn from_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let (name, gzip) = match name.strip_suffix(".gz") {
            Some(inner) => (inner, true),
            None => (name.as_str(), false),
        };
        let (_, extension) = name.rsplit_once('.')?;
        match extension {
            "csv" | "txt" => Some(Format::Csv),
            "tsv" => Some(Format::Tsv),
            "svm" | "svmlight" | "libsvm" => Some(Format::Svmlight),
            "parquet" if !gzip => Some(Format::Parquet),
            _ => None,
        }
    }

    /// The format of that name: `csv`, `tsv`, `svmlight`, `libsvm` or `parquet`.
    pub fn from_name(name: &str) -> Option<Format> {
        match name {
            "csv" => Some(Format::Csv),
            "tsv" => Some(Format::Tsv),
            "svmlight" | "libsvm" => Some(Format::Svmlight),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

/// How to read a file; the default suits most.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format, instead of the one the file name stands for.
    pub format: Option<Format>,
    /// The ASCII character between the cells of a CSV or TSV file, instead of the usual one.
    pub delimiter: Option<u8>,
    /// Columns to read as words even if they hold numbers: codes, for instance.
    pub text_columns: Vec<String>,
    /// The least number of features of an svmlight file, which does not state how many it has.
    pub columns: Option<usize>,
    /// Whether the indices of an svmlight file count from 0, instead of a guess from the file: a
    /// file that happens to lack the index 0 looks as if it counted from 1.
    pub zero_based: Option<bool>,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Records {
    /// Named columns.
    Table(Table),
    /// An svmlight file.
    Sparse {
        /// One row for each line, one column for each index.
        features: SparseMatrix,
        /// The labels.
        target: Vec<f64>,
        /// Whether the first column has the index 0 in the file; else it has the index 1.
        zero_based: bool,
    },
}

/// Reads a file; the path `-` reads CSV from the standard input.
///
/// **CSV and TSV** need a header; a column without a name is called `column3` after its position.
/// A column is numeric if all its cells are numbers or missing, else it is text. A cell is
/// missing if it is empty, `NA`, `N/A`, `<NA>`, `NaN`, `-NaN`, `null`, `None` or `?`, in upper or
/// lower case; so are `true` and `false` one category each however they are written. Spaces
/// around a cell do not count unless they are quoted. Blank lines are skipped, save that within a
/// single column they are missing values.
///
/// **svmlight** indices count from 1, or from 0 if the index 0 occurs in the file or
/// [`zero_based`](ReadOptions::zero_based) says so. An index that occurs nowhere is a column of
/// zeros.
///
/// **Parquet** columns must be flat. Decimals become numbers, dates days since 1970-01-01,
/// timestamps and times of day seconds (since 1970-01-01, since midnight), booleans the words
/// `true` and `false`. Only nulls and NaN are missing.
///
/// ```
/// use fewer::data::Column;
/// use fewer_files::{ReadOptions, Records, read};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("people.csv");
/// std::fs::write(&path, "age,city\n31,Oslo\nNA,Rome\n")?;
/// let Records::Table(table) = read(&path, &ReadOptions::default())? else { unreachable!() };
/// assert_eq!(table.names(), ["age", "city"]);
/// assert!(matches!(table.column("age"), Some(Column::Number(ages)) if ages[0] == 31.0));
/// assert!(table.column("age").is_some_and(|ages| ages.is_missing(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, options: &ReadOptions) -> Result<Records, ReadError> {
    dispatch(path, options).map_err(|problem| {
        let path = if source::is_stdin(path) { Path::new("standard input") } else { path };
        ReadError { path: path.to_owned(), problem }
    })
}

fn dispatch(path: &Path, options: &ReadOptions) -> Result<Records, Problem> {
    let format = match options.format {
        Some(format) => format,
        None if source::is_stdin(path) => Format::Csv,
        None => {
            // A missing file matters more to the user than its odd name.
            source::check(path)?;
            Format::from_path(path).ok_or(Problem::UnknownFormat)?
        }
    };
    match format {
        Format::Csv => csv::read(&source::text(path)?, b',', options).map(Records::Table),
        Format::Tsv => csv::read(&source::text(path)?, b'\t', options).map(Records::Table),
        Format::Svmlight => {
            let (features, target, zero_based) = svmlight::read(&source::text(path)?, options)?;
            Ok(Records::Sparse { features, target, zero_based })
        }
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::read(path, options).map(Records::Table),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(Problem::NoParquet),
    }
}

/// Refuses repeated names, and text columns that are not there.
fn check_names(names: &[String], text_columns: &[String]) -> Result<(), Problem> {
    let mut seen = std::collections::HashMap::with_capacity(names.len());
    for (k, name) in names.iter().enumerate() {
        if let Some(first) = seen.insert(name.as_str(), k) {
            return Err(Problem::DuplicateColumn {
                name: name.clone(),
                first: first + 1,
                second: k + 1,
            });
        }
    }
    match text_columns.iter().find(|name| !seen.contains_key(name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let mut known = names.iter().take(20).cloned().collect::<Vec<_>>().join(", ");
            if names.len() > 20 {
                known.push_str(", ...");
            }
            Err(Problem::UnknownColumn { name: name.clone(), known })
        }
    }
}
