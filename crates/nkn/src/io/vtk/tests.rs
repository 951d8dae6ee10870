//! The files in `tests/fixtures` come from `make_vtk.py` there; stranger ones are put together here.

mod attacks;
mod foreign;

use super::*;
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::tempdir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The fields that `make_vtk.py` has put into its files.
fn fields(count: u32) -> Vec<PointData> {
    let field = |name: &str, components: u32, scale: f64| {
        let values = (0..components * count).map(|n| f64::from(n) / scale).collect();
        PointData { name: name.into(), components: components as usize, values }
    };
    vec![field("u", 1, 8.0), field("v", 2, 4.0), field("k", 1, 1.0)]
}

fn two_triangles_and_a_quadrangle() -> Mesh {
    let corners = [[0, 0], [1, 0], [1, 1], [0, 1], [2, 0], [2, 1]];
    Mesh {
        points: corners.iter().flat_map(|[x, y]| [f64::from(*x), f64::from(*y), 0.0]).collect(),
        cells: Cells {
            connectivity: vec![0, 1, 2, 0, 2, 3, 1, 4, 5, 2],
            offsets: vec![3, 6, 10],
            types: vec![5, 5, 9],
            faces: Vec::new(),
        },
        point_data: fields(6),
        grid: None,
    }
}

fn grid() -> Mesh {
    // The file's grid begins at the indices 1 and 2, with its origin at 0.5 and -1.
    let grid = MeshGrid { shape: [3, 4, 1], origin: [1.0, -0.5, 0.0], spacing: [0.5, 0.25, 1.0] };
    Mesh { point_data: fields(12), ..Mesh::on(grid) }
}

#[test]
fn what_other_programs_write_is_read() {
    let names = ["mesh_meshio_ascii", "mesh_meshio_zlib", "mesh_vtk_raw", "mesh_vtk_raw_zlib_big"];
    for name in names {
        assert_eq!(
            read_mesh(&fixture(name).with_extension("vtu")).unwrap(),
            two_triangles_and_a_quadrangle(),
            "{name}"
        );
    }
    for name in ["grid_vtk_base64_zlib", "grid_vtk_binary_big"] {
        assert_eq!(read_mesh(&fixture(name).with_extension("vti")).unwrap(), grid(), "{name}");
    }
}

#[test]
fn the_dimension_is_that_of_the_coordinates_that_differ() {
    for (last, dimension) in [([9.0, 0.0, 4.0], 1), ([0.0, 2.0, 4.0], 2), ([0.0, 0.0, 5.0], 3), ([0.0, 0.0, 4.0], 1)] {
        let mesh = Mesh::cloud([[0.0, 0.0, 4.0], last].concat());
        assert_eq!(mesh.dimension(), dimension);
        assert_eq!(mesh.coordinates()[dimension..], last[..dimension]);
    }
    assert_eq!(two_triangles_and_a_quadrangle().dimension(), 2);
}

#[test]
fn a_grid_knows_its_points_in_our_order() {
    let grid = MeshGrid { shape: [2, 3, 2], origin: [0.0; 3], spacing: [1.0; 3] };
    let points = grid.points();
    let moved: Vec<&[f64]> = grid.order().iter().map(|at| &points[3 * at..3 * at + 3]).collect();
    assert!(moved.is_sorted(), "x is slowest and z fastest: {moved:?}");
    assert_eq!(moved.len(), 12);
}

#[test]
fn what_does_not_fit_is_not_written() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.vtu");
    let refused = |path: &Path, change: &dyn Fn(&mut Mesh)| {
        let mut mesh = two_triangles_and_a_quadrangle();
        change(&mut mesh);
        let message = write_mesh(path, &mesh).unwrap_err().to_string();
        assert!(message.contains("hint: ") && !path.exists(), "{message}");
        message
    };
    assert!(refused(&folder.path().join("a.vti"), &|_| {}).contains("ends with .vtu"));
    assert!(refused(&path, &|mesh| mesh.grid = grid().grid).contains("ends with .vti"));
    assert!(refused(&path, &|mesh| mesh.points.truncate(17)).contains("17 coordinates"));
    assert!(refused(&path, &|mesh| mesh.points.clear()).contains("0 coordinates"));
    assert!(refused(&path, &|mesh| mesh.cells.offsets[1] = 2).contains("cell 1 ends at 2"));
    assert!(refused(&path, &|mesh| mesh.cells.offsets[2] = 11).contains("ends at 11"));
    assert!(refused(&path, &|mesh| mesh.cells.connectivity[0] = 6).contains("the point 6"));
    assert!(refused(&path, &|mesh| mesh.cells.types.truncate(2)).contains("3 offsets and 2 types"));
    assert!(refused(&path, &|mesh| mesh.point_data[1].values.truncate(11)).contains("`v` has 11 numbers"));
    assert!(refused(&path, &|mesh| mesh.point_data[1].components = 0).contains("`v` has 12 numbers"));
    assert!(refused(&path, &|mesh| mesh.point_data[1].name = "u".into()).contains("two arrays"));
    assert!(refused(&path, &|mesh| mesh.point_data[1].name = "a\nb".into()).contains("control characters"));
}

#[test]
fn a_folder_has_one_set_of_fields() {
    let folder = tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refused = || {
        let message = read_meshes(folder.path(), None).unwrap_err().to_string();
        assert!(message.contains("hint: "), "{message}");
        message
    };
    assert!(!holds_meshes(folder.path()) && refused().contains("holds no .vtu"));
    let first = two_triangles_and_a_quadrangle();
    write_mesh(&at("b.vtu"), &first).unwrap();
    // Another mesh and another order of the fields are fine.
    let mut second = Mesh::cloud(vec![0.0, 0.0, 1.0, 0.5, 0.5, 1.0]);
    second.point_data = fields(2).into_iter().rev().collect();
    write_mesh(&at("c.vtu"), &second).unwrap();
    fs::write(at("readme.txt"), "no mesh").unwrap();
    assert!(holds_meshes(folder.path()) && !holds_meshes(&at("b.vtu")));
    let meshes = read_meshes(folder.path(), None).unwrap();
    assert_eq!(meshes[0], (at("b.vtu"), first));
    assert_eq!((&meshes[1].0, &meshes[1].1.point_data), (&at("c.vtu"), &fields(2)));
    assert_eq!(read_meshes(folder.path(), Some(1)).unwrap(), meshes[..1]);

    let changed = |change: &dyn Fn(&mut Mesh)| {
        let mut mesh = meshes[1].1.clone();
        change(&mut mesh);
        write_mesh(&at("c.vtu"), &mesh).unwrap();
        refused()
    };
    let message = changed(&|mesh| drop(mesh.point_data.remove(1)));
    assert!(message.contains("c.vtu: has no point data `v`") && message.contains("b.vtu has"), "{message}");
    let extra = PointData { name: "w".into(), components: 1, values: vec![0.0; 2] };
    let message = changed(&|mesh| mesh.point_data.push(extra.clone()));
    assert!(message.contains("b.vtu: has no point data `w`") && message.contains("c.vtu has"), "{message}");
    let message = changed(&|mesh| mesh.point_data[1] = PointData { name: "v".into(), ..extra.clone() });
    assert!(message.contains("c.vtu: has 1 components per point in `v`, but there are 2 in"), "{message}");
    let message = changed(&|mesh| mesh.points[2] = 3.0);
    assert!(message.contains("c.vtu: has points in 3D") && message.contains("in 2D"), "{message}");
    let message = changed(&|mesh| mesh.point_data[0].values[1] = f64::NAN);
    assert!(message.contains("c.vtu: `u` is NaN at point 1, which is at [0.5, 0.5, 1.0]"), "{message}");
    let message = changed(&|mesh| mesh.points[0] = f64::INFINITY);
    assert!(message.contains("c.vtu: `Points` is inf at point 0"), "{message}");
    let message = changed(&|mesh| mesh.point_data.clear());
    assert!(message.contains("c.vtu: has no point data"), "{message}");
    write_mesh(&at("d.vti"), &grid()).unwrap();
    assert!(refused().contains("holds both"));
}

/// Any finite number, to the bit.
fn finite() -> impl Strategy<Value = f64> {
    prop_oneof![prop::num::f64::NORMAL, prop::num::f64::SUBNORMAL, prop::num::f64::ZERO]
}

/// Up to three fields at `count` points; their names are among the odd ones.
fn any_fields(count: usize) -> impl Strategy<Value = Vec<PointData>> {
    let field = (1usize..5).prop_flat_map(move |components| {
        let values = prop::collection::vec(finite(), count * components);
        values.prop_map(move |values| PointData { name: String::new(), components, values })
    });
    let name = |at: usize| ["u", "a<b & \"c\" 'd' é", "velocity (m/s)"][at].to_owned();
    prop::collection::vec(field, 1..4).prop_map(move |mut fields| {
        fields.iter_mut().enumerate().for_each(|(at, field)| field.name = name(at));
        fields
    })
}

fn any_mesh() -> impl Strategy<Value = Mesh> {
    (1usize..20, prop::collection::vec((0usize..9, any::<u8>()), 0..6)).prop_flat_map(|(count, cells)| {
        let offsets: Vec<i64> = cells
            .iter()
            .scan(0, |end, cell| {
                Some(*{
                    *end += cell.0 as i64;
                    end
                })
            })
            .collect();
        let types: Vec<u8> = cells.iter().map(|cell| cell.1).collect();
        let length = offsets.last().map_or(0, |end| *end as usize);
        let connectivity = prop::collection::vec(0..count as i64, length);
        let faces = prop::option::of(prop::collection::vec(-1i64..100, 0..9));
        let points = prop::collection::vec(finite(), 3 * count);
        (points, connectivity, faces, any_fields(count)).prop_map(move |(points, connectivity, faces, point_data)| {
            let faces = faces.into_iter().map(|faces| ("faces".to_owned(), faces)).collect();
            let cells = Cells { connectivity, offsets: offsets.clone(), types: types.clone(), faces };
            Mesh { points, cells, point_data, grid: None }
        })
    })
}

fn any_grid() -> impl Strategy<Value = Mesh> {
    let side = || 1usize..5;
    ([side(), side(), side()], [-1e9..1e9, -1.0..1.0, -1e-9..1e-9], [1e-9..1.0, 1.0..9.0, 0.1..0.2]).prop_flat_map(
        |(shape, origin, spacing)| {
            let mesh = Mesh::on(MeshGrid { shape, origin, spacing });
            any_fields(mesh.len()).prop_map(move |point_data| Mesh { point_data, ..mesh.clone() })
        },
    )
}

proptest! {
    #[test]
    fn every_mesh_comes_back(mesh in prop_oneof![any_mesh(), any_grid()]) {
        let folder = tempdir().unwrap();
        let path = folder.path().join(if mesh.grid.is_some() { "a.vti" } else { "a.vtu" });
        write_mesh(&path, &mesh).unwrap();
        prop_assert_eq!(read_mesh(&path).unwrap(), mesh);
    }
}
