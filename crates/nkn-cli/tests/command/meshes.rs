//! Meshes from data to prediction, and what `nkn data inspect` says about files.

use crate::{nkn, refuses};
use assert_cmd::Command;
use nkn::io::{Cells, Mesh, MeshGrid, PointData, read_mesh, write_mesh};
use nkn::{Domain, Grid, Samples};
use std::fs;
use std::path::{Path, PathBuf};

/// The command succeeds; what it prints.
fn answer(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn data(name: &str, components: usize, values: Vec<f64>) -> PointData {
    PointData { name: name.into(), components, values }
}

/// Triangles over scattered points in the plane, with a load k and a displacement u that depends on it.
fn mesh(seed: usize) -> Mesh {
    let count = 9 + seed % 3;
    let random = |k: usize| ((k * 37 + seed * 11 + 5) as f64 * 0.618_034).fract();
    let points: Vec<f64> = (0..count).flat_map(|k| [random(2 * k), random(2 * k + 1), 0.0]).collect();
    let k: Vec<f64> = points.chunks(3).map(|p| 1.0 + (seed % 5) as f64 * p[0]).collect();
    let u: Vec<f64> = points.chunks(3).zip(&k).flat_map(|(p, k)| [k * p[0] + 0.5, k - p[1], 0.0]).collect();
    let mut mesh = Mesh::cloud(points);
    mesh.cells = Cells { connectivity: vec![0, 1, 2], offsets: vec![3], types: vec![5], faces: Vec::new() };
    mesh.point_data = vec![data("k", 1, k), data("u", 3, u)];
    mesh
}

fn folder(path: &Path, seeds: std::ops::Range<usize>) -> PathBuf {
    fs::create_dir(path).unwrap();
    for seed in seeds {
        write_mesh(&path.join(format!("beam_{seed}.vtu")), &mesh(seed)).unwrap();
    }
    path.to_owned()
}

const CONFIG: &str = r#"
[data]
problem = "files"
train = "train"
test = "test"
[model]
width = 4
kernel = [8]
reaction = [4]
radius = 0.5
[train]
depths = [1]
epochs = 5
"#;

fn values(mesh: &Mesh, name: &str) -> Vec<f64> {
    mesh.point_data.iter().find(|data| data.name == name).expect(name).values.clone()
}

#[test]
fn meshes_from_data_to_prediction() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    folder(&at("train"), 0..6);
    let test = folder(&at("test"), 6..9);
    fs::write(at("mesh.toml"), CONFIG).unwrap();
    let run = at("run");
    nkn().arg("train").arg(at("mesh.toml")).arg("--out").arg(&run).assert().success();
    nkn().arg("eval").arg(&run).arg("--data").arg(&test).assert().success();

    let predict = |input: &Path, out: &str, more: &[&str]| {
        let mut command = nkn();
        command.current_dir(place.path()).arg("predict").arg(&run).arg(input).arg("-o").arg(out).args(more);
        command
    };
    // A folder for several samples, under the names of the inputs.
    predict(&test, "out/", &[]).assert().success();
    let (given, written) = (mesh(7), read_mesh(&at("out/beam_7.vtu")).unwrap());
    assert_eq!((&given.points, &given.cells), (&written.points, &written.cells));
    assert_eq!(values(&written, "k"), values(&given, "k"));
    assert_eq!(values(&written, "u_truth"), values(&given, "u"));
    let difference: Vec<f64> =
        values(&written, "u").iter().zip(values(&written, "u_truth")).map(|(u, truth)| u - truth).collect();
    assert_eq!(values(&written, "u_error"), difference);
    // One sample is one file, and the same as in the folder.
    predict(&test.join("beam_7.vtu"), "one.vtu", &[]).assert().success();
    assert_eq!(values(&read_mesh(&at("one.vtu")).unwrap(), "u"), values(&written, "u"));
    // Other formats as before.
    predict(&test, "out.npz", &[]).assert().success();
    predict(&test, "out.h5", &[]).assert().success();
    predict(&at("out.npz"), "again/", &[]).assert().success();
    assert_eq!(values(&read_mesh(&at("again/sample_0001.vtu")).unwrap(), "u"), values(&written, "u"));

    // Nothing is replaced unless that is wanted, and inputs never are.
    refuses(&mut predict(&test, "out/", &[]), &["has files in it already", "--force"]);
    refuses(&mut predict(&test, "out", &[]), &["has files in it already"]);
    refuses(&mut predict(&test.join("beam_7.vtu"), "one.vtu", &[]), &["one.vtu: exists already"]);
    predict(&test, "out/", &["--force"]).assert().success();
    refuses(&mut predict(&test, "test/", &["--force"]), &["beam_6.vtu: is one of the inputs"]);
    refuses(&mut predict(&test, "three.vtu", &[]), &["there are 3 samples", "-o three/"]);
    refuses(&mut predict(&test.join("beam_7.vtu"), "one.vti", &[]), &["ends with .vtu"]);
    // A mesh that is not like the training's.
    let mut other = mesh(7);
    other.point_data.remove(0);
    write_mesh(&at("other.vtu"), &other).unwrap();
    refuses(&mut predict(&at("other.vtu"), "x.vtu", &[]), &["other.vtu: has no input field"]);
    let mut broken = mesh(8);
    broken.point_data[0].values[1] = f64::NAN;
    write_mesh(&test.join("beam_8.vtu"), &broken).unwrap();
    refuses(&mut predict(&test, "y/", &[]), &["beam_8.vtu: `k` is NaN at point 1"]);
    assert!(!at("y").exists());

    // What is wrong is said, with its place, and the rest is seen all the same.
    let text = answer(nkn().args(["data", "inspect"]).arg(&test));
    for words in ["a folder of VTK meshes, 3 .vtu", "3 samples on", "others in every sample", "u[1]"] {
        assert!(text.contains(words), "{text} lacks {words}");
    }
    assert!(text.contains("missing: 1 value is not finite in `k`, the first is NaN at sample 2, node 1\n"), "{text}");
    assert!(text.contains("it cannot be used as it is") && text.contains("beam_8.vtu"), "{text}");
}

#[test]
fn grids_are_inspected_and_drawn() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::create_dir(at("grids")).unwrap();
    for sample in 0..2 {
        let mut mesh = Mesh::on(MeshGrid { shape: [4, 4, 1], origin: [0.0; 3], spacing: [0.5, 0.5, 1.0] });
        let b = (0..16).map(|k| if (k + sample) % 3 == 0 { 12.0 } else { 3.0 }).collect();
        let u = (0..16).map(|k| (k as f64 + sample as f64).sin()).collect();
        mesh.point_data = vec![data("b", 1, b), data("p", 1, u)];
        write_mesh(&at("grids").join(format!("{sample}.vti")), &mesh).unwrap();
    }
    let inspect = |more: &[&str]| {
        let mut command = nkn();
        command.current_dir(place.path()).args(["data", "inspect", "grids", "--outputs", "p"]).args(more);
        command
    };
    let text = answer(&mut inspect(&["-o", "picture.html"]));
    let grid = "2 samples on a regular grid of 4 x 4 nodes in [0, 1.5] x [0, 1.5], spacing 0.5 x 0.5\n";
    for words in [grid, "`b` has 2 different values", "train.augment = \"square\"", "next: nkn fit grids --outputs p"] {
        assert!(text.contains(words), "{text} lacks {words}");
    }
    let page = fs::read_to_string(at("picture.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("output p") && page.contains("nkn fit grids"));
    answer(&mut inspect(&["-o", "picture.svg", "--sample", "1"]));
    assert!(fs::read_to_string(at("picture.svg")).unwrap().starts_with("<svg xmlns"));
    let json: serde_json::Value = serde_json::from_str(&answer(&mut inspect(&["--json"]))).unwrap();
    assert_eq!((&json["samples"], &json["place"]["kind"]), (&2.into(), &"grid".into()));
    assert_eq!(json["arrays"].as_array().unwrap().iter().filter(|array| array["role"] == "output").count(), 1);

    refuses(&mut inspect(&["-o", "picture.svg"]), &["exists already"]);
    refuses(&mut inspect(&["-o", "picture.png"]), &[".svg or .html"]);
    refuses(&mut inspect(&["-o", "other.svg", "--sample", "2"]), &["--sample: expected at most 1, got 2"]);
    refuses(nkn().args(["data", "inspect"]).arg(at("nowhere")), &["nowhere", "does not exist"]);
    fs::write(at("table.csv"), "x,y\n").unwrap();
    refuses(nkn().args(["data", "inspect"]).arg(at("table.csv")), &["a text file", "numpy.savez"]);
}

#[test]
fn a_grid_is_predicted_into_a_vti() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let f: Vec<f64> = (0..36).map(|k| f64::from(k).sin()).collect();
    let u: Vec<f64> = f.iter().map(|f| f + 1.0).collect();
    let samples = Samples::on(Grid::unit(&[3, 3]).unwrap()).input("f", f).unwrap().output("u", u).unwrap();
    nkn::io::write_dataset(&at("data.npz"), &samples).unwrap();
    nkn::io::write_dataset(&at("one.npz"), &samples.select(&[2])).unwrap();
    let config = CONFIG.replace("\"train\"", "\"data.npz\"").replace("\"test\"", "\"data.npz\"");
    fs::write(at("grid.toml"), config).unwrap();
    nkn().arg("train").arg(at("grid.toml")).arg("--out").arg(at("run")).assert().success();
    let predict = |input: &str, out: &str| {
        let mut command = nkn();
        command.current_dir(place.path()).args(["predict", "run", input, "-o", out]);
        command
    };
    predict("data.npz", "out/").assert().success();
    predict("one.npz", "one.vti").assert().success();
    let one = read_mesh(&at("one.vti")).unwrap();
    assert_eq!(one, read_mesh(&at("out/sample_0002.vti")).unwrap());
    // Truth and prediction are data sets of their own again.
    predict("out/", "again/").assert().success();
    let again = nkn::io::read_dataset(&at("out"), nkn::io::Need::Output, &["u_truth".into()]).unwrap();
    assert!(matches!(again.domain(), Domain::Grid(grid) if grid.shape() == [3, 3]));
    assert_eq!(again.outputs()[0].values, samples.outputs()[0].values);
    refuses(&mut predict("one.npz", "one.vtu"), &["ends with .vti"]);
}
