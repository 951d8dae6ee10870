//! Functions sampled on a domain: samples, normalisers, resampling.

mod errors;
mod normaliser;
mod resample;
mod samples;
mod symmetry;

pub use errors::{mean, relative_l2};
pub use normaliser::{Normaliser, NormaliserKind};
pub use resample::resample;
pub use samples::{Field, Samples};
pub use symmetry::{Symmetry, check_square, moved};
