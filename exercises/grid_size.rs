//! The grid: how many blocks the host launches.
//!
//! The host chooses the number of blocks and the threads per block of a launch. With cust, the launch is
//! `launch!(module.kernel<<<blocks, threads, shared_bytes, stream>>>(…))`.
//!
//! The function `launch` computes these numbers for `n` elements. Each thread of the kernel changes one element, so the
//! grid needs at least `n` threads. At present, the grid is wrong if `n` is not a multiple of 128, and if `n` is 0:
//! CUDA rejects a grid without blocks.

use cuda_std::prelude::*;

/// Returns the number of blocks, of threads per block, and of bytes of dynamic shared memory per block.
fn launch(n: u32) -> [u32; 3] {
    // TODO: compute enough blocks for every n.
    [n / 128, 128, 0]
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
