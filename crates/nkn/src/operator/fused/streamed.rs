//! Prediction features first, for kernels that are too many to be formed: K is linear in the kernel network's last hidden layer phi,
//! K_ij = sum_p W_ijp phi_p + b_ij, so
//!
//! sum_y w K (h(y) - h(x)) = W Z + b s  with  Z_pj = sum_y w phi_p (h_j(y) - h_j(x)),  s_j = sum_y w (h_j(y) - h_j(x)),
//!
//! and W is applied once per node and sample instead of once per kernel row. Nodes go through in groups. The features of a
//! group are evaluated for the group alone, without the units that are off on all of it; they are kept as long as the memory budget
//! lasts, and evaluated again in every layer beyond that.

use super::last_layer::{Layout, transposed};
use super::{States, reaction_of};
use crate::kernel::{Active, MlpShape, evaluate};
use crate::linalg::buffer::Buffer;
use crate::linalg::{Matrix, Real, gemm, relu, vectorised};
use crate::operator::plan::Plan;
use rayon::prelude::*;
use std::ops::Range;

/// (node, sample) pairs of a group: enough to make up for gathering W.
const PAIRS: usize = 192;
/// Kernel rows of a group: what a thread evaluates at a time.
const ROWS: usize = 16384;

/// What a prediction works on.
#[derive(Clone, Copy)]
pub struct Inputs<'a, T> {
    /// samples x nodes x d.
    pub initial: &'a [T],
    /// The kernel network without its last layer.
    pub hidden: &'a MlpShape,
    /// All parameters of the kernel network, those of the last layer at the end.
    pub kernel: &'a [T],
    /// What the kernel network sees, one row per kernel row.
    pub kernel_inputs: &'a [T],
    /// nodes x d², or d² when all nodes share one matrix.
    pub reaction: &'a [T],
    /// d.
    pub source: &'a [T],
    /// Memory for features, in bytes.
    pub budget: f64,
}

/// The features of a group's kernel rows, edge by edge: the active columns, and a last one of ones that stands for the bias.
struct Features<T: Real> {
    active: Active,
    values: Buffer<T>,
}

impl<T: Real> Features<T> {
    fn new(plan: &Plan, inputs: &Inputs<T>, nodes: &Range<usize>) -> Self {
        let rows = plan.rows.slots(edges_of(plan, nodes));
        let width = inputs.hidden.inputs();
        let mut seen = Buffer::any(rows.len() * width);
        for (to, &row) in seen.chunks_exact_mut(width).zip(rows) {
            to.copy_from_slice(&inputs.kernel_inputs[row as usize * width..(row as usize + 1) * width]);
        }
        let all = evaluate(inputs.hidden, &seen, &inputs.kernel[..inputs.hidden.parameters()]);
        let width = inputs.hidden.outputs();
        let active = Active::of(&all, width);
        let columns = active.len() + 1;
        let mut values = Buffer::any(rows.len() * columns);
        for (to, from) in values.chunks_exact_mut(columns).zip(all.chunks_exact(width)) {
            active.pick(from, to);
            to[columns - 1] = T::ONE;
        }
        Self { active, values }
    }

    fn columns(&self) -> usize {
        self.active.len() + 1
    }
}

pub(super) fn edges_of(plan: &Plan, nodes: &Range<usize>) -> Range<usize> {
    plan.graph.offsets()[nodes.start]..plan.graph.offsets()[nodes.end]
}

/// Nodes cut into groups.
fn groups(plan: &Plan) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut start = 0;
    for node in 0..plan.nodes() {
        let rows = plan.rows.slots(edges_of(plan, &(start..node + 1))).len();
        if node > start && ((node + 1 - start) * plan.samples() > PAIRS || rows > ROWS) {
            groups.push(start..node);
            start = node;
        }
    }
    groups.push(start..plan.nodes());
    groups
}

/// The state after the last layer, samples x nodes x d.
pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>) -> Vec<T> {
    let (d, node) = (plan.width, plan.samples() * plan.width);
    let width = inputs.hidden.outputs();
    let (weight, bias) = inputs.kernel[inputs.hidden.parameters()..].split_at(d * d * width);
    // Features x (j, i), so that the active part is a set of whole rows, and the bias a further one.
    let mut matrix = transposed(weight, d, width, Layout::Columns).to_vec();
    matrix.extend((0..d * d).map(|place| bias[place % d * d + place / d]));
    let groups = groups(plan);
    let held = hold(plan, &inputs, &groups);
    let mut states = States::new(plan, inputs.initial, false);
    for layer in 0..plan.depth {
        let (h, next) = states.step(layer);
        let mut pieces = Vec::with_capacity(groups.len());
        let mut rest = next;
        for nodes in &groups {
            let (own, others) = rest.split_at_mut(nodes.len() * node);
            pieces.push(own);
            rest = others;
        }
        pieces.into_par_iter().with_max_len(1).enumerate().for_each(|(index, next)| {
            let nodes = &groups[index];
            let again;
            let features = match held.get(index) {
                Some(features) => features,
                None => {
                    again = Features::new(plan, &inputs, nodes);
                    &again
                }
            };
            for row in next.chunks_exact_mut(d) {
                row.copy_from_slice(inputs.source);
            }
            integrate(plan, features, &matrix, nodes, h, next);
            for (x, next) in nodes.clone().zip(next.chunks_exact_mut(node)) {
                finish_node(plan, inputs.reaction, x, &h[x * node..(x + 1) * node], next);
            }
            if plan.update.activates(layer, plan.depth) {
                relu(next);
            }
        });
    }
    states.finish(plan).0
}

/// The features of the first groups, as many as fit.
fn hold<T: Real>(plan: &Plan, inputs: &Inputs<T>, groups: &[Range<usize>]) -> Vec<Features<T>> {
    let mut held = Vec::new();
    let mut bytes = 0.0;
    // A few at a time: how much memory a group takes is known only afterwards.
    for some in groups.chunks(rayon::current_num_threads().max(1)) {
        if bytes > inputs.budget || plan.depth == 1 {
            break;
        }
        let new: Vec<Features<T>> =
            some.par_iter().with_max_len(1).map(|nodes| Features::new(plan, inputs, nodes)).collect();
        bytes += new.iter().map(|features| (features.values.len() * size_of::<T>()) as f64).sum::<f64>();
        held.extend(new);
    }
    held
}

/// Adds sum_y w K (h(y) - h(x)) at the nodes of a group.
fn integrate<T: Real>(
    plan: &Plan,
    features: &Features<T>,
    matrix: &[T],
    nodes: &Range<usize>,
    h: &[T],
    next: &mut [T],
) {
    let (d, samples) = (plan.width, plan.samples());
    let columns = features.columns();
    let pairs = nodes.len() * samples;
    let first_slot = plan.rows.slots(0..plan.graph.offsets()[nodes.start]).len();
    let mut z = Buffer::any(pairs * columns * d);
    let (mut differences, mut gathered) = (Vec::new(), Vec::new());
    for (pair, z) in z.chunks_exact_mut(columns * d).enumerate() {
        let (x, sample) = (nodes.start + pair / samples, pair % samples);
        let edges = edges_of(plan, &(x..x + 1));
        weighted_differences(plan, h, x, sample, &mut differences);
        // With one row per edge those of a node lie side by side.
        let own: &[T] = if samples == 1 {
            let start = edges.start - plan.graph.offsets()[nodes.start];
            &features.values[start * columns..(start + edges.len()) * columns]
        } else {
            gathered.clear();
            for edge in edges.clone() {
                let slot = plan.rows.slot(edge, sample) - first_slot;
                gathered.extend_from_slice(&features.values[slot * columns..(slot + 1) * columns]);
            }
            &gathered
        };
        let own = Matrix::new(own, edges.len(), columns);
        gemm(z, T::ZERO, T::ONE, own.t(), Matrix::new(&differences, edges.len(), d));
    }
    let rows = features.active.columns().chain([matrix.len() / (d * d) - 1]);
    let mut weight = Buffer::any(columns * d * d);
    for (to, row) in weight.chunks_exact_mut(d * d).zip(rows) {
        to.copy_from_slice(&matrix[row * d * d..(row + 1) * d * d]);
    }
    let z = Matrix::new(&z, pairs, columns * d);
    gemm(next, T::ONE, T::ONE, z, Matrix::new(&weight, columns * d, d));
}

/// w (h(y) - h(x)) of one sample along the edges of x.
pub(super) fn weighted_differences<T: Real>(plan: &Plan, h: &[T], x: usize, sample: usize, result: &mut Vec<T>) {
    let d = plan.width;
    let node = plan.samples() * d;
    let at = |n: usize| &h[n * node + sample * d..n * node + (sample + 1) * d];
    let difference = T::of(plan.update.difference());
    result.clear();
    for (y, weight) in plan.graph.row(x) {
        let weight = T::of(weight);
        result.extend(at(y).iter().zip(at(x)).map(|(&y, &x)| weight * (y - difference * x)));
    }
}

/// From the bracket without the reaction to the next state of a node.
pub(super) fn finish_node<T: Real>(plan: &Plan, reaction: &[T], x: usize, h: &[T], next: &mut [T]) {
    let d = plan.width;
    let reaction = Matrix::new(reaction_of(plan, reaction, x), d, d);
    gemm(next, T::ONE, T::of(plan.update.reaction_sign()), Matrix::new(h, plan.samples(), d), reaction.t());
    advance(plan, h, next);
}

/// From the whole bracket to the next state, before the activation.
pub(super) fn advance<T: Real>(plan: &Plan, h: &[T], next: &mut [T]) {
    let (carry, step) = (T::of(plan.update.carry()), T::of(plan.update.step()));
    vectorised!({
        for (n, &h) in next.iter_mut().zip(h) {
            *n = carry * h + step * *n;
        }
    });
}
