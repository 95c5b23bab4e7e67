//! What methods with learnt kernels share: their inputs, and their columns as other methods know
//! theirs.

use super::common::{Common, Shared};
use super::settings::{Intercept, Variant, check_count};
use crate::basis::{Family, FixedBasis, Learnt, Shape, rounded};
use crate::data::{Dataset, DenseView, Moments, Units};
use crate::design::{Columns, DenseColumns};
use crate::engine::Observer;
use crate::engine::evidence::{ROWS_FOR_EACH, ROWS_FOR_PARAMETER, Sample};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::model::{DroppedColumn, Model, number};
use std::sync::Arc;

/// Values are rounded to 2 to minus this of their deviation. A climb among many maxima magnifies
/// differences in the last bits, which other units bring, until it ends elsewhere.
const GRAIN: i32 = 32;

pub(super) fn grain(deviation: f64) -> f64 {
    (deviation.log2().round() - f64::from(GRAIN)).exp2()
}

/// Mean and standard deviation, nearly always to the last bit, whether rows have whole weights or
/// are repeated; `about` are they but for rounding. Last bits of these would be in all values that
/// are divided by them.
fn exact_moments(
    values: &[f64],
    weights: Option<&[f64]>,
    centred: bool,
    about: (f64, f64),
) -> (f64, f64) {
    let power = about.1.log2().round().exp2();
    if !power.is_normal() {
        return about;
    }
    let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
    let total: f64 = (0..values.len()).map(weight).sum();
    // Twice as many digits, as of Dekker 1971: every product and sum with its rounding error.
    let mean_of = |value: &dyn Fn(f64) -> f64| {
        let (mut sum, mut rest) = (0.0_f64, 0.0_f64);
        // Rows of weight zero may hold anything.
        for (i, v) in values.iter().enumerate().filter(|(i, _)| weight(*i) > 0.0) {
            let (v, w) = (value(*v), weight(i));
            let product = v * w;
            let next = sum + product;
            let part = next - sum;
            rest += (sum - (next - part)) + (product - part) + v.mul_add(w, -product);
            sum = next;
        }
        (sum + rest) / total
    };
    let mean = if centred {
        let near = (about.0 / power * 1024.0).round() / 1024.0 * power;
        near + power * mean_of(&|v| (v - near) / power)
    } else {
        0.0
    };
    (mean, power * mean_of(&|v| ((v - mean) / power).powi(2)).sqrt())
}

pub(super) fn check_learning(families: &[Family], starts: usize) -> Result<()> {
    check_count("starts", Some(starts))?;
    if families.is_empty() {
        return Err(Error::setting(
            "families",
            "[]",
            "at least one of rbf, laplacian and linear is expected",
        ));
    }
    Ok(())
}

/// Says of a model where the search for kernels ended without a maximum: at what the rows bear, or
/// by rules that do not climb. What is certified is then that of the kernels there are.
pub(super) fn note_ends(model: &mut Model, beyond: Option<f64>, rows: f64, variant: Variant) {
    let report = &mut model.report;
    report.certificate.scope = "sampled".into();
    if let Some(gain) = beyond {
        report.certificate.scope = "kept terms".into();
        report.notes.push(format!(
            "{} different rows bear no more kernels (at most one for every {ROWS_FOR_EACH} rows, and a \
             learnt parameter for every {ROWS_FOR_PARAMETER}, so that they cannot interpolate), and the \
             search ended there; one more would gain about {} of log evidence",
            number(rows),
            number(rounded(gain)),
        ));
    }
    let gain = report.certificate.value;
    if variant == Variant::Paper && report.termination.is_converged() && gain > LITTLE_GAIN {
        report.notes.push(format!(
            "the rules as published do not climb the objective: the fit ended after ten searches \
             without a new height, where one more kernel still promised {} of log evidence",
            number(rounded(gain)),
        ));
    }
}

/// Gains of log evidence that are none.
const LITTLE_GAIN: f64 = 1e-6;

/// Inputs as kernels take them.
pub(super) struct Inputs {
    /// (n, v) (x − shift)·scale of the inputs that vary.
    inner: Matrix,
    /// (v,) Which these are; the first where none does.
    varying: Vec<usize>,
    pub shift: Vec<f64>,
    /// 0 for inputs that do not vary.
    pub scale: Vec<f64>,
    pub dropped: Vec<DroppedColumn>,
}

impl Inputs {
    /// With the units of the target; `linear` is whether features are functions as well.
    pub fn new(
        common: &Common,
        linear: bool,
        data: &Dataset<'_>,
        y: &[f64],
        weights: Option<&[f64]>,
        observer: &dyn Observer,
    ) -> Result<(Self, Units)> {
        let needed = 16.0 * (data.rows() * data.features().columns()) as f64;
        if needed > common.memory_limit {
            return Err(Error::memory(
                "a dense copy of the inputs".into(),
                needed,
                common.memory_limit,
                "raise memory_limit or give fewer features",
            ));
        }
        let free = common.fit_intercept == Intercept::Free;
        let x = data.features().to_matrix();
        let (n, d) = (x.rows(), x.columns());
        let all: Vec<usize> = (0..d).collect();
        let columns = DenseColumns::Borrowed(DenseView::of_columns(x.as_slice(), n, d));
        let moments = Moments::of(&columns, &all, y, weights, false, observer)?;
        let mut units = moments.units(true, free);
        for j in 0..d {
            let about = (units.mean[j], units.deviation[j]);
            (units.mean[j], units.deviation[j]) = exact_moments(x.column(j), weights, true, about);
        }
        let about = (units.target_mean, units.target_deviation);
        (units.target_mean, units.target_deviation) = exact_moments(y, weights, free, about);
        let names = data.names();
        let too_large = |what: String| Error::Unavailable {
            what,
            hint: "its values are too large for floating point; rescale it".into(),
        };
        if let Some(j) = units.deviation.iter().position(|v| !v.is_finite()) {
            return Err(too_large(format!("the variance of '{}'", names[j])));
        }
        if !units.target_deviation.is_finite() {
            return Err(too_large("the variance of the target".into()));
        }
        // Squares of distances must be numbers.
        let extreme = |v: &f64| *v > 0.0 && !(1e-140..1e140).contains(v);
        if let (false, Some(j)) = (common.standardize, units.deviation.iter().position(extreme)) {
            return Err(Error::Unavailable {
                what: format!("kernels of '{}' in its own units", names[j]),
                hint: "its values are too large or too small; rescale it or set standardize".into(),
            });
        }
        let scale: Vec<f64> = units
            .deviation
            .iter()
            .map(|&deviation| match (deviation > 0.0, common.standardize) {
                (true, true) => 1.0 / deviation,
                (true, false) => 1.0,
                // A constant input tells rows apart in nothing.
                (false, _) => 0.0,
            })
            .collect();
        let dropped: Vec<DroppedColumn> = (0..d)
            .filter(|&j| scale[j] == 0.0)
            .map(|j| DroppedColumn { name: names[j].clone(), reason: "constant".into() })
            .collect();
        // Without a free intercept a feature is itself, not what it is about its mean.
        let shift = if free || !linear { units.mean.clone() } else { vec![0.0; d] };
        // What does not vary would still be part of the steps in which kernels climb.
        let mut varying: Vec<usize> = (0..d).filter(|&j| scale[j] > 0.0).collect();
        if varying.is_empty() {
            varying.push(0);
        }
        let every: Vec<usize> = (0..n).collect();
        let mut inner =
            Learnt::inner_inputs(&x, &shift, &scale).part(&every, varying.iter().copied());
        for (k, &j) in varying.iter().enumerate().filter(|(_, j)| scale[**j] > 0.0) {
            let fine = grain(units.deviation[j] * scale[j]);
            inner.column_mut(k).iter_mut().for_each(|v| *v = (*v / fine).round() * fine + 0.0);
        }
        Ok((Self { inner, varying, shift, scale, dropped }, units))
    }

    /// Whether no input varies.
    pub fn are_constant(&self) -> bool {
        self.scale.iter().all(|s| *s == 0.0)
    }

    /// Rows of positive weight whose inputs or keys differ, each with the weight of all that are
    /// equal to it, in an order that does not depend on that of the rows.
    pub fn distinct(&self, keys: &[f64], weights: Option<&[f64]>) -> Vec<(usize, f64)> {
        let weight_of = |i: usize| weights.map_or(1.0, |w| w[i]);
        let mut order: Vec<usize> = (0..keys.len()).filter(|&i| weight_of(i) > 0.0).collect();
        let inner = &self.inner;
        let compare = |a: usize, b: usize| {
            let columns = (0..inner.columns()).map(|j| inner[(a, j)].total_cmp(&inner[(b, j)]));
            columns.fold(keys[a].total_cmp(&keys[b]), |order, next| order.then(next))
        };
        order.sort_unstable_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
        order
            .chunk_by(|&a, &b| compare(a, b).is_eq())
            .map(|equal| (equal[0], equal.iter().map(|&i| weight_of(i)).sum()))
            .collect()
    }

    /// These rows with their weights, and their targets.
    pub fn sample(&self, chosen: &[(usize, f64)], target: &[f64]) -> Sample {
        let places: Vec<usize> = chosen.iter().map(|c| c.0).collect();
        let x = self.inner.part(&places, 0..self.inner.columns());
        let one = chosen.iter().all(|c| c.1 == 1.0);
        let root = if one { Vec::new() } else { chosen.iter().map(|c| c.1.sqrt()).collect() };
        let target = chosen.iter().map(|c| c.1.sqrt() * target[c.0]).collect();
        let weight = chosen.iter().map(|c| c.1).sum();
        Sample { x: Arc::new(x), target, root, weight, count: weight, blame: Vec::new() }
    }

    /// Functions of the inputs that vary as those of all.
    pub fn learnt(&self, shapes: Vec<Shape>) -> Learnt {
        let widths = |own: Vec<f64>| if own.len() > 1 { self.spread(&own, 1.0) } else { own };
        let all = |shape: Shape| match shape {
            Shape::Linear { feature } => Shape::Linear { feature: self.varying[feature] },
            Shape::Rbf { centre, width } => {
                Shape::Rbf { centre: self.spread(&centre, 0.0), width: widths(width) }
            }
            Shape::Laplacian { centre, width } => {
                Shape::Laplacian { centre: self.spread(&centre, 0.0), width: widths(width) }
            }
        };
        Learnt::new(self.shift.clone(), self.scale.clone(), shapes.into_iter().map(all).collect())
    }

    /// Values of the inputs that vary among those of all.
    fn spread(&self, values: &[f64], other: f64) -> Vec<f64> {
        let mut out = vec![other; self.scale.len()];
        self.varying.iter().zip(values).for_each(|(&j, v)| out[j] = *v);
        out
    }

    /// By how much a sum of learnt functions changes with each input, at the rows of a sample.
    pub fn relevances(&self, learnt: &Learnt, weights: &[f64], rows: &Sample) -> Vec<f64> {
        let mut x = Matrix::zeros(rows.x.rows(), self.scale.len());
        for (k, &j) in self.varying.iter().enumerate() {
            x.column_mut(j).copy_from_slice(rows.x.column(k));
        }
        learnt.changes(weights, &x, &rows.root)
    }
}

/// The learnt columns as other methods know theirs; of the target come its mean and deviation.
pub(super) fn shared<'s>(
    common: &Common,
    data: &'s Dataset<'_>,
    (y, weights, of_target): (&[f64], Option<&[f64]>, (f64, f64)),
    fixed: &'s FixedBasis,
    columns: &dyn Columns,
    observer: &'s dyn Observer,
) -> Result<Shared<'s>> {
    let free = common.fit_intercept == Intercept::Free;
    let all: Vec<usize> = (0..columns.columns()).collect();
    let moments = Moments::of(columns, &all, y, weights, false, observer)?;
    let mut units = moments.units(free, free);
    (units.target_mean, units.target_deviation) = of_target;
    units.deviation.fill(1.0);
    let mut squares = moments.in_units(&units).squares;
    if common.fit_intercept == Intercept::Penalised {
        units.mean.push(0.0);
        units.deviation.push(1.0);
        squares.push(data.rows() as f64);
    }
    let count = units.mean.len();
    Ok(Shared {
        design: None,
        gram: None,
        squares,
        cross: vec![0.0; count],
        scale: vec![units.target_unit(); count],
        units,
        usable: (0..count).collect(),
        dropped: Vec::new(),
        weight: data.rows() as f64,
        rows: data.rows(),
        fixed,
        features: data.shared_names(),
        target: data.target_name(),
        kernel: true,
        distinct: usize::MAX,
        deadline: None,
        observer,
    })
}
