//! Who is whose neighbour, with which weight.

use super::{
    Domain, Extent, PointCloud, Quadrature, TrainingRule,
    extent::Ball,
    lattice::{Images, Lattice},
    overlap::OverlapTable,
    quadrature::NodeRule,
    scattered::connect_points,
};
use crate::error::ensure;
use crate::parallel::Parallel;
use crate::{Error, Result};

/// The neighbours of every node in compressed rows: row x has the sources y of the integral at x, ascending, with
/// their weights. A node is its own neighbour.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbourhood {
    offsets: Vec<usize>,
    sources: Vec<u32>,
    weights: Vec<f64>,
    /// The measure of the nodes for which the weights are symmetric; empty where nobody has asked for one.
    measure: Vec<f64>,
}

impl Neighbourhood {
    /// Rows are made in parallel, some at a time: the memory beyond the result stays small, and the
    /// result does not depend on the number of threads.
    pub(super) fn from_rows(nodes: usize, row: impl Fn(usize) -> Vec<(u32, f64)> + Sync) -> Self {
        const ROWS: usize = 256;
        let mut result = Self::empty();
        for start in (0..nodes).step_by(ROWS) {
            let range = start..nodes.min(start + ROWS);
            range.parallel().map(&row).into_iter().for_each(|row| result.push(row));
        }
        result
    }

    fn empty() -> Self {
        Self { offsets: vec![0], sources: Vec::new(), weights: Vec::new(), measure: Vec::new() }
    }

    fn push(&mut self, row: impl IntoIterator<Item = (u32, f64)>) {
        for (source, weight) in row {
            self.sources.push(source);
            self.weights.push(weight);
        }
        self.offsets.push(self.sources.len());
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of pairs (x, y).
    pub fn edges(&self) -> usize {
        self.sources.len()
    }

    /// Where each row begins in [`Self::sources`] and [`Self::weights`], and at the end the number of edges.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The source of every edge.
    pub fn sources(&self) -> &[u32] {
        &self.sources
    }

    /// The target of every edge.
    pub fn targets(&self) -> Vec<u32> {
        let rows = self.offsets.windows(2).enumerate();
        rows.flat_map(|(target, row)| std::iter::repeat_n(target as u32, row[1] - row[0])).collect()
    }

    /// The weight of every edge.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The measure m of the nodes for which m(x) w(x, y) = m(y) w(y, x), if the weights were made so.
    pub fn measure(&self) -> Option<&[f64]> {
        (!self.measure.is_empty()).then_some(&self.measure[..])
    }

    /// The same with the measure for which the weights are symmetric.
    pub(super) fn with_measure(self, measure: Vec<f64>) -> Self {
        Self { measure, ..self }
    }

    /// The sources of a node with their weights.
    pub fn row(&self, node: usize) -> impl ExactSizeIterator<Item = (usize, f64)> {
        let range = self.offsets[node]..self.offsets[node + 1];
        let sources = self.sources[range.clone()].iter();
        let weights = self.weights[range].iter();
        sources.zip(weights).map(|(&source, &weight)| (source as usize, weight))
    }

    /// Several neighbourhoods side by side, nodes numbered on.
    pub fn union(parts: &[&Self]) -> Self {
        let mut result = Self::empty();
        for part in parts {
            let first = result.nodes() as u32;
            for node in 0..part.nodes() {
                result.push(part.row(node).map(|(source, weight)| (first + source as u32, weight)));
            }
        }
        result.with_measure(parts.iter().flat_map(|part| part.measure.iter().copied()).collect())
    }

    /// The same neighbours and weights, but nobody is its own neighbour.
    pub fn without_self(&self) -> Self {
        let mut result = Self::empty();
        for node in 0..self.nodes() {
            let others = self.row(node).filter(|&(source, _)| source != node);
            result.push(others.map(|(source, weight)| (source as u32, weight)));
        }
        result.with_measure(self.measure.clone())
    }
}

/// Finds the neighbours of every node and weighs them.
///
/// The cost is proportional to the number of edges. `training` is needed by [`Quadrature::Stencil`] and ignored by
/// the other rules. A radius that no node's neighbour is in is an error, except with `overlap`, where a node alone
/// in its ball has all of it.
pub fn connect(
    domain: &Domain,
    extent: &Extent,
    quadrature: Quadrature,
    training: Option<&TrainingRule>,
) -> Result<Neighbourhood> {
    if let Domain::Clouds(clouds) = domain {
        let connect_one = |cloud: &PointCloud| connect(&Domain::Cloud(cloud.clone()), extent, quadrature, training);
        let distinct: Vec<Neighbourhood> = clouds.distinct().iter().map(connect_one).collect::<Result<_>>()?;
        return Ok(Neighbourhood::union(&clouds.of().iter().map(|&index| &distinct[index]).collect::<Vec<_>>()));
    }
    let quadrature = quadrature.chosen_for(domain, extent);
    let nodes = domain.len();
    let count = u32::try_from(nodes)
        .map_err(|_| Error::invalid("domain", format!("at most {} nodes", u32::MAX), nodes, "use a coarser grid"))?;
    match (*extent, domain) {
        (_, Domain::Clouds(_)) => unreachable!("taken apart above"),
        (_, Domain::Cloud(cloud)) => connect_points(&cloud.scattered(), extent, quadrature),
        (Extent::Nearest { .. }, Domain::Grid(grid)) => {
            connect_points(&grid.to_cloud()?.scattered(), extent, quadrature)
        }
        (Extent::All, Domain::Grid(grid)) => {
            let rule = NodeRule::on_lattice(quadrature, &Lattice::new(grid))?;
            let row = |_| rule.weigh((0..count).collect());
            Ok(Neighbourhood::from_rows(nodes, row))
        }
        (Extent::Ball { radius, inclusive }, Domain::Grid(grid)) => {
            let ball = Ball::new(radius, inclusive)?;
            let (lattice, rule) = match quadrature {
                Quadrature::Stencil => {
                    let training = stencil_rule(training)?;
                    (Lattice::of_training(grid, training)?, training.quadrature)
                }
                rule => (Lattice::new(grid), rule),
            };
            if rule == Quadrature::Overlap {
                let table = OverlapTable::new(&lattice, radius);
                return Ok(Neighbourhood::from_rows(nodes, |node| table.row(node)));
            }
            let rule = NodeRule::on_lattice(rule, &lattice)?;
            let offsets = lattice.offsets(radius, Images::Nearest, |displacement| ball.holds(displacement));
            let row = |node| rule.weigh(lattice.sources(node, &offsets));
            let spacing = &lattice.steps()[3 - grid.dim()..];
            not_alone(Neighbourhood::from_rows(nodes, row), radius, spacing)
        }
    }
}

/// The training rule, if it is one that a stencil can repeat.
fn stencil_rule(training: Option<&TrainingRule>) -> Result<&TrainingRule> {
    let refused = |got: String| {
        let hint = "choose the quadrature `overlap`, which needs no training rule";
        Error::invalid("quadrature `stencil`", "a model trained with mean, uniform or overlap", got, hint)
    };
    let training = training.ok_or_else(|| refused("no training rule".into()))?;
    match training.quadrature {
        Quadrature::Stencil | Quadrature::Trapezoid | Quadrature::Automatic => {
            Err(refused(format!("the training rule `{}`", training.quadrature)))
        }
        _ => Ok(training),
    }
}

/// A network whose nodes see only themselves would train without complaint and learn nothing of the operator.
pub(super) fn not_alone(result: Neighbourhood, radius: f64, spacing: &[f64]) -> Result<Neighbourhood> {
    let got = format!("radius {radius} for nodes with spacing {spacing:?}");
    let hint = "choose a larger radius, or a finer resolution";
    ensure!(
        result.edges() > result.nodes() || result.nodes() == 1,
        Error::invalid("radius", "a ball that contains more than its own centre", got, hint)
    );
    Ok(result)
}

#[cfg(test)]
mod accuracy;
#[cfg(test)]
mod periodic;
#[cfg(test)]
mod tests;
