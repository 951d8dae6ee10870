//! The convex hull of a cloud as half-spaces, and the flat in which a flat cloud lies.

use super::cell::{HalfSpace, cross, dot, minus, unit};
use std::collections::BTreeMap;

/// Deviations from a line or plane below this share of the cloud's size are rounding.
const FLAT: f64 = 1e-9;
/// Points this near to a facet, as a share of the cloud's size, are on it.
const ON_FACET: f64 = 1e-12;

/// A few of the points that are as far from each other as it gets, and directions at right angles that span them: the
/// number of directions is the cloud's own dimension.
pub(super) struct Span {
    pub(super) corners: Vec<usize>,
    pub(super) directions: Vec<[f64; 3]>,
    size: f64,
}

impl Span {
    pub(super) fn new(points: &[[f64; 3]]) -> Self {
        let mut span = Self { corners: vec![0], directions: Vec::new(), size: 0.0 };
        while span.directions.len() < 3 {
            let rest = |point: &[f64; 3]| {
                // Twice, because once leaves rounding of the size of the whole in a small rest.
                let project = |vector: [f64; 3]| {
                    span.directions.iter().fold(vector, |rest, direction| {
                        let along = dot(rest, *direction);
                        std::array::from_fn(|axis| rest[axis] - along * direction[axis])
                    })
                };
                project(project(minus(*point, points[0])))
            };
            let length = |rest: [f64; 3]| dot(rest, rest).sqrt();
            let (farthest, deviation) = points
                .iter()
                .map(rest)
                .map(length)
                .enumerate()
                .fold((0, 0.0), |best, candidate| if candidate.1 > best.1 { candidate } else { best });
            let Some(direction) = unit(rest(&points[farthest])).filter(|_| deviation > FLAT * span.size) else { break };
            span.size = span.size.max(deviation);
            span.corners.push(farthest);
            span.directions.push(direction);
        }
        span
    }

    /// The coordinates along the directions, point by point.
    pub(super) fn coordinates(&self, points: &[[f64; 3]]) -> Vec<f64> {
        let along = |point: &[f64; 3]| {
            let from_first = minus(*point, points[0]);
            self.directions.iter().map(move |direction| dot(from_first, *direction))
        };
        points.iter().flat_map(along).collect()
    }

    /// The convex hull of points that lie in the first so many axes as there are directions.
    pub(super) fn hull(&self, points: &[[f64; 3]]) -> Hull {
        match self.directions.len() {
            2 => outline(points, self.size),
            3 => quickhull(points, self),
            _ => Hull { walls: Vec::new(), measure: self.size },
        }
    }
}

/// A convex hull: its walls, beyond the box around the points, and its length, area or volume.
pub(super) struct Hull {
    pub(super) walls: Vec<HalfSpace>,
    pub(super) measure: f64,
}

/// Andrew's monotone chain.
fn outline(points: &[[f64; 3]], size: f64) -> Hull {
    let mut measure = 0.0;
    let mut order: Vec<[f64; 3]> = points.to_vec();
    order.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let mut walls = Vec::new();
    for _ in 0..2 {
        let mut chain: Vec<[f64; 3]> = Vec::new();
        for &point in &order {
            while let [.., before, last] = chain[..] {
                let (side, to) = (minus(last, before), minus(point, before));
                // The height of the last point over the chord must be more than rounding.
                if side[0] * to[1] - side[1] * to[0] > ON_FACET * size * dot(to, to).sqrt() {
                    break;
                }
                chain.pop();
            }
            chain.push(point);
        }
        let origin = points[0];
        measure +=
            chain.windows(2).map(|pair| 0.5 * cross(minus(pair[0], origin), minus(pair[1], origin))[2]).sum::<f64>();
        walls.extend(chain.windows(2).filter_map(|pair| {
            let side = minus(pair[1], pair[0]);
            let normal = unit([side[1], -side[0], 0.0])?;
            Some(HalfSpace { normal, offset: dot(normal, pair[0]).max(dot(normal, pair[1])) })
        }));
        order.reverse();
    }
    Hull { walls, measure }
}

struct Facet {
    corners: [usize; 3],
    /// Across the side that begins at each corner.
    neighbours: [usize; 3],
    half: HalfSpace,
    outside: Vec<usize>,
    alive: bool,
}

/// Quickhull (Barber, Dobkin and Huhdanpaa 1996): the point farthest outside a facet replaces all facets that it sees.
fn quickhull(points: &[[f64; 3]], span: &Span) -> Hull {
    let tolerance = ON_FACET * span.size;
    let simplex: [usize; 4] = std::array::from_fn(|k| span.corners[k]);
    let middle: [f64; 3] =
        std::array::from_fn(|axis| simplex.iter().map(|&corner| points[corner][axis]).sum::<f64>() / 4.0);
    let half = |corners: [usize; 3]| {
        let [a, b, c] = corners.map(|corner| points[corner]);
        let normal = unit(cross(minus(b, a), minus(c, a)))?;
        let half = HalfSpace { normal, offset: dot(normal, a) };
        // A facet that turns its back to the middle is so thin that its normal is rounding.
        (half.excess(middle) < 0.0).then_some(half)
    };
    let mut facets: Vec<Facet> = Vec::new();
    for mut corners in [[0, 1, 2], [0, 3, 1], [1, 3, 2], [0, 2, 3]].map(|face| face.map(|k: usize| simplex[k])) {
        if half(corners).is_none() {
            corners.swap(1, 2);
        }
        // Without a first tetrahedron the box around the points is their hull.
        let Some(half) = half(corners) else { return Hull { walls: Vec::new(), measure: 0.0 } };
        facets.push(Facet { corners, neighbours: [0; 3], half, outside: Vec::new(), alive: true });
    }
    for facet in 0..4 {
        for side in 0..3 {
            let (from, to) = (facets[facet].corners[side], facets[facet].corners[(side + 1) % 3]);
            let across = (0..4).find(|&other| {
                other != facet && [from, to].iter().all(|corner| facets[other].corners.contains(corner))
            });
            facets[facet].neighbours[side] = across.unwrap_or(facet);
        }
    }
    let mut missed = Vec::new();
    assign(&mut facets, 0, (0..points.len()).collect(), points, tolerance);
    let mut next = 0;
    while next < facets.len() {
        let excess = |&point: &usize| facets[next].half.excess(points[point]);
        let farthest = facets[next].outside.iter().copied().max_by(|a, b| excess(a).total_cmp(&excess(b)));
        let Some(point) = farthest.filter(|_| facets[next].alive) else {
            next += 1;
            continue;
        };
        if !replace(&mut facets, next, point, points, tolerance, half) {
            missed.push(point);
            facets[next].outside.retain(|&other| other != point);
        }
    }
    let cone = |facet: &Facet| {
        let [a, b, c] = facet.corners.map(|corner| minus(points[corner], middle));
        dot(a, cross(b, c)) / 6.0
    };
    let measure = facets.iter().filter(|facet| facet.alive).map(cone).sum();
    let mut walls: Vec<HalfSpace> = facets.iter().filter(|facet| facet.alive).map(|facet| facet.half).collect();
    for wall in &mut walls {
        wall.offset = missed.iter().map(|&point| dot(wall.normal, points[point])).fold(wall.offset, f64::max);
    }
    Hull { walls, measure }
}

/// Gives every point to the first of the facets from `first` on that it is outside of; points inside all are done.
fn assign(facets: &mut [Facet], first: usize, candidates: Vec<usize>, points: &[[f64; 3]], tolerance: f64) {
    for point in candidates {
        let sees = |facet: &&mut Facet| facet.half.excess(points[point]) > tolerance;
        if let Some(facet) = facets[first..].iter_mut().find(sees) {
            facet.outside.push(point);
        }
    }
}

/// Replaces the facets that a point sees by those between it and their rim. False if rounding has torn the rim.
fn replace(
    facets: &mut Vec<Facet>,
    start: usize,
    point: usize,
    points: &[[f64; 3]],
    tolerance: f64,
    half: impl Fn([usize; 3]) -> Option<HalfSpace>,
) -> bool {
    let mut seen = vec![start];
    // By the corner where it begins: the corner where it ends, and the facet beyond it.
    let mut rim: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    let mut sides = 0;
    let mut at = 0;
    while at < seen.len() {
        let facet = &facets[seen[at]];
        for side in 0..3 {
            let across = facet.neighbours[side];
            if facets[across].half.excess(points[point]) > tolerance {
                if !seen.contains(&across) {
                    seen.push(across);
                }
            } else {
                rim.insert(facet.corners[side], (facet.corners[(side + 1) % 3], across));
                sides += 1;
            }
        }
        at += 1;
    }
    let new: Option<Vec<_>> =
        rim.iter().map(|(&from, &(to, _))| half([from, to, point]).map(|half| ([from, to, point], half))).collect();
    let closed = rim.len() == sides && rim.values().all(|(to, _)| rim.contains_key(to));
    let Some(new) = new.filter(|_| closed) else { return false };
    let first = facets.len();
    let number: BTreeMap<usize, usize> = rim.keys().enumerate().map(|(index, &from)| (from, first + index)).collect();
    let before: BTreeMap<usize, usize> = rim.iter().map(|(from, &(to, _))| (to, number[from])).collect();
    for (corners, half) in new {
        let [from, to, _] = corners;
        let across = rim[&from].1;
        let number_here = number[&from];
        if let Some(side) = (0..3).find(|&side| facets[across].corners[side] == to) {
            facets[across].neighbours[side] = number_here;
        }
        let neighbours = [across, number[&to], before[&from]];
        facets.push(Facet { corners, neighbours, half, outside: Vec::new(), alive: true });
    }
    let mut orphans = Vec::new();
    for facet in seen {
        facets[facet].alive = false;
        orphans.append(&mut facets[facet].outside);
    }
    orphans.retain(|&orphan| orphan != point);
    assign(facets, first, orphans, points, tolerance);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, uniform};

    #[test]
    fn every_point_is_inside_and_every_wall_is_touched() {
        for case in 0..40 {
            let mut rng = Seed::new(case).rng();
            let dim = 2 + case as usize % 2;
            let round = case % 4 > 1;
            let points: Vec<[f64; 3]> = (0..50 + 10 * case)
                .map(|_| {
                    let mut point = [0.0; 3];
                    point[..dim].iter_mut().for_each(|x| *x = uniform(&mut rng, -1.0, 1.0));
                    if round { unit(point).unwrap() } else { point }
                })
                .collect();
            let walls = Span::new(&points).hull(&points).walls;
            assert!(walls.len() > dim);
            for wall in walls {
                let most = points.iter().map(|&point| wall.excess(point)).fold(f64::NEG_INFINITY, f64::max);
                assert!(most.abs() < 1e-11, "{most}");
                let touching = points.iter().filter(|&&point| wall.excess(point) > -1e-11).count();
                assert!(touching >= dim);
            }
            // A sphere's points are all corners: Euler says how many triangles they make.
            if round && dim == 3 {
                assert_eq!(Span::new(&points).hull(&points).walls.len(), 2 * points.len() - 4);
            }
        }
    }

    #[test]
    fn a_grid_has_the_walls_of_its_box() {
        let axis = |k: usize| k as f64 / 3.0;
        let points: Vec<[f64; 3]> = (0..64).map(|k| [axis(k / 16), 2.0 * axis(k / 4 % 4), axis(k % 4)]).collect();
        let span = Span::new(&points);
        let hull = span.hull(&points);
        assert!((hull.measure - 2.0).abs() < 1e-12);
        for wall in hull.walls {
            assert!((wall.normal.iter().map(|n| n.abs()).fold(0.0, f64::max) - 1.0).abs() < 1e-12, "{wall:?}");
        }
        let flat: Vec<[f64; 3]> = points.iter().map(|&[x, y, _]| [x, y, x + y]).collect();
        assert_eq!(Span::new(&flat).directions.len(), 2);
        let line: Vec<[f64; 3]> = points.iter().map(|&[x, ..]| [x, 1.0 - x, 0.1 + 3.0 * x]).collect();
        assert_eq!(Span::new(&line).directions.len(), 1);
        assert_eq!(Span::new(&[[0.3; 3]; 2]).directions.len(), 0);
    }
}
