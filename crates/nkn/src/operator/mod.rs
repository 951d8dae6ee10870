//! From the kernel's features to the state after L layers: assembly of the block-sparse A, the evolution and its adjoint.

mod cost;
mod edges;
mod fused;
mod integral;
mod plan;

pub use edges::Edges;
pub use integral::{Integral, pointwise};
#[cfg(test)]
pub use plan::Order;
pub use plan::{Plan, Purpose, Update};

use crate::kernel::MlpShape;
use crate::linalg::Real;
use crate::operation::{Operation, Seen, operate};
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::sync::Arc;

/// What an evolution works on.
#[derive(Clone, Debug)]
pub struct Parts {
    /// h_0: samples x nodes x d.
    pub initial: Tensor<3>,
    /// The output of the kernel network's last hidden layer: kernel rows x features.
    pub features: Tensor<2>,
    /// The kernel network's last layer: its weight (d² x features) row by row, then its bias (d²). The d²
    /// outputs, row by row, are K_ij, and K multiplies h(y) from the left.
    pub last_layer: Tensor<1>,
    /// R: nodes x d², or 1 x d² when it does not depend on x.
    pub reaction: Tensor<2>,
    /// c: d.
    pub source: Tensor<1>,
}

/// What a prediction works on that evaluates the kernel network itself, some nodes at a time.
#[derive(Clone, Debug)]
pub struct StreamedParts {
    /// h_0: samples x nodes x d.
    pub initial: Tensor<3>,
    /// The kernel network without its last layer.
    pub hidden: MlpShape,
    /// All parameters of the kernel network.
    pub kernel: Tensor<1>,
    /// What it sees, one row per kernel row.
    pub kernel_inputs: Tensor<2>,
    /// R: nodes x d², or 1 x d² when it does not depend on x.
    pub reaction: Tensor<2>,
    /// c: d.
    pub source: Tensor<1>,
}

/// The state after all layers (samples x nodes x d) within the plan's memory budget, without derivatives, on the CPU.
pub fn evolve_streamed(parts: StreamedParts, plan: &Plan) -> Tensor<3> {
    let device = parts.initial.device();
    match parts.initial.dtype() {
        DType::F64 => streamed::<f64>(parts, plan, &device),
        _ => streamed::<f32>(parts, plan, &device),
    }
}

fn streamed<T: Real>(parts: StreamedParts, plan: &Plan, device: &Device) -> Tensor<3> {
    let dtype = parts.initial.dtype();
    let values = |data: TensorData| -> Vec<T> { data.try_into_vec().expect("one precision for all") };
    let (initial, kernel) = (values(parts.initial.into_data()), values(parts.kernel.into_data()));
    let (kernel_inputs, reaction) = (values(parts.kernel_inputs.into_data()), values(parts.reaction.into_data()));
    let source = values(parts.source.into_data());
    let result = fused::streamed::forward(
        plan,
        fused::streamed::Inputs {
            initial: &initial,
            hidden: &parts.hidden,
            kernel: &kernel,
            kernel_inputs: &kernel_inputs,
            reaction: &reaction,
            source: &source,
            budget: plan.budget,
        },
    );
    Tensor::from_data(TensorData::new(result, [plan.samples(), plan.nodes(), plan.width]), (device, dtype))
}

/// The state after all layers (samples x nodes x d), by the fused operation; the device must have it
/// (see [`crate::engine::Engine::is_fused`]).
pub fn evolve(parts: Parts, plan: Arc<Plan>) -> Tensor<3> {
    let Parts { initial, features, last_layer, reaction, source } = parts;
    let (features, last_layer) = (features.into_dispatch(), last_layer.into_dispatch());
    let inputs = [initial.into_dispatch(), features, last_layer, reaction.into_dispatch(), source.into_dispatch()];
    operate(inputs, Evolution(plan))
}

/// From h_0 to h_L as one operation with one adjoint; its inputs are the fields of [`Parts`].
#[derive(Debug)]
struct Evolution(Arc<Plan>);

impl Operation<5> for Evolution {
    type Saved<T: Real> = fused::Saved<T>;

    fn shape(&self, [initial, ..]: [&[usize]; 5]) -> Vec<usize> {
        initial.to_vec()
    }

    fn forward<T: Real>(&self, inputs: [&[T]; 5], keep: bool) -> (Vec<T>, fused::Saved<T>) {
        fused::forward(&self.0, fused::Inputs::new(inputs), keep)
    }

    fn backward<T: Real>(&self, seen: Seen<T, fused::Saved<T>, 5>) -> [Option<Vec<T>>; 5] {
        let Seen { inputs, saved, gradient, .. } = seen;
        let gradients = fused::backward(&self.0, fused::Inputs::new(inputs), saved, gradient);
        let fused::Gradients { initial, features, last_layer, reaction, source } = gradients;
        [initial, features, last_layer, reaction, source].map(Some)
    }
}
