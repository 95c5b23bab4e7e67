//! The active columns alone: their precisions and the noise at a maximum, columns that are worth
//! nothing taken out. The candidates are not looked at, so this costs k³ and no more.

use super::noise::best_noise;
use super::objective::Objective;
use super::posterior::Posterior;
use super::{Ascent, FEW, Noise};
use crate::engine::Observer;
use crate::error::Result;
use crate::linalg::{Cholesky, Matrix};
use crate::prior::Factors;

/// Newton steps, or sweeps of the formulas as published.
const STEPS: usize = 200;
/// Steps to the last digit.
const POLISH: usize = 6;
/// Largest change of a log precision in one step.
const LONGEST: f64 = 4.0;
/// Columns of which the data determine less than this part take Newton's step in their variance.
///
/// The evidence is nearly quadratic in small variances. In their logarithms it is not even concave
/// where they are below half of their best, and a step that is damped for that leads nowhere.
const WEAK: f64 = 0.1;
/// Columns must be worth this part of what settling may leave.
const HOVERING: f64 = 0.1;
/// The least part of its variance that a step leaves of it.
const LEAST: f64 = 0.1;

impl Ascent<'_> {
    /// Settles the active columns until what is left to gain is below `tol`, and lets λ follow by
    /// one step: terms come and go while it moves.
    pub(super) fn settle(&mut self, tol: f64) -> Result<()> {
        if self.acts_singly() {
            self.refactor()?;
            self.noise_after_action()?;
        } else {
            self.settle_at(tol)?;
        }
        self.hyper_change = 0.0;
        if self.lam_follows() {
            let variances = self.active_units().into_iter().zip(&self.posterior.alpha);
            let variances: Vec<f64> = variances.map(|(u, a)| u / a).collect();
            let noise = 1.0 / self.posterior.beta;
            self.hyper_change = self.prior.update_hyper(&variances, self.units.len(), noise);
        }
        Ok(())
    }

    /// Takes the one action that gains most, on a candidate or an active column; whether there was
    /// one (Helgøy & Li 2022, algorithm 1).
    pub(super) fn act(&mut self, gains: &[(f64, f64)]) -> Result<bool> {
        let (noise, units) = (1.0 / self.posterior.beta, self.active_units());
        let factors = self.objective().factors(&self.posterior).into_iter();
        let now = (factors.zip(&units).zip(&self.posterior.alpha))
            .map(|((of, unit), a)| self.prior.gain(of, 1.0 / a, *unit, noise));
        let changes = (self.best_variances().into_iter().zip(now).enumerate())
            .map(|(i, ((variance, gain), now))| (gain - now, i, variance));
        let by_gain =
            |a: &(f64, usize, f64), b: &(f64, usize, f64)| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1));
        let change = changes.max_by(by_gain);
        let added = self.additions(gains);
        let gained = added.first().map_or(0.0, |c| gains[c.0].1);
        match change {
            Some((gain, i, variance)) if gain > gained.max(self.options.tol) => {
                if variance > 0.0 {
                    self.posterior.alpha[i] = 1.0 / variance;
                } else {
                    self.remove(i);
                }
                Ok(true)
            }
            _ => {
                self.activate(&added)?;
                Ok(!added.is_empty())
            }
        }
    }

    /// The noise by its closed form: for given variances relative to it where the prior is on
    /// these (Helgøy & Li 2022, algorithm 1), else for given variances (Tipping 2001, eq. 18).
    fn noise_after_action(&mut self) -> Result<()> {
        if self.options.noise != Noise::Estimated {
            return Ok(());
        }
        let p = &self.posterior;
        let shape = self.objective().noise_shape();
        let (left, square) = if self.prior.is_relative_to_noise() {
            (shape, p.residual_square + p.prior_square() / p.beta)
        } else {
            (shape - p.freedom(), p.residual_square)
        };
        let beta = (left.max(1e-3) / square).min(self.options.largest_precision);
        if self.prior.is_relative_to_noise() {
            let factor = beta / p.beta;
            self.posterior.alpha.iter_mut().for_each(|a| *a *= factor);
        }
        self.posterior.beta = beta;
        self.refactor()
    }

    fn settle_at(&mut self, tol: f64) -> Result<()> {
        self.refactor()?;
        if !self.prior.is_exact() {
            return self.sweep(tol);
        }
        // Columns that hover about nothing are why steps are slow.
        let worthless = if self.goes_by_rules() { 0.0 } else { HOVERING * tol };
        let worthless = self.options.worthless.max(worthless);
        let mut damping = 0.0;
        for _ in 0..STEPS {
            self.observer.check()?;
            // Where λ has moved, a column may be worth something once the others have followed.
            while !self.patient && self.prune(worthless)? {}
            let units = self.active_units();
            let (gradient, curvature) = self.objective().derivatives(&self.posterior, &units);
            let value = self.objective().value(&self.posterior, &units);
            let tol = tol.max(self.posterior.rounding());
            let Some(next) =
                self.newton(&units, value, &gradient, &curvature, &mut damping, tol)?
            else {
                if self.patient && self.prune(worthless)? {
                    continue;
                }
                break;
            };
            self.posterior = next;
        }
        Ok(())
    }

    /// A damped Newton step in the logarithms of all precisions that raises the objective; none if
    /// there is nothing to gain.
    fn newton(
        &self,
        units: &[f64],
        value: f64,
        gradient: &[f64],
        curvature: &Matrix,
        damping: &mut f64,
        tol: f64,
    ) -> Result<Option<Posterior>> {
        let k = self.posterior.alpha.len();
        // The noise takes no part where it is known, or at its least and pushed down.
        let bounded = self.posterior.beta >= self.options.largest_precision && gradient[k] > 0.0;
        let free = self.options.noise == Noise::Estimated && !bounded && !self.hold_noise;
        let order = if free { k + 1 } else { k };
        if order == 0 {
            return Ok(None);
        }
        // Few columns settle soon anyway; without noise, long steps end in rounding.
        let steps_far = k > FEW && self.posterior.beta < self.options.largest_precision;
        let determined = |i: usize| 1.0 - self.posterior.alpha[i] * self.posterior.sigma[(i, i)];
        let weak: Vec<bool> = (0..k).map(|i| steps_far && determined(i) < WEAK).collect();
        let gradient = &gradient[..order];
        damped_step(gradient, curvature, &weak, damping, tol, self.observer, |step| {
            let alpha: Vec<f64> =
                self.posterior.alpha.iter().zip(step).map(|(a, s)| a * s.exp()).collect();
            let beta = if free {
                (self.posterior.beta * step[k].exp()).min(self.options.largest_precision)
            } else {
                self.posterior.beta
            };
            let begun = Posterior::begin(&self.data, &alpha, beta, self.observer)?;
            let objective = self.objective();
            let raises = |trial: &Posterior| objective.value(trial, units) > value;
            // Effective parameters take Σ.
            let told = objective.prior.price() == 0.0;
            if told && !raises(&begun.posterior) {
                return Ok(None);
            }
            let trial = begun.finish();
            Ok((told || raises(&trial)).then_some(trial))
        })
    }

    /// Newton steps to the last digit, from where the objective is too flat to tell.
    pub(super) fn polish(&mut self) -> Result<()> {
        if !self.prior.is_exact() {
            return Ok(());
        }
        let units = self.active_units();
        let k = units.len();
        let at_floor = self.posterior.beta >= self.options.largest_precision;
        let free = self.options.noise == Noise::Estimated && !at_floor;
        let order = if free { k + 1 } else { k };
        let size = |v: &[f64]| v.iter().fold(0.0, |a: f64, g| a.max(g.abs()));
        let (mut gradient, mut curvature) = self.objective().derivatives(&self.posterior, &units);
        for _ in 0..POLISH {
            let mut matrix = Matrix::zeros(order, order);
            for b in 0..order {
                matrix.column_mut(b).copy_from_slice(&curvature.column(b)[..order]);
            }
            let Ok(factor) = Cholesky::new_small(matrix, self.observer)? else { break };
            let mut step = gradient[..order].to_vec();
            factor.solve(&mut step);
            // Near a maximum only.
            if size(&step) > 0.1 || size(&step) < 1e-12 {
                break;
            }
            let moved = self.posterior.alpha.iter().zip(&step).map(|(a, s)| a * s.exp());
            let alpha: Vec<f64> = moved.collect();
            let beta = self.posterior.beta * if free { step[k].exp() } else { 1.0 };
            let trial = Posterior::new(&self.data, &alpha, beta, self.observer)?;
            let (slopes, bends) = self.objective().derivatives(&trial, &units);
            if size(&slopes[..order]) >= size(&gradient[..order]) {
                break;
            }
            (self.posterior, gradient, curvature) = (trial, slopes, bends);
        }
        Ok(())
    }

    /// Takes out columns that are worth no more than this to the objective; whether there were any.
    fn prune(&mut self, worthless: f64) -> Result<bool> {
        let mut any = false;
        loop {
            let worst = self
                .best_variances()
                .into_iter()
                .enumerate()
                .filter(|(_, (_, gain))| *gain <= worthless)
                .min_by(|a, b| a.1.1.total_cmp(&b.1.1));
            let Some((i, _)) = worst else { break };
            self.remove(i);
            any = true;
        }
        if any {
            self.refactor()?;
        }
        Ok(any)
    }

    /// For each active column the variance that would be best, and what it is worth.
    fn best_variances(&self) -> Vec<(f64, f64)> {
        let (noise, units) = (1.0 / self.posterior.beta, self.active_units());
        let best = |(of, unit): (Factors, f64)| {
            let variance = self.prior.best_variance(of, unit, noise);
            (variance, self.prior.gain(of, variance, unit, noise))
        };
        self.objective().factors(&self.posterior).into_iter().zip(units).map(best).collect()
    }

    /// Coordinate by coordinate, as published (Tipping & Faul 2003, sec. 4), and the noise after
    /// each sweep.
    fn sweep(&mut self, tol: f64) -> Result<()> {
        let mut noise_changed = true;
        for _ in 0..STEPS {
            self.observer.check()?;
            let mut gained = 0.0;
            for i in (0..self.active.len()).rev() {
                let (variance, gain) = self.best_variances()[i];
                let unit = self.units[self.active[i]];
                let noise = 1.0 / self.posterior.beta;
                let now = 1.0 / self.posterior.alpha[i];
                let of: Factors = self.objective().factors(&self.posterior)[i];
                gained += gain - self.prior.gain(of, now, unit, noise);
                if variance == 0.0 {
                    self.remove(i);
                } else if (now / variance - 1.0).abs() > 1e-12 {
                    self.posterior.reestimate(i, 1.0 / variance);
                }
            }
            self.refactor()?;
            if gained < tol && !noise_changed {
                break;
            }
            let before = self.posterior.beta;
            self.update_noise()?;
            noise_changed = (self.posterior.beta / before - 1.0).abs() > 1e-7;
        }
        Ok(())
    }

    pub(super) fn update_noise(&mut self) -> Result<()> {
        if self.options.noise != Noise::Estimated || self.hold_noise {
            return Ok(());
        }
        let units = self.active_units();
        let objective = Objective { prior: &*self.prior, ..self.frame };
        let largest = self.options.largest_precision;
        let from = self.posterior.clone();
        self.posterior = best_noise(&self.data, from, &units, &objective, largest, self.observer)?;
        Ok(())
    }
}

/// A damped Newton step upwards of which `attempt` makes something that raises the objective; none
/// if there is nothing to gain. Of the curvature the leading part counts. Coordinates are log
/// precisions; of `weak` ones the model of the objective is quadratic in the variance.
pub(super) fn damped_step<T>(
    gradient: &[f64],
    curvature: &Matrix,
    weak: &[bool],
    damping: &mut f64,
    tol: f64,
    observer: &dyn Observer,
    mut attempt: impl FnMut(&[f64]) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let order = gradient.len();
    let is_weak = |i: usize| weak.get(i) == Some(&true);
    for _ in 0..40 {
        let mut leading = Vec::with_capacity(order * order);
        (0..order).for_each(|b| leading.extend_from_slice(&curvature.column(b)[..order]));
        let mut matrix = Matrix::from_columns(order, order, leading);
        for b in 0..order {
            // v²d²/dv² = d²/dx² + d/dx for x = −log v.
            let bend = if is_weak(b) { gradient[b] } else { 0.0 };
            matrix[(b, b)] += *damping - bend;
        }
        let Ok(factor) = Cholesky::new_small(matrix, observer)? else {
            *damping = (4.0 * *damping).max(1e-3);
            continue;
        };
        let mut step = gradient.to_vec();
        factor.solve(&mut step);
        let promised: f64 = 0.5 * step.iter().zip(gradient).map(|(s, g)| s * g).sum::<f64>();
        if !promised.is_finite() {
            *damping = (4.0 * *damping).max(1e-3);
            continue;
        }
        if promised < tol {
            // With a large damping little is promised of much.
            if *damping > 1.0 && gradient.iter().any(|g| g * g > tol) {
                *damping *= 0.25;
                continue;
            }
            return Ok(None);
        }
        let strong = step.iter().enumerate().filter(|(i, _)| !is_weak(*i));
        let longest = strong.fold(0.0, |a: f64, (_, s)| a.max(s.abs()));
        let scale = (LONGEST / longest).min(1.0);
        step.iter_mut().for_each(|s| *s *= scale);
        // The variance of a weak column is to have 1 − s times its value.
        let weak_steps = step.iter_mut().zip(weak).filter(|(_, weak)| **weak);
        weak_steps.for_each(|(s, _)| *s = -(1.0 - *s).max(LEAST).ln());
        if let Some(found) = attempt(&step)? {
            *damping = if *damping > 1e-6 { 0.1 * *damping } else { 0.0 };
            return Ok(Some(found));
        }
        *damping = (10.0 * *damping).max(1e-3);
        if *damping > 1e9 {
            break;
        }
    }
    *damping = 0.0;
    Ok(None)
}
