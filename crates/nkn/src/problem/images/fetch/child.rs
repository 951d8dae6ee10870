//! The programs that fetch and open archives for us: npm, apt-get and dpkg-deb.

use super::workspace::Workspace;
use crate::{Error, Result};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Between two looks at a running program.
const INTERVAL: Duration = Duration::from_millis(100);

/// In the workspace: what a program says about errors. A file, because a full pipe would block the program.
const MESSAGES: &str = "messages";

/// How each program is called: its name, and what comes before our own arguments.
pub(super) struct Tools {
    pub(super) npm: Vec<String>,
    pub(super) apt_get: Vec<String>,
    pub(super) dpkg_deb: Vec<String>,
}

impl Default for Tools {
    fn default() -> Self {
        let [npm, apt_get, dpkg_deb] = ["npm", "apt-get", "dpkg-deb"].map(|name| vec![name.to_string()]);
        Self { npm, apt_get, dpkg_deb }
    }
}

impl Tools {
    /// Downloads the tarball of a package into the current folder, and does nothing else with it: no script of the
    /// package is run, and the cache is here too, so that nothing stays elsewhere. Without a network it gives up after
    /// seconds instead of minutes.
    pub(super) fn npm_pack(&self, package: &str) -> Command {
        let mut command = command(&self.npm);
        command.args(["pack", package, "--ignore-scripts", "--cache=./cache", "--loglevel=error"]);
        command.args(["--no-update-notifier", "--fetch-retries=2", "--fetch-retry-mintimeout=1000"]);
        command.arg("--fetch-retry-maxtimeout=5000");
        command
    }

    /// Downloads a package of the distribution into the current folder; needs no rights.
    pub(super) fn apt_get_download(&self, package: &str) -> Command {
        let mut command = command(&self.apt_get);
        command.args(["-q", "download", package]);
        command
    }

    /// Writes the files in a package, as a tar archive, to its output.
    pub(super) fn dpkg_deb_files(&self, package: &Path) -> Command {
        let mut command = command(&self.dpkg_deb);
        command.arg("--fsys-tarfile").arg(package);
        command
    }
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Runs a program in the workspace until it ends, or until `meanwhile`, called again and again, fails: then it is
/// killed.
///
/// The inner result says why the program could not do its work.
pub(super) fn run(
    command: Command,
    workspace: &Workspace,
    meanwhile: &mut dyn FnMut() -> Result<()>,
) -> Result<std::result::Result<(), String>> {
    let mut running = match Running::start(command, workspace, Stdio::null())? {
        Ok(running) => running,
        Err(reason) => return Ok(Err(reason)),
    };
    loop {
        let status = running.child.try_wait().map_err(Error::io(workspace.path(), "wait for a program in"))?;
        if let Some(status) = status {
            if !status.success() {
                // Ctrl-C reaches the program too: then it is not the program that failed.
                meanwhile()?;
            }
            return Ok(running.verdict(status));
        }
        meanwhile()?;
        std::thread::sleep(INTERVAL);
    }
}

/// A program at work; killed when this goes.
pub(super) struct Running<'a> {
    pub(super) child: Child,
    name: String,
    workspace: &'a Workspace,
}

impl<'a> Running<'a> {
    /// Starts a program in the workspace. The inner result says why that cannot be.
    pub(super) fn start(
        mut command: Command,
        workspace: &'a Workspace,
        output: Stdio,
    ) -> Result<std::result::Result<Self, String>> {
        let path = workspace.path().join(MESSAGES);
        let messages = File::create(&path).map_err(Error::io(&path, "write"))?;
        let name = command.get_program().to_string_lossy().into_owned();
        command.current_dir(workspace.path()).stdin(Stdio::null()).stdout(output).stderr(messages);
        // Messages are quoted to the user: let them be in the language of ours.
        command.env("LC_ALL", "C");
        Ok(match command.spawn() {
            Ok(child) => Ok(Self { child, name, workspace }),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(format!("the program `{name}` is not installed")),
            Err(error) => Err(format!("the program `{name}` could not be started ({error})")),
        })
    }

    /// Waits for the end.
    pub(super) fn finish(mut self) -> Result<std::result::Result<(), String>> {
        let status = self.child.wait().map_err(Error::io(self.workspace.path(), "wait for a program in"))?;
        Ok(self.verdict(status))
    }

    /// Whether the program did its work, and otherwise what it said.
    fn verdict(&self, status: ExitStatus) -> std::result::Result<(), String> {
        if status.success() {
            return Ok(());
        }
        let messages = fs::read(self.workspace.path().join(MESSAGES)).unwrap_or_default();
        let messages = String::from_utf8_lossy(&messages);
        // The first lines name the cause; npm goes on with the place in its own code.
        let lines: Vec<&str> = messages.lines().map(str::trim).filter(|line| !line.is_empty()).take(4).collect();
        let quoted: String = lines.iter().map(|line| format!("\n    | {line}")).collect();
        Err(format!("`{}` failed ({status}){}{quoted}", self.name, if lines.is_empty() { "" } else { ":" }))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
