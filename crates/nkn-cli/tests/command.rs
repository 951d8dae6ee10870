//! The command as a user meets it: whole runs, wrong inputs, interruptions.

use assert_cmd::Command;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

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

/// A page without the letters of its embedded images, which mean nothing.
fn without_images(page: &str) -> String {
    let mut pieces = page.split("base64,");
    let first = pieces.next().unwrap().to_owned();
    pieces.fold(first, |text, piece| text + &piece[piece.find('"').unwrap()..])
}

#[test]
fn a_run_from_data_to_report() {
    let place = Place::new();
    let run = place.trained();
    for file in
        ["config.toml", "model.safetensors", "depths/L1.safetensors", "metrics.csv", "results.json", "results.csv"]
    {
        assert!(run.join(file).is_file(), "{file}");
    }
    let output = nkn().args(["--json", "eval"]).arg(&run).args(["--resolution", "21,41"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<_> = lines.into_iter().filter(|line| line["metric"] == "relative_l2").collect();
    assert_eq!(lines.len(), 4);
    // The error on the training grid is the one that the training reported.
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(run.join("results.json")).unwrap()).unwrap();
    for (line, depth) in [(0, 0), (2, 1)] {
        let measures = results["depths"][depth]["measures"].as_array().unwrap();
        let is_it = |m: &&serde_json::Value| m["split"] == "test" && m["metric"] == "relative_l2";
        let (again, reported) = (&lines[line]["value"], &measures.iter().find(is_it).unwrap()["value"]);
        let difference = again.as_f64().unwrap() / reported.as_f64().unwrap() - 1.0;
        assert!(difference.abs() < 1e-9, "{again} {reported}");
    }

    let data = place.path("data.npz");
    let poisson = ["data", "poisson", "--samples", "4", "--first", "20", "--points", "41", "--out"];
    nkn().args(poisson).arg(&data).assert().success();
    let predicted = place.path("predicted.npz");
    nkn().arg("predict").arg(&run).arg(&data).arg("--out").arg(&predicted).assert().success();
    assert!(predicted.is_file());
    nkn().arg("eval").arg(&run).arg("--data").arg(&data).assert().success();
    nkn().arg("spectrum").arg(&run).assert().success();
    nkn().arg("report").arg(&run).assert().success();
    let report = fs::read_to_string(run.join("report.html")).unwrap();
    let report = without_images(&report);
    assert!(report.contains("<svg") && !report.contains("NaN"));
    assert!(!report.contains("src=") && !report.contains("@import") && !report.contains("<link"));
    assert!(
        report.contains(" on the loads, ") && report.contains(" everywhere."),
        "both comparisons of Green's function"
    );
    assert!(!report.contains(&*place.path("").to_string_lossy()), "a page shows names of runs, not paths");

    nkn().arg("deepen").arg(&run).args(["--to", "4", "--epochs", "5"]).assert().success();
    assert!(place.path("run-L4").join("depths/L4.safetensors").is_file());
    refuses(nkn().arg("deepen").arg(&run).args(["--to", "2"]), &["--to", "more than 2"]);
    let again = ["predicted.npz", "--force"];
    refuses(nkn().arg("predict").arg(&run).arg(&data).arg("--out").arg(&predicted), &again);
}

/// A network that cannot grow: trained, proven, asked at depths that it has not seen and in the limit.
#[test]
fn a_dissipative_run_at_other_depths() {
    let place = Place::new();
    let config = place.file("tiny.toml", TINY.replace("reaction = [4]", "reaction = [4]\nstability = \"dissipative\""));
    let run = place.path("run");
    nkn().arg("train").arg(&config).arg("--out").arg(&run).assert().success();
    let output = nkn().args(["--json", "spectrum"]).arg(&run).args(["--depth", "2"]).output().unwrap();
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(line["smallest_real"].as_f64().unwrap() > -1e-6, "{line}");
    let proven = line["certified_from"].as_u64().unwrap();
    assert!(proven >= 1 && line["certified_by_row_sums_from"].as_u64().unwrap() >= proven, "{line}");

    let depths = ["--depths", "2,64,512,infinite"];
    let output = nkn().args(["--json", "eval"]).arg(&run).args(depths).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let values: Vec<(String, f64)> = lines
        .filter(|line| line["metric"] == "relative_l2")
        .map(|line| (line["depth"].to_string(), line["value"].as_f64().unwrap()))
        .collect();
    assert_eq!(values.len(), 4);
    assert_eq!(values[3].0, "\"infinite\"");
    // The limit is where the depths go.
    let distance = |depth: usize| (values[depth].1 - values[3].1).abs();
    assert!(distance(2) < 0.5 * distance(1), "{values:?}");
    assert!(fs::read_to_string(run.join("depths.csv")).unwrap().contains(",infinite,"));
    nkn().arg("report").arg(&run).assert().success();
    let report = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(report.contains("<h2>Other depths</h2>") && report.contains("<h2>Energy</h2>"));
    assert!(report.contains("proven from depth"));

    let (data, out) = (place.path("test.npz"), place.path("out.npz"));
    let sizes = ["--points", "21", "--samples", "3"];
    nkn().args(["data", "poisson"]).args(sizes).arg("--out").arg(&data).assert().success();
    let predict = || {
        let mut command = nkn();
        command.arg("predict").arg(&run).arg(&data).arg("--out").arg(&out).args(["--depth", "infinite"]);
        command
    };
    refuses(predict().args(["--tolerance", "1e-12"]), &["tolerance", "rounding"]);
    assert!(!out.exists());
    predict().assert().success();
    refuses(nkn().arg("eval").arg(&run).args(["--depths", "0"]), &["a positive number, or infinite"]);
    let other =
        place.file("other.toml", TINY.replace("[model]", "[model]\nkind = \"gkn\"\nstability = \"dissipative\""));
    refuses(nkn().arg("train").arg(other), &["model.stability", "unless model.kind is nkn"]);
}

/// From coarse to fine: a training on another grid begins where the first one ended.
#[test]
fn a_training_begins_with_the_weights_of_another() {
    let place = Place::new();
    let run = place.trained();
    let config = place.path("tiny.toml");
    let finer = |out: &str| {
        let mut command = nkn();
        let sets = ["--set", "data.points=41", "--set", "train.depths=[2]", "--set", "train.epochs=1"];
        command.arg("train").arg(&config).args(sets).args(["--set", "train.learning_rate=1e-9"]);
        command.arg("--out").arg(place.path(out));
        command
    };
    let error = |run: &Path| -> f64 {
        let output =
            nkn().args(["--json", "eval"]).arg(run).args(["--depth", "2", "--resolution", "41"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        line["value"].as_f64().unwrap()
    };
    finer("random").assert().success();
    finer("continued").arg("--from").arg(&run).assert().success();
    finer("file").arg("--from").arg(run.join("model.safetensors")).assert().success();
    let (coarse, continued) = (error(&run), error(&place.path("continued")));
    assert!((continued / coarse - 1.0).abs() < 1e-3, "{continued} {coarse}");
    assert_eq!(continued, error(&place.path("file")));
    assert!(error(&place.path("random")) > 2.0 * coarse);
    // Another shape is refused, and nothing is left behind.
    let other = place.path("other");
    let mut wider = nkn();
    wider.arg("train").arg(&config).args(["--set", "model.width=2"]).arg("--from").arg(&run).arg("--out").arg(&other);
    refuses(&mut wider, &["the initial weights", "same [model] table"]);
    assert!(!other.exists());
}

/// The same samples from a file train the same network as the generated ones.
#[test]
fn own_files_train_like_generated_data() {
    let place = Place::new();
    let run = place.trained();
    for (name, first, count) in [("train.npz", "0", "20"), ("test.npz", "20", "5")] {
        let path = place.path(name);
        let options = ["data", "poisson", "--points", "21", "--first", first, "--samples", count, "--out"];
        nkn().args(options).arg(path).assert().success();
    }
    let generated = "points = 21\ntrain_samples = 20\ntest_samples = 5";
    let files = "problem = \"files\"\ntrain = \"train.npz\"\ntest = \"test.npz\"";
    let config = place.file("files.toml", TINY.replace(generated, files));
    let again = place.path("again");
    nkn().arg("train").arg(&config).arg("--out").arg(&again).assert().success();
    let model = |run: &Path| fs::read(run.join("model.safetensors")).unwrap();
    assert!(model(&run) == model(&again));
}

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

#[test]
fn darcy_from_data_to_report() {
    let place = Place::new();
    let folder = place.path("samples");
    let config = place.file("darcy.toml", TINY_DARCY.replace("FOLDER", folder.to_str().unwrap()));
    let run = place.path("darcy");
    let dry = nkn().arg("train").arg(&config).arg("--dry-run").output().unwrap();
    let dry = String::from_utf8_lossy(&dry.stdout).into_owned();
    for word in ["81 nodes", "edges", "kernel rows", "GFLOP a step", "MB", "about"] {
        assert!(dry.contains(word), "{dry}");
    }
    nkn().arg("train").arg(&config).arg("--out").arg(&run).assert().success();
    assert!(folder.join("darcy-33-seed0-0-6.npz").is_file());
    let rules = ["--resolution", "9,17,33", "--quadrature", "mean,overlap,stencil", "--depth", "2"];
    let output = nkn().args(["--json", "eval"]).arg(&run).args(rules).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<_> = lines.into_iter().filter(|line| line["metric"] == "relative_l2").collect();
    assert_eq!(lines.len(), 9);
    let error = |rule: &str, resolution: usize| {
        let is_it = |line: &&serde_json::Value| line["quadrature"] == rule && line["resolution"] == resolution;
        lines.iter().find(is_it).unwrap()["value"].as_f64().unwrap()
    };
    // On the training grid the stencil is the training's own rule.
    assert_eq!(error("mean", 9), error("stencil", 9));
    assert!(error("mean", 33) != error("stencil", 33));
    let page = fs::read_to_string(run.join("eval.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("overlap"));
    // A small budget changes the way, not the result.
    let small = ["--resolution", "33", "--quadrature", "mean", "--depth", "2", "--memory-gib", "0.0001"];
    let output = nkn().args(["--json", "eval"]).arg(&run).args(small).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let again: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert!((again["value"].as_f64().unwrap() / error("mean", 33) - 1.0).abs() < 1e-5);
    nkn().arg("report").arg(&run).assert().success();
    let report = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(report.contains("Fields") && report.contains("17 × 17") && report.contains("training grid"));
    refuses(nkn().arg("eval").arg(&run).args(["--resolution", "10"]), &["resolution", "10", "[2, 3, 5, 9, 17, 33]"]);
}

/// The flux has two components, which turn with the samples.
#[test]
fn darcy_learns_the_flux_with_symmetries() {
    let place = Place::new();
    let folder = place.path("samples");
    let config = TINY_DARCY.replace("FOLDER", folder.to_str().unwrap());
    let config =
        config.replace("[model]", "outputs = [\"v\"]\n[model]").replace("[train]", "[train]\naugment = \"square\"");
    let config = config.replace("epochs = 10", "epochs = 10\nvectors = [[\"b_eps_x\", \"b_eps_y\"]]");
    let (config, run) = (place.file("flux.toml", config), place.path("flux"));
    nkn().arg("train").arg(&config).arg("--out").arg(&run).assert().success();
    let data = place.path("flux.npz");
    let darcy = ["data", "darcy", "--flux", "--samples", "2", "--side", "33", "--resolution", "9", "--out"];
    nkn().args(darcy).arg(&data).assert().success();
    let output = nkn().args(["--json", "eval"]).arg(&run).arg("--data").arg(&data).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for metric in ["\"relative_l2\"", "relative_l2:v.0", "relative_l2:v.1"] {
        assert!(text.contains(metric), "{text}");
    }
    let config = place.file("wrong.toml", fs::read_to_string(&config).unwrap().replace("[\"v\"]", "[\"w\"]"));
    refuses(nkn().arg("train").arg(&config).arg("--out").arg(place.path("no")), &["data.outputs", "flux"]);
}

/// Waves that travel around a ring: one step is learned, many are taken.
#[test]
fn time_steps_from_training_to_report() {
    use nkn::{Grid, Samples};
    let place = Place::new();
    let wave = |sample: usize, time: f64| {
        let phase = sample as f64 / 7.0 + time / 16.0;
        (0..16).map(move |node| 1.5 + (std::f64::consts::TAU * (node as f64 / 16.0 - phase)).sin())
    };
    let at = |time: f64| (0..12).flat_map(|sample| wave(sample, time)).collect::<Vec<f64>>();
    let ring = || Grid::unit(&[16]).unwrap().periodic(&[true]).unwrap();
    let first = Samples::on(ring()).input("u_0", at(0.0)).unwrap();
    let step = |time: usize| first.clone().output("u", at(time as f64)).unwrap();
    nkn::io::write_dataset(&place.path("train.npz"), &step(1)).unwrap();
    let feeds = [nkn::model::Feed { input: "u_0".into(), output: "u".into() }];
    let truth: Vec<Samples> = (1..6).map(step).collect();
    nkn::io::write_trajectories(&place.path("truth.npz"), &first, &truth, &feeds).unwrap();
    let text = "[data]\nproblem = \"files\"\ntrain = \"train.npz\"\n[model]\nwidth = 4\nkernel = [8]\nradius = 0.2\n\
                [train]\ndepths = [1, 2]\nepochs = 30\nlearning_rate = 1e-2\n";
    let (config, run) = (place.file("ring.toml", text), place.path("ring"));
    nkn().arg("train").arg(&config).arg("--out").arg(&run).assert().success();
    assert!(fs::read_to_string(run.join("config.toml")).unwrap().contains("u_0"));
    for input in ["train.npz", "truth.npz"] {
        let out = place.path("steps.npz");
        let predict = |steps: &str| {
            let mut command = nkn();
            command.arg("predict").arg(&run).arg(place.path(input)).args(["--steps", steps, "--force", "-o"]).arg(&out);
            command
        };
        predict("3").assert().success();
        let states = nkn::io::read_trajectories(&out, &["u".into()], &feeds, 3).unwrap();
        assert_eq!((states.len(), states[0].field("u_0").unwrap()), (3, first.field("u_0").unwrap()));
        refuses(&mut predict("0"), &["steps", "1 or more"]);
        refuses(predict("2").args(["--feed", "f=u"]), &["feed", "u_0"]);
    }
    let eval = || {
        let mut command = nkn();
        command.args(["--json", "eval"]).arg(&run);
        command
    };
    let output = eval().args(["--steps", "5", "--depth", "2", "--data"]).arg(place.path("truth.npz")).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps: Vec<_> = lines.iter().filter(|line| line["metric"] == "relative_l2").map(|line| &line["step"]).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5]);
    nkn().arg("report").arg(&run).assert().success();
    assert!(fs::read_to_string(run.join("report.html")).unwrap().contains("Error against the step"));
    refuses(eval().args(["--steps", "6", "--data"]).arg(place.path("truth.npz")), &["after 5 steps, not after 6"]);
    refuses(eval().args(["--steps", "2"]), &["--steps", "--data"]);
}

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
fn darcy_data_and_own_coefficients() {
    let place = Place::new();
    let made = place.path("made.npz");
    nkn().args(["data", "darcy", "--samples", "2", "--side", "17", "--out"]).arg(&made).assert().success();
    // Solving for the coefficients of that file gives its solutions.
    let solved = place.path("solved.npz");
    nkn().args(["data", "darcy", "--coefficients"]).arg(&made).arg("--out").arg(&solved).assert().success();
    assert!(fs::read(&made).unwrap() == fs::read(&solved).unwrap());
    let coarse = place.path("coarse.npz");
    let options = ["data", "darcy", "--samples", "2", "--side", "17", "--resolution", "9", "--out"];
    nkn().args(options).arg(&coarse).assert().success();
    assert!(fs::metadata(&coarse).unwrap().len() < fs::metadata(&made).unwrap().len() / 3);
    refuses(nkn().args(["data", "darcy", "--out"]).arg(&made), &["made.npz", "--force"]);
    let poisson = place.path("poisson.npz");
    nkn().args(["data", "poisson", "--samples", "2", "--out"]).arg(&poisson).assert().success();
    let wrong = ["data", "darcy", "--coefficients"];
    refuses(nkn().args(wrong).arg(&poisson).arg("--out").arg(place.path("x.npz")), &["poisson.npz", "square grid"]);
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
    refuses(&mut train(&["--resume", "--set", "train.seed=9"]), &["differs"]);
    assert!(model() == before);
    train(&["--resume"]).assert().success();
    assert!(model() == before);
    train(&["--force", "--set", "train.seed=9"]).assert().success();
    assert!(model() != before);
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

/// The page of a run depends on the run alone: not on the threads, on an earlier page, or on where the folder stands.
#[test]
fn a_report_is_the_same_again() {
    let place = Place::new();
    let run = place.trained();
    let report = |run: &Path, threads: &str| {
        nkn().args(["--threads", threads, "report"]).arg(run).assert().success();
        fs::read(run.join("report.html")).unwrap()
    };
    let first = report(&run, "1");
    assert!(report(&run, "2") == first);
    let moved = place.path("elsewhere").join("run");
    fs::create_dir(place.path("elsewhere")).unwrap();
    fs::rename(&run, &moved).unwrap();
    assert!(report(&moved, "1") == first);
}

/// The smallest cases of what is measured: one line each, as JSON with the same numbers in it.
#[test]
fn a_bench_says_what_it_measured() {
    let small: [(&str, &[&str]); 2] = [
        ("poisson", &["--resolution", "9", "--depth", "1,2"]),
        ("mnist", &["--resolution", "8", "--depth", "1", "--mode", "predict"]),
    ];
    for (name, options) in small {
        let common = ["--json", "bench", name, "--batch", "2", "--repeats", "1"];
        let output = nkn().args(common).args(options).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), if name == "poisson" { 2 } else { 1 }, "{text}");
        for line in lines {
            assert_eq!(line["bench"], name);
            let case = line["case"].as_str().unwrap();
            assert!(case.contains("batch=2") && case.contains(&format!("resolution={}", options[1])), "{case}");
            assert_eq!((case.starts_with("predict"), case.contains("radius=3")), (name == "mnist", name == "mnist"));
            assert!(line["seconds"].as_f64().unwrap() > 0.0 && line["gflop"].as_f64().unwrap() > 0.0);
        }
    }
}
