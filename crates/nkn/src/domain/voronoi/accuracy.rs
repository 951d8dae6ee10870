//! How fast the integral of a smooth function over random points converges, and that a part of a cell is what it is.

use super::*;
use crate::seed::{Seed, uniform};

/// Points in the unit interval, square or cube: uniform, or crowded towards the origin with the density of a root.
fn random(dim: usize, count: usize, seed: u64, crowded: bool) -> Vec<f64> {
    let mut rng = Seed::new(seed).derive("cloud", count as u64).rng();
    let power = if crowded { 2.0 } else { 1.0 };
    (0..dim * count).map(|_| uniform(&mut rng, 0.0, 1.0).powf(power)).collect()
}

/// The root of the mean square of the relative errors over some clouds: of `mean`, of the cells within the cloud's own
/// hull, and of those within the box.
fn errors(dim: usize, count: usize, crowded: bool) -> [f64; 3] {
    let cube = Enclosure::new(vec![0.0; dim], vec![1.0; dim], vec![false; dim]).unwrap();
    let exact = ((1.5f64.exp() - 1.0) / 1.5).powi(dim as i32);
    let mut squares = [0.0; 3];
    const CLOUDS: u64 = 6;
    for seed in 0..CLOUDS {
        let points = random(dim, count, seed, crowded);
        let integral = |weights: &[f64]| -> f64 {
            let value = |point: &[f64]| point.iter().map(|x| (1.5 * x).exp()).product::<f64>();
            points.chunks(dim).zip(weights).map(|(point, weight)| weight * value(point)).sum()
        };
        let mean = vec![1.0 / count as f64; count];
        let hull = cell_measures(dim, &points, None).unwrap();
        let boxed = cell_measures(dim, &points, Some(&cube)).unwrap();
        for (square, weights) in squares.iter_mut().zip([mean, hull, boxed]) {
            *square += (integral(&weights) / exact - 1.0).powi(2) / CLOUDS as f64;
        }
    }
    squares.map(f64::sqrt)
}

#[test]
fn cells_converge_clearly_faster_than_the_mean() {
    // The exponents of n that are measured are -2, -1 and -0.7 within a box: the square of the spacing. Mean has -0.5
    // for uniform points and none for crowded ones. Without a box the order in 3D is flattered: 100 points are within
    // their hull, 2400 within the box around them.
    for (dim, [few, many], least) in [(1, [100, 1600], 1.4), (2, [200, 3200], 0.85), (3, [100, 2400], 0.5)] {
        for crowded in [false, true] {
            let (coarse, fine) = (errors(dim, few, crowded), errors(dim, many, crowded));
            let order = |rule: usize| (coarse[rule] / fine[rule]).ln() / (many as f64 / few as f64).ln();
            let text =
                format!("{dim}D, crowded {crowded}: {coarse:?} to {fine:?}, {} {} {}", order(0), order(1), order(2));
            assert!(order(1) > 0.65 && order(2) > least, "{text}");
            assert!(fine[1] < 0.5 * fine[0] && fine[2] < 0.3 * fine[0], "{text}");
            assert!(!crowded || fine[2] < 0.1 * fine[0], "{text}");
        }
    }
}

#[test]
fn the_part_of_a_cell_in_a_ball_agrees_with_counting() {
    for case in 0..24u64 {
        let dim = 1 + case as usize % 3;
        let points = random(dim, 40, case, false);
        let cells = Voronoi::new(dim, &points, None).unwrap();
        let mut rng = Seed::new(case).derive("ball", 0).rng();
        let node = case as usize;
        let (cell, reach) = (cells.cell(node), cells.reaches()[node]);
        let centre: [f64; 3] = from_fn(|axis| if axis < dim { uniform(&mut rng, -reach, reach) } else { 0.0 });
        let radius = uniform(&mut rng, 0.2, 1.2) * reach;
        // Points of a fine lattice around the cell that are nearer to its point than to any other, and in the domain.
        let side: usize = [20_000, 300, 60][dim - 1];
        let (mut inside, mut whole) = (0.0, 0.0);
        let step = 2.0 * reach / side as f64;
        for index in 0..side.pow(dim as u32) {
            let digit = |axis: usize| (index / side.pow(axis as u32) % side) as f64 + 0.5;
            let at: [f64; 3] = from_fn(|axis| if axis < dim { digit(axis) * step - reach } else { 0.0 });
            let square = |from: [f64; 3]| (0..3).map(|axis| (at[axis] - from[axis]).powi(2)).sum::<f64>();
            let origin = cells.search.point(node);
            let place: [f64; 3] = from_fn(|axis| at[axis] + origin[axis]);
            let own = (0..dim).all(|axis| (cells.lower[axis]..=cells.upper[axis]).contains(&place[axis]))
                && cells.walls.iter().all(|wall| wall.excess(place) <= 0.0)
                && (0..40).all(|other| {
                    let other = cells.search.point(other);
                    square(from_fn(|axis| other[axis] - origin[axis])) >= square([0.0; 3])
                });
            if own {
                whole += step.powi(dim as i32);
                inside += if square(centre) < radius * radius { step.powi(dim as i32) } else { 0.0 };
            }
        }
        let bound = 0.03 * (2.0 * reach).powi(dim as i32) * [0.01, 0.1, 0.5][dim - 1];
        assert!((cell.measure() - whole).abs() < bound, "{case}: {} {whole} {bound}", cell.measure());
        let part = cell.measure_in_ball(centre, radius);
        assert!((part - inside).abs() < bound, "{case}: {part} {inside} {bound}");
        let all = cell.measure_in_ball([0.0; 3], 1.01 * reach);
        assert!((all - cell.measure()).abs() < 1e-12 * reach.powi(dim as i32), "{all}");
        assert!(cell.measure_in_ball([3.0, 0.0, 0.0], 0.5).abs() < 1e-12);
    }
}
