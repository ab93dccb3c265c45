//! Places in a list: one atomic per warp.
//!
//! The kernel puts the elements above 0 into a list, in any order. A thread gets a place from an atomic counter: the
//! number before its addition is the place, and no other thread gets the same number. The kernel makes one atomic for
//! each element, all on one word. The goal counts a sector once for each of these atomics.
//!
//! Reserve the places of a whole warp with one atomic. A ballot says which lanes have an element for the list. Lane 0
//! adds their number to the counter, and the result is the first place of the warp.

use core::sync::atomic::Ordering::Relaxed;
use cuda_std::atomic::mid::atomic_fetch_add_u32_device;
use cuda_std::prelude::*;
use cuda_std::warp;

/// # Safety
/// `input` points to `n` elements, `list` to one for each of them that is above 0, `count` to a 0; blocks have whole
/// warps.
#[kernel]
pub unsafe fn append(input: *const i32, list: *mut i32, count: *mut u32, n: u32) {
    let i = thread::index_1d();
    // SAFETY: i < n: checked here. Each place of the list is reserved once. All lanes of a warp vote and shuffle
    // together.
    unsafe {
        let own = if i < n { *input.add(i as usize) } else { 0 };
        let wanted = own > 0;
        // TODO: one atomic for the warp.
        if wanted {
            let place = atomic_fetch_add_u32_device(count, Relaxed, 1);
            *list.add(place as usize) = own;
        }
    }
}
