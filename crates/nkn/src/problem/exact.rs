//! The one-layer network that solves the Poisson problem exactly, up to quadrature.

use super::poisson::{green, green_integral};
use crate::domain::{Domain, Extent, Grid, Quadrature, connect};
use crate::field::Samples;
use crate::kernel::RowTable;
use crate::operator::{Equation, Order, Plan, Purpose, Update, evolve};
use crate::{Error, Result};
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::sync::Arc;

/// The NKN of depth 1 with k = G_b, R = 1 - ∫ G_b dy and c = 0, lift and projection the identity: the paper's argument why
/// one layer is enough. No perceptron is behind it; the kernel's values are given.
///
/// ```
/// use nkn::{problem::{exact::ExactNetwork, poisson}, seed::Seed};
/// let samples = poisson::generate(Seed::new(0), 0, 3, 101)?;
/// let u = ExactNetwork::new(101)?.apply(&samples)?;
/// let errors = nkn::field::relative_l2(&u, samples.output_values()?, 101);
/// assert!(errors.iter().all(|&error| error < 5e-3));
/// # Ok::<(), nkn::Error>(())
/// ```
pub struct ExactNetwork {
    domain: Domain,
}

impl ExactNetwork {
    /// The network on a grid of the unit interval.
    pub fn new(points: usize) -> Result<Self> {
        Ok(Self { domain: Domain::Grid(Grid::unit(&[points])?) })
    }

    /// The solutions u of -u'' = f, for samples with a field f on the network's grid.
    pub fn apply(&self, samples: &Samples) -> Result<Vec<f64>> {
        if *samples.domain() != self.domain {
            return Err(Error::invalid(
                "samples",
                format!("the unit interval with {} points", self.domain.len()),
                format!("{} nodes of another domain", samples.nodes()),
                "make the network for the samples' grid",
            ));
        }
        let (nodes, count) = (samples.nodes(), samples.count());
        let graph = connect(&self.domain, &Extent::All, Quadrature::Trapezoid, None)?.without_self();
        let rows = RowTable::shared(graph.edges(), count);
        let x = self.domain.coordinates();
        let update = Update::DiffusionReaction { step: 1.0 };
        let purpose = Purpose {
            features: 1,
            hidden_flops: 0.0,
            rectified: false,
            training: false,
            nodes_first: false,
            budget: f64::INFINITY,
        };
        let plan = Plan::new(1, 1, update, graph, rows, &purpose).with_order(Order::Dense);
        let kernel =
            plan.edge_list().into_iter().map(|(target, source, _)| green(x[target as usize], x[source as usize]));
        let device = Device::flex();
        let upload = |values: Vec<f64>| {
            let length = values.len();
            Tensor::<1>::from_data(TensorData::new(values, [length]), (&device, DType::F64))
        };
        let edges = plan.edges();
        let initial = upload(samples.field("f")?.values.clone()).reshape([count, nodes, 1]);
        let equation = Equation {
            features: upload(kernel.collect()).reshape([edges, 1]),
            last_layer: upload(vec![1.0, 0.0]),
            reaction: upload(x.iter().map(|&x| 1.0 - green_integral(x)).collect()).reshape([nodes, 1]),
            source: upload(vec![0.0]),
        };
        Ok(evolve(initial, equation, Arc::new(plan)).into_data().iter::<f64>().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{mean, relative_l2};
    use crate::problem::poisson::generate;
    use crate::seed::Seed;

    #[test]
    fn the_error_falls_with_the_square_of_the_spacing() {
        let error = |points: usize| {
            let samples = generate(Seed::new(7), 0, 20, points).unwrap();
            let u = ExactNetwork::new(points).unwrap().apply(&samples).unwrap();
            mean(&relative_l2(&u, samples.output_values().unwrap(), points))
        };
        let errors: Vec<f64> = [51, 101, 201, 401].map(error).to_vec();
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((1.9..2.1).contains(&order), "errors {errors:?}, order {order}");
        }
    }
}
