//! Through a tile in shared memory: coalesced on both sides.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

/// Both accesses to global memory are coalesced: the block reads its tile of the matrix along rows, and writes the
/// tile's transpose along rows. Only the accesses to shared memory are strided, and shared memory has no sectors.
///
/// Each request takes 4 sectors in each direction. But the block reads the tile along columns, whose words lie in few
/// banks. With blocks of 32 × 16, a warp's 32 words lie in two banks, 16 words each. So a read takes 16 wavefronts and
/// a write takes one. The article reports a ratio of 8 to 1. ("Matrix Transpose with Shared Memory", `transposeSmem`.)
///
/// # Safety
/// See [`transpose`](super).
#[rung(
    after = transpose_naive_strided_reads,
    lesson = "a tile in shared memory: coalesced both ways, but each column lies in one bank or two",
    blocks = [(32, 16), (32, 32), (16, 16)],
    default_block = (32, 16),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0]),
    published_count = "waves 8 : 1"
)]
pub unsafe fn transpose_smem<const BLOCK_X: u32, const BLOCK_Y: u32>(
    input: *const f32,
    output: *mut f32,
    rows: u32,
    cols: u32,
) {
    /// The row stride of the tile in words.
    const STRIDE: u32 = BLOCK_X;
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; (BLOCK_Y * STRIDE) as usize]> = MaybeUninit::uninit();
    let tile = (&raw mut TILE).cast::<f32>();
    let tile_row = (thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y()) * BLOCK_Y;
    let tile_col = thread::block_idx_x() * BLOCK_X;

    let (thread_row, thread_col) = (thread::thread_idx_y(), thread::thread_idx_x());
    let (row, col) = (tile_row + thread_row, tile_col + thread_col);
    if row < rows && col < cols {
        let word = (thread_row * STRIDE + thread_col) as usize;
        // SAFETY: row < rows and col < cols, so the index is in the matrix. Every thread writes a different word.
        unsafe { *tile.add(word) = *input.add((row * cols + col) as usize) };
    }
    thread::sync_threads();

    // As in `transpose_naive_strided_reads`: neighboring threads process neighboring elements of a column of the tile.
    let tid = thread_row * BLOCK_X + thread_col;
    let (thread_row, thread_col) = (tid % BLOCK_Y, tid / BLOCK_Y);
    let (row, col) = (tile_row + thread_row, tile_col + thread_col);
    if row < rows && col < cols {
        let word = (thread_row * STRIDE + thread_col) as usize;
        // SAFETY: row < rows and col < cols, so the index is in the matrix and the word was written before the barrier.
        // No other thread writes this element.
        unsafe { *output.add((col * rows + row) as usize) = *tile.add(word) };
    }
}
