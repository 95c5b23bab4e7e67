//! All kernels climb together.

use super::bounds::{REACH, Variables};
use super::*;
use crate::engine::Minimum;
use crate::linalg::{axpy, cross_products, multiply};
use rayon::prelude::*;

/// Evaluations in which all kernels climb together, after an addition and at last, and the work
/// that they may take where there are many rows.
pub(super) const TOGETHER: usize = 40;
pub(super) const AT_LAST: usize = 400;
const WORK: f64 = 1e8;
/// Rows for each learnt parameter of a sample on which all kernels climb.
const CLIMB_ROWS: usize = 10;
/// Learnt parameters up to which their second derivatives are taken, rows for each of them, and
/// the part of the diagonal that is added to it.
pub(super) const CURVED: usize = 1500;
const CURVED_ROWS: usize = 4;
pub(super) const DAMPING: f64 = 1e-3;
/// Bounds of log precisions about where they are.
const FAR: f64 = 30.0;

/// Sample on which second derivatives in so many parameters are taken.
pub(super) fn curved_rows(learnt: usize) -> usize {
    (CURVED_ROWS * learnt).max(SEARCH_ROWS)
}

/// The objective where all kernels are, and its derivatives.
pub(super) struct Height {
    pub(super) value: f64,
    /// By kernel, in parameters.
    pub(super) shapes: Vec<Vec<f64>>,
    /// In log α, and in log β.
    pub(super) alpha: Vec<f64>,
    pub(super) beta: f64,
}

impl Learner<'_> {
    /// Some of the rows on which all kernels climb, where there are many.
    pub(super) fn climbing_rows(&self, seed: u64) -> Option<Sample> {
        let most = (self.learning.rows.len() / 3).max(SEARCH_ROWS);
        let count = CLIMB_ROWS * self.all_parameters() as usize;
        self.some_rows(count.clamp(SEARCH_ROWS, most), seed ^ 0x2545_f491)
    }

    /// All kernels climb after an addition that gained so much, no closer than there is to gain by
    /// the next. Where there are many rows some of them show the way; it is gone if all agree.
    pub(super) fn climb(&mut self, iteration: usize, gained: f64) -> Result<()> {
        let tol = (0.01 * gained).max(1e-3);
        let Some(part) = self.climbing_rows(self.seed(iteration)) else {
            self.together(&self.learning.rows, TOGETHER, tol)?;
            return self.settle(0.1 * LITTLE);
        };
        self.settle(0.1 * LITTLE)?;
        let before = (self.shapes.clone(), self.alpha.clone(), self.beta);
        let value = self.value()?;
        self.together(&part, TOGETHER, tol)?;
        self.settle(0.1 * LITTLE)?;
        if self.value()? < value {
            (self.shapes, self.alpha, self.beta) = before;
            self.count();
        }
        Ok(())
    }

    /// The objective less what kernels in empty space cost, with derivatives (Tzikas et al. 2009,
    /// eq. 62 corrected).
    pub(super) fn height(
        &self,
        rows: &Sample,
        shapes: &[Option<Shape>],
        alpha: &[f64],
        beta: f64,
    ) -> Result<Height> {
        let n = rows.len();
        let (raw, columns) = rows.columns(shapes, self.learning.free_intercept);
        let data = active(rows, &columns);
        let p = Posterior::new(&data, alpha, beta, self.observer)?;
        let objective = self.objective();
        let price = self.prior.price();
        let k = alpha.len();
        let units = self.units(shapes);
        let mut value = objective.value(&p, &units);
        // D = β[(t − Fμ)μᵀ − FΣ] − 2cβFΣAΣ
        let mut mixed = p.sigma.clone();
        let shrunk = if price > 0.0 { p.shrunk() } else { Matrix::zeros(k, k) };
        axpy(2.0 * price, shrunk.as_slice(), mixed.as_mut_slice());
        let mut d = multiply(n, columns.as_slice(), &mixed);
        let error = rows.error(&columns, &p.mean);
        let cost = 10.0 + 0.1 * rows.count;
        let parts: Vec<(f64, Vec<f64>)> = d
            .as_mut_slice()
            .par_chunks_mut(n.max(1))
            .enumerate()
            .map(|(j, d)| {
                let Some(shape) = shapes[j].as_ref().filter(|s| s.kernel().is_some()) else {
                    return (0.0, Vec::new());
                };
                d.iter_mut().zip(&error).for_each(|(d, e)| *d = beta * (e * p.mean[j] - *d));
                if !rows.root.is_empty() {
                    d.iter_mut().zip(&rows.root).for_each(|(d, r)| *d *= r);
                }
                let raw = raw.column(j);
                let mut gradient = shape.contract(rows.x.as_slice(), raw, d);
                let (distance, nearest) = Sample::distance(raw);
                let beyond = (distance - REACH).max(0.0);
                if beyond > 0.0 && distance.is_finite() {
                    let slope = rows.distance_gradient(shape, raw, nearest);
                    axpy(-2.0 * cost * beyond, &slope, &mut gradient);
                }
                (cost * beyond * beyond, gradient)
            })
            .collect();
        value -= parts.iter().map(|p| p.0).sum::<f64>();
        let left = |i: usize| p.sigma[(i, i)] - shrunk[(i, i)];
        let of_alpha: Vec<f64> = (0..k)
            .map(|i| {
                let a = p.alpha[i];
                let fit = 0.5 * (1.0 - a * p.sigma[(i, i)] - a * p.mean[i] * p.mean[i]);
                let spread = self.prior.penalty(1.0 / a, units[i], 1.0 / beta);
                fit + spread + if price > 0.0 { price * a * left(i) } else { 0.0 }
            })
            .collect();
        let trace: f64 = match price > 0.0 {
            true => (0..k).map(|i| p.alpha[i] * left(i)).sum(),
            false => 0.0,
        };
        let fit = beta * p.residual_square;
        let of_beta = 0.5 * (objective.rows() - fit - p.freedom()) - price * trace
            + self.prior.noise_power()
            + 3.0 * objective.noise_rate(&p);
        let shapes = parts.into_iter().map(|p| p.1).collect();
        Ok(Height { value, shapes, alpha: of_alpha, beta: of_beta })
    }

    /// About minus the second derivatives of the objective in the variables of `together`: of
    /// kernels β(μμᵀ + Σ)∘DᵀMD with C⁻¹ = βM, from their first derivatives D alone.
    pub(super) fn curvature(
        &self,
        rows: &Sample,
        kernels: &[Option<Variables>],
        exact: bool,
        noisy: bool,
    ) -> Result<Option<Matrix>> {
        let owner: Vec<usize> = (kernels.iter().enumerate())
            .flat_map(|(k, v)| std::iter::repeat_n(k, v.as_ref().map_or(0, |v| v.origin.len())))
            .collect();
        let learnt = owner.len();
        if learnt == 0 || learnt > CURVED || self.bounds.held {
            return Ok(None);
        }
        let centred = self.learning.free_intercept;
        let count = curved_rows(learnt);
        let stretch = rows.len() as f64 / count as f64;
        let part = (stretch > 1.5).then(|| {
            let place = |k: usize| ((k as f64 + 0.5) * stretch) as usize;
            rows.part(&(0..count).map(place).collect::<Vec<_>>(), centred)
        });
        let rows = part.as_ref().unwrap_or(rows);
        let n = rows.len();
        let (raw, columns) = rows.columns(&self.shapes, centred);
        let p = Posterior::new(&active(rows, &columns), &self.alpha, self.beta, self.observer)?;
        let slopes = rows.slopes(&self.shapes, kernels, &raw, centred);
        let mut left = cross_products(n, slopes.as_slice(), slopes.as_slice());
        let inner = cross_products(n, columns.as_slice(), slopes.as_slice());
        let k = self.shapes.len();
        let spread = multiply(k, p.sigma.as_slice(), &inner);
        let explained = cross_products(k, inner.as_slice(), spread.as_slice());
        axpy(-self.beta, explained.as_slice(), left.as_mut_slice());
        let size = learnt + if exact { k } else { 0 } + usize::from(noisy);
        let mut out = Matrix::zeros(size, size);
        for b in 0..learnt {
            let (to, from) = (out.column_mut(b), left.column(b));
            for a in 0..learnt {
                let (i, j) = (owner[a], owner[b]);
                to[a] = self.beta * (p.mean[i] * p.mean[j] + p.sigma[(i, j)]) * from[a];
            }
            to[b] += DAMPING * to[b] + 1.0;
        }
        // Those of precisions and noise, each alone.
        (learnt..size).for_each(|a| out[(a, a)] = 0.5);
        if noisy {
            out[(size - 1, size - 1)] = 0.5 * self.objective().rows();
        }
        Ok(Some(out))
    }

    /// All kernels climb together, with the precisions and the noise unless rules are as
    /// published; until a step brings less than `tol`.
    pub(super) fn together(&mut self, rows: &Sample, evaluations: usize, tol: f64) -> Result<()> {
        let kernels: Vec<Option<Variables>> = self
            .shapes
            .iter()
            .map(|s| s.as_ref().filter(|s| s.kernel().is_some()).map(Variables::new))
            .collect();
        let exact = self.prior.is_exact() && !self.learning.noise_as_published;
        let noisy = exact && self.options.noise == Noise::Estimated && !self.hold_noise;
        let (mut start, mut low, mut high) = (Vec::new(), Vec::new(), Vec::new());
        for v in kernels.iter().flatten() {
            let (l, h) = self.bounds.around(&v.origin, &v.units);
            start.extend(v.start());
            low.extend(l);
            high.extend(h);
        }
        if exact {
            let logs: Vec<f64> = self.alpha.iter().map(|a| a.ln()).collect();
            low.extend(logs.iter().map(|l| l - FAR));
            high.extend(logs.iter().map(|l| l + FAR));
            start.extend(logs);
        }
        if noisy {
            start.push(self.beta.ln());
            low.push(self.beta.ln() - FAR);
            high.push(self.options.largest_precision.ln());
        }
        if start.is_empty() {
            return Ok(());
        }
        let read = |x: &[f64]| {
            let mut at = 0;
            let mut take = |count: usize| {
                at += count;
                &x[at - count..at]
            };
            let shapes: Vec<Option<Shape>> = (self.shapes.iter().zip(&kernels))
                .map(|(s, v)| match v {
                    Some(v) => Some(v.shape(take(v.origin.len()))),
                    None => s.clone(),
                })
                .collect();
            let alpha = match exact {
                true => take(shapes.len()).iter().map(|l| l.exp()).collect(),
                false => self.alpha.clone(),
            };
            let beta = if noisy { take(1)[0].exp() } else { self.beta };
            (shapes, alpha, beta)
        };
        let mut search = Minimum::new(start, low, high, STRIDE);
        // Short climbs by small steps end higher where rows are few, if later.
        if (evaluations == AT_LAST || self.has_many_rows())
            && let Some(curvature) = self.curvature(rows, &kernels, exact, noisy)?
        {
            search = search.curved(curvature);
        }
        let mut little = 0;
        let k = self.shapes.len();
        let work = (rows.len() * k * (k + 10 + self.bounds.low.len())) as f64;
        let bearable = (evaluations as f64 * WORK / (TOGETHER as f64 * work)) as usize;
        for _ in 0..evaluations.min(bearable.max(TOGETHER / 2)) {
            self.observer.check()?;
            if search.has_ended() || little >= 3 || self.is_late() {
                break;
            }
            let (shapes, alpha, beta): (Vec<Option<Shape>>, Vec<f64>, f64) = read(search.asks());
            let height = self.height(rows, &shapes, &alpha, beta)?;
            let mut gradient = Vec::new();
            for (of, v) in height.shapes.into_iter().zip(&kernels) {
                gradient.extend(v.iter().flat_map(|v| v.gradient(of.clone())));
            }
            if exact {
                gradient.extend(&height.alpha);
            }
            if noisy {
                gradient.push(height.beta);
            }
            gradient.iter_mut().for_each(|g| *g = -*g);
            let before = search.best().1;
            search.tell(-height.value, gradient);
            let after = search.best().1;
            little = if before.is_finite() && after < before {
                if before - after < tol { little + 1 } else { 0 }
            } else {
                little
            };
        }
        let (shapes, alpha, beta) = read(search.best().0);
        (self.shapes, self.alpha, self.beta) = (shapes, alpha, beta);
        Ok(())
    }
}
