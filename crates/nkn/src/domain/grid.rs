//! A uniform grid of nodes in a box, some of whose axes may be periodic.
//!
//! A periodic grid is a grid and not a cloud with a box: what needs a grid (Fourier layers, stencils, `coarsen`, pictures) stays
//! possible on it, and its neighbours are found by index offsets that wrap around ([`Lattice`]).

use super::{Enclosure, PointCloud, check_dim, lattice::Lattice};
use crate::error::ensure;
use crate::{Error, Result};
use serde::Serialize;

/// A uniform grid of nodes in a box, end points included.
///
/// A side with s nodes has the spacing (upper - lower) / (s - 1). A side with a single node has it in the middle,
/// and its spacing is the whole side, so that the node's cell is the box. Nodes are numbered row-major: the last
/// axis is the fastest.
///
/// Along a periodic axis the upper end is the lower one again and has no node: the spacing is (upper - lower) / s.
///
/// ```
/// use nkn::Grid;
/// let ring = Grid::unit(&[4])?.periodic(&[true])?;
/// assert_eq!(ring.coordinates(), [0.0, 0.25, 0.5, 0.75]);
/// # Ok::<(), nkn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grid {
    shape: Vec<usize>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    #[serde(skip_serializing_if = "nowhere")]
    periodic: Vec<bool>,
}

/// Whether no axis is periodic: as all grids once were.
fn nowhere(periodic: &[bool]) -> bool {
    periodic.iter().all(|is_periodic| !is_periodic)
}

#[expect(clippy::len_without_is_empty, reason = "a grid has nodes")]
impl Grid {
    /// The nodes as scattered points, each with the measure of its cell.
    pub fn to_cloud(&self) -> Result<PointCloud> {
        let weights = Lattice::new(self).cell_measures();
        let cloud = PointCloud::new(self.dim(), self.coordinates(), 1.0)?.with_weights(weights)?;
        match self.enclosure() {
            Some(enclosure) => cloud.within(enclosure),
            None => Ok(cloud),
        }
    }

    /// The grid with as many nodes in the same box, some of whose axes are periodic; an entry per axis.
    pub fn periodic(self, axes: &[bool]) -> Result<Self> {
        let expected = format!("{} entries, one per axis", self.dim());
        let hint = "give true or false for every axis, for instance [true, false]";
        ensure!(axes.len() == self.dim(), Error::invalid("periodic", expected, format!("{axes:?}"), hint));
        Ok(Self { periodic: axes.to_vec(), ..self })
    }

    /// Which axes are periodic.
    pub fn periodic_axes(&self) -> &[bool] {
        &self.periodic
    }

    /// The box with its periodic axes, if there are any.
    pub fn enclosure(&self) -> Option<Enclosure> {
        if nowhere(&self.periodic) {
            return None;
        }
        Enclosure::new(self.lower.clone(), self.upper.clone(), self.periodic.clone()).ok()
    }

    /// Steps of the spacing along a side: one less than nodes, or as many along a periodic one; at least one.
    pub(crate) fn steps(&self, axis: usize) -> usize {
        if self.periodic[axis] { self.shape[axis] } else { (self.shape[axis] - 1).max(1) }
    }

    /// A grid with `shape` nodes per axis in the box from `lower` to `upper`.
    pub fn new(shape: Vec<usize>, lower: Vec<f64>, upper: Vec<f64>) -> Result<Self> {
        check_dim("grid.shape", shape.len())?;
        let nodes = shape.iter().try_fold(1usize, |nodes, &side| nodes.checked_mul(side));
        let expected = "at least one node per side, and a number of nodes that fits the machine";
        let hint = "give the number of nodes along each axis, for instance [16, 16]";
        ensure!(
            nodes.is_some_and(|nodes| nodes > 0),
            Error::invalid("grid.shape", expected, format!("{shape:?}"), hint)
        );
        let dim = shape.len();
        for (name, corner) in [("grid.lower", &lower), ("grid.upper", &upper)] {
            let expected = format!("{dim} numbers, one per axis of the shape");
            let hint = "give shape, lower and upper the same length";
            ensure!(corner.len() == dim, Error::invalid(name, expected, format!("{} numbers", corner.len()), hint));
        }
        for (axis, (low, high)) in lower.iter().zip(&upper).enumerate() {
            let (name, got) = (format!("grid.upper, axis {axis}"), format!("the side from {low} to {high}"));
            let hint = "check lower and upper: they may be swapped, equal or not finite";
            let is_side = low < high && (high - low).is_finite();
            ensure!(is_side, Error::invalid(name, "a finite number above the lower end", got, hint));
        }
        let periodic = vec![false; dim];
        Ok(Self { shape, lower, upper, periodic })
    }

    /// A grid in the unit interval, square or cube.
    pub fn unit(shape: &[usize]) -> Result<Self> {
        let dim = shape.len();
        Self::new(shape.to_vec(), vec![0.0; dim], vec![1.0; dim])
    }

    /// The number of nodes along each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The box's lower corner.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The box's upper corner.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// The distance between nodes along each axis; the whole side where there is only one node.
    pub fn spacing(&self) -> Vec<f64> {
        (0..self.dim()).map(|axis| (self.upper[axis] - self.lower[axis]) / self.steps(axis) as f64).collect()
    }

    /// The number of space dimensions, 1 to 3.
    pub fn dim(&self) -> usize {
        self.shape.len()
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The coordinates of a node.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn point(&self, node: usize) -> Vec<f64> {
        assert!(node < self.len(), "node {node} of {}", self.len());
        let mut point = vec![0.0; self.dim()];
        let mut rest = node;
        for axis in (0..self.dim()).rev() {
            point[axis] = self.coordinate(axis, rest % self.shape[axis]);
            rest /= self.shape[axis];
        }
        point
    }

    /// The coordinates of all nodes, node by node.
    pub fn coordinates(&self) -> Vec<f64> {
        (0..self.len()).flat_map(|node| self.point(node)).collect()
    }

    /// The share of the side is formed first, because 1/15 and 2/30 are the same number:
    /// the nodes that nested grids have in common then agree to the last bit.
    fn coordinate(&self, axis: usize, position: usize) -> f64 {
        let share = match self.shape[axis] {
            1 if !self.periodic[axis] => 0.5,
            _ => position as f64 / self.steps(axis) as f64,
        };
        (1.0 - share) * self.lower[axis] + share * self.upper[axis]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_row_major_and_include_the_end_points() {
        let grid = Grid::new(vec![2, 3], vec![-1.0, 0.0], vec![1.0, 4.0]).unwrap();
        assert_eq!(grid.spacing(), [2.0, 2.0]);
        assert_eq!((grid.dim(), grid.len()), (2, 6));
        assert_eq!(grid.coordinates(), [-1.0, 0.0, -1.0, 2.0, -1.0, 4.0, 1.0, 0.0, 1.0, 2.0, 1.0, 4.0]);
        assert_eq!(grid.point(5), [1.0, 4.0]);
        assert_eq!((grid.shape(), grid.lower()), (&[2, 3][..], &[-1.0, 0.0][..]));
        assert_eq!(grid.upper(), [1.0, 4.0]);
    }

    #[test]
    fn nested_grids_share_their_nodes_exactly() {
        let (coarse, fine) = (Grid::unit(&[16]).unwrap(), Grid::unit(&[241]).unwrap());
        for node in 0..16 {
            assert_eq!(coarse.point(node), fine.point(16 * node));
        }
    }

    #[test]
    fn a_single_node_sits_in_the_middle_of_its_cell() {
        let grid = Grid::new(vec![1], vec![1.0], vec![4.0]).unwrap();
        assert_eq!((grid.spacing(), grid.coordinates()), (vec![3.0], vec![2.5]));
    }

    #[test]
    fn the_end_of_a_periodic_axis_is_its_beginning() {
        let grid = Grid::new(vec![4, 3], vec![0.0, 1.0], vec![2.0, 5.0]).unwrap().periodic(&[true, false]).unwrap();
        assert_eq!(grid.spacing(), [0.5, 2.0]);
        assert_eq!(grid.point(11), [1.5, 5.0]);
        let cloud = grid.to_cloud().unwrap();
        assert_eq!((cloud.measure(), cloud.enclosure().unwrap().periodic()), (8.0, &[true, false][..]));
        assert_eq!(cloud.weights().unwrap()[..3], [0.5, 1.0, 0.5]);
        assert_eq!((grid.clone().periodic(&[false; 2]).unwrap().enclosure(), grid.enclosure().is_some()), (None, true));
        let message = grid.periodic(&[true]).unwrap_err().to_string();
        assert!(message.contains("periodic: expected 2 entries"), "{message}");
    }

    #[test]
    fn wrong_grids_are_refused_with_a_reason() {
        let message = |shape: &[usize], lower: &[f64], upper: &[f64]| {
            Grid::new(shape.to_vec(), lower.to_vec(), upper.to_vec()).unwrap_err().to_string()
        };
        assert!(message(&[], &[], &[]).contains("1, 2 or 3 dimensions, got 0"));
        assert!(message(&[2; 4], &[0.0; 4], &[1.0; 4]).contains("got 4"));
        assert!(message(&[3, 0], &[0.0; 2], &[1.0; 2]).contains("at least one node"));
        assert!(message(&[usize::MAX, 2], &[0.0; 2], &[1.0; 2]).contains("fits the machine"));
        assert!(message(&[3], &[], &[1.0]).contains("grid.lower: expected 1 numbers"));
        assert!(message(&[3], &[0.0], &[1.0; 2]).contains("grid.upper: expected 1 numbers"));
        for (low, high) in [(1.0, 1.0), (1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            let text = message(&[3, 3], &[0.0, low], &[1.0, high]);
            assert!(text.contains("grid.upper, axis 1"), "{text}");
        }
    }
}
