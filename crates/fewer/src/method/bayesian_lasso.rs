//! The Bayesian lasso (Park & Casella 2008).

use super::common::{
    BasisKind, Common, Fitted, Output, Shared, Uncertainty, Wanted, common_builder,
};
use super::em::empty_outcome;
use super::evidence::{SMALLEST_NOISE, known_variance, of_a_constant, why_empty};
use super::settings::{
    Intercept, check_count, check_number, merge_settings, parse_settings, with_default,
};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::{Dataset, Moments, Target};
use crate::engine::gibbs::{
    self, Diagnostic, NoisePrior, Problem, Ranks, Regression, Sampled, quantile,
};
use crate::engine::{Observer, Outcome, Silent, Step, Termination};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};
use crate::model::{Certificate, CertificateKind, Draws, Model};
use crate::prior::{self, GammaOfSquare};
use crate::random::Stream;
use rayon::{current_num_threads as threads, prelude::*};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// R̂ − 1 of chains that agree (Vehtari et al. 2021, sec. 4).
const TOL: f64 = 0.01;
/// Effective draws that each chain should bring (the same).
const ENOUGH: f64 = 100.0;
/// Draws of a chain after which it ends in any case.
const MAX_ITER: usize = 1_000_000;
/// δ for columns of unit length (Park & Casella 2008, sec. 3.2).
const RATE: f64 = 1.78;

/// What is taken for the weight of a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// The median of its draws.
    Median,
    /// Their mean.
    Mean,
}

/// Linear regression with a Laplace prior given the noise, its posterior sampled: the Bayesian
/// lasso.
///
/// p(w_j | σ) = λ/(2σ) exp(−λ|w_j|/σ), p(σ²) ∝ 1/σ², and λ² ~ Gamma(r, δ) where it is not given.
/// Several chains of a Gibbs sampler draw from the posterior of weights, noise and λ; the model
/// has their medians or means for weights, and all draws for intervals. Rescaling y rescales the answer and
/// nothing else.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `lam` | under its prior | λ |
/// | `lam_shape`, `lam_rate` | 1, 1.78 for columns of unit length | r and δ |
/// | `noise` | under its prior | standard deviation of the noise, in the units of y |
/// | `estimate` | `median`, for kernels `mean` | what is taken for weights; medians of weights that trade with each other, as those of kernels do, do not add up to a fit |
/// | `inclusion` | – | keep terms whose interval of this probability does not hold 0 |
/// | `chains`, `draws`, `warmup`, `thin` | 4, 1000, 500, 1 | chains; of each: draws kept, draws thrown away before, and every how many one is kept |
/// | `basis`, `degree`, `gamma`, `coef0` | `linear`, 2, `scale`, 1 | see [`BasisKind`] |
/// | `candidates`, `landmarks`, `centres` | – | centres of kernels |
/// | `standardize` | true | the prior applies to columns of unit variance (kernels: inputs) |
/// | `fit_intercept` | true | `true` (integrated out), `false` or `"penalised"` |
/// | `max_terms` | – | keep at most so many terms, those surest not to be 0 |
/// | `tol` | 0.01 | R̂ − 1 up to which chains agree |
/// | `max_iter`, `max_time` | 1 000 000, – | limits (draws of a chain, seconds) |
/// | `memory_limit`, `random_state`, `n_jobs` | 4e9, 0, all | see the other methods |
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::BayesianLasso;
///
/// let x: Vec<f64> = (0..500).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let noise = |i: usize| 0.1 * ((i * i * i) as f64 * 0.3).sin();
/// let y: Vec<f64> =
///     x.chunks(5).enumerate().map(|(i, x)| 1.0 + 3.0 * x[0] - 2.0 * x[3] + noise(i)).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 5)?, &y)?;
///
/// let model = BayesianLasso::new().inclusion(0.999).fit(&data)?;
/// assert_eq!(model.terms().iter().map(|t| &t.name[..]).collect::<Vec<_>>(), ["x1", "x4"]);
/// let (low, high) = model.credible_intervals(0.95)?[0][0].unwrap();
/// assert!(low < 3.0 && 3.0 < high);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BayesianLasso(Settings);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    lam: Option<f64>,
    lam_shape: f64,
    lam_rate: Option<f64>,
    noise: Option<f64>,
    estimate: Option<Estimate>,
    inclusion: Option<f64>,
    chains: usize,
    draws: usize,
    warmup: usize,
    thin: usize,
    #[serde(skip)]
    common: Common,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lam: None,
            lam_shape: 1.0,
            lam_rate: None,
            noise: None,
            estimate: None,
            inclusion: None,
            chains: 4,
            draws: 1000,
            warmup: 500,
            thin: 1,
            common: Common { tol: TOL, max_iter: MAX_ITER, ..Common::default() },
        }
    }
}

common_builder!(BayesianLasso);

/// The columns in the sampler's units: x·factor, whose mean square length is 1.
struct Scales {
    /// (k,) Of the usable columns.
    factors: Vec<f64>,
    /// The sampler's λ is so many times the user's.
    lam: f64,
}

/// What the draws of one column say.
struct Column {
    diagnostic: Diagnostic,
    median: f64,
    mean: f64,
    deviation: f64,
    /// Whether its interval leaves 0 out.
    included: bool,
}

impl BayesianLasso {
    /// Settings from a JSON object with the names of the table above.
    pub fn from_json(settings: &str) -> Result<Self> {
        let settings = with_default(settings, "tol", json!(TOL))?;
        let settings = with_default(&settings, "max_iter", json!(MAX_ITER))?;
        let (common, own): (Common, Settings) = parse_settings(&settings, &Settings::default())?;
        Ok(Self(Settings { common, ..own }))
    }

    /// λ, which is under its prior where it is not given.
    pub fn lam(mut self, lam: f64) -> Self {
        self.0.lam = Some(lam);
        self
    }

    /// r and δ of the prior λ² ~ Gamma(r, δ).
    pub fn lam_prior(mut self, shape: f64, rate: f64) -> Self {
        (self.0.lam_shape, self.0.lam_rate) = (shape, Some(rate));
        self
    }

    /// Standard deviation of the noise; under its prior where it is not given.
    pub fn noise(mut self, noise: f64) -> Self {
        self.0.noise = Some(noise);
        self
    }

    /// What is taken for the weights of the model.
    pub fn estimate(mut self, estimate: Estimate) -> Self {
        self.0.estimate = Some(estimate);
        self
    }

    /// Keeps the terms whose interval of this probability does not hold 0.
    pub fn inclusion(mut self, coverage: f64) -> Self {
        self.0.inclusion = Some(coverage);
        self
    }

    /// How many chains, and of each the draws that are kept and those before that are not.
    pub fn chains(mut self, chains: usize, draws: usize, warmup: usize) -> Self {
        (self.0.chains, self.0.draws, self.0.warmup) = (chains, draws, warmup);
        self
    }

    /// Keeps one of so many draws.
    pub fn thin(mut self, thin: usize) -> Self {
        self.0.thin = thin;
        self
    }

    /// Fits a model while an observer watches.
    pub fn fit_observed(&self, data: &Dataset<'_>, observer: &dyn Observer) -> Result<Model> {
        self.check()?;
        let Target::Numbers(y) = data.target() else {
            return Err(Error::Unavailable {
                what: "regression on labels".into(),
                hint: "BayesianLasso needs a number for each row; SMLR and ProbitClassifier take \
                       labels"
                    .into(),
            });
        };
        let weights = data.weights();
        self.0.common.with_rows(data, y, weights, self.wanted(), observer, |shared| {
            let model = self.solve(&shared, Some(y))?;
            Ok(Model { encoder: data.encoder().cloned(), named: data.is_named(), ..model })
        })
    }

    /// Fits a model with a linear basis from moments alone.
    pub fn fit_moments(&self, moments: Moments) -> Result<Model> {
        self.check()?;
        let common = &self.0.common;
        common.with_moments(moments, self.wanted(), &Silent, |shared| self.solve(&shared, None))
    }

    fn is_linear(&self) -> bool {
        matches!(self.0.common.basis, BasisKind::Linear | BasisKind::Polynomial)
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            equations: true,
            gram: true,
            without_copies: self.is_linear(),
            distinct: false,
            offset: false,
            on_demand: false,
            plain_target: false,
        }
    }

    fn check(&self) -> Result<()> {
        let own = &self.0;
        own.common.check()?;
        check_number("lam", own.lam, false)?;
        check_number("lam_shape", Some(own.lam_shape), false)?;
        check_number("lam_rate", own.lam_rate, false)?;
        check_number("noise", own.noise, false)?;
        check_count("chains", Some(own.chains))?;
        check_count("draws", Some(own.draws))?;
        check_count("thin", Some(own.thin))?;
        match own.inclusion {
            Some(p) if !(p > 0.0 && p < 1.0) => {
                Err(Error::setting("inclusion", p, "a number between 0 and 1 is expected"))
            }
            _ => Ok(()),
        }
    }

    /// Warm-up and draws of each chain, which `max_iter` limits together.
    fn lengths(&self) -> (usize, usize) {
        let own = &self.0;
        let limit = own.common.max_iter;
        let all = own.draws.saturating_mul(own.thin).saturating_add(own.warmup);
        if all <= limit {
            return (own.warmup, own.draws);
        }
        let warmup = (own.warmup as f64 / all as f64 * limit as f64) as usize;
        (warmup, ((limit - warmup) / own.thin).max(1))
    }

    fn solve(&self, shared: &Shared<'_>, y: Option<&[f64]>) -> Result<Model> {
        let own = &self.0;
        let unit = shared.units.target_unit();
        let free = own.common.fit_intercept == Intercept::Free;
        let freedom = shared.weight - f64::from(u8::from(free));
        let noise = own.noise.map(|noise| known_variance(noise, 1.0, unit)).transpose()?;
        if shared.units.target_deviation == 0.0 || shared.usable.is_empty() || freedom <= 0.0 {
            return self.empty(shared);
        }
        let (warmup, draws) = self.lengths();
        let scales = scales(shared);
        let by_rows = takes_rows(shared)?;
        self.check_memory(shared, draws, by_rows)?;
        let problem = Problem {
            data: regression(shared, &scales, y.filter(|_| by_rows))?,
            square: shared.weight,
            freedom,
            noise: match noise {
                Some(variance) => NoisePrior::Known(variance),
                // 1/σ², but for a target that is explained exactly.
                None => {
                    NoisePrior::Inverse { shape: 0.0, rate: 0.5 * SMALLEST_NOISE * shared.weight }
                }
            },
        };
        let options = gibbs::Options {
            chains: own.chains,
            warmup,
            draws,
            thin: own.thin,
            seed: own.common.random_state,
            deadline: shared.deadline,
        };
        let prior = prior::BayesianLasso {
            lam: own.lam.map_or(1.0, |lam| lam * scales.lam),
            hyperprior: own.lam.is_none().then(|| GammaOfSquare {
                shape: own.lam_shape,
                rate: own.lam_rate.map_or(RATE, |rate| rate / scales.lam.powi(2)),
            }),
        };
        let sampled = gibbs::sample(&problem, &options, |_| prior.clone(), shared.observer)?;
        self.model(shared, sampled, &scales, freedom)
    }

    /// The most that is held at a time: while rows are turned, chains run, or draws are summed up.
    fn check_memory(&self, shared: &Shared<'_>, draws: usize, by_rows: bool) -> Result<()> {
        let own = &self.0;
        let (n, p, chains) = (shared.rows as f64, shared.usable.len() as f64, own.chains as f64);
        let (rank, all) = (n.min(p), chains * draws as f64);
        let (turning, data, of_chain) = match by_rows {
            true => (n * p + rank * (n + 2.0 * p), rank * p, rank * (p + rank)),
            false => (0.0, p * p, p * p),
        };
        let drawn = data + (p + 3.0) * all;
        // A factor, and one for what is proposed.
        let running = drawn + chains * 2.0 * of_chain;
        // By number, again about their means, and the ranks of one number in each thread.
        let summing = drawn + 2.0 * p * all + p * p + 8.0 * all * threads() as f64;
        let needed = 8.0 * turning.max(running).max(summing);
        if needed <= own.common.memory_limit {
            return Ok(());
        }
        Err(Error::memory(
            format!("{draws} draws of {} weights in {} chains", shared.usable.len(), own.chains),
            needed,
            own.common.memory_limit,
            "raise memory_limit, or take fewer draws and chains",
        ))
    }

    fn empty(&self, shared: &Shared<'_>) -> Result<Model> {
        let constant = shared.units.target_deviation == 0.0;
        let unit = shared.units.target_unit();
        let noise = self.0.noise.unwrap_or(if constant { 0.0 } else { unit });
        let free = self.0.common.fit_intercept == Intercept::Free;
        let fitted = Fitted {
            method: "BayesianLasso",
            settings: merge_settings(&self.0.common, &self.0),
            outputs: vec![Output { outcome: empty_outcome(0.0), intercept: 0.0 }],
            lam: self.0.lam,
            notes: vec![why_empty(shared).into()],
            factor: 1.0,
            shift: 0.0,
            uncertainty: Some(of_a_constant(free, (noise / unit).powi(2) / shared.weight)),
        };
        let model = self.0.common.model(shared, fitted)?;
        Ok(Model { noise_std: Some(noise), ..model })
    }

    fn model(
        &self,
        shared: &Shared<'_>,
        sampled: Sampled,
        scales: &Scales,
        freedom: f64,
    ) -> Result<Model> {
        let own = &self.0;
        let unit = shared.units.target_unit();
        let chains = &sampled.chains;
        let length = chains[0].len();
        let columns = shared.usable.len();
        let all = |of: &dyn Fn(&gibbs::Chain) -> &[f64]| -> Vec<f64> {
            chains.iter().flat_map(of).copied().collect()
        };
        let of_column = |k: usize| -> Vec<f64> {
            let values = chains.iter().flat_map(|c| c.weights.chunks_exact(columns));
            values.map(|w| w[k] * scales.factors[k]).collect()
        };
        let ranks = Ranks::new(own.chains, length);
        let found: Vec<Column> = (0..columns)
            .into_par_iter()
            .map(|k| Column::new(&of_column(k), &ranks, own.inclusion))
            .collect();
        let sigma = all(&|c| &c.sigma);
        let lam = all(&|c| if own.lam.is_none() { &c.lam } else { &[] });
        let of_noise = ranks.diagnose(&sigma);
        let of_lam = (!lam.is_empty()).then(|| ranks.diagnose(&lam));
        let kept = self.kept(shared, &found);
        let usual = if self.is_linear() { Estimate::Median } else { Estimate::Mean };
        let estimate = |k: usize| match own.estimate.unwrap_or(usual) {
            Estimate::Median => found[k].median,
            Estimate::Mean => found[k].mean,
        };
        let deviances = all(&|c| &c.deviance);
        let mut notes = Vec::new();
        let worst = self.worst(shared, &found, of_noise, of_lam);
        let termination = self.ended(&sampled, &worst, length, &mut notes);
        let outcome = Outcome {
            active: kept.iter().map(|&k| shared.usable[k]).collect(),
            beta: kept.iter().map(|&k| estimate(k)).collect(),
            objective: mean(&deviances),
            residual: worst.r_hat - 1.0,
            gap: None,
            iterations: sampled.steps,
            termination,
            trace: chains[0]
                .deviance
                .iter()
                .map(|d| Step { objective: *d, terms: kept.len() })
                .collect(),
        };
        if outcome.active.is_empty() {
            notes.push(format!(
                "no term is kept: the {:.4} % interval of every weight holds 0",
                100.0 * own.inclusion.unwrap_or(0.0)
            ));
        }
        let variance = dot(&sigma, &sigma) / sigma.len() as f64;
        if own.noise.is_none() && variance <= 2.0 * SMALLEST_NOISE {
            notes.push(
                "the terms explain the target exactly (noise below 1e-4 of its deviation)".into(),
            );
        }
        let of_kept: Vec<Vec<f64>> = kept.par_iter().map(|&k| of_column(k)).collect();
        let free = own.common.fit_intercept == Intercept::Free;
        let uncertainty =
            uncertainty(&outcome.active, &of_kept, free.then_some(variance / shared.weight));
        let fitted = Fitted {
            method: "BayesianLasso",
            settings: merge_settings(&own.common, own),
            outputs: vec![Output { outcome, intercept: 0.0 }],
            lam: own.lam.or_else(|| Some(median(&mut lam.clone()) / scales.lam)),
            notes,
            factor: 1.0,
            // The density of y where that of y/unit is known.
            shift: freedom * unit.ln(),
            uncertainty: Some(uncertainty),
        };
        let model = own.common.model(shared, fitted)?;
        let draws =
            self.draws(shared, &kept, of_kept, &sigma, &found, (of_noise, of_lam), &lam, scales);
        Ok(Model {
            noise_std: Some(own.noise.unwrap_or(unit * variance.sqrt())),
            draws: Some(draws),
            report: crate::model::Report {
                certificate: Certificate {
                    kind: CertificateKind::Sampling,
                    value: (worst.r_hat - 1.0).max(0.0),
                    scope: format!(
                        "{:.0} effective draws at least",
                        worst.bulk.min(worst.tail).floor()
                    ),
                },
                ..model.report.clone()
            },
            ..model
        })
    }

    /// Positions of the columns that the model keeps.
    fn kept(&self, shared: &Shared<'_>, found: &[Column]) -> Vec<usize> {
        let is_bias = |k: usize| shared.bias() == Some(shared.usable[k]);
        let mut kept: Vec<usize> =
            (0..found.len()).filter(|&k| found[k].included || is_bias(k)).collect();
        if let Some(limit) = self.0.common.max_terms {
            let sure = |k: usize| match is_bias(k) {
                true => f64::INFINITY,
                false => found[k].median.abs() / found[k].deviation.max(f64::MIN_POSITIVE),
            };
            kept.sort_by(|&a, &b| sure(b).total_cmp(&sure(a)).then(a.cmp(&b)));
            kept.truncate(limit + usize::from(shared.bias().is_some()));
            kept.sort_unstable();
        }
        kept
    }

    /// The worst of all numbers that were sampled, and the name of that of the worst R̂.
    fn worst(
        &self,
        shared: &Shared<'_>,
        found: &[Column],
        of_noise: Diagnostic,
        of_lam: Option<Diagnostic>,
    ) -> Worst {
        let names = (0..found.len()).map(|k| (Some(k), "", found[k].diagnostic));
        let others = [(None, "the noise", of_noise)].into_iter();
        let others = others.chain(of_lam.map(|d| (None, "λ", d)));
        let mut worst =
            Worst { name: String::new(), r_hat: 1.0, bulk: f64::INFINITY, tail: f64::INFINITY };
        for (column, name, d) in names.chain(others) {
            if d.r_hat > worst.r_hat {
                worst.r_hat = d.r_hat;
                worst.name = match column {
                    Some(k) => format!("'{}'", shared.name(shared.usable[k])),
                    None => name.into(),
                };
            }
            worst.bulk = worst.bulk.min(d.bulk);
            worst.tail = worst.tail.min(d.tail);
        }
        worst
    }

    /// How the sampler ended, and what to do where it should have gone on.
    fn ended(
        &self,
        sampled: &Sampled,
        worst: &Worst,
        length: usize,
        notes: &mut Vec<String>,
    ) -> Termination {
        let own = &self.0;
        let (effective, enough) = (worst.bulk.min(worst.tail), ENOUGH * own.chains as f64);
        let agree = worst.r_hat - 1.0 <= own.common.tol;
        let good = agree && effective >= enough;
        let limited = self.lengths() != (own.warmup, own.draws);
        if sampled.out_of_time {
            let limit = own.common.max_time.unwrap_or(0.0);
            notes.push(format!(
                "max_time = {limit} was reached after {length} of {} draws of each chain; raise \
                 max_time",
                own.draws
            ));
        } else if limited {
            notes.push(format!(
                "max_iter = {} was reached after {length} of {} draws of each chain; raise \
                 max_iter",
                own.common.max_iter, own.draws
            ));
        }
        if !agree {
            notes.push(format!(
                "the chains do not agree on {}: R̂ = {}, above 1 + tol = {}; raise warmup and \
                 draws",
                worst.name,
                if worst.r_hat < 1e6 { format!("{:.3}", worst.r_hat) } else { "unknown".into() },
                1.0 + own.common.tol
            ));
        } else if !good {
            notes.push(format!(
                "the draws are worth {effective:.0} independent ones, fewer than {enough}: \
                 intervals are uncertain; raise draws"
            ));
        }
        match (sampled.out_of_time, good) {
            (true, _) => Termination::TimeLimit,
            (false, true) if !limited => Termination::Converged,
            _ => Termination::IterationLimit,
        }
    }

    fn draws(
        &self,
        shared: &Shared<'_>,
        kept: &[usize],
        of_kept: Vec<Vec<f64>>,
        sigma: &[f64],
        found: &[Column],
        (of_noise, of_lam): (Diagnostic, Option<Diagnostic>),
        lam: &[f64],
        scales: &Scales,
    ) -> Draws {
        let units = &shared.units;
        let unit = units.target_unit();
        // The intercept is the mean of the rows and noise, whatever the weights are.
        let mut base = vec![units.target_mean; sigma.len()];
        if self.0.common.fit_intercept == Intercept::Free {
            let mut stream = Stream::new(self.0.common.random_state ^ INTERCEPT);
            let deviation = unit / shared.weight.sqrt();
            base.iter_mut().zip(sigma).for_each(|(b, s)| *b += deviation * s * stream.normal());
        }
        let (mut weights, mut of_weights) = (Vec::new(), Vec::new());
        for (&k, mut draws) in kept.iter().zip(of_kept) {
            let j = shared.usable[k];
            let factor = unit / units.deviation[j];
            draws.iter_mut().for_each(|w| *w *= factor);
            if shared.bias() == Some(j) {
                base.iter_mut().zip(&draws).for_each(|(b, w)| *b += w);
            } else {
                weights.push(draws);
                of_weights.push(found[k].diagnostic);
            }
        }
        Draws {
            chains: self.0.chains,
            base,
            weights,
            noise_std: sigma.iter().map(|s| s * unit).collect(),
            lam: lam.iter().map(|l| l / scales.lam).collect(),
            of_weights,
            of_noise,
            of_lam,
        }
    }
}

/// Sets the stream of the intercept apart from those of the chains.
const INTERCEPT: u64 = 0x696e_7465_7263_6570;

struct Worst {
    name: String,
    r_hat: f64,
    bulk: f64,
    tail: f64,
}

impl Column {
    fn new(draws: &[f64], ranks: &Ranks, inclusion: Option<f64>) -> Self {
        let mean = mean(draws);
        let square = draws.iter().map(|d| (d - mean).powi(2)).sum::<f64>();
        let mut sorted = draws.to_vec();
        let included = inclusion.is_none_or(|coverage| {
            sorted.sort_unstable_by(f64::total_cmp);
            let part = 0.5 * (1.0 - coverage);
            let at = |p: f64| quantile(sorted.len(), |k| sorted[k], p);
            at(part) > 0.0 || at(1.0 - part) < 0.0
        });
        Self {
            diagnostic: ranks.diagnose(draws),
            median: median(&mut sorted),
            mean,
            deviation: (square / draws.len() as f64).sqrt(),
            included,
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The median; it mixes the values.
fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    let (below, &mut upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    match n % 2 {
        1 => upper,
        _ => 0.5 * (below.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b)) + upper),
    }
}

/// The prior is on scale·β: such factors that it is on weights of x·factor, all alike.
fn scales(shared: &Shared<'_>) -> Scales {
    let unit = shared.units.target_unit();
    let relative: Vec<f64> = shared.usable.iter().map(|&j| shared.scale[j] / unit).collect();
    let lengths: Vec<f64> =
        (shared.usable.iter().zip(&relative)).map(|(&j, s)| shared.squares[j].sqrt() / s).collect();
    let largest = lengths.iter().fold(0.0, |a: f64, b| a.max(*b));
    let square = lengths.iter().map(|l| (l / largest).powi(2)).sum::<f64>();
    let lam = 1.0 / (largest * (square / lengths.len() as f64).sqrt());
    Scales { factors: relative.iter().map(|s| lam / s).collect(), lam }
}

/// Whether the sampler takes rows: where they do not determine all weights. Repeating rows does not
/// change that, so draws are the same for repeated and for weighted rows.
fn takes_rows(shared: &Shared<'_>) -> Result<bool> {
    match &shared.gram {
        _ if shared.design.is_none() => Ok(false),
        None => Ok(true),
        Some(gram) => gibbs::is_singular(gram, &shared.usable, shared.observer),
    }
}

/// Least squares in the sampler's units, of rows where they are given.
fn regression(shared: &Shared<'_>, scales: &Scales, y: Option<&[f64]>) -> Result<Regression> {
    let (usable, factors) = (&shared.usable, &scales.factors);
    if let (Some(design), Some(y)) = (shared.design, y) {
        let root = |i: usize| design.weights().map_or(1.0, |w| w[i].sqrt());
        let mut x = design.copy(usable);
        let n = x.rows();
        for (k, factor) in factors.iter().enumerate() {
            let column = x.column_mut(k).iter_mut().enumerate();
            column.for_each(|(i, v)| *v *= factor * root(i));
        }
        let (mean, unit) = (shared.units.target_mean, shared.units.target_unit());
        // A row of weight 0 may hold anything.
        let value = |i: usize| match root(i) {
            0.0 => 0.0,
            root => root * (y[i] - mean) / unit,
        };
        let y: Vec<f64> = (0..n).map(value).collect();
        return Regression::from_rows(&x, &y, shared.observer);
    }
    let empty = Matrix::default();
    let source = shared.gram.as_deref().unwrap_or(&empty);
    let mut gram = Matrix::zeros(usable.len(), usable.len());
    for (b, &j) in usable.iter().enumerate() {
        let column = gram.column_mut(b).iter_mut().zip(usable).zip(factors);
        column.for_each(|((o, &i), f)| *o = source[(i, j)] * f * factors[b]);
    }
    let cross = usable.iter().zip(factors).map(|(&j, f)| shared.cross[j] * f).collect();
    Ok(Regression::Products { gram, cross })
}

/// The covariance of the draws of these columns, and of an intercept of this variance.
fn uncertainty(active: &[usize], draws: &[Vec<f64>], intercept: Option<f64>) -> Uncertainty {
    let k = active.len();
    let order = k + usize::from(intercept.is_some());
    let centred: Vec<Vec<f64>> = draws
        .par_iter()
        .map(|draws| {
            let mean = mean(draws);
            draws.iter().map(|d| d - mean).collect()
        })
        .collect();
    let mut covariance = Matrix::zeros(order, order);
    let count = draws.first().map_or(1, Vec::len) as f64;
    let columns = covariance.as_mut_slice().par_chunks_mut(order.max(1)).take(k).enumerate();
    columns.for_each(|(b, column)| {
        column.iter_mut().zip(&centred).for_each(|(o, a)| *o = dot(a, &centred[b]) / count);
    });
    let mut parameters: Vec<(usize, Option<usize>)> =
        active.iter().map(|&j| (0, Some(j))).collect();
    if let Some(variance) = intercept {
        parameters.push((0, None));
        covariance[(k, k)] = variance;
    }
    Uncertainty { parameters, covariance }
}
