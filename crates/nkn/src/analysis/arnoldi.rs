//! Arnoldi's method with restarts: the ends of a spectrum from products with the operator alone.

use super::spectrum::{check_finite, failed};
use crate::Result;
use crate::seed::{Seed, uniform};
use faer::{Mat, c64};
use rand_chacha::ChaCha8Rng;

/// Which eigenvalues to look for.
#[derive(Clone, Copy)]
pub(super) enum End {
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

pub(super) struct Found {
    /// At least as many as were wanted, both of a conjugate pair.
    pub values: Vec<(f64, f64)>,
    /// The largest |E x - lambda x| / |E|, computed afresh from the eigenvectors.
    pub residual: f64,
}

/// Products with the operator: reads the first vector, writes the second.
pub(super) type Apply<'a> = &'a dyn Fn(&[f64], &mut [f64]);

/// Arnoldi's method with thick restarts (Wu and Simon 2000; Stewart's Krylov-Schur method without the triangular form).
///
/// It keeps E V = V H + v b^T, V orthonormal. A restart replaces V by the span of the wanted Ritz vectors, which is
/// invariant under H, so the relation survives; nothing is assumed about the shape of H. faer's own solver is not
/// used: it never returns when a Krylov space is exhausted, as happens at once for a multiple of the identity.
pub(super) fn arnoldi(n: usize, apply: Apply, end: End, wanted: usize) -> Result<Found> {
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
                orthogonalise(&mut vector, &span);
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
        orthogonalise(&mut vector, basis);
        let length = norm(&vector);
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}

/// Takes away what a vector has of each of an orthonormal basis.
fn orthogonalise(vector: &mut [f64], basis: &[Vec<f64>]) {
    for other in basis {
        let share = dot(other, vector);
        subtract(vector, share, other);
    }
}

/// A scalar product, inlined so that it is compiled for the vectors of its caller.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
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
pub(super) fn subtract(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a -= factor * b;
    }
}
