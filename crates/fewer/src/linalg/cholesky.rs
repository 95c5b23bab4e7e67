//! Cholesky factorisation by panels: it can be interrupted, and threads share its tiles.

use super::products::square_of_upper;
use super::small::{self, SMALL};
use super::{Matrix, clear_vector_registers};
use crate::engine::{Interrupted, Observer};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{
    LltRegularization, cholesky_in_place, cholesky_in_place_scratch,
};
use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

/// Rows of a tile, and columns of a panel.
const PANEL: usize = 256;

/// The matrix has no Cholesky factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotPositiveDefinite;

/// The lower factor L of a positive-definite matrix M = L·Lᵀ.
#[derive(Debug, Clone, Default)]
pub struct Cholesky {
    factor: Matrix,
    /// Whether it was made, and is used, by kernels for small matrices.
    small: bool,
}

impl Cholesky {
    /// Factorises the lower triangle of `matrix` and takes its place.
    ///
    /// Between panels the observer is asked whether to go on.
    pub fn new(
        matrix: Matrix,
        observer: &dyn Observer,
    ) -> Result<Result<Self, NotPositiveDefinite>, Interrupted> {
        let n = matrix.rows();
        let mut factor = matrix;
        if n <= PANEL {
            let whole = MatMut::from_column_major_slice_mut(factor.as_mut_slice(), n, n);
            return Ok(factorise_block(whole).map(|()| Self { factor, small: false }));
        }
        for start in (0..n).step_by(PANEL) {
            observer.check()?;
            let width = PANEL.min(n - start);
            let whole = MatMut::from_column_major_slice_mut(factor.as_mut_slice(), n, n);
            let trailing = whole.get_mut(start.., start..);
            let (mut diagonal, _, mut below, rest) = trailing.split_at_mut(width, width);
            if factorise_block(diagonal.as_mut()).is_err() {
                return Ok(Err(NotPositiveDefinite));
            }
            let diagonal = diagonal.as_ref();
            column_panels(below.as_mut().transpose_mut()).into_par_iter().for_each(|panel| {
                solve_lower_triangular_in_place(diagonal, panel, Par::Seq);
                clear_vector_registers();
            });
            update_trailing(rest, below.as_ref());
        }
        Ok(Ok(Self { factor, small: false }))
    }

    /// As [`new`](Self::new), but by kernels of their own for matrices so small that the blocks of
    /// the library cost more than the arithmetic. Last bits differ.
    pub fn new_small(
        matrix: Matrix,
        observer: &dyn Observer,
    ) -> Result<Result<Self, NotPositiveDefinite>, Interrupted> {
        let n = matrix.rows();
        if n > SMALL {
            return Self::new(matrix, observer);
        }
        let mut factor = matrix;
        let found = small::factorise(n, factor.as_mut_slice());
        Ok(if found { Ok(Self { factor, small: true }) } else { Err(NotPositiveDefinite) })
    }

    /// Order of the matrix.
    pub fn order(&self) -> usize {
        self.factor.rows()
    }

    /// Solves M·x = `right` in place.
    pub fn solve(&self, right: &mut [f64]) {
        if self.small {
            return small::solve(self.order(), self.factor.as_slice(), right);
        }
        self.solve_lower(right);
        self.solve_upper(right);
    }

    /// Solves M·X = `right` in place, for many columns.
    pub fn solve_each(&self, right: &mut Matrix) {
        let (n, columns) = (self.order(), right.columns());
        let l = MatRef::from_column_major_slice(self.factor.as_slice(), n, n);
        let mut x = MatMut::from_column_major_slice_mut(right.as_mut_slice(), n, columns);
        solve_lower_triangular_in_place(l, x.as_mut(), Par::Seq);
        solve_upper_triangular_in_place(l.transpose(), x, Par::Seq);
        clear_vector_registers();
    }

    /// Solves L·x = `right` in place.
    pub fn solve_lower(&self, right: &mut [f64]) {
        let n = self.order();
        let l = MatRef::from_column_major_slice(self.factor.as_slice(), n, n);
        let x = MatMut::from_column_major_slice_mut(right, n, 1);
        solve_lower_triangular_in_place(l, x, Par::Seq);
        clear_vector_registers();
    }

    /// Solves Lᵀ·x = `right` in place.
    pub fn solve_upper(&self, right: &mut [f64]) {
        let n = self.order();
        let l = MatRef::from_column_major_slice(self.factor.as_slice(), n, n);
        let x = MatMut::from_column_major_slice_mut(right, n, 1);
        solve_upper_triangular_in_place(l.transpose(), x, Par::Seq);
        clear_vector_registers();
    }

    /// L, with zeros above.
    pub fn lower(&self) -> Matrix {
        let mut lower = self.factor.clone();
        (0..self.order()).for_each(|k| lower.column_mut(k)[..k].fill(0.0));
        lower
    }

    /// log |M|.
    pub fn log_determinant(&self) -> f64 {
        (0..self.order()).map(|i| 2.0 * self.factor[(i, i)].ln()).sum()
    }

    /// The smallest square on the diagonal of L: 0 for a singular matrix.
    pub fn smallest_pivot(&self) -> f64 {
        (0..self.order()).map(|i| self.factor[(i, i)].powi(2)).fold(f64::INFINITY, f64::min)
    }

    /// L⁻¹, lower triangular, with zeros above.
    pub fn inverse_factor(&self) -> Matrix {
        let n = self.order();
        let mut inverse = Matrix::zeros(n, n);
        if n > 0 {
            invert_lower_triangular(
                MatMut::from_column_major_slice_mut(inverse.as_mut_slice(), n, n),
                MatRef::from_column_major_slice(self.factor.as_slice(), n, n),
                Par::Seq,
            );
            clear_vector_registers();
        }
        inverse
    }

    /// L⁻ᵀ, upper triangular, with zeros below, and the inverse M⁻¹ = L⁻ᵀL⁻¹.
    pub fn inverse_with_root(&self) -> (Matrix, Matrix) {
        let n = self.order();
        if !self.small {
            let root = self.inverse_factor().transpose();
            let inverse = square_of_upper(&root);
            return (root, inverse);
        }
        small::invert(n, self.factor.as_slice())
    }

    /// Gives the storage back.
    pub fn into_matrix(self) -> Matrix {
        self.factor
    }
}

fn column_panels(mut matrix: MatMut<'_, f64>) -> Vec<MatMut<'_, f64>> {
    let mut panels = Vec::new();
    while matrix.ncols() > PANEL {
        let (panel, rest) = matrix.split_at_col_mut(PANEL);
        panels.push(panel);
        matrix = rest;
    }
    panels.push(matrix);
    panels
}

fn factorise_block(block: MatMut<'_, f64>) -> Result<(), NotPositiveDefinite> {
    let n = block.nrows();
    if n == 0 {
        return Ok(());
    }
    let mut memory =
        MemBuffer::new(cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default()));
    let outcome = cholesky_in_place(
        block,
        LltRegularization::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    );
    clear_vector_registers();
    outcome.map(|_| ()).map_err(|_| NotPositiveDefinite)
}

/// Subtracts below·belowᵀ from the lower triangle of what remains, panel by panel.
fn update_trailing(rest: MatMut<'_, f64>, below: MatRef<'_, f64>) {
    column_panels(rest).into_par_iter().enumerate().for_each(|(k, panel)| {
        let start = k * PANEL;
        let width = panel.ncols();
        let (_, target) = panel.split_at_row_mut(start);
        let (diagonal, lower) = target.split_at_row_mut(width);
        let right = below.subrows(start, width).transpose();
        matmul(
            diagonal,
            BlockStructure::TriangularLower,
            Accum::Add,
            below.subrows(start, width),
            BlockStructure::Rectangular,
            right,
            BlockStructure::Rectangular,
            -1.0,
            Par::Seq,
        );
        let rows = below.nrows() - start - width;
        faer::linalg::matmul::matmul(
            lower,
            Accum::Add,
            below.subrows(start + width, rows),
            right,
            -1.0,
            Par::Seq,
        );
        clear_vector_registers();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Silent;

    fn positive_definite(n: usize) -> Matrix {
        let mut m = Matrix::zeros(n, n);
        for j in 0..n {
            for i in 0..n {
                m[(i, j)] = (-((i as f64 - j as f64) / 7.0).abs()).exp();
            }
            m[(j, j)] += 0.5;
        }
        m
    }

    #[test]
    fn panels_solve_the_system() {
        for n in [1, 3, PANEL, PANEL + 1, 2 * PANEL + 17] {
            let m = positive_definite(n);
            let expected: Vec<f64> = (0..n).map(|i| (i as f64 * 0.37).sin()).collect();
            let mut x = vec![0.0; n];
            for j in 0..n {
                super::super::axpy(expected[j], m.column(j), &mut x);
            }
            let factor = Cholesky::new(m, &Silent).unwrap().unwrap();
            factor.solve(&mut x);
            let worst = x.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-12, "n = {n}: {worst}");
        }
    }

    #[test]
    fn indefinite_matrices_are_told() {
        let mut m = positive_definite(300);
        m[(280, 280)] = -1.0;
        assert_eq!(Cholesky::new(m, &Silent).unwrap().err(), Some(NotPositiveDefinite));
    }
}
