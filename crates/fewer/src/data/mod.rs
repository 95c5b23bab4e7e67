//! From what the user has to what an engine needs: tables, validated data sets, moments.

mod dataset;
mod encoder;
mod features;
mod moments;
mod names;
mod sparse;
mod table;
mod target;

pub(crate) use dataset::{check_features, check_offset, counted_rows};
pub(crate) use encoder::quoted;
pub(crate) use moments::{Standardised, Units, partial_sums};
pub(crate) use names::Names;
pub(crate) use sparse::SparseRows;

pub use dataset::Dataset;
pub use encoder::{Encoder, Missing};
pub use features::{DenseView, FeatureRows, Features, Float};
pub use moments::{Moments, MomentsBuilder};
pub use sparse::{SparseMatrix, SparseView};
pub use table::{Column, Table};
pub use target::{Label, Target};
