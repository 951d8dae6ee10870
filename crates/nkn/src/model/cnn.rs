//! The paper's convolutional network: h(l + 1) = relu(K(l) * h(l) + b(l)) with filters of 3 x 3 x 16, L times, then the dense head.
//!
//! At another resolution the filters stay as they are; the features are interpolated to the resolution of the head.

use super::image::{Network, Pass, head_group};
use super::layers::{Activation, activate};
use super::parameters::Group;
use crate::Result;
use crate::convolution::Convolution;
use burn::tensor::Tensor;

/// The layers at the training's resolution.
pub(crate) fn convolutions(network: &Network) -> Vec<Convolution> {
    let width = network.config.width;
    let layer = |l: usize| Convolution {
        side: network.shape.side,
        filter: 3,
        stride: 1,
        inputs: if l == 0 { network.shape.channels } else { width },
        outputs: width,
    };
    (0..network.depth).map(layer).collect()
}

pub(crate) fn layout(network: &Network) -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    for (l, layer) in convolutions(network).iter().enumerate() {
        let name = format!("layer.{l}");
        let weight = (format!("{name}.weight"), vec![layer.outputs, layer.inputs, 3, 3]);
        groups.push(Group::new(&name, vec![weight, (format!("{name}.bias"), vec![layer.outputs])]));
    }
    groups.push(head_group(network)?);
    Ok(groups)
}

/// Layer number `l` at the given resolution, before the activation.
pub(crate) fn convolve(pass: &Pass, l: usize, side: usize, state: Tensor<3>) -> Tensor<3> {
    let layer = Convolution { side, ..convolutions(pass.network)[l] };
    let parameters = pass.parameters.get(&format!("layer.{l}"));
    let split = layer.weights();
    let bias = parameters.clone().slice(split..split + layer.outputs);
    layer.apply(state, parameters.slice(0..split), Some(bias), None, pass.engine)
}

pub(crate) fn forward(pass: &Pass, images: Tensor<3>) -> Result<Tensor<2>> {
    let mut state = images;
    for l in 0..pass.network.depth {
        state = activate(convolve(pass, l, pass.side, state), Activation::Relu, pass.engine);
    }
    Ok(pass.interpolated_head(state))
}
