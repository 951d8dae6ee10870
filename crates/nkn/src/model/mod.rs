//! The networks: lift, repeat an update, project. One file per update rule.

pub(crate) mod affinity;
mod batch;
pub(crate) mod cnn;
mod config;
pub mod fno;
mod geometry;
pub mod gkn;
pub(crate) mod image;
pub(crate) mod layers;
pub(crate) mod maps;
pub(crate) mod multiscale_cnn;
pub mod nkn;
pub(crate) mod nnn;
mod parameters;
pub(crate) mod preresnet;
mod work;

pub use batch::{Batch, BatchOptions, KernelLayers, Layers, Normalisers};
pub use config::{Kind, ModelConfig};
pub use geometry::Geometry;
pub use parameters::{Entry, Group, ParameterTensors, Parameters};
pub use work::{Work, peak_gflops};

use crate::engine::Engine;
use crate::field::Samples;
use crate::kernel::mlp;
use crate::operator::{Integral, Parts, Plan, StreamedParts, Update, evolve, evolve_streamed};
use crate::{Error, Result};
use burn::tensor::{Device, Tensor, TensorData};
use parameters::{kernel_shape, reaction_shape};

/// A network with its parameters: everything that a model file holds.
#[derive(Clone, Debug)]
pub struct Model {
    /// The architecture.
    pub config: ModelConfig,
    /// Dimension of space.
    pub dim: usize,
    /// L.
    pub depth: usize,
    /// What was learned.
    pub parameters: Parameters,
    /// Statistics of the training data.
    pub normalisers: Normalisers,
}

impl Model {
    /// The outputs of the samples in physical units, samples x nodes.
    pub fn predict(&self, samples: &Samples, device: &Device) -> Result<Vec<f64>> {
        self.predict_with(samples, &BatchOptions::new(self.depth, device))
    }

    /// [`Self::predict`] with other options than the usual ones.
    pub fn predict_with(&self, samples: &Samples, options: &BatchOptions) -> Result<Vec<f64>> {
        let parameters = self.parameters.tensors(&options.device, options.dtype);
        let mut values = Vec::with_capacity(samples.count * samples.nodes());
        // Some samples at a time bound the memory; results of a sample do not depend on its company beyond rounding.
        let step = self.samples_at_a_time(samples, options)?;
        for start in (0..samples.count).step_by(step) {
            let indices: Vec<usize> = (start..samples.count.min(start + step)).collect();
            let batch = Batch::new(&self.config, &self.normalisers, &samples.select(&indices), options)?;
            let output = forward(&self.config, &parameters, &batch, Engine::Automatic)?;
            values.extend(output.into_data().iter::<f64>());
        }
        Ok(values)
    }
}

impl Model {
    /// How many samples to predict at a time: as many as possible share kernel rows, unless fewer at a time fit the memory
    /// budget in a faster order.
    fn samples_at_a_time(&self, samples: &Samples, options: &BatchOptions) -> Result<usize> {
        let mut best = (f64::INFINITY, 1);
        for count in [128, 16, 4, 1] {
            let count = count.min(samples.count);
            let indices: Vec<usize> = (0..count).collect();
            let batch = Batch::new(&self.config, &self.normalisers, &samples.select(&indices), options)?;
            let Some(plan) = batch.kernel().map(|kernel| &kernel.plan) else { return Ok(count) };
            let cost = plan.cost(plan.order, &self.config.purpose(self.dim, options));
            if cost.seconds / (count as f64) < best.0 {
                best = (cost.seconds / count as f64, count);
            }
            if !plan.streams() {
                break;
            }
        }
        Ok(best.1)
    }
}

/// The network: lift, evolve, project, decode. The result is samples x nodes in physical units.
pub fn forward(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
    engine: Engine,
) -> Result<Tensor<2>> {
    let output = match &batch.layers {
        Layers::Kernel(kernel) => kernel_network(config, parameters, batch, kernel, engine)?,
        Layers::Fourier(layers) => fno::forward(config, parameters, batch.lift_inputs.clone(), layers, engine)?,
    };
    Ok(match &batch.decode {
        Some((mean, std)) => output * std.clone() + mean.clone(),
        None => output,
    })
}

/// NKN and GKN: samples x nodes, not yet decoded.
fn kernel_network(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
    layers: &KernelLayers,
    engine: Engine,
) -> Result<Tensor<2>> {
    let [samples, nodes, _] = batch.fields.dims();
    let d = config.width;
    let initial = lift(parameters.get("lift"), batch, d);
    let is_fused = engine.is_fused(&batch.points.device());
    let [_, dim] = batch.points.dims();
    let last = match kernel_shape(config, dim)?.hidden() {
        Some(hidden) if is_fused && d > 1 && layers.plan.streams() => {
            let (reaction, source) = reaction_and_source(config, parameters, batch, engine)?;
            let parts = StreamedParts {
                initial,
                hidden,
                kernel: parameters.get("kernel"),
                kernel_inputs: kernel_inputs(config, batch, layers),
                reaction,
                source,
            };
            evolve_streamed(parts, &layers.plan)
        }
        _ => {
            let parts = kernel_parts(config, parameters, batch, layers, initial, engine)?;
            if is_fused { evolve(parts, layers.plan.clone()) } else { evolve_plainly(parts, &layers.plan) }
        }
    };
    let project = parameters.get("project");
    let weight = project.clone().slice(0..d).reshape([d, 1]);
    let bias = project.slice(d..d + 1).reshape([1, 1]);
    let output = last.reshape([samples * nodes, d]).matmul(weight) + bias;
    Ok(output.reshape([samples, nodes]))
}

/// The kernel's blocks, one per kernel row, and the reaction matrices: what the analysis of a network starts from.
pub fn kernel_blocks(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let layers = batch.kernel().ok_or_else(|| no_kernel(config.kind))?;
    let initial = lift(parameters.get("lift"), batch, config.width);
    let parts = kernel_parts(config, parameters, batch, layers, initial, Engine::Automatic)?;
    let size = config.width * config.width;
    let [_, width] = parts.features.dims();
    let split = size * width;
    let weight = parts.last_layer.clone().slice(0..split).reshape([size, width]);
    let bias = parts.last_layer.slice(split..split + size).reshape([1, size]);
    let blocks = parts.features.matmul(weight.transpose()) + bias;
    let values = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect();
    Ok((values(blocks), values(parts.reaction)))
}

/// For questions about the kernel of a network that has none.
pub(crate) fn no_kernel(kind: Kind) -> Error {
    Error::invalid("the network", "one with a kernel: nkn or gkn", kind, "Fourier layers have no matrix A to analyse")
}

/// h(x, 0) = P (x, b(x)) + p.
fn lift(parameters: Tensor<1>, batch: &Batch, d: usize) -> Tensor<3> {
    let [samples, nodes, _] = batch.fields.dims();
    let [_, width] = batch.lift_inputs.dims();
    let weight = parameters.clone().slice(0..width * d).reshape([d, width]);
    let bias = parameters.slice(width * d..(width + 1) * d).reshape([1, d]);
    let lifted = batch.lift_inputs.clone().matmul(weight.transpose()) + bias;
    lifted.reshape([samples, nodes, d])
}

/// What the evolution of an initial state works on: the kernel's features and last layer, R and c.
fn kernel_parts(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
    layers: &KernelLayers,
    initial: Tensor<3>,
    engine: Engine,
) -> Result<Parts> {
    let (reaction, source) = reaction_and_source(config, parameters, batch, engine)?;
    let [_, dim] = batch.points.dims();
    let d = config.width;
    let shape = kernel_shape(config, dim)?;
    let kernel = parameters.get("kernel");
    let inputs = kernel_inputs(config, batch, layers);
    let count = shape.parameters();
    if d == 1 {
        // K is a number: the whole perceptron goes through at once, and the assembly has nothing left to multiply with.
        let options = (&batch.points.device(), batch.points.dtype());
        let last_layer = Tensor::from_data(TensorData::from([1.0f64, 0.0]), options);
        return Ok(Parts { initial, features: mlp(inputs, kernel, &shape, engine), last_layer, reaction, source });
    }
    let (features, hidden) = match shape.hidden() {
        Some(hidden) => {
            let split = hidden.parameters();
            (mlp(inputs, kernel.clone().slice(0..split), &hidden, engine), split)
        }
        None => (inputs, 0),
    };
    Ok(Parts { initial, features, last_layer: kernel.slice(hidden..count), reaction, source })
}

/// R and c.
fn reaction_and_source(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
    engine: Engine,
) -> Result<(Tensor<2>, Tensor<1>)> {
    let [_, dim] = batch.points.dims();
    let d = config.width;
    let reaction = match config.kind {
        Kind::Nkn => {
            let shape = reaction_shape(config, dim)?;
            mlp(batch.points.clone(), parameters.get("reaction"), &shape, engine)
        }
        Kind::Gkn | Kind::Fno => parameters.get("root").reshape([1, d * d]),
    };
    Ok((reaction, parameters.get("source")))
}

/// The kernel's inputs; with rows of their own for every sample they are taken from the fields' tensor, so
/// that derivatives reach it.
fn kernel_inputs(config: &ModelConfig, batch: &Batch, layers: &KernelLayers) -> Tensor<2> {
    let Some((targets, sources)) = &layers.positions else {
        return layers.inputs.clone();
    };
    let [samples, nodes, fields] = batch.fields.dims();
    let [_, dim] = batch.points.dims();
    let flat = batch.fields.clone().reshape([samples * nodes, fields]);
    let columns = config.fields.iter().enumerate();
    let seen: Vec<Tensor<2>> = columns
        .filter(|(_, name)| config.kernel_fields.contains(name))
        .map(|(i, _)| flat.clone().slice([0..samples * nodes, i..i + 1]))
        .collect();
    let seen = Tensor::cat(seen, 1);
    let [rows, _] = layers.inputs.dims();
    let points = layers.inputs.clone().slice([0..rows, 0..2 * dim]);
    let at = |positions: &Tensor<1, burn::tensor::Int>| seen.clone().select(0, positions.clone());
    Tensor::cat(vec![points, at(targets), at(sources)], 1)
}

/// Layer by layer with the updates of [`nkn`] and [`gkn`].
pub(crate) fn evolve_plainly(parts: Parts, plan: &Plan) -> Tensor<3> {
    let kernel = Integral::new(&parts, plan);
    let source = parts.source.reshape([1, 1, plan.width]);
    let mut h = parts.initial.swap_dims(0, 1);
    for layer in 0..plan.depth {
        h = match plan.update {
            Update::DiffusionReaction { step } => nkn::update(h, step, &kernel, &parts.reaction, &source),
            Update::GraphKernel { activate_last } => {
                let activate = activate_last || layer + 1 < plan.depth;
                gkn::update(h, activate, &kernel, &parts.reaction, &source)
            }
        };
    }
    h.swap_dims(0, 1)
}
