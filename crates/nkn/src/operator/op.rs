//! The evolution as one Burn operation with one adjoint, on the CPU backend Flex.

use super::{Parts, fused, plan::Plan};
use crate::engine::{contiguous, flex_tensor, slice};
use crate::linalg::Real;
use burn::backend::autodiff::{
    NodeId,
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{DType, Tensor};
use std::sync::Arc;

/// The fused evolution, for the backends that have it.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait EvolveBackend: Backend {
    /// From h_0 to h_L; the arguments are the fields of [`Parts`], the kernel's last layer as weight and bias in one vector.
    fn evolve(
        initial: FloatTensor<Self>,
        features: FloatTensor<Self>,
        last_layer: FloatTensor<Self>,
        reaction: FloatTensor<Self>,
        source: FloatTensor<Self>,
        plan: Arc<Plan>,
    ) -> FloatTensor<Self>;
}

/// Runs the fused evolution.
pub(super) fn evolve(parts: Parts, plan: Arc<Plan>) -> Tensor<3> {
    let output = Dispatch::evolve(
        parts.initial.into_dispatch(),
        parts.features.into_dispatch(),
        parts.last_layer.into_dispatch(),
        parts.reaction.into_dispatch(),
        parts.source.into_dispatch(),
        plan,
    );
    Tensor::from_dispatch(output)
}

/// Initial state, features, last layer, reaction, source.
type Primitives = [FlexTensor; 5];

fn inputs<T: Real>(tensors: &Primitives) -> fused::Inputs<'_, T> {
    let [initial, features, last_layer, reaction, source] = tensors;
    fused::Inputs {
        initial: slice(initial),
        features: slice(features),
        last_layer: slice(last_layer),
        reaction: slice(reaction),
        source: slice(source),
    }
}

/// What the forward pass saved, in either precision.
#[derive(Clone, Debug)]
enum Saved {
    Single(Arc<fused::Saved<f32>>),
    Double(Arc<fused::Saved<f64>>),
}

fn forward(tensors: &Primitives, plan: &Plan, keep: bool) -> (FlexTensor, Saved) {
    let (samples, nodes) = (plan.samples(), plan.nodes());
    let shape = if plan.nodes_first { [nodes, samples, plan.width] } else { [samples, nodes, plan.width] };
    match tensors[0].dtype() {
        DType::F64 => {
            let (output, saved) = fused::forward::<f64>(plan, inputs(tensors), keep);
            (flex_tensor(output, shape), Saved::Double(Arc::new(saved)))
        }
        _ => {
            let (output, saved) = fused::forward::<f32>(plan, inputs(tensors), keep);
            (flex_tensor(output, shape), Saved::Single(Arc::new(saved)))
        }
    }
}

impl EvolveBackend for Flex {
    fn evolve(
        initial: FlexTensor,
        features: FlexTensor,
        last_layer: FlexTensor,
        reaction: FlexTensor,
        source: FlexTensor,
        plan: Arc<Plan>,
    ) -> FlexTensor {
        let tensors = [initial, features, last_layer, reaction, source].map(contiguous);
        forward(&tensors, &plan, false).0
    }
}

#[derive(Debug)]
struct EvolveBackward;

#[derive(Clone, Debug)]
struct EvolveState {
    plan: Arc<Plan>,
    tensors: Primitives,
    saved: Saved,
}

impl<C: CheckpointStrategy> EvolveBackend for Autodiff<Flex, C> {
    fn evolve(
        initial: FloatTensor<Self>,
        features: FloatTensor<Self>,
        last_layer: FloatTensor<Self>,
        reaction: FloatTensor<Self>,
        source: FloatTensor<Self>,
        plan: Arc<Plan>,
    ) -> FloatTensor<Self> {
        let parents = [initial, features, last_layer, reaction, source].map(|tensor| tensor.into_parts());
        let tensors = parents.each_ref().map(|(tensor, _)| contiguous(tensor.clone()));
        let nodes = parents.map(|(_, node)| node);
        let (output, saved) = forward(&tensors, &plan, true);
        match EvolveBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(EvolveState { plan, tensors, saved }, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

impl Backward<Flex, 5> for EvolveBackward {
    type State = EvolveState;

    fn backward(self, ops: Ops<EvolveState, 5>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = contiguous(grads.consume::<Flex>(&ops.node));
        let EvolveState { plan, tensors, saved } = ops.state;
        let nodes: [Option<NodeId>; 5] = ops.parents.map(|parent| parent.map(|node| node.id));
        let results = match &saved {
            Saved::Single(saved) => backward::<f32>(&plan, &tensors, saved, &gradient),
            Saved::Double(saved) => backward::<f64>(&plan, &tensors, saved, &gradient),
        };
        for (node, result) in nodes.into_iter().zip(results) {
            if let Some(node) = node {
                grads.register::<Flex>(node, result);
            }
        }
    }
}

fn backward<T: Real>(plan: &Plan, tensors: &Primitives, saved: &fused::Saved<T>, gradient: &FlexTensor) -> Primitives {
    let gradients = fused::backward(plan, inputs(tensors), saved, slice(gradient));
    let values = [gradients.initial, gradients.features, gradients.last_layer, gradients.reaction, gradients.source];
    let mut shapes = tensors.iter().map(|tensor| tensor.layout().shape().clone());
    values.map(|values| flex_tensor(values, shapes.next().expect("as many shapes as values")))
}
