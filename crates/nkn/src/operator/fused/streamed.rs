//! Prediction features first, as [`contracted`](super::contracted) derives it, for kernels that are too many to be formed.
//!
//! Nodes go through in groups. The features of a group are evaluated for the group alone, without the units that are off on all of it; they are
//! kept as long as the memory budget lasts, and evaluated again in every layer beyond that.

use super::last_layer::{Layout, transposed};
use super::{States, reaction_of};
use crate::kernel::{Active, Compact, MlpShape, evaluate};
use crate::linalg::buffer::Buffer;
use crate::linalg::{Matrix, Real, gemm, relu, set_rows, vectorised};
use crate::operation::{Operation, Seen};
use crate::operator::plan::Plan;
use crate::parallel::Parallel;
use std::ops::Range;
use std::sync::Arc;

/// (node, sample) pairs of a group: enough to make up for gathering W.
const PAIRS: usize = 192;
/// Kernel rows of a group: what a thread evaluates at a time.
const ROWS: usize = 16384;

/// From h_0, all parameters of the kernel network, what it sees (one row per kernel row), R and c to h_L.
#[derive(Debug)]
pub struct Streamed {
    pub plan: Arc<Plan>,
    /// The kernel network without its last layer.
    pub hidden: MlpShape,
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

impl Operation<5> for Streamed {
    type Saved<T: Real> = ();
    type Double = f64;

    fn forward<T: Real>(&self, [initial, kernel, seen, reaction, source]: [&[T]; 5], _: bool) -> (Vec<T>, ()) {
        let plan = &*self.plan;
        let (d, node) = (plan.width, plan.samples() * plan.width);
        let width = self.hidden.outputs();
        let (kernel, last_layer) = kernel.split_at(self.hidden.parameters());
        let (weight, bias) = last_layer.split_at(d * d * width);
        // Features x (j, i), so that the active part is a set of whole rows, and the bias a further one.
        let mut matrix = transposed(weight, d, width, Layout::Columns).to_vec();
        matrix.extend((0..d * d).map(|place| bias[place % d * d + place / d]));
        let groups = groups(plan);
        let held = self.hold(kernel, seen, &groups);
        let mut states = States::new(plan, initial, false);
        for layer in 0..plan.depth {
            let (h, mut rest) = states.step(layer);
            let cut = |nodes: &Range<usize>| rest.split_off_mut(..nodes.len() * node).expect("as long as the nodes");
            let pieces: Vec<&mut [T]> = groups.iter().map(cut).collect();
            pieces.into_iter().enumerate().parallel().for_each(|(index, next)| {
                let nodes = &groups[index];
                let again;
                let features = match held.get(index) {
                    Some(features) => features,
                    None => {
                        again = self.features(kernel, seen, nodes);
                        &again
                    }
                };
                set_rows(next, source);
                integrate(plan, features, &matrix, nodes, h, next);
                for (x, next) in nodes.clone().zip(next.chunks_exact_mut(node)) {
                    finish_node(plan, reaction, x, &h[x * node..(x + 1) * node], next);
                }
                if plan.update.activates(layer, plan.depth) {
                    relu(next);
                }
            });
        }
        (states.finish(plan).0, ())
    }

    /// A prediction has none: its inputs come detached.
    fn backward<T: Real>(&self, _: Seen<T, (), 5>) -> [Option<Vec<T>>; 5] {
        [const { None }; 5]
    }
}

impl Streamed {
    /// The features of a group's kernel rows, edge by edge.
    fn features<T: Real>(&self, kernel: &[T], seen: &[T], nodes: &Range<usize>) -> Compact<T> {
        let rows = self.plan.rows.slots(edges_of(&self.plan, nodes));
        let width = self.hidden.inputs();
        let mut own = Buffer::any(rows.len() * width);
        for (to, &row) in own.chunks_exact_mut(width).zip(rows) {
            to.copy_from_slice(&seen[row as usize * width..(row as usize + 1) * width]);
        }
        let all = evaluate(&self.hidden, &own, kernel);
        let width = self.hidden.outputs();
        Compact::with_ones(Active::of(&all, width), &all, width)
    }

    /// The features of the first groups, as many as fit the memory budget.
    fn hold<T: Real>(&self, kernel: &[T], seen: &[T], groups: &[Range<usize>]) -> Vec<Compact<T>> {
        let mut held = Vec::new();
        let mut bytes = 0.0;
        // A few at a time: how much memory a group takes is known only afterwards.
        for some in groups.chunks(rayon::current_num_threads().max(1)) {
            if bytes > self.plan.purpose.budget || self.plan.depth == 1 {
                break;
            }
            let new = some.iter().parallel().map(|nodes| self.features(kernel, seen, nodes));
            bytes += new.iter().map(|features| (features.values.len() * size_of::<T>()) as f64).sum::<f64>();
            held.extend(new);
        }
        held
    }
}

/// Adds sum_y w K (h(y) - h(x)) at the nodes of a group.
fn integrate<T: Real>(plan: &Plan, features: &Compact<T>, matrix: &[T], nodes: &Range<usize>, h: &[T], next: &mut [T]) {
    let (d, samples) = (plan.width, plan.samples());
    let columns = features.columns;
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
    let difference = T::of(plan.update.carry());
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
