//! Functions sampled on a domain: samples, normalisers, resampling.

mod columns;
mod errors;
pub mod images;
mod normaliser;
mod resample;
mod samples;
mod symmetry;
mod values;

pub use columns::Columns;
pub use errors::{mean, relative_l2};
pub use images::Images;
pub use normaliser::{Normaliser, NormaliserKind};
pub use resample::resample;
pub use samples::{Field, Samples, SamplesOn};
pub use symmetry::{Symmetry, check_square, moved};
pub use values::Values;
pub(crate) use values::dimensions;
