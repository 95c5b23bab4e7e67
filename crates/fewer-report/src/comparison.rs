//! What was measured beside what a model says.

use crate::{Accuracy, ClassAccuracy};
use fewer::data::{Features, Label, Target};
use fewer::linalg::Matrix;
use fewer::model::Model;

/// What was measured beside what a model says, row by row.
///
/// ```
/// use fewer::data::{Dataset, DenseView, Target};
/// use fewer::method::ProbitClassifier;
/// use fewer_report::{Comparison, Score};
///
/// let x: Vec<f64> = (0..400).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let target = Target::labels(x.chunks(4).map(|x| if x[1] > 0.1 { "yes" } else { "no" }));
/// let view = DenseView::by_rows(&x, 100, 4)?;
/// let model = ProbitClassifier::new().fit(&Dataset::new(view, target.clone())?)?;
///
/// let Score::Classes(score) = Comparison::of(&model, view, &target)?.score(None) else {
///     unreachable!()
/// };
/// assert_eq!((score.accuracy, score.errors), (1.0, 0));
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub enum Comparison {
    /// Of a regression.
    Numbers {
        /// What was measured.
        actual: Vec<f64>,
        /// What the model says.
        predicted: Vec<f64>,
    },
    /// Of a classification; classes are positions in `labels`.
    Classes {
        /// The classes of the model, and after them those that only the data have.
        labels: Vec<Label>,
        /// How many of them the model knows.
        known: usize,
        /// What was measured.
        actual: Vec<usize>,
        /// What the model says.
        predicted: Vec<usize>,
        /// Probabilities of the known classes, row by row.
        probabilities: Matrix,
    },
}

/// How near a model comes.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Score {
    /// In a regression.
    Numbers(Accuracy),
    /// In a classification.
    Classes(ClassAccuracy),
}

impl Comparison {
    /// Lets the model predict the targets from the inputs.
    pub fn of<'a>(
        model: &Model,
        features: impl Into<Features<'a>>,
        target: &Target<'_>,
    ) -> fewer::Result<Self> {
        Self::with_offset(model, features, target, None)
    }

    /// [`of`](Self::of) for rows with [offsets](fewer::data::Dataset::with_offset).
    pub fn with_offset<'a>(
        model: &Model,
        features: impl Into<Features<'a>>,
        target: &Target<'_>,
        offset: Option<&Matrix>,
    ) -> fewer::Result<Self> {
        let features = features.into();
        if features.rows() != target.len() {
            return Err(fewer::Error::shape("rows of the target", features.rows(), target.len()));
        }
        let (classes, codes) = match target {
            Target::Numbers(actual) => {
                let predicted = model.predict(features)?;
                return Ok(Self::Numbers { actual: actual.to_vec(), predicted });
            }
            Target::Labels { classes, codes } => (classes, codes),
        };
        let (probabilities, predicted) = match offset {
            None => (model.predict_probabilities(features)?, model.predict_codes(features)?),
            Some(offset) => model.classes_with_offset(features, offset)?,
        };
        let mut labels = model.classes().unwrap_or_default().to_vec();
        let known = labels.len();
        let places: Vec<usize> = classes
            .iter()
            .map(|class| match labels[..known].iter().position(|label| label == class) {
                Some(place) => place,
                None => {
                    labels.push(class.clone());
                    labels.len() - 1
                }
            })
            .collect();
        let actual = codes.iter().map(|&code| places[code]).collect();
        Ok(Self::Classes { labels, known, actual, predicted, probabilities })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Numbers { actual, .. } => actual.len(),
            Self::Classes { actual, .. } => actual.len(),
        }
    }

    /// How near the model comes; a row of weight 2 counts as two rows.
    pub fn score(&self, weights: Option<&[f64]>) -> Score {
        match self {
            Self::Numbers { actual, predicted } => {
                Score::Numbers(Accuracy::of(actual, predicted, weights))
            }
            Self::Classes { actual, predicted, probabilities, .. } => {
                Score::Classes(ClassAccuracy::of(actual, predicted, probabilities, weights))
            }
        }
    }

    /// Labels that the model does not know, and the number of rows that have one.
    pub fn unknown(&self) -> (&[Label], usize) {
        match self {
            Self::Numbers { .. } => (&[], 0),
            Self::Classes { labels, known, actual, .. } => {
                (&labels[*known..], actual.iter().filter(|&code| code >= known).count())
            }
        }
    }

    /// For each label (row) how often the model said each known class (column).
    pub(crate) fn confusion(&self) -> Vec<Vec<usize>> {
        let Self::Classes { labels, known, actual, predicted, .. } = self else {
            return Vec::new();
        };
        let mut counts = vec![vec![0; *known]; labels.len()];
        actual.iter().zip(predicted).for_each(|(&a, &p)| counts[a][p] += 1);
        counts
    }
}
