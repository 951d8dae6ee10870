//! The eigenvalues of the elliptic operator E = R - L_k and what they say about a step: h -> h - dt E h + dt c.
//!
//! Positive real parts alone do not make a step stable: explicit Euler multiplies an eigenvector by
//! 1 - dt lambda, so |1 - dt lambda| <= 1 decides, that is dt <= 2 Re(lambda) / |lambda|². The smallest eigenvalue of
//! the symmetric part (E + E^T) / 2 says more: when it is positive, the L2 norm never grows along the exact flow.
//!
//! Small operators are made into a matrix, and all eigenvalues computed. For large ones the ends of the spectrum come
//! from Arnoldi's method, which needs products with the operator alone.

use super::arnoldi::{End, arnoldi};
use crate::error::ensure;
use crate::{Error, Result};
use faer::{Mat, Side};

/// Unknowns up to which all eigenvalues are computed.
pub const DENSE_LIMIT: usize = 2000;
/// Eigenvalues at each end of the spectrum of larger operators.
pub const WANTED: usize = 20;

/// A square matrix, known by what it does to a vector.
pub trait LinearOperator {
    /// The number of rows.
    fn size(&self) -> usize;
    /// y = E x.
    fn apply(&self, x: &[f64], y: &mut [f64]);
    /// y = E^T x.
    fn apply_transpose(&self, x: &[f64], y: &mut [f64]);
}

/// Eigenvalues of the elliptic operator, and what follows from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Real and imaginary parts, sorted by decreasing real part: all eigenvalues, or those at the ends.
    pub eigenvalues: Vec<(f64, f64)>,
    /// Whether these are all eigenvalues. If not, they are the ones with the largest and the smallest real part, the
    /// largest magnitude and the largest imaginary part, each named once however often it occurs.
    pub complete: bool,
    /// The largest real part.
    pub largest_real: f64,
    /// The smallest real part: below zero, some function grows without bound at any depth.
    pub smallest_real: f64,
    /// The smallest eigenvalue of the symmetric part.
    pub smallest_symmetric: f64,
    /// The largest magnitude.
    pub spectral_radius: f64,
    /// How far the worst of the computed eigenvectors x is from being one: |E x - lambda x| for |x| = 1, as a share of
    /// the operator's size. Zero when complete. Above 1e-8 the ends are estimates: they lie in a cluster.
    pub residual: f64,
}

impl Spectrum {
    /// The largest |1 - dt lambda|: what a step of length dt does to the worst eigenvector.
    pub fn amplification(&self, dt: f64) -> f64 {
        let factors = self.eigenvalues.iter();
        factors.fold(0.0, |worst, (re, im)| worst.max((1.0 - dt * re).hypot(dt * im)))
    }

    /// Whether no eigenvector grows in a step of length dt, up to rounding.
    pub fn is_stable(&self, dt: f64) -> bool {
        self.amplification(dt) <= 1.0 + 1e-12
    }

    /// The smallest depth from which on all depths have a stable step, dt = time / depth.
    ///
    /// None when there is no such depth: an eigenvalue has a negative real part, or none and an imaginary part.
    /// Eigenvalues below 1e-12 of the spectral radius count as zero, which they are up to rounding.
    pub fn stable_depth(&self, time: f64) -> Option<usize> {
        if !(time >= 0.0 && time.is_finite()) {
            return None;
        }
        let mut depth = 1.0_f64;
        for &(re, im) in &self.eigenvalues {
            let magnitude = re.hypot(im);
            if magnitude <= 1e-12 * self.spectral_radius {
                continue;
            }
            if re <= 0.0 {
                return None;
            }
            // dt <= 2 re / |lambda|², less a rounding error, lest an exact 8 become a 9.
            let needed = time * magnitude / (2.0 * re / magnitude);
            depth = depth.max((needed * (1.0 - 1e-13)).ceil());
        }
        Some(depth as usize)
    }
}

/// All eigenvalues of an n x n matrix.
///
/// ```
/// use nkn::analysis::spectrum::spectrum_dense;
///
/// let spectrum = spectrum_dense(2, &[1.0, 0.5, 0.0, 8.0])?;
/// assert_eq!(spectrum.stable_depth(1.0), Some(4)); // dt <= 2 / 8
/// # Ok::<(), nkn::Error>(())
/// ```
pub fn spectrum_dense(n: usize, matrix_row_major: &[f64]) -> Result<Spectrum> {
    let (given, expected) = (matrix_row_major.len(), format!("{n} x {n} numbers, and at least one"));
    let hint = "pass the number of rows and all rows one after the other";
    ensure!(n > 0 && n.checked_mul(n) == Some(given), Error::invalid("matrix", expected, given, hint));
    check_finite(matrix_row_major)?;
    let entry = |i: usize, j: usize| matrix_row_major[i * n + j];
    let values = Mat::from_fn(n, n, entry).eigenvalues().map_err(failed)?;
    let symmetric = Mat::from_fn(n, n, |i, j| 0.5 * (entry(i, j) + entry(j, i)));
    // In ascending order.
    let symmetric = symmetric.self_adjoint_eigenvalues(Side::Lower).map_err(failed)?;
    let values = values.into_iter().map(|z| (z.re, z.im)).collect();
    Ok(summary(values, true, symmetric[0], 0.0))
}

/// The eigenvalues of an operator: all of them up to the size dense_limit, beyond it `wanted` at each end.
///
/// For a large operator the stability answers rest on the eigenvalues found. Those at the ends decide unless an
/// eigenvalue between them is far from the real axis; the one with the largest imaginary part is among them.
pub fn spectrum(operator: &dyn LinearOperator, dense_limit: usize, wanted: usize) -> Result<Spectrum> {
    let n = operator.size();
    let expected = "an operator with at least one row, and at least one wanted eigenvalue";
    let got = format!("{n} rows, {wanted} wanted");
    ensure!(n > 0 && wanted > 0, Error::invalid("spectrum", expected, got, "ask for 1 to 20 eigenvalues"));
    if n <= dense_limit {
        return spectrum_dense(n, &assemble(operator));
    }
    let mut values: Vec<(f64, f64)> = Vec::new();
    let mut residual = 0.0_f64;
    for end in [End::LargestReal, End::SmallestReal, End::LargestMagnitude, End::LargestImaginary] {
        let found = arnoldi(n, &|x, y| operator.apply(x, y), end, wanted)?;
        values.extend(found.values);
        residual = residual.max(found.residual);
    }
    let symmetric_part = |x: &[f64], y: &mut [f64]| {
        let mut transposed = vec![0.0; n];
        operator.apply(x, y);
        operator.apply_transpose(x, &mut transposed);
        for (y, transposed) in y.iter_mut().zip(transposed) {
            *y = 0.5 * (*y + transposed);
        }
    };
    let symmetric = arnoldi(n, &symmetric_part, End::SmallestReal, 1)?;
    residual = residual.max(symmetric.residual);
    let smallest_symmetric = symmetric.values[0].0;
    // The same eigenvalue comes from several ends, each time with another rounding error.
    let same = 1e-9 * values.iter().fold(0.0, |r: f64, z| r.max(z.0.hypot(z.1)));
    let mut distinct: Vec<(f64, f64)> = Vec::new();
    for (re, im) in values {
        if !distinct.iter().any(|z| (z.0 - re).hypot(z.1 - im) <= same) {
            distinct.push((re, im));
        }
    }
    Ok(summary(distinct, false, smallest_symmetric, residual))
}

/// The matrix, row-major: its rows are what the transpose does to unit vectors.
fn assemble(operator: &dyn LinearOperator) -> Vec<f64> {
    let n = operator.size();
    let mut matrix = vec![0.0; n * n];
    let mut unit = vec![0.0; n];
    for (i, row) in matrix.chunks_exact_mut(n).enumerate() {
        unit[i] = 1.0;
        operator.apply_transpose(&unit, row);
        unit[i] = 0.0;
    }
    matrix
}

fn summary(mut eigenvalues: Vec<(f64, f64)>, complete: bool, smallest_symmetric: f64, residual: f64) -> Spectrum {
    eigenvalues.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)));
    Spectrum {
        largest_real: eigenvalues[0].0,
        smallest_real: eigenvalues[eigenvalues.len() - 1].0,
        spectral_radius: eigenvalues.iter().fold(0.0, |radius, z| radius.max(z.0.hypot(z.1))),
        eigenvalues,
        complete,
        smallest_symmetric,
        residual,
    }
}

pub(super) fn check_finite(values: &[f64]) -> Result<()> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let hint = "the weights are probably not finite: go back to an earlier checkpoint";
            let what = "the operator whose spectrum is asked for";
            Err(Error::not_finite(what, values[at], format!("at entry {at}"), hint))
        }
    }
}

pub(super) fn failed(_: faer::linalg::solvers::EvdError) -> Error {
    let hint = "please report this operator: finite matrices should always converge";
    Error::invalid("spectrum", "an iteration that converges", "one that did not", hint)
}

#[cfg(test)]
mod tests;
