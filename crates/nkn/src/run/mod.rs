//! A run from a configuration file to a folder of results.

mod config;
mod folder;

pub use config::{Data, DataConfig, Problem, RunConfig};
pub use folder::{Existing, RunFolder};
