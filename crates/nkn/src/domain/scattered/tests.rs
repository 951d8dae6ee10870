use super::*;
use crate::domain::{Domain, Extent, Grid, PointCloud, connect};
use crate::seed::{Seed, uniform};

fn scattered(dim: usize, coordinates: &[f64]) -> Scattered<'_> {
    Scattered { dim, coordinates, enclosure: None, weights: None, measure: None }
}

fn random(dim: usize, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = Seed::new(seed).rng();
    (0..dim * count).map(|_| uniform(&mut rng, 0.0, 1.0)).collect()
}

fn ball(radius: f64) -> Extent {
    Extent::Ball { radius, inclusive: false }
}

#[test]
fn the_points_of_a_grid_have_its_rules() {
    for (shape, upper) in [
        (vec![9], vec![1.0]),
        (vec![16, 16], vec![1.0, 1.0]),
        (vec![6, 9], vec![0.5, 2.0]),
        (vec![5, 4, 6], vec![1.0, 1.5, 1.0]),
    ] {
        let dim = shape.len();
        let grid = Domain::Grid(Grid::new(shape, vec![0.0; dim], upper).unwrap());
        let points = grid.coordinates();
        let all = connect(&grid, &Extent::All, Quadrature::Trapezoid, None).unwrap();
        let given: Vec<f64> = all.row(0).map(|(_, weight)| weight).collect();
        for radius in [0.21, 0.4, 0.95] {
            let extent = Extent::Ball { radius, inclusive: false };
            for rule in [Quadrature::Overlap, Quadrature::Mean, Quadrature::Trapezoid] {
                let expected = connect(&grid, &extent, rule, None);
                for weights in [None, Some(&given[..])] {
                    let points = Scattered { weights, ..scattered(dim, &points) };
                    let found = connect_points(&points, &ball(radius), rule);
                    let (Ok(found), Ok(expected)) = (&found, &expected) else {
                        assert_eq!(found.is_err(), expected.is_err());
                        continue;
                    };
                    assert_eq!((found.offsets(), found.sources()), (expected.offsets(), expected.sources()));
                    for (a, b) in found.weights().iter().zip(expected.weights()) {
                        assert!((a - b).abs() < 1e-11, "{dim}D, {rule}: {a} {b}");
                    }
                }
            }
        }
    }
}

#[test]
fn given_weights_take_the_place_of_the_cells() {
    let points = random(2, 60, 1);
    let cells = cell_measures(2, &points, None).unwrap();
    let doubled: Vec<f64> = cells.iter().enumerate().map(|(k, m)| if k == 7 { 3.0 * m } else { *m }).collect();
    let plain = connect_points(&scattered(2, &points), &ball(0.3), Quadrature::Overlap).unwrap();
    let weighted = Scattered { weights: Some(&doubled), ..scattered(2, &points) };
    let weighted = connect_points(&weighted, &ball(0.3), Quadrature::Overlap).unwrap();
    for node in 0..60 {
        let share = plain.row(node).find(|&(source, _)| source == 7).map_or(0.0, |(_, share)| share);
        for ((source, a), (_, b)) in weighted.row(node).zip(plain.row(node)) {
            let factor = if source == 7 { 3.0 } else { 1.0 };
            assert!((a - factor * b / (1.0 + 2.0 * share)).abs() < 1e-12);
        }
    }
}

#[test]
fn an_average_over_a_ball_is_exact_for_constants_and_near_for_others() {
    for (dim, count) in [(1, 1000), (2, 1000), (3, 300)] {
        let points = random(dim, count, 3);
        let found = connect_points(&scattered(dim, &points), &ball(0.3), Quadrature::Automatic).unwrap();
        let cube = Enclosure::new(vec![0.0; dim], vec![1.0; dim], vec![true; dim]).unwrap();
        let torus = Scattered { enclosure: Some(&cube), ..scattered(dim, &points) };
        let torus = connect_points(&torus, &ball(0.3), Quadrature::Overlap).unwrap();
        for node in 0..count {
            for (found, is_torus) in [(&found, false), (&torus, true)] {
                let sum: f64 = found.row(node).map(|(_, share)| share).sum();
                assert!((sum - 1.0).abs() < 1e-12);
                // The mean displacement in a whole ball is zero.
                let whole = is_torus || points[node * dim..][..dim].iter().all(|x| (x - 0.5).abs() < 0.2);
                if whole {
                    for axis in 0..dim {
                        let along = |source: usize| {
                            let difference = points[source * dim + axis] - points[node * dim + axis];
                            if is_torus { difference - difference.round() } else { difference }
                        };
                        let mean: f64 = found.row(node).map(|(source, share)| share * along(source)).sum();
                        assert!(mean.abs() < 0.05, "{dim}D: {mean}");
                    }
                }
            }
        }
    }
}

#[test]
fn nearest_neighbours_are_as_many_as_asked_for() {
    for dim in 1..=3 {
        let points = random(dim, 200, 5);
        for rule in [Quadrature::Mean, Quadrature::Trapezoid, Quadrature::Uniform] {
            let reach = Extent::Nearest { neighbours: 12 };
            let found = connect_points(&scattered(dim, &points), &reach, rule).unwrap();
            assert_eq!(found.edges(), 200 * 13);
            assert_eq!(found.without_self().edges(), 200 * 12);
        }
        let found =
            connect_points(&scattered(dim, &points), &Extent::Nearest { neighbours: 12 }, Quadrature::Overlap).unwrap();
        for node in 0..200 {
            assert!(found.row(node).len() >= 12);
            assert!((found.row(node).map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        let few = connect_points(&scattered(dim, &points), &Extent::Nearest { neighbours: 999 }, Quadrature::Mean);
        assert_eq!(few.unwrap().edges(), 200 * 200);
    }
    let alone = connect_points(&scattered(2, &[0.1, 0.2]), &Extent::Nearest { neighbours: 3 }, Quadrature::Automatic);
    assert_eq!(alone.unwrap().weights(), [1.0]);
}

#[test]
fn the_mean_is_that_of_a_cloud_and_takes_coinciding_points() {
    let mut points = random(2, 150, 9);
    points.extend_from_within(..2);
    let cloud = Domain::Cloud(PointCloud::new(2, points.clone(), 1.0).unwrap());
    let expected = connect(&cloud, &Extent::Ball { radius: 0.2, inclusive: false }, Quadrature::Mean, None).unwrap();
    assert_eq!(connect_points(&scattered(2, &points), &ball(0.2), Quadrature::Mean).unwrap(), expected);
    let text = connect_points(&scattered(2, &points), &ball(0.2), Quadrature::Overlap).unwrap_err().to_string();
    assert!(text.contains("points 0 and 150"), "{text}");
}

#[test]
fn periodic_points_see_each_other_across_the_boundary() {
    let ring = Enclosure::new(vec![0.0], vec![1.0], vec![true]).unwrap();
    let points: Vec<f64> = (0..10).map(|k| f64::from(k) / 10.0).collect();
    let points = Scattered { enclosure: Some(&ring), ..scattered(1, &points) };
    for rule in [Quadrature::Mean, Quadrature::Overlap, Quadrature::Trapezoid] {
        let found = connect_points(&points, &ball(0.15), rule).unwrap();
        let row = |node: usize| -> Vec<(usize, f64)> { found.row(node).collect() };
        assert_eq!(row(0).iter().map(|pair| pair.0).collect::<Vec<_>>(), [0, 1, 9]);
        for node in 0..10 {
            for (source, weight) in row(node) {
                let moved = row(0).into_iter().find(|pair| pair.0 == (source + 10 - node) % 10).unwrap();
                assert!((weight - moved.1).abs() < 1e-12);
            }
        }
    }
}

#[test]
fn wrong_requests_are_refused_with_a_reason() {
    let points = random(2, 10, 2);
    let message =
        |points: &Scattered, reach: Extent, rule| connect_points(points, &reach, rule).unwrap_err().to_string();
    let plain = scattered(2, &points);
    assert!(message(&plain, Extent::Nearest { neighbours: 0 }, Quadrature::Mean).contains("at least one, got 0"));
    assert!(message(&plain, Extent::Nearest { neighbours: 0 }, Quadrature::Automatic).contains("at least one"));
    assert!(message(&plain, ball(-1.0), Quadrature::Overlap).contains("radius"));
    assert!(message(&plain, ball(1e-9), Quadrature::Mean).contains("a larger radius"));
    assert!(message(&plain, ball(0.1), Quadrature::Stencil).contains("leave the quadrature out"));
    assert!(message(&plain, Extent::All, Quadrature::Overlap).contains("overlap within a radius"));
    for (weights, part) in [(vec![1.0; 9], "10 numbers"), (vec![0.0; 10], "0 at point 0"), (vec![-1.0; 10], "-1 at")] {
        let points = Scattered { weights: Some(&weights), ..plain };
        assert!(message(&points, ball(0.5), Quadrature::Automatic).contains(part));
    }
    let outside = Enclosure::new(vec![0.0; 2], vec![0.1; 2], vec![false; 2]).unwrap();
    let points = Scattered { enclosure: Some(&outside), ..plain };
    assert!(message(&points, ball(0.5), Quadrature::Mean).contains("widen the box"));
}
