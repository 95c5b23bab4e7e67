//! Penalties that are all L2: no coefficient is left out, so there is no working set, and L-BFGS
//! takes all of them at once. Each of its steps looks at the rows once.

use super::{Coordinate, Options, Penalty, SMALLEST_GAP, free_slack, relative};
use crate::design::NarrowRows;
use crate::engine::{Minimum, Outcome, Progress, Step, Termination};
use crate::error::Result;
use crate::linalg::{Matrix, axpy};
use std::ops::Range;
use std::time::Instant;

/// Second derivatives of fewer coefficients cost little, and their last step goes far below the
/// tolerance.
const FEWEST: usize = 256;
/// Looks at the rows, and for how many coefficients one more, after which second derivatives are
/// the faster way: a step of Newton's costs as much as some tenths of a look for each.
const LOOKS: usize = 100;
const COEFFICIENTS_PER_LOOK: usize = 10;
/// More looks than these are not worth waiting for.
const MOST_LOOKS: usize = 1000;
/// Steps after which it is judged how long the way is.
const JUDGED_AFTER: usize = 40;
/// Part of the memory limit that rows or columns may take in single precision.
pub(super) const NARROW_PART: usize = 4;
/// Outputs are taken to curve at least by this much.
const LEAST_CURVATURE: f64 = 2.5e-3;
/// Single precision follows what changes; where no more than this part is left of what there was to
/// gain, the rest is followed from there.
const NARROW_LEG: f64 = 1e-7;

/// What a look at the rows found.
pub(super) struct Point {
    /// Usable coefficients, in their order, and the pulls on them.
    pub beta: Vec<f64>,
    pub pulls: Vec<f64>,
    /// The same of the intercepts.
    pub intercepts: Vec<f64>,
    pub intercept_pulls: Vec<f64>,
    /// Where it was seen in double precision, and the engine is not there yet.
    pub eta: Option<Matrix>,
    pub objective: f64,
}

impl Point {
    /// Intercepts and coefficients in units of these scales.
    pub(super) fn in_units(&self, scales: &[f64]) -> Vec<f64> {
        self.intercepts.iter().chain(&self.beta).zip(scales).map(|(v, s)| v * s).collect()
    }
}

/// What is said of some rows at their η.
struct Said {
    /// Nothing where single precision made it.
    eta: Option<Matrix>,
    value: f64,
    intercept_pulls: Vec<f64>,
}

/// How far the search has come.
#[derive(Default)]
struct Way {
    iterations: usize,
    looks: usize,
    trace: Vec<Step>,
}

impl Coordinate<'_> {
    /// Whether L-BFGS is the way to the minimum with this penalty.
    pub(super) fn is_smooth(&self, penalty: &Penalty) -> bool {
        !self.likelihood.is_quadratic()
            && !penalty.positive
            && self.usable.len() >= FEWEST
            && self.usable.iter().all(|&v| penalty.l1[v] == 0.0 && penalty.l2[v].is_finite())
            && !penalty.is_none(&self.usable)
    }

    /// Solves a smooth problem: in single precision, then in double where that does not do, and
    /// where the way is long and winding by Newton's method.
    pub(super) fn run_by_gradients(
        &mut self,
        penalty: &Penalty,
        options: &Options,
    ) -> Result<Outcome> {
        let target = options.tol.max(SMALLEST_GAP) * self.null;
        let mut way = Way::default();
        let start = self.here(penalty)?;
        let left = self.left_at(&start, &self.scales(penalty), penalty);
        self.report_smooth(&start, left, &mut way);
        if left <= target {
            let gap = self.gap(penalty, self.dual_point(penalty, &self.usable).value);
            if gap <= target {
                return Ok(self.outcome(penalty, gap, 0, Termination::Converged, way.trace));
            }
        }
        let narrow = self.narrow_rows.take().or_else(|| self.new_narrow_rows());
        let mut ended = match &narrow {
            Some(narrow) => self.search(Some(narrow), penalty, options, &mut way)?,
            None => None,
        };
        self.narrow_rows = narrow;
        if ended.is_none() {
            ended = self.search(None, penalty, options, &mut way)?;
        }
        let Way { iterations, mut trace, .. } = way;
        if let Some((termination, gap)) = ended {
            // In double precision, and with the best intercepts.
            if let Some(last) = trace.last_mut() {
                last.objective = self.objective(penalty);
            }
            return Ok(self.outcome(penalty, gap, iterations, termination, trace));
        }
        self.solved = None;
        let rest = Options { max_iter: options.max_iter.saturating_sub(iterations), ..*options };
        let mut outcome = self.run_on_working_sets(penalty, &rest)?;
        outcome.iterations += iterations;
        trace.append(&mut outcome.trace);
        Ok(Outcome { trace, ..outcome })
    }

    pub(super) fn new_narrow_rows(&self) -> Option<NarrowRows> {
        let columns = self.smooth_columns();
        let fits =
            NarrowRows::bytes(self.design.rows(), columns.len()) <= self.memory_limit / NARROW_PART;
        let dense = self.design.raw().as_sparse().is_none();
        let unit = |&j: &usize| if self.squares[j] > 0.0 { self.squares[j].sqrt() } else { 1.0 };
        (dense && fits)
            .then(|| NarrowRows::new(self.design, columns, columns.iter().map(unit).collect()))
    }

    /// Columns of the usable coefficients, which are the same in each output.
    fn smooth_columns(&self) -> &[usize] {
        &self.usable[..self.usable.len() / self.outputs()]
    }

    /// Goes on from where the engine is; how it ended, and the gap there, unless it got stuck.
    fn search(
        &mut self,
        narrow: Option<&NarrowRows>,
        penalty: &Penalty,
        options: &Options,
        way: &mut Way,
    ) -> Result<Option<(Termination, f64)>> {
        let target = options.tol.max(SMALLEST_GAP) * self.null;
        let scales = self.scales(penalty);
        let start = self.here(penalty)?;
        let mut search = Minimum::unbounded(start.in_units(&scales));
        search.tell(start.objective, self.slopes(&start, &scales, penalty));
        let most = (LOOKS + self.usable.len() / COEFFICIENTS_PER_LOOK).min(MOST_LOOKS);
        // What was left where the engine is, and a point better than that.
        let mut left_here = self.left_at(&start, &scales, penalty);
        let mut reached: Option<(f64, Point)> = None;
        let mut lefts = vec![left_here];
        let limit = loop {
            if way.iterations >= options.max_iter {
                break Some(Termination::IterationLimit);
            }
            if options.deadline.is_some_and(|d| Instant::now() >= d) {
                break Some(Termination::TimeLimit);
            }
            if way.looks >= most || way.looks + looks_to_go(&lefts, target) > 2 * most {
                break None;
            }
            let ended = search.has_ended();
            if !ended {
                self.observer.check()?;
                let point = self.look_at_rows(search.asks(), &scales, narrow, penalty);
                way.looks += 1;
                search.tell(point.objective, self.slopes(&point, &scales, penalty));
                if point.objective > search.best().1 {
                    continue;
                }
                way.iterations += 1;
                let left = self.left_at(&point, &scales, penalty);
                self.report_smooth(&point, left, way);
                lefts.push(left);
                reached = Some((left, point));
            }
            let leg = if narrow.is_some() { NARROW_LEG * left_here } else { 0.0 };
            let near = |(left, _): &mut (f64, Point)| {
                *left <= target.max(leg) || ended && *left < 0.1 * left_here
            };
            let Some((_, point)) = reached.take_if(near) else {
                if ended {
                    break None;
                }
                continue;
            };
            let gap = self.move_to_point(&point, penalty)?;
            if gap <= target {
                return Ok(Some((Termination::Converged, gap)));
            }
            let exact = self.here(penalty)?;
            let slopes = self.slopes(&exact, &scales, penalty);
            search.correct(exact.in_units(&scales), exact.objective, slopes);
            left_here = self.left_at(&exact, &scales, penalty);
        };
        if let Some((_, point)) = reached {
            self.move_to_point(&point, penalty)?;
        }
        let gap = self.gap(penalty, self.dual_point(penalty, &self.usable).value);
        Ok(if gap <= target {
            Some((Termination::Converged, gap))
        } else {
            limit.map(|limit| (limit, gap))
        })
    }

    /// The point where the engine is.
    pub(super) fn here(&mut self, penalty: &Penalty) -> Result<Point> {
        self.look_at_all()?;
        let pull = |c: usize| self.weighted_residual(c).iter().sum();
        Ok(Point {
            beta: self.values(&self.usable),
            pulls: self.usable.iter().map(|&v| self.gradient[v]).collect(),
            intercepts: self.intercepts.clone().unwrap_or_default(),
            intercept_pulls: (0..self.intercept_count()).map(pull).collect(),
            eta: None,
            objective: self.objective(penalty),
        })
    }

    /// Units of intercepts and coefficients in which the objective curves by about 1.
    pub(super) fn scales(&self, penalty: &Penalty) -> Vec<f64> {
        let weights = self.design.weights();
        let total: f64 = weights.map_or(self.design.rows() as f64, |w| w.iter().sum());
        let mean = |c: usize| {
            let curvature = self.likelihood.curvature(c, c).into_iter().enumerate();
            let sum: f64 = curvature.map(|(i, v)| weights.map_or(1.0, |w| w[i]) * v).sum();
            (sum / total).max(LEAST_CURVATURE)
        };
        let means: Vec<f64> = (0..self.outputs()).map(mean).collect();
        let columns = self.squares.len();
        let intercepts = (0..self.intercept_count()).map(|c| means[c] * total);
        let coefficients =
            self.usable.iter().map(|&v| penalty.l2[v] + means[v / columns] * self.square(v));
        let unit = |curvature: f64| if curvature > 0.0 { curvature.sqrt() } else { 1.0 };
        intercepts.chain(coefficients).map(unit).collect()
    }

    /// Looks at the rows; in single precision at what has changed since the engine was where it is.
    pub(super) fn look_at_rows(
        &self,
        at: &[f64],
        scales: &[f64],
        narrow: Option<&NarrowRows>,
        penalty: &Penalty,
    ) -> Point {
        let values: Vec<f64> = at.iter().zip(scales).map(|(v, s)| v / s).collect();
        let (intercepts, beta) = values.split_at(self.intercept_count());
        let (columns, outputs) = (self.smooth_columns(), self.outputs());
        let weights = self.design.weights();
        let of_rows = |rows: Range<usize>, eta: &mut Matrix| {
            for c in 0..outputs {
                let own = eta.column_mut(c);
                let mut shift = intercepts.get(c).copied().unwrap_or(0.0);
                if narrow.is_some() {
                    shift -= self.intercepts.as_ref().map_or(0.0, |b| b[c]);
                    axpy(1.0, &self.eta.column(c)[rows.clone()], own);
                } else if let Some(offset) = &self.offset {
                    axpy(1.0, &offset.column(c)[rows.clone()], own);
                }
                own.iter_mut().for_each(|e| *e += shift);
            }
            let there = narrow.is_none().then(|| eta.clone());
            let value = self.likelihood.of_rows(rows.clone(), eta);
            let pull = |c: usize| match weights {
                Some(w) => eta.column(c).iter().zip(&w[rows.clone()]).map(|(r, w)| r * w).sum(),
                None => eta.column(c).iter().sum::<f64>(),
            };
            let intercept_pulls = (0..intercepts.len()).map(pull).collect();
            for c in (0..outputs).filter(|_| narrow.is_some()) {
                axpy(-1.0, &self.likelihood.residual().column(c)[rows.clone()], eta.column_mut(c));
            }
            Said { eta: there, value, intercept_pulls }
        };
        let (mut pulls, mut said);
        match narrow {
            Some(narrow) => {
                let moved = self.usable.iter().zip(beta).map(|(&v, b)| b - self.beta[v]);
                let moved = Matrix::from_columns(columns.len(), outputs, moved.collect());
                (pulls, said) = narrow.round_trip(weights, &moved, of_rows);
                let before = self.usable.iter().map(|&v| self.gradient[v]);
                pulls.as_mut_slice().iter_mut().zip(before).for_each(|(p, g)| *p += g);
            }
            None => {
                let each: Vec<Vec<f64>> =
                    beta.chunks_exact(columns.len()).map(<[f64]>::to_vec).collect();
                let mut eta = self.design.apply_each(columns, &each);
                said = vec![of_rows(0..eta.rows(), &mut eta)];
                pulls = self.design.apply_transpose_each(columns, &eta);
            }
        }
        let mut intercept_pulls = vec![0.0; intercepts.len()];
        let penalties = self.usable.iter().zip(beta).map(|(&v, b)| penalty.value(v, *b));
        let mut objective = penalties.sum::<f64>();
        for of_block in &said {
            objective += of_block.value;
            axpy(1.0, &of_block.intercept_pulls, &mut intercept_pulls);
        }
        Point {
            beta: beta.to_vec(),
            pulls: pulls.as_slice().to_vec(),
            intercepts: intercepts.to_vec(),
            intercept_pulls,
            eta: said.pop().and_then(|s| s.eta),
            objective,
        }
    }

    fn report_smooth(&self, point: &Point, left: f64, way: &mut Way) {
        let terms = point.beta.iter().filter(|b| **b != 0.0).count();
        let (iteration, objective) = (way.iterations, point.objective);
        way.trace.push(Step { objective, terms });
        let residual = relative(left, self.null);
        self.observer.progress(Progress { iteration, terms, objective, residual });
    }

    /// Derivatives of the objective in units of the scales.
    pub(super) fn slopes(&self, point: &Point, scales: &[f64], penalty: &Penalty) -> Vec<f64> {
        let intercepts = point.intercept_pulls.iter().map(|q| -q);
        let each = self.usable.iter().zip(point.beta.iter().zip(&point.pulls));
        let coefficients = each.map(|(&v, (b, q))| penalty.l2[v] * b - q);
        intercepts.chain(coefficients).zip(scales).map(|(g, s)| g / s).collect()
    }

    /// The duality gap with the residual itself for a dual point, Σ (q − l2 β)² / 2 l2, and about
    /// what there is to gain by what has no penalty.
    fn left_at(&self, point: &Point, scales: &[f64], penalty: &Penalty) -> f64 {
        let free = point.intercept_pulls.iter().zip(scales).map(|(q, s)| 0.5 * (q / s).powi(2));
        let each = self.usable.iter().zip(point.beta.iter().zip(&point.pulls));
        let coefficients = each.map(|(&v, (&b, &q))| match penalty.l2[v] {
            0.0 => free_slack(q.abs(), b, self.square(v), 2.0 * self.null).unwrap_or(f64::INFINITY),
            l2 => (q - l2 * b).powi(2) / (2.0 * l2),
        });
        free.sum::<f64>() + coefficients.sum::<f64>()
    }

    /// Goes where a look was, and to the best intercepts there; the duality gap.
    fn move_to_point(&mut self, point: &Point, penalty: &Penalty) -> Result<f64> {
        self.go_to_point(point)?;
        self.look_at_all()?;
        Ok(self.gap(penalty, self.dual_point(penalty, &self.usable).value))
    }

    /// The way there.
    pub(super) fn go_to_point(&mut self, point: &Point) -> Result<()> {
        self.beta.fill(0.0);
        self.usable.iter().zip(&point.beta).for_each(|(&v, b)| self.beta[v] = *b);
        if let Some(intercepts) = &mut self.intercepts {
            intercepts.copy_from_slice(&point.intercepts);
        }
        match &point.eta {
            Some(eta) => {
                self.eta.clone_from(eta);
                self.likelihood.update(&self.eta);
                self.arrive()?;
                if self.intercepts.is_none() {
                    for (&v, q) in self.usable.iter().zip(&point.pulls) {
                        (self.gradient[v], self.seen_at[v]) = (*q, self.travelled);
                    }
                }
            }
            None => self.move_to_beta()?,
        }
        Ok(())
    }
}

/// How many more steps it takes, by what was left after each, at the rate of the second half.
pub(super) fn looks_to_go(lefts: &[f64], target: f64) -> usize {
    let (done, half) = (lefts.len() - 1, lefts.len() / 2);
    if done < JUDGED_AFTER || !lefts[half].is_finite() || lefts[done] <= target {
        return 0;
    }
    let rate = (lefts[half] / lefts[done]).ln() / (done - half) as f64;
    let needed = (lefts[done] / target).ln() / rate.max(f64::MIN_POSITIVE);
    needed.clamp(0.0, 1e9) as usize
}
