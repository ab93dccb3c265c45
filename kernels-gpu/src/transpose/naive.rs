//! Element by element: coalesced reads, strided writes.

use cuda_std::thread;
use rung::rung;

/// Each thread reads an element of a row and writes it to a column.
///
/// The elements that a warp writes are `rows` elements apart, so each lane writes to a different sector: 32 sectors for
/// 32 floats. Seven eighths of the moved bytes are wasted, unless a cache keeps a sector until its other elements are
/// written. The article reports a third of `copy_gmem`'s speed. ("Baseline Transpose Kernel", `naiveGmem`.)
///
/// # Safety
/// See [`transpose`](super).
#[rung(
    after = copy_gmem,
    lesson = "the naive transpose: a warp's writes are a row apart and touch 32 sectors for 32 words",
    default_block = (32, 16),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0]),
    published = 0.3333333333333333 over copy_gmem,
    published_count = "32 sectors a store"
)]
pub unsafe fn transpose_naive(input: *const f32, output: *mut f32, rows: u32, cols: u32) {
    let row_of_tiles = thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y();
    let row = row_of_tiles * thread::block_dim_y() + thread::thread_idx_y();
    let col = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if row < rows && col < cols {
        // SAFETY: row < rows and col < cols, so both indices are in bounds. No other thread writes this element.
        unsafe { *output.add((col * rows + row) as usize) = *input.add((row * cols + col) as usize) };
    }
}
