//! The front door: a network is described, fitted to samples, and asked.

pub mod builder;
mod examples;

pub use builder::{Builder, Cnn, Fno, Gkn, MultiscaleCnn, Nkn, Nnn, Preresnet};
pub use examples::Examples;
