//! The evolution on the CPU and its adjoint, in the orders of [`Order`].

mod blocks;
mod contracted;
mod dense;
mod followed;
mod last_layer;
mod shared;
pub(super) mod streamed;

use super::integrator::Integrator;
use super::plan::{Order, Plan};
use crate::linalg::buffer::Buffer;
use crate::linalg::{Real, copied, copy_into, mask, sum_rows, swap_leading, vectorised};
use std::borrow::Cow;

/// The numbers that an evolution works on, in the layouts of the operation's documentation.
#[derive(Clone, Copy)]
pub struct Inputs<'a, T> {
    /// samples x nodes x d, or nodes x samples x d if the plan says so.
    pub initial: &'a [T],
    /// kernel rows x features: the output of the kernel network's last hidden layer, or K itself where the last layer is
    /// empty.
    pub features: &'a [T],
    /// The kernel network's last layer: weight d² x features, then bias d²; empty where K comes finished.
    pub last_layer: &'a [T],
    /// nodes x d², or d² when all nodes share one matrix.
    pub reaction: &'a [T],
    /// d.
    pub source: &'a [T],
}

impl<'a, T> Inputs<'a, T> {
    /// In the order of the fields.
    pub fn new([initial, features, last_layer, reaction, source]: [&'a [T]; 5]) -> Self {
        Self { initial, features, last_layer, reaction, source }
    }
}

/// Derivatives with respect to each of [`Inputs`], in their order.
pub type Gradients<T> = [Vec<T>; 5];

/// What the forward pass leaves for the backward pass.
#[derive(Debug)]
pub struct Saved<T: Real> {
    /// The states h_0 … h_L in the order's own layout.
    states: Buffer<T>,
    /// A, or the blocks K; empty in the contracted order.
    matrix: Buffer<T>,
    /// Where an integrator other than explicit Euler was followed: what it leaves, in place of the states.
    followed: Option<followed::Followed<T>>,
}

impl<T: Real> Saved<T> {
    /// The states and the matrix.
    fn new(states: Buffer<T>, matrix: Buffer<T>) -> Self {
        Self { states, matrix, followed: None }
    }

    fn nothing() -> Self {
        Self::new(Buffer::any(0), Buffer::any(0))
    }
}

/// The state after the last layer, in the layout of the initial one; without `keep` nothing is left for a backward pass.
pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>, keep: bool) -> (Vec<T>, Saved<T>) {
    if plan.integrator() != Integrator::Euler {
        return followed::forward(plan, inputs, keep);
    }
    match plan.order {
        Order::Dense => dense::forward(plan, inputs),
        Order::Shared => shared::forward(plan, inputs, keep),
        Order::Blocks => blocks::forward(plan, inputs, keep),
        Order::Contracted => contracted::forward(plan, inputs, keep),
    }
}

/// The states h_0 … h_L of nodes x samples x d, or two places that serve all layers in turn.
struct States<T: Real> {
    values: Buffer<T>,
    length: usize,
    keep: bool,
}

impl<T: Real> States<T> {
    /// Begins with h_0 in the plan's layout.
    fn new(plan: &Plan, initial: &[T], keep: bool) -> Self {
        let length = initial.len();
        let mut values = Buffer::any(if keep { plan.depth + 1 } else { 2 } * length);
        copy_into(&mut values[..length], &nodes_first(plan, initial));
        Self { values, length, keep }
    }

    /// The state at a layer, and the place of the next.
    fn step(&mut self, layer: usize) -> (&[T], &mut [T]) {
        if !self.keep {
            let (even, odd) = self.values.split_at_mut(self.length);
            return if layer.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        }
        let (before, after) = self.values.split_at_mut((layer + 1) * self.length);
        (&before[layer * self.length..], &mut after[..self.length])
    }

    /// The state after the last layer in the plan's layout, and the states for the backward pass.
    fn finish(self, plan: &Plan) -> (Vec<T>, Buffer<T>) {
        let place = if self.keep { plan.depth } else { plan.depth % 2 };
        let last = &self.values[place * self.length..(place + 1) * self.length];
        let result = from_nodes_first(plan, last);
        (result, if self.keep { self.values } else { Buffer::any(0) })
    }
}

/// The adjoint: from the derivative with respect to the last state to those with respect to all inputs.
pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: Saved<T>, gradient: &[T]) -> Gradients<T> {
    if plan.integrator() != Integrator::Euler {
        return followed::backward(plan, inputs, saved, gradient);
    }
    match plan.order {
        Order::Dense => dense::backward(plan, inputs, saved, gradient),
        Order::Shared => shared::backward(plan, inputs, saved, gradient),
        Order::Blocks => blocks::backward(plan, inputs, saved, gradient),
        Order::Contracted => contracted::backward(plan, inputs, saved, gradient),
    }
}

fn feature_width<T>(plan: &Plan, inputs: &Inputs<T>) -> usize {
    let size = plan.width * plan.width;
    inputs.last_layer.len() / size - 1
}

/// The reaction matrix of a node.
fn reaction_of<'a, T>(plan: &Plan, reaction: &'a [T], node: usize) -> &'a [T] {
    let size = plan.width * plan.width;
    if reaction.len() == size { reaction } else { &reaction[node * size..(node + 1) * size] }
}

/// The derivatives of the nodes' reaction matrices, or their sum when all nodes share one matrix of this length.
fn by_node_or_shared<T: Real>(plan: &Plan, gradients: Vec<T>, length: usize) -> Vec<T> {
    if length != plan.width * plan.width {
        return gradients;
    }
    sum_rows(&gradients, length)
}

/// What a layer's adjoint is made of: the step times the derivative with respect to its output, before the activation.
fn scaled_adjoint<T: Real>(plan: &Plan, layer: usize, states: &[T], adjoint: &[T], scaled: &mut [T]) {
    let step = T::of(plan.update.step());
    vectorised!({
        for (s, &a) in scaled.iter_mut().zip(adjoint) {
            *s = step * a;
        }
    });
    if plan.update.activates(layer, plan.depth) {
        mask(scaled, &states[(layer + 1) * adjoint.len()..][..adjoint.len()]);
    }
}

/// Values in the plan's layout as nodes x samples x d.
fn nodes_first<'a, T: Real>(plan: &Plan, values: &'a [T]) -> Cow<'a, [T]> {
    if plan.purpose.nodes_first {
        return Cow::Borrowed(values);
    }
    Cow::Owned(swap_leading(values, plan.samples(), plan.nodes(), plan.width))
}

/// The other way.
fn from_nodes_first<T: Real>(plan: &Plan, values: &[T]) -> Vec<T> {
    if plan.purpose.nodes_first {
        return copied(values);
    }
    swap_leading(values, plan.nodes(), plan.samples(), plan.width)
}

/// An array of `length` numbers per edge, cut by target.
fn pieces<'a, T>(plan: &Plan, mut values: &'a mut [T], length: usize) -> Vec<&'a mut [T]> {
    let rows = plan.graph.offsets().windows(2);
    rows.map(|row| values.split_off_mut(..(row[1] - row[0]) * length).expect("as long as the edges")).collect()
}
