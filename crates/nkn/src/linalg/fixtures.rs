//! What the tests of the products share.

use super::Real;

/// Numbers for tests.
pub fn test_values<T: Real>(count: usize, shift: usize) -> Vec<T> {
    (0..count).map(|i| T::of(((i + shift) as f64 * 0.37).sin())).collect()
}

pub fn assert_close<T: Real>(fast: &[T], plain: &[T], tolerance: f64, place: &str) {
    for (a, b) in fast.iter().zip(plain) {
        let (a, b) = (a.to_f64(), b.to_f64());
        assert!((a - b).abs() < tolerance * (1.0 + b.abs()), "{place}: {a} {b}");
    }
}
