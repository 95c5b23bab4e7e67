//! From all columns at once, all precisions by their fixed points (Tipping 2001, sec. 2.3).

use super::objective::Objective;
use super::posterior::{Active, Posterior};
use super::{Found, Options, Problem};
use crate::engine::{Observer, Progress, Step, Termination};
use crate::error::{Error, Result};
use crate::likelihood::Noise;
use crate::linalg::{Cholesky, Matrix, dot};
use crate::prior::EvidencePrior;
use std::time::Instant;

/// A column whose precision is beyond this is taken out: its prior variance is nothing beside the
/// target's.
const LARGEST: f64 = 1e12;
/// A column of which the data determines less than this part is taken out where the objective would
/// be larger without it; its precision would grow for ever, but slowly.
const UNDETERMINED: f64 = 1e-3;
/// Precisions stand still where no logarithm of one changes by more.
const STILL: f64 = 1e-8;
/// Below this, what is left to gain is asked for: steps along a flat direction grow short long
/// before they stand still.
const SHORT: f64 = 1e-2;
/// The weights are as near as the precisions once this part of a gain that counts is left.
const FLAT: f64 = 1e-3;
/// Steps without gain after which precisions stand still but for rounding.
const IDLE: usize = 200;
/// Columns that may come back in vain, for rounding promised what did not come.
const VAIN: usize = 10;
/// Columns whose correlation is this near to 1 are one.
const EQUAL: f64 = 1e-12;

/// Re-estimates the precisions of all columns at once until they stand still. Columns that were
/// taken out too early come back then, one by one, until none would gain.
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
    let gram = problem.dictionary.gram(&(0..m).collect::<Vec<usize>>());
    let mut active = different(&gram);
    let restrict = |active: &[usize]| {
        let mut data = Active { square: problem.square, ..Active::default() };
        let values = active.iter().flat_map(|&b| active.iter().map(move |&a| (a, b)));
        let values = values.map(|at| gram[at]).collect();
        data.gram = Matrix::from_columns(active.len(), active.len(), values);
        data.cross = active.iter().map(|&j| problem.cross[j]).collect();
        data
    };
    let mut data = restrict(&active);
    let mut alpha = vec![active.len() as f64 / problem.square; active.len()];
    let mut beta = match options.noise {
        Noise::Known(variance) => 1.0 / variance,
        Noise::Estimated => 10.0,
    };
    let mut posterior = Posterior::new(&data, &alpha, beta, observer)?;
    let mut termination = Termination::IterationLimit;
    let (mut trace, mut iterations) = (Vec::new(), 0);
    // Where the precisions stood still last.
    let mut reached = f64::NEG_INFINITY;
    // The column that came back last, and those that did so in vain.
    let (mut back, mut closed) = (None, Vec::new());
    // What the precisions and the noise would still gain, where it was asked for.
    let mut left_to_gain = f64::INFINITY;
    // The highest objective with these columns to choose from, and when it was reached.
    let mut highest = (f64::NEG_INFINITY, 0);
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
            let mut left =
                objective.rows() + 2.0 * objective.prior.noise_power() - posterior.freedom();
            if price > 0.0 {
                // What effective parameters cost falls with the precision of the noise.
                let part = |i: usize| alpha[i] * (posterior.sigma[(i, i)] - shrunk(i));
                left -= 2.0 * price * (0..alpha.len()).map(part).sum::<f64>();
            }
            let before = beta;
            beta = (left.max(1e-3) / posterior.residual_square).min(options.largest_precision);
            change = change.max((beta / before).ln().abs());
        }
        let units =
            |active: &[usize]| -> Vec<f64> { active.iter().map(|&j| problem.units[j]).collect() };
        let noise = 1.0 / posterior.beta;
        let factors = objective.factors(&posterior);
        let flat = left_to_gain <= options.tol;
        let is_lost = |i: usize| {
            (flat || 1.0 - alpha[i] * posterior.sigma[(i, i)] < UNDETERMINED)
                && objective.prior.best_variance(factors[i], problem.units[active[i]], noise) == 0.0
        };
        let kept: Vec<usize> =
            (0..next.len()).filter(|&i| next[i] < LARGEST && !is_lost(i)).collect();
        alpha = kept.iter().map(|&i| next[i].max(1e-12)).collect();
        if kept.len() < active.len() {
            active = kept.iter().map(|&i| active[i]).collect();
            data = restrict(&active);
        }
        posterior = Posterior::new(&data, &alpha, beta, observer)?;
        let value = -objective.value(&posterior, &units(&active));
        trace.push(Step { objective: value, terms: active.len() });
        observer.progress(Progress {
            iteration: iterations,
            terms: active.len(),
            objective: value,
            residual: change,
        });
        left_to_gain = if change < SHORT && objective.prior.is_exact() {
            promised(&objective, &posterior, &units(&active), options, observer)?
        } else {
            f64::INFINITY
        };
        // Columns that are better out are taken out once nothing else is left to gain.
        if -value > highest.0 + options.tol {
            highest = (-value, iterations);
        }
        let idle = iterations - highest.1 >= IDLE;
        let still =
            change < options.tol.max(STILL) || flat && left_to_gain <= FLAT * options.tol || idle;
        let stands = still && kept.len() == factors.len();
        let excess = counted(problem, &active).saturating_sub(options.max_terms.unwrap_or(m));
        if stands && excess > 0 {
            let out = least(problem, &active, &posterior, &objective, excess.div_ceil(2));
            let kept: Vec<usize> = (0..active.len()).filter(|i| !out.contains(i)).collect();
            alpha = kept.iter().map(|&i| alpha[i]).collect();
            active = kept.iter().map(|&i| active[i]).collect();
            reached = f64::NEG_INFINITY;
        } else if stands {
            if -value <= reached {
                closed.extend(back);
            }
            let best = remaining(problem, options, &active, &closed, &posterior, &objective);
            if best.gain <= options.tol {
                termination = Termination::Converged;
                break;
            }
            if closed.len() > VAIN {
                termination = Termination::Stalled;
                break;
            }
            (reached, back) = (reached.max(-value), Some(best.column));
            let place = active.partition_point(|&j| j < best.column);
            active.insert(place, best.column);
            alpha.insert(place, 1.0 / best.variance);
        }
        if stands {
            highest = (f64::NEG_INFINITY, iterations);
            left_to_gain = f64::INFINITY;
            data = restrict(&active);
            posterior = Posterior::new(&data, &alpha, beta, observer)?;
        }
        if options.deadline.is_some_and(|d| Instant::now() >= d) {
            termination = Termination::TimeLimit;
            break;
        }
    }
    // Where a limit came first, more columns than allowed may be left.
    let excess = counted(problem, &active).saturating_sub(options.max_terms.unwrap_or(m));
    if excess > 0 {
        let out = least(problem, &active, &posterior, &objective, excess);
        let kept: Vec<usize> = (0..active.len()).filter(|i| !out.contains(i)).collect();
        alpha = kept.iter().map(|&i| alpha[i]).collect();
        active = kept.iter().map(|&i| active[i]).collect();
        posterior = Posterior::new(&restrict(&active), &alpha, beta, observer)?;
        left_to_gain = f64::INFINITY;
    }
    let units: Vec<f64> = active.iter().map(|&j| problem.units[j]).collect();
    let best = remaining(problem, options, &active, &closed, &posterior, &objective);
    let found = Found {
        mean: posterior.mean.clone(),
        covariance: posterior.sigma.clone(),
        alpha: posterior.alpha.clone(),
        noise: 1.0 / posterior.beta,
        log_evidence: objective.log_evidence(&posterior),
        objective: objective.value(&posterior, &units),
        gain: match termination {
            Termination::Converged => best.gain,
            _ if left_to_gain.is_finite() => best.gain.max(left_to_gain),
            _ => best.gain,
        },
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

/// What a Newton step in the logarithms of all precisions, that of the noise included, promises.
fn promised(
    objective: &Objective<'_>,
    posterior: &Posterior,
    units: &[f64],
    options: &Options,
    observer: &dyn Observer,
) -> Result<f64> {
    let (gradient, curvature) = objective.derivatives(posterior, units);
    let k = units.len();
    let bounded = posterior.beta >= options.largest_precision && gradient[k] > 0.0;
    let order = k + usize::from(options.noise == Noise::Estimated && !bounded);
    let mut matrix = Matrix::zeros(order, order);
    for b in 0..order {
        matrix.column_mut(b).copy_from_slice(&curvature.column(b)[..order]);
    }
    let Ok(factor) = Cholesky::new(matrix, observer)? else { return Ok(f64::INFINITY) };
    let mut step = gradient[..order].to_vec();
    factor.solve(&mut step);
    Ok(0.5 * dot(&step, &gradient[..order]))
}

/// The first of every set of equal columns.
fn different(gram: &Matrix) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for j in 0..gram.rows() {
        let column = gram.column(j);
        if kept.iter().all(|&k| column[k].abs() < 1.0 - EQUAL) {
            kept.push(j);
        }
    }
    kept
}

/// Columns that count as terms.
fn counted(problem: &Problem<'_>, active: &[usize]) -> usize {
    active.iter().filter(|j| Some(**j) != problem.uncounted).count()
}

/// Positions of so many active columns that count and that the objective would miss least.
fn least(
    problem: &Problem<'_>,
    active: &[usize],
    posterior: &Posterior,
    objective: &Objective<'_>,
    count: usize,
) -> Vec<usize> {
    let noise = 1.0 / posterior.beta;
    let factors = objective.factors(posterior);
    let worth = |i: usize| {
        let (variance, unit) = (1.0 / posterior.alpha[i], problem.units[active[i]]);
        objective.prior.gain(factors[i], variance, unit, noise)
    };
    let mut order: Vec<(f64, usize)> = (0..active.len())
        .filter(|&i| Some(active[i]) != problem.uncounted)
        .map(|i| (worth(i), i))
        .collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order.truncate(count);
    order.into_iter().map(|o| o.1).collect()
}

/// A column that is out.
struct Candidate {
    gain: f64,
    column: usize,
    variance: f64,
}

/// The one that gains most.
fn remaining(
    problem: &Problem<'_>,
    options: &Options,
    active: &[usize],
    closed: &[usize],
    posterior: &Posterior,
    objective: &Objective<'_>,
) -> Candidate {
    let mut all =
        super::statistics::Statistics::new(problem.cross.clone(), objective.prior.price() > 0.0);
    let columns: Vec<usize> = (0..problem.cross.len()).collect();
    all.products = problem.dictionary.products(&columns, active).as_slice().to_vec();
    all.refresh(posterior);
    let noise = 1.0 / posterior.beta;
    let full = options.max_terms.is_some_and(|most| counted(problem, active) >= most);
    let mut best = Candidate { gain: 0.0, column: 0, variance: 0.0 };
    let size = problem.square.sqrt();
    for j in columns {
        let is_out = active.binary_search(&j).is_err() && !closed.contains(&j);
        if !is_out || full && Some(j) != problem.uncounted {
            continue;
        }
        let Some(of) = all.factors(j, posterior, size) else { continue };
        let variance = objective.prior.best_variance(of, problem.units[j], noise);
        if variance > 0.0 {
            let gain = objective.prior.gain(of, variance, problem.units[j], noise);
            if gain > best.gain.max(posterior.rounding()) {
                best = Candidate { gain, column: j, variance };
            }
        }
    }
    best
}
