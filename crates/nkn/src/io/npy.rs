//! A folder of NumPy's `.npy` files, one array each: the same as an `.npz` file, for arrays that were saved one by one.

pub(super) mod header;

use super::Array;
use super::npz::read_array;
use crate::{Error, Result};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// All arrays of a folder under the names of their files, in the order of the names. Other files are passed over.
pub(super) fn read_npy_folder(folder: &Path) -> Result<Vec<Array>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder, "open"))? {
        let path = entry.map_err(Error::io(folder, "read"))?.path();
        if path.extension().is_some_and(|extension| extension == "npy") {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        let hint = "save each array with numpy.save(folder + \"/u.npy\", u), or all with numpy.savez";
        return Err(Error::file(folder, "is a folder without .npy files", hint));
    }
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = File::open(path).map_err(Error::io(path, "open"))?;
        read_array(path, name, &mut BufReader::new(file))
    };
    paths.iter().map(read).collect()
}

#[cfg(test)]
mod tests;
