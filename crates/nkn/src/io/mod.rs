//! File formats: model files, data sets, and writing that never leaves half a file behind.

mod assemble;
mod atomic;
mod dataset;
mod hdf5;
mod images;
mod inspect;
pub(crate) mod legacy;
mod matlab;
mod meshes;
mod model_file;
mod npy;
mod npz;
mod number;
mod predictions;
mod recognise;
pub(crate) mod tensors;
mod trajectory;
mod vtk;

pub use assemble::samples_of;
pub use atomic::write_atomically;
pub use dataset::{Need, arrays_of, check_ending, read_dataset, read_first, write_dataset};
pub use images::read_images;
pub use inspect::{ArrayFacts, Column, Gap, Inspection, Place, Role, inspect};
pub use predictions::{mesh_names, write_predicted};
pub(crate) use recognise::{Format, describe};
pub use trajectory::{read_trajectories, write_trajectories};
pub use vtk::{Cells, Mesh, MeshGrid, PointData, holds_meshes, read_mesh, read_meshes, write_mesh};

/// An array with a name, in a file or in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// What it is called.
    pub name: String,
    /// The length of each axis.
    pub shape: Vec<usize>,
    /// The values, the last index running fastest.
    pub values: Vec<f64>,
}

/// An array to write: its name, its shape and its values, the last index running fastest.
type NamedArray<'a> = (&'a str, Vec<usize>, std::borrow::Cow<'a, [f64]>);
