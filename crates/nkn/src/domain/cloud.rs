//! Scattered points, and the search for those within a radius.

use super::{check_dim, extent::Ball};
use crate::error::ensure;
use crate::{Error, Result};
use serde::Serialize;
use std::array::from_fn;

/// Scattered points. Points may coincide.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointCloud {
    dim: usize,
    coordinates: Vec<f64>,
    measure: f64,
}

#[expect(clippy::len_without_is_empty, reason = "a cloud has nodes")]
impl PointCloud {
    /// Points given by their coordinates, point by point, in a domain of the given length, area or volume.
    pub fn new(dim: usize, coordinates: Vec<f64>, measure: f64) -> Result<Self> {
        check_dim("cloud.dim", dim)?;
        let expected = format!("{dim} numbers for each of one or more points");
        let got = format!("{} numbers", coordinates.len());
        let hint = "check the dimension and whether the file is complete";
        let is_whole = !coordinates.is_empty() && coordinates.len().is_multiple_of(dim);
        ensure!(is_whole, Error::invalid("cloud.coordinates", expected, got, hint));
        if let Some(index) = coordinates.iter().position(|value| !value.is_finite()) {
            let place = format!("at point {}, axis {}", index / dim, index % dim);
            let hint = "remove the point or repair its coordinates";
            return Err(Error::not_finite("coordinate", coordinates[index], place, hint));
        }
        let is_measure = measure > 0.0 && measure.is_finite();
        let hint = "give the length, area or volume of the domain that the points fill";
        ensure!(is_measure, Error::invalid("cloud.measure", "a positive number", measure, hint));
        Ok(Self { dim, coordinates, measure })
    }

    /// The number of space dimensions, 1 to 3.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.coordinates.len() / self.dim
    }

    /// The coordinates of all points, point by point.
    pub fn coordinates(&self) -> &[f64] {
        &self.coordinates
    }

    /// The length, area or volume of the domain.
    pub fn measure(&self) -> f64 {
        self.measure
    }
}

/// Points sorted by the cell they are in, with cells as wide as the radius, so that a neighbour is at most one
/// cell away.
///
/// Missing axes are added in front: the last one, along which cells are neighbours in memory, is always there.
pub(super) struct CellList {
    ball: Ball,
    lower: [f64; 3],
    /// Coordinates are kept here once more, because the search reads them cell by cell.
    members: Vec<Member>,
    points: Vec<[f64; 3]>,
}

struct Member {
    cell: [u32; 3],
    node: u32,
    point: [f64; 3],
}

/// Beyond this many cells along an axis, points share the last one: still correct, and far beyond any real radius.
const LAST_CELL: f64 = 1e8;

impl CellList {
    pub(super) fn new(cloud: &PointCloud, ball: Ball) -> Self {
        let padded = |point: &[f64]| {
            let mut padded = [0.0; 3];
            padded[3 - cloud.dim..].copy_from_slice(point);
            padded
        };
        let points: Vec<_> = cloud.coordinates.chunks(cloud.dim).map(padded).collect();
        let lower = points.iter().fold([f64::INFINITY; 3], |lower, point| from_fn(|axis| lower[axis].min(point[axis])));
        let mut list = Self { ball, lower, members: Vec::new(), points };
        list.members =
            (0..).zip(&list.points).map(|(node, &point)| Member { cell: list.cell(point), node, point }).collect();
        list.members.sort_by_key(|member| member.cell);
        list
    }

    /// Cells are a little wider than the radius: rounding cannot put a neighbour two cells away.
    fn cell(&self, point: [f64; 3]) -> [u32; 3] {
        let width = self.ball.radius * (1.0 + 1e-6);
        from_fn(|axis| ((point[axis] - self.lower[axis]) / width).min(LAST_CELL) as u32)
    }

    /// The points within the ball around a point, itself included, in ascending order.
    pub(super) fn within(&self, node: usize) -> Vec<u32> {
        let around = |cell: u32| cell.saturating_sub(1)..=cell + 1;
        let centre = self.points[node];
        let [x, y, z] = self.cell(centre);
        let mut found = Vec::new();
        for x in around(x) {
            for y in around(y) {
                let first = [x, y, *around(z).start()];
                let last = [x, y, *around(z).end()];
                let start = self.members.partition_point(|member| member.cell < first);
                let candidates = self.members[start..].iter().take_while(|member| member.cell <= last);
                let displacement = |member: &Member| -> [f64; 3] { from_fn(|axis| member.point[axis] - centre[axis]) };
                found.extend(
                    candidates.filter(|member| self.ball.holds(displacement(member))).map(|member| member.node),
                );
            }
        }
        found.sort_unstable();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn the_cell_list_finds_what_brute_force_finds(
            dim in 1usize..=3,
            // Multiples of 1/20 make ties and coinciding points common.
            numbers in prop::collection::vec((-20i32..20).prop_map(|k| f64::from(k) / 20.0), 3..180),
            radius in prop_oneof![0.01f64..2.5, (1i32..9).prop_map(|k| f64::from(k) / 20.0)],
            inclusive: bool,
        ) {
            let points = numbers.len() / dim;
            let cloud = PointCloud::new(dim, numbers[..points * dim].to_vec(), 1.0).unwrap();
            let cells = CellList::new(&cloud, Ball { radius, inclusive });
            for node in 0..points {
                let distance = |other: usize| {
                    let point = |node: usize| &cloud.coordinates()[node * dim..][..dim];
                    let pairs = point(node).iter().zip(point(other));
                    pairs.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
                };
                let expected: Vec<u32> = (0..points)
                    .filter(|&other| if inclusive {
                        distance(other) <= radius * (1.0 + 1e-9)
                    } else {
                        distance(other) < radius * (1.0 - 1e-9)
                    })
                    .map(|other| other as u32)
                    .collect();
                prop_assert_eq!(cells.within(node), expected);
            }
        }
    }

    #[test]
    fn a_tiny_radius_in_a_huge_cloud_is_searched_correctly() {
        let cloud = PointCloud::new(1, vec![-1e300, 0.0, 1e-9, 1e300, 0.0], 1.0).unwrap();
        let ball = Ball { radius: 1e-8, inclusive: false };
        let cells = CellList::new(&cloud, ball);
        assert_eq!(cells.within(0), [0]);
        assert_eq!(cells.within(1), [1, 2, 4]);
    }

    #[test]
    fn wrong_clouds_are_refused_with_a_reason() {
        let message = |dim, coordinates: &[f64], measure| {
            PointCloud::new(dim, coordinates.to_vec(), measure).unwrap_err().to_string()
        };
        assert!(message(0, &[0.0], 1.0).contains("cloud.dim"));
        assert!(message(4, &[0.0; 4], 1.0).contains("1, 2 or 3 dimensions, got 4"));
        assert!(message(2, &[0.0; 3], 1.0).contains("2 numbers for each"));
        assert!(message(2, &[], 1.0).contains("got 0 numbers"));
        assert!(message(2, &[0.0, 0.0, 1.0, f64::NAN], 1.0).contains("at point 1, axis 1"));
        assert!(message(1, &[f64::INFINITY], 1.0).contains("at point 0"));
        for measure in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(message(1, &[0.0], measure).contains("cloud.measure"));
        }
    }

    #[test]
    fn points_are_read_back() {
        let cloud = PointCloud::new(2, vec![0.0, 1.0, 2.0, 3.0], 5.0).unwrap();
        assert_eq!((cloud.dim(), cloud.len()), (2, 2));
        assert_eq!(cloud.measure(), 5.0);
        assert_eq!(cloud.coordinates(), [0.0, 1.0, 2.0, 3.0]);
    }
}
