//! From which depth on the steps of a dissipative network cannot grow, for its weights and on its mesh.
//!
//! A step of explicit Euler does not increase the norm that the nodes' measure weighs if dt ≤ 2 / |D*(1 + Ω)|²: the proof
//! stands at the head of `model/nkn/dissipative.rs`. |D*(1 + Ω)|² is the largest eigenvalue of D*(1 + Ω)(1 + Ω)ᵀD, an
//! elliptic operator like E with other blocks: bounded by the largest sum of a row, which takes one pass over it, or
//! computed by Lanczos' method, which is Arnoldi's for a symmetric operator. Heun's and Runge and Kutta's steps are means
//! of Euler steps of the same length, and keep the bound; the implicit rule and the exponential are stable at every
//! depth.

use super::arnoldi::{End, arnoldi};
use super::elliptic::Elliptic;
use crate::Result;

/// What is proven about the steps of a dissipative network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certificate {
    /// |D*(1 + Ω)|², by Lanczos' method with what it may have missed.
    pub largest: f64,
    /// A bound of it by sums of rows.
    pub row_sums: f64,
}

impl Certificate {
    /// That of an operator; none of one that need not be dissipative.
    pub fn of(operator: &Elliptic) -> Result<Option<Self>> {
        let Some(bound) = operator.bound() else { return Ok(None) };
        let found = arnoldi(bound.size(), &|x: &[f64], y: &mut [f64]| bound.apply(x, y), End::LargestReal, 1)?;
        // The true value is at most a residual away from the one found.
        let largest = found.values[0].0.max(0.0) * (1.0 + 1e-9) * (1.0 + found.residual);
        let row_sums = bound.row_sums();
        Ok(Some(Self { largest: largest.min(row_sums), row_sums }))
    }

    /// The longest step that is proven not to grow.
    pub fn step(&self) -> f64 {
        2.0 / self.largest
    }

    /// The depth from which on no step grows, dt = time / depth.
    pub fn depth(&self, time: f64) -> usize {
        depth(time, self.largest)
    }

    /// The same by the sums of rows alone.
    pub fn depth_by_row_sums(&self, time: f64) -> usize {
        depth(time, self.row_sums)
    }
}

fn depth(time: f64, largest: f64) -> usize {
    (0.5 * time * largest).ceil().max(1.0) as usize
}

#[cfg(test)]
mod tests;
