//! Values to try.

use crate::error::{Error, Result};

/// λ's to try; models are fitted from the largest to the smallest.
#[derive(Debug, Clone, PartialEq)]
pub enum Lams {
    /// These.
    Values(Vec<f64>),
    /// Evenly spaced logarithms from λ_max of all data down to a part of it.
    Spaced {
        /// How many.
        count: usize,
        /// That part; 1e-3, or 1e-2 where there are more columns than rows.
        min_ratio: Option<f64>,
    },
}

impl Default for Lams {
    fn default() -> Self {
        Lams::Spaced { count: 100, min_ratio: None }
    }
}

/// γ's to try.
#[derive(Debug, Clone, PartialEq)]
pub enum Gammas {
    /// These.
    Values(Vec<f64>),
    /// Evenly spaced logarithms from 2⁻⁸ to 2⁸ times the `scale` rule's, then a golden-section
    /// search between the neighbours of the best.
    Around {
        /// How many.
        count: usize,
        /// How many more in the search.
        refine: usize,
    },
}

/// The farthest factor from the `scale` rule's γ.
pub(crate) const GAMMA_FACTOR: f64 = 256.0;

impl Default for Gammas {
    fn default() -> Self {
        Gammas::Around { count: 9, refine: 6 }
    }
}

impl Lams {
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Lams::Values(values) => check_values("lams", values, true),
            Lams::Spaced { count, min_ratio } => {
                check_count("lams", *count)?;
                match min_ratio {
                    Some(r) if !(*r > 0.0 && *r < 1.0) => Err(Error::setting(
                        "lam_min_ratio",
                        r,
                        "a number between 0 and 1 is expected",
                    )),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl Gammas {
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Gammas::Values(values) => check_values("gammas", values, false),
            Gammas::Around { count, .. } => check_count("gammas", *count),
        }
    }
}

fn check_count(name: &str, count: usize) -> Result<()> {
    if count > 0 {
        return Ok(());
    }
    Err(Error::setting(name, count, "a list of numbers, or a count of at least 1, is expected"))
}

fn check_values(name: &str, values: &[f64], zero: bool) -> Result<()> {
    check_count(name, values.len())?;
    match values.iter().find(|v| !(v.is_finite() && (**v > 0.0 || zero && **v == 0.0))) {
        Some(bad) => Err(Error::setting(
            name,
            bad,
            if zero {
                "numbers of at least 0 are expected"
            } else {
                "numbers above 0 are expected"
            },
        )),
        None => Ok(()),
    }
}

/// Values of λ from λ_max down to a part of it: by default a thousandth, or a hundredth where
/// there are more functions than rows that count. One 0 where λ_max is 0, for no column has
/// anything to say.
pub(crate) fn path_lams(
    largest: f64,
    rows: usize,
    functions: usize,
    count: usize,
    min_ratio: Option<f64>,
) -> Vec<f64> {
    if largest <= 0.0 {
        return vec![0.0];
    }
    let usual = if rows >= functions { 1e-3 } else { 1e-2 };
    log_spaced(largest, largest * min_ratio.unwrap_or(usual), count)
}

/// `count` numbers from `first` to `last`, both above 0, with evenly spaced logarithms.
///
/// ```
/// let grid = fewer::select::log_spaced(8.0, 1.0, 4);
/// assert!(grid.iter().zip([8.0, 4.0, 2.0, 1.0]).all(|(a, b)| (a - b).abs() < 1e-12));
/// ```
pub fn log_spaced(first: f64, last: f64, count: usize) -> Vec<f64> {
    (0..count)
        .map(|k| match k {
            0 => first,
            k if k + 1 == count => last,
            k => first * (last / first).powf(k as f64 / (count - 1) as f64),
        })
        .collect()
}
