//! Where the values of a data set are.

use crate::domain::{Domain, PointCloud};
use serde::Serialize;

/// The distances of neighbours are measured in so many clouds.
const MEASURED: usize = 16;

/// Where values are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Place {
    /// A regular grid.
    Grid {
        /// Nodes along each axis.
        shape: Vec<usize>,
        /// The lower corner.
        lower: Vec<f64>,
        /// The upper corner.
        upper: Vec<f64>,
        /// The distance of neighbours along each axis.
        spacing: Vec<f64>,
    },
    /// Scattered points.
    Points {
        /// The number of space dimensions.
        dim: usize,
        /// How many different sets of points there are; 1: all samples share one.
        clouds: usize,
        /// The fewest points of a sample, the mean number and the most.
        points: (usize, f64, usize),
        /// The lower corner of the box around all points.
        lower: Vec<f64>,
        /// The upper corner of the box around all points.
        upper: Vec<f64>,
        /// The smallest, the median and the largest distance of a point to the nearest other one; of the first few clouds.
        spacing: Option<[f64; 3]>,
        /// Points that lie on another one, in these clouds.
        coinciding: usize,
        /// What the points of the first sample stand for in all, where that is given.
        weights: Option<f64>,
    },
}

impl Place {
    pub(super) fn of(domain: &Domain) -> Self {
        match domain {
            Domain::Grid(grid) => Self::Grid {
                shape: grid.shape().to_vec(),
                lower: grid.lower().to_vec(),
                upper: grid.upper().to_vec(),
                spacing: grid.spacing(),
            },
            Domain::Cloud(cloud) => Self::points(&[cloud], std::slice::from_ref(cloud)),
            Domain::Clouds(clouds) => {
                let each: Vec<&PointCloud> = (0..clouds.count()).map(|sample| clouds.cloud(sample)).collect();
                Self::points(&each, clouds.distinct())
            }
        }
    }

    fn points(each: &[&PointCloud], distinct: &[PointCloud]) -> Self {
        let (dim, first) = (each[0].dim(), each[0]);
        let lengths = || each.iter().map(|cloud| cloud.len());
        let mean = lengths().sum::<usize>() as f64 / each.len() as f64;
        let coordinate =
            |axis: usize| distinct.iter().flat_map(move |c| c.coordinates().iter().skip(axis).step_by(dim));
        let lower = (0..dim).map(|axis| coordinate(axis).copied().fold(f64::INFINITY, f64::min)).collect();
        let upper = (0..dim).map(|axis| coordinate(axis).copied().fold(f64::NEG_INFINITY, f64::max)).collect();
        let mut nearest: Vec<f64> = distinct.iter().take(MEASURED).flat_map(PointCloud::nearest_distances).collect();
        nearest.retain(|distance| distance.is_finite());
        nearest.sort_by(f64::total_cmp);
        Self::Points {
            dim,
            clouds: distinct.len(),
            points: (lengths().min().unwrap_or(0), mean, lengths().max().unwrap_or(0)),
            lower,
            upper,
            coinciding: nearest.iter().filter(|&&distance| distance == 0.0).count(),
            spacing: (!nearest.is_empty())
                .then(|| [nearest[0], nearest[nearest.len() / 2], nearest[nearest.len() - 1]]),
            weights: first.weights().map(|weights| weights.iter().sum()),
        }
    }
}
