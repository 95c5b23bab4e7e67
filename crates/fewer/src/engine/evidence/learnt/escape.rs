//! Ways out of the first maximum to better ones.

use super::*;

/// A way out of a maximum: some kernels are taken out, and others are added while the noise is held.
#[derive(Debug, Clone, Copy)]
struct Kick {
    /// The part of the kernels that is taken out, those that are worth least or, below 0, most.
    out: f64,
    /// The noise precision, as a part of what it was.
    precision: f64,
}

/// More noise leads to fewer and broader kernels, a little less of it out of maxima that take signal
/// for noise. A third of the noise leads to higher maxima still, but to kernels that follow the
/// noise: where they are not paid for, evidence grows as they begin to interpolate.
const KICKS: [Kick; 3] = [
    Kick { out: 0.5, precision: 0.5 },
    Kick { out: -0.3, precision: 0.5 },
    Kick { out: -0.3, precision: 1.5 },
];
/// Searches without a gain after which a round ends.
const PATIENCE: usize = 2;
/// Rounds that gain less for each kernel lead nowhere.
const GAIN_OF_KERNEL: f64 = 1e-3;
/// Learnt parameters up to which there are rounds. With more of them, as kernels of many inputs have,
/// fits would take three to ten times as long, and errors on new rows do not follow the objective.
const MOST_PARAMETERS: f64 = 100.0;
/// Rows up to which there are rounds.
const MOST_ROWS: usize = 1000;

impl Learner<'_> {
    /// Whether there is one objective that has other maxima, and time to look for them.
    fn may_escape(&self) -> bool {
        let by_rules = !self.prior.is_exact() || self.learning.noise_as_published;
        let learns = self.learning.families.iter().any(|f| *f != Family::Linear);
        !by_rules && learns && self.learning.rows.len() <= MOST_ROWS
    }

    fn is_small(&self) -> bool {
        self.counted() > 0 && self.all_parameters() <= MOST_PARAMETERS
    }

    /// The maximum of the highest score that rounds lead to, until every kick in turn has failed.
    pub(super) fn climb_higher(&mut self, way: &mut Way) -> Result<Termination> {
        if !self.may_escape() {
            return Ok(Termination::Converged);
        }
        let mut termination = self.ascend(way, PATIENCE)?;
        let mut highest = self.score()?;
        let mut failures = 0;
        for kick in KICKS.iter().cycle() {
            if termination != Termination::Converged || failures == KICKS.len() || !self.is_small()
            {
                break;
            }
            let best = (self.shapes.clone(), self.alpha.clone(), self.beta);
            let (gain, steps) = (way.gain, way.trace.len());
            self.kick(*kick, way)?;
            termination = self.ascend(way, PATIENCE)?;
            let score = self.score()?;
            let enough = GAIN_OF_KERNEL * (1 + self.counted()) as f64;
            failures = if score > highest + enough { 0 } else { failures + 1 };
            if score > highest {
                highest = score;
                if way.trace.len() == steps {
                    let (objective, terms) = (-self.value()?, self.counted());
                    way.trace.push(Step { objective, terms });
                }
            } else {
                (self.shapes, self.alpha, self.beta) = best;
                self.count();
                way.gain = gain;
                way.trace.truncate(steps);
            }
        }
        Ok(termination)
    }

    /// What maxima are compared by: the objective, less what parameters have not paid in it of
    /// ½ log n each (Schwarz 1978). More of them make for a higher maximum in any case.
    fn score(&self) -> Result<f64> {
        let paid = Paid::cost(self.prior.parameters, self.beta);
        let whole = 0.5 * self.all_priced() * self.learning.rows.count.ln();
        Ok(self.value()? - (whole - paid).max(0.0))
    }

    /// Leaves a maximum.
    fn kick(&mut self, kick: Kick, way: &mut Way) -> Result<()> {
        let mut order = self.by_worth()?;
        let k = order.len();
        if kick.out < 0.0 {
            order.reverse();
        }
        order.truncate((kick.out.abs() * k as f64).round() as usize);
        order.sort_unstable();
        for &k in order.iter().rev() {
            self.shapes.remove(k);
            self.alpha.remove(k);
        }
        self.count();
        self.beta = (kick.precision * self.beta).min(self.options.largest_precision);
        self.hold_noise = true;
        let most = self.counted() + k / 4 + 4;
        // What joins may leave again while all climb: there are so many steps at most.
        for _ in 0..k / 4 + 4 {
            let over = way.iterations >= self.options.max_iter || self.is_late();
            if self.counted() >= most || self.all_parameters() > MOST_PARAMETERS || over {
                break;
            }
            self.observer.check()?;
            way.iterations += 1;
            let before = self.shapes.len();
            let found = self.add_some(way.iterations)?;
            if self.shapes.len() == before {
                break;
            }
            self.climb(way.iterations, found)?;
            let (iteration, terms) = (way.iterations, self.counted());
            let (objective, residual) = (-self.value()?, found);
            self.observer.progress(Progress { iteration, terms, objective, residual });
            if self.shapes.len() <= before {
                break;
            }
        }
        self.hold_noise = false;
        if let Noise::Known(variance) = self.options.noise {
            self.beta = 1.0 / variance;
        }
        self.settle(0.1 * LITTLE)
    }

    /// Positions of the functions but the column of ones, those first that the objective would
    /// miss least.
    fn by_worth(&self) -> Result<Vec<usize>> {
        let worth = self.worth()?;
        let mut order: Vec<usize> =
            (0..worth.len()).filter(|&k| self.shapes[k].is_some()).collect();
        order.sort_by(|a, b| worth[*a].total_cmp(&worth[*b]));
        Ok(order)
    }
}
