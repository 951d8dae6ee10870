//! Nonlocal kernel networks: neural operators that are stable at any depth and work at any resolution.
//!
//! The network learns the map from one function to another from samples: it lifts the input to features h(x, 0), takes L
//! explicit Euler steps of a nonlocal diffusion-reaction equation whose kernel is learned, and projects h(x, T) to the
//! output. The folders follow the data: [`domain`] and [`field`] say where functions live and what they are, `kernel` and
//! `operator` assemble and evolve, [`model`] puts the networks together, [`io`] and [`train`] write and teach them,
//! [`analysis`] looks into them, [`problem`] has the paper's data, and [`run`] does a whole run from a configuration file.

pub mod analysis;
mod buffer;
#[cfg(test)]
mod checks;
pub mod classify;
pub(crate) mod convolution;
pub mod domain;
pub(crate) mod engine;
mod error;
pub mod field;
pub mod io;
pub(crate) mod kernel;
mod linalg;
pub mod model;
mod operation;
pub(crate) mod operator;
pub mod problem;
pub mod run;
pub mod seed;
pub mod train;

pub use burn::tensor::Device;
pub use error::{Error, Result};
