//! How sure a model is of its weights: a Gaussian posterior, and what follows from it.
//!
//! A posterior is of the bases and the weights, so that the uncertainty of an output is that of
//! base + Σ w (φ(x) − centre): a sum whose parts hardly correlate, unlike those of an intercept far
//! from the data.

use super::{Link, Model, softmax};
use crate::basis::FixedBasis;
use crate::data::Features;
use crate::design::Design;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Tile, cross_products};
use crate::special::{normal_cdf, normal_quantile, student_t_quantile};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;
use std::ops::Range;

/// Numbers that a block of rows may take.
const BLOCK: usize = 1 << 18;
/// A covariance may exceed the root of its variances by this part, for rounding.
const ROUNDING: f64 = 1e-6;

/// Lower and upper end.
pub type Interval = (f64, f64);

/// A number of a model that was fitted: the base of an output, or the weight of a term in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Parameter {
    /// The output.
    pub output: usize,
    /// The position of the term in [`Model::terms`]; none for the base of the output, which is its
    /// value where every term is at its centre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub term: Option<usize>,
}

/// The Gaussian uncertainty of the numbers of a model that were fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Posterior {
    /// By output, its base before its weights.
    parameters: Vec<Parameter>,
    /// Of all pairs of parameters, in the units of the data; or their variances alone, where they
    /// are independent.
    covariance: Vec<f64>,
}

impl Posterior {
    /// Of parameters in any order; a covariance of one column has the variances of independent ones.
    pub(crate) fn new(parameters: &[Parameter], covariance: &Matrix) -> Self {
        let mut order: Vec<usize> = (0..parameters.len()).collect();
        order.sort_by_key(|&k| parameters[k]);
        if covariance.columns() == 1 {
            return Self {
                covariance: order.iter().map(|&k| covariance[(k, 0)]).collect(),
                parameters: order.iter().map(|&k| parameters[k]).collect(),
            };
        }
        let mean = |a: usize, b: usize| 0.5 * (covariance[(a, b)] + covariance[(b, a)]);
        let pairs = order.iter().flat_map(|&a| order.iter().map(move |&b| (a, b)));
        Self {
            covariance: pairs.map(|(a, b)| mean(a, b)).collect(),
            parameters: order.iter().map(|&k| parameters[k]).collect(),
        }
    }

    /// What is uncertain: by output, the base before the weights.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The covariance of two of the parameters.
    pub fn covariance(&self, a: usize, b: usize) -> f64 {
        match self.are_independent() {
            true if a == b => self.covariance[a],
            true => 0.0,
            false => self.covariance[a * self.parameters.len() + b],
        }
    }

    /// Whether the parameters are independent.
    pub fn are_independent(&self) -> bool {
        self.covariance.len() == self.parameters.len()
    }

    /// Whether it makes sense in a model of so many outputs and terms.
    pub(super) fn fits(&self, outputs: usize, terms: usize) -> bool {
        let k = self.parameters.len();
        if self.are_independent() && self.covariance.iter().any(|v| !(v.is_finite() && *v >= 0.0)) {
            return false;
        }
        let known = |p: &Parameter| p.output < outputs && p.term.is_none_or(|t| t < terms);
        let bound = |a: usize, b: usize| {
            // The product of tiny variances would be zero.
            (1.0 + ROUNDING) * self.covariance(a, a).sqrt() * self.covariance(b, b).sqrt()
        };
        let possible = |a: usize, b: usize| {
            let value = self.covariance(a, b);
            value.is_finite() && value == self.covariance(b, a) && value.abs() <= bound(a, b)
        };
        self.parameters.iter().all(known)
            && self.parameters.windows(2).all(|w| w[0] < w[1])
            && (self.are_independent()
                || Some(self.covariance.len()) == k.checked_mul(k)
                    && (0..k)
                        .all(|a| self.covariance(a, a) >= 0.0 && (0..=a).all(|b| possible(a, b))))
    }

    fn place(&self, parameter: Parameter) -> Option<usize> {
        self.parameters.binary_search(&parameter).ok()
    }

    /// The parameters of an output.
    fn of_output(&self, output: usize) -> Range<usize> {
        let start = self.parameters.partition_point(|p| p.output < output);
        start..start + self.parameters[start..].partition_point(|p| p.output == output)
    }

    /// Rows and columns of the covariance, one column after the other.
    fn part(&self, rows: Range<usize>, columns: Range<usize>) -> Vec<f64> {
        let pairs = columns.flat_map(|b| rows.clone().map(move |a| (a, b)));
        pairs.map(|(a, b)| self.covariance(a, b)).collect()
    }
}

/// Takes the variance of the mean of some parameters out of a covariance.
pub(crate) fn take_out_mean(covariance: &mut Matrix, of: &[usize]) {
    let (n, count) = (covariance.rows(), of.len() as f64);
    for k in 0..n {
        let mean = of.iter().map(|&a| covariance[(a, k)]).sum::<f64>() / count;
        of.iter().for_each(|&a| covariance[(a, k)] -= mean);
    }
    for k in 0..n {
        let mean = of.iter().map(|&a| covariance[(k, a)]).sum::<f64>() / count;
        of.iter().for_each(|&a| covariance[(k, a)] -= mean);
    }
}

/// Covariances of the outputs at a few rows, or their variances alone.
struct OutputCovariances {
    outputs: usize,
    pairs: bool,
    values: Vec<f64>,
}

impl OutputCovariances {
    fn variance(&self, row: usize, output: usize) -> f64 {
        let step = if self.pairs { self.outputs + 1 } else { 1 };
        let size = if self.pairs { self.outputs * self.outputs } else { self.outputs };
        self.values[row * size + output * step]
    }

    fn covariance(&self, row: usize, a: usize, b: usize) -> f64 {
        self.values[row * self.outputs * self.outputs + a * self.outputs + b]
    }

    fn variance_of_difference(&self, row: usize, a: usize, b: usize) -> f64 {
        let variances = self.variance(row, a) + self.variance(row, b);
        (variances - 2.0 * self.covariance(row, a, b)).max(0.0)
    }

    /// log of the mean of p_c, up to a constant, for Gaussian outputs of mean `eta`.
    ///
    /// p_c = σ(−L), L = log Σ exp(η_o − η_c) over the others, which is taken for Gaussian: its
    /// variance is that of Σ q_o (η_o − η_c), q being their softmax; its mean is the value at the
    /// means plus half of what variance it loses by that, both held back as MacKay's rule holds
    /// back the rest.
    fn log_moderated(&self, row: usize, eta: &[f64], c: usize) -> f64 {
        let gaps: Vec<f64> = eta.iter().map(|e| e - eta[c]).collect();
        let variances: Vec<f64> =
            (0..eta.len()).map(|o| self.variance_of_difference(row, o, c)).collect();
        let others = || (0..eta.len()).filter(|&o| o != c);
        let largest = others().map(|o| gaps[o]).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = others().map(|o| (gaps[o] - largest).exp()).sum();
        let share = |o: usize| match o == c {
            true => f64::NEG_INFINITY,
            false => moderated(gaps[o], variances[o]),
        };
        let q = softmax((0..eta.len()).map(share).collect());
        let mut variance = self.variance(row, c);
        for o in others() {
            let inner: f64 = others().map(|b| q[b] * self.covariance(row, o, b)).sum();
            variance += q[o] * (inner - 2.0 * self.covariance(row, o, c));
        }
        let variance = variance.max(0.0);
        let mean: f64 = q.iter().zip(&variances).map(|(q, v)| q * v).sum();
        let lost = (mean - variance).max(0.0);
        let l = moderated(largest + sum.ln() + moderated(0.5 * lost, lost), variance);
        -if l > 0.0 { l + (-l).exp().ln_1p() } else { l.exp().ln_1p() }
    }
}

/// The z with σ(z) near the mean of σ over a Gaussian (MacKay 1992).
fn moderated(mean: f64, variance: f64) -> f64 {
    mean / (1.0 + PI * variance / 8.0).sqrt()
}

impl Model {
    /// How sure the model is of its weights, where the method says so.
    pub fn posterior(&self) -> Option<&Posterior> {
        self.posterior.as_ref()
    }

    pub(super) fn posterior_needed(&self, what: &str) -> Result<&Posterior> {
        self.posterior.as_ref().ok_or_else(|| Error::Unavailable {
            what: what.into(),
            hint: match (self.method.as_str(), self.noise_std) {
                ("SMLR", _) => "fit the model with uncertainty = true".into(),
                (method, Some(_)) => format!(
                    "{method} has no posterior. Targets scatter about its predictions by \
                     noise_std; for the uncertainty of the fit itself refit on bootstrap samples"
                ),
                (method, None) => format!(
                    "{method} has no posterior; for the uncertainty of the fit refit on bootstrap \
                     samples"
                ),
            },
        })
    }

    /// The covariance of intercepts and weights, in the order of
    /// [`Posterior::parameters`] with intercepts, where every feature is zero, for bases. The sum
    /// of free intercepts of the symmetric form, on which nothing depends, is fixed.
    pub fn covariance(&self) -> Option<Matrix> {
        let posterior = self.posterior.as_ref()?;
        let k = posterior.parameters.len();
        let mut out = Matrix::from_columns(k, k, posterior.part(0..k, 0..k));
        // intercept = base − Σ w·centre: from both sides.
        for side in [0, 1] {
            for (a, p) in posterior.parameters.iter().enumerate().filter(|(_, p)| p.term.is_none())
            {
                for b in posterior.of_output(p.output) {
                    let Some(term) = posterior.parameters[b].term else { continue };
                    for c in 0..k {
                        let (to, from) =
                            if side == 0 { ((a, c), (b, c)) } else { ((c, a), (c, b)) };
                        out[to] -= self.terms[term].centre * out[from];
                    }
                }
            }
        }
        if self.shares_intercept() {
            let intercepts = posterior.parameters.iter().enumerate();
            let intercepts = intercepts.filter(|(_, p)| p.term.is_none()).map(|(a, _)| a);
            take_out_mean(&mut out, &intercepts.collect::<Vec<usize>>());
        }
        Some(out)
    }

    /// Whether free intercepts of all classes may change by as much, which changes nothing else.
    fn shares_intercept(&self) -> bool {
        self.settings["parameterization"] == "symmetric"
            && self.settings["fit_intercept"] == true
            && self.outputs() > 1
    }

    /// The posterior standard deviation of each term's weight in each output; none for weights
    /// that are zero.
    pub fn standard_errors(&self) -> Result<Vec<Vec<Option<f64>>>> {
        let posterior = self.posterior_needed("a standard error")?;
        let of = |term: usize, output: usize| {
            let place = posterior.place(Parameter { output, term: Some(term) })?;
            Some(posterior.covariance(place, place).sqrt())
        };
        let outputs = self.outputs();
        Ok((0..self.terms.len()).map(|t| (0..outputs).map(|k| of(t, k)).collect()).collect())
    }

    /// The posterior standard deviation of each output's intercept; none where it is fixed. The
    /// sum of free intercepts of the symmetric form, on which nothing depends, is fixed.
    pub fn intercept_errors(&self) -> Result<Vec<Option<f64>>> {
        let posterior = self.posterior_needed("a standard error")?;
        if self.shares_intercept()
            && let Some(covariance) = self.covariance()
        {
            let of = |output: usize| {
                let place = posterior.place(Parameter { output, term: None })?;
                Some(covariance[(place, place)].max(0.0).sqrt())
            };
            return Ok((0..self.outputs()).map(of).collect());
        }
        let of = |output: usize| {
            posterior.place(Parameter { output, term: None })?;
            let range = posterior.of_output(output);
            let factor = |a: usize| match posterior.parameters[a].term {
                None => 1.0,
                Some(term) => -self.terms[term].centre,
            };
            if posterior.are_independent() {
                let own = range.map(|a| factor(a).powi(2) * posterior.covariance(a, a));
                return Some(own.sum::<f64>().sqrt());
            }
            let pairs = range.clone().flat_map(|a| range.clone().map(move |b| (a, b)));
            let variance = pairs.map(|(a, b)| factor(a) * factor(b) * posterior.covariance(a, b));
            Some(variance.sum::<f64>().max(0.0).sqrt())
        };
        Ok((0..self.outputs()).map(of).collect())
    }

    /// The interval that holds each weight with so much posterior probability, the same on both
    /// sides: by term and output, none for weights that are zero.
    pub fn credible_intervals(&self, coverage: f64) -> Result<Vec<Vec<Option<Interval>>>> {
        let reach = reach(coverage)?;
        if let Some(draws) = &self.draws {
            return Ok(draws.intervals(coverage).into_iter().map(|i| vec![Some(i)]).collect());
        }
        let errors = self.standard_errors()?;
        let of = |w: f64, e: Option<f64>| e.map(|e| (w - reach * e, w + reach * e));
        let rows = self.terms.iter().zip(errors);
        Ok(rows.map(|(t, e)| t.weights.iter().zip(e).map(|(w, e)| of(*w, e)).collect()).collect())
    }

    /// The posterior variance of each output for each row: of the mean, without noise.
    pub fn output_variance<'a>(&self, features: impl Into<Features<'a>>) -> Result<Matrix> {
        let features = features.into();
        let outputs = self.outputs();
        let blocks = self.by_blocks(features, false, |rows, found| {
            let pairs = (0..rows.len()).flat_map(|i| (0..outputs).map(move |k| (i, k)));
            pairs.map(|(i, k)| found.variance(i, k)).collect::<Vec<f64>>()
        })?;
        Ok(from_rows(outputs, blocks))
    }

    /// The standard deviation of a new observation about the mean prediction, for each row: the
    /// noise and the uncertainty of the mean.
    ///
    /// With noise of Student's t, whose variance may be infinite, half the width of the interval
    /// that holds as much as one standard deviation of a normal variable to both sides, 68.27 %.
    pub fn predict_std<'a>(&self, features: impl Into<Features<'a>>) -> Result<Vec<f64>> {
        self.predict_std_at(features, None)
    }

    /// The same for rows whose noise has these precisions beside that of the rows fitted: its
    /// variance is σ²/r_n; 1 for all where there are none.
    ///
    /// ```
    /// use fewer::data::{Dataset, DenseView};
    /// use fewer::method::RVR;
    ///
    /// let x: Vec<f64> = (0..60).map(|i| 0.1 * f64::from(i)).collect();
    /// let scatter = |i: usize| 0.2 * ((i * i * i) as f64).sin();
    /// let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| x.sin() + scatter(i)).collect();
    /// let model = RVR::new().fit(&Dataset::new(DenseView::by_rows(&x, 60, 1)?, &y)?)?;
    ///
    /// let new = DenseView::by_rows(&[1.0, 1.0], 2, 1)?;
    /// let std = model.predict_std_at(new, Some(&[1.0, 100.0]))?;
    /// assert_eq!(std[0], model.predict_std(new)?[0]);
    /// assert!(std[1] < 0.6 * std[0]);
    /// # Ok::<(), fewer::Error>(())
    /// ```
    pub fn predict_std_at<'a>(
        &self,
        features: impl Into<Features<'a>>,
        noise_precision: Option<&[f64]>,
    ) -> Result<Vec<f64>> {
        let mut scale = self.predict_scale(features, noise_precision)?;
        if let Some(nu) = self.noise_nu {
            let reach = -student_t_quantile(normal_cdf(-1.0), nu);
            scale.iter_mut().for_each(|s| *s *= reach);
        }
        Ok(scale)
    }

    /// Of Gaussian noise the standard deviation of a new observation. With noise of Student's t
    /// the new observation is taken for one of that family, of squared scale the noise's and the
    /// variance of the mean.
    fn predict_scale<'a>(
        &self,
        features: impl Into<Features<'a>>,
        noise_precision: Option<&[f64]>,
    ) -> Result<Vec<f64>> {
        if self.classes.is_some() {
            return Err(Error::Unavailable {
                what: "the standard deviation of a prediction".into(),
                hint: "the model tells classes apart: ask for moderated probabilities".into(),
            });
        }
        self.posterior_needed("the standard deviation of a prediction")?;
        let features = features.into();
        let mut variance = self.output_variance(features)?.column(0).to_vec();
        if let Some(added) = self.augmented_variance(features)? {
            variance.iter_mut().zip(added).for_each(|(v, a)| *v += a);
        }
        let noise = self.noise_std.unwrap_or(0.0);
        let Some(precision) = noise_precision else {
            return Ok(variance.iter().map(|v| noise.hypot(v.sqrt())).collect());
        };
        if self.draws.is_some() {
            return Err(Error::Unavailable {
                what: "a prediction with noise_precision of a model that was sampled".into(),
                hint: "models of RVR, BLS and FastLaplace take it".into(),
            });
        }
        if precision.len() != variance.len() {
            return Err(Error::shape("noise precisions", variance.len(), precision.len()));
        }
        if let Some(i) = precision.iter().position(|r| !(r.is_finite() && *r > 0.0)) {
            return Err(Error::Value {
                row: i + 1,
                column: "noise_precision".into(),
                value: precision[i].to_string(),
                expected: "a finite number above 0 is expected".into(),
            });
        }
        let rows = variance.iter().zip(precision);
        Ok(rows.map(|(v, r)| (noise / r.sqrt()).hypot(v.sqrt())).collect())
    }

    /// The interval that holds a new observation with so much probability, for each row: a column
    /// of lower ends and one of upper ends. Of a model that was sampled they are quantiles of the
    /// mixture over its draws, and with noise of Student's t those of that distribution.
    pub fn predict_interval<'a>(
        &self,
        features: impl Into<Features<'a>>,
        coverage: f64,
    ) -> Result<Matrix> {
        self.predict_interval_at(features, coverage, None)
    }

    /// The same for rows whose noise has these precisions, as
    /// [`predict_std_at`](Self::predict_std_at) takes them.
    pub fn predict_interval_at<'a>(
        &self,
        features: impl Into<Features<'a>>,
        coverage: f64,
        noise_precision: Option<&[f64]>,
    ) -> Result<Matrix> {
        let mut reach = reach(coverage)?;
        if let Some(nu) = self.noise_nu {
            reach = -student_t_quantile(0.5 - 0.5 * coverage, nu);
        }
        let features = features.into();
        let std = self.predict_scale(features, noise_precision)?;
        let mean = self.predict(features)?;
        if let Some(draws) = &self.draws {
            return self.mixture_interval(features, draws, coverage, &mean, &std);
        }
        let side = |sign: f64| mean.iter().zip(&std).map(move |(m, s)| m + sign * reach * s);
        Ok(Matrix::from_columns(mean.len(), 2, side(-1.0).chain(side(1.0)).collect()))
    }

    /// Probabilities of the classes averaged over the posterior of the weights, which makes those
    /// of rows far from the data less extreme: a row for each row, a column for each class.
    ///
    /// With η and v the mean and the variance of an output, two classes have σ(η / √(1 + πv/8))
    /// (MacKay 1992), and Φ(η / √(1 + v)) for a probit; so has each class that was fitted against the
    /// rest, scaled to sum to 1. Of other models of more classes each is taken against all
    /// others together by the same rule, and what that gives is divided by its sum. Only
    /// differences of outputs matter, so that it is the same whichever class is the reference;
    /// beside the average itself it is off by 0.003 to 0.015 for standard deviations of 1 to 4.
    pub fn moderated_probabilities<'a>(&self, features: impl Into<Features<'a>>) -> Result<Matrix> {
        let classes = self.classes_needed()?.len();
        self.posterior_needed("a moderated probability")?;
        let features = features.into();
        let eta = self.decision(features)?;
        let outputs = self.outputs();
        let (link, joint) = (self.link, self.link == Link::Logit);
        let blocks = self.by_blocks(features, joint && outputs > 1, |rows, found| {
            let mut out = Vec::with_capacity(rows.len() * classes);
            for (i, row) in rows.enumerate() {
                let of_row: Vec<f64> = (0..outputs).map(|k| eta[(row, k)]).collect();
                let held_back = |c: usize| match link {
                    Link::Probit => of_row[c] / (1.0 + found.variance(i, c)).sqrt(),
                    _ => moderated(of_row[c], found.variance(i, c)),
                };
                if outputs == 1 {
                    out.extend([link.cdf(-held_back(0)), link.cdf(held_back(0))]);
                    continue;
                }
                let log = |c: usize| match joint {
                    true => found.log_moderated(i, &of_row, c),
                    false => link.log(held_back(c)),
                };
                out.extend(softmax((0..outputs).map(log).collect()));
            }
            out
        })?;
        Ok(from_rows(classes, blocks))
    }

    /// The variance of the output at each row, for independent weights of wavelets.
    fn wavelet_variances(
        &self,
        features: Features<'_>,
        posterior: &Posterior,
    ) -> Result<Option<Vec<f64>>> {
        let FixedBasis::Wavelets(wavelets) = &self.basis else { return Ok(None) };
        if !posterior.are_independent() || self.terms.iter().any(|t| t.centre != 0.0) {
            return Ok(None);
        }
        self.check_features(&features)?;
        let (mut base, mut variances) = (0.0, vec![0.0; self.terms.len()]);
        for (parameter, variance) in posterior.parameters.iter().zip(&posterior.covariance) {
            *parameter.term.map_or(&mut base, |t| &mut variances[t]) += variance;
        }
        let mut found = wavelets.variances(features.to_matrix().as_slice(), &variances);
        found.iter_mut().for_each(|v| *v += base);
        Ok(Some(found))
    }

    /// Gives `work` the covariances of the outputs, or their variances alone, at a few rows after
    /// the other.
    fn by_blocks<T: Send>(
        &self,
        features: Features<'_>,
        pairs: bool,
        work: impl Fn(Range<usize>, &OutputCovariances) -> T + Sync,
    ) -> Result<Vec<T>> {
        let posterior = self.posterior_needed("the uncertainty of a prediction")?;
        if let Some(values) = self.wavelet_variances(features, posterior)? {
            let rows = 0..values.len();
            let found = OutputCovariances { outputs: 1, pairs: false, values };
            return Ok(vec![work(rows, &found)]);
        }
        let columns = self.columns(features)?;
        let chosen: Vec<usize> = (0..self.terms.len()).collect();
        let centre = self.terms.iter().map(|t| t.centre).collect();
        let design = Design::new(&*columns, None, centre, vec![1.0; chosen.len()]);
        let (n, all) = (design.rows(), posterior.parameters.len());
        let outputs = self.outputs();
        let ranges: Vec<Range<usize>> = (0..outputs).map(|k| posterior.of_output(k)).collect();
        let part = |range: &Range<usize>| {
            let right = if pairs { 0..all } else { range.clone() };
            posterior.part(range.clone(), right)
        };
        let parts: Vec<Vec<f64>> = ranges.iter().map(part).collect();
        let each = if pairs { outputs * outputs + all } else { outputs + all };
        let step = (BLOCK / each.max(1)).clamp(16, 1024);
        let one = |block: usize| {
            let rows = block * step..((block + 1) * step).min(n);
            let mut tile = Tile::default();
            design.fill(rows.clone(), &chosen, &mut tile);
            let value = |i: usize, p: &Parameter| p.term.map_or(1.0, |t| tile.get(i, t));
            let of_output = |range: &Range<usize>| {
                let own = &posterior.parameters[range.clone()];
                (0..rows.len()).flat_map(|i| own.iter().map(move |p| value(i, p))).collect()
            };
            let values: Vec<Vec<f64>> = ranges.iter().map(of_output).collect();
            let size = if pairs { outputs * outputs } else { outputs };
            let mut found =
                OutputCovariances { outputs, pairs, values: vec![0.0; rows.len() * size] };
            for (b, range) in ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
                let products = cross_products(range.len(), &parts[b], &values[b]);
                for i in 0..rows.len() {
                    let products = products.column(i);
                    let with = |a: usize, products: &[f64]| {
                        let own = &values[a][i * ranges[a].len()..][..ranges[a].len()];
                        own.iter().zip(products).map(|(x, p)| x * p).sum::<f64>()
                    };
                    if !pairs {
                        found.values[i * size + b] = with(b, products).max(0.0);
                        continue;
                    }
                    for a in 0..outputs {
                        let value = with(a, &products[ranges[a].clone()]);
                        let place = i * size + a * outputs + b;
                        found.values[place] = if a == b { value.max(0.0) } else { value };
                    }
                }
            }
            match found.values.iter().position(|v| !v.is_finite()) {
                None => Ok(work(rows, &found)),
                Some(place) => Err(Error::Value {
                    row: rows.start + place / size + 1,
                    column: self.target.clone(),
                    value: format!("the variance of the prediction is {}", found.values[place]),
                    expected: "the inputs are too far outside the range of the training data"
                        .into(),
                }),
            }
        };
        (0..n.div_ceil(step)).into_par_iter().map(one).collect()
    }
}

pub(super) fn from_rows(columns: usize, blocks: Vec<Vec<f64>>) -> Matrix {
    let values: Vec<f64> = blocks.into_iter().flatten().collect();
    let rows = values.len() / columns.max(1);
    let mut out = Matrix::zeros(rows, columns);
    for (i, row) in values.chunks(columns.max(1)).enumerate() {
        row.iter().enumerate().for_each(|(k, v)| out[(i, k)] = *v);
    }
    out
}

/// Standard deviations to each side that hold so much of a Gaussian.
fn reach(coverage: f64) -> Result<f64> {
    if !(coverage > 0.0 && coverage < 1.0) {
        return Err(Error::setting("coverage", coverage, "a number between 0 and 1 is expected"));
    }
    Ok(-normal_quantile(0.5 * (1.0 - coverage)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, DenseView, Target};
    use crate::engine::Silent;
    use crate::linalg::Cholesky;
    use crate::method::{SMLR, SparseRegressor, WaveletRVR};
    use crate::random::uniform;

    const ROWS: usize = 1500;
    const COLUMNS: usize = 4;

    fn normal(next: &mut impl FnMut() -> f64) -> f64 {
        (0..12).map(|_| next()).sum::<f64>() - 6.0
    }

    fn rows(seed: u64) -> Vec<f64> {
        let mut next = uniform(seed);
        (0..ROWS * COLUMNS).map(|i| normal(&mut next) * 2.0 + (i % COLUMNS) as f64).collect()
    }

    fn view(x: &[f64]) -> DenseView<'_> {
        DenseView::by_rows(x, x.len() / COLUMNS, COLUMNS).unwrap()
    }

    fn inverse(m: Matrix) -> Matrix {
        let n = m.rows();
        let factor = Cholesky::new(m, &Silent).unwrap().unwrap();
        let mut out = Matrix::zeros(n, n);
        for j in 0..n {
            out[(j, j)] = 1.0;
            factor.solve(out.column_mut(j));
        }
        out
    }

    /// σ²(XᵀX)⁻¹ for columns `value(row, j)`.
    fn least_squares(noise: f64, columns: usize, value: impl Fn(usize, usize) -> f64) -> Matrix {
        let mut gram = Matrix::zeros(columns, columns);
        for a in 0..columns {
            for b in 0..columns {
                gram[(a, b)] = (0..ROWS).map(|i| value(i, a) * value(i, b)).sum();
            }
        }
        let mut out = inverse(gram);
        out.as_mut_slice().iter_mut().for_each(|v| *v *= noise * noise);
        out
    }

    /// A regression on all columns with the posterior of least squares.
    fn regression(x: &[f64]) -> Model {
        let mut next = uniform(9);
        let y: Vec<f64> = x
            .chunks(COLUMNS)
            .map(|x| 3.0 + x[0] - 2.0 * x[1] + x[2] + x[3] + normal(&mut next))
            .collect();
        let data = Dataset::new(view(x), &y).unwrap();
        let mut model = SparseRegressor::new().fit(&data).unwrap();
        assert_eq!(model.n_terms(), COLUMNS);
        let terms = model.terms.clone();
        let centred = |i: usize, j: usize| match j {
            0 => 1.0,
            j => x[i * COLUMNS + j - 1] - terms[j - 1].centre,
        };
        let covariance = least_squares(model.noise_std.unwrap(), COLUMNS + 1, centred);
        let parameter = |j: usize| Parameter { output: 0, term: j.checked_sub(1) };
        let parameters: Vec<Parameter> = (0..=COLUMNS).map(parameter).collect();
        // In another order, to see it put right.
        let order = [2, 0, 4, 1, 3];
        let mut mixed = Matrix::zeros(COLUMNS + 1, COLUMNS + 1);
        for (a, &from_a) in order.iter().enumerate() {
            for (b, &from_b) in order.iter().enumerate() {
                mixed[(a, b)] = covariance[(from_a, from_b)];
            }
        }
        let parameters: Vec<Parameter> = order.iter().map(|&k| parameters[k]).collect();
        model.posterior = Some(Posterior::new(&parameters, &mixed));
        model
    }

    /// Variances alone are what a whole covariance of them would be, and files may hold either.
    #[test]
    fn independent_weights_need_no_pairs() {
        let x: Vec<f64> = (0..64).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|x| (x * x * 0.01).sin() + 0.1 * (7.0 * x).sin()).collect();
        let view = DenseView::by_rows(&x, 64, 1).unwrap();
        let model = WaveletRVR::new().fit(&Dataset::new(view, &y).unwrap()).unwrap();
        let posterior = model.posterior.clone().unwrap();
        let k = posterior.parameters.len();
        assert!(k > 5 && posterior.covariance.len() == k && posterior.are_independent());
        let whole =
            Posterior { covariance: posterior.part(0..k, 0..k), parameters: posterior.parameters };
        assert!(!whole.are_independent() && whole.fits(1, model.n_terms()));
        let text = serde_json::to_string(&whole).unwrap();
        let whole =
            Model { posterior: Some(serde_json::from_str(&text).unwrap()), ..model.clone() };
        let copy = Model::from_json(&whole.to_json().unwrap()).unwrap();
        assert_eq!(copy.posterior, whole.posterior);
        let copy = Model::from_json(&model.to_json().unwrap()).unwrap();
        assert_eq!(copy.posterior, model.posterior);
        let new: Vec<f64> = (0..100).map(|i| -3.0 + 0.7 * f64::from(i)).collect();
        let new = DenseView::by_rows(&new, 100, 1).unwrap();
        let close = |a: &[f64], b: &[f64]| {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs())));
        };
        close(&model.predict_std(new).unwrap(), &whole.predict_std(new).unwrap());
        close(model.covariance().unwrap().as_slice(), whole.covariance().unwrap().as_slice());
        let errors = |m: &Model| m.intercept_errors().unwrap()[0].unwrap();
        assert!((errors(&model) / errors(&whole) - 1.0).abs() < 1e-12);
        let draws = |m: &Model| m.sample_y(new, 3, 1, true).unwrap().as_slice().to_vec();
        close(&draws(&model), &draws(&whole));
        let mut wrong = model.posterior.clone().unwrap();
        wrong.covariance[1] = -1.0;
        assert!(!wrong.fits(1, model.n_terms()));
    }

    #[test]
    fn intercepts_and_intervals_are_those_of_least_squares() {
        let x = rows(1);
        let model = regression(&x);
        let noise = model.noise_std.unwrap();
        let plain = |i: usize, j: usize| if j == 0 { 1.0 } else { x[i * COLUMNS + j - 1] };
        let expected = least_squares(noise, COLUMNS + 1, plain);
        let found = model.covariance().unwrap();
        for (f, e) in found.as_slice().iter().zip(expected.as_slice()) {
            assert!((f - e).abs() < 1e-9 * expected[(0, 0)], "{f} {e}");
        }
        let error = model.intercept_errors().unwrap()[0].unwrap();
        assert!((error / expected[(0, 0)].sqrt() - 1.0).abs() < 1e-9);
        let (low, high) = model.credible_intervals(0.9).unwrap()[1][0].unwrap();
        let e = model.standard_errors().unwrap()[1][0].unwrap();
        assert!((high - low - 2.0 * 1.6448536269514722 * e).abs() < 1e-12);
        assert!((0.5 * (high + low) - model.terms[1].weight()).abs() < 1e-12);
        let std = model.predict_std(view(&x)).unwrap();
        let variance = model.output_variance(view(&x)).unwrap();
        let mean = model.predict(view(&x)).unwrap();
        let interval = model.predict_interval(view(&x), 0.95).unwrap();
        for i in (0..ROWS).step_by(97) {
            let mut direct = 0.0;
            for a in 0..=COLUMNS {
                for b in 0..=COLUMNS {
                    direct += plain(i, a) * plain(i, b) * expected[(a, b)];
                }
            }
            assert!((variance[(i, 0)] / direct - 1.0).abs() < 1e-8, "{i}");
            assert!((std[i] - (noise * noise + direct).sqrt()).abs() < 1e-9);
            let reach = 1.959963984540054 * std[i];
            assert!((interval[(i, 0)] - mean[i] + reach).abs() < 1e-9);
            assert!((interval[(i, 1)] - mean[i] - reach).abs() < 1e-9);
        }
    }

    #[test]
    fn files_hold_it_and_refuse_what_makes_no_sense() {
        let x = rows(2);
        let model = regression(&x);
        let read = Model::from_json(&model.to_json().unwrap()).unwrap();
        assert_eq!(read.posterior, model.posterior);
        assert_eq!(read.predict_std(view(&x)).unwrap(), model.predict_std(view(&x)).unwrap());
        let damage: [fn(&mut Posterior); 5] = [
            |p| p.covariance[1] *= 1.5,
            |p| p.covariance[0] = -1.0,
            |p| p.parameters.swap(0, 1),
            |p| p.parameters[0].output = 1,
            |p| p.covariance.truncate(3),
        ];
        for (k, damage) in damage.into_iter().enumerate() {
            let mut bad = model.clone();
            damage(bad.posterior.as_mut().unwrap());
            assert!(Model::from_json(&bad.to_json().unwrap()).is_err(), "{k}");
        }
    }

    #[test]
    fn models_without_one_say_what_to_do() {
        let x = rows(3);
        let model = Model { posterior: None, ..regression(&x) };
        let error = model.predict_std(view(&x)).unwrap_err().to_string();
        assert!(error.contains("no posterior") && error.contains("noise_std"), "{error}");
        assert!(model.covariance().is_none());
        for coverage in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(regression(&x).predict_interval(view(&x), coverage).is_err());
        }
    }

    /// A model of so many classes with a posterior of weights that correlate.
    fn classifier(x: &[f64], classes: usize) -> Model {
        let label = |x: &[f64]| ((x[0] + x[1] - x[3]).abs() * 0.7) as usize % classes;
        let labels: Vec<i64> = x.chunks(COLUMNS).map(|x| label(x) as i64).collect();
        let data = Dataset::new(view(x), Target::labels(labels)).unwrap();
        let mut model = SMLR::new().lam_ratio(0.01).fit(&data).unwrap();
        let outputs = if classes == 2 { 1 } else { classes - 1 };
        let mut parameters = Vec::new();
        for output in 0..outputs {
            parameters.push(Parameter { output, term: None });
            let terms = 0..model.terms.len();
            parameters.extend(terms.map(|t| Parameter { output, term: Some(t) }));
        }
        let k = parameters.len();
        let mut next = uniform(5);
        let half: Vec<f64> = (0..k * k).map(|_| 0.25 * (next() - 0.5)).collect();
        let covariance = cross_products(k, &half, &half);
        model.posterior = Some(Posterior::new(&parameters, &covariance));
        model
    }

    #[test]
    fn moderated_probabilities_are_near_the_average_over_the_posterior() {
        let x = rows(4);
        for classes in [2, 3, 5] {
            let model = classifier(&x, classes);
            let posterior = model.posterior.clone().unwrap();
            let k = posterior.parameters.len();
            let covariance = Matrix::from_columns(k, k, posterior.covariance.clone());
            let factor = Cholesky::new(covariance, &Silent).unwrap().unwrap().into_matrix();
            let some = &x[..40 * COLUMNS];
            let found = model.moderated_probabilities(view(some)).unwrap();
            let plain = model.predict_probabilities(view(some)).unwrap();
            let mut sum = Matrix::zeros(40, classes);
            let mut next = uniform(6);
            let draws = 4000;
            for _ in 0..draws {
                let z: Vec<f64> = (0..k).map(|_| normal(&mut next)).collect();
                let mut drawn = model.clone();
                for (a, p) in posterior.parameters.iter().enumerate() {
                    let change: f64 = (0..=a).map(|b| factor[(a, b)] * z[b]).sum();
                    match p.term {
                        None => drawn.base[p.output] += change,
                        Some(t) => drawn.terms[t].weights[p.output] += change,
                    }
                }
                let p = drawn.predict_probabilities(view(some)).unwrap();
                let parts = sum.as_mut_slice().iter_mut().zip(p.as_slice());
                parts.for_each(|(s, p)| *s += p / draws as f64);
            }
            let distance = |a: &Matrix| {
                let parts = a.as_slice().iter().zip(sum.as_slice());
                parts.map(|(a, b)| (a - b).abs()).sum::<f64>() / (40 * classes) as f64
            };
            let (off, without) = (distance(&found), distance(&plain));
            assert!(off < 0.01 && off < 0.4 * without, "{classes}: {off} {without}");
            for i in 0..40 {
                let total: f64 = (0..classes).map(|c| found[(i, c)]).sum();
                assert!((total - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn variances_of_singular_posteriors_are_never_negative() {
        let x = rows(7);
        let mut model = regression(&x);
        let k = COLUMNS + 1;
        let direction: Vec<f64> = (0..k).map(|j| (j as f64 * 0.7).sin() * 1e3).collect();
        let mut covariance = Matrix::zeros(k, k);
        for a in 0..k {
            for b in 0..k {
                covariance[(a, b)] = direction[a] * direction[b];
            }
        }
        let parameters = model.posterior.as_ref().unwrap().parameters.clone();
        model.posterior = Some(Posterior::new(&parameters, &covariance));
        let variance = model.output_variance(view(&x)).unwrap();
        assert!(variance.as_slice().iter().all(|v| *v >= 0.0));
    }
}
