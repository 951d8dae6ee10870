//! MATLAB's `.mat` files, in which the public operator-learning data sets come: v5 (`save -v6`, `save -v7`,
//! `scipy.io.savemat`) and v7.3 (`save -v7.3`, which is HDF5 behind a header of 512 bytes).
//!
//! | what | read as |
//! |---|---|
//! | double, single, int8 to int64, uint8 to uint64, logical | f64; integers beyond 2^53 are rounded |
//! | cell, struct, char, sparse, complex, objects | listed, not read |
//! | v4 files | refused, with what to do |
//! | v7.3 in the HDF5 of MATLAB up to 2008, or with the layouts that are new in HDF5 2.0 | refused, with what to do |
//!
//! MATLAB's first index runs fastest, in both formats; here the last one does, so A(i, j, k) of an n1 x n2 x n3 array is
//! `values[(i * n2 + j) * n3 + k]` with indices from zero, and the shape is MATLAB's `size(A)`.
//!
//! Nothing is believed about sizes: an array is allocated only when the file is long enough to hold it, and one that claims
//! to be compressed more than 16-fold is unpacked once into nothing to see whether that is true. Beside the result, a read
//! holds two slabs of 32 MB, or of one plane (all entries with the same last index) where that is larger; of a v7.3 file
//! that is stored in chunks, as many planes as a chunk is high.

pub(super) mod reorder;
mod v5;
pub(super) mod v73;

use super::Array;
use super::number::Number;
use super::recognise::{Format, recognise};
use crate::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

/// No more than this can come out of one compressed byte.
pub(super) const DEFLATE_LIMIT: u64 = 1100;

/// Smooth or piecewise constant fields are squeezed less than this, or are worth the second look.
const PLAUSIBLE_RATIO: u64 = 16;

/// What a MATLAB file says about one of its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MatlabVariable {
    /// The variable's name.
    pub name: String,
    /// What `size` says in MATLAB; empty for an object.
    pub shape: Vec<usize>,
    /// What `class` says in MATLAB, after `complex` or `sparse` where that applies.
    pub class: String,
}

impl MatlabVariable {
    /// Whether it is an array of real numbers, which can be read.
    pub(super) fn is_real(&self) -> bool {
        self.class == "logical" || Number::CLASSES.contains(&self.class.as_str())
    }
}

/// An open file of either format.
pub(super) trait Contents {
    /// All variables, also those that cannot be read.
    fn variables(&self) -> &[MatlabVariable];

    /// Reads a variable that is an array of real numbers, and nothing of the others.
    ///
    /// With `first`, only the first so many entries along MATLAB's first dimension are kept: of a data set with its samples
    /// first, that many samples. The whole variable is passed over all the same, but only the part asked for is held.
    fn read(&mut self, index: usize, first: Option<usize>) -> Result<Array>;
}

/// Opens a file of either format.
pub(super) fn open(path: &Path) -> Result<Box<dyn Contents>> {
    let format = recognise(path)?;
    let mut file = File::open(path).map_err(Error::io(path, "open"))?;
    let mut head = Vec::new();
    let read = file.by_ref().take(520).read_to_end(&mut head);
    read.and_then(|_| file.rewind()).map_err(Error::io(path, "read"))?;
    let cut = |header: usize| {
        let problem = format!("ends at byte {}, inside the header of {header} bytes of {}", head.len(), format.name());
        let hint = "the file is truncated: copy or download it again";
        Error::file(path, problem, hint)
    };
    match format {
        Format::Matlab73 => match head.get(512..520) {
            None => Err(cut(520)),
            Some(start) if Format::of(start) == Some(Format::Hdf5) => Ok(Box::new(v73::V73::open(path)?)),
            Some(_) => Err(damaged(path, "has the header of a MATLAB v7.3 file, but no HDF5 data at byte 512")),
        },
        Format::Matlab5 => match head.get(126..128) {
            None => Err(cut(128)),
            Some(b"IM") => Ok(Box::new(v5::V5::open(path, file, false)?)),
            Some(b"MI") => Ok(Box::new(v5::V5::open(path, file, true)?)),
            Some(_) => Err(damaged(path, "has the header of a MATLAB v5 file, but no byte order at byte 126")),
        },
        other => Err(other.refused(path, "a MATLAB file")),
    }
}

/// A file in which something cannot be true.
pub(super) fn damaged(path: &Path, problem: impl Into<String>) -> Error {
    Error::file(path, problem, "the file is damaged: copy or download it again, or write it again")
}

#[cfg(test)]
mod tests;
