//! A network on functions: lift, evolve, project, decode.

use super::batch::{Batch, KernelLayers, Layers};
use super::config::{Kind, ModelConfig};
use super::equation::Equation;
use super::fno;
use super::parameters::{ParameterTensors, kernel_shape, reaction_shape};
use crate::engine::Engine;
use crate::kernel::mlp;
use crate::operator::{StreamedParts, evolve_streamed};
use crate::{Error, Result};
use burn::tensor::Tensor;

/// The result is samples x (nodes x columns of the outputs) in physical units.
pub(crate) fn forward(
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

/// NKN and GKN: samples x (nodes x columns of the outputs), not yet decoded.
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
    let [_, dim] = batch.points.dims();
    let last = match kernel_shape(config, dim)?.hidden() {
        Some(hidden) if engine.is_fused(&batch.points.device()) && d > 1 && layers.plan.streams() => {
            let (reaction, source) = reaction_and_source(config, parameters, batch, engine)?;
            let kernel = parameters.get("kernel");
            let kernel_inputs = kernel_inputs(config, batch, layers);
            let parts = StreamedParts { initial, hidden, kernel, kernel_inputs, reaction, source };
            evolve_streamed(parts, &layers.plan)
        }
        _ => equation(config, parameters, batch, layers, engine)?.evolve(initial, &layers.plan, engine),
    };
    let project = parameters.get("project");
    let columns = config.output_columns();
    let weight = project.clone().slice(0..columns * d);
    let weight = if columns == 1 { weight.reshape([d, 1]) } else { weight.reshape([columns, d]).transpose() };
    let bias = project.slice(columns * d..columns * (d + 1)).reshape([1, columns]);
    let output = last.reshape([samples * nodes, d]).matmul(weight) + bias;
    Ok(output.reshape([samples, nodes * columns]))
}

/// The kernel's blocks, one per kernel row, and the reaction matrices: what the analysis of a network starts from.
pub(crate) fn kernel_blocks(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let layers = batch.kernel().ok_or_else(|| no_kernel(config.kind))?;
    let equation = equation(config, parameters, batch, layers, Engine::Automatic)?;
    let values = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect();
    Ok((values(equation.blocks(config.width)), values(equation.reaction)))
}

/// For questions about the kernel of a network that has none.
pub(crate) fn no_kernel(kind: Kind) -> Error {
    let hint = "the layers of the other networks have no matrix A to analyse";
    Error::invalid("the network", "one with a kernel: nkn or gkn", kind, hint)
}

/// h(x, 0) = P (x, b(x)) + p.
fn lift(parameters: Tensor<1>, batch: &Batch, d: usize) -> Tensor<3> {
    let [samples, nodes, _] = batch.fields.dims();
    let [_, width] = batch.lift_inputs.dims();
    let weight = parameters.clone().slice(0..width * d).reshape([d, width]);
    let bias = parameters.slice(width * d..(width + 1) * d).reshape([1, d]);
    let lifted = batch.lift_inputs.clone().matmul(weight) + bias;
    lifted.reshape([samples, nodes, d])
}

fn equation(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
    layers: &KernelLayers,
    engine: Engine,
) -> Result<Equation> {
    let [_, dim] = batch.points.dims();
    let shape = kernel_shape(config, dim)?;
    let (inputs, kernel) = (kernel_inputs(config, batch, layers), parameters.get("kernel"));
    let rest = reaction_and_source(config, parameters, batch, engine)?;
    let make = if config.width == 1 { Equation::with_numbers } else { Equation::new };
    Ok(make(inputs, kernel, &shape, rest, engine))
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
        Kind::Gkn => parameters.get("root").reshape([1, d * d]),
        _ => mlp(batch.points.clone(), parameters.get("reaction"), &reaction_shape(config, dim)?, engine),
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
    let (mut start, mut seen) = (0, Vec::new());
    for name in &config.fields {
        let end = start + config.components_of(name);
        if config.kernel_fields.contains(name) {
            seen.push(flat.clone().slice([0..samples * nodes, start..end]));
        }
        start = end;
    }
    let seen = Tensor::cat(seen, 1);
    let [rows, _] = layers.inputs.dims();
    let points = layers.inputs.clone().slice([0..rows, 0..2 * dim]);
    let at = |positions: &Tensor<1, burn::tensor::Int>| seen.clone().select(0, positions.clone());
    Tensor::cat(vec![points, at(targets), at(sources)], 1)
}
