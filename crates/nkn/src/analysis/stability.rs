//! What the spectrum of a trained network says about its steps.

use super::certificate::Certificate;
use super::elliptic::Elliptic;
use super::spectrum::{DENSE_LIMIT, Spectrum, WANTED, spectrum};
use crate::Result;
use crate::model::{Integrator, Kind, Model};

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
    /// What is proven, whatever the state: of dissipative networks.
    pub certificate: Option<Certificate>,
    /// The depth from which on no step can grow, if that is proven: 1 with an integrator that is stable at every depth.
    pub certified_from: Option<usize>,
    /// T.
    pub time: f64,
}

impl Stability {
    /// Of the operator behind a network's layers.
    pub fn of(model: &Model, operator: &Elliptic) -> Result<Self> {
        let spectrum = spectrum(operator, DENSE_LIMIT, WANTED)?;
        let is_graph_kernel = model.config().kind == Kind::Gkn;
        let stable_from = if is_graph_kernel { None } else { spectrum.stable_depth(model.config().time) };
        let certificate = Certificate::of(operator)?;
        let time = model.config().time;
        let is_unconditional = matches!(model.config().integrator, Integrator::Implicit | Integrator::Exponential);
        let certified_from = certificate.map(|one| if is_unconditional { 1 } else { one.depth(time) });
        let (depth, step) = (model.depth(), operator.step());
        Ok(Self { depth, step, spectrum, stable_from, certificate, certified_from, time })
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
