//! What a training is made of while it runs, and what it tells.

use super::optimiser::{Optimiser, OptimiserKind};
use super::task::Measure;
use crate::model::{Averages, Model, Parameters, Work};
use serde::{Deserialize, Serialize};

/// Everything that changes while training: with it a training continues to the bit.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Position on the ladder.
    pub rung: usize,
    /// Epochs done at this depth.
    pub epoch: usize,
    /// Steps done in this epoch.
    pub step: usize,
    /// The depth that the weights belong to: at the start of a rung still that of the rung before.
    pub depth: usize,
    /// The weights.
    pub parameters: Parameters,
    /// Running averages of batch normalisations.
    pub(crate) averages: Averages,
    /// The optimiser's moments.
    pub optimiser: Optimiser,
    /// The weights with the lowest training loss (or validation error) at this depth, and that loss.
    pub best: Parameters,
    /// The averages that belong to them.
    pub(crate) best_averages: Averages,
    /// Infinite before the first epoch.
    pub best_loss: f64,
    /// Sum of the losses of this epoch's steps, times their samples.
    pub loss: f64,
    /// Norm of the last step's gradient.
    pub gradient_norm: f64,
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

impl State {
    /// The state before the first step with these weights.
    pub(crate) fn new(depth: usize, parameters: Parameters, averages: Averages, optimiser: OptimiserKind) -> Self {
        Self {
            rung: 0,
            epoch: 0,
            step: 0,
            depth,
            optimiser: Optimiser::new(optimiser, &parameters),
            best: parameters.clone(),
            best_averages: averages.clone(),
            parameters,
            averages,
            best_loss: f64::INFINITY,
            loss: 0.0,
            gradient_norm: 0.0,
            improved_at: 0,
            improved_loss: f64::INFINITY,
            reductions: 0,
            reduced_at: 0,
            results: Vec::new(),
            recorded_bytes: 0,
            seconds: 0.0,
        }
    }
}

/// A finished depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "AnyDepthResult")]
pub struct DepthResult {
    /// L.
    pub depth: usize,
    /// Epochs trained.
    pub epochs: usize,
    /// Seconds spent at this depth and before.
    pub seconds: f64,
    /// How good its best weights are: on the training samples, on the test samples, at every resolution.
    pub measures: Vec<Measure>,
}

impl DepthResult {
    /// The first measure of this name on these samples: of functions the one at the samples' own resolution, of images the one at the training's.
    pub fn get(&self, split: &str, metric: &str) -> Option<f64> {
        let found = self.measures.iter().find(|m| m.split == split && m.metric == metric);
        found.map(|measure| measure.value)
    }
}

/// A finished depth as it stands in files: earlier versions had named errors of functions instead of measures.
#[derive(Deserialize)]
struct AnyDepthResult {
    depth: usize,
    epochs: usize,
    seconds: f64,
    #[serde(default)]
    measures: Vec<Measure>,
    train: Option<f64>,
    train_squared: Option<f64>,
    test: Option<f64>,
    test_squared: Option<f64>,
}

impl From<AnyDepthResult> for DepthResult {
    fn from(any: AnyDepthResult) -> Self {
        let AnyDepthResult { depth, epochs, seconds, mut measures, .. } = any;
        let old = [
            ("train", "relative_l2", any.train),
            ("train", "relative_l2_squared", any.train_squared),
            ("test", "relative_l2", any.test),
            ("test", "relative_l2_squared", any.test_squared),
        ];
        // The resolution was not named.
        measures
            .extend(old.into_iter().filter_map(|(split, metric, value)| Some(Measure::new(split, 0, metric, value?))));
        Self { depth, epochs, seconds, measures }
    }
}

/// A row of metrics.csv.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// L.
    pub depth: usize,
    /// Epochs done at this depth.
    pub epoch: usize,
    /// `loss`, `learning_rate`, `gradient_norm`, or a measure.
    pub measure: Measure,
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
    /// A step is done.
    Step {
        /// The state after it.
        state: &'a State,
        /// Steps of an epoch.
        steps: usize,
    },
    /// An epoch is done.
    Epoch {
        /// The state after it.
        state: &'a State,
        /// Mean loss of its steps.
        loss: f64,
        /// The newest validation error.
        validation: Option<f64>,
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
