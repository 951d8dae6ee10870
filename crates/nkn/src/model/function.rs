//! A network on functions: lift, evolve, project, decode.

use super::batch::{Batch, KernelLayers, Layers};
use super::config::{Kind, ModelConfig};
use super::fno;
use super::nkn::{Bounding, LEAST_REACTION};
use super::parameters::{ParameterTensors, Parameters, kernel_shape, reaction_shape};
use crate::engine::Engine;
use crate::kernel::{affine, mlp};
use crate::operator::{Equation, evolve_streamed, scale};
use crate::parallel::Parallel;
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

/// Of a dissipative network: what bounds its steps in the certificate, with S⁻¹ N in the place of N.
pub(crate) fn bounding_blocks(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    batch: &Batch,
) -> Result<Option<Bounding<Vec<f64>>>> {
    let layers = batch.kernel().ok_or_else(|| no_kernel(config.kind))?;
    let Some(pairs) = &layers.pairs else { return Ok(None) };
    let pass = KernelPass { config, parameters, batch, layers, engine: Engine::Automatic };
    let bounding = pass.free_equation()?.bounding(pairs, &layers.plan);
    let mut bounding = bounding.map(|tensor| tensor.into_data().iter::<f64>().collect::<Vec<f64>>());
    // From N to A S = S⁻¹ N.
    if let Some(exchange) = &mut bounding.exchange {
        for (value, (x, ..)) in exchange.iter_mut().zip(layers.plan.edge_list()) {
            *value /= bounding.reaction[x as usize].sqrt();
        }
    }
    Ok(Some(bounding))
}

/// Of a dissipative network: a bound of |D*(1 + Ω)|² for all samples of a batch at once, by sums over the neighbours of
/// a node in which every edge has its largest block.
pub(crate) fn largest_growth(config: &ModelConfig, parameters: &ParameterTensors, batch: &Batch) -> Result<f64> {
    let Some(Bounding { kernel, reaction, exchange }) = bounding_blocks(config, parameters, batch)? else {
        return Ok(0.0);
    };
    let plan = &batch.kernel().ok_or_else(|| no_kernel(config.kind))?.plan;
    let (d, size) = (config.width, config.width * config.width);
    // No eigenvalue of a symmetric matrix is larger than either.
    let largest = |block: &[f64]| {
        let rows = block.chunks_exact(d).map(|row| row.iter().map(|v| v.abs()).sum::<f64>());
        rows.fold(0.0, f64::max).min(block.iter().map(|v| v * v).sum::<f64>().sqrt())
    };
    let kernel: Vec<f64> = kernel.chunks_exact(size).parallel().map(largest);
    let mut sums: Vec<f64> = reaction.chunks_exact(size).map(largest).collect();
    let edges = plan.edge_list();
    for (edge, &(x, _, weight)) in edges.iter().enumerate() {
        let own = plan.rows.rows_of_edge(edge).map(|row| kernel[row]).fold(0.0, f64::max);
        sums[x as usize] += 2.0 * weight * own;
    }
    let most = |sums: Vec<f64>| sums.into_iter().fold(0.0, f64::max);
    let Some(exchange) = exchange else { return Ok(most(sums)) };
    // Schur's test, in the norm that the measure weighs: a matrix is no larger than the root of its rows' and its
    // columns' largest sums.
    let measure = plan.measure().expect("a dissipative network's nodes have a measure");
    let (mut rows, mut columns) = (vec![0.0; plan.nodes()], vec![0.0; plan.nodes()]);
    for (value, &(x, y, weight)) in exchange.iter().zip(&edges) {
        let (x, y) = (x as usize, y as usize);
        rows[x] += weight * value.abs();
        columns[y] += weight * value.abs() * measure[x] / measure[y];
    }
    Ok(most(sums) + most(rows) * most(columns))
}

/// Makes the operator of a dissipative network smaller, so that a growth becomes another.
pub(crate) fn shrink(config: &ModelConfig, parameters: &mut Parameters, (growth, most): (f64, f64)) {
    let d = config.width;
    // What does not shrink. In the rest no part of the growth shrinks less than by the factor.
    let least = if d == 1 { LEAST_REACTION } else { 0.0 };
    let factor = (most - least) / growth;
    for name in ["kernel", "reaction"] {
        let group = parameters.group_mut(name);
        let [.., last, _] = group.entries.as_slice() else { unreachable!("a perceptron has a last layer") };
        let layer = &mut group.values[last.start..];
        match (d, name) {
            // K and N are of the first degree in it.
            (1, "kernel") => layer.iter_mut().for_each(|value| *value *= factor as f32),
            _ => scale(layer, d, factor),
        }
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
        let equation = self.free_equation()?;
        Ok(match &self.layers.pairs {
            Some(pairs) => equation.dissipative(pairs, &self.layers.plan, self.engine),
            None => equation,
        })
    }

    /// The networks' own outputs.
    fn free_equation(&self) -> Result<Equation> {
        let shape = kernel_shape(self.config, self.dim())?;
        let (inputs, kernel) = (self.layers.inputs.clone(), self.parameters.get("kernel"));
        let others = self.reaction_and_source()?;
        if self.config.width == 1 {
            return Ok(Equation::with_numbers(mlp(inputs, kernel, &shape, self.engine), others));
        }
        Ok(Equation::new(inputs, kernel, &shape, others, self.engine))
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
