//! The nonlocal kernel network: layers are explicit Euler steps of a nonlocal diffusion-reaction equation.
//!
//! H. You, Y. Yu, M. D'Elia, T. Gao, S. Silling, *Nonlocal kernel network (NKN): a stable and resolution-independent
//! deep neural network*, the network update of Section 3.1:
//!
//! h(x, t + dt) = h(x, t) + dt ( ∫ k(x, y, b(x), b(y); v) (h(y, t) - h(x, t)) dy - R(x; w) h(x, t) + c )

mod dissipative;
pub(crate) mod pixels;
pub(crate) mod responses;

pub use dissipative::{Bounding, LEAST_REACTION};

use crate::operator::{Integral, pointwise};
use burn::tensor::Tensor;

/// One step as the paper writes it, for h of nodes x samples x d. The fused evolution does the same, and a
/// test holds it to this.
pub fn update(h: Tensor<3>, step: f64, kernel: &Integral, reaction: &Tensor<2>, source: &Tensor<3>) -> Tensor<3> {
    let diffusion = kernel.of_differences(h.clone());
    let reaction = pointwise(reaction, h.clone());
    h + (diffusion - reaction + source.clone()) * step
}
