//! Whole sectors: windows that begin at the output's sector boundaries.

use core::{array, mem::MaybeUninit};

use cuda_std::{address_space, thread};
use rung::rung;

/// The number of rows in a tile.
const TILE_ROWS: u32 = 128;
/// The number of columns in a tile.
const TILE_COLS: u32 = 64;
/// The number of threads in a block.
const BLOCK: u32 = 512;
/// The number of elements in a 32-byte sector. A block reads this number of rows above its tile.
const SECTOR: u32 = 8;
/// The number of rows that a block reads per step.
const ROWS_PER_STEP: u32 = BLOCK / TILE_COLS;
/// The number of steps in which a block reads its rows.
const STEPS: usize = ((TILE_ROWS + SECTOR) / ROWS_PER_STEP) as usize;
/// The number of loads that a thread has in flight.
const IN_FLIGHT: usize = 8;
/// The row stride of the tile in words, with one word of padding as in `transpose_smem_pad`.
const STRIDE: u32 = TILE_COLS + 1;
/// The number of words in the tile.
pub(super) const WORDS: usize = ((TILE_ROWS + SECTOR) * STRIDE) as usize;

/// Returns the number of rows of tiles. If windows begin before their tile, the last row of tiles extends up to seven
/// rows beyond the matrix.
const fn rows_of_tiles(rows: u32) -> u32 {
    (rows + if rows.is_multiple_of(SECTOR) { 0 } else { SECTOR - 1 }).div_ceil(TILE_ROWS)
}

/// Returns the number of blocks that transpose a matrix.
pub(super) const fn blocks(rows: u32, cols: u32) -> u32 {
    rows_of_tiles(rows) * cols.div_ceil(TILE_COLS)
}

/// Each block writes a window of each output row from a tile of 128 rows and 64 columns. Every window begins at a
/// sector boundary.
///
/// If the number of rows is not a multiple of 8, the output's rows begin at different offsets within sectors. So do the
/// 128 elements of each output row that a tile covers. In the previous rungs, each sector at an end of these elements
/// is written in two parts, by two blocks. For each part, memory has to read the sector, insert the part and write the
/// sector back. Here the block moves its window of an output row back by 0 to 7 elements, to a sector boundary. It
/// therefore also reads the 8 rows above its tile. All sectors are written whole, except the sectors at the ends of the
/// matrix. The block reads 136 rows and writes 128, and the 8 additional rows come from L2. The tiles are numbered in
/// column-major order, so blocks that run at the same time write neighboring segments of the same output rows.
///
/// Prediction: the previous rungs write one sector in 5 in parts, and each of these sectors costs another read and
/// write. Without such sectors, expect the speed of shapes whose number of rows is a multiple of 8: about 90 % of a
/// copy's speed. Measured on an H100 80GB HBM3 for 10007 × 8191: 240 µs, 93 % of the bandwidth of a device-to-device
/// copy of the same size. The same kernel without the shift takes 300 to 340 µs, and cuBLAS's `geam` takes 295 µs.
///
/// # Safety
/// See [`transpose`](super). The grid has one block for each tile, and `output` is aligned to 32 bytes.
#[rung(
    after = transpose_smem_unroll_pad,
    lesson = "windows begin at sector boundaries: whole sectors are written for every shape",
    blocks = [512],
    items_per_thread = TILE_ROWS * TILE_COLS / BLOCK,
    grid = |launch| [blocks(launch.length(0) as u32, launch.length(1) as u32), 1, 1]
)]
pub unsafe fn transpose_aligned(input: *const f32, output: *mut f32, rows: u32, cols: u32) {
    #[address_space(shared)]
    static mut TILE: MaybeUninit<[f32; WORDS]> = MaybeUninit::uninit();
    // SAFETY: the tile has WORDS words, and the kernel's contract covers the other arguments.
    unsafe { transpose_windows((&raw mut TILE).cast(), input, output, rows, cols) };
}

/// Transposes this block's tile through `tile`.
///
/// # Safety
/// See `transpose_aligned`. `tile` points to `WORDS` words of shared memory.
#[inline(always)]
pub(super) unsafe fn transpose_windows(tile: *mut f32, input: *const f32, output: *mut f32, rows: u32, cols: u32) {
    let (tid, block_idx, rows_of_tiles) = (thread::thread_idx_x(), thread::block_idx_x(), rows_of_tiles(rows));
    let (tile_row, tile_col) = (block_idx % rows_of_tiles * TILE_ROWS, block_idx / rows_of_tiles * TILE_COLS);

    let (thread_row, thread_col, col) = (tid / TILE_COLS, tid % TILE_COLS, tile_col + tid % TILE_COLS);
    let step_row = |step: usize| step as u32 * ROWS_PER_STEP;
    for first in (0..STEPS).step_by(IN_FLIGHT) {
        let loaded: [f32; IN_FLIGHT] = array::from_fn(|k| {
            // A row above the matrix wraps around to a number beyond the last row, so one comparison checks both ends.
            let row = (tile_row + thread_row + step_row(first + k)).wrapping_sub(SECTOR);
            let is_needed = first + k < STEPS && (step_row(first + k) >= SECTOR || !rows.is_multiple_of(SECTOR));
            // SAFETY: row < rows and col < cols, so the index is in the matrix.
            if is_needed && row < rows && col < cols { unsafe { *input.add((row * cols + col) as usize) } } else { 0.0 }
        });
        for (k, &element) in loaded.iter().enumerate() {
            if first + k < STEPS {
                // SAFETY: the row is below TILE_ROWS + SECTOR. Every thread writes different words.
                unsafe { *tile.add(((thread_row + step_row(first + k)) * STRIDE + thread_col) as usize) = element };
            }
        }
    }
    thread::sync_threads();

    // Each step writes `BLOCK / TILE_ROWS` rows of the output.
    let (thread_row, thread_col) = (tid % TILE_ROWS, tid / TILE_ROWS);
    for step_col in (0..TILE_COLS).step_by((BLOCK / TILE_ROWS) as usize) {
        let col = tile_col + thread_col + step_col;
        // The offset of this output row within its sector. A tile's rows begin at a multiple of the number of elements
        // in a sector.
        let shift = col * rows % SECTOR;
        let row = (tile_row + thread_row).wrapping_sub(shift);
        if row < rows && col < cols {
            let word = (thread_row + SECTOR - shift) * STRIDE + thread_col + step_col;
            // SAFETY: row < rows and col < cols, so the index is in the matrix and the word was written before the
            // barrier. No other thread writes this element.
            unsafe { *output.add((col * rows + row) as usize) = *tile.add(word as usize) };
        }
    }
}
