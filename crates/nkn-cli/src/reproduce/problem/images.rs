//! What the trainings on images have in common.

use super::{Budget, Job, Request};
use crate::reproduce::names::kind;
use anyhow::Result;
use nkn::model::{Affinity, ModelConfig};
use nkn::run::{DataConfig, Problem, RunConfig};
use nkn::train::{PerDepth, TrainConfig};

/// Networks from this error on guess: always saying the most frequent digit errs in 88.7 %, any of ten equally frequent
/// classes in 90 %.
pub const GUESSING: f64 = 0.88;

/// The paper does not say which affinity it takes; dot products, the other one, are worse at both resolutions (docs/results/mnist.md).
pub const AFFINITY: &str = "NNN: the affinity of two pixels is the softmax of the cosines between their features.";

/// Sizes that images can be made of.
pub const PIXELS: (fn(usize) -> bool, &str) = (|side| (2..=512).contains(&side), "2 to 512 pixels");

/// The configuration of a training, with the model's and the training's own settings.
pub fn config(
    problem: Problem,
    base: ModelConfig,
    training: TrainConfig,
    job: &Job,
    request: &Request,
) -> Result<RunConfig> {
    let is_quick = request.budget == Budget::Quick;
    let radius = job.model.strip_prefix("nkn-r").and_then(|radius| radius.parse().ok());
    let affinity = if kind(&job.model) == "nnn" { Affinity::Cosine } else { base.affinity };
    let usual = DataConfig::of(problem);
    let epochs = request.epochs.or(is_quick.then_some(2)).map_or(training.epochs.clone(), PerDepth::Same);
    let config = RunConfig {
        data: DataConfig {
            folder: request.images(),
            resolution: Some(job.trained_at),
            tested_at: request.tests(),
            train_samples: if is_quick { 2_000 } else { usual.train_samples },
            test_samples: if is_quick { 500 } else { usual.test_samples },
            ..usual
        },
        model: ModelConfig { radius: radius.or(base.radius), affinity, ..base },
        train: TrainConfig {
            depths: vec![job.depths.first().copied().unwrap_or(1)],
            epochs,
            seed: job.seed,
            ..training
        },
    };
    config.model.check()?;
    config.train.check()?;
    Ok(config)
}
