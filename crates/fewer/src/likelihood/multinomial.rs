//! −Σ w log p(y), p = softmax(η): multinomial logistic regression (Krishnapuram 2005, eq. 1).

use super::Smooth;
use crate::linalg::{Matrix, dot};
use crate::special::{exp_of_multiples, ln_of};
use std::ops::Range;

/// Rows that are dealt with together.
const ROWS: usize = 256;
/// A row is nearly certain where less than this is left for the classes that are not its own: 1 − p
/// and log p lose digits there …
const NEARLY: f64 = 0.1;
/// … which shows where a row has so many times the weight of another.
const UNEVEN: f64 = 1e4;

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
    /// (n,) What is left for the classes that are not a row's own, where weights are uneven.
    others: Vec<f64>,
    value: f64,
}

impl<'a> Multinomial<'a> {
    /// With η = 0; where there is an output less than classes, the last is the reference.
    pub fn new(
        codes: &'a [usize],
        classes: usize,
        outputs: usize,
        weights: Option<&'a [f64]>,
    ) -> Self {
        let mut likelihood = Self {
            codes,
            classes,
            weights,
            outputs,
            residual: Matrix::zeros(codes.len(), outputs),
            probabilities: Matrix::zeros(codes.len(), classes),
            others: vec![0.0; if weights.is_some_and(are_uneven) { codes.len() } else { 0 }],
            value: 0.0,
        };
        likelihood.update(&Matrix::zeros(codes.len(), outputs));
        likelihood
    }

    /// Sums the probabilities of the classes that are not a row's own.
    fn sum_others(&self, block: Range<usize>, probabilities: &[f64], others: &mut [f64]) {
        others.fill(0.0);
        for (c, own) in probabilities.chunks_exact(block.len()).enumerate() {
            for ((o, p), code) in others.iter_mut().zip(own).zip(&self.codes[block.clone()]) {
                *o += if *code == c { 0.0 } else { *p };
            }
        }
    }

    /// −log p of at most so many rows, and the probabilities of their classes; their η start at a
    /// row of `eta`.
    fn probabilities_of(
        &self,
        block: Range<usize>,
        (eta, from): (&Matrix, usize),
        scores: &mut [f64],
    ) -> f64 {
        let count = block.len();
        let mut largest = [f64::NEG_INFINITY; ROWS];
        for (c, scores) in scores.chunks_exact_mut(count).enumerate() {
            // A reference class has η = 0.
            match c < self.outputs {
                true => scores.copy_from_slice(&eta.column(c)[from..][..count]),
                false => scores.fill(0.0),
            }
            largest.iter_mut().zip(scores).for_each(|(l, s)| *l = l.max(*s));
        }
        for scores in scores.chunks_exact_mut(count) {
            scores.iter_mut().zip(&largest).for_each(|(s, l)| *s -= l);
        }
        let mut own = [0.0; ROWS];
        for (i, own) in block.clone().zip(&mut own) {
            *own = scores[self.codes[i] * count + i - block.start];
        }
        exp_of_multiples(1.0, scores);
        let mut total = [0.0; ROWS];
        for scores in scores.chunks_exact(count) {
            total.iter_mut().zip(scores).for_each(|(t, s)| *t += s);
        }
        for scores in scores.chunks_exact_mut(count) {
            scores.iter_mut().zip(&total).for_each(|(s, t)| *s /= t);
        }
        ln_of(&mut total[..count]);
        let losses = total.iter().zip(&own).map(|(t, o)| t - o);
        match self.weights {
            Some(w) if self.others.is_empty() => {
                let counted = w[block].iter().zip(losses).filter(|(w, _)| **w > 0.0);
                counted.map(|(w, l)| w * l).sum::<f64>()
            }
            Some(w) => {
                let mut others = [0.0; ROWS];
                self.sum_others(block.clone(), scores, &mut others[..count]);
                let exact = |(o, l): (&f64, f64)| if *o < NEARLY { -(-o).ln_1p() } else { l };
                let losses = others.iter().zip(losses).map(exact);
                let counted = w[block].iter().zip(losses).filter(|(w, _)| **w > 0.0);
                counted.map(|(w, l)| w * l).sum::<f64>()
            }
            None => losses.take(count).sum::<f64>(),
        }
    }
}

/// Whether some rows have far more weight than others.
fn are_uneven(weights: &[f64]) -> bool {
    let counted = || weights.iter().copied().filter(|w| *w > 0.0);
    counted().fold(0.0, f64::max) > UNEVEN * counted().fold(f64::INFINITY, f64::min)
}

impl Smooth for Multinomial<'_> {
    fn outputs(&self) -> usize {
        self.outputs
    }

    fn shares(&self) -> Option<&Matrix> {
        Some(&self.probabilities)
    }

    fn update(&mut self, eta: &Matrix) {
        let rows = self.codes.len();
        self.value = 0.0;
        let mut scores = vec![0.0; ROWS * self.classes];
        for start in (0..rows).step_by(ROWS) {
            let block = start..(start + ROWS).min(rows);
            let scores = &mut scores[..block.len() * self.classes];
            self.value += self.probabilities_of(block.clone(), (eta, start), scores);
            for (c, scores) in scores.chunks_exact(block.len()).enumerate() {
                self.probabilities.column_mut(c)[block.clone()].copy_from_slice(scores);
            }
            if !self.others.is_empty() {
                let mut others = [0.0; ROWS];
                self.sum_others(block.clone(), scores, &mut others[..block.len()]);
                self.others[block.clone()].copy_from_slice(&others[..block.len()]);
            }
        }
        for c in 0..self.outputs {
            let parts = self.probabilities.column(c).iter().zip(self.codes);
            let target = |&code: &usize| f64::from(u8::from(code == c));
            let residual = self.residual.column_mut(c).iter_mut().zip(parts);
            residual.for_each(|(r, (p, code))| *r = target(code) - p);
        }
        for (i, others) in self.others.iter().enumerate() {
            if self.codes[i] < self.outputs {
                self.residual[(i, self.codes[i])] = *others;
            }
        }
    }

    fn of_rows(&self, rows: Range<usize>, eta: &mut Matrix) -> f64 {
        let mut value = 0.0;
        let mut scores = vec![0.0; ROWS * self.classes];
        for start in rows.clone().step_by(ROWS) {
            let block = start..(start + ROWS).min(rows.end);
            let (scores, from) = (&mut scores[..block.len() * self.classes], start - rows.start);
            value += self.probabilities_of(block.clone(), (eta, from), scores);
            for (c, scores) in scores.chunks_exact(block.len()).enumerate().take(self.outputs) {
                let parts = scores.iter().zip(&self.codes[block.clone()]);
                let target = |&code: &usize| f64::from(u8::from(code == c));
                let out = eta.column_mut(c)[from..][..block.len()].iter_mut().zip(parts);
                out.for_each(|(r, (p, code))| *r = target(code) - p);
            }
            if !self.others.is_empty() {
                let mut others = [0.0; ROWS];
                self.sum_others(block.clone(), scores, &mut others[..block.len()]);
                for (k, &code) in self.codes[block].iter().enumerate() {
                    if code < self.outputs {
                        eta[(from + k, code)] = others[k];
                    }
                }
            }
        }
        value
    }

    fn value(&self) -> f64 {
        self.value
    }

    fn residual(&self) -> &Matrix {
        &self.residual
    }

    /// Σ w H(q), q = (1 − κ) y + κ p.
    fn dual(&self, kappa: f64) -> f64 {
        let mut entropy = 0.0;
        let (mut parts, mut logs) = (vec![0.0; ROWS], vec![0.0; ROWS]);
        for c in 0..self.classes {
            let rows = self.probabilities.column(c).chunks(ROWS).zip(self.codes.chunks(ROWS));
            for (b, (probabilities, codes)) in rows.enumerate() {
                let parts = &mut parts[..codes.len()];
                let logs = &mut logs[..codes.len()];
                for (q, (p, code)) in parts.iter_mut().zip(probabilities.iter().zip(codes)) {
                    *q = if *code == c { 1.0 - kappa } else { 0.0 } + kappa * p;
                }
                logs.copy_from_slice(parts);
                ln_of(logs);
                let others = self.others.get(b * ROWS..).unwrap_or_default();
                for ((log, code), o) in logs.iter_mut().zip(codes).zip(others) {
                    if *code == c && *o < NEARLY {
                        *log = (-kappa * o).ln_1p();
                    }
                }
                entropy -= match self.weights {
                    Some(w) => {
                        let each = parts.iter().zip(logs).zip(&w[b * ROWS..]);
                        each.filter(|e| *e.1 > 0.0).map(|((q, l), w)| w * q * *l).sum::<f64>()
                    }
                    None => dot(parts, logs),
                };
            }
        }
        entropy
    }

    fn best_kappa(&self) -> f64 {
        1.0
    }

    fn concavity(&self) -> f64 {
        // Entropy is 1-concave in the sum of absolute changes, of which a class has at most half.
        4.0
    }

    fn is_symmetric(&self) -> bool {
        self.outputs == self.classes
    }

    fn probabilities(&self) -> Option<&Matrix> {
        Some(&self.probabilities)
    }
}
