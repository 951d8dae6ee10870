//! One file per command.

use crate::Global;
use anyhow::{Result, ensure};
use clap::Args;
use nkn::model::{Model, Parameters};
use nkn::run::{Data, Existing, RunConfig, RunFolder};
use std::path::{Path, PathBuf};

pub mod bench;
pub mod data;
pub mod deepen;
pub mod eval;
pub mod fit;
pub mod inspect;
mod meshes;
pub mod predict;
pub mod quickstart;
pub mod report;
pub mod reproduce;
pub mod spectrum;
mod steps;
pub mod train;

/// Where a run goes.
#[derive(Args)]
pub struct Destination {
    /// The new run's folder [default: runs/NAME of the configuration file, or RUN-L32 when deepening]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Continue an interrupted run from its checkpoint
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Replace a run that is already there
    #[arg(long)]
    force: bool,
}

impl Destination {
    /// What to do about a folder that is already there.
    pub fn existing(&self) -> Existing {
        match (self.resume, self.force) {
            (true, _) => Existing::Resume,
            (_, true) => Existing::Replace,
            _ => Existing::Refuse,
        }
    }
}

/// Refuses to replace a file, unless that is wanted.
fn refuse_existing(file: &Path, force: bool) -> Result<()> {
    let hint = "replace it with --force, or choose another name";
    ensure!(force || !file.exists(), "{}: exists already\n  hint: {hint}", file.display());
    Ok(())
}

/// Says what was done: as a line of JSON, for programs, or in words, for people.
fn say(global: &Global, words: impl std::fmt::Display, json: serde_json::Value) {
    match global.json {
        true => println!("{json}"),
        false => eprintln!("{words}"),
    }
}

/// The network of a run's folder or of a model file.
fn model_of(path: &Path) -> Result<Model> {
    Ok(if path.is_file() { Model::load(path)? } else { RunFolder::open(path)?.model()? })
}

/// The weights of a run or a model file for a training that begins with them.
fn weights_of(path: &Path, config: &RunConfig, data: &Data) -> Result<Parameters> {
    let parameters = model_of(path)?.parameters().clone();
    Ok(parameters.fitting(&config.model, &data.space(), config.train.depths[0])?)
}
