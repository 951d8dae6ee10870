//! Matrix products on slices: a thin, bounds-checked layer over the `gemm` crate.
//!
//! Every product here runs on one thread; parallel code splits its work into pieces whose number does not
//! depend on the number of threads, so that one thread and many give the same bits. The exception,
//! [`gemm_parallel`], only ever splits rows and columns of the result, never a sum.

#[doc(hidden)]
pub mod gathered;
#[doc(hidden)]
pub mod outer;
#[doc(hidden)]
pub mod small;

use crate::buffer::{Buffer, Pool};
use rayon::prelude::*;
use std::ops::{Add, AddAssign, Mul, Neg, Sub, SubAssign};

/// The two floating point types that everything is written for.
pub trait Real:
    burn::tensor::Element
    + bytemuck::Pod
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + PartialOrd
    + 'static
{
    /// Nothing.
    const ZERO: Self;
    /// Unity.
    const ONE: Self;
    /// The nearest value of this type.
    fn of(value: f64) -> Self;
    /// Where arrays of this type are recycled.
    fn pool() -> &'static Pool<Self>;
    /// One block times the states of some samples.
    #[doc(hidden)]
    fn small_product(d: usize, product: &small::Product<Self>, target: small::Target<Self>, scratch: &mut Vec<Self>);
    /// A sum of states times blocks.
    #[doc(hidden)]
    fn gathered_product(
        sizes: gathered::Sizes,
        terms: &[gathered::Term],
        states: &[Self],
        blocks: &[Self],
        result: &mut [Self],
    );
    /// A sum of states transposed times states.
    #[doc(hidden)]
    fn outer_product(sizes: gathered::Sizes, pairs: &[outer::Pair], left: &[Self], right: &[Self], result: &mut [Self]);
    /// Two sums of states times blocks; false if there is no faster way than one by one.
    #[doc(hidden)]
    fn gathered_products(
        sizes: gathered::Sizes,
        terms: &gathered::Merged,
        states: &[Self],
        blocks: &[Self],
        results: [&mut [Self]; 2],
    ) -> bool;
    /// Three sums of states transposed times states, 16 x 16 each; false if there is no faster way than one by one.
    #[doc(hidden)]
    fn outer_products(
        samples: usize,
        triples: &[outer::Triple],
        left: &[Self],
        right: &[Self],
        result: &mut [Self],
    ) -> bool;
    /// e to this power; in single precision a version that loops can be vectorised with.
    fn exp(self) -> Self;
    /// The hyperbolic tangent, likewise.
    fn tanh(self) -> Self;
}

/// One implementation for both types; what differs are the functions made for each.
macro_rules! real {
    ($type:ty, $exp:path, $tanh:path, $small:ident, $gather:ident, $outer:ident, $gather_two:ident, $outer_three:ident) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            fn of(value: f64) -> Self {
                value as $type
            }
            fn pool() -> &'static Pool<Self> {
                static POOL: Pool<$type> = Pool::new();
                &POOL
            }
            fn small_product(
                d: usize,
                product: &small::Product<Self>,
                target: small::Target<Self>,
                scratch: &mut Vec<Self>,
            ) {
                small::$small(d, product, target, scratch)
            }
            fn gathered_product(
                sizes: gathered::Sizes,
                terms: &[gathered::Term],
                states: &[Self],
                blocks: &[Self],
                result: &mut [Self],
            ) {
                gathered::$gather(sizes, terms, states, blocks, result)
            }
            fn outer_product(
                sizes: gathered::Sizes,
                pairs: &[outer::Pair],
                left: &[Self],
                right: &[Self],
                result: &mut [Self],
            ) {
                outer::$outer(sizes, pairs, left, right, result)
            }
            fn gathered_products(
                sizes: gathered::Sizes,
                terms: &gathered::Merged,
                states: &[Self],
                blocks: &[Self],
                results: [&mut [Self]; 2],
            ) -> bool {
                gathered::$gather_two(sizes, terms, states, blocks, results)
            }
            fn outer_products(
                samples: usize,
                triples: &[outer::Triple],
                left: &[Self],
                right: &[Self],
                result: &mut [Self],
            ) -> bool {
                outer::$outer_three(samples, triples, left, right, result)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                $exp(self)
            }
            #[inline(always)]
            fn tanh(self) -> Self {
                $tanh(self)
            }
        }
    };
}

real!(f32, exp_single, tanh_single, single, gather_single, outer_single, gather_two_single, outer_three_single);
real!(f64, f64::exp, f64::tanh, double, gather_double, outer_double, gather_two_double, outer_three_double);

/// A matrix that looks into a slice: element (i, j) is `data[i * row_stride + j * column_stride]`.
#[derive(Clone, Copy)]
pub struct Matrix<'a, T> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T: Real> Matrix<'a, T> {
    /// A row-major matrix.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Self {
        Self::strided(data, rows, columns, columns)
    }

    /// A matrix whose rows are contiguous and `row_stride` apart.
    pub fn strided(data: &'a [T], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(rows == 0 || columns == 0 || (rows - 1) * row_stride + columns <= data.len());
        Self { data, rows, columns, row_stride, column_stride: 1 }
    }

    /// The transposed view.
    pub fn t(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// `result = keep * result + scale * left * right`, where `result` is row-major with rows `row_stride` apart.
/// With `keep` zero the old content is not read.
pub fn gemm_strided<T: Real>(
    result: &mut [T],
    row_stride: usize,
    keep: T,
    scale: T,
    left: Matrix<T>,
    right: Matrix<T>,
) {
    run(result, row_stride, keep, scale, left, right, gemm::Parallelism::None);
}

/// [`gemm_strided`] with a contiguous result.
pub fn gemm<T: Real>(result: &mut [T], keep: T, scale: T, left: Matrix<T>, right: Matrix<T>) {
    gemm_strided(result, right.columns, keep, scale, left, right);
}

/// [`gemm`] on all threads of the current pool.
pub fn gemm_parallel<T: Real>(result: &mut [T], keep: T, scale: T, left: Matrix<T>, right: Matrix<T>) {
    let threads = gemm::Parallelism::Rayon(0);
    run(result, right.columns, keep, scale, left, right, threads);
}

fn run<T: Real>(
    result: &mut [T],
    row_stride: usize,
    keep: T,
    scale: T,
    left: Matrix<T>,
    right: Matrix<T>,
    parallelism: gemm::Parallelism,
) {
    let (m, k, n) = (left.rows, left.columns, right.columns);
    assert_eq!(k, right.rows, "inner dimensions differ");
    if m == 0 || n == 0 {
        return;
    }
    assert!(row_stride >= n && (m - 1) * row_stride + n <= result.len());
    // SAFETY: `Matrix` guarantees that every element of `left` and `right` lies inside its slice, the assertion above
    // that every element of `result` does; `result` is borrowed mutably, so it overlaps neither.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            result.as_mut_ptr(),
            1,
            row_stride as isize,
            keep != T::ZERO,
            left.data.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.data.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
            keep,
            scale,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// e^x = 2^n e^r with |r| <= ln(2) / 2 and a polynomial for e^r; exact to two units in the last place, without a branch.
#[inline(always)]
fn exp_single(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, so that nothing is lost when it is taken away n times.
    let r = n.mul_add(2.121_944_4e-4, n.mul_add(-0.693_359_4, x));
    let mut p = 1.987_569_1e-4f32;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p.mul_add(r, c);
    }
    // The last bits of the shifted number are n: a conversion would be checked, number by number.
    let power = f32::from_bits((shifted.to_bits() + 127) << 23);
    (p * r).mul_add(r, r + 1.0) * power
}

/// `result` (columns x rows) becomes the transpose of `matrix` (rows x columns), row `r` in column `place(r)`; on all threads.
pub(crate) fn transpose<T: Real>(
    matrix: &[T],
    columns: usize,
    result: &mut [T],
    place: impl Fn(usize) -> usize + Sync,
) {
    let rows = matrix.len() / columns.max(1);
    // Sixteen columns at a time: a cache line of each row.
    const COLUMNS: usize = 16;
    result.par_chunks_mut((COLUMNS * rows).max(1)).enumerate().for_each(|(index, result)| {
        let first = index * COLUMNS;
        let count = result.len() / rows;
        for (row, values) in matrix.chunks_exact(columns).enumerate() {
            let place = place(row);
            for (offset, &value) in values[first..first + count].iter().enumerate() {
                result[offset * rows + place] = value;
            }
        }
    });
}

/// Blocks of d x d, one after the other, each transposed; on all threads.
pub(crate) fn transposed_blocks<T: Real>(d: usize, blocks: &[T]) -> Buffer<T> {
    let mut result = Buffer::any(blocks.len());
    result.par_chunks_mut(d * d).zip(blocks.par_chunks(d * d)).for_each(|(result, block)| {
        vectorised(
            #[inline(always)]
            || {
                for (i, row) in result.chunks_exact_mut(d).enumerate() {
                    for (to, from) in row.iter_mut().zip(block[i..].iter().step_by(d)) {
                        *to = *from;
                    }
                }
            },
        )
    });
    result
}

/// Through the exponential; near zero, where that would lose digits, by its series.
#[inline(always)]
fn tanh_single(x: f32) -> f32 {
    let far = 1.0 - 2.0 / (exp_single(2.0 * x) + 1.0);
    let square = x * x;
    let near = x * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0)));
    if square < 0.01 { near } else { far }
}

/// An array made piece by piece on all threads: each piece is zero when `work` gets it with its number, and still in the cache. `scratch` is made once per thread.
///
/// Filling a large array with zeros first and then working on it would take it through memory once more, on one thread.
pub(crate) fn by_pieces<T: Real, S>(
    count: usize,
    piece: usize,
    scratch: impl Fn() -> S + Send + Sync,
    work: impl Fn(&mut S, usize, &mut [T]) + Send + Sync,
) -> Vec<T> {
    let mut values: Vec<T> = Vec::with_capacity(count);
    let pieces = values.spare_capacity_mut()[..count].par_chunks_mut(piece.max(1)).enumerate();
    pieces.for_each_init(scratch, |scratch, (index, values)| {
        for value in values.iter_mut() {
            value.write(T::ZERO);
        }
        // SAFETY: all numbers of the piece have just been written, and MaybeUninit<T> has the layout of T.
        let values = unsafe { &mut *(std::ptr::from_mut(values) as *mut [T]) };
        work(scratch, index, values);
    });
    // SAFETY: the pieces cover the first `count` numbers, and each has been written.
    unsafe { values.set_len(count) };
    values
}

/// first x second x width to second x first x width.
pub(crate) fn swap_leading<T: Real>(values: &[T], first: usize, second: usize, width: usize) -> Vec<T> {
    by_pieces(
        values.len(),
        first * width,
        || (),
        |(), b, row| {
            for (a, piece) in row.chunks_exact_mut(width).enumerate() {
                let start = (a * second + b) * width;
                piece.copy_from_slice(&values[start..start + width]);
            }
        },
    )
}

/// A copy made on all threads.
pub(crate) fn copied<T: Real>(values: &[T]) -> Vec<T> {
    by_pieces(
        values.len(),
        PIECE,
        || (),
        |(), index, piece| {
            let start = index * PIECE;
            piece.copy_from_slice(&values[start..start + piece.len()]);
        },
    )
}

/// Copies on all threads.
pub(crate) fn copy_into<T: Real>(to: &mut [T], from: &[T]) {
    assert_eq!(to.len(), from.len());
    to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE)).for_each(|(to, from)| to.copy_from_slice(from));
}

/// Numbers that a thread copies at a time.
const PIECE: usize = 1 << 16;

/// Runs a loop compiled for the widest vectors this machine has. The closure must be `#[inline(always)]`.
#[inline]
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    struct Task<F>(F);
    impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Task<F> {
        type Output = R;
        #[inline(always)]
        fn call(self) -> R {
            (self.0)()
        }
    }
    pulp::Arch::new().dispatch(Task(work))
}

/// Numbers for tests.
#[cfg(test)]
fn test_values<T: Real>(count: usize, shift: usize) -> Vec<T> {
    (0..count).map(|i| T::of(((i + shift) as f64 * 0.37).sin())).collect()
}

#[cfg(test)]
fn assert_close<T: Real>(fast: &[T], plain: &[T], tolerance: f64, place: &str) {
    for (a, b) in fast.iter().zip(plain) {
        let (a, b) = (a.to_f64(), b.to_f64());
        assert!((a - b).abs() < tolerance * (1.0 + b.abs()), "{place}: {a} {b}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(left: Matrix<f64>, right: Matrix<f64>) -> Vec<f64> {
        let at = |m: &Matrix<f64>, i: usize, j: usize| m.data[i * m.row_stride + j * m.column_stride];
        let mut result = Vec::new();
        for i in 0..left.rows {
            for j in 0..right.columns {
                result.push((0..left.columns).map(|k| at(&left, i, k) * at(&right, k, j)).sum());
            }
        }
        result
    }

    #[test]
    fn products_of_every_orientation() {
        let a: Vec<f64> = (0..35).map(|i| (i as f64 * 0.37).sin()).collect();
        let b: Vec<f64> = (0..35).map(|i| (i as f64 * 0.73).cos()).collect();
        for (left, right) in [
            (Matrix::new(&a, 5, 7), Matrix::new(&b, 7, 5)),
            (Matrix::new(&a, 7, 5).t(), Matrix::new(&b, 7, 5)),
            (Matrix::new(&a, 5, 7), Matrix::new(&b, 5, 7).t()),
            (Matrix::strided(&a, 3, 4, 11), Matrix::strided(&b, 4, 6, 8)),
        ] {
            let expected = plain(left, right);
            let mut got = vec![1.0; expected.len()];
            gemm(&mut got, 0.5, 2.0, left, right);
            for (g, e) in got.iter().zip(&expected) {
                assert!((g - (0.5 + 2.0 * e)).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn powers_of_e_in_single_precision() {
        for i in -8700..=8800 {
            let x = i as f32 * 0.01;
            let (fast, exact) = (Real::exp(x) as f64, (x as f64).exp());
            assert!((fast / exact - 1.0).abs() < 3e-7, "{x}: {fast} {exact}");
        }
        for i in -2000..=2000 {
            let x = i as f32 * 0.005;
            let (fast, exact) = (Real::tanh(x) as f64, (x as f64).tanh());
            assert!((fast - exact).abs() <= 2e-6 * exact.abs(), "{x}: {fast} {exact}");
        }
        assert_eq!(Real::exp(0f32), 1.0);
        assert!(Real::exp(-1e30f32) < 1e-37);
    }

    #[test]
    fn pieces_and_copies() {
        for count in [0, 1, 99, 100, 101, 200_001] {
            let values = by_pieces(
                count,
                100,
                || 7.0,
                |scratch, index, piece| {
                    for (offset, value) in piece.iter_mut().enumerate() {
                        assert_eq!(*value, 0.0);
                        *value = *scratch + (index * 100 + offset) as f64;
                    }
                },
            );
            let expected: Vec<f64> = (0..count).map(|i| 7.0 + i as f64).collect();
            assert_eq!(values, expected);
            assert_eq!(copied(&values), expected);
            let mut other = vec![0.0; count];
            copy_into(&mut other, &values);
            assert_eq!(other, expected);
        }
    }

    #[test]
    fn transposing_and_placing() {
        let (rows, columns) = (5, 35);
        let matrix: Vec<f64> = (0..rows * columns).map(|i| i as f64).collect();
        let mut result = vec![0.0; matrix.len()];
        transpose(&matrix, columns, &mut result, |row| rows - 1 - row);
        for (i, value) in matrix.iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            assert_eq!(result[column * rows + rows - 1 - row], *value);
        }
    }

    /// The promise on which bit-identical runs rest: splitting the result among threads changes no sum.
    #[test]
    fn parallel_products_do_not_depend_on_the_number_of_threads() {
        for (m, k, n) in [(300, 1000, 257), (1, 4096, 512), (513, 3, 64), (64, 5000, 64), (2000, 300, 1)] {
            let a: Vec<f32> = (0..m * k).map(|i| (i as f32 * 0.37).sin()).collect();
            let b: Vec<f32> = (0..k * n).map(|i| (i as f32 * 0.73).cos()).collect();
            let run = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| {
                    let mut c = vec![0.0f32; m * n];
                    gemm_parallel(&mut c, 0.0, 1.0, Matrix::new(&a, m, k), Matrix::new(&b, k, n));
                    c
                })
            };
            let one = run(1);
            for threads in [2, 3] {
                assert!(one == run(threads), "{m} x {k} x {n} on {threads} threads");
            }
        }
    }
}
