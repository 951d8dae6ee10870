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

    /// The node whose value comes to node (i, j) of side x side.
    fn from(self, side: usize, i: usize, j: usize) -> usize {
        let i = if self.flips_first() { side - 1 - i } else { i };
        let j = if self.flips_second() { side - 1 - j } else { j };
        if self.transposes() { j * side + i } else { i * side + j }
    }

    fn moved(self, values: &[f64], side: usize) -> impl Iterator<Item = f64> {
        (0..side * side).map(move |node| values[self.from(side, node / side, node % side)])
    }
}

/// Refuses a domain that has no such symmetries.
pub fn check_square(domain: &Domain) -> Result<&Grid> {
    let (expected, hint) = ("data on a square grid for augment = \"square\"", "set augment = \"none\"");
    match domain {
        Domain::Grid(grid) if grid.dim() == 2 && grid.shape()[0] == grid.shape()[1] => Ok(grid),
        _ => Err(Error::invalid("train.augment", expected, "another domain", hint)),
    }
}

/// Each sample moved by its symmetry. `vectors` names the fields that are the two components of a vector: these are turned
/// as well as moved.
pub fn moved(samples: &Samples, symmetries: &[Symmetry], vectors: &[[String; 2]]) -> Result<Samples> {
    let side = check_square(samples.domain())?.shape()[0];
    let mut result = samples.map(samples.domain().clone(), |values| {
        let each = values.chunks_exact(side * side).zip(symmetries);
        each.flat_map(|(values, symmetry)| symmetry.moved(values, side)).collect()
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
