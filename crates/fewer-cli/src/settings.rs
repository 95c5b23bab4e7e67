//! The settings of methods as flags.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use fewer::method::METHODS;
use serde_json::{Map, Value, json};

/// The method and its settings; one that is not given has the method's default.
#[derive(Args)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// The method
    #[arg(long, default_value = METHODS[0].1, value_parser = methods())]
    pub method: String,
    /// The functions of the columns to choose from [default: linear]
    #[arg(long, value_parser = ["linear", "polynomial"])]
    basis: Option<String>,
    /// Highest degree of the polynomial basis [default: 2]
    #[arg(long, value_name = "N")]
    degree: Option<usize>,
    /// Keep at most so many terms
    #[arg(long, value_name = "N")]
    max_terms: Option<usize>,
    /// The prior on the weights [default: jeffreys, which has nothing to tune]
    #[arg(long, value_parser = ["jeffreys", "laplace", "gaussian"])]
    prior: Option<String>,
    /// Strength of the laplace or gaussian prior
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    lam: Option<f64>,
    /// The same as a part of the strength that leaves no term
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    lam_ratio: Option<f64>,
    /// Standard deviation of the noise [default: estimated]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    noise: Option<f64>,
    /// Whether the prior applies to columns of unit variance [default: true]
    #[arg(long, value_name = "BOOL")]
    standardize: Option<bool>,
    /// Whether there is an intercept; `penalised`: one that the prior shrinks [default: true]
    #[arg(long, value_parser = ["true", "false", "penalised"])]
    fit_intercept: Option<String>,
    /// `paper`: start and stop as published [default: exact]
    #[arg(long, value_parser = ["exact", "paper"])]
    variant: Option<String>,
    /// Bound on the certificate [default: 1e-8]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    tol: Option<f64>,
    /// Iterations after which the fit ends in any case [default: 10000]
    #[arg(long, value_name = "N")]
    max_iter: Option<usize>,
    /// Seconds after which the fit ends in any case
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    max_time: Option<f64>,
    /// Memory that matrices may take, such as 500MB or 4GB [default: 4GB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory_limit: Option<f64>,
    /// Number of threads; the answer does not depend on it [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

fn methods() -> PossibleValuesParser {
    METHODS.iter().map(|&(class, name)| PossibleValue::new(name).alias(class)).into()
}

impl Settings {
    /// What was given, as the library takes it.
    pub fn to_json(&self) -> String {
        let intercept = self.fit_intercept.as_deref().map(|word| match word {
            "true" => json!(true),
            "false" => json!(false),
            word => json!(word),
        });
        let given: Map<String, Value> = [
            ("basis", json!(self.basis)),
            ("degree", json!(self.degree)),
            ("max_terms", json!(self.max_terms)),
            ("prior", json!(self.prior)),
            ("lam", json!(self.lam)),
            ("lam_ratio", json!(self.lam_ratio)),
            ("noise", json!(self.noise)),
            ("standardize", json!(self.standardize)),
            ("fit_intercept", json!(intercept)),
            ("variant", json!(self.variant)),
            ("tol", json!(self.tol)),
            ("max_iter", json!(self.max_iter)),
            ("max_time", json!(self.max_time)),
            ("memory_limit", json!(self.memory_limit)),
            ("n_jobs", json!(self.threads)),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_string(), value))
        .collect();
        Value::Object(given).to_string()
    }
}

/// A size such as `4GB`, `500 MB`, `2GiB` or a plain number of bytes.
fn bytes(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024f64.powi(2),
        "gib" => 1024f64.powi(3),
        "tib" => 1024f64.powi(4),
        _ => return Err("expected a size such as 500MB or 4GB".into()),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number * factor),
        _ => Err("expected a size above 0 such as 500MB or 4GB".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        for (text, size) in
            [("4GB", 4e9), ("500 mb", 5e8), ("2GiB", 2147483648.0), ("1e6", 1e6), ("1.5k", 1500.0)]
        {
            assert_eq!(bytes(text), Ok(size));
        }
        for text in ["", "GB", "-1GB", "4XB", "nan"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
