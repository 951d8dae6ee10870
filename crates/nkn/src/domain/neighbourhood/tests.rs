use super::*;
use crate::domain::{Grid, PointCloud};
use proptest::prelude::*;

fn square(side: usize) -> Domain {
    Domain::Grid(Grid::unit(&[side, side]).unwrap())
}

fn ball(radius: f64) -> Extent {
    Extent::Ball { radius, inclusive: false }
}

fn total(neighbourhood: &Neighbourhood, node: usize) -> f64 {
    neighbourhood.row(node).map(|(_, weight)| weight).sum()
}

#[test]
fn edge_counts_are_those_of_the_paper_s_grids() {
    for (side, edges) in [(16, 2116), (31, 22_201), (61, 372_801)] {
        let found = connect(&square(side), &ball(0.1), Quadrature::Mean, None).unwrap();
        assert_eq!((found.nodes(), found.edges()), (side * side, edges));
        assert_eq!(found.without_self().edges(), edges - side * side);
    }
}

#[test]
fn ties_are_decided_by_the_setting_and_not_by_rounding() {
    // In the middle of s = 31, r = 3 dx: 25 displacements are shorter, four are as long.
    for radius in [0.1, 3.0 / 30.0, 0.1 * (1.0 + 1e-12), 0.1 * (1.0 - 1e-12)] {
        for (inclusive, expected) in [(false, 25), (true, 29)] {
            let extent = Extent::Ball { radius, inclusive };
            let found = connect(&square(31), &extent, Quadrature::Mean, None).unwrap();
            for node in [31 * 15 + 15, 31 * 7 + 20, 31 * 4 + 3] {
                assert_eq!(found.row(node).len(), expected);
            }
        }
    }
}

#[test]
fn a_grid_and_its_cloud_have_the_same_neighbours() {
    let grid = Domain::Grid(Grid::new(vec![5, 4, 6], vec![0.0; 3], vec![1.0, 2.0, 1.5]).unwrap());
    let cloud = Domain::Cloud(PointCloud::new(3, grid.coordinates(), 3.0).unwrap());
    for extent in [ball(0.8), Extent::All] {
        let on_grid = connect(&grid, &extent, Quadrature::Mean, None).unwrap();
        let on_cloud = connect(&cloud, &extent, Quadrature::Mean, None).unwrap();
        assert_eq!(on_grid, on_cloud);
    }
}

#[test]
fn rows_are_sorted_and_hold_the_node_itself() {
    for rule in [Quadrature::Mean, Quadrature::Overlap, Quadrature::Trapezoid] {
        let found = connect(&square(9), &ball(0.3), rule, None).unwrap();
        let others = found.without_self();
        assert_eq!(*found.offsets().last().unwrap(), found.sources().len());
        assert_eq!(found.weights().len(), found.edges());
        for node in 0..found.nodes() {
            let row: Vec<_> = found.row(node).collect();
            assert!(row.is_sorted_by(|a, b| a.0 < b.0));
            let kept = row.iter().copied().filter(|(source, _)| *source != node);
            assert!(kept.eq(others.row(node)));
            assert_eq!(others.row(node).len() + 1, row.len());
        }
    }
}

#[test]
fn a_stencil_on_the_training_grid_is_the_training_rule() {
    for rule in [Quadrature::Mean, Quadrature::Uniform, Quadrature::Overlap] {
        let training = TrainingRule { spacing: vec![1.0 / 15.0; 2], quadrature: rule };
        let trained = connect(&square(16), &ball(0.1), rule, None).unwrap();
        let stencil = connect(&square(16), &ball(0.1), Quadrature::Stencil, Some(&training));
        assert_eq!(stencil.unwrap(), trained);
    }
}

#[test]
fn a_stencil_on_a_finer_grid_repeats_the_training_weights() {
    for rule in [Quadrature::Mean, Quadrature::Uniform, Quadrature::Overlap] {
        let training = TrainingRule { spacing: vec![1.0 / 15.0; 2], quadrature: rule };
        let coarse = connect(&square(16), &ball(0.1), rule, None).unwrap();
        let fine = connect(&square(31), &ball(0.1), Quadrature::Stencil, Some(&training)).unwrap();
        let weights: Vec<f64> = coarse.row(16 * 8 + 8).map(|(_, weight)| weight).collect();
        // Interior nodes, those of the training grid and those between.
        for node in [31 * 16 + 16, 31 * 15 + 15, 31 * 10 + 17] {
            assert_eq!(fine.row(node).len(), weights.len());
            for ((_, weight), expected) in fine.row(node).zip(&weights) {
                assert!((weight - expected).abs() < 1e-15);
            }
        }
        // The training grid's own nodes, at the boundary too.
        for node in 0..256 {
            let same = 62 * (node / 16) + 2 * (node % 16);
            assert_eq!(fine.row(same).len(), coarse.row(node).len());
            for ((there, weight), (source, expected)) in fine.row(same).zip(coarse.row(node)) {
                assert_eq!(there, 62 * (source / 16) + 2 * (source % 16));
                assert!((weight - expected).abs() < 1e-14);
            }
        }
        if rule != Quadrature::Uniform {
            assert!((0..961).all(|node| (total(&fine, node) - 1.0).abs() < 1e-12));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn overlap_and_its_stencil_sum_to_one(
        shape in prop::collection::vec(1usize..9, 1..=3), radius in 0.01f64..1.5, height in 0.2f64..2.0,
    ) {
        let dim = shape.len();
        let mut upper = vec![1.0; dim];
        upper[dim - 1] = height;
        let grid = Grid::new(shape, vec![0.0; dim], upper).unwrap();
        let training = TrainingRule {
            spacing: grid.spacing().iter().map(|spacing| 3.0 * spacing).collect(),
            quadrature: Quadrature::Overlap,
        };
        let domain = Domain::Grid(grid);
        for rule in [Quadrature::Overlap, Quadrature::Stencil] {
            let found = connect(&domain, &ball(radius), rule, Some(&training)).unwrap();
            for node in 0..domain.len() {
                prop_assert!((total(&found, node) - 1.0).abs() < 1e-12);
                prop_assert!(found.row(node).any(|(source, _)| source == node));
            }
        }
    }
}

#[test]
fn a_radius_that_reaches_nobody_is_refused() {
    let message = |domain: &Domain, radius, rule, training: Option<&TrainingRule>| {
        let result = connect(domain, &ball(radius), rule, training);
        result.unwrap_err().to_string()
    };
    let text = message(&square(11), 0.05, Quadrature::Mean, None);
    assert!(text.contains("radius 0.05 for nodes with spacing [0.1, 0.1]"), "{text}");
    assert!(text.contains("a larger radius, or a finer resolution"));
    let cloud = Domain::Cloud(PointCloud::new(1, vec![0.0, 1.0], 2.0).unwrap());
    assert!(message(&cloud, 0.5, Quadrature::Mean, None).contains("spacing [1.0]"));
    let training = TrainingRule { spacing: vec![0.2; 2], quadrature: Quadrature::Uniform };
    let text = message(&square(11), 0.15, Quadrature::Stencil, Some(&training));
    assert!(text.contains("spacing [0.2, 0.2]"), "{text}");
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        for domain in [&square(3), &cloud] {
            let text = message(domain, radius, Quadrature::Mean, None);
            assert!(text.starts_with("radius: expected a positive number"));
        }
    }
}

#[test]
fn alone_is_fine_where_it_is_exact() {
    let small = connect(&square(11), &ball(0.01), Quadrature::Overlap, None).unwrap();
    assert_eq!(small.weights(), [1.0; 121]);
    let single = Domain::Grid(Grid::unit(&[1, 1]).unwrap());
    let found = connect(&single, &ball(0.1), Quadrature::Mean, None).unwrap();
    assert_eq!(found.edges(), 1);
}

#[test]
fn a_stencil_needs_a_rule_it_can_repeat() {
    let message = |training: Option<&TrainingRule>| {
        let result = connect(&square(5), &ball(0.3), Quadrature::Stencil, training);
        result.unwrap_err().to_string()
    };
    assert!(message(None).contains("no training rule"));
    for quadrature in [Quadrature::Stencil, Quadrature::Trapezoid] {
        let training = TrainingRule { spacing: vec![0.25; 2], quadrature };
        assert!(message(Some(&training)).contains(&format!("the training rule `{quadrature}`")));
    }
}

#[test]
fn more_nodes_than_can_be_numbered_are_refused() {
    let huge = Domain::Grid(Grid::unit(&[1 << 20, 1 << 20]).unwrap());
    let result = connect(&huge, &ball(0.1), Quadrature::Mean, None);
    assert!(result.unwrap_err().to_string().contains("at most 4294967295 nodes"));
}
