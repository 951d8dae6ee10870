//! 1D Poisson: NKN, GKN and FNO at depths 1 to 32, with and without normalisation.

use super::functions::{NOTES, ladder};
use super::{Budget, Initialisations, Job, Problem, Request, Task};
use crate::reproduce::row::Data;
use anyhow::Result;
use nkn::model::ModelConfig;
use nkn::run::RunConfig;
use std::path::Path;

/// The example. The best function that does not depend on the input has an error of 0.49; zero has 1.
pub static POISSON: Problem = Problem {
    name: "poisson",
    title: "1D Poisson",
    task: Task::Functions,
    models: &["nkn", "gkn", "fno"],
    depths: |_, _| &[1, 2, 4, 8, 16, 32],
    seeds: &[0, 1],
    compares_initialisations: Some(Initialisations { model: "nkn", data: Data::Original, deepest: 32 }),
    split: "test",
    trained_at: &[101],
    finer: &[],
    tested_at: |_| &[101],
    has_resolution: (|points| points > 2, "3 points or more (the paper has 101)"),
    resolution_names: &[],
    table_title: |key| format!("1D Poisson, {} points", key.trained_at),
    collapse: |_| 0.48,
    config,
    notes: &NOTES,
};

fn config(job: &Job, request: &Request) -> Result<RunConfig> {
    let text = include_str!("../../../../../configs/poisson.toml");
    let mut config = RunConfig::parse(text, Path::new("configs/poisson.toml"), &[])?;
    config.data.points = job.trained_at;
    let settings = match (job.model.as_str(), request.budget) {
        ("fno", Budget::Full) => ([25; 7], [1e-3; 7]),
        ("fno", Budget::Quick) => ([12; 7], [1e-3; 7]),
        (_, Budget::Full) => ([1000; 7], [1e-2, 5e-3, 5e-3, 5e-3, 5e-3, 5e-3, 5e-3]),
        // Too few steps to recover from a large one.
        (_, Budget::Quick) => ([250; 7], [1e-2, 2e-3, 2e-3, 2e-3, 2e-3, 2e-3, 2e-3]),
    };
    ladder(config, ModelConfig::fno_1d(), settings, job, request)
}
