//! What a training is made of while it runs, and what it tells.

use super::optimiser::Optimiser;
use crate::model::{Model, Parameters, Work};

/// Everything that changes while training: with it a training continues to the bit.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Position on the ladder.
    pub rung: usize,
    /// Epochs done at this depth.
    pub epoch: usize,
    /// The depth that the weights belong to: at the start of a rung still that of the rung before.
    pub depth: usize,
    /// The weights.
    pub parameters: Parameters,
    /// The optimiser's moments.
    pub optimiser: Optimiser,
    /// The weights with the lowest training loss at this depth, and that loss.
    pub best: Parameters,
    /// Infinite before the first epoch.
    pub best_loss: f64,
    /// The epoch of the last improvement that counts for plateaus, and its loss.
    pub improved_at: usize,
    /// Infinite before the first epoch.
    pub improved_loss: f64,
    /// Reductions that a plateau schedule has made, and the epoch of the last.
    pub reductions: u32,
    /// Epoch of the last reduction.
    pub reduced_at: usize,
    /// Finished depths.
    pub results: Vec<DepthResult>,
    /// Length of metrics.csv when the state was taken.
    pub recorded_bytes: u64,
    /// Seconds spent, over all sessions.
    pub seconds: f64,
}

/// A finished depth.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DepthResult {
    /// L.
    pub depth: usize,
    /// Epochs trained.
    pub epochs: usize,
    /// Mean relative L2 error on the training samples, best weights.
    pub train: f64,
    /// The mean of the squares.
    pub train_squared: f64,
    /// On the test samples, if there are any.
    pub test: Option<f64>,
    /// The mean of the squares.
    pub test_squared: Option<f64>,
    /// Seconds spent at this depth and before.
    pub seconds: f64,
}

/// A row of metrics.csv.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// L.
    pub depth: usize,
    /// Epochs done at this depth.
    pub epoch: usize,
    /// `train` or `test`.
    pub split: &'static str,
    /// `loss`, `relative_l2`, `learning_rate`, `gradient_norm`.
    pub metric: &'static str,
    /// The value.
    pub value: f64,
}

/// What a training tells while it runs.
pub enum Event<'a> {
    /// A depth begins, or is taken up again.
    Depth {
        /// L.
        depth: usize,
        /// Epochs that it will take at most.
        epochs: usize,
        /// What one step takes.
        work: Work,
    },
    /// An epoch is done.
    Epoch {
        /// The state after it.
        state: &'a State,
        /// Mean loss of its steps.
        loss: f64,
        /// The newest test error.
        test: Option<f64>,
    },
    /// Numbers for metrics.csv.
    Records(&'a [Record]),
    /// A depth is finished.
    Finished {
        /// Its errors.
        result: &'a DepthResult,
        /// The best weights.
        model: &'a Model,
    },
    /// The state is to be saved; the receiver fills in what it has recorded.
    Checkpoint(&'a mut State),
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All depths are done.
    Complete,
    /// It was asked to stop, and has saved its state.
    Interrupted,
}
