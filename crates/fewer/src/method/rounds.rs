//! Candidates in rounds, where there are too many to look at together: the evidence is maximised
//! among the terms and some other columns, from products of these alone, again and again.
//!
//! A round reads the rows once and holds a matrix of the columns of the round, so that memory does
//! not grow with the rows beyond the data itself.

use super::common::{Rows, Wanted};
use super::evidence::{Evidence, NoiseOfRows, Run, State, numbers};
use super::student_t::MakePrior;
use super::training::on_threads;
use crate::basis::FixedBasis;
use crate::data::{Dataset, FeatureRows};
use crate::engine::{Observer, Progress, Step, StopOnly, Termination};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::random::uniform;
use std::time::Instant;

/// Columns of a round beside the terms, where the user names no number.
const DRAWN: usize = 500;
/// A round that gains less than this for each row changes the noise deviation by less than a part
/// of 1e-3 and passes for none.
const ENOUGH: f64 = 1e-3;
/// So many rounds without a gain end the drawing.
const QUIET: usize = 3;
/// Products for which all columns are looked at in the end, and for which that is done until
/// nothing is left to gain.
const AFFORDABLE: f64 = 6e10;
const CHEAP: f64 = 2e9;
/// The first rounds are of so many rows at least, and each level has so many times more.
const FIRST_ROWS: usize = 15_000;
const MORE_ROWS: usize = 4;

/// Where the columns of the next round come from.
struct Draw<F: FnMut() -> f64> {
    order: Vec<usize>,
    next: usize,
    uniform: F,
}

impl<F: FnMut() -> f64> Draw<F> {
    /// So many columns: none comes again before all came.
    fn take(&mut self, count: usize) -> Vec<usize> {
        let mut taken = Vec::with_capacity(count);
        while taken.len() < count.min(self.order.len()) {
            if self.next == self.order.len() {
                self.next = 0;
            }
            // One step of a shuffle.
            let last = self.order.len() - 1;
            let step = (self.uniform)() * (last + 1 - self.next) as f64;
            self.order.swap(self.next, (self.next + step as usize).min(last));
            taken.push(self.order[self.next]);
            self.next += 1;
        }
        taken
    }
}

/// What a round came to.
struct Round {
    model: Model,
    state: Option<State>,
    /// Of what is maximised.
    value: f64,
    gain: f64,
}

impl Evidence<'_> {
    /// Fits with columns drawn again and again, `count` at a time, and, where `all` are wanted,
    /// with those that gain most of all.
    pub(super) fn fit_in_rounds(
        &self,
        count: Option<usize>,
        data: &Dataset<'_>,
        observer: &dyn Observer,
        prior: impl MakePrior,
    ) -> Result<Model> {
        let y = numbers(self.method, data)?;
        let noise = NoiseOfRows::of(data)?;
        let precision = data.noise_precision();
        let data = &data.with_equal_noise();
        data.without_offset("this method")?;
        let weights = noise.weights(data.weights());
        let deadline = self.common.deadline();
        on_threads(self.common.n_jobs, || {
            let fixed = self.common.resolve_all(data, weights)?;
            let rows = Rows { data, target: y, weights, deadline };
            let rounds = Rounds { evidence: self, fixed: &fixed, rows, noise: &noise, observer };
            let model = rounds.run(count, precision, &prior)?;
            Ok(Model { encoder: data.encoder().cloned(), named: data.is_named(), ..model })
        })
    }
}

#[derive(Clone, Copy)]
struct Rounds<'r, 'd> {
    evidence: &'r Evidence<'r>,
    fixed: &'r FixedBasis,
    rows: Rows<'r, 'd>,
    noise: &'r NoiseOfRows,
    observer: &'r dyn Observer,
}

/// A copy of some of the rows.
struct SomeRows {
    features: FeatureRows,
    target: Vec<f64>,
    weights: Option<Vec<f64>>,
}

/// What has happened so far.
struct Course {
    iterations: usize,
    /// Of rounds on all rows.
    trace: Vec<Step>,
    termination: Termination,
}

/// How much is to be gained.
#[derive(Clone, Copy)]
struct Limits {
    /// Gains that are left within a round.
    tol: f64,
    /// The gain of a round that passes for none.
    enough: f64,
}

impl Rounds<'_, '_> {
    fn run(
        &self,
        count: Option<usize>,
        precision: Option<&[f64]>,
        prior: &impl MakePrior,
    ) -> Result<Model> {
        let common = self.evidence.common;
        let size = self.fixed.len();
        let per_round = count.unwrap_or(DRAWN);
        let mut draw =
            Draw { order: (0..size).collect(), next: 0, uniform: uniform(common.random_state) };
        let (trace, termination) = (Vec::new(), Termination::Converged);
        let mut course = Course { iterations: 0, trace, termination };
        let mut state: Option<State> = None;
        for rows in self.levels() {
            let SomeRows { features, target, weights } = self.some_rows(&rows)?;
            let data = Dataset::new(features.view(), &target[..])?;
            let weights = weights.as_deref();
            let rows = Rows { data: &data, target: &target, weights, ..self.rows };
            let level = Rounds { rows, ..*self };
            let round = level.draw(state.take(), 1, per_round, &mut draw, &mut course, prior)?;
            state = round.and_then(|r| r.state);
            course.trace.clear();
        }
        let current = self.draw(state, QUIET, per_round, &mut draw, &mut course, prior)?;
        let gain = current.as_ref().map_or(f64::MAX, |r| r.gain);
        // All columns at once: there was nothing to draw again.
        let mut swept = (per_round >= size).then_some(gain);
        let mut state = current.and_then(|r| r.state.map(|s| (s, r.value)));
        if swept.is_none() && course.termination.is_converged() {
            swept = self.look(&mut state, count, per_round, &mut course, prior)?;
        }
        // The terms alone, to the last digit.
        let state = state.map(|s| s.0);
        let Round { mut model, state, .. } =
            self.round(&[], state.as_ref(), common.tol, precision, prior)?;
        if state.is_none() {
            return Ok(model);
        }
        let report = &mut model.report;
        let termination = course.termination;
        (report.iterations, report.termination) = (course.iterations, termination);
        report.trace = course.trace;
        report.certificate.value = swept.unwrap_or(gain).min(f64::MAX);
        report.certificate.scope = if swept.is_some() { "all" } else { "sampled" }.into();
        if !termination.is_converged() {
            let limit = if termination == Termination::TimeLimit { "max_time" } else { "max_iter" };
            report.notes.push(format!(
                "{limit} was reached while other candidates still raised the evidence; raise {limit}"
            ));
        }
        Ok(model)
    }

    /// Rows for the first rounds, few and then more of them: which terms are good ones shows in
    /// few already. None where there are few in all.
    fn levels(&self) -> Vec<Vec<usize>> {
        let n = self.rows.data.rows();
        let mut counted: Vec<usize> =
            (0..n).filter(|&i| self.rows.weights.is_none_or(|w| w[i] > 0.0)).collect();
        let mut sizes = Vec::new();
        let mut next = counted.len() / MORE_ROWS;
        while next >= FIRST_ROWS {
            sizes.push(next);
            next /= MORE_ROWS;
        }
        let Some(&most) = sizes.first() else { return Vec::new() };
        // A shuffle as far as it is needed: every level holds those before it.
        let mut uniform = uniform(self.evidence.common.random_state ^ 1);
        let last = counted.len() - 1;
        for i in 0..most {
            let step = uniform() * (last + 1 - i) as f64;
            counted.swap(i, (i + step as usize).min(last));
        }
        let sorted = |size: &usize| {
            let mut rows = counted[..*size].to_vec();
            rows.sort_unstable();
            rows
        };
        sizes.iter().rev().map(sorted).collect()
    }

    fn some_rows(&self, rows: &[usize]) -> Result<SomeRows> {
        let take = |from: &[f64]| rows.iter().map(|&i| from[i]).collect::<Vec<f64>>();
        Ok(SomeRows {
            features: self.rows.data.features().select_rows(rows)?,
            target: take(self.rows.target),
            weights: self.rows.weights.map(take),
        })
    }

    fn limits(&self) -> Limits {
        let Rows { data, weights, .. } = self.rows;
        let enough = ENOUGH * weights.map_or(data.rows() as f64, |w| w.iter().sum());
        Limits { tol: self.evidence.common.tol.max(0.01 * enough), enough }
    }

    /// Rounds with columns that are drawn, until so many in a row gain too little.
    fn draw(
        &self,
        from: Option<State>,
        patience: usize,
        per_round: usize,
        draw: &mut Draw<impl FnMut() -> f64>,
        course: &mut Course,
        prior: &impl MakePrior,
    ) -> Result<Option<Round>> {
        let limits = self.limits();
        let mut current: Option<Round> = None;
        let mut quiet = 0;
        while quiet < patience && course.termination.is_converged() {
            let state = current.as_ref().map_or(from.as_ref(), |r| r.state.as_ref());
            let before = current.as_ref().map_or(f64::NEG_INFINITY, |r| r.value);
            let chosen = draw.take(per_round);
            let next = self.step(&chosen, state, before, limits.tol, course, prior)?;
            quiet = if next.value - before <= limits.enough { quiet + 1 } else { 0 };
            let last = next.state.is_none() || per_round >= self.fixed.len();
            current = Some(next);
            if last {
                break;
            }
        }
        Ok(current)
    }

    /// Looks at all columns, and rounds with those that gain most, until they gain too little; the
    /// largest gain left, where the looks can be afforded.
    fn look(
        &self,
        current: &mut Option<(State, f64)>,
        count: Option<usize>,
        per_round: usize,
        course: &mut Course,
        prior: &impl MakePrior,
    ) -> Result<Option<f64>> {
        let least = self.evidence.common.tol;
        let (mut swept, mut over) = (None, false);
        while let Some((state, before)) = current {
            let products = self.products(state);
            if count.is_some() && products > AFFORDABLE {
                break;
            }
            let (gain, best) = self.sweep(state, prior, per_round)?;
            swept = Some(gain);
            if over || gain <= least || !course.termination.is_converged() {
                break;
            }
            let limits = match products <= CHEAP {
                true => Limits { tol: least, enough: least },
                false => self.limits(),
            };
            let next = self.step(&best, Some(state), *before, limits.tol, course, prior)?;
            over = next.value - *before <= limits.enough;
            *current = next.state.map(|state| (state, next.value));
        }
        Ok(swept)
    }

    /// One round, reported.
    fn step(
        &self,
        chosen: &[usize],
        state: Option<&State>,
        before: f64,
        tol: f64,
        course: &mut Course,
        prior: &impl MakePrior,
    ) -> Result<Round> {
        self.observer.check()?;
        let next = self.round(chosen, state, tol, None, prior)?;
        course.iterations += 1;
        let terms = next.model.n_terms();
        course.trace.push(Step { objective: -next.value, terms });
        self.observer.progress(Progress {
            iteration: course.iterations,
            terms,
            objective: -next.value,
            residual: (next.value - before).min(f64::MAX),
        });
        if self.rows.deadline.is_some_and(|d| Instant::now() >= d) {
            course.termination = Termination::TimeLimit;
        } else if course.iterations >= self.evidence.common.max_iter {
            course.termination = Termination::IterationLimit;
        }
        Ok(next)
    }

    /// Products that a look at all columns takes.
    fn products(&self, state: &State) -> f64 {
        let columns = (state.columns.len() + 50) as f64;
        self.rows.data.rows() as f64 * self.fixed.len() as f64 * columns
    }

    /// Maximises the evidence among the columns of a state and those chosen.
    fn round(
        &self,
        chosen: &[usize],
        state: Option<&State>,
        tol: f64,
        precision: Option<&[f64]>,
        prior: &impl MakePrior,
    ) -> Result<Round> {
        let (evidence, size) = (self.evidence, self.fixed.len());
        let held = state.iter().flat_map(|s| s.columns.iter().map(|c| c.0));
        let mut part: Vec<usize> =
            chosen.iter().copied().chain(held).filter(|&j| j < size).collect();
        part.sort_unstable();
        part.dedup();
        if part.is_empty() {
            // The model without a term has columns to leave out.
            part.push(0);
        }
        let from = state.map(|s| s.inside(&part));
        let basis = self.fixed.keep(&part);
        let wanted = Wanted { gram: true, on_demand: true, ..evidence.wanted(part.len()) };
        let needed = 8.0 * 6.0 * (part.len() as f64).powi(2);
        if needed > evidence.common.memory_limit {
            let what = format!("a round of {} candidates and terms", part.len());
            let hint = "draw fewer candidates, set max_terms or raise memory_limit";
            return Err(Error::memory(what, needed, evidence.common.memory_limit, hint));
        }
        let watch = StopOnly(self.observer);
        evidence.common.with_part(&basis, &self.rows, wanted, &watch, |shared| {
            let mut prior = prior(&shared)?;
            let run = Run { from: from.as_ref(), search: false, tol };
            let Some(solved) = evidence.ascend(&shared, &mut *prior, self.noise, run)? else {
                let model = evidence.empty(&shared, &*prior, self.noise)?;
                let value = f64::NEG_INFINITY;
                return Ok(Round { model, state: None, value, gain: 0.0 });
            };
            let state = solved.state(&shared, self.noise).outside(&part, size);
            let (variance, gain) = (solved.mean_variance(&shared), solved.found.gain);
            let mut model = evidence.model(
                &shared,
                solved.found,
                &*prior,
                &solved.inverse_lengths,
                solved.noise,
            )?;
            self.noise.undo(&mut model, evidence.noise);
            if chosen.is_empty() {
                let data = self.rows.data;
                model = evidence.augmented(model, variance, &shared, data, precision)?;
            }
            let value = -model.report.objective;
            model.terms.iter_mut().for_each(|t| t.index = part[t.index]);
            model.basis_size = size;
            Ok(Round { model, state: Some(state), value, gain })
        })
    }

    /// The largest gain of adding any one column, and so many that gain most.
    fn sweep(
        &self,
        state: &State,
        prior: &impl MakePrior,
        most: usize,
    ) -> Result<(f64, Vec<usize>)> {
        let evidence = self.evidence;
        let wanted = Wanted { gram: false, on_demand: true, ..evidence.wanted(usize::MAX) };
        let watch = StopOnly(self.observer);
        evidence.common.with_part(self.fixed, &self.rows, wanted, &watch, |shared| {
            evidence.look(&shared, &*prior(&shared)?, self.noise, state, most)
        })
    }
}
