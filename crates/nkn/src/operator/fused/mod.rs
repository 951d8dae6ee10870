//! The evolution on the CPU and its adjoint, in the three orders of [`Order`].

mod blocks;
mod contracted;
mod dense;

use super::plan::{Order, Plan};
use crate::buffer::Buffer;
use crate::linalg::{Matrix, Real, gemm_parallel, vectorised};
use rayon::prelude::*;

/// The numbers that an evolution works on, in the layouts of the operation's documentation.
#[derive(Clone, Copy)]
pub struct Inputs<'a, T> {
    /// samples x nodes x d.
    pub initial: &'a [T],
    /// kernel rows x features: the output of the kernel network's last hidden layer.
    pub features: &'a [T],
    /// The kernel network's last layer: weight d² x features, then bias d².
    pub last_layer: &'a [T],
    /// nodes x d², or d² when all nodes share one matrix.
    pub reaction: &'a [T],
    /// d.
    pub source: &'a [T],
}

/// Derivatives with respect to each of [`Inputs`].
pub struct Gradients<T> {
    pub initial: Vec<T>,
    pub features: Vec<T>,
    pub last_layer: Vec<T>,
    pub reaction: Vec<T>,
    pub source: Vec<T>,
}

/// What the forward pass leaves for the backward pass.
#[derive(Debug)]
pub struct Saved<T: Real> {
    /// The states h_0 … h_L in the order's own layout.
    states: Buffer<T>,
    /// A, or the blocks K; empty in the contracted order.
    matrix: Vec<T>,
}

/// The state after the last layer (samples x nodes x d).
pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>) -> (Vec<T>, Saved<T>) {
    match plan.order {
        Order::Dense => dense::forward(plan, inputs),
        Order::Blocks => blocks::forward(plan, inputs),
        Order::Contracted => contracted::forward(plan, inputs),
    }
}

/// The adjoint: from the derivative with respect to the last state to those with respect to all inputs.
pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: &Saved<T>, gradient: &[T]) -> Gradients<T> {
    match plan.order {
        Order::Dense => dense::backward(plan, inputs, saved, gradient),
        Order::Blocks => blocks::backward(plan, inputs, saved, gradient),
        Order::Contracted => contracted::backward(plan, inputs, saved, gradient),
    }
}

/// The kernel blocks K = W phi + b, one row of d² numbers per kernel row.
fn kernel_blocks<T: Real>(plan: &Plan, inputs: &Inputs<T>) -> Vec<T> {
    let size = plan.width * plan.width;
    let (rows, features) = (plan.kernel_rows(), feature_width(plan, inputs));
    let (weight, bias) = inputs.last_layer.split_at(size * features);
    let mut blocks = Vec::with_capacity(rows * size);
    for _ in 0..rows {
        blocks.extend_from_slice(bias);
    }
    gemm_parallel(
        &mut blocks,
        T::ONE,
        T::ONE,
        Matrix::new(inputs.features, rows, features),
        Matrix::new(weight, size, features).t(),
    );
    blocks
}

/// From derivatives of the blocks to those of the features and of the last layer.
fn kernel_blocks_backward<T: Real>(plan: &Plan, inputs: &Inputs<T>, blocks: &[T]) -> (Vec<T>, Vec<T>) {
    let size = plan.width * plan.width;
    let (rows, width) = (plan.kernel_rows(), feature_width(plan, inputs));
    let weight = &inputs.last_layer[..size * width];
    let mut features = vec![T::ZERO; rows * width];
    let mut last_layer = vec![T::ZERO; inputs.last_layer.len()];
    if size == 1 {
        scalar_kernel_backward(blocks, inputs.features, weight, &mut features, &mut last_layer);
        return (features, last_layer);
    }
    gemm_parallel(&mut features, T::ZERO, T::ONE, Matrix::new(blocks, rows, size), Matrix::new(weight, size, width));
    let (weight_gradient, bias_gradient) = last_layer.split_at_mut(size * width);
    gemm_parallel(
        weight_gradient,
        T::ZERO,
        T::ONE,
        Matrix::new(blocks, rows, size).t(),
        Matrix::new(inputs.features, rows, width),
    );
    add_rows(bias_gradient, blocks);
    (features, last_layer)
}

/// With d = 1 both products are outer products and sums of scaled rows: one pass over the features.
fn scalar_kernel_backward<T: Real>(
    blocks: &[T],
    features: &[T],
    weight: &[T],
    features_gradient: &mut [T],
    last_layer: &mut [T],
) {
    const PIECE: usize = 512;
    let width = weight.len();
    let sums: Vec<Vec<T>> = features_gradient
        .par_chunks_mut(PIECE * width)
        .zip(features.par_chunks(PIECE * width))
        .zip(blocks.par_chunks(PIECE))
        .map(|((gradient, features), blocks)| {
            let mut sum = vec![T::ZERO; width + 1];
            vectorised(|| {
                let rows = gradient.chunks_exact_mut(width).zip(features.chunks_exact(width));
                for ((gradient, features), &block) in rows.zip(blocks) {
                    let (weights, bias) = sum.split_at_mut(width);
                    bias[0] += block;
                    for (((g, s), &f), &w) in gradient.iter_mut().zip(weights).zip(features).zip(weight) {
                        *g = block * w;
                        *s += block * f;
                    }
                }
            });
            sum
        })
        .collect();
    for sum in sums {
        for (total, part) in last_layer.iter_mut().zip(sum) {
            *total += part;
        }
    }
}

fn feature_width<T>(plan: &Plan, inputs: &Inputs<T>) -> usize {
    let size = plan.width * plan.width;
    inputs.last_layer.len() / size - 1
}

/// The reaction matrix of a node.
fn reaction_of<'a, T>(plan: &Plan, reaction: &'a [T], node: usize) -> &'a [T] {
    let size = plan.width * plan.width;
    if reaction.len() == size { reaction } else { &reaction[node * size..(node + 1) * size] }
}

/// Adds the rows of a matrix to a vector, in order.
fn add_rows<T: Real>(sum: &mut [T], rows: &[T]) {
    vectorised(|| {
        for row in rows.chunks_exact(sum.len()) {
            for (s, &r) in sum.iter_mut().zip(row) {
                *s += r;
            }
        }
    })
}

fn relu<T: Real>(values: &mut [T]) {
    vectorised(|| {
        for v in values {
            *v = if *v > T::ZERO { *v } else { T::ZERO };
        }
    })
}

/// Zero where `activated` is.
fn mask<T: Real>(gradient: &mut [T], activated: &[T]) {
    vectorised(|| {
        for (g, &a) in gradient.iter_mut().zip(activated) {
            *g = if a > T::ZERO { *g } else { T::ZERO };
        }
    })
}

/// `result = scale * gradient`, where `activated` is positive if given, else zero.
fn scaled_mask<T: Real>(result: &mut [T], scale: T, gradient: &[T], activated: Option<&[T]>) {
    vectorised(|| match activated {
        None => {
            for (r, &g) in result.iter_mut().zip(gradient) {
                *r = scale * g;
            }
        }
        Some(activated) => {
            for ((r, &g), &a) in result.iter_mut().zip(gradient).zip(activated) {
                *r = if a > T::ZERO { scale * g } else { T::ZERO };
            }
        }
    })
}

/// samples x nodes x d to nodes x samples x d, or back.
fn swap_leading<T: Real>(values: &[T], first: usize, second: usize, width: usize) -> Vec<T> {
    let mut result = vec![T::ZERO; values.len()];
    result.par_chunks_mut((first * width).max(1)).enumerate().for_each(|(b, row)| {
        for (a, piece) in row.chunks_exact_mut(width).enumerate() {
            let start = (a * second + b) * width;
            piece.copy_from_slice(&values[start..start + width]);
        }
    });
    result
}
