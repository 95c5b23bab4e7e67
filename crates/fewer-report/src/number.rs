//! Numbers as people read them.

/// The number with so many significant digits, without trailing zeros; exponents only where they
/// shorten.
///
/// ```
/// use fewer_report::number;
/// assert_eq!(number(std::f64::consts::PI, 4), "3.142");
/// assert_eq!(number(-1500.0, 4), "-1500");
/// assert_eq!(number(2.5e-9, 4), "2.5e-9");
/// ```
pub fn number(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return "0".into();
    }
    if !x.is_finite() {
        return x.to_string();
    }
    let digits = digits.max(1);
    let scientific = format!("{x:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..7).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        trimmed(&format!("{x:.decimals$}")).into()
    } else {
        format!("{}e{exponent}", trimmed(mantissa))
    }
}

fn trimmed(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}
