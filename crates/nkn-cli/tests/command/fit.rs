//! `nkn fit` as a user meets it: choices with reasons, a configuration that repeats the result, interruptions, wrong
//! inputs.

use crate::{nkn, refuses};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// Tiny Poisson data in a folder.
fn data(folder: &Path, samples: usize) -> PathBuf {
    let file = folder.join(format!("poisson-{samples}.npz"));
    let (samples, points) = (samples.to_string(), "17");
    nkn().args(["data", "poisson", "--samples", &samples, "--points", points, "-o"]).arg(&file).assert().success();
    file
}

fn bytes(run: &Path) -> Vec<u8> {
    fs::read(run.join("model.safetensors")).unwrap()
}

/// The run's configuration, trained again, gives the same network.
fn assert_repeatable(folder: &Path, run: &Path) {
    let again = folder.join("again");
    nkn().arg("train").arg(run.join("config.toml")).arg("--out").arg(&again).assert().success();
    assert_eq!(bytes(run), bytes(&again));
}

#[test]
fn a_fit_from_file_to_report() {
    let folder = tempfile::tempdir().unwrap();
    let (train, run) = (data(folder.path(), 40), folder.path().join("run"));
    let fit = || {
        let mut command = nkn();
        command
            .arg("fit")
            .arg(&train)
            .arg("--test")
            .arg(&train)
            .args(["--minutes", "0.1", "--outputs", "u", "-o"])
            .arg(&run);
        command
    };
    let output = fit().output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{errors}");
    for words in [
        "data: 40 samples on a regular grid of 17 nodes",
        "validation: 6 samples (by the seed",
        "kind: fno and nkn",
        "nkn radius: none (17 nodes: every node may see every other)",
        "nkn kernel: k(x, y) (a linear map has an error of",
        "nkn width: 1, kernel",
        "nkn ladder: ",
        "times as much)",
        "on the validation samples",
        "on the test samples, which decided nothing",
        "the same again: nkn train",
    ] {
        assert!(text.contains(words), "{words:?} is missing in {text}");
    }
    assert_repeatable(folder.path(), &run);
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("<h2>Choices</h2>") && page.contains("times as much"));
    // Nothing is overwritten unless that is wanted.
    let old = bytes(&run);
    let refused = fit().output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("exists already"));
    fit().arg("--resume").assert().success();
    assert_eq!(bytes(&run), old);
    fit().args(["--force", "--kind", "gkn"]).assert().success();
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    assert!(config.contains("kind = \"gkn\""), "{config}");
}

#[test]
fn killed_and_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let (train, run) = (data(folder.path(), 30), folder.path().join("run"));
    let program = assert_cmd::cargo::cargo_bin!("nkn");
    let mut command = std::process::Command::new(program);
    command.arg("fit").arg(&train).args(["--minutes", "0.1", "--kind", "nkn", "--resume", "-o"]).arg(&run);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut kills = 0;
    for pause in [300, 1200, 2000, 3000, 2500, 2000] {
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills > 0);
    assert!(command.status().unwrap().success());
    assert_repeatable(folder.path(), &run);
}

#[test]
fn wrong_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let (few, enough) = (data(folder.path(), 3), data(folder.path(), 12));
    let run = folder.path().join("run");
    let fails = |file: &Path, more: &[&str], words: &[&str]| {
        refuses(nkn().arg("fit").arg(file).args(more).arg("-o").arg(&run), words);
        assert!(!run.join("fit.json").exists());
    };
    fails(&few, &[], &["samples: expected at least 6", "got 3", "hint"]);
    fails(&enough, &["--outputs", "w"], &["--outputs", "`u`", "`w`"]);
    fails(&enough, &["--minutes", "0"], &["minutes", "positive"]);
    fails(&enough, &["--kind", "cnn"], &["nkn, gkn, fno or auto"]);
    fails(
        &folder.path().join("none.npz"),
        &[],
        &["none.npz", "could not read", "hint: check the spelling of the path\n"],
    );
    let text = folder.path().join("text.npz");
    fs::write(&text, "no data").unwrap();
    fails(&text, &[], &["text.npz"]);
}
