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
    pub s: Vec<f64>,
    pub q: Vec<f64>,
    /// Empty where no prior asks for it.
    pub z: Vec<f64>,
}

impl Statistics {
    pub fn new(cross: Vec<f64>, with_z: bool) -> Self {
        let m = cross.len();
        let z = vec![0.0; if with_z { m } else { 0 }];
        Self { products: Vec::new(), s: vec![0.0; m], q: vec![0.0; m], z, cross }
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
        self.s.fill(beta);
        self.q.iter_mut().zip(&self.cross).for_each(|(q, c)| *q = beta * c);
        // βFᵀφ through R, so that S is β minus a sum of squares.
        let projected = multiply_upper(m, &self.products, &posterior.root);
        for k in 0..posterior.alpha.len() {
            subtract_squares(beta * beta, projected.column(k), &mut self.s);
            axpy(-beta * posterior.mean[k], &self.products[k * m..][..m], &mut self.q);
        }
        if !self.z.is_empty() {
            self.z.copy_from_slice(&self.s);
            let weights = multiply(m, &self.products, &posterior.sigma);
            for k in 0..posterior.alpha.len() {
                let factor = beta * beta * posterior.alpha[k];
                subtract_squares(factor, weights.column(k), &mut self.z);
            }
        }
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

    /// What adding candidate column φ does to all of them (eq. 30-31), before the posterior moves:
    /// `with` are products with φ, `alpha` its precision and `s`, `q` its factors.
    pub fn add(
        &mut self,
        posterior: &Posterior,
        with: &[f64],
        within: &[f64],
        alpha: f64,
        s: f64,
        q: f64,
    ) {
        let (m, beta) = (self.len(), posterior.beta);
        let k = posterior.alpha.len();
        let dot = |i: usize, v: &[f64]| crate::linalg::dot(posterior.sigma.column(i), v);
        let c: Vec<f64> = (0..k).map(|i| beta * dot(i, within)).collect();
        // φ_mᵀC⁻¹φ
        let mut e: Vec<f64> = with.iter().map(|v| beta * v).collect();
        for i in 0..k {
            axpy(-beta * c[i], &self.products[i * m..][..m], &mut e);
        }
        let variance = 1.0 / (alpha + s);
        if !self.z.is_empty() {
            // φ_mᵀC⁻¹B⁻¹C⁻¹φ
            let weighted: Vec<f64> = c.iter().zip(&posterior.alpha).map(|(c, a)| c * a).collect();
            let mut f = e.clone();
            for i in 0..k {
                axpy(-beta * dot(i, &weighted), &self.products[i * m..][..m], &mut f);
            }
            let inner: Vec<f64> = (0..k).map(|i| dot(i, &weighted)).collect();
            let z = s - beta * crate::linalg::dot(&inner, within);
            update_z(&mut self.z, -variance, &e, &f, z);
        }
        update(&mut self.s, &mut self.q, -variance, -variance * q, &e);
        self.products.extend_from_slice(with);
    }

    /// What Σ − κ Σ_:kΣ_k: does to all of them (eq. 34-35), before the posterior moves.
    pub fn rank_one(&mut self, posterior: &Posterior, k: usize, kappa: f64) {
        let beta = posterior.beta;
        let e = self.combine(posterior.sigma.column(k), beta);
        if !self.z.is_empty() {
            let shrunk = posterior.shrunk_column(k);
            let f = self.combine(&shrunk, beta);
            update_z(&mut self.z, kappa, &e, &f, posterior.sigma[(k, k)] - shrunk[k]);
        }
        update(&mut self.s, &mut self.q, kappa, kappa * posterior.mean[k], &e);
    }

    /// Σ_i factor·weights_i·products_i.
    fn combine(&self, weights: &[f64], factor: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.len()];
        for (i, w) in weights.iter().enumerate() {
            axpy(factor * w, self.column(i), &mut out);
        }
        out
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

fn update(s: &mut [f64], q: &mut [f64], kappa: f64, mean: f64, e: &[f64]) {
    for ((s, q), e) in s.iter_mut().zip(q).zip(e) {
        *s += kappa * e * e;
        *q += mean * e;
    }
}

/// Of C⁻¹ + κuuᵀ, with e = φᵀu, f = φᵀC⁻¹B⁻¹u and z = uᵀB⁻¹u.
fn update_z(values: &mut [f64], kappa: f64, e: &[f64], f: &[f64], z: f64) {
    for ((v, e), f) in values.iter_mut().zip(e).zip(f) {
        *v += 2.0 * kappa * e * f + kappa * kappa * e * e * z;
    }
}
