//! CIFAR-10: PreResNet-20 plain, with NNN blocks and with NKN blocks, trained at 32 x 32 (original), tested there, at 64 x 64
//! (fine) and at 16 x 16 (coarse).

use super::images::{self, AFFINITY, GUESSING, PIXELS};
use super::{Job, Problem, Request, Task};
use crate::reproduce::names::kind;
use anyhow::Result;
use nkn::field::images::Resampling;
use nkn::model::{Block, Kind, ModelConfig};
use nkn::run::RunConfig;
use nkn::train::{PerDepth, TrainConfig};

/// The example.
pub static CIFAR: Problem = Problem {
    name: "cifar",
    title: "CIFAR-10",
    task: Task::Images,
    models: &["preresnet20", "nnn", "nkn"],
    depths: |model, _| match model {
        "nnn" => &[2, 3, 4, 5],
        "nkn" => &[2, 3, 4],
        _ => &[],
    },
    seeds: &[0],
    compares_initialisations: None,
    split: "official",
    trained_at: &[32],
    finer: &[],
    tested_at: |_| &[32, 64, 16],
    has_resolution: PIXELS,
    resolution_names: &[(64, "fine"), (32, "original"), (16, "coarse")],
    table_title: |_| "CIFAR-10, the official test images".into(),
    collapse: |_| GUESSING,
    config,
    notes: &[
        "All networks are trained at 32 × 32 pixels; 64 × 64 and 16 × 16 are made from the same images by bilinear interpolation \
         on grids with a common first pixel: even pixels are copied and odd ones averaged, or every second pixel is taken.",
        "Tao et al.: the numbers of Tao et al. (2018), quoted by the paper. L is the number of layers of the nonlocal block in a \
         PreResNet-20.",
        AFFINITY,
    ],
};

fn config(job: &Job, request: &Request) -> Result<RunConfig> {
    let block = match kind(&job.model) {
        "nnn" => Block::Nnn,
        "nkn" => Block::Nkn,
        _ => Block::None,
    };
    let model = ModelConfig { kind: Kind::Preresnet, block, ..ModelConfig::images() };
    let train = TrainConfig {
        epochs: PerDepth::Same(15),
        learning_rate: PerDepth::Same(3e-3),
        weight_decay: 1e-4,
        flip: true,
        shift: 3,
        subpixel: true,
        ..TrainConfig::images()
    };
    let mut config = images::config(nkn::run::Problem::Cifar10, model, train, job, request)?;
    // So that restriction gives the convolutions the very images of the training: see configs/cifar10.toml.
    config.data.resampling = Resampling::Aligned;
    // A test of ten thousand images is a fifteenth of an epoch.
    config.train.evaluate_every = (config.train.epochs.at(0) / 5).max(1);
    Ok(config)
}
