//! The paper's problems: data generators, and what is known about their solutions.

pub mod darcy;
pub mod images;
pub mod poisson;
