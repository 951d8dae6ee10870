//! The implicit midpoint rule: h' = h + dt (A g + c), g = (h + h') / 2. Second order, and stable at every depth: where
//! A takes energy out, |h'|² = |h|² + 2 dt g·A g ≤ |h|² (without c), whatever dt (E. Hairer, G. Wanner, *Solving
//! ordinary differential equations II*, IV.12).
//!
//! (1 - dt/2 A) g = h + dt/2 c is solved by GMRES (Y. Saad, M. H. Schultz, SIAM J. Sci. Stat. Comput. 7, 1986), which
//! needs products with A alone and converges the faster the smaller dt A is. The adjoint is the transposed solve: with
//! ū the derivative of h' and (1 - dt/2 Aᵀ) μ = ū, A's is dt μ ⊗ g, that of c is dt μ, and that of h is 2 μ - ū.

use super::{Adjoints, Course, Flow, Trace, add_scaled, dot, norm};
use crate::linalg::Real;
use crate::linalg::buffer::Buffer;

/// Products after which GMRES starts again from what it has: bounds its memory.
const RESTART: usize = 40;
/// Restarts after which it gives up.
const RESTARTS: usize = 25;
/// For estimates.
pub const USUAL_PRODUCTS: f64 = 8.0;

pub fn forward<T: Real>(
    flow: &impl Flow<T>,
    course: &Course,
    initial: &[T],
    keep: bool,
) -> Result<(Vec<T>, Trace<T>), String> {
    let half = T::of(0.5 * course.step);
    let size = 1.0 + 0.5 * course.step * flow.norm();
    let mut h = initial.to_vec();
    let mut trace = Trace { inputs: Vec::new(), taken: Vec::new() };
    let mut right = h.clone();
    for _ in 0..course.steps {
        right.copy_from_slice(&h);
        flow.add_source(half, &mut right);
        let system = System { apply: &|v, r| shifted(v, r, half, |v, r| flow.apply(v, r)), size, course };
        let midpoint = system.solve(&right, &h)?;
        if keep {
            trace.inputs.extend_from_slice(&midpoint);
        }
        h.iter_mut().zip(&midpoint).for_each(|(h, &g)| *h = g + g - *h);
    }
    Ok((h, trace))
}

pub fn backward<T: Real>(flow: &impl Flow<T>, course: &Course, trace: &Trace<T>, gradient: &[T]) -> Adjoints<T> {
    let (length, half) = (gradient.len(), T::of(0.5 * course.step));
    let size = 1.0 + 0.5 * course.step * flow.norm();
    let mut outputs = Buffer::any(trace.inputs.len());
    let mut source = vec![T::ZERO; length];
    let mut h = gradient.to_vec();
    for output in outputs.chunks_exact_mut(length).rev() {
        let system = System { apply: &|v, r| shifted(v, r, half, |v, r| flow.apply_transposed(v, r)), size, course };
        // What has converged on the way there has the same spectrum on the way back.
        let own = system.solve(&h, &h).unwrap_or_else(|_| vec![T::of(f64::NAN); length]);
        output.iter_mut().zip(&own).for_each(|(output, &own)| *output = T::of(course.step) * own);
        add_scaled(&mut source, T::ONE, output);
        h.iter_mut().zip(&own).for_each(|(h, &own)| *h = own + own - *h);
    }
    Adjoints { initial: h, outputs, source }
}

/// (1 - half A) v.
fn shifted<T: Real>(v: &[T], result: &mut [T], half: T, apply: impl Fn(&[T], &mut [T])) {
    apply(v, result);
    result.iter_mut().zip(v).for_each(|(r, &v)| *r = v - half * *r);
}

/// Products with a matrix.
type Apply<'a, T> = &'a dyn Fn(&[T], &mut [T]);

/// A matrix M with a bound of its norm.
struct System<'a, T> {
    apply: Apply<'a, T>,
    size: f64,
    course: &'a Course,
}

impl<T: Real> System<'_, T> {
    /// The residual that is small enough: the tolerance's share of |b|, or what rounding leaves of M x.
    fn target(&self, b: &[T], x: &[T]) -> f64 {
        let rounding = if size_of::<T>() == size_of::<f64>() { f64::EPSILON } else { f64::from(f32::EPSILON) };
        self.course.tolerance * norm(b) + 2.0 * rounding * self.size * norm(x)
    }

    /// The solution of M x = b by GMRES, beginning with a guess.
    fn solve(&self, b: &[T], guess: &[T]) -> Result<Vec<T>, String> {
        let mut x = guess.to_vec();
        let mut residual = vec![T::ZERO; b.len()];
        let mut left = f64::INFINITY;
        for _ in 0..RESTARTS {
            (self.apply)(&x, &mut residual);
            residual.iter_mut().zip(b).for_each(|(r, &b)| *r = b - *r);
            left = norm(&residual);
            let target = self.target(b, &x);
            if left <= target {
                return Ok(x);
            }
            if !left.is_finite() {
                break;
            }
            correct(self.apply, &residual, left, target, &mut x);
        }
        let share = left / norm(b).max(f64::MIN_POSITIVE);
        Err(format!("a residual of {share:e} after {} products", RESTART * RESTARTS))
    }
}

/// Adds to x what makes the residual smallest in one Krylov space. Rotations keep the small matrix triangular, so that
/// the residual is known before x is.
fn correct<T: Real>(apply: Apply<T>, residual: &[T], size: f64, target: f64, x: &mut [T]) {
    let unit = |v: &[T], size: f64| -> Vec<T> { v.iter().map(|&v| v * T::of(1.0 / size)).collect() };
    let mut basis = vec![unit(residual, size)];
    let mut columns: Vec<Vec<f64>> = Vec::new();
    let mut rotations: Vec<(f64, f64)> = Vec::new();
    let mut right = vec![size];
    let mut next = vec![T::ZERO; residual.len()];
    for k in 0..RESTART {
        apply(&basis[k], &mut next);
        let mut column = vec![0.0; k + 1];
        // The second pass makes up for what rounding leaves of the first.
        for _ in 0..2 {
            for (entry, vector) in column.iter_mut().zip(&basis) {
                let share = dot(&next, vector);
                *entry += share;
                add_scaled(&mut next, T::of(-share), vector);
            }
        }
        let coupling = norm(&next);
        for (i, &(c, s)) in rotations.iter().enumerate() {
            let (a, b) = (column[i], column[i + 1]);
            (column[i], column[i + 1]) = (c * a + s * b, c * b - s * a);
        }
        let length = column[k].hypot(coupling);
        if length == 0.0 {
            break;
        }
        let (c, s) = (column[k] / length, coupling / length);
        column[k] = length;
        rotations.push((c, s));
        let last = right[k];
        right[k] = c * last;
        right.push(-s * last);
        columns.push(column);
        if (s * last).abs() <= 0.5 * target || coupling <= 1e-14 * length {
            break;
        }
        basis.push(unit(&next, coupling));
    }
    let mut shares = vec![0.0; columns.len()];
    for i in (0..columns.len()).rev() {
        let known: f64 = (i + 1..columns.len()).map(|j| columns[j][i] * shares[j]).sum();
        shares[i] = (right[i] - known) / columns[i][i];
    }
    shares.iter().zip(&basis).for_each(|(&share, vector)| add_scaled(x, T::of(share), vector));
}
