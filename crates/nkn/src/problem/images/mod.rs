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

use crate::field::images::{CLASSES, Images, first_bad_label};
