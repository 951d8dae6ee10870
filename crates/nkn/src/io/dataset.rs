//! Data sets: samples from and to files.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `u` | N x s, N x s x s, N x s x s x s, or N x M with `points` | the functions to predict |
//! | `points` | M x dim | where the values are; without it they are on a regular grid |
//! | `measure` | 1 | with `points`: the length, area or volume of the domain; that of the box around the points without it |
//! | `lower`, `upper` | dim | the corners of the grid's box; the unit box without them |
//! | any other name | as `u` | an input field |

use super::Array;
use super::atomic::replace_atomically;
use super::matlab;
use super::npz::{read_npz, write_npz};
use super::recognise::{Format, recognise};
use crate::domain::{Domain, Grid, PointCloud};
use crate::error::ensure;
use crate::field::{Samples, Values, dimensions};
use crate::{Error, Result};
use std::path::Path;

/// The output's name in a file.
const OUTPUT: &str = "u";

/// Arrays that say where the values are.
const PLACES: [&str; 4] = ["points", "measure", "lower", "upper"];

/// The names under which the public Darcy files keep what is called otherwise here.
const PUBLIC_NAMES: [(&str, &str); 5] =
    [("coeff", "b"), ("Kcoeff", "b_eps"), ("Kcoeff_x", "b_eps_x"), ("Kcoeff_y", "b_eps_y"), ("sol", "u")];

/// Whether a data set must have its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// To train and to evaluate: u is there.
    Output,
    /// To predict: u may be absent.
    Inputs,
}

/// Reads a data set: NumPy's .npz, or MATLAB v5 or v7.3, whatever its name.
pub fn read_dataset(path: &Path, need: Need) -> Result<Samples> {
    read_first(path, need, None)
}

/// Reads the first so many samples of a data set, or all there are.
pub fn read_first(path: &Path, need: Need, first: Option<usize>) -> Result<Samples> {
    let arrays = match recognise(path)? {
        Format::Npz => read_npz(path)?,
        Format::Matlab5 | Format::Matlab73 => matlab_arrays(path, first)?,
        other => return Err(other.refused(path, "a data set: an .npz file, or MATLAB v5 or v7.3")),
    };
    let samples = assemble(path, arrays)?;
    if need == Need::Output && samples.output_name().is_none() {
        let found: Vec<String> = samples.fields().iter().map(|field| format!("`{}`", field.name)).collect();
        let problem = format!("has no array `u`; it has {}", found.join(", "));
        return Err(Error::file(path, problem, "store the functions to predict under the name `u`"));
    }
    Ok(match first {
        Some(first) if (1..samples.count()).contains(&first) => samples.select(&(0..first).collect::<Vec<_>>()),
        _ => samples,
    })
}

/// The arrays of real numbers of a MATLAB file, under our names; all samples or the first so many.
fn matlab_arrays(path: &Path, first: Option<usize>) -> Result<Vec<Array>> {
    let mut file = matlab::open(path)?;
    let variables = file.variables().to_vec();
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

/// Makes samples of arrays.
fn assemble(path: &Path, mut arrays: Vec<Array>) -> Result<Samples> {
    let mut take = |name: &str| arrays.iter().position(|array| array.name == name).map(|at| arrays.remove(at));
    let [points, lower, upper, output] = ["points", "lower", "upper", OUTPUT].map(&mut take);
    let measure = if points.is_some() { take("measure") } else { None };
    // The first field stands for all when `u` is missing.
    let Some(reference) = output.as_ref().or(arrays.first()) else {
        let hint = "save the arrays with numpy.savez(path, f=f, u=u)";
        return Err(Error::file(path, "holds neither `u` nor an input field", hint));
    };
    ensure!(reference.shape.len() >= 2, shape_error(path, reference, "N x s … or N x M"));
    let domain = match points {
        Some(points) if lower.is_none() && upper.is_none() => cloud(path, points, measure, reference)?,
        Some(_) => {
            let problem = "has `points` and also `lower` or `upper`, which belong to a regular grid";
            let hint = "leave out either `points` or both corners";
            return Err(Error::file(path, problem, hint));
        }
        None => grid(path, lower, upper, reference)?,
    };
    let hint = "store the functions to predict from too, under any other name";
    ensure!(!arrays.is_empty(), Error::file(path, "has no input field: its only array of values is `u`", hint));
    let fields = arrays.into_iter().map(|array| (array.name, Values::shaped(array.shape, array.values)));
    let samples = Samples::on(domain).inputs(fields).map_err(in_file(path))?;
    match output {
        Some(u) => samples.output(OUTPUT, Values::shaped(u.shape, u.values)).map_err(in_file(path)),
        None => Ok(samples),
    }
}

fn cloud(path: &Path, points: Array, measure: Option<Array>, reference: &Array) -> Result<Domain> {
    let nodes = reference.shape[1];
    let [count, dim] = points.shape[..] else {
        let problem = match points.shape.len() {
            3 => "points that differ by sample are not supported yet",
            _ => "expected M x dim",
        };
        let problem = format!("array `points` has the shape {}: {problem}", dimensions(&points.shape));
        let hint = "interpolate all samples to common points (M x dim), or write one file per set of points";
        return Err(Error::file(path, problem, hint));
    };
    let expected = format!("{nodes} x dim, one row per node of `{}`", reference.name);
    ensure!(count == nodes && dim != 0, shape_error(path, &points, &expected));
    let measure = match measure {
        None => bounding_measure(dim, &points.values),
        Some(array) if array.values.len() == 1 => array.values[0],
        Some(array) => return Err(shape_error(path, &array, "a single number")),
    };
    Ok(PointCloud::new(dim, points.values, measure).map_err(in_file(path))?.into())
}

fn grid(path: &Path, lower: Option<Array>, upper: Option<Array>, reference: &Array) -> Result<Domain> {
    let axes = reference.shape[1..].to_vec();
    let dim = axes.len();
    let corner = |array: Option<Array>, default: f64| match array {
        None => Ok(vec![default; dim]),
        // MATLAB has no arrays with fewer than two axes.
        Some(array) if array.values.len() == dim => Ok(array.values),
        Some(array) => {
            let expected = format!("{dim}, a number per axis of `{}`", reference.name);
            Err(shape_error(path, &array, &expected))
        }
    };
    Ok(Grid::new(axes, corner(lower, 0.0)?, corner(upper, 1.0)?).map_err(in_file(path))?.into())
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

fn shape_error(path: &Path, array: &Array, expected: &str) -> Error {
    let problem = format!("array `{}` has the shape {}; expected {expected}", array.name, dimensions(&array.shape));
    let hint = "all input fields and `u` have one shape, samples first; other data belongs in another file";
    Error::file(path, problem, hint)
}

/// An error about values, as one about the file that they are from.
fn in_file(path: &Path) -> impl FnOnce(Error) -> Error {
    move |error| match error {
        Error::Invalid { what, expected, got, hint } => {
            Error::file(path, format!("{what}: expected {expected}, got {got}"), hint)
        }
        Error::NotFinite { what, got, place, hint } => {
            Error::file(path, format!("{what} is not finite ({got}) {place}"), hint)
        }
        other => other,
    }
}

/// Writes samples as an .npz file, the output under the name `u`.
///
/// The file appears under its name only when it is complete and on the disk.
pub fn write_dataset(path: &Path, samples: &Samples) -> Result<()> {
    for name in samples.fields().iter().map(|field| field.name.as_str()) {
        let is_odd = name.contains(['/', '\\', '\0']) || name.ends_with(".npy");
        if is_odd || name == OUTPUT || PLACES.contains(&name) {
            let expected = "a name without slashes, and not u, points, measure, lower or upper";
            let hint = "such a file could not be read back: rename the field";
            return Err(Error::invalid("input field", expected, format!("{name:?}"), hint));
        }
    }
    let mut arrays: Vec<(&str, Vec<usize>, &[f64])> = Vec::new();
    let mut shape = vec![samples.count()];
    let measure;
    match samples.domain() {
        Domain::Grid(grid) => {
            shape.extend(grid.shape());
            arrays.push(("lower", vec![grid.dim()], grid.lower()));
            arrays.push(("upper", vec![grid.dim()], grid.upper()));
        }
        Domain::Cloud(cloud) => {
            shape.push(cloud.len());
            arrays.push(("points", vec![cloud.len(), cloud.dim()], cloud.coordinates()));
            measure = [cloud.measure()];
            arrays.push(("measure", vec![1], &measure));
        }
    }
    arrays.extend(samples.fields().iter().map(|field| (field.name.as_str(), shape.clone(), field.values.as_slice())));
    if let Ok(output) = samples.output_values() {
        arrays.push((OUTPUT, shape, output));
    }
    replace_atomically(path, |file| write_npz(file, arrays))
}

#[cfg(test)]
mod tests;
