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
mod reversible;
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

use crate::error::ensure;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The nodes on which functions are sampled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", try_from = "Unchecked")]
pub enum Domain {
    /// A uniform grid.
    Grid(Grid),
    /// Scattered points, the same for all samples.
    Cloud(PointCloud),
    /// Scattered points for every sample.
    Clouds(Clouds),
}

/// What a file says, before [`Grid::new`] or [`PointCloud::new`] has looked at it.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Unchecked {
    Grid {
        shape: Vec<usize>,
        lower: Vec<f64>,
        upper: Vec<f64>,
        #[serde(default)]
        periodic: Vec<bool>,
    },
    Cloud {
        dim: usize,
        coordinates: Vec<f64>,
        measure: f64,
        #[serde(default)]
        weights: Vec<f64>,
        #[serde(default)]
        enclosure: Option<Enclosure>,
    },
}

impl TryFrom<Unchecked> for Domain {
    type Error = Error;

    fn try_from(domain: Unchecked) -> Result<Self> {
        Ok(match domain {
            Unchecked::Grid { shape, lower, upper, periodic } => {
                let grid = Grid::new(shape, lower, upper)?;
                if periodic.is_empty() { grid.into() } else { grid.periodic(&periodic)?.into() }
            }
            Unchecked::Cloud { dim, coordinates, measure, weights, enclosure } => {
                let cloud = PointCloud::new(dim, coordinates, measure)?;
                let cloud = if weights.is_empty() { cloud } else { cloud.with_weights(weights)? };
                match enclosure {
                    Some(enclosure) => cloud.within(enclosure)?.into(),
                    None => cloud.into(),
                }
            }
        })
    }
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

#[expect(clippy::len_without_is_empty, reason = "a domain has nodes")]
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

    /// The box with its periodic axes: of a grid that has such axes, of a cloud wherever it is known.
    pub fn enclosure(&self) -> Option<Enclosure> {
        match self {
            Self::Grid(grid) => grid.enclosure(),
            Self::Cloud(cloud) => cloud.enclosure().cloned(),
            Self::Clouds(clouds) => {
                let first = clouds.distinct()[0].enclosure();
                let is_shared = clouds.distinct().iter().all(|cloud| cloud.enclosure() == first);
                first.filter(|_| is_shared).cloned()
            }
        }
    }

    /// Whether some axis is known to be periodic.
    pub fn is_periodic(&self) -> bool {
        self.enclosure().is_some_and(|enclosure| enclosure.periodic().contains(&true))
    }

    /// The same with these axes periodic, an entry per axis. Scattered points must have their box.
    pub fn periodic(self, axes: &[bool]) -> Result<Self> {
        let around = |cloud: &PointCloud| {
            let enclosure = cloud.enclosure().ok_or_else(|| {
                let hint = "store the corners of the box under the names `lower` and `upper`";
                Error::invalid("periodic", "points whose box is known", "points alone", hint)
            })?;
            let (lower, upper) = (enclosure.lower().to_vec(), enclosure.upper().to_vec());
            cloud.clone().within(Enclosure::new(lower, upper, axes.to_vec())?)
        };
        Ok(match self {
            Self::Grid(grid) => grid.periodic(axes)?.into(),
            Self::Cloud(cloud) => around(&cloud)?.into(),
            Self::Clouds(clouds) => {
                let each = (0..clouds.count()).map(|sample| around(clouds.cloud(sample)));
                Self::Clouds(Clouds::new(each.collect::<Result<_>>()?)?)
            }
        })
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
    let hint = "further variables belong into the fields, not into the domain";
    ensure!((1..=3).contains(&dim), Error::invalid(what, "1, 2 or 3 dimensions", dim, hint));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_answers_for_both_kinds() {
        let grid = Domain::Grid(Grid::unit(&[3]).unwrap());
        let cloud = Domain::Cloud(PointCloud::new(2, vec![0.5; 4], 1.0).unwrap());
        assert_eq!((grid.dim(), grid.len()), (1, 3));
        assert_eq!((cloud.dim(), cloud.len()), (2, 2));
        assert_eq!(grid.coordinates(), [0.0, 0.5, 1.0]);
        assert_eq!(cloud.coordinates(), [0.5; 4]);
    }

    #[test]
    fn a_file_says_a_domain_and_nothing_else() {
        let cloud = Domain::Cloud(PointCloud::new(2, vec![0.5, 0.1, 1e-300, -0.0], 1.5).unwrap());
        let grid = Grid::new(vec![2, 3], vec![-1.0, 0.1], vec![1.0, 0.3]).unwrap();
        let ring = grid.clone().periodic(&[false, true]).unwrap();
        assert!(!serde_json::to_string(&Domain::from(grid.clone())).unwrap().contains("periodic"));
        for domain in [Domain::Grid(grid), Domain::Grid(ring), cloud] {
            let text = serde_json::to_string(&domain).unwrap();
            assert_eq!(serde_json::from_str::<Domain>(&text).unwrap(), domain, "{text}");
        }
        for (text, reason) in [
            (r#"{"grid":{"shape":[0],"lower":[0.0],"upper":[1.0]}}"#, "at least one node"),
            (r#"{"grid":{"shape":[2],"lower":[1.0],"upper":[0.0]}}"#, "they may be swapped"),
            (r#"{"grid":{"shape":[2],"lower":[0.0]}}"#, "missing field"),
            (r#"{"grid":{"shape":[2],"lower":[0.0],"upper":[1.0],"periodic":[true,true]}}"#, "1 entries"),
            (r#"{"cloud":{"dim":2,"coordinates":[0.0],"measure":1.0}}"#, "2 numbers for each"),
            (r#"{"cloud":{"dim":1,"coordinates":[0.0],"measure":1.0,"radius":1.0}}"#, "unknown field"),
            (r#"{"mesh":{}}"#, "unknown variant"),
        ] {
            let message = serde_json::from_str::<Domain>(text).unwrap_err().to_string();
            assert!(message.contains(reason), "{text}: {message}");
        }
    }
}
