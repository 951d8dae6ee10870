//! The networks: lift, repeat an update, project. One file per update rule.
//!
//! [`nkn`], [`gkn`] and [`fno`] act on functions, [`nkn`], `cnn`, `multiscale_cnn`, `nnn` and `preresnet` on images;
//! `function.rs` and `image.rs` put them between their lift and their head.

pub(crate) mod affinity;
pub(crate) mod batch;
pub(crate) mod cnn;
mod config;
mod depth;
mod equation;
mod export;
pub(crate) mod fno;
pub(crate) mod function;
mod geometry;
pub(crate) mod gkn;
pub(crate) mod image;
pub(crate) mod image_batch;
pub(crate) mod layers;
pub(crate) mod maps;
pub(crate) mod multiscale_cnn;
pub(crate) mod nkn;
pub(crate) mod nnn;
pub(crate) mod parameters;
mod predict;
pub(crate) mod preresnet;
mod rollout;
mod space;
mod work;

pub use crate::operator::Integrator;
pub(crate) use batch::{Batch, BatchOptions, Normalisers};
pub use config::{Affinity, Block, Guarantee, Kind, ModelConfig};
pub use depth::Depth;
pub use export::{Exported, ExportedLinks};
pub(crate) use geometry::Geometries;
#[cfg(test)]
pub(crate) use geometry::Geometry;
pub(crate) use image::Averages;
pub use nkn::pixels::Stencil;
pub use parameters::Parameters;
pub use predict::Predicting;
pub(crate) use predict::{InOrder, SIDE_BY_SIDE, check_samples};
pub use rollout::Feed;
pub use space::{ImageShape, Space};
pub use work::{Work, peak_gflops};

use crate::Result;

/// A network with its numbers: everything that a model file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) config: ModelConfig,
    pub(crate) space: Space,
    pub(crate) depth: usize,
    pub(crate) parameters: Parameters,
    /// Running averages of the batch normalisations; most networks have none.
    pub(crate) averages: Averages,
    /// Statistics of the training data.
    pub(crate) normalisers: Normalisers,
}

impl Model {
    /// The architecture.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// What it acts on.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// L.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// What was learned.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The name for people: `NKN, r = 0.1, L = 4`.
    pub fn title(&self) -> String {
        self.config.title(self.depth)
    }

    /// The network on images, without its numbers.
    pub(crate) fn image_network(&self) -> Result<image::Network> {
        match &self.space {
            Space::Images(shape) => image::Network::new(self.config.clone(), *shape, self.depth),
            Space::Functions { .. } => Err(predict::wrong_space("images", &self.space)),
        }
    }

    /// The learned kernel around the pixel in this row and column of the training's grid. A residual network has a kernel in each step of its block.
    pub fn stencil(&self, step: usize, place: (usize, usize)) -> Result<Stencil> {
        let network = self.image_network()?;
        if !self.config.uses_kernel() {
            return Err(function::no_kernel(self.config.kind));
        }
        let prefix = if self.config.kind == Kind::Nkn { String::new() } else { format!("nonlocal.{step}.") };
        nkn::pixels::stencil(&network, &self.parameters, &prefix, place)
    }
}
