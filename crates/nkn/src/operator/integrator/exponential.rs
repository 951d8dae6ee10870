//! The limit of infinitely many layers: h(T) = e^(TA) h₀ + ∫ e^((T-t)A) c dt, to a tolerance. The depth plays no part.
//!
//! e^x is a sum of Chebyshev's polynomials of an interval [-ρ, 0]:
//!
//! e^x = e^(-z) I_0(z) + sum_k 2 e^(-z) I_k(z) T_k(1 + x/z),   z = ρ/2,
//!
//! with I_k the modified Bessel functions (H. Tal-Ezer, *Spectral methods in time for parabolic problems*, SIAM J.
//! Numer. Anal. 26, 1989). Where the interval holds the eigenvalues of TA, |T_k| is at most 1, and the shares fall like
//! exp(-k²/ρ): about (ρ log 1/tolerance)^½ products. It holds them for ρ = |TA|, but the sums of rows are far above that
//! for wide networks, so that a quarter is tried first. Eigenvalues outside, and those that turn, make terms grow before
//! they fall, and digits are lost. Where too many are, or where a series does not end, the interval is made longer,
//! and then what is left of the way is cut into shorter parts.

use super::polynomial::{self, Rule, Series, Taken};
use super::{Course, Flow, Trace, norm};
use crate::linalg::Real;
use std::sync::Arc;

/// The first ρ as a share of the bound by sums of rows.
const FIRST_REACH: f64 = 0.25;
/// The longest series, and the largest ρ of a part for which it is long enough.
const MOST_TERMS: usize = 800;
const MOST_REACH: f64 = 2e4;
/// How much larger than the state terms may be: so many times the rounding error is lost.
const MOST_GROWTH: f64 = 16.0;
/// Products after which an operator is too large.
const MOST_PRODUCTS: usize = 50_000;
/// For estimates.
pub const USUAL_PRODUCTS: f64 = 44.0;

pub fn forward<T: Real>(
    flow: &impl Flow<T>,
    course: &Course,
    initial: &[T],
    keep: bool,
) -> Result<(Vec<T>, Trace<T>), String> {
    let time = course.step * course.steps as f64;
    let bound = flow.norm() * time;
    let mut source = vec![T::ZERO; initial.len()];
    flow.add_source(T::ONE, &mut source);
    let source = norm(&source);
    let mut h = initial.to_vec();
    let mut trace = Trace { inputs: Vec::new(), taken: Vec::new() };
    let (mut done, mut parts) = (0.0, (bound / MOST_REACH).ceil().max(1.0));
    let mut reach = FIRST_REACH * bound;
    let mut series = Arc::new(chebyshev(time / parts, reach / parts));
    let mut spent = 0;
    while done < parts {
        let kept = trace.inputs.len();
        let start = norm(&h);
        // Where energy is taken out, no state becomes larger than the sum.
        let most = MOST_GROWTH * (start + time / parts * source);
        let (mut small, mut last) = (0, 0.0);
        let inputs = keep.then_some(&mut trace.inputs);
        let (next, products) = polynomial::step(flow, &series, &h, inputs, |share, vector, sum| {
            last = share * norm(vector);
            let is_small = last <= course.tolerance * start || last <= course.tolerance * norm(sum);
            small = if is_small { small + 1 } else { 0 };
            small < 2 && last <= most
        });
        spent += products;
        if !last.is_finite() || spent > MOST_PRODUCTS {
            return Err(format!("a last term of {:e} after {spent} products", last / start));
        }
        if small == 2 {
            h = next;
            trace.taken.push(Taken { series: series.clone(), products });
            done += 1.0;
            continue;
        }
        trace.inputs.truncate(kept);
        if reach < bound {
            reach *= 2.0;
        } else {
            (done, parts) = (2.0 * done, 2.0 * parts);
        }
        series = Arc::new(chebyshev(time / parts, reach / parts));
    }
    Ok((h, trace))
}

/// The series of a part: of e^(step A), for the interval [-reach, 0].
fn chebyshev(step: f64, reach: f64) -> Series {
    let half = 0.5 * reach.max(1.0);
    let growth = step / half;
    let rule = |k: usize| match k {
        0 => Rule { growth, memory: 1.0, past: 0.0 },
        _ => Rule { growth: 2.0 * growth, memory: 2.0, past: 1.0 },
    };
    // I_k / I_(k-1) from above, where 0 is near enough (J. C. P. Miller's algorithm); the sum of all shares is 1.
    let mut ratio = 0.0;
    let mut shares = vec![1.0; MOST_TERMS + 1];
    for k in (1..=MOST_TERMS + half as usize).rev() {
        ratio = 1.0 / (2.0 * k as f64 / half + ratio);
        if k <= MOST_TERMS {
            shares[k] = ratio;
        }
    }
    let mut product = 2.0;
    for share in &mut shares[1..] {
        product *= *share;
        *share = product;
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    Series { shares, rules: (0..MOST_TERMS).map(rule).collect() }
}
