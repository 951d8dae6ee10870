//! Work on all threads, in one way: `items.parallel().for_each(work)`.
//!
//! What stands before `parallel()` is an ordinary iterator, run through on this thread; what stands after it runs on all of rayon's threads, and
//! results come back in the items' order. Rayon's own iterators would do the same, but every loop would be compiled with a copy of all that
//! they are made of: here that part, [`on_all_threads`], exists once.

use std::marker::PhantomData;
use std::ops::Range;

/// Iterators whose items can be worked on by all threads.
pub(crate) trait Parallel: Iterator<Item: Send> + Sized {
    /// From here on, on all threads.
    fn parallel(self) -> Items<Self::Item> {
        Items { items: self.collect() }
    }
}

impl<I: Iterator<Item: Send>> Parallel for I {}

/// What all threads are to work on.
pub(crate) struct Items<T> {
    items: Vec<T>,
}

impl<T: Send> Items<T> {
    /// Calls `work` with every item.
    pub fn for_each(self, work: impl Fn(T) + Sync) {
        self.for_each_with(|| (), |(), item| work(item));
    }

    /// Calls `work` with every item and with memory that is made once for some items that are worked on one after the other.
    pub fn for_each_with<S>(mut self, scratch: impl Fn() -> S + Sync, work: impl Fn(&mut S, T) + Sync) {
        let (count, taken) = (self.items.len(), Taken(self.items.as_mut_ptr(), PhantomData));
        // SAFETY: the items are no longer the vector's, whose memory stays where it is; each is taken once below. Should some work panic, those
        // that nobody has taken are forgotten.
        unsafe { self.items.set_len(0) };
        on_all_threads(count, &|range| {
            let mut scratch = scratch();
            for index in range {
                // SAFETY: the ranges are disjoint parts of 0..count.
                work(&mut scratch, unsafe { taken.take(index) });
            }
        });
    }

    /// What `work` makes of every item, in their order.
    pub fn map<R: Send>(self, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        self.map_with(|| (), |(), item| work(item))
    }

    /// [`Self::map`] with memory as in [`Self::for_each_with`].
    pub fn map_with<S, R: Send>(self, scratch: impl Fn() -> S + Sync, work: impl Fn(&mut S, T) -> R + Sync) -> Vec<R> {
        let mut results: Vec<Option<R>> = self.items.iter().map(|_| None).collect();
        let places = self.items.into_iter().zip(&mut results);
        places.parallel().for_each_with(scratch, |scratch, (item, result)| *result = Some(work(scratch, item)));
        results.into_iter().map(|result| result.expect("every item has been worked on")).collect()
    }
}

/// Items that are taken out of a vector, each once.
struct Taken<T>(*mut T, PhantomData<T>);

// SAFETY: threads only take items, different ones, and items may go to other threads.
unsafe impl<T: Send> Sync for Taken<T> {}

impl<T> Taken<T> {
    /// SAFETY: below the number of items, and never twice.
    unsafe fn take(&self, index: usize) -> T {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(index).read() }
    }
}

/// Parts for each thread: as one part may take longer than another, there are more of them than threads.
const PARTS: usize = 16;

/// Calls `work` with parts of 0..count that are all of it, on all threads.
fn on_all_threads(count: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    let threads = rayon::current_num_threads();
    match (count, threads) {
        (0, _) => {}
        (_, 0 | 1) => work(0..count),
        _ => halve(0..count, count.div_ceil(PARTS * threads), work),
    }
}

fn halve(range: Range<usize>, part: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
    if range.len() <= part {
        return work(range);
    }
    let middle = range.start + range.len() / 2;
    rayon::join(|| halve(range.start..middle, part, work), || halve(middle..range.end, part, work));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn on(threads: usize, work: impl FnOnce() + Send) {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work);
    }

    #[test]
    fn every_item_once_and_in_order() {
        for threads in [1, 2, 3] {
            for count in [0, 1, 2, 31, 1000] {
                on(threads, || {
                    let squares = (0..count).parallel().map(|i| i * i);
                    assert_eq!(squares, (0..count).map(|i| i * i).collect::<Vec<usize>>());
                    let mut values = vec![1; 3 * count];
                    let pieces = values.chunks_mut(3).enumerate();
                    pieces.parallel().for_each(|(index, piece)| piece.iter_mut().for_each(|v| *v += index));
                    let expected: Vec<usize> = (0..3 * count).map(|i| 1 + i / 3).collect();
                    assert_eq!(values, expected);
                });
            }
        }
    }

    #[test]
    fn memory_serves_several_items() {
        for threads in [1, 3] {
            on(threads, || {
                let made = AtomicUsize::new(0);
                let scratch = || made.fetch_add(1, Ordering::Relaxed);
                let results = (0..1000).parallel().map_with(scratch, |_, item| item);
                assert_eq!(results.len(), 1000);
                assert!((1..=2 * PARTS * threads).contains(&made.load(Ordering::Relaxed)));
            });
        }
    }

    /// Items that own something are given away, not copied; the results are the caller's.
    #[test]
    fn items_are_dropped_once() {
        let shared = Arc::new(());
        let results = vec![shared.clone(); 100].into_iter().parallel().map(|item| Arc::strong_count(&item) > 1);
        assert_eq!(results, vec![true; 100]);
        assert_eq!(Arc::strong_count(&shared), 1);
    }

    #[test]
    #[should_panic = "seventeen"]
    fn a_panic_reaches_the_caller() {
        (0..100).parallel().for_each(|index| assert!(index != 17, "seventeen"));
    }
}
