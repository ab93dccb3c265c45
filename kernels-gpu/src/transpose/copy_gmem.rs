//! A copy with one thread per element.

use cuda_std::thread;
use rung::rung;

/// Copies the matrix without transposing it, as the baseline for the other rungs.
///
/// Neighboring threads access neighboring elements, so a warp's 32 floats occupy 4 sectors in each direction. The
/// article calls this kernel the upper bound, but rungs with more loads in flight are faster on an H100. ("Baseline
/// Transpose Kernel", `copyGmem`.)
///
/// # Safety
/// See [`transpose`](super).
#[rung(
    lesson = "a copy for comparison, coalesced both ways: one load in flight per thread, so it is not a bound",
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
