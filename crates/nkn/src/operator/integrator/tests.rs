//! Orders of convergence, derivatives and stability on a fixed operator.

use super::*;
use crate::seed::{Seed, uniform};

/// A dense A and c.
struct Fixed {
    size: usize,
    matrix: Vec<f64>,
    source: Vec<f64>,
}

impl Fixed {
    /// -(S Sᵀ + skew), scaled.
    fn new(size: usize, scale: f64, seed: u64) -> Self {
        let mut rng = Seed::new(seed).rng();
        let mut draw = |count: usize| (0..count).map(|_| uniform(&mut rng, -1.0, 1.0)).collect::<Vec<f64>>();
        let (s, n) = (draw(size * size), draw(size * size));
        let entry = |i: usize, j: usize| {
            let square: f64 = (0..size).map(|k| s[i * size + k] * s[j * size + k]).sum();
            -scale * (square / size as f64 + n[i * size + j] - n[j * size + i])
        };
        let matrix = (0..size * size).map(|e| entry(e / size, e % size)).collect();
        Self { size, matrix, source: draw(size) }
    }
}

impl Flow<f64> for Fixed {
    fn apply(&self, h: &[f64], result: &mut [f64]) {
        for (r, row) in result.iter_mut().zip(self.matrix.chunks(self.size)) {
            *r = row.iter().zip(h).map(|(a, h)| a * h).sum();
        }
    }

    fn apply_transposed(&self, g: &[f64], result: &mut [f64]) {
        result.fill(0.0);
        for (row, &g) in self.matrix.chunks(self.size).zip(g) {
            result.iter_mut().zip(row).for_each(|(r, a)| *r += a * g);
        }
    }

    fn add_source(&self, factor: f64, state: &mut [f64]) {
        state.iter_mut().zip(&self.source).for_each(|(state, c)| *state += factor * c);
    }

    fn norm(&self) -> f64 {
        self.matrix.chunks(self.size).map(|row| row.iter().map(|a| a.abs()).sum::<f64>()).fold(0.0, f64::max)
    }
}

const ALL: [Integrator; 5] =
    [Integrator::Euler, Integrator::Heun, Integrator::Rk4, Integrator::Implicit, Integrator::Exponential];

fn course(integrator: Integrator, steps: usize) -> Course {
    Course { integrator, step: 1.0 / steps as f64, steps, tolerance: 1e-14 }
}

fn initial(size: usize) -> Vec<f64> {
    (0..size).map(|i| (1.3 * i as f64).cos()).collect()
}

fn end(flow: &Fixed, integrator: Integrator, steps: usize) -> Vec<f64> {
    forward(flow, &course(integrator, steps), &initial(flow.size), false).unwrap().0
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn orders_of_convergence() {
    let flow = Fixed::new(6, 1.0, 1);
    // Of two different ways to the limit one is checked by the other.
    let limit = end(&flow, Integrator::Exponential, 1);
    assert!(distance(&limit, &end(&flow, Integrator::Rk4, 2048)) < 1e-12);
    for (integrator, order) in
        [(Integrator::Euler, 1.0), (Integrator::Heun, 2.0), (Integrator::Rk4, 4.0), (Integrator::Implicit, 2.0)]
    {
        let errors = [32, 64, 128].map(|steps| distance(&end(&flow, integrator, steps), &limit));
        for pair in errors.windows(2) {
            let measured = (pair[0] / pair[1]).log2();
            assert!((measured - order).abs() < 0.15, "{integrator}: {errors:?}, order {measured}");
        }
    }
    // The depth plays no part in the limit.
    assert!(distance(&limit, &end(&flow, Integrator::Exponential, 7)) < 1e-13);
}

/// e^M by Taylor's series of M / 2^k, squared k times.
fn exponential_of(matrix: &[f64], size: usize) -> Vec<f64> {
    let times = |a: &[f64], b: &[f64]| -> Vec<f64> {
        let entry = |e: usize| (0..size).map(|k| a[e / size * size + k] * b[k * size + e % size]).sum();
        (0..size * size).map(entry).collect()
    };
    let squarings = 12;
    let small: Vec<f64> = matrix.iter().map(|a| a / f64::from(1 << squarings)).collect();
    let one: Vec<f64> = (0..size * size).map(|e| f64::from(e / size == e % size)).collect();
    let (mut sum, mut term) = (one.clone(), one);
    for k in 1..20 {
        term = times(&term, &small).iter().map(|a| a / f64::from(k)).collect();
        sum.iter_mut().zip(&term).for_each(|(sum, term)| *sum += term);
    }
    (0..squarings).fold(sum, |power, _| times(&power, &power))
}

/// Against the exponential of the matrix [A c; 0 0]: operators that damp, that turn, and that let the state grow.
#[test]
fn the_limit_is_the_exponential() {
    let heat = |size: usize, rate: f64| {
        let entry = |i: usize, j: usize| match i.abs_diff(j) {
            0 => -2.0 * rate,
            1 => rate,
            _ => 0.0,
        };
        let matrix = (0..size * size).map(|e| entry(e / size, e % size)).collect();
        Fixed { size, matrix, source: initial(size) }
    };
    let mut growing = heat(5, 2.0);
    (0..5).for_each(|i| growing.matrix[6 * i] += 5.0);
    let flows = [heat(12, 1e-3), heat(12, 8.0), heat(12, 200.0), Fixed::new(6, 5.0, 7), growing];
    for (index, flow) in flows.iter().enumerate() {
        let wide = flow.size + 1;
        let mut matrix = vec![0.0; wide * wide];
        for i in 0..flow.size {
            matrix[i * wide..i * wide + flow.size].copy_from_slice(&flow.matrix[i * flow.size..(i + 1) * flow.size]);
            matrix[i * wide + flow.size] = flow.source[i];
        }
        let start = initial(flow.size);
        let exact = exponential_of(&matrix, wide);
        let row = |i: usize| &exact[i * wide..(i + 1) * wide];
        let exact: Vec<f64> = (0..flow.size)
            .map(|i| row(i)[flow.size] + row(i).iter().zip(&start).map(|(e, h)| e * h).sum::<f64>())
            .collect();
        for tolerance in [1e-3, 1e-6, 1e-12] {
            let course = Course { tolerance, ..course(Integrator::Exponential, 4) };
            let (last, trace) = forward(flow, &course, &start, true).unwrap();
            let size = norm(&start).max(norm(&exact));
            let error = distance(&last, &exact) / size;
            assert!(error < 2.0 * tolerance, "operator {index}: {error:e} instead of {tolerance:e}");
            // Where nothing turns: as many products as the square root of |A| log 1/tolerance, in one part.
            let products = trace.inputs.len() / flow.size;
            let few = 12.0 + (1.5 * flow.norm() * -tolerance.ln()).sqrt();
            assert!(index > 2 || products as f64 <= few, "operator {index}, {tolerance:e}: {products} products, {few}");
        }
    }
}

/// The derivatives of a number that depends on the last state, with respect to h_0, c and A.
#[test]
fn adjoints_against_differences() {
    for integrator in ALL {
        let mut flow = Fixed::new(5, 0.8, 2);
        let course = course(integrator, 3);
        let weights: Vec<f64> = (0..5).map(|i| 1.0 + i as f64).collect();
        let value = |flow: &Fixed, initial: &[f64]| -> f64 {
            let end = forward(flow, &course, initial, false).unwrap().0;
            end.iter().zip(&weights).map(|(h, w)| h * w).sum()
        };
        let start = initial(5);
        let (_, trace) = forward(&flow, &course, &start, true).unwrap();
        let adjoints = backward(&flow, &course, &trace, &weights);
        let close = |a: f64, b: f64, what: &str| {
            assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "{integrator} {what}: {a} {b}")
        };
        let step = 1e-6;
        for i in 0..5 {
            let shifted = |by: f64| {
                let mut start = start.clone();
                start[i] += by;
                start
            };
            let difference = (value(&flow, &shifted(step)) - value(&flow, &shifted(-step))) / (2.0 * step);
            close(adjoints.initial[i], difference, "h_0");
        }
        for i in 0..5 {
            let mut at = |by: f64| {
                flow.source[i] += by;
                let value = value(&flow, &start);
                flow.source[i] -= by;
                value
            };
            let difference = (at(step) - at(-step)) / (2.0 * step);
            close(adjoints.source[i], difference, "c");
        }
        for entry in 0..25 {
            let pairs = adjoints.outputs.chunks(5).zip(trace.inputs.chunks(5));
            let exact: f64 = pairs.map(|(g, v)| g[entry / 5] * v[entry % 5]).sum();
            let mut at = |by: f64| {
                flow.matrix[entry] += by;
                let value = value(&flow, &start);
                flow.matrix[entry] -= by;
                value
            };
            let difference = (at(step) - at(-step)) / (2.0 * step);
            close(exact, difference, "A");
        }
    }
}

/// Without a source no energy comes in: the implicit rule and the limit at any depth and any size of A.
#[test]
fn energy_does_not_grow() {
    for scale in [1e-3, 1.0, 30.0, 1e3] {
        let mut flow = Fixed::new(6, scale, 3);
        flow.source = vec![0.0; 6];
        for steps in [1, 2, 16] {
            for integrator in [Integrator::Implicit, Integrator::Exponential] {
                let (before, after) = (norm(&initial(6)), norm(&end(&flow, integrator, steps)));
                assert!(after <= before * (1.0 + 1e-10), "{integrator}, scale {scale}: {before} became {after}");
            }
        }
        // Explicit Euler makes no such promise.
        assert!(scale < 10.0 || norm(&end(&flow, Integrator::Euler, 2)) > norm(&initial(6)));
    }
}

#[test]
fn what_does_not_converge_says_so() {
    let mut flow = Fixed::new(4, 1.0, 4);
    flow.matrix[5] = f64::NAN;
    for integrator in [Integrator::Implicit, Integrator::Exponential] {
        let message = forward(&flow, &course(integrator, 2), &initial(4), false).unwrap_err();
        assert!(message.contains("products"), "{integrator}: {message}");
    }
    // It turns so fast that all products are spent before the end.
    let message = forward(&Fixed::new(4, 1e7, 4), &course(Integrator::Exponential, 2), &initial(4), false).unwrap_err();
    assert!(message.contains("products"), "{message}");
}

#[test]
fn names_are_read_as_they_are_written() {
    for integrator in ALL {
        assert_eq!(integrator.to_string().parse::<Integrator>().unwrap(), integrator);
    }
    let message = "rk5".parse::<Integrator>().unwrap_err().to_string();
    assert!(message.contains("rk5") && message.contains("exponential"), "{message}");
}
