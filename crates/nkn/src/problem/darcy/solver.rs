//! -div(b grad u) = f on the unit square, u = 0 on its boundary, by the second-order five-point flux scheme.
//!
//! The flux through the face between two neighbouring nodes is the difference of u times the arithmetic mean of the
//! two nodal values of b, as in the public code that made the paper's data. The matrix is an M-matrix for every positive b:
//! the discrete maximum principle holds, and Cholesky's factorisation exists.
//!
//! A direct solver: the coefficient jumps by a factor of four along wild curves, where a factorisation needs the same time as for
//! constant b and leaves nothing to tune. The ordering and the pattern of the factor depend on the grid alone and are
//! computed once. On 241 x 241 nodes, nested dissection was as fast as approximate minimum degree (35 and 38 ms
//! for a factorisation), so the latter, which needs no code here, is used.

use super::check_side;
use crate::error::ensure;
use crate::{Error, Result};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, SymbolicCholesky, SymmetricOrdering, factorize_symbolic_cholesky,
};
use faer::sparse::linalg::{SupernodalThreshold, SymbolicSupernodalParams};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par, Side};

/// When to treat neighbouring columns of the factor as one dense block (columns, zeros at most): measured, a quarter
/// faster than the default.
const MERGE: &[(usize, f64)] = &[(8, 1.0), (32, 0.5), (64, 0.2), (usize::MAX, 0.05)];

/// Solves on one grid for any coefficient and right-hand side, from any number of threads at once.
pub(super) struct FluxSolver {
    side: usize,
    /// Of the lower triangle; the unknowns are the interior nodes, row by row.
    pattern: SymbolicSparseColMat<usize>,
    symbolic: SymbolicCholesky<usize>,
}

impl FluxSolver {
    /// Prepares the factorisation on side x side nodes, boundary included.
    pub fn new(side: usize) -> Result<Self> {
        check_side(side)?;
        let interior = side - 2;
        let unknowns = interior * interior;
        let mut starts = vec![0];
        let mut rows = Vec::with_capacity(3 * unknowns);
        for unknown in 0..unknowns {
            rows.push(unknown);
            if unknown % interior + 1 < interior {
                rows.push(unknown + 1);
            }
            if unknown + interior < unknowns {
                rows.push(unknown + interior);
            }
            starts.push(rows.len());
        }
        let pattern = SymbolicSparseColMat::new_checked(unknowns, unknowns, starts, None, rows);
        let parameters = CholeskySymbolicParams {
            supernodal_flop_ratio_threshold: SupernodalThreshold::FORCE_SUPERNODAL,
            supernodal_params: SymbolicSupernodalParams { relax: Some(MERGE) },
            ..Default::default()
        };
        let symbolic =
            factorize_symbolic_cholesky(pattern.as_ref(), Side::Lower, SymmetricOrdering::Amd, parameters)
                .map_err(|_| Error::invalid("side", "a grid that fits into memory", side, "the paper uses 241"))?;
        Ok(Self { side, pattern, symbolic })
    }

    /// The solution at all nodes, zero on the boundary.
    ///
    /// The values at x = i / (side - 1), y = j / (side - 1) are at i side + j. Those of b on the
    /// boundary enter by half; those of f there do not matter.
    pub fn solve(&self, b: &[f64], f: &[f64]) -> Result<Vec<f64>> {
        self.check(b, f)?;
        let area = ((self.side - 1) as f64).powi(-2);
        let mut solution: Vec<f64> = self.interior().map(|node| area * f[node]).collect();
        self.solve_in_place(&self.matrix(b), &mut solution)?;

        let mut u = vec![0.0; b.len()];
        for (node, value) in self.interior().zip(solution) {
            let hint = "the ratio of the largest to the smallest b, or f, is too large for double precision";
            ensure!(value.is_finite(), Error::not_finite("u", value, self.place(node), hint));
            u[node] = value;
        }
        Ok(u)
    }

    /// The solution for f = 1, the paper's problem.
    pub fn solve_unit_load(&self, b: &[f64]) -> Result<Vec<f64>> {
        self.solve(b, &vec![1.0; self.side * self.side])
    }

    /// The nodes that are not on the boundary, row by row.
    fn interior(&self) -> impl Iterator<Item = usize> {
        let side = self.side;
        (1..side - 1).flat_map(move |i| i * side + 1..(i + 1) * side - 1)
    }

    /// The values of the lower triangle in the order of the pattern, times the area of a cell.
    fn matrix(&self, b: &[f64]) -> Vec<f64> {
        let side = self.side;
        let last = side - 2;
        let mut values = Vec::with_capacity(self.pattern.row_idx().len());
        for node in self.interior() {
            let face = |neighbour: usize| (b[node] + b[neighbour]) / 2.0;
            let (next, below) = (face(node + 1), face(node + side));
            values.push(face(node - 1) + next + face(node - side) + below);
            if node % side < last {
                values.push(-next);
            }
            if node / side < last {
                values.push(-below);
            }
        }
        values
    }

    fn solve_in_place(&self, matrix: &[f64], right: &mut [f64]) -> Result<()> {
        // Sequential: samples are what runs in parallel, and results do not depend on the number of threads.
        let parallel = Par::Seq;
        let scratch = StackReq::or(
            self.symbolic.factorize_numeric_llt_scratch::<f64>(parallel, Default::default()),
            self.symbolic.solve_in_place_scratch::<f64>(1, parallel),
        );
        let mut memory = MemBuffer::new(scratch);
        let stack = MemStack::new(&mut memory);
        let mut factor = vec![0.0; self.symbolic.len_val()];
        let matrix = SparseColMatRef::new(self.pattern.as_ref(), matrix);
        let (none, default) = (Default::default(), Default::default());
        let factorised =
            self.symbolic.factorize_numeric_llt(&mut factor, matrix, Side::Lower, none, parallel, stack, default);
        let factorised = factorised.map_err(|error| {
            let hint = "the ratio of the largest to the smallest b is too large for double precision";
            Error::invalid("b", "values whose matrix can be factorised", error, hint)
        })?;
        let rows = right.len();
        let right = MatMut::from_column_major_slice_mut(right, rows, 1);
        factorised.solve_in_place_with_conj(Conj::No, right, parallel, stack);
        Ok(())
    }

    fn check(&self, b: &[f64], f: &[f64]) -> Result<()> {
        for (name, values) in [("b", b), ("f", f)] {
            let nodes = self.side * self.side;
            if values.len() != nodes {
                let expected = format!("{nodes} values, one for each node of {0} x {0}", self.side);
                let hint = "boundary nodes are included; a value per cell must be interpolated to the nodes first";
                return Err(Error::invalid(name, expected, values.len(), hint));
            }
            if let Some(node) = values.iter().position(|value| !value.is_finite()) {
                return Err(Error::not_finite(
                    name,
                    values[node],
                    self.place(node),
                    "look for a bad value in the data",
                ));
            }
        }
        match b.iter().position(|&value| value <= 0.0) {
            Some(node) => {
                let got = format!("{} {}", b[node], self.place(node));
                Err(Error::invalid("b", "positive values", got, "the equation is elliptic for positive b alone"))
            }
            None => Ok(()),
        }
    }

    /// A node in words.
    fn place(&self, node: usize) -> String {
        format!("at node ({}, {})", node / self.side, node % self.side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::PI;

    fn nodal(side: usize, function: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let at = |i: usize| i as f64 / (side - 1) as f64;
        (0..side * side).map(|node| function(at(node / side), at(node % side))).collect()
    }

    fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn second_order_for_smooth_coefficients() {
        let u = |x: f64, y: f64| (PI * x).sin() * (2.0 * PI * y).sin();
        let b = |x: f64, y: f64| 1.0 + 0.5 * (3.0 * x).sin() * (2.0 * y).cos();
        // -div(b grad u) = 5 pi² b u - grad b . grad u
        let f = |x: f64, y: f64| {
            let (u_x, u_y) =
                (PI * (PI * x).cos() * (2.0 * PI * y).sin(), 2.0 * PI * (PI * x).sin() * (2.0 * PI * y).cos());
            let (b_x, b_y) = (1.5 * (3.0 * x).cos() * (2.0 * y).cos(), -(3.0 * x).sin() * (2.0 * y).sin());
            5.0 * PI * PI * b(x, y) * u(x, y) - b_x * u_x - b_y * u_y
        };
        let error = |side: usize| {
            let solved = FluxSolver::new(side).unwrap().solve(&nodal(side, b), &nodal(side, f)).unwrap();
            largest_difference(&solved, &nodal(side, u))
        };
        let errors = [17, 33, 65, 129].map(error);
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((1.9..2.1).contains(&order), "{order}: {errors:?}");
        }
    }

    #[test]
    fn constant_coefficients_give_the_series_solution() {
        let (side, coefficient) = (121, 3.0);
        // b u = x (1 - x) / 2 - sum over odd m of 4 / (pi m)³ sin(pi m x) cosh(pi m (y - 1/2)) / cosh(pi m / 2)
        let odd = || (1..400).step_by(2).map(|m| PI * m as f64);
        let sines = nodal_1d(side, |x| odd().map(|m| 4.0 / m.powi(3) * (m * x).sin()).collect());
        let decay = nodal_1d(side, |y| odd().map(|m| (m * (y - 0.5)).cosh() / (m / 2.0).cosh()).collect());
        let exact = |node: usize| {
            let (i, j) = (node / side, node % side);
            let x = i as f64 / (side - 1) as f64;
            let sum: f64 = sines[i].iter().zip(&decay[j]).map(|(s, d)| s * d).sum();
            (x * (1.0 - x) / 2.0 - sum) / coefficient
        };
        let exact: Vec<f64> = (0..side * side).map(exact).collect();
        let u = FluxSolver::new(side).unwrap().solve_unit_load(&vec![coefficient; side * side]).unwrap();
        let centre = side * side / 2;
        assert!((exact[centre] * coefficient - 0.073_671_35).abs() < 1e-7, "{}", exact[centre]);
        assert!((u[centre] / exact[centre] - 1.0).abs() < 1e-4, "{} {}", u[centre], exact[centre]);
        assert!(largest_difference(&u, &exact) < 1e-4 * exact[centre]);
    }

    fn nodal_1d(side: usize, function: impl Fn(f64) -> Vec<f64>) -> Vec<Vec<f64>> {
        (0..side).map(|i| function(i as f64 / (side - 1) as f64)).collect()
    }

    #[test]
    fn one_unknown_by_hand() {
        // b is 1 but for 3 at the centre and 5 below it: the faces are 2, 2, 2 and 4, the cell has the area 1/4.
        let mut b = [1.0; 9];
        (b[4], b[7]) = (3.0, 5.0);
        let u = FluxSolver::new(3).unwrap().solve(&b, &[7.0; 9]).unwrap();
        let expected = [0.0, 0.0, 0.0, 0.0, 7.0 / 4.0 / 10.0, 0.0, 0.0, 0.0, 0.0];
        assert!(largest_difference(&u, &expected) < 1e-15, "{u:?}");
    }

    /// A side and that many squared coefficients, of two values or any.
    fn coefficients() -> impl Strategy<Value = (usize, Vec<f64>)> {
        let two = prop_oneof![Just(3.0), Just(12.0)];
        let any = (-3.0..3.0).prop_map(|power: f64| 10.0_f64.powf(power));
        (3_usize..20).prop_flat_map(move |side| {
            let nodes = side * side;
            let values =
                prop_oneof![prop::collection::vec(two.clone(), nodes), prop::collection::vec(any.clone(), nodes)];
            (Just(side), values)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn maximum_principle_and_symmetries((side, b) in coefficients(), factor in 0.01..100.0) {
            let solver = FluxSolver::new(side).unwrap();
            let u = solver.solve_unit_load(&b).unwrap();
            let largest = u.iter().copied().fold(0.0, f64::max);
            for (node, &value) in u.iter().enumerate() {
                let inside = |i: usize| i > 0 && i + 1 < side;
                if inside(node / side) && inside(node % side) {
                    prop_assert!(value > 0.0, "{node}: {value}");
                } else {
                    prop_assert_eq!(value, 0.0);
                }
            }

            // Both mirror images and the transpose of b give those of u.
            let moves: [&dyn Fn(usize, usize) -> usize; 3] = [
                &|i, j| (side - 1 - i) * side + j,
                &|i, j| i * side + side - 1 - j,
                &|i, j| j * side + i,
            ];
            for image in moves {
                let moved = |values: &[f64]| -> Vec<f64> {
                    (0..side * side).map(|node| values[image(node / side, node % side)]).collect()
                };
                let solved = solver.solve_unit_load(&moved(&b)).unwrap();
                prop_assert!(largest_difference(&solved, &moved(&u)) < 1e-10 * largest);
            }

            let scaled: Vec<f64> = b.iter().map(|b| factor * b).collect();
            let scaled: Vec<f64> = solver.solve_unit_load(&scaled).unwrap().iter().map(|u| factor * u).collect();
            prop_assert!(largest_difference(&scaled, &u) < 1e-10 * largest);
            let doubled: Vec<f64> = u.iter().map(|u| 2.0 * u).collect();
            prop_assert!(largest_difference(&solver.solve(&b, &vec![2.0; side * side]).unwrap(), &doubled) < 1e-10 * largest);
        }
    }

    #[test]
    fn the_inverse_is_symmetric() {
        // The response at q to a source at p is that at p to a source at q.
        let side = 20;
        let solver = FluxSolver::new(side).unwrap();
        let b = nodal(side, |x, y| 1.0 + (7.0 * x * y).sin().abs());
        let response = |source: usize, at: usize| {
            let mut f = vec![0.0; side * side];
            f[source] = 1.0;
            solver.solve(&b, &f).unwrap()[at]
        };
        let (p, q) = (5 * side + 3, 11 * side + 16);
        assert!((response(p, q) / response(q, p) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn threads_share_a_solver() {
        let side = 40;
        let solver = FluxSolver::new(side).unwrap();
        let b: Vec<_> = (1..5).map(|k| nodal(side, |x, y| 1.0 + x + y * k as f64)).collect();
        let alone: Vec<_> = b.iter().map(|b| solver.solve_unit_load(b).unwrap()).collect();
        let together: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = b.iter().map(|b| scope.spawn(|| solver.solve_unit_load(b).unwrap())).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(alone, together);
    }

    #[test]
    fn bad_arguments_are_named() {
        let message = |result: Result<Vec<f64>>| result.unwrap_err().to_string();
        for side in [0, 1, 2] {
            assert!(FluxSolver::new(side).err().unwrap().to_string().contains("side: expected at least 3"));
        }
        let solver = FluxSolver::new(4).unwrap();
        let good = [1.0; 16];
        let text = message(solver.solve(&good[1..], &good));
        assert!(text.contains("b: expected 16 values, one for each node of 4 x 4, got 15"), "{text}");
        let text = message(solver.solve(&good, &[1.0; 4]));
        assert!(text.contains("f: expected 16 values"), "{text}");
        for bad in [0.0, -0.0, -2.0] {
            let mut b = good;
            b[6] = bad;
            let text = message(solver.solve_unit_load(&b));
            assert!(text.contains(&format!("b: expected positive values, got {bad} at node (1, 2)")), "{text}");
        }
        for bad in [f64::NAN, f64::INFINITY] {
            let mut values = good;
            values[15] = bad;
            let text = message(solver.solve_unit_load(&values));
            assert!(text.contains(&format!("b is not finite ({bad}) at node (3, 3)")), "{text}");
            let text = message(solver.solve(&good, &values));
            assert!(text.contains(&format!("f is not finite ({bad}) at node (3, 3)")), "{text}");
        }
        // Finite, but the sums are not.
        assert!(message(solver.solve_unit_load(&[f64::MAX; 16])).contains("double precision"));
        assert!(message(solver.solve(&[1e-300; 16], &[1e300; 16])).contains("double precision"));
    }
}
