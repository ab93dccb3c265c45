//! Dynamic shared memory, whose size the launch chooses.

use cuda_std::{shared, thread};
use rung::rung;

/// `transpose_smem_unroll_pad` with dynamic shared memory.
///
/// The launch specifies the size of the tile. ("Matrix Transpose with Unrolling" mentions this version after
/// `transposeSmemUnrollPad`.)
///
/// # Safety
/// See [`transpose`](super).
#[rung(
    after = transpose_smem_unroll_pad,
    lesson = "two tiles per block, with shared memory sized by the launch",
    blocks = [(32, 16), (32, 32), (16, 16)],
    default_block = (32, 16),
    items_per_thread = 2,
    grid = |launch| launch.tiles(launch.block[1], 2 * launch.block[0]),
    dynamic_shared = BLOCK_Y * (2 * BLOCK_X + 32 / BLOCK_Y) * 4
)]
pub unsafe fn transpose_smem_unroll_pad_dyn<const BLOCK_X: u32, const BLOCK_Y: u32>(
    input: *const f32,
    output: *mut f32,
    rows: u32,
    cols: u32,
) {
    /// The row stride of the tile in words, padded as in `transpose_smem_pad`.
    const STRIDE: u32 = 2 * BLOCK_X + 32 / BLOCK_Y;
    // The change: the launch allocates `BLOCK_Y * STRIDE` words for the block.
    let tile = shared::dynamic_shared_mem::<f32>();
    let tile_row = (thread::block_idx_y() + thread::block_idx_z() * thread::grid_dim_y()) * BLOCK_Y;
    let tile_col = thread::block_idx_x() * 2 * BLOCK_X;

    let (thread_row, thread_col) = (thread::thread_idx_y(), thread::thread_idx_x());
    let (row, col) = (tile_row + thread_row, tile_col + thread_col);
    // Both checks come before either load, so ptxas turns them into predicates of the loads. With a branch for each
    // check, the second load would wait for the first branch.
    let has_first = (row < rows) & (col < cols);
    let has_second = (row < rows) & (col + BLOCK_X < cols);
    let element = input.wrapping_add((row * cols + col) as usize);
    let (mut first, mut second) = (0.0, 0.0);
    // SAFETY: `has_first` and `has_second` ensure that only elements of the matrix are read.
    unsafe {
        if has_first {
            first = *element;
        }
        if has_second {
            second = *element.add(BLOCK_X as usize);
        }
    }
    // SAFETY: the tile has 2 * BLOCK_X columns. Every thread writes two different words.
    unsafe {
        let word = tile.add((thread_row * STRIDE + thread_col) as usize);
        *word = first;
        *word.add(BLOCK_X as usize) = second;
    }
    thread::sync_threads();

    let tid = thread_row * BLOCK_X + thread_col;
    let (thread_row, thread_col) = (tid % BLOCK_Y, tid / BLOCK_Y);
    let (row, col) = (tile_row + thread_row, tile_col + thread_col);
    let element = output.wrapping_add((col * rows + row) as usize);
    // SAFETY: the checks ensure that only elements of the matrix are written, and only one thread writes each element.
    // All words of the tile were written before the barrier.
    unsafe {
        let word = tile.add((thread_row * STRIDE + thread_col) as usize);
        if row < rows && col < cols {
            *element = *word;
        }
        if row < rows && col + BLOCK_X < cols {
            *element.wrapping_add((BLOCK_X * rows) as usize) = *word.add(BLOCK_X as usize);
        }
    }
}
