//! HDF5 files (`.h5`) as h5py and most programs write them: the last index runs fastest, as here.
//!
//! | what | read as |
//! |---|---|
//! | floats of 4 and 8 bytes, integers, booleans, in either byte order | f64; integers beyond 2^53 are rounded |
//! | data sets in groups | named `group/name` |
//! | texts, complex numbers, floats of 2 bytes, references | listed, not read |
//! | storage in one piece or in chunks, with gzip, LZF, shuffle or checksums | yes |
//! | chunks in the layouts that are new in HDF5 2.0 (h5py's `libver="latest"`) | refused, with what to do |
//! | symbolic links in groups of HDF5's first form | the file is refused, with what to do |
//! | MATLAB v7.3 that has lost its header | by MATLAB's attributes, with the first index running fastest |
//!
//! A data set is read in portions of 32 MB, or of as many rows as a chunk is high, and memory is asked for as they come.
//! Files are written in one piece, uncompressed.

use super::matlab::reorder::size;
use super::matlab::v73::{V73, number, storage, unreadable};
use super::matlab::{Contents, DEFLATE_LIMIT, MatlabVariable, damaged};
use super::number::Number;
use super::{Array, NamedArray};
use crate::{Error, Result};
use hdf5_pure::{Dataset, Datatype, File, FileBuilder, Group};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// The bytes that are read at a time.
const PORTION: u64 = 32 << 20;

/// No more groups than this are looked into, nor deeper: a group may contain itself.
const GROUPS: usize = 10_000;
const DEPTH: usize = 16;

/// An open file.
struct Hdf5 {
    path: PathBuf,
    /// The file's length in bytes.
    length: u64,
    variables: Vec<MatlabVariable>,
    datasets: Vec<Dataset>,
}

/// Opens a file and lists its data sets.
pub(super) fn open(path: &Path) -> Result<Box<dyn Contents>> {
    let length = std::fs::metadata(path).map_err(Error::io(path, "read"))?.len();
    let hdf5 = |error| unreadable(path, "its list of data sets", &error);
    let file = File::open_streaming(path).map_err(hdf5)?;
    let end = file.superblock().eof_address;
    if end > length {
        let problem = format!("ends at byte {length}, but by its own account goes on to byte {end}");
        return Err(Error::file(path, problem, "the file is truncated: copy or download it again"));
    }
    for (_, dataset) in file.root().iter_datasets().map_err(hdf5)? {
        if dataset.attrs().map_err(hdf5)?.contains_key("MATLAB_class") {
            return Ok(Box::new(V73::open(path)?));
        }
    }
    let mut this = Hdf5 { path: path.to_owned(), length, variables: Vec::new(), datasets: Vec::new() };
    let mut groups = 0;
    this.list(&file.root(), "", 0, &mut groups)?;
    Ok(Box::new(this))
}

impl Hdf5 {
    /// Adds the data sets of a group and of all groups in it.
    fn list(&mut self, group: &Group, prefix: &str, depth: usize, groups: &mut usize) -> Result<()> {
        *groups += 1;
        if *groups > GROUPS || depth > DEPTH {
            let problem = format!("has more than {GROUPS} groups, or groups in groups more than {DEPTH} deep");
            let hint = "a group probably contains itself: save the arrays to a file of their own";
            return Err(Error::file(&self.path, problem, hint));
        }
        let path = self.path.clone();
        let hdf5 = |error| unreadable(&path, &format!("the list of group `/{prefix}`"), &error);
        for (name, dataset) in group.iter_datasets().map_err(hdf5)? {
            let name = format!("{prefix}{name}");
            let sides = dataset.shape().map_err(hdf5)?;
            let shape: std::result::Result<Vec<usize>, _> = sides.iter().map(|side| usize::try_from(*side)).collect();
            let shape = shape.map_err(|_| damaged(&path, format!("variable `{name}` claims the shape {sides:?}")))?;
            let class = match dataset.datatype().map_err(hdf5)? {
                kind @ Datatype::Enumeration { .. } if real(&kind).is_some() => "logical".into(),
                other => match number(&other) {
                    Some((number, _)) => number.class().to_owned(),
                    None => format!("HDF5's {}", dataset.dtype().map_err(hdf5)?),
                },
            };
            self.variables.push(MatlabVariable { name, shape, class });
            self.datasets.push(dataset);
        }
        for (name, inner) in group.iter_groups().map_err(hdf5)? {
            self.list(&inner, &format!("{prefix}{name}/"), depth + 1, groups)?;
        }
        Ok(())
    }
}

impl Contents for Hdf5 {
    fn variables(&self) -> &[MatlabVariable] {
        &self.variables
    }

    fn read(&mut self, index: usize, first: Option<usize>) -> Result<Array> {
        let (path, variable, dataset) = (&self.path, &self.variables[index], &self.datasets[index]);
        let name = variable.name.clone();
        let hdf5 = |error| unreadable(path, &format!("variable `{name}`"), &error);
        let mut shape = variable.shape.clone();
        let rows = shape.first().copied().unwrap_or(1);
        let keep = first.unwrap_or(rows).min(rows);
        let Some((number, big_endian)) = real(&dataset.datatype().map_err(hdf5)?) else {
            return Err(damaged(path, format!("variable `{name}` is no array of real numbers")));
        };
        let whole = size(path, variable, number)?;
        let mut values = Vec::new();
        if whole > 0 {
            let (stored, chunk_height) = storage(path, self.length, &name, dataset)?;
            let filtered = !dataset.filters().is_empty();
            if stored.saturating_mul(if filtered { DEFLATE_LIMIT } else { 1 }) < whole {
                let problem = format!("variable `{name}` has {stored} bytes, but its shape {shape:?} needs {whole}");
                return Err(damaged(path, problem));
            }
            let row = whole / rows as u64;
            // A chunk that is read in two portions would be unpacked twice.
            let height = ((PORTION / row).max(1) as usize).next_multiple_of(chunk_height.min(rows));
            let mut numbers = Vec::new();
            for start in (0..keep).step_by(height) {
                let height = height.min(keep - start);
                let bytes = dataset.read_raw_rows(start as u64, height as u64).map_err(hdf5)?;
                if bytes.len() as u64 != height as u64 * row {
                    return Err(damaged(path, format!("variable `{name}` is shorter than its shape")));
                }
                number.decode(big_endian, &bytes, &mut numbers);
                values.extend_from_slice(&numbers);
            }
        }
        if let Some(rows) = shape.first_mut() {
            *rows = keep;
        }
        Ok(Array { name, shape, values })
    }
}

/// How real numbers are stored; h5py's booleans are an enumeration of bytes.
fn real(kind: &Datatype) -> Option<(Number, bool)> {
    match kind {
        Datatype::Enumeration { base_type, .. } => number(base_type),
        other => number(other),
    }
}

/// Writes arrays of f64, given as name, shape and values.
pub(super) fn write_hdf5<'a>(
    file: std::fs::File,
    arrays: impl IntoIterator<Item = NamedArray<'a>>,
) -> io::Result<std::fs::File> {
    let mut builder = FileBuilder::new();
    for (name, shape, values) in arrays {
        let shape: Vec<u64> = shape.iter().map(|side| *side as u64).collect();
        builder.create_dataset(name).with_f64_data(&values).with_shape(&shape);
    }
    let mut out = BufWriter::new(file);
    builder.finish_to(&mut out).map_err(|error| match error {
        hdf5_pure::Error::Io(error) => error,
        other => io::Error::other(other.to_string()),
    })?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

#[cfg(test)]
mod tests;
