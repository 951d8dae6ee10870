//! Sums of outer products, taken where the factors lie: what the blocks of [`gathered`](super::gathered) have as derivatives.
//!
//! At a node the states of all samples, samples x columns, meet the adjoints, samples x rows; the sum over the samples and over any number of such pairs stays in registers.

use super::Real;
use super::gathered::Sizes;
use super::tile::{Factors, accumulate, add_to, fits, in_tiles, nothing, stays_in_registers};
use pulp::{Simd, WithSimd};

/// One product of a sum over outer products: where the two factors begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Of the left factor, samples x rows.
    pub left: usize,
    /// Of the right factor, samples x columns.
    pub right: usize,
}

/// Three products that share the left factor: where the factors begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triple {
    /// Of the left factor, samples x rows.
    pub left: usize,
    /// Of the right factors, samples x columns.
    pub right: [usize; 3],
}

/// A sum of states transposed times states.
struct Outer<'a, T> {
    sizes: Sizes,
    pairs: &'a [Pair],
    left: &'a [T],
    right: &'a [T],
    result: &'a mut [T],
}

impl<T: Real> WithSimd for Outer<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { sizes, pairs, left, right, result } = self;
        if !fits::<T, S>(sizes.columns) {
            return plain_outer(sizes, pairs, left, right, result);
        }
        if sizes.rows * sizes.columns <= 512 {
            let whole = Outer { sizes, pairs, left, right, result };
            return match (sizes.rows, sizes.columns) {
                (16, 16) => whole.by_rows::<S, 16, 16>(simd),
                _ => whole.by_rows::<S, 0, 0>(simd),
            };
        }
        // More than one tile: some samples of a pair at a time go through all tiles, so that they come from the nearest cache.
        const CHUNK: usize = 32;
        for pair in pairs {
            for first in (0..sizes.samples).step_by(CHUNK) {
                let pairs = &[Pair { left: pair.left + first * sizes.rows, right: pair.right + first * sizes.columns }];
                let sizes = Sizes { samples: CHUNK.min(sizes.samples - first), ..sizes };
                let piece = Outer { sizes, pairs, left, right, result: &mut *result };
                match (sizes.rows, sizes.columns) {
                    (32, 32) => piece.by_rows::<S, 32, 32>(simd),
                    (64, 64) => piece.by_rows::<S, 64, 64>(simd),
                    _ => piece.by_rows::<S, 0, 0>(simd),
                }
            }
        }
    }
}

impl<T: Real> Outer<'_, T> {
    #[inline(always)]
    fn by_rows<S: Simd, const ROWS: usize, const COLUMNS: usize>(mut self, simd: S) {
        let (rows, vectors) = (self.sizes.rows, self.sizes.columns / T::lanes::<S>());
        in_tiles!(T::Vector<S>, rows, vectors, wide [8 6 4 2 1], narrow [16 12 8 4 2 1], |R, V, row, column| {
            self.tile::<S, ROWS, COLUMNS, R, V>(simd, row, column * T::lanes::<S>())
        });
    }

    #[inline(always)]
    fn tile<S: Simd, const ROWS: usize, const COLUMNS: usize, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        row: usize,
        column: usize,
    ) {
        let Self { sizes: Sizes { samples, rows, columns }, pairs, left, right, .. } = *self;
        let (rows, columns) = if ROWS > 0 { (ROWS, COLUMNS) } else { (rows, columns) };
        let mut sums = [[T::splat(simd, T::ZERO); V]; R];
        for pair in pairs {
            let factors = Factors {
                left,
                from: pair.left + row,
                across: 1,
                along: rows,
                right,
                starts: std::array::from_fn(|v| pair.right + column + v * T::lanes::<S>()),
                stride: columns / T::lanes::<S>(),
            };
            accumulate(simd, samples, factors, &mut sums, nothing);
        }
        for r in 0..R {
            add_to(simd, sums[r], &mut self.result[(row + r) * columns + column..]);
        }
    }
}

/// Three sums of states transposed times states, 16 x 16 each; the answer is false if there is no faster way than one by one.
struct OuterThree<'a, T> {
    samples: usize,
    triples: &'a [Triple],
    left: &'a [T],
    right: &'a [T],
    result: &'a mut [T],
}

impl<T: Real> WithSimd for OuterThree<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        if const { size_of::<T::Vector<S>>() < 16 * size_of::<T>() } {
            return false;
        }
        let Self { samples, triples, left, right, result } = self;
        for row in [0, 8] {
            let mut sums = [[T::splat(simd, T::ZERO); 3]; 8];
            for triple in triples {
                let (from, starts) = (triple.left + row, triple.right);
                let factors = Factors { left, from, across: 1, along: 16, right, starts, stride: 1 };
                accumulate(simd, samples, factors, &mut sums, nothing);
            }
            for v in 0..3 {
                for r in 0..8 {
                    add_to(simd, [sums[r][v]], &mut result[v * 256 + (row + r) * 16..]);
                }
            }
        }
        true
    }
}

/// The same for any number of columns, and what the others are tested against.
fn plain_outer<T: Real>(sizes: Sizes, pairs: &[Pair], left: &[T], right: &[T], result: &mut [T]) {
    for pair in pairs {
        for n in 0..sizes.samples {
            let left = &left[pair.left + n * sizes.rows..][..sizes.rows];
            let right = &right[pair.right + n * sizes.columns..][..sizes.columns];
            for (&factor, row) in left.iter().zip(result.chunks_exact_mut(sizes.columns)) {
                for (sum, &r) in row.iter_mut().zip(right) {
                    *sum += factor * r;
                }
            }
        }
    }
}

/// `result` (rows x columns) += the sum over the pairs of left (samples x rows) transposed times right (samples x columns).
pub fn outer<T: Real>(sizes: Sizes, pairs: &[Pair], left: &[T], right: &[T], result: &mut [T]) {
    if sizes.rows > 0 && sizes.columns > 0 {
        pulp::Arch::new().dispatch(Outer { sizes, pairs, left, right, result });
    }
}

/// [`outer`] three times, with the same left factors: `result` is three blocks, one after the other.
pub fn outer_three<T: Real>(sizes: Sizes, triples: &[Triple], left: &[T], right: &[T], result: &mut [T]) {
    let is_fast = sizes.rows == 16 && sizes.columns == 16;
    let three = OuterThree { samples: sizes.samples, triples, left, right, result: &mut *result };
    if is_fast && pulp::Arch::new().dispatch(three) {
        return;
    }
    for (which, result) in result.chunks_exact_mut(sizes.rows * sizes.columns).enumerate() {
        let pairs: Vec<Pair> = triples.iter().map(|t| Pair { left: t.left, right: t.right[which] }).collect();
        outer(sizes, &pairs, left, right, result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::fixtures::{assert_close, test_values as values};

    fn all_sizes<T: Real>(tolerance: f64) {
        for (rows, columns) in [(16, 16), (3, 16), (16, 32), (32, 32), (64, 64), (5, 7), (32, 64), (20, 48), (1, 8)] {
            for samples in [1, 2, 3, 7, 12, 16, 31] {
                let sizes = Sizes { samples, rows, columns };
                let (left, right) = (values::<T>(4 * samples * rows, 0), values::<T>(3 * samples * columns, 11));
                let pair = |l: usize, r: usize| Pair { left: l * samples * rows, right: r * samples * columns };
                let pairs = [pair(2, 1), pair(0, 0), pair(3, 2)];
                let mut fast = values::<T>(rows * columns, 5);
                let mut plain = fast.clone();
                outer(sizes, &pairs, &left, &right, &mut fast);
                plain_outer(sizes, &pairs, &left, &right, &mut plain);
                assert_close(&fast, &plain, tolerance, &format!("{sizes:?}"));
            }
        }
    }

    /// Three products at a time give what one at a time does.
    fn together<T: Real>(tolerance: f64) {
        for (rows, columns) in [(16, 16), (8, 16), (16, 32), (5, 7)] {
            for samples in [1, 2, 5, 13, 31] {
                let sizes = Sizes { samples, rows, columns };
                let (left, right) = (values::<T>(6 * samples * rows, 0), values::<T>(4 * samples * columns, 11));
                let at = |r: usize| r * samples * columns;
                let triples = [
                    Triple { left: samples * rows, right: [at(0), at(2), at(1)] },
                    Triple { left: 4 * samples * rows, right: [at(3), at(3), at(0)] },
                ];
                let mut fast = values::<T>(3 * rows * columns, 5);
                let mut plain = fast.clone();
                outer_three(sizes, &triples, &left, &right, &mut fast);
                for (which, plain) in plain.chunks_exact_mut(rows * columns).enumerate() {
                    let pairs = triples.map(|t| Pair { left: t.left, right: t.right[which] });
                    plain_outer(sizes, &pairs, &left, &right, plain);
                }
                assert_close(&fast, &plain, tolerance, &format!("{sizes:?}"));
            }
        }
    }

    #[test]
    fn three_products_at_a_time() {
        together::<f64>(1e-12);
        together::<f32>(1e-4);
    }

    #[test]
    fn every_size() {
        all_sizes::<f64>(1e-12);
        all_sizes::<f32>(1e-4);
    }
}
