//! Files of every format, sound and unsound.

mod csv;
#[cfg(feature = "parquet")]
mod parquet;
mod svmlight;

use std::io::Write;
use std::path::Path;

use fewer::data::{Column, Table};
use fewer_files::{Format, Problem, ReadError, ReadOptions, Records, read};
use flate2::Compression;
use flate2::write::GzEncoder;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Writes the bytes to a file of that name and reads it.
fn read_bytes(
    name: &str,
    bytes: impl AsRef<[u8]>,
    options: &ReadOptions,
) -> Result<Records, ReadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read(&path, options)
}

fn table(records: Result<Records, ReadError>) -> Table {
    match records {
        Ok(Records::Table(table)) => table,
        other => panic!("expected a table, found {other:?}"),
    }
}

fn problem(records: Result<Records, ReadError>) -> Problem {
    records.unwrap_err().problem
}

#[track_caller]
fn assert_numbers(table: &Table, name: &str, expected: &[f64]) {
    let Some(Column::Number(found)) = table.column(name) else {
        panic!("column {name} is not numeric: {table:?}")
    };
    let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(same),
        "{found:?} is not {expected:?}"
    );
}

#[track_caller]
fn assert_texts(table: &Table, name: &str, expected: &[&str]) {
    let expected: Vec<_> =
        expected.iter().map(|text| (*text != "-").then(|| text.to_string())).collect();
    assert_eq!(table.column(name), Some(&Column::Text(expected)));
}

#[test]
fn the_name_tells_the_format() {
    let of = |name: &str| Format::from_path(Path::new(name));
    for name in ["a.csv", "b/A.CSV", "a.csv.gz", "a.txt"] {
        assert_eq!(of(name), Some(Format::Csv), "{name}");
    }
    assert_eq!(of("a.tsv.gz"), Some(Format::Tsv));
    for name in ["a.svm", "a.svmlight.gz", "a.libsvm"] {
        assert_eq!(of(name), Some(Format::Svmlight), "{name}");
    }
    assert_eq!(of("a.parquet"), Some(Format::Parquet));
    for name in ["a.parquet.gz", "a", "a.gz", "a.xlsx", ".."] {
        assert_eq!(of(name), None, "{name}");
    }
    assert_eq!(Format::from_name("libsvm"), Some(Format::Svmlight));
    assert_eq!(Format::from_name("xlsx"), None);
}

#[test]
fn an_unknown_name_is_refused_unless_the_format_is_given() {
    let found = read_bytes("a.data", "x\n1\n", &ReadOptions::default());
    assert!(matches!(problem(found), Problem::UnknownFormat));
    let options = ReadOptions { format: Some(Format::Csv), ..Default::default() };
    assert_numbers(&table(read_bytes("a.data", "x\n1\n", &options)), "x", &[1.0]);
}

#[test]
fn missing_files_and_directories_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = if cfg!(feature = "parquet") { Some(Format::Parquet) } else { None };
    for format in [None, Some(Format::Csv), Some(Format::Svmlight), parquet] {
        let options = ReadOptions { format, ..Default::default() };
        let path = folder.path().join("absent.csv");
        assert!(matches!(problem(read(&path, &options)), Problem::NotFound), "{format:?}");
        assert!(matches!(problem(read(folder.path(), &options)), Problem::Directory), "{format:?}");
    }
    let error = read(Path::new("absent.csv"), &ReadOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "absent.csv: no such file");
}

#[test]
fn gzip_is_known_by_its_first_bytes() {
    let packed = gzip(b"x\n1\n");
    for name in ["a.csv", "a.csv.gz"] {
        let found = table(read_bytes(name, &packed, &ReadOptions::default()));
        assert_numbers(&found, "x", &[1.0]);
    }
    let two_members = [packed.as_slice(), &gzip(b"2\n")].concat();
    let found = table(read_bytes("a.csv.gz", two_members, &ReadOptions::default()));
    assert_numbers(&found, "x", &[1.0, 2.0]);
}

#[test]
fn bad_gzip_is_refused() {
    let packed = gzip("x\n1\n".repeat(1000).as_bytes());
    for length in [2, 5, 12, packed.len() / 2, packed.len() - 1] {
        let found = problem(read_bytes("a.csv.gz", &packed[..length], &ReadOptions::default()));
        assert!(matches!(found, Problem::TruncatedGzip), "{length}: {found}");
    }
    let mut broken = packed.clone();
    let checksum = broken.len() - 6;
    broken[checksum] ^= 0xff;
    for bytes in [broken.as_slice(), b"x\n1\n2\n3\n4\n5\n"] {
        let found = problem(read_bytes("a.csv.gz", bytes, &ReadOptions::default()));
        assert!(matches!(found, Problem::Gzip { .. }), "{found}");
    }
}
