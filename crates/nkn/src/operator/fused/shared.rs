//! One A for all samples, by blocks: each node adds up its neighbours' blocks times the states of the whole batch.
//!
//! What a layer multiplies with, carry + step A, is formed once: `step w K` on the edges, everything that acts on h(x) itself on
//! the diagonal. States are nodes x samples x d. The adjoint is the same sum with transposed blocks, taken by source; the
//! derivative of a block is one product over all layers and samples. Blocks are many: what is done to them is done while they are
//! in the cache, and their derivatives go into those of the kernel network some nodes at a time, without being kept. With a single
//! layer a block is used once on the way there and once on the way back: it is made where it is used, and made again for the
//! adjoint, which is cheaper than writing it to main memory, transposing and reading it.

use super::last_layer::{self, LastLayer, Layout};
use super::{Gradients, Inputs, Saved, States, by_node_or_shared, from_nodes_first, nodes_first, reaction_of};
use crate::linalg::buffer::Buffer;
use crate::linalg::gathered::{ByTwo, Sizes, Term, gather};
use crate::linalg::outer::{Pair, Triple, outer, outer_three};
use crate::linalg::{Real, copy_into, mask, relu, set_rows, sum_rows, transpose_blocks, transposed_blocks, vectorised};
use crate::operator::plan::Plan;
use crate::parallel::Parallel;
use std::ops::Range;

/// How many nodes a thread takes at a time, in pairs: if it makes their blocks, as many as stay in the cache.
fn nodes_together(plan: &Plan) -> usize {
    if plan.makes_blocks_in_passing() { last_layer::nodes_together(plan).next_multiple_of(2) } else { 2 }
}

/// The blocks K of these edges become `step w K`.
fn scale_blocks<T: Real>(plan: &Plan, edges: impl Iterator<Item = usize>, blocks: &mut [T]) {
    let step = plan.update.step();
    let weights = plan.graph.weights();
    vectorised!({
        for (block, edge) in blocks.chunks_exact_mut(plan.width * plan.width).zip(edges) {
            let factor = T::of(step * weights[edge]);
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

/// The sums of some nodes from x on, two at a time: `start` at every sample, the node's own block, and the terms of its edges, which come
/// sorted by their states.
fn sums<T: Real>(
    plan: &Plan,
    (by_two, x): (&mut ByTwo, usize),
    states: &[T],
    (diagonal, blocks): (&[T], &[T]),
    result: &mut [T],
    start: &[T],
    terms: impl Fn(usize, &mut Vec<Term>),
) {
    let size = plan.width * plan.width;
    let node = plan.samples() * plan.width;
    let pairs = result.chunks_mut(2 * node).zip(diagonal.chunks(2 * size));
    for (x, (result, diagonal)) in (x..).step_by(2).zip(pairs) {
        set_rows(result, start);
        for (offset, result) in result.chunks_exact_mut(node).enumerate() {
            let own = Term { states: (x + offset) * node, block: offset * size };
            gather(sizes(plan), &[own], states, diagonal, result);
        }
        by_two.gather(sizes(plan), states, blocks, result, |offset, list| terms(x + offset, list));
    }
}

pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>, keep: bool) -> (Vec<T>, Saved<T>) {
    let size = plan.width * plan.width;
    let node = plan.samples() * plan.width;
    let offsets = plan.graph.offsets();
    let scale = |first: usize, blocks: &mut [T]| scale_blocks(plan, first.., blocks);
    let last_layer = plan.makes_blocks_in_passing().then(|| LastLayer::new(plan, &inputs, Layout::Columns));
    let kept = match &last_layer {
        Some(_) => Buffer::any(0),
        None => last_layer::forward(plan, &inputs, Layout::Columns, scale),
    };
    let make = |last_layer: &LastLayer<T>, edges: &Range<usize>| {
        let mut blocks = Buffer::any(edges.len() * size);
        last_layer.apply(edges.clone(), inputs.features, &mut blocks);
        scale(edges.start, &mut blocks);
        blocks
    };
    let mut own = Buffer::any(plan.nodes() * size);
    let step = T::of(plan.update.step());
    let source: Vec<T> = inputs.source.iter().map(|&c| step * c).collect();
    let mut states = States::new(plan, inputs.initial, keep);
    let together = nodes_together(plan);
    for layer in 0..plan.depth {
        let (h, next) = states.step(layer);
        let parts = next.chunks_mut(together * node).zip(own.chunks_mut(together * size)).enumerate();
        parts.parallel().for_each_with(ByTwo::default, |by_two, (part, (result, own))| {
            let first = part * together;
            let edges = offsets[first]..offsets[first + own.len() / size];
            let made = last_layer.as_ref().map(|last_layer| make(last_layer, &edges));
            let blocks = made.as_deref().unwrap_or_else(|| &kept[edges.start * size..edges.end * size]);
            let begin = |x: usize| offsets[x] - edges.start;
            if layer == 0 {
                for (x, own) in (first..).zip(own.chunks_exact_mut(size)) {
                    let blocks = &blocks[begin(x) * size..begin(x + 1) * size];
                    diagonal(plan, x, blocks, inputs.reaction, Layout::Columns, own);
                }
            }
            let terms = |x: usize, terms: &mut Vec<Term>| {
                let sources = plan.graph.row(x).zip(begin(x)..);
                terms.extend(sources.map(|((y, _), block)| Term { states: y * node, block: block * size }));
            };
            sums(plan, (by_two, first), h, (own, blocks), result, &source, terms);
        });
        if plan.update.activates(layer, plan.depth) {
            next.chunks_mut(node).parallel().for_each(relu);
        }
    }
    let (result, states) = states.finish(plan);
    // Blocks that are made again need not be kept, but sums over them.
    (result, Saved::new(states, if last_layer.is_some() { own } else { kept }))
}

pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: Saved<T>, gradient: &[T]) -> Gradients<T> {
    let d = plan.width;
    let (node, size) = (plan.samples() * d, d * d);
    let length = gradient.len();
    let Saved { states, matrix, .. } = saved;
    let last_layer = plan.makes_blocks_in_passing().then(|| LastLayer::new(plan, &inputs, Layout::Rows));
    let (kept, diagonal) = match &last_layer {
        Some(_) => (Buffer::any(0), transposed_blocks(d, &matrix)),
        None => transposed(plan, &matrix, inputs.reaction),
    };
    drop(matrix);
    let make = |last_layer: &LastLayer<T>, nodes: Range<usize>| {
        let edges = plan.graph.of_sources(nodes);
        let numbers = edges.iter().map(|&edge| edge as usize);
        let mut blocks = Buffer::any(edges.len() * size);
        last_layer.apply(numbers.clone(), inputs.features, &mut blocks);
        scale_blocks(plan, numbers, &mut blocks);
        blocks
    };
    let together = nodes_together(plan);
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
        let start = vec![T::ZERO; d];
        let parts = below.chunks_mut(together * node).zip(diagonal.chunks(together * size)).enumerate();
        parts.parallel().for_each_with(ByTwo::default, |by_two, (part, (result, diagonal))| {
            let first = part * together;
            let made = last_layer.as_ref().map(|last_layer| make(last_layer, first..first + diagonal.len() / size));
            let blocks = made.as_deref().unwrap_or(&kept);
            let terms = |y: usize, terms: &mut Vec<Term>| {
                let numbers = plan.graph.of_sources(first..y).len()..;
                terms.extend(plan.graph.of_source(y).iter().zip(numbers).map(|(&edge, number)| {
                    let block = if made.is_some() { number } else { edge as usize };
                    Term { states: plan.graph.targets[edge as usize] as usize * node, block: block * size }
                }));
            };
            sums(plan, (by_two, first), own, (diagonal, blocks), result, &start, terms);
        });
    }
    drop((kept, diagonal));
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
