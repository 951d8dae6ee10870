//! How the equation h' = A h + c is followed from t = 0 to T: one file per integrator.
//!
//! A does not depend on t and acts linearly, so every explicit method here is a polynomial in dt A (`polynomial.rs`),
//! and so is the limit of infinitely many layers to a tolerance. Products with A are all that an integrator asks for;
//! the fused evolution gives it those of its order, and takes back what its derivative is made of: A is multiplied with
//! some vectors v, its derivative is the sum of g ⊗ v over all of them.

mod euler;
mod exponential;
mod heun;
mod implicit;
mod plain;
mod polynomial;
mod rk4;

use crate::linalg::Real;
use crate::linalg::buffer::Buffer;
use crate::{Error, Result};
use serde::de::{IntoDeserializer, value};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

pub use plain::PlainSteps;

/// The rule of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Integrator {
    /// The paper's: first order.
    #[default]
    Euler,
    /// Second order.
    Heun,
    /// Fourth order.
    Rk4,
    /// The implicit midpoint rule: second order, stable at every depth.
    Implicit,
    /// The limit of infinitely many layers, to a tolerance.
    Exponential,
}

/// The name in configuration files.
impl fmt::Display for Integrator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl FromStr for Integrator {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let hint = "`euler` is the paper's; `exponential` is the limit of infinite depth";
        Self::deserialize(text.into_deserializer())
            .map_err(|error: value::Error| Error::invalid("integrator", "the name of an integrator", error, hint))
    }
}

impl Integrator {
    /// The degree of the polynomial in dt A that a step is, if it is one of a fixed degree.
    fn degree(self) -> Option<usize> {
        match self {
            Self::Euler => Some(euler::DEGREE),
            Self::Heun => Some(heun::DEGREE),
            Self::Rk4 => Some(rk4::DEGREE),
            Self::Implicit | Self::Exponential => None,
        }
    }

    /// Products with A in a step, for estimates.
    pub(super) fn products(self) -> f64 {
        match self {
            Self::Implicit => implicit::USUAL_PRODUCTS,
            // All of its work is counted with one step.
            Self::Exponential => exponential::USUAL_PRODUCTS,
            _ => self.degree().unwrap_or(1) as f64,
        }
    }
}

/// Products with A, for states of one length.
pub(super) trait Flow<T> {
    /// A h.
    fn apply(&self, h: &[T], result: &mut [T]);
    /// Aᵀ g.
    fn apply_transposed(&self, g: &[T], result: &mut [T]);
    /// Adds `factor` c to every node's and sample's state.
    fn add_source(&self, factor: T, state: &mut [T]);
    /// A bound of |A|.
    fn norm(&self) -> f64;
}

/// The way that is to be followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// Which integrator.
    pub integrator: Integrator,
    /// dt.
    pub step: f64,
    /// L.
    pub steps: usize,
    /// What may be left of the error, relative to the state: of those that are exact to a tolerance.
    pub tolerance: f64,
}

/// What the way there leaves for the way back: the vectors that A was multiplied with, one after the other, and how.
#[derive(Debug)]
pub(super) struct Trace<T: Real> {
    /// The vectors v.
    pub inputs: Vec<T>,
    /// The polynomial of each step, of those that are one.
    taken: Vec<polynomial::Taken>,
}

/// What the way back gives.
pub(super) struct Adjoints<T: Real> {
    /// The derivative with respect to the initial state.
    pub initial: Vec<T>,
    /// The vectors g that belong to the trace's v.
    pub outputs: Buffer<T>,
    /// The derivative with respect to c, still spread over nodes and samples.
    pub source: Vec<T>,
}

/// The last state and the trace; an error if a solver has not converged.
pub(super) fn forward<T: Real>(
    flow: &impl Flow<T>,
    course: &Course,
    initial: &[T],
    keep: bool,
) -> std::result::Result<(Vec<T>, Trace<T>), String> {
    match (course.integrator, course.integrator.degree()) {
        (Integrator::Implicit, _) => implicit::forward(flow, course, initial, keep),
        (_, Some(degree)) => {
            let series = polynomial::Series::taylor(course.step, degree);
            Ok(polynomial::forward(flow, series, course.steps, initial, keep))
        }
        (_, None) => exponential::forward(flow, course, initial, keep),
    }
}

/// The adjoint of [`forward`].
pub(super) fn backward<T: Real>(flow: &impl Flow<T>, course: &Course, trace: &Trace<T>, gradient: &[T]) -> Adjoints<T> {
    match course.integrator {
        Integrator::Implicit => implicit::backward(flow, course, trace, gradient),
        _ => polynomial::backward(flow, trace, gradient),
    }
}

/// a += factor b.
fn add_scaled<T: Real>(a: &mut [T], factor: T, b: &[T]) {
    crate::linalg::vectorised!({
        for (a, &b) in a.iter_mut().zip(b) {
            *a += factor * b;
        }
    });
}

/// The Euclidean norm, summed in double precision.
fn norm<T: Real>(values: &[T]) -> f64 {
    dot(values, values).sqrt()
}

/// The scalar product, summed in double precision by pieces of fixed length.
fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    let piece = |(a, b): (&[T], &[T])| a.iter().zip(b).map(|(a, b)| a.elem::<f64>() * b.elem::<f64>()).sum::<f64>();
    a.chunks(4096).zip(b.chunks(4096)).map(piece).sum()
}

#[cfg(test)]
mod tests;
