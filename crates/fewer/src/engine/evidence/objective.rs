//! What is maximised: log evidence less what the prior asks for, and its derivatives.

use super::posterior::Posterior;
use crate::linalg::{Matrix, dot};
use crate::prior::{EvidencePrior, Factors};

/// log p(t | α, β) and the prior.
#[derive(Clone, Copy)]
pub(super) struct Objective<'a> {
    /// Rows, by weight.
    pub weight: f64,
    /// Whether an intercept under a flat prior is integrated out.
    pub free_intercept: bool,
    pub prior: &'a dyn EvidencePrior,
}

impl Objective<'_> {
    /// Rows less the intercept.
    pub fn rows(&self) -> f64 {
        self.weight - f64::from(u8::from(self.free_intercept))
    }

    /// The power of β, twice.
    pub fn noise_shape(&self) -> f64 {
        self.rows() + 2.0 * self.prior.noise_power()
    }

    /// log p(t | α, β), the weights integrated out (Tipping 2001, eq. 15).
    pub fn log_evidence(&self, p: &Posterior) -> f64 {
        let tau = std::f64::consts::TAU;
        let determinants = p.alpha.iter().map(|a| a.ln()).sum::<f64>() + p.log_determinant;
        let fit = p.beta * p.residual_square + p.prior_square();
        // A flat prior on the intercept leaves √(2π/βn) of it.
        let intercept = if self.free_intercept { self.weight.ln() } else { 0.0 };
        0.5 * (self.rows() * (p.beta / tau).ln() + determinants - fit - intercept)
    }

    /// What is maximised; `units` are those of the active columns.
    pub fn value(&self, p: &Posterior, units: &[f64]) -> f64 {
        let price = self.prior.price();
        let freedom = if price > 0.0 { price * p.freedom() } else { 0.0 };
        let noise = 1.0 / p.beta;
        let penalties: f64 =
            p.alpha.iter().zip(units).map(|(a, u)| self.prior.penalty(1.0 / a, *u, noise)).sum();
        let of_noise = self.prior.noise_power() * p.beta.ln() - self.noise_rate(p);
        self.log_evidence(p) - freedom - penalties + of_noise
    }

    /// kσ⁶ of the prior of the noise; its derivative in log β is −3 times this.
    pub fn noise_rate(&self, p: &Posterior) -> f64 {
        self.prior.noise_rate() / p.beta.powi(3)
    }

    /// The factors of active columns.
    pub fn factors(&self, p: &Posterior) -> Vec<Factors> {
        (0..p.alpha.len())
            .map(|i| {
                let (s, q) = p.factors(i);
                Factors { s, q, z: if self.prior.price() > 0.0 { z_of(p, i) } else { 0.0 } }
            })
            .collect()
    }

    /// First derivatives in log α and log β, and second ones with their signs changed.
    pub fn derivatives(&self, p: &Posterior, units: &[f64]) -> (Vec<f64>, Matrix) {
        let k = p.alpha.len();
        let (price, a, mean) = (self.prior.price(), &p.alpha, &p.mean);
        let noise = 1.0 / p.beta;
        let penalties: Vec<f64> =
            a.iter().zip(units).map(|(a, u)| self.prior.penalty(1.0 / a, *u, noise)).collect();
        let relative = if self.prior.is_relative_to_noise() { 1.0 } else { 0.0 };
        // ΣAΣ, its diagonal alone where c = 0.
        let shrunk = if price > 0.0 { p.shrunk() } else { Matrix::default() };
        let shrunk_diagonal: Vec<f64> =
            (0..k).map(|i| p.sigma.column(i).iter().zip(a).map(|(v, a)| a * v * v).sum()).collect();
        // M = Σ − ΣAΣ = −dΣ/dlog β
        let m: Vec<f64> = (0..k).map(|i| p.sigma[(i, i)] - shrunk_diagonal[i]).collect();
        let weighted: Vec<f64> = a.iter().zip(mean).map(|(a, m)| a * m).collect();
        // ΣAμ = dμ/dlog β
        let moved: Vec<f64> = (0..k).map(|i| dot(p.sigma.column(i), &weighted)).collect();

        let mut gradient = vec![0.0; k + 1];
        let mut curvature = Matrix::zeros(k + 1, k + 1);
        for i in 0..k {
            let variance = a[i] * p.sigma[(i, i)];
            let square = a[i] * mean[i] * mean[i];
            gradient[i] = 0.5 * (1.0 - variance - square) + penalties[i] + price * a[i] * m[i];
            let sigma = p.sigma.column(i);
            let column = curvature.column_mut(i);
            for j in 0..k {
                let both = a[i] * a[j] * sigma[j];
                column[j] = -both * (0.5 * sigma[j] + mean[i] * mean[j]);
                if price > 0.0 {
                    column[j] += 2.0 * price * both * (sigma[j] - shrunk[(j, i)]);
                }
            }
            column[i] += 0.5 * (variance + square) + penalties[i] - price * a[i] * m[i];
            let mut mixed =
                -0.5 * a[i] * (m[i] - 2.0 * mean[i] * moved[i]) - relative * penalties[i];
            if price > 0.0 {
                mixed += price * a[i] * (m[i] - 2.0 * crossed(p, &shrunk, i));
            }
            column[k] = mixed;
            curvature[(i, k)] = mixed;
        }
        let total_penalty: f64 = relative * penalties.iter().sum::<f64>();
        let trace: f64 = a.iter().zip(&m).map(|(a, m)| a * m).sum();
        let fit = p.beta * p.residual_square;
        gradient[k] =
            0.5 * (self.noise_shape() - fit - p.freedom()) - total_penalty - price * trace
                + 3.0 * self.noise_rate(p);
        let mut last = 0.5 * (fit + trace) - dot(&weighted, &moved) + total_penalty;
        if price > 0.0 {
            let twice: f64 = (0..k).map(|i| a[i] * crossed(p, &shrunk, i)).sum();
            last += price * (2.0 * twice - trace);
        }
        last += 9.0 * self.noise_rate(p);
        curvature[(k, k)] = last;
        (gradient, curvature)
    }
}

/// (MAΣ)_ii with M = Σ − ΣAΣ.
fn crossed(p: &Posterior, shrunk: &Matrix, i: usize) -> f64 {
    let sigma = p.sigma.column(i);
    (0..p.alpha.len()).map(|j| (sigma[j] - shrunk[(j, i)]) * p.alpha[j] * sigma[j]).sum()
}

/// z of an active column: (Σ − ΣAΣ)_ii/Σ_ii².
fn z_of(p: &Posterior, i: usize) -> f64 {
    let sigma = p.sigma.column(i);
    let shrunk: f64 = sigma.iter().zip(&p.alpha).map(|(v, a)| a * v * v).sum();
    (sigma[i] - shrunk).max(0.0) / (sigma[i] * sigma[i])
}
