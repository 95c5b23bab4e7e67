//! L1 penalties with many terms: where no coefficient changes its sign the objective is smooth, and
//! L-BFGS within bounds goes to its minimum there. Second derivatives of so many would cost more.

use super::smooth::{Point, looks_to_go};
use super::{Coordinate, Penalty, is_past};
use crate::design::NarrowRows;
use crate::engine::Minimum;
use crate::error::Result;

/// Working coefficients for which second derivatives cost more than looks at the rows, and the part
/// of all coefficients that they must be, for a look is one at all columns: more of them on a path,
/// where second derivatives serve again.
const MANY: usize = 200;
const PART: usize = 12;
const PART_ON_PATHS: usize = 4;
/// Part of what there was to gain that may be left when signs are chosen anew.
const LEG: f64 = 1e-2;
/// Part of it at which single precision follows what changes from there on.
const NARROW_LEG: f64 = 1e-7;
/// Looks at the rows, and for how many working coefficients one more, before Newton's method has a
/// try.
const LOOKS: usize = 60;
const COEFFICIENTS_PER_LOOK: usize = 12;
/// Part of the gap asked for that is aimed at.
const AIM: f64 = 0.7;

/// The signs that coefficients may have: 0 where both are free, and bounds.
struct Orthant {
    signs: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
}

impl Orthant {
    fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        (self.lower.clone(), self.upper.clone())
    }

    /// About what is to be gained within the bounds, in units in which all curves by 1.
    fn to_gain(&self, at: &[f64], slopes: &[f64]) -> f64 {
        let each = at.iter().zip(slopes).zip(self.lower.iter().zip(&self.upper));
        let gain = |((x, slope), (low, high)): ((&f64, &f64), (&f64, &f64))| {
            let held = x <= low && *slope > 0.0 || x >= high && *slope < 0.0;
            if held { 0.0 } else { 0.5 * slope * slope }
        };
        each.map(gain).sum()
    }
}

impl Coordinate<'_> {
    /// Solves the problem of all columns, where many have a weight, until the gap is at most
    /// `tolerance`; nothing where this is not the way, or has not led there.
    pub(super) fn descend_by_gradients(
        &mut self,
        penalty: &Penalty,
        tolerance: f64,
    ) -> Result<Option<bool>> {
        let working = self.working.len();
        let part = if self.on_path { PART_ON_PATHS } else { PART };
        let large = working >= MANY && part * working >= self.usable.len();
        // Without an L1 penalty this was tried before.
        let tried = self.strayed || self.is_smooth(penalty);
        if !large || tried || !self.working.is_dense() || penalty.positive {
            return Ok(None);
        }
        let Some(narrow) = self.narrow_rows.take().or_else(|| self.new_narrow_rows()) else {
            return Ok(None);
        };
        let there = self.descend_in_orthants(&narrow, penalty, tolerance);
        self.narrow_rows = Some(narrow);
        self.strayed = !matches!(there, Ok(true));
        Ok(there?.then_some(true))
    }

    /// Whether the gap was closed.
    fn descend_in_orthants(
        &mut self,
        narrow: &NarrowRows,
        penalty: &Penalty,
        tolerance: f64,
    ) -> Result<bool> {
        let scales = self.scales(penalty);
        let here = self.here(penalty)?;
        let mut orthant = self.orthant(&here, penalty);
        let at = here.in_units(&scales);
        let slopes = self.slopes_in(&orthant, &here, &scales, penalty);
        // What there was to gain where the engine is, and where signs were chosen.
        let mut base = orthant.to_gain(&at, &slopes);
        let mut leg = base;
        let (lower, upper) = orthant.bounds();
        let mut search = Minimum::new(at, lower, upper, f64::INFINITY);
        search.tell(here.objective, slopes);
        let most = LOOKS + self.working.len() / COEFFICIENTS_PER_LOOK;
        let mut gaps = vec![self.gap_about(&here, penalty)];
        let mut reached: Option<Point> = None;
        for looks in 0..most {
            if looks + looks_to_go(&gaps, tolerance) > 2 * most || is_past(self.deadline) {
                break;
            }
            self.observer.check()?;
            let mut turns = search.has_ended();
            if !turns {
                let point = self.look_at_rows(search.asks(), &scales, Some(narrow), penalty);
                let slopes = self.slopes_in(&orthant, &point, &scales, penalty);
                let left = orthant.to_gain(search.asks(), &slopes);
                search.tell(point.objective, slopes);
                if point.objective > search.best().1 {
                    continue;
                }
                let gap = self.gap_about(&point, penalty);
                gaps.push(gap);
                reached = Some(point);
                if gap <= AIM * tolerance || left <= NARROW_LEG * base {
                    base = 0.0;
                }
                turns = base == 0.0 || left <= LEG * leg;
            }
            if !turns {
                continue;
            }
            // Single precision may be what has ended the search.
            let Some(mut point) = reached.take() else { break };
            if base == 0.0 || search.has_ended() {
                self.go_to_weights(&point)?;
                point = self.here(penalty)?;
                let dual = self.dual_point(penalty, &self.usable).value;
                if self.gap(penalty, dual) <= tolerance {
                    return Ok(true);
                }
                base = 0.0;
            }
            orthant = self.orthant(&point, penalty);
            let at = point.in_units(&scales);
            let slopes = self.slopes_in(&orthant, &point, &scales, penalty);
            leg = orthant.to_gain(&at, &slopes);
            base = if base == 0.0 { leg } else { base };
            search.correct_within(orthant.bounds(), at, point.objective, slopes);
            if leg == 0.0 {
                break;
            }
        }
        if let Some(point) = reached {
            self.go_to_weights(&point)?;
        }
        Ok(false)
    }

    /// Goes where a look was; all that have a weight belong to the working set.
    fn go_to_weights(&mut self, point: &Point) -> Result<()> {
        self.go_to_point(point)?;
        let missing: Vec<usize> = self.nonzero().filter(|&v| !self.working.contains(v)).collect();
        self.add_to_working(&missing)
    }

    /// The signs of the coefficients, and those that others are pulled to.
    fn orthant(&self, here: &Point, penalty: &Penalty) -> Orthant {
        let count = here.intercepts.len();
        let mut signs = vec![0.0; count];
        let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; count], vec![f64::INFINITY; count]);
        for ((&v, &b), &pull) in self.usable.iter().zip(&here.beta).zip(&here.pulls) {
            let l1 = penalty.l1[v];
            let sign = match b {
                0.0 if l1 > 0.0 && pull.abs() > l1 => pull.signum(),
                b if l1 > 0.0 && b != 0.0 => b.signum(),
                _ => 0.0,
            };
            signs.push(sign);
            lower.push(if l1 == 0.0 || sign < 0.0 { f64::NEG_INFINITY } else { 0.0 });
            upper.push(if l1 == 0.0 || sign > 0.0 { f64::INFINITY } else { 0.0 });
        }
        Orthant { signs, lower, upper }
    }

    /// Derivatives of the objective within an orthant, in units of the scales.
    fn slopes_in(
        &self,
        orthant: &Orthant,
        point: &Point,
        scales: &[f64],
        penalty: &Penalty,
    ) -> Vec<f64> {
        let mut slopes = self.slopes(point, scales, penalty);
        let count = point.intercepts.len();
        for (k, &v) in self.usable.iter().enumerate() {
            slopes[count + k] += penalty.l1[v] * orthant.signs[count + k] / scales[count + k];
        }
        slopes
    }

    /// About the duality gap: that with the residual itself for a dual point, and what is lost, to
    /// first order, by the κ that the strongest pull asks for.
    fn gap_about(&self, point: &Point, penalty: &Penalty) -> f64 {
        let (mut gap, mut fitted, mut kappa) = (0.0, 0.0, 1.0_f64);
        for ((&v, &b), &pull) in self.usable.iter().zip(&point.beta).zip(&point.pulls) {
            let (l1, l2) = (penalty.l1[v], penalty.l2[v]);
            gap += penalty.value(v, b) - b * pull;
            fitted += b * pull;
            let excess = pull.abs() - l1;
            if excess > 0.0 && l2 > 0.0 {
                gap += 0.5 * excess * excess / l2;
            } else if excess > 0.0 && l1 > 0.0 {
                kappa = kappa.min(l1 / pull.abs());
            }
        }
        (gap + (1.0 - kappa) * fitted).max(0.0)
    }
}
