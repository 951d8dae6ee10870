//! Interpolation between grids.

use crate::domain::{Domain, Grid};
use crate::{Error, Result};

/// The values of a function on the nodes of one grid, nodes x components, interpolated to the nodes of another domain: by
/// cubic polynomials along each axis, also across the ends of a periodic one; beyond the grid the nearest value is
/// continued.
///
/// The error is of fourth order. That of linear interpolation is of second: it alone would be a percent of the solution
/// of Darcy flow between the nodes of a grid of 16 x 16.
pub fn resample(values: &[f64], from: &Domain, to: &Domain, components: usize) -> Result<Vec<f64>> {
    if from == to {
        return Ok(values.to_vec());
    }
    let Domain::Grid(grid) = from else {
        let expected = "statistics on a regular grid";
        let hint = "use the scalar normaliser, or predict at the training points";
        return Err(Error::invalid("interpolation to another domain", expected, "a point cloud", hint));
    };
    let at = |point: &[f64]| {
        let mut nodes = vec![(0, 1.0)];
        for (axis, &coordinate) in point.iter().enumerate() {
            let own = stencil(grid, axis, coordinate);
            let count = grid.shape()[axis];
            let with = |&(index, weight): &(usize, f64)| {
                own.iter().map(move |&(place, share)| (index * count + place, weight * share)).collect::<Vec<_>>()
            };
            nodes = nodes.iter().flat_map(with).collect();
        }
        let mut result = vec![0.0; components];
        for (index, weight) in nodes {
            let node = &values[index * components..(index + 1) * components];
            result.iter_mut().zip(node).for_each(|(result, value)| *result += weight * value);
        }
        result
    };
    Ok(to.coordinates().chunks_exact(grid.dim()).flat_map(at).collect())
}

/// The nodes of an axis around a coordinate, four where there are so many, and their shares: Lagrange's polynomials.
fn stencil(grid: &Grid, axis: usize, coordinate: f64) -> Vec<(usize, f64)> {
    let count = grid.shape()[axis] as isize;
    let position = (coordinate - grid.lower()[axis]) / grid.spacing()[axis];
    let is_periodic = grid.periodic_axes()[axis];
    let (position, first, length) = if is_periodic {
        let position = position.rem_euclid(count as f64);
        (position, position as isize - 1, 4)
    } else {
        let (position, length) = (position.clamp(0.0, (count - 1) as f64), count.min(4));
        (position, (position as isize - 1).clamp(0, count - length), length)
    };
    let nodes = first..first + length;
    let share = |node: isize| {
        let others = nodes.clone().filter(|&other| other != node);
        others.map(|other| (position - other as f64) / (node - other) as f64).product()
    };
    nodes.clone().map(|node| (node.rem_euclid(count) as usize, share(node))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(sides: &[usize]) -> Domain {
        Domain::Grid(Grid::unit(sides).unwrap())
    }

    fn on(domain: &Domain, f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        domain.coordinates().chunks(domain.dim()).map(f).collect()
    }

    fn difference(from: &Domain, to: &Domain, f: impl Fn(&[f64]) -> f64) -> f64 {
        let got = resample(&on(from, &f), from, to, 1).unwrap();
        got.iter().zip(on(to, f)).map(|(got, expected)| (got - expected).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn cubics_are_exact_and_fewer_nodes_take_what_they_can() {
        let cubic = |p: &[f64]| 1.0 + p[0].powi(3) - 3.0 * p[0] * p[1].powi(3) + p[1];
        assert!(difference(&square(&[4, 5]), &square(&[7, 11]), cubic) < 1e-12);
        let linear = |p: &[f64]| 1.0 + 2.0 * p[0] - 3.0 * p[1];
        assert!(difference(&square(&[2, 3]), &square(&[7, 4]), linear) < 1e-12);
        assert_eq!(resample(&[2.0], &square(&[1]), &square(&[3]), 1).unwrap(), [2.0; 3]);
    }

    #[test]
    fn the_order_is_four_also_across_the_ends_of_a_ring() {
        let wave = |p: &[f64]| (6.0 * p[0] + 1.0).sin();
        let errors = [16, 32].map(|cells| difference(&square(&[cells + 1]), &square(&[4 * cells + 1]), wave));
        assert!((3.7..4.3).contains(&(errors[0] / errors[1]).log2()), "{errors:?}");
        let ring = |nodes: usize| Domain::Grid(Grid::unit(&[nodes]).unwrap().periodic(&[true]).unwrap());
        let wave = |p: &[f64]| (std::f64::consts::TAU * p[0]).sin();
        let errors = [16, 32].map(|nodes| difference(&ring(nodes), &ring(4 * nodes), wave));
        assert!((3.7..4.3).contains(&(errors[0] / errors[1]).log2()), "{errors:?}");
    }
}
