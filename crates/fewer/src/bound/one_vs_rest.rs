//! Bounds for more than two classes, from those of each class against the rest.

use super::model::{FixedPrior, refused};
use super::{Bound, BoundOptions, RiskBound};
use crate::basis::FixedBasis;
use crate::data::{Dataset, Features, Label, Target};
use crate::engine::{Observer, Silent};
use crate::error::Result;
use crate::method::SMLR;
use crate::model::Model;
use serde::Serialize;

/// What the errors of each class against the rest say about those to come of all of them together.
///
/// It is about models of each class against the rest, whose largest output wins, and not about one
/// model of all classes. Such an ensemble is wrong about a row only where one of its models is: if
/// all are right, the output of the row's class alone is above 0. So its error is at most the sum
/// of theirs; their bounds hold with probability 1 − δ/m each for m classes, hence all of them,
/// and their sum, with probability 1 − δ. Two classes have one model, and its bound for δ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OneVsRestBound {
    /// Rows.
    pub rows: usize,
    /// δ: how often a bound may fail.
    pub delta: f64,
    /// Part of the rows that the ensemble tells wrongly.
    pub point_error: f64,
    /// The sum of the PAC-Bayes bounds of the models.
    pub pac_bayes_point: Bound,
    /// The sum of their Rademacher bounds.
    pub rademacher_point: Bound,
    /// The bounds of each class against the rest, for δ divided by their number.
    pub each: Vec<ClassBound>,
    /// What to keep in mind.
    pub notes: Vec<String>,
}

/// The bounds of a class against the rest.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassBound {
    /// The class.
    pub class: Label,
    /// Its bounds.
    pub bound: RiskBound,
}

impl std::fmt::Display for OneVsRestBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "errors of new rows, each bound with {} confidence ({} rows), of {} models of a class \
             against the rest, the largest output of which wins",
            super::model::confidence(self.delta),
            self.rows,
            self.each.len()
        )?;
        let names: Vec<String> =
            self.each.iter().map(|e| format!("{}, against the rest", e.class)).collect();
        let width = names.iter().map(|n| n.chars().count()).max().unwrap_or(0).max(9);
        writeln!(f, "{:<width$}  {:>8}  {:>9}  {:>10}", "", "sample", "PAC-Bayes", "Rademacher")?;
        let mut line = |name: &str, error: f64, pac_bayes: Bound, rademacher: Bound| {
            let vacuous = pac_bayes.vacuous && rademacher.vacuous;
            let word = if vacuous { "  vacuous" } else { "" };
            let (a, b) = (pac_bayes.value, rademacher.value);
            writeln!(f, "{name:<width$}  {error:>8.4}  {a:>9.4}  {b:>10.4}{word}")
        };
        line("all", self.point_error, self.pac_bayes_point, self.rademacher_point)?;
        for (name, e) in names.iter().zip(&self.each) {
            let b = &e.bound;
            line(name, b.point_error, b.pac_bayes_point, b.rademacher_point)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

impl Model {
    /// Bounds on the error of models of each class against the rest, fitted here on these rows with
    /// the settings and the λ of this model; see [`OneVsRestBound`].
    ///
    /// ```
    /// use fewer::bound::BoundOptions;
    /// use fewer::data::{Dataset, DenseView, Target};
    /// use fewer::method::{Intercept, SMLR};
    ///
    /// let x: Vec<f64> = (0..12_000).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
    /// let class = |x: &[f64]| ["a", "b", "c"][(x[0] > 0.3) as usize + (x[0] > 0.6) as usize];
    /// let labels = Target::labels(x.chunks(3).map(class));
    /// let rows = DenseView::by_rows(&x, 4000, 3)?;
    /// let method = SMLR::new().lam(1.0).standardize(false).fit_intercept(Intercept::None);
    /// let model = method.fit(&Dataset::new(rows, labels.clone())?)?;
    /// let bound = model.one_vs_rest_bound(rows, &labels, 0.05, &BoundOptions::default())?;
    /// let sum: f64 = bound.each.iter().map(|e| e.bound.pac_bayes_point.value).sum();
    /// assert!((bound.pac_bayes_point.value - sum).abs() < 1e-12);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn one_vs_rest_bound<'a>(
        &self,
        features: impl Into<Features<'a>>,
        labels: &Target<'_>,
        delta: f64,
        options: &BoundOptions,
    ) -> Result<OneVsRestBound> {
        self.one_vs_rest_bound_watched(features, labels, delta, options, &Silent)
    }

    /// [`one_vs_rest_bound`](Self::one_vs_rest_bound) that can be stopped.
    pub fn one_vs_rest_bound_watched<'a>(
        &self,
        features: impl Into<Features<'a>>,
        labels: &Target<'_>,
        delta: f64,
        options: &BoundOptions,
        observer: &dyn Observer,
    ) -> Result<OneVsRestBound> {
        let features = features.into();
        options.check(delta)?;
        FixedPrior::of(self, options.lam)?;
        let own_kernel = self.kernel().is_some() && self.settings["basis"] == "linear";
        if own_kernel || matches!(self.basis, FixedBasis::Functions(_)) {
            return Err(refused(
                "the fits of each class against the rest need your functions: make these fits \
                 yourself, and add up their bounds for delta divided by the number of classes",
            ));
        }
        let codes = self.codes(labels)?;
        let classes = self.classes().unwrap_or_default();
        let method = SMLR::of(self)?;
        let weights: Option<Vec<f64>> = match self.settings["class_weight"].as_array() {
            Some(given) => {
                let weight = |code: &usize| given.get(*code).and_then(serde_json::Value::as_f64);
                codes.iter().map(weight).collect()
            }
            None => None,
        };
        if classes.len() == 2 {
            // Either class against the rest is this model, and is wrong about the same rows.
            let bound = self.risk_bound_watched(features, labels, delta, options, observer)?;
            let of_class =
                |class: &Label| ClassBound { class: class.clone(), bound: bound.clone() };
            return Ok(OneVsRestBound {
                rows: bound.rows,
                delta,
                point_error: bound.point_error,
                pac_bayes_point: bound.pac_bayes_point,
                rademacher_point: bound.rademacher_point,
                each: classes.iter().map(of_class).collect(),
                notes: bound.notes,
            });
        }
        let part = delta / classes.len() as f64;
        let mut best = vec![(f64::NEG_INFINITY, 0); codes.len()];
        let mut each = Vec::with_capacity(classes.len());
        for (k, class) in classes.iter().enumerate() {
            let own = Target::labels(codes.iter().map(|code| *code == k));
            let mut data = Dataset::new(features, own.clone())?;
            if let Some(weights) = &weights {
                data = data.with_weights(&weights[..])?;
            }
            let model = method.fit_observed(&data, observer)?;
            let decided = model.decision(features)?;
            for (i, best) in best.iter_mut().enumerate() {
                if decided[(i, 0)] > best.0 {
                    *best = (decided[(i, 0)], k);
                }
            }
            let bound = model.risk_bound_watched(features, &own, part, options, observer)?;
            each.push(ClassBound { class: class.clone(), bound });
        }
        let wrong = best.iter().zip(&codes).filter(|(best, code)| best.1 != **code).count();
        let sum = |of: fn(&RiskBound) -> Bound| {
            Bound::new(each.iter().map(|e| of(&e.bound).value).sum::<f64>())
        };
        let (pac_bayes_point, rademacher_point) =
            (sum(|b| b.pac_bayes_point), sum(|b| b.rademacher_point));
        let mut notes = Vec::new();
        for note in each.iter().flat_map(|e| &e.bound.notes) {
            // What makes one of them vacuous is said of their sum.
            if !notes.contains(note) && note != super::model::VACUOUS {
                notes.push(note.clone());
            }
        }
        notes.extend(self.note_of_categories());
        if pac_bayes_point.vacuous && rademacher_point.vacuous {
            notes.push(super::model::VACUOUS.into());
        }
        Ok(OneVsRestBound {
            rows: codes.len(),
            delta,
            point_error: wrong as f64 / codes.len() as f64,
            pac_bayes_point,
            rademacher_point,
            each,
            notes,
        })
    }
}
