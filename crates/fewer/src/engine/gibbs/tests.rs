//! The sampler against what is known exactly, and its diagnostics against known processes.

use super::diagnostics::diagnose;
use super::*;
use crate::engine::Silent;
use crate::linalg::{Cholesky, Matrix, dot};
use crate::prior::{BayesianLasso, GammaOfSquare};

/// A prior whose variances are given.
struct Fixed(Vec<f64>);

impl SampledPrior for Fixed {
    fn draw(&mut self, _relative: &[f64], variances: &mut [f64], _stream: &mut Stream) {
        variances.copy_from_slice(&self.0);
    }
}

fn matrix(rows: usize, columns: usize, stream: &mut Stream) -> Matrix {
    let values = (0..rows * columns).map(|_| stream.normal()).collect();
    Matrix::from_columns(rows, columns, values)
}

/// The same problem by products and by rows.
fn both(x: &Matrix, y: &[f64]) -> [Regression; 2] {
    let p = x.columns();
    let mut gram = Matrix::zeros(p, p);
    for a in 0..p {
        for b in 0..p {
            gram[(a, b)] = dot(x.column(a), x.column(b));
        }
    }
    let cross = (0..p).map(|j| dot(x.column(j), y)).collect();
    let rows = Regression::from_rows(x, y, &Silent).unwrap();
    [Regression::Products { gram, cross }, rows]
}

fn options(chains: usize, warmup: usize, draws: usize, thin: usize) -> Options {
    Options { chains, warmup, draws, thin, seed: 3, deadline: None }
}

/// With the variances given the posterior is normal-inverse-gamma.
#[test]
fn conjugate_posteriors_are_exact() {
    for (rows, columns) in [(30, 4), (6, 9), (120, 50)] {
        let mut stream = Stream::new(1);
        let x = matrix(rows, columns, &mut stream);
        let y: Vec<f64> =
            (0..rows).map(|i| 2.0 * x[(i, 0)] - x[(i, 1)] + stream.normal()).collect();
        let variances: Vec<f64> = (0..columns).map(|j| 0.2 + 0.3 * (j % 5) as f64).collect();
        let square = dot(&y, &y);
        let freedom = rows as f64;
        let (shape, rate) = (1.5, 0.7);
        for (form, data) in both(&x, &y).into_iter().enumerate() {
            // A = XᵀX + T⁻¹, from the products of the other form too.
            let Regression::Products { gram, cross } = &both(&x, &y)[0] else { unreachable!() };
            let mut a = gram.clone();
            (0..columns).for_each(|j| a[(j, j)] += 1.0 / variances[j]);
            let factor = Cholesky::new(a, &Silent).unwrap().unwrap();
            let mut mean = cross.clone();
            factor.solve(&mut mean);
            let shape = shape + 0.5 * freedom;
            let rate_after = rate + 0.5 * (square - dot(cross, &mean));
            let noise = NoisePrior::Inverse { shape: 1.5, rate };
            let problem = Problem { data, square, freedom, noise };
            let draws = 20_000;
            let start = |_| Fixed(variances.clone());
            let sampled = sample(&problem, &options(1, 1, draws, 1), start, &Silent).unwrap();
            let chain = &sampled.chains[0];
            let precision = chain.sigma.iter().map(|s| s.powi(-2)).sum::<f64>() / draws as f64;
            let error = shape.sqrt() / rate_after / (draws as f64).sqrt();
            let distance = (precision - shape / rate_after) / error;
            assert!(distance.abs() < 4.5, "{rows}×{columns}, {form}: {distance}");
            let scale = rate_after / (shape - 1.0);
            for j in 0..columns.min(6) {
                let mut column = vec![0.0; columns];
                column[j] = 1.0;
                factor.solve(&mut column);
                let variance = scale * column[j];
                let w = |d: usize| chain.weights[d * columns + j];
                let found = (0..draws).map(w).sum::<f64>() / draws as f64;
                let spread = (0..draws).map(|d| (w(d) - mean[j]).powi(2)).sum::<f64>();
                let distance = (found - mean[j]) / (variance / draws as f64).sqrt();
                assert!(distance.abs() < 4.5, "{rows}×{columns}, {form}: {distance}");
                let ratio = spread / draws as f64 / variance - 1.0;
                assert!(ratio.abs() < 0.06, "{rows}×{columns}, {form}: {ratio}");
            }
        }
    }
}

/// The rank of a truth drawn from the prior among draws given data drawn from it is uniform (Talts,
/// Betancourt, Simpson, Vehtari & Gelman 2018).
#[test]
fn ranks_of_truths_are_uniform() {
    const BINS: usize = 10;
    const DRAWS: usize = 99;
    const TRUTHS: usize = 500;
    for (form, rows, columns, held) in
        [(0, 10, 3, false), (1, 4, 6, false), (0, 10, 3, true), (0, 5, 8, false)]
    {
        let mut stream = Stream::new(100 + form as u64);
        let hyperprior = GammaOfSquare { shape: 1.5, rate: 0.8 };
        // Of the first weight, the sum of absolute weights, the noise and λ.
        let mut counts = [[0usize; BINS]; 4];
        for truth in 0..TRUTHS {
            let lam = if held { 1.3 } else { (stream.gamma(1.5) / 0.8).sqrt() };
            let sigma = (1.2 / stream.gamma(2.5)).sqrt();
            let laplace = |stream: &mut Stream| {
                let size = -stream.uniform().ln() * sigma / lam;
                if stream.uniform() < 0.5 { size } else { -size }
            };
            let w: Vec<f64> = (0..columns).map(|_| laplace(&mut stream)).collect();
            let x = matrix(rows, columns, &mut stream);
            let y: Vec<f64> = (0..rows)
                .map(|i| (0..columns).map(|j| x[(i, j)] * w[j]).sum::<f64>())
                .map(|mean| mean + sigma * stream.normal())
                .collect();
            let [products, by_rows] = both(&x, &y);
            let problem = Problem {
                data: if form == 0 { products } else { by_rows },
                square: dot(&y, &y),
                freedom: rows as f64,
                noise: NoisePrior::Inverse { shape: 2.5, rate: 1.2 },
            };
            let prior = BayesianLasso { lam, hyperprior: (!held).then_some(hyperprior) };
            let options = Options { seed: truth as u64, ..options(1, 100, DRAWS, 12) };
            let start = |_| BayesianLasso { lam: 1.0, ..prior.clone() };
            let start = |k| if held { prior.clone() } else { start(k) };
            let sampled = sample(&problem, &options, start, &Silent).unwrap();
            let chain = &sampled.chains[0];
            let below = |of: &dyn Fn(usize) -> bool| (0..DRAWS).filter(|&d| of(d)).count();
            let size = |w: &[f64]| w.iter().map(|w| w.abs()).sum::<f64>();
            let drawn = |d: usize| &chain.weights[d * columns..(d + 1) * columns];
            let ranks = [
                below(&|d| drawn(d)[0] < w[0]),
                below(&|d| size(drawn(d)) < size(&w)),
                below(&|d| chain.sigma[d] < sigma),
                below(&|d| chain.lam[d] < lam),
            ];
            for (counts, rank) in counts.iter_mut().zip(ranks) {
                counts[rank * BINS / (DRAWS + 1)] += 1;
            }
        }
        let expected = TRUTHS as f64 / BINS as f64;
        for (k, counts) in counts.iter().enumerate().take(if held { 3 } else { 4 }) {
            let terms = counts.iter().map(|c| (*c as f64 - expected).powi(2) / expected);
            let chi_square: f64 = terms.sum();
            // Above 29.7 in five of ten thousand.
            assert!(chi_square < 29.7, "{form} {rows}×{columns}, {k}: {chi_square} {counts:?}");
        }
    }
}

/// Rows are turned so that they follow from XᵀX: other rows with the same one are no others.
#[test]
fn rows_follow_from_their_products() {
    let mut stream = Stream::new(9);
    let x = matrix(6, 15, &mut stream);
    let y: Vec<f64> = (0..6).map(|_| stream.normal()).collect();
    // Each row twice, at half the weight, in another order, and one of nothing.
    let order = [3, 0, 5, 1, 4, 2, 2, 1, 0, 3, 4, 5];
    let mut twice = Matrix::zeros(13, 15);
    let mut target = vec![0.0; 13];
    for (i, &from) in order.iter().enumerate() {
        (0..15).for_each(|j| twice[(i, j)] = x[(from, j)] * 0.5f64.sqrt());
        target[i] = y[from] * 0.5f64.sqrt();
    }
    let parts = |x: &Matrix, y: &[f64]| match Regression::from_rows(x, y, &Silent).unwrap() {
        Regression::Rows { x, y } => (x, y),
        Regression::Products { .. } => unreachable!(),
    };
    let ((a, b), (c, d)) = (parts(&x, &y), parts(&twice, &target));
    assert_eq!((a.rows(), c.rows()), (6, 6));
    let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(near(a.as_slice(), c.as_slice()) && near(&b, &d));
    let Regression::Products { gram, cross } = &both(&x, &y)[0] else { unreachable!() };
    for j in 0..15 {
        assert!((dot(a.column(j), &b) - cross[j]).abs() < 1e-12);
        assert!((0..15).all(|k| (dot(a.column(j), a.column(k)) - gram[(j, k)]).abs() < 1e-12));
    }
}

/// A prior of huge variances that may be rescaled.
struct Huge;

impl SampledPrior for Huge {
    fn draw(&mut self, _relative: &[f64], variances: &mut [f64], _stream: &mut Stream) {
        variances.fill(1e14);
    }

    fn can_be_rescaled(&self) -> bool {
        true
    }
}

/// Only the prior tells the weights of equal columns apart, which rounding drowns where variances
/// are huge.
#[test]
fn variances_beyond_floating_point_are_not_taken() {
    let x = Matrix::from_columns(2, 2, vec![1.0, 0.5, 1.0, 0.5]);
    let y = [1.0, 0.7];
    let [data, _] = both(&x, &y);
    let mut weights = Weights::new(&data, dot(&y, &y), &Silent);
    // Rounding decides whether the middle one is taken; either way there is no error.
    for (variance, is_taken) in [(1.0, true), (1e30, false), (1e14, true)] {
        let taken = weights.condition(&[variance; 2], 1.0).unwrap().is_some();
        assert!(taken || !is_taken, "{variance}");
    }
    let noise = NoisePrior::Inverse { shape: 1.0, rate: 1.0 };
    let problem = Problem { data, square: dot(&y, &y), freedom: 2.0, noise };
    let sampled = sample(&problem, &options(2, 100, 1000, 1), |_| Huge, &Silent).unwrap();
    assert_eq!((sampled.chains[1].len(), sampled.steps), (1000, 1100));
}

#[test]
fn chains_do_not_depend_on_threads() {
    let mut stream = Stream::new(5);
    let x = matrix(40, 60, &mut stream);
    let y: Vec<f64> = (0..40).map(|i| x[(i, 3)] + stream.normal()).collect();
    for data in both(&x, &y) {
        let noise = NoisePrior::Inverse { shape: 0.0, rate: 1e-8 };
        let problem = Problem { data, square: dot(&y, &y), freedom: 40.0, noise };
        let hyperprior = Some(GammaOfSquare { shape: 1.0, rate: 1.0 });
        let start = |_| BayesianLasso { lam: 1.0, hyperprior };
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| sample(&problem, &options(3, 5, 20, 2), start, &Silent).unwrap())
        };
        let (one, four) = (run(1), run(4));
        for (a, b) in one.chains.iter().zip(&four.chains) {
            assert_eq!(a.weights, b.weights);
            assert_eq!((&a.sigma, &a.lam), (&b.sigma, &b.lam));
        }
        assert_ne!(one.chains[0].sigma, one.chains[1].sigma);
    }
}

/// x_t = ρ x_{t−1} + √(1 − ρ²) z is worth n(1 − ρ)/(1 + ρ) independent draws.
#[test]
fn effective_draws_of_autoregressions() {
    for rho in [-0.4, 0.0, 0.6, 0.9] {
        let draws: Vec<f64> = Stream::several(4, 4)
            .into_iter()
            .flat_map(|mut stream| {
                let mut x = stream.normal();
                let step = move |_| {
                    x = rho * x + (1.0 - rho * rho).sqrt() * stream.normal();
                    x
                };
                (0..20_000).map(step).collect::<Vec<f64>>()
            })
            .collect();
        let expected = 80_000.0 * (1.0 - rho) / (1.0 + rho);
        let found = diagnose(4, &draws);
        assert!((found.bulk / expected - 1.0).abs() < 0.12, "{rho}: {found:?} {expected}");
        assert!((found.r_hat - 1.0).abs() < 0.005, "{rho}: {found:?}");
        assert!(found.tail > 0.5 * expected.min(80_000.0), "{rho}: {found:?}");
    }
}

#[test]
fn chains_apart_or_of_other_widths_are_seen() {
    let chains = |shift: f64, width: f64| -> Vec<f64> {
        let streams = Stream::several(6, 4).into_iter().enumerate();
        let chain = |(k, mut stream): (usize, Stream)| {
            let last = f64::from(u8::from(k == 3));
            let (shift, width) = (last * shift, 1.0 + last * (width - 1.0));
            (0..500).map(|_| shift + width * stream.normal()).collect::<Vec<f64>>()
        };
        streams.flat_map(chain).collect()
    };
    assert!(diagnose(4, &chains(0.0, 1.0)).r_hat < 1.01);
    let apart = diagnose(4, &chains(2.0, 1.0));
    assert!(apart.r_hat > 1.2 && apart.bulk < 50.0, "{apart:?}");
    // Ranks alone would not see it: the medians agree.
    assert!(diagnose(4, &chains(0.0, 4.0)).r_hat > 1.1);
    let held = diagnose(4, &[3.0; 400]);
    assert_eq!((held.r_hat, held.bulk), (1.0, 400.0));
    assert_eq!(diagnose(4, &[1.0, 2.0, 3.0, 4.0]).bulk, 0.0);
}

/// Values of ArviZ 0.23.4 for 4 chains of 50: sin(k²) in each but for a trend in the last.
#[test]
fn diagnostics_agree_with_arviz() {
    let value = |c: usize, k: usize| {
        let trend = if c == 3 { 0.01 * k as f64 } else { 0.0 };
        ((k * k + 7 * c) as f64).sin() + 0.5 * (k as f64 * 0.3 + c as f64).sin() + trend
    };
    let draws: Vec<f64> = (0..4).flat_map(|c| (0..50).map(move |k| value(c, k))).collect();
    let found = diagnose(4, &draws);
    let expected = [1.0121033914500395, 109.84268506441926, 109.96701864277775];
    for (found, expected) in [found.r_hat, found.bulk, found.tail].into_iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
    }
}
