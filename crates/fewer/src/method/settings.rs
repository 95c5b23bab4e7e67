//! Settings that methods share, spelt the same in Rust, Python, the command line and model files.

use crate::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The prior on the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorKind {
    /// p(β) ∝ 1/|β|: sparse, with nothing to tune.
    #[default]
    Jeffreys,
    /// p(β) ∝ exp(−λ|β|): the Lasso's.
    Laplace,
    /// p(β) ∝ exp(−λβ²/2): ridge regression's, which keeps every term.
    Gaussian,
}

/// Whether formulas are used as published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// The best start, run to a certified stationary point.
    #[default]
    Exact,
    /// The paper's start and stop.
    Paper,
}

/// What is done about the intercept; `true`, `false` or `"penalised"` in Python and files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Intercept {
    /// Fitted without penalty.
    #[default]
    Free,
    /// None.
    None,
    /// A column of ones that the prior shrinks like any other: the papers' bias. Where columns are
    /// standardised they are centred first, and it is the output at their means that is shrunk.
    Penalised,
}

impl Serialize for Intercept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Intercept::Free => serializer.serialize_bool(true),
            Intercept::None => serializer.serialize_bool(false),
            Intercept::Penalised => serializer.serialize_str("penalised"),
        }
    }
}

impl<'de> Deserialize<'de> for Intercept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(true) => Ok(Intercept::Free),
            Value::Bool(false) => Ok(Intercept::None),
            Value::String(word) if word == "penalised" => Ok(Intercept::Penalised),
            _ => Err(serde::de::Error::custom("true, false or \"penalised\" is expected")),
        }
    }
}

/// Checks that a number, where it is given, is finite and above zero (or at least zero).
pub(crate) fn check_number(name: &'static str, value: Option<f64>, zero: bool) -> Result<()> {
    match value {
        Some(v) if !(v.is_finite() && (v > 0.0 || zero && v == 0.0)) => Err(Error::setting(
            name,
            v,
            if zero {
                "a number of at least 0 is expected"
            } else {
                "a number above 0 is expected"
            },
        )),
        _ => Ok(()),
    }
}

/// Checks that a count is at least 1.
pub(crate) fn check_count(name: &'static str, value: Option<usize>) -> Result<()> {
    match value {
        Some(0) => Err(Error::setting(name, 0, "a whole number of at least 1 is expected")),
        _ => Ok(()),
    }
}

/// Checks λ, which is given as itself or as a part of λ_max.
pub(crate) fn check_lam(lam: Option<f64>, ratio: Option<f64>) -> Result<()> {
    check_number("lam", lam, true)?;
    if let Some(ratio) = ratio
        && !(ratio > 0.0 && ratio <= 1.0)
    {
        return Err(Error::setting("lam_ratio", ratio, "a number in (0, 1] is expected"));
    }
    match (lam, ratio) {
        (Some(lam), Some(_)) => {
            Err(Error::setting("lam", lam, "give either lam or lam_ratio, not both"))
        }
        _ => Ok(()),
    }
}

/// Settings with a value for one that they leave out.
pub(crate) fn with_default(settings: &str, name: &str, value: Value) -> Result<String> {
    let mut given: Map<String, Value> = serde_json::from_str(settings).map_err(|e| {
        Error::setting("settings", settings, format!("a JSON object is expected ({e})"))
    })?;
    given.entry(name).or_insert(value);
    Ok(Value::Object(given).to_string())
}

/// Reads a JSON object with the settings that all methods share and those of one, which are
/// `usual` where they are not given.
pub(crate) fn parse_settings<Common, Own>(settings: &str, usual: &Own) -> Result<(Common, Own)>
where
    Common: DeserializeOwned + Serialize + Default,
    Own: DeserializeOwned + Serialize,
{
    let known = merge_settings(&Common::default(), usual);
    parse_known(settings, usual, &known)
}

/// The same, with the names to list where another is given.
fn parse_known<Common, Own>(settings: &str, usual: &Own, known: &Value) -> Result<(Common, Own)>
where
    Common: DeserializeOwned,
    Own: DeserializeOwned + Serialize,
{
    let unclear = |e: serde_json::Error| {
        Error::setting("settings", settings, format!("a JSON object is expected ({e})"))
    };
    let given: Map<String, Value> = serde_json::from_str(settings).map_err(unclear)?;
    let mut common = Map::new();
    let mut own = object(usual);
    // One by one, so that the one which is wrong can be named.
    for (name, value) in given {
        match read_one::<Common>(&name, &value)? {
            true => common.insert(name, value),
            false => match read_one::<Own>(&name, &value)? {
                true => own.insert(name, value),
                false => {
                    return Err(Error::setting(
                        name,
                        value,
                        format!("there is no such setting; there are {}", names(known)),
                    ));
                }
            },
        };
    }
    Ok((
        serde_json::from_value(Value::Object(common)).map_err(unclear)?,
        serde_json::from_value(Value::Object(own)).map_err(unclear)?,
    ))
}

/// Whole numbers that may be 0; of others there is at least 1.
const MAY_BE_ZERO: [&str; 2] = ["random_state", "warmup"];

/// Whether this is one of these settings, with a value that it may have.
fn read_one<Of: DeserializeOwned>(name: &str, value: &Value) -> Result<bool> {
    let read = |value: &Value| {
        let alone = Value::Object(Map::from_iter([(name.to_string(), value.clone())]));
        serde_json::from_value::<Of>(alone).err().map(|e| e.to_string())
    };
    match read(value) {
        None => Ok(true),
        Some(problem) if problem.starts_with("unknown field") => Ok(false),
        Some(problem) => Err(Error::setting(name, value, expected(name, &problem, &read))),
    }
}

/// What serde expected, in words that say nothing of types; `read` tells its problem with another
/// value.
fn expected(name: &str, problem: &str, read: &dyn Fn(&Value) -> Option<String>) -> String {
    let Some((_, wanted)) = problem.rsplit_once("expected ") else { return problem.into() };
    match wanted {
        "f64" => "a number is expected".into(),
        "usize" | "u32" | "u64" => {
            let least = if MAY_BE_ZERO.contains(&name) { 0 } else { 1 };
            format!("a whole number of at least {least} is expected")
        }
        "a boolean" => "true or false is expected".into(),
        "a string" => "a word is expected".into(),
        // A choice between words, or a list of such, all of which are named where one is given that
        // is none.
        "string or map" | "a sequence" => {
            let unknown = |value| read(&value).filter(|p| p.starts_with("unknown variant"));
            match (unknown(Value::from("")), unknown(Value::from(vec![""]))) {
                (Some(problem), _) => expected(name, &problem, read),
                (None, Some(problem)) => {
                    let words = problem.rsplit_once("one of ").map_or("", |(_, words)| words);
                    format!("a list of any of {} is expected", words.replace('`', "\""))
                }
                (None, None) => problem.into(),
            }
        }
        words if words.contains('`') => format!("{} is expected", words.replace('`', "\"")),
        _ => problem.into(),
    }
}

/// Settings that choose a basis.
const OF_A_BASIS: [&str; 7] =
    ["basis", "degree", "gamma", "coef0", "candidates", "landmarks", "centres"];

fn is_of_a_basis(name: &str, others: &[&str]) -> bool {
    OF_A_BASIS.contains(&name) || others.contains(&name)
}

/// The same for a method whose functions are its own, so that settings of a basis, and `others`,
/// are none of it.
pub(crate) fn parse_without_basis<Common, Own>(
    settings: &str,
    usual: &Own,
    others: &[&str],
) -> Result<(Common, Own)>
where
    Common: DeserializeOwned + Serialize + Default,
    Own: DeserializeOwned + Serialize,
{
    let given: Map<String, Value> = serde_json::from_str(settings).map_err(|e| {
        Error::setting("settings", settings, format!("a JSON object is expected ({e})"))
    })?;
    let known = without_basis(&Common::default(), usual, others);
    let is_none = |name: &&String| is_of_a_basis(name, others);
    if let Some(name) = given.keys().find(is_none) {
        return Err(Error::setting(
            name,
            &given[name],
            format!("this method has functions of its own; its settings are {}", names(&known)),
        ));
    }
    parse_known(settings, usual, &known)
}

/// The names of settings, for a message.
fn names(settings: &Value) -> String {
    let names = settings.as_object().map(|m| m.keys().map(|k| &**k).collect::<Vec<&str>>());
    names.unwrap_or_default().join(", ")
}

/// The settings of such a method, as they go into a model file.
pub(crate) fn without_basis(
    common: &impl Serialize,
    own: &impl Serialize,
    others: &[&str],
) -> Value {
    let mut all = object(common);
    all.retain(|name, _| !is_of_a_basis(name, others));
    all.extend(object(own));
    Value::Object(all)
}

/// The settings that all methods share and those of one, as they go into a model file.
pub(crate) fn merge_settings(common: &impl Serialize, own: &impl Serialize) -> Value {
    let mut all = object(common);
    all.extend(object(own));
    Value::Object(all)
}

fn object(settings: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
