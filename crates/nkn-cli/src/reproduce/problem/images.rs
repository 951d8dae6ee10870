//! What the trainings on images have in common.

use super::{Budget, Job, Request};
use anyhow::Result;
use nkn::classify::{ClassifierConfig, ClassifierTraining, ImageDataConfig, ImageRunConfig, Problem};

/// Networks from this error on guess: always saying the most frequent digit errs in 88.7 %, any of ten equally frequent
/// classes in 90 %.
pub const GUESSING: f64 = 0.88;

/// Sizes that images can be made of.
pub const PIXELS: (fn(usize) -> bool, &str) = (|side| side >= 2 && side <= 512, "2 to 512 pixels");

/// The configuration of a training, with the model's and the training's own settings.
pub fn config(
    problem: Problem,
    base: ClassifierConfig,
    training: ClassifierTraining,
    job: &Job,
    request: &Request,
) -> Result<ImageRunConfig> {
    let is_quick = request.budget == Budget::Quick;
    let radius = job.model.strip_prefix("nkn-r").and_then(|radius| radius.parse().ok());
    let config = ImageRunConfig {
        data: ImageDataConfig {
            problem,
            folder: request.images.clone(),
            side: job.trained_at,
            tested_at: request.tests(),
            train_images: if is_quick { 2_000 } else { 50_000 },
            test_images: is_quick.then_some(500),
        },
        model: ClassifierConfig {
            depth: job.depths.first().copied().unwrap_or(base.depth),
            radius: radius.unwrap_or(base.radius),
            ..base
        },
        train: ClassifierTraining {
            epochs: request.epochs.unwrap_or(if is_quick { 2 } else { training.epochs }),
            seed: job.seed,
            ..training
        },
    };
    config.model.check()?;
    config.train.check()?;
    Ok(config)
}
