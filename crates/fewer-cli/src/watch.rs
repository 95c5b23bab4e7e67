//! Progress on the standard error, and Ctrl-C.

use fewer::engine::{Interrupted, Observer, Progress};
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
    BUSY.fetch_add(1, SeqCst);
    let outcome = work();
    BUSY.fetch_sub(1, SeqCst);
    if STOP.load(SeqCst) { Err(Failure::Interrupted) } else { outcome }
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

    fn check(&self) -> Result<(), Interrupted> {
        if STOP.load(SeqCst) { Err(Interrupted) } else { Ok(()) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
