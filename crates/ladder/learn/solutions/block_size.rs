//! Hints:
//!
//! 1. How many warps do 32 blocks of 32 threads have?
//! 2. 32 blocks of at least 2 warps reach 64 warps. The number of warps per block must also divide 64.
//! 3. Use 64, 128, 256, 512 or 1024 threads in both elements of the array.
//!
//! Blocks of 768 threads have 24 warps, so only 2 of them fit and 16 of the 64 warp slots stay empty. Most kernels use
//! 128 or 256 threads: small blocks finish at different times, so the SM has other work while one block starts or ends.

use cuda_std::prelude::*;

/// Returns the number of blocks, of threads per block, and of bytes of dynamic shared memory per block.
fn launch(n: u32) -> [u32; 3] {
    const THREADS: u32 = 256;
    [n.div_ceil(THREADS), THREADS, 0]
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
