//! A network on images: its parameters, and the way from a batch of images to the scores of the classes.

use super::config::{Block, Kind, ModelConfig};
use super::layers::flatten;
use super::maps::PixelMap;
use super::nkn::pixels as nkn;
use super::nkn::responses::ByResponses;
use super::parameters::{Group, ParameterTensors};
use super::space::{ImageShape, Space};
use super::work::Work;
use super::{cnn, multiscale_cnn, nnn, preresnet};
use crate::Result;
use crate::convolution::{Convolution, Normalisation, Statistics, normalise};
use crate::engine::Engine;
use crate::kernel::{MlpShape, affine, init_linear};
use crate::seed::{Seed, uniform};
use burn::tensor::{Tensor, activation::relu};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// Running averages of the batch normalisations, by name.
pub type Averages = BTreeMap<String, Statistics>;

/// A network without its numbers.
#[derive(Debug)]
pub struct Network {
    /// What it looks like.
    pub config: ModelConfig,
    /// The sizes of the images that it is trained with.
    pub shape: ImageShape,
    /// L: layers, or steps of the nonlocal block.
    pub depth: usize,
    /// Kernel graphs, by resolution and batch: made once.
    pub(crate) graphs: Mutex<HashMap<nkn::GraphKey, Arc<nkn::Graph>>>,
    /// Ways from images to the reference grid, by resolution: made once.
    pub(crate) responses: Mutex<HashMap<usize, Arc<ByResponses>>>,
}

/// Where the normalisations of a pass take their statistics.
pub enum Norms<'a> {
    /// From the batch: training. What was seen is left here.
    Batch(&'a Mutex<Averages>),
    /// From the running averages: prediction.
    Running(&'a Averages),
}

/// One pass through the network.
pub struct Pass<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its numbers.
    pub parameters: &'a ParameterTensors,
    /// Statistics.
    pub norms: Norms<'a>,
    /// Pixels along a side of the images.
    pub side: usize,
    /// Which implementation.
    pub engine: Engine,
    /// Which of the dense layer's inputs are left out: factors, samples x inputs.
    pub dropout: Option<Tensor<2>>,
}

impl Network {
    /// A network for images of this shape.
    pub fn new(config: ModelConfig, shape: ImageShape, depth: usize) -> Result<Self> {
        config.check_for(&Space::Images(shape))?;
        Ok(Self { config, shape, depth, graphs: Mutex::default(), responses: Mutex::default() })
    }

    /// The time step of the nonlocal kernel networks.
    pub(crate) fn step(&self) -> f64 {
        self.config.time / self.depth as f64
    }

    /// The groups of parameters, without values.
    pub(crate) fn groups(&self) -> Result<Vec<Group>> {
        match self.config.kind {
            Kind::Cnn | Kind::MultiscaleCnn => cnn::layout(self),
            Kind::Nnn => nnn::layout(self),
            Kind::Preresnet => preresnet::layout(self),
            // The check of a network for images leaves no other.
            Kind::Nkn | Kind::Gkn | Kind::Fno => nkn::layout(self),
        }
    }

    /// The normalisations' names and numbers of channels.
    pub fn norms(&self) -> Result<Vec<(String, usize)>> {
        let groups = self.groups()?.into_iter();
        Ok(groups.filter(is_norm).map(|g| (g.name.clone(), g.length() / 2)).collect())
    }

    /// Averages before the first batch: mean 0, variance 1.
    pub fn averages(&self) -> Result<Averages> {
        let fresh = |channels: usize| Statistics { mean: vec![0.0; channels], variance: vec![1.0; channels] };
        Ok(self.norms()?.into_iter().map(|(name, channels)| (name, fresh(channels))).collect())
    }

    /// The first values of a group, by the shape of its entries: convolutions as He et al. draw them, everything else as PyTorch does;
    /// normalisations begin with scale 1 and shift 0, sources with 0.
    pub(crate) fn initial(group: &Group, seed: Seed) -> Vec<f32> {
        if is_norm(group) {
            let channels = group.values.len() / 2;
            return [vec![1.0; channels], vec![0.0; channels]].concat();
        }
        let mut values = Vec::with_capacity(group.values.len());
        for (index, entry) in group.entries.iter().enumerate() {
            let seed = seed.derive("entry", index as u64);
            match entry.shape.as_slice() {
                [outputs, inputs] => {
                    // A bias that follows is drawn with its weight.
                    let drawn = init_linear(*inputs, *outputs, seed);
                    let has_bias = group.entries.get(index + 1).is_some_and(|next| next.shape == [*outputs]);
                    values.extend_from_slice(&drawn[..if has_bias { drawn.len() } else { inputs * outputs }]);
                }
                [outputs, inputs, height, width] => {
                    let bound = (6.0 / (inputs * height * width) as f64).sqrt();
                    let mut rng = seed.rng();
                    let count = outputs * inputs * height * width;
                    values.extend((0..count).map(|_| uniform(&mut rng, -bound, bound) as f32));
                }
                _ => {}
            }
            values.resize(entry.range().end.max(values.len()), 0.0);
        }
        values.truncate(group.values.len());
        values
    }

    /// Width of the dense layer's input, for networks that have one after their layers.
    pub fn head_inputs(&self) -> usize {
        let side = if self.config.kind == Kind::Nkn { self.config.reference } else { self.shape.side };
        side.saturating_mul(side).saturating_mul(self.config.width)
    }

    /// What a training step takes: the products of the forward pass, and two more for each of them; the states that are kept for the backward pass.
    pub(crate) fn work(&self, samples: usize) -> Result<Work> {
        let layers = if self.config.kind == Kind::Preresnet { 20 } else { self.depth + 1 };
        let state = 4.0 * (self.shape.side * self.shape.side * samples * self.config.width) as f64;
        Ok(Work { gflop: 3.0 * self.flops(samples)? / 1e9, bytes: 2.0 * layers as f64 * state })
    }

    /// Operations of the products of a forward pass over a batch of training images.
    fn flops(&self, samples: usize) -> Result<f64> {
        let (width, side) = (self.config.width as f64, self.shape.side as f64);
        let nodes = side * side;
        let head = 2.0 * samples as f64 * (self.head_inputs() * self.config.head) as f64;
        let nnn = samples as f64 * 2.0 * nodes * nodes * width * (1.0 + self.depth as f64);
        let all = |convolutions: Vec<Convolution>| convolutions.iter().map(|c| c.flops(samples)).sum::<f64>();
        Ok(match self.config.kind {
            Kind::Nkn | Kind::Gkn | Kind::Fno => head + nkn::flops(self, self.shape.side, samples, self.depth, true)?,
            Kind::Cnn | Kind::MultiscaleCnn => head + all(cnn::convolutions(self)),
            Kind::Nnn => head + nnn,
            Kind::Preresnet => {
                let block = match self.config.block {
                    Block::None => 0.0,
                    Block::Nnn => nnn,
                    Block::Nkn => self.depth as f64 * nkn::flops(self, self.shape.side, samples, 1, false)?,
                };
                block + all(preresnet::convolutions(self))
            }
        })
    }
}

fn is_norm(group: &Group) -> bool {
    group.name.rsplit('.').next().is_some_and(|name| name.starts_with("norm"))
}

impl<'a> Pass<'a> {
    /// The pass of a prediction.
    pub fn predicting(
        network: &'a Network,
        parameters: &'a ParameterTensors,
        averages: &'a Averages,
        side: usize,
    ) -> Self {
        let (norms, engine) = (Norms::Running(averages), Engine::Automatic);
        Self { network, parameters, norms, side, engine, dropout: None }
    }

    /// The scores of the classes, samples x classes, from images of nodes x samples x channels.
    pub fn forward(&self, images: Tensor<3>) -> Result<Tensor<2>> {
        match self.network.config.kind {
            Kind::Nkn | Kind::Gkn | Kind::Fno => nkn::forward(self, images),
            Kind::Cnn => cnn::forward(self, images),
            Kind::MultiscaleCnn => multiscale_cnn::forward(self, images),
            Kind::Nnn => nnn::forward(self, images),
            Kind::Preresnet => preresnet::forward(self, images),
        }
    }

    /// Dense, ReLU, dense: the head that the paper gives its networks. The state must have the nodes that the head was made for.
    pub(crate) fn head(&self, state: Tensor<3>) -> Tensor<2> {
        let [nodes, _, channels] = state.dims();
        let (inputs, hidden) = (nodes * channels, self.network.config.head);
        let mut rows = flatten(state, self.engine);
        if let Some(factors) = &self.dropout {
            rows = rows * factors.clone();
        }
        let parameters = self.parameters.get("head");
        let split = hidden * (inputs + 1);
        let [length] = parameters.dims();
        let rows = relu(affine(rows, parameters.clone().slice(0..split), hidden));
        affine(rows, parameters.slice(split..length), self.network.shape.classes)
    }

    /// [`Self::head`] of a state at the images' resolution, interpolated to the training's.
    pub(crate) fn interpolated_head(&self, mut state: Tensor<3>) -> Tensor<2> {
        let ImageShape { side: trained, resampling, .. } = self.network.shape;
        if self.side != trained {
            state = PixelMap::bilinear(self.side, trained, resampling).apply(state, self.engine);
        }
        self.head(state)
    }

    /// Batch normalisation and ReLU.
    pub(crate) fn normalise(&self, name: &str, state: Tensor<3>) -> Tensor<3> {
        let parameters = self.parameters.get(name);
        match &self.norms {
            Norms::Batch(seen) => {
                let place = Arc::new(Mutex::new(None));
                let result = normalise(state, parameters, &Normalisation::Batch(place.clone()), self.engine);
                if let Some(statistics) = place.lock().expect("nobody panics with it").take() {
                    seen.lock().expect("nobody panics with it").insert(name.to_string(), statistics);
                }
                result
            }
            Norms::Running(running) => {
                normalise(state, parameters, &Normalisation::Fixed(running[name].clone()), self.engine)
            }
        }
    }

    /// Whether this is a training's pass.
    pub(crate) fn is_training(&self) -> bool {
        matches!(self.norms, Norms::Batch(_))
    }
}

/// Dense, ReLU, dense.
pub(crate) fn head_group(network: &Network) -> Result<Group> {
    let widths = [network.head_inputs(), network.config.head, network.shape.classes];
    Ok(Group::perceptron("head", &MlpShape::new("head", &widths)?))
}
