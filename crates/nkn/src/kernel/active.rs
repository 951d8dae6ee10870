//! The units of a layer that are on somewhere in a block of rows, and matrices restricted to them.

use crate::linalg::buffer::Buffer;
use crate::linalg::{Matrix, Real, vectorised, where_positive};
use crate::parallel::Parallel;

/// Columns with an entry that is not zero, ascending.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Active {
    columns: Vec<u32>,
}

/// The active columns of a block of activations: rows x columns.
#[derive(Debug)]
pub(crate) struct Compact<T: Real> {
    pub active: Active,
    pub values: Buffer<T>,
    pub rows: usize,
    pub columns: usize,
}

impl<T: Real> Compact<T> {
    /// Of rows x `width` activations.
    pub fn of(activations: &[T], width: usize) -> Self {
        let active = Active::of(activations, width);
        let (rows, columns) = (activations.len() / width, active.len());
        let mut values = Buffer::any(rows * columns);
        if columns == width {
            values.copy_from_slice(activations);
        } else if columns > 0 {
            for (to, from) in values.chunks_exact_mut(columns).zip(activations.chunks_exact(width)) {
                active.pick(from, to);
            }
        }
        Self { active, values, rows, columns }
    }

    /// The given columns of rows x `width` activations, and a last one of ones that stands for the bias.
    pub fn with_ones(active: Active, activations: &[T], width: usize) -> Self {
        let (rows, columns) = (activations.len() / width, active.len() + 1);
        let mut values = Buffer::any(rows * columns);
        for (to, from) in values.chunks_exact_mut(columns).zip(activations.chunks_exact(width)) {
            active.pick(from, to);
            to[columns - 1] = T::ONE;
        }
        Self { active, values, rows, columns }
    }

    /// As a matrix.
    pub fn matrix(&self) -> Matrix<'_, T> {
        Matrix::new(&self.values, self.rows, self.columns)
    }
}

impl Active {
    /// All columns.
    pub fn all(width: usize) -> Self {
        Self { columns: (0..width as u32).collect() }
    }

    /// Of rows x `width` activations. NaN counts as on, so that it is not lost.
    pub fn of<T: Real>(activations: &[T], width: usize) -> Self {
        let mut seen = vec![T::ZERO; width];
        vectorised!({
            for row in activations.chunks_exact(width) {
                for (s, &a) in seen.iter_mut().zip(row) {
                    *s = if a != T::ZERO { T::ONE } else { *s };
                }
            }
        });
        let is_on = |&column: &u32| seen[column as usize] > T::ZERO;
        Self { columns: (0..width as u32).filter(is_on).collect() }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// The columns.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|&column| column as usize)
    }

    /// The active entries of a row.
    pub fn pick<T: Real>(&self, from: &[T], to: &mut [T]) {
        for (t, &column) in to.iter_mut().zip(&self.columns) {
            *t = from[column as usize];
        }
    }

    /// The active columns of rows x `width` values, zero where the activation is.
    pub fn masked_columns<T: Real>(&self, values: &[T], activations: &[T], width: usize) -> Buffer<T> {
        let mut result = Buffer::any(values.len() / width * self.len());
        let rows = values.chunks_exact(width).zip(activations.chunks_exact(width));
        for (to, (values, activations)) in result.chunks_exact_mut(self.len().max(1)).zip(rows) {
            for (t, &column) in to.iter_mut().zip(&self.columns) {
                let column = column as usize;
                *t = where_positive(activations[column], values[column]);
            }
        }
        result
    }

    /// The rows of a matrix (width x `columns`) that belong to active units.
    pub fn rows_of<T: Real>(&self, matrix: &[T], columns: usize) -> Buffer<T> {
        let mut result = Buffer::any(self.len() * columns);
        result.chunks_mut(columns).zip(&self.columns).parallel().for_each(|(to, &row)| {
            to.copy_from_slice(&matrix[row as usize * columns..(row as usize + 1) * columns]);
        });
        result
    }

    /// The part of a matrix (… x `columns`) with active rows and the other's active columns.
    pub fn block_of<T: Real>(&self, other: &Self, matrix: &[T], columns: usize) -> Buffer<T> {
        let mut result = Buffer::any(self.len() * other.len());
        let rows = result.chunks_mut(other.len().max(1)).zip(&self.columns);
        rows.parallel()
            .for_each(|(to, &row)| other.pick(&matrix[row as usize * columns..(row as usize + 1) * columns], to));
        result
    }

    /// Adds one value per active unit.
    pub fn add_to<T: Real>(&self, values: &[T], sum: &mut [T]) {
        for (&value, &column) in values.iter().zip(&self.columns) {
            sum[column as usize] += value;
        }
    }

    /// Adds one row per active unit.
    pub fn add_rows_to<T: Real>(&self, values: &[T], sum: &mut [T]) {
        let Some(columns) = values.len().checked_div(self.len()) else { return };
        for (row, &index) in values.chunks_exact(columns).zip(&self.columns) {
            let start = index as usize * columns;
            for (s, &v) in sum[start..start + columns].iter_mut().zip(row) {
                *s += v;
            }
        }
    }

    /// Adds a block with active rows and the other's active columns into a matrix (… x `columns`).
    pub fn add_block_to<T: Real>(&self, other: &Self, values: &[T], sum: &mut [T], columns: usize) {
        let mut wanted = self.columns.iter().peekable();
        let own: Vec<&mut [T]> = sum
            .chunks_exact_mut(columns)
            .enumerate()
            .filter_map(|(index, row)| wanted.next_if(|&&column| column as usize == index).map(|_| row))
            .collect();
        let rows = values.chunks(other.len().max(1)).zip(own);
        rows.parallel().for_each(|(row, sum)| other.add_to(row, sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::gemm;

    #[test]
    fn restricting_and_adding_back() {
        // Columns 1 and 3 of four are on.
        let activations = [0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 3.0];
        let compact = Compact::of(&activations, 4);
        assert_eq!(compact.active.len(), 2);
        assert_eq!(&*compact.values, [1.0, 0.0, 2.0, 3.0]);
        let masked = compact.active.masked_columns(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &activations, 4);
        assert_eq!(&*masked, [2.0, 0.0, 6.0, 8.0]);
        let matrix: Vec<f64> = (0..12).map(f64::from).collect();
        assert_eq!(&*compact.active.rows_of(&matrix, 3), [3.0, 4.0, 5.0, 9.0, 10.0, 11.0]);
        let other = Active::of(&[1.0, 0.0, 1.0], 3);
        let block = compact.active.block_of(&other, &matrix, 3);
        assert_eq!(&*block, [3.0, 5.0, 9.0, 11.0]);
        let mut sum = vec![0.0; 12];
        compact.active.add_block_to(&other, &block, &mut sum, 3);
        assert_eq!(sum, [0.0, 0.0, 0.0, 3.0, 0.0, 5.0, 0.0, 0.0, 0.0, 9.0, 0.0, 11.0]);
    }

    /// With the column of ones the bias is a further row of the weight, and what is left out changes nothing.
    #[test]
    fn ones_stand_for_the_bias() {
        let activations = [0.0, 1.0, 0.0, 0.5, 0.0, 2.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.25];
        let (weight, bias) = ([9.0, 2.0, 9.0, -4.0], 0.5);
        let expected: Vec<f64> =
            activations.chunks(4).map(|row| row.iter().zip(&weight).map(|(a, w)| a * w).sum::<f64>() + bias).collect();
        for active in [Active::of(&activations, 4), Active::all(4)] {
            let column: Vec<f64> = active.columns().map(|c| weight[c]).chain([bias]).collect();
            let compact = Compact::with_ones(active, &activations, 4);
            assert_eq!((compact.rows, compact.columns), (3, column.len()));
            let mut result = vec![0.0; 3];
            gemm(&mut result, 0.0, 1.0, compact.matrix(), Matrix::new(&column, column.len(), 1));
            assert_eq!(result, expected);
        }
    }

    #[test]
    fn nothing_active() {
        let compact = Compact::of(&[0.0f32; 6], 3);
        assert_eq!((compact.active.len(), compact.values.len()), (0, 0));
        compact.active.add_rows_to(&[], &mut [0.0f32; 3]);
    }
}
