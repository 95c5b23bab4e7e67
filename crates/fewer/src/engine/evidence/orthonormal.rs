//! Orthonormal columns: every weight decides for itself, and only the noise is left to search.

use super::{Found, Options};
use crate::engine::{Observer, Progress, Step, Termination};
use crate::error::Result;
use crate::likelihood::Noise;
use crate::linalg::Matrix;
use crate::prior::{EvidencePrior, Factors};

/// What is known of orthonormal columns and the target.
pub(crate) struct Orthonormal {
    /// Products of the columns with the target.
    pub products: Vec<f64>,
    /// tᵀt.
    pub square: f64,
    /// Rows, by weight.
    pub weight: f64,
    /// Whether an intercept under a flat prior, to which all columns are orthogonal, is
    /// integrated out.
    pub free_intercept: bool,
    /// A column that does not count as a term.
    pub uncounted: Option<usize>,
}

/// The noise precision grows or shrinks by this until the objective falls.
const STRIDE: f64 = 1.25;

struct Search<'a> {
    of: &'a Orthonormal,
    prior: &'a dyn EvidencePrior,
    /// Columns that may be kept, the largest products first.
    order: Vec<usize>,
}

impl Search<'_> {
    fn rows(&self) -> f64 {
        self.of.weight - f64::from(u8::from(self.of.free_intercept))
    }

    /// s = z = β and q = βd: those of the others play no part.
    fn factors(&self, column: usize, beta: f64) -> Factors {
        Factors { s: beta, q: beta * self.of.products[column], z: beta }
    }

    /// The columns worth keeping and their variances.
    fn kept(&self, beta: f64) -> impl Iterator<Item = (usize, f64)> {
        let variance =
            move |&j: &usize| (j, self.prior.best_variance(self.factors(j, beta), 1.0, 1.0 / beta));
        self.order.iter().map(variance).take_while(|(_, v)| *v > 0.0)
    }

    /// log p(t) and the objective.
    fn values(&self, beta: f64) -> (f64, f64) {
        let fit = self.rows() * (beta / std::f64::consts::TAU).ln() - beta * self.of.square;
        let intercept = if self.of.free_intercept { self.of.weight.ln() } else { 0.0 };
        let empty = 0.5 * (fit - intercept);
        self.kept(beta).fold((empty, empty), |(evidence, objective), (j, v)| {
            let of = self.factors(j, beta);
            (evidence + of.gain(v), objective + self.prior.gain(of, v, 1.0, 1.0 / beta))
        })
    }

    /// The derivative of the objective in log β, variances following at their best. With
    /// ρ = βd² − 2c a column adds ½(ρ − 1 − log ρ), which begins flat at ρ = 1.
    fn slope(&self, beta: f64) -> f64 {
        let kept: f64 = self
            .kept(beta)
            .map(|(j, v)| beta * self.of.products[j].powi(2) * v * beta / (1.0 + v * beta))
            .sum();
        0.5 * (self.rows() - beta * self.of.square + kept)
    }

    /// The maximum that is reached uphill from a start. There may be another at the largest
    /// precision, where every column is kept and nothing is left.
    fn uphill(&self, start: f64, largest: f64, observer: &dyn Observer) -> Result<f64> {
        let rises = self.slope(start) > 0.0;
        let factor = if rises { STRIDE } else { 1.0 / STRIDE };
        let (mut near, mut far) = (start, start);
        while (self.slope(far) > 0.0) == rises {
            observer.check()?;
            if rises && far >= largest || far < f64::MIN_POSITIVE {
                return Ok(far);
            }
            (near, far) = (far, (far * factor).min(largest));
        }
        let (mut low, mut high) = if rises { (near, far) } else { (far, near) };
        while high / low - 1.0 > 1e-14 {
            let middle = (low * high).sqrt();
            if middle <= low || middle >= high {
                break;
            }
            if self.slope(middle) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

/// Maximises the evidence over the variances of all weights, and the noise from where the options
/// let it begin.
pub(crate) fn orthonormal(
    of: &Orthonormal,
    prior: &dyn EvidencePrior,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Found> {
    let size = |j: &usize| of.products[*j].abs();
    let mut order: Vec<usize> = (0..of.products.len()).collect();
    order.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.cmp(b)));
    if let Some(most) = options.max_terms {
        let mut counted = 0;
        order.retain(|j| {
            counted += usize::from(Some(*j) != of.uncounted);
            counted <= most || Some(*j) == of.uncounted
        });
    }
    let search = Search { of, prior, order };
    let beta = match options.noise {
        Noise::Known(variance) => 1.0 / variance,
        Noise::Estimated => {
            let start = options.first_precision.min(options.largest_precision);
            search.uphill(start, options.largest_precision, observer)?
        }
    };
    let mut kept: Vec<(usize, f64)> = search.kept(beta).collect();
    kept.sort_unstable_by_key(|k| k.0);
    let (log_evidence, objective) = search.values(beta);
    let terms = kept.iter().filter(|k| Some(k.0) != of.uncounted).count();
    observer.progress(Progress { iteration: 1, terms, objective: -objective, residual: 0.0 });
    let alpha: Vec<f64> = kept.iter().map(|k| 1.0 / k.1).collect();
    let variances: Vec<f64> = alpha.iter().map(|a| 1.0 / (a + beta)).collect();
    let mean = (kept.iter().zip(&alpha)).map(|(k, a)| beta * of.products[k.0] / (a + beta));
    Ok(Found {
        mean: mean.collect(),
        active: kept.iter().map(|k| k.0).collect(),
        covariance: Matrix::from_columns(kept.len(), 1, variances),
        alpha,
        noise: 1.0 / beta,
        log_evidence,
        objective,
        gain: 0.0,
        lam: None,
        cycled: false,
        aligned: 0,
        iterations: 1,
        termination: Termination::Converged,
        trace: vec![Step { objective: -objective, terms }],
    })
}
