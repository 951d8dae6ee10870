//! Steps in Burn primitives, on any backend and differentiable by Burn: what the fused ones are tested against.

use super::Integrator;
use crate::operator::{Equation, Integral, Plan, pointwise};
use crate::{Error, Result};
use burn::tensor::Tensor;

/// On the way to the limit: the largest |A| dt of a step, so that its Taylor series loses few digits to cancellation, and
/// its terms: the next would be below the rounding of single precision.
const REACH: f64 = 5.0;
const TERMS: usize = 30;

/// Equal steps that are polynomials in dt A.
pub struct PlainSteps {
    /// Their number.
    pub count: usize,
    /// The degree of the polynomial; 1 is the paper's step.
    pub degree: usize,
    step: f64,
}

impl PlainSteps {
    /// The steps of a plan for an equation.
    pub fn new(plan: &Plan, equation: &Equation) -> Result<Self> {
        let integrator = plan.integrator();
        if let Some(degree) = integrator.degree() {
            return Ok(Self { count: plan.depth, degree, step: plan.update.step() });
        }
        if integrator == Integrator::Implicit {
            let hint = "choose the device cpu, or another model.integrator";
            return Err(Error::invalid(
                "the integrator `implicit`",
                "the device cpu, which has its solver",
                "another",
                hint,
            ));
        }
        let time = plan.update.step() * plan.depth as f64;
        let parts = (norm(plan, equation) * time / REACH).ceil().max(1.0);
        let count = if parts.is_finite() { parts as usize } else { 1 };
        Ok(Self { count, degree: TERMS, step: time / count as f64 })
    }

    /// One step, for h of nodes x samples x d.
    pub fn take(&self, h: Tensor<3>, kernel: &Integral, reaction: &Tensor<2>, source: &Tensor<3>) -> Tensor<3> {
        let apply = |h: Tensor<3>| kernel.of_differences(h.clone()) - pointwise(reaction, h);
        let mut term = (apply(h.clone()) + source.clone()) * self.step;
        let mut sum = h + term.clone();
        for k in 2..=self.degree {
            term = apply(term) * (self.step / k as f64);
            sum = sum + term.clone();
        }
        sum
    }
}

/// A bound of |A|: the largest sum of a row of K times that of the weights, twice, and of R.
fn norm(plan: &Plan, equation: &Equation) -> f64 {
    let d = plan.width;
    let largest_row = |blocks: Tensor<2>| {
        let [count, _] = blocks.dims();
        blocks.detach().abs().reshape([count * d, d]).sum_dim(1).max().into_scalar::<f64>()
    };
    let weights = |x: usize| plan.graph.row(x).map(|(_, weight)| weight.abs()).sum::<f64>();
    let weights = (0..plan.nodes()).map(weights).fold(0.0, f64::max);
    2.0 * weights * largest_row(equation.blocks()) + largest_row(equation.reaction.clone())
}
