//! Predictions as meshes: one file, or a folder with one per sample.

use anyhow::{Context, Result, ensure};
use nkn::Samples;
use nkn::io::{mesh_names, write_predicted};
use std::fs;
use std::path::{Path, PathBuf};

/// Whether a name asks for meshes: it ends with .vtu or .vti, or is that of a folder.
pub fn wanted(out: &Path) -> bool {
    is_mesh(out) || is_folder(out)
}

fn is_mesh(out: &Path) -> bool {
    out.extension().is_some_and(|ending| ending == "vtu" || ending == "vti") && !is_folder(out)
}

fn is_folder(out: &Path) -> bool {
    out.is_dir() || out.to_string_lossy().ends_with(std::path::is_separator)
}

/// The files to write, one for each sample, if meshes are wanted; nothing that is there is replaced unless that is wanted.
pub fn files(out: &Path, input: &Path, samples: &Samples, force: bool) -> Result<Option<Vec<PathBuf>>> {
    if !wanted(out) {
        return Ok(None);
    }
    let names = mesh_names(input, samples)?;
    if is_mesh(out) {
        ensure!(
            names.len() == 1,
            "{}: there are {} samples, and a mesh holds one\n  hint: give a folder: -o {}/",
            out.display(),
            names.len(),
            out.with_extension("").display()
        );
        let ending = Path::new(&names[0]).extension().unwrap_or_default();
        ensure!(
            out.extension() == Some(ending),
            "{}: expected a name that ends with .{}\n  hint: regular grids are written as .vti, other points as .vtu",
            out.display(),
            ending.display()
        );
    } else {
        let mut inside = fs::read_dir(out).into_iter().flatten();
        let hint = "write into it with --force, or choose another name";
        ensure!(force || inside.next().is_none(), "{}: has files in it already\n  hint: {hint}", out.display());
    }
    let files: Vec<PathBuf> = match is_mesh(out) {
        true => vec![out.to_owned()],
        false => names.into_iter().map(|name| out.join(name)).collect(),
    };
    for file in &files {
        super::refuse_existing(file, force)?;
        let same = |a: &Path, b: &Path| fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b));
        let is_input = same(file, input) || file.parent().is_some_and(|folder| same(folder, input));
        ensure!(!is_input, "{}: is one of the inputs\n  hint: choose another name", file.display());
    }
    Ok(Some(files))
}

/// Writes predictions; the folder is made.
pub fn write(files: &[PathBuf], input: &Path, given: &Samples, predicted: &Samples) -> Result<()> {
    if let Some(folder) = files.first().and_then(|file| file.parent()).filter(|folder| *folder != Path::new("")) {
        fs::create_dir_all(folder).with_context(|| format!("{}: could not make the folder", folder.display()))?;
    }
    Ok(write_predicted(files, input, given, predicted)?)
}
