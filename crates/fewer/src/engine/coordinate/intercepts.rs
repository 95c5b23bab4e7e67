//! Free intercepts, solved for alone: the dual takes them to be exact.

use super::Coordinate;
use crate::error::Result;
use crate::linalg::{Cholesky, Matrix};

/// Newton steps at most.
const MAX_STEPS: usize = 100;
/// Pulls on intercepts that count as none, relative to the weight of all rows …
const SETTLED: f64 = 1e-13;
/// … and those that rounding may leave.
const ROUNDING: f64 = 1e-11;
/// The first step is no longer than this: −log p is nearly linear far out, where curvature tells
/// little.
const FIRST_STEP: f64 = 4.0;

impl Coordinate<'_> {
    /// Moves the intercepts, η with them, to where they are best for the other coefficients;
    /// whether they got there.
    pub(super) fn settle_intercepts(&mut self) -> Result<bool> {
        let Some(intercepts) = &mut self.intercepts else { return Ok(true) };
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
        let within = |pulls: &[f64], part: f64| pulls.iter().all(|s| s.abs() <= part * total);
        let mut reach = FIRST_STEP;
        for _ in 0..MAX_STEPS {
            let mut step = pulls(self.likelihood.residual());
            if within(&step, SETTLED) {
                break;
            }
            let mut hessian = Matrix::zeros(count, count);
            for a in 0..count {
                for b in a..count {
                    hessian[(b, a)] = weighted(&self.likelihood.curvature(a, b));
                }
                // Symmetric outputs have a direction without curvature.
                hessian[(a, a)] += 1e-12 * total;
            }
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
        let settled = within(&pulls(self.likelihood.residual()), ROUNDING);
        if self.likelihood.is_symmetric() {
            // Only differences count: of all equally good intercepts, those of mean zero.
            let mean = intercepts.iter().sum::<f64>() / count as f64;
            shift(&mut self.eta, intercepts, &vec![-mean; count]);
        }
        Ok(settled)
    }
}
