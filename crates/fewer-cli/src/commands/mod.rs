//! One file for each subcommand.

pub mod bound;
pub mod cv;
pub mod demo;
pub mod explain;
pub mod fit;
pub mod path;
pub mod predict;
pub mod report;
pub mod score;
pub mod stability;
