//! The nonlocal block of a nonlocal neural network: L steps with a given affinity, as one operation.
//!
//! The affinity of two pixels is given, not learned: the row-wise softmax of the dot products of the features that enter the block. It is made
//! sample by sample, serves all steps while it is in the cache, and is made again for the derivatives: held for a batch it would take
//! half a gigabyte. It counts as data: no derivative goes through it.

use crate::engine::Engine;
use crate::linalg::{Matrix, Real, gemm, vectorised};
use crate::operation::{INPUTS, Operation, operate};
use burn::tensor::{Tensor, activation::softmax};
use rayon::prelude::*;
use std::sync::Arc;

/// h(l + 1) = h(l) + R(l) sum_j k(i, j) (h_j(l) - h_i(l)) for each matrix R (d x d) in `matrices`; `given` are the features
/// that the affinity is made of. States are nodes x samples x d.
pub fn nonlocal(state: Tensor<3>, matrices: Tensor<1>, given: Tensor<3>, engine: Engine) -> Tensor<3> {
    let [nodes, _, d] = state.dims();
    let given = given.detach();
    if engine.is_fused(&state.device()) {
        return operate(state, [Some(matrices), None], Some(given), Arc::new(Fused { nodes, d }));
    }
    let given = given.swap_dims(0, 1);
    let affinity = softmax(given.clone().matmul(given.transpose()), 2);
    let mut h = state.swap_dims(0, 1);
    let [samples, ..] = h.dims();
    let [length] = matrices.dims();
    for layer in 0..length / (d * d) {
        let matrix = matrices.clone().slice(layer * d * d..(layer + 1) * d * d).reshape([d, d]);
        let difference = affinity.clone().matmul(h.clone()) - h.clone();
        let change = difference.reshape([samples * nodes, d]).matmul(matrix.transpose());
        h = h + change.reshape([samples, nodes, d]);
    }
    h.swap_dims(0, 1)
}

#[derive(Debug)]
struct Fused {
    nodes: usize,
    d: usize,
}

/// One sample's part of a state of nodes x samples x d, as nodes x d.
fn pick<T: Real>(values: &[T], samples: usize, sample: usize, d: usize) -> Vec<T> {
    let rows = values.chunks_exact(samples * d);
    rows.flat_map(|row| &row[sample * d..(sample + 1) * d]).copied().collect()
}

/// The samples' parts as nodes x samples x d.
fn join<T: Real>(parts: &[Vec<T>], d: usize) -> Vec<T> {
    let samples = parts.len();
    let mut result = vec![T::ZERO; parts.iter().map(Vec::len).sum()];
    result.par_chunks_mut((samples * d).max(1)).enumerate().for_each(|(node, row)| {
        for (own, part) in row.chunks_exact_mut(d).zip(parts) {
            own.copy_from_slice(&part[node * d..(node + 1) * d]);
        }
    });
    result
}

/// Row-wise softmax of the dot products.
fn affinity<T: Real>(features: &[T], d: usize) -> Vec<T> {
    let nodes = features.len() / d;
    let mut result = vec![T::ZERO; nodes * nodes];
    let features = Matrix::new(features, nodes, d);
    gemm(&mut result, T::ZERO, T::ONE, features, features.t());
    for row in result.chunks_exact_mut(nodes) {
        vectorised(|| {
            let mut largest = [row[0]; 16];
            for piece in row.chunks(16) {
                for (l, &v) in largest.iter_mut().zip(piece) {
                    *l = if v > *l { v } else { *l };
                }
            }
            let largest = largest.iter().fold(row[0], |a, &b| if b > a { b } else { a });
            for value in row.iter_mut() {
                *value = (*value - largest).exp();
            }
            let mut totals = [T::ZERO; 16];
            for piece in row.chunks(16) {
                totals.iter_mut().zip(piece).for_each(|(t, &v)| *t += v);
            }
            let mut total = T::ZERO;
            totals.iter().for_each(|&t| total += t);
            let share = T::of(1.0 / total.to_f64());
            row.iter_mut().for_each(|value| *value = *value * share);
        });
    }
    result
}

impl Fused {
    /// P h - h.
    fn difference<T: Real>(&self, affinity: &[T], h: &[T]) -> Vec<T> {
        let nodes = self.nodes;
        let mut result = h.to_vec();
        gemm(&mut result, -T::ONE, T::ONE, Matrix::new(affinity, nodes, nodes), Matrix::new(h, nodes, self.d));
        result
    }

    /// The differences of every layer, and the last state.
    fn layers<T: Real>(&self, affinity: &[T], matrices: &[T], mut h: Vec<T>) -> (Vec<Vec<T>>, Vec<T>) {
        let (d, nodes) = (self.d, self.nodes);
        let mut differences = Vec::new();
        for matrix in matrices.chunks_exact(d * d) {
            let difference = self.difference(affinity, &h);
            gemm(&mut h, T::ONE, T::ONE, Matrix::new(&difference, nodes, d), Matrix::new(matrix, d, d).t());
            differences.push(difference);
        }
        (differences, h)
    }

    fn samples<T>(&self, state: &[T]) -> usize {
        state.len() / (self.nodes * self.d)
    }
}

impl Operation for Fused {
    fn shape(&self, inputs: [&[usize]; INPUTS]) -> Vec<usize> {
        inputs[0].to_vec()
    }

    fn forward<T: Real>(&self, [state, matrices, _, given]: [&[T]; INPUTS]) -> Vec<T> {
        let d = self.d;
        let samples = self.samples(state);
        let one = |sample: usize| {
            let affinity = affinity(&pick(given, samples, sample, d), d);
            self.layers(&affinity, matrices, pick(state, samples, sample, d)).1
        };
        let parts: Vec<Vec<T>> = (0..samples).into_par_iter().map(one).collect();
        join(&parts, d)
    }

    fn backward<T: Real>(
        &self,
        [state, matrices, _, given]: [&[T]; INPUTS],
        _: &[T],
        gradient: &[T],
        _: [bool; INPUTS],
    ) -> [Option<Vec<T>>; INPUTS] {
        let (d, nodes) = (self.d, self.nodes);
        let samples = self.samples(state);
        let one = |sample: usize| {
            let affinity = affinity(&pick(given, samples, sample, d), d);
            let (differences, _) = self.layers(&affinity, matrices, pick(state, samples, sample, d));
            let mut own = vec![T::ZERO; matrices.len()];
            let mut adjoint = pick(gradient, samples, sample, d);
            for (layer, difference) in differences.iter().enumerate().rev() {
                let span = layer * d * d..(layer + 1) * d * d;
                let left = Matrix::new(&adjoint, nodes, d);
                gemm(&mut own[span.clone()], T::ZERO, T::ONE, left.t(), Matrix::new(difference, nodes, d));
                let mut mixed = vec![T::ZERO; nodes * d];
                gemm(&mut mixed, T::ZERO, T::ONE, left, Matrix::new(&matrices[span], d, d));
                // (P transposed - 1) times what came through R.
                adjoint.iter_mut().zip(&mixed).for_each(|(a, &m)| *a -= m);
                let affinity = Matrix::new(&affinity, nodes, nodes);
                gemm(&mut adjoint, T::ONE, T::ONE, affinity.t(), Matrix::new(&mixed, nodes, d));
            }
            (adjoint, own)
        };
        let (parts, matrices): (Vec<Vec<T>>, Vec<Vec<T>>) = (0..samples).into_par_iter().map(one).unzip();
        let mut total = vec![T::ZERO; matrices[0].len()];
        for own in matrices {
            total.iter_mut().zip(own).for_each(|(t, o)| *t += o);
        }
        [Some(join(&parts, d)), Some(total), None, None]
    }
}
