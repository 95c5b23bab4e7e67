use std::path::{Path, PathBuf};
use std::sync::Arc;

use fewer_files::{Format, Problem, ReadOptions, read};
use parquet::basic::Compression;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::{assert_numbers, assert_texts, problem, read_bytes, table};

type Group<'a> = SerializedRowGroupWriter<'a, Vec<u8>>;

/// A file of that schema with one row group for each element of `fill`.
fn file(schema: &str, codec: Compression, fill: &[&dyn Fn(&mut Group)]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {schema} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(codec).build());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, properties).unwrap();
    for fill in fill {
        let mut group = writer.next_row_group().unwrap();
        fill(&mut group);
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

/// Writes the next column; `present` says which rows of an optional column have a value.
fn put<T: DataType>(group: &mut Group, values: &[T::T], present: Option<&[i16]>) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, present, None).unwrap();
    column.close().unwrap();
}

fn plain(schema: &str, fill: &dyn Fn(&mut Group)) -> Vec<u8> {
    file(schema, Compression::UNCOMPRESSED, &[fill])
}

fn good(bytes: &[u8]) -> fewer::data::Table {
    table(read_bytes("a.parquet", bytes, &ReadOptions::default()))
}

fn bad(bytes: &[u8]) -> Problem {
    problem(read_bytes("a.parquet", bytes, &ReadOptions::default()))
}

#[test]
fn all_flat_types_in_several_row_groups() {
    let schema = "required boolean b; optional int32 i; required int64 l; optional float f;
        required double d; optional binary s (UTF8);";
    let first = |group: &mut Group| {
        put::<BoolType>(group, &[true, false], None);
        put::<Int32Type>(group, &[-7], Some(&[0, 1]));
        put::<Int64Type>(group, &[i64::MIN, 9007199254740993], None);
        put::<FloatType>(group, &[0.5], Some(&[1, 0]));
        put::<DoubleType>(group, &[f64::NAN, 0.1], None);
        put::<ByteArrayType>(group, &[ByteArray::from("Zürich")], Some(&[0, 1]));
    };
    let second = |group: &mut Group| {
        put::<BoolType>(group, &[true], None);
        put::<Int32Type>(group, &[8], Some(&[1]));
        put::<Int64Type>(group, &[3], None);
        put::<FloatType>(group, &[], Some(&[0]));
        put::<DoubleType>(group, &[-2.0], None);
        put::<ByteArrayType>(group, &[ByteArray::from("")], Some(&[1]));
    };
    for codec in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::GZIP(Default::default())]
    {
        let t = good(&file(schema, codec, &[&first, &second]));
        assert_texts(&t, "b", &["true", "false", "true"]);
        assert_numbers(&t, "i", &[f64::NAN, -7.0, 8.0]);
        assert_numbers(&t, "l", &[-9223372036854775808.0, 9007199254740992.0, 3.0]);
        assert_numbers(&t, "f", &[0.5, f64::NAN, f64::NAN]);
        assert_numbers(&t, "d", &[f64::NAN, 0.1, -2.0]);
        assert_texts(&t, "s", &["-", "Zürich", ""]);
    }
}

#[test]
fn more_rows_than_one_batch() {
    let rows = 20_000;
    let present: Vec<i16> = (0..rows).map(|i| i16::from(i % 3 != 0)).collect();
    let values: Vec<f64> = (0..rows).filter(|i| i % 3 != 0).map(f64::from).collect();
    let bytes = plain("optional double d;", &|g| put::<DoubleType>(g, &values, Some(&present)));
    let expected: Vec<f64> =
        (0..rows).map(|i| if i % 3 == 0 { f64::NAN } else { f64::from(i) }).collect();
    assert_numbers(&good(&bytes), "d", &expected);
}

#[test]
fn logical_types_become_numbers() {
    let schema = "required int32 u (UINT_32); required int64 v (INTEGER(64, false));
        required int32 c (DECIMAL(9, 2)); required int64 e (DECIMAL(18, 3));
        required binary g (DECIMAL(20, 1)); required fixed_len_byte_array(3) h (DECIMAL(6, 2));
        required fixed_len_byte_array(18) w (DECIMAL(40, 0));
        required int32 day (DATE); required int64 ms (TIMESTAMP_MILLIS);
        required int64 ns (TIMESTAMP(NANOS, true)); required int64 t (TIME_MICROS);
        required int96 old; required fixed_len_byte_array(2) half (FLOAT16);";
    let bytes = plain(schema, &|group| {
        put::<Int32Type>(group, &[-1], None);
        put::<Int64Type>(group, &[-1], None);
        put::<Int32Type>(group, &[-1234], None);
        put::<Int64Type>(group, &[1], None);
        put::<ByteArrayType>(group, &[ByteArray::from(vec![0x00, 0xff])], None);
        let fixed = |bytes: Vec<u8>| [FixedLenByteArray::from(ByteArray::from(bytes))];
        put::<FixedLenByteArrayType>(group, &fixed(vec![0xff, 0xff, 0x9c]), None);
        put::<FixedLenByteArrayType>(group, &fixed([&[0xff; 17][..], &[0xfe]].concat()), None);
        put::<Int32Type>(group, &[-1], None);
        put::<Int64Type>(group, &[1500], None);
        put::<Int64Type>(group, &[2_500_000_000], None);
        put::<Int64Type>(group, &[3_500_000], None);
        put::<Int96Type>(group, &[Int96::from(vec![500_000_000, 0, 2_440_589])], None);
        put::<FixedLenByteArrayType>(group, &fixed(vec![0x00, 0xbe]), None);
    });
    let t = good(&bytes);
    for (name, expected) in [
        ("u", 4294967295.0),
        ("v", 18446744073709551615.0),
        ("c", -12.34),
        ("e", 0.001),
        ("g", 25.5),
        ("h", -1.0),
        ("w", -2.0),
        ("day", -1.0),
        ("ms", 1.5),
        ("ns", 2.5),
        ("t", 3.5),
        ("old", 86400.5),
        ("half", -1.5),
    ] {
        assert_numbers(&t, name, &[expected]);
    }
}

#[test]
fn forced_text_keeps_all_digits() {
    let bytes = plain("optional int64 id; required double d;", &|group| {
        put::<Int64Type>(group, &[9007199254740993], Some(&[1, 0]));
        put::<DoubleType>(group, &[0.5, f64::NAN], None);
    });
    let options = ReadOptions { text_columns: vec!["id".into(), "d".into()], ..Default::default() };
    let t = table(read_bytes("a.parquet", &bytes, &options));
    assert_texts(&t, "id", &["9007199254740993", "-"]);
    assert_texts(&t, "d", &["0.5", "-"]);
    let options = ReadOptions { text_columns: vec!["x".into()], ..Default::default() };
    let found = problem(read_bytes("a.parquet", &bytes, &options));
    assert!(matches!(found, Problem::UnknownColumn { .. }), "{found}");
}

#[test]
fn unsuitable_columns_are_refused_by_name() {
    for (schema, column, kind) in [
        ("required fixed_len_byte_array(16) id (UUID);", "id", "FIXED_LEN_BYTE_ARRAY (Uuid)"),
        ("required fixed_len_byte_array(4) raw;", "raw", "FIXED_LEN_BYTE_ARRAY"),
        ("required binary doc (BSON);", "doc", "BYTE_ARRAY (Bson)"),
        ("repeated int32 many;", "many", "list, map or struct"),
        ("required group g { required int32 x; }", "g.x", "list, map or struct"),
    ] {
        let found = bad(&file(schema, Compression::UNCOMPRESSED, &[]));
        assert!(
            matches!(&found, Problem::ColumnType { column: c, found } if c == column && found == kind),
            "{found}"
        );
    }
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let bytes = plain("required binary s;", &|group| {
        put::<ByteArrayType>(group, &[ByteArray::from("ok"), ByteArray::from(vec![0xff])], None);
    });
    assert_eq!(bad(&bytes).to_string(), "row 2, column 's': the bytes are not UTF-8 text");
}

#[test]
fn files_without_rows_are_refused() {
    assert!(matches!(bad(b""), Problem::Empty));
    let bytes = file("required double d;", Compression::UNCOMPRESSED, &[]);
    assert!(matches!(bad(&bytes), Problem::NoRows));
}

#[test]
fn other_files_and_truncated_files_are_refused() {
    let bytes = plain("required double d;", &|g| put::<DoubleType>(g, &[1.0; 1000], None));
    for bytes in [&b"a,b\n1,2\n3,4\n5,6\n"[..], b"PAR1", &bytes[..bytes.len() / 2]] {
        let found = bad(bytes);
        assert!(matches!(found, Problem::Parquet { .. }), "{found}");
    }
}

#[test]
fn damaged_files_do_not_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.parquet");
    let sound = std::fs::read(fixture("pyarrow")).unwrap();
    let mut refused = 0;
    for k in 0..sound.len() {
        for byte in [0x00, 0x7f, 0xff] {
            let mut damaged = sound.clone();
            damaged[k] = byte;
            std::fs::write(&path, damaged).unwrap();
            refused += usize::from(read(&path, &ReadOptions::default()).is_err());
        }
    }
    assert!(refused > sound.len(), "{refused}");
}

#[test]
fn the_standard_input_is_refused() {
    let options = ReadOptions { format: Some(Format::Parquet), ..Default::default() };
    let error = read(Path::new("-"), &options).unwrap_err();
    assert!(error.to_string().starts_with("standard input: Parquet"), "{error}");
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/{name}.parquet"))
}

/// Written by pyarrow: a categorical, a column of nulls, pages of version 2.
#[test]
fn a_file_of_another_writer() {
    let t = table(read(&fixture("pyarrow"), &ReadOptions::default()));
    assert_texts(&t, "city", &["Oslo", "Rome", "-"]);
    assert_texts(&t, "flag", &["true", "-", "false"]);
    assert_numbers(&t, "count", &[1.0, f64::NAN, 3.0]);
    assert_numbers(&t, "half", &[0.5, f64::NAN, -65504.0]);
    assert_numbers(&t, "price", &[1.25, -0.5, f64::NAN]);
    assert_numbers(&t, "when", &[0.0, 1.5, f64::NAN]);
    assert_numbers(&t, "nothing", &[f64::NAN; 3]);
}

#[test]
fn codecs_are_read_or_named() {
    for codec in ["zstd", "lz4", "brotli"] {
        let found = read(&fixture(codec), &ReadOptions::default());
        if codec == "zstd" && cfg!(feature = "zstd") {
            assert_numbers(&table(found), "x", &[1.0, 2.0]);
        } else {
            let found = problem(found);
            assert!(
                matches!(&found, Problem::Codec { column, codec: c, .. } if column == "x" && c == codec),
                "{found}"
            );
        }
    }
}
