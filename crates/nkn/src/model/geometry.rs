//! What a network needs to know of a domain, whatever the samples on it.

use super::batch::Normalisers;
use super::config::{Kind, ModelConfig};
use super::fno::Frequencies;
use crate::Result;
use crate::domain::{Domain, Policy, Quadrature};
use crate::field::Normaliser;
use crate::operator::Edges;
use std::sync::Arc;

/// A domain as a network sees it. Finding neighbours and weighing them takes longer than a small training step, so a geometry is made once and
/// serves every batch on its domain.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub(super) dim: usize,
    /// nodes x dim.
    pub(super) coordinates: Arc<Vec<f64>>,
    /// The statistics of the input fields on this domain.
    pub(super) fields: Arc<Vec<Normaliser>>,
    /// The statistics of the output on this domain.
    pub(super) output: Arc<Normaliser>,
    pub(super) links: Links,
}

/// How the nodes of a domain act on each other.
#[derive(Clone, Debug)]
pub(super) enum Links {
    /// NKN and GKN: along edges.
    Edges(Arc<Edges>),
    /// FNO: through frequencies.
    Frequencies(Frequencies),
}

impl Geometry {
    /// The geometry of a domain; `quadrature` in place of the one that [`Policy`] chooses.
    pub fn new(
        config: &ModelConfig,
        normalisers: &Normalisers,
        domain: &Domain,
        quadrature: Option<Quadrature>,
    ) -> Result<Self> {
        let training = normalisers.training.as_ref();
        let links = match config.kind {
            Kind::Fno => Links::Frequencies(Frequencies::new(config.modes, domain, training)?),
            _ => {
                let policy =
                    Policy { extent: config.extent(), trained: config.quadrature, training, asked: quadrature };
                let edges = policy.connect(domain)?;
                // NKN acts on differences: a node's edge to itself contributes nothing (it has counted in the weights).
                Links::Edges(if config.kind == Kind::Nkn { edges.without_self() } else { edges }.into())
            }
        };
        let fields: Vec<Normaliser> =
            normalisers.fields.iter().map(|field| field.on(training, domain)).collect::<Result<_>>()?;
        Ok(Self {
            dim: domain.dim(),
            coordinates: Arc::new(domain.coordinates()),
            fields: Arc::new(fields),
            output: Arc::new(normalisers.output.on(training, domain)?),
            links,
        })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.coordinates.len() / self.dim
    }
}
