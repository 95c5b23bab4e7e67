//! Progress on the standard error, and Ctrl-C.

use fewer::engine::{Interrupted, Observer, Progress, SelectionProgress};
use fewer_report::number;
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use crate::failure::{Failure, Outcome};
use crate::output;

/// The exit code after Ctrl-C, as shells have it.
pub const INTERRUPTED: u8 = 130;

static STOP: AtomicBool = AtomicBool::new(false);
static BUSY: AtomicUsize = AtomicUsize::new(0);

/// From now on Ctrl-C ends the process at once, save within [`until_safe`].
pub fn listen_for_interrupts() {
    // Without the handler Ctrl-C still ends the process, if less tidily.
    let _ = ctrlc::set_handler(|| {
        let again = STOP.swap(true, SeqCst);
        if again || BUSY.load(SeqCst) == 0 {
            output::message("interrupted");
            std::process::exit(INTERRUPTED.into());
        }
    });
}

/// Does work that looks after Ctrl-C itself, or is too short and delicate to be cut: a fit, or
/// the writing of a file. A second Ctrl-C ends it nevertheless.
pub fn until_safe<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let outcome = until_stopped(work);
    if was_interrupted() { Err(Failure::Interrupted) } else { outcome }
}

/// The same for work of which a part is worth having: what it returns is kept after Ctrl-C.
pub fn until_stopped<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    BUSY.fetch_add(1, SeqCst);
    let outcome = work();
    BUSY.fetch_sub(1, SeqCst);
    outcome
}

/// Whether Ctrl-C was pressed.
pub fn was_interrupted() -> bool {
    STOP.load(SeqCst)
}

/// Shows how far a fit is.
pub struct Watch {
    bar: Option<ProgressBar>,
    verbose: bool,
}

impl Watch {
    /// Shows nothing; only Ctrl-C is heard.
    pub fn silent() -> Self {
        Self { bar: None, verbose: false }
    }

    /// A moving line on a terminal, lines of text with `verbose`.
    pub fn new(quiet: bool, verbose: bool) -> Self {
        let bar = (!quiet && !verbose).then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_style(ProgressStyle::default_spinner());
            bar.enable_steady_tick(Duration::from_millis(100));
            bar.set_message("fitting");
            bar
        });
        Self { bar, verbose: verbose && !quiet }
    }
}

impl Observer for Watch {
    fn progress(&self, p: Progress) {
        let line =
            || format!("iteration {}: {} terms, residual {:.1e}", p.iteration, p.terms, p.residual);
        if let Some(bar) = &self.bar {
            bar.set_message(line());
        }
        if self.verbose && (p.iteration.is_power_of_two() || p.iteration.is_multiple_of(1000)) {
            output::message(&line());
        }
    }

    fn selection(&self, p: SelectionProgress) {
        let line = || {
            let best = p.best.map_or(String::new(), |b| format!(", best {}", number(b, 4)));
            let left = p.seconds_left.filter(|_| p.done < p.all).map(time).unwrap_or_default();
            format!("{} of {} fits{best}{left}", p.done, p.all)
        };
        if let Some(bar) = &self.bar {
            bar.set_message(line());
        }
        let tenth = (p.all / 10).max(1);
        if self.verbose && (p.done.is_multiple_of(tenth) || p.done == p.all) {
            output::message(&line());
        }
    }

    fn check(&self) -> Result<(), Interrupted> {
        if was_interrupted() { Err(Interrupted) } else { Ok(()) }
    }
}

/// The time left, roughly.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => String::new(),
        s if s < 90.0 => format!(", {s:.0} s left"),
        s if s < 5400.0 => format!(", {:.0} min left", s / 60.0),
        s => format!(", {:.1} h left", s / 3600.0),
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
