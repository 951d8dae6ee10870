//! Handwritten digits: NKN, CNN, multiscale CNN and NNN, trained and tested at 28 x 28 (fine) and 14 x 14 (coarse).

use super::images::{self, AFFINITY, GUESSING, PIXELS};
use super::{Job, Problem, Request, Task};
use anyhow::Result;
use nkn::model::{Kind, ModelConfig};
use nkn::run::RunConfig;
use nkn::train::TrainConfig;

/// The example.
pub static MNIST: Problem = Problem {
    name: "mnist",
    title: "MNIST",
    task: Task::Images,
    models: &["cnn", "multiscale-cnn", "nnn", "nkn"],
    depths: |_, _| &[1, 2, 4],
    seeds: &[0],
    compares_initialisations: None,
    split: "validation",
    trained_at: &[28, 14],
    finer: &[],
    tested_at: |_| &[28, 14],
    has_resolution: PIXELS,
    resolution_names: &[(28, "fine"), (14, "coarse")],
    table_title: |key| match key.split.as_str() {
        "validation" => "MNIST, images held out as in the paper".into(),
        split => format!("MNIST, the {split} test images"),
    },
    collapse: |_| GUESSING,
    config,
    notes: &[
        "The paper divides the 60,000 training images at random into 50,000 and 10,000 and reports errors on the latter. Its \
         division is not known; ours is another.",
        "Multiscale CNN*: the numbers of Haber et al. (2018), quoted by the paper; trained with another loss, another optimiser and \
         regularisation.",
        AFFINITY,
    ],
};

fn config(job: &Job, request: &Request) -> Result<RunConfig> {
    let kind = match job.model.as_str() {
        "cnn" => Kind::Cnn,
        "multiscale-cnn" => Kind::MultiscaleCnn,
        "nnn" => Kind::Nnn,
        _ => Kind::Nkn,
    };
    let model = ModelConfig { kind, ..ModelConfig::images() };
    images::config(nkn::run::Problem::Mnist, model, TrainConfig::images(), job, request)
}
