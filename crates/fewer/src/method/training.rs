//! The columns of a fit in well-scaled units, with those that cannot help set aside.

use crate::data::{Moments, Standardised, Units};
use crate::design::{Columns, Design};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Tile};
use crate::method::Intercept;
use crate::model::DroppedColumn;
use crate::random::uniform;
use rayon::ThreadPool;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;

/// Columns with a column of ones after the last: the papers' bias.
pub(crate) struct WithOnes<'a>(pub Box<dyn Columns + 'a>);

impl Columns for WithOnes<'_> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn columns(&self) -> usize {
        self.0.columns() + 1
    }

    fn fill(&self, rows: Range<usize>, columns: &[usize], tile: &mut Tile) {
        let ones = self.0.columns();
        let inner: Vec<usize> = columns.iter().copied().filter(|&j| j != ones).collect();
        if inner.len() == columns.len() {
            return self.0.fill(rows, columns, tile);
        }
        let mut source = Tile::default();
        self.0.fill(rows.clone(), &inner, &mut source);
        let mut position = 0;
        let positions: Vec<Option<usize>> = columns
            .iter()
            .map(|&j| {
                (j != ones).then(|| {
                    position += 1;
                    position - 1
                })
            })
            .collect();
        tile.reset(rows.len(), columns.len(), source.layout());
        tile.update(|i, k, _| positions[k].map_or(1.0, |p| source.get(i, p)));
    }
}

/// The columns of a fit in well-scaled units, with those that cannot help set aside.
pub(crate) struct Training {
    pub units: Units,
    /// Sums in these units; XᵀX only where there are no more columns than rows.
    pub moments: Standardised,
    /// Columns that take part, rising.
    pub usable: Vec<usize>,
    pub dropped: Vec<DroppedColumn>,
}

/// Columns that keep their units and vary by less have squares that floating point cannot hold:
/// kernels far from all rows.
const VANISHING: f64 = 1e-140;

impl Training {
    /// Chooses the units and sets constant columns aside; without `rescale` (kernels) columns are
    /// centred only.
    pub fn new(
        moments: Moments,
        intercept: Intercept,
        standardize: bool,
        rescale: bool,
        name: &dyn Fn(usize) -> String,
    ) -> Result<Self> {
        let ones = (intercept == Intercept::Penalised).then(|| moments.columns() - 1);
        let centre_columns = match intercept {
            Intercept::Free => true,
            Intercept::None => false,
            Intercept::Penalised => standardize && rescale,
        };
        let mut units = moments.units(centre_columns, intercept == Intercept::Free);
        // A constant column says what the intercept says.
        let centred = centre_columns == (intercept != Intercept::None);
        let spreads = match (centred, rescale) {
            (true, true) => None,
            (true, false) => Some(units.deviation.clone()),
            (false, _) => Some(moments.units(true, false).deviation),
        };
        if let Some(ones) = ones {
            (units.mean[ones], units.deviation[ones]) = (0.0, 1.0);
        }
        if !rescale {
            units.deviation.iter_mut().filter(|d| **d > 0.0).for_each(|d| *d = 1.0);
        }
        let finite = |v: &f64| v.is_finite();
        if let Some(j) = units.deviation.iter().position(|d| !finite(d)) {
            return Err(Error::Unavailable {
                what: format!("the variance of '{}'", name(j)),
                hint: "its values are too large for floating point; rescale the column".into(),
            });
        }
        if !finite(&units.target_deviation) {
            return Err(Error::Unavailable {
                what: "the variance of the target".into(),
                hint: "its values are too large for floating point; rescale it".into(),
            });
        }
        let moments = moments.in_units(&units);
        let columns = units.deviation.len();
        let usable = Vec::with_capacity(columns);
        let mut training = Self { units, moments, usable, dropped: Vec::new() };
        for j in 0..columns {
            let deviation = training.units.deviation[j];
            let spread = spreads.as_ref().map_or(deviation, |of| of[j]);
            if Some(j) == ones {
                training.usable.push(j);
            } else if spread > 0.0 && deviation > 0.0 {
                if rescale || spread > VANISHING {
                    training.usable.push(j);
                } else {
                    training.drop_column(name(j), "too small for its squares".into());
                }
            } else {
                training.drop_column(name(j), "constant".into());
            }
        }
        Ok(training)
    }

    fn drop_column(&mut self, name: String, reason: String) {
        self.dropped.push(DroppedColumn { name, reason });
    }

    /// Sets columns aside that are equal, or opposite, to an earlier one.
    pub fn drop_duplicates(&mut self, design: Option<&Design<'_>>, name: &dyn Fn(usize) -> String) {
        let pairs = if self.moments.gram.rows() > 0 {
            duplicates_by_gram(&self.moments.gram, &self.usable)
        } else {
            design.map_or(Vec::new(), |d| duplicates_by_projection(d, &self.usable))
        };
        for &(copy, original) in &pairs {
            self.drop_column(name(copy), format!("a copy of '{}'", name(original)));
        }
        self.usable.retain(|j| pairs.binary_search_by_key(j, |p| p.0).is_err());
    }
}

/// Two columns of unit variance whose correlation is ±1 to this are one.
const SAME: f64 = 1e-13;

fn duplicates_by_gram(gram: &Matrix, usable: &[usize]) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (k, &j) in usable.iter().enumerate() {
        let column = gram.column(j);
        let original = usable[..k]
            .iter()
            .find(|&&i| column[i].abs() >= (1.0 - SAME) * (gram[(i, i)] * gram[(j, j)]).sqrt());
        if let Some(&i) = original {
            pairs.push((j, i));
        }
    }
    pairs
}

/// Equal columns have equal products with any vector: one pass finds the candidates.
fn duplicates_by_projection(design: &Design<'_>, usable: &[usize]) -> Vec<(usize, usize)> {
    let mut next = uniform(0);
    let vector: Vec<f64> = (0..design.rows()).map(|_| next() - 0.5).collect();
    let products = design.apply_transpose(usable, &vector);
    let mut order: Vec<usize> = (0..usable.len()).collect();
    order.sort_by(|&a, &b| products[a].abs().total_cmp(&products[b].abs()).then(a.cmp(&b)));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut copies = HashSet::new();
    let mut start = 0;
    while start < order.len() {
        let size = products[order[start]].abs();
        let same = |k: &usize| products[*k].abs() <= size * (1.0 + 1e-9);
        let end = start + order[start..].partition_point(same).max(1);
        let mut group: Vec<usize> = order[start..end].iter().map(|&k| usable[k]).collect();
        group.sort_unstable();
        for k in 1..group.len() {
            let original =
                group[..k].iter().find(|&&i| !copies.contains(&i) && design.are_same(i, group[k]));
            if let Some(&i) = original {
                pairs.push((group[k], i));
                copies.insert(group[k]);
            }
        }
        start = end;
    }
    pairs.sort_unstable();
    pairs
}

/// Pools of threads that nobody uses now, each with its process and the number of its threads:
/// starting threads takes as long as a small fit.
static IDLE: Mutex<Vec<(u32, usize, ThreadPool)>> = Mutex::new(Vec::new());
/// So many of them are kept.
const MOST_IDLE: usize = 8;

/// Runs on `n_jobs` threads, or on all of them.
pub(crate) fn on_threads<T: Send>(
    n_jobs: Option<usize>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    let Some(threads) = n_jobs else { return work() };
    let pool = match idle_pool(threads) {
        Some(pool) => pool,
        None => rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| {
            Error::setting("n_jobs", threads, format!("no such pool of threads: {e}"))
        })?,
    };
    let done = pool.install(work);
    // Whoever holds the lock may be a thread that a fork has not: waiting for it might never end.
    if let Ok(mut idle) = IDLE.try_lock()
        && idle.len() < MOST_IDLE
    {
        idle.push((std::process::id(), threads, pool));
    }
    done
}

/// A pool of so many threads that nobody uses, if there is one.
fn idle_pool(threads: usize) -> Option<ThreadPool> {
    let mut idle = IDLE.try_lock().ok()?;
    let process = std::process::id();
    while let Some(k) = idle.iter().position(|(owner, ..)| *owner != process) {
        // A pool of the parent's has no threads in a fork that could end.
        std::mem::forget(idle.swap_remove(k));
    }
    let k = idle.iter().position(|(_, size, _)| *size == threads)?;
    Some(idle.swap_remove(k).2)
}
