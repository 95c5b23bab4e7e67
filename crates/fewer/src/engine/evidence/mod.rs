//! Marginal-likelihood ascent: columns are added, re-estimated, exchanged and deleted by what each
//! action gains exactly (Tipping & Faul 2003).
//!
//! Actions are not taken one at a time over all candidates. Between two looks at the candidates,
//! the active columns and the noise are brought to a maximum by Newton steps in the logarithms of
//! all precisions, at k³ each; then S and Q of all candidates come from one product of matrices,
//! and several columns are added, each with its exact gain given those before it.

mod block;
mod dictionary;
mod laplace;
#[cfg(test)]
mod laplace_tests;
mod learnt;
mod linearised;
mod mode;
mod noise;
mod objective;
mod orthonormal;
mod pool;
mod posterior;
mod settle;
mod spread;
mod statistics;
mod sweep;
mod tableau;
#[cfg(test)]
mod tests;

pub(crate) use block::block;
pub(crate) use dictionary::{Dictionary, FromGram, FromRows};
pub(crate) use laplace::{FoundMode, maximise_laplace};
pub(crate) use learnt::{
    Learning, LearntShapes, ROWS_FOR_EACH, ROWS_FOR_PARAMETER, Sample, learn, learn_labels,
};
pub(crate) use mode::Rows;
pub(crate) use orthonormal::{Orthonormal, orthonormal};
pub(crate) use sweep::sweep;

use super::{Observer, Progress, Step, Termination};
use crate::error::{Error, Result};
use crate::likelihood::Noise;
use crate::linalg::{Cholesky, Matrix, dot};
use crate::prior::{EvidencePrior, Factors};
use objective::Objective;
use posterior::{Active, Posterior};
use statistics::Statistics;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// When to stop, and what there is.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    /// Gains below this are left.
    pub tol: f64,
    pub max_iter: usize,
    pub max_terms: Option<usize>,
    pub deadline: Option<Instant>,
    pub noise: Noise,
    /// Noise precision beyond which the target counts as explained exactly.
    pub largest_precision: f64,
    /// Where the noise precision begins, if it is estimated.
    pub first_precision: f64,
    /// A column whose best variance gains no more is taken out.
    pub worthless: f64,
    /// Candidates whose correlation with an active column is above 1 less this are left out.
    pub alignment: f64,
    /// While λ follows the terms: one action on one column for each step of the noise and of λ.
    pub as_published: bool,
    pub memory_limit: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            tol: 1e-8,
            max_iter: 10_000,
            max_terms: None,
            deadline: None,
            noise: Noise::Estimated,
            largest_precision: 1e8,
            first_precision: 100.0,
            worthless: 1e-9,
            alignment: 1e-3,
            as_published: false,
            memory_limit: usize::MAX,
        }
    }
}

/// What the engine is given of the data, in units in which columns have length 1.
pub(crate) struct Problem<'a> {
    pub dictionary: &'a dyn Dictionary,
    /// (m,) Φᵀt.
    pub cross: Vec<f64>,
    /// tᵀt.
    pub square: f64,
    /// (m,) The prior is on `units[j]` times the variance of weight j.
    pub units: Vec<f64>,
    /// Rows, by weight.
    pub weight: f64,
    /// Whether an intercept under a flat prior is integrated out.
    pub free_intercept: bool,
    /// A column that does not count as a term.
    pub uncounted: Option<usize>,
}

/// Where the ascent ended.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Active columns, rising.
    pub active: Vec<usize>,
    /// Their weights, for columns of length 1.
    pub mean: Vec<f64>,
    /// (k, k) The covariance of the weights, or (k, 1) their variances where they are independent.
    pub covariance: Matrix,
    /// Precisions of the weights.
    pub alpha: Vec<f64>,
    /// Noise variance.
    pub noise: f64,
    /// log p(t).
    pub log_evidence: f64,
    /// What was maximised.
    pub objective: f64,
    /// The largest gain that is left.
    pub gain: f64,
    pub lam: Option<f64>,
    /// λ and the terms went round in a circle.
    pub cycled: bool,
    /// Candidates left out for being nearly equal to an active column.
    pub aligned: usize,
    pub iterations: usize,
    pub termination: Termination,
    /// After each look at the candidates, with the sign of a minimised objective: where a round of
    /// the search begins it is left worse than it was.
    pub trace: Vec<Step>,
}

/// The state of the ascent.
struct Ascent<'a> {
    dictionary: &'a dyn Dictionary,
    units: &'a [f64],
    options: &'a Options,
    observer: &'a dyn Observer,
    prior: &'a mut dyn EvidencePrior,
    /// The objective, its prior aside.
    frame: Objective<'a>,
    uncounted: Option<usize>,
    /// Active columns.
    active: Vec<usize>,
    data: Active,
    /// The columns that `data` is of.
    gathered: Vec<usize>,
    posterior: Posterior,
    /// Of all columns.
    all: Statistics,
    /// Products of columns that were active before.
    held: HashMap<usize, Vec<f64>>,
    /// Columns that promised a gain which did not come; until something else brings one.
    closed: HashSet<usize>,
    hold_noise: bool,
    /// Whether columns are added one at a time.
    singly: bool,
    /// By how much λ moved last, relatively.
    hyper_change: f64,
    /// Whether λ keeps the value that it has.
    lam_stays: bool,
    /// Whether λ comes to rest before columns come in.
    patient: bool,
    /// Active columns with which the ascent is given up.
    too_many: usize,
    /// Looks at the best candidates alone, since all were looked at.
    glances: usize,
}

/// A column whose S is below this part of the noise precision is one that the active ones span.
const IN_SPAN: f64 = 1e-10;

/// Columns with their precisions, and the noise variance.
pub(crate) type Start = (Vec<(usize, f64)>, f64);

/// Terms that are few, and very few.
const FEW: usize = 40;
const VERY_FEW: usize = 10;

/// Candidates of the first look, where there are at least so many, and how many times more of them
/// there are in the next.
const COARSE: usize = 125;
const MANY_CANDIDATES: usize = 500;
const FINER: usize = 16;

/// Maximises the evidence.
pub(crate) fn maximise(
    problem: &Problem<'_>,
    prior: &mut dyn EvidencePrior,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Found> {
    let m = problem.dictionary.len();
    let by_rules = !prior.is_exact() || prior.has_free_hyper();
    let mut step = if m >= MANY_CANDIDATES && !by_rules { m.div_ceil(COARSE) } else { 1 };
    let mut start = None;
    while step > 1 {
        start = from_few(problem, step, start, prior, options, observer)?;
        step = if start.is_some() { step / FINER } else { 1 };
    }
    // Where terms are many, most products of candidates are asked for sooner or later.
    let table;
    let (mut whole, mut problem) = (None, problem);
    if start.is_none() && (MANY_CANDIDATES..=FEW_CANDIDATES).contains(&m) && !by_rules {
        table = dictionary::Table(problem.dictionary.gram(&(0..m).collect::<Vec<usize>>()));
        problem = whole.insert(Problem {
            dictionary: &table,
            cross: problem.cross.clone(),
            units: problem.units.clone(),
            ..*problem
        });
    }
    let mut ascent = Ascent::new(problem, prior, options, observer)?;
    if !by_rules {
        let found = ascent.run_from(start, true, FIRST_TERMS)?;
        return from_all(problem, prior, options, observer, found);
    }
    // Rules as published go their own way from the start.
    let first = ascent.prior.lam();
    let found = ascent.run(false, 0)?;
    ascent.started_again(found, first)
}

/// What was found, or a higher maximum from all columns at once, where these are few and the noise is
/// low: then many columns explain a little each, given the others, and one by one they gain less.
fn from_all(
    problem: &Problem<'_>,
    prior: &mut dyn EvidencePrior,
    options: &Options,
    observer: &dyn Observer,
    found: Found,
) -> Result<Found> {
    if problem.dictionary.len() > FEW_ENOUGH_FOR_ALL
        || found.noise > LOW_NOISE
        || found.active.is_empty()
        || found.termination != Termination::Converged
    {
        return Ok(found);
    }
    let most = options.max_iter.min(LONGEST_FROM_ALL);
    let of_all = block(problem, prior, &Options { max_iter: most, ..options.clone() }, observer)?;
    let columns = of_all.active.iter().copied().zip(of_all.alpha.iter().copied()).collect();
    let start = Some((columns, of_all.noise));
    let onwards = maximise_from(problem, prior, options, observer, start, false)?;
    let ended = [of_all, onwards].into_iter().filter(|f| f.termination == Termination::Converged);
    let higher = ended.filter(|f| f.objective > found.objective);
    let Some(mut best) = higher.max_by(|a, b| a.objective.total_cmp(&b.objective)) else {
        return Ok(found);
    };
    best.iterations += found.iterations;
    best.trace = [found.trace, best.trace].concat();
    Ok(best)
}

/// Maximises the evidence from a start, or from nothing, among all columns at once; with a
/// `search` for a better maximum than the first.
pub(crate) fn maximise_from(
    problem: &Problem<'_>,
    prior: &mut dyn EvidencePrior,
    options: &Options,
    observer: &dyn Observer,
    start: Option<Start>,
    search: bool,
) -> Result<Found> {
    let by_rules = !prior.is_exact() || prior.has_free_hyper();
    let hold = if by_rules { 0 } else { FIRST_TERMS };
    Ascent::new(problem, prior, options, observer)?.run_from(start, search && !by_rules, hold)
}

/// Candidates up to which another start is made from all of them, the noise below which it is worth
/// it (as a part of the target's variance), and its steps.
const FEW_ENOUGH_FOR_ALL: usize = 200;
const LOW_NOISE: f64 = 1e-4;
const LONGEST_FROM_ALL: usize = 500;

/// The noise is held at its first value until there are so many terms: a model of few terms takes
/// for noise what more of them would explain.
const FIRST_TERMS: usize = 10;

/// The columns and precisions, and the noise, that are found among every so many columns, if they
/// are few: what depends on many columns is better sought among all of them.
fn from_few(
    problem: &Problem<'_>,
    step: usize,
    start: Option<Start>,
    prior: &mut dyn EvidencePrior,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Option<Start>> {
    let some = (0..problem.dictionary.len()).step_by(step);
    let before = start.iter().flat_map(|s| s.0.iter().map(|c| c.0));
    let mut chosen: Vec<usize> = some.chain(before).chain(problem.uncounted).collect();
    chosen.sort_unstable();
    chosen.dedup();
    let take = |from: &[f64]| chosen.iter().map(|&j| from[j]).collect::<Vec<f64>>();
    let first = start.is_none();
    let dictionary: Box<dyn Dictionary + '_> = if first {
        Box::new(dictionary::Table(problem.dictionary.gram(&chosen)))
    } else {
        Box::new(dictionary::Part { whole: problem.dictionary, chosen: &chosen })
    };
    let part = Problem {
        dictionary: &*dictionary,
        cross: take(&problem.cross),
        square: problem.square,
        units: take(&problem.units),
        weight: problem.weight,
        free_intercept: problem.free_intercept,
        uncounted: problem.uncounted.and_then(|j| chosen.binary_search(&j).ok()),
    };
    let options = Options { tol: options.tol.max(1e-3), ..options.clone() };
    let start = start.map(|(columns, noise)| {
        let place = |(j, a): (usize, f64)| chosen.binary_search(&j).ok().map(|k| (k, a));
        (columns.into_iter().filter_map(place).collect(), noise)
    });
    let mut ascent = Ascent::new(&part, prior, &options, observer)?;
    ascent.too_many = FEW;
    let mut found = ascent.run_from(start, false, FIRST_TERMS)?;
    // The search costs least where candidates are fewest.
    if first && !found.active.is_empty() && found.active.len() < FEW {
        found = ascent.run(true, 0)?;
    }
    if found.active.len() >= FEW {
        return Ok(None);
    }
    let columns = found.active.iter().map(|&k| chosen[k]).zip(found.alpha).collect();
    Ok(Some((columns, found.noise)))
}

/// A round of the search for a better maximum: the way out of the one that was found.
#[derive(Debug, Clone, Copy)]
enum Kick {
    /// Some columns are taken out, the part of them that is worth least or, below 0, most; then the
    /// noise precision is held at so many times its value while columns are added, and released:
    /// a way out of maxima that take signal for noise.
    Part { precision: f64, out: f64 },
    /// From no column and this noise precision, by one column at a time.
    Afresh { precision: f64 },
    /// From many columns at once, of which most go: those that explain something only together
    /// gain nothing one by one.
    Many,
}

impl Kick {
    /// Whether it leaves enough of a maximum for coming back to mean something.
    fn is_strong(self) -> bool {
        !matches!(self, Kick::Part { out: 0.0, .. })
    }
}

/// For up to [`FEW_CANDIDATES`] and [`FEW`] terms; with more, rounds are long and gain little, and
/// those that leave the columns alone do best.
const KICKS: [Kick; 13] = [
    Kick::Many,
    Kick::Afresh { precision: 100.0 },
    Kick::Part { precision: 3.0, out: 0.5 },
    Kick::Part { precision: 3.0, out: -0.3 },
    Kick::Part { precision: 10.0, out: 0.0 },
    Kick::Part { precision: 3.0, out: 0.0 },
    Kick::Part { precision: 10.0, out: 0.5 },
    Kick::Part { precision: 10.0, out: -0.5 },
    Kick::Part { precision: 30.0, out: 0.0 },
    Kick::Part { precision: 1.0, out: 0.5 },
    Kick::Part { precision: 1.0, out: -0.5 },
    Kick::Afresh { precision: 10.0 },
    Kick::Part { precision: 30.0, out: 0.3 },
];

const MANY_TERMS_KICKS: std::ops::Range<usize> = 4..6;
const FEW_CANDIDATES: usize = 1000;
/// Columns to begin with where they are many, and how much of the target's square their variances
/// make up together.
const AT_ONCE: usize = 100;
/// Terms up to which such a start may lead elsewhere, and columns up to which one is made where λ
/// follows the terms.
const WORTH_ANOTHER: usize = 30;
const VARIANCE_AT_ONCE: f64 = 100.0;
/// How many times as precise as it is known to be noise is held at for a start from nothing.
const PRECISER: f64 = 10.0;
/// Of the columns that are too many one in so many goes at a time.
const THINNED: usize = 8;
/// A second start must be better by this where λ follows the terms: odds of 20.
const CLEARLY: f64 = 3.0;
/// Rounds without success that end this near the best maximum, and for how many each counts.
const NEAR: f64 = 0.05;
const NEAR_COUNTS: usize = 3;
/// Terms up to which adding one at a time is not too slow.
const SINGLY: usize = 60;
/// With more than [`FEW`] terms the search ends where a strong kick leads back to the same maximum,
/// but for this much for each term.
const SAME: f64 = 1e-4;
/// A round this far below the best maximum is left without moving its columns about.
const HOPELESS: f64 = 1.0;
/// Looks at all candidates after which a round is given up.
const LONGEST_ROUND: usize = 300;
/// Steps of λ after which it is taken to go round in a circle: where it follows columns at a maximum,
/// and where it follows single actions.
const LONGEST_CIRCLE: usize = 400;
const LONGEST_OF_ACTIONS: usize = 4000;
/// Steps in which λ may come to rest after a circle.
const LONGEST_WAIT: usize = 100;
/// λ rests where it moves by less, relatively.
const AT_REST: f64 = 1e-6;
/// How closely columns settle at least, and where they are many.
const LOOSE: f64 = 1e-3;
const LOOSE_MANY: f64 = 1.0;
/// Terms that are many.
const MANY: usize = 100;
/// After a gain above this the best candidates are looked at alone.
const WORTH_A_GLANCE: f64 = 1e-3;
/// So many are the best, where there are at least [`LOOKED_AT`] times as many.
const BEST: usize = 256;
const LOOKED_AT: usize = 3;
/// Looks at the best alone, between two at all.
const GLANCES: usize = 6;
/// Rounds of the search that gain less than this for each term are the last.
const SEARCH: f64 = 0.02;

/// Where an ascent begins once more while λ follows the terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Another {
    /// From many columns at once and the first λ: those that explain something only together gain
    /// nothing one by one. A sample of the columns would hardly hold both of a pair, so that all
    /// must be few enough to begin with, unless nothing was found without.
    Many,
    /// From the maximum without λ, for which the noise is held: a λ of few terms that take signal
    /// for noise keeps others out.
    WithoutLam,
}

/// A state to come back to.
#[derive(Clone)]
struct Saved {
    value: f64,
    active: Vec<usize>,
    alpha: Vec<f64>,
    beta: f64,
    lam: Option<f64>,
}

fn largest(gains: &[(f64, f64)]) -> f64 {
    gains.iter().fold(0.0, |a: f64, g| a.max(g.1))
}

/// Stands for the prior where the objective is kept without it.
#[derive(Debug)]
struct Nothing;

impl EvidencePrior for Nothing {
    fn best_variance(&self, _of: Factors, _unit: f64, _noise: f64) -> f64 {
        0.0
    }
}

impl<'a> Ascent<'a> {
    /// With no active column.
    fn new(
        problem: &'a Problem<'_>,
        prior: &'a mut dyn EvidencePrior,
        options: &'a Options,
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        let beta = match options.noise {
            Noise::Known(variance) => 1.0 / variance,
            // Helgøy & Li 2022 start from a tenth of the target's variance, Tipping from a
            // hundredth.
            Noise::Estimated if prior.has_free_hyper() => 0.1 * options.first_precision,
            Noise::Estimated => options.first_precision,
        };
        let data = Active { square: problem.square, ..Active::default() };
        let posterior = Posterior::new(&data, &[], beta, observer)?;
        let all = Statistics::new(problem.cross.clone(), prior.price() > 0.0);
        Ok(Self {
            dictionary: problem.dictionary,
            units: &problem.units,
            options,
            observer,
            prior,
            frame: Objective {
                weight: problem.weight,
                free_intercept: problem.free_intercept,
                prior: &Nothing,
            },
            uncounted: problem.uncounted,
            active: Vec::new(),
            data,
            gathered: Vec::new(),
            posterior,
            all,
            held: HashMap::new(),
            closed: HashSet::new(),
            hold_noise: false,
            singly: false,
            hyper_change: 0.0,
            lam_stays: false,
            patient: false,
            too_many: usize::MAX,
            glances: 0,
        })
    }

    /// Whether there is more to the steps than one objective.
    fn goes_by_rules(&self) -> bool {
        !self.prior.is_exact() || self.lam_follows()
    }

    /// Whether λ is on the move with the terms.
    fn lam_follows(&self) -> bool {
        self.prior.has_free_hyper() && !self.lam_stays
    }

    /// Whether steps of λ are those of the published algorithm.
    fn goes_as_published(&self) -> bool {
        self.options.as_published && self.prior.has_free_hyper()
    }

    /// Whether each step of λ follows one action.
    fn acts_singly(&self) -> bool {
        self.goes_as_published() && self.lam_follows()
    }

    fn objective(&self) -> Objective<'_> {
        Objective { prior: &*self.prior, ..self.frame }
    }

    fn active_units(&self) -> Vec<f64> {
        self.active.iter().map(|&j| self.units[j]).collect()
    }

    /// Ascends from a start, or from nothing with the noise held below so many terms.
    fn run_from(&mut self, start: Option<Start>, search: bool, hold: usize) -> Result<Found> {
        let Some((columns, noise)) = start else { return self.run(search, hold) };
        self.posterior.beta = 1.0 / noise;
        self.activate(&columns)?;
        self.refactor()?;
        self.run(search, 0)
    }

    /// Ascends; `search`es on from the first maximum, and holds the noise where it is below so many
    /// terms.
    fn run(&mut self, search: bool, hold: usize) -> Result<Found> {
        let options = self.options;
        self.closed.clear();
        self.patient = false;
        let (mut trace, mut seen) = (Vec::<Step>::new(), Vec::new());
        // The state of highest evidence of a circle.
        let mut circle: Option<Saved> = None;
        let mut waited = 0;
        let mut best: Option<Saved> = None;
        let mut termination = Termination::IterationLimit;
        let (mut gain, mut iterations, mut cycled) = (f64::INFINITY, 0, false);
        let mut hold = hold;
        let search = search && self.data.square > 0.0;
        // Very few terms that were sought among few candidates are sought no better among all.
        let sought = !self.active.is_empty() && self.active.len() <= VERY_FEW;
        let few =
            self.all.len() <= FEW_CANDIDATES && !(sought && self.all.len() >= MANY_CANDIDATES);
        let mut kicks = if few { &KICKS[..] } else { &KICKS[MANY_TERMS_KICKS] };
        let mut kick = kicks.iter().cycle();
        let (mut strong, mut tried) = (false, false);
        // Sets of columns of which no exchange leads on.
        let mut ends: HashSet<Vec<usize>> = HashSet::new();
        // The objective before columns were last moved about. Where the noise vanishes, rounding
        // can promise what does not come, again and again.
        let mut moved = f64::NEG_INFINITY;
        // Columns that were added last, and the objective before.
        let mut added: (Vec<usize>, f64) = (Vec::new(), f64::NEG_INFINITY);
        // Gains that count: rounds of the search leave small ones to the end.
        let mut tol = options.tol;
        let (mut round, mut last) = (0, false);
        let mut failures = 0;
        // How closely the active columns settle: not much closer than there is to gain elsewhere.
        let closest = 0.1 * options.tol;
        let mut settled = if self.acts_singly() { closest } else { LOOSE.max(closest) };
        while iterations < options.max_iter {
            self.observer.check()?;
            iterations += 1;
            self.hold_noise = self.counted() < hold;
            self.let_go_of_noise();
            // The first action comes before the first step of the noise.
            if iterations > 1 || !self.acts_singly() {
                self.settle(settled)?;
            }
            if self.active.len() >= self.too_many {
                break;
            }
            let change = self.value() - added.1;
            // What rounding may have done is no gain.
            let least = closest.max(self.posterior.rounding());
            let vain = change < least && (change > -least || !self.goes_by_rules());
            if vain && self.hyper_change <= AT_REST {
                self.closed.extend(std::mem::take(&mut added.0));
            } else if !added.0.is_empty() {
                self.closed.clear();
            }
            added = (Vec::new(), f64::NEG_INFINITY);
            let mut gains = self.look(gain, tol);
            gain = largest(&gains);
            if gain <= tol && self.hold_noise {
                hold = 0;
                continue;
            }
            if gain <= tol && settled > closest {
                self.settle(closest)?;
                gains = self.look_at_all();
                gain = largest(&gains);
            }
            settled = self.closeness(gain, closest);
            let objective = -self.value();
            let terms = self.counted();
            trace.push(Step { objective, terms });
            self.observer.progress(Progress {
                iteration: iterations,
                terms,
                objective,
                residual: gain,
            });
            let rests = !self.patient || self.hyper_change <= AT_REST;
            waited += usize::from(!rests);
            let again = match &circle {
                _ if !self.lam_follows() => None,
                Some(state) if waited > LONGEST_WAIT => Some((state.clone(), true)),
                _ if !rests => None,
                _ => self
                    .seen_before(&mut seen)
                    .map(|state| (state, gain > options.tol || self.hyper_change > 10.0 * AT_REST)),
            };
            if let Some((state, circles)) = again {
                let state = if circles && circle.is_none() && !self.goes_as_published() {
                    // Columns that come in while λ moves may be why it does not come to rest.
                    (self.patient, circle) = (true, Some(state.clone()));
                    seen.clear();
                    state
                } else {
                    (cycled, self.lam_stays) = (circles, true);
                    circle.take().filter(|_| circles).unwrap_or(state)
                };
                self.prior.set_hyper(state.lam.unwrap_or(0.0));
                self.restore(state)?;
                continue;
            }
            if options.deadline.is_some_and(|d| Instant::now() >= d) {
                if self.glances > 0 {
                    gain = largest(&self.look_at_all());
                }
                termination = Termination::TimeLimit;
                break;
            }
            let value = -objective;
            round += 1;
            if round > LONGEST_ROUND && self.hold_noise {
                hold = 0;
                continue;
            }
            let acted = if !rests {
                true
            } else if best.is_some() && !last && round > LONGEST_ROUND {
                false
            } else if self.acts_singly() {
                self.act(&gains)?
            } else if gain > tol {
                let before = self.active.len();
                let more = self.add_some(&gains)?;
                added = (self.active[before.min(self.active.len())..].to_vec(), value);
                more
            } else {
                let columns = self.sorted();
                let hopeless = !last && best.as_ref().is_some_and(|b| value < b.value - HOPELESS);
                let vain = value < moved + least && !self.lam_follows();
                let seen = hopeless || vain || ends.contains(&columns) || self.goes_as_published();
                let more = !seen && (self.spread()? || self.exchange_some()?);
                if more {
                    moved = value;
                } else {
                    ends.insert(columns);
                }
                more
            };
            if acted || self.hyper_change > AT_REST {
                continue;
            }
            if self.acts_singly() {
                self.lam_stays = true;
                continue;
            }
            let nothing = self.active.is_empty() && best.is_none();
            if !search || last || nothing && (!few || tried) {
                termination = Termination::Converged;
                break;
            }
            if nothing {
                tried = true;
                hold = self.kick(Kick::Many)?;
                continue;
            }
            let mut noise_only = false;
            if best.is_none() {
                noise_only = self.noise_hides_nothing()?;
                if self.active.len() > FEW {
                    kicks = &KICKS[MANY_TERMS_KICKS];
                    kick = kicks.iter().cycle();
                }
            }
            let before = best.as_ref().map_or(f64::NEG_INFINITY, |b| b.value);
            let enough = SEARCH * (1 + self.active.len()) as f64 + self.posterior.rounding();
            // Where maxima are much alike, little is to be had of others.
            let counts = if few && value > before - NEAR { NEAR_COUNTS } else { 1 };
            failures = if value > before + enough { 0 } else { failures + counts };
            let k = self.active.len();
            let returned = strong && k > FEW && (value - before).abs() < SAME * k as f64;
            self.keep_best(&mut best, value);
            if failures > 0
                && let Some(best) = best.clone()
            {
                self.restore(best)?;
            }
            let done = failures == 0 && gain <= options.tol && self.closed.is_empty();
            (round, moved) = (0, f64::NEG_INFINITY);
            self.closed.clear();
            self.singly = false;
            // With no noise left there is none to take for signal.
            let exact = !few && self.posterior.beta >= options.largest_precision;
            if failures >= kicks.len() || returned || exact || noise_only {
                if done {
                    termination = Termination::Converged;
                    break;
                }
                (last, tol, hold) = (true, options.tol, 0);
                continue;
            }
            tol = options.tol.max(LOOSE);
            let mut next = kick.next();
            let slow = |kick: &&Kick, k: usize| match kick {
                Kick::Afresh { .. } => k > SINGLY,
                Kick::Many => k > WORTH_ANOTHER,
                Kick::Part { .. } => false,
            };
            while next.is_some_and(|next| slow(&next, self.active.len())) {
                next = kick.next();
            }
            let Some(&next) = next else { break };
            strong = next.is_strong();
            hold = self.kick(next)?;
            settled = LOOSE.max(closest);
        }
        // Where a round was cut short, the noise may still be held.
        let held = std::mem::take(&mut self.hold_noise);
        self.let_go_of_noise();
        if held || self.posterior.sigma.rows() != self.active.len() {
            self.refactor()?;
        }
        if let Some(best) = best.filter(|b| b.value > self.value() + options.tol) {
            self.restore(best)?;
        }
        if termination == Termination::Converged {
            self.polish()?;
        }
        let mut found = self.found(gain);
        (found.cycled, found.iterations, found.termination) = (cycled, iterations, termination);
        found.trace = trace;
        Ok(found)
    }

    /// The fit that λ ended with, or a better one from another start.
    ///
    /// A λ that follows the terms maximises no one objective. All ends stand still under the same
    /// rule, and of such the evidence chooses, as it does where λ goes round in a circle; but a
    /// later one must be clearly better, and leave some of the rows to the noise: with as many
    /// terms as rows the evidence is high whatever the target.
    fn started_again(&mut self, found: Found, first: Option<f64>) -> Result<Found> {
        if self.goes_as_published()
            || !self.prior.has_free_hyper()
            || !self.prior.is_exact()
            || found.termination != Termination::Converged
            || self.data.square == 0.0
        {
            return Ok(found);
        }
        let mut best = found;
        for start in [Another::Many, Another::WithoutLam] {
            let Some(again) = self.start_again(start, first, best.active.is_empty())? else {
                continue;
            };
            if again.termination == Termination::Converged
                && again.log_evidence >= best.log_evidence + CLEARLY
                && 2.0 * again.active.len() as f64 <= self.frame.rows()
            {
                let iterations = best.iterations + again.iterations;
                let trace = [best.trace, again.trace].concat();
                best = Found { iterations, trace, ..again };
            }
        }
        self.prior.set_hyper(best.lam.unwrap_or(0.0));
        Ok(best)
    }

    /// The end of another start, where it serves.
    fn start_again(
        &mut self,
        start: Another,
        first: Option<f64>,
        empty: bool,
    ) -> Result<Option<Found>> {
        match start {
            Another::Many => {
                if !empty && self.all.len() > WORTH_ANOTHER {
                    return Ok(None);
                }
                self.prior.set_hyper(first.unwrap_or(0.0));
                self.kick(Kick::Many)?;
            }
            Another::WithoutLam => {
                self.prior.set_hyper(0.0);
                self.lam_stays = true;
                let hold = self.kick(Kick::Afresh { precision: self.options.first_precision })?;
                self.singly = false;
                self.run(false, hold)?;
            }
        }
        self.lam_stays = false;
        self.run(false, 0).map(Some)
    }

    /// Noise that is known, and was held elsewhere for a round of the search, gets its value back;
    /// what follows must settle.
    fn let_go_of_noise(&mut self) {
        if let Noise::Known(variance) = self.options.noise
            && !self.hold_noise
        {
            self.posterior.beta = 1.0 / variance;
        }
    }

    /// How closely to settle where there is so much to gain elsewhere.
    fn closeness(&self, gain: f64, closest: f64) -> f64 {
        let (part, loose) =
            if self.active.len() > MANY { (0.1, LOOSE_MANY) } else { (1e-3, LOOSE) };
        (part * gain).clamp(closest, loose.max(closest))
    }

    /// Whether all columns together explain no more than noise would of what is left, so that no
    /// other maximum takes less for noise. Told only where rows are many more than columns.
    fn noise_hides_nothing(&self) -> Result<bool> {
        let (m, rows) = (self.all.len(), self.frame.rows());
        let told = self.options.noise != Noise::Estimated;
        if told || m > FEW_CANDIDATES || 2.0 * m as f64 > rows {
            return Ok(false);
        }
        if self.dictionary.bytes_for_gram(m) > self.options.memory_limit {
            return Ok(false);
        }
        let gram = self.dictionary.gram(&(0..m).collect::<Vec<usize>>());
        let Ok(factor) = Cholesky::new(gram, self.observer)? else { return Ok(false) };
        let mut weights = self.all.cross.clone();
        factor.solve(&mut weights);
        let left = self.data.square - dot(&weights, &self.all.cross);
        let noise = left / (rows - m as f64);
        // What the other columns explain of noise alone is χ² of so much freedom, which deviates
        // by √(2·freedom).
        let freedom = (m as f64 - self.posterior.freedom()).max(0.0);
        let most = noise * (freedom + 3.0 * (2.0 * freedom).sqrt());
        Ok(self.posterior.residual_square <= left + most)
    }

    /// Leaves a maximum; the number of terms up to which the noise is then held.
    fn kick(&mut self, kick: Kick) -> Result<usize> {
        let k = self.active.len();
        let first = self.options.first_precision;
        // Where the noise is known, precisions are multiples of its own.
        let unit = match self.options.noise {
            Noise::Known(variance) => PRECISER / (variance * first),
            Noise::Estimated => 1.0,
        };
        let (precision, part) = match kick {
            Kick::Part { precision, out } => (precision * self.posterior.beta, out),
            Kick::Afresh { precision } => (precision * unit, 1.0),
            Kick::Many => (first * unit, 1.0),
        };
        self.singly = matches!(kick, Kick::Afresh { .. });
        let mut order = self.by_worth();
        if part < 0.0 {
            order.reverse();
        }
        order.truncate((part.abs() * k as f64).round() as usize);
        order.sort_unstable();
        order.iter().rev().for_each(|&i| self.remove(i));
        self.posterior.beta = precision.min(self.options.largest_precision);
        let m = self.all.len();
        // Two vectors for each are what activating them takes.
        let room = (self.options.memory_limit / (16 * m.max(1))).saturating_sub(1);
        let most = if self.options.max_terms == Some(0) { 0 } else { AT_ONCE.min(room).min(m) };
        if matches!(kick, Kick::Many) && most > 0 {
            let some: Vec<usize> = (0..m).step_by(m.div_ceil(most)).collect();
            let alpha = some.len() as f64 / (VARIANCE_AT_ONCE * self.data.square);
            self.activate(&some.into_iter().map(|j| (j, alpha)).collect::<Vec<_>>())?;
            self.thin_out()?;
        }
        self.refactor()?;
        Ok(match kick {
            Kick::Many => 0,
            Kick::Part { .. } => self.counted() + self.active.len() / 4 + 4,
            Kick::Afresh { .. } => FIRST_TERMS,
        })
    }

    /// Gives up the columns that are worth least until there are no more than `max_terms`, which
    /// settle between.
    fn thin_out(&mut self) -> Result<()> {
        let Some(most) = self.options.max_terms else { return Ok(()) };
        while self.counted() > most {
            self.let_go_of_noise();
            self.settle(LOOSE)?;
            let surplus = self.counted().saturating_sub(most);
            let mut out = self.by_worth();
            out.retain(|&i| Some(self.active[i]) != self.uncounted);
            out.truncate(surplus.min(1 + self.active.len() / THINNED));
            out.sort_unstable();
            out.iter().rev().for_each(|&i| self.remove(i));
        }
        Ok(())
    }

    /// Positions of the active columns, those first that the objective would miss least.
    fn by_worth(&self) -> Vec<usize> {
        let noise = 1.0 / self.posterior.beta;
        let factors = self.objective().factors(&self.posterior).into_iter();
        let worth: Vec<f64> = (factors.zip(self.active_units()).zip(&self.posterior.alpha))
            .map(|((of, unit), a)| self.prior.gain(of, 1.0 / a, unit, noise))
            .collect();
        let mut order: Vec<usize> = (0..worth.len()).collect();
        let by = |a: &usize, b: &usize| {
            worth[*a].total_cmp(&worth[*b]).then(self.active[*a].cmp(&self.active[*b]))
        };
        order.sort_unstable_by(by);
        order
    }

    /// The active columns, rising.
    fn sorted(&self) -> Vec<usize> {
        let mut columns = self.active.clone();
        columns.sort_unstable();
        columns
    }

    /// Remembers terms and λ. Where they were there before, the state of highest evidence since.
    ///
    /// The λ of the published code is not the maximum of one objective, so that it may go round in
    /// a circle with the terms.
    fn seen_before(&self, seen: &mut Vec<(Vec<usize>, i64, Saved)>) -> Option<Saved> {
        let terms = self.sorted();
        let lam = (1e6 * self.prior.lam().unwrap_or(0.0).max(1e-300).ln()).round() as i64;
        let value = self.objective().log_evidence(&self.posterior);
        let longest = if self.acts_singly() { LONGEST_OF_ACTIONS } else { LONGEST_CIRCLE };
        let long = (seen.len() >= longest).then_some(longest / 2);
        // Terms and λ tell the rest where all else is at a maximum for them.
        let alike =
            |s: &Saved| !self.acts_singly() || (s.value - value).abs() <= 1e-9 * value.abs();
        let same = |s: &(Vec<usize>, i64, Saved)| s.1 == lam && alike(&s.2) && s.0 == terms;
        if let Some(first) = seen.iter().position(same).or(long) {
            let states = seen.drain(first..).map(|s| s.2);
            return states.max_by(|a, b| a.value.total_cmp(&b.value));
        }
        seen.push((terms, lam, self.saved(value)));
        None
    }

    fn value(&self) -> f64 {
        self.objective().value(&self.posterior, &self.active_units())
    }

    /// Remembers where the ascent is if nothing of higher value was seen.
    fn keep_best(&self, best: &mut Option<Saved>, value: f64) {
        if best.as_ref().is_none_or(|b| value > b.value) {
            *best = Some(self.saved(value));
        }
    }

    fn saved(&self, value: f64) -> Saved {
        let Posterior { alpha, beta, .. } = &self.posterior;
        let lam = self.prior.lam();
        Saved { value, active: self.active.clone(), alpha: alpha.clone(), beta: *beta, lam }
    }

    /// Goes back to what was remembered.
    fn restore(&mut self, saved: Saved) -> Result<()> {
        while !self.active.is_empty() {
            self.remove(self.active.len() - 1);
        }
        self.posterior.beta = saved.beta;
        let chosen: Vec<(usize, f64)> = saved.active.into_iter().zip(saved.alpha).collect();
        self.activate(&chosen)?;
        self.refactor()
    }

    /// Active columns that count as terms.
    fn counted(&self) -> usize {
        self.active.iter().filter(|j| Some(**j) != self.uncounted).count()
    }

    fn found(&self, gain: f64) -> Found {
        let p = &self.posterior;
        let mut order: Vec<usize> = (0..self.active.len()).collect();
        order.sort_unstable_by_key(|&i| self.active[i]);
        let k = order.len();
        let mut covariance = Matrix::zeros(k, k);
        for (b, &j) in order.iter().enumerate() {
            for (a, &i) in order.iter().enumerate() {
                covariance[(a, b)] = p.sigma[(i, j)];
            }
        }
        Found {
            active: order.iter().map(|&i| self.active[i]).collect(),
            mean: order.iter().map(|&i| p.mean[i]).collect(),
            covariance,
            alpha: order.iter().map(|&i| p.alpha[i]).collect(),
            noise: 1.0 / p.beta,
            log_evidence: self.objective().log_evidence(p),
            objective: self.objective().value(p, &self.active_units()),
            gain,
            lam: self.prior.lam(),
            cycled: false,
            aligned: self.aligned(),
            iterations: 0,
            termination: Termination::Converged,
            trace: Vec::new(),
        }
    }

    /// Everything about the active columns afresh, at their precisions.
    fn refactor(&mut self) -> Result<()> {
        let k = self.active.len();
        // Columns that were there before stand where they stood, or where the last one did.
        let known = (self.gathered.iter().zip(&self.active)).take_while(|(a, b)| a == b).count();
        let mut gram = Matrix::zeros(k, k);
        for b in 0..k {
            let from = if b < known {
                gram.column_mut(b)[..known].copy_from_slice(&self.data.gram.column(b)[..known]);
                known
            } else {
                0
            };
            let source = self.all.column(b);
            let column = gram.column_mut(b)[from..].iter_mut().zip(&self.active[from..]);
            column.for_each(|(g, &j)| *g = source[j]);
        }
        self.data.gram = gram;
        self.gathered.clone_from(&self.active);
        self.data.cross = self.active.iter().map(|&j| self.all.cross[j]).collect();
        let alpha = std::mem::take(&mut self.posterior.alpha);
        self.posterior = Posterior::new(&self.data, &alpha, self.posterior.beta, self.observer)?;
        Ok(())
    }

    /// Takes active column `i` out; the last takes its place.
    fn remove(&mut self, i: usize) {
        self.posterior.delete(i);
        let j = self.active.swap_remove(i);
        self.held.insert(j, self.all.column(i).to_vec());
        self.all.swap_remove(i);
    }

    /// Makes columns active with the given precisions; what follows must refactor.
    fn activate(&mut self, chosen: &[(usize, f64)]) -> Result<()> {
        let missing: Vec<usize> =
            chosen.iter().map(|c| c.0).filter(|j| !self.held.contains_key(j)).collect();
        if !missing.is_empty() {
            let all: Vec<usize> = (0..self.all.len()).collect();
            let products = self.dictionary.products(&all, &missing);
            for (c, &j) in missing.iter().enumerate() {
                self.held.insert(j, products.column(c).to_vec());
            }
        }
        let m = self.all.len();
        let needed = 8 * m * (2 * (self.active.len() + self.held.len()) + 2);
        if needed > self.options.memory_limit {
            self.held.retain(|j, _| chosen.iter().any(|c| c.0 == *j));
            let needed = 8 * m * (2 * (self.active.len() + self.held.len()) + 2);
            if needed > self.options.memory_limit {
                return Err(Error::memory(
                    format!("a model of {} terms", self.active.len() + chosen.len()),
                    needed as f64,
                    self.options.memory_limit as f64,
                    "raise memory_limit, set max_terms, or limit the centres with candidates",
                ));
            }
        }
        for &(j, alpha) in chosen {
            if let Some(column) = self.held.remove(&j) {
                self.all.products.extend_from_slice(&column);
                self.active.push(j);
                self.posterior.alpha.push(alpha);
            }
        }
        Ok(())
    }

    /// Those of some inactive columns that are not nearly equal to an active one.
    fn open(&self, mut columns: Vec<usize>) -> Vec<usize> {
        let limit = 1.0 - self.options.alignment;
        columns.retain(|j| !self.closed.contains(j));
        for k in 0..self.active.len() {
            let products = self.all.column(k);
            columns.retain(|&j| products[j].abs() <= limit);
        }
        columns
    }

    /// Inactive columns of which the evidence has something to gain, other columns aside.
    fn promising(&self) -> Vec<usize> {
        let mut inactive = vec![true; self.all.len()];
        self.active.iter().for_each(|&j| inactive[j] = false);
        let promises = |&j: &usize| inactive[j] && self.all.q[j].powi(2) > self.all.s[j];
        (0..self.all.len()).filter(promises).collect()
    }

    /// Columns that would gain but for being nearly equal to an active one.
    fn aligned(&self) -> usize {
        let mut would = self.promising();
        would.retain(|&j| self.worth_of(j).1 > self.options.tol);
        would.len() - self.open(would).len()
    }

    /// The best variance and gain of an inactive column.
    fn worth_of(&self, j: usize) -> (f64, f64) {
        if self.all.q[j].powi(2) <= self.all.s[j] {
            return (0.0, 0.0);
        }
        let size = self.data.square.sqrt();
        let Some(of) = self.all.factors(j, &self.posterior, size) else { return (0.0, 0.0) };
        let noise = 1.0 / self.posterior.beta;
        let variance = self.prior.best_variance(of, self.units[j], noise);
        if variance > 0.0 {
            (variance, self.prior.gain(of, variance, self.units[j], noise))
        } else {
            (0.0, 0.0)
        }
    }

    /// For every column that may be added its best variance and gain; after a look that promised
    /// something, for those alone that seem the best by an earlier S. That nothing gains more than
    /// `tol` is told by all of them.
    fn look(&mut self, last: f64, tol: f64) -> Vec<(f64, f64)> {
        let least = WORTH_A_GLANCE.max(tol);
        let promised = last.is_finite() && last > least;
        let few = self.all.len() < LOOKED_AT * BEST || !self.all.z.is_empty();
        if !promised || few || self.glances >= GLANCES || self.goes_by_rules() {
            return self.look_at_all();
        }
        self.glances += 1;
        self.all.glance(&self.posterior);
        let best = self.all.best(self.addable(), BEST);
        self.all.refresh_s_of(&self.posterior, &best);
        let gains = self.gains(best);
        if largest(&gains) > least { gains } else { self.look_at_all() }
    }

    fn look_at_all(&mut self) -> Vec<(f64, f64)> {
        self.glances = 0;
        self.all.refresh(&self.posterior);
        self.gains(self.addable())
    }

    /// For every column its best variance and gain, if it is one of these.
    fn gains(&self, columns: Vec<usize>) -> Vec<(f64, f64)> {
        let mut gains = vec![(0.0, 0.0); self.all.len()];
        columns.into_iter().for_each(|j| gains[j] = self.worth_of(j));
        gains
    }

    /// The promising columns that may be added.
    fn addable(&self) -> Vec<usize> {
        let mut columns = self.promising();
        if self.options.max_terms.is_some_and(|most| self.counted() >= most) {
            columns.retain(|&j| Some(j) == self.uncounted);
        }
        self.open(columns)
    }
}
