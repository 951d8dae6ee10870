//! From the kernel's features to the state after L layers: assembly of the block-sparse A, the evolution and its adjoint.

mod fused;
mod integral;
mod op;
mod plan;

pub use integral::{Integral, pointwise};
pub use plan::{Cost, Order, Plan, Purpose, Update};

use burn::tensor::Tensor;
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

/// The state after all layers (samples x nodes x d), by the fused operation; the device must have it
/// (see [`crate::engine::Engine::is_fused`]).
pub fn evolve(parts: Parts, plan: Arc<Plan>) -> Tensor<3> {
    op::evolve(parts, plan)
}
