//! From all columns at once, all precisions by their fixed points (Tipping 2001, sec. 2.3).

use super::objective::Objective;
use super::posterior::{Active, Posterior};
use super::{Found, Options, Problem};
use crate::engine::{Observer, Progress, Step, Termination};
use crate::error::{Error, Result};
use crate::likelihood::Noise;
use crate::prior::{EvidencePrior, Factors};
use std::time::Instant;

/// A column whose precision is beyond this is taken out: its prior variance is nothing beside the
/// target's.
const LARGEST: f64 = 1e12;

/// Re-estimates the precisions of all columns at once until they stand still.
pub(crate) fn block(
    problem: &Problem<'_>,
    prior: &mut dyn EvidencePrior,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Found> {
    let m = problem.dictionary.len();
    let needed = 8 * 5 * m * m;
    if needed > options.memory_limit {
        return Err(Error::memory(
            format!("the block solver on {m} columns"),
            needed as f64,
            options.memory_limit as f64,
            "use solver = fast, raise memory_limit or limit the candidates",
        ));
    }
    let objective =
        Objective { weight: problem.weight, free_intercept: problem.free_intercept, prior };
    let mut active: Vec<usize> = (0..m).collect();
    let gram = problem.dictionary.gram(&active);
    let restrict = |active: &[usize]| {
        let mut data = Active { square: problem.square, ..Active::default() };
        let values = active.iter().flat_map(|&b| active.iter().map(move |&a| (a, b)));
        let values = values.map(|at| gram[at]).collect();
        data.gram = crate::linalg::Matrix::from_columns(active.len(), active.len(), values);
        data.cross = active.iter().map(|&j| problem.cross[j]).collect();
        data
    };
    let mut data = restrict(&active);
    let mut alpha = vec![m as f64 / problem.square; m];
    let mut beta = match options.noise {
        Noise::Known(variance) => 1.0 / variance,
        Noise::Estimated => 10.0,
    };
    let mut posterior = Posterior::new(&data, &alpha, beta, observer)?;
    let mut termination = Termination::IterationLimit;
    let (mut trace, mut iterations) = (Vec::new(), 0);
    while iterations < options.max_iter {
        observer.check()?;
        iterations += 1;
        let price = objective.prior.price();
        let shrunk = |i: usize| -> f64 {
            posterior.sigma.column(i).iter().zip(&alpha).map(|(v, a)| a * v * v).sum()
        };
        let next: Vec<f64> = (0..alpha.len())
            .map(|i| {
                let variance = posterior.sigma[(i, i)];
                let square = posterior.mean[i].powi(2)
                    - if price > 0.0 { 2.0 * price * (variance - shrunk(i)) } else { 0.0 };
                let gamma = 1.0 - alpha[i] * variance;
                if square > 0.0 { gamma.max(0.0) / square } else { f64::INFINITY }
            })
            .collect();
        let mut change = alpha
            .iter()
            .zip(&next)
            .filter(|(_, b)| **b < LARGEST)
            .fold(0.0, |worst: f64, (a, b)| worst.max((b / a).ln().abs()));
        if options.noise == Noise::Estimated {
            let left = objective.rows() + 2.0 * objective.prior.noise_power() - posterior.freedom();
            let before = beta;
            beta = (left.max(1e-3) / posterior.residual_square).min(options.largest_precision);
            change = change.max((beta / before).ln().abs());
        }
        let kept: Vec<usize> = (0..next.len()).filter(|&i| next[i] < LARGEST).collect();
        alpha = kept.iter().map(|&i| next[i].max(1e-12)).collect();
        if kept.len() < active.len() {
            active = kept.iter().map(|&i| active[i]).collect();
            data = restrict(&active);
        }
        posterior = Posterior::new(&data, &alpha, beta, observer)?;
        let units: Vec<f64> = active.iter().map(|&j| problem.units[j]).collect();
        let value = -objective.value(&posterior, &units);
        trace.push(Step { objective: value, terms: active.len() });
        observer.progress(Progress {
            iteration: iterations,
            terms: active.len(),
            objective: value,
            residual: change,
        });
        if change < options.tol.max(1e-8) {
            termination = Termination::Converged;
            break;
        }
        if options.deadline.is_some_and(|d| Instant::now() >= d) {
            termination = Termination::TimeLimit;
            break;
        }
    }
    let units: Vec<f64> = active.iter().map(|&j| problem.units[j]).collect();
    let found = Found {
        mean: posterior.mean.clone(),
        covariance: posterior.sigma.clone(),
        alpha: posterior.alpha.clone(),
        noise: 1.0 / posterior.beta,
        log_evidence: objective.log_evidence(&posterior),
        objective: objective.value(&posterior, &units),
        gain: remaining(problem, &active, &posterior, &objective),
        lam: objective.prior.lam(),
        cycled: false,
        aligned: 0,
        iterations,
        termination,
        trace,
        active,
    };
    Ok(found)
}

/// The largest gain of adding any one column.
fn remaining(
    problem: &Problem<'_>,
    active: &[usize],
    posterior: &Posterior,
    objective: &Objective<'_>,
) -> f64 {
    let mut all =
        super::statistics::Statistics::new(problem.cross.clone(), objective.prior.price() > 0.0);
    let columns: Vec<usize> = (0..problem.cross.len()).collect();
    all.products = problem.dictionary.products(&columns, active).as_slice().to_vec();
    all.refresh(posterior);
    let noise = 1.0 / posterior.beta;
    let gain = |j: usize| {
        let of = Factors { s: all.s[j], q: all.q[j], z: all.z.get(j).copied().unwrap_or(0.0) };
        if of.s < super::IN_SPAN * posterior.beta || active.binary_search(&j).is_ok() {
            return 0.0;
        }
        let variance = objective.prior.best_variance(of, problem.units[j], noise);
        if variance > 0.0 {
            objective.prior.gain(of, variance, problem.units[j], noise)
        } else {
            0.0
        }
    };
    (0..problem.cross.len()).map(gain).fold(0.0, f64::max)
}
