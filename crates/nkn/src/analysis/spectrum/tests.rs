//! Known spectra, and Krylov against dense.

use super::*;
use crate::analysis::elliptic::dot;
use crate::seed::{Seed, uniform};
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
            y.iter_mut().zip(row).for_each(|(y, entry)| *y += x * entry);
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
