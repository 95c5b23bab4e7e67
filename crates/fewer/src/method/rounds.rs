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
use crate::data::Dataset;
use crate::engine::{Observer, Progress, Step, StopOnly, Termination};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::random::uniform;
use std::time::Instant;

/// Columns of a round beside the terms, where the user names no number.
const DRAWN: usize = 500;
/// A round that gains less than this for each row changes the noise variance by a part of 1e-4 and
/// passes for none.
const ENOUGH: f64 = 5e-5;
/// So many rounds without a gain end the drawing.
const QUIET: usize = 3;
/// Products for which all columns are looked at in the end.
const AFFORDABLE: f64 = 3e11;

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

struct Rounds<'r, 'd> {
    evidence: &'r Evidence<'r>,
    fixed: &'r FixedBasis,
    rows: Rows<'r, 'd>,
    noise: &'r NoiseOfRows,
    observer: &'r dyn Observer,
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
        let data = self.rows.data;
        let enough = ENOUGH * data.weights().map_or(data.rows() as f64, |w| w.iter().sum());
        let tol = common.tol.max(0.01 * enough);
        let (mut trace, mut termination) = (Vec::<Step>::new(), Termination::Converged);
        let mut current: Option<Round> = None;
        let (mut quiet, mut iterations) = (0, 0);
        // The largest gain over all columns, once they were looked at.
        let mut swept: Option<f64> = None;
        loop {
            self.observer.check()?;
            let state = current.as_ref().and_then(|r| r.state.as_ref());
            let chosen = if quiet < QUIET {
                draw.take(per_round)
            } else {
                let Some(state) = state.filter(|s| count.is_none() || self.is_affordable(s)) else {
                    break;
                };
                let (gain, best) = self.sweep(state, prior, per_round)?;
                swept = Some(gain);
                if gain <= common.tol {
                    break;
                }
                best
            };
            // What all columns can bring is taken to the end where that costs little.
            let affordable = quiet >= QUIET && state.is_some_and(|s| self.is_affordable(s));
            let (tol, enough) = if affordable { (common.tol, common.tol) } else { (tol, enough) };
            let next = self.round(&chosen, state, tol, None, prior)?;
            iterations += 1;
            let before = current.as_ref().map_or(f64::NEG_INFINITY, |r| r.value);
            let gained = next.value - before;
            let terms = next.model.n_terms();
            trace.push(Step { objective: -next.value, terms });
            self.observer.progress(Progress {
                iteration: iterations,
                terms,
                objective: -next.value,
                residual: gained.min(f64::MAX),
            });
            let empty = next.state.is_none();
            current = Some(next);
            if empty {
                break;
            }
            if self.rows.deadline.is_some_and(|d| Instant::now() >= d) {
                termination = Termination::TimeLimit;
                break;
            }
            if iterations >= common.max_iter {
                termination = Termination::IterationLimit;
                break;
            }
            if quiet >= QUIET {
                if gained <= enough {
                    break;
                }
                continue;
            }
            quiet = if gained <= enough { quiet + 1 } else { 0 };
            // All columns at once: there is nothing to draw again.
            if per_round >= size {
                swept = current.as_ref().map(|r| r.gain);
                break;
            }
        }
        let Some(Round { model, state: Some(state), gain, .. }) = current else {
            return current.map(|r| r.model).ok_or_else(no_round);
        };
        // The terms alone, to the last digit.
        let last = self.round(&[], Some(&state), common.tol, precision, prior)?;
        let mut model = if last.state.is_some() { last.model } else { model };
        let report = &mut model.report;
        (report.iterations, report.termination) = (iterations, termination);
        report.trace = trace;
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

    /// Whether a look at all columns costs little.
    fn is_affordable(&self, state: &State) -> bool {
        let products = self.rows.data.rows() as f64 * self.fixed.len() as f64;
        products * (state.columns.len() + 50) as f64 <= AFFORDABLE
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

fn no_round() -> Error {
    Error::Empty { what: "the basis".into(), expected: "at least one function is needed".into() }
}
