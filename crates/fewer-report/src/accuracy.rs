//! How near predictions come.

use fewer::linalg::Matrix;

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

/// How often predicted classes are those that were measured.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct ClassAccuracy {
    /// Part of the rows told rightly.
    pub accuracy: f64,
    /// Rows told wrongly; rows of weight 0 are not counted.
    pub errors: usize,
    /// Part told wrongly, averaged over the classes that were measured.
    pub balanced_error: f64,
    /// Mean of −log of the probability of the class that was measured, over the rows whose class
    /// has one; probabilities count as no less than 2.2e-16.
    pub log_loss: Option<f64>,
}

impl ClassAccuracy {
    /// Compares pairs of classes; those from the number of columns of `probabilities` on are
    /// unknown to the model. A row of weight 2 counts as two rows.
    pub fn of(
        actual: &[usize],
        predicted: &[usize],
        probabilities: &Matrix,
        weights: Option<&[f64]>,
    ) -> Self {
        let labels = actual.iter().max().map_or(0, |&last| last + 1);
        let (mut right, mut all) = (vec![0.0; labels], vec![0.0; labels]);
        let (mut loss, mut with_loss) = (0.0, 0.0);
        let mut errors = 0;
        for (i, (&a, &p)) in actual.iter().zip(predicted).enumerate() {
            let weight = weights.map_or(1.0, |w| w[i]);
            all[a] += weight;
            if a == p {
                right[a] += weight;
            } else if weight > 0.0 {
                errors += 1;
            }
            if a < probabilities.columns() {
                loss -= weight * probabilities[(i, a)].max(f64::EPSILON).ln();
                with_loss += weight;
            }
        }
        let present: Vec<usize> = (0..labels).filter(|&k| all[k] > 0.0).collect();
        let wrong: f64 = present.iter().map(|&k| 1.0 - right[k] / all[k]).sum();
        Self {
            accuracy: right.iter().sum::<f64>() / all.iter().sum::<f64>(),
            errors,
            balanced_error: wrong / present.len() as f64,
            log_loss: (with_loss > 0.0).then(|| loss / with_loss),
        }
    }
}
