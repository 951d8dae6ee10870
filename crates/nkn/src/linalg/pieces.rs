//! Arrays that are made, copied and transposed on all threads.

use super::{Real, vectorised};
use crate::linalg::buffer::Buffer;
use crate::parallel::Parallel;

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
    let pieces = values.spare_capacity_mut()[..count].chunks_mut(piece.max(1)).enumerate();
    pieces.parallel().for_each_with(scratch, |scratch, (index, values)| {
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

/// [`by_pieces`] for work that needs no scratch.
pub(crate) fn each_piece<T: Real>(count: usize, piece: usize, work: impl Fn(usize, &mut [T]) + Send + Sync) -> Vec<T> {
    by_pieces(count, piece, || (), |(), index, values| work(index, values))
}

/// first x second x width to second x first x width.
pub(crate) fn swap_leading<T: Real>(values: &[T], first: usize, second: usize, width: usize) -> Vec<T> {
    each_piece(values.len(), first * width, |b, row| {
        for (a, piece) in row.chunks_exact_mut(width).enumerate() {
            let start = (a * second + b) * width;
            piece.copy_from_slice(&values[start..start + width]);
        }
    })
}

/// A copy made on all threads.
pub(crate) fn copied<T: Real>(values: &[T]) -> Vec<T> {
    each_piece(values.len(), PIECE, |index, piece| {
        let start = index * PIECE;
        piece.copy_from_slice(&values[start..start + piece.len()]);
    })
}

/// Copies on all threads.
pub(crate) fn copy_into<T: Real>(to: &mut [T], from: &[T]) {
    assert_eq!(to.len(), from.len());
    to.chunks_mut(PIECE).zip(from.chunks(PIECE)).parallel().for_each(|(to, from)| to.copy_from_slice(from));
}

/// Numbers that a thread copies at a time.
const PIECE: usize = 1 << 16;

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
    result.chunks_mut((COLUMNS * rows).max(1)).enumerate().parallel().for_each(|(index, result)| {
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
    let pieces = result.chunks_mut(d * d).zip(blocks.chunks(d * d));
    pieces.parallel().for_each(|(result, block)| transpose_blocks(d, block, result));
    result
}

/// [`transposed_blocks`] of some of them into their place, on this thread.
pub(crate) fn transpose_blocks<T: Real>(d: usize, blocks: &[T], result: &mut [T]) {
    vectorised!({
        for (result, block) in result.chunks_exact_mut(d * d).zip(blocks.chunks_exact(d * d)) {
            for (i, row) in result.chunks_exact_mut(d).enumerate() {
                for (to, from) in row.iter_mut().zip(block[i..].iter().step_by(d)) {
                    *to = *from;
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn swapping_twice_changes_nothing() {
        let values: Vec<f64> = (0..3 * 5 * 2).map(f64::from).collect();
        let swapped = swap_leading(&values, 3, 5, 2);
        assert_eq!(swapped[..4], [0.0, 1.0, 10.0, 11.0]);
        assert_eq!(swap_leading(&swapped, 5, 3, 2), values);
    }
}
