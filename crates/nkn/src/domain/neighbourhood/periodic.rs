//! Neighbours around periodic axes: every node sees what every other sees, and a grid sees what its points see.

use super::*;
use crate::domain::Grid;
use proptest::prelude::*;

const RULES: [Quadrature; 4] = [Quadrature::Mean, Quadrature::Uniform, Quadrature::Trapezoid, Quadrature::Overlap];

fn grid(shape: &[usize], periodic: &[bool]) -> Grid {
    Grid::unit(shape).unwrap().periodic(periodic).unwrap()
}

/// The sources of a node with their weights, in ascending order; of equal ones nothing is merged.
fn row(found: &Neighbourhood, node: usize) -> Vec<(usize, f64)> {
    found.row(node).collect()
}

fn assert_alike(a: &[(usize, f64)], b: &[(usize, f64)], what: &str) {
    assert_eq!(a.len(), b.len(), "{what}: {a:?} {b:?}");
    for ((source, weight), (other, same)) in a.iter().zip(b) {
        assert!(source == other && (weight - same).abs() < 1e-9, "{what}: {a:?} {b:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A shifted problem has the shifted neighbours with the same weights, on a torus in both directions, on a tube in one.
    #[test]
    fn shifts_change_nothing(rows in 2usize..7, columns in 2usize..7, is_torus: bool, radius in 0.2f64..0.9, by in 1usize..6) {
        let grid = grid(&[rows, columns], &[true, is_torus]);
        let moved = |node: usize| {
            let (i, j) = (node / columns, node % columns);
            (i + by) % rows * columns + if is_torus { (j + 1) % columns } else { j }
        };
        let mut extents = vec![(Extent::All, Quadrature::Trapezoid)];
        extents.extend(RULES.map(|rule| (Extent::Ball { radius, inclusive: true }, rule)));
        for (extent, rule) in extents {
            let Ok(found) = connect(&grid.clone().into(), &extent, rule, None) else { continue };
            for node in 0..grid.len() {
                let mut shifted: Vec<_> = row(&found, node).into_iter().map(|(y, weight)| (moved(y), weight)).collect();
                shifted.sort_by_key(|&(source, _)| source);
                assert_alike(&row(&found, moved(node)), &shifted, &format!("{rule} at {node}"));
            }
        }
    }

    /// The grid's own rules are those of its nodes as scattered points in the same box.
    #[test]
    fn grids_agree_with_clouds(nodes in 3usize..9, radius in 0.15f64..0.6, periodic in prop::array::uniform2(any::<bool>())) {
        let grid = grid(&[nodes, nodes + 1], &periodic);
        let cloud = Domain::Cloud(grid.to_cloud().unwrap());
        let extent = Extent::Ball { radius, inclusive: false };
        for rule in [Quadrature::Mean, Quadrature::Trapezoid, Quadrature::Overlap] {
            let Ok(found) = connect(&grid.clone().into(), &extent, rule, None) else { continue };
            let scattered = connect(&cloud, &extent, rule, None).unwrap();
            for node in 0..grid.len() {
                let (a, b) = (row(&found, node), row(&scattered, node));
                // Shares that are rounding may be kept by one and left out by the other.
                let kept = |row: Vec<(usize, f64)>| row.into_iter().filter(|entry| entry.1 > 1e-9).collect::<Vec<_>>();
                assert_alike(&kept(a), &kept(b), &format!("{rule}, radius {radius}, {periodic:?}, node {node}"));
            }
        }
    }
}

#[test]
fn the_ends_of_a_ring_are_neighbours() {
    let ring = Domain::Grid(grid(&[8], &[true]));
    let found = connect(&ring, &Extent::Ball { radius: 0.13, inclusive: false }, Quadrature::Mean, None).unwrap();
    assert_eq!(found.edges(), 24);
    assert_eq!(row(&found, 0).iter().map(|entry| entry.0).collect::<Vec<_>>(), [0, 1, 7]);
    // Each cell is as large as the others, and together they are the ring.
    let all = connect(&ring, &Extent::All, Quadrature::Trapezoid, None).unwrap();
    assert!(all.weights().iter().all(|&weight| weight == 0.125));
    // A ball that reaches around itself counts every part once.
    let wide = connect(&ring, &Extent::Ball { radius: 0.9, inclusive: false }, Quadrature::Overlap, None).unwrap();
    assert!((row(&wide, 3).iter().map(|entry| entry.1).sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(wide.edges(), 64);
}

/// A finer ring repeats the displacements of the training's, also across the end.
#[test]
fn stencils_go_around() {
    let extent = Extent::Ball { radius: 0.26, inclusive: false };
    let training = TrainingRule { spacing: vec![0.125], quadrature: Quadrature::Mean };
    let fine = Domain::Grid(grid(&[16], &[true]));
    let found = connect(&fine, &extent, Quadrature::Stencil, Some(&training)).unwrap();
    assert_eq!(row(&found, 1).iter().map(|entry| entry.0).collect::<Vec<_>>(), [1, 3, 5, 13, 15]);
}
