//! One A for all samples, by blocks: each node adds up its neighbours' blocks times the states of the whole batch.
//!
//! What a layer multiplies with, carry + step A, is formed once: `step w K` on the edges, everything that acts on h(x) itself on
//! the diagonal. States are nodes x samples x d. The adjoint is the same sum with transposed blocks, taken by source; the
//! derivative of a block is one product over all layers and samples.

use super::last_layer::{self, Layout};
use super::{Gradients, Inputs, Saved, States, by_node_or_shared, from_nodes_first, nodes_first, reaction_of};
use crate::linalg::buffer::Buffer;
use crate::linalg::gathered::{ByTwo, Sizes, Term, gather};
use crate::linalg::outer::{Pair, Triple, outer, outer_three};
use crate::linalg::{Real, copy_into, mask, relu, set_rows, sum_rows, transposed_blocks, vectorised};
use crate::operator::plan::Plan;
use rayon::prelude::*;

/// The blocks K (one per edge) become `step w K`.
fn scale_blocks<T: Real>(plan: &Plan, blocks: &mut [T]) {
    let step = plan.update.step();
    blocks.par_chunks_mut(plan.width * plan.width).zip(plan.graph.weights()).for_each(|(block, &weight)| {
        let factor = T::of(step * weight);
        vectorised!(block.iter_mut().for_each(|value| *value = factor * *value));
    });
}

/// The diagonal blocks of carry + step A, from the scaled blocks of the edges.
fn diagonal<T: Real>(plan: &Plan, blocks: &[T], reaction: &[T], layout: Layout) -> Buffer<T> {
    let d = plan.width;
    let carry = T::of(plan.update.carry());
    let factor = T::of(plan.update.step() * plan.update.reaction_sign());
    let mut result = Buffer::any(plan.nodes() * d * d);
    result.par_chunks_mut(d * d).enumerate().for_each(|(x, own)| {
        let reaction = reaction_of(plan, reaction, x);
        for (entry, &reaction) in reaction.iter().enumerate() {
            let identity = if entry / d == entry % d { carry } else { T::ZERO };
            own[layout.place(entry, d)] = identity + factor * reaction;
        }
        if carry == T::ZERO {
            return;
        }
        let edges = plan.graph.offsets()[x]..plan.graph.offsets()[x + 1];
        vectorised!({
            for block in blocks[edges.start * d * d..edges.end * d * d].chunks_exact(d * d) {
                for (o, &b) in own.iter_mut().zip(block) {
                    *o -= carry * b;
                }
            }
        });
    });
    result
}

fn sizes(plan: &Plan) -> Sizes {
    Sizes { samples: plan.samples(), rows: plan.width, columns: plan.width }
}

/// The sums of all nodes, two nodes at a time: `start` at every sample, the node's own block, and the terms of its edges, which come sorted by their states.
fn by_two<T: Real>(
    plan: &Plan,
    states: &[T],
    (diagonal, blocks): (&[T], &[T]),
    result: &mut [T],
    start: &[T],
    terms: impl Fn(usize, &mut Vec<Term>) + Sync,
) {
    let d = plan.width;
    let node = plan.samples() * d;
    let sizes = sizes(plan);
    result.par_chunks_mut(2 * node).enumerate().for_each_init(ByTwo::default, |by_two, (pair, result)| {
        let x = 2 * pair;
        set_rows(result, start);
        for (offset, result) in result.chunks_exact_mut(node).enumerate() {
            let own = Term { states: (x + offset) * node, block: (x + offset) * d * d };
            gather(sizes, &[own], states, diagonal, result);
        }
        by_two.gather(sizes, states, blocks, result, |offset, list| terms(x + offset, list));
    });
}

pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>, keep: bool) -> (Vec<T>, Saved<T>) {
    let d = plan.width;
    let node = plan.samples() * d;
    let mut blocks = last_layer::forward(plan, &inputs, Layout::Columns);
    scale_blocks(plan, &mut blocks);
    let diagonal = diagonal(plan, &blocks, inputs.reaction, Layout::Columns);
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
        by_two(plan, h, (&diagonal, &blocks), next, &source, terms);
        if plan.update.activates(layer, plan.depth) {
            next.par_chunks_mut(node).for_each(relu);
        }
    }
    let (result, states) = states.finish(plan);
    (result, Saved { states, matrix: blocks })
}

pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: Saved<T>, gradient: &[T]) -> Gradients<T> {
    let d = plan.width;
    let node = plan.samples() * d;
    let length = gradient.len();
    let Saved { states, matrix } = saved;
    let blocks = transposed_blocks(d, &matrix);
    drop(matrix);
    let diagonal = diagonal(plan, &blocks, inputs.reaction, Layout::Rows);
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
        by_two(plan, own, (&diagonal, &blocks), below, &vec![T::ZERO; d], terms);
    }
    drop((blocks, diagonal));
    let states = &states[..plan.depth * length];
    let scaled = &adjoints[length..];
    let (blocks, reaction) = block_gradients(plan, states, scaled, inputs.reaction.len());
    let (features, last_layer) = last_layer::backward(plan, &inputs, &blocks);
    let mut source = sum_rows(scaled, d);
    let step = T::of(plan.update.step());
    source.iter_mut().for_each(|value| *value = step * *value);
    [from_nodes_first(plan, &adjoints[..length]), features, last_layer, reaction, source]
}

/// Derivatives of the kernel's blocks and of R.
fn block_gradients<T: Real>(plan: &Plan, states: &[T], scaled: &[T], reaction_length: usize) -> (Buffer<T>, Vec<T>) {
    let size = plan.width * plan.width;
    let node = plan.samples() * plan.width;
    let length = plan.nodes() * node;
    let step = plan.update.step();
    let difference = T::of(plan.update.carry());
    let sign = T::of(step * plan.update.reaction_sign());
    let place = |layer: usize, node_number: usize| layer * length + node_number * node;
    let mut blocks = Buffer::any(plan.edges() * size);
    let mut reaction = vec![T::ZERO; plan.nodes() * size];
    let by_target = super::pieces(plan, &mut blocks, size);
    by_target.into_par_iter().zip(reaction.par_chunks_mut(size)).enumerate().for_each_init(
        || (Vec::new(), Vec::new()),
        |(pairs, triples), (x, (blocks, own))| {
            let pair = |layer, y| Pair { left: place(layer, x), right: place(layer, y) };
            pairs.clear();
            pairs.extend((0..plan.depth).map(|layer| pair(layer, x)));
            outer(sizes(plan), pairs, scaled, states, own);
            blocks.fill(T::ZERO);
            let edges: Vec<(usize, f64)> = plan.graph.row(x).collect();
            for (blocks, edges) in blocks.chunks_mut(3 * size).zip(edges.chunks(3)) {
                if let [(a, _), (b, _), (c, _)] = *edges {
                    triples.clear();
                    let right = |layer| [a, b, c].map(|y| place(layer, y));
                    triples.extend((0..plan.depth).map(|layer| Triple { left: place(layer, x), right: right(layer) }));
                    outer_three(sizes(plan), triples, scaled, states, blocks);
                } else {
                    for (block, &(y, _)) in blocks.chunks_exact_mut(size).zip(edges) {
                        pairs.clear();
                        pairs.extend((0..plan.depth).map(|layer| pair(layer, y)));
                        outer(sizes(plan), pairs, scaled, states, block);
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
        },
    );
    (blocks, by_node_or_shared(plan, reaction, reaction_length))
}
