//! How an engine tells how far it is, and learns that the user wants it to stop.

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

    /// Called many times in each iteration; an error ends the fit at once.
    fn check(&self) -> Result<(), Interrupted> {
        Ok(())
    }
}

/// An observer that watches nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {}
