//! The weights given the variances of their prior, w ~ N(0, σ²T): a Gaussian, in the cheaper of two
//! forms.

use crate::engine::Observer;
use crate::error::Result;
use crate::linalg::{Cholesky, Layout, Matrix, Tile, add_outer, axpy, dot, products_with};
use crate::random::Stream;

/// Least squares as the sampler knows it.
pub(crate) enum Regression {
    /// XᵀX, both triangles, and Xᵀy.
    Products { gram: Matrix, cross: Vec<f64> },
    /// Any rows with the same XᵀX and Xᵀy: for more columns than rows.
    Rows { x: Matrix, y: Vec<f64> },
}

/// What is left of a column counts as nothing below this part of it.
const SPANNED: f64 = 1e-7;

impl Regression {
    /// From rows multiplied by √weight: as many as the rank of X, turned so that they follow from
    /// XᵀX alone. So draws are the same for rows in any order, repeated or weighted.
    pub fn from_rows(x: &Matrix, y: &[f64], observer: &dyn Observer) -> Result<Self> {
        let columns: Vec<&[f64]> = (0..x.columns()).map(|j| x.column(j)).collect();
        let squares: Vec<f64> = columns.iter().map(|c| dot(c, c)).collect();
        let mut left = squares.clone();
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let mut rows: Vec<Vec<f64>> = Vec::new();
        let mut target = Vec::new();
        for j in 0..columns.len() {
            if left[j] <= SPANNED.powi(2) * squares[j] || basis.len() == x.rows() {
                continue;
            }
            observer.check()?;
            let mut direction = columns[j].to_vec();
            // Twice is enough to be orthogonal to working precision.
            for _ in 0..2 {
                for q in &basis {
                    axpy(-dot(q, &direction), q, &mut direction);
                }
            }
            let length = dot(&direction, &direction).sqrt();
            if length <= SPANNED * squares[j].sqrt() {
                continue;
            }
            direction.iter_mut().for_each(|v| *v /= length);
            let row = products_with(&columns, &direction);
            left.iter_mut().zip(&row).for_each(|(l, r)| *l -= r * r);
            target.push(dot(&direction, y));
            rows.push(row);
            basis.push(direction);
        }
        let mut turned = Matrix::zeros(rows.len(), columns.len());
        for (i, row) in rows.iter().enumerate() {
            row.iter().enumerate().for_each(|(j, v)| turned[(i, j)] = *v);
        }
        Ok(Regression::Rows { x: turned, y: target })
    }

    pub fn columns(&self) -> usize {
        match self {
            Regression::Products { cross, .. } => cross.len(),
            Regression::Rows { x, .. } => x.columns(),
        }
    }
}

/// What is left of a squared length counts as nothing below this part of it: rounding of XᵀX.
const SINGULAR: f64 = 1e-11;

/// Whether XᵀX of these columns has less than full rank.
pub(crate) fn is_singular(
    gram: &Matrix,
    columns: &[usize],
    observer: &dyn Observer,
) -> Result<bool> {
    let p = columns.len();
    let mut rows: Vec<f64> = Vec::with_capacity(p * p);
    for (i, &a) in columns.iter().enumerate() {
        if i % 64 == 0 {
            observer.check()?;
        }
        let square = gram[(a, a)];
        let mut left = square;
        let mut own = Vec::with_capacity(p);
        for (j, &b) in columns[..i].iter().enumerate() {
            let other = &rows[j * p..j * p + j + 1];
            let value = (gram[(b, a)] - dot(&own, &other[..j])) / other[j];
            left -= value * value;
            own.push(value);
        }
        if left.is_nan() || left <= SINGULAR * square {
            return Ok(true);
        }
        own.push(left.sqrt());
        own.resize(p, 0.0);
        rows.extend(own);
    }
    Ok(false)
}

/// Up to this order plain loops beat calls of the library.
const SMALL: usize = 40;

/// Draws weights; it holds the buffers of one chain.
pub(super) struct Weights<'a> {
    data: &'a Regression,
    /// yᵀy.
    square: f64,
    observer: &'a dyn Observer,
    /// (p,) √τ.
    root: Vec<f64>,
    /// (k,) L⁻¹ times the right side: of √T Xᵀy or of y.
    solved: Vec<f64>,
    factor: Factor,
    /// (n, p) X√T, and (n,) buffers.
    scaled: Tile,
    fitted: Vec<f64>,
    dual: Vec<f64>,
}

enum Factor {
    /// Rows of L, with the inverse of its diagonal in the place of the diagonal.
    Small(Vec<f64>),
    Large(Cholesky),
}

impl<'a> Weights<'a> {
    pub fn new(data: &'a Regression, square: f64, observer: &'a dyn Observer) -> Self {
        let columns = data.columns();
        let small = matches!(data, Regression::Products { .. }) && columns <= SMALL;
        let rows = match data {
            Regression::Products { .. } => 0,
            Regression::Rows { y, .. } => y.len(),
        };
        Self {
            data,
            square,
            observer,
            root: vec![0.0; columns],
            solved: Vec::new(),
            factor: match small {
                true => Factor::Small(vec![0.0; columns * columns]),
                false => Factor::Large(Cholesky::default()),
            },
            scaled: Tile::default(),
            fitted: vec![0.0; rows],
            dual: vec![0.0; rows],
        }
    }

    /// Takes variances τ·factor²; yᵀ(I + XTXᵀ)⁻¹y, in which the weights are integrated out. None
    /// where the variances are too large for floating point.
    pub fn condition(&mut self, variances: &[f64], factor: f64) -> Result<Option<f64>> {
        self.root.iter_mut().zip(variances).for_each(|(r, v)| *r = factor * v.sqrt());
        match self.data {
            // = yᵀy − |L⁻¹√TXᵀy|² with LLᵀ = I + √TXᵀX√T: all eigenvalues are at least 1.
            Regression::Products { gram, cross } => {
                self.solved.clear();
                self.solved.extend(self.root.iter().zip(cross).map(|(r, b)| r * b));
                match &mut self.factor {
                    Factor::Small(rows) => {
                        if !factorise_small(gram, &self.root, rows) {
                            return Ok(None);
                        }
                    }
                    Factor::Large(factor) => {
                        let mut matrix = std::mem::take(factor).into_matrix();
                        scaled_gram(gram, &self.root, &mut matrix);
                        let Ok(found) = Cholesky::new(matrix, self.observer)? else {
                            return Ok(None);
                        };
                        *factor = found;
                    }
                }
                match &self.factor {
                    Factor::Small(rows) => solve_lower(rows, &mut self.solved),
                    Factor::Large(factor) => factor.solve_lower(&mut self.solved),
                }
                Ok(Some((self.square - dot(&self.solved, &self.solved)).max(0.0)))
            }
            // = |L⁻¹y|² with LLᵀ = I + XTXᵀ, and what of y is outside the span of X.
            Regression::Rows { x, y } => {
                let n = y.len();
                self.scaled.reset(n, x.columns(), Layout::Columns);
                let columns = self.scaled.values_mut().chunks_exact_mut(n).enumerate();
                for (j, out) in columns {
                    let root = self.root[j];
                    out.iter_mut().zip(x.column(j)).for_each(|(o, v)| *o = root * v);
                }
                let mut matrix = match &mut self.factor {
                    Factor::Large(factor) => std::mem::take(factor).into_matrix(),
                    Factor::Small(_) => Matrix::default(),
                };
                matrix.reset(n, n);
                (0..n).for_each(|i| matrix[(i, i)] = 1.0);
                add_outer(&mut matrix, &self.scaled);
                let Ok(factor) = Cholesky::new(matrix, self.observer)? else {
                    return Ok(None);
                };
                self.solved.clear();
                self.solved.extend(y);
                factor.solve_lower(&mut self.solved);
                self.factor = Factor::Large(factor);
                let outside = (self.square - dot(y, y)).max(0.0);
                Ok(Some(outside + dot(&self.solved, &self.solved)))
            }
        }
    }

    /// log |I + XTXᵀ| for the variances last taken.
    pub fn log_determinant(&self) -> f64 {
        match &self.factor {
            Factor::Small(rows) => {
                let p = self.root.len();
                -2.0 * (0..p).map(|i| rows[i * p + i].ln()).sum::<f64>()
            }
            Factor::Large(factor) => factor.log_determinant(),
        }
    }

    /// Draws weights for the variances last taken, in units of σ; |Xw|²/σ² and wᵀXᵀy/σ of them.
    pub fn draw(&mut self, sigma: f64, w: &mut [f64], stream: &mut Stream) -> (f64, f64) {
        match self.data {
            Regression::Products { gram, cross } => {
                // w = √T L⁻ᵀ(L⁻¹√TXᵀy + σz).
                w.iter_mut().zip(&self.solved).for_each(|(w, v)| *w = v / sigma + stream.normal());
                match &self.factor {
                    Factor::Small(rows) => solve_upper(rows, w),
                    Factor::Large(factor) => factor.solve_upper(w),
                }
                w.iter_mut().zip(&self.root).for_each(|(w, r)| *w *= r);
                (quadratic_form(gram, w), dot(w, cross))
            }
            // Bhattacharya, Chakraborty & Mallick 2016, algorithm 1.
            Regression::Rows { x, y } => {
                w.iter_mut().zip(&self.root).for_each(|(w, r)| *w = r * stream.normal());
                apply(x, w, &mut self.fitted);
                for i in 0..y.len() {
                    self.dual[i] = y[i] / sigma - self.fitted[i] - stream.normal();
                }
                if let Factor::Large(factor) = &self.factor {
                    factor.solve(&mut self.dual);
                }
                for (j, w) in w.iter_mut().enumerate() {
                    *w += self.root[j].powi(2) * dot(x.column(j), &self.dual);
                }
                apply(x, w, &mut self.fitted);
                (dot(&self.fitted, &self.fitted), dot(&self.fitted, y))
            }
        }
    }
}

fn apply(x: &Matrix, w: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    w.iter().enumerate().for_each(|(j, w)| axpy(*w, x.column(j), out));
}

/// wᵀGw.
fn quadratic_form(gram: &Matrix, w: &[f64]) -> f64 {
    w.iter().enumerate().map(|(j, v)| v * dot(&gram.column(j)[..w.len()], w)).sum()
}

/// I + √T G √T, lower triangle.
fn scaled_gram(gram: &Matrix, root: &[f64], out: &mut Matrix) {
    let p = root.len();
    if out.rows() != p || out.columns() != p {
        out.reset(p, p);
    }
    for j in 0..p {
        let column = out.column_mut(j)[j..].iter_mut().zip(&gram.column(j)[j..]);
        column.zip(&root[j..]).for_each(|((o, g), r)| *o = g * r * root[j]);
        out[(j, j)] += 1.0;
    }
}

/// The factor of I + √T G √T by rows: L_ij = (M_ij − Σ_k L_ik L_jk) / L_jj; whether there is one.
fn factorise_small(gram: &Matrix, root: &[f64], rows: &mut [f64]) -> bool {
    let p = root.len();
    for i in 0..p {
        let (done, rest) = rows.split_at_mut(i * p);
        let own = &mut rest[..p];
        let column = gram.column(i);
        let mut pivot = 1.0 + root[i] * root[i] * column[i];
        for j in 0..i {
            let other = &done[j * p..(j + 1) * p];
            let mut value = root[i] * root[j] * column[j];
            for k in 0..j {
                value -= own[k] * other[k];
            }
            own[j] = value * other[j];
            pivot -= own[j] * own[j];
        }
        // Rounding of large variances may leave less than the 1 that is there.
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        own[i] = 1.0 / pivot.sqrt();
    }
    true
}

fn solve_lower(rows: &[f64], right: &mut [f64]) {
    let p = right.len();
    for i in 0..p {
        let own = &rows[i * p..(i + 1) * p];
        let mut value = right[i];
        for k in 0..i {
            value -= own[k] * right[k];
        }
        right[i] = value * own[i];
    }
}

fn solve_upper(rows: &[f64], right: &mut [f64]) {
    let p = right.len();
    for i in (0..p).rev() {
        let own = &rows[i * p..(i + 1) * p];
        let value = right[i] * own[i];
        right[i] = value;
        for k in 0..i {
            right[k] -= own[k] * value;
        }
    }
}
