//! How accurate `overlap` is: against counting, and its order.

use super::*;
use crate::domain::Grid;
use proptest::prelude::*;

fn ball(radius: f64) -> Extent {
    Extent::Ball { radius, inclusive: false }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn shares_agree_with_counting_points(
        shape in prop::collection::vec(1usize..5, 2..=3), radius in 0.15f64..1.2, pick in 0usize..100,
    ) {
        let dim = shape.len();
        let grid = Grid::unit(&shape).unwrap();
        let node = pick % grid.len();
        let centre = grid.point(node);
        // A prime number of points per side: none of them on the face of a cell or on another symmetry.
        let per_side: usize = if dim == 2 { 997 } else { 101 };
        let (mut counts, mut total) = (vec![0.0; grid.len()], 0.0);
        for index in 0..per_side.pow(dim as u32) {
            let (mut digits, mut square, mut owner) = (index, 0.0, 0);
            for axis in 0..dim {
                let x = ((digits % per_side) as f64 + 0.5) / per_side as f64;
                digits /= per_side;
                square += (x - centre[axis]).powi(2);
                owner = owner * shape[axis] + (x * (shape[axis] - 1) as f64).round() as usize;
            }
            if square < radius * radius {
                counts[owner] += 1.0;
                total += 1.0;
            }
        }
        let found = connect(&Domain::Grid(grid), &ball(radius), Quadrature::Overlap, None).unwrap();
        for (source, weight) in found.row(node) {
            counts[source] -= weight * total;
        }
        // What is left, neighbour or not, is the error of counting.
        prop_assert!(counts.iter().all(|rest| rest.abs() < 0.02 * total));
    }
}

/// The average over the ball around `centre` within the unit square, by fine slices x = centre + r sin(angle).
fn average(centre: [f64; 2], radius: f64, f: impl Fn(f64, f64) -> f64) -> f64 {
    let (slices, points) = (2000, 100);
    let inside = |value: f64| value.clamp(0.0, 1.0);
    // Rounding must not leave the domain of asin.
    let angle = |x: f64| ((inside(x) - centre[0]) / radius).clamp(-1.0, 1.0).asin();
    let (first, last) = (angle(centre[0] - radius), angle(centre[0] + radius));
    let (mut sum, mut area) = (0.0, 0.0);
    for slice in 0..slices {
        let angle = first + (last - first) * (f64::from(slice) + 0.5) / f64::from(slices);
        let (x, half) = (centre[0] + radius * angle.sin(), radius * angle.cos());
        let (low, high) = (inside(centre[1] - half), inside(centre[1] + half));
        let weight = half * (high - low) / f64::from(points);
        for point in 0..points {
            let y = low + (high - low) * (f64::from(point) + 0.5) / f64::from(points);
            sum += weight * f(x, y);
        }
        area += half * (high - low);
    }
    sum / area
}

/// The slope of a least squares line through (log spacing, log error).
fn observed_order(sides: &[usize], errors: &[f64]) -> f64 {
    let x: Vec<f64> = sides.iter().map(|side| -((side - 1) as f64).ln()).collect();
    let y: Vec<f64> = errors.iter().map(|error| error.ln()).collect();
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (mx, my) = (mean(&x), mean(&y));
    let products: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
    products / x.iter().map(|x| (x - mx).powi(2)).sum::<f64>()
}

/// Checks the order of the error at some points.
///
/// The error of a single ball jumps with the way in which it cuts the cells, so several radii are taken together.
fn check_order(points: &[&[f64]], f: impl Fn(&[f64]) -> f64, exact: impl Fn(&[f64], f64) -> f64) {
    let (sides, radii) = ([11, 21, 41, 81], [0.17, 0.22, 0.26, 0.31, 0.37]);
    let mut squares = vec![[0.0; 4]; points.len()];
    for radius in radii {
        let exact: Vec<f64> = points.iter().map(|point| exact(point, radius)).collect();
        for (column, side) in sides.into_iter().enumerate() {
            let grid = Grid::unit(&vec![side; points[0].len()]).unwrap();
            let domain = Domain::Grid(grid.clone());
            let found = connect(&domain, &ball(radius), Quadrature::Overlap, None).unwrap();
            for (index, point) in points.iter().enumerate() {
                let node = point.iter().fold(0, |node, x| node * side + (x * (side - 1) as f64).round() as usize);
                let terms = found.row(node).map(|(source, w)| w * f(&grid.point(source)));
                squares[index][column] += (terms.sum::<f64>() - exact[index]).powi(2);
            }
        }
    }
    for (point, squares) in points.iter().zip(squares) {
        let order = observed_order(&sides, &squares.map(f64::sqrt));
        assert!(order >= 1.8, "order {order} at {point:?}: {squares:?}");
    }
}

#[test]
fn overlap_is_of_second_order_on_a_line() {
    let smooth = |x: f64| (2.0 * x).sin() + x.exp();
    let integral = |x: f64| x.exp() - 0.5 * (2.0 * x).cos();
    check_order(
        &[&[0.0], &[0.1], &[0.5]],
        |x| smooth(x[0]),
        |x, radius| {
            let (low, high) = ((x[0] - radius).max(0.0), x[0] + radius);
            (integral(high) - integral(low)) / (high - low)
        },
    );
}

#[test]
fn overlap_is_of_second_order_in_a_square() {
    let smooth = |x: f64, y: f64| (2.0 * x + y).sin() + (x - 0.5 * y).exp();
    check_order(
        &[&[0.5, 0.5], &[0.5, 0.0], &[0.0, 0.0], &[0.1, 0.2], &[1.0, 0.3]],
        |x| smooth(x[0], x[1]),
        |x, radius| average([x[0], x[1]], radius, smooth),
    );
}
