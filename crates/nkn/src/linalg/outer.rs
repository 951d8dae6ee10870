//! Sums of outer products, taken where the factors lie: what the blocks of [`gathered`](super::gathered) have as derivatives.
//!
//! At a node the states of all samples, samples x columns, meet the adjoints, samples x rows; the sum over the samples and over any number of such pairs stays in registers.

use super::Real;
use super::gathered::Sizes;
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

/// The sums made for a precision.
pub trait OuterKernel: Sized {
    /// A sum of states transposed times states.
    fn outer_product(sizes: Sizes, pairs: &[Pair], left: &[Self], right: &[Self], result: &mut [Self]);
    /// Three sums of states transposed times states, 16 x 16 each; false if there is no faster way than one by one.
    fn outer_products(samples: usize, triples: &[Triple], left: &[Self], right: &[Self], result: &mut [Self]) -> bool;
}

macro_rules! kernels {
    ($scalar:ty, $vector:ident, $lanes:ident, $splat:ident, $mul_add:ident, $add:ident) => {
        impl OuterKernel for $scalar {
            fn outer_products(
                samples: usize,
                triples: &[Triple],
                left: &[$scalar],
                right: &[$scalar],
                result: &mut [$scalar],
            ) -> bool {
                struct Task<'a>(usize, &'a [Triple], &'a [$scalar], &'a [$scalar], &'a mut [$scalar]);
                impl WithSimd for Task<'_> {
                    type Output = bool;
                    #[inline(always)]
                    fn with_simd<S: Simd>(self, simd: S) -> bool {
                        if S::$lanes != 16 {
                            return false;
                        }
                        let Self(samples, triples, left, right, result) = self;
                        for row in [0, 8] {
                            tile::<S>(simd, samples, triples, left, right, result, row);
                        }
                        true
                    }
                }

                #[inline(always)]
                fn tile<S: Simd>(
                    simd: S,
                    samples: usize,
                    triples: &[Triple],
                    left: &[$scalar],
                    right: &[$scalar],
                    result: &mut [$scalar],
                    row: usize,
                ) {
                    let mut sums = [[simd.$splat(0.0); 3]; 8];
                    for triple in triples {
                        let left = &left[triple.left..][..samples * 16];
                        let right = triple
                            .right
                            .map(|at| -> &[S::$vector] { bytemuck::cast_slice(&right[at..][..samples * 16]) });
                        assert!(right.iter().all(|right| right.len() == samples) && row + 8 <= 16);
                        for n in 0..samples {
                            // SAFETY: n < samples, and every right factor has so many vectors, the left one so many rows of 16.
                            let other: [S::$vector; 3] = std::array::from_fn(|v| unsafe { *right[v].get_unchecked(n) });
                            for r in 0..8 {
                                // SAFETY: as above.
                                let factor = simd.$splat(unsafe { *left.get_unchecked(n * 16 + row + r) });
                                for v in 0..3 {
                                    sums[r][v] = simd.$mul_add(factor, other[v], sums[r][v]);
                                }
                            }
                        }
                    }
                    for v in 0..3 {
                        for r in 0..8 {
                            let start = v * 256 + (row + r) * 16;
                            let result: &mut [S::$vector] = bytemuck::cast_slice_mut(&mut result[start..][..16]);
                            result[0] = simd.$add(result[0], sums[r][v]);
                        }
                    }
                }

                pulp::Arch::new().dispatch(Task(samples, triples, left, right, result))
            }

            fn outer_product(
                sizes: Sizes,
                pairs: &[Pair],
                left: &[$scalar],
                right: &[$scalar],
                result: &mut [$scalar],
            ) {
                struct Task<'a>(Sizes, &'a [Pair], &'a [$scalar], &'a [$scalar], &'a mut [$scalar]);
                impl WithSimd for Task<'_> {
                    type Output = ();
                    #[inline(always)]
                    fn with_simd<S: Simd>(self, simd: S) {
                        let Self(sizes, pairs, left, right, result) = self;
                        if sizes.columns % S::$lanes != 0 {
                            return plain_outer(sizes, pairs, left, right, result);
                        }
                        if sizes.rows * sizes.columns <= 512 {
                            return match (sizes.rows, sizes.columns) {
                                (16, 16) => by_rows::<S, 16, 16>(simd, sizes, pairs, left, right, result),
                                _ => by_rows::<S, 0, 0>(simd, sizes, pairs, left, right, result),
                            };
                        }
                        // More than one tile: some samples of a pair at a time go through all tiles, so that they come from the nearest cache.
                        const CHUNK: usize = 32;
                        for pair in pairs {
                            let mut first = 0;
                            while first < sizes.samples {
                                let samples = CHUNK.min(sizes.samples - first);
                                let piece = [Pair {
                                    left: pair.left + first * sizes.rows,
                                    right: pair.right + first * sizes.columns,
                                }];
                                let own = Sizes { samples, ..sizes };
                                match (sizes.rows, sizes.columns) {
                                    (32, 32) => by_rows::<S, 32, 32>(simd, own, &piece, left, right, result),
                                    (64, 64) => by_rows::<S, 64, 64>(simd, own, &piece, left, right, result),
                                    _ => by_rows::<S, 0, 0>(simd, own, &piece, left, right, result),
                                }
                                first += samples;
                            }
                        }
                    }
                }

                #[inline(always)]
                fn by_rows<S: Simd, const ROWS: usize, const COLUMNS: usize>(
                    simd: S,
                    sizes: Sizes,
                    pairs: &[Pair],
                    left: &[$scalar],
                    right: &[$scalar],
                    result: &mut [$scalar],
                ) {
                    let is_wide = (sizes.columns / S::$lanes) % 2 == 0;
                    let mut row = 0;
                    while row < sizes.rows {
                        let remaining = sizes.rows - row;
                        macro_rules! run {
                            ($rows:literal, $vectors:literal) => {{
                                let mut column = 0;
                                while column < sizes.columns {
                                    tile::<S, ROWS, COLUMNS, $rows, $vectors>(
                                        simd,
                                        sizes,
                                        pairs,
                                        left,
                                        right,
                                        result,
                                        (row, column),
                                    );
                                    column += $vectors * S::$lanes;
                                }
                                row += $rows;
                            }};
                        }
                        match (is_wide, remaining) {
                            (true, 8..) => run!(8, 2),
                            (true, 4..) => run!(4, 2),
                            (true, 2..) => run!(2, 2),
                            (true, _) => run!(1, 2),
                            (false, 16..) => run!(16, 1),
                            (false, 8..) => run!(8, 1),
                            (false, 4..) => run!(4, 1),
                            (false, 2..) => run!(2, 1),
                            (false, _) => run!(1, 1),
                        }
                    }
                }

                #[inline(always)]
                fn tile<S: Simd, const ROWS: usize, const COLUMNS: usize, const R: usize, const V: usize>(
                    simd: S,
                    sizes: Sizes,
                    pairs: &[Pair],
                    left: &[$scalar],
                    right: &[$scalar],
                    result: &mut [$scalar],
                    (row, column): (usize, usize),
                ) {
                    let (rows, columns) = if ROWS > 0 { (ROWS, COLUMNS) } else { (sizes.rows, sizes.columns) };
                    let vectors = columns / S::$lanes;
                    let mut sums = [[simd.$splat(0.0); V]; R];
                    for pair in pairs {
                        let left = &left[pair.left..][..sizes.samples * rows];
                        let right: &[S::$vector] =
                            bytemuck::cast_slice(&right[pair.right..][..sizes.samples * columns]);
                        assert!(row + R <= rows && column / S::$lanes + V <= vectors);
                        for n in 0..sizes.samples {
                            // SAFETY: n < samples; the slices have samples * rows numbers and samples * vectors vectors, and by the
                            // assertion above the tile's rows and vectors lie within those of one sample.
                            let other: [S::$vector; V] = std::array::from_fn(|v| unsafe {
                                *right.get_unchecked(n * vectors + column / S::$lanes + v)
                            });
                            for r in 0..R {
                                // SAFETY: as above.
                                let factor = simd.$splat(unsafe { *left.get_unchecked(n * rows + row + r) });
                                for v in 0..V {
                                    sums[r][v] = simd.$mul_add(factor, other[v], sums[r][v]);
                                }
                            }
                        }
                    }
                    for r in 0..R {
                        let start = (row + r) * columns + column;
                        let result: &mut [S::$vector] = bytemuck::cast_slice_mut(&mut result[start..][..V * S::$lanes]);
                        for v in 0..V {
                            result[v] = simd.$add(result[v], sums[r][v]);
                        }
                    }
                }

                pulp::Arch::new().dispatch(Task(sizes, pairs, left, right, result))
            }
        }
    };
}

kernels!(f32, f32s, F32_LANES, splat_f32s, mul_add_f32s, add_f32s);
kernels!(f64, f64s, F64_LANES, splat_f64s, mul_add_f64s, add_f64s);

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
        T::outer_product(sizes, pairs, left, right, result);
    }
}

/// [`outer`] three times, with the same left factors: `result` is three blocks, one after the other.
pub fn outer_three<T: Real>(sizes: Sizes, triples: &[Triple], left: &[T], right: &[T], result: &mut [T]) {
    let is_fast = sizes.rows == 16 && sizes.columns == 16;
    if is_fast && T::outer_products(sizes.samples, triples, left, right, result) {
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
    use crate::linalg::{assert_close, test_values as values};

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
