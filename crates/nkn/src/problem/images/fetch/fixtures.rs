//! Small sets with archives of their own, and programs that stand for npm, apt-get and dpkg-deb.

use super::child::Tools;
use super::{Prepared, Progress, prepare_with};
use crate::Result;
use crate::problem::images::cifar::RECORD;
use crate::problem::images::cifar_png::png_from_records;
use crate::problem::images::sha256::Hasher;
use crate::problem::images::table::{Archive, Entry, Form, Layout, Origin, Table};
use flate2::{Compression, write::GzEncoder};
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// A set, its archive, and a target folder that does not exist yet.
pub(super) struct Fixture {
    pub(super) outer: tempfile::TempDir,
    pub(super) folder: PathBuf,
    pub(super) archive: PathBuf,
    pub(super) table: Table,
    /// The files as they must be in the end.
    pub(super) contents: Vec<(&'static str, Vec<u8>)>,
}

pub(super) fn sha256(bytes: &[u8]) -> &'static str {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.finish().1.leak()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}

/// The words that run a script of the shell in place of a program.
pub(super) fn script(text: impl Into<String>) -> Vec<String> {
    vec!["sh".into(), "-c".into(), text.into()]
}

/// Tools of which each does the same.
pub(super) fn all(words: &[String]) -> Tools {
    Tools { npm: words.to_vec(), apt_get: words.to_vec(), dpkg_deb: words.to_vec() }
}

impl Fixture {
    fn new(
        layout: Layout,
        contents: Vec<(&'static str, Vec<u8>)>,
        members: &[(&'static str, Vec<u8>)],
        origin: Origin,
        form: impl Fn(usize) -> Form,
    ) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let (name, bytes) = match origin {
            Origin::Npm(_) => ("small-1.0.0.tgz", gzip(&tar(members))),
            Origin::Debian(_) => ("small_1.0_all.deb", tar(members)),
        };
        let archive = outer.path().join(name);
        fs::write(&archive, &bytes).unwrap();
        let entry = |(index, (name, content)): (usize, &(&'static str, Vec<u8>))| Entry {
            name,
            bytes: content.len() as u64,
            sha256: sha256(content),
            member: members[index].0.strip_prefix("./").unwrap_or(members[index].0),
            form: form(index),
        };
        let files: Vec<Entry> = contents.iter().enumerate().map(entry).collect();
        let release = matches!(origin, Origin::Npm(_));
        let archive_entry = Archive {
            origin,
            name: if release { name } else { "small_" },
            bytes: bytes.len() as u64,
            sha256: release.then(|| sha256(&bytes)),
        };
        let table = Table { title: "Small", files: files.leak(), layout, archive: archive_entry };
        Self { folder: outer.path().join("data/small"), outer, archive, table, contents }
    }

    /// Two idx files as npm has them.
    pub(super) fn idx() -> Self {
        let contents = idx_contents();
        let members = [("package/data/i", contents[0].1.clone()), ("package/data/l", contents[1].1.clone())];
        Self::new(Layout::Idx, contents, &members, Origin::Npm("small@1.0.0"), |_| Form::Plain)
    }

    /// Two idx files as Debian has them.
    pub(super) fn debian() -> Self {
        let contents = idx_contents();
        let members = [("./usr/i.gz", gzip(&contents[0].1)), ("./usr/l.gz", gzip(&contents[1].1))];
        Self::new(Layout::Idx, contents, &members, Origin::Debian("small"), |_| Form::Gzip)
    }

    /// A training batch of two images, of which the labels start at the second, and a test batch of one.
    pub(super) fn cifar() -> Self {
        let record = |label: u8| -> Vec<u8> {
            std::iter::once(label).chain((1..RECORD).map(|i| (i * usize::from(label + 3) % 255) as u8)).collect()
        };
        let (training, testing) = ([record(5), record(9)].concat(), record(2));
        let members = [
            ("package/a.png", png_from_records(&training)),
            ("package/b.png", png_from_records(&testing)),
            ("package/train.json", b"[1,5,9]".to_vec()),
            ("package/test.json", b"[2]".to_vec()),
        ];
        let form = |index: usize| match index {
            0 => Form::CifarPng { labels: "package/train.json", first: 1 },
            _ => Form::CifarPng { labels: "package/test.json", first: 0 },
        };
        let contents = vec![("a.bin", training), ("b.bin", testing)];
        Self::new(Layout::CifarBin, contents, &members, Origin::Npm("small@1.0.0"), form)
    }

    /// Tools that deliver the archive.
    pub(super) fn tools(&self) -> Tools {
        let copy = script(format!("cp '{}' .", self.archive.display()));
        let dpkg_deb = script(format!("cat '{}'", self.archive.display()));
        Tools { npm: copy.clone(), apt_get: copy, dpkg_deb }
    }

    pub(super) fn prepare(&self, tools: &Tools) -> Result<Prepared> {
        prepare_with(&self.table, &self.folder, tools, &mut |_| ControlFlow::Continue(()))
    }

    pub(super) fn prepare_and_watch(&self, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<Prepared> {
        prepare_with(&self.table, &self.folder, &self.tools(), watch)
    }

    /// The error of a run that must change nothing.
    pub(super) fn refused(&self, tools: &Tools) -> String {
        let before = listing(self.outer.path());
        let message = self.prepare(tools).unwrap_err().to_string();
        assert!(message.contains("hint: "), "{message}");
        assert_eq!(listing(self.outer.path()), before, "{message}");
        message
    }

    /// The folder holds the files, and nothing else but these.
    pub(super) fn assert_complete(&self, others: &[&str]) {
        for (name, content) in &self.contents {
            assert_eq!(&fs::read(self.folder.join(name)).unwrap(), content);
        }
        let mut names: Vec<&str> = self.contents.iter().map(|(name, _)| *name).chain(others.iter().copied()).collect();
        names.sort_unstable();
        let there: Vec<PathBuf> = listing(&self.folder).into_iter().map(|(path, _)| path).collect();
        assert_eq!(there, names.iter().map(|name| self.folder.join(name)).collect::<Vec<_>>());
    }
}

fn idx_contents() -> Vec<(&'static str, Vec<u8>)> {
    let images = [[2051u32, 2, 4, 4].map(u32::to_be_bytes).concat(), (0..32).collect()].concat();
    vec![("small-images-idx3-ubyte", images), ("small-labels-idx1-ubyte", vec![0, 0, 8, 1, 0, 0, 0, 2, 7, 9])]
}

/// Everything under a folder, with the content of files.
fn listing(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let content = fs::read(&path).unwrap_or_default();
        if path.is_dir() {
            all.extend(listing(&path));
        }
        all.push((path, content));
    }
    all.sort();
    all
}
