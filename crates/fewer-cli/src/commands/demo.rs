//! `fewer demo`

mod moons;

use clap::Args;
use fewer::data::{Column, Dataset, DenseView, Encoder, Missing, Table};
use fewer::model::Model;
use fewer_files::{ReadOptions, Records};
use fewer_report::{Accuracy, Comparison, ReportInput, report_html, terms_svg};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::watch::{Watch, until_safe};

const DATA: &str = include_str!("../../data/diabetes.csv");
const FOLDS: usize = 10;
const SEED: u64 = 2004;

/// The models that are compared: name and settings.
const MODELS: [(&str, &str); 4] = [
    ("sparse, degree 2", r#"{"basis": "polynomial", "degree": 2}"#),
    ("sparse, degree 1", "{}"),
    ("all of degree 2", r#"{"basis": "polynomial", "degree": 2, "prior": "gaussian", "lam": 0}"#),
    ("all of degree 1", r#"{"prior": "gaussian", "lam": 0}"#),
];

/// Show on real data what fewer does, in a few seconds
///
/// Fits the diabetes data of Efron, Hastie, Johnstone and Tibshirani (2004), compares the sparse
/// model with the full ones by cross-validation, and writes the data, the model and a report. Then
/// tells two half-moons apart by few kernels, and draws them.
#[derive(Args)]
pub struct Demo {
    /// The folder to write into
    #[arg(long, value_name = "FOLDER", default_value = "demo")]
    out_dir: PathBuf,
}

impl Demo {
    pub fn run(self) -> Outcome {
        let folder = &self.out_dir;
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::in_file(folder, format!("cannot be made: {e}")))?;
        let file = |name: &str| folder.join(name);
        output::write(&file("diabetes.csv"), DATA)?;
        let patients = Patients::read(&file("diabetes.csv"))?;

        let all: Vec<usize> = (0..patients.target.len()).collect();
        let model = patients.fit(MODELS[0].1, &all)?;
        let comparison = Comparison::Numbers {
            predicted: model.predict_table(&patients.table)?,
            actual: patients.target.clone(),
        };
        let scores = MODELS
            .iter()
            .map(|(_, settings)| patients.cross_validate(settings))
            .collect::<Outcome<Vec<Scores>>>()?;

        output::save(&model, &file("model.json"))?;
        output::write(&file("terms.svg"), &terms_svg(&model))?;
        let report = ReportInput::new(&model).with_data("the training data", &comparison);
        output::write(&file("report.html"), &report_html(&report))?;

        output::print(&format!(
            "1. Regression: {} patients, {} measurements; target: the progression of diabetes after one year.\n\
             Offered: all {} products up to degree 2. Kept: {}.\n\n\
             {}\n\
             {}\n\n\
             {}\n{}\n\
             2. Classification: {}",
            all.len(),
            patients.table.names().len(),
            model.basis_size(),
            model.n_terms(),
            terms_only(&model),
            output::formula_lines(&model),
            table(&scores),
            next_steps(folder),
            moons::show(folder)?,
        ))
    }
}

/// The table of terms without its first line.
fn terms_only(model: &Model) -> String {
    let text = output::terms(model, true);
    text.split_once('\n').map_or(String::new(), |(_, rest)| rest.into())
}

fn table(scores: &[Scores]) -> String {
    let mut text = format!(
        "On patients not seen in fitting ({FOLDS}-fold cross-validation):\n\
         {:<18} {:>6} {:>7}   {}\n",
        "model", "terms", "R²", "RMSE (± s.e.)"
    );
    for ((name, _), score) in MODELS.iter().zip(scores) {
        let (rmse, error) = mean_and_error(&score.rmse);
        text.push_str(&format!(
            "{name:<18} {:>6.1} {:>7.3}   {rmse:.2} ± {error:.2}\n",
            mean_and_error(&score.terms).0,
            score.r2
        ));
    }
    text
}

fn next_steps(folder: &Path) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    let (data, model, report) = (at("diabetes.csv"), at("model.json"), at("report.html"));
    format!(
        "Look at {report} and {}, or type\n  \
         fewer fit {data} --target target --basis polynomial --out {model}\n  \
         fewer predict {model} {data} | head\n  \
         fewer score {model} {data}\n  \
         fewer explain {model} --formula\n",
        at("terms.svg")
    )
}

/// How a model did on the rows that its fits had not seen.
struct Scores {
    /// Of all rows together.
    r2: f64,
    /// Of each fold.
    rmse: Vec<f64>,
    terms: Vec<f64>,
}

struct Patients {
    table: Table,
    columns: Vec<Vec<f64>>,
    target: Vec<f64>,
}

impl Patients {
    fn read(path: &Path) -> Outcome<Self> {
        let odd = || Failure::in_file(path, "this is not the data of the demonstration");
        let Records::Table(mut table) = fewer_files::read(path, &ReadOptions::default())? else {
            return Err(odd());
        };
        let Some(Column::Number(target)) = table.take("target") else { return Err(odd()) };
        let columns = table.iter().filter_map(|(_, column)| match column {
            Column::Number(values) => Some(values.clone()),
            Column::Text(_) => None,
        });
        Ok(Self { columns: columns.collect(), table, target })
    }

    /// The chosen rows, column after column.
    fn inputs(&self, rows: &[usize]) -> Vec<f64> {
        self.columns.iter().flat_map(|column| rows.iter().map(|&i| column[i])).collect()
    }

    fn fit(&self, settings: &str, rows: &[usize]) -> Outcome<Model> {
        let x = self.inputs(rows);
        let y: Vec<f64> = rows.iter().map(|&i| self.target[i]).collect();
        let view = DenseView::by_columns(&x, rows.len(), self.columns.len())?;
        let (encoder, _) = Encoder::fit(&self.table, Missing::Error)?;
        let data = Dataset::new(view, &y)?.with_target_name("target").with_encoder(encoder)?;
        let watch = Watch::silent();
        until_safe(|| Ok(fewer::method::fit("sparse", settings, None, &data, &watch)?))
    }

    fn cross_validate(&self, settings: &str) -> Outcome<Scores> {
        let rows = self.target.len();
        let order = shuffled(rows, SEED);
        let mut predicted = vec![0.0; rows];
        let (mut rmse, mut terms) = (Vec::new(), Vec::new());
        for fold in 0..FOLDS {
            let in_fold = |k: &usize| k % FOLDS == fold;
            let pick = |wanted: bool| -> Vec<usize> {
                (0..rows).filter(|k| in_fold(k) == wanted).map(|k| order[k]).collect()
            };
            let (train, test) = (pick(false), pick(true));
            let model = self.fit(settings, &train)?;
            let x = self.inputs(&test);
            let found =
                model.predict(DenseView::by_columns(&x, test.len(), self.columns.len())?)?;
            let actual: Vec<f64> = test.iter().map(|&i| self.target[i]).collect();
            rmse.push(Accuracy::of(&actual, &found, None).rmse);
            terms.push(model.n_terms() as f64);
            test.iter().zip(found).for_each(|(&i, value)| predicted[i] = value);
        }
        let r2 = Accuracy::of(&self.target, &predicted, None).r2.unwrap_or(0.0);
        Ok(Scores { r2, rmse, terms })
    }
}

/// The numbers below `count` in an order that depends on the seed only.
fn shuffled(count: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut state = seed;
    for k in (1..count).rev() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(k, (state >> 33) as usize % (k + 1));
    }
    order
}

/// The mean and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}
