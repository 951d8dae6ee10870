//! Single steps: a batch, its loss, its gradients, and the optimiser.

use super::config::Augment;
use super::loss::loss;
use super::state::State;
use super::trainer::Trainer;
use crate::engine::Engine;
use crate::field::{Samples, Symmetry, moved};
use crate::model::{Batch, Geometry, Normalisers, Parameters, Work, forward};
use crate::seed::{Seed, uniform};
use crate::{Error, Result};
use burn::tensor::{DType, Tensor, TensorData};
use rayon::prelude::*;

/// The batches of a depth.
pub(super) struct Steps {
    /// The samples' domain as the network sees it, for all batches.
    geometry: Geometry,
    /// The whole set as one batch, prepared once.
    full: Option<(Batch, Tensor<2>)>,
}

impl Steps {
    pub fn new(trainer: &Trainer, depth: usize, normalisers: &Normalisers) -> Result<Self> {
        let is_fixed = trainer.is_full_batch() && trainer.config.augment == Augment::None;
        let geometry = Geometry::new(trainer.model, normalisers, &trainer.train.domain, None)?;
        let full = is_fixed.then(|| prepare(trainer, &geometry, depth, trainer.train)).transpose()?;
        Ok(Self { geometry, full })
    }

    /// What a step takes, before the first one.
    pub fn work(&self, trainer: &Trainer, depth: usize) -> Result<Work> {
        let dim = trainer.train.domain.dim();
        if let Some((batch, _)) = &self.full {
            return Work::of(trainer.model, dim, batch, &trainer.options(depth, true));
        }
        let count = trainer.config.batch.unwrap_or(trainer.train.count).min(trainer.train.count);
        let first: Vec<usize> = (0..count).collect();
        let (batch, _) = prepare(trainer, &self.geometry, depth, &trainer.train.select(&first))?;
        Work::of(trainer.model, dim, &batch, &trainer.options(depth, true))
    }

    /// One pass over the data: the mean loss and the last gradient's norm.
    pub fn epoch(&mut self, trainer: &Trainer, depth: usize, rate: f64, state: &mut State) -> Result<(f64, f64)> {
        if let Some((batch, truth)) = &self.full {
            return step(trainer, batch, truth, depth, rate, state);
        }
        let size = trainer.config.batch.unwrap_or(trainer.train.count);
        let seed = Seed::new(trainer.config.seed).derive("shuffle", state.rung as u64);
        let order = seed.derive("epoch", state.epoch as u64).permutation(trainer.train.count);
        let moves = augmentation(trainer, state);
        let (mut total, mut norm) = (0.0, 0.0);
        for indices in order.chunks(size) {
            let mut samples = trainer.train.select(indices);
            if let Some(moves) = &moves {
                let own: Vec<Symmetry> = indices.iter().map(|&index| moves[index]).collect();
                samples = moved(&samples, &own, &trainer.config.vectors)?;
            }
            let (batch, truth) = prepare(trainer, &self.geometry, depth, &samples)?;
            let (loss, length) = step(trainer, &batch, &truth, depth, rate, state)?;
            total += loss * indices.len() as f64;
            norm = length;
        }
        Ok((total / trainer.train.count as f64, norm))
    }
}

/// The symmetry of each sample in this epoch.
fn augmentation(trainer: &Trainer, state: &State) -> Option<Vec<Symmetry>> {
    if trainer.config.augment == Augment::None {
        return None;
    }
    let seed = Seed::new(trainer.config.seed).derive("augment", state.rung as u64);
    let mut rng = seed.derive("epoch", state.epoch as u64).rng();
    Some((0..trainer.train.count).map(|_| Symmetry(uniform(&mut rng, 0.0, 8.0) as u8 % 8)).collect())
}

pub(super) fn prepare(
    trainer: &Trainer,
    geometry: &Geometry,
    depth: usize,
    samples: &Samples,
) -> Result<(Batch, Tensor<2>)> {
    let options = trainer.options(depth, true);
    let batch = Batch::on(geometry, trainer.model, samples, &options)?;
    let truth = TensorData::new(samples.output()?.to_vec(), [samples.count, samples.nodes()]);
    Ok((batch, Tensor::from_data(truth, (&options.device, options.dtype))))
}

/// One step of the optimiser: the loss before it and the gradient's norm.
pub(super) fn step(
    trainer: &Trainer,
    batch: &Batch,
    truth: &Tensor<2>,
    depth: usize,
    rate: f64,
    state: &mut State,
) -> Result<(f64, f64)> {
    let (value, mut gradients) = gradients(trainer, batch, truth, &state.parameters)?;
    let place = || format!("at depth {depth}, epoch {}", state.epoch + 1);
    let hint = "lower train.learning_rate, add train.clip, or normalise the data; the last checkpoint is intact";
    let finite = |what: String, got: f64| {
        if got.is_finite() {
            return Ok(());
        }
        Err(Error::NotFinite { what, got, place: place(), hint: hint.into() })
    };
    finite("the training loss".into(), value)?;
    let mut square = 0.0;
    for (gradient, group) in gradients.iter().zip(&state.parameters.groups) {
        let squares = |piece: &[f32]| piece.iter().map(|&g| g as f64 * g as f64).sum::<f64>();
        let own: f64 = gradient.par_chunks(1 << 16).map(squares).collect::<Vec<f64>>().iter().sum();
        finite(format!("the gradient of {:?}", group.name), own)?;
        square += own;
    }
    let norm = square.sqrt();
    if let Some(clip) = trainer.config.clip
        && norm > clip
    {
        let scale = (clip / norm) as f32;
        gradients.iter_mut().flatten().for_each(|g| *g *= scale);
    }
    state.optimiser.step(trainer.config, rate, &mut state.parameters, &mut gradients);
    Ok((value, norm))
}

/// The loss of a batch and its gradients, one vector per parameter group.
fn gradients(
    trainer: &Trainer,
    batch: &Batch,
    truth: &Tensor<2>,
    parameters: &Parameters,
) -> Result<(f64, Vec<Vec<f32>>)> {
    let tensors = parameters.tensors(&batch.points.device(), DType::F32).require_grad();
    let prediction = forward(trainer.model, &tensors, batch, Engine::Automatic)?;
    let loss = loss(trainer.config.loss, prediction, truth.clone());
    let mut computed = loss.backward();
    let value = loss.into_scalar::<f32>() as f64;
    let gradients = tensors
        .iter()
        .zip(&parameters.groups)
        .map(|((_, tensor), group)| match tensor.grad_remove(&mut computed) {
            Some(gradient) => gradient.into_data().try_into_vec::<f32>().expect("single precision"),
            None => vec![0.0; group.values.len()],
        })
        .collect();
    Ok((value, gradients))
}
