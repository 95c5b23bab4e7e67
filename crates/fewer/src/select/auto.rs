//! Tries the methods that suit the data, and takes the smallest model that is as good as the best.

use super::evaluate::evaluate;
use super::folds::CrossValidation;
use super::score::{Direction, Score, task_of};
use super::selection::mean_and_error;
use crate::basis::UserFunction;
use crate::data::{Dataset, Target};
use crate::engine::{Observer, Until};
use crate::error::{Error, Result};
use crate::method::{Task, check_count, check_number, fit, parse_settings};
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
    /// γ as a part of its usual value, 1 by the number of columns (of unit variance).
    width: Option<f64>,
}

impl Entrant {
    const fn of_width(self, width: f64) -> Self {
        Self { width: Some(width), ..self }
    }

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
const CLASS_ROWS: usize = 600;
const MOST_PRODUCTS: usize = 500;

const fn numbers(
    name: &'static str,
    method: &'static str,
    settings: &'static str,
    suits: fn(&Size) -> bool,
) -> Entrant {
    Entrant { name, method, task: Task::Regression, settings, suits, width: None }
}

const fn classes(
    name: &'static str,
    method: &'static str,
    settings: &'static str,
    suits: fn(&Size) -> bool,
) -> Entrant {
    Entrant { name, method, task: Task::Classification, settings, suits, width: None }
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
        "lasso",
        r#"{"l1_ratio": 0, "lam": "cv", "cv_shuffle": true, "lams": 15}"#,
        |s| s.columns <= 500,
    ),
    numbers(
        "lasso on products",
        "lasso",
        r#"{"basis": "polynomial", "lam": "cv", "cv_shuffle": true, "lams": 50}"#,
        |s| s.products() <= MOST_PRODUCTS && s.rows >= 2 * s.columns,
    ),
    numbers("relevance vectors", "rvm", "{}", |s| s.rows <= KERNEL_ROWS),
    // Fits of wide kernels are quick, and choosing γ within each fold is not.
    numbers("relevance vectors, wide", "rvm", "{}", |s| s.rows <= KERNEL_ROWS).of_width(0.3),
    numbers("relevance vectors, very wide", "rvm", "{}", |s| s.rows <= KERNEL_ROWS).of_width(0.03),
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
    classes("relevance vectors", "rvc", "{}", |s| s.rows <= CLASS_ROWS),
    classes(
        "multinomial lasso on kernels",
        "smlr",
        r#"{"basis": "rbf", "lam": "cv", "cv_shuffle": true, "lams": 20}"#,
        |s| s.rows <= CLASS_ROWS,
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
    /// Of the difference between its mean and that of the best, in the same folds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_of_difference: Option<f64>,
    /// How many times all rows were split.
    #[serde(default)]
    pub repeats: usize,
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
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    cv: Option<usize>,
    cv_repeats: Option<usize>,
    scoring: Option<String>,
    max_time: Option<f64>,
    max_terms: Option<usize>,
    class_weight: Option<Value>,
    standardize: Option<bool>,
    memory_limit: Option<f64>,
    random_state: Option<u64>,
    n_jobs: Option<usize>,
}

/// Settings of a basis, an engine and so on: there are none.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Part of `max_time` after which nothing more is tried: the rest is for the fit to all rows.
const TRYING: f64 = 0.75;
/// Of what is left then, the fit gets at least this part of `max_time`.
const FITTING: f64 = 0.05;
/// Rows that are split repeatedly, as long as that is not more than so many rows in all: chance in
/// the split of few rows decides between methods as much as they do.
const SPLIT_ROWS: usize = 1000;
const MOST_REPEATS: usize = 5;
/// A method behind the best by more standard errors of the difference is not split again.
const HOPELESS: f64 = 3.0;

/// A method that takes part, and how it does.
struct Contender {
    tried: Tried,
    /// By repeat the scores of the folds.
    scores: Vec<Vec<f64>>,
    terms: Vec<usize>,
    /// Whether it may still be chosen.
    racing: bool,
    /// Whether there was no time to judge it.
    late: bool,
    failure: Option<Error>,
}

impl Contender {
    fn new(entrant: &Entrant, settings: Map<String, Value>, score: Score) -> Self {
        let tried = Tried {
            name: entrant.name.into(),
            method: entrant.method.into(),
            settings,
            score: score.name().into(),
            mean: None,
            standard_error: None,
            error_of_difference: None,
            repeats: 0,
            terms: None,
            seconds: 0.0,
            chosen: false,
            note: None,
        };
        Self {
            tried,
            scores: Vec::new(),
            terms: Vec::new(),
            racing: true,
            late: false,
            failure: None,
        }
    }

    fn settings(&self) -> String {
        Value::Object(self.tried.settings.clone()).to_string()
    }

    /// Judges it once more.
    fn run(
        &mut self,
        data: &Dataset<'_>,
        folds: &CrossValidation,
        score: Score,
        until: &Until<'_>,
    ) -> Result<()> {
        let first = self.scores.is_empty();
        let began = Instant::now();
        let method = self.tried.method.clone();
        let over = until.is_over();
        let found = match over {
            true => Err(Error::Interrupted),
            false => evaluate(&method, &self.settings(), None, data, folds, &[score], until),
        };
        // Some of the folds are no comparison.
        let found = found.and_then(|found| match found.complete {
            true => Ok(found),
            false => Err(Error::Interrupted),
        });
        match found {
            Ok(found) if found.scores[0].mean.is_finite() => {
                let judged = &found.scores[0];
                self.scores.push(match judged.folds.is_empty() {
                    true => vec![judged.mean],
                    false => judged.folds.clone(),
                });
                self.terms.extend(found.terms);
            }
            Ok(_) => self.leave("its predictions are not finite".into()),
            Err(Error::Interrupted) => {
                until.observer.check()?;
                if first {
                    let begun = if over { "not begun" } else { "stopped" };
                    self.leave(format!("{begun}: max_time was reached"));
                    self.late = true;
                }
            }
            Err(error) => {
                self.leave(error.to_string());
                self.failure = Some(error);
            }
        }
        self.tried.seconds += began.elapsed().as_secs_f64();
        Ok(())
    }

    fn leave(&mut self, note: String) {
        self.racing = false;
        self.tried.note = Some(note);
    }

    /// The scores of the first so many repeats.
    fn first(&self, repeats: usize) -> Vec<f64> {
        self.scores[..repeats.min(self.scores.len())].concat()
    }

    /// Sums up the first so many repeats.
    fn sum_up(&mut self, repeats: usize) {
        let repeats = repeats.min(self.scores.len());
        if repeats == 0 {
            return;
        }
        let scores = self.first(repeats);
        let (mean, error) = mean_and_error(&scores, repeats);
        let terms = &self.terms[..self.terms.len() / self.scores.len() * repeats];
        let tried = &mut self.tried;
        (tried.mean, tried.standard_error, tried.repeats) = (Some(mean), error, repeats);
        tried.terms = Some(terms.iter().sum::<usize>() as f64 / terms.len().max(1) as f64);
    }
}

/// Those that take part, in the folds that all of them have done.
struct Field {
    contenders: Vec<Contender>,
    score: Score,
}

impl Field {
    /// Sums up what all that still race have done, and gives the position of the best.
    fn best(&mut self) -> Option<usize> {
        let racing = self.contenders.iter().filter(|c| c.racing);
        let repeats = racing.map(|c| c.scores.len()).min()?;
        self.contenders.iter_mut().for_each(|c| c.sum_up(repeats));
        let racing = (0..self.contenders.len()).filter(|&k| self.contenders[k].racing);
        let best = racing.min_by(|&a, &b| self.loss(a).total_cmp(&self.loss(b)))?;
        for k in 0..self.contenders.len() {
            self.contenders[k].tried.error_of_difference = self.error_of_difference(k, best);
        }
        Some(best)
    }

    fn loss(&self, k: usize) -> f64 {
        let mean = self.contenders[k].tried.mean.unwrap_or(f64::NAN);
        match self.score.direction() {
            Direction::Smaller => mean,
            Direction::Larger => -mean,
            Direction::Near(value) => (mean - value).abs(),
        }
    }

    /// Standard error of the mean difference in the folds that both have done.
    fn error_of_difference(&self, k: usize, best: usize) -> Option<f64> {
        let (one, other) = (&self.contenders[k], &self.contenders[best]);
        let repeats = one.tried.repeats.min(other.tried.repeats);
        if k == best || repeats == 0 {
            return None;
        }
        let (one, other) = (one.first(repeats), other.first(repeats));
        let differences: Vec<f64> = one.iter().zip(&other).map(|(a, b)| a - b).collect();
        mean_and_error(&differences, repeats).1
    }

    /// Those that are behind by too much race no more.
    fn drop_hopeless(&mut self) {
        let Some(best) = self.best() else { return };
        for k in 0..self.contenders.len() {
            let behind = self.loss(k) - self.loss(best);
            let contender = &mut self.contenders[k];
            let hopeless = |error| behind > HOPELESS * error;
            if contender.racing && contender.tried.error_of_difference.is_some_and(hopeless) {
                contender.racing = false;
            }
        }
    }

    /// Positions of the best, and of that with the fewest terms within one standard error of it.
    ///
    /// One is within it if it is so beyond chance: if the upper end of the difference, one standard
    /// error of the difference above its mean, is. A mean alone would let those in that happen to
    /// be near in these folds.
    fn smallest_near_best(&mut self) -> Option<(usize, usize)> {
        let best = self.best()?;
        let own = self.contenders[best].tried.standard_error.unwrap_or(0.0);
        let near = |&k: &usize| {
            let contender = &self.contenders[k];
            let upper = |error: f64| self.loss(k) - self.loss(best) + error;
            let within = contender.tried.error_of_difference.is_some_and(|e| upper(e) <= own);
            k == best || contender.racing && within
        };
        let terms = |k: usize| self.contenders[k].tried.terms.unwrap_or(f64::INFINITY);
        let chosen = (0..self.contenders.len()).filter(near).min_by(|&a, &b| {
            terms(a).total_cmp(&terms(b)).then(self.loss(a).total_cmp(&self.loss(b)))
        })?;
        Some((best, chosen))
    }
}

/// Tries the methods that suit the data in the same folds, each choosing its settings anew within
/// them, and fits the one that keeps the fewest terms within one standard error of the best to all
/// rows. [`Report::tried`](crate::model::Report) tells what was tried.
///
/// A method is within one standard error of the best's mean if the difference between the two in
/// the same folds is so together with its own standard error: what one fold has of hard rows, it
/// has for all methods alike, so that this error is the smaller the more alike they are. Few rows
/// are split repeatedly, which evens out the chance of the split and leaves the errors as honest
/// as they are for one.
///
/// Settings: `cv` (5), `cv_repeats` (5 for up to 200 rows, and fewer for more), `scoring` (`mse` or
/// `deviance`), `max_time`, `max_terms`, and `class_weight`, `standardize`, `memory_limit`,
/// `random_state`, `n_jobs`, which go to every method.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::engine::Silent;
/// let x: Vec<f64> = (0..300).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let y: Vec<f64> = (0..100).map(|i| 2.0 * x[3 * i] + 0.1 * ((i * i) as f64).cos()).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 3)?, &y)?;
/// let model = fewer::select::auto(r#"{"cv_repeats": 2}"#, None, &data, &Silent)?;
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
    let (Nothing {}, own): (Nothing, Settings) = parse_settings(settings, &Settings::default())?;
    check_number("max_time", own.max_time, false)?;
    check_count("cv_repeats", own.cv_repeats)?;
    if functions.is_some() {
        return Err(Error::setting(
            "basis",
            "functions",
            "auto chooses the basis itself: leave the functions out, or choose a method",
        ));
    }
    let task = task_of(data.target());
    let score = chosen_score(&own, task)?;
    let budget = own.max_time.and_then(|t| Duration::try_from_secs_f64(TRYING * t).ok());
    let until = Until { observer, deadline: budget.and_then(|b| started.checked_add(b)) };
    let classes = match data.target() {
        Target::Numbers(_) => 0,
        Target::Labels { classes, .. } => classes.len(),
    };
    let size = Size { rows: data.rows(), columns: data.features().columns(), classes };
    let has_room = |e: &Entrant| own.max_terms.is_none_or(|m| m == 0 || e.share_of(m, &size) > 0);
    let has_width = |e: &Entrant| e.width.is_none() || own.standardize != Some(false);
    let suits = |e: &&Entrant| e.task == task && (e.suits)(&size) && has_room(e) && has_width(e);
    let entrants = ENTRANTS.iter().filter(suits);
    let contenders = entrants.map(|e| Ok(Contender::new(e, settings_of(e, &own, &size)?, score)));
    let mut field = Field { contenders: contenders.collect::<Result<_>>()?, score };
    let repeats =
        own.cv_repeats.unwrap_or_else(|| (SPLIT_ROWS / size.rows.max(1)).clamp(1, MOST_REPEATS));
    for repeat in 0..repeats as u64 {
        let seed = own.random_state.unwrap_or(0).wrapping_add(repeat << 32);
        let folds = CrossValidation::new(own.cv.unwrap_or(5)).shuffled(seed);
        for contender in field.contenders.iter_mut().filter(|c| c.racing) {
            observer.check()?;
            contender.run(data, &folds, score, &until)?;
        }
        if until.is_over() {
            break;
        }
        field.drop_hopeless();
    }
    let Some((best, chosen)) = field.smallest_near_best() else {
        return unjudged(field, &own, started, data, observer);
    };
    let mut tried: Vec<Tried> = field.contenders.into_iter().map(|c| c.tried).collect();
    tried[chosen].chosen = true;
    let mut model = fit_chosen(&tried[chosen], &own, started, data, observer)?;
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

/// Fits to all rows, in the time that is left.
fn fit_chosen(
    tried: &Tried,
    own: &Settings,
    started: Instant,
    data: &Dataset<'_>,
    observer: &dyn Observer,
) -> Result<Model> {
    let mut settings = tried.settings.clone();
    if let Some(limit) = own.max_time {
        let left = (limit - started.elapsed().as_secs_f64()).max(FITTING * limit);
        settings.insert("max_time".into(), left.into());
    }
    fit(&tried.method, &Value::Object(settings).to_string(), None, data, observer)
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
    set("gamma", entrant.width.map(|part| Value::from(part / size.columns.max(1) as f64)));
    set("standardize", own.standardize.map(Value::from));
    set("memory_limit", own.memory_limit.map(Value::from));
    set("random_state", own.random_state.map(Value::from));
    set("n_jobs", own.n_jobs.map(Value::from));
    if entrant.task == Task::Classification {
        set("class_weight", own.class_weight.clone().filter(|w| !w.is_null()));
    }
    Ok(settings)
}

/// Where nothing was judged in time: the quickest that did not fail, without comparing.
fn unjudged(
    field: Field,
    own: &Settings,
    started: Instant,
    data: &Dataset<'_>,
    observer: &dyn Observer,
) -> Result<Model> {
    let mut contenders = field.contenders;
    let Some(chosen) = contenders.iter().position(|c| c.late) else {
        let failure = contenders.into_iter().find_map(|c| c.failure);
        return Err(failure.unwrap_or_else(|| Error::Empty {
            what: "the list of methods".into(),
            expected: "data that one of them suits".into(),
        }));
    };
    contenders[chosen].tried.chosen = true;
    let mut model = fit_chosen(&contenders[chosen].tried, own, started, data, observer)?;
    model.report.notes.push(format!(
        "max_time was reached before any method was judged: {} was taken, which is quick; raise \
         max_time",
        contenders[chosen].tried.name
    ));
    model.report.tried = contenders.into_iter().map(|c| c.tried).collect();
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DenseView;
    use crate::engine::{Interrupted, SelectionProgress};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Stops once, after two folds, as a deadline does, and is silent after that.
    #[derive(Default)]
    struct StopsOnce {
        due: AtomicBool,
        stopped: AtomicUsize,
    }

    impl Observer for StopsOnce {
        fn selection(&self, progress: SelectionProgress) {
            self.due.fetch_or(progress.done == 2, Ordering::Relaxed);
        }

        fn check(&self) -> std::result::Result<(), Interrupted> {
            if self.due.swap(false, Ordering::Relaxed) {
                self.stopped.fetch_add(1, Ordering::Relaxed);
                return Err(Interrupted);
            }
            Ok(())
        }
    }

    #[test]
    fn some_of_the_folds_are_no_comparison() {
        let x: Vec<f64> = (0..120).map(|i| (f64::from(i * i) * 0.7).sin()).collect();
        let y: Vec<f64> = (0..40).map(|i| x[3 * i] + (i as f64).cos()).collect();
        let data = Dataset::new(DenseView::by_rows(&x, 40, 3).unwrap(), &y).unwrap();
        let own = Settings { n_jobs: Some(1), ..Settings::default() };
        let size = Size { rows: 40, columns: 3, classes: 0 };
        let entrant = &ENTRANTS[0];
        let settings = settings_of(entrant, &own, &size).unwrap();
        let mut contender = Contender::new(entrant, settings, Score::Mse);
        let stops = StopsOnce::default();
        let until = Until { observer: &stops, deadline: None };
        let folds = CrossValidation::new(5).shuffled(1);
        contender.run(&data, &folds, Score::Mse, &until).unwrap();
        assert_eq!(stops.stopped.into_inner(), 1);
        assert!(contender.scores.is_empty() && contender.late && !contender.racing);
    }
}
