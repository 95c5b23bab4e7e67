//! How a command can fail.

use std::any::Any;
use std::fmt::Display;
use std::path::Path;

/// Why a command ended early.
#[derive(Debug)]
pub enum Failure {
    /// Something the user can put right, said in one line.
    Input(String),
    /// Ctrl-C.
    Interrupted,
    /// Whoever read the output has had enough.
    ClosedPipe,
}

/// What a command returns.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A problem with a file.
    pub fn in_file(path: &Path, problem: impl Display) -> Self {
        let name = if path.as_os_str() == "-" { Path::new("standard input") } else { path };
        Failure::Input(format!("{}: {problem}", name.display()))
    }

    /// A panic, which is never the user's fault.
    pub fn bug(panic: &(dyn Any + Send)) -> Self {
        let what = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        Failure::Input(format!("this is a bug in fewer, please report it: {what}"))
    }

    /// An error of the library that has to do with the data in a file.
    pub fn with_data(path: &Path, error: fewer::Error) -> Self {
        use fewer::Error;
        match error {
            Error::Setting { .. } | Error::Interrupted | Error::Memory { .. } => error.into(),
            Error::Unavailable { .. } => Failure::in_file(path, as_flags(&error.to_string())),
            _ => Failure::in_file(path, error),
        }
    }
}

impl From<fewer::Error> for Failure {
    fn from(error: fewer::Error) -> Self {
        match error {
            fewer::Error::Interrupted => Failure::Interrupted,
            fewer::Error::Setting { name, value, expected } => {
                let flag = flag_of(&name);
                let value = value.trim_matches('"');
                let given = match (flag.as_str(), value) {
                    // These take no value.
                    ("shuffle" | "positive" | "relaxed", "true") => format!("--{flag}"),
                    (flag, value) => format!("--{flag} {value}"),
                };
                let expected = match expected.strip_prefix(OTHER_SETTINGS) {
                    Some(known) => {
                        let known = known.split(", ").map(|name| format!("--{}", flag_of(name)));
                        format!("{OTHER_SETTINGS}{}", known.collect::<Vec<_>>().join(", "))
                    }
                    None => as_flags(&expected),
                };
                Failure::Input(format!("{given}: {expected}"))
            }
            fewer::Error::Unavailable { .. } => Failure::Input(as_flags(&error.to_string())),
            other => Failure::Input(other.to_string()),
        }
    }
}

/// What goes before the names of the settings that there are.
const OTHER_SETTINGS: &str = "there is no such setting; there are ";

fn flag_of(setting: &str) -> String {
    match setting {
        "n_jobs" => "threads".into(),
        "random_state" => "seed".into(),
        "cv" => "folds".into(),
        "cv_repeats" => "repeats".into(),
        "cv_shuffle" => "shuffle".into(),
        name => name.replace('_', "-"),
    }
}

/// What the library says of settings, in terms of flags.
fn as_flags(text: &str) -> String {
    [
        ("set lam or gamma to \"cv\"", "add --lam cv or --gamma cv"),
        ("set lam to \"cv\"", "add --lam cv"),
        ("set gamma to \"cv\"", "add --gamma cv"),
        ("\"basis\": \"rbf\"", "--basis rbf"),
        ("cv_shuffle", "--shuffle"),
        ("cv_repeats", "--repeats"),
        ("fit_intercept = false, or \"penalised\"", "--fit-intercept false or penalised"),
        ("standardize = false", "--standardize false"),
        ("l1_ratio = 1", "--l1-ratio 1"),
        ("multiclass = \"ovr\"; one_vs_rest_bound in Rust", "--multiclass ovr"),
        ("fit with a lam above 0", "fit with a --lam above 0"),
        ("give lam to the fit", "give --lam to the fit"),
        ("leave out rows with missing values", "fit with --missing drop"),
    ]
    .iter()
    .fold(text.to_string(), |text, (setting, flag)| text.replace(setting, flag))
}

impl From<fewer_files::ReadError> for Failure {
    fn from(error: fewer_files::ReadError) -> Self {
        let hint = match error.problem {
            fewer_files::Problem::UnknownFormat => " with --format",
            fewer_files::Problem::ZeroIndex { .. } => "; --zero-based true counts from 0",
            _ => "",
        };
        Failure::Input(format!("{error}{hint}"))
    }
}
