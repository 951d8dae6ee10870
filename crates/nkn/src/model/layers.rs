//! The pointwise layers of image networks: from channels to features, activations, and from features to the rows of a dense layer.

use crate::engine::Engine;
use crate::linalg::{Real, each_piece, mask, relu as relu_in_place, swap_leading, vectorised};
use crate::operation::{InTests, Operation, Seen, operate};
use crate::parallel::Parallel;
use burn::tensor::Tensor;
use burn::tensor::activation::{relu, tanh};

/// W b(x) + p(x) of images b (nodes x samples x channels): `weight` is d x channels, `place` nodes x d.
pub fn lift(images: Tensor<3>, weight: Tensor<1>, place: Tensor<1>, engine: Engine) -> Tensor<3> {
    let [nodes, samples, channels] = images.dims();
    let d = place.dims()[0] / nodes;
    if engine.is_fused(&images.device()) {
        let operation = Lift { nodes, samples, channels, d };
        return operate([images.into_dispatch(), weight.into_dispatch(), place.into_dispatch()], operation);
    }
    let seen = images.reshape([nodes * samples, channels]).matmul(weight.reshape([d, channels]).transpose());
    seen.reshape([nodes, samples, d]) + place.reshape([nodes, 1, d])
}

/// A state (nodes x samples x channels) as one row of nodes x channels per sample.
pub fn flatten(state: Tensor<3>, engine: Engine) -> Tensor<2> {
    let [nodes, samples, channels] = state.dims();
    if engine.is_fused(&state.device()) {
        return operate([state.into_dispatch()], Flatten { nodes, samples, channels });
    }
    state.swap_dims(0, 1).reshape([samples, nodes * channels])
}

/// What follows a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// max(h, 0).
    Relu,
    /// tanh h.
    Tanh,
}

/// Applies an activation to every number of a state.
pub fn activate(state: Tensor<3>, activation: Activation, engine: Engine) -> Tensor<3> {
    if engine.is_fused(&state.device()) {
        return operate([state.into_dispatch()], Activate(activation));
    }
    match activation {
        Activation::Relu => relu(state),
        Activation::Tanh => tanh(state),
    }
}

#[derive(Debug)]
struct Activate(Activation);

/// Numbers at a time: few enough for the nearest cache.
const PIECE: usize = 1 << 13;

impl Operation<1> for Activate {
    type Saved<T: Real> = ();
    type Double = InTests;

    fn forward<T: Real>(&self, [state]: [&[T]; 1], _: bool) -> (Vec<T>, ()) {
        let result = each_piece(state.len(), PIECE, |index, result| {
            result.copy_from_slice(&state[index * PIECE..index * PIECE + result.len()]);
            match self.0 {
                Activation::Relu => relu_in_place(result),
                Activation::Tanh => vectorised!({
                    for value in result {
                        *value = value.tanh();
                    }
                }),
            }
        });
        (result, ())
    }

    fn backward<T: Real>(&self, Seen { output, gradient, .. }: Seen<T, (), 1>) -> [Option<Vec<T>>; 1] {
        let result = each_piece(output.len(), PIECE, |index, result| {
            let part = index * PIECE..index * PIECE + result.len();
            result.copy_from_slice(&gradient[part.clone()]);
            match self.0 {
                Activation::Relu => mask(result, &output[part]),
                Activation::Tanh => vectorised!({
                    for (g, &y) in result.iter_mut().zip(&output[part]) {
                        *g = *g * (T::ONE - y * y);
                    }
                }),
            }
        });
        [Some(result)]
    }
}

#[derive(Debug)]
struct Lift {
    nodes: usize,
    samples: usize,
    channels: usize,
    d: usize,
}

/// One node: every sample begins with p and adds up the channels.
#[inline(always)]
fn lift_node<T: Real>(result: &mut [T], images: &[T], columns: &[T], place: &[T]) {
    let d = place.len();
    let channels = columns.len() / d;
    for (row, pixel) in result.chunks_exact_mut(d).zip(images.chunks_exact(channels)) {
        row.copy_from_slice(place);
        for (&value, column) in pixel.iter().zip(columns.chunks_exact(d)) {
            for (r, &w) in row.iter_mut().zip(column) {
                *r += value * w;
            }
        }
    }
}

/// One node's share of the weight's derivative, channel by channel, and the derivative of p.
#[inline(always)]
fn lift_node_gradients<T: Real>(gradient: &[T], images: &[T], columns: &mut [T], place: &mut [T]) {
    let d = place.len();
    let channels = columns.len() / d;
    for (row, pixel) in gradient.chunks_exact(d).zip(images.chunks_exact(channels)) {
        for (p, &g) in place.iter_mut().zip(row) {
            *p += g;
        }
        for (&value, column) in pixel.iter().zip(columns.chunks_exact_mut(d)) {
            for (c, &g) in column.iter_mut().zip(row) {
                *c += value * g;
            }
        }
    }
}

impl Operation<3> for Lift {
    type Saved<T: Real> = ();
    type Double = InTests;

    fn shape(&self, _: [&[usize]; 3]) -> Vec<usize> {
        vec![self.nodes, self.samples, self.d]
    }

    fn forward<T: Real>(&self, [images, weight, place]: [&[T]; 3], _: bool) -> (Vec<T>, ()) {
        let Self { nodes, samples, channels, d } = *self;
        let columns: Vec<T> = (0..channels * d).map(|i| weight[i % d * channels + i / d]).collect();
        let (pixel, node) = (samples * channels, samples * d);
        let result = each_piece(nodes * node, node, |x, result| {
            let images = &images[x * pixel..(x + 1) * pixel];
            vectorised!(lift_node(result, images, &columns, &place[x * d..(x + 1) * d]));
        });
        (result, ())
    }

    fn backward<T: Real>(&self, seen: Seen<T, (), 3>) -> [Option<Vec<T>>; 3] {
        let Seen { inputs: [images, weight, place], gradient, wanted, .. } = seen;
        let Self { nodes, samples, channels, d } = *self;
        let (pixel, node) = (samples * channels, samples * d);
        let mut place_gradient = vec![T::ZERO; place.len()];
        let parts: Vec<Vec<T>> = place_gradient.chunks_mut(d).enumerate().parallel().map(|(x, place)| {
            let mut columns = vec![T::ZERO; channels * d];
            let (gradient, images) = (&gradient[x * node..(x + 1) * node], &images[x * pixel..(x + 1) * pixel]);
            vectorised!(lift_node_gradients(gradient, images, &mut columns, place));
            columns
        });
        let mut weight_gradient = vec![T::ZERO; weight.len()];
        for part in parts {
            for (i, value) in part.into_iter().enumerate() {
                weight_gradient[i % d * channels + i / d] += value;
            }
        }
        let images_gradient = wanted[0].then(|| {
            each_piece(nodes * pixel, pixel, |x, result| {
                let gradient = &gradient[x * node..(x + 1) * node];
                for (row, result) in gradient.chunks_exact(d).zip(result.chunks_exact_mut(channels)) {
                    for (&g, weights) in row.iter().zip(weight.chunks_exact(channels)) {
                        result.iter_mut().zip(weights).for_each(|(r, &w)| *r += g * w);
                    }
                }
            })
        });
        [images_gradient, Some(weight_gradient), Some(place_gradient)]
    }
}

#[derive(Debug)]
struct Flatten {
    nodes: usize,
    samples: usize,
    channels: usize,
}

impl Operation<1> for Flatten {
    type Saved<T: Real> = ();
    type Double = InTests;

    fn shape(&self, _: [&[usize]; 1]) -> Vec<usize> {
        vec![self.samples, self.nodes * self.channels]
    }

    fn forward<T: Real>(&self, [state]: [&[T]; 1], _: bool) -> (Vec<T>, ()) {
        (swap_leading(state, self.nodes, self.samples, self.channels), ())
    }

    fn backward<T: Real>(&self, Seen { gradient, .. }: Seen<T, (), 1>) -> [Option<Vec<T>>; 1] {
        [Some(swap_leading(gradient, self.samples, self.nodes, self.channels))]
    }
}
