//! What Python hands over, borrowed.

use fewer::data::{
    Column, Dataset, DenseView, Encoder, Features, Label, Missing, SparseMatrix, SparseView, Table,
    Target,
};
use fewer::linalg::Matrix;
use fewer::{Error, Result};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::borrow::Cow;

/// Inputs as `python/fewer/_data.py` prepares them.
#[derive(FromPyObject)]
pub enum Input<'py> {
    /// Values, rows, columns, distance between rows, distance between columns.
    F64(PyReadonlyArray1<'py, f64>, usize, usize, usize, usize),
    /// The same in single precision.
    F32(PyReadonlyArray1<'py, f32>, usize, usize, usize, usize),
    /// `csc` or `csr`, values, indices, starts, rows, columns.
    Sparse(
        String,
        PyReadonlyArray1<'py, f64>,
        PyReadonlyArray1<'py, u32>,
        PyReadonlyArray1<'py, usize>,
        usize,
        usize,
    ),
    /// Names and columns of a table with words in it.
    Table(Vec<String>, Vec<TableColumn<'py>>),
}

#[derive(FromPyObject)]
pub enum TableColumn<'py> {
    Number(PyReadonlyArray1<'py, f64>),
    Text(Vec<Option<String>>),
}

/// What is to be predicted: numbers, or for each row the position of its class and the classes.
#[derive(FromPyObject)]
pub enum Targets<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Labels(PyReadonlyArray1<'py, usize>, Vec<Class>),
}

/// A class label.
#[derive(FromPyObject, IntoPyObject)]
pub enum Class {
    Boolean(bool),
    Integer(i64),
    Text(String),
}

impl Targets<'_> {
    pub fn hold(&self) -> Result<Target<'_>> {
        Ok(match self {
            Targets::Numbers(values) => Target::Numbers(Cow::Borrowed(slice(values)?)),
            Targets::Labels(codes, classes) => {
                let (codes, classes) = (slice(codes)?, classes.iter().map(Class::to_label));
                let classes: Vec<Label> = classes.collect();
                if let Some(code) = codes.iter().find(|code| **code >= classes.len()) {
                    return Err(Error::shape("codes of classes", classes.len(), code));
                }
                Target::Labels { classes, codes: codes.to_vec() }
            }
        })
    }
}

impl Class {
    fn to_label(&self) -> Label {
        match self {
            Class::Boolean(b) => Label::Boolean(*b),
            Class::Integer(i) => Label::Integer(*i),
            Class::Text(s) => Label::Text(s.clone()),
        }
    }

    pub fn of_label(label: &Label) -> Self {
        match label {
            Label::Boolean(b) => Class::Boolean(*b),
            Label::Integer(i) => Class::Integer(*i),
            Label::Text(s) => Class::Text(s.clone()),
        }
    }
}

/// Inputs as the core takes them; what had to be converted is owned.
pub enum Held<'a> {
    Borrowed(Features<'a>),
    Sparse(SparseMatrix),
    Table(Table),
}

impl Input<'_> {
    pub fn hold(&self) -> PyResult<Held<'_>> {
        let hold = || -> Result<Held<'_>> {
            Ok(match self {
                Input::F64(values, rows, columns, row_stride, column_stride) => Held::Borrowed(
                    DenseView::strided(
                        slice(values)?,
                        *rows,
                        *columns,
                        *row_stride,
                        *column_stride,
                    )?
                    .into(),
                ),
                Input::F32(values, rows, columns, row_stride, column_stride) => Held::Borrowed(
                    DenseView::strided(
                        slice(values)?,
                        *rows,
                        *columns,
                        *row_stride,
                        *column_stride,
                    )?
                    .into(),
                ),
                Input::Sparse(format, values, indices, starts, rows, columns) => {
                    let (starts, indices, values) =
                        (slice(starts)?, slice(indices)?, slice(values)?);
                    if format == "csr" {
                        Held::Sparse(SparseMatrix::from_rows(
                            *rows, *columns, starts, indices, values,
                        )?)
                    } else if let Ok(view) =
                        SparseView::new(*rows, *columns, starts, indices, values)
                    {
                        Held::Borrowed(view.into())
                    } else {
                        Held::Sparse(SparseMatrix::from_unsorted(
                            *rows, *columns, starts, indices, values,
                        )?)
                    }
                }
                Input::Table(names, columns) => {
                    let mut table = Table::new();
                    for (name, column) in names.iter().zip(columns) {
                        table.push(name, column.to_column()?)?;
                    }
                    Held::Table(table)
                }
            })
        };
        hold().map_err(crate::error::to_python)
    }
}

impl TableColumn<'_> {
    fn to_column(&self) -> Result<Column> {
        Ok(match self {
            TableColumn::Number(values) => Column::Number(slice(values)?.to_vec()),
            TableColumn::Text(words) => Column::Text(words.clone()),
        })
    }
}

impl Held<'_> {
    /// Encodes a table for fitting.
    pub fn encode(&self) -> Result<Option<(Encoder, Matrix)>> {
        let Held::Table(table) = self else { return Ok(None) };
        let (encoder, _) = Encoder::fit(table, Missing::Error)?;
        let matrix = encoder.encode(table)?;
        Ok(Some((encoder, matrix)))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Held::Borrowed(features) => features.rows(),
            Held::Sparse(matrix) => matrix.view().rows(),
            Held::Table(table) => table.rows(),
        }
    }

    /// A data set of these inputs, or of the table they were encoded from.
    pub fn dataset<'a>(
        &'a self,
        encoded: Option<&'a (Encoder, Matrix)>,
        target: Target<'a>,
        names: Option<Vec<String>>,
    ) -> Result<Dataset<'a>> {
        let features = match (self, encoded) {
            (_, Some((encoder, matrix))) => {
                let view =
                    DenseView::by_columns(matrix.as_slice(), matrix.rows(), matrix.columns())?;
                return Dataset::new(view, target)?.with_encoder(encoder.clone());
            }
            (Held::Borrowed(features), _) => *features,
            (Held::Sparse(matrix), _) => matrix.view().into(),
            (Held::Table(_), None) => {
                return Err(Error::shape("a table", "an encoder for it", "none"));
            }
        };
        let data = Dataset::new(features, target)?;
        match names {
            Some(names) => data.with_names(names),
            None => Ok(data),
        }
    }
}

pub fn slice<'a, T: numpy::Element>(array: &'a PyReadonlyArray1<'_, T>) -> Result<&'a [T]> {
    array.as_slice().map_err(|e| Error::shape("an array", "contiguous values", e))
}
