//! Whole sectors: windows that begin where the output's sectors do.

use core::array;

use cuda_std::thread;
use rung::{BlockCount, Geometry, Rung};

use super::TILED;
use crate::tile::TileWriter;

/// This file's rungs.
pub const RUNGS: &[Rung] = &[TRANSPOSE_ALIGNED];

/// Rows of a tile.
const ROWS: usize = 128;
/// Columns of a tile.
const COLUMNS: usize = 64;
/// Threads of a block.
pub const THREADS: usize = 512;
/// Elements of a sector, and rows that a block reads besides its tile's.
const SECTOR: usize = 8;
/// Rows that a block reads in a step.
const STEP: usize = THREADS / COLUMNS;
/// Steps of a block's reading.
const STEPS: usize = (ROWS + SECTOR) / STEP;
/// Loads of a thread that are in flight together.
const TOGETHER: usize = 8;
/// Words of shared memory of a block: the tile with a word of padding behind each row.
pub const WORDS: usize = (ROWS + SECTOR) * (COLUMNS + 1);

/// The number of tiles one below the other. Where windows begin before their tile, the last one reaches as far beyond
/// the matrix.
const fn tiles_down(rows: u32) -> u32 {
    let shift = if rows.is_multiple_of(SECTOR as u32) { 0 } else { SECTOR as u32 - 1 };
    (rows + shift).div_ceil(ROWS as u32)
}

/// Blocks that transpose a matrix.
#[must_use]
pub const fn blocks(rows: u32, cols: u32) -> u32 {
    tiles_down(rows) * cols.div_ceil(COLUMNS as u32)
}

entries! {
    /// A tile of 128 rows and 64 columns, of which each output row gets a window that begins at a sector.
    ///
    /// Where the number of rows is not a multiple of 8, the output's rows begin within sectors, each at another place,
    /// and so do a tile's 128 elements of each row. The rungs before write the sectors at both ends in halves, from two
    /// blocks: memory has to read such a sector, put the half in its place and write it. Here the block moves its
    /// window for an output row back to where a sector begins, by 0 to 7 elements, and reads the 8 rows above its tile
    /// as well, so that it has them. All sectors are written whole, but for those at the ends of the matrix; 136 rows
    /// are read for 128 written, and the 8 come from L2. The tiles are counted down the columns: blocks that run
    /// together write neighbouring parts of the same output rows.
    ///
    /// Prediction: what is written in halves before is one sector in 5, each of them a read and a write more;
    /// without that, the speed of even shapes, some 90 % of a copy. Measured on an H100 80GB HBM3 for 10007 × 8191:
    /// 240 µs, 93 % of what the device's own copy of those bytes moves in a second, where the same kernel
    /// without the shift takes 300 to 340 µs and cuBLAS's geam 295 µs.
    ///
    /// # Safety
    /// As [`transpose`](super) says, but the block has one dimension, and the grid [`blocks`]; `output` is a
    /// multiple of 32.
    transpose_aligned(input: *const f32, output: *mut f32, rows: u32, cols: u32) for BLOCK in [512];
    shared tile: [f32; WORDS];
    rung TILED {
        lesson: "windows that begin where sectors do: whatever the shape, they are written whole",
        geometry: Geometry::Own {
            elements: (ROWS * COLUMNS) as u32,
            blocks: BlockCount(|shape| blocks(shape[0] as u32, shape[1] as u32)),
        },
        default_block: [THREADS as u32, 1, 1],
    };
    // SAFETY: the body has the kernel's contract.
    => unsafe {
        const { assert!(BLOCK == THREADS) };
        aligned(tile, input, output, rows, cols);
    }
}

/// # Safety
/// The contract of `transpose_aligned`; `tile` is `WORDS` words of shared memory.
#[inline(always)]
pub(super) unsafe fn aligned(tile: *mut f32, input: *const f32, output: *mut f32, rows: u32, cols: u32) {
    // SAFETY: as the caller promises.
    let mut tile = unsafe { TileWriter::<f32, COLUMNS, 1>::new(tile) };
    let (index, tid) = (thread::block_idx_x(), thread::thread_idx_x());
    let down = tiles_down(rows);
    let top = index % down * ROWS as u32;
    let left = index / down * COLUMNS as u32;
    let is_shifted = !rows.is_multiple_of(SECTOR as u32);

    let (row, along) = (tid / COLUMNS as u32, tid % COLUMNS as u32);
    let column = left + along;
    for first in (0..STEPS).step_by(TOGETHER) {
        let loaded: [f32; TOGETHER] = array::from_fn(|k| {
            let step = first + k;
            // A row above the first wraps around to a number beyond the last, so one comparison finds both.
            let row = (top + row + (step * STEP) as u32).wrapping_sub(SECTOR as u32);
            let is_needed = step < STEPS && (step * STEP >= SECTOR || is_shifted);
            if is_needed && row < rows && column < cols {
                // SAFETY: in bounds.
                unsafe { *input.add((row * cols + column) as usize) }
            } else {
                0.0
            }
        });
        for (k, &loaded) in loaded.iter().enumerate() {
            if first + k < STEPS {
                // SAFETY: every thread has its own elements of the tile.
                unsafe { tile.set(row + ((first + k) * STEP) as u32, along, loaded) };
            }
        }
    }

    let tile = tile.sync();

    let (down, along) = (tid / ROWS as u32, tid % ROWS as u32);
    for step in 0..COLUMNS / (THREADS / ROWS) {
        let down = down + (step * (THREADS / ROWS)) as u32;
        let column = left + down;
        // Tiles begin where sectors begin, in rows that begin where one does.
        let shift = column * rows % SECTOR as u32;
        let row = (top + along).wrapping_sub(shift);
        if row < rows && column < cols {
            // SAFETY: in bounds; all of the tile that is in the matrix was written before the barrier.
            unsafe {
                *output.add((column * rows + row) as usize) = tile.get(along + SECTOR as u32 - shift, down);
            }
        }
    }
}
