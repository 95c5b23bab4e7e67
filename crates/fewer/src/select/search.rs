//! The search for the best settings.

use super::criterion::Criterion;
use super::fold_data::{TestPart, TrainingPart};
use super::folds::{CrossValidation, Split};
use super::golden::golden_section;
use super::grid::{GAMMA_FACTOR, Gammas, Lams, log_spaced, path_lams};
use super::in_order::in_order;
use super::memory::{cache_fits, fits_at_once, with_usual_basis};
use super::score::{Direction, Score, task_of};
use super::selection::{Point, Rule, Selection, choose, mean_and_error};
use crate::basis::{KernelCache, KernelForm, UserFunction};
use crate::data::{Dataset, counted_rows};
use crate::engine::{Observer, SelectionProgress, StopOnly};
use crate::error::{Error, Result};
use crate::method::{fit_once, fit_path, has_largest_lam, has_warm_path, is_saturated, on_threads};
use crate::model::Model;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

type Settings = Map<String, Value>;

/// With more terms for each row, evidence is no criterion.
const TERMS_PER_ROW: f64 = 0.5;

/// A search for the best settings of a method, by cross-validation or a criterion.
///
/// The same folds and values of λ serve all fits; a fold's fit sees the same data with weight 0
/// on the rows held out, and λ times its part of the weight of all rows, since λ stands against
/// a sum over rows (so λ per row is the same, as in glmnet and scikit-learn). The answer does not depend on the number of threads, the method's
/// `n_jobs`. A limit of the method such as `max_time` holds for each fit.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::engine::Silent;
/// use fewer::select::{CrossValidation, Lams, Rule, Search};
///
/// let x: Vec<f64> = (0..400).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let y: Vec<f64> = x.chunks(5).map(|x| 1.0 + 3.0 * x[0] + 0.3 * (9.0 * x[1]).sin()).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 80, 5)?, &y)?;
///
/// let search = Search::new("sparse", r#"{"prior": "laplace"}"#)?
///     .lams(Lams::Spaced { count: 20, min_ratio: None })
///     .folds(CrossValidation::k_fold(4).shuffled(0))
///     .rule(Rule::OneSe);
/// let selection = search.run(&data, &Silent)?;
/// assert_eq!((selection.points.len(), selection.score.as_str()), (20, "mse"));
///
/// let model = search.fit(&data, &Silent)?;
/// assert_eq!(model.terms()[0].name, "x1");
/// assert_eq!(model.report().selection.as_ref(), Some(&selection));
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Search {
    pub(super) method: String,
    pub(super) settings: Settings,
    pub(super) functions: Option<UserFunction>,
    pub(super) axes: Vec<(String, Vec<Value>)>,
    pub(super) lams: Option<Lams>,
    pub(super) gammas: Option<Gammas>,
    pub(super) by: By,
    pub(super) rule: Rule,
    /// What the user wrote instead of numbers, for the model to keep.
    pub(super) words: Settings,
}

/// What settings are judged by.
#[derive(Debug, Clone)]
pub(super) enum By {
    Folds(CrossValidation, Option<Score>),
    Criterion(Criterion),
}

/// A fit that a search has done.
#[derive(Debug, Clone, Copy)]
pub struct FinishedFit<'a> {
    /// The settings tried.
    pub settings: &'a Map<String, Value>,
    /// The fold, from 0; none where a criterion judges.
    pub fold: Option<usize>,
    /// Its score, or the criterion; none where predictions were beyond floating point.
    pub score: Option<f64>,
    /// Terms kept.
    pub terms: usize,
}

impl Search {
    /// A search with the given settings of the method, in which words such as `"lam": "cv"` say
    /// what to search: see the [module](super)'s table.
    pub fn new(method: &str, settings: &str) -> Result<Self> {
        super::words::read(method, settings)
    }

    /// The user's own functions for a basis.
    pub fn functions(mut self, functions: Option<UserFunction>) -> Self {
        self.functions = functions;
        self
    }

    /// Chooses `lam` among these.
    pub fn lams(mut self, lams: Lams) -> Self {
        self.lams = Some(lams);
        self
    }

    /// Chooses `gamma` among these.
    pub fn gammas(mut self, gammas: Gammas) -> Self {
        self.gammas = Some(gammas);
        self
    }

    /// Chooses any other setting among these values.
    pub fn values(mut self, setting: &str, values: Vec<Value>) -> Self {
        self.axes.push((setting.into(), values));
        self
    }

    /// Judges by cross-validation in these folds.
    pub fn folds(mut self, folds: CrossValidation) -> Self {
        let score = match self.by {
            By::Folds(_, score) => score,
            By::Criterion(_) => None,
        };
        self.by = By::Folds(folds, score);
        self
    }

    /// Judges by this score; the mean squared error or the deviance otherwise.
    pub fn score(mut self, score: Score) -> Self {
        let folds = match self.by {
            By::Folds(folds, _) => folds,
            By::Criterion(_) => CrossValidation::default(),
        };
        self.by = By::Folds(folds, Some(score));
        self
    }

    /// Judges by a criterion, without folds.
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.by = By::Criterion(criterion);
        self
    }

    /// Which point to choose.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// The method's own settings.
    pub(crate) fn method_settings(&self) -> String {
        to_json(&self.settings)
    }

    /// Whether there is nothing to choose.
    pub fn is_empty(&self) -> bool {
        self.lams.is_none() && self.gammas.is_none() && self.axes.is_empty()
    }

    /// Tries everything and chooses.
    ///
    /// When the observer asks to stop, the points that are finished in all folds are returned with
    /// `complete: false`; without any, those in the folds that are finished; without any,
    /// [`Error::Interrupted`].
    pub fn run(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Selection> {
        self.run_with(data, observer, &|_| {})
    }

    /// The same, and tells of each fit when it is finished, one at a time.
    pub fn run_with(
        &self,
        data: &Dataset<'_>,
        observer: &dyn Observer,
        each: &(dyn Fn(FinishedFit<'_>) + Sync),
    ) -> Result<Selection> {
        self.check()?;
        let data = data.checked()?;
        let settings = with_usual_basis(&self.method, &self.settings);
        let (n_jobs, settings) = without_threads(&settings);
        on_threads(n_jobs, || {
            let (split, score) = match &self.by {
                By::Folds(folds, score) => {
                    let score = score.unwrap_or(Score::usual(task_of(data.target())));
                    score.check(data.target())?;
                    (Some(folds.split(&data)?), Some(score))
                }
                By::Criterion(_) => (None, None),
            };
            let folds = split.as_ref().map_or(0, Split::len);
            let cache = self.kernel_cache(&settings, &data, folds)?;
            let data = data.with_kernel_cache(cache);
            let run = Run {
                search: self,
                at_once: fits_at_once(&settings, &data),
                settings,
                data: &data,
                split,
                score,
                observer,
                each,
                board: Mutex::new(Board::new()),
            };
            run.run()
        })
    }

    /// Chooses, and fits all data with what was chosen; the model's report has the selection.
    pub fn fit(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        let selection = self.run(data, observer)?;
        if !selection.complete {
            return Err(Error::Interrupted);
        }
        let mut settings = self.settings.clone();
        settings.extend(selection.chosen_point().settings.clone());
        let functions = self.functions.clone();
        let mut model = fit_once(&self.method, &to_json(&settings), functions, data, observer)?;
        if let Value::Object(kept) = &mut model.settings {
            kept.extend(self.words.clone());
        }
        model.report.notes.extend(selection.notes.iter().cloned());
        model.report.selection = Some(selection);
        Ok(model)
    }

    /// Distances between rows for kernels of several widths to share; with standardised inputs
    /// each fold has units, and distances, of its own.
    fn kernel_cache(
        &self,
        settings: &Settings,
        data: &Dataset<'_>,
        folds: usize,
    ) -> Result<Option<Arc<KernelCache>>> {
        let standardize = settings.get("standardize") != Some(&Value::Bool(false));
        let count = if standardize { folds + 1 } else { 1 };
        let useful = self.gammas.is_some() || self.lams.is_some();
        if useful && cache_fits(settings, data, count) {
            return Ok(Some(Arc::new(KernelCache::new(data)?)));
        }
        Ok(None)
    }

    fn check(&self) -> Result<()> {
        if self.is_empty() {
            return Err(Error::Empty {
                what: "the search".into(),
                expected: "name a setting to choose, such as \"lam\": \"cv\"".into(),
            });
        }
        if let Some((name, _)) = self.axes.iter().find(|axis| axis.1.is_empty()) {
            return Err(Error::Empty {
                what: format!("the list of values of {name}"),
                expected: "at least one is needed".into(),
            });
        }
        if let Some(lams) = &self.lams {
            lams.check()?;
            if let Some(ratio) = self.settings.get("lam_ratio").filter(|v| !v.is_null()) {
                return Err(Error::setting("lam_ratio", ratio, "lam is searched: leave it out"));
            }
            if matches!(lams, Lams::Spaced { .. }) && !has_largest_lam(&self.method) {
                let word = self.words.get("lam").and_then(Value::as_str);
                return Err(Error::setting(
                    "lam",
                    word.unwrap_or("searched"),
                    "no λ is so large that the model must be empty, to begin with: say which to \
                     try in lams, such as [0.1, 1, 10]",
                ));
            }
        }
        if let Some(gammas) = &self.gammas {
            gammas.check()?;
        }
        match &self.by {
            By::Criterion(Criterion::Evidence) if self.lams.is_some() => Err(Error::setting(
                "lam",
                "evidence",
                "the evidence leaves out the prior of λ, so that the smallest λ always wins: \
                 choose by \"cv\", or leave lam to lam_rule",
            )),
            By::Criterion(criterion) if self.rule == Rule::OneSe => Err(Error::setting(
                "rule",
                self.rule.name(),
                format!("{} has no standard error, which folds give", criterion.name()),
            )),
            By::Folds(_, Some(score)) if matches!(score.direction(), Direction::Near(_)) => {
                Err(Error::setting(
                    "scoring",
                    score,
                    "it tells whether a model knows its errors, not whether they are small: \
                     choose by deviance",
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The settings without the number of threads, which the pool around all fits has.
pub(super) fn without_threads(settings: &Settings) -> (Option<usize>, Settings) {
    let mut settings = settings.clone();
    let threads = settings.get("n_jobs").and_then(Value::as_u64).filter(|n| *n > 0);
    if threads.is_some() {
        settings.remove("n_jobs");
    }
    (threads.map(|n| n as usize), settings)
}

pub(super) fn to_json(settings: &Settings) -> String {
    // A map of JSON values always is JSON.
    serde_json::to_string(settings).unwrap_or_default()
}

/// Values of all settings but λ, and the λ's to try with them.
struct Combination {
    chosen: Settings,
    lams: Option<Vec<f64>>,
}

impl Combination {
    fn fits(&self) -> usize {
        self.lams.as_ref().map_or(1, Vec::len)
    }
}

/// A point that is being tried.
struct Pending {
    settings: Settings,
    /// For each fold that is done the score, if there is one, and the terms.
    fits: Vec<Option<(Option<f64>, usize)>>,
    /// Whether its terms follow the rows it is judged by, one after the other.
    saturated: bool,
}

/// One fit of a point.
struct Judged {
    score: Option<f64>,
    terms: usize,
    saturated: bool,
}

impl Pending {
    /// The scores, where all folds are done and have one.
    fn complete(&self) -> Option<Vec<f64>> {
        self.fits.iter().map(|fit| (*fit)?.0).collect()
    }

    /// Scores and mean number of terms in some folds, where these are done and have a score.
    fn in_folds(&self, folds: &[usize]) -> Option<(Vec<f64>, f64)> {
        let scores = folds.iter().map(|&f| self.fits[f]?.0).collect::<Option<Vec<f64>>>()?;
        let terms: usize = folds.iter().filter_map(|&f| Some(self.fits[f]?.1)).sum();
        Some((scores, terms as f64 / folds.len() as f64))
    }
}

/// What is done so far.
struct Board {
    points: Vec<Pending>,
    done: usize,
    /// Fits of these that were cut short.
    unfinished: usize,
    all: usize,
    best: Option<f64>,
    started: Instant,
}

impl Board {
    fn new() -> Self {
        let started = Instant::now();
        Self { points: Vec::new(), done: 0, unfinished: 0, all: 0, best: None, started }
    }

    /// Whether any point is complete and not saturated.
    fn has_sound(&self) -> bool {
        self.points.iter().any(|p| !p.saturated && p.complete().is_some())
    }
}

struct Run<'r, 'd> {
    search: &'r Search,
    settings: Settings,
    data: &'r Dataset<'d>,
    split: Option<Split>,
    score: Option<Score>,
    observer: &'r dyn Observer,
    each: &'r (dyn Fn(FinishedFit<'_>) + Sync),
    at_once: usize,
    board: Mutex<Board>,
}

impl Run<'_, '_> {
    fn run(self) -> Result<Selection> {
        let ended = self.try_all();
        match ended {
            Ok(()) => self.finish(true),
            Err(Error::Interrupted) => self.finish(false),
            Err(error) => Err(error),
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folds(&self) -> usize {
        self.split.as_ref().map_or(1, Split::len)
    }

    fn loss(&self, value: f64) -> f64 {
        self.score.map_or(value, |s| s.loss(value))
    }

    fn try_all(&self) -> Result<()> {
        let gammas = match &self.search.gammas {
            Some(gammas) => Some(self.gammas(gammas)?),
            None => None,
        };
        let combinations = self.combinations(gammas.as_deref())?;
        let refine = match &self.search.gammas {
            Some(Gammas::Around { count, refine }) if *count > 1 => *refine,
            _ => 0,
        };
        let fits: usize = combinations.iter().map(Combination::fits).sum();
        let last = combinations.last().map_or(0, Combination::fits);
        self.board().all = (fits + self.refined() * refine * last) * self.folds();
        self.try_combinations(&combinations)?;
        match gammas {
            Some(gammas) if refine > 0 => self.refine(&gammas, refine),
            _ => Ok(()),
        }
    }

    fn fit_all_rows(&self, changes: &[(&str, Value)], chosen: &Settings) -> Result<Model> {
        let mut settings = self.settings.clone();
        settings.extend(chosen.clone());
        settings.extend(changes.iter().map(|(name, value)| (name.to_string(), value.clone())));
        let search = self.search;
        let functions = search.functions.clone();
        let observer = StopOnly(self.observer);
        fit_once(&search.method, &to_json(&settings), functions, self.data, &observer)
    }

    /// The γ's to try, rising; where they are not given, around the `scale` rule's.
    fn gammas(&self, gammas: &Gammas) -> Result<Vec<f64>> {
        let mut changes = vec![("gamma", "scale".into()), ("max_iter", 1.into())];
        if let Some(lam) = self.lam_placeholder() {
            changes.push(lam);
        }
        let model = self
            .fit_all_rows(&changes, &self.first_values())
            .map_err(|e| self.named(e, "lam_ratio", "lam"))?;
        let kernel = model.kernel().filter(|k| !matches!(k.form(), KernelForm::LinearKernel));
        let Some(centre) = kernel.and_then(|k| k.gamma()) else {
            return Err(Error::setting(
                "gamma",
                self.word("gamma"),
                "the basis has no gamma; choose a kernel, such as \"basis\": \"rbf\"",
            ));
        };
        Ok(match gammas {
            Gammas::Values(values) => values.clone(),
            Gammas::Around { count: 1, .. } => vec![centre],
            Gammas::Around { count, .. } => {
                log_spaced(centre / GAMMA_FACTOR, centre * GAMMA_FACTOR, *count)
            }
        })
    }

    /// Some λ, while it does not matter which.
    fn lam_placeholder(&self) -> Option<(&'static str, Value)> {
        self.search.lams.as_ref().map(|lams| match lams {
            Lams::Values(values) => ("lam", values.first().copied().unwrap_or(0.0).into()),
            Lams::Spaced { .. } => ("lam_ratio", 1.0.into()),
        })
    }

    fn first_values(&self) -> Settings {
        let axes = self.search.axes.iter();
        axes.filter_map(|(name, values)| Some((name.clone(), values.first()?.clone()))).collect()
    }

    fn word(&self, setting: &str) -> String {
        let word = self.search.words.get(setting).and_then(Value::as_str);
        word.unwrap_or("searched").to_string()
    }

    /// Blames the setting that the user wrote.
    fn named(&self, error: Error, inner: &str, outer: &str) -> Error {
        match error {
            Error::Setting { name, expected, .. } if name == inner => {
                Error::setting(outer, self.word(outer), expected)
            }
            other => other,
        }
    }

    /// All combinations of values, each with its λ's.
    fn combinations(&self, gammas: Option<&[f64]>) -> Result<Vec<Combination>> {
        let mut chosen = vec![Settings::new()];
        let mut multiply = |name: &str, values: &[Value]| {
            chosen = chosen
                .iter()
                .flat_map(|c| {
                    values.iter().map(move |v| {
                        let mut next = c.clone();
                        next.insert(name.into(), v.clone());
                        next
                    })
                })
                .collect();
        };
        for (name, values) in &self.search.axes {
            multiply(name, values);
        }
        if let Some(gammas) = gammas {
            multiply("gamma", &gammas.iter().map(|&g| g.into()).collect::<Vec<Value>>());
        }
        let (grids, failure) = in_order(chosen.len(), self.at_once, |k| self.lams_for(&chosen[k]));
        if let Some(error) = failure {
            return Err(error);
        }
        let grids = grids.into_iter().flatten();
        Ok(chosen
            .into_iter()
            .zip(grids)
            .map(|(chosen, lams)| Combination { chosen, lams })
            .collect())
    }

    /// The λ's to try with the other settings, from large to small.
    fn lams_for(&self, chosen: &Settings) -> Result<Option<Vec<f64>>> {
        let Some(lams) = &self.search.lams else { return Ok(None) };
        Ok(Some(match lams {
            Lams::Values(values) => {
                let mut values = values.clone();
                values.sort_by(|a, b| b.total_cmp(a));
                values.dedup();
                values
            }
            Lams::Spaced { count, min_ratio } => {
                // λ_max is known before the first iteration.
                let changes = [("lam_ratio", 1.0.into()), ("max_iter", 1.into())];
                let model = self
                    .fit_all_rows(&changes, chosen)
                    .map_err(|e| self.named(e, "lam_ratio", "lam"))?;
                let Some(largest) = model.report().lam else {
                    return Err(Error::setting(
                        "lam",
                        self.word("lam"),
                        format!("{} has no λ to choose", model.method()),
                    ));
                };
                let rows = counted_rows(self.data.rows(), self.data.weights());
                path_lams(largest, rows, model.basis_size(), *count, *min_ratio)
            }
        }))
    }

    /// Fits every combination in every fold, begun in the order of the combinations.
    fn try_combinations(&self, combinations: &[Combination]) -> Result<()> {
        struct Task<'c> {
            combination: &'c Combination,
            lams: Option<&'c [f64]>,
            fold: usize,
            first: usize,
        }
        let mut tasks = Vec::new();
        for combination in combinations {
            let mut add = |settings: Vec<Settings>, lams| {
                let mut board = self.board();
                let first = board.points.len();
                board.points.extend(settings.into_iter().map(|settings| Pending {
                    settings,
                    fits: vec![None; self.folds()],
                    saturated: false,
                }));
                tasks.extend((0..self.folds()).map(|fold| Task { combination, lams, fold, first }));
            };
            match &combination.lams {
                None => add(vec![combination.chosen.clone()], None),
                Some(lams) => {
                    // Where fits do not start from one another, short parts lose least when they
                    // are interrupted.
                    let part = if has_warm_path(&self.search.method) {
                        lams.len()
                    } else {
                        (lams.len() / 5).clamp(5, 20)
                    };
                    for part in lams.chunks(part.max(1)) {
                        let with = |lam: &f64| {
                            let mut settings = combination.chosen.clone();
                            settings.insert("lam".into(), (*lam).into());
                            settings
                        };
                        add(part.iter().map(with).collect(), Some(part));
                    }
                }
            }
        }
        let (_, failure) = in_order(tasks.len(), self.at_once, |k| {
            let task = &tasks[k];
            let judged = self.judge(&task.combination.chosen, task.lams, task.fold)?;
            for (k, judged) in judged.into_iter().enumerate() {
                self.record(task.first + k, task.fold, judged);
            }
            Ok(())
        });
        failure.map_or(Ok(()), Err)
    }

    /// What is said of each λ in a fold.
    fn judge(&self, chosen: &Settings, lams: Option<&[f64]>, fold: usize) -> Result<Vec<Judged>> {
        let search = self.search;
        let observer = StopOnly(self.observer);
        observer.check()?;
        let mut settings = self.settings.clone();
        settings.extend(chosen.clone());
        let fits = |settings: &Settings, data: &Dataset<'_>, share: f64| -> Result<Vec<Model>> {
            let (method, functions) = (&search.method, search.functions.clone());
            let settings = to_json(settings);
            let models = match lams {
                Some(lams) => {
                    let lams: Vec<f64> = lams.iter().map(|lam| share * lam).collect();
                    fit_path(method, &settings, functions, data, &lams, &observer)?
                }
                None => vec![fit_once(method, &settings, functions, data, &observer)?],
            };
            let cut = |m: &&Model| m.report().termination.is_cut_short();
            self.board().unfinished += models.iter().filter(cut).count();
            Ok(models)
        };
        let by_evidence = self.is_by_evidence();
        let judged = |score: Result<f64>, model: &Model| {
            let score = match score {
                Ok(score) => score.is_finite().then_some(score),
                // Predictions beyond floating point make these settings bad, not the search.
                Err(Error::Value { .. }) => None,
                Err(error) => return Err(error),
            };
            let rows: f64 = match self.data.weights() {
                Some(weights) => weights.iter().sum(),
                None => self.data.rows() as f64,
            };
            let many = model.n_terms() as f64 > TERMS_PER_ROW * rows;
            let saturated = by_evidence && (many || is_saturated(model));
            Ok(Judged { score, terms: model.n_terms(), saturated })
        };
        match (&self.split, self.score, &search.by) {
            (Some(split), Some(score), _) => {
                let training = TrainingPart::new(self.data, split, fold)?;
                let models = fits(&training.settings(&settings), &training.data, training.share)?;
                let test = TestPart::new(self.data, split.test(fold))?;
                let judge = |model: &Model| {
                    let predicted = test.predicted_by(model)?;
                    score.of(&test.target, &predicted, test.weights.as_deref())
                };
                models.iter().map(|m| judged(judge(m), m)).collect()
            }
            (_, _, By::Criterion(criterion)) => {
                let models = fits(&settings, self.data, 1.0)?;
                models.iter().map(|m| judged(criterion.of(m, self.data), m)).collect()
            }
            _ => Ok(Vec::new()),
        }
    }

    fn is_by_evidence(&self) -> bool {
        matches!(self.search.by, By::Criterion(Criterion::Evidence))
    }

    fn record(&self, point: usize, fold: usize, judged: Judged) {
        let Judged { score, terms, saturated } = judged;
        let mut board = self.board();
        let pending = &mut board.points[point];
        pending.saturated |= saturated;
        pending.fits[fold] = Some((score, terms));
        if let Some(scores) = pending.complete() {
            let mean = mean_and_error(&scores, 1).0;
            if board.best.is_none_or(|b| self.loss(mean) < self.loss(b)) {
                board.best = Some(mean);
            }
        }
        board.done += 1;
        let seconds = board.started.elapsed().as_secs_f64() / board.done as f64;
        (self.each)(FinishedFit {
            settings: &board.points[point].settings,
            fold: self.split.is_some().then_some(fold),
            score,
            terms,
        });
        self.observer.selection(SelectionProgress {
            done: board.done,
            all: board.all,
            best: board.best,
            seconds_left: Some(seconds * board.all.saturating_sub(board.done) as f64),
        });
    }

    /// The folds that judge: all, unless an interruption came before any point was complete in all.
    /// Then those in which most points are; a path is fitted in one fold after the other.
    fn judges(&self) -> Vec<usize> {
        let board = self.board();
        let all: Vec<usize> = (0..self.folds()).collect();
        if board.points.iter().any(|p| p.complete().is_some()) {
            return all;
        }
        let done = |f: &usize| board.points.iter().filter(|p| p.fits[*f].is_some()).count();
        let most = all.iter().map(done).max().unwrap_or(0);
        all.into_iter().filter(|f| most > 0 && done(f) == most).collect()
    }

    /// The points that are complete in the given folds.
    fn points(&self, folds: &[usize]) -> Vec<Point> {
        let repeats = if folds.len() == self.folds() { self.repeats() } else { 1 };
        let board = self.board();
        // The evidence of terms that follow the rows is too large: each has its best variance.
        let leave_out = board.has_sound();
        let complete = board.points.iter().filter(|p| !(leave_out && p.saturated));
        let complete = complete.filter_map(|p| Some((p, p.in_folds(folds)?)));
        complete
            .map(|(p, (scores, terms))| {
                let (mean, standard_error) = mean_and_error(&scores, repeats);
                Point {
                    settings: p.settings.clone(),
                    mean,
                    standard_error,
                    scores: if self.split.is_some() { scores } else { Vec::new() },
                    terms,
                }
            })
            .collect()
    }

    fn repeats(&self) -> usize {
        self.split.as_ref().map_or(1, Split::repeats)
    }

    /// Golden-section searches for γ between the neighbours of the best ones.
    fn refine(&self, gammas: &[f64], evaluations: usize) -> Result<()> {
        let mut points = self.points(&(0..self.folds()).collect::<Vec<usize>>());
        for _ in 0..self.refined() {
            let best = choose(&points, Rule::Best, |m| self.loss(m));
            let Some((best, _)) = best else { break };
            let mut chosen = points[best].settings.clone();
            chosen.remove("lam");
            let same = |p: &Point| p.settings.get("gamma") == chosen.get("gamma");
            points.retain(|p| !same(p));
            self.refine_around(chosen, gammas, evaluations)?;
        }
        Ok(())
    }

    /// Around how many values of γ others are tried: the evidence is no smooth function of it.
    fn refined(&self) -> usize {
        if self.is_by_evidence() { 2 } else { 1 }
    }

    fn refine_around(
        &self,
        mut chosen: Settings,
        gammas: &[f64],
        evaluations: usize,
    ) -> Result<()> {
        let gamma = chosen.get("gamma").and_then(Value::as_f64);
        let Some(at) = gammas.iter().position(|g| Some(*g) == gamma) else { return Ok(()) };
        let low = gammas[at.saturating_sub(1)];
        let high = gammas[(at + 1).min(gammas.len() - 1)];
        golden_section(low, high, evaluations, |gamma| {
            chosen.insert("gamma".into(), gamma.into());
            let lams = self.lams_for(&chosen)?;
            let first = self.board().points.len();
            self.try_combinations(&[Combination { chosen: chosen.clone(), lams }])?;
            let board = self.board();
            let leave_out = board.has_sound();
            let tried = board.points[first..].iter().filter(|p| !(leave_out && p.saturated));
            Ok(tried
                .filter_map(Pending::complete)
                .map(|scores| self.loss(mean_and_error(&scores, 1).0))
                .fold(f64::INFINITY, f64::min))
        })?;
        Ok(())
    }

    fn finish(&self, complete: bool) -> Result<Selection> {
        let judges = self.judges();
        let points = match judges.is_empty() {
            true => Vec::new(),
            false => self.points(&judges),
        };
        let Some((best, chosen)) = choose(&points, self.search.rule, |m| self.loss(m)) else {
            return Err(if complete {
                Error::Unavailable {
                    what: "a choice of settings".into(),
                    hint: "no point of the grid gave finite predictions; rescale the data, or \
                           give other values"
                        .into(),
                }
            } else {
                Error::Interrupted
            });
        };
        let mut notes = self.split.as_ref().map_or(Vec::new(), |s| s.notes().to_vec());
        notes.extend(self.remarks(&points, chosen, complete, judges.len()));
        let (score, larger_is_better) = match (self.score, &self.search.by) {
            (Some(score), _) => (score.name(), score.direction() == Direction::Larger),
            (None, By::Criterion(criterion)) => (criterion.name(), false),
            (None, By::Folds(..)) => ("", false),
        };
        let repeats = if judges.len() == self.folds() { self.repeats() } else { 1 };
        Ok(Selection {
            score: score.into(),
            larger_is_better,
            rule: self.search.rule,
            points,
            best,
            chosen,
            folds: self.split.as_ref().map_or(0, |_| judges.len() / repeats),
            repeats,
            complete,
            notes,
        })
    }

    fn remarks(
        &self,
        points: &[Point],
        chosen: usize,
        complete: bool,
        judges: usize,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let tried = self.board().points.len();
        let sound = self.board().has_sound();
        let saturated = self.board().points.iter().filter(|p| sound && p.saturated).count();
        if saturated > 0 {
            notes.push(format!(
                "{saturated} of {tried} points are left out: with a term for every two rows, or \
                 no noise, evidence says little of new rows"
            ));
        }
        if !complete {
            let folds = match self.folds() {
                all if judges < all => format!(" in {judges} of {all} folds, which judge them"),
                _ => String::new(),
            };
            notes.push(format!(
                "the search was interrupted: {} of {tried} points are complete{folds}",
                points.len()
            ));
        } else if points.len() + saturated < tried {
            notes.push(format!(
                "{} of {tried} points are left out: their predictions are beyond floating point",
                tried - points.len() - saturated
            ));
        }
        let Board { unfinished, done, .. } = *self.board();
        if unfinished > 0 {
            notes.push(format!(
                "{unfinished} of the {done} fits that the choice rests on were cut short: raise \
                 max_time or max_iter"
            ));
        }
        for name in ["lam", "gamma"] {
            let of = |p: &Point| p.settings.get(name).and_then(Value::as_f64);
            let Some(value) = of(&points[chosen]) else { continue };
            let others: Vec<f64> = points.iter().filter_map(of).collect();
            let (smallest, largest) =
                others.iter().fold((value, value), |(a, b), &v| (a.min(v), b.max(v)));
            let edge = match (value == smallest, value == largest) {
                (true, false) => "smallest",
                // The largest λ of a path is the empty model, beyond which there is nothing.
                (false, true) if name == "gamma" => "largest",
                _ => continue,
            };
            notes.push(format!(
                "the {edge} {name} tried, {value:.3e}, was chosen: others beyond it may be better"
            ));
        }
        notes
    }
}
