//! One point of many: weights of several classes in the symmetric form count by their differences.
//!
//! A column's weights may all be shifted by as much without changing a probability. An L2 penalty
//! leaves one shift, the mean; L1 alone leaves all between the two middle weights where the classes
//! are of even number; no penalty leaves any. Which of them a solver ends at depends on its way.

use crate::engine::Outcome;
use crate::engine::coordinate::Penalty;
use std::collections::BTreeMap;

/// Weights that differ by less than this part of the largest are the same.
const SAME: f64 = 1e-10;

/// Shifts the weights of each column without an L2 penalty to where they depend on the problem
/// alone: one of them is zero, or, without any penalty, their mean.
pub(crate) fn choose_shifts(
    outcome: &mut Outcome,
    penalty: &Penalty,
    columns: usize,
    classes: usize,
) {
    let mut weights: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (v, b) in outcome.active.iter().zip(&outcome.beta) {
        weights.entry(v % columns).or_insert_with(|| vec![0.0; classes])[v / columns] = *b;
    }
    let mut shifted = Vec::new();
    for (j, mut own) in weights {
        let cost = |own: &[f64]| penalty.l1[j] * own.iter().map(|w| w.abs()).sum::<f64>();
        let before = cost(&own);
        if penalty.is_free(j) {
            let mean = own.iter().sum::<f64>() / classes as f64;
            own.iter_mut().for_each(|w| *w -= mean);
        } else if penalty.l2[j] == 0.0 {
            own = at_a_middle(&own);
        }
        outcome.objective += cost(&own) - before;
        let of_classes = own.into_iter().enumerate().filter(|(_, w)| *w != 0.0);
        shifted.extend(of_classes.map(|(c, w)| (c * columns + j, w)));
    }
    shifted.sort_unstable_by_key(|s| s.0);
    (outcome.active, outcome.beta) = shifted.into_iter().unzip();
}

/// Weights less one of the middle ones: the one that leaves more zeros, then smaller squares, then
/// the lower.
fn at_a_middle(weights: &[f64]) -> Vec<f64> {
    let mut sorted = weights.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    let less = |shift: f64| -> Vec<f64> {
        let out: Vec<f64> = weights.iter().map(|w| w - shift).collect();
        let same = SAME * out.iter().fold(0.0, |most: f64, w| most.max(w.abs()));
        out.into_iter().map(|w| if w.abs() <= same { 0.0 } else { w }).collect()
    };
    let (at_low, at_high) = (less(low), less(high));
    let zeros = |of: &[f64]| of.iter().filter(|w| **w == 0.0).count();
    let square = |of: &[f64]| of.iter().map(|w| w * w).sum::<f64>();
    let better = zeros(&at_high)
        .cmp(&zeros(&at_low))
        .then((square(&at_low) * (1.0 - SAME)).total_cmp(&square(&at_high)));
    if better.is_gt() { at_high } else { at_low }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Termination;

    fn outcome(weights: &[f64]) -> Outcome {
        Outcome {
            active: (0..weights.len()).collect(),
            beta: weights.to_vec(),
            objective: 10.0,
            residual: 0.0,
            gap: Some(0.0),
            iterations: 1,
            termination: Termination::Converged,
            trace: Vec::new(),
        }
    }

    fn chosen(weights: &[f64], l1: f64, l2: f64) -> (Vec<f64>, f64) {
        let classes = weights.len();
        let penalty = Penalty { l1: vec![l1; classes], l2: vec![l2; classes], positive: false };
        let mut of = outcome(weights);
        choose_shifts(&mut of, &penalty, 1, classes);
        let mut out = vec![0.0; classes];
        of.active.iter().zip(&of.beta).for_each(|(&v, b)| out[v] = *b);
        (out, of.objective)
    }

    #[test]
    fn equally_good_weights_become_the_same() {
        let weights = [2.0, -0.5, -1.0, 0.25];
        // Less -0.5 they would be [2.5, 0, -0.5, 0.75], of larger squares.
        let expected = (vec![1.75, -0.75, -1.25, 0.0], 10.0);
        for shift in [0.0, 0.25, -0.125, -0.5] {
            assert_eq!(chosen(&weights.map(|w| w - shift), 3.0, 0.0), expected);
        }
        let turned = chosen(&[-1.0, 0.25, 2.0, -0.5], 3.0, 0.0).0;
        assert_eq!(turned, [-1.25, 0.0, 1.75, -0.75]);
    }

    #[test]
    fn more_zeros_come_first() {
        assert_eq!(chosen(&[1.0, 0.5, 0.0, 0.0], 1.0, 0.0).0, [1.0, 0.5, 0.0, 0.0]);
        assert_eq!(chosen(&[0.75, 0.25, -0.25, -0.25], 1.0, 0.0).0, [1.0, 0.5, 0.0, 0.0]);
    }

    #[test]
    fn other_penalties_decide_themselves() {
        assert_eq!(chosen(&[1.0, 0.5, -0.25, -0.25], 1.0, 1.0).0, [1.0, 0.5, -0.25, -0.25]);
        assert_eq!(chosen(&[2.0, 1.0, 0.0], 0.0, 0.0).0, [1.0, 0.0, -1.0]);
        // Not at the optimum: the middle weight is worth its penalty.
        assert_eq!(chosen(&[2.0, 1.0, -1.0], 1.0, 0.0), (vec![1.0, 0.0, -2.0], 9.0));
    }
}
