//! A run from a configuration file to a folder of results.

mod config;
mod data;
mod folder;

pub use config::RunConfig;
pub(crate) use config::parse_with;
pub use data::{Data, DataConfig, Problem, Progress};
pub(crate) use folder::is_occupied;
pub use folder::{Existing, RunFolder};
