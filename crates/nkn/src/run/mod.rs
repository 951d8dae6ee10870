//! One configuration, one run folder, for every task.

mod config;
mod data;
mod estimate;
mod folder;
mod table;

pub use crate::model::peak_gflops;
pub use crate::operator::{Rates, rates};
pub(crate) use config::HINT;
pub use config::RunConfig;
pub use data::{Data, DataConfig, Problem, Progress, usual_folder};
pub use estimate::{Estimate, estimate, time_predictions, time_steps};
pub use folder::{Existing, RunFolder, RunResults};
