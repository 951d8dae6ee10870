//! Whole runs, from data to report.

use crate::{Place, TINY, TINY_DARCY, answers, nkn, refuses};
use std::fs;
use std::path::Path;

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
    let lines = answers(nkn().arg("eval").arg(&run).args(["--resolution", "21,41"]));
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
    let written = answers(nkn().args(poisson).arg(&data));
    assert_eq!((&written[0]["samples"], &written[0]["points"]), (&4.into(), &41.into()));
    assert_eq!((&written[1]["field"], &written[2]["field"], written.len()), (&"f".into(), &"u".into(), 3));
    let predicted = place.path("predicted.npz");
    let said = answers(nkn().arg("predict").arg(&run).arg(&data).arg("--out").arg(&predicted));
    assert_eq!(said, [serde_json::json!({ "out": &predicted, "samples": 4, "nodes": 41 })]);
    assert!(predicted.is_file());
    nkn().arg("eval").arg(&run).arg("--data").arg(&data).assert().success();
    nkn().arg("spectrum").arg(&run).assert().success();
    let page = run.join("report.html");
    assert_eq!(answers(nkn().arg("report").arg(&run)), [serde_json::json!({ "run": &run, "report": &page })]);
    let report = fs::read_to_string(page).unwrap();
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
