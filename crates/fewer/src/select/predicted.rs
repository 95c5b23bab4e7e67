//! What a model says about rows, in a form that scores can read.

use crate::data::{Features, Label, Target};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
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
                let own = model.predict_probabilities(features)?;
                let mut probabilities = Matrix::zeros(own.rows(), classes.len());
                for (k, &place) in places.iter().enumerate() {
                    probabilities.column_mut(place).copy_from_slice(own.column(k));
                }
                let codes = model.predict_codes(features)?.into_iter().map(|c| places[c]).collect();
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

fn places_of(known: &[Label], classes: &[Label]) -> Result<Vec<usize>> {
    let place = |label: &Label| {
        classes.iter().position(|c| c == label).ok_or_else(|| Error::Unavailable {
            what: "a score".into(),
            hint: format!("the model's class '{label}' is not among those of the target"),
        })
    };
    known.iter().map(place).collect()
}
