//! Appending to a list: one atomic per warp.
//!
//! The kernel appends the elements above 0 to a list, in any order. A thread gets an index in the list from an atomic
//! counter: the counter's value before the thread's addition. No two threads get the same index. The kernel executes
//! one atomic for each element, all on one word. The goal counts a sector once for each of these atomics.
//!
//! Reserve the indices of a whole warp with one atomic. A ballot shows which lanes have an element for the list. Lane 0
//! adds the number of these lanes to the counter, and the result is the first index of the warp.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` points to `n` elements, `list` to one element for each input above 0, and `count` to a 0. The block size is
/// a multiple of 32.
#[kernel]
pub unsafe fn append(input: *const i32, list: *mut i32, count: *mut u32, n: u32) {
    let i = thread::index_1d();
    // SAFETY: the code below checks that i < n. Each index of the list is reserved once. All lanes of a warp vote and
    // shuffle together.
    unsafe {
        let element = if i < n { *input.add(i as usize) } else { 0 };
        let wanted = element > 0;
        // TODO: use one atomic for the warp.
        if wanted {
            let place = atomic_fetch_add_u32_device(count, Relaxed, 1);
            *list.add(place as usize) = element;
        }
    }
}
