//! Sparse supervised learning: the same accuracy from fewer terms.
//!
//! A fit is a choice of basis (which functions of x), likelihood (how targets scatter), prior
//! (what makes weights zero) and engine (how the best weights are found). Each
//! [`method`] is a name for such a choice.
//!
//! ```
//! use fewer::data::{Dataset, DenseView};
//! use fewer::method::SparseRegressor;
//!
//! let x: Vec<f64> = (0..600).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
//! let y: Vec<f64> = x.chunks(6).map(|x| 4.0 + 2.0 * x[0] - x[5]).collect();
//! let data = Dataset::new(DenseView::by_rows(&x, 100, 6)?, &y)?;
//!
//! let model = SparseRegressor::new().fit(&data)?;
//! assert_eq!(model.formula(), "4 + 2 x1 - 1 x6");
//! # Ok::<(), fewer::Error>(())
//! ```

pub mod basis;
pub mod bound;
pub mod data;
pub mod design;
pub mod engine;
mod error;
mod likelihood;
pub mod linalg;
pub mod method;
pub mod model;
pub mod prior;
mod random;
pub mod select;
pub mod special;

pub use error::{Error, Result};
