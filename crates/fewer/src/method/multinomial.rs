//! What the methods of multinomial logistic regression share: settings, solvers, classes.

use super::classes::{ClassWeight, check_classes, row_weights};
use super::common::{Common, Fitted, Output, Shared, Uncertainty, Wanted};
use super::em::empty_outcome;
use super::laplace::{Mode, laplace, outputs_at};
use super::penalised::{
    FewTerms, INEXACT_LAM_MAX, Laid, Lams, WANTED, check_penalty, for_each_lam, penalty_factors,
};
use super::settings::{Intercept, merge_settings};
use super::symmetric::choose_shifts;
use crate::data::{Dataset, Target};
use crate::design::Design;
use crate::engine::coordinate::{Coordinate, Options, Penalty, RowSpace, Schedule};
use crate::engine::{Observer, Outcome, Termination, bohning};
use crate::error::{Error, Result};
use crate::likelihood::Multinomial;
use crate::linalg::Matrix;
use crate::model::{Link, Model};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which classes have weights of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameterization {
    /// All but the last, the reference, as in Krishnapuram 2005.
    #[default]
    Reference,
    /// All of them, so that no class is special: as in glmnet and scikit-learn. Of weights that are
    /// equally good, those with a zero in each column, or of mean zero where it has no penalty.
    Symmetric,
}

/// The way to the optimum, which is the same by all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Solver {
    /// The fastest: Newton's method on working sets of columns, or L-BFGS where many keep a weight.
    #[default]
    Auto,
    /// All weights at once by a quadratic bound (Krishnapuram 2005, eqs 7, 10 and 13), with
    /// over-relaxation.
    Bound,
    /// One weight at a time by a quadratic bound (Krishnapuram 2005, eqs 15 and 16).
    Componentwise,
}

const SEPARABLE: &str = "the classes are told apart without error, and without a penalty larger \
                         weights always do it better";
const FREELY_SEPARABLE: &str = "columns without a penalty tell the classes apart without error, and \
                                larger weights always do it better";
/// Margins below this part of the largest output are rounding.
const MARGIN: f64 = 1e-9;
/// Below this part of λ_max rounding hides the penalty.
const TINY: f64 = 1e-10;
const ENDLESS: &str = "the weights have no standard errors: without a penalty no weights are best";
const SINGULAR: &str = "the weights have no standard errors: terms kept say the same, or classes are \
                        told apart without error; raise λ, or lower l1_ratio";

/// The settings of multinomial logistic regression.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub lam: Option<f64>,
    pub lam_ratio: Option<f64>,
    pub l1_ratio: f64,
    pub penalty_factors: Option<Vec<f64>>,
    pub parameterization: Parameterization,
    pub solver: Solver,
    pub schedule: Schedule,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weight: Option<ClassWeight>,
    pub uncertainty: bool,
    #[serde(skip_serializing)]
    pub start: Option<Start>,
    #[serde(skip)]
    pub common: Common,
}

/// Weights to start from, as a model has them: the positions of its terms among the functions of
/// the basis, and their weights in each output.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Start {
    positions: Vec<usize>,
    weights: Vec<Vec<f64>>,
}

impl Start {
    pub fn of(model: &Model) -> Self {
        Self {
            positions: model.terms().iter().map(|t| t.index).collect(),
            weights: model.terms().iter().map(|t| t.weights.clone()).collect(),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lam: None,
            lam_ratio: None,
            l1_ratio: 1.0,
            penalty_factors: None,
            parameterization: Parameterization::default(),
            solver: Solver::default(),
            schedule: Schedule::default(),
            class_weight: None,
            uncertainty: false,
            start: None,
            common: Common::default(),
        }
    }
}

impl Settings {
    /// Fits a model for each λ.
    pub fn fit_each(
        &self,
        method: &'static str,
        data: &Dataset<'_>,
        lams: Lams,
        observer: &dyn Observer,
    ) -> Result<Vec<Model>> {
        self.common.check()?;
        let factors = self.penalty_factors.as_deref();
        check_penalty(self.lam, self.lam_ratio, self.l1_ratio, factors)?;
        lams.check()?;
        data.check_target()?;
        let Target::Labels { classes, codes } = data.target() else {
            return Err(Error::Unavailable {
                what: "classification of numbers".into(),
                hint: format!("{method} needs a label for each row; Lasso takes numbers"),
            });
        };
        if let Err(problem) = check_classes(classes, codes, data.weights()) {
            // A value that is no number is the first thing to know.
            data.check()?;
            return Err(problem);
        }
        let weights = row_weights(self.class_weight.as_ref(), classes, codes, data.weights())?;
        let weights = weights.as_deref().or(data.weights());
        // What the empty model of two classes leaves unexplained, but for an intercept.
        let two = classes.len() == 2 && data.offset().is_none();
        let half = |code: &usize| if *code == 0 { 0.5 } else { -0.5 };
        let left: Vec<f64> =
            if two { codes.iter().map(half).collect() } else { vec![0.0; codes.len()] };
        let gram = self.solver == Solver::Bound;
        let wanted = Wanted { gram, offset: true, plain_target: true, ..WANTED };
        self.common.with_rows(data, &left, weights, wanted, observer, |shared| {
            let design = shared.design.ok_or_else(|| Error::Unavailable {
                what: "this fit from moments".into(),
                hint: "only Gaussian noise can do without the rows".into(),
            })?;
            let offset = data.offset();
            let classified = Classified { codes, classes: classes.len(), weights, offset };
            let (laid, outputs) = self.laid(&shared, classes.len())?;
            let laid = &laid;
            let space = match laid.ridge(&shared.usable).filter(|_| self.solver == Solver::Auto) {
                Some(l2) => {
                    let limit = self.common.memory_limit as usize;
                    RowSpace::of(design, &shared.usable, l2, outputs, false, limit, observer)?
                }
                None => None,
            };
            let of_rows = space.as_ref().map(|space| (space, space.design()));
            let problem = Problem { settings: self, shared: &shared, data: classified, outputs };
            let pulls = two.then_some(&shared.cross[..]);
            let engine = problem.engine_on(design, &shared.squares, pulls, &shared.usable)?;
            let in_rows = match &of_rows {
                Some((space, design)) => {
                    let engine =
                        problem.engine_on(design, space.squares(), None, space.usable())?;
                    Some((*space, engine))
                }
                None => None,
            };
            let models = Fits { method, problem, design, laid, engine, in_rows }.models(lams)?;
            let finish = |model| Model {
                encoder: data.encoder().cloned(),
                named: data.is_named(),
                classes: Some(classes.clone()),
                link: Link::Logit,
                ..model
            };
            Ok(models.into_iter().map(finish).collect())
        })
    }

    /// λ laid on the columns, and how many outputs there are for so many classes.
    fn laid(&self, shared: &Shared<'_>, classes: usize) -> Result<(Laid, usize)> {
        let factors = penalty_factors(self.penalty_factors.as_deref(), shared)?;
        let mut laid = Laid::new(&factors, self.l1_ratio, false, shared);
        let outputs = match (self.parameterization, classes) {
            (Parameterization::Reference, classes) => classes - 1,
            (Parameterization::Symmetric, 2) => {
                // Weights ±w/2 of two classes cost |w| and w²/4: one output says it all.
                laid.halve_l2();
                1
            }
            (Parameterization::Symmetric, classes) => classes,
        };
        Ok((laid, outputs))
    }
}

/// The rows with their classes.
#[derive(Clone, Copy)]
struct Classified<'s> {
    codes: &'s [usize],
    classes: usize,
    weights: Option<&'s [f64]>,
    offset: Option<&'s Matrix>,
}

impl Classified<'_> {
    /// Below this −Σ w log p no row can have a probability of a half or less.
    fn least_error(&self) -> f64 {
        let weights = self.weights.unwrap_or_default().iter().copied().filter(|w| *w > 0.0);
        let least = weights.reduce(f64::min).unwrap_or(1.0);
        std::f64::consts::LN_2 * least
    }

    /// Whether the class of every row that counts leads in these outputs: multiples of them then
    /// have a −Σ w log p as small as one likes.
    fn leads(&self, eta: &Matrix) -> bool {
        let outputs = eta.columns();
        let largest = eta.as_slice().iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        // The last class may have no output.
        let value = |i: usize, c: usize| if c < outputs { eta[(i, c)] } else { 0.0 };
        let margin = |i: usize| {
            let others = (0..self.classes).filter(|c| *c != self.codes[i]);
            let most = others.map(|c| value(i, c)).fold(f64::NEG_INFINITY, f64::max);
            value(i, self.codes[i]) - most
        };
        let counts = |i: &usize| self.weights.is_none_or(|w| w[*i] > 0.0);
        (0..eta.rows()).filter(counts).all(|i| margin(i) > MARGIN * largest)
    }

    /// What is added to so many outputs.
    fn offset_of(&self, outputs: usize) -> Option<Matrix> {
        let offset = self.offset?;
        let (rows, last) = (offset.rows(), offset.columns() - 1);
        let mut out = Matrix::zeros(rows, outputs);
        for c in 0..outputs {
            for i in 0..rows {
                // One column speaks for the second class, and outputs are against the last.
                let own = if last == 0 { 0.0 } else { offset[(i, c)] };
                let other = if outputs > last && last > 0 { 0.0 } else { offset[(i, last)] };
                out[(i, c)] = own - other;
            }
        }
        Some(out)
    }
}

/// What is to be fitted.
#[derive(Clone, Copy)]
struct Problem<'s> {
    settings: &'s Settings,
    shared: &'s Shared<'s>,
    data: Classified<'s>,
    outputs: usize,
}

impl<'s> Problem<'s> {
    /// The fit of an engine on some columns by its rows, where these are fewer, and the penalty is
    /// a ridge.
    fn by_rows(
        &self,
        (design, laid, kept): (&Design<'_>, &Laid, &[usize]),
        engine: &mut Coordinate<'_>,
        lam: f64,
        options: &Options,
    ) -> Result<Option<Outcome>> {
        let auto = self.settings.solver == Solver::Auto && lam > 0.0;
        let Some(l2) = laid.ridge(kept).filter(|_| auto) else { return Ok(None) };
        let limit = self.settings.common.memory_limit as usize;
        let observer = self.shared.observer;
        let space = RowSpace::of(design, kept, l2, self.outputs, false, limit, observer)?;
        let Some(space) = space else { return Ok(None) };
        let of_rows = space.design();
        let mut rows = self.engine_on(&of_rows, space.squares(), None, space.usable())?;
        space.solve(&mut rows, engine, lam, &laid.at(lam, self.outputs), options)
    }

    /// The engine on some of these columns, at zero; `squares` are Σ w x² of all of them, and
    /// `pulls` those on them there, where they are known.
    fn engine_on<'u>(
        &self,
        design: &'u Design<'u>,
        squares: &'u [f64],
        pulls: Option<&[f64]>,
        usable: &[usize],
    ) -> Result<Coordinate<'u>>
    where
        's: 'u,
    {
        let Self { settings, shared, data, outputs } = *self;
        let engine = Coordinate::new(
            design,
            Box::new(Multinomial::new(data.codes, data.classes, outputs, data.weights)),
            squares,
            pulls,
            usable,
            settings.common.memory_limit as usize,
            shared.observer,
        );
        let engine = match data.offset_of(outputs) {
            Some(offset) => engine.with_offset(offset),
            None => engine,
        };
        let engine = match settings.solver {
            Solver::Auto => engine,
            Solver::Bound | Solver::Componentwise => {
                engine.by_components(settings.schedule, settings.common.random_state)
            }
        };
        match settings.common.fit_intercept {
            Intercept::Free => engine.with_intercepts(),
            Intercept::None | Intercept::Penalised => Ok(engine),
        }
    }

    /// Goes to the optimum by the solver that is set.
    fn solve(
        &self,
        engine: &mut Coordinate<'_>,
        penalty: &Penalty,
        options: &Options,
    ) -> Result<Outcome> {
        match self.settings.solver {
            Solver::Auto | Solver::Componentwise => engine.run(penalty, options),
            Solver::Bound => {
                let limit = self.settings.common.memory_limit as usize;
                bohning::run(engine, penalty, self.shared.gram.as_deref(), options, limit)
            }
        }
    }
}

/// A problem whose fits for one λ after another start from each other.
struct Fits<'s> {
    method: &'static str,
    problem: Problem<'s>,
    design: &'s Design<'s>,
    laid: &'s Laid,
    engine: Coordinate<'s>,
    /// The same problem by its rows, where these are fewer than the columns, and the penalty is a
    /// ridge.
    in_rows: Option<(&'s RowSpace<'s>, Coordinate<'s>)>,
}

/// Pulls of free columns that are nothing beside those of the others, and what they may do to λ_max.
const FREE_ROUNDING: f64 = 1e-8;

/// Weights, and the intercepts of the outputs.
type Solution = (Outcome, Vec<f64>);

impl Fits<'_> {
    fn options(&self) -> Options {
        Options {
            tol: self.problem.settings.common.tol,
            max_iter: self.problem.settings.common.max_iter,
            deadline: self.problem.shared.deadline,
        }
    }

    fn models(&mut self, lams: Lams) -> Result<Vec<Model>> {
        let shared = self.problem.shared;
        let (mut exact, mut slack, mut endless) = (true, 1.0, false);
        if self.laid.has_free(&shared.usable) {
            let wall = self.laid.wall(self.problem.outputs);
            let outcome = self.engine.run(&wall, &self.options())?;
            self.engine.forget_penalty();
            // Steps that gain less than rounding end before the pulls of free columns are nothing.
            let strongest = |pulls: &[f64], free: bool| {
                let own = pulls.iter().zip(&wall.l1).filter(|(_, l1)| (**l1 == 0.0) == free);
                own.fold(0.0_f64, |most, (pull, _)| most.max(pull.abs()))
            };
            let pulls = self.engine.pulls()?;
            exact = outcome.termination.is_converged()
                || strongest(pulls, true) <= FREE_ROUNDING * strongest(pulls, false);
            slack += FREE_ROUNDING;
            let (active, beta) = self.engine.weights();
            let intercepts = self.intercepts_of(&self.engine);
            endless = self.engine.value() < self.problem.data.least_error()
                || self.leads(&active, &beta, &intercepts);
        }
        let largest = slack * self.laid.lam_max(self.engine.pulls()?, shared);
        let lams = lams.values(largest, shared);
        if let Some(start) = &self.problem.settings.start {
            self.start_from(start, lams.iter().copied().fold(0.0, f64::max))?;
        }
        for_each_lam(&lams, |lam| {
            let (outcome, intercepts) = if shared.usable.is_empty() {
                (empty_outcome(self.engine.value()), self.intercepts_of(&self.engine))
            } else {
                self.fit(lam)?
            };
            let mut notes = Vec::new();
            let apart = lam == 0.0
                && (outcome.objective < self.problem.data.least_error()
                    || self.leads(&outcome.active, &outcome.beta, &intercepts));
            let separable = apart || endless;
            let stalled = outcome.termination == Termination::Stalled;
            // More steps would only make larger weights.
            if !(separable && (lam == 0.0 || stalled)) {
                self.problem.settings.common.note_limits(&outcome, &mut notes);
            }
            if stalled && lam > 0.0 && lam <= TINY * largest {
                notes.push(format!(
                    "the likely cause is λ = {lam:.1e}, so far below λ_max = {largest:.1e} that \
                     rounding hides the penalty; give a larger λ, or 0 for none"
                ));
            }
            if !exact {
                notes.push(INEXACT_LAM_MAX.into());
            }
            if separable {
                let (what, hint) = match lam == 0.0 {
                    true => (SEPARABLE, "give a λ above 0"),
                    false => (FREELY_SEPARABLE, "give them penalty factors above 0"),
                };
                let ended = self.ended_by(outcome.termination);
                notes.push(format!("{what}: these are where {ended} ended the fit; {hint}"));
            }
            if shared.usable.is_empty() {
                notes.push("no column varies: the model is a constant".to_string());
            } else if outcome.active.is_empty() && notes.is_empty() {
                notes.push(if lam < largest || self.problem.settings.l1_ratio == 0.0 {
                    "no term is kept: the empty model is within tol of the best".to_string()
                } else {
                    format!("no term is kept: λ = {lam:.4e} is not below λ_max = {largest:.4e}")
                });
            }
            let mut uncertainty = None;
            if self.problem.settings.uncertainty && lams.len() == 1 {
                if separable {
                    notes.push(ENDLESS.into());
                } else {
                    uncertainty = self.uncertainty(lam, &outcome, &intercepts)?;
                    if uncertainty.is_none() {
                        notes.push(SINGULAR.into());
                    }
                }
            }
            let fitted = Fitted {
                method: self.method,
                settings: merge_settings(&self.problem.settings.common, self.problem.settings),
                outputs: self.by_class(&outcome, &intercepts),
                lam: Some(lam),
                notes,
                factor: 1.0,
                shift: 0.0,
                uncertainty,
            };
            let mut model = self.problem.settings.common.model(shared, fitted)?;
            model.report.offset = self.problem.data.offset.is_some();
            model.report.separable = separable;
            Ok(model)
        })
    }

    /// Whether weights, by themselves, tell all classes apart.
    fn leads(&self, active: &[usize], beta: &[f64], intercepts: &[f64]) -> bool {
        let (outputs, columns) = (self.problem.outputs, self.problem.shared.scale.len());
        let eta = outputs_at(self.design, (active, beta), Some(intercepts), outputs, columns);
        self.problem.data.leads(&eta)
    }

    fn ended_by(&self, termination: Termination) -> String {
        let common = &self.problem.settings.common;
        match termination {
            Termination::IterationLimit => format!("max_iter = {}", common.max_iter),
            Termination::TimeLimit => format!("max_time = {}", common.max_time.unwrap_or(0.0)),
            Termination::Stalled => "rounding".into(),
            Termination::Converged | Termination::Degenerate => "tol".into(),
        }
    }

    /// How sure the data are of the weights, by Laplace's approximation.
    fn uncertainty(
        &self,
        lam: f64,
        outcome: &Outcome,
        intercepts: &[f64],
    ) -> Result<Option<Uncertainty>> {
        let l2 = self.laid.at(lam, self.problem.outputs).l2;
        let mode = Mode {
            active: &outcome.active,
            beta: &outcome.beta,
            intercepts: self.engine.intercepts().map(|_| intercepts),
            offset: self.problem.data.offset_of(self.problem.outputs),
            curvature: outcome.active.iter().map(|&v| l2[v]).collect(),
        };
        let Classified { codes, classes, weights, .. } = self.problem.data;
        let mut likelihood = Multinomial::new(codes, classes, self.problem.outputs, weights);
        let limit = self.problem.settings.common.memory_limit as usize;
        laplace(self.problem.shared, self.design, &mut likelihood, &mode, limit)
    }

    fn fit(&mut self, lam: f64) -> Result<Solution> {
        let problem = self.problem;
        let (penalty, options) = (self.laid.at(lam, problem.outputs), self.options());
        let engine = &mut self.engine;
        let by_rows = match &mut self.in_rows {
            Some((space, rows)) if lam > 0.0 => {
                space.solve(rows, engine, lam, &penalty, &options)?
            }
            _ => None,
        };
        let outcome = match by_rows {
            Some(outcome) => outcome,
            None => problem.solve(engine, &penalty, &options)?,
        };
        let most = problem.settings.common.max_terms;
        let limited = most.is_some();
        let residual = |engine: &Coordinate<'_>| limited.then(|| engine.residual().clone());
        let all = (outcome, self.intercepts_of(&self.engine), residual(&self.engine));
        let (mut outcome, intercepts, _) = FewTerms {
            shared: problem.shared,
            penalty: &penalty,
            outcome: |solution: &(Outcome, Vec<f64>, Option<Matrix>)| &solution.0,
            refit: |kept: &[usize]| {
                let mut engine =
                    problem.engine_on(self.design, &problem.shared.squares, None, kept)?;
                let of = (self.design, self.laid, kept);
                let outcome = match problem.by_rows(of, &mut engine, lam, &options)? {
                    Some(outcome) => outcome,
                    None => problem.solve(&mut engine, &penalty, &options)?,
                };
                Ok((outcome, self.intercepts_of(&engine), residual(&engine)))
            },
            pulls: |(_, _, residual): &(Outcome, Vec<f64>, Option<Matrix>)| {
                let columns = problem.shared.scale.len();
                let mut pulls = vec![0.0; columns * problem.outputs];
                if let Some(residual) = residual {
                    problem.shared.observer.check()?;
                    let usable = &problem.shared.usable;
                    let found = self.design.apply_transpose_each(usable, residual);
                    for c in 0..problem.outputs {
                        for (k, &j) in usable.iter().enumerate() {
                            pulls[c * columns + j] = found[(k, c)];
                        }
                    }
                }
                Ok(pulls)
            },
        }
        .limit(most, all)?;
        if problem.outputs == problem.data.classes {
            let columns = problem.shared.scale.len();
            choose_shifts(&mut outcome, &penalty, columns, problem.outputs);
        }
        Ok((outcome, intercepts))
    }

    /// Starts from weights, as far as they are for functions and classes that there are, and as
    /// they are better at λ than none.
    fn start_from(&mut self, start: &Start, lam: f64) -> Result<()> {
        let columns = self.problem.shared.scale.len();
        let sign = self.sign();
        let mut weights = BTreeMap::new();
        for (&j, of_classes) in start.positions.iter().zip(&start.weights) {
            if self.problem.shared.usable.binary_search(&j).is_ok() {
                let unit = self.problem.shared.units.deviation[j]
                    / self.problem.shared.units.target_unit();
                for (c, w) in of_classes.iter().enumerate().take(self.problem.outputs) {
                    if *w != 0.0 && w.is_finite() {
                        weights.insert(c * columns + j, sign * w * unit);
                    }
                }
            }
        }
        let (active, beta): (Vec<usize>, Vec<f64>) = weights.into_iter().unzip();
        self.engine.move_if_better(&active, &beta, &self.laid.at(lam, self.problem.outputs))
    }

    /// Two classes have one function, that of the first against the second, and are told by that
    /// of the second: turn it round.
    fn sign(&self) -> f64 {
        if self.problem.outputs == 1 { -1.0 } else { 1.0 }
    }

    fn intercepts_of(&self, engine: &Coordinate<'_>) -> Vec<f64> {
        engine.intercepts().map_or(vec![0.0; self.problem.outputs], <[f64]>::to_vec)
    }

    /// The outcome of each class; of two classes that of the second, as the other classifiers do.
    fn by_class(&self, outcome: &Outcome, intercepts: &[f64]) -> Vec<Output> {
        let columns = self.problem.shared.scale.len();
        let two = self.problem.outputs == 1;
        let sign = self.sign();
        let of_class = |c: usize| {
            let own =
                || outcome.active.iter().zip(&outcome.beta).filter(|(v, _)| **v / columns == c);
            let active = own().map(|(v, _)| v % columns).collect();
            let beta = own().map(|(_, b)| sign * b).collect();
            Output {
                // The classes share one objective, and one way to it.
                outcome: if c == 0 {
                    Outcome { active, beta, ..outcome.clone() }
                } else {
                    Outcome { active, beta, objective: 0.0, trace: Vec::new(), ..outcome.clone() }
                },
                intercept: sign * intercepts.get(c).copied().unwrap_or(0.0),
            }
        };
        (0..if two { 1 } else { self.problem.data.classes }).map(of_class).collect()
    }
}

/// The builder methods of multinomial logistic regression: a method is a tuple of [`Settings`],
/// and takes so large a part of λ_max where λ is not given.
macro_rules! multinomial_builder {
    ($method:ident, $lam_ratio:expr) => {
        crate::method::common::common_builder!($method);
        crate::method::penalised::penalised_builder!($method, $lam_ratio);

        impl $method {
            /// Weights of the classes, on top of the rows' own.
            pub fn class_weight(mut self, weight: ClassWeight) -> Self {
                self.0.class_weight = Some(weight);
                self
            }

            /// Whether the model says how sure it is of its weights, by Laplace's approximation.
            ///
            /// ```
            /// # use fewer::data::{Dataset, DenseView, Target};
            /// # use fewer::method::SMLR;
            /// # let x: Vec<f64> = (0..600).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
            /// # let wave = |i: usize| 0.5 * ((i * i) as f64 * 0.3).cos();
            /// # let class = |(i, x): (usize, &[f64])| if x[0] + wave(i) > 0.2 { "high" } else { "low" };
            /// # let labels: Vec<&str> = x.chunks(3).enumerate().map(class).collect();
            /// # let data = Dataset::new(DenseView::by_rows(&x, 200, 3)?, Target::labels(labels))?;
            /// let model = SMLR::new().lam(1.0).uncertainty(true).fit(&data)?;
            /// let (low, high) = model.credible_intervals(0.95)?[0][0].unwrap();
            /// assert!(low < model.terms()[0].weight() && model.terms()[0].weight() < high);
            /// let far = [100.0, 0.0, 0.0];
            /// let far = DenseView::by_rows(&far, 1, 3)?;
            /// let (plain, moderated) =
            ///     (model.predict_probabilities(far)?, model.moderated_probabilities(far)?);
            /// assert!(moderated[(0, 1)] > 1e6 * plain[(0, 1)]);
            /// # Ok::<(), fewer::Error>(())
            /// ```
            pub fn uncertainty(mut self, uncertainty: bool) -> Self {
                self.0.uncertainty = uncertainty;
                self
            }

            /// Starts from the weights of a model of the same classes and functions.
            pub fn start(mut self, model: &Model) -> Self {
                self.0.start = Some(Start::of(model));
                self
            }

            /// The way to the optimum, which is the same by all of them.
            pub fn solver(mut self, solver: Solver) -> Self {
                self.0.solver = solver;
                self
            }

            /// The order in which the component-wise solver visits weights.
            pub fn schedule(mut self, schedule: Schedule) -> Self {
                self.0.schedule = schedule;
                self
            }

            /// Which classes have weights of their own.
            pub fn parameterization(mut self, which: Parameterization) -> Self {
                self.0.parameterization = which;
                self
            }

            fn fit_each(
                &self,
                data: &Dataset<'_>,
                lams: Lams,
                observer: &dyn Observer,
            ) -> Result<Vec<Model>> {
                self.0.fit_each(stringify!($method), data, lams, observer)
            }
        }
    };
}
pub(crate) use multinomial_builder;
