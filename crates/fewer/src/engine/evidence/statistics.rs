//! S, Q and Z of candidate columns: what adding each of them would do.

use super::IN_SPAN;
use super::posterior::{Posterior, ROUNDING};
use crate::linalg::{Matrix, axpy, multiply, multiply_upper};
use crate::prior::Factors;

/// A column whose S is above this part of the noise precision has more than rounding of its own.
const OUT_OF_SPAN: f64 = 1e-6;

/// S = φᵀC⁻¹φ, Q = φᵀC⁻¹t and Z = φᵀC⁻¹B⁻¹C⁻¹φ of some candidates, and their products with the
/// active columns.
#[derive(Debug, Clone, Default)]
pub(super) struct Statistics {
    /// (m,) φᵀt.
    pub cross: Vec<f64>,
    /// (m, k) Products with the active columns, column after column.
    pub products: Vec<f64>,
    /// After a glance, mostly of an earlier posterior.
    pub s: Vec<f64>,
    pub q: Vec<f64>,
    /// Empty where no prior asks for it.
    pub z: Vec<f64>,
    /// The noise precision that they belong to.
    pub beta: f64,
}

impl Statistics {
    pub fn new(cross: Vec<f64>, with_z: bool) -> Self {
        let m = cross.len();
        let z = vec![0.0; if with_z { m } else { 0 }];
        Self { products: Vec::new(), s: vec![0.0; m], q: vec![0.0; m], z, cross, beta: 0.0 }
    }

    pub fn len(&self) -> usize {
        self.cross.len()
    }

    /// Products of the candidates with active column `k`.
    pub fn column(&self, k: usize) -> &[f64] {
        &self.products[k * self.len()..][..self.len()]
    }

    /// Takes column `k` out: the last takes its place.
    pub fn swap_remove(&mut self, k: usize) {
        let m = self.len();
        let last = self.products.len() / m.max(1) - 1;
        self.products.copy_within(last * m..(last + 1) * m, k * m);
        self.products.truncate(last * m);
    }

    /// All of them afresh (Tipping & Faul 2003, eq. 24-25), from a posterior with its root.
    pub fn refresh(&mut self, posterior: &Posterior) {
        let (m, beta) = (self.len(), posterior.beta);
        self.refresh_q(posterior);
        self.s.fill(beta);
        // βFᵀφ through R, so that S is β minus a sum of squares.
        let projected = multiply_upper(m, &self.products, &posterior.root);
        for k in 0..posterior.alpha.len() {
            subtract_squares(beta * beta, projected.column(k), &mut self.s);
        }
        self.beta = beta;
        if !self.z.is_empty() {
            self.z.copy_from_slice(&self.s);
            let weights = multiply(m, &self.products, &posterior.sigma);
            for k in 0..posterior.alpha.len() {
                let factor = beta * beta * posterior.alpha[k];
                subtract_squares(factor, weights.column(k), &mut self.z);
            }
        }
    }

    fn refresh_q(&mut self, posterior: &Posterior) {
        let (m, beta) = (self.len(), posterior.beta);
        self.q.iter_mut().zip(&self.cross).for_each(|(q, c)| *q = beta * c);
        for k in 0..posterior.alpha.len() {
            axpy(-beta * posterior.mean[k], &self.products[k * m..][..m], &mut self.q);
        }
    }

    /// Q of all of them afresh, which takes k products for each, S k²: S of the last look keeps its
    /// part of the noise precision.
    pub fn glance(&mut self, posterior: &Posterior) {
        self.refresh_q(posterior);
        let same_part = posterior.beta / self.beta;
        self.s.iter_mut().for_each(|s| *s *= same_part);
        self.beta = posterior.beta;
    }

    /// So many of some candidates, rising: those that seem to gain most.
    pub fn best(&self, mut candidates: Vec<usize>, count: usize) -> Vec<usize> {
        if candidates.len() > count {
            let promise = |j: usize| self.q[j] * self.q[j] / self.s[j].max(f64::MIN_POSITIVE);
            candidates.select_nth_unstable_by(count, |&a, &b| {
                promise(b).total_cmp(&promise(a)).then(a.cmp(&b))
            });
            candidates.truncate(count);
            candidates.sort_unstable();
        }
        candidates
    }

    /// S of these afresh.
    pub fn refresh_s_of(&mut self, posterior: &Posterior, chosen: &[usize]) {
        let (beta, order) = (posterior.beta, posterior.alpha.len());
        let products = self.products_of(chosen);
        let projected = multiply_upper(chosen.len(), &products, &posterior.root);
        let mut s = vec![beta; chosen.len()];
        for k in 0..order {
            subtract_squares(beta * beta, projected.column(k), &mut s);
        }
        chosen.iter().zip(s).for_each(|(&j, s)| self.s[j] = s);
    }

    /// (chosen, k) Products of some candidates with the active columns, column after column.
    pub fn products_of(&self, chosen: &[usize]) -> Vec<f64> {
        let mut products =
            Vec::with_capacity(self.products.len() / self.len().max(1) * chosen.len());
        for column in self.products.chunks_exact(self.len().max(1)) {
            products.extend(chosen.iter().map(|&j| column[j]));
        }
        products
    }

    /// What is more than rounding of the factors of a candidate, for a target of length `size`; none
    /// of one that the active columns span.
    ///
    /// With the candidate's weights c = βΣFᵀφ among the active columns, and sizes that are sums of
    /// absolute values, products known to ε give S/β to ε(1 + |c|)² and Q/β to
    /// ε(1 + |c|)(|t| + |μ|).
    pub fn factors(&self, j: usize, posterior: &Posterior, size: f64) -> Option<Factors> {
        let (s, q) = (self.s[j], self.q[j]);
        let z = self.z.get(j).copied().unwrap_or(0.0);
        let beta = posterior.beta;
        if s > OUT_OF_SPAN * beta {
            return Some(Factors { s, q, z });
        }
        if s < IN_SPAN * beta {
            return None;
        }
        let k = posterior.alpha.len();
        let products: Vec<f64> = (0..k).map(|b| self.column(b)[j]).collect();
        let dot = |i: usize| crate::linalg::dot(posterior.sigma.column(i), &products);
        let within = 1.0 + (0..k).map(|i| (beta * dot(i)).abs()).sum::<f64>();
        let weights = size + posterior.mean.iter().map(|m| m.abs()).sum::<f64>();
        let unknown = ROUNDING * beta * within;
        let q = (q.abs() - unknown * weights).max(0.0);
        (s > unknown * within).then_some(Factors { s, q, z })
    }

    /// (m, k) β times the products with the active columns, times a k×k matrix.
    pub fn crossed(&self, matrix: &Matrix, beta: f64) -> Matrix {
        let mut out = multiply(self.len(), &self.products, matrix);
        out.as_mut_slice().iter_mut().for_each(|v| *v *= beta);
        out
    }
}

fn subtract_squares(factor: f64, values: &[f64], out: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        out.iter_mut().zip(values).for_each(|(o, v)| *o -= factor * v * v);
    });
}
