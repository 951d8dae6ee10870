//! One dense matrix A for the whole batch: layers are products of all samples with A.
//!
//! Samples are independent, so a piece of the batch runs through all layers on one thread; the pieces do
//! not depend on the number of threads.

use super::{
    Gradients, Inputs, Saved, add_rows, kernel_blocks, kernel_blocks_backward, reaction_of, relu, scaled_mask,
};
use crate::linalg::{Matrix, Real, gemm, vectorised};
use crate::operator::plan::Plan;
use rayon::prelude::*;

/// Samples of a piece.
const PIECE: usize = 64;

/// A with everything that acts on h(x) itself on its diagonal: sum_y w K, minus the differences, and R.
pub(crate) fn assemble<T: Real>(plan: &Plan, blocks: &[T], reaction: &[T]) -> Vec<T> {
    let d = plan.width;
    let size = plan.nodes() * d;
    let difference = T::of(plan.update.difference());
    let sign = T::of(plan.update.reaction_sign());
    let mut matrix = vec![T::ZERO; size * size];
    matrix.par_chunks_mut(d * size).enumerate().for_each(|(x, rows)| {
        for (i, row) in reaction_of(plan, reaction, x).chunks_exact(d).enumerate() {
            for (j, &r) in row.iter().enumerate() {
                rows[i * size + x * d + j] += sign * r;
            }
        }
        let first = plan.graph.offsets()[x];
        for (e, (y, weight)) in plan.graph.row(x).enumerate() {
            let weight = T::of(weight);
            let block = &blocks[(first + e) * d * d..][..d * d];
            for i in 0..d {
                for j in 0..d {
                    let value = weight * block[i * d + j];
                    rows[i * size + y * d + j] += value;
                    rows[i * size + x * d + j] -= difference * value;
                }
            }
        }
    });
    matrix
}

pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>) -> (Vec<T>, Saved<T>) {
    let size = plan.nodes() * plan.width;
    let (carry, step) = (T::of(plan.update.carry()), T::of(plan.update.step()));
    let matrix = assemble(plan, &kernel_blocks(plan, &inputs), inputs.reaction);
    let layers = plan.depth + 1;
    let mut states = vec![T::ZERO; layers * inputs.initial.len()];
    let mut result = vec![T::ZERO; inputs.initial.len()];
    states
        .par_chunks_mut(layers * PIECE * size)
        .zip(inputs.initial.par_chunks(PIECE * size))
        .zip(result.par_chunks_mut(PIECE * size))
        .for_each(|((states, initial), result)| {
            let length = initial.len();
            states[..length].copy_from_slice(initial);
            for layer in 0..plan.depth {
                let (before, after) = states.split_at_mut((layer + 1) * length);
                let (h, next) = (&before[layer * length..], &mut after[..length]);
                vectorised(|| {
                    for (next, h) in next.chunks_exact_mut(plan.width).zip(h.chunks_exact(plan.width)) {
                        for ((n, &h), &c) in next.iter_mut().zip(h).zip(inputs.source) {
                            *n = carry * h + step * c;
                        }
                    }
                });
                let h = Matrix::new(h, length / size, size);
                gemm(next, T::ONE, step, h, Matrix::new(&matrix, size, size).t());
                if plan.update.activates(layer, plan.depth) {
                    relu(next);
                }
            }
            result.copy_from_slice(&states[plan.depth * length..]);
        });
    (result, Saved { states, matrix })
}

pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: &Saved<T>, gradient: &[T]) -> Gradients<T> {
    let (d, size) = (plan.width, plan.nodes() * plan.width);
    let (carry, step) = (T::of(plan.update.carry()), T::of(plan.update.step()));
    let layers = plan.depth + 1;
    let mut initial = gradient.to_vec();
    let sums: Vec<(Vec<T>, Vec<T>)> = initial
        .par_chunks_mut(PIECE * size)
        .zip(saved.states.par_chunks(layers * PIECE * size))
        .map(|(adjoint, states)| {
            let length = adjoint.len();
            let samples = length / size;
            // The scaled adjoints of all layers, kept so that the derivative of A is one product.
            let mut scaled = vec![T::ZERO; plan.depth * length];
            for layer in (0..plan.depth).rev() {
                let scaled = &mut scaled[layer * length..(layer + 1) * length];
                let activated = plan
                    .update
                    .activates(layer, plan.depth)
                    .then(|| &states[(layer + 1) * length..(layer + 2) * length]);
                scaled_mask(scaled, step, adjoint, activated);
                let left = Matrix::new(scaled, samples, size);
                gemm(adjoint, carry, T::ONE, left, Matrix::new(&saved.matrix, size, size));
            }
            let mut matrix = vec![T::ZERO; size * size];
            let rows = plan.depth * samples;
            gemm(
                &mut matrix,
                T::ZERO,
                T::ONE,
                Matrix::new(&scaled, rows, size).t(),
                Matrix::new(&states[..plan.depth * length], rows, size),
            );
            let mut source = vec![T::ZERO; d];
            add_rows(&mut source, &scaled);
            (matrix, source)
        })
        .collect();
    let mut matrix = vec![T::ZERO; size * size];
    let mut source = vec![T::ZERO; d];
    for (part, source_part) in &sums {
        add_rows(&mut matrix, part);
        add_rows(&mut source, source_part);
    }
    let (blocks, reaction) = disassemble(plan, &matrix, inputs.reaction.len());
    let (features, last_layer) = kernel_blocks_backward(plan, &inputs, &blocks);
    Gradients { initial, features, last_layer, reaction, source }
}

/// The transpose of [`assemble`]: derivatives of A to those of the blocks and of R.
fn disassemble<T: Real>(plan: &Plan, matrix: &[T], reaction_length: usize) -> (Vec<T>, Vec<T>) {
    let d = plan.width;
    let size = plan.nodes() * d;
    let difference = T::of(plan.update.difference());
    let sign = T::of(plan.update.reaction_sign());
    let mut blocks = vec![T::ZERO; plan.edges() * d * d];
    let mut reaction = vec![T::ZERO; reaction_length];
    for x in 0..plan.nodes() {
        let at = |y: usize, i: usize, j: usize| matrix[(x * d + i) * size + y * d + j];
        let start = if reaction_length == d * d { 0 } else { x * d * d };
        let own = &mut reaction[start..start + d * d];
        for i in 0..d {
            for j in 0..d {
                own[i * d + j] += sign * at(x, i, j);
            }
        }
        let first = plan.graph.offsets()[x];
        for (e, (y, weight)) in plan.graph.row(x).enumerate() {
            let weight = T::of(weight);
            let block = &mut blocks[(first + e) * d * d..][..d * d];
            for i in 0..d {
                for j in 0..d {
                    block[i * d + j] = weight * (at(y, i, j) - difference * at(x, i, j));
                }
            }
        }
    }
    (blocks, reaction)
}
