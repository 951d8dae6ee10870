//! The rules that turn an integral over y into a weighted sum over nodes.

use super::{Domain, Extent, lattice::Lattice};
use crate::{Error, Result};
use serde::de::{IntoDeserializer, value};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// How a neighbour is weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quadrature {
    /// Chosen by the domain: see [`Quadrature::chosen_for`].
    Automatic,
    /// The measure of the source's cell: on a grid the product of the axes' trapezoidal weights, on scattered points the
    /// measure that is given or that of the Voronoi cell.
    Trapezoid,
    /// One over the number of neighbours, the node itself counted: the rule of the paper's numbers.
    Mean,
    /// The volume of a cell; on a cloud the domain's measure over the number of points.
    Uniform,
    /// The share of the ball, as far as it is in the domain, that lies in the source's cell. A cell counts even if
    /// its node is outside the ball. With a radius or a number of neighbours only. The weights at a node sum to 1, and on
    /// grids the error falls with the square of the spacing, at the boundary too.
    Overlap,
    /// Only displacements of the training grid, weighted as in training. Grids with a radius only.
    Stencil,
}

/// The rule a model was trained with, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingRule {
    /// The training grid's spacing along each axis.
    pub spacing: Vec<f64>,
    /// The rule used in training.
    pub quadrature: Quadrature,
}

impl Quadrature {
    /// The rule itself, or, where it is automatic, the one that suits the domain: `overlap` within a radius or among so many
    /// neighbours (in space, where sharing a cell among balls is dear, of up to 10,000 points only), else the trapezoidal rule.
    pub fn chosen_for(self, domain: &Domain, extent: &Extent) -> Self {
        match (self, domain, extent) {
            (Self::Automatic, _, Extent::All) => Self::Trapezoid,
            (Self::Automatic, Domain::Cloud(_) | Domain::Clouds(_), _)
                if domain.dim() == 3 && domain.resolution() > 10_000 =>
            {
                Self::Trapezoid
            }
            (Self::Automatic, ..) => Self::Overlap,
            (rule, ..) => rule,
        }
    }
}

/// The name in configuration files.
impl fmt::Display for Quadrature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

impl FromStr for Quadrature {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let hint = "`mean` is the paper's rule; `overlap` does not change when the resolution does";
        Self::deserialize(text.into_deserializer())
            .map_err(|error: value::Error| Error::invalid("quadrature", "the name of a rule", error, hint))
    }
}

/// A rule whose weights need no geometry beyond the list of sources.
pub(super) enum NodeRule {
    /// One over the number of sources.
    Mean,
    /// The same weight for all.
    Constant(f64),
    /// A weight per source node.
    PerSource(Vec<f64>),
}

impl NodeRule {
    /// The rule on the nodes of a grid.
    pub(super) fn on_lattice(rule: Quadrature, lattice: &Lattice) -> Result<Self> {
        match rule {
            Quadrature::Trapezoid => Ok(Self::PerSource(lattice.cell_measures())),
            Quadrature::Mean => Ok(Self::Mean),
            Quadrature::Uniform => Ok(Self::Constant(lattice.steps().iter().product())),
            Quadrature::Overlap | Quadrature::Stencil | Quadrature::Automatic => {
                let expected = "trapezoid, mean or uniform for an integral over the whole domain";
                let hint = format!("`{rule}` divides a ball among nodes, and there is none: give a radius");
                Err(Error::invalid("quadrature", expected, format!("`{rule}`"), hint))
            }
        }
    }

    /// The sources with their weights.
    pub(super) fn weigh(&self, sources: Vec<u32>) -> Vec<(u32, f64)> {
        let mean = 1.0 / sources.len() as f64;
        let weight = |source: u32| match self {
            Self::Mean => mean,
            Self::Constant(weight) => *weight,
            Self::PerSource(weights) => weights[source as usize],
        };
        sources.into_iter().map(|node| (node, weight(node))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, Extent, Grid, PointCloud, connect};
    use proptest::prelude::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let names = ["automatic", "trapezoid", "mean", "uniform", "overlap", "stencil"];
        let message = "average".parse::<Quadrature>().unwrap_err().to_string();
        assert!(message.contains("unknown variant `average`"), "{message}");
        for name in names {
            assert_eq!(name.parse::<Quadrature>().unwrap().to_string(), name);
            assert!(message.contains(&format!("`{name}`")), "a misspelt name is answered with all names: {message}");
        }
    }

    #[test]
    fn rules_without_meaning_are_refused() {
        let grid = Domain::Grid(Grid::unit(&[3]).unwrap());
        let cloud = Domain::Cloud(PointCloud::new(1, vec![0.0, 1.0], 1.0).unwrap());
        let message = |domain, rule| {
            let result = connect(domain, &Extent::All, rule, None);
            result.unwrap_err().to_string()
        };
        for rule in [Quadrature::Overlap, Quadrature::Stencil] {
            assert!(message(&grid, rule).contains("there is none: give a radius"));
            assert!(message(&cloud, rule).contains("overlap within a radius"));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn the_trapezoid_rule_is_exact_for_linear_functions(
            shape in prop::collection::vec(1usize..6, 1..=3),
            lower in -2.0f64..2.0,
            side in 0.1f64..3.0,
            slopes in prop::array::uniform3(-1.0f64..1.0),
        ) {
            let dim = shape.len();
            let volume = side.powi(dim as i32);
            let grid = Grid::new(shape, vec![lower; dim], vec![lower + side; dim]).unwrap();
            let linear = |point: &[f64]| {
                1.0 + point.iter().zip(slopes).map(|(x, slope)| x * slope).sum::<f64>()
            };
            let exact = volume * linear(&vec![lower + side / 2.0; dim]);
            let domain = Domain::Grid(grid.clone());
            let all = connect(&domain, &Extent::All, Quadrature::Trapezoid, None).unwrap();
            prop_assert_eq!(all.edges(), grid.len().pow(2));
            for node in 0..grid.len() {
                let weights: f64 = all.row(node).map(|(_, weight)| weight).sum();
                let integral: f64 =
                    all.row(node).map(|(source, weight)| weight * linear(&grid.point(source))).sum();
                prop_assert!((weights - volume).abs() < 1e-12 * volume);
                prop_assert!((integral - exact).abs() < 1e-12 * (volume + exact.abs()) * 10.0);
            }
        }

        #[test]
        fn mean_sums_to_one_and_uniform_is_the_cell(
            side in 2usize..8, radius in 1.0f64..2.5, spread in 0.01f64..1.0,
        ) {
            let grid = Domain::Grid(Grid::unit(&[side, side]).unwrap());
            let points = (0..60).map(|k| (f64::from(k) * 0.618 * spread).fract()).collect();
            let cloud = Domain::Cloud(PointCloud::new(2, points, 3.0).unwrap());
            let spacing = 1.0 / (side - 1) as f64;
            let ball = Extent::Ball { radius: 1.01 * radius * spacing, inclusive: false };
            for (domain, cell) in [(&grid, spacing * spacing), (&cloud, 0.1)] {
                let mean = connect(domain, &ball, Quadrature::Mean, None).unwrap();
                let uniform = connect(domain, &ball, Quadrature::Uniform, None).unwrap();
                for node in 0..domain.len() {
                    let total: f64 = mean.row(node).map(|(_, weight)| weight).sum();
                    prop_assert!((total - 1.0).abs() < 1e-12);
                    prop_assert!(uniform.row(node).all(|(_, weight)| (weight - cell).abs() < 1e-15));
                }
            }
        }
    }
}
