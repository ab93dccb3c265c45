//! The second matrix in column-major order, read directly from global memory.

use cuda_std::{GpuFloat, thread};
use rung::rung;

/// `matmul_naive` with the second matrix in column-major order.
///
/// Neighboring threads read elements that are `k` apart, so a warp reads 32 sectors instead of 4. Each sector also
/// holds the next seven elements of the column, and the cache may keep the sector until these elements are read.
/// (Section 6.1, figure 6.3.)
///
/// # Safety
/// See [`matmul`](super).
#[rung(
    after = matmul_naive,
    lesson = "the second matrix in column-major order: a warp reads 32 sectors for 32 elements",
    default_block = (32, 32),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0])
)]
pub unsafe fn matmul_uncoalesced(a: *const f32, b_columns: *const f32, c: *mut f32, m: u32, n: u32, k: u32) {
    let block_row = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
    let row = block_row * thread::block_dim_y() + thread::thread_idx_y();
    let col = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();

    if row < m && col < n {
        let mut sum = 0.0;
        for i in 0..k {
            // The change: a column of `b` is contiguous, and the columns are `k` elements apart.
            // SAFETY: row < m, col < n and i < k, so both elements are in their matrices.
            let (x, y) = unsafe { (*a.add((row * k + i) as usize), *b_columns.add((col * k + i) as usize)) };
            sum = GpuFloat::mul_add(x, y, sum);
        }
        // SAFETY: row < m and col < n. No other thread writes this element.
        unsafe { *c.add((row * n + col) as usize) = sum };
    }
}
