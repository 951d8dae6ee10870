//! The rules on scattered points that are integrals, and neighbours by their number instead of a radius.
//!
//! `trapezoid` is m(y), the measure of the source's cell. `overlap` is the share of the ball that lies in the source's
//! cell: m(y) times the part of the cell that is in the ball, over the sum of these. On the points of a grid they
//! are the grid's own rules up to rounding. Where the points' measures are given they take the place of the cells',
//! and the cells say only which part of a measure is in the ball.

use super::{
    Enclosure, Extent, Neighbourhood, Quadrature, cell_measures,
    cloud::check_points,
    extent::Ball,
    neighbourhood::not_alone,
    overlap::as_shares,
    quadrature::NodeRule,
    search::{Search, Seen},
    voronoi::Voronoi,
};
use crate::parallel::Parallel;
use crate::{Error, Result};

/// Scattered points and what is known of them.
#[derive(Clone, Copy, Debug)]
pub struct Scattered<'a> {
    /// The number of space dimensions, 1 to 3.
    pub dim: usize,
    /// The coordinates of all points, point by point.
    pub coordinates: &'a [f64],
    /// The box that the points fill, with its periodic axes; without one it is their convex hull.
    pub enclosure: Option<&'a Enclosure>,
    /// The measure of each point; without them, that of its cell.
    pub weights: Option<&'a [f64]>,
    /// The measure of the domain, for the rule `uniform`; without it, that of all cells together.
    pub measure: Option<f64>,
}

/// Finds the neighbours of scattered points and weighs them.
///
/// `automatic` is `overlap`, and over all points `trapezoid`. The search takes n log n, the weights time in proportion to
/// the number of edges.
///
/// ```
/// use nkn::domain::{Extent, Quadrature, Scattered, connect_points};
///
/// let points = Scattered { dim: 1, coordinates: &[0.0, 0.1, 0.2, 1.0], enclosure: None, weights: None, measure: None };
/// let found = connect_points(&points, &Extent::Nearest { neighbours: 2 }, Quadrature::Automatic)?;
/// let row: Vec<_> = found.row(1).collect();
/// assert_eq!(row.len(), 3);
/// assert!((row[0].1 - 0.25).abs() < 1e-12);
/// # Ok::<(), nkn::Error>(())
/// ```
pub fn connect_points(points: &Scattered, reach: &Extent, rule: Quadrature) -> Result<Neighbourhood> {
    points.check()?;
    let cells = || Voronoi::new(points.dim, points.coordinates, points.enclosure);
    match (rule, *reach) {
        (Quadrature::Overlap | Quadrature::Automatic, Extent::Ball { radius, inclusive }) => {
            let ball = Ball::new(radius, inclusive)?;
            Ok(shares(&cells()?, &vec![ball.radius; points.len()], points.weights))
        }
        (Quadrature::Overlap | Quadrature::Automatic, Extent::Nearest { neighbours }) => {
            let neighbours = checked(neighbours)?;
            let cells = cells()?;
            Ok(shares(&cells, &cells.search().radii(neighbours), points.weights))
        }
        _ => points.connect_by(&points.node_rule(rule)?, reach),
    }
}

impl Scattered<'_> {
    fn len(&self) -> usize {
        self.coordinates.len() / self.dim
    }

    fn check(&self) -> Result<()> {
        check_points(self.dim, self.coordinates)?;
        if let Some(enclosure) = self.enclosure {
            enclosure.check_holds(self.dim, self.coordinates)?;
        }
        let points = self.len();
        if u32::try_from(points).is_err() {
            return Err(Error::invalid("points", format!("at most {} points", u32::MAX), points, "use fewer points"));
        }
        let Some(weights) = self.weights else { return Ok(()) };
        if weights.len() != points {
            return Err(Error::invalid(
                "weights",
                format!("{points} numbers, one per point"),
                format!("{} numbers", weights.len()),
                "give every point its measure, or leave the weights out",
            ));
        }
        match weights.iter().position(|&weight| !(weight > 0.0 && weight.is_finite())) {
            None => Ok(()),
            Some(point) => Err(Error::invalid(
                "weights",
                "positive numbers",
                format!("{} at point {point}", weights[point]),
                "give every point the length, area or volume that it stands for, or leave the weights out",
            )),
        }
    }

    /// The measures that are given, or those of the cells.
    pub(super) fn measures(&self) -> Result<Vec<f64>> {
        match self.weights {
            Some(weights) => Ok(weights.to_vec()),
            None => cell_measures(self.dim, self.coordinates, self.enclosure),
        }
    }

    fn node_rule(&self, rule: Quadrature) -> Result<NodeRule> {
        match rule {
            Quadrature::Mean => Ok(NodeRule::Mean),
            Quadrature::Uniform => {
                let measure =
                    self.measure.map_or_else(|| Ok(self.measures()?.iter().sum::<f64>()), Ok::<f64, Error>)?;
                Ok(NodeRule::Constant(measure / self.len() as f64))
            }
            Quadrature::Trapezoid | Quadrature::Automatic => Ok(NodeRule::PerSource(self.measures()?)),
            Quadrature::Overlap | Quadrature::Stencil => Err(Error::invalid(
                "quadrature",
                "trapezoid, mean or uniform on scattered points, or overlap within a radius",
                format!("`{rule}`"),
                "leave the quadrature out: a rule is chosen that suits the points",
            )),
        }
    }

    /// Neighbours whose weights need no geometry.
    fn connect_by(&self, rule: &NodeRule, reach: &Extent) -> Result<Neighbourhood> {
        let nodes = self.len();
        let search = Search::new(self.dim, self.coordinates, self.enclosure);
        match *reach {
            Extent::All => Ok(Neighbourhood::from_rows(nodes, |_| rule.weigh((0..nodes as u32).collect()))),
            Extent::Nearest { neighbours } => {
                let neighbours = checked(neighbours)?;
                let row = |node| rule.weigh(nearest_with_itself(&search, node, neighbours));
                Ok(Neighbourhood::from_rows(nodes, row))
            }
            Extent::Ball { radius, inclusive } => {
                let ball = Ball::new(radius, inclusive)?;
                let row = |node| rule.weigh(search.within(node, ball));
                let nearest = search.radii(1).into_iter().fold(f64::INFINITY, f64::min);
                not_alone(Neighbourhood::from_rows(nodes, row), radius, &[nearest])
            }
        }
    }
}

fn checked(neighbours: usize) -> Result<usize> {
    if neighbours > 0 {
        return Ok(neighbours);
    }
    Err(Error::invalid(
        "neighbours",
        "at least one",
        neighbours,
        "give the number of nearest points to integrate over, for instance 30",
    ))
}

/// The nearest points of a point and itself, in ascending order.
fn nearest_with_itself(search: &Search, node: usize, neighbours: usize) -> Vec<u32> {
    let mut found: Vec<u32> = search.nearest(node, neighbours).iter().map(|seen| seen.node).collect();
    found.push(node as u32);
    found.sort_unstable();
    found
}

/// The shares of every point's ball in the cells around it.
///
/// A cell is made once and then met with all balls that reach it, so that the cells need not be kept.
fn shares(cells: &Voronoi, radii: &[f64], weights: Option<&[f64]>) -> Neighbourhood {
    let search = cells.search();
    let nodes = search.len();
    let widest = search.widest(radii);
    let parts = |source: usize| -> Vec<(u32, f64)> {
        let (reach, measure) = (cells.reaches()[source], cells.measures()[source]);
        let density = weights.map_or(1.0, |weights| weights[source] / measure);
        let cell = cells.cell(source);
        let part = |seen: &Seen| {
            let radius = radii[seen.node as usize];
            let inside = seen.square.sqrt() + reach <= radius;
            let part = if inside { measure } else { cell.measure_in_ball(seen.displacement, radius) };
            (seen.node, density * part)
        };
        search.reaching(source, reach, radii, &widest).iter().map(part).collect()
    };
    let parts = (0..nodes).parallel().map(parts);
    let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); nodes];
    for (source, parts) in (0..).zip(parts) {
        for (target, part) in parts {
            let row = &mut rows[target as usize];
            match row.last_mut() {
                // Another image of the same point.
                Some((last, sum)) if *last == source => *sum += part,
                _ => row.push((source, part)),
            }
        }
    }
    Neighbourhood::from_rows(nodes, |node| as_shares(node, rows[node].clone()))
}

#[cfg(test)]
mod tests;
