//! The precision of the noise at which the objective is largest, all else being as it is.

use super::objective::Objective;
use super::posterior::{Active, Posterior};
use crate::engine::Observer;
use crate::error::Result;

/// Steps of the search; each costs a factorisation.
const STEPS: usize = 50;

/// Newton steps in log β, halved until the objective grows.
pub(super) fn best_noise(
    data: &Active,
    from: Posterior,
    units: &[f64],
    objective: &Objective<'_>,
    largest: f64,
    observer: &dyn Observer,
) -> Result<Posterior> {
    let k = from.alpha.len();
    let mut best = from;
    let mut value = objective.value(&best, units);
    for _ in 0..STEPS {
        let (gradient, curvature) = objective.derivatives(&best, units);
        let (slope, bend) = (gradient[k], curvature[(k, k)]);
        let mut step = if bend > 0.0 { slope / bend } else { slope.signum() };
        step = step.clamp(-3.0, 3.0).min((largest / best.beta).ln());
        let mut found = false;
        while (slope * step).abs() > 1e-13 * (1.0 + value.abs()) {
            let beta = (best.beta * step.exp()).min(largest);
            let trial = Posterior::new(data, &best.alpha, beta, observer)?;
            let trial_value = objective.value(&trial, units);
            if trial_value > value {
                (best, value, found) = (trial, trial_value, true);
                break;
            }
            step *= 0.5;
        }
        if !found {
            break;
        }
    }
    Ok(best)
}
