//! A fitted model: few terms, their weights, and how they were found.

mod augmented;
mod draws;
mod explain;
mod file;
mod posterior;
mod report;
mod sampled;

pub(crate) use augmented::Augmentation;
pub use draws::Draw;
pub use explain::{Explanation, number, suspected_rows};
pub(crate) use posterior::take_out_mean;
pub use posterior::{Interval, Parameter, Posterior};
pub use report::{Certificate, CertificateKind, DroppedColumn, Report, SuspectedRow};
pub use sampled::{Diagnostic, Draws};

use crate::basis::{BlockFunction, FixedBasis, Kernel, KernelFunction, Learnt, UserFunction};
use crate::data::{DenseView, Encoder, Features, Label, Names, Table, check_features, quoted};
use crate::design::{Columns, Design};
use crate::engine::Silent;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Tile};
use crate::special::{log_normal_cdf, normal_cdf};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A term of a model: a function of x with its weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// Its name in terms of the features, such as `age·dose`.
    pub name: String,
    /// Its position among all functions of the basis.
    pub index: usize,
    /// Its weight in each output, in the units of the data; regression and two classes have one.
    pub weights: Vec<f64>,
    /// Its mean in the training data, or 0 where columns were not centred.
    pub centre: f64,
    /// Its standard deviation (about `centre`) in the training data.
    pub deviation: f64,
}

impl Term {
    /// Its weight in the first output: the only one in regression and for two classes.
    pub fn weight(&self) -> f64 {
        self.weights[0]
    }

    /// The largest change of an output when the term moves by one standard deviation.
    pub fn effect(&self) -> f64 {
        self.weights.iter().fold(0.0, |a: f64, w| if w.abs() > a.abs() { *w } else { a })
            * self.deviation
    }
}

/// How an output becomes a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Link {
    /// It is the prediction.
    Identity,
    /// Φ of it is the probability of a class.
    Probit,
    /// The logistic function of it is the probability of the second of two classes; of more, the
    /// softmax of all is that of each.
    Logit,
    /// The logistic function of each is that of a class against the rest; of all, scaled to sum to
    /// 1, those of more than two classes.
    LogitOfEach,
}

impl Link {
    /// The distribution function, where an output speaks for itself.
    fn cdf(self, eta: f64) -> f64 {
        if self == Link::Probit { normal_cdf(eta) } else { logistic(eta) }
    }

    /// What the probabilities of several outputs are the softmax of.
    fn log(self, eta: f64) -> f64 {
        match self {
            Link::Identity | Link::Logit => eta,
            Link::Probit => log_normal_cdf(eta),
            Link::LogitOfEach => log_logistic(eta),
        }
    }
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
    pub(crate) features: Names,
    pub(crate) named: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) encoder: Option<Encoder>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) classes: Option<Vec<Label>>,
    pub(crate) link: Link,
    pub(crate) basis: FixedBasis,
    pub(crate) basis_size: usize,
    pub(crate) terms: Vec<Term>,
    /// Each output where every term is at its centre.
    pub(crate) base: Vec<f64>,
    pub(crate) noise_std: Option<f64>,
    /// Degrees of freedom of the noise, where its tails are heavy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) noise_nu: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) posterior: Option<Posterior>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) draws: Option<Draws>,
    /// Training rows, for a variance that grows away from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) augmentation: Option<Augmentation>,
    /// Whether probabilities are averaged over the posterior.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) moderates: bool,
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
        self.features.all()
    }

    /// Whether the user named the features; else they are `x1`, `x2`, …
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// The name of the user's function that must be supplied before the model can predict.
    pub fn needs_function(&self) -> Option<&str> {
        self.basis.needs_function()
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

    /// Number of outputs: one for regression and two classes, else one for each class.
    pub fn outputs(&self) -> usize {
        self.base.len()
    }

    /// The classes, where the model tells classes apart.
    pub fn classes(&self) -> Option<&[Label]> {
        self.classes.as_deref()
    }

    /// The first output where every feature is zero (for a linear basis).
    pub fn intercept(&self) -> f64 {
        self.intercept_of(0)
    }

    /// An output where every feature is zero (for a linear basis).
    pub fn intercept_of(&self, output: usize) -> f64 {
        self.base[output] - self.terms.iter().map(|t| t.weights[output] * t.centre).sum::<f64>()
    }

    /// Weights of all functions of the basis in the first output, zeros included.
    pub fn coefficients(&self) -> Vec<f64> {
        self.coefficients_of(0)
    }

    /// Weights of all functions of the basis in an output, zeros included.
    pub fn coefficients_of(&self, output: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.basis_size];
        self.terms.iter().for_each(|t| out[t.index] = t.weights[output]);
        out
    }

    /// The kernel with the centres kept, for a model of kernels.
    pub fn kernel(&self) -> Option<&Kernel> {
        match &self.basis {
            FixedBasis::Kernel(kernel) => Some(kernel),
            _ => None,
        }
    }

    /// The kernels kept, where each has a centre and a width of its own.
    pub fn learnt(&self) -> Option<&Learnt> {
        match &self.basis {
            FixedBasis::Learnt(learnt) => Some(learnt),
            _ => None,
        }
    }

    /// Standard deviation of the noise, where the model has one; of Student's t its scale.
    pub fn noise_std(&self) -> Option<f64> {
        self.noise_std
    }

    /// Degrees of freedom of the noise, where it is of Student's t.
    pub fn noise_nu(&self) -> Option<f64> {
        self.noise_nu
    }

    /// How the fit went and ended.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Supplies the user's own functions of x after loading a model that uses one.
    pub fn supply_function(&mut self, function: impl BlockFunction + 'static) -> Result<()> {
        self.supply(UserFunction::Functions(Arc::new(function)))
    }

    /// Supplies the user's own kernel after loading a model that uses one.
    pub fn supply_kernel(&mut self, kernel: impl KernelFunction + 'static) -> Result<()> {
        self.supply(UserFunction::Kernel(Arc::new(kernel)))
    }

    /// Supplies whichever of the two it is.
    pub fn supply(&mut self, function: UserFunction) -> Result<()> {
        self.basis.supply(function)
    }

    /// Whether rows have the features of the model, with values that are finite.
    fn check_features(&self, features: &Features<'_>) -> Result<()> {
        if features.columns() != self.features.len() {
            return Err(Error::Columns {
                details: format!(
                    "expected {} columns, found {}",
                    self.features.len(),
                    features.columns()
                ),
            });
        }
        check_features(features, &|j| self.features.one(j))
    }

    /// The columns of the kept terms for new rows.
    fn columns<'a>(&'a self, features: Features<'a>) -> Result<Box<dyn Columns + 'a>> {
        self.check_features(&features)?;
        // Nothing is held: the rows to predict may be many.
        self.basis.columns(features, 0, &Silent)
    }

    /// (n, terms) The kept terms for each row, before their weights.
    pub fn term_values<'a>(&self, features: impl Into<Features<'a>>) -> Result<Matrix> {
        let columns = self.columns(features.into())?;
        let all: Vec<usize> = (0..self.terms.len()).collect();
        let mut tile = Tile::default();
        columns.fill(0..columns.rows(), &all, &mut tile);
        let mut out = Matrix::zeros(columns.rows(), all.len());
        for j in all {
            out.column_mut(j).iter_mut().enumerate().for_each(|(i, v)| *v = tile.get(i, j));
        }
        Ok(out)
    }

    /// Σ w (φ − centre) at each row, a column for each set of weights.
    fn sums(&self, features: Features<'_>, weights: &[Vec<f64>]) -> Result<Matrix> {
        if let FixedBasis::Wavelets(wavelets) = &self.basis {
            self.check_features(&features)?;
            let x = features.to_matrix();
            let mut out = Matrix::zeros(x.rows(), weights.len());
            for (k, own) in weights.iter().enumerate() {
                let shift: f64 = self.terms.iter().zip(own).map(|(t, w)| w * t.centre).sum();
                let sums = wavelets.sums(x.as_slice(), own).into_iter();
                out.column_mut(k).iter_mut().zip(sums).for_each(|(o, s)| *o = s - shift);
            }
            return Ok(out);
        }
        let columns = self.columns(features)?;
        let chosen: Vec<usize> = (0..self.terms.len()).collect();
        let centre = self.terms.iter().map(|t| t.centre).collect();
        let design = Design::new(&*columns, None, centre, vec![1.0; chosen.len()]);
        Ok(design.apply_each(&chosen, weights))
    }

    /// The outputs η for each row; only the kept terms are computed.
    pub fn decision<'a>(&self, features: impl Into<Features<'a>>) -> Result<Matrix> {
        let weights: Vec<Vec<f64>> = (0..self.outputs())
            .map(|k| self.terms.iter().map(|t| t.weights[k]).collect())
            .collect();
        let mut out = self.sums(features.into(), &weights)?;
        for (k, base) in self.base.iter().enumerate() {
            let column = out.column_mut(k);
            column.iter_mut().for_each(|y| *y += base);
            if let Some(i) = column.iter().position(|y| !y.is_finite()) {
                return Err(Error::Value {
                    row: i + 1,
                    column: self.target.clone(),
                    value: format!("the prediction is {}", column[i]),
                    expected: "the inputs are too far outside the range of the training data"
                        .into(),
                });
            }
        }
        Ok(out)
    }

    /// The mean prediction for each row.
    pub fn predict<'a>(&self, features: impl Into<Features<'a>>) -> Result<Vec<f64>> {
        if self.classes.is_some() {
            return Err(Error::Unavailable {
                what: "a number as prediction".into(),
                hint: "the model tells classes apart: ask for labels or probabilities".into(),
            });
        }
        Ok(self.decision(features)?.column(0).to_vec())
    }

    /// Probabilities of the classes: a row for each row, a column for each class.
    ///
    /// They are those of the fitted weights; those of `RVC` are averaged over the posterior of the
    /// weights, as in [`moderated_probabilities`](Self::moderated_probabilities).
    pub fn predict_probabilities<'a>(&self, features: impl Into<Features<'a>>) -> Result<Matrix> {
        if self.moderates {
            return self.moderated_probabilities(features);
        }
        self.plug_in_probabilities(features)
    }

    /// Probabilities of the classes for the fitted weights, as if there were no doubt about them.
    pub fn plug_in_probabilities<'a>(&self, features: impl Into<Features<'a>>) -> Result<Matrix> {
        let classes = self.classes_needed()?;
        let eta = self.decision(features)?;
        let mut out = Matrix::zeros(eta.rows(), classes.len());
        for i in 0..eta.rows() {
            if eta.columns() == 1 {
                out[(i, 0)] = self.link.cdf(-eta[(i, 0)]);
                out[(i, 1)] = self.link.cdf(eta[(i, 0)]);
                continue;
            }
            let parts = softmax((0..eta.columns()).map(|k| self.link.log(eta[(i, k)])).collect());
            parts.into_iter().enumerate().for_each(|(k, p)| out[(i, k)] = p);
        }
        Ok(out)
    }

    /// The most probable class of each row, as a position in [`classes`](Self::classes).
    pub fn predict_codes<'a>(&self, features: impl Into<Features<'a>>) -> Result<Vec<usize>> {
        self.classes_needed()?;
        // Averaging does not change which of two classes is the more probable.
        let eta = match self.moderates && self.outputs() > 1 {
            true => self.moderated_probabilities(features)?,
            false => self.decision(features)?,
        };
        Ok((0..eta.rows())
            .map(|i| match eta.columns() {
                1 => usize::from(eta[(i, 0)] > 0.0),
                n => (1..n).fold(0, |best, k| if eta[(i, k)] > eta[(i, best)] { k } else { best }),
            })
            .collect())
    }

    /// The most probable class of each row.
    pub fn predict_labels<'a>(&self, features: impl Into<Features<'a>>) -> Result<Vec<Label>> {
        let codes = self.predict_codes(features)?;
        let classes = self.classes_needed()?;
        Ok(codes.into_iter().map(|c| classes[c].clone()).collect())
    }

    fn classes_needed(&self) -> Result<&[Label]> {
        self.classes.as_deref().ok_or_else(|| Error::Unavailable {
            what: "a class as prediction".into(),
            hint: "the model predicts numbers".into(),
        })
    }

    /// The features of a table, found by name: what the predicting functions take.
    pub fn encode(&self, table: &Table) -> Result<Matrix> {
        match &self.encoder {
            Some(encoder) => encoder.encode(table),
            None => Err(Error::Unavailable {
                what: "a prediction by column names".into(),
                hint: format!(
                    "the model was fitted without a table; give its {} features in order: {}",
                    self.features.len(),
                    quoted(&self.features.all().iter().map(String::as_str).collect::<Vec<_>>())
                ),
            }),
        }
    }

    /// The mean prediction for each row of a table; columns are found by name.
    pub fn predict_table(&self, table: &Table) -> Result<Vec<f64>> {
        let x = self.encode(table)?;
        self.predict(DenseView::by_columns(x.as_slice(), x.rows(), x.columns())?)
    }
}

fn logistic(eta: f64) -> f64 {
    if eta >= 0.0 { 1.0 / (1.0 + (-eta).exp()) } else { eta.exp() / (1.0 + eta.exp()) }
}

fn log_logistic(eta: f64) -> f64 {
    if eta >= 0.0 { -(-eta).exp().ln_1p() } else { eta - eta.exp().ln_1p() }
}

/// exp of each, as parts of their sum.
fn softmax(mut logs: Vec<f64>) -> Vec<f64> {
    // Relative to the largest, so that rows far from every class still sum to 1.
    let largest = logs.iter().fold(f64::NEG_INFINITY, |a, &l| a.max(l));
    logs.iter_mut().for_each(|l| *l = (*l - largest).exp());
    let total: f64 = logs.iter().sum();
    logs.iter_mut().for_each(|l| *l /= total);
    logs
}
