//! Classes and their weights.

use crate::data::Label;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Weights of classes, on top of the rows' own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "\"balanced\" or a list of numbers is expected")]
pub enum ClassWeight {
    /// `"balanced"`: n / (classes · rows of the class).
    Rule(BalancedRule),
    /// A weight for each class, in the order of the sorted classes.
    Given(Vec<f64>),
}

/// The one rule there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BalancedRule {
    /// Every class weighs the same.
    Balanced,
}

/// The weights of rows, times those of their classes.
pub(crate) fn row_weights(
    class_weight: Option<&ClassWeight>,
    classes: &[Label],
    codes: &[usize],
    weights: Option<&[f64]>,
) -> Result<Option<Vec<f64>>> {
    let Some(class_weight) = class_weight else { return Ok(None) };
    let own = |i: usize| weights.map_or(1.0, |w| w[i]);
    let factors = match class_weight {
        ClassWeight::Given(given) => {
            if given.len() != classes.len() {
                return Err(Error::setting(
                    "class_weight",
                    format!("{given:?}"),
                    format!("a number for each of the {} classes is expected", classes.len()),
                ));
            }
            if let Some(bad) = given.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
                return Err(Error::setting("class_weight", bad, "numbers above 0 are expected"));
            }
            given.clone()
        }
        ClassWeight::Rule(BalancedRule::Balanced) => {
            let mut totals = vec![0.0; classes.len()];
            codes.iter().enumerate().for_each(|(i, &c)| totals[c] += own(i));
            let all: f64 = totals.iter().sum();
            totals.iter().map(|t| all / (classes.len() as f64 * t)).collect()
        }
    };
    Ok(Some(codes.iter().enumerate().map(|(i, &c)| own(i) * factors[c]).collect()))
}

/// Checks that there are at least two classes, each with a row that counts.
pub(crate) fn check_classes(
    classes: &[Label],
    codes: &[usize],
    weights: Option<&[f64]>,
) -> Result<()> {
    let mut counts = vec![0.0; classes.len()];
    codes.iter().enumerate().for_each(|(i, &c)| counts[c] += weights.map_or(1.0, |w| w[i]));
    let present = counts.iter().filter(|c| **c > 0.0).count();
    if present < 2 {
        let only = counts.iter().position(|c| *c > 0.0).unwrap_or(0);
        return Err(Error::Empty {
            what: "the set of other classes".into(),
            expected: format!(
                "every row of positive weight has the class '{}'; at least 2 classes are needed",
                classes[only]
            ),
        });
    }
    if let Some(missing) = counts.iter().position(|c| *c == 0.0) {
        return Err(Error::Empty {
            what: format!("class '{}'", classes[missing]),
            expected: "all its rows have weight 0; leave them out".into(),
        });
    }
    Ok(())
}
