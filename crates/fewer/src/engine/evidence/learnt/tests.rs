use super::bounds::Variables;
use super::joint::DAMPING;
use super::scene::Scene;
use super::*;
use crate::engine::Silent;
use crate::linalg::axpy;
use crate::prior::Ard;

fn problem(n: usize, d: usize, weighted: bool, free: bool) -> Learning {
    let mut next = uniform(7);
    let x = Matrix::from_columns(n, d, (0..n * d).map(|_| 4.0 * next() - 2.0).collect());
    let root: Vec<f64> = match weighted {
        true => (0..n).map(|_| 0.5 + next()).collect(),
        false => Vec::new(),
    };
    let mut target: Vec<f64> = (0..n)
        .map(|i| (x[(i, 0)] * 2.0).sin() + 0.3 * (next() - 0.5))
        .enumerate()
        .map(|(i, t)| t * root.get(i).copied().unwrap_or(1.0))
        .collect();
    let weight = if weighted { root.iter().map(|r| r * r).sum() } else { n as f64 };
    if free {
        let ones = if weighted { root.clone() } else { vec![1.0; n] };
        let mean = dot(&target, &ones) / weight;
        axpy(-mean, &ones, &mut target);
    }
    Learning {
        rows: Sample { x: Arc::new(x), target, root, weight, count: weight, blame: Vec::new() },
        free_intercept: free,
        bias: false,
        families: vec![Family::Rbf],
        anisotropic: false,
        starts: 10,
        seed: 0,
        noise_as_published: false,
        parameter_price: 0.7,
        variance_price: 0.03,
        place_price: 0.0,
    }
}

fn kernels(family: Family, d: usize, widths: usize) -> Vec<Option<Shape>> {
    let mut next = uniform(9);
    let mut shapes: Vec<Option<Shape>> = (0..3)
        .map(|_| {
            let parameters: Vec<f64> = (0..d + widths).map(|_| next() - 0.4).collect();
            Some(Shape::of(family, &parameters, d))
        })
        .collect();
    shapes.push(Some(Shape::Linear { feature: 0 }));
    // One beyond the data.
    let mut far = vec![2.9; d];
    far.extend(vec![-0.9; widths]);
    shapes.push(Some(Shape::of(family, &far, d)));
    shapes
}

fn learner<'a>(
    learning: &'a Learning,
    prior: Ard,
    options: &'a Options,
    shapes: Vec<Option<Shape>>,
) -> Learner<'a> {
    let alpha = (0..shapes.len()).map(|k| 0.5 + k as f64).collect();
    let bounds = Bounds::new(learning);
    let prior = Paid { ard: prior, parameters: 0.0, kappa: learning.variance_price };
    let mut learner = Learner {
        learning,
        options,
        prior,
        observer: &Silent,
        bounds,
        shapes,
        alpha,
        beta: 8.0,
        hold_noise: false,
        known: RefCell::default(),
    };
    learner.count();
    learner
}

/// All cases: kind of kernel, widths of each, weights of rows, free intercept.
fn for_each_case(check: impl Fn(&Learning, Vec<Option<Shape>>, &str)) {
    for family in [Family::Rbf, Family::Laplacian] {
        for (d, widths) in [(1, 1), (2, 1), (2, 2)] {
            for (weighted, free) in [(false, false), (true, true)] {
                let learning = problem(40, d, weighted, free);
                let name = format!("{family:?}, {d} inputs, {widths} widths, free {free}");
                check(&learning, kernels(family, d, widths), &name);
            }
        }
    }
}

fn moved(shape: &Shape, k: usize, step: f64, d: usize) -> Shape {
    let mut parameters = shape.parameters();
    parameters[k] += step;
    Shape::of(shape.family(), &parameters, d)
}

const H: f64 = 1e-5;

#[test]
fn derivatives_of_the_objective() {
    for_each_case(|learning, shapes, name| {
        let options = Options::default();
        let prior = Ard { price: 1.7, as_published: false };
        let of = learner(learning, prior, &options, shapes);
        let d = learning.rows.x.columns();
        let found = of.height(&learning.rows, &of.shapes, &of.alpha, of.beta).unwrap();
        let value = |shapes: &[Option<Shape>], alpha: &[f64], beta: f64| {
            of.height(&learning.rows, shapes, alpha, beta).unwrap().value
        };
        let near = |found: f64, above: f64, below: f64, what: &str| {
            let expected = (above - below) / (2.0 * H);
            let error = (found - expected).abs();
            assert!(error < 1e-6 * (1.0 + expected.abs()), "{name}, {what}: {found} {expected}");
        };
        for (i, gradient) in found.shapes.iter().enumerate() {
            for (k, slope) in gradient.iter().enumerate() {
                let at = |step: f64| {
                    let mut shapes = of.shapes.clone();
                    shapes[i] = Some(moved(shapes[i].as_ref().unwrap(), k, step, d));
                    value(&shapes, &of.alpha, of.beta)
                };
                near(*slope, at(H), at(-H), &format!("kernel {i}, parameter {k}"));
            }
        }
        for (i, slope) in found.alpha.iter().enumerate() {
            let at = |step: f64| {
                let mut alpha = of.alpha.clone();
                alpha[i] *= step.exp();
                value(&of.shapes, &alpha, of.beta)
            };
            near(*slope, at(H), at(-H), &format!("alpha {i}"));
        }
        let at = |step: f64| value(&of.shapes, &of.alpha, of.beta * step.exp());
        near(found.beta, at(H), at(-H), "beta");
    });
}

/// β(μμᵀ + Σ)∘DᵀMD, with D by differences and M as a whole.
#[test]
fn curvatures_are_those_of_first_derivatives() {
    for_each_case(|learning, shapes, name| {
        let options = Options::default();
        let of = learner(learning, Ard::default(), &options, shapes);
        let (rows, centred) = (&learning.rows, learning.free_intercept);
        let (n, k, beta) = (rows.len(), of.shapes.len(), of.beta);
        let kernels: Vec<Option<Variables>> =
            (of.shapes.iter().flatten()).map(|s| s.kernel().map(|_| Variables::new(s))).collect();
        let found = of.curvature(rows, &kernels, true, true).unwrap().unwrap();
        let columns = rows.columns(&of.shapes, centred).1;
        let p = of.posterior().unwrap();
        let mut slopes: Vec<(usize, Vec<f64>)> = Vec::new();
        for (j, v) in kernels.iter().enumerate() {
            let Some(v) = v else { continue };
            for a in 0..v.origin.len() {
                let at = |step: f64| {
                    let mut variables = v.start();
                    variables[a] += step;
                    rows.columns(&[Some(v.shape(&variables))], centred).1
                };
                let (above, below) = (at(H), at(-H));
                let of_row = |(x, y): (&f64, &f64)| (x - y) / (2.0 * H);
                let both = above.as_slice().iter().zip(below.as_slice());
                slopes.push((j, both.map(of_row).collect()));
            }
        }
        let left = |d: &[f64]| -> Vec<f64> {
            let inner: Vec<f64> = (0..k).map(|j| dot(columns.column(j), d)).collect();
            let spread: Vec<f64> = (0..k).map(|j| dot(p.sigma.column(j), &inner)).collect();
            (0..n)
                .map(|i| d[i] - beta * (0..k).map(|j| columns[(i, j)] * spread[j]).sum::<f64>())
                .collect()
        };
        for (a, (i, first)) in slopes.iter().enumerate() {
            let first = left(first);
            for (b, (j, second)) in slopes.iter().enumerate() {
                let weights = p.mean[*i] * p.mean[*j] + p.sigma[(*i, *j)];
                let mut expected = beta * weights * dot(&first, second);
                expected += if a == b { DAMPING * expected + 1.0 } else { 0.0 };
                let error = (found[(a, b)] - expected).abs();
                assert!(error < 1e-6 * (1.0 + expected.abs()), "{name} {a} {b}: {expected}");
            }
        }
        assert_eq!(found.rows(), slopes.len() + k + 1);
    });
}

#[test]
fn derivatives_of_the_worth_of_candidates() {
    for_each_case(|learning, mut shapes, name| {
        for as_published in [false, true] {
            let prior = Ard { price: 1.3, as_published };
            let candidates = [shapes.pop(), shapes.pop(), shapes.pop()].map(Option::flatten);
            let columns = learning.rows.columns(&shapes, learning.free_intercept).1;
            let alpha = vec![1.5; shapes.len()];
            let data = active(&learning.rows, &columns);
            let posterior = Posterior::new(&data, &alpha, 6.0, &Silent).unwrap();
            let centred = learning.free_intercept;
            let scene = Scene::new(&learning.rows, columns, posterior, centred, &prior);
            let d = learning.rows.x.columns();
            for (i, worth) in scene.weigh(&candidates, true).iter().enumerate() {
                for (k, slope) in worth.gradient.iter().enumerate() {
                    let at = |step: f64| {
                        let shape = moved(candidates[i].as_ref().unwrap(), k, step, d);
                        scene.weigh(&[Some(shape)], false)[0].height
                    };
                    let expected = (at(H) - at(-H)) / (2.0 * H);
                    let error = (slope - expected).abs();
                    assert!(
                        error < 1e-6 * (1.0 + expected.abs()),
                        "{name}, candidate {i}, parameter {k}: {slope} {expected}"
                    );
                }
            }
            shapes.extend(candidates);
        }
    });
}

/// The objective with a candidate at its best variance is higher by its gain.
#[test]
fn gains_are_what_the_objective_gains() {
    for_each_case(|learning, mut shapes, name| {
        let options = Options::default();
        let prior = Ard { price: 0.2, as_published: false };
        let candidate = shapes.swap_remove(0);
        shapes.pop();
        let mut of = learner(learning, prior, &options, shapes);
        of.settle(1e-10).unwrap();
        let before = of.value().unwrap();
        let (columns, posterior) = (of.columns(), of.posterior().unwrap());
        let centred = learning.free_intercept;
        let scene = Scene::new(&learning.rows, columns, posterior, centred, &of.prior);
        let (variance, gain) =
            scene.gain(&scene.weigh(std::slice::from_ref(&candidate), false)[0], 1.0);
        drop(scene);
        if variance > 0.0 {
            of.shapes.push(candidate);
            of.alpha.push(1.0 / variance);
            let after = of.value().unwrap();
            // At the parameters that were counted before.
            assert!((after - before - gain).abs() < 1e-8 * (1.0 + gain), "{name}: {gain}");
        }
    });
}

/// Values of an independent implementation.
#[test]
fn derivatives_of_the_reference() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/");
    let text = std::fs::read_to_string(format!("{folder}doppler_n128.csv")).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
    let column = |k: usize| rows.iter().map(|r| r[k]).collect::<Vec<f64>>();
    let text = std::fs::read_to_string(format!("{folder}tzikas2009.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let case = &all["arvm_gradient_check_doppler"];
    let list = |name: &str| -> Vec<f64> {
        case[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let learning = Learning {
        rows: Sample {
            x: Arc::new(Matrix::from_columns(128, 1, column(0))),
            target: column(2),
            root: Vec::new(),
            weight: 128.0,
            count: 128.0,
            blame: Vec::new(),
        },
        parameter_price: 0.0,
        variance_price: 0.0,
        ..problem(4, 1, false, false)
    };
    let options = Options::default();
    let prior = Ard { price: case["c"].as_f64().unwrap(), as_published: false };
    let shapes: Vec<Option<Shape>> = (list("centres").iter().zip(list("widths_h")))
        .map(|(m, h)| Some(Shape::of(Family::Rbf, &[*m, h.ln()], 1)))
        .collect();
    let of = learner(&learning, prior, &options, shapes);
    let beta = case["beta"].as_f64().unwrap();
    let found = of.height(&learning.rows, &of.shapes, &list("alpha"), beta).unwrap();
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-7 * expected.abs(), "{found} {expected}");
    };
    near(found.value, case["objective"].as_f64().unwrap());
    for (k, slopes) in found.shapes.iter().enumerate() {
        near(slopes[0], list("grad_centre")[k]);
        near(slopes[1], list("grad_log_width")[k]);
    }
}

/// Exact twins merge into one kernel at no change of the objective.
#[test]
fn twins_merge() {
    let learning =
        Learning { parameter_price: 0.0, variance_price: 0.0, ..problem(40, 1, false, true) };
    let options = Options::default();
    let prior = Ard { price: 0.5, as_published: false };
    let one = Some(Shape::of(Family::Rbf, &[0.3, -0.2], 1));
    let mut of = learner(&learning, prior, &options, vec![one.clone(), one]);
    of.settle(1e-10).unwrap();
    let before = of.value().unwrap();
    of.merge().unwrap();
    assert_eq!(of.shapes.len(), 1);
    assert!((of.value().unwrap() - before).abs() < 1e-7);
}

#[test]
fn noise_as_published_is_a_root() {
    let learning = Learning {
        noise_as_published: true,
        parameter_price: 0.0,
        variance_price: 0.0,
        ..problem(40, 1, false, true)
    };
    let options = Options::default();
    let prior = Ard { price: 1.0, as_published: true };
    let mut of = learner(&learning, prior, &options, kernels(Family::Rbf, 1, 1));
    of.settle(1e-10).unwrap();
    let p = of.posterior().unwrap();
    let left = 39.0 - p.beta * p.residual_square - 3.0 * p.freedom();
    assert!(left.abs() < 1e-4, "{left}");
}
