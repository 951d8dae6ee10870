//! The nonlocal equation behind a kernel network, evaluated on a batch: K, R and c, and the evolution that they drive.

use super::{gkn, nkn};
use crate::engine::Engine;
use crate::kernel::{MlpShape, mlp};
use crate::operator::{Integral, Parts, Plan, Update, evolve};
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

/// All that an evolution needs besides its initial state.
pub(crate) struct Equation {
    /// The output of the kernel network's last hidden layer: kernel rows x features.
    pub features: Tensor<2>,
    /// Weight and bias of its last layer.
    pub last_layer: Tensor<1>,
    /// R: nodes x d², or 1 x d² when it does not depend on x.
    pub reaction: Tensor<2>,
    /// c: d.
    pub source: Tensor<1>,
}

impl Equation {
    /// The kernel network with these parameters up to its last hidden layer; K itself is left to the assembly.
    pub fn new(
        inputs: Tensor<2>,
        kernel: Tensor<1>,
        shape: &MlpShape,
        (reaction, source): (Tensor<2>, Tensor<1>),
        engine: Engine,
    ) -> Self {
        let (features, split) = match shape.hidden() {
            Some(hidden) => {
                let split = hidden.parameters();
                (mlp(inputs, kernel.clone().slice(0..split), &hidden, engine), split)
            }
            None => (inputs, 0),
        };
        Self { features, last_layer: kernel.slice(split..shape.parameters()), reaction, source }
    }

    /// With one feature K is a number: the whole perceptron goes through at once, and the assembly has nothing left to multiply with.
    pub fn with_numbers(
        inputs: Tensor<2>,
        kernel: Tensor<1>,
        shape: &MlpShape,
        (reaction, source): (Tensor<2>, Tensor<1>),
        engine: Engine,
    ) -> Self {
        let options = (&inputs.device(), inputs.dtype());
        let last_layer = Tensor::from_data(TensorData::from([1.0f64, 0.0]), options);
        Self { features: mlp(inputs, kernel, shape, engine), last_layer, reaction, source }
    }

    /// The state after all layers of the plan, in the order of the initial state's axes.
    pub fn evolve(self, initial: Tensor<3>, plan: &Arc<Plan>, engine: Engine) -> Tensor<3> {
        let is_fused = engine.is_fused(&initial.device());
        let Self { features, last_layer, reaction, source } = self;
        let parts = Parts { initial, features, last_layer, reaction, source };
        if is_fused { evolve(parts, plan.clone()) } else { evolve_plainly(parts, plan) }
    }

    /// The kernel's blocks, one per kernel row, d x d row by row.
    pub fn blocks(&self, width: usize) -> Tensor<2> {
        let size = width * width;
        let [_, features] = self.features.dims();
        let split = size * features;
        let weight = self.last_layer.clone().slice(0..split).reshape([size, features]);
        let bias = self.last_layer.clone().slice(split..split + size).reshape([1, size]);
        self.features.clone().matmul(weight.transpose()) + bias
    }
}

/// Layer by layer with the updates of [`nkn`] and [`gkn`], which want the nodes outermost.
fn evolve_plainly(parts: Parts, plan: &Plan) -> Tensor<3> {
    let kernel = Integral::new(&parts, plan);
    let source = parts.source.reshape([1, 1, plan.width]);
    let turn = |state: Tensor<3>| if plan.nodes_first { state } else { state.swap_dims(0, 1) };
    let mut h = turn(parts.initial);
    for layer in 0..plan.depth {
        h = match plan.update {
            Update::DiffusionReaction { step } => nkn::update(h, step, &kernel, &parts.reaction, &source),
            Update::GraphKernel { activate_last } => {
                let activate = activate_last || layer + 1 < plan.depth;
                gkn::update(h, activate, &kernel, &parts.reaction, &source)
            }
        };
    }
    turn(h)
}
