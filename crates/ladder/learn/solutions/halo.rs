//! Hints:
//!
//! 1. Each thread loads one element of the tile. Which threads load the other 6 elements? `get` has the bounds check.
//! 2. All elements must be in the tile before a thread reads them. Thread `t` then adds up the elements `t` to `t + 6`.
//! 3. `*tile.add(t) = get(first + t as i32 - 3);` and `if t < 6 { *tile.add(t + 128) = get(first + t as i32 + 125); }`
//!
//! All threads reach the barrier. This includes threads without an output element, because they load elements that
//! other threads need.

use core::mem::MaybeUninit;
use cuda_std::{address_space, prelude::*};

/// # Safety
/// `input` and `output` point to `n` elements. The grid has blocks of 128 threads, and at least one thread for each
/// element.
#[kernel]
pub unsafe fn halo(input: *const i32, output: *mut i32, n: i32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[i32; 134]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<i32>();
    let t = thread::thread_idx_x() as usize;
    let first = (thread::block_idx_x() * 128) as i32;
    // Returns an element of the input, or 0 if the element does not exist.
    // SAFETY: the condition checks that the index is in bounds.
    let get = |i: i32| if i >= 0 && i < n { unsafe { *input.add(i as usize) } } else { 0 };
    let i = first + t as i32;
    // SAFETY: t + 128 < 134. Each element of the tile has one writer, and is read after the barrier.
    unsafe {
        *tile.add(t) = get(i - 3);
        if t < 6 {
            *tile.add(t + 128) = get(i + 125);
        }
    }
    thread::sync_threads();
    let mut sum = 0;
    for k in 0..7 {
        // SAFETY: t + k < 134, the number of elements in the tile.
        sum += unsafe { *tile.add(t + k) };
    }
    if i < n {
        // SAFETY: the index is in bounds: checked above. Each thread writes a separate element.
        unsafe { *output.add(i as usize) = sum };
    }
}
