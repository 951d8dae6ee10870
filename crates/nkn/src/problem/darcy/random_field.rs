//! The Gaussian random field whose sign chooses the coefficient: N(0, (-Delta + 9 I)^-2) on the unit square, with
//! Neumann conditions.
//!
//! The field is the cosine series
//!
//!   sum over (k1, k2) != (0, 0) of tau^(alpha-1) (pi² |k|² + tau²)^(-alpha/2) xi_k phi_k1(x) phi_k2(y)
//!
//! with alpha = 2, tau = 3, independent standard normals xi_k and the orthonormal functions phi_0 = 1 and
//! phi_k = sqrt(2) cos(pi k x). The mean mode is zero. Wave numbers go up to side - 1, as many as the grid has nodes.
//!
//! The public MATLAB generator sums the same series at the cell centres (i + 1/2) / side and then uses the values as if
//! they were nodal. Here the series is summed at the nodes i / (side - 1) themselves: they are where the solver wants the
//! coefficient, the law of the field is the same, and sides that divide each other share points.

use super::check_side;
use crate::Result;
use crate::linalg::{Matrix, gemm};
use crate::seed::{Seed, uniform};
use std::f64::consts::{PI, SQRT_2, TAU};

/// How fast the coefficients fall: the power of the inverse of -Delta + tau² in the covariance.
const POWER: f64 = 2.0;
/// The inverse correlation length (tau).
const INVERSE_LENGTH: f64 = 3.0;

/// Draws the random field on side x side nodes of the unit square, ends included.
pub(super) struct RandomField {
    side: usize,
    /// phi_k at node i, at k side + i. Two products with it sum the series: beside the solution of the equation their
    /// time does not show, and no fast transform is needed.
    basis: Vec<f64>,
    /// What the normal numbers are multiplied with, at k1 side + k2.
    amplitudes: Vec<f64>,
}

impl RandomField {
    /// Prepares the transform for a grid of side x side nodes.
    pub fn new(side: usize) -> Result<Self> {
        check_side(side)?;
        let of_pair = |k: usize| deviation(k / side, k % side);
        let basis = (0..side * side).map(|at| basis(at / side, at % side, side)).collect();
        Ok(Self { side, basis, amplitudes: (0..side * side).map(of_pair).collect() })
    }

    /// Sample number `index` at the nodes: the value at x = i / (side - 1), y = j / (side - 1) is at i side + j.
    ///
    /// The normal numbers are drawn in the order of growing max(k1, k2), so that a sample on a finer grid is the same
    /// function with more of its small waves.
    pub fn sample(&self, seed: Seed, index: usize) -> Vec<f64> {
        let mut normals = Normals::new(seed.derive("darcy", index as u64));
        let mut values = vec![0.0; self.side * self.side];
        let mut draw = |k1: usize, k2: usize| {
            let k = k1 * self.side + k2;
            values[k] = self.amplitudes[k] * normals.next();
        };
        for shell in 1..self.side {
            (0..shell).for_each(|k| draw(k, shell));
            (0..=shell).for_each(|k| draw(shell, k));
        }
        // From wave numbers (k1, k2) to (k1, j) to (i, j).
        let basis = Matrix::new(&self.basis, self.side, self.side);
        let mut half = vec![0.0; values.len()];
        gemm(&mut half, 0.0, 1.0, Matrix::new(&values, self.side, self.side), basis);
        gemm(&mut values, 0.0, 1.0, basis.t(), Matrix::new(&half, self.side, self.side));
        values
    }
}

/// phi_k at node i.
fn basis(k: usize, i: usize, side: usize) -> f64 {
    // The angle within one turn: exact, however large k i is.
    let turn = 2 * (side - 1);
    let cosine = (TAU * (k * i % turn) as f64 / turn as f64).cos();
    if k == 0 { 1.0 } else { SQRT_2 * cosine }
}

/// The standard deviation of the field's coefficient of phi_k1 phi_k2; zero for the mean.
fn deviation(k1: usize, k2: usize) -> f64 {
    if (k1, k2) == (0, 0) {
        return 0.0;
    }
    let laplacian = PI * PI * (k1 * k1 + k2 * k2) as f64;
    INVERSE_LENGTH.powf(POWER - 1.0) * (laplacian + INVERSE_LENGTH * INVERSE_LENGTH).powf(-POWER / 2.0)
}

/// Standard normal numbers by the method of Box and Muller, which gives two at a time.
struct Normals {
    rng: rand_chacha::ChaCha8Rng,
    second: Option<f64>,
}

impl Normals {
    fn new(seed: Seed) -> Self {
        Self { rng: seed.rng(), second: None }
    }

    fn next(&mut self) -> f64 {
        if let Some(second) = self.second.take() {
            return second;
        }
        // From (0, 1]: the logarithm of zero is never asked for.
        let radius = (-2.0 * (1.0 - uniform(&mut self.rng, 0.0, 1.0)).ln()).sqrt();
        let (sin, cos) = uniform(&mut self.rng, 0.0, TAU).sin_cos();
        self.second = Some(radius * sin);
        radius * cos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed() -> Seed {
        Seed::new(5)
    }

    /// phi_k at node i, as it is written.
    fn basis(k: usize, i: usize, side: usize) -> f64 {
        let cosine = (PI * (k * i) as f64 / (side - 1) as f64).cos();
        if k == 0 { 1.0 } else { SQRT_2 * cosine }
    }

    #[test]
    fn the_transform_sums_the_series() {
        for side in [3, 4, 9, 14] {
            let mut normals = Normals::new(seed().derive("darcy", 2));
            let mut xi = vec![0.0; side * side];
            for shell in 1..side {
                (0..shell).for_each(|k| xi[k * side + shell] = normals.next());
                (0..=shell).for_each(|k| xi[shell * side + k] = normals.next());
            }
            let field = RandomField::new(side).unwrap().sample(seed(), 2);
            for (node, value) in field.iter().enumerate() {
                let (i, j) = (node / side, node % side);
                let term = |k1, k2| deviation(k1, k2) * basis(k1, i, side) * basis(k2, j, side) * xi[k1 * side + k2];
                let sum: f64 = (0..side * side).map(|k| term(k / side, k % side)).sum();
                assert!((value - sum).abs() < 1e-14, "{side} {node}: {value} {sum}");
            }
        }
    }

    #[test]
    fn coefficients_are_those_of_the_public_code() {
        assert_eq!(deviation(0, 0), 0.0);
        // 3 / (pi² (1 + 4) + 9)
        assert!((deviation(1, 2) - 3.0 / (5.0 * PI * PI + 9.0)).abs() < 1e-16);
        assert_eq!(deviation(7, 3), deviation(3, 7));
    }

    #[test]
    fn mean_vanishes_and_variance_is_that_of_the_coefficients() {
        let (side, count) = (33, 600);
        let field = RandomField::new(side).unwrap();
        // The trapezoidal rule, for which cosines up to side - 2 are orthonormal as they are under the integral.
        let weight = |i: usize| if i == 0 || i + 1 == side { 0.5 } else { 1.0 } / (side - 1) as f64;
        let mut squares = Vec::new();
        let mut centre = Vec::new();
        for index in 0..count {
            let values = field.sample(seed(), index);
            let mut means = (0.0, 0.0);
            for (node, value) in values.iter().enumerate() {
                let here = weight(node / side) * weight(node % side);
                means = (means.0 + here * value, means.1 + here * value * value);
            }
            assert!(means.0.abs() < 2e-3, "mean mode: {}", means.0);
            squares.push(means.1);
            centre.push(values[side * side / 2]);
        }
        let norm = |k: usize| if k + 1 == side { 2.0 } else { 1.0 };
        let pairs = || (0..side * side).map(|k| (k / side, k % side));
        let variance: f64 = pairs().map(|(k1, k2)| deviation(k1, k2).powi(2) * norm(k1) * norm(k2)).sum();
        let within = |name: &str, values: &[f64], expected: f64| {
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let error = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
            assert!((mean - expected).abs() < 4.0 * error, "{name}: {mean} {expected} {error}");
        };
        within("variance", &squares, variance);
        within("centre", &centre, 0.0);
        let at = side / 2;
        let here = |k1, k2| (deviation(k1, k2) * basis(k1, at, side) * basis(k2, at, side)).powi(2);
        let here: f64 = pairs().map(|(k1, k2)| here(k1, k2)).sum();
        within("variance at the centre", &centre.iter().map(|c| c * c).collect::<Vec<_>>(), here);
    }

    #[test]
    fn normal_numbers_have_the_moments_of_normal_numbers() {
        let mut normals = Normals::new(seed());
        let values: Vec<f64> = (0..20_000).map(|_| normals.next()).collect();
        let moment = |power| values.iter().map(|v| v.powi(power)).sum::<f64>() / 20_000.0;
        // Five standard deviations: the variances of v, v², v³ and v⁴ are 1, 2, 15 and 96.
        for (power, expected, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0_f64)] {
            let bound = 5.0 * (variance / 20_000.0).sqrt();
            assert!((moment(power) - expected).abs() < bound, "{power}: {}", moment(power));
        }
        let neighbours = values.windows(2).map(|v| v[0] * v[1]).sum::<f64>() / 20_000.0;
        assert!(neighbours.abs() < 5.0 / 20_000.0_f64.sqrt(), "{neighbours}");
    }

    #[test]
    fn samples_depend_on_seed_and_index() {
        let field = RandomField::new(9).unwrap();
        assert_eq!(field.sample(seed(), 1), RandomField::new(9).unwrap().sample(seed(), 1));
        assert_ne!(field.sample(seed(), 1), field.sample(seed(), 2));
        assert_ne!(field.sample(seed(), 1), field.sample(Seed::new(6), 1));
    }

    #[test]
    fn finer_grids_show_the_same_function() {
        let (coarse, fine) = (RandomField::new(61).unwrap(), RandomField::new(241).unwrap());
        let (coarse, fine) = (coarse.sample(seed(), 0), fine.sample(seed(), 0));
        let difference = |node: usize| coarse[node] - fine[node / 61 * 4 * 241 + node % 61 * 4];
        let worst = (0..61 * 61).map(|node| difference(node).abs()).fold(0.0, f64::max);
        assert!(worst < 0.02, "{worst}");
    }
}
