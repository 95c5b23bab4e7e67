//! Kernels that noise alone would bring.

use super::*;

/// Rounds in which kernels go and those that are left move.
const ROUNDS: usize = 5;
/// Kernels count as equally narrow up to this ratio of the rows they cover.
const ALIKE: f64 = 2.0;

impl Learner<'_> {
    /// Takes kernels out that gain less than the best of all kernels like it gains of noise alone.
    ///
    /// A kernel on k of n rows is the best of n/k that sit beside each other. To choose m of them
    /// costs log C(n/k, m), of which the last has a share of log((n/k − m + 1)/m): little for broad
    /// kernels, and for narrow ones where there are many of them, as on a signal that is rough
    /// throughout; much for the one that sits on the row which is farthest off. It is asked for
    /// after the search: while signal still counts as noise, kernels that are needed would not join.
    pub(super) fn prune(&mut self) -> Result<()> {
        if self.learning.place_price == 0.0 {
            return Ok(());
        }
        for _ in 0..ROUNDS {
            let mut gone = false;
            while let Some(k) = self.least()? {
                self.observer.check()?;
                self.shapes.remove(k);
                self.alpha.remove(k);
                self.settle(0.1 * LITTLE)?;
                gone = true;
            }
            if !gone || self.shapes.is_empty() {
                break;
            }
            self.together(&self.learning.rows, AT_LAST, 0.01 * self.little())?;
            self.settle(0.1 * LITTLE)?;
            self.merge()?;
        }
        Ok(())
    }

    /// The kernel that lacks most of its price, if any does.
    fn least(&self) -> Result<Option<usize>> {
        let prices = self.prices_of_places();
        let worth = self.worth()?;
        let part = self.learning.place_price;
        let kernels = (0..worth.len()).filter(|&k| prices[k] > 0.0);
        let left = kernels.map(|k| (k, worth[k] - part * prices[k]));
        Ok(left.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|l| l.1 < 0.0).map(|l| l.0))
    }

    /// What the place of each kernel costs.
    fn prices_of_places(&self) -> Vec<f64> {
        let rows = &self.learning.rows;
        let covered = |shape: &Option<Shape>| match shape {
            Some(shape) if shape.kernel().is_some() => rows.covered(shape),
            _ => f64::INFINITY,
        };
        let covered: Vec<f64> = self.shapes.iter().map(covered).collect();
        let price = |own: &f64| {
            let alike = covered.iter().filter(|c| **c <= ALIKE * own).count() as f64;
            ((rows.count / own - alike + 1.0) / alike).max(1.0).ln()
        };
        covered.iter().map(|c| if c.is_finite() { price(c) } else { 0.0 }).collect()
    }
}
