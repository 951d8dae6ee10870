//! The v7.3 format: HDF5 behind 512 bytes of MATLAB's, a dataset per array with its axes in reverse.

use super::reorder::{Reorder, size};
use super::{Array, Contents, DEFLATE_LIMIT, MatlabVariable, Number, PLAUSIBLE_RATIO, damaged};
use crate::error::ensure;
use crate::{Error, Result};
use hdf5_pure::{AttrValue, DType, Dataset, Datatype, DatatypeByteOrder, File, Layout};
use std::path::{Path, PathBuf};

/// No array has more axes than this in HDF5.
const AXES: u64 = 32;

/// An open v7.3 file.
pub(in crate::io) struct V73 {
    path: PathBuf,
    /// The file's length in bytes.
    length: u64,
    variables: Vec<MatlabVariable>,
    /// The dataset of each variable; a struct or a sparse array has none.
    datasets: Vec<Option<Dataset>>,
}

impl V73 {
    /// Reads the list of variables.
    pub(in crate::io) fn open(path: &Path) -> Result<Self> {
        let length = std::fs::metadata(path).map_err(Error::io(path, "read"))?.len();
        let hdf5 = |error| unreadable(path, "its list of variables", &error);
        // Nothing but what is asked for is read from the disk.
        let file = File::open_streaming(path).map_err(hdf5)?;
        let end = file.superblock().eof_address;
        if end > length {
            let problem = format!("ends at byte {length}, but by its own account goes on to byte {end}");
            let hint = "the file is truncated: copy or download it again";
            return Err(Error::file(path, problem, hint));
        }
        let mut this = Self { path: path.to_owned(), length, variables: Vec::new(), datasets: Vec::new() };
        for (name, dataset) in file.root().iter_datasets().map_err(hdf5)? {
            let variable = describe(path, length, name, &dataset)?;
            this.variables.push(variable);
            this.datasets.push(Some(dataset));
        }
        for (name, group) in file.root().iter_groups().map_err(hdf5)? {
            // MATLAB keeps the contents of cells and objects in groups of its own: #refs# and #subsystem#.
            if !name.starts_with('#') {
                let sparse = group.attrs().map_err(hdf5)?.contains_key("MATLAB_sparse");
                let class = if sparse { "sparse" } else { "struct" }.to_owned();
                this.variables.push(MatlabVariable { name, shape: Vec::new(), class });
                this.datasets.push(None);
            }
        }
        Ok(this)
    }
}

impl Contents for V73 {
    fn variables(&self) -> &[MatlabVariable] {
        &self.variables
    }

    fn read(&mut self, index: usize, first: Option<usize>) -> Result<Array> {
        let (path, variable) = (&self.path, &self.variables[index]);
        let name = &variable.name;
        let hdf5 = |error| unreadable(path, &format!("variable `{name}`"), &error);
        let Some(dataset) = &self.datasets[index] else {
            return Err(damaged(path, format!("variable `{name}` has no values")));
        };
        if variable.shape.contains(&0) {
            return Ok(Reorder::new(path, variable, first)?.finish());
        }
        let Some((number, big_endian)) = number(&dataset.datatype().map_err(hdf5)?) else {
            let kind = dataset.dtype().map_err(hdf5)?;
            let problem = format!("variable `{name}` is of class {} but stored as {kind}", variable.class);
            return Err(damaged(path, problem));
        };
        let expected = size(path, variable, number)?;
        let (stored, chunk_height) = storage(path, self.length, name, dataset)?;
        let filtered = !dataset.filters().is_empty();
        if stored.saturating_mul(if filtered { DEFLATE_LIMIT } else { 1 }) < expected {
            let shape = &variable.shape;
            let problem = format!("variable `{name}` has {stored} bytes, but its shape {shape:?} needs {expected}");
            return Err(damaged(path, problem));
        }
        let last = variable.shape[variable.shape.len() - 1];
        let plane = expected as usize / last;
        // A chunk that is read in two portions would be unpacked twice.
        let portion = |height: usize| height.next_multiple_of(chunk_height.min(last)).min(last);
        let read = |start: usize, height: usize| -> Result<Vec<u8>> {
            let bytes = dataset.read_raw_rows(start as u64, height as u64).map_err(hdf5)?;
            if bytes.len() != height.min(last - start) * plane {
                return Err(damaged(path, format!("variable `{name}` is shorter than its shape")));
            }
            Ok(bytes)
        };
        if stored.saturating_mul(PLAUSIBLE_RATIO) < expected {
            (0..last).step_by(portion(1)).try_for_each(|start| read(start, portion(1)).map(drop))?;
        }
        let mut array = Reorder::new(path, variable, first)?;
        while array.left() > 0 {
            let bytes = read(last - array.left(), portion(array.height()))?;
            array.add(number, big_endian, &bytes);
        }
        Ok(array.finish())
    }
}

/// What the file says about a dataset that is a variable.
fn describe(path: &Path, length: u64, name: String, dataset: &Dataset) -> Result<MatlabVariable> {
    let hdf5 = |error| unreadable(path, &format!("variable `{name}`"), &error);
    let attributes = dataset.attrs().map_err(hdf5)?;
    let (kind, number) = (dataset.dtype().map_err(hdf5)?, number(&dataset.datatype().map_err(hdf5)?));
    let parts = ["real", "imag"];
    let is_complex = matches!(&kind, DType::Compound(fields) if fields.iter().map(|f| f.0.as_str()).eq(parts));
    // Files that were not written by MATLAB may lack its attributes: then the type decides.
    let class = match attributes.get("MATLAB_class").and_then(AttrValue::as_str) {
        Some(class) if is_complex => format!("complex {class}"),
        Some(class) => class.to_owned(),
        None if is_complex => "complex".to_owned(),
        None => number.map_or_else(|| format!("HDF5's {kind}"), |(number, _)| number.class().to_owned()),
    };
    let mut sides = dataset.shape().map_err(hdf5)?;
    sides.reverse();
    if attributes.get("MATLAB_empty").and_then(AttrValue::as_i64).is_some_and(|flag| flag != 0) {
        // HDF5 could not hold an array without entries when the format was made: the values are the shape.
        let count = sides.iter().try_fold(1u64, |product, side| product.checked_mul(*side));
        storage(path, length, &name, dataset)?;
        if number.is_none() || count.is_none_or(|count| count > AXES) {
            return Err(damaged(path, format!("variable `{name}` is marked as empty, but its shape cannot be read")));
        }
        sides = dataset.read_u64().map_err(hdf5)?;
    }
    let shape: std::result::Result<Vec<usize>, _> = sides.iter().map(|side| usize::try_from(*side)).collect();
    let Ok(mut shape) = shape else {
        return Err(damaged(path, format!("variable `{name}` claims the shape {sides:?}")));
    };
    // MATLAB has no arrays with fewer axes.
    shape.resize(shape.len().max(2), 1);
    Ok(MatlabVariable { name, shape, class })
}

/// How many bytes a dataset takes in the file, and how many planes its chunks are high.
pub(in crate::io) fn storage(path: &Path, length: u64, name: &str, dataset: &Dataset) -> Result<(u64, usize)> {
    let hdf5 = |error| unreadable(path, &format!("variable `{name}`"), &error);
    let wrong = |problem: String| damaged(path, format!("variable `{name}` {problem}"));
    // The library would make room for as many bytes as a chunk claims to have.
    let inside = |at: u64, size: u64| match at.checked_add(size) {
        Some(end) if end <= length => Ok(()),
        _ => Err(wrong(format!("has {size} bytes at byte {at}, beyond the end of the file at byte {length}"))),
    };
    match dataset.layout().map_err(hdf5)? {
        Layout::Compact { size } => Ok((size.min(length), 1)),
        Layout::Contiguous { address: Some(address), size } => inside(address, size).map(|()| (size, 1)),
        Layout::Contiguous { address: None, .. } => Err(wrong("was never written".into())),
        Layout::Chunked { chunk_shape, .. } => {
            let chunks = dataset.chunks().map_err(hdf5)?;
            let sides = dataset.shape().map_err(hdf5)?;
            let grid = sides.iter().zip(&chunk_shape).map(|(side, chunk)| side.div_ceil((*chunk).max(1)));
            let expected = grid.fold(1u64, u64::saturating_mul);
            // A chunk that was never written would be read as zeros, which look like data.
            ensure!((chunks.len() as u64) >= expected, wrong(format!("has {} of its {expected} chunks", chunks.len())));
            chunks.iter().try_for_each(|chunk| inside(chunk.address, chunk.storage_size))?;
            let stored = chunks.iter().fold(0u64, |sum, chunk| sum.saturating_add(chunk.storage_size));
            let height = chunk_shape.first().and_then(|height| usize::try_from(*height).ok()).unwrap_or(1);
            Ok((stored.min(length), height.max(1)))
        }
        _ => Err(wrong("is spread over other files".into())),
    }
}

/// How the numbers of a dataset are stored, and whether their first byte is the largest.
pub(in crate::io) fn number(kind: &Datatype) -> Option<(Number, bool)> {
    let (letter, size, order) = match kind {
        Datatype::FloatingPoint { size, byte_order, .. } => ('f', size, byte_order),
        Datatype::FixedPoint { size, byte_order, layout } if layout.signed => ('i', size, byte_order),
        Datatype::FixedPoint { size, byte_order, .. } => ('u', size, byte_order),
        _ => return None,
    };
    let number = Number::named(&format!("{letter}{size}"))?;
    match order {
        DatatypeByteOrder::LittleEndian => Some((number, false)),
        DatatypeByteOrder::BigEndian => Some((number, true)),
        DatatypeByteOrder::Vax => None,
    }
}

pub(in crate::io) fn unreadable(path: &Path, what: &str, error: &hdf5_pure::Error) -> Error {
    // The library knows most of HDF5, not all: the file may be sound.
    let hint = "the file is damaged, or uses a rare form of HDF5: load it with h5py and save it with numpy.savez";
    Error::file(path, format!("{what} cannot be read: {error}"), hint)
}
