//! A model in words: its terms as a table, and as a formula.

use super::Model;

/// The terms of a model with their shares of what it explains, the strongest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// For each term: name, weight in the units of the data, change of the prediction when the
    /// term moves by one standard deviation.
    pub terms: Vec<(String, f64, f64)>,
    /// The intercept.
    pub intercept: f64,
    /// Name of the target.
    pub target: String,
    /// Functions that the basis offered.
    pub basis_size: usize,
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = self.terms.iter().map(|t| t.0.chars().count()).max().unwrap_or(0).max(11);
        writeln!(
            f,
            "{} = sum of weight × term: {} of {} terms kept",
            self.target,
            self.terms.len(),
            self.basis_size
        )?;
        writeln!(f, "{:<width$}  {:>13}  {:>19}", "term", "weight", "effect of one s.d.")?;
        writeln!(f, "{:<width$}  {:>13}", "(intercept)", number(self.intercept))?;
        for (name, weight, effect) in &self.terms {
            writeln!(f, "{name:<width$}  {:>13}  {:>19}", number(*weight), number(*effect))?;
        }
        Ok(())
    }
}

impl Model {
    /// The terms as a table.
    ///
    /// ```
    /// # use fewer::data::{Dataset, DenseView};
    /// # use fewer::method::SparseRegressor;
    /// # let x: Vec<f64> = (0..300).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
    /// # let y: Vec<f64> = x.chunks(3).map(|x| 2.0 - 0.5 * x[1]).collect();
    /// # let data = Dataset::new(DenseView::by_rows(&x, 100, 3)?, &y)?;
    /// let model = SparseRegressor::new().fit(&data)?;
    /// println!("{}", model.explain());
    /// assert_eq!(model.explain().terms[0].0, "x2");
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        let mut terms: Vec<(String, f64, f64)> =
            self.terms.iter().map(|t| (t.name.clone(), t.weight, t.weight * t.deviation)).collect();
        terms.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
        Explanation {
            terms,
            intercept: self.intercept(),
            target: self.target.clone(),
            basis_size: self.basis_size,
        }
    }

    /// The model as one line: `2 - 0.5 x2`.
    pub fn formula(&self) -> String {
        let mut out = String::new();
        let intercept = self.intercept();
        let shown = number(intercept);
        if shown != "0" || self.terms.is_empty() {
            out.push_str(&shown);
        }
        for term in &self.terms {
            let sign = if term.weight < 0.0 { "-" } else { "+" };
            let separator = match (out.is_empty(), sign) {
                (true, "-") => "-".to_string(),
                (true, _) => String::new(),
                (false, sign) => format!(" {sign} "),
            };
            let name = if term.name.contains(['-', '+']) {
                format!("({})", term.name)
            } else {
                term.name.clone()
            };
            out.push_str(&format!("{separator}{} {name}", number(term.weight.abs())));
        }
        out
    }
}

/// Six significant digits, without trailing zeros; exponents only where they shorten.
fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".into() } else { x.to_string() };
    }
    let exponent = x.abs().log10().floor() as i32;
    if (-5..9).contains(&exponent) {
        let decimals = (5 - exponent).max(0) as usize;
        let text = format!("{x:.decimals$}");
        if !text.contains('.') {
            return text;
        }
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return if text == "-0" { "0".into() } else { text.into() };
    }
    let text = format!("{x:.5e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{}e{exponent}", mantissa.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (2.0, "2"),
            (-0.5, "-0.5"),
            (123456789.0, "123456789"),
            (1.0e-7, "1e-7"),
            (-1.25e20, "-1.25e20"),
            (std::f64::consts::PI, "3.14159"),
            (0.1 + 0.2, "0.3"),
        ];
        for (x, expected) in cases {
            assert_eq!(number(x), expected);
        }
    }
}
