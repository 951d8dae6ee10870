//! File formats: model files, data sets, and writing that never leaves half a file behind.

mod atomic;
mod dataset;
mod images;
pub(crate) mod legacy;
mod matlab;
mod model_file;
mod npz;
mod number;
mod recognise;
pub(crate) mod tensors;

pub use atomic::write_atomically;
pub use dataset::{Need, read_dataset, read_first, write_dataset};
pub use images::read_images;
pub(crate) use recognise::{Format, describe};

/// One array of a file.
#[derive(Clone, Debug, PartialEq)]
struct Array {
    name: String,
    shape: Vec<usize>,
    /// The values, the last index running fastest.
    values: Vec<f64>,
}
