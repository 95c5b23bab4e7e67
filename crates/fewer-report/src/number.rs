//! Numbers as people read them.

/// The number with so many significant digits (6 at most, save that whole numbers keep theirs),
/// without trailing zeros; exponents only where they shorten.
///
/// ```
/// use fewer_report::number;
/// assert_eq!(number(std::f64::consts::PI, 4), "3.142");
/// assert_eq!(number(-123456.0, 4), "-123456");
/// assert_eq!(number(2.5e-9, 4), "2.5e-9");
/// ```
pub fn number(x: f64, digits: usize) -> String {
    let digits = digits.max(1);
    let has_decimals = x.abs() < 10f64.powi(digits as i32);
    let rounded = if has_decimals { format!("{x:.*e}", digits - 1).parse() } else { Ok(x) };
    fewer::model::number(rounded.unwrap_or(x))
}
