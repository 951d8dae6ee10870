//! The perceptron as a Burn operation: fused on the CPU backend Flex, Burn primitives on every other backend.

use super::{fused, mlp::MlpShape};
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
use burn::tensor::{DType, Tensor, activation::relu};
use std::sync::Arc;

/// The fused perceptron, for the backends that have it.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait MlpBackend: Backend {
    /// Rows of inputs and a flat parameter vector to rows of outputs.
    fn mlp(x: FloatTensor<Self>, parameters: FloatTensor<Self>, shape: MlpShape) -> FloatTensor<Self>;
}

/// Evaluates the perceptron on the rows of `x` (rows x inputs); `parameters` is the flat vector of [`MlpShape`].
pub fn mlp(x: Tensor<2>, parameters: Tensor<1>, shape: &MlpShape, engine: Engine) -> Tensor<2> {
    if engine.is_fused(&x.device()) {
        let output = Dispatch::mlp(x.into_dispatch(), parameters.into_dispatch(), shape.clone());
        Tensor::from_dispatch(output)
    } else {
        mlp_portable(x, parameters, shape)
    }
}

/// The same in Burn primitives: what [`mlp`] must equal.
pub fn mlp_portable(x: Tensor<2>, parameters: Tensor<1>, shape: &MlpShape) -> Tensor<2> {
    let mut rows = x;
    for (index, layer) in shape.layers().iter().enumerate() {
        let weight = parameters.clone().slice(layer.start..layer.bias()).reshape([layer.outputs, layer.inputs]);
        let bias = parameters.clone().slice(layer.bias()..layer.end()).reshape([1, layer.outputs]);
        rows = rows.matmul(weight.transpose()) + bias;
        if shape.activates(index) {
            rows = relu(rows);
        }
    }
    rows
}

/// What the forward pass leaves, in either precision; shared, not copied, when the graph is.
#[derive(Clone, Debug)]
enum Hidden {
    Single(Arc<fused::Hidden<f32>>),
    Double(Arc<fused::Hidden<f64>>),
}

/// The output, and what lies below it.
fn forward(x: &FlexTensor, parameters: &FlexTensor, shape: &MlpShape) -> (FlexTensor, Hidden) {
    let size = [x.layout().shape()[0], shape.outputs()];
    match x.dtype() {
        DType::F64 => {
            let (output, hidden) = fused::forward::<f64>(shape, slice(x), slice(parameters));
            (flex_tensor(output, size), Hidden::Double(Arc::new(hidden)))
        }
        _ => {
            let (output, hidden) = fused::forward::<f32>(shape, slice(x), slice(parameters));
            (flex_tensor(output, size), Hidden::Single(Arc::new(hidden)))
        }
    }
}

impl MlpBackend for Flex {
    fn mlp(x: FlexTensor, parameters: FlexTensor, shape: MlpShape) -> FlexTensor {
        forward(&contiguous(x), &contiguous(parameters), &shape).0
    }
}

#[derive(Debug)]
struct MlpBackward;

#[derive(Clone, Debug)]
struct MlpState {
    shape: MlpShape,
    x: FlexTensor,
    parameters: FlexTensor,
    hidden: Hidden,
    output: FlexTensor,
}

impl<C: CheckpointStrategy> MlpBackend for Autodiff<Flex, C> {
    fn mlp(x: FloatTensor<Self>, parameters: FloatTensor<Self>, shape: MlpShape) -> FloatTensor<Self> {
        let (x, x_node) = x.into_parts();
        let (parameters, parameters_node) = parameters.into_parts();
        let (x, parameters) = (contiguous(x), contiguous(parameters));
        let (output, hidden) = forward(&x, &parameters, &shape);
        match MlpBackward.prepare::<C>([x_node, parameters_node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                let state = MlpState { shape, x, parameters, hidden, output: output.clone() };
                prepared.finish(state, output)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

impl Backward<Flex, 2> for MlpBackward {
    type State = MlpState;

    fn backward(self, ops: Ops<MlpState, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = contiguous(grads.consume::<Flex>(&ops.node));
        let [x_node, parameters_node] = ops.parents;
        let (x_gradient, parameters_gradient) = match &ops.state.hidden {
            Hidden::Single(hidden) => backward::<f32>(&ops.state, hidden, &gradient, x_node.is_some()),
            Hidden::Double(hidden) => backward::<f64>(&ops.state, hidden, &gradient, x_node.is_some()),
        };
        if let (Some(node), Some(gradient)) = (x_node, x_gradient) {
            grads.register::<Flex>(node.id, gradient);
        }
        if let Some(node) = parameters_node {
            grads.register::<Flex>(node.id, parameters_gradient);
        }
    }
}

fn backward<T: Real>(
    state: &MlpState,
    hidden: &fused::Hidden<T>,
    gradient: &FlexTensor,
    want_x: bool,
) -> (Option<FlexTensor>, FlexTensor) {
    let (x, parameters) = (slice(&state.x), slice(&state.parameters));
    let output = slice(&state.output);
    let result = fused::backward::<T>(&state.shape, x, parameters, hidden, output, slice(gradient), want_x);
    let size = result.parameters.len();
    (
        result.x.map(|values| flex_tensor(values, state.x.layout().shape().clone())),
        flex_tensor(result.parameters, [size]),
    )
}
