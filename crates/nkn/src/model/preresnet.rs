//! The pre-activation residual network of 20 layers (He et al. 2016), as the paper uses it: h + W2 g(W1 g(h)), g = ReLU after batch normalisation,
//! nine blocks with 16, 32 and 64 channels, and, after the second block, L steps of a nonlocal network.
//!
//! Where a stage begins with fewer pixels and more channels, the shortcut is a convolution of 1 x 1. At another resolution the plain network is applied
//! as it is: its mean over all pixels fits any. With a nonlocal block N the convolutions work at the training's resolution and the block
//! at the images' own, with prolongation S and restriction U between them: on finer images h + U (N(S h) - S h), which is the paper's U N(S h)
//! because U S = 1, on coarser ones h + S (N(U h) - U h). There S U is not 1, and the paper's S N(U h) would leave of the features only what the
//! coarse grid can hold, though they stand on the training's grid before the block and after it: only what the block *changes* has to go
//! through the coarse grid, as in a coarse-grid correction.

use super::config::Block;
use super::image::{Network, Pass};
use super::maps::PixelMap;
use super::multiscale_cnn::maps;
use super::nkn::pixels as nkn;
use super::nnn;
use super::parameters::{Group, equation_groups};
use crate::Result;
use crate::convolution::Convolution;
use crate::kernel::affine;
use burn::tensor::Tensor;

/// Stages and blocks per stage.
const STAGES: usize = 3;
const BLOCKS: usize = 3;
/// The nonlocal block stands after so many residual blocks.
const BEFORE: usize = 2;

/// One residual block.
struct Residual {
    name: String,
    first: Convolution,
    second: Convolution,
    /// The shortcut, where the sizes change.
    shortcut: Option<Convolution>,
}

fn stem(network: &Network, side: usize) -> Convolution {
    let (inputs, outputs) = (network.shape.channels, network.config.width);
    Convolution { side, filter: 3, stride: 1, inputs, outputs }
}

/// The blocks for images of this side.
fn residuals(network: &Network, side: usize) -> Vec<Residual> {
    let width = network.config.width;
    let mut side = side;
    let mut inputs = width;
    let mut blocks = Vec::new();
    for stage in 0..STAGES {
        let outputs = width << stage;
        for block in 0..BLOCKS {
            let stride = if stage > 0 && block == 0 { 2 } else { 1 };
            let first = Convolution { side, filter: 3, stride, inputs, outputs };
            let second = Convolution { side: first.side_out(), filter: 3, stride: 1, inputs: outputs, outputs };
            let shortcut = (stride > 1).then_some(Convolution { filter: 1, ..first });
            blocks.push(Residual { name: format!("stage.{stage}.{block}"), first, second, shortcut });
            (side, inputs) = (first.side_out(), outputs);
        }
    }
    blocks
}

/// All convolutions at the training's resolution.
pub(crate) fn convolutions(network: &Network) -> Vec<Convolution> {
    let side = network.shape.side;
    let blocks = residuals(network, side);
    let inner = blocks.iter().flat_map(|b| [Some(b.first), Some(b.second), b.shortcut]).flatten();
    std::iter::once(stem(network, side)).chain(inner).collect()
}

fn convolution(name: &str, shape: &Convolution) -> Group {
    let weight = vec![shape.outputs, shape.inputs, shape.filter, shape.filter];
    Group::new(name, vec![(format!("{name}.weight"), weight)])
}

fn norm(name: &str, channels: usize) -> Group {
    Group::new(name, vec![(format!("{name}.weight"), vec![channels]), (format!("{name}.bias"), vec![channels])])
}

pub(crate) fn layout(network: &Network) -> Result<Vec<Group>> {
    let side = network.shape.side;
    let mut groups = vec![convolution("stem", &stem(network, side))];
    for (index, block) in residuals(network, side).iter().enumerate() {
        let name = |part: &str| format!("{}.{part}", block.name);
        groups.push(norm(&name("norm1"), block.first.inputs));
        groups.push(convolution(&name("conv1"), &block.first));
        groups.push(norm(&name("norm2"), block.first.outputs));
        groups.push(convolution(&name("conv2"), &block.second));
        groups.extend(block.shortcut.iter().map(|shortcut| convolution(&name("shortcut"), shortcut)));
        if index + 1 == BEFORE {
            match network.config.block {
                Block::None => {}
                Block::Nnn => groups.push(nnn::block(network)),
                Block::Nkn => {
                    for step in 0..network.depth {
                        groups.extend(equation_groups(&network.config, 2, &format!("nonlocal.{step}."))?);
                    }
                }
            }
        }
    }
    let width = network.config.width << (STAGES - 1);
    groups.push(norm("norm", width));
    groups.push(Group::linear("dense", width, network.shape.classes));
    Ok(groups)
}

fn residual(pass: &Pass, block: &Residual, state: Tensor<3>) -> Tensor<3> {
    let name = |part: &str| format!("{}.{part}", block.name);
    let weight = |part: &str| pass.parameters.get(&name(part));
    let inner = pass.normalise(&name("norm1"), state.clone());
    let inner = block.first.apply(inner, weight("conv1"), None, None, pass.engine);
    let inner = pass.normalise(&name("norm2"), inner);
    let shortcut = match &block.shortcut {
        Some(shortcut) => shortcut.apply(state, weight("shortcut"), None, None, pass.engine),
        None => state,
    };
    block.second.apply(inner, weight("conv2"), None, Some(shortcut), pass.engine)
}

/// The nonlocal block at the images' own resolution; what it changes comes back to the training's.
fn nonlocal_block(pass: &Pass, state: Tensor<3>, maps: Option<&(PixelMap, PixelMap)>) -> Result<Tensor<3>> {
    let apply = |state: Tensor<3>| -> Result<Tensor<3>> {
        match pass.network.config.block {
            Block::None => Ok(state),
            Block::Nnn => Ok(nnn::steps(pass, state)),
            Block::Nkn => (0..pass.network.depth)
                .try_fold(state, |state, step| nkn::steps(pass, &format!("nonlocal.{step}."), state, 1)),
        }
    };
    let Some((there, back)) = maps else { return apply(state) };
    let here = back.apply(state.clone(), pass.engine);
    let change = apply(here.clone())? - here;
    Ok(state + there.apply(change, pass.engine))
}

pub(crate) fn forward(pass: &Pass, images: Tensor<3>) -> Result<Tensor<2>> {
    let network = pass.network;
    let maps = if network.config.block == Block::None { None } else { maps(pass)? };
    let (images, side) = match &maps {
        None => (images, pass.side),
        Some((there, _)) => (there.apply(images, pass.engine), network.shape.side),
    };
    let mut state = stem(network, side).apply(images, pass.parameters.get("stem"), None, None, pass.engine);
    for (index, block) in residuals(network, side).iter().enumerate() {
        state = residual(pass, block, state);
        if index + 1 == BEFORE {
            state = nonlocal_block(pass, state, maps.as_ref())?;
        }
    }
    let state = pass.normalise("norm", state);
    let [_, samples, channels] = state.dims();
    let mean = state.mean_dim(0).reshape([samples, channels]);
    Ok(affine(mean, pass.parameters.get("dense"), network.shape.classes))
}
