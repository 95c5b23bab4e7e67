//! `fewer cv`

use clap::Args;
use fewer::method::Task;
use fewer::select::{Evaluation, Rule, Score, Search, Selection, evaluate};
use fewer_report::{number, selection_svg};
use serde_json::json;
use std::path::{Path, PathBuf};

use crate::choosing::{score, score_names};
use crate::failure::{Failure, Outcome};
use crate::input::{DataArgs, MissingArg, Roles, Training, speaker};
use crate::output;
use crate::selection::{
    choice, folds_text, points_csv, points_table, settings_text, symbol, table, value_text,
    with_error,
};
use crate::settings::Settings;
use crate::watch::{Watch, until_stopped, was_interrupted};

/// Choose settings, or judge a method, by cross-validation
///
/// With --lam cv or --gamma cv (or bic, ebic, aic), prints the score of every value tried, and what
/// the rules choose. With --nested, or where nothing is to be chosen, prints how good the method is
/// on rows it has not seen, the choosing included: it is done anew without each fold.
///
/// Ctrl-C ends a search with the points, or the folds, that are complete.
#[derive(Args)]
#[command(after_help = "\
Examples:
  fewer cv houses.csv --target price --method lasso --lam cv --svg curve.svg
  fewer cv houses.csv --target price --method lasso --lam cv --nested --score r2,mae
  fewer cv patients.csv --target sick --folds 10 --group clinic
  fewer cv patients.csv --target sick --basis rbf --gamma cv --json")]
pub struct Cv {
    #[command(flatten)]
    roles: Roles,
    #[command(flatten)]
    data: DataArgs,
    /// Judge the method with its choosing of settings, in folds around the folds that choose
    ///
    /// --folds and --shuffle hold for both; --repeats and --group for the outer folds.
    #[arg(long)]
    nested: bool,
    /// The scores of the method, between commas [default: all that the target allows]
    #[arg(long, value_name = "SCORE,...", value_delimiter = ',', value_parser = score_names())]
    score: Vec<String>,
    /// Draw the scores of a search here
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
    /// Write the whole table here: a line for each point of a search, or for each fold
    #[arg(long, short, value_name = "FILE.csv")]
    out: Option<PathBuf>,
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

impl Cv {
    pub fn run(self) -> Outcome {
        let path = &self.data.data;
        let [svg, out] = [&self.svg, &self.out]
            .map(|file| file.as_deref().map(|file| output::check_result(file, path)).transpose());
        let (svg, out) = (svg?, out?);
        let wanted = self.settings.task()?;
        let searched = self.settings.word().is_some() && !self.nested;
        self.check(searched)?;
        let training = self.data.training(&self.roles, wanted, &speaker(self.quiet))?;
        let method = self.settings.method(training.task());
        if searched {
            let search = self.settings.search(method, training.groups.as_deref())?;
            self.search(&training, method, &search, svg.as_deref(), out.as_deref())
        } else {
            self.evaluate(&training, method, out.as_deref())
        }
    }

    fn check(&self, searched: bool) -> Outcome {
        match searched {
            true if !self.score.is_empty() => Err(Failure::Input(format!(
                "--score {}: a search has one score, --scoring; --nested judges the method by \
                 several",
                self.score.join(",")
            ))),
            false if self.svg.is_some() => Err(Failure::Input(
                "--svg draws a search: choose a setting, such as --lam cv, without --nested".into(),
            )),
            _ => Ok(()),
        }
    }

    fn search(
        &self,
        training: &Training,
        method: &str,
        search: &Search,
        svg: Option<&Path>,
        out: Option<&Path>,
    ) -> Outcome {
        let path = &self.data.data;
        let data = training.dataset(path)?;
        let watch = Watch::new(self.quiet, self.verbose);
        let selection =
            until_stopped(|| search.run(&data, &watch).map_err(|e| training.failure(path, e)))?;
        drop(watch);
        let interrupted = was_interrupted() || !selection.complete;
        // After Ctrl-C files stay as they were, and what is known is printed.
        let mut written = Vec::new();
        if !interrupted {
            if let Some(file) = svg {
                let picture = selection_svg(&selection).ok_or_else(|| {
                    Failure::Input("--svg: at least two points are needed for a curve".into())
                })?;
                output::write(file, &picture)?;
                written.extend(self.svg.as_ref().map(|file| ("picture", file)));
            }
            if let Some(file) = out {
                output::write(file, &points_csv(&selection))?;
                written.extend(self.out.as_ref().map(|file| ("table", file)));
            }
        }
        if self.json {
            let mut value = json!(selection);
            let at = |rule| &selection.points[selection.by_rule(rule)].settings;
            value["method"] = json!(method);
            value["target"] = json!(training.target_name);
            value["n_rows"] = json!(data.rows());
            value["by_rule"] = match selection.folds {
                0 => json!({"best": at(Rule::Best)}),
                _ => json!({"best": at(Rule::Best), "one_se": at(Rule::OneSe)}),
            };
            output::print_json(&value)?;
        } else if !self.quiet {
            let mut lines = search_lines(&selection);
            lines.extend(written.iter().map(|(name, file)| (*name, file.display().to_string())));
            let table = points_table(&selection);
            output::print(&format!("{table}\n{}", output::aligned(&lines)))?;
        }
        if interrupted { Err(Failure::Interrupted) } else { Ok(()) }
    }

    fn evaluate(&self, training: &Training, method: &str, out: Option<&Path>) -> Outcome {
        let path = &self.data.data;
        let data = training.dataset(path)?;
        let scores = self.scores(training.task())?;
        let folds = self.settings.folds(training.groups.as_deref())?;
        let settings = self.settings.to_nested_json();
        let watch = Watch::new(self.quiet, self.verbose);
        let mut found = until_stopped(|| {
            evaluate(method, &settings, None, &data, &folds, &scores, &watch)
                .map_err(|e| training.failure(path, e))
        })?;
        drop(watch);
        if training.groups.is_some() && self.settings.word() == Some("cv") {
            let note = "the folds that choose settings may split groups; those that judge do not";
            found.notes.push(note.into());
        }
        if self.data.how.missing == Some(MissingArg::Mean) {
            let note = "missing values are filled in from all rows, those that judge included";
            found.notes.push(note.into());
        }
        let interrupted = was_interrupted() || !found.complete;
        if let (Some(file), false) = (out, interrupted) {
            output::write(file, &folds_csv(&found))?;
        }
        let ended = if interrupted { Err(Failure::Interrupted) } else { Ok(()) };
        if self.json {
            let mut value = json!(found);
            if let Some(parts) = value.as_object_mut() {
                parts.remove("rows");
            }
            value["method"] = json!(method);
            value["target"] = json!(training.target_name);
            value["n_rows"] = json!(data.rows());
            output::print_json(&value)?;
            return ended;
        }
        if self.quiet {
            return ended;
        }
        let mut text = evaluation_text(&found);
        if let (Some(out), false) = (&self.out, interrupted) {
            text.push_str(&format!("\ntable: {}\n", out.display()));
        }
        output::print(&text)?;
        ended
    }

    fn scores(&self, task: Task) -> Outcome<Vec<Score>> {
        let scores: Vec<Score> = self.score.iter().map(|s| score(s)).collect::<Outcome<_>>()?;
        match scores.iter().find(|s| !s.applies_to(task)) {
            None => Ok(scores),
            Some(other) => {
                let known = Score::ALL.iter().filter(|s| s.applies_to(task)).map(|s| s.name());
                let kind = if task == Task::Regression { "numbers" } else { "classes" };
                Err(Failure::Input(format!(
                    "--score {}: the target holds {kind}, which are scored by {}",
                    other.name(),
                    known.collect::<Vec<_>>().join(", ")
                )))
            }
        }
    }
}

/// What the rules choose, and what else there is to know.
fn search_lines(selection: &Selection) -> Vec<(&'static str, String)> {
    let at = |rule| {
        let point = &selection.points[selection.by_rule(rule)];
        let result = with_error(point.mean, point.standard_error);
        let terms = number(point.terms, 3);
        format!("{}: {} {result}, {terms} terms", settings_text(&point.settings), selection.score)
    };
    let mut lines = vec![("best", at(Rule::Best))];
    if selection.folds > 0 {
        lines.push(("one-se", at(Rule::OneSe)));
    }
    lines.push(("chosen", choice(selection)));
    lines.extend(selection.notes.iter().map(|note| ("note", note.clone())));
    lines
}

/// More folds than this are not listed one by one.
const MOST_FOLDS: usize = 20;

fn evaluation_text(found: &Evaluation) -> String {
    let texts = |cells: &[&str]| cells.iter().map(|c| c.to_string()).collect::<Vec<String>>();
    let width = found.scores.iter().map(|s| s.score.name().len()).max().unwrap_or(0).max(5);
    let rows: Vec<Vec<String>> = found
        .scores
        .iter()
        .map(|s| {
            let by_fold = !s.folds.is_empty();
            vec![
                format!("{:<width$}", s.score.name()),
                number(s.mean, 5),
                s.standard_error.map_or("–".into(), |e| number(e, 3)),
                if by_fold { String::new() } else { "of all rows together".into() },
            ]
        })
        .collect();
    let header = texts(&[&format!("{:<width$}", "score"), "mean", "s.e.", ""]);
    let rows_scored = found.rows.len();
    let folds = folds_text(found.folds, found.repeats);
    let mut text = format!("{rows_scored} rows in {folds}, each predicted without its fold\n\n");
    text.push_str(&table(&header, &rows));
    text.push('\n');
    if found.terms.len() <= MOST_FOLDS {
        text.push_str(&folds_table(found));
    } else {
        text.push_str(&output::aligned(&spread_lines(found)));
    }
    found.notes.iter().for_each(|note| text.push_str(&format!("\nnote: {note}\n")));
    text
}

/// Scores, terms and choices of each fold.
fn folds_table(found: &Evaluation) -> String {
    let scored: Vec<_> = found.scores.iter().filter(|s| !s.folds.is_empty()).collect();
    let names: Vec<&String> = found.chosen.first().map_or(Vec::new(), |c| c.keys().collect());
    let mut header = vec!["fold".to_string()];
    header.extend(scored.iter().map(|s| s.score.name().to_string()));
    header.push("terms".into());
    header.extend(names.iter().map(|n| symbol(n).to_string()));
    header.push(String::new());
    let rows: Vec<Vec<String>> = (0..found.terms.len())
        .map(|f| {
            let mut cells = vec![(f + 1).to_string()];
            cells.extend(scored.iter().map(|s| number(s.folds[f], 4)));
            cells.push(found.terms[f].to_string());
            let of = |name: &&String| found.chosen.get(f)?.get(*name).map(value_text);
            cells.extend(names.iter().map(|n| of(n).unwrap_or_default()));
            cells.push(String::new());
            cells
        })
        .collect();
    table(&header, &rows)
}

/// The middle, the smallest and the largest over very many folds.
fn spread_lines(found: &Evaluation) -> Vec<(&str, String)> {
    let spread = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let at = |k: usize| values.get(k).map_or(String::new(), |v| number(*v, 4));
        let last = values.len().saturating_sub(1);
        format!("{} ({} to {} over the folds)", at(last / 2), at(0), at(last))
    };
    let mut lines = vec![("terms", spread(found.terms.iter().map(|t| *t as f64).collect()))];
    for name in found.chosen.first().into_iter().flat_map(|c| c.keys()) {
        let values = found.chosen.iter().filter_map(|c| c.get(name)?.as_f64());
        lines.push((symbol(name), spread(values.collect())));
    }
    lines
}

/// The same as CSV.
fn folds_csv(found: &Evaluation) -> String {
    let scored: Vec<_> = found.scores.iter().filter(|s| !s.folds.is_empty()).collect();
    let names: Vec<&String> = found.chosen.first().map_or(Vec::new(), |c| c.keys().collect());
    let mut header = vec!["repeat", "fold"];
    header.extend(scored.iter().map(|s| s.score.name()));
    header.push("terms");
    header.extend(names.iter().map(|n| n.as_str()));
    let mut out = header.join(",") + "\n";
    for f in 0..found.terms.len() {
        let (repeat, fold) = (f / found.folds.max(1) + 1, f % found.folds.max(1) + 1);
        let mut cells = vec![repeat.to_string(), fold.to_string()];
        cells.extend(scored.iter().map(|s| s.folds[f].to_string()));
        cells.push(found.terms[f].to_string());
        let of = |name: &&String| found.chosen.get(f)?.get(*name).map(ToString::to_string);
        cells.extend(names.iter().map(|n| of(n).unwrap_or_default()));
        out.push_str(&(cells.join(",") + "\n"));
    }
    out
}
