//! What the settings of a method say about choosing them.

use super::criterion::Criterion;
use super::folds::CrossValidation;
use super::grid::{Gammas, Lams};
use super::score::Score;
use super::search::{By, Search};
use super::selection::Rule;
use crate::error::{Error, Result};
use serde_json::{Map, Value};

/// Settings of the search itself.
const OWN: [&str; 8] =
    ["cv", "cv_repeats", "cv_shuffle", "scoring", "rule", "lams", "lam_min_ratio", "gammas"];

/// Settings that can be chosen by a word.
const CHOSEN: [&str; 2] = ["lam", "gamma"];

/// The price of a parameter can be chosen among its rules; "bic" and "aic" are two of them, so that
/// one word says that it is.
const SPARSITIES: [&str; 4] = ["none", "aic", "bic", "ric"];

/// Whether a method maximises the evidence, by which widths of kernels can be chosen.
fn has_evidence(method: &str) -> bool {
    let names = ["RVR", "rvm", "RVC", "rvc", "BLS", "bls", "FastLaplace", "flap"];
    names.contains(&method)
}

/// Takes the words and the search's own settings out of the method's.
pub(crate) fn read(method: &str, settings: &str) -> Result<Search> {
    let mut settings: Map<String, Value> = serde_json::from_str(settings).map_err(|e| {
        Error::setting("settings", settings, format!("a JSON object is expected ({e})"))
    })?;
    let mut words = Map::new();
    for name in CHOSEN {
        let word = settings.get(name).and_then(Value::as_str);
        if word.is_some_and(|w| w == "cv" || Criterion::named(w).is_some()) {
            words.extend(settings.remove(name).map(|w| (name.to_string(), w)));
        } else if let (Some(word), "lam") = (word, name) {
            let expected = "a number, \"cv\", \"bic\", \"ebic\" or \"aic\" is expected";
            return Err(Error::setting(name, format!("\"{word}\""), expected));
        } else if let Some(word) = word.filter(|w| !["scale", "median"].contains(w)) {
            let evidence = if has_evidence(method) { ", \"evidence\"" } else { "" };
            let expected = format!(
                "a number, \"scale\", \"median\" or, to choose it, \"cv\"{evidence}, \"bic\", \
                 \"ebic\" or \"aic\" is expected"
            );
            return Err(Error::setting(name, format!("\"{word}\""), expected));
        }
    }
    let mut axes = Vec::new();
    if settings.get("sparsity").is_some_and(|word| word == "cv") {
        if matches!(method, "WaveletRVR" | "srvm") {
            let why = "folds leave gaps between equally spaced points: a number, \"none\", \
                       \"aic\", \"bic\" or \"ric\" is expected";
            return Err(Error::setting("sparsity", "cv", why));
        }
        words.extend(settings.remove("sparsity").map(|word| ("sparsity".to_string(), word)));
        axes.push(("sparsity".to_string(), SPARSITIES.map(Value::from).to_vec()));
    }
    let mut own = Map::new();
    for name in OWN {
        // None of Python says the same as nothing.
        own.extend(settings.remove(name).filter(|v| !v.is_null()).map(|v| (name.to_string(), v)));
    }
    let own = Own(own);
    let seed = settings.get("random_state").and_then(Value::as_u64).unwrap_or(0);
    let search = |by, rule, lams, gammas| Search {
        method: method.into(),
        settings,
        functions: None,
        axes,
        lams,
        gammas,
        by,
        rule,
        words: words.clone().into_iter().chain(own.0.clone()).collect(),
    };
    let mut by = words.iter().filter_map(|(name, word)| Some((name, word.as_str()?)));
    let Some((first, word)) = by.next() else {
        own.refuse(
            &OWN,
            "there is nothing to choose: set lam or gamma to \"cv\", or leave it out",
        )?;
        return Ok(search(By::Folds(CrossValidation::default(), None), Rule::Best, None, None));
    };
    if let Some((second, other)) = by.find(|w| w.1 != word) {
        return Err(Error::setting(
            second,
            other,
            format!("{first} is chosen by {word}, and both are chosen together: use the same word"),
        ));
    }
    let lams = words.contains_key("lam").then(|| own.lams()).transpose()?;
    if lams.is_none() {
        own.refuse(
            &["lams", "lam_min_ratio"],
            "it belongs to a search for lam: set lam to \"cv\"",
        )?;
    }
    let gammas = words.contains_key("gamma").then(|| own.gammas()).transpose()?;
    if gammas.is_none() {
        own.refuse(&["gammas"], "it belongs to a search for gamma: set gamma to \"cv\"")?;
    }
    let by = match Criterion::named(word) {
        Some(criterion) => {
            let unused =
                format!("it belongs to cross-validation, and {word} needs none: leave it out");
            own.refuse(&["cv", "cv_repeats", "cv_shuffle", "scoring", "rule"], &unused)?;
            By::Criterion(criterion)
        }
        None => By::Folds(own.folds(seed)?, own.score()?),
    };
    let rule = own.rule()?;
    Ok(search(by, rule, lams, gammas))
}

/// The search's own settings.
struct Own(Map<String, Value>);

impl Own {
    fn refuse(&self, names: &[&str], why: &str) -> Result<()> {
        match names.iter().find_map(|name| Some((name, self.0.get(*name)?))) {
            Some((name, value)) => Err(Error::setting(*name, value, why)),
            None => Ok(()),
        }
    }

    fn read<T>(
        &self,
        name: &str,
        as_type: impl Fn(&Value) -> Option<T>,
        expected: &str,
    ) -> Result<Option<T>> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        as_type(value).map(Some).ok_or_else(|| Error::setting(name, value, expected))
    }

    fn folds(&self, seed: u64) -> Result<CrossValidation> {
        let repeats = self.read("cv_repeats", count, "a whole number of at least 1 is expected")?;
        let shuffle = self.read("cv_shuffle", Value::as_bool, "true or false is expected")?;
        let folds = match self.0.get("cv") {
            None => CrossValidation::default(),
            Some(Value::String(word)) if word == "loo" => CrossValidation::leave_one_out(),
            Some(value) => match count(value) {
                Some(k) => CrossValidation::new(k),
                None => {
                    let expected = "a number of folds of at least 2, or \"loo\", is expected";
                    return Err(Error::setting("cv", value, expected));
                }
            },
        };
        match (repeats.unwrap_or(1), shuffle) {
            (1, Some(true)) => Ok(folds.shuffled(seed)),
            (1, _) => Ok(folds),
            (repeats, Some(false)) => Err(Error::setting(
                "cv_repeats",
                repeats,
                "without shuffling every repeat is the same: leave out cv_shuffle",
            )),
            (repeats, _) => Ok(folds.repeated(repeats, seed)),
        }
    }

    fn score(&self) -> Result<Option<Score>> {
        let name = self.read("scoring", |v| v.as_str().map(String::from), "a name is expected")?;
        name.map(|name| name.parse()).transpose()
    }

    fn rule(&self) -> Result<Rule> {
        let rule = |v: &Value| serde_json::from_value(v.clone()).ok();
        Ok(self.read("rule", rule, "\"best\" or \"one_se\" is expected")?.unwrap_or_default())
    }

    fn lams(&self) -> Result<Lams> {
        let min_ratio =
            self.read("lam_min_ratio", Value::as_f64, "a number between 0 and 1 is expected")?;
        let lams = match self.read("lams", list_or_count, LIST_OR_COUNT)? {
            None => Lams::Spaced { count: 100, min_ratio },
            Some(ListOrCount::Count(count)) => Lams::Spaced { count, min_ratio },
            Some(ListOrCount::List(values)) => {
                self.refuse(&["lam_min_ratio"], "lams are given: leave it out")?;
                Lams::Values(values)
            }
        };
        lams.check()?;
        Ok(lams)
    }

    fn gammas(&self) -> Result<Gammas> {
        let gammas = match (self.read("gammas", list_or_count, LIST_OR_COUNT)?, Gammas::default()) {
            (Some(ListOrCount::List(values)), _) => Gammas::Values(values),
            (Some(ListOrCount::Count(count)), Gammas::Around { refine, .. }) => {
                Gammas::Around { count, refine }
            }
            (_, usual) => usual,
        };
        gammas.check()?;
        Ok(gammas)
    }
}

const LIST_OR_COUNT: &str = "a list of numbers, or how many to try, is expected";

enum ListOrCount {
    List(Vec<f64>),
    Count(usize),
}

fn list_or_count(value: &Value) -> Option<ListOrCount> {
    match value {
        Value::Array(values) => {
            Some(ListOrCount::List(values.iter().map(Value::as_f64).collect::<Option<_>>()?))
        }
        other => count(other).map(ListOrCount::Count),
    }
}

fn count(value: &Value) -> Option<usize> {
    value.as_u64().filter(|n| *n > 0).map(|n| n as usize)
}
