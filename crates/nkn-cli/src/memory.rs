//! How the program and the Python package take their memory: large arrays in huge pages, and kept for their next use.
//!
//! A training step streams through hundreds of megabytes several times. With pages of 4 KiB the processor spends a fifth
//! of the step looking up where they are; with pages of 2 MiB it does not. Linux gives them to those who ask. And large
//! arrays begin at a line of the cache.
//!
//! A step also takes and frees the same tens of megabytes again and again. The system's allocator gives them back each
//! time, and a quarter of a step would go into mapping fresh pages. Here freed arrays wait on shelves, one for each size,
//! sizes being rounded up by at most an eighth. A shelf is a few places that are filled and emptied by one exchange of a
//! pointer each: no thread waits for another, and a process that is forked in the middle finds nothing locked.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The system's allocator, with huge pages under large arrays and shelves for freed ones.
pub struct Allocator;

/// From this size on in huge pages.
const LARGE: usize = 4 << 20;
/// Arrays from this size on begin with a line of the cache, so that no vector lies across two of them.
const ALIGNED: usize = 1 << 10;
const LINE: usize = 64;

/// The sizes that are kept: from 2 to the SMALLEST on, over OCTAVES doublings, each in STEPS steps.
const SMALLEST: u32 = 15;
const OCTAVES: usize = 15;
const STEPS: usize = 8;
/// Arrays of one size that are kept.
const PLACES: usize = 16;
/// Bytes that are kept in all.
const MOST: usize = 1 << 29;

struct Shelf([AtomicPtr<u8>; PLACES]);

static SHELVES: [Shelf; OCTAVES * STEPS] =
    [const { Shelf([const { AtomicPtr::new(null_mut()) }; PLACES]) }; OCTAVES * STEPS];
static KEPT: AtomicUsize = AtomicUsize::new(0);

impl Shelf {
    fn take(&self, size: usize) -> Option<*mut u8> {
        let is_taken = |place: &AtomicPtr<u8>| {
            // A look first: an exchange takes the place's line from the other processors.
            let waits = !place.load(Ordering::Relaxed).is_null();
            waits.then(|| place.swap(null_mut(), Ordering::Acquire)).filter(|start| !start.is_null())
        };
        let start = self.0.iter().find_map(is_taken)?;
        KEPT.fetch_sub(size, Ordering::Relaxed);
        Some(start)
    }

    /// Whether there was room.
    fn put(&self, start: *mut u8, size: usize) -> bool {
        if KEPT.fetch_add(size, Ordering::Relaxed) + size <= MOST {
            let is_put = |place: &AtomicPtr<u8>| {
                place.load(Ordering::Relaxed).is_null()
                    && place.compare_exchange(null_mut(), start, Ordering::Release, Ordering::Relaxed).is_ok()
            };
            if self.0.iter().any(is_put) {
                return true;
            }
        }
        KEPT.fetch_sub(size, Ordering::Relaxed);
        false
    }
}

/// The layout that is asked of the system, and the shelf of arrays with it.
fn widened(layout: Layout) -> (Layout, Option<&'static Shelf>) {
    if layout.size() < ALIGNED {
        return (layout, None);
    }
    let aligned = layout.align_to(LINE).unwrap_or(layout);
    if layout.size() <= 1 << SMALLEST || aligned.align() > LINE {
        return (aligned, None);
    }
    // The octave is (2^n, 2^(n + 1)]: eight steps of 2^(n - 3).
    let octave = (layout.size() - 1).ilog2();
    let step = octave - STEPS.ilog2();
    let steps = ((layout.size() - 1) >> step) + 1;
    let shelf = SHELVES.get((octave - SMALLEST) as usize * STEPS + steps - STEPS - 1);
    match (shelf, Layout::from_size_align(steps << step, LINE)) {
        (Some(shelf), Ok(rounded)) => (rounded, Some(shelf)),
        _ => (aligned, None),
    }
}

fn advise(start: *mut u8, length: usize) {
    #[cfg(target_os = "linux")]
    if length >= LARGE && !start.is_null() {
        unsafe extern "C" {
            fn madvise(address: *mut u8, length: usize, advice: i32) -> i32;
        }
        const HUGE_PAGE: i32 = 14;
        const PAGE: usize = 4096;
        let skip = start.align_offset(PAGE);
        if skip < length {
            let whole = (length - skip) / PAGE * PAGE;
            // SAFETY: the range lies inside an allocation of our own, and the advice changes no content.
            unsafe { madvise(start.wrapping_add(skip), whole, HUGE_PAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, length);
}

// SAFETY: arrays come from the system's allocator with a layout that depends on the caller's alone, and go back to it with
// the same. Those on a shelf all have the shelf's layout, and nobody has one of them: a pointer is put there when it is freed
// and taken away when it is handed out, by one exchange each.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (wide, shelf) = widened(layout);
        if let Some(start) = shelf.and_then(|shelf| shelf.take(wide.size())) {
            return start;
        }
        let start = unsafe { System.alloc(wide) };
        advise(start, wide.size());
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (wide, shelf) = widened(layout);
        if let Some(start) = shelf.and_then(|shelf| shelf.take(wide.size())) {
            unsafe { start.write_bytes(0, layout.size()) };
            return start;
        }
        let start = unsafe { System.alloc_zeroed(wide) };
        advise(start, wide.size());
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        let (wide, shelf) = widened(layout);
        if !shelf.is_some_and(|shelf| shelf.put(start, wide.size())) {
            unsafe { System.dealloc(start, wide) }
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, length: usize) -> *mut u8 {
        if layout.size().max(length) < ALIGNED {
            // SAFETY: small arrays have the caller's own layout, so what the caller guarantees is what the system asks for.
            return unsafe { System.realloc(start, layout, length) };
        }
        // SAFETY: the caller guarantees that the length fits; where the rounded sizes are equal there is room already, and
        // otherwise a new place with the right alignment is found, as the default implementation does.
        unsafe {
            let grown = Layout::from_size_align_unchecked(length, layout.align());
            if widened(grown).0 == widened(layout).0 {
                return start;
            }
            let next = self.alloc(grown);
            if !next.is_null() {
                std::ptr::copy_nonoverlapping(start, next, layout.size().min(length));
                self.dealloc(start, layout);
            }
            next
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 4).unwrap()
    }

    /// Growing and shrinking across the limits keeps the content, and large arrays begin with a line of the cache.
    #[test]
    fn the_content_moves_along() {
        let sizes = [8, 100, ALIGNED - 1, ALIGNED, 5000, 40_000, 40_500, LARGE + 3, 2 * LARGE, 2000, ALIGNED - 8, 16];
        // SAFETY: every array is given back with the layout it was taken with, and only what was written is read.
        unsafe {
            let mut own = layout(4);
            let mut start = Allocator.alloc(own);
            (0..4).for_each(|i| start.add(i).write(i as u8 + 1));
            for size in sizes {
                start = Allocator.realloc(start, own, size);
                own = layout(size);
                assert!((0..4).all(|i| *start.add(i) == i as u8 + 1), "{size}");
                assert!(size < ALIGNED || (start as usize).is_multiple_of(LINE), "{size}");
            }
            Allocator.dealloc(start, own);
        }
    }

    /// A shelf holds one size, which is at least what was asked for and at most an eighth more.
    #[test]
    fn sizes_are_rounded_up_by_an_eighth_at_most() {
        let largest = 1usize << (SMALLEST as usize + OCTAVES);
        let mut size = (1usize << SMALLEST) + 1;
        while size <= largest {
            let (wide, shelf) = widened(layout(size));
            assert!(wide.size() >= size && 8 * (wide.size() - size) <= size, "{size}: {}", wide.size());
            let (same, its) = widened(layout(wide.size()));
            assert!(same == wide && std::ptr::eq(shelf.unwrap(), its.unwrap()), "{size}");
            let (next, other) = widened(layout(wide.size() + 1));
            assert!(next.size() > wide.size() && !other.is_some_and(|other| std::ptr::eq(shelf.unwrap(), other)));
            size += size / 50 + 1;
        }
        assert!(widened(layout(largest + 1)).1.is_none() && widened(layout(1 << SMALLEST)).1.is_none());
    }

    /// Threads that take and free arrays of the same sizes at once never hold the same one, and zeros are zeros.
    #[test]
    fn nobody_shares() {
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                scope.spawn(move || {
                    for round in 0..2_000usize {
                        let own = layout(40_000 + 4_000 * (round % 5));
                        // SAFETY: taken and given back with the same layout, and written before it is read.
                        unsafe {
                            let zeroed = round % 3 == 0;
                            let start = if zeroed { Allocator.alloc_zeroed(own) } else { Allocator.alloc(own) };
                            assert!(!zeroed || std::slice::from_raw_parts(start, own.size()).iter().all(|&b| b == 0));
                            start.write_bytes(thread + 1, own.size());
                            std::thread::yield_now();
                            assert!(std::slice::from_raw_parts(start, own.size()).iter().all(|&b| b == thread + 1));
                            Allocator.dealloc(start, own);
                        }
                    }
                });
            }
        });
    }

    /// What does not fit the shelves goes back to the system, and the count of what is kept stays right.
    #[test]
    fn full_shelves_take_no_more() {
        let shelf = Shelf([const { AtomicPtr::new(null_mut()) }; PLACES]);
        let mut numbers = [0u8; PLACES + 1];
        let starts: Vec<*mut u8> = numbers.iter_mut().map(|number| number as *mut u8).collect();
        let fitted = starts.iter().filter(|&&start| shelf.put(start, 1)).count();
        assert_eq!(fitted, PLACES);
        assert!(!shelf.put(starts[0], MOST + 1));
        assert!((0..PLACES).all(|_| shelf.take(1).is_some()) && shelf.take(1).is_none());
    }
}
