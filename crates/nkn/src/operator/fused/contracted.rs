//! Features first: K is linear in the kernel network's last hidden layer phi, K_ij = sum_p W_ijp phi_p + b_ij, so
//!
//! sum_y w K (h(y) - h(x)) = W Z + b s  with  Z_jp = sum_y w phi_p (h_j(y) - h_j(x)),  s_j = sum_y w (h_j(y) - h_j(x)),
//!
//! and W is applied once per node and sample instead of once per kernel row. Nodes go through in small groups, so the
//! memory beyond the features does not grow with the number of edges times d².

use super::blocks::{keep_own, reaction_gradient, receive};
use super::streamed::{edges_of, finish_node, weighted_differences};
use super::{Gradients, Inputs, Saved, States, feature_width, from_nodes_first, nodes_first, scaled_adjoint};
use crate::linalg::buffer::Buffer;
use crate::linalg::{Matrix, Real, add_rows, gemm, relu, set_rows, sum_rows, vectorised};
use crate::operator::plan::Plan;
use crate::parallel::Parallel;
use std::ops::Range;

/// (node, sample) pairs whose Z is held at a time by one thread.
const PAIRS: usize = 48;
/// Lanes in which the last layer's derivative is summed: each holds a copy of W.
const LANES: usize = 4;

/// What a layer sees: a plan, the features, how many there are in a row, and a state.
#[derive(Clone, Copy)]
struct Layer<'a, T> {
    plan: &'a Plan,
    features: &'a [T],
    width: usize,
    h: &'a [T],
}

/// Along the edges of a node, for one sample: w (h(y) - h(x)), edges x d, and phi, edges x features.
#[derive(Default)]
struct Along<T> {
    differences: Vec<T>,
    features: Vec<T>,
}

impl<T: Real> Along<T> {
    /// Of number `pair` among nodes from `first` on and their samples: its node, its sample, and the number of edges.
    fn collect(&mut self, seen: Layer<T>, first: usize, pair: usize) -> (usize, usize, usize) {
        let Layer { plan, features, width, h } = seen;
        let (x, sample) = (first + pair / plan.samples(), pair % plan.samples());
        weighted_differences(plan, h, x, sample, &mut self.differences);
        self.features.clear();
        let edges = edges_of(plan, &(x..x + 1));
        for row in edges.clone().map(|edge| plan.rows.row(edge, sample)) {
            self.features.extend_from_slice(&features[row * width..(row + 1) * width]);
        }
        (x, sample, edges.len())
    }
}

/// The contracted features of a group of nodes.
#[derive(Default)]
struct Group<T> {
    /// One row of d x features per pair.
    z: Vec<T>,
    /// One row of d per pair.
    s: Vec<T>,
    along: Along<T>,
}

impl<T: Real> Group<T> {
    /// Z and s of the given nodes.
    fn contract(&mut self, seen: Layer<T>, nodes: &Range<usize>) {
        let Layer { plan, width, .. } = seen;
        let (d, pairs) = (plan.width, nodes.len() * plan.samples());
        self.z.resize(pairs * d * width, T::ZERO);
        self.s.clear();
        self.s.resize(pairs * d, T::ZERO);
        for (pair, (z, s)) in self.z.chunks_exact_mut(d * width).zip(self.s.chunks_exact_mut(d)).enumerate() {
            let (_, _, edges) = self.along.collect(seen, nodes.start, pair);
            let differences = Matrix::new(&self.along.differences, edges, d);
            gemm(z, T::ZERO, T::ONE, differences.t(), Matrix::new(&self.along.features, edges, width));
            add_rows(s, &self.along.differences);
        }
    }
}

pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>, keep: bool) -> (Vec<T>, Saved<T>) {
    let (d, samples) = (plan.width, plan.samples());
    let width = feature_width(plan, &inputs);
    let (weight, bias) = inputs.last_layer.split_at(d * d * width);
    let node = samples * d;
    let mut states = States::new(plan, inputs.initial, keep);
    let group_nodes = (PAIRS / samples.max(1)).max(1);
    for layer in 0..plan.depth {
        let (h, next) = states.step(layer);
        let seen = Layer { plan, features: inputs.features, width, h };
        next.chunks_mut(group_nodes * node).enumerate().parallel().for_each_with(
            Group::default,
            |group, (index, next)| {
                let nodes = index * group_nodes..index * group_nodes + next.len() / node;
                group.contract(seen, &nodes);
                set_rows(next, inputs.source);
                let pairs = nodes.len() * samples;
                let z = Matrix::new(&group.z, pairs, d * width);
                gemm(next, T::ONE, T::ONE, z, Matrix::new(weight, d, d * width).t());
                let s = Matrix::new(&group.s, pairs, d);
                gemm(next, T::ONE, T::ONE, s, Matrix::new(bias, d, d).t());
                for (x, next) in nodes.zip(next.chunks_exact_mut(node)) {
                    finish_node(plan, inputs.reaction, x, &h[x * node..(x + 1) * node], next);
                }
                if plan.update.activates(layer, plan.depth) {
                    relu(next);
                }
            },
        );
    }
    let (result, states) = states.finish(plan);
    (result, Saved::new(states, Buffer::any(0)))
}

pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: Saved<T>, gradient: &[T]) -> Gradients<T> {
    let (d, samples, width) = (plan.width, plan.samples(), feature_width(plan, &inputs));
    let length = gradient.len();
    let mut adjoint = nodes_first(plan, gradient).into_owned();
    let mut scaled = Buffer::any(plan.depth * length);
    let mut sent = Buffer::any(plan.edges() * samples * d);
    // Edge by edge, so that the targets of a lane own a piece; brought into the rows' own order at the end.
    let mut by_edge = vec![T::ZERO; inputs.features.len()];
    let mut last_layer = vec![T::ZERO; inputs.last_layer.len()];
    for layer in (0..plan.depth).rev() {
        let scaled = &mut scaled[layer * length..(layer + 1) * length];
        scaled_adjoint(plan, layer, &saved.states, &adjoint, scaled);
        let h = &saved.states[layer * length..(layer + 1) * length];
        let seen = Layer { plan, features: inputs.features, width, h };
        layer_backward(seen, inputs.last_layer, scaled, &mut sent, &mut by_edge, &mut last_layer);
        keep_at_targets(plan, inputs.reaction, scaled, &sent, &mut adjoint);
        receive(plan, &sent, &mut adjoint);
    }
    drop(sent);
    let mut features = by_edge;
    permute_rows(&mut features, width, plan.rows.slots(0..plan.edges()));
    let states = &saved.states[..plan.depth * length];
    let reaction = reaction_gradient(plan, states, &scaled, inputs.reaction.len());
    [from_nodes_first(plan, &adjoint), features, last_layer, reaction, sum_rows(&scaled, d)]
}

/// Brings row s to place `places[s]`, for all rows at once and where they lie: a second array would be the largest of a step.
fn permute_rows<T: Real>(values: &mut [T], width: usize, places: &[u32]) {
    let mut is_done = vec![false; places.len()];
    let mut carried = vec![T::ZERO; width];
    for start in 0..places.len() {
        let mut place = start;
        if !is_done[start] {
            carried.copy_from_slice(&values[start * width..(start + 1) * width]);
        }
        while !is_done[place] {
            is_done[place] = true;
            place = places[place] as usize;
            carried.swap_with_slice(&mut values[place * width..(place + 1) * width]);
        }
    }
}

/// What stays at the nodes: the carried part, the reaction's, and, through the differences, what was sent.
fn keep_at_targets<T: Real>(plan: &Plan, reaction: &[T], scaled: &[T], sent: &[T], adjoint: &mut [T]) {
    let node = plan.samples() * plan.width;
    let is_difference = plan.update.carry() != 0.0;
    adjoint.chunks_mut(node).enumerate().parallel().for_each(|(x, adjoint)| {
        keep_own(plan, reaction, x, &scaled[x * node..(x + 1) * node], adjoint);
        if is_difference {
            let edges = edges_of(plan, &(x..x + 1));
            vectorised!({
                for sent in sent[edges.start * node..edges.end * node].chunks_exact(node) {
                    for (a, &s) in adjoint.iter_mut().zip(sent) {
                        *a -= s;
                    }
                }
            });
        }
    });
}

/// One layer's products: what is sent along the edges, and the shares of features and last layer.
fn layer_backward<T: Real>(
    seen: Layer<T>,
    last_layer: &[T],
    scaled: &[T],
    mut sent: &mut [T],
    mut features: &mut [T],
    last_layer_gradient: &mut [T],
) {
    let Layer { plan, width, .. } = seen;
    let d = plan.width;
    let node = plan.samples() * d;
    let (weight, bias) = last_layer.split_at(d * d * width);
    // Edges are numbered target by target, so a lane of targets owns a piece of each array.
    let mut lanes = Vec::new();
    let lane_nodes = plan.nodes().div_ceil(LANES).max(1);
    for start in (0..plan.nodes()).step_by(lane_nodes) {
        let targets = start..plan.nodes().min(start + lane_nodes);
        let edges = edges_of(plan, &targets);
        let rows = plan.rows.slots(edges.clone());
        let (own_sent, rest) = sent.split_at_mut(edges.len() * node);
        sent = rest;
        let (own_features, rest) = features.split_at_mut(rows.len() * width);
        features = rest;
        lanes.push((targets, edges.start, own_sent, own_features));
    }
    let sums: Vec<Vec<T>> = lanes.into_iter().parallel().map(|(targets, first_edge, sent, features)| {
        let first_slot = plan.rows.slots(0..first_edge).len();
        let mut sum = vec![T::ZERO; last_layer.len()];
        let mut group = Group::default();
        let (mut z_gradient, mut s_gradient) = (Vec::new(), Vec::new());
        let group_nodes = (PAIRS / plan.samples().max(1)).max(1);
        for start in targets.clone().step_by(group_nodes) {
            let nodes = start..targets.end.min(start + group_nodes);
            group.contract(seen, &nodes);
            let pairs = nodes.len() * plan.samples();
            let own = Matrix::new(&scaled[nodes.start * node..nodes.end * node], pairs, d);
            let (weight_sum, bias_sum) = sum.split_at_mut(d * d * width);
            gemm(weight_sum, T::ONE, T::ONE, own.t(), Matrix::new(&group.z, pairs, d * width));
            gemm(bias_sum, T::ONE, T::ONE, own.t(), Matrix::new(&group.s, pairs, d));
            z_gradient.resize(pairs * d * width, T::ZERO);
            gemm(&mut z_gradient, T::ZERO, T::ONE, own, Matrix::new(weight, d, d * width));
            s_gradient.resize(pairs * d, T::ZERO);
            gemm(&mut s_gradient, T::ZERO, T::ONE, own, Matrix::new(bias, d, d));
            let Group { z: shares, s: back, along } = &mut group;
            for pair in 0..pairs {
                let (x, sample, edges) = along.collect(seen, nodes.start, pair);
                let z = Matrix::new(&z_gradient[pair * d * width..(pair + 1) * d * width], d, width);
                // Share of the features: differences (edges x d) times dZ (d x features).
                shares.resize(edges * width, T::ZERO);
                gemm(shares, T::ZERO, T::ONE, Matrix::new(&along.differences, edges, d), z);
                // Sent along each edge: w (dZ phi + ds).
                back.resize(edges * d, T::ZERO);
                set_rows(back, &s_gradient[pair * d..(pair + 1) * d]);
                gemm(back, T::ONE, T::ONE, Matrix::new(&along.features, edges, width), z.t());
                let first = plan.graph.offsets()[x];
                for (edge, (share, back)) in shares.chunks_exact(width).zip(back.chunks_exact(d)).enumerate() {
                    let row = plan.rows.slot(first + edge, sample) - first_slot;
                    add_rows(&mut features[row * width..(row + 1) * width], share);
                    let weight = T::of(plan.graph.weights()[first + edge]);
                    let to = (first + edge - first_edge) * node + sample * d;
                    for (s, &b) in sent[to..to + d].iter_mut().zip(back) {
                        *s = weight * b;
                    }
                }
            }
        }
        sum
    });
    sums.iter().for_each(|sum| add_rows(last_layer_gradient, sum));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_row_finds_its_place(places in Just((0u32..9).collect::<Vec<u32>>()).prop_shuffle()) {
            let mut values: Vec<f64> = (0..18).map(f64::from).collect();
            permute_rows(&mut values, 2, &places);
            for (from, &to) in places.iter().enumerate() {
                let row = &values[2 * to as usize..][..2];
                prop_assert_eq!(row, [2.0 * from as f64, 2.0 * from as f64 + 1.0]);
            }
        }
    }
}
