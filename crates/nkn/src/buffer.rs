//! Recycled memory for results that live for one step: a training step needs the same large arrays every time, and fetching them
//! fresh from the system, zeroed, would cost as much as a tenth of the arithmetic.

use crate::linalg::Real;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

/// Bytes kept for reuse; beyond that the arrays that have waited longest go back to the system.
const KEPT: usize = 3 << 29;

/// A pool of arrays of one precision, oldest first.
pub struct Pool<T>(Mutex<VecDeque<Vec<T>>>);

impl<T> Pool<T> {
    /// An empty pool.
    pub const fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// An array from the pool; it goes back when dropped.
#[derive(Debug)]
pub struct Buffer<T: Real>(Vec<T>);

impl<T: Real> Buffer<T> {
    /// An array of this length with **any** content: to be written before it is read.
    pub fn any(length: usize) -> Self {
        let found = {
            let mut pool = T::pool().0.lock().expect("nobody panics with the pool");
            // The shortest that is long enough and no waste.
            let fits = |v: &Vec<T>| v.capacity() >= length && v.capacity() <= 2 * length + 1024;
            let candidates = pool.iter().enumerate().filter(|(_, v)| fits(v));
            let best = candidates.min_by_key(|(_, v)| v.capacity()).map(|(index, _)| index);
            best.and_then(|index| pool.remove(index))
        };
        match found {
            Some(mut values) => {
                values.resize(length, T::ZERO);
                Self(values)
            }
            None => Self(vec![T::ZERO; length]),
        }
    }
}

impl<T: Real> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Self(values)
    }
}

impl<T: Real> Drop for Buffer<T> {
    fn drop(&mut self) {
        let values = std::mem::take(&mut self.0);
        if values.capacity() == 0 {
            return;
        }
        if let Ok(mut pool) = T::pool().0.lock() {
            pool.push_back(values);
            let bytes = |pool: &VecDeque<Vec<T>>| pool.iter().map(Vec::capacity).sum::<usize>() * size_of::<T>();
            while bytes(&pool) > KEPT {
                pool.pop_front();
            }
        }
    }
}

impl<T: Real> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Real> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_exact_whatever_is_recycled() {
        for length in [10_000, 9_000, 12_000, 9_999] {
            let mut buffer = Buffer::<f64>::any(length);
            assert_eq!(buffer.len(), length);
            buffer.fill(1.0);
        }
    }
}
