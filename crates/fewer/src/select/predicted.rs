//! What a model says about rows, in a form that scores can read.

use crate::data::{Features, Label, Target, check_offset};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy};
use crate::model::Model;

/// Predictions for some rows.
#[derive(Debug, Clone)]
pub enum Predicted {
    /// Of a regression.
    Numbers {
        /// The mean.
        mean: Vec<f64>,
        /// Standard deviation of a new observation about it, where the model knows it.
        std: Option<Vec<f64>>,
    },
    /// Of a classification.
    Classes {
        /// A row for each row, a column for each class of the target.
        probabilities: Matrix,
        /// The class predicted, as a position among the classes of the target.
        codes: Vec<usize>,
    },
}

impl Predicted {
    /// What a model predicts for rows, in terms of the classes of `target`; a class that the model
    /// does not know has probability 0.
    pub fn by(model: &Model, features: Features<'_>, target: &Target<'_>) -> Result<Self> {
        Self::with_offset(model, features, target, None)
    }

    /// [`by`](Self::by) for rows with [offsets](crate::data::Dataset::with_offset).
    pub fn with_offset(
        model: &Model,
        features: Features<'_>,
        target: &Target<'_>,
        offset: Option<&Matrix>,
    ) -> Result<Self> {
        match (model.classes(), target) {
            (None, Target::Numbers(_)) => {
                let mean = model.predict(features)?;
                let std = match model.posterior() {
                    Some(_) => Some(model.predict_std(features)?),
                    None => model.noise_std().map(|s| vec![s; mean.len()]),
                };
                Ok(Predicted::Numbers { mean, std })
            }
            (Some(known), Target::Labels { classes, .. }) => {
                let places = places_of(known, classes)?;
                if let Some(offset) = offset {
                    check_offset(offset, features.rows(), classes.len())?;
                }
                let (own, codes) = match offset {
                    None => {
                        (model.predict_probabilities(features)?, model.predict_codes(features)?)
                    }
                    Some(offset) => softmax(shifted(&model.decision(features)?, offset, &places)),
                };
                let mut probabilities = Matrix::zeros(own.rows(), classes.len());
                for (k, &place) in places.iter().enumerate() {
                    probabilities.column_mut(place).copy_from_slice(own.column(k));
                }
                let codes = codes.into_iter().map(|c| places[c]).collect();
                Ok(Predicted::Classes { probabilities, codes })
            }
            (known, _) => Err(Error::Unavailable {
                what: "a score".into(),
                hint: if known.is_some() {
                    "the model tells classes apart, but the target holds numbers".into()
                } else {
                    "the model predicts numbers, but the target holds classes".into()
                },
            }),
        }
    }
}

impl Model {
    /// Probabilities of the classes of rows with [offsets](crate::data::Dataset::with_offset), and
    /// the most probable class of each.
    pub fn classes_with_offset<'a>(
        &self,
        features: impl Into<Features<'a>>,
        offset: &Matrix,
    ) -> Result<(Matrix, Vec<usize>)> {
        let features = features.into();
        let Some(classes) = self.classes() else {
            return Err(Error::Unavailable {
                what: "an offset of predictions".into(),
                hint: "the model predicts numbers: add it to them".into(),
            });
        };
        check_offset(offset, features.rows(), classes.len())?;
        let places: Vec<usize> = (0..classes.len()).collect();
        Ok(softmax(shifted(&self.decision(features)?, offset, &places)))
    }
}

/// (n, classes) The outputs of a model with what is added to them; of two classes, one output and
/// one offset speak for the second. `places` are those of the model's classes among the offset's.
fn shifted(outputs: &Matrix, offset: &Matrix, places: &[usize]) -> Matrix {
    let mut out = Matrix::zeros(outputs.rows(), places.len());
    for (c, &place) in places.iter().enumerate() {
        let own = if outputs.columns() == 1 { c.checked_sub(1) } else { Some(c) };
        let given = if offset.columns() == 1 { place.checked_sub(1) } else { Some(place) };
        if let Some(own) = own {
            axpy(1.0, outputs.column(own), out.column_mut(c));
        }
        if let Some(given) = given {
            axpy(1.0, offset.column(given), out.column_mut(c));
        }
    }
    out
}

/// Probabilities of classes from their outputs, and the most probable class of each row.
fn softmax(mut outputs: Matrix) -> (Matrix, Vec<usize>) {
    let classes = outputs.columns();
    let rows = outputs.rows();
    let mut of_row = |i: usize| {
        let higher =
            |best: usize, c: usize| if outputs[(i, c)] > outputs[(i, best)] { c } else { best };
        let best = (0..classes).fold(0, higher);
        let highest = outputs[(i, best)];
        (0..classes).for_each(|c| outputs[(i, c)] = (outputs[(i, c)] - highest).exp());
        let total: f64 = (0..classes).map(|c| outputs[(i, c)]).sum();
        (0..classes).for_each(|c| outputs[(i, c)] /= total);
        best
    };
    let codes = (0..rows).map(&mut of_row).collect();
    (outputs, codes)
}

fn places_of(known: &[Label], classes: &[Label]) -> Result<Vec<usize>> {
    let place = |label: &Label| {
        classes.iter().position(|c| c == label).ok_or_else(|| Error::Unavailable {
            what: "a score".into(),
            hint: format!("the model's class '{label}' is not among those of the target"),
        })
    };
    known.iter().map(place).collect()
}
