//! Hints:
//!
//! 1. Look at the line that sets `i`. Which value does `i` have in thread 5?
//! 2. `let i = thread::thread_idx_x();`
//!
//! Thread 0 writes 0, thread 1 writes 1, and thread 2 writes 4. The kernel needs no loop, because the launch runs it
//! once for each thread. `unsafe` marks what the compiler cannot check: `output` has an element for each thread, and no
//! two threads write the same element.

use cuda_std::prelude::*;

/// # Safety
/// `output` points to an element for each thread of the one block.
#[kernel]
pub unsafe fn first_kernel(output: *mut u32) {
    let i = thread::thread_idx_x();
    // SAFETY: `output` has an element for each thread, and each thread writes a different element.
    unsafe { *output.add(i as usize) = i * i };
}
