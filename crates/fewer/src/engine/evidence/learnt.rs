//! Columns that are learnt: kernels with centres and widths of their own (Tzikas, Likas &
//! Galatsanos 2009, sec. III).
//!
//! Candidates start where the error is large and climb ρ = (q² − 2cz)/s, of which the gain of a
//! column at its best variance is a rising function, all starts at once as products of matrices.
//! The best joins, then the parameters of all kernels climb the objective together; precisions and
//! noise settle as those of any columns do.

use super::objective::Objective;
use super::posterior::{Active, Posterior};
use super::{Ascent, Found, FromGram, Options, Problem};
use crate::basis::{Family, Shape};
use crate::engine::{Observer, Progress, Step, Termination};
use crate::error::Result;
use crate::likelihood::Noise;
use crate::linalg::{Matrix, dot};
use crate::prior::{Ard, EvidencePrior};
use crate::random::uniform;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

mod bounds;
mod candidates;
mod escape;
mod joint;
mod labels;
mod paid;
mod prune;
mod sample;
mod scene;
#[cfg(test)]
mod tests;

pub(crate) use candidates::{ROWS_FOR_EACH, ROWS_FOR_PARAMETER};
pub(crate) use labels::learn_labels;
pub(crate) use sample::Sample;

use bounds::{Bounds, PART_OF_ROWS};
use joint::{AT_LAST, TOGETHER};
use paid::Paid;
use sample::active;

/// Functions that were learnt.
#[derive(Debug)]
pub(crate) struct LearntShapes {
    pub shapes: Vec<Shape>,
    /// What one more kernel would gain, where the rows bear no more of them.
    pub beyond: Option<f64>,
}

/// What is learnt, and how.
#[derive(Debug)]
pub(crate) struct Learning {
    pub rows: Sample,
    pub free_intercept: bool,
    /// Whether there is a column of ones that is no term.
    pub bias: bool,
    pub families: Vec<Family>,
    /// Whether kernels have a width for each input.
    pub anisotropic: bool,
    /// Candidates of each search.
    pub starts: usize,
    pub seed: u64,
    /// Noise by the published equation, its units put right.
    pub noise_as_published: bool,
    /// What a kernel's place or a width costs, as a part of ½ log β.
    pub parameter_price: f64,
    /// κ of the density exp(−κγ/2) of variances of weights, in units of the target's.
    pub variance_price: f64,
    /// What the place of a kernel among others costs, as a part of the log of their number.
    pub place_price: f64,
}

/// Searches without a gain after which the fit ends, as published.
const IDLE: usize = 10;
/// Steps of the objective below which nothing is gained.
const LITTLE: f64 = 1e-6;
/// Sample on which candidates climb where there are more.
const SEARCH_ROWS: usize = 2000;
/// What a step must gain for each row where there are more.
const LITTLE_OF_ROW: f64 = 1e-5;
/// Kernels whose columns have a correlation of 1 less this are one.
const TWINS: f64 = 1e-7;
/// No step changes a log width, or a centre in widths, by more.
const STRIDE: f64 = 2.0;

/// The steps of an ascent.
#[derive(Default)]
struct Way {
    iterations: usize,
    /// The largest gain that the last searches found.
    gain: f64,
    trace: Vec<Step>,
}

/// The state of the ascent.
struct Learner<'a> {
    learning: &'a Learning,
    options: &'a Options,
    prior: Paid,
    observer: &'a dyn Observer,
    bounds: Bounds,
    /// None stands for the column of ones.
    shapes: Vec<Option<Shape>>,
    alpha: Vec<f64>,
    beta: f64,
    /// Whether the noise stays as it is.
    hold_noise: bool,
    /// Functions of which the products are known.
    known: RefCell<(Vec<Option<Shape>>, Active)>,
}

/// Learns kernels from the empty model.
pub(crate) fn learn(
    learning: &Learning,
    prior: Ard,
    options: &Options,
    observer: &dyn Observer,
) -> Result<(LearntShapes, Found)> {
    let square = dot(&learning.rows.target, &learning.rows.target);
    let beta = match options.noise {
        Noise::Known(variance) => 1.0 / variance,
        Noise::Estimated => (learning.rows.weight / square).min(options.largest_precision),
    };
    let mut learner = Learner {
        learning,
        options,
        prior: Paid { ard: prior, parameters: 0.0, kappa: learning.variance_price },
        observer,
        bounds: Bounds::new(learning),
        shapes: Vec::new(),
        alpha: Vec::new(),
        beta,
        hold_noise: false,
        known: RefCell::default(),
    };
    learner.run()
}

impl Learner<'_> {
    fn run(&mut self) -> Result<(LearntShapes, Found)> {
        if self.learning.bias {
            self.shapes.push(None);
            self.alpha.push(1.0 / self.beta.max(1.0));
            self.settle(LITTLE)?;
        }
        let mut way = Way::default();
        let mut termination = self.climb_higher(&mut way)?;
        if termination == Termination::Converged {
            termination = self.ascend(&mut way, IDLE)?;
        }
        if termination != Termination::TimeLimit {
            self.prune()?;
        }
        let beyond = self.beyond(way.iterations + 1)?;
        let (shapes, found) = self.found(way.gain, way.iterations, termination, way.trace)?;
        Ok((LearntShapes { shapes, beyond }, found))
    }

    /// Adds kernels until so many searches in a row have found none that gains.
    fn ascend(&mut self, way: &mut Way, patience: usize) -> Result<Termination> {
        let (mut idle, mut small) = (0, 0);
        let mut value = self.value()?;
        // Rules as published do not climb the objective: only a new height is a gain.
        let mut highest = value;
        let little = self.little();
        while way.iterations < self.options.max_iter {
            self.observer.check()?;
            way.iterations += 1;
            let before = self.shapes.len();
            let found = self.add_some(way.iterations)?;
            way.gain = if idle == 0 { found } else { way.gain.max(found) };
            let added = self.shapes.len() > before;
            if added {
                self.climb(way.iterations, found)?;
            } else if idle == 0 && !self.shapes.is_empty() {
                self.together(&self.learning.rows, AT_LAST, 0.01 * little)?;
                self.settle(0.1 * LITTLE)?;
            }
            let mut next = value;
            if added || idle == 0 {
                self.merge()?;
                self.remove_unpaid()?;
                next = self.value()?;
            }
            // What joins for very little, or in vain, may go and come for ever.
            small += usize::from(added && (found < little || next <= highest + little));
            let gained = next > highest + little || added && small < IDLE;
            idle = if gained { 0 } else { idle + 1 };
            value = next;
            highest = highest.max(value);
            let (terms, objective) = (self.counted(), -value);
            way.trace.push(Step { objective, terms });
            let (iteration, residual) = (way.iterations, found);
            self.observer.progress(Progress { iteration, terms, objective, residual });
            if idle >= patience {
                return Ok(Termination::Converged);
            }
            if self.is_late() {
                return Ok(Termination::TimeLimit);
            }
        }
        Ok(Termination::IterationLimit)
    }

    /// What a step must gain: no less than rows can tell where there are many.
    fn little(&self) -> f64 {
        let n = self.learning.rows.len() as f64;
        if self.has_many_rows() { LITTLE_OF_ROW * n } else { LITTLE }
    }

    fn has_many_rows(&self) -> bool {
        self.learning.rows.len() > 2 * SEARCH_ROWS
    }

    fn is_late(&self) -> bool {
        self.options.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Learnt parameters that a function counts for: none along inputs that do not vary.
    fn parameters(&self, shape: &Shape) -> f64 {
        let Some((_, width)) = shape.kernel() else { return 0.0 };
        let vary = self.bounds.varying;
        let widths = if width.len() > 1 { vary } else { 1 };
        (widths + if self.bounds.held { 0 } else { vary }) as f64
    }

    /// Parameters that a function pays for: a kernel's widths, and its place as one. Were each
    /// coordinate paid for, there would be hardly any kernels where there are many inputs.
    fn priced(&self, shape: &Shape) -> f64 {
        let Some((_, width)) = shape.kernel() else { return 0.0 };
        let widths = if width.len() > 1 { self.bounds.varying } else { 1 };
        ((1 + widths) as f64).min(PART_OF_ROWS * self.learning.rows.different())
    }

    fn all_parameters(&self) -> f64 {
        self.shapes.iter().flatten().map(|s| self.parameters(s)).sum()
    }

    /// What a function must gain for its parameters.
    fn price(&self, shape: &Shape) -> f64 {
        Paid::cost(self.learning.parameter_price * self.priced(shape), self.beta)
    }

    /// Counts the parameters that are paid for.
    fn count(&mut self) {
        self.prior.parameters = self.learning.parameter_price * self.all_priced();
    }

    fn all_priced(&self) -> f64 {
        self.shapes.iter().flatten().map(|s| self.priced(s)).sum()
    }

    fn units(&self, shapes: &[Option<Shape>]) -> Vec<f64> {
        shapes.iter().map(|s| self.bounds.unit(s)).collect()
    }

    fn counted(&self) -> usize {
        self.shapes.iter().flatten().count()
    }

    fn columns(&self) -> Matrix {
        self.learning.rows.columns(&self.shapes, self.learning.free_intercept).1
    }

    fn objective(&self) -> Objective<'_> {
        Objective {
            weight: self.learning.rows.weight,
            free_intercept: self.learning.free_intercept,
            prior: &self.prior,
        }
    }

    /// Products of the functions there are; those that stay are known from before.
    fn data(&self) -> Active {
        let places = |known: &[Option<Shape>]| -> Option<Vec<usize>> {
            self.shapes.iter().map(|s| known.iter().position(|k| k == s)).collect()
        };
        let (known, data) = &mut *self.known.borrow_mut();
        if !known.is_empty()
            && let Some(places) = places(known)
        {
            let gram = data.gram.part(&places, places.iter().copied());
            let cross = places.iter().map(|&j| data.cross[j]).collect();
            return Active { gram, cross, square: data.square };
        }
        known.clone_from(&self.shapes);
        *data = active(&self.learning.rows, &self.columns());
        data.clone()
    }

    fn posterior(&self) -> Result<Posterior> {
        Posterior::new(&self.data(), &self.alpha, self.beta, self.observer)
    }

    fn value(&self) -> Result<f64> {
        Ok(self.objective().value(&self.posterior()?, &self.units(&self.shapes)))
    }

    /// So many of the rows, where there are many.
    fn some_rows(&self, count: usize, seed: u64) -> Option<Sample> {
        let n = self.learning.rows.len();
        if !self.has_many_rows() {
            return None;
        }
        // One of each stretch.
        let mut next = uniform(seed);
        let stretch = n as f64 / count as f64;
        let place = |k: usize, part: f64| (((k as f64 + part) * stretch) as usize).min(n - 1);
        let mut chosen: Vec<usize> = (0..count).map(|k| place(k, next())).collect();
        chosen.dedup();
        Some(self.learning.rows.part(&chosen, self.learning.free_intercept))
    }

    fn seed(&self, iteration: usize) -> u64 {
        self.learning.seed.wrapping_mul(0x9e37_79b9).wrapping_add(iteration as u64)
    }

    /// What each function gains, less what its parameters cost.
    fn worth(&self) -> Result<Vec<f64>> {
        let posterior = self.posterior()?;
        let noise = 1.0 / self.beta;
        let factors = self.objective().factors(&posterior).into_iter().enumerate();
        let left = |(k, of)| {
            let shape = &self.shapes[k];
            let gain = self.prior.gain(of, 1.0 / self.alpha[k], self.bounds.unit(shape), noise);
            gain - shape.as_ref().map_or(0.0, |s| self.price(s))
        };
        Ok(factors.map(left).collect())
    }

    /// Takes kernels out that gain less than their parameters cost.
    fn remove_unpaid(&mut self) -> Result<()> {
        loop {
            let worth = self.worth()?.into_iter().enumerate();
            let kernels = worth.filter(|(k, _)| self.shapes[*k].is_some());
            match kernels.min_by(|a, b| a.1.total_cmp(&b.1)) {
                Some((k, left)) if left < 0.0 => {
                    self.shapes.remove(k);
                    self.alpha.remove(k);
                    self.settle(0.1 * LITTLE)?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Precisions and noise at a maximum, columns that are worth nothing taken out.
    fn settle(&mut self, tol: f64) -> Result<()> {
        loop {
            self.count();
            let before = self.shapes.len();
            self.settle_once(tol)?;
            if self.shapes.len() == before {
                return Ok(());
            }
        }
    }

    /// The engine's own steps, with the columns there are for a dictionary.
    fn settle_once(&mut self, tol: f64) -> Result<()> {
        let data = self.data();
        let k = self.shapes.len();
        let all: Vec<usize> = (0..k).collect();
        let dictionary =
            FromGram { gram: Arc::new(data.gram), usable: &all, inverse_lengths: vec![1.0; k] };
        let problem = Problem {
            dictionary: &dictionary,
            cross: data.cross,
            square: data.square,
            units: self.units(&self.shapes),
            weight: self.learning.rows.weight,
            free_intercept: self.learning.free_intercept,
            uncounted: self.shapes.iter().position(Option::is_none),
        };
        let mut ascent = Ascent::new(&problem, &mut self.prior, self.options, self.observer)?;
        ascent.posterior.beta = self.beta;
        let chosen: Vec<(usize, f64)> = all.iter().copied().zip(self.alpha.clone()).collect();
        ascent.activate(&chosen)?;
        ascent.hold_noise = self.hold_noise;
        if self.learning.noise_as_published && self.options.noise == Noise::Estimated {
            ascent.hold_noise = true;
            for _ in 0..IDLE {
                ascent.settle(tol)?;
                let beta = ascent.posterior.beta;
                ascent.noise_as_published()?;
                if (ascent.posterior.beta / beta).ln().abs() < 1e-6 {
                    break;
                }
            }
        }
        ascent.settle(tol)?;
        let (active, posterior) = (ascent.active.clone(), ascent.posterior.clone());
        self.shapes = active.iter().map(|&i| self.shapes[i].clone()).collect();
        (self.alpha, self.beta) = (posterior.alpha, posterior.beta);
        Ok(())
    }

    /// Makes one of kernels that have become equal: the evidence knows only the sum of their
    /// variances. Those that stay apart are a difference of kernels, which is a slope.
    fn merge(&mut self) -> Result<()> {
        let gram = self.data().gram;
        let limit = 1.0 - TWINS;
        let apart = (self.shapes.clone(), self.alpha.clone(), self.beta);
        let value = self.value()?;
        let mut k = 0;
        let mut merged = false;
        let mut places: Vec<usize> = (0..self.shapes.len()).collect();
        while k < self.shapes.len() {
            let twin = (0..k).find(|&a| {
                let (i, j) = (places[a], places[k]);
                gram[(i, j)] >= limit * (gram[(i, i)] * gram[(j, j)]).sqrt()
            });
            match twin {
                Some(a) if self.shapes[a].is_some() && self.shapes[k].is_some() => {
                    let (i, j) = (places[a], places[k]);
                    let ratio = gram[(j, j)] / gram[(i, i)];
                    self.alpha[a] = 1.0 / (1.0 / self.alpha[a] + ratio / self.alpha[k]);
                    self.shapes.remove(k);
                    self.alpha.remove(k);
                    places.remove(k);
                    merged = true;
                }
                _ => k += 1,
            }
        }
        if merged {
            self.settle(0.1 * LITTLE)?;
            if self.value()? < value - LITTLE {
                (self.shapes, self.alpha, self.beta) = apart;
                self.count();
            }
        }
        Ok(())
    }

    fn found(
        &mut self,
        gain: f64,
        iterations: usize,
        termination: Termination,
        trace: Vec<Step>,
    ) -> Result<(Vec<Shape>, Found)> {
        // The column of ones comes last.
        if let Some(k) = self.shapes.iter().position(Option::is_none) {
            let (shape, alpha) = (self.shapes.remove(k), self.alpha.remove(k));
            self.shapes.push(shape);
            self.alpha.push(alpha);
        }
        if self.shapes.is_empty() && self.options.noise == Noise::Estimated {
            let rows = &self.learning.rows;
            let most = self.options.largest_precision;
            self.beta = (self.objective().rows() / dot(&rows.target, &rows.target)).min(most);
        }
        let posterior = self.posterior()?;
        let objective = self.objective();
        let units = self.units(&self.shapes);
        let shapes: Vec<Shape> = self.shapes.iter().flatten().cloned().collect();
        let found = Found {
            active: (0..self.alpha.len()).collect(),
            log_evidence: objective.log_evidence(&posterior),
            objective: objective.value(&posterior, &units),
            mean: posterior.mean,
            covariance: posterior.sigma,
            alpha: posterior.alpha,
            noise: 1.0 / posterior.beta,
            gain,
            lam: None,
            cycled: false,
            aligned: 0,
            iterations,
            termination,
            trace,
        };
        Ok((shapes, found))
    }
}
