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

use super::npz_claims::check_claims;
use crate::{Error, Result};
use ndarray::{ArrayD, ArrayViewD, IxDyn};
use ndarray_npy::{NpzReader, NpzWriter, ReadNpyError, ReadNpzError, ReadableElement};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

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
    let dataset = read_npz_inputs(path)?;
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
/// The file appears under its name only when it is complete and on the disk: it is written beside it as a
/// hidden `.tmp` file, which is removed after an error. A kill leaves the old file as it was and, at most, the `.tmp` file.
pub fn write_npz(path: &Path, dataset: &Dataset) -> Result<()> {
    check(dataset)?;
    let (temporary, file) = Temporary::beside(path)?;
    let file = write_arrays(file, dataset).map_err(Error::io(path, "write"))?;
    file.sync_all().map_err(Error::io(path, "write"))?;
    drop(file);
    fs::rename(&temporary.0, path).map_err(Error::io(path, "write"))?;
    sync_folder(path).map_err(Error::io(path, "write"))
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

/// A file that disappears with its value, unless it has been renamed.
struct Temporary(PathBuf);

impl Temporary {
    fn beside(path: &Path) -> Result<(Self, File)> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // A killed process with our number may have left its file, so several names are tried.
        for attempt in 0.. {
            let hidden = format!(".{name}.{}.{attempt}.tmp", std::process::id());
            let temporary = path.with_file_name(hidden);
            match File::create_new(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(error) => return Err(Error::io(path, "create")(error)),
                Ok(file) => return Ok((Self(temporary), file)),
            }
        }
        unreachable!("the last attempt returns")
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After a rename there is nothing to remove; after an error that error is reported, not this one.
        let _ = fs::remove_file(&self.0);
    }
}

/// Makes the new name survive a power cut.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array2, Array3, ShapeBuilder, array};
    use ndarray_npy::WriteNpyExt;
    use tempfile::{TempDir, tempdir};

    fn example() -> Dataset {
        Dataset {
            domain: DatasetDomain::Grid { shape: vec![2, 3], lower: vec![-1.0, 0.0], upper: vec![1.0, 2.5] },
            fields: vec![
                ("b".into(), (0..12).map(f64::from).collect()),
                ("a".into(), (0..12).map(|i| 0.1 * f64::from(i)).collect()),
            ],
            outputs: Some((0..12).map(|i| f64::from(i).sqrt()).collect()),
            count: 2,
            nodes: 6,
        }
    }

    /// Writes arrays as numpy.savez would, without any of our checks.
    struct Savez {
        archive: NpzWriter<File>,
        folder: TempDir,
    }

    impl Savez {
        fn new() -> Self {
            let folder = tempdir().unwrap();
            let file = File::create(folder.path().join("data.npz")).unwrap();
            Self { archive: NpzWriter::new(file), folder }
        }

        fn with(mut self, name: &str, array: &impl WriteNpyExt) -> Self {
            self.archive.add_array(name, array).unwrap();
            self
        }

        fn read(self) -> Result<Dataset> {
            self.archive.finish().unwrap();
            read_npz(&self.folder.path().join("data.npz"))
        }

        /// The message of the error, which must name the file and give a hint.
        fn refused(self) -> String {
            let message = self.read().unwrap_err().to_string();
            assert!(message.contains("data.npz: "), "{message}");
            assert!(message.contains("hint: "), "{message}");
            message
        }
    }

    fn refused_bytes(bytes: &[u8]) -> String {
        let folder = tempdir().unwrap();
        let path = folder.path().join("data.npz");
        fs::write(&path, bytes).unwrap();
        read_npz(&path).unwrap_err().to_string()
    }

    #[test]
    fn round_trip() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("data.npz");
        let mut dataset = example();
        write_npz(&path, &dataset).unwrap();
        assert_eq!(read_npz(&path).unwrap(), dataset);
        // Over an existing file, as points, and without outputs.
        dataset.domain =
            DatasetDomain::Points { dim: 2, coordinates: (0..12).map(|i| 1.0 / f64::from(i + 1)).collect() };
        dataset.outputs = None;
        write_npz(&path, &dataset).unwrap();
        assert_eq!(read_npz_inputs(&path).unwrap(), dataset);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let message = read_npz(&path).unwrap_err().to_string();
        assert!(message.contains("has no array `u`; it has `b`, `a`"), "{message}");
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempdir().unwrap();
        // A folder in the way: everything works up to the rename.
        let path = folder.path().join("data.npz");
        fs::create_dir(&path).unwrap();
        let error = write_npz(&path, &example()).unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        let missing = folder.path().join("missing/data.npz");
        let message = write_npz(&missing, &example()).unwrap_err().to_string();
        assert!(message.contains("could not create"), "{message}");
    }

    #[test]
    fn a_stale_temporary_file_is_no_obstacle() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("data.npz");
        let stale = format!(".data.npz.{}.0.tmp", std::process::id());
        fs::write(folder.path().join(&stale), "stale").unwrap();
        write_npz(&path, &example()).unwrap();
        assert_eq!(read_npz(&path).unwrap(), example());
        assert_eq!(fs::read(folder.path().join(&stale)).unwrap(), b"stale");
    }

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("data.npz");
        type Case = (fn(&mut Dataset), &'static str);
        let cases: [Case; 9] = [
            (|d| d.fields[0].1[8] = f64::NAN, "sample 1, node 2"),
            (|d| d.fields[0].0 = "u".into(), "name of field 0"),
            (|d| d.fields[1].0 = "b".into(), "name of field 1"),
            (|d| d.fields[1].0 = "../b".into(), "name of field 1"),
            (|d| d.fields.clear(), "input fields"),
            (|d| d.outputs = Some(vec![0.0; 11]), "field u: expected 2 x 6"),
            (|d| d.nodes = 5, "size of the data set"),
            (|d| d.domain = DatasetDomain::Points { dim: 2, coordinates: vec![0.0; 11] }, "points: expected dim > 0"),
            (
                |d| d.domain = DatasetDomain::Grid { shape: vec![6], lower: vec![1.0], upper: vec![0.0] },
                "box: expected lower below upper",
            ),
        ];
        for (spoil, expected) in cases {
            let mut dataset = example();
            spoil(&mut dataset);
            let message = write_npz(&path, &dataset).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn every_element_type_and_order() {
        let standard = array![[0, 1, 2], [3, 1, 0]];
        let mut fortran = Array2::<f64>::zeros((2, 3).f());
        fortran.assign(&standard.mapv(f64::from));
        assert!(!fortran.is_standard_layout());
        let dataset = Savez::new()
            .with("u", &fortran)
            .with("f4", &standard.mapv(|x| x as f32))
            .with("i4", &standard)
            .with("i8", &standard.mapv(i64::from))
            .with("u1", &standard.mapv(|x| x as u8))
            .with("flag", &standard.mapv(|x| x == 3))
            .read()
            .unwrap();
        let values = [0.0, 1.0, 2.0, 3.0, 1.0, 0.0];
        assert_eq!(dataset.outputs.unwrap(), values);
        for (name, field) in &dataset.fields[..4] {
            assert_eq!(*field, values, "{name}");
        }
        assert_eq!(dataset.fields[4].1, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
        assert_eq!((dataset.count, dataset.nodes), (2, 3));
        let domain = DatasetDomain::Grid { shape: vec![3], lower: vec![0.0], upper: vec![1.0] };
        assert_eq!(dataset.domain, domain);
        let message =
            Savez::new().with("u", &standard.mapv(f64::from)).with("f", &standard.mapv(|x| x as u16)).refused();
        assert!(message.contains("array `f` has the element type '<u2'"), "{message}");
    }

    #[test]
    fn a_shared_cloud_is_read_and_one_per_sample_is_refused() {
        let u = Array2::<f64>::ones((4, 5));
        let file = || Savez::new().with("u", &u).with("f", &u);
        let points = Array2::<f64>::from_shape_fn((5, 2), |(i, j)| (2 * i + j) as f64);
        let dataset = file().with("points", &points).read().unwrap();
        let domain = DatasetDomain::Points { dim: 2, coordinates: (0..10).map(f64::from).collect() };
        assert_eq!(dataset.domain, domain);
        let message = file().with("points", &Array3::<f64>::ones((4, 5, 2))).refused();
        assert!(message.contains("4 x 5 x 2: points that differ by sample are not supported yet"), "{message}");
        let message = file().with("points", &Array2::<f64>::ones((4, 2))).refused();
        assert!(message.contains("array `points` has the shape 4 x 2; expected 5 x dim"), "{message}");
        let message = file().with("points", &(points.clone() / 0.0)).refused();
        assert!(message.contains("`points` is not finite (NaN) in point 0, coordinate 0"), "{message}");
        let corner = Array1::<f64>::zeros(1);
        let message = file().with("points", &points).with("lower", &corner).refused();
        assert!(message.contains("also `lower` or `upper`"), "{message}");
        let u = Array3::<f64>::ones((2, 3, 3));
        let points = Array2::<f64>::ones((9, 2));
        let message = Savez::new().with("u", &u).with("points", &points).refused();
        assert!(message.contains("array `u` has the shape 2 x 3 x 3; expected N x M"), "{message}");
    }

    #[test]
    fn shapes_that_do_not_fit_are_named() {
        let u = Array2::<f64>::ones((4, 5));
        let message = Savez::new().with("u", &u).with("f", &Array2::<f64>::ones((4, 6))).refused();
        assert!(message.contains("array `f` has the shape 4 x 6; expected 4 x 5 as `u`"), "{message}");
        let message = Savez::new().with("u", &u).with("f", &u).with("upper", &Array1::<f64>::ones(2)).refused();
        assert!(message.contains("array `upper` has the shape 2; expected 1"), "{message}");
        let message = Savez::new().with("u", &u).with("f", &u).with("lower", &Array1::<f64>::ones(1)).refused();
        assert!(message.contains("the box goes from 1 to 1 along axis 0"), "{message}");
        for shape in [vec![], vec![4], vec![0, 5], vec![4, 0], vec![2; 5]] {
            let odd = ArrayD::<f64>::ones(shape);
            let message = Savez::new().with("u", &odd).with("f", &odd).refused();
            assert!(message.contains("array `u` has the shape"), "{message}");
        }
    }

    #[test]
    fn missing_arrays_are_named() {
        let u = Array2::<f64>::ones((4, 5));
        let message = Savez::new().with("u", &u).refused();
        assert!(message.contains("has no input field"), "{message}");
        let message = Savez::new().with("f", &u).refused();
        assert!(message.contains("has no array `u`"), "{message}");
        let message = Savez::new().refused();
        assert!(message.contains("holds neither"), "{message}");
    }

    #[test]
    fn values_that_are_not_finite_are_located() {
        let u = Array2::<f64>::ones((4, 5));
        for bad in [f64::NAN, f64::INFINITY] {
            let mut f = u.clone();
            f[(3, 1)] = bad;
            let message = Savez::new().with("u", &u).with("f", &f).refused();
            assert!(message.contains("array `f` is not finite") && message.contains("sample 3, node 1"), "{message}");
        }
    }

    #[test]
    fn other_formats_are_recognised() {
        for (bytes, expected) in [
            (&b""[..], "is empty"),
            (b"\x89HDF\r\n\x1a\n\0\0", "looks like an HDF5 file"),
            (b"MATLAB 7.3 MAT-file, Platform", "looks like an HDF5 file"),
            (b"MATLAB 5.0 MAT-file, Platform", "looks like a MATLAB v5 file"),
            (b"\x93NUMPY\x01\0", "looks like a single .npy array"),
            (b"\x1f\x8b\x08\0", "looks like a gzip file"),
            (b"x,f,u\n0.0,1.0,2.0\n", "looks like a text file"),
            (b"\0\x01\x02", "is no zip archive"),
        ] {
            let message = refused_bytes(bytes);
            assert!(message.contains(expected), "{message}");
        }
        let folder = tempdir().unwrap();
        let message = read_npz(&folder.path().join("none.npz")).unwrap_err().to_string();
        assert!(message.contains("could not open"), "{message}");
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error_and_never_a_panic() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("data.npz");
        write_npz(&path, &example()).unwrap();
        let bytes = fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            refused_bytes(&bytes[..length]);
        }
        let message = refused_bytes(&bytes[..bytes.len() / 2]);
        assert!(message.contains("probably truncated"), "{message}");
    }

    #[test]
    fn a_damaged_byte_never_gives_other_values() {
        let folder = tempdir().unwrap();
        let path = folder.path().join("data.npz");
        write_npz(&path, &example()).unwrap();
        let bytes = fs::read(&path).unwrap();
        let mut refused = 0;
        for at in (0..bytes.len()).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            fs::write(&path, &damaged).unwrap();
            match read_npz(&path) {
                Err(_) => refused += 1,
                // Bytes that carry no data (a time stamp, say) may change, and a name may: the values may not.
                Ok(dataset) => {
                    assert_eq!(dataset.count, 2, "byte {at}");
                    for (field, (name, values)) in dataset.fields.iter().enumerate() {
                        assert_eq!(*values, example().fields[field].1, "byte {at}, {name}");
                    }
                }
            }
        }
        assert!(refused > bytes.len() / 6, "{refused} of {}", bytes.len());
    }
}
