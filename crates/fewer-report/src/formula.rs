//! A model as formulas.

use fewer::model::Model;

/// Each output of the model as a line: `price = 2 size`, `P(sick = yes) = Φ(1 + 2 age)`.
///
/// With more than two classes the probabilities are only proportional to what the lines say.
///
/// ```
/// # use fewer::data::{Dataset, DenseView};
/// # use fewer::method::SparseRegressor;
/// # let x: Vec<f64> = (0..300).map(|i| ((i * i) as f64 * 0.37).sin()).collect();
/// # let y: Vec<f64> = x.chunks(3).map(|x| 2.0 - 0.5 * x[1]).collect();
/// # let data = Dataset::new(DenseView::by_rows(&x, 100, 3)?, &y)?;
/// let model = SparseRegressor::new().fit(&data)?;
/// assert_eq!(fewer_report::formulas(&model), ["y = 2 - 0.5 x2"]);
/// # Ok::<(), fewer::Error>(())
/// ```
pub fn formulas(model: &Model) -> Vec<String> {
    let target = model.target_name();
    let outputs = model.explain().outputs;
    let sign = if outputs.len() == 1 { "=" } else { "∝" };
    let line = |(k, output): (usize, &String)| {
        let formula = model.formula_of(k);
        match model.classes() {
            Some(_) => format!("P({target} = {output}) {sign} {formula}"),
            None => format!("{target} = {formula}"),
        }
    };
    outputs.iter().enumerate().map(line).collect()
}
