//! Which of many candidates to take: the most promising are weighed against each other exactly,
//! so that several can be added after one look at all of them.

use super::tableau::Tableau;
use super::{Ascent, IN_SPAN};
use crate::error::Result;
use crate::linalg::{Matrix, multiply, multiply_upper};
use crate::prior::Factors;

/// Candidates that are weighed against each other, at most and for each one to be added.
const POOL: usize = 96;
const POOL_FOR_EACH: usize = 16;
/// A column is added together with the first if it still gains such a part of it.
const PART: f64 = 0.25;
/// Columns added at once, at most and for every so many active ones.
const MOST: usize = 16;
const FOR_EACH: usize = 4;

/// Candidates that are weighed against each other, and active columns that may go for them.
struct Pool {
    chosen: Vec<usize>,
    gram: Matrix,
    /// Candidates that are not nearly equal to one that came in.
    open: Vec<bool>,
    /// The candidates, then the active columns.
    tableau: Tableau,
}

impl Ascent<'_> {
    /// Of candidates, and of active columns by their positions; S, Q and Z are those of the last look.
    fn pool(&self, chosen: Vec<usize>, out: &[usize]) -> Pool {
        let (p, all) = (&self.posterior, &self.all);
        let (m, k, with_z) = (chosen.len(), self.active.len(), !all.z.is_empty());
        let size = m + out.len();
        let gram = self.dictionary.gram(&chosen);
        let with_active = all.products_of(&chosen);
        let (mut products, mut pulls) = (Matrix::zeros(size, size), vec![0.0; size]);
        // βG − (βPR)(βPR)ᵀ, as in S itself.
        let projected = multiply_upper(m, &with_active, &p.root);
        let explained = multiply(m, projected.as_slice(), &projected.transpose());
        for b in 0..m {
            for a in 0..m {
                products[(a, b)] = p.beta * (gram[(a, b)] - p.beta * explained[(a, b)]);
            }
            products[(b, b)] = all.s[chosen[b]];
            pulls[b] = all.q[chosen[b]];
        }
        let mut shrunk = Matrix::default();
        if with_z || !out.is_empty() {
            let crossed = multiply(m, &with_active, &p.sigma);
            border(&mut products, m, out, p.beta, &crossed, |a, b| -p.sigma[(a, b)]);
            out.iter().enumerate().for_each(|(b, &i)| pulls[m + b] = p.mean[i]);
            if with_z {
                let of_active = p.shrunk();
                let weighted = Matrix::from_columns(
                    m,
                    k,
                    (0..k)
                        .flat_map(|b| crossed.column(b).iter().map(move |v| v * p.alpha[b]))
                        .collect(),
                );
                let taken = multiply(m, weighted.as_slice(), &crossed.transpose());
                shrunk = products.clone();
                for b in 0..m {
                    for a in 0..m {
                        shrunk[(a, b)] -= p.beta * p.beta * taken[(a, b)];
                    }
                    shrunk[(b, b)] = all.z[chosen[b]];
                }
                let crossed = multiply(m, &with_active, &of_active);
                let within = |a: usize, b: usize| p.sigma[(a, b)] - of_active[(a, b)];
                border(&mut shrunk, m, out, p.beta, &crossed, within);
            }
        }
        let open = vec![true; m];
        Pool { chosen, gram, open, tableau: Tableau { products, pulls, shrunk } }
    }

    /// The best variance and gain of a candidate of the pool.
    fn worth(&self, pool: &Pool, i: usize) -> (f64, f64) {
        let of = pool.tableau.factors(i);
        let (unit, noise) = (self.units[pool.chosen[i]], 1.0 / self.posterior.beta);
        if !pool.open[i] || of.s < IN_SPAN * self.posterior.beta {
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
        let mut pool = self.pool(order, &[]);
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
        let place = |old: usize| self.active.iter().position(|&j| j == old);
        let places: Vec<usize> = proposals.iter().filter_map(|p| place(p.1)).collect();
        let mut pool = self.pool(chosen, &places);
        let noise = 1.0 / self.posterior.beta;
        for (o, (&i, &(_, old, new))) in places.iter().zip(&proposals).enumerate() {
            let Ok(c) = pool.chosen.binary_search(&new) else { continue };
            if !pool.open[c] {
                continue;
            }
            let (o, alpha) = (pool.chosen.len() + o, self.posterior.alpha[i]);
            let of = pool.tableau.factors_without(o, alpha);
            let lost = self.prior.gain(of, 1.0 / alpha, self.units[old], noise);
            let before = pool.tableau.clone();
            pool.tableau.delete(o, alpha);
            let (variance, gain) = self.worth(&pool, c);
            // A λ that has just moved may make any column a loss: the new one must gain by itself.
            if variance == 0.0 || gain - lost < PART * first {
                pool.tableau = before;
                continue;
            }
            pool.add(c, 1.0 / variance, self.options.alignment);
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
    fn add(&mut self, i: usize, alpha: f64, alignment: f64) {
        self.tableau.add(i, alpha);
        for (open, v) in self.open.iter_mut().zip(self.gram.column(i)) {
            *open &= v.abs() <= 1.0 - alignment;
        }
        self.open[i] = false;
    }
}

/// Borders the products of so many candidates by those with active columns, of which `crossed` are
/// products with all of these, and by those among them.
fn border(
    products: &mut Matrix,
    candidates: usize,
    active: &[usize],
    beta: f64,
    crossed: &Matrix,
    within: impl Fn(usize, usize) -> f64,
) {
    for (b, &i) in active.iter().enumerate() {
        for a in 0..candidates {
            let value = beta * crossed[(a, i)];
            (products[(a, candidates + b)], products[(candidates + b, a)]) = (value, value);
        }
        for (a, &l) in active.iter().enumerate() {
            products[(candidates + a, candidates + b)] = within(l, i);
        }
    }
}
