//! Which rows a model is trained on and which it is tested on.

use crate::data::{Dataset, Target};
use crate::error::{Error, Result};
use crate::random::uniform;
use std::collections::HashMap;
use std::hash::Hash;

/// How data are split into folds for cross-validation.
///
/// Rows of weight 0 take part in no fold. Without shuffling the folds are those of scikit-learn's
/// `KFold`, `StratifiedKFold` and `LeaveOneOut`.
///
/// ```
/// use fewer::data::{Dataset, DenseView};
/// use fewer::select::CrossValidation;
/// let x = [0.0, 1.0, 2.0, 3.0, 4.0];
/// let data = Dataset::new(DenseView::by_rows(&x, 5, 1)?, &x)?;
/// let split = CrossValidation::k_fold(2).split(&data)?;
/// assert_eq!(split.test(0), [0, 1, 2]);
/// assert_eq!(split.train(0), [3, 4]);
/// # Ok::<(), fewer::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CrossValidation {
    kind: Kind,
    repeats: usize,
    shuffle: Option<u64>,
}

#[derive(Debug, Clone)]
enum Kind {
    KFold(usize),
    Stratified(usize),
    /// Stratified for classes, plain for numbers.
    Usual(usize),
    Grouped(usize, Vec<usize>),
    LeaveOneOut,
    Given(Vec<(Vec<usize>, Vec<usize>)>),
}

impl Default for CrossValidation {
    /// Five folds, stratified for classes.
    fn default() -> Self {
        Self::new(5)
    }
}

impl CrossValidation {
    fn of(kind: Kind) -> Self {
        Self { kind, repeats: 1, shuffle: None }
    }

    /// So many folds: stratified for classes, of consecutive rows for numbers.
    pub fn new(folds: usize) -> Self {
        Self::of(Kind::Usual(folds))
    }

    /// So many folds of consecutive rows.
    pub fn k_fold(folds: usize) -> Self {
        Self::of(Kind::KFold(folds))
    }

    /// So many folds in which the classes have the same shares.
    pub fn stratified(folds: usize) -> Self {
        Self::of(Kind::Stratified(folds))
    }

    /// So many folds of about the same size; rows of one group stay together.
    pub fn grouped<G: Hash + Eq>(folds: usize, groups: impl IntoIterator<Item = G>) -> Self {
        let mut known = HashMap::new();
        let codes = groups
            .into_iter()
            .map(|g| {
                let next = known.len();
                *known.entry(g).or_insert(next)
            })
            .collect();
        Self::of(Kind::Grouped(folds, codes))
    }

    /// A fold for each row.
    pub fn leave_one_out() -> Self {
        Self::of(Kind::LeaveOneOut)
    }

    /// These (train, test) pairs of rows, counted from 0. A training row named twice counts twice.
    pub fn given(pairs: Vec<(Vec<usize>, Vec<usize>)>) -> Self {
        Self::of(Kind::Given(pairs))
    }

    /// Shuffles the rows (or groups) first.
    pub fn shuffled(mut self, seed: u64) -> Self {
        self.shuffle = Some(seed);
        self
    }

    /// Does it so many times, shuffled differently each time.
    pub fn repeated(mut self, repeats: usize, seed: u64) -> Self {
        (self.repeats, self.shuffle) = (repeats, Some(seed));
        self
    }

    /// Splits the rows of positive weight.
    pub fn split(&self, data: &Dataset<'_>) -> Result<Split> {
        let rows: Vec<usize> =
            (0..data.rows()).filter(|&i| data.weights().is_none_or(|w| w[i] > 0.0)).collect();
        if self.repeats == 0 {
            return Err(Error::setting("cv_repeats", 0, "a number of at least 1 is expected"));
        }
        let fixed = matches!(self.kind, Kind::LeaveOneOut | Kind::Given(_));
        if fixed && (self.repeats > 1 || self.shuffle.is_some()) {
            return Err(Error::setting(
                "cv",
                if matches!(self.kind, Kind::LeaveOneOut) { "loo" } else { "given folds" },
                "these folds are the same however rows are shuffled: leave out cv_shuffle and \
                 cv_repeats",
            ));
        }
        let (folds, notes) = match &self.kind {
            Kind::Given(pairs) => (given(pairs, data)?, Vec::new()),
            Kind::LeaveOneOut => {
                check_folds(rows.len().max(2), &rows)?;
                let folds =
                    rows.iter().map(|&i| Fold { test: vec![i], train: None }).collect::<Vec<_>>();
                (folds, Vec::new())
            }
            Kind::KFold(k) => self.repeat(*k, &rows, |random| assign_plain(*k, &rows, random))?,
            Kind::Usual(k) | Kind::Stratified(k) => match data.target() {
                Target::Labels { codes, classes } => {
                    let (folds, mut notes) = self
                        .repeat(*k, &rows, |random| assign_stratified(*k, &rows, codes, random))?;
                    let mut counts = vec![0; classes.len()];
                    rows.iter().for_each(|&i| counts[codes[i]] += 1);
                    if let Some(c) = (0..counts.len()).find(|&c| counts[c] > 0 && counts[c] < *k) {
                        notes.push(format!(
                            "class '{}' has {} {}, fewer than the {k} folds: some folds have \
                             none of them",
                            classes[c],
                            counts[c],
                            if counts[c] == 1 { "row" } else { "rows" }
                        ));
                    }
                    (folds, notes)
                }
                Target::Numbers(_) if matches!(self.kind, Kind::Stratified(_)) => {
                    return Err(Error::setting(
                        "cv",
                        "stratified",
                        "only classes can be stratified; the target holds numbers",
                    ));
                }
                Target::Numbers(_) => {
                    self.repeat(*k, &rows, |random| assign_plain(*k, &rows, random))?
                }
            },
            Kind::Grouped(k, groups) => {
                if groups.len() != data.rows() {
                    return Err(Error::shape(
                        "groups",
                        format!("{}, one for each row", data.rows()),
                        groups.len(),
                    ));
                }
                let mut present: Vec<usize> = rows.iter().map(|&i| groups[i]).collect();
                present.sort_unstable();
                present.dedup();
                if present.len() < *k {
                    return Err(Error::setting(
                        "cv",
                        k,
                        format!("at most {}, the number of groups, is expected", present.len()),
                    ));
                }
                self.repeat(*k, &rows, |random| assign_grouped(*k, &rows, groups, random))?
            }
        };
        Ok(Split { rows, folds, repeats: self.repeats, notes })
    }

    /// Makes the folds of every repeat; `assign` gives the fold of each of the rows.
    fn repeat(
        &self,
        k: usize,
        rows: &[usize],
        assign: impl Fn(Option<&mut dyn FnMut() -> f64>) -> Vec<usize>,
    ) -> Result<(Vec<Fold>, Vec<String>)> {
        check_folds(k, rows)?;
        let mut random = self.shuffle.map(uniform);
        let mut folds = Vec::with_capacity(k * self.repeats);
        for _ in 0..self.repeats {
            let assigned = assign(random.as_mut().map(|r| r as &mut dyn FnMut() -> f64));
            let first = folds.len();
            folds.extend((0..k).map(|_| Fold { test: Vec::new(), train: None }));
            rows.iter().zip(assigned).for_each(|(&i, f)| folds[first + f].test.push(i));
        }
        Ok((folds, Vec::new()))
    }
}

/// Folds made of the rows of a data set.
#[derive(Debug, Clone)]
pub struct Split {
    rows: Vec<usize>,
    folds: Vec<Fold>,
    repeats: usize,
    notes: Vec<String>,
}

#[derive(Debug, Clone)]
struct Fold {
    test: Vec<usize>,
    /// All other rows, if not given: n folds of n rows would take too much room.
    train: Option<Vec<usize>>,
}

impl Split {
    /// Number of folds, those of all repeats together.
    pub fn len(&self) -> usize {
        self.folds.len()
    }

    /// Whether there is no fold.
    pub fn is_empty(&self) -> bool {
        self.folds.is_empty()
    }

    /// How many times all rows were split.
    pub fn repeats(&self) -> usize {
        self.repeats
    }

    /// What the user should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Rows to test on.
    pub fn test(&self, fold: usize) -> &[usize] {
        &self.folds[fold].test
    }

    /// Rows to train on.
    pub fn train(&self, fold: usize) -> Vec<usize> {
        let Fold { test, train } = &self.folds[fold];
        match train {
            Some(rows) => rows.clone(),
            None => {
                let others = self.rows.iter().filter(|i| test.binary_search(i).is_err());
                others.copied().collect()
            }
        }
    }
}

fn check_folds(k: usize, rows: &[usize]) -> Result<()> {
    if k < 2 {
        return Err(Error::setting("cv", k, "at least 2 folds are expected"));
    }
    if k > rows.len() {
        let rows = rows.len();
        return Err(Error::setting(
            "cv",
            k,
            format!("at most {rows}, the number of rows of positive weight, is expected"),
        ));
    }
    Ok(())
}

fn given(pairs: &[(Vec<usize>, Vec<usize>)], data: &Dataset<'_>) -> Result<Vec<Fold>> {
    if pairs.is_empty() {
        return Err(Error::Empty {
            what: "the list of folds".into(),
            expected: "at least one (train, test) pair is needed".into(),
        });
    }
    let counts = |i: &usize| data.weights().is_none_or(|w| w[*i] > 0.0);
    let mut folds = Vec::new();
    for (k, (train, test)) in pairs.iter().enumerate() {
        for (part, rows) in [("training", train), ("test", test)] {
            if let Some(bad) = rows.iter().find(|&&i| i >= data.rows()) {
                return Err(Error::shape(
                    format!("{part} rows of fold {}", k + 1),
                    format!("below {} (rows are counted from 0)", data.rows()),
                    bad,
                ));
            }
            if !rows.iter().any(counts) {
                return Err(Error::Empty {
                    what: format!("the {part} part of fold {}", k + 1),
                    expected: "at least one row of positive weight is needed".into(),
                });
            }
        }
        let kept = |rows: &[usize]| rows.iter().copied().filter(|i| counts(i)).collect::<Vec<_>>();
        folds.push(Fold { test: kept(test), train: Some(kept(train)) });
    }
    Ok(folds)
}

type Random<'a> = Option<&'a mut dyn FnMut() -> f64>;

fn shuffle<T>(values: &mut [T], random: Random<'_>) {
    let Some(next) = random else { return };
    for k in (1..values.len()).rev() {
        let other = (next() * (k + 1) as f64) as usize;
        values.swap(k, other.min(k));
    }
}

/// The fold of each of so many rows when they are dealt in order; the first folds are larger by
/// one where they must be.
fn consecutive(k: usize, rows: usize) -> Vec<usize> {
    (0..k).flat_map(|f| std::iter::repeat_n(f, rows / k + usize::from(f < rows % k))).collect()
}

fn assign_plain(k: usize, rows: &[usize], random: Random<'_>) -> Vec<usize> {
    let mut assigned = consecutive(k, rows.len());
    shuffle(&mut assigned, random);
    assigned
}

fn assign_stratified(
    k: usize,
    rows: &[usize],
    codes: &[usize],
    mut random: Random<'_>,
) -> Vec<usize> {
    // Classes in the order of their first rows, so that their names do not matter.
    let mut order: Vec<usize> = Vec::new();
    let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
    for (position, &i) in rows.iter().enumerate() {
        members
            .entry(codes[i])
            .or_insert_with(|| {
                order.push(codes[i]);
                Vec::new()
            })
            .push(position);
    }
    let mut assigned = vec![0; rows.len()];
    let mut start = 0;
    for class in order {
        let positions = &members[&class];
        // Every k-th of the sorted rows is one fold's: sizes differ by at most one, also in sum.
        let mut share = vec![0; k];
        (start..start + positions.len()).for_each(|p| share[p % k] += 1);
        start += positions.len();
        let mut folds: Vec<usize> = share
            .iter()
            .enumerate()
            .flat_map(|(f, &count)| std::iter::repeat_n(f, count))
            .collect();
        shuffle(&mut folds, random.as_mut().map(|r| &mut **r as &mut dyn FnMut() -> f64));
        positions.iter().zip(folds).for_each(|(&p, f)| assigned[p] = f);
    }
    assigned
}

/// The largest groups first, each to the smallest fold.
fn assign_grouped(k: usize, rows: &[usize], groups: &[usize], random: Random<'_>) -> Vec<usize> {
    let mut sizes: HashMap<usize, usize> = HashMap::new();
    rows.iter().for_each(|&i| *sizes.entry(groups[i]).or_default() += 1);
    let mut order: Vec<usize> = sizes.keys().copied().collect();
    order.sort_unstable();
    shuffle(&mut order, random);
    order.sort_by_key(|g| std::cmp::Reverse(sizes[g]));
    let mut load = vec![0usize; k];
    let mut fold_of = HashMap::new();
    for group in order {
        let fold = (0..k).min_by_key(|&f| load[f]).unwrap_or(0);
        load[fold] += sizes[&group];
        fold_of.insert(group, fold);
    }
    rows.iter().map(|i| fold_of[&groups[*i]]).collect()
}
