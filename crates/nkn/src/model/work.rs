//! What a step of training takes.

use super::batch::{Batch, BatchOptions};
use super::config::{Kind, ModelConfig};
use super::parameters::{kernel_shape, reaction_shape};
use crate::Result;
use crate::kernel::MlpShape;

/// The necessary work on a batch: a prediction, or a training step with the derivatives of all parameters.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Floating point operations, in units of 10^9.
    pub gflop: f64,
    /// Memory in single precision, in bytes.
    pub bytes: f64,
}

impl Work {
    /// The work on a batch that was prepared with these options.
    pub fn of(config: &ModelConfig, dim: usize, batch: &Batch, options: &BatchOptions) -> Result<Self> {
        let plan = &batch.plan;
        let (rows, nodes) = (plan.kernel_rows() as f64, plan.nodes() as f64);
        let kernel = kernel_shape(config, dim)?;
        let cost = plan.cost(plan.order, &config.purpose(dim, options));
        // The last layer is counted with the assembly, unless K is a number.
        let evaluated = if config.width == 1 { Some(kernel) } else { kernel.hidden() };
        let hidden = evaluated.map_or((0.0, 0.0), |shape| perceptron(&shape, rows, options.training));
        let reaction = match config.kind {
            Kind::Nkn => perceptron(&reaction_shape(config, dim)?, nodes, options.training),
            Kind::Gkn => (0.0, 0.0),
        };
        Ok(Self { gflop: (cost.flops + hidden.0 + reaction.0) / 1e9, bytes: cost.bytes + hidden.1 + reaction.1 })
    }
}

/// Operations and bytes: in training three products per layer, two in the first, whose input is given.
fn perceptron(shape: &MlpShape, rows: f64, training: bool) -> (f64, f64) {
    let layers = shape.layers();
    let products = layers.iter().map(|layer| 2.0 * (layer.inputs * layer.outputs) as f64);
    let first = products.clone().next().unwrap_or(0.0);
    let flops = if training { 3.0 * products.sum::<f64>() - first } else { products.sum() };
    let activations: f64 = layers.iter().map(|layer| layer.outputs as f64).sum();
    (rows * flops, 4.0 * rows * activations)
}
