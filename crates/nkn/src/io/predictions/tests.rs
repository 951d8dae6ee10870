//! Samples come back from meshes as they were, and predictions stand beside inputs and truth.

use super::*;
use crate::domain::{Clouds, Grid, PointCloud};
use crate::field::Values;
use crate::io::{Need, read_dataset, write_dataset};
use proptest::prelude::*;
use tempfile::tempdir;

/// Samples on a grid, on points that all share, or on points of their own.
fn any_samples() -> impl Strategy<Value = Samples> {
    let grid = |dim: usize| {
        prop::collection::vec(2usize..5, dim)
            .prop_map(move |shape| Domain::from(Grid::new(shape, vec![-1.0; dim], vec![3.0; dim]).unwrap()))
    };
    let cloud = |dim: usize, count: usize, shift: f64| {
        // No coordinate is the same in all points: such an axis would be left out.
        let coordinates = (0..count * dim).map(|k| k as f64 * 0.25 + shift).collect();
        PointCloud::new(dim, coordinates, 1.0).unwrap()
    };
    let shared = (1usize..4, 2usize..6).prop_map(move |(dim, count)| Domain::from(cloud(dim, count, 0.0)));
    let own = (1usize..4, 2usize..6).prop_map(move |(dim, count)| {
        let clouds = (0..3).map(|sample| cloud(dim, count + sample, sample as f64)).collect();
        Domain::from(Clouds::new(clouds).unwrap())
    });
    let domain = prop_oneof![(1usize..4).prop_flat_map(grid), shared, own];
    (domain, 1usize..4, 1usize..4, 1usize..4, any::<u32>()).prop_map(|(domain, count, scalar, vector, seed)| {
        let count = if let Domain::Clouds(clouds) = &domain { clouds.count() } else { count };
        let nodes = if let Domain::Clouds(_) = &domain { domain.len() } else { domain.len() * count };
        let number = |k: usize| (k as f64 + f64::from(seed)).sin() + 2.0;
        let values =
            |components: usize| Values::vectors(components, (0..nodes * components).map(number).collect::<Vec<_>>());
        let samples = Samples::on(domain).input("b", values(scalar)).unwrap();
        samples.output("u", values(vector)).unwrap()
    })
}

proptest! {
    #[test]
    fn samples_come_back_from_a_folder_of_meshes(samples in any_samples()) {
        let folder = tempdir().unwrap();
        for sample in 0..samples.count() {
            let (mesh, _) = mesh_of(&samples, sample);
            let ending = if mesh.grid.is_some() { "vti" } else { "vtu" };
            write_mesh(&folder.path().join(format!("{sample}.{ending}")), &mesh).unwrap();
        }
        let again = read_dataset(folder.path(), Need::Output, &[]).unwrap();
        prop_assert_eq!(again.domain().coordinates(), samples.domain().coordinates());
        prop_assert_eq!(again.fields(), samples.fields());
        prop_assert_eq!(again.outputs(), samples.outputs());
    }
}

fn changed(samples: &Samples) -> Samples {
    let output = &samples.outputs()[0];
    let values: Vec<f64> = output.values.iter().map(|value| value + 0.5).collect();
    samples.clone().output(output.name.clone(), Values::vectors(output.components, values)).unwrap()
}

fn values_of<'a>(mesh: &'a Mesh, name: &str) -> &'a [f64] {
    &mesh.point_data.iter().find(|data| data.name == name).expect(name).values
}

#[test]
fn a_grid_from_a_file_of_arrays() {
    let folder = tempdir().unwrap();
    let input = folder.path().join("data.npz");
    let grid = Grid::unit(&[2, 3]).unwrap();
    let samples = Samples::on(grid).input("b", vec![0.0; 12]).unwrap();
    let samples = samples.output("u", (0..12).map(f64::from).collect::<Vec<_>>()).unwrap();
    write_dataset(&input, &samples).unwrap();
    let names = mesh_names(&input, &samples).unwrap();
    assert_eq!(names, ["sample_0000.vti", "sample_0001.vti"]);
    let paths: Vec<PathBuf> = names.iter().map(|name| folder.path().join(name)).collect();
    write_predicted(&paths, &input, &samples, &changed(&samples)).unwrap();
    let mesh = read_mesh(&paths[1]).unwrap();
    // x runs fastest in the mesh, y here.
    assert_eq!(values_of(&mesh, "u_truth"), [6.0, 9.0, 7.0, 10.0, 8.0, 11.0]);
    assert_eq!(values_of(&mesh, "u"), [6.5, 9.5, 7.5, 10.5, 8.5, 11.5]);
    assert_eq!(values_of(&mesh, "u_error"), [0.5; 6]);
    assert_eq!(values_of(&mesh, "b"), [0.0; 6]);
    let message = write_predicted(&paths[..1], &input, &samples, &samples).unwrap_err().to_string();
    assert!(message.contains("one for each sample"), "{message}");
}

#[test]
fn meshes_keep_their_cells_and_names() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut mesh = Mesh::cloud(vec![0.0, 0.0, 2.0, 1.0, 0.0, 2.0, 0.0, 1.0, 2.0, 1.0, 1.0, 2.0]);
    mesh.cells =
        crate::io::Cells { connectivity: vec![0, 1, 3, 2], offsets: vec![4], types: vec![9], faces: Vec::new() };
    let data = |name: &str, components: usize, values: Vec<f64>| PointData { name: name.into(), components, values };
    mesh.point_data = vec![
        data("k", 1, vec![1.0, 2.0, 3.0, 4.0]),
        data("u", 3, [1.0, 2.0, 0.0].repeat(4)),
        data("mask", 1, vec![1.0, 1.0, 0.0, 1.0]),
    ];
    write_mesh(&at("beam.vtu"), &mesh).unwrap();
    for input in [folder.path().to_owned(), at("beam.vtu")] {
        let samples = read_dataset(&input, Need::Output, &[]).unwrap();
        assert_eq!((samples.nodes(), mesh_names(&input, &samples).unwrap()), (3, vec!["beam.vtu".to_string()]));
        let out = tempdir().unwrap();
        let path = out.path().join("beam.vtu");
        write_predicted(std::slice::from_ref(&path), &input, &samples, &changed(&samples)).unwrap();
        let written = read_mesh(&path).unwrap();
        assert_eq!((&written.cells, &written.points), (&mesh.cells, &mesh.points));
        assert_eq!(values_of(&written, "k"), [1.0, 2.0, 3.0, 4.0]);
        let hidden = [1.5, 2.5, 0.0, 1.5, 2.5, 0.0, 0.0, 0.0, 0.0, 1.5, 2.5, 0.0];
        assert_eq!(values_of(&written, "u"), hidden, "three components for ParaView, nothing where the mask is 0");
        // What was written is a data set again.
        let again = read_dataset(&path, Need::Output, &[]).unwrap();
        assert_eq!(again.outputs()[0].values, changed(&samples).outputs()[0].values);
    }
    // A file that was changed after it was read.
    let samples = read_dataset(&at("beam.vtu"), Need::Output, &[]).unwrap();
    mesh.points[0] = 0.25;
    write_mesh(&at("beam.vtu"), &mesh).unwrap();
    let message = write_predicted(&[at("out.vtu")], &at("beam.vtu"), &samples, &samples).unwrap_err().to_string();
    assert!(message.contains("beam.vtu: has other points"), "{message}");
}

#[test]
fn without_the_truth_there_is_only_the_prediction() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("in.vtu");
    let mut mesh = Mesh::cloud(vec![0.0, 0.0, 0.0, 1.0, 0.5, 0.0]);
    mesh.point_data = vec![PointData { name: "b".into(), components: 1, values: vec![1.0, 2.0] }];
    write_mesh(&path, &mesh).unwrap();
    let given = read_dataset(&path, Need::Inputs, &[]).unwrap();
    let predicted = given.clone().output("u", vec![3.0, 4.0]).unwrap();
    let out = folder.path().join("out.vtu");
    write_predicted(std::slice::from_ref(&out), &path, &given, &predicted).unwrap();
    let names: Vec<String> = read_mesh(&out).unwrap().point_data.into_iter().map(|data| data.name).collect();
    assert_eq!(names, ["b", "u"]);
}
