//! One dense matrix A for the whole batch: layers are products of all samples with A.
//!
//! Samples are independent, so a piece of the batch runs through all layers on one thread; the pieces do
//! not depend on the number of threads.

use super::{Gradients, Inputs, Saved, last_layer, last_layer::Layout, reaction_of};
use crate::linalg::buffer::Buffer;
use crate::linalg::{Matrix, Real, add_row, add_rows, gemm, gemm_parallel, mask, relu, set_rows, sum_rows, vectorised};
use crate::operator::integrator::Flow;
use crate::operator::plan::Plan;
use crate::parallel::Parallel;

/// Samples of a piece: enough rows for a product at full speed.
const PIECE: usize = 125;

/// A with everything that acts on h(x) itself on its diagonal: sum_y w K, minus the differences, and R.
pub(crate) fn assemble<T: Real>(plan: &Plan, blocks: &[T], reaction: &[T]) -> Vec<T> {
    let d = plan.width;
    let size = plan.nodes() * d;
    let difference = T::of(plan.update.carry());
    let sign = T::of(plan.update.reaction_sign());
    let mut matrix = vec![T::ZERO; size * size];
    matrix.chunks_mut(d * size).enumerate().parallel().for_each(|(x, rows)| {
        for (entry, &r) in reaction_of(plan, reaction, x).iter().enumerate() {
            rows[entry / d * size + x * d + entry % d] += sign * r;
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

/// carry + step A: what one layer multiplies h with, besides the source and the activation.
fn propagator<T: Real>(plan: &Plan, mut matrix: Vec<T>) -> Vec<T> {
    let size = plan.nodes() * plan.width;
    let (carry, step) = (T::of(plan.update.carry()), T::of(plan.update.step()));
    vectorised!({
        for value in &mut matrix {
            *value = step * *value;
        }
    });
    for row in 0..size {
        matrix[row * size + row] += carry;
    }
    matrix
}

pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>) -> (Vec<T>, Saved<T>) {
    let size = plan.nodes() * plan.width;
    let step = T::of(plan.update.step());
    let matrix =
        propagator(plan, assemble(plan, &last_layer::forward(plan, &inputs, Layout::Rows, |_, _| ()), inputs.reaction));
    let source: Vec<T> = (0..size).map(|i| step * inputs.source[i % plan.width]).collect();
    let layers = plan.depth + 1;
    let mut states = Buffer::any(layers * inputs.initial.len());
    let mut result = vec![T::ZERO; inputs.initial.len()];
    states
        .chunks_mut(layers * PIECE * size)
        .zip(inputs.initial.chunks(PIECE * size))
        .zip(result.chunks_mut(PIECE * size))
        .parallel()
        .for_each(|((states, initial), result)| {
            let length = initial.len();
            states[..length].copy_from_slice(initial);
            for layer in 0..plan.depth {
                let (before, after) = states.split_at_mut((layer + 1) * length);
                let (h, next) = (&before[layer * length..], &mut after[..length]);
                set_rows(next, &source);
                let h = Matrix::new(h, length / size, size);
                gemm(next, T::ONE, T::ONE, h, Matrix::new(&matrix, size, size).t());
                if plan.update.activates(layer, plan.depth) {
                    relu(next);
                }
            }
            result.copy_from_slice(&states[plan.depth * length..]);
        });
    (result, Saved::new(states, matrix.into()))
}

pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: Saved<T>, gradient: &[T]) -> Gradients<T> {
    let (d, size) = (plan.width, plan.nodes() * plan.width);
    let step = T::of(plan.update.step());
    let layers = plan.depth + 1;
    let mut initial = vec![T::ZERO; gradient.len()];
    let sums: Vec<(Vec<T>, Vec<T>)> = initial
        .chunks_mut(PIECE * size)
        .zip(gradient.chunks(PIECE * size))
        .zip(saved.states.chunks(layers * PIECE * size))
        .parallel()
        .map(|((initial, gradient), states)| {
            let length = gradient.len();
            let samples = length / size;
            // The adjoints after each layer's activation, all kept, so that the derivative of A is one product.
            let mut adjoints = Buffer::any(plan.depth * length);
            adjoints[(plan.depth - 1) * length..].copy_from_slice(gradient);
            for layer in (0..plan.depth).rev() {
                let (before, current) = adjoints.split_at_mut(layer * length);
                let current = &mut current[..length];
                if plan.update.activates(layer, plan.depth) {
                    mask(current, &states[(layer + 1) * length..(layer + 2) * length]);
                }
                let next = if layer > 0 { &mut before[(layer - 1) * length..] } else { &mut *initial };
                let left = Matrix::new(current, samples, size);
                gemm(next, T::ZERO, T::ONE, left, Matrix::new(&saved.matrix, size, size));
            }
            let mut matrix = vec![T::ZERO; size * size];
            let rows = plan.depth * samples;
            let states = Matrix::new(&states[..plan.depth * length], rows, size);
            gemm(&mut matrix, T::ZERO, step, Matrix::new(&adjoints, rows, size).t(), states);
            (matrix, sum_rows(&adjoints, size))
        });
    let mut matrix = vec![T::ZERO; size * size];
    let mut source = vec![T::ZERO; d];
    for (part, source_part) in &sums {
        add_rows(&mut matrix, part);
        add_rows(&mut source, source_part);
    }
    source.iter_mut().for_each(|value| *value = step * *value);
    let (blocks, reaction) = disassemble(plan, &matrix, inputs.reaction.len());
    let (features, last_layer) = last_layer::backward(plan, &inputs, &blocks);
    [initial, features, last_layer, reaction, source]
}

/// Products with A as one matrix, for states of samples x nodes x d.
pub struct Whole<'a, T: Real> {
    plan: &'a Plan,
    matrix: Vec<T>,
    source: Vec<T>,
}

impl<'a, T: Real> Whole<'a, T> {
    pub fn new(plan: &'a Plan, inputs: &Inputs<T>) -> Self {
        let matrix = assemble(plan, &last_layer::forward(plan, inputs, Layout::Rows, |_, _| ()), inputs.reaction);
        let source = (0..plan.nodes() * plan.width).map(|i| inputs.source[i % plan.width]).collect();
        Self { plan, matrix, source }
    }

    fn matrix(&self) -> Matrix<'_, T> {
        Matrix::new(&self.matrix, self.source.len(), self.source.len())
    }

    /// The derivatives of blocks and R: A's is the sum of g ⊗ v over all products A v.
    pub fn gradients(&self, inputs: &[T], outputs: &[T], reaction_length: usize) -> (Buffer<T>, Vec<T>) {
        let size = self.source.len();
        let rows = inputs.len() / size;
        let mut matrix = vec![T::ZERO; size * size];
        let (g, v) = (Matrix::new(outputs, rows, size), Matrix::new(inputs, rows, size));
        gemm_parallel(&mut matrix, T::ZERO, T::ONE, g.t(), v);
        let (blocks, reaction) = disassemble(self.plan, &matrix, reaction_length);
        (blocks.into(), reaction)
    }
}

impl<T: Real> Flow<T> for Whole<'_, T> {
    fn apply(&self, h: &[T], result: &mut [T]) {
        let size = self.source.len();
        gemm_parallel(result, T::ZERO, T::ONE, Matrix::new(h, h.len() / size, size), self.matrix().t());
    }

    fn apply_transposed(&self, g: &[T], result: &mut [T]) {
        let size = self.source.len();
        gemm_parallel(result, T::ZERO, T::ONE, Matrix::new(g, g.len() / size, size), self.matrix());
    }

    fn add_source(&self, factor: T, state: &mut [T]) {
        let source: Vec<T> = self.source.iter().map(|&c| factor * c).collect();
        add_row(state, &source);
    }

    fn norm(&self) -> f64 {
        let sum = |row: &[T]| row.iter().map(|a| a.elem::<f64>().abs()).sum::<f64>();
        self.matrix.chunks(self.source.len()).map(sum).fold(0.0, f64::max)
    }
}

/// The transpose of [`assemble`]: derivatives of A to those of the blocks and of R.
fn disassemble<T: Real>(plan: &Plan, matrix: &[T], reaction_length: usize) -> (Vec<T>, Vec<T>) {
    let d = plan.width;
    let size = plan.nodes() * d;
    let difference = T::of(plan.update.carry());
    let sign = T::of(plan.update.reaction_sign());
    let mut blocks = vec![T::ZERO; plan.edges() * d * d];
    let mut reaction = vec![T::ZERO; reaction_length];
    for x in 0..plan.nodes() {
        let at = |y: usize, i: usize, j: usize| matrix[(x * d + i) * size + y * d + j];
        let start = if reaction_length == d * d { 0 } else { x * d * d };
        for (entry, r) in reaction[start..start + d * d].iter_mut().enumerate() {
            *r += sign * at(x, entry / d, entry % d);
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
