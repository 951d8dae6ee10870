//! The measure of the nodes for which a rule is symmetric: m(x) w(x, y) = m(y) w(y, x).
//!
//! A nonlocal operator with such weights and a symmetric kernel takes energy out in the norm that m weighs. Probability
//! calls the weights reversible and the equation detailed balance (F. P. Kelly, *Reversibility and stochastic
//! networks*, 1979).
//!
//! | rule | m(x) | symmetric as it is |
//! |---|---|---|
//! | `uniform` | 1 | within a ball or everywhere |
//! | `trapezoid` | the measure of x's cell | within a ball or everywhere |
//! | `mean` | the number of x's neighbours | within a ball or everywhere |
//! | `overlap` | the measure of x's cell times that of its ball in the domain | away from the boundary, on a grid |
//!
//! Where a rule is not symmetric, m(x) w(x, y) and m(y) w(y, x) give way to their mean. Of `overlap` that changes the
//! shares of a ball at the boundary and on uneven points, of a number of neighbours it makes everyone the neighbour of
//! its neighbours.

use super::{Domain, Neighbourhood, Quadrature, TrainingRule, lattice::Lattice};
use crate::error::ensure;
use crate::{Error, Result};

impl Neighbourhood {
    /// These neighbours with weights that are symmetric for this measure of the nodes.
    pub(super) fn symmetrised(self, measure: Vec<f64>) -> Result<Self> {
        let hint = "choose another quadrature: a dissipative network needs a positive measure at every node";
        if let Some(node) = measure.iter().position(|&m| !(m > 0.0 && m.is_finite())) {
            let got = format!("{} at node {node}", measure[node]);
            return Err(Error::invalid("the measure of the nodes", "positive numbers", got, hint));
        }
        ensure!(
            self.weights().iter().all(|&weight| weight >= 0.0),
            Error::invalid("the weights of the neighbours", "no negative ones", "a negative one", hint)
        );
        let mut both: Vec<Vec<(u32, f64)>> = vec![Vec::new(); self.nodes()];
        for x in 0..self.nodes() {
            for (y, weight) in self.row(x) {
                let half = 0.5 * measure[x] * weight;
                both[x].push((y as u32, half));
                both[y].push((x as u32, half));
            }
        }
        let row = |x: usize| {
            let mut row = both[x].clone();
            row.sort_by_key(|&(y, _)| y);
            row.dedup_by(|(next, part), (y, sum)| {
                let is_same = next == y;
                *sum += if is_same { *part } else { 0.0 };
                is_same
            });
            row.into_iter().map(|(y, sum)| (y, sum / measure[x])).collect()
        };
        Ok(Self::from_rows(self.nodes(), row).with_measure(measure))
    }
}

/// The measure that belongs to neighbours of a domain by a rule; `training` is that of the rule `stencil`.
pub(super) fn measure(
    domain: &Domain,
    neighbours: &Neighbourhood,
    rule: Quadrature,
    training: Option<&TrainingRule>,
) -> Result<Vec<f64>> {
    let rule_of_weights = match (rule, training) {
        (Quadrature::Stencil, Some(training)) => training.quadrature,
        _ => rule,
    };
    let cells = || match (domain, rule, training) {
        (Domain::Grid(grid), Quadrature::Stencil, Some(training)) => {
            Ok(Lattice::of_training(grid, training)?.cell_measures())
        }
        (Domain::Grid(grid), ..) => Ok(Lattice::new(grid).cell_measures()),
        (Domain::Cloud(cloud), ..) => cloud.scattered().measures(),
        (Domain::Clouds(_), ..) => unreachable!("clouds are connected one by one"),
    };
    let nodes = 0..neighbours.nodes();
    Ok(match rule_of_weights {
        Quadrature::Uniform => vec![1.0; nodes.len()],
        Quadrature::Mean => nodes.map(|x| neighbours.row(x).len() as f64).collect(),
        Quadrature::Trapezoid => cells()?,
        Quadrature::Overlap | Quadrature::Stencil | Quadrature::Automatic => {
            let cells = cells()?;
            // A cell that lies within the ball has the share m(y) / ball of it, any other a smaller one.
            let ball = |x: usize| {
                let sizes = neighbours.row(x).map(|(y, share)| cells[y] / share);
                sizes.fold(f64::INFINITY, f64::min)
            };
            nodes.map(|x| cells[x] * ball(x)).collect()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Extent, Grid, PointCloud, Policy};
    use crate::seed::{Seed, uniform};

    fn cloud(dim: usize, points: usize) -> Domain {
        let mut rng = Seed::new(3).rng();
        let coordinates = (0..dim * points).map(|_| uniform(&mut rng, 0.0, 1.0)).collect();
        Domain::Cloud(PointCloud::new(dim, coordinates, 1.0).unwrap())
    }

    /// Every rule, on grids and scattered points, in and beyond its training, within a radius and by number.
    #[test]
    fn weights_balance_in_detail() {
        let rules = [Quadrature::Mean, Quadrature::Uniform, Quadrature::Trapezoid, Quadrature::Overlap];
        let home = Domain::Grid(Grid::unit(&[7, 7]).unwrap());
        let domains = [home.clone(), Domain::Grid(Grid::unit(&[13, 13]).unwrap()), cloud(2, 40)];
        for extent in [Extent::Ball { radius: 0.31, inclusive: false }, Extent::Nearest { neighbours: 6 }] {
            for trained in rules {
                for domain in &domains {
                    let policy = Policy { extent, trained, training: Some(&home), asked: None };
                    let balanced = policy.connect_symmetrically(domain).unwrap();
                    let m = balanced.measure().unwrap();
                    for x in 0..balanced.nodes() {
                        for (y, weight) in balanced.row(x) {
                            let back = balanced.row(y).find(|&(z, _)| z == x).expect("a way back").1;
                            let (there, back) = (m[x] * weight, m[y] * back);
                            assert!((there - back).abs() <= 1e-12 * there, "{trained} {extent:?}: {there} and {back}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn symmetric_rules_stay_as_they_are() {
        let domain = Domain::Grid(Grid::unit(&[9, 9]).unwrap());
        let extent = Extent::Ball { radius: 0.3, inclusive: false };
        for trained in [Quadrature::Mean, Quadrature::Uniform, Quadrature::Trapezoid] {
            let policy = Policy { extent, trained, training: None, asked: None };
            let (plain, balanced) = (policy.connect(&domain).unwrap(), policy.connect_symmetrically(&domain).unwrap());
            assert_eq!(plain.sources(), balanced.sources());
            let weights = plain.weights().iter().zip(balanced.weights());
            assert!(weights.clone().all(|(a, b)| (a - b).abs() <= 1e-14 * a), "{trained}");
        }
        // Shares of balls stay away from the boundary, where all cells and balls are alike.
        let policy = Policy { extent, trained: Quadrature::Overlap, training: None, asked: None };
        let (plain, balanced) = (policy.connect(&domain).unwrap(), policy.connect_symmetrically(&domain).unwrap());
        let centre = 4 * 9 + 4;
        assert!(plain.row(centre).zip(balanced.row(centre)).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < 1e-14));
        assert!(plain.row(0).zip(balanced.row(0)).any(|(a, b)| (a.1 - b.1).abs() > 1e-3 * a.1));
    }

    #[test]
    fn a_measure_that_is_not_positive_is_refused() {
        let domain = Domain::Grid(Grid::unit(&[3]).unwrap());
        let policy = Policy { extent: Extent::All, trained: Quadrature::Uniform, training: None, asked: None };
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let result = policy.connect(&domain).unwrap().symmetrised(vec![1.0, wrong, 1.0]);
            let message = result.unwrap_err().to_string();
            assert!(message.contains("at node 1") && message.contains("choose another quadrature"), "{message}");
        }
    }
}
