//! Random data and settings: a fit gives a sound model or a clear error, never a panic.
//!
//! `FEWER_STRESS=1` (what `make stress` sets) runs many more cases.

mod support;

use fewer::data::{Dataset, DenseView, Features, SparseMatrix, Target};
use fewer::engine::Silent;
use fewer::model::Model;
use proptest::prelude::*;

fn cases() -> ProptestConfig {
    let cases = if std::env::var_os("FEWER_STRESS").is_some() { 20_000 } else { 300 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Values as data have them: ordinary, zero, repeated, tiny, huge.
fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -3.0..3.0f64,
        2 => Just(0.0),
        2 => (-2i32..3).prop_map(f64::from),
        1 => (-1.0..1.0f64).prop_map(|v| v * 1e-30),
        1 => (-1.0..1.0f64).prop_map(|v| v * 1e30),
    ]
}

fn settings() -> impl Strategy<Value = String> {
    let prior = prop_oneof![
        Just(r#""prior": "jeffreys""#),
        Just(r#""prior": "laplace""#),
        Just(r#""prior": "laplace", "lam": 0"#),
        Just(r#""prior": "gaussian""#),
        Just(r#""prior": "gaussian", "lam": 3.5"#),
    ];
    let basis = prop_oneof![
        Just(r#""basis": "linear""#),
        Just(r#""basis": "polynomial""#),
        Just(r#""basis": "rbf""#),
        Just(r#""basis": "laplacian", "gamma": "median""#),
        Just(r#""basis": "matern52", "candidates": 3"#),
        Just(r#""basis": "polynomial-kernel", "degree": 3"#),
    ];
    let rest = prop_oneof![
        Just(r#""standardize": true"#),
        Just(r#""standardize": false"#),
        Just(r#""fit_intercept": false"#),
        Just(r#""fit_intercept": "penalised""#),
        Just(r#""max_terms": 2"#),
        Just(r#""variant": "paper""#),
    ];
    (prior, basis, rest).prop_map(|(p, b, r)| format!(r#"{{{p}, {b}, {r}, "max_iter": 200}}"#))
}

fn sound(model: &Model, features: Features<'_>) {
    let outputs = model.decision(features).unwrap();
    assert!(outputs.as_slice().iter().all(|v| v.is_finite()));
    assert!(model.report().objective.is_finite(), "{:?}", model.report());
    assert!(model.report().certificate.value >= 0.0);
    assert!(model.noise_std().is_none_or(|s| s.is_finite() && s >= 0.0));
    assert!(model.n_terms() <= model.basis_size());
    let copy = Model::from_json(&model.to_json().unwrap()).unwrap();
    assert_eq!(copy.decision(features).unwrap().as_slice(), outputs.as_slice());
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn fits_are_sound(
        rows in 1usize..14,
        columns in 1usize..6,
        values in proptest::collection::vec(value(), 14 * 6),
        targets in proptest::collection::vec(value(), 14),
        weights in proptest::option::of(proptest::collection::vec(0u8..3, 14)),
        classes in 0i64..4,
        sparse in any::<bool>(),
        settings in settings(),
    ) {
        let x = &values[..rows * columns];
        let y = &targets[..rows];
        let (mut starts, mut indices, mut stored) = (vec![0], Vec::new(), Vec::new());
        for row in x.chunks(columns) {
            for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                indices.push(j);
                stored.push(v);
            }
            starts.push(indices.len());
        }
        let matrix =
            SparseMatrix::from_rows(rows, columns, &starts, &indices, &stored).unwrap();
        let features: Features<'_> = if sparse {
            matrix.view().into()
        } else {
            DenseView::by_rows(x, rows, columns).unwrap().into()
        };
        let (method, target) = if classes > 0 {
            ("probit", Target::labels(y.iter().map(|v| (v.abs() * 7.0) as i64 % (classes + 1))))
        } else {
            ("sparse", y.into())
        };
        let mut data = Dataset::new(features, target).unwrap();
        if let Some(w) = &weights {
            let w: Vec<f64> = w[..rows].iter().map(|&w| f64::from(w)).collect();
            data = data.with_weights(w).unwrap();
        }
        match fewer::method::fit(method, &settings, None, &data, &Silent) {
            Ok(model) => sound(&model, features),
            Err(error) => prop_assert!(error.to_string().len() > 20, "{error}"),
        }
    }

    #[test]
    fn damaged_model_files_are_refused(cut in 0.0..1.0f64, flip in 0.0..1.0f64) {
        let p = support::Problem::linear(1, 30, 3, 2, 0.2);
        let text = fewer::method::fit("sparse", "{}", None, &p.data(), &Silent)
            .unwrap()
            .to_json()
            .unwrap();
        let short = &text[..(cut * text.len() as f64) as usize];
        prop_assert!(Model::from_json(short).is_err());
        let mut bytes = text.clone().into_bytes();
        let at = (flip * bytes.len() as f64) as usize;
        bytes[at] = bytes[at].wrapping_add(1) & 0x7f;
        if let Ok(changed) = String::from_utf8(bytes) {
            // Only the version of fewer is outside the checksum.
            if Model::from_json(&changed).is_ok() {
                prop_assert!(changed.find("sha256").unwrap() > at);
            }
        }
    }
}
