//! The flux v = -b grad u of Darcy flow: a problem with two output components.
//!
//! A flux rather than the gradient: through a jump of b the flux's normal component is continuous. Through the face between two
//! nodes it is the solver's own, minus the mean of b times the difference of u; a node has the mean of its two faces, and a node
//! on the boundary what its two nearest faces say along a line. All is second order in the spacing where b is smooth.

use crate::domain::{Domain, Grid};
use crate::error::ensure;
use crate::field::{Samples, Values};
use crate::parallel::Parallel;
use crate::{Error, Result};

/// The samples of [`super::generate`] or [`super::solve`] with a second output v, the flux -b grad u with its components along
/// the first and the second axis.
///
/// ```
/// use nkn::{problem::darcy, seed::Seed};
///
/// let samples = darcy::with_flux(darcy::generate(Seed::new(0), 0, 2, 41, &|_| {})?)?;
/// assert_eq!((samples.outputs()[1].name.as_str(), samples.outputs()[1].components), ("v", 2));
/// # Ok::<(), nkn::Error>(())
/// ```
pub fn with_flux(samples: Samples) -> Result<Samples> {
    let side = match samples.domain() {
        Domain::Grid(grid) if *grid == Grid::unit(&[grid.shape()[0]; 2])? && grid.shape()[0] > 2 => grid.shape()[0],
        _ => {
            let hint = "the flux is computed from b and u on the grid of the solver";
            return Err(Error::invalid("samples", "a grid of the unit square, three nodes or more", "another", hint));
        }
    };
    let b = &samples.field("b")?.values;
    let u = &samples.outputs_named(&["u".into()])?[0].values;
    ensure!(b.len() == u.len(), Error::invalid("u", "one component", "several", "give the pressure"));
    let nodes = side * side;
    let both = b.chunks(nodes).zip(u.chunks(nodes));
    let v: Vec<f64> = both.parallel().map(|(b, u)| flux(b, u, side)).concat();
    samples.output("v", Values::vectors(2, v))
}

/// The two components at each node.
fn flux(b: &[f64], u: &[f64], side: usize) -> Vec<f64> {
    let steps = (side - 1) as f64;
    // From a node, at this place along an axis, to the next along it.
    let face = |node: usize, next: usize| (b[node] + b[next]) / 2.0 * (u[node] - u[next]) * steps;
    let along = |node: usize, place: usize, step: usize| {
        if place == 0 {
            (3.0 * face(node, node + step) - face(node + step, node + 2 * step)) / 2.0
        } else if place + 1 == side {
            (3.0 * face(node - step, node) - face(node - 2 * step, node - step)) / 2.0
        } else {
            (face(node - step, node) + face(node, node + step)) / 2.0
        }
    };
    (0..side * side).flat_map(|node| [along(node, node / side, side), along(node, node % side, 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Symmetry, moved};
    use crate::problem::darcy::{generate, solve};
    use crate::seed::Seed;
    use std::f64::consts::PI;

    fn nodal<const N: usize>(side: usize, function: impl Fn(f64, f64) -> [f64; N]) -> Vec<f64> {
        let at = |i: usize| i as f64 / (side - 1) as f64;
        (0..side * side).flat_map(|node| function(at(node / side), at(node % side))).collect()
    }

    #[test]
    fn second_order_for_a_known_solution_up_to_the_boundary() {
        let b = |x: f64, y: f64| 1.0 + 0.5 * (3.0 * x).sin() * (2.0 * y).cos();
        let error = |side: usize| {
            let u = nodal(side, |x, y| [(PI * x).sin() * (2.0 * PI * y).sin()]);
            let exact = nodal(side, |x, y| {
                let slope = [(PI * x).cos() * (2.0 * PI * y).sin(), 2.0 * (PI * x).sin() * (2.0 * PI * y).cos()];
                slope.map(|slope| -b(x, y) * PI * slope)
            });
            let found = flux(&nodal(side, |x, y| [b(x, y)]), &u, side);
            found.iter().zip(&exact).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        let errors = [33, 65, 129, 257].map(error);
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((1.8..2.2).contains(&order), "{order}: {errors:?}");
        }
    }

    /// The equation says div v = 1: what leaves the square is its area, up to the boundary's half cells.
    #[test]
    fn what_is_produced_flows_out() {
        let side = 65;
        let samples = with_flux(generate(Seed::new(1), 0, 2, side, &|_| {}).unwrap()).unwrap();
        for v in samples.outputs()[1].values.chunks(2 * side * side) {
            let at = |i: usize, j: usize, component: usize| v[2 * (i * side + j) + component];
            let out: f64 = (0..side).map(|i| at(side - 1, i, 0) - at(0, i, 0) + at(i, side - 1, 1) - at(i, 0, 1)).sum();
            let out = out / (side - 1) as f64;
            assert!((out - 1.0).abs() < 0.05, "{out}");
        }
    }

    /// The moved problem has the moved and turned flux.
    #[test]
    fn the_flux_turns_with_the_square() {
        let samples = with_flux(generate(Seed::new(3), 0, 1, 21, &|_| {}).unwrap()).unwrap();
        let pair = [["b_eps_x".to_string(), "b_eps_y".to_string()]];
        for symmetry in (0..8).map(Symmetry) {
            let there = moved(&samples, &[symmetry], &pair).unwrap();
            let again = with_flux(solve(&there.field("b").unwrap().values, 21, &|_| {}).unwrap()).unwrap();
            for (a, b) in there.outputs()[1].values.iter().zip(&again.outputs()[1].values) {
                assert!((a - b).abs() < 1e-11, "{symmetry:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn other_samples_are_refused() {
        let coarse = crate::problem::poisson::generate(Seed::new(0), 0, 1, 9).unwrap();
        assert!(with_flux(coarse).unwrap_err().to_string().contains("unit square"));
        let samples = Samples::on(Grid::unit(&[5, 5]).unwrap()).input("b", vec![1.0; 25]).unwrap();
        assert!(with_flux(samples).unwrap_err().to_string().contains("output of the data"));
    }
}
