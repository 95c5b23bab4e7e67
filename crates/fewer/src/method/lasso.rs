//! The Lasso (Tibshirani 1996), with its elastic-net, adaptive and relaxed forms.

use super::common::{BasisKind, Common, Fitted, Output, Shared, Wanted, common_builder};
use super::em::empty_outcome;
use super::penalised::{
    FewTerms, INEXACT_LAM_MAX, Laid, Lams, WANTED, check_penalty, for_each_lam, penalised_builder,
    penalty_factors,
};
use super::settings::{Intercept, merge_settings, parse_settings};
use crate::basis::{BlockFunction, Gamma, KernelFunction, Landmarks, UserFunction};
use crate::data::{Dataset, Moments, Target};
use crate::design::Design;
use crate::engine::coordinate::{Coordinate, Options, Penalty, RowSpace, from_products};
use crate::engine::{LeastSquares, Observer, Outcome, Right, Silent};
use crate::error::{Error, Result};
use crate::likelihood::SquaredError;
use crate::linalg::axpy;
use crate::model::Model;
use serde::{Deserialize, Serialize};

/// Linear regression with an L1 penalty: the Lasso and its relatives.
///
/// Minimises ½‖y − Xw‖² + λ‖w‖₁ over weights w and a free intercept; sums over rows are weighted
/// sums. λ is n times the `alpha` of scikit-learn. Every fit ends with a duality gap, relative to
/// the objective of the empty model: a bound on how far it is from the optimum.
///
/// | setting | default | meaning |
/// |---|---|---|
/// | `lam` | – | λ, in the units of y |
/// | `lam_ratio` | 0.1 | λ as a part of λ_max, the smallest λ with an empty model |
/// | `l1_ratio` | 1 | ρ of the elastic net, λ(ρ‖w‖₁ + (1 − ρ)‖w‖²/2s), s the deviation of y |
/// | `penalty_factors` | 1 | a factor on λ for each column; 0: no penalty |
/// | `positive` | false | whether weights must be at least 0 |
/// | `adaptive` | – | exponent a: factors 1/\|w\|ᵃ from a ridge regression (Zou 2006) |
/// | `relaxed` | false | refits the terms kept by least squares |
/// | `basis`, `degree`, `gamma`, `coef0` | `linear`, 2, `scale`, 1 | see [`BasisKind`] |
/// | `candidates`, `landmarks`, `centres` | – | centres of kernels |
/// | `standardize` | true | the penalty applies to columns of unit variance |
/// | `fit_intercept` | true | `true` (free), `false` or `"penalised"` |
/// | `max_terms` | – | keep at most so many terms, chosen as in [`SMLR`](super::SMLR) |
/// | `tol` | 1e-8 | bound on the relative duality gap |
/// | `max_iter`, `max_time` | 10 000, – | limits (passes over the columns, seconds) |
/// | `memory_limit`, `random_state`, `n_jobs` | 4e9, 0, all | see the other methods |
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::method::Lasso;
///
/// let x: Vec<f64> = (0..500).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let y: Vec<f64> = x.chunks(5).map(|x| 1.0 + 3.0 * x[0] - 2.0 * x[3]).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 5)?, &y)?;
///
/// let model = Lasso::new().lam_ratio(0.3).fit(&data)?;
/// let kept: Vec<&str> = model.terms().iter().map(|t| t.name.as_str()).collect();
/// assert_eq!(kept, ["x1", "x4"]);
/// assert!(model.report().certificate.value < 1e-8);
///
/// let path = Lasso::new().path(&data, None)?;
/// assert_eq!((path.len(), path[0].n_terms()), (100, 0));
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lasso(Settings);

common_builder!(Lasso);
penalised_builder!(Lasso, LAM_RATIO);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    lam: Option<f64>,
    lam_ratio: Option<f64>,
    l1_ratio: f64,
    penalty_factors: Option<Vec<f64>>,
    positive: bool,
    adaptive: Option<f64>,
    relaxed: bool,
    #[serde(skip)]
    common: Common,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lam: None,
            lam_ratio: None,
            l1_ratio: 1.0,
            penalty_factors: None,
            positive: false,
            adaptive: None,
            relaxed: false,
            common: Common::default(),
        }
    }
}

const LAM_RATIO: f64 = 0.1;
/// How far down λ goes at once.
const STEP: f64 = 0.1;

impl Lasso {
    /// Whether weights must be at least 0.
    pub fn positive(mut self, positive: bool) -> Self {
        self.0.positive = positive;
        self
    }

    /// Penalises a column by 1/|w|^exponent, with w from a ridge regression.
    pub fn adaptive(mut self, exponent: f64) -> Self {
        self.0.adaptive = Some(exponent);
        self
    }

    /// Refits the terms kept by least squares.
    pub fn relaxed(mut self, relaxed: bool) -> Self {
        self.0.relaxed = relaxed;
        self
    }

    /// Fits a model with a linear basis from moments alone.
    pub fn fit_moments(&self, moments: Moments) -> Result<Model> {
        self.check()?;
        let wanted = Wanted { gram: true, ..WANTED };
        self.0.common.with_moments(moments, wanted, &Silent, |shared| {
            let mut models = self.solve(&shared, &[], self.one_lam())?;
            models.pop().ok_or(Error::Interrupted)
        })
    }

    fn fit_each(
        &self,
        data: &Dataset<'_>,
        lams: Lams,
        observer: &dyn Observer,
    ) -> Result<Vec<Model>> {
        self.check()?;
        lams.check()?;
        let Target::Numbers(y) = data.target() else {
            return Err(Error::Unavailable {
                what: "regression on labels".into(),
                hint: "Lasso needs a number for each row; ProbitClassifier takes labels".into(),
            });
        };
        self.0.common.with_rows(data, y, data.weights(), WANTED, observer, |shared| {
            let target: Vec<f64> = y
                .iter()
                .map(|y| (y - shared.units.target_mean) / shared.units.target_unit())
                .collect();
            let models = self.solve(&shared, &target, lams)?;
            let finish =
                |model| Model { encoder: data.encoder().cloned(), named: data.is_named(), ..model };
            Ok(models.into_iter().map(finish).collect())
        })
    }

    fn check(&self) -> Result<()> {
        self.0.common.check()?;
        let factors = self.0.penalty_factors.as_deref();
        check_penalty(self.0.lam, self.0.lam_ratio, self.0.l1_ratio, factors)?;
        if let Some(exponent) = self.0.adaptive
            && !(exponent.is_finite() && exponent > 0.0)
        {
            return Err(Error::setting("adaptive", exponent, "a number above 0 is expected"));
        }
        Ok(())
    }

    /// The factor on λ of every column, in inner units: λ·factor is the L1 penalty of β.
    fn factors(&self, shared: &Shared<'_>, target: &[f64]) -> Result<Vec<f64>> {
        let mut factors = penalty_factors(self.0.penalty_factors.as_deref(), shared)?;
        if let Some(exponent) = self.0.adaptive {
            let weights = self.ridge_weights(shared, target)?;
            let size = |j: usize| (weights[j] * shared.scale[j]).abs();
            let largest = shared.usable.iter().map(|&j| size(j)).fold(0.0, f64::max);
            for &j in &shared.usable {
                // A weight far below the others gets a penalty that is as good as infinite, and is
                // not, for 0·∞ is no penalty.
                factors[j] *= (size(j) / largest).max(1e-12).powf(-exponent).min(1e100);
            }
        }
        Ok(factors)
    }

    /// The ridge regression of highest evidence, for all columns.
    fn ridge_weights(&self, shared: &Shared<'_>, target: &[f64]) -> Result<Vec<f64>> {
        let limit = self.0.common.memory_limit as usize;
        let mut data = match (shared.design, &shared.gram) {
            (Some(design), _) => LeastSquares::from_rows(design, limit, shared.observer),
            (None, gram) => {
                LeastSquares::from_gram(gram.clone().unwrap_or_default(), limit, shared.observer)
            }
        };
        let products: Vec<f64> = shared.usable.iter().map(|&j| shared.cross[j]).collect();
        let right = Right { products: &products, target };
        let ridge = data.ridge_of_highest_evidence(
            &shared.usable,
            shared.weight,
            shared.weight,
            &shared.squares,
            right,
        )?;
        let mut weights = vec![0.0; shared.scale.len()];
        match ridge {
            Some(ridge) => {
                shared.usable.iter().zip(ridge.beta).for_each(|(&j, b)| weights[j] = b);
            }
            // No ridge beats the empty model: the columns' own products say what there is.
            None => shared.usable.iter().for_each(|&j| {
                weights[j] = shared.cross[j] / shared.squares[j];
            }),
        }
        Ok(weights)
    }

    fn solve(&self, shared: &Shared<'_>, target: &[f64], lams: Lams) -> Result<Vec<Model>> {
        let constant = shared.units.target_deviation == 0.0;
        if constant || shared.usable.is_empty() {
            let note = if constant {
                "the target is constant: the model is that constant"
            } else {
                "no column varies: the model is a constant"
            };
            let square = if constant { 0.0 } else { shared.weight };
            let lams = lams.values(0.0, shared);
            let model = |lam: f64| {
                let outcome = empty_outcome(0.5 * square);
                self.model(shared, outcome, lam, square, vec![note.to_string()])
            };
            return lams.into_iter().map(model).collect();
        }
        let factors = self.factors(shared, target)?;
        let laid = Laid::new(&factors, self.0.l1_ratio, self.0.positive, shared);
        let space = match (shared.design, laid.ridge(&shared.usable)) {
            (Some(design), Some(l2)) => {
                let limit = self.0.common.memory_limit as usize;
                RowSpace::of(design, &shared.usable, l2, 1, true, limit, shared.observer)?
            }
            _ => None,
        };
        let of_rows = space.as_ref().map(|space| (space, space.design()));
        let mut solver = Solver::new(self, shared, target, &laid);
        solver.in_rows = of_rows.as_ref().map(|(space, design)| {
            let columns = (design, space.squares(), space.usable());
            (*space, solver.engine_on(columns, None))
        });
        let (largest, exact) = solver.lam_max()?;
        let lams = lams.values(largest, shared);
        let mut before = largest;
        for_each_lam(&lams, |lam| {
            if lam > 0.0 {
                solver.approach(lam, before)?;
            }
            before = lam;
            let (outcome, square) = solver.fit(lam)?;
            let mut notes = Vec::new();
            self.0.common.note_limits(&outcome, &mut notes);
            if !exact {
                notes.push(INEXACT_LAM_MAX.into());
            }
            if outcome.active.is_empty() && notes.is_empty() {
                notes.push(if lam < largest {
                    "no term is kept: the empty model is within tol of the best".to_string()
                } else {
                    format!("no term is kept: λ = {lam:.4e} is not below λ_max = {largest:.4e}")
                });
            }
            let (outcome, square) =
                if self.0.relaxed { solver.refit(outcome, square)? } else { (outcome, square) };
            self.model(shared, outcome, lam, square, notes)
        })
    }

    fn model(
        &self,
        shared: &Shared<'_>,
        outcome: Outcome,
        lam: f64,
        residual_square: f64,
        notes: Vec<String>,
    ) -> Result<Model> {
        let unit = shared.units.target_unit();
        let intercept = usize::from(self.0.common.fit_intercept != Intercept::None);
        // Terms of the Lasso are its degrees of freedom (Zou, Hastie & Tibshirani 2007).
        let left = shared.weight - (outcome.active.len() + intercept) as f64;
        let freedom = if left >= 1.0 { left } else { shared.weight };
        let noise_std = unit * (residual_square / freedom).sqrt();
        let fitted = Fitted {
            method: "Lasso",
            settings: merge_settings(&self.0.common, &self.0),
            outputs: vec![Output { outcome, intercept: 0.0 }],
            lam: Some(lam),
            notes,
            factor: unit * unit,
            shift: 0.0,
            uncertainty: None,
        };
        let model = self.0.common.model(shared, fitted)?;
        Ok(Model { noise_std: Some(noise_std), ..model })
    }
}

/// The engine with the penalties of the columns.
struct Solver<'s> {
    lasso: &'s Lasso,
    shared: &'s Shared<'s>,
    target: &'s [f64],
    laid: &'s Laid,
    engine: Option<Coordinate<'s>>,
    /// The same problem by its rows, where these are fewer than the columns, and the penalty is a
    /// ridge.
    in_rows: Option<(&'s RowSpace<'s>, Coordinate<'s>)>,
}

impl<'s> Solver<'s> {
    fn new(lasso: &'s Lasso, shared: &'s Shared<'s>, target: &'s [f64], laid: &'s Laid) -> Self {
        let mut solver = Self { lasso, shared, target, laid, engine: None, in_rows: None };
        solver.engine = solver.engine_of(&shared.usable);
        solver
    }

    /// The engine on some of the columns, at zero; none where only moments are known.
    fn engine_of<'u>(&self, usable: &'u [usize]) -> Option<Coordinate<'u>>
    where
        's: 'u,
    {
        let columns = (self.shared.design?, &self.shared.squares[..], usable);
        Some(self.engine_on(columns, Some(&self.shared.cross)))
    }

    /// The engine on a design with Σ w x² of its columns, of which some are used, at zero.
    fn engine_on<'u>(
        &self,
        (design, squares, usable): (&'u Design<'u>, &'u [f64], &'u [usize]),
        cross: Option<&[f64]>,
    ) -> Coordinate<'u>
    where
        's: 'u,
    {
        Coordinate::new(
            design,
            Box::new(SquaredError::new(self.target, design.weights())),
            squares,
            cross,
            usable,
            self.lasso.0.common.memory_limit as usize,
            self.shared.observer,
        )
    }

    fn options(&self) -> Options {
        Options {
            tol: self.lasso.0.common.tol,
            max_iter: self.lasso.0.common.max_iter,
            deadline: self.shared.deadline,
        }
    }

    /// The smallest λ at which no penalised column is kept, and whether it is exact.
    fn lam_max(&mut self) -> Result<(f64, bool)> {
        let options = self.options();
        let free = self.laid.has_free(&self.shared.usable);
        let walls = self.laid.wall(1);
        let mut exact = true;
        let pulls = match &mut self.engine {
            _ if !free => self.shared.cross.clone(),
            Some(engine) => {
                exact = engine.run(&walls, &options)?.termination.is_converged();
                engine.forget_penalty();
                engine.pulls()?.to_vec()
            }
            None => {
                let (outcome, _) = self.fit_on(&self.shared.usable, &walls, &options)?;
                exact = outcome.termination.is_converged();
                let mut pulls = self.shared.cross.clone();
                if let Some(gram) = &self.shared.gram {
                    let terms = outcome.active.iter().zip(&outcome.beta);
                    terms.for_each(|(&j, b)| axpy(-b, gram.column(j), &mut pulls));
                }
                pulls
            }
        };
        Ok((self.laid.lam_max(&pulls, self.shared), exact))
    }

    /// Goes most of the way to a λ far below the last one in steps: descent that begins with too
    /// many columns is slow to be rid of them.
    fn approach(&mut self, lam: f64, before: f64) -> Result<()> {
        if self.in_rows.is_some() {
            return Ok(());
        }
        let mut next = STEP * before;
        // Below this part of it λ is as good as none.
        let last = lam.max(1e-9 * before);
        while last < STEP * next {
            let penalty = self.laid.at(next, 1);
            // Nearer as less is left of the target.
            let tol = self.options().tol.max(1e-4 * next / before);
            let options = Options { tol, ..self.options() };
            if let Some(engine) = &mut self.engine {
                engine.run(&penalty, &options)?;
            }
            next *= STEP;
        }
        Ok(())
    }

    /// Weights, and the sum of squared residuals.
    fn fit(&mut self, lam: f64) -> Result<(Outcome, f64)> {
        let (penalty, options) = (self.laid.at(lam, 1), self.options());
        let all = match &mut self.engine {
            Some(engine) => {
                let by_rows = match &mut self.in_rows {
                    Some((space, rows)) if lam > 0.0 => {
                        space.solve(rows, engine, lam, &penalty, &options)?
                    }
                    _ => None,
                };
                let outcome = match by_rows {
                    Some(outcome) => outcome,
                    None => engine.run(&penalty, &options)?,
                };
                (outcome, engine.residual_square())
            }
            None => self.fit_on(&self.shared.usable, &penalty, &options)?,
        };
        let most = self.lasso.0.common.max_terms;
        FewTerms {
            shared: self.shared,
            penalty: &penalty,
            outcome: |fitted: &(Outcome, f64)| &fitted.0,
            refit: |kept: &[usize]| match self.by_rows(kept, lam, &options)? {
                Some(fitted) => Ok(fitted),
                None => self.fit_on(kept, &penalty, &options),
            },
            pulls: |fitted: &(Outcome, f64)| self.pulls(&fitted.0),
        }
        .limit(most, all)
    }

    /// The pulls on all columns at some weights.
    fn pulls(&self, Outcome { active, beta, .. }: &Outcome) -> Result<Vec<f64>> {
        let Shared { cross, usable, gram, observer, .. } = self.shared;
        observer.check()?;
        let mut pulls = cross.clone();
        match (self.shared.design, gram) {
            (Some(design), _) => {
                let fitted = design.apply(active, beta);
                let explained = design.apply_transpose(usable, &fitted);
                usable.iter().zip(explained).for_each(|(&j, e)| pulls[j] -= e);
            }
            (None, Some(gram)) => {
                for (&j, b) in active.iter().zip(beta) {
                    axpy(-b, gram.column(j), &mut pulls);
                }
            }
            (None, None) => {}
        }
        Ok(pulls)
    }

    /// A fit on some of the columns by the rows, where these are fewer, and the penalty is a ridge.
    fn by_rows(
        &self,
        kept: &[usize],
        lam: f64,
        options: &Options,
    ) -> Result<Option<(Outcome, f64)>> {
        let Shared { design: Some(design), observer, .. } = *self.shared else { return Ok(None) };
        let Some(l2) = self.laid.ridge(kept).filter(|_| lam > 0.0) else { return Ok(None) };
        let limit = self.lasso.0.common.memory_limit as usize;
        let Some(space) = RowSpace::of(design, kept, l2, 1, true, limit, observer)? else {
            return Ok(None);
        };
        let Some(mut engine) = self.engine_of(kept) else { return Ok(None) };
        let of_rows = space.design();
        let mut rows = self.engine_on((&of_rows, space.squares(), space.usable()), None);
        let penalty = self.laid.at(lam, 1);
        let outcome = space.solve(&mut rows, &mut engine, lam, &penalty, options)?;
        Ok(outcome.map(|outcome| (outcome, engine.residual_square())))
    }

    /// A fit on some of the columns, from zero.
    fn fit_on(
        &self,
        usable: &[usize],
        penalty: &Penalty,
        options: &Options,
    ) -> Result<(Outcome, f64)> {
        if let Some(mut engine) = self.engine_of(usable) {
            let outcome = engine.run(penalty, options)?;
            return Ok((outcome, engine.residual_square()));
        }
        let Shared { cross, weight, observer, .. } = self.shared;
        let gram = self.shared.gram.clone().unwrap_or_default();
        let outcome = from_products(&gram, cross, *weight, usable, penalty, options, *observer)?;
        let terms = outcome.active.iter().zip(&outcome.beta);
        let cost: f64 = terms.map(|(&j, b)| penalty.value(j, *b)).sum();
        let square = 2.0 * (outcome.objective - cost).max(0.0);
        Ok((outcome, square))
    }

    /// Least squares on the terms of an outcome.
    fn refit(&self, outcome: Outcome, square: f64) -> Result<(Outcome, f64)> {
        if outcome.active.is_empty() {
            return Ok((outcome, square));
        }
        let (refitted, square) =
            self.fit_on(&outcome.active, &self.laid.none(), &self.options())?;
        Ok((Outcome { active: refitted.active, beta: refitted.beta, ..outcome }, square))
    }
}
