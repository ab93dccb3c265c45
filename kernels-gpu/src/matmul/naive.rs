//! Each thread computes one element: a row of `a` times a column of `b`, read from global memory.

use cuda_std::{GpuFloat, thread};
use rung::rung;

/// Neighboring threads compute neighboring columns.
///
/// In each step, a warp reads 32 neighboring elements of a row of `b` (4 sectors), and one element of `a`, which all
/// its lanes share. The reads are coalesced, but each multiplication needs two reads, so the warp waits for memory and
/// caches. (Section 6.1, figure 6.2.)
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    lesson = "one element per thread: coalesced, but two loads from memory for each multiplication",
    default_block = (32, 32),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0])
)]
pub unsafe fn matmul_naive(a: *const f32, b: *const f32, c: *mut f32, m: u32, n: u32, k: u32) {
    let block_row = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
    let row = block_row * thread::block_dim_y() + thread::thread_idx_y();
    let col = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();

    if row < m && col < n {
        let mut sum = 0.0;
        for i in 0..k {
            // SAFETY: row < m, col < n and i < k, so both elements are in their matrices.
            let (x, y) = unsafe { (*a.add((row * k + i) as usize), *b.add((i * n + col) as usize)) };
            sum = GpuFloat::mul_add(x, y, sum);
        }
        // SAFETY: row < m and col < n. No other thread writes this element.
        unsafe { *c.add((row * n + col) as usize) = sum };
    }
}
