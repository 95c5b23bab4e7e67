//! Special functions, accurate in their tails.

mod exp;
mod normal;

pub use exp::exp_of_multiples;
pub(crate) use normal::tail_terms;
pub use normal::{inverse_mills, log_normal_cdf, mills_excess, normal_cdf, normal_quantile};
