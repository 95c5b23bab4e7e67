//! −Σ w log p(y), p = softmax(η): multinomial logistic regression (Krishnapuram 2005, eq. 1).

use super::Smooth;
use crate::linalg::Matrix;

/// The multinomial likelihood; two classes with one output are the logistic one.
#[derive(Clone)]
pub(crate) struct Multinomial<'a> {
    /// The class of each row.
    codes: &'a [usize],
    classes: usize,
    weights: Option<&'a [f64]>,
    outputs: usize,
    /// (n, outputs)
    residual: Matrix,
    /// (n, classes)
    probabilities: Matrix,
    value: f64,
}

impl<'a> Multinomial<'a> {
    /// With η = 0; the last class is the reference, without an output of its own.
    pub fn new(codes: &'a [usize], classes: usize, weights: Option<&'a [f64]>) -> Self {
        let outputs = classes.saturating_sub(1);
        let mut likelihood = Self {
            codes,
            classes,
            weights,
            outputs,
            residual: Matrix::zeros(codes.len(), outputs),
            probabilities: Matrix::zeros(codes.len(), classes),
            value: 0.0,
        };
        likelihood.update(&Matrix::zeros(codes.len(), outputs));
        likelihood
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[i])
    }
}

impl Smooth for Multinomial<'_> {
    fn outputs(&self) -> usize {
        self.outputs
    }

    fn is_quadratic(&self) -> bool {
        false
    }

    fn update(&mut self, eta: &Matrix) {
        let rows = self.codes.len();
        let mut row = vec![0.0; self.classes];
        self.value = 0.0;
        for i in 0..rows {
            // The reference class has η = 0.
            for (c, v) in row.iter_mut().enumerate() {
                *v = if c < self.outputs { eta[(i, c)] } else { 0.0 };
            }
            let code = self.codes[i];
            let own = row[code];
            let largest = row.iter().fold(f64::NEG_INFINITY, |a, v| a.max(*v));
            row.iter_mut().for_each(|v| *v = (*v - largest).exp());
            let total: f64 = row.iter().sum();
            if self.weight(i) > 0.0 {
                self.value += self.weight(i) * (total.ln() + largest - own);
            }
            for (c, v) in row.iter().enumerate() {
                self.probabilities[(i, c)] = v / total;
            }
            for c in 0..self.outputs {
                let target = f64::from(u8::from(c == code));
                self.residual[(i, c)] = target - self.probabilities[(i, c)];
            }
        }
    }

    fn value(&self) -> f64 {
        self.value
    }

    fn residual(&self) -> &Matrix {
        &self.residual
    }

    fn curvature(&self, a: usize, b: usize) -> Vec<f64> {
        let (p, q) = (self.probabilities.column(a), self.probabilities.column(b));
        let same = f64::from(u8::from(a == b));
        p.iter().zip(q).map(|(p, q)| p * (same - q)).collect()
    }

    /// Σ w H(q), q = (1 − κ) y + κ p.
    fn dual(&self, kappa: f64) -> f64 {
        let mut entropy = 0.0;
        for (i, &code) in self.codes.iter().enumerate().filter(|(i, _)| self.weight(*i) > 0.0) {
            for c in 0..self.classes {
                let own = if c == code { 1.0 - kappa } else { 0.0 };
                let q = own + kappa * self.probabilities[(i, c)];
                if q > 0.0 {
                    entropy -= self.weight(i) * q * q.ln();
                }
            }
        }
        entropy
    }

    fn best_kappa(&self) -> f64 {
        1.0
    }

    fn concavity(&self) -> f64 {
        // Entropy is 1-concave in the sum of absolute changes; of two classes, both change.
        if self.classes == 2 { 4.0 } else { 1.0 }
    }
}
