//! The ridge problem inside every step of the reweighted engine, in the cheaper of two forms.

use super::{Interrupted, Observer, Until};
use crate::data::{Moments, Units, partial_sums};
use crate::design::Design;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, Matrix, axpy, dot};
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// Least squares on a design, through its rows or through XᵀX.
pub(crate) struct LeastSquares<'a> {
    /// The rows; absent when only moments are known.
    design: Option<&'a Design<'a>>,
    /// XᵀX of some columns, once it is affordable.
    gram: Option<Gram>,
    /// The active columns once they are few, so that rows are not searched for them.
    packed: Option<Packed>,
    only_rows: bool,
    memory_limit: usize,
    watch: Until<'a>,
}

struct Packed {
    columns: Matrix,
    /// Position in `columns` of each column of the design, or `ABSENT`.
    position: Vec<usize>,
}

struct Gram {
    matrix: Arc<Matrix>,
    /// Position in `matrix` of each column of the design, or `ABSENT`.
    position: Vec<usize>,
}

const ABSENT: usize = usize::MAX;
/// Rows that a thread takes at a time.
const PACKED_ROWS: usize = 4096;

/// What the ridge problem is solved for: Xᵀt, or t itself where rows are used.
#[derive(Clone, Copy)]
pub(crate) struct Right<'a> {
    /// (k,) Σ w x t for the active columns.
    pub products: &'a [f64],
    /// (n,) t; empty when only moments are known.
    pub target: &'a [f64],
}

impl From<Interrupted> for Error {
    fn from(_: Interrupted) -> Self {
        Error::Interrupted
    }
}

impl<'a> LeastSquares<'a> {
    /// Least squares on rows; XᵀX is made as soon as there are no more columns than rows.
    pub fn from_rows(
        design: &'a Design<'a>,
        memory_limit: usize,
        observer: &'a dyn Observer,
    ) -> Self {
        Self {
            design: Some(design),
            gram: None,
            packed: None,
            only_rows: false,
            memory_limit,
            watch: Until { observer, deadline: None },
        }
    }

    /// Takes an XᵀX of all columns.
    pub fn with_gram(mut self, matrix: Arc<Matrix>) -> Self {
        let position = (0..matrix.rows()).collect();
        self.gram = Some(Gram { matrix, position });
        self
    }

    /// Solves within this time or not at all: see [`ridge_in_time`](Self::ridge_in_time).
    pub fn until(mut self, deadline: Option<Instant>) -> Self {
        self.watch.deadline = deadline;
        self
    }

    /// Never makes XᵀX.
    pub fn only_rows(mut self) -> Self {
        self.only_rows = true;
        self
    }

    /// Least squares from moments alone.
    pub fn from_gram(matrix: Arc<Matrix>, memory_limit: usize, observer: &'a dyn Observer) -> Self {
        let watch = Until { observer, deadline: None };
        Self { design: None, gram: None, packed: None, only_rows: false, memory_limit, watch }
            .with_gram(matrix)
    }

    pub fn design(&self) -> Option<&'a Design<'a>> {
        self.design
    }

    /// The rows, for a likelihood that cannot do without.
    pub fn rows_needed(&self) -> Result<&'a Design<'a>> {
        self.design.ok_or_else(|| Error::Unavailable {
            what: "this fit from moments".into(),
            hint: "only Gaussian noise can do without the rows".into(),
        })
    }

    pub fn observer(&self) -> &'a dyn Observer {
        self.watch.observer
    }

    pub fn has_gram_for(&self, active: &[usize]) -> bool {
        self.gram.as_ref().is_some_and(|g| active.iter().all(|&j| g.position[j] != ABSENT))
    }

    /// Keeps a copy of the active columns once they are few.
    fn pack(&mut self, active: &[usize]) {
        let Some(design) = self.design else { return };
        let (all, k) = (design.raw().columns(), active.len());
        let current = self.packed.as_ref().map_or(usize::MAX, |p| p.columns.columns());
        let covered =
            self.packed.as_ref().is_some_and(|p| active.iter().all(|&j| p.position[j] != ABSENT));
        let affordable = design.rows().saturating_mul(8 * k) <= self.memory_limit / 8;
        if covered && current <= 2 * k.max(8) || 4 * k > all || !affordable {
            return;
        }
        let mut position = vec![ABSENT; all];
        active.iter().enumerate().for_each(|(at, &j)| position[j] = at);
        self.packed = Some(Packed { columns: design.copy(active), position });
    }

    fn packed_positions(&self, chosen: &[usize]) -> Option<(&Matrix, Vec<usize>)> {
        let packed = self.packed.as_ref()?;
        let positions: Vec<usize> = chosen.iter().map(|&j| packed.position[j]).collect();
        (!positions.contains(&ABSENT)).then_some((&packed.columns, positions))
    }

    /// Σ_j β_j φ_j over the chosen columns, for every row.
    pub fn apply(&self, design: &Design<'_>, chosen: &[usize], beta: &[f64]) -> Vec<f64> {
        let Some((columns, positions)) = self.packed_positions(chosen) else {
            return design.apply(chosen, beta);
        };
        let mut out = vec![0.0; design.rows()];
        out.par_chunks_mut(PACKED_ROWS).enumerate().for_each(|(c, out)| {
            for (&at, &b) in positions.iter().zip(beta) {
                axpy(b, &columns.column(at)[c * PACKED_ROWS..][..out.len()], out);
            }
        });
        out
    }

    /// Σ_i w_i φ_j(x_i) v_i for each of the chosen columns.
    pub fn apply_transpose(&self, design: &Design<'_>, chosen: &[usize], v: &[f64]) -> Vec<f64> {
        let Some((columns, positions)) = self.packed_positions(chosen) else {
            return design.apply_transpose(chosen, v);
        };
        let weighted: Vec<f64> = match design.weights() {
            Some(w) => v.iter().zip(w).map(|(v, w)| v * w).collect(),
            None => v.to_vec(),
        };
        positions.par_iter().map(|&at| dot(columns.column(at), &weighted)).collect()
    }

    /// Makes XᵀX of the active columns where that is the cheaper form.
    pub fn prepare(&mut self, active: &[usize]) -> Result<()> {
        let Some(design) = self.design else { return Ok(()) };
        self.pack(active);
        if self.only_rows || self.has_gram_for(active) || active.len() > design.rows() {
            return Ok(());
        }
        check_memory(active.len(), design.rows(), self.memory_limit)?;
        let zeros = vec![0.0; design.rows()];
        let moments =
            Moments::of(design.raw(), active, &zeros, design.weights(), true, &self.watch)?;
        let (mean, deviation) = active.iter().map(|&j| design.units(j)).unzip();
        let units = Units { mean, deviation, target_mean: 0.0, target_deviation: 1.0 };
        let matrix = Arc::new(moments.in_units(&units).gram);
        let mut position = vec![ABSENT; design.raw().columns()];
        active.iter().enumerate().for_each(|(k, &j)| position[j] = k);
        self.gram = Some(Gram { matrix, position });
        Ok(())
    }

    /// XᵀX of the active columns, or nothing in the form by rows.
    pub fn gram_of(&self, active: &[usize]) -> Option<Matrix> {
        if !self.has_gram_for(active) {
            return None;
        }
        let gram = self.gram.as_ref()?;
        let k = active.len();
        let mut out = Matrix::zeros(k, k);
        for (b, &j) in active.iter().enumerate() {
            let source = gram.matrix.column(gram.position[j]);
            for (o, &i) in out.column_mut(b).iter_mut().zip(active) {
                *o = source[gram.position[i]];
            }
        }
        Some(out)
    }

    /// XᵀXβ at `wanted` for weights on the active columns, from XᵀX.
    pub fn gram_product(
        &self,
        wanted: &[usize],
        active: &[usize],
        beta: &[f64],
    ) -> Option<Vec<f64>> {
        if !self.has_gram_for(active) || !self.has_gram_for(wanted) {
            return None;
        }
        let gram = self.gram.as_ref()?;
        let mut out = vec![0.0; wanted.len()];
        for (&j, &b) in active.iter().zip(beta) {
            let column = gram.matrix.column(gram.position[j]);
            for (o, &i) in out.iter_mut().zip(wanted) {
                *o += b * column[gram.position[i]];
            }
        }
        Some(out)
    }

    /// Minimises Σ w (t − Xβ)² + c Σ (β_j/u_j)².
    ///
    /// Figueiredo 2003, eq. 14 and its dual: β = U(cI + UXᵀXU)⁻¹UXᵀt with k×k algebra, or
    /// U²Xᵀ(cI + XU²Xᵀ)⁻¹t with n×n algebra when there are more columns than rows.
    /// `None`: the system is singular to working precision.
    pub fn ridge(
        &mut self,
        active: &[usize],
        u: &[f64],
        c: f64,
        right: Right<'_>,
    ) -> Result<Option<Ridge>> {
        self.prepare(active)?;
        let k = active.len();
        if let Some(mut matrix) = self.gram_of(active) {
            for b in 0..k {
                let column = matrix.column_mut(b);
                for a in 0..k {
                    column[a] *= u[a] * u[b];
                }
                column[b] += c;
            }
            let Ok(factor) = Cholesky::new(matrix, &self.watch)? else { return Ok(None) };
            let mut beta: Vec<f64> = right.products.iter().zip(u).map(|(b, u)| b * u).collect();
            factor.solve(&mut beta);
            beta.iter_mut().zip(u).for_each(|(b, u)| *b *= u);
            return Ok(Some(Ridge { beta, factor }));
        }
        let outer = self.outer(active, u)?;
        self.ridge_by_rows(outer, active, u, c, right)
    }

    /// [`ridge`](Self::ridge), or nothing where the time set was over before its end.
    pub fn ridge_in_time(
        &mut self,
        active: &[usize],
        u: &[f64],
        c: f64,
        right: Right<'_>,
    ) -> Result<Option<Option<Ridge>>> {
        let done = self.ridge(active, u, c, right);
        self.watch.in_time(done)
    }

    fn outer(&self, active: &[usize], u: &[f64]) -> Result<Matrix> {
        let design = self.rows_needed()?;
        check_memory(design.rows(), design.rows(), self.memory_limit)?;
        Ok(design.outer(active, u, &self.watch)?)
    }

    fn ridge_by_rows(
        &self,
        mut outer: Matrix,
        active: &[usize],
        u: &[f64],
        c: f64,
        right: Right<'_>,
    ) -> Result<Option<Ridge>> {
        let design = self.rows_needed()?;
        let n = design.rows();
        for i in 0..n {
            outer[(i, i)] += c;
        }
        let Ok(factor) = Cholesky::new(outer, &self.watch)? else { return Ok(None) };
        let root = |i: usize| design.weights().map_or(1.0, |w: &[f64]| w[i].sqrt());
        let mut dual: Vec<f64> = (0..n).map(|i| root(i) * right.target[i]).collect();
        factor.solve(&mut dual);
        // `apply_transpose` multiplies by w, and √w is wanted.
        for (i, d) in dual.iter_mut().enumerate() {
            let r = root(i);
            *d = if r > 0.0 { *d / r } else { 0.0 };
        }
        let mut beta = design.apply_transpose(active, &dual);
        beta.iter_mut().zip(u).for_each(|(b, u)| *b *= u * u);
        Ok(Some(Ridge { beta, factor }))
    }

    /// The ridge problem with one penalty on all columns, at the strength of highest evidence.
    ///
    /// For more columns than rows the usual tiny ridge interpolates; this start does not. The
    /// evidence of y ~ N(0, τ(XXᵀ + rI)), with τ at its best, is compared on a grid of r.
    pub fn ridge_of_highest_evidence(
        &mut self,
        active: &[usize],
        rows: f64,
        square: f64,
        squares: &[f64],
        right: Right<'_>,
    ) -> Result<Option<RidgeOfHighestEvidence>> {
        let ones = vec![1.0; active.len()];
        self.prepare(active)?;
        let outer = if self.has_gram_for(active) { None } else { Some(self.outer(active, &ones)?) };
        let mut best: Option<RidgeOfHighestEvidence> = None;
        // Mean of the diagonal of XXᵀ.
        let diagonal = active.iter().map(|&j| squares[j]).sum::<f64>() / rows;
        let empty = -0.5 * rows * (square / rows).ln();
        for exponent in -12..=4 {
            let r = diagonal * 10f64.powf(f64::from(exponent) / 2.0);
            let ridge = match &outer {
                Some(outer) => self.ridge_by_rows(outer.clone(), active, &ones, r, right)?,
                None => self.ridge(active, &ones, r, right)?,
            };
            let Some(ridge) = ridge else { continue };
            // yᵀ(XXᵀ + rI)⁻¹y = (yᵀy − yᵀXβ) / r
            let quadratic =
                ((square - dot(right.products, &ridge.beta)) / r).max(f64::MIN_POSITIVE);
            let log_determinant =
                ridge.factor.log_determinant() + (rows - ridge.factor.order() as f64) * r.ln();
            let evidence = -0.5 * (log_determinant + rows * (quadratic / rows).ln());
            let gain = evidence - empty;
            if best.as_ref().is_none_or(|b| gain > b.gain) {
                let variance = r * quadratic / rows;
                best = Some(RidgeOfHighestEvidence { beta: ridge.beta, variance, gain });
            }
        }
        Ok(best)
    }
}

/// Whether a system of so many equations, made from so many rows, fits the limit.
pub(crate) fn check_memory(order: usize, rows: usize, limit: usize) -> Result<()> {
    // The matrix, its copy that is factorised, and partial sums while it is built.
    let matrices = 2 + partial_sums(rows);
    let needed = order.saturating_mul(order).saturating_mul(8 * matrices);
    if needed <= limit {
        return Ok(());
    }
    Err(Error::memory(
        format!("a system of {order} equations"),
        needed as f64,
        limit as f64,
        "raise memory_limit, give fewer columns, or limit the centres of a kernel with candidates",
    ))
}

/// The ridge regression of highest evidence.
pub(crate) struct RidgeOfHighestEvidence {
    pub beta: Vec<f64>,
    /// Its noise variance, rτ.
    pub variance: f64,
    /// Its log evidence above that of the empty model.
    pub gain: f64,
}

/// The solution of a ridge problem with the factor that gave it.
pub(crate) struct Ridge {
    pub beta: Vec<f64>,
    factor: Cholesky,
}
