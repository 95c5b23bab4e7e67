//! Kernels k(x, c), one function for each centre c.

use super::centres::{
    Centre, Centres, Landmarks, all_rows, distinct_rows, random_subset, spread_subset,
};
use super::functions;
use super::kernel_function::{KernelFunction, UserKernel};
use super::linear::whole;
use crate::data::{Dataset, DenseView, Features, Moments};
use crate::design::{Columns, DenseColumns, DenseKernel, RowWriter, SparseKernel};
use crate::engine::{Observer, Silent};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Tile, expect_to_fill};
use crate::special::exp_of_multiples;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Rows of the kernel matrix that are computed at a time.
const ROWS: usize = 128;
/// Values of the user's kernel that are computed at a time, unless one row has more.
const VALUES: usize = 1 << 19;
/// Rows among which the median distance is taken.
const MEDIAN_ROWS: usize = 500;

/// The form of a kernel.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelForm {
    /// exp(−γ‖x − c‖²).
    Rbf,
    /// exp(−γ‖x − c‖₁).
    Laplacian,
    /// (1 + a) exp(−a), a = √3 ‖x − c‖/ℓ, ℓ = 1/√(2γ).
    Matern32,
    /// (1 + a + a²/3) exp(−a), a = √5 ‖x − c‖/ℓ, ℓ = 1/√(2γ).
    Matern52,
    /// (γ x·c + coef0)^degree.
    PolynomialKernel,
    /// x·c.
    LinearKernel,
    /// The user's own.
    Function(UserKernel),
}

impl KernelForm {
    /// Whether it depends on x − c only.
    pub(crate) fn is_stationary(&self) -> bool {
        use KernelForm::{Function, LinearKernel, PolynomialKernel};
        !matches!(self, PolynomialKernel | LinearKernel | Function(_))
    }
}

/// The width parameter γ of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number, \"scale\" or \"median\" is expected")]
pub enum Gamma {
    /// A number.
    Number(f64),
    /// A rule.
    Rule(GammaRule),
}

/// How γ is read off the training data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GammaRule {
    /// 1/(d·variance of the inputs).
    Scale,
    /// 1/median², of the distances between centres (1/median for the Laplacian).
    Median,
}

impl Default for Gamma {
    fn default() -> Self {
        Gamma::Rule(GammaRule::Scale)
    }
}

/// What the user asks for.
#[derive(Debug, Clone)]
pub struct KernelSettings {
    /// The form.
    pub form: KernelForm,
    /// The width.
    pub gamma: Gamma,
    /// Degree of the polynomial kernel.
    pub degree: u32,
    /// Constant of the polynomial kernel.
    pub coef0: f64,
    /// The centres.
    pub centres: Centres,
    /// Whether inputs have unit variance inside.
    pub standardize: bool,
}

/// A kernel with its centres.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kernel {
    form: KernelForm,
    gamma: f64,
    degree: u32,
    coef0: f64,
    /// (d,) Inputs are (x − shift) · scale inside.
    shift: Vec<f64>,
    scale: Vec<f64>,
    /// Training row (from 0) of each centre, or its position among the given ones.
    rows: Vec<usize>,
    /// The centres in the units of the data.
    centres: Vec<Centre>,
    /// Whether the centres are training rows.
    #[serde(skip)]
    on_rows: bool,
}

impl Kernel {
    pub(super) fn resolve(settings: &KernelSettings, data: &Dataset<'_>) -> Result<Self> {
        let x = *data.features();
        let (shift, scale) = input_units(data, settings)?;
        let (rows, centres) = match &settings.centres {
            Centres::Given(points) => {
                check_points(points, x.columns())?;
                ((0..points.len()).collect(), points.iter().cloned().map(Centre::Dense).collect())
            }
            Centres::Rows => distinct_rows(data),
            Centres::Landmarks(count, how, seed) => {
                let (rows, centres) = distinct_rows(data);
                let chosen = match how {
                    Landmarks::Random | Landmarks::Redrawn => {
                        random_subset(rows.len(), *count, *seed)
                    }
                    Landmarks::Kmeans => spread_subset(&centres, &scale, *count, *seed),
                };
                (
                    chosen.iter().map(|&k| rows[k]).collect(),
                    chosen.iter().map(|&k| centres[k].clone()).collect(),
                )
            }
        };
        let mut kernel = Self {
            form: settings.form.clone(),
            gamma: 1.0,
            degree: settings.degree,
            coef0: settings.coef0,
            shift,
            scale,
            rows,
            centres,
            on_rows: !matches!(settings.centres, Centres::Given(_)),
        };
        if kernel.user().is_some() {
            return Ok(kernel);
        }
        kernel.gamma = match settings.gamma {
            Gamma::Number(gamma) => gamma,
            Gamma::Rule(GammaRule::Scale) => kernel.scale_gamma(data, settings.standardize),
            Gamma::Rule(GammaRule::Median) => kernel.median_gamma(),
        };
        if !(kernel.gamma.is_finite() && kernel.gamma > 0.0) {
            return Err(Error::setting(
                "gamma",
                kernel.gamma,
                "a number above 0 is needed; do the inputs vary at all?",
            ));
        }
        Ok(kernel)
    }

    pub(crate) fn len(&self) -> usize {
        self.centres.len()
    }

    pub(super) fn name(&self, k: usize) -> String {
        format!("{}(x, row {})", self.form_name(), self.rows[k] + 1)
    }

    fn form_name(&self) -> &str {
        match &self.form {
            KernelForm::Rbf => "rbf",
            KernelForm::Laplacian => "laplacian",
            KernelForm::Matern32 => "matern32",
            KernelForm::Matern52 => "matern52",
            KernelForm::PolynomialKernel => "polynomial",
            KernelForm::LinearKernel => "linear",
            KernelForm::Function(user) => user.name(),
        }
    }

    /// γ in force; the user's own kernel has none.
    pub fn gamma(&self) -> Option<f64> {
        self.user().is_none().then_some(self.gamma)
    }

    /// The user's own kernel, where it is one.
    pub(super) fn user(&self) -> Option<&UserKernel> {
        match &self.form {
            KernelForm::Function(user) => Some(user),
            _ => None,
        }
    }

    pub(super) fn supply(&mut self, function: Arc<dyn KernelFunction>) -> Result<()> {
        match &mut self.form {
            KernelForm::Function(user) => user.supply(function),
            _ => Err(Error::Function {
                name: function.name(),
                problem: "the model uses a kernel that is built in".into(),
            }),
        }
    }

    /// Training row (from 0) of each centre.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }

    pub(crate) fn form(&self) -> &KernelForm {
        &self.form
    }

    /// What is subtracted from the inputs, and what they are then multiplied by.
    pub(crate) fn input_units(&self) -> (&[f64], &[f64]) {
        (&self.shift, &self.scale)
    }

    /// Centre `k` in the units of the data.
    pub fn centre(&self, k: usize) -> Vec<f64> {
        self.centres[k].dense(self.shift.len())
    }

    pub(super) fn points(&self) -> &[Centre] {
        &self.centres
    }

    pub(super) fn keep(&self, chosen: &[usize]) -> Self {
        Self {
            rows: chosen.iter().map(|&k| self.rows[k]).collect(),
            centres: chosen.iter().map(|&k| self.centres[k].clone()).collect(),
            shift: self.shift.clone(),
            scale: self.scale.clone(),
            form: self.form.clone(),
            ..*self
        }
    }

    /// The same kernel at other points.
    pub(super) fn at(&self, points: Vec<Vec<f64>>) -> Self {
        Self {
            rows: (0..points.len()).collect(),
            centres: points.into_iter().map(Centre::Dense).collect(),
            on_rows: false,
            ..self.clone()
        }
    }

    pub(super) fn fits(&self, features: usize) -> bool {
        self.shift.len() == features
            && self.scale.len() == features
            && self.rows.len() == self.centres.len()
            && self.centres.iter().all(|c| match c {
                Centre::Dense(v) => v.len() == features,
                Centre::Sparse { at } => at.iter().all(|e| e.0 < features),
            })
    }

    /// 1/(d·variance of all inputs), as scikit-learn's `scale`.
    fn scale_gamma(&self, data: &Dataset<'_>, standardize: bool) -> f64 {
        let x = data.features();
        let d = x.columns() as f64;
        if standardize {
            return 1.0 / d;
        }
        let (mut n, mut mean, mut square) = (0.0, 0.0, 0.0);
        let mut tile = Tile::default();
        let columns = whole(*x);
        for j in 0..x.columns() {
            columns.fill(0..x.rows(), &[j], &mut tile);
            for (i, &v) in tile.values().iter().enumerate() {
                let w = data.weights().map_or(1.0, |w| w[i]);
                n += w;
                if n > 0.0 {
                    let step = v - mean;
                    mean += step * w / n;
                    square += w * step * (v - mean);
                }
            }
        }
        // Inputs that do not vary have no scale: any γ makes the same constant of them.
        if square > 0.0 { 1.0 / (d * (square / n)) } else { 1.0 / d }
    }

    fn median_gamma(&self) -> f64 {
        let step = self.centres.len().div_ceil(MEDIAN_ROWS).max(1);
        let points: Vec<Vec<f64>> = self
            .centres
            .iter()
            .step_by(step)
            .map(|c| {
                let mut point = c.dense(self.shift.len());
                point.iter_mut().zip(&self.scale).for_each(|(v, s)| *v *= s);
                point
            })
            .collect();
        let mut distances = Vec::new();
        for (a, x) in points.iter().enumerate() {
            for y in &points[..a] {
                let parts = x.iter().zip(y).map(|(x, y)| x - y);
                distances.push(match self.form {
                    KernelForm::Laplacian => parts.map(f64::abs).sum::<f64>(),
                    _ => parts.map(|d| d * d).sum::<f64>(),
                });
            }
        }
        if distances.is_empty() {
            return 1.0;
        }
        let middle = distances.len() / 2;
        1.0 / *distances.select_nth_unstable_by(middle, f64::total_cmp).1
    }

    fn on_demand<'a>(&'a self, x: Features<'a>) -> Box<dyn RowWriter + 'a> {
        match x {
            // A column more than half full may have an offset that cancels in sparse products.
            Features::Sparse(view)
                if (0..view.columns()).all(|j| 2 * view.column(j).len() <= view.rows()) =>
            {
                Box::new(SparseKernel::new(self, view))
            }
            _ => Box::new(DenseKernel::new(self, whole(x))),
        }
    }

    /// The kernel matrix of the rows of x with all centres, row after row.
    ///
    /// ```
    /// use fewer::basis::{Basis, Centres, FixedBasis, Gamma, KernelForm, KernelSettings};
    /// use fewer::data::{Dataset, DenseView};
    /// use fewer::engine::Silent;
    /// let x = DenseView::by_rows(&[0.0, 1.0], 2, 1)?;
    /// let data = Dataset::new(x, &[0.0, 0.0])?;
    /// let settings = KernelSettings {
    ///     form: KernelForm::Rbf,
    ///     gamma: Gamma::Number(2.0),
    ///     degree: 1,
    ///     coef0: 0.0,
    ///     centres: Centres::Rows,
    ///     standardize: false,
    /// };
    /// let FixedBasis::Kernel(kernel) = Basis::Kernel(settings).resolve(&data)? else { panic!() };
    /// let k = kernel.matrix(x, &Silent)?;
    /// assert!((k[1] - (-2.0f64).exp()).abs() < 1e-15);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn matrix<'a>(
        &self,
        x: impl Into<Features<'a>>,
        observer: &dyn Observer,
    ) -> Result<Vec<f64>> {
        let x = x.into();
        if let Some(user) = self.user() {
            return self.matrix_of(user, x, observer);
        }
        let kernel = self.on_demand(x);
        let all: Vec<usize> = (0..self.len()).collect();
        self.by_blocks(x.rows(), observer, |rows, out| kernel.write(rows, &all, out))
    }

    /// What the kernel is a function of, for the rows of x and all centres, row after row.
    pub(super) fn distances(&self, x: Features<'_>, observer: &dyn Observer) -> Result<Vec<f64>> {
        let kernel = self.on_demand(x);
        let all: Vec<usize> = (0..self.len()).collect();
        self.by_blocks(x.rows(), observer, |rows, out| kernel.write_distances(rows, &all, out))
    }

    fn by_blocks(
        &self,
        rows: usize,
        observer: &dyn Observer,
        write: impl Fn(Range<usize>, &mut [f64]) + Sync,
    ) -> Result<Vec<f64>> {
        let columns = self.len();
        let mut values = vec![0.0; rows * columns];
        expect_to_fill(&values);
        values.par_chunks_mut((ROWS * columns).max(1)).enumerate().try_for_each(|(c, out)| {
            observer.check()?;
            write(c * ROWS..c * ROWS + out.len() / columns, out);
            Ok::<(), Error>(())
        })?;
        Ok(values)
    }

    /// The same for the user's own kernel, which may fail.
    fn matrix_of(
        &self,
        user: &UserKernel,
        x: Features<'_>,
        observer: &dyn Observer,
    ) -> Result<Vec<f64>> {
        let (n, m, d) = (x.rows(), self.len(), self.shift.len());
        if m == 0 {
            return Ok(Vec::new());
        }
        let inner = DenseKernel::new(self, whole(x));
        let centres = DenseView::of_rows(inner.centres(), m, d);
        let step = (VALUES / m).clamp(1, functions::ROWS);
        let mut out = vec![0.0; n * m];
        for (c, out) in out.chunks_mut(step * m).enumerate() {
            observer.check()?;
            let (start, rows) = (c * step, out.len() / m);
            let block = inner.inner_rows(start..start + rows);
            let values = user.evaluate(DenseView::of_rows(block.values(), rows, d), centres)?;
            for (i, out) in out.chunks_exact_mut(m).enumerate() {
                out.iter_mut().enumerate().for_each(|(k, o)| *o = values[(i, k)]);
                if let Some(k) = out.iter().position(|v| !v.is_finite()) {
                    return Err(user.failed(format!(
                        "'{}' is {} at row {}; a finite number is expected",
                        self.name(k),
                        out[k],
                        start + i + 1
                    )));
                }
            }
        }
        Ok(out)
    }

    /// The same kernel with other centres, from which `shift` is subtracted inside.
    pub(super) fn with_centres(&self, centres: Vec<Centre>, shift: &[f64]) -> Self {
        let rows = (0..centres.len()).collect();
        Self { rows, centres, shift: shift.to_vec(), ..self.clone() }
    }

    /// The same kernel at some rows of x, where it falls with distance from its centre.
    pub(super) fn at_rows(&self, x: Features<'_>, chosen: &[usize]) -> Option<Self> {
        let points = all_rows(x);
        let centres = chosen.iter().map(|&i| points[i].clone()).collect();
        let rows = chosen.to_vec();
        let stationary = self.form.is_stationary();
        stationary.then(|| Self { rows, ..self.with_centres(centres, &self.shift) })
    }

    /// The columns for the training rows, from distances that several fits share.
    pub(super) fn training_columns<'a>(
        &'a self,
        data: &Dataset<'a>,
        memory_limit: usize,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Columns + 'a>> {
        let x = *data.features();
        match data.kernel_cache() {
            Some(cache)
                if self.on_rows
                    && self.user().is_none()
                    && !self.exceeds(x.rows(), memory_limit) =>
            {
                let distances = cache.distances(self, x, observer)?;
                let values = self.by_blocks(x.rows(), observer, |rows, out| {
                    for (i, out) in rows.zip(out.chunks_exact_mut(self.len())) {
                        distances.gather(i, &self.rows, x.rows(), out);
                        self.transform(out);
                    }
                })?;
                Ok(Box::new(self.held(x.rows(), values)))
            }
            _ if self.is_symmetric(x.rows())
                && self.user().is_none()
                && !self.exceeds(x.rows(), memory_limit) =>
            {
                Ok(Box::new(self.held(x.rows(), self.matrix(x, observer)?)))
            }
            _ => self.columns(x, memory_limit, observer),
        }
    }

    /// Whether the centres are all of the rows, in their order.
    fn is_symmetric(&self, rows: usize) -> bool {
        self.on_rows && self.user().is_none() && self.rows.iter().copied().eq(0..rows)
    }

    /// Values computed row after row; rows of a symmetric kernel are its columns.
    fn held(&self, rows: usize, values: Vec<f64>) -> DenseColumns<'static> {
        if self.is_symmetric(rows) {
            DenseColumns::Owned(Matrix::from_columns(rows, rows, values))
        } else {
            DenseColumns::ByRows { rows, columns: self.len(), values }
        }
    }

    fn exceeds(&self, rows: usize, memory_limit: usize) -> bool {
        rows.saturating_mul(self.len()).saturating_mul(8) > memory_limit / 4
    }

    /// The columns for rows of x: computed when asked for, or held where they fit.
    pub(super) fn columns<'a>(
        &'a self,
        x: Features<'a>,
        memory_limit: usize,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Columns + 'a>> {
        let (rows, columns) = (x.rows(), self.len());
        // The user's may fail, which columns computed on demand could not say.
        if self.exceeds(rows, memory_limit) && self.user().is_none() {
            return Ok(self.on_demand(x));
        }
        let values = self.matrix(x, observer)?;
        Ok(Box::new(DenseColumns::ByRows { rows, columns, values }))
    }

    /// Turns squared distances (or L1 distances, or dot products) into kernel values.
    pub(crate) fn transform(&self, values: &mut [f64]) {
        let gamma = self.gamma;
        match self.form {
            KernelForm::Rbf | KernelForm::Laplacian => {
                exp_of_multiples(-gamma, values);
            }
            KernelForm::Matern32 | KernelForm::Matern52 => {
                // a = √(2νs) with s = 2γ·distance²
                let (factor, cubic) = match self.form {
                    KernelForm::Matern32 => (6.0 * gamma, 0.0),
                    _ => (10.0 * gamma, 1.0 / 3.0),
                };
                let a: Vec<f64> = values.iter().map(|v| (factor * v).sqrt()).collect();
                values.copy_from_slice(&a);
                exp_of_multiples(-1.0, values);
                for (v, a) in values.iter_mut().zip(&a) {
                    *v = if *v > 0.0 { *v * (1.0 + a + cubic * a * a) } else { 0.0 };
                }
            }
            KernelForm::PolynomialKernel => values
                .iter_mut()
                .for_each(|v| *v = (gamma * *v + self.coef0).powi(self.degree as i32)),
            KernelForm::LinearKernel | KernelForm::Function(_) => {}
        }
    }
}

fn check_points(points: &[Vec<f64>], columns: usize) -> Result<()> {
    if points.is_empty() {
        return Err(Error::Empty {
            what: "the list of centres".into(),
            expected: "at least one is needed".into(),
        });
    }
    for (k, point) in points.iter().enumerate() {
        if point.len() != columns {
            return Err(Error::shape(
                format!("coordinates of centre {}", k + 1),
                columns,
                point.len(),
            ));
        }
        if point.iter().any(|v| !v.is_finite()) {
            return Err(Error::setting(
                "centres",
                format!("{point:?}"),
                "finite numbers are expected",
            ));
        }
    }
    Ok(())
}

/// What is subtracted from each input and what it is then multiplied by.
fn input_units(data: &Dataset<'_>, settings: &KernelSettings) -> Result<(Vec<f64>, Vec<f64>)> {
    let x = data.features();
    let columns = whole(*x);
    let all: Vec<usize> = (0..x.columns()).collect();
    let zeros = vec![0.0; x.rows()];
    let moments = Moments::of(&*columns, &all, &zeros, data.weights(), false, &Silent)?;
    let units = moments.units(true, false);
    let scale = units
        .deviation
        .iter()
        .map(|&d| match (settings.standardize, d > 0.0) {
            (true, true) => 1.0 / d,
            // A constant input tells rows apart in nothing.
            (true, false) => 0.0,
            (false, _) => 1.0,
        })
        .collect();
    // Distances do not feel a shift, and small numbers cancel less.
    let shift = if settings.standardize || settings.form.is_stationary() {
        units.mean
    } else {
        vec![0.0; x.columns()]
    };
    Ok((shift, scale))
}
