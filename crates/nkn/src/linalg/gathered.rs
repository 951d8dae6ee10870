//! Sums of products with small matrices, taken where the factors lie: the innermost loops of convolutions and of evolutions whose
//! blocks are shared by all samples.
//!
//! Both are the same sum. At a node (a pixel) the states of all samples, samples x rows, are multiplied with a block, rows x columns, and added
//! over the neighbours: of a convolution the blocks depend on the displacement alone. Collecting the neighbours' states for one large product would
//! copy each state once per neighbour; here the sums stay in registers while the neighbours pass by.

use super::Real;
use pulp::{Simd, WithSimd};

/// Sizes of one product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Samples: the rows of a state matrix.
    pub samples: usize,
    /// Numbers of a sample's state: the rows of a block.
    pub rows: usize,
    /// The columns of a block.
    pub columns: usize,
}

/// One product of the sum: where the states and the block begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Of the states, samples x rows.
    pub states: usize,
    /// Of the block, rows x columns.
    pub block: usize,
}

/// One product of a sum over outer products: where the two factors begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Of the left factor, samples x rows.
    pub left: usize,
    /// Of the right factor, samples x columns.
    pub right: usize,
}

/// Asks for the memory at an address to be brought into the cache.
#[inline(always)]
fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint: it reads nothing that the program can see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

macro_rules! kernels {
    ($gather:ident, $outer:ident, $scalar:ty, $vector:ident, $lanes:ident, $splat:ident, $mul_add:ident, $add:ident) => {
        pub(super) fn $gather(
            sizes: Sizes,
            terms: &[Term],
            states: &[$scalar],
            blocks: &[$scalar],
            result: &mut [$scalar],
        ) {
            struct Task<'a>(Sizes, &'a [Term], &'a [$scalar], &'a [$scalar], &'a mut [$scalar]);
            impl WithSimd for Task<'_> {
                type Output = ();
                #[inline(always)]
                fn with_simd<S: Simd>(self, simd: S) {
                    let Self(sizes, terms, states, blocks, result) = self;
                    if sizes.columns % S::$lanes != 0 {
                        return plain_gather(sizes, terms, states, blocks, result);
                    }
                    // A number of rows that the compiler knows makes every address a constant.
                    match sizes.rows {
                        16 => by_samples::<S, 16>(simd, sizes, terms, states, blocks, result),
                        32 => by_samples::<S, 32>(simd, sizes, terms, states, blocks, result),
                        64 => by_samples::<S, 64>(simd, sizes, terms, states, blocks, result),
                        _ => by_samples::<S, 0>(simd, sizes, terms, states, blocks, result),
                    }
                }
            }

            #[inline(always)]
            fn by_samples<S: Simd, const ROWS: usize>(
                simd: S,
                sizes: Sizes,
                terms: &[Term],
                states: &[$scalar],
                blocks: &[$scalar],
                result: &mut [$scalar],
            ) {
                let is_wide = (sizes.columns / S::$lanes) % 2 == 0;
                let mut first = 0;
                while first < sizes.samples {
                    let left = sizes.samples - first;
                    macro_rules! run {
                        ($samples:literal, $vectors:literal) => {{
                            let mut column = 0;
                            while column < sizes.columns {
                                tile::<S, ROWS, $samples, $vectors>(
                                    simd,
                                    sizes,
                                    terms,
                                    states,
                                    blocks,
                                    result,
                                    (first, column),
                                );
                                column += $vectors * S::$lanes;
                            }
                            first += $samples;
                        }};
                    }
                    match (is_wide, left) {
                        (true, 12..) => run!(12, 2),
                        (true, 8..) => run!(8, 2),
                        (true, 4..) => run!(4, 2),
                        (true, 2..) => run!(2, 2),
                        (true, _) => run!(1, 2),
                        (false, 24..) => run!(24, 1),
                        (false, 16..) => run!(16, 1),
                        (false, 8..) => run!(8, 1),
                        (false, 4..) => run!(4, 1),
                        (false, 2..) => run!(2, 1),
                        (false, _) => run!(1, 1),
                    }
                }
            }

            /// Some samples and some vectors of columns, through all terms.
            #[inline(always)]
            fn tile<S: Simd, const ROWS: usize, const U: usize, const V: usize>(
                simd: S,
                sizes: Sizes,
                terms: &[Term],
                states: &[$scalar],
                blocks: &[$scalar],
                result: &mut [$scalar],
                (first, column): (usize, usize),
            ) {
                let rows = if ROWS > 0 { ROWS } else { sizes.rows };
                let vectors = sizes.columns / S::$lanes;
                let mut sums = [[simd.$splat(0.0); V]; U];
                for (index, term) in terms.iter().enumerate() {
                    // While one term is added up, the next one is fetched: one line of the cache with every row.
                    let next = terms.get(index + 1).unwrap_or(term);
                    let next_states = states.as_ptr().wrapping_add(next.states + first * rows);
                    let next_block = blocks.as_ptr().wrapping_add(next.block + column);
                    let ahead = U.div_ceil(16);
                    let states = &states[term.states + first * rows..][..U * rows];
                    let block: &[S::$vector] = bytemuck::cast_slice(&blocks[term.block..][..rows * sizes.columns]);
                    let block = &block[column / S::$lanes..][..(rows - 1) * vectors + V];
                    for k in 0..rows {
                        for a in 0..ahead {
                            prefetch(next_states.wrapping_add((k * ahead + a) * 16));
                        }
                        prefetch(next_block.wrapping_add(k * sizes.columns));
                        // SAFETY: k < rows, so the last vector read is number (rows - 1) * vectors + V - 1 of the slice above.
                        let row: [S::$vector; V] =
                            std::array::from_fn(|v| unsafe { *block.get_unchecked(k * vectors + v) });
                        for u in 0..U {
                            // SAFETY: u < U and k < rows, and the slice above has U * rows numbers.
                            let factor = simd.$splat(unsafe { *states.get_unchecked(u * rows + k) });
                            for v in 0..V {
                                sums[u][v] = simd.$mul_add(factor, row[v], sums[u][v]);
                            }
                        }
                    }
                }
                for u in 0..U {
                    let start = (first + u) * sizes.columns + column;
                    let result: &mut [S::$vector] = bytemuck::cast_slice_mut(&mut result[start..][..V * S::$lanes]);
                    for v in 0..V {
                        result[v] = simd.$add(result[v], sums[u][v]);
                    }
                }
            }

            pulp::Arch::new().dispatch(Task(sizes, terms, states, blocks, result))
        }

        pub(super) fn $outer(
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
                    let right: &[S::$vector] = bytemuck::cast_slice(&right[pair.right..][..sizes.samples * columns]);
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
    };
}

kernels!(gather_single, outer_single, f32, f32s, F32_LANES, splat_f32s, mul_add_f32s, add_f32s);
kernels!(gather_double, outer_double, f64, f64s, F64_LANES, splat_f64s, mul_add_f64s, add_f64s);

/// The same for any number of columns, and what the others are tested against.
fn plain_gather<T: Real>(sizes: Sizes, terms: &[Term], states: &[T], blocks: &[T], result: &mut [T]) {
    for (n, result) in result.chunks_exact_mut(sizes.columns).enumerate().take(sizes.samples) {
        for term in terms {
            let state = &states[term.states + n * sizes.rows..][..sizes.rows];
            let block = &blocks[term.block..][..sizes.rows * sizes.columns];
            for (&factor, row) in state.iter().zip(block.chunks_exact(sizes.columns)) {
                for (sum, &b) in result.iter_mut().zip(row) {
                    *sum += factor * b;
                }
            }
        }
    }
}

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

/// `result` (samples x columns) += the sum over the terms of states (samples x rows) times block (rows x columns).
pub fn gather<T: Real>(sizes: Sizes, terms: &[Term], states: &[T], blocks: &[T], result: &mut [T]) {
    if sizes.rows > 0 && sizes.columns > 0 {
        T::gathered_product(sizes, terms, states, blocks, result);
    }
}

/// `result` (rows x columns) += the sum over the pairs of left (samples x rows) transposed times right (samples x columns).
pub fn outer<T: Real>(sizes: Sizes, pairs: &[Pair], left: &[T], right: &[T], result: &mut [T]) {
    if sizes.rows > 0 && sizes.columns > 0 {
        T::outer_product(sizes, pairs, left, right, result);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<T: Real>(count: usize, shift: usize) -> Vec<T> {
        (0..count).map(|i| T::of(((i + shift) as f64 * 0.37).sin())).collect()
    }

    fn close<T: Real>(fast: &[T], plain: &[T], tolerance: f64, place: &str) {
        for (a, b) in fast.iter().zip(plain) {
            let (a, b) = (a.to_f64(), b.to_f64());
            assert!((a - b).abs() < tolerance * (1.0 + b.abs()), "{place}: {a} {b}");
        }
    }

    fn all_sizes<T: Real>(tolerance: f64) {
        for (rows, columns) in [(16, 16), (3, 16), (16, 32), (32, 32), (64, 64), (5, 7), (32, 64), (20, 48), (1, 8)] {
            for samples in [1, 2, 3, 7, 12, 16, 31] {
                let sizes = Sizes { samples, rows, columns };
                let place = format!("{sizes:?}");
                let (states, blocks) = (values::<T>(4 * samples * rows, 0), values::<T>(3 * rows * columns, 7));
                let term = |s: usize, b: usize| Term { states: s * samples * rows, block: b * rows * columns };
                let terms = [term(3, 0), term(0, 2), term(1, 1), term(3, 1)];
                let mut fast = values::<T>(samples * columns, 3);
                let mut plain = fast.clone();
                gather(sizes, &terms, &states, &blocks, &mut fast);
                plain_gather(sizes, &terms, &states, &blocks, &mut plain);
                close(&fast, &plain, tolerance, &place);
                let right = values::<T>(3 * samples * columns, 11);
                let pair = |l: usize, r: usize| Pair { left: l * samples * rows, right: r * samples * columns };
                let pairs = [pair(2, 1), pair(0, 0), pair(3, 2)];
                let mut fast = values::<T>(rows * columns, 5);
                let mut plain = fast.clone();
                outer(sizes, &pairs, &states, &right, &mut fast);
                plain_outer(sizes, &pairs, &states, &right, &mut plain);
                close(&fast, &plain, tolerance, &place);
            }
        }
    }

    #[test]
    fn every_size_in_double_precision() {
        all_sizes::<f64>(1e-12);
    }

    #[test]
    fn every_size_in_single_precision() {
        all_sizes::<f32>(1e-4);
    }
}
