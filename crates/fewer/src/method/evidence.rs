//! What the methods that maximise the evidence share: from settings to a model.

use super::common::{BasisKind, Common, Fitted, Output, Shared, Uncertainty, Wanted};
use super::em::empty_outcome;
use super::settings::{Intercept, check_number};
use crate::data::{Dataset, Moments, Target};
use crate::engine::evidence::{
    Dictionary, Found, FromGram, FromRows, Options, Problem, block, maximise,
};
use crate::engine::{Observer, Outcome, Silent, Termination};
use crate::error::{Error, Result};
use crate::likelihood::Noise;
use crate::linalg::Matrix;
use crate::model::{Certificate, CertificateKind, Model};
use crate::prior::{EvidencePrior, Rate};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Noise below 1e-4 of the target's deviation is taken for none: the evidence of a model that
/// explains the target exactly has no maximum.
pub(crate) const SMALLEST_NOISE: f64 = 1e-8;
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

/// A method as this file sees it.
pub(crate) struct Evidence<'a> {
    pub method: &'static str,
    pub common: &'a Common,
    pub settings: Value,
    /// Standard deviation of the noise.
    pub noise: Option<f64>,
    pub solver: EvidenceSolver,
}

/// Reads settings whose basis is `rbf` unless they say otherwise.
pub(crate) fn with_kernels(settings: &str) -> Result<String> {
    let mut given: Map<String, Value> = serde_json::from_str(settings).map_err(|e| {
        Error::setting("settings", settings, format!("a JSON object is expected ({e})"))
    })?;
    given.entry("basis").or_insert_with(|| "rbf".into());
    Ok(Value::Object(given).to_string())
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

impl Evidence<'_> {
    fn wanted(&self, columns: usize) -> Wanted {
        let linear = matches!(self.common.basis, BasisKind::Linear | BasisKind::Polynomial);
        Wanted {
            equations: false,
            gram: self.common.basis == BasisKind::Linear && columns <= GRAM_COLUMNS,
            without_copies: linear,
            distinct: false,
            offset: false,
        }
    }

    pub fn fit(
        &self,
        data: &Dataset<'_>,
        observer: &dyn Observer,
        prior: impl FnOnce(&Shared<'_>) -> Result<Box<dyn EvidencePrior>> + Send,
    ) -> Result<Model> {
        let y = numbers(self.method, data)?;
        let wanted = self.wanted(data.features().columns());
        self.common.with_rows(data, y, data.weights(), wanted, observer, |shared| {
            let model = self.solve(&shared, prior(&shared)?)?;
            Ok(Model { encoder: data.encoder().cloned(), named: data.is_named(), ..model })
        })
    }

    pub fn fit_moments(
        &self,
        moments: Moments,
        prior: impl FnOnce(&Shared<'_>) -> Result<Box<dyn EvidencePrior>> + Send,
    ) -> Result<Model> {
        let wanted = Wanted { gram: true, ..self.wanted(0) };
        self.common
            .with_moments(moments, wanted, &Silent, |shared| self.solve(&shared, prior(&shared)?))
    }

    /// What is known of the noise, in units of the target.
    pub fn inner_noise(&self, unit: f64) -> Result<Noise> {
        Ok(match self.noise {
            None => Noise::Estimated,
            Some(noise) => {
                let variance = (noise / unit).powi(2);
                if !(1e-28..1e300).contains(&variance) {
                    return Err(Error::setting(
                        "noise",
                        noise,
                        format!(
                            "between 1e-14 and 1e150 times the deviation of the target, \
                             {unit:.3e}, is expected"
                        ),
                    ));
                }
                Noise::Known(variance)
            }
        })
    }

    fn solve(&self, shared: &Shared<'_>, mut prior: Box<dyn EvidencePrior>) -> Result<Model> {
        let unit = shared.units.target_unit();
        let noise = self.inner_noise(unit)?;
        let free = self.common.fit_intercept == Intercept::Free;
        let constant = shared.units.target_deviation == 0.0;
        let rows = shared.weight - f64::from(u8::from(free));
        if constant || shared.usable.is_empty() || rows <= 0.0 {
            return self.empty(shared, constant, &*prior);
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
            (None, None) => return self.empty(shared, constant, &*prior),
        };
        let bias = shared.bias().and_then(|b| shared.usable.binary_search(&b).ok());
        let problem = Problem {
            dictionary: &*dictionary,
            cross,
            square: shared.weight,
            units,
            weight: shared.weight,
            free_intercept: free,
            uncounted: bias,
        };
        let options = Options {
            tol: self.common.tol,
            max_iter: self.common.max_iter,
            max_terms: self.common.max_terms,
            deadline: shared.deadline,
            noise,
            largest_precision: 1.0 / SMALLEST_NOISE,
            worthless: 0.1 * self.common.tol,
            memory_limit: self.common.memory_limit as usize,
            ..Options::default()
        };
        let maximised = match self.solver {
            EvidenceSolver::Fast => maximise,
            EvidenceSolver::Block => block,
        };
        let found = maximised(&problem, &mut *prior, &options, shared.observer)?;
        self.model(shared, found, &*prior, &inverse_lengths, noise)
    }

    pub fn empty(
        &self,
        shared: &Shared<'_>,
        constant: bool,
        prior: &dyn EvidencePrior,
    ) -> Result<Model> {
        let note = if constant {
            "the target is constant: the model is that constant"
        } else if shared.usable.is_empty() {
            "no column varies: the model is a constant"
        } else {
            "one row tells nothing but the intercept: the model is a constant"
        };
        let fitted = Fitted {
            method: self.method,
            settings: self.settings.clone(),
            outputs: vec![Output { outcome: empty_outcome(0.0), intercept: 0.0 }],
            lam: prior.lam(),
            notes: vec![note.to_string()],
            factor: 1.0,
            shift: 0.0,
            uncertainty: None,
        };
        let model = self.common.model(shared, fitted)?;
        let noise = if constant { 0.0 } else { shared.units.target_unit() };
        Ok(certified(Model { noise_std: Some(self.noise.unwrap_or(noise)), ..model }, 0.0, 0))
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
            Termination::Stalled => {}
            _ => self.common.note_limits(&outcome, &mut notes),
        }
        if found.cycled {
            notes.push(
                "λ and the terms went round in a circle: λ is that of the fit of highest evidence \
                 among them"
                    .to_string(),
            );
        }
        if outcome.active.is_empty()
            && notes.is_empty()
            && let Some(j) = shared.strongest(&shared.cross)
        {
            let share = shared.cross[j].powi(2) / (shared.squares[j] * shared.weight);
            notes.push(format!(
                "no term is kept: the strongest column, '{}', explains {:.1} % of the target's \
                 variance by itself, too little to raise the evidence with {} rows",
                shared.name(j),
                100.0 * share,
                shared.weight
            ));
        }
        if noise == Noise::Estimated && found.noise <= SMALLEST_NOISE * (1.0 + 1e-6) {
            notes.push(
                "the terms kept explain the target exactly (noise below 1e-4 of its deviation); \
                 if that is too good to be true, give the noise or fewer candidates"
                    .to_string(),
            );
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
        model.noise_std = Some(self.noise.unwrap_or(unit * found.noise.sqrt()));
        model.report.log_evidence = Some(found.log_evidence - rows * unit.ln());
        Ok(model)
    }
}

/// The target of a regression.
pub(crate) fn numbers<'a>(method: &str, data: &'a Dataset<'_>) -> Result<&'a [f64]> {
    match data.target() {
        Target::Numbers(y) => Ok(y),
        Target::Labels { .. } => Err(Error::Unavailable {
            what: "regression on labels".into(),
            hint: format!(
                "{method} needs a number for each row; SMLR and ProbitClassifier take labels"
            ),
        }),
    }
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
    let mut covariance = Matrix::zeros(order, order);
    for b in 0..k {
        for a in 0..k {
            let scale = inverse_lengths[a] * inverse_lengths[b];
            covariance[(a, b)] = scale * found.covariance[(a, b)];
        }
    }
    let mut parameters: Vec<(usize, Option<usize>)> =
        active.iter().map(|&j| (0, Some(j))).collect();
    if let Some(weight) = weight {
        parameters.push((0, None));
        covariance[(k, k)] = found.noise / weight;
    }
    Uncertainty { parameters, covariance }
}

fn certified(mut model: Model, gain: f64, aligned: usize) -> Model {
    model.report.certificate = Certificate {
        kind: CertificateKind::Evidence,
        value: gain.min(f64::MAX),
        scope: if aligned == 0 { "all".into() } else { format!("all but {aligned} aligned") },
    };
    model
}
