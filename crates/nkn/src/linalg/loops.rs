//! Short loops over slices, compiled for the widest vectors.

use super::{Real, vectorised};
use std::hint::select_unpredictable;

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

/// Adds this row to every row of a matrix.
pub(crate) fn add_row<T: Real>(rows: &mut [T], row: &[T]) {
    vectorised!({
        for own in rows.chunks_exact_mut(row.len()) {
            for (own, &value) in own.iter_mut().zip(row) {
                *own += value;
            }
        }
    })
}

/// The value where the activated one is positive, else zero; max(v, 0) if both are the same.
///
/// It is a selection, not a branch: of a branch the compiler leaves out the half that stores what is there already, and the masked store
/// that is left takes some processors many times as long as a plain one.
#[inline(always)]
pub(crate) fn where_positive<T: Real>(activated: T, value: T) -> T {
    select_unpredictable(activated > T::ZERO, value, T::ZERO)
}

/// max(v, 0) of every value.
pub(crate) fn relu<T: Real>(values: &mut [T]) {
    vectorised!({
        for v in values {
            *v = where_positive(*v, *v);
        }
    })
}

/// The derivative of [`relu`]: zero where `activated` is.
pub(crate) fn mask<T: Real>(gradient: &mut [T], activated: &[T]) {
    vectorised!({
        for (g, &a) in gradient.iter_mut().zip(activated) {
            *g = where_positive(a, *g);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums run from the first row to the last, one row at a time: numbers for which another order would round differently.
    #[test]
    fn rows_are_added_in_order() {
        for (rows, width) in [(0, 3), (1, 1), (7, 5), (40, 64), (33, 17)] {
            let values: Vec<f32> =
                (0..rows * width).map(|i| (i as f32 * 0.37).sin() * 10f32.powi(i as i32 % 9)).collect();
            let plain = |c: usize| (0..rows).fold(0.0f32, |sum, r| sum + values[r * width + c]);
            let expected: Vec<f32> = (0..width).map(plain).collect();
            assert_eq!(sum_rows(&values, width), expected);
            let mut twice = expected.clone();
            add_rows(&mut twice, &values[..width.min(values.len())]);
            let again = |(c, &sum): (usize, &f32)| if rows > 0 { sum + values[c] } else { sum };
            assert_eq!(twice, expected.iter().enumerate().map(again).collect::<Vec<f32>>());
        }
        let mut matrix = [0.0f64; 6];
        set_rows(&mut matrix, &[1.0, 2.0]);
        assert_eq!(matrix, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    }

    /// The mask is open exactly where the activation is: not at zero, and not where it is no number.
    #[test]
    fn a_mask_is_the_derivative_of_relu() {
        let mut values = [-1.0, 0.0, -0.0, 2.5, f64::NAN, f64::INFINITY];
        relu(&mut values);
        assert_eq!(values, [0.0, 0.0, 0.0, 2.5, 0.0, f64::INFINITY]);
        let mut gradient = [3.0; 6];
        mask(&mut gradient, &values);
        assert_eq!(gradient, [0.0, 0.0, 0.0, 3.0, 0.0, 3.0]);
    }
}
