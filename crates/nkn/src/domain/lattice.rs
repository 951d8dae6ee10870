//! Neighbours on a grid, by index offsets: which displacements are in the ball is decided once for all nodes.

use super::{Grid, TrainingRule};
use crate::error::ensure;
use crate::{Error, Result};
use std::array::from_fn;

/// The displacements along a grid that a rule may use: every node, or one in `stride` nodes per axis.
///
/// Missing axes are added in front, with one node each, so that all loops have three levels.
pub(super) struct Lattice {
    pub(super) dim: usize,
    pub(super) shape: [usize; 3],
    spacing: [f64; 3],
    stride: [usize; 3],
    periodic: [bool; 3],
}

/// How often a displacement may lead around a periodic axis to the same node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Images {
    /// A node is met once, the short way round.
    Nearest,
    /// Every image of a node that is less than a period away.
    All,
}

impl Lattice {
    /// All nodes of a grid.
    pub(super) fn new(grid: &Grid) -> Self {
        let missing = 3 - grid.dim();
        let spacing = grid.spacing();
        Self {
            dim: grid.dim(),
            shape: from_fn(|axis| if axis < missing { 1 } else { grid.shape()[axis - missing] }),
            spacing: from_fn(|axis| if axis < missing { 1.0 } else { spacing[axis - missing] }),
            stride: [1; 3],
            periodic: from_fn(|axis| axis >= missing && grid.periodic_axes()[axis - missing]),
        }
    }

    /// Only displacements of the training grid, which must be displacements of this grid too.
    pub(super) fn of_training(grid: &Grid, training: &TrainingRule) -> Result<Self> {
        let mut lattice = Self::new(grid);
        let (dim, given) = (grid.dim(), training.spacing.len());
        let expected = format!("{dim} numbers, one per axis of the grid");
        let hint = "a model works in the dimension in which it was trained";
        ensure!(given == dim, Error::invalid("training spacing", expected, format!("{given} numbers"), hint));
        for (axis, (&coarse, fine)) in training.spacing.iter().zip(grid.spacing()).enumerate() {
            let ratio = coarse / fine;
            let stride = ratio.round();
            let what = format!("quadrature `stencil`, axis {axis}");
            let got = format!("spacing {fine} for training spacing {coarse} (ratio {ratio})");
            let hint = "choose a grid that contains the training grid's displacements, or the quadrature `overlap`";
            // Written so that a NaN is refused.
            ensure!(
                stride >= 1.0 && (ratio - stride).abs() <= 1e-9 * stride,
                Error::invalid(what, "a grid whose spacing divides the training spacing", got, hint)
            );
            lattice.stride[3 - grid.dim() + axis] = stride as usize;
        }
        Ok(lattice)
    }

    /// The distance between neighbouring displacements along each axis.
    pub(super) fn steps(&self) -> [f64; 3] {
        from_fn(|axis| self.stride[axis] as f64 * self.spacing[axis])
    }

    /// The displacements that `keep` accepts, in the order of the nodes; along no axis longer than `reach` and a step.
    pub(super) fn offsets(&self, reach: f64, images: Images, keep: impl Fn([f64; 3]) -> bool) -> Vec<[isize; 3]> {
        let steps = self.steps();
        let range = |axis: usize| {
            let (nodes, stride) = (self.shape[axis], self.stride[axis]);
            let around = (nodes / stride).max(1);
            let [back, forth] = match (self.periodic[axis], images) {
                (false, _) => [(nodes - 1) / stride; 2],
                (true, Images::Nearest) => [(around - 1) / 2, around / 2],
                (true, Images::All) => [around; 2],
            };
            let within = |inside: usize| (reach / steps[axis] + 1.0).min(inside as f64) as isize;
            -within(back)..=within(forth)
        };
        let mut offsets = Vec::new();
        for x in range(0) {
            for y in range(1) {
                for z in range(2) {
                    let offset = [x, y, z];
                    if keep(from_fn(|axis| offset[axis] as f64 * steps[axis])) {
                        offsets.push(offset);
                    }
                }
            }
        }
        offsets
    }

    /// Where a node is, per axis.
    pub(super) fn position(&self, node: usize) -> [usize; 3] {
        let [_, y, z] = self.shape;
        [node / (y * z), node / z % y, node % z]
    }

    /// The number of the node at a position.
    pub(super) fn node(&self, [x, y, z]: [usize; 3]) -> u32 {
        ((x * self.shape[1] + y) * self.shape[2] + z) as u32
    }

    /// Where a displacement leads, if it stays in the domain.
    pub(super) fn moved(&self, from: [usize; 3], offset: [isize; 3]) -> Option<[usize; 3]> {
        let mut to = from;
        for axis in 0..3 {
            let step = offset[axis] * self.stride[axis] as isize;
            if self.periodic[axis] {
                to[axis] = (from[axis] as isize + step).rem_euclid(self.shape[axis] as isize) as usize;
                continue;
            }
            to[axis] = from[axis].checked_add_signed(step)?;
            if to[axis] >= self.shape[axis] {
                return None;
            }
        }
        Some(to)
    }

    /// The nodes at these displacements from a node, in ascending order.
    pub(super) fn sources(&self, node: usize, offsets: &[[isize; 3]]) -> Vec<u32> {
        let from = self.position(node);
        let moved = offsets.iter().filter_map(|&offset| self.moved(from, offset));
        let mut sources: Vec<u32> = moved.map(|position| self.node(position)).collect();
        // Around a periodic axis the order of the displacements is not that of the nodes.
        sources.sort_unstable();
        sources
    }

    /// How far a node's cell reaches below and above it, in half spacings of the grid: the domain's boundary ends it.
    ///
    /// Whole numbers, so that cells that look the same are the same.
    pub(super) fn reach(&self, axis: usize, position: usize) -> [usize; 2] {
        let room = match self.shape[axis] {
            _ if self.periodic[axis] => [self.stride[axis]; 2],
            1 => [1, 1],
            nodes => [2 * position, 2 * (nodes - 1 - position)],
        };
        room.map(|room| room.min(self.stride[axis]))
    }

    /// The cell at a displacement along an axis, seen from the target, for a given [`Self::reach`].
    pub(super) fn cell(&self, axis: usize, offset: isize, [below, above]: [usize; 2]) -> [f64; 2] {
        let centre = 2 * offset * self.stride[axis] as isize;
        [centre - below as isize, centre + above as isize]
            .map(|half_spacings| half_spacings as f64 * 0.5 * self.spacing[axis])
    }

    /// The trapezoidal weight of every node: the measure of its cell.
    pub(super) fn cell_measures(&self) -> Vec<f64> {
        let width = |axis, position| {
            let [below, above] = self.reach(axis, position);
            (below + above) as f64 * 0.5 * self.spacing[axis]
        };
        (0..self.shape.iter().product())
            .map(|node| {
                let position = self.position(node);
                (0..3).map(|axis| width(axis, position[axis])).product()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Quadrature;

    fn rule(spacing: &[f64]) -> TrainingRule {
        TrainingRule { spacing: spacing.to_vec(), quadrature: Quadrature::Mean }
    }

    #[test]
    fn nodes_and_positions_are_inverse() {
        let lattice = Lattice::new(&Grid::unit(&[2, 3, 4]).unwrap());
        for node in 0..24 {
            assert_eq!(lattice.node(lattice.position(node)) as usize, node);
        }
        assert_eq!(lattice.position(23), [1, 2, 3]);
    }

    #[test]
    fn coarse_cells_end_at_the_boundary() {
        let grid = Grid::unit(&[9]).unwrap();
        let lattice = Lattice::of_training(&grid, &rule(&[0.5])).unwrap();
        assert_eq!(lattice.reach(2, 1), [2, 4]);
        assert_eq!(lattice.cell(2, 1, [2, 4]), [0.375, 0.75]);
        assert_eq!(lattice.sources(1, &[[0, 0, -1], [0, 0, 0], [0, 0, 1], [0, 0, 2]]), [1, 5]);
    }

    #[test]
    fn a_spacing_that_does_not_divide_is_refused() {
        let grid = Grid::unit(&[21, 31]).unwrap();
        let message = |spacing: &[f64]| {
            let result = Lattice::of_training(&grid, &rule(spacing));
            result.err().unwrap().to_string()
        };
        assert!(message(&[0.1]).contains("2 numbers, one per axis"));
        let text = message(&[0.1, 0.05]);
        assert!(text.contains("axis 1") && text.contains("ratio 1.5"), "{text}");
        for wrong in [0.0, -0.1, f64::NAN, f64::INFINITY, 0.02] {
            assert!(message(&[wrong, 0.1]).contains("axis 0"));
        }
    }
}
