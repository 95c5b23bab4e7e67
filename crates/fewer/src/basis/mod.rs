//! Which functions of x a model may use.
//!
//! A [`Basis`] is what the user asks for; resolved on the training data it becomes a
//! [`FixedBasis`], which turns any rows, of training or of new data, into the same columns.

mod cache;
mod centres;
mod functions;
mod kernel;
mod kernel_function;
mod learnt;
mod linear;
mod polynomial;
mod wavelet;
mod wavelet_filters;

pub(crate) use cache::KernelCache;

pub use centres::{Centres, Landmarks};
pub use functions::{BlockFunction, RowFunctions};
pub use kernel::{Gamma, GammaRule, Kernel, KernelForm, KernelSettings};
pub use kernel_function::{KernelFunction, RowKernel, UserKernel};
pub use learnt::{Family, Learnt, LearntFunction};
pub(crate) use learnt::{MORE, Shape};
pub use linear::Linear;
pub use polynomial::{Monomial, Polynomial};
pub use wavelet::Wavelets;

use crate::data::{Dataset, Features};
use crate::design::Columns;
use crate::engine::Observer;
use crate::error::{Error, Result};
use functions::Functions;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which functions of x a model may use.
#[derive(Debug, Clone, Default)]
pub enum Basis {
    /// The features themselves: fitting selects among them.
    #[default]
    Linear,
    /// All products of features up to a degree.
    Polynomial {
        /// The highest degree, at least 1.
        degree: usize,
    },
    /// A kernel at each of many centres.
    Kernel(KernelSettings),
    /// The features are kernel values already: used as they are.
    Precomputed,
    /// The user's own functions.
    Functions(Arc<dyn BlockFunction>),
}

impl Basis {
    /// Whether the columns are kernels, which are never rescaled.
    pub fn is_kernel(&self) -> bool {
        matches!(self, Basis::Kernel(_) | Basis::Precomputed)
    }

    /// Fixes everything that depends on the training data.
    pub fn resolve(&self, data: &Dataset<'_>) -> Result<FixedBasis> {
        let columns = data.features().columns();
        let fixed = match self {
            Basis::Linear | Basis::Precomputed => FixedBasis::Linear(Linear::all(columns)),
            Basis::Kernel(settings) => FixedBasis::Kernel(Kernel::resolve(settings, data)?),
            Basis::Polynomial { degree } => {
                FixedBasis::Polynomial(Polynomial::up_to(columns, *degree)?)
            }
            Basis::Functions(function) => {
                FixedBasis::Functions(Functions::new(function.clone(), columns)?)
            }
        };
        if fixed.is_empty() {
            return Err(Error::Empty {
                what: "the basis".into(),
                expected: "at least one function is needed".into(),
            });
        }
        Ok(fixed)
    }
}

/// What the user brings: functions of x, or a kernel.
#[derive(Debug, Clone)]
pub enum UserFunction {
    /// Functions of x.
    Functions(Arc<dyn BlockFunction>),
    /// A kernel k(x, c).
    Kernel(Arc<dyn KernelFunction>),
}

/// A basis whose every function is known: it turns rows of x into columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FixedBasis {
    /// Features themselves.
    Linear(Linear),
    /// Products of features.
    Polynomial(Polynomial),
    /// Kernels.
    Kernel(Kernel),
    /// The user's own functions.
    Functions(Functions),
    /// Wavelets on a grid.
    Wavelets(Wavelets),
    /// Kernels with centres and widths of their own.
    Learnt(Learnt),
}

impl FixedBasis {
    /// All of so many features.
    pub(crate) fn linear(columns: usize) -> Self {
        FixedBasis::Linear(Linear::all(columns))
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        match self {
            FixedBasis::Linear(b) => b.len(),
            FixedBasis::Polynomial(b) => b.len(),
            FixedBasis::Kernel(b) => b.len(),
            FixedBasis::Functions(b) => b.len(),
            FixedBasis::Wavelets(b) => b.len(),
            FixedBasis::Learnt(b) => b.len(),
        }
    }

    /// Whether there is no function.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A readable name of function `k`, given the names of the features.
    pub fn name(&self, k: usize, features: &[String]) -> String {
        self.name_by(k, &|j| features[j].clone())
    }

    /// The same, given what names a feature.
    pub(crate) fn name_by(&self, k: usize, feature: &dyn Fn(usize) -> String) -> String {
        match self {
            FixedBasis::Linear(b) => b.name(k, feature),
            FixedBasis::Polynomial(b) => b.name(k, feature),
            FixedBasis::Kernel(b) => b.name(k),
            FixedBasis::Functions(b) => b.name(k),
            FixedBasis::Wavelets(b) => b.name(k, feature),
            FixedBasis::Learnt(b) => b.name(k, feature),
        }
    }

    /// The basis of the chosen functions only.
    pub fn keep(&self, chosen: &[usize]) -> Self {
        match self {
            FixedBasis::Linear(b) => FixedBasis::Linear(b.keep(chosen)),
            FixedBasis::Polynomial(b) => FixedBasis::Polynomial(b.keep(chosen)),
            FixedBasis::Kernel(b) => FixedBasis::Kernel(b.keep(chosen)),
            FixedBasis::Functions(b) => FixedBasis::Functions(b.keep(chosen)),
            FixedBasis::Wavelets(b) => FixedBasis::Wavelets(b.keep(chosen)),
            FixedBasis::Learnt(b) => FixedBasis::Learnt(b.keep(chosen)),
        }
    }

    /// The basis that these functions were chosen from: products up to `degree` of so many
    /// features, or kernels at `centres`.
    pub(crate) fn all(
        &self,
        features: usize,
        degree: usize,
        centres: Option<Vec<Vec<f64>>>,
    ) -> Result<Self> {
        Ok(match self {
            FixedBasis::Linear(_) => FixedBasis::linear(features),
            FixedBasis::Polynomial(_) => {
                FixedBasis::Polynomial(Polynomial::up_to(features, degree)?)
            }
            FixedBasis::Kernel(b) => FixedBasis::Kernel(b.at(centres.unwrap_or_default())),
            FixedBasis::Functions(b) => FixedBasis::Functions(b.all()),
            FixedBasis::Wavelets(_) | FixedBasis::Learnt(_) => self.clone(),
        })
    }

    /// The kernel of these functions at some rows of x, where it is one that falls with distance.
    pub(crate) fn at_rows(&self, x: Features<'_>, chosen: &[usize]) -> Option<Self> {
        match self {
            FixedBasis::Kernel(b) => b.at_rows(x, chosen).map(FixedBasis::Kernel),
            _ => None,
        }
    }

    /// The columns that rows of x give; kernels are held in memory where they take at most a
    /// quarter of the limit, and computed on demand beyond. What the user brings is always held.
    pub fn columns<'a>(
        &'a self,
        x: Features<'a>,
        memory_limit: usize,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Columns + 'a>> {
        match self {
            FixedBasis::Linear(b) => Ok(b.columns(x)),
            FixedBasis::Polynomial(b) => Ok(b.columns(x)),
            FixedBasis::Kernel(b) => b.columns(x, memory_limit, observer),
            FixedBasis::Functions(b) => b.columns(x),
            FixedBasis::Wavelets(b) => Ok(b.columns(x)),
            FixedBasis::Learnt(b) => Ok(b.columns(x)),
        }
    }

    /// The columns that the training rows give.
    pub(crate) fn training_columns<'a>(
        &'a self,
        data: &Dataset<'a>,
        memory_limit: usize,
        observer: &dyn Observer,
    ) -> Result<Box<dyn Columns + 'a>> {
        match self {
            FixedBasis::Kernel(b) => b.training_columns(data, memory_limit, observer),
            _ => self.columns(*data.features(), memory_limit, observer),
        }
    }

    /// Whether every function reads only features that exist.
    pub(crate) fn fits(&self, features: usize) -> bool {
        match self {
            FixedBasis::Linear(b) => b.largest() < features,
            FixedBasis::Polynomial(b) => b.largest() < features,
            FixedBasis::Kernel(b) => b.fits(features),
            FixedBasis::Functions(b) => b.fits(features),
            FixedBasis::Wavelets(b) => b.fits(features),
            FixedBasis::Learnt(b) => b.fits(features),
        }
    }

    /// The name of the user's function that must be supplied before the basis can be used.
    pub fn needs_function(&self) -> Option<&str> {
        match self {
            FixedBasis::Functions(b) => b.missing(),
            FixedBasis::Kernel(b) => b.user()?.missing(),
            _ => None,
        }
    }

    /// Supplies the user's function after loading a model.
    pub fn supply(&mut self, function: UserFunction) -> Result<()> {
        let (name, problem) = match (self, function) {
            (FixedBasis::Functions(b), UserFunction::Functions(f)) => return b.supply(f),
            (FixedBasis::Kernel(b), UserFunction::Kernel(f)) => return b.supply(f),
            (_, UserFunction::Functions(f)) => (f.name(), "the model uses no functions of x"),
            (_, UserFunction::Kernel(f)) => (f.name(), "the model uses no kernel"),
        };
        Err(Error::Function { name, problem: format!("{problem} of the user's") })
    }

    /// Whether what must be held for so many rows fits the limit: the values of the user's
    /// functions, which can fail and so are never computed on demand.
    pub(crate) fn check_memory(&self, rows: usize, limit: usize) -> Result<()> {
        let (name, hint) = match self {
            FixedBasis::Functions(b) => (b.user_name(), "raise memory_limit or give fewer rows"),
            FixedBasis::Kernel(b) => match b.user() {
                Some(user) => (user.name(), "raise memory_limit or set candidates"),
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        let needed = rows.saturating_mul(self.len()).saturating_mul(8);
        if needed <= limit {
            return Ok(());
        }
        let what = format!("a matrix of {rows}×{} values of '{name}'", self.len());
        Err(Error::memory(what, needed as f64, limit as f64, hint))
    }
}

/// Four significant digits: enough for a name.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}
