//! One A for all samples, by blocks: each node adds up its neighbours' blocks times the states of the whole batch.
//!
//! What a layer multiplies with, carry + step A, is formed once: `step w K` on the edges, everything that acts on h(x) itself on
//! the diagonal. States are nodes x samples x d. The adjoint is the same sum with transposed blocks, taken by source; the
//! derivative of a block is one product over all layers and samples. Blocks are many: what is done to them is done while they are
//! in the cache, and their derivatives go into those of the kernel network some nodes at a time, without being kept.

use super::last_layer::{self, Layout};
use super::{Gradients, Inputs, Saved, States, by_node_or_shared, from_nodes_first, nodes_first, reaction_of};
use crate::linalg::buffer::Buffer;
use crate::linalg::gathered::{ByTwo, Sizes, Term, gather};
use crate::linalg::outer::{Pair, Triple, outer, outer_three};
use crate::linalg::{Real, copy_into, mask, relu, set_rows, sum_rows, transpose_blocks, vectorised};
use crate::operator::plan::Plan;
use crate::parallel::Parallel;

/// Some blocks K (one per edge), from this edge on, become `step w K`.
fn scale_blocks<T: Real>(plan: &Plan, first: usize, blocks: &mut [T]) {
    let step = plan.update.step();
    let weights = &plan.graph.weights()[first..];
    vectorised!({
        for (block, &weight) in blocks.chunks_exact_mut(plan.width * plan.width).zip(weights) {
            let factor = T::of(step * weight);
            block.iter_mut().for_each(|value| *value = factor * *value);
        }
    });
}

/// The diagonal block of carry + step A at a node, from the scaled blocks of its edges.
fn diagonal<T: Real>(plan: &Plan, x: usize, blocks: &[T], reaction: &[T], layout: Layout, own: &mut [T]) {
    let d = plan.width;
    let carry = T::of(plan.update.carry());
    let factor = T::of(plan.update.step() * plan.update.reaction_sign());
    for (entry, &reaction) in reaction_of(plan, reaction, x).iter().enumerate() {
        let identity = if entry / d == entry % d { carry } else { T::ZERO };
        own[layout.place(entry, d)] = identity + factor * reaction;
    }
    if carry == T::ZERO {
        return;
    }
    vectorised!({
        for block in blocks.chunks_exact(d * d) {
            for (o, &b) in own.iter_mut().zip(block) {
                *o -= carry * b;
            }
        }
    });
}

/// The blocks transposed, and the diagonal ones with them while they are in the cache.
fn transposed<T: Real>(plan: &Plan, blocks: &[T], reaction: &[T]) -> (Buffer<T>, Buffer<T>) {
    let size = plan.width * plan.width;
    let (mut result, mut own) = (Buffer::any(blocks.len()), Buffer::any(plan.nodes() * size));
    let by_target = super::pieces(plan, &mut result, size);
    by_target.into_iter().zip(own.chunks_mut(size)).enumerate().parallel().for_each(|(x, (result, own))| {
        let first = plan.graph.offsets()[x] * size;
        transpose_blocks(plan.width, &blocks[first..first + result.len()], result);
        diagonal(plan, x, result, reaction, Layout::Rows, own);
    });
    (result, own)
}

fn sizes(plan: &Plan) -> Sizes {
    Sizes { samples: plan.samples(), rows: plan.width, columns: plan.width }
}

/// The sums of all nodes, two nodes at a time: `start` at every sample, the node's own block, which `prepare` may make before, and the terms of its edges,
/// which come sorted by their states.
fn by_two<T: Real>(
    plan: &Plan,
    states: &[T],
    (diagonal, blocks): (&mut [T], &[T]),
    result: &mut [T],
    start: &[T],
    prepare: impl Fn(usize, &mut [T]) + Sync,
    terms: impl Fn(usize, &mut Vec<Term>) + Sync,
) {
    let d = plan.width;
    let node = plan.samples() * d;
    let sizes = sizes(plan);
    let pairs = result.chunks_mut(2 * node).zip(diagonal.chunks_mut(2 * d * d)).enumerate();
    pairs.parallel().for_each_with(ByTwo::default, |by_two, (pair, (result, diagonal))| {
        let x = 2 * pair;
        set_rows(result, start);
        let nodes = result.chunks_exact_mut(node).zip(diagonal.chunks_exact_mut(d * d));
        for (offset, (result, diagonal)) in nodes.enumerate() {
            prepare(x + offset, diagonal);
            let own = Term { states: (x + offset) * node, block: 0 };
            gather(sizes, &[own], states, diagonal, result);
        }
        by_two.gather(sizes, states, blocks, result, |offset, list| terms(x + offset, list));
    });
}

pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>, keep: bool) -> (Vec<T>, Saved<T>) {
    let d = plan.width;
    let node = plan.samples() * d;
    let scale = |first: usize, blocks: &mut [T]| scale_blocks(plan, first, blocks);
    let blocks = last_layer::forward(plan, &inputs, Layout::Columns, scale);
    let mut own = Buffer::any(plan.nodes() * d * d);
    let step = T::of(plan.update.step());
    let source: Vec<T> = inputs.source.iter().map(|&c| step * c).collect();
    let mut states = States::new(plan, inputs.initial, keep);
    for layer in 0..plan.depth {
        let (h, next) = states.step(layer);
        let terms = |x: usize, terms: &mut Vec<Term>| {
            let first = plan.graph.offsets()[x];
            let edges = plan.graph.row(x).enumerate();
            terms.extend(edges.map(|(e, (y, _))| Term { states: y * node, block: (first + e) * d * d }));
        };
        let prepare = |x: usize, own: &mut [T]| {
            if layer == 0 {
                let edges = plan.graph.offsets()[x] * d * d..plan.graph.offsets()[x + 1] * d * d;
                diagonal(plan, x, &blocks[edges], inputs.reaction, Layout::Columns, own);
            }
        };
        by_two(plan, h, (&mut own, &blocks), next, &source, prepare, terms);
        if plan.update.activates(layer, plan.depth) {
            next.chunks_mut(node).parallel().for_each(relu);
        }
    }
    let (result, states) = states.finish(plan);
    (result, Saved::new(states, blocks))
}

pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: Saved<T>, gradient: &[T]) -> Gradients<T> {
    let d = plan.width;
    let node = plan.samples() * d;
    let length = gradient.len();
    let Saved { states, matrix, .. } = saved;
    let (blocks, mut diagonal) = transposed(plan, &matrix, inputs.reaction);
    drop(matrix);
    // The adjoint after each layer, where the activation lets it pass; the first is that of the initial state.
    let mut adjoints = Buffer::any((plan.depth + 1) * length);
    copy_into(&mut adjoints[plan.depth * length..], &nodes_first(plan, gradient));
    for layer in (0..plan.depth).rev() {
        let (before, after) = adjoints.split_at_mut((layer + 1) * length);
        let (below, own) = (&mut before[layer * length..], &mut after[..length]);
        if plan.update.activates(layer, plan.depth) {
            mask(own, &states[(layer + 1) * length..(layer + 2) * length]);
        }
        let own = &*own;
        let terms = |y: usize, terms: &mut Vec<Term>| {
            terms.extend(plan.graph.of_source(y).iter().map(|&edge| Term {
                states: plan.graph.targets[edge as usize] as usize * node,
                block: edge as usize * d * d,
            }));
        };
        by_two(plan, own, (&mut diagonal, &blocks), below, &vec![T::ZERO; d], |_, _| (), terms);
    }
    drop((blocks, diagonal));
    let states = &states[..plan.depth * length];
    let scaled = &adjoints[length..];
    let (features, last_layer, reaction) = kernel_gradients(plan, &inputs, states, scaled);
    let mut source = sum_rows(scaled, d);
    let step = T::of(plan.update.step());
    source.iter_mut().for_each(|value| *value = step * *value);
    [from_nodes_first(plan, &adjoints[..length]), features, last_layer, reaction, source]
}

/// Derivatives of the features, of the last layer and of R.
fn kernel_gradients<T: Real>(plan: &Plan, inputs: &Inputs<T>, states: &[T], scaled: &[T]) -> (Vec<T>, Vec<T>, Vec<T>) {
    let size = plan.width * plan.width;
    let mut reaction = vec![T::ZERO; plan.nodes() * size];
    let gradients = BlockGradients { plan, states, scaled };
    // Scalars, and blocks that come finished, have no last layer to feed some nodes at a time.
    let (features, last_layer) = if size == 1 || inputs.last_layer.is_empty() {
        let mut blocks = Buffer::any(plan.edges() * size);
        let by_target = super::pieces(plan, &mut blocks, size);
        let nodes = by_target.into_iter().zip(reaction.chunks_mut(size)).enumerate();
        nodes.parallel().for_each(|(x, (blocks, own))| gradients.of_node(x, blocks, own));
        last_layer::backward(plan, inputs, &blocks)
    } else {
        last_layer::backward_by_nodes(plan, inputs, (&mut reaction, size), |nodes, mut blocks, reaction| {
            for (x, own) in nodes.zip(reaction.chunks_exact_mut(size)) {
                let edges = plan.graph.offsets()[x + 1] - plan.graph.offsets()[x];
                gradients.of_node(x, blocks.split_off_mut(..edges * size).expect("as long as the edges"), own);
            }
        })
    };
    (features, last_layer, by_node_or_shared(plan, reaction, inputs.reaction.len()))
}

/// What the derivatives of blocks are made of: the states before each layer and the adjoints after it.
struct BlockGradients<'a, T> {
    plan: &'a Plan,
    states: &'a [T],
    scaled: &'a [T],
}

impl<T: Real> BlockGradients<'_, T> {
    /// Derivatives of the blocks of a node's edges, and of its R.
    fn of_node(&self, x: usize, blocks: &mut [T], own: &mut [T]) {
        let Self { plan, states, scaled } = *self;
        let size = plan.width * plan.width;
        let node = plan.samples() * plan.width;
        let step = plan.update.step();
        let difference = T::of(plan.update.carry());
        let sign = T::of(step * plan.update.reaction_sign());
        let place = |layer: usize, number: usize| layer * plan.nodes() * node + number * node;
        let pairs = |y| -> Vec<Pair> {
            (0..plan.depth).map(|layer| Pair { left: place(layer, x), right: place(layer, y) }).collect()
        };
        outer(sizes(plan), &pairs(x), scaled, states, own);
        blocks.fill(T::ZERO);
        let edges: Vec<(usize, f64)> = plan.graph.row(x).collect();
        for (blocks, edges) in blocks.chunks_mut(3 * size).zip(edges.chunks(3)) {
            if let [(a, _), (b, _), (c, _)] = *edges {
                let right = |layer| [a, b, c].map(|y| place(layer, y));
                let triple = |layer| Triple { left: place(layer, x), right: right(layer) };
                let triples: Vec<Triple> = (0..plan.depth).map(triple).collect();
                outer_three(sizes(plan), &triples, scaled, states, blocks);
            } else {
                for (block, &(y, _)) in blocks.chunks_exact_mut(size).zip(edges) {
                    outer(sizes(plan), &pairs(y), scaled, states, block);
                }
            }
            for (block, (_, weight)) in blocks.chunks_exact_mut(size).zip(edges) {
                let factor = T::of(step * weight);
                vectorised!({
                    for (b, &o) in block.iter_mut().zip(&*own) {
                        *b = factor * (*b - difference * o);
                    }
                });
            }
        }
        own.iter_mut().for_each(|value| *value = sign * *value);
    }
}
