//! How settings are chosen, as flags.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use fewer::select::{CrossValidation, Score};
use serde_json::{Map, Value, json};

use crate::failure::{Failure, Outcome};

/// Criteria that choose without folds.
pub const CRITERIA: [&str; 4] = ["bic", "ebic", "aic", "evidence"];
/// The settings of the library that these flags stand for, folds aside.
const NAMES: [&str; 5] = ["scoring", "rule", "lams", "lam_min_ratio", "gammas"];
const USUAL_FOLDS: usize = 5;

/// How `--lam cv`, `--gamma cv` and the criteria choose.
#[derive(Args)]
#[command(next_help_heading = "Choosing settings")]
pub struct Choosing {
    /// Folds of the cross-validation: a number, or `loo` for one for each row [default: 5]
    #[arg(long, value_name = "K|loo", value_parser = folds)]
    folds: Option<Value>,
    /// Split the rows so many times, shuffled differently each time [default: 1]
    #[arg(long, value_name = "N")]
    repeats: Option<usize>,
    /// Shuffle the rows (by --seed) before they are split
    #[arg(long)]
    shuffle: bool,
    /// The score to choose by [default: mse for numbers, deviance for classes]
    #[arg(long, value_name = "SCORE", value_parser = score_names())]
    scoring: Option<String>,
    /// Choose the best mean score, or the simplest model within one standard error of it
    /// [default: best]
    #[arg(long, value_parser = ["best", "one-se"])]
    rule: Option<String>,
    /// The λ's to try: numbers between commas, or how many [default: 100]
    #[arg(long, value_name = "N|LIST", value_parser = list_or_count, allow_hyphen_values = true)]
    lams: Option<Value>,
    /// The smallest of them as a part of the largest, which leaves no term [default: 0.001, or
    /// 0.01 with more columns than rows]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    lam_min_ratio: Option<f64>,
    /// The γ's to try: numbers between commas, or how many [default: 9, and 6 near the best]
    #[arg(long, value_name = "N|LIST", value_parser = list_or_count, allow_hyphen_values = true)]
    gammas: Option<Value>,
}

/// The names of scores, as clap checks them.
pub fn score_names() -> PossibleValuesParser {
    let named = |score: &Score| match score {
        Score::BalancedError => PossibleValue::new(score.name()).alias("balanced-error"),
        score => PossibleValue::new(score.name()),
    };
    Score::ALL.iter().map(named).into()
}

/// The score of a name that clap has checked.
pub fn score(name: &str) -> Outcome<Score> {
    Ok(name.replace('-', "_").parse()?)
}

impl Choosing {
    /// What was given of the folds, as the library takes it.
    pub fn folds(&self) -> Map<String, Value> {
        given([
            ("cv", json!(self.folds)),
            ("cv_repeats", json!(self.repeats)),
            ("cv_shuffle", json!(self.shuffle.then_some(true))),
        ])
    }

    /// What was given of all else.
    pub fn values(&self) -> Map<String, Value> {
        let word = |text: &Option<String>| json!(text.as_ref().map(|t| t.replace('-', "_")));
        given([
            ("scoring", word(&self.scoring)),
            ("rule", word(&self.rule)),
            ("lams", json!(self.lams)),
            ("lam_min_ratio", json!(self.lam_min_ratio)),
            ("gammas", json!(self.gammas)),
        ])
    }

    /// Whether a setting of the library belongs here.
    pub fn has(&self, name: &str) -> bool {
        NAMES.contains(&name)
    }

    /// The folds, in which rows of one group stay together.
    pub fn cross_validation(
        &self,
        seed: u64,
        groups: Option<&[String]>,
    ) -> Outcome<CrossValidation> {
        let count = match &self.folds {
            None => Some(USUAL_FOLDS),
            Some(folds) => folds.as_u64().map(|k| k as usize),
        };
        let folds = match (count, groups) {
            (Some(k), Some(groups)) => CrossValidation::grouped(k, groups),
            (Some(k), None) => CrossValidation::new(k),
            (None, None) => CrossValidation::leave_one_out(),
            (None, Some(_)) => {
                return Err(Failure::Input(
                    "--folds loo: --group keeps rows together; give a number of folds".into(),
                ));
            }
        };
        Ok(match self.repeats {
            None | Some(1) if self.shuffle => folds.shuffled(seed),
            None | Some(1) => folds,
            Some(repeats) => folds.repeated(repeats, seed),
        })
    }
}

fn given<const N: usize>(values: [(&str, Value); N]) -> Map<String, Value> {
    let given = values.into_iter().filter(|(_, value)| !value.is_null());
    given.map(|(name, value)| (name.to_string(), value)).collect()
}

fn folds(text: &str) -> Result<Value, String> {
    match (text, text.parse::<u64>()) {
        ("loo", _) => Ok(json!(text)),
        (_, Ok(k)) if k >= 2 => Ok(json!(k)),
        _ => Err("expected a number of at least 2, or loo".into()),
    }
}

/// A whole number says how many; numbers between commas, or one with a point, are the values.
fn list_or_count(text: &str) -> Result<Value, String> {
    if let Ok(count) = text.parse::<u64>() {
        return Ok(json!(count));
    }
    let parts = text.strip_suffix(',').unwrap_or(text).split(',');
    let numbers: Result<Vec<f64>, _> = parts.map(|part| part.trim().parse()).collect();
    match numbers {
        Ok(numbers) if numbers.iter().all(|x| x.is_finite()) => Ok(json!(numbers)),
        _ => Err("expected a whole number, or numbers such as 10,1,0.1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{folds, list_or_count};
    use serde_json::json;

    #[test]
    fn lists_and_counts_are_told_apart() {
        for (text, value) in [
            ("20", json!(20)),
            ("5,", json!([5.0])),
            ("0.5", json!([0.5])),
            ("1, 0.1,1e-3", json!([1.0, 0.1, 1e-3])),
        ] {
            assert_eq!(list_or_count(text), Ok(value));
        }
        for text in ["", "many", "1,,2", "1,nan"] {
            assert!(list_or_count(text).is_err(), "{text}");
        }
        assert_eq!((folds("10"), folds("loo")), (Ok(json!(10)), Ok(json!("loo"))));
        assert!(folds("1").is_err() && folds("-3").is_err());
    }
}
