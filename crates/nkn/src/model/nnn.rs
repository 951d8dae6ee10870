//! The nonlocal neural network: a dense layer of 16 features at each pixel, then
//!
//! h_i(l + 1) = h_i(l) + R(l) sum_j k(i, j) (h_j(l) - h_i(l))
//!
//! L times with a given affinity k and learned R(l), then the dense head. At another resolution the features are interpolated to that of the head.

use super::affinity::nonlocal;
use super::image::{Network, Pass, head_group};
use super::layers::lift;
use super::parameters::Group;
use crate::Result;
use burn::tensor::Tensor;

/// The matrices R of all steps.
pub(crate) fn block(network: &Network) -> Group {
    let d = network.config.width;
    let entry = |l: usize| (format!("nonlocal.{l}.weight"), vec![d, d]);
    Group::new("nonlocal", (0..network.depth).map(entry).collect())
}

pub(crate) fn layout(network: &Network) -> Result<Vec<Group>> {
    Ok(vec![Group::linear("lift", network.shape.channels, network.config.width), block(network), head_group(network)?])
}

pub(crate) fn forward(pass: &Pass, images: Tensor<3>) -> Result<Tensor<2>> {
    let [nodes, _, channels] = images.dims();
    let d = pass.network.config.width;
    let parameters = pass.parameters.get("lift");
    let split = d * channels;
    let place = parameters.clone().slice(split..split + d).reshape([1, d]).expand([nodes, d]).reshape([nodes * d]);
    let state = lift(images, parameters.slice(0..split), place, pass.engine);
    Ok(pass.interpolated_head(nonlocal(state.clone(), pass.parameters.get("nonlocal"), state, pass.engine)))
}
