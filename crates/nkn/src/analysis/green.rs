//! The Green's function that a network has learned, everywhere and on what its loads span.

use super::spectrum::failed;
use crate::domain::Domain;
use crate::error::ensure;
use crate::field::Samples;
use crate::model::{Model, Predicting};
use crate::{Error, Result};
use faer::{Mat, Side};

/// G(x_i, x_j) on the nodes of a domain, row by row: the network's response at x_i to a unit load at x_j.
///
/// A network whose kernel does not see its one input field is affine in it, so its Jacobian is a matrix at any
/// depth; divided by the quadrature weights (here the trapezoidal cell sizes) it is comparable with the exact Green's function.
pub fn effective_green(model: &Model, domain: &Domain) -> Result<Vec<f64>> {
    let (fields, kernel_fields) = (&model.config.fields, &model.config.kernel_fields);
    let is_line = matches!(domain, Domain::Grid(grid) if grid.dim() == 1);
    let expected = "a network on a 1D grid with one input field that its kernel does not see";
    let got = format!("fields {fields:?}, kernel fields {kernel_fields:?}");
    ensure!(
        is_line && fields.len() == 1 && kernel_fields.is_empty(),
        Error::invalid("Green's function", expected, got, "leave it out for this model")
    );
    let nodes = domain.len();
    let coordinates = domain.coordinates();
    // Load number j is a unit at node j; the last one is zero everywhere.
    let mut values = vec![0.0; (nodes + 1) * nodes];
    for j in 0..nodes {
        values[j * nodes + j] = 1.0;
    }
    let samples = Samples::on(domain.clone()).input(&fields[0], values)?;
    let response = model.predict_functions(&samples, &Predicting { double: true, ..Predicting::default() })?;
    let rest = &response[nodes * nodes..];
    let cells = cells(&coordinates);
    let entry = |i: usize, j: usize| (response[j * nodes + i] - rest[i]) / cells[j];
    Ok((0..nodes * nodes).map(|k| entry(k / nodes, k % nodes)).collect())
}

/// The weights of the trapezoidal rule on increasing points: half the distance between the neighbours.
fn cells(x: &[f64]) -> Vec<f64> {
    let last = x.len().saturating_sub(1);
    (0..x.len()).map(|j| (x[(j + 1).min(last)] - x[j.saturating_sub(1)]) / 2.0).collect()
}

/// What the loads of a data set determine: the span of their differences, as functions that are orthonormal by the
/// trapezoidal rule.
///
/// A network that is affine in its load is determined by samples only in the directions in which their loads differ, and
/// only there can its Green's function be compared with the exact one. The functions are the principal components of the
/// loads; of those with little variance the samples say little, so the last ones are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSpan {
    cells: Vec<f64>,
    functions: Vec<Vec<f64>>,
}

impl LoadSpan {
    /// As few functions as carry this share of the variance of the loads (samples x points, row by row) on increasing
    /// points x.
    pub fn new(x: &[f64], loads: &[f64], share: f64) -> Result<Self> {
        let cells = cells(x);
        let fits = x.len() > 1 && !loads.is_empty() && loads.len().is_multiple_of(x.len());
        let is_finite = loads.iter().chain(&cells).all(|value| value.is_finite());
        let got = format!("{} values on {} points", loads.len(), x.len());
        let expected = "finite values, some per point, on increasing points";
        ensure!(
            fits && is_finite && cells.iter().all(|&cell| cell > 0.0),
            Error::invalid("loads", expected, got, "give the samples' values on their grid")
        );
        let count = loads.len() / x.len();
        let mean = |j: usize| loads[j..].iter().step_by(x.len()).sum::<f64>() / count as f64;
        let means: Vec<f64> = (0..x.len()).map(mean).collect();
        // Scaled by the roots of the weights, so that orthonormal vectors are orthonormal functions.
        let scaled = Mat::from_fn(count, x.len(), |i, j| (loads[i * x.len() + j] - means[j]) * cells[j].sqrt());
        let covariance = scaled.transpose() * &scaled;
        let components = covariance.self_adjoint_eigen(Side::Lower).map_err(failed)?;
        let variances = components.S().column_vector();
        let total: f64 = variances.iter().sum();
        let mut span = Self { cells, functions: Vec::new() };
        let mut carried = 0.0;
        for k in (0..x.len()).rev() {
            if carried >= share * total {
                break;
            }
            carried += variances[k];
            let vector = components.U().col(k);
            span.functions.push(vector.iter().zip(&span.cells).map(|(entry, cell)| entry / cell.sqrt()).collect());
        }
        Ok(span)
    }

    /// The number of functions.
    pub fn dimension(&self) -> usize {
        self.functions.len()
    }

    /// A kernel G(x_i, x_j), row by row, that acts on the span as the given one and is zero on what is orthogonal to it.
    pub fn project(&self, kernel: &[f64]) -> Vec<f64> {
        let mut projected = vec![0.0; kernel.len()];
        for (row, result) in kernel.chunks(self.cells.len()).zip(projected.chunks_mut(self.cells.len())) {
            for function in &self.functions {
                let terms = row.iter().zip(&self.cells).zip(function);
                let response: f64 = terms.map(|((entry, cell), value)| entry * cell * value).sum();
                result.iter_mut().zip(function).for_each(|(entry, value)| *entry += response * value);
            }
        }
        projected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, uniform};
    use std::f64::consts::{PI, TAU};

    const POINTS: usize = 101;

    fn points() -> Vec<f64> {
        (0..POINTS).map(|i| i as f64 / (POINTS - 1) as f64).collect()
    }

    fn kernel(value: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        points().iter().flat_map(|&x| points().into_iter().map(move |y| (x, y))).map(|(x, y)| value(x, y)).collect()
    }

    /// The exact Green's function of -u'' = f with u = 0 at both ends.
    fn exact(x: f64, y: f64) -> f64 {
        x.min(y) * (1.0 - x.max(y))
    }

    /// Loads of the paper's first problem: sums of (2 pi k)² û_k cos(2 pi k x), û_k uniform in [0, exp(-0.1 k²)].
    fn loads(count: u64) -> Vec<f64> {
        let load = |sample: u64| {
            let mut rng = Seed::new(sample).rng();
            let amplitude = |k: f64| (TAU * k).powi(2) * uniform(&mut rng, 0.0, (-0.1 * k * k).exp());
            let amplitudes: Vec<f64> = (1..=30).map(f64::from).map(amplitude).collect();
            let wave = |x: f64| move |(k, amplitude): (usize, &f64)| amplitude * (TAU * (k + 1) as f64 * x).cos();
            points()
                .into_iter()
                .map(move |x| amplitudes.iter().enumerate().map(wave(x)).sum::<f64>())
                .collect::<Vec<_>>()
        };
        (0..count).flat_map(load).collect()
    }

    fn largest(values: impl Iterator<Item = f64>) -> f64 {
        values.fold(0.0, |largest, value| largest.max(value.abs()))
    }

    fn difference(left: &[f64], right: &[f64]) -> f64 {
        largest(left.iter().zip(right).map(|(a, b)| a - b))
    }

    /// Loads a + b cos(2 pi x) + c cos(6 pi x) with the constant a the same in all.
    fn two_cosines() -> Vec<f64> {
        let load = |(b, c): (f64, f64)| {
            points().into_iter().map(move |x| 5.0 + b * (TAU * x).cos() + c * (3.0 * TAU * x).cos())
        };
        [(1.0, 0.0), (0.3, 0.2), (0.0, -1.0), (0.7, 0.7)].into_iter().flat_map(load).collect()
    }

    #[test]
    fn two_cosines_by_hand() {
        let span = LoadSpan::new(&points(), &two_cosines(), 0.999_999).unwrap();
        assert_eq!(span.dimension(), 2);
        // The kernel of the projection onto sqrt 2 cos(2 pi y) and sqrt 2 cos(6 pi y) in place of the identity's.
        let identity: Vec<f64> = (0..POINTS * POINTS)
            .map(|k| if k / POINTS == k % POINTS { 1.0 / span.cells[k % POINTS] } else { 0.0 })
            .collect();
        let by_hand = kernel(|x, y| [1.0, 3.0].map(|k| 2.0 * (TAU * k * x).cos() * (TAU * k * y).cos()).iter().sum());
        assert!(difference(&span.project(&identity), &by_hand) < 1e-9);
        // What the loads have in common is not determined by their differences, nor is another cosine.
        for silent in [kernel(|x, _| x), kernel(|x, y| x * (2.0 * TAU * y).cos())] {
            assert!(largest(span.project(&silent).into_iter()) < 1e-12);
        }
    }

    #[test]
    fn kernels_that_agree_on_the_loads_have_no_difference() {
        let span = LoadSpan::new(&points(), &loads(200), 0.9999).unwrap();
        assert_eq!(span.dimension(), 8, "cosines 1 to 8 carry this share");
        let true_kernel = kernel(exact);
        // No load has the wave number 40, nor a sine: what a kernel does to them cannot be known.
        let other = kernel(|x, y| exact(x, y) + x.exp() * (40.0 * TAU * y).cos() + (TAU * y).sin());
        let (exact_there, other_there) = (span.project(&true_kernel), span.project(&other));
        assert!(difference(&true_kernel, &other) > 3.0);
        assert!(difference(&exact_there, &other_there) < 1e-6, "{}", difference(&exact_there, &other_there));
        // Projecting twice is projecting once.
        assert!(difference(&span.project(&exact_there), &exact_there) < 1e-12);
        // On the span the kernel still solves: cos(2 pi y) gives (cos(2 pi x) - 1) / (2 pi)².
        let middle = &exact_there[50 * POINTS..51 * POINTS];
        let terms = middle.iter().zip(&span.cells).zip(points());
        let solved: f64 = terms.map(|((entry, cell), y)| entry * cell * (TAU * y).cos()).sum();
        assert!((solved + 2.0 / (4.0 * PI * PI)).abs() < 1e-4, "{solved}");
    }

    #[test]
    fn a_larger_share_needs_more_functions_and_equal_loads_none() {
        let loads = loads(50);
        let dimension = |share| LoadSpan::new(&points(), &loads, share).unwrap().dimension();
        assert!([0.0, 0.5, 0.99, 0.9999].map(dimension).is_sorted_by(|a, b| a < b));
        assert_eq!(LoadSpan::new(&points(), &[1.0; 3 * POINTS], 0.99).unwrap().dimension(), 0);
    }

    #[test]
    fn loads_that_do_not_fit_are_refused() {
        let x = points();
        for (x, loads) in [(&x[..], &[1.0; 5][..]), (&x, &[]), (&x[..1], &[1.0]), (&[1.0, 0.0], &[1.0; 2])] {
            assert!(LoadSpan::new(x, loads, 0.9).unwrap_err().to_string().contains("loads"));
        }
        assert!(LoadSpan::new(&[0.0, 1.0], &[1.0, f64::NAN], 0.9).is_err());
    }
}
