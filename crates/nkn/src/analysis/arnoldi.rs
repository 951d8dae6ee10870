//! Arnoldi's method with restarts: the ends of a spectrum from products with the operator alone.

use super::spectrum::{check_finite, failed};
use crate::Result;
use crate::seed::{Seed, uniform};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par, Scale, c64};
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
    let mut basis = Mat::<f64>::zeros(n, size + 1);
    let first = fresh_direction(basis.subcols(0, 0), &mut rng);
    basis.col_mut(0).copy_from(first.col(0));
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
        // The real and imaginary parts of the first Ritz vectors in this order, side by side.
        let parts = |chosen: &[usize]| {
            let part = |z: c64, k: usize| if k.is_multiple_of(2) { z.re } else { z.im };
            Mat::from_fn(size, 2 * chosen.len(), |j, k| part(vectors[(j, chosen[k / 2])], k))
        };
        let wanted = whole_pairs(wanted);
        // The longest image of a basis vector: a lower bound of |E|, and a good one.
        let scale = (0..size).fold(coupling, |s: f64, j| s.max(h.col(j).norm_l2()));
        let converged = order[..wanted].iter().all(|&i| {
            let vector = vectors.col(i);
            coupling * vector[size - 1].norm() <= TOLERANCE * scale * vector.norm_l2()
        });
        if converged || restart == RESTARTS {
            let one = |&i: &usize| residual(apply, &product(basis.subcols(0, size), parts(&[i]).as_ref()), values[i]);
            let residual = order[..wanted].iter().map(one).fold(0.0, f64::max);
            let residual = if scale > 0.0 { residual / scale } else { 0.0 };
            let values = order[..wanted].iter().map(|&i| (values[i].re, values[i].im)).collect();
            return Ok(Found { values, residual });
        }
        // Half of the rest of the basis is kept too: it speeds convergence up. Two places stay free for new vectors.
        let keep = whole_pairs((wanted + (size - wanted) / 2).min(size - 2));
        let factors = parts(&order[..keep]).col_piv_qr();
        // The second of a conjugate pair, and the imaginary parts of real eigenvectors, add nothing to the span.
        let is_new = |&k: &usize| factors.thin_R()[(k, k)].abs() > 1e-10;
        kept = (0..size.min(2 * keep)).take_while(is_new).count();
        restart_with(factors.compute_thin_Q().subcols(0, kept), coupling, &mut basis, &mut h);
    }
    unreachable!("the last restart returns")
}

/// Grows the relation from `from` columns to all, and gives the last coupling: b = coupling e_last.
///
/// The basis has from + 1 vectors on entry and one more than columns on return, even when it spans the whole space.
fn extend(apply: Apply, basis: &mut Mat<f64>, h: &mut Mat<f64>, from: usize, rng: &mut ChaCha8Rng) -> Result<f64> {
    let (size, n) = (h.ncols(), basis.nrows());
    let mut coupling = 0.0;
    for j in from..size {
        let mut next = Mat::zeros(n, 1);
        apply(basis.col_as_slice(j), next.col_as_slice_mut(0));
        check_finite(next.col_as_slice(0))?;
        let before = next.norm_l2();
        // The second pass makes up for what rounding leaves of the first.
        for _ in 0..2 {
            let shares = orthogonalise(&mut next, basis.subcols(0, j + 1));
            (0..=j).for_each(|i| h[(i, j)] += shares[(i, 0)]);
        }
        coupling = next.norm_l2();
        if j + 1 == n {
            // The basis spans everything; what is left is rounding.
            coupling = 0.0;
        } else if coupling <= 1e-14 * before {
            // The space is invariant: go on with a direction that it does not know.
            coupling = 0.0;
            next = fresh_direction(basis.subcols(0, j + 1), rng);
        } else {
            next /= Scale(coupling);
        }
        if j + 1 < size {
            h[(j + 1, j)] = coupling;
        }
        basis.col_mut(j + 1).copy_from(next.col(0));
    }
    Ok(coupling)
}

/// Replaces the basis V by V W and its last vector, and the small matrix by W^T H W with the coupling row below.
fn restart_with(weights: MatRef<f64>, coupling: f64, basis: &mut Mat<f64>, h: &mut Mat<f64>) {
    let (size, kept) = weights.shape();
    let smaller = product(weights.transpose(), product(h.as_ref(), weights).as_ref());
    *h = Mat::zeros(size, size);
    h.submatrix_mut(0, 0, kept, kept).copy_from(&smaller);
    (0..kept).for_each(|j| h[(kept, j)] = coupling * weights[(size - 1, j)]);
    let combined = product(basis.subcols(0, size), weights);
    let last = basis.col(size).to_owned();
    basis.subcols_mut(0, kept).copy_from(&combined);
    basis.col_mut(kept).copy_from(&last);
}

/// |E x - lambda x| / |x|, real and imaginary part of x as two columns.
fn residual(apply: Apply, x: &Mat<f64>, value: c64) -> f64 {
    let mut image = Mat::zeros(x.nrows(), 2);
    (0..2).for_each(|part| apply(x.col_as_slice(part), image.col_as_slice_mut(part)));
    let turned = faer::mat![[value.re, value.im], [-value.im, value.re]];
    image -= product(x.as_ref(), turned.as_ref());
    image.norm_l2() / x.norm_l2()
}

/// A random unit vector that is orthogonal to the basis.
fn fresh_direction(basis: MatRef<f64>, rng: &mut ChaCha8Rng) -> Mat<f64> {
    let mut vector = Mat::from_fn(basis.nrows(), 1, |_, _| uniform(rng, -1.0, 1.0));
    for _ in 0..3 {
        orthogonalise(&mut vector, basis);
        let length = vector.norm_l2();
        vector /= Scale(length);
    }
    vector
}

/// Takes away what a vector has of each of an orthonormal basis; returns how much that was.
fn orthogonalise(vector: &mut Mat<f64>, basis: MatRef<f64>) -> Mat<f64> {
    let shares = product(basis.transpose(), vector.as_ref());
    *vector -= product(basis, shares.as_ref());
    shares
}

/// Sequential: sums whose order depends on the number of threads would give other bits.
fn product(left: MatRef<f64>, right: MatRef<f64>) -> Mat<f64> {
    let mut result = Mat::zeros(left.nrows(), right.ncols());
    matmul(result.as_mut(), Accum::Replace, left, right, 1.0, Par::Seq);
    result
}
