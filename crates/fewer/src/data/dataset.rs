//! A validated set of examples: what every fit begins with.

use super::{Encoder, Features, Names, Target};
use crate::basis::KernelCache;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use std::borrow::Cow;
use std::sync::Arc;

/// Sums of weights above this, or below its inverse, leave no room for products of two of them.
const LARGEST_WEIGHT: f64 = 1e150;

/// Inputs, targets, sample weights and names, borrowed and checked.
///
/// Every value is finite, every weight is at least 0 and their sum is positive. A row with weight
/// 2 counts as two equal rows; one with weight 0 as none.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// let x = [0.0, 1.0, 2.0];
/// let y = [1.0, 3.0, 5.0];
/// let data = Dataset::new(DenseView::by_rows(&x, 3, 1)?, &y)?.with_names(["dose"])?;
/// assert_eq!((data.rows(), data.names()), (3, &["dose".to_string()][..]));
///
/// let x = [0.0, f64::NAN, 2.0];
/// let error = Dataset::new(DenseView::by_rows(&x, 3, 1)?, &y)?.check().unwrap_err();
/// assert!(error.to_string().starts_with("row 2, column 'x1': the value is missing (NaN)"));
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dataset<'a> {
    features: Features<'a>,
    target: Target<'a>,
    weights: Option<Cow<'a, [f64]>>,
    noise_precision: Option<Cow<'a, [f64]>>,
    offset: Option<Cow<'a, Matrix>>,
    names: Names,
    named: bool,
    target_name: String,
    encoder: Option<Encoder>,
    /// Values known to be good: those of data that were checked before.
    checked: bool,
    /// Distances that several fits share.
    kernel_cache: Option<Arc<KernelCache>>,
}

impl<'a> Dataset<'a> {
    /// Inputs and targets of as many rows; columns are named `x1`, `x2`, … until
    /// [`with_names`](Self::with_names).
    pub fn new(features: impl Into<Features<'a>>, target: impl Into<Target<'a>>) -> Result<Self> {
        let (features, target) = (features.into(), target.into());
        if target.len() != features.rows() {
            return Err(Error::shape(
                "rows of the target",
                format!("{}, as many as the inputs have", features.rows()),
                target.len(),
            ));
        }
        Ok(Self {
            names: Names::numbered(features.columns()),
            features,
            target,
            weights: None,
            noise_precision: None,
            offset: None,
            named: false,
            target_name: "y".into(),
            encoder: None,
            checked: false,
            kernel_cache: None,
        })
    }

    /// Gives each row a weight.
    pub fn with_weights(mut self, weights: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        let weights = weights.into();
        if weights.len() != self.rows() {
            return Err(Error::shape("sample weights", self.rows(), weights.len()));
        }
        (self.weights, self.checked) = (Some(weights), false);
        Ok(self)
    }

    /// Gives each row the precision of its noise relative to the others: the variance of the noise
    /// of row n is σ²/r_n, σ being what is estimated.
    ///
    /// This is not a weight: a row of precision 2 counts as one row that was measured better. Only
    /// the methods that maximise the evidence, [`RVR`](crate::method::RVR),
    /// [`BLS`](crate::method::BLS) and [`FastLaplace`](crate::method::FastLaplace), take it.
    ///
    /// ```
    /// use fewer::data::{Dataset, DenseView};
    /// use fewer::method::RVR;
    ///
    /// let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    /// let noise = |i: usize| if i < 30 { 0.5 } else { 0.05 };
    /// let scatter = |i: usize| noise(i) * ((i * i * i) as f64).sin();
    /// let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| x.sin() + scatter(i)).collect();
    /// let precision: Vec<f64> = (0..60).map(|i| noise(i).powi(-2)).collect();
    /// let data = Dataset::new(DenseView::by_rows(&x, 60, 1)?, &y)?;
    ///
    /// let blind = RVR::new().fit(&data)?;
    /// let model = RVR::new().fit(&data.with_noise_precision(precision)?)?;
    /// assert!(model.report().log_evidence > blind.report().log_evidence);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn with_noise_precision(mut self, precision: impl Into<Cow<'a, [f64]>>) -> Result<Self> {
        let precision = precision.into();
        if precision.len() != self.rows() {
            return Err(Error::shape("noise precisions", self.rows(), precision.len()));
        }
        if let Target::Labels { .. } = self.target {
            return Err(Error::Unavailable {
                what: "a precision of the noise for classes".into(),
                hint: "classes have no noise of their own; leave noise_precision out".into(),
            });
        }
        (self.noise_precision, self.checked) = (Some(precision), false);
        Ok(self)
    }

    /// The relative precision of the noise of each row, if any.
    pub fn noise_precision(&self) -> Option<&[f64]> {
        self.noise_precision.as_deref()
    }

    /// The same data without precisions, for who has taken them into account.
    pub(crate) fn with_equal_noise(&self) -> Self {
        Self { noise_precision: None, ..self.clone() }
    }

    /// Refuses precisions, for what has no use for them.
    pub(crate) fn without_noise_precision(&self, what: &str) -> Result<()> {
        match self.noise_precision {
            None => Ok(()),
            Some(_) => Err(Error::Unavailable {
                what: format!("{what} with noise_precision"),
                hint: "RVR, BLS and FastLaplace take it".into(),
            }),
        }
    }

    /// Gives each row what is known of the classes beforehand, which is added to the outputs of the
    /// model: a column for each class or, of two classes, one that speaks for the second.
    ///
    /// Only [`SMLR`](crate::method::SMLR) and [`RMLR`](crate::method::RMLR) take offsets. The model
    /// does not hold them: new rows have theirs, to be added to
    /// [`decision`](crate::model::Model::decision).
    ///
    /// ```
    /// use fewer::data::{Dataset, DenseView, Target};
    /// use fewer::linalg::Matrix;
    /// use fewer::method::SMLR;
    ///
    /// let x = [0.1, 0.4, 0.2, 0.9, 0.7, 0.8];
    /// let target = Target::labels(["a", "a", "b", "b", "a", "b"]);
    /// let data = Dataset::new(DenseView::by_rows(&x, 6, 1)?, target)?;
    /// let odds = Matrix::from_columns(6, 1, vec![-1.0, -1.0, 1.0, 1.0, -1.0, 1.0]);
    /// let with = SMLR::new().fit(&data.clone().with_offset(odds)?)?;
    /// assert!(with.report().objective < SMLR::new().fit(&data)?.report().objective);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn with_offset(mut self, offset: impl Into<Cow<'a, Matrix>>) -> Result<Self> {
        let offset = offset.into();
        let classes = match &self.target {
            Target::Labels { classes, .. } => classes.len(),
            Target::Numbers(_) => {
                return Err(Error::Unavailable {
                    what: "an offset for numbers".into(),
                    hint: "subtract it from the target instead".into(),
                });
            }
        };
        check_offset(&offset, self.rows(), classes)?;
        self.offset = Some(offset);
        Ok(self)
    }

    /// What is known of the classes beforehand.
    pub fn offset(&self) -> Option<&Matrix> {
        self.offset.as_deref()
    }

    /// Refuses offsets, for what has no use for them.
    pub(crate) fn without_offset(&self, what: &str) -> Result<()> {
        match self.offset {
            None => Ok(()),
            Some(_) => Err(Error::Unavailable {
                what: format!("{what} with offsets"),
                hint: "leave them out: fits, paths and cross-validation of SMLR and RMLR take them"
                    .into(),
            }),
        }
    }

    /// The same data with other weights, which are known to be good if the data are checked, and
    /// with only the `kept` classes: those that have a row of positive weight.
    pub(crate) fn reweighted(&self, weights: Vec<f64>, kept: Option<&[usize]>) -> Self {
        let target = match (&self.target, kept) {
            (Target::Labels { classes, codes }, Some(kept)) => Target::Labels {
                classes: kept.iter().map(|&c| classes[c].clone()).collect(),
                codes: codes.iter().map(|c| kept.binary_search(c).unwrap_or(0)).collect(),
            },
            (target, _) => target.clone(),
        };
        let offset = match (&self.offset, kept) {
            (Some(offset), Some(kept)) if offset.columns() > 1 => {
                let values = kept.iter().flat_map(|&c| offset.column(c)).copied().collect();
                Some(Cow::Owned(Matrix::from_columns(offset.rows(), kept.len(), values)))
            }
            (offset, _) => offset.clone(),
        };
        Self { target, offset, weights: Some(weights.into()), ..self.clone() }
    }

    /// Checks every value once for all sets that are made of these data.
    pub(crate) fn checked(&self) -> Result<Self> {
        self.check()?;
        Ok(Self { checked: true, ..self.clone() })
    }

    /// Names the columns.
    pub fn with_names<S: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Self> {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.len() != self.features.columns() {
            return Err(Error::shape("column names", self.features.columns(), names.len()));
        }
        (self.names, self.named) = (Names::given(names), true);
        Ok(self)
    }

    /// Names the target, for messages, formulas and reports.
    pub fn with_target_name(mut self, name: impl Into<String>) -> Self {
        self.target_name = name.into();
        self
    }

    /// Remembers how a table became these columns, so that a model can encode new tables alike.
    pub fn with_encoder(mut self, encoder: Encoder) -> Result<Self> {
        self = self.with_names(encoder.column_names())?;
        self.encoder = Some(encoder);
        Ok(self)
    }

    /// Shares the distances between rows with other fits.
    pub(crate) fn with_kernel_cache(mut self, cache: Option<Arc<KernelCache>>) -> Self {
        self.kernel_cache = cache;
        self
    }

    pub(crate) fn kernel_cache(&self) -> Option<&KernelCache> {
        self.kernel_cache.as_deref()
    }

    /// The inputs.
    pub fn features(&self) -> &Features<'a> {
        &self.features
    }

    /// The targets.
    pub fn target(&self) -> &Target<'a> {
        &self.target
    }

    /// The sample weights, if any.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Names of the columns.
    pub fn names(&self) -> &[String] {
        self.names.all()
    }

    /// The same, without making those that nobody reads.
    pub(crate) fn shared_names(&self) -> &Names {
        &self.names
    }

    /// Whether the columns were named by the user.
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// Name of the target.
    pub fn target_name(&self) -> &str {
        &self.target_name
    }

    /// How a table became these columns.
    pub fn encoder(&self) -> Option<&Encoder> {
        self.encoder.as_ref()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.features.rows()
    }

    /// Checks every value, and that there is something to fit; fitting does this first.
    pub fn check(&self) -> Result<()> {
        self.check_values()?;
        self.check_weights()
    }

    fn check_weights(&self) -> Result<()> {
        if self.weights().is_some_and(|w| w.iter().all(|&w| w == 0.0)) {
            return Err(Error::Empty {
                what: "the data".into(),
                expected: "all sample weights are 0; at least one row must count".into(),
            });
        }
        Ok(())
    }

    /// Checks all but the inputs.
    pub(crate) fn check_target(&self) -> Result<()> {
        self.check_target_values()?;
        self.check_weights()
    }

    pub(crate) fn check_values(&self) -> Result<()> {
        if self.checked {
            return Ok(());
        }
        self.check_target_values()?;
        check_features(&self.features, &|j| self.names.one(j))
    }

    fn check_target_values(&self) -> Result<()> {
        if self.rows() == 0 {
            return Err(Error::Empty {
                what: "the data".into(),
                expected: "at least 1 row is needed".into(),
            });
        }
        if self.features.columns() == 0 {
            return Err(Error::Empty {
                what: "the set of columns".into(),
                expected: "at least 1 column of inputs is needed".into(),
            });
        }
        if let Target::Numbers(y) = &self.target
            && let Some(i) = y.iter().position(|v| !v.is_finite())
        {
            return Err(non_finite(i, &self.target_name, y[i]));
        }
        if let Target::Labels { classes, codes } = &self.target
            && let Some(bad) = codes.iter().find(|&&c| c >= classes.len())
        {
            return Err(Error::shape("class codes", format!("below {}", classes.len()), bad));
        }
        if let Some(weights) = self.weights() {
            if let Some(i) = weights.iter().position(|w| !(w.is_finite() && *w >= 0.0)) {
                return Err(Error::Value {
                    row: i + 1,
                    column: "sample_weight".into(),
                    value: format!("the weight is {}", weights[i]),
                    expected: "a number of at least 0 is expected".into(),
                });
            }
            let total = weights.iter().sum::<f64>();
            if total > LARGEST_WEIGHT || total > 0.0 && total < 1.0 / LARGEST_WEIGHT {
                return Err(Error::setting(
                    "sample_weight",
                    format!("a sum of {total:e}"),
                    format!(
                        "a sum between {:e} and {LARGEST_WEIGHT:e} is expected: divide all \
                         weights, and λ where it is given, by the same number",
                        1.0 / LARGEST_WEIGHT
                    ),
                ));
            }
        }
        if let Some(precision) = self.noise_precision() {
            if let Some(i) = precision.iter().position(|r| !(r.is_finite() && *r > 0.0)) {
                return Err(Error::Value {
                    row: i + 1,
                    column: "noise_precision".into(),
                    value: format!("the precision is {}", precision[i]),
                    expected: "a number above 0 is expected".into(),
                });
            }
            if !precision.iter().sum::<f64>().is_finite() {
                return Err(Error::setting(
                    "noise_precision",
                    "a sum beyond floating point",
                    "smaller precisions are needed; only their ratios matter",
                ));
            }
        }
        Ok(())
    }
}

/// Checks that every input is a finite number.
pub(crate) fn check_features(
    features: &Features<'_>,
    name: &dyn Fn(usize) -> String,
) -> Result<()> {
    match features.find_non_finite() {
        Some((i, j, value)) => Err(non_finite(i, &name(j), value)),
        None => Ok(()),
    }
}

/// Checks that an offset has a finite number for each row and class, or of two classes for one.
pub(crate) fn check_offset(offset: &Matrix, rows: usize, classes: usize) -> Result<()> {
    let (found, columns) = (offset.rows(), offset.columns());
    if found != rows || columns != classes && (classes, columns) != (2, 1) {
        return Err(Error::shape(
            "the offset",
            format!("{rows} rows and {classes} columns"),
            format!("{found} rows and {columns} columns"),
        ));
    }
    match offset.as_slice().iter().position(|v| !v.is_finite()) {
        Some(at) => Err(non_finite(at % rows, "offset", offset.as_slice()[at])),
        None => Ok(()),
    }
}

/// How many of the rows have a weight above 0.
pub(crate) fn counted_rows(rows: usize, weights: Option<&[f64]>) -> usize {
    weights.map_or(rows, |w| w.iter().filter(|w| **w > 0.0).count())
}

fn non_finite(row: usize, column: &str, value: f64) -> Error {
    let value = if value.is_nan() {
        "the value is missing (NaN)".to_string()
    } else {
        format!("the value is infinite ({value})")
    };
    Error::Value {
        row: row + 1,
        column: column.into(),
        value,
        expected: "a finite number is expected; drop such rows or fill in their values first"
            .into(),
    }
}
