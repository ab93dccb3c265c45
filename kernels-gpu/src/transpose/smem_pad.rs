//! Padding: a tile whose columns are free of bank conflicts.

use core::mem::MaybeUninit;

use cuda_std::{address_space, thread};
use rung::rung;

/// `transpose_smem` with unused words at the end of each row of the tile, so that the words of a column lie in
/// different banks. The number of unused words is `32 / BLOCK_Y`: 2 for 32 × 16, 1 for 32 × 32 and 2 for 16 × 16.
///
/// Word `i` of shared memory lies in bank `i % 32`, and a bank serves one word at a time. Lane `l` of a warp reads row
/// `l % BLOCK_Y` and column `l / BLOCK_Y` of the tile. So the warp reads `32 / BLOCK_Y` neighboring columns at once:
/// one column if the tile has 32 rows, and two if it has 16. The starting banks of the rows must therefore be `32 /
/// BLOCK_Y` banks apart, in any order. These starting banks are the multiples of the stride modulo 32, and they are all
/// different exactly when the stride is an odd multiple of `32 / BLOCK_Y`. The tile's width is an even multiple,
/// because it is a larger power of two. The next odd multiple is `32 / BLOCK_Y` words larger.
///
/// With one word of padding for 32 × 16 (a stride of 33), the second column of row 1 would lie in the same bank as the
/// first column of row 2. For 16 × 16 with two words of padding, a write still takes a second wavefront. A warp writes
/// two rows of 16 words, which overlap in two banks unless the rows are 16 banks apart. But rows that are 16 banks
/// apart cause the most conflicts in columns.
///
/// Prediction: a read takes one wavefront, like a write. ("Matrix Transpose with Padded Shared Memory",
/// `transposeSmemPad`.)
///
/// # Safety
/// See [`transpose`](super).
#[rung(
    after = transpose_smem,
    lesson = "unused words at the end of each row spread a column over different banks: 2 words for 32x16",
    blocks = [(32, 16), (32, 32), (16, 16)],
    default_block = (32, 16),
    grid = |launch| launch.tiles(launch.block[1], launch.block[0]),
    published_count = "waves 1 : 1"
)]
pub unsafe fn transpose_smem_pad<const BLOCK_X: u32, const BLOCK_Y: u32>(
    input: *const f32,
    output: *mut f32,
    rows: u32,
    cols: u32,
) {
    /// The row stride of the tile in words. The change: the padding.
    const STRIDE: u32 = BLOCK_X + 32 / BLOCK_Y;
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
