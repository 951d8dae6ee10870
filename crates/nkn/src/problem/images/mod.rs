//! Images with labels, at any resolution: MNIST, Fashion-MNIST and CIFAR-10.
//!
//! [`prepare`] finds the files of a set or fetches them and checks their SHA-256, and [`load`] reads them. Neither MNIST nor CIFAR-10 has a clear
//! licence, so no image is part of this project.

mod cifar;
mod cifar_png;
mod fetch;
mod idx;
mod load;
mod source;
mod table;

pub use cifar::read_cifar;
pub use fetch::{Prepared, Progress, Step, prepare};
pub use idx::read_idx;
pub use load::{ImageData, load};
pub use table::ImageSet;

use crate::field::images::{Images, check_labels};
use crate::{Error, Result};
use std::path::Path;

/// Refuses labels of a file that are no classes.
fn check_labels_of(path: &Path, labels: &[u8], hint: &str) -> Result<()> {
    check_labels(labels, |got, expected| Error::file(path, format!("{got}, expected {expected}"), hint))
}
