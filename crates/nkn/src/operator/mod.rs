//! From the kernel's features to the state after L layers: assembly of the block-sparse A, the evolution and its adjoint.

mod cost;
mod edges;
mod fused;
mod integral;
mod integrator;
mod pairs;
mod plan;
mod rates;
mod sector;

pub use edges::Edges;
pub use integral::{Integral, over_neighbours, pointwise};
pub use integrator::{Integrator, PlainSteps};
pub use pairs::Pairs;
#[cfg(test)]
pub use plan::Order;
pub use plan::{Plan, Purpose, Update};
pub use rates::{Rates, rates};
pub use sector::{bounding, scale, sector};

use crate::kernel::{MlpShape, affine};
use crate::linalg::Real;
use crate::operation::{Operation, Seen, operate};
use burn::tensor::Tensor;
use fused::streamed::Streamed;
use std::sync::Arc;

/// The nonlocal equation behind a kernel network, evaluated on a batch: all that an evolution needs besides its initial
/// state.
#[derive(Clone, Debug)]
pub struct Equation {
    /// The output of the kernel network's last hidden layer: kernel rows x features. Or, where the last layer is empty,
    /// the blocks K themselves.
    pub features: Tensor<2>,
    /// The kernel network's last layer: its weight (d² x features) row by row, then its bias (d²). The d²
    /// outputs, row by row, are K_ij, and K multiplies h(y) from the left.
    pub last_layer: Tensor<1>,
    /// R: nodes x d², or 1 x d² when it does not depend on x.
    pub reaction: Tensor<2>,
    /// c: d.
    pub source: Tensor<1>,
}

impl Equation {
    /// The kernel's blocks K = W phi + b, one per kernel row, d x d row by row.
    pub fn blocks(&self) -> Tensor<2> {
        let [d] = self.source.dims();
        if self.last_layer.dims() == [0] {
            return self.features.clone();
        }
        affine(self.features.clone(), self.last_layer.clone(), d * d)
    }
}

/// The state after all layers, in the plan's layout like h_0, by the fused operation; the device must have it
/// (see [`crate::engine::Engine::is_fused`]).
pub fn evolve(initial: Tensor<3>, equation: Equation, plan: Arc<Plan>) -> Tensor<3> {
    let Equation { features, last_layer, reaction, source } = equation;
    let (features, last_layer) = (features.into_dispatch(), last_layer.into_dispatch());
    let inputs = [initial.into_dispatch(), features, last_layer, reaction.into_dispatch(), source.into_dispatch()];
    operate(inputs, Evolution(plan))
}

/// The same within the plan's memory budget and without derivatives: the kernel network, whose parameters are `kernel` and
/// which is `hidden` up to its last layer, is evaluated some nodes at a time.
pub fn evolve_streamed(
    initial: Tensor<3>,
    (hidden, kernel, kernel_inputs): (MlpShape, Tensor<1>, Tensor<2>),
    (reaction, source): (Tensor<2>, Tensor<1>),
    plan: Arc<Plan>,
) -> Tensor<3> {
    let (kernel, kernel_inputs) = (kernel.detach().into_dispatch(), kernel_inputs.detach().into_dispatch());
    let (reaction, source) = (reaction.detach().into_dispatch(), source.detach().into_dispatch());
    operate([initial.detach().into_dispatch(), kernel, kernel_inputs, reaction, source], Streamed { plan, hidden })
}

/// From h_0 to h_L as one operation with one adjoint; its inputs are h_0 and the fields of [`Equation`].
#[derive(Debug)]
struct Evolution(Arc<Plan>);

impl Operation<5> for Evolution {
    type Saved<T: Real> = fused::Saved<T>;
    type Double = f64;

    fn forward<T: Real>(&self, inputs: [&[T]; 5], keep: bool) -> (Vec<T>, fused::Saved<T>) {
        fused::forward(&self.0, fused::Inputs::new(inputs), keep)
    }

    fn backward<T: Real>(&self, seen: Seen<T, fused::Saved<T>, 5>) -> [Option<Vec<T>>; 5] {
        let Seen { inputs, saved, gradient, .. } = seen;
        fused::backward(&self.0, fused::Inputs::new(inputs), saved, gradient).map(Some)
    }
}
