//! The elastic-net penalty, and what it means for the dual.

/// Σ l1_v |β_v| + ½ Σ l2_v β_v², with β ≥ 0 where `positive`.
#[derive(Debug, Clone)]
pub(crate) struct Penalty {
    pub l1: Vec<f64>,
    pub l2: Vec<f64>,
    pub positive: bool,
}

impl Penalty {
    pub fn value(&self, v: usize, beta: f64) -> f64 {
        self.l1[v] * beta.abs() + 0.5 * self.l2[v] * beta * beta
    }

    /// The penalty of some of the coefficients.
    pub fn of(&self, chosen: &[usize]) -> Self {
        Self {
            l1: chosen.iter().map(|&v| self.l1[v]).collect(),
            l2: chosen.iter().map(|&v| self.l2[v]).collect(),
            positive: self.positive,
        }
    }

    /// All of it divided by a number.
    pub fn divided(&self, by: f64) -> Self {
        let part = |of: &[f64]| of.iter().map(|v| v / by).collect();
        Self { l1: part(&self.l1), l2: part(&self.l2), positive: self.positive }
    }

    /// Whether the penalty leaves coefficient `v` alone.
    pub fn is_free(&self, v: usize) -> bool {
        self.l1[v] == 0.0 && self.l2[v] == 0.0
    }

    /// Whether it leaves all of these alone.
    pub fn is_none(&self, of: &[usize]) -> bool {
        of.iter().all(|&v| self.is_free(v))
    }

    /// How far a coefficient without a penalty is from where nothing moves it.
    pub fn violation(&self, beta: f64, gradient: f64) -> f64 {
        if beta == 0.0 { self.pull(gradient) } else { gradient.abs() }
    }

    /// The part of a pull that can move a coefficient away from zero.
    pub fn pull(&self, gradient: f64) -> f64 {
        if self.positive { gradient.max(0.0) } else { gradient.abs() }
    }

    /// The coefficient that minimises ½h β² − zβ + penalty.
    #[inline]
    pub fn minimiser(&self, v: usize, z: f64, h: f64) -> f64 {
        let (l1, denominator) = (self.l1[v], h + self.l2[v]);
        if z > l1 {
            (z - l1) / denominator
        } else if z < -l1 && !self.positive {
            (z + l1) / denominator
        } else {
            0.0
        }
    }
}

/// A dual point κ·residual, and the dual objective there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DualPoint {
    pub kappa: f64,
    pub value: f64,
}

/// The best multiple of the residual as a dual point.
///
/// `pulls` are (coefficient, XᵀW·residual); `likelihood(κ)` is the likelihood's part of the dual,
/// concave, and `best` the largest κ looked at. A coefficient with an L2 penalty costs
/// (|κg| − l1)²₊ / 2l2; one without confines κ to |κg| ≤ l1. One without any penalty should have
/// no pull: `slack(v, pull)` is what it could gain by it, or nothing where only κ = 0 is left.
pub(crate) fn best_dual_point(
    pulls: impl Iterator<Item = (usize, f64)>,
    penalty: &Penalty,
    slack: &dyn Fn(usize, f64) -> Option<f64>,
    likelihood: &dyn Fn(f64) -> f64,
    best: f64,
) -> DualPoint {
    let mut limit = f64::INFINITY;
    let nothing = || DualPoint { kappa: 0.0, value: likelihood(0.0) };
    let mut left = 0.0;
    let mut soft: Vec<(f64, f64, f64)> = Vec::new();
    let best = best.max(0.0);
    for (v, gradient) in pulls {
        let pull = penalty.pull(gradient);
        let (l1, l2) = (penalty.l1[v], penalty.l2[v]);
        if penalty.is_free(v) {
            let Some(slack) = slack(v, pull) else { return nothing() };
            left += slack;
            continue;
        }
        if pull * best.max(1.0) <= l1 {
            continue;
        }
        if l2 > 0.0 {
            soft.push((pull, l1, l2));
        } else {
            limit = limit.min(l1 / pull);
        }
    }
    let value = |kappa: f64| {
        let cost: f64 = soft.iter().map(|(g, l1, l2)| (kappa * g - l1).max(0.0).powi(2) / l2).sum();
        likelihood(kappa) - 0.5 * cost - kappa * left
    };
    let mut high = best.min(limit);
    if !soft.is_empty() {
        // Concave: golden-section search between 0 and the bound.
        let ratio = 0.5 * (5f64.sqrt() - 1.0);
        let (mut a, mut b) = (0.0, high);
        let (mut c, mut d) = (b - ratio * (b - a), a + ratio * (b - a));
        let (mut at_c, mut at_d) = (value(c), value(d));
        for _ in 0..40 {
            if at_c > at_d {
                (b, d, at_d) = (d, c, at_c);
                c = b - ratio * (b - a);
                at_c = value(c);
            } else {
                (a, c, at_c) = (c, d, at_d);
                d = a + ratio * (b - a);
                at_d = value(d);
            }
        }
        let inner = 0.5 * (a + b);
        if value(inner) > value(high) {
            high = inner;
        }
    }
    DualPoint { kappa: high, value: value(high) }
}
