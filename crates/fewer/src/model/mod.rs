//! A fitted model: few terms, their weights, and how they were found.

mod explain;
mod file;
mod report;

pub use explain::Explanation;
pub use report::{Certificate, CertificateKind, DroppedColumn, Report};

use crate::basis::{BlockFunction, FixedBasis};
use crate::data::{Encoder, Features, Table, check_features, quoted};
use crate::design::Design;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A term of a model: a function of x with its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// Its name in terms of the features, such as `age·dose`.
    pub name: String,
    /// Its position among all functions of the basis.
    pub index: usize,
    /// Its weight, in the units of the data.
    pub weight: f64,
    /// Its mean in the training data, or 0 where columns were not centred.
    pub centre: f64,
    /// Its standard deviation in the training data.
    pub deviation: f64,
}

/// A fitted model.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::SparseRegressor;
///
/// let x: Vec<f64> = (0..300).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
/// let y: Vec<f64> = x.chunks(3).map(|x| 2.0 - 0.5 * x[1]).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 3)?, &y)?;
/// let model = SparseRegressor::new().fit(&data)?;
/// assert_eq!(model.formula(), "2 - 0.5 x2");
/// let mean = model.predict(DenseView::by_rows(&[9.0, 4.0, 9.0], 1, 3)?)?;
/// assert!(mean[0].abs() < 1e-9);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Model {
    pub(crate) method: String,
    pub(crate) settings: serde_json::Value,
    pub(crate) target: String,
    pub(crate) features: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encoder: Option<Encoder>,
    pub(crate) basis: FixedBasis,
    pub(crate) basis_size: usize,
    pub(crate) terms: Vec<Term>,
    /// The prediction where every term is at its centre.
    pub(crate) base: f64,
    pub(crate) noise_std: Option<f64>,
    pub(crate) report: Report,
}

impl Model {
    /// Name of the method that made the model.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The settings it was made with.
    pub fn settings(&self) -> &serde_json::Value {
        &self.settings
    }

    /// Names of the features it was fitted on.
    pub fn feature_names(&self) -> &[String] {
        &self.features
    }

    /// Name of the target.
    pub fn target_name(&self) -> &str {
        &self.target
    }

    /// Names the target, for formulas and reports.
    pub fn with_target_name(mut self, name: impl Into<String>) -> Self {
        self.target = name.into();
        self
    }

    /// How a table becomes the features, where the model was fitted on a table.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.encoder.as_ref()
    }

    /// The terms kept.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Number of terms kept, the intercept not counted.
    pub fn n_terms(&self) -> usize {
        self.terms.len()
    }

    /// Number of functions that the basis offered.
    pub fn basis_size(&self) -> usize {
        self.basis_size
    }

    /// The prediction where every feature is zero (for a linear basis).
    pub fn intercept(&self) -> f64 {
        self.base - self.terms.iter().map(|t| t.weight * t.centre).sum::<f64>()
    }

    /// Weights of all functions of the basis, zeros included.
    pub fn coefficients(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.basis_size];
        self.terms.iter().for_each(|t| out[t.index] = t.weight);
        out
    }

    /// Standard deviation of the noise, where the model has one.
    pub fn noise_std(&self) -> Option<f64> {
        self.noise_std
    }

    /// How the fit went and ended.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Supplies the user's own function after loading a model that uses one.
    pub fn supply_function(&mut self, function: impl BlockFunction + 'static) -> Result<()> {
        self.basis.supply(Arc::new(function))
    }

    /// The mean prediction for each row; only the kept terms are computed.
    pub fn predict<'a>(&self, features: impl Into<Features<'a>>) -> Result<Vec<f64>> {
        let features = features.into();
        if features.columns() != self.features.len() {
            return Err(Error::Columns {
                details: format!(
                    "expected {} columns, found {}",
                    self.features.len(),
                    features.columns()
                ),
            });
        }
        check_features(&features, &self.features)?;
        let columns = self.basis.columns(features)?;
        let chosen: Vec<usize> = (0..self.terms.len()).collect();
        let weights: Vec<f64> = self.terms.iter().map(|t| t.weight * t.deviation).collect();
        let centre = self.terms.iter().map(|t| t.centre).collect();
        let scale = self.terms.iter().map(|t| t.deviation).collect();
        let mut out = Design::new(&*columns, None, centre, scale).apply(&chosen, &weights);
        out.iter_mut().for_each(|y| *y += self.base);
        if let Some(i) = out.iter().position(|y| !y.is_finite()) {
            return Err(Error::Value {
                row: i + 1,
                column: self.target.clone(),
                value: format!("the prediction is {}", out[i]),
                expected: "the inputs are too far outside the range of the training data".into(),
            });
        }
        Ok(out)
    }

    /// The mean prediction for each row of a table; columns are found by name.
    pub fn predict_table(&self, table: &Table) -> Result<Vec<f64>> {
        match &self.encoder {
            Some(encoder) => {
                let x = encoder.encode(table)?;
                self.predict(crate::data::DenseView::by_columns(
                    x.as_slice(),
                    x.rows(),
                    x.columns(),
                )?)
            }
            None => Err(Error::Unavailable {
                what: "a prediction by column names".into(),
                hint: format!(
                    "the model was fitted without a table; give its {} features in order: {}",
                    self.features.len(),
                    quoted(&self.features.iter().map(String::as_str).collect::<Vec<_>>())
                ),
            }),
        }
    }
}
