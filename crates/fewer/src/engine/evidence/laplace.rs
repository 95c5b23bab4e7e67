//! Targets that are not Gaussian, by Laplace's approximation (Tipping 2001, sec. 3).
//!
//! Near the mode of the weights the problem is a Gaussian one, with precisions B and the target
//! t̂ = η + B⁻¹(t − y), whose actions are those of the Gaussian ascent. Each is followed by finding
//! the mode, and with it B, again, until the precisions of the terms stand still as well; it is
//! undone where the evidence has not grown by then, so that from look to look it only ever grows.
//!
//! Precisions stand still where those of the Gaussian problem do, B being held: the evidence itself
//! has a slope there, since B moves with the mode. Following that slope is no good: where classes
//! are told apart without error it leads to weights without bound, about which nothing is known.

use super::linearised::Linearised;
use super::mode::{Mode, Rows, Terms, find_mode};
use super::objective::Objective;
use super::settle::damped_step;
use super::{Ascent, Found, LOOSE, Options, Problem, largest};
use crate::engine::{Observer, Progress, Step, Termination};
use crate::error::Result;
use crate::likelihood::{Noise, Smooth};
use crate::linalg::{Cholesky, Matrix, dot, multiply};
use crate::prior::{EvidencePrior, Factors};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

/// Candidates of the first look, where there are more than twice as many, and how many times more
/// of them there are in the next.
const COARSE: usize = 250;
const FINER: usize = 4;
/// Newton steps of the precisions between two looks at the candidates.
const STEPS: usize = 200;
/// Steps of them that may raise their slopes, as long as they raise the evidence.
const FREE: usize = 20;
/// Steps to the last digit.
const POLISH: usize = 60;
/// The prior standard deviation of η by one term is at most this.
const WIDEST: f64 = 1e3;
/// Exchanges are kept if they gain so much.
const EXCHANGE: f64 = 1e-3;
/// A column whose length in the metric of B is less than this part of what it is without the
/// intercepts' share is taken for a constant.
const CONSTANT: f64 = 1e-10;

/// Terms from which a second ascent begins, and the outputs among which they are shared at most.
const MANY: usize = 30;
const MOST_OUTPUTS: usize = 5;
/// Prior standard deviations of η to begin it with.
const SPANS: [f64; 3] = [3.0, 30.0, 300.0];
/// Rows up to which terms settle from each of them, and not from the best alone.
const FEW_ROWS: f64 = 500.0;
/// It is given up this far below the first, and taken where it is this far above: of ends that
/// are as good as equal, the order of the rows must not choose.
const HOPELESS: f64 = 5.0;
const CLEARLY: f64 = 0.5;

/// Where the ascent ended.
pub(crate) struct FoundMode {
    /// Terms have places output · columns + column; the covariance is that of their weights and,
    /// after them, of the free intercepts.
    pub found: Found,
    /// Of each output.
    pub intercepts: Vec<f64>,
}

/// The state of the ascent.
pub(super) struct Laplace<'a> {
    rows: &'a Rows<'a>,
    likelihood: Box<dyn Smooth + 'a>,
    prior: &'a mut dyn EvidencePrior,
    options: &'a Options,
    observer: &'a dyn Observer,
    /// Columns that are active or being tried.
    held: HashMap<usize, Arc<[f64]>>,
    pub(super) at: Mode,
    pub(super) value: f64,
    /// Candidates that were tried in vain since the last change.
    pub(super) closed: HashSet<usize>,
    gain: f64,
    aligned: usize,
    iterations: usize,
    trace: Vec<Step>,
}

/// What a look at the candidates tells.
pub(super) struct Look {
    pub gain: f64,
    aligned: usize,
    /// Places with precisions, best first.
    additions: Vec<(usize, f64)>,
    /// Places to give up, and those to take.
    exchanges: (Vec<usize>, Vec<(usize, f64)>),
}

fn size(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |a: f64, g| a.max(g.abs()))
}

/// log ∫ p(y | w) p(w) dw by a Gaussian at the mode.
pub(super) fn log_evidence(mode: &Mode) -> f64 {
    let logs: f64 = mode.terms.alpha.iter().map(|a| a.ln()).sum();
    let free = mode.curved.inverse.rows() as f64;
    let determinants = mode.posterior.log_determinant - mode.curved.log_determinant;
    mode.joint + 0.5 * (logs + determinants + free * std::f64::consts::TAU.ln())
}

/// The covariance of the weights and, after them, of the free intercepts, which are
/// M⁻¹(… − Cᵀw).
pub(super) fn covariance(mode: &Mode) -> Matrix {
    let Mode { terms, curved, posterior, .. } = mode;
    let (k, free) = (terms.len(), curved.inverse.rows());
    let crossed = multiply(k, posterior.sigma.as_slice(), &curved.crossing);
    let mut covariance = Matrix::zeros(k + free, k + free);
    for b in 0..k {
        covariance.column_mut(b)[..k].copy_from_slice(posterior.sigma.column(b));
    }
    for c in 0..free {
        for i in 0..k {
            covariance[(i, k + c)] = -crossed[(i, c)];
            covariance[(k + c, i)] = -crossed[(i, c)];
        }
        for d in 0..free {
            let own = dot(curved.crossing.column(c), crossed.column(d));
            covariance[(k + c, k + d)] = curved.inverse[(c, d)] + own;
        }
    }
    covariance
}

/// Maximises the evidence of a likelihood that is at η = 0.
pub(crate) fn maximise_laplace<'a>(
    rows: &'a Rows<'a>,
    likelihood: Box<dyn Smooth + 'a>,
    prior: &'a mut dyn EvidencePrior,
    options: &'a Options,
    observer: &'a dyn Observer,
) -> Result<FoundMode> {
    let mut state = Laplace::new(rows, likelihood, prior, options, observer)?;
    let m = rows.usable.len();
    let mut step = if m > 2 * COARSE { m.div_ceil(COARSE) } else { 1 };
    while step > 1 {
        let active = state.at.terms.places.iter().map(|v| v % m);
        let mut chosen: Vec<usize> =
            (0..m).step_by(step).chain(active).chain(rows.uncounted).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let tol = options.tol.max(LOOSE);
        if state.ascend(&chosen, tol, false)? == Termination::TimeLimit {
            break;
        }
        step /= FINER;
    }
    let all: Vec<usize> = (0..m).collect();
    let mut termination = state.ascend(&all, options.tol, true)?;
    if termination == Termination::Converged && state.begins_again() {
        termination = state.begin_with_many(&all)?;
    }
    if termination == Termination::Converged {
        state.polish()?;
    }
    state.found(termination)
}

impl<'a> Laplace<'a> {
    /// With no term.
    pub(super) fn new(
        rows: &'a Rows<'a>,
        mut likelihood: Box<dyn Smooth + 'a>,
        prior: &'a mut dyn EvidencePrior,
        options: &'a Options,
        observer: &'a dyn Observer,
    ) -> Result<Self> {
        let intercepts = vec![0.0; likelihood.outputs()];
        let at = find_mode(rows, &mut *likelihood, Terms::default(), intercepts, observer)?;
        let mut state = Self {
            rows,
            likelihood,
            prior,
            options,
            observer,
            held: HashMap::new(),
            at,
            value: 0.0,
            closed: HashSet::new(),
            gain: f64::INFINITY,
            aligned: 0,
            iterations: 0,
            trace: Vec::new(),
        };
        state.value = state.value_of(&state.at);
        Ok(state)
    }

    /// What is maximised.
    fn value_of(&self, mode: &Mode) -> f64 {
        let price = self.prior.price();
        let freedom = if price > 0.0 { price * mode.posterior.freedom() } else { 0.0 };
        let of = |(a, u): (&f64, f64)| self.prior.penalty(1.0 / a, u, 1.0);
        let units = self.units(&mode.terms);
        log_evidence(mode) - freedom - mode.terms.alpha.iter().zip(units).map(of).sum::<f64>()
    }

    fn units(&self, terms: &Terms) -> Vec<f64> {
        let m = self.rows.usable.len();
        terms.places.iter().map(|v| self.rows.units[v % m]).collect()
    }

    /// Rounding of the value.
    fn rounding(&self) -> f64 {
        1e-15 * (1.0 + self.value.abs())
    }

    /// Goes to the mode of these terms and settles there, if the objective is then larger by more
    /// than `least`; else all is as it was.
    fn improve(&mut self, terms: Terms, least: f64, settled: f64) -> Result<bool> {
        let before = (self.at.clone(), self.value);
        (self.at, self.value) = self.trial(terms)?;
        self.settle(settled)?;
        let better = self.value > before.1 + least;
        if !better {
            (self.at, self.value) = before;
        }
        Ok(better)
    }

    pub(super) fn trial(&mut self, terms: Terms) -> Result<(Mode, f64)> {
        let intercepts = self.at.intercepts.clone();
        let mode = find_mode(self.rows, &mut *self.likelihood, terms, intercepts, self.observer)?;
        let value = self.value_of(&mode);
        Ok((mode, value))
    }

    /// Columns in use, not counting the bias.
    fn counted(&self) -> HashSet<usize> {
        let m = self.rows.usable.len();
        let columns = self.at.terms.places.iter().map(|v| v % m);
        columns.filter(|&c| Some(c) != self.rows.uncounted).collect()
    }

    /// Ascends among some of the columns until no more than `tol` is to be gained; the trace is
    /// that of the `last` time.
    fn ascend(&mut self, chosen: &[usize], tol: f64, last: bool) -> Result<Termination> {
        if chosen.is_empty() {
            self.gain = 0.0;
            return Ok(Termination::Degenerate);
        }
        let settled = 0.1 * tol;
        self.closed.clear();
        self.settle(settled)?;
        while self.iterations < self.options.max_iter {
            self.observer.check()?;
            self.iterations += 1;
            let look = self.look(chosen, tol)?;
            (self.gain, self.aligned) = (look.gain, look.aligned);
            let terms = self.counted().len();
            if last {
                self.trace.push(Step { objective: -self.value, terms });
            }
            self.observer.progress(Progress {
                iteration: self.iterations,
                terms,
                objective: -self.value,
                residual: look.gain,
            });
            if self.options.deadline.is_some_and(|d| Instant::now() >= d) {
                return Ok(Termination::TimeLimit);
            }
            if look.gain > tol {
                self.add(&look.additions, settled)?;
            } else if !self.exchange(&look.exchanges, settled)? {
                return Ok(Termination::Converged);
            }
        }
        Ok(Termination::IterationLimit)
    }

    /// Whether there is a second ascent: with many outputs its columns would be too few.
    fn begins_again(&self) -> bool {
        self.likelihood.outputs() <= MOST_OUTPUTS && self.options.max_terms != Some(0)
    }

    /// Begins again with many terms, of which most go: what tells classes apart only together gains
    /// nothing one by one. Ends where the objective is clearly larger.
    fn begin_with_many(&mut self, all: &[usize]) -> Result<Termination> {
        let first = (self.at.clone(), self.value, self.gain, self.aligned, self.trace.clone());
        let (m, outputs) = (all.len(), self.likelihood.outputs());
        let step = (m * outputs).div_ceil(MANY);
        let chosen: Vec<usize> =
            (0..outputs).flat_map(|o| (0..m).step_by(step).map(move |c| o * m + c)).collect();
        let few = self.rows.weight <= FEW_ROWS;
        let mut best: Option<(Mode, f64)> = None;
        for span in SPANS {
            let alpha = chosen.len() as f64 / (self.rows.weight * span * span);
            self.at.terms = Terms::default();
            let places: Vec<(usize, f64)> = chosen.iter().map(|&v| (v, alpha)).collect();
            let terms = self.with(&places);
            (self.at, self.value) = self.trial(terms)?;
            if few {
                self.settle_within_limit()?;
            }
            if best.as_ref().is_none_or(|b| self.value > b.1) {
                best = Some((self.at.clone(), self.value));
            }
        }
        if !few && let Some(start) = best.take() {
            (self.at, self.value) = start;
            self.settle_within_limit()?;
            best = Some((self.at.clone(), self.value));
        }
        let mut termination = Termination::Converged;
        if let Some(best) = best.filter(|b| b.1 > first.1 - HOPELESS) {
            (self.at, self.value) = best;
            self.trace.clear();
            termination = self.ascend(all, self.options.tol, true)?;
        }
        if self.value <= first.1 + CLEARLY {
            (self.at, self.value, self.gain, self.aligned, self.trace) = first;
            termination = Termination::Converged;
        }
        Ok(termination)
    }

    /// Derivatives of the objective of the Gaussian problem in log α, and second ones with their
    /// signs changed.
    fn derivatives(&self) -> (Vec<f64>, Matrix) {
        let frame = Objective { weight: 0.0, free_intercept: false, prior: &*self.prior };
        let units = self.units(&self.at.terms);
        let (mut gradient, curvature) = frame.derivatives(&self.at.posterior, &units);
        gradient.pop();
        (gradient, curvature)
    }

    /// The smallest precision of a term.
    fn lowest(&self) -> f64 {
        1.0 / (self.rows.weight * WIDEST * WIDEST)
    }

    /// Terms whose precision may move, with derivatives in its logarithm: not those that are at the
    /// smallest and pushed further down.
    fn movable(&self) -> (Vec<usize>, Vec<f64>, Matrix) {
        let (gradient, curvature) = self.derivatives();
        let (lowest, alpha) = (self.lowest(), &self.at.terms.alpha);
        let may = |i: &usize| alpha[*i] > lowest * (1.0 + 1e-9) || gradient[*i] > 0.0;
        let free: Vec<usize> = (0..gradient.len()).filter(may).collect();
        let mut matrix = Matrix::zeros(free.len(), free.len());
        for (b, &j) in free.iter().enumerate() {
            for (a, &i) in free.iter().enumerate() {
                matrix[(a, b)] = curvature[(i, j)];
            }
        }
        let gradient = free.iter().map(|&i| gradient[i]).collect();
        (free, gradient, matrix)
    }

    /// The terms with some of their precisions moved, by steps of their logarithms.
    fn moved(&self, free: &[usize], step: &[f64]) -> Terms {
        let (lowest, mut terms) = (self.lowest(), self.at.terms.clone());
        for (&i, s) in free.iter().zip(step) {
            terms.alpha[i] = (terms.alpha[i] * s.exp()).max(lowest);
        }
        terms
    }

    /// The terms' precisions where they stand still, those that are worth nothing taken out.
    fn settle(&mut self, tol: f64) -> Result<()> {
        let (mut damping, observer) = (0.0, self.observer);
        for round in 0..STEPS {
            observer.check()?;
            self.prune()?;
            if self.options.deadline.is_some_and(|d| Instant::now() >= d) {
                break;
            }
            let (free, gradient, curvature) = self.movable();
            let steepest = size(&gradient);
            if free.is_empty() {
                break;
            }
            let next =
                damped_step(&gradient, &curvature, &[], &mut damping, tol, observer, |step| {
                    let before = (self.at.clone(), self.value);
                    (self.at, self.value) = self.trial(self.moved(&free, step))?;
                    let calmer = size(&self.movable().1) < 0.99 * steepest;
                    let better = round < FREE && self.value > before.1 + tol;
                    if calmer || better {
                        return Ok(Some(()));
                    }
                    (self.at, self.value) = before;
                    Ok(None)
                })?;
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Steps to the last digit.
    fn polish(&mut self) -> Result<()> {
        let (mut free, mut gradient, mut curvature) = self.movable();
        for _ in 0..POLISH {
            let Ok(factor) = Cholesky::new(curvature, self.observer)? else { break };
            let mut step = gradient.clone();
            factor.solve(&mut step);
            // Near the end only.
            if !(1e-11..=0.1).contains(&size(&step)) {
                break;
            }
            let before = (self.at.clone(), self.value);
            (self.at, self.value) = self.trial(self.moved(&free, &step))?;
            let (movable, slopes, bends) = self.movable();
            if movable != free || size(&slopes) >= size(&gradient) {
                (self.at, self.value) = before;
                break;
            }
            (free, gradient, curvature) = (movable, slopes, bends);
        }
        Ok(())
    }

    /// The term that the Gaussian problem would miss least, and how much.
    fn worst(&self) -> Option<(usize, f64)> {
        let frame = Objective { weight: 0.0, free_intercept: false, prior: &*self.prior };
        let units = self.units(&self.at.terms);
        let gain = |(of, unit): (Factors, f64)| {
            let variance = self.prior.best_variance(of, unit, 1.0);
            self.prior.gain(of, variance, unit, 1.0)
        };
        let gains = frame.factors(&self.at.posterior).into_iter().zip(units).map(gain);
        gains.enumerate().min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn remove(&mut self, i: usize) -> Result<()> {
        let mut terms = self.at.terms.clone();
        terms.remove(i);
        (self.at, self.value) = self.trial(terms)?;
        Ok(())
    }

    /// Takes terms out that the Gaussian problem is better without.
    fn prune(&mut self) -> Result<()> {
        while let Some((worst, _)) = self.worst().filter(|w| w.1 <= self.options.worthless) {
            self.remove(worst)?;
        }
        Ok(())
    }

    /// Settles, and takes terms out until they are no more than there may be.
    fn settle_within_limit(&mut self) -> Result<()> {
        self.settle(LOOSE)?;
        let Some(most) = self.options.max_terms else { return Ok(()) };
        while self.counted().len() > most
            && let Some((worst, _)) = self.worst()
        {
            self.remove(worst)?;
            self.settle(LOOSE)?;
        }
        Ok(())
    }

    /// The present terms and others with their precisions.
    pub(super) fn with(&mut self, added: &[(usize, f64)]) -> Terms {
        let m = self.rows.usable.len();
        let mut terms = self.at.terms.clone();
        let active: HashSet<usize> = terms.places.iter().map(|v| v % m).collect();
        self.held.retain(|c, _| active.contains(c));
        let missing: Vec<usize> =
            added.iter().map(|a| a.0 % m).filter(|c| !self.held.contains_key(c)).collect();
        for (c, column) in missing.iter().zip(self.rows.columns(&missing)) {
            self.held.insert(*c, column);
        }
        let lowest = self.lowest();
        for &(place, alpha) in added {
            terms.insert(place, self.held[&(place % m)].clone(), alpha.max(lowest));
        }
        terms
    }

    /// Adds those that gain most: as many together as raise the objective.
    fn add(&mut self, picked: &[(usize, f64)], settled: f64) -> Result<()> {
        let least = 1e-2 * self.options.tol + 100.0 * self.rounding();
        let mut count = picked.len();
        while count > 0 {
            let terms = self.with(&picked[..count]);
            if self.improve(terms, least, settled)? {
                self.closed.clear();
                return Ok(());
            }
            count /= 2;
        }
        self.closed.extend(picked.first().map(|p| p.0));
        Ok(())
    }

    /// Exchanges terms for others, if that raises the objective.
    fn exchange(
        &mut self,
        (out, into): &(Vec<usize>, Vec<(usize, f64)>),
        settled: f64,
    ) -> Result<bool> {
        let mut count = out.len().min(into.len());
        while count > 0 {
            let mut terms = self.with(&into[..count]);
            for place in &out[..count] {
                if let Ok(i) = terms.places.binary_search(place) {
                    terms.remove(i);
                }
            }
            if self.improve(terms, EXCHANGE.max(self.options.tol), settled)? {
                self.closed.clear();
                return Ok(true);
            }
            count /= 2;
        }
        Ok(false)
    }

    /// Looks at what the chosen columns would gain in each output.
    pub(super) fn look(&mut self, chosen: &[usize], tol: f64) -> Result<Look> {
        self.likelihood.update(&self.at.eta);
        let (rows, likelihood) = (self.rows, &*self.likelihood);
        let (m, size, outputs) = (rows.usable.len(), chosen.len(), likelihood.outputs());
        let Mode { terms, curved, eta, .. } = &self.at;
        let (n, k, free) = (eta.rows(), terms.len(), curved.inverse.rows());
        let columns: Vec<usize> = chosen.iter().map(|&c| rows.usable[c]).collect();
        let candidates = outputs * size;
        let mut crossed = Matrix::zeros(free, candidates);
        let mut products = Matrix::zeros(candidates, k);
        let (mut slopes, mut squares) = (vec![0.0; candidates], vec![0.0; candidates]);
        for a in 0..outputs {
            self.observer.check()?;
            let curvature: Vec<Vec<f64>> =
                (0..outputs).map(|b| likelihood.curvature(a, b)).collect();
            let mut vectors: Vec<f64> = Vec::with_capacity(n * (free + 1 + k));
            curvature.iter().take(free).for_each(|c| vectors.extend(c));
            vectors.extend(likelihood.residual().column(a));
            for (place, column) in terms.places.iter().zip(&terms.columns) {
                vectors.extend(curvature[place / m].iter().zip(&**column).map(|(c, f)| c * f));
            }
            let vectors = Matrix::from_columns(n, free + 1 + k, vectors);
            let found = rows.design.apply_transpose_each(&columns, &vectors);
            let own = Matrix::from_columns(n, 1, curvature[a].clone());
            let lengths = rows.design.squares_with_each(&columns, &own);
            for (i, &c) in chosen.iter().enumerate() {
                let (v, f) = (a * size + i, rows.inverse_lengths[c]);
                (0..free).for_each(|c| crossed[(c, v)] = f * found[(i, c)]);
                slopes[v] = f * found[(i, free)];
                squares[v] = f * f * lengths[(i, 0)];
                (0..k).for_each(|j| products[(v, j)] = f * found[(i, free + 1 + j)]);
            }
        }
        // What the free intercepts explain.
        let by_candidate = crossed.transpose();
        let shared = multiply(candidates, by_candidate.as_slice(), &curved.crossing.transpose());
        let values = products.as_mut_slice().iter_mut().zip(shared.as_slice());
        values.for_each(|(p, s)| *p -= s);
        let moved = multiply(candidates, by_candidate.as_slice(), &curved.inverse);
        let local = |place: usize| {
            let position = chosen.binary_search(&(place % m)).ok()?;
            Some(place / m * size + position)
        };
        let active: Vec<usize> = terms.places.iter().filter_map(|&v| local(v)).collect();
        let mut inverse_lengths: Vec<f64> = (0..candidates)
            .map(|v| {
                let shared = (0..free).map(|c| crossed[(c, v)] * moved[(v, c)]);
                let square = squares[v] - shared.sum::<f64>();
                if square > CONSTANT * squares[v] { square.powf(-0.5) } else { 0.0 }
            })
            .collect();
        for &v in active.iter().filter(|&&v| inverse_lengths[v] == 0.0).collect::<Vec<_>>() {
            inverse_lengths[v] = (CONSTANT * squares[v]).max(f64::MIN_POSITIVE).powf(-0.5);
        }
        let units = (0..candidates)
            .map(|v| rows.units[chosen[v % size]] * inverse_lengths[v].powi(2))
            .collect();
        let dictionary = Linearised {
            rows,
            likelihood,
            chosen,
            inverse_lengths: inverse_lengths.clone(),
            crossed,
            inverse: &curved.inverse,
        };
        let problem = Problem {
            dictionary: &dictionary,
            cross: vec![0.0; candidates],
            square: 0.0,
            units,
            weight: rows.weight,
            free_intercept: false,
            uncounted: None,
        };
        let options = Options {
            tol,
            noise: Noise::Known(1.0),
            max_terms: None,
            deadline: None,
            ..self.options.clone()
        };
        let counted = self.counted();
        let mut ascent = Ascent::new(&problem, &mut *self.prior, &options, self.observer)?;
        let mut precisions = Vec::new();
        for (j, &v) in active.iter().enumerate() {
            let column = products.column(j).iter().zip(&inverse_lengths);
            let column = column.map(|(p, f)| p * f * inverse_lengths[v]).collect();
            ascent.held.insert(v, column);
            precisions.push((v, terms.alpha[j] * inverse_lengths[v].powi(2)));
        }
        ascent.activate(&precisions)?;
        ascent.refactor()?;
        for (j, &v) in active.iter().enumerate() {
            ascent.posterior.mean[j] = terms.weights[j] / inverse_lengths[v];
        }
        ascent.all.refresh(&ascent.posterior);
        // Q = φᵀ(t − y): B⁻¹ would overflow.
        let slopes = slopes.iter().zip(&inverse_lengths);
        ascent.all.q = slopes.map(|(q, f)| q * f).collect();
        let mut gains = ascent.gains(ascent.addable());
        let full = self.options.max_terms.is_some_and(|most| counted.len() >= most);
        for (v, gain) in gains.iter_mut().enumerate() {
            let column = chosen[v % size];
            let free = counted.contains(&column) || Some(column) == rows.uncounted;
            if full && !free || self.closed.contains(&(v / size * m + column)) {
                *gain = (0.0, 0.0);
            }
        }
        let gain = largest(&gains);
        let place = |v: usize| v / size * m + chosen[v % size];
        let outer = |(v, alpha): (usize, f64)| (place(v), alpha / inverse_lengths[v].powi(2));
        let mut additions = Vec::new();
        let mut exchanges = (Vec::new(), Vec::new());
        if gain > tol {
            let mut used = counted;
            for (v, alpha) in ascent.additions(&gains) {
                let column = chosen[v % size];
                let new = !used.contains(&column) && Some(column) != rows.uncounted;
                if new && self.options.max_terms.is_some_and(|most| used.len() >= most) {
                    continue;
                }
                if new {
                    used.insert(column);
                }
                additions.push(outer((v, alpha)));
            }
        } else if self.options.max_terms.is_none() || outputs == 1 {
            let (out, into) = ascent.exchanges();
            exchanges =
                (out.into_iter().map(place).collect(), into.into_iter().map(outer).collect());
        }
        let aligned = ascent.aligned();
        Ok(Look { gain, aligned, additions, exchanges })
    }

    fn found(self, termination: Termination) -> Result<FoundMode> {
        let Mode { terms, intercepts, .. } = &self.at;
        let found = Found {
            active: terms.places.clone(),
            mean: terms.weights.clone(),
            covariance: covariance(&self.at),
            alpha: terms.alpha.clone(),
            noise: 1.0,
            log_evidence: log_evidence(&self.at),
            objective: self.value,
            gain: self.gain,
            lam: self.prior.lam(),
            cycled: false,
            aligned: self.aligned,
            iterations: self.iterations,
            termination,
            trace: self.trace.clone(),
        };
        Ok(FoundMode { found, intercepts: intercepts.clone() })
    }
}
