//! Which of many candidates to take: the most promising are weighed against each other exactly,
//! so that several can be added after one look at all of them.

use super::posterior::Posterior;
use super::statistics::Statistics;
use super::{Ascent, IN_SPAN};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::prior::Factors;

/// Candidates that are weighed against each other, at most and for each one to be added.
const POOL: usize = 96;
const POOL_FOR_EACH: usize = 16;
/// A column is added together with the first if it still gains such a part of it.
const PART: f64 = 0.25;
/// Columns added at once, at most and for every so many active ones.
const MOST: usize = 16;
const FOR_EACH: usize = 4;

/// Some candidates, with a posterior that moves as they are added.
struct Pool {
    chosen: Vec<usize>,
    gram: Matrix,
    statistics: Statistics,
    posterior: Posterior,
    open: Vec<bool>,
}

impl Ascent<'_> {
    fn pool(&self, chosen: Vec<usize>) -> Pool {
        let gram = self.dictionary.gram(&chosen);
        let take = |from: &[f64]| chosen.iter().map(|&j| from[j]).collect::<Vec<f64>>();
        let statistics = Statistics {
            cross: take(&self.all.cross),
            products: (0..self.active.len()).flat_map(|k| take(self.all.column(k))).collect(),
            s: take(&self.all.s),
            q: take(&self.all.q),
            z: if self.all.z.is_empty() { Vec::new() } else { take(&self.all.z) },
        };
        let open = vec![true; chosen.len()];
        Pool { chosen, gram, statistics, posterior: self.posterior.clone(), open }
    }

    /// The best variance and gain of a candidate of the pool.
    fn worth(&self, pool: &Pool, i: usize) -> (f64, f64) {
        let of = pool.factors(i);
        let (unit, noise) = (self.units[pool.chosen[i]], 1.0 / pool.posterior.beta);
        if !pool.open[i] || of.s < IN_SPAN * pool.posterior.beta {
            return (0.0, 0.0);
        }
        let variance = self.prior.best_variance(of, unit, noise);
        if variance > 0.0 {
            (variance, self.prior.gain(of, variance, unit, noise))
        } else {
            (0.0, 0.0)
        }
    }

    /// Adds the columns that gain most; whether there were any.
    pub(super) fn add_some(&mut self, gains: &[(f64, f64)]) -> Result<bool> {
        let picked = self.additions(gains);
        self.activate(&picked)?;
        Ok(!picked.is_empty())
    }

    /// The columns to add, with their precisions: those that gain most, one given the other.
    pub(super) fn additions(&self, gains: &[(f64, f64)]) -> Vec<(usize, f64)> {
        let mut order: Vec<usize> =
            (0..gains.len()).filter(|&j| gains[j].1 > self.options.tol).collect();
        let by_gain = |a: &usize, b: &usize| gains[*b].1.total_cmp(&gains[*a].1).then(a.cmp(b));
        let room = self.options.max_terms.map_or(usize::MAX, |m| m.saturating_sub(self.counted()));
        let most = (1 + self.active.len() / FOR_EACH).min(MOST);
        let size = POOL.min(POOL_FOR_EACH * most);
        if order.len() > size {
            order.select_nth_unstable_by(size, by_gain);
            order.truncate(size);
        }
        order.sort_unstable_by(by_gain);
        if most.min(room.max(1)) == 1 || self.singly || self.goes_by_rules() {
            return order.first().map(|&j| (j, 1.0 / gains[j].0)).into_iter().collect();
        }
        let mut pool = self.pool(order);
        let (mut picked, mut first) = (Vec::new(), 0.0);
        let mut counted = 0;
        while picked.len() < most {
            let best = (0..pool.chosen.len())
                .filter(|&i| counted < room || Some(pool.chosen[i]) == self.uncounted)
                .map(|i| (i, self.worth(&pool, i)))
                .max_by(|a, b| a.1.1.total_cmp(&b.1.1).then(b.0.cmp(&a.0)));
            let Some((i, (variance, gain))) = best else { break };
            if gain <= self.options.tol || gain < PART * first {
                break;
            }
            first = f64::max(first, gain);
            let j = pool.chosen[i];
            counted += usize::from(Some(j) != self.uncounted);
            picked.push((j, 1.0 / variance));
            pool.add(i, 1.0 / variance, self.options.alignment);
        }
        picked
    }

    /// For each active column the one whose place it would best give up to: gain, old and new.
    fn proposals(&self) -> Vec<(f64, usize, usize)> {
        let p = &self.posterior;
        let (noise, units) = (1.0 / p.beta, self.active_units());
        let factors = self.objective().factors(p);
        let crossed = self.all.crossed(&p.sigma, p.beta);
        let with_z = !self.all.z.is_empty();
        let shrunk = if with_z { self.all.crossed(&p.shrunk(), p.beta) } else { Matrix::default() };
        let mut is_active = vec![false; self.all.len()];
        self.active.iter().for_each(|&j| is_active[j] = true);
        let mut proposals = Vec::new();
        for i in (0..self.active.len()).filter(|&i| Some(self.active[i]) != self.uncounted) {
            let variance = p.sigma[(i, i)];
            let kappa = 1.0 / variance;
            let lost = self.prior.gain(factors[i], 1.0 / p.alpha[i], units[i], noise);
            let mut best = (self.options.tol.max(EXCHANGE), None);
            let mut least = least_quality(lost + best.0);
            for (j, &e) in crossed.column(i).iter().enumerate() {
                // S, Q and Z once column i is out.
                let mut of = Factors {
                    s: self.all.s[j] + kappa * e * e,
                    q: self.all.q[j] + kappa * p.mean[i] * e,
                    z: 0.0,
                };
                if of.q * of.q <= least * of.s || is_active[j] || of.s < IN_SPAN * p.beta {
                    continue;
                }
                if with_z {
                    let own = factors[i].z * variance * variance;
                    of.z = self.all.z[j] + kappa * e * (2.0 * shrunk[(j, i)] + kappa * e * own);
                }
                let variance = self.prior.best_variance(of, self.units[j], noise);
                if variance > 0.0 {
                    let gain = self.prior.gain(of, variance, self.units[j], noise) - lost;
                    if gain > best.0 {
                        best = (gain, Some(j));
                        least = least_quality(lost + gain);
                    }
                }
            }
            if let (gain, Some(new)) = best {
                proposals.push((gain, self.active[i], new));
            }
        }
        proposals
    }

    /// Exchanges active columns for better ones; whether there were any.
    ///
    /// A kernel beside an active one cannot be added with gain though it would do better in its
    /// place: taking the one out for the other is one action with an exact gain of its own.
    pub(super) fn exchange_some(&mut self) -> Result<bool> {
        let (out, into) = self.exchanges();
        for old in out {
            if let Some(i) = self.active.iter().position(|&j| j == old) {
                self.remove(i);
            }
        }
        self.activate(&into)?;
        Ok(!into.is_empty())
    }

    /// Active columns to give up, and those to take in their place with their precisions.
    pub(super) fn exchanges(&self) -> (Vec<usize>, Vec<(usize, f64)>) {
        let (mut out, mut into) = (Vec::new(), Vec::new());
        if !self.prior.is_exact() || self.active.is_empty() {
            return (out, into);
        }
        let mut proposals = self.proposals();
        proposals.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        proposals.truncate(MOST);
        let Some(first) = proposals.first().map(|p| p.0) else { return (out, into) };
        let mut chosen: Vec<usize> = proposals.iter().map(|p| p.2).collect();
        chosen.sort_unstable();
        chosen.dedup();
        let mut pool = self.pool(chosen);
        let mut active = self.active.clone();
        let noise = 1.0 / self.posterior.beta;
        for &(_, old, new) in &proposals {
            let Some(i) = active.iter().position(|&j| j == old) else { continue };
            let Ok(c) = pool.chosen.binary_search(&new) else { continue };
            if !pool.open[c] {
                continue;
            }
            let (s, q) = pool.posterior.factors(i);
            let z = if self.all.z.is_empty() {
                0.0
            } else {
                let variance = pool.posterior.sigma[(i, i)];
                (variance - pool.posterior.shrunk_column(i)[i]) / (variance * variance)
            };
            let unit = self.units[old];
            let now = 1.0 / pool.posterior.alpha[i];
            let lost = self.prior.gain(Factors { s, q, z }, now, unit, noise);
            let before = (pool.statistics.clone(), pool.posterior.clone());
            let kappa = 1.0 / pool.posterior.sigma[(i, i)];
            pool.statistics.rank_one(&pool.posterior, i, kappa);
            pool.statistics.swap_remove(i);
            pool.posterior.delete(i);
            let (variance, gain) = self.worth(&pool, c);
            // A λ that has just moved may make any column a loss: the new one must gain by itself.
            if variance == 0.0 || gain - lost < PART * first {
                (pool.statistics, pool.posterior) = before;
                continue;
            }
            pool.add(c, 1.0 / variance, self.options.alignment);
            active.swap_remove(i);
            active.push(new);
            out.push(old);
            into.push((new, 1.0 / variance));
        }
        (out, into)
    }
}

/// q²/s below which no column gains so much, whatever the prior: the evidence gains
/// ½(ρ − 1 − log ρ) at its best for ρ = q²/s, and a prior takes of it (Tipping & Faul 2003, eq. 27).
fn least_quality(gain: f64) -> f64 {
    if gain <= 0.0 {
        return 1.0;
    }
    let wanted = 2.0 * gain;
    // Newton's method from above, where the function is convex.
    let mut rho = 1.0 + wanted + (2.0 * wanted).sqrt();
    for _ in 0..4 {
        rho -= (rho - 1.0 - rho.ln() - wanted) * rho / (rho - 1.0);
    }
    // Not above the root for rounding.
    1.0 + (rho - 1.0) * (1.0 - 1e-9)
}

/// Exchanges that gain less are not worth another look at all candidates.
const EXCHANGE: f64 = 1e-2;

impl Pool {
    fn factors(&self, i: usize) -> Factors {
        let of = &self.statistics;
        Factors { s: of.s[i], q: of.q[i], z: of.z.get(i).copied().unwrap_or(0.0) }
    }

    fn add(&mut self, i: usize, alpha: f64, alignment: f64) {
        let (m, k) = (self.chosen.len(), self.posterior.alpha.len());
        let within: Vec<f64> = (0..k).map(|b| self.statistics.products[b * m + i]).collect();
        let Factors { s, q, .. } = self.factors(i);
        let with = self.gram.column(i).to_vec();
        self.statistics.add(&self.posterior, &with, &within, alpha, s, q);
        self.posterior.add(alpha, s, q, &within);
        for (open, v) in self.open.iter_mut().zip(&with) {
            *open &= v.abs() <= 1.0 - alignment;
        }
        self.open[i] = false;
    }
}
