//! A Fourier layer: fused on the CPU backend Flex, Burn primitives on every other backend.

use super::fused::{FusedLayer, Layer};
use crate::engine::Engine;
use crate::operation::operate;
use burn::tensor::{Tensor, TensorData, activation::relu};
use std::sync::Arc;

/// One layer: a state (nodes x samples x d), the flat spectral weights, and R with c in one vector, to the next state.
pub fn fourier_layer(
    state: Tensor<3>,
    weights: Tensor<1>,
    pointwise: Tensor<1>,
    layer: &Arc<Layer>,
    engine: Engine,
) -> Tensor<3> {
    if engine.is_fused(&state.device()) {
        let inputs = [state.into_dispatch(), weights.into_dispatch(), pointwise.into_dispatch()];
        return operate(inputs, FusedLayer(layer.clone()));
    }
    portable(state, weights, pointwise, layer)
}

/// The same with the transform as one matrix, in Burn primitives.
fn portable(state: Tensor<3>, weights: Tensor<1>, pointwise: Tensor<1>, layer: &Layer) -> Tensor<3> {
    let [nodes, samples, d] = state.dims();
    let frequencies = &layer.frequencies;
    let count = frequencies.len();
    let (device, dtype) = (state.device(), state.dtype());
    let upload = |values: Vec<f64>| {
        let length = values.len();
        Tensor::<1>::from_data(TensorData::new(values, [length]), (&device, dtype))
    };
    let transform = upload(frequencies.matrix()).reshape([2 * count, nodes]);
    let spectrum = transform.clone().matmul(state.clone().reshape([nodes, samples * d]));
    let spectrum = spectrum.reshape([count, 2, samples, d]);
    let part = |index: usize| -> Tensor<3> {
        spectrum.clone().slice([0..count, index..index + 1]).reshape([count, samples, d])
    };
    let weight = |index: usize| -> Tensor<3> {
        let start = |k: usize| (frequencies.weight_of(k) * 2 + index) * d * d;
        let blocks = (0..count).map(|k| weights.clone().slice(start(k)..start(k) + d * d).reshape([1, d, d]));
        Tensor::cat(blocks.collect(), 0)
    };
    let real = part(0).matmul(weight(0)) - part(1).matmul(weight(1));
    let imaginary = part(0).matmul(weight(1)) + part(1).matmul(weight(0));
    let gain = upload((0..count).map(|k| frequencies.gain(k)).collect()).reshape([count, 1, 1, 1]);
    let mixed: Tensor<4> = Tensor::stack(vec![real, imaginary], 1) * gain;
    let inverse = transform.transpose().matmul(mixed.reshape([2 * count, samples * d])).reshape([nodes, samples, d]);
    let root = pointwise.clone().slice(0..d * d).reshape([d, d]);
    let bias = pointwise.slice(d * d..d * d + d).reshape([1, 1, d]);
    let own = state.reshape([nodes * samples, d]).matmul(root.transpose()).reshape([nodes, samples, d]);
    let next = inverse + own + bias;
    if layer.activate { relu(next) } else { next }
}
