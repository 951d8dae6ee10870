//! Steps that are polynomials in dt A: h' = h + sum_k u_k,  u_1 = dt (A h + c),  u_k = dt/k A u_(k-1).
//!
//! The adjoint goes the other way: with ū the derivative of h', that of u_k is ū_k = ū + dt/(k+1) Aᵀ ū_(k+1), and that
//! of h is ū + dt Aᵀ ū_1.

use super::{Adjoints, Flow, Trace, add_scaled, norm};
use crate::linalg::Real;
use crate::linalg::buffer::Buffer;

/// Steps of one length.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The length of a step.
    pub step: f64,
    /// Their number.
    pub steps: usize,
    /// The degree, or the largest one where a tolerance decides.
    pub degree: usize,
    /// A series ends when two terms in a row are below this, relative to the state.
    pub tolerance: Option<f64>,
}

pub fn forward<T: Real>(
    flow: &impl Flow<T>,
    way: &Way,
    initial: &[T],
    keep: bool,
) -> Result<(Vec<T>, Trace<T>), String> {
    let mut h = initial.to_vec();
    let mut trace = Trace { inputs: Vec::new(), products: Vec::new(), step: way.step };
    let (mut term, mut next) = (vec![T::ZERO; h.len()], vec![T::ZERO; h.len()]);
    for _ in 0..way.steps {
        let mut small = 0;
        let mut products = 0;
        while products < way.degree && small < 2 {
            let input = if products == 0 { &h } else { &term };
            if keep {
                trace.inputs.extend_from_slice(input);
            }
            flow.apply(input, &mut next);
            if products == 0 {
                flow.add_source(T::ONE, &mut next);
            }
            products += 1;
            let factor = T::of(way.step / products as f64);
            next.iter_mut().for_each(|value| *value = factor * *value);
            std::mem::swap(&mut term, &mut next);
            add_scaled(&mut h, T::ONE, &term);
            if let Some(tolerance) = way.tolerance {
                small = if norm(&term) <= tolerance * norm(&h) { small + 1 } else { 0 };
            }
        }
        if way.tolerance.is_some() && small < 2 {
            let got = norm(&term) / norm(&h);
            return Err(format!("a last term of {got:e} after {products} products"));
        }
        trace.products.push(products);
    }
    Ok((h, trace))
}

pub fn backward<T: Real>(flow: &impl Flow<T>, trace: &Trace<T>, gradient: &[T]) -> Adjoints<T> {
    let length = gradient.len();
    let mut outputs = Buffer::any(trace.inputs.len());
    let mut source = vec![T::ZERO; length];
    let mut h = gradient.to_vec();
    let mut back = vec![T::ZERO; length];
    let mut end = outputs.len();
    for &products in trace.products.iter().rev() {
        let mut own = h.clone();
        for product in (1..=products).rev() {
            let place = end - (products + 1 - product) * length;
            let output = &mut outputs[place..place + length];
            let factor = T::of(trace.step / product as f64);
            output.iter_mut().zip(&own).for_each(|(output, &own)| *output = factor * own);
            if product == 1 {
                add_scaled(&mut source, T::ONE, output);
            }
            flow.apply_transposed(output, &mut back);
            own.iter_mut().zip(h.iter().zip(&back)).for_each(|(own, (&h, &back))| *own = h + back);
        }
        h = own;
        end -= products * length;
    }
    Adjoints { initial: h, outputs, source }
}
