//! The draws of a model that was sampled, and what follows from them.

use super::posterior::{Interval, from_rows};
use super::{Model, Term};
use crate::data::Features;
use crate::design::Design;
pub use crate::engine::gibbs::Diagnostic;
use crate::engine::gibbs::quantile;
use crate::error::Result;
use crate::linalg::{Matrix, Tile, axpy};
use crate::special::normal_cdf;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Draws that the interval of a prediction is made of, at most.
const MIXED: usize = 1000;
/// Rows of which a thread makes intervals at a time.
const ROWS: usize = 16;

/// Draws from the posterior of a model's numbers, in the units of the data, chain after chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draws {
    pub(crate) chains: usize,
    pub(crate) base: Vec<f64>,
    /// Of each term.
    pub(crate) weights: Vec<Vec<f64>>,
    pub(crate) noise_std: Vec<f64>,
    /// None where λ is held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lam: Vec<f64>,
    pub(crate) of_weights: Vec<Diagnostic>,
    pub(crate) of_noise: Diagnostic,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) of_lam: Option<Diagnostic>,
}

impl Draws {
    /// Number of chains.
    pub fn chains(&self) -> usize {
        self.chains
    }

    /// Draws of each chain.
    pub fn length(&self) -> usize {
        self.noise_std.len() / self.chains.max(1)
    }

    /// Draws of the output where every term is at its centre.
    pub fn base(&self) -> &[f64] {
        &self.base
    }

    /// Draws of the weight of a term, by its position in [`Model::terms`].
    pub fn weights(&self, term: usize) -> &[f64] {
        &self.weights[term]
    }

    /// Draws of the intercept: the output where every feature is zero (for a linear basis).
    pub fn intercepts(&self, terms: &[Term]) -> Vec<f64> {
        let mut out = self.base.clone();
        terms.iter().zip(&self.weights).for_each(|(t, w)| axpy(-t.centre, w, &mut out));
        out
    }

    /// Draws of the standard deviation of the noise.
    pub fn noise_std(&self) -> &[f64] {
        &self.noise_std
    }

    /// Draws of λ; none where it is held.
    pub fn lam(&self) -> &[f64] {
        &self.lam
    }

    /// How well the weight of a term was sampled.
    pub fn diagnostic(&self, term: usize) -> Diagnostic {
        self.of_weights[term]
    }

    /// How well the noise was sampled.
    pub fn noise_diagnostic(&self) -> Diagnostic {
        self.of_noise
    }

    /// How well λ was sampled, where it was.
    pub fn lam_diagnostic(&self) -> Option<Diagnostic> {
        self.of_lam
    }

    /// The interval that leaves the same probability on both sides, for each weight.
    pub(super) fn intervals(&self, coverage: f64) -> Vec<Interval> {
        let part = 0.5 * (1.0 - coverage);
        self.weights
            .par_iter()
            .map(|draws| {
                let mut sorted = draws.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                [part, 1.0 - part].map(|p| quantile(sorted.len(), |k| sorted[k], p)).into()
            })
            .collect()
    }

    /// Whether they make sense in a model of so many outputs and terms.
    pub(super) fn fits(&self, outputs: usize, terms: usize) -> bool {
        let all = self.noise_std.len();
        let finite = |values: &[f64]| values.iter().all(|v| v.is_finite());
        outputs == 1
            && self.chains > 0
            && all > 0
            && all.is_multiple_of(self.chains)
            && self.weights.len() == terms
            && self.of_weights.len() == terms
            && self.base.len() == all
            && (self.lam.is_empty() || self.lam.len() == all)
            && self.weights.iter().all(|w| w.len() == all && finite(w))
            && finite(&self.base)
            && finite(&self.lam)
            && self.noise_std.iter().all(|v| v.is_finite() && *v >= 0.0)
    }
}

impl Model {
    /// The draws, where the model was sampled.
    ///
    /// ```
    /// # use fewer::data::{Dataset, DenseView};
    /// # use fewer::method::BayesianLasso;
    /// # let x: Vec<f64> = (0..60).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
    /// # let y: Vec<f64> = (0..60).map(|i| 2.0 * x[i] + ((i * i) as f64 * 0.3).cos()).collect();
    /// # let data = Dataset::new(DenseView::by_rows(&x, 60, 1)?, &y)?;
    /// let model = BayesianLasso::new().fit(&data)?;
    /// let draws = model.draws().unwrap();
    /// let positive = draws.weights(0).iter().filter(|w| **w > 0.0).count();
    /// assert!(positive as f64 > 0.99 * draws.weights(0).len() as f64);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn draws(&self) -> Option<&Draws> {
        self.draws.as_ref()
    }

    /// Quantiles of a new observation: those of a mixture of Gaussians, one for each draw.
    pub(super) fn mixture_interval(
        &self,
        features: Features<'_>,
        draws: &Draws,
        coverage: f64,
        mean: &[f64],
        std: &[f64],
    ) -> Result<Matrix> {
        let columns = self.columns(features)?;
        let chosen: Vec<usize> = (0..self.terms.len()).collect();
        let centre = self.terms.iter().map(|t| t.centre).collect();
        let design = Design::new(&*columns, None, centre, vec![1.0; chosen.len()]);
        let step = draws.noise_std.len().div_ceil(MIXED);
        let thinned = |values: &[f64]| values.iter().copied().step_by(step).collect::<Vec<f64>>();
        let base = thinned(&draws.base);
        let noise = thinned(&draws.noise_std);
        let weights: Vec<Vec<f64>> = draws.weights.iter().map(|w| thinned(w)).collect();
        let part = 0.5 * (1.0 - coverage);
        let n = design.rows();
        let blocks = (0..n.div_ceil(ROWS)).into_par_iter().map(|block| {
            let rows = block * ROWS..((block + 1) * ROWS).min(n);
            let mut tile = Tile::default();
            design.fill(rows.clone(), &chosen, &mut tile);
            let mut means = vec![0.0; base.len()];
            let mut out = Vec::with_capacity(2 * rows.len());
            for (i, row) in rows.enumerate() {
                means.copy_from_slice(&base);
                for (k, w) in weights.iter().enumerate() {
                    axpy(tile.get(i, k), w, &mut means);
                }
                out.extend(
                    [part, 1.0 - part]
                        .map(|p| mixture_quantile(&means, &noise, p, mean[row], std[row])),
                );
            }
            out
        });
        Ok(from_rows(2, blocks.collect()))
    }
}

/// The q with Σ Φ((q − m)/s)/n = p, by Newton's steps that a bracket keeps in.
fn mixture_quantile(means: &[f64], deviations: &[f64], p: f64, mean: f64, std: f64) -> f64 {
    let n = means.len() as f64;
    let at = |q: f64| {
        let (mut below, mut density) = (0.0, 0.0);
        for (m, s) in means.iter().zip(deviations) {
            let z = (q - m) / s.max(f64::MIN_POSITIVE);
            below += normal_cdf(z);
            density += (-0.5 * z * z).exp() / s.max(f64::MIN_POSITIVE);
        }
        (below / n - p, density / (n * (2.0 * PI).sqrt()))
    };
    let (mut low, mut high) = (mean, mean);
    let mut reach = std;
    while reach.is_finite() && reach > 0.0 && at(low).0 > 0.0 {
        low -= reach;
        reach *= 2.0;
    }
    reach = std;
    while reach.is_finite() && reach > 0.0 && at(high).0 < 0.0 {
        high += reach;
        reach *= 2.0;
    }
    let mut q = 0.5 * (low + high);
    for _ in 0..60 {
        let (excess, density) = at(q);
        if excess > 0.0 {
            high = q;
        } else {
            low = q;
        }
        let newton = q - excess / density;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - q).abs() <= 1e-10 * std {
            return next;
        }
        q = next;
    }
    q
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_quantile;

    #[test]
    fn quantiles_of_mixtures() {
        let one = mixture_quantile(&[3.0; 5], &[2.0; 5], 0.975, 3.0, 2.0);
        assert!((one - 3.0 - 2.0 * normal_quantile(0.975)).abs() < 1e-9);
        // Two far apart: the quarter of both is the middle of the left one.
        let two = mixture_quantile(&[-50.0, 50.0], &[1.0, 1.0], 0.25, 0.0, 50.0);
        assert!((two + 50.0).abs() < 1e-8, "{two}");
        assert!((quantile(3, |k| [1.0, 2.0, 4.0][k], 0.75) - 3.0).abs() < 1e-15);
    }
}
