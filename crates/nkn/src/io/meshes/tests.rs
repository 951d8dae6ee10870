//! Folders of meshes as data sets, and what is refused in them.

use super::*;
use crate::domain::{Domain, Grid};
use crate::field::Samples;
use crate::io::{Need, read_dataset, read_first, write_mesh};
use std::fs;
use std::path::Path;
use tempfile::{TempDir, tempdir};

fn data(name: &str, components: usize, values: Vec<f64>) -> PointData {
    PointData { name: name.into(), components, values }
}

/// Three points in the plane z = 4, with a scalar k and a flat vector u.
fn triangle(shift: f64) -> Mesh {
    let mut mesh = Mesh::cloud(vec![shift, 0.0, 4.0, 1.0, 0.0, 4.0, 0.0, 1.0, 4.0]);
    mesh.point_data.push(data("k", 1, vec![1.0, 2.0, 3.0 + shift]));
    mesh.point_data.push(data("u", 3, vec![1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 5.0, 6.0, 0.0]));
    mesh
}

/// A grid of 3 x 2 points whose values are 10 i + j.
fn grid(more: f64) -> Mesh {
    let mut mesh = Mesh::on(MeshGrid { shape: [3, 2, 1], origin: [0.0, 1.0, 7.0], spacing: [0.5, 2.0, 1.0] });
    // Of the mesh, x runs fastest.
    let values: Vec<f64> = [0.0, 10.0, 20.0, 1.0, 11.0, 21.0].iter().map(|value| value + more).collect();
    mesh.point_data = vec![data("f", 1, values.clone()), data("u", 1, values)];
    mesh
}

fn folder(meshes: &[Mesh]) -> TempDir {
    let folder = tempdir().unwrap();
    for (at, mesh) in meshes.iter().enumerate() {
        let ending = if mesh.grid.is_some() { "vti" } else { "vtu" };
        write_mesh(&folder.path().join(format!("case_{at}.{ending}")), mesh).unwrap();
    }
    folder
}

fn read(meshes: &[Mesh]) -> Result<Samples> {
    read_dataset(folder(meshes).path(), Need::Output, &[])
}

fn refused(path: &Path) -> String {
    let message = read_dataset(path, Need::Output, &[]).unwrap_err().to_string();
    assert!(message.contains("hint: "), "{message}");
    message
}

#[test]
fn meshes_with_the_same_points_share_them() {
    let samples = read(&[triangle(0.0), triangle(0.0)]).unwrap();
    let Domain::Cloud(cloud) = samples.domain() else { panic!("one cloud") };
    assert_eq!((cloud.dim(), cloud.coordinates()), (2, &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0][..]));
    assert_eq!((samples.count(), samples.outputs()[0].components), (2, 2), "z and the flat component are left out");
    assert_eq!(samples.outputs()[0].values[..6], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn other_points_are_stacked() {
    let mut larger = Mesh::cloud(vec![0.0, 0.0, 4.0, 1.0, 0.0, 4.0, 0.0, 1.0, 4.0, 1.0, 1.0, 4.0]);
    larger.point_data = vec![data("k", 1, vec![9.0; 4]), data("u", 3, [1.0, 1.0, 0.0].repeat(4))];
    let samples = read(&[triangle(0.0), triangle(0.25), larger]).unwrap();
    let Domain::Clouds(clouds) = samples.domain() else { panic!("clouds that differ") };
    assert_eq!((clouds.count(), clouds.total(), clouds.cloud(1).coordinates()[0]), (3, 10, 0.25));
    assert_eq!(samples.fields()[0].values, [1.0, 2.0, 3.0, 1.0, 2.0, 3.25, 9.0, 9.0, 9.0, 9.0]);
}

#[test]
fn a_third_component_is_kept_where_it_says_something() {
    let mut second = triangle(0.0);
    second.point_data[1].values[8] = 0.5;
    assert_eq!(read(&[triangle(0.0), second]).unwrap().outputs()[0].components, 3);
}

#[test]
fn grids_have_our_order() {
    let samples = read(&[grid(0.0), grid(100.0)]).unwrap();
    let expected = Grid::new(vec![3, 2], vec![0.0, 1.0], vec![1.0, 3.0]).unwrap();
    assert_eq!(samples.domain(), &expected.into());
    let first = [0.0, 1.0, 10.0, 11.0, 20.0, 21.0];
    assert_eq!(samples.output_values().unwrap(), [first, first.map(|value| value + 100.0)].concat());
    // Grids that differ are points, as are those that are flat in front.
    let mut moved = grid(0.0);
    moved.grid.as_mut().unwrap().origin[0] = 1.0;
    assert!(matches!(read(&[grid(0.0), moved]).unwrap().domain(), Domain::Clouds(_)));
    let mut flat = Mesh::on(MeshGrid { shape: [1, 3, 2], origin: [0.0; 3], spacing: [1.0; 3] });
    flat.point_data = grid(0.0).point_data;
    let samples = read(&[flat]).unwrap();
    assert!(matches!(samples.domain(), Domain::Cloud(cloud) if cloud.dim() == 3));
    assert_eq!(samples.output_values().unwrap()[..3], [0.0, 10.0, 20.0]);
}

#[test]
fn weights_and_masks_mean_what_they_mean_elsewhere() {
    let weighted = |weight: f64| {
        let mut mesh = triangle(0.0);
        mesh.point_data.push(data("weights", 1, vec![weight; 3]));
        mesh
    };
    let samples = read(&[weighted(0.5), weighted(0.5)]).unwrap();
    assert!(matches!(samples.domain(), Domain::Cloud(cloud) if cloud.weights() == Some(&[0.5; 3])));
    let samples = read(&[weighted(0.5), weighted(0.25)]).unwrap();
    assert!(matches!(samples.domain(), Domain::Clouds(clouds) if clouds.cloud(1).weights() == Some(&[0.25; 3])));
    let mut masked = grid(0.0);
    masked.point_data.push(data("mask", 1, vec![1.0, 1.0, 0.0, 1.0, 1.0, 1.0]));
    let samples = read(&[masked]).unwrap();
    assert_eq!(samples.output_values().unwrap(), [0.0, 1.0, 10.0, 11.0, 21.0]);
}

#[test]
fn a_single_mesh_is_a_sample() {
    let folder = folder(&[triangle(0.0), triangle(0.5)]);
    let samples = read_dataset(&folder.path().join("case_1.vtu"), Need::Inputs, &["p".into()]).unwrap();
    assert_eq!((samples.count(), samples.fields().len(), samples.outputs().len()), (1, 2, 0));
    assert_eq!(read_first(folder.path(), Need::Output, &[], Some(1)).unwrap().count(), 1);
    // Whatever its name.
    let odd = folder.path().join("result.xml");
    fs::rename(folder.path().join("case_1.vtu"), &odd).unwrap();
    assert_eq!(read_dataset(&odd, Need::Output, &[]).unwrap().count(), 1);
}

#[test]
fn what_does_not_fit_is_named_by_its_file() {
    let changed = |change: &dyn Fn(&mut Mesh)| {
        let mut mesh = triangle(0.0);
        change(&mut mesh);
        refused(folder(&[triangle(0.0), mesh]).path())
    };
    let message = changed(&|mesh| mesh.point_data.clear());
    assert!(message.contains("case_1.vtu: has no point data"), "{message}");
    let message = changed(&|mesh| drop(mesh.point_data.remove(0)));
    assert!(message.contains("case_1.vtu: has no point data `k`"), "{message}");
    let message = changed(&|mesh| mesh.point_data[1] = data("u", 1, vec![0.0; 3]));
    assert!(message.contains("case_1.vtu: has 1 components per point in `u`"), "{message}");
    let message = changed(&|mesh| mesh.point_data[0].values[2] = f64::NAN);
    assert!(message.contains("case_1.vtu: `k` is NaN at point 2"), "{message}");
    let renamed = |name: &str| {
        let mut mesh = triangle(0.0);
        mesh.point_data[0].name = name.into();
        refused(folder(&[mesh]).path())
    };
    let message = renamed("points");
    assert!(message.contains("case_0.vtu: has point data `points`"), "{message}");
    assert!(renamed("lower").contains("`lower`"));
    let mut lonely = triangle(0.0);
    lonely.point_data.remove(0);
    assert!(refused(folder(&[lonely]).path()).contains("has no input field"));
    // A mesh without points cannot be written here, but others do it.
    let folder = folder(&[]);
    let empty = "<VTKFile type=\"UnstructuredGrid\"><UnstructuredGrid><Piece NumberOfPoints=\"0\" NumberOfCells=\"0\">\
                 <PointData><DataArray type=\"Float64\" Name=\"u\" format=\"ascii\"></DataArray></PointData>\
                 <Points><DataArray type=\"Float64\" Name=\"Points\" format=\"ascii\"></DataArray></Points>\
                 <Cells></Cells></Piece></UnstructuredGrid></VTKFile>";
    fs::write(folder.path().join("empty.vtu"), empty).unwrap();
    let message = refused(folder.path());
    assert!(message.contains("empty.vtu: there are 0 coordinates"), "{message}");
}
