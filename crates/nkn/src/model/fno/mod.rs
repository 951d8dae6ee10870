//! The Fourier neural operator, the other neural operator that the paper compares with (its Section 2.1):
//!
//! h(x, l + 1) = σ( R(l) h(x, l) + F⁻¹( F(k(·; v_l)) · F(h(·, l)) )(x) + c(l) ),  σ = ReLU, none after the last layer
//!
//! Every layer has its own R, c, and complex matrices for the lowest frequencies. The transform keeps few frequencies, so
//! it is a product with a small matrix along each axis: exact on any grid size.
//!
//! Groups of parameters: `lift` (one linear layer), per layer `spectral.l` and `pointwise.l`, and `head`, a perceptron with one
//! hidden layer.

pub mod frequencies;
mod fused;
mod layer;

pub use frequencies::Frequencies;
pub use fused::Layer;
pub use layer::fourier_layer;

use super::config::ModelConfig;
use super::parameters::ParameterTensors;
use crate::Result;
use crate::engine::Engine;
use crate::kernel::{MlpShape, mlp};
use burn::tensor::Tensor;
use std::sync::Arc;

/// x, b(x) to d.
pub(super) fn lift_shape(config: &ModelConfig, dim: usize) -> Result<MlpShape> {
    MlpShape::new("lift", &[dim + config.columns(&config.fields), config.width])
}

/// d to u.
pub(super) fn head_shape(config: &ModelConfig) -> Result<MlpShape> {
    MlpShape::new("head", &[config.width, config.head, config.output_columns()])
}

/// From (x, b(x)) of nodes x samples (in this order) to the output, samples x (nodes x columns), before it is decoded.
pub(super) fn forward(
    config: &ModelConfig,
    parameters: &ParameterTensors,
    inputs: Tensor<2>,
    layers: &[Arc<Layer>],
    engine: Engine,
) -> Result<Tensor<2>> {
    let [rows, width] = inputs.dims();
    let first = &layers[0];
    let (samples, d) = (first.samples, first.width);
    let nodes = rows / samples;
    let lift = lift_shape(config, width - config.columns(&config.fields))?;
    let mut state = mlp(inputs, parameters.get("lift"), &lift, engine).reshape([nodes, samples, d]);
    for (index, layer) in layers.iter().enumerate() {
        let weights = parameters.get(&format!("spectral.{index}"));
        let pointwise = parameters.get(&format!("pointwise.{index}"));
        state = fourier_layer(state, weights, pointwise, layer, engine);
    }
    let output = mlp(state.reshape([rows, d]), parameters.get("head"), &head_shape(config)?, engine);
    let columns = config.output_columns();
    Ok(output.reshape([nodes, samples, columns]).swap_dims(0, 1).reshape([samples, nodes * columns]))
}
