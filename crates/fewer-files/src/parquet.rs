//! Parquet files with flat columns.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ::parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use ::parquet::data_type::DataType;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::schema::types::ColumnDescriptor;
use fewer::data::{Column, Table};

use crate::error::Problem;
use crate::{ReadOptions, check_names, source};

const BATCH: usize = 8192;

#[cfg(feature = "zstd")]
const CODECS: &str = "snappy, gzip, zstd or no compression";
#[cfg(not(feature = "zstd"))]
const CODECS: &str = "snappy, gzip or no compression";

impl From<ParquetError> for Problem {
    fn from(error: ParquetError) -> Self {
        let details = match error {
            ParquetError::General(message)
            | ParquetError::NYI(message)
            | ParquetError::EOF(message) => message,
            other => other.to_string(),
        };
        Problem::Parquet { details }
    }
}

/// Reads all columns of all row groups.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table, Problem> {
    if source::is_stdin(path) {
        return Err(Problem::ParquetStdin);
    }
    source::check(path)?;
    let file = File::open(path).map_err(source::io_problem)?;
    if file.metadata().map_err(source::io_problem)?.len() == 0 {
        return Err(Problem::Empty);
    }
    // The decoder panics on some damaged files.
    catch_unwind(AssertUnwindSafe(|| read_file(file, options))).unwrap_or_else(|_| {
        Err(Problem::Parquet { details: "the file is damaged; write or copy it again".into() })
    })
}

fn read_file(file: File, options: &ReadOptions) -> Result<Table, Problem> {
    let reader = SerializedFileReader::new(file)?;
    let schema = reader.metadata().file_metadata().schema_descr();
    let names: Vec<String> = schema.columns().iter().map(|c| c.path().string()).collect();
    check_names(&names, &options.text_columns)?;
    let meanings = schema.columns().iter().map(|c| meaning(c)).collect::<Result<Vec<_>, _>>()?;
    for group in reader.metadata().row_groups() {
        for (chunk, name) in group.columns().iter().zip(&names) {
            check_codec(chunk.compression(), name)?;
        }
    }

    let mut columns: Vec<Column> = names
        .iter()
        .zip(&meanings)
        .map(|(name, meaning)| match meaning {
            Meaning::Words => Column::Text(Vec::new()),
            _ if options.text_columns.contains(name) => Column::Text(Vec::new()),
            _ => Column::Number(Vec::new()),
        })
        .collect();
    for g in 0..reader.num_row_groups() {
        let group = reader.get_row_group(g)?;
        for (j, column) in columns.iter_mut().enumerate() {
            let before = column.len();
            read_chunk(group.get_column_reader(j)?, meanings[j], &names[j], column)?;
            let (found, expected) = (column.len() - before, group.metadata().num_rows());
            if i64::try_from(found) != Ok(expected) {
                let name = &names[j];
                let details = format!("column '{name}' has {found} of {expected} rows");
                return Err(Problem::Parquet { details });
            }
        }
    }

    let mut table = Table::new();
    for (name, column) in names.into_iter().zip(columns) {
        table.push(name, column)?;
    }
    if table.rows() == 0 { Err(Problem::NoRows) } else { Ok(table) }
}

/// How the stored values of a column are to be understood.
#[derive(Clone, Copy)]
enum Meaning {
    /// The numbers themselves.
    Plain,
    /// Integers whose top bit is no sign.
    Unsigned,
    /// Integers to divide by this: decimals, and times in units of less than a second.
    Divided(f64),
    /// Numbers of half precision.
    Half,
    /// Text, or true and false.
    Words,
}

fn meaning(column: &ColumnDescriptor) -> Result<Meaning, Problem> {
    let stored = column.physical_type();
    let logical = column.logical_type_ref();
    let converted = column.converted_type();
    let refuse = |found: String| Problem::ColumnType { column: column.path().string(), found };
    if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
        return Err(refuse("list, map or struct".into()));
    }
    let decimal = |scale: i32| Meaning::Divided(10f64.powi(scale));
    let known = match stored {
        Type::BOOLEAN => Some(Meaning::Words),
        Type::FLOAT | Type::DOUBLE => Some(Meaning::Plain),
        // Its only use is for timestamps.
        Type::INT96 => Some(Meaning::Divided(1e6)),
        Type::INT32 | Type::INT64 => match (logical, converted) {
            (Some(LogicalType::Integer(integer)), _) if !integer.is_signed => {
                Some(Meaning::Unsigned)
            }
            (Some(LogicalType::Integer(_) | LogicalType::Date | LogicalType::Unknown), _) => {
                Some(Meaning::Plain)
            }
            (Some(LogicalType::Decimal(decimals)), _) => Some(decimal(decimals.scale)),
            (Some(LogicalType::Time(time) | LogicalType::Timestamp(time)), _) => {
                Some(Meaning::Divided(match time.unit {
                    TimeUnit::MILLIS => 1e3,
                    TimeUnit::MICROS => 1e6,
                    TimeUnit::NANOS => 1e9,
                }))
            }
            (Some(_), _) => None,
            (None, ConvertedType::DECIMAL) => Some(decimal(column.type_scale())),
            (None, ConvertedType::TIME_MILLIS | ConvertedType::TIMESTAMP_MILLIS) => {
                Some(Meaning::Divided(1e3))
            }
            (None, ConvertedType::TIME_MICROS | ConvertedType::TIMESTAMP_MICROS) => {
                Some(Meaning::Divided(1e6))
            }
            (
                None,
                ConvertedType::UINT_8
                | ConvertedType::UINT_16
                | ConvertedType::UINT_32
                | ConvertedType::UINT_64,
            ) => Some(Meaning::Unsigned),
            (None, _) => Some(Meaning::Plain),
        },
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => match (logical, converted) {
            (Some(LogicalType::Decimal(decimals)), _) => Some(decimal(decimals.scale)),
            (None, ConvertedType::DECIMAL) => Some(decimal(column.type_scale())),
            (Some(LogicalType::Float16), _) => Some(Meaning::Half),
            _ if stored == Type::FIXED_LEN_BYTE_ARRAY => None,
            (Some(LogicalType::String | LogicalType::Enum | LogicalType::Json), _) => {
                Some(Meaning::Words)
            }
            // Some writers do not say that their byte arrays are text.
            (
                None,
                ConvertedType::NONE
                | ConvertedType::UTF8
                | ConvertedType::ENUM
                | ConvertedType::JSON,
            ) => Some(Meaning::Words),
            _ => None,
        },
    };
    known.ok_or_else(|| {
        refuse(match logical {
            Some(logical) => format!("{stored} ({logical:?})"),
            None if converted == ConvertedType::NONE => stored.to_string(),
            None => format!("{stored} ({converted})"),
        })
    })
}

fn check_codec(codec: Compression, column: &str) -> Result<(), Problem> {
    let name = match codec {
        Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_) => return Ok(()),
        Compression::ZSTD(_) if cfg!(feature = "zstd") => return Ok(()),
        Compression::ZSTD(_) => "zstd",
        Compression::BROTLI(_) => "brotli",
        Compression::LZO => "lzo",
        Compression::LZ4 | Compression::LZ4_RAW => "lz4",
    };
    Err(Problem::Codec { column: column.into(), codec: name.into(), supported: CODECS })
}

/// One value on its way into a column.
enum Value {
    Number(f64),
    /// Kept apart from the other numbers: identifiers as text need all their digits.
    Integer(i128),
    Words(String),
}

fn read_chunk(
    reader: ColumnReader,
    meaning: Meaning,
    name: &str,
    column: &mut Column,
) -> Result<(), Problem> {
    let integer = |value: i128| match meaning {
        Meaning::Divided(by) => Value::Number(value as f64 / by),
        _ => Value::Integer(value),
    };
    let unsigned = matches!(meaning, Meaning::Unsigned);
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            read_values(reader, column, |value, _| Ok(Value::Words(value.to_string())))
        }
        ColumnReader::Int32ColumnReader(reader) => read_values(reader, column, |&value, _| {
            Ok(integer(if unsigned { i128::from(value as u32) } else { value.into() }))
        }),
        ColumnReader::Int64ColumnReader(reader) => read_values(reader, column, |&value, _| {
            Ok(integer(if unsigned { i128::from(value as u64) } else { value.into() }))
        }),
        ColumnReader::Int96ColumnReader(reader) => {
            read_values(reader, column, |value, _| Ok(integer(value.to_micros().into())))
        }
        ColumnReader::FloatColumnReader(reader) => {
            read_values(reader, column, |&value, _| Ok(Value::Number(value.into())))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            read_values(reader, column, |&value, _| Ok(Value::Number(value)))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            read_values(reader, column, |value, row| bytes(value.data(), meaning, name, row))
        }
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            read_values(reader, column, |value, row| bytes(value.data(), meaning, name, row))
        }
    }
}

/// Appends all values of one column chunk.
fn read_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    column: &mut Column,
    convert: impl Fn(&T::T, usize) -> Result<Value, Problem>,
) -> Result<(), Problem> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    loop {
        values.clear();
        levels.clear();
        let (records, _, _) = reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        if records == 0 {
            return Ok(());
        }
        let mut stored = values.iter();
        // A required column has no levels: all its values are there.
        for i in 0..records {
            let present = levels.get(i).is_none_or(|&level| level > 0);
            let value = if present { stored.next() } else { None };
            let value = value.map(|value| convert(value, column.len() + 1)).transpose()?;
            append(column, value);
        }
    }
}

fn append(column: &mut Column, value: Option<Value>) {
    match column {
        Column::Number(numbers) => numbers.push(match value {
            Some(Value::Number(number)) => number,
            Some(Value::Integer(integer)) => integer as f64,
            Some(Value::Words(_)) | None => f64::NAN,
        }),
        Column::Text(texts) => texts.push(match value {
            Some(Value::Number(number)) => (!number.is_nan()).then(|| number.to_string()),
            Some(Value::Integer(integer)) => Some(integer.to_string()),
            Some(Value::Words(words)) => Some(words),
            None => None,
        }),
    }
}

fn bytes(data: &[u8], meaning: Meaning, column: &str, row: usize) -> Result<Value, Problem> {
    match meaning {
        Meaning::Divided(by) => Ok(Value::Number(big_endian(data) / by)),
        Meaning::Half => match *data {
            [low, high] => Ok(Value::Number(half(u16::from_le_bytes([low, high])))),
            _ => Err(Problem::Parquet {
                details: format!("row {row}, column '{column}': a half-precision number is cut"),
            }),
        },
        _ => match std::str::from_utf8(data) {
            Ok(text) => Ok(Value::Words(text.into())),
            Err(_) => Err(Problem::ParquetText { row, column: column.into() }),
        },
    }
}

/// A two's complement number of any length.
fn big_endian(data: &[u8]) -> f64 {
    let Some((&first, rest)) = data.split_first() else { return 0.0 };
    let first = first as i8;
    if rest.len() < 16 {
        rest.iter().fold(i128::from(first), |sum, &byte| sum << 8 | i128::from(byte)) as f64
    } else {
        rest.iter().fold(f64::from(first), |sum, &byte| sum * 256.0 + f64::from(byte))
    }
}

/// An IEEE number of half precision.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}
