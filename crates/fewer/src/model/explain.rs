//! A model in words: its terms as a table, and as a formula.

use super::{Link, Model, SuspectedRow, Term};
use crate::basis::{LearntFunction, MORE, rounded};

/// The terms of a model, those of the largest effect first.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The terms.
    pub terms: Vec<Term>,
    /// Centre and width of each term, where they were learnt: the name of a term of many features
    /// lists some of them.
    pub learnt: Vec<LearntFunction>,
    /// The intercept of each output.
    pub intercepts: Vec<f64>,
    /// The standard error of each term's weight in each output, where the model has a posterior;
    /// none for weights that are zero.
    pub standard_errors: Option<Vec<Vec<Option<f64>>>>,
    /// The standard error of each intercept, where the model has a posterior; none for one that is
    /// fixed.
    pub intercept_errors: Option<Vec<Option<f64>>>,
    /// What each output stands for: the target, or a class of it.
    pub outputs: Vec<String>,
    /// Functions that the basis offered; none where the terms themselves were learnt.
    pub basis_size: Option<usize>,
    /// Features with what they matter for the fit, the most relevant first, where the method says
    /// so ([`Report::relevances`](super::Report::relevances)).
    pub relevances: Vec<(String, f64)>,
    /// Rows of the training data that are far off for the noise, where its tails are heavy.
    pub suspected: Vec<SuspectedRow>,
}

/// Rows, or features, that are named one by one.
const NAMED: usize = 10;

/// Some of the suspected rows, counted from 1, those of least weight first.
pub fn suspected_rows(rows: &[SuspectedRow]) -> String {
    let mut rows = rows.to_vec();
    rows.sort_by(|a, b| a.weight.total_cmp(&b.weight).then(a.row.cmp(&b.row)));
    let named: Vec<String> = rows.iter().take(NAMED).map(|r| (r.row + 1).to_string()).collect();
    let more = if rows.len() > NAMED { ", …" } else { "" };
    format!("{}: {}{more}", rows.len(), named.join(", "))
}

impl std::fmt::Display for Explanation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kept = self.terms.len();
        match self.basis_size {
            Some(size) => writeln!(f, "{kept} of {size} terms kept")?,
            None => writeln!(f, "{kept} term{} learnt", if kept == 1 { "" } else { "s" })?,
        }
        let width = self.terms.iter().map(|t| t.name.chars().count()).max().unwrap_or(0).max(11);
        let one = self.outputs.len() == 1;
        let errors = self.standard_errors.as_ref().filter(|_| one);
        let columns: Vec<String> = if one {
            let mut columns = vec![format!("weight in {}", self.outputs[0])];
            columns.extend(errors.map(|_| "standard error".into()));
            columns.push("effect of one s.d.".into());
            columns
        } else {
            self.outputs.clone()
        };
        let widths: Vec<usize> = columns.iter().map(|c| c.chars().count().max(11)).collect();
        write!(f, "{:<width$}", "term")?;
        for (column, w) in columns.iter().zip(&widths) {
            write!(f, "  {column:>w$}")?;
        }
        write!(f, "\n{:<width$}", "(intercept)")?;
        let error = self.intercept_errors.as_ref().filter(|_| one).and_then(|e| e[0]);
        for (b, w) in self.intercepts.iter().chain(&error).zip(&widths) {
            write!(f, "  {:>w$}", number(*b))?;
        }
        for (k, term) in self.terms.iter().enumerate() {
            write!(f, "\n{:<width$}", term.name)?;
            let effect = one.then(|| term.effect());
            let error = errors.and_then(|e| e[k][0]);
            for (value, w) in term.weights.iter().chain(&error).chain(&effect).zip(&widths) {
                write!(f, "  {:>w$}", number(*value))?;
            }
        }
        writeln!(f)?;
        if !self.learnt.is_empty() && self.terms.iter().any(|t| t.name.contains(MORE)) {
            writeln!(
                f,
                "{MORE} stands for more features: explain().to_dict() and `fewer explain --json` \
                 give whole centres and widths"
            )?;
        }
        if self.relevances.len() > 1 {
            let shown = self.relevances.iter().take(NAMED);
            let shown: Vec<String> =
                shown.map(|(name, v)| format!("{name} {}", number(rounded(*v)))).collect();
            let more = if self.relevances.len() > NAMED { ", …" } else { "" };
            writeln!(f, "features by relevance: {}{more}", shown.join(", "))?;
        }
        if !self.suspected.is_empty() {
            writeln!(f, "rows far off for the noise: {}", suspected_rows(&self.suspected))?;
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
    /// assert_eq!(model.explain().terms[0].name, "x2");
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        let mut order: Vec<usize> = (0..self.terms.len()).collect();
        let size = |k: usize| self.terms[k].effect().abs();
        order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
        let errors = self.standard_errors().ok();
        let names = self.feature_names().iter().cloned();
        let mut relevances: Vec<(String, f64)> =
            names.zip(self.report.relevances.iter().copied()).collect();
        relevances.sort_by(|a, b| b.1.total_cmp(&a.1));
        let class = |k: usize| self.classes.as_ref().map(|c| c[k].to_string());
        Explanation {
            standard_errors: errors.map(|e| order.iter().map(|&k| e[k].clone()).collect()),
            terms: order.iter().map(|&k| self.terms[k].clone()).collect(),
            learnt: match self.learnt() {
                Some(learnt) => order.iter().map(|&k| learnt.function(k)).collect(),
                None => Vec::new(),
            },
            intercepts: (0..self.outputs()).map(|k| self.intercept_of(k)).collect(),
            intercept_errors: self.intercept_errors().ok(),
            outputs: match self.outputs() {
                1 => vec![class(1).unwrap_or_else(|| self.target.clone())],
                n => (0..n).filter_map(class).collect(),
            },
            basis_size: self.learnt().is_none().then_some(self.basis_size),
            relevances,
            suspected: self.report.suspected.clone(),
        }
    }

    /// The first output as one line: `2 - 0.5 x2`. A probit's is inside Φ, a logit's inside the
    /// logistic function, and of a softmax of several inside exp.
    pub fn formula(&self) -> String {
        self.formula_of(0)
    }

    /// An output as one line. With more than two classes probabilities are proportional to them.
    pub fn formula_of(&self, output: usize) -> String {
        let mut out = String::new();
        let shown = number(self.intercept_of(output));
        let terms: Vec<&Term> = self.terms.iter().filter(|t| t.weights[output] != 0.0).collect();
        if shown != "0" || terms.is_empty() {
            out.push_str(&shown);
        }
        for term in terms {
            let weight = term.weights[output];
            let separator = match (out.is_empty(), weight < 0.0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            let name = if term.name.contains(['-', '+']) {
                format!("({})", term.name)
            } else {
                term.name.clone()
            };
            out.push_str(&format!("{separator}{} {name}", number(weight.abs())));
        }
        if self.report.offset {
            out = if out == "0" { "offset".into() } else { format!("{out} + offset") };
        }
        match self.link {
            Link::Identity => out,
            Link::Probit => format!("Φ({out})"),
            // exp(0), which a reference class has.
            Link::Logit if self.outputs() > 1 && out == "0" => "1".into(),
            Link::Logit if self.outputs() > 1 => format!("exp({out})"),
            Link::Logit | Link::LogitOfEach => format!("logistic({out})"),
        }
    }
}

/// Six significant digits, without trailing zeros; exponents only where they shorten.
///
/// ```
/// assert_eq!(fewer::model::number(0.1 + 0.2), "0.3");
/// ```
pub fn number(x: f64) -> String {
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
