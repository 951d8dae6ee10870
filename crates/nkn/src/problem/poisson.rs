//! The 1D Poisson problem of the paper: -u'' = f on [0, 1], u(0) = u(1) = 0, and the map f -> u to be learned.
//!
//! The solutions are u = û_0 + sum over k = 1..100 of û_k cos(2 pi k x) with û_k uniform in [0, exp(-0.1 k²)] and
//! û_0 = -sum û_k, which puts both ends at zero. So f is known exactly, and a sample is its coefficients: the
//! same function can be had at any resolution.

use crate::domain::Grid;
use crate::field::Samples;
use crate::seed::{Seed, uniform};
use crate::{Error, Result};
use std::f64::consts::TAU;

/// The highest wave number in a solution.
pub const MODES: usize = 100;

/// Samples number first to first + count - 1 of f and u on equally spaced points, ends included. Each depends on the seed and
/// its number alone: asking for more samples or more points gives the same functions.
///
/// ```
/// use nkn::{problem::poisson, seed::Seed};
///
/// let coarse = poisson::generate(Seed::new(0), 10, 1, 51)?;
/// let fine = poisson::generate(Seed::new(0), 0, 20, 101)?;
/// // Sample 10 at x = 1/2:
/// assert_eq!(coarse.output_values()?[25], fine.output_values()?[10 * 101 + 50]);
/// # Ok::<(), nkn::Error>(())
/// ```
pub fn generate(seed: Seed, first: usize, count: usize, points: usize) -> Result<Samples> {
    if points < 2 {
        return Err(Error::invalid("points", "at least 2, the ends of [0, 1]", points, "the paper uses 101 points"));
    }
    let cells = points - 1;
    // cos(2 pi k i / cells) has the period `cells` in the integer k i: one small table, and arguments that
    // are reduced exactly, so that coinciding points of two grids get equal values to the last bit.
    let cosines: Vec<f64> = (0..cells).map(|i| (TAU * (i as f64 / cells as f64)).cos()).collect();
    let mut f = Vec::with_capacity(count * points);
    let mut u = Vec::with_capacity(count * points);
    for sample in first..first + count {
        let coefficients = coefficients(seed, sample);
        for i in 0..points {
            let (mut f_here, mut u_here) = (0.0, 0.0);
            for (k, coefficient) in coefficients.iter().enumerate().skip(1) {
                let wave = coefficient * cosines[k * i % cells];
                u_here += wave;
                f_here += (TAU * k as f64).powi(2) * wave;
            }
            u.push(u_here + coefficients[0]);
            f.push(f_here);
        }
    }
    Samples::on(Grid::unit(&[points])?).input("f", f)?.output("u", u)
}

/// The coefficients û_0 to û_100 of one sample's solution.
pub fn coefficients(seed: Seed, sample: usize) -> [f64; MODES + 1] {
    let mut rng = seed.derive("poisson", sample as u64).rng();
    let mut coefficients = [0.0; MODES + 1];
    for (k, coefficient) in coefficients.iter_mut().enumerate().skip(1) {
        *coefficient = uniform(&mut rng, 0.0, bound(k));
    }
    coefficients[0] = -coefficients[1..].iter().sum::<f64>();
    coefficients
}

/// The largest coefficient of wave number k.
fn bound(k: usize) -> f64 {
    (-0.1 * (k * k) as f64).exp()
}

/// Green's function: u(x) is the integral of green(x, y) f(y) over y.
pub fn green(x: f64, y: f64) -> f64 {
    (x + y - (y - x).abs()) / 2.0 - x * y
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(count: usize, points: usize) -> Samples {
        generate(Seed::new(11), 0, count, points).unwrap()
    }

    /// The right-hand sides and the solutions.
    fn functions(samples: &Samples) -> (&[f64], &[f64]) {
        (&samples.fields()[0].values, samples.output_values().unwrap())
    }

    /// The integral of weight(y) f(y) by the trapezoidal rule on the samples' points.
    fn trapezoid(x: &[f64], f: &[f64], weight: impl Fn(f64) -> f64) -> f64 {
        let values: Vec<f64> = x.iter().zip(f).map(|(&y, f)| weight(y) * f).collect();
        let ends = (values[0] + values[values.len() - 1]) / 2.0;
        (values.iter().sum::<f64>() - ends) / (x.len() - 1) as f64
    }

    #[test]
    fn solutions_vanish_at_both_ends_and_only_there() {
        for row in functions(&samples(50, 101)).1.chunks(101) {
            assert!(row[0].abs() < 1e-12 && row[100].abs() < 1e-12, "{row:?}");
            assert!(row[1..100].iter().all(|&u| u < -1e-6), "{row:?}");
        }
    }

    #[test]
    fn right_hand_side_is_minus_the_second_derivative() {
        // Eighth-order central differences.
        let weights = [-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0];
        let points = 1001;
        let data = samples(5, points);
        let (f, u) = functions(&data);
        for (f, u) in f.chunks(points).zip(u.chunks(points)) {
            for i in 4..points - 4 {
                let sum: f64 = (1..5).map(|j| weights[j] * (u[i - j] + u[i + j])).sum();
                let second = (sum + weights[0] * u[i]) * 1e6;
                assert!((second + f[i]).abs() < 1e-6, "{second} {}", f[i]);
            }
        }
    }

    #[test]
    fn green_function_gives_the_solution_with_second_order() {
        let worst = |points: usize| {
            let data = samples(3, points);
            let ((f, u), x) = (functions(&data), data.domain().coordinates());
            let mut worst = 0.0_f64;
            for (f, u) in f.chunks(points).zip(u.chunks(points)) {
                for (at, u) in x.iter().zip(u) {
                    let solved = trapezoid(&x, f, |y| green(*at, y));
                    worst = worst.max((solved - u).abs());
                }
            }
            worst
        };
        let (coarse, fine) = (worst(201), worst(401));
        assert!(fine < 1e-3, "{fine}");
        let order = (coarse / fine).log2();
        assert!((order - 2.0).abs() < 0.05, "{order}");
    }

    #[test]
    fn green_is_symmetric_and_solves_for_a_constant_load() {
        // Piecewise linear with its kink on a node: the trapezoidal rule is exact.
        let x: Vec<f64> = (0..=64).map(|i| i as f64 / 64.0).collect();
        for &at in &x {
            let integral = trapezoid(&x, &[1.0; 65], |y| green(at, y));
            assert!((integral - at * (1.0 - at) / 2.0).abs() < 1e-15);
            assert!(x.iter().all(|&y| (green(at, y) - green(y, at)).abs() < 1e-16));
        }
        assert_eq!(green(0.25, 0.5), 0.125);
        assert_eq!(green(0.5, 0.25), 0.125);
    }

    #[test]
    fn coefficients_fill_their_ranges() {
        let count = 2000;
        let all: Vec<_> = (0..count).map(|i| coefficients(Seed::new(4), i)).collect();
        for k in 1..=20 {
            let scaled = all.iter().map(|c| c[k] / bound(k));
            let (low, high, sum) =
                scaled.fold((1.0_f64, 0.0_f64, 0.0), |(low, high, sum), c| (low.min(c), high.max(c), sum + c));
            assert!((0.0..0.01).contains(&low), "{k}: {low}");
            assert!((0.99..=1.0).contains(&high), "{k}: {high}");
            // Six standard deviations of the mean of 2000.
            assert!((sum / count as f64 - 0.5).abs() < 0.039, "{k}: {sum}");
        }
        for c in &all {
            assert!(c.iter().sum::<f64>().abs() < 1e-14);
        }
        assert!((bound(3) - 0.406_569_659_740_599_1).abs() < 1e-15);
    }

    #[test]
    fn the_same_functions_at_every_resolution_and_count() {
        let fine = samples(4, 201);
        let (fine_f, fine_u) = functions(&fine);
        for (points, step) in [(101, 2), (51, 4)] {
            let coarse = generate(Seed::new(11), 1, 3, points).unwrap();
            let (f, u) = functions(&coarse);
            assert_eq!(f.len(), 3 * points);
            for sample in 0..3 {
                for i in 0..points {
                    let (here, there) = (sample * points + i, (sample + 1) * 201 + i * step);
                    assert_eq!(u[here], fine_u[there]);
                    assert_eq!(f[here], fine_f[there]);
                }
            }
        }
        assert_ne!(fine_u[..201], fine_u[201..402]);
        assert_ne!(functions(&generate(Seed::new(12), 0, 4, 201).unwrap()).1, fine_u);
    }

    #[test]
    fn data_never_change() {
        // From an independent implementation in Python; not to the last bit, since cos and exp are the platform's.
        let data = generate(Seed::new(0), 0, 1, 3).unwrap();
        let (f, u) = (functions(&data).0[0], functions(&data).1[1]);
        assert!((u + 1.748_405_533_366_789).abs() < 1e-12, "{u}");
        assert!((f - 310.108_626_877_595_04).abs() < 1e-9, "{f}");
    }

    #[test]
    fn fewer_than_two_points_and_no_samples_are_errors() {
        for points in [0, 1] {
            let message = generate(Seed::new(0), 0, 1, points).unwrap_err().to_string();
            assert!(message.contains("points: expected at least 2"), "{message}");
        }
        assert_eq!(samples(1, 2).domain().coordinates(), [0.0, 1.0]);
        assert!(generate(Seed::new(0), 0, 0, 5).unwrap_err().to_string().contains("at least one sample"));
    }
}
