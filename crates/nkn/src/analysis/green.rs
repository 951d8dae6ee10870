//! The Green's function that a network has learned.

use crate::domain::Domain;
use crate::field::Samples;
use crate::model::{BatchOptions, Model};
use crate::{Error, Result};
use burn::tensor::{DType, Device};

/// G(x_i, x_j) on the nodes of a domain, row by row: the network's response at x_i to a unit load at x_j.
///
/// A network whose kernel does not see its one input field is affine in it, so its Jacobian is a matrix at any
/// depth; divided by the quadrature weights (here the trapezoidal cell sizes) it is comparable with the exact Green's function.
pub fn effective_green(model: &Model, domain: &Domain) -> Result<Vec<f64>> {
    let name = match (model.config.fields.as_slice(), model.config.kernel_fields.as_slice(), domain) {
        ([name], [], Domain::Grid(grid)) if grid.dim() == 1 => name.clone(),
        _ => {
            return Err(Error::invalid(
                "Green's function",
                "a network on a 1D grid with one input field that its kernel does not see",
                format!("fields {:?}, kernel fields {:?}", model.config.fields, model.config.kernel_fields),
                "leave it out for this model",
            ));
        }
    };
    let nodes = domain.len();
    let coordinates = domain.coordinates();
    // Load number j is a unit at node j; the last one is zero everywhere.
    let mut values = vec![0.0; (nodes + 1) * nodes];
    for j in 0..nodes {
        values[j * nodes + j] = 1.0;
    }
    let samples = Samples::on(domain.clone()).input(name, values)?;
    let options = BatchOptions { dtype: DType::F64, ..BatchOptions::new(model.depth, &Device::flex()) };
    let response = model.predict_with(&samples, &options)?;
    let rest = &response[nodes * nodes..];
    let cell = |j: usize| {
        let (left, right) = (j.saturating_sub(1), (j + 1).min(nodes - 1));
        (coordinates[right] - coordinates[left]) / 2.0
    };
    let entry = |i: usize, j: usize| (response[j * nodes + i] - rest[i]) / cell(j);
    Ok((0..nodes * nodes).map(|k| entry(k / nodes, k % nodes)).collect())
}
