//! A folder of meshes is a data set: one file per sample.

use super::{Mesh, read_mesh};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// Reads the meshes of a folder, or the first so many, in the order of their names: all `.vtu` or all `.vti`.
///
/// All have the same fields with the same components, in the order of the first file; points and cells may differ.
///
/// ```no_run
/// # fn main() -> nkn::Result<()> {
/// for (path, mesh) in nkn::io::read_meshes("results".as_ref(), None)? {
///     println!("{}: {} points in {}D", path.display(), mesh.len(), mesh.dimension());
/// }
/// # Ok(())
/// # }
/// ```
pub fn read_meshes(folder: &Path, first: Option<usize>) -> Result<Vec<(PathBuf, Mesh)>> {
    read_meshes_by(read_mesh, folder, first)
}

/// The same by another reader of one file.
pub(in crate::io) fn read_meshes_by(
    read: impl Fn(&Path) -> Result<Mesh>,
    folder: &Path,
    first: Option<usize>,
) -> Result<Vec<(PathBuf, Mesh)>> {
    let mut paths = mesh_paths(folder)?;
    let kind = |path: &PathBuf| path.extension().map(std::ffi::OsStr::to_owned);
    if let Some(other) = paths.iter().find(|path| kind(path) != kind(&paths[0])) {
        let problem = format!("holds both {} and {}", paths[0].display(), other.display());
        return Err(Error::file(folder, problem, "keep .vtu and .vti files in folders of their own"));
    }
    if paths.is_empty() {
        let hint = "give a folder with one mesh per sample";
        return Err(Error::file(folder, "holds no .vtu or .vti files", hint));
    }
    paths.truncate(first.unwrap_or(paths.len()).max(1));
    let mut meshes: Vec<(PathBuf, Mesh)> = Vec::with_capacity(paths.len());
    for path in paths {
        let mut mesh = read(&path)?;
        if let Some((earlier, example)) = meshes.first() {
            agree(&path, &mut mesh, earlier, example)?;
        }
        meshes.push((path, mesh));
    }
    Ok(meshes)
}

/// Whether a path is a folder with meshes in it.
pub fn holds_meshes(path: &Path) -> bool {
    path.is_dir() && mesh_paths(path).is_ok_and(|paths| !paths.is_empty())
}

/// The meshes of a folder in the order of their names.
pub(in crate::io) fn mesh_paths(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder, "open"))? {
        let path = entry.map_err(Error::io(folder, "read"))?.path();
        if path.extension().is_some_and(|extension| extension == "vtu" || extension == "vti") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Brings the fields of a mesh into the order of an earlier file, if they are the same.
fn agree(path: &Path, mesh: &mut Mesh, earlier: &Path, example: &Mesh) -> Result<()> {
    let lacks = |path: &Path, name: &str, other: &Path| {
        let problem = format!("has no point data `{name}`, which {} has", other.display());
        Error::file(path, problem, "all files of a folder have the same fields")
    };
    for (at, wanted) in example.point_data.iter().enumerate() {
        let name = &wanted.name;
        let Some(found) = mesh.point_data.iter().position(|data| data.name == *name) else {
            return Err(lacks(path, name, earlier));
        };
        mesh.point_data.swap(at, found);
        let components = mesh.point_data[at].components;
        if components != wanted.components {
            let other = format!("{} in {}", wanted.components, earlier.display());
            let problem = format!("has {components} components per point in `{name}`, but there are {other}");
            return Err(Error::file(path, problem, "write the field with the same components into all files"));
        }
    }
    if let Some(extra) = mesh.point_data.get(example.point_data.len()) {
        return Err(lacks(earlier, &extra.name, path));
    }
    let (dimension, other) = (mesh.dimension(), example.dimension());
    if dimension != other {
        let problem = format!("has points in {dimension}D, but those of {} are in {other}D", earlier.display());
        return Err(Error::file(path, problem, "points are in 2D when all have the same z: write all meshes alike"));
    }
    Ok(())
}
