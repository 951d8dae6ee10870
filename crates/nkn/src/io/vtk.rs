//! VTK's XML meshes: `.vtu` (unstructured, with cells) and `.vti` (a regular grid), which ParaView, PyVista and meshio read
//! and write.
//!
//! | what | read | written |
//! |---|---|---|
//! | values as text, as base64 in place, as base64 or raw bytes behind the mesh | all | base64 in place |
//! | compression | zlib or none; LZ4 and LZMA are refused, with what to do | none |
//! | numbers | 4 and 8 byte floats, all integers, either byte order | f64, smallest byte first |
//! | point data | scalars and any number of components | the same |
//! | cells of any types, also mixed, and polyhedra | kept as they are | the same |
//! | cell data, field data, texts | passed over | no |
//! | several pieces in a file, turned grids | refused, with what to do | no |
//!
//! Nothing is believed about sizes: memory is asked for as the numbers come. Points, cells and values are checked against
//! one another, and all numbers are finite, so a mesh that has been read can be written again.

mod array;
mod check;
mod document;
mod folder;
mod read;
mod write;

pub use folder::{holds_meshes, read_meshes};
pub(super) use folder::{mesh_paths, read_meshes_by};
pub use read::read_mesh;
pub(super) use read::read_mesh_with_gaps;
pub use write::write_mesh;

/// Points in space, what connects them, and values at them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Three coordinates per point. Of a grid, x runs fastest and z slowest.
    pub points: Vec<f64>,
    /// What connects the points; nothing for a grid.
    pub cells: Cells,
    /// Named values at the points.
    pub point_data: Vec<PointData>,
    /// Where the points are, if they form a regular grid (`.vti`).
    pub grid: Option<MeshGrid>,
}

/// Values at the points of a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointData {
    /// The name under which ParaView shows them.
    pub name: String,
    /// How many numbers there are per point.
    pub components: usize,
    /// The numbers, those of one point side by side.
    pub values: Vec<f64>,
}

/// What connects the points of a mesh, in VTK's own form: kept to write a prediction on the mesh that it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// The points of all cells, one cell after the other.
    pub connectivity: Vec<i64>,
    /// For each cell, where its points end in `connectivity`.
    pub offsets: Vec<i64>,
    /// For each cell, VTK's number of its type: 1 is a single point, 5 a triangle, 9 a quadrangle, 10 a tetrahedron.
    pub types: Vec<u8>,
    /// The faces of polyhedra: arrays under VTK's names, which have changed over its versions.
    pub faces: Vec<(String, Vec<i64>)>,
}

/// A regular grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeshGrid {
    /// The number of points along x, y and z.
    pub shape: [usize; 3],
    /// The point with the smallest indices.
    pub origin: [f64; 3],
    /// The distances of neighbours along x, y and z.
    pub spacing: [f64; 3],
}

impl Mesh {
    /// Points alone, three coordinates each: every point is a cell, since ParaView draws nothing else.
    ///
    /// ```
    /// use nkn::io::{Mesh, PointData, read_mesh, write_mesh};
    /// # fn main() -> nkn::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("cloud.vtu");
    /// let mut mesh = Mesh::cloud(vec![0.0, 0.0, 0.0, 1.0, 0.5, 0.0]);
    /// mesh.point_data.push(PointData { name: "u".into(), components: 1, values: vec![0.25, 0.75] });
    /// write_mesh(&path, &mesh)?;
    /// assert_eq!(read_mesh(&path)?, mesh);
    /// assert_eq!(mesh.dimension(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cloud(points: Vec<f64>) -> Self {
        let count = points.len() / 3;
        let connectivity = (0..count as i64).collect();
        let offsets = (1..=count as i64).collect();
        let cells = Cells { connectivity, offsets, types: vec![1; count], faces: Vec::new() };
        Self { points, cells, ..Self::default() }
    }

    /// The points of a regular grid.
    pub fn on(grid: MeshGrid) -> Self {
        Self { points: grid.points(), grid: Some(grid), ..Self::default() }
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.points.len() / 3
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// 2 when all points have the same z, 1 when they have the same y too, otherwise 3.
    pub fn dimension(&self) -> usize {
        let varies = |axis: usize| {
            let mut values = self.points.iter().skip(axis).step_by(3);
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        (1..3).rev().find(|axis| varies(*axis)).unwrap_or(0) + 1
    }

    /// The first [`dimension`](Self::dimension) coordinates of each point.
    pub fn coordinates(&self) -> Vec<f64> {
        let dimension = self.dimension();
        self.points.chunks_exact(3).flat_map(|point| &point[..dimension]).copied().collect()
    }
}

impl MeshGrid {
    /// Three coordinates of each point, x running fastest.
    fn points(&self) -> Vec<f64> {
        let [nx, ny, nz] = self.shape;
        let at = |axis: usize, index: usize| self.origin[axis] + self.spacing[axis] * index as f64;
        let mut points = Vec::with_capacity(3 * nx * ny * nz);
        for k in 0..nz {
            for j in 0..ny {
                points.extend((0..nx).flat_map(|i| [at(0, i), at(1, j), at(2, k)]));
            }
        }
        points
    }

    /// The number of points, unless that is beyond what a computer can count.
    fn count(&self) -> Option<usize> {
        // Three coordinates per point must be possible too.
        let numbers = self.shape.iter().try_fold(24usize, |product, side| product.checked_mul(*side));
        numbers.map(|numbers| numbers / 24)
    }

    /// Which point of the mesh, where x runs fastest, is each node of a [`Grid`](crate::domain::Grid), where x runs slowest.
    pub fn order(&self) -> Vec<usize> {
        let [nx, ny, nz] = self.shape;
        let column = |i: usize, j: usize| (0..nz).map(move |k| (k * ny + j) * nx + i);
        (0..nx).flat_map(|i| (0..ny).flat_map(move |j| column(i, j))).collect()
    }
}

#[cfg(test)]
mod tests;
