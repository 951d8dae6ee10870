//! Training: the one trainer with its ladder from shallow to deep, optimisers, schedules and checkpoints; what it must know of a task.

mod average;
mod checkpoint;
mod config;
mod optimiser;
mod schedule;
mod soap;
mod state;
mod step;
mod task;
mod trainer;

pub use config::{Augment, Initialisation, Keep, LossKind, PerDepth, TrainConfig};
pub use optimiser::{Optimiser, OptimiserKind};
pub use schedule::{ScheduleConfig, ScheduleKind};
pub use state::{DepthResult, Event, Outcome, Record, State};
pub use task::{Measure, can_deepen};
pub(crate) use task::{Place, Setup, Task};
pub(crate) use trainer::Trainer;
