//! Second derivatives of −log p in the intercepts and the working coefficients, kept while they
//! hold.

use super::curved::{CurvedSparse, SparseMember};
use super::gram::Gram;
use crate::data::SparseView;
use crate::design::Design;
use crate::engine::{Interrupted, Observer};
use crate::likelihood::Smooth;
use crate::linalg::{Factor, Matrix, Tile, add_products, multiply_narrow};
use std::ops::Range;

/// Rows that are multiplied at a time, and then added up in double precision.
const ROWS: usize = 1024;

/// A sparse value is put into the list of its row in the time that so many are added up.
const LISTED: f64 = 12.0;

/// Factors that change nothing.
const ONES: [f64; ROWS] = [1.0; ROWS];

/// Products of the working columns, under the curvature at some earlier coefficients.
pub(crate) struct Hessian {
    /// Intercepts, which come first.
    free: usize,
    /// Whether products are made in double precision; steps need no more than single, unless
    /// columns are nearly dependent.
    precise: bool,
    curvature: Curvature,
    /// The coefficients it covers, after the intercepts.
    variables: Vec<usize>,
    gram: Gram,
    /// Room for products.
    products: Vec<Matrix>,
}

/// How the curvature has changed.
pub(crate) struct Change {
    pub factor: f64,
    pub part: f64,
}

/// Where the columns are: coefficient v is of column v % columns in output v / columns.
pub(crate) struct Working<'a> {
    pub rows: usize,
    pub columns: usize,
    pub variables: &'a [usize],
    pub values: Values<'a>,
}

/// Columns of coefficients.
pub(crate) enum Values<'a> {
    /// One after the other.
    Packed(&'a [f64]),
    /// One after the other, in single precision.
    Narrow(&'a [f32]),
    /// As a design shows them.
    Of(&'a Design<'a>),
    /// Sparse ones, scaled but not centred: the intercepts make up for it.
    Sparse(SparseView<'a>, &'a Design<'a>),
}

impl Hessian {
    /// Of nothing yet, with the curvature where the likelihood is now, in the room of another.
    pub fn new(
        other: Option<Self>,
        likelihood: &dyn Smooth,
        weights: Option<&[f64]>,
        free: usize,
        precise: bool,
    ) -> Self {
        let curvature = Curvature::of(likelihood, weights);
        let (mut gram, products) = other.map_or_else(Default::default, |o| (o.gram, o.products));
        gram.keep(&[]);
        Self { free, precise, curvature, variables: Vec::new(), gram, products }
    }

    /// How many times what it was the curvature is now on the whole, and by what part the rows
    /// differ from that.
    pub fn change(&self, likelihood: &dyn Smooth, weights: Option<&[f64]>) -> Change {
        let outputs = likelihood.outputs();
        let now: Vec<Vec<f64>> =
            (0..outputs).map(|a| weighted_curvature(likelihood, weights, a, a)).collect();
        let before = |a: usize| self.curvature.at(a, 0..now[a].len());
        let size: f64 = (0..outputs).flat_map(before).sum();
        let factor = now.iter().flatten().sum::<f64>() / size;
        let each = (0..outputs).flat_map(|a| now[a].iter().zip(before(a)));
        let differ: f64 = each.map(|(n, b)| (n - factor * b).abs()).sum();
        Change { factor, part: differ / (factor * size) }
    }

    /// How many of these coefficients it does not cover yet.
    pub fn missing(&self, variables: &[usize]) -> usize {
        variables.len() - self.common(variables).count()
    }

    /// Positions of the coefficients that are among these, which have lost some and gained others
    /// at their end.
    fn common<'v>(&'v self, variables: &'v [usize]) -> impl Iterator<Item = usize> + 'v {
        let mut wanted = variables.iter().peekable();
        let own = self.variables.iter().enumerate();
        own.filter(move |(_, v)| wanted.next_if_eq(v).is_some()).map(|(k, _)| k)
    }

    /// The products of the columns, those that are missing made now.
    pub fn of(
        &mut self,
        working: &Working<'_>,
        observer: &dyn Observer,
    ) -> Result<&Gram, Interrupted> {
        let kept = self.common(working.variables).map(|k| self.free + k);
        let kept: Vec<usize> = (0..self.free.min(self.gram.order())).chain(kept).collect();
        if kept.len() < self.gram.order() {
            self.gram.keep(&kept);
        }
        let (before, order) = (self.gram.order(), self.free + working.variables.len());
        self.gram.grow(order);
        self.variables = working.variables.to_vec();
        if before == order {
            return Ok(&self.gram);
        }
        if let Values::Sparse(x, design) = working.values
            && SparseCosts::of(x, working.variables, self.outputs()).is_by_rows()
        {
            let members = sparse_members(design, self.free, working.variables);
            let Curvature { shares, weights } = &self.curvature;
            let curved =
                CurvedSparse::new(x, Vec::new(), shares, self.outputs(), weights.as_deref());
            curved.add_products(&members, before, &mut self.gram, observer)?;
            return Ok(&self.gram);
        }
        let pairs = self.pairs(working, before);
        let mut products = std::mem::take(&mut self.products);
        products.resize_with(pairs.len(), Matrix::default);
        match self.precise {
            true => self.make::<f64>(working, &pairs, &mut products, observer)?,
            false => self.make::<f32>(working, &pairs, &mut products, observer)?,
        }
        for (pair, products) in pairs.iter().zip(&products) {
            pair.write(products, &mut self.gram);
        }
        self.products = products;
        Ok(&self.gram)
    }

    /// Which products are missing where those before `before` are there.
    fn pairs(&self, working: &Working<'_>, before: usize) -> Vec<Pair> {
        let intercept = |c: usize| Member { position: c, output: c, column: None };
        let own = |(k, v): (usize, &usize)| {
            let output = v / working.columns;
            Member { position: self.free + k, output, column: Some(k) }
        };
        let own = working.variables.iter().enumerate().map(own);
        let members: Vec<Member> = (0..self.free).map(intercept).chain(own).collect();
        let pair = |of: Of, left: Vec<Member>| {
            let right: Vec<Member> =
                left.iter().filter(|m| m.position >= before).copied().collect();
            (!right.is_empty()).then_some(Pair { of, left, right, lower: before == 0 })
        };
        let same = (0..self.outputs()).filter_map(|output| {
            let own = members.iter().filter(|m| m.output == output);
            pair(Of::One(output), own.copied().collect())
        });
        let same: Vec<Pair> = same.collect();
        let others = if self.outputs() > 1 { pair(Of::Others, members) } else { None };
        others.into_iter().chain(same).collect()
    }

    fn make<T: Factor + Narrowed>(
        &self,
        working: &Working<'_>,
        pairs: &[Pair],
        products: &mut [Matrix],
        observer: &dyn Observer,
    ) -> Result<(), Interrupted> {
        for (pair, products) in pairs.iter().zip(&mut *products) {
            products.reset(pair.left.len(), pair.right.len());
        }
        let (mut left, mut right) = (Vec::new(), Vec::new());
        // Weights may be of any size; narrow numbers have less room. Outputs have the largest
        // curvature with themselves.
        let own = (0..self.outputs()).flat_map(|a| self.curvature.at(a, 0..working.rows));
        let largest = own.fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        for start in (0..working.rows).step_by(ROWS) {
            observer.check()?;
            let rows = start..(start + ROWS).min(working.rows);
            for (pair, out) in pairs.iter().zip(&mut *products) {
                let factors: Vec<Vec<f64>> = match pair.of {
                    Of::One(a) => {
                        let curvature = self.curvature.at(a, rows.clone());
                        vec![curvature.map(|c| c / largest).collect()]
                    }
                    Of::Others => (0..self.outputs())
                        .map(|a| self.curvature.weighted_share(a, rows.clone(), largest))
                        .collect(),
                };
                working.fill::<T>(&pair.right, rows.clone(), &factors, &mut right);
                let in_place = match pair.of {
                    Of::One(_) => working.in_place(&pair.left, rows.start),
                    Of::Others => None,
                };
                if in_place.is_none() {
                    let factors: Vec<&[f64]> = match pair.of {
                        Of::One(_) => vec![&ONES[..rows.len()]],
                        Of::Others => self.curvature.shares_of(rows.clone()),
                    };
                    working.fill::<T>(&pair.left, rows.clone(), &factors, &mut left);
                }
                let left = in_place.unwrap_or((&left, rows.len()));
                add_products(out, largest, rows.len(), left, &right, pair.lower);
            }
        }
        Ok(())
    }

    fn outputs(&self) -> usize {
        self.curvature.shares.columns()
    }
}

/// Second derivatives of −log p in the outputs of each row, which need not be held for all pairs:
/// w s_a (δ_ab − s_b).
struct Curvature {
    /// (n, outputs) s
    shares: Matrix,
    weights: Option<Vec<f64>>,
}

impl Curvature {
    fn of(likelihood: &dyn Smooth, weights: Option<&[f64]>) -> Self {
        let (rows, outputs) = (likelihood.residual().rows(), likelihood.outputs());
        // The columns of outputs come first.
        let shares =
            likelihood.shares().map_or(Vec::new(), |s| s.as_slice()[..rows * outputs].to_vec());
        let shares = Matrix::from_columns(rows, outputs, shares);
        Self { shares, weights: weights.map(<[f64]>::to_vec) }
    }

    /// That of an output with itself, for some of the rows.
    fn at(&self, a: usize, rows: Range<usize>) -> impl Iterator<Item = f64> {
        let weights = self.weights.as_deref();
        let shares = self.shares.column(a);
        rows.map(move |i| weights.map_or(1.0, |w| w[i]) * (shares[i] * (1.0 - shares[i])))
    }

    /// Those of all outputs, for some of the rows.
    fn shares_of(&self, rows: Range<usize>) -> Vec<&[f64]> {
        (0..self.shares.columns()).map(|a| &self.shares.column(a)[rows.clone()]).collect()
    }

    /// w s of an output, for some of the rows, over a number.
    fn weighted_share(&self, a: usize, rows: Range<usize>, over: f64) -> Vec<f64> {
        let weights = self.weights.as_deref();
        let share = |i: usize| self.shares.column(a)[i] * weights.map_or(1.0, |w| w[i]) / over;
        rows.map(share).collect()
    }
}

/// A place in the matrix, its output, and its packed column, or none for an intercept.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Member {
    position: usize,
    output: usize,
    column: Option<usize>,
}

/// Products to make.
struct Pair {
    of: Of,
    left: Vec<Member>,
    right: Vec<Member>,
    /// Whether both are the same, and the lower triangle is enough.
    lower: bool,
}

/// The outputs of columns that are multiplied.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Of {
    /// One, under its curvature w s (1 − s): as a difference of products it would lose its digits
    /// where s is near 1.
    One(usize),
    /// Different ones, under −w s_a s_b: columns times their shares, all of them at once.
    Others,
}

impl Pair {
    fn write(&self, products: &Matrix, gram: &mut Gram) {
        // By blocks, so that the mirror image is written to few places at a time.
        const BLOCK: usize = 64;
        let sign = if self.of == Of::Others { -1.0 } else { 1.0 };
        for first in (0..self.left.len()).step_by(BLOCK) {
            let last = (first + BLOCK).min(self.left.len());
            for (j, right) in self.right.iter().enumerate() {
                let first = if self.lower { first.max(j) } else { first };
                for i in first..last {
                    let left = &self.left[i];
                    if self.of != Of::Others || left.output != right.output {
                        gram.set(left.position, right.position, sign * products[(i, j)]);
                    }
                }
            }
        }
    }
}

/// What packed numbers are narrowed to.
trait Narrowed: Copy {
    fn narrowed(value: f64) -> Self;

    /// Values that are narrow already, if they are as narrow as these.
    fn as_they_are(values: &[f32]) -> Option<&[Self]>;

    /// Appends products of values that are narrow already with the factors of their rows.
    fn append(values: &[f32], factors: &[f32], out: &mut Vec<Self>);
}

impl Narrowed for f32 {
    fn narrowed(value: f64) -> Self {
        value as f32
    }

    fn as_they_are(values: &[f32]) -> Option<&[Self]> {
        Some(values)
    }

    fn append(values: &[f32], factors: &[f32], out: &mut Vec<Self>) {
        let before = out.len();
        out.extend_from_slice(values);
        multiply_narrow(factors, &mut out[before..]);
    }
}

impl Narrowed for f64 {
    fn narrowed(value: f64) -> Self {
        value
    }

    fn as_they_are(_: &[f32]) -> Option<&[Self]> {
        None
    }

    fn append(values: &[f32], factors: &[f32], out: &mut Vec<Self>) {
        out.extend(values.iter().zip(factors).map(|(v, f)| f64::from(*v) * f64::from(*f)));
    }
}

impl Working<'_> {
    /// Columns from a row on that need no copy, and how far apart they are: one after the other.
    fn in_place<T: Narrowed>(&self, members: &[Member], row: usize) -> Option<(&[T], usize)> {
        let Values::Narrow(values) = self.values else { return None };
        let first = members.first()?.column?;
        let follow = members.iter().zip(first..).all(|(m, k)| m.column == Some(k));
        let values = T::as_they_are(values)?;
        follow.then(|| (&values[first * self.rows + row..], self.rows))
    }

    /// Rows of columns, each times the factors of its output, or of all where there is one list.
    fn fill<T: Narrowed>(
        &self,
        members: &[Member],
        rows: Range<usize>,
        factors: &[impl AsRef<[f64]>],
        out: &mut Vec<T>,
    ) {
        out.clear();
        let of = |member: &Member| if factors.len() == 1 { 0 } else { member.output };
        let mut tile = Tile::default();
        if let Values::Of(design) = self.values {
            let chosen = members.iter().filter_map(|m| m.column);
            let chosen: Vec<usize> = chosen.map(|k| self.variables[k] % self.columns).collect();
            design.fill(rows.clone(), &chosen, &mut tile);
        }
        let mut shown = 0;
        let narrow: Vec<Vec<f32>> = match self.values {
            Values::Narrow(_) => {
                let narrow = |f: &[f64]| f.iter().map(|f| *f as f32).collect();
                factors.iter().map(|f| narrow(f.as_ref())).collect()
            }
            _ => Vec::new(),
        };
        for member in members {
            let factors = factors[of(member)].as_ref();
            match (member.column, &self.values) {
                (Some(k), Values::Packed(values)) => {
                    let column = values[k * self.rows..][rows.clone()].iter().zip(factors);
                    out.extend(column.map(|(v, f)| T::narrowed(v * f)));
                }
                (Some(k), Values::Narrow(values)) => {
                    T::append(&values[k * self.rows..][rows.clone()], &narrow[of(member)], out);
                }
                (Some(_), Values::Of(_)) => {
                    let column = factors.iter().enumerate();
                    out.extend(column.map(|(i, f)| T::narrowed(tile.get(i, shown) * f)));
                    shown += 1;
                }
                (Some(k), Values::Sparse(x, design)) => {
                    let j = self.variables[k] % self.columns;
                    let (at, values) = x.column_slices(j);
                    let first = at.partition_point(|&i| (i as usize) < rows.start);
                    let last = at.partition_point(|&i| (i as usize) < rows.end);
                    let (before, scale) = (out.len(), design.units(j).1);
                    out.resize(before + rows.len(), T::narrowed(0.0));
                    for (&i, v) in at[first..last].iter().zip(&values[first..last]) {
                        let i = i as usize - rows.start;
                        out[before + i] = T::narrowed(v / scale * factors[i]);
                    }
                }
                (None, _) => out.extend(factors.iter().map(|f| T::narrowed(*f))),
            }
        }
    }
}

/// What is done with sparse working columns costs, in the time that one value takes.
pub(super) struct SparseCosts {
    /// Their products, where columns meet in rows.
    by_rows: f64,
    /// Their products, some rows of them at a time made dense.
    by_tiles: f64,
    /// A sweep over them.
    pub sweep: f64,
}

/// How often sparse columns have values in the same rows.
#[derive(Default)]
pub(super) struct Meetings {
    /// (n,) Values of the columns in each row.
    met: Vec<u32>,
    /// Pairs of values, and values.
    pairs: f64,
    stored: f64,
    columns: f64,
}

impl Meetings {
    pub fn add(&mut self, x: SparseView<'_>, column: usize) {
        self.met.resize(x.rows(), 0);
        let (rows, _) = x.column_slices(column);
        self.columns += 1.0;
        self.stored += rows.len() as f64;
        let mut pairs = 0;
        for &i in rows {
            let met = &mut self.met[i as usize];
            *met += 1;
            pairs += u64::from(*met);
        }
        self.pairs += pairs as f64;
    }
}

impl SparseCosts {
    pub fn of(x: SparseView<'_>, variables: &[usize], outputs: usize) -> Self {
        let mut meetings = Meetings::default();
        variables.iter().for_each(|v| meetings.add(x, v % x.columns()));
        Self::at(&meetings, outputs)
    }

    pub fn at(meetings: &Meetings, outputs: usize) -> Self {
        let Meetings { pairs, stored, columns, .. } = *meetings;
        let (rows, outputs) = (meetings.met.len() as f64, outputs as f64);
        // Of the values by rows, of the same output and of all.
        let lists = if outputs > 1.0 { 2.0 } else { 1.0 };
        Self {
            by_rows: lists * (2.0 * pairs + LISTED * stored),
            by_tiles: rows * columns * (columns / 40.0 + 4.0),
            sweep: (2.0 + 0.6 * outputs) * stored,
        }
    }

    pub fn products(&self) -> f64 {
        self.by_rows.min(self.by_tiles)
    }

    fn is_by_rows(&self) -> bool {
        self.by_rows < self.by_tiles
    }
}

/// Intercepts, then coefficients, of sparse columns.
pub(super) fn sparse_members(
    design: &Design<'_>,
    free: usize,
    variables: &[usize],
) -> Vec<SparseMember> {
    let columns = design.raw().columns();
    let intercepts = (0..free).map(|c| (None, c, 1.0));
    let member = |v: &usize| (Some(v % columns), v / columns, design.units(v % columns).1);
    intercepts.chain(variables.iter().map(member)).collect()
}

/// Row weights times curvature.
pub(super) fn weighted_curvature(
    likelihood: &dyn Smooth,
    weights: Option<&[f64]>,
    a: usize,
    b: usize,
) -> Vec<f64> {
    let mut curvature = likelihood.curvature(a, b);
    if let Some(w) = weights {
        curvature.iter_mut().zip(w).for_each(|(c, w)| *c *= w);
    }
    curvature
}
