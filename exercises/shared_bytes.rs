//! Dynamic shared memory: the host chooses the bytes.
//!
//! A kernel that works with any block size cannot know the size of its tile. The launch specifies the size, in bytes
//! per block, and `dynamic_shared_mem::<T>()` returns a pointer to the memory.
//!
//! This kernel sums the elements of each block. The tile has one `i32` for each thread. The function `launch` computes
//! the launch for `n` elements, but with this launch a write to the tile is out of bounds. Correct `launch`.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;

/// Returns the number of blocks, of threads per block, and of bytes of dynamic shared memory per block.
fn launch(n: u32) -> [u32; 3] {
    const THREADS: u32 = 256;
    // TODO: correct the third number.
    [n.div_ceil(THREADS), THREADS, THREADS]
}

/// # Safety
/// `input` points to `n` elements, and `output` to one for each block. The number of threads per block is a power of
/// two. The block has 4 bytes of dynamic shared memory for each thread.
#[kernel]
pub unsafe fn shared_bytes(input: *const i32, output: *mut i32, n: u32) {
    let tile = dynamic_shared_mem::<i32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::index_1d() as usize);
    // SAFETY: i < n for the read. The tile has an element for each thread, and a barrier separates the rounds.
    unsafe {
        *tile.add(t) = if i < n as usize { *input.add(i) } else { 0 };
        thread::sync_threads();
        let mut stride = thread::block_dim_x() as usize / 2;
        while stride > 0 {
            if t < stride {
                *tile.add(t) += *tile.add(t + stride);
            }
            thread::sync_threads();
            stride /= 2;
        }
        if t == 0 {
            *output.add(thread::block_idx_x() as usize) = *tile;
        }
    }
}

/// # Safety
/// `config` points to 3 words.
#[kernel]
pub unsafe fn shared_bytes_launch(n: u32, config: *mut [u32; 3]) {
    // SAFETY: `config` points to 3 words. The check calls `launch` through this kernel, in one thread.
    unsafe { *config = launch(n) };
}
