//! `fewer path`

use clap::Args;
use fewer::Error;
use fewer::data::{Dataset, Target};
use fewer::method::{Task, fit_path};
use fewer::model::Model;
use fewer::select::{Predicted, Score, Selection, keeps_every_term};
use fewer_report::{number, path_svg};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::failure::{Failure, Outcome};
use crate::input::{DataArgs, Roles, speaker};
use crate::output;
use crate::selection::{choice, table};
use crate::settings::Settings;
use crate::watch::{Watch, until_safe};

/// Show which terms enter as the penalty λ weakens
///
/// From the λ that leaves no term down to a small part of it, each with its terms and the part of
/// the variance (for classes, of the deviance) that they explain on the data themselves. One λ is
/// marked: the one chosen by BIC (by cross-validation where every term stays, as with rmlr), or as
/// --lam says.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fewer path houses.csv --target price --method lasso --svg path.svg
  fewer path houses.csv --target price --method lasso --lam cv --rule one-se --csv path.csv
  fewer path houses.csv --target price --method lasso --lams 100,10,1 --json
  fewer path patients.csv --target sick --method probit --prior laplace --lams 30")]
pub struct PathCommand {
    #[command(flatten)]
    roles: Roles,
    #[command(flatten)]
    data: DataArgs,
    /// Draw the effects of the terms by λ here
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Write the weights for each λ here
    #[arg(long, value_name = "FILE.csv")]
    csv: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print nothing but errors (and what --json asks for)
    #[arg(long, short)]
    quiet: bool,
    /// Say how it goes, line by line
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    settings: Settings,
}

/// A model of the path.
struct Step {
    lam: f64,
    model: Model,
    /// Part of the variance, or deviance, explained.
    explained: Option<f64>,
}

impl PathCommand {
    pub fn run(self) -> Outcome {
        let path = &self.data.data;
        let [svg, csv] = [&self.svg, &self.csv]
            .map(|file| file.as_deref().map(|file| output::check_result(file, path)).transpose());
        let (svg, csv) = (svg?, csv?);
        let wanted = self.settings.task()?;
        self.check()?;
        let training = self.data.training(&self.roles, wanted, &speaker(self.quiet))?;
        let data = training.dataset(path)?;
        let failure = |e| training.failure(path, e);
        let method = self.settings.method_or(
            training.task(),
            match training.task() {
                Task::Regression => Some("lasso"),
                Task::Classification => None,
            },
        );
        let settings: Value =
            serde_json::from_str(&self.settings.to_method_json()).unwrap_or_default();
        let usual = if keeps_every_term(method, &settings) { "cv" } else { "bic" };
        let search = self.settings.search_lam(method, usual, training.groups.as_deref())?;
        let watch = Watch::new(self.quiet, self.verbose);
        let (selection, steps) = until_safe(|| {
            let selection = search.run(&data, &watch).map_err(|e| match e {
                Error::Setting { name, .. } if name == "lam" => Failure::Input(
                    "a path is that of λ, and these settings have none: take --method lasso, or \
                     --prior laplace"
                        .into(),
                ),
                other => failure(other),
            })?;
            let lams: Vec<f64> =
                selection.points.iter().filter_map(|p| p.settings.get("lam")?.as_f64()).collect();
            let settings = self.settings.to_method_json();
            let models =
                fit_path(method, &settings, None, &data, &lams, &watch).map_err(failure)?;
            let step = |(lam, model): (&f64, Model)| {
                let explained = explained(&model, &data);
                Step { lam: *lam, model, explained }
            };
            Ok((selection, lams.iter().zip(models).map(step).collect::<Vec<Step>>()))
        })?;
        drop(watch);

        if let Some(file) = &svg {
            let models: Vec<Model> = steps.iter().map(|s| s.model.clone()).collect();
            let lam = steps.get(selection.chosen).map(|s| s.lam);
            let name = chosen_by(&selection);
            let picture = path_svg(&models, lam.map(|lam| (lam, name)));
            let picture = picture.ok_or_else(|| {
                Failure::Input("--svg: at least two λ's above 0 are needed for a picture".into())
            })?;
            output::write(file, &picture)?;
        }
        if let Some(file) = &csv {
            output::write(file, &path_csv(&steps))?;
        }
        if self.json {
            let mut value = path_json(&steps, &selection);
            value["method"] = json!(method);
            value["target"] = json!(training.target_name);
            value["n_rows"] = json!(data.rows());
            return output::print_json(&value);
        }
        if self.quiet {
            return Ok(());
        }
        let mut lines = vec![("chosen", choice(&selection))];
        lines.extend(selection.notes.iter().map(|note| ("note", note.clone())));
        let files = [("picture", &self.svg), ("table", &self.csv)];
        lines.extend(
            files.iter().filter_map(|(name, f)| Some((*name, f.as_ref()?.display().to_string()))),
        );
        let table = steps_table(&steps, &selection, training.task());
        output::print(&format!("{table}\n{}", output::aligned(&lines)))
    }

    fn check(&self) -> Outcome {
        if let Some(lam) = self.settings.lam().filter(|l| l.is_number()) {
            return Err(Failure::Input(format!(
                "--lam {lam}: a path has many λ's, which --lams gives; --lam says how to mark one \
                 of them: bic, ebic, aic or cv"
            )));
        }
        if self.settings.chooses_gamma() {
            return Err(Failure::Input(
                "--gamma: a path is that of λ alone; fewer cv chooses γ, to be given here as a \
                 number"
                    .into(),
            ));
        }
        Ok(())
    }
}

fn chosen_by(selection: &Selection) -> &str {
    match (selection.folds, selection.rule) {
        (0, _) => match selection.score.as_str() {
            "bic" => "BIC",
            "ebic" => "EBIC",
            "aic" => "AIC",
            other => other,
        },
        (_, fewer::select::Rule::Best) => "cross-validation",
        (_, fewer::select::Rule::OneSe) => "cross-validation, one s.e.",
    }
}

/// Part of the variance, or of the deviance, that a model explains on the data.
fn explained(model: &Model, data: &Dataset<'_>) -> Option<f64> {
    let (features, target) = (*data.features(), data.target());
    let predicted = Predicted::with_offset(model, features, target, data.offset()).ok()?;
    let of = |score: Score| score.of(data.target(), &predicted, data.weights()).ok();
    let part = match data.target() {
        Target::Numbers(_) => of(Score::R2)?,
        Target::Labels { classes, codes } => {
            let mut counts = vec![0.0; classes.len()];
            for (i, &code) in codes.iter().enumerate() {
                counts[code] += data.weights().map_or(1.0, |w| w[i]);
            }
            let all: f64 = counts.iter().sum();
            let share = |c: &f64| if *c > 0.0 { -2.0 * c / all * (c / all).ln() } else { 0.0 };
            1.0 - of(Score::Deviance)? / counts.iter().map(share).sum::<f64>()
        }
    };
    part.is_finite().then_some(part)
}

/// The most steps that are listed, and the width of the names of terms in each.
const MOST_STEPS: usize = 40;
const WIDEST_NAMES: usize = 48;

fn indices(model: &Model) -> BTreeMap<usize, &str> {
    model.terms().iter().map(|t| (t.index, t.name.as_str())).collect()
}

/// The steps where terms enter or leave, the ends and the chosen one.
fn shown(steps: &[Step], chosen: usize) -> Vec<usize> {
    let sets: Vec<Vec<usize>> =
        steps.iter().map(|s| s.model.terms().iter().map(|t| t.index).collect()).collect();
    let last = steps.len().saturating_sub(1);
    let changes = |&k: &usize| k == 0 || k == last || k == chosen || sets[k] != sets[k - 1];
    let changed: Vec<usize> = (0..steps.len()).filter(changes).collect();
    if changed.len() <= MOST_STEPS {
        return changed;
    }
    let end = changed.len() - 1;
    let even = (0..MOST_STEPS - 1).map(|i| changed[i * end / (MOST_STEPS - 2)]);
    even.chain([chosen]).collect::<BTreeSet<usize>>().into_iter().collect()
}

fn steps_table(steps: &[Step], selection: &Selection, task: Task) -> String {
    let shown = shown(steps, selection.chosen);
    let explained = if task == Task::Regression { "R²" } else { "deviance explained" };
    let header = ["λ", "terms", explained, "", "enters (+) and leaves (−)"].map(String::from);
    let mut before = BTreeMap::new();
    let mut rows = Vec::new();
    for &k in &shown {
        let step = &steps[k];
        let now = indices(&step.model);
        let entered = names('+', &now, &before);
        let left = names('−', &before, &now);
        rows.push(vec![
            number(step.lam, 5),
            step.model.n_terms().to_string(),
            step.explained.map_or("–".into(), part_text),
            if k == selection.chosen { selection.score.clone() } else { String::new() },
            [entered, left].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join("  "),
        ]);
        before = now;
    }
    let mut text = table(&header, &rows);
    if shown.len() < steps.len() {
        let (shown, all) = (shown.len(), steps.len());
        text.push_str(&format!("{shown} of {all} λ's; --csv writes all\n"));
    }
    text
}

/// Four decimals; rounding leaves no negative zero.
fn part_text(part: f64) -> String {
    format!("{:.4}", (part * 1e4).round() / 1e4 + 0.0)
}

/// The terms of one model that another has not.
fn names(sign: char, of: &BTreeMap<usize, &str>, without: &BTreeMap<usize, &str>) -> String {
    let mut names: Vec<String> = of
        .iter()
        .filter(|(index, _)| !without.contains_key(index))
        .map(|(_, name)| format!("{sign}{name}"))
        .collect();
    let mut width = 0;
    let fits = |name: &&String| {
        width += name.chars().count() + 1;
        width <= WIDEST_NAMES
    };
    let shown = names.iter().take_while(fits).count().max(1);
    // The last name takes no more room than to say that there is one more.
    if names.len() > shown + 1 {
        let more = names.len() - shown;
        names.truncate(shown);
        names.push(format!("{sign}{more} more"));
    }
    names.join(" ")
}

fn path_json(steps: &[Step], selection: &Selection) -> Value {
    let points: Vec<Value> = steps
        .iter()
        .map(|step| {
            let model = output::model_json(&step.model);
            json!({
                "lam": step.lam,
                "n_terms": step.model.n_terms(),
                "explained": step.explained,
                "intercept": model["intercept"],
                "coef": model["coef"],
                "converged": model["converged"],
            })
        })
        .collect();
    json!({
        "path": points,
        "chosen": {
            "position": selection.chosen,
            "lam": selection.chosen_point().settings.get("lam"),
            "by": selection.score,
            "rule": selection.rule,
            "folds": selection.folds,
        },
    })
}

/// A line for each λ, a column for each term that is ever kept.
fn path_csv(steps: &[Step]) -> String {
    let mut terms: BTreeMap<usize, &str> = BTreeMap::new();
    steps.iter().for_each(|s| terms.extend(indices(&s.model)));
    let outputs = steps.first().map_or(Vec::new(), |s| s.model.explain().outputs);
    let name = |term: &str, k: usize| match outputs.len() {
        1 => output::csv_cell(term).into_owned(),
        _ => output::csv_cell(&format!("{term} ({})", outputs[k])).into_owned(),
    };
    let mut header: Vec<String> = ["lam", "terms", "explained"].map(String::from).to_vec();
    for k in 0..outputs.len() {
        header.push(name("intercept", k));
        header.extend(terms.values().map(|term| name(term, k)));
    }
    let mut out = header.join(",") + "\n";
    for Step { lam, model, explained } in steps {
        let mut cells = vec![lam.to_string(), model.n_terms().to_string()];
        cells.push(explained.map_or(String::new(), |r| r.to_string()));
        for k in 0..outputs.len() {
            let weights = model.coefficients_of(k);
            cells.push(model.intercept_of(k).to_string());
            cells.extend(terms.keys().map(|j| weights.get(*j).unwrap_or(&0.0).to_string()));
        }
        out.push_str(&(cells.join(",") + "\n"));
    }
    out
}
