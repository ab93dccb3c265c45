//! Element by element: strided reads, coalesced writes.

use cuda_std::thread;
use rung::rung;

/// `transpose_naive` with the block's threads laid out over the tile's transpose, so the writes are coalesced and the
/// reads are strided.
///
/// The accessed sectors are as scattered as in `transpose_naive`. But a load that misses brings a sector into the L1
/// cache, and the sector stays there until the threads of the neighboring column read it. A store, in contrast, goes to
/// L2 every time. So strided reads should cost less than strided writes. The next rung adds a tile in shared memory to
/// this kernel.
///
/// # Safety
/// See [`transpose`](super).
#[rung(
    after = transpose_naive,
    lesson = "strided reads instead of strided writes: a cache keeps the sectors for the neighboring column",
    blocks = [(32, 16), (32, 32), (16, 16)],
    default_block = (32, 16),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0])
)]
pub unsafe fn transpose_naive_strided_reads<const BLOCK_X: u32, const BLOCK_Y: u32>(
    input: *const f32,
    output: *mut f32,
    rows: u32,
    cols: u32,
) {
    let tile_row = (thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y()) * BLOCK_Y;
    let tile_col = thread::block_idx_x() * BLOCK_X;

    // The change: neighboring threads process neighboring elements of a column of the tile, which is a row of the
    // output.
    let tid = thread::thread_idx_y() * BLOCK_X + thread::thread_idx_x();
    let (thread_row, thread_col) = (tid % BLOCK_Y, tid / BLOCK_Y);
    let (row, col) = (tile_row + thread_row, tile_col + thread_col);
    if row < rows && col < cols {
        // SAFETY: row < rows and col < cols, so both indices are in bounds. No other thread writes this element.
        unsafe { *output.add((col * rows + row) as usize) = *input.add((row * cols + col) as usize) };
    }
}
