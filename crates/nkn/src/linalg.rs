//! Numbers in two precisions, and products on slices of them.
//!
//! Every product here runs on one thread; parallel code splits its work into pieces whose number does not
//! depend on the number of threads, so that one thread and many give the same bits. The exception,
//! [`gemm_parallel`], only ever splits rows and columns of the result, never a sum.

// Rows and vectors of a tile are counted by constants, so that the loops over them are unrolled and the sums stay in registers.
#![allow(clippy::needless_range_loop)]

pub(crate) mod buffer;
#[cfg(test)]
mod fixtures;
mod functions;
pub(crate) mod gathered;
mod groups;
mod loops;
mod matrix;
pub(crate) mod outer;
mod pieces;
pub(crate) mod small;
pub(crate) mod tile;

pub(crate) use groups::Groups;
pub(crate) use loops::{add_row, add_rows, mask, relu, set_rows, sum_rows, where_positive};
pub(crate) use matrix::{Matrix, gemm, gemm_parallel, gemm_strided};
pub(crate) use pieces::{
    by_pieces, copied, copy_into, each_piece, swap_leading, transpose, transpose_blocks, transposed_blocks,
};

use crate::linalg::buffer::Recycled;
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
    + tile::Lanes
    + Recycled
    + 'static
{
    /// Nothing.
    const ZERO: Self;
    /// Unity.
    const ONE: Self;
    /// The nearest value of this type.
    fn of(value: f64) -> Self;
    /// e to this power; in single precision a version that loops can be vectorised with.
    fn exp(self) -> Self;
    /// The hyperbolic tangent, likewise.
    fn tanh(self) -> Self;
}

/// One implementation for both types.
macro_rules! real {
    ($type:ty, $exp:path, $tanh:path) => {
        impl Real for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            fn of(value: f64) -> Self {
                value as $type
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

real!(f32, functions::exp_single, functions::tanh_single);
real!(f64, f64::exp, f64::tanh);

/// Runs a loop compiled for the widest vectors this machine has: `vectorised!(expression)`.
macro_rules! for_widest_vectors {
    ($work:expr) => {
        $crate::linalg::vectorised(
            #[inline(always)]
            || $work,
        )
    };
}
pub(crate) use for_widest_vectors as vectorised;

/// What `vectorised!` calls. The closure must be `#[inline(always)]`.
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
