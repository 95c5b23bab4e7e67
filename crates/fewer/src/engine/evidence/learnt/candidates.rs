//! Functions that might join.

use super::bounds::Variables;
use super::joint::{CURVED, curved_rows};
use super::scene::{BLOCK, Scene, Worth};
use super::*;
use crate::engine::Minimum;
use crate::error::Error;

/// Evaluations in which a candidate climbs.
const CLIMB: usize = 14;
/// Candidates that are weighed on all rows.
const WEIGHED: usize = 8;
/// A candidate joins together with the first if it still gains such a part of it, and at most one
/// for every so many kernels.
const PART: f64 = 0.3;
const FOR_EACH: usize = 8;
/// There is at most one kernel for every so many rows, and at most one learnt parameter: where
/// there were as many as rows they could interpolate.
pub(crate) const ROWS_FOR_EACH: f64 = 4.0;
pub(crate) const ROWS_FOR_PARAMETER: f64 = 1.5;

impl Learner<'_> {
    /// Kernels at rows of large error, of any width.
    fn starts(&self, error: &[f64], seed: u64) -> Vec<Shape> {
        let rows = &self.learning.rows;
        let mut next = uniform(seed);
        let mut sums = Vec::with_capacity(error.len());
        let mut total = 0.0;
        for (i, e) in error.iter().enumerate() {
            total += (e * rows.blame.get(i).copied().unwrap_or(1.0)).powi(2);
            sums.push(total);
        }
        let kernels: Vec<Family> =
            self.learning.families.iter().copied().filter(|f| *f != Family::Linear).collect();
        if kernels.is_empty() || total.is_nan() || total <= 0.0 {
            return Vec::new();
        }
        let d = rows.x.columns();
        let widths = self.bounds.widths;
        let (low, high) = (self.bounds.spacing.ln(), self.bounds.span.ln());
        let one = |k: usize| {
            let target = next() * total;
            let row = sums.partition_point(|s| *s < target).min(sums.len() - 1);
            let log = low + next() * (high - low);
            // Laplacian kernels have no derivative at their centres.
            let off = if self.bounds.held { 0.0 } else { 0.1 * (next() - 0.5) * log.exp() };
            let off_in = |j: usize| if self.bounds.varies(j) { off } else { 0.0 };
            let centre = (0..d).map(|j| rows.x[(row, j)] + off_in(j));
            let parameters: Vec<f64> = centre.chain(std::iter::repeat_n(log, widths)).collect();
            Shape::of(kernels[k % kernels.len()], &parameters, d)
        };
        (0..self.learning.starts * kernels.len()).map(one).collect()
    }

    /// Candidates that have climbed, the best first.
    fn candidates(&self, full: &Scene<'_>, seed: u64, most: usize) -> Result<Vec<Shape>> {
        let starts = self.starts(&full.error, seed);
        let part = self.some_rows(SEARCH_ROWS, seed ^ 0x5bd1_e995);
        let centred = self.learning.free_intercept;
        let scene = match &part {
            None => None,
            Some(rows) => {
                let columns = rows.columns(&self.shapes, centred).1;
                let data = active(rows, &columns);
                let posterior = Posterior::new(&data, &self.alpha, self.beta, self.observer)?;
                Some(Scene::new(rows, columns, posterior, centred, full.prior))
            }
        };
        let scene = scene.as_ref().unwrap_or(full);
        let variables: Vec<Variables> = starts.iter().map(Variables::new).collect();
        let mut searches: Vec<Minimum> = variables
            .iter()
            .map(|v| {
                let (low, high) = self.bounds.around(&v.origin, &v.units);
                Minimum::new(v.start(), low, high, STRIDE)
            })
            .collect();
        for _ in 0..CLIMB {
            self.observer.check()?;
            if self.is_late() {
                break;
            }
            let open: Vec<usize> =
                (0..searches.len()).filter(|&k| !searches[k].has_ended()).collect();
            let shapes: Vec<Option<Shape>> =
                open.iter().map(|&k| Some(variables[k].shape(searches[k].asks()))).collect();
            for (k, worth) in open.into_iter().zip(scene.weigh(&shapes, true)) {
                // Where there is nothing to see there is no way on.
                let height = if worth.gradient.is_empty() { f64::INFINITY } else { worth.height };
                searches[k].tell(height, variables[k].gradient(worth.gradient));
            }
        }
        let mut order: Vec<usize> =
            (0..searches.len()).filter(|&k| searches[k].best().1 < 0.0).collect();
        order.sort_by(|&a, &b| {
            searches[a].best().1.total_cmp(&searches[b].best().1).then(a.cmp(&b))
        });
        let mut best: Vec<Shape> = Vec::new();
        let mut heights: Vec<f64> = Vec::new();
        for k in order {
            let (x, height) = searches[k].best();
            // Many climb to the same place.
            if heights.iter().any(|h| (h / height - 1.0).abs() < 1e-3) {
                continue;
            }
            heights.push(height);
            best.push(variables[k].shape(x));
            if best.len() == most {
                break;
            }
        }
        Ok(best)
    }

    /// Functions that are no kernels and not in use: features, and the column of ones.
    fn plain(&self) -> Vec<Option<Shape>> {
        let mut open = Vec::new();
        if self.learning.families.contains(&Family::Linear) {
            let features = (0..self.bounds.low.len()).filter(|&j| self.bounds.varies(j));
            open.extend(features.map(|feature| Some(Shape::Linear { feature })));
        }
        if self.learning.bias {
            open.push(None);
        }
        open.retain(|shape| !self.shapes.contains(shape));
        open
    }

    /// Refuses what would need more memory than there may be.
    fn check_memory(&self, open: usize) -> Result<()> {
        let rows = &self.learning.rows;
        let k = self.shapes.len() + 1;
        let of_block = |rows: usize, functions: usize| 6 * rows * functions.min(BLOCK);
        let searched = rows.len().min(2 * SEARCH_ROWS);
        let starts = self.learning.starts.saturating_mul(self.learning.families.len());
        let d = rows.x.columns();
        let learnt = (k * (d + self.bounds.widths)).min(CURVED);
        let curved = match self.bounds.held {
            true => 0,
            false => learnt * (3 * learnt + rows.len().min(2 * curved_rows(learnt))),
        };
        let numbers = rows.len() * (4 * k + 2 * d)
            + of_block(rows.len(), open).max(of_block(searched, starts)).max(curved);
        if 8 * numbers > self.options.memory_limit {
            return Err(Error::memory(
                format!("a model of {k} kernel{}", if k == 1 { "" } else { "s" }),
                8.0 * numbers as f64,
                self.options.memory_limit as f64,
                "raise memory_limit or set max_terms",
            ));
        }
        Ok(())
    }

    /// How many functions, and how many kernels, may join.
    fn room(&self) -> (usize, usize) {
        let most = self.options.max_terms.unwrap_or(usize::MAX);
        let count = self.learning.rows.different();
        let bearable = (count / ROWS_FOR_EACH).ceil().max(1.0) as usize;
        let room = most.min(bearable).saturating_sub(self.counted());
        let d = self.bounds.low.len();
        let one = Shape::of(Family::Rbf, &vec![0.0; d + self.bounds.widths], d);
        let left = count / ROWS_FOR_PARAMETER - self.all_parameters();
        (room, (left / self.parameters(&one).max(1.0)).max(0.0) as usize)
    }

    /// What one more kernel would gain where there is no room for it among so many rows.
    pub(super) fn beyond(&self, iteration: usize) -> Result<Option<f64>> {
        let (room, kernels) = self.room();
        let wanted = self.options.max_terms.is_none_or(|most| self.counted() < most);
        if !wanted || room > 0 && kernels > 0 || self.is_late() {
            return Ok(None);
        }
        let full = self.scene()?;
        let open = self.candidates(&full, self.seed(iteration), WEIGHED)?;
        let open: Vec<Option<Shape>> = open.into_iter().map(Some).collect();
        let gains = full.weigh(&open, false);
        let gains = gains.iter().zip(&open).map(|(w, shape)| self.paid(&full, w, shape).1);
        Ok(gains.reduce(f64::max).filter(|gain| *gain > self.options.tol))
    }

    fn scene(&self) -> Result<Scene<'_>> {
        let centred = self.learning.free_intercept;
        let (columns, posterior) = (self.columns(), self.posterior()?);
        Ok(Scene::new(&self.learning.rows, columns, posterior, centred, &self.prior))
    }

    /// Functions that might join: plain ones and so many kernels that have climbed.
    fn open(&self, full: &Scene<'_>, iteration: usize, most: usize) -> Result<Vec<Option<Shape>>> {
        let mut open = self.plain();
        let (room, kernels) = self.room();
        if (room == 0 || kernels == 0 && open.is_empty()) && !open.contains(&None) {
            return Ok(Vec::new());
        }
        self.check_memory(most + open.len())?;
        if room > 0 && kernels > 0 {
            let found = self.candidates(full, self.seed(iteration), most)?;
            open.extend(found.into_iter().map(Some));
        }
        open.retain(|s| room > 0 || s.is_none());
        Ok(open)
    }

    /// The variance at which a function gains most, and the gain less what it costs.
    fn paid(&self, full: &Scene<'_>, worth: &Worth, shape: &Option<Shape>) -> (f64, f64) {
        let (variance, gain) = full.gain(worth, self.bounds.unit(shape));
        (variance, gain - shape.as_ref().map_or(0.0, |s| self.price(s)))
    }

    /// Functions that gain something alone, with the variance at which they do.
    pub(super) fn offers(
        &self,
        iteration: usize,
        most: usize,
    ) -> Result<Vec<(Option<Shape>, f64)>> {
        let full = self.scene()?;
        let open = self.open(&full, iteration, most)?;
        let worths = full.weigh(&open, false);
        let paid = worths.iter().zip(&open).map(|(w, shape)| self.paid(&full, w, shape));
        let paid: Vec<(f64, f64)> = paid.collect();
        let offers = open.into_iter().zip(paid).filter(|(_, paid)| paid.1 > self.options.tol);
        Ok(offers.map(|(shape, paid)| (shape, paid.0)).collect())
    }

    /// Adds the functions that gain most; the largest gain there is.
    pub(super) fn add_some(&mut self, iteration: usize) -> Result<f64> {
        let (mut room, mut kernels) = self.room();
        let many = self.has_many_rows();
        let least = if many { self.little() } else { self.options.tol };
        let mut first = 0.0;
        let (mut shapes, mut alpha) = (self.shapes.clone(), self.alpha.clone());
        let mut data = self.data();
        {
            let mut full = self.scene()?;
            let mut open = self.open(&full, iteration, WEIGHED)?;
            let for_each = if many { FOR_EACH / 2 } else { FOR_EACH };
            let most = shapes.len() + 1 + shapes.len() / for_each;
            loop {
                let is_kernel = |s: &Shape| s.kernel().is_some();
                open.retain(|s| {
                    s.as_ref().is_none_or(|s| room > 0 && (kernels > 0 || !is_kernel(s)))
                });
                if shapes.len() == most || open.is_empty() {
                    break;
                }
                let worths = full.weigh(&open, false);
                let gains = worths.iter().zip(&open).map(|(w, shape)| self.paid(&full, w, shape));
                let gains: Vec<(f64, f64)> = gains.collect();
                let best =
                    (0..open.len()).fold(0, |a, b| if gains[b].1 > gains[a].1 { b } else { a });
                let (variance, gain) = gains[best];
                if gain <= least || gain < PART * first {
                    first = f64::max(first, gain);
                    break;
                }
                first = f64::max(first, gain);
                let shape = open.swap_remove(best);
                room -= usize::from(shape.is_some());
                kernels -= usize::from(shape.as_ref().is_some_and(is_kernel));
                shapes.push(shape.clone());
                alpha.push(1.0 / variance);
                full = full.with(shape, 1.0 / variance, &mut data, self.observer)?;
            }
        }
        if shapes.len() == self.shapes.len() {
            return Ok(first);
        }
        self.known.replace((shapes.clone(), data));
        (self.shapes, self.alpha) = (shapes, alpha);
        self.count();
        Ok(first)
    }
}
