//! What is found in good and in bad data sets.

use super::*;
use crate::domain::{Grid, PointCloud};
use crate::field::Values;
use crate::io::{Mesh, PointData, write_dataset, write_mesh};
use ndarray::{Array2, Array3, array};
use ndarray_npy::NpzWriter;
use std::fs::File;
use tempfile::tempdir;

fn array<'a>(found: &'a Inspection, name: &str) -> &'a ArrayFacts {
    found.arrays.iter().find(|array| array.name == name).expect(name)
}

fn says(found: &Inspection, words: &str) -> bool {
    found.advice.iter().any(|line| line.contains(words))
}

#[test]
fn a_grid_with_a_two_valued_coefficient() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let grid = Grid::new(vec![4, 4], vec![0.0; 2], vec![3.0, 6.0]).unwrap();
    let b: Vec<f64> = (0..32).map(|k| if k % 3 == 0 { 12.0 } else { 3.0 }).collect();
    let v: Vec<f64> = (0..64).map(|k| f64::from(k).sin()).collect();
    let samples = Samples::on(grid).input("b", b).unwrap().input("one", vec![1.0; 32]).unwrap();
    write_dataset(&path, &samples.output("v", Values::vectors(2, v)).unwrap()).unwrap();
    let found = inspect(&path, &["v".into()]).unwrap();
    assert_eq!((found.samples, &found.problem), (Some(2), &None));
    let Some(Place::Grid { shape, spacing, .. }) = &found.place else { panic!("a grid") };
    assert_eq!((shape.as_slice(), spacing.as_slice()), (&[4, 4][..], &[1.0, 2.0][..]));
    let b = array(&found, "b");
    assert_eq!((b.role, b.columns[0].low, b.columns[0].high, b.columns[0].distinct), (Role::Input, 3.0, 12.0, Some(2)));
    assert!((b.columns[0].mean - (11.0 * 12.0 + 21.0 * 3.0) / 32.0).abs() < 1e-12);
    assert!(array(&found, "one").is_constant() && array(&found, "one").is_repeated);
    let v = array(&found, "v");
    assert_eq!((v.role, v.columns.len(), v.shape.as_slice()), (Role::Output, 2, &[2, 4, 4, 2][..]));
    assert_eq!(array(&found, "lower").role, Role::Place);
    assert!(says(&found, "`overlap` within a radius, `trapezoid`") && says(&found, "at most 4 kernel rows"));
    assert!(says(&found, "\"square\" is possible (fields with two") && says(&found, "--outputs v"));
    let without = inspect(&path, &[]).unwrap();
    assert!(says(&without, "no output `u`") && !says(&without, "next:"), "{:?}", without.advice);
}

#[test]
fn values_that_are_not_finite_are_found_and_drawn() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let mut npz = NpzWriter::new(File::create(&path).unwrap());
    let mut u = Array3::<f64>::ones((2, 5, 2));
    u[[1, 3, 1]] = f64::INFINITY;
    u[[1, 4, 0]] = f64::NAN;
    npz.add_array("f", &Array2::<f64>::zeros((2, 5))).unwrap();
    npz.add_array("u", &u).unwrap();
    npz.finish().unwrap();
    let found = inspect(&path, &[]).unwrap();
    let gap = array(&found, "u").gap.clone().unwrap();
    let expected = Gap { count: 2, value: "inf".into(), sample: Some(1), node: 3, component: 1 };
    assert_eq!((gap, found.samples), (expected, Some(2)));
    assert!(found.problem.as_ref().is_some_and(|problem| problem.contains("not finite (inf) in sample 1, node 3")));
    assert_eq!(array(&found, "u").columns[1].high, 1.0, "of the others");
    let (_, fields) = found.sample(1).unwrap();
    let gaps: Vec<usize> = (0..10).filter(|&at| fields[1].1.values[at].is_nan()).collect();
    assert_eq!((gaps, fields[1].0), (vec![7, 8], Role::Output));
    assert!(found.sample(0).unwrap().1[1].1.values.iter().all(|value| *value == 1.0));
    assert!(found.sample(2).is_none());
}

#[test]
fn clouds_of_their_own_and_a_mesh_with_a_gap() {
    let folder = tempdir().unwrap();
    for (name, last) in [("a.vtu", 1.0), ("b.vtu", f64::NAN)] {
        let mut mesh = Mesh::cloud(vec![0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 3.0, 4.0, 0.0]);
        if name == "b.vtu" {
            mesh.points.extend([0.0, 2.0, 0.0]);
            mesh = Mesh::cloud(mesh.points);
        }
        let mut values = vec![2.0; mesh.len()];
        *values.last_mut().unwrap() = last;
        mesh.point_data = vec![PointData { name: "k".into(), components: 1, values }];
        write_mesh(&folder.path().join(name), &mesh).unwrap();
    }
    let found = inspect(folder.path(), &[]).unwrap();
    assert_eq!((found.samples, found.format.as_str()), (Some(2), "a folder of VTK meshes, 2 .vtu"));
    assert!(found.problem.as_ref().is_some_and(|problem| problem.contains("b.vtu: `k` is NaN at point 3")));
    let gap = array(&found, "k").gap.as_ref().unwrap();
    assert_eq!((gap.sample, gap.node), (Some(1), 3));
    let Some(Place::Points { dim, clouds, points, upper, spacing, coinciding, weights, .. }) = &found.place else {
        panic!("points")
    };
    assert_eq!((*dim, *clouds, *points, upper.as_slice()), (2, 2, (3, 3.5, 4), &[3.0, 4.0][..]));
    assert_eq!((*spacing, *coinciding, *weights), (Some([0.0, 0.0, 5.0]), 4, None));
    assert!(says(&found, "2 samples are on 2 sets of points"));
}

#[test]
fn what_does_not_fit_is_a_problem_and_no_failure() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let mut npz = NpzWriter::new(File::create(&path).unwrap());
    npz.add_array("f", &Array2::<f64>::ones((2, 3))).unwrap();
    npz.add_array("points", &array![[0.0, f64::NAN], [0.5, 0.0], [1.0, 0.0]]).unwrap();
    npz.finish().unwrap();
    let found = inspect(&path, &[]).unwrap();
    assert_eq!((found.samples, found.place.is_none(), found.sample(0).is_none()), (None, true, true));
    let points = array(&found, "points");
    assert_eq!((points.columns.len(), points.role), (2, Role::Place));
    let gap = points.gap.as_ref().unwrap();
    assert_eq!((gap.sample, gap.node, gap.component), (None, 0, 1));
    assert!(found.problem.is_some());
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!((json["samples"].is_null(), &json["arrays"][0]["role"]), (true, &"input".into()));
    // No arrays at all: that is an error.
    assert!(inspect(&folder.path().join("nowhere"), &[]).unwrap_err().to_string().contains("does not exist"));
    let text = folder.path().join("a.txt");
    std::fs::write(&text, "x,y").unwrap();
    assert!(inspect(&text, &[]).unwrap_err().to_string().contains("a text file"));
}

#[test]
fn shared_points_with_weights() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.npz");
    let cloud = PointCloud::new(1, vec![0.0, 0.5, 1.0], 1.0).unwrap().with_weights(vec![0.25, 0.5, 0.25]).unwrap();
    let samples = Samples::on(cloud).input("f", vec![1.0, 2.0, 3.0]).unwrap().output("u", vec![0.0; 3]).unwrap();
    write_dataset(&path, &samples).unwrap();
    let found = inspect(&path, &[]).unwrap();
    let Some(Place::Points { clouds: 1, weights: Some(total), spacing, .. }) = &found.place else { panic!("points") };
    assert_eq!((*total, *spacing), (1.0, Some([0.5; 3])));
    assert!(says(&found, "cannot be trained with as it is") && says(&found, "nothing to learn"), "{:?}", found.advice);
}
