//! Convolutions of images, and batch normalisation with ReLU in one pass.
//!
//! States are nodes x samples x channels: pixel by pixel, the channels of all images of a batch. A pixel's result is then a sum of small products,
//! the one of an evolution whose blocks depend on the displacement alone, and a boundary is a shorter sum: nothing is padded,
//! copied or unfolded.

mod fused;
mod normalise;

pub use normalise::{Normalisation, Statistics, normalise};

use crate::engine::Engine;
use crate::operation::operate;
use burn::tensor::{Tensor, module::conv2d, ops::ConvOptions};

/// A convolution with square filters; pixels outside the image are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// Pixels along a side of the input.
    pub side: usize,
    /// Pixels along a side of a filter: odd.
    pub filter: usize,
    /// Distance of two neighbouring results, in pixels of the input.
    pub stride: usize,
    /// Channels of the input.
    pub inputs: usize,
    /// Channels of the result.
    pub outputs: usize,
}

impl Convolution {
    /// Pixels along a side of the result.
    pub fn side_out(&self) -> usize {
        (self.side - 1) / self.stride + 1
    }

    /// Numbers in the weight, outputs x inputs x filter x filter.
    pub fn weights(&self) -> usize {
        self.outputs * self.inputs * self.filter * self.filter
    }

    /// Operations of a forward pass over a batch.
    pub fn flops(&self, samples: usize) -> f64 {
        let along = |tap: usize| fused::span(self, tap).len();
        let taps: usize = (0..self.filter).map(along).sum();
        2.0 * (taps * taps * self.inputs * self.outputs * samples) as f64
    }

    /// Applies the convolution to a state (nodes x samples x inputs) with a weight in PyTorch's layout, and adds what is given.
    pub fn apply(
        &self,
        input: Tensor<3>,
        weight: Tensor<1>,
        bias: Option<Tensor<1>>,
        residual: Option<Tensor<3>>,
        engine: Engine,
    ) -> Tensor<3> {
        if engine.is_fused(&input.device()) {
            let operation = fused::Summation { shape: *self, bias: bias.is_some(), residual: residual.is_some() };
            let (input, weight) = (input.into_dispatch(), weight.into_dispatch());
            return match (bias.map(Tensor::into_dispatch), residual.map(Tensor::into_dispatch)) {
                (None, None) => operate([input, weight], operation),
                (Some(bias), None) => operate([input, weight, bias], operation),
                (None, Some(residual)) => operate([input, weight, residual], operation),
                (Some(bias), Some(residual)) => operate([input, weight, bias, residual], operation),
            };
        }
        let [_, samples, _] = input.dims();
        let image = input.reshape([self.side, self.side, samples, self.inputs]).permute([2, 3, 0, 1]);
        let weight = weight.reshape([self.outputs, self.inputs, self.filter, self.filter]);
        let padding = self.filter / 2;
        let options = ConvOptions::new([self.stride, self.stride], [padding, padding], [1, 1], 1);
        let output = conv2d(image, weight, bias, options).permute([2, 3, 0, 1]);
        let side = self.side_out();
        let output = output.reshape([side * side, samples, self.outputs]);
        match residual {
            Some(residual) => output + residual,
            None => output,
        }
    }
}
