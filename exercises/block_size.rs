//! Occupancy: the block size that fills a multiprocessor.
//!
//! A streaming multiprocessor (SM) of compute capability 9.0 holds up to 64 warps and up to 32 blocks. Both limits
//! apply at the same time. The block size decides which limit is reached first.
//!
//! The function `launch` returns the launch for `n` elements, as a host program would compute it: the number of blocks,
//! the number of threads per block, and the number of bytes of dynamic shared memory per block. Change `launch` so that
//! 64 warps are resident. The grid must still have a thread for each element.

use cuda_std::prelude::*;

/// Returns the number of blocks, of threads per block, and of bytes of dynamic shared memory per block.
fn launch(n: u32) -> [u32; 3] {
    // TODO: choose another block size.
    [n.div_ceil(32), 32, 0]
}

/// # Safety
/// `data` points to `n` elements. The grid has at least `n` threads.
#[kernel]
pub unsafe fn block_size(data: *mut f32, n: u32) {
    let i = thread::index_1d();
    if i < n {
        // SAFETY: i < n, and each thread accesses a separate element.
        unsafe { *data.add(i as usize) *= 2.0 };
    }
}

/// # Safety
/// `config` points to 3 words.
#[kernel]
pub unsafe fn block_size_launch(n: u32, config: *mut [u32; 3]) {
    // SAFETY: `config` points to 3 words. The check calls `launch` through this kernel, in one thread.
    unsafe { *config = launch(n) };
}
