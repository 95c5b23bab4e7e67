//! Ridge penalties with fewer rows than columns: the weights are a combination of the rows.
//!
//! With Z = X·l2^(-½) and ZZᵀ = LLᵀ, −log p(Xβ) + ½Σ l2 β² over all β has the same minimum as
//! −log p(Lv) + ½‖v‖² over the v of as many entries as there are rows, and β = l2^(-½) Zᵀ L⁻ᵀ v.

use super::{Coordinate, Options, Penalty};
use crate::design::{DenseColumns, Design};
use crate::engine::{Interrupted, Observer, Outcome, Termination, check_memory};
use crate::error::Result;
use crate::linalg::{Cholesky, Matrix};

/// Added to the diagonal of ZZᵀ, as a part of it: rows may depend on each other.
const DAMPING: [f64; 3] = [1e-14, 1e-12, 1e-10];
/// Coefficients up to which second derivatives are made and factorised in short time, for squared
/// errors, which need them once, and for likelihoods that need them again and again: there L-BFGS
/// is faster beyond.
const MOST_ONCE: usize = 5000;
const MOST_AGAIN: usize = 2000;
/// Part of the tolerance that the way by the rows is asked for, and then, should rounding have
/// left more, once again.
const PARTS: [f64; 2] = [0.5, 1e-3];

/// L of the rows with their weights, W^½ Z Zᵀ W^½ = LLᵀ.
pub(crate) struct RowSpace<'a> {
    whole: &'a Design<'a>,
    /// Columns that take part, rising, and their L2 penalties.
    usable: &'a [usize],
    l2: &'a [f64],
    factor: Cholesky,
    /// (n, n) W^(-½) L
    columns: DenseColumns<'static>,
    /// (n,) Σ w x² of these.
    squares: Vec<f64>,
    /// Those that are not zero, rising.
    own: Vec<usize>,
}

impl<'a> RowSpace<'a> {
    /// Nothing where the columns are not more than the rows, or where the problem is too large.
    ///
    /// `l2` are the penalties of all columns, those of the usable ones above 0.
    pub fn of(
        whole: &'a Design<'a>,
        usable: &'a [usize],
        l2: &'a [f64],
        outputs: usize,
        quadratic: bool,
        memory_limit: usize,
        observer: &dyn Observer,
    ) -> Result<Option<Self>> {
        let rows = whole.rows();
        let order = rows.saturating_mul(outputs);
        let most = if quadratic { MOST_ONCE } else { MOST_AGAIN };
        if usable.len() <= rows || order > most || check_memory(order, rows, memory_limit).is_err()
        {
            return Ok(None);
        }
        let u: Vec<f64> = usable.iter().map(|&j| 1.0 / l2[j].sqrt()).collect();
        let products = whole.outer(usable, &u, observer)?;
        let Some((factor, empty)) = factorised(&products, observer)? else { return Ok(None) };
        let mut columns = factor.lower();
        let mut squares = vec![0.0; rows];
        for (k, square) in squares.iter_mut().enumerate() {
            let column = columns.column_mut(k);
            if empty[k] {
                column.fill(0.0);
            }
            *square = column.iter().map(|v| v * v).sum();
            if let Some(w) = whole.weights() {
                let root = |w: f64| if w > 0.0 { w.sqrt() } else { 1.0 };
                column.iter_mut().zip(w).for_each(|(v, w)| *v /= root(*w));
            }
        }
        let own = (0..rows).filter(|&k| squares[k] > 0.0).collect();
        let columns = DenseColumns::Owned(columns);
        Ok(Some(Self { whole, usable, l2, factor, columns, squares, own }))
    }

    /// The columns of the problem in v.
    pub fn design(&self) -> Design<'_> {
        let order = self.squares.len();
        Design::new(&self.columns, self.whole.weights(), vec![0.0; order], vec![1.0; order])
    }

    /// Their Σ w x².
    pub fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// Those that take part, rising.
    pub fn usable(&self) -> &[usize] {
        &self.own
    }

    /// β of the usable columns.
    fn weights(&self, v: &[f64]) -> Vec<f64> {
        let mut rows = v.to_vec();
        self.factor.solve_upper(&mut rows);
        if let Some(w) = self.whole.weights() {
            let share = |v: f64, w: f64| if w > 0.0 { v / w.sqrt() } else { 0.0 };
            rows.iter_mut().zip(w).for_each(|(v, w)| *v = share(*v, *w));
        }
        let mut beta = self.whole.apply_transpose(self.usable, &rows);
        beta.iter_mut().zip(self.usable).for_each(|(b, &j)| *b /= self.l2[j]);
        beta
    }

    /// Solves the problem of `whole`, whose penalty is λ times the L2 penalties, by that of the
    /// rows; nothing where rounding has left more than is allowed.
    pub fn solve(
        &self,
        in_rows: &mut Coordinate<'_>,
        whole: &mut Coordinate<'_>,
        lam: f64,
        penalty: &Penalty,
        options: &Options,
    ) -> Result<Option<Outcome>> {
        let (rows, outputs) = (self.squares.len(), in_rows.outputs());
        let order = rows * outputs;
        let own = Penalty { l1: vec![0.0; order], l2: vec![lam; order], positive: false };
        let columns = self.whole.raw().columns();
        let active = (0..outputs).flat_map(|c| self.usable.iter().map(move |j| c * columns + j));
        let active: Vec<usize> = active.collect();
        for part in PARTS {
            let found = in_rows.run(&own, &Options { tol: part * options.tol, ..*options })?;
            let v = |c: usize| in_rows.values(&(c * rows..(c + 1) * rows).collect::<Vec<_>>());
            let beta: Vec<f64> = (0..outputs).flat_map(|c| self.weights(&v(c))).collect();
            let outcome = whole.end_at(&active, &beta, penalty, options, found)?;
            if outcome.termination != Termination::Stalled {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }
}

/// The factor of a matrix of which the lower triangle is given, and which of its rows are zero,
/// for which 1 stands on the diagonal; nothing where there is none.
fn factorised(
    products: &Matrix,
    observer: &dyn Observer,
) -> Result<Option<(Cholesky, Vec<bool>)>, Interrupted> {
    let order = products.rows();
    let empty: Vec<bool> = (0..order).map(|k| products[(k, k)] == 0.0).collect();
    if (0..order).any(|k| !products[(k, k)].is_finite()) {
        return Ok(None);
    }
    for damping in DAMPING {
        let mut matrix = products.clone();
        for k in 0..order {
            let own = if empty[k] { 1.0 } else { (1.0 + damping * order as f64) * matrix[(k, k)] };
            matrix[(k, k)] = own;
        }
        if let Ok(factor) = Cholesky::new(matrix, observer)? {
            return Ok(Some((factor, empty)));
        }
    }
    Ok(None)
}
