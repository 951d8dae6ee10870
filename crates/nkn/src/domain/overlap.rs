//! How a ball is divided among the cells of a grid, in closed form.

use super::lattice::{Images, Lattice};
use crate::parallel::Parallel;
use std::{array::from_fn, f64::consts::FRAC_PI_2, f64::consts::PI};

/// A cell with a smaller share of the ball than this is not a neighbour: it is rounding.
const NEGLIGIBLE: f64 = 1e-12;

/// The measure of the box between two corners within the unit ball around the origin, in one to three dimensions.
///
/// The box is written as a signed sum of boxes with one corner at the origin.
pub(super) fn ball_box_measure(sides: &[[f64; 2]]) -> f64 {
    let mut measure = 0.0;
    for corner in 0..1usize << sides.len() {
        let mut sign = 1.0;
        let mut reach = [0.0; 3];
        for (axis, side) in sides.iter().enumerate() {
            let upper = corner >> axis & 1;
            sign *= if upper == 1 { 1.0 } else { -1.0 } * side[upper].signum();
            reach[axis] = side[upper].abs().min(1.0);
        }
        let [x, y, z] = reach;
        measure += sign
            * match sides.len() {
                1 => x,
                2 => quadrant(x, y, 1.0),
                _ => octant(x, y, z),
            };
    }
    measure.max(0.0)
}

/// The area of [0, x] x [0, y] within a disk around the origin.
fn quadrant(x: f64, y: f64, radius: f64) -> f64 {
    let (x, y) = (x.min(radius), y.min(radius));
    if x * x + y * y <= radius * radius {
        return x * y;
    }
    let height = |t: f64| ((radius - t) * (radius + t)).max(0.0).sqrt();
    // The integral of the height from 0 to t.
    let below = |t: f64| 0.5 * (t * height(t) + radius * radius * t.atan2(height(t)));
    let corner = height(y);
    y * corner + below(x) - below(corner)
}

/// The volume of [0, x] x [0, y] x [0, z] within the unit ball, for x, y, z of at most 1.
///
/// By the divergence theorem, three times the volume is the sum over the faces of distance times area; the area of
/// the part of the sphere is an octant without the caps beyond the three faces.
fn octant(x: f64, y: f64, z: f64) -> f64 {
    if x * x + y * y + z * z <= 1.0 {
        return x * y * z;
    }
    let mut sphere = FRAC_PI_2;
    let mut flat = 0.0;
    for (a, b, c) in [(x, y, z), (y, z, x), (z, x, y)] {
        sphere += caps(a, b) - FRAC_PI_2 * (1.0 - a);
        flat += a * quadrant(b, c, (1.0 - a * a).sqrt());
    }
    (flat + sphere) / 3.0
}

/// The area of the unit sphere beyond both x and y, on one side of z = 0: the theorem of Gauss and Bonnet.
fn caps(x: f64, y: f64) -> f64 {
    let z = 1.0 - x * x - y * y;
    if z <= 0.0 {
        return 0.0;
    }
    let z = z.sqrt();
    PI - x * z.atan2(y) - y * z.atan2(x) - z.atan2(-x * y)
}

/// The measures of all cells that a ball can meet.
///
/// Cells differ by their offset and by what the boundary leaves of them, and by nothing else, so there are few: the
/// cost of the closed forms does not grow with the number of nodes.
pub(super) struct OverlapTable<'a> {
    lattice: &'a Lattice,
    offsets: Vec<[isize; 3]>,
    /// Per axis and position: which of the axis's kinds of cell is there.
    kinds: [Vec<usize>; 3],
    /// Per axis: how many kinds there are.
    counts: [usize; 3],
    /// By kind of cell, then by offset.
    measures: Vec<f64>,
}

impl<'a> OverlapTable<'a> {
    pub(super) fn new(lattice: &'a Lattice, radius: f64) -> Self {
        let steps = lattice.steps();
        let offsets = lattice.offsets(radius, Images::All, |displacement| {
            let gap = |axis: usize| (displacement[axis].abs() - 0.5 * steps[axis]).max(0.0);
            (0..3).map(|axis| gap(axis).powi(2)).sum::<f64>() < radius * radius
        });
        let mut reaches: [Vec<[usize; 2]>; 3] = Default::default();
        let kinds = from_fn(|axis| {
            let known = &mut reaches[axis];
            let mut kind = |position| {
                let reach = lattice.reach(axis, position);
                known.iter().position(|&other| other == reach).unwrap_or_else(|| {
                    known.push(reach);
                    known.len() - 1
                })
            };
            (0..lattice.shape[axis]).map(&mut kind).collect()
        });
        let counts = [reaches[0].len(), reaches[1].len(), reaches[2].len()];
        let measures = (0..counts.iter().product())
            .parallel()
            .map(|index: usize| -> Vec<f64> {
                let kind = [index / (counts[1] * counts[2]), index / counts[2] % counts[1], index % counts[2]];
                let reach: [[usize; 2]; 3] = from_fn(|axis| reaches[axis][kind[axis]]);
                let measure = |offset: &[isize; 3]| {
                    let sides: [[f64; 2]; 3] = from_fn(|axis| {
                        let cell = lattice.cell(axis, offset[axis], reach[axis]);
                        cell.map(|end| end / radius)
                    });
                    ball_box_measure(&sides[3 - lattice.dim..])
                };
                offsets.iter().map(measure).collect()
            })
            .concat();
        Self { lattice, offsets, kinds, counts, measures }
    }

    /// The neighbours of a node with their shares of its ball.
    ///
    /// The measures are divided by their sum, not by the ball's measure: the same up to rounding where the cells
    /// fill the domain, and still an average where they do not (a training lattice that misses the boundary).
    pub(super) fn row(&self, node: usize) -> Vec<(u32, f64)> {
        let from = self.lattice.position(node);
        let mut row = Vec::with_capacity(self.offsets.len());
        for (index, &offset) in self.offsets.iter().enumerate() {
            if let Some(at) = self.lattice.moved(from, offset) {
                let kind = (0..3).fold(0, |kind, axis| kind * self.counts[axis] + self.kinds[axis][at[axis]]);
                let measure = self.measures[kind * self.offsets.len() + index];
                row.push((self.lattice.node(at), measure));
            }
        }
        // Around a periodic axis the displacements are not in the order of the nodes, and several may lead to one.
        row.sort_by_key(|&(source, _)| source);
        row.dedup_by(|(next, part), (source, sum)| {
            let is_same = next == source;
            *sum += if is_same { *part } else { 0.0 };
            is_same
        });
        as_shares(node, row)
    }
}

/// The parts of a node's ball as shares of it, without those that are rounding.
pub(super) fn as_shares(node: usize, mut row: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    let total = |row: &[(u32, f64)]| row.iter().map(|(_, measure)| measure).sum::<f64>();
    let threshold = NEGLIGIBLE * total(&row);
    row.retain(|&(source, measure)| measure > threshold || source as usize == node);
    let total = total(&row);
    for (_, measure) in &mut row {
        *measure /= total;
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_balls_and_halves_have_their_known_measures() {
        for (dim, whole) in [(1, 2.0), (2, PI), (3, 4.0 / 3.0 * PI)] {
            let mut sides = vec![[-2.0, 5.0]; dim];
            assert!((ball_box_measure(&sides) - whole).abs() < 1e-14);
            sides[0] = [0.0, 1.0];
            assert!((ball_box_measure(&sides) - whole / 2.0).abs() < 1e-14);
            sides[0] = [1.0, 2.0];
            assert!(ball_box_measure(&sides) < 1e-15);
        }
        let cap = |height: f64| PI * height * height * (3.0 - height) / 3.0;
        let sides = [[-1.0, 1.0], [-1.0, 1.0], [0.7, 3.0]];
        assert!((ball_box_measure(&sides) - cap(0.3)).abs() < 1e-14);
    }

    /// Counts the midpoints of a fine subgrid; the last axis is exact.
    fn by_counting(sides: &[[f64; 2]]) -> f64 {
        let (last, rest) = sides.split_last().unwrap();
        let cells: usize = if rest.len() == 2 { 200 } else { 4000 };
        let mut total = 0.0;
        for index in 0..cells.pow(rest.len() as u32) {
            let (mut square, mut area, mut digits) = (1.0, 1.0, index);
            for [low, high] in rest {
                let width = (high - low) / cells as f64;
                square -= (low + width * ((digits % cells) as f64 + 0.5)).powi(2);
                area *= width;
                digits /= cells;
            }
            if square > 0.0 {
                let height = square.sqrt();
                total += area * (last[1].min(height) - last[0].max(-height)).max(0.0);
            }
        }
        total
    }

    fn side() -> impl Strategy<Value = [f64; 2]> {
        (-1.2f64..1.2, 0.05f64..1.5).prop_map(|(low, width)| [low, low + width])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn measures_agree_with_counting(sides in prop::collection::vec(side(), 1..=3)) {
            prop_assert!((ball_box_measure(&sides) - by_counting(&sides)).abs() < 2e-4);
        }

        #[test]
        fn the_parts_of_a_box_add_up(sides in prop::collection::vec(side(), 1..=3), cut in 0.0f64..1.0) {
            let [low, high] = sides[0];
            let middle = low + cut * (high - low);
            let (mut left, mut right) = (sides.clone(), sides.clone());
            left[0] = [low, middle];
            right[0] = [middle, high];
            let parts = ball_box_measure(&left) + ball_box_measure(&right);
            prop_assert!((ball_box_measure(&sides) - parts).abs() < 1e-14);
        }
    }
}
