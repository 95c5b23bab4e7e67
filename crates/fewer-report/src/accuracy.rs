//! How near predictions come.

/// How near predictions come to what was measured.
///
/// ```
/// use fewer_report::Accuracy;
/// let accuracy = Accuracy::of(&[1.0, 2.0, 3.0], &[1.0, 2.0, 4.0], None);
/// assert_eq!(accuracy.r2, Some(0.5));
/// assert_eq!(accuracy.mae, 1.0 / 3.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Accuracy {
    /// Part of the variance explained; none where the target is constant.
    pub r2: Option<f64>,
    /// Root of the mean square error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
}

impl Accuracy {
    /// Compares pairs; a row of weight 2 counts as two rows.
    pub fn of(actual: &[f64], predicted: &[f64], weights: Option<&[f64]>) -> Self {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let sum = |f: &dyn Fn(usize) -> f64| -> f64 {
            (0..actual.len().min(predicted.len())).map(|i| weight(i) * f(i)).sum()
        };
        let total = sum(&|_| 1.0);
        let mean = sum(&|i| actual[i]) / total;
        let error = |i: usize| actual[i] - predicted[i];
        let squares = sum(&|i| error(i).powi(2));
        let spread = sum(&|i| (actual[i] - mean).powi(2));
        let constant = actual.iter().all(|y| *y == actual[0]);
        Self {
            r2: (!constant).then(|| 1.0 - squares / spread).filter(|r2| r2.is_finite()),
            rmse: (squares / total).sqrt(),
            mae: sum(&|i| error(i).abs()) / total,
        }
    }
}
