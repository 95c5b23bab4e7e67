//! The settings of methods as flags.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use fewer::method::{AUTO, METHODS, MethodInfo, Task};
use fewer::select::{CrossValidation, Search};
use serde_json::{Map, Value, json};

use crate::choosing::{CRITERIA, Choosing};
use crate::failure::{Failure, Outcome};

/// The method and its settings; one that is not given has the method's default.
#[derive(Args)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    /// What to predict: classes or numbers [default: classes if the target holds words]
    #[arg(long, value_parser = ["classification", "regression"])]
    task: Option<String>,
    /// The method [default: sparse for numbers, probit for classes]
    ///
    /// auto tries those that suit the data, and takes the one with the fewest terms within one
    /// standard error of the best.
    #[arg(long, value_parser = methods())]
    method: Option<String>,
    /// The functions of the columns to choose from [default: linear; rbf for rvm and rvc]
    ///
    /// Those after polynomial are kernels, centred on rows of the data. With precomputed, the
    /// columns are the values of kernels already.
    #[arg(long, value_parser = BASES)]
    basis: Option<String>,
    /// Degree of the polynomial basis or kernel [default: 2]
    #[arg(long, value_name = "N")]
    degree: Option<usize>,
    /// Width of a kernel: a number, or `scale` or `median` to read it off the data, or `cv`,
    /// `bic`, `ebic`, `aic` or (rvm, bls, flap) `evidence` to choose it [default: scale]
    #[arg(long, value_parser = gamma, allow_negative_numbers = true)]
    gamma: Option<Value>,
    /// Constant of the polynomial kernel [default: 1]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    coef0: Option<f64>,
    /// Centre kernels on at most so many rows, or on `all` [default: all]
    #[arg(long, value_name = "N|all", value_parser = candidates)]
    candidates: Option<Value>,
    /// How those rows are chosen: far from each other, at random, or (rvm) at random again and
    /// again as the fit proceeds [default: kmeans]
    #[arg(long, value_parser = ["kmeans", "random", "redrawn"])]
    landmarks: Option<String>,
    /// Seed of that choice, and of the sampler of blasso [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// `balanced`, or a weight for each class, in the order of the sorted classes
    #[arg(long, value_name = "WEIGHTS", value_parser = class_weight)]
    class_weight: Option<Value>,
    /// Say how sure the model is of its weights: standard errors for smlr
    #[arg(long)]
    uncertainty: bool,
    /// Keep at most so many terms
    #[arg(long, value_name = "N")]
    max_terms: Option<usize>,
    /// The prior on the weights [default: jeffreys, which has nothing to tune]
    #[arg(long, value_parser = ["jeffreys", "laplace", "gaussian"])]
    prior: Option<String>,
    /// Strength of the laplace or gaussian prior or of the penalty of lasso, smlr and rmlr: a
    /// number, or `cv` to choose it by cross-validation, or `bic`, `ebic` or `aic` by that criterion
    #[arg(long, value_name = "NUMBER|WORD", value_parser = lam, allow_negative_numbers = true)]
    lam: Option<Value>,
    /// The same as a part of the strength that leaves no term
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    lam_ratio: Option<f64>,
    /// Elastic net of lasso, smlr and rmlr: the part of the penalty that is on absolute values, the
    /// rest is on squares [default: 1; rmlr 0]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    l1_ratio: Option<f64>,
    /// Lasso: weights are at least 0
    #[arg(long)]
    positive: bool,
    /// Adaptive lasso: penalties divided by this power of the weights of a ridge regression
    #[arg(long, value_name = "EXPONENT", allow_negative_numbers = true)]
    adaptive: Option<f64>,
    /// Lasso: refit the terms kept by least squares
    #[arg(long)]
    relaxed: bool,
    /// Lasso, smlr and rmlr: a factor on the penalty of each function of the basis, in their order; 0: none
    #[arg(long, value_name = "NUMBER,...", value_delimiter = ',', allow_negative_numbers = true)]
    penalty_factors: Option<Vec<f64>>,
    /// Smlr and rmlr: which classes have weights, all but the last or all [default: reference]
    #[arg(long, value_parser = ["reference", "symmetric"])]
    parameterization: Option<String>,
    /// The way to the optimum: smlr and rmlr auto, bound or componentwise (to the same one by all);
    /// rvm fast, or block, which starts from all functions at once
    #[arg(long, value_parser = ["auto", "bound", "componentwise", "fast", "block"])]
    solver: Option<String>,
    /// Smlr and rmlr: the order in which the componentwise solver visits weights
    /// [default: geometric]
    #[arg(long, value_parser = ["geometric", "gain"])]
    schedule: Option<String>,
    /// Standard deviation of the noise; or, for rvm, `student_t` for noise of heavy tails
    /// [default: estimated]
    #[arg(long, value_name = "NUMBER|WORD", value_parser = noise, allow_negative_numbers = true)]
    noise: Option<Value>,
    /// Rvm: degrees of freedom of student_t noise, or `estimate` [default: estimate]
    #[arg(long, value_name = "NUMBER|WORD", value_parser = nu, allow_negative_numbers = true)]
    nu: Option<Value>,
    /// Relevance vectors: the price of an effective parameter, a number or a criterion, or cv to
    /// choose among these [default: none for rvm, bic for arvm and srvm]
    #[arg(long, value_name = "NUMBER|WORD", value_parser = sparsity, allow_negative_numbers = true)]
    sparsity: Option<Value>,
    /// Arvm: kinds of terms to add from: rbf, laplacian, linear [default: rbf]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',',
          value_parser = ["rbf", "laplacian", "linear"])]
    families: Option<Vec<String>>,
    /// Arvm: kernels have a width of their own along each column
    #[arg(long)]
    anisotropic: bool,
    /// Arvm: candidates in each search [default: 50]
    #[arg(long, value_name = "N")]
    starts: Option<usize>,
    /// Arvm: what a kernel's place or a width costs, as a part of half the log of the
    /// ratio of variances of target and noise [default: 0.25]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    parameter_price: Option<f64>,
    /// Arvm: what the place of a kernel costs at the end, as a part of the log of the number of
    /// places; 1 leaves no kernels on single rows of noise [default: 0]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    place_price: Option<f64>,
    /// Arvm: what a variance of weights costs, in units of the target's [default: 1, for labels
    /// 0.1]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    variance_price: Option<f64>,
    /// Srvm: haar, db2 to db10 or sym4 to sym10 [default: sym8]
    #[arg(long, value_name = "NAME")]
    wavelet: Option<String>,
    /// Srvm: what to do where the number of rows is no power of two [default: none, refuse]
    #[arg(long, value_parser = ["none", "periodic", "symmetric"])]
    padding: Option<String>,
    /// Rvm, bls and flap: `augmented` lets the deviations of predictions grow away from the data;
    /// the model then holds all rows [default: posterior]
    #[arg(long, value_parser = ["posterior", "augmented"])]
    variance: Option<String>,
    /// Rvc: more than two classes one against the rest, or jointly [default: ovr]
    #[arg(long, value_parser = ["ovr", "multinomial"])]
    multiclass: Option<String>,
    /// How bls and flap find the strength of their prior [default: active]
    #[arg(long, value_parser = ["active", "hyperprior"])]
    lam_rule: Option<String>,
    /// Blasso: shape of the Gamma prior of λ² [default: 1]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    lam_shape: Option<f64>,
    /// Blasso: rate of the Gamma prior of λ² [default: 1.78 for columns of unit length]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    lam_rate: Option<f64>,
    /// Blasso: what is taken for weights [default: median, for kernels mean]
    #[arg(long, value_parser = ["median", "mean"])]
    estimate: Option<String>,
    /// Blasso: keep the terms whose interval of this probability does not hold 0 [default: all]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    inclusion: Option<f64>,
    /// Blasso: chains of the sampler [default: 4]
    #[arg(long, value_name = "N")]
    chains: Option<usize>,
    /// Blasso: draws of each chain that are kept [default: 1000]
    #[arg(long, value_name = "N")]
    draws: Option<usize>,
    /// Blasso: draws of each chain before those [default: 500]
    #[arg(long, value_name = "N")]
    warmup: Option<usize>,
    /// Blasso: keep one of so many draws [default: 1]
    #[arg(long, value_name = "N")]
    thin: Option<usize>,
    /// Whether the prior applies to columns of unit variance [default: true]
    #[arg(long, value_name = "BOOL")]
    standardize: Option<bool>,
    /// Whether there is an intercept; `penalised`: one that the prior shrinks [default: true]
    #[arg(long, value_parser = ["true", "false", "penalised"])]
    fit_intercept: Option<String>,
    /// `paper`: start, updates and stop as published [default: exact]
    #[arg(long, value_parser = ["exact", "paper"])]
    variant: Option<String>,
    /// Bound on the certificate [default: 1e-8; blasso 0.01]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    tol: Option<f64>,
    /// Iterations after which the fit ends in any case [default: 10000; blasso 1000000]
    #[arg(long, value_name = "N")]
    max_iter: Option<usize>,
    /// Seconds after which the fit ends in any case
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    max_time: Option<f64>,
    /// Memory that matrices may take, such as 500MB or 4GB [default: 4GB]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory_limit: Option<f64>,
    /// Number of threads; the answer does not depend on it [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    choosing: Choosing,
}

const BASES: [&str; 9] = [
    "linear",
    "polynomial",
    "rbf",
    "laplacian",
    "matern32",
    "matern52",
    "polynomial-kernel",
    "linear-kernel",
    "precomputed",
];

fn methods() -> PossibleValuesParser {
    let named = METHODS.iter().map(|m| PossibleValue::new(m.short).alias(m.name));
    named.chain([PossibleValue::new(AUTO)]).collect::<Vec<_>>().into()
}

/// The method of a name: `rvm` and `arvm` are regression or classification as the target has it.
fn of_task(method: &'static MethodInfo, task: Option<Task>) -> &'static MethodInfo {
    let short = match (method.short, task) {
        ("rvm", Some(Task::Classification)) => "rvc",
        ("arvm", Some(Task::Classification)) => "arvc",
        _ => return method,
    };
    METHODS.iter().find(|m| m.short == short).unwrap_or(method)
}

/// The method used for a task unless another is asked for.
fn usual_method(task: Task) -> &'static MethodInfo {
    METHODS.iter().find(|m| m.task == task).unwrap_or(&METHODS[0])
}

fn task_name(task: Task) -> &'static str {
    match task {
        Task::Regression => "regression",
        Task::Classification => "classification",
    }
}

impl Settings {
    fn given_method(&self) -> Option<&'static MethodInfo> {
        let given = self.method.as_deref()?;
        METHODS.iter().find(|m| m.short == given || m.name == given)
    }

    /// Whether the method is to be chosen.
    pub fn is_auto(&self) -> bool {
        self.method.as_deref() == Some(AUTO)
    }

    /// The seed of all that is random.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// The task, as far as the flags tell.
    pub fn task(&self) -> Outcome<Option<Task>> {
        let task = self.task.as_deref().map(|name| match name {
            "classification" => Task::Classification,
            _ => Task::Regression,
        });
        let given = self.given_method();
        match (given.map(|method| of_task(method, task)), task) {
            (Some(method), None) if matches!(method.short, "rvm" | "arvm") => Ok(None),
            (Some(method), Some(task)) if method.task != task => Err(Failure::Input(format!(
                "--method {} does {}, not {}: leave it out, or take {}",
                method.short,
                task_name(method.task),
                task_name(task),
                usual_method(task).short
            ))),
            (Some(method), _) => Ok(Some(method.task)),
            (None, task) => Ok(task),
        }
    }

    /// The name of the method for a task.
    pub fn method(&self, task: Task) -> &'static str {
        if self.is_auto() {
            return AUTO;
        }
        let given = self.given_method().map(|method| of_task(method, Some(task)));
        given.unwrap_or(usual_method(task)).short
    }

    /// The same, with another method where none was asked for.
    pub fn method_or(&self, task: Task, usual: Option<&'static str>) -> &'static str {
        match (self.given_method(), usual) {
            (None, Some(usual)) if !self.is_auto() => usual,
            _ => self.method(task),
        }
    }

    /// The word that says how a setting is chosen, if one is.
    pub fn word(&self) -> Option<&str> {
        let given = [&self.lam, &self.gamma].into_iter().flatten();
        let word = |word: &&str| *word == "cv" || CRITERIA.contains(word);
        let sparsity = self.sparsity.as_ref().and_then(Value::as_str).filter(|w| *w == "cv");
        given.filter_map(Value::as_str).find(word).or(sparsity)
    }

    /// The word or number given for λ.
    pub fn lam(&self) -> Option<&Value> {
        self.lam.as_ref()
    }

    /// Whether γ is to be chosen.
    pub fn chooses_gamma(&self) -> bool {
        let gamma = self.gamma.as_ref().and_then(Value::as_str);
        gamma.is_some_and(|word| word == "cv" || CRITERIA.contains(&word))
    }

    /// A search for what the flags leave open; it is empty where they leave nothing.
    pub fn search(&self, method: &str, groups: Option<&[String]>) -> Outcome<Search> {
        if self.is_auto() {
            return self.search_with(method, Map::new(), groups);
        }
        let mut settings = self.values();
        settings.extend(self.choosing.folds());
        self.search_with(method, settings, groups)
    }

    /// The same, with λ chosen by `word` where nothing was said of it.
    pub fn search_lam(
        &self,
        method: &str,
        word: &str,
        groups: Option<&[String]>,
    ) -> Outcome<Search> {
        let mut settings = self.values();
        settings.extend(self.choosing.folds());
        settings.entry("lam").or_insert(json!(word));
        self.search_with(method, settings, groups)
    }

    fn search_with(
        &self,
        method: &str,
        settings: Map<String, Value>,
        groups: Option<&[String]>,
    ) -> Outcome<Search> {
        let search = Search::new(method, &Value::Object(settings).to_string())?;
        match groups {
            None => Ok(search),
            Some(_) if self.word() != Some("cv") => Err(Failure::Input(
                "--group keeps rows together in folds, and there are none: choose a setting by \
                 cross-validation, such as --lam cv, or leave it out"
                    .into(),
            )),
            Some(groups) => Ok(search.folds(self.folds(Some(groups))?)),
        }
    }

    /// The folds that the flags ask for.
    pub fn folds(&self, groups: Option<&[String]>) -> Outcome<CrossValidation> {
        self.choosing.cross_validation(self.seed.unwrap_or(0), groups)
    }

    /// The settings of a method that is judged in folds, and so has its own folds within those.
    pub fn to_nested_json(&self) -> String {
        Value::Object(self.to_nested()).to_string()
    }

    /// The same as a map.
    pub fn to_nested(&self) -> Map<String, Value> {
        let mut settings = self.values();
        if self.word() == Some("cv") {
            settings.extend(self.choosing.folds());
            settings.remove("cv_repeats");
        }
        settings
    }

    /// The settings of the method alone; of `auto` its folds are part.
    pub fn to_method_json(&self) -> String {
        let mut settings = self.values();
        if self.is_auto() {
            settings.extend(self.choosing.folds());
            return Value::Object(settings).to_string();
        }
        settings.retain(|name, _| !self.choosing.has(name));
        settings.retain(|name, value| name != "lam" || value.is_number());
        Value::Object(settings).to_string()
    }

    /// What was given, save the folds, as the library takes it.
    fn values(&self) -> Map<String, Value> {
        let intercept = self.fit_intercept.as_deref().map(|word| match word {
            "true" => json!(true),
            "false" => json!(false),
            word => json!(word),
        });
        let mut given: Map<String, Value> = [
            ("basis", json!(self.basis)),
            ("degree", json!(self.degree)),
            ("gamma", json!(self.gamma)),
            ("coef0", json!(self.coef0)),
            ("candidates", json!(self.candidates)),
            ("landmarks", json!(self.landmarks)),
            ("random_state", json!(self.seed)),
            ("class_weight", json!(self.class_weight)),
            ("uncertainty", json!(self.uncertainty.then_some(true))),
            ("max_terms", json!(self.max_terms)),
            ("prior", json!(self.prior)),
            ("lam", json!(self.lam)),
            ("lam_ratio", json!(self.lam_ratio)),
            ("l1_ratio", json!(self.l1_ratio)),
            ("positive", json!(self.positive.then_some(true))),
            ("adaptive", json!(self.adaptive)),
            ("relaxed", json!(self.relaxed.then_some(true))),
            ("penalty_factors", json!(self.penalty_factors)),
            ("parameterization", json!(self.parameterization)),
            ("solver", json!(self.solver)),
            ("schedule", json!(self.schedule)),
            ("noise", json!(self.noise)),
            ("nu", json!(self.nu)),
            ("sparsity", json!(self.sparsity)),
            ("families", json!(self.families)),
            ("anisotropic", json!(self.anisotropic.then_some(true))),
            ("starts", json!(self.starts)),
            ("parameter_price", json!(self.parameter_price)),
            ("place_price", json!(self.place_price)),
            ("variance_price", json!(self.variance_price)),
            ("wavelet", json!(self.wavelet)),
            ("padding", json!(self.padding)),
            ("variance", json!(self.variance)),
            ("multiclass", json!(self.multiclass)),
            ("lam_rule", json!(self.lam_rule)),
            ("lam_shape", json!(self.lam_shape)),
            ("lam_rate", json!(self.lam_rate)),
            ("estimate", json!(self.estimate)),
            ("inclusion", json!(self.inclusion)),
            ("chains", json!(self.chains)),
            ("draws", json!(self.draws)),
            ("warmup", json!(self.warmup)),
            ("thin", json!(self.thin)),
            ("standardize", json!(self.standardize)),
            ("fit_intercept", json!(intercept)),
            ("variant", json!(self.variant)),
            ("tol", json!(self.tol)),
            ("max_iter", json!(self.max_iter)),
            ("max_time", json!(self.max_time)),
            ("memory_limit", json!(self.memory_limit)),
            ("n_jobs", json!(self.threads)),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.to_string(), value))
        .collect();
        given.extend(self.choosing.values());
        given
    }
}

/// A number or the name of a rule.
fn gamma(text: &str) -> Result<Value, String> {
    number_or(text, &["scale", "median"])
}

fn lam(text: &str) -> Result<Value, String> {
    number_or(text, &[])
}

fn candidates(text: &str) -> Result<Value, String> {
    match text.parse::<usize>() {
        _ if text == "all" => Ok(json!(text)),
        Ok(count) => Ok(json!(count)),
        Err(_) => Err("expected a whole number or all".into()),
    }
}

fn sparsity(text: &str) -> Result<Value, String> {
    number_or_word(text, &["none", "aic", "bic", "ric", "cv"])
}

fn noise(text: &str) -> Result<Value, String> {
    number_or_word(text, &["student_t"])
}

fn nu(text: &str) -> Result<Value, String> {
    number_or_word(text, &["estimate"])
}

/// A number or one of the words.
fn number_or_word(text: &str, words: &[&str]) -> Result<Value, String> {
    match text.parse::<f64>() {
        _ if words.contains(&text) => Ok(json!(text)),
        Ok(number) if number.is_finite() => Ok(json!(number)),
        _ => Err(format!("expected a number or one of {}", words.join(", "))),
    }
}

/// A number, one of the words, or a way to choose.
fn number_or(text: &str, words: &[&str]) -> Result<Value, String> {
    let words: Vec<&str> = words.iter().copied().chain(["cv"]).chain(CRITERIA).collect();
    number_or_word(text, &words)
}

/// A rule, or numbers between commas.
fn class_weight(text: &str) -> Result<Value, String> {
    if text == "balanced" {
        return Ok(json!(text));
    }
    numbers(text).map_err(|_| "expected balanced, or numbers such as 1,2.5".into())
}

/// Numbers between commas.
fn numbers(text: &str) -> Result<Value, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|w| w.trim().parse()).collect();
    match numbers {
        Ok(numbers) if numbers.iter().all(|w| w.is_finite()) => Ok(json!(numbers)),
        _ => Err("expected numbers such as 1,2.5".into()),
    }
}

/// A size such as `4GB`, `500 MB`, `2GiB` or a plain number of bytes.
fn bytes(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1e3,
        "m" | "mb" => 1e6,
        "g" | "gb" => 1e9,
        "t" | "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024f64.powi(2),
        "gib" => 1024f64.powi(3),
        "tib" => 1024f64.powi(4),
        _ => return Err("expected a size such as 500MB or 4GB".into()),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number * factor),
        _ => Err("expected a size above 0 such as 500MB or 4GB".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        for (text, size) in
            [("4GB", 4e9), ("500 mb", 5e8), ("2GiB", 2147483648.0), ("1e6", 1e6), ("1.5k", 1500.0)]
        {
            assert_eq!(bytes(text), Ok(size));
        }
        for text in ["", "GB", "-1GB", "4XB", "nan"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
