//! `nkn reproduce` as a user meets it: stopped and continued, extended, asked for the impossible.

use assert_cmd::Command;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

fn nkn() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin!("nkn"))
}

/// The smallest part of the Poisson tables.
const SMALL: [&str; 7] = ["reproduce", "poisson", "--budget", "quick", "--models", "fno", "--data=original"];

/// results.csv without the times.
fn errors(out: &Path) -> String {
    let text = fs::read_to_string(out.join("results.csv")).unwrap();
    text.lines().filter(|line| !line.contains(",seconds,")).collect::<Vec<_>>().join("\n")
}

/// Killed, continued, and extended to another depth: the same bits as in one go.
#[test]
fn stopped_and_extended_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let (unbroken, broken) = (folder.path().join("unbroken"), folder.path().join("broken"));
    nkn().args(SMALL).args(["--depths", "1,2", "--out"]).arg(&unbroken).assert().success();
    let table = fs::read_to_string(unbroken.join("results.md")).unwrap();
    assert!(table.contains("FNO"), "{table}");
    let page = fs::read_to_string(unbroken.join("index.html")).unwrap();
    assert!(page.contains("Quick budget") && page.contains("148,033"));
    assert!(fs::read_to_string(unbroken.join("results.tex")).unwrap().contains("\\begin{tabular}"));

    let job = "jobs/fno-s101-original-seed0";
    let run = broken.join(job);
    for milliseconds in [300, 900, 1500] {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("nkn"));
        command.args(SMALL).args(["--depths", "1", "--threads", "1", "--out"]).arg(&broken);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // A second depth is asked for before the first has ended, and the kill comes right after it.
    let command = || {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("nkn"));
        command.args(SMALL).args(["--depths", "1,2", "--out"]).arg(&broken);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut child = command().spawn().unwrap();
    while !run.join("depths/L1.safetensors").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(50));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(command().status().unwrap().success());
    assert_eq!(errors(&unbroken), errors(&broken));
    for file in ["metrics.csv", "cells.csv", "depths/L1.safetensors", "depths/L2.safetensors"] {
        let [a, b] = [&unbroken, &broken].map(|out| fs::read(out.join(job).join(file)).unwrap());
        assert!(a == b, "{file} differs");
    }

    // What is finished is not trained again, also when less is asked for.
    let before = fs::metadata(run.join("model.safetensors")).unwrap().modified().unwrap();
    let output = nkn().args(SMALL).args(["--depths", "1", "--out"]).arg(&broken).output().unwrap();
    assert!(output.status.success());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("1 trainings, 1 of them finished"), "{message}");
    assert_eq!(before, fs::metadata(run.join("model.safetensors")).unwrap().modified().unwrap());

    // A folder that was trained otherwise is not touched.
    let config = run.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("batch = 20", "batch = 25")).unwrap();
    let output = nkn().args(SMALL).args(["--depths", "1", "--out"]).arg(&broken).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("other settings"));
}

/// A time limit stops with a page of what is there.
#[test]
fn a_time_limit_stops_with_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = nkn().args(SMALL).args(["--max-hours", "0.0001", "--out"]).arg(&out).output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the same command continues"));
    assert!(out.join("index.html").is_file());
}

#[test]
fn wrong_requests() {
    let cases: [(&[&str], &str); 5] = [
        (&["reproduce", "poisson", "--depths", "4,2"], "rising numbers"),
        (&["reproduce", "poisson", "--depths", "0"], "rising numbers"),
        (&["reproduce", "darcy", "--trained-at", "18"], "241 x 241"),
        (&["reproduce", "poisson", "--max-hours=-1"], "--max-hours"),
        (&["reproduce", "burgers"], "invalid value"),
    ];
    for (arguments, words) in cases {
        let output = nkn().args(arguments).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(words), "{message:?} lacks {words:?}");
    }
}
