//! The smoothed coefficient b_eps and its gradient, the inputs that the networks get beside b itself.

/// The variance of the Gaussian, in squared grid cells, where nothing else is said.
pub(super) const VARIANCE: f64 = 5.0;

/// The values on side x side nodes (at i side + j) smoothed by a Gaussian of a variance in grid cells squared.
///
/// Beyond the boundary, the function continues as its mirror image at the boundary nodes: that is how the random
/// field's cosine series continues, and it keeps the mean (by the trapezoidal rule, in which boundary nodes count half).
pub(super) fn smoothed(values: &[f64], side: usize, variance: f64) -> Vec<f64> {
    // Beyond six standard deviations the mass is 1e-9.
    let reach = (6.0 * variance.sqrt()).ceil() as usize;
    let gaussian: Vec<f64> = (0..=reach).map(|d| (-((d * d) as f64) / (2.0 * variance)).exp()).collect();
    let sum = gaussian[0] + 2.0 * gaussian[1..].iter().sum::<f64>();
    let weights: Vec<f64> = gaussian.iter().map(|weight| weight / sum).collect();
    let along_second = smoothed_rows(values, side, &weights);
    transposed(&smoothed_rows(&transposed(&along_second, side), side, &weights), side)
}

fn smoothed_rows(values: &[f64], side: usize, weights: &[f64]) -> Vec<f64> {
    let reach = weights.len() - 1;
    let mut smoothed = Vec::with_capacity(values.len());
    let mut extended = vec![0.0; side + 2 * reach];
    for row in values.chunks_exact(side) {
        for (at, value) in extended.iter_mut().enumerate() {
            *value = row[mirrored(at as isize - reach as isize, side)];
        }
        for centre in reach..reach + side {
            // Pairs are added first: a row and its mirror image get the same values to the last bit.
            let pairs = (1..=reach).map(|d| weights[d] * (extended[centre - d] + extended[centre + d]));
            smoothed.push(pairs.fold(weights[0] * extended[centre], |sum, pair| sum + pair));
        }
    }
    smoothed
}

/// The node whose mirror image is at `at`; the pattern repeats after going there and back.
fn mirrored(at: isize, side: usize) -> usize {
    let period = 2 * (side - 1);
    let at = at.rem_euclid(period as isize) as usize;
    at.min(period - at)
}

/// The derivatives along the first and the second axis of the unit square, by central differences; on the
/// boundary, by the one-sided differences of second order.
pub(super) fn gradient(values: &[f64], side: usize) -> (Vec<f64>, Vec<f64>) {
    let half = (side - 1) as f64 / 2.0;
    // The node, its place along the axis, and the distance to the next node along the axis.
    let difference = |node: usize, place: usize, step: usize| {
        let slope = if place == 0 {
            4.0 * values[node + step] - 3.0 * values[node] - values[node + 2 * step]
        } else if place + 1 == side {
            3.0 * values[node] + values[node - 2 * step] - 4.0 * values[node - step]
        } else {
            values[node + step] - values[node - step]
        };
        slope * half
    };
    let nodes = 0..side * side;
    let first = nodes.clone().map(|node| difference(node, node / side, side)).collect();
    let second = nodes.map(|node| difference(node, node % side, 1)).collect();
    (first, second)
}

/// The values at j side + i instead of i side + j.
fn transposed(values: &[f64], side: usize) -> Vec<f64> {
    (0..side).flat_map(|i| values[i..].iter().step_by(side).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodal(side: usize, function: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let at = |i: usize| i as f64 / (side - 1) as f64;
        (0..side * side).map(|node| function(at(node / side), at(node % side))).collect()
    }

    /// Two values with no symmetry.
    fn rough(side: usize) -> Vec<f64> {
        (0..side * side).map(|node| if node * node % 7 < 3 { 3.0 } else { 12.0 }).collect()
    }

    #[test]
    fn constants_and_means_are_kept() {
        // Also on grids that are smaller than the Gaussian.
        for side in [3, 4, 10, 61] {
            assert!(smoothed(&vec![2.5; side * side], side, VARIANCE).iter().all(|value| (value - 2.5).abs() < 1e-14));
            let weight = |i: usize| if i == 0 || i + 1 == side { 0.5 } else { 1.0 };
            let mean = |values: &[f64]| -> f64 {
                let parts = values.iter().enumerate().map(|(k, v)| weight(k / side) * weight(k % side) * v);
                parts.sum::<f64>() / ((side - 1) * (side - 1)) as f64
            };
            let values = rough(side);
            assert!((mean(&smoothed(&values, side, VARIANCE)) - mean(&values)).abs() < 1e-12, "{side}");
        }
    }

    #[test]
    fn a_point_becomes_a_gaussian_of_variance_five() {
        let side = 61;
        let mut values = vec![0.0; side * side];
        values[30 * side + 25] = 1.0;
        let smooth = smoothed(&values, side, VARIANCE);
        let moment = |power: i32, coordinate: &dyn Fn(usize) -> f64| -> f64 {
            smooth.iter().enumerate().map(|(k, v)| v * coordinate(k).powi(power)).sum()
        };
        let first = |k: usize| (k / side) as f64 - 30.0;
        let second = |k: usize| (k % side) as f64 - 25.0;
        for coordinate in [&first as &dyn Fn(usize) -> f64, &second] {
            assert!(moment(1, coordinate).abs() < 1e-12);
            assert!((moment(2, coordinate) - 5.0).abs() < 1e-6, "{}", moment(2, coordinate));
        }
        let density = (-((3 * 3 + 2 * 2) as f64) / 10.0).exp() / (10.0 * std::f64::consts::PI);
        assert!((smooth[33 * side + 27] - density).abs() < 1e-9);
    }

    #[test]
    fn waves_that_are_even_at_the_boundary_are_damped_exactly() {
        // cos(pi k i / (side - 1)) is its own mirror image: it keeps its shape, times exp(-variance wave² / 2).
        let side = 41;
        let wave = nodal(side, |x, y| (3.0 * std::f64::consts::PI * x).cos() + 0.0 * y);
        let damping = (-VARIANCE / 2.0 * (3.0 * std::f64::consts::PI / 40.0).powi(2)).exp();
        for (smooth, wave) in smoothed(&wave, side, VARIANCE).iter().zip(&wave) {
            assert!((smooth - damping * wave).abs() < 1e-8, "{smooth} {wave}");
        }
    }

    #[test]
    fn both_axes_are_treated_alike() {
        let side = 23;
        let values = rough(side);
        let turned = smoothed(&transposed(&values, side), side, VARIANCE);
        for (a, b) in transposed(&turned, side).iter().zip(smoothed(&values, side, VARIANCE)) {
            assert!((a - b).abs() < 1e-13);
        }
        let (first, second) = gradient(&values, side);
        let (first_turned, second_turned) = gradient(&transposed(&values, side), side);
        assert_eq!(transposed(&first, side), second_turned);
        assert_eq!(transposed(&second, side), first_turned);
    }

    #[test]
    fn gradients_of_quadratic_functions_are_exact() {
        for side in [3, 4, 17] {
            let values = nodal(side, |x, y| 1.0 + 2.0 * x - 3.0 * y);
            let (first, second) = gradient(&values, side);
            assert!(first.iter().all(|value| (value - 2.0).abs() < 1e-12));
            assert!(second.iter().all(|value| (value + 3.0).abs() < 1e-12));

            let values = nodal(side, |x, y| x * x + 3.0 * x * y - 2.0 * y * y);
            let (first, second) = gradient(&values, side);
            let exact = nodal(side, |x, y| 2.0 * x + 3.0 * y);
            assert!(first.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-12));
            let exact = nodal(side, |x, y| 3.0 * x - 4.0 * y);
            assert!(second.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }
}
