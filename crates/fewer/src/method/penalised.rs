//! What the methods with an elastic-net penalty share: λ on the columns, λ_max, paths.

use super::common::{Shared, Wanted};
use super::settings::check_lam;
use crate::data::counted_rows;
use crate::design::Design;
use crate::engine::Outcome;
use crate::engine::coordinate::Penalty;
use crate::error::{Error, Result};
use crate::select::path_lams;
use std::collections::BTreeMap;
use std::time::Instant;

/// No XᵀX of all columns, nothing about copies: descent takes them as they come.
pub(crate) const WANTED: Wanted = Wanted {
    equations: false,
    gram: false,
    without_copies: false,
    distinct: false,
    offset: false,
    on_demand: false,
    plain_target: false,
};

/// What is said where the fit of the columns without a penalty did not end as it should.
pub(crate) const INEXACT_LAM_MAX: &str =
    "λ_max is not exact: without the penalised terms the fit did not converge";

/// With less L1 than this the penalty is taken for a ridge, which no λ empties.
const SMALLEST_L1_RATIO: f64 = 1e-3;
/// A pull of less than this part of the largest there could be is none.
const ROUNDING: f64 = 1e-14;
/// Values of λ of a path.
const PATH_LENGTH: usize = 100;

/// Checks the settings of the penalty.
pub(crate) fn check_penalty(
    lam: Option<f64>,
    lam_ratio: Option<f64>,
    l1_ratio: f64,
    factors: Option<&[f64]>,
) -> Result<()> {
    check_lam(lam, lam_ratio)?;
    if !(0.0..=1.0).contains(&l1_ratio) {
        return Err(Error::setting("l1_ratio", l1_ratio, "a number in [0, 1] is expected"));
    }
    match factors.unwrap_or_default().iter().find(|f| !(f.is_finite() && **f >= 0.0)) {
        Some(bad) => {
            Err(Error::setting("penalty_factors", bad, "numbers of at least 0 are expected"))
        }
        None => Ok(()),
    }
}

/// The factor on λ of every column.
pub(crate) fn penalty_factors(given: Option<&[f64]>, shared: &Shared<'_>) -> Result<Vec<f64>> {
    let columns = shared.scale.len();
    match given {
        None => Ok(vec![1.0; columns]),
        Some(given) if given.len() == shared.fixed.len() => {
            // The column of ones of a penalised intercept comes last.
            let ones = columns - given.len();
            Ok(given.iter().copied().chain(vec![1.0; ones]).collect())
        }
        Some(given) => Err(Error::setting(
            "penalty_factors",
            format!("{} numbers", given.len()),
            format!(
                "one for each of the {} functions of the basis is expected",
                shared.fixed.len()
            ),
        )),
    }
}

/// Which λ to fit.
pub(crate) enum Lams {
    Given(Vec<f64>),
    Ratio(f64),
    Path,
}

impl Lams {
    /// One λ, as itself or as a part of λ_max.
    pub fn one(lam: Option<f64>, ratio: f64) -> Self {
        lam.map_or(Lams::Ratio(ratio), |lam| Lams::Given(vec![lam]))
    }

    pub fn check(&self) -> Result<()> {
        if let Lams::Given(lams) = self
            && let Some(bad) = lams.iter().find(|l| !(l.is_finite() && **l >= 0.0))
        {
            return Err(Error::setting("lams", bad, "numbers of at least 0 are expected"));
        }
        Ok(())
    }

    pub fn values(self, largest: f64, shared: &Shared<'_>) -> Vec<f64> {
        match self {
            Lams::Given(lams) => lams,
            Lams::Ratio(ratio) => vec![ratio * largest],
            Lams::Path => {
                let weights = shared.design.and_then(Design::weights);
                let rows = counted_rows(shared.rows, weights);
                let mut lams = path_lams(largest, rows, shared.fixed.len(), PATH_LENGTH, None);
                // As many models as ever, of data with nothing to say too.
                lams.resize(PATH_LENGTH, 0.0);
                lams
            }
        }
    }
}

/// Something for each λ, made from the largest down so that each starts from the one before, and
/// given in the order of the λ.
pub(crate) fn for_each_lam<T>(
    lams: &[f64],
    mut make: impl FnMut(f64) -> Result<T>,
) -> Result<Vec<T>> {
    let mut order: Vec<usize> = (0..lams.len()).collect();
    order.sort_by(|&a, &b| lams[b].total_cmp(&lams[a]));
    let mut made: Vec<(usize, T)> = Vec::with_capacity(lams.len());
    for k in order {
        made.push((k, make(lams[k])?));
    }
    made.sort_by_key(|m| m.0);
    Ok(made.into_iter().map(|m| m.1).collect())
}

/// With more terms than this none is exchanged: there would be too many fits.
const MOST_EXCHANGED: usize = 10;
/// The last terms to go, so many, are those without which the objective is lowest.
const LAST: usize = 5;
/// Columns that are tried in the place of one, those of the largest gain.
const TRIED: usize = 3;
/// Fits that the exchanges from one start may take.
const MOST_FITS: usize = 100;
/// An exchange must lower the objective by this part of it.
const EXCHANGE_GAIN: f64 = 1e-9;

/// A fit to so many terms, which are columns with a weight in any output.
pub(crate) struct FewTerms<'a, T, Refit, Pulls> {
    pub shared: &'a Shared<'a>,
    pub penalty: &'a Penalty,
    pub outcome: fn(&T) -> &Outcome,
    /// A fit on some of the columns.
    pub refit: Refit,
    /// The pulls of a fit on all coefficients.
    pub pulls: Pulls,
}

impl<T, Refit, Pulls> FewTerms<'_, T, Refit, Pulls>
where
    Refit: FnMut(&[usize]) -> Result<T>,
    Pulls: FnMut(&T) -> Result<Vec<f64>>,
{
    /// Keeps a fit to so many terms: while there are more, the strongest of them are fitted again.
    /// Of few terms the last to go are those that are missed least, and then terms are exchanged
    /// for other columns as long as the objective falls; the same is done from the terms that gain
    /// most one by one, and the better of the two is kept.
    pub fn limit(&mut self, most: Option<usize>, fitted: T) -> Result<T> {
        let Some(most) = most.filter(|most| self.terms(&fitted).len() > *most) else {
            return Ok(fitted);
        };
        let fitted = self.drop_weakest(most, fitted)?;
        if most > MOST_EXCHANGED {
            return Ok(fitted);
        }
        let backward = self.exchange(fitted)?;
        if self.has_to_end(&backward) {
            return Ok(backward);
        }
        let forward = self.add_best(most)?;
        let forward = self.exchange(forward)?;
        Ok(if self.is_better(&forward, &backward) { forward } else { backward })
    }

    /// The terms of a fit, rising.
    fn terms(&self, fitted: &T) -> Vec<usize> {
        let mut effects = effects(self.shared, (self.outcome)(fitted));
        // The column of ones of a penalised intercept is no term, and stays.
        self.shared.bias().map(|j| effects.remove(&j));
        effects.into_keys().collect()
    }

    fn fit_on(&mut self, terms: impl Iterator<Item = usize>) -> Result<T> {
        let mut kept: Vec<usize> = terms.chain(self.shared.bias()).collect();
        kept.sort_unstable();
        (self.refit)(&kept)
    }

    /// Exchanges a term for the column that gains most in its place, while that is a gain.
    fn exchange(&mut self, mut fitted: T) -> Result<T> {
        let mut fits = 0;
        let (mut place, mut unchanged) = (0, 0);
        loop {
            let terms = self.terms(&fitted);
            let left = fits + TRIED < MOST_FITS;
            if unchanged >= terms.len() || !left || self.has_to_end(&fitted) {
                return Ok(fitted);
            }
            place %= terms.len();
            let others: Vec<usize> = terms.iter().copied().filter(|j| *j != terms[place]).collect();
            let without = self.fit_on(others.iter().copied())?;
            fits += 1;
            let candidates = self.most_gaining(&without, &terms)?;
            fits += candidates.len();
            let best = self.best_with(&others, &candidates, &fitted)?;
            place += 1;
            match best {
                Some(better) => (fitted, unchanged) = (better, 0),
                None => unchanged += 1,
            }
        }
    }

    /// The best fit of terms with one of the candidates, if it is better than a fit.
    fn best_with(
        &mut self,
        terms: &[usize],
        candidates: &[usize],
        fitted: &T,
    ) -> Result<Option<T>> {
        let mut best: Option<T> = None;
        for j in candidates {
            let other = self.fit_on(terms.iter().chain([j]).copied())?;
            if self.is_better(&other, best.as_ref().unwrap_or(fitted)) {
                best = Some(other);
            }
        }
        Ok(best)
    }

    /// Takes terms in one by one, those of the largest gain, up to so many.
    fn add_best(&mut self, most: usize) -> Result<T> {
        let mut fitted = self.fit_on(std::iter::empty())?;
        for _ in 0..most {
            let terms = self.terms(&fitted);
            let candidates = self.most_gaining(&fitted, &terms)?;
            match self.best_with(&terms, &candidates, &fitted)? {
                Some(better) => fitted = better,
                None => break,
            }
        }
        Ok(fitted)
    }

    fn is_late(&self) -> bool {
        self.shared.deadline.is_some_and(|d| Instant::now() >= d)
    }

    fn has_to_end(&self, fitted: &T) -> bool {
        self.is_late() || self.is_cut_short(fitted)
    }

    fn is_better(&self, other: &T, fitted: &T) -> bool {
        let (height, now) = (self.height(fitted), self.height(other));
        height - now > EXCHANGE_GAIN * height.abs() && !self.is_cut_short(other)
    }

    fn height(&self, fitted: &T) -> f64 {
        (self.outcome)(fitted).objective
    }

    fn is_cut_short(&self, fitted: &T) -> bool {
        (self.outcome)(fitted).termination.is_cut_short()
    }

    /// The columns other than `terms` that would gain most in a fit, were they alone to move.
    fn most_gaining(&mut self, fitted: &T, terms: &[usize]) -> Result<Vec<usize>> {
        let pulls = (self.pulls)(fitted)?;
        let Self { shared, penalty, .. } = self;
        let columns = shared.scale.len();
        let gain = |j: usize| {
            let of = |v: usize| {
                let excess = (penalty.pull(pulls[v]) - penalty.l1[v]).max(0.0);
                if excess > 0.0 {
                    excess * excess / (shared.squares[j] + penalty.l2[v])
                } else {
                    0.0
                }
            };
            (j..pulls.len()).step_by(columns).map(of).sum::<f64>()
        };
        let others = shared.usable.iter().copied();
        let others = others.filter(|j| !terms.contains(j) && Some(*j) != shared.bias());
        let mut gains: Vec<(usize, f64)> =
            others.map(|j| (j, gain(j))).filter(|(_, gain)| *gain > 0.0).collect();
        gains.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(gains.into_iter().take(TRIED).map(|(j, _)| j).collect())
    }

    /// The best fit with one term less.
    fn without_one(&mut self, terms: &[usize]) -> Result<T> {
        let mut best = self.fit_on(terms[1..].iter().copied())?;
        for left_out in &terms[1..] {
            if self.is_late() {
                break;
            }
            let other = self.fit_on(terms.iter().copied().filter(|j| j != left_out))?;
            if self.height(&other) < self.height(&best) {
                best = other;
            }
        }
        Ok(best)
    }

    /// Fits again without the weakest terms until so many are left.
    fn drop_weakest(&mut self, most: usize, mut fitted: T) -> Result<T> {
        loop {
            let mut effects = effects(self.shared, (self.outcome)(&fitted));
            self.shared.bias().map(|j| effects.remove(&j));
            if effects.len() <= most {
                return Ok(fitted);
            }
            let few = most <= MOST_EXCHANGED && !self.is_late();
            if few && effects.len() <= most + LAST {
                fitted = self.without_one(&effects.into_keys().collect::<Vec<usize>>())?;
                continue;
            }
            // A few at a time: which are the weakest changes as others go.
            let fewer = (effects.len() * 4 / 5).max(if few { most + LAST } else { most });
            let mut order: Vec<(usize, f64)> = effects.into_iter().collect();
            order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            fitted = self.fit_on(order[..fewer].iter().map(|t| t.0))?;
        }
    }
}

/// How much each column that has a weight moves the outputs: Σ β² Σ w x².
fn effects(shared: &Shared<'_>, outcome: &Outcome) -> BTreeMap<usize, f64> {
    let columns = shared.scale.len();
    let mut effects = BTreeMap::new();
    for (v, b) in outcome.active.iter().zip(&outcome.beta) {
        let j = v % columns;
        *effects.entry(j).or_insert(0.0) += b * b * shared.squares[j];
    }
    effects
}

/// λ laid on the columns: λ times these are their penalties.
pub(crate) struct Laid {
    l1: Vec<f64>,
    l2: Vec<f64>,
    /// L1 penalties of λ = 1 if all of λ were L1, where it is not: what λ_max is measured by.
    all_l1: Option<Vec<f64>>,
    l1_ratio: f64,
    positive: bool,
}

impl Laid {
    pub fn new(factors: &[f64], l1_ratio: f64, positive: bool, shared: &Shared<'_>) -> Self {
        // Inside, y is divided by its unit u and the prior is on scale·β: λ|s β| / u² is the L1
        // penalty; the L2 penalty has λ/u for its strength, so that it does not depend on u.
        let unit = shared.units.target_unit();
        let each = || factors.iter().zip(shared.scale.iter().map(|s| s / unit));
        Self {
            l1: each().map(|(f, s)| l1_ratio * f * s / unit).collect(),
            l2: match l1_ratio {
                1.0 => vec![0.0; factors.len()],
                _ => each().map(|(f, s)| (1.0 - l1_ratio) * f * s * s / unit).collect(),
            },
            all_l1: (l1_ratio != 1.0).then(|| each().map(|(f, s)| f * s / unit).collect()),
            l1_ratio,
            positive,
        }
    }

    fn all_l1(&self) -> &[f64] {
        self.all_l1.as_deref().unwrap_or(&self.l1)
    }

    /// Takes half of the L2 penalty.
    pub fn halve_l2(&mut self) {
        if self.l1_ratio < 1.0 {
            self.l2.iter_mut().for_each(|l2| *l2 *= 0.5);
        }
    }

    /// The penalty for a λ, the same in every output.
    pub fn at(&self, lam: f64, outputs: usize) -> Penalty {
        let times = |of: &[f64]| {
            let one: Vec<f64> = of.iter().map(|v| lam * v).collect();
            if outputs == 1 { one } else { one.repeat(outputs) }
        };
        // Zeros that nobody writes take no memory.
        let l2 = match self.l1_ratio {
            1.0 => vec![0.0; self.l2.len() * outputs],
            _ => times(&self.l2),
        };
        Penalty { l1: times(&self.l1), l2, positive: self.positive }
    }

    /// The penalty under which only columns without one are kept.
    pub fn wall(&self, outputs: usize) -> Penalty {
        let wall = |f: &f64| if *f > 0.0 { f64::MAX } else { 0.0 };
        let l1: Vec<f64> = self.all_l1().iter().map(wall).collect();
        let l2 = vec![0.0; l1.len() * outputs];
        Penalty { l1: l1.repeat(outputs), l2, positive: self.positive }
    }

    /// No penalty at all.
    pub fn none(&self) -> Penalty {
        let none = vec![0.0; self.l1.len()];
        Penalty { l1: none.clone(), l2: none, positive: self.positive }
    }

    /// The L2 penalties for λ = 1, where there are no others and every column has one.
    pub fn ridge(&self, usable: &[usize]) -> Option<&[f64]> {
        let ridge = |&j: &usize| self.l1[j] == 0.0 && self.l2[j] > 0.0 && self.l2[j].is_finite();
        (!self.positive && usable.iter().all(ridge)).then_some(&self.l2[..])
    }

    /// Whether some of the columns have no penalty.
    pub fn has_free(&self, usable: &[usize]) -> bool {
        usable.iter().any(|&j| self.all_l1()[j] == 0.0)
    }

    /// The λ at which the L2 penalty halves the weight of a lone column, with Gaussian noise: what
    /// stands for λ_max where there is no L1.
    fn halving(&self, squares: &[f64], usable: &[usize]) -> f64 {
        let penalised = usable.iter().filter(|&&j| self.l2[j] > 0.0);
        penalised.map(|&j| squares[j] / self.l2[j]).fold(0.0, f64::max)
    }

    /// The smallest λ at which no penalised column is kept, given the pulls where none is; those
    /// of several outputs follow each other. 0 where all pulls are rounding.
    pub fn lam_max(&self, pulls: &[f64], shared: &Shared<'_>) -> f64 {
        let (ratio, usable) = (self.l1_ratio, &shared.usable);
        if ratio < SMALLEST_L1_RATIO {
            return self.halving(&shared.squares, usable);
        }
        // Residuals are at most of unit size, on the whole.
        let rounding = |j: usize| ROUNDING * (shared.squares[j] * shared.weight).sqrt();
        let all_l1 = self.all_l1();
        let of_output = |pulls: &[f64]| {
            let penalised = usable.iter().filter(|&&j| all_l1[j] > 0.0);
            let strength = |&j: &usize| {
                let pull = if self.positive { pulls[j].max(0.0) } else { pulls[j].abs() };
                if pull > rounding(j) { pull / (ratio * all_l1[j]) } else { 0.0 }
            };
            penalised.map(strength).fold(0.0, f64::max)
        };
        pulls.chunks(self.l1.len().max(1)).map(of_output).fold(0.0, f64::max)
    }
}

/// The builder methods that the methods with an elastic-net penalty share, and their paths; such a
/// method has `fit_each`, and takes so large a part of λ_max where λ is not given.
macro_rules! penalised_builder {
    ($method:ident, $lam_ratio:expr) => {
        impl $method {
            /// Settings from a JSON object with the names of the table above.
            pub fn from_json(settings: &str) -> Result<Self> {
                let (common, own): (Common, Settings) =
                    parse_settings(settings, &Self::default().0)?;
                Ok(Self(Settings { common, ..own }))
            }

            /// λ, in the units of the objective.
            pub fn lam(mut self, lam: f64) -> Self {
                self.0.lam = Some(lam);
                self
            }

            /// λ as a part of λ_max, in (0, 1].
            pub fn lam_ratio(mut self, ratio: f64) -> Self {
                self.0.lam_ratio = Some(ratio);
                self
            }

            /// ρ of the elastic net: 1 for L1 alone, 0 for a ridge.
            pub fn l1_ratio(mut self, ratio: f64) -> Self {
                self.0.l1_ratio = ratio;
                self
            }

            /// A factor on λ for each column of the basis; 0 for no penalty.
            pub fn penalty_factors(mut self, factors: Vec<f64>) -> Self {
                self.0.penalty_factors = Some(factors);
                self
            }

            fn one_lam(&self) -> Lams {
                Lams::one(self.0.lam, self.0.lam_ratio.unwrap_or($lam_ratio))
            }

            /// Fits a model while an observer watches.
            pub fn fit_observed(
                &self,
                data: &Dataset<'_>,
                observer: &dyn Observer,
            ) -> Result<Model> {
                self.fit_each(data, self.one_lam(), observer)?.pop().ok_or(Error::Interrupted)
            }

            /// Fits a model for each λ, from one to the next; without any given, for 100 of them
            /// from λ_max down to λ_max/1000 (λ_max/100 where there are fewer rows than columns).
            ///
            /// Models are in the order of the λ given.
            pub fn path(&self, data: &Dataset<'_>, lams: Option<&[f64]>) -> Result<Vec<Model>> {
                self.path_observed(data, lams, &Silent)
            }

            /// [`path`](Self::path) while an observer watches.
            pub fn path_observed(
                &self,
                data: &Dataset<'_>,
                lams: Option<&[f64]>,
                observer: &dyn Observer,
            ) -> Result<Vec<Model>> {
                let lams = lams.map_or(Lams::Path, |l| Lams::Given(l.to_vec()));
                self.fit_each(data, lams, observer)
            }
        }
    };
}
pub(crate) use penalised_builder;
