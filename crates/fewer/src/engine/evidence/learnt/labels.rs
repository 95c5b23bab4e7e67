//! Kernels that are learnt from labels, by Laplace's approximation.
//!
//! Near the mode of the weights the problem is a Gaussian one of known noise, whose rows weigh B and
//! whose target is t̂ = η + B⁻¹(t − y). A step is taken there as it would be with numbers; then the
//! mode, and with it B, is found again, and the step is undone where the evidence has fallen.

use super::super::laplace::{FoundMode, covariance, log_evidence};
use super::super::mode::{Mode, Rows, Terms, find_mode};
use super::*;
use crate::data::DenseView;
use crate::design::{DenseColumns, Design};
use crate::likelihood::{Multinomial, Smooth};
use crate::linalg::axpy;

/// Rows of smaller B are taken to have so much.
const SMALLEST_WEIGHT: f64 = 1e-10;
/// The prior standard deviation of η by one kernel is at most this.
const WIDEST: f64 = 1e3;
/// Candidates that are weighed by the evidence at their mode.
const WEIGHED_BY_MODE: usize = 24;
/// Times that precisions settle and the mode is found again after a step.
const ROUNDS: usize = 20;
/// Evaluations of shorter climbs, where a longer one leads to where B is another.
const SHORT: usize = 6;

/// Functions, their precisions and the mode of their weights.
#[derive(Clone)]
struct Fit {
    shapes: Vec<Option<Shape>>,
    alpha: Vec<f64>,
    mode: Mode,
    value: f64,
}

/// The state of the ascent.
struct Labels<'a> {
    learning: &'a Learning,
    design: &'a Design<'a>,
    likelihood: Multinomial<'a>,
    prior: Ard,
    options: &'a Options,
    observer: &'a dyn Observer,
    bounds: Bounds,
    at: Fit,
}

/// Learns kernels that tell rows of code 0 from those of code 1, from the empty model.
pub(crate) fn learn_labels(
    learning: &Learning,
    codes: &[usize],
    prior: Ard,
    options: &Options,
    observer: &dyn Observer,
) -> Result<(LearntShapes, FoundMode)> {
    let rows = &learning.rows;
    let (n, d) = (rows.x.rows(), rows.x.columns());
    let weights: Option<Vec<f64>> =
        (!rows.root.is_empty()).then(|| rows.root.iter().map(|r| r * r).collect());
    let columns = DenseColumns::Borrowed(DenseView::of_columns(rows.x.as_slice(), n, d));
    let design = Design::new(&columns, weights.as_deref(), vec![0.0; d], vec![1.0; d]);
    let mut likelihood = Multinomial::new(codes, 2, 1, weights.as_deref());
    let (usable, none) = ([0], Vec::new());
    let empty = rows_of(&design, &usable, learning);
    let mode = find_mode(&empty, &mut likelihood, Terms::default(), vec![0.0], observer)?;
    let value = log_evidence(&mode);
    // Precisions are those of a Gaussian problem of unit noise.
    let options = Options { noise: Noise::Known(1.0), ..options.clone() };
    let mut labels = Labels {
        learning,
        design: &design,
        likelihood,
        prior,
        options: &options,
        observer,
        bounds: Bounds::new(learning),
        at: Fit { shapes: Vec::new(), alpha: none, mode, value },
    };
    labels.run()
}

fn rows_of<'a>(design: &'a Design<'a>, usable: &'a [usize], learning: &Learning) -> Rows<'a> {
    Rows {
        design,
        usable,
        inverse_lengths: Vec::new(),
        units: Vec::new(),
        weight: learning.rows.count,
        free_intercept: learning.free_intercept,
        uncounted: None,
    }
}

impl Labels<'_> {
    fn run(&mut self) -> Result<(LearntShapes, FoundMode)> {
        let mut trace = Vec::new();
        let (mut iterations, mut idle, mut gain) = (0, 0, 0.0f64);
        let mut termination = Termination::IterationLimit;
        if self.learning.bias {
            self.take(|learner| {
                learner.shapes.push(None);
                learner.alpha.push(1.0);
                Ok(())
            })?;
            self.settle()?;
        }
        while iterations < self.options.max_iter {
            self.observer.check()?;
            iterations += 1;
            let before = self.at.clone();
            let found = self.add(iterations)?;
            gain = if idle == 0 { found } else { gain.max(found) };
            let mut added = self.at.shapes.len() > before.shapes.len();
            if added {
                self.settle()?;
                self.climb(iterations, TOGETHER)?;
                if self.at.value.is_nan() || self.at.value <= before.value + LITTLE {
                    (self.at, added) = (before.clone(), false);
                }
            } else if idle == 0 {
                self.climb(iterations, AT_LAST)?;
            }
            if added || idle == 0 {
                self.merge()?;
            }
            idle = if self.at.value > before.value + LITTLE { 0 } else { idle + 1 };
            let terms = self.at.shapes.iter().flatten().count();
            let objective = -self.at.value;
            trace.push(Step { objective, terms });
            self.observer.progress(Progress {
                iteration: iterations,
                terms,
                objective,
                residual: found,
            });
            if idle >= IDLE {
                termination = Termination::Converged;
                break;
            }
            if self.options.deadline.is_some_and(|d| Instant::now() >= d) {
                termination = Termination::TimeLimit;
                break;
            }
        }
        // The column of ones comes last.
        if let Some(j) = self.at.shapes.iter().position(Option::is_none) {
            let (mut shapes, mut alpha) = (self.at.shapes.clone(), self.at.alpha.clone());
            let moved = (shapes.remove(j), alpha.remove(j));
            shapes.push(moved.0);
            alpha.push(moved.1);
            self.at = self.fit(shapes, alpha)?;
        }
        let beyond = self.take(|learner| learner.beyond(iterations + 1))?;
        let (shapes, found) = self.found(gain, iterations, termination, trace);
        Ok((LearntShapes { shapes, beyond }, found))
    }

    /// The Gaussian problem that the likelihood is near the mode.
    fn linearised(&mut self) -> Learning {
        let rows = &self.learning.rows;
        self.likelihood.update(&self.at.mode.eta);
        let curvature = self.likelihood.curvature(0, 0);
        let (residual, eta) = (self.likelihood.residual(), &self.at.mode.eta);
        let of_row = |i: usize| rows.root.get(i).copied().unwrap_or(1.0);
        let n = rows.len();
        let blame: Vec<f64> = curvature.iter().map(|b| b.max(SMALLEST_WEIGHT).sqrt()).collect();
        let root: Vec<f64> = (0..n).map(|i| of_row(i) * blame[i]).collect();
        let mut target: Vec<f64> = (0..n)
            .map(|i| root[i] * eta[(i, 0)] + of_row(i) * residual[(i, 0)] / blame[i])
            .collect();
        let weight = dot(&root, &root);
        if self.learning.free_intercept {
            let mean = dot(&target, &root) / weight;
            axpy(-mean, &root, &mut target);
        }
        let rows = Sample { x: rows.x.clone(), target, root, weight, count: rows.count, blame };
        Learning { rows, families: self.learning.families.clone(), ..*self.learning }
    }

    /// Takes a step of the Gaussian problem and goes to the mode that belongs to it.
    fn take<T>(&mut self, step: impl FnOnce(&mut Learner<'_>) -> Result<T>) -> Result<T> {
        let learning = self.linearised();
        let mut learner = Learner {
            learning: &learning,
            options: self.options,
            prior: self.paid(),
            observer: self.observer,
            bounds: self.bounds.clone(),
            shapes: self.at.shapes.clone(),
            alpha: self.at.alpha.clone(),
            beta: 1.0,
            hold_noise: false,
            known: RefCell::default(),
        };
        let out = step(&mut learner)?;
        let lowest = WIDEST.powi(-2);
        let alpha: Vec<f64> = learner.alpha.iter().map(|a| a.max(lowest)).collect();
        let shapes = std::mem::take(&mut learner.shapes);
        if shapes != self.at.shapes || alpha != self.at.alpha {
            self.at = self.fit(shapes, alpha)?;
        }
        Ok(out)
    }

    fn paid(&self) -> Paid {
        Paid { ard: self.prior, parameters: 0.0, kappa: self.learning.variance_price }
    }

    /// Adds the function by which the evidence rises most; how much. The Gaussian problem knows
    /// little of a kernel on a few rows that are far from where their labels would have them: what
    /// it promises is made good only after the mode is found again.
    fn add(&mut self, iteration: usize) -> Result<f64> {
        let offers = self.take(|learner| learner.offers(iteration, WEIGHED_BY_MODE))?;
        let mut best: Option<Fit> = None;
        for (shape, variance) in offers {
            self.observer.check()?;
            let (mut shapes, mut alpha) = (self.at.shapes.clone(), self.at.alpha.clone());
            shapes.push(shape);
            alpha.push(1.0 / variance.min(WIDEST.powi(2)));
            let fit = self.fit(shapes, alpha)?;
            if best.as_ref().is_none_or(|b| fit.value > b.value) {
                best = Some(fit);
            }
        }
        let gain = best.as_ref().map_or(0.0, |b| b.value - self.at.value);
        match best {
            Some(best) if gain > self.options.tol => self.at = best,
            _ => {}
        }
        Ok(gain.max(0.0))
    }

    fn fit(&mut self, shapes: Vec<Option<Shape>>, alpha: Vec<f64>) -> Result<Fit> {
        let k = shapes.len();
        let mut raw = self.learning.rows.columns(&shapes, false).0;
        if self.learning.free_intercept {
            (0..k).for_each(|j| self.learning.rows.centre(raw.column_mut(j)));
        }
        // Weights of functions that were there before are near their new ones.
        let weight = |s: &Option<Shape>| {
            let place = self.at.shapes.iter().position(|a| a == s);
            place.map_or(0.0, |j| self.at.mode.terms.weights[j])
        };
        let terms = Terms {
            places: (0..k).collect(),
            columns: (0..k).map(|j| raw.column(j).into()).collect(),
            alpha: alpha.clone(),
            weights: shapes.iter().map(weight).collect(),
        };
        let usable: Vec<usize> = (0..k.max(1)).collect();
        let rows = rows_of(self.design, &usable, self.learning);
        let start = self.at.mode.intercepts.clone();
        let mode = find_mode(&rows, &mut self.likelihood, terms, start, self.observer)?;
        let paid = self.paid();
        let penalties =
            alpha.iter().zip(&shapes).map(|(a, s)| paid.penalty(1.0 / a, self.bounds.unit(s), 1.0));
        let price = self.prior.price() * mode.posterior.freedom() + penalties.sum::<f64>();
        let value = log_evidence(&mode) - price;
        Ok(Fit { shapes, alpha, mode, value })
    }

    /// Takes a step, unless the evidence is lower after it; whether it is higher.
    fn improve(&mut self, step: impl FnOnce(&mut Learner<'_>) -> Result<()>) -> Result<bool> {
        let before = self.at.clone();
        self.take(step)?;
        let (value, old) = (self.at.value, before.value);
        if value.is_nan() || value < old - 1e-12 * old.abs() {
            self.at = before;
        }
        Ok(value > old + LITTLE)
    }

    /// Precisions where they stand still, columns that are worth nothing taken out.
    fn settle(&mut self) -> Result<()> {
        for _ in 0..ROUNDS {
            let moves = if self.prior.is_exact() {
                self.improve(|learner| learner.settle(0.1 * LITTLE))?
            } else {
                // Rules as published need not raise the evidence.
                let before = self.at.alpha.clone();
                self.take(|learner| learner.settle(0.1 * LITTLE))?;
                let pairs = before.iter().zip(&self.at.alpha);
                let change = pairs.map(|(a, b)| (a / b).ln().abs()).fold(0.0, f64::max);
                before.len() != self.at.alpha.len() || change > LITTLE
            };
            if !moves {
                break;
            }
        }
        Ok(())
    }

    /// All kernels climb, as long as it leads up.
    fn climb(&mut self, iteration: usize, evaluations: usize) -> Result<()> {
        let mut length = evaluations;
        for round in 0..ROUNDS {
            let before = self.at.clone();
            let better = self.improve(|learner| {
                let part = learner.climbing_rows(learner.seed(iteration) ^ round as u64);
                let rows = part.as_ref().unwrap_or(&learner.learning.rows);
                learner.together(rows, length, LITTLE)?;
                learner.settle(0.1 * LITTLE)
            })?;
            let enough = if evaluations == AT_LAST { LITTLE } else { 0.1 };
            match better {
                true => {
                    self.settle()?;
                    let gain = self.at.value - before.value;
                    if gain.is_nan() || gain < 0.0 {
                        self.at = before;
                    }
                    if gain.is_nan() || gain < enough {
                        break;
                    }
                }
                false if length > SHORT => length = SHORT,
                false => break,
            }
        }
        Ok(())
    }

    fn merge(&mut self) -> Result<()> {
        self.improve(|learner| learner.merge())?;
        Ok(())
    }

    fn found(
        &mut self,
        gain: f64,
        iterations: usize,
        termination: Termination,
        trace: Vec<Step>,
    ) -> (Vec<Shape>, FoundMode) {
        let Fit { shapes, alpha, mode, value } = &self.at;
        let found = Found {
            active: (0..shapes.len()).collect(),
            mean: mode.terms.weights.clone(),
            covariance: covariance(mode),
            alpha: alpha.clone(),
            noise: 1.0,
            log_evidence: log_evidence(mode),
            objective: *value,
            gain,
            lam: None,
            cycled: false,
            aligned: 0,
            iterations,
            termination,
            trace,
        };
        let kernels = shapes.iter().flatten().cloned().collect();
        (kernels, FoundMode { found, intercepts: mode.intercepts.clone() })
    }
}
