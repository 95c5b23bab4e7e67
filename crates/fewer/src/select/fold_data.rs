//! The two parts of the data in a fold.

use super::{Predicted, Split};
use crate::data::{Dataset, FeatureRows, Target};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::model::Model;
use serde_json::{Map, Value};

/// What a model is trained on in a fold: the same data, in which all other rows weigh nothing.
pub(crate) struct TrainingPart<'a> {
    pub data: Dataset<'a>,
    /// Its part of the weight of all rows. λ stands against a sum over rows, so it must shrink
    /// with them to mean the same.
    pub share: f64,
    /// Positions of its classes among all, where some have no row in it.
    kept: Option<Vec<usize>>,
}

impl<'a> TrainingPart<'a> {
    pub fn new(data: &Dataset<'a>, split: &Split, fold: usize) -> Result<Self> {
        let mut weights = vec![0.0; data.rows()];
        for i in split.train(fold) {
            weights[i] += data.weights().map_or(1.0, |w| w[i]);
        }
        let all = data.weights().map_or(data.rows() as f64, |w| w.iter().sum());
        let share = weights.iter().sum::<f64>() / all;
        let kept = match data.target() {
            Target::Labels { classes, codes } => {
                let mut seen = vec![false; classes.len()];
                (0..codes.len()).filter(|&i| weights[i] > 0.0).for_each(|i| seen[codes[i]] = true);
                let kept: Vec<usize> = (0..seen.len()).filter(|&c| seen[c]).collect();
                if kept.len() < 2 {
                    return Err(Error::setting(
                        "cv",
                        split.len(),
                        format!(
                            "the training rows of fold {} are all of class '{}': stratified, \
                             shuffled or other folds are needed",
                            fold + 1,
                            classes[kept.first().copied().unwrap_or(0)]
                        ),
                    ));
                }
                (kept.len() < classes.len()).then_some(kept)
            }
            Target::Numbers(_) => None,
        };
        let data = data.reweighted(weights, kept.as_deref());
        Ok(Self { data, share, kept })
    }

    /// The settings for the classes that are there.
    pub fn settings(&self, settings: &Map<String, Value>) -> Map<String, Value> {
        let mut settings = settings.clone();
        if let Some(kept) = &self.kept
            && let Some(Value::Array(given)) = settings.get_mut("class_weight")
            && kept.iter().all(|&c| c < given.len())
        {
            *given = kept.iter().map(|&c| given[c].clone()).collect();
        }
        settings
    }
}

/// A copy of the rows that a model is tested on in a fold.
pub(crate) struct TestPart {
    pub features: FeatureRows,
    pub target: Target<'static>,
    pub weights: Option<Vec<f64>>,
    pub offset: Option<Matrix>,
}

impl TestPart {
    pub fn new(data: &Dataset<'_>, rows: &[usize]) -> Result<Self> {
        Ok(Self {
            features: data.features().select_rows(rows)?,
            target: select_target(data.target(), rows),
            weights: data.weights().map(|w| rows.iter().map(|&i| w[i]).collect()),
            offset: data.offset().map(|offset| {
                let of = |c: usize| rows.iter().map(move |&i| offset[(i, c)]);
                let values = (0..offset.columns()).flat_map(of).collect();
                Matrix::from_columns(rows.len(), offset.columns(), values)
            }),
        })
    }

    /// What a model says about these rows.
    pub fn predicted_by(&self, model: &Model) -> Result<Predicted> {
        let offset = self.offset.as_ref();
        Predicted::with_offset(model, self.features.view(), &self.target, offset)
    }
}

/// The targets of some rows; all classes stay.
pub(crate) fn select_target(target: &Target<'_>, rows: &[usize]) -> Target<'static> {
    match target {
        Target::Numbers(y) => Target::from(rows.iter().map(|&i| y[i]).collect::<Vec<f64>>()),
        Target::Labels { classes, codes } => Target::Labels {
            classes: classes.clone(),
            codes: rows.iter().map(|&i| codes[i]).collect(),
        },
    }
}
