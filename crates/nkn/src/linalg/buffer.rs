//! Recycled memory for results that live for one step: a training step needs the same large arrays every time, and fetching them
//! fresh from the system, zeroed, would cost as much as a tenth of the arithmetic.

use crate::linalg::Real;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard};

/// Bytes kept for reuse; beyond that the arrays that have waited longest go back to the system.
const KEPT: usize = 3 << 29;
/// How often the pool is asked for before one goes without it. In a child that was forked while another thread had the pool it never comes.
const TRIES: usize = 128;

/// A precision whose arrays are recycled.
pub trait Recycled: Sized + 'static {
    /// Where they wait.
    fn pool() -> &'static Pool<Self>;
}

impl Recycled for f32 {
    fn pool() -> &'static Pool<Self> {
        static POOL: Pool<f32> = Pool::new();
        &POOL
    }
}

impl Recycled for f64 {
    fn pool() -> &'static Pool<Self> {
        static POOL: Pool<f64> = Pool::new();
        &POOL
    }
}

/// Arrays of one precision that wait for their next use.
pub struct Pool<T>(Mutex<Shelves<T>>);

impl<T> Pool<T> {
    const fn new() -> Self {
        Self(Mutex::new(Shelves { arrays: BTreeMap::new(), ages: BTreeMap::new(), next_age: 0, bytes: 0 }))
    }

    /// The pool, unless others do not let go of it.
    fn open(&self) -> Option<MutexGuard<'_, Shelves<T>>> {
        for tries in 0..TRIES {
            if let Ok(shelves) = self.0.try_lock() {
                return Some(shelves);
            }
            if tries < TRIES / 2 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        None
    }
}

/// The waiting arrays, by capacity and by age.
struct Shelves<T> {
    /// By capacity and age.
    arrays: BTreeMap<(usize, u64), Vec<T>>,
    /// The capacity of the array of each age.
    ages: BTreeMap<u64, usize>,
    next_age: u64,
    bytes: usize,
}

impl<T> Shelves<T> {
    /// The shortest that is long enough and no waste; of equal ones that which came last, whose content may still be in a cache.
    fn take(&mut self, length: usize) -> Option<Vec<T>> {
        let longest = length.saturating_mul(2).saturating_add(1024);
        let (&(capacity, _), _) = self.arrays.range((length, 0)..=(longest, u64::MAX)).next()?;
        let (&(_, age), _) = self.arrays.range((capacity, 0)..=(capacity, u64::MAX)).next_back()?;
        self.remove(capacity, age)
    }

    /// Takes an array in; those that must go for it are handed back, so that they can be freed when the pool is free again.
    fn put(&mut self, array: Vec<T>, kept: usize) -> Vec<Vec<T>> {
        let (capacity, age) = (array.capacity(), self.next_age);
        self.next_age += 1;
        self.bytes += capacity * size_of::<T>();
        self.ages.insert(age, capacity);
        self.arrays.insert((capacity, age), array);
        let mut gone = Vec::new();
        while self.bytes > kept {
            let Some((&age, &capacity)) = self.ages.first_key_value() else { break };
            gone.extend(self.remove(capacity, age));
        }
        gone
    }

    fn remove(&mut self, capacity: usize, age: u64) -> Option<Vec<T>> {
        self.ages.remove(&age);
        self.bytes -= capacity * size_of::<T>();
        self.arrays.remove(&(capacity, age))
    }
}

/// An array from the pool; it goes back when dropped. One that was made elsewhere is freed: nobody takes as many from the pool as would
/// come, and it would grow with every step.
#[derive(Debug)]
pub struct Buffer<T: Real> {
    values: Vec<T>,
    is_recycled: bool,
}

impl<T: Real> Buffer<T> {
    /// An array of this length with **any** content: to be written before it is read.
    pub fn any(length: usize) -> Self {
        let values = match T::pool().open().and_then(|mut shelves| shelves.take(length)) {
            Some(mut values) => {
                values.resize(length, T::ZERO);
                values
            }
            None => vec![T::ZERO; length],
        };
        Self { values, is_recycled: true }
    }
}

impl<T: Real> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Self { values, is_recycled: false }
    }
}

impl<T: Real> Drop for Buffer<T> {
    fn drop(&mut self) {
        let values = std::mem::take(&mut self.values);
        if values.capacity() == 0 || !self.is_recycled {
            return;
        }
        let gone = T::pool().open().map(|mut shelves| shelves.put(values, KEPT));
        drop(gone);
    }
}

impl<T: Real> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<T: Real> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(capacity: usize) -> Vec<f32> {
        let array = Vec::with_capacity(capacity);
        assert_eq!(array.capacity(), capacity);
        array
    }

    fn shelves() -> Shelves<f32> {
        Pool::new().0.into_inner().unwrap()
    }

    #[test]
    fn lengths_are_exact_whatever_is_recycled() {
        for length in [10_000, 9_000, 12_000, 9_999] {
            let mut buffer = Buffer::<f64>::any(length);
            assert_eq!(buffer.len(), length);
            buffer.fill(1.0);
        }
    }

    /// A pool that took what others made would hold one array more after every step.
    #[test]
    fn arrays_from_elsewhere_are_freed() {
        let length = 7_654_321; // no other test asks for it
        drop(Buffer::from(vec![1.0; length]));
        let shelves = <f64 as Recycled>::pool().0.lock().unwrap();
        assert_eq!(shelves.arrays.range((length, 0)..=(length, u64::MAX)).count(), 0);
    }

    #[test]
    fn the_shortest_that_fits_is_taken() {
        let mut shelves = shelves();
        for capacity in [50_000, 9_000, 10_000, 20_000] {
            assert!(shelves.put(array(capacity), KEPT).is_empty());
        }
        assert_eq!(shelves.take(9_500).unwrap().capacity(), 10_000);
        assert_eq!(shelves.take(9_500).unwrap().capacity(), 20_000);
        // 50,000 would be waste, 9,000 is too short.
        assert!(shelves.take(9_500).is_none() && shelves.take(usize::MAX).is_none());
        assert_eq!(shelves.bytes, 4 * 59_000);
    }

    #[test]
    fn the_oldest_go_first() {
        let mut shelves = shelves();
        for capacity in [3_000, 1_000, 2_000] {
            shelves.put(array(capacity), KEPT);
        }
        let gone = shelves.put(array(1_500), 4 * 4_600);
        assert_eq!(gone.iter().map(Vec::capacity).collect::<Vec<_>>(), [3_000]);
        assert_eq!((shelves.bytes, shelves.arrays.len(), shelves.ages.len()), (4 * 4_500, 3, 3));
        // An array that is larger than all that is kept goes itself.
        assert_eq!(shelves.put(array(5_000), 4 * 4_600).len(), 4);
        assert_eq!(shelves.bytes, 0);
    }

    /// What a child would wait for that was forked at the wrong moment.
    #[test]
    fn a_pool_that_nobody_lets_go_of_stops_nobody() {
        let pool = Pool::<f32>::new();
        let held = pool.0.lock().unwrap();
        assert!(pool.open().is_none());
        drop(held);
        assert!(pool.open().is_some());
    }
}
