//! Data sets as NumPy's `.npz` files: what `np.savez(path, f=f, u=u)` writes.
//!
//! | array | shape | meaning |
//! |---|---|---|
//! | `u` | N x s, N x s x s, N x s x s x s, or N x M with `points` | the functions to predict |
//! | `points` | M x dim | where the values are; without it they are on a regular grid |
//! | `lower`, `upper` | dim | the corners of the grid's box; the unit box without them |
//! | any other name | as `u` | an input field |
//!
//! Numbers may be f64, f32, i64, i32, u8 or bool, in C or Fortran order; they are read as f64.

use super::atomic::replace_atomically;
use super::matlab::{list_matlab, read_matlab};
use super::npz_claims::check_claims;
use crate::{Error, Result};
use ndarray::{ArrayD, ArrayViewD, IxDyn};
use ndarray_npy::{NpzReader, NpzWriter, ReadNpyError, ReadNpzError, ReadableElement};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

/// Names that are not input fields.
const RESERVED: [&str; 4] = ["u", "points", "lower", "upper"];

/// Where the values of a data set are.
#[derive(Clone, Debug, PartialEq)]
pub enum DatasetDomain {
    /// A regular grid, the last axis running fastest.
    Grid {
        /// The number of nodes along each axis: one to three axes.
        shape: Vec<usize>,
        /// The box's lower corner.
        lower: Vec<f64>,
        /// The box's upper corner.
        upper: Vec<f64>,
    },
    /// Points anywhere, the same for all samples.
    Points {
        /// The number of coordinates of a point.
        dim: usize,
        /// The coordinates, nodes x dim, row-major.
        coordinates: Vec<f64>,
    },
}

/// Input fields and the functions to predict from them, on a domain that all samples share.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Where the values are.
    pub domain: DatasetDomain,
    /// The input fields by name, each count x nodes, row-major.
    pub fields: Vec<(String, Vec<f64>)>,
    /// The functions to predict (`u`), count x nodes, row-major; none in a file of inputs alone.
    pub outputs: Option<Vec<f64>>,
    /// The number of samples.
    pub count: usize,
    /// The number of nodes.
    pub nodes: usize,
}

/// Reads a data set; `u` must be there.
pub fn read_npz(path: &Path) -> Result<Dataset> {
    with_outputs(path, read_npz_inputs(path)?)
}

/// The names under which the public Darcy files keep what is called otherwise here.
const PUBLIC_NAMES: [(&str, &str); 5] =
    [("coeff", "b"), ("Kcoeff", "b_eps"), ("Kcoeff_x", "b_eps_x"), ("Kcoeff_y", "b_eps_y"), ("sol", "u")];

/// Reads a data set from a MATLAB file, all samples or the first so many: its arrays of real numbers are taken as those of an
/// .npz file are. `coeff`, `Kcoeff`, `Kcoeff_x`, `Kcoeff_y` and `sol` of the public Darcy files become b, b_eps, b_eps_x, b_eps_y and u.
pub fn read_mat(path: &Path, first: Option<usize>) -> Result<Dataset> {
    let numeric = |class: &str| {
        matches!(class, "double" | "single" | "logical") || class.starts_with("int") || class.starts_with("uint")
    };
    let variables = list_matlab(path)?;
    let names: Vec<&str> = variables.iter().filter(|v| numeric(&v.class)).map(|v| v.name.as_str()).collect();
    let renamed = |name: String| match PUBLIC_NAMES.iter().find(|(public, _)| *public == name) {
        Some((_, own)) => own.to_string(),
        None => name,
    };
    let mut arrays = Vec::new();
    for name in names {
        let is_whole = RESERVED.contains(&name) && name != "u";
        let read = read_matlab(path, &[name], if is_whole { None } else { first })?;
        arrays.extend(read.into_iter().map(|a| (renamed(a.name), Array { shape: a.shape, values: a.values })));
    }
    assemble(path, arrays)
}

/// Refuses a data set without `u`.
pub(super) fn with_outputs(path: &Path, dataset: Dataset) -> Result<Dataset> {
    if dataset.outputs.is_none() {
        let found: Vec<&str> = dataset.fields.iter().map(|f| f.0.as_str()).collect();
        return Err(Error::file(
            path,
            format!("has no array `u`; it has {}", quoted(&found)),
            "store the functions to predict under the name `u`",
        ));
    }
    Ok(dataset)
}

/// Reads a data set for prediction: `u` may be missing.
pub fn read_npz_inputs(path: &Path) -> Result<Dataset> {
    let mut file = File::open(path).map_err(Error::io(path, "open"))?;
    check_magic(path, &mut file)?;
    check_claims(path, file.try_clone().map_err(Error::io(path, "open"))?)?;
    let mut archive = NpzReader::new(file).map_err(|error| {
        Error::file(
            path,
            format!("starts as an .npz file, but its end is missing or damaged ({error})"),
            "the file is probably truncated: copy or download it again",
        )
    })?;
    let names = archive.names().map_err(|e| damaged(path, "?", &e))?;
    let mut arrays = Vec::new();
    for name in names {
        let array = read_array(path, &mut archive, &name)?;
        arrays.push((name, array));
    }
    assemble(path, arrays)
}

/// Writes a data set.
///
/// The file appears under its name only when it is complete and on the disk.
pub fn write_npz(path: &Path, dataset: &Dataset) -> Result<()> {
    check(dataset)?;
    replace_atomically(path, |file| write_arrays(file, dataset))
}

// ---- reading

/// One array of a file, as f64 in C order.
struct Array {
    shape: Vec<usize>,
    values: Vec<f64>,
}

/// Says what a file that is not a zip archive looks like.
fn check_magic(path: &Path, file: &mut File) -> Result<()> {
    const NPZ: &str = "save the arrays with numpy.savez(path, f=f, u=u)";
    let mut head = Vec::new();
    let read = file.by_ref().take(128).read_to_end(&mut head);
    read.and_then(|_| file.rewind()).map_err(Error::io(path, "read"))?;
    if head.starts_with(b"PK") {
        return Ok(());
    }
    let (problem, hint) = if head.is_empty() {
        ("is empty", "the program that wrote it was probably stopped: write it again")
    } else if head.starts_with(b"\x89HDF\r\n\x1a\n") || head.starts_with(b"MATLAB 7.3") {
        (
            "is not an .npz file: it looks like an HDF5 file (or MATLAB v7.3)",
            "load it with h5py and save the arrays with numpy.savez(path, f=f, u=u)",
        )
    } else if head.starts_with(b"MATLAB 5.0") {
        (
            "is not an .npz file: it looks like a MATLAB v5 file",
            "load it with scipy.io.loadmat and save the arrays with numpy.savez(path, f=f, u=u)",
        )
    } else if head.starts_with(b"\x93NUMPY") {
        (
            "is not an .npz file: it looks like a single .npy array",
            "save the inputs and u together with numpy.savez(path, f=f, u=u)",
        )
    } else if head.starts_with(b"\x1f\x8b") {
        ("is not an .npz file: it looks like a gzip file", "unpack it first")
    } else if head.iter().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
        ("is not an .npz file: it looks like a text file", NPZ)
    } else {
        ("is not an .npz file: it is no zip archive", NPZ)
    };
    Err(Error::file(path, problem, hint))
}

/// Reads an array of any of the accepted element types.
fn read_array(path: &Path, archive: &mut NpzReader<File>, name: &str) -> Result<Array> {
    // The file names its type, but only an attempt of that type can read it; a wrong one fails before reading.
    type Reader = fn(&mut NpzReader<File>, &str) -> std::result::Result<Array, ReadNpzError>;
    let readers: [Reader; 6] = [
        |archive, name| read_as::<f64>(archive, name, |x| x),
        |archive, name| read_as::<f32>(archive, name, f64::from),
        |archive, name| read_as::<i64>(archive, name, |x| x as f64),
        |archive, name| read_as::<i32>(archive, name, f64::from),
        |archive, name| read_as::<u8>(archive, name, f64::from),
        |archive, name| read_as::<bool>(archive, name, f64::from),
    ];
    let mut descriptor = String::new();
    for reader in readers {
        match reader(archive, name) {
            Err(ReadNpzError::Npy(ReadNpyError::WrongDescriptor(found))) => {
                descriptor = found.to_string();
            }
            Err(error) => return Err(damaged(path, name, &error)),
            Ok(array) => return Ok(array),
        }
    }
    Err(Error::file(
        path,
        format!("array `{name}` has the element type {descriptor}; expected real numbers"),
        format!("convert it: {name}.astype(numpy.float64)"),
    ))
}

fn read_as<T: ReadableElement + Copy>(
    archive: &mut NpzReader<File>,
    name: &str,
    convert: fn(T) -> f64,
) -> std::result::Result<Array, ReadNpzError> {
    let array: ArrayD<T> = archive.by_name(name)?;
    Ok(Array {
        shape: array.shape().to_vec(),
        // The iterator follows the indices, whatever the order in memory.
        values: array.iter().map(|&x| convert(x)).collect(),
    })
}

fn damaged(path: &Path, name: &str, error: &ReadNpzError) -> Error {
    Error::file(
        path,
        format!("array `{name}` cannot be read: {error}"),
        "the file is damaged or was not written by numpy.savez: write or download it again",
    )
}

/// Checks the arrays against each other and makes a data set of them.
fn assemble(path: &Path, mut arrays: Vec<(String, Array)>) -> Result<Dataset> {
    let points = take(&mut arrays, "points");
    let lower = take(&mut arrays, "lower");
    let upper = take(&mut arrays, "upper");
    // The first array stands for all when `u` is missing.
    arrays.sort_by_key(|(name, _)| name != "u");
    let Some((reference, shape)) = arrays.first().map(|(n, a)| (n.clone(), a.shape.clone())) else {
        return Err(Error::file(
            path,
            "holds neither `u` nor an input field",
            "save the arrays with numpy.savez(path, f=f, u=u)",
        ));
    };
    let [count, axes @ ..] = &shape[..] else {
        return Err(shape_error(path, &reference, &shape, "N x s … or N x M"));
    };
    let nodes = axes.iter().product();
    if *count == 0 || nodes == 0 || axes.is_empty() {
        let expected = "at least one sample and one node";
        return Err(shape_error(path, &reference, &shape, expected));
    }
    for (name, array) in &arrays {
        if array.shape != shape {
            let expected = format!("{} as `{reference}`", dimensions(&shape));
            return Err(shape_error(path, name, &array.shape, &expected));
        }
        if let Some(at) = array.values.iter().position(|x| !x.is_finite()) {
            return Err(Error::file(
                path,
                format!(
                    "array `{name}` is not finite ({}) in sample {}, node {}",
                    array.values[at],
                    at / nodes,
                    at % nodes
                ),
                "remove the sample, or repair the program that wrote it",
            ));
        }
    }
    let domain = match points {
        Some(points) if lower.is_none() && upper.is_none() => cloud(path, points, &reference, &shape)?,
        Some(_) => {
            return Err(Error::file(
                path,
                "has `points` and also `lower` or `upper`, which belong to a regular grid",
                "leave out either `points` or both corners",
            ));
        }
        None => grid(path, lower, upper, &reference, &shape)?,
    };
    let outputs = take(&mut arrays, "u").map(|u| u.values);
    if arrays.is_empty() {
        return Err(Error::file(
            path,
            "has no input field: its only array of values is `u`",
            "store the functions to predict from too, under any other name",
        ));
    }
    Ok(Dataset {
        domain,
        fields: arrays.into_iter().map(|(n, a)| (n, a.values)).collect(),
        outputs,
        count: *count,
        nodes,
    })
}

fn take(arrays: &mut Vec<(String, Array)>, name: &str) -> Option<Array> {
    let at = arrays.iter().position(|(n, _)| n == name)?;
    Some(arrays.remove(at).1)
}

fn cloud(path: &Path, points: Array, reference: &str, shape: &[usize]) -> Result<DatasetDomain> {
    if points.shape.len() == 3 {
        return Err(Error::file(
            path,
            format!(
                "array `points` has the shape {}: points that differ by sample are not supported yet",
                dimensions(&points.shape)
            ),
            "interpolate all samples to common points (M x dim), or write one file per set of points",
        ));
    }
    let &[_, nodes] = shape else {
        let expected = "N x M, since there is an array `points`";
        return Err(shape_error(path, reference, shape, expected));
    };
    match points.shape[..] {
        [m, dim] if m == nodes && dim > 0 => {
            if let Some(at) = points.values.iter().position(|x| !x.is_finite()) {
                return Err(Error::file(
                    path,
                    format!(
                        "array `points` is not finite ({}) in point {}, coordinate {}",
                        points.values[at],
                        at / dim,
                        at % dim
                    ),
                    "remove the point from all arrays, or repair the program that wrote it",
                ));
            }
            Ok(DatasetDomain::Points { dim, coordinates: points.values })
        }
        _ => {
            let expected = format!("{nodes} x dim, one row per node of `{reference}`");
            Err(shape_error(path, "points", &points.shape, &expected))
        }
    }
}

fn grid(
    path: &Path,
    lower: Option<Array>,
    upper: Option<Array>,
    reference: &str,
    shape: &[usize],
) -> Result<DatasetDomain> {
    let axes = &shape[1..];
    let dim = axes.len();
    if dim > 3 {
        let expected = "N x s, N x s x s or N x s x s x s";
        return Err(shape_error(path, reference, shape, expected));
    }
    let corner = |name, array: Option<Array>, default| match array {
        None => Ok(vec![default; dim]),
        Some(array) if array.shape == [dim] => Ok(array.values),
        Some(array) => {
            let expected = format!("{dim}, a number per axis of `{reference}`");
            Err(shape_error(path, name, &array.shape, &expected))
        }
    };
    let lower = corner("lower", lower, 0.0)?;
    let upper = corner("upper", upper, 1.0)?;
    for (axis, (low, high)) in lower.iter().zip(&upper).enumerate() {
        if !(low.is_finite() && high.is_finite() && low < high) {
            return Err(Error::file(
                path,
                format!("the box goes from {low} to {high} along axis {axis}"),
                "every number of `lower` must be below that of `upper`, and both finite",
            ));
        }
    }
    Ok(DatasetDomain::Grid { shape: axes.to_vec(), lower, upper })
}

fn shape_error(path: &Path, name: &str, shape: &[usize], expected: &str) -> Error {
    Error::file(
        path,
        format!("array `{name}` has the shape {}; expected {expected}", dimensions(shape)),
        "all input fields and `u` have one shape, samples first; other data belongs in another file",
    )
}

fn dimensions(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "of a single number".to_owned();
    }
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    sizes.join(" x ")
}

fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

// ---- writing

/// Refuses to write what could not be read back.
fn check(dataset: &Dataset) -> Result<()> {
    let invalid = |what: String, expected: &str, got: String| {
        let hint = "the data set does not fit together: check the program that made it";
        Err(Error::invalid(what, expected, got, hint))
    };
    let nodes = match &dataset.domain {
        DatasetDomain::Grid { shape, lower, upper } => {
            let dim = shape.len();
            let ordered = lower.iter().zip(upper).all(|(low, high)| low < high);
            let finite = lower.iter().chain(upper).all(|x| x.is_finite());
            if !(1..=3).contains(&dim) || lower.len() != dim || upper.len() != dim {
                let got = format!("{dim}, {} and {}", lower.len(), upper.len());
                return invalid("numbers of axes".into(), "one to three, all equal", got);
            }
            if !ordered || !finite {
                let got = format!("{lower:?} to {upper:?}");
                return invalid("box".into(), "lower below upper, both finite", got);
            }
            shape.iter().product()
        }
        DatasetDomain::Points { dim, coordinates } => {
            if *dim == 0 || coordinates.len() != dataset.nodes * dim {
                let got = format!("{} numbers, dim = {dim}", coordinates.len());
                return invalid("points".into(), "dim > 0 numbers per node", got);
            }
            if let Some(bad) = coordinates.iter().find(|x| !x.is_finite()) {
                return invalid("points".into(), "finite numbers", bad.to_string());
            }
            dataset.nodes
        }
    };
    if nodes != dataset.nodes || nodes == 0 || dataset.count == 0 {
        let got = format!("{} nodes, {} samples", dataset.nodes, dataset.count);
        let expected = format!("{nodes} nodes as in the domain, and at least one of both");
        return invalid("size of the data set".into(), &expected, got);
    }
    if dataset.fields.is_empty() {
        return invalid("input fields".into(), "at least one", "none".into());
    }
    for (at, (name, _)) in dataset.fields.iter().enumerate() {
        let repeated = dataset.fields[..at].iter().any(|(other, _)| other == name);
        let odd = name.is_empty() || name.contains(['/', '\\', '\0']) || name.ends_with(".npy");
        if repeated || odd || RESERVED.contains(&name.as_str()) {
            let expected = "a name of its own, not u, points, lower or upper, without slashes or .npy";
            return invalid(format!("name of field {at}"), expected, format!("{name:?}"));
        }
    }
    let fields = dataset.fields.iter().map(|(n, v)| (n.as_str(), v));
    for (name, values) in fields.chain(dataset.outputs.iter().map(|u| ("u", u))) {
        if values.len() != dataset.count * nodes {
            let expected = format!("{} x {nodes} numbers", dataset.count);
            return invalid(format!("field {name}"), &expected, values.len().to_string());
        }
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite {
                what: format!("field {name}"),
                got: values[at],
                place: format!("in sample {}, node {}", at / nodes, at % nodes),
                hint: "the file was not written: repair or leave out this sample".into(),
            });
        }
    }
    Ok(())
}

fn write_arrays(file: File, dataset: &Dataset) -> io::Result<File> {
    let mut archive = NpzWriter::new(file);
    let mut add = |name: &str, shape: &[usize], values: &[f64]| {
        let array = ArrayViewD::from_shape(IxDyn(shape), values).map_err(io::Error::other)?;
        archive.add_array(name, &array).map_err(system_error)
    };
    let mut shape = vec![dataset.count];
    match &dataset.domain {
        DatasetDomain::Grid { shape: axes, lower, upper } => {
            shape.extend(axes);
            add("lower", &[lower.len()], lower)?;
            add("upper", &[upper.len()], upper)?;
        }
        DatasetDomain::Points { dim, coordinates } => {
            shape.push(dataset.nodes);
            add("points", &[dataset.nodes, *dim], coordinates)?;
        }
    }
    for (name, values) in &dataset.fields {
        add(name, &shape, values)?;
    }
    if let Some(outputs) = &dataset.outputs {
        add("u", &shape, outputs)?;
    }
    archive.finish().map_err(system_error)
}

/// Digs the system's error out of its wrapping: its kind (a full disk) decides what the user is told.
fn system_error(error: ndarray_npy::WriteNpzError) -> io::Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(inner) = cause {
        if let Some(system) = inner.downcast_ref::<io::Error>() {
            return io::Error::new(system.kind(), system.to_string());
        }
        cause = inner.source();
    }
    io::Error::other(error.to_string())
}

#[cfg(test)]
mod tests;
