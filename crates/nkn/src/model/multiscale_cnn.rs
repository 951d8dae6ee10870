//! The multiscale convolutional network: h(l + 1) = tanh(K(l) * h(l) + b(l)).
//!
//! A convolution is a matrix K_h. Trained on fine images it acts on coarse ones as K_H = U K_h S, trained on coarse ones on fine ones as
//! K_h = S K_H U, with the prolongation S and the restriction U of [`PixelMap::multiscale`].

use super::cnn::convolve;
use super::image::Pass;
use super::layers::{Activation, activate};
use super::maps::PixelMap;
use super::space::ImageShape;
use crate::{Error, Result};
use burn::tensor::Tensor;

/// The maps from a resolution to the training's, and back; nothing if they are the same.
pub(crate) fn maps(pass: &Pass) -> Result<Option<(PixelMap, PixelMap)>> {
    let ImageShape { side: trained, resampling, .. } = pass.network.shape;
    let side = pass.side;
    if side == trained {
        return Ok(None);
    }
    let map = |from, to| {
        PixelMap::multiscale(from, to, resampling).ok_or_else(|| {
            let expected = format!("{trained} times or divided by a whole number");
            Error::invalid("the images' side", expected, side, "the network works at the training's resolution inside")
        })
    };
    Ok(Some((map(side, trained)?, map(trained, side)?)))
}

pub(crate) fn forward(pass: &Pass, images: Tensor<3>) -> Result<Tensor<2>> {
    let maps = maps(pass)?;
    let mut state = images;
    for l in 0..pass.network.depth {
        state = match &maps {
            None => convolve(pass, l, pass.side, state),
            Some((there, back)) => {
                let moved = there.apply(state, pass.engine);
                back.apply(convolve(pass, l, pass.network.shape.side, moved), pass.engine)
            }
        };
        state = activate(state, Activation::Tanh, pass.engine);
    }
    if let Some((there, _)) = &maps {
        state = there.apply(state, pass.engine);
    }
    Ok(pass.head(state))
}
