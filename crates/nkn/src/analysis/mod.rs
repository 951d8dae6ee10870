//! What a trained network is: its spectrum, its stability, the Green's function it has learned.

mod arnoldi;
mod certificate;
mod elliptic;
mod energy;
mod green;
pub mod spectrum;
mod stability;

pub use certificate::Certificate;
pub use elliptic::Elliptic;
pub use energy::energies;
pub use green::{LoadSpan, effective_green};
pub use spectrum::{LinearOperator, Spectrum};
pub use stability::{QUICK_LIMIT, Stability};
