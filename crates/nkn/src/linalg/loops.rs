//! Short loops over slices, compiled for the widest vectors.

use super::{Real, vectorised};

/// Adds the rows of a matrix to a vector, in order.
pub(crate) fn add_rows<T: Real>(sum: &mut [T], rows: &[T]) {
    vectorised!({
        for row in rows.chunks_exact(sum.len().max(1)) {
            for (s, &r) in sum.iter_mut().zip(row) {
                *s += r;
            }
        }
    })
}

/// max(v, 0) of every value.
pub(crate) fn relu<T: Real>(values: &mut [T]) {
    vectorised!({
        for v in values {
            *v = if *v > T::ZERO { *v } else { T::ZERO };
        }
    })
}

/// The derivative of [`relu`]: zero where `activated` is.
pub(crate) fn mask<T: Real>(gradient: &mut [T], activated: &[T]) {
    vectorised!({
        for (g, &a) in gradient.iter_mut().zip(activated) {
            *g = if a > T::ZERO { *g } else { T::ZERO };
        }
    })
}
