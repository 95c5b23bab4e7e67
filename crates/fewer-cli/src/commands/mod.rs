//! One file for each subcommand.

pub mod demo;
pub mod explain;
pub mod fit;
pub mod predict;
pub mod report;
pub mod score;
