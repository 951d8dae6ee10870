//! What a network looks like, checked once.

use super::space::Space;
use crate::domain::{Extent, Quadrature};
use crate::field::NormaliserKind;
use crate::operator::Integrator;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which update the layers make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Nonlocal kernel network.
    #[default]
    Nkn,
    /// Graph kernel network.
    Gkn,
    /// Fourier neural operator.
    Fno,
    /// Convolutions with ReLU (images).
    Cnn,
    /// Convolutions with tanh that are carried to other resolutions by prolongation and restriction (images).
    MultiscaleCnn,
    /// Nonlocal neural network (images).
    Nnn,
    /// The pre-activation residual network of 20 layers (images).
    Preresnet,
}

/// The name in configuration files.
impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
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

/// What two pixels' affinity is the softmax of, in a nonlocal neural network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Affinity {
    /// The dot product of their features: it grows with the features, until a pixel looks at the very brightest alone.
    #[default]
    Dot,
    /// The cosine between their features: from -1 to 1, however large they become.
    Cosine,
}

/// What is known of the equation behind an NKN, whatever its weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// Nothing: kernel and reaction are free, as in the paper.
    #[default]
    Free,
    /// Kernel and reaction take energy out of the state: see `model/nkn/dissipative.rs`.
    Dissipative,
}

/// The name in configuration files.
impl std::fmt::Display for Guarantee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// The architecture: the `[model]` table of a configuration file.
///
/// ```
/// use nkn::model::ModelConfig;
/// let poisson = ModelConfig { fields: vec!["f".into()], ..ModelConfig::default() };
/// poisson.check()?;
/// # Ok::<(), nkn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// The update rule.
    pub kind: Kind,
    /// Residual networks: the nonlocal block.
    #[serde(skip_serializing_if = "is_default")]
    pub block: Block,
    /// What the affinity of two pixels is made of (NNN, alone or as a block).
    #[serde(skip_serializing_if = "is_default")]
    pub affinity: Affinity,
    /// d, the number of features of h at a node.
    pub width: usize,
    /// Hidden widths of the kernel network (NKN, GKN).
    pub kernel: Vec<usize>,
    /// Hidden widths of the reaction network (NKN).
    pub reaction: Vec<usize>,
    /// T: L layers are L steps of T / L (NKN).
    pub time: f64,
    /// What is known of the equation whatever the weights (NKN on functions).
    #[serde(skip_serializing_if = "is_default")]
    pub stability: Guarantee,
    /// How the equation is followed from 0 to T (NKN on functions).
    #[serde(skip_serializing_if = "is_default")]
    pub integrator: Integrator,
    /// Whether the last layer is activated too (GKN).
    pub activate_last: bool,
    /// Frequencies per axis and sign that a layer keeps (FNO).
    pub modes: usize,
    /// Hidden width of the head (FNO, images).
    pub head: usize,
    /// Functions: the input fields that the lift sees, besides x.
    pub fields: Vec<String>,
    /// Functions: the input fields that the kernel sees at x and at y, besides x and y.
    pub kernel_fields: Vec<String>,
    /// Functions: the outputs that are learned; left out, all of the data's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Functions: the number of components of the fields that are vectors. The data say it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<String, usize>,
    /// Radius of the neighbourhood; without it every node is everybody's neighbour. Images: in pixels of the original images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Functions: so many nearest nodes instead of a radius, which follows the density of scattered points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<usize>,
    /// Whether nodes at distance exactly r are neighbours.
    pub inclusive: bool,
    /// The rule that turns the integral into a sum; left out, the domain decides.
    pub quadrature: Quadrature,
    /// How the input fields are normalised.
    pub normalise_input: NormaliserKind,
    /// How the output is normalised.
    pub normalise_output: NormaliserKind,
    /// Images: pixels along a side of the grid on which NKN's output is averaged before the dense layers.
    #[serde(skip_serializing_if = "is_usual_reference")]
    pub reference: usize,
    /// Images: share of the dense layer's inputs that are left out at random in training.
    #[serde(skip_serializing_if = "is_default")]
    pub dropout: f64,
}

/// The reference grid of the paper's digits: every second pixel.
const REFERENCE: usize = 14;

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_usual_reference(reference: &usize) -> bool {
    *reference == REFERENCE
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            kind: Kind::Nkn,
            block: Block::None,
            affinity: Affinity::Dot,
            width: 1,
            kernel: vec![256, 256],
            reaction: vec![64],
            time: 1.0,
            stability: Guarantee::Free,
            integrator: Integrator::Euler,
            activate_last: true,
            modes: 16,
            head: 128,
            fields: Vec::new(),
            kernel_fields: Vec::new(),
            outputs: Vec::new(),
            components: BTreeMap::new(),
            radius: None,
            neighbours: None,
            inclusive: false,
            quadrature: Quadrature::Automatic,
            normalise_input: NormaliserKind::None,
            normalise_output: NormaliserKind::None,
            reference: REFERENCE,
            dropout: 0.0,
        }
    }
}

impl ModelConfig {
    /// The paper's network for 2D Darcy flow.
    pub fn darcy() -> Self {
        Self {
            width: 64,
            kernel: vec![512, 1024],
            reaction: vec![512, 1024],
            fields: ["b", "b_eps", "b_eps_x", "b_eps_y"].map(String::from).to_vec(),
            kernel_fields: vec!["b".into()],
            radius: Some(0.1),
            quadrature: Quadrature::Mean,
            normalise_input: NormaliserKind::Scalar,
            normalise_output: NormaliserKind::Scalar,
            ..Self::default()
        }
    }

    /// The paper's Fourier neural operator for 1D Poisson: the input is f.
    pub fn fno_1d() -> Self {
        Self { kind: Kind::Fno, width: 64, modes: 16, fields: vec!["f".into()], ..Self::default() }
    }

    /// The paper's Fourier neural operator for 2D Darcy flow: it sees b alone, normalised point by point.
    pub fn fno_2d() -> Self {
        Self {
            kind: Kind::Fno,
            width: 32,
            modes: 9,
            fields: vec!["b".into()],
            normalise_input: NormaliserKind::Pointwise,
            normalise_output: NormaliserKind::Pointwise,
            ..Self::default()
        }
    }

    /// The paper's network for images of digits.
    pub fn images() -> Self {
        Self {
            width: 16,
            kernel: vec![32, 32],
            reaction: vec![32, 32],
            radius: Some(3.0),
            quadrature: Quadrature::Overlap,
            ..Self::default()
        }
    }

    /// Refuses what no network can be built from.
    pub fn check(&self) -> Result<()> {
        let sizes = [("width", self.width), ("modes", self.modes), ("head", self.head), ("reference", self.reference)];
        let hidden = self.kernel.iter().map(|&w| ("kernel", w)).chain(self.reaction.iter().map(|&w| ("reaction", w)));
        for (name, value) in sizes.into_iter().chain(hidden) {
            if value == 0 {
                let hint = "give a positive whole number";
                return Err(Error::invalid(format!("model.{name}"), "1 or more", value, hint));
            }
        }
        if !(self.time.is_finite() && self.time > 0.0) {
            return Err(Error::invalid("model.time", "a positive number", self.time, "the paper takes 1.0"));
        }
        if let Some(radius) = self.radius
            && !(radius.is_finite() && radius > 0.0)
        {
            let hint = "leave it out to connect every node with every other";
            return Err(Error::invalid("model.radius", "a positive number", radius, hint));
        }
        if let Some(neighbours) = self.neighbours
            && (neighbours == 0 || self.radius.is_some())
        {
            let got = if neighbours == 0 { "0" } else { "both" };
            let expected = "a positive number, or a radius";
            return Err(Error::invalid("model.neighbours", expected, got, "for example 30, and no radius"));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(Error::invalid("model.dropout", "a share from 0 to below 1", self.dropout, "for example 0.2"));
        }
        if self.is_dissipative() && self.kind != Kind::Nkn {
            let hint = "the other networks have no energy that a layer could take out: leave it out";
            let expected = "free, unless model.kind is nkn";
            return Err(Error::invalid(
                "model.stability",
                expected,
                format!("{} with {}", self.stability, self.kind),
                hint,
            ));
        }
        if self.integrator != Integrator::Euler && self.kind != Kind::Nkn {
            let hint = "the layers of the other networks are no steps in time: leave it out";
            let got = format!("{} with {}", self.integrator, self.kind);
            return Err(Error::invalid("model.integrator", "euler, unless model.kind is nkn", got, hint));
        }
        if self.block != Block::None && self.kind != Kind::Preresnet {
            let got = format!("{:?}", self.block).to_lowercase();
            let hint = "a nonlocal block stands in a residual network";
            return Err(Error::invalid("model.block", "none, unless model.kind is preresnet", got, hint));
        }
        if self.affinity != Affinity::Dot && self.kind != Kind::Nnn && self.block != Block::Nnn {
            let got = format!("{:?} with {}", self.affinity, self.kind).to_lowercase();
            let expected = "dot, unless model.kind or model.block is nnn";
            let hint = "the other networks have no affinity: leave it out";
            return Err(Error::invalid("model.affinity", expected, got, hint));
        }
        Ok(())
    }

    /// Refuses what cannot act on such samples.
    pub fn check_for(&self, space: &Space) -> Result<()> {
        self.check()?;
        let kinds = space.kinds();
        if !kinds.contains(&self.kind) {
            let names: Vec<String> = kinds.iter().map(Kind::to_string).collect();
            let expected = format!("one of {} for {}", names.join(", "), space.title());
            return Err(Error::invalid("model.kind", expected, self.kind, "choose one of these"));
        }
        match space {
            Space::Functions { .. } => self.check_fields(),
            Space::Images(_) if self.is_dissipative() || self.integrator != Integrator::Euler => {
                let hint =
                    "the steps on images are fused with their lift: leave model.stability and model.integrator out";
                let got = format!("{} and {}", self.stability, self.integrator);
                Err(Error::invalid("model.stability and model.integrator", "free and euler for images", got, hint))
            }
            Space::Images(_) if self.uses_kernel() => {
                let radius = self.pixel_radius();
                crate::domain::connect_pixels(2, 2.0, radius, self.quadrature).map(|_| ())
            }
            Space::Images(_) => Ok(()),
        }
    }

    fn check_fields(&self) -> Result<()> {
        if self.fields.is_empty() {
            let hint = "give the network an input; left out, it takes all fields of the data";
            return Err(Error::invalid("model.fields", "at least one input field", "none", hint));
        }
        if let Some(name) = self.kernel_fields.iter().find(|name| !self.fields.contains(name)) {
            let expected = format!("names from model.fields {:?}", self.fields);
            let hint = "add the field to model.fields";
            return Err(Error::invalid("model.kernel_fields", expected, format!("{name:?}"), hint));
        }
        Ok(())
    }

    /// The numbers at a node of a field.
    pub fn components_of(&self, name: &str) -> usize {
        self.components.get(name).copied().unwrap_or(1)
    }

    /// The numbers at a node of some fields together.
    pub(crate) fn columns(&self, names: &[String]) -> usize {
        names.iter().map(|name| self.components_of(name)).sum()
    }

    /// The names of the outputs: `u`, unless they are given.
    pub fn output_names(&self) -> Vec<String> {
        if self.outputs.is_empty() { vec!["u".into()] } else { self.outputs.clone() }
    }

    /// The components of each output.
    pub(crate) fn output_components(&self) -> Vec<usize> {
        self.output_names().iter().map(|name| self.components_of(name)).collect()
    }

    /// The numbers at a node of all outputs.
    pub(crate) fn output_columns(&self) -> usize {
        self.columns(&self.output_names())
    }

    /// Whether kernel and reaction take energy out of the state, whatever the weights.
    pub fn is_dissipative(&self) -> bool {
        self.stability == Guarantee::Dissipative
    }

    /// Whether it is dissipative with a free kernel: of one feature, where the kernel does not see fields.
    pub(crate) fn has_signed_kernel(&self) -> bool {
        self.is_dissipative() && self.width == 1 && self.kernel_fields.is_empty()
    }

    /// Whether the network has a learned kernel.
    pub fn uses_kernel(&self) -> bool {
        matches!(self.kind, Kind::Nkn | Kind::Gkn) || self.block == Block::Nkn
    }

    /// The neighbourhood.
    pub fn extent(&self) -> Extent {
        match (self.neighbours, self.radius) {
            (Some(neighbours), _) => Extent::Nearest { neighbours },
            (None, Some(radius)) => Extent::Ball { radius, inclusive: self.inclusive },
            (None, None) => Extent::All,
        }
    }

    /// The radius on images.
    pub(crate) fn pixel_radius(&self) -> f64 {
        self.radius.unwrap_or(f64::NAN)
    }

    /// The name for people: `NKN, r = 3, L = 2`.
    pub fn title(&self, depth: usize) -> String {
        let radius = self.radius.map_or(String::new(), |radius| format!(", r = {radius}"));
        match (self.kind, self.block) {
            (Kind::Nkn, _) => format!("NKN{radius}, L = {depth}"),
            (Kind::Gkn, _) => format!("GKN{radius}, L = {depth}"),
            (Kind::Fno, _) => format!("FNO, L = {depth}"),
            (Kind::Cnn, _) => format!("CNN, L = {depth}"),
            (Kind::MultiscaleCnn, _) => format!("multiscale CNN, L = {depth}"),
            (Kind::Nnn, _) => format!("NNN, L = {depth}"),
            (Kind::Preresnet, Block::None) => "PreResNet-20".into(),
            (Kind::Preresnet, Block::Nnn) => format!("PreResNet-20 with {depth} NNN steps"),
            (Kind::Preresnet, Block::Nkn) => format!("PreResNet-20 with {depth} NKN steps{radius}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ImageShape;

    #[test]
    fn wrong_networks_are_refused() {
        let images = Space::Images(ImageShape {
            side: 8,
            channels: 1,
            extent: 8.0,
            classes: 10,
            resampling: Default::default(),
        });
        let wrong = [
            ModelConfig { width: 0, ..ModelConfig::images() },
            ModelConfig { radius: Some(-1.0), ..ModelConfig::images() },
            ModelConfig { radius: None, ..ModelConfig::images() },
            ModelConfig { quadrature: Quadrature::Trapezoid, ..ModelConfig::images() },
            ModelConfig { block: Block::Nkn, ..ModelConfig::images() },
            ModelConfig { affinity: Affinity::Cosine, ..ModelConfig::images() },
            ModelConfig { dropout: 1.0, ..ModelConfig::images() },
            ModelConfig { kind: Kind::Fno, ..ModelConfig::images() },
        ];
        for config in wrong {
            assert!(config.check_for(&images).is_err(), "{config:?}");
        }
        ModelConfig::images().check_for(&images).unwrap();
        let functions = Space::Functions { dim: 1 };
        let message = ModelConfig { kind: Kind::Cnn, ..ModelConfig::default() }.check_for(&functions).unwrap_err();
        assert!(message.to_string().contains("nkn, gkn, fno"), "{message}");
        let message = ModelConfig::default().check_for(&functions).unwrap_err().to_string();
        assert!(message.contains("model.fields"), "{message}");
    }

    #[test]
    fn names_for_people() {
        assert_eq!(ModelConfig::images().title(2), "NKN, r = 3, L = 2");
        assert_eq!(ModelConfig::fno_1d().title(4), "FNO, L = 4");
        let block =
            ModelConfig { kind: Kind::Preresnet, block: Block::Nkn, radius: Some(4.0), ..ModelConfig::images() };
        assert_eq!(block.title(2), "PreResNet-20 with 2 NKN steps, r = 4");
    }
}
