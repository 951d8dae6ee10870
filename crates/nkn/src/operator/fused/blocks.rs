//! The blocks K of A, each times the samples that use it.
//!
//! States are nodes x samples x d, so that a node's samples are the rows of one matrix. A layer is computed target by target,
//! each by one thread. Its adjoint takes two passes: by target for the products with K transposed, by source
//! to collect them, so that no two threads write to the same place and every sum has one order.

use super::last_layer::{self, Layout};
use super::scaled_adjoint;
use super::streamed::advance;
use super::{Gradients, Inputs, Saved, States, by_node_or_shared, from_nodes_first, nodes_first, pieces, reaction_of};
use crate::linalg::buffer::Buffer;
use crate::linalg::small::{Product, multiply};
use crate::linalg::{Matrix, Real, add_row, gemm, relu, set_rows, sum_rows, transposed_blocks, vectorised};
use crate::operator::integrator::Flow;
use crate::operator::plan::Plan;
use crate::parallel::Parallel;

/// Collects h(y) - difference * h(x) of some samples as the rows of a matrix.
fn gather<T: Real>(result: &mut Vec<T>, users: &[u32], d: usize, at_y: &[T], difference: Option<&[T]>) {
    for &sample in users {
        let span = sample as usize * d..(sample as usize + 1) * d;
        match difference {
            None => result.extend_from_slice(&at_y[span]),
            Some(at_x) => result.extend(at_y[span.clone()].iter().zip(&at_x[span]).map(|(&y, &x)| y - x)),
        }
    }
}

/// sum_y w K (h(y) - h(x)) ± R h + c at all nodes, and what is to be done with it there.
fn sums<T: Real>(
    plan: &Plan,
    blocks: &[T],
    inputs: &Inputs<T>,
    h: &[T],
    next: &mut [T],
    then: impl Fn(usize, &mut [T]) + Sync,
) {
    let (d, samples) = (plan.width, plan.samples());
    let sign = T::of(plan.update.reaction_sign());
    let is_difference = plan.update.carry() != 0.0;
    let users = plan.users();
    let block = |row: usize| &blocks[row * d * d..(row + 1) * d * d];
    let at = |node: usize| &h[node * samples * d..(node + 1) * samples * d];
    next.chunks_mut(samples * d).enumerate().parallel().for_each_with(Vec::new, |scratch, (x, next)| {
        set_rows(next, inputs.source);
        let reaction = Matrix::new(reaction_of(plan, inputs.reaction, x), d, d);
        gemm(next, T::ONE, sign, Matrix::new(at(x), samples, d), reaction.t());
        let first = plan.graph.offsets()[x];
        let mut rows = plan.rows.slots(first..plan.edges()).iter();
        for (e, (y, weight)) in plan.graph.row(x).enumerate() {
            for row in plan.rows.rows_of_edge(first + e) {
                rows.next();
                let product = Product {
                    block: block(row),
                    next: rows.as_slice().first().map(|&row| block(row as usize)),
                    weight: T::of(weight),
                    users: users.of(row),
                    states: at(y),
                    minus: is_difference.then(|| at(x)),
                    sum: Some((next, T::ONE)),
                    copy: None,
                };
                multiply(d, product, scratch);
            }
        }
        then(x, next);
    });
}

pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>, keep: bool) -> (Vec<T>, Saved<T>) {
    let node = plan.samples() * plan.width;
    let blocks = last_layer::forward(plan, &inputs, Layout::Columns, |_, _| ());
    let mut states = States::new(plan, inputs.initial, keep);
    for layer in 0..plan.depth {
        let (h, next) = states.step(layer);
        sums(plan, &blocks, &inputs, h, next, |x, next| {
            advance(plan, &h[x * node..(x + 1) * node], next);
            if plan.update.activates(layer, plan.depth) {
                relu(next);
            }
        });
    }
    let (result, states) = states.finish(plan);
    (result, Saved::new(states, blocks))
}

/// Products with A by its blocks, for states of nodes x samples x d.
pub struct ByBlocks<'a, T: Real> {
    plan: &'a Plan,
    inputs: Inputs<'a, T>,
    /// Column by column, as products want them.
    blocks: Buffer<T>,
    /// Row by row, as products with the transpose want them.
    transposed: Buffer<T>,
}

impl<'a, T: Real> ByBlocks<'a, T> {
    pub fn new(plan: &'a Plan, inputs: &Inputs<'a, T>) -> Self {
        let transposed = last_layer::forward(plan, inputs, Layout::Rows, |_, _| ());
        let blocks = transposed_blocks(plan.width, &transposed);
        Self { plan, inputs: *inputs, blocks, transposed }
    }
}

impl<T: Real> Flow<T> for ByBlocks<'_, T> {
    fn apply(&self, h: &[T], result: &mut [T]) {
        let without = vec![T::ZERO; self.plan.width];
        let inputs = Inputs { source: &without, ..self.inputs };
        sums(self.plan, &self.blocks, &inputs, h, result, |_, _| ());
    }

    fn apply_transposed(&self, g: &[T], result: &mut [T]) {
        let mut sent = Buffer::any(self.plan.edges() * self.plan.samples() * self.plan.width);
        result.fill(T::ZERO);
        send(self.plan, &self.transposed, self.inputs.reaction, g, &mut sent, result);
        receive(self.plan, &sent, result);
    }

    fn add_source(&self, factor: T, state: &mut [T]) {
        let source: Vec<T> = self.inputs.source.iter().map(|&c| factor * c).collect();
        add_row(state, &source);
    }

    /// The largest sum of a row, with the largest of an edge's blocks.
    fn norm(&self) -> f64 {
        let (plan, d) = (self.plan, self.plan.width);
        let sums = |block: &[T], i: usize| (0..d).map(|j| block[i * d + j].elem::<f64>().abs()).sum::<f64>();
        let at = |x: usize| {
            let reaction = reaction_of(plan, self.inputs.reaction, x);
            let mut rows: Vec<f64> = (0..d).map(|i| sums(reaction, i)).collect();
            let edges = plan.graph.offsets()[x]..plan.graph.offsets()[x + 1];
            for edge in edges {
                let weight = 2.0 * plan.graph.weights()[edge].abs();
                for (i, sum) in rows.iter_mut().enumerate() {
                    let blocks =
                        plan.rows.rows_of_edge(edge).map(|row| &self.transposed[row * d * d..(row + 1) * d * d]);
                    *sum += weight * blocks.map(|block| sums(block, i)).fold(0.0, f64::max);
                }
            }
            rows.into_iter().fold(0.0, f64::max)
        };
        (0..plan.nodes()).parallel().map(at).into_iter().fold(0.0, f64::max)
    }
}

pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: Saved<T>, gradient: &[T]) -> Gradients<T> {
    let (d, samples) = (plan.width, plan.samples());
    let length = gradient.len();
    let node = samples * d;
    let mut adjoint = nodes_first(plan, gradient).into_owned();
    let mut scaled = Buffer::any(plan.depth * length);
    let Saved { states, matrix, .. } = saved;
    let blocks = transposed_blocks(plan.width, &matrix);
    drop(matrix);
    // w K^T times the scaled adjoint at the target, for every edge and sample.
    let mut sent = Buffer::any(plan.edges() * node);
    for layer in (0..plan.depth).rev() {
        let scaled = &mut scaled[layer * length..(layer + 1) * length];
        scaled_adjoint(plan, layer, &states, &adjoint, scaled);
        send(plan, &blocks, inputs.reaction, scaled, &mut sent, &mut adjoint);
        receive(plan, &sent, &mut adjoint);
    }
    let states = &states[..plan.depth * length];
    drop((blocks, sent));
    let blocks = block_gradients(plan, states, &scaled);
    let (features, last_layer) = last_layer::backward(plan, &inputs, &blocks);
    let reaction = reaction_gradient(plan, states, &scaled, inputs.reaction.len());
    [from_nodes_first(plan, &adjoint), features, last_layer, reaction, sum_rows(&scaled, d)]
}

/// First pass of a layer's adjoint, by target: what goes along the edges, and all that stays at the node.
fn send<T: Real>(plan: &Plan, blocks: &[T], reaction: &[T], scaled: &[T], sent: &mut [T], adjoint: &mut [T]) {
    let d = plan.width;
    let node = plan.samples() * d;
    let is_difference = plan.update.carry() != 0.0;
    let block = |row: usize| &blocks[row * d * d..(row + 1) * d * d];
    let by_target = pieces(plan, sent, node);
    by_target.into_iter().zip(adjoint.chunks_mut(node)).enumerate().parallel().for_each_with(
        Vec::new,
        |scratch, (x, (sent, adjoint))| {
            let own = &scaled[x * node..(x + 1) * node];
            keep_own(plan, reaction, x, own, adjoint);
            let first = plan.graph.offsets()[x];
            let mut rows = plan.rows.slots(first..plan.edges()).iter();
            for (e, sent) in sent.chunks_exact_mut(node).enumerate() {
                let edge = first + e;
                for row in plan.rows.rows_of_edge(edge) {
                    rows.next();
                    let product = Product {
                        block: block(row),
                        next: rows.as_slice().first().map(|&row| block(row as usize)),
                        weight: T::of(plan.graph.weights()[edge]),
                        users: plan.users().of(row),
                        states: own,
                        minus: None,
                        sum: is_difference.then_some((&mut *adjoint, -T::ONE)),
                        copy: Some(&mut *sent),
                    };
                    multiply(d, product, scratch);
                }
            }
        },
    );
}

/// What a layer's adjoint keeps at a node itself: the carried part and the reaction's.
pub(super) fn keep_own<T: Real>(plan: &Plan, reaction: &[T], x: usize, scaled: &[T], adjoint: &mut [T]) {
    let d = plan.width;
    let (carry, sign) = (T::of(plan.update.carry()), T::of(plan.update.reaction_sign()));
    let own = Matrix::new(scaled, plan.samples(), d);
    gemm(adjoint, carry, sign, own, Matrix::new(reaction_of(plan, reaction, x), d, d));
}

/// Second pass: every node collects as a source what was sent along its edges.
pub(super) fn receive<T: Real>(plan: &Plan, sent: &[T], adjoint: &mut [T]) {
    let node = plan.samples() * plan.width;
    adjoint.chunks_mut(node).enumerate().parallel().for_each(|(x, adjoint)| {
        vectorised!({
            for &edge in plan.graph.of_source(x) {
                let sent = &sent[edge as usize * node..(edge as usize + 1) * node];
                for (a, &s) in adjoint.iter_mut().zip(sent) {
                    *a += s;
                }
            }
        });
    });
}

/// Derivatives of the blocks: for each block one product over all layers (or products with A) and all samples that
/// use it.
pub(super) fn block_gradients<T: Real>(plan: &Plan, states: &[T], scaled: &[T]) -> Buffer<T> {
    let d = plan.width;
    let node = plan.samples() * d;
    let length = plan.nodes() * node;
    let layers = states.len() / length;
    let is_difference = plan.update.carry() != 0.0;
    let mut blocks = Buffer::any(plan.kernel_rows() * d * d);
    blocks.chunks_mut(d * d).enumerate().parallel().for_each_with(
        || (Vec::new(), Vec::new()),
        |(left, right), (row, block)| {
            let edge = plan.rows.edge_of(row);
            let (x, y) = (plan.graph.targets[edge] as usize, plan.graph.sources()[edge] as usize);
            let users = plan.users().of(row);
            left.clear();
            right.clear();
            for layer in 0..layers {
                let at = |n: usize| layer * length + n * node..layer * length + (n + 1) * node;
                gather(left, users, d, &scaled[at(x)], None);
                gather(right, users, d, &states[at(y)], is_difference.then(|| &states[at(x)]));
            }
            let rows = layers * users.len();
            let weight = T::of(plan.graph.weights()[edge]);
            gemm(block, T::ZERO, weight, Matrix::new(left, rows, d).t(), Matrix::new(right, rows, d));
        },
    );
    blocks
}

/// Derivative of R, per node, or summed over the nodes when they share one matrix.
pub(super) fn reaction_gradient<T: Real>(plan: &Plan, states: &[T], scaled: &[T], reaction_length: usize) -> Vec<T> {
    let (d, samples) = (plan.width, plan.samples());
    let node = samples * d;
    let sign = T::of(plan.update.reaction_sign());
    let mut gradients = vec![T::ZERO; plan.nodes() * d * d];
    gradients.chunks_mut(d * d).enumerate().parallel().for_each(|(x, gradient)| {
        for layer in 0..states.len() / (plan.nodes() * node) {
            let start = (layer * plan.nodes() + x) * node;
            let left = Matrix::new(&scaled[start..start + node], samples, d);
            let right = Matrix::new(&states[start..start + node], samples, d);
            gemm(gradient, T::ONE, sign, left.t(), right);
        }
    });
    by_node_or_shared(plan, gradients, reaction_length)
}
