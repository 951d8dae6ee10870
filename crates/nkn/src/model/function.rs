//! A network on functions: lift, evolve, project, decode.

use super::batch::{Batch, KernelLayers, Layers};
use super::config::{Kind, ModelConfig};
use super::fno;
use super::parameters::{ParameterTensors, Parameters, kernel_shape, reaction_shape};
use crate::engine::Engine;
use crate::kernel::{affine, mlp};
use crate::operator::{Equation, bounding, evolve_streamed, scale};
use crate::{Error, Result};
use burn::tensor::Tensor;
use rayon::prelude::*;

/// The result is samples x (nodes x columns of the outputs) in physical units.
pub(crate) fn forward(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
    engine: Engine,
) -> Result<Tensor<2>> {
    let output = match &batch.layers {
        Layers::Kernel(layers) => KernelPass { config, parameters, batch, layers, engine }.forward()?,
        Layers::Fourier(layers) => fno::forward(config, parameters, batch.lift_inputs.clone(), layers, engine)?,
    };
    Ok(match &batch.decode {
        Some((mean, std)) => output * std.clone() + mean.clone(),
        None => output,
    })
}

/// The kernel's blocks, one per kernel row, and the reaction matrices: what the analysis of a network starts from.
pub(crate) fn kernel_blocks(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let layers = batch.kernel().ok_or_else(|| no_kernel(config.kind))?;
    let equation = KernelPass { config, parameters, batch, layers, engine: Engine::Automatic }.equation()?;
    let values = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect();
    Ok((values(equation.blocks()), values(equation.reaction)))
}

/// Of a dissipative network: what bounds its kernel's blocks and its reaction matrices in the certificate.
pub(crate) fn bounding_blocks(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
) -> Result<Option<(Vec<f64>, Vec<f64>)>> {
    let layers = batch.kernel().ok_or_else(|| no_kernel(config.kind))?;
    let Some(pairs) = &layers.pairs else { return Ok(None) };
    let pass = KernelPass { config, parameters, batch, layers, engine: Engine::Automatic };
    let (kernel, reaction) = pass.free_equation()?.dissipative_numbers(pairs);
    let values = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect();
    Ok(Some((values(bounding(kernel, Some(pairs))), values(bounding(reaction, None)))))
}

/// Of a dissipative network: a bound of |D*(1 + Ω)|² for all samples of a batch at once, by sums over the neighbours of
/// a node in which every edge has its largest block.
pub(crate) fn largest_growth(config: &ModelConfig, parameters: &ParameterTensors, batch: &Batch) -> Result<f64> {
    let Some((blocks, reaction)) = bounding_blocks(config, parameters, batch)? else { return Ok(0.0) };
    let plan = &batch.kernel().ok_or_else(|| no_kernel(config.kind))?.plan;
    let (d, size) = (config.width, config.width * config.width);
    // No eigenvalue of a symmetric matrix is larger than either.
    let largest = |block: &[f64]| {
        let rows = block.chunks_exact(d).map(|row| row.iter().map(|v| v.abs()).sum::<f64>());
        rows.fold(0.0, f64::max).min(block.iter().map(|v| v * v).sum::<f64>().sqrt())
    };
    let blocks: Vec<f64> = blocks.par_chunks_exact(size).map(largest).collect();
    let mut sums: Vec<f64> = reaction.chunks_exact(size).map(largest).collect();
    for (edge, (x, _, weight)) in plan.edge_list().into_iter().enumerate() {
        let own = plan.rows.rows_of_edge(edge).map(|row| blocks[row]).fold(0.0, f64::max);
        sums[x as usize] += 2.0 * weight * own;
    }
    Ok(sums.into_iter().fold(0.0, f64::max))
}

/// Multiplies the kernel and the reaction of a dissipative network by a factor.
pub(crate) fn shrink(config: &ModelConfig, parameters: &mut Parameters, factor: f64) {
    for name in ["kernel", "reaction"] {
        let group = parameters.group_mut(name);
        let [.., last, _] = group.entries.as_slice() else { unreachable!("a perceptron has a last layer") };
        let start = last.start;
        scale(&mut group.values[start..], config.width, factor);
    }
}

/// For questions about the kernel of a network that has none.
pub(crate) fn no_kernel(kind: Kind) -> Error {
    let hint = "the layers of the other networks have no matrix A to analyse";
    Error::invalid("the network", "one with a kernel: nkn or gkn", kind, hint)
}

/// One pass through NKN or GKN.
struct KernelPass<'a> {
    config: &'a ModelConfig,
    parameters: &'a ParameterTensors,
    batch: &'a Batch,
    layers: &'a KernelLayers,
    engine: Engine,
}

impl KernelPass<'_> {
    /// samples x (nodes x columns of the outputs), not yet decoded.
    fn forward(&self) -> Result<Tensor<2>> {
        let [samples, nodes, _] = self.batch.fields.dims();
        let (d, plan, engine) = (self.config.width, &self.layers.plan, self.engine);
        let initial =
            affine(self.batch.lift_inputs.clone(), self.parameters.get("lift"), d).reshape([samples, nodes, d]);
        let last = match kernel_shape(self.config, self.dim())?.hidden() {
            Some(hidden) if engine.is_fused(&initial.device()) && d > 1 && plan.streams() => {
                let kernel = (hidden, self.parameters.get("kernel"), self.layers.inputs.clone());
                evolve_streamed(initial, kernel, self.reaction_and_source()?, plan.clone())
            }
            _ => self.equation()?.evolve(initial, plan, engine)?,
        };
        plan.check()?;
        let project = self.parameters.get("project");
        let columns = self.config.output_columns();
        let weight = project.clone().slice(0..columns * d);
        let weight = if columns == 1 { weight.reshape([d, 1]) } else { weight.reshape([columns, d]).transpose() };
        let bias = project.slice(columns * d..columns * (d + 1)).reshape([1, columns]);
        let output = last.reshape([samples * nodes, d]).matmul(weight) + bias;
        Ok(output.reshape([samples, nodes * columns]))
    }

    fn equation(&self) -> Result<Equation> {
        match &self.layers.pairs {
            Some(pairs) => Ok(self.free_equation()?.dissipative(pairs, self.engine)),
            None if self.config.width == 1 => {
                let shape = kernel_shape(self.config, self.dim())?;
                let numbers = mlp(self.layers.inputs.clone(), self.parameters.get("kernel"), &shape, self.engine);
                Ok(Equation::with_numbers(numbers, self.reaction_and_source()?))
            }
            None => self.free_equation(),
        }
    }

    /// The networks' own outputs.
    fn free_equation(&self) -> Result<Equation> {
        let shape = kernel_shape(self.config, self.dim())?;
        let (inputs, kernel) = (self.layers.inputs.clone(), self.parameters.get("kernel"));
        Ok(Equation::new(inputs, kernel, &shape, self.reaction_and_source()?, self.engine))
    }

    /// R and c.
    fn reaction_and_source(&self) -> Result<(Tensor<2>, Tensor<1>)> {
        let (d, points) = (self.config.width, self.batch.points.clone());
        let get = |name: &str| self.parameters.get(name);
        let reaction = match self.config.kind {
            Kind::Gkn => get("root").reshape([1, d * d]),
            _ => mlp(points, get("reaction"), &reaction_shape(self.config, self.dim())?, self.engine),
        };
        Ok((reaction, get("source")))
    }

    fn dim(&self) -> usize {
        self.batch.points.dims()[1]
    }
}
