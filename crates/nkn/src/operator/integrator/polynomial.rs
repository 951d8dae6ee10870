//! Steps that are polynomials in dt A, as sums over a recurrence:
//!
//! h' = sum_k s_k v_k,   v_0 = h,   v_(k+1) = g_k (A v_k + w_k c) + m_k v_k - p_k v_(k-1).
//!
//! w_k is what v_k would be for A = 0 without c and h = 1: then c counts as it does in the equation for (h, 1), whose
//! last entry does not change. Taylor's series is the case g_k = dt / (k+1), m_k = p_k = 0, with all shares s_k = 1.
//!
//! The adjoint goes the other way: with ū the derivative of h', that of v_k is
//! v̄_k = s_k ū + g_k Aᵀ v̄_(k+1) + m_k v̄_(k+1) - p_(k+1) v̄_(k+2), and v̄_0 is that of h.

use super::{Adjoints, Flow, Trace, add_scaled};
use crate::linalg::buffer::Buffer;
use crate::linalg::{Real, vectorised};
use std::sync::Arc;

/// How v_(k+1) comes from the two before it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// g_k.
    pub growth: f64,
    /// m_k.
    pub memory: f64,
    /// p_k.
    pub past: f64,
}

/// A polynomial in dt A.
#[derive(Debug)]
pub struct Series {
    /// s_k, one more than there are rules.
    pub shares: Vec<f64>,
    /// From v_k to v_(k+1).
    pub rules: Vec<Rule>,
}

impl Series {
    /// Taylor's series of the exponential.
    pub fn taylor(step: f64, degree: usize) -> Self {
        let rule = |k: usize| Rule { growth: step / k as f64, memory: 0.0, past: 0.0 };
        Self { shares: vec![1.0; degree + 1], rules: (1..=degree).map(rule).collect() }
    }

    /// w_k.
    fn sources(&self) -> Vec<f64> {
        let (mut before, mut now) = (0.0, 1.0);
        let advance = |rule: &Rule| {
            let source = now;
            (before, now) = (now, rule.memory * now - rule.past * before);
            source
        };
        self.rules.iter().map(advance).collect()
    }
}

/// A polynomial and how many of its products were taken.
#[derive(Debug)]
pub struct Taken {
    pub series: Arc<Series>,
    pub products: usize,
}

/// One step from h: the sum, and the number of products. After each of them `goes_on` is asked with s_k, v_k and the
/// sum so far. The vectors that A was multiplied with are added to `inputs`.
pub fn step<T: Real>(
    flow: &impl Flow<T>,
    series: &Series,
    h: &[T],
    mut inputs: Option<&mut Vec<T>>,
    mut goes_on: impl FnMut(f64, &[T], &[T]) -> bool,
) -> (Vec<T>, usize) {
    let mut sum = vec![T::ZERO; h.len()];
    add_scaled(&mut sum, T::of(series.shares[0]), h);
    let (mut before, mut now, mut next) = (vec![T::ZERO; h.len()], h.to_vec(), vec![T::ZERO; h.len()]);
    let sources = series.sources();
    for (k, rule) in series.rules.iter().enumerate() {
        if let Some(inputs) = &mut inputs {
            inputs.extend_from_slice(&now);
        }
        flow.apply(&now, &mut next);
        if sources[k] != 0.0 {
            flow.add_source(T::of(sources[k]), &mut next);
        }
        let share = T::of(series.shares[k + 1]);
        let [growth, memory, past] = [rule.growth, rule.memory, rule.past].map(T::of);
        vectorised!({
            for ((next, sum), (&now, &before)) in next.iter_mut().zip(&mut sum).zip(now.iter().zip(&before)) {
                *next = growth * *next + memory * now - past * before;
                *sum += share * *next;
            }
        });
        (before, now, next) = (now, next, before);
        if !goes_on(series.shares[k + 1], &now, &sum) {
            return (sum, k + 1);
        }
    }
    (sum, series.rules.len())
}

/// Equal steps of one polynomial.
pub fn forward<T: Real>(
    flow: &impl Flow<T>,
    series: Series,
    steps: usize,
    initial: &[T],
    keep: bool,
) -> (Vec<T>, Trace<T>) {
    let series = Arc::new(series);
    let mut trace = Trace { inputs: Vec::new(), taken: Vec::new() };
    let mut h = initial.to_vec();
    for _ in 0..steps {
        let (next, products) = step(flow, &series, &h, keep.then_some(&mut trace.inputs), |_, _, _| true);
        h = next;
        trace.taken.push(Taken { series: series.clone(), products });
    }
    (h, trace)
}

pub fn backward<T: Real>(flow: &impl Flow<T>, trace: &Trace<T>, gradient: &[T]) -> Adjoints<T> {
    let length = gradient.len();
    let mut outputs = Buffer::any(trace.inputs.len());
    let mut source = vec![T::ZERO; length];
    let mut h = gradient.to_vec();
    let mut back = vec![T::ZERO; length];
    let mut end = outputs.len();
    for Taken { series, products } in trace.taken.iter().rev() {
        let sources = series.sources();
        // v̄_(k+1) and v̄_(k+2).
        let (mut now, mut after) = (vec![T::ZERO; length], vec![T::ZERO; length]);
        add_scaled(&mut now, T::of(series.shares[*products]), &h);
        let mut past = T::ZERO;
        for k in (0..*products).rev() {
            end -= length;
            let output = &mut outputs[end..end + length];
            let rule = &series.rules[k];
            let (growth, memory, share) = (T::of(rule.growth), T::of(rule.memory), T::of(series.shares[k]));
            output.iter_mut().zip(&now).for_each(|(output, &now)| *output = growth * now);
            if sources[k] != 0.0 {
                add_scaled(&mut source, T::of(sources[k]), output);
            }
            flow.apply_transposed(output, &mut back);
            vectorised!({
                for ((after, &now), (&h, &back)) in after.iter_mut().zip(&now).zip(h.iter().zip(&back)) {
                    *after = share * h + back + memory * now - past * *after;
                }
            });
            (now, after) = (after, now);
            past = T::of(rule.past);
        }
        h = now;
    }
    Adjoints { initial: h, outputs, source }
}
