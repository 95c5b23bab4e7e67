//! The targets y: numbers for regression, labels for classification.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// A class label as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// `true` or `false`.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A word.
    Text(String),
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Label::Boolean(b) => b.fmt(f),
            Label::Integer(i) => i.fmt(f),
            Label::Text(s) => s.fmt(f),
        }
    }
}

impl From<bool> for Label {
    fn from(b: bool) -> Self {
        Label::Boolean(b)
    }
}

impl From<i64> for Label {
    fn from(i: i64) -> Self {
        Label::Integer(i)
    }
}

impl From<&str> for Label {
    fn from(s: &str) -> Self {
        Label::Text(s.into())
    }
}

/// What is to be predicted.
#[derive(Debug, Clone, PartialEq)]
pub enum Target<'a> {
    /// A number for each row.
    Numbers(Cow<'a, [f64]>),
    /// A class for each row.
    Labels {
        /// The distinct labels, sorted.
        classes: Vec<Label>,
        /// For each row the position of its label in `classes`.
        codes: Vec<usize>,
    },
}

impl<'a> Target<'a> {
    /// Labels of any kind; the classes are sorted.
    ///
    /// ```
    /// use fewer::data::{Label, Target};
    /// let Target::Labels { classes, codes } = Target::labels(["yes", "no", "yes"]) else {
    ///     unreachable!()
    /// };
    /// assert_eq!(classes, [Label::from("no"), Label::from("yes")]);
    /// assert_eq!(codes, [1, 0, 1]);
    /// ```
    pub fn labels<L: Into<Label>>(labels: impl IntoIterator<Item = L>) -> Self {
        let labels: Vec<Label> = labels.into_iter().map(Into::into).collect();
        let mut classes = labels.clone();
        classes.sort();
        classes.dedup();
        let codes = labels.iter().map(|l| classes.binary_search(l).unwrap_or(0)).collect();
        Target::Labels { classes, codes }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Target::Numbers(y) => y.len(),
            Target::Labels { codes, .. } => codes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<'a> From<&'a [f64]> for Target<'a> {
    fn from(y: &'a [f64]) -> Self {
        Target::Numbers(Cow::Borrowed(y))
    }
}

impl<'a> From<&'a Vec<f64>> for Target<'a> {
    fn from(y: &'a Vec<f64>) -> Self {
        Target::Numbers(Cow::Borrowed(y))
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Target<'a> {
    fn from(y: &'a [f64; N]) -> Self {
        Target::Numbers(Cow::Borrowed(y))
    }
}

impl From<Vec<f64>> for Target<'_> {
    fn from(y: Vec<f64>) -> Self {
        Target::Numbers(Cow::Owned(y))
    }
}
