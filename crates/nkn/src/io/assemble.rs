//! Samples made of the arrays of a file: which array says where the values are, and what its axes mean.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `u`, or the names asked for | N x s …, or N x M with `points`; x k of a vector | the functions to predict |
//! | any other name | as `u`, with components of its own | an input field |
//! | `points` | M x dim, or N x M x dim where samples differ | where the values are; without it they are on a regular grid |
//! | `offsets` | N + 1 | `points` (T x dim) and all fields (T, or T x k) are stacked: sample i has the rows from the i-th offset to the next |
//! | `weights` | as the points, without dim | the length, area or volume that each point stands for |
//! | `mask` | as the nodes, with or without samples | 0 where a node does not exist |
//! | `measure` | 1 | with `points`: the measure of the domain; that of the box around the points without it |
//! | `lower`, `upper` | dim | the corners of the box; without them that of a grid is the unit box, that of points unknown |
//! | `periodic` | dim | 1 where an axis of the box is periodic; then a grid has no nodes at its upper end |

use super::Array;
use crate::domain::{Clouds, Domain, Enclosure, Grid, PointCloud};
use crate::error::ensure;
use crate::field::{Samples, Values, dimensions};
use crate::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// Arrays that say where the values are.
pub(super) const PLACES: [&str; 8] = ["points", "offsets", "weights", "mask", "measure", "lower", "upper", "periodic"];

/// Makes samples of arrays that mean what those of the same names mean in a data set's file; the outputs are those of these names.
///
/// ```
/// use nkn::io::{Array, samples_of};
/// let array = |name: &str, shape: &[usize], values: Vec<f64>| Array { name: name.into(), shape: shape.into(), values };
/// let f = array("f", &[2, 3], vec![1.0; 6]);
/// let samples = samples_of(vec![f, array("points", &[3, 1], vec![0.1, 0.4, 0.9])], &[])?;
/// assert_eq!((samples.count(), samples.nodes()), (2, 3));
/// # Ok::<(), nkn::Error>(())
/// ```
pub fn samples_of(arrays: Vec<Array>, outputs: &[String]) -> Result<Samples> {
    for array in &arrays {
        let length = array.shape.iter().try_fold(1usize, |length, &side| length.checked_mul(side));
        ensure!(length == Some(array.values.len()), {
            let expected = format!("{} values", dimensions(&array.shape));
            let hint = "give the shape that the values have";
            Error::invalid(format!("array {:?}", array.name), expected, array.values.len(), hint)
        });
    }
    assemble(Path::new("arrays"), arrays, outputs)
}

/// Makes samples of the arrays of a file; the outputs are those of these names.
pub(super) fn assemble(path: &Path, mut arrays: Vec<Array>, outputs: &[String]) -> Result<Samples> {
    let mut take = |name: &str| arrays.iter().position(|array| array.name == name).map(|at| arrays.remove(at));
    let [points, offsets, weights, mask, lower, upper, periodic] =
        ["points", "offsets", "weights", "mask", "lower", "upper", "periodic"].map(&mut take);
    let corners = Corners { lower, upper, periodic };
    let measure = if points.is_some() { take("measure") } else { None };
    let is_output = |array: &Array| outputs.contains(&array.name);
    // An output stands for all, or the first field when none is there.
    let Some(reference) = arrays.iter().find(|array| is_output(array)).or(arrays.first()) else {
        let hint = "save the arrays with numpy.savez(path, f=f, u=u)";
        return Err(Error::file(path, "holds neither an output nor an input field", hint));
    };
    let is_stacked = offsets.is_some();
    if reference.shape.len() < if is_stacked { 1 } else { 2 } {
        return Err(shape_error(path, reference, "N x s … or N x M"));
    }
    let layout = match points {
        Some(points) => cloud(path, points, offsets, (weights, measure), corners, reference)?,
        None => match offsets.or(weights) {
            Some(array) => {
                let problem = format!("has `{}` without `points`", array.name);
                return Err(Error::file(path, problem, "store the coordinates under the name `points`"));
            }
            None => Layout::plain(grid(path, corners, &arrays, reference)?),
        },
    };
    if arrays.iter().all(is_output) {
        return Err(Error::file(
            path,
            format!("has no input field: its only arrays of values are {outputs:?}"),
            "store the functions to predict from too, under any other name",
        ));
    }
    let layout = match mask {
        Some(mask) => layout.masked(path, mask, reference)?,
        None => layout,
    };
    let value = |array: Array| (array.name.clone(), layout.values(array));
    // Outputs in the order asked for.
    let (mut known, inputs): (Vec<Array>, Vec<Array>) = arrays.into_iter().partition(is_output);
    known.sort_by_key(|array| outputs.iter().position(|name| *name == array.name));
    let samples = Samples::on(layout.domain.clone()).inputs(inputs.into_iter().map(value)).map_err(in_file(path))?;
    known.into_iter().try_fold(samples, |samples, array| {
        let (name, values) = value(array);
        samples.output(name, values).map_err(in_file(path))
    })
}

/// The box that the nodes fill, as far as a file says it.
struct Corners {
    lower: Option<Array>,
    upper: Option<Array>,
    periodic: Option<Array>,
}

impl Corners {
    /// The number of axes that it has, if anything is said.
    fn length(&self) -> Option<usize> {
        self.lower.as_ref().or(self.upper.as_ref()).or(self.periodic.as_ref()).map(|corner| corner.values.len())
    }

    /// Which axes are periodic, if it is said.
    fn periodic(&self, path: &Path, dim: usize) -> Result<Option<Vec<bool>>> {
        let Some(array) = &self.periodic else { return Ok(None) };
        if array.values.len() != dim || array.values.iter().any(|&value| value != 0.0 && value != 1.0) {
            let problem = format!("array `periodic` is {:?}", array.values);
            return Err(Error::file(path, problem, format!("give 0 or 1 for each of the {dim} axes")));
        }
        Ok(Some(array.values.iter().map(|&value| value == 1.0).collect()))
    }

    /// The box around scattered points.
    fn enclosure(&self, path: &Path, dim: usize) -> Result<Option<Enclosure>> {
        let periodic = self.periodic(path, dim)?.unwrap_or_else(|| vec![false; dim]);
        match (&self.lower, &self.upper) {
            (Some(lower), Some(upper)) => {
                let (lower, upper) = (lower.values.clone(), upper.values.clone());
                Enclosure::new(lower, upper, periodic).map(Some).map_err(in_file(path))
            }
            (None, None) if self.periodic.is_none() => Ok(None),
            _ => {
                let problem = "has `points`, but not both `lower` and `upper` of the box that they fill";
                Err(Error::file(path, problem, "store both corners; without a box leave out `periodic` too"))
            }
        }
    }
}

/// Where the values of the arrays are.
struct Layout {
    domain: Domain,
    /// Where some nodes do not exist: those that do, sample by sample, among the nodes of all samples of the arrays.
    kept: Option<Vec<usize>>,
    /// The nodes of the arrays before any were left out.
    nodes: Option<Domain>,
}

impl Layout {
    fn plain(domain: Domain) -> Self {
        Self { domain, kept: None, nodes: None }
    }

    /// The values of an array on the nodes that exist.
    fn values(&self, array: Array) -> Values {
        let (Some(kept), Some(before)) = (&self.kept, &self.nodes) else {
            return Values::shaped(array.shape, array.values);
        };
        let all = kept_length(before, &array);
        let components = array.values.len() / all.max(1);
        if components == 0 || components * all != array.values.len() || kept.iter().any(|&node| node >= all) {
            // As it is, so that the shape is refused with the array's name.
            return Values::shaped(array.shape, array.values);
        }
        let node = |&node: &usize| array.values[node * components..(node + 1) * components].to_vec();
        Values::vectors(components, kept.iter().flat_map(node).collect::<Vec<f64>>())
    }

    /// The same without the nodes where the mask is 0: scattered points, the same for all samples or for each its own.
    fn masked(self, path: &Path, mask: Array, reference: &Array) -> Result<Self> {
        let count = match &self.domain {
            Domain::Clouds(clouds) => clouds.count(),
            _ => reference.shape[0],
        };
        let total = match &self.domain {
            Domain::Clouds(clouds) => clouds.total(),
            domain => domain.len() * count,
        };
        let is_shared = mask.values.len() == self.domain.len() && !matches!(self.domain, Domain::Clouds(_));
        if !is_shared && mask.values.len() != total {
            return Err(shape_error(path, &mask, "the nodes of a sample, or those of all samples"));
        }
        let cloud = |sample: usize| match &self.domain {
            Domain::Clouds(clouds) => Ok(clouds.cloud(sample).clone()),
            Domain::Cloud(cloud) => Ok(cloud.clone()),
            Domain::Grid(grid) => grid.to_cloud(),
        };
        let (mut start, mut kept, mut clouds) = (0, Vec::new(), Vec::new());
        for sample in 0..count {
            let all = cloud(sample)?;
            let at = if is_shared { 0 } else { start };
            let own: Vec<usize> = (0..all.len()).filter(|node| mask.values[at + node] != 0.0).collect();
            if own.is_empty() {
                let problem = format!("array `mask` hides every node of sample {sample}");
                return Err(Error::file(path, problem, "remove the sample, or mark the nodes that exist with 1"));
            }
            kept.extend(own.iter().map(|node| start + node));
            start += all.len();
            clouds.push(all.select(&own).map_err(in_file(path))?);
        }
        Ok(Self { domain: Clouds::new(clouds)?.into(), kept: Some(kept), nodes: Some(self.domain) })
    }
}

/// The nodes of all samples of an array before any were left out.
fn kept_length(before: &Domain, array: &Array) -> usize {
    match before {
        Domain::Clouds(clouds) => clouds.total(),
        domain => domain.len() * array.shape.first().copied().unwrap_or(0),
    }
}

fn cloud(
    path: &Path,
    points: Array,
    offsets: Option<Array>,
    (weights, measure): (Option<Array>, Option<Array>),
    corners: Corners,
    reference: &Array,
) -> Result<Layout> {
    let measure = match measure {
        None => None,
        Some(array) if array.values.len() == 1 => Some(array.values[0]),
        Some(array) => return Err(shape_error(path, &array, "a single number")),
    };
    // The points say how many axes there are, and are checked below.
    let enclosure = match points.shape[..] {
        [_] => corners.enclosure(path, 1)?,
        [.., dim] => corners.enclosure(path, dim)?,
        [] => None,
    };
    let make = |dim: usize, coordinates: &[f64], weights: Option<&[f64]>, sample: Option<usize>| {
        let all = measure.unwrap_or_else(|| bounding_measure(dim, coordinates));
        let cloud = PointCloud::new(dim, coordinates.to_vec(), all);
        let cloud = cloud.and_then(|cloud| match weights {
            Some(weights) => cloud.with_weights(weights.to_vec()),
            None => Ok(cloud),
        });
        let cloud = cloud.and_then(|cloud| match &enclosure {
            Some(enclosure) => cloud.within(enclosure.clone()),
            None => Ok(cloud),
        });
        cloud.map_err(in_file(path)).map_err(|error| match (error, sample) {
            (Error::File { path, problem, hint }, Some(sample)) => {
                Error::File { path, problem: format!("sample {sample}: {problem}"), hint }
            }
            (error, _) => error,
        })
    };
    let nodes = if offsets.is_some() { reference.shape[0] } else { reference.shape[1] };
    let (dim, rows) = match points.shape[..] {
        [rows] => (1, vec![rows]),
        [rows, dim] => (dim, vec![rows]),
        [count, rows, dim] if offsets.is_none() => (dim, vec![count, rows]),
        _ => {
            let expected = if offsets.is_some() { "T x dim" } else { "M x dim, or N x M x dim" };
            return Err(shape_error(path, &points, expected));
        }
    };
    let expected: Vec<usize> = match rows.len() {
        1 => vec![nodes],
        _ => vec![reference.shape[0], nodes],
    };
    if rows != expected || dim == 0 {
        let expected = format!("{} x dim, one row per node of `{}`", dimensions(&expected), reference.name);
        return Err(shape_error(path, &points, &expected));
    }
    let total = points.values.len() / dim;
    if let Some(array) = &weights
        && array.values.len() != total
    {
        return Err(shape_error(path, array, &format!("{}, one number per point", dimensions(&rows))));
    }
    let spans: Vec<Range<usize>> = match (&offsets, rows.as_slice()) {
        (Some(offsets), _) => spans(path, offsets, total)?,
        (None, [count, each]) => (0..*count).map(|sample| sample * each..(sample + 1) * each).collect(),
        (None, _) => {
            let weights = weights.as_ref().map(|array| array.values.as_slice());
            return Ok(Layout::plain(make(dim, &points.values, weights, None)?.into()));
        }
    };
    let cloud = |(sample, span): (usize, &Range<usize>)| {
        let weights = weights.as_ref().map(|array| &array.values[span.clone()]);
        make(dim, &points.values[span.start * dim..span.end * dim], weights, Some(sample))
    };
    let clouds: Vec<PointCloud> = spans.iter().enumerate().map(cloud).collect::<Result<_>>()?;
    Ok(Layout::plain(Clouds::new(clouds).map_err(in_file(path))?.into()))
}

/// The rows of each sample.
fn spans(path: &Path, offsets: &Array, total: usize) -> Result<Vec<Range<usize>>> {
    let refused = |problem: String| {
        let hint = "offsets are N + 1 whole numbers: 0, the points of sample 0, those of samples 0 and 1, …";
        Error::file(path, format!("array `offsets`: {problem}"), hint)
    };
    let values = &offsets.values;
    if values.len() < 2 {
        return Err(refused(format!("expected two or more whole numbers, got {} values", values.len())));
    }
    if let Some(wrong) = values.iter().position(|&offset| offset < 0.0 || offset.fract() != 0.0) {
        return Err(refused(format!("expected whole numbers, got {} at place {wrong}", values[wrong])));
    }
    if values[0] != 0.0 || values[values.len() - 1] != total as f64 {
        let (first, last) = (values[0], values[values.len() - 1]);
        return Err(refused(format!("begins with {first} and ends with {last}; expected 0 and {total}, all points")));
    }
    let span = |(sample, pair): (usize, &[f64])| match pair[0] < pair[1] {
        true => Ok(pair[0] as usize..pair[1] as usize),
        false if pair[0] == pair[1] => Err(refused(format!("sample {sample} has no points"))),
        false => Err(refused(format!("decreases from {} to {} at sample {sample}", pair[0], pair[1]))),
    };
    values.windows(2).enumerate().map(span).collect()
}

fn grid(path: &Path, corners: Corners, arrays: &[Array], reference: &Array) -> Result<Domain> {
    let axes = grid_axes(arrays, reference, corners.length());
    let dim = axes.len();
    let periodic = corners.periodic(path, dim)?;
    let Corners { lower, upper, .. } = corners;
    let corner = |array: Option<Array>, default: f64| match array {
        None => Ok(vec![default; dim]),
        // MATLAB has no arrays with fewer than two axes.
        Some(array) if array.values.len() == dim => Ok(array.values),
        Some(array) => {
            let expected = format!("{dim}, a number per axis of `{}`", reference.name);
            Err(shape_error(path, &array, &expected))
        }
    };
    let grid = Grid::new(axes, corner(lower, 0.0)?, corner(upper, 1.0)?).map_err(in_file(path))?;
    Ok(match periodic {
        Some(axes) => grid.periodic(&axes)?.into(),
        None => grid.into(),
    })
}

/// The axes of the grid: what the shapes of all arrays have in common after the samples, less a last axis of components.
fn grid_axes(arrays: &[Array], reference: &Array, corner_length: Option<usize>) -> Vec<usize> {
    let own = &reference.shape[1..];
    let common = arrays.iter().filter(|array| array.shape.len() > 1).fold(own.len(), |common, array| {
        let alike = own.iter().zip(&array.shape[1..]).take_while(|(a, b)| a == b).count();
        // An array of quite another shape is refused later, by its name.
        if alike == 0 { common } else { common.min(alike) }
    });
    // Where all fields are vectors, the corners say how many axes the grid has; without them a short last axis behind
    // long ones is taken for the components.
    let is_short = |axes: &[usize]| matches!(axes, [long @ .., last] if !long.is_empty() && *last <= 3 && long.iter().all(|&side| side > 3));
    match corner_length {
        Some(length) if length + 1 == common => own[..length].to_vec(),
        None if common == own.len() && is_short(own) => own[..common - 1].to_vec(),
        _ => own[..common].to_vec(),
    }
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
    Error::file(
        path,
        format!("array `{}` has the shape {}; expected {expected}", array.name, dimensions(&array.shape)),
        "all input fields and `u` have one shape, samples first; other data belongs in another file",
    )
}

/// An error about values, as one about the file that they are from.
pub(super) fn in_file(path: &Path) -> impl FnOnce(Error) -> Error {
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

#[cfg(test)]
mod tests;
