//! Kernels that each have a centre and a width of their own (Tzikas et al. 2009, sec. III).

use super::linear::whole;
use super::rounded;
use crate::data::Features;
use crate::design::Columns;
use crate::linalg::{Layout, Matrix, Tile, axpy};
use crate::model::number;
use crate::special::exp_of_multiples;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The form of a learnt function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// exp(−Σ (x − m)²/h²).
    Rbf,
    /// exp(−Σ |x − m|/h).
    Laplacian,
    /// A feature itself: a linear trend.
    Linear,
}

/// A learnt function in the units of the data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LearntFunction {
    /// Its form.
    pub family: Family,
    /// The centre of a kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub centre: Option<Vec<f64>>,
    /// The width of a kernel along each feature; infinite along those that were constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<Vec<f64>>,
    /// The feature that a linear function is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<usize>,
}

/// A kernel at m of width h, or a feature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "family", rename_all = "snake_case")]
pub(crate) enum Shape {
    Rbf {
        centre: Vec<f64>,
        /// One width, or one for each input.
        width: Vec<f64>,
    },
    Laplacian {
        centre: Vec<f64>,
        width: Vec<f64>,
    },
    Linear {
        feature: usize,
    },
}

impl Shape {
    pub fn family(&self) -> Family {
        match self {
            Shape::Rbf { .. } => Family::Rbf,
            Shape::Laplacian { .. } => Family::Laplacian,
            Shape::Linear { .. } => Family::Linear,
        }
    }

    /// A kernel of the parameters (m, log h).
    pub fn of(family: Family, parameters: &[f64], inputs: usize) -> Self {
        let centre = parameters[..inputs].to_vec();
        let width = parameters[inputs..].iter().map(|l| l.exp()).collect();
        match family {
            Family::Laplacian => Shape::Laplacian { centre, width },
            _ => Shape::Rbf { centre, width },
        }
    }

    /// Centre and width of a kernel.
    pub fn kernel(&self) -> Option<(&[f64], &[f64])> {
        match self {
            Shape::Rbf { centre, width } | Shape::Laplacian { centre, width } => {
                Some((centre, width))
            }
            Shape::Linear { .. } => None,
        }
    }

    /// (m, log h); nothing for a feature.
    pub fn parameters(&self) -> Vec<f64> {
        let Some((centre, width)) = self.kernel() else { return Vec::new() };
        centre.iter().copied().chain(width.iter().map(|h| h.ln())).collect()
    }

    /// Its values where the inputs are `x`, column after column.
    pub fn write(&self, x: &[f64], out: &mut [f64]) {
        let n = out.len();
        let (centre, width) = match self {
            Shape::Linear { feature } => {
                return out.copy_from_slice(&x[feature * n..][..n]);
            }
            Shape::Rbf { centre, width } | Shape::Laplacian { centre, width } => (centre, width),
        };
        out.fill(0.0);
        let squared = self.family() == Family::Rbf;
        for (j, m) in centre.iter().enumerate() {
            let inverse = 1.0 / width[j.min(width.len() - 1)];
            add_distances(&x[j * n..][..n], *m, inverse, squared, out);
        }
        exp_of_multiples(-1.0, out);
    }

    /// ∂φ/∂(m, log h) on the rows, a column for each, where the values are `values`.
    pub fn slopes(&self, x: &[f64], values: &[f64], out: &mut [f64]) {
        let Some((centre, width)) = self.kernel() else { return };
        let n = values.len();
        let squared = self.family() == Family::Rbf;
        let (of_centre, of_width) = out.split_at_mut(centre.len() * n);
        of_width.fill(0.0);
        for (j, m) in centre.iter().enumerate() {
            let place = j.min(width.len() - 1);
            let inverse = 1.0 / width[place];
            let rows = x[j * n..][..n].iter().zip(values);
            let outs = of_centre[j * n..][..n].iter_mut().zip(&mut of_width[place * n..][..n]);
            for ((x, value), (first, second)) in rows.zip(outs) {
                let u = (x - m) * inverse;
                let slope = value * slope(u, squared);
                *first = slope * inverse;
                *second += slope * u;
            }
        }
    }

    /// Σ g ∂φ/∂(m, log h) over the rows, where the values are `values`.
    pub fn contract(&self, x: &[f64], values: &[f64], g: &[f64]) -> Vec<f64> {
        let Some((centre, width)) = self.kernel() else { return Vec::new() };
        let n = values.len();
        let moved: Vec<f64> = values.iter().zip(g).map(|(v, g)| v * g).collect();
        let mut out = vec![0.0; centre.len() + width.len()];
        let squared = self.family() == Family::Rbf;
        for (j, m) in centre.iter().enumerate() {
            let place = j.min(width.len() - 1);
            let inverse = 1.0 / width[place];
            let (first, second) = sums(&x[j * n..][..n], *m, inverse, squared, &moved);
            out[j] = first * inverse;
            out[centre.len() + place] += second;
        }
        out
    }
}

/// The derivative of u², or of |u|.
#[inline(always)]
fn slope(u: f64, squared: bool) -> f64 {
    if squared {
        2.0 * u
    } else if u == 0.0 {
        0.0
    } else {
        u.signum()
    }
}

/// Adds |x − m|/h, or its square.
fn add_distances(x: &[f64], m: f64, inverse: f64, squared: bool, out: &mut [f64]) {
    pulp::Arch::new().dispatch(|| {
        if squared {
            out.iter_mut().zip(x).for_each(|(o, x)| {
                let u = (x - m) * inverse;
                *o += u * u;
            });
        } else {
            out.iter_mut().zip(x).for_each(|(o, x)| *o += ((x - m) * inverse).abs());
        }
    });
}

/// With u = (x − m)/h: Σ 2gu and Σ 2gu² for squares, Σ g sign(u) and Σ g|u| else.
fn sums(x: &[f64], m: f64, inverse: f64, squared: bool, g: &[f64]) -> (f64, f64) {
    const LANES: usize = 8;
    pulp::Arch::new().dispatch(|| {
        let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
        for (x, g) in x.chunks(LANES).zip(g.chunks(LANES)) {
            for (l, (x, g)) in x.iter().zip(g).enumerate() {
                let u = (x - m) * inverse;
                let slope = slope(u, squared);
                first[l] += g * slope;
                second[l] += g * slope * u;
            }
        }
        (first.iter().sum(), second.iter().sum())
    })
}

/// What stands for features that a name leaves out.
pub(crate) const MORE: &str = "…";

/// A row's feature is replaced by those of so many others, at equal distances in rank.
const SHIFTS: usize = 8;
/// Values of kernels that may be computed to see what features change, and rows that are looked at
/// in any case.
const MOST_VALUES: usize = 1 << 22;
const FEWEST_ROWS: usize = 200;

/// Learnt kernels, in inputs that are shifted and scaled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Learnt {
    /// (d,) Inputs are (x − shift)·scale inside, where `inner` shapes are.
    shift: Vec<f64>,
    scale: Vec<f64>,
    inner: Vec<Shape>,
}

impl Learnt {
    pub(crate) fn new(shift: Vec<f64>, scale: Vec<f64>, inner: Vec<Shape>) -> Self {
        Self { shift, scale, inner }
    }

    pub(super) fn len(&self) -> usize {
        self.inner.len()
    }

    /// Function `k` as a whole.
    pub(crate) fn function(&self, k: usize) -> LearntFunction {
        LearntFunction {
            family: self.family(k),
            centre: self.centre(k),
            width: self.width(k),
            feature: match self.inner[k] {
                Shape::Linear { feature } => Some(feature),
                _ => None,
            },
        }
    }

    /// The form of function `k`.
    pub fn family(&self, k: usize) -> Family {
        self.inner[k].family()
    }

    /// The centre of kernel `k` in the units of the data; none for a feature.
    pub fn centre(&self, k: usize) -> Option<Vec<f64>> {
        let (centre, _) = self.inner[k].kernel()?;
        let units = self.shift.iter().zip(&self.scale);
        let outer = |(m, (shift, scale)): (&f64, (&f64, &f64))| {
            if *scale > 0.0 { shift + m / scale } else { *shift }
        };
        Some(centre.iter().zip(units).map(outer).collect())
    }

    /// The width of kernel `k` along each feature, in the units of the data; infinite along those
    /// that were constant.
    pub fn width(&self, k: usize) -> Option<Vec<f64>> {
        let (_, width) = self.inner[k].kernel()?;
        let of = |(j, scale): (usize, &f64)| width[j.min(width.len() - 1)] / scale;
        Some(self.scale.iter().enumerate().map(of).collect())
    }

    pub(super) fn name(&self, k: usize, name: &dyn Fn(usize) -> String) -> String {
        /// Features a name lists, and how many times the narrowest width leaves one out.
        const LISTED: usize = 5;
        const WIDE: f64 = 10.0;
        /// Part of a width below which a centre is at zero.
        const ZERO: f64 = 1e-9;
        let shape = &self.inner[k];
        let family = match shape {
            Shape::Rbf { .. } => "rbf",
            Shape::Laplacian { .. } => "laplacian",
            Shape::Linear { feature } => return name(*feature),
        };
        let short = |v: f64| number(rounded(v));
        let (centre, width) =
            (self.centre(k).unwrap_or_default(), self.width(k).unwrap_or_default());
        let (_, inner) = shape.kernel().unwrap_or_default();
        let features = self.scale.len();
        let narrowest = inner.iter().fold(f64::INFINITY, |a, h| a.min(*h));
        let counts = |j: &usize| {
            self.scale[*j] > 0.0 && inner[(*j).min(inner.len() - 1)] <= WIDE * narrowest
        };
        let shown: Vec<usize> = (0..features).filter(counts).collect();
        let place = |&j: &usize| {
            // A centre at an end of the data is off by rounding errors.
            let at = if centre[j].abs() < ZERO * width[j] { 0.0 } else { centre[j] };
            format!("{} = {} ± {}", name(j), short(at), short(width[j]))
        };
        let mut parts: Vec<String> = shown.iter().take(LISTED).map(place).collect();
        if shown.len() > LISTED {
            parts.push(MORE.into());
        }
        format!("{family}({})", parts.join(", "))
    }

    pub(super) fn keep(&self, chosen: &[usize]) -> Self {
        Self { inner: chosen.iter().map(|&k| self.inner[k].clone()).collect(), ..self.clone() }
    }

    pub(super) fn fits(&self, features: usize) -> bool {
        let fits = |shape: &Shape| match shape {
            Shape::Linear { feature } => *feature < features,
            Shape::Rbf { centre, width } | Shape::Laplacian { centre, width } => {
                centre.len() == features
                    && (width.len() == 1 || width.len() == features)
                    && width.iter().all(|h| *h > 0.0)
            }
        };
        self.shift.len() == features && self.scale.len() == features && self.inner.iter().all(fits)
    }

    pub(super) fn columns<'a>(&'a self, x: Features<'a>) -> Box<dyn Columns + 'a> {
        Box::new(Evaluated { basis: self, inner: whole(x) })
    }

    /// Inputs as they are inside, column after column.
    pub(crate) fn inner_inputs(x: &Matrix, shift: &[f64], scale: &[f64]) -> Matrix {
        let mut out = x.clone();
        for j in 0..x.columns() {
            out.column_mut(j).iter_mut().for_each(|v| *v = (*v - shift[j]) * scale[j]);
        }
        out
    }

    /// What the weight of function `k` of inner inputs is multiplied by for its own units.
    pub(crate) fn factor(&self, k: usize) -> f64 {
        match &self.inner[k] {
            Shape::Linear { feature } => self.scale[*feature],
            _ => 1.0,
        }
    }

    /// By how much Σ w φ changes with each feature alone: the root of half the mean square
    /// difference to what it is where the row has the feature of another row instead. Of w·x it is
    /// |w| times the deviation of x. Rows are inner inputs and count for the squares of `root`, or
    /// for 1 where it is empty.
    ///
    /// Slopes would not do: of a feature with two values they are those at places between which the
    /// sum may go up and down again.
    pub(crate) fn changes(&self, weights: &[f64], inner: &Matrix, root: &[f64]) -> Vec<f64> {
        let d = self.shift.len();
        let each = SHIFTS * d.max(1) * self.inner.len().max(1);
        let step = inner.rows().div_ceil((MOST_VALUES / each).max(FEWEST_ROWS)).max(1);
        let rows: Vec<usize> = (0..inner.rows()).step_by(step).collect();
        let x = inner.part(&rows, 0..d);
        let weight: Vec<f64> =
            rows.iter().map(|&i| root.get(i).map_or(1.0, |r: &f64| r * r)).collect();
        let of = |j: usize| match self.scale[j] > 0.0 {
            true => self.change(weights, &x, &weight, j),
            false => 0.0,
        };
        (0..d).into_par_iter().map(of).collect()
    }

    /// The same for one feature.
    fn change(&self, weights: &[f64], x: &Matrix, weight: &[f64], j: usize) -> f64 {
        let n = x.rows();
        let own = x.column(j);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| own[a].total_cmp(&own[b]));
        // The weight up to and with each row, by rising values.
        let mut sum = 0.0;
        let ends: Vec<f64> = order
            .iter()
            .map(|&i| {
                sum += weight[i];
                sum
            })
            .collect();
        let (mut others, before) = (x.clone(), self.sum(weights, x));
        let mut total = 0.0;
        for shift in 0..SHIFTS {
            let by = (shift as f64 + 0.5) / SHIFTS as f64 * sum;
            for (k, &i) in order.iter().enumerate() {
                let at = (ends[k] - 0.5 * weight[i] + by) % sum;
                let other = ends.partition_point(|e| *e <= at).min(n - 1);
                others.column_mut(j)[i] = own[order[other]];
            }
            let after = self.sum(weights, &others);
            let square = |i: usize| weight[i] * (after[i] - before[i]).powi(2);
            total += (0..n).map(square).sum::<f64>();
        }
        (0.5 * total / (SHIFTS as f64 * sum)).sqrt()
    }

    /// Σ w φ at rows of inner inputs.
    fn sum(&self, weights: &[f64], x: &Matrix) -> Vec<f64> {
        let (mut out, mut values) = (vec![0.0; x.rows()], vec![0.0; x.rows()]);
        for (k, (shape, weight)) in self.inner.iter().zip(weights).enumerate() {
            if *weight == 0.0 {
                continue;
            }
            shape.write(x.as_slice(), &mut values);
            axpy(weight / self.factor(k), &values, &mut out);
        }
        out
    }
}

/// Learnt kernels at rows of x.
struct Evaluated<'a> {
    basis: &'a Learnt,
    inner: Box<dyn Columns + 'a>,
}

impl Columns for Evaluated<'_> {
    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn columns(&self) -> usize {
        self.basis.inner.len()
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        let (n, d) = (rows.len(), self.basis.shift.len());
        let all: Vec<usize> = (0..d).collect();
        let mut source = Tile::default();
        self.inner.fill(rows, &all, &mut source);
        let mut x = Matrix::zeros(n, d);
        for j in 0..d {
            let (shift, scale) = (self.basis.shift[j], self.basis.scale[j]);
            let column = x.column_mut(j).iter_mut().enumerate();
            column.for_each(|(i, v)| *v = (source.get(i, j) - shift) * scale);
        }
        tile.reset(n, columns.len(), Layout::Columns);
        let target = tile.values_mut().chunks_exact_mut(n.max(1));
        for (&k, out) in columns.iter().zip(target) {
            match &self.basis.inner[k] {
                // A feature is itself, in its own units.
                Shape::Linear { feature } => {
                    out.iter_mut().enumerate().for_each(|(i, o)| *o = source.get(i, *feature));
                }
                shape => shape.write(x.as_slice(), out),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::uniform;

    #[test]
    fn contractions_are_derivatives() {
        let mut next = uniform(4);
        let (n, d) = (23, 3);
        let x: Vec<f64> = (0..n * d).map(|_| 4.0 * next() - 2.0).collect();
        let g: Vec<f64> = (0..n).map(|_| next() - 0.5).collect();
        for family in [Family::Rbf, Family::Laplacian] {
            for widths in [1, d] {
                let parameters: Vec<f64> = (0..d + widths).map(|_| next() - 0.3).collect();
                let value = |parameters: &[f64]| {
                    let mut out = vec![0.0; n];
                    Shape::of(family, parameters, d).write(&x, &mut out);
                    out
                };
                let sum = |parameters: &[f64]| crate::linalg::dot(&value(parameters), &g);
                let shape = Shape::of(family, &parameters, d);
                let found = shape.contract(&x, &value(&parameters), &g);
                let mut slopes = vec![0.0; n * parameters.len()];
                shape.slopes(&x, &value(&parameters), &mut slopes);
                for (slope, found) in slopes.chunks(n).zip(&found) {
                    assert!((crate::linalg::dot(slope, &g) - found).abs() < 1e-12);
                }
                for k in 0..parameters.len() {
                    let at = |step: f64| {
                        let mut moved = parameters.clone();
                        moved[k] += step;
                        sum(&moved)
                    };
                    let expected = (at(1e-5) - at(-1e-5)) / 2e-5;
                    assert!((found[k] - expected).abs() < 1e-8, "{family:?} {widths} {k}");
                }
                let again = shape.parameters();
                assert!(again.iter().zip(&parameters).all(|(a, b)| (a - b).abs() < 1e-15));
            }
        }
    }

    #[test]
    fn changes_are_those_of_exchanged_features() {
        let mut next = uniform(9);
        let n = 400;
        let x: Vec<f64> = (0..2 * n).map(|_| 2.0 * next() - 1.0).collect();
        let x = Matrix::from_columns(n, 2, x);
        let shapes = vec![
            Shape::Rbf { centre: vec![0.3, -0.2], width: vec![0.8] },
            Shape::Laplacian { centre: vec![-0.5, 0.1], width: vec![0.5, 2.0] },
            Shape::Linear { feature: 1 },
        ];
        let weights = [1.5, -2.0, 0.7];
        let basis = Learnt::new(vec![0.0; 2], vec![1.0; 2], shapes);
        let found = basis.changes(&weights, &x, &[]);
        let before = basis.sum(&weights, &x);
        for j in 0..2 {
            let mut total = 0.0;
            for by in 1..n {
                let mut moved = x.clone();
                (0..n).for_each(|i| moved.column_mut(j)[i] = x[((i + by) % n, j)]);
                let after = basis.sum(&weights, &moved);
                total += after.iter().zip(&before).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            }
            let expected = (0.5 * total / (n * n) as f64).sqrt();
            assert!((found[j] / expected - 1.0).abs() < 0.03, "{j}: {found:?} {expected}");
        }
        // A weight of a row is so many copies of it, and order does not matter.
        let twice = x.part(&(0..2 * n).map(|i| i / 2).collect::<Vec<_>>(), 0..2);
        let backwards = x.part(&(0..n).rev().collect::<Vec<_>>(), 0..2);
        let copies = [
            basis.changes(&weights, &twice, &[]),
            basis.changes(&weights, &x, &vec![2f64.sqrt(); n]),
            basis.changes(&weights, &backwards, &[]),
        ];
        for copy in copies {
            assert!(copy.iter().zip(&found).all(|(a, b)| (a / b - 1.0).abs() < 0.01), "{copy:?}");
        }
    }
}
