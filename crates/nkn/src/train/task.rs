//! What the trainer must know of what is learned: a batch, its loss, and the measures. `task/` has the two kinds: a function from a function,
//! and the class of an image.

use super::config::TrainConfig;
use crate::model::parameters::ParameterTensors;
use crate::model::{Averages, Kind, Model, ModelConfig, Normalisers, Parameters, Space, Work};
use crate::seed::Seed;
use crate::{Device, Result};
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

/// What every task has: a network, the settings of its training, and where it is computed.
pub(crate) struct Setup<'a> {
    pub model: &'a ModelConfig,
    pub config: &'a TrainConfig,
    /// What the network acts on.
    pub space: Space,
    pub device: Device,
    pub normalisers: Normalisers,
}

impl Setup<'_> {
    /// The seed of one purpose in a rung of the ladder, or in an epoch.
    pub fn seed(&self, purpose: &str, index: usize) -> Seed {
        Seed::new(self.config.seed).derive(purpose, index as u64)
    }

    /// Random weights for a rung of the ladder.
    pub fn random(&self, rung: usize, depth: usize) -> Result<Parameters> {
        Parameters::init(self.model, &self.space, depth, self.seed("parameters", rung))
    }

    /// The network with these numbers.
    pub fn network(&self, depth: usize, parameters: Parameters, averages: Averages) -> Model {
        let normalisers = self.normalisers.clone();
        Model { config: self.model.clone(), space: self.space, depth, parameters, averages, normalisers }
    }
}

/// Something that can be learned from samples by steps.
pub(crate) trait Task {
    /// The network and how it is trained.
    fn setup(&self) -> &Setup<'_>;

    /// Nodes along a side of the training samples.
    fn resolution(&self) -> usize;

    /// The number of samples to learn from.
    fn count(&self) -> usize;

    /// Prepares all that stays the same at a depth, and says what a step takes.
    fn begin(&mut self, depth: usize) -> Result<Work>;

    /// Random weights for a rung of the ladder.
    fn random(&self, rung: usize, depth: usize) -> Result<Parameters> {
        self.setup().random(rung, depth)
    }

    /// Averages before the first step, for networks that normalise by batches.
    fn averages(&self, _depth: usize) -> Result<Averages> {
        Ok(Averages::new())
    }

    /// All samples in the order of an epoch.
    fn order(&self, place: Place) -> Vec<usize>;

    /// Whether every step of this depth sees one and the same batch of all samples.
    fn is_fixed(&self) -> bool {
        false
    }

    /// The loss on some samples, as a step of this epoch sees them. What batch normalisations saw is left in `seen`.
    fn loss(
        &self,
        weights: &ParameterTensors,
        place: Place,
        samples: &[usize],
        step: u64,
        seen: &mut Averages,
    ) -> Result<Tensor<1>>;

    /// Makes the weights keep what the settings promise of them: whether they had to change.
    fn constrain(&self, _: &mut Parameters) -> Result<bool> {
        Ok(false)
    }

    /// The errors on the training samples, if they are taken; the first decides the contest for the best weights.
    fn training_error(&self, _: &Model) -> Result<Vec<Measure>> {
        Ok(Vec::new())
    }

    /// The measure that is followed while training, if there is something to test with.
    fn test(&self, model: &Model) -> Result<Option<Measure>>;

    /// The error on samples that are followed but not learned from, if there are such.
    fn validation(&self, _model: &Model) -> Result<Option<Measure>> {
        Ok(None)
    }

    /// All measures of a finished depth besides the training error.
    fn measures(&self, model: &Model) -> Result<Vec<Measure>>;
}

/// Whether the weights of one depth can be used at another: not where every layer has its own.
pub fn can_deepen(config: &ModelConfig) -> bool {
    matches!(config.kind, Kind::Nkn | Kind::Gkn)
}

/// A place in a training: randomness is derived from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Position on the ladder.
    pub rung: usize,
    /// Epochs done at this depth.
    pub epoch: usize,
}

/// A number that says how good a network is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// The samples: `train`, `test`, `validation`, `official`.
    pub split: String,
    /// Nodes along a side, or the number of points.
    pub resolution: usize,
    /// `relative_l2`, `relative_l2_squared`, `error_rate`.
    pub metric: String,
    /// The value.
    pub value: f64,
    /// Of images: how many of each class (rows) got which answer (columns).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confusion: Vec<Vec<usize>>,
}

impl Measure {
    pub(crate) fn new(split: &str, resolution: usize, metric: &str, value: f64) -> Self {
        Self { split: split.into(), resolution, metric: metric.into(), value, confusion: Vec::new() }
    }
}
