//! The kernel and reaction networks, and the table of distinct inputs on which the kernel is evaluated.

mod active;
mod fused;
mod mlp;
mod perceptron;
mod rows;

pub(crate) use active::{Active, Compact};
pub(crate) use fused::evaluate;
pub use mlp::{MlpShape, init_linear};
pub use perceptron::{affine, mlp};
pub use rows::RowTable;
