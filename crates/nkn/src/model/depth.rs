//! Depths that a network is asked at, whatever it was trained at.

use super::config::{Kind, ModelConfig};
use super::{Model, Space};
use crate::operator::Integrator;
use crate::{Error, Result};
use std::{fmt, str::FromStr};

/// A number of layers, or the limit of infinitely many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// So many layers.
    Layers(usize),
    /// The equation itself, followed to a tolerance.
    Infinite,
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layers(layers) => layers.fmt(f),
            Self::Infinite => "infinite".fmt(f),
        }
    }
}

impl FromStr for Depth {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match (text, text.parse()) {
            ("infinite", _) => Ok(Self::Infinite),
            (_, Ok(layers)) if layers > 0 => Ok(Self::Layers(layers)),
            _ => Err(Error::invalid("depth", "a positive number, or infinite", format!("{text:?}"), "for example 32")),
        }
    }
}

impl Depth {
    /// The number of layers and, for the limit, the integrator in place of the network's own.
    pub(super) fn layers(self, model: &Model) -> Result<(usize, Option<Integrator>)> {
        if self == Self::Layers(model.depth) {
            return Ok((model.depth, None));
        }
        check(&model.config, &model.space)?;
        Ok(match self {
            Self::Layers(layers) => (layers, None),
            Self::Infinite => (model.depth, Some(Integrator::Exponential)),
        })
    }
}

/// Whether the weights of one depth mean something at another: those of an NKN do, whose layers are steps of one
/// equation.
fn check(config: &ModelConfig, space: &Space) -> Result<()> {
    let why = match (config.kind, space) {
        (Kind::Nkn, Space::Functions { .. }) => return Ok(()),
        (_, Space::Images(_)) => "the steps on images are fused for the depth of the training",
        (Kind::Gkn, _) => "a GKN layer is no step of an equation: more of them have no limit",
        _ => "every layer has weights of its own",
    };
    let hint = format!("{why}: leave the depth out");
    Err(Error::invalid("a depth other than the training's", "an NKN on functions", config.kind, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_are_read_as_they_are_written() {
        for text in ["1", "128", "infinite"] {
            assert_eq!(text.parse::<Depth>().unwrap().to_string(), text);
        }
        for text in ["0", "-1", "infinity", "1.5", ""] {
            let message = text.parse::<Depth>().unwrap_err().to_string();
            assert!(message.contains("a positive number, or infinite"), "{message}");
        }
    }
}
