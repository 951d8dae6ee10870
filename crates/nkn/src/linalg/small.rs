//! One d x d block times the states of some samples, the innermost product of the evolution.
//!
//! A general matrix product would copy the states of the samples together, pack them and the block, and scatter the result: for 64 x 64 blocks
//! and a few dozen samples that takes three times as long as the product. Here six states at a time stay in registers' reach,
//! the block is read where it lies and the result is added where it belongs. Blocks come from main memory, each once per layer: while one
//! is multiplied the next one is fetched, or the processor would wait for it most of the time.

use super::Real;
use pulp::{Simd, WithSimd};

/// States multiplied at a time: with four vectors each, 24 of the 32 registers of AVX-512 hold sums.
const STATES: usize = 6;
/// Vectors of a state at a time.
const VECTORS: usize = 4;

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
}

/// Asks for the memory around a number to be brought into the cache.
#[inline(always)]
fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint: it reads nothing that the program can see, and the address is that of a reference.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Numbers in a line of the cache.
const fn line<T>() -> usize {
    64 / size_of::<T>()
}

/// Where the products go, samples x d each.
pub struct Target<'a, T> {
    /// Adds the product times a sign.
    pub sum: Option<(&'a mut [T], T)>,
    /// Takes the product.
    pub copy: Option<&'a mut [T]>,
}

/// The product made for a precision.
pub trait SmallKernel: Sized {
    /// Carries out a product with states of `d` numbers; `scratch` is memory to work in.
    fn small_product(d: usize, product: &Product<Self>, target: Target<Self>, scratch: &mut Vec<Self>);
}

macro_rules! kernel {
    ($scalar:ty, $vector:ident, $lanes:ident, $splat:ident, $mul_add:ident, $mul:ident, $sub:ident) => {
        impl SmallKernel for $scalar {
            fn small_product(
                d: usize,
                product: &Product<$scalar>,
                target: Target<$scalar>,
                scratch: &mut Vec<$scalar>,
            ) {
                struct Task<'a, 'b>(usize, &'a Product<'b, $scalar>, Target<'a, $scalar>, &'a mut Vec<$scalar>);
                impl WithSimd for Task<'_, '_> {
                    type Output = ();
                    #[inline(always)]
                    fn with_simd<S: Simd>(self, simd: S) {
                        let Self(d, product, target, scratch) = self;
                        if d % S::$lanes == 0 {
                            run(simd, d, product, target, scratch);
                        } else {
                            plain(d, product, target);
                        }
                    }
                }

                #[inline(always)]
                fn run<S: Simd>(
                    simd: S,
                    d: usize,
                    product: &Product<$scalar>,
                    mut target: Target<$scalar>,
                    scratch: &mut Vec<$scalar>,
                ) {
                    scratch.clear();
                    scratch.resize(STATES * d, 0.0);
                    // The next block comes in equal pieces, one with every group of states: faster than that memory does not deliver.
                    let groups = product.users.len().div_ceil(STATES).max(1);
                    let piece = (d * d).div_ceil(groups).next_multiple_of(line::<$scalar>());
                    let mut pieces = product.next.unwrap_or(&[]).chunks(piece);
                    for users in product.users.chunks(STATES) {
                        let next = pieces.next().unwrap_or(&[]);
                        gather(simd, d, product, users, scratch);
                        match users.len() {
                            6 => columns::<S, 6>(simd, d, product, users, scratch, next, &mut target),
                            5 => columns::<S, 5>(simd, d, product, users, scratch, next, &mut target),
                            4 => columns::<S, 4>(simd, d, product, users, scratch, next, &mut target),
                            3 => columns::<S, 3>(simd, d, product, users, scratch, next, &mut target),
                            2 => columns::<S, 2>(simd, d, product, users, scratch, next, &mut target),
                            _ => columns::<S, 1>(simd, d, product, users, scratch, next, &mut target),
                        }
                    }
                }

                /// The states of some samples, one after the other.
                #[inline(always)]
                fn gather<S: Simd>(
                    simd: S,
                    d: usize,
                    product: &Product<$scalar>,
                    users: &[u32],
                    scratch: &mut [$scalar],
                ) {
                    for (to, &user) in scratch.chunks_exact_mut(d).zip(users) {
                        let start = user as usize * d;
                        let from = &product.states[start..][..d];
                        match product.minus {
                            None => to.copy_from_slice(from),
                            Some(minus) => {
                                let to: &mut [S::$vector] = bytemuck::cast_slice_mut(to);
                                let from: &[S::$vector] = bytemuck::cast_slice(from);
                                let minus: &[S::$vector] = bytemuck::cast_slice(&minus[start..][..d]);
                                for ((t, &f), &m) in to.iter_mut().zip(from).zip(minus) {
                                    *t = simd.$sub(f, m);
                                }
                            }
                        }
                    }
                }

                #[inline(always)]
                fn columns<S: Simd, const U: usize>(
                    simd: S,
                    d: usize,
                    product: &Product<$scalar>,
                    users: &[u32],
                    states: &[$scalar],
                    mut next: &[$scalar],
                    target: &mut Target<$scalar>,
                ) {
                    let vectors = d / S::$lanes;
                    let mut first = 0;
                    while first + VECTORS <= vectors {
                        tile::<S, U, VECTORS>(simd, product, users, states, first, std::mem::take(&mut next), target);
                        first += VECTORS;
                    }
                    while first < vectors {
                        tile::<S, U, 1>(simd, product, users, states, first, std::mem::take(&mut next), target);
                        first += 1;
                    }
                }

                #[inline(always)]
                fn tile<S: Simd, const U: usize, const V: usize>(
                    simd: S,
                    product: &Product<$scalar>,
                    users: &[u32],
                    states: &[$scalar],
                    first: usize,
                    next: &[$scalar],
                    target: &mut Target<$scalar>,
                ) {
                    let d = states.len() / STATES;
                    let block: &[S::$vector] = bytemuck::cast_slice(product.block);
                    let rows: [&[$scalar]; U] = std::array::from_fn(|u| &states[u * d..][..d]);
                    let lines_per_row = next.len().div_ceil(line::<$scalar>()).div_ceil(d);
                    let mut sums = [[simd.$splat(0.0); V]; U];
                    for (k, row) in block.chunks_exact(d / S::$lanes).take(d).enumerate() {
                        let row = &row[first..][..V];
                        for l in 0..lines_per_row {
                            if let Some(value) = next.get((k * lines_per_row + l) * line::<$scalar>()) {
                                fetch(value);
                            }
                        }
                        for u in 0..U {
                            let factor = simd.$splat(rows[u][k]);
                            for v in 0..V {
                                sums[u][v] = simd.$mul_add(factor, row[v], sums[u][v]);
                            }
                        }
                    }
                    let weight = simd.$splat(product.weight);
                    for u in 0..U {
                        let span = users[u] as usize * d + first * S::$lanes;
                        for v in 0..V {
                            sums[u][v] = simd.$mul(weight, sums[u][v]);
                        }
                        if let Some((sum, sign)) = &mut target.sum {
                            let sign = simd.$splat(*sign);
                            let sum: &mut [S::$vector] = bytemuck::cast_slice_mut(&mut sum[span..][..V * S::$lanes]);
                            for v in 0..V {
                                sum[v] = simd.$mul_add(sign, sums[u][v], sum[v]);
                            }
                        }
                        if let Some(copy) = &mut target.copy {
                            let copy: &mut [S::$vector] = bytemuck::cast_slice_mut(&mut copy[span..][..V * S::$lanes]);
                            copy.copy_from_slice(&sums[u]);
                        }
                    }
                }

                pulp::Arch::new().dispatch(Task(d, product, target, scratch))
            }
        }
    };
}

kernel!(f32, f32s, F32_LANES, splat_f32s, mul_add_f32s, mul_f32s, sub_f32s);
kernel!(f64, f64s, F64_LANES, splat_f64s, mul_add_f64s, mul_f64s, sub_f64s);

/// The same for any d, and what the others are tested against.
#[inline(always)]
fn plain<T: Real>(d: usize, product: &Product<T>, mut target: Target<T>) {
    for &user in product.users {
        let start = user as usize * d;
        for i in 0..d {
            let mut total = T::ZERO;
            for k in 0..d {
                let state = product.states[start + k] - product.minus.map_or(T::ZERO, |minus| minus[start + k]);
                total += state * product.block[k * d + i];
            }
            let value = product.weight * total;
            if let Some((sum, sign)) = &mut target.sum {
                sum[start + i] += *sign * value;
            }
            if let Some(copy) = &mut target.copy {
                copy[start + i] = value;
            }
        }
    }
}

/// The product in either precision.
pub fn multiply<T: Real>(d: usize, product: &Product<T>, target: Target<T>, scratch: &mut Vec<T>) {
    T::small_product(d, product, target, scratch);
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
                    let product = Product {
                        block: &block,
                        weight: 0.7,
                        users: &users,
                        states: &states,
                        minus,
                        next: Some(&block),
                    };
                    let run = |fast: bool| {
                        let (mut sum, mut copy) = (vec![1.0; samples * d], vec![2.0; samples * d]);
                        let target = Target { sum: Some((&mut sum, -1.0)), copy: Some(&mut copy) };
                        if fast {
                            multiply(d, &product, target, &mut Vec::new());
                        } else {
                            plain(d, &product, target);
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
