//! Do turned and mirrored samples look like the samples? If the law of the samples has the symmetries of the square, a
//! sample moved by a random one is as good as the sample itself, so no number that is computed from all samples may
//! tell the two apart.

use crate::Result;
use crate::field::{Field, Samples, Symmetry, check_square, moved};
use crate::seed::{Seed, uniform};
use std::cmp::Ordering;

/// Fewer samples say nothing.
const LEAST: usize = 16;
/// More are not needed.
const MOST: usize = 200;
/// Blocks along a side over which fields are averaged.
const BLOCKS: usize = 4;
/// Random motions that the samples are compared with, and how many of them may be closer to symmetric than the samples.
const MOTIONS: usize = 199;
const CLOSER: usize = 196;

/// Whether the samples look symmetric, with pairs of fields that turn as the components of vectors; nothing where there
/// is no square or too few samples.
pub(super) fn is_symmetric(samples: &Samples, vectors: &[[String; 2]], seed: Seed) -> Result<Option<bool>> {
    if samples.count() < LEAST || check_square(samples.domain()).is_err() {
        return Ok(None);
    }
    let side = check_square(samples.domain())?.shape()[0];
    if side < 2 * BLOCKS {
        return Ok(None);
    }
    let count = samples.count().min(MOST);
    let samples = samples.select(&(0..count).collect::<Vec<_>>());
    // features[symmetry][sample]
    let features = (0..8)
        .map(|symmetry| features(&moved(&samples, &vec![Symmetry(symmetry); count], vectors)?, side))
        .collect::<Result<Vec<_>>>()?;
    let length = features[0][0].len();
    let all = (8 * count) as f64;
    let over_all =
        |f: &dyn Fn(f64) -> f64, at: usize| features.iter().flatten().map(|own| f(own[at])).sum::<f64>() / all;
    let means: Vec<f64> = (0..length).map(|at| over_all(&|v| v, at)).collect();
    let spreads: Vec<f64> = (0..length).map(|at| over_all(&|v| (v - means[at]).powi(2), at)).collect();
    // How far the mean over the samples is from the mean over all their motions, where it is farthest: a preferred
    // direction shows in a few numbers only.
    let distance = |symmetry_of: &dyn Fn(usize) -> usize| -> f64 {
        let term = |at: usize| {
            let own = (0..count).map(|sample| features[symmetry_of(sample)][sample][at]).sum::<f64>() / count as f64;
            if spreads[at] > 0.0 { (own - means[at]).powi(2) / spreads[at] } else { 0.0 }
        };
        (0..length).map(term).fold(0.0, f64::max)
    };
    let own = distance(&|_| 0);
    let closer = (0..MOTIONS).filter(|&motion| {
        let mut rng = seed.derive("symmetric", motion as u64).rng();
        let chosen: Vec<usize> = (0..count).map(|_| uniform(&mut rng, 0.0, 8.0) as usize % 8).collect();
        distance(&|sample| chosen[sample]) < own
    });
    Ok(Some(closer.count() <= CLOSER))
}

/// Numbers of each sample that a preferred direction changes: averages over blocks, and products of an input with the
/// output some nodes away.
fn features(samples: &Samples, side: usize) -> Result<Vec<Vec<f64>>> {
    // Whatever turns with the sample has a size that does not.
    let outputs: Vec<Vec<f64>> = samples.outputs_named(&[])?.into_iter().map(size).collect();
    let inputs: Vec<Vec<f64>> = samples.fields().iter().map(size).collect();
    let nodes = side * side;
    let away = (side / 8).max(1) as isize;
    let mut all = vec![Vec::new(); samples.count()];
    for (sample, own) in all.iter_mut().enumerate() {
        let span = sample * nodes..(sample + 1) * nodes;
        outputs.iter().for_each(|output| own.extend(blocks(&output[span.clone()], side)));
        // The first output stands for all.
        let u = &outputs[0][span.clone()];
        for input in &inputs {
            let f = &input[span.clone()];
            own.extend(blocks(f, side));
            let middle = f.iter().sum::<f64>() / nodes as f64;
            for (down, right) in [(1, 0), (0, 1), (1, 1), (1, -1)] {
                let shifted = |sign: isize| {
                    let shift = (sign * down * away, sign * right * away);
                    product(f, middle, u, side as isize, shift)
                };
                let (there, back) = (shifted(1), shifted(-1));
                // What is the same both ways varies much from sample to sample and would hide what is not.
                own.extend([there + back, there - back]);
            }
        }
    }
    Ok(all)
}

/// A scalar as it is, of a vector the length.
fn size(field: &Field) -> Vec<f64> {
    match field.components {
        1 => field.values.clone(),
        components => {
            let length = |node: &[f64]| node.iter().map(|v| v * v).sum::<f64>().sqrt();
            field.values.chunks_exact(components).map(length).collect()
        }
    }
}

fn blocks(values: &[f64], side: usize) -> Vec<f64> {
    let mut sums = vec![0.0; BLOCKS * BLOCKS];
    for (node, value) in values.iter().enumerate() {
        // Counted from both ends alike, without the middle, so that a mirrored field has mirrored blocks.
        let block = |i: usize| {
            let near = i.min(side - 1 - i) * BLOCKS / side;
            match (2 * i + 1).cmp(&side) {
                Ordering::Less => Some(near),
                Ordering::Equal => None,
                Ordering::Greater => Some(BLOCKS - 1 - near),
            }
        };
        if let (Some(down), Some(right)) = (block(node / side), block(node % side)) {
            sums[down * BLOCKS + right] += value;
        }
    }
    sums
}

/// The mean of (f(x) - its mean) u(x + shift) over the nodes where both are.
fn product(f: &[f64], middle: f64, u: &[f64], side: isize, (down, right): (isize, isize)) -> f64 {
    let inside = |i: isize| (0..side).contains(&i);
    let mut sum = 0.0;
    for i in (0..side).filter(|i| inside(i + down)) {
        for j in (0..side).filter(|j| inside(j + right)) {
            sum += (f[(i * side + j) as usize] - middle) * u[((i + down) * side + j + right) as usize];
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Grid;

    const SIDE: usize = 9;

    /// Random fields; the output at a node is the sum of the inputs at some others.
    fn samples(count: usize, places: &[(isize, isize)]) -> Samples {
        let mut rng = Seed::new(5).rng();
        let f: Vec<f64> = (0..count * SIDE * SIDE).map(|_| uniform(&mut rng, -1.0, 1.0)).collect();
        let at = |f: &[f64], i: isize, j: isize| {
            let inside = (0..SIDE as isize).contains(&i) && (0..SIDE as isize).contains(&j);
            if inside { f[i as usize * SIDE + j as usize] } else { 0.0 }
        };
        let u = f.chunks(SIDE * SIDE).flat_map(|f| {
            let sum = move |node: usize| {
                let (i, j) = ((node / SIDE) as isize, (node % SIDE) as isize);
                places.iter().map(|(down, right)| at(f, i + down, j + right)).sum::<f64>()
            };
            (0..SIDE * SIDE).map(sum)
        });
        let u: Vec<f64> = u.collect();
        Samples::on(Grid::unit(&[SIDE, SIDE]).unwrap()).input("f", f).unwrap().output("u", u).unwrap()
    }

    #[test]
    fn a_preferred_direction_is_seen() {
        let seed = Seed::new(1);
        let round = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)];
        assert_eq!(is_symmetric(&samples(60, &round), &[], seed).unwrap(), Some(true));
        for wind in [(0, 1), (1, 0), (1, 1)] {
            assert_eq!(is_symmetric(&samples(60, &[(0, 0), wind]), &[], seed).unwrap(), Some(false), "{wind:?}");
        }
    }

    #[test]
    fn what_cannot_be_said() {
        assert_eq!(is_symmetric(&samples(5, &[(0, 0)]), &[], Seed::new(1)).unwrap(), None);
        let line = Samples::on(Grid::unit(&[9]).unwrap()).input("f", vec![1.0; 9 * 20]).unwrap();
        assert_eq!(is_symmetric(&line.output("u", vec![1.0; 180]).unwrap(), &[], Seed::new(1)).unwrap(), None);
    }

    #[test]
    fn blocks_of_a_mirrored_field_are_mirrored() {
        for side in [8, 9, 11, 16] {
            let field: Vec<f64> = (0..side * side).map(|i| (i * i % 17) as f64).collect();
            let mirrored: Vec<f64> = field.chunks(side).rev().flatten().copied().collect();
            let back: Vec<f64> = blocks(&mirrored, side).chunks(BLOCKS).rev().flatten().copied().collect();
            for (a, b) in blocks(&field, side).iter().zip(back) {
                assert!((a - b).abs() < 1e-9, "side {side}");
            }
        }
    }
}
