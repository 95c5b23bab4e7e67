//! Tries the methods that suit the data, and takes the smallest model that is as good as the best.

use super::evaluate::evaluate;
use super::folds::CrossValidation;
use super::score::{Direction, Score, task_of};
use super::selection::mean_and_error;
use crate::basis::UserFunction;
use crate::data::{Dataset, Target};
use crate::engine::{Interrupted, Observer, SelectionProgress};
use crate::error::{Error, Result};
use crate::method::{Task, check_number, fit};
use crate::model::Model;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// The size of the data, by which methods suit it or not.
struct Size {
    rows: usize,
    columns: usize,
    /// 0 for numbers.
    classes: usize,
}

impl Size {
    /// Products of two columns, and the columns themselves.
    fn products(&self) -> usize {
        self.columns * (self.columns + 3) / 2
    }
}

/// Methods that tell each class from the rest by terms of its own: `max_terms` is for each.
const BY_CLASS: [&str; 2] = ["probit", "rvc"];

/// A method with settings that takes part.
struct Entrant {
    name: &'static str,
    method: &'static str,
    task: Task,
    settings: &'static str,
    suits: fn(&Size) -> bool,
}

impl Entrant {
    /// `max_terms` for the method, such that its model has at most `limit` distinct terms.
    fn share_of(&self, limit: usize, size: &Size) -> usize {
        match size.classes {
            classes @ 3.. if BY_CLASS.contains(&self.method) => limit / classes,
            _ => limit,
        }
    }
}

/// Kernels are centred on all rows, so that their number is limited.
const KERNEL_ROWS: usize = 2000;
const WIDTH_ROWS: usize = 600;
const MOST_PRODUCTS: usize = 500;

const fn numbers(
    name: &'static str,
    method: &'static str,
    settings: &'static str,
    suits: fn(&Size) -> bool,
) -> Entrant {
    Entrant { name, method, task: Task::Regression, settings, suits }
}

const fn classes(
    name: &'static str,
    method: &'static str,
    settings: &'static str,
    suits: fn(&Size) -> bool,
) -> Entrant {
    Entrant { name, method, task: Task::Classification, settings, suits }
}

/// All that take part, the quickest first: the place to add another.
const ENTRANTS: &[Entrant] = &[
    numbers("Jeffreys prior", "sparse", "{}", |s| s.columns <= 5000),
    numbers("lasso", "lasso", r#"{"lam": "cv", "cv_shuffle": true, "lams": 50}"#, |_| true),
    numbers(
        "relaxed lasso",
        "lasso",
        r#"{"lam": "cv", "cv_shuffle": true, "lams": 50, "relaxed": true}"#,
        |_| true,
    ),
    numbers("type-II lasso", "bls", "{}", |s| s.columns <= 2000),
    numbers(
        "ridge",
        "sparse",
        r#"{"prior": "gaussian", "lam": "cv", "cv_shuffle": true, "lams": 15}"#,
        |s| s.columns <= 500,
    ),
    numbers(
        "lasso on products",
        "lasso",
        r#"{"basis": "polynomial", "lam": "cv", "cv_shuffle": true, "lams": 50}"#,
        |s| s.products() <= MOST_PRODUCTS && s.rows >= 2 * s.columns,
    ),
    numbers("relevance vectors", "rvm", "{}", |s| s.rows <= KERNEL_ROWS),
    numbers(
        "relevance vectors of chosen width",
        "rvm",
        r#"{"gamma": "cv", "cv_shuffle": true, "gammas": 5}"#,
        |s| s.rows <= WIDTH_ROWS,
    ),
    classes("Jeffreys prior", "probit", "{}", |s| s.columns <= 5000),
    classes(
        "multinomial lasso",
        "smlr",
        r#"{"lam": "cv", "cv_shuffle": true, "lams": 30}"#,
        |_| true,
    ),
    classes("multinomial ridge", "rmlr", r#"{"lam": "cv", "cv_shuffle": true, "lams": 15}"#, |s| {
        s.columns <= 500
    }),
    classes(
        "multinomial lasso on products",
        "smlr",
        r#"{"basis": "polynomial", "lam": "cv", "cv_shuffle": true, "lams": 30}"#,
        |s| s.products() <= MOST_PRODUCTS && s.rows >= 2 * s.columns,
    ),
    classes("Jeffreys prior on kernels", "probit", r#"{"basis": "rbf"}"#, |s| {
        s.rows <= KERNEL_ROWS
    }),
    classes("relevance vectors", "rvc", "{}", |s| s.rows <= WIDTH_ROWS),
    classes(
        "multinomial lasso on kernels",
        "smlr",
        r#"{"basis": "rbf", "lam": "cv", "cv_shuffle": true, "lams": 20}"#,
        |s| s.rows <= WIDTH_ROWS,
    ),
];

/// What became of a method that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// What it is called.
    pub name: String,
    /// The method, by its short name.
    pub method: String,
    /// Its settings.
    pub settings: Map<String, Value>,
    /// The score that judged.
    pub score: String,
    /// Its mean over the folds; none where it was not finished.
    pub mean: Option<f64>,
    /// Standard error of the mean.
    pub standard_error: Option<f64>,
    /// Mean number of terms.
    pub terms: Option<f64>,
    /// Seconds it took.
    pub seconds: f64,
    /// Whether the model is by it.
    pub chosen: bool,
    /// Why it was not finished, where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Settings of the choice itself; the others go to every method.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    cv: Option<usize>,
    scoring: Option<String>,
    max_time: Option<f64>,
    max_terms: Option<usize>,
    class_weight: Option<Value>,
    standardize: Option<bool>,
    memory_limit: Option<f64>,
    random_state: Option<u64>,
    n_jobs: Option<usize>,
}

/// Part of `max_time` after which nothing more is tried: the rest is for the fit to all rows.
const TRYING: f64 = 0.75;

/// Stops at a time, too.
struct Until<'a> {
    observer: &'a dyn Observer,
    deadline: Option<Instant>,
}

impl Until<'_> {
    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|d| Instant::now() >= d)
    }
}

impl Observer for Until<'_> {
    fn selection(&self, progress: SelectionProgress) {
        self.observer.selection(progress);
    }

    fn check(&self) -> std::result::Result<(), Interrupted> {
        self.observer.check()?;
        if self.is_over() { Err(Interrupted) } else { Ok(()) }
    }
}

/// Tries the methods that suit the data in the same folds, each choosing its settings anew within
/// them, and fits the one that keeps the fewest terms within one standard error of the best (of its
/// mean and of the difference) to all rows. [`Report::tried`](crate::model::Report) tells what was tried.
///
/// Settings: `cv` (5), `scoring` (`mse` or `deviance`), `max_time`, `max_terms`, and `class_weight`,
/// `standardize`, `memory_limit`, `random_state`, `n_jobs`, which go to every method.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::engine::Silent;
/// let x: Vec<f64> = (0..300).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let y: Vec<f64> = (0..100).map(|i| 2.0 * x[3 * i] + 0.1 * ((i * i) as f64).cos()).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 3)?, &y)?;
/// let model = fewer::select::auto("{}", None, &data, &Silent)?;
/// assert_eq!(model.n_terms(), 1);
/// assert!(model.report().tried.len() > 4);
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn auto(
    settings: &str,
    functions: Option<UserFunction>,
    data: &Dataset<'_>,
    observer: &dyn Observer,
) -> Result<Model> {
    let started = Instant::now();
    let own: Settings = serde_json::from_str(settings).map_err(|e| {
        let known = "cv, scoring, max_time, max_terms, class_weight, standardize, memory_limit, \
                     random_state and n_jobs; all else it chooses itself";
        Error::setting("settings", settings, format!("auto has the settings {known} ({e})"))
    })?;
    check_number("max_time", own.max_time, false)?;
    if functions.is_some() {
        return Err(Error::setting(
            "basis",
            "functions",
            "auto chooses the basis itself: leave the functions out, or choose a method",
        ));
    }
    let task = task_of(data.target());
    let score = chosen_score(&own, task)?;
    let folds = CrossValidation::new(own.cv.unwrap_or(5)).shuffled(own.random_state.unwrap_or(0));
    let budget = own.max_time.and_then(|t| Duration::try_from_secs_f64(TRYING * t).ok());
    let until = Until { observer, deadline: budget.and_then(|b| started.checked_add(b)) };
    let classes = match data.target() {
        Target::Numbers(_) => 0,
        Target::Labels { classes, .. } => classes.len(),
    };
    let size = Size { rows: data.rows(), columns: data.features().columns(), classes };
    let has_room = |e: &Entrant| own.max_terms.is_none_or(|m| m == 0 || e.share_of(m, &size) > 0);
    let entrants = ENTRANTS.iter().filter(|e| e.task == task && (e.suits)(&size) && has_room(e));
    let mut tried: Vec<Tried> = Vec::new();
    let mut by_fold: Vec<Vec<f64>> = Vec::new();
    let mut first_error = None;
    for entrant in entrants {
        observer.check()?;
        let settings = settings_of(entrant, &own, &size)?;
        let began = Instant::now();
        let mut entry = Tried {
            name: entrant.name.into(),
            method: entrant.method.into(),
            settings: settings.clone(),
            score: score.name().into(),
            mean: None,
            standard_error: None,
            terms: None,
            seconds: 0.0,
            chosen: false,
            note: until.is_over().then(|| "not begun: max_time was reached".into()),
        };
        let mut scores = Vec::new();
        if entry.note.is_none() {
            let text = Value::Object(settings).to_string();
            match evaluate(entrant.method, &text, None, data, &folds, &[score], &until) {
                Ok(found) => {
                    let judged = &found.scores[0];
                    if judged.mean.is_finite() {
                        (entry.mean, entry.standard_error) =
                            (Some(judged.mean), judged.standard_error);
                    } else {
                        entry.note = Some("its predictions are not finite".into());
                    }
                    scores = judged.folds.clone();
                    let terms = found.terms.iter().sum::<usize>() as f64;
                    entry.terms = Some(terms / found.terms.len().max(1) as f64);
                }
                Err(Error::Interrupted) => {
                    observer.check()?;
                    entry.note = Some("stopped: max_time was reached".into());
                }
                Err(error) => {
                    entry.note = Some(error.to_string());
                    first_error.get_or_insert(error);
                }
            }
        }
        entry.seconds = began.elapsed().as_secs_f64();
        tried.push(entry);
        by_fold.push(scores);
    }
    let Some((best, chosen)) = smallest_near_best(&tried, &by_fold, score) else {
        return match (first_error, tried.is_empty()) {
            (Some(error), _) => Err(error),
            // Time for nothing: the quickest, without comparing.
            (None, false) => unjudged(tried, data, observer),
            (None, true) => Err(Error::Empty {
                what: "the list of methods".into(),
                expected: "data that one of them suits".into(),
            }),
        };
    };
    tried[chosen].chosen = true;
    let text = Value::Object(tried[chosen].settings.clone()).to_string();
    let mut model = fit(&tried[chosen].method, &text, None, data, observer)?;
    let note = match best == chosen {
        true => format!("auto chose {}: no other is as good with fewer terms", tried[chosen].name),
        false => format!(
            "auto chose {}: the fewest terms within one standard error of the best, {}",
            tried[chosen].name, tried[best].name
        ),
    };
    model.report.notes.push(note);
    model.report.tried = tried;
    Ok(model)
}

fn chosen_score(own: &Settings, task: Task) -> Result<Score> {
    let score = match &own.scoring {
        Some(name) => name.parse::<Score>()?,
        None if task == Task::Regression => Score::Mse,
        None => Score::Deviance,
    };
    if score.applies_to(task) {
        return Ok(score);
    }
    let known: Vec<&str> =
        Score::ALL.iter().filter(|s| s.applies_to(task)).map(|s| s.name()).collect();
    Err(Error::setting("scoring", score.name(), format!("the target allows {}", known.join(", "))))
}

/// The entrant's settings with those that all have.
fn settings_of(entrant: &Entrant, own: &Settings, size: &Size) -> Result<Map<String, Value>> {
    let mut settings: Map<String, Value> = serde_json::from_str(entrant.settings)
        .map_err(|e| Error::setting("settings", entrant.settings, e.to_string()))?;
    let mut set = |name: &str, value: Option<Value>| {
        settings.extend(value.map(|value| (name.to_string(), value)));
    };
    set("max_terms", own.max_terms.map(|m| Value::from(entrant.share_of(m, size))));
    set("standardize", own.standardize.map(Value::from));
    set("memory_limit", own.memory_limit.map(Value::from));
    set("random_state", own.random_state.map(Value::from));
    set("n_jobs", own.n_jobs.map(Value::from));
    if entrant.task == Task::Classification {
        set("class_weight", own.class_weight.clone().filter(|w| !w.is_null()));
    }
    Ok(settings)
}

/// Positions of the best, and of that with the fewest terms within one standard error of it.
///
/// The error is that of the best's mean or, where it is smaller, that of the difference in the same
/// folds: where a few rows decide over all methods alike, the first is large and tells little.
fn smallest_near_best(
    tried: &[Tried],
    by_fold: &[Vec<f64>],
    score: Score,
) -> Option<(usize, usize)> {
    let loss = |k: usize| -> f64 {
        let mean = tried[k].mean.unwrap_or(f64::NAN);
        match score.direction() {
            Direction::Smaller => mean,
            Direction::Larger => -mean,
            Direction::Near(value) => (mean - value).abs(),
        }
    };
    let finished: Vec<usize> = (0..tried.len()).filter(|&k| tried[k].mean.is_some()).collect();
    let best = finished.iter().copied().min_by(|&a, &b| loss(a).total_cmp(&loss(b)))?;
    let error = tried[best].standard_error.unwrap_or(0.0);
    let near = |k: usize| {
        let pairs = by_fold[k].iter().zip(&by_fold[best]);
        let differences: Vec<f64> = pairs.map(|(a, b)| a - b).collect();
        let of_difference = match differences.len() {
            0 | 1 => error,
            _ => mean_and_error(&differences, 1).1.unwrap_or(error),
        };
        loss(k) - loss(best) <= error.min(of_difference)
    };
    let terms = |k: usize| tried[k].terms.unwrap_or(f64::INFINITY);
    let chosen = finished
        .into_iter()
        .filter(|&k| near(k))
        .min_by(|&a, &b| terms(a).total_cmp(&terms(b)).then(loss(a).total_cmp(&loss(b))))?;
    Some((best, chosen))
}

fn unjudged(mut tried: Vec<Tried>, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
    tried[0].chosen = true;
    let text = Value::Object(tried[0].settings.clone()).to_string();
    let mut model = fit(&tried[0].method, &text, None, data, observer)?;
    model.report.notes.push(format!(
        "max_time was reached before any method was judged: {} was taken, which is quick; raise \
         max_time",
        tried[0].name
    ));
    model.report.tried = tried;
    Ok(model)
}
