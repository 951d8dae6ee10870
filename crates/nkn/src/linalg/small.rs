//! One d x d block times the states of some samples, the innermost product of the evolution.
//!
//! A general matrix product would copy the states of the samples together, pack them and the block, and scatter the result: for 64 x 64 blocks
//! and a few dozen samples that takes three times as long as the product. Here six states at a time stay in registers' reach,
//! the block is read where it lies and the result is added where it belongs. Blocks come from main memory, each once per layer: while one
//! is multiplied the next one is fetched, or the processor would wait for it most of the time.

use super::Real;
use super::tile::{Factors, accumulate, fits, prefetch, stays_in_registers};
use pulp::{Simd, WithSimd};

/// States multiplied at a time: with four vectors each, 24 of the 32 registers of AVX-512 hold sums, with two 12 of AVX2's 16.
const STATES: usize = 6;

/// The product of a block with the states of some samples.
pub struct Product<'a, T> {
    /// The block, d x d: row k multiplies entry k of a state.
    pub block: &'a [T],
    /// A factor.
    pub weight: T,
    /// The samples that take part.
    pub users: &'a [u32],
    /// The states, samples x d.
    pub states: &'a [T],
    /// States to be subtracted first.
    pub minus: Option<&'a [T]>,
    /// The block that will be wanted next.
    pub next: Option<&'a [T]>,
    /// To these, samples x d, the product is added, times a sign.
    pub sum: Option<(&'a mut [T], T)>,
    /// These, samples x d, become the product.
    pub copy: Option<&'a mut [T]>,
}

/// Numbers in a line of the cache.
const fn line<T>() -> usize {
    64 / size_of::<T>()
}

/// A product with states of `d` numbers.
struct Small<'a, T> {
    d: usize,
    product: Product<'a, T>,
    /// Memory for the states of some samples.
    scratch: &'a mut Vec<T>,
}

impl<T: Real> WithSimd for Small<'_, T> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let d = self.d;
        if !fits::<T, S>(d) {
            return plain(d, self.product);
        }
        let Product { users, next, .. } = self.product;
        self.scratch.clear();
        self.scratch.resize(STATES * d, T::ZERO);
        // The next block comes in equal pieces, one with every group of states: faster than that memory does not deliver.
        let groups = users.len().div_ceil(STATES).max(1);
        let piece = (d * d).div_ceil(groups).next_multiple_of(line::<T>());
        let mut pieces = next.unwrap_or(&[]).chunks(piece);
        for users in users.chunks(STATES) {
            let next = pieces.next().unwrap_or(&[]);
            self.collect(simd, users);
            match users.len() {
                6 => self.columns::<S, 6>(simd, users, next),
                5 => self.columns::<S, 5>(simd, users, next),
                4 => self.columns::<S, 4>(simd, users, next),
                3 => self.columns::<S, 3>(simd, users, next),
                2 => self.columns::<S, 2>(simd, users, next),
                _ => self.columns::<S, 1>(simd, users, next),
            }
        }
    }
}

impl<T: Real> Small<'_, T> {
    /// The states of some samples, one after the other.
    #[inline(always)]
    fn collect<S: Simd>(&mut self, simd: S, users: &[u32]) {
        let d = self.d;
        for (to, &user) in self.scratch.chunks_exact_mut(d).zip(users) {
            let start = user as usize * d;
            let from = &self.product.states[start..][..d];
            match self.product.minus {
                None => to.copy_from_slice(from),
                Some(minus) => {
                    let to: &mut [T::Vector<S>] = bytemuck::cast_slice_mut(to);
                    let from: &[T::Vector<S>] = bytemuck::cast_slice(from);
                    let minus: &[T::Vector<S>] = bytemuck::cast_slice(&minus[start..][..d]);
                    for ((t, &f), &m) in to.iter_mut().zip(from).zip(minus) {
                        *t = T::minus(simd, f, m);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn columns<S: Simd, const U: usize>(&mut self, simd: S, users: &[u32], mut next: &[T]) {
        let vectors = self.d / T::lanes::<S>();
        let mut first = 0;
        if const { stays_in_registers::<T::Vector<S>>(STATES, 4) } {
            while first + 4 <= vectors {
                self.tile::<S, U, 4>(simd, users, first, std::mem::take(&mut next));
                first += 4;
            }
        }
        while first + 2 <= vectors {
            self.tile::<S, U, 2>(simd, users, first, std::mem::take(&mut next));
            first += 2;
        }
        while first < vectors {
            self.tile::<S, U, 1>(simd, users, first, std::mem::take(&mut next));
            first += 1;
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const U: usize, const V: usize>(&mut self, simd: S, users: &[u32], first: usize, next: &[T]) {
        let (d, lanes) = (self.d, T::lanes::<S>());
        let lines_per_row = next.len().div_ceil(line::<T>()).div_ceil(d);
        let mut sums = [[T::splat(simd, T::ZERO); V]; U];
        let factors = Factors {
            left: self.scratch,
            from: 0,
            across: d,
            along: 1,
            right: self.product.block,
            starts: std::array::from_fn(|v| (first + v) * lanes),
            stride: d / lanes,
        };
        accumulate(
            simd,
            d,
            factors,
            &mut sums,
            #[inline(always)]
            |k| {
                for l in 0..lines_per_row {
                    if let Some(value) = next.get((k * lines_per_row + l) * line::<T>()) {
                        prefetch(value);
                    }
                }
            },
        );
        let weight = T::splat(simd, self.product.weight);
        for u in 0..U {
            let span = users[u] as usize * d + first * lanes;
            for v in 0..V {
                sums[u][v] = T::times(simd, weight, sums[u][v]);
            }
            if let Some((sum, sign)) = &mut self.product.sum {
                let sign = T::splat(simd, *sign);
                let sum: &mut [T::Vector<S>] = bytemuck::cast_slice_mut(&mut sum[span..][..V * lanes]);
                for v in 0..V {
                    sum[v] = T::mul_add(simd, sign, sums[u][v], sum[v]);
                }
            }
            if let Some(copy) = &mut self.product.copy {
                let copy: &mut [T::Vector<S>] = bytemuck::cast_slice_mut(&mut copy[span..][..V * lanes]);
                copy.copy_from_slice(&sums[u]);
            }
        }
    }
}

/// The same for any d, and what the others are tested against.
#[inline(always)]
fn plain<T: Real>(d: usize, mut product: Product<T>) {
    for &user in product.users {
        let start = user as usize * d;
        for i in 0..d {
            let mut total = T::ZERO;
            for k in 0..d {
                let state = product.states[start + k] - product.minus.map_or(T::ZERO, |minus| minus[start + k]);
                total += state * product.block[k * d + i];
            }
            let value = product.weight * total;
            if let Some((sum, sign)) = &mut product.sum {
                sum[start + i] += *sign * value;
            }
            if let Some(copy) = &mut product.copy {
                copy[start + i] = value;
            }
        }
    }
}

/// The product in either precision.
pub fn multiply<T: Real>(d: usize, product: Product<T>, scratch: &mut Vec<T>) {
    pulp::Arch::new().dispatch(Small { d, product, scratch });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_and_number_of_samples() {
        for d in [1, 3, 8, 16, 24, 64, 80] {
            for users in [1usize, 2, 3, 5, 6, 7, 13] {
                let users: Vec<u32> = (0..users as u32).map(|u| 2 * u).collect();
                let samples = 26;
                let value = |i: usize| (i as f64 * 0.37).sin();
                let block: Vec<f64> = (0..d * d).map(value).collect();
                let states: Vec<f64> = (0..samples * d).map(|i| value(i + 7)).collect();
                let minus: Vec<f64> = (0..samples * d).map(|i| value(3 * i)).collect();
                for minus in [None, Some(&minus[..])] {
                    let run = |fast: bool| {
                        let (mut sum, mut copy) = (vec![1.0; samples * d], vec![2.0; samples * d]);
                        let product = Product {
                            block: &block,
                            weight: 0.7,
                            users: &users,
                            states: &states,
                            minus,
                            next: Some(&block),
                            sum: Some((&mut sum, -1.0)),
                            copy: Some(&mut copy),
                        };
                        if fast {
                            multiply(d, product, &mut Vec::new());
                        } else {
                            plain(d, product);
                        }
                        (sum, copy)
                    };
                    let ((sum, copy), (plain_sum, plain_copy)) = (run(true), run(false));
                    for (a, b) in sum.iter().chain(&copy).zip(plain_sum.iter().chain(&plain_copy)) {
                        assert!((a - b).abs() < 1e-12, "{d} {} {a} {b}", users.len());
                    }
                }
            }
        }
    }
}
