//! How good predictions are.

use super::Predicted;
use crate::data::Target;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::method::Task;
use crate::random::uniform;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Half the width of the central 95 % interval of a normal distribution, in deviations.
const HALF_WIDTH_95: f64 = 1.959_963_984_540_054;
/// The jackknife leaves out groups of rows, at most so many.
const MOST_GROUPS: usize = 200;

/// How good predictions are, as one number; sums over rows are weighted.
///
/// | name | for | value |
/// |---|---|---|
/// | `mse`, `rmse`, `mae` | numbers | mean of squared errors, its root, mean of absolute errors |
/// | `r2` | numbers | 1 − squared errors / squared deviations from the mean |
/// | `error` | classes | share of rows of which the class is wrong |
/// | `balanced_error` | classes | mean of that share over the classes |
/// | `auc` | classes | area under the ROC curve; mean over one against the rest for more than two |
/// | `deviance` | both | mean of −2 log p(y) |
/// | `nlpd` | both | mean of −log p(y) |
/// | `coverage` | numbers | share of rows within the central 95 % interval |
///
/// p(y) of a number is Gaussian with the model's noise; of a class it is at least 2.2e-16, so that
/// a class which was not in the training rows costs much, but not everything. `r2`, `mse`, `auc`
/// and `error` are those of scikit-learn.
///
/// ```
/// use fewer::data::Target;
/// use fewer::select::{Predicted, Score};
/// let truth = Target::from(&[1.0, 2.0, 4.0]);
/// let predicted = Predicted::Numbers { mean: vec![1.0, 3.0, 4.0], std: None };
/// let mse = "mse".parse::<Score>()?.of(&truth, &predicted, None)?;
/// assert!((mse - 1.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// Root of the mean squared error.
    Rmse,
    /// Mean squared error.
    Mse,
    /// Share of the variance explained.
    R2,
    /// Mean absolute error.
    Mae,
    /// Error rate.
    Error,
    /// Mean error rate of the classes.
    BalancedError,
    /// Area under the ROC curve.
    Auc,
    /// Mean of −2 log p.
    Deviance,
    /// Mean of −log p.
    Nlpd,
    /// Share of rows within the central 95 % interval.
    Coverage,
}

/// Which values of a score are good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Direction {
    /// The smaller the better.
    Smaller,
    /// The larger the better.
    Larger,
    /// The closer to this the better.
    Near(f64),
}

impl Score {
    /// All scores.
    pub const ALL: [Score; 10] = [
        Score::Rmse,
        Score::Mse,
        Score::R2,
        Score::Mae,
        Score::Error,
        Score::BalancedError,
        Score::Auc,
        Score::Deviance,
        Score::Nlpd,
        Score::Coverage,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Score::Rmse => "rmse",
            Score::Mse => "mse",
            Score::R2 => "r2",
            Score::Mae => "mae",
            Score::Error => "error",
            Score::BalancedError => "balanced_error",
            Score::Auc => "auc",
            Score::Deviance => "deviance",
            Score::Nlpd => "nlpd",
            Score::Coverage => "coverage",
        }
    }

    /// What selection uses unless another is asked for.
    pub fn usual(task: Task) -> Self {
        match task {
            Task::Regression => Score::Mse,
            Task::Classification => Score::Deviance,
        }
    }

    /// Which values are good.
    pub fn direction(self) -> Direction {
        match self {
            Score::R2 | Score::Auc => Direction::Larger,
            Score::Coverage => Direction::Near(0.95),
            _ => Direction::Smaller,
        }
    }

    /// A value as something to minimise.
    pub fn loss(self, value: f64) -> f64 {
        match self.direction() {
            Direction::Smaller => value,
            Direction::Larger => -value,
            Direction::Near(aim) => (value - aim).abs(),
        }
    }

    /// Whether it can be computed for a task.
    pub fn applies_to(self, task: Task) -> bool {
        match self {
            Score::Deviance | Score::Nlpd => true,
            Score::Error | Score::BalancedError | Score::Auc => task == Task::Classification,
            _ => task == Task::Regression,
        }
    }

    /// Checks that it can be computed for a target.
    pub(crate) fn check(self, target: &Target<'_>) -> Result<()> {
        let task = task_of(target);
        if self.applies_to(task) {
            return Ok(());
        }
        let known: Vec<&str> =
            Score::ALL.iter().filter(|s| s.applies_to(task)).map(|s| s.name()).collect();
        let kind = if task == Task::Regression { "numbers" } else { "classes" };
        Err(Error::setting(
            "scoring",
            self.name(),
            format!("the target holds {kind}, which are scored by {}", known.join(", ")),
        ))
    }

    /// The value for rows of positive weight.
    pub fn of(
        self,
        truth: &Target<'_>,
        predicted: &Predicted,
        weights: Option<&[f64]>,
    ) -> Result<f64> {
        self.check(truth)?;
        let rows = Rows { weights, count: truth.len() };
        match (truth, predicted) {
            (Target::Numbers(y), Predicted::Numbers { mean, std }) => {
                let scored =
                    mean.len() == y.len() && std.as_ref().is_none_or(|s| s.len() == y.len());
                check_rows(scored, y.len(), mean.len())?;
                self.of_numbers(y, mean, std.as_deref(), &rows)
            }
            (
                Target::Labels { classes, codes },
                Predicted::Classes { probabilities, codes: said },
            ) => {
                let scored = said.len() == codes.len()
                    && probabilities.rows() == codes.len()
                    && probabilities.columns() == classes.len();
                check_rows(scored, codes.len(), said.len())?;
                self.of_classes(codes, classes.len(), probabilities, said, &rows)
            }
            _ => Err(Error::Unavailable {
                what: format!("the score {}", self.name()),
                hint: "the predictions and the target are of different kinds".into(),
            }),
        }
    }

    /// Standard error of the value for a sample of rows, by the jackknife: how much it changes
    /// without a few of them. None where it is not defined without some.
    pub(crate) fn error_over_rows(
        self,
        truth: &Target<'_>,
        predicted: &Predicted,
        weights: Option<&[f64]>,
    ) -> Option<f64> {
        let n = truth.len();
        // Groups at random: in an order of the rows they would be more alike than chance.
        let mut order: Vec<usize> = (0..n).collect();
        let mut next = uniform(0);
        (1..n).for_each(|k| order.swap(k, (next() * (k + 1) as f64) as usize));
        let groups = n.min(MOST_GROUPS);
        let without = |g: usize| {
            let mut left = weights.map_or_else(|| vec![1.0; n], <[f64]>::to_vec);
            order.iter().skip(g).step_by(groups).for_each(|&i| left[i] = 0.0);
            let some = left.iter().any(|w| *w > 0.0);
            self.of(truth, predicted, Some(&left)).ok().filter(|v| some && v.is_finite())
        };
        let values: Vec<f64> = (0..groups).into_par_iter().map(without).collect::<Option<_>>()?;
        let mean = values.iter().sum::<f64>() / groups as f64;
        let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let error = (square * (groups as f64 - 1.0) / groups as f64).sqrt();
        (groups > 1 && error.is_finite()).then_some(error)
    }

    fn of_numbers(
        self,
        y: &[f64],
        mean: &[f64],
        std: Option<&[f64]>,
        rows: &Rows<'_>,
    ) -> Result<f64> {
        let square = |i: usize| (y[i] - mean[i]).powi(2);
        let std = || {
            std.ok_or_else(|| Error::Unavailable {
                what: format!("the score {}", self.name()),
                hint: "the model does not say how far observations scatter; choose mse".into(),
            })
        };
        // A noise of zero would make one wrong digit infinitely unlikely.
        let largest = y.iter().fold(f64::MIN_POSITIVE, |a, y| a.max(y.abs()));
        let floor = f64::EPSILON * largest;
        Ok(match self {
            Score::Mse => rows.mean(square),
            Score::Rmse => rows.mean(square).sqrt(),
            Score::Mae => rows.mean(|i| (y[i] - mean[i]).abs()),
            Score::R2 => {
                if rows.count < 2 {
                    return Err(undefined("r2 of one row", "choose mse, or fewer folds"));
                }
                let centre = rows.mean(|i| y[i]);
                let (left, all) = (rows.mean(square), rows.mean(|i| (y[i] - centre).powi(2)));
                match (left > 0.0, all > 0.0) {
                    (_, true) => 1.0 - left / all,
                    (true, false) => 0.0,
                    (false, false) => 1.0,
                }
            }
            Score::Coverage => {
                let std = std()?;
                rows.mean(|i| f64::from((y[i] - mean[i]).abs() <= HALF_WIDTH_95 * std[i]))
            }
            _ => {
                let std = std()?;
                let deviance = rows.mean(|i| {
                    let variance = std[i].max(floor).powi(2).max(f64::MIN_POSITIVE);
                    (2.0 * std::f64::consts::PI * variance).ln() + square(i) / variance
                });
                if self == Score::Nlpd { 0.5 * deviance } else { deviance }
            }
        })
    }

    fn of_classes(
        self,
        codes: &[usize],
        classes: usize,
        probabilities: &Matrix,
        said: &[usize],
        rows: &Rows<'_>,
    ) -> Result<f64> {
        let wrong = |i: usize| f64::from(said[i] != codes[i]);
        Ok(match self {
            Score::Error => rows.mean(wrong),
            Score::BalancedError => {
                let (mut totals, mut wrongs) = (vec![0.0; classes], vec![0.0; classes]);
                for i in 0..codes.len() {
                    totals[codes[i]] += rows.weight(i);
                    wrongs[codes[i]] += rows.weight(i) * wrong(i);
                }
                let present: Vec<usize> = (0..classes).filter(|&c| totals[c] > 0.0).collect();
                present.iter().map(|&c| wrongs[c] / totals[c]).sum::<f64>() / present.len() as f64
            }
            Score::Auc => {
                let area = |class: usize| {
                    let value = |i: usize| {
                        if classes == 2 {
                            // Probabilities next to 1 are all alike; these are not.
                            probabilities[(i, 1)].ln() - probabilities[(i, 0)].ln()
                        } else {
                            probabilities[(i, class)]
                        }
                    };
                    let values: Vec<f64> = (0..codes.len()).map(value).collect();
                    area_under_curve(&values, |i| codes[i] == class, rows)
                };
                let areas: Vec<f64> = if classes == 2 {
                    area(1).into_iter().collect()
                } else {
                    (0..classes).filter_map(area).collect()
                };
                if areas.is_empty() {
                    return Err(undefined(
                        "auc of rows of one class",
                        "choose deviance, or stratified or fewer folds",
                    ));
                }
                areas.iter().sum::<f64>() / areas.len() as f64
            }
            _ => {
                let nlpd =
                    rows.mean(|i| -probabilities[(i, codes[i])].clamp(f64::EPSILON, 1.0).ln());
                if self == Score::Deviance { 2.0 * nlpd } else { nlpd }
            }
        })
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Score {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Score::ALL.into_iter().find(|s| s.name() == name).ok_or_else(|| {
            let known = Score::ALL.map(Score::name).join(", ");
            let expected = match name {
                "accuracy" => "take error, the share of wrong classes: 1 - accuracy".to_string(),
                _ => format!("one of {known} is expected"),
            };
            Error::setting("scoring", name, expected)
        })
    }
}

/// What is to be predicted.
pub(crate) fn task_of(target: &Target<'_>) -> Task {
    match target {
        Target::Numbers(_) => Task::Regression,
        Target::Labels { .. } => Task::Classification,
    }
}

/// A score that these rows do not define.
fn undefined(what: &str, hint: &str) -> Error {
    Error::Unavailable { what: format!("the score {what}"), hint: hint.into() }
}

fn check_rows(agree: bool, rows: usize, found: usize) -> Result<()> {
    if agree { Ok(()) } else { Err(Error::shape("predictions to score", rows, found)) }
}

struct Rows<'a> {
    weights: Option<&'a [f64]>,
    count: usize,
}

impl Rows<'_> {
    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }

    fn mean(&self, of: impl Fn(usize) -> f64) -> f64 {
        let total: f64 = (0..self.count).map(|i| self.weight(i)).sum();
        let counted = (0..self.count).filter(|&i| self.weight(i) > 0.0);
        counted.map(|i| self.weight(i) * of(i)).sum::<f64>() / total
    }
}

/// The weighted share of (positive, negative) pairs in the right order, ties half; none where one
/// of both is missing.
fn area_under_curve(
    values: &[f64],
    positive: impl Fn(usize) -> bool,
    rows: &Rows<'_>,
) -> Option<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let (mut below, mut area, mut positives) = (0.0, 0.0, 0.0);
    for tied in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let (mut up, mut down) = (0.0, 0.0);
        for &i in tied {
            *(if positive(i) { &mut up } else { &mut down }) += rows.weight(i);
        }
        area += up * (below + 0.5 * down);
        below += down;
        positives += up;
    }
    (positives > 0.0 && below > 0.0).then(|| area / (positives * below))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_quantile;

    #[test]
    fn the_jackknife_tells_how_far_scores_scatter() {
        let mut next = uniform(7);
        let n = 300;
        let mut draw = || {
            let codes: Vec<usize> = (0..n).map(|_| usize::from(next() < 0.4)).collect();
            let at = |c: &usize| *c as f64 - 0.5 + normal_quantile(next().max(1e-12));
            let values: Vec<f64> = codes.iter().map(at).collect();
            let second: Vec<f64> = values.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect();
            let both = second.iter().map(|p| 1.0 - p).chain(second.iter().copied()).collect();
            let said = values.iter().map(|v| usize::from(*v > 0.0)).collect();
            let truth = Target::labels(codes.iter().map(|c| *c == 1));
            let probabilities = Matrix::from_columns(n, 2, both);
            (truth, Predicted::Classes { probabilities, codes: said })
        };
        for score in [Score::Auc, Score::BalancedError, Score::Error, Score::Deviance] {
            let (mut values, mut errors) = (Vec::new(), 0.0);
            for _ in 0..300 {
                let (truth, predicted) = draw();
                values.push(score.of(&truth, &predicted, None).unwrap());
                errors += score.error_over_rows(&truth, &predicted, None).unwrap() / 300.0;
            }
            let mean = values.iter().sum::<f64>() / 300.0;
            let square: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
            let scatter = (square / 299.0).sqrt();
            assert!((errors / scatter - 1.0).abs() < 0.15, "{score}: {errors} for {scatter}");
        }
    }
}
