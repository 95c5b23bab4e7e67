//! Special functions, accurate in their tails.

mod exp;
mod normal;

pub use exp::exp_in_place;
pub use normal::{inverse_mills, log_normal_cdf, mills_excess, normal_cdf};
