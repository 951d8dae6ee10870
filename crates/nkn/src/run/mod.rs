//! A run from a configuration file to a folder of results.

mod config;
mod data;
mod folder;

pub use config::RunConfig;
pub use data::{Data, DataConfig, Problem, Progress};
pub use folder::{Existing, RunFolder};
