//! What the spectrum of a trained network says about its steps.

use super::elliptic::Elliptic;
use super::spectrum::{DENSE_LIMIT, Spectrum, WANTED, spectrum};
use crate::Result;
use crate::model::{Kind, Model};

/// Unknowns beyond which a spectrum takes minutes.
pub const QUICK_LIMIT: usize = 10_000;

/// The spectrum of a network and its steps.
#[derive(Clone, Debug)]
pub struct Stability {
    /// L.
    pub depth: usize,
    /// dt.
    pub step: f64,
    /// Eigenvalues of the elliptic operator.
    pub spectrum: Spectrum,
    /// The smallest depth from which the steps are stable. A GKN layer has no time step that a greater depth would shrink.
    pub stable_from: Option<usize>,
}

impl Stability {
    /// Of the operator behind a network's layers.
    pub fn of(model: &Model, operator: &Elliptic) -> Result<Self> {
        let spectrum = spectrum(operator, DENSE_LIMIT, WANTED)?;
        let is_graph_kernel = model.config().kind == Kind::Gkn;
        let stable_from = if is_graph_kernel { None } else { spectrum.stable_depth(model.config().time) };
        Ok(Self { depth: model.depth(), step: operator.step(), spectrum, stable_from })
    }

    /// What a step does to the worst eigenvector.
    pub fn amplification(&self) -> f64 {
        self.spectrum.amplification(self.step)
    }

    /// Whether no eigenvector grows in a step.
    pub fn is_stable(&self) -> bool {
        self.spectrum.is_stable(self.step)
    }
}
