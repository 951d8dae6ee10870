//! The nonlocal neural network: a dense layer of 16 features at each pixel, then
//!
//! h_i(l + 1) = h_i(l) + R(l) sum_j k(i, j) (h_j(l) - h_i(l))
//!
//! L times with a given affinity k and learned R(l), then the dense head. At another resolution the features are interpolated to that of the head.

use super::affinity::nonlocal;
use super::config::Affinity;
use super::image::{Network, Pass, head_group};
use super::layers::lift;
use super::parameters::Group;
use crate::Result;
use burn::tensor::Tensor;

/// Added to the square of a length: nothing has no direction.
const SMALLEST: f64 = 1e-20;

/// The matrices R of all steps.
pub(crate) fn block(network: &Network) -> Group {
    let d = network.config.width;
    let entry = |l: usize| (format!("nonlocal.{l}.weight"), vec![d, d]);
    Group::new("nonlocal", (0..network.depth).map(entry).collect())
}

pub(crate) fn layout(network: &Network) -> Result<Vec<Group>> {
    Ok(vec![Group::linear("lift", network.shape.channels, network.config.width), block(network), head_group(network)?])
}

/// The L steps from a state whose features make the affinity.
pub(crate) fn steps(pass: &Pass, state: Tensor<3>) -> Tensor<3> {
    let given = state.clone().detach();
    let given = match pass.network.config.affinity {
        Affinity::Dot => given,
        Affinity::Cosine => given.clone() / ((given.clone() * given).sum_dim(2) + SMALLEST).sqrt(),
    };
    nonlocal(state, pass.parameters.get("nonlocal"), given, pass.engine)
}

pub(crate) fn forward(pass: &Pass, images: Tensor<3>) -> Result<Tensor<2>> {
    let [nodes, _, channels] = images.dims();
    let d = pass.network.config.width;
    let parameters = pass.parameters.get("lift");
    let split = d * channels;
    let place = parameters.clone().slice(split..split + d).reshape([1, d]).expand([nodes, d]).reshape([nodes * d]);
    let state = lift(images, parameters.slice(0..split), place, pass.engine);
    Ok(pass.interpolated_head(steps(pass, state)))
}
