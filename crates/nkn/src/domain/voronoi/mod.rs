//! The cells of a cloud: the part of the domain that is nearer to a point than to any other.
//!
//! The measures of the cells are the weights that make a sum over scattered points an integral: a dense corner does not
//! count twice. Each cell is cut out of the domain by the planes half-way to the nearest points, the nearest first,
//! until no farther point can reach it (as in Rycroft's Voro++, 2009). No cell needs another one: they are made in
//! parallel, in n log n, and there is no mesh that rounding could tear.
//!
//! The domain is a given box, whose axes may be periodic, or the cloud's convex hull; or the box around the cloud, where
//! the hull leaves out no more of it than that of random points would. A hull fills holes and re-entrant corners, so
//! there a cell ends at [`GAP`] times the size that is usual around it and around its neighbours: the measures
//! then sum to less than the hull's. A given box is filled whatever the points leave empty. A cloud on a line or in
//! a plane has cells of that dimension, a single point the measure one.
//!
//! Measured: the relative error of the integral of exp(1.5 (x + y + z)) over the unit cube, root mean square over 4 to
//! 12 clouds of n random points (so few that an order is uncertain by 0.2), uniform, and crowded
//! towards the origin (squares of uniform numbers). `mean` knows the cube's volume.
//!
//! | | n | `mean` | cells, no box given | cells in the box | order in n: `mean`, no box, box |
//! |---|---|---|---|---|---|
//! | 1D, uniform | 100, 1600 | 4.2e-2, 1.8e-2 | 2.6e-2, 7.2e-4 | 2.2e-4, 4.1e-7 | 0.3, 1.3, 2.3 |
//! | 1D, crowded | 100, 1600 | 0.17, 0.21 | 4.2e-2, 1.1e-3 | 1.0e-3, 7.4e-7 | none, 1.3, 2.6 |
//! | 2D, uniform | 200, 3200 | 5.1e-2, 1.6e-2 | 2.2e-2, 1.5e-3 | 1.8e-3, 1.2e-4 | 0.4, 1.0, 1.0 |
//! | 2D, crowded | 200, 3200 | 0.37, 0.38 | 4.2e-2, 3.2e-3 | 1.2e-2, 1.0e-3 | none, 0.9, 0.9 |
//! | 3D, uniform | 400, 6400 | 4.4e-2, 1.1e-2 | 2.3e-2, 1.6e-3 | 4.7e-3, 1.0e-3 | 0.5, 1.0, 0.6 |
//! | 3D, crowded | 400, 6400 | 0.50, 0.51 | 7.0e-2, 9.5e-3 | 4.4e-2, 8.7e-3 | none, 0.7, 0.6 |
//!
//! In a box the error falls with the square of the spacing, n^(-2/dim); without one it is what lies beyond the outermost
//! points. The cube is the kindest case for that: the box around the cloud is then the right guess. By the
//! strict hull alone it would be 5.0e-3 and 2.5e-2 for 6400 uniform points in 2D and 3D.

mod cell;
mod hull;
mod polygon;
mod polyhedron;

use super::{
    Enclosure,
    cloud::check_points,
    search::{Search, padded},
};
use crate::parallel::Parallel;
use crate::{Error, Result};
pub(super) use cell::Cell;
use cell::{HalfSpace, box_cell, dot, unit};
use hull::Span;
use std::array::from_fn;

/// A cell within a hull is at most so many times as far-reaching as is usual around it. What is usual has a quarter
/// of the nearest cells below it, so that those along a hole do not hide it. Of random points practically none is
/// beyond; a hole in a lattice is filled to the depth of about two spacings.
const GAP: f64 = 3.0;

/// Points nearer than this share of the cloud's size coincide.
const COINCIDING: f64 = 1e-13;

/// No measure is below this share of the mean: every point counts, that in a hull's sharpest corner too.
const LEAST: f64 = 1e-9;

/// So many nearest points decide about most cells, in one, two and three dimensions.
const MOST_NEED: [usize; 3] = [4, 24, 96];

/// The cells of a cloud.
pub(super) struct Voronoi {
    dim: usize,
    search: Search,
    lower: [f64; 3],
    upper: [f64; 3],
    periods: [f64; 3],
    walls: Vec<HalfSpace>,
    /// How far each cell may reach along an axis.
    limits: Vec<f64>,
    reaches: Vec<f64>,
    measures: Vec<f64>,
}

/// The measure of every point's cell, all positive.
///
/// Without a box the cells fill the cloud's convex hull, except for its holes and re-entrant corners; with one they fill
/// the box and sum to its measure. Points that coincide are an error.
///
/// ```
/// use nkn::domain::cell_measures;
///
/// assert_eq!(cell_measures(1, &[0.0, 3.0, 1.0], None)?, [0.5, 1.0, 1.5]);
/// # Ok::<(), nkn::Error>(())
/// ```
pub fn cell_measures(dim: usize, coordinates: &[f64], enclosure: Option<&Enclosure>) -> Result<Vec<f64>> {
    Ok(Voronoi::new(dim, coordinates, enclosure)?.measures)
}

impl Voronoi {
    /// The cells within a box, or within the convex hull.
    pub(super) fn new(dim: usize, coordinates: &[f64], enclosure: Option<&Enclosure>) -> Result<Self> {
        check_points(dim, coordinates)?;
        match enclosure {
            Some(enclosure) => {
                enclosure.check_holds(dim, coordinates)?;
                let search = Search::new(dim, coordinates, Some(enclosure));
                let ends = [padded(enclosure.lower()), padded(enclosure.upper())];
                Self::within(dim, search, ends, enclosure.periods(), Vec::new())
            }
            None => {
                let points: Vec<[f64; 3]> = coordinates.chunks(dim).map(padded).collect();
                let span = Span::new(&points);
                if span.directions.len() < dim {
                    return Self::flat(&span, &points);
                }
                Self::in_hull(dim, coordinates, &points, &span)
            }
        }
    }

    fn in_hull(dim: usize, coordinates: &[f64], points: &[[f64; 3]], span: &Span) -> Result<Self> {
        let ends = [(f64::min as fn(f64, f64) -> f64, f64::INFINITY), (f64::max, f64::NEG_INFINITY)];
        let [lower, upper] = ends.map(|(pick, start)| {
            points.iter().fold([start; 3], |ends: [f64; 3], point| from_fn(|axis| pick(ends[axis], point[axis])))
        });
        let hull = span.hull(points);
        let whole: f64 = (0..dim).map(|axis| upper[axis] - lower[axis]).product();
        let walls = if whole - hull.measure <= missed(dim, points.len()) * whole { Vec::new() } else { hull.walls };
        let search = Search::new(dim, coordinates, None);
        let mut cells = Self::within(dim, search, [lower, upper], [f64::INFINITY; 3], walls)?;
        cells.close_gaps();
        Ok(cells)
    }

    /// The cells of points on a line or in a plane, there.
    fn flat(span: &Span, points: &[[f64; 3]]) -> Result<Self> {
        let rank = span.directions.len();
        if rank == 0 {
            // One point, or several that coincide: in an interval of length one.
            let search = Search::new(1, &vec![0.0; points.len()], None);
            return Self::within(1, search, [[-0.5; 3], [0.5; 3]], [f64::INFINITY; 3], Vec::new());
        }
        let coordinates = span.coordinates(points);
        let points: Vec<[f64; 3]> = coordinates.chunks(rank).map(padded).collect();
        Self::in_hull(rank, &coordinates, &points, &Span::new(&points))
    }

    fn within(
        dim: usize,
        search: Search,
        [lower, upper]: [[f64; 3]; 2],
        periods: [f64; 3],
        walls: Vec<HalfSpace>,
    ) -> Result<Self> {
        let nodes = search.len();
        let size = (0..dim).map(|axis| upper[axis] - lower[axis]).fold(0.0, f64::max);
        let twin = |node: usize| {
            let nearest = search.nearest(node, 1);
            let twin = nearest.first().filter(|seen| seen.square.sqrt() <= COINCIDING * size)?;
            Some((node, twin.node as usize))
        };
        if let Some((node, other)) = (0..nodes).parallel().map(twin).into_iter().flatten().next() {
            let point = &search.point(node)[..dim];
            return Err(Error::invalid(
                "points",
                "points that differ from each other",
                format!("points {node} and {other}, both at {point:?}"),
                "remove one of them, or take the quadrature `mean`",
            ));
        }
        let limits = vec![f64::INFINITY; nodes];
        let mut cells =
            Self { dim, search, lower, upper, periods, walls, limits, reaches: Vec::new(), measures: Vec::new() };
        cells.measure();
        Ok(cells)
    }

    fn measure(&mut self) {
        let cells = (0..self.search.len()).parallel().map(|node| {
            let cell = self.cell(node);
            (cell.reach(), cell.measure())
        });
        let (reaches, mut measures): (Vec<f64>, Vec<f64>) = cells.into_iter().unzip();
        let least = LEAST * measures.iter().sum::<f64>() / measures.len() as f64;
        measures.iter_mut().for_each(|measure| *measure = measure.max(least));
        (self.reaches, self.measures) = (reaches, measures);
    }

    /// Ends the cells that reach far into a hole of the cloud or a re-entrant corner of its hull.
    ///
    /// At the edge of a dense part cells reach as far as their neighbours in the thin part do: that is no hole, and
    /// therefore the neighbours are asked too.
    fn close_gaps(&mut self) {
        if self.dim == 1 {
            return;
        }
        let nearest = 10 * (self.dim - 1);
        let usual: Vec<f64> = (0..self.search.len()).parallel().map(|node| {
            let around = self.search.nearest(node, nearest);
            let mut reaches: Vec<f64> = around.iter().map(|seen| self.reaches[seen.node as usize]).collect();
            reaches.push(self.reaches[node]);
            reaches.sort_by(f64::total_cmp);
            reaches[reaches.len() / 4]
        });
        let limit = |node: usize| {
            if self.reaches[node] <= GAP * usual[node] {
                return f64::INFINITY;
            }
            let neighbours = self.cell(node).labels();
            let known = neighbours.iter().filter_map(|&label| usual.get(label as usize));
            let limit = GAP * known.copied().fold(usual[node], f64::max);
            if self.reaches[node] <= limit { f64::INFINITY } else { limit }
        };
        self.limits = (0..self.search.len()).parallel().map(limit);
        if self.limits.iter().any(|limit| limit.is_finite()) {
            self.measure();
        }
    }

    /// The measure of every cell.
    pub(super) fn measures(&self) -> &[f64] {
        &self.measures
    }

    /// How far every cell reaches from its point.
    pub(super) fn reaches(&self) -> &[f64] {
        &self.reaches
    }

    /// The points, in the dimension of the cells.
    pub(super) fn search(&self) -> &Search {
        &self.search
    }

    /// The cell of a point, which is its origin.
    pub(super) fn cell(&self, node: usize) -> Box<dyn Cell> {
        let point = self.search.point(node);
        let end = |axis: usize, wall: f64, sign: f64| {
            let free =
                if self.periods[axis].is_finite() { 0.5 * sign * self.periods[axis] } else { wall - point[axis] };
            free.clamp(-self.limits[node], self.limits[node])
        };
        let lower = from_fn(|axis| end(axis, self.lower[axis], -1.0));
        let upper = from_fn(|axis| end(axis, self.upper[axis], 1.0));
        let mut cell = box_cell(self.dim, lower, upper);
        let (mut count, mut done) = (MOST_NEED[self.dim - 1], 0);
        loop {
            let seen = self.search.nearest_images(node, count);
            for other in &seen[done..] {
                if other.square > (2.0 * cell.reach()).powi(2) {
                    break;
                }
                if let Some(normal) = unit(other.displacement) {
                    cell.clip(&HalfSpace { normal, offset: 0.5 * other.square.sqrt() }, other.node);
                }
            }
            // The walls as soon as the cell is small, so that most are too far away to matter.
            if done == 0 {
                for wall in &self.walls {
                    let offset = wall.offset - dot(wall.normal, point);
                    if offset < cell.reach() {
                        cell.clip(&HalfSpace { normal: wall.normal, offset }, cell::OUTSIDE);
                    }
                }
            }
            let last = seen.last().map_or(f64::INFINITY, |seen| seen.square);
            if seen.len() < count || last > (2.0 * cell.reach()).powi(2) {
                return cell;
            }
            (count, done) = (2 * count, seen.len());
        }
    }
}

/// The share of a box that the convex hull of so many random points in it leaves out, with a margin (Renyi and Sulanke
/// 1963 in the plane; measured in space).
///
/// Up to this a hull says no more about the domain than the box around it does, which is then the better guess.
fn missed(dim: usize, points: usize) -> f64 {
    let count = points as f64;
    let mean = match dim {
        1 => 0.0,
        2 => 8.0 / 3.0 * count.ln() / count,
        _ => 2.0 * count.ln().powi(2) / count,
    };
    (1.5 * mean).min(0.2)
}

#[cfg(test)]
mod accuracy;
#[cfg(test)]
mod tests;
