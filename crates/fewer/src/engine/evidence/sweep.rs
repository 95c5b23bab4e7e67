//! All columns, looked at in blocks: what adding each would gain, without anything held for it.

use super::posterior::{Active, Posterior};
use super::statistics::Statistics;
use super::{Options, Problem, Start};
use crate::engine::Observer;
use crate::error::Result;
use crate::prior::EvidencePrior;

/// Columns of a block.
const BLOCK: usize = 1024;

/// The largest gain of adding any one column to a state, and the columns that gain most.
pub(crate) fn sweep(
    problem: &Problem<'_>,
    prior: &dyn EvidencePrior,
    options: &Options,
    start: &Start,
    most: usize,
    observer: &dyn Observer,
) -> Result<(f64, Vec<usize>)> {
    let active: Vec<usize> = start.0.iter().map(|c| c.0).collect();
    let alpha: Vec<f64> = start.0.iter().map(|c| c.1).collect();
    let data = Active {
        gram: problem.dictionary.gram(&active),
        cross: active.iter().map(|&j| problem.cross[j]).collect(),
        square: problem.square,
    };
    let posterior = Posterior::new(&data, &alpha, 1.0 / start.1, observer)?;
    let m = problem.dictionary.len();
    let counted = active.iter().filter(|j| Some(**j) != problem.uncounted).count();
    let full = options.max_terms.is_some_and(|most| counted >= most);
    let mut gains: Vec<(f64, usize)> = Vec::new();
    for first in (0..m).step_by(BLOCK) {
        observer.check()?;
        let block: Vec<usize> = (first..(first + BLOCK).min(m)).collect();
        let cross = block.iter().map(|&j| problem.cross[j]).collect();
        let mut all = Statistics::new(cross, prior.price() > 0.0);
        all.products = problem.dictionary.products(&block, &active).as_slice().to_vec();
        all.refresh(&posterior);
        for (i, &j) in block.iter().enumerate() {
            let like = |k: usize| all.column(k)[i].abs() > 1.0 - options.alignment;
            let out = full && Some(j) != problem.uncounted || all.q[i].powi(2) <= all.s[i];
            if out || (0..active.len()).any(like) {
                continue;
            }
            let Some(of) = all.factors(i, &posterior, problem.square.sqrt()) else { continue };
            let variance = prior.best_variance(of, problem.units[j], start.1);
            if variance > 0.0 {
                gains.push((prior.gain(of, variance, problem.units[j], start.1), j));
            }
        }
    }
    gains.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let largest = gains.first().map_or(0.0, |g| g.0);
    gains.truncate(most);
    Ok((largest, gains.into_iter().map(|g| g.1).collect()))
}
