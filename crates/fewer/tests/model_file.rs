//! Model files: what was written once is read forever.

mod support;

use fewer::basis::RowFunctions;
use fewer::data::{Column, Dataset, DenseView, Encoder, Missing, Table, Target};
use fewer::method::{BasisKind, ProbitClassifier, SparseRegressor};
use fewer::model::Model;
use support::{Problem, Random, fixture};

fn table() -> (Table, Vec<f64>) {
    let mut random = Random::new(21);
    let cities = ["Bergen", "Oslo", "Tromsø"];
    let city: Vec<usize> = (0..60).map(|_| (3.0 * random.uniform()) as usize).collect();
    let dose = random.normals(60);
    let y = (0..60).map(|i| 1.0 + 2.0 * dose[i] - 3.0 * f64::from(city[i] == 1)).collect();
    let mut table = Table::new();
    let words = city.iter().map(|&c| Some(cities[c].to_string())).collect();
    table.push("city", Column::Text(words)).unwrap();
    table.push("dose", Column::Number(dose)).unwrap();
    (table, y)
}

fn regression() -> Model {
    let (table, y) = table();
    let (encoder, _) = Encoder::fit(&table, Missing::Mean).unwrap();
    let x = encoder.encode(&table).unwrap();
    let view = DenseView::by_columns(x.as_slice(), x.rows(), x.columns()).unwrap();
    let data =
        Dataset::new(view, &y).unwrap().with_encoder(encoder).unwrap().with_target_name("growth");
    SparseRegressor::new().basis(BasisKind::Polynomial).fit(&data).unwrap()
}

fn classification() -> Model {
    let p = Problem::linear(22, 60, 2, 2, 0.5);
    let labels =
        p.y.iter().map(|&y| ["low", "middle", "high"][usize::from(y > 0.0) + usize::from(y > 4.0)]);
    let data = Dataset::new(p.view(), Target::labels(labels)).unwrap();
    ProbitClassifier::new().basis(BasisKind::Rbf).fit(&data).unwrap()
}

/// Set `FEWER_GOLDEN=1` to write the files of a new format; those of old formats never change.
#[test]
fn files_of_format_1_load_forever() {
    for (name, model) in [("regression", regression()), ("classification", classification())] {
        let file = format!("model_format1_{name}.json");
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(&file);
        if std::env::var_os("FEWER_GOLDEN").is_some() {
            model.save(&path).unwrap();
        }
        let golden = Model::from_json(&fixture(&file)).unwrap();
        assert_eq!(golden.feature_names(), model.feature_names());
        assert_eq!(golden.n_terms(), model.n_terms());
        assert_eq!(golden.classes(), model.classes());
        // Rows as in training: off them, models of the same values may differ.
        let rows = match name {
            "regression" => {
                let table = table().0;
                let encoder = Encoder::fit(&table, Missing::Mean).unwrap().0;
                let x = encoder.encode(&table).unwrap();
                (0..10).flat_map(|i| (0..x.columns()).map(move |j| (i, j))).map(|k| x[k]).collect()
            }
            _ => Random::new(23).normals(10 * golden.feature_names().len()),
        };
        let view = DenseView::by_rows(&rows, 10, golden.feature_names().len()).unwrap();
        let (old, new) = (golden.decision(view).unwrap(), model.decision(view).unwrap());
        let distance = support::distance(old.as_slice(), new.as_slice());
        assert!(distance < 1e-6, "{name}: {distance:e}");
    }
}

#[test]
fn tables_are_encoded_as_in_training() {
    let model = Model::from_json(&regression().to_json().unwrap()).unwrap();
    assert_eq!(model.target_name(), "growth");
    let mut new = Table::new();
    new.push("dose", Column::Number(vec![0.5, f64::NAN])).unwrap();
    new.push("unused", Column::Number(vec![9.0, 9.0])).unwrap();
    new.push("city", Column::Text(vec![Some("Oslo".into()), Some("Bergen".into())])).unwrap();
    let predicted = model.predict_table(&new).unwrap();
    assert!((predicted[0] - -1.0).abs() < 1e-6, "{predicted:?}");
    assert!(predicted[1].is_finite(), "the gap is filled with the mean");
}

#[test]
fn broken_files_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let text = regression().to_json().unwrap();
    let message = |contents: &[u8]| {
        std::fs::write(&path, contents).unwrap();
        let message = Model::load(&path).unwrap_err().to_string();
        assert!(message.contains("model.json"), "{message}");
        message
    };
    assert!(message(b"").contains("is empty"));
    assert!(message(b"\xff\xfe").contains("not text in UTF-8"));
    assert!(message(b"age,dose\n1,2\n").contains("is not a model file"));
    for part in [2, 3, 4, 5, 7] {
        let short = message(&text.as_bytes()[..text.len() / part]);
        assert!(short.contains("truncated"), "{short}");
    }
    let newer = text.replacen("\"format\":1", "\"format\":2", 1);
    assert!(message(newer.as_bytes()).contains("install a newer fewer"));
    let changed = text.replacen("\"base\":[", "\"base\":[1", 1);
    assert!(message(changed.as_bytes()).contains("checksum"));
    let missing = Model::load(folder.path().join("none.json")).unwrap_err().to_string();
    assert!(missing.contains("cannot be read"), "{missing}");
}

#[test]
fn saving_keeps_the_earlier_file_until_the_new_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let model = regression();
    model.save(&path).unwrap();
    assert!(model.save(folder.path()).unwrap_err().to_string().contains("not an ordinary file"));
    assert!(model.save(folder.path().join("no/folder/model.json")).is_err());
    assert!(Model::load(&path).is_ok());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    #[cfg(unix)]
    {
        let link = folder.path().join("link.json");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        classification().save(&link).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(Model::load(&path).unwrap().classes().is_some());
    }
}

#[test]
fn functions_must_be_supplied_again() {
    let waves = || RowFunctions::new("waves").with("sin", |x| x[0].sin()).with("x", |x| x[0]);
    let x: Vec<f64> = (0..50).map(|i| 0.2 * f64::from(i)).collect();
    let y: Vec<f64> = x.iter().map(|x| 3.0 * x.sin()).collect();
    let view = DenseView::by_rows(&x, 50, 1).unwrap();
    let model =
        SparseRegressor::new().functions(waves()).fit(&Dataset::new(view, &y).unwrap()).unwrap();
    let mut copy = Model::from_json(&model.to_json().unwrap()).unwrap();
    assert_eq!(copy.needs_function(), Some("waves"));
    let message = copy.predict(view).unwrap_err().to_string();
    assert!(message.contains("'waves': supply it"), "{message}");
    assert!(copy.supply_function(RowFunctions::new("other")).is_err());
    copy.supply_function(waves()).unwrap();
    assert_eq!(copy.predict(view).unwrap(), model.predict(view).unwrap());
}
