//! A copy, which no transpose outruns.

use cuda_std::thread;
use rung::rung;

/// The upper bound: copies and does not transpose.
///
/// Neighboring threads read and write neighboring elements, so a warp's 32 floats are 4 sectors each way. No transpose
/// moves fewer bytes. ("Baseline Transpose Kernel", `copyGmem`.)
///
/// # Safety
/// As [`transpose`](super) says.
#[rung(
    lesson = "the upper bound: a copy, coalesced both ways; no transpose moves fewer bytes",
    default_block = (32, 16),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0]),
    is_bound
)]
pub unsafe fn copy_gmem(input: *const f32, output: *mut f32, rows: u32, cols: u32) {
    let row_of_tiles = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
    let row = row_of_tiles * thread::block_dim_y() + thread::thread_idx_y();
    let col = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if row < rows && col < cols {
        let i = (row * cols + col) as usize;
        // SAFETY: row < rows and col < cols, so the index is in both matrices. No other thread writes this element.
        unsafe { *output.add(i) = *input.add(i) };
    }
}
