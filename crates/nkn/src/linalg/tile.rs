//! Tiles of a matrix product whose sums stay in registers: what the products of [`gathered`](super::gathered), [`outer`](super::outer) and
//! [`small`](super::small) have in common.

use pulp::Simd;

/// A number of which the processor takes several at a time: pulp's operations under one name for both precisions.
pub trait Lanes: bytemuck::Pod {
    /// As many numbers as fit into a register.
    type Vector<S: Simd>: bytemuck::Pod;
    /// How many that are.
    fn lanes<S: Simd>() -> usize;
    /// The same number in every place.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    /// a b + c.
    fn mul_add<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>) -> Self::Vector<S>;
    /// a + b.
    fn plus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a - b.
    fn minus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a b.
    fn times<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
}

macro_rules! lanes {
    ($scalar:ty, $vector:ident, $lanes:ident, $splat:ident, $mul_add:ident, $($name:ident: $own:ident),*) => {
        impl Lanes for $scalar {
            type Vector<S: Simd> = S::$vector;
            #[inline(always)]
            fn lanes<S: Simd>() -> usize {
                S::$lanes
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$vector {
                simd.$splat(value)
            }
            #[inline(always)]
            fn mul_add<S: Simd>(simd: S, a: S::$vector, b: S::$vector, c: S::$vector) -> S::$vector {
                simd.$mul_add(a, b, c)
            }
            $(#[inline(always)]
            fn $name<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$own(a, b)
            })*
        }
    };
}

lanes!(f32, f32s, F32_LANES, splat_f32s, mul_add_f32s, plus: add_f32s, minus: sub_f32s, times: mul_f32s);
lanes!(f64, f64s, F64_LANES, splat_f64s, mul_add_f64s, plus: add_f64s, minus: sub_f64s, times: mul_f64s);

/// Asks for the memory at an address to be brought into the cache.
#[inline(always)]
pub(super) fn prefetch<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint: it reads nothing that the program can see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Whether rows of so many numbers go in tiles: whole vectors do. Where the processor has none a plain loop is as good, and is compiled in no time.
#[inline(always)]
pub(super) fn fits<T: Lanes, S: Simd>(columns: usize) -> bool {
    T::lanes::<S>() > 1 && columns.is_multiple_of(T::lanes::<S>())
}

/// The factors of a tile: numbers of the left one, and V vectors of the right one.
pub(super) struct Factors<'a, T, const V: usize> {
    pub(super) left: &'a [T],
    /// Where the tile's first number is in the left factor.
    pub(super) from: usize,
    /// From a row of the tile to the next, in numbers of the left factor.
    pub(super) across: usize,
    /// From a product of the sum to the next, likewise.
    pub(super) along: usize,
    pub(super) right: &'a [T],
    /// Where the vectors begin in the right factor.
    pub(super) starts: [usize; V],
    /// From a product of the sum to the next, in vectors of the right factor.
    pub(super) stride: usize,
}

/// Adds `depth` products to the sums of a tile of U rows, one after the other; `meanwhile` is called before each, to fetch what is wanted next.
#[inline(always)]
pub(super) fn accumulate<T: Lanes, S: Simd, const U: usize, const V: usize>(
    simd: S,
    depth: usize,
    factors: Factors<T, V>,
    sums: &mut [[T::Vector<S>; V]; U],
    meanwhile: impl Fn(usize),
) {
    let Some(last) = depth.checked_sub(1) else { return };
    let Factors { left, from, across, along, right, starts, stride } = factors;
    let left = &left[from..][..(U - 1) * across + last * along + 1];
    let right: [&[T::Vector<S>]; V] =
        std::array::from_fn(|v| bytemuck::cast_slice(&right[starts[v]..][..(last * stride + 1) * T::lanes::<S>()]));
    for k in 0..depth {
        meanwhile(k);
        // SAFETY: k is at most `last`, and the slices above reach to the `last` product of every vector.
        let row: [T::Vector<S>; V] = std::array::from_fn(|v| unsafe { *right[v].get_unchecked(k * stride) });
        for u in 0..U {
            // SAFETY: as above, and u < U.
            let factor = T::splat(simd, unsafe { *left.get_unchecked(u * across + k * along) });
            for v in 0..V {
                sums[u][v] = T::mul_add(simd, factor, row[v], sums[u][v]);
            }
        }
    }
}

/// For sums that fetch nothing meanwhile.
#[inline(always)]
pub(super) fn nothing(_: usize) {}

/// Adds a row of a tile to the beginning of a result.
#[inline(always)]
pub(super) fn add_to<T: Lanes, S: Simd, const V: usize>(simd: S, sums: [T::Vector<S>; V], result: &mut [T]) {
    let result: &mut [T::Vector<S>] = bytemuck::cast_slice_mut(&mut result[..V * T::lanes::<S>()]);
    for v in 0..V {
        result[v] = T::plus(simd, result[v], sums[v]);
    }
}

/// Whether the sums of a tile stay in registers, with the vectors of a row and one factor: AVX2, whose vectors have 32 bytes, has 16 of them,
/// AVX-512 and NEON have 32. A sum that does not is written to memory and read again with every product.
pub(super) const fn stays_in_registers<V>(height: usize, width: usize) -> bool {
    let registers = if size_of::<V>() == 32 { 16 } else { 32 };
    height * width + width < registers
}

/// Runs through a matrix of rows x vectors in tiles: two vectors wide where that comes out even, else one, and as high as the rows that are left
/// and the registers for such vectors allow. The heights are constants in the body, largest first and 1 last, because a sum in a register needs a
/// number that the compiler knows.
macro_rules! in_tiles {
    (
        $vector:ty, $rows:expr, $vectors:expr, wide [$($wide:literal)*], narrow [$($narrow:literal)*],
        |$height:ident, $width:ident, $row:ident, $column:ident| $body:expr
    ) => {{
        let mut $row = 0;
        while $row < $rows {
            let left = $rows - $row;
            $(if const { stays_in_registers::<$vector>($wide, 2) } && $vectors % 2 == 0 && left >= $wide {
                const $height: usize = $wide;
                const $width: usize = 2;
                for $column in (0..$vectors).step_by($width) {
                    $body;
                }
                $row += $height;
                continue;
            })*
            $(if const { stays_in_registers::<$vector>($narrow, 1) } && left >= $narrow {
                const $height: usize = $narrow;
                const $width: usize = 1;
                for $column in 0..$vectors {
                    $body;
                }
                $row += $height;
                continue;
            })*
        }
    }};
}
pub(super) use in_tiles;
