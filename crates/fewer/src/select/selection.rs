//! What a search found.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Which of the points of a search is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The one with the best mean score.
    #[default]
    Best,
    /// The simplest whose mean score is within one standard error of the best: the largest λ where
    /// only λ is chosen, else the fewest terms and then the largest λ.
    OneSe,
}

impl Rule {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Best => "best",
            Rule::OneSe => "one_se",
        }
    }
}

/// One choice of settings, and how good it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The settings tried.
    pub settings: Map<String, Value>,
    /// Mean score over the folds, or the criterion.
    pub mean: f64,
    /// Standard error of the mean; none for a criterion or a single fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// Score of each fold; empty for a criterion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<f64>,
    /// Mean number of terms.
    pub terms: f64,
}

impl Point {
    fn lam(&self) -> f64 {
        self.settings.get("lam").and_then(Value::as_f64).unwrap_or(0.0)
    }
}

/// What a search found; [`Report`](crate::model::Report) keeps it with the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// Name of the score or criterion.
    pub score: String,
    /// Whether larger values of it are better.
    pub larger_is_better: bool,
    /// Which point is chosen.
    pub rule: Rule,
    /// All points tried, in order.
    pub points: Vec<Point>,
    /// Position of the point with the best mean.
    pub best: usize,
    /// Position of the point chosen.
    pub chosen: usize,
    /// Number of folds of each repeat; 0 for a criterion.
    pub folds: usize,
    /// How many times all rows were split.
    pub repeats: usize,
    /// Whether every point was tried; not so after an interruption.
    pub complete: bool,
    /// What the user should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Selection {
    /// The point chosen.
    pub fn chosen_point(&self) -> &Point {
        &self.points[self.chosen]
    }

    /// The point with the best mean.
    pub fn best_point(&self) -> &Point {
        &self.points[self.best]
    }

    /// Position of the point that a rule chooses.
    pub fn by_rule(&self, rule: Rule) -> usize {
        let loss = |mean: f64| if self.larger_is_better { -mean } else { mean };
        choose(&self.points, rule, loss).map_or(self.chosen, |(_, chosen)| chosen)
    }
}

/// Mean and standard error of the scores of all folds.
///
/// The error is that of one split of all rows, deviation/√folds, as its root mean square over the
/// repeats: repeating evens out the chance of the splits, but adds no data, so it must not make the
/// error look smaller. (Training sets overlap: the error is somewhat too small in any case.)
pub(crate) fn mean_and_error(scores: &[f64], repeats: usize) -> (f64, Option<f64>) {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let folds = scores.len() / repeats.max(1);
    if folds < 2 {
        return (mean(scores), None);
    }
    let squares: Vec<f64> = scores
        .chunks(folds)
        .map(|scores| {
            let centre = mean(scores);
            let square: f64 = scores.iter().map(|s| (s - centre).powi(2)).sum();
            square / (folds - 1) as f64 / folds as f64
        })
        .collect();
    (mean(scores), Some(mean(&squares).sqrt()))
}

/// Positions of the best point and of the one chosen; `loss` is smaller for better means.
pub(crate) fn choose(
    points: &[Point],
    rule: Rule,
    loss: impl Fn(f64) -> f64,
) -> Option<(usize, usize)> {
    let simpler = |a: &Point, b: &Point| {
        let by_lam = b.lam().total_cmp(&a.lam());
        let only_lam = a.settings.len() == 1 && a.settings.contains_key("lam");
        if only_lam { by_lam } else { a.terms.total_cmp(&b.terms).then(by_lam) }
    };
    let quality = |k: usize| loss(points[k].mean);
    let best = (0..points.len()).min_by(|&a, &b| {
        quality(a).total_cmp(&quality(b)).then_with(|| simpler(&points[a], &points[b]))
    })?;
    let chosen = match rule {
        Rule::Best => best,
        Rule::OneSe => {
            let limit = quality(best) + points[best].standard_error.unwrap_or(0.0);
            (0..points.len())
                .filter(|&k| quality(k) <= limit)
                .min_by(|&a, &b| {
                    simpler(&points[a], &points[b]).then(quality(a).total_cmp(&quality(b)))
                })
                .unwrap_or(best)
        }
    };
    Some((best, chosen))
}
