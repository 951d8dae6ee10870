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

    fn moved(self, values: &[f64], side: usize, components: usize) -> Vec<f64> {
        let mut result = Vec::with_capacity(values.len());
        for node in 0..side * side {
            let from = self.from(side, node / side, node % side);
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
    match domain {
        Domain::Grid(grid) if grid.dim() == 2 && grid.shape()[0] == grid.shape()[1] => Ok(grid),
        _ => Err(Error::invalid(
            "train.augment",
            "data on a square grid for augment = \"square\"",
            "another domain",
            "set augment = \"none\"",
        )),
    }
}

/// Each sample moved by its symmetry. Fields with two components are vectors, and turned as well as moved; `vectors` names
/// pairs of scalar input fields that are the two components of one.
pub fn moved(samples: &Samples, symmetries: &[Symmetry], vectors: &[[String; 2]]) -> Result<Samples> {
    let side = check_square(samples.domain())?.shape()[0];
    let mut result = samples.map(samples.domain().clone(), |values, components| {
        let each = values.chunks_exact(side * side * components).zip(symmetries);
        each.flat_map(|(values, symmetry)| symmetry.moved(values, side, components)).collect()
    });
    for [first, second] in vectors {
        let (a, b) = (position(samples, first)?, position(samples, second)?);
        for (sample, symmetry) in symmetries.iter().enumerate() {
            let span = sample * side * side..(sample + 1) * side * side;
            if symmetry.transposes() {
                let old = result.fields[a].values[span.clone()].to_vec();
                let other = result.fields[b].values[span.clone()].to_vec();
                result.fields[a].values[span.clone()].copy_from_slice(&other);
                result.fields[b].values[span.clone()].copy_from_slice(&old);
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
