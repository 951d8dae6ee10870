//! What a network looks like, checked once.

use crate::domain::{Extent, Quadrature};
use crate::field::NormaliserKind;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

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
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Nkn => "nkn",
            Kind::Gkn => "gkn",
            Kind::Fno => "fno",
        })
    }
}

/// The architecture: the `[model]` table of a configuration file.
///
/// ```
/// use nkn::model::ModelConfig;
/// let poisson = ModelConfig { fields: vec!["f".into()], ..ModelConfig::default() };
/// poisson.check()?;
/// assert_eq!(poisson.parameter_count(1, 32)?, 67_016);
/// # Ok::<(), nkn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ModelConfig {
    /// The update rule.
    pub kind: Kind,
    /// d, the number of features of h at a node.
    pub width: usize,
    /// Hidden widths of the kernel network.
    pub kernel: Vec<usize>,
    /// Hidden widths of the reaction network (NKN).
    pub reaction: Vec<usize>,
    /// T: L layers are L steps of T / L (NKN).
    pub time: f64,
    /// Whether the last layer is activated too (GKN).
    pub activate_last: bool,
    /// Frequencies per axis and sign that a layer keeps (FNO).
    pub modes: usize,
    /// Hidden width of the head (FNO).
    pub head: usize,
    /// The input fields that the lift sees, besides x.
    pub fields: Vec<String>,
    /// The input fields that the kernel sees at x and at y, besides x and y.
    pub kernel_fields: Vec<String>,
    /// Radius of the neighbourhood; without it every node is everybody's neighbour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// Whether nodes at distance exactly r are neighbours.
    pub inclusive: bool,
    /// The rule that turns the integral into a sum.
    pub quadrature: Quadrature,
    /// How the input fields are normalised.
    pub normalise_input: NormaliserKind,
    /// How the output is normalised.
    pub normalise_output: NormaliserKind,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            kind: Kind::Nkn,
            width: 1,
            kernel: vec![256, 256],
            reaction: vec![64],
            time: 1.0,
            activate_last: true,
            modes: 16,
            head: 128,
            fields: Vec::new(),
            kernel_fields: Vec::new(),
            radius: None,
            inclusive: false,
            quadrature: Quadrature::Trapezoid,
            normalise_input: NormaliserKind::None,
            normalise_output: NormaliserKind::None,
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

    /// Refuses what no network can be built from.
    pub fn check(&self) -> Result<()> {
        let positive = |name: &str, value: usize| {
            if value > 0 {
                return Ok(());
            }
            Err(Error::invalid(format!("model.{name}"), "1 or more", value, "give a positive whole number"))
        };
        positive("width", self.width)?;
        positive("modes", self.modes)?;
        positive("head", self.head)?;
        for &width in &self.kernel {
            positive("kernel", width)?;
        }
        for &width in &self.reaction {
            positive("reaction", width)?;
        }
        if !(self.time.is_finite() && self.time > 0.0) {
            return Err(Error::invalid("model.time", "a positive number", self.time, "the paper takes 1.0"));
        }
        if let Some(radius) = self.radius
            && !(radius.is_finite() && radius > 0.0)
        {
            return Err(Error::invalid(
                "model.radius",
                "a positive number",
                radius,
                "leave it out to connect every node with every other",
            ));
        }
        for name in &self.kernel_fields {
            if !self.fields.contains(name) {
                return Err(Error::invalid(
                    "model.kernel_fields",
                    format!("names from model.fields {:?}", self.fields),
                    format!("{name:?}"),
                    "add the field to model.fields",
                ));
            }
        }
        Ok(())
    }

    /// The neighbourhood.
    pub fn extent(&self) -> Extent {
        match self.radius {
            Some(radius) => Extent::Ball { radius, inclusive: self.inclusive },
            None => Extent::All,
        }
    }

    /// The width of what the assembly multiplies with the kernel's last layer: its last hidden layer, or, when K is a number, K.
    pub(crate) fn feature_width(&self, dim: usize) -> usize {
        if self.width == 1 {
            return 1;
        }
        self.kernel.last().copied().unwrap_or(2 * (dim + self.kernel_fields.len()))
    }

    /// About how many parameters there are, without allocating them: for files that may lie.
    pub(crate) fn parameter_estimate(&self, dim: usize, depth: usize) -> f64 {
        if self.kind == Kind::Fno {
            let modes = (self.modes as f64).powi(dim as i32);
            return depth as f64 * modes * (self.width as f64).powi(2) + (self.width * self.head) as f64;
        }
        let outputs = (self.width as f64).powi(2);
        let count = |inputs: usize, hidden: &[usize]| {
            let widths = std::iter::once(inputs).chain(hidden.iter().copied()).map(|w| w as f64);
            let widths: Vec<f64> = widths.chain([outputs]).collect();
            widths.windows(2).map(|w| (w[0] + 1.0) * w[1]).sum::<f64>()
        };
        let reaction = if self.kind == Kind::Nkn { count(dim, &self.reaction) } else { 0.0 };
        count(2 * (dim + self.kernel_fields.len()), &self.kernel) + reaction
    }

    /// Number of parameters in a space of `dim` dimensions; a complex number counts once. Only FNO's depends on the depth.
    pub fn parameter_count(&self, dim: usize, depth: usize) -> Result<usize> {
        Ok(super::Parameters::layout(self, dim, depth)?.count())
    }
}
