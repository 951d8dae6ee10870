//! Wrong inputs, and what must not be touched.

use crate::{Place, TINY, TINY_DARCY, nkn, refuses};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

#[test]
fn darcy_with_wrong_settings() {
    let place = Place::new();
    let folder = place.path("samples");
    let text = TINY_DARCY.replace("FOLDER", folder.to_str().unwrap());
    for (from, to, words) in [
        // Neighbours are 0.125 apart.
        ("radius = 0.2", "radius = 0.1", vec!["radius", "0.1"]),
        ("resolution = 9", "resolution = 10", vec!["resolution", "10"]),
        ("train_samples = 6", "train_samples = 0", vec!["train_samples", "1 or more"]),
        ("fine = 33", "fine = 2", vec!["3"]),
        ("epochs = 10", "augment = \"square\"\nvectors = [[\"a\", \"b\"]]", vec!["train.vectors", "\"a\"", "b_eps_x"]),
        ("problem = \"darcy\"", "problem = \"darcy\"\ntrain = \"nothing.mat\"", vec!["nothing.mat"]),
    ] {
        let config = place.file("wrong.toml", text.replace(from, to));
        let run = place.path("wrong");
        refuses(nkn().arg("train").arg(&config).arg("--out").arg(&run), &words);
        assert!(!run.exists());
    }
}

#[test]
fn wrong_configurations() {
    let place = Place::new();
    for (text, words) in [
        ("[model]\nwidht = 3", vec!["line 2", "widht", "configs/poisson.toml"]),
        ("[train]\nepochs = \"many\"", vec!["line 2"]),
        ("[model]\nradius = -0.1", vec!["model.radius", "positive"]),
        ("[model]\nwidth = 0", vec!["model.width", "1 or more"]),
        ("[model]\nfields = [\"g\"]", vec!["\"g\"", "\"f\""]),
        ("[data]\nproblem = \"files\"", vec!["data.train"]),
        ("[data]\nproblem = \"files\"\ntrain = \"nowhere.npz\"", vec!["nowhere.npz"]),
        ("[data]\npoints = 1", vec!["points"]),
        ("[model]\nquadrature = \"overlap\"", vec!["overlap"]),
        ("this is not toml", vec!["wrong.toml", "line 1"]),
        ("[model]\nradius = 0.001", vec!["model.radius", "more than its own centre", "0.001"]),
        ("[train]\nloss = \"cross_entropy\"", vec!["train.loss", "relative_l2"]),
        ("[model]\nquadrature = \"stencil\"", vec!["model.quadrature", "stencil", "for a training"]),
        ("[train]\ncertified = true", vec!["train.certified", "dissipative"]),
        ("[train]\nvalidation = 100000", vec!["train.validation", "fewer than"]),
    ] {
        let config = place.file("wrong.toml", text);
        refuses(nkn().arg("train").arg(&config).arg("--out").arg(place.path("run")), &words);
        assert!(!place.path("run").exists(), "{text:?} left a folder behind");
    }
    refuses(nkn().arg("train").arg(place.path("absent.toml")), &["absent.toml"]);
    let config = place.file("tiny.toml", TINY);
    refuses(nkn().arg("train").arg(&config).args(["--set", "train.sed=1"]), &["--set", "sed"]);
    refuses(nkn().args(["--threads", "0", "train"]).arg(&config), &["--threads"]);
}

#[test]
fn an_existing_run_is_not_touched() {
    let place = Place::new();
    let run = place.trained();
    let config = place.path("tiny.toml");
    let model = || fs::read(run.join("model.safetensors")).unwrap();
    let before = model();
    let train = |extra: &[&str]| {
        let mut command = nkn();
        command.arg("train").arg(&config).arg("--out").arg(&run).args(extra);
        command
    };
    refuses(&mut train(&[]), &["exists already", "--resume", "--force", "--out"]);
    refuses(&mut train(&["--resume", "--set", "train.seed=9"]), &["differs", "train.seed is 0 there and 9 here"]);
    nkn().arg("eval").arg(&run).assert().success();
    nkn().arg("spectrum").arg(&run).assert().success();
    nkn().arg("eval").arg(&run).args(["--depths", "1,2"]).assert().success();
    let measured = ["eval.csv", "spectrum.csv", "depths.csv"].map(|name| run.join(name));
    assert!(measured.iter().all(|path| path.is_file()), "{measured:?}");
    assert!(model() == before);
    train(&["--resume"]).assert().success();
    assert!(model() == before);
    train(&["--force", "--set", "train.seed=9"]).assert().success();
    assert!(model() != before);
    // What was measured on the old network is not the new one's.
    assert!(measured.iter().all(|path| !path.exists()), "{measured:?}");
    let other = place.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("thesis.tex"), "years of work").unwrap();
    let words = ["not the folder of a run"];
    refuses(nkn().arg("train").arg(&config).arg("--force").arg("--out").arg(&other), &words);
    assert!(other.join("thesis.tex").is_file());
}

#[test]
fn files_that_are_not_what_they_say() {
    let place = Place::new();
    let run = place.trained();
    let out = place.path("out.npz");
    let predict = |model: &Path, input: &Path| {
        let mut command = nkn();
        command.arg("predict").arg(model).arg(input).arg("--out").arg(&out);
        command
    };
    let data = place.path("data.npz");
    nkn().args(["data", "poisson", "--samples", "2", "--out"]).arg(&data).assert().success();
    let hdf5 = place.file("mesh.npz", b"\x89HDF\r\n\x1a\n and so on");
    refuses(&mut predict(&run, &hdf5), &["mesh.npz", "HDF5"]);
    let bytes = fs::read(&data).unwrap();
    let cut = place.file("cut.npz", &bytes[..bytes.len() / 2]);
    refuses(&mut predict(&run, &cut), &["cut.npz"]);
    refuses(&mut predict(&run, &place.file("empty.npz", b"")), &["empty.npz"]);
    let foreign = place.file("model.safetensors", b"not a model");
    refuses(&mut predict(&foreign, &data), &["model.safetensors", "safetensors"]);
    let model = fs::read(run.join("model.safetensors")).unwrap();
    let short = place.file("short.safetensors", &model[..model.len() - 9]);
    refuses(&mut predict(&short, &data), &["short.safetensors"]);
    refuses(&mut predict(&place.path("nowhere"), &data), &["nowhere", "does not exist"]);
    let elsewhere = place.path("out.mat");
    let words = ["out.mat", "not written", ".npz or .h5"];
    refuses(nkn().arg("predict").arg(&run).arg(&data).arg("--out").arg(&elsewhere), &words);
    refuses(nkn().args(["data", "poisson", "--out"]).arg(&elsewhere), &words);
    assert!(!elsewhere.exists());
    refuses(nkn().args(["reproduce", "poisson", "--max-hours", "0"]), &["--max-hours", "positive"]);
    fs::write(run.join("model.safetensors"), b"{").unwrap();
    refuses(&mut predict(&run, &data), &["model.safetensors"]);
    assert!(!out.exists());
}

#[test]
fn a_loss_that_is_not_finite_stops_with_its_name() {
    let place = Place::new();
    let config = place.file("wild.toml", TINY.replace("5e-3", "1e30"));
    let run = place.path("run");
    let words = ["not finite", "depth 1", "epoch", "learning_rate"];
    refuses(nkn().arg("train").arg(&config).arg("--out").arg(&run), &words);
    // The last good checkpoint is there and readable: the resumed run meets the same number again.
    assert!(run.join("checkpoint/state.safetensors").is_file());
    refuses(nkn().arg("train").arg(&config).arg("--out").arg(&run).arg("--resume"), &words);
}

/// A disk that fills up while training: an error, the old checkpoint intact, and the same bits after --resume.
#[test]
fn a_full_disk() {
    let place = Place::new();
    let expected = fs::read(place.trained().join("model.safetensors")).unwrap();
    let config = place.path("tiny.toml");
    let other = place.path("other/run");
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("nkn"));
    let mut child = command.arg("train").arg(&config).arg("--out").arg(&other).stderr(Stdio::null()).spawn().unwrap();
    while !other.join("checkpoint/state.safetensors").exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The next checkpoint is written to the kernel's own full device.
    let beside = other.join("checkpoint/state.safetensors.tmp");
    let _ = fs::remove_file(&beside);
    std::os::unix::fs::symlink("/dev/full", &beside).unwrap();
    let resume = || {
        let mut command = nkn();
        command.arg("train").arg(&config).arg("--out").arg(&other).arg("--resume");
        command
    };
    refuses(&mut resume(), &["state.safetensors", "disk is full"]);
    resume().assert().success();
    assert!(fs::read(other.join("model.safetensors")).unwrap() == expected);
}

/// Settings that cannot be met are refused before anything is allocated or written.
#[test]
fn impossible_sizes_and_missing_runs() {
    let place = Place::new();
    let config = place.file("tiny.toml", TINY);
    let run = place.path("run");
    let train = |set: &str| {
        let mut command = nkn();
        command.arg("train").arg(&config).arg("--out").arg(&run).args(["--set", set]);
        command
    };
    refuses(&mut train("model.width=100000000"), &["parameters", "model.width"]);
    refuses(&mut train("model.kernel=[4000000000]"), &["parameters"]);
    refuses(&mut train("model.kind=cnn"), &["model.kind", "nkn, gkn, fno", "functions"]);
    refuses(&mut train("model.fields=[\"g\"]"), &["\"g\"", "\"f\""]);
    assert!(!run.exists());
    // A run that is not there cannot be continued, of whatever kind it is.
    refuses(nkn().arg("train").arg(&config).arg("--out").arg(&run).arg("--resume"), &["run", "does not exist"]);
    let images = place.file("images.toml", "[data]\nproblem = \"mnist\"");
    refuses(nkn().arg("train").arg(&images).arg("--out").arg(&run).arg("--resume"), &["nkn data mnist"]);
    assert!(!run.exists());
}

/// Options that make no sense are named, whatever the command.
#[test]
fn wrong_options_are_named() {
    let cases: [(&[&str], &[&str]); 6] = [
        (&["--threads", "0", "bench", "peak"], &["--threads", "1 or more"]),
        (&["bench", "poisson", "--batch", "0"], &["--batch", "1 or more"]),
        (&["bench", "mnist", "--batch", "2", "--resolution", "4", "--depth", "0"], &["--depth", "1 or more"]),
        (&["report", "nowhere"], &["nowhere"]),
        (&["spectrum", "nowhere", "--depth", "1"], &["nowhere"]),
        (&["data", "darcy", "--out", "y.npz", "--coefficients", "x.npz", "--seed", "1"], &["--coefficients", "--seed"]),
    ];
    for (arguments, words) in cases {
        refuses(nkn().args(arguments), words);
    }
}
