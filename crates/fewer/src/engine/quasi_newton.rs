//! L-BFGS within bounds (Nocedal & Wright 2006, sec. 7.2, with projected steps).
//!
//! It says where it wants to know the function and is told, so that many searches can be answered
//! by one product of matrices.

use super::Silent;
use crate::linalg::{Cholesky, Matrix, axpy, dot};
use std::collections::VecDeque;

/// Pairs of steps and changes of the gradient that are remembered.
const MEMORY: usize = 10;
/// The decrease that a step must bring, as a part of what the slope promises.
const ARMIJO: f64 = 1e-4;
/// Times a step is shortened before the search ends.
const SHORTER: usize = 20;

/// A search for a minimum.
#[derive(Debug, Clone)]
pub(crate) struct Minimum {
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// Steps change no variable by more.
    longest: f64,
    x: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    direction: Vec<f64>,
    step: f64,
    trial: Vec<f64>,
    pairs: VecDeque<Pair>,
    curvature: Option<Curvature>,
    shortened: usize,
    ended: bool,
}

#[derive(Debug, Clone)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

/// Approximate second derivatives, and their factor for the variables that are free.
#[derive(Debug, Clone)]
struct Curvature {
    matrix: Matrix,
    free: Vec<bool>,
    factor: Option<Cholesky>,
}

impl Curvature {
    /// Factorises the part of the free variables; whether that can be done.
    fn factorise(&mut self, free: &[bool]) -> bool {
        if self.free != free {
            let places: Vec<usize> = (0..free.len()).filter(|&k| free[k]).collect();
            let part = self.matrix.part(&places, places.iter().copied());
            self.factor = Cholesky::new(part, &Silent).ok().and_then(|factor| factor.ok());
            self.free = free.to_vec();
        }
        self.factor.is_some()
    }

    /// Solves for the free variables, of which there is a factor; the others are left alone.
    fn solve(&self, free: &[bool], way: &mut [f64]) -> bool {
        let Some(factor) = &self.factor else { return false };
        let places: Vec<usize> = (0..free.len()).filter(|&k| free[k]).collect();
        let mut right: Vec<f64> = places.iter().map(|&k| way[k]).collect();
        factor.solve(&mut right);
        places.iter().zip(right).for_each(|(&k, v)| way[k] = v);
        true
    }
}

impl Minimum {
    /// From a start; no step changes a variable by more than `longest`, the first by a tenth of it.
    pub fn new(mut start: Vec<f64>, lower: Vec<f64>, upper: Vec<f64>, longest: f64) -> Self {
        clip(&mut start, &lower, &upper);
        Self {
            trial: start.clone(),
            x: start,
            value: f64::INFINITY,
            gradient: Vec::new(),
            direction: Vec::new(),
            step: 0.0,
            pairs: VecDeque::new(),
            curvature: None,
            shortened: 0,
            ended: false,
            lower,
            upper,
            longest,
        }
    }

    /// From a start, without bounds; variables are such that the function curves by about 1 in
    /// each, so that the first step is the gradient itself.
    pub fn unbounded(start: Vec<f64>) -> Self {
        let bound = vec![f64::INFINITY; start.len()];
        Self::new(start, bound.iter().map(|b| -b).collect(), bound, f64::INFINITY)
    }

    /// With second derivatives that are about those of the function, from which steps are taken
    /// until it is known better.
    pub fn curved(mut self, matrix: Matrix) -> Self {
        self.curvature = Some(Curvature { matrix, free: Vec::new(), factor: None });
        self
    }

    /// Where the function is asked for.
    pub fn asks(&self) -> &[f64] {
        &self.trial
    }

    /// The best point so far and its value.
    pub fn best(&self) -> (&[f64], f64) {
        (&self.x, self.value)
    }

    /// Whether nothing more can be gained.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes the value and the gradient where they were asked for; a value that is not finite
    /// stands for one that is too large.
    pub fn tell(&mut self, value: f64, gradient: Vec<f64>) {
        if self.ended {
            return;
        }
        let finite = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        if self.gradient.is_empty() {
            if !finite {
                self.ended = true;
                return;
            }
            (self.value, self.gradient) = (value, gradient);
            return self.turn();
        }
        let step: Vec<f64> = self.trial.iter().zip(&self.x).map(|(t, x)| t - x).collect();
        let promised = dot(&step, &self.gradient);
        // Where bounds cut a step short it may lead uphill.
        if !finite || promised >= 0.0 || value > self.value + ARMIJO * promised {
            self.shortened += 1;
            if self.shortened > SHORTER || !self.shorten(value, promised) {
                // Old curvatures may be to blame.
                if self.pairs.is_empty() && self.curvature.take().is_none() {
                    self.ended = true;
                    return;
                }
                self.pairs.clear();
                self.turn();
            }
            return;
        }
        let change: Vec<f64> = gradient.iter().zip(&self.gradient).map(|(a, b)| a - b).collect();
        let size = (dot(&step, &step) * dot(&change, &change)).sqrt();
        if dot(&step, &change) > 1e-10 * size {
            if self.pairs.len() == MEMORY {
                self.pairs.pop_front();
            }
            self.pairs.push_back(Pair { step, change });
        }
        (self.value, self.gradient) = (value, gradient);
        self.x.copy_from_slice(&self.trial);
        self.turn();
    }

    /// Goes on from a point near the best so far, with a value and a gradient that are better known
    /// than those it was told.
    pub fn correct(&mut self, x: Vec<f64>, value: f64, gradient: Vec<f64>) {
        (self.x, self.value, self.gradient) = (x, value, gradient);
        self.turn();
    }

    /// The same within other bounds.
    pub fn correct_within(
        &mut self,
        (lower, upper): (Vec<f64>, Vec<f64>),
        x: Vec<f64>,
        value: f64,
        gradient: Vec<f64>,
    ) {
        (self.lower, self.upper) = (lower, upper);
        self.correct(x, value, gradient);
    }

    /// A shorter step along the same way, by the parabola through what is known; whether it is any
    /// step at all.
    fn shorten(&mut self, value: f64, promised: f64) -> bool {
        let bend = value - self.value - promised;
        let best = if bend > 0.0 && bend.is_finite() { -0.5 * promised / bend } else { 0.1 };
        self.step *= best.clamp(0.1, 0.5);
        self.advance()
    }

    fn advance(&mut self) -> bool {
        self.trial.copy_from_slice(&self.x);
        axpy(self.step, &self.direction, &mut self.trial);
        clip(&mut self.trial, &self.lower, &self.upper);
        self.trial != self.x
    }

    /// Chooses the way on from a new point.
    fn turn(&mut self) {
        self.shortened = 0;
        let held = |k: usize| {
            self.x[k] <= self.lower[k] && self.gradient[k] > 0.0
                || self.x[k] >= self.upper[k] && self.gradient[k] < 0.0
        };
        let free: Vec<bool> = (0..self.x.len()).map(|k| !held(k)).collect();
        let mask = |v: &[f64]| -> Vec<f64> {
            v.iter().zip(&free).map(|(v, f)| if *f { *v } else { 0.0 }).collect()
        };
        let gradient = mask(&self.gradient);
        if gradient.iter().all(|g| *g == 0.0) {
            self.ended = true;
            return;
        }
        let mut way: Vec<f64> = gradient.iter().map(|g| -g).collect();
        if self.curvature.as_mut().is_some_and(|c| !c.factorise(&free)) {
            self.curvature = None;
        }
        // A change that came of variables now held would be taken for one of the others: without
        // curvatures, a pair that tells something of the scale is still better than none.
        let tells = |p: &&Pair| {
            self.curvature.is_none() || p.step.iter().zip(&free).all(|(s, f)| *f || *s == 0.0)
        };
        let pairs: Vec<Pair> = (self.pairs.iter().filter(tells))
            .map(|p| Pair { step: mask(&p.step), change: mask(&p.change) })
            .filter(|p| dot(&p.step, &p.change) > 0.0)
            .collect();
        let mut shares = vec![0.0; pairs.len()];
        for (k, p) in pairs.iter().enumerate().rev() {
            shares[k] = dot(&p.step, &way) / dot(&p.step, &p.change);
            axpy(-shares[k], &p.change, &mut way);
        }
        let curved = self.curvature.as_ref().is_some_and(|c| c.solve(&free, &mut way));
        if let Some(p) = pairs.last().filter(|_| !curved) {
            let scale = dot(&p.step, &p.change) / dot(&p.change, &p.change);
            way.iter_mut().for_each(|v| *v *= scale);
        }
        for (p, share) in pairs.iter().zip(&shares) {
            let other = dot(&p.change, &way) / dot(&p.step, &p.change);
            axpy(share - other, &p.step, &mut way);
        }
        let mut way = mask(&way);
        let slope = dot(&way, &gradient);
        let mut scaled = curved || !pairs.is_empty();
        if slope.is_nan() || slope >= 0.0 {
            self.pairs.clear();
            way = gradient.iter().map(|g| -g).collect();
            scaled = false;
        }
        let largest = way.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
        let limit = if scaled { self.longest } else { 0.1 * self.longest };
        let whole = if scaled || !limit.is_finite() { 1.0 } else { f64::INFINITY };
        self.step = (limit / largest).min(whole);
        self.direction = way;
        self.ended = !self.advance();
    }
}

fn clip(x: &mut [f64], lower: &[f64], upper: &[f64]) {
    for ((x, low), high) in x.iter_mut().zip(lower).zip(upper) {
        *x = x.clamp(*low, *high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimise(
        start: &[f64],
        lower: f64,
        upper: f64,
        function: impl Fn(&[f64]) -> (f64, Vec<f64>),
    ) -> (Vec<f64>, f64, usize) {
        let n = start.len();
        run(Minimum::new(start.to_vec(), vec![lower; n], vec![upper; n], 5.0), function)
    }

    fn run(
        mut search: Minimum,
        function: impl Fn(&[f64]) -> (f64, Vec<f64>),
    ) -> (Vec<f64>, f64, usize) {
        let mut calls = 0;
        while !search.has_ended() && calls < 2000 {
            let (value, gradient) = function(search.asks());
            search.tell(value, gradient);
            calls += 1;
        }
        (search.best().0.to_vec(), search.best().1, calls)
    }

    fn rosenbrock(x: &[f64]) -> (f64, Vec<f64>) {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        (a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b])
    }

    #[test]
    fn finds_the_minimum_of_a_curved_valley() {
        let (x, value, calls) = minimise(&[-1.2, 1.0], -10.0, 10.0, rosenbrock);
        assert!(value < 1e-20 && (x[0] - 1.0).abs() < 1e-9, "{x:?} {value:e}");
        assert!(calls < 150, "{calls}");
    }

    /// With x ≤ ½ the minimum is at (½, ¼).
    #[test]
    fn stops_at_bounds() {
        let (x, value, _) = minimise(&[-1.2, 0.4], -10.0, 0.5, rosenbrock);
        assert!((x[0] - 0.5).abs() < 1e-12 && (x[1] - 0.25).abs() < 1e-7, "{x:?}");
        assert!((value - 0.25).abs() < 1e-12);
    }

    #[test]
    fn follows_scales_that_differ() {
        let scales: Vec<f64> = (0..30).map(|k| 10f64.powf(k as f64 / 10.0)).collect();
        let function = |x: &[f64]| {
            let value = x.iter().zip(&scales).map(|(x, s)| 0.5 * s * (x - 1.0).powi(2)).sum();
            (value, x.iter().zip(&scales).map(|(x, s)| s * (x - 1.0)).collect())
        };
        let (x, _, calls) = minimise(&[0.0; 30], -5.0, 5.0, function);
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-8), "{x:?}");
        assert!(calls < 600, "{calls}");
    }

    /// ½(x − 1)ᵀM(x − 1) with M of condition 1e6, which may not be above ½ in the first variable.
    #[test]
    fn steps_by_known_curvatures() {
        let n = 12;
        let mut matrix = Matrix::zeros(n, n);
        for k in 0..n {
            matrix[(k, k)] = 10f64.powf(k as f64 / 2.0);
            if k > 0 {
                let off = 0.5 * matrix[(k - 1, k - 1)];
                matrix[(k, k - 1)] = off;
                matrix[(k - 1, k)] = off;
            }
        }
        let function = |x: &[f64]| {
            let away: Vec<f64> = x.iter().map(|x| x - 1.0).collect();
            let slope: Vec<f64> = (0..n).map(|k| dot(matrix.column(k), &away)).collect();
            (0.5 * dot(&away, &slope), slope)
        };
        let mut upper = vec![9.0; n];
        upper[0] = 0.5;
        let start = || Minimum::new(vec![0.0; n], vec![-9.0; n], upper.clone(), 5.0);
        let (plain, value, calls) = run(start(), function);
        let (x, same, fewer) = run(start().curved(matrix.clone()), function);
        assert!(fewer <= 40 && 5 * fewer < calls, "{fewer} {calls}");
        assert!(x[0] == 0.5 && same <= value + 1e-12 * value, "{x:?} {plain:?}");
        // Wrong ones do no harm.
        let mut wrong = Matrix::zeros(n, n);
        (0..n).for_each(|k| wrong[(k, k)] = 1e-3 * (1.0 + (k % 3) as f64));
        let (_, found, _) = run(start().curved(wrong), function);
        assert!((found - same).abs() < 1e-6 * same, "{found} {same}");
    }

    /// Beale's function is not convex; beyond |x| = 4 it is taken for infinite.
    #[test]
    fn backs_away_from_where_there_is_no_value() {
        let beale = |v: &[f64]| {
            let (x, y) = (v[0], v[1]);
            if x.abs() > 4.0 {
                return (f64::INFINITY, vec![0.0; 2]);
            }
            let f = [1.5 - x + x * y, 2.25 - x + x * y * y, 2.625 - x + x * y.powi(3)];
            let dx = [y - 1.0, y * y - 1.0, y.powi(3) - 1.0];
            let dy = [x, 2.0 * x * y, 3.0 * x * y * y];
            let slope = |d: &[f64; 3]| 2.0 * f.iter().zip(d).map(|(f, d)| f * d).sum::<f64>();
            (f.iter().map(|f| f * f).sum(), vec![slope(&dx), slope(&dy)])
        };
        let (x, value, _) = minimise(&[1.0, 1.0], -4.5, 4.5, beale);
        assert!(value < 1e-18, "{x:?} {value:e}");
        assert!((x[0] - 3.0).abs() < 1e-7 && (x[1] - 0.5).abs() < 1e-7);
    }
}
