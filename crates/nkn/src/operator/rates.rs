//! This machine's own numbers for the rates in `cost.rs`: `nkn bench rates`.

use super::fused::{Inputs, backward, forward};
use super::integrator::Integrator;
use super::plan::{Order, Plan, Purpose, Update};
use crate::Result;
use crate::domain::{Domain, Extent, Grid, Quadrature, connect};
use crate::kernel::{MlpShape, RowTable, evaluate};
use crate::seed::{Seed, uniform};
use std::time::Instant;

/// Operations a second of the parts of an evolution in one order.
#[derive(Clone, Debug)]
pub struct Rates {
    /// The order in which an evolution is computed.
    pub order: String,
    /// With derivatives.
    pub training: bool,
    /// The products of the layers.
    pub layers: f64,
    /// The kernel's blocks from its features; contracted products do without them.
    pub form: Option<f64>,
    /// The kernel network up to its last hidden layer.
    pub evaluate: f64,
}

/// Measures the paper's network for Darcy flow in every order, on 16 x 16 nodes: the layers by the difference between
/// one and nine of them.
pub fn rates() -> Result<Vec<Rates>> {
    let Some(shape) = MlpShape::new("kernel", &[4, 512, 1024, 1])?.hidden() else { return Ok(Vec::new()) };
    let parameters = shape.init(Seed::new(2));
    let mut found = Vec::new();
    for training in [false, true] {
        for (order, sees) in
            [(Order::Dense, false), (Order::Shared, false), (Order::Blocks, true), (Order::Contracted, true)]
        {
            let timed = |depth| timed(depth, (order, sees, training), &shape, &parameters);
            let ((shallow, few, evaluate), (deep, many, _)) = (timed(1)?, timed(9)?);
            let layers = (many - few) / (deep - shallow);
            let form =
                (order != Order::Contracted).then(|| (few - (many - few) / 8.0) / (shallow - (deep - shallow) / 8.0));
            found.push(Rates { order: format!("{order:?}").to_lowercase(), training, layers, form, evaluate });
        }
    }
    Ok(found)
}

/// Seconds and operations of an evolution of this depth, and the rate of the kernel network before it.
fn timed(
    depth: usize,
    (order, sees, training): (Order, bool, bool),
    shape: &MlpShape,
    parameters: &[f32],
) -> Result<(f64, f64, f64)> {
    let (width, samples) = (64, 10);
    let plan = plan(16, samples, width, depth, sees, &purpose(1024, training))?.with_order(order);
    let x: Vec<f32> = (0..4 * plan.kernel_rows()).map(|i| (i / 400) as f32 * 1e-3).collect();
    let features = evaluate(shape, &x, parameters);
    let hidden = plan.kernel_rows() as f64 * shape.flops() / seconds(|| drop(evaluate(shape, &x, parameters)));
    let numbers = |count: usize| -> Vec<f32> { (0..count).map(|i| (i % 7) as f32 * 1e-4).collect() };
    let (initial, source) = (numbers(samples * plan.nodes() * width), numbers(width));
    let (last_layer, reaction) = (numbers(width * width * 1025), numbers(plan.nodes() * width * width));
    let inputs = Inputs::new([&initial, &features, &last_layer, &reaction, &source]);
    let time = seconds(|| {
        let (result, saved) = forward(&plan, inputs, training);
        if training {
            backward(&plan, inputs, saved, &result);
        }
    });
    Ok((time, plan.cost(order).flops, hidden))
}

/// The best time of three.
fn seconds(mut work: impl FnMut()) -> f64 {
    let one = |_| {
        let begun = Instant::now();
        work();
        begun.elapsed().as_secs_f64()
    };
    (0..3).map(one).fold(f64::INFINITY, f64::min)
}

/// Work without a limit of memory.
pub(super) fn purpose(features: usize, training: bool) -> Purpose {
    Purpose {
        features,
        hidden_flops: 1e6,
        rectified: true,
        training,
        nodes_first: false,
        integrator: Integrator::Euler,
        tolerance: None,
        budget: f64::INFINITY,
    }
}

/// A plan on the unit square; with `sees` the kernel sees a two-valued b.
pub(super) fn plan(
    side: usize,
    samples: usize,
    width: usize,
    depth: usize,
    sees: bool,
    purpose: &Purpose,
) -> Result<Plan> {
    let domain = Domain::Grid(Grid::unit(&[side, side])?);
    let ball = Extent::Ball { radius: 0.1, inclusive: false };
    let graph = connect(&domain, &ball, Quadrature::Overlap, None)?.without_self();
    let mut rng = Seed::new(1).rng();
    let field: Vec<f64> = (0..samples * side * side).map(|_| uniform(&mut rng, -1.0, 1.0).signum()).collect();
    let rows =
        if sees { RowTable::of_fields(&graph, samples, &field) } else { RowTable::shared(graph.edges(), samples) };
    Ok(Plan::new(width, depth, Update::DiffusionReaction { step: 1.0 / depth as f64 }, graph, rows, purpose))
}
