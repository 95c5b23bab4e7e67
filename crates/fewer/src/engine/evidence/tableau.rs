//! What adding and deleting columns would do to each other, for a few of them: the table of
//! stepwise regression, into and out of which columns are swept (Goodnight 1979).

use crate::linalg::{Matrix, axpy};
use crate::prior::Factors;

/// Some candidates, and some active columns.
#[derive(Debug, Clone)]
pub(super) struct Tableau {
    /// φᵀC⁻¹φ among candidates; βφᵀFΣ of candidates with active columns; −Σ among these.
    pub products: Matrix,
    /// Q = φᵀC⁻¹t of candidates, μ of active columns.
    pub pulls: Vec<f64>,
    /// φᵀC⁻¹B⁻¹C⁻¹φ, βφᵀFΣAΣ and Σ − ΣAΣ; empty where no prior asks for them.
    pub shrunk: Matrix,
}

impl Tableau {
    /// S, Q and Z of a candidate.
    pub fn factors(&self, i: usize) -> Factors {
        let z = if self.shrunk.rows() > 0 { self.shrunk[(i, i)] } else { 0.0 };
        Factors { s: self.products[(i, i)], q: self.pulls[i], z }
    }

    /// s, q and z of an active column with precision α: as if it were out.
    pub fn factors_without(&self, i: usize, alpha: f64) -> Factors {
        let variance = -self.products[(i, i)];
        let z = if self.shrunk.rows() > 0 { self.shrunk[(i, i)] } else { 0.0 };
        Factors {
            s: (1.0 / variance - alpha).max(0.0),
            q: self.pulls[i] / variance,
            z: z.max(0.0) / (variance * variance),
        }
    }

    /// Makes a candidate active with precision α (Tipping & Faul 2003, eq. 28-31).
    pub fn add(&mut self, i: usize, alpha: f64) {
        let variance = 1.0 / (alpha + self.products[(i, i)]);
        self.sweep(i, variance, variance, -variance);
    }

    /// Makes an active column with precision α a candidate (eq. 36-37).
    pub fn delete(&mut self, i: usize, alpha: f64) {
        let variance = -self.products[(i, i)];
        self.sweep(i, -1.0 / variance, 1.0 / variance, 1.0 / variance - alpha);
    }

    /// C⁻¹ − v·C⁻¹φφᵀC⁻¹, after which column `i` is held times `scale`, its product with itself
    /// being `own`.
    fn sweep(&mut self, i: usize, v: f64, scale: f64, own: f64) {
        let e = self.products.column(i).to_vec();
        let q = self.pulls[i];
        if self.shrunk.rows() > 0 {
            let f = self.shrunk.column(i).to_vec();
            let z = f[i];
            for b in 0..e.len() {
                let column = self.shrunk.column_mut(b);
                axpy(v * (v * z * e[b] - f[b]), &e, column);
                axpy(-v * e[b], &f, column);
            }
            for b in 0..e.len() {
                let value = scale * (f[b] - v * z * e[b]);
                (self.shrunk[(i, b)], self.shrunk[(b, i)]) = (value, value);
            }
            self.shrunk[(i, i)] = scale * scale * z;
        }
        for b in 0..e.len() {
            axpy(-v * e[b], &e, self.products.column_mut(b));
        }
        for b in 0..e.len() {
            let value = scale * e[b];
            (self.products[(i, b)], self.products[(b, i)]) = (value, value);
        }
        self.products[(i, i)] = own;
        axpy(-v * q, &e, &mut self.pulls);
        self.pulls[i] = scale * q;
    }
}
