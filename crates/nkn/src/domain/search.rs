//! The points within a radius of a point, and its nearest ones, by a k-d tree, across periodic axes too.
//!
//! A tree is as fast where points crowd as where they are few: n log n for any cloud. Ties are broken by the points'
//! numbers, so that the answers do not depend on the shape of the tree.

use super::{Enclosure, extent::Ball};
use crate::parallel::Parallel;
use std::{array::from_fn, collections::BinaryHeap};

/// A branch with at most this many points is not divided further.
const LEAF: usize = 8;

/// A point as it is seen from another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) square: f64,
    pub(super) node: u32,
    pub(super) displacement: [f64; 3],
}

impl Eq for Seen {}

impl PartialOrd for Seen {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// The nearest first, then the one with the smallest number.
impl Ord for Seen {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let displacement = |seen: &Self| seen.displacement.map(|d| d + 0.0);
        let ties = displacement(self).partial_cmp(&displacement(other)).unwrap_or(std::cmp::Ordering::Equal);
        self.square.total_cmp(&other.square).then(self.node.cmp(&other.node)).then(ties)
    }
}

/// A k-d tree. Missing axes are added behind, with the coordinate 0.
pub(super) struct Search {
    points: Vec<[f64; 3]>,
    /// The points' numbers, branch by branch.
    order: Vec<u32>,
    /// The corners of the box around each branch; branch b divides into 2 b + 1 and 2 b + 2.
    boxes: Vec<[[f64; 3]; 2]>,
    /// How far the images of a point are that may be nearer than itself; without periodic axes the point alone.
    shifts: Vec<[f64; 3]>,
}

impl Search {
    /// Points given by their coordinates, point by point; along the box's periodic axes they have images.
    pub(super) fn new(dim: usize, coordinates: &[f64], enclosure: Option<&Enclosure>) -> Self {
        let periods = enclosure.map_or([f64::INFINITY; 3], Enclosure::periods);
        let points: Vec<[f64; 3]> = coordinates
            .chunks(dim)
            .map(|point| enclosure.map_or_else(|| padded(point), |enclosure| padded(&enclosure.wrapped(point))))
            .collect();
        let mut shifts = vec![[0.0; 3]];
        for axis in (0..3).filter(|&axis| periods[axis].is_finite()) {
            let moved = |by: f64| {
                move |mut shift: [f64; 3]| {
                    shift[axis] += by;
                    shift
                }
            };
            let once = shifts.clone();
            shifts.extend(once.iter().copied().map(moved(periods[axis])));
            shifts.extend(once.iter().copied().map(moved(-periods[axis])));
        }
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        let mut boxes = Vec::new();
        divide(&points, &mut order, &mut boxes, 0);
        Self { points, order, boxes, shifts }
    }

    /// The number of points.
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// A point's coordinates, between the sides of the box along periodic axes.
    pub(super) fn point(&self, node: usize) -> [f64; 3] {
        self.points[node]
    }

    /// The points within the ball around a point, itself included, in ascending order.
    pub(super) fn within(&self, node: usize, ball: Ball) -> Vec<u32> {
        // The ball's own test has a tolerance, the branches need not know it exactly.
        let reach = ball.radius * (1.0 + 1e-6);
        let mut found = Vec::new();
        self.visit(
            node,
            |_| reach * reach,
            |seen| {
                if ball.holds(seen.displacement) {
                    found.push(seen.node);
                }
            },
        );
        found.sort_unstable();
        found.dedup();
        found
    }

    /// All points and images that see a point within their own radius plus a reach of its own.
    ///
    /// `widest` has the largest radius of every branch: see [`Self::widest`].
    pub(super) fn reaching(&self, node: usize, reach: f64, radii: &[f64], widest: &[f64]) -> Vec<Seen> {
        let mut found = Vec::new();
        self.visit(
            node,
            |branch| (reach + widest[branch]).powi(2),
            |seen| {
                if seen.square < (reach + radii[seen.node as usize]).powi(2) {
                    found.push(seen);
                }
            },
        );
        found.sort_unstable();
        found
    }

    /// The largest of the points' values in each branch.
    pub(super) fn widest(&self, values: &[f64]) -> Vec<f64> {
        let mut widest = vec![0.0; self.boxes.len()];
        self.each_branch(0, 0..self.len(), &mut |branch, range| {
            widest[branch] = range.map(|at| values[self.order[at] as usize]).fold(0.0, f64::max);
        });
        widest
    }

    /// The nearest other points and images of a point, the nearest first; fewer if there are fewer.
    pub(super) fn nearest_images(&self, node: usize, count: usize) -> Vec<Seen> {
        self.nearest_by(node, count, false)
    }

    /// The nearest other points of a point, the nearest first, each once; fewer if there are fewer.
    pub(super) fn nearest(&self, node: usize, count: usize) -> Vec<Seen> {
        self.nearest_by(node, count, true)
    }

    /// For every point the distance of its `count`-th nearest other point, or of the farthest if there are fewer: a
    /// radius that is small where points crowd. A ball that includes its surface has at least so many others in it. The
    /// radius of a point without others is infinite.
    pub(super) fn radii(&self, count: usize) -> Vec<f64> {
        let radius = |node| self.nearest(node, count).last().map_or(f64::INFINITY, |seen| seen.square.sqrt());
        (0..self.len()).parallel().map(radius)
    }

    fn nearest_by(&self, node: usize, count: usize, once: bool) -> Vec<Seen> {
        let once = once && self.shifts.len() > 1;
        let heap = std::cell::RefCell::new(BinaryHeap::<Seen>::with_capacity(count + 1));
        let farthest = |_| {
            let heap = heap.borrow();
            if heap.len() < count { f64::INFINITY } else { heap.peek().map_or(0.0, |seen| seen.square) }
        };
        self.visit(node, farthest, |seen| {
            let itself = seen.node as usize == node && (once || seen.displacement == [0.0; 3]);
            let mut heap = heap.borrow_mut();
            if itself || (heap.len() == count && heap.peek().is_none_or(|last| *last < seen)) {
                return;
            }
            if once && let Some(&other) = heap.iter().find(|other| other.node == seen.node) {
                if other <= seen {
                    return;
                }
                heap.retain(|other| other.node != seen.node);
            }
            heap.push(seen);
            if heap.len() > count {
                heap.pop();
            }
        });
        heap.into_inner().into_sorted_vec()
    }

    /// Shows all images of points in branches whose squared distance is at most `bound`, which may shrink meanwhile.
    fn visit(&self, node: usize, bound: impl Fn(usize) -> f64, mut show: impl FnMut(Seen)) {
        for shift in &self.shifts {
            self.visit_branch(0, 0..self.len(), (self.points[node], shift), &bound, &mut show);
        }
    }

    fn visit_branch(
        &self,
        branch: usize,
        range: std::ops::Range<usize>,
        (centre, shift): ([f64; 3], &[f64; 3]),
        bound: &impl Fn(usize) -> f64,
        show: &mut impl FnMut(Seen),
    ) {
        if self.box_distance(branch, centre, shift) > bound(branch) {
            return;
        }
        if range.len() <= LEAF {
            for &node in &self.order[range] {
                let point = self.points[node as usize];
                let displacement: [f64; 3] = from_fn(|axis| point[axis] + shift[axis] - centre[axis]);
                let square = displacement.iter().map(|d| d * d).sum();
                show(Seen { square, node, displacement });
            }
            return;
        }
        let middle = range.start + range.len() / 2;
        let mut halves = [(2 * branch + 1, range.start..middle), (2 * branch + 2, middle..range.end)];
        // The nearer half first: it shrinks the bound for the other.
        if self.box_distance(halves[1].0, centre, shift) < self.box_distance(halves[0].0, centre, shift) {
            halves.reverse();
        }
        for (branch, range) in halves {
            self.visit_branch(branch, range, (centre, shift), bound, show);
        }
    }

    /// The squared distance of a branch's box.
    fn box_distance(&self, branch: usize, centre: [f64; 3], shift: &[f64; 3]) -> f64 {
        let [lower, upper] = &self.boxes[branch];
        let gap = |axis: usize| {
            let at = centre[axis] - shift[axis];
            (lower[axis] - at).max(at - upper[axis]).max(0.0)
        };
        // Rounding of the shift must not hide a point on the bound.
        (0..3).map(|axis| gap(axis).powi(2)).sum::<f64>() * (1.0 - 1e-12)
    }

    fn each_branch(
        &self,
        branch: usize,
        range: std::ops::Range<usize>,
        see: &mut impl FnMut(usize, std::ops::Range<usize>),
    ) {
        see(branch, range.clone());
        if range.len() > LEAF {
            let middle = range.start + range.len() / 2;
            self.each_branch(2 * branch + 1, range.start..middle, see);
            self.each_branch(2 * branch + 2, middle..range.end, see);
        }
    }
}

/// A point in three dimensions, with missing coordinates 0.
pub(super) fn padded(point: &[f64]) -> [f64; 3] {
    from_fn(|axis| point.get(axis).copied().unwrap_or(0.0))
}

/// Divides a branch at the middle of its longest axis.
fn divide(points: &[[f64; 3]], order: &mut [u32], boxes: &mut Vec<[[f64; 3]; 2]>, branch: usize) {
    let ends = |pick: fn(f64, f64) -> f64, start: f64| {
        order.iter().fold([start; 3], |ends, &node| from_fn(|axis| pick(ends[axis], points[node as usize][axis])))
    };
    let (lower, upper) = (ends(f64::min, f64::INFINITY), ends(f64::max, f64::NEG_INFINITY));
    if boxes.len() <= branch {
        boxes.resize(branch + 1, [[0.0; 3]; 2]);
    }
    boxes[branch] = [lower, upper];
    if order.len() > LEAF {
        let side = |axis: usize| upper[axis] - lower[axis];
        let longest = (1..3).fold(0, |best, axis| if side(axis) > side(best) { axis } else { best });
        let middle = order.len() / 2;
        let key = |node: &u32| points[*node as usize][longest];
        order.select_nth_unstable_by(middle, |a, b| key(a).total_cmp(&key(b)).then(a.cmp(b)));
        let (left, right) = order.split_at_mut(middle);
        divide(points, left, boxes, 2 * branch + 1);
        divide(points, right, boxes, 2 * branch + 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Distances from a point to all points, by trying every image.
    fn distances(dim: usize, coordinates: &[f64], node: usize, periods: [f64; 3]) -> Vec<f64> {
        let centre = &coordinates[node * dim..][..dim];
        let along = |axis: usize, difference: f64| {
            let images = if periods[axis].is_finite() { -3..=3 } else { 0..=0 };
            images
                .map(|image| if image == 0 { difference } else { difference + f64::from(image) * periods[axis] })
                .fold(f64::INFINITY, |least: f64, d: f64| least.min(d.abs()))
        };
        let distance = |point: &[f64]| -> f64 {
            let squares = point.iter().zip(centre).enumerate().map(|(axis, (a, b))| along(axis, a - b).powi(2));
            squares.sum::<f64>().sqrt()
        };
        coordinates.chunks(dim).map(distance).collect()
    }

    fn enclosure(dim: usize, periodic: [bool; 3]) -> Enclosure {
        Enclosure::new(vec![-1.0; dim], vec![1.0, 1.25, 1.5][..dim].to_vec(), periodic[..dim].to_vec()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn the_tree_finds_what_brute_force_finds(
            dim in 1usize..=3,
            // Multiples of 1/16 make ties and coinciding points common, and their differences exact.
            numbers in prop::collection::vec((-24i32..24).prop_map(|k| f64::from(k) / 16.0), 3..240),
            radius in prop_oneof![0.01f64..0.9, (1i32..9).prop_map(|k| f64::from(k) / 16.0)],
            inclusive: bool,
            periodic: [bool; 3],
            count in 1usize..40,
        ) {
            let points = numbers.len() / dim;
            let numbers = &numbers[..points * dim];
            let enclosure = enclosure(dim, periodic);
            let search = Search::new(dim, numbers, Some(&enclosure));
            let ball = Ball { radius, inclusive };
            let radii = search.radii(count);
            for (node, &radius) in radii.iter().enumerate() {
                let distances = distances(dim, numbers, node, enclosure.periods());
                let inside: Vec<u32> =
                    (0..points as u32).filter(|&other| ball.holds([distances[other as usize]])).collect();
                prop_assert_eq!(search.within(node, ball), inside);
                let mut others: Vec<(f64, u32)> =
                    (0..points as u32).filter(|&other| other as usize != node).map(|k| (distances[k as usize], k)).collect();
                others.sort_by(|a, b| a.partial_cmp(b).unwrap());
                others.truncate(count);
                let nearest = search.nearest(node, count);
                prop_assert_eq!(
                    nearest.iter().map(|seen| seen.node).collect::<Vec<_>>(),
                    others.iter().map(|&(_, other)| other).collect::<Vec<_>>()
                );
                prop_assert!(others.last().map_or(radius == f64::INFINITY, |last| (radius - last.0).abs() < 1e-12));
                for (seen, (distance, other)) in nearest.iter().zip(others) {
                    prop_assert!((seen.square.sqrt() - distance).abs() < 1e-12);
                    let to = |node: usize| &numbers[node * dim..][..dim];
                    prop_assert!((enclosure.distance(to(node), to(other as usize)) - distance).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn reaching_agrees_with_brute_force(
            numbers in prop::collection::vec(-1.0f64..1.0, 2..200), reach in 0.0f64..0.5, largest in 0.01f64..0.5,
        ) {
            let points = numbers.len() / 2;
            let numbers = &numbers[..points * 2];
            let search = Search::new(2, numbers, None);
            let radii: Vec<f64> = (0..points).map(|node| largest * (node + 1) as f64 / points as f64).collect();
            let widest = search.widest(&radii);
            for node in 0..points {
                let distances = distances(2, numbers, node, [f64::INFINITY; 3]);
                let mut found: Vec<u32> =
                    search.reaching(node, reach, &radii, &widest).iter().map(|seen| seen.node).collect();
                found.sort_unstable();
                let expected: Vec<u32> =
                    (0..points).filter(|&k| distances[k] < reach + radii[k]).map(|k| k as u32).collect();
                prop_assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn images_are_seen_where_they_are() {
        let ring = Enclosure::new(vec![0.0], vec![1.0], vec![true]).unwrap();
        let search = Search::new(1, &[0.125, 0.875], Some(&ring));
        let images = search.nearest_images(0, 3);
        let at: Vec<(u32, f64)> = images.iter().map(|seen| (seen.node, seen.displacement[0])).collect();
        assert_eq!(at, [(1, -0.25), (1, 0.75), (0, -1.0)]);
        assert_eq!(search.nearest(0, 3).len(), 1);
        assert_eq!((search.len(), search.point(1)), (2, [0.875, 0.0, 0.0]));
    }

    #[test]
    fn a_tiny_radius_in_a_huge_cloud_is_searched_correctly() {
        let search = Search::new(1, &[-1e150, 0.0, 1e-9, 1e150, 0.0], None);
        let ball = Ball { radius: 1e-8, inclusive: false };
        assert_eq!(search.within(0, ball), [0]);
        assert_eq!(search.within(1, ball), [1, 2, 4]);
    }
}
