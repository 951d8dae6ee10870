//! The eigenvalues of the elliptic operator E = R - L_k and what they say about a step: h -> h - dt E h + dt c.
//!
//! Positive real parts alone do not make a step stable: explicit Euler multiplies an eigenvector by
//! 1 - dt lambda, so |1 - dt lambda| <= 1 decides, that is dt <= 2 Re(lambda) / |lambda|². The smallest eigenvalue of
//! the symmetric part (E + E^T) / 2 says more: when it is positive, the L2 norm never grows along the exact flow.
//!
//! Small operators are made into a matrix, and all eigenvalues computed. For large ones the ends of the spectrum come
//! from Arnoldi's method, which needs products with the operator alone.

use crate::seed::{Seed, uniform};
use crate::{Error, Result};
use faer::{Mat, Side, c64};
use rand_chacha::ChaCha8Rng;

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
    if n == 0 || n.checked_mul(n) != Some(matrix_row_major.len()) {
        return Err(Error::invalid(
            "matrix",
            format!("{n} x {n} numbers, and at least one"),
            matrix_row_major.len(),
            "pass the number of rows and all rows one after the other",
        ));
    }
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
    if n == 0 || wanted == 0 {
        return Err(Error::invalid(
            "spectrum",
            "an operator with at least one row, and at least one wanted eigenvalue",
            format!("{n} rows, {wanted} wanted"),
            "ask for 1 to 20 eigenvalues",
        ));
    }
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

/// The matrix, row-major, column by column from unit vectors.
fn assemble(operator: &dyn LinearOperator) -> Vec<f64> {
    let n = operator.size();
    let mut matrix = vec![0.0; n * n];
    let (mut unit, mut column) = (vec![0.0; n], vec![0.0; n]);
    for j in 0..n {
        unit[j] = 1.0;
        operator.apply(&unit, &mut column);
        unit[j] = 0.0;
        for (i, value) in column.iter().enumerate() {
            matrix[i * n + j] = *value;
        }
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

fn check_finite(values: &[f64]) -> Result<()> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::NotFinite {
            what: "the operator whose spectrum is asked for".into(),
            got: values[at],
            place: format!("at entry {at}"),
            hint: "the weights are probably not finite: go back to an earlier checkpoint".into(),
        }),
    }
}

fn failed(_: faer::linalg::solvers::EvdError) -> Error {
    Error::invalid(
        "spectrum",
        "an iteration that converges",
        "one that did not",
        "please report this operator: finite matrices should always converge",
    )
}

// ---- Arnoldi's method

/// Which eigenvalues to look for.
#[derive(Clone, Copy)]
enum End {
    LargestReal,
    SmallestReal,
    LargestMagnitude,
    LargestImaginary,
}

impl End {
    /// The larger, the more wanted.
    fn score(self, z: c64) -> f64 {
        match self {
            Self::LargestReal => z.re,
            Self::SmallestReal => -z.re,
            Self::LargestMagnitude => z.re.hypot(z.im),
            Self::LargestImaginary => z.im.abs(),
        }
    }
}

struct Found {
    /// At least as many as were wanted, both of a conjugate pair.
    values: Vec<(f64, f64)>,
    /// The largest |E x - lambda x| / |E|, computed afresh from the eigenvectors.
    residual: f64,
}

/// Products with the operator: reads the first vector, writes the second.
type Apply<'a> = &'a dyn Fn(&[f64], &mut [f64]);

/// Arnoldi's method with thick restarts (Wu and Simon 2000; Stewart's Krylov-Schur method without the triangular form).
///
/// It keeps E V = V H + v b^T, V orthonormal. A restart replaces V by the span of the wanted Ritz vectors, which is
/// invariant under H, so the relation survives; nothing is assumed about the shape of H. faer's own solver is not
/// used: it never returns when a Krylov space is exhausted, as happens at once for a multiple of the identity.
fn arnoldi(n: usize, apply: Apply, end: End, wanted: usize) -> Result<Found> {
    // Past this an end lies in a cluster, and more products would buy few digits.
    const RESTARTS: usize = 50;
    const TOLERANCE: f64 = 1e-11;
    let size = (2 * wanted + 40).min(n);
    let mut rng = Seed::new(0).derive("arnoldi", n as u64).rng();
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(size + 1);
    let first = fresh_direction(n, &basis, &mut rng);
    basis.push(first);
    let mut h = Mat::<f64>::zeros(size, size);
    let mut kept = 0;
    for restart in 0.. {
        let coupling = extend(apply, &mut basis, &mut h, kept, &mut rng)?;
        let ritz = h.eigen().map_err(failed)?;
        let (values, vectors) = (ritz.S().column_vector(), ritz.U());
        let mut order: Vec<usize> = (0..size).collect();
        // Conjugates have equal scores, and this sort is stable: they stay neighbours as faer delivers them.
        order.sort_by(|&i, &j| end.score(values[j]).total_cmp(&end.score(values[i])));
        let whole_pairs = |count: usize| {
            let count = count.min(size);
            let last = values[order[count - 1]];
            let split = count < size && last.im != 0.0 && values[order[count]] == last.conj();
            let joined = count > 1 && values[order[count - 2]] == last.conj();
            count + usize::from(split && !joined)
        };
        let wanted = whole_pairs(wanted);
        // The longest image of a basis vector: a lower bound of |E|, and a good one.
        let scale = (0..size).fold(coupling, |s: f64, j| s.max(h.col(j).norm_l2()));
        let converged = order[..wanted].iter().all(|&i| {
            let vector = vectors.col(i);
            coupling * vector[size - 1].norm() <= TOLERANCE * scale * vector.norm_l2()
        });
        if converged || restart == RESTARTS {
            let residual = order[..wanted]
                .iter()
                .map(|&i| {
                    let weights: Vec<c64> = (0..size).map(|j| vectors[(j, i)]).collect();
                    residual(apply, &basis, &weights, values[i])
                })
                .fold(0.0, f64::max);
            let residual = if scale > 0.0 { residual / scale } else { 0.0 };
            let values = order[..wanted].iter();
            let values = values.map(|&i| (ritz.S()[i].re, ritz.S()[i].im)).collect();
            return Ok(Found { values, residual });
        }
        // Half of the rest of the basis is kept too: it speeds convergence up. Two places stay free for new vectors.
        let keep = whole_pairs((wanted + (size - wanted) / 2).min(size - 2));
        let weights = orthonormal_span(&order[..keep], |j, i| vectors[(j, i)], size);
        kept = weights.len();
        restart_with(&weights, coupling, &mut basis, &mut h);
    }
    unreachable!("the last restart returns")
}

/// Grows the relation from `from` columns to all, and gives the last coupling: b = coupling e_last.
///
/// The basis has from + 1 vectors on entry and one more than columns on return, even when it spans the whole space.
fn extend(apply: Apply, basis: &mut Vec<Vec<f64>>, h: &mut Mat<f64>, from: usize, rng: &mut ChaCha8Rng) -> Result<f64> {
    let (size, n) = (h.ncols(), basis[0].len());
    let mut coupling = 0.0;
    for j in from..size {
        let mut next = vec![0.0; n];
        apply(&basis[j], &mut next);
        check_finite(&next)?;
        let before = norm(&next);
        // The second pass makes up for what rounding leaves of the first.
        for _ in 0..2 {
            for (i, vector) in basis.iter().enumerate() {
                let share = dot(vector, &next);
                h[(i, j)] += share;
                subtract(&mut next, share, vector);
            }
        }
        coupling = norm(&next);
        if j + 1 == n {
            // The basis spans everything; what is left is rounding.
            coupling = 0.0;
        } else if coupling <= 1e-14 * before {
            // The space is invariant: go on with a direction that it does not know.
            coupling = 0.0;
            next = fresh_direction(n, basis, rng);
        } else {
            next.iter_mut().for_each(|x| *x /= coupling);
        }
        if j + 1 < size {
            h[(j + 1, j)] = coupling;
        }
        basis.push(next);
    }
    Ok(coupling)
}

/// Replaces the basis V by V W and its last vector, and the small matrix by W^T H W with the coupling row below.
fn restart_with(weights: &[Vec<f64>], coupling: f64, basis: &mut Vec<Vec<f64>>, h: &mut Mat<f64>) {
    let (size, n) = (h.ncols(), basis[0].len());
    let mut smaller = Mat::zeros(size, size);
    for (j, column) in weights.iter().enumerate() {
        let image: Vec<f64> = (0..size).map(|i| (0..size).map(|k| h[(i, k)] * column[k]).sum()).collect();
        for (i, row) in weights.iter().enumerate() {
            smaller[(i, j)] = dot(row, &image);
        }
        smaller[(weights.len(), j)] = coupling * column[size - 1];
    }
    *h = smaller;
    let last = basis.swap_remove(size);
    let combined = weights.iter().map(|column| {
        let mut vector = vec![0.0; n];
        for (weight, old) in column.iter().zip(basis.iter()) {
            subtract(&mut vector, -weight, old);
        }
        vector
    });
    *basis = combined.chain([last]).collect();
}

/// An orthonormal basis of the real and imaginary parts of some small vectors.
fn orthonormal_span(chosen: &[usize], entry: impl Fn(usize, usize) -> c64, size: usize) -> Vec<Vec<f64>> {
    let mut span: Vec<Vec<f64>> = Vec::new();
    for &i in chosen {
        let parts: [fn(c64) -> f64; 2] = [|z| z.re, |z| z.im];
        for part in parts {
            let mut vector: Vec<f64> = (0..size).map(|j| part(entry(j, i))).collect();
            for _ in 0..2 {
                for other in &span {
                    let share = dot(other, &vector);
                    subtract(&mut vector, share, other);
                }
            }
            let length = norm(&vector);
            // The second of a conjugate pair, and real eigenvectors, add nothing.
            if length > 1e-10 {
                vector.iter_mut().for_each(|x| *x /= length);
                span.push(vector);
            }
        }
    }
    span
}

/// |E x - lambda x| for the unit vector x with these weights in the basis.
fn residual(apply: Apply, basis: &[Vec<f64>], weights: &[c64], value: c64) -> f64 {
    let n = basis[0].len();
    let (mut re, mut im) = (vec![0.0; n], vec![0.0; n]);
    for (weight, vector) in weights.iter().zip(basis) {
        subtract(&mut re, -weight.re, vector);
        subtract(&mut im, -weight.im, vector);
    }
    let (mut image_re, mut image_im) = (vec![0.0; n], vec![0.0; n]);
    apply(&re, &mut image_re);
    apply(&im, &mut image_im);
    let squares = (0..n).map(|i| {
        let real = image_re[i] - value.re * re[i] + value.im * im[i];
        let imaginary = image_im[i] - value.re * im[i] - value.im * re[i];
        real * real + imaginary * imaginary
    });
    squares.sum::<f64>().sqrt() / norm(&re).hypot(norm(&im))
}

/// A random unit vector that is orthogonal to the basis.
fn fresh_direction(n: usize, basis: &[Vec<f64>], rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut vector: Vec<f64> = (0..n).map(|_| uniform(rng, -1.0, 1.0)).collect();
    for _ in 0..3 {
        for other in basis {
            let share = dot(other, &vector);
            subtract(&mut vector, share, other);
        }
        let length = norm(&vector);
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Eight sums side by side: a single one would wait for each addition, several times slower.
    let (heads_a, tail_a) = a.as_chunks::<8>();
    let (heads_b, tail_b) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in heads_a.iter().zip(heads_b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let tail: f64 = tail_a.iter().zip(tail_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + tail
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// a -= factor b.
fn subtract(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a -= factor * b;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::PI;

    /// A matrix that is only known by its products.
    struct Matrix(usize, Vec<f64>);

    impl LinearOperator for Matrix {
        fn size(&self) -> usize {
            self.0
        }

        fn apply(&self, x: &[f64], y: &mut [f64]) {
            for (y, row) in y.iter_mut().zip(self.1.chunks(self.0)) {
                *y = dot(row, x);
            }
        }

        fn apply_transpose(&self, x: &[f64], y: &mut [f64]) {
            y.fill(0.0);
            for (x, row) in x.iter().zip(self.1.chunks(self.0)) {
                subtract(y, -x, row);
            }
        }
    }

    fn diagonal(values: &[f64]) -> Matrix {
        let n = values.len();
        let mut matrix = vec![0.0; n * n];
        for (i, value) in values.iter().enumerate() {
            matrix[i * n + i] = *value;
        }
        Matrix(n, matrix)
    }

    /// A random nonsymmetric matrix, whose diagonal separates the ends from the bulk.
    fn random(n: usize, seed: u64, ends: &[f64]) -> Matrix {
        let mut rng = Seed::new(seed).rng();
        let size = 1.0 / (n as f64).sqrt();
        let numbers = (0..n * n).map(|_| uniform(&mut rng, -size, size));
        let mut matrix = Matrix(n, numbers.collect());
        for (i, value) in ends.iter().enumerate() {
            matrix.1[i * n + i] += value;
        }
        matrix
    }

    fn close(a: f64, b: f64, relative: f64, scale: f64) {
        assert!((a - b).abs() <= relative * scale, "{a} and {b}");
    }

    fn of_eigenvalues(eigenvalues: Vec<(f64, f64)>) -> Spectrum {
        summary(eigenvalues, true, 0.0, 0.0)
    }

    #[test]
    fn diagonal_matrices() {
        let spectrum = spectrum(&diagonal(&[2.0, -1.0, 5.0]), 10, 1).unwrap();
        assert_eq!(spectrum.eigenvalues, [(5.0, 0.0), (2.0, 0.0), (-1.0, 0.0)]);
        assert!(spectrum.complete);
        assert_eq!((spectrum.largest_real, spectrum.smallest_real), (5.0, -1.0));
        assert_eq!(spectrum.smallest_symmetric, -1.0);
        assert_eq!((spectrum.spectral_radius, spectrum.residual), (5.0, 0.0));
        assert_eq!(spectrum.amplification(1.0), 4.0);
    }

    #[test]
    fn rotations_have_conjugate_pairs() {
        // 3 +- 4i and a shear whose symmetric part is indefinite: [[1, 6], [0, 1]] has 1, 1 and 1 +- 3.
        let mut matrix = vec![0.0; 16];
        matrix[..2].copy_from_slice(&[3.0, -4.0]);
        matrix[4..6].copy_from_slice(&[4.0, 3.0]);
        matrix[10..12].copy_from_slice(&[1.0, 6.0]);
        matrix[15] = 1.0;
        let spectrum = spectrum_dense(4, &matrix).unwrap();
        for (found, (re, im)) in spectrum.eigenvalues.iter().zip([(3.0, 4.0), (3.0, -4.0), (1.0, 0.0), (1.0, 0.0)]) {
            close(found.0, re, 1e-7, 1.0);
            close(found.1, im, 1e-7, 1.0);
        }
        close(spectrum.smallest_symmetric, -2.0, 1e-13, 1.0);
        close(spectrum.spectral_radius, 5.0, 1e-13, 1.0);
        // |1 - 0.24 (3 + 4i)|² = 0.28² + 0.96² = 1: 0.24 = 2 * 3 / 25 is the longest stable step.
        close(spectrum.amplification(0.24), 1.0, 1e-13, 1.0);
        assert_eq!(spectrum.stable_depth(0.48), Some(2));
        assert_eq!(spectrum.stable_depth(0.481), Some(3));
    }

    #[test]
    fn the_discrete_laplacian() {
        let n = 60;
        let mut matrix = diagonal(&vec![2.0; n]);
        for i in 1..n {
            matrix.1[i * n + i - 1] = -1.0;
            matrix.1[(i - 1) * n + i] = -1.0;
        }
        let exact = |k: usize| 2.0 - 2.0 * (k as f64 * PI / (n + 1) as f64).cos();
        let dense = spectrum(&matrix, n, 3).unwrap();
        for (i, found) in dense.eigenvalues.iter().enumerate() {
            close(found.0, exact(n - i), 1e-13, 4.0);
        }
        let krylov = spectrum(&matrix, 0, 3).unwrap();
        assert!(!krylov.complete && krylov.residual < 1e-10);
        for (i, found) in krylov.eigenvalues[..3].iter().enumerate() {
            close(found.0, exact(n - i), 1e-11, 4.0);
        }
        close(krylov.smallest_real, exact(1), 1e-11, 4.0);
        close(krylov.smallest_symmetric, exact(1), 1e-11, 4.0);
        assert_eq!(krylov.stable_depth(10.0), dense.stable_depth(10.0));
    }

    #[test]
    fn krylov_agrees_with_dense_on_nonsymmetric_matrices() {
        let ends = [9.0, 7.5, 6.5, -4.0, -5.0, -6.0, 3.0, -3.0];
        for seed in 0..5 {
            let mut matrix = random(200, seed, &ends);
            // A pair far off the real axis: 1 +- 8i.
            let (i, j) = (20 * 200 + 21, 21 * 200 + 20);
            matrix.1[i] += 8.0;
            matrix.1[j] -= 8.0;
            let dense = spectrum(&matrix, 200, 3).unwrap();
            let krylov = spectrum(&matrix, 199, 3).unwrap();
            assert!(dense.complete && !krylov.complete);
            assert!(krylov.residual < 1e-10, "{}", krylov.residual);
            let scale = dense.spectral_radius;
            close(krylov.spectral_radius, scale, 1e-8, scale);
            close(krylov.largest_real, dense.largest_real, 1e-8, scale);
            close(krylov.smallest_real, dense.smallest_real, 1e-8, scale);
            let (found, exact) = (krylov.smallest_symmetric, dense.smallest_symmetric);
            close(found, exact, 1e-8, scale);
            let count = krylov.eigenvalues.len();
            assert!((8..=12).contains(&count), "{:?}", krylov.eigenvalues);
            // Every one of them is an eigenvalue, and the outermost three at both ends are all there.
            for &(re, im) in &krylov.eigenvalues {
                let distance = |z: &(f64, f64)| (z.0 - re).hypot(z.1 - im);
                let nearest = dense.eigenvalues.iter().map(distance).fold(9.0, f64::min);
                assert!(nearest <= 1e-8 * scale, "{re} {im}");
            }
            for i in 0..3 {
                let (found, exact) = (krylov.eigenvalues[i], dense.eigenvalues[i]);
                close(found.0, exact.0, 1e-8, scale);
                let (found, exact) = (krylov.eigenvalues[count - 1 - i], dense.eigenvalues[199 - i]);
                close(found.0, exact.0, 1e-8, scale);
            }
            for dt in [0.05, 0.2, 1.0] {
                let (found, exact) = (krylov.amplification(dt), dense.amplification(dt));
                close(found, exact, 1e-8, scale);
            }
        }
    }

    #[test]
    fn krylov_survives_an_exhausted_space() {
        // A multiple of the identity, zero, and three eigenvalues of high multiplicity.
        let thirds: Vec<f64> = (0..90).map(|i| f64::from(i % 3)).collect();
        for (values, smallest, largest) in [(vec![3.0; 90], 3.0, 3.0), (vec![0.0; 90], 0.0, 0.0), (thirds, 0.0, 2.0)] {
            let spectrum = spectrum(&diagonal(&values), 10, 2).unwrap();
            close(spectrum.smallest_real, smallest, 1e-12, 1.0);
            close(spectrum.largest_real, largest, 1e-12, 1.0);
            close(spectrum.smallest_symmetric, smallest, 1e-12, 1.0);
            assert!(spectrum.residual < 1e-12);
        }
    }

    #[test]
    fn krylov_on_operators_smaller_than_its_basis() {
        let matrix = random(7, 1, &[3.0, -2.0]);
        for wanted in [1, 7, 100] {
            let dense = spectrum(&matrix, 7, wanted).unwrap();
            let krylov = spectrum(&matrix, 0, wanted).unwrap();
            close(krylov.largest_real, dense.largest_real, 1e-10, 3.0);
            close(krylov.smallest_real, dense.smallest_real, 1e-10, 3.0);
        }
        let single = spectrum(&diagonal(&[4.0]), 0, 1).unwrap();
        assert_eq!(single.eigenvalues.len(), 1);
        close(single.eigenvalues[0].0, 4.0, 1e-15, 4.0);
    }

    #[test]
    fn a_cluster_at_the_end_is_an_estimate_that_says_so() {
        // 400 eigenvalues in [1, 1.001]: no method by products alone can tell the ends to full accuracy.
        let values: Vec<f64> =
            (0..400).map(|i| if i == 0 { 5.0 } else { 1.0 + 1e-3 * (f64::from(i) / 400.0).powi(6) }).collect();
        let spectrum = spectrum(&diagonal(&values), 10, 2).unwrap();
        close(spectrum.largest_real, 5.0, 1e-10, 1.0);
        let error = (spectrum.smallest_real - values[1]).abs();
        assert!(error <= 5.0 * spectrum.residual.max(1e-12), "{error}");
    }

    #[test]
    fn bad_arguments_are_errors() {
        let message = |result: Result<Spectrum>| result.unwrap_err().to_string();
        assert!(message(spectrum_dense(2, &[1.0; 3])).contains("matrix: expected 2 x 2"));
        assert!(message(spectrum_dense(0, &[])).contains("at least one"));
        let bad = [1.0, f64::NAN, 0.0, 1.0];
        assert!(message(spectrum_dense(2, &bad)).contains("not finite (NaN) at entry 1"));
        assert!(message(spectrum(&Matrix(2, bad.into()), 0, 1)).contains("not finite"));
        assert!(message(spectrum(&diagonal(&[1.0]), 1, 0)).contains("1 rows, 0 wanted"));
        assert!(message(spectrum(&diagonal(&[]), 1, 1)).contains("0 rows"));
    }

    #[test]
    fn no_depth_is_stable_for_growing_or_undamped_modes() {
        let depth = |z: (f64, f64)| of_eigenvalues(vec![(1.0, 0.0), z]).stable_depth(1.0);
        assert_eq!(depth((-1e-3, 0.0)), None);
        assert_eq!(depth((0.0, 1.0)), None);
        assert_eq!(depth((0.0, 0.0)), Some(1));
        assert_eq!(depth((-1e-17, 0.0)), Some(1));
        // On the border: dt = 2 / lambda exactly, where the rounding of lambda must not matter.
        for n in 1..200 {
            let lambda = 2.0 * f64::from(n) * (1.0 + 2.0 * f64::EPSILON);
            assert_eq!(depth((lambda, 0.0)), Some(n as usize));
        }
        let spectrum = of_eigenvalues(vec![(1.0, 0.0)]);
        assert_eq!(spectrum.stable_depth(0.0), Some(1));
        assert_eq!(spectrum.stable_depth(-1.0), None);
        assert_eq!(spectrum.stable_depth(f64::NAN), None);
    }

    proptest! {
        #[test]
        fn stable_depth_is_what_a_search_finds(
            // Magnitude and angle, at most 86 degrees from the positive axis: depths up to about 400.
            polar in prop::collection::vec((0.01_f64..50.0, -1.5_f64..1.5), 1..6),
            time in 0.1_f64..1.0,
        ) {
            let values = polar.iter().map(|(r, a)| (r * a.cos(), r * a.sin())).collect();
            let spectrum = of_eigenvalues(values);
            let unstable = |depth: &usize| !spectrum.is_stable(time / *depth as f64);
            let searched = (1..1000).rev().find(unstable).map_or(1, |last| last + 1);
            prop_assert_eq!(spectrum.stable_depth(time), Some(searched));
        }
    }
}
