//! Columns under the curvature of a likelihood: the quadratic that touches −log p, by its rows.

use super::columns::{Residuals, WorkingColumns};
use super::gram::Gram;
use super::hessian::weighted_curvature;
use crate::data::SparseView;
use crate::engine::{Interrupted, Observer, Silent};
use crate::likelihood::Smooth;
use crate::linalg::{
    Matrix, add_multiple_of_product, axpy, dot, sparse_dot, sparse_weighted_square, weighted_square,
};

/// Intercepts, then working coefficients, of the quadratic that touches −log p where it is now.
pub(super) trait Curved: WorkingColumns {
    /// The residuals of the likelihood, times the row weights.
    fn residuals(&self, likelihood: &dyn Smooth) -> Residuals;

    /// Second derivatives in each coefficient.
    fn squares(&self) -> Vec<f64>;
}

/// Column of the matrix, or none for an intercept; its output; its scale.
pub(super) type SparseMember = (Option<usize>, usize, f64);

/// Sparse columns, never made dense.
///
/// Residuals are held row after row, an entry for each output. Columns are scaled but not
/// centred: the intercepts make up for it.
pub(super) struct CurvedSparse<'a> {
    x: SparseView<'a>,
    outputs: usize,
    members: Vec<SparseMember>,
    /// (n, outputs) s by rows: row weights apart, the curvature of outputs (a, b) is
    /// s_a (δ_ab − s_b).
    shares: Vec<f64>,
    weights: Option<&'a [f64]>,
    /// (n,) All of the curvature, for one output.
    alone: Vec<f64>,
}

impl<'a> CurvedSparse<'a> {
    /// Under a curvature of these shares.
    pub fn new(
        x: SparseView<'a>,
        members: Vec<SparseMember>,
        shares: &Matrix,
        outputs: usize,
        weights: Option<&'a [f64]>,
    ) -> Self {
        let (mut alone, mut by_rows) = (Vec::new(), Vec::new());
        if outputs == 1 {
            let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
            let own = shares.column(0).iter().enumerate();
            alone.extend(own.map(|(i, s)| weight(i) * (s * (1.0 - s))));
        } else {
            by_rows.extend((0..x.rows()).flat_map(|i| (0..outputs).map(move |c| shares[(i, c)])));
        }
        Self { x, outputs, members, shares: by_rows, weights, alone }
    }

    /// Under the curvature where a likelihood is now.
    pub fn at(
        x: SparseView<'a>,
        members: Vec<SparseMember>,
        likelihood: &dyn Smooth,
        weights: Option<&'a [f64]>,
    ) -> Self {
        let none = Matrix::zeros(x.rows(), likelihood.outputs());
        let shares = likelihood.shares().unwrap_or(&none);
        Self::new(x, members, shares, likelihood.outputs(), weights)
    }

    /// That of an output with itself.
    fn curvature(&self, i: usize, output: usize) -> f64 {
        if self.outputs == 1 {
            return self.alone[i];
        }
        let share = self.shares[i * self.outputs + output];
        self.weights.map_or(1.0, |w| w[i]) * share * (1.0 - share)
    }

    /// The rows where a column is not zero, with its values there.
    #[inline]
    fn for_each(&self, k: usize, f: impl FnMut(usize, f64)) {
        self.for_each_of(self.members[k], f);
    }

    #[inline]
    fn for_each_of(&self, member: SparseMember, mut f: impl FnMut(usize, f64)) {
        match member {
            (Some(j), _, scale) => {
                let (rows, values) = self.x.column_slices(j);
                rows.iter().zip(values).for_each(|(&i, v)| f(i as usize, v / scale));
            }
            (None, ..) => (0..self.x.rows()).for_each(|i| f(i, 1.0)),
        }
    }

    /// The products of members, of which intercepts come first, with those before them: from
    /// `from` on, the others being there already.
    ///
    /// A column meets in each of its rows only the members that are not zero there, so that all
    /// of it costs as much as the squares of their numbers.
    pub fn add_products(
        &self,
        members: &[SparseMember],
        from: usize,
        gram: &mut Gram,
        observer: &dyn Observer,
    ) -> Result<(), Interrupted> {
        let free = members.iter().take_while(|m| m.0.is_none()).count();
        let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        // Of the same output, by rows and outputs; of all outputs, times their shares, by rows.
        let key = |i: usize, output: usize| i * self.outputs + output;
        let mut same = RowLists::new(self.x.rows() * self.outputs);
        let mut all = RowLists::new(if self.outputs > 1 { self.x.rows() } else { 0 });
        for &member in &members[free..] {
            self.for_each_of(member, |i, _| {
                same.expect(key(i, member.1));
                if self.outputs > 1 {
                    all.expect(i);
                }
            });
        }
        same.make_room();
        all.make_room();
        let mut products = vec![0.0; members.len()];
        for (k, &member) in members.iter().enumerate() {
            observer.check()?;
            let output = member.1;
            if k >= from {
                products[..=k].fill(0.0);
                let (first, own) = products[..=k].split_at_mut(free.min(k + 1));
                self.for_each_of(member, |i, v| {
                    if self.outputs == 1 {
                        let curved = v * self.alone[i];
                        first.iter_mut().for_each(|p| *p += curved);
                        same.of(i).iter().for_each(|e| own[e.0 as usize] += curved * e.1);
                        return;
                    }
                    let shares = &self.shares[i * self.outputs..][..self.outputs];
                    let curved = v * shares[output] * weight(i);
                    for (p, intercept) in first.iter_mut().zip(members) {
                        *p -= curved * shares[intercept.1];
                        *p += if intercept.1 == output { curved } else { 0.0 };
                    }
                    all.of(i).iter().for_each(|e| own[e.0 as usize] -= curved * e.1);
                    let same = same.of(key(i, output)).iter();
                    same.for_each(|e| own[e.0 as usize] += curved * e.1);
                });
                if k >= free {
                    own[k - free] = self.square(member);
                }
                products[..=k].iter().enumerate().for_each(|(l, p)| gram.set(l, k, *p));
            }
            if k >= free {
                let place = (k - free) as u32;
                self.for_each_of(member, |i, v| {
                    same.push(key(i, output), (place, v));
                    if self.outputs > 1 {
                        all.push(i, (place, v * self.shares[i * self.outputs + output]));
                    }
                });
            }
        }
        Ok(())
    }

    /// The product of a member with itself.
    fn square(&self, member: SparseMember) -> f64 {
        if let ((Some(j), _, scale), 1) = (member, self.outputs) {
            let (rows, values) = self.x.column_slices(j);
            return sparse_weighted_square(rows, values, 1.0 / scale, &self.alone);
        }
        let mut square = 0.0;
        self.for_each_of(member, |i, v| square += v * v * self.curvature(i, member.1));
        square
    }
}

/// What was appended to each of many lists, side by side.
struct RowLists {
    starts: Vec<usize>,
    ends: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl RowLists {
    fn new(lists: usize) -> Self {
        Self { starts: Vec::new(), ends: vec![0; lists], entries: Vec::new() }
    }

    /// Says that one more entry will come.
    fn expect(&mut self, list: usize) {
        self.ends[list] += 1;
    }

    /// Once all are known that will come.
    fn make_room(&mut self) {
        let mut total = 0;
        for end in &mut self.ends {
            total += std::mem::replace(end, total);
        }
        self.starts.clone_from(&self.ends);
        self.entries = vec![(0, 0.0); total];
    }

    #[inline]
    fn push(&mut self, list: usize, entry: (u32, f64)) {
        let end = &mut self.ends[list];
        self.entries[*end] = entry;
        *end += 1;
    }

    #[inline]
    fn of(&self, list: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[list]..self.ends[list]]
    }
}

impl WorkingColumns for CurvedSparse<'_> {
    fn pull(&self, k: usize, residuals: &Residuals) -> f64 {
        if let ((Some(j), _, scale), 1) = (self.members[k], self.outputs) {
            let (rows, values) = self.x.column_slices(j);
            return sparse_dot(rows, values, &residuals.values) / scale;
        }
        let output = self.members[k].1;
        let mut sum = 0.0;
        self.for_each(k, |i, v| sum += v * residuals.values[i * self.outputs + output]);
        sum
    }

    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals) {
        if let ((Some(j), _, scale), 1) = (self.members[k], self.outputs) {
            let step = step / scale;
            let (rows, values) = self.x.column_slices(j);
            for (&i, v) in rows.iter().zip(values) {
                residuals.values[i as usize] -= step * v * self.alone[i as usize];
            }
            return;
        }
        if self.outputs == 1 {
            self.for_each(k, |i, v| residuals.values[i] -= step * v * self.alone[i]);
            return;
        }
        let output = self.members[k].1;
        self.for_each(k, |i, v| {
            let shares = &self.shares[i * self.outputs..][..self.outputs];
            let own = &mut residuals.values[i * self.outputs..][..self.outputs];
            let change = step * v * shares[output] * self.weights.map_or(1.0, |w| w[i]);
            own.iter_mut().zip(shares).for_each(|(r, s)| *r += change * s);
            own[output] -= change;
        });
    }

    fn products(&self, chosen: &[usize]) -> Option<Gram> {
        let mut gram = Gram::default();
        gram.grow(chosen.len());
        let chosen: Vec<SparseMember> = chosen.iter().map(|&k| self.members[k]).collect();
        self.add_products(&chosen, 0, &mut gram, &Silent).ok()?;
        Some(gram)
    }
}

impl Curved for CurvedSparse<'_> {
    fn residuals(&self, likelihood: &dyn Smooth) -> Residuals {
        let residual = likelihood.residual();
        let weight = |i: usize| self.weights.map_or(1.0, |w| w[i]);
        let of_row = |i: usize| (0..self.outputs).map(move |c| weight(i) * residual[(i, c)]);
        Residuals { values: (0..self.x.rows()).flat_map(of_row).collect(), ..Residuals::default() }
    }

    fn squares(&self) -> Vec<f64> {
        self.members.iter().map(|&member| self.square(member)).collect()
    }
}

/// Dense columns, packed one after the other; residuals are held output after output.
pub(super) struct CurvedPacked<'a> {
    rows: usize,
    values: &'a [f64],
    /// The output of each coefficient, the first ones being intercepts.
    outputs: Vec<usize>,
    free: usize,
    /// (n, ≥ outputs) s: row weights apart, the curvature of outputs (a, b) is s_a (δ_ab − s_b).
    shares: Option<&'a Matrix>,
    /// Row weights times the curvature of each output with itself.
    own: Vec<Vec<f64>>,
    weights: Option<&'a [f64]>,
}

impl<'a> CurvedPacked<'a> {
    pub fn new(
        rows: usize,
        values: &'a [f64],
        outputs: Vec<usize>,
        free: usize,
        likelihood: &'a dyn Smooth,
        weights: Option<&'a [f64]>,
    ) -> Self {
        let own = |a: usize| weighted_curvature(likelihood, weights, a, a);
        let own = (0..likelihood.outputs()).map(own).collect();
        Self { rows, values, outputs, free, shares: likelihood.shares(), own, weights }
    }

    /// The column of coefficient `k`, or none for an intercept's ones.
    fn column(&self, k: usize) -> Option<&[f64]> {
        let k = k.checked_sub(self.free)?;
        Some(&self.values[k * self.rows..][..self.rows])
    }

    /// w s of an output.
    fn weighted_share(&self, output: usize, out: &mut Vec<f64>) {
        let Some(shares) = self.shares else { return };
        out.clear();
        match self.weights {
            Some(w) => out.extend(shares.column(output).iter().zip(w).map(|(s, w)| s * w)),
            None => out.extend_from_slice(shares.column(output)),
        }
    }
}

impl WorkingColumns for CurvedPacked<'_> {
    fn pull(&self, k: usize, residuals: &Residuals) -> f64 {
        let residual = &residuals.values[self.outputs[k] * self.rows..][..self.rows];
        self.column(k).map_or_else(|| residual.iter().sum(), |x| dot(x, residual))
    }

    fn shift(&self, k: usize, step: f64, residuals: &mut Residuals) {
        let output = self.outputs[k];
        let own = &mut residuals.values[output * self.rows..][..self.rows];
        match self.column(k) {
            Some(x) => add_multiple_of_product(-step, x, &self.own[output], own),
            None => axpy(-step, &self.own[output], own),
        }
        let Some(shares) = self.shares.filter(|_| self.own.len() > 1) else { return };
        let mut shared = Vec::with_capacity(self.rows);
        self.weighted_share(output, &mut shared);
        if let Some(x) = self.column(k) {
            shared.iter_mut().zip(x).for_each(|(v, x)| *v *= x);
        }
        let others = residuals.values.chunks_exact_mut(self.rows).enumerate();
        for (a, residual) in others.filter(|(a, _)| *a != output) {
            add_multiple_of_product(step, &shared, shares.column(a), residual);
        }
    }
}

impl Curved for CurvedPacked<'_> {
    fn residuals(&self, likelihood: &dyn Smooth) -> Residuals {
        let mut values = likelihood.residual().as_slice().to_vec();
        if let Some(w) = self.weights {
            for of_output in values.chunks_exact_mut(self.rows) {
                of_output.iter_mut().zip(w).for_each(|(r, w)| *r *= w);
            }
        }
        Residuals { values, ..Residuals::default() }
    }

    fn squares(&self) -> Vec<f64> {
        let square = |k: usize| {
            let curvature = &self.own[self.outputs[k]];
            self.column(k).map_or_else(|| curvature.iter().sum(), |x| weighted_square(x, curvature))
        };
        (0..self.outputs.len()).map(square).collect()
    }
}
