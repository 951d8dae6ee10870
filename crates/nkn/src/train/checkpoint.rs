//! The state of a training as one file.
//!
//! A checkpoint is written beside the old one, flushed and renamed over it. Killed before the rename, the old
//! checkpoint is there; killed after it, the new one. In both cases the training continues from a complete state,
//! and because every step is a function of the state alone, with the results of a training that was never interrupted.

use super::config::TrainConfig;
use super::optimiser::Optimiser;
use super::state::{DepthResult, State};
use crate::io::tensors::{Piece, decode, encode, parameter_pieces, read_parameters, values};
use crate::io::write_atomically;
use crate::model::{ModelConfig, Parameters};
use crate::{Error, Result};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};
use std::path::Path;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    /// The settings that the state belongs to.
    model: ModelConfig,
    train: TrainConfig,
    dim: usize,
    rung: usize,
    epoch: usize,
    /// Only networks whose weights depend on the depth need it; files from before there were any do not have it.
    #[serde(default)]
    depth: usize,
    steps: u64,
    improved_at: usize,
    reductions: u32,
    reduced_at: usize,
    results: Vec<DepthResult>,
    recorded_bytes: u64,
    seconds: f64,
    /// Bits of floating point numbers that may be infinite.
    best_loss: u64,
    improved_loss: u64,
}

impl State {
    /// Saves the state.
    pub fn write(&self, path: &Path, model: &ModelConfig, train: &TrainConfig, dim: usize) -> Result<()> {
        let header = Header {
            version: VERSION,
            model: model.clone(),
            train: train.clone(),
            dim,
            rung: self.rung,
            epoch: self.epoch,
            depth: self.depth,
            steps: self.optimiser.steps,
            improved_at: self.improved_at,
            reductions: self.reductions,
            reduced_at: self.reduced_at,
            results: self.results.clone(),
            recorded_bytes: self.recorded_bytes,
            seconds: self.seconds,
            best_loss: self.best_loss.to_bits(),
            improved_loss: self.improved_loss.to_bits(),
        };
        let mut pieces = parameter_pieces(&self.parameters, "");
        pieces.extend(parameter_pieces(&self.best, "best."));
        for (name, moments) in [("first", &self.optimiser.first), ("second", &self.optimiser.second)] {
            for (group, moments) in self.parameters.groups.iter().zip(moments) {
                pieces.push(Piece::single(format!("{name}.{}", group.name), vec![moments.len()], moments));
            }
        }
        for (index, soap) in self.optimiser.bases.iter().enumerate() {
            for (side, matrices) in [("left", &soap.left), ("right", &soap.right)] {
                let Some(matrices) = matrices else { continue };
                for (name, values) in [("average", &matrices.average), ("basis", &matrices.basis)] {
                    pieces.push(Piece::single(format!("soap.{index}.{side}.{name}"), vec![values.len()], values));
                }
            }
        }
        let header = serde_json::to_string(&header).expect("a header is plain data");
        write_atomically(path, &encode(path, &pieces, header)?)
    }

    /// Reads a state back; it must belong to these settings.
    pub fn read(path: &Path, model: &ModelConfig, train: &TrainConfig) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io(path, "read"))?;
        let (header, tensors) = decode(path, &bytes, "checkpoint")?;
        let header: Header = serde_json::from_str(&header).map_err(|error| {
            Error::file(path, format!("has an unreadable header ({error})"), "train anew with --force")
        })?;
        if header.version != VERSION {
            let problem = format!("has format version {}, expected {VERSION}", header.version);
            return Err(Error::file(path, problem, "resume with the nkn that wrote it, or train anew with --force"));
        }
        if header.model != *model || !train.extends(&header.train) {
            return Err(Error::file(
                path,
                "belongs to other settings of [model] or [train]",
                "resume with the settings of the run's config.toml, or train anew with --force",
            ));
        }
        let layout = Parameters::layout(model, header.dim, header.depth)?;
        let parameters = |prefix: &str| -> Result<Parameters> {
            let mut parameters = layout.clone();
            read_parameters(path, &tensors, &mut parameters, prefix)?;
            Ok(parameters)
        };
        Ok(Self {
            rung: header.rung,
            epoch: header.epoch,
            depth: header.depth,
            parameters: parameters("")?,
            best: parameters("best.")?,
            optimiser: read_optimiser(path, &tensors, train, &layout, header.steps)?,
            best_loss: f64::from_bits(header.best_loss),
            improved_at: header.improved_at,
            improved_loss: f64::from_bits(header.improved_loss),
            reductions: header.reductions,
            reduced_at: header.reduced_at,
            results: header.results,
            recorded_bytes: header.recorded_bytes,
            seconds: header.seconds,
        })
    }
}

fn read_optimiser(
    path: &Path,
    tensors: &SafeTensors,
    train: &TrainConfig,
    layout: &Parameters,
    steps: u64,
) -> Result<Optimiser> {
    let vector = |name: String, length: usize| -> Result<Vec<f32>> {
        Ok(values(path, tensors, &name, &[length])?.into_iter().map(|v| v as f32).collect())
    };
    let mut optimiser = Optimiser::new(train.optimiser, layout);
    optimiser.steps = steps;
    for (index, group) in layout.groups.iter().enumerate() {
        let length = group.values.len();
        optimiser.first[index] = vector(format!("first.{}", group.name), length)?;
        optimiser.second[index] = vector(format!("second.{}", group.name), length)?;
    }
    for (index, soap) in optimiser.bases.iter_mut().enumerate() {
        for (side, matrices) in [("left", &mut soap.left), ("right", &mut soap.right)] {
            let Some(matrices) = matrices else { continue };
            let length = matrices.average.len();
            matrices.average = vector(format!("soap.{index}.{side}.average"), length)?;
            let basis = if steps == 0 { 0 } else { length };
            matrices.basis = vector(format!("soap.{index}.{side}.basis"), basis)?;
        }
    }
    Ok(optimiser)
}
