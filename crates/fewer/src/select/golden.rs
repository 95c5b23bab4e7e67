//! Golden-section search.

use crate::error::Result;

/// Looks for the minimum of a function of one number between `low` and `high`, both above 0, on
/// the scale of logarithms; gives the best of so many evaluations, as (place, value).
///
/// Each evaluation narrows the interval by 0.618; the minimum is found where there is only one.
///
/// ```
/// use fewer::select::golden_section;
/// let (x, _) = golden_section(0.01, 100.0, 40, |x: f64| Ok((x.ln() - 1.0).powi(2)))?.unwrap();
/// assert!((x - 1f64.exp()).abs() < 1e-6);
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn golden_section(
    low: f64,
    high: f64,
    evaluations: usize,
    mut value: impl FnMut(f64) -> Result<f64>,
) -> Result<Option<(f64, f64)>> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut a, mut b) = (low.ln(), high.ln());
    let mut best: Option<(f64, f64)> = None;
    let mut at = |log: f64| -> Result<f64> {
        let place = log.exp();
        let found = value(place)?;
        if best.is_none_or(|b| found < b.1) {
            best = Some((place, found));
        }
        Ok(found)
    };
    // (place, value) of the two inner points, of which each step keeps one.
    let (mut left, mut right) = (None, None);
    for _ in 0..evaluations {
        let (low, high) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
        match (left, right) {
            (None, _) => left = Some((low, at(low)?)),
            (_, None) => right = Some((high, at(high)?)),
            _ => {}
        }
        if let (Some(l), Some(r)) = (left, right) {
            if l.1 <= r.1 {
                (b, right, left) = (r.0, left, None);
            } else {
                (a, left, right) = (l.0, right, None);
            }
        }
    }
    Ok(best)
}
