//! Which terms a method keeps whatever half of the rows it sees (Meinshausen & Bühlmann 2010).

use super::fold_data::TrainingPart;
use super::folds::CrossValidation;
use super::in_order::in_order;
use super::memory::{fits_at_once, with_usual_basis};
use super::search::{to_json, without_threads};
use crate::basis::UserFunction;
use crate::data::Dataset;
use crate::engine::{Observer, SelectionProgress, StopOnly};
use crate::error::{Error, Result};
use crate::method::{fit, fit_path, on_threads};
use crate::model::Model;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// How stability is judged.
#[derive(Debug, Clone, PartialEq)]
pub struct StabilityOptions {
    /// Fits, each to half of the rows; they come in pairs whose halves complement each other (Shah
    /// & Samworth 2013), so that an odd number is raised by one.
    pub subsamples: usize,
    /// Part of the fits that a stable term is in: above 0.5, at most 1.
    pub threshold: f64,
    /// Sets the threshold instead: so that at most so many terms are expected to be stable by
    /// chance.
    pub max_false: Option<f64>,
    /// λ's for all rows, with which each half is fitted; a term is in a fit if it is in one for
    /// any of them. Empty: one fit with the settings of the method.
    pub lams: Vec<f64>,
    /// Seed of the halves.
    pub seed: u64,
}

impl Default for StabilityOptions {
    fn default() -> Self {
        Self { subsamples: 100, threshold: 0.75, max_false: None, lams: Vec::new(), seed: 0 }
    }
}

/// How often a term was kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TermStability {
    /// Its name.
    pub name: String,
    /// Its position among all functions of the basis.
    pub index: usize,
    /// Part of the fits that it was in; of several λ, for the one where that is largest.
    pub frequency: f64,
    /// Whether that is at least the threshold.
    pub stable: bool,
    /// Part of the fits for each λ, where several were tried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_lam: Vec<f64>,
}

/// Which terms a method keeps whatever half of the rows it sees.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stability {
    /// The terms that were kept at least once, the most frequent first.
    pub terms: Vec<TermStability>,
    /// Part of the fits that a stable term is in.
    pub threshold: f64,
    /// Number of fits (for each λ).
    pub subsamples: usize,
    /// λ's that were tried, for all rows.
    pub lams: Vec<f64>,
    /// Number of functions that the basis offered: p.
    pub candidates: usize,
    /// Mean number of terms of a fit, for all λ together: q.
    pub mean_terms: f64,
    /// q²/((2π − 1)p): at most so many stable terms are expected to be there by chance, if those
    /// that mean nothing are as likely as each other to be kept, and no likelier than the others
    /// (Meinshausen & Bühlmann 2010, theorem 1).
    pub expected_false: f64,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Stability {
    /// The stable terms, the most frequent first.
    pub fn stable(&self) -> impl Iterator<Item = &TermStability> {
        self.terms.iter().filter(|t| t.stable)
    }
}

/// Positions of the terms of a fit, for each λ.
type Kept = Vec<Vec<usize>>;

/// What the fits on one half of the rows tell.
struct Half {
    kept: Kept,
    /// Columns that could have been kept.
    candidates: usize,
    names: Vec<(usize, String)>,
    converged: bool,
}

/// Fits a method to many halves of the rows and counts how often it keeps each term.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::engine::Silent;
/// use fewer::select::{StabilityOptions, stability};
/// let x: Vec<f64> = (0..800).map(|i| ((i * i) as f64 * 0.7).sin()).collect();
/// let y: Vec<f64> = x.chunks(8).map(|x| 1.0 + 3.0 * x[0] + (9.0 * x[1]).sin()).collect();
/// let data = Dataset::new(DenseView::by_rows(&x, 100, 8)?, &y)?;
/// let options = StabilityOptions { subsamples: 20, ..Default::default() };
/// let settings = r#"{"lam_ratio": 0.2}"#;
/// let found = stability("lasso", settings, None, &data, &options, &Silent)?;
/// assert_eq!(found.terms[0].name, "x1");
/// assert_eq!(found.terms[0].frequency, 1.0);
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn stability(
    method: &str,
    settings: &str,
    functions: Option<UserFunction>,
    data: &Dataset<'_>,
    options: &StabilityOptions,
    observer: &dyn Observer,
) -> Result<Stability> {
    check(options)?;
    let given: Map<String, Value> = serde_json::from_str(settings).map_err(|e| {
        Error::setting("settings", settings, format!("a JSON object is expected ({e})"))
    })?;
    data.without_offset("stability selection")?;
    let data = &data.checked()?;
    let pairs = options.subsamples.div_ceil(2);
    let split = CrossValidation::new(2).repeated(pairs, options.seed).split(data)?;
    let (n_jobs, mut settings) = without_threads(&with_usual_basis(method, &given));
    if !options.lams.is_empty() {
        settings.remove("lam");
    }
    let (done, started) = (AtomicUsize::new(0), Instant::now());
    let one = |half: usize| -> Result<Half> {
        let watch = StopOnly(observer);
        watch.check()?;
        let training = TrainingPart::new(data, &split, half)?;
        let mut settings = training.settings(&settings);
        // λ stands against a sum over rows.
        if let Some(lam) = settings.get("lam").and_then(Value::as_f64) {
            settings.insert("lam".into(), (training.share * lam).into());
        }
        let settings = to_json(&settings);
        let models = if options.lams.is_empty() {
            vec![fit(method, &settings, functions.clone(), &training.data, &watch)?]
        } else {
            let lams: Vec<f64> = options.lams.iter().map(|lam| training.share * lam).collect();
            fit_path(method, &settings, functions.clone(), &training.data, &lams, &watch)?
        };
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let seconds = started.elapsed().as_secs_f64() / done as f64;
        observer.selection(SelectionProgress {
            done,
            all: split.len(),
            best: None,
            seconds_left: Some(seconds * (split.len() - done) as f64),
        });
        comparable(&models, &given)?;
        let kept = models.iter().map(|m| m.terms().iter().map(|t| t.index).collect()).collect();
        let names = models.iter().flat_map(|m| m.terms()).map(|t| (t.index, t.name.clone()));
        let converged = models.iter().all(|m| m.report().termination.is_converged());
        // What takes no part cannot be selected by chance.
        let usable = |m: &Model| m.basis_size().saturating_sub(m.report().dropped.len());
        let candidates = models.iter().map(usable).min().unwrap_or(0);
        Ok(Half { kept, candidates, names: names.collect(), converged })
    };
    let (parts, failure) =
        on_threads(n_jobs, || Ok(in_order(split.len(), fits_at_once(&settings, data), one)))?;
    if let Some(error) = failure {
        return Err(error);
    }
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let names: BTreeMap<usize, String> = parts.iter().flat_map(|p| p.names.clone()).collect();
    let mut found = counted(parts.iter().map(|p| &p.kept), &names, options)?;
    found.candidates = parts.iter().map(|p| p.candidates).min().unwrap_or(0);
    judge(&mut found, options)?;
    found.notes.extend(split.notes().iter().cloned());
    let stopped = parts.iter().filter(|p| !p.converged).count();
    if stopped > 0 {
        found.notes.push(format!(
            "{stopped} of {} fits did not converge: raise max_iter or max_time, or draws where it \
             has them",
            parts.len()
        ));
    }
    Ok(found)
}

fn check(options: &StabilityOptions) -> Result<()> {
    if options.subsamples < 2 {
        let expected = "at least 2 are expected, and 100 are usual";
        return Err(Error::setting("subsamples", options.subsamples, expected));
    }
    if !(options.threshold > 0.5 && options.threshold <= 1.0) {
        let expected = "a number above 0.5 and up to 1 is expected";
        return Err(Error::setting("threshold", options.threshold, expected));
    }
    if let Some(most) = options.max_false
        && !(most.is_finite() && most > 0.0)
    {
        return Err(Error::setting("max_false", most, "a number above 0 is expected"));
    }
    match options.lams.iter().find(|lam| !(lam.is_finite() && **lam >= 0.0)) {
        Some(lam) => Err(Error::setting("lams", lam, "numbers of at least 0 are expected")),
        None => Ok(()),
    }
}

/// Functions must be the same for all halves.
fn comparable(models: &[Model], settings: &Map<String, Value>) -> Result<()> {
    if models.iter().any(|m| m.learnt().is_some()) {
        return Err(Error::Unavailable {
            what: "stability selection of learnt kernels".into(),
            hint: "every half learns others, which cannot be counted together: take RVR or RVC \
                   with centres given, or a linear basis"
                .into(),
        });
    }
    let by_rows = models.iter().any(|m| m.kernel().is_some());
    if !by_rows || settings.get("centres").is_some_and(|c| !c.is_null()) {
        return Ok(());
    }
    Err(Error::setting(
        "basis",
        settings.get("basis").and_then(Value::as_str).unwrap_or("kernel"),
        "kernels are centred on rows, and every half has others: give centres, or take the linear \
         or polynomial basis",
    ))
}

fn counted<'a>(
    fits: impl Iterator<Item = &'a Kept> + Clone,
    names: &BTreeMap<usize, String>,
    options: &StabilityOptions,
) -> Result<Stability> {
    let points = options.lams.len().max(1);
    let mut counts: BTreeMap<usize, Vec<usize>> =
        names.keys().map(|j| (*j, vec![0; points])).collect();
    let (mut total, mut all) = (0, 0);
    for kept in fits {
        for (point, kept) in kept.iter().enumerate() {
            for j in kept {
                if let Some(count) = counts.get_mut(j) {
                    count[point] += 1;
                }
            }
        }
        total += kept.iter().flatten().collect::<BTreeSet<_>>().len();
        all += 1;
    }
    let part = |count: usize| count as f64 / all as f64;
    let mut terms: Vec<TermStability> = counts
        .into_iter()
        .map(|(index, counts)| TermStability {
            name: names[&index].clone(),
            index,
            frequency: part(counts.iter().copied().max().unwrap_or(0)),
            stable: false,
            by_lam: match options.lams.is_empty() {
                true => Vec::new(),
                false => counts.into_iter().map(part).collect(),
            },
        })
        .collect();
    terms.sort_by(|a, b| b.frequency.total_cmp(&a.frequency).then(a.index.cmp(&b.index)));
    Ok(Stability {
        terms,
        threshold: options.threshold,
        subsamples: all,
        lams: options.lams.clone(),
        candidates: 0,
        mean_terms: total as f64 / all as f64,
        expected_false: 0.0,
        notes: Vec::new(),
    })
}

/// Sets the threshold where it follows from what is allowed, and marks the stable terms.
fn judge(found: &mut Stability, options: &StabilityOptions) -> Result<()> {
    let (q, p) = (found.mean_terms, found.candidates as f64);
    if let Some(most) = options.max_false {
        // π = (1 + q²/(p·E[V]))/2 (Meinshausen & Bühlmann 2010, sec. 2.4).
        let threshold = 0.5 * (1.0 + q * q / (p * most));
        if threshold > 1.0 {
            return Err(Error::setting(
                "max_false",
                most,
                format!(
                    "fits keep {q:.1} of {p} terms on average, too many for that: a threshold \
                     above 1 would be needed; lower max_terms to {:.0} or less, or allow {:.2}",
                    (p * most).sqrt().floor(),
                    q * q / p
                ),
            ));
        }
        found.threshold = threshold.max(0.5 + 0.5 / found.subsamples as f64);
    }
    // Where no column varies in a half, all that was kept may be there by chance.
    found.expected_false = match found.candidates {
        0 => found.terms.len() as f64,
        _ => q * q / ((2.0 * found.threshold - 1.0) * p),
    };
    // 75 of 100 fits are 0.75 of them, however that is rounded.
    let least = found.threshold * (1.0 - 1e-12);
    found.terms.iter_mut().for_each(|t| t.stable = t.frequency >= least);
    if found.terms.is_empty() {
        found.notes.push("no term was kept in any fit: weaken the penalty".into());
    } else if found.expected_false > 0.5 * found.stable().count() as f64 && q > 0.0 {
        let needed = ((2.0 * found.threshold - 1.0) * p).sqrt();
        found.notes.push(format!(
            "as many as {:.1} stable terms are expected by chance; with max_terms = {:.0} it would \
             be at most 1",
            found.expected_false,
            needed.floor().max(1.0)
        ));
    }
    Ok(())
}
