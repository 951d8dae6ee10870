//! The graph kernel network, the neural operator that the paper compares with (its Section 2.2):
//!
//! h(x, l + 1) = σ( R h(x, l) + ∫ k(x, y, b(x), b(y); v) h(y, l) dy + c ),  σ = ReLU

use crate::operator::{Integral, pointwise};
use burn::tensor::{Tensor, activation::relu};

/// One layer, for h of nodes x samples x d; without the activation where `activate` is false.
pub fn update(h: Tensor<3>, activate: bool, kernel: &Integral, root: &Tensor<2>, source: &Tensor<3>) -> Tensor<3> {
    let next = pointwise(root, h.clone()) + kernel.apply(h) + source.clone();
    if activate { relu(next) } else { next }
}
