//! The limit of infinitely many layers: h(T) = e^(TA) h₀ + ∫ e^((T-t)A) c dt, to a tolerance.
//!
//! A. H. Al-Mohy and N. J. Higham, *Computing the action of the matrix exponential, with an application to exponential
//! integrators* (SIAM J. Sci. Comput. 33, 2011): T is cut into n equal parts, each short enough that its Taylor series
//! loses few digits to cancellation, and each series ends when two terms in a row are below the tolerance. The depth
//! plays no part.

use super::{Course, polynomial::Way};

/// The largest |A| t of a part: e to this power times the rounding error is lost.
const REACH: f64 = 5.0;
/// Beyond so many terms a series of such a part has long ended: what is left is not finite.
const MOST_TERMS: usize = 80;
/// For estimates.
pub const USUAL_PRODUCTS: f64 = 32.0;

/// The parts for an operator of this norm.
pub fn way(norm: f64, course: &Course) -> Way {
    let time = course.step * course.steps as f64;
    let parts = (norm * time / REACH).ceil().max(1.0);
    let parts = if parts.is_finite() { parts as usize } else { 1 };
    Way { step: time / parts as f64, steps: parts, degree: MOST_TERMS, tolerance: Some(course.tolerance) }
}
