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

/// The sum of the rows of a matrix, in order.
pub(crate) fn sum_rows<T: Real>(rows: &[T], width: usize) -> Vec<T> {
    let mut sum = vec![T::ZERO; width];
    add_rows(&mut sum, rows);
    sum
}

/// Makes every row of a matrix this one.
pub(crate) fn set_rows<T: Real>(rows: &mut [T], row: &[T]) {
    rows.chunks_exact_mut(row.len()).for_each(|own| own.copy_from_slice(row));
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
