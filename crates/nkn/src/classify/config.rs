//! What a classifier of images looks like, and how it is trained.

use crate::domain::Quadrature;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The network between an image and its class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// Nonlocal kernel network.
    #[default]
    Nkn,
    /// Convolutions with ReLU.
    Cnn,
    /// Convolutions with tanh that are carried to other resolutions by prolongation and restriction.
    MultiscaleCnn,
    /// Nonlocal neural network.
    Nnn,
    /// The pre-activation residual network of 20 layers.
    Preresnet,
}

/// What stands after the second residual block of a residual network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Nothing: the baseline.
    #[default]
    None,
    /// Steps of a nonlocal neural network.
    Nnn,
    /// Steps of a nonlocal kernel network, each with its own kernel and reaction.
    Nkn,
}

/// The `[model]` table of a classifier's configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClassifierConfig {
    /// The network.
    pub architecture: Architecture,
    /// Residual networks: the nonlocal block.
    pub block: Block,
    /// L: layers, or steps of the nonlocal block.
    pub depth: usize,
    /// d: features at a pixel.
    pub width: usize,
    /// Radius of the neighbourhood in pixels of the original images (NKN).
    pub radius: f64,
    /// How neighbours are weighted (NKN): overlap, or mean.
    pub quadrature: Quadrature,
    /// Hidden widths of the kernel network (NKN).
    pub kernel: Vec<usize>,
    /// Hidden widths of the reaction network (NKN).
    pub reaction: Vec<usize>,
    /// Pixels along a side of the grid on which NKN's output is averaged before the dense layers.
    pub reference: usize,
    /// Width of the dense layer.
    pub head: usize,
    /// Share of the dense layer's inputs that are left out at random in training.
    pub dropout: f64,
}

impl Default for ClassifierConfig {
    fn default() -> Self {
        Self {
            architecture: Architecture::Nkn,
            block: Block::None,
            depth: 1,
            width: 16,
            radius: 3.0,
            quadrature: Quadrature::Overlap,
            kernel: vec![32, 32],
            reaction: vec![32, 32],
            reference: 14,
            head: 128,
            dropout: 0.0,
        }
    }
}

impl ClassifierConfig {
    /// Refuses what no network can be built from.
    pub fn check(&self) -> Result<()> {
        let sizes = [("depth", self.depth), ("width", self.width), ("reference", self.reference), ("head", self.head)];
        let hidden = self.kernel.iter().map(|&w| ("kernel", w)).chain(self.reaction.iter().map(|&w| ("reaction", w)));
        for (name, value) in sizes.into_iter().chain(hidden) {
            if value == 0 {
                return Err(Error::invalid(format!("model.{name}"), "1 or more", 0, "give a positive whole number"));
            }
        }
        if self.uses_kernel() {
            crate::domain::connect_pixels(2, 2.0, self.radius, self.quadrature)?;
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::invalid("model.dropout", "a share from 0 to below 1", self.dropout, "for example 0.2"));
        }
        if self.block != Block::None && self.architecture != Architecture::Preresnet {
            return Err(Error::invalid(
                "model.block",
                "none, unless model.architecture is preresnet",
                format!("{:?}", self.block).to_lowercase(),
                "a nonlocal block stands in a residual network",
            ));
        }
        Ok(())
    }

    /// Whether the network has a learned kernel.
    pub fn uses_kernel(&self) -> bool {
        self.architecture == Architecture::Nkn || self.block == Block::Nkn
    }

    /// The name for people: `NKN, r = 3, L = 2`.
    pub fn title(&self) -> String {
        let depth = self.depth;
        match (self.architecture, self.block) {
            (Architecture::Nkn, _) => format!("NKN, r = {}, L = {depth}", self.radius),
            (Architecture::Cnn, _) => format!("CNN, L = {depth}"),
            (Architecture::MultiscaleCnn, _) => format!("multiscale CNN, L = {depth}"),
            (Architecture::Nnn, _) => format!("NNN, L = {depth}"),
            (Architecture::Preresnet, Block::None) => "PreResNet-20".into(),
            (Architecture::Preresnet, Block::Nnn) => format!("PreResNet-20 with {depth} NNN steps"),
            (Architecture::Preresnet, Block::Nkn) => {
                format!("PreResNet-20 with {depth} NKN steps, r = {}", self.radius)
            }
        }
    }

    /// The name of the table's row in the paper: `nkn-r3-l2`, `cnn-l1`, `preresnet20`.
    pub fn name(&self) -> String {
        let depth = self.depth;
        let nkn = || format!("nkn-r{}-l{depth}", self.radius);
        match (self.architecture, self.block) {
            (Architecture::Nkn, _) | (_, Block::Nkn) => nkn(),
            (Architecture::Cnn, _) => format!("cnn-l{depth}"),
            (Architecture::MultiscaleCnn, _) => format!("multiscale-cnn-l{depth}"),
            (Architecture::Nnn, _) | (_, Block::Nnn) => format!("nnn-l{depth}"),
            (Architecture::Preresnet, Block::None) => "preresnet20".into(),
        }
    }
}

/// The sizes that the data give.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageShape {
    /// Pixels along a side of the training images.
    pub side: usize,
    /// 1 or 3.
    pub channels: usize,
    /// The side of the square that an image covers, in pixels of the original images: what the radius is measured in.
    pub extent: f64,
    /// The number of classes.
    pub classes: usize,
}

/// How the learning rate falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decay {
    /// Along half a cosine, step by step.
    #[default]
    Cosine,
    /// By 10 at 40 %, 60 % and 80 % of the epochs, by 2 at 90 %: the published residual networks.
    Steps,
}

impl Decay {
    /// The share of the first rate when this share of the training is over.
    pub fn share(self, progress: f64) -> f64 {
        match self {
            Decay::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
            Decay::Steps => match progress {
                p if p < 0.4 => 1.0,
                p if p < 0.6 => 0.1,
                p if p < 0.8 => 0.01,
                p if p < 0.9 => 0.001,
                _ => 0.0005,
            },
        }
    }
}

/// The `[train]` table of a classifier's configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClassifierTraining {
    /// Passes over the data.
    pub epochs: usize,
    /// Images per step.
    pub batch: usize,
    /// The first learning rate of Adam.
    pub learning_rate: f64,
    /// How it falls.
    pub decay: Decay,
    /// L2 regularisation.
    pub weight_decay: f64,
    /// Whether images are mirrored at random.
    pub flip: bool,
    /// Images are moved at random by up to this many pixels along each axis.
    pub shift: usize,
    /// Seconds between two checkpoints.
    pub checkpoint_seconds: f64,
    /// Where all randomness comes from.
    pub seed: u64,
}

impl Default for ClassifierTraining {
    fn default() -> Self {
        Self {
            epochs: 5,
            batch: 128,
            learning_rate: 1e-3,
            decay: Decay::Cosine,
            weight_decay: 0.0,
            flip: false,
            shift: 0,
            checkpoint_seconds: 30.0,
            seed: 0,
        }
    }
}

impl ClassifierTraining {
    /// Refuses settings that cannot be trained with.
    pub fn check(&self) -> Result<()> {
        let hint = "see configs/mnist.toml for usual values";
        for (name, value) in [("epochs", self.epochs), ("batch", self.batch)] {
            if value == 0 {
                return Err(Error::invalid(format!("train.{name}"), "1 or more", value, hint));
            }
        }
        let numbers = [
            ("learning_rate", self.learning_rate, self.learning_rate > 0.0),
            ("weight_decay", self.weight_decay, self.weight_decay >= 0.0),
            ("checkpoint_seconds", self.checkpoint_seconds, self.checkpoint_seconds >= 0.0),
        ];
        for (name, value, is_fine) in numbers {
            if !(is_fine && value.is_finite()) {
                return Err(Error::invalid(format!("train.{name}"), "a positive number", value, hint));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_fall() {
        assert_eq!(Decay::Cosine.share(0.0), 1.0);
        assert!(Decay::Cosine.share(0.999) < 1e-4);
        assert_eq!(Decay::Steps.share(0.5), 0.1);
        assert_eq!(Decay::Steps.share(0.95), 0.0005);
    }

    #[test]
    fn wrong_networks_are_refused() {
        let wrong = [
            ClassifierConfig { depth: 0, ..Default::default() },
            ClassifierConfig { radius: -1.0, ..Default::default() },
            ClassifierConfig { quadrature: Quadrature::Trapezoid, ..Default::default() },
            ClassifierConfig { block: Block::Nkn, ..Default::default() },
            ClassifierConfig { dropout: 1.0, ..Default::default() },
        ];
        for config in wrong {
            assert!(config.check().is_err(), "{config:?}");
        }
        ClassifierConfig::default().check().unwrap();
    }
}
