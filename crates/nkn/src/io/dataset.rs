//! Data sets: samples from and to files. `assemble.rs` says what the arrays of a file mean.

use super::assemble::{PLACES, assemble};
use super::atomic::replace_atomically;
use super::hdf5::{self, write_hdf5};
use super::matlab;
use super::meshes::mesh_arrays;
use super::npy::read_npy_folder;
use super::npz::{read_npz, write_npz};
use super::recognise::{Format, recognise};
use super::vtk::{holds_meshes, read_mesh, read_meshes};
use super::{Array, NamedArray};
use crate::domain::Domain;
use crate::field::Samples;
use crate::{Error, Result};
use std::path::Path;

/// The names under which the public Darcy files keep what is called otherwise here.
const PUBLIC_NAMES: [(&str, &str); 5] =
    [("coeff", "b"), ("Kcoeff", "b_eps"), ("Kcoeff_x", "b_eps_x"), ("Kcoeff_y", "b_eps_y"), ("sol", "u")];

/// Whether a data set must have its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To train and to evaluate: the outputs are there.
    Output,
    /// To predict: they may be absent.
    Inputs,
}

/// Reads a data set: NumPy's .npz, HDF5, MATLAB v5 or v7.3, or a VTK mesh, whatever its name; or a folder with an .npy file per
/// array or a mesh per sample. Arrays of these names are the outputs; without names, `u` is.
pub fn read_dataset(path: &Path, need: Need, outputs: &[String]) -> Result<Samples> {
    read_first(path, need, outputs, None)
}

/// Reads the first so many samples of a data set, or all there are.
pub fn read_first(path: &Path, need: Need, outputs: &[String], first: Option<usize>) -> Result<Samples> {
    let arrays = match path.is_dir() {
        true if holds_meshes(path) => mesh_arrays(&read_meshes(path, first)?)?,
        true => read_npy_folder(path)?,
        false => file_arrays(path, first)?,
    };
    let usual = ["u".to_string()];
    let outputs = if outputs.is_empty() { &usual[..] } else { outputs };
    let samples = assemble(path, arrays, outputs)?;
    let missing = outputs.iter().find(|name| !samples.outputs().iter().any(|output| output.name == **name));
    if let (Need::Output, Some(name)) = (need, missing) {
        let found: Vec<String> = samples.fields().iter().map(|field| format!("`{}`", field.name)).collect();
        let problem = format!("has no array `{name}`; it has {}", found.join(", "));
        let hint = "store the functions to predict under the name `u`, or name them: data.outputs, --outputs";
        return Err(Error::file(path, problem, hint));
    }
    Ok(match first {
        Some(first) if (1..samples.count()).contains(&first) => samples.select(&(0..first).collect::<Vec<_>>()),
        _ => samples,
    })
}

/// The arrays of a file; all samples or at least the first so many.
pub(super) fn file_arrays(path: &Path, first: Option<usize>) -> Result<Vec<Array>> {
    match recognise(path)? {
        Format::Npz => read_npz(path),
        Format::Matlab5 | Format::Matlab73 => real_arrays(matlab::open(path)?, first),
        Format::Hdf5 => real_arrays(hdf5::open(path)?, first),
        Format::Vtk => mesh_arrays(&[(path.to_owned(), read_mesh(path)?)]),
        other => Err(other.refused(path, "a data set: an .npz file, HDF5, MATLAB v5 or v7.3, or a VTK mesh")),
    }
}

/// The arrays of real numbers of a file, under our names; all samples or the first so many.
fn real_arrays(mut file: Box<dyn matlab::Contents>, first: Option<usize>) -> Result<Vec<Array>> {
    let variables = file.variables().to_vec();
    // Of stacked samples the first rows are not the first samples.
    let first = first.filter(|_| variables.iter().all(|variable| variable.name != "offsets"));
    let mut arrays = Vec::new();
    for (index, variable) in variables.iter().enumerate() {
        let name = variable.name.as_str();
        // Of two variables with one name, the later is the valid one: so do MATLAB and SciPy.
        if !variable.is_real() || variables[index + 1..].iter().any(|later| later.name == name) {
            continue;
        }
        let mut array = file.read(index, first.filter(|_| !PLACES.contains(&name)))?;
        if let Some((_, own)) = PUBLIC_NAMES.iter().find(|(public, _)| *public == name) {
            array.name = own.to_string();
        }
        arrays.push(array);
    }
    Ok(arrays)
}

/// The arrays that a file with these samples has: [`super::samples_of`] makes the samples of them again.
pub fn arrays_of(samples: &Samples) -> Result<Vec<Array>> {
    let own = |(name, shape, values): NamedArray| Array { name: name.into(), shape, values: values.into_owned() };
    Ok(named_arrays(samples)?.into_iter().map(own).collect())
}

/// Writes samples as an HDF5 file if the path ends with `.h5`, otherwise as an .npz file; every field under its name.
///
/// The file appears under its name only when it is complete and on the disk.
pub fn write_dataset(path: &Path, samples: &Samples) -> Result<()> {
    if samples.outputs().is_empty() && samples.field("u").is_ok() {
        let hint = "it would be read back as the output: rename the field";
        return Err(Error::invalid("input field", "another name than u, where there is no output", "\"u\"", hint));
    }
    write_arrays(path, named_arrays(samples)?)
}

/// The arrays of a data set: where the values are, then every field under its name.
fn named_arrays(samples: &Samples) -> Result<Vec<NamedArray<'_>>> {
    let fields = || samples.fields().iter().chain(samples.outputs());
    check_names(fields().map(|field| field.name.as_str()))?;
    let (shape, mut arrays) = places(samples)?;
    for field in fields() {
        let components = (field.components > 1).then_some(field.components);
        let shape = shape.iter().copied().chain(components).collect();
        arrays.push((&field.name, shape, field.values.as_slice().into()));
    }
    Ok(arrays)
}

/// Refuses the name of a file to write whose ending belongs to another format: .npz files (also without an ending) and HDF5 (.h5, .hdf5) are
/// written. To be asked before long work.
pub fn check_ending(path: &Path) -> Result<()> {
    format_of(path).map(|_| ())
}

/// Whether a file of this name is HDF5.
fn format_of(path: &Path) -> Result<bool> {
    match path.extension().and_then(|ending| ending.to_str()) {
        None | Some("npz") => Ok(false),
        Some("h5" | "hdf5") => Ok(true),
        Some(other) => {
            Err(Error::file(path, format!("ends with .{other}, which is not written"), "end it with .npz or .h5"))
        }
    }
}

/// Writes arrays as an HDF5 file if the path ends with `.h5` or `.hdf5`, otherwise as an .npz file.
pub(super) fn write_arrays(path: &Path, arrays: Vec<NamedArray>) -> Result<()> {
    let is_hdf5 = format_of(path)?;
    replace_atomically(path, |file| if is_hdf5 { write_hdf5(file, arrays) } else { write_npz(file, arrays) })
}

/// Refuses names under which a file could not be read back.
pub(super) fn check_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    for name in names {
        let is_odd = name.contains(['/', '\\', '\0']) || name.ends_with(".npy");
        if is_odd || PLACES.contains(&name) {
            let expected = format!("a name without slashes, and none of {}", PLACES.join(", "));
            let hint = "such a file could not be read back: rename the field";
            return Err(Error::invalid("field", expected, format!("{name:?}"), hint));
        }
    }
    Ok(())
}

/// The shape of a scalar field of the samples, and the arrays that say where its values are.
pub(super) fn places(samples: &Samples) -> Result<(Vec<usize>, Vec<NamedArray<'_>>)> {
    let mut arrays: Vec<NamedArray> = Vec::new();
    let mut shape = vec![samples.count()];
    match samples.domain() {
        Domain::Grid(grid) => {
            shape.extend(grid.shape());
            arrays.push(("lower", vec![grid.dim()], grid.lower().into()));
            arrays.push(("upper", vec![grid.dim()], grid.upper().into()));
            if samples.domain().is_periodic() {
                arrays.push(("periodic", vec![grid.dim()], zeros_and_ones(grid.periodic_axes()).into()));
            }
        }
        Domain::Cloud(cloud) => {
            shape.push(cloud.len());
            arrays.push(("points", vec![cloud.len(), cloud.dim()], cloud.coordinates().into()));
            arrays.push(("measure", vec![1], vec![cloud.measure()].into()));
            if let Some(weights) = cloud.weights() {
                arrays.push(("weights", vec![cloud.len()], weights.into()));
            }
        }
        domain @ Domain::Clouds(clouds) => {
            shape = vec![clouds.total()];
            let ends = samples.spans().into_iter().map(|span| span.end as f64);
            arrays.push(("points", vec![clouds.total(), domain.dim()], domain.coordinates().into()));
            arrays.push(("offsets", vec![clouds.count() + 1], [0.0].into_iter().chain(ends).collect()));
            let each = (0..clouds.count()).map(|sample| clouds.cloud(sample).weights());
            if let Some(weights) = each.collect::<Option<Vec<&[f64]>>>() {
                arrays.push(("weights", vec![clouds.total()], weights.concat().into()));
            }
            if samples.domain().enclosure().is_none() && clouds.distinct().iter().any(|one| one.enclosure().is_some()) {
                let hint = "such a file could not be read back: write them one by one";
                return Err(Error::invalid("clouds", "one box for all samples", "boxes that differ", hint));
            }
        }
    }
    if let (Domain::Cloud(_) | Domain::Clouds(_), Some(enclosure)) = (samples.domain(), samples.domain().enclosure()) {
        let dim = enclosure.dim();
        arrays.push(("lower", vec![dim], enclosure.lower().to_vec().into()));
        arrays.push(("upper", vec![dim], enclosure.upper().to_vec().into()));
        arrays.push(("periodic", vec![dim], zeros_and_ones(enclosure.periodic()).into()));
    }
    Ok((shape, arrays))
}

fn zeros_and_ones(values: &[bool]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(u8::from(value))).collect()
}

#[cfg(test)]
mod tests;
