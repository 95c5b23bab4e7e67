//! The `fewer` command.

mod choosing;
mod commands;
mod failure;
mod input;
mod output;
mod selection;
mod settings;
mod watch;

use clap::{Parser, Subcommand};
use failure::{Failure, Outcome};
use std::panic::catch_unwind;
use std::process::ExitCode;

/// Sparse supervised learning: the same accuracy from fewer terms.
///
/// Results go to the standard output, messages to the standard error. The exit code is 0, or 1
/// for input that cannot be used, 2 for wrong usage, 130 after Ctrl-C.
#[derive(Parser)]
#[command(name = "fewer", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = "Begin with: fewer demo")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Fit(Box<commands::fit::Fit>),
    Predict(commands::predict::Predict),
    Score(commands::score::Score),
    Cv(Box<commands::cv::Cv>),
    Path(Box<commands::path::PathCommand>),
    Stability(Box<commands::stability::StabilityCommand>),
    Explain(commands::explain::Explain),
    Bound(commands::bound::Bound),
    Report(commands::report::Report),
    Demo(commands::demo::Demo),
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Fit(command) => command.run(),
        Command::Predict(command) => command.run(),
        Command::Score(command) => command.run(),
        Command::Cv(command) => command.run(),
        Command::Path(command) => command.run(),
        Command::Stability(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Bound(command) => command.run(),
        Command::Report(command) => command.run(),
        Command::Demo(command) => command.run(),
    }
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    watch::listen_for_interrupts();
    // A panic is said below, in one line.
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(std::panic::AssertUnwindSafe(|| run(command)));
    match outcome.unwrap_or_else(|panic| Err(Failure::bug(&*panic))) {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Interrupted) => {
            output::message("interrupted");
            ExitCode::from(watch::INTERRUPTED)
        }
        Err(Failure::Input(problem)) => {
            output::message(&format!("error: {problem}"));
            ExitCode::FAILURE
        }
    }
}
