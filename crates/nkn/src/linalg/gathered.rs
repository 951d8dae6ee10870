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

/// The terms of two nodes' sums, those with the same states together.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// States, and the blocks of the first and of the second node.
    both: Vec<(usize, usize, usize)>,
    /// The other terms of each.
    only: [Vec<Term>; 2],
}

impl Merged {
    /// From terms that are sorted by their states.
    pub fn set(&mut self, first: &[Term], second: &[Term]) {
        self.both.clear();
        self.only.iter_mut().for_each(Vec::clear);
        let (mut a, mut b) = (first.iter().peekable(), second.iter().peekable());
        loop {
            match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.states == y.states => {
                    self.both.push((x.states, x.block, y.block));
                    a.next();
                    b.next();
                }
                (Some(x), y) if y.is_none_or(|y| x.states < y.states) => {
                    self.only[0].push(**x);
                    a.next();
                }
                (_, Some(y)) => {
                    self.only[1].push(**y);
                    b.next();
                }
                _ => break,
            }
        }
    }
}

/// The sums made for a precision.
pub trait GatheredKernel: Sized {
    /// A sum of states times blocks.
    fn gathered_product(sizes: Sizes, terms: &[Term], states: &[Self], blocks: &[Self], result: &mut [Self]);
    /// Two sums of states times blocks; false if there is no faster way than one by one.
    fn gathered_products(
        sizes: Sizes,
        terms: &Merged,
        states: &[Self],
        blocks: &[Self],
        results: [&mut [Self]; 2],
    ) -> bool;
}

macro_rules! kernels {
    ($scalar:ty, $vector:ident, $lanes:ident, $splat:ident, $mul_add:ident, $add:ident) => {
        impl GatheredKernel for $scalar {
            fn gathered_product(
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

            fn gathered_products(
                sizes: Sizes,
                terms: &Merged,
                states: &[$scalar],
                blocks: &[$scalar],
                results: [&mut [$scalar]; 2],
            ) -> bool {
                struct Task<'a>(Sizes, &'a Merged, &'a [$scalar], &'a [$scalar], [&'a mut [$scalar]; 2]);
                impl WithSimd for Task<'_> {
                    type Output = bool;
                    #[inline(always)]
                    fn with_simd<S: Simd>(self, simd: S) -> bool {
                        let Self(sizes, terms, states, blocks, results) = self;
                        // One vector of columns, and as many registers as AVX-512 has: elsewhere one node at a time is as good.
                        if sizes.columns != S::$lanes || sizes.rows != 16 || S::$lanes < 16 {
                            return false;
                        }
                        let [a, b] = results;
                        let mut first = 0;
                        while first < sizes.samples {
                            macro_rules! run {
                                ($samples:literal) => {{
                                    tile::<S, $samples>(simd, sizes, terms, states, blocks, [&mut *a, &mut *b], first);
                                    first += $samples;
                                }};
                            }
                            match sizes.samples - first {
                                12.. => run!(12),
                                8.. => run!(8),
                                4.. => run!(4),
                                _ => run!(1),
                            }
                        }
                        true
                    }
                }

                #[inline(always)]
                fn tile<S: Simd, const U: usize>(
                    simd: S,
                    sizes: Sizes,
                    terms: &Merged,
                    states: &[$scalar],
                    blocks: &[$scalar],
                    results: [&mut [$scalar]; 2],
                    first: usize,
                ) {
                    const ROWS: usize = 16;
                    let mut sums_a = [simd.$splat(0.0); U];
                    let mut sums_b = [simd.$splat(0.0); U];
                    for (index, &(at, block_a, block_b)) in terms.both.iter().enumerate() {
                        let next = terms.both.get(index + 1).copied().unwrap_or((at, block_a, block_b));
                        let next_blocks = [next.1, next.2].map(|block| blocks.as_ptr().wrapping_add(block));
                        let next = states.as_ptr().wrapping_add(next.0 + first * ROWS);
                        let states = &states[at + first * ROWS..][..U * ROWS];
                        let block_a: &[S::$vector] = bytemuck::cast_slice(&blocks[block_a..][..ROWS * sizes.columns]);
                        let block_b: &[S::$vector] = bytemuck::cast_slice(&blocks[block_b..][..ROWS * sizes.columns]);
                        assert!(block_a.len() == ROWS && block_b.len() == ROWS);
                        for k in 0..ROWS {
                            prefetch(next.wrapping_add(k * 16));
                            next_blocks.iter().for_each(|block| prefetch(block.wrapping_add(k * 16)));
                            let (a, b) = (block_a[k], block_b[k]);
                            for u in 0..U {
                                // SAFETY: u < U and k < ROWS, and the slice above has U * ROWS numbers.
                                let factor = simd.$splat(unsafe { *states.get_unchecked(u * ROWS + k) });
                                sums_a[u] = simd.$mul_add(factor, a, sums_a[u]);
                                sums_b[u] = simd.$mul_add(factor, b, sums_b[u]);
                            }
                        }
                    }
                    let [only_a, only_b] = &terms.only;
                    let [result_a, result_b] = results;
                    for (only, sums, result) in [(only_a, sums_a, result_a), (only_b, sums_b, result_b)] {
                        finish::<S, U>(simd, sizes, only, states, blocks, (sums, result), first);
                    }
                }

                /// The terms of one node alone, and the result.
                #[inline(always)]
                fn finish<S: Simd, const U: usize>(
                    simd: S,
                    sizes: Sizes,
                    only: &[Term],
                    states: &[$scalar],
                    blocks: &[$scalar],
                    (mut sums, result): ([S::$vector; U], &mut [$scalar]),
                    first: usize,
                ) {
                    const ROWS: usize = 16;
                    for term in only {
                        let states = &states[term.states + first * ROWS..][..U * ROWS];
                        let block: &[S::$vector] = bytemuck::cast_slice(&blocks[term.block..][..ROWS * sizes.columns]);
                        assert!(block.len() == ROWS);
                        for k in 0..ROWS {
                            let row = block[k];
                            for u in 0..U {
                                // SAFETY: as above.
                                let factor = simd.$splat(unsafe { *states.get_unchecked(u * ROWS + k) });
                                sums[u] = simd.$mul_add(factor, row, sums[u]);
                            }
                        }
                    }
                    for u in 0..U {
                        let start = (first + u) * sizes.columns;
                        let result: &mut [S::$vector] = bytemuck::cast_slice_mut(&mut result[start..][..sizes.columns]);
                        result[0] = simd.$add(result[0], sums[u]);
                    }
                }

                pulp::Arch::new().dispatch(Task(sizes, terms, states, blocks, results))
            }
        }
    };
}

kernels!(f32, f32s, F32_LANES, splat_f32s, mul_add_f32s, add_f32s);
kernels!(f64, f64s, F64_LANES, splat_f64s, mul_add_f64s, add_f64s);

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

/// `result` (samples x columns) += the sum over the terms of states (samples x rows) times block (rows x columns).
pub fn gather<T: Real>(sizes: Sizes, terms: &[Term], states: &[T], blocks: &[T], result: &mut [T]) {
    if sizes.rows > 0 && sizes.columns > 0 {
        T::gathered_product(sizes, terms, states, blocks, result);
    }
}

/// [`gather`] for two nodes, whose terms are sorted by their states: nodes that are neighbours have most of their neighbours in common, and what is
/// read once serves both. `merged` is memory to work in.
pub fn gather_two<T: Real>(
    sizes: Sizes,
    [first, second]: [&[Term]; 2],
    states: &[T],
    blocks: &[T],
    [a, b]: [&mut [T]; 2],
    merged: &mut Merged,
) {
    merged.set(first, second);
    if !T::gathered_products(sizes, merged, states, blocks, [a, b]) {
        gather(sizes, first, states, blocks, a);
        gather(sizes, second, states, blocks, b);
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
                let (states, blocks) = (values::<T>(4 * samples * rows, 0), values::<T>(3 * rows * columns, 7));
                let term = |s: usize, b: usize| Term { states: s * samples * rows, block: b * rows * columns };
                let terms = [term(3, 0), term(0, 2), term(1, 1), term(3, 1)];
                let mut fast = values::<T>(samples * columns, 3);
                let mut plain = fast.clone();
                gather(sizes, &terms, &states, &blocks, &mut fast);
                plain_gather(sizes, &terms, &states, &blocks, &mut plain);
                assert_close(&fast, &plain, tolerance, &format!("{sizes:?}"));
            }
        }
    }

    /// Two nodes at a time give what one at a time does.
    fn together<T: Real>(tolerance: f64) {
        for (rows, columns) in [(16, 16), (8, 16), (16, 32), (5, 7)] {
            for samples in [1, 2, 5, 13, 31] {
                let sizes = Sizes { samples, rows, columns };
                let place = format!("{sizes:?}");
                let (states, blocks) = (values::<T>(6 * samples * rows, 0), values::<T>(8 * rows * columns, 7));
                let term = |s: usize, b: usize| Term { states: s * samples * rows, block: b * rows * columns };
                let first = [term(0, 0), term(1, 1), term(3, 2), term(4, 6)];
                let second = [term(1, 3), term(2, 4), term(3, 5), term(5, 7)];
                for (first, second) in
                    [(&first[..], &second[..]), (&first[..0], &second[..]), (&first[..], &second[..0])]
                {
                    let (mut a, mut b) = (values::<T>(samples * columns, 3), values::<T>(samples * columns, 4));
                    let (mut plain_a, mut plain_b) = (a.clone(), b.clone());
                    let merged = &mut Merged::default();
                    gather_two(sizes, [first, second], &states, &blocks, [&mut a, &mut b], merged);
                    plain_gather(sizes, first, &states, &blocks, &mut plain_a);
                    plain_gather(sizes, second, &states, &blocks, &mut plain_b);
                    assert_close(&a, &plain_a, tolerance, &place);
                    assert_close(&b, &plain_b, tolerance, &place);
                }
            }
        }
    }

    #[test]
    fn two_nodes_at_a_time() {
        together::<f64>(1e-12);
        together::<f32>(1e-4);
    }

    #[test]
    fn every_size() {
        all_sizes::<f64>(1e-12);
        all_sizes::<f32>(1e-4);
    }
}
