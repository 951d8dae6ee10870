//! How the program takes its memory: large arrays in huge pages.
//!
//! A training step streams through hundreds of megabytes several times. With pages of 4 KiB the processor spends a fifth of the step looking up
//! where they are; with pages of 2 MiB it does not. Linux gives them to those who ask. And large arrays begin at a line of the cache.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator, asking for huge pages under large arrays.
pub struct Allocator;

/// From this size on.
const LARGE: usize = 4 << 20;
/// Arrays from this size on begin with a line of the cache, so that no vector lies across two of them.
const ALIGNED: usize = 1 << 10;
const LINE: usize = 64;

/// The layout that is asked of the system.
fn widened(layout: Layout) -> Layout {
    if layout.size() < ALIGNED {
        return layout;
    }
    layout.align_to(LINE).unwrap_or(layout)
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

// SAFETY: every call is passed on to the system's allocator, with a layout that depends on the caller's alone.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let start = unsafe { System.alloc(widened(layout)) };
        advise(start, layout.size());
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let start = unsafe { System.alloc_zeroed(widened(layout)) };
        advise(start, layout.size());
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        unsafe { System.dealloc(start, widened(layout)) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, length: usize) -> *mut u8 {
        if layout.size().max(length) < ALIGNED {
            // SAFETY: small arrays have the caller's own layout, so what the caller guarantees is what the system asks for.
            return unsafe { System.realloc(start, layout, length) };
        }
        // SAFETY: the caller guarantees that the length fits; a new place with the right alignment is found, as the default implementation does.
        unsafe {
            let grown = Layout::from_size_align_unchecked(length, layout.align());
            let next = self.alloc(grown);
            if !next.is_null() {
                std::ptr::copy_nonoverlapping(start, next, layout.size().min(length));
                self.dealloc(start, layout);
            }
            next
        }
    }
}

/// A training step allocates and frees the same tens of megabytes again and again. By default glibc gives them back to the
/// system each time, and a quarter of a step goes into mapping fresh pages. The setting
/// is the whole process's.
pub fn keep_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        const TRIM_THRESHOLD: i32 = -1;
        const MMAP_THRESHOLD: i32 = -3;
        // SAFETY: mallopt only changes numbers inside the allocator.
        unsafe {
            mallopt(MMAP_THRESHOLD, 32 << 20);
            mallopt(TRIM_THRESHOLD, 1 << 30);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Growing and shrinking across the limits keeps the content, and large arrays begin with a line of the cache.
    #[test]
    fn the_content_moves_along() {
        let sizes = [8, 100, ALIGNED - 1, ALIGNED, 5000, LARGE + 3, 2 * LARGE, 2000, ALIGNED - 8, 16];
        // SAFETY: every array is given back with the layout it was taken with, and only what was written is read.
        unsafe {
            let mut layout = Layout::from_size_align(4, 4).unwrap();
            let mut start = Allocator.alloc(layout);
            (0..4).for_each(|i| start.add(i).write(i as u8 + 1));
            for size in sizes {
                start = Allocator.realloc(start, layout, size);
                layout = Layout::from_size_align(size, 4).unwrap();
                assert!((0..4).all(|i| *start.add(i) == i as u8 + 1), "{size}");
                assert!(size < ALIGNED || (start as usize).is_multiple_of(LINE), "{size}");
            }
            Allocator.dealloc(start, layout);
        }
    }
}
