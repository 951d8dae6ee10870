//! Looks at what the arrays of an `.npz` file claim to be before anything of that size is allocated.

use crate::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// No more than this can come out of one compressed byte.
const DEFLATE_LIMIT: u64 = 1100;

/// Refuses a file in which an array claims more bytes than its part of the file can hold.
pub(super) fn check_claims(path: &Path, file: File) -> Result<()> {
    let lies = |name: &str| {
        let problem = format!("array `{name}` claims to be larger than its part of the file");
        Error::file(path, problem, "the file is damaged: write it again, or copy it again")
    };
    // A file that is no readable archive is reported by the reader itself.
    let Ok(mut archive) = zip::ZipArchive::new(file) else { return Ok(()) };
    for index in 0..archive.len() {
        let Ok(entry) = archive.by_index(index) else { continue };
        let name = entry.name().trim_end_matches(".npy").to_string();
        let possible = entry.compressed_size().saturating_mul(DEFLATE_LIMIT).min(entry.size());
        let mut start = Vec::new();
        if entry.take(1 << 16).read_to_end(&mut start).is_ok()
            && claimed_bytes(&start).is_some_and(|claimed| claimed > u128::from(possible))
        {
            return Err(lies(&name));
        }
    }
    Ok(())
}

/// The size of the array that an .npy header describes: the product of its shape times the size in its descriptor. `None` when this
/// is no such header: then the reader says so.
fn claimed_bytes(start: &[u8]) -> Option<u128> {
    let header = String::from_utf8_lossy(start);
    let after = |key: &str| header.find(key).map(|at| &header[at + key.len()..]);
    let shape = after("'shape':")?.split_once('(')?.1.split_once(')')?.0;
    let mut count = 1u128;
    for side in shape.split(',').map(str::trim).filter(|side| !side.is_empty()) {
        count = count.saturating_mul(side.trim_end_matches('L').parse().ok()?);
    }
    let descriptor = after("'descr':")?.trim_start().trim_start_matches('\'');
    let digits: String =
        descriptor.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    Some(count.saturating_mul(digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn archive(shape: &str, compressed: bool) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = zip::ZipWriter::new(file.reopen().unwrap());
        let method = if compressed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        writer.start_file("u.npy", options).unwrap();
        let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        let text = format!("{text:<117}\n");
        writer.write_all(b"\x93NUMPY\x01\x00\x76\x00").unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        writer.write_all(&[0; 4 * 2 * 8]).unwrap();
        writer.finish().unwrap();
        file
    }

    #[test]
    fn honest_arrays_pass_and_lies_do_not() {
        for compressed in [false, true] {
            let check = |shape: &str| {
                let file = archive(shape, compressed);
                check_claims(file.path(), file.reopen().unwrap())
            };
            check("(4, 2)").unwrap();
            for lie in ["(4, 1099511627776)", "(18446744073709551615, 18446744073709551615)", "(4, 4000)"] {
                let message = check(lie).unwrap_err().to_string();
                assert!(message.contains("`u`") && message.contains("claims"), "{message}");
            }
        }
    }
}
