//! The bounds of a model on its data, where their assumptions hold.

use super::gibbs::laplacians;
use super::{
    GibbsError, Rademacher, bernoulli_inverse, best_rate, exact_error, gaussian_error, margin_loss,
    pac_bayes, rademacher, smallest_laplacian_divergence,
};
use crate::data::{Encoder, Features, Target};
use crate::design::{Columns, Design};
use crate::engine::{Observer, Silent};
use crate::error::{Error, Result};
use crate::linalg::{Tile, cross_products};
use crate::model::{Model, number};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::Value;

/// Rows whose errors are computed at a time.
const ROWS: usize = 64;
/// Part of δ for the error of the Gibbs classifier to be larger than draws of it allow.
const DRAWN_PART: f64 = 0.1;
/// Draws of the weights that are held at a time.
const DRAWS: usize = 256;

/// How bounds are computed; all of it must be fixed before the data is seen.
#[derive(Debug, Clone)]
pub struct BoundOptions {
    /// How the error of the Gibbs classifier is computed.
    pub gibbs: GibbsError,
    /// Draws of a Monte Carlo estimate.
    pub draws: usize,
    /// Seed of the draws.
    pub seed: u64,
    /// λ of the prior, where it is not that of the fit: it makes a λ that was chosen on the data
    /// harmless.
    pub lam: Option<f64>,
    /// Margin s below which rows count as errors in the Rademacher bound, in (0, 1].
    pub margin: f64,
    /// Smallest divergence g that the Rademacher bound tells apart.
    pub level: f64,
    /// Ratio r > 1 of the levels above it.
    pub ratio: f64,
}

impl Default for BoundOptions {
    fn default() -> Self {
        Self {
            gibbs: GibbsError::default(),
            draws: 10_000,
            seed: 0,
            lam: None,
            margin: 0.5,
            level: 1.0,
            ratio: 2.0,
        }
    }
}

impl BoundOptions {
    pub(super) fn check(&self, delta: f64) -> Result<()> {
        let within = |name: &str, value: f64, good: bool, expected: &str| match good {
            true => Ok(()),
            false => Err(Error::setting(name, value, expected)),
        };
        let part = delta > 0.0 && delta < 1.0;
        within("delta", delta, part, "a number between 0 and 1 is expected")?;
        let lam = self.lam.unwrap_or(1.0);
        within("lam", lam, lam.is_finite() && lam > 0.0, "a number above 0 is expected")?;
        let margin = self.margin > 0.0 && self.margin <= 1.0;
        within("margin", self.margin, margin, "a number in (0, 1] is expected")?;
        let level = self.level.is_finite() && self.level > 0.0;
        within("level", self.level, level, "a number above 0 is expected")?;
        let ratio = self.ratio.is_finite() && self.ratio > 1.0;
        within("ratio", self.ratio, ratio, "a number above 1 is expected")?;
        within("draws", self.draws as f64, self.draws > 0, "at least 1 is expected")
    }
}

/// A bound on the part of new rows that will be told wrongly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bound {
    /// The bound, which may be above 1.
    pub value: f64,
    /// Whether it says nothing: it is at least 1.
    pub vacuous: bool,
}

impl Bound {
    pub(super) fn new(value: f64) -> Self {
        Self { value, vacuous: value >= 1.0 }
    }
}

/// What a model's errors on its data say about those to come.
///
/// Each bound holds with probability 1 − δ over data sets of this size, for new rows of the same
/// source; all of them at once hold with what is left of δ for each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RiskBound {
    /// Rows.
    pub rows: usize,
    /// δ: how often a bound may fail.
    pub delta: f64,
    /// λ of the prior.
    pub lam: f64,
    /// Divergence of the posterior from the prior, the smallest over its rates.
    pub kl: f64,
    /// Part of the rows that the model itself tells wrongly.
    pub point_error: f64,
    /// Mean part of the rows that the Gibbs classifier tells wrongly, which draws its weights from
    /// the posterior anew for each row.
    pub gibbs_error: f64,
    /// How that was computed.
    pub gibbs: GibbsError,
    /// PAC-Bayes bound of the Gibbs classifier (theorem 2).
    pub pac_bayes_gibbs: Bound,
    /// PAC-Bayes bound of the model itself: twice that of the Gibbs classifier.
    pub pac_bayes_point: Bound,
    /// Rademacher bound of the model itself (theorem 1).
    pub rademacher_point: Bound,
    /// The parts of the Rademacher bound.
    pub rademacher: Rademacher,
    /// What to keep in mind.
    pub notes: Vec<String>,
}

impl std::fmt::Display for RiskBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "errors of new rows, each bound with {} confidence ({} rows)",
            confidence(self.delta),
            self.rows
        )?;
        let width = 22;
        writeln!(f, "{:<width$}  {:>8}  {:>8}", "", "sample", "bound")?;
        let mut line = |name: &str, error: f64, bound: Bound| {
            let word = if bound.vacuous { "  vacuous" } else { "" };
            writeln!(f, "{name:<width$}  {error:>8.4}  {:>8.4}{word}", bound.value)
        };
        line("model, PAC-Bayes", self.point_error, self.pac_bayes_point)?;
        line("model, Rademacher", self.point_error, self.rademacher_point)?;
        line("Gibbs, PAC-Bayes", self.gibbs_error, self.pac_bayes_gibbs)?;
        writeln!(f, "{:<width$}  {:>8.4}", "divergence (KL)", self.kl)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

/// 1 − δ in words, with as many digits as it takes to tell it from certainty.
pub(super) fn confidence(delta: f64) -> String {
    let sure = number(100.0 * (1.0 - delta));
    if sure == "100" { format!("1 - {}", number(delta)) } else { format!("{sure} %") }
}

/// What is said where no bound says anything.
pub(super) const VACUOUS: &str = "no bound on the model's own error is below 1: more rows, fewer \
                                  columns or another λ, fixed beforehand, would be needed";

/// The prior that a model was fitted with, known to be fixed beforehand.
pub(super) struct FixedPrior {
    /// λ, and λ times the penalty factor for each function of the basis.
    lam: f64,
    lams: Vec<f64>,
    penalised_intercept: bool,
    degree: usize,
    centres: Option<Vec<Vec<f64>>>,
}

pub(super) fn refused(hint: impl Into<String>) -> Error {
    Error::Unavailable { what: "a risk bound".into(), hint: hint.into() }
}

impl FixedPrior {
    /// The prior of a model, or why the theorems do not hold for it and what to do.
    pub(super) fn of(model: &Model, lam: Option<f64>) -> Result<Self> {
        let setting = |name: &str| &model.settings[name];
        let word = |name: &str| setting(name).as_str();
        if model.method != "SMLR" {
            return Err(refused(format!(
                "the theorems are about SMLR, and the model is of {}",
                model.method
            )));
        }
        if model.report.offset {
            return Err(refused(
                "an offset is no part of the model, and what it knows may come from these rows: \
                 fit without it",
            ));
        }
        if setting("l1_ratio").as_f64().is_some_and(|ratio| ratio != 1.0) {
            return Err(refused(
                "the theorems are about the Laplacian prior, and the model has a ridge: fit it \
                 with l1_ratio = 1",
            ));
        }
        if setting("fit_intercept") == &Value::Bool(true) {
            return Err(refused(
                "a free intercept has no prior: fit with fit_intercept = false, or \"penalised\"",
            ));
        }
        if setting("standardize") != &Value::Bool(false) {
            return Err(refused(
                "standardisation reads the units of the prior off the data: bring the columns to \
                 units that were fixed before, and fit with standardize = false",
            ));
        }
        if model.encoder().is_some_and(Encoder::fills) {
            return Err(refused(
                "missing values are filled in by means, or most frequent words, that were read \
                 off the data: leave out rows with missing values, or fill them in beforehand by \
                 values that were fixed before",
            ));
        }
        let basis = word("basis").unwrap_or("linear");
        let centres = match setting("centres") {
            Value::Null => None,
            points => serde_json::from_value(points.clone()).ok(),
        };
        if basis == "precomputed" || model.kernel().is_some() && centres.is_none() {
            return Err(refused(
                "kernels centred on training rows are a basis that depends on the data: give \
                 centres that were fixed before, or take the linear basis",
            ));
        }
        let wide = model.kernel().is_some_and(|k| k.gamma().is_some()) && basis != "linear-kernel";
        if wide && !setting("gamma").is_number() {
            return Err(refused(
                "gamma was read off the data: give a number that was fixed before",
            ));
        }
        let lam = match (lam, setting("lam").as_f64()) {
            (Some(lam), _) => lam,
            (None, Some(lam)) if lam > 0.0 && model.report.selection.is_none() => lam,
            (None, Some(_)) if model.report.selection.is_none() => {
                return Err(refused("with λ = 0 there is no prior: fit with a lam above 0"));
            }
            _ => {
                return Err(refused(
                    "λ was chosen on the data (a word, or a part of λ_max): give lam to the fit \
                     as a number that was fixed before, or to the bound as that of its prior",
                ));
            }
        };
        let factors = match setting("penalty_factors") {
            Value::Null => vec![1.0; model.basis_size],
            given => serde_json::from_value(given.clone()).unwrap_or_default(),
        };
        if factors.len() != model.basis_size || factors.iter().any(|f| *f <= 0.0) {
            return Err(refused("a penalty factor of 0 leaves a weight without a prior"));
        }
        Ok(Self {
            lam,
            lams: factors.iter().map(|f| lam * f).collect(),
            penalised_intercept: word("fit_intercept") == Some("penalised"),
            degree: setting("degree").as_u64().unwrap_or(1) as usize,
            centres,
        })
    }
}

impl Model {
    /// Bounds on the error of new rows, from the rows that the model was fitted on.
    ///
    /// It is refused, with the reason and what to do, where the theorems do not hold: they need a
    /// prior that was fixed before the data was seen. Rows are not compared with those of the fit;
    /// as many others of the same source, which the model has not seen, are as good.
    ///
    /// ```
    /// use fewer::bound::BoundOptions;
    /// use fewer::data::{Dataset, DenseView, Target};
    /// use fewer::method::{Intercept, SMLR};
    ///
    /// let x: Vec<f64> = (0..4000).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
    /// let labels = Target::labels(x.chunks(2).map(|x| x[0] > 0.5 * x[1]));
    /// let rows = DenseView::by_rows(&x, 2000, 2)?;
    /// let method = SMLR::new().lam(1.0).standardize(false).fit_intercept(Intercept::None);
    /// let model = method.fit(&Dataset::new(rows, labels.clone())?)?;
    /// let bound = model.risk_bound(rows, &labels, 0.05, &BoundOptions::default())?;
    /// assert!(bound.point_error < 0.01 && !bound.pac_bayes_point.vacuous);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn risk_bound<'a>(
        &self,
        features: impl Into<Features<'a>>,
        labels: &Target<'_>,
        delta: f64,
        options: &BoundOptions,
    ) -> Result<RiskBound> {
        self.risk_bound_watched(features, labels, delta, options, &Silent)
    }

    /// [`risk_bound`](Self::risk_bound) that can be stopped.
    pub fn risk_bound_watched<'a>(
        &self,
        features: impl Into<Features<'a>>,
        labels: &Target<'_>,
        delta: f64,
        options: &BoundOptions,
        observer: &dyn Observer,
    ) -> Result<RiskBound> {
        let features = features.into();
        options.check(delta)?;
        let prior = FixedPrior::of(self, options.lam)?;
        if self.outputs() != 1 {
            return Err(refused(
                "the theorems are about two classes: ask for the bounds of each class against the \
                 rest (multiclass = \"ovr\"; one_vs_rest_bound in Rust)",
            ));
        }
        let codes = self.codes(labels)?;
        let signs: Vec<f64> =
            codes.iter().map(|code| if *code == 0 { -1.0 } else { 1.0 }).collect();
        if features.rows() > 0 && features.rows() != self.report.rows {
            return Err(refused(format!(
                "it is for the {} rows that the model was fitted on, each once, and not for {}",
                self.report.rows,
                features.rows()
            )));
        }
        if signs.len() != features.rows() {
            return Err(Error::shape("labels", features.rows(), signs.len()));
        }
        if signs.is_empty() {
            return Err(Error::Empty {
                what: "the data".into(),
                expected: "at least one row is needed".into(),
            });
        }
        // What the model itself says, which also checks the rows.
        let decided = self.decision(features)?;
        let wrong = |i: &usize| (decided[(*i, 0)] > 0.0) != (signs[*i] > 0.0);
        let rows = signs.len();
        let point_error = (0..rows).filter(wrong).count() as f64 / rows as f64;

        let mut weights = self.coefficients();
        let mut lams = prior.lams;
        let all = self.basis.all(self.features.len(), prior.degree, prior.centres)?;
        if prior.penalised_intercept {
            weights.push(self.base[0]);
            lams.push(prior.lam);
        }
        let pairs = || weights.iter().zip(&lams);
        let kl: f64 = pairs().map(|(w, lam)| smallest_laplacian_divergence(*w, *lam)).sum();
        let rates = pairs().map(|(w, lam)| best_rate(*w, *lam)).collect();
        let columns = all.columns(features, 0, observer)?;
        let gibbs = Gibbs { columns: &*columns, ones: prior.penalised_intercept, weights, rates };
        let errors = gibbs.errors(&signs, options, observer)?;
        let gibbs_error = errors.iter().sum::<f64>() / rows as f64;
        let loss = errors.iter().map(|e| margin_loss(1.0 - 2.0 * e, options.margin)).sum::<f64>();
        let parts = rademacher(
            loss / rows as f64,
            kl,
            rows,
            delta,
            (options.margin, options.level, options.ratio),
        );
        let of_gibbs = match options.gibbs {
            GibbsError::MonteCarlo => {
                // Each draw has an error in [0, 1]: their mean is off by no more, but for a part
                // of δ.
                let part = DRAWN_PART * delta;
                let most = bernoulli_inverse(gibbs_error, -part.ln() / options.draws as f64);
                pac_bayes(most, kl, rows, delta - part)
            }
            _ => pac_bayes(gibbs_error, kl, rows, delta),
        };
        let mut bound = RiskBound {
            rows,
            delta,
            lam: prior.lam,
            kl,
            point_error,
            gibbs_error,
            gibbs: options.gibbs,
            pac_bayes_gibbs: Bound::new(of_gibbs),
            pac_bayes_point: Bound::new(2.0 * of_gibbs),
            rademacher_point: Bound::new(parts.value()),
            rademacher: parts,
            notes: Vec::new(),
        };
        bound.notes = self.bound_notes(&bound, options);
        Ok(bound)
    }

    fn bound_notes(&self, bound: &RiskBound, options: &BoundOptions) -> Vec<String> {
        let mut notes = Vec::new();
        match options.gibbs {
            GibbsError::Exact => {}
            GibbsError::Gaussian => notes.push(
                "the error of the Gibbs classifier is that of a Gaussian approximation, for which \
                 the bounds are not proved"
                    .to_string(),
            ),
            GibbsError::MonteCarlo => {
                let spread = bound.gibbs_error * (1.0 - bound.gibbs_error);
                let error = (spread / options.draws as f64).sqrt();
                notes.push(format!(
                    "the error of the Gibbs classifier is known to within ±{:.1e}: the PAC-Bayes \
                     bounds take the largest it may be, the Rademacher bound is not proved",
                    3.0 * error
                ));
            }
        }
        notes.extend(self.note_of_categories());
        if bound.pac_bayes_point.vacuous && bound.rademacher_point.vacuous {
            notes.push(VACUOUS.into());
        }
        notes
    }

    /// What is to be kept in mind of columns of text.
    pub(super) fn note_of_categories(&self) -> Option<String> {
        let encoder = self.encoder.as_ref()?;
        (encoder.table_names().count() != self.features.len())
            .then(|| "the categories of the text columns were read off the data".into())
    }

    /// The positions of labels among the classes of the model.
    pub(super) fn codes(&self, labels: &Target<'_>) -> Result<Vec<usize>> {
        let Target::Labels { classes, codes } = labels else {
            return Err(refused("the labels are numbers; give those of the classes"));
        };
        let known = self.classes().unwrap_or_default();
        let position = |(row, code): (usize, &usize)| {
            known.iter().position(|k| *k == classes[*code]).ok_or_else(|| Error::Value {
                row: row + 1,
                column: self.target.clone(),
                value: format!("the class '{}'", classes[*code]),
                expected: "it is none of those that the model tells apart".into(),
            })
        };
        codes.iter().enumerate().map(position).collect()
    }
}

/// The posterior of the weights of all columns.
struct Gibbs<'a> {
    columns: &'a dyn Columns,
    /// Whether a column of ones follows.
    ones: bool,
    weights: Vec<f64>,
    rates: Vec<f64>,
}

impl Gibbs<'_> {
    /// The probability that each row is told wrongly.
    fn errors(
        &self,
        signs: &[f64],
        options: &BoundOptions,
        observer: &dyn Observer,
    ) -> Result<Vec<f64>> {
        let count = self.columns.columns();
        let design = Design::new(self.columns, None, vec![0.0; count], vec![1.0; count]);
        let chosen: Vec<usize> = (0..count).collect();
        let blocks = signs.par_chunks(ROWS).enumerate().map(|(b, signs)| {
            observer.check()?;
            let rows = b * ROWS..b * ROWS + signs.len();
            let mut tile = Tile::default();
            design.fill(rows, &chosen, &mut tile);
            let rows: Vec<Vec<f64>> = (0..signs.len())
                .map(|i| {
                    let ones = self.ones.then_some(1.0);
                    (0..count).map(|j| tile.get(i, j)).chain(ones).collect()
                })
                .collect();
            match options.gibbs {
                GibbsError::MonteCarlo => self.drawn(&rows, signs, options, observer),
                _ => Ok(rows.iter().zip(signs).map(|(x, y)| self.error(x, *y, options)).collect()),
            }
        });
        Ok(blocks.collect::<Result<Vec<Vec<f64>>>>()?.concat())
    }

    fn error(&self, x: &[f64], sign: f64, options: &BoundOptions) -> f64 {
        let margin = sign * x.iter().zip(&self.weights).map(|(x, w)| x * w).sum::<f64>();
        let nonzero = x.iter().zip(&self.rates).filter(|(x, _)| **x != 0.0);
        let spreads: Vec<f64> = nonzero.map(|(x, rate)| x.abs() / rate).collect();
        match options.gibbs {
            GibbsError::Gaussian => gaussian_error(margin, &spreads),
            _ => exact_error(margin, &spreads),
        }
    }

    /// The part of draws that are wrong, the same draws for all rows.
    fn drawn(
        &self,
        rows: &[Vec<f64>],
        signs: &[f64],
        options: &BoundOptions,
        observer: &dyn Observer,
    ) -> Result<Vec<f64>> {
        let k = self.weights.len();
        let values = rows.concat();
        let mut next = laplacians(options.seed);
        let mut wrong = vec![0.0; signs.len()];
        for start in (0..options.draws).step_by(DRAWS) {
            observer.check()?;
            let draws = DRAWS.min(options.draws - start);
            let drawn = (0..draws * k).map(|i| self.weights[i % k] + next() / self.rates[i % k]);
            let drawn: Vec<f64> = drawn.collect();
            let sums = cross_products(k, &drawn, &values);
            for (i, sign) in signs.iter().enumerate() {
                let of = |s: &f64| match sign * s {
                    s if s < 0.0 => 1.0,
                    s if s > 0.0 => 0.0,
                    _ => 0.5,
                };
                wrong[i] += sums.column(i).iter().map(of).sum::<f64>();
            }
        }
        Ok(wrong.iter().map(|w| w / options.draws as f64).collect())
    }
}
