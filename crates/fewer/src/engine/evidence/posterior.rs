//! The posterior of the weights, N(μ, Σ), for given precisions, and its rank-one updates.

use crate::engine::Observer;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix, axpy, cross_products, dot};

/// Products of columns of length 1 are known to this.
pub(super) const ROUNDING: f64 = 10.0 * f64::EPSILON;

/// What the data says of the active columns F (of unit length) and the target t.
#[derive(Debug, Clone, Default)]
pub(super) struct Active {
    /// (k, k) FᵀF.
    pub gram: Matrix,
    /// (k,) Fᵀt.
    pub cross: Vec<f64>,
    /// tᵀt.
    pub square: f64,
}

/// Σ = (βFᵀF + A)⁻¹ and μ = βΣFᵀt.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    /// (k,) Precisions α of the weights.
    pub alpha: Vec<f64>,
    /// Precision β of the noise.
    pub beta: f64,
    pub sigma: Matrix,
    pub mean: Vec<f64>,
    /// (k, k) R, upper triangular, with Σ = RRᵀ; empty once Σ was updated.
    pub root: Matrix,
    /// log |Σ|.
    pub log_determinant: f64,
    /// |t − Fμ|².
    pub residual_square: f64,
}

/// What is left to say of a matrix with an entry that is no number.
pub(super) fn too_large() -> Error {
    Error::Unavailable {
        what: "a fit whose products are beyond floating point".into(),
        hint: "rescale the columns, or the weights of the rows".into(),
    }
}

/// A posterior of which Σ and its root are still to be made: the objective is told without them.
pub(super) struct Begun {
    pub posterior: Posterior,
    /// Of I + A^-½βFᵀFA^-½.
    factor: Cholesky,
    /// (k,) A^-½.
    spread: Vec<f64>,
}

impl Begun {
    pub fn finish(self) -> Posterior {
        let Self { mut posterior, factor, spread } = self;
        let (mut root, mut sigma) = factor.inverse_with_root();
        for b in 0..spread.len() {
            let rows = root.column_mut(b)[..=b].iter_mut().zip(&spread);
            rows.for_each(|(v, s)| *v *= s);
            let both = sigma.column_mut(b).iter_mut().zip(&spread);
            both.for_each(|(v, s)| *v *= s * spread[b]);
        }
        (posterior.root, posterior.sigma) = (root, sigma);
        posterior
    }
}

impl Posterior {
    pub fn new(data: &Active, alpha: &[f64], beta: f64, observer: &dyn Observer) -> Result<Self> {
        Ok(Self::begin(data, alpha, beta, observer)?.finish())
    }

    /// From the Cholesky factor of I + A^-½βFᵀFA^-½, whose eigenvalues are at least 1: it exists
    /// for precisions of any size.
    pub fn begin(
        data: &Active,
        alpha: &[f64],
        beta: f64,
        observer: &dyn Observer,
    ) -> Result<Begun> {
        let k = alpha.len();
        let spread: Vec<f64> = alpha.iter().map(|a| 1.0 / a.sqrt()).collect();
        let scaled = |ridge: f64| {
            // The lower triangle is enough.
            let mut values = Vec::with_capacity(k * k);
            for b in 0..k {
                let factor = beta * spread[b];
                values.resize(b * k + b, 0.0);
                let of = data.gram.column(b)[b..].iter().zip(&spread[b..]);
                values.extend(of.map(|(g, s)| g * (factor * s)));
                values[b * k + b] += 1.0 + ridge;
            }
            Matrix::from_columns(k, k, values)
        };
        let mut ridge = 0.0_f64;
        let factor = loop {
            observer.check()?;
            if !ridge.is_finite() {
                return Err(too_large());
            }
            match Cholesky::new_small(scaled(ridge), observer)? {
                Ok(factor) => break factor,
                // Only rounding in FᵀF can make it indefinite.
                Err(_) => ridge = (10.0 * ridge).max(1e-12 * beta / alpha_min(alpha)),
            }
        };
        // Through the factor: Σ is too much rounded where columns are nearly dependent.
        let solve = |right: Vec<f64>| {
            let mut x: Vec<f64> = right.iter().zip(&spread).map(|(r, s)| r * s).collect();
            factor.solve(&mut x);
            x.iter_mut().zip(&spread).for_each(|(x, s)| *x *= s);
            x
        };
        let mean = solve(data.cross.iter().map(|c| beta * c).collect());
        let log_determinant = -factor.log_determinant() - alpha.iter().map(|a| a.ln()).sum::<f64>();
        let mut posterior = Self {
            alpha: alpha.to_vec(),
            beta,
            sigma: Matrix::default(),
            mean,
            root: Matrix::default(),
            log_determinant,
            residual_square: 0.0,
        };
        posterior.refine(data, solve);
        posterior.measure(data);
        Ok(Begun { posterior, factor, spread })
    }

    /// Fᵀ(t − Fμ).
    fn pulls(&self, data: &Active) -> Vec<f64> {
        let mut pulls = data.cross.clone();
        for (b, m) in self.mean.iter().enumerate() {
            axpy(-m, data.gram.column(b), &mut pulls);
        }
        pulls
    }

    /// One more step to the mean, which takes back what rounding has done to it.
    fn refine(&mut self, data: &Active, solve: impl Fn(Vec<f64>) -> Vec<f64>) {
        let mut slope = self.pulls(data);
        let own = self.alpha.iter().zip(&self.mean);
        slope.iter_mut().zip(own).for_each(|(s, (a, m))| *s = self.beta * *s - a * m);
        self.mean.iter_mut().zip(solve(slope)).for_each(|(mean, step)| *mean += step);
    }

    /// |t − Fμ|² = tᵀt − μᵀFᵀt − μᵀFᵀ(t − Fμ), which is too large, never too small, where μ is not
    /// quite the mean; and no less than what rounding makes of it where weights are huge.
    fn measure(&mut self, data: &Active) {
        let explained = dot(&self.mean, &data.cross) + dot(&self.mean, &self.pulls(data));
        let size: f64 = self.mean.iter().map(|m| m.abs()).sum();
        let rounding = ROUNDING * size * size;
        self.residual_square = (data.square - explained).max(0.0).hypot(rounding);
    }

    /// By how much rounding may move the objective: ½β times what it does to |t − Fμ|².
    pub fn rounding(&self) -> f64 {
        0.5 * self.beta * ROUNDING * dot(&self.mean, &self.mean)
    }

    /// μᵀAμ.
    pub fn prior_square(&self) -> f64 {
        self.alpha.iter().zip(&self.mean).map(|(a, m)| a * m * m).sum()
    }

    /// Σγ_i with γ_i = 1 − α_iΣ_ii: the effective number of parameters.
    pub fn freedom(&self) -> f64 {
        (0..self.alpha.len()).map(|i| 1.0 - self.alpha[i] * self.sigma[(i, i)]).sum()
    }

    /// s and q of an active column. α_i − S_i cancels for well determined weights; these do not.
    pub fn factors(&self, i: usize) -> (f64, f64) {
        let variance = self.sigma[(i, i)];
        ((1.0 / variance - self.alpha[i]).max(0.0), self.mean[i] / variance)
    }

    /// ΣAΣ.
    pub fn shrunk(&self) -> Matrix {
        let k = self.alpha.len();
        let mut scaled = self.sigma.clone();
        for b in 0..k {
            scaled.column_mut(b).iter_mut().zip(&self.alpha).for_each(|(v, a)| *v *= a);
        }
        cross_products(k, self.sigma.as_slice(), scaled.as_slice())
    }

    /// Gives an active column another precision (eq. 32-33); κ of the update.
    pub fn reestimate(&mut self, k: usize, alpha: f64) -> f64 {
        let kappa = 1.0 / (self.sigma[(k, k)] + 1.0 / (alpha - self.alpha[k]));
        self.rank_one(k, kappa);
        self.alpha[k] = alpha;
        kappa
    }

    /// Takes an active column out (eq. 36-37): the last takes its place.
    pub fn delete(&mut self, k: usize) {
        self.rank_one(k, 1.0 / self.sigma[(k, k)]);
        let last = self.alpha.len() - 1;
        let mut sigma = Matrix::zeros(last, last);
        let source = |i: usize| if i == k { last } else { i };
        for b in 0..last {
            let from = self.sigma.column(source(b));
            sigma.column_mut(b).iter_mut().enumerate().for_each(|(a, v)| *v = from[source(a)]);
        }
        self.sigma = sigma;
        self.mean.swap_remove(k);
        self.alpha.swap_remove(k);
        self.forget();
    }

    fn rank_one(&mut self, k: usize, kappa: f64) {
        let column = self.sigma.column(k).to_vec();
        for b in 0..column.len() {
            axpy(-kappa * column[b], &column, self.sigma.column_mut(b));
        }
        axpy(-kappa * self.mean[k], &column, &mut self.mean);
        self.forget();
    }

    fn forget(&mut self) {
        (self.root, self.log_determinant, self.residual_square) =
            (Matrix::default(), f64::NAN, f64::NAN);
    }
}

fn alpha_min(alpha: &[f64]) -> f64 {
    alpha.iter().fold(f64::INFINITY, |a, &b| a.min(b))
}
