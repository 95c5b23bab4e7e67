//! How good a method is on data it has not seen.

use super::fold_data::{TestPart, TrainingPart, select_target};
use super::folds::CrossValidation;
use super::in_order::in_order;
use super::memory::{fits_at_once, with_usual_basis};
use super::predicted::Predicted;
use super::score::{Score, task_of};
use super::search::{to_json, without_threads};
use super::selection::mean_and_error;
use crate::basis::UserFunction;
use crate::data::Dataset;
use crate::engine::{Observer, SelectionProgress, StopOnly};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::method::{fit, on_threads};
use serde::Serialize;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A score of a method in cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluated {
    /// Which score.
    pub score: Score,
    /// Its mean over the folds; the pooled value where single folds do not define it (R² of one
    /// row).
    pub mean: f64,
    /// Standard error of the mean, the larger of two. Between folds: deviation / √folds, of one
    /// split of all rows also where they are split repeatedly, for repeating adds no data. Between
    /// rows: that of the pooled value by the jackknife, for folds in which classes are in
    /// proportion are more alike than chance would have it.
    pub standard_error: Option<f64>,
    /// Its value in each fold; empty where single folds do not define it.
    pub folds: Vec<f64>,
    /// Its value for all predictions together.
    pub pooled: f64,
}

/// How good a method is on data it has not seen.
#[derive(Debug, Clone, Serialize)]
pub struct Evaluation {
    /// The scores, in the order asked for.
    pub scores: Vec<Evaluated>,
    /// Number of folds of each repeat.
    pub folds: usize,
    /// How many times all rows were split.
    pub repeats: usize,
    /// Whether every fold was fitted; not so after an interruption.
    pub complete: bool,
    /// Number of terms in each fold.
    pub terms: Vec<usize>,
    /// Settings chosen in each fold; empty where none was to be chosen.
    pub chosen: Vec<Map<String, Value>>,
    /// Rows that were in a test set, from 0, rising.
    pub rows: Vec<usize>,
    /// Predictions for these rows by models that have not seen them; averaged where there are
    /// several.
    #[serde(skip)]
    pub predicted: Predicted,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Evaluates a method by cross-validation, with any number of scores (none: all that apply).
///
/// Everything happens in each training part anew, choosing settings by `"cv"` included: nested
/// cross-validation, in which no choice has seen the rows that judge it.
///
/// When the observer asks to stop, the folds that are finished are returned with `complete: false`;
/// without any, [`Error::Interrupted`].
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::engine::Silent;
/// use fewer::select::{CrossValidation, Score, evaluate};
/// let x: Vec<f64> = (0..300).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let y: Vec<f64> = x.chunks(3).map(|x| 1.0 + 3.0 * x[0] + 0.1 * (9.0 * x[1]).sin()).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 3)?, &y)?;
/// let folds = CrossValidation::new(5);
/// let settings = r#"{"prior": "laplace", "lam": "cv", "lams": 10}"#;
/// let found = evaluate("sparse", settings, None, &data, &folds, &[Score::R2], &Silent)?;
/// assert!(found.scores[0].mean > 0.99);
/// assert_eq!(found.chosen.len(), 5);
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn evaluate(
    method: &str,
    settings: &str,
    functions: Option<UserFunction>,
    data: &Dataset<'_>,
    folds: &CrossValidation,
    scores: &[Score],
    observer: &dyn Observer,
) -> Result<Evaluation> {
    let given: Map<String, Value> = serde_json::from_str(settings).map_err(|e| {
        Error::setting("settings", settings, format!("a JSON object is expected ({e})"))
    })?;
    scores.iter().try_for_each(|s| s.check(data.target()))?;
    let data = &data.checked()?;
    let split = folds.split(data)?;
    let (n_jobs, settings) = without_threads(&with_usual_basis(method, &given));
    let done = Mutex::new(0usize);
    let started = Instant::now();
    let one = |fold: usize| -> Result<_> {
        let training = TrainingPart::new(data, &split, fold)?;
        let settings = to_json(&training.settings(&settings));
        let watch = StopOnly(observer);
        let model = fit(method, &settings, functions.clone(), &training.data, &watch)?;
        let test = TestPart::new(data, split.test(fold))?;
        let predicted = test.predicted_by(&model)?;
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        let seconds = started.elapsed().as_secs_f64() / *done as f64;
        observer.selection(SelectionProgress {
            done: *done,
            all: split.len(),
            best: None,
            seconds_left: Some(seconds * (split.len() - *done) as f64),
        });
        let selection = model.report().selection.as_ref();
        let chosen = selection.map(|s| s.chosen_point().settings.clone());
        Ok((test, predicted, model.n_terms(), chosen))
    };
    let (parts, failure) =
        on_threads(n_jobs, || Ok(in_order(split.len(), fits_at_once(&settings, data), one)))?;
    let mut notes = split.notes().to_vec();
    let complete = failure.is_none();
    match failure {
        Some(Error::Interrupted) if parts.iter().any(Option::is_some) => notes.push(format!(
            "interrupted: {} of {} folds are complete",
            parts.iter().flatten().count(),
            split.len()
        )),
        Some(error) => return Err(error),
        None => {}
    }
    let finished: Vec<usize> = (0..split.len()).filter(|&f| parts[f].is_some()).collect();
    let repeats = if complete { split.repeats() } else { 1 };
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let (rows, predicted) = pool(data, &split, &finished, parts.iter().map(|p| &p.1))?;
    let truth = select_target(data.target(), &rows);
    let weights: Option<Vec<f64>> = data.weights().map(|w| rows.iter().map(|&i| w[i]).collect());
    let task = task_of(data.target());
    let asked: Vec<Score> = match scores {
        [] => Score::ALL.into_iter().filter(|s| s.applies_to(task)).collect(),
        some => some.to_vec(),
    };
    let single = finished.iter().all(|&fold| split.test(fold).len() == 1);
    let mut summaries = Vec::new();
    for score in asked {
        let pooled = match score.of(&truth, &predicted, weights.as_deref()) {
            Ok(pooled) => pooled,
            Err(_) if scores.is_empty() => continue,
            Err(error) => return Err(error),
        };
        // The root of one row's square is its absolute error: only the pooled one is an RMSE.
        let by_fold = parts.iter().map(|(t, p, ..)| score.of(&t.target, p, t.weights.as_deref()));
        let values = if single && score == Score::Rmse {
            Vec::new()
        } else {
            by_fold.collect::<Result<Vec<f64>>>().unwrap_or_default()
        };
        let (mean, between_folds) =
            if values.is_empty() { (pooled, None) } else { mean_and_error(&values, repeats) };
        let between_rows = score.error_over_rows(&truth, &predicted, weights.as_deref());
        // None is less than any number.
        let standard_error = match between_folds.partial_cmp(&between_rows) {
            Some(Ordering::Less) => between_rows,
            _ => between_folds,
        };
        summaries.push(Evaluated { score, mean, standard_error, folds: values, pooled });
    }
    Ok(Evaluation {
        scores: summaries,
        folds: finished.len() / repeats,
        repeats,
        complete,
        terms: parts.iter().map(|p| p.2).collect(),
        chosen: parts.into_iter().filter_map(|p| p.3).collect(),
        rows,
        predicted,
        notes,
    })
}

/// The predictions of the finished folds, by row.
fn pool<'p>(
    data: &Dataset<'_>,
    split: &super::Split,
    finished: &[usize],
    parts: impl Iterator<Item = &'p Predicted>,
) -> Result<(Vec<usize>, Predicted)> {
    let mut counts = vec![0usize; data.rows()];
    finished.iter().for_each(|&f| split.test(f).iter().for_each(|&i| counts[i] += 1));
    let rows: Vec<usize> = (0..data.rows()).filter(|&i| counts[i] > 0).collect();
    let mut place = vec![0; data.rows()];
    rows.iter().enumerate().for_each(|(k, &i)| place[i] = k);
    let share = |i: usize| 1.0 / counts[i] as f64;
    let mut pooled: Option<Predicted> = None;
    for (&fold, part) in finished.iter().zip(parts) {
        let test = split.test(fold);
        let pooled = pooled.get_or_insert_with(|| empty_like(part, rows.len()));
        match (pooled, part) {
            (
                Predicted::Numbers { mean, std },
                Predicted::Numbers { mean: part_mean, std: part_std },
            ) => {
                for (k, &i) in test.iter().enumerate() {
                    mean[place[i]] += share(i) * part_mean[k];
                    if let (Some(std), Some(part)) = (std.as_mut(), part_std) {
                        std[place[i]] += share(i) * part[k];
                    }
                }
            }
            (
                Predicted::Classes { probabilities, codes },
                Predicted::Classes { probabilities: part, codes: part_codes },
            ) => {
                for (k, &i) in test.iter().enumerate() {
                    for c in 0..part.columns() {
                        probabilities[(place[i], c)] += share(i) * part[(k, c)];
                    }
                    codes[place[i]] = part_codes[k];
                }
            }
            _ => {}
        }
    }
    let mut pooled = pooled.ok_or(Error::Interrupted)?;
    if let Predicted::Classes { probabilities, codes } = &mut pooled {
        // Several models have no class in common but the most probable one.
        for (k, _) in rows.iter().enumerate().filter(|(_, i)| counts[**i] > 1) {
            let p = |c: usize| probabilities[(k, c)];
            codes[k] = (1..probabilities.columns())
                .fold(0, |best, c| if p(c) > p(best) { c } else { best });
        }
    }
    Ok((rows, pooled))
}

fn empty_like(part: &Predicted, rows: usize) -> Predicted {
    match part {
        Predicted::Numbers { std, .. } => {
            Predicted::Numbers { mean: vec![0.0; rows], std: std.as_ref().map(|_| vec![0.0; rows]) }
        }
        Predicted::Classes { probabilities, .. } => Predicted::Classes {
            probabilities: Matrix::zeros(rows, probabilities.columns()),
            codes: vec![0; rows],
        },
    }
}
