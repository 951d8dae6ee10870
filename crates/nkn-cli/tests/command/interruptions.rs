//! Killed and interrupted at any moment, continued to the bit.

use crate::{Place, TINY, nkn};
use std::fs;
use std::process::Stdio;
use std::time::Duration;

/// Killed at 20 moments and resumed each time: the same bits as the run that nobody disturbed.
#[test]
fn killed_and_resumed_to_the_bit() {
    let place = Place::new();
    let config = place.file("tiny.toml", TINY.replace("epochs = 60", "epochs = 150"));
    let unbroken = place.path("unbroken/run");
    // Two threads here, one below: the number must not matter.
    nkn().args(["--threads", "2", "train"]).arg(&config).arg("--out").arg(&unbroken).assert().success();
    let broken = place.path("broken/run");
    let command = || {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("nkn"));
        command.args(["--threads", "1", "train"]).arg(&config).arg("--out").arg(&broken);
        if broken.join("config.toml").exists() {
            command.arg("--resume");
        } else {
            // Killed between making the folder and writing into it.
            let _ = fs::remove_dir_all(&broken);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut random = 12345u64;
    let mut kills = 0;
    while kills < 20 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut child = command().spawn().unwrap();
        std::thread::sleep(Duration::from_millis(20 + (random >> 33) % 130));
        if child.try_wait().unwrap().is_some() {
            // It was quicker: once more from the beginning.
            fs::remove_dir_all(&broken).unwrap();
            continue;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(command().status().unwrap().success());
    for file in ["metrics.csv", "model.safetensors", "depths/L1.safetensors", "depths/L2.safetensors"] {
        assert!(fs::read(unbroken.join(file)).unwrap() == fs::read(broken.join(file)).unwrap(), "{file} differs");
    }
}

/// Ctrl-C saves a checkpoint, says how to go on, and the resumed run ends with the same bits.
#[test]
fn interrupted_and_resumed() {
    let place = Place::new();
    let text =
        TINY.replace("checkpoint_seconds = 0.0", "checkpoint_seconds = 1e6").replace("epochs = 60", "epochs = 400");
    let config = place.file("tiny.toml", text);
    let unbroken = place.path("unbroken/run");
    nkn().arg("train").arg(&config).arg("--out").arg(&unbroken).assert().success();
    let run = place.path("broken/run");
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("nkn"));
    let child = command.arg("train").arg(&config).arg("--out").arg(&run).stderr(Stdio::piped()).spawn().unwrap();
    while !run.join("metrics.csv").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(message.contains("--resume"), "{message}");
    nkn().arg("train").arg(&config).arg("--out").arg(&run).arg("--resume").assert().success();
    for file in ["metrics.csv", "model.safetensors"] {
        assert!(fs::read(unbroken.join(file)).unwrap() == fs::read(run.join(file)).unwrap(), "{file} differs");
    }
}
