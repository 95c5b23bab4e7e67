//! What the methods that maximise the evidence share: from settings to a model.

use super::common::{BasisKind, Common, Fitted, Output, Shared, Uncertainty, Wanted};
use super::em::empty_outcome;
use super::settings::{Intercept, check_number, with_default};
use super::student_t::{MakePrior, Nu};
use crate::basis::FixedBasis;
use crate::data::{Dataset, Moments, Target};
use crate::engine::evidence::{
    Dictionary, Found, FromGram, FromRows, Options, Problem, Start, block, maximise, maximise_from,
    sweep,
};
use crate::engine::{Observer, Outcome, Silent, Termination};
use crate::error::{Error, Result};
use crate::likelihood::Noise;
use crate::linalg::Matrix;
use crate::model::{Augmentation, Certificate, CertificateKind, Model, number};
use crate::prior::{EvidencePrior, Rate};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Noise below 1e-4 of the target's deviation is taken for none: the evidence of a model that
/// explains the target exactly has no maximum.
pub(crate) const SMALLEST_NOISE: f64 = 1e-8;
/// Noise below three times that deviation is as good as none.
const NEARLY_NONE: f64 = 9.0 * SMALLEST_NOISE;
/// What is said of a fit that leaves nothing, or nearly so, to the noise.
pub(crate) const SATURATED: &str = "the terms kept explain the target exactly, or as good as that (noise below \
                         3e-4 of its deviation, or as many parameters as rows); if that is too good \
                         to be true, give the noise, fewer candidates or, with RVR, a price of \
                         parameters (sparsity = bic or ric)";

/// Whether a fit leaves nothing to the noise.
pub(crate) fn is_saturated(model: &Model) -> bool {
    model.report.notes.iter().any(|note| note == SATURATED)
}

/// More features than this are multiplied with each other only as they are needed.
const GRAM_COLUMNS: usize = 1000;

/// How the evidence is maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSolver {
    /// From the empty model, by the actions that gain most (Tipping & Faul 2003).
    #[default]
    Fast,
    /// From all columns at once (Tipping 2001): for comparison.
    Block,
}

/// How λ is found where it is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LamRule {
    /// 2(k − 1)/Στ over the k terms kept, as the published code has it.
    #[default]
    Active,
    /// At its best under a Gamma hyperprior.
    Hyperprior,
}

/// What the standard deviation of a prediction is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variance {
    /// The posterior of the weights kept, and the noise. Far from all data kernels say nothing, and
    /// no doubt is left.
    #[default]
    Posterior,
    /// The same, and what a kernel centred on the new row could add (Rasmussen &
    /// Quiñonero-Candela 2005): it grows away from the data. The model then holds all training
    /// rows.
    Augmented,
}

/// A method as this file sees it.
pub(crate) struct Evidence<'a> {
    pub method: &'static str,
    pub common: &'a Common,
    pub settings: Value,
    /// Standard deviation of the noise.
    pub noise: Option<f64>,
    /// Degrees of freedom, where it is of Student's t.
    pub nu: Option<Nu>,
    pub solver: EvidenceSolver,
    pub variance: Variance,
    /// Whether one objective is maximised, so that columns can be looked at in rounds.
    pub rounds: bool,
    /// Whether λ follows the terms by the steps of the published algorithm.
    pub as_published: bool,
}

/// Rows whose noise has known relative precisions r_n: B = β·diag(r_n).
///
/// A row of precision r_n enters every sum as r_n rows do. Precisions are divided by their mean, so
/// that the sum of these weights is the number of rows, which the power of β is; what is left is
/// ½Σ log r_n.
pub(crate) struct NoiseOfRows {
    /// Weights of the rows that do both, where there are precisions.
    weights: Option<Vec<f64>>,
    /// The noise inside is so many times that of a row of precision 1.
    factor: f64,
    /// ½Σ log r_n.
    log_roots: f64,
}

impl Default for NoiseOfRows {
    fn default() -> Self {
        Self { weights: None, factor: 1.0, log_roots: 0.0 }
    }
}

impl NoiseOfRows {
    pub fn of(data: &Dataset<'_>) -> Result<Self> {
        let Some(precision) = data.noise_precision() else { return Ok(Self::default()) };
        data.check_target()?;
        Ok(Self::new(precision, data.weights()))
    }

    pub fn new(precision: &[f64], weights: Option<&[f64]>) -> Self {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let counted: Vec<usize> = (0..precision.len()).filter(|&i| weight(i) > 0.0).collect();
        let Some(&first) = counted.first() else { return Self::default() };
        let total: f64 = counted.iter().map(|&i| weight(i)).sum();
        if counted.iter().all(|&i| precision[i] == precision[first]) {
            return Self { factor: precision[first].powf(-0.5), ..Self::default() };
        }
        let mean: f64 = counted.iter().map(|&i| weight(i) / total * precision[i]).sum();
        let of_row = |i: usize| weight(i) * (precision[i] / mean);
        let log = |i: &usize| 0.5 * weight(*i) * (precision[*i].ln() - mean.ln());
        Self {
            weights: Some((0..precision.len()).map(of_row).collect()),
            factor: mean.powf(-0.5),
            log_roots: counted.iter().map(log).sum(),
        }
    }

    /// Weights of the rows as the engine sees them.
    pub fn weights<'w>(&'w self, own: Option<&'w [f64]>) -> Option<&'w [f64]> {
        self.weights.as_deref().or(own)
    }

    /// The noise variance of a row of precision 1, where the mean one has this.
    pub fn of_one(&self, variance: f64) -> f64 {
        variance / (self.factor * self.factor)
    }

    /// The other way.
    pub fn of_mean(&self, variance: f64) -> f64 {
        variance * self.factor * self.factor
    }

    /// Gives a model the noise of a row of precision 1, and the evidence of the rows as they are.
    pub fn undo(&self, model: &mut Model, known: Option<f64>) {
        model.noise_std = known.or(model.noise_std.map(|noise| noise / self.factor));
        model.report.objective -= self.log_roots;
        let evidence = &mut model.report.log_evidence;
        *evidence = evidence.map(|e| e + self.log_roots);
        model.report.trace.iter_mut().for_each(|s| s.objective -= self.log_roots);
    }
}

/// Where a fit stands, in the units of the data: deviations, whose squares may be beyond floating
/// point.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// Columns with the prior deviations of their weights.
    pub columns: Vec<(usize, f64)>,
    /// The deviation of the noise of a row of precision 1.
    pub noise: f64,
}

impl State {
    /// The same for a basis of some columns, rising, of this one.
    pub fn inside(&self, kept: &[usize]) -> Self {
        let of = |&(j, v): &(usize, f64)| (kept.binary_search(&j).unwrap_or(kept.len()), v);
        Self { columns: self.columns.iter().map(of).collect(), noise: self.noise }
    }

    /// The other way, for a basis of so many.
    pub fn outside(&self, kept: &[usize], size: usize) -> Self {
        let of = |&(k, v): &(usize, f64)| (kept.get(k).copied().unwrap_or(size), v);
        Self { columns: self.columns.iter().map(of).collect(), noise: self.noise }
    }
}

/// One run of the engine.
#[derive(Clone, Copy)]
pub(crate) struct Run<'s> {
    /// Where it starts; from nothing if there is none.
    pub from: Option<&'s State>,
    /// Whether a better maximum than the first is sought.
    pub search: bool,
    pub tol: f64,
}

/// What the engine is given.
struct Posed<'p, 'o> {
    problem: Problem<'p>,
    options: Options,
    observer: &'o dyn Observer,
    start: Option<Start>,
}

/// Where the engine ended.
pub(crate) struct Solved {
    pub found: Found,
    /// (usable,) One over the lengths of the columns.
    pub inverse_lengths: Vec<f64>,
    pub noise: Noise,
    /// The column of ones of a penalised intercept, among those that take part.
    bias: Option<usize>,
}

impl Solved {
    /// The prior deviations of the weights, by column.
    fn deviations(&self, shared: &Shared<'_>) -> Vec<(usize, f64)> {
        let unit = shared.units.target_unit();
        let of = |(&k, a): (&usize, &f64)| {
            let j = shared.usable[k];
            (j, unit * self.inverse_lengths[k] / shared.units.deviation[j] / a.sqrt())
        };
        self.found.active.iter().zip(&self.found.alpha).map(of).collect()
    }

    /// The mean of the prior variances over the terms.
    pub fn mean_variance(&self, shared: &Shared<'_>) -> f64 {
        let bias = self.bias.map(|k| shared.usable[k]);
        let terms = self.deviations(shared).into_iter().filter(|d| Some(d.0) != bias);
        let variances: Vec<f64> = terms.map(|d| d.1 * d.1).collect();
        variances.iter().sum::<f64>() / variances.len().max(1) as f64
    }

    pub fn state(&self, shared: &Shared<'_>, rows_noise: &NoiseOfRows) -> State {
        let unit = shared.units.target_unit();
        let noise = unit * rows_noise.of_one(self.found.noise).sqrt();
        State { columns: self.deviations(shared), noise }
    }
}

/// Reads settings whose basis is `rbf` unless they say otherwise.
pub(crate) fn with_kernels(settings: &str) -> Result<String> {
    with_default(settings, "basis", "rbf".into())
}

/// λ as given, in inner units, or a rule that finds it.
pub(crate) fn rate(lam: Option<f64>, rule: LamRule, scale: f64) -> Rate {
    match (lam, rule) {
        (Some(lam), _) => Rate::Fixed(lam),
        (None, LamRule::Active) => Rate::ActiveCount(0.0),
        (None, LamRule::Hyperprior) => Rate::Hyperprior { lam: 1.0 / scale, scale },
    }
}

/// Checks the settings that these methods have of their own.
pub(crate) fn check(common: &Common, noise: Option<f64>, lam: Option<f64>) -> Result<()> {
    common.check()?;
    check_number("noise", noise, false)?;
    check_number("lam", lam, true)
}

/// What was made of columns of length 1, what their lengths were taken by, the noise, and the place
/// of the column of ones.
type Made<T> = (T, Vec<f64>, Noise, Option<usize>);

impl Evidence<'_> {
    pub fn wanted(&self, columns: usize) -> Wanted {
        let linear = matches!(self.common.basis, BasisKind::Linear | BasisKind::Polynomial);
        Wanted {
            equations: false,
            gram: self.common.basis == BasisKind::Linear && columns <= GRAM_COLUMNS,
            without_copies: linear,
            distinct: false,
            offset: false,
            on_demand: false,
            plain_target: false,
        }
    }

    /// Whether columns are looked at in rounds: because they are to be drawn, or because kernels
    /// on all rows are too many to be held.
    fn in_rounds(&self, data: &Dataset<'_>) -> bool {
        let many = (data.rows() as f64).powi(2) * 8.0 > 0.25 * self.common.memory_limit;
        let all = self.common.centres_on_all_rows() && many;
        let many = self.solver == EvidenceSolver::Fast && all;
        self.rounds && (self.common.redraws() || many)
    }

    pub fn fit(
        &self,
        data: &Dataset<'_>,
        observer: &dyn Observer,
        prior: impl MakePrior,
    ) -> Result<Model> {
        if let Some(nu) = self.nu {
            return self.fit_student_t(nu, data, observer, prior);
        }
        if self.in_rounds(data) {
            return self.fit_in_rounds(self.common.candidates, data, observer, prior);
        }
        let y = numbers(self.method, data)?;
        let wanted = self.wanted(data.features().columns());
        let rows = NoiseOfRows::of(data)?;
        let precision = data.noise_precision();
        let data = &data.with_equal_noise();
        let weights = rows.weights(data.weights());
        self.common.with_rows(data, y, weights, wanted, observer, |shared| {
            let (model, variance) = self.solve(&shared, prior(&shared)?, &rows)?;
            let model = self.augmented(model, variance, &shared, data, precision)?;
            Ok(Model { encoder: data.encoder().cloned(), named: data.is_named(), ..model })
        })
    }

    pub fn fit_moments(
        &self,
        moments: Moments,
        prior: impl FnOnce(&Shared<'_>) -> Result<Box<dyn EvidencePrior>> + Send,
    ) -> Result<Model> {
        if self.nu.is_some() {
            return Err(Error::Unavailable {
                what: "noise = student_t from moments".into(),
                hint: "the precision of each row is found: fit on the rows".into(),
            });
        }
        let wanted = Wanted { gram: true, ..self.wanted(0) };
        self.common.with_moments(moments, wanted, &Silent, |shared| {
            if self.variance != Variance::Posterior {
                return Err(no_kernel());
            }
            Ok(self.solve(&shared, prior(&shared)?, &NoiseOfRows::default())?.0)
        })
    }

    /// What is known of the noise, in units of the target.
    pub fn inner_noise(&self, unit: f64, rows_noise: &NoiseOfRows) -> Result<Noise> {
        Ok(match self.noise {
            None => Noise::Estimated,
            Some(noise) => Noise::Known(known_variance(noise, rows_noise.factor, unit)?),
        })
    }

    /// The model, and the mean of the prior variances of its weights in the units of the data.
    fn solve(
        &self,
        shared: &Shared<'_>,
        mut prior: Box<dyn EvidencePrior>,
        rows_noise: &NoiseOfRows,
    ) -> Result<(Model, f64)> {
        let run = Run { from: None, search: true, tol: self.common.tol };
        let Some(solved) = self.ascend(shared, &mut *prior, rows_noise, run)? else {
            return Ok((self.empty(shared, &*prior, rows_noise)?, 0.0));
        };
        let variance = solved.mean_variance(shared);
        let mut model =
            self.model(shared, solved.found, &*prior, &solved.inverse_lengths, solved.noise)?;
        rows_noise.undo(&mut model, self.noise);
        Ok((model, variance))
    }

    /// Maximises the evidence; none where there is nothing to fit.
    pub fn ascend(
        &self,
        shared: &Shared<'_>,
        prior: &mut dyn EvidencePrior,
        rows_noise: &NoiseOfRows,
        run: Run<'_>,
    ) -> Result<Option<Solved>> {
        let nothing = shared.units.target_deviation == 0.0 || shared.usable.is_empty();
        let ascend = |posed: Posed<'_, '_>| {
            let Posed { problem, options, observer, start } = posed;
            if nothing {
                let found = maximise(&problem, prior, &options, observer)?;
                return Ok(Found { termination: Termination::Degenerate, ..found });
            }
            match (self.solver, start) {
                (EvidenceSolver::Block, _) => block(&problem, prior, &options, observer),
                (EvidenceSolver::Fast, None) if run.search => {
                    maximise(&problem, prior, &options, observer)
                }
                (EvidenceSolver::Fast, start) => {
                    maximise_from(&problem, prior, &options, observer, start, run.search)
                }
            }
        };
        let posed = self.pose(shared, rows_noise, run, ascend)?;
        Ok(posed.map(|(found, inverse_lengths, noise, bias)| Solved {
            found,
            inverse_lengths,
            noise,
            bias,
        }))
    }

    /// The largest gain of adding any one column to a state, and so many that gain most.
    pub fn look(
        &self,
        shared: &Shared<'_>,
        prior: &dyn EvidencePrior,
        rows_noise: &NoiseOfRows,
        state: &State,
        most: usize,
    ) -> Result<(f64, Vec<usize>)> {
        let run = Run { from: Some(state), search: false, tol: self.common.tol };
        let posed = self.pose(shared, rows_noise, run, |posed| match posed.start {
            Some(start) => {
                let Posed { problem, options, observer, .. } = posed;
                sweep(&problem, prior, &options, &start, most, observer)
            }
            None => Ok((0.0, Vec::new())),
        })?;
        let (gain, best) = posed.map_or((0.0, Vec::new()), |p| p.0);
        Ok((gain, best.into_iter().map(|k| shared.usable[k]).collect()))
    }

    /// Brings the columns to length 1 for the engine, and hands on what it made of them.
    fn pose<T>(
        &self,
        shared: &Shared<'_>,
        rows_noise: &NoiseOfRows,
        run: Run<'_>,
        work: impl FnOnce(Posed<'_, '_>) -> Result<T>,
    ) -> Result<Option<Made<T>>> {
        let unit = shared.units.target_unit();
        let noise = self.inner_noise(unit, rows_noise)?;
        let free = self.common.fit_intercept == Intercept::Free;
        let rows = shared.weight - f64::from(u8::from(free));
        let constant = shared.units.target_deviation == 0.0;
        // Without noise the evidence of a constant has no maximum.
        if rows <= 0.0 || constant && noise == Noise::Estimated {
            return Ok(None);
        }
        let inverse_lengths: Vec<f64> =
            shared.usable.iter().map(|&j| shared.squares[j].powf(-0.5)).collect();
        let units = (shared.usable.iter().zip(&inverse_lengths))
            .map(|(&j, f)| (shared.scale[j] / unit * f).powi(2))
            .collect();
        let cross = (shared.usable.iter().zip(&inverse_lengths))
            .map(|(&j, f)| shared.cross[j] * f)
            .collect();
        let dictionary: Box<dyn Dictionary + '_> = match (&shared.gram, shared.design) {
            (Some(gram), _) => Box::new(FromGram {
                gram: gram.clone(),
                usable: &shared.usable,
                inverse_lengths: inverse_lengths.clone(),
            }),
            (None, Some(design)) => Box::new(FromRows {
                design,
                usable: &shared.usable,
                inverse_lengths: inverse_lengths.clone(),
            }),
            (None, None) => Box::new(FromGram {
                gram: Arc::default(),
                usable: &[],
                inverse_lengths: Vec::new(),
            }),
        };
        let bias = shared.bias().and_then(|b| shared.usable.binary_search(&b).ok());
        let problem = Problem {
            dictionary: &*dictionary,
            cross,
            square: if constant { 0.0 } else { shared.weight },
            units,
            weight: shared.weight,
            free_intercept: free,
            uncounted: bias,
        };
        let options = Options {
            tol: run.tol,
            max_iter: self.common.max_iter,
            max_terms: self.common.max_terms,
            deadline: shared.deadline,
            noise,
            largest_precision: 1.0 / SMALLEST_NOISE,
            as_published: self.as_published,
            worthless: 0.1 * run.tol.min(1e-6),
            memory_limit: self.common.memory_limit as usize,
            ..Options::default()
        };
        let start = run.from.map(|state| {
            let place = |&(j, deviation): &(usize, f64)| {
                let k = shared.usable.binary_search(&j).ok()?;
                let spread = unit * inverse_lengths[k] / shared.units.deviation[j];
                Some((k, (spread / deviation).powi(2)))
            };
            let noise = match noise {
                Noise::Known(variance) => variance,
                Noise::Estimated => {
                    let variance = rows_noise.of_mean((state.noise / unit).powi(2));
                    variance.max(1.0 / options.largest_precision)
                }
            };
            (state.columns.iter().filter_map(place).collect(), noise)
        });
        let found = work(Posed { problem, options, observer: shared.observer, start })?;
        Ok(Some((found, inverse_lengths, noise, bias)))
    }

    /// Gives a model the training rows, where its variance asks for them.
    pub fn augmented(
        &self,
        mut model: Model,
        variance: f64,
        shared: &Shared<'_>,
        data: &Dataset<'_>,
        precision: Option<&[f64]>,
    ) -> Result<Model> {
        if self.variance == Variance::Posterior {
            return Ok(model);
        }
        let of_row = |i: usize| {
            data.weights().map_or(1.0, |w| w[i]) * precision.map_or(1.0, |precision| precision[i])
        };
        let weights: Vec<f64> = (0..data.rows()).map(of_row).collect();
        let weights = (data.weights().is_some() || precision.is_some()).then_some(&weights[..]);
        let found = Augmentation::new(shared.fixed, *data.features(), weights, variance);
        model.augmentation = Some(found.ok_or_else(no_kernel)?);
        Ok(model)
    }

    /// Why candidates that there are were all left out.
    fn why_no_term(&self, shared: &Shared<'_>, prior: &dyn EvidencePrior, found: &Found) -> String {
        if shared.units.target_deviation == 0.0 {
            return why_empty(shared).into();
        }
        let share = |j: usize| shared.cross[j].powi(2) / (shared.squares[j] * shared.weight);
        let by_intercept = shared.bias().filter(|&b| shared.squares[b] > 0.0).map_or(0.0, share);
        let exactly = found.noise <= NEARLY_NONE && self.noise.is_none();
        if exactly || by_intercept >= 1.0 - NEARLY_NONE {
            return "no term is kept: the target is constant, or as good as that".into();
        }
        let given = [
            (self.noise.is_some(), "noise"),
            (prior.price() > 0.0, "sparsity"),
            (found.lam.is_some() && !prior.has_free_hyper(), "lam"),
        ];
        let given: Vec<&str> = given.iter().filter(|g| g.0).map(|g| g.1).collect();
        let given =
            if given.is_empty() { String::new() } else { format!(" at this {}", given.join(", ")) };
        let rows = number(shared.weight);
        let learnt = matches!(shared.fixed, FixedBasis::Learnt(_) | FixedBasis::Wavelets(_));
        // Beside a penalised intercept no column has a share of its own.
        if learnt || shared.bias().is_some() && shared.strongest(&shared.cross).is_some() {
            return format!(
                "no term is kept: none explains enough of the target to raise the evidence with \
                 {rows} rows{given}"
            );
        }
        let Some(j) = shared.strongest(&shared.cross) else { return NO_INPUT_VARIES.into() };
        format!(
            "no term is kept: the strongest column, '{}', explains {:.1} % of the target's \
             variance by itself, too little to raise the evidence with {rows} rows{given}",
            shared.name(j),
            100.0 * share(j),
        )
    }

    pub fn empty(
        &self,
        shared: &Shared<'_>,
        prior: &dyn EvidencePrior,
        rows_noise: &NoiseOfRows,
    ) -> Result<Model> {
        let free = self.common.fit_intercept == Intercept::Free;
        let constant = shared.units.target_deviation == 0.0;
        let unit = shared.units.target_unit();
        let estimated = if constant { 0.0 } else { 1.0 };
        let deviation = self.noise.map_or(estimated, |noise| noise * rows_noise.factor / unit);
        let fitted = Fitted {
            method: self.method,
            settings: self.settings.clone(),
            outputs: vec![Output { outcome: empty_outcome(0.0), intercept: 0.0 }],
            lam: prior.lam(),
            notes: vec![why_empty(shared).into()],
            factor: 1.0,
            shift: 0.0,
            uncertainty: Some(of_a_constant(free, deviation.powi(2) / shared.weight)),
        };
        let model = self.common.model(shared, fitted)?;
        let noise = if constant { 0.0 } else { unit };
        let mut model = Model { noise_std: Some(noise), ..model };
        // Of one row the flat intercept leaves no density but that of its own scale; the evidence
        // of a constant has no maximum, and of less than a row there is none.
        let one_row = free && shared.weight == 1.0;
        model.report.log_evidence = one_row.then_some(0.0);
        rows_noise.undo(&mut model, self.noise);
        Ok(certified(model, 0.0, 0))
    }

    pub fn model(
        &self,
        shared: &Shared<'_>,
        mut found: Found,
        prior: &dyn EvidencePrior,
        inverse_lengths: &[f64],
        noise: Noise,
    ) -> Result<Model> {
        let unit = shared.units.target_unit();
        let free = self.common.fit_intercept == Intercept::Free;
        let rows = shared.weight - f64::from(u8::from(free));
        let outcome = Outcome {
            active: found.active.iter().map(|&k| shared.usable[k]).collect(),
            beta: found
                .active
                .iter()
                .zip(&found.mean)
                .map(|(&k, m)| m * inverse_lengths[k])
                .collect(),
            objective: -found.objective,
            residual: found.gain,
            gap: None,
            iterations: found.iterations,
            termination: found.termination,
            trace: std::mem::take(&mut found.trace),
        };
        let lengths: Vec<f64> = found.active.iter().map(|&k| inverse_lengths[k]).collect();
        let uncertainty =
            uncertainty(&outcome.active, &lengths, &found, free.then_some(shared.weight));
        let mut notes = Vec::new();
        match found.termination {
            Termination::Stalled => notes.push(format!(
                "rounding stopped the fit where a gain of {:.1e} is promised, above tol = {:e}: \
                 columns say nearly the same; use solver = fast, narrower kernels or fewer \
                 candidates",
                found.gain, self.common.tol
            )),
            _ => self.common.note_limits(&outcome, &mut notes),
        }
        if found.cycled {
            notes.push(
                "λ and the terms went round in a circle: λ is that of the fit of highest evidence \
                 among them"
                    .to_string(),
            );
        }
        let empty = outcome.active.iter().all(|j| Some(*j) == shared.bias());
        if empty && found.termination == Termination::Degenerate {
            notes.push(why_empty(shared).into());
        } else if empty && notes.is_empty() {
            notes.push(self.why_no_term(shared, prior, &found));
        }
        let independent = found.covariance.columns() == 1;
        let variance = |k: usize| found.covariance[(k, if independent { 0 } else { k })];
        let spread = |k: usize| found.alpha[k] * variance(k);
        let freedom: f64 = (0..found.alpha.len()).map(|k| 1.0 - spread(k)).sum();
        if noise == Noise::Estimated
            && (found.noise <= NEARLY_NONE || rows - freedom < 1.0_f64.min(0.1 * rows))
            && !empty
            && found.termination != Termination::Degenerate
        {
            notes.push(SATURATED.into());
        }
        // The density of y where that of y/unit is known.
        let shift = (rows + 2.0 * prior.noise_power()) * unit.ln();
        let fitted = Fitted {
            method: self.method,
            settings: self.settings.clone(),
            outputs: vec![Output { outcome, intercept: 0.0 }],
            lam: found
                .lam
                .map(|lam| if prior.is_relative_to_noise() { lam } else { lam / (unit * unit) }),
            notes,
            factor: 1.0,
            shift,
            uncertainty: Some(uncertainty),
        };
        let model = self.common.model(shared, fitted)?;
        let mut model = certified(model, found.gain, found.aligned);
        model.noise_std = Some(unit * found.noise.sqrt());
        model.report.log_evidence = Some(found.log_evidence - rows * unit.ln());
        Ok(model)
    }
}

/// The variance of `factor` times a noise that is given, in units of the target's deviation.
pub(crate) fn known_variance(noise: f64, factor: f64, unit: f64) -> Result<f64> {
    let variance = (noise * factor / unit).powi(2);
    if (1e-28..1e300).contains(&variance) {
        return Ok(variance);
    }
    Err(Error::setting(
        "noise",
        noise,
        format!(
            "between 1e-14 and 1e150 times the deviation of the target, {unit:.3e}, is expected"
        ),
    ))
}

/// Why there are no terms where all inputs are constant.
pub(super) const NO_INPUT_VARIES: &str = "no column varies: the model is a constant";

/// Why there is nothing to fit but the intercept.
pub(crate) fn why_empty(shared: &Shared<'_>) -> &'static str {
    if shared.units.target_deviation == 0.0 {
        "the target is constant: the model is that constant"
    } else if shared.weight <= 1.0 {
        "one row, or weights that add up to one or less, tell nothing but the intercept: the model \
         is a constant"
    } else {
        NO_INPUT_VARIES
    }
}

/// The target of a regression.
pub(crate) fn numbers<'a>(method: &str, data: &'a Dataset<'_>) -> Result<&'a [f64]> {
    match data.target() {
        Target::Numbers(y) => Ok(y),
        Target::Labels { .. } => Err(Error::Unavailable {
            what: "regression on labels".into(),
            hint: format!("{method} needs a number for each row; RVC and SMLR take labels"),
        }),
    }
}

fn no_kernel() -> Error {
    let expected = "it needs a kernel that falls with distance: rbf, laplacian, matern32 or \
                    matern52 for a basis";
    Error::setting("variance", "augmented", expected)
}

/// The covariance of the weights of these columns, and of an intercept that is the mean of so many
/// rows: of centred columns it does not depend on the weights.
fn uncertainty(
    active: &[usize],
    inverse_lengths: &[f64],
    found: &Found,
    weight: Option<f64>,
) -> Uncertainty {
    let k = active.len();
    let order = k + usize::from(weight.is_some());
    let independent = found.covariance.columns() == 1 && k > 1;
    let mut covariance = Matrix::zeros(order, if independent { 1 } else { order });
    for b in 0..if independent { 1 } else { k } {
        for a in 0..k {
            let scale = inverse_lengths[a] * inverse_lengths[if independent { a } else { b }];
            covariance[(a, b)] = scale * found.covariance[(a, b)];
        }
    }
    let mut parameters: Vec<(usize, Option<usize>)> =
        active.iter().map(|&j| (0, Some(j))).collect();
    if let Some(weight) = weight {
        parameters.push((0, None));
        covariance[(k, if independent { 0 } else { k })] = found.noise / weight;
    }
    Uncertainty { parameters, covariance }
}

/// The variance of an intercept is all the doubt that a constant leaves.
pub(crate) fn of_a_constant(free_intercept: bool, variance: f64) -> Uncertainty {
    let parameters: Vec<(usize, Option<usize>)> =
        free_intercept.then_some((0, None)).into_iter().collect();
    let order = parameters.len();
    Uncertainty {
        covariance: Matrix::from_columns(order, order, vec![variance; order]),
        parameters,
    }
}

pub(super) fn certified(mut model: Model, gain: f64, aligned: usize) -> Model {
    model.report.certificate = Certificate {
        kind: CertificateKind::Evidence,
        value: gain.min(f64::MAX),
        scope: if aligned == 0 { "all".into() } else { format!("all but {aligned} aligned") },
    };
    model
}
