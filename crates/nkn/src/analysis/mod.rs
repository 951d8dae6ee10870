//! What a trained network is: its spectrum, its stability, the Green's function it has learned.

mod arnoldi;
mod elliptic;
mod green;
pub mod spectrum;
mod stability;

pub use elliptic::Elliptic;
pub use green::{LoadSpan, effective_green};
pub use spectrum::{LinearOperator, Spectrum};
pub use stability::{QUICK_LIMIT, Stability};
