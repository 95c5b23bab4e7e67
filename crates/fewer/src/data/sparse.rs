//! Compressed sparse columns, owned and borrowed.

use crate::error::{Error, Result};

/// A sparse matrix by compressed columns (CSC), owned.
///
/// ```
/// use fewer::data::SparseMatrix;
/// // [1 0]
/// // [0 2]
/// let m = SparseMatrix::new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1.0, 2.0])?;
/// assert_eq!(m.view().column(1).collect::<Vec<_>>(), [(1, 2.0)]);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SparseMatrix {
    rows: usize,
    columns: usize,
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl SparseMatrix {
    /// Takes the three arrays of the CSC format; row indices rise strictly within a column.
    pub fn new(
        rows: usize,
        columns: usize,
        starts: Vec<usize>,
        indices: Vec<usize>,
        values: Vec<f64>,
    ) -> Result<Self> {
        check_rows(rows)?;
        let narrow = indices.iter().map(|&i| u32::try_from(i).unwrap_or(u32::MAX)).collect();
        let matrix = Self { rows, columns, starts, indices: narrow, values };
        check(rows, columns, &matrix.starts, &matrix.indices, matrix.values.len())?;
        Ok(matrix)
    }

    /// Builds the matrix from compressed rows (CSR); column indices may come in any order,
    /// and repeated entries are added up.
    pub fn from_rows<I: Copy + TryInto<usize>>(
        rows: usize,
        columns: usize,
        starts: &[usize],
        indices: &[I],
        values: &[f64],
    ) -> Result<Self> {
        check_rows(rows)?;
        check_starts(rows, "row", starts, indices.len(), values.len())?;
        let indices: Vec<usize> = indices.iter().map(|&j| position(j)).collect();
        if let Some(bad) = indices.iter().find(|&&j| j >= columns) {
            return Err(Error::shape("sparse column index", format!("below {columns}"), bad));
        }
        let mut next = vec![0usize; columns + 1];
        for &j in &indices {
            next[j + 1] += 1;
        }
        for j in 0..columns {
            next[j + 1] += next[j];
        }
        let mut out_indices = vec![0u32; indices.len()];
        let mut out_values = vec![0.0; values.len()];
        let first = next.clone();
        for i in 0..rows {
            for k in starts[i]..starts[i + 1] {
                let slot = next[indices[k]];
                out_indices[slot] = i as u32;
                out_values[slot] = values[k];
                next[indices[k]] += 1;
            }
        }
        Ok(Self::merge_repeated(rows, columns, first, out_indices, out_values))
    }

    /// Builds the matrix from compressed columns whose row indices may be unsorted or repeated.
    pub fn from_unsorted<I: Copy + TryInto<usize>>(
        rows: usize,
        columns: usize,
        starts: &[usize],
        indices: &[I],
        values: &[f64],
    ) -> Result<Self> {
        check_rows(rows)?;
        check_starts(columns, "column", starts, indices.len(), values.len())?;
        let indices: Vec<usize> = indices.iter().map(|&i| position(i)).collect();
        if let Some(bad) = indices.iter().find(|&&i| i >= rows) {
            return Err(Error::shape("sparse row index", format!("below {rows}"), bad));
        }
        let mut out_indices = Vec::with_capacity(indices.len());
        let mut out_values = Vec::with_capacity(values.len());
        let mut order: Vec<usize> = Vec::new();
        for j in 0..columns {
            order.clear();
            order.extend(starts[j]..starts[j + 1]);
            order.sort_by_key(|&k| indices[k]);
            out_indices.extend(order.iter().map(|&k| indices[k] as u32));
            out_values.extend(order.iter().map(|&k| values[k]));
        }
        Ok(Self::merge_repeated(rows, columns, starts.to_vec(), out_indices, out_values))
    }

    fn merge_repeated(
        rows: usize,
        columns: usize,
        first: Vec<usize>,
        mut indices: Vec<u32>,
        mut values: Vec<f64>,
    ) -> Self {
        let mut starts = Vec::with_capacity(columns + 1);
        starts.push(0);
        let mut kept = 0;
        for j in 0..columns {
            let begin = kept;
            for k in first[j]..first[j + 1] {
                if kept > begin && indices[kept - 1] == indices[k] {
                    values[kept - 1] += values[k];
                } else {
                    indices[kept] = indices[k];
                    values[kept] = values[k];
                    kept += 1;
                }
            }
            starts.push(kept);
        }
        indices.truncate(kept);
        values.truncate(kept);
        Self { rows, columns, starts, indices, values }
    }

    /// The given rows of x, in the given order.
    pub(crate) fn of_rows(x: SparseView<'_>, rows: &[usize]) -> Self {
        let by_row = SparseRows::new(x);
        let mut columns: Vec<Vec<(u32, f64)>> = vec![Vec::new(); x.columns()];
        for (new, &i) in rows.iter().enumerate() {
            by_row.row(i).for_each(|(j, v)| columns[j].push((new as u32, v)));
        }
        let mut starts = vec![0];
        for column in &columns {
            starts.push(starts[starts.len() - 1] + column.len());
        }
        let (indices, values) = columns.into_iter().flatten().unzip();
        Self { rows: rows.len(), columns: x.columns(), starts, indices, values }
    }

    /// Keeps the rows for which `keep` is true.
    pub fn select_rows(&self, keep: &[bool]) -> Self {
        let mut renumbered = Vec::with_capacity(keep.len());
        let mut count = 0;
        for &k in keep {
            renumbered.push(count as u32);
            count += usize::from(k);
        }
        let mut starts = vec![0];
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for j in 0..self.columns {
            for (i, v) in self.view().column(j) {
                if keep[i] {
                    indices.push(renumbered[i]);
                    values.push(v);
                }
            }
            starts.push(indices.len());
        }
        Self { rows: count, columns: self.columns, starts, indices, values }
    }

    /// Widens or narrows the matrix to `columns` columns.
    pub fn with_columns(mut self, columns: usize) -> Self {
        if columns < self.columns {
            let end = self.starts[columns];
            self.indices.truncate(end);
            self.values.truncate(end);
            self.starts.truncate(columns + 1);
        } else {
            let end = self.indices.len();
            self.starts.resize(columns + 1, end);
        }
        self.columns = columns;
        self
    }

    /// Borrows the matrix.
    pub fn view(&self) -> SparseView<'_> {
        SparseView {
            rows: self.rows,
            columns: self.columns,
            starts: &self.starts,
            indices: &self.indices,
            values: &self.values,
        }
    }
}

/// A sparse matrix by compressed columns (CSC), borrowed.
#[derive(Debug, Clone, Copy)]
pub struct SparseView<'a> {
    rows: usize,
    columns: usize,
    starts: &'a [usize],
    indices: &'a [u32],
    values: &'a [f64],
}

impl<'a> SparseView<'a> {
    /// Borrows the three arrays of the CSC format; row indices rise strictly within a column.
    pub fn new(
        rows: usize,
        columns: usize,
        starts: &'a [usize],
        indices: &'a [u32],
        values: &'a [f64],
    ) -> Result<Self> {
        check_rows(rows)?;
        check(rows, columns, starts, indices, values.len())?;
        Ok(Self { rows, columns, starts, indices, values })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored entries.
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// The stored entries of column `j`, as (row, value) with rising rows.
    pub fn column(&self, j: usize) -> impl ExactSizeIterator<Item = (usize, f64)> + 'a {
        let range = self.starts[j]..self.starts[j + 1];
        let rows = self.indices[range.clone()].iter().map(|&i| i as usize);
        rows.zip(self.values[range].iter().copied())
    }

    /// The stored entries of column `j` as (rows, values).
    pub fn column_slices(&self, j: usize) -> (&'a [u32], &'a [f64]) {
        let range = self.starts[j]..self.starts[j + 1];
        (&self.indices[range.clone()], &self.values[range])
    }
}

/// The entries of a sparse matrix row by row.
pub(crate) struct SparseRows {
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
}

impl SparseRows {
    pub fn new(x: SparseView<'_>) -> Self {
        let mut starts = vec![0usize; x.rows() + 1];
        for j in 0..x.columns() {
            x.column(j).for_each(|(i, _)| starts[i + 1] += 1);
        }
        for i in 0..x.rows() {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut columns = vec![0; x.stored()];
        let mut values = vec![0.0; x.stored()];
        for j in 0..x.columns() {
            for (i, v) in x.column(j) {
                columns[next[i]] = j;
                values[next[i]] = v;
                next[i] += 1;
            }
        }
        Self { starts, columns, values }
    }

    pub fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.starts[i]..self.starts[i + 1];
        self.columns[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }
}

/// An index as a position; what is none is beyond all of them.
fn position<I: TryInto<usize>>(index: I) -> usize {
    index.try_into().unwrap_or(usize::MAX)
}

/// Rows are numbered in 32 bits: half the memory to read.
fn check_rows(rows: usize) -> Result<()> {
    if u32::try_from(rows).is_ok() {
        return Ok(());
    }
    Err(Error::shape("rows of a sparse matrix", format!("at most {}", u32::MAX), rows))
}

fn check_starts(
    groups: usize,
    kind: &str,
    starts: &[usize],
    indices: usize,
    values: usize,
) -> Result<()> {
    if starts.len() != groups + 1 {
        return Err(Error::shape(format!("sparse {kind} starts"), groups + 1, starts.len()));
    }
    if indices != values {
        return Err(Error::shape("sparse indices", values, indices));
    }
    if starts[0] != 0 || starts[groups] != values || starts.windows(2).any(|w| w[0] > w[1]) {
        return Err(Error::shape(
            format!("sparse {kind} starts"),
            format!("rising from 0 to {values}"),
            "another order",
        ));
    }
    Ok(())
}

fn check(
    rows: usize,
    columns: usize,
    starts: &[usize],
    indices: &[u32],
    values: usize,
) -> Result<()> {
    check_starts(columns, "column", starts, indices.len(), values)?;
    for j in 0..columns {
        let column = &indices[starts[j]..starts[j + 1]];
        // All of them without a way out: that goes by vectors.
        if !column.windows(2).fold(true, |rising, w| rising & (w[0] < w[1])) {
            return Err(Error::shape(
                format!("row indices of sparse column {j}"),
                "strictly rising",
                "unsorted or repeated",
            ));
        }
        if let Some(&last) = column.last().filter(|&&i| i as usize >= rows) {
            return Err(Error::shape("sparse row index", format!("below {rows}"), last));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_rows_become_columns_with_repeats_added() {
        let m = SparseMatrix::from_rows(2, 3, &[0, 3, 4], &[2, 0, 2, 1], &[1.0, 5.0, 2.0, 7.0])
            .unwrap();
        let columns: Vec<Vec<_>> = (0..3).map(|j| m.view().column(j).collect()).collect();
        assert_eq!(columns, [vec![(0, 5.0)], vec![(1, 7.0)], vec![(0, 3.0)]]);
    }

    #[test]
    fn unsorted_columns_are_sorted() {
        let m = SparseMatrix::from_unsorted(3, 1, &[0, 3], &[2, 0, 2], &[1.0, 5.0, 2.0]).unwrap();
        assert_eq!(m.view().column(0).collect::<Vec<_>>(), [(0, 5.0), (2, 3.0)]);
    }

    #[test]
    fn bad_arrays_are_refused() {
        assert!(SparseMatrix::new(2, 1, vec![0, 1], vec![2], vec![1.0]).is_err());
        assert!(SparseMatrix::new(2, 1, vec![0, 2], vec![1, 1], vec![1.0, 1.0]).is_err());
        assert!(SparseMatrix::new(2, 1, vec![0, 2], vec![1], vec![1.0]).is_err());
        assert!(SparseMatrix::new(2, 2, vec![0, 1], vec![1], vec![1.0]).is_err());
    }
}
