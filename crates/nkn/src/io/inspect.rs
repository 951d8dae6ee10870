//! What is in a data set, said before anything is trained: fields, ranges, gaps, places, and what would become of it.
//!
//! Data that [`read_dataset`](super::read_dataset) refuses are looked at too, as far as their arrays can be read: the
//! [`Inspection`] then says what is wrong, and where.

mod advice;
mod facts;
mod place;

pub use facts::{ArrayFacts, Column, Gap, Role};
pub use place::Place;

use super::Array;
use super::assemble::{PLACES, assemble};
use super::dataset::{Need, file_arrays, read_dataset};
use super::meshes::mesh_arrays;
use super::npy::read_npy_folder;
use super::recognise::{Format, recognise};
use super::vtk::{holds_meshes, read_mesh_with_gaps, read_meshes_by};
use crate::domain::Domain;
use crate::field::{Field, Samples};
use crate::{Error, Result};
use serde::Serialize;
use std::path::Path;

/// What is in a data set.
#[derive(Clone, Debug, Serialize)]
pub struct Inspection {
    /// What kind of file or folder it is.
    pub format: String,
    /// The number of samples, where that can be said.
    pub samples: Option<usize>,
    /// Where the values are, where that can be said.
    pub place: Option<Place>,
    /// All arrays of numbers, in the order of the file.
    pub arrays: Vec<ArrayFacts>,
    /// Why it cannot be used as it is, and what to do.
    pub problem: Option<String>,
    /// What nkn would make of it, in sentences.
    pub advice: Vec<String>,
    /// The samples, with zeros in the place of values that are not finite.
    #[serde(skip)]
    filled: Option<Samples>,
    /// For each array the places of values that are not finite.
    #[serde(skip)]
    gaps: Vec<Vec<usize>>,
}

/// Looks at a data set of any format; arrays of these names are the outputs, without names `u` is.
///
/// ```
/// use nkn::{Grid, Samples, io};
/// # fn main() -> nkn::Result<()> {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("data.npz");
/// let samples = Samples::on(Grid::unit(&[3, 3])?).input("b", vec![3.0; 9])?.output("u", vec![1.0; 9])?;
/// io::write_dataset(&path, &samples)?;
/// let found = io::inspect(&path, &[])?;
/// assert_eq!((found.samples, found.problem), (Some(1), None));
/// assert_eq!(found.arrays.iter().filter(|array| array.role == io::Role::Input).count(), 1);
/// # Ok(())
/// # }
/// ```
pub fn inspect(path: &Path, outputs: &[String]) -> Result<Inspection> {
    let (format, mut arrays) = raw_arrays(path)?;
    let usual = ["u".to_string()];
    let outputs = if outputs.is_empty() { &usual[..] } else { outputs };
    let has_points = arrays.iter().any(|array| array.name == "points");
    let role = |name: &String| match name.as_str() {
        "measure" if !has_points => Role::Input,
        place if PLACES.contains(&place) => Role::Place,
        _ if outputs.contains(name) => Role::Output,
        _ => Role::Input,
    };
    // Single precision, in which networks compute, has no larger numbers.
    let is_gap = |value: &f64| !(*value as f32).is_finite();
    let gaps_of = |array: &Array| -> Vec<usize> {
        array.values.iter().enumerate().filter(|(_, value)| is_gap(value)).map(|(at, _)| at).collect()
    };
    let gaps: Vec<Vec<usize>> = arrays.iter().map(gaps_of).collect();
    let originals = arrays.clone();
    let mut problem = match gaps.iter().any(|gaps| !gaps.is_empty()) {
        true => read_dataset(path, Need::Inputs, outputs).err(),
        false => None,
    };
    for array in arrays.iter_mut().filter(|array| role(&array.name) != Role::Place) {
        array.values.iter_mut().filter(|value| is_gap(value)).for_each(|value| *value = 0.0);
    }
    let filled = assemble(path, arrays, outputs).map_err(|error| problem.get_or_insert(error)).ok();
    let offsets = originals.iter().find(|array| array.name == "offsets").map(|array| array.values.as_slice());
    let mut facts = Vec::with_capacity(originals.len());
    for (array, gaps) in originals.iter().zip(&gaps) {
        let fields = filled.iter().flat_map(|samples| samples.fields().iter().chain(samples.outputs()));
        let field = fields.into_iter().find(|field| field.name == array.name);
        let components = match field {
            Some(field) => field.components,
            None if array.name == "points" && array.shape.len() > 1 => array.shape[array.shape.len() - 1].max(1),
            None => 1,
        };
        facts.push(ArrayFacts::of(array, role(&array.name), components, gaps, offsets));
    }
    let place = filled.as_ref().map(|samples| Place::of(samples.domain()));
    let advice = filled.as_ref().map_or_else(Vec::new, |samples| advice::advice(path, samples, &facts, outputs));
    Ok(Inspection {
        format,
        samples: filled.as_ref().map(Samples::count),
        place,
        arrays: facts,
        problem: problem.map(|error| error.to_string()),
        advice,
        filled,
        gaps,
    })
}

impl Inspection {
    /// The points of a sample and its fields with their roles; values that are not finite are NaN. Nothing if there is no such
    /// sample.
    pub fn sample(&self, index: usize) -> Option<(Domain, Vec<(Role, Field)>)> {
        let samples = self.filled.as_ref().filter(|samples| index < samples.count())?;
        let span = &samples.spans()[index];
        let domain = match samples.domain() {
            Domain::Clouds(clouds) => clouds.cloud(index).clone().into(),
            domain => domain.clone(),
        };
        let field = |role: Role, field: &Field| {
            let own = span.start * field.components..span.end * field.components;
            let mut values = field.values[own.clone()].to_vec();
            let gaps = self.arrays.iter().position(|array| array.name == field.name).map(|at| &self.gaps[at]);
            let inside = gaps.into_iter().flatten().filter(|at| own.contains(at) && !self.is_masked());
            inside.for_each(|at| values[at - own.start] = f64::NAN);
            (role, Field { name: field.name.clone(), components: field.components, values })
        };
        let inputs = samples.fields().iter().map(|input| field(Role::Input, input));
        Some((domain, inputs.chain(samples.outputs().iter().map(|output| field(Role::Output, output))).collect()))
    }

    /// Whether nodes were left out, so that values have other places than in the file.
    fn is_masked(&self) -> bool {
        self.arrays.iter().any(|array| array.name == "mask")
    }
}

/// What a path is, and its arrays as they are.
fn raw_arrays(path: &Path) -> Result<(String, Vec<Array>)> {
    if holds_meshes(path) {
        let meshes = read_meshes_by(read_mesh_with_gaps, path, None)?;
        let ending = meshes[0].0.extension().unwrap_or_default().to_string_lossy();
        return Ok((format!("a folder of VTK meshes, {} .{ending}", meshes.len()), mesh_arrays(&meshes)?));
    }
    if path.is_dir() {
        return Ok(("a folder of .npy files".into(), read_npy_folder(path)?));
    }
    if !path.exists() {
        return Err(Error::file(path, "does not exist", "give the file or the folder of a data set"));
    }
    match recognise(path)? {
        Format::Vtk => Ok((Format::Vtk.name().into(), mesh_arrays(&[(path.to_owned(), read_mesh_with_gaps(path)?)])?)),
        format => Ok((format.name().into(), file_arrays(path, None)?)),
    }
}

#[cfg(test)]
mod tests;
