//! From what the user has to what an engine needs: tables, validated data sets, moments.

mod sparse;
mod table;

pub use sparse::{SparseMatrix, SparseView};
pub use table::{Column, Table};
