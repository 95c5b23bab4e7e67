//! What all methods share: the basis, scaling, limits, and the way from data to a model.

use super::settings::{Intercept, check_count, check_number};
use super::training::{Training, WithOnes, on_threads};
use crate::basis::{
    Basis, Centres, FixedBasis, Gamma, KernelForm, KernelSettings, Landmarks, UserFunction,
};
use crate::data::{Dataset, Moments, Names, Units};
use crate::design::Design;
use crate::engine::{Observer, Outcome, Silent, Step, Termination, check_memory};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::model::{
    Certificate, CertificateKind, DroppedColumn, Link, Model, Parameter, Posterior, Report, Term,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The settings that every method has.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Common {
    pub basis: BasisKind,
    pub degree: u32,
    pub gamma: Gamma,
    pub coef0: f64,
    #[serde(deserialize_with = "number_or_all")]
    pub candidates: Option<usize>,
    pub landmarks: Landmarks,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub centres: Option<Vec<Vec<f64>>>,
    pub standardize: bool,
    pub fit_intercept: Intercept,
    pub max_terms: Option<usize>,
    pub tol: f64,
    pub max_iter: usize,
    pub max_time: Option<f64>,
    pub memory_limit: f64,
    pub random_state: u64,
    pub n_jobs: Option<usize>,
    #[serde(skip)]
    pub functions: Option<UserFunction>,
}

/// A number, or `all`, which is none.
fn number_or_all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(word) if word == "all" => Ok(None),
        Value::Number(count) if count.is_u64() => {
            Ok(count.as_u64().and_then(|count| count.try_into().ok()))
        }
        _ => Err(serde::de::Error::custom("a whole number of at least 1 or \"all\" is expected")),
    }
}

/// The functions of x to choose from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BasisKind {
    /// The features themselves.
    #[default]
    Linear,
    /// All products of features up to `degree`.
    Polynomial,
    /// exp(−γ‖x − c‖²).
    Rbf,
    /// exp(−γ‖x − c‖₁).
    Laplacian,
    /// The Matérn kernel with ν = 3/2.
    Matern32,
    /// The Matérn kernel with ν = 5/2.
    Matern52,
    /// (γ x·c + coef0)^degree.
    PolynomialKernel,
    /// x·c.
    LinearKernel,
    /// The features are kernel values already.
    Precomputed,
    /// The user's own functions.
    Functions,
    /// The user's own kernel k(x, c).
    KernelFunction,
}

impl BasisKind {
    fn has_centres(self) -> bool {
        use BasisKind::{Functions, Linear, Polynomial, Precomputed};
        !matches!(self, Linear | Polynomial | Precomputed | Functions)
    }
}

impl Default for Common {
    fn default() -> Self {
        Self {
            basis: BasisKind::default(),
            degree: 2,
            gamma: Gamma::default(),
            coef0: 1.0,
            candidates: None,
            landmarks: Landmarks::default(),
            centres: None,
            standardize: true,
            fit_intercept: Intercept::default(),
            max_terms: None,
            tol: 1e-8,
            max_iter: 10_000,
            max_time: None,
            memory_limit: 4e9,
            random_state: 0,
            n_jobs: None,
            functions: None,
        }
    }
}

/// The columns of a fit in well-scaled units, shared by all its outputs.
pub(crate) struct Shared<'s> {
    pub design: Option<&'s Design<'s>>,
    pub gram: Option<Arc<Matrix>>,
    pub units: Units,
    /// (p,) Σ w x².
    pub squares: Vec<f64>,
    /// (p,) Σ w x y of the target the moments were taken with.
    pub cross: Vec<f64>,
    /// (p,) The prior is on `scale[j] * beta[j]`.
    pub scale: Vec<f64>,
    /// Columns that take part, rising.
    pub usable: Vec<usize>,
    pub dropped: Vec<DroppedColumn>,
    pub weight: f64,
    pub rows: usize,
    pub fixed: &'s FixedBasis,
    pub features: &'s Names,
    pub target: &'s str,
    /// Whether the columns are kernels.
    pub kernel: bool,
    /// Different rows of positive weight; counted only as far as it matters.
    pub distinct: usize,
    pub deadline: Option<Instant>,
    pub observer: &'s dyn Observer,
}

impl Shared<'_> {
    pub fn name(&self, j: usize) -> String {
        column_name(self.fixed, j, self.features)
    }

    /// The column of ones of a penalised intercept.
    pub fn bias(&self) -> Option<usize> {
        let last = self.scale.len() - 1;
        (last == self.fixed.len()).then_some(last)
    }

    /// The column with the largest product with the target, the intercept aside.
    pub fn strongest(&self, cross: &[f64]) -> Option<usize> {
        let share = |j: usize| cross[j].abs() / self.squares[j].sqrt();
        let columns = self.usable.iter().copied().filter(|j| Some(*j) != self.bias());
        columns.max_by(|&a, &b| share(a).total_cmp(&share(b)))
    }
}

/// One fitted output: weights in inner units, and what its intercept is then.
pub(crate) struct Output {
    pub outcome: Outcome,
    /// The intercept at the columns' centres, in inner units.
    pub intercept: f64,
}

/// How sure a fit is of its numbers, in inner units.
pub(crate) struct Uncertainty {
    /// The output and the column of each; no column for the free intercept.
    pub parameters: Vec<(usize, Option<usize>)>,
    /// Of all pairs, or one column of variances where they are independent.
    pub covariance: Matrix,
}

impl Uncertainty {
    /// In the user's units; `kept` are the columns of the terms.
    fn posterior(&self, shared: &Shared<'_>, kept: &[usize]) -> Result<Posterior> {
        let unit = shared.units.target_unit();
        let factor =
            |column: Option<usize>| unit / column.map_or(1.0, |j| shared.units.deviation[j]);
        let factors: Vec<f64> = self.parameters.iter().map(|p| factor(p.1)).collect();
        let mut covariance = self.covariance.clone();
        let independent = covariance.columns() == 1;
        let lost = |(k, f): (usize, &f64)| {
            let variance = self.covariance[(k, if independent { 0 } else { k })];
            variance > 0.0 && variance * f * f < f64::MIN_POSITIVE
        };
        if factors.iter().enumerate().any(lost) {
            return Err(Error::Unavailable {
                what: "the covariance of the weights".into(),
                hint: "it is too small for floating point; rescale the target or the columns"
                    .into(),
            });
        }
        for (b, right) in factors.iter().enumerate().take(covariance.columns()) {
            let column = covariance.column_mut(b);
            if independent {
                column.iter_mut().zip(&factors).for_each(|(value, f)| *value *= f * f);
                continue;
            }
            column.iter_mut().zip(&factors).for_each(|(value, left)| *value *= left * right);
        }
        if covariance.as_slice().iter().any(|value| !value.is_finite()) {
            return Err(Error::Unavailable {
                what: "the covariance of the weights".into(),
                hint: "it is too large for floating point; rescale the target or the columns"
                    .into(),
            });
        }
        // The column of ones of a penalised intercept is no term.
        let term = |column: Option<usize>| column.and_then(|j| kept.binary_search(&j).ok());
        let parameters = self.parameters.iter();
        let parameters: Vec<Parameter> =
            parameters.map(|&(output, column)| Parameter { output, term: term(column) }).collect();
        Ok(Posterior::new(&parameters, &covariance))
    }
}

/// All that a model is made of, beside its columns.
pub(crate) struct Fitted<'a> {
    pub method: &'a str,
    pub settings: Value,
    pub outputs: Vec<Output>,
    pub lam: Option<f64>,
    pub notes: Vec<String>,
    /// The objective in the user's units is `factor` times the engine's, plus `shift`.
    pub factor: f64,
    pub shift: f64,
    pub uncertainty: Option<Uncertainty>,
}

/// What a method wants to know of its columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Room for its normal equations.
    pub equations: bool,
    /// XᵀX, where there are no more columns than rows.
    pub gram: bool,
    /// Columns that are copies of others set aside.
    pub without_copies: bool,
    /// The number of different rows.
    pub distinct: bool,
    /// What is known of the classes beforehand.
    pub offset: bool,
    /// Kernels computed when they are asked for, never held.
    pub on_demand: bool,
    /// Products of the columns with the target as it is, which has no unit of its own.
    pub plain_target: bool,
}

/// The rows of a fit: the target and the weights as the engine is to see them.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'r, 'd> {
    pub data: &'r Dataset<'d>,
    pub target: &'r [f64],
    pub weights: Option<&'r [f64]>,
    pub deadline: Option<Instant>,
}

impl Common {
    pub fn with_functions(mut self, functions: Option<UserFunction>) -> Self {
        self.basis = match &functions {
            Some(UserFunction::Functions(_)) => BasisKind::Functions,
            Some(UserFunction::Kernel(_)) => BasisKind::KernelFunction,
            None => return self,
        };
        self.functions = functions;
        self
    }

    /// Checks the settings of a method whose functions are its own.
    pub fn check_without_basis(&self, method: &str) -> Result<()> {
        self.check()?;
        match &self.functions {
            None => Ok(()),
            Some(_) => Err(Error::setting(
                "basis",
                "your own",
                format!("{method} has functions of its own; RVR takes yours"),
            )),
        }
    }

    pub fn check(&self) -> Result<()> {
        check_number("tol", Some(self.tol), false)?;
        check_number("max_time", self.max_time, false)?;
        check_number("memory_limit", Some(self.memory_limit), false)?;
        if let Gamma::Number(gamma) = self.gamma {
            check_number("gamma", Some(gamma), false)?;
        }
        if !self.coef0.is_finite() {
            return Err(Error::setting("coef0", self.coef0, "a finite number is expected"));
        }
        check_count("degree", Some(self.degree as usize))?;
        if self.degree > 1000 {
            return Err(Error::setting("degree", self.degree, "at most 1000 is expected"));
        }
        if let Some(count) = self.candidates
            && (self.centres.is_some() || !self.basis.has_centres())
        {
            return Err(Error::setting(
                "candidates",
                count,
                "it chooses centres of a kernel among the training rows: give a kernel for a \
                 basis and no centres",
            ));
        }
        if self.centres.is_some() && !self.basis.has_centres() {
            return Err(Error::setting("centres", "given", "only a kernel has centres"));
        }
        check_count("candidates", self.candidates)?;
        check_count("max_terms", self.max_terms)?;
        check_count("max_iter", Some(self.max_iter))?;
        check_count("n_jobs", self.n_jobs)
    }

    /// Whether the columns are kernels, which are never rescaled.
    fn is_kernel(&self) -> bool {
        self.basis.has_centres() || self.basis == BasisKind::Precomputed
    }

    /// Whether candidates are drawn again as the fit proceeds.
    pub fn redraws(&self) -> bool {
        self.candidates.is_some() && self.landmarks == Landmarks::Redrawn
    }

    /// Whether every row is the centre of a kernel that can be computed on demand.
    pub fn centres_on_all_rows(&self) -> bool {
        let own = self.basis == BasisKind::KernelFunction;
        self.basis.has_centres() && !own && self.candidates.is_none() && self.centres.is_none()
    }

    fn basis(&self) -> Result<Basis> {
        if self.redraws() {
            return Err(Error::setting(
                "landmarks",
                "redrawn",
                "RVR with Gaussian noise draws candidates again; here take random or kmeans",
            ));
        }
        let kernel = |form| {
            Basis::Kernel(KernelSettings {
                form,
                gamma: self.gamma,
                degree: self.degree,
                coef0: self.coef0,
                standardize: self.standardize,
                centres: match (&self.centres, self.candidates) {
                    (Some(points), _) => Centres::Given(points.clone()),
                    (None, Some(count)) => {
                        Centres::Landmarks(count, self.landmarks, self.random_state)
                    }
                    (None, None) => Centres::Rows,
                },
            })
        };
        let without = |basis: &str, expected: &str| Error::setting("basis", basis, expected);
        Ok(match self.basis {
            BasisKind::Linear => Basis::Linear,
            BasisKind::Polynomial => Basis::Polynomial { degree: self.degree as usize },
            BasisKind::Rbf => kernel(KernelForm::Rbf),
            BasisKind::Laplacian => kernel(KernelForm::Laplacian),
            BasisKind::Matern32 => kernel(KernelForm::Matern32),
            BasisKind::Matern52 => kernel(KernelForm::Matern52),
            BasisKind::PolynomialKernel => kernel(KernelForm::PolynomialKernel),
            BasisKind::LinearKernel => kernel(KernelForm::LinearKernel),
            BasisKind::Precomputed => Basis::Precomputed,
            BasisKind::Functions => match &self.functions {
                Some(UserFunction::Functions(f)) => Basis::Functions(f.clone()),
                _ => return Err(without("functions", "the functions must be given as well")),
            },
            BasisKind::KernelFunction => match &self.functions {
                Some(UserFunction::Kernel(f)) => kernel(KernelForm::Function(f.clone().into())),
                _ => return Err(without("kernel-function", "the kernel must be given as well")),
            },
        })
    }

    /// Makes the columns and hands them on.
    pub fn with_rows<T: Send>(
        &self,
        data: &Dataset<'_>,
        target: &[f64],
        weights: Option<&[f64]>,
        wanted: Wanted,
        observer: &dyn Observer,
        work: impl FnOnce(Shared<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        if !wanted.offset {
            data.without_offset("this method")?;
        }
        data.without_noise_precision("this method")?;
        on_threads(self.n_jobs, || {
            let fixed = self.resolve(data, weights)?;
            let rows = Rows { data, target, weights, deadline: self.deadline() };
            self.with_part(&fixed, &rows, wanted, observer, work)
        })
    }

    /// The functions to choose from, once the values are known to be finite.
    pub fn resolve(&self, data: &Dataset<'_>, weights: Option<&[f64]>) -> Result<FixedBasis> {
        let basis = self.basis()?;
        if self.looks_later(weights) {
            data.check_target()?
        } else {
            data.check()?
        }
        basis.resolve(data)
    }

    /// The same with kernels at all rows, for who draws candidates himself.
    pub fn resolve_all(&self, data: &Dataset<'_>, weights: Option<&[f64]>) -> Result<FixedBasis> {
        Self { candidates: None, ..self.clone() }.resolve(data, weights)
    }

    /// Sums of values that are not all finite are not finite: no need to look twice.
    fn looks_later(&self, weights: Option<&[f64]>) -> bool {
        self.basis == BasisKind::Linear && weights.is_none()
    }

    /// Makes the columns of a basis, or of a part of one, and hands them on.
    pub fn with_part<T>(
        &self,
        fixed: &FixedBasis,
        rows: &Rows<'_, '_>,
        wanted: Wanted,
        observer: &dyn Observer,
        work: impl FnOnce(Shared<'_>) -> Result<T>,
    ) -> Result<T> {
        let Rows { data, target, weights, deadline } = *rows;
        let limit = self.memory_limit as usize;
        fixed.check_memory(data.rows(), limit)?;
        let held = if wanted.on_demand { 0 } else { limit };
        let mut columns = fixed.training_columns(data, held, observer)?;
        if self.fit_intercept == Intercept::Penalised {
            columns = Box::new(WithOnes(columns));
        }
        if wanted.equations {
            check_memory(columns.columns().min(columns.rows()), columns.rows(), limit)?;
        }
        let all: Vec<usize> = (0..columns.columns()).collect();
        let gram = wanted.gram && (columns.columns() <= columns.rows() || wanted.on_demand);
        let moments = Moments::of(&*columns, &all, target, weights, gram, observer)?;
        // Its memory serves what comes next.
        drop(all);
        if self.looks_later(weights) && !moments.is_finite() {
            data.check()?;
        }
        let name = |j: usize| column_name(fixed, j, data.shared_names());
        let kernel = self.is_kernel();
        let mut training =
            Training::new(moments, self.fit_intercept, self.standardize, !kernel, &name)?;
        if wanted.plain_target {
            let unit = training.units.target_unit();
            training.moments.cross.iter_mut().for_each(|c| *c *= unit);
            (training.units.target_mean, training.units.target_deviation) = (0.0, 0.0);
        }
        let scale = training.units.positive_deviations();
        let design = Design::new(&*columns, weights, training.units.mean.clone(), scale);
        if wanted.without_copies {
            training.drop_duplicates(Some(&design), &name);
        }
        let shared = self.share(training, Some(&design), data.rows(), fixed, data.shared_names());
        work(Shared {
            target: data.target_name(),
            kernel,
            distinct: if wanted.distinct {
                // More than twice as many rows as columns can bear all of them.
                data.features().distinct_rows(weights, 2 * columns.columns() + 1)
            } else {
                usize::MAX
            },
            deadline,
            observer,
            ..shared
        })
    }

    /// Takes moments for the columns and hands them on.
    pub fn with_moments<T: Send>(
        &self,
        moments: Moments,
        wanted: Wanted,
        observer: &dyn Observer,
        work: impl FnOnce(Shared<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        if self.basis != BasisKind::Linear || self.fit_intercept == Intercept::Penalised {
            return Err(Error::Unavailable {
                what: "this fit from moments".into(),
                hint: "moments know the features only: use the linear basis and a free \
                       intercept or none"
                    .into(),
            });
        }
        let deadline = self.deadline();
        on_threads(self.n_jobs, || {
            let features = Names::given(moments.names().to_vec());
            let rows = moments.rows();
            let fixed = FixedBasis::linear(features.len());
            let name = |j: usize| features.one(j);
            let mut training =
                Training::new(moments, self.fit_intercept, self.standardize, true, &name)?;
            if wanted.without_copies {
                training.drop_duplicates(None, &name);
            }
            let shared = self.share(training, None, rows, &fixed, &features);
            work(Shared { deadline, observer, ..shared })
        })
    }

    fn share<'s>(
        &self,
        training: Training,
        design: Option<&'s Design<'s>>,
        rows: usize,
        fixed: &'s FixedBasis,
        features: &'s Names,
    ) -> Shared<'s> {
        let Training { units, moments, usable, dropped } = training;
        let target_unit = units.target_unit();
        let scale = units
            .deviation
            .iter()
            .map(|&d| match (self.standardize, d > 0.0) {
                (false, true) => target_unit / d,
                _ => target_unit,
            })
            .collect();
        Shared {
            design,
            gram: (moments.gram.rows() > 0).then(|| Arc::new(moments.gram)),
            squares: moments.squares,
            cross: moments.cross,
            scale,
            usable,
            dropped,
            weight: moments.weight,
            rows,
            fixed,
            features,
            target: "y",
            kernel: false,
            distinct: usize::MAX,
            deadline: None,
            observer: &Silent,
            units,
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        // A limit beyond the range of the clock is none.
        let limit = Duration::try_from_secs_f64(self.max_time?).ok()?;
        Instant::now().checked_add(limit)
    }

    /// Says how a fit ended that ended early.
    pub fn note_limits(&self, outcome: &Outcome, notes: &mut Vec<String>) {
        // The number that the certificate has.
        let left = match outcome.gap {
            Some(gap) => format!("a duality gap of {gap:.1e}"),
            None if outcome.residual == 0.0 => "parameters that still move".into(),
            None => format!("a residual of {:.1e}", outcome.residual),
        };
        let (limit, value) = match outcome.termination {
            Termination::IterationLimit => ("max_iter", self.max_iter.to_string()),
            Termination::TimeLimit => ("max_time", self.max_time.unwrap_or(0.0).to_string()),
            Termination::Stalled => {
                notes.push(format!(
                    "rounding stopped the fit at {left}, above tol = {:e}; usual causes are columns \
                     that say nearly the same, values or offsets far from 0, and weights of very \
                     different size",
                    self.tol
                ));
                return;
            }
            Termination::Converged | Termination::Degenerate => return,
        };
        notes.push(format!("{limit} = {value} was reached with {left}; raise {limit} or tol"));
    }

    /// Brings the outputs back to the user's units and makes the model of the union of terms.
    pub fn model(&self, shared: &Shared<'_>, fitted: Fitted<'_>) -> Result<Model> {
        let outputs = &fitted.outputs;
        let units = &shared.units;
        let target_unit = units.target_unit();
        let basis_size = shared.fixed.len();
        let mut kept: Vec<usize> =
            outputs.iter().flat_map(|o| o.outcome.active.iter().copied()).collect();
        kept.sort_unstable();
        kept.dedup();
        let mut base: Vec<f64> =
            outputs.iter().map(|o| units.target_mean + target_unit * o.intercept).collect();
        let mut terms = Vec::new();
        for &j in &kept {
            let weight = |o: &Output| {
                let k = o.outcome.active.binary_search(&j).ok()?;
                Some(o.outcome.beta[k] * (target_unit / units.deviation[j]))
            };
            let weights: Vec<f64> = outputs.iter().map(|o| weight(o).unwrap_or(0.0)).collect();
            if weights.iter().any(|w| !w.is_finite()) {
                return Err(Error::Unavailable {
                    what: format!("the weight of '{}'", shared.name(j)),
                    hint: "it is too large for floating point; rescale the column".into(),
                });
            }
            if j >= basis_size {
                base.iter_mut().zip(&weights).for_each(|(b, w)| *b += w);
                continue;
            }
            terms.push(Term {
                name: shared.name(j),
                index: j,
                weights,
                centre: units.mean[j],
                deviation: (shared.squares[j] / shared.weight).sqrt() * units.deviation[j],
            });
        }
        kept.retain(|&j| j < basis_size);
        let posterior =
            fitted.uncertainty.as_ref().map(|u| u.posterior(shared, &kept)).transpose()?;
        let objective = |value: f64| value * fitted.factor + fitted.shift;
        let total = |of: &dyn Fn(&Output) -> f64| outputs.iter().map(of).sum::<f64>();
        let worst = |of: &dyn Fn(&Output) -> f64| {
            let values = outputs.iter().map(of);
            // A model file has no infinity.
            values.fold(0.0, |a: f64, v| if v.is_nan() { f64::MAX } else { a.max(v) }).min(f64::MAX)
        };
        let certificate = if outputs.iter().all(|o| o.outcome.gap.is_some()) {
            Certificate {
                kind: CertificateKind::DualityGap,
                value: worst(&|o| o.outcome.gap.unwrap_or(0.0)),
                scope: if self.max_terms.is_some() { "kept terms" } else { "all" }.into(),
            }
        } else {
            Certificate {
                kind: CertificateKind::Stationarity,
                value: worst(&|o| o.outcome.residual),
                scope: "support".into(),
            }
        };
        let traces: Vec<&[Step]> =
            outputs.iter().map(|o| &o.outcome.trace[..]).filter(|t| !t.is_empty()).collect();
        let termination = outputs
            .iter()
            .map(|o| o.outcome.termination)
            .find(|t| !t.is_converged())
            .or_else(|| outputs.first().map(|o| o.outcome.termination))
            .unwrap_or(Termination::Degenerate);
        Ok(Model {
            method: fitted.method.into(),
            settings: fitted.settings,
            target: shared.target.into(),
            features: shared.features.clone(),
            named: true,
            encoder: None,
            classes: None,
            link: Link::Identity,
            basis: shared.fixed.keep(&kept),
            basis_size,
            terms,
            base,
            noise_std: None,
            noise_nu: None,
            posterior,
            draws: None,
            augmentation: None,
            moderates: false,
            report: Report {
                termination,
                iterations: outputs.iter().map(|o| o.outcome.iterations).max().unwrap_or(0),
                objective: objective(total(&|o| o.outcome.objective)),
                certificate,
                lam: fitted.lam,
                log_evidence: None,
                selection: None,
                tried: Vec::new(),
                rows: shared.rows,
                offset: false,
                separable: false,
                relevances: Vec::new(),
                dropped: shared.dropped.clone(),
                suspected: Vec::new(),
                row_weights: Vec::new(),
                notes: fitted.notes,
                trace: match &traces[..] {
                    [one] => thinned(one, objective),
                    _ => Vec::new(),
                },
            },
        })
    }
}

/// The trace in the user's units, by steps where it is long.
fn thinned(trace: &[Step], objective: impl Fn(f64) -> f64) -> Vec<Step> {
    let step = trace.len().div_ceil(1000).max(1);
    let last = trace.last().filter(|_| trace.len() % step != 1 % step);
    trace
        .iter()
        .step_by(step)
        .chain(last)
        .map(|s| Step { objective: objective(s.objective), ..*s })
        .collect()
}

fn column_name(fixed: &FixedBasis, j: usize, features: &Names) -> String {
    if j < fixed.len() { fixed.name_by(j, &|j| features.one(j)) } else { "(intercept)".into() }
}

/// The builder methods of methods that choose from a given basis; a method is a tuple of settings
/// with a field `common`.
macro_rules! common_builder {
    ($method:ident) => {
        impl $method {
            /// The functions of x to choose from.
            pub fn basis(mut self, basis: BasisKind) -> Self {
                self.0.common.basis = basis;
                self
            }

            /// Degree of the polynomial basis or kernel.
            pub fn degree(mut self, degree: u32) -> Self {
                self.0.common.degree = degree;
                self
            }

            /// γ of a kernel: a number or a rule.
            pub fn gamma(mut self, gamma: Gamma) -> Self {
                self.0.common.gamma = gamma;
                self
            }

            /// Constant of the polynomial kernel.
            pub fn coef0(mut self, coef0: f64) -> Self {
                self.0.common.coef0 = coef0;
                self
            }

            /// Centres kernels on so many of the training rows only. With [`Landmarks::Redrawn`]
            /// ([`RVR`](crate::method::RVR) alone) these are others in every round of the fit.
            pub fn candidates(mut self, count: usize, how: Landmarks) -> Self {
                (self.0.common.candidates, self.0.common.landmarks) = (Some(count), how);
                self
            }

            /// Centres kernels on these points.
            pub fn centres(mut self, centres: Vec<Vec<f64>>) -> Self {
                self.0.common.centres = Some(centres);
                self
            }

            /// Whether priors apply to columns of unit variance (kernels: inputs of unit variance).
            pub fn standardize(mut self, standardize: bool) -> Self {
                self.0.common.standardize = standardize;
                self
            }

            /// The user's own functions instead of the features themselves.
            pub fn functions(self, functions: impl BlockFunction + 'static) -> Self {
                let functions = std::sync::Arc::new(functions);
                self.with_functions(Some(UserFunction::Functions(functions)))
            }

            /// The user's own kernel, centred like those that are built in; a closure of two rows
            /// is a [`RowKernel`](crate::basis::RowKernel).
            pub fn kernel_function(self, kernel: impl KernelFunction + 'static) -> Self {
                self.with_functions(Some(UserFunction::Kernel(std::sync::Arc::new(kernel))))
            }
        }

        crate::method::common::limits_builder!($method);
    };
}
pub(crate) use common_builder;

/// The builder methods that all methods share.
macro_rules! limits_builder {
    ($method:ident) => {
        impl $method {
            /// The default settings.
            pub fn new() -> Self {
                Self::default()
            }

            pub(crate) fn with_functions(mut self, functions: Option<UserFunction>) -> Self {
                self.0.common = self.0.common.with_functions(functions);
                self
            }

            /// What is done about the intercept.
            pub fn fit_intercept(mut self, intercept: Intercept) -> Self {
                self.0.common.fit_intercept = intercept;
                self
            }

            /// Keeps at most so many terms.
            pub fn max_terms(mut self, terms: usize) -> Self {
                self.0.common.max_terms = Some(terms);
                self
            }

            /// Bound on the certificate.
            pub fn tol(mut self, tol: f64) -> Self {
                self.0.common.tol = tol;
                self
            }

            /// Iterations after which the fit ends in any case.
            pub fn max_iter(mut self, iterations: usize) -> Self {
                self.0.common.max_iter = iterations;
                self
            }

            /// Seconds after which the fit ends in any case.
            pub fn max_time(mut self, seconds: f64) -> Self {
                self.0.common.max_time = Some(seconds);
                self
            }

            /// Bytes that matrices may take.
            pub fn memory_limit(mut self, bytes: f64) -> Self {
                self.0.common.memory_limit = bytes;
                self
            }

            /// Seed of the choice of landmarks.
            pub fn random_state(mut self, seed: u64) -> Self {
                self.0.common.random_state = seed;
                self
            }

            /// Threads; the answer does not depend on it.
            pub fn n_jobs(mut self, threads: usize) -> Self {
                self.0.common.n_jobs = Some(threads);
                self
            }

            /// Fits a model.
            pub fn fit(&self, data: &Dataset<'_>) -> Result<Model> {
                self.fit_observed(data, &crate::engine::Silent)
            }
        }
    };
}
pub(crate) use limits_builder;
