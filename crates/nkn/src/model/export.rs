//! A network on a domain in plain arrays: what an implementation in another framework needs besides the tensors of the model file.

use super::Model;
use super::geometry::{Geometry, Links};
use super::predict::wrong_space;
use super::space::Space;
use crate::domain::Domain;
use crate::error::ensure;
use crate::field::Normaliser;
use crate::kernel::RowTable;
use crate::{Error, Result};

/// A domain as a network sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exported {
    /// nodes x dim.
    pub points: Vec<f64>,
    /// The statistics of the input fields on this domain, in the order of `model.fields`: of none, one or every node.
    pub fields: Vec<Normaliser>,
    /// The same of the outputs.
    pub outputs: Vec<Normaliser>,
    /// How the nodes act on each other.
    pub links: ExportedLinks,
}

/// How the nodes of a domain act on each other.
#[derive(Clone, Debug, PartialEq)]
pub enum ExportedLinks {
    /// NKN and GKN: the integral at a node x is the sum over its edges of weight times k times h(y).
    Edges {
        /// The node x of each edge.
        targets: Vec<u32>,
        /// The node y.
        sources: Vec<u32>,
        /// The weight of the rule for the integral.
        weights: Vec<f64>,
        /// edges x 2 dim: x, and y as the kernel sees it, along a periodic axis the image that is nearest to x.
        ends: Vec<f64>,
    },
    /// FNO: the truncated transform, whose transpose with the gains is its inverse.
    Frequencies {
        /// (frequencies x 2) x nodes: real and imaginary part of each frequency.
        transform: Vec<f64>,
        /// Where each frequency's matrix stands among those of `spectral.l.weight`.
        places: Vec<usize>,
        /// What each frequency is multiplied with on the way back.
        gains: Vec<f64>,
    },
}

impl Model {
    /// What the network's equation needs to know of a domain.
    ///
    /// ```
    /// # use nkn::{Nkn, model::ExportedLinks, problem::poisson, seed::Seed};
    /// let train = poisson::generate(Seed::new(0), 0, 4, 9)?;
    /// let model = Nkn::new().kernel([8]).epochs(1).fit(&train)?;
    /// let ExportedLinks::Edges { targets, ends, .. } = model.exported(train.domain())?.links else { panic!() };
    /// assert_eq!((targets.len(), ends.len()), (9 * 8, 2 * 9 * 8)); // everybody but oneself
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn exported(&self, domain: &Domain) -> Result<Exported> {
        let Space::Functions { dim } = self.space else { return Err(wrong_space("functions", &self.space)) };
        let hint = "give points of the dimension of the training";
        ensure!(
            domain.dim() == dim,
            Error::invalid("the dimension of the points", dim.to_string(), domain.dim(), hint)
        );
        let hint = "ask for one sample after the other";
        let is_one = !matches!(domain, Domain::Clouds(_));
        ensure!(is_one, Error::invalid("the points", "the same for all samples", "some for each sample", hint));
        let geometry = Geometry::new(&self.config, &self.normalisers, domain, None)?;
        let links = match &geometry.links {
            Links::Edges(edges) => {
                let rows = RowTable::shared(edges.edges(), 1);
                let places = (geometry.coordinates.as_slice(), geometry.enclosure.as_ref());
                ExportedLinks::Edges {
                    targets: edges.targets.clone(),
                    sources: edges.sources().to_vec(),
                    weights: edges.weights().to_vec(),
                    ends: rows.inputs(edges, dim, places, &[]),
                }
            }
            Links::Frequencies(frequencies) => {
                let all = 0..frequencies.len();
                ExportedLinks::Frequencies {
                    transform: frequencies.matrix(),
                    places: all.clone().map(|index| frequencies.weight_of(index)).collect(),
                    gains: all.map(|index| frequencies.gain(index)).collect(),
                }
            }
        };
        let Geometry { coordinates, fields, outputs, .. } = geometry;
        Ok(Exported { points: coordinates.to_vec(), fields: fields.to_vec(), outputs: outputs.to_vec(), links })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Clouds, Grid, PointCloud};
    use crate::{Fno, Gkn, Samples};

    /// The nodes of a ring see the nearest image of their neighbours.
    #[test]
    fn ends_lie_beside_each_other() {
        let grid = Grid::unit(&[8]).unwrap().periodic(&[true]).unwrap();
        let train = Samples::on(grid).input("f", vec![1.0; 8]).unwrap().output("u", vec![2.0; 8]).unwrap();
        let model = Gkn::new().kernel([4]).radius(0.2).epochs(1).fit(&train).unwrap();
        let exported = model.exported(train.domain()).unwrap();
        let ExportedLinks::Edges { targets, sources, weights, ends } = exported.links else { panic!() };
        assert!(targets.contains(&0) && sources.len() == weights.len() && ends.len() == 2 * sources.len());
        // The rule counts neighbours whose cells, of the width 1/8, reach into the ball.
        assert!(ends.chunks(2).all(|pair| (pair[0] - pair[1]).abs() < 0.2 + 1.0 / 16.0), "{ends:?}");
        assert!(targets.iter().zip(&sources).any(|(&x, &y)| x == 0 && y == 7));
    }

    #[test]
    fn domains_that_do_not_fit_are_refused() {
        let train = Samples::on(Grid::unit(&[8]).unwrap()).input("f", vec![1.0; 8]).unwrap();
        let model = Fno::new().modes(3).epochs(1).fit(&train.output("u", vec![2.0; 8]).unwrap()).unwrap();
        let ExportedLinks::Frequencies { transform, places, gains } =
            model.exported(&Grid::unit(&[16]).unwrap().into()).unwrap().links
        else {
            panic!()
        };
        assert_eq!((transform.len(), places, gains), (3 * 2 * 16, vec![0, 1, 2], vec![16.0, 32.0, 32.0]));
        let message = |domain: Domain| model.exported(&domain).unwrap_err().to_string();
        assert!(message(Grid::unit(&[4, 4]).unwrap().into()).contains("the dimension of the points: expected 1"));
        let cloud = |shift: f64| PointCloud::new(1, vec![shift, 0.5], 1.0).unwrap();
        assert!(
            message(Clouds::new(vec![cloud(0.0), cloud(0.1)]).unwrap().into()).contains("the same for all samples")
        );
    }
}
