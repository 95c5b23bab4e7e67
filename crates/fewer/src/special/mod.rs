//! Special functions, accurate in their tails.

mod exp;
mod ln;
mod normal;
mod student_t;

pub use exp::exp_of_multiples;
pub use ln::ln_of;
pub(crate) use normal::tail_terms;
pub use normal::{inverse_mills, log_normal_cdf, mills_excess, normal_cdf, normal_quantile};
pub use student_t::{digamma, student_t_cdf, student_t_quantile};
