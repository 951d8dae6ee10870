//! Sums of products with small matrices, taken where the factors lie: the innermost loops of convolutions and of evolutions whose
//! blocks are shared by all samples.
//!
//! Both are the same sum. At a node (a pixel) the states of all samples, samples x rows, are multiplied with a block, rows x columns, and added
//! over the neighbours: of a convolution the blocks depend on the displacement alone. Collecting the neighbours' states for one large product would
//! copy each state once per neighbour; here the sums stay in registers while the neighbours pass by.

use super::Real;
use super::tile::{Factors, accumulate, add_to, fits, in_tiles, nothing, prefetch, stays_in_registers};
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

/// The terms of two nodes' sums, those with the same states together.
#[derive(Default)]
struct Merged {
    /// States, and the blocks of the first and of the second node.
    both: Vec<(usize, usize, usize)>,
    /// The other terms of each.
    only: [Vec<Term>; 2],
}

impl Merged {
    /// From terms that are sorted by their states.
    fn set(&mut self, first: &[Term], second: &[Term]) {
        self.both.clear();
        self.only.iter_mut().for_each(Vec::clear);
        let mut second = second.iter().peekable();
        for x in first {
            while let Some(y) = second.next_if(|y| y.states < x.states) {
                self.only[1].push(*y);
            }
            match second.next_if(|y| y.states == x.states) {
                Some(y) => self.both.push((x.states, x.block, y.block)),
                None => self.only[0].push(*x),
            }
        }
        self.only[1].extend(second);
    }
}

/// A sum of states times blocks.
struct Gather<'a, T> {
    sizes: Sizes,
    terms: &'a [Term],
    states: &'a [T],
    blocks: &'a [T],
    result: &'a mut [T],
}

impl<T: Real> WithSimd for Gather<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        if !fits::<T, S>(self.sizes.columns) {
            return plain_gather(self.sizes, self.terms, self.states, self.blocks, self.result);
        }
        // A number of rows that the compiler knows makes every address a constant.
        match self.sizes.rows {
            16 => self.by_samples::<S, 16>(simd),
            32 => self.by_samples::<S, 32>(simd),
            64 => self.by_samples::<S, 64>(simd),
            _ => self.by_samples::<S, 0>(simd),
        }
    }
}

impl<T: Real> Gather<'_, T> {
    #[inline(always)]
    fn by_samples<S: Simd, const ROWS: usize>(mut self, simd: S) {
        let (samples, vectors) = (self.sizes.samples, self.sizes.columns / T::lanes::<S>());
        in_tiles!(T::Vector<S>, samples, vectors, wide [12 8 6 4 2 1], narrow [24 16 12 8 4 2 1], |U, V, first, column| {
            self.tile::<S, ROWS, U, V>(simd, first, column * T::lanes::<S>())
        });
    }

    /// Some samples and some vectors of columns, through all terms.
    #[inline(always)]
    fn tile<S: Simd, const ROWS: usize, const U: usize, const V: usize>(
        &mut self,
        simd: S,
        first: usize,
        column: usize,
    ) {
        let Self { sizes: Sizes { rows, columns, .. }, terms, states, blocks, .. } = *self;
        let rows = if ROWS > 0 { ROWS } else { rows };
        let mut sums = [[T::splat(simd, T::ZERO); V]; U];
        for (index, term) in terms.iter().enumerate() {
            // While one term is added up, the next one is fetched: one line of the cache with every row.
            let next = terms.get(index + 1).unwrap_or(term);
            let next_states = states.as_ptr().wrapping_add(next.states + first * rows);
            let next_block = blocks.as_ptr().wrapping_add(next.block + column);
            let ahead = U.div_ceil(16);
            let factors = Factors {
                left: states,
                from: term.states + first * rows,
                across: rows,
                along: 1,
                right: blocks,
                starts: std::array::from_fn(|v| term.block + column + v * T::lanes::<S>()),
                stride: columns / T::lanes::<S>(),
            };
            accumulate(
                simd,
                rows,
                factors,
                &mut sums,
                #[inline(always)]
                |k| {
                    for a in 0..ahead {
                        prefetch(next_states.wrapping_add((k * ahead + a) * 16));
                    }
                    prefetch(next_block.wrapping_add(k * columns));
                },
            );
        }
        for u in 0..U {
            add_to(simd, sums[u], &mut self.result[(first + u) * columns + column..]);
        }
    }
}

/// Two sums of states times blocks; the answer is false if there is no faster way than one by one.
struct GatherTwo<'a, T> {
    sizes: Sizes,
    terms: &'a Merged,
    states: &'a [T],
    blocks: &'a [T],
    results: [&'a mut [T]; 2],
}

impl<T: Real> WithSimd for GatherTwo<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> bool {
        // One vector of columns, and as many registers as AVX-512 has: elsewhere one node at a time is as good.
        if const { size_of::<T::Vector<S>>() < 16 * size_of::<T>() } {
            return false;
        }
        if self.sizes.columns != T::lanes::<S>() || self.sizes.rows != Self::ROWS {
            return false;
        }
        let samples = self.sizes.samples;
        in_tiles!(T::Vector<S>, samples, 1, wide [], narrow [12 8 4 1], |U, _V, first, _column| {
            self.tile::<S, U>(simd, first)
        });
        true
    }
}

impl<T: Real> GatherTwo<'_, T> {
    const ROWS: usize = 16;

    #[inline(always)]
    fn tile<S: Simd, const U: usize>(&mut self, simd: S, first: usize) {
        let mut sums = [[T::splat(simd, T::ZERO); 2]; U];
        for (index, &(at, a, b)) in self.terms.both.iter().enumerate() {
            let next = self.terms.both.get(index + 1).copied().unwrap_or((at, a, b));
            let next_blocks = [next.1, next.2].map(|block| self.blocks.as_ptr().wrapping_add(block));
            let next = self.states.as_ptr().wrapping_add(next.0 + first * Self::ROWS);
            accumulate(
                simd,
                Self::ROWS,
                self.factors(first, at, [a, b]),
                &mut sums,
                #[inline(always)]
                |k| {
                    prefetch(next.wrapping_add(k * 16));
                    prefetch(next_blocks[0].wrapping_add(k * 16));
                    prefetch(next_blocks[1].wrapping_add(k * 16));
                },
            );
        }
        self.finish::<S, U, 0>(simd, &sums, first);
        self.finish::<S, U, 1>(simd, &sums, first);
    }

    /// The terms of one node alone, and the result.
    #[inline(always)]
    fn finish<S: Simd, const U: usize, const NODE: usize>(
        &mut self,
        simd: S,
        both: &[[T::Vector<S>; 2]; U],
        first: usize,
    ) {
        let mut sums = [[T::splat(simd, T::ZERO); 1]; U];
        for u in 0..U {
            sums[u] = [both[u][NODE]];
        }
        for term in &self.terms.only[NODE] {
            let factors = self.factors(first, term.states, [term.block]);
            accumulate(simd, Self::ROWS, factors, &mut sums, nothing);
        }
        for u in 0..U {
            add_to(simd, sums[u], &mut self.results[NODE][(first + u) * T::lanes::<S>()..]);
        }
    }

    #[inline(always)]
    fn factors<const V: usize>(&self, first: usize, states: usize, starts: [usize; V]) -> Factors<'_, T, V> {
        let from = states + first * Self::ROWS;
        Factors { left: self.states, from, across: Self::ROWS, along: 1, right: self.blocks, starts, stride: 1 }
    }
}

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
        pulp::Arch::new().dispatch(Gather { sizes, terms, states, blocks, result });
    }
}

/// [`gather`] for two nodes: those that are neighbours have most of their neighbours in common, and what is read once serves both.
/// Here is the memory for it.
#[derive(Default)]
pub struct ByTwo {
    terms: [Vec<Term>; 2],
    merged: Merged,
}

impl ByTwo {
    /// The sums of two nodes, or, where `result` holds one only, of that one; `terms` appends those of the first (0) or of the second (1), sorted by
    /// their states.
    pub fn gather<T: Real>(
        &mut self,
        sizes: Sizes,
        states: &[T],
        blocks: &[T],
        result: &mut [T],
        terms: impl Fn(usize, &mut Vec<Term>),
    ) {
        let [first, second] = &mut self.terms;
        first.clear();
        terms(0, first);
        let (a, b) = result.split_at_mut(sizes.samples * sizes.columns);
        if b.is_empty() {
            return gather(sizes, first, states, blocks, a);
        }
        second.clear();
        terms(1, second);
        self.merged.set(first, second);
        let results = [&mut *a, &mut *b];
        if !pulp::Arch::new().dispatch(GatherTwo { sizes, terms: &self.merged, states, blocks, results }) {
            gather(sizes, first, states, blocks, a);
            gather(sizes, second, states, blocks, b);
        }
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
                    let begun = values::<T>(2 * samples * columns, 3);
                    let mut plain = begun.clone();
                    let (a, b) = plain.split_at_mut(samples * columns);
                    plain_gather(sizes, first, &states, &blocks, a);
                    plain_gather(sizes, second, &states, &blocks, b);
                    let terms = |node: usize, list: &mut Vec<Term>| list.extend([first, second][node]);
                    let (mut by_two, mut both) = (ByTwo::default(), begun.clone());
                    by_two.gather(sizes, &states, &blocks, &mut both, terms);
                    assert_close(&both, &plain, tolerance, &place);
                    // The last of an odd number of nodes is alone, and the memory has held other terms before.
                    let mut alone = begun[..samples * columns].to_vec();
                    by_two.gather(sizes, &states, &blocks, &mut alone, terms);
                    assert_close(&alone, &plain[..samples * columns], tolerance, &place);
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
