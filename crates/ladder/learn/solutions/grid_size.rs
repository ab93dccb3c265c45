//! Hints:
//!
//! 1. `n / 128` rounds down. What happens to the elements after the last whole block?
//! 2. Integers have a method that divides and rounds up.
//! 3. `n.div_ceil(128).max(1)`
//!
//! The last block can have threads without an element, so the kernel has a bounds check. Some programs skip the launch
//! for `n` = 0. Launching one block that does nothing is just as correct.

use cuda_std::prelude::*;

/// Returns the number of blocks, of threads per block, and of bytes of dynamic shared memory per block.
fn launch(n: u32) -> [u32; 3] {
    [n.div_ceil(128).max(1), 128, 0]
}

/// # Safety
/// `data` points to `n` elements.
#[kernel]
pub unsafe fn grid_size(data: *mut u32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: i < n, and each thread accesses a separate element.
        unsafe { *data.add(i as usize) ^= 1 };
    }
}

/// # Safety
/// `config` points to 3 words.
#[kernel]
pub unsafe fn grid_size_launch(n: u32, config: *mut [u32; 3]) {
    // SAFETY: `config` points to 3 words. The check calls `launch` through this kernel, in one thread.
    unsafe { *config = launch(n) };
}
