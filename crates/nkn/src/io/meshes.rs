//! A data set of meshes: one mesh per sample, turned into the arrays that `assemble.rs` understands.
//!
//! | meshes | arrays |
//! |---|---|
//! | `.vti`, all on the same grid | a grid with `lower` and `upper`, its nodes in our order |
//! | all with the same points | `points` of all samples |
//! | others | `points` and fields stacked, with `offsets` |
//!
//! Where all z are equal the mesh is one of the plane, and z is left out; of vectors with three components then the last too,
//! if it is zero everywhere. Cells are not looked at. Point data `weights` and `mask` mean what they mean in other files.

use super::Array;
use super::vtk::{Mesh, MeshGrid, PointData};
use crate::{Error, Result};
use std::path::PathBuf;

/// Names that say where values are in other files, and that a mesh itself says.
const RESERVED: [&str; 5] = ["points", "offsets", "measure", "lower", "upper"];

/// Makes the arrays of a data set from meshes that have the same point data in the same order; there is at least one.
pub(super) fn mesh_arrays(meshes: &[(PathBuf, Mesh)]) -> Result<Vec<Array>> {
    let Some((path, first)) = meshes.first() else { return Ok(Vec::new()) };
    if let Some(data) = first.point_data.iter().find(|data| RESERVED.contains(&data.name.as_str())) {
        let problem = format!("has point data `{}`, a name that says where values are", data.name);
        return Err(Error::file(path, problem, "rename it in all files, for instance with ParaView's Calculator"));
    }
    let dim = first.dimension();
    let layout = Layout::of(meshes);
    let mut arrays = layout.places(meshes, dim);
    for (at, data) in first.point_data.iter().enumerate() {
        let kept = kept_components(meshes, at, dim);
        let one = data.name == "weights" && matches!(layout, Layout::Shared);
        let used = if one { &meshes[..1] } else { meshes };
        let mut values = Vec::with_capacity(used.iter().map(|(_, mesh)| mesh.len() * kept).sum());
        for (_, mesh) in used {
            let data = &mesh.point_data[at];
            let point = |point: usize| &data.values[point * data.components..][..kept];
            match &layout {
                Layout::Grid(grid) => grid.order().into_iter().for_each(|node| values.extend_from_slice(point(node))),
                _ => (0..mesh.len()).for_each(|node| values.extend_from_slice(point(node))),
            }
        }
        let nodes = match &layout {
            Layout::Grid(grid) => [&[meshes.len()], &grid.shape[..dim]].concat(),
            Layout::Shared if one => vec![first.len()],
            Layout::Shared => vec![meshes.len(), first.len()],
            Layout::Stacked => vec![values.len() / kept],
        };
        let shape = nodes.into_iter().chain((kept > 1).then_some(kept)).collect();
        arrays.push(Array { name: data.name.clone(), shape, values });
    }
    Ok(arrays)
}

/// Where the values of all meshes are.
enum Layout {
    /// The nodes of this grid.
    Grid(MeshGrid),
    /// Points that are the same in all meshes, and so is what each stands for.
    Shared,
    /// Points of each mesh.
    Stacked,
}

impl Layout {
    fn of(meshes: &[(PathBuf, Mesh)]) -> Self {
        let first = &meshes[0].1;
        fn weights(mesh: &Mesh) -> Option<&PointData> {
            mesh.point_data.iter().find(|data| data.name == "weights")
        }
        let all = |alike: &dyn Fn(&Mesh) -> bool| meshes.iter().all(|(_, mesh)| alike(mesh));
        if let Some(grid) = first.grid
            && weights(first).is_none()
            && is_regular(&grid, first.dimension())
            && all(&|mesh| mesh.grid == Some(grid))
        {
            return Self::Grid(grid);
        }
        match all(&|mesh| mesh.points == first.points && weights(mesh) == weights(first)) {
            true => Self::Shared,
            false => Self::Stacked,
        }
    }

    /// The arrays that say where the values are.
    fn places(&self, meshes: &[(PathBuf, Mesh)], dim: usize) -> Vec<Array> {
        let array = |name: &str, shape: Vec<usize>, values: Vec<f64>| Array { name: name.into(), shape, values };
        match self {
            Self::Grid(grid) => {
                let upper = |axis: usize| grid.origin[axis] + grid.spacing[axis] * (grid.shape[axis] - 1) as f64;
                let lower = grid.origin[..dim].to_vec();
                vec![array("lower", vec![dim], lower), array("upper", vec![dim], (0..dim).map(upper).collect())]
            }
            Self::Shared => {
                let mesh = &meshes[0].1;
                vec![array("points", vec![mesh.len(), dim], mesh.coordinates())]
            }
            Self::Stacked => {
                let mut ends = vec![0];
                meshes.iter().for_each(|(_, mesh)| ends.push(ends[ends.len() - 1] + mesh.len()));
                let total = ends[ends.len() - 1];
                let points = meshes.iter().flat_map(|(_, mesh)| mesh.coordinates()).collect();
                let offsets = ends.iter().map(|&end| end as f64).collect();
                vec![array("points", vec![total, dim], points), array("offsets", vec![ends.len()], offsets)]
            }
        }
    }
}

/// Whether a grid has a length along each of its axes; one that is flat elsewhere than behind is a set of points.
fn is_regular(grid: &MeshGrid, dim: usize) -> bool {
    (0..dim).all(|axis| grid.shape[axis] > 1 && grid.spacing[axis] > 0.0)
}

/// How many components of a field are kept: vectors of space have as many as the mesh has dimensions, if the others are zero.
fn kept_components(meshes: &[(PathBuf, Mesh)], at: usize, dim: usize) -> usize {
    let components = meshes[0].1.point_data[at].components;
    let is_flat = |data: &PointData| data.values.chunks_exact(3).all(|value| value[dim..].iter().all(|&v| v == 0.0));
    let drops = components == 3 && dim < 3 && meshes.iter().all(|(_, mesh)| is_flat(&mesh.point_data[at]));
    if drops { dim } else { components }
}

#[cfg(test)]
mod tests;
