//! Training: losses, optimisers, schedules, the ladder from shallow to deep, and checkpoints.

mod checkpoint;
mod config;
mod evaluation;
mod loss;
mod optimiser;
mod schedule;
mod soap;
mod state;
mod steps;
#[cfg(test)]
mod tests;
mod trainer;

pub use config::{Augment, Initialisation, LossKind, PerDepth, TrainConfig};
pub use evaluation::Evaluation;
pub use loss::loss;
pub use optimiser::{Optimiser, OptimiserKind};
pub use schedule::{ScheduleConfig, ScheduleKind};
pub use state::{DepthResult, Event, Outcome, Record, State};
pub use trainer::Trainer;
