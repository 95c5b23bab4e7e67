use super::objective::Objective;
use super::posterior::{Active, Posterior};
use super::settle::damped_step;
use super::statistics::Statistics;
use super::tableau::Tableau;
use super::{Ascent, Dictionary, FromGram, Nothing, Options, Problem, maximise, maximise_from};
use crate::engine::Silent;
use crate::likelihood::Noise;
use crate::linalg::{Matrix, dot};
use crate::prior::{Ard, Bls, EvidencePrior, Factors, FastLaplace, Rate};
use crate::random::uniform;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Columns of unit length, and a target that depends on a few of them.
struct Sample {
    columns: Matrix,
    target: Vec<f64>,
}

impl Sample {
    fn new(rows: usize, columns: usize, seed: u64) -> Self {
        let mut next = uniform(seed);
        let shared: Vec<f64> = (0..rows).map(|_| next() - 0.5).collect();
        let mut values = Matrix::zeros(rows, columns);
        for j in 0..columns {
            let column = values.column_mut(j);
            column.iter_mut().zip(&shared).for_each(|(v, s)| *v = next() - 0.5 + 0.7 * s);
            let length = dot(column, column).sqrt();
            column.iter_mut().for_each(|v| *v /= length);
        }
        let few = columns.min(5);
        let target = (0..rows)
            .map(|i| {
                (0..few).map(|j| values[(i, j)] * (j + 1) as f64).sum::<f64>()
                    + 0.3 * (next() - 0.5)
            })
            .collect();
        Self { columns: values, target }
    }

    fn gram(&self) -> Matrix {
        let n = self.columns.rows();
        crate::linalg::cross_products(n, self.columns.as_slice(), self.columns.as_slice())
    }

    fn cross(&self) -> Vec<f64> {
        (0..self.columns.columns()).map(|j| dot(self.columns.column(j), &self.target)).collect()
    }

    fn square(&self) -> f64 {
        dot(&self.target, &self.target)
    }

    fn active(&self, chosen: &[usize]) -> Active {
        let (gram, cross) = (self.gram(), self.cross());
        let values = chosen.iter().flat_map(|&b| chosen.iter().map(move |&a| (a, b)));
        Active {
            gram: Matrix::from_columns(
                chosen.len(),
                chosen.len(),
                values.map(|at| gram[at]).collect(),
            ),
            cross: chosen.iter().map(|&j| cross[j]).collect(),
            square: self.square(),
        }
    }
}

/// log N(t | 0, C) by elimination on the dense C = I/β + Σ φφᵀ/α.
fn dense_evidence(sample: &Sample, chosen: &[usize], alpha: &[f64], beta: f64) -> f64 {
    let n = sample.target.len();
    let mut c = vec![vec![0.0; n + 1]; n];
    for i in 0..n {
        for k in 0..n {
            c[i][k] = if i == k { 1.0 / beta } else { 0.0 };
            for (&j, a) in chosen.iter().zip(alpha) {
                c[i][k] += sample.columns[(i, j)] * sample.columns[(k, j)] / a;
            }
        }
        c[i][n] = sample.target[i];
    }
    let (mut log_determinant, mut square) = (0.0, 0.0);
    for p in 0..n {
        log_determinant += c[p][p].ln();
        square += c[p][n] * c[p][n] / c[p][p];
        let pivot = c[p].clone();
        for row in c.iter_mut().skip(p + 1) {
            let factor = row[p] / pivot[p];
            row.iter_mut().zip(&pivot).for_each(|(v, q)| *v -= factor * q);
        }
    }
    -0.5 * (n as f64 * std::f64::consts::TAU.ln() + log_determinant + square)
}

impl Sample {
    /// Kernels of a width of 3 on rows from -10 to 10, and a sinc.
    fn sinc(rows: usize, noise: f64, seed: u64) -> Self {
        let mut next = uniform(seed);
        let at = |i: usize| 20.0 * i as f64 / (rows - 1) as f64 - 10.0;
        let mut columns = Matrix::zeros(rows, rows);
        for j in 0..rows {
            let column = columns.column_mut(j);
            (0..rows).for_each(|i| column[i] = (-(at(i) - at(j)).powi(2) / 9.0).exp());
            let length = dot(column, column).sqrt();
            column.iter_mut().for_each(|v| *v /= length);
        }
        let sinc = |x: f64| if x == 0.0 { 1.0 } else { x.sin() / x };
        let mut normal = || (0..12).map(|_| next()).sum::<f64>() - 6.0;
        let mut target: Vec<f64> = (0..rows).map(|i| sinc(at(i)) + noise * normal()).collect();
        let unit = (dot(&target, &target) / rows as f64).sqrt();
        target.iter_mut().for_each(|t| *t /= unit);
        Self { columns, target }
    }

    fn dictionary<'u>(&self, usable: &'u [usize]) -> FromGram<'u> {
        let inverse_lengths = vec![1.0; usable.len()];
        FromGram { gram: Arc::new(self.gram()), usable, inverse_lengths }
    }
}

fn objective<'a>(sample: &Sample, prior: &'a dyn EvidencePrior) -> Objective<'a> {
    Objective { weight: sample.target.len() as f64, free_intercept: false, prior }
}

fn priors() -> Vec<Box<dyn EvidencePrior>> {
    vec![
        Box::new(Ard::default()),
        Box::new(Ard { price: 2.0, as_published: false }),
        Box::new(FastLaplace { rate: Rate::Fixed(0.7) }),
        Box::new(Bls { rate: Rate::Fixed(0.05) }),
    ]
}

#[test]
fn the_evidence_is_that_of_the_dense_covariance() {
    let sample = Sample::new(30, 6, 1);
    let (chosen, alpha) = ([0, 2, 5], [0.3, 20.0, 1e-3]);
    let p = Posterior::new(&sample.active(&chosen), &alpha, 7.0, &Silent).unwrap();
    let found = objective(&sample, &Nothing).log_evidence(&p);
    let expected = dense_evidence(&sample, &chosen, &alpha, 7.0);
    assert!((found - expected).abs() < 1e-9 * expected.abs(), "{found} {expected}");
}

#[test]
fn a_flat_intercept_is_the_limit_of_a_wide_one() {
    let sample = Sample::new(40, 5, 2);
    let n = sample.target.len();
    let mut centred = Sample { columns: sample.columns.clone(), target: sample.target.clone() };
    let centre = |v: &mut [f64]| {
        let mean = v.iter().sum::<f64>() / n as f64;
        v.iter_mut().for_each(|v| *v -= mean);
    };
    centre(&mut centred.target);
    (0..5).for_each(|j| centre(centred.columns.column_mut(j)));
    let (chosen, alpha, beta) = ([0, 1, 3], [0.5, 2.0, 3.0], 9.0);
    let p = Posterior::new(&centred.active(&chosen), &alpha, beta, &Silent).unwrap();
    let free = Objective { weight: n as f64, free_intercept: true, prior: &Nothing };
    let found = free.log_evidence(&p);
    // A column of ones with variance v has density 1/sqrt(2πv) at its middle where the flat one
    // has 1.
    let mut wide = Matrix::zeros(n, 6);
    wide.as_mut_slice()[..5 * n].copy_from_slice(sample.columns.as_slice());
    wide.column_mut(5).fill(1.0);
    let wide = Sample { columns: wide, target: sample.target.clone() };
    let variance = 1e6;
    let alpha = [alpha[0], alpha[1], alpha[2], 1.0 / variance];
    let expected = dense_evidence(&wide, &[0, 1, 3, 5], &alpha, beta)
        + 0.5 * (std::f64::consts::TAU * variance).ln();
    assert!((found - expected).abs() < 1e-5, "{found} {expected}");
}

#[test]
fn derivatives_are_those_of_finite_differences() {
    let sample = Sample::new(40, 6, 3);
    let chosen = [0, 1, 4, 5];
    let data = sample.active(&chosen);
    let units = [0.5, 1.0, 2.0, 1.5];
    for prior in priors() {
        let objective = objective(&sample, &*prior);
        let at = |logs: &[f64]| {
            let alpha: Vec<f64> = logs[..4].iter().map(|v| v.exp()).collect();
            Posterior::new(&data, &alpha, logs[4].exp(), &Silent).unwrap()
        };
        let logs = [0.3, -1.0, 2.0, 1.1, 1.4];
        let (gradient, curvature) = objective.derivatives(&at(&logs), &units);
        let step = 1e-5;
        for i in 0..5 {
            let moved = |sign: f64| {
                let mut logs = logs;
                logs[i] += sign * step;
                at(&logs)
            };
            let (up, down) = (moved(1.0), moved(-1.0));
            let slope =
                (objective.value(&up, &units) - objective.value(&down, &units)) / (2.0 * step);
            assert!((slope - gradient[i]).abs() < 1e-6, "{prior:?} {i}: {slope} {}", gradient[i]);
            let (above, below) =
                (objective.derivatives(&up, &units).0, objective.derivatives(&down, &units).0);
            for j in 0..5 {
                let bend = -(above[j] - below[j]) / (2.0 * step);
                let found = curvature[(j, i)];
                assert!((bend - found).abs() < 1e-5, "{prior:?} {i} {j}: {bend} {found}");
            }
        }
    }
}

/// Two hundred actions at fixed noise, all of them by rank-one updates.
#[test]
fn rank_one_updates_equal_recomputation() {
    const BETA: f64 = 12.0;
    let sample = Sample::new(60, 20, 4);
    let (gram, cross) = (sample.gram(), sample.cross());
    let mut next = uniform(5);
    let mut active: Vec<usize> = vec![0];
    let mut posterior = Posterior::new(&sample.active(&active), &[1.0], BETA, &Silent).unwrap();
    let mut products = gram.clone();
    products.as_mut_slice().iter_mut().for_each(|v| *v *= BETA);
    let pulls = cross.iter().map(|c| BETA * c).collect();
    let mut tableau = Tableau { shrunk: products.clone(), products, pulls };
    tableau.add(0, 1.0);
    for action in 0..200 {
        let kind = next();
        let alpha = (6.0 * (next() - 0.5)).exp();
        let inactive: Vec<usize> = (0..20).filter(|j| !active.contains(j)).collect();
        if kind < 0.4 && active.len() < 12 || active.is_empty() {
            let j = inactive[(next() * inactive.len() as f64) as usize];
            tableau.add(j, alpha);
            active.push(j);
            let precisions = [&posterior.alpha[..], &[alpha]].concat();
            posterior =
                Posterior::new(&sample.active(&active), &precisions, BETA, &Silent).unwrap();
        } else {
            let i = (next() * active.len() as f64) as usize;
            tableau.delete(active[i], posterior.alpha[i]);
            if kind < 0.75 {
                tableau.add(active[i], alpha);
                posterior.reestimate(i, alpha);
            } else {
                posterior.delete(i);
                active.swap_remove(i);
            }
        }
        let fresh =
            Posterior::new(&sample.active(&active), &posterior.alpha, BETA, &Silent).unwrap();
        let mut again = Statistics::new(cross.clone(), true);
        again.products = active.iter().flat_map(|&j| gram.column(j)).copied().collect();
        again.refresh(&fresh);
        let near = |a: &[f64], b: &[f64], what: &str| {
            let size = b.iter().fold(1e-300, |m: f64, v| m.max(v.abs()));
            let worst = a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
            assert!(worst <= 1e-8 * size, "{what} after {action} actions: {worst:e}");
        };
        near(posterior.sigma.as_slice(), fresh.sigma.as_slice(), "Σ");
        near(&posterior.mean, &fresh.mean, "μ");
        let inactive = || (0..20).filter(|j| !active.contains(j));
        let of = |values: &[f64]| inactive().map(|j| values[j]).collect::<Vec<f64>>();
        let factors: Vec<Factors> = inactive().map(|j| tableau.factors(j)).collect();
        let each = |of: fn(&Factors) -> f64| factors.iter().map(of).collect::<Vec<f64>>();
        near(&each(|f| f.s), &of(&again.s), "S");
        near(&each(|f| f.q), &of(&again.q), "Q");
        near(&each(|f| f.z), &of(&again.z), "Z");
        let columns = active.iter().copied();
        let within: Vec<f64> =
            tableau.products.part(&active, columns).as_slice().iter().map(|v| -v).collect();
        near(&within, fresh.sigma.as_slice(), "Σ of the table");
        let means: Vec<f64> = active.iter().map(|&j| tableau.pulls[j]).collect();
        near(&means, &fresh.mean, "μ of the table");
    }
}

/// Gains are the changes of the objective, and best variances are where it is largest.
#[test]
fn gains_and_best_variances_are_exact() {
    let sample = Sample::new(50, 8, 6);
    let (gram, cross) = (sample.gram(), sample.cross());
    let chosen = [0, 3, 4];
    let alpha = [0.5, 3.0, 1.0];
    let beta = 8.0;
    for prior in priors() {
        let objective = objective(&sample, &*prior);
        let p = Posterior::new(&sample.active(&chosen), &alpha, beta, &Silent).unwrap();
        let unit = 1.3;
        let before = objective.value(&p, &[unit; 3]);
        let mut statistics = Statistics::new(cross.clone(), true);
        chosen.iter().for_each(|&j| statistics.products.extend_from_slice(gram.column(j)));
        statistics.refresh(&p);
        for j in [1, 2, 6, 7] {
            let of = Factors { s: statistics.s[j], q: statistics.q[j], z: statistics.z[j] };
            let with = |variance: f64| {
                let all = [0, 3, 4, j];
                let alpha = [alpha[0], alpha[1], alpha[2], 1.0 / variance];
                let p = Posterior::new(&sample.active(&all), &alpha, beta, &Silent).unwrap();
                objective.value(&p, &[unit; 4]) - before
            };
            let best = prior.best_variance(of, unit, 1.0 / beta);
            for k in -60..=60 {
                let variance = 10f64.powf(f64::from(k) / 10.0);
                let gain = prior.gain(of, variance, unit, 1.0 / beta);
                assert!((gain - with(variance)).abs() < 1e-8, "{prior:?}: {gain}");
                let most = if best > 0.0 { prior.gain(of, best, unit, 1.0 / beta) } else { 0.0 };
                assert!(gain <= most + 1e-12, "{prior:?}: {variance} is better than {best}");
            }
        }
        // Active columns, by what their posterior says.
        for (i, of) in objective.factors(&p).into_iter().enumerate() {
            let without: Vec<usize> = chosen.iter().copied().filter(|&j| j != chosen[i]).collect();
            let rest: Vec<f64> = (0..3).filter(|&k| k != i).map(|k| alpha[k]).collect();
            let q = Posterior::new(&sample.active(&without), &rest, beta, &Silent).unwrap();
            let gain = prior.gain(of, 1.0 / alpha[i], unit, 1.0 / beta);
            // Where c is 0 nobody asks for z.
            let lost = before - objective.value(&q, &[unit; 2]);
            assert!((gain - lost).abs() < 1e-8, "{prior:?} {i}: {gain} {lost}");
        }
    }
}

fn problem<'a>(sample: &Sample, dictionary: &'a dyn Dictionary) -> Problem<'a> {
    Problem {
        dictionary,
        cross: sample.cross(),
        square: sample.square(),
        units: vec![1.0; dictionary.len()],
        weight: sample.target.len() as f64,
        free_intercept: false,
        uncounted: None,
    }
}

#[test]
fn the_ascent_ends_where_nothing_is_to_gain() {
    for seed in 0..5 {
        let sample = Sample::new(80, 30, 10 + seed);
        let usable: Vec<usize> = (0..30).collect();
        let dictionary = FromGram {
            gram: Arc::new(sample.gram()),
            usable: &usable,
            inverse_lengths: vec![1.0; 30],
        };
        for mut prior in priors() {
            let options = Options::default();
            let found =
                maximise(&problem(&sample, &dictionary), &mut *prior, &options, &Silent).unwrap();
            assert!(found.termination.is_converged() && found.gain <= options.tol);
            assert!(!found.active.is_empty(), "{prior:?}");
            let p = Posterior::new(
                &sample.active(&found.active),
                &found.alpha,
                1.0 / found.noise,
                &Silent,
            )
            .unwrap();
            let units = vec![1.0; found.active.len()];
            let (gradient, _) = objective(&sample, &*prior).derivatives(&p, &units);
            let worst = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
            assert!(worst < 1e-3, "{prior:?}: {worst:e}");
            // The search comes back to the best that it saw.
            let best = found.trace.iter().fold(f64::INFINITY, |m, s| m.min(s.objective));
            assert!(-found.objective <= best + 1e-6, "{prior:?}: {} {best}", -found.objective);
        }
    }
}

/// With fixed rules every look at the candidates finds a higher objective than the one before.
#[test]
fn the_ascent_ascends_without_a_search() {
    for (seed, kernels) in [(10, false), (11, false), (12, true), (13, true)] {
        let sample = if kernels { Sample::sinc(60, 0.3, seed) } else { Sample::new(80, 30, seed) };
        let usable: Vec<usize> = (0..sample.columns.columns()).collect();
        let dictionary = sample.dictionary(&usable);
        for mut prior in priors() {
            let options = Options::default();
            let problem = problem(&sample, &dictionary);
            let found =
                maximise_from(&problem, &mut *prior, &options, &Silent, None, false).unwrap();
            assert!(found.termination.is_converged() && found.trace.len() > 2);
            for pair in found.trace.windows(2) {
                let (before, after) = (pair[0].objective, pair[1].objective);
                assert!(after <= before + 1e-8, "{prior:?} {seed}: {before} {after}");
            }
        }
    }
}

/// What additions and exchanges are chosen by is what the objective gains, to rounding.
#[test]
fn actions_gain_what_they_promise() {
    let usable: Vec<usize> = (0..100).collect();
    let (mut added, mut exchanged) = (0, 0);
    for seed in 0..4 {
        let sample = Sample::sinc(100, 0.1, 14 + seed);
        let dictionary = sample.dictionary(&usable);
        for mut prior in priors() {
            let (options, problem) = (Options::default(), problem(&sample, &dictionary));
            let mut ascent = Ascent::new(&problem, &mut *prior, &options, &Silent).unwrap();
            for _ in 0..100 {
                ascent.settle(1e-6).unwrap();
                let (before, gains) = (ascent.value(), ascent.look_at_all());
                let picked = ascent.additions(&gains);
                let mut promised: f64 = picked.first().map_or(0.0, |p| gains[p.0].1);
                if picked.is_empty() {
                    if !ascent.exchange_some().unwrap() {
                        break;
                    }
                    // A quarter of the least that an exchange is made for.
                    (exchanged, promised) = (exchanged + 1, 2.5e-3);
                } else {
                    ascent.activate(&picked).unwrap();
                    added += picked.len();
                }
                ascent.refactor().unwrap();
                let gained = ascent.value() - before;
                assert!(gained > promised - 1e-8, "{:?}: {gained} {promised}", ascent.prior);
                if picked.len() == 1 {
                    assert!((gained - promised).abs() < 1e-8, "{:?}: {gained}", ascent.prior);
                }
            }
        }
    }
    assert!(added > 60 && exchanged > 3, "{added} {exchanged}");
}

/// Counts what is asked for.
struct Counting<'d> {
    whole: &'d dyn Dictionary,
    columns: Mutex<HashSet<usize>>,
    largest: AtomicUsize,
}

impl Dictionary for Counting<'_> {
    fn len(&self) -> usize {
        self.whole.len()
    }

    fn products(&self, of: &[usize], with: &[usize]) -> Matrix {
        self.columns.lock().unwrap().extend(with);
        self.whole.products(of, with)
    }

    fn gram(&self, chosen: &[usize]) -> Matrix {
        self.largest.fetch_max(chosen.len(), Ordering::Relaxed);
        self.whole.gram(chosen)
    }
}

/// Columns are multiplied with all others only once they are in, or are about to be.
#[test]
fn products_are_made_on_demand() {
    let rows = 1200;
    let sample = Sample::sinc(rows, 0.3, 30);
    let usable: Vec<usize> = (0..rows).collect();
    let whole = sample.dictionary(&usable);
    let (columns, largest) = (Mutex::default(), AtomicUsize::new(0));
    let counting = Counting { whole: &whole, columns, largest };
    let problem = problem(&sample, &counting);
    let found = maximise(&problem, &mut Ard::default(), &Options::default(), &Silent).unwrap();
    assert!((3..20).contains(&found.active.len()), "{}", found.active.len());
    let asked = counting.columns.lock().unwrap().len();
    assert!(asked < rows / 4, "{asked} of {rows} columns");
    // The first look is at a part of them.
    let most = counting.largest.load(Ordering::Relaxed);
    assert!(most <= 250, "a matrix of {most} columns");
}

/// The λ of the published code may have no value at which it stays.
#[test]
fn limit_cycles_are_detected() {
    let (mut cycles, mut fixed) = (0, 0);
    for seed in 0..20 {
        let sample = Sample::sinc(60, 0.5, 100 + seed);
        let usable: Vec<usize> = (0..60).collect();
        let dictionary = sample.dictionary(&usable);
        let problem = problem(&sample, &dictionary);
        let rules: [Box<dyn EvidencePrior>; 2] = [
            Box::new(Bls { rate: Rate::ActiveCount(0.0) }),
            Box::new(FastLaplace { rate: Rate::ActiveCount(0.0) }),
        ];
        for mut prior in rules {
            let found = maximise(&problem, &mut *prior, &Options::default(), &Silent).unwrap();
            assert!(found.termination.is_converged(), "{seed} {prior:?}: {}", found.iterations);
            assert!(found.gain <= 1e-8 && found.log_evidence.is_finite());
            let noise = if prior.is_relative_to_noise() { found.noise } else { 1.0 };
            let total: f64 = found.alpha.iter().map(|a| 1.0 / (a * noise)).sum();
            let rule = 2.0 * (found.alpha.len() as f64 - 1.0) / total;
            let moves = (found.lam.unwrap() - rule).abs() / rule;
            if found.cycled {
                cycles += 1;
                assert!(moves > 1e-5, "{seed} {prior:?}: λ stays where it is");
            } else {
                fixed += 1;
                assert!(moves < 1e-4, "{seed} {prior:?}: {moves:e}");
            }
        }
    }
    assert!(cycles > 0 && fixed > 0, "{cycles} {fixed}");
}

/// At known noise every action and every step gains.
#[test]
fn every_step_gains_at_known_noise() {
    let sample = Sample::new(80, 30, 20);
    let usable: Vec<usize> = (0..30).collect();
    let dictionary =
        FromGram { gram: Arc::new(sample.gram()), usable: &usable, inverse_lengths: vec![1.0; 30] };
    for mut prior in priors() {
        let noise = Noise::Known(0.01);
        let options = Options { noise, ..Options::default() };
        let found = maximise_from(
            &problem(&sample, &dictionary),
            &mut *prior,
            &options,
            &Silent,
            None,
            false,
        )
        .unwrap();
        assert!(found.trace.windows(2).all(|s| s[1].objective <= s[0].objective + 1e-9));
        assert_eq!(found.noise, 0.01);
    }
}

/// S, Q, Z, the posterior and the best noise at given precisions, against the reference.
#[test]
fn reference_values_at_given_precisions() {
    let text = include_str!("../../../tests/fixtures/sinc_n100.csv");
    let rows: Vec<(f64, f64)> = text
        .lines()
        .skip(1)
        .map(|l| l.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap())
        .collect();
    let reference: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/fixtures/evidence.json")).unwrap();
    let expected = &reference["fixed_point_check_sinc"];
    let list = |name: &str| -> Vec<f64> {
        expected[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let mut columns = Matrix::zeros(100, 100);
    let mut lengths = vec![0.0; 100];
    for j in 0..100 {
        let column = columns.column_mut(j);
        for i in 0..100 {
            column[i] = (-(rows[i].0 - rows[j].0).powi(2) / 9.0).exp();
        }
        lengths[j] = dot(column, column).sqrt();
        column.iter_mut().for_each(|v| *v /= lengths[j]);
    }
    let sample = Sample { columns, target: rows.iter().map(|r| r.1).collect() };
    let chosen: Vec<usize> = list("indices0").iter().map(|v| *v as usize).collect();
    let alpha: Vec<f64> =
        list("alpha").iter().zip(&chosen).map(|(a, &j)| a / lengths[j].powi(2)).collect();
    let near = |found: f64, expected: f64| {
        assert!((found / expected - 1.0).abs() < 1e-7, "{found} {expected}");
    };
    let data = sample.active(&chosen);
    let p = Posterior::new(&data, &alpha, 80.0, &Silent).unwrap();
    for (i, (m, &j)) in list("mu").iter().zip(&chosen).enumerate() {
        near(p.mean[i] / lengths[j], *m);
        for (k, &l) in chosen.iter().enumerate() {
            let sigma = p.sigma[(i, k)] / (lengths[j] * lengths[l]);
            near(sigma, expected["Sigma"][i][k].as_f64().unwrap());
        }
    }
    near(objective(&sample, &Nothing).log_evidence(&p), expected["logml"].as_f64().unwrap());
    near(p.freedom(), expected["dof"].as_f64().unwrap());
    let mut statistics = Statistics::new(sample.cross(), true);
    let gram = sample.gram();
    chosen.iter().for_each(|&j| statistics.products.extend_from_slice(gram.column(j)));
    statistics.refresh(&p);
    let price = Ard { price: 0.5 * 100f64.ln(), as_published: false };
    let factors = objective(&sample, &price).factors(&p);
    for (k, j) in list("columns").iter().map(|v| *v as usize).enumerate() {
        let of = match chosen.iter().position(|&c| c == j) {
            Some(i) => factors[i],
            None => Factors { s: statistics.s[j], q: statistics.q[j], z: statistics.z[j] },
        };
        near(of.s * lengths[j].powi(2), list("s")[k]);
        near(of.q * lengths[j], list("q")[k]);
        near(of.z * lengths[j].powi(2), list("z")[k]);
        for (prior, name) in
            [(Ard::default(), "alpha_star_c0"), (price, "alpha_star_exact_c_log100_2")]
        {
            let variance = prior.best_variance(of, 1.0, 1.0 / 80.0);
            match expected[name][k].as_f64() {
                Some(alpha) => near(lengths[j].powi(2) / variance, alpha),
                None => assert_eq!(variance, 0.0),
            }
        }
    }
    let free = Ard::default();
    for (prior, name) in [(&free, "beta_star_c0"), (&price, "beta_star_c_log100_2")] {
        let objective = objective(&sample, prior);
        let units = vec![1.0; 3];
        let beta = expected[name].as_f64().unwrap();
        let best = super::noise::best_noise(&data, p.clone(), &units, &objective, 1e8, &Silent);
        assert!((best.unwrap().beta / beta - 1.0).abs() < 1e-5);
        // From there Newton's step stays within what the reference is known to.
        let there = Posterior::new(&data, &alpha, beta, &Silent).unwrap();
        let (slope, bend) = objective.derivatives(&there, &units);
        assert!((slope[3] / bend[(3, 3)]).abs() < 1e-7);
    }
    // All columns, aligned or not.
    let all: Vec<usize> = (0..100).collect();
    let dictionary = sample.dictionary(&all);
    let unit = sample.target.iter().map(|t| t * t).sum::<f64>() / 100.0;
    let options = Options { alignment: 0.0, first_precision: 100.0 / unit, ..Options::default() };
    let of = problem(&sample, &dictionary);
    let found = maximise(&of, &mut Ard::default(), &options, &Silent).unwrap();
    let reference = &reference["rvm_regression_sinc_noalign"];
    assert!(found.objective > reference["logml"].as_f64().unwrap() - 1e-3);
    assert!((found.noise.sqrt() / reference["noise_sd"].as_f64().unwrap() - 1.0).abs() < 0.03);
}

/// Two weak columns that are much alike, one of them far below its best variance: steps in the
/// variance reach the maximum, those in its logarithm are damped.
#[test]
fn weak_columns_take_few_steps() {
    let (slope, bend) = ([1e-4, 0.95e-4], [[1.0, 0.9], [0.9, 1.0]]);
    let best = [0.145e-4 / 0.19, 0.05e-4 / 0.19];
    let pull =
        |u: &[f64], i: usize| 0.5 * (slope[i] - (0..2).map(|j| bend[i][j] * u[j]).sum::<f64>());
    let value =
        |u: &[f64]| -> f64 { (0..2).map(|i| 0.5 * u[i] * (0.5 * slope[i] + pull(u, i))).sum() };
    let steps = |weak: &[bool]| {
        let (mut u, mut damping, mut attempts) = (vec![1e-4, 1e-9], 0.0, 0);
        for _ in 0..200 {
            let gradient: Vec<f64> = (0..2).map(|i| -u[i] * pull(&u, i)).collect();
            let mut curvature = Matrix::zeros(2, 2);
            for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let own = if i == j { gradient[i] } else { 0.0 };
                curvature[(i, j)] = 0.5 * u[i] * u[j] * bend[i][j] + own;
            }
            let next =
                damped_step(&gradient, &curvature, weak, &mut damping, 1e-20, &Silent, |s| {
                    attempts += 1;
                    let moved: Vec<f64> = u.iter().zip(s).map(|(u, s)| u * (-s).exp()).collect();
                    Ok((value(&moved) > value(&u)).then_some(moved))
                });
            let Some(next) = next.unwrap() else { break };
            u = next;
        }
        let error = (0..2).map(|i| (u[i] / best[i] - 1.0).abs()).fold(0.0, f64::max);
        (attempts, error)
    };
    let (attempts, error) = steps(&[true, true]);
    assert!(attempts <= 12 && error < 1e-6, "{attempts} steps, {error:e} off");
    let (damped, error) = steps(&[]);
    assert!(damped > 2 * attempts || error > 0.1, "{damped} steps, {error:e} off");
}

impl Ascent<'_> {
    /// As where an ascent ended, but for some of the columns.
    fn go_to(&mut self, found: &super::Found, without: &[usize]) {
        let columns = found.active.iter().copied().zip(found.alpha.iter().copied());
        let kept: Vec<(usize, f64)> = columns.filter(|c| !without.contains(&c.0)).collect();
        self.posterior.beta = 1.0 / found.noise;
        self.activate(&kept).unwrap();
        self.refactor().unwrap();
    }
}

#[test]
fn noise_that_all_columns_leave_hides_nothing() {
    let sample = Sample::new(200, 20, 5);
    let usable: Vec<usize> = (0..20).collect();
    let dictionary = sample.dictionary(&usable);
    let (options, mut prior) = (Options::default(), Ard::default());
    let of = problem(&sample, &dictionary);
    let found = maximise(&of, &mut prior, &options, &Silent).unwrap();
    let mut hides_nothing = |without: &[usize]| {
        let mut ascent = Ascent::new(&of, &mut prior, &options, &Silent).unwrap();
        ascent.go_to(&found, without);
        ascent.noise_hides_nothing().unwrap()
    };
    assert!(hides_nothing(&[]));
    // The weakest of the columns that the target depends on.
    assert!(found.active.contains(&0) && !hides_nothing(&[0]));
    let sample = Sample::new(30, 20, 5);
    let dictionary = sample.dictionary(&usable);
    let of = problem(&sample, &dictionary);
    let ascent = Ascent::new(&of, &mut prior, &options, &Silent).unwrap();
    assert!(!ascent.noise_hides_nothing().unwrap(), "too few rows to tell");
}

/// Few of many columns are looked at most of the time, but all of them at the end.
#[test]
fn all_columns_tell_that_nothing_is_to_gain() {
    let usable: Vec<usize> = (0..900).collect();
    for seed in 0..6 {
        let sample = Sample::new(120, 900, 60 + seed);
        let dictionary = FromGram {
            gram: Arc::new(sample.gram()),
            usable: &usable,
            inverse_lengths: vec![1.0; 900],
        };
        let of = problem(&sample, &dictionary);
        for tol in [1e-6, 0.02, 0.3] {
            let (options, mut prior) = (Options { tol, ..Options::default() }, Ard::default());
            let found = maximise_from(&of, &mut prior, &options, &Silent, None, false).unwrap();
            assert!(found.termination.is_converged() && found.gain <= tol);
            let mut ascent = Ascent::new(&of, &mut prior, &options, &Silent).unwrap();
            ascent.go_to(&found, &[]);
            let gain = super::largest(&ascent.look_at_all());
            assert!(gain <= 1.5 * tol, "{seed}: {gain:e} above {tol:e}");
        }
    }
}
