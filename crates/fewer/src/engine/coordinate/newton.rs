//! Newton's method on the working set, for likelihoods that are not quadratic.
//!
//! Each step minimises the second-order model of the likelihood plus the penalty itself, and goes
//! as far as the objective falls.

use super::gram::Gram;
use super::penalty::{Penalty, best_dual_point};
use super::quadratic::Quadratic;
use super::{Coordinate, FREE_PULL};
use crate::error::Result;
use crate::linalg::{Matrix, axpy, cross_products, dot};

/// Steps on one working set.
const MAX_STEPS: usize = 50;
/// Halvings of a step.
const MAX_HALVINGS: usize = 40;
/// Part of the predicted decrease that a step must keep.
const ARMIJO: f64 = 1e-4;

impl Coordinate<'_> {
    /// Solves the problem on the working set until its gap is at most `tolerance`; whether
    /// anything moved.
    pub(super) fn descend_by_newton(&mut self, penalty: &Penalty, tolerance: f64) -> Result<bool> {
        let variables = self.working.columns().to_vec();
        let own = self.own_penalty(&variables, penalty);
        // The gap is of the first order in what is left, the model's own measure of the second.
        let exact = (1e-2 * tolerance).powi(2) / self.null;
        let mut moved = false;
        let mut last = (f64::INFINITY, false);
        for _ in 0..MAX_STEPS {
            self.observer.check()?;
            let pulls = self.working_pulls(&variables);
            let gap = self.working_gap(&variables, &own, &pulls);
            // Steps too small to be seen in the objective are taken while the gap closes.
            if gap <= tolerance || last.1 && gap > 0.5 * last.0 {
                break;
            }
            let step = self.newton_step(&variables, &own, &pulls, exact)?;
            let Some(invisible) = self.search_along(&variables, &own, &pulls, &step) else {
                break;
            };
            last = (gap, invisible);
            moved = true;
        }
        Ok(moved)
    }

    /// The penalty of the working coefficients, and none on the intercepts after them.
    fn own_penalty(&self, variables: &[usize], penalty: &Penalty) -> Penalty {
        let mut own = penalty.of(variables);
        let free = self.intercepts.as_ref().map_or(0, Vec::len);
        own.l1.extend(vec![0.0; free]);
        own.l2.extend(vec![0.0; free]);
        own
    }

    fn weighted_residual(&self, output: usize) -> Vec<f64> {
        let residual = self.likelihood.residual().column(output);
        match self.design.weights() {
            Some(w) => residual.iter().zip(w).map(|(r, w)| r * w).collect(),
            None => residual.to_vec(),
        }
    }

    /// Pulls on the working coefficients, then on the intercepts.
    fn working_pulls(&self, variables: &[usize]) -> Vec<f64> {
        let (rows, columns) = (self.design.rows(), self.squares.len());
        let residuals: Vec<Vec<f64>> =
            (0..self.eta.columns()).map(|c| self.weighted_residual(c)).collect();
        let packed = self.working.packed().chunks_exact(rows);
        let own = variables.iter().zip(packed).map(|(v, x)| dot(x, &residuals[v / columns]));
        let free = self.intercepts.as_ref().map_or(0, Vec::len);
        own.chain(residuals[..free].iter().map(|r| r.iter().sum())).collect()
    }

    fn working_gap(&self, variables: &[usize], own: &Penalty, pulls: &[f64]) -> f64 {
        let value = |(k, &v): (usize, &usize)| {
            // The dual takes coefficients without a penalty to be solved for.
            let left = if own.is_free(k) { (pulls[k] * self.beta[v]).abs() } else { 0.0 };
            own.value(k, self.beta[v]) + left
        };
        let value: f64 = variables.iter().enumerate().map(value).sum();
        let rounding = |k: usize| FREE_PULL * (self.square(variables[k]) * 2.0 * self.null).sqrt();
        let likelihood = self.dual_of_likelihood();
        let pulls = pulls.iter().copied().enumerate().take(variables.len());
        let best = self.likelihood.best_kappa();
        let dual = best_dual_point(pulls, own, &rounding, &likelihood, best);
        self.likelihood.value() + value - dual.value
    }

    /// Second derivatives of −log p in the working coefficients, then the intercepts.
    fn hessian(&self, variables: &[usize]) -> Gram {
        let (rows, columns) = (self.design.rows(), self.squares.len());
        let outputs = self.eta.columns();
        let free = self.intercepts.as_ref().map_or(0, Vec::len);
        // Positions of each output's coefficients, and their columns one after the other.
        let mut members: Vec<(Vec<usize>, Vec<f64>)> = vec![Default::default(); outputs];
        for (k, (v, x)) in
            variables.iter().zip(self.working.packed().chunks_exact(rows)).enumerate()
        {
            members[v / columns].0.push(k);
            members[v / columns].1.extend_from_slice(x);
        }
        for (c, member) in members.iter_mut().enumerate().take(free) {
            member.0.push(variables.len() + c);
            member.1.extend(vec![1.0; rows]);
        }
        let mut gram = Gram::default();
        gram.grow(variables.len() + free);
        for a in 0..outputs {
            for b in a..outputs {
                let mut curvature = self.likelihood.curvature(a, b);
                if let Some(w) = self.design.weights() {
                    curvature.iter_mut().zip(w).for_each(|(c, w)| *c *= w);
                }
                let mut weighted = members[b].1.clone();
                for column in weighted.chunks_exact_mut(rows) {
                    column.iter_mut().zip(&curvature).for_each(|(v, c)| *v *= c);
                }
                let products = cross_products(rows, &members[a].1, &weighted);
                for (j, &l) in members[b].0.iter().enumerate() {
                    let column = products.column(j);
                    members[a].0.iter().zip(column).for_each(|(&k, &v)| gram.set(k, l, v));
                }
            }
        }
        gram
    }

    fn newton_step(
        &self,
        variables: &[usize],
        own: &Penalty,
        pulls: &[f64],
        tolerance: f64,
    ) -> Result<Vec<f64>> {
        let gram = self.hessian(variables);
        let start: Vec<f64> = variables
            .iter()
            .map(|&v| self.beta[v])
            .chain(self.intercepts.iter().flatten().copied())
            .collect();
        let (mut beta, mut q) = (start.clone(), pulls.to_vec());
        let done = |beta: &[f64], q: &[f64]| {
            let violation = |k: usize| {
                let h = gram.diagonal(k);
                let best = own.minimiser(k, q[k] + h * beta[k], h);
                0.5 * (h + own.l2[k]) * (best - beta[k]).powi(2)
            };
            let curved = (0..beta.len()).filter(|&k| gram.diagonal(k) > 0.0);
            curved.map(violation).sum::<f64>() <= tolerance
        };
        Quadratic { gram: &gram, penalty: own, observer: self.observer }
            .solve(&mut beta, &mut q, &done)?;
        Ok(beta.iter().zip(&start).map(|(b, s)| b - s).collect())
    }

    /// Goes along a step as far as the objective falls; nothing if it does not, else whether the
    /// fall is lost in rounding.
    fn search_along(
        &mut self,
        variables: &[usize],
        own: &Penalty,
        pulls: &[f64],
        step: &[f64],
    ) -> Option<bool> {
        let (rows, columns) = (self.design.rows(), self.squares.len());
        let mut direction = Matrix::zeros(rows, self.eta.columns());
        for (k, &v) in variables.iter().enumerate().filter(|(k, _)| step[*k] != 0.0) {
            let x = &self.working.packed()[k * rows..][..rows];
            axpy(step[k], x, direction.column_mut(v / columns));
        }
        for (c, s) in step[variables.len()..].iter().enumerate() {
            direction.column_mut(c).iter_mut().for_each(|d| *d += s);
        }
        let penalty_at = |t: f64| {
            let of = |(k, &v): (usize, &usize)| own.value(k, self.beta[v] + t * step[k]);
            variables.iter().enumerate().map(of).sum::<f64>()
        };
        let (value, penalty) = (self.likelihood.value(), penalty_at(0.0));
        let linear: f64 = pulls.iter().zip(step).map(|(g, s)| g * s).sum();
        let predicted = penalty_at(1.0) - penalty - linear;
        let noise = 1e-15 * (value.abs() + penalty);
        let from = self.eta.clone();
        let mut t = 1.0;
        for _ in 0..MAX_HALVINGS {
            let moved = from.as_slice().iter().zip(direction.as_slice());
            self.eta.as_mut_slice().iter_mut().zip(moved).for_each(|(e, (f, d))| *e = f + t * d);
            self.likelihood.update(&self.eta);
            let change = self.likelihood.value() - value + penalty_at(t) - penalty;
            if change <= ARMIJO * t * predicted.min(0.0) + noise {
                for (k, &v) in variables.iter().enumerate() {
                    let gone = t == 1.0 && self.beta[v] == -step[k];
                    self.beta[v] = if gone { 0.0 } else { self.beta[v] + t * step[k] };
                }
                for (b, s) in self.intercepts.iter_mut().flatten().zip(&step[variables.len()..]) {
                    *b += t * s;
                }
                return Some(predicted > -noise);
            }
            t *= 0.5;
        }
        self.eta = from;
        self.likelihood.update(&self.eta);
        None
    }
}
