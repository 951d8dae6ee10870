//! Which rule a trained network uses on which domain.
//!
//! On the domain of its training a network uses the rule it was trained with. Elsewhere that rule may be another integral, or a needlessly
//! expensive one; the table says what takes its place, unless a rule is asked for.
//!
//! | trained on a grid with | on another grid, or on scattered points |
//! |---|---|
//! | `mean` | the training's stencil; where its displacements do not fit, `overlap` |
//! | `overlap` | on a grid finer than half the training's spacing the neighbours at multiples of that half; else `overlap` |
//! | others | the same rule |

use super::{Domain, Extent, Neighbourhood, Quadrature, TrainingRule, connect, reversible};
use crate::{Error, Result};

/// What decides the neighbours of a network, besides the domain it is used on.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    /// How far the integral reaches.
    pub extent: Extent,
    /// The rule of the training.
    pub trained: Quadrature,
    /// The domain of the training, if it is known.
    pub training: Option<&'a Domain>,
    /// The rule that is asked for in place of the table's.
    pub asked: Option<Quadrature>,
}

impl Policy<'_> {
    /// The neighbours on a domain, every node its own.
    pub fn connect(&self, domain: &Domain) -> Result<Neighbourhood> {
        Ok(self.connect_by_rule(domain)?.0)
    }

    /// The same with weights that are symmetric for a measure of the nodes, which the neighbourhood then has.
    pub fn connect_symmetrically(&self, domain: &Domain) -> Result<Neighbourhood> {
        let (neighbours, rule, training) = self.connect_by_rule(domain)?;
        let measure = reversible::measure(domain, &neighbours, rule, training.as_ref())?;
        neighbours.symmetrised(measure)
    }

    /// The neighbours, the rule that was taken and, with `stencil`, the training that it repeats.
    fn connect_by_rule(&self, domain: &Domain) -> Result<(Neighbourhood, Quadrature, Option<TrainingRule>)> {
        let training = self.training.and_then(|training| match training {
            Domain::Grid(grid) => Some(TrainingRule { spacing: grid.spacing(), quadrature: self.trained }),
            Domain::Cloud(_) | Domain::Clouds(_) => None,
        });
        let by = |rule: Quadrature, training: Option<&TrainingRule>| {
            let neighbours = connect(domain, &self.extent, rule, training)?;
            Ok((neighbours, rule.chosen_for(domain, &self.extent), training.cloned()))
        };
        let is_other = self.training.is_some_and(|training| training != domain);
        match (self.asked, self.trained) {
            (Some(asked), _) => by(asked, training.as_ref()),
            // The mean over the neighbours is another rule on every grid.
            (None, Quadrature::Mean) if is_other && (matches!(domain, Domain::Grid(_)) || training.is_some()) => {
                by(Quadrature::Stencil, training.as_ref())
                    .or_else(|_: Error| by(Quadrature::Overlap, training.as_ref()))
            }
            // Half the training's spacing is fine enough for the integral: beyond that the cost would grow with the fourth power of the
            // resolution and the error stay.
            (None, Quadrature::Overlap) if is_other => {
                let half = training
                    .map(|rule| TrainingRule { spacing: rule.spacing.iter().map(|step| step / 2.0).collect(), ..rule });
                by(Quadrature::Stencil, half.as_ref()).or_else(|_: Error| by(Quadrature::Overlap, None))
            }
            (None, trained) => by(trained, training.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Grid, PointCloud};

    fn square(side: usize) -> Domain {
        Domain::Grid(Grid::unit(&[side, side]).unwrap())
    }

    fn policy(trained: Quadrature, training: &Domain) -> Policy<'_> {
        let extent = Extent::Ball { radius: 0.25, inclusive: false };
        Policy { extent, trained, training: Some(training), asked: None }
    }

    fn plain(policy: &Policy, domain: &Domain, rule: Quadrature) -> Neighbourhood {
        Policy { asked: Some(rule), ..*policy }.connect(domain).unwrap()
    }

    #[test]
    fn at_home_every_rule_is_the_trainings_own() {
        let home = square(9);
        for rule in [Quadrature::Mean, Quadrature::Uniform, Quadrature::Trapezoid, Quadrature::Overlap] {
            let policy = policy(rule, &home);
            let known = policy.connect(&home).unwrap();
            assert_eq!(known, connect(&home, &policy.extent, rule, None).unwrap(), "{rule}");
            assert_eq!(known, Policy { training: None, ..policy }.connect(&home).unwrap(), "{rule}");
        }
    }

    #[test]
    fn a_mean_keeps_its_stencil_where_that_fits() {
        let home = square(9);
        let policy = policy(Quadrature::Mean, &home);
        // 17 nodes have every other one in common with 9, 10 have none between.
        let finer = square(17);
        assert_eq!(policy.connect(&finer).unwrap(), plain(&policy, &finer, Quadrature::Stencil));
        let skew = square(10);
        assert!(Policy { asked: Some(Quadrature::Stencil), ..policy }.connect(&skew).is_err());
        assert_eq!(policy.connect(&skew).unwrap(), plain(&policy, &skew, Quadrature::Overlap));
        // Scattered points have no stencil, but cells. A network from such points keeps the mean.
        let cloud = Domain::Cloud(PointCloud::new(2, finer.coordinates(), 1.0).unwrap());
        assert_eq!(policy.connect(&cloud).unwrap(), plain(&policy, &cloud, Quadrature::Overlap));
        let scattered = Domain::Cloud(PointCloud::new(2, home.coordinates(), 1.0).unwrap());
        let of_cloud = Policy { training: Some(&scattered), ..policy };
        assert_eq!(of_cloud.connect(&cloud).unwrap(), plain(&policy, &cloud, Quadrature::Mean));
    }

    #[test]
    fn an_overlap_thins_out_beyond_half_the_spacing() {
        let home = square(16);
        let policy = policy(Quadrature::Overlap, &home);
        let edges = |side: usize| policy.connect(&square(side)).unwrap().edges() as f64 / (side * side) as f64;
        for side in [11, 16, 21, 31] {
            let domain = square(side);
            assert_eq!(policy.connect(&domain).unwrap(), plain(&policy, &domain, Quadrature::Overlap), "{side}");
        }
        let fine = square(61);
        let thinned = policy.connect(&fine).unwrap();
        assert!(thinned.edges() * 2 < plain(&policy, &fine, Quadrature::Overlap).edges());
        // The cost per node stays, up to the boundary, and the weights still sum to one.
        assert!((edges(121) / edges(61) - 1.0).abs() < 0.1);
        for node in [0, 5, 61 * 30 + 30] {
            let total: f64 = thinned.row(node).map(|(_, weight)| weight).sum();
            assert!((total - 1.0).abs() < 1e-9, "{total}");
        }
    }

    #[test]
    fn what_is_asked_for_is_done() {
        let home = square(9);
        let policy = policy(Quadrature::Overlap, &home);
        let finer = square(33);
        let asked = Policy { asked: Some(Quadrature::Uniform), ..policy }.connect(&finer).unwrap();
        assert_eq!(asked, connect(&finer, &policy.extent, Quadrature::Uniform, None).unwrap());
        let cloud = Domain::Cloud(PointCloud::new(2, home.coordinates(), 1.0).unwrap());
        assert!(Policy { asked: Some(Quadrature::Stencil), ..policy }.connect(&cloud).is_err());
    }
}
