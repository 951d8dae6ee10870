//! The perceptron as a Burn operation: fused on the CPU backend Flex, Burn primitives on every other backend.

use super::{fused, mlp::MlpShape};
use crate::engine::{Engine, both_precisions, contiguous, flex_tensor, slice};
use burn::backend::autodiff::{
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{Tensor, activation::relu};

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
        let weight = parameters.clone().slice([layer.start..layer.bias()]).reshape([layer.outputs, layer.inputs]);
        let bias = parameters.clone().slice([layer.bias()..layer.end()]).reshape([1, layer.outputs]);
        rows = rows.matmul(weight.transpose()) + bias;
        if shape.activates(index) {
            rows = relu(rows);
        }
    }
    rows
}

/// Activations of every layer.
fn forward(x: &FlexTensor, parameters: &FlexTensor, shape: &MlpShape) -> Vec<FlexTensor> {
    let rows = x.layout().shape()[0];
    let layers = shape.layers();
    both_precisions!(x.dtype(), T => {
        fused::forward::<T>(shape, slice(x), slice(parameters))
            .into_iter()
            .zip(&layers)
            .map(|(values, layer)| flex_tensor(values, [rows, layer.outputs]))
            .collect()
    })
}

impl MlpBackend for Flex {
    fn mlp(x: FlexTensor, parameters: FlexTensor, shape: MlpShape) -> FlexTensor {
        forward(&contiguous(x), &contiguous(parameters), &shape).pop().expect("a perceptron has layers")
    }
}

#[derive(Debug)]
struct MlpBackward;

#[derive(Clone, Debug)]
struct MlpState {
    shape: MlpShape,
    x: FlexTensor,
    parameters: FlexTensor,
    activations: Vec<FlexTensor>,
}

impl<C: CheckpointStrategy> MlpBackend for Autodiff<Flex, C> {
    fn mlp(x: FloatTensor<Self>, parameters: FloatTensor<Self>, shape: MlpShape) -> FloatTensor<Self> {
        let (x, x_node) = x.into_parts();
        let (parameters, parameters_node) = parameters.into_parts();
        let (x, parameters) = (contiguous(x), contiguous(parameters));
        let mut activations = forward(&x, &parameters, &shape);
        let output = activations.last().expect("a perceptron has layers").clone();
        match MlpBackward.prepare::<C>([x_node, parameters_node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                if !shape.activates_last() {
                    // A linear last layer's output is not needed to differentiate it.
                    activations.pop();
                }
                let state = MlpState { shape, x, parameters, activations };
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
        let MlpState { shape, x, parameters, activations } = ops.state;
        let (x_gradient, parameters_gradient) = both_precisions!(x.dtype(), T => {
            let activations: Vec<&[T]> = activations.iter().map(slice).collect();
            let result = fused::backward::<T>(
                &shape, slice(&x), slice(&parameters), &activations, slice(&gradient), x_node.is_some(),
            );
            let size = result.parameters.len();
            (
                result.x.map(|values| flex_tensor(values, x.layout().shape().clone())),
                flex_tensor(result.parameters, [size]),
            )
        });
        if let (Some(node), Some(gradient)) = (x_node, x_gradient) {
            grads.register::<Flex>(node.id, gradient);
        }
        if let Some(node) = parameters_node {
            grads.register::<Flex>(node.id, parameters_gradient);
        }
    }
}
