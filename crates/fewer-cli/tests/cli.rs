//! The `fewer` command, as a user runs it.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder to run commands in.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fewer"));
        command.args(arguments.split_whitespace()).current_dir(self.0.path());
        command.env("RUST_BACKTRACE", "1").stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The standard output of a command that works.
    #[track_caller]
    fn good(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The only line of message of a command that is refused.
    #[track_caller]
    fn bad(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {message}");
        assert!(output.stdout.is_empty(), "{arguments}");
        let error = message.lines().last().unwrap_or_default().to_string();
        assert!(error.starts_with("error: "), "{arguments}: {message}");
        for noise in ["panicked", "Err(", "Some(", "backtrace", "Error {"] {
            assert!(!message.contains(noise), "{message}");
        }
        error
    }

    #[track_caller]
    fn refused(&self, arguments: &str, parts: &[&str]) {
        let message = self.bad(arguments);
        for part in parts {
            assert!(message.contains(part), "{arguments}: no '{part}' in: {message}");
        }
    }

    #[track_caller]
    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.good(arguments)).unwrap()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// price = 3 size − 2 age (+ 5 in Oslo) + a little; `junk` says nothing.
fn houses(rows: usize) -> String {
    let mut text = String::from("size,age,city,junk,price\n");
    for i in 0..rows {
        let wave = |k: f64| 10.0 * ((i * i + 1) as f64 * k).sin();
        let (size, age, junk, noise) = (wave(0.37), wave(0.71), wave(1.3), 0.01 * wave(2.1));
        let city = ["Oslo", "Bergen", "Bergen"][i % 3];
        let bonus = if city == "Oslo" { 5.0 } else { 0.0 };
        let price = 3.0 * size - 2.0 * age + bonus + noise;
        text.push_str(&format!("{size},{age},{city},{junk},{price}\n"));
    }
    text
}

fn with_houses() -> Place {
    let place = Place::new();
    place.put("houses.csv", houses(120));
    place
}

fn with_model() -> Place {
    let place = with_houses();
    place.good("fit houses.csv --target price --out model.json");
    place
}

#[test]
fn evidence_methods_and_their_settings() {
    let place = with_houses();
    for flags in [
        "--method rvm",
        "--method rvm --basis linear --sparsity bic",
        "--method rvm --sparsity 2 --variant paper --solver fast",
        "--method rvm --basis linear --solver block",
        "--method bls --lam-rule hyperprior",
        "--method flap --lam 0.01 --noise 0.5",
        "--method blasso --lam 2 --estimate mean --chains 2 --draws 300 --warmup 50 --thin 2",
        "--method blasso --lam-shape 2 --lam-rate 0.1 --inclusion 0.5 --seed 3",
        "--method rvm --variance augmented --gamma evidence --gammas 3",
    ] {
        let fit = place.json(&format!("fit houses.csv --target price --out m.json --json {flags}"));
        assert!(!fit["coef"].as_array().unwrap().is_empty(), "{flags}");
    }
    let text = place.good("fit houses.csv --target price --out m.json --method bls");
    assert!(text.contains("largest gain left"), "{text}");
    let text = place.good("fit houses.csv --target price --out m.json --method blasso");
    assert!(text.contains("worst R̂ − 1") && text.contains("effective draws"), "{text}");
    place.refused(
        "fit houses.csv --target price --out m.json --method rvm --sparsity -1",
        &["--sparsity -1"],
    );
    place.refused(
        "fit houses.csv --target price --method bls --basis rbf --gamma evidence --gammas 2",
        &["lam_rule = active", "\"cv\""],
    );
}

#[test]
fn rows_have_precisions_and_posteriors_draws() {
    let place = with_houses();
    let text = houses(120);
    let mut lines = text.lines();
    let mut table = format!("{},precision\n", lines.next().unwrap());
    for (i, line) in lines.enumerate() {
        table.push_str(&format!("{line},{}\n", if i % 2 == 0 { 4 } else { 1 }));
    }
    place.put("precise.csv", table.clone());
    place.put("wrong.csv", table.replacen(",4\n", ",0\n", 1));
    let flags = "--target price --noise-precision precision --method bls --json";
    let fit = place.json(&format!("fit precise.csv {flags} --out m.json"));
    let plain = place.json("fit houses.csv --target price --method bls --json");
    assert!(!fit.to_string().contains("\"precision\""), "{fit}");
    assert_ne!(fit["noise_std"], plain["noise_std"]);
    place.refused(&format!("fit wrong.csv {flags}"), &["row 1", "noise_precision", "above 0"]);
    let std = |flags: &str| -> Vec<f64> {
        let found = place.json(&format!("predict m.json precise.csv --std --json {flags}"));
        let values = found["std"].as_array().unwrap().iter();
        values.map(|v| v.as_f64().unwrap()).collect()
    };
    let (precise, plain) = (std("--noise-precision precision"), std(""));
    assert!(precise[0] < 0.7 * plain[0] && precise[1] == plain[1], "{precise:?} {plain:?}");
    let flags = "--interval 0.9 --noise-precision";
    place.refused(&format!("predict m.json wrong.csv {flags} precision"), &["row 1", "above 0"]);
    place.refused(&format!("predict m.json precise.csv {flags} no"), &["no column 'no'"]);
    place.refused(
        "fit precise.csv --target price --noise-precision precision --method lasso",
        &["noise_precision", "RVR, BLS and FastLaplace"],
    );
    place.refused(
        "fit precise.csv --target price --noise-precision price --method rvm",
        &["cannot be both target and noise precision"],
    );

    let draws = place.good("predict m.json houses.csv --draws 2 --seed 3");
    assert!(draws.starts_with("prediction,draw_1,draw_2\n"), "{draws}");
    assert_eq!(draws, place.good("predict m.json houses.csv --draws 2 --seed 3"));
    assert_ne!(draws, place.good("predict m.json houses.csv --draws 2"));
    place.good("fit houses.csv --target price --out sparse.json");
    place.refused("predict sparse.json houses.csv --draws 2", &["no posterior"]);
}

#[test]
fn offsets_are_columns() {
    let place = Place::new();
    let mut table = String::from("a,b,known,none,word,kind\n");
    for i in 0..60 {
        let (a, b) = ((f64::from(i) * 0.7).sin(), (f64::from(i) * 1.3).cos());
        let known = 3.0 * (f64::from(i * i) * 0.37).sin();
        let kind = if a + 0.5 * b + known > 0.1 { "yes" } else { "no" };
        table.push_str(&format!("{a},{b},{known},0,w,{kind}\n"));
    }
    place.put("kinds.csv", table);
    let flags = "fit kinds.csv --target kind --method smlr --drop word --json --lam 1";
    let with = place.json(&format!("{flags} --drop none --offset known --out with.json"));
    let zero = place.json(&format!("{flags} --drop known --offset none --out zero.json"));
    let without = place.json(&format!("{flags} --drop known,none --out without.json"));
    assert!(!with.to_string().contains("\"known\""), "{with}");
    assert_eq!(zero["terms"].as_array().map(Vec::len), without["terms"].as_array().map(Vec::len));
    let errors = |flags: &str| {
        let found = place.good(&format!("predict {flags}"));
        let file = place.text("kinds.csv");
        let pairs = found.lines().zip(file.lines()).skip(1);
        pairs.filter(|(p, row)| !row.ends_with(&format!(",{p}"))).count()
    };
    assert!(errors("with.json kinds.csv --offset known") < 5);
    assert!(errors("without.json kinds.csv") > 10);
    let wrong = errors("with.json kinds.csv --offset known") as f64;
    let scored = place.json("score with.json kinds.csv --offset known --json");
    assert_eq!(with["errors"], scored["errors"], "{with} {scored}");
    assert_eq!(scored["errors"].as_f64(), Some(wrong));
    let path = place.json(
        "path kinds.csv --target kind --method smlr --drop word,none --offset known --lams 3 --json",
    );
    let last = path["path"].as_array().and_then(|p| p.last()).cloned().unwrap_or_default();
    assert!(last["explained"].as_f64().unwrap() > 0.5, "{path}");
    let proba = |flags: &str| -> Vec<f64> {
        let found = place.good(&format!("predict {flags} --proba"));
        let last = |row: &str| row.rsplit(',').next().and_then(|p| p.parse().ok());
        found.lines().skip(1).filter_map(last).collect()
    };
    let zero = proba("zero.json kinds.csv --offset none");
    assert_eq!(zero.len(), 60);
    let same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
    assert!(zero.iter().zip(&proba("without.json kinds.csv")).all(same));
    place.refused("predict with.json kinds.csv --offset word", &["'word' holds words", "offset"]);
    place.refused("predict with.json kinds.csv --offset a,b,known", &["the offset", "2 columns"]);
    place.refused(&format!("{flags} --offset kind"), &["cannot be both target and offset"]);
    place.refused(&format!("{flags} --offset knwon"), &["did you mean 'known'"]);
    place.refused(
        "fit kinds.csv --target kind --method probit --drop word --offset known",
        &["offsets", "SMLR and RMLR"],
    );
}

#[test]
fn the_method_is_chosen() {
    let place = with_houses();
    let text = place
        .good("fit houses.csv --target price --out m.json --method auto --max-terms 3 --repeats 2");
    assert!(text.contains("tried") && text.contains("chosen"), "{text}");
    assert!(text.contains("auto chose"), "{text}");
    let text = place.good("explain m.json");
    assert!(!text.is_empty());
    place.refused(
        "fit houses.csv --target price --out m.json --method auto --basis rbf",
        &["there is no such setting", "basis"],
    );
}

#[test]
fn stable_terms() {
    let place = with_houses();
    let flags = "houses.csv --target price --method lasso --lam-ratio 0.1 --subsamples 20";
    let text = place.good(&format!("stability {flags} --svg s.svg --out s.csv"));
    assert!(text.contains("stable") && text.contains("expected by chance"), "{text}");
    let found = place.json(&format!("stability {flags} --json"));
    assert_eq!(found["subsamples"], 20);
    assert!(found["terms"][0]["frequency"].as_f64().unwrap() > 0.9);
    place.refused(&format!("stability {flags} --threshold 0.4"), &["threshold", "above 0.5"]);
}

#[test]
fn the_lasso_and_its_settings() {
    let place = with_houses();
    let fit = |flags: &str| {
        place.json(&format!(
            "fit houses.csv --target price --out m.json --json --method lasso {flags}"
        ))
    };
    let weights = |fitted: &Value| -> Vec<(String, f64)> {
        let terms = fitted["coef"].as_array().unwrap().iter();
        terms.map(|t| (t["term"].as_str().unwrap().into(), t["weight"].as_f64().unwrap())).collect()
    };
    let usual = weights(&fit(""));
    assert_eq!((usual[0].0.as_str(), usual[1].0.as_str()), ("size", "age"));
    assert_eq!(usual, weights(&fit("--lam-ratio 0.1 --l1-ratio 1")));
    assert!(weights(&fit("--lam 1e6")).is_empty());
    let relaxed = weights(&fit("--relaxed"));
    assert!(relaxed[0].1 > usual[0].1 && (relaxed[0].1 - 3.0).abs() < 0.2, "{relaxed:?}");
    assert!(weights(&fit("--positive")).iter().all(|w| w.1 > 0.0));
    assert!(weights(&fit("--lam-ratio 0.1 --l1-ratio 0.5"))[0].1 < usual[0].1);
    assert!(weights(&fit("--adaptive 1"))[0].1 > usual[0].1);
    let free = weights(&fit("--lam 1e6 --penalty-factors 1,0,1,1"));
    assert_eq!(free.iter().map(|w| w.0.as_str()).collect::<Vec<_>>(), ["age"]);
    let bad = |flags: &str, parts: &[&str]| {
        place.refused(
            &format!("fit houses.csv --target price --out m.json --method lasso {flags}"),
            parts,
        )
    };
    bad("--l1-ratio 2", &["--l1-ratio 2", "[0, 1]"]);
    bad("--lam -1", &["--lam -1"]);
    bad("--adaptive 0", &["--adaptive 0"]);
    bad("--penalty-factors 1,2", &["--penalty-factors 2 numbers", "4"]);
    bad("--prior laplace", &["--prior"]);
}

#[test]
fn fit_predict_score_explain() {
    let place = with_houses();
    let text = place.good("fit houses.csv --target price --out model.json");
    for part in ["3 of 4 terms kept", "size", "city=Oslo", "rows         120", "converged after"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("junk"), "{text}");

    let predicted = place.good("predict model.json houses.csv");
    let mut lines = predicted.lines();
    assert_eq!(lines.next(), Some("prediction"));
    assert_eq!(lines.count(), 120);
    assert!(place.good("score model.json houses.csv").contains("R²     1.0000"));
    assert!(place.good("explain model.json").contains("3 of 4 terms kept"));
    let formula = place.good("explain model.json --formula");
    assert!(formula.starts_with("price = ") && formula.lines().count() == 1, "{formula}");

    place.good("predict model.json houses.csv --out p.csv");
    assert_eq!(place.text("p.csv"), predicted);
    place.good("report model.json houses.csv --out r.html");
    assert!(place.text("r.html").contains("on houses.csv"));
    place.good("report model.json");
    assert_eq!(place.names(), ["houses.csv", "model.json", "p.csv", "r.html", "report.html"]);
}

#[test]
fn columns_are_found_by_name() {
    let place = with_model();
    let predicted = place.good("predict model.json houses.csv");
    let turned: String = houses(120)
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').rev().collect();
            format!("{},extra\n", cells[1..].join(","))
        })
        .collect();
    place.put("turned.csv", turned);
    assert_eq!(place.good("predict model.json turned.csv"), predicted);
}

#[test]
fn json_has_stable_names() {
    let place = with_houses();
    let fit = place.json("fit houses.csv --json --out model.json");
    for key in [
        "basis_size",
        "certificate",
        "coef",
        "converged",
        "dropped",
        "feature_names_in",
        "formula",
        "intercept",
        "lam",
        "mae",
        "method",
        "model",
        "n_iter",
        "n_rows",
        "n_terms",
        "noise_std",
        "notes",
        "objective",
        "r2",
        "rmse",
        "settings",
        "target",
        "termination",
    ] {
        assert!(fit.get(key).is_some(), "{key}: {fit}");
    }
    assert_eq!(fit["n_terms"], 3);
    assert_eq!(fit["coef"][0]["term"], "size");
    assert!((fit["coef"][0]["weight"].as_f64().unwrap() - 3.0).abs() < 0.01);
    assert_eq!(fit["certificate"]["kind"], "stationarity");
    assert_eq!(fit["target"], "price");
    let explained = place.json("explain model.json --json");
    assert_eq!(explained["coef"], fit["coef"]);
    let score = place.json("score model.json houses.csv --json");
    assert_eq!(score["n_rows"], 120);
    assert!(score["r2"].as_f64().unwrap() > 0.999);
    let predicted = place.json("predict model.json houses.csv --json");
    assert_eq!(predicted["prediction"].as_array().unwrap().len(), 120);
}

#[test]
fn settings_reach_the_method() {
    let place = with_houses();
    let fit = place.json(
        "fit houses.csv --json --quiet --basis polynomial --degree 3 --max-terms 2 --prior laplace \
         --lam-ratio 0.5 --noise 2 --standardize false --fit-intercept penalised --variant paper \
         --tol 1e-6 --max-iter 500 --max-time 60 --memory-limit 1GB --threads 1 --seed 5",
    );
    let expected = serde_json::json!({
        "basis": "polynomial", "degree": 3, "max_terms": 2, "prior": "laplace", "lam": null,
        "lam_ratio": 0.5, "noise": 2.0, "standardize": false, "fit_intercept": "penalised",
        "variant": "paper", "tol": 1e-6, "max_iter": 500, "max_time": 60.0, "memory_limit": 1e9,
        "n_jobs": 1, "gamma": "scale", "coef0": 1.0, "candidates": null, "landmarks": "kmeans",
        "random_state": 5
    });
    assert_eq!(fit["settings"], expected);
    assert_eq!(fit["basis_size"], 34);
    let fit = place.json(
        "fit houses.csv --json --quiet --basis polynomial-kernel --gamma 0.5 --coef0 2 --degree 3 \
         --candidates 20 --landmarks random --max-iter 50",
    );
    let settings = &fit["settings"];
    for (name, value) in [("gamma", 0.5), ("coef0", 2.0), ("candidates", 20.0), ("degree", 3.0)] {
        assert_eq!(settings[name].as_f64(), Some(value), "{settings}");
    }
    assert_eq!((&settings["landmarks"], &fit["basis_size"]), (&"random".into(), &20.into()));
}

#[test]
fn quiet_is_quiet_and_the_default_target_is_said() {
    let place = with_houses();
    let output = place.run("fit houses.csv --quiet");
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    let output = place.run("fit houses.csv");
    assert_eq!(stderr(&output), "target: 'price', the last column (--target names another)\n");
    let output = place.run("fit houses.csv --target price --verbose");
    assert!(stderr(&output).starts_with("iteration 1: "), "{}", stderr(&output));
}

#[test]
fn weights_drop_and_categories() {
    let place = Place::new();
    let mut text = String::from("id,code,x,w,y\n");
    for i in 0..60 {
        let (x, w) = ((i as f64 * 0.9).sin(), i % 3);
        // Rows of weight 0 are nonsense.
        let y = if w == 0 { 1e6 } else { 2.0 * x + (i % 2) as f64 };
        text.push_str(&format!("n{i},0{},{x},{w},{y}\n", i % 2));
    }
    place.put("a.csv", &text);
    place.refused("fit a.csv --weights w", &["'id'", "identifier"]);
    place.good("fit a.csv --weights w --drop id --categories code --out m.json");
    let formula = place.good("explain m.json --formula");
    assert!(formula.contains("2 x") && formula.contains("1 code=01"), "{formula}");
    // Codes stay words when predicting, though they look like numbers.
    place.good("predict m.json a.csv");
    place.refused("fit a.csv --drop idd", &["no column 'idd' (--drop)", "did you mean 'id'?"]);
    place.refused("fit a.csv --drop id --weights code2", &["no column 'code2' (--weights)"]);
    place.refused("fit a.csv --weights id", &["column 'id' holds words", "'n0'"]);
    place.refused("fit a.csv --weights y", &["both target and weights"]);
}

#[test]
fn files_that_cannot_be_read() {
    let place = Place::new();
    place.put("empty.csv", "");
    place.put("header.csv", "a,b,c\n");
    place.put("ragged.csv", "a,b\n1,2\n1,2,3\n");
    place.put("latin.csv", b"a,b\n1,2\ncaf\xe9,2\n");
    place.put("a.xlsx", "PK");
    place.refused("fit absent.csv", &["absent.csv: no such file"]);
    place.refused("fit empty.csv", &["empty.csv: the file is empty"]);
    place.refused("fit header.csv", &["header.csv: the file has no rows of data"]);
    place.refused("fit ragged.csv", &["line 3: expected 2 fields as in the header, found 3"]);
    place.refused("fit latin.csv", &["line 3", "not UTF-8"]);
    place.refused("fit a.xlsx", &["cannot tell the format", "--format"]);
    place.refused("fit .", &["directory"]);
}

#[test]
fn values_that_cannot_be_used() {
    let place = Place::new();
    place.put("a.csv", "x,y\n1,2\n,3\n3,4\n4,5\n5,inf\n");
    place.refused("fit a.csv", &["row 5, column 'y'", "infinite (inf)"]);
    place.put("a.csv", "x,y\n1,2\n,3\n3,4\n4,5\n5,6.5\n");
    place.refused("fit a.csv", &["row 2, column 'x'", "missing", "--missing drop"]);
    place.put("a.csv", "x,y\n1,2\n2,3\n3,NA\n4,5\n5,6.5\n");
    place.refused("fit a.csv --missing mean", &["row 3, column 'y'", "cannot be filled in"]);
    place.put("a.csv", "x,z,y\n1,,2\n2,,3\n");
    place.refused("fit a.csv --missing drop", &["every row", "column 'z' has 2", "--drop"]);
    place.refused("fit a.csv --missing mean", &["column 'z'", "leave it out"]);
    place.put("a.csv", "x,y\n1,low\n2,high\n3,low\n");
    place.refused(
        "fit a.csv --task regression",
        &["'y' holds words (row 1: 'low')", "regression needs numbers", "--task classification"],
    );
    place.put("a.csv", "x;y\n1;2,5\n2;3,5\n");
    place.refused("fit a.csv", &["row 1 has '2,5'; decimals are written with a point"]);
    place.put("a.csv", "y\n1\n2\n");
    place.refused("fit a.csv", &["no column is left to predict 'y' from"]);
}

#[test]
fn numbers_with_a_stray_word_are_warned_of() {
    let place = Place::new();
    place.put("a.csv", "x,z,y\n1,1,1\n2,1,2\n3,o,3\n4,2,4\n");
    let output = place.run("fit a.csv");
    assert!(output.status.success());
    let message = stderr(&output);
    assert!(message.contains("warning: column 'z' is taken as categories"), "{message}");
    assert!(message.contains("row 3 holds 'o'"), "{message}");
    assert_eq!(stderr(&place.run("fit a.csv --target y --categories z")), "");
}

#[test]
fn unknown_targets_get_suggestions() {
    let place = with_houses();
    place.refused(
        "fit houses.csv --target Prize",
        &["no column 'Prize'", "did you mean 'price'?", "'size', 'age'"],
    );
    let message = place.bad("fit houses.csv --target qqq");
    assert!(!message.contains("did you mean"), "{message}");
}

#[test]
fn missing_values_are_dropped_or_filled() {
    let place = with_houses();
    let holes = houses(120).replacen("Oslo", "", 2).replacen("Bergen", "na", 1);
    place.put("holes.csv", holes);
    let output = place.run("fit holes.csv --target price --missing drop --json");
    assert!(stderr(&output).contains("3 of 120 rows have missing values and are dropped"));
    let fit: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fit["n_rows"], 117);
    let output = place.run("fit holes.csv --target price --missing mean --out mean.json");
    assert!(stderr(&output).contains("3 missing values filled in"), "{}", stderr(&output));
    let output = place.run("predict mean.json holes.csv");
    assert!(stderr(&output).contains("3 missing values filled in"), "{}", stderr(&output));
    place.refused("predict mean.json holes.csv --missing error", &["row 1, column 'city'"]);

    let text = place.good("cv holes.csv --target price --missing mean");
    assert!(text.contains("note: missing values are filled in from all rows"), "{text}");

    place.good("fit houses.csv --target price --out plain.json");
    place.refused("predict plain.json holes.csv", &["row 1, column 'city'", "--missing drop"]);
    let output = place.run("predict plain.json holes.csv --missing drop");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 121);
    assert_eq!(text.lines().filter(|l| *l == "NA").count(), 3);
    assert_eq!(place.json("score plain.json holes.csv --missing drop --json")["n_rows"], 117);
}

#[test]
fn rows_are_counted_as_in_the_file_after_dropping() {
    let place = with_model();
    place.put("new.csv", "size,age,city,junk\n1,1,,1\n1,1,Rome,1\n");
    place.refused("predict model.json new.csv --missing drop", &["row 2, column 'city'", "'Rome'"]);
}

#[test]
fn data_that_do_not_fit_the_model() {
    let place = with_model();
    place.put("new.csv", "size,city,junk\n1,Oslo,1\n");
    place.refused("predict model.json new.csv", &["columns differ", "missing 'age'"]);
    place.put("new.csv", "size,age,junk\n1,1,1\n");
    place.refused("predict model.json new.csv", &["columns differ", "missing 'city'"]);
    place.put("new.csv", "size,age,city,junk\n1,1,Rome,1\n");
    place.refused("predict model.json new.csv", &["row 1, column 'city'", "'Rome'", "'Oslo'"]);
    place.put("new.csv", "size,age,city,junk\n1,old,Oslo,1\n");
    place.refused("predict model.json new.csv", &["row 1, column 'age'", "'old'"]);
    place.put("new.csv", "size,age,city,junk\n1,inf,Oslo,1\n");
    place.refused("predict model.json new.csv", &["row 1, column 'age'", "infinite"]);
    place.refused("score model.json new.csv", &["no column 'price'"]);
}

#[test]
fn model_files_that_cannot_be_used() {
    let place = with_model();
    let model = place.text("model.json");
    place.put("cut.json", &model[..model.len() / 2]);
    place.put("changed.json", model.replacen("size", "sise", 1));
    place.put("newer.json", model.replacen("\"format\":1", "\"format\":99", 1));
    place.put("empty.json", "");
    place.put("binary.json", b"\x00\xff");
    place.refused("predict absent.json houses.csv", &["absent.json"]);
    place.refused("predict cut.json houses.csv", &["cut.json", "truncated"]);
    place.refused("explain changed.json", &["checksum"]);
    place.refused("explain newer.json", &["format 99", "newer fewer"]);
    place.refused("score empty.json houses.csv", &["is empty"]);
    place.refused("report binary.json", &["not a model file"]);
    place.refused("predict houses.csv model.json", &["houses.csv", "not a model file"]);
}

#[test]
fn settings_out_of_range_are_named_as_flags() {
    let place = with_houses();
    place.refused("fit houses.csv --max-terms 0", &["--max-terms 0"]);
    place.refused("fit houses.csv --threads 0", &["--threads 0"]);
    place.refused("fit houses.csv --prior laplace --lam -1", &["--lam -1"]);
}

#[test]
fn wrong_usage_has_its_own_code() {
    let place = with_houses();
    for arguments in [
        "",
        "fit",
        "fry houses.csv",
        "fit houses.csv --nonsense",
        "fit houses.csv --max-terms many",
        "fit houses.csv --method magic",
        "fit houses.csv --task clustering",
        "fit houses.csv --gamma wide",
        "fit houses.csv --class-weight heavy",
        "fit houses.csv --memory-limit 4XB",
        "fit houses.csv --missing maybe",
        "predict model.json",
        "explain m.json --json --formula",
        "fit houses.csv --lam maybe",
        "fit houses.csv --lam cv --folds 1",
        "fit houses.csv --lam cv --rule worst",
        "fit houses.csv --lam cv --scoring nice",
        "fit houses.csv --lam cv --lams some",
        "cv houses.csv --score nice",
        "path",
    ] {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments}");
    }
    assert!(place.good("--version").starts_with("fewer "));
    assert!(place.good("fit --help").contains("--max-terms"));
}

#[test]
fn outputs_are_checked_before_the_work() {
    let place = with_model();
    std::fs::create_dir(place.path("folder")).unwrap();
    place.refused("fit houses.csv --out folder", &["directory"]);
    place.refused("fit houses.csv --out no/model.json", &["no folder 'no'"]);
    place.refused("fit houses.csv --out houses.csv", &["replace the data"]);
    place.refused("predict model.json houses.csv --out no/p.csv", &["no folder 'no'"]);
    place.refused("report model.json --out folder", &["directory"]);
    #[cfg(unix)]
    place.refused("fit houses.csv --out /dev/null", &["not a regular file"]);
}

#[test]
fn an_earlier_file_survives_a_fit_that_fails() {
    let place = with_model();
    let model = place.text("model.json");
    place.put("bad.csv", "x,y\n1,\n");
    place.bad("fit bad.csv --out model.json");
    assert_eq!(place.text("model.json"), model);
}

/// A limit on the size of files makes the writing itself fail.
#[cfg(unix)]
#[test]
fn an_earlier_file_survives_a_write_that_fails() {
    let place = with_model();
    place.good("predict model.json houses.csv --out p.csv");
    for (name, arguments) in [
        ("p.csv", "predict model.json houses.csv --out p.csv"),
        ("model.json", "fit houses.csv --quiet --out model.json"),
    ] {
        let before = (place.text(name), place.names());
        let fewer = env!("CARGO_BIN_EXE_fewer");
        let script = format!("trap '' XFSZ; ulimit -f 0; exec '{fewer}' {arguments} 2>&1 | cat");
        let output =
            Command::new("sh").args(["-c", &script]).current_dir(place.0.path()).output().unwrap();
        let message = String::from_utf8(output.stdout).unwrap();
        assert!(message.starts_with("error: "), "{message}");
        assert!(message.contains("cannot be written"), "{message}");
        assert_eq!((place.text(name), place.names()), before);
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_silent() {
    let place = Place::new();
    place.put("houses.csv", houses(50_000));
    place.good("fit houses.csv --quiet --out model.json");
    let fewer = env!("CARGO_BIN_EXE_fewer");
    let script = format!("'{fewer}' predict model.json houses.csv | head -n 1");
    let output =
        Command::new("sh").args(["-c", &script]).current_dir(place.0.path()).output().unwrap();
    assert_eq!(output.stdout, b"prediction\n");
    assert_eq!(stderr(&output), "");
}

#[cfg(unix)]
fn interrupt(child: &std::process::Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_fit_and_leaves_earlier_files() {
    let place = with_model();
    let model = place.text("model.json");
    // Enough work for many seconds.
    let mut text: String = (0..14).map(|j| format!("x{j},")).collect();
    text.push_str("y\n");
    for i in 0..6000usize {
        let cell = |j: usize| ((i * (j + 3) + i * i * (j + 1)) as f64 * 0.013).sin();
        (0..14).for_each(|j| text.push_str(&format!("{},", cell(j))));
        text.push_str(&format!("{}\n", cell(20)));
    }
    place.put("big.csv", text);
    let child = place
        .command("fit big.csv --target y --basis polynomial --degree 4 --out model.json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(800));
    let pressed = std::time::Instant::now();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(stderr(&output), "interrupted\n");
    assert!(pressed.elapsed().as_secs() < 10, "{:?}", pressed.elapsed());
    assert_eq!(place.text("model.json"), model);
    assert_eq!(place.names(), ["big.csv", "houses.csv", "model.json"]);
}

/// The points that are complete are printed, and files stay as they were.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_the_complete_part_of_a_search() {
    use std::io::{BufRead, BufReader, Read};
    let place = Place::new();
    place.put("houses.csv", houses(800));
    place.put("table.csv", "earlier");
    let mut child = place
        .command(
            "cv houses.csv --target price --basis polynomial --degree 4 --prior laplace --lam cv \
             --lams 3000 --folds 2 --verbose --out table.csv",
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    messages.read_line(&mut line).unwrap();
    assert!(line.contains(" of 6000 fits"), "{line}");
    interrupt(&child);
    let pressed = std::time::Instant::now();
    let output = child.wait_with_output().unwrap();
    assert!(pressed.elapsed().as_secs() < 10, "{:?}", pressed.elapsed());
    let mut rest = String::new();
    messages.read_to_string(&mut rest).unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest}");
    assert!(rest.ends_with("interrupted\n"), "{rest}");
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["mean mse", "interrupted", "of 3000 points are complete"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(place.text("table.csv"), "earlier");
}

/// A judgement by the folds that are complete, and of a path the same.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_the_complete_folds() {
    use std::io::{BufRead, BufReader, Read};
    let place = Place::new();
    place.put("houses.csv", houses(3000));
    for (flags, said) in [
        ("--method lasso --lams 300 --lam cv", "of 20 folds, which judge them"),
        ("--method lasso --lams 300 --lam cv --nested", "of 20 folds are complete"),
    ] {
        let command =
            "cv houses.csv --target price --basis polynomial --degree 4 --folds 20 --verbose";
        let mut child = place
            .command(&format!("{command} {flags}"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        messages.read_line(&mut line).unwrap();
        interrupt(&child);
        let output = child.wait_with_output().unwrap();
        let mut rest = String::new();
        messages.read_to_string(&mut rest).unwrap();
        assert_eq!(output.status.code(), Some(130), "{line}{rest}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(said), "{said}: {text}{rest}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_reading_of_a_pipe() {
    let place = Place::new();
    let mut child =
        place.command("fit -").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Kept open, or the reading would end by itself.
    let _input = child.stdin.take();
    std::thread::sleep(std::time::Duration::from_millis(300));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
}

#[test]
fn the_standard_input_is_read() {
    let place = with_model();
    let run = |arguments: &str| {
        let input = std::fs::File::open(place.path("houses.csv")).unwrap();
        let output = place.command(arguments).stdin(input).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run("predict model.json -"), place.good("predict model.json houses.csv"));
    assert!(run("fit - --target price").contains("3 of 4 terms kept"));
}

#[test]
fn svmlight_files_are_matched_by_position() {
    let place = Place::new();
    let rows = |last: usize| -> String {
        (0..80)
            .map(|i: usize| {
                let x = ((i * i) as f64 * 0.37).sin();
                let z = ((i * i) as f64 * 0.83).cos();
                format!("{} 1:{z} 2:{x} {last}:1\n", 2.0 * x + 1.0)
            })
            .collect()
    };
    place.put("a.svm", rows(3));
    place.put("wide.svm", rows(9));
    place.good("fit a.svm --out m.json");
    assert_eq!(place.good("explain m.json --formula"), "label = 1 + 2 x2\n");
    assert!(place.good("score m.json a.svm").contains("R²     1.0000"));
    let output = place.run("predict m.json wide.svm");
    assert!(output.status.success() && stderr(&output).contains("6 columns beyond the 3"));
    place.refused("fit a.svm --target y", &["leave --target out"]);
    place.put("b.csv", "x1,x2,x3\n1,2,3\n");
    place.refused("predict m.json b.csv", &["by column names"]);
    place.put("nan.svm", "1 1:nan 2:1\n2 1:1 2:3\n3 1:2 2:2\n");
    place.refused("fit nan.svm", &["row 1", "--missing drop"]);
    place.good("fit nan.svm --missing drop");
}

#[test]
fn svmlight_columns_never_shift() {
    let place = Place::new();
    let rows = |first: usize| -> String {
        (0..80)
            .map(|i: usize| {
                let x = ((i * i) as f64 * 0.37).sin();
                let z = ((i * i) as f64 * 0.83).cos();
                format!("{} {first}:{z} {}:{x}\n", 2.0 * x + 1.0, first + 1)
            })
            .collect()
    };
    place.put("zero.svm", rows(0));
    place.put("one.svm", rows(1));
    place.good("fit zero.svm --out zero.json");
    place.good("fit one.svm --out one.json");
    assert_eq!(place.good("explain zero.json --formula"), "label = 1 + 2 x1\n");
    assert_eq!(place.good("explain one.json --formula"), "label = 1 + 2 x2\n");
    // Without its first column a file from 0 looks like one from 1.
    let without: String = rows(0)
        .lines()
        .map(|line| {
            let parts: Vec<&str> = line.split(' ').collect();
            format!("{} {}\n", parts[0], parts[2])
        })
        .collect();
    place.put("part.svm", without);
    assert_eq!(place.good("predict zero.json part.svm"), place.good("predict zero.json zero.svm"));
    assert_eq!(place.good("predict one.json one.svm"), place.good("predict zero.json zero.svm"));
    assert!(place.good("score zero.json part.svm").contains("R²     1.0000"));
    place.refused("predict one.json zero.svm", &["line 1", "index 0", "--zero-based true"]);
    let shifted = place.good("predict one.json zero.svm --zero-based true");
    assert_eq!(shifted, place.good("predict one.json one.svm"));
    place.refused("fit zero.svm --zero-based false", &["line 1: found index 0"]);
    place.good("fit part.svm --zero-based true --out part.json");
    assert_eq!(place.good("explain part.json --formula"), "label = 1 + 2 x1\n");
}

/// A point in the plane and its class, by the names given; `junk` says nothing.
fn points(rows: usize, names: &[&str]) -> String {
    let mut text = String::from("east,north,junk,class\n");
    for i in 0..rows {
        let wave = |k: f64| ((i * i + 1) as f64 * k).sin();
        let (east, north, noise) = (wave(0.37), wave(0.71), 0.3 * wave(2.1));
        let cut = (names.len() as f64 * (0.5 + 0.4 * (east + north + noise))).max(0.0) as usize;
        let name = names[cut.min(names.len() - 1)];
        text.push_str(&format!("{east},{north},{},{name}\n", wave(1.3)));
    }
    text
}

#[test]
fn two_classes() {
    let place = Place::new();
    place.put("a.csv", points(200, &["calm", "wild"]));
    let text = place.good("fit a.csv --out m.json");
    for part in ["2 of 3 terms kept", "weight in wild", "classes      2: calm, wild", "errors"] {
        assert!(text.contains(part), "{text}");
    }
    let predicted = place.good("predict m.json a.csv");
    let mut lines = predicted.lines();
    assert_eq!(lines.next(), Some("prediction"));
    assert!(lines.all(|l| ["calm", "wild"].contains(&l)));
    let sure = place.good("predict m.json a.csv --proba");
    assert_eq!(sure.lines().next(), Some("prediction,probability_calm,probability_wild"));
    for line in sure.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let p: Vec<f64> = cells[1..].iter().map(|c| c.parse().unwrap()).collect();
        assert!((p[0] + p[1] - 1.0).abs() < 1e-12, "{line}");
        assert_eq!(cells[0] == "wild", p[1] > 0.5, "{line}");
    }
    let json = place.json("predict m.json a.csv --proba --json");
    assert_eq!(json["classes"], serde_json::json!(["calm", "wild"]));
    assert_eq!(json["probability_wild"].as_array().unwrap().len(), 200);

    let score = place.good("score m.json a.csv");
    for part in ["accuracy", "errors", "of 200", "balanced error", "log loss"] {
        assert!(score.contains(part), "{score}");
    }
    let score = place.json("score m.json a.csv --json");
    let (accuracy, errors) = (score["accuracy"].as_f64().unwrap(), score["errors"].as_u64());
    assert!(accuracy > 0.85 && accuracy < 1.0, "{score}");
    assert_eq!(errors, Some((200.0 * (1.0 - accuracy)).round() as u64));
    let fit = place.json("fit a.csv --json --quiet");
    assert_eq!(fit["method"], "ProbitClassifier");
    assert_eq!(fit["accuracy"], score["accuracy"]);
    assert_eq!(fit["classes"], serde_json::json!(["calm", "wild"]));
    assert!(fit["coef"][0]["weight"].is_number() && fit["formula"].is_string());
    let formula = place.good("explain m.json --formula");
    assert!(formula.starts_with("P(class = wild) = Φ("), "{formula}");
    place.good("report m.json a.csv");
    assert!(place.text("report.html").contains("Actual and predicted classes"));
    assert!(!place.text("report.html").contains("Classes in the plane"));
    place.good("fit a.csv --drop junk --basis rbf --candidates 40 --out rbf.json");
    place.good("report rbf.json a.csv");
    assert!(place.text("report.html").contains("Classes in the plane"));
}

#[test]
fn smlr_says_how_sure_it_is() {
    let place = Place::new();
    place.put("points.csv", points(200, &["near", "far"]));
    let fit = "fit points.csv --target class --method smlr --lam 1 --out model.json";
    let json = place.json(&format!("{fit} --uncertainty --json"));
    assert!(json["coef"][0]["std"].as_f64().unwrap() > 0.0);
    assert!(place.good("explain model.json").contains("standard error"));
    let plain = place.json("predict model.json points.csv --proba --json");
    let moderated = place.json("predict model.json points.csv --moderated --json");
    for i in 0..200 {
        let of = |json: &Value| json["probability_far"][i].as_f64().unwrap() - 0.5;
        assert!(of(&moderated).abs() <= of(&plain).abs() + 1e-12);
    }
    place.refused("predict model.json points.csv --std", &["classes"]);
    place.good(fit);
    place.refused("predict model.json points.csv --moderated", &["uncertainty"]);
    let houses = with_model();
    houses.refused("predict model.json houses.csv --std", &["no posterior"]);
    houses.refused("predict model.json houses.csv --interval 0.9", &["no posterior"]);
    houses.refused("predict model.json houses.csv --moderated", &["--moderated"]);
    houses.refused("bound model.json houses.csv", &["predicts numbers"]);
}

#[test]
fn relevance_vectors_take_numbers_and_classes() {
    let place = Place::new();
    place.put("points.csv", points(200, &["near", "far"]));
    for method in ["rvm", "rvc", "RVC"] {
        let fit = format!("fit points.csv --target class --method {method} --out model.json");
        assert_eq!(place.json(&format!("{fit} --json"))["method"], "RVC");
    }
    for method in ["arvm", "arvc"] {
        let fit = format!("fit points.csv --target class --method {method} --out learnt.json");
        assert_eq!(place.json(&format!("{fit} --json"))["method"], "AdaptiveRVC");
    }
    assert!(place.good("explain learnt.json").contains("rbf("));
    place.good("fit points.csv --target class --method arvm --variant paper --out paper.json");
    let averaged = place.json("predict model.json points.csv --proba --json");
    let plain = place.json("predict model.json points.csv --plug-in --json");
    for i in 0..200 {
        let of = |json: &Value| json["probability_far"][i].as_f64().unwrap() - 0.5;
        assert!(of(&averaged).abs() <= of(&plain).abs() + 1e-12);
    }
    place.put("three.csv", points(200, &["near", "far", "out"]));
    place.good("fit three.csv --target class --method rvm --multiclass multinomial --out m.json");
    let wrong = "fit points.csv --target class --method rvc --task regression --out m.json";
    place.refused(wrong, &["--method rvc", "classification"]);
    let houses = with_model();
    houses.refused("predict model.json houses.csv --plug-in", &["--plug-in"]);
}

#[test]
fn kernels_and_wavelets_are_learnt_from_a_signal() {
    let place = Place::new();
    let wave = |x: f64| (12.0 / (x + 0.3)).sin();
    let row = |i: usize| {
        let x = i as f64 / 128.0;
        format!("{x},{}\n", wave(x) + 0.05 * ((i * i) as f64).sin())
    };
    place.put("signal.csv", format!("x,y\n{}", (0..128).map(row).collect::<String>()));
    let fit = place.json("fit signal.csv --target y --method arvm --out arvm.json --json");
    assert_eq!(fit["method"], "AdaptiveRVR");
    assert_eq!(fit["feature_relevances"].as_array().unwrap().len(), 1);
    let text = place.good("explain arvm.json");
    assert!(text.contains("terms learnt") && text.contains("rbf(x = "), "{text}");
    assert!(!text.contains("features by relevance"), "{text}");
    let kernel = &place.json("explain arvm.json --json")["coef"][0];
    assert_eq!(kernel["family"], "rbf");
    assert!(kernel["centre"][0].is_number() && kernel["width"][0].is_number(), "{kernel}");
    let lines = place.good("predict arvm.json signal.csv --std");
    assert!(lines.starts_with("prediction,std\n"), "{lines}");
    place.good("report arvm.json signal.csv --out arvm.html");
    assert!(place.text("arvm.html").contains("Kernels under the fit"));
    let fit = place.json("fit signal.csv --target y --method srvm --out srvm.json --json");
    assert_eq!(fit["method"], "WaveletRVR");
    assert!(place.good("explain srvm.json").contains("sym8(x near "));
    place.good("report srvm.json signal.csv --out srvm.html");
    assert!(!place.text("srvm.html").contains("Kernels under the fit"));
    let short: String = (0..100).map(row).collect();
    place.put("short.csv", format!("x,y\n{short}"));
    let fit = "fit short.csv --target y --method srvm";
    place.refused(&format!("{fit} --out m.json"), &["100 rows", "power of two", "padding"]);
    place.good(&format!("{fit} --padding symmetric --out m.json"));
    let fit = "fit signal.csv --target y --out m.json";
    place.refused(&format!("{fit} --method srvm --sparsity cv"), &["--sparsity cv", "gaps"]);
    place.refused("cv signal.csv --target y --method srvm", &["all rows", "grid", "folds"]);
    let text = place.good(&format!("{fit} --method arvm --sparsity cv --shuffle"));
    assert!(text.contains("sparsity = "), "{text}");

    let row = |i: usize| {
        let [a, b] = [0.7, 0.3].map(|f| 2.0 * ((i * i) as f64 * f).sin());
        format!("{a},{b},{}\n", (-a * a).exp() + 0.02 * ((i * i * i) as f64).sin())
    };
    place.put("plane.csv", format!("a,b,y\n{}", (0..200).map(row).collect::<String>()));
    place.refused("fit plane.csv --target y --method srvm --out m.json", &["one feature"]);
    let fit = "fit plane.csv --target y --method arvm --anisotropic --families rbf,linear";
    let text = place.good(&format!("{fit} --out plane.json"));
    assert!(text.contains("features by relevance: a "), "{text}");
    place.good("report plane.json plane.csv");
    assert!(place.text("report.html").contains("Relevance of features"));
}

#[test]
fn errors_are_bounded_where_the_theorems_hold() {
    let place = Place::new();
    place.put("points.csv", points(400, &["near", "far"]));
    let fit = "fit points.csv --target class --method smlr --out model.json";
    place.good(&format!("{fit} --lam 1"));
    place.refused("bound model.json points.csv", &["free intercept", "--fit-intercept false"]);
    place.good(&format!("{fit} --lam 1 --fit-intercept false"));
    place.refused("bound model.json points.csv", &["units", "--standardize false"]);
    place.good(&format!("{fit} --lam 1 --l1-ratio 0.5 --fit-intercept false"));
    place.refused("bound model.json points.csv", &["has a ridge", "--l1-ratio 1"]);
    place.good(&format!("{fit} --lam 1 --standardize false --fit-intercept penalised"));
    let text = place.good("bound model.json points.csv --target class");
    assert!(text.contains("95 % confidence (400 rows)"), "{text}");
    let bound = place.json("bound model.json points.csv --delta 0.01 --json");
    let of = |name: &str| bound[name]["value"].as_f64().unwrap();
    assert!(of("pac_bayes_gibbs") > bound["gibbs_error"].as_f64().unwrap());
    assert_eq!(of("pac_bayes_point"), 2.0 * of("pac_bayes_gibbs"));
    assert!(bound["kl"].as_f64().unwrap() > 0.0);
    let near = place.json("bound model.json points.csv --gibbs gaussian --delta 0.01 --json");
    assert!(near["notes"][0].as_str().unwrap().contains("not proved"));
    place.refused("bound model.json points.csv --delta 2", &["--delta 2", "between 0 and 1"]);
    place.put("gaps.csv", "a,b,y\n1,2,u\n2,,v\n3,1,u\n4,5,v\n0,1,u\n2,2,v\n");
    place.good(
        "fit gaps.csv --missing mean --method smlr --lam 1 --standardize false --fit-intercept \
         false --out model.json",
    );
    for more in ["", " --multiclass ovr"] {
        let parts = ["filled in by means", "--missing drop"];
        place.refused(&format!("bound model.json gaps.csv{more}"), &parts);
    }
}

#[test]
fn many_classes() {
    let place = Place::new();
    place.put("a.csv", points(300, &["a", "b", "c"]));
    let fit = place.json("fit a.csv --json --quiet --basis polynomial --out m.json");
    assert_eq!(fit["coef"][0]["weight"].as_array().unwrap().len(), 3);
    assert_eq!(fit["intercept"].as_array().unwrap().len(), 3);
    assert_eq!(place.good("explain m.json --formula").lines().count(), 3);
    let fit = place.json("fit a.csv --json --quiet --method smlr --lam 1 --out s.json");
    assert!(fit["formula"][0].as_str().unwrap().starts_with("exp("), "{fit}");
    let lines = place.good("explain s.json --formula");
    assert!(lines.starts_with("P(class = a) ∝ exp("), "{lines}");
    assert!(lines.ends_with("P(class = c) ∝ 1\n"), "{lines}");
    let header = "prediction,probability_a,probability_b,probability_c";
    assert_eq!(place.good("predict m.json a.csv --proba").lines().next(), Some(header));
    assert!(place.json("score m.json a.csv --json")["accuracy"].as_f64().unwrap() > 0.7);
    place.good("report m.json a.csv");
    let weighted = place.json("fit a.csv --json --quiet --class-weight balanced");
    assert_eq!(weighted["settings"]["class_weight"], "balanced");
    let weighted = place.json("fit a.csv --json --quiet --class-weight 1,2,0.5");
    assert_eq!(weighted["settings"]["class_weight"], serde_json::json!([1.0, 2.0, 0.5]));
    place.refused(
        "fit a.csv --class-weight 1,2",
        &["a number for each of the 3 classes is expected"],
    );
}

#[test]
fn more_classes_are_bounded_against_the_rest() {
    let place = Place::new();
    place.put("a.csv", points(200, &["a", "b", "c"]));
    place.good(
        "fit a.csv --target class --method smlr --lam 1 --standardize false --fit-intercept false \
         --out model.json",
    );
    place.refused("bound model.json a.csv", &["each class against the rest (--multiclass ovr)"]);
    let found = place.json("bound model.json a.csv --multiclass ovr --json");
    let each = found["each"].as_array().unwrap();
    assert_eq!(each.len(), 3);
    for name in ["pac_bayes_point", "rademacher_point"] {
        let values = each.iter().map(|e| e["bound"][name]["value"].as_f64().unwrap());
        let off = found[name]["value"].as_f64().unwrap() - values.sum::<f64>();
        assert!(off.abs() < 1e-12, "{name}");
    }
    let text = place.good("bound model.json a.csv --multiclass ovr");
    assert!(text.contains("a, against the rest") && text.contains("95 % confidence"), "{text}");
}

#[test]
fn multinomial_methods_and_their_settings() {
    let place = Place::new();
    place.put("a.csv", points(200, &["a", "b", "c"]));
    let fit = |flags: &str| {
        place.json(&format!("fit a.csv --target class --json --quiet --lam 2 {flags}"))
    };
    let objective = |flags: &str| fit(flags)["objective"].as_f64().unwrap();
    let best = objective("--method smlr");
    for solver in ["bound", "componentwise", "componentwise --schedule gain"] {
        let found = objective(&format!("--method smlr --solver {solver}"));
        assert!((found / best - 1.0).abs() < 1e-7, "{solver}");
    }
    assert!(objective("--method smlr --parameterization symmetric") < best);
    let ridge = fit("--method rmlr");
    assert_eq!((ridge["method"].as_str(), ridge["n_terms"].as_u64()), (Some("RMLR"), Some(3)));
    assert_eq!(ridge["objective"], fit("--method smlr --l1-ratio 0")["objective"]);
    assert_eq!(fit("--method smlr --max-terms 1")["n_terms"], 1);
}

#[test]
fn labels_keep_their_kind() {
    let place = Place::new();
    place.put("i.csv", points(200, &["-1", "3"]));
    let output = place.run("fit i.csv --target class --json");
    assert!(stderr(&output).contains("'class' has only the values -1 and 3, taken as numbers"));
    let fit: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fit["method"], "SparseRegressor");
    for flags in ["--task classification", "--method probit"] {
        let output = place.run(&format!("fit i.csv --target class {flags} --json --out i.json"));
        assert_eq!(stderr(&output), "");
        let fit: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(fit["classes"], serde_json::json!([-1, 3]));
    }
    assert_eq!(place.good("predict i.json i.csv").lines().nth(1), Some("3"));
    assert!(place.json("score i.json i.csv --json")["accuracy"].as_f64().unwrap() > 0.85);
    place.put("b.csv", points(200, &["False", "TRUE"]));
    assert_eq!(place.json("fit b.csv --json")["classes"], serde_json::json!([false, true]));
    // Codes that only look like numbers.
    place.put("c.csv", points(200, &["01", "1"]));
    let fit = place.json("fit c.csv --categories class --json --out c.json");
    assert_eq!(fit["classes"], serde_json::json!(["01", "1"]));
    assert!(place.json("score c.json c.csv --json")["accuracy"].as_f64().unwrap() > 0.85);
    place.put("q.csv", points(200, &["\"so, so\"", "well"]));
    place.good("fit q.csv --out q.json");
    let sure = place.good("predict q.json q.csv --proba");
    assert!(sure.starts_with("prediction,\"probability_so, so\",probability_well\n"), "{sure}");

    let rows: String = (0..80)
        .map(|i: usize| {
            let x = ((i * i) as f64 * 0.37).sin();
            format!("{} 1:{x} 2:{}\n", if x > 0.1 { "+1" } else { "-1" }, i % 7)
        })
        .collect();
    place.put("a.svm", rows);
    let output = place.run("fit a.svm");
    assert!(stderr(&output).contains("the label has only the values -1 and 1"));
    let fit = place.json("fit a.svm --task classification --json --out svm.json");
    assert_eq!(fit["classes"], serde_json::json!([-1, 1]));
    assert_eq!(place.json("score svm.json a.svm --json")["errors"], 0);
    place.good("report svm.json a.svm");
    assert!(place.text("report.html").contains("Classes in the plane"));
}

#[test]
fn classes_that_cannot_be_used() {
    let place = Place::new();
    place.put("a.csv", points(100, &["calm", "wild"]));
    place
        .refused("fit a.csv --method sparse", &["'class' holds words", "regression needs numbers"]);
    place
        .refused("fit a.csv --method sparse --task classification", &["--method sparse", "probit"]);
    place.refused("fit a.csv --noise 1", &["--noise 1"]);
    place.refused("fit a.csv --basis rbf --gamma -1", &["--gamma -1"]);
    place.refused("fit a.csv --target junk --task classification", &["row 1", "is no class"]);
    place.refused("fit a.csv --target junk --class-weight balanced", &["--class-weight"]);
    place.put("b.csv", points(100, &["calm"]));
    place.refused("fit b.csv", &["'calm'", "at least 2 classes"]);
    place.put("b.csv", points(100, &["calm", "wild"]).replacen("wild", "", 1));
    place.refused("fit b.csv", &["column 'class'", "missing", "--missing drop"]);
    place.refused("fit b.csv --missing mean", &["column 'class'", "cannot be filled in"]);
    assert_eq!(place.json("fit b.csv --missing drop --json")["n_rows"], 99);
    let ids: String = (0..60).map(|i| format!("{i},n{i}\n")).collect();
    place.put("c.csv", format!("x,id\n{ids}"));
    place.refused("fit c.csv", &["60 classes in 60 rows"]);
    place.put("d.csv", "x,y\n1,1.5\n2,2.5\n3,x\n4,4\n");
    place.refused("fit d.csv", &["holds numbers, but row 3 has 'x'", "--task classification"]);

    place.good("fit a.csv --out m.json");
    place.put("new.csv", "east,north,junk,class\n1,1,0,wild\n-1,-1,0,odd\n-1,-1,0,calm\n");
    let output = place.run("score m.json new.csv --json");
    assert!(stderr(&output).contains("1 row has a class"), "{}", stderr(&output));
    let score: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&score["errors"], &score["n_rows"]), (&1.into(), &3.into()));
    place.put("new.csv", "east,north,junk\n1,1,0\n-1,,0\n");
    place.refused("score m.json new.csv", &["no column 'class'"]);
    let sure = place.good("predict m.json new.csv --proba --missing drop");
    assert!(sure.ends_with("NA,NA,NA\n"), "{sure}");
    place.good("fit a.csv --target junk --drop class --out n.json");
    place.refused("predict n.json a.csv --proba", &["numbers", "--proba"]);
}

#[test]
fn the_demo_writes_its_files() {
    let place = Place::new();
    let text = place.good("demo --out-dir out");
    assert!(text.lines().count() < 60, "{text}");
    assert!(text.contains("two half-moons, 250 noisy points"), "{text}");
    assert!(text.contains("442 patients, 10 measurements"), "{text}");
    for name in
        ["diabetes.csv", "model.json", "report.html", "terms.svg", "moons.csv", "boundary.svg"]
    {
        assert!(place.path("out").join(name).is_file(), "{name}");
    }
    assert_eq!(text, place.good("demo --out-dir out"));
    // What it says to type next works.
    for line in text.lines().filter_map(|l| l.strip_prefix("  fewer ")) {
        place.good(line.split(" | ").next().unwrap());
    }
    assert!(Path::new(&place.path("out/model.json")).exists());
    place.put("file", "");
    place.refused("demo --out-dir file", &["file"]);
}

#[track_caller]
fn assert_svg(text: &str) {
    assert!(text.starts_with("<svg ") && text.ends_with("</svg>"), "{text:.80}");
    assert!(!text.contains("NaN"), "{text}");
}

#[test]
fn settings_are_chosen_when_fitting() {
    let place = with_houses();
    let text = place.good("fit houses.csv --target price --method lasso --lam cv --out m.json");
    assert!(text.contains("chosen       λ = ") && text.contains("of 100 points in 5 folds"));
    assert_eq!(
        place.good("explain m.json"),
        text.replace("model        m.json\n", "")
            .lines()
            .filter(|l| !l.contains("on the training data"))
            .map(|l| format!("{l}\n"))
            .collect::<String>()
    );
    place.good("report m.json");
    assert!(place.text("report.html").contains("How settings were chosen"));
    let fit = place.json(
        "fit houses.csv --quiet --json --method lasso --lam cv --folds 3 --repeats 2 --seed 4 \
         --scoring mae --rule one-se --lams 12 --lam-min-ratio 0.01",
    );
    let selection = &fit["selection"];
    assert_eq!(selection["points"].as_array().unwrap().len(), 12);
    assert_eq!((&selection["folds"], &selection["repeats"]), (&3.into(), &2.into()));
    assert_eq!((&selection["score"], &selection["rule"]), (&"mae".into(), &"one_se".into()));
    assert_eq!(fit["settings"]["lam"], "cv");
    let fit = place.json("fit houses.csv --quiet --json --method lasso --lam bic --lams 50,5,0.5");
    assert_eq!((&fit["selection"]["score"], &fit["lam"]), (&"bic".into(), &0.5.into()));
    let fit = place.json(
        "fit houses.csv --quiet --json --basis rbf --gamma cv --gammas 0.1,0.01 --folds loo \
         --candidates 10 --max-iter 20",
    );
    assert_eq!(fit["selection"]["folds"], 120);
    let fit = place.json(
        "fit houses.csv --quiet --json --method lasso --lam 3 --l1-ratio 0.5 --positive \
         --adaptive 1 --relaxed --penalty-factors 1,0.5,1,2",
    );
    let settings = &fit["settings"];
    assert_eq!((&settings["l1_ratio"], &settings["adaptive"]), (&0.5.into(), &1.0.into()));
    assert_eq!((&settings["positive"], &settings["relaxed"]), (&true.into(), &true.into()));
    assert_eq!(settings["penalty_factors"], serde_json::json!([1.0, 0.5, 1.0, 2.0]));
}

#[test]
fn a_search_is_shown() {
    let place = with_houses();
    let cv = "cv houses.csv --target price --method lasso --lam cv --lam-min-ratio 1e-5";
    let text = place.good(&format!("{cv} --svg curve.svg --out table.csv"));
    for part in ["mean mse", "s.e.", "one-se   λ = ", "best     λ = ", "of 100 points; --out"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.lines().count() < 50, "{text}");
    assert_svg(&place.text("curve.svg"));
    let table = place.text("table.csv");
    let header = "lam,mse,standard_error,terms,fold_1,fold_2,fold_3,fold_4,fold_5";
    assert_eq!(table.lines().next(), Some(header));
    assert_eq!(table.lines().count(), 101);
    let found = place.json(&format!("{cv} --json"));
    assert_eq!(found["points"].as_array().unwrap().len(), 100);
    assert_eq!(found["complete"], true);
    let lam = |rule: &str| found["by_rule"][rule]["lam"].as_f64().unwrap();
    assert!(lam("one_se") >= lam("best"));
    let best = found["best"].as_u64().unwrap() as usize;
    assert_eq!(found["points"][best]["settings"]["lam"], lam("best"));
    // What the search chooses is what a fit chooses.
    let fit = place.json(&format!("{} --json --rule one-se", cv.replacen("cv", "fit", 1)));
    assert_eq!(fit["lam"], lam("one_se"));

    place.put("a.csv", points(150, &["calm", "wild"]));
    let text = place.good("cv a.csv --basis rbf --candidates 20 --gamma cv --svg g.svg");
    assert!(text.contains("mean deviance") && text.contains("best     γ = "), "{text}");
    assert_svg(&place.text("g.svg"));
    let text = place.good("cv a.csv --prior laplace --lam bic --lams 8");
    assert!(text.contains("bic") && !text.contains("one-se"), "{text}");
    let output = place.run("cv a.csv --prior laplace --lam cv --lams 8 --verbose --target class");
    assert!(stderr(&output).contains("40 of 40 fits"), "{}", stderr(&output));
    assert!(place.good("cv a.csv --prior laplace --lam cv --lams 8 --quiet").is_empty());
}

#[test]
fn methods_are_judged_on_rows_they_have_not_seen() {
    let place = with_houses();
    let text = place.good("cv houses.csv --target price --score r2,mae --out folds.csv");
    for part in ["120 rows in 5 folds", "r2", "mae", "fold"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("rmse"), "{text}");
    assert_eq!(place.text("folds.csv").lines().next(), Some("repeat,fold,r2,mae,terms"));
    assert_eq!(place.text("folds.csv").lines().count(), 6);
    let found = place.json(
        "cv houses.csv --target price --method lasso --lam cv --lams 10 --nested --score r2 \
         --folds 3 --repeats 2 --json",
    );
    assert!(found["scores"][0]["mean"].as_f64().unwrap() > 0.99, "{found}");
    assert_eq!(found["chosen"].as_array().unwrap().len(), 6);
    assert!(found["chosen"][0]["lam"].as_f64().unwrap() > 0.0);

    place.put("a.csv", points(200, &["calm", "wild"]));
    let found = place.json("cv a.csv --json --score error,auc");
    let mean = |k: usize| found["scores"][k]["mean"].as_f64().unwrap();
    assert!(mean(0) < 0.2 && mean(1) > 0.9, "{found}");
    let text = place.good("cv a.csv --folds loo --prior laplace --lam-ratio 0.1");
    assert!(text.contains("200 rows in 200 folds") && text.contains("over the folds"), "{text}");
}

/// Noise has nothing to find: choosing inside the folds cannot flatter it.
#[test]
fn noise_is_judged_as_noise() {
    let place = Place::new();
    let mut text: String = (0..30).map(|j| format!("x{j},")).collect();
    text.push_str("class,y\n");
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    for _ in 0..160 {
        (0..30).for_each(|_| text.push_str(&format!("{:.6},", next())));
        let class = if next() < 0.5 { "no" } else { "yes" };
        text.push_str(&format!("{class},{:.6}\n", next()));
    }
    place.put("noise.csv", text);
    let found = place.json(
        "cv noise.csv --target class --drop y --prior laplace --lam cv --lams 8 --nested --json \
         --score error",
    );
    let error = found["scores"][0]["mean"].as_f64().unwrap();
    assert!((0.35..0.65).contains(&error), "{found}");
    let found = place.json(
        "cv noise.csv --target y --drop class --method lasso --lam cv --nested --json --score r2",
    );
    assert!(found["scores"][0]["mean"].as_f64().unwrap() < 0.05, "{found}");
}

#[test]
fn groups_stay_together() {
    let place = Place::new();
    let mut text = String::from("who,patient,x,y\n");
    for i in 0..120usize {
        let own = ((i % 15) as f64 * 2.3).sin();
        let x = ((i * i) as f64 * 0.37).sin();
        text.push_str(&format!("p{},{},{x},{}\n", i % 15, i % 15, 5.0 * own + 0.1 * x));
    }
    place.put("a.csv", text);
    let r2 = |flags: &str| {
        let found = place.json(&format!("cv a.csv --target y --score r2 --json {flags}"));
        found["scores"][0]["mean"].as_f64().unwrap()
    };
    // Whoever was seen before is known; a new patient is not.
    assert!(r2("--drop patient --shuffle") > 0.9);
    assert!(r2("--group patient") < 0.5);
    let fit = place.json(
        "fit a.csv --target y --group patient --method lasso --lam cv --lams 10 --json --quiet",
    );
    assert!(!fit["feature_names_in"].as_array().unwrap().contains(&"patient".into()));
    let output = place.run("cv a.csv --target y --group patient --method lasso --lam cv --nested");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("note: the folds that choose settings may split groups"), "{text}");
    place.refused("cv a.csv --target y --group patiant", &["(--group)", "did you mean 'patient'?"]);
    place.refused("cv a.csv --target y --group y", &["both target and group"]);
    place.refused("cv a.csv --target y --group patient --folds 20", &["--folds 20", "at most 15"]);
    place.refused("cv a.csv --target y --group patient --folds loo", &["--folds loo", "--group"]);
    place.refused("fit a.csv --target y --group patient", &["--group", "--lam cv"]);
}

#[test]
fn choices_that_make_no_sense() {
    let place = with_houses();
    for (arguments, parts) in [
        ("fit houses.csv --folds 3", &["--folds 3", "add --lam cv"][..]),
        ("fit houses.csv --shuffle", &["--shuffle: there is nothing to choose"]),
        ("fit houses.csv --lam cv", &["--lam cv", "Jeffreys"]),
        ("fit houses.csv --method lasso --lam cv --lam-ratio 0.5", &["--lam-ratio 0.5"]),
        ("fit houses.csv --method lasso --lam bic --folds 4", &["--folds 4", "bic needs none"]),
        ("fit houses.csv --method lasso --lam cv --scoring auc", &["--scoring auc", "rmse, mse"]),
        ("fit houses.csv --method lasso --lam cv --lams -1,2", &["--lams -1"]),
        ("fit houses.csv --method lasso --lam cv --gammas 4", &["--gammas 4", "--gamma cv"]),
        ("fit houses.csv --gamma cv", &["--gamma cv", "--basis rbf"]),
        ("fit houses.csv --method lasso --l1-ratio 2", &["--l1-ratio 2"]),
        ("fit houses.csv --method lasso --penalty-factors 1,2", &["--penalty-factors", "4"]),
        (
            "fit houses.csv --positive",
            &["--positive: there is no such setting", "--fit-intercept", "--threads"],
        ),
        ("cv houses.csv --folds 500", &["--folds 500"]),
        ("cv houses.csv --score auc", &["--score auc", "which are scored by rmse"]),
        ("cv houses.csv --svg a.svg", &["--svg draws a search", "--lam cv"]),
        ("cv houses.csv --method lasso --lam cv --score r2", &["--scoring", "--nested"]),
        ("cv houses.csv --folds loo --shuffle", &["--folds loo", "leave out --shuffle"]),
        ("cv houses.csv --out houses.csv", &["replace the data"]),
        ("cv houses.csv --method lasso --lam cv --svg no/a.svg", &["no folder 'no'"]),
        ("path houses.csv --method sparse", &["--method lasso", "--prior laplace"]),
        ("path houses.csv --lam 3", &["--lam 3", "--lams"]),
        ("path houses.csv --basis rbf --gamma cv", &["--gamma", "fewer cv"]),
        ("path houses.csv --lams 3, --svg a.svg", &["--svg", "two"]),
    ] {
        place.refused(arguments, parts);
    }
    assert_eq!(place.names(), ["houses.csv"]);
}

#[test]
fn paths_are_shown() {
    let place = with_houses();
    let text = place.good("path houses.csv --target price --svg p.svg --csv p.csv");
    for part in ["enters (+)", "+size", "+city=Oslo", "R²", "  bic", "chosen   λ = ", "bic of 100"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_svg(&place.text("p.svg"));
    assert!(place.text("p.svg").contains(">BIC: "));
    let table = place.text("p.csv");
    assert!(table.starts_with("lam,terms,explained,intercept,size,age,"), "{table:.80}");
    assert_eq!(table.lines().count(), 101);
    let found = place.json("path houses.csv --target price --lams 1000,100,1 --json");
    let steps = found["path"].as_array().unwrap();
    assert_eq!(
        steps.iter().map(|s| s["lam"].as_f64().unwrap()).collect::<Vec<_>>(),
        [1000., 100., 1.]
    );
    assert_eq!(found["chosen"]["by"], "bic");
    assert!(steps[2]["explained"].as_f64().unwrap() > 0.99);
    assert_eq!(steps[2]["coef"][0]["term"], "size");
    // A step is the fit with that λ.
    let fit = place.json("fit houses.csv --target price --method lasso --lam 100 --json");
    assert_eq!(steps[1]["n_terms"], fit["n_terms"]);
    let weight = |v: &Value| v["coef"][0]["weight"].as_f64().unwrap();
    assert!((weight(&steps[1]) - weight(&fit)).abs() < 1e-4);
    let text = place.good("path houses.csv --target price --lam cv --rule one-se --svg p.svg");
    assert!(text.contains("simplest of 100 points within one s.e."), "{text}");
    assert!(place.text("p.svg").contains("cross-validation, one s.e.: "));

    for names in [&["calm", "wild"][..], &["a", "b", "c"]] {
        place.put("a.csv", points(200, names));
        let text = place.good("path a.csv --prior laplace --lams 12 --svg a.svg --csv a.csv.csv");
        assert!(text.contains("deviance explained"), "{text}");
        assert_svg(&place.text("a.svg"));
        let wide = place.text("a.csv.csv").lines().next().unwrap().split(',').count();
        assert_eq!(wide, 3 + 4 * if names.len() == 2 { 1 } else { 3 });
    }
}
