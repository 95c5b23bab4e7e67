//! Gibbs sampling of a Gaussian regression whose weights have variances of their own, relative to
//! the noise: y = Xw + e, e ~ N(0, σ²), w_j ~ N(0, σ²τ_j).
//!
//! Two blocks suffice (Rajaratnam, Sparks, Khare & Zhang 2019): (σ², w) given τ, the weights
//! integrated out of σ²; and (λ, τ) given (w, σ²), the variances integrated out of λ. Between
//! them w and 1/λ are multiplied by one number drawn from its conditional (Liu & Sabatti 2000),
//! along which the two blocks alone would creep where the data say little of the weights. Where
//! there are nearly as many columns as rows, or more, that is not enough: √τ and 1/λ are
//! multiplied by one number too, weights and noise integrated out (as the global scale of Johndrow,
//! Orenstein & Bhattacharya 2020).

mod diagnostics;
#[cfg(test)]
mod tests;
mod weights;

pub use diagnostics::Diagnostic;
pub(crate) use diagnostics::{Ranks, quantile};
pub(crate) use weights::{Regression, is_singular};

use super::{Observer, Progress};
use crate::error::{Error, Result};
use crate::prior::SampledPrior;
use crate::random::Stream;
use rayon::prelude::*;
use std::f64::consts::PI;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use weights::Weights;

/// Draws between two looks at the clock and at the observer.
const LOOK: usize = 64;
/// Columns, as a part of the rows, above which variances are rescaled as a whole: a second
/// factorisation in each step, which pays where chains creep.
const CREEPING: f64 = 0.5;
/// Part of the proposed factors that should be taken (Gelman, Roberts & Gilks 1996).
const TAKEN: f64 = 0.44;
/// A chain that time cut short has at least so many draws.
const FEWEST: usize = 16;

/// What is believed of the variance of the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NoisePrior {
    Known(f64),
    /// Inverse Gamma.
    Inverse {
        shape: f64,
        rate: f64,
    },
}

/// What is sampled.
pub(crate) struct Problem {
    pub data: Regression,
    /// yᵀy.
    pub square: f64,
    /// Rows that tell of the noise: less one where the intercept is free.
    pub freedom: f64,
    pub noise: NoisePrior,
}

/// How it is sampled.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub chains: usize,
    pub warmup: usize,
    pub draws: usize,
    /// Every so many draws one is kept.
    pub thin: usize,
    pub seed: u64,
    pub deadline: Option<Instant>,
}

/// The draws of one chain, draw after draw.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain {
    /// (draws, p)
    pub weights: Vec<f64>,
    pub sigma: Vec<f64>,
    pub lam: Vec<f64>,
    /// −log p(y | w, σ).
    pub deviance: Vec<f64>,
    /// All that were drawn, kept or not.
    pub steps: usize,
}

impl Chain {
    pub fn len(&self) -> usize {
        self.sigma.len()
    }

    fn truncate(&mut self, draws: usize, columns: usize) {
        self.weights.truncate(draws * columns);
        [&mut self.sigma, &mut self.lam, &mut self.deviance]
            .into_iter()
            .for_each(|values| values.truncate(draws));
    }
}

/// Chains of equal length.
pub(crate) struct Sampled {
    pub chains: Vec<Chain>,
    /// Draws of the longest chain, those that were not kept included.
    pub steps: usize,
    /// Whether time ran out first.
    pub out_of_time: bool,
}

/// Samples the posterior; `start` is the prior that a chain begins with.
///
/// A chain depends on the seed and on its number only, and not on the threads that run it.
pub(crate) fn sample<P: SampledPrior>(
    problem: &Problem,
    options: &Options,
    start: impl Fn(usize) -> P + Sync,
    observer: &dyn Observer,
) -> Result<Sampled> {
    let streams = Stream::several(options.seed, options.chains);
    let done = AtomicUsize::new(0);
    let chains = streams.into_par_iter().enumerate();
    let chains = chains.map(|(k, stream)| {
        let mut walk = Walk { problem, options, observer, done: &done, stream, prior: start(k) };
        walk.run()
    });
    let mut chains = chains.collect::<Result<Vec<Chain>>>()?;
    let shortest = chains.iter().map(Chain::len).min().unwrap_or(0);
    let columns = problem.data.columns();
    chains.iter_mut().for_each(|chain| chain.truncate(shortest, columns));
    let steps = chains.iter().map(|chain| chain.steps).max().unwrap_or(0);
    Ok(Sampled { chains, steps, out_of_time: shortest < options.draws })
}

/// Only rounding can bring it about: a sum of I and what is not negative has a factor.
fn beyond() -> Error {
    Error::Unavailable {
        what: "a draw of the weights".into(),
        hint: "their variances grew beyond floating point, for the data hold some of the weights \
               back too little and λ hardly does: give a larger lam, or a smaller lam_rate, or \
               leave columns out that others almost determine"
            .into(),
    }
}

struct Walk<'a, P> {
    problem: &'a Problem,
    options: &'a Options,
    observer: &'a dyn Observer,
    done: &'a AtomicUsize,
    stream: Stream,
    prior: P,
}

impl<P: SampledPrior> Walk<'_, P> {
    fn run(&mut self) -> Result<Chain> {
        let Problem { data, square, freedom, noise } = self.problem;
        let options = self.options;
        let columns = data.columns();
        let mut weights = Weights::new(data, *square, self.observer);
        let creeps = columns as f64 > CREEPING * freedom && self.prior.can_be_rescaled();
        let mut other = creeps.then(|| Weights::new(data, *square, self.observer));
        let mut width = 1.0;
        let mut w = vec![0.0; columns];
        // Chains begin far from each other: columns have a mean square length of 1.
        let spread = (2.0 * self.stream.normal()).exp();
        let mut variances: Vec<f64> =
            (0..columns).map(|_| -spread * self.stream.uniform().ln()).collect();
        let mut chain = Chain::default();
        let mut step = 0;
        let mut late = false;
        while chain.len() < options.draws {
            if step % LOOK == 0 {
                self.look(step, &chain)?;
            }
            late = late || options.deadline.is_some_and(|d| Instant::now() >= d);
            if late && chain.len() >= FEWEST {
                break;
            }
            let mut quadratic = weights.condition(&variances, 1.0)?.ok_or_else(beyond)?;
            if let Some(other) = &mut other {
                let t = width * self.stream.normal();
                let found = other.condition(&variances, t.exp())?;
                // Variances beyond floating point are not taken.
                let gain = found.map_or(f64::NEG_INFINITY, |found| {
                    self.log_marginal(other, found) - self.log_marginal(&weights, quadratic)
                        + self.prior.log_variances_rescaled(t, &variances)
                        - self.prior.log_variances_rescaled(0.0, &variances)
                });
                if step < options.warmup {
                    let taken = gain.min(0.0).exp();
                    width *= ((taken - TAKEN) / ((step + 1) as f64).sqrt()).exp();
                    width = width.clamp(1e-3, 10.0);
                }
                let level = self.stream.uniform().ln();
                if let Some(found) = found.filter(|_| level < gain) {
                    std::mem::swap(&mut weights, other);
                    quadratic = found;
                    self.prior.rescale(t);
                }
            }
            let variance = match *noise {
                NoisePrior::Known(variance) => variance,
                NoisePrior::Inverse { shape, rate } => {
                    (rate + 0.5 * quadratic) / self.stream.gamma(shape + 0.5 * freedom)
                }
            };
            let sigma = variance.sqrt();
            let (mut fitted, mut product) = weights.draw(sigma, &mut w, &mut self.stream);
            product /= sigma;
            if let Some(t) = self.rescaling(&w, fitted, product) {
                let factor = t.exp();
                w.iter_mut().for_each(|w| *w *= factor);
                self.prior.rescale(t);
                (fitted, product) = (fitted * factor * factor, product * factor);
            }
            self.prior.draw(&w, &mut variances, &mut self.stream);
            step += 1;
            // Where time is short there is no warm-up, so that there is something to keep.
            if step > options.warmup && (step - options.warmup).is_multiple_of(options.thin) || late
            {
                let residual = (square / variance - 2.0 * product + fitted).max(0.0);
                let deviance = 0.5 * (freedom * (2.0 * PI * variance).ln() + residual);
                chain.weights.extend(w.iter().map(|w| sigma * w));
                chain.sigma.push(sigma);
                chain.lam.extend(self.prior.lam());
                chain.deviance.push(deviance);
            }
        }
        chain.steps = step;
        Ok(chain)
    }

    /// log p(y | τ) with weights and noise integrated out, up to a constant.
    fn log_marginal(&self, weights: &Weights<'_>, quadratic: f64) -> f64 {
        let fit = match self.problem.noise {
            NoisePrior::Known(variance) => 0.5 * quadratic / variance,
            NoisePrior::Inverse { shape, rate } => {
                (shape + 0.5 * self.problem.freedom) * (rate + 0.5 * quadratic).ln()
            }
        };
        -0.5 * weights.log_determinant() - fit
    }

    /// Draws log c for weights c·w and λ/c by one step of slice sampling (Neal 2003), whose
    /// width must not depend on where it stands.
    fn rescaling(&mut self, w: &[f64], fitted: f64, product: f64) -> Option<f64> {
        if !self.prior.can_be_rescaled() {
            return None;
        }
        let sum: f64 = w.iter().map(|w| w.abs()).sum();
        let prior = &self.prior;
        let log_density = |t: f64| {
            let factor = t.exp();
            let data = factor * (product - 0.5 * factor * fitted);
            data + prior.log_weights_rescaled(t, w.len(), sum)
        };
        let stream = &mut self.stream;
        let level = log_density(0.0) + stream.uniform().ln();
        if !level.is_finite() {
            return None;
        }
        let above = |t: f64| log_density(t) > level;
        let mut low = -stream.uniform();
        let mut high = low + 1.0;
        while low > -100.0 && above(low) {
            low -= 1.0;
        }
        while high < 100.0 && above(high) {
            high += 1.0;
        }
        loop {
            let t = low + (high - low) * stream.uniform();
            if above(t) {
                return Some(t);
            }
            if t < 0.0 {
                low = t;
            } else {
                high = t;
            }
            if high - low < 1e-300 {
                return None;
            }
        }
    }

    /// Asks whether to go on, and says how far all chains are.
    fn look(&self, step: usize, chain: &Chain) -> Result<()> {
        self.observer.check()?;
        let done = self.done.fetch_add(if step == 0 { 0 } else { LOOK }, Ordering::Relaxed);
        if let Some(deviance) = chain.deviance.last() {
            self.observer.progress(Progress {
                iteration: done / self.options.chains,
                terms: self.problem.data.columns(),
                objective: *deviance,
                residual: 1.0 - chain.len() as f64 / self.options.draws as f64,
            });
        }
        Ok(())
    }
}
