//! Sparse supervised learning: the same accuracy from fewer terms.

pub mod data;
mod error;

pub use error::{Error, Result};
