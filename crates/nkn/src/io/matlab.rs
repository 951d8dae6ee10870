//! MATLAB's `.mat` files, in which the public operator-learning data sets come: v5 (`save -v6`, `save -v7`,
//! `scipy.io.savemat`) and v7.3 (`save -v7.3`, which is HDF5 behind a header of 512 bytes).
//!
//! | what | read as |
//! |---|---|
//! | double, single, int8 to int64, uint8 to uint64, logical | f64; integers beyond 2^53 are rounded |
//! | cell, struct, char, sparse, complex, objects | listed, but refused by name when wanted |
//! | v4 files, HDF5 files without MATLAB's header | refused, with what to do |
//! | v7.3 in the HDF5 of MATLAB up to 2008, or with the layouts that are new in HDF5 2.0 | refused, with what to do |
//!
//! MATLAB's first index runs fastest, in both formats; here the last one does, so A(i, j, k) of an n1 x n2 x n3 array is
//! `values[(i * n2 + j) * n3 + k]` with indices from zero, and the shape is MATLAB's `size(A)`.
//!
//! Nothing is believed about sizes: an array is allocated only when the file is long enough to hold it, and one that claims
//! to be compressed more than 16-fold is unpacked once into nothing to see whether that is true. Beside the result, a read
//! holds two slabs of 32 MB, or of one plane (all entries with the same last index) where that is larger; of a v7.3 file
//! that is stored in chunks, as many planes as a chunk is high.

mod reorder;
mod v5;
mod v73;

use crate::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

/// No more than this can come out of one compressed byte.
const DEFLATE_LIMIT: u64 = 1100;

/// Smooth or piecewise constant fields are squeezed less than this, or are worth the second look.
const PLAUSIBLE_RATIO: u64 = 16;

/// What every HDF5 file, or the part of a v7.3 file behind its header, starts with.
const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";

/// One array of a MATLAB file.
#[derive(Clone, Debug, PartialEq)]
pub struct MatlabArray {
    /// The variable's name.
    pub name: String,
    /// What `size` says in MATLAB; at least two numbers.
    pub shape: Vec<usize>,
    /// The values, the last index running fastest.
    pub values: Vec<f64>,
}

/// What a MATLAB file says about one of its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatlabVariable {
    /// The variable's name.
    pub name: String,
    /// What `size` says in MATLAB; empty for an object.
    pub shape: Vec<usize>,
    /// What `class` says in MATLAB, after `complex` or `sparse` where that applies.
    pub class: String,
}

/// Reads the wanted variables, in the order in which they are asked for, and nothing of the others.
///
/// With `first`, only the first so many entries along MATLAB's first dimension are kept: of a data set with its samples
/// first, that many samples. The whole variable is passed over all the same, but only the part asked for is held.
///
/// ```no_run
/// use nkn::io::read_matlab;
/// # fn main() -> nkn::Result<()> {
/// let path = std::path::Path::new("piececonst_r241_N1024_smooth1.mat");
/// let arrays = read_matlab(path, &["coeff", "sol"], Some(100))?;
/// assert_eq!(arrays[0].shape, [100, 241, 241]);
/// # Ok(())
/// # }
/// ```
pub fn read_matlab(path: &Path, wanted: &[&str], first: Option<usize>) -> Result<Vec<MatlabArray>> {
    let mut contents = open(path)?;
    // All names are looked up before the first array is read: a misspelt one is reported at once.
    let found: Result<Vec<usize>> = wanted.iter().map(|name| look_up(path, contents.variables(), name)).collect();
    found?.into_iter().map(|index| contents.read(index, first)).collect()
}

/// Lists the variables of a file without reading their values.
pub fn list_matlab(path: &Path) -> Result<Vec<MatlabVariable>> {
    Ok(open(path)?.variables().to_vec())
}

/// An open file of either format.
trait Contents {
    /// All variables, also those that cannot be read.
    fn variables(&self) -> &[MatlabVariable];

    /// Reads a variable that [`look_up`] has found good.
    fn read(&mut self, index: usize, first: Option<usize>) -> Result<MatlabArray>;
}

/// Finds a variable and checks that it is an array of real numbers.
fn look_up(path: &Path, variables: &[MatlabVariable], name: &str) -> Result<usize> {
    // Of two variables with one name, the later is the valid one: so do MATLAB and SciPy.
    let Some(index) = variables.iter().rposition(|variable| variable.name == name) else {
        let names: Vec<String> = variables.iter().map(|v| format!("`{}`", v.name)).collect();
        let there = if names.is_empty() { "no variables at all".into() } else { names.join(", ") };
        return Err(Error::file(
            path,
            format!("has no variable `{name}`; it has {there}"),
            "check the spelling; a file that was cut short also lacks its last variables",
        ));
    };
    let class = variables[index].class.as_str();
    if !is_real(class) {
        return Err(Error::file(
            path,
            format!("variable `{name}` is of class {class}; expected an array of real numbers"),
            format!("in MATLAB, convert it with double(...), full(...) or real(...) and save `{name}` again"),
        ));
    }
    Ok(index)
}

/// Whether a class is one of those that can be read.
fn is_real(class: &str) -> bool {
    let integer = class.strip_prefix('u').unwrap_or(class).strip_prefix("int");
    matches!(class, "double" | "single" | "logical")
        || integer.is_some_and(|bits| ["8", "16", "32", "64"].contains(&bits))
}

/// Opens a file of either format; says what another file looks like.
fn open(path: &Path) -> Result<Box<dyn Contents>> {
    let mut file = File::open(path).map_err(Error::io(path, "open"))?;
    let mut head = Vec::new();
    let read = file.by_ref().take(520).read_to_end(&mut head);
    read.and_then(|_| file.rewind()).map_err(Error::io(path, "read"))?;
    let cut = |format: &str, header: usize| {
        Error::file(
            path,
            format!("ends at byte {}, inside the header of {header} bytes of a {format} file", head.len()),
            "the file is truncated: copy or download it again",
        )
    };
    // The first releases with this format wrote 7.0.
    if head.starts_with(b"MATLAB 7.") {
        return match head.get(512..520) {
            None => Err(cut("MATLAB v7.3", 520)),
            Some(HDF5) => Ok(Box::new(v73::V73::open(path)?)),
            Some(_) => Err(damaged(path, "has the header of a MATLAB v7.3 file, but no HDF5 data at byte 512")),
        };
    }
    if head.starts_with(b"MATLAB 5.0") {
        return match head.get(126..128) {
            None => Err(cut("MATLAB v5", 128)),
            Some(b"IM") => Ok(Box::new(v5::V5::open(path, file, false)?)),
            Some(b"MI") => Ok(Box::new(v5::V5::open(path, file, true)?)),
            Some(_) => Err(damaged(path, "has the header of a MATLAB v5 file, but no byte order at byte 126")),
        };
    }
    let (problem, hint) = foreign(&head);
    Err(Error::file(path, problem, hint))
}

/// What a file that is neither v5 nor v7.3 looks like, and what to do about it.
fn foreign(head: &[u8]) -> (&'static str, &'static str) {
    const SAVE: &str = "in MATLAB, write the arrays with save(path, '-v7.3', 'coeff', 'sol')";
    if head.is_empty() {
        ("is empty", "the program that wrote it was probably stopped: write it again")
    } else if head.starts_with(HDF5) {
        (
            "is an HDF5 file without MATLAB's header, so the order of its axes is not known",
            "load it with h5py and save the arrays with numpy.savez(path, f=f, u=u)",
        )
    } else if head.starts_with(b"PK") {
        ("is not a MATLAB file: it looks like a zip or .npz file", "give it as a data set, with the ending .npz")
    } else if head.starts_with(b"\x93NUMPY") {
        ("is not a MATLAB file: it looks like a single .npy array", "save the arrays with numpy.savez(path, f=f, u=u)")
    } else if head.starts_with(b"\x1f\x8b") {
        ("is not a MATLAB file: it looks like a gzip file", "unpack it first")
    } else if is_v4(head) {
        ("looks like a MATLAB v4 file, a format that is not supported", "in MATLAB, load it and save it with -v7")
    } else if head.iter().all(|b| matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~')) {
        ("is not a MATLAB file: it looks like a text file", SAVE)
    } else {
        ("is not a MATLAB file: it starts with neither `MATLAB 5.0` nor `MATLAB 7`", SAVE)
    }
}

/// Whether a file starts as MATLAB v4 files do: without a signature, with five numbers and a name that ends with a zero.
fn is_v4(head: &[u8]) -> bool {
    let plausible = |read: fn([u8; 4]) -> u32| {
        let number = |at: usize| head.get(4 * at..4 * at + 4).map(|b| read([b[0], b[1], b[2], b[3]]));
        let (Some(kind), Some(imaginary), Some(length)) = (number(0), number(3), number(4)) else { return false };
        let digits = [kind / 1000, kind / 100 % 10, kind / 10 % 10, kind % 10];
        let ends = (length as usize).checked_add(19).and_then(|at| head.get(at)) == Some(&0);
        digits.iter().zip([4, 0, 5, 2]).all(|(digit, most)| *digit <= most) && imaginary <= 1 && length > 1 && ends
    };
    plausible(u32::from_le_bytes) || plausible(u32::from_be_bytes)
}

/// A file in which something cannot be true.
fn damaged(path: &Path, problem: impl Into<String>) -> Error {
    Error::file(path, problem, "the file is damaged: copy or download it again, or write it again")
}

/// How a number is stored; MATLAB stores an array of whole numbers as integers whatever its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Number {
    /// The size in bytes.
    fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Replaces `values` by the numbers in `bytes`.
    fn decode(self, big_endian: bool, bytes: &[u8], values: &mut Vec<f64>) {
        fn each<const N: usize>(bytes: &[u8], values: &mut Vec<f64>, read: impl Fn([u8; N]) -> f64) {
            values.clear();
            values.extend(bytes.as_chunks::<N>().0.iter().map(|number| read(*number)));
        }
        macro_rules! each {
            ($number:ty) => {
                if big_endian {
                    each(bytes, values, |b| <$number>::from_be_bytes(b) as f64)
                } else {
                    each(bytes, values, |b| <$number>::from_le_bytes(b) as f64)
                }
            };
        }
        match self {
            Self::I8 => each!(i8),
            Self::U8 => each!(u8),
            Self::I16 => each!(i16),
            Self::U16 => each!(u16),
            Self::I32 => each!(i32),
            Self::U32 => each!(u32),
            Self::I64 => each!(i64),
            Self::U64 => each!(u64),
            Self::F32 => each!(f32),
            Self::F64 => each!(f64),
        }
    }
}

#[cfg(test)]
mod tests;
