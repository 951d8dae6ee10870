//! The state of a training as one file.
//!
//! A checkpoint is written beside the old one, flushed and renamed over it. Killed before the rename, the old
//! checkpoint is there; killed after it, the new one. In both cases the training continues from a complete state,
//! and because every step is a function of the state alone, with the results of a training that was never interrupted.

use super::config::TrainConfig;
use super::optimiser::Optimiser;
use super::state::State;
use crate::io::tensors::{Piece, VERSION, average_pieces, encode, parameter_pieces, parse_header, read_averages};
use crate::io::tensors::{decode, read_parameters, values};
use crate::io::write_atomically;
use crate::model::{Averages, ModelConfig, Parameters, Space};
use crate::{Error, Result};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Serialize, Deserialize)]
struct Header<S> {
    version: u32,
    /// The settings that the state belongs to.
    model: ModelConfig,
    train: TrainConfig,
    space: Space,
    /// Of the optimiser.
    steps: u64,
    #[serde(flatten)]
    state: S,
}

/// The prefixes of what belongs to the best weights and to the mean of the last ones.
const BEST: &str = "best.";
const MEAN: &str = "mean.";

impl State {
    /// Saves the state.
    pub(crate) fn write(&self, path: &Path, model: &ModelConfig, train: &TrainConfig, space: &Space) -> Result<()> {
        let header = Header {
            version: VERSION,
            model: model.clone(),
            train: train.clone(),
            space: *space,
            steps: self.optimiser.steps,
            state: self,
        };
        let mut pieces = parameter_pieces(&self.parameters, "");
        pieces.extend(average_pieces(&self.averages, ""));
        pieces.extend(parameter_pieces(&self.best, BEST));
        pieces.extend(average_pieces(&self.best_averages, BEST));
        if self.averaged > 0 {
            pieces.extend(parameter_pieces(&self.mean, MEAN));
            pieces.extend(average_pieces(&self.mean_averages, MEAN));
        }
        let mut optimiser = self.optimiser.clone();
        let vectors = optimiser.vectors(&self.parameters).into_iter();
        pieces.extend(vectors.map(|(name, vector)| Piece::single(name, vec![vector.len()], vector)));
        let header = serde_json::to_string(&header).expect("a header is plain data");
        write_atomically(path, &encode(path, &pieces, header)?)
    }

    /// Reads a state back; it must belong to these settings.
    pub(crate) fn read(path: &Path, model: &ModelConfig, train: &TrainConfig) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io(path, "read"))?;
        let (header, tensors) = decode(path, &bytes, "checkpoint")?;
        let defaults = serde_json::to_value(TrainConfig::images()).expect("settings are plain data");
        let header: Header<Self> = parse_header(path, &header, defaults, "train anew with --force")?;
        if header.model != *model || !train.extends(&header.train) {
            let hint = "resume with the settings of the run's config.toml, or train anew with --force";
            return Err(Error::file(path, "belongs to other settings of [model] or [train]", hint));
        }
        let mut state = header.state;
        if state.depth == 0 {
            state.depth = train.depths[state.rung.min(train.depths.len() - 1)];
        }
        let layout = Parameters::layout(model, &header.space, state.depth)?;
        let weights = |prefix: &str| -> Result<(Parameters, Averages)> {
            let mut parameters = layout.clone();
            read_parameters(path, &tensors, &mut parameters, prefix)?;
            Ok((parameters, read_averages(path, &tensors, prefix)?))
        };
        (state.parameters, state.averages) = weights("")?;
        // Checkpoints of images once had no best weights: the last ones were kept.
        let has_best = tensors.names().iter().any(|name| name.starts_with(BEST));
        (state.best, state.best_averages) = weights(if has_best { BEST } else { "" })?;
        if state.averaged > 0 {
            (state.mean, state.mean_averages) = weights(MEAN)?;
        }
        state.optimiser = read_optimiser(path, &tensors, train, &layout, header.steps)?;
        Ok(state)
    }
}

fn read_optimiser(
    path: &Path,
    tensors: &SafeTensors,
    train: &TrainConfig,
    layout: &Parameters,
    steps: u64,
) -> Result<Optimiser> {
    let mut optimiser = Optimiser::new(train.optimiser, layout);
    optimiser.steps = steps;
    for side in optimiser.bases.iter_mut().flat_map(|soap| [&mut soap.left, &mut soap.right]).flatten() {
        // The first step makes the bases.
        side.basis = vec![0.0; if steps == 0 { 0 } else { side.average.len() }];
    }
    for (name, vector) in optimiser.vectors(layout) {
        *vector = values(path, tensors, &name, &[vector.len()])?.into_iter().map(|v| v as f32).collect();
    }
    Ok(optimiser)
}
