//! Böhning's bound on the multinomial likelihood: what the reweighted engine needs of it, which
//! then is the block bound optimisation of Krishnapuram 2005, eqs 7, 10 and 13.
//!
//! −log p ≤ const + gᵀΔ + ½Δᵀ(½(I − 11ᵀ/m) ⊗ XᵀX)Δ, Δ being a change of all weights. With
//! M² = ½(I − 11ᵀ/m) this is a least-squares problem on the columns of M ⊗ X.

use super::coordinate::{Coordinate, Penalty};
use super::reweighted::{Options, Reweighted, Stop};
use super::{LeastSquares, Outcome, Right, Step, check_memory, coordinate};
use crate::design::{Design, Stacked};
use crate::error::Result;
use crate::likelihood::QuadraticBound;
use crate::linalg::Matrix;
use crate::prior::ElasticNet;
use std::sync::Arc;

/// The start: a ridge this small against the mean square of a column. Zeros absorb, so it must
/// have none.
const START_RIDGE: f64 = 1e-3;

/// ½(I − 11ᵀ/m) for m classes, and its root M.
#[derive(Debug, Clone, Copy)]
struct Curvature {
    classes: f64,
    /// M = (I − α11ᵀ)/√2
    alpha: f64,
    /// M⁻¹r = √2(r + γΣr); with an output for every class Σr is 0.
    gamma: f64,
}

impl Curvature {
    fn new(outputs: usize, symmetric: bool) -> Self {
        let classes = (outputs + usize::from(!symmetric)) as f64;
        let outputs = outputs as f64;
        let rest = (1.0 - outputs / classes).max(0.0).sqrt();
        let alpha = (1.0 - rest) / outputs;
        Self { classes, alpha, gamma: if symmetric { 0.0 } else { alpha / rest } }
    }

    fn on_diagonal(&self) -> f64 {
        0.5 * (1.0 - 1.0 / self.classes)
    }

    fn off_diagonal(&self) -> f64 {
        -0.5 / self.classes
    }
}

/// The likelihood of a coordinate engine, bounded.
struct Bohning<'e, 'a> {
    engine: &'e mut Coordinate<'a>,
    penalty: &'e Penalty,
    curvature: Curvature,
    residual: Vec<f64>, // (k,) Σ w x (y − p), active
    products: Vec<f64>, // (k,) Σ w x t, active
    target: Vec<f64>,   // (n·outputs,) t
}

impl QuadraticBound for Bohning<'_, '_> {
    fn update(
        &mut self,
        _data: &mut LeastSquares<'_>,
        active: &[usize],
        beta: &[f64],
    ) -> Result<()> {
        self.engine.move_to(active, beta)?;
        let (fitted, residual) = (self.engine.fitted(), self.engine.residual());
        let (rows, outputs) = (fitted.rows(), fitted.columns());
        let Curvature { classes, alpha, gamma } = self.curvature;
        let mut pulls = Matrix::zeros(rows, outputs);
        self.target.resize(rows * outputs, 0.0);
        for i in 0..rows {
            let sum = |of: &Matrix| (0..outputs).map(|c| of[(i, c)]).sum::<f64>();
            let (all, left) = (sum(&fitted), sum(residual));
            for c in 0..outputs {
                let (f, r) = (fitted[(i, c)], residual[(i, c)]);
                pulls[(i, c)] = 0.5 * (f - all / classes) + r;
                self.target[c * rows + i] =
                    0.5f64.sqrt() * (f - alpha * all) + 2f64.sqrt() * (r + gamma * left);
            }
        }
        self.products = self.engine.products(active, &pulls);
        self.residual = self.engine.products(active, residual);
        Ok(())
    }

    fn value(&self) -> f64 {
        self.engine.value()
    }

    fn precision(&self) -> f64 {
        1.0
    }

    fn residual_products(&self) -> &[f64] {
        &self.residual
    }

    fn target_products(&self) -> &[f64] {
        &self.products
    }

    fn target(&self) -> &[f64] {
        &self.target
    }

    fn residual_products_of(
        &self,
        _data: &LeastSquares<'_>,
        wanted: &[usize],
        _active: &[usize],
        _beta: &[f64],
    ) -> Vec<f64> {
        self.engine.products(wanted, self.engine.residual())
    }

    fn hessian(&self, _data: &LeastSquares<'_>, _active: &[usize]) -> Result<Option<Matrix>> {
        Ok(None)
    }

    fn hold_noise(&mut self, _hold: bool) -> bool {
        false
    }

    fn noise_variance(&self) -> Option<f64> {
        None
    }

    fn known_noise_residual(&self) -> Option<f64> {
        None
    }

    fn gap(&mut self) -> Result<Option<f64>> {
        self.engine.relative_gap(self.penalty)
    }
}

/// Solves the problem of a coordinate engine by bound optimisation, from where the engine is or,
/// where that is an absorbing zero, from a ridge. `gram` is XᵀX, where it is known.
pub(crate) fn run(
    engine: &mut Coordinate<'_>,
    penalty: &Penalty,
    gram: Option<&Matrix>,
    options: &coordinate::Options,
    memory_limit: usize,
) -> Result<Outcome> {
    let (prior, scale, ridge) = prior_of(penalty);
    let (design, observer) = (engine.design(), engine.observer());
    let outputs = engine.outputs();
    let curvature = Curvature::new(outputs, engine.is_symmetric());
    let stacked = Stacked {
        design,
        outputs,
        on_diagonal: 0.5f64.sqrt() * (1.0 - curvature.alpha),
        off_diagonal: -0.5f64.sqrt() * curvature.alpha,
    };
    let all = outputs * design.raw().columns();
    let weights = design.weights().map(|w| w.repeat(outputs));
    let view = Design::new(&stacked, weights.as_deref(), vec![0.0; all], vec![1.0; all]);
    let mut data = LeastSquares::from_rows(&view, memory_limit, observer).until(options.deadline);
    if let Some(gram) = gram {
        check_memory(all, design.rows(), memory_limit)?;
        data = data.with_gram(Arc::new(kronecker(curvature, outputs, gram)));
    }
    let squares: Vec<f64> = (0..all).map(|v| curvature.on_diagonal() * engine.square(v)).collect();
    let mut allowed = vec![false; all];
    engine.usable().iter().for_each(|&v| allowed[v] = true);
    let entry = engine.weights();
    if let Some(gap) = engine.relative_gap(penalty)?.filter(|gap| *gap <= options.tol) {
        // The start from a ridge would come near to zeros, and not to all of them.
        return Ok(engine.stay(penalty, gap));
    }
    let (mut active, mut beta) = entry.clone();
    if prior.l1 == 0.0 {
        // Zeros do not absorb, and none would be let back in.
        active = engine.usable().to_vec();
        beta = engine.values(&active);
    }
    let mut likelihood = Bohning {
        engine,
        penalty,
        curvature,
        residual: Vec::new(),
        products: Vec::new(),
        target: Vec::new(),
    };
    if active.is_empty() {
        active = (0..all).filter(|&v| allowed[v]).collect();
        likelihood.update(&mut data, &active, &vec![0.0; active.len()])?;
        let right = Right { products: &likelihood.products, target: &likelihood.target };
        let mean = active.iter().map(|&v| squares[v]).sum::<f64>() / active.len().max(1) as f64;
        let ones = vec![1.0; active.len()];
        let ridge = data.ridge_in_time(&active, &ones, START_RIDGE * mean, right)?;
        beta = match ridge {
            Some(Some(ridge)) => ridge.beta,
            // A short step along the pulls is a start too.
            Some(None) => {
                let step = mean * active.len() as f64;
                likelihood.products.iter().map(|p| p / step).collect()
            }
            None => {
                active.clear();
                Vec::new()
            }
        };
    }
    let reweighted = Options {
        stop: Stop::Residual(options.tol),
        max_iter: options.max_iter,
        deadline: options.deadline,
        max_terms: None,
        hold_noise_above: None,
        accelerate: true,
    };
    let mut outcome = Reweighted {
        data: &mut data,
        likelihood: &mut likelihood,
        prior: &prior,
        scale: &scale,
        ridge,
        squares: &squares,
        active,
        beta,
        uncounted: None,
        allowed,
    }
    .run(&reweighted)?;
    engine.move_to(&outcome.active, &outcome.beta)?;
    if outcome.termination.is_cut_short() && entry.0 != outcome.active {
        // The start has all weights, and may not yet have come down to where it set out.
        engine.move_if_better(&entry.0, &entry.1, penalty)?;
        let (active, beta) = engine.weights();
        let size: f64 = active.iter().zip(&beta).map(|(&v, b)| penalty.value(v, *b)).sum();
        let objective = engine.value() + size;
        if objective < outcome.objective {
            let gap = engine.relative_gap(penalty)?;
            outcome.trace.push(Step { objective, terms: active.len() });
            outcome = Outcome { active, beta, objective, gap, ..outcome };
        }
    }
    Ok(outcome)
}

/// The prior on `scale · β` that a penalty is, and the L2 penalties beside it.
fn prior_of(penalty: &Penalty) -> (ElasticNet, Vec<f64>, Option<&[f64]>) {
    if penalty.l1.iter().all(|l1| *l1 == 0.0) {
        let scale = penalty.l2.iter().map(|l2| l2.sqrt()).collect();
        return (ElasticNet { l1: 0.0, l2: 1.0 }, scale, None);
    }
    (ElasticNet { l1: 1.0, l2: 0.0 }, penalty.l1.clone(), Some(&penalty.l2))
}

/// ½(I − 11ᵀ/m) ⊗ XᵀX.
fn kronecker(curvature: Curvature, outputs: usize, gram: &Matrix) -> Matrix {
    let p = gram.rows();
    let mut out = Matrix::zeros(outputs * p, outputs * p);
    for v in 0..outputs * p {
        let column = out.column_mut(v);
        for (c, own) in column.chunks_exact_mut(p).enumerate() {
            let same = c == v / p;
            let factor = if same { curvature.on_diagonal() } else { curvature.off_diagonal() };
            own.iter_mut().zip(gram.column(v % p)).for_each(|(o, g)| *o = factor * g);
        }
    }
    out
}
