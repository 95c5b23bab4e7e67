//! Choosing settings, and judging methods: folds, scores, criteria and searches.
//!
//! It works on methods by name with settings as JSON, so no method has a loop of its own for it.
//! In these settings, `"lam"` and `"gamma"` may be words: `"cv"`, or a [`Criterion`]: `"bic"`,
//! `"ebic"`, `"aic"`, for `"gamma"` also `"evidence"`; and `"sparsity"` may be `"cv"`. Then [`method::fit`](crate::method::fit) chooses them, fits all
//! data with what was chosen, and says in [`Report::selection`](crate::model::Report) how. How to
//! choose is set beside them:
//!
//! | setting | default | meaning |
//! |---|---|---|
//! | `cv` | 5 | number of folds (stratified for classes), or `"loo"` |
//! | `cv_shuffle` | false | shuffle the rows first, by `random_state` |
//! | `cv_repeats` | 1 | so many times, shuffled |
//! | `scoring` | `mse`, `deviance` | a [`Score`] |
//! | `rule` | `best` | `best` or `one_se`: see [`Rule`] |
//! | `lams` | 100 | λ's, or how many from λ_max down |
//! | `lam_min_ratio` | 1e-3 or 1e-2 | the smallest as a part of λ_max: see [`Lams`] |
//! | `gammas` | 9 | γ's, or how many around the `scale` rule's: see [`Gammas`] |
//!
//! ```
//! use fewer::data::{Dataset, DenseView};
//! use fewer::engine::Silent;
//! let x: Vec<f64> = (0..400).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
//! let y: Vec<f64> = x.chunks(5).map(|x| 1.0 + 3.0 * x[0] + 0.3 * (9.0 * x[1]).sin()).collect();
//! let data = Dataset::new(DenseView::by_rows(&x, 80, 5)?, &y)?;
//! let settings = r#"{"prior": "laplace", "lam": "cv", "cv": 4, "rule": "one_se", "lams": 20}"#;
//! let model = fewer::method::fit("sparse", settings, None, &data, &Silent)?;
//! let selection = model.report().selection.as_ref().unwrap();
//! assert_eq!(selection.points.len(), 20);
//! assert_eq!(model.report().lam, selection.chosen_point().settings["lam"].as_f64());
//! # Ok::<(), fewer::Error>(())
//! ```

mod auto;
mod criterion;
mod evaluate;
mod fold_data;
mod folds;
mod golden;
mod grid;
mod in_order;
mod memory;
mod predicted;
mod score;
mod search;
mod selection;
mod stability;
mod words;

pub use auto::{Tried, auto};
pub use criterion::{Criterion, keeps_every_term};
pub use evaluate::{Evaluated, Evaluation, evaluate};
pub use folds::{CrossValidation, Split};
pub use golden::golden_section;
pub(crate) use grid::path_lams;
pub use grid::{Gammas, Lams, log_spaced};
pub use predicted::Predicted;
pub use score::{Direction, Score};
pub use search::{FinishedFit, Search};
pub use selection::{Point, Rule, Selection};
pub use stability::{Stability, StabilityOptions, TermStability, stability};
