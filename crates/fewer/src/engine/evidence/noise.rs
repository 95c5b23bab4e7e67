//! The precision of the noise at which the objective is largest, all else being as it is.

use super::Ascent;
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

impl Ascent<'_> {
    /// The noise at which N − β|e|² − (1 + 2c)Σγ = 0: Tzikas et al. 2009, eq. 41, its units put
    /// right. It leaves at least 2cΣγ rows to the noise, so that it cannot vanish.
    pub(super) fn noise_as_published(&mut self) -> Result<()> {
        let (rows, price) = (self.objective().rows(), self.prior.price());
        let alpha = self.posterior.alpha.clone();
        let left = |beta: f64| -> Result<(f64, Posterior)> {
            let p = Posterior::new(&self.data, &alpha, beta, self.observer)?;
            Ok((rows - beta * p.residual_square - (1.0 + 2.0 * price) * p.freedom(), p))
        };
        let (mut low, mut high) = (1e-6f64, self.options.largest_precision);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if left(middle)?.0 > 0.0 { low = middle } else { high = middle }
        }
        self.posterior = left(low)?.1;
        Ok(())
    }
}
