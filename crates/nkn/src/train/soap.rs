//! SOAP: Adam in a slowly turning basis.
//!
//! N. Vyas et al., *SOAP: improving and stabilizing Shampoo using Adam* (2024). For a weight matrix with gradient G the
//! averages L of G Gᵀ and R of Gᵀ G are kept; Adam runs on Q_Lᵀ G Q_R, where Q_L and Q_R are their eigenvectors,
//! refreshed every few steps by one power iteration and a QR factorisation.

use super::optimiser::Adam;
use crate::linalg::{Matrix, gemm, gemm_parallel};
use crate::model::Parameters;
use std::ops::Range;

/// A side longer than this keeps the plain basis: its eigenvectors would cost more than the step.
const LONGEST: usize = 1024;

/// One side of a matrix: the average of the gradient's products, and its eigenvectors as columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Side {
    pub average: Vec<f32>,
    pub basis: Vec<f32>,
}

/// The bases of one weight matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Soap {
    /// The parameter group and the place in it.
    pub group: usize,
    pub range: Range<usize>,
    pub rows: usize,
    pub columns: usize,
    /// Absent on a side that is too long, or has length 1.
    pub left: Option<Side>,
    pub right: Option<Side>,
}

impl Soap {
    /// One for every weight matrix.
    pub fn for_matrices(parameters: &Parameters) -> Vec<Self> {
        let mut result = Vec::new();
        for (group, parameters) in parameters.groups.iter().enumerate() {
            for entry in &parameters.entries {
                let &[rows, columns] = entry.shape.as_slice() else { continue };
                let side = |length: usize| {
                    (2..=LONGEST)
                        .contains(&length)
                        .then(|| Side { average: vec![0.0; length * length], basis: Vec::new() })
                };
                let (left, right) = (side(rows), side(columns));
                if left.is_some() || right.is_some() {
                    result.push(Self { group, range: entry.range(), rows, columns, left, right });
                }
            }
        }
        result
    }

    /// One step for this matrix.
    pub fn step(
        &mut self,
        adam: &Adam,
        step: u64,
        every: u64,
        values: &mut [f32],
        (first, second): (&mut [f32], &mut [f32]),
        gradient: &[f32],
    ) {
        let (rows, columns) = (self.rows, self.columns);
        let g = Matrix::new(gradient, rows, columns);
        let (keep, rest) = if step == 1 { (0.0, 1.0) } else { (adam.beta2, adam.rest2) };
        if let Some(left) = &mut self.left {
            gemm_parallel(&mut left.average, keep, rest, g, g.t());
        }
        if let Some(right) = &mut self.right {
            gemm_parallel(&mut right.average, keep, rest, g.t(), g);
        }
        if step == 1 {
            for side in [(&mut self.left, rows), (&mut self.right, columns)] {
                if let (Some(side), length) = side {
                    side.basis = eigenvectors(&side.average, length);
                }
            }
        }
        for (m, &g) in first.iter_mut().zip(gradient) {
            *m = adam.beta1 * *m + adam.rest1 * g;
        }
        let turned_gradient = self.turn(gradient, true);
        let mut direction = self.turn(first, true);
        for ((d, &g), s) in direction.iter_mut().zip(&turned_gradient).zip(second) {
            *d = adam.scaled(*d, g, s);
        }
        let direction = self.turn(&direction, false);
        for (v, d) in values.iter_mut().zip(direction) {
            *v -= adam.rate * d + adam.decay * *v;
        }
        if step % every == 0 {
            for side in [(&mut self.left, rows), (&mut self.right, columns)] {
                if let (Some(side), length) = side {
                    side.refresh(length);
                }
            }
        }
    }

    /// Into the eigenbasis (Q_Lᵀ A Q_R) or out of it (Q_L A Q_Rᵀ).
    fn turn(&self, values: &[f32], into: bool) -> Vec<f32> {
        let (rows, columns) = (self.rows, self.columns);
        let mut result = values.to_vec();
        let mut other = vec![0.0; values.len()];
        if let Some(left) = &self.left {
            let basis = Matrix::new(&left.basis, rows, rows);
            let basis = if into { basis.t() } else { basis };
            gemm_parallel(&mut other, 0.0, 1.0, basis, Matrix::new(&result, rows, columns));
            std::mem::swap(&mut result, &mut other);
        }
        if let Some(right) = &self.right {
            let basis = Matrix::new(&right.basis, columns, columns);
            let basis = if into { basis } else { basis.t() };
            gemm_parallel(&mut other, 0.0, 1.0, Matrix::new(&result, rows, columns), basis);
            std::mem::swap(&mut result, &mut other);
        }
        result
    }
}

impl Side {
    /// One power iteration, then orthonormal columns again.
    fn refresh(&mut self, length: usize) {
        let mut product = vec![0.0f32; length * length];
        let average = Matrix::new(&self.average, length, length);
        gemm(&mut product, 0.0, 1.0, average, Matrix::new(&self.basis, length, length));
        let product = faer::Mat::from_fn(length, length, |i, j| product[i * length + j] as f64);
        let factors = product.qr();
        let q = factors.compute_thin_Q();
        let r = factors.thin_R();
        for i in 0..length {
            for j in 0..length {
                // Signs that keep a converged column where it is.
                let sign = if r[(j, j)] < 0.0 { -1.0 } else { 1.0 };
                self.basis[i * length + j] = (sign * q[(i, j)]) as f32;
            }
        }
    }
}

/// The eigenvectors of a symmetric matrix, as columns.
fn eigenvectors(matrix: &[f32], length: usize) -> Vec<f32> {
    let matrix = faer::Mat::from_fn(length, length, |i, j| matrix[i * length + j] as f64);
    match matrix.self_adjoint_eigen(faer::Side::Lower) {
        Ok(eigen) => {
            let vectors = eigen.U();
            (0..length * length).map(|k| vectors[(k / length, k % length)] as f32).collect()
        }
        // Not finite: the trainer stops on the gradient itself.
        Err(_) => (0..length * length).map(|k| if k / length == k % length { 1.0 } else { 0.0 }).collect(),
    }
}
