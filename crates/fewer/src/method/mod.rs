//! The methods of the papers: each a small file that names a likelihood, a prior, a basis and an
//! engine.

mod adaptive;
mod adaptive_rvc;
mod adaptive_rvr;
mod bayesian_lasso;
mod bls;
mod classes;
mod common;
mod em;
mod evidence;
mod fast_laplace;
mod laplace;
mod laplacian;
mod lasso;
mod multinomial;
mod penalised;
mod probit_classifier;
mod rmlr;
mod rounds;
mod rvc;
mod rvr;
mod settings;
mod smlr;
mod sparse_regressor;
mod student_t;
mod symmetric;
mod training;
mod wavelet_rvr;

pub use adaptive_rvc::AdaptiveRVC;
pub use adaptive_rvr::AdaptiveRVR;
pub use bayesian_lasso::{BayesianLasso, Estimate};
pub use bls::BLS;
pub use classes::{BalancedRule, ClassWeight};
pub use common::BasisKind;
pub(crate) use evidence::is_saturated;
pub use evidence::{EvidenceSolver, LamRule, Variance};
pub use fast_laplace::FastLaplace;
pub use lasso::Lasso;
pub use multinomial::{Parameterization, Solver};
pub use probit_classifier::ProbitClassifier;
pub use rmlr::RMLR;
pub use rvc::{Multiclass, RVC};
pub use rvr::{RVR, Sparsity, SparsityRule};
pub use settings::{Intercept, PriorKind, Variant};
pub(crate) use settings::{check_count, check_number, parse_settings};
pub use smlr::SMLR;
pub use sparse_regressor::SparseRegressor;
pub use student_t::{NoiseFamily, NoiseModel, Nu, NuRule};
pub(crate) use training::on_threads;
pub use wavelet_rvr::{Padding, WaveletRVR};

use crate::basis::UserFunction;
use crate::data::{Dataset, Moments, counted_rows};
use crate::engine::Observer;
pub use crate::engine::coordinate::Schedule;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::select::{self, Search};
use serde_json::{Map, Value};

/// What a method predicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Numbers.
    Regression,
    /// Classes.
    Classification,
}

/// A method by its names.
#[derive(Debug, Clone, Copy)]
pub struct MethodInfo {
    /// Its name in Python and in model files.
    pub name: &'static str,
    /// Its name on the command line.
    pub short: &'static str,
    /// What it predicts.
    pub task: Task,
}

/// All methods.
pub const METHODS: &[MethodInfo] = &[
    MethodInfo { name: "SparseRegressor", short: "sparse", task: Task::Regression },
    MethodInfo { name: "Lasso", short: "lasso", task: Task::Regression },
    MethodInfo { name: "RVR", short: "rvm", task: Task::Regression },
    MethodInfo { name: "AdaptiveRVR", short: "arvm", task: Task::Regression },
    MethodInfo { name: "WaveletRVR", short: "srvm", task: Task::Regression },
    MethodInfo { name: "BLS", short: "bls", task: Task::Regression },
    MethodInfo { name: "FastLaplace", short: "flap", task: Task::Regression },
    MethodInfo { name: "BayesianLasso", short: "blasso", task: Task::Regression },
    MethodInfo { name: "ProbitClassifier", short: "probit", task: Task::Classification },
    MethodInfo { name: "SMLR", short: "smlr", task: Task::Classification },
    MethodInfo { name: "RMLR", short: "rmlr", task: Task::Classification },
    MethodInfo { name: "RVC", short: "rvc", task: Task::Classification },
    MethodInfo { name: "AdaptiveRVC", short: "arvc", task: Task::Classification },
];

/// The name that lets [`fit`] choose among all methods: see [`auto`](crate::select::auto).
pub const AUTO: &str = "auto";

/// Fits a method chosen by name, with settings as a JSON object: what front ends call.
///
/// Words such as `"lam": "cv"` choose settings first: see [`select`](crate::select).
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::engine::Silent;
/// let x = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0];
/// let y = [1.0, 3.0, 5.0, 7.0, 9.0, 13.0];
/// let data = Dataset::new(DenseView::by_rows(&x, 6, 1)?, &y)?;
/// let model = fewer::method::fit("sparse", r#"{"max_terms": 1}"#, None, &data, &Silent)?;
/// assert_eq!(model.formula(), "1 + 2 x1");
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn fit(
    method: &str,
    settings: &str,
    functions: Option<UserFunction>,
    data: &Dataset<'_>,
    observer: &dyn Observer,
) -> Result<Model> {
    if method == AUTO {
        return select::auto(settings, functions, data, observer);
    }
    let search = Search::new(method, settings)?.functions(functions.clone());
    if search.is_empty() {
        return fit_once(method, &search.method_settings(), functions, data, observer);
    }
    search.fit(data, observer)
}

/// Fits a method with a linear basis, chosen by name, from moments alone: what front ends call.
///
/// ```
/// use fewer::data::{DenseView, MomentsBuilder};
///
/// let mut builder = MomentsBuilder::new(["dose", "age"]);
/// for chunk in 0..20 {
///     let x: Vec<f64> = (0..200).map(|i| ((chunk * 200 + i) as f64 * 0.7).sin()).collect();
///     let y: Vec<f64> = (0..100).map(|i| 3.0 * x[2 * i] + 1.0).collect();
///     builder.push(DenseView::by_rows(&x, 100, 2)?, &y, None)?;
/// }
/// let model = fewer::method::fit_moments("bls", "{}", builder.finish()?)?;
/// assert_eq!(model.n_terms(), 1);
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn fit_moments(method: &str, settings: &str, moments: Moments) -> Result<Model> {
    let search = Search::new(method, settings)?;
    if !search.is_empty() {
        return Err(Error::Unavailable {
            what: "choosing settings from moments".into(),
            hint: "folds and widths need the rows: give numbers".into(),
        });
    }
    let settings = search.method_settings();
    let named = moments.names().iter().enumerate().any(|(j, n)| *n != format!("x{}", j + 1));
    macro_rules! fit_of {
        ($method:ident) => {
            $method::from_json(&settings)?.fit_moments(moments)
        };
    }
    let model = match method {
        "SparseRegressor" | "sparse" => fit_of!(SparseRegressor),
        "Lasso" | "lasso" => fit_of!(Lasso),
        "RVR" | "rvm" => fit_of!(RVR),
        "BLS" | "bls" => fit_of!(BLS),
        "FastLaplace" | "flap" => fit_of!(FastLaplace),
        "BayesianLasso" | "blasso" => fit_of!(BayesianLasso),
        _ => Err(Error::Unavailable {
            what: format!("{method} from moments"),
            hint: "it needs the rows; SparseRegressor, Lasso, RVR, BLS, FastLaplace and \
                   BayesianLasso with a linear basis do not"
                .into(),
        }),
    }?;
    Ok(Model { named, ..model })
}

/// The λ's of a path, from the smallest that leaves the model empty down: those that a search
/// would try.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::engine::Silent;
/// let x = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0];
/// let y = [1.0, 3.0, 5.0, 7.0, 9.0, 14.0];
/// let data = Dataset::new(DenseView::by_rows(&x, 6, 1)?, &y)?;
/// let lams = fewer::method::path_lams("lasso", "{}", None, &data, 4, &Silent)?;
/// assert!((lams[0] / lams[3] - 1000.0).abs() < 1e-9);
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn path_lams(
    method: &str,
    settings: &str,
    functions: Option<UserFunction>,
    data: &Dataset<'_>,
    count: usize,
    observer: &dyn Observer,
) -> Result<Vec<f64>> {
    if count == 0 {
        return Err(Error::setting("n_lams", count, "a whole number of at least 1 is expected"));
    }
    let mut settings = settings_map(settings)?;
    // λ_max is known before the first iteration.
    settings.insert("lam_ratio".into(), 1.0.into());
    settings.insert("max_iter".into(), 1.into());
    let model = fit_once(method, &Value::Object(settings).to_string(), functions, data, observer)?;
    let largest = model.report().lam.ok_or_else(|| Error::Unavailable {
        what: format!("a path of {}", model.method()),
        hint: "it has no λ".into(),
    })?;
    let rows = counted_rows(data.rows(), data.weights());
    Ok(select::path_lams(largest, rows, model.basis_size(), count, None))
}

fn settings_map(settings: &str) -> Result<Map<String, Value>> {
    serde_json::from_str(settings).map_err(|e| {
        Error::setting("settings", settings, format!("a JSON object is expected ({e})"))
    })
}

/// Fits a method for each λ, given from large to small: what a search does in each fold.
pub fn fit_path(
    method: &str,
    settings: &str,
    functions: Option<UserFunction>,
    data: &Dataset<'_>,
    lams: &[f64],
    observer: &dyn Observer,
) -> Result<Vec<Model>> {
    macro_rules! path_of {
        ($method:ident) => {
            return $method::from_json(settings)?.with_functions(functions).path_observed(
                data,
                Some(lams),
                observer,
            )
        };
    }
    match method {
        "Lasso" | "lasso" => path_of!(Lasso),
        "SMLR" | "smlr" => path_of!(SMLR),
        "RMLR" | "rmlr" => path_of!(RMLR),
        _ => {}
    }
    let mut settings = settings_map(settings)?;
    let one = |&lam: &f64| {
        settings.insert("lam".into(), lam.into());
        let settings = Value::Object(settings.clone()).to_string();
        fit_once(method, &settings, functions.clone(), data, observer)
    };
    lams.iter().map(one).collect()
}

/// Whether the basis of a method is a kernel unless the settings say otherwise.
pub(crate) fn uses_kernels(method: &str) -> bool {
    matches!(method, "RVR" | "rvm" | "RVC" | "rvc")
}

/// Whether there is a λ from which on the model is empty, where a method has one at all.
pub(crate) fn has_largest_lam(method: &str) -> bool {
    let without = ["BLS", "bls", "FastLaplace", "flap", "BayesianLasso", "blasso"];
    !without.contains(&method)
}

/// Whether fits for many λ start from one another.
pub(crate) fn has_warm_path(method: &str) -> bool {
    matches!(method, "Lasso" | "lasso" | "SMLR" | "smlr" | "RMLR" | "rmlr")
}

/// Fits a method whose settings are all given.
pub(crate) fn fit_once(
    method: &str,
    settings: &str,
    functions: Option<UserFunction>,
    data: &Dataset<'_>,
    observer: &dyn Observer,
) -> Result<Model> {
    macro_rules! fit_of {
        ($method:ident) => {
            $method::from_json(settings)?.with_functions(functions).fit_observed(data, observer)
        };
    }
    match method {
        "SparseRegressor" | "sparse" => fit_of!(SparseRegressor),
        "ProbitClassifier" | "probit" => fit_of!(ProbitClassifier),
        "Lasso" | "lasso" => fit_of!(Lasso),
        "SMLR" | "smlr" => fit_of!(SMLR),
        "RMLR" | "rmlr" => fit_of!(RMLR),
        "RVR" | "rvm" => fit_of!(RVR),
        "AdaptiveRVR" | "arvm" => fit_of!(AdaptiveRVR),
        "WaveletRVR" | "srvm" => fit_of!(WaveletRVR),
        "RVC" | "rvc" => fit_of!(RVC),
        "AdaptiveRVC" | "arvc" => fit_of!(AdaptiveRVC),
        "BLS" | "bls" => fit_of!(BLS),
        "FastLaplace" | "flap" => fit_of!(FastLaplace),
        "BayesianLasso" | "blasso" => fit_of!(BayesianLasso),
        _ => {
            let known: Vec<&str> = METHODS.iter().map(|m| m.short).collect();
            Err(Error::setting("method", method, format!("known methods: {}", known.join(", "))))
        }
    }
}
