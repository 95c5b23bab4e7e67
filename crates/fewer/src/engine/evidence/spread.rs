//! All active columns on the move at once.
//!
//! Kernels beside an active one that would do a little better in its place, if only its neighbours
//! moved too, gain nothing by themselves: such valleys are long, and exchanges go along them by
//! steps of one column. Here every active column shares its variance with several of its likes,
//! near and far, which hardly changes the evidence; then all settle together, and most of them
//! vanish again.

use super::{Ascent, Noise, Problem, Start};
use crate::error::Result;
use crate::prior::Factors;

/// How far, as one less the correlation, the likes of a column are from it.
const LEVELS: [f64; 4] = [1e-5, 1e-4, 1e-3, 1e-2];
/// Farther ones are no likes.
const FARTHEST: f64 = 0.2;
/// Most active columns for which this is worth its cost.
const MOST: usize = 40;
/// Gains below this are left.
const WORTH: f64 = 0.03;

impl Ascent<'_> {
    /// Whether it raised the objective; else all is as it was.
    pub(super) fn spread(&mut self) -> Result<bool> {
        let k = self.active.len();
        let known = self.options.noise != Noise::Estimated;
        if k == 0 || k > MOST || !self.prior.is_exact() || self.lam_follows() || known && k < 2 {
            return Ok(false);
        }
        let (value, rounding) = (self.value(), self.posterior.rounding());
        // The active columns first, each followed at some distance by its likes.
        let mut chosen = self.active.clone();
        let mut alpha = self.posterior.alpha.clone();
        for i in 0..k {
            let likes = self.likes(i);
            let fresh: Vec<usize> = likes.into_iter().filter(|j| !chosen.contains(j)).collect();
            alpha[i] *= (1 + fresh.len()) as f64;
            alpha.extend(vec![alpha[i]; fresh.len()]);
            chosen.extend(fresh);
        }
        if chosen.len() == k {
            return Ok(false);
        }
        let ((kept, noise), reached) = self.settle_among(&chosen, &alpha)?;
        let terms = kept.iter().filter(|c| Some(c.0) != self.uncounted).count();
        let many = self.options.max_terms.is_some_and(|most| terms > most);
        if reached < value + WORTH.max(rounding) || many {
            return Ok(false);
        }
        for i in (0..k).rev() {
            self.remove(i);
        }
        self.posterior.beta = 1.0 / noise;
        self.activate(&kept)?;
        self.refactor()?;
        Ok(true)
    }

    /// Settles these columns, looking at no others: what is left of them, and the objective.
    fn settle_among(&mut self, chosen: &[usize], alpha: &[f64]) -> Result<(Start, f64)> {
        let take = |from: &[f64]| chosen.iter().map(|&j| from[j]).collect::<Vec<f64>>();
        let gram = self.dictionary.gram(chosen);
        let problem = Problem {
            dictionary: self.dictionary,
            cross: take(&self.all.cross),
            square: self.data.square,
            units: take(self.units),
            weight: self.frame.weight,
            free_intercept: self.frame.free_intercept,
            uncounted: None,
        };
        let beta = self.posterior.beta;
        let mut inner = Ascent::new(&problem, &mut *self.prior, self.options, self.observer)?;
        inner.all.products = gram.as_slice().to_vec();
        inner.active = (0..chosen.len()).collect();
        (inner.posterior.alpha, inner.posterior.beta) = (alpha.to_vec(), beta);
        inner.lam_stays = true;
        inner.settle(0.1 * WORTH)?;
        let kept = inner.active.iter().zip(&inner.posterior.alpha);
        let kept = kept.map(|(&k, &a)| (chosen[k], a)).collect();
        Ok(((kept, 1.0 / inner.posterior.beta), inner.value()))
    }

    /// The columns that would do best in the place of an active one, at several distances from it.
    fn likes(&self, i: usize) -> Vec<usize> {
        let p = &self.posterior;
        let m = self.all.len();
        let mut crossed = vec![0.0; m];
        for (b, s) in p.sigma.column(i).iter().enumerate() {
            crate::linalg::axpy(p.beta * s, self.all.column(b), &mut crossed);
        }
        let kappa = 1.0 / p.sigma[(i, i)];
        let mut best = [(f64::NEG_INFINITY, usize::MAX); LEVELS.len()];
        let correlation = self.all.column(i);
        for j in 0..m {
            let distance = 1.0 - correlation[j].abs();
            if !(LEVELS[0]..=FARTHEST).contains(&distance) {
                continue;
            }
            let e = crossed[j];
            let of = Factors {
                s: self.all.s[j] + kappa * e * e,
                q: self.all.q[j] + kappa * p.mean[i] * e,
                z: 0.0,
            };
            let worth = of.q * of.q / of.s;
            for (level, best) in LEVELS.iter().zip(&mut best) {
                if distance >= *level && worth > best.0 {
                    *best = (worth, j);
                }
            }
        }
        let mut likes: Vec<usize> = best.iter().map(|b| b.1).filter(|&j| j < m).collect();
        likes.sort_unstable();
        likes.dedup();
        likes.retain(|j| !self.active.contains(j));
        likes
    }
}
