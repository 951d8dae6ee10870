//! Handwritten digits: NKN, CNN, multiscale CNN and NNN, trained and tested at 28 x 28 (fine) and 14 x 14 (coarse).

use super::images::{self, GUESSING, PIXELS};
use super::{Job, Problem, Request, Task};
use crate::reproduce::training::Config;
use anyhow::Result;
use nkn::classify::{Architecture, ClassifierConfig, ClassifierTraining};

/// The example.
pub static MNIST: Problem = Problem {
    name: "mnist",
    title: "MNIST",
    task: Task::Images,
    models: &["cnn", "multiscale-cnn", "nnn", "nkn"],
    depths: |_, _| &[1, 2, 4],
    seeds: &[0],
    compares_initialisations: false,
    split: "validation",
    trained_at: &[28, 14],
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
    ],
};

fn config(job: &Job, request: &Request) -> Result<Config> {
    let architecture = match job.model.as_str() {
        "cnn" => Architecture::Cnn,
        "multiscale-cnn" => Architecture::MultiscaleCnn,
        "nnn" => Architecture::Nnn,
        _ => Architecture::Nkn,
    };
    let model = ClassifierConfig { architecture, ..ClassifierConfig::default() };
    let training = ClassifierTraining { epochs: 5, learning_rate: 1e-3, ..ClassifierTraining::default() };
    Ok(Config::Image(images::config(nkn::classify::Problem::Mnist, model, training, job, request)?))
}
