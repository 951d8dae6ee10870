//! The eight symmetries of a square: what a mirrored or turned problem looks like.
//!
//! Where the equation does not prefer a direction, a mirrored input has the mirrored output, and each sample is worth eight.

use super::Samples;
use crate::domain::{Domain, Grid};
use crate::{Error, Result};

/// One of the eight symmetries, numbered 0 (nothing happens) to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symmetry(pub u8);

impl Symmetry {
    fn flips_first(self) -> bool {
        self.0 & 1 != 0
    }

    fn flips_second(self) -> bool {
        self.0 & 2 != 0
    }

    fn transposes(self) -> bool {
        self.0 & 4 != 0
    }

    /// The node whose value comes to node (i, j) of side x side. On a periodic grid, whose last node is not its end, the first is
    /// its own mirror image.
    fn from(self, side: usize, is_periodic: bool, i: usize, j: usize) -> usize {
        let mirrored = |i: usize| if is_periodic { (side - i) % side } else { side - 1 - i };
        let i = if self.flips_first() { mirrored(i) } else { i };
        let j = if self.flips_second() { mirrored(j) } else { j };
        if self.transposes() { j * side + i } else { i * side + j }
    }

    fn moved(self, values: &[f64], (side, is_periodic): (usize, bool), components: usize) -> Vec<f64> {
        let mut result = Vec::with_capacity(values.len());
        for node in 0..side * side {
            let from = self.from(side, is_periodic, node / side, node % side);
            let value = &values[from * components..(from + 1) * components];
            match value {
                &[first, second] => {
                    let (first, second) = if self.transposes() { (second, first) } else { (first, second) };
                    result.push(if self.flips_first() { -first } else { first });
                    result.push(if self.flips_second() { -second } else { second });
                }
                value => result.extend_from_slice(value),
            }
        }
        result
    }
}

/// Refuses a domain that has no such symmetries.
pub fn check_square(domain: &Domain) -> Result<&Grid> {
    let (expected, hint) = ("data on a square grid for augment = \"square\"", "set augment = \"none\"");
    match domain {
        Domain::Grid(grid)
            if grid.dim() == 2
                && grid.shape()[0] == grid.shape()[1]
                && grid.periodic_axes()[0] == grid.periodic_axes()[1] =>
        {
            Ok(grid)
        }
        _ => Err(Error::invalid("train.augment", expected, "another domain", hint)),
    }
}

/// Each sample moved by its symmetry. Fields with two components are vectors, and turned as well as moved; `vectors` names
/// pairs of scalar input fields that are the two components of one.
pub fn moved(samples: &Samples, symmetries: &[Symmetry], vectors: &[[String; 2]]) -> Result<Samples> {
    let square = check_square(samples.domain())?;
    let (side, is_periodic) = (square.shape()[0], square.periodic_axes()[0]);
    let mut result = samples.map(samples.domain().clone(), |values, components| {
        let each = values.chunks_exact(side * side * components).zip(symmetries);
        each.flat_map(|(values, symmetry)| symmetry.moved(values, (side, is_periodic), components)).collect()
    });
    for [first, second] in vectors {
        let (a, b) = (position(samples, first)?, position(samples, second)?);
        for (sample, symmetry) in symmetries.iter().enumerate() {
            let span = sample * side * side..(sample + 1) * side * side;
            if symmetry.transposes() {
                span.clone().for_each(|at| {
                    let first = result.fields[a].values[at];
                    result.fields[a].values[at] = std::mem::replace(&mut result.fields[b].values[at], first);
                });
            }
            for (place, flips) in [(a, symmetry.flips_first()), (b, symmetry.flips_second())] {
                if flips {
                    result.fields[place].values[span.clone()].iter_mut().for_each(|v| *v = -*v);
                }
            }
        }
    }
    Ok(result)
}

fn position(samples: &Samples, name: &str) -> Result<usize> {
    let names: Vec<&str> = samples.fields().iter().map(|field| field.name.as_str()).collect();
    let found = names.iter().position(|&own| own == name);
    let expected = || format!("names of the data's fields {names:?}");
    found.ok_or_else(|| Error::invalid("train.vectors", expected(), format!("{name:?}"), "name the two components"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Field, Values};

    /// A vector field turns like the pair of its components, as input and as output, and a gradient stays one.
    #[test]
    fn vectors_turn_with_their_field() {
        let side = 5;
        let grid = Grid::unit(&[side, side]).unwrap();
        let nodes: Vec<[f64; 2]> = grid.coordinates().chunks(2).map(|x| [x[0], x[1]]).collect();
        let p: Vec<f64> = nodes.iter().map(|[x, y]| x * x + 3.0 * x * y - y).collect();
        let gradient: Vec<f64> = nodes.iter().flat_map(|[x, y]| [2.0 * x + 3.0 * y, 3.0 * x - 1.0]).collect();
        let component = |c: usize| gradient.iter().skip(c).step_by(2).copied().collect::<Vec<f64>>();
        let samples = Samples::on(grid).input("p", p).unwrap();
        let samples = samples.input("x", component(0)).unwrap().input("y", component(1)).unwrap();
        let samples = samples.output("v", Values::vectors(2, gradient.clone())).unwrap();
        let pair = [["x".to_string(), "y".to_string()]];
        for symmetry in (0..8).map(Symmetry) {
            let moved = moved(&samples, &[symmetry], &pair).unwrap();
            let v = &moved.outputs()[0].values;
            let pairs: Vec<f64> = (0..side * side)
                .flat_map(|node| [moved.fields()[1].values[node], moved.fields()[2].values[node]])
                .collect();
            assert_eq!(v, &pairs, "{symmetry:?}");
            // The moved vector is the gradient of the moved function: central differences of a quadratic are exact.
            let p = &moved.fields()[0].values;
            let step = 1.0 / (side - 1) as f64;
            for (i, j) in (1..side - 1).flat_map(|i| (1..side - 1).map(move |j| (i, j))) {
                let at = |i: usize, j: usize| p[i * side + j];
                let d = [at(i + 1, j) - at(i - 1, j), at(i, j + 1) - at(i, j - 1)].map(|d| d / (2.0 * step));
                for c in 0..2 {
                    assert!((d[c] - v[2 * (i * side + j) + c]).abs() < 1e-12, "{symmetry:?} at {i}, {j}");
                }
            }
        }
    }

    /// On a torus the node at the corner is its own mirror image; a tube has no such symmetries.
    #[test]
    fn periodic_squares_turn_about_their_first_node() {
        let torus = Grid::unit(&[3, 3]).unwrap().periodic(&[true, true]).unwrap();
        let values: Vec<f64> = (0..9).map(f64::from).collect();
        let samples = Samples::on(torus.clone()).input("b", values.clone()).unwrap();
        let flipped = moved(&samples, &[Symmetry(2)], &[]).unwrap();
        assert_eq!(flipped.fields()[0].values, [0.0, 2.0, 1.0, 3.0, 5.0, 4.0, 6.0, 8.0, 7.0]);
        let tube = Samples::on(torus.periodic(&[true, false]).unwrap()).input("b", values).unwrap();
        assert!(moved(&tube, &[Symmetry(2)], &[]).unwrap_err().to_string().contains("square grid"));
    }

    /// Numbers that are no vector of the plane stay as they are.
    #[test]
    fn other_components_are_only_moved() {
        let values: Vec<f64> = (0..12).map(f64::from).collect();
        let samples = Samples::on(Grid::unit(&[2, 2]).unwrap()).input("c", Values::vectors(3, values)).unwrap();
        let Field { values, .. } = &moved(&samples, &[Symmetry(1)], &[]).unwrap().fields()[0].clone();
        assert_eq!(values[..], [6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }
}
