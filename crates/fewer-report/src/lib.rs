//! Pictures and reports of models of [`fewer`]: SVG, and HTML in one file without outside parts.
//!
//! ```
//! use fewer::data::{Dataset, DenseView};
//! use fewer::method::SparseRegressor;
//! use fewer_report::{Comparison, ReportInput, report_html, terms_svg};
//!
//! let x: Vec<f64> = (0..300).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
//! let y: Vec<f64> = x.chunks(3).map(|x| 2.0 - 0.5 * x[1]).collect();
//! let view = DenseView::by_rows(&x, 100, 3)?;
//! let model = SparseRegressor::new().fit(&Dataset::new(view, &y)?)?;
//!
//! assert!(terms_svg(&model).contains("x2"));
//! let comparison = Comparison::of(&model, view, &(&y).into())?;
//! let html = report_html(&ReportInput::new(&model).with_data("training data", &comparison));
//! assert!(html.starts_with("<!doctype html>"));
//! # Ok::<(), fewer::Error>(())
//! ```

mod accuracy;
mod boundary;
mod chart;
mod comparison;
mod fit;
mod formula;
mod html;
mod kernels;
mod log_axis;
mod number;
mod path;
mod selection;
mod stability;
mod terms;
mod trace;

pub use accuracy::{Accuracy, ClassAccuracy};
pub use boundary::boundary_svg;
pub use comparison::{Comparison, Score};
pub use fit::fit_svg;
pub use formula::formulas;
pub use html::{ReportInput, report_html};
pub use kernels::kernels_svg;
pub use number::number;
pub use path::path_svg;
pub use selection::selection_svg;
pub use stability::stability_svg;
pub use terms::terms_svg;
pub use trace::trace_svg;

#[cfg(test)]
mod tests;
