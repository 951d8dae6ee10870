//! NumPy's `.npz` files: a zip archive with one `.npy` array per member.
//!
//! Numbers may be floats of 4 or 8 bytes, integers or booleans, in either byte order, in C or Fortran order.

use super::npy::header::Header;
use super::number::Number;
use super::{Array, NamedArray};
use crate::field::dimensions;
use crate::{Error, Result};
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

/// The bytes that are read at a time; whole numbers of every size.
const PIECE: u64 = 1 << 20;

/// All arrays of a file, in its order.
pub(super) fn read_npz(path: &Path) -> Result<Vec<Array>> {
    let file = File::open(path).map_err(Error::io(path, "open"))?;
    let mut archive = zip::ZipArchive::new(BufReader::new(file)).map_err(|error| {
        let hint = "the file is probably truncated: copy or download it again";
        Error::file(path, format!("starts as an .npz file, but its end is missing or damaged ({error})"), hint)
    })?;
    let count = archive.len();
    let read = |index: usize| -> Result<Array> {
        let mut member = archive.by_index(index).map_err(|error| damaged(path, &index.to_string(), &error))?;
        let name = member.name().strip_suffix(".npy").unwrap_or(member.name()).to_owned();
        read_array(path, name, &mut member)
    };
    (0..count).map(read).collect()
}

/// Reads one array. Memory is asked for as the numbers come, so a header that lies about the shape gets none.
pub(super) fn read_array(path: &Path, name: String, member: &mut impl Read) -> Result<Array> {
    let wrong = |problem: String| damaged(path, &name, &problem);
    let header = Header::read(member).map_err(|error| damaged(path, &name, &error))?;
    let Some((number, big_endian)) = Number::of_numpy(&header.descriptor) else {
        let problem = format!("array `{name}` has the element type '{}'; expected real numbers", header.descriptor);
        let hint = format!("convert it: {name}.astype(numpy.float64)");
        return Err(Error::file(path, problem, hint));
    };
    let shape = header.shape;
    let bytes = shape.iter().try_fold(number.size() as u64, |bytes, &side| bytes.checked_mul(side as u64));
    let mut left = bytes.ok_or_else(|| wrong(format!("it claims the shape {}", dimensions(&shape))))?;
    let (mut values, mut piece, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    while left > 0 {
        let wanted = left.min(PIECE);
        piece.clear();
        member.take(wanted).read_to_end(&mut piece).map_err(|error| damaged(path, &name, &error))?;
        if (piece.len() as u64) < wanted {
            return Err(wrong(format!("it claims the shape {} but ends too early", dimensions(&shape))));
        }
        number.decode(big_endian, &piece, &mut numbers);
        values.extend_from_slice(&numbers);
        left -= wanted;
    }
    // The archive's checksum is looked at behind the last byte.
    if member.read(&mut [0]).map_err(|error| damaged(path, &name, &error))? > 0 {
        return Err(wrong(format!("it goes on after the {} that it claims", dimensions(&shape))));
    }
    if header.is_fortran {
        let array = ArrayD::from_shape_vec(IxDyn(&shape).f(), values).map_err(|error| damaged(path, &name, &error))?;
        values = array.iter().copied().collect();
    }
    Ok(Array { name, shape, values })
}

fn damaged(path: &Path, name: &str, error: &dyn std::fmt::Display) -> Error {
    let hint = "the file is damaged or was not written by numpy.savez: write or download it again";
    Error::file(path, format!("array `{name}` cannot be read: {error}"), hint)
}

/// Writes arrays of f64, given as name, shape and values.
pub(super) fn write_npz<'a>(file: File, arrays: impl IntoIterator<Item = NamedArray<'a>>) -> io::Result<File> {
    let mut archive = zip::ZipWriter::new(BufWriter::new(file));
    for (name, shape, values) in arrays {
        let bytes: &[u8] = bytemuck::cast_slice(&values);
        // Beyond 4 GB the archive needs wider fields.
        let options = SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .large_file(bytes.len() as u64 > u64::from(u32::MAX) - (1 << 16));
        archive.start_file(format!("{name}.npy"), options).map_err(system_error)?;
        let descriptor = if cfg!(target_endian = "little") { "<f8" } else { ">f8" }.into();
        archive.write_all(&Header { descriptor, is_fortran: false, shape: shape.to_vec() }.bytes())?;
        archive.write_all(bytes)?;
    }
    archive.finish().map_err(system_error)?.into_inner().map_err(io::IntoInnerError::into_error)
}

/// The system's own error, whose kind (a full disk) decides what the user is told.
fn system_error(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        other => io::Error::other(other),
    }
}
