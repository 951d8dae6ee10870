//! Nonlocal kernel networks: neural operators that are stable at any depth and work at any resolution.
//!
//! The network learns the map from one function to another from samples: it lifts the input to features h(x, 0), takes L
//! explicit Euler steps of a nonlocal diffusion-reaction equation whose kernel is learned, and projects h(x, T) to the
//! output.
//!
//! ```
//! use nkn::{Grid, Nkn, Samples, problem::poisson, seed::Seed};
//!
//! let train = poisson::generate(Seed::new(0), 0, 40, 33)?;          // 40 loads f and solutions u of -u'' = f on 33 points,
//! let test = poisson::generate(Seed::new(0), 40, 10, 33)?;          // or your own: Samples::on(Grid::unit(&[33])?).input("f", f)?.output("u", u)?
//! let model = Nkn::new().kernel([32, 32]).depths([1, 2]).epochs(60).learning_rate(1e-2).fit(&train)?;
//! println!("{:.2e}", model.error(&test)?);
//! let finer = poisson::generate(Seed::new(0), 40, 10, 65)?;         // the same functions at another resolution
//! let u = model.predict(&finer)?;                                 // 10 x 65 numbers
//! # assert_eq!(u.len(), 650);
//! # assert!(model.error(&finer)? < 1.0);
//! # let _ = Samples::on(Grid::unit(&[3])?);
//! # Ok::<(), nkn::Error>(())
//! ```
//!
//! [`Samples`] and [`Images`] are what is learned from, [`Nkn`] and its siblings the networks, [`Model`] what comes out. The folders follow the data:
//! [`domain`] and [`field`] say where functions live and what they are, [`model`] puts the networks together, [`io`] and [`train`] write and teach them,
//! [`analysis`] looks into them, [`problem`] has the paper's data, [`run`] does a whole run from a configuration file, and [`auto`] without one.

pub mod analysis;
pub mod auto;
#[cfg(test)]
mod checks;
mod convolution;
mod device;
pub mod domain;
mod engine;
mod error;
pub mod field;
pub mod fit;
pub mod io;
mod kernel;
mod linalg;
pub mod model;
mod operation;
mod operator;
mod parallel;
pub mod problem;
pub mod run;
pub mod seed;
pub mod task;
pub mod train;

pub use auto::Auto;
pub use device::Device;
pub use domain::{Domain, Grid, PointCloud, Quadrature};
pub use error::{Error, Result};
pub use field::{Images, Samples};
pub use fit::{Cnn, Examples, Fno, Gkn, MultiscaleCnn, Nkn, Nnn, Preresnet};
pub use model::Model;
