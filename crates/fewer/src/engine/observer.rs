//! How an engine tells how far it is, and learns that the user wants it to stop.

use crate::error::{Error, Result as Outcome};
use std::time::Instant;

/// The user asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupted;

/// How far a fit is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Iterations done.
    pub iteration: usize,
    /// Terms still in the model.
    pub terms: usize,
    /// The objective, in the units of the engine.
    pub objective: f64,
    /// What is left to the certificate that ends the fit.
    pub residual: f64,
}

/// How far a search among settings, or a cross-validation, is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelectionProgress {
    /// Fits done.
    pub done: usize,
    /// Fits to do.
    pub all: usize,
    /// The best mean score so far, of settings that were tried in all folds.
    pub best: Option<f64>,
    /// Seconds to go, judged by the fits done.
    pub seconds_left: Option<f64>,
}

/// Watches a fit. Engines never print; they call this.
///
/// ```
/// use fewer::engine::{Interrupted, Observer, Progress};
///
/// struct Print;
/// impl Observer for Print {
///     fn progress(&self, p: Progress) {
///         eprintln!("{}: {} terms", p.iteration, p.terms);
///     }
/// }
/// ```
pub trait Observer: Sync {
    /// Called after each iteration.
    fn progress(&self, _progress: Progress) {}

    /// Called after each fit of a search or a cross-validation, one at a time; the fits
    /// themselves report no progress.
    fn selection(&self, _progress: SelectionProgress) {}

    /// Called many times in each iteration; an error ends the fit at once.
    fn check(&self) -> Result<(), Interrupted> {
        Ok(())
    }
}

/// Lets an observer stop a fit that is one of many, and watch nothing else of it.
pub(crate) struct StopOnly<'a>(pub &'a dyn Observer);

impl Observer for StopOnly<'_> {
    fn check(&self) -> Result<(), Interrupted> {
        self.0.check()
    }
}

/// Stops at a time, too.
#[derive(Clone, Copy)]
pub(crate) struct Until<'a> {
    pub observer: &'a dyn Observer,
    pub deadline: Option<Instant>,
}

impl Until<'_> {
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// What was done under this watch, or nothing where there was no time for it.
    pub fn in_time<T>(&self, done: Outcome<T>) -> Outcome<Option<T>> {
        match done {
            Err(Error::Interrupted) if self.is_over() => {
                self.observer.check()?;
                Ok(None)
            }
            done => done.map(Some),
        }
    }
}

impl Observer for Until<'_> {
    fn progress(&self, progress: Progress) {
        self.observer.progress(progress);
    }

    fn selection(&self, progress: SelectionProgress) {
        self.observer.selection(progress);
    }

    fn check(&self) -> Result<(), Interrupted> {
        self.observer.check()?;
        if self.is_over() { Err(Interrupted) } else { Ok(()) }
    }
}

/// An observer that watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
