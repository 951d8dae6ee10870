//! The equation behind a kernel network from its parameters: K, R and c, and the evolution that they drive.

use super::{gkn, nkn};
use crate::Result;
use crate::engine::Engine;
use crate::kernel::{MlpShape, mlp};
use crate::operator::{Equation, Integral, PlainSteps, Plan, Update, evolve};
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

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
    pub fn with_numbers(numbers: Tensor<2>, (reaction, source): (Tensor<2>, Tensor<1>)) -> Self {
        let options = (&numbers.device(), numbers.dtype());
        let last_layer = Tensor::from_data(TensorData::from([1.0f64, 0.0]), options);
        Self { features: numbers, last_layer, reaction, source }
    }

    /// The state after all layers of the plan, in the order of the initial state's axes.
    pub fn evolve(self, initial: Tensor<3>, plan: &Arc<Plan>, engine: Engine) -> Result<Tensor<3>> {
        if engine.is_fused(&initial.device()) {
            Ok(evolve(initial, self, plan.clone()))
        } else {
            self.evolve_plainly(initial, plan)
        }
    }

    /// Layer by layer with the updates of [`nkn`] and [`gkn`], or with the steps of another integrator, which want the
    /// nodes outermost.
    fn evolve_plainly(self, initial: Tensor<3>, plan: &Plan) -> Result<Tensor<3>> {
        let kernel = Integral::new(&self, plan);
        let source = self.source.clone().reshape([1, 1, plan.width]);
        let turn = |state: Tensor<3>| if plan.purpose.nodes_first { state } else { state.swap_dims(0, 1) };
        let mut h = turn(initial);
        let steps = PlainSteps::new(plan, &self)?;
        for layer in 0..steps.count {
            h = match plan.update {
                Update::DiffusionReaction { step } if steps.degree == 1 => {
                    nkn::update(h, step, &kernel, &self.reaction, &source)
                }
                Update::DiffusionReaction { .. } => steps.take(h, &kernel, &self.reaction, &source),
                Update::GraphKernel { .. } => {
                    let activate = plan.update.activates(layer, plan.depth);
                    gkn::update(h, activate, &kernel, &self.reaction, &source)
                }
            };
        }
        Ok(turn(h))
    }
}
