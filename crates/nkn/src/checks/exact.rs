//! The paper's argument why one layer is enough for the Poisson problem: the NKN of depth 1 with the kernel k = G_b, the reaction
//! R = 1 - ∫ G_b dy and no source, lift and projection the identity, is the solution map up to quadrature. No perceptron is
//! behind it; the kernel's values are given.

use crate::domain::{Domain, Extent, Grid, Quadrature, connect};
use crate::field::{Samples, mean, relative_l2};
use crate::kernel::RowTable;
use crate::operator::{Equation, Integrator, Order, Plan, Purpose, Update, evolve};
use crate::problem::poisson::{generate, green};
use crate::seed::Seed;
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::sync::Arc;

/// The integral of green(x, y) over y, which is the solution for f = 1.
fn green_integral(x: f64) -> f64 {
    x * (1.0 - x) / 2.0
}

/// What the network says about the loads of Poisson samples.
fn exact_network(samples: &Samples) -> Vec<f64> {
    let (nodes, count) = (samples.nodes(), samples.count());
    let graph = connect(samples.domain(), &Extent::All, Quadrature::Trapezoid, None).unwrap().without_self();
    let rows = RowTable::shared(graph.edges(), count);
    let x = samples.domain().coordinates();
    let purpose = Purpose {
        features: 1,
        hidden_flops: 0.0,
        rectified: false,
        training: false,
        nodes_first: false,
        integrator: Integrator::Euler,
        tolerance: None,
        budget: f64::INFINITY,
    };
    let update = Update::DiffusionReaction { step: 1.0 };
    let plan = Plan::new(1, 1, update, graph, rows, &purpose).with_order(Order::Dense);
    let edges = plan.edge_list();
    let kernel: Vec<f64> = edges.iter().map(|edge| green(x[edge.0 as usize], x[edge.1 as usize])).collect();
    let device = Device::flex();
    let upload = |values: Vec<f64>| {
        let length = values.len();
        Tensor::<1>::from_data(TensorData::new(values, [length]), (&device, DType::F64))
    };
    let initial = upload(samples.field("f").unwrap().values.clone()).reshape([count, nodes, 1]);
    let equation = Equation {
        features: upload(kernel).reshape([edges.len(), 1]),
        last_layer: upload(vec![1.0, 0.0]),
        reaction: upload(x.iter().map(|&x| 1.0 - green_integral(x)).collect()).reshape([nodes, 1]),
        source: upload(vec![0.0]),
    };
    evolve(initial, equation, Arc::new(plan)).into_data().iter::<f64>().collect()
}

#[test]
fn the_error_falls_with_the_square_of_the_spacing() {
    let error = |points: usize| {
        let samples = generate(Seed::new(7), 0, 20, points).unwrap();
        mean(&relative_l2(&exact_network(&samples), samples.output_values().unwrap(), points))
    };
    let errors: Vec<f64> = [51, 101, 201, 401].map(error).to_vec();
    assert!(errors[1] < 5e-3, "{errors:?}");
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.9..2.1).contains(&order), "errors {errors:?}, order {order}");
    }
}

#[test]
fn green_integral_is_the_integral_of_green() {
    // The trapezoidal rule is exact when the kink of green(x, y) at y = x is on the grid.
    let domain = Domain::Grid(Grid::unit(&[65]).unwrap());
    let all = connect(&domain, &Extent::All, Quadrature::Trapezoid, None).unwrap();
    let x = domain.coordinates();
    for (node, &at) in x.iter().enumerate() {
        let integral: f64 = all.row(node).map(|(source, weight)| weight * green(at, x[source])).sum();
        assert!((integral - green_integral(at)).abs() < 1e-15);
    }
}
