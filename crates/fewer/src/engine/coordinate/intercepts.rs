//! Free intercepts, solved for alone: the dual takes them to be exact.

use super::{Coordinate, free_slack};
use crate::error::Result;
use crate::linalg::{Cholesky, Matrix};

/// Newton steps at most.
const MAX_STEPS: usize = 100;
/// Pulls on intercepts that count as none, relative to those of all rows without their signs …
const SETTLED: f64 = 1e-13;
/// … and those that rounding may leave, if a step has not halved them.
const ROUNDING: f64 = 1e-9;
/// Curvature that is added where there is none, as a part of the largest.
const FLAT: f64 = 1e-12;
/// The first step is no longer than this: −log p is nearly linear far out, where curvature tells
/// little.
const FIRST_STEP: f64 = 4.0;

impl Coordinate<'_> {
    /// What pulls that are left on the intercepts could still gain, or nothing where they are too
    /// strong to tell.
    pub(super) fn intercept_slack(&self) -> Option<f64> {
        let weights = self.design.weights();
        let total = weights.map_or(self.design.rows() as f64, |w| w.iter().sum());
        let slack = |(c, b): (usize, &f64)| {
            let pull = self.weighted_residual(c).iter().sum::<f64>().abs();
            free_slack(pull, *b, total, 2.0 * self.null)
        };
        self.intercepts.iter().flatten().enumerate().map(slack).sum()
    }

    /// Moves the intercepts, η with them, to where they are best for the other coefficients.
    pub(super) fn settle_intercepts(&mut self) -> Result<()> {
        let Some(intercepts) = &mut self.intercepts else { return Ok(()) };
        let (count, weights) = (intercepts.len(), self.design.weights());
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let weighted = |of: &[f64]| of.iter().enumerate().map(|(i, v)| weight(i) * v).sum::<f64>();
        let total = weights.map_or(self.design.rows() as f64, |w| w.iter().sum());
        let shift = |eta: &mut Matrix, intercepts: &mut [f64], step: &[f64]| {
            for (c, s) in step.iter().enumerate() {
                eta.column_mut(c).iter_mut().for_each(|e| *e += s);
                intercepts[c] += s;
            }
        };
        let pulls = |residual: &Matrix| -> Vec<f64> {
            (0..count).map(|c| weighted(residual.column(c))).collect()
        };
        // The strongest pull as a part of what it would be if all rows pulled one way.
        let strongest = |pulls: &[f64], residual: &Matrix| {
            let part = |(c, pull): (usize, &f64)| {
                let sizes = residual.column(c).iter().enumerate().map(|(i, r)| weight(i) * r.abs());
                pull.abs() / sizes.sum::<f64>().max(f64::MIN_POSITIVE)
            };
            pulls.iter().enumerate().map(part).fold(0.0, f64::max)
        };
        let (mut reach, mut last) = (FIRST_STEP, f64::INFINITY);
        for _ in 0..MAX_STEPS {
            let mut step = pulls(self.likelihood.residual());
            let now = strongest(&step, self.likelihood.residual());
            if now <= SETTLED || now <= ROUNDING && now > 0.5 * last {
                break;
            }
            last = now;
            let mut hessian = Matrix::zeros(count, count);
            for a in 0..count {
                for b in a..count {
                    hessian[(b, a)] = weighted(&self.likelihood.curvature(a, b));
                }
            }
            // Symmetric outputs have a direction without curvature.
            let largest = (0..count).map(|a| hessian[(a, a)]).fold(0.0, f64::max);
            let flat = FLAT * if largest > 0.0 { largest } else { total };
            (0..count).for_each(|a| hessian[(a, a)] += flat);
            let Ok(factor) = Cholesky::new(hessian, self.observer)? else { break };
            factor.solve(&mut step);
            let longest = step.iter().fold(0.0, |a: f64, s| a.max(s.abs()));
            if longest > reach {
                step.iter_mut().for_each(|s| *s *= reach / longest);
            }
            let before = self.likelihood.value();
            shift(&mut self.eta, intercepts, &step);
            self.likelihood.update(&self.eta);
            if self.likelihood.value() > before * (1.0 + 1e-12) {
                step.iter_mut().for_each(|s| *s = -*s);
                shift(&mut self.eta, intercepts, &step);
                self.likelihood.update(&self.eta);
                reach = 0.25 * reach.min(longest);
            } else if longest > reach {
                reach *= 2.0;
            }
        }
        if self.likelihood.is_symmetric() {
            // Only differences count: of all equally good intercepts, those of mean zero.
            let mean = intercepts.iter().sum::<f64>() / count as f64;
            shift(&mut self.eta, intercepts, &vec![-mean; count]);
        }
        Ok(())
    }
}
