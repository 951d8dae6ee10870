use super::*;
use crate::domain::{Domain, Extent, Grid, Quadrature, connect};
use crate::seed::{Seed, uniform};
use proptest::prelude::*;

fn total(measures: &[f64]) -> f64 {
    measures.iter().sum()
}

fn hull(dim: usize, points: &[f64]) -> Vec<f64> {
    cell_measures(dim, points, None).unwrap()
}

/// A lattice of the unit square without the points that `keep` refuses.
fn lattice(side: usize, keep: impl Fn(f64, f64) -> bool) -> Vec<f64> {
    let at = |k: usize| k as f64 / (side - 1) as f64;
    let points = (0..side * side).map(|k| [at(k / side), at(k % side)]);
    points.filter(|&[x, y]| keep(x, y)).flatten().collect()
}

#[test]
fn the_cells_of_a_grid_are_its_trapezoidal_weights() {
    for (shape, upper) in [
        (vec![7], vec![1.0]),
        (vec![5, 8], vec![0.3, 2.0]),
        (vec![16, 16], vec![1.0, 1.0]),
        (vec![4, 3, 5], vec![1.0, 0.7, 20.0]),
        (vec![6, 6, 6], vec![1.0, 1.0, 1.0]),
    ] {
        let dim = shape.len();
        let grid = Grid::new(shape, vec![-0.1; dim], upper.clone()).unwrap();
        let points = grid.coordinates();
        let domain = Domain::Grid(grid);
        let expected = connect(&domain, &Extent::All, Quadrature::Trapezoid, None).unwrap();
        let cube = Enclosure::new(vec![-0.1; dim], upper, vec![false; dim]).unwrap();
        for enclosure in [None, Some(&cube)] {
            let measures = cell_measures(dim, &points, enclosure).unwrap();
            for (node, weight) in expected.row(0) {
                assert!((measures[node] / weight - 1.0).abs() < 1e-11, "{dim}D: {} {weight}", measures[node]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn measures_are_positive_and_fill_the_domain(
        dim in 1usize..=3, seed: u64, count in 5usize..150, snapped: bool, periodic: [bool; 3],
    ) {
        let mut rng = Seed::new(seed).rng();
        let mut points: Vec<[f64; 3]> = (0..count)
            .map(|_| {
                from_fn(|axis| {
                    let x = uniform(&mut rng, 0.0, 1.0);
                    // Multiples of 1/16 put many points on one circle or sphere, and many walls through one corner.
                    if axis >= dim { 0.0 } else if snapped { (16.0 * x).floor() / 16.0 } else { x }
                })
            })
            .collect();
        points.sort_by(|a, b| a.partial_cmp(b).unwrap());
        points.dedup();
        let points: Vec<f64> = points.iter().flat_map(|point| point[..dim].to_vec()).collect();
        let cube = Enclosure::new(vec![0.0; dim], vec![1.0; dim], periodic[..dim].to_vec()).unwrap();
        let measures = cell_measures(dim, &points, Some(&cube)).unwrap();
        prop_assert!((total(&measures) - 1.0).abs() < 1e-10, "{}", total(&measures));
        prop_assert!(measures.iter().all(|&measure| measure > 0.0));
        let measures = hull(dim, &points);
        prop_assert!(measures.iter().all(|&measure| measure > 0.0 && measure.is_finite()));
        prop_assert!(total(&measures) < 1.0 + 1e-10);
    }

    #[test]
    fn turned_and_moved_points_have_the_same_cells(seed: u64, angle in 0.1f64..1.4) {
        let mut rng = Seed::new(seed).rng();
        // A triangle, which no box resembles.
        let points: Vec<[f64; 2]> = (0..60)
            .map(|_| [uniform(&mut rng, 0.0, 1.0), uniform(&mut rng, 0.0, 1.0)])
            .filter(|[x, y]| x + y < 1.0)
            .collect();
        prop_assume!(points.len() > 10);
        let (sine, cosine) = angle.sin_cos();
        let turn = |[x, y]: &[f64; 2]| [cosine * x - sine * y + 3.0, sine * x + cosine * y];
        let turned: Vec<f64> = points.iter().flat_map(turn).collect();
        let tilted: Vec<f64> = points.iter().flat_map(|[x, y]| [cosine * x, *y, sine * x - 5.0]).collect();
        let flat: Vec<f64> = points.iter().flatten().copied().collect();
        let clouds = [(2, flat), (2, turned), (3, tilted)];
        let cells = clouds.map(|(dim, points)| Voronoi::new(dim, &points, None).unwrap());
        // A hull that fills the box around it, which few points in a triangle rarely do, gives way to that box; and a cell
        // that ends at a gap ends there along the axes. Boxes and axes do not turn.
        prop_assume!(cells.iter().all(|cells| !cells.walls.is_empty()));
        prop_assume!(cells.iter().all(|cells| cells.limits.iter().all(|limit| *limit == f64::INFINITY)));
        for (index, measure) in cells[0].measures.iter().enumerate() {
            prop_assert!((cells[1].measures[index] - measure).abs() < 1e-9);
            prop_assert!((cells[2].measures[index] - measure).abs() < 1e-9);
        }
    }
}

#[test]
fn a_hull_is_filled_whatever_its_shape() {
    // The corners and the middle of a regular octahedron, moved and stretched.
    let corners = [[1., 0., 0.], [-1., 0., 0.], [0., 1., 0.], [0., -1., 0.], [0., 0., 1.], [0., 0., -1.], [0.; 3]];
    let points: Vec<f64> = corners.iter().flat_map(|[x, y, z]| [5.0 + x, 2.0 * y, z - 1.0]).collect();
    assert!((total(&hull(3, &points)) - 8.0 / 3.0).abs() < 1e-12);
    let triangle = hull(2, &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.25, 0.25]);
    assert!((total(&triangle) - 0.5).abs() < 1e-14);
    assert!((triangle[1] - triangle[2]).abs() < 1e-15);
}

#[test]
fn periodic_cells_know_no_boundary() {
    for dim in 1..=3 {
        let side = 4usize;
        let points: Vec<f64> = (0..side.pow(dim as u32))
            .flat_map(|node| (0..dim).map(move |axis| (node / side.pow(axis as u32) % side) as f64 * 0.5 - 1.0))
            .collect();
        let torus = Enclosure::new(vec![-1.0; dim], vec![1.0; dim], vec![true; dim]).unwrap();
        let measures = cell_measures(dim, &points, Some(&torus)).unwrap();
        assert!(measures.iter().all(|measure| (measure - 0.5f64.powi(dim as i32)).abs() < 1e-14), "{measures:?}");
        // Moved round, also out of the box, nothing changes.
        let moved: Vec<f64> = points.iter().map(|x| x + 2.9).collect();
        let again = cell_measures(dim, &moved, Some(&torus)).unwrap();
        assert!(again.iter().zip(&measures).all(|(a, b)| (a - b).abs() < 1e-12));
        // A single point has all of it.
        assert_eq!(cell_measures(dim, &vec![0.3; dim], Some(&torus)).unwrap(), [2.0f64.powi(dim as i32)]);
    }
}

#[test]
fn holes_and_re_entrant_corners_are_not_filled() {
    let side = 41;
    let hole = |x: f64, y: f64| (x - 0.5).hypot(y - 0.5) > 0.3;
    let corner = |x: f64, y: f64| x <= 0.5 || y <= 0.5;
    for (points, area) in [(lattice(side, hole), 1.0 - 0.09 * std::f64::consts::PI), (lattice(side, corner), 0.75)] {
        let measures = hull(2, &points);
        // At most a layer of two spacings along the inner boundary is too much.
        assert!((total(&measures) - area).abs() < 0.1, "{} for {area}", total(&measures));
        let largest = measures.iter().copied().fold(0.0, f64::max);
        assert!(largest < 6.0 / 1600.0, "{largest}");
    }
}

#[test]
fn the_edge_of_a_dense_part_is_not_a_hole() {
    // A fine lattice in the middle of a coarse one, with spacings in the ratio of ten.
    let mut points = lattice(11, |x, y| (x - 0.5).abs().max((y - 0.5).abs()) > 0.25);
    points.extend(lattice(41, |_, _| true).iter().map(|x| 0.3 + 0.4 * x));
    assert!((total(&hull(2, &points)) - 1.0).abs() < 0.01);
}

#[test]
fn clouds_of_fewer_dimensions_have_cells_of_fewer_dimensions() {
    // A line in the plane and in space: lengths, not areas.
    for points in [vec![0.0, 0.0, 3.0, 4.0, 6.0, 8.0], vec![1.0, 0.0, 1.0, 3.0, 1.0, 7.0]] {
        let measures = hull(2, &points);
        let (first, last) = (&points[..2], &points[4..]);
        let length = (first[0] - last[0]).hypot(first[1] - last[1]);
        assert!((total(&measures) - length).abs() < 1e-12);
        assert!((measures[1] - length / 2.0).abs() < 1e-12);
    }
    let line: Vec<f64> = (0..5).flat_map(|k| [f64::from(k), 2.0 * f64::from(k), -2.0 * f64::from(k)]).collect();
    assert!(hull(3, &line).iter().zip([1.5, 3.0, 3.0, 3.0, 1.5]).all(|(a, b)| (a - b).abs() < 1e-12));
    // A square grid in a tilted plane: areas.
    let plane: Vec<f64> =
        (0..9).flat_map(|k| [f64::from(k / 3), 0.6 * f64::from(k % 3), 0.8 * f64::from(k % 3)]).collect();
    let expected = [0.25, 0.5, 0.25, 0.5, 1.0, 0.5, 0.25, 0.5, 0.25];
    assert!(hull(3, &plane).iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
    for dim in 1..=3 {
        assert_eq!(hull(dim, &vec![0.7; dim]), [1.0]);
    }
    assert_eq!(hull(2, &[0.0, 0.0, 0.0, 2.0]), [1.0, 1.0]);
}

#[test]
fn wrong_points_are_refused_with_a_reason() {
    let message = |dim, points: &[f64]| cell_measures(dim, points, None).unwrap_err().to_string();
    let text = message(2, &[0.0, 0.0, 1.0, 0.5, 0.0, 1.0, 1.0, 0.5]);
    assert!(text.contains("points 1 and 3, both at [1.0, 0.5]"), "{text}");
    assert!(message(3, &[0.5; 6]).contains("points 0 and 1"));
    assert!(message(2, &[0.0, 0.0, 1.0, f64::NAN]).contains("at point 1, axis 1"));
    assert!(message(2, &[]).contains("2 numbers for each"));
    assert!(message(4, &[0.0; 4]).contains("1, 2 or 3 dimensions"));
    let ring = Enclosure::new(vec![0.0], vec![1.0], vec![true]).unwrap();
    let text = cell_measures(1, &[0.0, 0.5, 1.0], Some(&ring)).unwrap_err().to_string();
    assert!(text.contains("points 0 and 2"), "{text}");
}
