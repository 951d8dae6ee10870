//! Matrix products: a thin, bounds-checked layer over the `gemm` crate.

use super::Real;

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
    ///
    /// # Panics
    /// If the last row does not end inside the slice.
    pub fn strided(data: &'a [T], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(fits(data.len(), rows, columns, row_stride), "{rows} x {columns} with stride {row_stride}");
        Self { data, rows, columns, row_stride, column_stride: 1 }
    }

    /// The transposed view.
    pub fn t(self) -> Self {
        let Self { data, rows, columns, row_stride, column_stride } = self;
        Self { data, rows: columns, columns: rows, row_stride: column_stride, column_stride: row_stride }
    }
}

/// Whether rows of so many columns that begin `row_stride` apart lie within a length; sizes whose product no number holds do not.
fn fits(length: usize, rows: usize, columns: usize, row_stride: usize) -> bool {
    rows == 0
        || columns == 0
        || (rows - 1)
            .checked_mul(row_stride)
            .and_then(|start| start.checked_add(columns))
            .is_some_and(|end| end <= length)
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
    assert!(row_stride >= n && fits(result.len(), m, n, row_stride));
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
    fn sizes_that_overflow_are_refused() {
        let data = [0.0; 8];
        // 2^63 rows that are two apart: the last one would begin at 0 again.
        let (rows, stride) = (1usize << 63, 2);
        assert!(!fits(data.len(), rows + 1, 1, stride) && !fits(data.len(), 2, usize::MAX, 1));
        assert!(std::panic::catch_unwind(|| Matrix::strided(&data, rows + 1, 1, stride)).is_err());
        assert!(fits(data.len(), 4, 2, 2) && !fits(data.len(), 5, 2, 2) && fits(0, 0, 3, 3));
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
