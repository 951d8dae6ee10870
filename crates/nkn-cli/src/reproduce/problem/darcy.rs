//! 2D Darcy flow: NKN, GKN and FNO, trained on 16 x 16 nodes and tested at several resolutions.

use super::functions::{NOTES, ladder};
use super::{Budget, Job, Problem, Request, Task};
use crate::reproduce::row::{Data, Key};
use anyhow::Result;
use nkn::model::ModelConfig;
use nkn::run::RunConfig;
use std::path::Path;

/// The example.
pub static DARCY: Problem = Problem {
    name: "darcy",
    title: "2D Darcy flow",
    task: Task::Functions,
    models: &["nkn", "gkn", "fno"],
    depths: |model, budget| match (budget, model) {
        (Budget::Quick, _) => &[1, 2, 4],
        (Budget::Full, "gkn") => &[1, 2, 4, 8],
        (Budget::Full, _) => &[1, 2, 4, 8, 16],
    },
    seeds: &[0],
    compares_initialisations: false,
    split: "test",
    trained_at: &[16],
    tested_at: |budget| if budget == Budget::Full { &[16, 31, 61] } else { &[16, 31] },
    has_resolution: (
        |side| side > 1 && 240_usize.is_multiple_of(side - 1),
        "a grid that is part of the 241 x 241 nodes of the data, for example 16, 31, 61 or 121",
    ),
    resolution_names: &[],
    table_title: |key| format!("2D Darcy, trained at s = {}", key.trained_at),
    collapse,
    config,
    notes: &[
        NOTES[0],
        NOTES[1],
        NOTES[2],
        "All models see the training samples turned and mirrored at random (the equation has the symmetries of the square), which \
         the paper does not do. NKN and GKN are trained with the quadrature `overlap`, which does not change with the resolution; the \
         paper takes the mean over the neighbours.",
    ],
};

/// A constant has an error of 0.57 to 0.63. A pointwise normaliser, which FNO has, already carries the mean solution: what is left
/// then is 0.28.
fn collapse(key: &Key) -> f64 {
    if key.model == "fno" && key.data == Some(Data::Normalised) { 0.25 } else { 0.5 }
}

fn config(job: &Job, request: &Request) -> Result<RunConfig> {
    let text = include_str!("../../../../../configs/darcy.toml");
    let mut config = RunConfig::parse(text, Path::new("configs/darcy.toml"), &[])?;
    config.data.resolution = Some(job.trained_at);
    let epochs = match (job.model.as_str(), request.budget) {
        ("fno", Budget::Full) => [300; 7],
        ("fno", Budget::Quick) => [60; 7],
        ("gkn", Budget::Full) => [60, 60, 100, 200, 200, 200, 200],
        (_, Budget::Full) => [150, 150, 250, 450, 900, 300, 300],
        (_, Budget::Quick) => [10; 7],
    };
    let rates = if job.model == "fno" { [1e-3; 7] } else { [3e-3, 3e-3, 3e-3, 2e-3, 2e-3, 1e-3, 1e-3] };
    ladder(config, ModelConfig::fno_2d(), (epochs, rates), job, request)
}
