//! What a training is made of while it runs, and what it tells.

use super::optimiser::{Optimiser, OptimiserKind};
use super::task::Measure;
use crate::model::{Averages, Model, Parameters, Work};
use serde::{Deserialize, Serialize};

/// Everything that changes while training: with it a training continues to the bit.
///
/// In a checkpoint the numbers are the header, under these names, and what is skipped are tensors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// Position on the ladder.
    pub rung: usize,
    /// Epochs done at this depth.
    pub epoch: usize,
    /// Steps done in this epoch.
    pub step: usize,
    /// The depth that the weights belong to: at the start of a rung still that of the rung before. Old checkpoints do not
    /// have it.
    pub depth: usize,
    /// The weights.
    #[serde(skip)]
    pub parameters: Parameters,
    /// Running averages of batch normalisations.
    #[serde(skip)]
    pub(crate) averages: Averages,
    /// The optimiser's moments.
    #[serde(skip)]
    pub optimiser: Optimiser,
    /// The weights with the lowest training loss (or validation error) at this depth, and that loss.
    #[serde(skip)]
    pub best: Parameters,
    /// The averages that belong to them.
    #[serde(skip)]
    pub(crate) best_averages: Averages,
    /// The mean of the weights over the last steps, with the averages that belong to it.
    #[serde(skip)]
    pub(crate) mean: Parameters,
    #[serde(skip)]
    pub(crate) mean_averages: Averages,
    /// Over how many steps; without any there is no mean.
    pub averaged: u64,
    /// Infinite before the first epoch.
    #[serde(with = "bits", default = "infinity")]
    pub best_loss: f64,
    /// Steps of this depth after which the weights were constrained.
    pub constrained: u64,
    /// Sum of the losses of this epoch's steps, times their samples.
    #[serde(with = "bits")]
    pub loss: f64,
    /// Norm of the last step's gradient.
    #[serde(with = "bits")]
    pub gradient_norm: f64,
    /// The epoch of the last improvement that counts for plateaus, and its loss.
    pub improved_at: usize,
    /// Infinite before the first epoch.
    #[serde(with = "bits", default = "infinity")]
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
            depth,
            optimiser: Optimiser::new(optimiser, &parameters),
            best: parameters.clone(),
            best_averages: averages.clone(),
            parameters,
            averages,
            best_loss: f64::INFINITY,
            improved_loss: f64::INFINITY,
            ..Self::default()
        }
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

fn infinity() -> f64 {
    f64::INFINITY
}

/// Numbers in a file as their bits: JSON has no word for an infinite one.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(value.to_bits())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        u64::deserialize(deserializer).map(f64::from_bits)
    }
}

/// A finished depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthResult {
    /// L.
    pub depth: usize,
    /// Epochs trained.
    pub epochs: usize,
    /// Seconds spent at this depth and before.
    pub seconds: f64,
    /// Steps after which the weights had to be scaled: of `certified` trainings.
    #[serde(default, skip_serializing_if = "is_none")]
    pub constrained: u64,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_state_come_back_to_the_bit() {
        let depths = vec![DepthResult { depth: 1, epochs: 9, seconds: 0.1, constrained: 0, measures: Vec::new() }];
        for number in [f64::INFINITY, 0.1 + 0.2, f64::MIN_POSITIVE, -0.0] {
            let numbers = State { best_loss: number, loss: number, improved_loss: number, ..State::default() };
            let state = State { rung: 2, epoch: 3, step: 1, results: depths.clone(), seconds: 1.5, ..numbers };
            let text = serde_json::to_string(&state).unwrap();
            let back: State = serde_json::from_str(&text).unwrap();
            assert_eq!(back, state, "{text}");
            assert_eq!(back.loss.to_bits(), number.to_bits());
        }
    }

    #[test]
    fn what_old_checkpoints_do_not_say_is_as_at_the_start() {
        let state: State = serde_json::from_str(r#"{"epoch": 4, "seconds": 2.0, "model": {}}"#).unwrap();
        assert_eq!((state.epoch, state.rung, state.depth, state.recorded_bytes), (4, 0, 0, 0));
        assert_eq!((state.best_loss, state.improved_loss, state.loss), (f64::INFINITY, f64::INFINITY, 0.0));
        assert!(serde_json::from_str::<State>(r#"{"epoch": -4}"#).is_err());
        assert!(serde_json::from_str::<State>(r#"{"best_loss": 0.5}"#).is_err(), "bits are whole numbers");
    }
}
