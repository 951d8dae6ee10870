//! File formats: model files, data sets, and writing that never leaves half a file behind.

mod atomic;
mod dataset;
mod matlab;
mod model_file;
mod npz_claims;
pub(crate) mod tensors;

pub use atomic::write_atomically;
pub use dataset::{Dataset, DatasetDomain, read_mat, read_npz, read_npz_inputs, write_npz};
pub use matlab::{MatlabArray, MatlabVariable, list_matlab, read_matlab};
pub use model_file::{read_model, write_model};

use crate::Result;
use crate::domain::{Domain, Grid, PointCloud};
use crate::field::{Field, Samples};
use std::path::Path;

/// Whether a data set must have its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To train and to evaluate: u is there.
    Output,
    /// To predict: u may be absent.
    Inputs,
}

/// Reads a data set, .npz or .mat, as samples on a domain.
pub fn read_dataset(path: &Path, need: Need) -> Result<Samples> {
    read_first(path, need, None)
}

/// Reads the first so many samples of a data set, or all there are.
pub fn read_first(path: &Path, need: Need, first: Option<usize>) -> Result<Samples> {
    let is_matlab = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("mat"));
    let data = if is_matlab { read_mat(path, first)? } else { read_npz_inputs(path)? };
    let data = if need == Need::Output { dataset::with_outputs(path, data)? } else { data };
    let samples = into_samples(data)?;
    Ok(match first {
        Some(first) if first < samples.count => samples.select(&(0..first).collect::<Vec<_>>()),
        _ => samples,
    })
}

fn into_samples(data: Dataset) -> Result<Samples> {
    let domain = match data.domain {
        DatasetDomain::Grid { shape, lower, upper } => Domain::Grid(Grid::new(shape, lower, upper)?),
        DatasetDomain::Points { dim, coordinates } => {
            let measure = bounding_measure(dim, &coordinates);
            Domain::Cloud(PointCloud::new(dim, coordinates, measure)?)
        }
    };
    let fields = data.fields.into_iter().map(|(name, values)| Field { name, values }).collect();
    Ok(Samples { domain, count: data.count, fields, output: data.outputs })
}

/// Writes samples as a data set.
pub fn write_dataset(path: &Path, samples: &Samples) -> Result<()> {
    let domain = match &samples.domain {
        Domain::Grid(grid) => DatasetDomain::Grid {
            shape: grid.shape().to_vec(),
            lower: grid.lower().to_vec(),
            upper: grid.upper().to_vec(),
        },
        Domain::Cloud(cloud) => DatasetDomain::Points { dim: cloud.dim(), coordinates: cloud.coordinates().to_vec() },
    };
    let fields = samples.fields.iter().map(|field| (field.name.clone(), field.values.clone())).collect();
    let (count, nodes) = (samples.count, samples.nodes());
    write_npz(path, &Dataset { domain, fields, outputs: samples.output.clone(), count, nodes })
}

/// The measure of the smallest box around the points: the best guess at the domain's when a file gives points alone.
fn bounding_measure(dim: usize, coordinates: &[f64]) -> f64 {
    let side = |axis: usize| {
        let values = coordinates.iter().skip(axis).step_by(dim);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
        if high > low { high - low } else { 1.0 }
    };
    (0..dim).map(side).product()
}
