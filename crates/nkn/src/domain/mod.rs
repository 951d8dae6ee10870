//! Where functions live: nodes, who is whose neighbour, and how a neighbour is weighted.
//!
//! A [`Domain`] is a [`Grid`] or a [`PointCloud`]. [`connect`] turns it into a [`Neighbourhood`]: for every
//! node x the nodes y of its integral, with the weights w(x, y) of the [`Quadrature`], so that
//! the integral of k(x, y) h(y) over y becomes the sum of w(x, y) k(x, y) h(y).
//!
//! ```
//! use nkn::domain::{Domain, Extent, Grid, Quadrature, connect};
//!
//! let domain = Domain::Grid(Grid::unit(&[16, 16])?);
//! let ball = Extent::Ball { radius: 0.1, inclusive: false };
//! let neighbourhood = connect(&domain, &ball, Quadrature::Mean, None)?;
//! assert_eq!(neighbourhood.edges(), 2116);
//! # Ok::<(), nkn::Error>(())
//! ```

mod cloud;
mod clouds;
mod enclosure;
mod extent;
mod grid;
mod lattice;
mod neighbourhood;
mod overlap;
mod pixels;
mod policy;
mod quadrature;
mod scattered;
mod search;
mod voronoi;

pub use cloud::PointCloud;
pub use clouds::Clouds;
pub use enclosure::Enclosure;
pub use extent::Extent;
pub use grid::Grid;
pub use neighbourhood::{Neighbourhood, connect};
pub use pixels::connect_pixels;
pub use policy::Policy;
pub use quadrature::{Quadrature, TrainingRule};
pub use scattered::{Scattered, connect_points};
pub use voronoi::cell_measures;

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The nodes on which functions are sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// A uniform grid.
    Grid(Grid),
    /// Scattered points, the same for all samples.
    Cloud(PointCloud),
    /// Scattered points for every sample.
    Clouds(Clouds),
}

impl From<Grid> for Domain {
    fn from(grid: Grid) -> Self {
        Self::Grid(grid)
    }
}

impl From<PointCloud> for Domain {
    fn from(cloud: PointCloud) -> Self {
        Self::Cloud(cloud)
    }
}

impl From<Clouds> for Domain {
    /// Clouds that are all the same are one.
    fn from(clouds: Clouds) -> Self {
        match clouds.distinct() {
            [one] => Self::Cloud(one.clone()),
            _ => Self::Clouds(clouds),
        }
    }
}

impl Domain {
    /// The number of space dimensions, 1 to 3.
    pub fn dim(&self) -> usize {
        match self {
            Self::Grid(grid) => grid.dim(),
            Self::Cloud(cloud) => cloud.dim(),
            Self::Clouds(clouds) => clouds.distinct()[0].dim(),
        }
    }

    /// The number of nodes; of clouds that differ, those of all samples together.
    pub fn len(&self) -> usize {
        match self {
            Self::Grid(grid) => grid.len(),
            Self::Cloud(cloud) => cloud.len(),
            Self::Clouds(clouds) => clouds.total(),
        }
    }

    /// Nodes along the first axis of a grid, or the number of points, of clouds that differ the mean number.
    pub fn resolution(&self) -> usize {
        match self {
            Self::Grid(grid) => grid.shape()[0],
            Self::Cloud(cloud) => cloud.len(),
            Self::Clouds(clouds) => (clouds.total() as f64 / clouds.count() as f64).round() as usize,
        }
    }

    /// Always false: a domain without nodes cannot be made.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sample and the node within it of a value, by its place among the values of all samples.
    pub(crate) fn place(&self, mut at: usize) -> (usize, usize) {
        let Self::Clouds(clouds) = self else { return (at / self.len(), at % self.len()) };
        for sample in 0..clouds.count() {
            let length = clouds.cloud(sample).len();
            if at < length {
                return (sample, at);
            }
            at -= length;
        }
        (clouds.count(), at)
    }

    /// The coordinates of all nodes, node by node.
    pub fn coordinates(&self) -> Vec<f64> {
        match self {
            Self::Grid(grid) => grid.coordinates(),
            Self::Cloud(cloud) => cloud.coordinates().to_vec(),
            Self::Clouds(clouds) => (0..clouds.count()).flat_map(|i| clouds.cloud(i).coordinates().to_vec()).collect(),
        }
    }
}

/// Every algorithm of this module is written for up to three axes.
fn check_dim(what: &str, dim: usize) -> Result<()> {
    if (1..=3).contains(&dim) {
        return Ok(());
    }
    Err(Error::invalid(
        what,
        "1, 2 or 3 dimensions",
        dim,
        "further variables belong into the fields, not into the domain",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_answers_for_both_kinds() {
        let grid = Domain::Grid(Grid::unit(&[3]).unwrap());
        let cloud = Domain::Cloud(PointCloud::new(2, vec![0.5; 4], 1.0).unwrap());
        assert_eq!((grid.dim(), grid.len(), grid.is_empty()), (1, 3, false));
        assert_eq!((cloud.dim(), cloud.len(), cloud.is_empty()), (2, 2, false));
        assert_eq!(grid.coordinates(), [0.0, 0.5, 1.0]);
        assert_eq!(cloud.coordinates(), [0.5; 4]);
    }
}
