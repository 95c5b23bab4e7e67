//! XᵀX, Xᵀy, yᵀy, sums and counts: all that a Gaussian method needs to know of the data.
//!
//! They are built chunk by chunk, so the rows can be in memory, on disk or on other machines.
//! Values are shifted and scaled by constants fixed from a first look at the data, so that large
//! offsets do not cancel, and chunks are added up in the order of a dyadic tree: the same chunks
//! in the same order give the same bits, however many threads made them.

use super::{DenseView, SparseView};
use crate::design::{Columns, DenseColumns};
use crate::engine::{Interrupted, Observer};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Tile, add_gram, sparse_dot};
use rayon::prelude::*;

/// Rows that are multiplied at a time: a tile of them stays in cache.
const TILE_ROWS: usize = 256;
/// Rows of a chunk, the unit that threads share.
const CHUNK_ROWS: usize = 4096;
/// Columns that are added up at a time: memory gives several sooner than one.
const TOGETHER: usize = 4;
/// Values of columns that a thread adds up before it looks for others.
const TASK_VALUES: usize = 1 << 14;
/// Rows looked at to choose the units.
const SAMPLE_ROWS: usize = 1024;
/// The same where looking at a row costs as much as adding it up.
const FEW_ROWS: usize = 16;

/// The units that sums are taken in: (value − shift) / scale.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    columns: Vec<Look>,
    target: Look,
}

impl Frame {
    /// Chooses units from rows of positive weight: a sample spread over the data, or, for data
    /// with rare giants that a sample may miss, all of them.
    fn choose(
        columns: &dyn Columns,
        chosen: &[usize],
        target: &[f64],
        weights: Option<&[f64]>,
        sample: bool,
    ) -> Self {
        let most = if sample { SAMPLE_ROWS } else { usize::MAX };
        let rows = sampled_rows(columns.rows(), weights, most);
        let looks = match columns.as_sparse() {
            Some(x) => {
                let mut counts = vec![false; x.rows()];
                rows.iter().for_each(|&i| counts[i] = true);
                chosen.par_iter().map(|&j| Look::of_sparse(x, j, &rows, Some(&counts))).collect()
            }
            None => Self::look(columns, chosen, &rows),
        };
        Self { columns: looks, target: Look::of(rows.iter().map(|&i| target[i])) }
    }

    fn look(columns: &dyn Columns, chosen: &[usize], rows: &[usize]) -> Vec<Look> {
        if let Some(x) = columns.as_dense().filter(|x| x.columns() > 0)
            && x.column_slice(0).is_some()
        {
            let of = |&j: &usize| {
                let values = x.column_slice(j).unwrap_or_default();
                Look::of(rows.iter().map(|&i| values[i]))
            };
            return chosen.par_iter().map(of).collect();
        }
        let whole = rows.len() == columns.rows();
        let blocks: Vec<Vec<Look>> = chosen
            .par_chunks(TILE_ROWS)
            .map(|chosen| {
                let mut tile = Tile::default();
                let mut sample = Matrix::zeros(rows.len(), chosen.len());
                if whole {
                    columns.fill(0..rows.len(), chosen, &mut tile);
                    for j in 0..chosen.len() {
                        let column = sample.column_mut(j).iter_mut();
                        column.enumerate().for_each(|(i, v)| *v = tile.get(i, j));
                    }
                } else {
                    for (r, &i) in rows.iter().enumerate() {
                        columns.fill(i..i + 1, chosen, &mut tile);
                        tile.values().iter().enumerate().for_each(|(j, &v)| sample[(r, j)] = v);
                    }
                }
                (0..chosen.len()).map(|j| Look::of(sample.column(j).iter().copied())).collect()
            })
            .collect();
        blocks.concat()
    }
}

/// Rows of positive weight: at most so many, spread over the data.
fn sampled_rows(rows: usize, weights: Option<&[f64]>, most: usize) -> Vec<usize> {
    let all: Vec<usize> = (0..rows).filter(|&i| weights.is_none_or(|w| w[i] > 0.0)).collect();
    let step = all.len().div_ceil(most).max(1);
    all.into_iter().step_by(step).collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Look {
    shift: f64,
    scale: f64,
}

/// Values as they are.
const PLAIN: Look = Look { shift: 0.0, scale: 1.0 };

impl Look {
    fn apply(self, value: f64) -> f64 {
        (value - self.shift) / self.scale
    }

    /// The shift of equal values is exactly that value, so that a constant column is seen as one.
    fn of(values: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        let n = values.len() as f64;
        let Some(first) = values.clone().next() else { return PLAIN };
        // Halved so that the difference of two finite values is finite.
        let spread = values.clone().fold(0.0, |a: f64, v| a.max((0.5 * v - 0.5 * first).abs()));
        let mean = values.clone().map(|v| (0.5 * v - 0.5 * first) / n).sum::<f64>() * 2.0;
        let shift = first + mean;
        let scale = if spread > 0.0 { spread } else { shift.abs() };
        Self { shift, scale: power_of_two(scale) }
    }

    /// Zeros stay zeros in a column at most half full: its mean square cannot cancel.
    fn of_sparse(x: SparseView<'_>, j: usize, rows: &[usize], counts: Option<&[bool]>) -> Self {
        let (indices, values) = x.column_slices(j);
        if 2 * values.len() <= x.rows() {
            let largest = match counts {
                Some(counts) => {
                    let stored = indices.iter().zip(values).filter(|(i, _)| counts[**i as usize]);
                    stored.fold(0.0, |a: f64, (_, v)| a.max(v.abs()))
                }
                None => largest(values),
            };
            return Self { shift: 0.0, scale: power_of_two(largest) };
        }
        let mut column = vec![0.0; x.rows()];
        indices.iter().zip(values).for_each(|(&i, &v)| column[i as usize] = v);
        Self::of(rows.iter().map(|&i| column[i]))
    }
}

/// The largest of the values, whatever their signs.
fn largest(values: &[f64]) -> f64 {
    let mut lanes = [0.0f64; 4];
    let (blocks, rest) = values.as_chunks::<4>();
    for block in blocks {
        lanes.iter_mut().zip(block).for_each(|(l, v)| *l = l.max(v.abs()));
    }
    lanes.iter().chain(rest).fold(0.0, |a: f64, v| a.max(v.abs()))
}

/// Σ v and Σ v² of the stored values of a column, in units of a scale, which is a power of two.
fn stored_sums(values: &[f64], scale: f64) -> [f64; 3] {
    let inverse = 1.0 / scale;
    let mut lanes = [[0.0f64; 4]; 2];
    let (blocks, rest) = values.as_chunks::<4>();
    for block in blocks {
        for l in 0..4 {
            let v = block[l] * inverse;
            lanes[0][l] += v;
            lanes[1][l] += v * v;
        }
    }
    let mut sums = [lanes[0].iter().sum(), lanes[1].iter().sum(), 0.0];
    for v in rest.iter().map(|v| v * inverse) {
        sums[0] += v;
        sums[1] += v * v;
    }
    sums
}

/// The power of two near a size, so that scaling by it is exact; 1 for 0.
pub(crate) fn power_of_two(size: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    if size > 0.0 {
        f64::from_bits(size.to_bits() & EXPONENT).clamp(2f64.powi(-1000), 2f64.powi(1000))
    } else {
        1.0
    }
}

/// How many partial sums are held at a time while the moments of so many rows are made.
pub(crate) fn partial_sums(rows: usize) -> usize {
    let chunks = rows.div_ceil(CHUNK_ROWS).max(1);
    chunks.min(2) + chunks.ilog2() as usize
}

/// The sums over one or more chunks.
#[derive(Debug, Clone)]
pub struct Moments {
    frame: Frame,
    names: Vec<String>,
    rows: usize,
    sums: Sums,
}

#[derive(Debug, Clone)]
struct Sums {
    weight: f64,        // Σ w
    columns: Vec<f64>,  // (k,) Σ w x
    squares: Vec<f64>,  // (k,) Σ w x²
    cross: Vec<f64>,    // (k,) Σ w x y
    gram: Matrix,       // (k, k) Σ w x xᵀ, lower triangle; 0×0 where not asked for
    target: f64,        // Σ w y
    target_square: f64, // Σ w y²
}

impl Sums {
    fn zeros(columns: usize, gram: bool) -> Self {
        let order = if gram { columns } else { 0 };
        Self {
            weight: 0.0,
            columns: vec![0.0; columns],
            squares: vec![0.0; columns],
            cross: vec![0.0; columns],
            gram: Matrix::zeros(order, order),
            target: 0.0,
            target_square: 0.0,
        }
    }

    fn add(mut self, other: &Sums) -> Self {
        let pairs = [
            (&mut self.columns[..], &other.columns[..]),
            (&mut self.squares[..], &other.squares[..]),
            (&mut self.cross[..], &other.cross[..]),
            (self.gram.as_mut_slice(), other.gram.as_slice()),
        ];
        for (a, b) in pairs {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        }
        self.weight += other.weight;
        self.target += other.target;
        self.target_square += other.target_square;
        self
    }

    /// Sums over the rows of one tile, whose values are in the frame's units already.
    fn add_tile(&mut self, tile: &mut Tile, target: &[f64], weights: Option<&[f64]>) {
        let mut roots = vec![1.0; target.len()];
        if let Some(weights) = weights {
            roots.iter_mut().zip(weights).for_each(|(r, w)| *r = w.sqrt());
            // A row of weight 0 may hold anything.
            tile.update(|i, _, v| if roots[i] > 0.0 { v * roots[i] } else { 0.0 });
        }
        let rooted = rooted_target(target, &roots);
        tile.add_transpose_product(&rooted, &mut self.cross);
        tile.add_transpose_product(&roots, &mut self.columns);
        if self.gram.rows() > 0 {
            add_gram(&mut self.gram, tile);
        } else {
            tile.update(|_, _, v| v * v);
            tile.add_transpose_product(&vec![1.0; roots.len()], &mut self.squares);
        }
        self.add_target(&rooted, &roots);
    }

    fn add_target(&mut self, rooted: &[f64], roots: &[f64]) {
        self.weight += roots.iter().map(|r| r * r).sum::<f64>();
        self.target += rooted.iter().zip(roots).map(|(y, r)| y * r).sum::<f64>();
        self.target_square += rooted.iter().map(|y| y * y).sum::<f64>();
    }

    fn finish(mut self) -> Self {
        for j in 0..self.gram.rows() {
            self.squares[j] = self.gram[(j, j)];
        }
        self
    }

    fn is_finite(&self) -> bool {
        // Squares are on the diagonal of XᵀX until they are finished.
        let gram = &self.gram;
        self.squares.iter().chain(&self.cross).all(|v| v.is_finite())
            && (0..gram.columns()).all(|j| gram[(j, j)].is_finite())
            && self.target_square.is_finite()
    }
}

fn rooted_target(target: &[f64], roots: &[f64]) -> Vec<f64> {
    let weigh = |(y, r): (&f64, &f64)| if *r > 0.0 { y * r } else { 0.0 };
    target.iter().zip(roots).map(weigh).collect()
}

/// Adds up parts in the order of a dyadic tree over their positions.
#[derive(Debug, Clone, Default)]
struct DyadicSum {
    parts: Vec<(u32, Sums)>,
}

impl DyadicSum {
    fn push(&mut self, part: Sums) {
        let mut node = (0, part);
        while let Some((level, left)) = self.parts.pop_if(|(level, _)| *level == node.0) {
            node = (level + 1, left.add(&node.1));
        }
        self.parts.push(node);
    }

    fn total(mut self) -> Option<Sums> {
        let mut total = self.parts.pop()?.1;
        while let Some((_, left)) = self.parts.pop() {
            total = left.add(&total);
        }
        Some(total)
    }
}

impl Moments {
    /// The moments of the chosen columns of a design, with or without XᵀX.
    pub(crate) fn of(
        columns: &dyn Columns,
        chosen: &[usize],
        target: &[f64],
        weights: Option<&[f64]>,
        gram: bool,
        observer: &dyn Observer,
    ) -> Result<Self> {
        if !gram && let Some(x) = columns.as_sparse() {
            return Self::of_stored(x, chosen, target, weights, observer);
        }
        if !gram
            && let Some(x) = columns.as_dense().filter(|x| x.columns() > 0 && x.rows() > 0)
            && x.column_slice(0).is_some()
        {
            let mut moments = Self::of_slices(x, chosen, target, weights, true, observer)?;
            if !moments.is_finite() {
                moments = Self::of_slices(x, chosen, target, weights, false, observer)?;
            }
            return Ok(moments);
        }
        let mut frame = Frame::choose(columns, chosen, target, weights, true);
        let mut sums = sums(columns, chosen, target, weights, gram, &frame, observer)?;
        if !sums.is_finite() {
            frame = Frame::choose(columns, chosen, target, weights, false);
            sums = self::sums(columns, chosen, target, weights, gram, &frame, observer)?;
        }
        Ok(Self { frame, names: Vec::new(), rows: columns.rows(), sums: sums.finish() })
    }

    /// The moments without XᵀX of columns that lie side by side: each is read once.
    fn of_slices(
        x: DenseView<'_>,
        chosen: &[usize],
        target: &[f64],
        weights: Option<&[f64]>,
        sample: bool,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let rows = sampled_rows(x.rows(), weights, if sample { FEW_ROWS } else { usize::MAX });
        let target_look = Look::of(rows.iter().map(|&i| target[i]));
        let y: Vec<f64> = target.iter().map(|y| target_look.apply(*y)).collect();
        let weighted = rooted_target(&y, &(0..y.len()).map(weight).collect::<Vec<_>>());
        let of_column = |values: &[f64]| {
            let look = Look::of(rows.iter().map(|&i| values[i]));
            let sums = match weights {
                None => column_sums(values, look, &weighted),
                Some(weights) => {
                    let mut sums = [0.0; 3];
                    for (i, v) in values.iter().enumerate().filter(|(i, _)| weights[*i] > 0.0) {
                        let v = look.apply(*v);
                        sums[0] += weights[i] * v;
                        sums[1] += weights[i] * v * v;
                        sums[2] += weighted[i] * v;
                    }
                    sums
                }
            };
            (look, sums)
        };
        let of_columns = |columns: &[&[f64]], out: &mut [(Look, [f64; 3])]| {
            if weights.is_some() {
                out.iter_mut().zip(columns).for_each(|(out, values)| *out = of_column(values));
                return;
            }
            let known = plain_sums(columns, &weighted);
            for ((out, values), sums) in out.iter_mut().zip(columns).zip(known) {
                let ends = is_plain(&sums, values.len() as f64);
                *out = if ends { (PLAIN, sums) } else { of_column(values) };
            }
        };
        let task = TOGETHER * (TASK_VALUES / (TOGETHER * x.rows())).max(1);
        let (looks, sums) = sums_by_columns(chosen, task, observer, |chosen, out| {
            let mut values: [&[f64]; TOGETHER] = [&[]; TOGETHER];
            for (values, &j) in values.iter_mut().zip(chosen) {
                *values = x.column_slice(j).ok_or(Interrupted)?;
            }
            of_columns(&values[..chosen.len()], out);
            Ok(())
        })?;
        Ok(Self::with_target(looks, sums, target_look, &y, weights))
    }

    /// The moments without XᵀX of sparse columns: only what is stored is read.
    fn of_stored(
        x: SparseView<'_>,
        chosen: &[usize],
        target: &[f64],
        weights: Option<&[f64]>,
        observer: &dyn Observer,
    ) -> Result<Self> {
        let rows = sampled_rows(x.rows(), weights, usize::MAX);
        let mut counts = vec![false; x.rows()];
        rows.iter().for_each(|&i| counts[i] = true);
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        let target_look = Look::of(rows.iter().map(|&i| target[i]));
        let y: Vec<f64> = target.iter().map(|y| target_look.apply(*y)).collect();
        let blank = y.iter().all(|y| *y == 0.0);
        let of_column = |j: usize| {
            let (stored, values) = x.column_slices(j);
            let sums_in = |scale: f64| {
                let mut sums = stored_sums(values, scale);
                if !blank {
                    sums[2] = sparse_dot(stored, values, &y) / scale;
                }
                sums
            };
            if weights.is_none() && 2 * values.len() <= x.rows() {
                let sums = sums_in(PLAIN.scale);
                if is_in_range(&sums) {
                    return (PLAIN, sums);
                }
            }
            let look = Look::of_sparse(x, j, &rows, weights.map(|_| &counts[..]));
            if look.shift == 0.0 && weights.is_none() {
                return (look, sums_in(look.scale));
            }
            let mut sums = [0.0; 3];
            let mut add = |i: usize, v: f64| {
                let v = look.apply(v);
                let wv = weight(i) * v;
                sums[0] += wv;
                sums[1] += wv * v;
                sums[2] += wv * y[i];
            };
            if look.shift == 0.0 {
                x.column(j).filter(|e| counts[e.0]).for_each(|(i, v)| add(i, v));
            } else {
                let mut column = vec![0.0; x.rows()];
                x.column(j).for_each(|(i, v)| column[i] = v);
                rows.iter().for_each(|&i| add(i, column[i]));
            }
            (look, sums)
        };
        let task = (TASK_VALUES * x.columns() / x.stored().max(1)).max(TOGETHER);
        let (looks, sums) = sums_by_columns(chosen, task, observer, |chosen, out| {
            out.iter_mut().zip(chosen).for_each(|(out, &j)| *out = of_column(j));
            Ok(())
        })?;
        Ok(Self::with_target(looks, sums, target_look, &y, weights))
    }

    /// The sums of the columns with those of the target.
    fn with_target(
        columns: Vec<Look>,
        mut sums: Sums,
        target: Look,
        y: &[f64],
        weights: Option<&[f64]>,
    ) -> Self {
        let weight = |i: usize| weights.map_or(1.0, |w| w[i]);
        for (i, y) in y.iter().enumerate().filter(|(i, _)| weight(*i) > 0.0) {
            sums.weight += weight(i);
            sums.target += weight(i) * y;
            sums.target_square += weight(i) * y * y;
        }
        Self { frame: Frame { columns, target }, names: Vec::new(), rows: y.len(), sums }
    }

    /// Whether all sums are finite, as they are if all values are.
    pub(crate) fn is_finite(&self) -> bool {
        self.sums.is_finite()
    }

    /// Number of rows that were added up.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.sums.columns.len()
    }

    /// Names of the columns, where they were given.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Well-scaled units: columns of unit variance about their means, or of unit mean square
    /// about zero where they are not centred, and the target likewise.
    pub(crate) fn units(&self, centre_columns: bool, centre_target: bool) -> Units {
        let n = self.sums.weight;
        let of = |centre: bool, sum: f64, square: f64, look: Look| {
            let d = if centre { sum / n } else { -look.shift / look.scale };
            let variance = (square - 2.0 * d * sum + n * d * d) / n;
            // Rounding may leave it below zero; an overflow must be seen.
            let sd = if variance < 0.0 { 0.0 } else { variance.sqrt() };
            let mean = if centre { look.shift + look.scale * d } else { 0.0 };
            let constant = sd * look.scale <= 4.0 * f64::EPSILON * mean.abs();
            (mean, if constant { 0.0 } else { sd * look.scale })
        };
        let s = &self.sums;
        let k = s.columns.len();
        let (mut mean, mut deviation) = (vec![0.0; k], vec![0.0; k]);
        for j in 0..k {
            let look = self.frame.columns[j];
            (mean[j], deviation[j]) = of(centre_columns, s.columns[j], s.squares[j], look);
        }
        let (target_mean, target_deviation) =
            of(centre_target, s.target, s.target_square, self.frame.target);
        Units { mean, deviation, target_mean, target_deviation }
    }

    /// The sums of (x − mean) / deviation; a column whose deviation is 0 becomes 0.
    pub(crate) fn in_units(self, units: &Units) -> Standardised {
        let Moments { frame, sums: mut s, .. } = self;
        let n = s.weight;
        let ratio = |scale: f64, unit: f64| if unit > 0.0 { scale / unit } else { 0.0 };
        let k = s.columns.len();
        let offset = |j: usize| frame.columns[j].apply(units.mean[j]);
        let factor = |j: usize| ratio(frame.columns[j].scale, units.deviation[j]);
        let offset_y = frame.target.apply(units.target_mean);
        let factor_y = ratio(frame.target.scale, units.target_deviation);

        for j in 0..k {
            let (offset, factor) = (offset(j), factor(j));
            let cross =
                s.cross[j] - offset * s.target - offset_y * s.columns[j] + n * offset * offset_y;
            s.cross[j] = cross * factor * factor_y;
            let square = s.squares[j] - 2.0 * offset * s.columns[j] + n * offset * offset;
            s.squares[j] = (square * factor * factor).max(0.0);
        }
        if s.gram.columns() > 0 {
            let offset: Vec<f64> = (0..k).map(offset).collect();
            let factor: Vec<f64> = (0..k).map(factor).collect();
            for b in 0..k {
                for a in b..k {
                    let sum = s.gram[(a, b)] - offset[a] * s.columns[b] - offset[b] * s.columns[a]
                        + n * offset[a] * offset[b];
                    s.gram[(a, b)] = sum * factor[a] * factor[b];
                }
            }
        }
        crate::linalg::symmetrise(&mut s.gram);
        Standardised { weight: n, gram: s.gram, squares: s.squares, cross: s.cross }
    }
}

/// What is subtracted from each column and from the target, and what they are then divided by;
/// 0 stands for a constant.
#[derive(Debug, Clone)]
pub(crate) struct Units {
    pub mean: Vec<f64>,
    pub deviation: Vec<f64>,
    pub target_mean: f64,
    pub target_deviation: f64,
}

impl Units {
    /// What the target is divided by; 1 for a constant one.
    pub fn target_unit(&self) -> f64 {
        if self.target_deviation > 0.0 { self.target_deviation } else { 1.0 }
    }

    /// What columns are divided by; 1 for constant ones.
    pub fn positive_deviations(&self) -> Vec<f64> {
        self.deviation.iter().map(|&d| if d > 0.0 { d } else { 1.0 }).collect()
    }
}

/// Moments in given [`Units`].
#[derive(Debug, Clone)]
pub(crate) struct Standardised {
    /// Σ w.
    pub weight: f64,
    /// (k, k) Σ w x xᵀ, both triangles; 0×0 where not asked for.
    pub gram: Matrix,
    /// (k,) Σ w x².
    pub squares: Vec<f64>,
    /// (k,) Σ w x y.
    pub cross: Vec<f64>,
}

fn sums(
    columns: &dyn Columns,
    chosen: &[usize],
    target: &[f64],
    weights: Option<&[f64]>,
    gram: bool,
    frame: &Frame,
    observer: &dyn Observer,
) -> Result<Sums> {
    let by_row = columns.as_sparse().map(|x| RowEntries::new(x, chosen, frame));
    let rows = columns.rows();
    let chunks = rows.div_ceil(CHUNK_ROWS);
    // Few enough partial sums at a time to keep memory small; the tree does not depend on it.
    let batch = ((1usize << 23) / (chosen.len() * chosen.len()).max(1)).clamp(2, 16);
    let mut tree = DyadicSum::default();
    for first in (0..chunks).step_by(batch) {
        let parts: Vec<Option<Sums>> = (first..(first + batch).min(chunks))
            .into_par_iter()
            .map(|c| {
                let range = c * CHUNK_ROWS..((c + 1) * CHUNK_ROWS).min(rows);
                let mut part = Sums::zeros(chosen.len(), gram);
                let mut tile = Tile::default();
                for start in range.clone().step_by(TILE_ROWS) {
                    observer.check().ok()?;
                    let block = start..(start + TILE_ROWS).min(range.end);
                    let y: Vec<f64> =
                        target[block.clone()].iter().map(|y| frame.target.apply(*y)).collect();
                    let w = weights.map(|w| &w[block.clone()]);
                    match &by_row {
                        Some(entries) => entries.add(&mut part, block, &y, w),
                        None => {
                            columns.fill(block, chosen, &mut tile);
                            to_frame(&mut tile, frame);
                            part.add_tile(&mut tile, &y, w);
                        }
                    }
                }
                Some(part)
            })
            .collect();
        for part in parts {
            tree.push(part.ok_or(Error::Interrupted)?);
        }
    }
    Ok(tree.total().unwrap_or_else(|| Sums::zeros(chosen.len(), gram)))
}

/// Σ x, Σ x² and Σ xy of one column, in lanes whose order is fixed by the length.
fn column_sums(values: &[f64], look: Look, target: &[f64]) -> [f64; 3] {
    pulp::Arch::new().dispatch(ColumnSums { values, look, target })
}

// A closure of this size would be called, not inlined, and keep to the narrowest vectors.
struct ColumnSums<'a> {
    values: &'a [f64],
    look: Look,
    target: &'a [f64],
}

impl pulp::WithSimd for ColumnSums<'_> {
    type Output = [f64; 3];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> [f64; 3] {
        let (x, x_rest) = S::as_simd_f64s(self.values);
        let (y, y_rest) = S::as_simd_f64s(&self.target[..self.values.len()]);
        // Scales are powers of two, so multiplying by their inverses is exact.
        let inverse = 1.0 / self.look.scale;
        let (shift, scale) = (simd.splat_f64s(self.look.shift), simd.splat_f64s(inverse));
        let zero = simd.splat_f64s(0.0);
        let mut sums = [[zero; 3]; 2];
        let ((x, x_last), (y, y_last)) = (x.as_chunks::<2>(), y.as_chunks::<2>());
        for (x, y) in x.iter().zip(y) {
            sums[0] = added(simd, sums[0], simd.mul_f64s(simd.sub_f64s(x[0], shift), scale), y[0]);
            sums[1] = added(simd, sums[1], simd.mul_f64s(simd.sub_f64s(x[1], shift), scale), y[1]);
        }
        for (x, y) in x_last.iter().zip(y_last) {
            sums[0] = added(simd, sums[0], simd.mul_f64s(simd.sub_f64s(*x, shift), scale), *y);
        }
        let total = |k: usize| simd.reduce_sum_f64s(simd.add_f64s(sums[0][k], sums[1][k]));
        let mut total = [total(0), total(1), total(2)];
        for (x, y) in x_rest.iter().zip(y_rest) {
            let v = (x - self.look.shift) * inverse;
            total[0] += v;
            total[1] += v * v;
            total[2] += v * y;
        }
        total
    }
}

/// The same of up to [`TOGETHER`] columns as they are.
fn plain_sums(columns: &[&[f64]], target: &[f64]) -> [[f64; 3]; TOGETHER] {
    let arch = pulp::Arch::new();
    if let [a, b, c, d] = *columns {
        return arch.dispatch(PlainSums { columns: [a, b, c, d], target });
    }
    let mut sums = [[0.0; 3]; TOGETHER];
    for (sums, x) in sums.iter_mut().zip(columns) {
        [*sums] = arch.dispatch(PlainSums { columns: [x], target });
    }
    sums
}

struct PlainSums<'a, const COLUMNS: usize> {
    columns: [&'a [f64]; COLUMNS],
    target: &'a [f64],
}

impl<const COLUMNS: usize> pulp::WithSimd for PlainSums<'_, COLUMNS> {
    type Output = [[f64; 3]; COLUMNS];

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> [[f64; 3]; COLUMNS] {
        let (y, y_rest) = S::as_simd_f64s(self.target);
        let columns = self.columns.map(|x| S::as_simd_f64s(&x[..self.target.len()]));
        let whole = columns.map(|x| &x.0[..y.len()]);
        let mut sums = [[simd.splat_f64s(0.0); 3]; COLUMNS];
        for (i, y) in y.iter().enumerate() {
            for k in 0..COLUMNS {
                sums[k] = added(simd, sums[k], whole[k][i], *y);
            }
        }
        let rest = simd.partial_load_f64s(y_rest);
        // A closure would be called, not inlined.
        let mut out = [[0.0; 3]; COLUMNS];
        for k in 0..COLUMNS {
            let last = added(simd, sums[k], simd.partial_load_f64s(columns[k].1), rest);
            for l in 0..3 {
                out[k][l] = simd.reduce_sum_f64s(last[l]);
            }
        }
        out
    }
}

/// Whether sums of so many values as they are lose no digits: their mean is no larger than their
/// deviation, and their squares are far from the ends of the range.
fn is_plain(sums: &[f64; 3], count: f64) -> bool {
    let mean = sums[0] / count;
    is_in_range(sums) && 2.0 * mean * mean <= sums[1] / count
}

fn is_in_range(&[_, square, cross]: &[f64; 3]) -> bool {
    (1e-200..1e200).contains(&square) && cross.is_finite()
}

/// Units and sums of columns, made for a few at a time, so many by a thread before it looks for
/// others.
fn sums_by_columns(
    chosen: &[usize],
    task: usize,
    observer: &dyn Observer,
    of: impl Fn(&[usize], &mut [(Look, [f64; 3])]) -> Result<(), Interrupted> + Sync,
) -> Result<(Vec<Look>, Sums)> {
    // Written where they are to stay: the first touch of memory costs more than the sums.
    let mut looks = vec![PLAIN; chosen.len()];
    let mut sums = Sums::zeros(chosen.len(), false);
    let tasks = looks
        .par_chunks_mut(task)
        .zip(sums.columns.par_chunks_mut(task))
        .zip(sums.squares.par_chunks_mut(task).zip(sums.cross.par_chunks_mut(task)))
        .zip(chosen.par_chunks(task));
    tasks.try_for_each(|(((looks, columns), (squares, cross)), chosen)| {
        observer.check()?;
        for (first, chosen) in (0..).step_by(TOGETHER).zip(chosen.chunks(TOGETHER)) {
            let mut each = [(PLAIN, [0.0; 3]); TOGETHER];
            of(chosen, &mut each[..chosen.len()])?;
            for (k, (look, sums)) in (first..).zip(each).take(chosen.len()) {
                looks[k] = look;
                [columns[k], squares[k], cross[k]] = sums;
            }
        }
        Ok::<(), Interrupted>(())
    })?;
    Ok((looks, sums))
}

/// Sums of v, v² and v·y.
#[inline(always)]
fn added<S: pulp::Simd>(simd: S, sums: [S::f64s; 3], v: S::f64s, y: S::f64s) -> [S::f64s; 3] {
    [
        simd.add_f64s(sums[0], v),
        simd.mul_add_e_f64s(v, v, sums[1]),
        simd.mul_add_e_f64s(v, y, sums[2]),
    ]
}

fn to_frame(tile: &mut Tile, frame: &Frame) {
    // Scales are powers of two, so multiplying by their inverses is exact.
    let inverse: Vec<f64> = frame.columns.iter().map(|l| 1.0 / l.scale).collect();
    let shift: Vec<f64> = frame.columns.iter().map(|l| l.shift).collect();
    tile.update(|_, j, v| (v - shift[j]) * inverse[j]);
}

/// The entries of a sparse matrix row by row, in the frame's units.
struct RowEntries {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl RowEntries {
    fn new(x: SparseView<'_>, chosen: &[usize], frame: &Frame) -> Self {
        let rows = x.rows();
        let shifted = |k: usize| frame.columns[k].shift != 0.0;
        let mut starts = vec![0usize; rows + 1];
        for (k, &j) in chosen.iter().enumerate() {
            if shifted(k) {
                starts[1..].iter_mut().for_each(|s| *s += 1);
            } else {
                x.column(j).for_each(|(i, _)| starts[i + 1] += 1);
            }
        }
        for i in 0..rows {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut columns = vec![0u32; starts[rows]];
        let mut values = vec![0.0; starts[rows]];
        let mut put = |i: usize, k: usize, v: f64| {
            columns[next[i]] = k as u32;
            values[next[i]] = frame.columns[k].apply(v);
            next[i] += 1;
        };
        let mut dense = vec![0.0; rows];
        for (k, &j) in chosen.iter().enumerate() {
            if shifted(k) {
                dense.fill(0.0);
                x.column(j).for_each(|(i, v)| dense[i] = v);
                dense.iter().enumerate().for_each(|(i, &v)| put(i, k, v));
            } else {
                x.column(j).for_each(|(i, v)| put(i, k, v));
            }
        }
        Self { starts, columns, values }
    }

    fn add(
        &self,
        part: &mut Sums,
        rows: std::ops::Range<usize>,
        target: &[f64],
        weights: Option<&[f64]>,
    ) {
        let gram = part.gram.rows() > 0;
        let roots: Vec<f64> =
            (0..target.len()).map(|i| weights.map_or(1.0, |w| w[i].sqrt())).collect();
        for (r, i) in rows.enumerate() {
            let weight = weights.map_or(1.0, |w| w[r]);
            if weight == 0.0 {
                continue;
            }
            let entries = self.starts[i]..self.starts[i + 1];
            let (columns, values) = (&self.columns[entries.clone()], &self.values[entries]);
            for (a, (&j, &v)) in columns.iter().zip(values).enumerate() {
                let (j, wv) = (j as usize, weight * v);
                part.columns[j] += wv;
                part.cross[j] += wv * target[r];
                if gram {
                    // Columns rise within a row, so this is the lower triangle.
                    let column = part.gram.column_mut(j);
                    for (&k, &u) in columns[a..].iter().zip(&values[a..]) {
                        column[k as usize] += wv * u;
                    }
                } else {
                    part.squares[j] += wv * v;
                }
            }
        }
        let rooted = rooted_target(target, &roots);
        part.add_target(&rooted, &roots);
    }
}

/// Builds [`Moments`] from chunks of rows that come one after the other.
///
/// ```
/// use fewer::data::{DenseView, MomentsBuilder};
/// use fewer::method::SparseRegressor;
///
/// let mut builder = MomentsBuilder::new(["dose", "age"]);
/// for chunk in 0..20 {
///     let x: Vec<f64> = (0..200).map(|i| ((chunk * 200 + i) as f64 * 0.7).sin()).collect();
///     let y: Vec<f64> = (0..100).map(|i| 3.0 * x[2 * i] + 1.0).collect();
///     builder.push(DenseView::by_rows(&x, 100, 2)?, &y, None)?;
/// }
/// let model = SparseRegressor::new().fit_moments(builder.finish()?)?;
/// assert_eq!(model.n_terms(), 1);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct MomentsBuilder {
    names: Vec<String>,
    frame: Option<Frame>,
    rows: usize,
    tree: DyadicSum,
}

impl MomentsBuilder {
    /// Begins with no rows.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self { names, frame: None, rows: 0, tree: DyadicSum::default() }
    }

    /// Adds a chunk of rows. The first one fixes the units of the sums.
    pub fn push(
        &mut self,
        features: DenseView<'_>,
        target: &[f64],
        weights: Option<&[f64]>,
    ) -> Result<()> {
        let data = super::Dataset::new(features, target)?.with_names(&self.names)?;
        let data = match weights {
            Some(w) => data.with_weights(w)?,
            None => data,
        };
        data.check_values()?;
        let columns = DenseColumns::Borrowed(features);
        let chosen: Vec<usize> = (0..features.columns()).collect();
        let frame = self
            .frame
            .get_or_insert_with(|| Frame::choose(&columns, &chosen, target, weights, true));
        let part =
            sums(&columns, &chosen, target, weights, true, frame, &crate::engine::Silent)?.finish();
        if !part.is_finite() {
            return Err(Error::Unavailable {
                what: "a sum over this chunk".into(),
                hint: "its values are more than 1e150 times those of the first chunk; \
                       rescale the column"
                    .into(),
            });
        }
        self.tree.push(part);
        self.rows += features.rows();
        Ok(())
    }

    /// The moments of all rows so far.
    pub fn finish(self) -> Result<Moments> {
        match (self.frame, self.tree.total()) {
            (Some(frame), Some(sums)) => {
                Ok(Moments { frame, names: self.names, rows: self.rows, sums })
            }
            _ => Err(Error::Empty {
                what: "the data".into(),
                expected: "at least 1 row is needed".into(),
            }),
        }
    }
}
