//! What functions are worth that are not in the model.

use super::bounds::REACH;
use super::sample::Sample;
use crate::basis::Shape;
use crate::engine::Observer;
use crate::engine::evidence::IN_SPAN;
use crate::engine::evidence::posterior::{Active, Posterior};
use crate::error::Result;
use crate::linalg::{Matrix, axpy, cross_products, dot, multiply};
use crate::prior::{EvidencePrior, Factors};
use rayon::prelude::*;

/// Functions that are weighed at once.
pub(super) const BLOCK: usize = 64;

/// A posterior on some rows, and what candidates need of it.
pub(super) struct Scene<'a> {
    rows: &'a Sample,
    centred: bool,
    columns: Matrix,
    posterior: Posterior,
    /// t − Fμ.
    pub(super) error: Vec<f64>,
    /// (k, k) βΣ and βΣAΣ.
    spread: Matrix,
    shrunk: Matrix,
    pub(super) prior: &'a dyn EvidencePrior,
}

/// What a candidate is worth.
pub(super) struct Worth {
    factors: Factors,
    /// −ρ, less where the kernel sits in empty space: what candidates minimise.
    pub(super) height: f64,
    pub(super) gradient: Vec<f64>,
    distance: f64,
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        rows: &'a Sample,
        columns: Matrix,
        posterior: Posterior,
        centred: bool,
        prior: &'a dyn EvidencePrior,
    ) -> Self {
        let beta = posterior.beta;
        let error = rows.error(&columns, &posterior.mean);
        let scaled = |mut of: Matrix| {
            of.as_mut_slice().iter_mut().for_each(|v| *v *= beta);
            of
        };
        let (spread, shrunk) = (scaled(posterior.sigma.clone()), scaled(posterior.shrunk()));
        Self { rows, centred, columns, posterior, error, spread, shrunk, prior }
    }

    /// With one more function, of which the products join those that are known.
    pub(super) fn with(
        self,
        shape: Option<Shape>,
        alpha: f64,
        data: &mut Active,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let (n, k) = (self.rows.len(), self.columns.columns());
        let column = self.rows.columns(&[shape], self.centred).1;
        let products = cross_products(n, self.columns.as_slice(), column.as_slice());
        let mut gram = Matrix::zeros(k + 1, k + 1);
        for b in 0..k {
            gram.column_mut(b)[..k].copy_from_slice(data.gram.column(b));
            gram[(k, b)] = products[(b, 0)];
            gram[(b, k)] = products[(b, 0)];
        }
        gram[(k, k)] = dot(column.as_slice(), column.as_slice());
        data.gram = gram;
        data.cross.push(dot(column.as_slice(), &self.rows.target));
        let alpha: Vec<f64> = self.posterior.alpha.iter().copied().chain([alpha]).collect();
        let posterior = Posterior::new(data, &alpha, self.posterior.beta, observer)?;
        let columns = [self.columns.as_slice(), column.as_slice()].concat();
        let columns = Matrix::from_columns(n, k + 1, columns);
        Ok(Self::new(self.rows, columns, posterior, self.centred, self.prior))
    }

    /// What functions are worth, many of them at once (Tzikas et al. 2009, eq. 51-59 corrected).
    pub(super) fn weigh(&self, shapes: &[Option<Shape>], with_gradient: bool) -> Vec<Worth> {
        shapes.chunks(BLOCK).flat_map(|some| self.weigh_block(some, with_gradient)).collect()
    }

    fn weigh_block(&self, shapes: &[Option<Shape>], with_gradient: bool) -> Vec<Worth> {
        let n = self.rows.len();
        let beta = self.posterior.beta;
        let (raw, columns) = self.rows.columns(shapes, self.centred);
        let inner = cross_products(n, self.columns.as_slice(), columns.as_slice());
        // r = Mφ with C⁻¹ = βM, and Mr.
        let k = self.posterior.alpha.len();
        let mut first = columns.clone();
        let mut second = Matrix::default();
        if k > 0 {
            let explained = multiply(k, self.spread.as_slice(), &inner);
            let explained = multiply(n, self.columns.as_slice(), &explained);
            axpy(-1.0, explained.as_slice(), first.as_mut_slice());
        }
        let price = self.prior.price();
        let exact = self.prior.is_exact();
        if with_gradient && price > 0.0 && exact {
            second = first.clone();
            if k > 0 {
                let again = multiply(k, self.shrunk.as_slice(), &inner);
                let again = multiply(n, self.columns.as_slice(), &again);
                axpy(-1.0, again.as_slice(), second.as_mut_slice());
            }
        }
        (0..shapes.len())
            .into_par_iter()
            .map(|c| {
                let (column, r) = (columns.column(c), first.column(c));
                let (s, q) = (beta * dot(column, r), beta * dot(column, &self.error));
                let factors = Factors { s, q, z: if price > 0.0 { beta * dot(r, r) } else { 0.0 } };
                let kernel = shapes[c].as_ref().filter(|f| f.kernel().is_some());
                let (distance, nearest) =
                    kernel.map_or((0.0, 0), |_| Sample::distance(raw.column(c)));
                let size = dot(column, column);
                let nothing =
                    Worth { factors, height: 0.0, gradient: Vec::new(), distance: f64::INFINITY };
                let spanned = s.is_nan() || s <= IN_SPAN * beta * size;
                if spanned || size < f64::MIN_POSITIVE || distance > 30.0 {
                    return nothing;
                }
                // The published rule takes s for z.
                let paid = 2.0 * price * if exact { factors.z } else { s };
                let rho = (q * q - paid) / s;
                let beyond = (distance - REACH).max(0.0);
                let share = 1.0 / (1.0 + beyond * beyond);
                let mut gradient = Vec::new();
                if let (true, Some(shape)) = (with_gradient, kernel) {
                    let (of_error, mut of_r) = (2.0 * q * beta / s, -2.0 * beta * q * q / (s * s));
                    if exact {
                        of_r = -2.0 * beta * rho / s;
                    }
                    let mut g: Vec<f64> =
                        self.error.iter().zip(r).map(|(e, r)| of_error * e + of_r * r).collect();
                    if second.rows() > 0 {
                        axpy(-4.0 * price * beta / s, second.column(c), &mut g);
                    }
                    if !self.rows.root.is_empty() {
                        g.iter_mut().zip(&self.rows.root).for_each(|(g, r)| *g *= r);
                    }
                    gradient = shape.contract(self.rows.x.as_slice(), raw.column(c), &g);
                    gradient.iter_mut().for_each(|g| *g *= -share);
                    if beyond > 0.0 {
                        let slope = self.rows.distance_gradient(shape, raw.column(c), nearest);
                        axpy(2.0 * rho * beyond * share * share, &slope, &mut gradient);
                    }
                }
                Worth { factors, height: -rho * share, gradient, distance: beyond }
            })
            .collect()
    }

    /// The variance at which a function gains most, and the gain.
    pub(super) fn gain(&self, worth: &Worth, unit: f64) -> (f64, f64) {
        if worth.height == 0.0 || worth.distance > 2.0 * REACH {
            return (0.0, 0.0);
        }
        let noise = 1.0 / self.posterior.beta;
        let variance = self.prior.best_variance(worth.factors, unit, noise);
        match variance > 0.0 {
            true => (variance, self.prior.gain(worth.factors, variance, unit, noise)),
            false => (0.0, 0.0),
        }
    }
}
