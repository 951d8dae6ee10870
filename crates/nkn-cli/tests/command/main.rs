//! The command as a user meets it. One program for all of its tests: they share what they are made of, and are linked once.

mod fit;
mod images;
mod interruptions;
mod meshes;
mod refusals;
mod report;
mod reproduce;
mod runs;

use assert_cmd::Command;
use std::fs;
use std::path::PathBuf;

/// The command.
fn nkn() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin!("nkn"))
}

/// A tiny Poisson run: two depths in a second.
const TINY: &str = r#"
[data]
points = 21
train_samples = 20
test_samples = 5
[model]
kernel = [8, 8]
reaction = [4]
[train]
depths = [1, 2]
epochs = 60
optimiser = "soap"
learning_rate = 5e-3
betas = [0.9, 0.95]
record_every = 1
evaluate_every = 10
checkpoint_seconds = 0.0
"#;

/// A tiny Darcy run; FOLDER is where generated samples are kept.
const TINY_DARCY: &str = r#"
[data]
problem = "darcy"
fine = 33
resolution = 9
train_samples = 6
test_samples = 3
folder = "FOLDER"
[model]
width = 8
kernel = [8, 16]
reaction = [8]
fields = ["b", "b_eps", "b_eps_x", "b_eps_y"]
kernel_fields = ["b"]
radius = 0.2
quadrature = "mean"
normalise_input = "scalar"
normalise_output = "scalar"
[train]
depths = [1, 2]
epochs = 10
"#;

/// A folder for one test.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// A finished tiny run called `run`.
    fn trained(&self) -> PathBuf {
        let config = self.file("tiny.toml", TINY);
        let run = self.path("run");
        nkn().arg("train").arg(&config).arg("--out").arg(&run).assert().success();
        run
    }
}

/// What the command answers with --json: one object a line, and nothing else.
fn answers(command: &mut Command) -> Vec<serde_json::Value> {
    let output = command.arg("--json").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The command fails with exit code 2 and says all of these words.
fn refuses(command: &mut Command, words: &[&str]) {
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{message}");
    for word in words {
        assert!(message.contains(word), "{message:?} lacks {word:?}");
    }
    assert!(!message.contains("panicked"), "{message}");
}
