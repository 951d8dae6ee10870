//! What a network needs to know of a domain, whatever the samples on it.

use super::batch::Normalisers;
use super::config::{Kind, ModelConfig};
use super::fno::Frequencies;
use crate::domain::{Domain, Enclosure, Neighbourhood, Policy, Quadrature};
use crate::field::Normaliser;
use crate::operator::Edges;
use crate::{Error, Result};
use std::sync::Arc;

/// A domain as a network sees it. Finding neighbours and weighing them takes longer than a small training step, so a geometry is made once and
/// serves every batch on its domain.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub(super) dim: usize,
    /// nodes x dim.
    pub(super) coordinates: Arc<Vec<f64>>,
    /// The domain's box, if it is known: along its periodic axes points have images.
    pub(super) enclosure: Option<Enclosure>,
    /// The statistics of the input fields on this domain.
    pub(super) fields: Arc<Vec<Normaliser>>,
    /// The statistics of the outputs on this domain.
    pub(super) outputs: Arc<Vec<Normaliser>>,
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
                let edges = match config.is_dissipative() {
                    true => policy.connect_symmetrically(domain)?,
                    false => policy.connect(domain)?,
                };
                // NKN acts on differences: a node's edge to itself contributes nothing (it has counted in the weights).
                Links::Edges(if config.kind == Kind::Nkn { edges.without_self() } else { edges }.into())
            }
        };
        let on = |normalisers: &[Normaliser], names: &[String]| -> Result<Arc<Vec<Normaliser>>> {
            let each = normalisers.iter().zip(names);
            let on = each.map(|(normaliser, name)| normaliser.on(training, domain, config.components_of(name)));
            Ok(Arc::new(on.collect::<Result<_>>()?))
        };
        Ok(Self {
            dim: domain.dim(),
            coordinates: Arc::new(domain.coordinates()),
            enclosure: domain.enclosure(),
            fields: on(&normalisers.fields, &config.fields)?,
            outputs: on(&normalisers.outputs, &config.output_names())?,
            links,
        })
    }

    /// Several domains side by side, whose nodes do not see those of another.
    fn union(parts: &[&Self]) -> Result<Self> {
        let first = parts[0];
        let edges = |part: &&Self| match &part.links {
            Links::Edges(edges) => Ok(edges.clone()),
            Links::Frequencies(_) => Err(needs_grid()),
        };
        let edges: Vec<Arc<Edges>> = parts.iter().map(edges).collect::<Result<_>>()?;
        let neighbourhoods: Vec<&Neighbourhood> = edges.iter().map(|edges| &***edges).collect();
        Ok(Self {
            coordinates: Arc::new(parts.iter().flat_map(|part| part.coordinates.iter().copied()).collect()),
            links: Links::Edges(Neighbourhood::union(&neighbourhoods).into()),
            fields: side_by_side(parts, |part| &part.fields),
            outputs: side_by_side(parts, |part| &part.outputs),
            ..first.clone()
        })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.coordinates.len() / self.dim
    }
}

/// The statistics of some fields on domains side by side: those of a node are its own, others are the same everywhere.
fn side_by_side(parts: &[&Geometry], of: impl Fn(&Geometry) -> &Arc<Vec<Normaliser>>) -> Arc<Vec<Normaliser>> {
    let field = |(index, first): (usize, &Normaliser)| {
        let is_pointwise = parts.iter().any(|part| of(part)[index].mean != first.mean);
        if !is_pointwise {
            return first.clone();
        }
        let all = |values: fn(&Normaliser) -> &[f64]| {
            parts.iter().flat_map(|part| values(&of(part)[index]).to_vec()).collect()
        };
        Normaliser { mean: all(|normaliser| &normaliser.mean), std: all(|normaliser| &normaliser.std) }
    };
    Arc::new(of(parts[0]).iter().enumerate().map(field).collect())
}

/// The geometries of samples: one for all, or one for each of the clouds that they are on.
#[derive(Clone, Debug)]
pub struct Geometries {
    distinct: Vec<Geometry>,
    /// Which of them each sample has; empty: all have the same.
    of: Vec<usize>,
}

impl Geometries {
    /// What [`Geometry::new`] makes of each domain of the samples.
    pub fn new(
        config: &ModelConfig,
        normalisers: &Normalisers,
        domain: &Domain,
        quadrature: Option<Quadrature>,
    ) -> Result<Self> {
        let Domain::Clouds(clouds) = domain else {
            let one = Geometry::new(config, normalisers, domain, quadrature)?;
            return Ok(Self { distinct: vec![one], of: Vec::new() });
        };
        let each = clouds.distinct().iter().cloned();
        let geometry = |cloud| Geometry::new(config, normalisers, &Domain::Cloud(cloud), quadrature);
        Ok(Self { distinct: each.map(geometry).collect::<Result<_>>()?, of: clouds.of().to_vec() })
    }

    /// The geometry of a batch of these samples, all on the same domain or taken side by side.
    pub fn of(&self, samples: &[usize]) -> Result<Geometry> {
        if self.of.is_empty() || samples.iter().all(|&sample| self.of[sample] == self.of[samples[0]]) {
            let index = self.of.get(samples[0]).copied().unwrap_or(0);
            return Ok(self.distinct[index].clone());
        }
        Geometry::union(&samples.iter().map(|&sample| &self.distinct[self.of[sample]]).collect::<Vec<_>>())
    }

    /// Splits samples into what can be computed at once: those on the same domain, whose kernel rows are shared, and those on
    /// clouds of their own side by side, at most so many samples and (beyond one sample) nodes.
    pub fn groups(&self, samples: &[usize], count: usize, nodes: usize) -> Vec<Vec<usize>> {
        if self.of.is_empty() {
            return samples.chunks(count).map(<[usize]>::to_vec).collect();
        }
        let mut on: Vec<Vec<usize>> = vec![Vec::new(); self.distinct.len()];
        samples.iter().for_each(|&sample| on[self.of[sample]].push(sample));
        let (alone, shared): (Vec<_>, Vec<_>) =
            on.into_iter().filter(|on| !on.is_empty()).partition(|on| on.len() == 1);
        let mut groups: Vec<Vec<usize>> =
            shared.iter().flat_map(|on| on.chunks(count)).map(<[usize]>::to_vec).collect();
        let (mut side_by_side, mut total) = (Vec::new(), 0);
        for sample in alone.into_iter().flatten() {
            let own = self.distinct[self.of[sample]].nodes();
            if !side_by_side.is_empty() && (side_by_side.len() == count || total + own > nodes) {
                groups.push(std::mem::take(&mut side_by_side));
                total = 0;
            }
            side_by_side.push(sample);
            total += own;
        }
        if !side_by_side.is_empty() {
            groups.push(side_by_side);
        }
        groups
    }
}

/// For a network that cannot act on scattered points.
pub(super) fn needs_grid() -> Error {
    let hint = "use nkn or gkn, or interpolate the data to a grid";
    Error::invalid("the domain of a Fourier network", "a regular grid", "points that differ by sample", hint)
}
