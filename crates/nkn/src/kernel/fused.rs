//! The perceptron on the CPU: forward and backward by row blocks that stay in the cache.
//!
//! A block of rows goes through all layers before the next block starts, so bias, ReLU and their derivatives
//! touch data that the matrix product has just left in the cache. Gradients of the parameters are summed in a fixed
//! number of lanes, whatever the number of threads, and the lanes are added in order.

use super::mlp::{LayerSpan, MlpShape};
use crate::buffer::Buffer;
use crate::linalg::{Matrix, Real, gemm, vectorised};
use rayon::prelude::*;

/// Rows of a block: large enough that packing the weights does not show, small enough that the block's activations
/// (512 x 256 floats in the kernel network of the Poisson problem) fit the second-level cache.
const BLOCK: usize = 512;
/// Lanes in which parameter gradients are summed: enough to occupy a desktop's cores.
const LANES: usize = 16;
/// Up to this many inputs a layer is a sum of scaled rows; a matrix product would be all overhead.
const NARROW: usize = 8;

/// The output of every layer, first to last, each `rows` x its width.
pub fn forward<T: Real>(shape: &MlpShape, x: &[T], parameters: &[T]) -> Vec<Buffer<T>> {
    assert_eq!(parameters.len(), shape.parameters());
    let layers = shape.layers();
    let rows = x.len() / shape.inputs();
    let block = block_rows(rows);
    let transposed = transposed_weights(&layers, parameters);
    let mut activations: Vec<Buffer<T>> = layers.iter().map(|layer| Buffer::any(rows * layer.outputs)).collect();
    // One mutable piece of every layer's output per block.
    let mut pieces: Vec<Vec<&mut [T]>> = Vec::new();
    for (values, layer) in activations.iter_mut().zip(&layers) {
        for (index, piece) in values.chunks_mut(block * layer.outputs).enumerate() {
            match pieces.get_mut(index) {
                Some(block) => block.push(piece),
                None => pieces.push(vec![piece]),
            }
        }
    }
    pieces.into_par_iter().zip(x.par_chunks(block * shape.inputs())).for_each(|(mut outputs, x)| {
        for (index, layer) in layers.iter().enumerate() {
            let (before, after) = outputs.split_at_mut(index);
            let input: &[T] = before.last().map_or(x, |piece| piece);
            let output = &mut *after[0];
            let bias = &parameters[layer.bias()..layer.end()];
            let activate = shape.activates(index);
            let weight = &transposed[index];
            if layer.inputs <= NARROW {
                narrow_layer(layer, weight, bias, activate, input, output);
            } else {
                let rows = input.len() / layer.inputs;
                let input = Matrix::new(input, rows, layer.inputs);
                gemm(output, T::ZERO, T::ONE, input, Matrix::new(weight, layer.inputs, layer.outputs));
                add_bias(output, bias, activate);
            }
        }
    });
    activations
}

/// What the backward pass returns.
pub struct Gradients<T> {
    /// With respect to the flat parameter vector.
    pub parameters: Vec<T>,
    /// With respect to the input rows, when asked for.
    pub x: Option<Vec<T>>,
}

/// Derivatives of a function of the output, given its derivative `output_gradient` with respect to the output.
pub fn backward<T: Real>(
    shape: &MlpShape,
    x: &[T],
    parameters: &[T],
    activations: &[&[T]],
    output_gradient: &[T],
    want_x: bool,
) -> Gradients<T> {
    let layers = shape.layers();
    let rows = x.len() / shape.inputs();
    let block = block_rows(rows);
    let lane_rows = rows.div_ceil(block).div_ceil(LANES).max(1) * block;
    let mut x_gradient = vec![T::ZERO; if want_x { x.len() } else { 0 }];
    let lanes = rows.div_ceil(lane_rows);
    let mut x_pieces: Vec<&mut [T]> = if want_x {
        x_gradient.chunks_mut(lane_rows * shape.inputs()).collect()
    } else {
        (0..lanes).map(|_| Default::default()).collect()
    };
    let sums: Vec<Vec<T>> = x_pieces
        .par_iter_mut()
        .enumerate()
        .map(|(lane, x_gradient)| {
            let mut sum = vec![T::ZERO; parameters.len()];
            let mut scratch = Scratch::new(&layers, block);
            let range = lane * lane_rows..rows.min((lane + 1) * lane_rows);
            for start in range.clone().step_by(block) {
                let here = start..range.end.min(start + block);
                let mut piece = Block {
                    shape,
                    layers: &layers,
                    x,
                    parameters,
                    activations,
                    rows: here.clone(),
                    scratch: &mut scratch,
                    sum: &mut sum,
                };
                let input_gradient = if want_x {
                    let offset = here.start - range.start;
                    let width = shape.inputs();
                    Some(&mut x_gradient[offset * width..(offset + here.len()) * width])
                } else {
                    None
                };
                piece.backward(output_gradient, input_gradient);
            }
            scratch.add_narrow(&layers, &mut sum);
            sum
        })
        .collect();
    Gradients { parameters: sum_in_order(sums, parameters.len()), x: want_x.then_some(x_gradient) }
}

/// Adds vectors first to last, so that the result does not depend on who finished first.
fn sum_in_order<T: Real>(vectors: Vec<Vec<T>>, length: usize) -> Vec<T> {
    let mut vectors = vectors.into_iter();
    let mut sum = vectors.next().unwrap_or_else(|| vec![T::ZERO; length]);
    let rest: Vec<Vec<T>> = vectors.collect();
    const PIECE: usize = 1 << 14;
    sum.par_chunks_mut(PIECE).enumerate().for_each(|(index, piece)| {
        vectorised(|| {
            for vector in &rest {
                let other = &vector[index * PIECE..index * PIECE + piece.len()];
                for (s, o) in piece.iter_mut().zip(other) {
                    *s += *o;
                }
            }
        })
    });
    sum
}

/// Buffers of one lane.
struct Scratch<T> {
    /// Derivative with respect to the current layer's output, and to its input.
    current: Vec<T>,
    next: Vec<T>,
    /// Weight gradients of narrow layers, transposed.
    narrow: Vec<Option<Vec<T>>>,
}

impl<T: Real> Scratch<T> {
    fn new(layers: &[LayerSpan], block: usize) -> Self {
        let width = layers.iter().map(|l| l.outputs.max(l.inputs)).max();
        let size = block * width.unwrap_or(0);
        Self {
            current: vec![T::ZERO; size],
            next: vec![T::ZERO; size],
            narrow: layers.iter().map(|l| (l.inputs <= NARROW).then(|| vec![T::ZERO; l.inputs * l.outputs])).collect(),
        }
    }

    fn add_narrow(&self, layers: &[LayerSpan], sum: &mut [T]) {
        for (layer, gradient) in layers.iter().zip(&self.narrow) {
            let Some(gradient) = gradient else { continue };
            for output in 0..layer.outputs {
                for input in 0..layer.inputs {
                    sum[layer.start + output * layer.inputs + input] += gradient[input * layer.outputs + output];
                }
            }
        }
    }
}

/// The backward pass of one block of rows.
struct Block<'a, T> {
    shape: &'a MlpShape,
    layers: &'a [LayerSpan],
    x: &'a [T],
    parameters: &'a [T],
    activations: &'a [&'a [T]],
    rows: std::ops::Range<usize>,
    scratch: &'a mut Scratch<T>,
    sum: &'a mut [T],
}

impl<T: Real> Block<'_, T> {
    fn backward(&mut self, output_gradient: &[T], x_gradient: Option<&mut [T]>) {
        let rows = self.rows.len();
        let span = |width: usize| self.rows.start * width..self.rows.end * width;
        let last = self.layers.len() - 1;
        let width = self.shape.outputs();
        let given = &output_gradient[span(width)];
        let current = &mut self.scratch.current[..given.len()];
        if self.shape.activates(last) {
            masked(current, given, &self.activations[last][span(width)]);
        } else {
            current.copy_from_slice(given);
        }
        let bias = &self.layers[last];
        add_columns(&mut self.sum[bias.bias()..bias.end()], &self.scratch.current[..given.len()]);
        let mut x_gradient = x_gradient;
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let input = match index {
                0 => &self.x[span(layer.inputs)],
                _ => &self.activations[index - 1][span(layer.inputs)],
            };
            let current = &self.scratch.current[..rows * layer.outputs];
            let weight_sum = &mut self.sum[layer.start..layer.bias()];
            if let Some(transposed) = &mut self.scratch.narrow[index] {
                add_narrow_products(transposed, layer, current, input);
            } else {
                gemm(
                    weight_sum,
                    T::ONE,
                    T::ONE,
                    Matrix::new(current, rows, layer.outputs).t(),
                    Matrix::new(input, rows, layer.inputs),
                );
            }
            let wanted = match index {
                0 => x_gradient.take(),
                _ => Some(&mut self.scratch.next[..rows * layer.inputs]),
            };
            let Some(next) = wanted else { continue };
            let weight = &self.parameters[layer.start..layer.bias()];
            gemm(
                next,
                T::ZERO,
                T::ONE,
                Matrix::new(current, rows, layer.outputs),
                Matrix::new(weight, layer.outputs, layer.inputs),
            );
            if index > 0 {
                // Below the last layer every layer is followed by ReLU.
                let below = &self.layers[index - 1];
                mask_and_add_columns(next, input, &mut self.sum[below.bias()..below.end()]);
                std::mem::swap(&mut self.scratch.current, &mut self.scratch.next);
            }
        }
    }
}

fn block_rows(rows: usize) -> usize {
    let blocks = rows.div_ceil(BLOCK).max(1);
    rows.div_ceil(blocks).max(1)
}

/// Each layer's weight as inputs x outputs: the orientation in which the forward product is fastest.
fn transposed_weights<T: Real>(layers: &[LayerSpan], parameters: &[T]) -> Vec<Vec<T>> {
    let transpose = |layer: &LayerSpan| {
        let weight = &parameters[layer.start..layer.bias()];
        let mut result = vec![T::ZERO; weight.len()];
        // Tiles, so that both sides stay in the cache.
        const TILE: usize = 16;
        for first in (0..layer.outputs).step_by(TILE) {
            for input in 0..layer.inputs {
                for output in first..layer.outputs.min(first + TILE) {
                    result[input * layer.outputs + output] = weight[output * layer.inputs + input];
                }
            }
        }
        result
    };
    layers.iter().map(transpose).collect()
}

fn narrow_layer<T: Real>(
    layer: &LayerSpan,
    transposed: &[T],
    bias: &[T],
    activate: bool,
    input: &[T],
    output: &mut [T],
) {
    vectorised(|| {
        for (input, output) in input.chunks_exact(layer.inputs).zip(output.chunks_exact_mut(layer.outputs)) {
            narrow_row(transposed, bias, activate, input, output);
        }
    })
}

/// One row; inlined, so that it is compiled for the vectors of its caller.
#[inline(always)]
fn narrow_row<T: Real>(transposed: &[T], bias: &[T], activate: bool, input: &[T], output: &mut [T]) {
    let width = output.len();
    output.copy_from_slice(&bias[..width]);
    for (&value, weights) in input.iter().zip(transposed.chunks_exact(width)) {
        for (o, &w) in output.iter_mut().zip(weights) {
            *o += value * w;
        }
    }
    if activate {
        for o in output.iter_mut() {
            *o = relu(*o);
        }
    }
}

fn add_narrow_products<T: Real>(transposed: &mut [T], layer: &LayerSpan, gradient: &[T], input: &[T]) {
    vectorised(|| {
        for (gradient, input) in gradient.chunks_exact(layer.outputs).zip(input.chunks_exact(layer.inputs)) {
            for (&value, sums) in input.iter().zip(transposed.chunks_exact_mut(layer.outputs)) {
                for (s, &g) in sums.iter_mut().zip(gradient) {
                    *s += value * g;
                }
            }
        }
    })
}

#[inline(always)]
fn relu<T: Real>(value: T) -> T {
    if value > T::ZERO { value } else { T::ZERO }
}

fn add_bias<T: Real>(output: &mut [T], bias: &[T], activate: bool) {
    vectorised(|| {
        for row in output.chunks_exact_mut(bias.len()) {
            for (o, &b) in row.iter_mut().zip(bias) {
                let value = *o + b;
                *o = if activate { relu(value) } else { value };
            }
        }
    })
}

fn add_columns<T: Real>(sum: &mut [T], rows: &[T]) {
    vectorised(|| {
        for row in rows.chunks_exact(sum.len()) {
            for (s, &r) in sum.iter_mut().zip(row) {
                *s += r;
            }
        }
    })
}

/// `result = gradient` where the activation is positive, else zero.
fn masked<T: Real>(result: &mut [T], gradient: &[T], activation: &[T]) {
    vectorised(|| {
        for ((r, &g), &a) in result.iter_mut().zip(gradient).zip(activation) {
            *r = if a > T::ZERO { g } else { T::ZERO };
        }
    })
}

/// Zero where the activation is, and the columns' sums in the same pass.
fn mask_and_add_columns<T: Real>(gradient: &mut [T], activation: &[T], sums: &mut [T]) {
    vectorised(|| {
        let width = sums.len();
        for (gradient, activation) in gradient.chunks_exact_mut(width).zip(activation.chunks_exact(width)) {
            for ((g, &a), s) in gradient.iter_mut().zip(activation).zip(&mut *sums) {
                let value = if a > T::ZERO { *g } else { T::ZERO };
                *g = value;
                *s += value;
            }
        }
    })
}
