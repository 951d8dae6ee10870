//! A Fourier layer as a Burn operation: fused on the CPU backend Flex, Burn primitives on every other backend.

use super::fused::{self, Layer};
use crate::engine::{Engine, contiguous, flex_tensor, slice};
use crate::linalg::Real;
use burn::backend::autodiff::{
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{DType, Tensor, TensorData, activation::relu};
use std::sync::Arc;

/// The fused layer, for the backends that have it.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait FourierBackend: Backend {
    /// A state (nodes x samples x d), the flat spectral weights, and R with c in one vector, to the next state.
    fn fourier_layer(
        state: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        pointwise: FloatTensor<Self>,
        layer: Arc<Layer>,
    ) -> FloatTensor<Self>;
}

/// One layer.
pub fn fourier_layer(
    state: Tensor<3>,
    weights: Tensor<1>,
    pointwise: Tensor<1>,
    layer: &Arc<Layer>,
    engine: Engine,
) -> Tensor<3> {
    if engine.is_fused(&state.device()) {
        let (state, weights, pointwise) = (state.into_dispatch(), weights.into_dispatch(), pointwise.into_dispatch());
        return Tensor::from_dispatch(Dispatch::fourier_layer(state, weights, pointwise, layer.clone()));
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

/// What the forward pass leaves, in either precision.
#[derive(Clone, Debug)]
enum Saved {
    Single(Arc<fused::Saved<f32>>),
    Double(Arc<fused::Saved<f64>>),
}

/// State, weights, pointwise part.
type Primitives = [FlexTensor; 3];

fn forward(tensors: &Primitives, layer: &Layer) -> (FlexTensor, Saved) {
    let shape = tensors[0].layout().shape().clone();
    let [state, weights, pointwise] = tensors;
    match state.dtype() {
        DType::F64 => {
            let (output, saved) = fused::forward::<f64>(layer, slice(state), slice(weights), slice(pointwise));
            (flex_tensor(output, shape), Saved::Double(Arc::new(saved)))
        }
        _ => {
            let (output, saved) = fused::forward::<f32>(layer, slice(state), slice(weights), slice(pointwise));
            (flex_tensor(output, shape), Saved::Single(Arc::new(saved)))
        }
    }
}

impl FourierBackend for Flex {
    fn fourier_layer(state: FlexTensor, weights: FlexTensor, pointwise: FlexTensor, layer: Arc<Layer>) -> FlexTensor {
        forward(&[state, weights, pointwise].map(contiguous), &layer).0
    }
}

#[derive(Debug)]
struct FourierBackward;

#[derive(Clone, Debug)]
struct FourierState {
    layer: Arc<Layer>,
    tensors: Primitives,
    output: FlexTensor,
    saved: Saved,
}

impl<C: CheckpointStrategy> FourierBackend for Autodiff<Flex, C> {
    fn fourier_layer(
        state: FloatTensor<Self>,
        weights: FloatTensor<Self>,
        pointwise: FloatTensor<Self>,
        layer: Arc<Layer>,
    ) -> FloatTensor<Self> {
        let parents = [state, weights, pointwise].map(|tensor| tensor.into_parts());
        let tensors = parents.each_ref().map(|(tensor, _)| contiguous(tensor.clone()));
        let nodes = parents.map(|(_, node)| node);
        let (output, saved) = forward(&tensors, &layer);
        match FourierBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                prepared.finish(FourierState { layer, tensors, output: output.clone(), saved }, output)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

impl Backward<Flex, 3> for FourierBackward {
    type State = FourierState;

    fn backward(self, ops: Ops<FourierState, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = contiguous(grads.consume::<Flex>(&ops.node));
        let results = match &ops.state.saved {
            Saved::Single(saved) => backward::<f32>(&ops.state, saved, &gradient),
            Saved::Double(saved) => backward::<f64>(&ops.state, saved, &gradient),
        };
        for (node, result) in ops.parents.into_iter().zip(results) {
            if let Some(node) = node {
                grads.register::<Flex>(node.id, result);
            }
        }
    }
}

fn backward<T: Real>(state: &FourierState, saved: &fused::Saved<T>, gradient: &FlexTensor) -> Primitives {
    let [below, weights, pointwise] = &state.tensors;
    let seen = fused::Seen {
        state: slice(below),
        weights: slice(weights),
        pointwise: slice(pointwise),
        output: slice(&state.output),
    };
    let gradients = fused::backward(&state.layer, &seen, saved, slice(gradient));
    let shape = |tensor: &FlexTensor| tensor.layout().shape().clone();
    [
        flex_tensor(gradients.state, shape(below)),
        flex_tensor(gradients.weights, shape(weights)),
        flex_tensor(gradients.pointwise, shape(pointwise)),
    ]
}
