//! Predictions as meshes that ParaView opens: beside the inputs, for an output `u` the prediction as `u`, and where the truth was
//! given that as `u_truth` and the difference as `u_error`.
//!
//! Meshes that were read are written again with their cells and all their point data; other samples are grids (`.vti`) or
//! points (`.vtu`). Vectors of the plane get a third component of zeros: ParaView draws arrows of no others.

use super::recognise::{Format, recognise};
use super::vtk::{Mesh, MeshGrid, PointData, holds_meshes, mesh_paths, read_mesh, write_mesh};
use crate::domain::Domain;
use crate::field::{Field, Samples};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Points nearer than this share of the coordinates' size are the same.
const ROUNDING: f64 = 1e-9;

/// The names of the files for the samples of a data set, one each: those of its meshes, or `sample_0000.vtu`, …
pub fn mesh_names(input: &Path, samples: &Samples) -> Result<Vec<String>> {
    let sources = sources(input)?;
    if sources.is_empty() {
        let ending = if matches!(samples.domain(), Domain::Grid(_)) { "vti" } else { "vtu" };
        return Ok((0..samples.count()).map(|sample| format!("sample_{sample:04}.{ending}")).collect());
    }
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match sources.as_slice() {
        // Not every mesh that is given alone has a name that says what it is.
        [one] if input.is_file() => {
            let ending = if read_mesh(one)?.grid.is_some() { "vti" } else { "vtu" };
            Ok(vec![name(&one.with_extension(ending))])
        }
        several => Ok(several.iter().map(name).collect()),
    }
}

/// Writes predictions as meshes, one file per sample: `given` is what was read from `input`, `predicted` the same with the
/// outputs that a network predicts. Grids go to paths that end with `.vti`, others to `.vtu`.
///
/// Every file appears under its name only when it is complete and on the disk.
pub fn write_predicted(paths: &[PathBuf], input: &Path, given: &Samples, predicted: &Samples) -> Result<()> {
    let sources = sources(input)?;
    if paths.len() != given.count() || predicted.count() != given.count() {
        let expected = format!("{}, one for each sample", given.count());
        return Err(Error::invalid("files of predictions", expected, paths.len(), "name a file for every sample"));
    }
    for (sample, path) in paths.iter().enumerate() {
        let (mut mesh, places) = match sources.get(sample) {
            Some(source) => {
                let mesh = read_mesh(source)?;
                let places = places(source, &mesh, given, sample)?;
                (mesh, places)
            }
            None => mesh_of(given, sample),
        };
        for output in predicted.outputs() {
            let truth = given.outputs().iter().find(|truth| truth.name == output.name);
            add_prediction(&mut mesh, &places, predicted, sample, output, truth);
        }
        write_mesh(path, &mesh)?;
    }
    Ok(())
}

/// The meshes of a data set, if it is made of such.
fn sources(input: &Path) -> Result<Vec<PathBuf>> {
    match input.is_dir() {
        true if holds_meshes(input) => mesh_paths(input),
        true => Ok(Vec::new()),
        false => Ok(if recognise(input)? == Format::Vtk { vec![input.to_owned()] } else { Vec::new() }),
    }
}

/// A sample as a mesh with all its fields, and which point each node is.
fn mesh_of(samples: &Samples, sample: usize) -> (Mesh, Vec<usize>) {
    let dim = samples.domain().dim();
    let coordinates = |all: &[f64]| -> Vec<f64> {
        all.chunks_exact(dim).flat_map(|point| (0..3).map(|axis| point.get(axis).copied().unwrap_or(0.0))).collect()
    };
    let points = |all: &[f64]| (Mesh::cloud(coordinates(all)), (0..all.len() / dim).collect::<Vec<_>>());
    let (mut mesh, places) = match samples.domain() {
        Domain::Grid(grid) => {
            let at =
                |numbers: &[f64], other: f64| std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(other));
            let shape = std::array::from_fn(|axis| grid.shape().get(axis).copied().unwrap_or(1));
            let grid = MeshGrid { shape, origin: at(grid.lower(), 0.0), spacing: at(&grid.spacing(), 1.0) };
            (Mesh::on(grid), grid.order())
        }
        Domain::Cloud(cloud) => points(cloud.coordinates()),
        Domain::Clouds(clouds) => points(clouds.cloud(sample).coordinates()),
    };
    let weights = match samples.domain() {
        Domain::Grid(_) => None,
        Domain::Cloud(cloud) => cloud.weights(),
        Domain::Clouds(clouds) => clouds.cloud(sample).weights(),
    };
    if let Some(weights) = weights {
        mesh.point_data.push(PointData { name: "weights".into(), components: 1, values: weights.to_vec() });
    }
    for field in samples.fields().iter().chain(samples.outputs()) {
        let data = point_data(&mesh, &places, field, values(samples, sample, field), dim);
        mesh.point_data.push(data);
    }
    (mesh, places)
}

/// The values of a field in one sample.
fn values<'a>(samples: &Samples, sample: usize, field: &'a Field) -> &'a [f64] {
    let span = match samples.domain() {
        Domain::Clouds(_) => samples.spans()[sample].clone(),
        domain => sample * domain.len()..(sample + 1) * domain.len(),
    };
    &field.values[span.start * field.components..span.end * field.components]
}

/// Values at nodes as values at the points of a mesh; points that are no nodes, which a mask hides, get zero.
fn point_data(mesh: &Mesh, places: &[usize], field: &Field, values: &[f64], dim: usize) -> PointData {
    let components = if field.components == 2 && dim == 2 { 3 } else { field.components };
    let mut all = vec![0.0; mesh.len() * components];
    for (value, &place) in values.chunks_exact(field.components).zip(places) {
        all[place * components..][..field.components].copy_from_slice(value);
    }
    PointData { name: field.name.clone(), components, values: all }
}

/// Puts a prediction in the place of the truth, which gets another name.
fn add_prediction(
    mesh: &mut Mesh,
    places: &[usize],
    predicted: &Samples,
    sample: usize,
    output: &Field,
    truth: Option<&Field>,
) {
    let dim = predicted.domain().dim();
    let own = values(predicted, sample, output);
    let prediction = point_data(mesh, places, output, own, dim);
    let mut added = vec![prediction];
    if let Some(truth) = truth {
        let known = values(predicted, sample, truth);
        let named = |suffix: &str, data: PointData| PointData { name: format!("{}_{suffix}", output.name), ..data };
        added.push(named("truth", point_data(mesh, places, truth, known, dim)));
        if truth.components == output.components {
            let difference: Vec<f64> = own.iter().zip(known).map(|(own, known)| own - known).collect();
            added.push(named("error", point_data(mesh, places, output, &difference, dim)));
        }
    }
    mesh.point_data.retain(|data| added.iter().all(|new| new.name != data.name));
    mesh.point_data.extend(added);
}

/// Which point of a mesh each node of a sample is: grids have another order, and points that a mask hides are no nodes.
fn places(source: &Path, mesh: &Mesh, samples: &Samples, sample: usize) -> Result<Vec<usize>> {
    let nodes = match samples.domain() {
        Domain::Clouds(clouds) => clouds.cloud(sample).coordinates().to_vec(),
        domain => domain.coordinates(),
    };
    let dim = samples.domain().dim();
    let size = nodes.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
    let mask = mesh.point_data.iter().find(|data| data.name == "mask" && data.components == 1);
    let fits = |order: &Vec<usize>| {
        let point = |&place: &usize| mesh.points[3 * place..][..dim].iter();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= ROUNDING * size;
        order.len() * dim == nodes.len() && order.iter().flat_map(point).zip(&nodes).all(near)
    };
    let as_stored = (0..mesh.len()).collect();
    let orders = mesh.grid.iter().map(MeshGrid::order).chain([as_stored]);
    let seen = |order: Vec<usize>| -> Vec<usize> {
        order.into_iter().filter(|&place| mask.is_none_or(|mask| mask.values[place] != 0.0)).collect()
    };
    orders.map(seen).find(fits).ok_or_else(|| {
        let problem = "has other points than when it was read first";
        Error::file(source, problem, "predict again, and leave the file alone meanwhile")
    })
}

#[cfg(test)]
mod tests;
