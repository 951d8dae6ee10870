//! `nkn reproduce` as a user meets it: stopped and continued, extended, asked for the impossible.

use crate::{answers, nkn};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

/// The smallest part of the Poisson tables.
const SMALL: [&str; 7] = ["reproduce", "poisson", "--budget", "quick", "--models", "fno", "--data=original"];

/// results.csv without the times.
fn numbers(out: &Path) -> String {
    let text = fs::read_to_string(out.join("results.csv")).unwrap();
    text.lines().filter(|line| !line.contains(",seconds,")).collect::<Vec<_>>().join("\n")
}

/// Starts the command and kills it after some time, or as soon as a file is there.
fn kill(arguments: &[&str], milliseconds: u64, file: Option<&Path>) {
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("nkn"));
    let mut child = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while file.is_some_and(|file| !file.exists()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_millis(milliseconds));
    let _ = child.kill();
    child.wait().unwrap();
}

fn same_files(a: &Path, b: &Path, files: &[&str]) {
    for file in files {
        let [a, b] = [a, b].map(|folder| fs::read(folder.join(file)).unwrap());
        assert!(a == b, "{file} differs");
    }
}

/// Killed, continued, and extended to another depth: the same bits as in one go.
#[test]
fn functions_stopped_and_extended_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let (unbroken, broken) = (folder.path().join("unbroken"), folder.path().join("broken"));
    nkn().args(SMALL).args(["--depths", "1,2", "--out"]).arg(&unbroken).assert().success();
    let table = fs::read_to_string(unbroken.join("results.md")).unwrap();
    assert!(table.contains("| FNO, test |"), "{table}");
    let page = fs::read_to_string(unbroken.join("index.html")).unwrap();
    assert!(page.contains("Quick budget") && page.contains("148,033"));
    assert!(fs::read_to_string(unbroken.join("results.tex")).unwrap().contains("\\begin{tabular}"));

    let job = "jobs/fno-s101-original-seed0";
    let run = broken.join(job);
    let out = broken.to_str().unwrap();
    for milliseconds in [300, 900, 1500] {
        kill(&[&SMALL[..], &["--depths", "1", "--threads", "1", "--out", out]].concat(), milliseconds, None);
    }
    // A second depth is asked for before the first has ended, and the kill comes right after it.
    let both = [&SMALL[..], &["--depths", "1,2", "--out", out]].concat();
    kill(&both, 50, Some(&run.join("depths/L1.safetensors")));
    nkn().args(&both).assert().success();
    assert_eq!(numbers(&unbroken), numbers(&broken));
    let files = ["metrics.csv", "depths/L1.safetensors", "depths/L2.safetensors"];
    same_files(&unbroken.join(job), &run, &files);

    // What is finished is not trained again, also when less is asked for.
    let before = fs::metadata(run.join("model.safetensors")).unwrap().modified().unwrap();
    let output = nkn().args(SMALL).args(["--depths", "1", "--out", out]).output().unwrap();
    assert!(output.status.success());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("1 trainings, 1 of them finished"), "{message}");
    assert_eq!(before, fs::metadata(run.join("model.safetensors")).unwrap().modified().unwrap());
    assert_eq!(numbers(&unbroken), numbers(&broken));

    // Tests on other grids are kept with the training, and version 0.1's are read.
    let cells = run.join("cells.csv");
    nkn().args(&both).args(["--tested-at", "101,51"]).assert().success();
    let tested = fs::read_to_string(&cells).unwrap();
    assert_eq!(tested.lines().filter(|line| line.contains(",test,101,51,relative_l2,")).count(), 2, "{tested}");
    let value = |line: &str| line.rsplit(',').next().unwrap().to_owned();
    let old = tested.lines().skip(1).zip([1, 2]).map(|(line, depth)| format!("{depth},test,51,{}\n", value(line)));
    fs::write(&cells, format!("depth,split,resolution,relative_l2\n{}", old.collect::<String>())).unwrap();
    let before = numbers(&broken);
    let output = nkn().args(&both).args(["--tested-at", "101,51"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stderr).contains("testing "));
    assert_eq!(numbers(&broken), before);

    // Another run's numbers complete the tables of a folder without trainings, and those of an extended one; they stay what they are.
    let theirs = unbroken.join("results.csv");
    let empty = folder.path().join("empty");
    let join = |out: &Path, file: &Path| {
        let mut command = nkn();
        command.args(["reproduce", "poisson", "--budget", "quick", "--only-page", "--out"]).arg(out);
        command.arg("--join").arg(file).output().unwrap()
    };
    assert!(join(&empty, &theirs).status.success());
    assert_eq!(fs::read(empty.join("results.csv")).unwrap(), fs::read(&theirs).unwrap());
    assert!(fs::read_to_string(empty.join("results.md")).unwrap().contains("| FNO, test |"));
    assert!(join(&broken, &theirs).status.success());
    assert_eq!(numbers(&broken), before);

    // A folder that was trained otherwise is not touched.
    let config = run.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("batch = 20", "batch = 25")).unwrap();
    let output = nkn().args(SMALL).args(["--depths", "1", "--out", out]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("other settings"));

    // What cannot be joined is refused, and nothing is written.
    let nowhere = folder.path().join("nowhere");
    let damaged = folder.path().join("damaged.csv");
    let heading = "problem,model,data,depth,seed,split,trained_at,tested_at,metric,value";
    for (content, words) in [
        (None, "could not read"),
        (Some("a,b\n1,2\n".to_owned()), "line 1: expected a column model"),
        (Some(format!("{heading}\npoisson,fno,normalised,1,0,test,101,101,relative_l2,much\n")), "line 2"),
        (Some(format!("{heading}\ndarcy,fno,normalised,1,0,test,16,16,relative_l2,1e-2\n")), "got those of darcy"),
    ] {
        content.iter().for_each(|text| fs::write(&damaged, text).unwrap());
        let output = join(&nowhere, &damaged);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("damaged.csv") && message.contains(words), "{message:?} lacks {words:?}");
        assert!(!nowhere.exists());
    }
}

/// A set in MNIST's format whose classes can be told apart: a bright bar whose place is the class.
fn write_idx(folder: &Path, part: &str, count: usize) {
    let side = 28;
    let mut images: Vec<u8> = [2051u32, count as u32, side, side].iter().flat_map(|v| v.to_be_bytes()).collect();
    let mut labels: Vec<u8> = [2049u32, count as u32].iter().flat_map(|v| v.to_be_bytes()).collect();
    for image in 0..count as u32 {
        let class = (image * 7 + 3) % 10;
        for (row, column) in (0..side).flat_map(|row| (0..side).map(move |column| (row, column))) {
            let noise = (image * 31 + row * 17 + column * 13) % 50;
            let is_bar = row * 10 / side == class && column > image % 5;
            images.push((noise + if is_bar { 200 } else { 0 }) as u8);
        }
        labels.push(class as u8);
    }
    fs::write(folder.join(format!("{part}-images-idx3-ubyte")), images).unwrap();
    fs::write(folder.join(format!("{part}-labels-idx1-ubyte")), labels).unwrap();
}

fn digits(folder: &Path) -> PathBuf {
    let path = folder.join("images");
    fs::create_dir_all(&path).unwrap();
    write_idx(&path, "train", 2600);
    write_idx(&path, "t10k", 60);
    path
}

/// A part of the MNIST table, killed and continued, then a larger part; what does not belong to it is refused.
#[test]
fn images_stopped_and_extended_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let images = digits(folder.path());
    let (unbroken, broken) = (folder.path().join("unbroken"), folder.path().join("broken"));
    let arguments = |out: &Path, extra: &[&str]| -> Vec<String> {
        let common = ["reproduce", "mnist", "--budget", "quick", "--epochs", "1", "--trained-at", "14", "--images"];
        let places = [images.to_str().unwrap(), "--out", out.to_str().unwrap()];
        common.iter().chain(&places).chain(extra).map(|argument| argument.to_string()).collect()
    };
    let cnn = ["--models", "cnn", "--depths", "1"];
    nkn().args(arguments(&unbroken, &cnn)).assert().success();
    let parts = arguments(&broken, &cnn);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    for milliseconds in [400, 1500] {
        kill(&parts, milliseconds, None);
    }
    nkn().args(&parts).assert().success();
    let job = "jobs/cnn-l1-at14-seed0";
    assert_eq!(numbers(&unbroken), numbers(&broken));
    same_files(&unbroken.join(job), &broken.join(job), &["model.safetensors", "metrics.csv"]);

    // More is asked for: what is there stays, also in the tables when only the new is asked for.
    let model = broken.join(job).join("model.safetensors");
    let before = fs::metadata(&model).unwrap().modified().unwrap();
    let nonlocal = ["--models", "nkn", "--depths", "1", "--radii", "2"];
    nkn().args(arguments(&broken, &nonlocal)).assert().success();
    assert_eq!(fs::metadata(&model).unwrap().modified().unwrap(), before);
    let table = fs::read_to_string(broken.join("results.md")).unwrap();
    assert!(table.contains("| CNN, L = 1 | – (2.55 %)") && table.contains("NKN, r = 2, L = 1"), "{table}");
    let csv = numbers(&broken);
    for network in ["mnist,cnn,,1,0,", "mnist,nkn-r2,,1,0,"] {
        let of = csv.lines().filter(|line| line.starts_with(network) && line.contains(",error_rate,")).count();
        assert_eq!(of, 4, "{csv}");
    }
    let page = fs::read_to_string(broken.join("index.html")).unwrap();
    assert!(page.contains("1 epochs each over 2000 images"), "the budget");

    let fails = |extra: &[&str], words: &str| {
        let output = nkn().args(arguments(&broken, extra)).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(words), "{message:?} lacks {words:?}");
    };
    fails(&["--models", "gkn"], "--models");
    fails(&["--models", "preresnet20"], "--models");
    fails(&["--data", "original"], "no meaning for mnist");
    // Images that are not there are not fetched for an estimate.
    let nowhere = folder.path().join("nowhere");
    let dry = nkn().args(["reproduce", "mnist", "--dry-run", "--images"]).arg(&nowhere).output().unwrap();
    let message = String::from_utf8_lossy(&dry.stderr).into_owned();
    assert_eq!(dry.status.code(), Some(2), "{message}");
    assert!(message.contains("nkn data mnist") && !nowhere.exists(), "{message}");
    // Other settings do not mix with what is there.
    fails(&["--models", "cnn", "--depths", "1", "--tested-at", "14"], "other settings");
}

/// A time limit stops with a page of what is there; a dry run changes nothing.
#[test]
fn a_time_limit_stops_with_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = nkn().args(SMALL).args(["--dry-run", "--out"]).arg(&out).output().unwrap();
    assert!(output.status.success() && !out.exists());
    let plan = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        plan.contains("fno-s101-original-seed0: depths 1 to 32, 72 epochs, about")
            && plan.contains("1 trainings, 0 of them finished"),
        "{plan}"
    );
    let lines = answers(nkn().args(SMALL).args(["--dry-run", "--out"]).arg(&out));
    assert_eq!((&lines[0]["training"], lines.len()), (&"fno-s101-original-seed0".into(), 1));
    assert!(lines[0]["seconds"].as_f64().unwrap() > 0.0 && !out.exists());
    let output = nkn().args(SMALL).args(["--max-hours", "0.0001", "--out"]).arg(&out).output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the same command continues"));
    assert!(out.join("index.html").is_file());
}

#[test]
fn wrong_requests() {
    let cases: [(&[&str], &str); 9] = [
        (&["poisson", "--depths", "4,2"], "rising numbers"),
        (&["poisson", "--depths", "0"], "rising numbers"),
        (&["poisson", "--epochs", "0"], "--epochs"),
        (&["poisson", "--radii", "2"], "no meaning for poisson"),
        (&["darcy", "--images", "x"], "no meaning for darcy"),
        (&["darcy", "--trained-at", "18"], "241 x 241"),
        (&["cifar", "--models", "cnn"], "preresnet20, nnn, nkn"),
        (&["poisson", "--max-hours=-1"], "--max-hours"),
        (&["burgers"], "invalid value"),
    ];
    for (arguments, words) in cases {
        let output = nkn().arg("reproduce").args(arguments).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(words), "{message:?} lacks {words:?}");
    }
}
