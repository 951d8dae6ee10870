//! The evolution by any integrator, with the products of an order: everything but explicit Euler, which has its own
//! loops.

use super::{Gradients, Inputs, Saved, blocks, dense, from_nodes_first, last_layer, nodes_first};
use crate::linalg::{Real, sum_rows};
use crate::operator::integrator::{self, Trace};
use crate::operator::plan::{Order, Plan};

/// What the forward pass leaves.
#[derive(Debug)]
pub struct Followed<T: Real>(Trace<T>);

pub fn forward<T: Real>(plan: &Plan, inputs: Inputs<T>, keep: bool) -> (Vec<T>, Saved<T>) {
    let course = plan.course(size_of::<T>());
    let followed = match plan.order {
        Order::Dense => integrator::forward(&dense::Whole::new(plan, &inputs), &course, inputs.initial, keep),
        _ => {
            let initial = nodes_first(plan, inputs.initial);
            let result = integrator::forward(&blocks::ByBlocks::new(plan, &inputs), &course, &initial, keep);
            result.map(|(last, trace)| (from_nodes_first(plan, &last), trace))
        }
    };
    match followed {
        Ok((last, trace)) => (last, Saved { followed: Some(Followed(trace)), ..Saved::nothing() }),
        Err(got) => {
            plan.fail(got);
            (vec![T::of(f64::NAN); inputs.initial.len()], Saved::nothing())
        }
    }
}

pub fn backward<T: Real>(plan: &Plan, inputs: Inputs<T>, saved: Saved<T>, gradient: &[T]) -> Gradients<T> {
    let Some(Followed(trace)) = saved.followed else {
        // The forward pass has failed and said so.
        let zeros = [inputs.initial, inputs.features, inputs.last_layer, inputs.reaction, inputs.source];
        return zeros.map(|input| vec![T::ZERO; input.len()]);
    };
    let course = plan.course(size_of::<T>());
    let (adjoints, (blocks, reaction)) = match plan.order {
        Order::Dense => {
            let flow = dense::Whole::new(plan, &inputs);
            let adjoints = integrator::backward(&flow, &course, &trace, gradient);
            let gradients = flow.gradients(&trace.inputs, &adjoints.outputs, inputs.reaction.len());
            (adjoints, gradients)
        }
        _ => {
            let flow = blocks::ByBlocks::new(plan, &inputs);
            let mut adjoints = integrator::backward(&flow, &course, &trace, &nodes_first(plan, gradient));
            drop(flow);
            adjoints.initial = from_nodes_first(plan, &adjoints.initial);
            let blocks = blocks::block_gradients(plan, &trace.inputs, &adjoints.outputs);
            let length = inputs.reaction.len();
            let reaction = blocks::reaction_gradient(plan, &trace.inputs, &adjoints.outputs, length);
            (adjoints, (blocks, reaction))
        }
    };
    let (features, last_layer) = last_layer::backward(plan, &inputs, &blocks);
    [adjoints.initial, features, last_layer, reaction, sum_rows(&adjoints.source, plan.width)]
}
